"""The way of a write to the database: what it rests on, the plan, the answer, and another try.

A write is planned on what the cache knows of its thread, or on what is read first. Its transaction
compares that with the thread's row; where another writer was quicker it is planned anew.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

from langgraph_wyrd.checkpoints import (
    boundaries,
    journal,
    late_writes,
    leases,
    path,
    project,
    put,
    read,
    reput,
    states,
    working,
)
from langgraph_wyrd.checkpoints.cache import Cache, Namespace, Slot, Thread, beginning, take_unread
from langgraph_wyrd.checkpoints.changes import Change, Fork, fork_of
from langgraph_wyrd.checkpoints.put import Put, PutWrites, Turn
from langgraph_wyrd.checkpoints.restore import restore
from langgraph_wyrd.checkpoints.working import Reader
from langgraph_wyrd.codec.delta import REF
from langgraph_wyrd.codec.payload import packed
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import (
    CheckpointDamaged,
    DatabaseBusy,
    InvalidInput,
    SaverClosed,
    ThreadDeleted,
)
from langgraph_wyrd.extraction.due import JOIN
from langgraph_wyrd.hooks import Fire, afire, fire
from langgraph_wyrd.storage.engine import Engine, Job
from langgraph_wyrd.storage.keys import found_by, new_key
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.scripts import Command, Query, Script, Stale, Step

_TRIES = 40
_PATIENCE = 4  # tries of a checkpoint before it is read, planned and stored in one transaction

Flow = Generator[Any, Any, Any]


@dataclass(slots=True)
class Loaded:
    """What a write rests on, as it was read."""

    thread: Thread
    space: Namespace | None  # of the checkpoint that it builds on; None: that one is not there
    stamp: int | None  # of the checkpoint itself, where it is stored already
    turn: Turn | None = None  # where it forks from an older checkpoint
    fork: Fork | None = None  # where its parent was gone on from before
    start: Any = None  # the working state that people declared before the first checkpoint


class Writing:
    """Stores checkpoints and task writes of one database."""

    def __init__(self, engine: Engine, cache: Cache, reader: Reader | None = None) -> None:
        self._engine = engine
        self._cache = cache
        self._reader = reader
        # Restores damaged rows of a thread; the second time it gives up those that can't be.
        self.heal: Callable[[Callable[..., Job], str, bool], Flow] | None = None

    @property
    def _dialect(self) -> str:
        return self._engine.driver.dialect

    # ---- the two ways to wait

    def store(self, flow: Callable[[Callable[..., Job]], Flow]) -> Any:
        """Run a flow, waiting for each of its jobs."""
        engine = self._engine
        made = flow(engine.job)
        send: Callable[[Any], Any] = made.send
        value: Any = None
        while True:
            try:
                job = send(value)
            except StopIteration as end:
                return end.value
            finally:
                value = None  # an error has this frame in its traceback: no circle is to be left
            try:
                send = made.send
                if type(job) is Fire:
                    fire(job.hooks, *job.happenings)
                else:
                    value = engine.wait(job)
            except BaseException as error:
                send, value = made.throw, error

    async def astore(self, flow: Callable[[Callable[..., Job]], Flow]) -> Any:
        """Async version of `store`."""
        engine = self._engine
        made = flow(engine.ajob)
        send: Callable[[Any], Any] = made.send
        value: Any = None
        while True:
            try:
                job = send(value)
            except StopIteration as end:
                return end.value
            finally:
                value = None  # an error has this frame in its traceback: no circle is to be left
            try:
                send = made.send
                if type(job) is Fire:
                    await afire(job.hooks, *job.happenings)
                else:
                    value = await engine.await_(job)
            except BaseException as error:
                send, value = made.throw, error

    # ---- checkpoints

    def put(self, codec: Codec, wanted: Put) -> Callable[[Callable[..., Job]], Flow]:
        """The flow that stores a checkpoint."""

        def flow(make: Callable[..., Job]) -> Flow:
            for attempt in range(_TRIES):
                if wanted.run is not None:
                    yield from self._claimed(make, wanted)
                slot = self._cache.slot(wanted.thread_id)
                if attempt >= _PATIENCE:
                    self._cache.drop(wanted.thread_id)
                    try:
                        return (
                            yield self._posted(make("write", lambda: self._at_once(codec, wanted)))
                        )
                    except Stale:  # another one began the thread
                        continue
                    finally:
                        self._cache.drop(wanted.thread_id)
                job = self._planned(codec, make, slot, wanted, None)
                if job is None:
                    loaded: Loaded = yield from self._load(codec, make, wanted)
                    if self._reader is not None and loaded.thread.unread:
                        yield from self._read_first(codec, make, wanted.thread_id)
                        continue
                    if loaded.stamp == wanted.stamp:
                        return  # the answer to the first try's commit was lost
                    if loaded.stamp is not None:
                        put.refuse_others(loaded.thread, wanted.owner)
                        self._cache.drop(wanted.thread_id)
                        yield self._posted(
                            make(
                                "write",
                                lambda: reput.replaced(self._engine, codec, self._reader, wanted),
                            )
                        )
                        return
                    job = self._planned(codec, make, slot, wanted, loaded)
                    if job is None:  # what was read is older than what is on its way
                        yield from self._pause(make, attempt + 1)
                        continue
                try:
                    return self._ended(wanted, (yield job))
                except Stale:
                    self._doubt(wanted)
                    self._cache.drop(wanted.thread_id)
                    if attempt > 3:
                        yield from self._pause(make, attempt)
                except BaseException:
                    self._cache.drop(wanted.thread_id)
                    raise
            raise DatabaseBusy(
                f"thread {given(wanted.thread_id)!r} was changed by other writers {_TRIES} times "
                "while a checkpoint was being stored: nothing of it was stored. Try again"
            )

        return flow if wanted.run is None else self._letting_go(flow, wanted)

    def _planned(
        self,
        codec: Codec,
        make: Callable[..., Job],
        slot: Slot,
        wanted: Put,
        loaded: Loaded | None,
    ) -> Job | None:
        """Plan a checkpoint and hand it over; None where too little is known."""
        with slot.lock:
            thread = slot.thread
            if loaded is not None:
                thread = _merged(thread, loaded, wanted)
            if thread is None or (thread.deleted and wanted.parent is not None):
                return None
            put.refuse_others(thread, wanted.owner)
            if self._reader is not None and thread.state is None:
                return None
            space, turn = thread.spaces.get(wanted.ns), None
            if loaded is not None:
                turn = loaded.turn
            elif (
                wanted.ns == ""
                and thread.head is not None
                and (wanted.parent != thread.head or wanted.id <= thread.head)
            ):
                return None  # a fork, or it sorts before what is there: look first
            if wanted.parent is None:
                if loaded is None and (space is not None or thread.buried is not None):
                    return None  # a second beginning: look first
                space = beginning()
                space.state = None if loaded is None else loaded.start
            elif space is None or space.checkpoint != wanted.parent or not space.known:
                if loaded is None:
                    return None
                space = loaded.space or replace(beginning(), state=loaded.start)
            fork = None if loaded is None else loaded.fork
            if slot.unread:
                take_unread(slot, thread, space, (wanted.ns, wanted.id))
            steps, after = put.planned(
                codec, self._reader, new_writer(), thread, wanted, space, turn, fork
            )
            if wanted.run is not None:
                known = after.spaces.get(wanted.ns)
                steps += wanted.run.steps(wanted, None if known is None else known.state)
            job = make("store", steps, thread.key)
            before = None if thread.state is None else thread.state.shown
            job.result = Change(before, after, fork)
            self._cache.keep(wanted.thread_id, slot, after)
            self._engine.post(job)
            return job

    def _at_once(self, codec: Codec, wanted: Put) -> Script[Change | None]:
        """Read, plan and store a checkpoint in one transaction: others are too quick otherwise."""
        if self._dialect == "postgres":
            by = found_by(self._dialect, wanted.thread_id)
            yield Query("SELECT 1 FROM wyrd_threads WHERE key = ? FOR UPDATE", (by,))
        loaded = yield from load(self._dialect, codec, wanted, self._reader)
        thread = loaded.thread
        if loaded.stamp == wanted.stamp:
            return None
        self._refuse_late(wanted, loaded)
        if loaded.stamp is not None:
            yield from reput.replaced(self._engine, codec, self._reader, wanted)
            return None
        space = loaded.space or replace(beginning(), state=loaded.start)
        before = None if thread.state is None else thread.state.shown
        steps, after = put.planned(
            codec, self._reader, new_writer(), thread, wanted, space, loaded.turn, loaded.fork
        )
        yield [Command(s.sql, [s.params]) for s in steps if s.sql != put.ALL_KNOWN]
        return Change(before, after, loaded.fork)

    def _load(self, codec: Codec, make: Callable[..., Job], wanted: Put) -> Flow:
        """Read what a checkpoint builds on."""
        loaded: Loaded = yield from self._read(
            make,
            wanted.thread_id,
            lambda strict: load(self._dialect, codec, wanted, self._reader, strict=strict),
        )
        self._refuse_late(wanted, loaded)
        return loaded

    @staticmethod
    def _refuse_late(wanted: Put, loaded: Loaded) -> None:
        """Refuse what a deleted thread's run sends late."""
        buried = loaded.thread.buried
        if loaded.space is None and buried is not None and loaded.stamp is None:
            late = [id for id in (wanted.parent, wanted.root) if id is not None]
            if any(id <= buried for id in late):
                raise put.too_late(loaded.thread.thread_id)

    def _read(
        self, make: Callable[..., Job], thread_id: str, script: Callable[[bool], Script[Any]]
    ) -> Flow:
        """Run a script that reads; where it meets damage, heal that and run it again."""
        for attempt in range(3):
            try:
                return (yield self._posted(make("read", lambda n=attempt: script(n < 2))))
            except Exception as error:
                if self.heal is None or attempt == 2 or not read.is_damage(error):
                    raise
            yield from self.heal(make, thread_id, attempt > 0)

    def _posted(self, job: Job) -> Job:
        self._engine.post(job)
        return job

    # ---- single writers

    def _claimed(self, make: Callable[..., Job], wanted: Put | PutWrites) -> Flow:
        """Have the run of a write hold its thread; raises ConcurrentRun if another one does."""
        run = wanted.run
        if run.held or leases.is_past(wanted, run.passed):
            return
        if run.deleted:
            raise put.too_late(wanted.thread_id)
        if run.closed:
            raise SaverClosed("this saver was closed while the run was going on")
        refused = yield self._posted(make("write", lambda: run.claim(wanted)))
        if refused is not None:
            raise leases.refusal(run.thread_id, refused)
        if not leases.is_past(wanted, run.newest):
            run.held = wanted.claimed = True
            run.attend()

    def _letting_go(
        self, flow: Callable[[Callable[..., Job]], Flow], wanted: Put | PutWrites
    ) -> Callable[[Callable[..., Job]], Flow]:
        """A flow that gives back what it claimed, if it fails."""

        def led(make: Callable[..., Job]) -> Flow:
            try:
                return (yield from flow(make))
            except Exception as error:
                wanted.run.deleted |= isinstance(error, ThreadDeleted)
                if wanted.claimed or wanted.run.deleted:
                    wanted.run.held = False
                    yield self._posted(make("write", lambda: leases.leave([wanted.run])))
                raise

        return led

    def _ended(self, wanted: Put | PutWrites, change: Any) -> Any:
        if wanted.run is not None:
            wanted.run.stored(wanted)
        return change

    def _doubt(self, wanted: Put | PutWrites) -> None:
        """A write was stale: perhaps its run does not hold the thread any more."""
        if wanted.run is not None:
            wanted.run.held = False

    def _read_first(self, codec: Codec, make: Callable[..., Job], thread_id: str) -> Flow:
        """Read the working state of what was stored by savers that read none."""
        from langgraph_wyrd.checkpoints.reextract import reextract

        reader, me = self._reader, self._engine.nonce
        assert reader is not None
        yield self._posted(
            make("write", lambda: reextract(self._dialect, codec, reader, me, thread_id))
        )
        self._cache.drop(thread_id)

    def _pause(self, make: Callable[..., Job], attempt: int) -> Flow:
        """Let others finish: a moment in a thread of the engine, never on the caller's loop."""

        def nothing() -> Script[None]:
            import time

            time.sleep(random.random() * 0.002 * attempt)
            return
            yield

        yield self._posted(make("read", nothing))

    # ---- task writes

    def put_writes(self, codec: Codec, wanted: PutWrites) -> Callable[[Callable[..., Job]], Flow]:
        """The flow that stores what a task wrote."""

        def flow(make: Callable[..., Job]) -> Flow:
            payload = packed_writes(codec, wanted)
            for attempt in range(_TRIES):
                if wanted.run is not None:
                    yield from self._claimed(make, wanted)
                slot = self._cache.slot(wanted.thread_id)
                thread = slot.thread
                if (
                    thread is None
                    or thread.deleted
                    or (thread.buried is not None and wanted.checkpoint <= thread.buried)
                ):
                    yield from self._known(make, slot, wanted)
                sure = attempt >= _PATIENCE
                job, late = self._planned_writes(codec, make, slot, wanted, payload, sure)
                if late:  # it says something about a checkpoint of which too little is known
                    row = yield self._posted(
                        make("read", lambda: thread_row(self._dialect, wanted.thread_id))
                    )
                    if row.unread:
                        yield from self._read_first(codec, make, wanted.thread_id)
                    yield from self._read(
                        make, wanted.thread_id, lambda _: late_writes.loaded(self, codec, wanted)
                    )
                    job, late = self._planned_writes(codec, make, slot, wanted, payload, sure)
                    if late:
                        self._cache.drop(wanted.thread_id)
                        yield self._posted(
                            make("write", lambda: late_writes.stored(self, codec, wanted, payload))
                        )
                        return
                if job is None:
                    continue
                try:
                    return self._ended(wanted, (yield job))
                except Stale:
                    self._doubt(wanted)
                    self._cache.drop(wanted.thread_id)
                    if (
                        yield self._posted(make("read", lambda: are_stored(self._dialect, wanted)))
                    ):
                        return  # the answer to the first try's commit was lost
                    if attempt > 3:
                        yield from self._pause(make, attempt)
                except BaseException:
                    self._cache.drop(wanted.thread_id)
                    raise
            raise DatabaseBusy(
                f"thread {given(wanted.thread_id)!r} was changed by other writers {_TRIES} times "
                "while a task's writes were being stored: nothing of them was stored. Try again"
            )

        return flow if wanted.run is None else self._letting_go(flow, wanted)

    def _known(self, make: Callable[..., Job], slot: Slot, wanted: PutWrites) -> Flow:
        """Read the thread's row, and refuse what a deleted thread's run sends late."""
        row: Thread = yield from self._read(
            make, wanted.thread_id, lambda _: thread_row(self._dialect, wanted.thread_id)
        )
        if row.buried is not None and wanted.checkpoint <= row.buried:
            there = yield self._posted(
                make("read", lambda: is_there(row.key, wanted.ns, wanted.checkpoint))
            )
            if not there:
                raise put.too_late(wanted.thread_id)
        with slot.lock:
            if slot.thread is None or slot.thread.deleted:
                self._cache.keep(wanted.thread_id, slot, row)

    def _planned_writes(
        self,
        codec: Codec,
        make: Callable[..., Job],
        slot: Slot,
        wanted: PutWrites,
        payload: bytes,
        sure: bool,
    ) -> tuple[Job | None, bool]:
        """Plan a task's writes and hand them over; True where too little is known for that."""
        with slot.lock:
            thread = slot.thread
            if thread is None:
                return None, False
            # Within the lock: of two tasks at once, the order of planning is the order of rows.
            wanted.seq = wanted.seq or put.next_seq()
            put.refuse_others(thread, wanted.owner)
            me, locks = new_writer(), self._dialect == "postgres"
            if not thread.version or thread.deleted:
                first, thread = begin(me, thread, self._reader is not None)
                found = put.planned_writes(
                    codec, self._reader, me, thread, wanted, payload, locks=locks
                )
                assert found is not None
                steps, after = [*first, *found[0]], found[1]
            else:
                planned = put.planned_writes(
                    codec, self._reader, me, thread, wanted, payload, locks=locks, sure=sure
                )
                if planned is None:
                    return None, True
                steps, after = planned
            if self._reader is not None and thread.state is None:
                place = (wanted.ns, wanted.checkpoint)
                slot.unread.setdefault(place, []).extend(put.task_writes(wanted))
            if wanted.run is not None:
                known = after.spaces.get(wanted.ns)
                steps += wanted.run.steps(wanted, None if known is None else known.state)
            job = make("store", steps, thread.key)
            if after is not slot.thread:
                before = None if thread.state is None else thread.state.shown
                job.result = Change(before, after)
                self._cache.keep(wanted.thread_id, slot, after)
            if _waits(wanted.writes):
                self._engine.post(job)
            else:
                self._engine.linger(job)
            return job, False


