"""Deleting: whole threads, runs, everything but the latest. What is deleted is gone.

A deleted thread refuses what its runs still send. Its row stays, with the greatest checkpoint id
that it had (`buried`): what builds on that one or an older one is refused; a new beginning is not.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.checkpoints import (
    path,
    put,
    search,
    stale_snapshots,
    states,
    user_values,
    working,
)
from langgraph_wyrd.checkpoints.advance import advanced
from langgraph_wyrd.checkpoints.cache import Thread, new_writer
from langgraph_wyrd.checkpoints.delta_channels import lineage
from langgraph_wyrd.checkpoints.lookup import own_row, thread_of, thread_row
from langgraph_wyrd.checkpoints.missing import headed
from langgraph_wyrd.checkpoints.restore import checked, damaged, delta_of, metadata_at, restore
from langgraph_wyrd.codec.delta import operation
from langgraph_wyrd.codec.payload import Delta, pack_delta
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, ThreadDeleted
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.state.events import PRUNED, base
from langgraph_wyrd.state.model import OpenLoop, WorkingState
from langgraph_wyrd.state.pending import ANSWERED
from langgraph_wyrd.storage.keys import LOOKED_UP, found_by
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.rows import delete, fetch, now, replace_row, summed, unsound
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    LABELS,
    OPEN_LOOPS,
    SNAPSHOTS,
    TABLES,
    THREADS,
    WRITES,
    CheckpointRow,
    ThreadRow,
)

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints import listing
    from langgraph_wyrd.checkpoints.lookup import Loaded
else:
    listing = lazy("checkpoints.listing")

logger = logging.getLogger("langgraph_wyrd")

Place = tuple[str, str]  # namespace, id

_LOCK = (
    "UPDATE wyrd_threads SET version = version + 1, writer = ? WHERE {} = ? "
    f"AND deleted_at IS NULL RETURNING {', '.join(THREADS.names)}"
)
_REVIVED = (
    "UPDATE wyrd_threads SET version = version + 1, writer = ?, deleted_at = NULL WHERE key = ? "
    "AND deleted_at IS NOT NULL RETURNING version"
)
_BURY = (
    "UPDATE wyrd_threads SET updated = ?, deleted_at = ?, "
    "buried = CASE WHEN buried IS NULL OR head > buried THEN coalesce(head, buried) ELSE buried "
    "END, head = NULL, status = NULL, reason = NULL, due = NULL, title = NULL, user_id = NULL, "
    "open_loops = 0, open_todos = 0 WHERE key = ?"
)
_ALL = (
    "SELECT ns, id, parent, built_on, run_id, root, ts FROM wyrd_checkpoints WHERE thread = ? "
    "ORDER BY ns, id"
)
_RUNS = (
    "SELECT DISTINCT t.thread_id FROM wyrd_checkpoints c JOIN wyrd_threads t ON t.key = c.thread "
    "WHERE c.run_id = ?"
)


@dataclass(frozen=True, slots=True)
class Light:
    """A checkpoint without what it holds."""

    ns: str
    id: str
    parent: str | None
    built_on: str | None
    run_id: str | None
    root: str | None
    ts: str | None

    @property
    def place(self) -> Place:
        return self.ns, self.id


def lock(dialect: str, thread_id: str, *, whole: bool = True) -> Script[Thread | None]:
    """A thread that nobody else changes until this transaction ends; its version is moved on.

    Raises CheckpointDamaged where its row, or (`whole`) its head, is missing.

    Looking after a thread is no use of it: the time of its last use stays. The row's writer is
    nobody: a write that this process planned before, and that fails now, must leave no doubt.
    """
    mine = Query(_LOCK.format(LOOKED_UP[dialect]), (new_writer(), found_by(dialect, thread_id)))

    def look() -> Script[ThreadRow | None]:
        rows = yield mine
        return ThreadRow._make(rows[0]) if rows else None

    row = yield from own_row(dialect, thread_id, look)
    if row is None:
        return None
    if whole:
        yield from headed(row.key, row.head)
    return thread_of(dialect, thread_id, row)


def locked(dialect: str, thread_id: str, *, revived: bool = False) -> Script[Thread | None]:
    """A thread, locked; its row is made where there is none.

    None if it was deleted, unless it is to be `revived`: then it is no tombstone any more.
    """
    thread = yield from lock(dialect, thread_id)
    if thread is not None:
        return thread
    thread = yield from thread_row(dialect, thread_id)
    if not thread.version:
        step = advanced(new_writer(), thread, None, None, None)
        yield Command(step.sql, [step.params])
    elif revived:
        yield Query(_REVIVED, (new_writer(), thread.key))
    return (yield from lock(dialect, thread_id))


def there(dialect: str, thread_id: str) -> Script[Thread | None]:
    """A thread that is stored, and was not deleted."""
    thread = yield from thread_row(dialect, thread_id)
    return thread if thread.version and not thread.deleted else None


def delete_thread(dialect: str, thread_id: str) -> Script[int]:
    """Delete everything of a thread but its tombstone; how many checkpoints there were."""
    thread = yield from lock(dialect, thread_id, whole=False)
    if thread is None:
        return 0
    key, moment = thread.key, now()
    (count,) = yield [Query("SELECT count(*) FROM wyrd_checkpoints WHERE thread = ?", (key,))]
    yield Command("DELETE FROM wyrd_leases WHERE thread_id = ?", [(thread_id,)])
    # The tombstone comes last: a thread without one that has rows is taken for damaged.
    yield [
        *(
            Command(delete(table, "thread"), [(key,)])
            for table in TABLES.values()
            if "thread" in table.names and table is not THREADS
        ),
        Command(_BURY, [(moment, moment, key)]),
    ]
    return int(count[0][0])


# Without a checkpoint or a declaration a thread is listed no more.
_NOTHING_LEFT = (
    "UPDATE wyrd_threads SET status = NULL, reason = NULL, title = NULL WHERE key = ? "
    "AND NOT EXISTS (SELECT 1 FROM wyrd_journal WHERE thread = ?)"
)


def refuse(wanted: put.Put, loaded: Loaded) -> None:
    """Raise ThreadDeleted for a checkpoint that builds on what was deleted."""
    buried = loaded.thread.buried
    if loaded.space is None and buried is not None and loaded.stamp is None:
        late = [id for id in (wanted.parent, wanted.root) if id is not None]
        if any(id <= buried for id in late):
            raise too_late(loaded.thread.thread_id)


def too_late(thread_id: str) -> ThreadDeleted:
    return ThreadDeleted(
        f"thread {given(thread_id)!r} was deleted while this run was going on: what it sent now "
        "was not stored. Start a new run to use the thread id again."
    )


def threads_of_runs(run_ids: Sequence[str]) -> Script[list[str]]:
    """The threads in which these runs left checkpoints."""
    answers = yield [Query(_RUNS, (run_id,)) for run_id in run_ids]
    return sorted({row[0] for rows in answers for row in rows})


def delete_runs(dialect: str, codec: Codec, thread_id: str, run_ids: Sequence[str]) -> Script[int]:
    """Delete the checkpoints of these runs in one thread, and their writes."""
    thread = yield from lock(dialect, thread_id)
    if thread is None:
        return 0
    every = yield from checkpoints_of(thread)
    gone = {each.place for each in every if each.run_id in run_ids}
    if gone:
        deletion = Deletion(dialect, codec, thread, every)
        kept = yield from deletion.needed(gone)
        if kept:
            logger.warning(
                "thread %r: %d checkpoints of the runs to be deleted are kept, because delta "
                "channels of later checkpoints are rebuilt from them",
                given(thread_id), len(kept),
            )  # fmt: skip
        gone -= kept
        yield from deletion.drop(gone)
    return len(gone)


def start_of(ns: str, metadata: dict[str, Any]) -> Place | None:
    """The checkpoint that a subgraph's call started from; None: it is no call, or does not say."""
    outer = ns.rpartition("|")[0]
    parents = metadata.get("parents")
    if ":" not in ns or not isinstance(parents, dict):
        return None
    space = outer if given(outer) in parents else ""
    id = parents.get(given(space))
    return (space, stored(id, "a parent")) if isinstance(id, str) else None


