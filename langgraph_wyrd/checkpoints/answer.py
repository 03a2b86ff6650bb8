"""Writes of tasks that are stored together and once: an answer, and the note of who gave it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from langgraph_wyrd.checkpoints import deleted_threads, points, put, writes_at_older_checkpoints
from langgraph_wyrd.checkpoints.delete import lock
from langgraph_wyrd.checkpoints.lookup import is_there, thread_row
from langgraph_wyrd.checkpoints.put import PutWrites
from langgraph_wyrd.checkpoints.writing import packed_writes
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.storage.scripts import Query, Script

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.writing import Writing

_WROTE = (
    "SELECT 1 FROM wyrd_writes WHERE thread = ? AND ns = ? AND checkpoint = ? AND task = ? LIMIT 1"
)


class Once(NamedTuple):
    """The thread's state before the writes were stored, and with them."""

    before: WorkingState
    after: WorkingState


def store(writing: Writing, codec: Codec, calls: Sequence[PutWrites]) -> Script[Once | None]:
    """Store calls of `put_writes` in one transaction, the first of which is at the thread's head.

    None, and nothing is stored, where the task of the first one wrote there before, or where the
    thread has another head by now. The thread's row is locked first, so of two writers the second
    one sees what the first one stored.
    """
    dialect, first = writing._dialect, calls[0]
    thread = yield from lock(dialect, first.thread_id)
    if thread is None:
        raise deleted_threads.too_late(first.thread_id)
    wrote = yield Query(_WROTE, (thread.key, first.ns, first.checkpoint, first.task))
    if wrote or thread.head != first.checkpoint:
        return None
    before = yield from points.state_at(dialect, codec, first.thread_id, None)
    for call in calls:
        call.seq = put.next_seq()
        payload = packed_writes(codec, call)
        yield from writes_at_older_checkpoints.stored(writing, codec, call, payload)
    after = yield from points.state_at(dialect, codec, first.thread_id, None)
    return Once(before, after)


def has_checkpoint(
    dialect: str, thread_id: str, ns: str, id: str | None, user: str | None
) -> Script[bool]:
    """Whether a checkpoint is stored, in one of the user's threads."""
    thread = yield from thread_row(dialect, thread_id)
    if user is not None and thread.user != user:
        return False
    return (yield from is_there(thread.key, ns, id or ""))
