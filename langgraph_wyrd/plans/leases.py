"""A lease on a thread: with `single_writer=True`, only the run that holds it may write.

A run takes it when it reads the thread's head, before any of its nodes runs. Each of its writes
looks, in its own transaction, whether it holds it still, and the write that ends the run lets it
go. Where it was lost (another took over while this process stood still) the write is planned again,
claims it first, and is refused if somebody else has it.

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
from typing import Any, NamedTuple

from langgraph_wyrd.errors import ConcurrentRun
from langgraph_wyrd.extraction.due import ERROR, ERROR_SOURCE, INTERRUPT, due, finished, place_of
from langgraph_wyrd.extraction.view import TaskWrite, View
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.task_writes import PutWrites
from langgraph_wyrd.plans.woven import Weave
from langgraph_wyrd.plans.write import Put
from langgraph_wyrd.state.model import Due
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.process import Process, me
from langgraph_wyrd.store.statements import Ask, Plan, Tell, WriteSet

EXPIRES = 10.0  # seconds without a sign of life, after which another run may take over

_here: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()  # by owner


@dataclass(slots=True)
class _Said:
    """What a run's tasks said at a checkpoint; `stopped`: who asked a person, or failed."""

    stopped: set[str | int]
    notes: list[TaskWrite]

    def note(self, write: PutWrites) -> None:
        place = place_of(given(write.path))
        if place is None:  # a call within a task, an error handler, an input
            return
        names = {given(channel) for _, channel, _ in write.writes}
        if INTERRUPT in names or (ERROR in names and ERROR_SOURCE not in names):
            self.stopped.add(place)
        self.notes += [TaskWrite(given(write.task), given(write.path), n, None) for n in names]


class Run:
    """A run of a graph on a thread, in this process.

    It has ended when its state says so, or when `token`, which LangGraph makes for each run and
    holds as long as it goes on, is gone. What is noted here is no more than a guess at what the
    database has; it changes after commits, and a write never rests on it alone.
    """

    def __init__(self, thread_id: str, control: object, token: object) -> None:
        self.thread_id = thread_id
        self.key = thread_key(thread_id)
        self.owner = uuid.uuid4().hex
        self.control = control
        self.pid = os.getpid()
        self.held = False
        self.leaving = False  # a write that ends it is on its way
        self.forsaken = False  # looked into: nobody is at work in it, whatever holds the token
        self.loaded: str | None = None  # the root checkpoint that it goes on from
        self.newest = ""  # the root checkpoint that it stored last, and what is due there
        self._due: tuple[Due, ...] = ()
        self.passed = ""  # the root checkpoint of it that is stored for certain
        self._said: dict[str, _Said] = {}  # by checkpoint: writes may overtake it
        self._token: Callable[[], object] = lambda: token
        _here[self.owner] = self

    def watch(self, gone: Callable[[Run], None]) -> None:
        """Have it told when the token is gone."""
        me = weakref.ref(self)

        def tell(_: object) -> None:
            if (run := me()) is not None:
                gone(run)

        with contextlib.suppress(TypeError):  # then only the state tells when it has ended
            self._token = weakref.ref(self._token(), tell)

    @property
    def token(self) -> object | None:
        return self._token()

    @property
    def over(self) -> bool:
        return self.forsaken or self._token() is None

    # ---- whether a write ends it

    def ends(self, write: Put | PutWrites, weave: Weave | None) -> bool:
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
        woven = None if weave is None else weave.at("", write.checkpoint)
        if woven is None:  # if this is too early, the next write claims the thread again
            return True
        return self._all_answered(write.checkpoint, woven.due, woven.notes)

    def _all_answered(self, id: str, due: Sequence[Due], notes: Sequence[TaskWrite]) -> bool:
        """Whether each task has an end, and one of them such that the run stops there."""
        said = self._said.get(id)
        if said is None or not said.stopped:
            return False
        if len(due) == 1:  # a functional graph's entrypoint has another name there
            return True
        done = finished([*notes, *said.notes]) | said.stopped
        return all((each.node if each.index is None else each.index) in done for each in due)

    @staticmethod
    def is_past(write: Put | PutWrites, newest: str) -> bool:
        """Whether a write is a straggler: of a checkpoint that this run went on from, to `newest`.

        It may come after the run has let the thread go.
        """
        return isinstance(write, PutWrites) and not write.ns and write.checkpoint < newest


