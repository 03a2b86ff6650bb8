"""Working states as they were stored: a namespace at any checkpoint, a thread at its head.

The public tables are made again from them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from typing import Any

from langgraph_wyrd.checkpoints import journal, projection, read, snapshots, working
from langgraph_wyrd.checkpoints import path as paths
from langgraph_wyrd.checkpoints.cache import Namespace, Thread, beginning
from langgraph_wyrd.checkpoints.journal import Entry
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.checkpoints.put import Turn
from langgraph_wyrd.checkpoints.working import NamespaceState, Pending, ThreadState
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, StoreError
from langgraph_wyrd.extraction.view import TaskWrite
from langgraph_wyrd.state.draft import CLOSED_INTENTIONS, CLOSED_LOOPS, LEFT_TODOS
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.state.model import Todo, WorkingState
from langgraph_wyrd.state.pending import along, moment_of, rank
from langgraph_wyrd.storage.names import given, stored, text_in
from langgraph_wyrd.storage.rows import delete, fetch, unsound, upsert
from langgraph_wyrd.storage.scripts import Command, Query, Script, Step
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    INTENTIONS,
    OPEN_LOOPS,
    SNAPSHOTS,
    TODOS,
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
_CHILDREN = (
    "SELECT ns, max(id) FROM wyrd_checkpoints WHERE thread = ? AND root {} ? AND ns <> '' "
    "GROUP BY ns"
)


def sound_events(row: CheckpointRow) -> CheckpointRow:
    """The row, if its events are as they were stored."""
    if "events_sum" in unsound(CHECKPOINTS, row):
        raise CheckpointDamaged(f"the working state at checkpoint {given(row.id)} is damaged")
    return row


Pendings = dict[str, dict[str, tuple[Moment, tuple[Event, ...]]]]  # by checkpoint, then by task


def overlays(
    codec: Codec,
    rows: Iterable[CheckpointRow],
    said: Sequence[WriteRow],
    declared: Sequence[Entry],
) -> Pendings:
    """What tasks wrote and people declared at some checkpoints of a namespace."""
    found: Pendings = {}
    times = {row.id: (given(row.id), given(row.ns), text_in(row.ts)) for row in rows}
    for write in said:
        if write.checkpoint in times:
            if unsound(WRITES, write):
                what = f"what task {given(write.task)} wrote fails its checksum"
                raise CheckpointDamaged(what)
            events = working.events_of(codec.opened(WRITES, write, "events"))
            at = Moment(*times[write.checkpoint], given(write.task))
            _add(found, write.checkpoint, at, events)
    for entry in declared:
        if entry.said_at in times and not (entry.read or entry.left):
            moment = moment_of(*times[entry.said_at], entry.task)
            _add(found, entry.said_at, moment, entry.events)
    return found


def events_at(
    codec: Codec, row: CheckpointRow
) -> tuple[Moment, tuple[Event, ...], list[tuple[Moment, tuple[Event, ...]]]]:
    """When a checkpoint was stored, its own events, and those of its early tasks."""
    at = Moment(given(row.id), given(row.ns), text_in(row.ts))
    return at, *working.unpack_events(codec.opened(CHECKPOINTS, row, "events"), at)


def own_events(
    codec: Codec, row: CheckpointRow, pending: Pendings
) -> tuple[Moment, tuple[Event, ...], Pending]:
    """When a checkpoint was stored, its own events, and in their order those that lie over it."""
    at, own, tasks = events_at(codec, sound_events(row))
    for moment, events in tasks:
        _add(pending, row.id, moment, events, first=True)
    over = pending.get(row.id, {})
    return at, own, tuple(over[task] for task in sorted(over, key=rank))


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


def _add(
    pending: Pendings, checkpoint: str, at: Moment, events: tuple[Event, ...], first: bool = False
) -> None:
    held = pending.setdefault(checkpoint, {})
    known = held.get(at.task, (at, ()))[1]
    held[at.task] = (at, (*events, *known) if first else (*known, *events))


def load_namespace(
    dialect: str,
    codec: Codec,
    thread: Thread,
    ns: str,
    id: str,
    found: Found | None = None,
    *,
    until: int | None = None,
    past: bool = False,
    values: bool = True,
    look: Callable[[WorkingState, Container[str]], None] | None = None,
) -> Script[tuple[Found, NamespaceState | None]]:
    """A checkpoint's rows, and its namespace's state there, with what its tasks wrote.

    `until` leaves out what was said there, or declared anywhere, after that `seq`; `past` the facts
    that were declared on other branches after the checkpoint. Without `values`, those of the
    writes are left packed.
    """
    if found is None:
        found = yield from paths.find(dialect, thread.thread_id, ns, id)
    if not found.path:
        return found, None
    ids = [row.id for row in found.path]
    said, rows = yield [
        Query(_SAID, (thread.key, ns, min(ids), max(ids))), journal.query(thread.key, ns),
    ]  # fmt: skip
    declared = journal.entries(codec, rows, until)
    said = [WriteRow._make(row) for row in said]
    if until is not None:
        said = [row for row in said if row.checkpoint != id or (row.version or 0) <= until]
    path = found.path
    target, last = path[0], path[-1]
    start = WorkingState(thread_id=given(thread.thread_id))
    snapshot = next(
        (s for s in found.snapshots if s.channel == "" and s.checkpoint == last.id and s.state),
        None,
    )
    pending = overlays(codec, path, said, declared)
    steps = []
    for row in reversed(path):
        at, own, over = own_events(codec, row, pending)
        if row is last and snapshot is not None:
            start = snapshots.state_in(codec.opened(SNAPSHOTS, snapshot, "state"))
            own = ()
        steps.append((at, own, over))
    name = given(ns)
    if last.built_on is None:
        steps.insert(0, (Moment("", name), (), unborn(declared, name, last.seq)))
    lasting = along(start, steps, look)
    state = NamespaceState(
        given(id), lasting, projection.due_of(target.due), target.root, steps[-1][2]
    )
    if ns == "":
        facts_until = target.seq if past and until is None else until
        known = [e for e in declared if facts_until is None or e.seq <= facts_until]
        for said_there in journal.elsewhere(state.seen(), known, name, target.ts):
            state = state.also(*said_there)
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
    rows = yield from fetch(WRITES, thread=key, ns=ns, checkpoint=id)
    rows.sort(key=lambda row: row.seq)
    order = [given(row.task) for row in rows]
    return sorted(task_writes(codec, rows), key=lambda write: order.index(write.task))


_AHEAD = (
    "SELECT DISTINCT checkpoint FROM wyrd_writes WHERE thread = ? AND ns = ? AND checkpoint > ?"
)


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

    `until`, `past` and `values`: see `load_namespace`. A write sets `ahead`: what tasks wrote at
    checkpoints that are not stored yet must be known then; and a subgraph's checkpoints may be
    stored before the root checkpoint that they belong to, so these subgraphs as well.
    """
    known = known or {}

    def load(ns: str, id: str) -> Script[None]:
        held, state = yield from load_namespace(
            dialect, codec, thread, ns, id, known.get((ns, id)), until=until, past=past,
            values=values,
        )  # fmt: skip
        if state is not None:
            space = thread.spaces.get(ns)
            if space is None or space.checkpoint != id:
                # Its channels are not known: who puts behind it reads them first.
                space = Namespace(id, held.path[0].stamp, {}, {}, {}, b"", known=False)
                thread.spaces[ns] = space
            space.state = state

    def children(which: str) -> Script[None]:
        for ns, newest in (yield Query(which, (thread.key, thread.head or ""))):
            space = thread.spaces.get(ns)
            if space is None or space.checkpoint != newest or space.state is None:
                yield from load(ns, newest)

    if thread.head is not None:
        yield from load("", thread.head)
        yield from children(_CHILDREN.format("="))
    elif thread.version:
        declared = journal.entries(codec, (yield journal.query(thread.key, "")), until)
        state = before_first(thread.thread_id, declared)
        if state is not None:
            thread.spaces[""] = replace(beginning(), state=state)
    thread.state = ThreadState(working.visible(thread))
    if ahead and thread.version:
        yield from children(_CHILDREN.format(">="))
        for ns, space in {"": None, **thread.spaces}.items():
            newest = thread.head if space is None else space.checkpoint
            for (id,) in (yield Query(_AHEAD, (thread.key, ns, newest or ""))):
                try:
                    early = yield from early_writes(codec, thread.key, ns, id)
                except (CheckpointDamaged, StoreError):
                    raise
                except Exception:  # the user's serde can't load it: that is for its own checkpoint
                    continue
                thread.state.expect(ns, id, early)