def remembers(ns: str) -> bool:
    """Whether a subgraph goes on in its namespace from call to call: no task's id is in it."""
    return ns != "" and ":" not in ns


def labelled(
    thread: Thread, every: Sequence[Light], *, automatic: bool = True
) -> Script[list[Light]]:
    """The checkpoints with a label, and the newest before each of the subgraphs that remember."""
    rows = yield from fetch(LABELS, thread=thread.key)
    for row in rows:
        if unsound(LABELS, row):
            raise CheckpointDamaged(
                f"label {given(str(row.name))!r} is damaged, and which checkpoint it keeps is "
                "unknown: `unlabel` takes it away"
            )
    found: dict[Place, Light] = {}
    for label in sorted({row.checkpoint for row in rows if automatic or not row.automatic}):
        before: dict[str, Light] = {}
        for each in every:
            if each.ns == "" and each.id == label:
                found[each.place] = each
            elif remembers(each.ns) and each.id < label:
                before[each.ns] = each
        found.update((each.place, each) for each in before.values())
    return list(found.values())


def checkpoints_of(thread: Thread) -> Script[list[Light]]:
    """All checkpoints of a thread, by namespace and id."""
    rows = yield Query(_ALL, (thread.key,))
    return [Light(*row) for row in rows]


def line_of(every: Iterable[Light], end: str | None) -> set[str]:
    """A root checkpoint and its ancestors."""
    parents = {light.id: light.parent for light in every if light.ns == ""}
    line: set[str] = set()
    while end is not None and end in parents and end not in line:
        line.add(end)
        end = parents[end]
    return line