def new_writer() -> int:
    """A number that one planned write leaves in the thread's row, and the next one expects there.

    Another one each time: a write that rests on one that failed must not take a third, which went
    before it under the same version, for the one that it rests on.
    """
    return secrets.randbits(62)


_URGENT = frozenset(("__interrupt__", "__error__", "__resume__"))


def _waits(writes: list[tuple[str, Any]]) -> bool:
    """Whether somebody may look at once: an interrupt, an error or an answer is in it."""
    return not writes or any(channel in _URGENT for channel, _ in writes)


def packed_writes(codec: Codec, wanted: PutWrites) -> bytes:
    """The bytes of a call's writes: (channel, form, data) each."""
    held: list[Any] = []
    for at, (channel, value) in enumerate(wanted.writes):
        if at in wanted.owned:
            wanted.users[at] = [*codec.written(wanted.owned[at], channel)]
            rest = () if value is None else codec.written(value, channel)
            held.append((channel, REF, [wanted.user, *rest]))
        else:
            if channel in codec.classes.channels:
                value = codec.marked(value, channel)
            held.append((channel, *codec.written(value, channel)))
    try:
        return packed(held)
    except TypeError as error:
        raise InvalidInput(
            f"what task {given(wanted.task)!r} wrote can't be stored: a channel's name is no plain "
            f"text ({error})"
        ) from error


