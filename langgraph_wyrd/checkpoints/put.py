"""Storing a checkpoint: from what LangGraph hands over to the rows of one write.

`planned` is the whole hot path: it compares channels with their fingerprints, packs what changed,
reads the working state, and makes the rows. It touches no database; `writing` stores what it made.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import ormsgpack

from langgraph_wyrd.checkpoints.cache import Namespace, Thread, beginning
from langgraph_wyrd.codec.delta import operation
from langgraph_wyrd.codec.payload import Delta, pack_delta, packed
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import InvalidInput, ThreadDeleted
from langgraph_wyrd.storage.rows import insert, summed
from langgraph_wyrd.storage.scripts import Step
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    SNAPSHOTS,
    CheckpointRow,
    SnapshotRow,
)
from langgraph_wyrd.store.names import given

SLACK = 16 << 10  # bytes of deltas that are always read rather than a snapshot made
MOST_ROWS = 1000  # deltas between two snapshots

ADVANCE = (
    "UPDATE wyrd_threads SET version = version + 1, writer = ?, head = ?, updated = ?, "
    "user_id = coalesce(user_id, ?), deleted_at = NULL "
    "WHERE key = ? AND thread_id = ? AND version = ? AND writer = ?"
)
BEGIN = (
    "INSERT INTO wyrd_threads (key, thread_id, version, writer, head, created, updated, user_id, "
    "open_loops, open_todos) VALUES (?, ?, 1, ?, ?, ?, ?, ?, 0, 0)"
)
PUT_CHECKPOINT = insert(CHECKPOINTS)
PUT_SNAPSHOT = insert(SNAPSHOTS)

_REST_NONE = None


@dataclass(slots=True)
class Put:
    """One checkpoint, ids in stored form; `values` are what the channels hold."""

    thread_id: str
    ns: str
    id: str
    parent: str | None
    ts: str | None
    step: int | None
    source: str | None
    run_id: str | None
    meta: Mapping[str, Any]
    metadata: str
    exact: Any
    root: str | None  # the root checkpoint that a subgraph's run belongs to
    user: str | None
    values: Mapping[str, Any]
    versions: Mapping[str, Any]
    new_versions: Mapping[str, Any]
    seen: Mapping[str, Mapping[str, Any]]
    rest: Mapping[str, Any]
    addressed: bool = False  # the run was told to go on from just this parent
    stamp: int = field(default_factory=lambda: secrets.randbits(63))


def now() -> str:
    return datetime.now(timezone.utc).isoformat()


def rest_bytes(codec: Codec, rest: Mapping[str, Any]) -> bytes:
    """The other fields of a checkpoint as bytes."""
    try:
        return ormsgpack.packb(dict(rest), option=ormsgpack.OPT_PASSTHROUGH_TUPLE)
    except Exception:
        return ormsgpack.packb({"\0": list(codec.dump(dict(rest), "checkpoint"))})


def planned(
    codec: Codec, me: int, thread: Thread, put: Put, space: Namespace
) -> tuple[list[Step], Thread]:
    """The rows that store a checkpoint behind `space`, and the thread once they are stored."""
    versions, old_versions = put.versions, space.versions
    channels = dict(space.channels)
    changes: dict[str, Any] = {}
    for name, value in put.values.items():
        known = channels.get(name)
        if (
            known is not None
            and name not in put.new_versions
            and old_versions.get(name) == versions.get(name)
        ):
            continue
        change, channels[name] = operation(codec, known, value, name)
        if change is not None:
            changes[name] = change
    removed = [name for name in channels if name not in put.values]
    for name in removed:
        del channels[name]

    changed = {n: v for n, v in versions.items() if n not in old_versions or old_versions[n] != v}
    dropped = [name for name in old_versions if name not in versions]
    seen: dict[str, dict[str, Any]] = {}
    all_seen: dict[str, dict[str, Any]] = {}
    for node, held in put.seen.items():
        before = space.seen.get(node)
        if before is not None and before == held:
            all_seen[node] = before
            continue
        all_seen[node] = dict(held)
        if before is None or before.keys() - held.keys():
            seen[node] = all_seen[node]
        else:
            seen[node] = {n: v for n, v in held.items() if before.get(n) != v or n not in before}
    # A node that lost an entry is told anew: taken out first, as a delta only adds.
    unseen = [
        n for n, held in space.seen.items() if n not in put.seen or held.keys() - put.seen[n].keys()
    ]
    rest = rest_bytes(codec, put.rest)

    try:
        data = pack_delta(
            Delta(
                changes, removed, changed, dropped, seen, unseen,
                None if rest == space.rest and space.checkpoint is not None else rest, put.exact,
            )
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"checkpoint {given(put.id)} of thread {given(put.thread_id)!r} can't be stored: a "
            f"channel's name or version is no plain text or number ({error})"
        ) from error

    row = summed(
        CHECKPOINTS,
        CheckpointRow(
            thread.key, put.ns, put.id, put.parent, put.stamp, space.checkpoint,
            space.stamp if space.checkpoint is not None else None, thread.version + 1, put.ts,
            put.step, put.source, put.run_id, put.root, None, 0, 0, put.metadata, None, data,
        ),
        codec.sealer,
    )  # fmt: skip
    after = Namespace(
        put.id, put.stamp, channels, dict(versions), all_seen, rest, space.rows + 1,
        space.grown + len(data),
    )  # fmt: skip
    steps = [_advance(me, thread, put), Step(PUT_CHECKPOINT, row)]
    if space.checkpoint is None:
        after.rows = after.grown = 0
    elif after.rows > MOST_ROWS or (after.grown > SLACK and after.grown > _live(after) // 2):
        steps += snapshot(codec, thread.key, put, after)
        after.rows = after.grown = 0
    head = put.id if put.ns == "" and (thread.head is None or put.id > thread.head) else thread.head
    moved = Thread(
        thread.key, thread.thread_id, thread.version + 1, me, head, thread.buried,
        {**thread.spaces, put.ns: after}, None, False, thread.user or put.user,
    )  # fmt: skip
    return steps, moved


def _advance(me: int, thread: Thread, put: Put) -> Step:
    head = thread.head
    if put.ns == "" and (head is None or put.id > head):
        head = put.id
    moment = now()
    if not thread.version:
        return Step(
            BEGIN, (thread.key, thread.thread_id, me, head, moment, moment, put.user), must=False
        )
    return Step(
        ADVANCE,
        (me, head, moment, put.user, thread.key, thread.thread_id, thread.version, thread.writer),
        must=True,
    )


def _live(space: Namespace) -> int:
    """Bytes that a snapshot would take, about, before compression."""
    return sum([known.size for known in space.channels.values()])


# ---- snapshots

_OWN_ROW = 4096  # bytes from which a channel has a row of its own in a snapshot


def snapshot(codec: Codec, key: Any, put: Put, space: Namespace) -> list[Step]:
    """The rows of a snapshot: large channels in their own, everything else in one."""
    small: dict[str, Any] = {}
    steps = []
    for name, value in put.values.items():
        whole, known = operation(codec, None, value, name)
        if known.size > _OWN_ROW and name:
            steps.append(_snapshot_row(codec, key, put, name, packed(whole)))
        else:
            small[name] = whole
    data = packed([small, space.versions, space.seen, space.rest])
    steps.append(_snapshot_row(codec, key, put, "", data))
    return steps


def _snapshot_row(codec: Codec, key: Any, put: Put, channel: str, data: bytes) -> Step:
    row = SnapshotRow(key, put.ns, put.id, channel, put.stamp, 0, data, None)
    return Step(PUT_SNAPSHOT, summed(SNAPSHOTS, row, codec.sealer))


# ---- task writes


@dataclass(slots=True)
class PutWrites:
    """What a task wrote at a checkpoint: (channel, value) each, in the order of the call."""

    thread_id: str
    ns: str
    checkpoint: str
    task: str
    path: str
    writes: list[tuple[str, Any]]
    seq: int = 0


ALIVE = "SELECT 1 FROM wyrd_threads WHERE key = ? AND thread_id = ? AND deleted_at IS NULL"
ALIVE_LOCKED = f"{ALIVE} FOR KEY SHARE"

_last = 0


def next_seq() -> int:
    """A number greater than any that this process gave out, and than those of processes before."""
    global _last
    _last = max(_last + 1, time.time_ns())
    return _last


def too_late(thread_id: str) -> ThreadDeleted:
    return ThreadDeleted(
        f"thread {given(thread_id)!r} was deleted while this run was going on: what it sent now "
        "was not stored. Start a new run to use the thread id again."
    )


def new_space() -> Namespace:
    return beginning()