# ---- checkpoints that go


def counted(codec: Codec, found: path.Found) -> set[str] | None:
    """The delta channels of a checkpoint that have no value there, as LangGraph counts them."""
    counters = metadata_at(codec, found.path[0]).get("counters_since_delta_snapshot")
    return {*counters} if isinstance(counters, dict) else None


@dataclass(frozen=True, slots=True)
class Deletion:
    """Takes checkpoints out of a thread; `every` has all that it has."""

    dialect: str
    codec: Codec
    thread: Thread
    every: Sequence[Light]

    def needed(self, gone: Collection[Place]) -> Script[set[Place]]:
        """Which of the checkpoints to be deleted the delta channels of those that stay need."""
        kept: set[Place] = set()
        name = self.thread.thread_id
        for each in self.every:
            if each.place in gone or each.parent is None or (each.ns, each.parent) not in gone:
                continue
            found = yield from path.find(self.dialect, name, each.ns, each.id, writes=False)
            names = counted(self.codec, found)
            if names is None and found.path[0].source == "update":
                names = yield from self._before_edits(each)
            if names is not None:
                here = restore(self.codec, found)
                wanted = [n for n in names if n in here.versions and n not in here.channels]
                line = yield from lineage(
                    self.dialect, self.codec, name, each.ns, each.parent, wanted
                )
                kept |= {(each.ns, id) for id in line.ids}
        return kept & set(gone)

    def _before_edits(self, edited: Light) -> Script[set[str]]:
        """What may be a delta channel at an edit of LangGraph 1.2.0, which counts none: the
        channels that were counted, or had a value, before it."""
        names: set[str] = set()
        current = edited.parent
        while current is not None:
            thread = self.thread.thread_id
            found = yield from path.find(self.dialect, thread, edited.ns, current, writes=False)
            if found.target is None:
                break
            here = counted(self.codec, found)
            names |= {*(here or ()), *restore(self.codec, found).channels}
            if here is not None or found.path[0].source != "update":
                break
            current = found.path[0].parent
        return names

    def drop(self, gone: Collection[Place], *, history: bool = False) -> Script[None]:
        """Delete checkpoints; those that build on them are built on what stays.

        `history`: decisions and errors that are over stay known.
        """
        if not gone:
            return
        codec, thread, key = self.codec, self.thread, self.thread.key
        made = []
        past = (yield from _history(codec, thread)) if history else []
        line = line_of(self.every, thread.head)
        for each in self.every:
            ancestors = {(each.ns, each.built_on), (each.ns, each.parent)}
            if each.place not in gone and not ancestors.isdisjoint(gone):
                known = [p for p in past if each.id in line and (p.closed_in or "") <= each.id]
                made.append((yield from self._rebuilt(each, gone, known)))
        doomed = [(key, *place) for place in sorted(gone)]
        labels = [(key, id) for ns, id in sorted(gone) if ns == ""] or [(key, "")]
        yield [
            Command(delete(WRITES, "thread", "ns", "checkpoint"), doomed),
            Command(delete(CHECKPOINTS, "thread", "ns", "id"), doomed),
            Command(delete(SNAPSHOTS, "thread", "ns", "checkpoint"), doomed),
            search.forget(key),
            Command(delete(LABELS, "thread", "checkpoint"), labels),
        ]
        for row, held in made:
            yield replace_row(CHECKPOINTS, row)
            if held is not None:
                yield from user_values.replaced(codec, key, row.stamp, held, now())
        yield from stale_snapshots.dropped(self.dialect, codec, thread)
        yield from user_values.settle(key)
        left = [each.id for each in self.every if each.ns == "" and each.place not in gone]
        thread.head = max(left, default=None)
        yield Command("UPDATE wyrd_threads SET head = ? WHERE key = ?", [(thread.head, key)])
        yield from states.show_again(self.dialect, codec, thread)
        if not left:
            yield Command(_NOTHING_LEFT, [(key, key)])

    def _rebuilt(
        self, each: Light, gone: Collection[Place], past: Sequence[OpenLoop]
    ) -> Script[tuple[CheckpointRow, user_values.Held | None]]:
        """The row of a checkpoint that stays, built on the nearest ancestor that stays as well.

        And what of its values belongs to users, where that is stored anew. `past`: loops that are
        over and stay known.
        """
        codec, thread = self.codec, self.thread
        found, state = yield from states.load_namespace(self.dialect, codec, thread, *each.place)
        row = found.path[0]
        lights = {other.id: other for other in self.every if other.ns == each.ns}
        parent, built_on = each.parent, each.built_on
        while parent is not None and (each.ns, parent) in gone:
            parent = lights[parent].parent
        while built_on is not None and (each.ns, built_on) in gone:
            built_on = lights[built_on].built_on
        changes: dict[str, Any] = {"parent": parent, "built_on": built_on}
        held = before = None
        if built_on != each.built_on:
            if built_on is not None:
                before = yield from path.find(
                    self.dialect, thread.thread_id, each.ns, built_on, writes=False
                )
                if not before.path:
                    what = f"checkpoint {given(built_on)}, which it is to build on, is missing"
                    raise damaged(row, what)
            changes["built_stamp"] = None if before is None else before.path[0].stamp
            changes["delta"], held = between(codec, before, found)
            if state is not None:
                past = [*past, *(yield from self._answered(each, state.lasting))]
                event = replace(base(without_past(state.lasting, past)), source={"rule": PRUNED})
                _, _, tasks = states.events_at(codec, row)
                changes["events"] = working.pack_events([event], tasks)
        # What is damaged is not to be made to look whole.
        made = codec.open(CHECKPOINTS, checked(row))._replace(**changes)
        return summed(CHECKPOINTS, made, codec.sealer), held

    def _answered(self, each: Light, state: WorkingState) -> Script[list[OpenLoop]]:
        """What a subgraph that still runs asked and was told, without any text: its caller, which
        asks the same, hears of the answer when the subgraph ends."""
        over = [loop for loop in state.loops if loop.kind == "interrupt" and loop.resolved]
        if not over or each.root is None:
            return []
        _, caller = yield from states.load_namespace(
            self.dialect, self.codec, self.thread, "", each.root
        )
        asked = {loop.ref for loop in caller.seen().loops if not loop.resolved} if caller else set()
        return [
            replace(loop, description="", context={}, outcome=ANSWERED)
            for loop in over
            if loop.ref is not None and loop.ref in asked
        ]


