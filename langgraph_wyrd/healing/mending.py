"""One checkpoint after the other, loaded as far as it can be: the ladder.

A plan that reads comes here only after it met damage. What a load would do is done again piece by
piece; each piece that is not right is had back from elsewhere, stood in for, or given up.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langgraph_wyrd.errors import CheckpointDamaged, KeyMissing, WyrdError
from langgraph_wyrd.healing import control, copies, placeholders, rows, strand, users
from langgraph_wyrd.healing.copies import Copies
from langgraph_wyrd.healing.found import LOST, Found, Kind
from langgraph_wyrd.healing.placeholders import Gap
from langgraph_wyrd.healing.strand import Mended
from langgraph_wyrd.plans import gone, loading, marks, read
from langgraph_wyrd.plans.loading import LoadedStrand, Stored, Write
from langgraph_wyrd.plans.read import Pending, Read
from langgraph_wyrd.store import frames
from langgraph_wyrd.store.frames import EMPTY, Entry, Frame
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.values import Codec, kind


class Mender:
    """Of one thread. `found` are the damages that were met."""

    def __init__(self, codec: Codec, number: int, thread_id: str) -> None:
        self.codec = codec
        self.number = number
        self.thread_id = thread_id
        self.found: dict[str, Found] = {}
        self.stood_in: set[Place] = set()  # lists with placeholders
        self._held: Copies | None = None
        self._held_of_users: Copies | None = None
        self._rows: Sequence[Sequence[Any]] | None = None
        self._seen: dict[tuple[int, int], Frame] | None = None
        self._ids: dict[tuple[str, str], str | None] | None = None
        self._lost: set[tuple[str, str]] | None = None
        self._mended: dict[int, tuple[Place, Mended]] = {}  # each strand's longest
        self._frames: dict[Place, Frame | None] = {}
        self._values: dict[Place, tuple[Any] | None] = {}

    def note(
        self, kind: Kind, ns: str, checkpoint: str, what: str, place: str, channel: str = ""
    ) -> None:
        heal = Found(kind, self.number, self.thread_id, ns, checkpoint, channel, what, place)
        self.found.setdefault(heal.id, heal)

    def note_lost(self, ns: str, checkpoint: str) -> None:
        self.note("left_out", ns, checkpoint, LOST, f"lost {checkpoint}")

    def at_least(self, first: Exception, ns: str = "", checkpoint: str = "") -> None:
        """Tell of the damage that a first try met, if none was met since; else raise what it is."""
        if not self.found:
            if not isinstance(first, CheckpointDamaged):
                raise first
            self.note("left_out", ns, checkpoint, str(first), f"met {first}")

    # ---- a checkpoint

    def row(self, raw: Sequence[Any]) -> Plan[Stored | None]:
        """A checkpoint's row; None if it can't be had back."""
        try:
            return loading.checked(raw)
        except Exception:
            ns, id, _ = rows.checkpoint_of(raw)
            found = rows.checkpoint(raw, (yield from self._rows_of_thread()))
            if found is not None:
                self.note("exact", ns, id, "the checkpoint's row was put right", f"row {id}")
                return found
            return None

    def _rows_of_thread(self) -> Plan[Sequence[Sequence[Any]]]:
        if self._rows is None:
            self._rows = yield Ask("rows_of_thread", (self.number,))
        return self._rows

    def checkpoint(self, row: Stored) -> Plan[Read | None]:
        """What a checkpoint says; None if it can't be read."""
        try:
            return (yield from self._checkpoint(row))
        except Exception as error:
            # Of a list over all threads nobody knew whose value the user's own serde can't load.
            if not isinstance(error, WyrdError) and sys.version_info >= (3, 11):
                error.add_note(f"in checkpoint {row.id} of thread {self.thread_id!r}")
            raise

    def _checkpoint(self, row: Stored) -> Plan[Read | None]:
        frame = yield from self.frame(row.ns, row.id, row.place)
        if frame is None:
            return None
        values: dict[Place, Any] = {}
        for name, entry in frame.channels.items():
            if entry.place is not None:
                held = yield from self.value(row.ns, row.id, name, entry)
                if held is None and entry.shape[0] == "D":
                    # The snapshot of a delta channel: without it, what was written gives the value.
                    channels = {**frame.channels, name: Entry(entry.version)}
                    frame = replace(frame, channels=channels)
                    what = "a value is rebuilt from what was written"
                    self.note("exact", row.ns, row.id, what, f"snapshot {row.id}", name)
                    continue
                if held is None:
                    return None
                values[entry.place] = held[0]
        writes = yield from self.writes(row.ns, row.id)
        try:
            made = read.read_of(self.codec, row, frame, values, writes)
        except CheckpointDamaged:  # a small value in the frame, or the metadata
            return None
        return (yield from users.healed(self, made))

    def parents(self) -> Plan[dict[tuple[str, str], str | None]]:
        """Every checkpoint of the thread, with the parent that its row names."""
        if self._ids is None:
            found = yield Ask("checkpoint_ids", (self.number,))
            self._ids = {
                (row[0], row[1]): row[2]
                for row in found
                if isinstance(row[0], str) and isinstance(row[1], str)
            }
        return self._ids

    def lost(self) -> Plan[set[tuple[str, str]]]:
        """The checkpoints that others stand behind and whose rows are gone."""
        if self._lost is None:
            there = dict((yield from self.parents()))
            there.update({(row.ns, row.id): row.parent for _, row in (yield from self._right())})
            self._lost = yield from gone.on_paths(self.number, there)
        return self._lost

    def is_behind(self, ns: str, place: Place) -> Plan[bool]:
        answer = yield gone.asked_behind(self.number, place)
        return (yield from gone.is_behind(self.number, ns, place, answer))

    def under_another_id(self, ns: str, id: str) -> Plan[Sequence[Any] | None]:
        """The row of a checkpoint that is not found by its id, as that is damaged."""
        for raw, row in (yield from self._right()):
            if (row.ns, row.id) == (ns, id):
                return raw
        return None

    def _right(self) -> Plan[list[tuple[Sequence[Any], Stored]]]:
        """The thread's damaged rows, and what they were, as far as they can be had back."""
        raws = yield from self._rows_of_thread()
        tried = [(raw, rows.checkpoint(raw, raws)) for raw in raws if not rows.fits(raw)]
        return [(raw, row) for raw, row in tried if row is not None]

    def strand(self, place: Place, *, blocks: bool = True) -> Plan[Mended | None]:
        """The rows that bear a place, put right as far as can be."""
        last, held = self._mended.get(place.strand, (place, None))
        if held is not None and last.seq >= place.seq and (made := held.upto(place)) is not None:
            return made
        found = yield Ask("strand", (self.number, place.strand, place.seq))
        made = strand.mend(self.codec, found, place, blocks=blocks)
        if made is None or made.lost:
            copied = yield from self._copies()
            lengths = yield from self._lengths(place.strand)
            made = strand.mend(
                self.codec, found, place, copies=copied, lengths=lengths, blocks=blocks
            )
        if made is not None and place.seq >= last.seq:
            self._mended[place.strand] = place, made
        return made

    # ---- frames

    def frame(self, ns: str, id: str, place: Place) -> Plan[Frame | None]:
        if place not in self._frames:
            self._frames[place] = yield from self._frame(ns, id, place)
        return self._frames[place]

    def _frame(self, ns: str, id: str, place: Place) -> Plan[Frame | None]:
        made = yield from self.strand(place, blocks=False)
        if made is None or made.lost:
            return None
        frame = EMPTY
        try:
            for row in made.exact:
                frame = frames.apply_patch(frame, row[6])
        except CheckpointDamaged:
            return None
        if frame.length != place.length:
            return None
        for what in made.done:
            self.note("exact", ns, id, what, what)
        return frame

    # ---- values

    def value(self, ns: str, id: str, name: str, entry: Entry) -> Plan[tuple[Any] | None]:
        """The value at a place, in a tuple; None if it can't be had."""
        assert entry.place is not None
        if entry.place not in self._values:
            self._values[entry.place] = yield from self._value(ns, id, name, entry)
        return self._values[entry.place]

    def _value(self, ns: str, id: str, name: str, entry: Entry) -> Plan[tuple[Any] | None]:
        place = entry.place
        assert place is not None
        made = yield from self.strand(place)
        if made is None:
            return None
        return self.valued(made, ns, id, name, entry.shape, place, self.codec)

    def valued(
        self, made: Mended, ns: str, id: str, name: str, shape: str, place: Place, codec: Codec
    ) -> tuple[Any] | None:
        """What the rows of a strand come to, with placeholders for the messages that are lost."""
        if not made.lost:
            for what in made.done:
                self.note("exact", ns, id, what, what, name)
            try:
                blocks = [codec.open_block(row[6]) for row in made.exact if row[6]]
                loaded = LoadedStrand(made.exact, [each for block in blocks for each in block])
                return (loading.values_at(codec, shape, loaded, {place})[place],)
            except CheckpointDamaged:
                return None
        if kind(shape) != "l":
            return None
        pieces = _pieces(codec, made, place)
        values = None if pieces is None else placeholders.filled(codec, pieces)
        if values is None:
            return None
        for lost in made.lost:
            what = f"{lost.count} messages of splice {place.strand}/{lost.seq}/{lost.part} are lost"
            self.note("placeholder", ns, id, what, what, name)
        self.stood_in.add(place)
        return (codec.wrap(shape, values),)

    def _copies(self) -> Plan[Copies]:
        if self._held is None:
            self._held = yield from copies.of_thread(self.codec, self.number)
        return self._held

    def user_copies(self) -> Plan[Copies]:
        if self._held_of_users is None:
            self._held_of_users = yield from copies.of_users(self.codec, self.number)
        return self._held_of_users

    def _lengths(self, number: int) -> Plan[dict[int, int]]:
        """How many elements the versions of a strand have, by the frames that name them."""
        seen = yield from self._readable()
        return {
            entry.place.seq: entry.place.length
            for frame in seen.values()
            for entry in frame.channels.values()
            if entry.place is not None and entry.place.strand == number
        }

    def owner(self, number: int) -> Plan[tuple[str, str, str]]:
        """Whose a strand is: namespace, first checkpoint, channel (none if it is of frames)."""
        seen = yield from self._readable()
        for ns, id, _, _, strand_, seq, *_ in (yield Ask("checkpoint_ids", (self.number,))):
            if strand_ == number:
                return ns, id, ""
            frame = seen.get((strand_, seq), EMPTY)
            for name, entry in frame.channels.items():
                if entry.place is not None and entry.place.strand == number:
                    return ns, id, name
        return "", "", ""

    def _readable(self) -> Plan[dict[tuple[int, int], Frame]]:
        """The frames that can be read, by their strand and version."""
        if self._seen is not None:
            return self._seen
        self._seen = {}
        walked = set()
        for at in (yield Ask("checkpoint_ids", (self.number,))):
            if at[4] in walked:
                continue
            walked.add(at[4])
            frame = EMPTY
            for row in (yield Ask("strand", (self.number, at[4], 1 << 30))):
                if not strand.is_sound(row):
                    break
                try:
                    frame = frames.apply_patch(frame, row[6])
                except CheckpointDamaged:
                    break
                self._seen[at[4], row[1]] = frame
        return self._seen

    # ---- writes

    def writes(self, ns: str, id: str) -> Plan[list[Pending]]:
        """What a checkpoint's tasks wrote. A task that lacks a write runs again."""
        return [write for _, write in (yield from self.placed_writes(ns, id))]

    def placed_writes(self, ns: str, id: str) -> Plan[list[tuple[tuple[str, str, int], Pending]]]:
        """The same, each behind its path, task and number, in that order."""
        found = yield Ask("writes", (self.number, ns, id))
        try:
            return loading.loaded_writes(self.codec, ns, id, found)
        except Exception:
            held = yield from self.checked_writes(ns, id, found)
        made = []
        for write in held:
            value = self.codec.open_value(write.shape, write.data)
            task = given(write.task)
            made.append(((given(write.path), task, write.idx), (task, given(write.channel), value)))
        return sorted(made, key=lambda each: each[0])

    def checked_writes(self, ns: str, id: str, found: Sequence[Sequence[Any]]) -> Plan[list[Write]]:
        held: list[Write] = []
        gone: set[str] = set()
        unread: dict[str, list[int]] = {}  # control writes, by their task
        for raw in found:
            write = yield from self.write(ns, id, raw)
            if write is not None:
                held.append(write)
            elif type(raw[1]) is int and raw[1] < 0:
                unread.setdefault(str(raw[0]), []).append(raw[1])
            else:
                gone.add(str(raw[0]))
        by_task = loading.by_task(held)
        for task in sorted(by_task.keys() - gone):
            try:
                loading.refuse_half(ns, id, task, by_task[task])
            except CheckpointDamaged:
                gone.add(task)
        for task in sorted(gone):
            what = f"the writes of task {task} are left out: it runs again"
            self.note("left_out", ns, id, what, f"writes {id} {task}")
        made: list[Write] = []
        for task in dict.fromkeys((*by_task, *unread)):
            mine = by_task.get(task, [])
            mine = [write for write in mine if write.idx < 0 or task not in gone]
            settled = control.settled(self.codec, ns, id, task, mine, unread.get(task, ()))
            for how, idx, what in settled.told:
                self.note(how, ns, id, what, f"write {id} {task} {idx}", marks.NAMES.get(idx, ""))
            made += settled.writes
        return made

    def write(self, ns: str, id: str, raw: Sequence[Any]) -> Plan[Write | None]:
        """A write's row; None if it can't be had back."""
        try:
            sound = loading.checked_write(ns, id, raw)
            # It may be plain, where all is encrypted, or hold no value.
            self.codec.open_value(sound.shape, sound.data)
            return sound
        except Exception as error:
            if isinstance(error, KeyMissing):
                raise
        write = rows.write(self.codec, ns, id, raw, None)
        if write is None:
            copied = yield from self._copies()
            write = rows.write(self.codec, ns, id, raw, copied)
        if write is not None and not self._opens(write):
            return None
        if write is not None:
            what = f"a write of task {write.task} was put right"
            place = f"write {id} {write.task} {write.idx}"
            self.note("exact", ns, id, what, place, write.channel)
        return write

    def _opens(self, write: Write) -> bool:
        try:
            self.codec.open_value(write.shape, write.data)
        except CheckpointDamaged:
            return False
        return True


def _pieces(codec: Codec, made: Mended, place: Place) -> list[bytes | Gap] | None:
    """The elements of a list, with gaps; None if they don't come to the length they had."""
    live: list[bytes | Gap] = []
    for row in made.rows:
        new: list[bytes | Gap]
        if isinstance(row, strand.Lost):
            new = [Gap(place.strand, row, at) for at in range(row.count)]
            live[row.keep : row.keep + row.cut] = new
        else:
            try:
                new = [*codec.open_block(row[6])] if row[6] else []
            except CheckpointDamaged:  # plain, where all are sealed
                return None
            live[row[3] : row[3] + row[4]] = new
    return live if len(live) == place.length else None