def begin(me: int, thread: Thread, reads: bool) -> tuple[list[Step], Thread]:
    """The row of a thread whose first task writes before its first checkpoint is stored."""
    after = Thread(
        thread.key, thread.thread_id, thread.version + 1, me, None, thread.buried, {}, None
    )
    if reads:
        after.state = working.ThreadState(working.visible(after))
    return [put.advanced(me, thread, None, None, None)], after


# ---- reading what a write rests on


def thread_of(dialect: str, thread_id: str, row: Any) -> Thread:
    """The thread of a row of wyrd_threads; of one that is to be, where there is none."""
    if row is None:
        return Thread(new_key(dialect, thread_id), thread_id, 0, 0, None, None)
    return Thread(
        row.key, row.thread_id, row.version, row.writer, row.head, row.buried,
        deleted=row.deleted_at is not None, user=row.user_id,
        unread=row.head is not None and row.status is None, waits=row.status in working.WAITS,
    )  # fmt: skip


_THREAD = (
    "SELECT key, version, writer, head, buried, deleted_at, user_id, status "
    "FROM wyrd_threads WHERE "
)


def thread_row(dialect: str, thread_id: str) -> Script[Thread]:
    """A thread as its row says."""
    by = "key" if dialect == "postgres" else "thread_id"
    rows = yield Query(f"{_THREAD}{by} = ?", (found_by(dialect, thread_id),))
    if not rows:
        yield from read.not_stored(dialect, thread_id)
        return thread_of(dialect, thread_id, None)
    key, version, writer, head, buried, deleted_at, user, status = rows[0]
    return Thread(
        key, thread_id, version, writer, head, buried, deleted=deleted_at is not None, user=user,
        unread=head is not None and status is None, waits=status in working.WAITS,
    )  # fmt: skip


