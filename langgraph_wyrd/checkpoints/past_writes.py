"""Writes that change what is stored already, in a transaction of their own.

A checkpoint that is put again with other content; task writes that say something about a checkpoint
which is not what the cache stands at; answers, which are stored together and once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from langgraph_wyrd.checkpoints import (
    path,
    put,
    put_writes,
    search,
    stale_snapshots,
    states,
    user_values,
    working,
)
from langgraph_wyrd.checkpoints.advance import refuse_others
from langgraph_wyrd.checkpoints.cache import beginning
from langgraph_wyrd.checkpoints.delete import between, lock, too_late
from langgraph_wyrd.checkpoints.lookup import is_there, load, thread_row
from langgraph_wyrd.checkpoints.put_writes import PutWrites
from langgraph_wyrd.checkpoints.restore import checked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.state.events import Event
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import delete, now, summed, upsert
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, SNAPSHOTS

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.way import Way

_CHILDREN = "SELECT ns, id FROM wyrd_checkpoints WHERE thread = ? AND built_on = ? AND ns = ?"


# ---- a checkpoint that is put again


def replaced(way: Way, codec: Codec, wanted: put.Put) -> Script[None]:
    """Store a checkpoint in the place of the one that has its id; its children stay as they are."""
    dialect, reader = way._dialect, way._reader
    thread = yield from lock(dialect, wanted.thread_id)
    if thread is None:
        raise too_late(wanted.thread_id)
    # Read first: rows that are stored anew differ from their parity until this transaction ends.
    loaded = yield from load(dialect, codec, wanted, reader)
    place = (thread.key, wanted.ns, wanted.id)
    for ns, child in (yield Query(_CHILDREN, (thread.key, wanted.id, wanted.ns))):
        found = yield from path.find(dialect, wanted.thread_id, ns, child)
        if found.target is not None:
            yield from _made_whole(codec, found)
    space = beginning()  # whatever it builds on: it is stored whole
    if loaded.space is not None:
        space.state = loaded.space.state
    loaded.thread.version -= 1  # the lock moved it on already, and it numbers what is stored
    steps, _ = put.planned(codec, reader, thread.writer, loaded.thread, wanted, space)
    made = [step for step in steps if step.sql in (put.PUT_CHECKPOINT, user_values.PUT_USER)]
    yield [
        Command(delete(SNAPSHOTS, "thread", "ns", "checkpoint"), [place]),
        Command(delete(CHECKPOINTS, "thread", "ns", "id"), [place]),
        search.forget(thread.key),
        *[Command(step.sql, [step.params]) for step in made],
    ]
    yield from user_values.settle(thread.key)
    if reader is not None:
        yield from states.show_again(dialect, codec, thread)


def _made_whole(codec: Codec, found: path.Found) -> Script[None]:
    """Store a checkpoint with all its channels; its stamp stays."""
    row = checked(found.path[0])
    data, held = between(codec, None, found)
    row = codec.open(CHECKPOINTS, row)._replace(built_on=None, built_stamp=None, delta=data)
    yield Command(upsert(CHECKPOINTS), [summed(CHECKPOINTS, row, codec.sealer)])
    yield from user_values.replaced(codec, row.thread, row.stamp, held, now())


# ---- task writes at an older checkpoint


def loaded(way: Way, codec: Codec, wanted: PutWrites) -> Script[None]:
    """Have the cache know the thread's working state as of its head."""
    dialect = way._dialect
    thread = yield from thread_row(dialect, wanted.thread_id)
    yield from states.load_thread(dialect, codec, thread, ahead=True)
    slot = way._cache.slot(wanted.thread_id)
    with slot.lock:
        held = slot.thread
        if held is None or held.version <= thread.version:
            if held is not None and held.state is not None:
                thread.state.expect_also(held.state.early)
            if held is not None and held.version == thread.version:
                for ns, space in held.spaces.items():
                    here = thread.spaces.get(ns)
                    if space.known and here is not None and here.checkpoint == space.checkpoint:
                        space.state = here.state
                        thread.spaces[ns] = space
            way._cache.keep(wanted.thread_id, slot, thread)


def stored(way: Way, codec: Codec, wanted: PutWrites, payload: bytes) -> Script[None]:
    """Store writes of a checkpoint that is history by now; the tables show history too."""
    dialect, reader = way._dialect, way._reader
    thread = yield from lock(dialect, wanted.thread_id, whole=False)
    if thread is None:
        raise too_late(wanted.thread_id)
    yield Command(states.USED, [(now(), thread.key)])
    refuse_others(thread, wanted.owner)
    state, events = None, tuple[Event, ...]()
    if reader is not None:
        _, state = yield from states.load_namespace(
            dialect, codec, thread, wanted.ns, wanted.checkpoint
        )
    if reader is not None and state is not None:
        made, task = put_writes.task_writes(wanted), given(wanted.task)
        events = working.of_writes(
            reader, state, given(wanted.ns), {}, made, task, given(wanted.thread_id), wanted.meta
        )
    steps = put_writes.write_steps(codec, thread.key, wanted, thread.version, events, payload)
    yield [Command(step.sql, [step.params]) for step in steps]
    if events:
        here = wanted.ns, wanted.checkpoint
        yield from stale_snapshots.dropped(dialect, codec, thread, behind=here)
        yield from user_values.settle(thread.key)
        yield from states.show_again(dialect, codec, thread)


# ---- answers


_WROTE = (
    "SELECT 1 FROM wyrd_writes WHERE thread = ? AND ns = ? AND checkpoint = ? AND task = ? LIMIT 1"
)


class Once(NamedTuple):
    """The thread's state before the writes were stored, and with them."""

    before: WorkingState
    after: WorkingState


def answered(way: Way, codec: Codec, calls: Sequence[PutWrites]) -> Script[Once | None]:
    """Store calls of `put_writes` in one transaction, the first of which is at the thread's head:
    an answer, and the note of who gave it.

    None, and nothing is stored, where the task of the first one wrote there before, or where the
    thread has another head by now. The thread's row is locked first, so of two writers the second
    one sees what the first one stored.
    """
    from langgraph_wyrd.checkpoints import points

    dialect, first = way._dialect, calls[0]
    thread = yield from lock(dialect, first.thread_id)
    if thread is None:
        raise too_late(first.thread_id)
    wrote = yield Query(_WROTE, (thread.key, first.ns, first.checkpoint, first.task))
    if wrote or thread.head != first.checkpoint:
        return None
    before = yield from points.state_at(dialect, codec, first.thread_id, None)
    for call in calls:
        call.seq = put_writes.next_seq()
        yield from stored(way, codec, call, put_writes.packed_writes(codec, call))
    after = yield from points.state_at(dialect, codec, first.thread_id, None)
    return Once(before, after)


def has_checkpoint(
    dialect: str, thread_id: str, ns: str, id: str | None, user: str | None
) -> Script[bool]:
    """Whether a checkpoint is stored, in one of the user's threads."""
    thread = yield from thread_row(dialect, thread_id)
    if user is not None and thread.user != user:
        return False
    return (yield from is_there(thread.key, ns, id or ""))
