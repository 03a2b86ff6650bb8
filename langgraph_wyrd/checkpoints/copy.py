"""Copying a thread: every row of the tables that are copied, for another id or another database.

Each row is sealed and summed anew for the thread that it becomes part of. Stamps stay, so the same
checkpoint is known again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langgraph_wyrd.checkpoints import search, states, user_values
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.checkpoints.delete import locked
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.restore import metadata_of
from langgraph_wyrd.codec.payload import pack_delta, unpack_delta
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import fetch, insert, key_of, summed, upsert
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    HEALS,
    LABELS,
    TABLES,
    USER_DATA,
    WRITES,
    CheckpointRow,
    Key,
    Table,
    ThreadRow,
)

COPIED = (*(table for table in TABLES.values() if table.role == "source"), HEALS)
_RENEWED = (LABELS, HEALS)  # a row that is there already takes the source's columns
_AT_ONCE = 200  # rows in one statement


@dataclass(frozen=True, slots=True)
class Carried:
    """A thread's rows, opened. `thread` is its row of wyrd_threads, whose texts stay sealed."""

    thread: ThreadRow
    rows: dict[str, list[Any]]

    @property
    def places(self) -> dict[tuple[str, str], tuple[str | None, int]]:
        """Parent and stamp of each checkpoint, by namespace and id."""
        return {(row.ns, row.id): (row.parent, row.stamp) for row in self.rows[CHECKPOINTS.name]}


class Arrived(NamedTuple):
    """What was stored of a thread; `why` says that, and why, nothing was."""

    checkpoints: int = 0
    writes: int = 0
    there: int = 0  # checkpoints that were there already
    why: str | None = None


def opened(codec: Codec, carried: Carried) -> Carried:
    """The rows as they were before they were sealed."""
    return Carried(
        carried.thread,
        {name: [codec.open(TABLES[name], row) for row in held]
         for name, held in carried.rows.items()},
    )  # fmt: skip


# ---- storing


def arrive(dialect: str, codec: Codec, thread_id: str, carried: Carried) -> Script[Arrived]:
    """Store a thread's rows under an id, behind what is there of the same thread.

    Nothing is stored where the thread of that id is another one, or went on since.
    """
    here = yield from locked(dialect, thread_id, revived=True)
    assert here is not None
    rows = yield Query(
        "SELECT ns, id, parent, stamp FROM wyrd_checkpoints WHERE thread = ?", (here.key,)
    )
    known = {(ns, id): (parent, stamp) for ns, id, parent, stamp in rows}
    places = carried.places
    if why := _parted(places, known):
        return Arrived(why=why)
    counts = {}
    for table in COPIED:
        made = [row._replace(thread=here.key) for row in carried.rows.get(table.name, ())]
        if table is USER_DATA:
            made = [row for row in made if row.name != user_values.SNAPSHOT]
        elif table is CHECKPOINTS and carried.thread.thread_id != thread_id:
            names = given(carried.thread.thread_id), given(thread_id)
            made = [_renamed(codec, row, *names) for row in made]
        counts[table.name] = yield from _insert(codec, table, here.key, made)
    theirs = carried.thread
    if not any(counts.values()):
        return Arrived(there=len(known))
    head = max((id for ns, id in (*places, *known) if ns == ""), default=None)
    version = max(here.version, theirs.version) + 1
    first = min((id for _, id in (*places, *known)), default="")
    yield search.forget(here.key)  # rows that arrive have versions of their own
    yield Command(
        _ARRIVED,
        [(version, here.writer, head, first, theirs.created, not known, theirs.created,
          theirs.updated, not known, theirs.updated, theirs.user_id, theirs.read_by, here.key)],
    )  # fmt: skip
    shown = Thread(here.key, thread_id, version, here.writer, head, None, user=theirs.user_id)
    if theirs.status is not None:
        yield from states.show_again(dialect, codec, shown)
    return Arrived(counts[CHECKPOINTS.name], counts[WRITES.name], len(known))


# What was deleted here and is brought back is not refused any more.
_ARRIVED = (
    "UPDATE wyrd_threads SET version = ?, writer = ?, head = ?, "
    "buried = CASE WHEN buried < ? THEN buried ELSE NULL END, "
    "created = CASE WHEN created > ? OR ? THEN ? ELSE created END, "
    "updated = CASE WHEN updated < ? OR ? THEN ? ELSE updated END, "
    "user_id = coalesce(user_id, ?), read_by = ? WHERE key = ?"
)


def _parted(theirs: dict[Any, Any], here: dict[Any, Any]) -> str | None:
    """Why the thread that is here is not the one that arrives, or a part of it."""
    if unknown := here.keys() - theirs.keys():
        return (
            f"the target's thread of this id has {len(unknown)} checkpoints that the source has "
            "not: it is another one, or went on"
        )
    for key, (parent, stamp) in here.items():
        if theirs[key][0] != parent:
            return f"checkpoint {given(key[1])} has another parent in the target's thread"
        if theirs[key][1] != stamp:
            return f"checkpoint {given(key[1])} of the target's thread was stored by itself"
    return None


def _renamed(codec: Codec, row: CheckpointRow, source: str, target: str) -> CheckpointRow:
    """A server notes the thread's id in the metadata: in a copy it is the copy's."""
    if '"thread_id"' not in row.metadata:
        return row
    delta = unpack_delta(row.delta)
    metadata = metadata_of(codec, row, delta.metadata)
    if metadata.get("thread_id") != source:
        return row
    text, exact = codec.metadata({**metadata, "thread_id": target})
    return row._replace(metadata=text, delta=pack_delta(delta._replace(metadata=exact)))


def _insert(codec: Codec, table: Table, key: Key, rows: Sequence[Any]) -> Script[int]:
    """Insert the rows that are not there; how many that were."""
    held = {key_of(table, row): row for row in (yield from fetch(table, thread=key))}
    new = [row for row in rows if key_of(table, row) not in held]
    text = insert(table)
    if table in _RENEWED:
        text, new = upsert(table), []
        for row in rows:
            old = held.get(key_of(table, row))
            old = None if old is None else codec.open(table, old)
            if table is HEALS and old is not None:  # who has seen it, has seen it
                row = row._replace(acknowledged_at=row.acknowledged_at or old.acknowledged_at)
            if old is None or _plain(table, old) != _plain(table, row):
                new.append(row)
    for start in range(0, len(new), _AT_ONCE):
        some = new[start : start + _AT_ONCE]
        yield Command(text, [summed(table, row, codec.sealer) for row in some])
    return len(new)


def _plain(table: Table, row: Any) -> Any:
    """A row without its checksums."""
    return row._replace(**dict.fromkeys(table.sums))


# ---- within a database


def copy_thread(dialect: str, codec: Codec, target: str, found: Carried) -> Script[None]:
    """Store all of a thread's rows under an id that has no checkpoints yet."""
    here = yield from thread_row(dialect, target)
    if (yield Query("SELECT 1 FROM wyrd_checkpoints WHERE thread = ? LIMIT 1", (here.key,))):
        raise InvalidInput(
            f"thread {given(target)!r} has checkpoints already: copy to a new id, or delete it"
        )
    yield from arrive(dialect, codec, target, opened(codec, found))
