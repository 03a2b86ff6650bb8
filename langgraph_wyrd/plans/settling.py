"""The strands of a thread after checkpoints went: they hold what is kept, and no more.

A strand that nobody names is dropped, one that goes on beyond what is named is cut, and one that
holds elements of no kept version is written anew without them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from langgraph_wyrd.plans import loading, owned
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.write import FRAME_SLACK
from langgraph_wyrd.store import frames
from langgraph_wyrd.store.blocks import PLAIN
from langgraph_wyrd.store.frames import EMPTY, Frame
from langgraph_wyrd.store.statements import Ask, Plan, Tell
from langgraph_wyrd.store.strands import Place, Row, edits, replay_list, splice
from langgraph_wyrd.store.values import Codec, kind

Key = tuple[str, str]  # namespace, checkpoint id


class Light(NamedTuple):
    """A checkpoint without what it says."""

    ns: str
    id: str
    parent: str | None
    run_id: str | None
    strand: int
    seq: int
    length: int
    chain: int

    @property
    def key(self) -> Key:
        return (self.ns, self.id)

    @property
    def place(self) -> Place:
        return Place(self.strand, self.seq, self.length, self.chain)


def settle(
    codec: Codec, thread: Known, kept: Sequence[Light], adopted: dict[Key, str | None]
) -> Plan[int]:
    """Make the strands hold what the kept checkpoints name, and no more. Gives the strand count."""
    number = thread.number
    held = yield from loading.read_frames(codec, number, {light.place for light in kept})
    values = frames.places(held.values())
    shapes = {
        entry.place.strand: entry.shape
        for frame in held.values()
        for entry in frame.channels.values()
        if entry.place is not None
    }
    of_frames: dict[int, set[Place]] = {}
    for light in kept:
        of_frames.setdefault(light.strand, set()).add(light.place)
    newest = dict((yield Ask("strands_of", (number,))))
    for strand, seq in sorted(newest.items()):
        named = values.get(strand) or of_frames.get(strand)
        if named is None:
            yield Tell("drop_strand", [(number, strand)])
        elif max(place.seq for place in named) < seq:
            yield Tell("cut_strand", [(number, strand, max(place.seq for place in named))])
    strands = thread.strands
    moved: dict[Place, Place] = {}
    for strand in sorted(values):
        if (yield from _holds_more(number, shapes[strand], strand, values[strand])):
            strands += 1
            rows, places = yield from _rewoven(
                codec, number, shapes[strand], strand, values[strand], strands
            )
            moved.update(places)
            yield [
                Tell("put_splice", [(number, *row) for row in rows]),
                Tell("drop_strand", [(number, strand)]),
            ]
    at: dict[Place, Place] = {}
    for strand in sorted(of_frames):
        places_here = sorted(of_frames[strand], key=lambda place: place.seq)
        whole = len({place.seq for place in places_here}) == places_here[-1].seq + 1
        if whole and not any(_names(held[place], moved) for place in places_here):
            continue
        rows, strands = _frame_rows([_moved(held[p], moved) for p in places_here], strands)
        yield [
            Tell("put_splice", [(number, *row) for row in rows]),
            Tell("drop_strand", [(number, strand)]),
        ]
        for place, row in zip(places_here, rows, strict=True):
            at[place] = Place(row.strand, row.seq, place.length, row.chain)
    changed = [light for light in kept if light.place in at or light.key in adopted]
    yield from rewrite(number, changed, at, adopted)
    yield from owned.settle(codec, number, held.values())
    return strands


def rewrite(
    number: int,
    changed: Sequence[Light],
    at: dict[Place, Place],
    adopted: dict[Key, str | None],
) -> Plan[None]:
    """The rows of checkpoints whose frame moved, or whose parent is another."""
    for light in changed:
        rows = yield Ask("checkpoint_row", (number, light.ns, light.id))
        ns, id, parent, ts, step, source, run_id, metadata, exact = rows[0][:9]
        due, root, stored_sum = rows[0][-3:]
        was = (number, ns, id, parent, ts, metadata, exact, rows[0][9:13])
        parent = adopted.get(light.key, parent)
        place = at.get(light.place, light.place)
        same = (number, ns, id, parent, ts, metadata, exact, place)
        total = loading.sum_again(stored_sum, was, same)
        row = (
            number, ns, id, parent, ts, step, source, run_id, metadata, exact, *place, total, due,
            root,
        )  # fmt: skip
        yield Tell("put_checkpoint", [row])


def _holds_more(number: int, shape: str, strand: int, places: Collection[Place]) -> Plan[bool]:
    """Whether some element of a strand is in none of these versions."""
    wanted = {place.seq for place in places}
    rows = yield Ask("strand_shape", (number, strand, max(wanted)))
    cuts = [cut for _, _, _, cut, _ in rows]
    if kind(shape) == "l" and not any(cuts):
        return False  # a list that only grew: the last version has every element
    return len({row[0] for row in rows}) > len(wanted)


def _rewoven(
    codec: Codec, number: int, shape: str, strand: int, places: Collection[Place], fresh: int
) -> Plan[tuple[list[Row], dict[Place, Place]]]:
    """A strand with only these versions, under a new number."""
    loaded = yield from loading.read_strands(codec, number, {strand: set(places)})
    held = loaded[strand]
    order = sorted(places, key=lambda place: place.seq)
    wanted = {place.seq for place in places}
    if kind(shape) == "d":
        versions = loading.live_elements(shape, held, wanted)
        return _rewoven_dict(codec, [(p, versions[p.seq]) for p in order], fresh)
    pool = held.elements  # elements by number, so that equal ones are not confused
    by_seq = replay_list(held.rows, list(range(len(pool))), wanted)
    rows: list[Row] = []
    moved: dict[Place, Place] = {}
    before: list[int] = []
    chain = 0
    for seq, place in enumerate(order):
        now_there = by_seq[place.seq]
        made = edits(before, now_there) if seq else [(0, 0, 0, len(now_there))]
        for part, (keep, cut, start, stop) in enumerate(made):
            new = [pool[name] for name in now_there[start:stop]]
            data = codec.block(new) if new or not seq else b""
            rows.append(splice(fresh, seq, part, keep, cut, len(new), data, chain))
            chain = rows[-1].chain
        moved[place] = Place(fresh, rows[-1].seq, place.length, chain)
        before = now_there
    return rows, moved


def _rewoven_dict(
    codec: Codec, versions: Sequence[tuple[Place, list[bytes]]], fresh: int
) -> tuple[list[Row], dict[Place, Place]]:
    rows: list[Row] = []
    moved: dict[Place, Place] = {}
    before: dict[bytes, bytes] = {}
    chain = 0
    for seq, (place, elements) in enumerate(versions):
        entries = {codec.entry_key(element): element for element in elements}
        gone = [key for key in before if key not in entries]
        put = [key for key, element in entries.items() if before.get(key) != element]
        kept = [key for key in before if key in entries]
        if kept + [key for key in put if key not in before] != list(entries):
            gone, put = list(before), list(entries)
        new = [PLAIN + key for key in gone] + [entries[key] for key in put]
        rows.append(splice(fresh, seq, 0, 0, len(gone), len(put), codec.block(new), chain))
        chain = rows[-1].chain
        moved[place] = Place(fresh, seq, place.length, chain)
        before = entries
    return rows, moved


@dataclass(slots=True)
class _FrameStrand:
    strand: int
    seq: int
    chain: int
    bytes: int
    whole: int
    frame: Frame


def _frame_rows(held: Sequence[Frame], strands: int) -> tuple[list[Row], int]:
    """Patches for these frames, one behind the other, on new strands."""
    rows: list[Row] = []
    tip: _FrameStrand | None = None
    for frame in held:
        packed = None
        if tip is not None and tip.bytes <= 2 * tip.whole + FRAME_SLACK:
            packed = frames.patch(tip.frame, frame)
        if tip is None or packed is None:
            packed = frames.patch(EMPTY, frame)
            assert packed is not None
            strands += 1
            tip = _FrameStrand(strands, -1, 0, 0, len(packed), EMPTY)
        row = splice(tip.strand, tip.seq + 1, 0, 0, 0, 1, packed, tip.chain)
        tip.seq, tip.chain, tip.frame = row.seq, row.chain, frame
        tip.bytes += len(packed)
        rows.append(row)
    return rows, strands


def _names(frame: Frame, moved: dict[Place, Place]) -> bool:
    return any(entry.place in moved for entry in frame.channels.values())


def _moved(frame: Frame, moved: dict[Place, Place]) -> Frame:
    channels = {
        name: entry._replace(place=moved.get(entry.place, entry.place)) if entry.place else entry
        for name, entry in frame.channels.items()
    }
    return replace(frame, channels=channels)
