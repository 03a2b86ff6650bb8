"""Storing: a checkpoint, the writes of a task.

Each operation has two ways to the database and one way to its rows. *Hot*: what it rests on is
known, so the rows are made at once and merged with other writes. *Cold*: it is read first, in the
same transaction as the write, with the thread locked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from langgraph_wyrd.errors import ThreadDeleted
from langgraph_wyrd.plans import loading
from langgraph_wyrd.plans.known import NOTHING, FrameTip, Known, Space
from langgraph_wyrd.store import frames
from langgraph_wyrd.store.frames import EMPTY, Entry, Frame
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell, WriteSet, merged
from langgraph_wyrd.store.strands import Place, Row, splice
from langgraph_wyrd.store.tips import Tip, Writer
from langgraph_wyrd.store.values import Codec, kind

FRAME_SLACK = 2048  # bytes that a strand of frames may grow to whatever a whole frame costs


def now() -> str:
    return datetime.now(timezone.utc).isoformat()


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
    metadata: str
    exact: bytes | None
    root: str | None  # the root checkpoint that a subgraph's run belongs to
    values: Mapping[str, Any]
    versions: Mapping[str, Any]
    new_versions: Mapping[str, Any]
    seen: Mapping[str, Mapping[str, Any]]
    rest: Mapping[str, Any]

    def hot(self, known: Known) -> tuple[WriteSet, Known] | None:
        """The rows, and what is known once they are stored; None if too little is known."""
        space = NOTHING if self.parent is None else known.spaces.get(self.ns)
        if space is None or space.checkpoint != self.parent:
            return None
        if self.parent is None and known.too_old(self.root):
            return None
        return self._rows(known, space)

    def cold(self, known: Known | None) -> Plan[Known]:
        """Read what the checkpoint builds on, and store it."""
        thread = yield from lock_or_add(self.thread_id, self._late(), known)
        space = yield from self._space(thread)
        rows, known = self._rows(thread, space)
        yield from _run(rows)
        return known

    def _late(self) -> list[str]:
        """Ids that must be newer than a deleted thread's head, if that is what is found."""
        return [id for id in (self.parent, self.root) if id is not None]

    # ---- what it builds on

    def _space(self, thread: Known) -> Plan[Space]:
        """The parent's frame, and the strands that can be continued from it."""
        if self.parent is None:
            yield from refuse_late(thread, self.thread_id, "", self.root)
            return NOTHING
        found = yield Ask("ancestor", (thread.number, self.ns, self.parent))
        if not found:
            yield from refuse_late(thread, self.thread_id, self.ns, self.parent)
            return NOTHING
        place = Place(*found[0][2:6])
        held, ends = yield from loading.frames_and_tips(self.codec, thread.number, [place])
        frame = held[place]
        grown = {
            name: entry
            for name, entry in frame.channels.items()
            if entry.place is not None
            and kind(entry.shape) != "w"
            and self._changes(name, entry)
            and name in self.values
        }
        asked = [Ask("newest_seq", (thread.number, place.strand))]
        asked += [
            Ask("newest_seq", (thread.number, e.place.strand)) for e in grown.values() if e.place
        ]
        answers = yield asked
        newest = [rows[0][0] for rows in answers]
        frame_tip = ends[place] if newest[0] == place.seq else None
        tips: dict[str, Tip] = {}
        ends_here = {
            name: entry
            for (name, entry), seq in zip(grown.items(), newest[1:], strict=True)
            if entry.place is not None and entry.place.seq == seq
        }
        if ends_here:
            shown = Frame(ends_here, {}, {})
            values, loaded = yield from loading.read_values(self.codec, thread.number, [shown])
            for name, entry in ends_here.items():
                assert entry.place is not None
                strand = loaded[entry.place.strand]
                tips[name] = loading.tip_of(self.codec, entry, strand, values[entry.place])
        return Space(self.parent, frame, frame_tip, tips)

    def _changes(self, name: str, entry: Entry) -> bool:
        return name in self.new_versions or self.versions.get(name) != entry.version

    # ---- the rows

    def _rows(self, thread: Known, space: Space) -> tuple[WriteSet, Known]:
        strands = thread.strands

        def next_strand() -> int:
            nonlocal strands
            strands += 1
            return strands

        writer = Writer(self.codec, next_strand)
        frame, tips = self._frame(space, writer)
        frame_tip, row = self._frame_row(space, frame, next_strand)
        place = Place(frame_tip.strand, frame_tip.seq, frame.length, frame_tip.chain)
        number = thread.number
        total = loading.checkpoint_sum(
            number, self.ns, self.id, self.parent, self.ts, self.metadata, self.exact, place
        )
        rows = WriteSet(
            advance=[(strands, now(), self.id, self.id, number, thread.tick)],
            rows={
                "put_splice": [(number, *each) for each in (*writer.rows, row)],
                "put_checkpoint": [
                    (
                        number, self.ns, self.id, self.parent, self.ts, self.step, self.source,
                        self.run_id, self.metadata, self.exact, *place, total,
                    )
                ],
            },
        )  # fmt: skip
        after = replace(thread, tick=thread.tick + 1, strands=strands)
        return rows, after.with_space(self.ns, Space(self.id, frame, frame_tip, tips))

    def _frame(self, space: Space, writer: Writer) -> tuple[Frame, dict[str, Tip]]:
        """The checkpoint's frame. Changed values go to strands, the others keep their place."""
        channels: dict[str, Entry] = {}
        tips: dict[str, Tip] = {}
        before = space.frame.channels
        loose = [name for name in self.values if name not in self.versions]
        for name in (*self.versions, *loose):
            version = self.versions.get(name)
            held = before.get(name)
            tip = space.tips.get(name)
            if (
                held is not None
                and name not in self.new_versions
                and held.version == version
                and type(held.version) is type(version)
                and (held.has_value or name not in self.values)
            ):
                channels[name] = held
            elif name in self.values:
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

    def hot(self, known: Known) -> tuple[WriteSet, Known] | None:
        space = known.spaces.get(self.ns)
        there = space is not None and space.checkpoint == self.checkpoint
        if not there and known.too_old(self.checkpoint):
            return None
        return self._rows(known.number), known

    def cold(self, known: Known | None) -> Plan[Known]:
        thread = yield from lock_or_add(self.thread_id, [self.checkpoint], known)
        yield from refuse_late(thread, self.thread_id, self.ns, self.checkpoint)
        yield from _run(self._rows(thread.number))
        return thread

    def _rows(self, number: int) -> WriteSet:
        ordinary: list[tuple[Any, ...]] = []
        special: list[tuple[Any, ...]] = []
        for idx, channel, value in self.writes:
            shape, data = self.codec.seal_value(value, given(channel))
            total = loading.write_sum(
                self.ns, self.checkpoint, self.task, idx, channel, self.path, shape, data
            )
            row = (
                number, self.ns, self.checkpoint, self.task, idx, channel, self.path, shape, data,
                total,
            )  # fmt: skip
            (ordinary if idx >= 0 else special).append(row)
        return WriteSet(alive=[number], rows={"put_write": ordinary, "replace_write": special})


