"""Erasing a user's data in all threads, and values that are kept for users beside the threads.

A redaction takes text out of what was read of a thread: its titles, todos, context, loops and
intentions. Its checkpoints stay as they are: what a channel holds is the graph's. Ids, kinds,
statuses and times stay, too, so that what was open is still known to have been.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph_wyrd.checkpoints import delete, snapshots, states, user_values, working
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.codec.payload import packed, unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, KeyMissing
from langgraph_wyrd.state.codec import from_dict, to_dict
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import delete as delete_from
from langgraph_wyrd.storage.rows import fetch, now, replace_row, select, summed, unsound, upsert
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    JOURNAL,
    LABELS,
    SNAPSHOTS,
    TABLES,
    USER_DATA,
    WRITES,
    Key,
    Table,
    UserRow,
)

logger = logging.getLogger("langgraph_wyrd")

_WITH = (
    "SELECT DISTINCT t.thread_id FROM wyrd_user_data u JOIN wyrd_threads t ON t.key = u.thread "
    "WHERE u.user_id = ? AND u.data IS NOT NULL ORDER BY t.thread_id"
)
_OF = "SELECT thread_id FROM wyrd_threads WHERE user_id = ? AND deleted_at IS NULL ORDER BY key"
# Values beside the threads, and rows of threads that are gone.
_OUTSIDE = "FROM wyrd_user_data WHERE user_id = ? AND thread NOT IN (SELECT key FROM wyrd_threads)"


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
    rows = yield from fetch(USER_DATA, user_id=user, thread=thread.key)
    empty = [row._replace(data=None, updated=now()) for row in rows if row.data is not None]
    if empty:
        yield Command(upsert(USER_DATA), [summed(USER_DATA, row) for row in empty])
    return len(empty)


def counted(codec: Codec, user: str) -> Script[tuple[int, int]]:
    """How many values are a user's, and in how many threads: a channel of a thread counts once,
    however often it was written."""
    rows = yield Query(f"{select(USER_DATA, 'user_id')} AND data IS NOT NULL", (user,))
    found: set[tuple[Key, str]] = set()
    for row in map(UserRow._make, rows):
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


# ---- text that was read out of a thread

REDACTED = "(erased)"

_TEXT = frozenset(
    ("title", "reason", "description", "content", "text", "value", "outcome", "metadata", "extra")
)
_ITEMS = frozenset(("todos", "context", "loops", "intentions"))
_COUNTED = ("todos", "context", "open_loops", "intentions", "labels", "checkpoints")


def remaining(dialect: str, thread_id: str) -> Script[dict[str, int]]:
    """Where text of a thread is: how many of what."""
    key = (yield from thread_row(dialect, thread_id)).key
    queries = {"titles": "SELECT count(*) FROM wyrd_threads WHERE key = ? AND title IS NOT NULL"}
    for name in _COUNTED:
        shown = name.removeprefix("open_")
        queries[shown] = f"SELECT count(*) FROM wyrd_{name} WHERE thread = ?"
    answers = yield [Query(sql, (key,)) for sql in queries.values()]
    counts = {name: int(rows[0][0]) for name, rows in zip(queries, answers, strict=True)}
    return {name: count for name, count in counts.items() if count}


def redact(
    dialect: str, codec: Codec, thread_id: str, user: str, strict: bool = False
) -> Script[bool]:
    """Redact a thread that is still the user's; whether it is.

    Damaged rows lose what may be text, and stay known as damaged; with `strict` they raise
    CheckpointDamaged.
    """
    thread = yield from delete.lock(dialect, thread_id)
    if thread is None or thread.user != user:
        return False
    key = thread.key
    for table, column, change in (
        (CHECKPOINTS, "events", _of_checkpoint), (WRITES, "events", _of_writes),
        (JOURNAL, "body", _of_journal), (LABELS, "kept", _of_label),
        (SNAPSHOTS, "state", _of_snapshot),
    ):  # fmt: skip
        for held in (yield from fetch(table, thread=key)):
            if unsound(table, held):
                if strict:
                    raise CheckpointDamaged(f"a row of {table.name} fails its checksum")
                yield replace_row(table, _emptied(table, held, column))
                continue
            row: Any = codec.open(table, held)
            if getattr(row, column) is not None:
                made = row._replace(**{column: change(row, getattr(row, column))})
                yield replace_row(table, summed(table, made, codec.sealer))
    yield from states.show_again(dialect, codec, replace(thread, spaces={}))
    return True


def _emptied(table: Table, held: Any, column: str) -> Any:
    """A damaged row without a column. Its checksum still says that it is damaged."""
    made = held._replace(**{column: b"" if column == "body" else None})
    if table is CHECKPOINTS:  # that of its events is one of its own
        made = made._replace(events_sum=summed(table, made).events_sum)
    return made


def _of_checkpoint(row: Any, data: bytes) -> bytes | None:
    own, tasks = working.unpack_events(data, Moment(given(row.id), given(row.ns), row.ts))
    said = [(at, tuple(map(redacted, events))) for at, events in tasks]
    return working.pack_events(tuple(map(redacted, own)), said)


def _of_writes(_: Any, data: bytes) -> bytes | None:
    return working.pack_events_of(tuple(map(redacted, working.events_of(data))))


def _of_journal(_: Any, data: bytes) -> bytes:
    body = unpacked(data)
    events = [[n, redacted(Event.from_dict(each)).to_dict()] for n, each in body["events"]]
    return packed({**body, "events": events})


def _of_label(_: Any, data: bytes) -> bytes:
    kept = unpacked(data)
    return packed({**kept, "items": [_without(item) for item in kept["items"]]})


def _of_snapshot(_: Any, data: bytes) -> bytes:
    said = _without(to_dict(snapshots.state_in(data), compact=True), whole=True)
    return snapshots.state_of(from_dict(WorkingState, said))


def redacted(event: Event) -> Event:
    """An event without what it says of anybody."""
    return replace(event, body=_without(event.body, whole=event.op == "base"))


def _without(body: Mapping[str, Any], *, whole: bool = False) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, held in body.items():
        if whole and name in _ITEMS and isinstance(held, list):
            made[name] = [_without(item) for item in held]
        elif name in _TEXT or (name == "context" and not whole):
            made[name] = {} if isinstance(held, Mapping) else None if held is None else REDACTED
        else:
            made[name] = held
    return made


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
    one = {} if key is None else {"name": key}
    found = {}
    rows = yield from fetch(USER_DATA, "ORDER BY name", **_beside(dialect, user), **one)
    for row in rows:
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
    rows = yield from fetch(USER_DATA, "ORDER BY name", **_beside(dialect, user))
    return [given(row.name) for row in rows]


def drop_value(dialect: str, codec: Codec, user: str, key: str) -> Script[bool]:
    """Delete a value of a user; whether it was there."""
    place = {**_beside(dialect, user), "name": key}
    there = yield from fetch(USER_DATA, **place)
    if there:
        yield Command(delete_from(USER_DATA, *place), [(*place.values(),)])
    return bool(there)


def _beside(dialect: str, user: str) -> dict[str, Any]:
    """Which rows hold a user's values beside the threads."""
    return {"user_id": user, "thread": nowhere(dialect)}
