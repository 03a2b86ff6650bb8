"""When runs of graphs begin and end, for hooks and leases: LangChain's callbacks tell.

No checkpointer is asked for anything when a run ends: a step limit, a breakpoint and a cancelled
task leave nothing behind. So where somebody wants to know (a `run_end` hook, `single_writer=True`)
a callback handler of this process is called when a run of this saver's graphs ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphDrained, GraphRecursionError

from langgraph_wyrd.checkpoints import leases, points
from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.operations import Fire, Operation, Read, Write, arun, run
from langgraph_wyrd.storage.names import given

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.leases import Run
    from langgraph_wyrd.saver import WyrdSaver

Ended = Callable[[BaseException | None], Operation[None]]

_CANCELLED = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)
_watched: dict[UUID, Ended] = {}  # by LangChain's id of a run
_begun: ContextVar[UUID | None] = ContextVar("wyrd_run", default=None)


class _Listener(BaseCallbackHandler):
    """Is called for every chain; those that nobody watches cost a look into a dict."""

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
    """What LangChain calls: it awaits what is known as async."""
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
    """Have it called from now on, in this process."""
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
