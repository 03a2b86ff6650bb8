"""Loads checkpoints of damaged threads.

First the thread is mended: rows that can be restored to the byte are written back. What is read
after that comes from the thread's sound rows in memory, so that a database that can't be written
is read as well. Where a checkpoint can't be restored, its nearest intact ancestor is loaded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from langgraph_wyrd.checkpoints import read, user_values
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.codec.collector import uncollected
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, WyrdError
from langgraph_wyrd.recovery.damaged_rows import Recovered
from langgraph_wyrd.recovery.flipped_bits import flipped_back
from langgraph_wyrd.recovery.healer import Heal
from langgraph_wyrd.recovery.mend import absent, locked, remade, without_events
from langgraph_wyrd.storage import tables
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.parity import place_of
from langgraph_wyrd.storage.rows import fetch, unsound
from langgraph_wyrd.storage.scripts import Script

T = TypeVar("T")


class Lenient:
    """Reads threads from their sound rows."""

    def __init__(self, dialect: str, codec: Codec) -> None:
        self._dialect = dialect
        self._codec = codec
        self._threads: dict[str, _Thread | None] = {}
        self.found: dict[str, tuple[tables.Key, list[Heal]]] = {}

    def run(self, lenient: Callable[[Lenient], Script[T]]) -> Script[T]:
        """Run a script from the beginning (a lost connection may have it run twice)."""
        self._threads, self.found = {}, {}
        return (yield from lenient(self))

    def _thread(self, thread_id: str) -> Script[_Thread | None]:
        if thread_id not in self._threads:
            rows = locked(self._dialect, thread_id, self._codec, lock=False)
            opened, made = (yield from rows), None
            if opened is not None:
                place, found = opened
                users = yield from fetch(tables.USER_DATA, thread=place.key)
                made = _Thread(self._codec, found, users)
                self.found[thread_id] = (place.key, made.heals)
            self._threads[thread_id] = made
        return self._threads[thread_id]

    def get(self, thread_id: str, ns: str, id: str | None) -> Script[read.Read | None]:
        """One checkpoint; instead of the latest, if that is lost, its nearest intact ancestor."""
        thread = yield from self._thread(thread_id)
        if thread is None or thread.row is None or thread.row.deleted_at is not None:
            return None
        with uncollected():
            return thread.newest(ns) if id is None else thread.by_id(ns, id)

    def find(
        self, thread_id: str, ns: str, id: str | None
    ) -> Script[tuple[Found, Collection[str]]]:
        """What is sound of a checkpoint, and the tasks whose writes are damaged."""
        thread = yield from self._thread(thread_id)
        if thread is None:
            return Found(), ()
        if id is None:
            newest = thread.newest(ns)
            id = "" if newest is None else stored(newest.id, "checkpoint_id")
        return thread.line(ns, id), thread.again(ns, id)

    def one(self, thread_id: str, ns: str, id: str) -> Script[read.Read | None]:
        """A checkpoint of a list; None if it can't be read."""
        thread = yield from self._thread(thread_id)
        if thread is None:
            return None
        with uncollected():
            found, error = thread.tried(ns, id)
        if error is not None:
            thread.note("left_out", ns, id, "it can't be read: a list leaves it out")
        return found


