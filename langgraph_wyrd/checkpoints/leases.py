"""A lease on a thread: with `single_writer=True`, only the run that holds it may write.

A run takes it when it reads the thread's head, before any of its nodes runs. Each of its writes
looks, in its own transaction, whether it holds it still, and the write that ends the run lets it
go. Where it was lost (another took over while this process stood still) the run claims it again,
and is refused if somebody else has it.

Times are the database's: holders on several machines need not agree on the time.
"""

from __future__ import annotations

import contextlib
import os
import uuid
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import NamedTuple

from langgraph_wyrd.checkpoints.put import Put, PutWrites
from langgraph_wyrd.checkpoints.working import NamespaceState
from langgraph_wyrd.errors import ConcurrentRun
from langgraph_wyrd.extraction.due import ERROR, ERROR_SOURCE, INTERRUPT, due, finished, place_of
from langgraph_wyrd.extraction.view import TaskWrite, View
from langgraph_wyrd.state.model import Due
from langgraph_wyrd.storage.keys import thread_key
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.process import Process, me
from langgraph_wyrd.storage.scripts import Command, Query, Script, Step
from langgraph_wyrd.storage.tables import Key

EXPIRES = 10.0  # seconds without a sign of life, after which another run may take over

NOW = {
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
    "postgres": "CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
}
_LOOK = (
    "SELECT owner, host, place, pid, born, since, seen, {now} - seen FROM wyrd_leases "
    "WHERE thread = ?"
)
_ADD = (
    "INSERT INTO wyrd_leases (thread, thread_id, owner, host, place, pid, born, since, seen, "
    "wanted) VALUES (?, ?, ?, ?, ?, ?, ?, {now}, {now}, 0) ON CONFLICT (thread) DO NOTHING"
)
_TAKE = (
    "UPDATE wyrd_leases SET owner = ?, host = ?, place = ?, pid = ?, born = ?, since = {now}, "
    "seen = {now}, wanted = 0, ended = NULL, head = NULL WHERE thread = ?"
)
_BEAT = "UPDATE wyrd_leases SET seen = {now} WHERE thread = ? AND owner = ?"
_HOLDS = "SELECT 1 FROM wyrd_leases WHERE thread = ? AND owner = ?"
# Shared with other writes and with signs of life; whoever takes the lease over waits for it.
_HOLDS_LOCKED = f"{_HOLDS} FOR KEY SHARE"
_LEAVE = "DELETE FROM wyrd_leases WHERE thread = ? AND owner = ?"
_WANT = "UPDATE wyrd_leases SET wanted = 1 WHERE thread = ?"
_HEARD = "UPDATE wyrd_leases SET wanted = 0 WHERE thread = ? AND owner = ?"
_WANTED = "SELECT wanted FROM wyrd_leases WHERE thread = ? AND owner = ?"
FREE = "DELETE FROM wyrd_leases WHERE thread = ?"

_here: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()  # by owner


def lease_key(dialect: str, thread_id: str) -> Key:
    """What a lease is found by: a thread may be held before it has a row."""
    key = thread_key(thread_id)
    return key if dialect == "postgres" else int.from_bytes(key[:8], "big") >> 1


@dataclass(slots=True)
class _Said:
    """What a run's tasks wrote at a checkpoint; `stopped`: who asked a person, or failed."""

    stopped: set[str | int]
    notes: list[TaskWrite]

    def note(self, write: PutWrites) -> None:
        place = place_of(given(write.path))
        if place is None:  # a call within a task, an error handler, an input
            return
        names = {given(channel) for channel, _ in write.writes}
        if INTERRUPT in names or (ERROR in names and ERROR_SOURCE not in names):
            self.stopped.add(place)
        self.notes += [TaskWrite(given(write.task), given(write.path), n, None) for n in names]


