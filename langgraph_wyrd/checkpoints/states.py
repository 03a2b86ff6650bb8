"""Working states as they were stored: a namespace at any checkpoint, a thread at its head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from langgraph_wyrd.checkpoints import journal, read, working
from langgraph_wyrd.checkpoints import path as paths
from langgraph_wyrd.checkpoints.cache import Namespace, Thread, beginning
from langgraph_wyrd.checkpoints.journal import Entry
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.checkpoints.projection import due_of
from langgraph_wyrd.checkpoints.working import NamespaceState, Pending, ThreadState
from langgraph_wyrd.codec.payload import unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.extraction.view import TaskWrite
from langgraph_wyrd.state.codec import from_dict
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.pending import along, moment_of, rank
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import unsound
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    SNAPSHOTS,
    WRITES,
    CheckpointRow,
    Key,
    WriteRow,
)

_SAID = (
    f"SELECT {', '.join(WRITES.names)} FROM wyrd_writes "
    "WHERE thread = ? AND ns = ? AND checkpoint >= ? AND checkpoint <= ? AND events IS NOT NULL "
    "ORDER BY seq"
)
_WRITES = (
    f"SELECT {', '.join(WRITES.names)} FROM wyrd_writes "
    "WHERE thread = ? AND ns = ? AND checkpoint = ?"
)
_AT = (
    "SELECT ns, max(id) FROM wyrd_checkpoints WHERE thread = ? AND root = ? AND ns <> '' "
    "GROUP BY ns"
)
_AHEAD = (
    "SELECT ns, max(id) FROM wyrd_checkpoints WHERE thread = ? AND root >= ? AND ns <> '' "
    "GROUP BY ns"
)


def sound_events(row: CheckpointRow) -> CheckpointRow:
    """The row, if its events are as they were stored."""
    if "events_sum" in unsound(CHECKPOINTS, row):
        raise CheckpointDamaged(f"the working state at checkpoint {given(row.id)} is damaged")
    return row


def sound_write(row: WriteRow) -> WriteRow:
    """The row, if it is as it was stored."""
    if unsound(WRITES, row):
        raise CheckpointDamaged(f"what task {given(row.task)} wrote fails its checksum")
    return row


def namespace_state(
    codec: Codec,
    thread_id: str,
    found: Found,
    said: Sequence[WriteRow],
    declared: Sequence[Entry] = (),
    facts_until: int | None = None,
    look: Callable[[WorkingState], None] | None = None,
) -> NamespaceState:
    """The state at the end of a path: events of its checkpoints, of their tasks, and what was
    declared on it; and the facts that were declared on other branches until a `seq`. `look` is
    given the states on the way."""
    path = found.path
    target = path[0]
    start = WorkingState(thread_id=given(thread_id))
    pending: dict[str, dict[str, tuple[Moment, tuple[Event, ...]]]] = {}
    steps = []
    times = {row.id: row.ts for row in path}
    for write in said:
        if write.checkpoint in times:
            sound_write(write)
            at = Moment(
                given(write.checkpoint), given(write.ns), times[write.checkpoint], given(write.task)
            )
            events = working.events_of(codec.opened(WRITES, write, "events"))
            add(pending, write.checkpoint, at, events)
    ns = given(target.ns)
    for entry in declared:
        if entry.said_at in times and not (entry.read or entry.left):
            moment = moment_of(given(entry.said_at), ns, times[entry.said_at], entry.task)
            add(pending, entry.said_at, moment, entry.events)
    last = path[-1]
    snapshot = next(
        (s for s in found.snapshots if s.channel == "" and s.checkpoint == last.id and s.state),
        None,
    )
    for row in reversed(path):
        sound_events(row)
        at = Moment(given(row.id), given(row.ns), row.ts)
        own, tasks = working.unpack_events(codec.opened(CHECKPOINTS, row, "events"), at)
        for moment, events in tasks:
            add(pending, row.id, moment, events, first=True)
        if row is last and snapshot is not None:
            start = from_dict(WorkingState, unpacked(codec.opened(SNAPSHOTS, snapshot, "state")))
            own = ()
        over = pending.get(row.id, {})
        steps.append((at, own, tuple(over[task] for task in sorted(over, key=rank))))
    if last.built_on is None:
        steps.insert(0, (Moment("", ns), (), unborn(declared, ns, last.seq)))
    lasting = along(start, steps, look)
    state = NamespaceState(given(target.id), lasting, due_of(target.due), target.root, steps[-1][2])
    if declared and target.ns == "":
        known = [e for e in declared if facts_until is None or e.seq <= facts_until]
        for said_there in journal.elsewhere(state.seen(), known, ns, target.ts):
            state = state.also(*said_there)
    return state


def unborn(declared: Sequence[Entry], ns: str, until: int | None = None) -> Pending:
    """What was said before a thread's first checkpoint was stored, in the order of an overlay."""
    return tuple(
        (moment_of("", ns, None, entry.task), entry.events)
        for entry in declared
        if entry.said_at is None and (until is None or entry.seq < until)
    )


def before_first(thread_id: str, declared: Sequence[Entry]) -> NamespaceState | None:
    """The state that a root's checkpoint without a parent starts from; None where nothing was said.

    `declared`: what was said before it, on other branches too, whose facts it has.
    """
    state = NamespaceState("", WorkingState(thread_id=given(thread_id)))
    state = replace(state, pending=unborn(declared, ""))
    for said in journal.elsewhere(state.seen(), declared):
        state = state.also(*said)
    return state if state.pending else None


