"""What a cold write has to know of the pillars, and what it has to set right in the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.extraction.view import TaskWrite
from langgraph_wyrd.plans import loading, states
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.shown import cleared
from langgraph_wyrd.plans.weaving import Weaver, event_rows, show
from langgraph_wyrd.plans.woven import Notes, Weave, Woven
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.store.frames import EMPTY, Entry, Frame
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.refs import said
from langgraph_wyrd.store.statements import Ask, Plan, Tell, WriteSet, merged
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.values import Codec


class Placed(Protocol):
    """A checkpoint that is being put."""

    @property
    def ns(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def parent(self) -> str | None: ...
    @property
    def ts(self) -> str | None: ...
    @property
    def user(self) -> str | None: ...
    @property
    def versions(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class ColdWeave:
    """For one thread, which is locked."""

    codec: Codec
    number: int
    thread_id: str

    def loaded(self, thread: Known) -> Plan[Known]:
        """The thread with its pillars as of its head."""
        return replace(thread, weave=(yield from self._weave(thread)))

    def before(self, thread: Known, put: Placed, frame: Frame) -> Plan[tuple[Known, Woven | None]]:
        """What a put builds on, the tables turned back to it where the thread forks."""
        weave = yield from self._weave(thread)
        before = weave.at(put.ns, put.parent)
        forks = put.ns == "" and weave.top is not None and put.id >= weave.top != put.parent
        start: str | None = None
        if forks and weave.top is not None and put.parent is not None:
            start = yield from states.parting(self.number, "", weave.top, put.parent)
        if start is not None and put.parent is not None:
            before = yield from states.turn(
                self.codec, self.number, self.thread_id, start, put.parent
            )
        if before is None and put.parent is not None:
            before = yield from states.load_woven(
                self.codec, self.number, self.thread_id, put.ns, put.parent
            )
        if before is not None:
            before = yield from self._with_notes(before, put.ns, frame)
        if forks:
            weave = yield from self._turned_back(before, turned=start is not None)
        return replace(thread, weave=weave), before

    def after(self, known: Known, put: Placed, weaver: Weaver) -> Plan[Weave | None]:
        """With what tasks said of the checkpoint before it was there."""
        weave = known.weave
        woven = None if weave is None else weave.at(put.ns, put.id)
        if weave is None:
            return None
        if woven is None:  # its clock was behind: it sorts before what is there
            told_late = yield from self._told_late(put, weaver)
            return None if told_late else weave
        here = (self.number, put.ns, put.id)
        said, rows, below, *early = yield [
            Ask("events", (*here, put.id)),
            Ask("writes", here),
            Ask("children", (self.number, put.id)),
            *states.early(*here),
        ]
        overlay = states.said(self.codec, put.ns, put.id, put.ts, said).overlay
        notes = notes_of(self.codec, put.ns, put.id, rows, EMPTY, whole=True)
        children: dict[str, Woven] = {}
        if put.ns == "":
            children = yield from states.children_at(self.codec, self.number, self.thread_id, below)
        weave.early.pop((put.ns, put.id), None)
        states.awaits(weave, put.ns, early)
        if woven.unread:
            woven = replace(woven, notes=notes)
            weave = weave.aside(put.ns, woven)
        if not overlay and not notes and not children:
            return weave
        woven = replace(woven, overlay=overlay, notes=notes)
        heard = {at.task for at, _ in overlay}
        versions = {given(name): version for name, version in put.versions.items()}
        woven, told = weaver.told(
            woven, put.ns, versions, self.thread_id, [n for n in notes if n.task not in heard]
        )
        for at, events in told:
            if events:
                yield Tell("put_event", event_rows(self.codec, self.number, at, events))
        weave = weave.aside(put.ns, woven)
        for ns, child in children.items():
            weave = weave.aside(ns, child)
        if put.id != weave.top and woven.root != weave.top:
            return weave
        weave, made, columns = show(self.codec, self.number, self.thread_id, weave, put.user)
        yield merged([WriteSet(rows=made)])
        yield Tell("show_thread", [(*columns, self.number)])
        return weave

    def _told_late(self, put: Placed, weaver: Weaver) -> Plan[bool]:
        """What tasks said of a checkpoint before it was there, which is history already."""
        here = (self.number, put.ns, put.id)
        rows = yield Ask("writes", here)
        if not rows:
            return False
        woven = yield from states.load_woven(
            self.codec, self.number, self.thread_id, put.ns, put.id
        )
        if woven is None:
            return False
        heard = {at.task for at, _ in woven.overlay}
        notes = notes_of(self.codec, put.ns, put.id, rows, EMPTY, whole=True)
        versions = {given(name): version for name, version in put.versions.items()}
        _, told = weaver.told(
            woven, put.ns, versions, self.thread_id, [n for n in notes if n.task not in heard]
        )
        for at, events in told:
            yield Tell("put_event", event_rows(self.codec, self.number, at, events))
        if told:
            yield from self.project()
        return bool(told)

    def at(
        self, thread: Known, ns: str, checkpoint: str
    ) -> Plan[tuple[Known, Woven | None, Literal["newest", "past", "early"]]]:
        """A checkpoint that tasks wrote to."""
        weave = yield from self._weave(thread)
        thread = replace(thread, weave=weave)
        if (woven := weave.at(ns, checkpoint)) is not None:
            return thread, woven, "newest"
        found = yield from states.load_woven(
            self.codec, self.number, self.thread_id, ns, checkpoint
        )
        if found is not None:
            return thread, found, "past"
        return thread, None, "early"

    def channels(self, ns: str, checkpoint: str) -> Plan[Mapping[str, Entry]]:
        """The channels of a checkpoint, if it is there and can be read."""
        found = yield Ask("ancestor", (self.number, ns, checkpoint))
        if not found:
            return {}
        place = Place(*found[0][2:6])
        try:
            held = yield from loading.read_frames(self.codec, self.number, [place])
        except CheckpointDamaged:
            return {}
        return held[place].channels

    def project(self) -> Plan[None]:
        """The tables, made anew from the ledger."""
        weave = yield from states.load_weave(self.codec, self.number, self.thread_id)
        yield from states.project(self.codec, self.number, self.thread_id, weave)

    def _with_notes(self, woven: Woven, ns: str, frame: Frame) -> Plan[Woven]:
        """With the values that tasks wrote to channels whose own value is not at hand."""
        if not woven.unread:
            return woven
        rows = yield Ask("writes", (self.number, ns, woven.checkpoint))
        return replace(woven, notes=notes_of(self.codec, ns, woven.checkpoint, rows, frame))

    def _weave(self, thread: Known) -> Plan[Weave]:
        if thread.weave is not None:
            return thread.weave
        if not thread.tick:  # nothing was stored yet
            return Weave(None, {}, WorkingState(thread_id=given(self.thread_id)))
        return (yield from states.load_weave(self.codec, self.number, self.thread_id))

    def _turned_back(self, woven: Woven | None, *, turned: bool) -> Plan[Weave]:
        """The thread as it was at an earlier checkpoint, from which it now forks; `turned`: the
        tables were set right as it was read."""
        start = WorkingState(thread_id=given(self.thread_id))
        if woven is None:
            yield cleared(self.number)
            return Weave(None, {}, start)
        back = Weave(woven.checkpoint, {"": woven}, start)
        back = replace(back, shown=back.visible())
        if not turned:
            yield from states.project(self.codec, self.number, self.thread_id, back)
        return back


def notes_of(
    codec: Codec,
    ns: str,
    checkpoint: str,
    rows: Sequence[Sequence[Any]],
    frame: Frame,
    *,
    whole: bool = False,
) -> Notes:
    """A checkpoint's stored writes, as far as the next checkpoint, or it itself, has to know."""
    notes = Notes()
    for row in rows:
        write = loading.Write(*row)
        entry = frame.channels.get(write.channel)
        value = None
        if whole or not (states.plain(write.channel) or (entry is not None and entry.says_all)):
            with suppress(CheckpointDamaged):  # what can't be read says nothing
                (held,) = loading.open_writes(codec, [loading.checked_write(ns, checkpoint, row)])
                value = said(held)
        notes.append(TaskWrite(given(write.task), given(write.path), given(write.channel), value))
    return notes
