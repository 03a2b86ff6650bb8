"""Storing a checkpoint.

It has two ways to the database and one way to its rows. *Hot*: what it rests on is known, so the
rows are made at once and merged with other writes. *Cold*: it is read first, in the same
transaction as the write, with the thread locked.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.extraction.due import JOIN
from langgraph_wyrd.extraction.view import TaskWrite, View
from langgraph_wyrd.plans import labels, loading
from langgraph_wyrd.plans.catching_up import ColdWeave
from langgraph_wyrd.plans.forks import Change, Fork, fork_of
from langgraph_wyrd.plans.known import NOTHING, FrameTip, Known, Space
from langgraph_wyrd.plans.ledger import without_damage
from langgraph_wyrd.plans.shown import due_json
from langgraph_wyrd.plans.threads import lock_or_add, now, refuse_late, run_alone
from langgraph_wyrd.plans.weaving import UNSHOWN, Weaver, event_rows, put_view, show
from langgraph_wyrd.plans.woven import Weave, Woven
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.store import frames
from langgraph_wyrd.store.frames import EMPTY, Entry, Frame
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.refs import ABSENT, REF
from langgraph_wyrd.store.statements import Ask, Plan, WriteSet
from langgraph_wyrd.store.strands import Place, Row, splice
from langgraph_wyrd.store.tips import Tip, Writer
from langgraph_wyrd.store.users import Owned, UserWriter, refuse_unowned
from langgraph_wyrd.store.values import Codec, kind

logger = logging.getLogger("langgraph_wyrd")

FRAME_SLACK = 2048  # bytes that a strand of frames may grow to whatever a whole frame costs


@dataclass(frozen=True, slots=True)
class Put:
    """One checkpoint. Ids are in stored form; `values` are what the channels hold."""

    codec: Codec
    thread_id: str
    ns: str
    id: str
    parent: str | None
    ts: str | None
    step: int | None
    source: str | None
    run_id: str | None
    meta: Mapping[str, Any]  # metadata; the next two are how it is stored
    metadata: str
    exact: bytes | None
    root: str | None  # the root checkpoint that a subgraph's run belongs to
    user: str | None
    values: Mapping[str, Any]
    versions: Mapping[str, Any]
    new_versions: Mapping[str, Any]
    seen: Mapping[str, Mapping[str, Any]]
    rest: Mapping[str, Any]
    weaver: Weaver | None = None  # None: the pillars are off
    addressed: bool = False  # the run was told to go on from just this parent
    owned: Owned | None = None  # what belongs to the user, and is not in `values`

    def hot(self, known: Known) -> tuple[WriteSet, Known] | None:
        """The rows, and what is known once they are stored; None if too little is known."""
        space = NOTHING if self.parent is None else known.spaces.get(self.ns)
        if space is None or space.checkpoint != self.parent or self._lacking(space):
            return None
        if self.parent is None and (known.too_old(self.root) or self._is_second(known)):
            return None
        if self.weaver is not None and not self._continues(self.weaver, known.weave):
            return None
        return self._rows(known, space)

    def _continues(self, weaver: Weaver, weave: Weave | None) -> bool:
        """Whether all that its pillars rest on is known: it goes on where its namespace stands."""
        if weave is None or labels.must_count(weaver.labels, self.ns, weave):
            return False
        return weave.knows(self.ns, self.parent, self.id)

    def cold(self, known: Known | None) -> Plan[Known]:
        """Read what the checkpoint builds on, and store it."""
        return without_damage(self._cold(known), self.thread_id, self.codec)

    def _cold(self, known: Known | None) -> Plan[Known]:
        thread = yield from lock_or_add(self.thread_id, self._late(), known)
        space = thread.spaces.get(self.ns)
        if self.parent is None or space is None or not (yield from self._goes_on(thread, space)):
            space = yield from self._space(thread, space)
        elif lacking := self._lacking(space):
            newest = yield self._newest(thread, lacking)
            space = yield from self._looked_at(thread, space, lacking, newest)
        may_fork = self.ns == "" and bool(thread.tick)
        fork: Fork | None = None
        if self.weaver is None:
            if may_fork:
                fork = yield from fork_of(thread.number, self)
            rows, after = self._rows(thread, space)
            yield from run_alone(rows)
            return replace(after, change=Change(fork=fork))
        cold = ColdWeave(self.codec, thread.number, self.thread_id)
        thread = yield from cold.loaded(thread)
        assert thread.weave is not None
        if may_fork and thread.weave.top != self.parent:
            fork = yield from fork_of(thread.number, self)
        change = Change(thread.weave.shown, fork)
        thread, before = yield from cold.before(thread, self, space.frame)
        policy, weave = self.weaver.labels, thread.weave
        if policy is not None and weave is not None and labels.must_count(policy, self.ns, weave):
            weave = yield from labels.counted(policy, thread.number, weave)
            thread = replace(thread, weave=weave)
        rows, after = self._rows(thread, space, before, fork)
        # What an earlier put of the same checkpoint said.
        rows.rows["drop_events"] = [(thread.number, self.ns, self.id, "")] if thread.tick else []
        yield from run_alone(rows)
        weave = yield from cold.after(after, self, self.weaver)
        return replace(after, weave=weave, change=change)

    def stored(self, before: Known | None, after: Known) -> None:
        """Called after the commit; `before` is None if it was stored cold."""
        fork = None if after.change is None else after.change.fork
        if fork is not None and not fork.deliberate:
            logger.warning(
                "thread %r forked: another run went on from %s as well, to %s; %s now stands "
                "beside it, and is the head if it is newer. Nothing is lost. "
                "single_writer=True refuses the second run.",
                given(self.thread_id), fork.parent or "its beginning", fork.left, self.id,
            )  # fmt: skip

    def _is_second(self, known: Known) -> bool:
        """Whether it begins a thread that has begun already."""
        return self.ns == "" and "" in known.spaces

    def _late(self) -> list[str]:
        """Ids that must be newer than a deleted thread's head, if that is what is found."""
        return [id for id in (self.parent, self.root) if id is not None]

    # ---- what it builds on

    def _lacking(self, space: Space) -> dict[str, Entry]:
        """What it changes whose elements are not known: all of them would seem new."""
        held, tips = space.frame.channels, space.tips
        return {
            name: entry
            for name in self.values
            if (entry := held.get(name)) is not None
            and entry.place is not None
            and name not in tips
            and kind(entry.shape) != "w"
            and self._changes(name, entry)
        }

    def _goes_on(self, thread: Known, space: Space) -> Plan[bool]:
        """Whether what is known of the parent can be continued: its strands end with it."""
        if space.checkpoint != self.parent:
            return False
        ends = {tip.place.strand: tip.place.seq for tip in space.tips.values() if not tip.ended}
        if space.frame_tip is not None:
            ends[space.frame_tip.strand] = space.frame_tip.seq
        answers = yield [
            Ask("newest_seq" if strand > 0 else "newest_user_seq", (thread.number, strand))
            for strand in ends
        ]
        return all(rows[0][0] == seq for rows, seq in zip(answers, ends.values(), strict=True))

    def _space(self, thread: Known, known: Space | None) -> Plan[Space]:
        """The parent's frame, and the strands that can be continued from it."""
        if self.parent is None:
            yield from refuse_late(thread, self.thread_id, "", self.root)
            return NOTHING
        found = yield Ask("ancestor", (thread.number, self.ns, self.parent))
        if not found:
            yield from refuse_late(thread, self.thread_id, self.ns, self.parent)
            return NOTHING
        place = Place(*found[0][2:6])
        try:
            held, ends = yield from loading.frames_and_tips(self.codec, thread.number, [place])
        except CheckpointDamaged as error:
            self._leaves(error)
            return Space(self.parent, EMPTY, None, {})
        # Where nobody else writes, those who go back go on from there: all is read at once.
        back = known is not None and known.checkpoint != self.parent
        grown = {
            name: entry
            for name, entry in held[place].channels.items()
            if entry.place is not None
            and kind(entry.shape) != "w"
            and (back or self._changes(name, entry))
            and name in self.values
        }
        asked = [Ask("newest_seq", (thread.number, place.strand))]
        here, *newest = yield asked + self._newest(thread, grown)
        tip = ends[place] if here[0][0] == place.seq else None
        space = Space(self.parent, held[place], tip, {})
        return (yield from self._looked_at(thread, space, grown, newest)) if grown else space

    def _newest(self, thread: Known, grown: Mapping[str, Entry]) -> list[Ask]:
        places = [entry.place for entry in grown.values() if entry.place]
        return [Ask("newest_seq", (thread.number, place.strand)) for place in places]

    def _looked_at(
        self,
        thread: Known,
        space: Space,
        grown: Mapping[str, Entry],
        newest: Sequence[Any],
    ) -> Plan[Space]:
        """With the elements of some channels, whose strands end as `newest` says."""
        shown = Frame(dict(grown), {}, {})
        try:
            values, loaded = yield from loading.read_values(self.codec, thread.number, [shown])
        except CheckpointDamaged as error:
            self._leaves(error)
            channels = space.frame.channels
            kept = {name: entry for name, entry in channels.items() if name not in grown}
            return Space(self.parent, replace(space.frame, channels=kept), None, {})
        tips = dict(space.tips)
        for (name, entry), rows in zip(grown.items(), newest, strict=True):
            assert entry.place is not None
            strand = loaded[entry.place.strand]
            tip = loading.tip_of(self.codec, entry, strand, values[entry.place])
            tip.ended = entry.place.seq != rows[0][0]
            tips[name] = tip
        return replace(space, tips=tips)

    def _leaves(self, error: CheckpointDamaged) -> None:
        """What can't be read is not built on: the checkpoint holds all that it needs anew."""
        logger.warning(
            "checkpoint %s of thread %r starts new strands: its parent is damaged (%s)",
            given(self.id), given(self.thread_id), error,
        )  # fmt: skip

    def _changes(self, name: str, entry: Entry) -> bool:
        return name in self.new_versions or self.versions.get(name) != entry.version

    # ---- the rows

    def _rows(
        self,
        thread: Known,
        space: Space,
        before: Woven | None = None,
        fork: Fork | None = None,
    ) -> tuple[WriteSet, Known]:
        strands = thread.strands

        def next_strand() -> int:
            nonlocal strands
            strands += 1
            return strands

        writer = Writer(self.codec, next_strand)
        users = None
        if self.owned is not None:
            users = UserWriter(self.codec, self.owned.user, self.thread_id)
        frame, tips = self._frame(space, writer, users)
        frame_tip, row = self._frame_row(space, frame, next_strand)
        place = Place(frame_tip.strand, frame_tip.seq, frame.length, frame_tip.chain)
        number, writer_id = thread.number, 0 if self.weaver is None else self.weaver.writer
        shown, due, weave, said = UNSHOWN, None, thread.weave, 0
        if self.user is not None and (self.weaver is None or not thread.tick):
            shown = (*UNSHOWN[:4], self.user, *UNSHOWN[5:])  # whose it is does not need the pillars
        more: dict[str, list[Any]] = {}
        if self.weaver is not None and weave is not None:
            if before is None:
                before = weave.at(self.ns, self.parent)
            view = self._view(space, frame, writer, () if before is None else before.notes)
            early = weave.awaited(self.ns, self.parent, self.id)
            woven, events = self.weaver.put(view, before, self.root, self.thread_id, early)
            woven, told = self.weaver.told(
                woven, self.ns, view.versions, self.thread_id, early.copy()
            )
            if fork is not None:  # first: a base is always the last
                events = (fork.event(), *events)
            at = Moment(self.id, self.ns, self.ts)
            due = due_json(woven.due) if woven.due else None
            if self._is_shown(weave):
                weave = weave.moved(self.ns, woven)
                weave, more, shown = show(self.codec, number, self.thread_id, weave, self.user)
                policy, top = self.weaver.labels, weave.top
                if policy is not None and top is not None:
                    names, weave = labels.boundaries(
                        policy, self.ns, self.source, before, woven, weave
                    )
                    if names:
                        more["set_label"] = labels.automatic_rows(number, top, names)
            else:
                weave = weave.aside(self.ns, woven)
            said = len(events)
            more["put_event"] = [
                row
                for when, each in ((at, events), *told)
                for row in event_rows(self.codec, number, when, each)
            ]
        total = loading.row_sum(
            number, self.ns, self.id, self.parent, self.ts, self.metadata, self.exact, place
        )
        total = loading.with_derived(total, due, self.root, said)
        rows = WriteSet(
            advance=[(strands, now(), self.id, self.id, *shown, writer_id, number, thread.tick)],
            rows={
                "put_splice": [(number, *each) for each in (*writer.rows, row)],
                "put_checkpoint": [
                    (
                        number, self.ns, self.id, self.parent, self.ts, self.step, self.source,
                        self.run_id, self.metadata, self.exact, *place, total, due, self.root,
                    )
                ],
                **more,
            },
        )  # fmt: skip
        if users is not None:
            rows.rows["put_user_splice"] = [(number, *each) for each in users.rows]
        spaces = {name: held for name, held in thread.spaces.items() if name != self.ns}
        spaces[self.ns] = Space(self.id, frame, frame_tip, tips)  # the newest last
        return rows, Known(number, thread.tick + 1, strands, thread.buried, spaces, weave)

    def _is_shown(self, weave: Weave) -> bool:
        """Whether the thread's tables are to show it: a new head, or a subgraph of the head's."""
        if self.ns == "":
            return weave.top is None or self.id >= weave.top
        return self.root is not None and self.root == weave.top

    def _view(self, space: Space, frame: Frame, writer: Writer, notes: Sequence[TaskWrite]) -> View:
        held = space.frame.channels
        # In the frame's order, which is how they come back: items are numbered as they are met.
        values = {given(n): self.values[n] for n in frame.channels if n in self.values}
        for name, entry in frame.channels.items():
            # A join's value is the graph's own set: tasks that have run since are in it already.
            if name.startswith(JOIN) and entry.inline is not None and entry.shape != REF:
                values[given(name)] = self.codec.open_value(entry.shape, entry.inline)
        return put_view(
            id=self.id,
            ns=self.ns,
            parent=self.parent,
            ts=self.ts,
            source=self.source,
            step=self.step,
            metadata=self.meta,
            values=values,
            versions={given(name): version for name, version in self.versions.items()},
            seen=self.seen,
            before=held,
            channels=frame.channels,
            fresh={
                # Only what a strand of the parent's holds is known again, hot or cold.
                name: places if _has_place(held.get(name)) else range(len(values[name]))
                for name, places in writer.fresh.items()
                if name in values
            },
            notes=notes,
            sealed=self.codec.sealed,
        )

    def _frame(
        self, space: Space, writer: Writer, users: UserWriter | None
    ) -> tuple[Frame, dict[str, Tip]]:
        """The checkpoint's frame. Changed values go to strands, the others keep their place."""
        channels: dict[str, Entry] = {}
        tips: dict[str, Tip] = {}
        before = space.frame.channels
        owned: Mapping[str, Any] = {} if self.owned is None else self.owned.values
        there = self.values if not owned else {**self.values, **owned}
        loose = [name for name in there if name not in self.versions]
        for name in (*self.versions, *loose):
            version = self.versions.get(name)
            held = before.get(name)
            tip = space.tips.get(name)
            if (
                held is not None
                and name not in self.new_versions
                and held.version == version
                and type(held.version) is type(version)
                and (held.has_value or name not in there)
                and (held.shape == REF or name not in owned)
            ):
                channels[name] = held
            elif users is not None and name in owned:
                rest = self.values.get(name, ABSENT)
                channels[name], tip = users.store(tip, version, owned[name], name, rest)
            elif name in self.values:
                if held is not None and held.shape == REF:
                    refuse_unowned(self.values[name], name, self.thread_id)
                if tip is not None and tip.place.strand < 0:
                    tip = None  # a user's
                channels[name], tip = writer.store(tip, version, self.values[name], given(name))
            else:
                channels[name] = Entry(version)
            if tip is not None:
                tips[name] = tip
        rest = {key: self.codec.seal_value(value, key) for key, value in self.rest.items()}
        seen = {node: dict(held) for node, held in self.seen.items()}
        for node, held_now in seen.items():  # equal parts are shared between frames, not held twice
            if node in space.frame.seen and frames.same(space.frame.seen[node], held_now):
                seen[node] = space.frame.seen[node]
        return Frame(channels, seen, rest), tips

    def _frame_row(self, space: Space, frame: Frame, next_strand: Any) -> tuple[FrameTip, Row]:
        tip = space.frame_tip
        if tip is not None and tip.bytes <= 2 * tip.whole + FRAME_SLACK:
            packed = frames.patch(space.frame, frame)
            if packed is not None:
                row = splice(tip.strand, tip.seq + 1, 0, 0, 0, 1, packed, tip.chain)
                grown = tip.bytes + len(packed)
                return FrameTip(tip.strand, row.seq, row.chain, grown, tip.whole), row
        packed = frames.patch(EMPTY, frame)
        assert packed is not None  # everything is new, so any order will do
        row = splice(next_strand(), 0, 0, 0, 0, 1, packed, 0)
        return FrameTip(row.strand, 0, row.chain, len(packed), len(packed)), row


def _has_place(entry: Entry | None) -> bool:
    return entry is not None and entry.place is not None