def is_there(key: Any, ns: str, id: str) -> Script[bool]:
    """Whether a checkpoint is stored."""
    rows = yield Query(
        "SELECT 1 FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id = ?", (key, ns, id)
    )
    return bool(rows)


def are_stored(dialect: str, writes: PutWrites) -> Script[bool]:
    """Whether this very call's writes are stored."""
    by = found_by(dialect, writes.thread_id)
    column = "key" if dialect == "postgres" else "thread_id"
    rows = yield Query(
        f"SELECT 1 FROM wyrd_writes w JOIN wyrd_threads t ON t.key = w.thread WHERE t.{column} = ? "
        "AND w.ns = ? AND w.checkpoint = ? AND w.task = ? AND w.seq = ?",
        (by, writes.ns, writes.checkpoint, writes.task, writes.seq),
    )
    return bool(rows)


_STAMP = "SELECT stamp FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id = ?"


def load(
    dialect: str, codec: Codec, wanted: Put, reader: Reader | None = None, *, strict: bool = True
) -> Script[Loaded]:
    """What a checkpoint builds on, and whether it is stored already.

    Where it is not `strict`, a checkpoint that can't be read is not built on, and nobody looks for
    what is missing.
    """
    by = found_by(dialect, wanted.thread_id)
    if wanted.parent is None:
        thread = yield from thread_row(dialect, wanted.thread_id)
        found = None
    else:
        found = yield from path.find(dialect, by, wanted.ns, wanted.parent)
        if strict:
            yield from read.expected(dialect, found, wanted.thread_id, wanted.ns, wanted.parent)
        thread = thread_of(dialect, wanted.thread_id, found.thread)
    stamp = None
    if thread.version:
        rows = yield Query(_STAMP, (thread.key, wanted.ns, wanted.id))
        stamp = rows[0][0] if rows else None
    space = None
    if found is not None and found.target is not None:
        renewed = codec.renewed()
        space = namespace(codec, found, strict=strict)
        if codec.renewed() != renewed:
            space = beginning()  # it holds objects of other versions: store them all as today's
        thread.spaces[wanted.ns] = space
    fork = yield from fork_of(thread, wanted)
    if reader is None:
        return Loaded(thread, space, stamp, fork=fork)
    known = {}
    if found is not None and found.path and wanted.parent is not None:
        known[wanted.ns, wanted.parent] = found
        if space is not None:
            _, space.state = yield from states.load_namespace(
                dialect, codec, wanted.thread_id, thread.key, wanted.ns, wanted.parent, found
            )
    at_parent = thread.spaces.pop(wanted.ns, None)
    yield from states.load_thread(dialect, codec, thread, known)
    if wanted.ns == "":  # a subgraph of it may have been stored before it
        yield from states.load_children(dialect, codec, thread, wanted.id, known, ahead=True)
    if at_parent is not None and (
        wanted.ns not in thread.spaces
        or at_parent.checkpoint == thread.spaces[wanted.ns].checkpoint
    ):
        thread.spaces[wanted.ns] = at_parent
    early = yield from states.early_writes(codec, thread.key, wanted.ns, wanted.id)
    if early:
        thread.state.expect(wanted.ns, wanted.id, early)
    turn = None
    head = thread.head
    if wanted.ns == "" and head is not None and wanted.parent != head and wanted.id > head:
        turn = yield from project.turn(dialect, codec, thread, wanted.parent, space)
    start = None
    if wanted.ns == "" and space is None and thread.version:
        rows = yield journal.query(thread.key, "")
        start = states.before_first(wanted.thread_id, journal.entries(codec, rows))
    if reader.labels is not None and reader.labels.every is not None:
        unlabelled = yield from boundaries.counted(reader.labels, thread.key)
        thread.state = replace(thread.state, unlabelled=unlabelled)
    return Loaded(thread, space, stamp, turn, fork, start)


