"""The way to a checkpoint when the plain one met damage.

First the thread is mended: rows that can be restored to the byte are written back. What is read
after that comes from the thread's sound rows in memory, so that a database that can't be written
is read as well. Where a checkpoint can't be restored, its nearest intact ancestor is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from langgraph_wyrd.checkpoints import read, user_values
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.codec.collector import Held
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, WyrdError
from langgraph_wyrd.recovery import rows as stored_rows
from langgraph_wyrd.recovery.heals import Heal
from langgraph_wyrd.recovery.mend import absent, located, remade, without_events
from langgraph_wyrd.recovery.rows import Recovered, flipped_back, recovered
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import unsound
from langgraph_wyrd.storage.scripts import Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    USER_DATA,
    WRITES,
    CheckpointRow,
    Key,
    ThreadRow,
    UserRow,
)

T = TypeVar("T")


def is_of_the_serde(codec: Codec, error: Exception) -> bool:
    """Whether an error is what a serde of the user's own raised for a value of a sound row.

    Perhaps it can't reach what it needs just now: the checkpoint is not lost by that.
    """
    return not codec.splits and not isinstance(error, WyrdError)


class Lenient:
    """Reads threads from their sound rows."""

    def __init__(self, dialect: str, codec: Codec) -> None:
        self._dialect = dialect
        self._codec = codec
        self._threads: dict[str, _Thread | None] = {}
        self.found: dict[str, tuple[Key, list[Heal], list[tuple[str, str]]]] = {}

    def run(self, lenient: Callable[[Lenient], Script[T]]) -> Script[T]:
        """Run a script from the beginning (a lost connection may have it run twice)."""
        self._threads, self.found = {}, {}
        return (yield from lenient(self))

    def _thread(self, thread_id: str) -> Script[_Thread | None]:
        if thread_id not in self._threads:
            place = yield from located(self._dialect, thread_id)
            made = None
            if place is not None:
                stored = yield from stored_rows.read(
                    self._dialect, place.key, thread_id, place.row or place.wrong
                )
                users = yield from user_values.of_thread(place.key)
                made = _Thread(self._codec, recovered(stored), users)
                self.found[thread_id] = (place.key, made.heals, made.drops)
            self._threads[thread_id] = made
        return self._threads[thread_id]

    def get(self, thread_id: str, ns: str, id: str | None) -> Script[read.Read | None]:
        """One checkpoint; instead of the latest, if that is lost, its nearest intact ancestor."""
        thread = yield from self._thread(thread_id)
        if thread is None or thread.row is None or thread.row.deleted_at is not None:
            return None
        with Held():
            return thread.get(ns, id)

    def find(
        self, thread_id: str, ns: str, id: str | None, *, writes: bool = True
    ) -> Script[tuple[Found, Collection[str]]]:
        """What is sound of a checkpoint, and the tasks whose writes are damaged."""
        thread = yield from self._thread(thread_id)
        if thread is None:
            return Found(), ()
        if id is None:
            id = thread.latest(ns)
        if id is None:
            return Found(thread.row), ()
        return thread.found(ns, id), thread.again(ns, id)

    def one(self, thread_id: str, ns: str, id: str) -> Script[read.Read | None]:
        """A checkpoint of a list; None if it can't be read."""
        thread = yield from self._thread(thread_id)
        if thread is None:
            return None
        try:
            with Held():
                return thread.exactly(ns, id)
        except Exception as error:
            if is_of_the_serde(self._codec, error):
                raise
            thread.note("left_out", ns, id, "it can't be read: a list leaves it out")
            return None


