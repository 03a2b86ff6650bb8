"""What the ways of all writes to the database share: waiting, reading, healing, leases, pauses."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any

from langgraph_wyrd.checkpoints import delete, leases, read
from langgraph_wyrd.checkpoints.cache import Cache, Slot
from langgraph_wyrd.checkpoints.put import Put
from langgraph_wyrd.checkpoints.put_writes import PutWrites
from langgraph_wyrd.checkpoints.working import Reader
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.drive import drive, finish
from langgraph_wyrd.errors import SaverClosed, ThreadDeleted
from langgraph_wyrd.hooks import Fire, afire, fire
from langgraph_wyrd.storage.engine import Engine
from langgraph_wyrd.storage.keys import found_by
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.worker import Job

Flow = Generator[Any, Any, Any]  # yields jobs that were posted, and receives what they give


class Way:
    """A database and its cache, and how a flow of jobs is run on it, by sync and async callers."""

    def __init__(self, engine: Engine, cache: Cache, reader: Reader | None = None) -> None:
        self._engine = engine
        self._cache = cache
        self._reader = reader
        # Restores damaged rows of a thread; the second time it gives up those that can't be.
        self.heal: Callable[[Callable[..., Job], str, bool], Flow] | None = None

    @property
    def _dialect(self) -> str:
        return self._engine.driver.dialect

    # ---- the two ways to wait

    def store(self, flow: Callable[..., Flow], *given: Any) -> Any:
        """Run a flow with what it is given, waiting for each of its jobs."""
        return finish(drive(flow(self._engine.job, *given), self._waited))

    def astore(self, flow: Callable[..., Flow], *given: Any) -> Awaitable[Any]:
        """Async version of `store`."""
        return drive(flow(self._engine.ajob, *given), self._awaited)

    async def _waited(self, job: Job | Fire) -> Any:
        if isinstance(job, Fire):
            return fire(job.hooks, *job.happenings)
        return self._engine.wait(job)

    def _awaited(self, job: Job | Fire) -> Awaitable[Any]:
        if isinstance(job, Fire):
            return afire(job.hooks, *job.happenings)
        waiting: Awaitable[Any] = job.waiting
        return waiting

    # ---- steps of a flow

    def _read(
        self, make: Callable[..., Job], thread_id: str, script: Callable[..., Script[Any]]
    ) -> Flow:
        """Run a script that reads; where it meets damage, heal that and run it again."""
        for attempt in range(3):
            try:
                return (yield self._posted(make("read", partial(script, strict=attempt < 2))))
            except Exception as error:
                if self.heal is None or attempt == 2 or not read.is_damage(error):
                    raise
            yield from self.heal(make, thread_id, attempt > 0)

    def _once_begun(self, make: Callable[..., Job], slot: Slot, look: Callable[[], Flow]) -> Flow:
        """What a look gives. While a thread's first checkpoint is on its way, one that finds that
        the thread was deleted is repeated."""
        while True:
            begins = slot.beginning
            try:
                return (yield from look())
            except ThreadDeleted:
                if not begins:
                    raise
            yield from self._pause(make, 1)

    def _posted(self, job: Job) -> Job:
        self._engine.post(job)
        return job

    def _locked(self, thread_id: str) -> Script[None]:
        """Let no other writer change a thread until this transaction ends; SQLite has one at a
        time."""
        if self._dialect == "postgres":
            by = found_by(self._dialect, thread_id)
            yield Query("SELECT 1 FROM wyrd_threads WHERE key = ? FOR UPDATE", (by,))

    def _pause(self, make: Callable[..., Job], attempt: int) -> Flow:
        """Let others finish: a moment in a thread of the engine, never on the caller's loop."""

        def nothing() -> Script[None]:
            import time

            time.sleep(random.random() * 0.002 * attempt)
            return
            yield

        yield self._posted(make("read", nothing))

    def _read_first(self, codec: Codec, make: Callable[..., Job], thread_id: str) -> Flow:
        """Read the working state of what was stored by savers that read none."""
        from langgraph_wyrd.checkpoints.reextract import reextract

        reader = self._reader
        assert reader is not None
        script = partial(reextract, self._dialect, codec, reader, thread_id)
        try:
            yield self._posted(make("write", partial(script, strict=True)))
        except Exception as error:
            if self.heal is None or not read.is_damage(error):
                raise
            yield from self.heal(make, thread_id, False)
            yield self._posted(make("write", script))
        self._cache.drop(thread_id)

    # ---- single writers

    def _claimed(self, make: Callable[..., Job], wanted: Put | PutWrites) -> Flow:
        """Have the run of a write hold its thread; raises ConcurrentRun if another one does."""
        run = wanted.run
        if run.held:
            return
        if run.deleted:
            raise delete.too_late(wanted.thread_id)
        if run.closed:
            raise SaverClosed("this saver was closed while the run was going on")
        refused = yield self._posted(make("write", run.claim))
        if refused is not None:
            raise leases.refusal(run.thread_id, refused)
        run.doubted = False
        if not run.over:
            run.held = wanted.claimed = True
            run.attend()

    def _letting_go(self, make: Callable[..., Job], flow: Flow, wanted: Put | PutWrites) -> Flow:
        """Run a flow that gives back what it claimed, if it fails."""
        try:
            return (yield from flow)
        except Exception as error:
            wanted.run.deleted |= isinstance(error, ThreadDeleted)
            if wanted.claimed or wanted.run.deleted:
                wanted.run.held = False
                yield self._posted(make("write", lambda: leases.leave([wanted.run])))
            raise

    def _doubt(self, wanted: Put | PutWrites) -> None:
        """A write was stale: perhaps its run does not hold the thread any more."""
        if wanted.run is not None:
            wanted.run.held, wanted.run.doubted = False, True
