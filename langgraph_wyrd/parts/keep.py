"""Retention: given to a saver it is applied as threads are written; or swept when asked for."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.alone import alone
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, SaverClosed
from langgraph_wyrd.hooks import afire, fire
from langgraph_wyrd.later import later
from langgraph_wyrd.parts.watching import discarded
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.running import Running
from langgraph_wyrd.transfer.driving import finish

if TYPE_CHECKING:
    from langgraph_wyrd import retention
    from langgraph_wyrd.plans import ledger, retain, shed
    from langgraph_wyrd.plans.known import Known, Memory
    from langgraph_wyrd.retention import Retention, SizeReport, SweepReport
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.statements import Plan
    from langgraph_wyrd.store.values import Codec
else:
    retain, retention = later("plans.retain", "retention")
    ledger, shed = later("plans.ledger", "plans.shed")

T = TypeVar("T")
Progress = Callable[[int, int], object]

logger = logging.getLogger("langgraph_wyrd")

_AIM = 0.05  # seconds that a step likes to take: so long it keeps other writers out
_MOST, _LEAST, _FIRST = 500, 16, 64  # checkpoints, or versions of values, that go in one step
_TRIES = 3  # steps in vain, because somebody wrote to the thread, before it is locked for them
_PAGE = 200  # threads that are looked up together
_ALL = 1 << 62
_PAUSE = 0.25  # seconds, at most, that others have between two steps

_FEW = 512  # checkpoints that go after a write
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

        async def tell(id: str, count: int) -> None:
            happened = discarded([(id, count)], "sweep")
            if asynchronous:
                await afire(core, *happened)
            else:
                fire(core, *happened)

        async def shed_(id: str) -> None:
            gone = Gone()
            rule_ = shed.Rule(rule)
            try:
                await run(lambda core: _shed(core, codec, id, rule_, pace, gone))
            finally:
                await tell(id, gone.count)

        async def read(plan: Callable[[], Plan[T]]) -> T:
            return await run(lambda core: core.read(plan))

        report = retention.SweepReport(dry_run)
        expired: set[str] = set()
        pace = Pace()
        for id in await read(partial(retain.idle, rule, _ALL)):
            if dry_run:
                found = await read(partial(retain.expire, id, rule, dry_run=True))
            else:
                found = await run(
                    partial(_expired, codec=codec, thread_id=id, rule=rule, pace=pace)
                )
                await tell(id, found.checkpoints)
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
                            await shed_(id)
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
            while await run(_given_back):
                pass
        return report


class Pace:
    """How much goes in one step: as much as takes about as long as it should."""

    def __init__(self) -> None:
        self._now = {stage: min(_FIRST, _MOST) for stage in ("rows", "cuts")}
        self._begun = 0.0

    def most(self, going: shed.Going | None) -> int:
        return self._now["cuts" if going is not None and going.stage == "cuts" else "rows"]

    def timed(self, plan: Callable[[], Plan[T]]) -> Callable[[], Plan[T]]:
        """A plan whose transaction is timed from its beginning, not from when it was asked for."""

        def timed() -> Plan[T]:
            self._begun = time.monotonic()
            return (yield from plan())

        return timed

    def over(self, going: shed.Going | None) -> float:
        """The step that was timed is over; how long others should have now."""
        took = time.monotonic() - self._begun
        if going is not None and going.stage in self._now:
            factor = min(2.0, max(0.25, _AIM / max(took, 0.001)))
            much = int(self._now[going.stage] * factor)
            self._now[going.stage] = min(max(much, _LEAST), _MOST)
        return min(took, _PAUSE)


@dataclass(slots=True)
class Gone:
    """How many checkpoints of a thread went, however it ended."""

    count: int = 0


async def _shed(
    core: Running[Memory],
    codec: Codec,
    thread_id: str,
    rule: shed.Rule,
    pace: Pace,
    gone: Gone,
    most: int = _ALL,
) -> bool:
    """Let go of a thread's checkpoints, step by step; others have their turns in between.

    False: there are more, but `most` of them are gone.
    """
    going: shed.Going | None = None
    tries = 0
    while True:
        asked = (codec, thread_id, rule, going, min(pace.most(going), most))
        found = await core.read(partial(_looked, asked, thread_id))
        if found is None:
            return True
        step = found[1]
        if rule.within is None and step.after is not None:
            rule = replace(rule, within=step.after.keys)
        if step.small:
            gone.count += await alone(
                core, thread_id, pace.timed(partial(shed.whole, codec, thread_id, rule))
            )
            await asyncio.sleep(pace.over(None))
            return True
        if tries < _TRIES:
            took = await alone(core, thread_id, pace.timed(partial(shed.take, thread_id, *found)))
            made = step if took else None
        else:
            made = await alone(core, thread_id, pace.timed(partial(shed.at_once, *asked)))
        # SQLite's lock has no queue: another process gets it only while nobody else wants it.
        await asyncio.sleep(pace.over(going))
        if made is None:
            tries += 1
            continue
        gone.count += made.gone
        most -= made.gone
        going = made.after
        if going is None:
            return True
        if most <= 0 and going.rows:
            return False


def _looked(asked: Any, thread_id: str) -> Plan[tuple[Known, shed.Step] | None]:
    return ledger.without_damage(shed.look(*asked), thread_id)


async def _expired(
    core: Running[Memory], *, codec: Codec, thread_id: str, rule: Retention, pace: Pace
) -> SweepReport:
    """Delete a thread that nobody uses; of a long one, most goes before, step by step."""
    found = await core.read(partial(retain.expire, thread_id, rule, dry_run=True))
    if not found.threads:
        return found
    gone = Gone()
    if found.checkpoints > shed.SMALL:
        rest = retention.Retention(keep_last=1, keep_labels=rule.keep_labels)
        idle = shed.Rule(rest, idle=rule.thread_ttl)
        await _shed(core, codec, thread_id, idle, pace, gone)
    done = await alone(core, thread_id, pace.timed(partial(retain.expire, thread_id, rule)))
    await asyncio.sleep(pace.over(None))
    return (
        found if done.threads else retention.SweepReport(checkpoints=gone.count)
    )  # somebody came back


async def _given_back(core: Running[Memory]) -> bool:
    """Some of SQLite's free space goes back to the file system; whether there is more."""
    begun = time.monotonic()
    more = await core.give_back()
    await asyncio.sleep(min(time.monotonic() - begun, _PAUSE))
    return more


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
        self._pace = Pace()

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
            gone = Gone()
            try:
                rule_ = shed.Rule(rule)
                over = await _shed(core, codec, thread_id, rule_, self._pace, gone, _FEW)
                if not over:
                    self._since[thread_id] = self._slack  # the next write looks again
            finally:
                core.happened.extend(discarded([(thread_id, gone.count)], "retention"))
        if rule.thread_ttl is not None and time.monotonic() - self._swept > _MINUTE:
            self._swept = time.monotonic()
            for id in await core.read(partial(retain.idle, rule, _EXPIRED)):
                found = await _expired(core, codec=codec, thread_id=id, rule=rule, pace=self._pace)
                core.happened.extend(discarded([(id, found.checkpoints)], "retention"))
