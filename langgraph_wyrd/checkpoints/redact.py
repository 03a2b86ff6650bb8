"""Taking text out of what was read of a thread: its titles, todos, context, loops, intentions.

The checkpoints themselves stay as they are: what a channel holds is the graph's. Ids, kinds,
statuses and times stay, too, so that what was open is still known to have been.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph_wyrd.checkpoints import delete, put, rebuild_tables, working
from langgraph_wyrd.codec.payload import packed, unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import delete as delete_rows
from langgraph_wyrd.storage.rows import select, summed
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    JOURNAL,
    LABELS,
    SNAPSHOTS,
    WRITES,
    Key,
)

REDACTED = "(erased)"

_TEXT = frozenset(
    ("title", "reason", "description", "content", "text", "value", "outcome", "metadata", "extra")
)
_ITEMS = frozenset(("todos", "context", "loops", "intentions"))
_COUNTS = {
    "titles": "SELECT count(*) FROM wyrd_threads WHERE key = ? AND title IS NOT NULL",
    "todos": "SELECT count(*) FROM wyrd_todos WHERE thread = ?",
    "context": "SELECT count(*) FROM wyrd_context WHERE thread = ?",
    "loops": "SELECT count(*) FROM wyrd_open_loops WHERE thread = ?",
    "intentions": "SELECT count(*) FROM wyrd_intentions WHERE thread = ?",
    "labels": "SELECT count(*) FROM wyrd_labels WHERE thread = ?",
    "checkpoints": "SELECT count(*) FROM wyrd_checkpoints WHERE thread = ?",
}


def remaining(key: Key) -> Script[dict[str, int]]:
    """Where text of a thread is: how many of what."""
    answers = yield [Query(sql, (key,)) for sql in _COUNTS.values()]
    counts = {name: int(rows[0][0]) for name, rows in zip(_COUNTS, answers, strict=True)}
    return {name: count for name, count in counts.items() if count}


def redact(dialect: str, codec: Codec, thread_id: str, user: str) -> Script[bool]:
    """Redact a thread that is still the user's; whether it is."""
    thread = yield from delete.lock(dialect, thread_id)
    if thread is None or thread.user != user:
        return False
    key = thread.key
    for table, column, change in (
        (CHECKPOINTS, "events", _of_checkpoint), (WRITES, "events", _of_writes),
        (JOURNAL, "body", _of_journal), (LABELS, "kept", _of_label),
    ):  # fmt: skip
        for held in (yield Query(select(table, "thread"), (key,))):
            row: Any = codec.open(table, table.row._make(held))
            if getattr(row, column) is not None:
                made = row._replace(**{column: change(row, getattr(row, column))})
                yield put.replace_row(table, summed(table, made, codec.sealer))
    yield Command(delete_rows(SNAPSHOTS, "thread"), [(key,)])
    yield from rebuild_tables.again(dialect, codec, replace(thread, spaces={}))
    return True


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
