"""Points of a thread's past, as callers name them."""

from __future__ import annotations

from datetime import datetime

from langgraph_wyrd.checkpoints.points import Point
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.past import HistoryEntry
from langgraph_wyrd.storage.names import stored

When = str | datetime | HistoryEntry | None  # a point; an entry of the history or the tree, too


def checked(at: When) -> Point:
    """A point as a caller may give it, text in stored form."""
    if isinstance(at, HistoryEntry):
        at = at.checkpoint_id
    if isinstance(at, str):
        return stored(at, "a point")
    if at is None or isinstance(at, datetime):
        return at
    raise InvalidInput(
        f"{at!r} is no point: use a checkpoint id, a label, a run id, a time (a datetime, or ISO "
        "text) or None for the head"
    )
