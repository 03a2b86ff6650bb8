"""Copying a thread: every row of the tables that are copied, under another key."""

from __future__ import annotations

from langgraph_wyrd.checkpoints import owned, project, put
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.checkpoints.delete import lock
from langgraph_wyrd.checkpoints.restore import metadata_of
from langgraph_wyrd.checkpoints.writing import thread_row
from langgraph_wyrd.codec.payload import pack_delta, unpack_delta
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.storage.rows import insert, select, summed
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, TABLES, CheckpointRow
from langgraph_wyrd.store.names import given

_PAGE = 200


def copy_thread(
    dialect: str, codec: Codec, me: int, source: str, target: str, *, again: bool = False
) -> Script[None]:
    """Copy all of a thread to an id that has no checkpoints yet."""
    if source == target:
        raise InvalidInput(f"thread {given(source)!r} can't be copied onto itself")
    old = yield from lock(dialect, me, source)
    if old is None:
        return
    new = yield from thread_row(dialect, target)
    if new.version:
        rows = yield Query("SELECT 1 FROM wyrd_checkpoints WHERE thread = ? LIMIT 1", (new.key,))
        if rows:
            raise InvalidInput(
                f"thread {given(target)!r} has checkpoints already: copy to a new id, or delete it"
            )
    step = put.advanced(me, new, old.head, old.user, None)
    yield Command(step.sql, [step.params])
    version = max(new.version + 1, old.version)  # not less than the `seq` of any copied row
    yield Command("UPDATE wyrd_threads SET version = ? WHERE key = ?", [(version, new.key)])
    for table in TABLES.values():
        if not table.copied or table.names[0] != "thread":
            continue
        rows = yield Query(select(table, "thread"), (old.key,))
        copies = []
        for held in rows:
            row = codec.open(table, table.row._make(held))._replace(thread=new.key)
            if table is CHECKPOINTS:
                row = _owned(codec, row, given(source), given(target))
            copies.append(summed(table, row, codec.sealer))
            if len(copies) == _PAGE:
                yield Command(insert(table), copies)
                copies = []
        if copies:
            yield Command(insert(table), copies)
    yield from owned.copied(codec, old.key, new.key)
    made = Thread(new.key, target, version, me, old.head, new.buried)
    yield from project.again(dialect, codec, made)


def _owned(codec: Codec, row: CheckpointRow, source: str, target: str) -> CheckpointRow:
    """A server notes the thread's id in the metadata: in a copy it is the copy's."""
    if '"thread_id"' not in row.metadata:
        return row
    delta = unpack_delta(row.delta)
    metadata = metadata_of(codec, row, delta.metadata)
    if metadata.get("thread_id") != source:
        return row
    text, exact = codec.metadata({**metadata, "thread_id": target})
    return row._replace(metadata=text, delta=pack_delta(delta._replace(metadata=exact)))
