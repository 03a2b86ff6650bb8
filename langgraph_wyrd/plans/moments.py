"""Points in a thread's past: found by id or by time, and what was being done there."""

from __future__ import annotations

from datetime import datetime

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.pillars.model import WorkingState
from langgraph_wyrd.plans import filters, states
from langgraph_wyrd.plans.labels import label_at
from langgraph_wyrd.plans.woven import Weave
from langgraph_wyrd.store.names import thread_key
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.values import Codec

Point = str | datetime | None


def state_at(codec: Codec, thread_id: str, at: str | datetime | None) -> Plan[WorkingState | None]:
    """The thread's working state at a point; None if there is no such point."""
    rows = yield Ask("find_thread", (thread_key(thread_id),))
    if not rows:
        return None
    number = rows[0][0]
    id = yield from checkpoint_at(number, at)
    if id is None:
        return None
    spaces = yield from states.spaces_at(codec, number, thread_id, id)
    if not spaces:
        return None
    return Weave(id, spaces, WorkingState()).visible()


def checkpoint_at(number: int, at: str | datetime | None) -> Plan[str | None]:
    """The root checkpoint that a point names: an id, or the newest until a time."""
    if at is None:
        top: str | None = (yield Ask("top", (number,)))[0][0]
        return top
    if isinstance(at, str):
        if (yield Ask("ancestor", (number, "", at))):
            return at
        if (labelled := (yield from label_at(number, at))) is not None:
            return labelled
    try:
        until = filters.moment(at, "at")
    except InvalidInput:  # neither an id nor a time
        return None
    rows = yield Ask("newest_until", (number, until))
    return rows[0][0] if rows else None


def newest(thread_id: str) -> Plan[str | None]:
    """The head of a thread, if there is one."""
    rows = yield Ask("find_thread", (thread_key(thread_id),))
    if not rows:
        return None
    return (yield from checkpoint_at(rows[0][0], None))
