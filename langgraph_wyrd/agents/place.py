"""Where a task of an agent runs, where its thread stood before, and when it was last run here."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from langgraph.checkpoint.base import CheckpointTuple

from langgraph_wyrd.configs import checkpoint_config
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.operations import Operation, ask, pause
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.state.model import WorkingState

if TYPE_CHECKING:
    from langgraph.runtime import ExecutionInfo

# LangGraph's own names, in the config of a task.
_CHECKPOINTER = "__pregel_checkpointer"
_DURABILITY = "__pregel_durability"
_PATIENCE = 2.0  # seconds for a checkpoint that is being stored in the background
_MOST_STEPS = 100  # of a run, to find where it began
_MOST_THREADS = 10_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task of an agent runs."""

    saver: WyrdSaver
    thread_id: str
    ns: str  # of the graph, not of the task
    checkpoint_id: str  # that the task's step began at
    root_id: str  # the same, of the whole thread
    task_id: str
    task_ns: str
    node_began: float | None  # the first attempt of this run of the node
    stored: bool  # whether the run's checkpoints are stored as it goes

    def config(self, checkpoint_id: str, ns: str | None = None) -> Any:
        return checkpoint_config(self.thread_id, self.ns if ns is None else ns, checkpoint_id)


def place_of(
    saver: WyrdSaver | None, config: Mapping[str, Any] | None, info: ExecutionInfo | None
) -> Place:
    """Where the task is that this config and info are of.

    Raises:
        InvalidInput: There is no WyrdSaver, or no thread.
    """
    inside = (config or {}).get("configurable") or {}
    found = inside.get(_CHECKPOINTER) if saver is None else saver
    if not isinstance(found, WyrdSaver):
        what = "no checkpointer" if found is None else f"a {type(found).__name__}"
        raise InvalidInput(
            f"WyrdMiddleware needs a WyrdSaver, and the agent runs with {what}: pass "
            "checkpointer=WyrdSaver… to create_agent, or saver= to the middleware"
        )
    if info is None or info.thread_id is None:
        raise InvalidInput(
            "the agent runs without a thread: compile it with checkpointer=WyrdSaver(…) and pass "
            'config={"configurable": {"thread_id": …}}'
        )
    ns = info.checkpoint_ns.rpartition("|")[0]
    above = inside.get("checkpoint_map") or {}
    root = str(above.get("", info.checkpoint_id)) if ns else info.checkpoint_id
    return Place(
        found, str(info.thread_id), ns, info.checkpoint_id, root, info.task_id,
        info.checkpoint_ns, info.node_first_attempt_time, inside.get(_DURABILITY) != "exit",
    )  # fmt: skip


# ---- before the run


def before_input(place: Place, ns: str, checkpoint_id: str) -> Operation[CheckpointTuple | None]:
    """The checkpoint that stood in a namespace before this run's input came; None for a new one.

    Only of a run that began with an input, which is the nearest one above the checkpoint.
    """
    found: CheckpointTuple | None = None
    if not place.stored:  # nothing of this run is there yet
        found = yield ask(place.saver, "get_tuple", checkpoint_config(place.thread_id, ns))
        return found
    deadline = time.monotonic() + _PATIENCE
    while found is None:
        found = yield ask(place.saver, "get_tuple", place.config(checkpoint_id, ns))
        if found is None:
            if time.monotonic() > deadline:
                return None
            yield pause(0.005)
    for _ in range(_MOST_STEPS):
        if found is None:
            return None
        above = found.parent_config
        began = found.metadata.get("source") == "input"
        found = None if above is None else (yield ask(place.saver, "get_tuple", above))
        if began:
            return found
    return None


def state_at(place: Place, at: str | None) -> Operation[WorkingState]:
    """The thread's working state at a checkpoint, or at its head; empty where nothing is stored."""
    try:
        thread = place.saver.thread(place.thread_id)
        state: WorkingState = yield ask(thread, "working_state", at)
    except ThreadNotFound:
        return WorkingState()
    return state


# ---- which threads this process has served

# When, by database: an agent may be made anew for each request, and savers have clones.
_SERVED: WeakKeyDictionary[object, OrderedDict[str, float]] = WeakKeyDictionary()
_LOCK = Lock()


def served_ago(saver: WyrdSaver, thread_id: str) -> float | None:
    """Seconds since an agent of this process last ran the thread; None: it never did."""
    with _LOCK:
        held = _SERVED.get(saver._engine)
        at = None if held is None else held.get(thread_id)
    return None if at is None else time.monotonic() - at


def serves(saver: WyrdSaver, thread_id: str) -> None:
    """Note that an agent of this process runs the thread now."""
    with _LOCK:
        held = _SERVED.setdefault(saver._engine, OrderedDict())
        held[thread_id] = time.monotonic()
        held.move_to_end(thread_id)
        if len(held) > _MOST_THREADS:
            held.popitem(last=False)
