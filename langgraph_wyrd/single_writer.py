"""The leases that this process's runs hold: who has which, signs of life, and letting go."""

from __future__ import annotations

import gc
import logging
import os
import threading
from functools import partial
from typing import TYPE_CHECKING

from langgraph_wyrd.checkpoints.leases import Run, beat, claimed, leave, refusal
from langgraph_wyrd.errors import SaverClosed, WyrdError
from langgraph_wyrd.operations import Operation, Write, in_thread
from langgraph_wyrd.storage.names import given

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.storage.engine import Engine

logger = logging.getLogger("langgraph_wyrd")

BEAT = 3.0  # seconds between two signs of life


class Leases:
    """The runs of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._forget()

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self._runs: dict[tuple[str, int], list[Run]] = {}
        self._over: list[Run] = []
        self._stop = threading.Event()
        self._beats = False

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
        if self._pid != os.getpid():  # a forked child: the runs are its parent's
            self._forget()
        with self._guard:
            while self._over:
                self._drop(self._over.pop())
            for run in reversed(self._runs.get(place, ())):
                if not is_root or run.token is writer:
                    return run
            made = Run(self._engine.driver.dialect, thread_id, control, writer)
            made.attend = self._attend
            made.watch(self._gone)
            self._runs.setdefault(place, []).append(made)
            return made

    def _drop(self, run: Run) -> None:
        place = (run.thread_id, id(run.control))
        left = [each for each in self._runs.get(place, ()) if each is not run]
        if left:
            self._runs[place] = left
        else:
            self._runs.pop(place, None)

    def _gone(self, run: Run) -> None:
        """A run's token is gone. This may be called anywhere, even within the collector: no locks.

        What it had still held is given back in the background.
        """
        self._over.append(run)
        if (run.held or run.claims) and run.pid == os.getpid() and self._engine._ready:
            run.held = False
            script = partial(leave, [run])
            self._engine.start(job for job in [(script, True)])

    # ---- taking it

    def entering(self, config: RunnableConfig, thread_id: str, ns: str) -> Operation[Run | None]:
        """Claim the thread for a run that begins to read it. A mere look at it claims nothing."""
        if ns or "__pregel_task_id" in config["configurable"]:
            return None
        run = self.run_of(config, thread_id, ns)
        if run is None or run.held:
            return None
        run.claims = True
        refused = yield Write(self._engine, partial(claimed, run))
        if refused is not None and refused.is_here:  # what ended may lie in a circle
            yield in_thread(gc.collect)
            refused = yield Write(self._engine, partial(claimed, run))
        run.claims = False
        if refused is not None:
            raise refusal(thread_id, refused)
        run.held = True  # its config is in our hands, so it can't be over yet
        self._attend()
        return run

    # ---- keeping it, and letting it go

    def _held(self) -> list[Run]:
        return [run for some in self._runs.values() for run in some if run.held]

    def _attend(self) -> None:
        """Have signs of life left as long as there are leases."""
        with self._guard:
            if self._beats:
                return
            self._beats = True
            self._stop = threading.Event()
        threading.Thread(target=self._beat_on, name="wyrd-leases", daemon=True).start()

    def _beat_on(self) -> None:
        stop = self._stop
        while not stop.wait(BEAT):
            with self._guard:
                if not (held := self._held()):
                    self._beats = False
                    return
            try:
                lost = self._engine.run(partial(beat, held), writes=True)
            except SaverClosed:
                break
            except WyrdError:
                logger.warning("no sign of life could be left for runs", exc_info=True)
                continue
            for run in held:
                if run.owner in lost and run.held:
                    logger.warning(
                        "the run of thread %r lost its lease: it was taken over, or released",
                        given(run.thread_id),
                    )
                    run.held, run.doubted = False, True
        self._beats = False

    def give_back(self) -> Operation[None]:
        """Give all leases back: the database is being closed, and nobody may wait for us."""
        self._stop.set()
        with self._guard:
            held = self._held() if self._pid == os.getpid() else []
        for run in held:
            run.held, run.closed = False, True
        if held:
            try:
                yield Write(self._engine, partial(leave, held))
            except WyrdError:
                logger.warning("leases could not be given back", exc_info=True)
