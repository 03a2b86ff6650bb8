"""Looking after a database: delete, prune, sweep, sizes, re-extract, verify, keys, import."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langgraph_wyrd import errors
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.read import is_damage
from langgraph_wyrd.configs import several
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.operations import (
    Bound,
    Fire,
    Operation,
    Read,
    Write,
    asynchronous,
    in_thread,
    job,
    operation,
)
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.status import not_read
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.scripts import Script
from langgraph_wyrd.users.ownership import OfUser

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints import copy, delete
    from langgraph_wyrd.checkpoints import reextract as reading
    from langgraph_wyrd.checkpoints import retention as sweeping
    from langgraph_wyrd.checkpoints.copy import Carried
    from langgraph_wyrd.checkpoints.retention import Retention, SizeReport, SweepReport
    from langgraph_wyrd.recovery import verify as verification
    from langgraph_wyrd.recovery.verify import Report
    from langgraph_wyrd.storage import encryption
    from langgraph_wyrd.storage.encryption import Rotation
    from langgraph_wyrd.transfer import files, rows
else:
    reading, sweeping = lazy("checkpoints.reextract", "checkpoints.retention")
    delete = lazy("checkpoints.delete")
    encryption, verification = lazy("storage.encryption", "recovery.verify")
    files, rows, copy = lazy("transfer.files", "transfer.rows", "checkpoints.copy")


T = TypeVar("T")
Progress = Callable[[int, int], object]
Jobs = Generator[tuple[Callable[[], Any], bool], Any, Any]  # a script, and whether it writes

logger = logging.getLogger("langgraph_wyrd")

_PAGE = 200  # threads that are looked up together
_ALL = 1 << 31
_MOST_NOTED = 10_000  # threads whose writes are counted
_MINUTE = 60.0
_EXPIRED = 4  # idle threads that go in one minute


class Admin(OfUser):
    """The part of a saver that looks after its database.

    What takes long calls `progress` with how many are done, of how many. Each thread is a
    transaction of its own, so runs go on meanwhile. A thread that is not there raises
    `ThreadNotFound`.
    """

    @operation
    def sweep(
        self, retention: Retention, dry_run: bool = True, progress: Progress | None = None
    ) -> Operation[SweepReport]:
        """Delete what a retention does not keep, in all threads; or say what that would be.

        What is kept loads as before. With `dry_run` nothing is deleted, only counted.
        """
        rule = retention
        if not isinstance(rule, sweeping.Retention):
            raise InvalidInput(f"{rule!r} is no Retention")
        engine, dialect = self._engine, self._dialect
        report = sweeping.SweepReport(dry_run)
        expired: set[str] = set()
        for id in (yield Read(engine, partial(sweeping.idle_threads, rule, _ALL))):
            expire = partial(sweeping.expire, dialect, id, rule, dry_run=dry_run)
            if dry_run:
                found = yield Read(engine, expire)
            else:
                found = yield from self._write(expire, id)
                yield Fire(self, _discarded(id, found.checkpoints, "sweep"))
            if found.threads:
                expired.add(id)
            report += found
        total = yield Read(engine, sweeping.alive)
        done, after = 0, None
        while threads := (yield Read(engine, partial(sweeping.page, after, _PAGE))):
            first, after = threads[0][0], threads[-1][0]
            some: set[Any] = yield Read(engine, partial(sweeping.worth, rule, first, after))
            for key, id in threads:
                try:
                    if key in some and id not in expired:
                        report += yield from self._swept(id, rule, dry_run)
                except Exception as error:
                    if not is_damage(error):
                        raise
                    logger.warning("thread %r is damaged, and was not swept: %s", given(id), error)
                    report += sweeping.SweepReport(left=(given(id),))
                done += 1
                if progress is not None:
                    progress(min(done, total), total)
        if rule.forget_after is not None:
            forget = partial(sweeping.forget_tombstones, rule.forget_after, dry_run=dry_run)
            count = yield Read(engine, forget) if dry_run else Write(engine, forget)
            report = replace(report, tombstones=count)
        while not dry_run and dialect == "sqlite" and (yield Write(engine, sweeping.give_back)):
            pass
        return report

    asweep = asynchronous(sweep)

    def _swept(self, id: str, rule: Retention, dry_run: bool) -> Operation[SweepReport]:
        """Let one thread's checkpoints go; what was found."""
        script = partial(sweeping.swept, self._dialect, self._codec, id, rule)
        try:
            found = yield from self._read(partial(script, dry_run=True))
        except Exception as error:
            if not is_damage(error):
                raise
            yield from self._restored(id)
            found = yield from self._read(partial(script, dry_run=True))
        if not dry_run and found != sweeping.SweepReport():
            found = yield from self._write(partial(script, dry_run=False), id)
            yield Fire(self, _discarded(id, found.checkpoints, "sweep"))
        return found

    @operation
    def reextract(
        self, thread_id: str | None = None, *, progress: Progress | None = None
    ) -> Operation[None]:
        """Read the working state again out of what is stored, and make the public tables again.

        It fills in a database that was written with `pillars=False`, and brings one up to date
        whose extractors have changed. What people declared stays, and so does what a prune kept.
        `thread_id`: one thread; None: all of them. `progress` counts checkpoints.

        Raises:
            InvalidInput: This saver was opened with `pillars=False`.
        """
        if self._reader is None:
            raise InvalidInput(
                "this saver was opened with pillars=False: it does not read the working state"
            )
        name = None if thread_id is None else stored(str(thread_id), "thread_id")
        yield from self._admit(name)
        script = partial(reading.threads, self._dialect, name)
        found = yield from self._read(script, *(() if name is None else (name,)))
        if name is not None and not found:
            raise errors.ThreadNotFound(f"thread {given(name)!r} has no checkpoints")
        done, total = 0, sum(count for _, count in found)
        for id, count in found:
            yield from self._reextract(id)
            done += count
            if progress is not None:
                progress(done, total)

    areextract = asynchronous(reextract)

    def _read_of(self, id: str, script: Bound[T]) -> Operation[T]:
        """What a script reads of a thread, whose working state is extracted first if it was not."""
        dialect, reader = self._dialect, self._reader

        def if_read() -> Script[list[T]]:
            if reader is not None and reader.has_to_read((yield from thread_row(dialect, id))):
                return []
            return [(yield from script())]

        if held := (yield from self._read(self._of_thread(id, if_read), id)):
            return held[0]
        again = self._of_thread(id, script)
        try:  # it was stored with pillars=False, or by older extractors
            yield from self._reextract(id)
        except errors.ReadOnlyDatabase:
            found = yield from self._read(again, id)
            return cast("T", not_read(found)) if isinstance(found, WorkingState) else found
        return (yield from self._read(again, id))

    def _reextract(self, id: str) -> Operation[None]:
        assert self._reader is not None
        script = partial(reading.reextract, self._dialect, self._codec, self._reader, id)
        yield from self._write_strictly(script, id)

    @operation
    def size_report(self, limit: int = 20) -> Operation[SizeReport]:
        """Where the bytes are: by table, and by table of the largest threads. Reads every row."""
        return (yield from self._read(partial(sweeping.sizes, self._dialect, limit)))

    asize_report = asynchronous(size_report)

    # ---- deleting, pruning, copying

    @operation
    def delete_thread(self, thread_id: str) -> Operation[None]:
        """Delete everything of a thread. What a run still sends afterwards raises ThreadDeleted."""
        yield from self._delete([thread_id], "delete_thread")

    adelete_thread = asynchronous(delete_thread)

    @operation
    def delete_for_runs(self, run_ids: Sequence[str]) -> Operation[None]:
        """Delete the checkpoints of these runs, and their writes, wherever they are."""
        runs = [stored(run_id, "a run id") for run_id in several(run_ids, "run_ids")]
        if not runs:
            return
        threads = yield from self._read(partial(delete.threads_of_runs, runs))
        script = partial(delete.delete_runs, self._dialect, self._codec, run_ids=runs)
        yield from self._each(threads, script, "delete_for_runs", run_ids=tuple(run_ids))

    adelete_for_runs = asynchronous(delete_for_runs)

    @operation
    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> Operation[None]:
        """Delete all but the latest checkpoint of each namespace, or everything (`"delete"`).

        Checkpoints that a kept one's delta channels are rebuilt from are kept as well.
        """
        wanted = several(thread_ids, "thread_ids")
        if strategy in ("delete", "delete_all"):
            yield from self._delete(wanted, "prune")
        elif strategy == "keep_latest":
            names = [stored(str(each), "thread_id") for each in wanted]
            script = partial(sweeping.keep_latest, self._dialect, self._codec)
            yield from self._each(names, script, "prune", strategy=strategy)
        else:
            raise InvalidInput(
                f'unknown prune strategy {strategy!r}: use "keep_latest", "delete" or "delete_all"'
            )

    aprune = asynchronous(prune)

    @operation
    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> Operation[None]:
        """Copy a thread to an id that has no checkpoints yet."""
        old = stored(str(source_thread_id), "thread_id")
        new = stored(str(target_thread_id), "thread_id")
        codec, dialect = self._codec, self._dialect
        yield from self._may_begin(new)
        script = partial(rows.copied, dialect, codec, old, new)
        yield from self._write(self._of_thread(old, script, None), old, new)

    acopy_thread = asynchronous(copy_thread)

    # ---- what the methods share

    def _delete(self, thread_ids: Sequence[str], how: str) -> Operation[None]:
        names = [stored(str(each), "thread_id") for each in thread_ids]
        yield from self._each(names, partial(delete.delete_thread, self._dialect), how)

    def _each(
        self, names: Iterable[str], script: Callable[[str], Script[int]], how: str, **detail: Any
    ) -> Operation[None]:
        """Run a script on each thread; the hooks are called with what went."""
        for name in names:
            self._forget(name)
            one = self._of_thread(name, partial(script, name), 0)
            count = yield from self._write(one, name)
            yield Fire(self, _discarded(name, count, how, **detail))

    # ---- damage

    @operation
    def verify(
        self,
        thread_id: str | None = None,
        *,
        repair: bool = False,
        progress: Progress | None = None,
        pages: bool = True,
    ) -> Operation[Report]:
        """Look through what is stored: checksums, missing rows, tables unlike their events.

        A repair writes what is proven to have been there, makes derived rows again, and has tasks
        run again whose writes are lost. It can be run again: it then does nothing.

        Args:
            thread_id: One thread; None: all of them, and what belongs to none.
            repair: Also repair what can be repaired.
            pages: Have SQLite look through its file, too, if all threads are looked at.

        Raises:
            ThreadNotFound: No such thread.
        """
        name = None if thread_id is None else stored(str(thread_id), "thread_id")
        yield from self._admit(name)
        found: Report = yield from verification.verifying(
            partial(job, self._engine), self._dialect, self._codec, name, repair=repair,
            progress=progress, pages=pages, forget=self._cache.drop, reader=self._reader,
        )  # fmt: skip
        return found

    averify = asynchronous(verify)

    # ---- keys

    @operation
    def rotate_keys(self, *, progress: Progress | None = None) -> Operation[Rotation]:
        """Encrypt everything that is stored anew, under the newest key of the ring.

        Afterwards no other key is needed. Each thread is one transaction, so others read and
        write; stopped, it can be run again, and does what is left to do.

        Raises:
            InvalidInput: This saver was opened without `keys=`.
            KeyMissing: A row is encrypted with a key that the ring does not have.
        """
        sealer = self._access.ring
        if sealer is None:
            raise InvalidInput("this saver was opened without keys=: there are none to rotate")
        mend = self._engine.mend
        rotated = encryption.rotation(self._write, self._dialect, sealer, progress, mend)
        done: Rotation = yield from rotated
        return done

    arotate_keys = asynchronous(rotate_keys)

    # ---- files

    @operation
    def import_thread(
        self, path: str | os.PathLike[str], thread_id: str | None = None
    ) -> Operation[str]:
        """Bring back a thread that was exported with `payloads=True`; its id.

        The file is checked first. All of the thread is stored in one transaction, or nothing;
        under `thread_id`, or under the id that it had.

        Raises:
            FileDamaged: The file was cut off or changed.
            PayloadTooNew: A newer release wrote it.
            InvalidInput: It holds no payloads, or another thread has that id here.
        """
        carried: Carried = yield in_thread(partial(files.read, path, self._codec))
        id = given(carried.thread.thread_id) if thread_id is None else thread_id
        name = stored(str(id), "thread_id")
        script = partial(copy.arrive, self._dialect, self._codec, name, carried)
        made = yield from self._write(script, name)
        if made.why is not None:
            raise InvalidInput(
                f"thread {id!r} is here already, and is not the one in the file: import it under "
                "another thread_id"
            )
        if carried.thread.status is None and self._reader is not None:
            yield from self._reextract(name)
        return id

    aimport_thread = asynchronous(import_thread)


