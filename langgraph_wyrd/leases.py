"""The leases that this process's runs hold: who has which, signs of life, and letting go."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import sys
import threading
import types
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import SaverClosed, WyrdError
from langgraph_wyrd.plans.leases import Guarded, Run, beat, enter, leave, refusal
from langgraph_wyrd.plans.task_writes import PutWrites
from langgraph_wyrd.plans.write import Put
from langgraph_wyrd.store.names import given

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running

logger = logging.getLogger("langgraph_wyrd")

BEAT = 3.0  # seconds between two signs of life


class Leases:
    """The runs of one core. All but `run_of` is called on the core's loop."""

    def __init__(self, core: Core[Memory]) -> None:
        self._core = core
        self._guard = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._runs: dict[tuple[str, int], list[Run]] = {}
        self._over: list[Run] = []
        self._running: Running[Memory] | None = None
        self._stop = asyncio.Event()
        self._beats = False
        self._sees: bool | None = None  # whether it can be seen that a run goes on

    # ---- which run is it

    def run_of(self, config: RunnableConfig, thread_id: str, ns: str) -> Run | None:
        """The run that makes a call; None if it is none: an update by hand, say.

        LangGraph makes a `control` for each run, which its subgraphs share, and a `stream_writer`
        for each graph in it, which is gone when that has returned. (One control may be given to
        several runs: the writer tells them apart.)
        """
        held = config["configurable"]
        runtime = held.get("__pregel_runtime")
        if runtime is None:
            return None
        control = getattr(runtime, "control", None) or runtime
        writer = getattr(runtime, "stream_writer", None) or control
        is_root = not ns and "__pregel_task_id" not in held
        place = (thread_id, id(control))  # of a control that the run holds on to
        if self._pid != os.getpid():  # a forked child: the runs are its parent's, the lock may be
            self._guard = threading.Lock()
            self._forget()
        with self._guard:
            while self._over:
                self._drop(self._over.pop())
            for run in reversed(self._runs.get(place, ())):
                if not is_root or run.token is writer:
                    return run
            made = Run(thread_id, control, writer)
            made.watch(self._gone)
            self._runs.setdefault(place, []).append(made)
            return made

    def guarded(self, made: Put | PutWrites, config: RunnableConfig) -> Put | PutWrites | Guarded:
        """A write as it has to be stored, if it is a run's."""
        run = self.run_of(config, made.thread_id, made.ns)
        return made if run is None else Guarded(made, run, self.attend)

    def _drop(self, run: Run) -> None:
        place = (run.thread_id, id(run.control))
        left = [each for each in self._runs.get(place, ()) if each is not run]
        if left:
            self._runs[place] = left
        else:
            self._runs.pop(place, None)

    def _gone(self, run: Run) -> None:
        """A run's token is gone. This may be called anywhere, even within the collector: no locks.

        What it had still held is given back on the core's loop.
        """
        self._over.append(run)
        running = self._core.running
        if run.held and running is not None and run.pid == os.getpid():
            with contextlib.suppress(SaverClosed):
                running.post(partial(self._let_go, run=run), _log_failed)

    # ---- taking it

    async def enter(
        self, core: Running[Memory], config: RunnableConfig, thread_id: str, ns: str
    ) -> Run | None:
        """Claim the thread for a run that begins to read it. A mere look at it claims nothing."""
        if ns or "__pregel_task_id" in config["configurable"]:
            return None
        run = self.run_of(config, thread_id, ns)
        if run is None or run.held:
            return None
        refused = await core.write(partial(enter, run))
        if refused is not None and refused.is_here:
            await self._look_into(core, self._held_here(thread_id), run)
            refused = await core.write(partial(enter, run))
        if refused is not None:
            raise refusal(thread_id, refused)
        run.held = True  # its config is in our hands, so it can't be over yet
        self.attend()
        if self._sees is None:
            await self._look_into(core, (), run)
        return run

    async def _look_into(
        self, core: Running[Memory], runs: Sequence[Run], alive: Run | None = None
    ) -> None:
        """Find out whether runs are over that somebody waits for. What it takes is slow, so it is
        done only then, and on another thread: to close a dropped stream may need the core.

        `alive` is one that is certainly at work: if that can't be seen, nothing can be.
        """

        def look() -> None:
            if runs:
                gc.collect()  # what ended may lie in a circle
            if alive is not None:
                self._sees = goes_on(alive.token)
            for run in runs:
                if self._sees and not run.over and not goes_on(run.token):
                    run.forsaken = True

        await core.loop.run_in_executor(None, look)
        for run in runs:
            if run.forsaken:
                self._over.append(run)
                await self._let_go(core, run=run)

    def _held_here(self, thread_id: str) -> list[Run]:
        return [run for run in self._held() if run.thread_id == thread_id]

    # ---- keeping it, and letting it go

    def attend(self) -> None:
        """Have the leases kept as long as there are any."""
        core = self._core.running
        if core is None:
            return
        if self._running is not core:
            self._running, self._stop, self._beats = core, asyncio.Event(), False
            core.farewells.append(partial(self._farewell, core))
        if not self._beats:
            self._beats = True
            core.post(self._beat_on, _log_failed)

    def _held(self) -> list[Run]:
        with self._guard:
            return [run for some in self._runs.values() for run in some if run.held]

    async def _beat_on(self, core: Running[Memory]) -> None:
        try:
            while self._running is core and not self._stop.is_set():
                try:
                    await asyncio.wait_for(self._stop.wait(), BEAT)
                    return
                except asyncio.TimeoutError:
                    pass
                if not (held := self._held()):
                    return
                try:
                    lost, wanted = await core.write(partial(beat, held))
                except WyrdError:
                    logger.warning("no sign of life could be left for runs", exc_info=True)
                    continue
                for run in held:
                    if run.owner in lost and run.held and not run.leaving:
                        logger.warning(
                            "the run of thread %r lost its lease: it was taken over, or released",
                            given(run.thread_id),
                        )
                        run.held = False
                if wanted:
                    await self._look_into(core, [run for run in held if run.owner in wanted])
        finally:
            self._beats = False

    async def _let_go(self, core: Running[Memory], *, run: Run) -> None:
        if run.held:
            run.held = False
            await core.write(partial(leave, [run]))

    async def _farewell(self, core: Running[Memory]) -> None:
        """The database is being closed: nobody may wait for us."""
        if self._running is not core:
            return
        self._stop.set()
        held = self._held()
        for run in held:
            run.held = False
        if held:
            try:
                await core.write(partial(leave, held))
            except WyrdError:
                logger.warning("leases could not be given back", exc_info=True)


def goes_on(token: object) -> bool:
    """Whether the generator that made a function for its run, and holds it, has not ended.

    The function itself tells less: a traceback that somebody keeps has its frame's locals as well.
    """
    return _is_executing(token) or _is_suspended(token)


def _is_executing(token: object) -> bool:
    """Whether a frame that is on some thread's stack has it."""
    for top in sys._current_frames().values():
        frame: types.FrameType | None = top
        while frame is not None:
            code = frame.f_code
            has_it = _NAME in code.co_varnames or _NAME in code.co_cellvars
            if has_it and frame.f_locals.get(_NAME) is token:
                return True
            frame = frame.f_back
    return False


def _is_suspended(token: object) -> bool:
    """Whether a generator that waits has it."""
    for holder in gc.get_referrers(token):
        if isinstance(holder, _GENERATORS):
            return True
        if isinstance(holder, (types.FrameType, types.CellType)) and any(
            isinstance(each, _GENERATORS) for each in gc.get_referrers(holder)
        ):
            return True
    return False


_NAME = "stream_writer"  # as LangGraph calls it
_GENERATORS = (types.GeneratorType, types.AsyncGeneratorType)


def _log_failed(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.warning("looking after leases failed", exc_info=error)