# ---- the public tables, made again

SHOW = (
    "UPDATE wyrd_threads SET status = ?, reason = ?, due = ?, title = ?, "
    "open_loops = ?, open_todos = ? WHERE key = ?"
)
USED = "UPDATE wyrd_threads SET updated = ? WHERE key = ?"


def show_again(dialect: str, codec: Codec, thread: Thread) -> Script[None]:
    """Show the state of the thread's head, whatever the tables hold."""
    yield from load_thread(dialect, codec, thread)
    yield [Command(delete(table, "thread"), [(thread.key,)]) for table in projection.PUBLIC]
    state = working.visible(thread)
    steps = yield from over(dialect, codec, thread, thread.head, state)
    steps += projection.changes(
        thread.key, thread.thread_id, WorkingState(), state, thread.head or "", codec.sealer
    )
    if steps:
        yield [Command(step.sql, [step.params]) for step in steps]
    yield Command(SHOW, [(*projection.columns(state, thread.key, codec.sealer), thread.key)])


# ---- what is over, and no state has it any more


def over(
    dialect: str, codec: Codec, thread: Thread, id: str | None, state: WorkingState
) -> Script[list[Step]]:
    """The rows of what is over for so long that the state at a root checkpoint lacks it."""
    ended = (
        sum(loop.resolved for loop in state.loops) >= CLOSED_LOOPS
        or sum(not each.open for each in state.intentions) >= CLOSED_INTENTIONS
        or sum(not todo.listed for todo in state.todos) >= LEFT_TODOS
    )
    if not ended or id is None:
        return []
    past: dict[str, tuple[str, int, Any]] = {}  # each item as it was seen last

    def look(seen: WorkingState, again: Container[str]) -> None:
        every: tuple[Sequence[Any], ...] = (seen.todos, seen.loops, seen.intentions)
        for held in every:
            for place, item in enumerate(held):
                if item.id not in again:
                    past[item.id] = (seen.checkpoint_id or "", place, item)

    found = yield from paths.find(dialect, thread.thread_id, "", id, writes=False, snapshots=False)
    if not found.path or found.path[-1].built_on is not None:
        return []
    try:
        yield from load_namespace(dialect, codec, thread, "", id, found, look=look)
    except CheckpointDamaged:
        return []
    every: tuple[Any, ...] = (*state.todos, *state.loops, *state.intentions)
    kept = {item.id for item in every}
    steps = []
    for at, place, item in past.values():
        if item.id in kept or item.source.ns:
            continue
        make = projection.Rows(thread.key, thread.thread_id, stored(at, "an id"), codec.sealer)
        if isinstance(item, Todo):
            if not item.open:
                steps.append(Step(upsert(TODOS), make.todo(replace(item, listed=False), place)))
        elif projection.is_over(item):
            table, row = (
                (OPEN_LOOPS, make.loop) if hasattr(item, "kind") else (INTENTIONS, make.intention)
            )
            steps.append(Step(upsert(table), row(item)))
    return steps


# ---- another branch


def turn(
    dialect: str, codec: Codec, thread: Thread, parent: str | None, space: Namespace | None
) -> Script[Turn]:
    """What the tables hold, and which checkpoints only the branch of the head has."""
    key, head = thread.key, thread.head
    held = yield [Query(projection.listing(table), (key,)) for table in projection.PUBLIC]
    left = yield from paths.line(key, head)
    kept = [] if parent is None else (yield from paths.line(key, parent))
    ended: list[Step] = []
    if space is not None and space.state is not None and parent not in left:
        ended = yield from over(dialect, codec, thread, parent, space.state.seen())
    return Turn(held, frozenset(left).difference(kept), ended)
