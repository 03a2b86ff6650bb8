"""Points in a thread's past: how a checkpoint is named, and what was being done there."""

from __future__ import annotations

from datetime import datetime

from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.plans import filters, states
from langgraph_wyrd.plans.labels import label_at
from langgraph_wyrd.plans.woven import Weave
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.values import Codec

# A checkpoint id, a label, a run id (in stored form), a time; None: the head.
Point = str | datetime | None


def number_of(thread_id: str) -> Plan[int]:
    """A thread's number; raises ThreadNotFound if there is none."""
    rows = yield Ask("find_thread", (thread_key(thread_id),))
    if not rows:
        raise ThreadNotFound(f"thread {given(thread_id)!r} has no checkpoints")
    number: int = rows[0][0]
    return number


def found_at(number: int, thread_id: str, at: Point) -> Plan[str]:
    """The root checkpoint that a point names; raises ThreadNotFound if there is none."""
    id = yield from checkpoint_at(number, at)
    if id is not None:
        return id
    name = f"thread {given(thread_id)!r}"
    if at is None:
        raise ThreadNotFound(f"{name} has no checkpoints")
    if isinstance(at, datetime) or _time(at) is not None:
        raise ThreadNotFound(f"{name} has no checkpoint until {at}")
    raise ThreadNotFound(
        f"{name} has no checkpoint {given(at)!r}: it is neither the id of one of its root's "
        "checkpoints, nor a label, nor a run id, nor a time (ISO text). `history()` lists what "
        "there is, in a terminal `langgraph-wyrd log`"
    )


def checkpoint_at(number: int, at: Point) -> Plan[str | None]:
    """The root checkpoint that a point names: by its id, else by a label, a run, a time."""
    if at is None:
        top: str | None = (yield Ask("top", (number,)))[0][0]
        return top
    if isinstance(at, str):
        if (yield Ask("ancestor", (number, "", at))):
            return at
        labelled = yield from label_at(number, at)
        if labelled is not None:
            return labelled
        newest: str | None = (yield Ask("newest_of_run", (number, at)))[0][0]
        if newest is not None:
            return newest
    until = _time(at)
    if until is None:
        return None
    rows = yield Ask("newest_until", (number, until))
    return rows[0][0] if rows else None


def newest(thread_id: str) -> Plan[str | None]:
    """The head of a thread, if there is one."""
    rows = yield Ask("find_thread", (thread_key(thread_id),))
    if not rows:
        return None
    return (yield from checkpoint_at(rows[0][0], None))


def _time(at: str | datetime) -> str | None:
    try:
        return filters.moment(at, "at")
    except InvalidInput:
        return None


# ---- what was being done


def state_at(codec: Codec, thread_id: str, at: Point) -> Plan[WorkingState]:
    """The thread's working state at a point; raises ThreadNotFound if there is none."""
    number = yield from number_of(thread_id)
    id = yield from found_at(number, thread_id, at)
    return (yield from state_of(codec, number, thread_id, id))


def state_of(codec: Codec, number: int, thread_id: str, id: str) -> Plan[WorkingState]:
    """The thread's working state at a root checkpoint."""
    spaces = yield from states.spaces_at(codec, number, thread_id, id)
    return Weave(id, spaces, WorkingState()).visible()
