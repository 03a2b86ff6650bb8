"""The way of a write to the database: what it rests on, the plan, the answer, and another try.

A write is planned on what the cache knows of its thread, or on what is read first. Its transaction
compares that with the thread's row; where another writer was quicker it is planned anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from langgraph_wyrd.checkpoints import delete, past_writes, put, put_writes, working
from langgraph_wyrd.checkpoints.advance import refuse_others
from langgraph_wyrd.checkpoints.cache import Slot, Thread, beginning, new_writer, take_unread
from langgraph_wyrd.checkpoints.changes import Change
from langgraph_wyrd.checkpoints.lookup import (
    Loaded,
    are_stored,
    is_there,
    load,
    thread_of,
    thread_row,
)
from langgraph_wyrd.checkpoints.put import Put
from langgraph_wyrd.checkpoints.put_writes import PutWrites
from langgraph_wyrd.checkpoints.states import load_thread
from langgraph_wyrd.checkpoints.way import Flow, Way
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import DatabaseBusy
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.scripts import Script, Stale, Step, at_once
from langgraph_wyrd.storage.worker import Job

_TRIES = 40  # of what a task wrote
_TURNS = 1000  # pauses of about a millisecond that a question waits for answers before it
_PATIENCE = 4  # tries of a checkpoint before it is read, planned and stored in one transaction


class Writing(Way):
    """Stores checkpoints and task writes of one database."""

    # ---- checkpoints

    def absent(self, thread_id: str) -> None:
        """Remember that a thread has no row: what a run stores first need not look again.

        If somebody begins the thread meanwhile, its row is in the way, and the write is planned
        anew.
        """
        slot = self._cache.slot(thread_id)
        with slot.lock:
            if slot.thread is None:
                thread = thread_of(self._dialect, thread_id, None)
                if self._reader is not None:
                    thread.state = working.ThreadState(working.visible(thread))
                self._cache.keep(thread_id, slot, thread)

    def put(self, make: Callable[..., Job], codec: Codec, wanted: Put) -> Flow:
        """Store a checkpoint."""
        flow = self._put(make, codec, wanted)
        if wanted.ns == "" and wanted.parent is None:
            flow = self._beginning(flow, wanted)
        return flow if wanted.run is None else self._letting_go(make, flow, wanted)

    def _put(self, make: Callable[..., Job], codec: Codec, wanted: Put) -> Flow:
        for attempt in range(_PATIENCE):
            if wanted.run is not None:
                yield from self._claimed(make, wanted)
            slot = self._cache.slot(wanted.thread_id)
            job = self._planned(codec, make, slot, wanted, None)
            if job is None:
                loaded: Loaded = yield from self._load(codec, make, wanted)
                if self._reader is not None and self._reader.has_to_read(loaded.thread):
                    yield from self._read_first(codec, make, wanted.thread_id)
                    continue
                if loaded.stamp == wanted.stamp:
                    return  # the answer to the first try's commit was lost
                if loaded.stamp is not None:
                    refuse_others(loaded.thread, wanted.owner)
                    self._cache.drop(wanted.thread_id)
                    again = partial(past_writes.replaced, self, codec, wanted)
                    yield self._posted(make("write", again))
                    return
                job = self._planned(codec, make, slot, wanted, loaded)
                if job is None:  # what was read is older than what is on its way
                    yield from self._pause(make, attempt + 1)
                    continue
            try:
                return (yield job)
            except Stale:
                self._doubt(wanted)
                self._cache.drop(wanted.thread_id)
            except BaseException:
                self._cache.drop(wanted.thread_id)
                raise
        if wanted.run is not None:
            yield from self._claimed(make, wanted)
        self._cache.drop(wanted.thread_id)
        try:
            return (yield self._posted(make("write", partial(self._at_once, codec, wanted))))
        finally:
            self._cache.drop(wanted.thread_id)

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
                thread = _unless_older(thread, loaded)
            if thread is None or (thread.deleted and wanted.parent is not None):
                return None
            refuse_others(thread, wanted.owner)
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
                steps += wanted.run.steps()
            job = make("store", steps, thread.key)
            before = None if thread.state is None else thread.state.shown
            job.result = Change(before, after, fork)
            self._cache.keep(wanted.thread_id, slot, after)
            self._engine.post(job)
            return job

    def _at_once(self, codec: Codec, wanted: Put) -> Script[Change | None]:
        """Read, plan and store a checkpoint in one transaction: others are too quick otherwise."""
        yield from self._locked(wanted.thread_id)
        loaded = yield from load(self._dialect, codec, wanted, self._reader)
        thread = loaded.thread
        if loaded.stamp == wanted.stamp:
            return None
        delete.refuse(wanted, loaded)
        if loaded.stamp is not None:
            yield from past_writes.replaced(self, codec, wanted)
            return None
        space = loaded.space or replace(beginning(), state=loaded.start)
        before = None if thread.state is None else thread.state.shown
        steps, after = put.planned(
            codec, self._reader, new_writer(), thread, wanted, space, loaded.turn, loaded.fork
        )
        yield at_once(steps)
        return Change(before, after, loaded.fork)

    def _load(self, codec: Codec, make: Callable[..., Job], wanted: Put) -> Flow:
        """Read what a checkpoint builds on."""
        look = partial(load, self._dialect, codec, wanted, self._reader)

        def loaded() -> Flow:
            found: Loaded = yield from self._read(make, wanted.thread_id, look)
            delete.refuse(wanted, found)
            return found

        slot = self._cache.slot(wanted.thread_id)
        return (yield from self._once_begun(make, slot, loaded))

    def _beginning(self, flow: Flow, wanted: Put) -> Flow:
        """Run a flow that stores a thread's first checkpoint: what its run sends with it, and would
        else be taken for something that is late, waits until it is stored."""
        slot = self._cache.slot(wanted.thread_id)
        with slot.lock:
            slot.beginning += 1
        try:
            return (yield from flow)
        finally:
            with slot.lock:
                slot.beginning -= 1

    # ---- task writes

    def put_writes(self, make: Callable[..., Job], codec: Codec, wanted: PutWrites) -> Flow:
        """Store what a task wrote."""
        flow = self._put_writes(make, codec, wanted)
        if wanted.answers:
            flow = self._answering(flow, wanted)
        return flow if wanted.run is None else self._letting_go(make, flow, wanted)

    def _put_writes(self, make: Callable[..., Job], codec: Codec, wanted: PutWrites) -> Flow:
        payload = put_writes.packed_writes(codec, wanted)
        tried: list[int] = []
        for attempt in range(_TRIES):
            if wanted.run is not None:
                yield from self._claimed(make, wanted)
            slot = self._cache.slot(wanted.thread_id)
            if slot.answering and wanted.is_urgent and not wanted.answers:
                yield from self._after_answers(make, slot)
            thread = slot.thread
            if (
                thread is None
                or thread.deleted
                or (thread.buried is not None and wanted.checkpoint <= thread.buried)
            ):
                yield from self._known(make, slot, wanted)
            thread = slot.thread
            if attempt >= _PATIENCE and thread and thread.version and not thread.deleted:
                yield from self._read_if_need_be(make, codec, wanted)
                self._cache.drop(wanted.thread_id)
                try:
                    write = make("write", partial(self._writes_at_once, codec, wanted, payload))
                    stored, change = yield self._posted(write)
                finally:
                    self._cache.drop(wanted.thread_id)
                if stored:
                    return change
                continue  # another one deleted the thread meanwhile
            job, late = self._planned_writes(codec, make, slot, wanted, payload)
            if late:  # it says something about a checkpoint of which too little is known
                yield from self._read_if_need_be(make, codec, wanted)
                yield from self._load_state(make, codec, wanted)
                job, late = self._planned_writes(codec, make, slot, wanted, payload)
                if late:
                    self._cache.drop(wanted.thread_id)
                    older = partial(past_writes.stored, self, codec, wanted, payload)
                    yield self._posted(make("write", older))
                    return None
            if job is None:
                continue
            try:
                return (yield job)
            except Stale:
                self._doubt(wanted)
                self._cache.drop(wanted.thread_id)
                tried.append(wanted.seq)
                look = partial(are_stored, self._dialect, wanted, tried)
                if (yield self._posted(make("read", look))):
                    return  # the answer to an earlier try's commit was lost
                if attempt >= _PATIENCE:
                    yield from self._pause(make, attempt)
            except BaseException:
                self._cache.drop(wanted.thread_id)
                raise
        raise DatabaseBusy(
            f"thread {given(wanted.thread_id)!r} was changed by other writers {_TRIES} times "
            "while a task's writes were being stored: nothing of them was stored. Try again"
        )

    def _writes_at_once(
        self, codec: Codec, wanted: PutWrites, payload: bytes
    ) -> Script[tuple[bool, Change | None]]:
        """As `_at_once`, for what a task wrote; False where the thread is not there."""
        yield from self._locked(wanted.thread_id)
        thread = yield from thread_row(self._dialect, wanted.thread_id)
        if not thread.version or thread.deleted:
            return False, None
        refuse_others(thread, wanted.owner)
        if self._reader is not None:
            if self._reader.has_to_read(thread):
                return False, None
            yield from load_thread(self._dialect, codec, thread, ahead=True)
        before = None if thread.state is None else thread.state.shown
        wanted.seq = put_writes.next_seq()
        planned = put_writes.planned_writes(
            codec, self._reader, new_writer(), thread, wanted, payload, locked=True
        )
        if planned is None:
            yield from past_writes.stored(self, codec, wanted, payload)
            return True, None
        steps, after = planned
        yield at_once(steps)
        return True, None if after is thread else Change(before, after)

    def _answering(self, flow: Flow, wanted: PutWrites) -> Flow:
        """Run a flow that stores an answer: what tasks ask after it waits until it is stored.

        An answer is for what was asked before it. One that another writer made stale is planned
        anew, and would else be taken for the answer to what was asked meanwhile.
        """
        slot = self._cache.slot(wanted.thread_id)
        with slot.lock:
            slot.answering += 1
        try:
            return (yield from flow)
        finally:
            with slot.lock:
                slot.answering -= 1

    def _after_answers(self, make: Callable[..., Job], slot: Slot) -> Flow:
        """Wait until the answers that were given before are stored, though not for ever."""
        for _ in range(_TURNS):
            if not slot.answering:
                return
            yield from self._pause(make, 1)

    def _read_if_need_be(self, make: Callable[..., Job], codec: Codec, wanted: PutWrites) -> Flow:
        """Have the working state read of what was stored by savers that read none, or less."""
        if self._reader is not None:
            look = partial(thread_row, self._dialect, wanted.thread_id)
            row = yield self._posted(make("read", look))
            if self._reader.has_to_read(row):
                yield from self._read_first(codec, make, wanted.thread_id)

    def _load_state(self, make: Callable[..., Job], codec: Codec, wanted: PutWrites) -> Flow:
        """Have the cache know the thread's working state as of its head."""
        yield from self._read(
            make,
            wanted.thread_id,
            lambda strict: past_writes.loaded(self, codec, wanted),
        )

    def _known(self, make: Callable[..., Job], slot: Slot, wanted: PutWrites) -> Flow:
        """Read the thread's row, and refuse what a deleted thread's run sends late."""

        def looked_up() -> Flow:
            row: Thread = yield from self._read(
                make, wanted.thread_id, lambda strict: thread_row(self._dialect, wanted.thread_id)
            )
            if row.buried is not None and wanted.checkpoint <= row.buried:
                there = yield self._posted(
                    make("read", partial(is_there, row.key, wanted.ns, wanted.checkpoint))
                )
                if not there:
                    raise delete.too_late(wanted.thread_id)
            return row

        row = yield from self._once_begun(make, slot, looked_up)
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
    ) -> tuple[Job | None, bool]:
        """Plan a task's writes and hand them over; True where too little is known for that."""
        with slot.lock:
            thread = slot.thread
            if thread is None:
                return None, False
            # Within the lock, and each time anew: of two tasks at once, the order of planning is
            # the order of rows.
            wanted.seq = put_writes.next_seq()
            refuse_others(thread, wanted.owner)
            me, locks = new_writer(), self._dialect == "postgres"
            steps: list[Step] = []
            if not thread.version or thread.deleted:
                steps, thread = put_writes.begin(me, thread, self._reader is not None)
            planned = put_writes.planned_writes(
                codec, self._reader, me, thread, wanted, payload, locks=locks
            )
            if planned is None:
                return None, True
            steps, after = steps + planned[0], planned[1]
            if self._reader is not None and thread.state is None:
                place = (wanted.ns, wanted.checkpoint)
                slot.unread.setdefault(place, []).extend(put_writes.task_writes(wanted))
            if wanted.run is not None:
                steps += wanted.run.steps()
            job = make("store", steps, thread.key)
            if after is not slot.thread:
                before = None if thread.state is None else thread.state.shown
                job.result = Change(before, after)
                self._cache.keep(wanted.thread_id, slot, after)
            self._engine.post(job, urgent=wanted.is_urgent)
            return job, False


def _unless_older(thread: Thread | None, loaded: Loaded) -> Thread | None:
    """The thread as it was read; None if the cache knows that others wrote to it since."""
    if thread is None or thread.version <= loaded.thread.version:
        if thread is not None and thread.state is not None and loaded.thread.state is not None:
            loaded.thread.state.expect_also(thread.state.early)
        return loaded.thread
    return None
