"""The database looked through, and repaired as far as that can be proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from langgraph_wyrd.alone import alone
from langgraph_wyrd.configs import thread
from langgraph_wyrd.errors import DatabaseDamaged, ThreadNotFound
from langgraph_wyrd.later import later
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan

if TYPE_CHECKING:
    from langgraph_wyrd.healing import report, verifying, whole
    from langgraph_wyrd.healing.report import Finding, Progress, Report, Space
    from langgraph_wyrd.healing.verifying import ThreadRow
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.plans.weaving import Weaver
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.values import Codec
else:
    report, verifying = later("healing.report", "healing.verifying")
    whole = later("healing.whole")

_ROUNDS = 4  # what was put right may show more that can be


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
        pages: bool = True,
    ) -> Report:
        """Look through what is stored: checksums, chains, missing rows, tables unlike their ledger.

        A repair writes what is proven to have been there, moves what no load can use to
        `wyrd_quarantine`, and reads the pillars anew. It can be run again: it then does nothing.
        Each thread is a transaction of its own. While pages of an SQLite file are damaged, only
        looking is safe: what concerns no thread is not repaired then.

        Args:
            thread_id: One thread; None: all of them, and what belongs to none.
            repair: Put right what can be.
            progress: Called with how many threads are done, of how many, after each.
            pages: Have SQLite look through its file, too, if all threads are looked at.

        Raises:
            ThreadNotFound: No such thread.
        """
        threads, found = self._core.run(partial(self._begin, thread_id, repair, pages))
        for done, row in enumerate(threads, 1):
            found += self._core.run(partial(self._verify_one, row=row, repair=repair))
            if progress is not None:
                progress(done, len(threads))
        space = None if thread_id is not None else self._core.run(self._space)
        return report.Report(len(threads), tuple(found), space)

    async def averify(
        self,
        thread_id: str | None = None,
        *,
        repair: bool = False,
        progress: Progress | None = None,
        pages: bool = True,
    ) -> Report:
        """Async version of `verify`."""
        threads, found = await self._core.arun(partial(self._begin, thread_id, repair, pages))
        for done, row in enumerate(threads, 1):
            found += await self._core.arun(partial(self._verify_one, row=row, repair=repair))
            if progress is not None:
                progress(done, len(threads))
        space = None if thread_id is not None else await self._core.arun(self._space)
        return report.Report(len(threads), tuple(found), space)

    async def _begin(
        self, thread_id: str | None, repair: bool, pages: bool, core: Running[Memory]
    ) -> tuple[list[ThreadRow], list[Finding]]:
        """The threads to look at, and what is wrong with none of them."""
        wanted = None if thread_id is None else thread(thread_id)
        file: list[Finding] = []
        look: Callable[[], Plan[list[Finding]]] = partial(whole.names, wanted)
        mend: Callable[[], Plan[None]] = partial(whole.names_repaired, self._codec, wanted)
        if wanted is None:
            look = partial(whole.findings, self._codec)
            mend = partial(whole.repaired, self._codec)
            file = await _looked(core, whole.pages) if pages else []
        found = await _looked(core, look)
        if repair and any(each.repairable for each in found) and not file:
            await core.write(mend)
            left = await _looked(core, look)
            found = [replace(each, repaired=each not in left) for each in found]
        try:
            threads = await core.read(partial(_threads, wanted))
        except DatabaseDamaged as error:
            return [], [*dict.fromkeys([*file, *found, whole.of_pages(error)])]
        if wanted is not None and not threads and not found:
            raise ThreadNotFound(f"there is no thread {given(wanted)!r}")
        return threads, file + found

    async def _verify_one(
        self, core: Running[Memory], *, row: ThreadRow, repair: bool
    ) -> list[Finding]:
        codec, weaver, name = self._codec, self._weaver, given(row.thread_id)
        look = partial(verifying.findings, codec, weaver, row)
        found = await _looked(core, look, name)
        if not repair or not any(each.repairable for each in found):
            return found
        left: set[Finding] = set()
        try:
            for _ in range(_ROUNDS):
                before = left
                await alone(core, row.thread_id, partial(verifying.repaired, codec, weaver, row))
                left = set(await _looked(core, look, name))
                if left == before or not any(each.repairable for each in left):
                    break
        except DatabaseDamaged as error:
            return [*found, whole.of_pages(error, name)]
        except Exception as error:
            return [*found, whole.of_look(error, name)]
        return [replace(each, repaired=each.damage and each not in left) for each in found] + [
            each for each in left if each not in found
        ]

    async def _space(self, core: Running[Memory]) -> Space | None:
        try:
            return await core.read(lambda: whole.space(core.wal_bytes()))
        except DatabaseDamaged:
            return None


async def _looked(
    core: Running[Memory], plan: Callable[[], Plan[list[Finding]]], thread_id: str | None = None
) -> list[Finding]:
    """What a look finds; or that its pages can't be read, or what else it ended with."""
    try:
        return await core.read(plan)
    except DatabaseDamaged as error:
        return [whole.of_pages(error, thread_id)]
    except Exception as error:
        return [whole.of_look(error, thread_id)]


def _threads(thread_id: str | None) -> Plan[list[ThreadRow]]:
    asked = Ask("all_threads") if thread_id is None else Ask("one_thread", (thread_key(thread_id),))
    return [verifying.ThreadRow(*row) for row in (yield asked)]
