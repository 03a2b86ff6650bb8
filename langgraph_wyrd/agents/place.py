"""Where a task of an agent runs, and where its thread was before the run."""

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
from langgraph_wyrd.users.scoped import UserSaver

if TYPE_CHECKING:
    from langgraph.runtime import ExecutionInfo

Saver = WyrdSaver | UserSaver  # the whole one, or one user's

# LangGraph's own names, in the config of a task.
_CHECKPOINTER = "__pregel_checkpointer"
_DURABILITY = "__pregel_durability"
_PATIENCE = 2.0  # seconds for a checkpoint that is being stored in the background
_MOST_STEPS = 100  # of a run, to find where it began
_MOST_THREADS = 10_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task of an agent runs."""

    saver: Saver
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
    saver: Saver | None, config: Mapping[str, Any] | None, info: ExecutionInfo | None
) -> Place:
    """Where the task is that this config and info are of.

    Raises:
        InvalidInput: There is no WyrdSaver, or no thread.
    """
    inside = (config or {}).get("configurable") or {}
    if saver is None:
        saver = _found(inside.get(_CHECKPOINTER))
    if info is None or info.thread_id is None:
        raise InvalidInput(
            "the agent runs without a thread: compile it with checkpointer=WyrdSaver(…) and pass "
            'config={"configurable": {"thread_id": …}}'
        )
    ns = info.checkpoint_ns.rpartition("|")[0]
    above = inside.get("checkpoint_map") or {}
    root = str(above.get("", info.checkpoint_id)) if ns else info.checkpoint_id
    return Place(
        saver, str(info.thread_id), ns, info.checkpoint_id, root, info.task_id,
        info.checkpoint_ns, info.node_first_attempt_time, inside.get(_DURABILITY) != "exit",
    )  # fmt: skip


def _found(checkpointer: object) -> Saver:
    if isinstance(checkpointer, Saver):
        return checkpointer
    what = "no checkpointer" if checkpointer is None else f"a {type(checkpointer).__name__}"
    raise InvalidInput(
        f"WyrdMiddleware needs a WyrdSaver, and the agent runs with {what}: pass "
        "checkpointer=WyrdSaver… to create_agent, or saver= to the middleware"
    )


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


class _Served:
    """The threads of one database that an agent in this process has gone on with, and when."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._at: OrderedDict[str, float] = OrderedDict()

    def last(self, thread_id: str) -> float | None:
        """Seconds since then."""
        with self._lock:
            at = self._at.get(thread_id)
        return None if at is None else time.monotonic() - at

    def now(self, thread_id: str) -> None:
        with self._lock:
            self._at[thread_id] = time.monotonic()
            self._at.move_to_end(thread_id)
            if len(self._at) > _MOST_THREADS:
                self._at.popitem(last=False)


_ALL: WeakKeyDictionary[object, _Served] = WeakKeyDictionary()
_ALL_LOCK = Lock()


def served(saver: Saver) -> _Served:
    """The record of a saver and its clones: an agent may be made anew for each request."""
    with _ALL_LOCK:
        return _ALL.setdefault(saver._engine, _Served())