def _discarded(thread_id: str, count: int, how: str, **detail: Any) -> tuple[Happening, ...]:
    """The `discard` events with which hooks are called for deleted checkpoints."""
    detail = {"how": how, "checkpoints": count, **detail}
    return (Happening("discard", given(thread_id), detail=detail),) if count else ()


class Keeper:
    """Applies a retention while threads are written: seldom, and in the background."""

    def __init__(self, saver: Admin, rule: Retention) -> None:
        if not isinstance(rule, sweeping.Retention):
            raise InvalidInput(f"retention={rule!r}: use a Retention")
        self._saver = saver
        self._rule = rule
        self._slack = max(16, (rule.keep_last or 0) // 2)  # each time costs a few puts
        self._since: dict[str, int] = {}  # puts of each thread since it was looked at
        self._swept = float("-inf")
        self._gone: deque[Happening] = deque()

    def wrote(self, thread_id: str, ns: str) -> list[Happening]:
        """Note that a checkpoint was stored; what the hooks are to be called with."""
        happened = [self._gone.popleft() for _ in range(len(self._gone))]
        if ns:
            return happened
        if len(self._since) > _MOST_NOTED:
            self._since.clear()
        self._since[thread_id] = since = self._since.get(thread_id, self._slack) + 1
        if since > self._slack:
            self._since[thread_id] = 0
            self._saver._engine.start(self._jobs(thread_id))
        return happened

    def _jobs(self, thread_id: str) -> Jobs:
        saver, rule = self._saver, self._rule
        dialect, codec = saver._dialect, saver._codec
        if rule.by_checkpoint:
            script = partial(sweeping.swept, dialect, codec, thread_id, rule)
            found = yield partial(script, dry_run=True), False
            if found != sweeping.SweepReport():
                found = yield partial(script, dry_run=False), True
                saver._cache.drop(thread_id)
                self._gone += _discarded(thread_id, found.checkpoints, "retention")
        if rule.thread_ttl is not None and time.monotonic() - self._swept > _MINUTE:
            self._swept = time.monotonic()
            for id in (yield partial(sweeping.idle_threads, rule, _EXPIRED), False):
                found = yield partial(sweeping.expire, dialect, id, rule), True
                saver._cache.drop(id)
                self._gone += _discarded(id, found.checkpoints, "retention")
