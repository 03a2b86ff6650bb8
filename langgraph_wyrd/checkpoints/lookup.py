"""What a write rests on, as it is read: the thread's row, its state, the checkpoint before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from langgraph_wyrd.checkpoints import (
    journal,
    missing,
    path,
    states,
    working,
)
from langgraph_wyrd.checkpoints.cache import Namespace, Thread, beginning
from langgraph_wyrd.checkpoints.changes import Fork, fork_of
from langgraph_wyrd.checkpoints.put import Put, Turn
from langgraph_wyrd.checkpoints.put_writes import PutWrites
from langgraph_wyrd.checkpoints.restore import restore
from langgraph_wyrd.checkpoints.working import Reader
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.extraction.due import JOIN
from langgraph_wyrd.storage.keys import LOOKED_UP, found_by, new_key
from langgraph_wyrd.storage.rows import fetch
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import LOST, THREADS, WRITES, ThreadRow


@dataclass(slots=True)
class Loaded:
    """What a write rests on, as it was read."""

    thread: Thread
    space: Namespace | None  # of the checkpoint that it builds on; None: that one is not there
    stamp: int | None  # of the checkpoint itself, where it is stored already
    turn: Turn | None = None  # where it forks from an older checkpoint
    fork: Fork | None = None  # where its parent was gone on from before
    start: Any = None  # the working state that people declared before the first checkpoint


def thread_of(dialect: str, thread_id: str, row: Any) -> Thread:
    """The thread of a row of wyrd_threads; of one that is to be, where there is none."""
    if row is None:
        return Thread(new_key(dialect, thread_id), thread_id, 0, 0, None, None)
    return Thread(
        row.key, thread_id, row.version, row.writer, row.head or None, row.buried,
        deleted=row.deleted_at is not None, user=row.user_id,
        unread=bool(row.head) and row.status is None, waits=row.status in working.WAITS,
        lost=row.head == LOST, read_by=row.read_by,
    )  # fmt: skip


def stored_row(dialect: str, thread_id: str) -> Script[ThreadRow | None]:
    """The row of a thread; None where there is none."""
    by = {LOOKED_UP[dialect]: found_by(dialect, thread_id)}
    rows = yield from fetch(THREADS, **by)
    return rows[0] if rows else None


def thread_row(dialect: str, thread_id: str) -> Script[Thread]:
    """A thread as its row says."""
    look = partial(stored_row, dialect, thread_id)
    return thread_of(dialect, thread_id, (yield from own_row(dialect, thread_id, look)))


def own_row(
    dialect: str, thread_id: str, look: Callable[[], Script[ThreadRow | None]]
) -> Script[ThreadRow | None]:
    """What a look for a thread's own row finds.

    Raises CheckpointDamaged where it is damaged; or missing, and others of its rows are not. Before
    that it looks again: on Postgres another writer may have begun the thread between two
    statements.
    """
    row = yield from look()
    if row is None:
        try:
            yield from missing.not_stored(dialect, thread_id)
        except CheckpointDamaged:
            row = yield from look()
            if row is None:
                raise
    if row is not None:
        missing.typed(row, thread_id)
    return row


def is_there(key: Any, ns: str, id: str) -> Script[bool]:
    """Whether a checkpoint is stored."""
    rows = yield Query(
        "SELECT 1 FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id = ?", (key, ns, id)
    )
    return bool(rows)


def are_stored(dialect: str, writes: PutWrites, tried: Sequence[int]) -> Script[bool]:
    """Whether this very call's writes are stored, under one of these numbers."""
    thread = yield from thread_row(dialect, writes.thread_id)
    seqs = f"AND seq IN ({', '.join('?' * len(tried))})"
    place = {"ns": writes.ns, "checkpoint": writes.checkpoint, "task": writes.task}
    return bool((yield from fetch(WRITES, seqs, *tried, thread=thread.key, **place)))


_STAMP = "SELECT stamp FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id = ?"


def load(
    dialect: str, codec: Codec, wanted: Put, reader: Reader | None = None, *, strict: bool = True
) -> Script[Loaded]:
    """What a checkpoint builds on, and whether it is stored already.

    Where it is not `strict`, a checkpoint that can't be read is not built on, and nobody looks for
    what is missing.
    """
    if wanted.parent is None:
        thread = yield from thread_row(dialect, wanted.thread_id)
        found = None
    else:
        found = yield from path.find(dialect, wanted.thread_id, wanted.ns, wanted.parent)
        if strict:
            yield from missing.expected(dialect, found, wanted.thread_id, wanted.ns, wanted.parent)
        thread = thread_of(dialect, wanted.thread_id, found.thread)
    stamp = None
    if thread.version:
        rows = yield Query(_STAMP, (thread.key, wanted.ns, wanted.id))
        stamp = rows[0][0] if rows else None
    space = None
    if found is not None and found.target is not None:
        renewed = codec.renewed()
        space = namespace(codec, found, strict=strict)
        if codec.renewed() != renewed:
            space = beginning()  # it holds objects of other versions: store them all as today's
        thread.spaces[wanted.ns] = space
    fork = yield from fork_of(thread, wanted)
    if reader is None:
        return Loaded(thread, space, stamp, fork=fork)
    if strict and thread.version:
        yield from missing.all_said(thread.key)
    known = {}
    if found is not None and found.path and wanted.parent is not None:
        known[wanted.ns, wanted.parent] = found
        if space is not None:
            _, space.state = yield from states.load_namespace(
                dialect, codec, thread, wanted.ns, wanted.parent, found
            )
    at_parent = thread.spaces.pop(wanted.ns, None)
    yield from states.load_thread(dialect, codec, thread, known, ahead=True)
    if at_parent is not None and (
        wanted.ns not in thread.spaces
        or at_parent.checkpoint == thread.spaces[wanted.ns].checkpoint
    ):
        thread.spaces[wanted.ns] = at_parent
    if (wanted.ns, wanted.id) not in thread.state.early:  # those ahead of what is there are read
        early = yield from states.early_writes(codec, thread.key, wanted.ns, wanted.id)
        thread.state.expect_also({(wanted.ns, wanted.id): early})
    turn = None
    head = thread.head
    if wanted.ns == "" and head is not None and wanted.parent != head and wanted.id > head:
        turn = yield from states.turn(dialect, codec, thread, wanted.parent, space)
    start = None
    if wanted.ns == "" and space is None and thread.version:
        rows = yield journal.query(thread.key, "")
        start = states.before_first(wanted.thread_id, journal.entries(codec, rows))
    return Loaded(thread, space, stamp, turn, fork, start)


def namespace(codec: Codec, found: path.Found, *, strict: bool = False) -> Namespace:
    """A checkpoint as the saver that stored it knows it."""
    target = found.target
    assert target is not None
    try:
        restored = restore(codec, found)
    except CheckpointDamaged:
        if strict:
            raise
        # What can't be read is not built on: the next checkpoint holds all that it needs.
        return beginning()
    channels = {name: value.fingerprint(name) for name, value in restored.channels.items()}
    return Namespace(
        target.id, target.stamp, channels, restored.versions, restored.seen, restored.rest,
        restored.rows, restored.grown,
        found.path[-1].id if found.path[-1].built_on is not None else None,
        owners={name: user for name, (user, _) in restored.owners.items()},
        joins={
            name: value.get()
            for name, value in restored.channels.items()
            if name.startswith(JOIN) and name not in restored.owners
        },
    )  # fmt: skip