class Run:
    """A run of a graph on a thread, in this process.

    It has ended when its state says so, or when `token`, which LangGraph makes for each run and
    holds as long as it goes on, is gone. What is noted here is a guess at what the database has:
    each write looks there.
    """

    def __init__(self, dialect: str, thread_id: str, control: object, token: object) -> None:
        self.dialect = dialect
        self.thread_id = thread_id
        self.key = lease_key(dialect, thread_id)
        self.owner = uuid.uuid4().hex
        self.control = control
        self.pid = os.getpid()
        self.held = False
        self.doubted = False  # a write found its lease gone, and nobody has looked since
        self.claims = False  # a claim is on its way
        self.closed = False  # the saver was closed meanwhile
        self.deleted = False  # its thread was
        self.leaving = False  # a write that ends it is on its way
        self.loaded: str | None = None  # the root checkpoint that it goes on from
        self.newest = ""  # the root checkpoint that it stored last, and what is due there
        self._due: tuple[Due, ...] = ()
        self.passed = ""  # the root checkpoint of it that is stored for certain
        self._said: dict[str, _Said] = {}  # by checkpoint: writes may overtake it
        self._token: Callable[[], object] = lambda: token
        self.attend: Callable[[], object] = tuple  # has signs of life left
        _here[self.owner] = self

    def watch(self, gone: Callable[[Run], None]) -> None:
        """Have a function called when the token is gone."""
        here = weakref.ref(self)

        def call(_: object) -> None:
            if (run := here()) is not None:
                gone(run)

        with contextlib.suppress(TypeError):  # then only the state tells when it has ended
            self._token = weakref.ref(self._token(), call)

    @property
    def token(self) -> object | None:
        return self._token()

    @property
    def over(self) -> bool:
        return self._token() is None

    # ---- its writes

    def claim(self, write: Put | PutWrites) -> Script[Holder | None]:
        """Take the lease again for a write, unless it is a straggler: see `claimed`."""
        return claimed(self, lambda: not is_past(write, self.newest))

    def steps(self, write: Put | PutWrites, state: NamespaceState | None) -> list[Step]:
        """What goes with a write: a look whether the lease is held, or letting it go."""
        let_go = not (self.held or self.doubted)
        if is_past(write, self.passed) or (is_past(write, self.newest) and let_go):
            return []
        write.ends = self.leaving = self._ends(write, state)
        holds = _HOLDS_LOCKED if self.dialect == "postgres" else _HOLDS
        return [Step(_LEAVE if write.ends else holds, (self.key, self.owner), must=True)]

    def leave(self, write: Put | PutWrites, state: NamespaceState | None) -> Script[None]:
        """Let the lease go in the transaction of a write that ends the run."""
        for step in self.steps(write, state):
            if write.ends:
                yield Command(step.sql, [step.params])

    def stored(self, write: Put | PutWrites) -> None:
        """A write was stored."""
        if write.ends:
            self.held = False
        if isinstance(write, Put) and not write.ns:
            self.passed = write.id

    def _ends(self, write: Put | PutWrites, state: NamespaceState | None) -> bool:
        """Whether, after a write, nothing is left for it to do: LangGraph would return now."""
        if write.ns:
            return False
        if isinstance(write, Put):
            self.newest, self._due = write.id, _due_of(write)
            self._said = {id: said for id, said in self._said.items() if id >= write.id}
            return not self._due or self._all_answered(write.id, self._due, ())
        said = self._said.setdefault(write.checkpoint, _Said(set(), []))
        said.note(write)
        if write.checkpoint == self.newest:
            return self._all_answered(write.checkpoint, self._due, ())
        if write.checkpoint != self.loaded or self.newest or not said.stopped:
            return False  # its own checkpoint is on its way, or it went on since
        if state is None or state.checkpoint != given(write.checkpoint):
            return True  # if this is too early, the next write claims the thread again
        return self._all_answered(write.checkpoint, state.due, state.writes)

    def _all_answered(self, id: str, due: Sequence[Due], notes: Sequence[TaskWrite]) -> bool:
        """Whether each task has an end, and one of them such that the run stops there."""
        said = self._said.get(id)
        if said is None or not said.stopped:
            return False
        if len(due) == 1:  # a functional graph's entrypoint has another name there
            return True
        done = finished([*notes, *said.notes]) | said.stopped
        return all((each.node if each.index is None else each.index) in done for each in due)


def is_past(write: Put | PutWrites, newest: str) -> bool:
    """Whether a write is a straggler: of a checkpoint that its run went on from, to `newest`.

    It may come after the run has let the thread go.
    """
    return isinstance(write, PutWrites) and not write.ns and write.checkpoint < newest


