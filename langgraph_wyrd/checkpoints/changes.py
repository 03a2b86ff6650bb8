"""What a write changed, for whoever is called after the commit: hooks, warnings."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph_wyrd.hooks import EventName, Happening, Hooks, of_loops
from langgraph_wyrd.state.events import Event
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.scripts import Query, Script

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.cache import Thread
    from langgraph_wyrd.checkpoints.put import Put
    from langgraph_wyrd.checkpoints.put_writes import PutWrites

logger = logging.getLogger("langgraph_wyrd")

OF_PUTS: tuple[EventName, ...] = ("save", "fork", "loop_opened", "loop_closed")
OF_WRITES: tuple[EventName, ...] = ("loop_opened", "loop_closed")
DELIBERATE = ("fork", "update")  # how LangGraph marks what somebody asked for

# Children sort behind their parents, but for clocks that differ: then a fork goes unnoticed.
_SIBLING = (
    "SELECT 1 FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND id <> ? AND id > ? "
    "AND parent {} LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Fork:
    """A root checkpoint that is stored beside the head: its parent was gone on from before."""

    parent: str | None
    left: str  # the head until then
    source: str | None
    deliberate: bool  # time travel or an update; else another run was at work

    def detail(self) -> dict[str, Any]:
        return {
            "parent": None if self.parent is None else given(self.parent),
            "left": given(self.left),
            "source": self.source,
            "deliberate": self.deliberate,
        }

    def event(self) -> Event:
        return Event("thread", "fork", "", self.detail())


class Change(NamedTuple):
    """A thread before a write was stored, and after it."""

    before: WorkingState | None
    after: Thread
    fork: Fork | None = None


def fork_of(thread: Thread, put: Put) -> Script[Fork | None]:
    """The fork that a put makes, if its parent was gone on from before."""
    if put.ns != "" or thread.head is None or put.parent == thread.head or put.id == thread.head:
        return None
    if put.parent is None:
        rows = yield Query(_SIBLING.format("IS NULL"), (thread.key, put.id, ""))
    else:
        rows = yield Query(_SIBLING.format("= ?"), (thread.key, put.id, put.parent, put.parent))
    if not rows:
        return None
    return Fork(put.parent, thread.head, put.source, put.addressed or put.source in DELIBERATE)


def warn(put: Put, fork: Fork) -> None:
    """Say that two runs went on from one checkpoint, unless somebody wanted that."""
    if not fork.deliberate:
        logger.warning(
            "thread %r forked: another run went on from %s as well, to %s; %s now stands "
            "beside it, and is the head if it is newer. Nothing is lost. "
            "single_writer=True refuses the second run.",
            given(put.thread_id), fork.parent or "its beginning", fork.left, put.id,
        )  # fmt: skip


def of(made: Put | PutWrites, change: Change, hooks: Hooks) -> list[Happening]:
    """What hooks are called with after a write; a fork that nobody wanted is warned of."""
    from langgraph_wyrd.checkpoints.put import Put

    if not isinstance(made, Put):
        where = (given(made.thread_id), given(made.checkpoint), given(made.ns))
        return [*_of_loops(change, where, "task")] if hooks.has(*OF_WRITES) else []
    if change.fork is not None:
        warn(made, change.fork)
    return [*_of_put(made, change)] if hooks.has(*OF_PUTS) else []


def _of_put(put: Put, change: Change) -> Iterator[Happening]:
    thread_id, id = given(put.thread_id), given(put.id)
    if put.ns == "":
        if change.fork is not None:
            detail = {**change.fork.detail(), "run_id": put.run_id}
            yield Happening("fork", thread_id, id, detail=detail)
        detail = {"step": put.step, "source": put.source, "run_id": put.run_id}
        state = None
        if change.after.state is not None and change.after.head == put.id:
            state = change.after.state.shown
        yield Happening("save", thread_id, id, state=state, detail=detail)
    yield from _of_loops(change, (thread_id, id, given(put.ns)), "put")


def _of_loops(change: Change, where: tuple[str, str, str], by: str) -> Iterator[Happening]:
    before, state = change.before, change.after.state
    if before is not None and state is not None:
        yield from of_loops(before, state.shown, {"by": by}, where)
