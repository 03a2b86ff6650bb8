"""A lease on a thread, and how a run left one on which something is due.

With `single_writer=True` only the run that holds a thread's lease may write. It takes the lease
when it reads the thread's head, before any of its nodes runs. Each of its writes looks, in its own
transaction, whether it holds it still, and it gives it back when it has ended. Where it was lost
(another took over while this process stood still) the run claims it again, and is refused if
somebody else has it. Times are the database's: holders on several machines need not agree on them.

What a lease says of a thread on which something is due: a run goes on there, was killed, or ended
early (`runs` notes that). Without a lease such a thread is "due", and nothing is claimed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import uuid
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.read import in_call
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, ConcurrentRun
from langgraph_wyrd.state.model import Status, shortened
from langgraph_wyrd.state.status import MOST
from langgraph_wyrd.storage.keys import thread_key
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.scripts import Command, Query, Script, Step
from langgraph_wyrd.storage.tables import LEASES, WRITES, Key, LeaseRow, WriteRow

EXPIRES = 10.0  # seconds without a sign of life, after which another run may take over

NOW = {
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
    "postgres": "CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
}
_LOOK = (
    f"SELECT {', '.join(LEASES.names)}, {{now}} - seen FROM wyrd_leases WHERE thread IN ({{marks}})"
)
_ADD = (
    "INSERT INTO wyrd_leases (thread, thread_id, owner, host, place, pid, born, since, seen) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, {now}, {now}) ON CONFLICT (thread) DO NOTHING"
)
_TAKE = (
    "UPDATE wyrd_leases SET owner = ?, host = ?, place = ?, pid = ?, born = ?, since = {now}, "
    "seen = {now}, ended = NULL, head = NULL WHERE thread = ?"
)
_BEAT = "UPDATE wyrd_leases SET seen = {now} WHERE thread = ? AND owner = ?"
_HOLDS = "SELECT 1 FROM wyrd_leases WHERE thread = ? AND owner = ?"
# Shared with other writes and with signs of life; whoever takes the lease over waits for it.
_HOLDS_LOCKED = f"{_HOLDS} FOR KEY SHARE"
_LEAVE = "DELETE FROM wyrd_leases WHERE thread = ? AND owner = ?"

_here: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()  # by owner


def lease_key(dialect: str, thread_id: str) -> Key:
    """What a lease is found by: a thread may be held before it has a row."""
    key = thread_key(thread_id)
    return key if dialect == "postgres" else int.from_bytes(key[:8], "big") >> 1


# ---- processes


class Process(NamedTuple):
    """`place` is where `pid` means something: a machine since its start, and a container in it.
    `born` tells a process from a later one with the same number."""

    host: str
    place: str
    pid: int
    born: str

    def is_dead(self) -> bool:
        """Whether it is known to be gone. Of a process elsewhere nothing is known."""
        here = me()
        if self.place != here.place or sys.platform == "win32":  # there, os.kill would end it
            return False
        if self.pid == here.pid:
            return self.born != here.born
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:  # it is there, and somebody else's
            pass
        now = _born(self.pid)
        return now is not None and now != self.born


def me() -> Process:
    """This process, as others can know it again."""
    return _of(os.getpid())


@lru_cache(1)  # a forked child is another process
def _of(pid: int) -> Process:
    return Process(socket.gethostname(), _place(), pid, _born(pid) or "")


def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"{socket.gethostname()} {uuid.getnode():x}"


def _born(pid: int) -> str | None:
    """When a process started, in the kernel's ticks; None where that can't be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    if fields[0] in "ZX":  # dead, and nobody has asked how it ended
        return "dead"
    return fields[19]


# ---- runs