def namespace(codec: Codec, found: path.Found, *, strict: bool = False) -> Namespace:
    """A checkpoint as the saver that stored it knows it."""
    target = found.target
    assert target is not None
    try:
        restored = restore(codec, found)
    except CheckpointDamaged:
        if strict:
            raise
        # What can't be read is not built on: the next checkpoint holds all that it needs.
        return beginning()
    channels = {name: value.fingerprint(name) for name, value in restored.channels.items()}
    return Namespace(
        target.id, target.stamp, channels, restored.versions, restored.seen, restored.rest,
        restored.rows, restored.grown,
        found.path[-1].id if found.path[-1].built_on is not None else None,
        owners={name: user for name, (user, _) in restored.owners.items()},
        joins={
            name: value.get()
            for name, value in restored.channels.items()
            if name.startswith(JOIN) and name not in restored.owners
        },
    )  # fmt: skip


def _merged(thread: Thread | None, loaded: Loaded, wanted: Put) -> Thread | None:
    """What the cache has by now, or what was read; with the namespace that was read."""
    if thread is None or thread.version <= loaded.thread.version:
        if thread is not None and thread.state is not None and loaded.thread.state is not None:
            for place, writes in thread.state.early.items():
                loaded.thread.state.early.setdefault(place, writes)
        return loaded.thread
    return None  # others wrote meanwhile: what was read is old
