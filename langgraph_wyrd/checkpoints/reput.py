"""A checkpoint that is put again under its id, with other content."""

from __future__ import annotations

from langgraph_wyrd.checkpoints import path
from langgraph_wyrd.checkpoints.cache import Thread, beginning
from langgraph_wyrd.checkpoints.put import Put, now, planned
from langgraph_wyrd.checkpoints.restore import Restored, checked, metadata_of, restore
from langgraph_wyrd.codec.delta import operation
from langgraph_wyrd.codec.payload import Delta, pack_delta, unpack_delta
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.storage.engine import Engine
from langgraph_wyrd.storage.keys import found_by
from langgraph_wyrd.storage.rows import delete, insert, summed, upsert
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, SNAPSHOTS, CheckpointRow, Key

LOCK = (
    "UPDATE wyrd_threads SET version = version + 1, writer = ?, updated = ? "
    "WHERE key = ? AND deleted_at IS NULL"
)
_CHILDREN = "SELECT ns, id FROM wyrd_checkpoints WHERE thread = ? AND built_on = ? AND ns = ?"


def replaced(engine: Engine, codec: Codec, put: Put) -> Script[None]:
    """Store a checkpoint in the place of the one that has its id; its children stay as they are."""
    dialect = engine.driver.dialect
    by = found_by(dialect, put.thread_id)
    found = yield from path.find(dialect, by, put.ns, put.id, writes=False)
    row = found.thread
    assert row is not None
    yield Command(LOCK, [(engine.nonce, now(), row.key)])
    yield from freed(dialect, codec, row.key, put.thread_id, put.ns, put.id)
    thread = Thread(row.key, put.thread_id, row.version, row.writer, row.head, row.buried)
    steps, _ = planned(codec, engine.nonce, thread, put, beginning())
    made = steps[1].params
    yield [
        Command(delete(CHECKPOINTS, "thread", "ns", "id"), [(row.key, put.ns, put.id)]),
        Command(insert(CHECKPOINTS), [made]),
    ]


def freed(dialect: str, codec: Codec, key: Key, thread_id: str, ns: str, id: str) -> Script[None]:
    """Make the checkpoints that build on one stand on their own, and drop its snapshots."""
    children = yield Query(_CHILDREN, (key, id, ns))
    for child_ns, child in children:
        found = yield from path.find(dialect, found_by(dialect, thread_id), child_ns, child)
        if found.target is not None:
            yield from made_whole(codec, found)
    yield Command(delete(SNAPSHOTS, "thread", "ns", "checkpoint"), [(key, ns, id)])


def made_whole(codec: Codec, found: path.Found) -> Script[None]:
    """Store a checkpoint with all its channels; its stamp stays."""
    row = found.path[0]
    data = whole(codec, restore(codec, found), row)
    row = codec.open(CHECKPOINTS, row)._replace(built_on=None, built_stamp=None, delta=data)
    made = summed(CHECKPOINTS, row, codec.sealer)
    yield Command(upsert(CHECKPOINTS), [made])


def whole(codec: Codec, restored: Restored, row: CheckpointRow) -> bytes:
    """The delta that holds all of a checkpoint."""
    exact = unpack_delta(codec.opened(CHECKPOINTS, checked(row), "delta")).metadata
    metadata_of(codec, row, exact)
    changes = {}
    for name, value in restored.channels.items():
        change, _ = operation(codec, None, value.get(), name)
        changes[name] = change
    return pack_delta(
        Delta(changes, [], restored.versions, [], restored.seen, [], restored.rest, exact)
    )
