"""Points of a thread's past: which checkpoint a name means, and what was being done there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from langgraph_wyrd.checkpoints import leases, states, working
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.missing import LOST_REASON, LOST_SAID, headed
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, ThreadNotFound
from langgraph_wyrd.filters import moment
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import select, unsound
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import LABELS, LabelRow


class LabelAt(NamedTuple):
    """A label at one checkpoint: its name may stand at others, too."""

    name: str
    checkpoint: str


# A checkpoint id, a label, a run id (in stored form), a time; None: the head.
Point = str | datetime | LabelAt | None

_ONE = "SELECT 1 FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND id = ?"
_LABELS = (
    f"{select(LABELS, 'thread')}{{}} AND EXISTS (SELECT 1 FROM wyrd_checkpoints c WHERE "
    "c.thread = wyrd_labels.thread AND c.ns = '' AND c.id = checkpoint) ORDER BY checkpoint, name"
)
_RUN = "SELECT max(id) FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND run_id = ?"
# LangGraph's times are ISO text in UTC, so they sort as they are.
_UNTIL = (
    "SELECT id FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND ts <= ? "
    "ORDER BY id DESC LIMIT 1"
)


class Place(NamedTuple):
    """A root checkpoint; with `until`, what was said there after that `seq` is left out."""

    id: str
    until: int | None = None


def known(dialect: str, thread_id: str) -> Script[Thread]:
    """The row of a thread that is there; raises ThreadNotFound.

    All its checkpoints may be `lost`.
    """
    thread = yield from thread_row(dialect, thread_id)
    if not thread.version or thread.deleted:
        raise ThreadNotFound(f"thread {given(thread_id)!r} has no checkpoints")
    yield from headed(thread.key, thread.head)
    return thread


def place_at(thread: Thread, at: Point) -> Script[Place | None]:
    """The root checkpoint that a point names: by its id, else by a label, a run, a time."""
    refuse_lost(thread)
    if at is None:
        return None if thread.head is None else Place(thread.head)
    if isinstance(at, LabelAt):
        return _labelled((yield from labels(thread, **at._asdict())))
    if isinstance(at, str):
        if (yield Query(_ONE, (thread.key, at))):
            return Place(at)
        labelled = _labelled((yield from labels(thread, name=at)))
        if labelled is not None:
            return labelled
        ((newest,),) = yield Query(_RUN, (thread.key, at))
        if newest is not None:
            return Place(newest)
    until = _time(at)
    if until is None:
        return None
    rows = yield Query(_UNTIL, (thread.key, until))
    return Place(rows[0][0]) if rows else None


def refuse_lost(thread: Thread) -> None:
    """Raise CheckpointDamaged where all checkpoints of a thread are missing."""
    if thread.lost:
        raise CheckpointDamaged(
            f"thread {given(thread.thread_id)!r}: {LOST_SAID}, and nothing here brings them back. "
            "Restore a backup; a run starts with an empty state"
        )


def standing(dialect: str, thread_id: str) -> Script[Thread]:
    """The row of a thread with checkpoints; raises ThreadNotFound, or says that they are lost."""
    thread = yield from known(dialect, thread_id)
    refuse_lost(thread)
    return thread


def labels(thread: Thread, **by: str) -> Script[list[LabelRow]]:
    """The labels of checkpoints that are there, with these columns' values, the oldest first."""
    narrowed = "".join(f" AND {name} = ?" for name in by)
    rows = yield Query(_LABELS.format(narrowed), (thread.key, *by.values()))
    return [*map(LabelRow._make, rows)]


def _labelled(rows: Sequence[LabelRow]) -> Place | None:
    if not rows:
        return None
    if unsound(LABELS, rows[-1]):
        raise CheckpointDamaged(f"label {given(rows[-1].name)!r} is damaged")
    return Place(rows[-1].checkpoint, rows[-1].seq)


def found_at(thread: Thread, at: Point) -> Script[Place]:
    """The root checkpoint that a point names; raises ThreadNotFound if there is none."""
    place = yield from place_at(thread, at)
    if place is not None:
        return place
    name = f"thread {given(thread.thread_id)!r}"
    if at is None:
        raise ThreadNotFound(f"{name} has no checkpoints")
    if isinstance(at, LabelAt):
        raise ThreadNotFound(f"{name} has no label {given(at.name)!r} at {given(at.checkpoint)}")
    if isinstance(at, datetime) or _time(at) is not None:
        raise ThreadNotFound(f"{name} has no checkpoint until {at}")
    raise ThreadNotFound(
        f"{name} has no checkpoint {given(at)!r}: it is neither the id of one of its root's "
        "checkpoints, nor a label, nor a run id, nor a time (ISO text). `history()` lists what "
        "there is, in a terminal `langgraph-wyrd log`"
    )


def _time(at: str | datetime) -> str | None:
    try:
        return moment(at, "at")
    except InvalidInput:
        return None


# ---- what was being done


def thread_at(dialect: str, codec: Codec, thread: Thread, place: Place) -> Script[Thread]:
    """The thread as it was at a root checkpoint, with the subgraphs that ran there."""
    past = place.until is not None or place.id != thread.head
    then = replace(thread, head=place.id, spaces={}, state=None)
    yield from states.load_thread(dialect, codec, then, until=place.until, past=past, values=False)
    return then


def state_at(dialect: str, codec: Codec, thread_id: str, at: Point) -> Script[WorkingState]:
    """The thread's working state at a point; raises ThreadNotFound if there is none."""
    thread = yield from known(dialect, thread_id)
    if at is None and thread.head is None:  # nothing but declarations so far
        yield from states.load_thread(dialect, codec, thread, values=False)
        if thread.lost:
            return replace(working.visible(thread), reason=LOST_REASON)
        if thread.spaces:
            return working.visible(thread)
    place = yield from found_at(thread, at)
    state = working.visible((yield from thread_at(dialect, codec, thread, place)))
    if at is None and state.status == "due":
        left = (yield from leases.left(dialect, [thread_id])).get(thread_id)
        head = None if thread.head is None else given(thread.head)
        state = replace(state, **leases.changes(left, head, state.reason))
    return state


def root_at(
    dialect: str, codec: Codec, thread: Thread, place: Place, ns: str = "", *, facts: bool = False
) -> Script[tuple[Found, working.NamespaceState]]:
    """The rows and the working state of a checkpoint alone; `facts`: with all that were declared
    anywhere since, unless the place itself says until when."""
    past = place.until is not None or (not facts and place.id != thread.head)
    found, state = yield from states.load_namespace(
        dialect, codec, thread, ns, place.id, until=place.until, past=past, values=False
    )
    if state is None:
        if place.id == thread.head:
            raise CheckpointDamaged(f"checkpoint {given(place.id)} is missing")
        raise ThreadNotFound(
            f"checkpoint {given(place.id)} of thread {given(thread.thread_id)!r} is not there any "
            "more"
        )
    return found, state
