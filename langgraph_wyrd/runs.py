"""Runs of graphs in this process: when they begin and end, and the leases that they hold.

No checkpointer is asked for anything when a run ends: a step limit, a breakpoint and a cancelled
task leave nothing behind. So where somebody wants to know (a `run_end` hook, `single_writer=True`)
a callback handler of this process is called when a run of this saver's graphs ends.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphDrained, GraphRecursionError

from langgraph_wyrd.checkpoints import leases, points
from langgraph_wyrd.checkpoints.leases import Run, beat, claimed, leave, refusal
from langgraph_wyrd.errors import SaverClosed, WyrdError
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.operations import Fire, Operation, Read, Write, arun, in_thread, run
from langgraph_wyrd.storage.names import given

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.storage.engine import Engine

logger = logging.getLogger("langgraph_wyrd")

BEAT = 3.0  # seconds between two signs of life
Ended = Callable[[BaseException | None], Operation[None]]

_CANCELLED = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)
_watched: dict[UUID, Ended] = {}  # by LangChain's id of a run
_begun: ContextVar[UUID | None] = ContextVar("wyrd_run", default=None)


class _Listener(BaseCallbackHandler):
    """Called for every chain of this process; one that nobody watches costs a look into a dict."""

    run_inline = True
    ignore_llm = ignore_chat_model = ignore_agent = ignore_retriever = True
    ignore_retry = ignore_custom_event = True

    def on_chain_start(self, *_: Any, run_id: UUID, **__: Any) -> None:
        _begun.set(run_id)

    @property
    def on_chain_end(self) -> Any:
        return _at_end(False)

    @property
    def on_chain_error(self) -> Any:
        return _at_end(True)


def _at_end(failed: bool) -> Any:
    """The function that LangChain calls: it awaits one that is async."""
    return partial(_ended if asyncio._get_running_loop() is None else _aended, failed)


def _ended(failed: bool, given: Any, *, run_id: UUID, **_: Any) -> None:
    """A chain ended: `given` is its output, or the error."""
    if (ended := _watched.pop(run_id, None)) is not None:
        run(ended(given if failed else None))


async def _aended(failed: bool, given: Any, *, run_id: UUID, **_: Any) -> None:
    if (ended := _watched.pop(run_id, None)) is not None:
        await arun(ended(given if failed else None))


_LISTENER = _Listener()
_listener: ContextVar[_Listener] = ContextVar("wyrd_listener", default=_LISTENER)
_listens: list[bool] = []


def listen() -> None:
    """Register the listener in this process, once."""
    if not _listens:
        _listens.append(True)
        register_configure_hook(cast("ContextVar[Any]", _listener), inheritable=False)


def begins(saver: WyrdSaver, thread_id: str, lease: Run | None) -> None:
    """A run of a graph on a thread, which is the one that was last begun in this context."""
    id = _begun.get()
    if id is not None:
        _watched[id] = partial(_over, saver, thread_id, lease)


def _over(
    saver: WyrdSaver, thread_id: str, lease: Run | None, error: BaseException | None
) -> Operation[None]:
    """Give a run's lease back, note how it ended where it left something due, tell the hooks."""
    dialect, codec = saver._dialect, saver._codec
    engine = saver._engine
    if lease is not None:
        lease.ended = True
        if lease.held:
            yield Write(engine, partial(leases.leave, [lease]))
            lease.held = False
    if saver._reader is None:  # nobody reads what is due, or open
        detail = {"how": "done" if error is None else _how(error), "error": _name(error)}
        yield Fire(saver, (Happening("run_end", given(thread_id), detail=detail),))
        return
    script = partial(points.state_at, dialect, codec, thread_id, None)
    try:
        state = yield Read(engine, script, (thread_id,))
    except WyrdError:  # nothing was stored, or it can't be read: the caller hears of that
        return
    how = "done" if state.status in ("idle", "quiet", "unread") else state.status
    if how in ("due", *leases.LEFT):
        how = _how(error)
        note = partial(leases.noted, dialect, thread_id, how)
        yield Write(engine, note, threads=(thread_id,))
        state = yield Read(engine, script, (thread_id,))
    detail = {"how": how, "error": _name(error)}
    what = Happening("run_end", given(thread_id), state.checkpoint_id, state=state, detail=detail)
    yield Fire(saver, (what,))


def _name(error: BaseException | None) -> str | None:
    return None if error is None else type(error).__name__


def _how(error: BaseException | None) -> str:
    if error is None or isinstance(error, GraphDrained):
        return "paused"
    if isinstance(error, GraphRecursionError):
        return "out_of_steps"
    return "cancelled" if isinstance(error, _CANCELLED) else "error"


# ---- the leases that they hold


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
        """A run's token was collected: give its lease back, in the background.

        This may be called anywhere, also within the garbage collector, so it takes no locks.
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
            for each in held:
                if each.owner in lost and each.held:
                    logger.warning(
                        "the run of thread %r lost its lease: it was taken over, or released",
                        given(each.thread_id),
                    )
                    each.held, each.doubted = False, True
        self._beats = False

    def give_back(self) -> Operation[None]:
        """Give all leases back: the database is being closed, and nobody may wait for us."""
        self._stop.set()
        with self._guard:
            held = self._held() if self._pid == os.getpid() else []
        for each in held:
            each.held, each.closed = False, True
        if held:
            try:
                yield Write(self._engine, partial(leave, held))
            except WyrdError:
                logger.warning("leases could not be given back", exc_info=True)
