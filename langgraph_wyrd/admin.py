"""Looking after a database: sweeping what need not be kept, sizes."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.checkpoints import reextract as reading
from langgraph_wyrd.checkpoints import retain
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, ThreadNotFound
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.operations import Fire, Operation, Read, Write, asynchronous, operation
from langgraph_wyrd.retention import Retention, SizeReport, SweepReport
from langgraph_wyrd.storage.names import given, stored

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.cache import Cache
    from langgraph_wyrd.checkpoints.working import Reader
    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.hooks import Hooks
    from langgraph_wyrd.storage.engine import Engine

Progress = Callable[[int, int], object]
Jobs = Generator[tuple[Callable[[], Any], bool], Any, Any]  # a script, and whether it writes

logger = logging.getLogger("langgraph_wyrd")

_PAGE = 200  # threads that are looked up together
_ALL = 1 << 31
_MOST_NOTED = 10_000  # threads whose writes are counted
_MINUTE = 60.0
_EXPIRED = 4  # idle threads that go in one minute


class Admin:
    """The part of a saver that looks after its database."""

    if TYPE_CHECKING:
        _engine: Engine
        _cache: Cache
        _reader: Reader | None
        hooks: Hooks

        @property
        def _codec(self) -> Codec: ...

        @property
        def _dialect(self) -> str: ...

    @operation
    def sweep(
        self, retention: Retention, dry_run: bool = True, progress: Progress | None = None
    ) -> Operation[SweepReport]:
        """Delete what a retention does not keep, in all threads; or say what that would be.

        It works in short transactions, so runs go on meanwhile. What is kept loads as before.

        Args:
            retention: What is kept.
            dry_run: True: nothing is deleted, only counted.
            progress: Called with how many threads were looked at, of how many.
        """
        rule = retention
        if not isinstance(rule, Retention):
            raise InvalidInput(f"{rule!r} is no Retention")
        engine, dialect, me = self._engine, self._dialect, self._engine.nonce
        report = SweepReport(dry_run)
        expired: set[str] = set()
        for id in (yield Read(engine, partial(retain.idle_threads, rule, _ALL))):
            expire = partial(retain.expire, dialect, me, id, rule, dry_run=dry_run)
            if dry_run:
                found = yield Read(engine, expire)
            else:
                found = yield Write(engine, expire, partial(self._cache.drop, id))
                yield Fire(self, _discarded(id, found.checkpoints, "sweep"))
            if found.threads:
                expired.add(id)
            report += found
        total = yield Read(engine, retain.alive)
        done, after = 0, None
        while threads := (yield Read(engine, partial(retain.page, after, _PAGE))):
            after = threads[-1][0]
            for _, id in threads:
                try:
                    if id not in expired:
                        report += yield from self._swept(id, rule, dry_run)
                except CheckpointDamaged as error:
                    logger.warning("thread %r is damaged, and was not swept: %s", given(id), error)
                    report += SweepReport(left=(given(id),))
                done += 1
                if progress is not None:
                    progress(min(done, total), total)
        if rule.forget_after is not None:
            forget = partial(retain.forget_tombstones, rule.forget_after, dry_run=dry_run)
            count = yield Read(engine, forget) if dry_run else Write(engine, forget)
            report = replace(report, tombstones=count)
        while not dry_run and dialect == "sqlite" and (yield Write(engine, retain.give_back)):
            pass
        return report

    asweep = asynchronous(sweep)

    def _swept(self, id: str, rule: Retention, dry_run: bool) -> Operation[SweepReport]:
        """Let one thread's checkpoints go; what was found."""
        engine, dialect, codec = self._engine, self._dialect, self._codec
        found: SweepReport = yield Read(engine, partial(retain.weigh, dialect, codec, id, rule))
        step = partial(retain.step, dialect, codec, engine.nonce, id, rule)
        more, gone = not dry_run and found != SweepReport(), 0
        try:
            while more:
                some, more = yield Write(engine, step, partial(self._cache.drop, id))
                gone += some
                if more:
                    yield Read(engine, retain.pause)
        finally:
            if gone:
                yield Fire(self, _discarded(id, gone, "sweep"))
        return found

    @operation
    def reextract(
        self, thread_id: str | None = None, *, progress: Progress | None = None
    ) -> Operation[None]:
        """Read the working state again out of what is stored, and make the public tables again.

        It fills in a database that was written with `pillars=False`, and brings one up to date
        whose extractors have changed. What people declared stays, and so does what a prune kept.
        Each thread is a transaction of its own.

        Args:
            thread_id: One thread; None: all of them.
            progress: Called with how many checkpoints were read, of how many, after each thread.

        Raises:
            InvalidInput: This saver was opened with `pillars=False`.
            ThreadNotFound: No such thread.
        """
        if self._reader is None:
            raise InvalidInput(
                "this saver was opened with pillars=False: it does not read the working state"
            )
        engine = self._engine
        name = None if thread_id is None else stored(str(thread_id), "thread_id")
        found = yield Read(
            engine, partial(reading.threads, self._dialect, name), () if name is None else (name,)
        )
        if name is not None and not found:
            raise ThreadNotFound(f"thread {given(name)!r} has no checkpoints")
        done, total = 0, sum(count for _, count in found)
        for id, count in found:
            yield from self._reextract(id)
            done += count
            if progress is not None:
                progress(done, total)

    areextract = asynchronous(reextract)

    def _reextract(self, id: str) -> Operation[None]:
        assert self._reader is not None
        engine = self._engine
        script = partial(
            reading.reextract, self._dialect, self._codec, self._reader, engine.nonce, id
        )
        yield Write(engine, script, partial(self._cache.drop, id), (id,))

    reweave, areweave = reextract, areextract  # as it was called before

    def size_report(self, limit: int = 20) -> SizeReport:
        """Where the bytes are: by table, and by table of the largest threads. Reads every row."""
        return self._engine.run(partial(retain.sizes, self._dialect, limit))

    async def asize_report(self, limit: int = 20) -> SizeReport:
        """Async version of `size_report`."""
        return await self._engine.arun(partial(retain.sizes, self._dialect, limit))


