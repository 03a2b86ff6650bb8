"""Making an older point the head, and new threads from a point of another one.

Nothing is deleted by a rewind, and no value is decoded: the new head is a checkpoint that builds on
the older one and changes nothing. LangGraph's parent of it is the older one's parent: it is a
sibling, so that what the older one's own tasks wrote is not on its path. Their writes are not
carried along either: LangGraph makes the ids of tasks out of the checkpoint's.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from langgraph_wyrd.checkpoints import copy, delete, journal, points, put, working
from langgraph_wyrd.checkpoints import path as paths
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.checkpoints.compare import arrival
from langgraph_wyrd.checkpoints.delete import Light, lock, remembers
from langgraph_wyrd.checkpoints.points import Place, Point
from langgraph_wyrd.checkpoints.restore import checked, metadata_at
from langgraph_wyrd.checkpoints.states import events_at, load_thread, show_again, sound_events
from langgraph_wyrd.checkpoints.working import NamespaceState
from langgraph_wyrd.codec.payload import Delta, pack_delta
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, ThreadNotFound
from langgraph_wyrd.state.events import DECLARED, REWOUND, Event, base, is_pruned, plain
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.pending import with_edits
from langgraph_wyrd.state.status import with_status
from langgraph_wyrd.storage.keys import random_bits
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import fetch, insert, now, replace_row, summed
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, JOURNAL, CheckpointRow

BEFORE_INPUT = -2  # the step that LangGraph has before the first input

_ENDS = "SELECT ns, max(id) FROM wyrd_checkpoints WHERE thread = ? GROUP BY ns"
_BEFORE = "SELECT max(id) FROM wyrd_checkpoints WHERE thread = ? AND ns = ? AND id < ?"
_HEAD = "UPDATE wyrd_threads SET head = ?, updated = ? WHERE key = ?"


@dataclass(frozen=True, slots=True)
class Fresh:
    """What LangGraph knows of new checkpoints: their ids, and what an empty one holds."""

    id: Callable[[], str]
    rest: Mapping[str, Any]  # without id, time, values and versions


class Moved(NamedTuple):
    """A head that was moved: to which checkpoint, and the thread's state before and after.

    States are known where the working state is read at all.
    """

    id: str
    moved: bool = False
    before: WorkingState | None = None
    after: WorkingState | None = None


@dataclass(slots=True)
class Rewinding:
    """Moves the head of a thread."""

    dialect: str
    codec: Codec
    thread_id: str
    fresh: Fresh

    def rewind(self, to: Point) -> Script[Moved | None]:
        """Make a point the head, or (`to` a message's id) what was before the message.

        None: there is no such point.
        """
        thread = yield from lock(self.dialect, self.thread_id)
        if thread is None:
            return None
        points.refuse_lost(thread)
        if thread.head is None:
            return None
        place = yield from points.place_at(thread, to)
        if place is None:
            if not isinstance(to, str):
                return None
            found = yield from self._before(thread, given(to))
            if found is None:
                return None
            place = found[0]
        elif place.id == thread.head and place.until is None:
            return Moved(thread.head)
        return (yield from self._moved(thread, place))

    def put_back(self, was: str | None, until: int) -> Script[Moved | None]:
        """Make the head what it was: at a checkpoint, or (None) before the first one.

        None: it stands there still, and nothing was declared since.
        """
        thread = yield from lock(self.dialect, self.thread_id)
        if thread is None:
            return None
        if thread.head == was:
            yield from self._take_back(thread, until)
            return None
        place = None if was is None else Place(was, until)
        return (yield from self._moved(thread, place, asking=True))

    def _take_back(self, thread: Thread, until: int) -> Script[None]:
        """Say again what the state was, where something was declared since."""
        said = yield Query(
            "SELECT 1 FROM wyrd_journal WHERE thread = ? AND seq > ? AND seq < ? LIMIT 1",
            (thread.key, until, thread.version),
        )
        if not said:
            return
        then = replace(thread, spaces={})
        yield from load_thread(self.dialect, self.codec, then, until=until, values=False)
        space = then.spaces.get("")
        state = WorkingState() if space is None else space.state.seen()
        event = replace(base(state), source={"rule": REWOUND})
        rows = journal.rows_of(
            self.codec, thread.key, thread.version, "", thread.head, None, None, now(),
            [event], {},
        )  # fmt: skip
        yield Command(insert(JOURNAL), rows)
        yield from show_again(self.dialect, self.codec, replace(thread, spaces={}))

    # ---- where to

    def _before(self, thread: Thread, message: str) -> Script[tuple[Place | None] | None]:
        """What was before a message on the head's path; None: it is not there."""
        line = yield from paths.line(thread.key, thread.head)
        found = yield from arrival(self.dialect, self.codec, thread, line, message)
        if found is None:
            return None
        if found.before is not None:
            return (Place(found.before),)
        (row,) = yield from fetch(CHECKPOINTS, thread=thread.key, ns="", id=found.first)
        _, own, _ = events_at(self.codec, row)
        if row.parent is not None or any(map(is_pruned, own)):
            raise ThreadNotFound(
                f"what thread {given(self.thread_id)!r} was before message {message!r} is not "
                "there any more: it was pruned"
            )
        return (None,)

    # ---- the new head

    def _moved(self, thread: Thread, place: Place | None, *, asking: bool = False) -> Script[Moved]:
        """A new head: a copy of a checkpoint of the root, or (None) an empty one.

        Subgraphs that remember from call to call are put back to where they stood then. `asking`:
        what its tasks asked stays listed, until they ask again.
        """
        before = yield from self._state(thread)
        ends = yield Query(_ENDS, (thread.key,))
        newest = max([id for _, id in ends] + ([thread.buried] if thread.buried else []))
        rows = []
        for ns, end in sorted(ends):
            if not remembers(ns):
                continue
            stood = None
            if place is not None:
                ((stood,),) = yield Query(_BEFORE, (thread.key, ns, place.id))
            if stood != end:
                newest = after(newest, self.fresh.id())
                target = None if stood is None else Place(stood)
                rows.append((yield from self._row(thread, ns, target, newest, before)))
        made = after(newest, self.fresh.id())
        rows.append((yield from self._row(thread, "", place, made, before, asking=asking)))
        yield [
            Command(insert(CHECKPOINTS), rows),
            Command(_HEAD, [(made, now(), thread.key)]),
        ]
        then = replace(thread, head=made, spaces={})
        if before is not None:
            yield from self._keep_left(thread, then, before)
            yield from show_again(self.dialect, self.codec, then)
        return Moved(made, True, before, None if before is None else working.visible(then))

    def _keep_left(self, thread: Thread, moved: Thread, before: WorkingState) -> Script[None]:
        """Declare what failed, or has no result, on the branch that is left."""
        assert moved.head is not None
        here = yield from points.thread_at(self.dialect, self.codec, moved, Place(moved.head))
        events = journal.left_behind(before, working.visible(here))
        if events:
            rows = journal.rows_of_left(
                self.codec, thread.key, thread.version, thread.head, now(), events
            )
            yield Command(insert(JOURNAL), rows)

    def _state(self, thread: Thread) -> Script[WorkingState | None]:
        """The thread's state; None if nothing reads it."""
        ((status,),) = yield Query("SELECT status FROM wyrd_threads WHERE key = ?", (thread.key,))
        if status is None:
            return None
        assert thread.head is not None
        then = yield from points.thread_at(self.dialect, self.codec, thread, Place(thread.head))
        return working.visible(then)

    def _row(
        self, thread: Thread, ns: str, place: Place | None, id: str, before: WorkingState | None,
        *, asking: bool = False,
    ) -> Script[CheckpointRow]:  # fmt: skip
        """A checkpoint that holds what another one does, or (`place` None) nothing."""
        codec, row, rest = self.codec, _BLANK, None
        metadata: dict[str, Any] = {"parents": {}}
        event = replace(base(WorkingState()), source={"rule": REWOUND})
        step: int | None = BEFORE_INPUT
        if place is None:
            rest = put.rest_bytes(codec, self.fresh.rest)
        else:
            found, state = yield from points.root_at(
                self.dialect, codec, thread, place, ns, facts=True
            )
            row = checked(found.path[0])  # what is damaged is not to be made to look whole
            metadata = metadata_at(codec, row)
            event = rewound(state, asking)
            step = None if row.step is None else row.step + 1
        metadata = {**metadata, "source": "fork"}
        if step is not None:
            metadata["step"] = step
        text, exact = codec.metadata(metadata)
        # What was not read yet is read out of the copy later.
        made = row._replace(
            thread=thread.key, ns=ns, id=id, stamp=random_bits(63), built_on=row.id or None,
            built_stamp=row.stamp if row.id else None, seq=thread.version, ts=now(), step=step,
            source="fork", metadata=text,
            events=None if before is None and row.id else working.pack_events([event]),
            delta=pack_delta(Delta({}, [], {}, [], {}, [], rest, exact)),
        )  # fmt: skip
        return summed(CHECKPOINTS, made, codec.sealer)


_BLANK = CheckpointRow(
    0, "", "", None, 0, None, None, 0, None, None, None, None, None, None, 0, 0, "", None, b""
)


def rewound(state: NamespaceState, asking: bool = False) -> Event:
    """The state of a checkpoint at its copy: edits are in it, what its tasks said is not.

    `asking`: but what they ask is.
    """
    source = {"rule": REWOUND, "checkpoint_id": state.checkpoint}
    held = edited(state)
    if asking:
        known = {loop.id for loop in held.loops}
        asked = [
            loop
            for loop in state.seen().loops
            if loop.kind == "interrupt" and not loop.resolved and loop.id not in known
        ]
        held = replace(held, loops=(*held.loops, *asked))
    return replace(base(held), source=source)


def edited(state: NamespaceState) -> WorkingState:
    """A namespace's state with what was declared there, without what its tasks said."""
    return with_edits(state.lasting, state.pending)


def after(last: str | None, made: str) -> str:
    """An id that sorts behind another: the one just made, unless clocks differ."""
    if last is None or made > last:
        return made
    try:
        next_one = str(uuid.UUID(int=uuid.UUID(last).int + 1))
    except ValueError:  # not one of LangGraph's
        next_one = ""
    return next_one if next_one > last else last + "+"


# ---- a new thread


def declared(state: WorkingState) -> Event:
    """A state that somebody gave, whatever was before. Status and due are the checkpoint's."""
    held = base(replace(state, due=(), status="idle", reason=None))
    return replace(held, body=plain(held.body), source={"rule": DECLARED})


def state_to_give(
    dialect: str, codec: Codec, thread_id: str, at: Point
) -> Script[tuple[Place, WorkingState] | None]:
    """A point's checkpoint, and the state there, without what its own tasks asked and said."""
    thread = yield from delete.there(dialect, thread_id)
    if thread is None:
        return None
    place = yield from points.place_at(thread, at)
    if place is None:
        return None
    _, state = yield from points.root_at(dialect, codec, thread, place)
    return place, with_status(edited(state), due=state.due)


@dataclass(slots=True)
class Forking:
    """A new thread that has another one's path up to a point."""

    dialect: str
    codec: Codec
    source: str
    target: str
    rows: Callable[..., Script[copy.Carried | None]]  # of the source; see `transfer.rows`
    given_state: Event | None = None  # takes the place of what the events say at the point

    def fork(self, at: Point | Place) -> Script[bool]:
        """Copy the whole thread, and take out what is not on the path; False: no such point."""
        if self.source == self.target:
            raise InvalidInput(f"thread {given(self.source)!r} can't be copied onto itself")
        thread = yield from delete.there(self.dialect, self.source)
        if thread is None:
            return False
        place = at if isinstance(at, Place) else (yield from points.place_at(thread, at))
        if place is None:
            return False
        yield from lock(self.dialect, self.source)
        carried = yield from self.rows(self.dialect, self.source)
        if carried is None or ("", place.id) not in carried.places:
            raise CheckpointDamaged(
                f"checkpoint {given(place.id)} of thread {given(self.source)!r} can't be restored: "
                "fork at another one. `history()` marks those that are damaged"
            )
        yield from copy.copy_thread(self.dialect, self.codec, self.target, carried)
        yield from self._cut(place, whole=place.id == thread.head)
        return True

    def _cut(self, place: Place, *, whole: bool) -> Script[None]:
        """Leave the path to a checkpoint; `whole`: with what its own tasks wrote."""
        thread = yield from lock(self.dialect, self.target)
        assert thread is not None
        every = yield from delete.checkpoints_of(thread)
        path = delete.line_of(every, place.id)
        kept = _kept(every, path, None if whole else place.id)
        gone = {light.place for light in every} - kept
        deletion = delete.Deletion(self.dialect, self.codec, thread, every)
        gone -= yield from deletion.needed(gone)
        yield from self._say(thread, place, path, whole=whole)
        yield from deletion.drop(gone)
        if not gone:
            yield from show_again(self.dialect, self.codec, thread)

    def _say(
        self, thread: Thread, place: Place, path: Collection[str], *, whole: bool
    ) -> Script[None]:
        """What is said at the end of the path, and in the journal."""
        key = thread.key
        if not whole:
            yield Command(
                "DELETE FROM wyrd_writes WHERE thread = ? AND ns = '' AND checkpoint = ?",
                [(key, place.id)],
            )
        rows = yield Query("SELECT seq, said_at FROM wyrd_journal WHERE thread = ?", (key,))
        over = {
            (seq, said_at or "")
            for seq, said_at in rows
            if self.given_state is not None
            or (place.until is not None and seq > place.until)
            or (said_at is not None and said_at not in path)
        }
        if over:
            yield Command(
                "DELETE FROM wyrd_journal WHERE thread = ? AND seq = ? "
                "AND coalesce(said_at, '') = ?",
                [(key, *each) for each in sorted(over)],
            )
        if whole and self.given_state is None:
            return
        found = yield from paths.find(self.dialect, self.target, "", place.id, writes=False)
        row = sound_events(checked(found.path[0]))
        _, own, tasks = events_at(self.codec, row)
        if self.given_state is not None:
            own = (*own, self.given_state)
        made = self.codec.open(CHECKPOINTS, row)._replace(
            events=working.pack_events(own, tasks if whole else ())
        )
        yield replace_row(CHECKPOINTS, summed(CHECKPOINTS, made, self.codec.sealer))
        yield Command(
            "DELETE FROM wyrd_snapshots WHERE thread = ? AND ns = '' AND checkpoint = ?",
            [(key, place.id)],
        )


def _kept(every: Collection[Light], path: Collection[str], end: str | None) -> set[delete.Place]:
    """The path, with the subgraphs that ran on it, but not at its `end`."""
    kept: set[delete.Place] = {("", id) for id in path}
    for each in every:
        if each.ns == "":
            continue
        ran = each.root in path and each.root != end if each.root is not None else True
        if ran and (end is None or each.id < end):
            kept.add(each.place)
    memories = {
        each.ns: each.place
        for each in every
        if remembers(each.ns) and (end is None or each.id < end)
    }
    return kept | set(memories.values())
