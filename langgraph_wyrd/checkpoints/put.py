"""Storing a checkpoint: from what LangGraph hands over to the rows of one write.

`planned` is the whole hot path: it compares channels with their fingerprints, packs what changed,
reads the working state, and makes the rows. It touches no database; `writing` stores what it made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import ormsgpack

from langgraph_wyrd.checkpoints import (
    auto_labels,
    journal,
    projection,
    snapshots,
    user_values,
    working,
)
from langgraph_wyrd.checkpoints.advance import (
    OF_USER,
    READ_BY,
    UNBURY,
    advanced,
    all_known,
)
from langgraph_wyrd.checkpoints.cache import Namespace, Thread
from langgraph_wyrd.checkpoints.changes import Fork
from langgraph_wyrd.checkpoints.working import NamespaceState, Reader, ThreadState
from langgraph_wyrd.codec.delta import REF, fresh_places, operation
from langgraph_wyrd.codec.payload import Delta, pack_delta
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.pending import said_again
from langgraph_wyrd.storage.keys import random_bits
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import insert, now, summed
from langgraph_wyrd.storage.scripts import Step
from langgraph_wyrd.storage.tables import CHECKPOINTS, UNREAD, CheckpointRow

PUT_CHECKPOINT = insert(CHECKPOINTS)


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
    owned: Mapping[str, Any] = field(default_factory=dict)  # what of the values is the user's
    owner: str | None = None  # stored only if the thread is this user's
    run: Any = None  # whose lease it needs, if threads have a single writer (see `leases`)
    claimed: bool = False  # whether it claimed the lease anew
    stamp: int = field(default_factory=lambda: random_bits(63))


def rest_bytes(codec: Codec, rest: Mapping[str, Any]) -> bytes:
    """The other fields of a checkpoint as bytes."""
    try:
        return ormsgpack.packb(dict(rest), option=ormsgpack.OPT_PASSTHROUGH_TUPLE)
    except Exception:
        return ormsgpack.packb({"\0": list(codec.dump(dict(rest), "checkpoint"))})


@dataclass(slots=True)
class Turn:
    """What rebuilds the public tables where a put forks from an older checkpoint."""

    rows: list[Any]  # those of projection.listing, of each table
    abandoned: frozenset[str]  # the checkpoints that only the abandoned branch has
    closed: list[Step]  # put back rows of items that are closed where the put goes on


def planned(
    codec: Codec,
    reader: Reader | None,
    me: int,
    thread: Thread,
    put: Put,
    space: Namespace,
    turn: Turn | None = None,
    fork: Fork | None = None,
) -> tuple[list[Step], Thread]:
    """The rows that store a checkpoint behind `space`, and the thread once they are stored."""
    versions, old_versions, old_seen = put.versions, space.versions, space.seen
    if not set(map(type, versions.values())) <= _TEXT:  # 2 == 2.0, and each is stored as it is
        old_versions = _of_same_type(old_versions, versions)
        old_seen = {n: _of_same_type(held, put.seen.get(n, {})) for n, held in old_seen.items()}
    channels = dict(space.channels)
    changes: dict[str, Any] = {}
    special: Any = {**put.owned, **space.owners} if put.owned or space.owners else ()
    for name, value in put.values.items():
        known = channels.get(name)
        if (
            known is not None
            and name in versions
            and name not in put.new_versions
            and old_versions.get(name) == versions[name]
        ):
            continue
        if name in special:
            continue
        change, channels[name] = operation(codec, known, value, name)
        if change is not None:
            changes[name] = change
    owners = space.owners
    users: dict[str, Any] = {}
    if special:
        owners, users = _of_users(codec, put, space, channels, changes)
    # A channel that is not among the values keeps its value for as long as it keeps its version.
    removed = [
        name
        for name in channels
        if name not in put.values
        and name not in put.owned
        and (
            name in put.new_versions
            or name not in versions
            or versions[name] != old_versions.get(name)
        )
    ]
    for name in removed:
        del channels[name]

    changed = {n: v for n, v in versions.items() if n not in old_versions or old_versions[n] != v}
    dropped = [name for name in old_versions if name not in versions]
    seen: dict[str, dict[str, Any]] = {}
    all_seen: dict[str, dict[str, Any]] = {}
    unseen = [node for node in old_seen if node not in put.seen]
    for node, held in put.seen.items():
        before = old_seen.get(node)
        if before is not None and before == held:
            all_seen[node] = before
            continue
        all_seen[node] = dict(held)
        if before is None:
            seen[node] = all_seen[node]
        elif before.keys() <= held.keys():
            seen[node] = {n: v for n, v in held.items() if before.get(n) != v or n not in before}
        else:  # it lost an entry: taken out first and stored whole, as a delta only adds
            unseen.append(node)
            seen[node] = all_seen[node]
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

    after = Namespace(
        put.id, put.stamp, channels, dict(versions), all_seen, rest, space.rows + 1,
        space.grown + len(data) + codec.row_cost, space.snapshot, owners=owners,
    )  # fmt: skip
    head = thread.head
    if put.ns == "" and (head is None or put.id > head):
        head = put.id
    buried = None if begins_below(thread, put) else thread.buried
    moved = Thread(
        thread.key, thread.thread_id, thread.version + 1, me, head, buried,
        {**thread.spaces, put.ns: after}, None, False, thread.user or put.user,
        read_by=UNREAD if reader is None else reader.extractors.label,
    )  # fmt: skip

    if put.ns == "" and head != put.id:  # it sorts before the head, which stays what is known
        moved.spaces = dict(thread.spaces)
    events = due = columns = None
    shown: list[Step] = []
    if reader is not None:
        events, due, columns, shown = _plan_state(
            codec, reader, thread, moved, put, space, after, changes, changed, turn, fork
        )

    row = summed(
        CHECKPOINTS,
        CheckpointRow(
            thread.key, put.ns, put.id, put.parent, put.stamp, space.checkpoint,
            space.stamp if space.checkpoint is not None else None, thread.version + 1, put.ts,
            put.step, put.source, put.run_id, put.root, due, 0, 0, put.metadata, events, data,
        ),
        codec.sealer,
    )  # fmt: skip
    unread = reader is None
    advance = advanced(me, thread, head, put.user, columns, moved.read_by, unread=unread)
    steps = [advance, Step(PUT_CHECKPOINT, row), *shown]
    if thread.read_by != moved.read_by and thread.version and reader is not None:
        steps.append(Step(READ_BY, (moved.read_by, thread.key)))
    if thread.user is None and put.user is not None and thread.version:
        steps.append(Step(OF_USER, (put.user, thread.key)))
    if buried != thread.buried:
        steps.append(Step(UNBURY, (thread.key,)))
    if users:
        at = now()
        rows = user_values.rows_of(codec, thread.key, user_values.CHECKPOINT, put.stamp, users, at)
        steps += [Step(user_values.PUT_USER, each) for each in rows]
        after.grown += sum(len(each.data or b"") for each in rows)
    if space.checkpoint is None:
        after.rows = after.grown = 0
    elif snapshots.is_due(after) and channels.keys() <= put.values.keys() | put.owned.keys():
        steps += snapshots.steps(codec, thread.key, put, after)
    return steps, moved


def begins_below(thread: Thread, put: Put) -> bool:
    """Whether a deleted thread is begun anew under an id that sorts before what was deleted: by a
    clock that is behind, or by a run that drew it before the deletion."""
    begins = put.ns == "" and put.parent is None
    return begins and thread.buried is not None and put.id <= thread.buried


_TEXT = frozenset((str,))


def _of_same_type(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The old versions without those that are now of another type."""
    return {n: v for n, v in old.items() if n not in new or type(v) is type(new[n])}