def _discarded(thread_id: str, count: int, how: str) -> tuple[Happening, ...]:
    """The `discard` events with which hooks are called for deleted checkpoints."""
    detail = {"how": how, "checkpoints": count}
    return (Happening("discard", given(thread_id), detail=detail),) if count else ()


class Keeper:
    """Applies a retention while threads are written: seldom, and in the background."""

    def __init__(self, saver: Admin, rule: Retention) -> None:
        if not isinstance(rule, Retention):
            raise InvalidInput(f"retention={rule!r}: use a Retention")
        self._saver = saver
        self._rule = rule
        self._slack = max(16, (rule.keep_last or 0) // 2)  # each time costs a few puts
        self._since: OrderedDict[str, int] = OrderedDict()
        self._swept = float("-inf")
        self._gone: deque[Happening] = deque()

    def wrote(self, thread_id: str, ns: str) -> list[Happening]:
        """A checkpoint was stored; what hooks are to be told by now."""
        told = [self._gone.popleft() for _ in range(len(self._gone))]
        if ns:
            return told
        since = self._since.pop(thread_id, self._slack) + 1
        due = since > self._slack
        self._since[thread_id] = 0 if due else since
        while len(self._since) > _MOST_NOTED:
            self._since.popitem(last=False)
        if due:
            self._saver._engine.start(self._jobs(thread_id))
        return told

    def _jobs(self, thread_id: str) -> Jobs:
        saver, rule = self._saver, self._rule
        dialect, codec, me = saver._dialect, saver._codec, saver._engine.nonce
        if rule.by_checkpoint:
            more = yield partial(retain.due, dialect, thread_id, rule, self._slack), False
            gone = 0
            while more:
                script = partial(retain.step, dialect, codec, me, thread_id, rule)
                some, more = yield script, True
                gone += some
                saver._cache.drop(thread_id)
            self._gone += _discarded(thread_id, gone, "retention")
        if rule.thread_ttl is not None and time.monotonic() - self._swept > _MINUTE:
            self._swept = time.monotonic()
            for id in (yield partial(retain.idle_threads, rule, _EXPIRED), False):
                found = yield partial(retain.expire, dialect, me, id, rule), True
                saver._cache.drop(id)
                self._gone += _discarded(id, found.checkpoints, "retention")
