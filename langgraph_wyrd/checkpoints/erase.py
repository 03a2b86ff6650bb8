"""Erasing a user's data in all threads, and values that are kept for users beside the threads."""

from __future__ import annotations

import logging
from typing import Any

from langgraph_wyrd.checkpoints import delete, redact, user_values
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.put import now
from langgraph_wyrd.codec.payload import packed, unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, KeyMissing
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import select, summed, unsound, upsert
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import TABLES, USER_DATA, Key, UserRow

logger = logging.getLogger("langgraph_wyrd")

_WITH = (
    "SELECT DISTINCT t.thread_id FROM wyrd_user_data u JOIN wyrd_threads t ON t.key = u.thread "
    "WHERE u.user_id = ? AND u.data IS NOT NULL ORDER BY t.thread_id"
)
_OF = "SELECT thread_id FROM wyrd_threads WHERE user_id = ? AND deleted_at IS NULL ORDER BY key"
_ROWS = (
    "SELECT user_id, thread, name, n, updated FROM wyrd_user_data "
    "WHERE user_id = ? AND thread = ? AND data IS NOT NULL"
)
_EMPTY = (
    "UPDATE wyrd_user_data SET data = NULL, updated = ?, sum = ? "
    "WHERE user_id = ? AND thread = ? AND name = ? AND n = ?"
)
# Values beside the threads, and rows of threads that are gone.
_OUTSIDE = "FROM wyrd_user_data WHERE user_id = ? AND thread NOT IN (SELECT key FROM wyrd_threads)"
_VALUES = f"{select(USER_DATA, 'user_id', 'thread')} {{}}ORDER BY name"


def nowhere(dialect: str) -> Key:
    """The thread's key of a value that belongs to no thread."""
    return b"" if dialect == "postgres" else 0


# ---- erasing


def threads_with(user: str) -> Script[list[str]]:
    """The threads that hold something of a user."""
    return [row[0] for row in (yield Query(_WITH, (user,)))]


def threads_of(user: str) -> Script[list[str]]:
    """The threads that are a user's own."""
    return [row[0] for row in (yield Query(_OF, (user,)))]


def erase_in(dialect: str, thread_id: str, user: str) -> Script[int]:
    """Empty a user's rows in one thread; how many. Whoever has the thread cached reads it again."""
    thread = yield from delete.lock(dialect, thread_id, whole=False)
    if thread is None:
        return 0
    rows = yield Query(_ROWS, (user, thread.key))
    at, made = now(), []
    for user_id, key, name, n, _ in rows:
        row = summed(USER_DATA, UserRow(user_id, key, name, n, at, 0, None))
        made.append((at, row.sum, user_id, key, name, n))
    if made:
        yield Command(_EMPTY, made)
    return len(made)


def counted(codec: Codec, user: str) -> Script[tuple[int, int]]:
    """How many values are a user's, and in how many threads: a channel of a thread counts once,
    however often it was written."""
    rows = yield Query(f"{select(USER_DATA, 'user_id')} AND data IS NOT NULL", (user,))
    found: set[tuple[Key, str]] = set()
    for held in rows:
        row = UserRow._make(held)
        if row.name in (user_values.CHECKPOINT, user_values.WRITES, user_values.SNAPSHOT):
            try:
                held = user_values.Rows([row]).held(codec, user, row.name, row.n) or {}
            except (CheckpointDamaged, KeyMissing):
                held = {}
            names = {each for each in held if isinstance(each, str) and not each.startswith("__")}
            found.update((row.thread, each) for each in names)
        else:
            found.add((row.thread, row.name))
    threads = {thread for thread, _ in found if thread not in (0, b"")}
    return len(found), len(threads)


def remaining(dialect: str, thread_id: str) -> Script[dict[str, int]]:
    """Where text of a thread is: how many of what."""
    thread = yield from thread_row(dialect, thread_id)
    return (yield from redact.remaining(thread.key))


def erase_outside(user: str) -> Script[int]:
    """Delete what is kept for a user beside the threads, and under threads that are gone."""
    ((count,),) = yield Query(f"SELECT count(*) {_OUTSIDE}", (user,))
    if count:
        yield Command(f"DELETE {_OUTSIDE}", [(user,)])
    return int(count)


def delete_thread(dialect: str, thread_id: str, user: str) -> Script[dict[str, int]]:
    """Delete a thread that is still the user's; how many rows of each table went."""
    thread = yield from delete.lock(dialect, thread_id, whole=False)
    if thread is None or thread.user != user:
        return {}
    tables = [table.name for table in TABLES.values() if "thread" in table.names]
    found = yield [
        Query(f"SELECT count(*) FROM {name} WHERE thread = ?", (thread.key,)) for name in tables
    ]
    yield from delete.delete_thread(dialect, thread_id)
    counts = {name: int(rows[0][0]) for name, rows in zip(tables, found, strict=True)}
    shown = {name: count for name, count in counts.items() if name != "wyrd_parity"}
    return {"wyrd_threads": 1, **shown}


# ---- values beside the threads


def packed_value(codec: Codec, value: Any, key: str) -> bytes:
    return packed([*codec.written(value, key)])


def set_value(dialect: str, codec: Codec, user: str, key: str, data: bytes) -> Script[None]:
    """Keep a value for a user, in the place of what had this key."""
    row = UserRow(user, nowhere(dialect), key, 0, now(), 0, data)
    yield Command(upsert(USER_DATA), [summed(USER_DATA, row, codec.sealer)])


def values(
    dialect: str, codec: Codec, user: str, heals: bool, key: str | None
) -> Script[dict[str, Any]]:
    """A user's values, or the one of a key. With `heals`, damaged ones are left out."""
    narrowed = "" if key is None else "AND name = ? "
    params = (user, nowhere(dialect)) if key is None else (user, nowhere(dialect), key)
    found = {}
    for held in (yield Query(_VALUES.format(narrowed), params)):
        row = UserRow._make(held)
        name = given(row.name)
        try:
            if unsound(USER_DATA, row) or row.data is None:
                raise CheckpointDamaged(
                    f"user {given(user)!r}: the value {name!r} is not what was written"
                )
            found[name] = codec.load_written(*unpacked(codec.opened(USER_DATA, row, "data")))
        except CheckpointDamaged:
            if not heals:
                raise
            logger.warning(
                "user %r: the value %r is damaged and was left out; verify() tells more",
                given(user), name,
            )  # fmt: skip
    return found


def keys(dialect: str, codec: Codec, user: str) -> Script[list[str]]:
    """The keys of a user's values, sorted."""
    rows = yield Query(
        "SELECT name FROM wyrd_user_data WHERE user_id = ? AND thread = ? ORDER BY name",
        (user, nowhere(dialect)),
    )
    return [given(row[0]) for row in rows]


def drop_value(dialect: str, codec: Codec, user: str, key: str) -> Script[bool]:
    """Delete a value of a user; whether it was there."""
    place = (user, nowhere(dialect), key)
    rows = yield Query(
        "SELECT 1 FROM wyrd_user_data WHERE user_id = ? AND thread = ? AND name = ?", place
    )
    if rows:
        yield Command(
            "DELETE FROM wyrd_user_data WHERE user_id = ? AND thread = ? AND name = ?", [place]
        )
    return bool(rows)
