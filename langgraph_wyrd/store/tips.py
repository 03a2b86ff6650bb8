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
from langgraph_wyrd.store.strands import Place, Row, edits, splice
from langgraph_wyrd.store.values import RUN, Codec, NotElements, Packed, is_row, kind, mark

INLINE = 96  # bytes of a value that stays in the frame
INLINE_JOIN = 4096  # the same, of a join's: at each put it is read who has arrived
SLACK = 4096  # bytes that a strand may hold dead before it is worth starting another
MOST_HELD = 4 << 20  # bytes of a value whose packed elements are kept at hand


@dataclass(slots=True)
class Tip:
    """The newest version of a strand. `marks` and `sizes` are its elements'."""

    shape: str
    place: Place
    marks: array[int]
    sizes: array[int]
    runs: array[int]  # the marks of whole runs of elements (lists)
    quick: array[int]  # their quick marks; 0 where none was made yet
    live: int  # bytes of the elements
    rest: int = 0  # the mark of the elements behind the last whole run
    keys: dict[str, int] = field(default_factory=dict)  # entry -> its place in marks (dicts)
    dead: int = 0
    elements: list[bytes] | None = None  # as they are stored: the newest value is loaded from them
    ended: bool = False  # its strand goes on elsewhere (a fork): the next value starts another

    @property
    def weight(self) -> int:
        """Bytes of memory, about."""
        count = len(self.marks)
        held = 0 if self.elements is None else self.live + 42 * count
        return 200 + 16 * count + sum(map(len, self.keys)) + 80 * len(self.keys) + held


def list_tip(
    shape: str, place: Place, prints: Sequence[bytes], elements: list[bytes], dead: int = 0
) -> Tip:
    """The tip of a list from what its elements are compared by."""
    sizes = array("Q", map(len, prints))
    runs = array("Q")
    together = b"".join(prints)
    rest = _mark_runs(runs, together, sizes)
    held = elements if len(together) <= MOST_HELD else None
    return Tip(
        shape, place, array("Q", map(mark, prints)), sizes, runs, _unknown(runs), len(together),
        rest, {}, dead, held,
    )  # fmt: skip


def _unknown(runs: Sequence[int]) -> array[int]:
    return array("Q", bytes(8 * len(runs)))


def _mark_runs(runs: array[int], prints: bytes, sizes: array[int]) -> int:
    """Add the marks of whole runs of elements to `runs`; the mark of what is behind them."""
    at = 0
    for start in range(0, len(sizes) - RUN + 1, RUN):
        end = at + sum(sizes[start : start + RUN])
        runs.append(mark(prints[at:end]))
        at = end
    return mark(prints[at:])


def dict_tip(shape: str, place: Place, entries: dict[str, bytes], dead: int = 0) -> Tip:
    """The tip of a dict from its packed entries."""
    sizes = array("Q", [len(entry) - 1 for entry in entries.values()])
    live = sum(sizes)
    return Tip(
        shape,
        place,
        array("Q", [mark(entry[1:]) for entry in entries.values()]),
        sizes,
        array("Q"),
        array("Q"),
        live,
        0,
        {key: index for index, key in enumerate(entries)},
        dead,
        list(entries.values()) if live <= MOST_HELD else None,
    )


def _is_run(codec: Codec, tip: Tip, index: int, values: list[Any]) -> bool:
    """Whether these are the elements of a run. Once they were found to be, it is seen quickly."""
    quick = codec.quick_mark(values)
    if quick and quick == tip.quick[index]:
        return True
    if codec.run_mark(values) != tip.runs[index]:
        return False
    tip.quick[index] = quick
    return True


