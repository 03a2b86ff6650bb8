"""Task writes that say something about a checkpoint which is not what the cache stands at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph_wyrd.checkpoints import (
    deleted_threads,
    put,
    rebuild_tables,
    states,
    user_values,
    working,
)
from langgraph_wyrd.checkpoints.delete import lock
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.extraction.view import TaskWrite
from langgraph_wyrd.storage import parity
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import insert, summed
from langgraph_wyrd.storage.scripts import Command, Script
from langgraph_wyrd.storage.tables import WRITES, WriteRow

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.writing import Writing


def loaded(writing: Writing, codec: Codec, wanted: put.PutWrites) -> Script[None]:
    """Have the cache know the thread's working state as of its head."""
    dialect = writing._dialect
    thread = yield from thread_row(dialect, wanted.thread_id)
    yield from states.load_thread(dialect, codec, thread, ahead=True)
    slot = writing._cache.slot(wanted.thread_id)
    with slot.lock:
        held = slot.thread
        if held is None or held.version <= thread.version:
            if held is not None and held.version == thread.version:
                for ns, space in held.spaces.items():
                    if (
                        space.known
                        and ns in thread.spaces
                        and (thread.spaces[ns].checkpoint == space.checkpoint)
                    ):
                        space.state = thread.spaces[ns].state
                        thread.spaces[ns] = space
            writing._cache.keep(wanted.thread_id, slot, thread)


def stored(writing: Writing, codec: Codec, wanted: put.PutWrites, payload: bytes) -> Script[None]:
    """Store writes of a checkpoint that is history by now; the tables show history too."""
    dialect, reader = writing._dialect, writing._reader
    thread = yield from lock(dialect, wanted.thread_id, whole=False)
    if thread is None:
        raise deleted_threads.too_late(wanted.thread_id)
    yield Command(rebuild_tables.USED, [(put.now(), thread.key)])
    put.refuse_others(thread, wanted.owner)
    state = events = None
    if reader is not None:
        _, state = yield from states.load_namespace(
            dialect, codec, thread, wanted.ns, wanted.checkpoint
        )
    if reader is not None and state is not None:
        task, path = given(wanted.task), given(wanted.path)
        made = [TaskWrite(task, path, channel, value) for channel, value in wanted.writes]
        said = working.of_writes(
            reader, state, given(wanted.ns), {}, made, task, given(wanted.thread_id), wanted.meta
        )
        events = working.pack_events_of(said)
    row = WriteRow(
        thread.key, wanted.ns, wanted.checkpoint, wanted.task, wanted.seq, wanted.path,
        thread.version if events else None, 0, events, payload,
    )  # fmt: skip
    row = summed(WRITES, row, codec.sealer)
    yield Command(insert(WRITES), [row])
    if any(channel == "__resume__" for channel, _ in wanted.writes):
        yield Command(parity.INSERT, [parity.alone(WRITES, row)])  # an answer is stored doubly
    if wanted.users:
        yield Command(user_values.PUT_USER, put.user_rows(codec, thread.key, wanted))
    if events is not None:
        drop = "DELETE FROM wyrd_snapshots WHERE thread = ? AND ns = ? AND checkpoint <> ?"
        yield Command(drop, [(thread.key, wanted.ns, wanted.checkpoint)])  # they hold later states
        yield from user_values.settle(thread.key)
        yield from rebuild_tables.again(dialect, codec, thread)