def add(
    pending: dict[str, dict[str, tuple[Moment, tuple[Event, ...]]]],
    checkpoint: str,
    at: Moment,
    events: tuple[Event, ...],
    *,
    first: bool = False,
) -> None:
    held = pending.setdefault(checkpoint, {})
    known = held.get(at.task, (at, ()))[1]
    held[at.task] = (at, (*events, *known) if first else (*known, *events))


def load_namespace(
    dialect: str,
    codec: Codec,
    thread_id: str,
    key: Key,
    ns: str,
    id: str,
    found: Found | None = None,
    *,
    until: int | None = None,
    past: bool = False,
    values: bool = True,
    look: Callable[[WorkingState], None] | None = None,
) -> Script[tuple[Found, NamespaceState | None]]:
    """A namespace's state at a checkpoint, with what its tasks wrote there.

    What was declared there, or said by its tasks, after `until` is left out; with `past`, also
    what other branches declared after the checkpoint was stored. Without `values`, those of the
    writes are left packed.
    """
    if found is None:
        found = yield from paths.find(dialect, thread_id, ns, id)
    if not found.path:
        return found, None
    said, rows = yield [
        Query(
            _SAID, (key, ns, min(row.id for row in found.path), max(row.id for row in found.path))
        ),
        journal.query(key, ns),
    ]
    declared = journal.entries(codec, rows, until)
    facts_until = found.path[0].seq if past and until is None else until
    said = [WriteRow._make(row) for row in said]
    if until is not None:
        said = [row for row in said if row.checkpoint != id or (row.version or 0) <= until]
    state = namespace_state(codec, thread_id, found, said, declared, facts_until, look)
    state.writes.extend(task_writes(codec, found.writes, values))
    return found, state


def task_writes(codec: Codec, rows: Sequence[WriteRow], values: bool = True) -> list[TaskWrite]:
    """What a checkpoint's tasks wrote, as the next checkpoint's extractors see it."""
    made = []
    for write in read.merged(codec, rows):
        plain = not values or write.channel.startswith("branch:to:")
        value = None if plain else codec.load_written(write.form, write.data)
        made.append(TaskWrite(given(write.task), given(write.path), write.channel, value))
    return made


def early_writes(codec: Codec, key: Key, ns: str, id: str) -> Script[list[TaskWrite]]:
    """What tasks wrote at a checkpoint that is not stored yet, in the order in which they began."""
    rows = [WriteRow._make(row) for row in (yield Query(_WRITES, (key, ns, id)))]
    rows.sort(key=lambda row: row.seq)
    order = [given(row.task) for row in rows]
    return sorted(task_writes(codec, rows), key=lambda write: order.index(write.task))


def load_thread(
    dialect: str,
    codec: Codec,
    thread: Thread,
    known: dict[tuple[str, str], Found] | None = None,
    *,
    until: int | None = None,
    past: bool = False,
    values: bool = True,
    ahead: bool = False,
) -> Script[None]:
    """Set the working state of a thread, as of its head, with the subgraphs that run there.

    `until`, `past` and `values`: see `load_namespace`. A write sets `ahead`: a subgraph's
    checkpoints may be stored before the root checkpoint that they belong to, and their tasks'
    writes before it as well, so these subgraphs must be known too.
    """
    when = (until, past, values)
    if thread.head is not None:
        held = (known or {}).get(("", thread.head))
        yield from _into(dialect, codec, thread, "", thread.head, held, *when)
    elif thread.version:
        declared = journal.entries(codec, (yield journal.query(thread.key, "")), until)
        state = before_first(thread.thread_id, declared)
        if state is not None:
            thread.spaces[""] = replace(beginning(), state=state)
    if thread.head is not None:
        yield from _children(dialect, codec, thread, _AT, known, *when)
    thread.state = ThreadState(working.visible(thread))
    if ahead and thread.version:
        yield from _children(dialect, codec, thread, _AHEAD, known, *when)


def _children(
    dialect: str,
    codec: Codec,
    thread: Thread,
    which: str,
    known: dict[tuple[str, str], Found] | None,
    *when: Any,
) -> Script[None]:
    for ns, newest in (yield Query(which, (thread.key, thread.head or ""))):
        space = thread.spaces.get(ns)
        if space is None or space.checkpoint != newest or space.state is None:
            held = (known or {}).get((ns, newest))
            yield from _into(dialect, codec, thread, ns, newest, held, *when)


def _into(
    dialect: str,
    codec: Codec,
    thread: Thread,
    ns: str,
    id: str,
    found: Found | None,
    until: int | None,
    past: bool,
    values: bool,
) -> Script[None]:
    held, state = yield from load_namespace(
        dialect, codec, thread.thread_id, thread.key, ns, id, found, until=until, past=past,
        values=values,
    )  # fmt: skip
    if state is None:
        return
    space = thread.spaces.get(ns)
    if space is None or space.checkpoint != id:
        # Its channels are not known: who puts behind it reads them first.
        space = Namespace(id, held.path[0].stamp, {}, {}, {}, b"", known=False)
        thread.spaces[ns] = space
    space.state = state