def _due_of(put: Put) -> tuple[Due, ...]:
    view = View(
        put.id, put.ns, seen=put.seen,
        values={given(name): value for name, value in {**put.owned, **put.values}.items()},
        versions={given(name): version for name, version in put.versions.items()},
    )  # fmt: skip
    return tuple(due(view))


# ---- who holds it


class Holder(NamedTuple):
    """Who has a thread's lease. Times are seconds of the database's clock."""

    owner: str
    process: Process
    since: float
    seen: float
    age: float  # since the last sign of life

    @property
    def is_here(self) -> bool:
        return self.process == me()

    @property
    def gone(self) -> bool:
        """Whether nobody would miss it."""
        if not self.owner:  # a note of how a run ended
            return True
        if self.is_here:
            run = _here.get(self.owner)
            if run is None or run.over:
                return True
        return self.age > EXPIRES or self.process.is_dead()


def claimed(run: Run, takes: Callable[[], bool] = lambda: True) -> Script[Holder | None]:
    """Take a thread's lease for a run; or who has it, if that is somebody alive.

    A straggler `takes` none, as nobody would give it back. Whether it is one is asked after the
    look at the lease: if that is gone because its run has ended, the answer is known by then.
    """
    row = (run.key, run.thread_id, run.owner, *me())
    now = NOW[run.dialect]
    look = Query(
        _LOOK.format(now=now) + (" FOR UPDATE" if run.dialect == "postgres" else ""), (run.key,)
    )
    found = yield look
    take = takes()
    if not found and not take:
        return None
    if not found:
        yield Command(_ADD.format(now=now), [row])
        found = yield look  # another's, if that was quicker
    owner, host, place, pid, born, since, seen, age = found[0]
    holder = Holder(owner, Process(host, place, pid, born), since, seen, age)
    if holder.owner != run.owner and not holder.gone:
        return holder
    if take:
        yield Command(_TAKE.format(now=now), [(*row[2:], run.key)])
    return None


def enter(run: Run) -> Script[Holder | None]:
    """Claim it for a run that begins. Whoever is refused leaves word for the holder."""
    refused = yield from claimed(run)
    if refused is not None:
        yield Command(_WANT, [(run.key,)])
    return refused


def refusal(thread_id: str, holder: Holder) -> ConcurrentRun:
    process = holder.process
    where = "this process" if holder.is_here else "another process"
    since = datetime.fromtimestamp(holder.since, timezone.utc)
    seen = datetime.fromtimestamp(holder.seen, timezone.utc)
    id = given(thread_id)
    return ConcurrentRun(
        f"thread {id!r} is being run already, by {where}: host {process.host}, pid {process.pid}, "
        f"since {since.isoformat(timespec='seconds')}, last sign of life "
        f"{max(0.0, holder.age):.1f} s ago. Nothing of this run was stored. Wait until the other "
        f"has ended, and try again (a process that died is noticed within {EXPIRES:.0f} s); if "
        f"you are sure that it is over, free the thread with saver.thread({id!r}).release().",
        thread_id=id,
        host=process.host,
        pid=process.pid,
        since=since,
        seen=seen,
    )


# ---- keeping and leaving it


def beat(runs: Sequence[Run]) -> Script[tuple[set[str], bool]]:
    """Signs of life. Gives the owners whose lease is gone, and whether somebody waits for one."""
    pairs = sorted((run.key, run.owner) for run in runs)
    answers = yield [Query(_WANTED, pair) for pair in pairs]
    lost = {owner for (_, owner), rows in zip(pairs, answers, strict=True) if not rows}
    wanted = [pair for pair, rows in zip(pairs, answers, strict=True) if rows and rows[0][0]]
    yield Command(_BEAT.format(now=NOW[runs[0].dialect]), pairs)
    if wanted:
        yield Command(_HEARD, wanted)
    return lost, bool(wanted)


def leave(runs: Sequence[Run]) -> Script[None]:
    yield Command(_LEAVE, sorted((run.key, run.owner) for run in runs))


def release(dialect: str, thread_id: str) -> Script[bool]:
    """Free a thread, whoever holds it; whether anybody did."""
    key = lease_key(dialect, thread_id)
    found = yield Query("SELECT 1 FROM wyrd_leases WHERE thread = ? AND owner <> ''", (key,))
    yield Command(FREE, [(key,)])
    return bool(found)
