"""Reading the working state out of stored checkpoints, as it is read while they are stored.

One thread in a transaction, parents before children. What can't be read out of checkpoints stays:
what people declared, and the states that stand for a pruned path, a rewound head or a fork.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

from langgraph_wyrd.checkpoints import (
    journal,
    lookup,
    missing,
    path,
    read,
    snapshots,
    states,
    user_values,
    working,
)
from langgraph_wyrd.checkpoints.advance import READ_BY
from langgraph_wyrd.checkpoints.cache import Namespace, Thread, beginning
from langgraph_wyrd.checkpoints.delete import lock
from langgraph_wyrd.checkpoints.journal import Entry
from langgraph_wyrd.checkpoints.points import standing
from langgraph_wyrd.checkpoints.put import PUT_CHECKPOINT, Put, planned
from langgraph_wyrd.checkpoints.restore import metadata_of, rest_of, restore
from langgraph_wyrd.checkpoints.working import NamespaceState, Reader, ThreadState
from langgraph_wyrd.codec.values import Codec, bare
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.extraction.view import TaskWrite
from langgraph_wyrd.state.events import Event, Moment, is_kept
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.pending import moment_of
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.parity import LAST
from langgraph_wyrd.storage.rows import fetch, insert, replace_row, summed
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    JOURNAL,
    SNAPSHOTS,
    WRITES,
    CheckpointRow,
    WriteRow,
)

logger = logging.getLogger("langgraph_wyrd")

_HELD = 64  # checkpoints that others may go on from without being looked up
_PLACES = "SELECT ns, id, parent FROM wyrd_checkpoints WHERE thread = ? ORDER BY ns, id"
_THREADS = (
    "SELECT t.thread_id, count(*) FROM wyrd_threads t JOIN wyrd_checkpoints c ON c.thread = t.key "
    "WHERE t.deleted_at IS NULL{} GROUP BY t.thread_id ORDER BY t.thread_id"
)
_INSERT_JOURNAL = insert(JOURNAL)
_READ_AGAIN = "DELETE FROM wyrd_journal WHERE thread = ? AND seq = ? AND said_at = ?"

Place = tuple[str, str]  # namespace, id


def threads(dialect: str, thread_id: str | None) -> Script[list[tuple[str, int]]]:
    """The threads to read, and how many checkpoints each has."""
    one = "" if thread_id is None else " AND t.thread_id = ?"
    rows = yield Query(_THREADS.format(one), () if thread_id is None else (thread_id,))
    if thread_id is not None and not rows:
        yield from standing(dialect, thread_id)  # or says what is lost
    return [(id, int(count)) for id, count in rows]


def reextract(
    dialect: str, codec: Codec, reader: Reader, thread_id: str, strict: bool = False
) -> Script[None]:
    """Read one thread's working state out of its checkpoints, and store what it says.

    What can't be read stays as it is, and is logged; with `strict` it raises CheckpointDamaged.
    """
    thread = yield from lock(dialect, thread_id)
    if thread is None:
        return
    work = _Reading(dialect, codec, replace(reader, labels=None), thread, strict)
    yield from work.all()
    yield from user_values.settle(thread.key)
    yield from states.show_again(dialect, codec, replace(thread, spaces={}))
    yield Command(READ_BY, [(reader.extractors.label, thread.key)])


@dataclass(slots=True)
class _Reading:
    dialect: str
    codec: Codec
    reader: Reader
    thread: Thread
    strict: bool
    spaces: OrderedDict[Place, Namespace] = field(default_factory=OrderedDict)
    declared: dict[str, list[Entry]] = field(default_factory=dict)
    again: dict[Place, list[Entry]] = field(default_factory=dict)  # by puts, which read it again
    meta: Mapping[str, Any] = field(default_factory=dict)  # of the checkpoint that is read

    def all(self) -> Script[None]:
        key = self.thread.key
        if self.strict:
            yield from missing.present(key, "", LAST)
        places = _ordered((yield Query(_PLACES, (key,))))
        there = frozenset(places)
        spaces: dict[str, list[Any]] = {}
        for row in (yield from fetch(JOURNAL, thread=key)):
            spaces.setdefault(row.ns, []).append(row)
        for ns, rows in spaces.items():
            held = self.declared[ns] = []
            for entry in journal.entries(self.codec, rows):
                place = ns, entry.said_at or ""
                if entry.read and place in there:  # it is read again
                    self.again.setdefault(place, []).append(entry)
                else:
                    held.append(entry)
        for ns, id in places:
            try:
                yield from self._one(ns, id)
            except CheckpointDamaged as error:
                if self.strict:
                    raise
                self.declared.setdefault(ns, []).extend(self.again.pop((ns, id), ()))
                logger.warning(
                    "thread %r: the working state at %s can't be read again: %s",
                    given(self.thread.thread_id), given(id), error,
                )  # fmt: skip

    def _one(self, ns: str, id: str) -> Script[None]:
        codec = self.codec
        found = yield from path.find(self.dialect, self.thread.thread_id, ns, id)
        row = found.path[0]
        _, own, _ = states.events_at(codec, row)
        if any(map(is_kept, own)):
            made = yield from self._loaded(found)
            yield from self._read_again(ns, id)
            yield from self._in_snapshot(found, made.state)
            self._keep((ns, id), made)
            return
        made, row_, rows = yield from self._put(found, own)
        yield from self._read_again(ns, id)
        yield from self._in_snapshot(found, made.state)
        if rows:
            yield Command(_INSERT_JOURNAL, rows)
            self.declared.setdefault(ns, []).extend(journal.entries(codec, rows))
        state: NamespaceState = made.state
        every = self.declared.get(ns, ())
        said = [e for e in every if e.said_at == id and not (e.left or e.read)]
        for write in sorted(found.writes, key=lambda each: each.seq):
            while said and _came_before(said[0], write):
                state = self._declared(said.pop(0), state, row)
            state = yield from self._written(write, state, made, row_)
        for entry in said:
            state = self._declared(entry, state, row)
        made.state = state
        self._keep((ns, id), made)

    def _read_again(self, ns: str, id: str) -> Script[None]:
        """Take away what the put of a checkpoint had read out of tool calls."""
        if over := self.again.pop((ns, id), ()):
            key = self.thread.key
            yield Command(_READ_AGAIN, [(key, entry.seq, entry.said_at) for entry in over])

    def _put(self, found: path.Found, own: Sequence[Event]) -> Script[Any]:
        """What the put of a checkpoint said, planned once more: its namespace, row and journal."""
        codec, thread = self.codec, self.thread
        row = found.path[0]
        try:
            before = yield from self._before(row)
        except CheckpointDamaged:
            if self.strict or not _is_unread(found):
                raise
            before = beginning()  # what its snapshot holds is read as new
        before = self._beside(before, row)
        users, found.users = found.users, user_values.Rows()
        found.users.on_damage = lambda _: None  # nothing is read of what belongs to users
        restored = restore(codec, found)
        found.users = users
        self.meta = metadata = metadata_of(codec, row, restored.metadata)
        rest = rest_of(codec, restored.rest)
        versions, old = restored.versions, before.versions
        news = {n: v for n, v in versions.items() if n not in old or old[n] != v}
        values = {  # of a DeltaChannel a snapshot is handed over once, and to a copy
            name: value
            for name, value in restored.values().items()
            if name in news or row.source == "fork" or not bare(value)[0]
        }
        put = Put(
            thread_id=thread.thread_id, ns=row.ns, id=row.id, parent=row.parent, ts=row.ts,
            step=row.step, source=row.source, run_id=row.run_id, meta=metadata,
            metadata=row.metadata, exact=None, root=row.root, user=None,
            values=values, versions=versions, new_versions=news, seen=restored.seen,
            rest=rest, stamp=row.stamp,
        )  # fmt: skip
        then = Thread(thread.key, thread.thread_id, row.seq - 1, thread.writer, None, None)
        then.state = ThreadState(WorkingState(thread_id=given(thread.thread_id)))
        steps, moved = planned(codec, self.reader, thread.writer, then, put, before)
        made = next(s for s in steps if s.sql == PUT_CHECKPOINT).params
        new = codec.open(CHECKPOINTS, CheckpointRow._make(made))
        forks = [event for event in own if (event.pillar, event.op) == ("thread", "fork")]
        events = new.events
        if forks:
            said, _ = working.unpack_events(events, Moment(given(row.id)))
            events = working.pack_events([*said, *forks])
        stored = codec.open(CHECKPOINTS, row)
        if (stored.events, stored.due) != (events, new.due):
            stored = stored._replace(events=events, due=new.due)
            yield replace_row(CHECKPOINTS, summed(CHECKPOINTS, stored, codec.sealer))
        rows = [step.params for step in steps if step.sql == _INSERT_JOURNAL]
        return moved.spaces[row.ns], stored, rows

    def _in_snapshot(self, found: path.Found, state: NamespaceState) -> Script[None]:
        """Put the working state at a checkpoint into its snapshot, if it has one."""
        row = found.path[0]
        for held in found.snapshots:
            if held.channel == "" and held.checkpoint == row.id:
                made = self.codec.open(SNAPSHOTS, held)
                packed_ = snapshots.state_of(state.lasting)
                if made.state != packed_:
                    made = made._replace(state=packed_)
                    yield replace_row(SNAPSHOTS, summed(SNAPSHOTS, made, self.codec.sealer))

    def _loaded(self, found: path.Found) -> Script[Namespace]:
        """A checkpoint as it is stored, with its state as it was: without later facts."""
        row = found.path[0]
        space = lookup.namespace(self.codec, found, strict=True)
        _, space.state = yield from states.load_namespace(
            self.dialect, self.codec, self.thread, row.ns, row.id, found, past=True
        )
        return space

    def _before(self, row: CheckpointRow) -> Script[Namespace]:
        """What a checkpoint was put behind."""
        name = self.thread.thread_id
        parent = row.parent if row.source != "fork" else row.built_on or row.parent
        if parent is not None:
            known = self.spaces.get((row.ns, parent))
            if known is not None:
                return known
            found = yield from path.find(self.dialect, name, row.ns, parent)
            if found.path:
                return (yield from self._loaded(found))
        space = beginning()
        if row.ns == "":
            said = [each for each in self.declared.get("", ()) if each.seq < row.seq]
            space.state = states.before_first(name, said)
        return space

    def _beside(self, space: Namespace, row: CheckpointRow) -> Namespace:
        """With the facts that had been declared on other branches by then."""
        facts = [each for each in self.declared.get("", ()) if each.facts and each.seq < row.seq]
        facts.sort(key=attrgetter("seq"))
        if row.ns or space.state is None or not facts:
            return space
        state: NamespaceState = space.state
        for said in journal.elsewhere(state.seen(), facts, ts=state.lasting.ts):
            state = state.also(*said)
        return replace(space, state=state)

    @staticmethod
    def _declared(entry: Entry, state: NamespaceState, row: CheckpointRow) -> NamespaceState:
        """The state with what somebody declared at the checkpoint."""
        moment = moment_of(given(row.id), given(row.ns), row.ts, entry.task)
        return state.also(moment, entry.events)

    def _written(
        self, write: WriteRow, state: NamespaceState, space: Namespace, row: CheckpointRow
    ) -> Script[NamespaceState]:
        """The state with what a call of a task's writes said."""
        codec = self.codec
        task, at = given(write.task), given(write.path)
        made = [
            TaskWrite(task, at, each.channel, codec.load_written(each.form, each.data))
            for each in read.in_call(codec, write)
        ]
        state.writes.extend(made)
        events: tuple[Event, ...] = ()
        said = [(each.channel, each.value) for each in made]
        if working.matter(said) or state.told(task):
            name = given(self.thread.thread_id)
            events = working.of_writes(
                self.reader, state, write.ns, space.versions, made, task, name, self.meta
            )
            moment = Moment(state.checkpoint, given(write.ns), state.lasting.ts, task)
            state = state.also(moment, events)
        packed = working.pack_events_of(events)
        stored = codec.open(WRITES, write)
        if stored.events != packed:
            version = None if packed is None else stored.version or row.seq
            stored = stored._replace(events=packed, version=version)
            yield replace_row(WRITES, summed(WRITES, stored, codec.sealer))
        return state

    def _keep(self, place: Place, space: Namespace) -> None:
        self.spaces[place] = space
        while len(self.spaces) > _HELD:
            self.spaces.popitem(last=False)


def _is_unread(found: path.Found) -> bool:
    """Whether a checkpoint has a snapshot without a working state."""
    own = (held for held in found.snapshots if held.checkpoint == found.path[0].id)
    return any(held.channel == "" and held.state is None for held in own)


def _came_before(entry: Entry, write: WriteRow) -> bool:
    """Whether something was declared before a task wrote; where that said nothing, by the clock."""
    if write.version is not None:
        return entry.seq < write.version
    return datetime.fromisoformat(entry.at).timestamp() * 1e9 < write.seq


def _ordered(rows: Sequence[Any]) -> list[Place]:
    """Parents before their children, whatever clocks said."""
    parents = {(ns, id): parent for ns, id, parent in rows}
    done: dict[Place, None] = {}
    for place in parents:
        line = []
        at: Place | None = place
        while at is not None and at in parents and at not in done and at not in line:
            line.append(at)
            parent = parents[at]
            at = None if parent is None else (at[0], parent)
        done.update(dict.fromkeys(reversed(line)))
    return list(done)