def _due_of(put: Put) -> tuple[Due, ...]:
    view = View(
        put.id, put.ns, seen=put.seen,
        values={given(name): value for name, value in put.values.items()},
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

    @staticmethod
    def of(row: Sequence[Any]) -> Holder:
        owner, host, place, pid, born, since, seen, age = row
        return Holder(owner, Process(host, place, pid, born), since, seen, age)

    @property
    def is_here(self) -> bool:
        return self.process == me()

    @property
    def gone(self) -> bool:
        """Whether nobody would miss it."""
        if self.is_here:
            run = _here.get(self.owner)
            if run is None or run.over:
                return True
        return self.age > EXPIRES or self.process.is_dead()


def claim(run: Run, takes: Callable[[], bool] = lambda: True) -> Plan[Holder | None]:
    """Take a thread's lease for a run; or who has it, if that is somebody alive.

    A straggler `takes` none, as nobody would give it back. Whether it is one is asked after the
    look at the lease: if that is gone because its run has ended, the answer is known by then.
    """
    row = (run.key, run.thread_id, run.owner, *me())
    found = yield Ask("lease", (run.key,))
    take = takes()
    if not found and not take:
        return None
    if not found:
        yield Tell("add_lease", [row])
        found = yield Ask("lease", (run.key,))  # another's, if that was quicker
    holder = Holder.of(found[0])
    if holder.owner != run.owner and not holder.gone:
        return holder
    if take:
        yield Tell("take_lease", [(*row[2:], run.key)])
    return None


def enter(run: Run) -> Plan[Holder | None]:
    """Claim it for a run that begins. Whoever is refused leaves word for the holder."""
    refused = yield from claim(run)
    if refused is not None:
        yield Tell("want_lease", [(run.key,)])
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


class Guarded:
    """A write that is stored only while its run holds the thread."""

    __slots__ = ("_claims", "_ends", "_keep", "_made", "_run", "thread_id")

    def __init__(self, made: Put | PutWrites, run: Run, keep: Callable[[], None]) -> None:
        self.thread_id = made.thread_id
        self._made = made
        self._run = run
        self._keep = keep  # called when it was claimed
        self._claims = self._ends = False

    def hot(self, known: Known, /) -> tuple[WriteSet, Known] | None:
        run = self._run
        if run.is_past(self._made, run.passed):
            return self._made.hot(known)
        if not run.held or (planned := self._made.hot(known)) is None:
            return None
        self._ends = run.leaving = run.ends(self._made, known.weave)
        name = "leave_lease" if self._ends else "holds_lease"
        planned[0].leases.append((run.key, name, run.owner))
        return planned

    def cold(self, known: Known | None, /) -> Plan[Known]:
        run = self._run
        self._claims = self._ends = False
        if run.is_past(self._made, run.passed):
            return (yield from self._made.cold(known))
        if (refused := (yield from claim(run, self._takes))) is not None:
            run.held = False
            raise refusal(run.thread_id, refused)
        after = yield from self._made.cold(known)
        self._claims = self._takes() and not run.held
        self._ends = run.leaving = run.ends(self._made, after.weave)
        if self._ends:
            yield Tell("leave_lease", [(run.key, run.owner)])
        return after

    def _takes(self) -> bool:
        return not self._run.is_past(self._made, self._run.newest)

    def stored(self, before: Known | None, after: Known, /) -> None:
        if self._ends:
            self._run.held = False
        elif self._claims:
            self._run.held = True
            self._keep()
        if isinstance(self._made, Put) and not self._made.ns:
            self._run.passed = self._made.id
        self._made.stored(before, after)


# ---- keeping and leaving it


def beat(runs: Sequence[Run]) -> Plan[tuple[list[str], list[str]]]:
    """Signs of life. Gives the owners whose lease is gone, and those that somebody waits for."""
    pairs = sorted((run.key, run.owner) for run in runs)
    answers = yield [Ask("lease_wanted", pair) for pair in pairs]
    lost = [owner for (_, owner), rows in zip(pairs, answers, strict=True) if not rows]
    heard = [pair for pair, rows in zip(pairs, answers, strict=True) if rows and rows[0][0]]
    yield Tell("beat_lease", pairs)
    if heard:
        yield Tell("hear_lease", heard)
    return lost, [owner for _, owner in heard]


def leave(runs: Sequence[Run]) -> Plan[None]:
    yield Tell("leave_lease", sorted((run.key, run.owner) for run in runs))


def release(thread_id: str) -> Plan[bool]:
    """Free a thread, whoever holds it; whether anybody did."""
    key = thread_key(thread_id)
    found = yield Ask("lease", (key,))
    yield Tell("drop_lease", [(key,)])
    return bool(found)