class Run:
    """A run of a graph on a thread, in this process.

    It has ended when `runs` hears so, or when `token`, which LangGraph makes for each run and
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
        self.ended = False
        self._token: Callable[[], object] = lambda: token
        self.attend: Callable[[], object] = tuple  # has signs of life left
        _here[self.owner] = self

    def watch(self, gone: Callable[[Run], None]) -> None:
        """Have a function called when the token is gone."""
        here = weakref.ref(self)

        def call(_: object) -> None:
            if (run := here()) is not None:
                gone(run)

        with contextlib.suppress(TypeError):  # then only `runs` tells when it has ended
            self._token = weakref.ref(self._token(), call)

    @property
    def token(self) -> object | None:
        return self._token()

    @property
    def over(self) -> bool:
        return self.ended or self._token() is None

    def claim(self) -> Script[Holder | None]:
        """Take the lease again for a write, unless the run has ended: see `claimed`."""
        return claimed(self, lambda: not self.over)

    def steps(self) -> list[Step]:
        """What goes with a write: a look whether the lease is held. What comes after the run has
        given it back needs none, where nobody else has taken it."""
        if not (self.held or self.doubted):
            return []
        holds = _HOLDS_LOCKED if self.dialect == "postgres" else _HOLDS
        return [Step(holds, (self.key, self.owner), must=True)]


# ---- who holds it


class Holder(NamedTuple):
    """Who has a thread's lease. Times are seconds of the database's clock."""

    lease: LeaseRow
    age: float  # since the last sign of life

    @property
    def process(self) -> Process:
        held = self.lease
        return Process(held.host, held.place, held.pid, held.born)

    @property
    def is_here(self) -> bool:
        return self.process == me()

    @property
    def gone(self) -> bool:
        """Whether nobody would miss it."""
        if not self.lease.owner:  # a note of how a run ended
            return True
        if self.is_here:
            run = _here.get(self.lease.owner)
            if run is None or run.over:
                return True
        return self.age > EXPIRES or self.process.is_dead()


def claimed(run: Run, takes: Callable[[], bool] = lambda: True) -> Script[Holder | None]:
    """Take a thread's lease for a run; or who has it, if that is somebody alive.

    A run that has ended `takes` none, as nobody would give it back. Whether it has is asked after
    the look at the lease: if that is gone because its run has ended, the answer is known by then.
    """
    row = (run.key, run.thread_id, run.owner, *me())
    now = NOW[run.dialect]
    locks = " FOR UPDATE" if run.dialect == "postgres" else ""
    look = Query(_LOOK.format(now=now, marks="?") + locks, (run.key,))
    found = yield look
    take = takes()
    if not found and not take:
        return None
    if not found:
        yield Command(_ADD.format(now=now), [row])
        found = yield look  # another's, if that was quicker
    holder = _holder(found[0])
    if holder.lease.owner != run.owner and not holder.gone:
        return holder
    if take:
        yield Command(_TAKE.format(now=now), [(*row[2:], run.key)])
    return None


def _holder(row: Sequence[Any]) -> Holder:
    *lease, age = row
    return Holder(LeaseRow._make(lease), age)


def refusal(thread_id: str, holder: Holder) -> ConcurrentRun:
    process = holder.process
    where = "this process" if holder.is_here else "another process"
    since = datetime.fromtimestamp(holder.lease.since, timezone.utc)
    seen = datetime.fromtimestamp(holder.lease.seen, timezone.utc)
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


def beat(runs: Sequence[Run]) -> Script[set[str]]:
    """Signs of life. Gives the owners whose lease is gone."""
    pairs = sorted((run.key, run.owner) for run in runs)
    answers = yield [Query(_HOLDS, pair) for pair in pairs]
    yield Command(_BEAT.format(now=NOW[runs[0].dialect]), pairs)
    return {owner for (_, owner), rows in zip(pairs, answers, strict=True) if not rows}


def leave(runs: Sequence[Run]) -> Script[None]:
    yield Command(_LEAVE, sorted((run.key, run.owner) for run in runs))


def release(dialect: str, thread_id: str) -> Script[bool]:
    """Free a thread, whoever holds it; whether anybody did."""
    key = lease_key(dialect, thread_id)
    found = yield Query("SELECT 1 FROM wyrd_leases WHERE thread = ? AND owner <> ''", (key,))
    yield Command("DELETE FROM wyrd_leases WHERE thread = ?", [(key,)])
    return bool(found)


# ---- how a run left a thread

_NOTE = (
    "INSERT INTO wyrd_leases (thread, thread_id, owner, host, place, pid, born, since, seen, "
    "ended, head) VALUES (?, ?, '', ?, ?, ?, ?, {now}, {now}, ?, ?) "
    "ON CONFLICT (thread) DO UPDATE SET ended = excluded.ended, head = excluded.head, "
    "seen = excluded.seen WHERE wyrd_leases.owner = ''"
)
_SAID: Mapping[str, tuple[Status, str]] = {
    "cancelled": ("cancelled", "cancelled"),
    "out_of_steps": ("out_of_steps", "out of steps (recursion_limit)"),
    "paused": ("paused", "waits at a breakpoint"),
    "error": ("error", "the run failed"),
}


LEFT: tuple[Status, ...] = ("running", "killed", "cancelled", "out_of_steps", "paused")


class Left(NamedTuple):
    """A thread's status and reason, as its lease has them."""

    status: Status
    said: str
    head: str | None  # the checkpoint that this holds for; None: for any
    ended_at: str | None = None


