"""A checkpoint that is put again under its id, with other content."""

from __future__ import annotations

from langgraph_wyrd.checkpoints import path, rebuild_tables, search, user_values
from langgraph_wyrd.checkpoints.cache import beginning
from langgraph_wyrd.checkpoints.delete import between, lock
from langgraph_wyrd.checkpoints.deleted_threads import too_late
from langgraph_wyrd.checkpoints.lookup import load
from langgraph_wyrd.checkpoints.put import PUT_CHECKPOINT, Put, now, planned
from langgraph_wyrd.checkpoints.restore import checked
from langgraph_wyrd.checkpoints.working import Reader
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.storage.engine import Engine
from langgraph_wyrd.storage.rows import delete, summed, upsert
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, SNAPSHOTS, Key

_CHILDREN = "SELECT ns, id FROM wyrd_checkpoints WHERE thread = ? AND built_on = ? AND ns = ?"


def replaced(engine: Engine, codec: Codec, reader: Reader | None, wanted: Put) -> Script[None]:
    """Store a checkpoint in the place of the one that has its id; its children stay as they are."""
    dialect = engine.driver.dialect
    thread = yield from lock(dialect, wanted.thread_id)
    if thread is None:
        raise too_late(wanted.thread_id)
    # Read first: rows that are stored anew differ from their parity until this transaction ends.
    loaded = yield from load(dialect, codec, wanted, reader)
    yield from freed(dialect, codec, thread.key, wanted.thread_id, wanted.ns, wanted.id)
    space = beginning()  # whatever it builds on: it is stored whole
    if loaded.space is not None:
        space.state = loaded.space.state
    steps, _ = planned(codec, reader, thread.writer, loaded.thread, wanted, space)
    made = [step for step in steps if step.sql in (PUT_CHECKPOINT, user_values.PUT_USER)]
    yield [
        Command(delete(CHECKPOINTS, "thread", "ns", "id"), [(thread.key, wanted.ns, wanted.id)]),
        search.forget(thread.key),
        *[Command(step.sql, [step.params]) for step in made],
    ]
    yield from user_values.settle(thread.key)
    if reader is not None:
        yield from rebuild_tables.again(dialect, codec, thread)


def freed(dialect: str, codec: Codec, key: Key, thread_id: str, ns: str, id: str) -> Script[None]:
    """Make the checkpoints that build on one stand on their own, and drop its snapshots."""
    children = yield Query(_CHILDREN, (key, id, ns))
    for child_ns, child in children:
        found = yield from path.find(dialect, thread_id, child_ns, child)
        if found.target is not None:
            yield from made_whole(codec, found)
    yield Command(delete(SNAPSHOTS, "thread", "ns", "checkpoint"), [(key, ns, id)])


def made_whole(codec: Codec, found: path.Found) -> Script[None]:
    """Store a checkpoint with all its channels; its stamp stays."""
    row = checked(found.path[0])
    data, held = between(codec, None, found)
    row = codec.open(CHECKPOINTS, row)._replace(built_on=None, built_stamp=None, delta=data)
    yield Command(upsert(CHECKPOINTS), [summed(CHECKPOINTS, row, codec.sealer)])
    yield from user_values.replaced(codec, row.thread, row.stamp, held, now())
