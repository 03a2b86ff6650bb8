"""Retention: given to a saver it is applied as threads are written; or swept when asked for."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.alone import alone
from langgraph_wyrd.carrying.driving import finish
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, SaverClosed
from langgraph_wyrd.later import later
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.running import Running

if TYPE_CHECKING:
    from langgraph_wyrd import retention
    from langgraph_wyrd.plans import retain
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.retention import Retention, SizeReport, SweepReport
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.statements import Plan
    from langgraph_wyrd.store.values import Codec
else:
    retain, retention = later("plans.retain", "retention")

T = TypeVar("T")
Progress = Callable[[int, int], object]

logger = logging.getLogger("langgraph_wyrd")

_STEP = 500  # checkpoints that go in one transaction of a sweep
_PAGE = 200  # threads that are looked up together
_ALL = 1 << 62
_PAUSE = 0.25  # seconds, at most, that others have between two steps

_FEW = 128  # checkpoints that go in one transaction while threads are written
_STEPS = 4  # such transactions after a write
_MOST_NOTED = 10_000  # threads whose writes are counted
_MINUTE = 60.0
_EXPIRED = 4  # idle threads that go in one minute


class Keeping:
    """The part of a saver that lets go of what need not be kept."""

    if TYPE_CHECKING:
        _core: Core[Memory]

        @property
        def _codec(self) -> Codec: ...

    def sweep(
        self, retention: Retention, dry_run: bool = True, progress: Progress | None = None
    ) -> SweepReport:
        """Delete what a retention does not keep, in all threads; or tell what that would be.

        It works in short transactions, so runs go on meanwhile. Rows that belong to nothing go as
        well, and SQLite gives the space back to the file system. What is kept loads as before.

        Args:
            retention: What is kept.
            dry_run: True: nothing is deleted, only counted.
            progress: Called with how many threads were looked at, of how many.
        """
        return finish(self._sweep(retention, dry_run, progress, False))

    async def asweep(
        self, retention: Retention, dry_run: bool = True, progress: Progress | None = None
    ) -> SweepReport:
        """Async version of `sweep`."""
        return await self._sweep(retention, dry_run, progress, True)

    def size_report(self, limit: int = 20) -> SizeReport:
        """Where the bytes are: by table, and by table of the largest threads. Reads every row."""
        return self._core.run(lambda core: core.read(partial(retain.sizes, limit)))

    async def asize_report(self, limit: int = 20) -> SizeReport:
        """Async version of `size_report`."""
        return await self._core.arun(lambda core: core.read(partial(retain.sizes, limit)))

    # ---- a sweep

    async def _sweep(
        self, rule: Retention, dry_run: bool, progress: Progress | None, asynchronous: bool
    ) -> SweepReport:
        if not isinstance(rule, retention.Retention):
            raise InvalidInput(f"{rule!r} is no Retention")
        core, codec = self._core, self._codec

        async def run(job: Callable[[Running[Memory]], Coroutine[Any, Any, T]]) -> T:
            return await core.arun(job) if asynchronous else core.run(job)

        async def read(plan: Callable[[], Plan[T]]) -> T:
            return await run(lambda core: core.read(plan))

        report = retention.SweepReport(dry_run)
        expired: set[str] = set()
        for id in await read(partial(retain.idle, rule, _ALL)):
            plan = partial(retain.expire, id, rule, dry_run=dry_run)
            if dry_run:
                found = await read(plan)
            else:
                found = await run(partial(_alone, thread_id=id, plan=plan))
            if found.threads:
                expired.add(id)
            report += found
        done, after, total = 0, 0, await read(retain.alive)
        while threads := await read(partial(retain.page, after, _PAGE)):
            after = threads[-1][0]
            for _, id in threads:
                try:
                    if id not in expired:
                        found = await read(partial(retain.weigh, codec, id, rule))
                        if found != retention.SweepReport() and not dry_run:
                            await run(partial(_shed, codec=codec, thread_id=id, rule=rule))
                        report += found
                except CheckpointDamaged as error:
                    logger.warning("thread %r is damaged, and was not swept: %s", given(id), error)
                    report += retention.SweepReport(left=(given(id),))
                done += 1
                if progress is not None:
                    progress(min(done, total), total)
        if rule.forget_after is not None:
            plan_ = partial(retain.forget_tombstones, rule.forget_after, _ALL, dry_run=dry_run)
            gone = await (read(plan_) if dry_run else run(lambda core: core.write(plan_)))
            report = replace(report, tombstones=gone)
        if not dry_run:
            while await run(Running.give_back):
                pass
        return report


async def _alone(core: Running[Memory], *, thread_id: str, plan: Callable[[], Plan[T]]) -> T:
    return await alone(core, thread_id, plan)


async def _shed(
    core: Running[Memory],
    *,
    codec: Codec,
    thread_id: str,
    rule: Retention,
    most: int | None = None,
    steps: int = _ALL,
) -> None:
    """Let go of a thread's checkpoints, step by step; others have their turns in between."""
    going: retain.Going | None = None
    for _ in range(steps):
        plan = partial(retain.shed, codec, thread_id, rule, most or _STEP, going)
        begun = time.monotonic()
        going = await alone(core, thread_id, plan)
        # SQLite's lock has no queue: another process gets it only while nobody else wants it.
        await asyncio.sleep(min(time.monotonic() - begun, _PAUSE))
        if going is None:
            return


class Keeper:
    """Applies a retention while threads are written: seldom, a little at a time, behind the back
    of whoever writes."""

    def __init__(self, core: Core[Memory], rule: Retention) -> None:
        if not isinstance(rule, retention.Retention):
            raise InvalidInput(f"retention={rule!r}: use a Retention")
        self._core = core
        self._rule = rule
        self._slack = max(16, (rule.keep_last or 0) // 2)  # each time costs a few puts
        self._since: OrderedDict[str, int] = OrderedDict()
        self._swept = 0.0

    def wrote(self, codec: Codec, thread_id: str, ns: str) -> None:
        """A checkpoint was stored."""
        if ns:
            return
        since = self._since.pop(thread_id, self._slack) + 1
        due = since > self._slack
        self._since[thread_id] = 0 if due else since
        while len(self._since) > _MOST_NOTED:
            self._since.popitem(last=False)
        if due:
            with contextlib.suppress(SaverClosed):  # closed meanwhile: another one will look
                self._core.start(partial(self._keep, codec=codec, thread_id=thread_id))

    async def _keep(self, core: Running[Memory], *, codec: Codec, thread_id: str) -> None:
        rule = self._rule
        if rule.by_checkpoint and await core.read(
            partial(retain.due, thread_id, rule, self._slack)
        ):
            few = partial(_shed, codec=codec, thread_id=thread_id, rule=rule, most=_FEW)
            await few(core, steps=_STEPS)
        if rule.thread_ttl is not None and time.monotonic() - self._swept > _MINUTE:
            self._swept = time.monotonic()
            for id in await core.read(partial(retain.idle, rule, _EXPIRED)):
                await alone(core, id, partial(retain.expire, id, rule))