class _Thread:
    """The sound rows of one thread."""

    def __init__(self, codec: Codec, found: Recovered, users: Sequence[tables.UserRow]) -> None:
        self._codec = codec
        self._found = found
        self._users = [flipped_back(tables.USER_DATA, row) or row for row in users]
        self.row: tables.ThreadRow | None = remade(found, found.stored.row)
        self.heals: list[Heal] = []
        self._rows = {(row.ns, row.id): row for row in found.sound[tables.CHECKPOINTS]}
        self._lost: dict[tuple[str, str], Any] = {}
        self._snapshots: defaultdict[tuple[str, str, int], list[Any]] = defaultdict(list)
        for row in found.sound[tables.SNAPSHOTS]:
            self._snapshots[row.ns, row.checkpoint, row.stamp].append(row)
        for table, row in found.broken:
            if table is tables.CHECKPOINTS:
                if unsound(table, row) == ("events_sum",):  # its values are whole
                    self._rows[row.ns, row.id] = without_events(row)
                    self.note("left_out", row.ns, row.id, "what it said is damaged", "events")
                elif isinstance(row.ns, str) and isinstance(row.id, str):
                    self._lost[row.ns, row.id] = row
                else:
                    self.note("left_out", "", "", "a checkpoint is damaged: nothing says which")
        there = self._rows.keys() | self._lost
        for table, row in found.broken:
            if table is tables.WRITES and (row.ns, row.checkpoint) not in there:
                what = f"what task {row.task} wrote is damaged: nothing says at which checkpoint"
                self.note("left_out", "", "", what, str(row.task))
        if found.absent:
            self.note("left_out", "", "", absent(found))

    def note(self, kind: Any, ns: str, id: str, what: str, channel: str = "") -> None:
        heal = Heal.of(kind, ns, id, channel, what)
        if heal not in self.heals:
            self.heals.append(heal)

    # ---- one checkpoint

    def latest(self, ns: str) -> str | None:
        """The newest checkpoint that there was, as far as anything still says so."""
        ids = [id for at, id in (*self._rows, *self._lost) if at == ns]
        stored = self._found.stored.row
        head = None if stored is None else stored.head
        if ns == "" and head and isinstance(head, str) and (self._found.absent or not ids):
            ids.append(head)
        return max(ids, default=None)

    def newest(self, ns: str) -> read.Read | None:
        """The latest checkpoint, or its nearest intact ancestor; None if nothing can be read."""
        wanted = self.latest(ns)
        if wanted is None:
            return None
        made, _ = self._nearest(ns, wanted)
        if made is None:
            self.note("empty", ns, wanted, "neither it nor any before it can be read")
        elif made.id != given(wanted):
            what = f"it can't be read: its ancestor {made.id} was taken"
            self.note("ancestor", ns, wanted, what)
        return made

    def by_id(self, ns: str, id: str) -> read.Read | None:
        """Just this checkpoint; the error for one that is damaged names its nearest ancestor."""
        if not self._was_stored(ns, id):
            return None
        made, error = self._nearest(ns, id)
        if error is None:
            return made
        if made is None:
            raise error
        raised = CheckpointDamaged(
            f"checkpoint {given(id)} of thread {made.thread_id!r} can't be read; the nearest "
            f"before it that can is {made.id}"
        )
        raised.ancestor = made.id
        raise raised from error

    def _was_stored(self, ns: str, id: str) -> bool:
        """Whether a checkpoint is there, or is damaged or missing."""
        if (ns, id) in self._rows or (ns, id) in self._lost:
            return True
        own = place_of(ns, id) | 1
        return any(each & 0xFFFFFFFF == own for each in self._found.absent)

    def _nearest(self, ns: str, wanted: str) -> tuple[read.Read | None, Exception | None]:
        """A checkpoint or its nearest intact ancestor, and why it is not the checkpoint itself."""
        why: Exception | None = None
        for at in self._candidates(ns, wanted):
            made, error = self.tried(ns, at)
            if made is not None:
                return made, why
            why = why or error
        return None, why

    def _candidates(self, ns: str, wanted: str) -> list[str]:
        """The checkpoint, its ancestors, then whatever came before it, the newest first."""
        found, at = [], wanted
        while at not in found:
            found.append(at)
            row = self._rows.get((ns, at)) or self._lost.get((ns, at))
            if row is None or not isinstance(row.parent, str):
                break
            at = row.parent
        ids = sorted((id for at, id in self._rows if at == ns and id < wanted), reverse=True)
        return [*found, *(id for id in ids if id not in found)]

    def tried(self, ns: str, id: str) -> tuple[read.Read | None, Exception | None]:
        """One checkpoint, or why it can't be read."""
        try:
            return self._exactly(ns, id), None
        except Exception as error:
            # A serde of the user's own may not reach what it needs just now: nothing is lost by it.
            if not self._codec.splits and not isinstance(error, WyrdError):
                raise
            return None, error

    def _exactly(self, ns: str, id: str) -> read.Read:
        found = self.found(ns, id)
        if not found.path:
            raise CheckpointDamaged(f"checkpoint {given(id)} is missing")
        try:
            return read.read_of(self._codec, found, self.again(ns, id))
        except Exception as error:
            if not isinstance(error, CheckpointDamaged) and hasattr(error, "add_note"):
                thread_id = given(self._found.stored.thread_id)
                error.add_note(f"in checkpoint {given(id)} of thread {thread_id!r}")
            raise

    def found(self, ns: str, id: str) -> Found:
        """The sound rows of a checkpoint."""
        made = Found(self.row)
        made.users = user_values.Rows(self._users)
        made.users.on_damage = lambda what: self.note("left_out", ns, id, what)
        row = self._rows.get((ns, id))
        while row is not None and row not in made.path and not made.snapshots:
            made.path.append(row)
            made.snapshots = self._snapshots.get((row.ns, row.id, row.stamp), [])
            row = None if row.built_on is None else self._rows.get((ns, row.built_on))
        writes = self._found.sound[tables.WRITES]
        made.writes = [each for each in writes if (each.ns, each.checkpoint) == (ns, id)]
        return made

    def line(self, ns: str, id: str) -> Found:
        """The same for who follows the parents of checkpoints: a damaged row is known by its id,
        and still names its parent."""
        made = self.found(ns, id)
        if not made.path:
            lost = self._lost.get((ns, id))
            made.path = [] if lost is None else [lost]
            if self._was_stored(ns, id):
                what = "it can't be read: DeltaChannels may lack what was written before it"
                self.note("left_out", ns, id, what)
        return made

    def again(self, ns: str, id: str) -> frozenset[str]:
        """The tasks that run again, as something that they wrote at a checkpoint is lost."""
        writes = self._found.sound[tables.WRITES]
        here = {row.task for row in writes if (row.ns, row.checkpoint) == (ns, id)}
        tasks = set()
        for table, row in self._found.broken:
            if table is not tables.WRITES:
                continue
            if row.task in here or (row.ns, row.checkpoint) == (ns, id):
                tasks.add(row.task)
                what = f"what task {row.task} wrote is damaged"
                self.note("left_out", ns, id, what, str(row.task))
        return frozenset(tasks)
