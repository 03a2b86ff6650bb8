"""What was stored last of a channel, and how the next value is cut into rows behind it.

A tip knows its elements by their marks, so a write compares and never reads back. Elements are
packed and compared a run at a time; an element that changed in place gives another mark, so
nothing is assumed equal.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_wyrd.store.frames import Entry
from langgraph_wyrd.store.strands import Edit, Place, Row, edits, splice
from langgraph_wyrd.store.values import RUN, Codec, NotElements, Packed, is_row, kind, mark

INLINE = 96  # bytes of a value that stays in the frame
SLACK = 4096  # bytes that a strand may hold dead before it is worth starting another


@dataclass(slots=True)
class Tip:
    """The newest version of a strand. `marks` and `sizes` are its elements'."""

    shape: str
    place: Place
    marks: array[int]
    sizes: array[int]
    runs: array[int]  # the marks of whole runs of elements (lists)
    keys: dict[str, int] = field(default_factory=dict)  # entry -> its place in marks (dicts)
    dead: int = 0

    @property
    def weight(self) -> int:
        """Bytes of memory, about."""
        return 200 + 16 * len(self.marks) + sum(map(len, self.keys)) + 80 * len(self.keys)


def list_tip(shape: str, place: Place, prints: Sequence[bytes], dead: int = 0) -> Tip:
    """The tip of a list from what its elements are compared by."""
    runs = array("Q")
    for start in range(0, len(prints) - RUN + 1, RUN):
        runs.append(mark(b"".join(prints[start : start + RUN])))
    return Tip(
        shape, place, array("Q", map(mark, prints)), array("Q", map(len, prints)), runs, {}, dead
    )


def dict_tip(shape: str, place: Place, entries: dict[str, bytes], dead: int = 0) -> Tip:
    return Tip(
        shape,
        place,
        array("Q", map(mark, entries.values())),
        array("Q", map(len, entries.values())),
        array("Q"),
        {key: index for index, key in enumerate(entries)},
        dead,
    )