def _plan_state(
    codec: Codec,
    reader: Reader,
    thread: Thread,
    moved: Thread,
    put: Put,
    space: Namespace,
    after: Namespace,
    changes: Mapping[str, Any],
    versions: Mapping[str, Any],
    turn: Turn | None,
    fork: Fork | None,
) -> tuple[bytes | None, str | None, tuple[Any, ...] | None, list[Step]]:
    """Read the working state, and plan its rows: its events, what is due, the thread's columns, and
    the steps of the public tables. `moved` and `after` take what is known from now on."""
    before: NamespaceState | None = space.state
    fresh = {
        name: places
        for name, change in changes.items()
        if change[0] != REF
        and (places := fresh_places(change, space.channels.get(name), after.channels[name]))
        is not None
    }
    names = [*changes, *[name for name in versions if name not in put.values]]
    after.joins = working.joins(codec, space.joins, changes)
    known: ThreadState = thread.state
    if put.parent is not None:
        known.early.pop((put.ns, put.parent), None)
    early = known.early.setdefault((put.ns, put.id), [])
    state, events = working.of_put(
        reader, put, space, names, fresh, after.joins, early, sealed=codec.sealer is not None
    )
    if space.checkpoint is None and before is not None:
        events = (*events, working.base_of(state.lasting))
    if fork is not None:
        events = (*events, fork.event())
    said: list[Any] = []
    if early:
        name = given(put.thread_id)
        state, said = working.of_early(reader, state, put.ns, put.versions, name, put.meta)
    after.state = state
    steps: list[Step] = []
    if before is not None and space.checkpoint is not None and _has_delta_channel(put, versions):
        steps.append(all_known(thread, put.ns, space.checkpoint, before.writes))
    shown, columns = known.shown, None
    if working.is_shown(thread, put.ns, put.id, put.root):
        top = put.id if put.ns == "" else thread.head or ""
        if put.ns == "":
            moved.spaces = _still_running(moved.spaces, put.id)
        if turn is not None:
            shown, left = _turned(codec, thread, put, space, after, turn)
            steps += left
        state_now = working.visible(moved)
        again = said_again(before.pending) if before is not None and before.pending else ()
        steps += projection.changes(
            thread.key, put.thread_id, shown, state_now, top, codec.sealer, again
        )
        shown, columns = state_now, projection.columns(state_now, thread.key, codec.sealer)
        if early and shown.status in working.WAITS:
            steps.append(all_known(thread, put.ns, put.id, early))
        if reader.labels is not None:
            labels = auto_labels.of_put(
                reader.labels, put.ns, put.source, put.step, before, state, shown
            )
            labels += auto_labels.of_writes(reader.labels, put.ns, [w.channel for w in early])
            steps += auto_labels.steps(
                codec, thread.key, labels, top, thread.version + 1, put.ts or now()
            )
    steps += journal.of_events(
        codec, thread.key, thread.version + 1, put.ns, put.id, put.run_id, put.ts, events,
        () if before is None else before.declared(),
    )  # fmt: skip
    moved.state = ThreadState(shown, known.early)
    due = projection.due_json(state.due) if state.due else None
    return working.pack_events(events, said), due, columns, steps


