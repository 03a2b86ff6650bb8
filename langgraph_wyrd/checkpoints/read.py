"""Reading: one checkpoint, a page of them, the history of delta channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_wyrd.checkpoints import path
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.checkpoints.restore import metadata_of, rest_of, restore
from langgraph_wyrd.codec.payload import unpacked
from langgraph_wyrd.codec.values import Codec, bare, wrapped
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.storage.keys import found_by
from langgraph_wyrd.storage.rows import unsound
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, WRITES, WriteRow
from langgraph_wyrd.store.collector import Held
from langgraph_wyrd.store.names import given
from langgraph_wyrd.types.migrations import MigrationRaised, unmarked
from langgraph_wyrd.types.telling import migration_raised, tell

Pending = tuple[str, str, Any]  # task, channel, value

SPECIAL = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4,
           "__error_source_node__": -5}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Read:
    """A checkpoint as it was stored, ids as they were given."""

    thread_id: str
    ns: str
    id: str
    parent: str | None
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    writes: list[Pending]


def get(dialect: str, codec: Codec, thread_id: str, ns: str, id: str | None) -> Script[Read | None]:
    """One checkpoint, or the latest of its namespace."""
    found = yield from path.find(dialect, found_by(dialect, thread_id), ns, id)
    if found.thread is None or found.thread.deleted_at is not None or not found.path:
        return None
    with Held():
        return read_of(codec, found)


def read_of(codec: Codec, found: Found) -> Read:
    """The checkpoint of the rows that hold it."""
    thread, row = found.thread, found.path[0]
    assert thread is not None
    place = given(thread.thread_id), given(row.ns), given(row.id)
    restored = restore(codec, found)
    checkpoint = rest_of(codec, restored.rest)
    checkpoint["id"] = given(row.id)
    if row.ts is not None:
        checkpoint["ts"] = given(row.ts)
    values = restored.values()
    writes = pending(codec, found.writes)
    if codec.classes.channels:
        values = {name: migrated(codec, name, value, *place) for name, value in values.items()}
        writes = [(task, name, migrated(codec, name, v, *place)) for task, name, v in writes]
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = restored.versions
    checkpoint["versions_seen"] = restored.seen
    metadata = metadata_of(codec, row, restored.metadata)
    if codec.has_kept():
        held = [(name, value) for _, name, value in writes]
        tell(codec.classes, *place, [*held, *values.items(), ("metadata", metadata)])
    parent = None if row.parent is None else given(row.parent)
    return Read(*place, parent, checkpoint, metadata, writes)


def migrated(codec: Codec, name: str, value: Any, thread: str, ns: str, id: str) -> Any:
    """What a channel holds, or what was written to it, after the migrations of the channel."""
    if name not in codec.classes.channels:
        return value
    snapshot, inner = bare(value)
    try:
        made = codec.classes.value(name, inner)
    except MigrationRaised as error:
        migration_raised(codec.classes, thread, ns, id, name, error)
        made = unmarked(inner)
    return wrapped(snapshot, made)


# ---- task writes


@dataclass(slots=True)
class Written:
    """One value that a task wrote, still packed."""

    path: str
    task: str
    idx: int
    channel: str
    form: str
    data: Any


def merged(codec: Codec, rows: Sequence[WriteRow]) -> list[Written]:
    """The writes of a checkpoint's tasks, in LangGraph's order, as InMemorySaver keeps them.

    Of an ordinary write the first one stays, of a special one (an error, an interrupt, an answer)
    the last.
    """
    slots: dict[tuple[str, int], Written] = {}
    for row in sorted(rows, key=lambda row: row.seq):
        if unsound(WRITES, row):
            raise CheckpointDamaged(
                f"what task {given(row.task)} wrote at checkpoint {given(row.checkpoint)} fails "
                "its checksum"
            )
        for at, (channel, form, data) in enumerate(unpacked(codec.opened(WRITES, row, "payload"))):
            idx = SPECIAL.get(channel, at)
            key = (row.task, idx)
            if idx < 0 or key not in slots:
                slots[key] = Written(row.path, row.task, idx, channel, form, data)
    return sorted(slots.values(), key=lambda w: (given(w.path), given(w.task), w.idx))


def pending(codec: Codec, rows: Sequence[WriteRow]) -> list[Pending]:
    """The pending writes of a checkpoint."""
    if not rows:
        return []
    found = merged(codec, rows)
    return [(given(w.task), w.channel, codec.load_written(w.form, w.data)) for w in found]


# ---- a page of checkpoints

_COLUMNS = "c.thread, c.ns, c.id"


@dataclass(slots=True)
class Page:
    """Where a listing goes on: behind this checkpoint."""

    id: str
    ns: str
    thread: Any


def page(
    dialect: str,
    codec: Codec,
    where: Sequence[tuple[str, tuple[Any, ...]]],
    after: Page | None,
    size: int,
    matches: Callable[[dict[str, Any]], bool],
) -> Script[tuple[list[Read], Page | None]]:
    """The next checkpoints, newest first, and where to go on (None: that was the end)."""
    conditions = [text for text, _ in where] + ["t.deleted_at IS NULL"]
    params = [value for _, held in where for value in held]
    if after is not None:
        conditions.append("(c.id, c.ns, c.thread) < (?, ?, ?)")
        params += [after.id, after.ns, after.thread]
    rows = yield Query(
        "SELECT c.thread, c.ns, c.id, t.thread_id FROM wyrd_checkpoints c "
        f"JOIN wyrd_threads t ON t.key = c.thread WHERE {' AND '.join(conditions)} "
        "ORDER BY c.id DESC, c.ns DESC, c.thread DESC LIMIT ?",
        (*params, size),
    )
    reads: list[Read] = []
    for _, ns, id, thread_id in rows:
        found = yield from path.find(dialect, found_by(dialect, thread_id), ns, id)
        if found.path:
            row = found.path[0]
            from langgraph_wyrd.codec.payload import unpack_delta

            delta = unpack_delta(codec.opened(CHECKPOINTS, row, "delta"))
            if not matches(metadata_of(codec, row, delta.metadata)):
                continue
            reads.append(read_of(codec, found))
    last = Page(rows[-1][2], rows[-1][1], rows[-1][0]) if len(rows) == size else None
    return reads, last