def noted(dialect: str, thread_id: str, how: str) -> Script[None]:
    """Note how a run ended that left something due, unless another one goes on there."""
    thread = yield from thread_row(dialect, thread_id)
    if thread.head is not None and not thread.deleted:
        row = (lease_key(dialect, thread_id), thread_id, *me(), how, thread.head)
        yield Command(_NOTE.format(now=NOW[dialect]), [row])


def left(dialect: str, thread_ids: Iterable[str]) -> Script[dict[str, Left]]:
    """What leases say of threads (ids in stored form) on which something is due."""
    keys = [lease_key(dialect, id) for id in thread_ids]
    if not keys:
        return {}
    # A few lengths only: a query text for each is prepared and kept.
    keys += [keys[-1]] * ((1 << (len(keys) - 1).bit_length()) - len(keys))
    marks = ", ".join("?" * len(keys))
    rows = yield Query(_LOOK.format(now=NOW[dialect], marks=marks), tuple(keys))
    holders = map(_holder, rows)
    return {each.lease.thread_id: found for each in holders if (found := _left(each)) is not None}


def _left(holder: Holder) -> Left | None:
    lease = holder.lease
    if lease.ended is not None:
        found = _SAID.get(lease.ended)
        at = datetime.fromtimestamp(lease.seen, timezone.utc).isoformat()
        return None if found is None else Left(*found, lease.head, at)
    who = f"process {lease.pid} on {lease.host}"
    if holder.gone:
        return Left("killed", f"{who} is gone, last sign of life at {_time(lease.seen)}", None)
    return Left("running", f"runs since {_time(lease.since)}, in {who}", None)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def changes(found: Left | None, head: str | None, reason: str | None) -> dict[str, Any]:
    """What to put in the place of "due" and its reason."""
    if found is None or (found.head is not None and found.head != head):
        return {}
    said = f"{found.said}; {reason}" if reason else found.said
    return {"status": found.status, "reason": shortened(said, MOST)}


# ---- tool calls that were begun

_MOST_BEGUN = 20
_AHEAD = (
    f"SELECT {', '.join('w.' + name for name in WRITES.names)} FROM wyrd_writes w "
    "WHERE w.thread = ? AND w.task LIKE 'started/%' AND NOT EXISTS (SELECT 1 FROM "
    "wyrd_checkpoints c WHERE c.thread = w.thread AND c.ns = w.ns AND c.id = w.checkpoint) "
    f"ORDER BY w.seq DESC LIMIT {_MOST_BEGUN}"
)


def begun_ahead(dialect: str, codec: Codec, thread_id: str) -> Script[list[str]]:
    """Tool calls that were noted as begun at a checkpoint that is not stored, the newest first.

    `WyrdMiddleware` waits for a tool's checkpoint before it notes that the tool begins. Where a
    note has none all the same (its save failed, or its row is gone), nothing else tells of it.
    """
    thread = yield from thread_row(dialect, thread_id)
    said = []
    for row in map(WriteRow._make, (yield Query(_AHEAD, (thread.key,)))):
        try:
            notes = [codec.load_written(each.form, each.data) for each in in_call(codec, row)]
        except CheckpointDamaged:
            continue
        said += [
            f"{note['name']} (call {note.get('call')}) was begun at {note.get('at')}, and its "
            "checkpoint is not stored: verify before redoing"
            for note in notes
            if isinstance(note, Mapping) and "name" in note
        ]
    return said
