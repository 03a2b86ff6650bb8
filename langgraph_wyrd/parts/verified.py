"""The database looked through, and repaired as far as that can be proved."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from langgraph_wyrd.alone import alone
from langgraph_wyrd.configs import thread
from langgraph_wyrd.errors import ThreadNotFound
from langgraph_wyrd.later import later
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.statements import Ask, Plan

if TYPE_CHECKING:
    from langgraph_wyrd.healing import report, verifying
    from langgraph_wyrd.healing.report import Finding, Progress, Report
    from langgraph_wyrd.healing.verifying import ThreadRow
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.plans.weaving import Weaver
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.values import Codec
else:
    report, verifying = later("healing.report", "healing.verifying")


class Verified:
    """The part of a saver that finds and repairs damage."""

    if TYPE_CHECKING:
        _core: Core[Memory]
        _weaver: Weaver | None

        @property
        def _codec(self) -> Codec: ...

    def verify(
        self,
        thread_id: str | None = None,
        *,
        repair: bool = False,
        progress: Progress | None = None,
    ) -> Report:
        """Look through what is stored: checksums, chains, missing rows, tables unlike their ledger.

        A repair writes what is proven to have been there, moves what no load can use to
        `wyrd_quarantine`, and reads the pillars anew. It can be run again: it then does nothing.
        Each thread is a transaction of its own.

        Args:
            thread_id: One thread; None: all of them, and what belongs to none.
            repair: Put right what can be.
            progress: Called with how many threads are done, of how many, after each.

        Raises:
            ThreadNotFound: No such thread.
        """
        threads, found = self._core.run(partial(self._to_verify, thread_id=thread_id))
        for done, row in enumerate(threads, 1):
            found += self._core.run(partial(self._verify_one, row=row, repair=repair))
            if progress is not None:
                progress(done, len(threads))
        return report.Report(len(threads), tuple(found))

    async def averify(
        self,
        thread_id: str | None = None,
        *,
        repair: bool = False,
        progress: Progress | None = None,
    ) -> Report:
        """Async version of `verify`."""
        threads, found = await self._core.arun(partial(self._to_verify, thread_id=thread_id))
        for done, row in enumerate(threads, 1):
            found += await self._core.arun(partial(self._verify_one, row=row, repair=repair))
            if progress is not None:
                progress(done, len(threads))
        return report.Report(len(threads), tuple(found))

    async def _to_verify(
        self, core: Running[Memory], *, thread_id: str | None
    ) -> tuple[list[ThreadRow], list[Finding]]:
        wanted = None if thread_id is None else thread(thread_id)
        found = await core.read(partial(_threads, wanted))
        if wanted is not None:
            if not found:
                raise ThreadNotFound(f"there is no thread {given(wanted)!r}")
            return found, []
        return found, await core.read(_all_over)

    async def _verify_one(
        self, core: Running[Memory], *, row: ThreadRow, repair: bool
    ) -> list[Finding]:
        codec, weaver = self._codec, self._weaver
        look = partial(verifying.findings, codec, weaver, row)
        found = await core.read(look)
        if not repair or not any(each.damage for each in found):
            return found
        await alone(core, row.thread_id, partial(verifying.repaired, codec, weaver, row))
        (now,) = [each for each in await core.read(partial(_threads, row.thread_id))
                  if each.number == row.number]  # fmt: skip
        left = set(await core.read(partial(verifying.findings, codec, weaver, now)))
        return [replace(each, repaired=each.damage and each not in left) for each in found] + [
            each for each in left if each not in found
        ]


def _threads(thread_id: str | None) -> Plan[list[ThreadRow]]:
    asked = Ask("all_threads") if thread_id is None else Ask("one_thread", (thread_id,))
    return [verifying.ThreadRow(*row) for row in (yield asked)]


def _all_over() -> Plan[list[Finding]]:
    """What concerns no thread, or one that is not there."""
    found = []
    for table, number, count in (yield Ask("homeless")):
        what = f"{count} rows of a thread that is not there"
        found.append(report.Finding(table, None, f"thread number {number}", what, "stays"))
    for (said,) in (yield Ask("file_check")):
        if said != "ok":
            what, remedy = str(said), "restore the file from a backup, or `.recover` it"
            found.append(report.Finding("the file", None, "pages", what, remedy))
    free, pages = (yield Ask("file_state"))[0]
    if pages and free * 4 > pages:
        what = f"{free} of {pages} pages are free"
        found.append(
            report.Finding("the file", None, "pages", what, "VACUUM gives them back", False)
        )
    return found