class Writer:
    """Collects the rows of one put. `next_strand` gives unused strand numbers."""

    def __init__(
        self, codec: Codec, next_strand: Callable[[], int], *, inline: int = INLINE
    ) -> None:
        self._codec = codec
        self._next_strand = next_strand
        self._inline = inline
        self.rows: list[Row] = []
        self.fresh: dict[str, list[int]] = {}  # the places of what is new, of each list stored

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
        return self._anew(version, packed, inner, channel)

    def _anew(
        self, version: Any, packed: Packed, value: Any, channel: str
    ) -> tuple[Entry, Tip | None]:
        """A strand of its own, or none for a value that is small enough for the frame."""
        if packed.shape == "l":
            self.fresh.setdefault(channel, list(range(len(packed.elements))))
        block = self._codec.block(packed.elements)
        is_join = self._inline >= 0 and channel.startswith("join:")
        if len(block) <= (INLINE_JOIN if is_join else self._inline):
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
            return entry, list_tip(packed.shape, place, prints, packed.elements)
        if packed.keys is not None:
            entries = dict(zip(packed.keys, packed.elements, strict=True))
            return entry, dict_tip(packed.shape, place, entries)
        only = packed.elements
        return entry, list_tip(packed.shape, place, [only[0][1:]], only)

    # ---- lists

    def _list(
        self, tip: Tip, version: Any, values: list[Any], channel: str
    ) -> tuple[Entry, Tip | None]:
        codec, old = self._codec, tip.marks
        same, most = 0, min(len(values), len(old)) - RUN
        while same <= most and _is_run(codec, tip, same // RUN, values[same : same + RUN]):
            same += RUN
        # Mostly nothing but the end is new: then what is behind the last run is compared at once.
        behind = b""
        known = same
        if same > most and len(values) >= len(old):
            found = codec.run_bytes(values[same : len(old)])
            if found is not None and mark(found) == tip.rest:
                behind, known = found, len(old)
        prints = [
            codec.fingerprint_bytes(value, channel, f"[{known + offset}]")
            for offset, value in enumerate(values[known:])
        ]
        marks = old[:known]
        marks.extend(map(mark, prints))
        made = edits(old, marks)
        if tip.shape == "l":
            self.fresh[channel] = [
                place for edit in reversed(made) for place in range(edit.start, edit.stop)
            ]
        if not made:
            return Entry(version, tip.shape, None, tip.place), tip
        sizes = tip.sizes[:known]
        sizes.extend(map(len, prints))
        gone = sum(sum(tip.sizes[e.keep : e.keep + e.cut]) for e in made)
        dead, live = tip.dead + gone, sum(sizes)
        if tip.ended or dead > live + SLACK:
            packed = Packed(tip.shape, None, codec.pack_elements(values, channel))
            return self._anew(version, packed, values, channel)
        strand, seq, chain = tip.place.strand, tip.place.seq + 1, tip.place.chain
        elements = None if tip.elements is None else tip.elements.copy()
        for part, edit in enumerate(made):
            new = codec.pack_elements(values[edit.start : edit.stop], channel, edit.start)
            data = codec.block(new) if new else b""
            row = splice(strand, seq, part, edit.keep, edit.cut, len(new), data, chain)
            self.rows.append(row)
            chain = row.chain
            if elements is not None:
                elements[edit.keep : edit.keep + edit.cut] = new
        if live > MOST_HELD:
            elements = None
        place = Place(strand, seq, len(values), chain)
        runs = tip.runs[: same // RUN]
        quick = tip.quick[: same // RUN]
        rest = _mark_runs(runs, behind + b"".join(prints), sizes[same:])
        quick += _unknown(runs[len(quick) :])
        return Entry(version, tip.shape, None, place), Tip(
            tip.shape, place, marks, sizes, runs, quick, live, rest, {}, dead, elements
        )

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
        if not (reordered or gone or put):
            return Entry(version, tip.shape, None, tip.place), tip
        if reordered or tip.ended or dead > live + SLACK:
            packed = Packed(tip.shape, tuple(entries), list(entries.values()))
            return self._anew(version, packed, value, channel)
        new = [codec.pack_key(key) for key in gone] + [entries[key] for key in put]
        seq = tip.place.seq + 1
        row = splice(
            tip.place.strand, seq, 0, 0, len(gone), len(put), codec.block(new), tip.place.chain
        )
        self.rows.append(row)
        place = Place(tip.place.strand, seq, len(entries), row.chain)
        return Entry(version, tip.shape, None, place), dict_tip(tip.shape, place, entries, dead)
