"""Storing what a task wrote: the rows of one `put_writes`, and what they say before the next
checkpoint does: a question, a failure, an answer, a tool's result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langgraph_wyrd.checkpoints import auto_labels, projection, user_values, working
from langgraph_wyrd.checkpoints.advance import advanced, all_known
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.checkpoints.working import NamespaceState, Reader, ThreadState
from langgraph_wyrd.codec.delta import REF
from langgraph_wyrd.codec.payload import packed
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.due import NULL_TASK, RESUME
from langgraph_wyrd.extraction.view import TaskWrite
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.storage import parity
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import insert, now, summed
from langgraph_wyrd.storage.scripts import Step
from langgraph_wyrd.storage.tables import WRITES, WriteRow

PUT_WRITES = insert(WRITES)
_URGENT = frozenset(("__interrupt__", "__error__", RESUME))


@dataclass(slots=True)
class PutWrites:
    """What a task wrote at a checkpoint: (channel, value) each, in the order of the call."""

    thread_id: str
    ns: str
    checkpoint: str
    task: str
    path: str
    writes: list[tuple[str, Any]]
    seq: int = 0
    user: str | None = None
    owned: Mapping[int, Any] = field(default_factory=dict)  # what is the user's, by its place
    users: dict[int, Any] = field(default_factory=dict)  # the same as it is stored
    owner: str | None = None  # stored only if the thread is this user's
    run: Any = None  # as `Put.run`
    claimed: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)  # that of the config: run_id, agent

    @property
    def is_urgent(self) -> bool:
        """Whether somebody may look at once: an interrupt, an error or an answer is in it."""
        return not self.writes or not _URGENT.isdisjoint([channel for channel, _ in self.writes])

    @property
    def answers(self) -> bool:
        """Whether it is what a person answers, as `Command(resume=…)` has it stored."""
        return self.task == NULL_TASK and RESUME in [channel for channel, _ in self.writes]


ALIVE = "SELECT 1 FROM wyrd_threads WHERE key = ? AND thread_id = ? AND deleted_at IS NULL"
NO_WAIT = " AND (status IS NULL OR status NOT IN ('interrupted', 'error'))"
ALIVE_OF_USER = f"{ALIVE} AND (user_id = ? OR (user_id IS NULL AND head IS NULL))"

_last = 0


def next_seq() -> int:
    """Greater than every number given out before: here, or (by the clock) by an earlier process."""
    global _last
    _last = max(_last + 1, time.time_ns())
    return _last


def planned_writes(
    codec: Codec,
    reader: Reader | None,
    me: int,
    thread: Thread,
    writes: PutWrites,
    payload: bytes,
    *,
    locks: bool = False,
    locked: bool = False,
) -> tuple[list[Step], Thread] | None:
    """The rows that store what a task wrote; None where too little is known for that.

    `locks`: its thread's row has to be locked. `locked`: it is, and all writes are known.
    """
    space = thread.spaces.get(writes.ns)
    state: NamespaceState | None = None if space is None else space.state
    says = working.matter(writes.writes)
    events: tuple[Event, ...] = ()
    after, columns, asks = thread, None, list[str]()
    steps: list[Step] = []
    alive, here = ALIVE, False
    if reader is None:
        if says:
            after = _moved_on(me, thread)  # it is to be read by those who read
    elif thread.state is None:
        if says or thread.waits:
            return None
        here = True
    elif state is not None and state.checkpoint == given(writes.checkpoint):
        here = True
        made, task = task_writes(writes), given(writes.task)
        known = all_known(thread, writes.ns, writes.checkpoint, state.writes)
        state.writes.extend(made)
        says = says or bool(state.told(task))  # what it failed with is over, for one
        if says:
            name = given(writes.thread_id)
            versions = {} if space is None else space.versions
            events = working.of_writes(
                reader, state, writes.ns, versions, made, task, name, writes.meta
            )
            asks = auto_labels.of_writes(reader.labels, writes.ns, [w.channel for w in made])
            at = Moment(state.checkpoint, given(writes.ns), state.lasting.ts, task)
            state = state.also(at, events)
        if says or _has_to_show(thread):
            after, columns, steps = _shown_after(codec, me, thread, writes.ns, state)
            if columns is not None and after.state.shown.status in working.WAITS and not locked:
                steps.insert(0, known)
            if asks:
                steps += auto_labels.steps(
                    codec, thread.key, asks, writes.checkpoint, after.version, now()
                )
    elif _is_ahead(thread, state, writes):
        # Saves run in the background: a quick task is done before its checkpoint is stored, which
        # then says what the task said.
        thread.state.expect(writes.ns, writes.checkpoint, task_writes(writes))
        here = thread.state.shown.status not in working.WAITS
        if says:  # others have to notice
            after = _moved_on(me, thread)
    elif says:
        return None
    if after is thread:
        params: tuple[Any, ...] = (thread.key, thread.thread_id)
        if writes.owner is not None:
            alive, params = ALIVE_OF_USER, (*params, writes.owner)
        if here and not locked:
            alive += NO_WAIT  # another saver's task asks or failed: then this has to be shown
        if locks:
            alive += " FOR NO KEY UPDATE"
        steps = [Step(alive, params, must=True)]
    else:
        advance = advanced(me, thread, thread.head, None, columns, unread=reader is None)
        steps = [advance, *steps]
    return steps + write_steps(codec, thread.key, writes, after.version, events, payload), after


def write_steps(
    codec: Codec, key: Any, writes: PutWrites, version: int, events: Sequence[Event], payload: bytes
) -> list[Step]:
    """The rows of what a task wrote; `version` is the thread's once its events are stored."""
    row = WriteRow(
        key, writes.ns, writes.checkpoint, writes.task, writes.seq, writes.path,
        version if events else None, 0, working.pack_events_of(events), payload,
    )  # fmt: skip
    row = summed(WRITES, row, codec.sealer)
    steps = [Step(PUT_WRITES, row)]
    if RESUME in [channel for channel, _ in writes.writes]:
        # A task that lost its writes runs again; an answer that is lost must be given again.
        steps.append(Step(parity.INSERT, parity.alone(WRITES, row)))
    if writes.users:
        held = {writes.user or "": writes.users}
        rows = user_values.rows_of(codec, key, user_values.WRITES, writes.seq, held, now())
        steps += [Step(user_values.PUT_USER, each) for each in rows]
    return steps


