"""The thread's row: every write moves it on, and is refused where another writer was quicker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.errors import WrongUser
from langgraph_wyrd.extraction.view import TaskWrite
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.rows import now
from langgraph_wyrd.storage.scripts import Step
from langgraph_wyrd.storage.tables import LOST, UNREAD

_MINE = "WHERE key = ? AND thread_id = ? AND version = ? AND writer = ?"
# SQLite updates the index of a column that is set, though it is as it was: `read_by` and `user_id`
# are set where they change.
_MOVED = (
    "UPDATE wyrd_threads SET version = version + 1, writer = ?, head = ?, updated = ?, "
    "deleted_at = NULL"
)
ADVANCE = f"{_MOVED} {_MINE}"
ADVANCE_UNREAD = f"{_MOVED}, status = NULL, read_by = '{UNREAD}' {_MINE}"  # nothing is read of it
ADVANCE_STILL_UNREAD = f"{_MOVED}, status = NULL {_MINE}"
ADVANCE_SHOWN = (
    f"{_MOVED}, status = ?, reason = ?, due = ?, title = ?, open_loops = ?, open_todos = ? {_MINE}"
)
BEGIN = (
    "INSERT INTO wyrd_threads (key, thread_id, version, writer, head, created, updated, user_id, "
    "read_by, status, reason, due, title, open_loops, open_todos) "
    "VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
READ_BY = "UPDATE wyrd_threads SET read_by = ? WHERE key = ?"
OF_USER = "UPDATE wyrd_threads SET user_id = ? WHERE key = ? AND user_id IS NULL"
UNBURY = "UPDATE wyrd_threads SET buried = NULL WHERE key = ?"
NOTHING_SHOWN = (None, None, None, None, 0, 0)
# Ordinary writes of other savers leave the version of the thread as it is. To count them is not
# enough: where one that is known was refused, another one may have come in its place.
_KNOWN = (
    "SELECT 1 FROM wyrd_threads WHERE key = ? AND (SELECT count(DISTINCT task) = ? AND "
    "count(DISTINCT CASE WHEN task {} THEN task END) = ? FROM wyrd_writes "
    "WHERE thread = ? AND ns = ? AND checkpoint = ?)"
)
_OF_SQLITE = _KNOWN.format("IN (SELECT value FROM json_each(?))")
_OF_POSTGRES = _KNOWN.format("= ANY(?)")


def advanced(
    me: int, thread: Thread, head: str | None, user: str | None, columns: tuple[Any, ...] | None,
    read_by: str | None = None, *, unread: bool = False,
) -> Step:  # fmt: skip
    """The thread's row, moved on by one version; `columns` are those of its working state.

    `unread`: nobody reads the working state out of what is stored.
    """
    moment = now()
    head = LOST if head is None and thread.lost else head
    if not thread.version:
        row = (thread.key, thread.thread_id, me, head, moment, moment, user, read_by)
        return Step(BEGIN, (*row, *(columns or NOTHING_SHOWN)))
    mine = (thread.key, thread.thread_id, thread.version, thread.writer)
    if columns is None:
        sql = ADVANCE
        if unread:
            sql = ADVANCE_STILL_UNREAD if thread.read_by == UNREAD else ADVANCE_UNREAD
        return Step(sql, (me, head, moment, *mine), must=True)
    return Step(ADVANCE_SHOWN, (me, head, moment, *columns, *mine), must=True)


def all_known(thread: Thread, ns: str, checkpoint: str, writes: Sequence[TaskWrite]) -> Step:
    """Let the write be stale if other tasks wrote at a checkpoint than those that are known."""
    tasks = sorted({stored(write.task, "task_id") for write in writes})
    sql: str = _OF_POSTGRES
    held: Any = tasks
    if isinstance(thread.key, int):
        sql, held = _OF_SQLITE, json.dumps(tasks)
    params = (thread.key, len(tasks), held, len(tasks), thread.key, ns, checkpoint)
    return Step(sql, params, must=True)


def refuse_others(thread: Thread, owner: str | None) -> None:
    """Raise if a thread is not the user's who writes to it; without a checkpoint it is nobody's."""
    if owner is None or thread.user == owner or (thread.user is None and thread.head is None):
        return
    raise WrongUser(
        f"thread {given(thread.thread_id)!r} is not user {given(owner)!r}'s: nothing of this run "
        "was stored there. Use another thread_id."
    )
