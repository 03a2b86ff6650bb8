"""Storing what a task wrote: hot or cold, as checkpoints are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.extraction.view import TaskWrite
from langgraph_wyrd.later import later
from langgraph_wyrd.plans import answers, labels, loading, marks
from langgraph_wyrd.plans.answers import Held
from langgraph_wyrd.plans.catching_up import ColdWeave
from langgraph_wyrd.plans.forks import Change
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.ledger import without_damage
from langgraph_wyrd.plans.threads import lock_or_add, now, refuse_late, run_alone
from langgraph_wyrd.plans.weaving import UNSHOWN, Weaver, event_rows, over, said_by, show, task_view
from langgraph_wyrd.plans.woven import Notes, Weave, Woven
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.store.frames import Entry, Frame
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.refs import ABSENT
from langgraph_wyrd.store.statements import Plan, Row, WriteSet
from langgraph_wyrd.store.users import Owned, UserWriter
from langgraph_wyrd.store.values import Codec

if TYPE_CHECKING:
    from langgraph_wyrd.plans import giving_way
else:
    giving_way = later("plans.giving_way")

WAITS = ("interrupted", "error")


@dataclass(frozen=True, slots=True)
class PutWrites:
    """What a task wrote at a checkpoint: (idx, channel, value) each."""

    codec: Codec
    thread_id: str
    ns: str
    checkpoint: str
    task: str
    path: str
    writes: list[tuple[int, str, Any]]
    weaver: Weaver | None = None
    says: bool = False  # whether it changes the pillars: such writes are stored one by one
    owned: Owned | None = None  # what belongs to a user, by its place in `writes`
    again: bool = False  # whether a load told of damage at its checkpoint

    def hot(self, known: Known) -> tuple[WriteSet, Known] | None:
        if self.again:
            return None
        space = known.spaces.get(self.ns)
        there = space is not None and space.checkpoint == self.checkpoint
        if not there and known.too_old(self.checkpoint):
            return None
        weave = known.weave
        woven = None if weave is None else weave.at(self.ns, self.checkpoint)
        if woven is not None:
            woven.notes.extend(self._notes(None if space is None else space.frame))
        elif weave is not None and weave.is_ahead(self.ns, self.checkpoint):
            # Saves run in the background: a quick task is done before its checkpoint is stored,
            # which then tells what it said.
            weave.expects(self.ns, self.checkpoint, self._notes(None, whole=True))
            if self.says:  # not of one that another process stored meanwhile: the tick tells so
                rows = self._rows(known.number)
                rows.alive, rows.advance = [], [self._advance(known, UNSHOWN)]
                return rows, replace(known, tick=known.tick + 1)
        elif self.says or (weave is None and self.weaver is not None):
            return None
        # Who looks at a thread that waits is shown what is still to run, so an end matters there.
        if weave is None or woven is None or not (self.says or self._shows(weave, woven)):
            return self._rows(known.number), known
        return self._told(known, woven, {} if space is None else space.frame.channels)

    def cold(self, known: Known | None) -> Plan[Known]:
        return without_damage(self._cold(known), self.thread_id, self.codec)

    def _cold(self, known: Known | None) -> Plan[Known]:
        thread = yield from lock_or_add(self.thread_id, [self.checkpoint], known)
        yield from refuse_late(thread, self.thread_id, self.ns, self.checkpoint)
        if self.again and any(idx >= 0 for idx, _, _ in self.writes):
            yield from giving_way.make_room(
                self.codec, thread.number, self.ns, self.checkpoint, self.task
            )
        if self.weaver is None:
            yield from run_alone(self._rows(thread.number))
            return thread
        cold = ColdWeave(self.codec, thread.number, self.thread_id)
        thread, woven, place = yield from cold.at(thread, self.ns, self.checkpoint)
        if thread.weave is not None:
            thread = replace(thread, change=Change(thread.weave.shown))
        if woven is None:  # its checkpoint will find these writes, and tell what they say
            rows = self._rows(thread.number)
            rows.advance = [self._advance(thread, UNSHOWN)]
            yield from run_alone(rows)
            return replace(thread, tick=thread.tick + 1, weave=None)
        if place == "past" and not self.says:
            yield from run_alone(self._rows(thread.number))
            return replace(thread, weave=None)  # nothing says who has read it
        if place == "newest":
            woven = replace(woven, notes=Notes([*woven.notes, *self._notes(None)]))
        held = yield from cold.channels(self.ns, self.checkpoint)
        rows, after = self._told(thread, woven, held, shown=place == "newest")
        yield from run_alone(rows)
        if place == "newest":
            return after
        if place == "past":  # it is history, which the tables show too
            yield from cold.project()
        return replace(after, weave=None)

    def stored(self, before: Known | None, after: Known) -> None:
        """Called after the commit."""

    def _shows(self, weave: Weave, woven: Woven) -> bool:
        """Whether the thread waits, or will once what is on its way is stored."""
        if self.weaver is None:
            return False
        if weave.shown.status in WAITS or woven.notes.has_control:
            return True
        notes = [*weave.early.values(), *(held.notes for held in weave.spaces.values())]
        return any(each.has_control for each in notes)

    def _notes(self, frame: Frame | None, *, whole: bool = False) -> list[TaskWrite]:
        """What the next checkpoint, or (`whole`) their own, has to know of these writes."""
        notes = []
        for _, channel, value in self.writes:
            entry = None if frame is None else frame.channels.get(channel)
            plain = not whole and (
                channel.startswith(("__", "branch:to:")) or (entry is not None and entry.says_all)
            )
            value = None if plain or value is ABSENT else value
            notes.append(TaskWrite(given(self.task), given(self.path), given(channel), value))
        return notes

    def _told(
        self, thread: Known, woven: Woven, held: Mapping[str, Entry], *, shown: bool = True
    ) -> tuple[WriteSet, Known]:
        """The rows, with what they say in the ledger and, of a newest checkpoint, in the tables."""
        assert self.weaver is not None
        versions = {given(name): entry.version for name, entry in held.items()}
        view = task_view(woven, self.ns, versions, self._notes(None, whole=True))
        events: tuple[Event, ...] = ()
        if self.says:  # an end changes nothing but what is still to run
            events = self.weaver.writes(view, woven, self.task, self.thread_id)
        at = Moment(self.checkpoint, self.ns, woven.state.ts, self.task)
        rows = self._rows(thread.number)
        columns, weave = UNSHOWN, thread.weave
        if shown and weave is not None:
            weave = weave.aside(self.ns, over(woven, at, events))
            weave, more, columns = show(self.codec, thread.number, self.thread_id, weave, None)
            rows.rows.update(more)
        rows.rows["put_event"] = event_rows(
            self.codec, thread.number, at, events, len(said_by(woven, self.task))
        )
        rows.alive = []
        rows.advance = [self._advance(thread, columns)]
        return rows, replace(thread, tick=thread.tick + 1, weave=weave)

    @property
    def _writer(self) -> int:
        return 0 if self.weaver is None else self.weaver.writer

    def _advance(self, thread: Known, columns: Row) -> Row:
        return (thread.strands, now(), "", None, *columns, self._writer, thread.number, thread.tick)

    def _rows(self, number: int) -> WriteSet:
        ordinary: list[tuple[Any, ...]] = []
        special: list[tuple[Any, ...]] = []
        last = max((idx for idx, _, _ in self.writes), default=-1)
        count = len({idx for idx, _, _ in self.writes if idx >= 0})
        held, of_users = self._sealed(number)
        control = {idx for idx, _, _ in self.writes if idx < 0}
        if len(control) > 1:
            held = answers.doubled(self.codec, held)
        beside = sum(map(marks.bit, control)) if control else 0
        for idx, channel, shape, data in held:
            total = loading.write_sum(
                self.ns, self.checkpoint, self.task, idx, channel, self.path, shape, data
            )
            if 0 <= idx == last:
                total ^= marks.mark(count, beside)
            elif idx < 0 and (others := beside & ~marks.bit(idx)):
                total ^= marks.mark(beside=others)
            row = (
                number, self.ns, self.checkpoint, self.task, idx, channel, self.path, shape, data,
                total,
            )  # fmt: skip
            (ordinary if idx >= 0 else special).append(row)
        rows = {"put_write": ordinary, "replace_write": special}
        if of_users:
            rows["put_user_write"] = of_users
        if self.weaver is not None and self.weaver.labels is not None:
            channels = [channel for _, channel, _ in self.writes]
            rows["set_label"] = labels.interrupt_rows(
                self.weaver.labels, number, self.ns, self.checkpoint, channels
            )
        return WriteSet(alive=[(number, self._writer)], rows=rows)

    def _sealed(self, number: int) -> tuple[list[Held], list[Row]]:
        """The writes as they are stored, and what of them belongs to a user."""
        held: list[Held] = []
        of_users: list[Row] = []
        users: UserWriter | None = None
        for at, (idx, channel, value) in enumerate(self.writes):
            if self.owned is None or at not in self.owned.values:
                shape, block = self.codec.seal_value(value, given(channel))
                held.append((idx, channel, shape, block))
                continue
            if users is None:
                users = UserWriter(self.codec, self.owned.user, self.thread_id)
            shape, block = users.write(self.owned.values[at], channel, value)
            held.append((idx, channel, shape, block))
            # An ordinary write that is stored already is a retry. A control write is none ever.
            where = (self.ns, self.checkpoint, self.task, idx if idx >= 0 else None)
            of_users += [(number, *row, number, *where) for row in users.rows]
            users.rows.clear()
        return held, of_users