def task_writes(writes: PutWrites) -> list[TaskWrite]:
    """What a task wrote, as extractors see it."""
    task, path = given(writes.task), given(writes.path)
    return [TaskWrite(task, path, channel, value) for channel, value in writes.writes]


def _has_to_show(thread: Thread) -> bool:
    """Whether the thread waits, or a task asked or failed: then what is left to run is shown."""
    if thread.state.shown.status in working.WAITS:
        return True
    for space in thread.spaces.values():
        if space.state is not None:
            for write in space.state.writes:
                if write.channel in working.CONTROL:
                    return True
    return False


def _is_ahead(thread: Thread, state: NamespaceState | None, writes: PutWrites) -> bool:
    """Whether a checkpoint is newer than what its namespace stands at."""
    # Of a namespace that is not known: those of a run that is over came before the head.
    newest = thread.head if writes.ns == "" or state is None else state.checkpoint
    return newest is None or writes.checkpoint > newest


def _moved_on(me: int, thread: Thread) -> Thread:
    return Thread(
        thread.key, thread.thread_id, thread.version + 1, me, thread.head, thread.buried,
        dict(thread.spaces), thread.state, False, thread.user, lost=thread.lost,
        read_by=thread.read_by,
    )  # fmt: skip


def _shown_after(
    codec: Codec, me: int, thread: Thread, ns: str, state: NamespaceState
) -> tuple[Thread, tuple[Any, ...] | None, list[Step]]:
    """The thread with a namespace's new state, its columns, and its tables."""
    after = _moved_on(me, thread)
    after.spaces[ns] = replace(thread.spaces[ns], state=state)
    if ns != "" and state.root != thread.head:
        return after, None, []
    top = thread.head or ""
    now_ = working.visible(after)
    steps = projection.changes(
        thread.key, thread.thread_id, thread.state.shown, now_, top, codec.sealer
    )
    after.state = ThreadState(now_, thread.state.early)
    return after, projection.columns(now_, thread.key, codec.sealer), steps


def packed_writes(codec: Codec, wanted: PutWrites) -> bytes:
    """The bytes of a call's writes: (channel, form, data) each."""
    held: list[Any] = []
    for at, (channel, value) in enumerate(wanted.writes):
        if at in wanted.owned:
            wanted.users[at] = [*codec.written(wanted.owned[at], channel)]
            rest = () if value is None else codec.written(value, channel)
            held.append((channel, REF, [wanted.user, *rest]))
        else:
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
    return [advanced(me, thread, None, None, None)], after