def between(
    codec: Codec, before: path.Found | None, after: path.Found
) -> tuple[bytes, user_values.Held]:
    """One delta from a checkpoint (None: from nothing) to another, and what of it is users'."""
    restored = restore(codec, after)
    exact = delta_of(codec, after.path[0]).metadata
    known: dict[str, Any] = {}
    held: user_values.Held = {}
    others: Collection[str] = ()  # channels that were another's, or nobody's
    versions: dict[str, Any] = {}
    seen: dict[str, dict[str, Any]] = {}
    if before is not None:
        try:
            start = restore(codec, before)
        except CheckpointDamaged:
            before = None
        else:
            known = {name: value.fingerprint(name) for name, value in start.channels.items()}
            others = {n for n in known if start.owners.get(n) != restored.owners.get(n)}
            versions, seen = start.versions, start.seen
    changes = {}
    for name, value in restored.channels.items():
        alike = None if name in others else known.get(name)
        change, _ = operation(codec, alike, value.get(), name)
        if change is not None:
            changes[name] = change
    user_values.split(changes, restored.owners, held)
    packed = pack_delta(
        Delta(
            changes,
            [name for name in known if name not in restored.channels],
            {n: v for n, v in restored.versions.items() if n not in versions or versions[n] != v},
            [name for name in versions if name not in restored.versions],
            {n: held for n, held in restored.seen.items() if seen.get(n) != held},
            [n for n, held in seen.items() if restored.seen.get(n) != held],
            restored.rest,
            exact,
        )
    )
    return packed, held


_MOST_PAST = 1000
_HISTORY = (
    "AND kind IN ('decision', 'error') AND closed_in IS NOT NULL AND NOT elsewhere AND ns = '' "
    f"ORDER BY closed_in DESC, id LIMIT {_MOST_PAST}"
)


def _history(codec: Codec, thread: Thread) -> Script[list[OpenLoop]]:
    """The decisions and errors of the head's path that are over, the latest first."""
    rows = yield from fetch(OPEN_LOOPS, _HISTORY, thread=thread.key)
    return [replace(listing.LIST_LOOPS.shown(codec, row), thread_id=None) for row in rows]


def without_past(state: WorkingState, past: Sequence[OpenLoop] = ()) -> WorkingState:
    """A state without what is over, as its text may be of what went; but with `past`."""
    known = {loop.id for loop in past}
    return replace(
        state,
        loops=(
            *reversed(past),
            *(loop for loop in state.loops if not loop.resolved and loop.id not in known),
        ),
        intentions=tuple(each for each in state.intentions if each.open),
        todos=tuple(todo for todo in state.todos if todo.open or todo.listed),
    )