class Writer:
    """Collects the rows of one put. `next_strand` gives unused strand numbers."""

    def __init__(self, codec: Codec, next_strand: Callable[[], int]) -> None:
        self._codec = codec
        self._next_strand = next_strand
        self.rows: list[Row] = []

    def store(
        self, tip: Tip | None, version: Any, value: Any, channel: str
    ) -> tuple[Entry, Tip | None]:
        """The entry of a value, and its tip; the rows it needs are added to `rows`."""
        shape = self._codec.shape_of_any(value)
        inner = value.value if shape[0] == "D" else value
        if tip is not None and tip.shape == shape:
            try:
                if kind(shape) == "l":
                    return self._list(tip, version, inner, channel)
                if kind(shape) == "d":
                    return self._dict(tip, version, inner, channel)
            except NotElements:
                pass
        packed = self._codec.pack(value, channel)
        if tip is not None and packed.shape == tip.shape and kind(packed.shape) == "w":  # noqa: SIM102
            if tip.marks[0] == mark(packed.elements[0][1:]):
                return Entry(version, tip.shape, None, tip.place), tip
        return self._anew(version, packed, inner)

    def _anew(self, version: Any, packed: Packed, value: Any) -> tuple[Entry, Tip | None]:
        """A strand of its own, or none for a value that is small enough for the frame."""
        block = self._codec.block(packed.elements)
        if len(block) <= INLINE:
            return Entry(version, packed.shape, block), None
        strand = self._next_strand()
        count = len(packed.elements)
        row = splice(strand, 0, 0, 0, 0, count, block, 0)
        self.rows.append(row)
        place = Place(strand, 0, count, row.chain)
        entry = Entry(version, packed.shape, None, place)
        if kind(packed.shape) == "l":
            prints = [
                e[1:] if is_row(e) else self._codec.fingerprint_bytes(v)
                for e, v in zip(packed.elements, value, strict=True)
            ]
            return entry, list_tip(packed.shape, place, prints)
        if packed.keys is not None:
            entries = {k: e[1:] for k, e in zip(packed.keys, packed.elements, strict=True)}
            return entry, dict_tip(packed.shape, place, entries)
        return entry, list_tip(packed.shape, place, [packed.elements[0][1:]])

    # ---- lists

    def _list(
        self, tip: Tip, version: Any, values: list[Any], channel: str
    ) -> tuple[Entry, Tip | None]:
        codec, old = self._codec, tip.marks
        same, most = 0, min(len(values), len(old)) - RUN
        while same <= most:
            if codec.run_mark(values[same : same + RUN]) != tip.runs[same // RUN]:
                break
            same += RUN
        prints = [
            codec.fingerprint_bytes(value, channel, f"[{same + offset}]")
            for offset, value in enumerate(values[same:])
        ]
        marks = old[:same]
        marks.extend(map(mark, prints))
        made = edits(old, marks)
        if not made:
            return Entry(version, tip.shape, None, tip.place), tip
        sizes = tip.sizes[:same]
        sizes.extend(map(len, prints))
        dead = tip.dead + sum(sum(tip.sizes[e.keep : e.keep + e.cut]) for e in made)
        if dead > sum(sizes) + SLACK:
            packed = Packed(tip.shape, None, codec.pack_elements(values, channel))
            return self._anew(version, packed, values)
        strand, seq, chain = tip.place.strand, tip.place.seq + 1, tip.place.chain
        for part, edit in enumerate(made):
            chain = self._put_list(strand, seq, part, edit, values, channel, chain)
        place = Place(strand, seq, len(values), chain)
        runs = tip.runs[: same // RUN]
        for start in range(0, len(prints) - RUN + 1, RUN):
            runs.append(mark(b"".join(prints[start : start + RUN])))
        return Entry(version, tip.shape, None, place), Tip(
            tip.shape, place, marks, sizes, runs, {}, dead
        )

    def _put_list(
        self,
        strand: int,
        seq: int,
        part: int,
        edit: Edit,
        values: list[Any],
        channel: str,
        chain: int,
    ) -> int:
        new = self._codec.pack_elements(values[edit.start : edit.stop], channel, edit.start)
        data = self._codec.block(new) if new else b""
        row = splice(strand, seq, part, edit.keep, edit.cut, len(new), data, chain)
        self.rows.append(row)
        return row.chain

    # ---- dicts

    def _dict(
        self, tip: Tip, version: Any, value: dict[str, Any], channel: str
    ) -> tuple[Entry, Tip | None]:
        codec = self._codec
        entries = {key: codec.pack_entry(key, item, channel) for key, item in value.items()}
        gone = [key for key in tip.keys if key not in entries]
        put = [
            key
            for key, entry in entries.items()
            if key not in tip.keys or tip.marks[tip.keys[key]] != mark(entry[1:])
        ]
        kept = [key for key in tip.keys if key in entries] if gone else list(tip.keys)
        dead = tip.dead + sum(tip.sizes[tip.keys[key]] for key in (*gone, *put) if key in tip.keys)
        live = sum(len(entry) for entry in entries.values())
        reordered = kept + [key for key in put if key not in tip.keys] != list(entries)
        if reordered or dead > live + SLACK:
            packed = Packed(tip.shape, tuple(entries), list(entries.values()))
            return self._anew(version, packed, value)
        if not gone and not put:
            return Entry(version, tip.shape, None, tip.place), tip
        new = [codec.pack_key(key) for key in gone] + [entries[key] for key in put]
        seq = tip.place.seq + 1
        row = splice(
            tip.place.strand, seq, 0, 0, len(gone), len(put), codec.block(new), tip.place.chain
        )
        self.rows.append(row)
        place = Place(tip.place.strand, seq, len(entries), row.chain)
        data = {key: entry[1:] for key, entry in entries.items()}
        return Entry(version, tip.shape, None, place), dict_tip(tip.shape, place, data, dead)