def _still_running(spaces: Mapping[str, Namespace], root: str) -> dict[str, Namespace]:
    """The namespaces without those of calls that are over: a call of a subgraph has its task's id
    in its namespace, which never comes again; one that is of this root came before it."""
    return {
        ns: each
        for ns, each in spaces.items()
        if ":" not in ns
        or (each.state is not None and each.state.root is not None and each.state.root >= root)
    }


def _turned(
    codec: Codec, thread: Thread, put: Put, space: Namespace, after: Namespace, turn: Turn
) -> tuple[WorkingState, list[Step]]:
    """What the tables show once they are those of the older checkpoint that a put forks from, and
    the steps that lead there. What failed on the branch that is left goes into the new state."""
    shown = working.visible(thread_at(thread, space))
    behind = journal.left_behind(thread.state.shown, shown)
    after.state, steps = journal.leave(codec, thread, after.state, put.ts, behind)
    steps += projection.turned(
        thread.key, put.thread_id, turn.rows, turn.abandoned, shown, put.id, codec.sealer
    )
    return shown, [*steps, *turn.closed]


def _has_delta_channel(put: Put, changed: Mapping[str, Any]) -> bool:
    """Whether a changed channel has no value, so that only task writes tell what it got."""
    for name in changed:
        if (
            name not in put.values
            and name not in put.owned
            and not name.startswith(("branch:to:", "__"))
        ):
            return True
    return False


def thread_at(thread: Thread, space: Namespace) -> Thread:
    """The thread with its root at an older checkpoint, and no subgraph running."""
    return Thread(
        thread.key, thread.thread_id, thread.version, thread.writer, space.checkpoint,
        thread.buried, {"": space},
    )  # fmt: skip


def _of_users(
    codec: Codec, put: Put, space: Namespace, channels: dict[str, Any], changes: dict[str, Any]
) -> tuple[dict[str, str], user_values.Held]:
    """Plan the channels that hold a user's values, or did: whose each is now, and what is stored.

    A value that is as it was is not stored again, also where it was erased meanwhile. Only a value
    of the same user is built on.
    """
    owners = dict(space.owners)
    held: user_values.Held = {}
    for name in dict.fromkeys([*put.owned, *space.owners]):
        mine, values = name in put.owned, put.owned if name in put.owned else put.values
        as_it_was = (
            name in put.versions
            and name not in put.new_versions
            and space.checkpoint is not None
            and space.versions.get(name) == put.versions[name]
        )
        if name not in values:
            if name not in channels:
                owners.pop(name, None)
            continue
        if as_it_was and (name in owners or name in space.channels):
            continue
        alike = space.channels.get(name) if mine and owners.get(name) == put.user else None
        change, fingerprint = operation(codec, alike, values[name], name)
        channels[name] = fingerprint
        if change is None:
            continue
        if not mine:
            user_values.refuse_unowned(values[name], name, put.thread_id)
            changes[name] = change
            owners.pop(name, None)
            continue
        if put.user is None:
            raise user_values.no_user(name, put.thread_id)
        rest = None
        if name in put.values:
            rest, _ = operation(codec, None, put.values[name], name)
        held.setdefault(put.user, {})[name] = change
        changes[name] = user_values.ref(put.user, rest)
        owners[name] = put.user
    return owners, held