def lock_or_add(thread_id: str, late: list[str], known: Known | None = None) -> Plan[Known]:
    """The thread's row, locked; a new one if there is none. `late` are ids that it must know.

    What was known of its namespaces is kept if the thread has not moved since.
    """
    key = thread_key(thread_id)
    found = yield Ask("lock_thread", (key,))
    if not found:
        rows = yield Ask("last_deleted", (key,))
        buried, moment = rows[0][0], now()
        if buried is not None and any(id <= buried for id in late):
            raise _too_late(thread_id)
        yield Tell("add_thread", [(thread_id, key, moment, moment, buried)])
        found = yield Ask("lock_thread", (key,))
    locked = Known.locked(found[0])
    if known is not None and (known.number, known.tick) == (locked.number, locked.tick):
        return known
    return locked


def refuse_late(thread: Known, thread_id: str, ns: str, id: str | None) -> Plan[None]:
    """Raise if a checkpoint is not there because the thread that had it was deleted."""
    if thread.too_old(id) and not (yield Ask("ancestor", (thread.number, ns, id))):
        raise _too_late(thread_id)


def _too_late(thread_id: str) -> ThreadDeleted:
    return ThreadDeleted(
        f"thread {given(thread_id)!r} was deleted while this run was going on: what it sent now "
        "was not stored. Start a new run to use the thread id again."
    )


def _run(rows: WriteSet) -> Plan[None]:
    """The write set of a cold write, on its own: its thread is locked, so nothing can be stale."""
    yield [*([Tell("advance", rows.advance)] if rows.advance else ()), *merged([rows])]