class _Thread:
    """The sound rows of one thread."""

    def __init__(self, codec: Codec, found: Recovered, users: Sequence[UserRow]) -> None:
        self._codec = codec
        self._found = found
        self._users = [
            (flipped_back(USER_DATA, row) or row) if unsound(USER_DATA, row) else row
            for row in users
        ]
        self.row: ThreadRow | None = remade(found, found.stored.row)
        self.heals: list[Heal] = []
        self.drops: list[tuple[str, str]] = []
        self._rows = {(row.ns, row.id): row for row in found.checkpoints}
        self._lost: set[tuple[str, str]] = set()
        for table, row in found.broken:
            if table is CHECKPOINTS:
                if unsound(table, row) == ("events_sum",):  # its values are whole
                    self._rows[row.ns, row.id] = without_events(row)
                    self.note("left_out", row.ns, row.id, "what it said is damaged", "events")
                elif isinstance(row.ns, str) and isinstance(row.id, str):
                    self._lost.add((row.ns, row.id))
                else:
                    self.note("left_out", "", "", "a checkpoint is damaged: nothing says which")
        for table, row in found.broken:
            if table is WRITES and (row.ns, row.checkpoint) not in self._rows.keys() | self._lost:
                what = f"what task {row.task} wrote is damaged: nothing says at which checkpoint"
                self.note("left_out", "", "", what, str(row.task))
        if found.missing:
            self.note("left_out", "", "", absent(found))

    def note(self, kind: Any, ns: str, id: str, what: str, channel: str = "") -> None:
        heal = Heal(kind, ns, id, channel, what)
        if heal not in self.heals:
            self.heals.append(heal)

    def latest(self, ns: str) -> str | None:
        """The newest checkpoint that there was, as far as anything still says so."""
        ids = [id for at, id in (*self._rows, *self._lost) if at == ns]
        head = None if self.row is None else self._found.stored.row and self._found.stored.row.head
        if ns == "" and isinstance(head, str) and self._found.missing:
            ids.append(head)
        return max(ids, default=None)

    def get(self, ns: str, id: str | None) -> read.Read | None:
        wanted = self.latest(ns) if id is None else id
        if wanted is None:
            if self._found.missing or self._found.broken:
                self.note("empty", ns, "", "its checkpoints are lost")
            return None
        known = (ns, wanted) in self._rows or (ns, wanted) in self._lost
        if id is not None and not known and not self._found.missing:
            return None
        first: Exception = CheckpointDamaged(f"checkpoint {given(wanted)} can't be read")
        for at in self._candidates(ns, wanted):
            try:
                made = self.exactly(ns, at)
            except Exception as error:
                if is_of_the_serde(self._codec, error):
                    raise
                first = error if at == wanted else first
                continue
            if at == wanted:
                return made
            if id is not None:
                raised = CheckpointDamaged(
                    f"checkpoint {given(wanted)} of thread {made.thread_id!r} can't be read; the "
                    f"nearest before it that can is {made.id}"
                )
                raised.ancestor = made.id
                raise raised from first
            self.note("ancestor", ns, wanted, f"it can't be read: its ancestor {at} was taken")
            return made
        if id is not None:
            raise first
        self.note("empty", ns, wanted, "neither it nor any before it can be read")
        return None

    def _candidates(self, ns: str, wanted: str) -> list[str]:
        """The checkpoint, its ancestors, then whatever came before it, the newest first."""
        found, at = [], wanted
        while at not in found:
            found.append(at)
            row = self._rows.get((ns, at)) or self._broken(ns, at)
            if row is None or not isinstance(row.parent, str):
                break
            at = row.parent
        ids = sorted((id for at, id in self._rows if at == ns and id < wanted), reverse=True)
        return [*found, *(id for id in ids if id not in found)]

    def _broken(self, ns: str, id: str) -> CheckpointRow | None:
        for table, row in self._found.broken:
            if table is CHECKPOINTS and (row.ns, row.id) == (ns, id):
                found: CheckpointRow = row
                return found
        return None

    def exactly(self, ns: str, id: str) -> read.Read:
        """One checkpoint, or an error."""
        found = self.found(ns, id)
        if not found.path:
            raise CheckpointDamaged(f"checkpoint {given(id)} is missing")
        again = self.again(ns, id)
        try:
            return read.read_of(self._codec, found, again)
        except CheckpointDamaged:
            if not found.snapshots:
                raise
        except Exception as error:
            if self.row is not None and hasattr(error, "add_note"):  # Python 3.11
                error.add_note(f"in checkpoint {given(id)} of thread {given(self.row.thread_id)!r}")
            raise
        last = found.path[-1]
        made = read.read_of(self._codec, self.found(ns, id, snapshots=False), again)
        self.drops.append((last.ns, last.id))
        self.note("exact", last.ns, last.id, "its snapshot is damaged: it is made again")
        return made

    def found(self, ns: str, id: str, *, snapshots: bool = True) -> Found:
        """The sound rows of a checkpoint."""
        made = Found(self.row)
        made.users = user_values.Rows(self._users)
        made.users.on_damage = lambda what: self.note("left_out", ns, id, what)
        whole = {
            (row.ns, row.checkpoint, row.stamp)
            for row in self._found.snapshots
            if row.channel == "" and snapshots
        }
        row = self._rows.get((ns, id))
        while row is not None and row not in made.path:
            made.path.append(row)
            if (row.ns, row.id, row.stamp) in whole:
                made.snapshots = [
                    each for each in self._found.snapshots
                    if (each.ns, each.checkpoint, each.stamp) == (row.ns, row.id, row.stamp)
                ]  # fmt: skip
                break
            row = None if row.built_on is None else self._rows.get((ns, row.built_on))
        made.writes = [
            each for each in self._found.writes if (each.ns, each.checkpoint) == (ns, id)
        ]
        return made

    def again(self, ns: str, id: str) -> frozenset[str]:
        """The tasks that run again, as something that they wrote at a checkpoint is lost."""
        tasks = set()
        here = {row.task for row in self._found.writes if (row.ns, row.checkpoint) == (ns, id)}
        for table, row in self._found.broken:
            if table is WRITES and ((row.ns, row.checkpoint) == (ns, id) or row.task in here):
                tasks.add(row.task)
                what = f"what task {row.task} wrote is damaged"
                self.note("left_out", ns, id, what, str(row.task))
        return frozenset(tasks)
