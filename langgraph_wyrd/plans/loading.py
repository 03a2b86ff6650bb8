"""Rows -> frames and values. Every plan that reads checkpoints goes through here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.plans import marks
from langgraph_wyrd.plans.known import FrameTip
from langgraph_wyrd.store import frames, strands, tips
from langgraph_wyrd.store.collector import Held
from langgraph_wyrd.store.frames import EMPTY, Entry, Frame
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.strands import Place, ReadRow
from langgraph_wyrd.store.tips import Tip
from langgraph_wyrd.store.values import Codec, is_row, kind, text_checksum
from langgraph_wyrd.types.migrations import MigrationRaised, unmarked
from langgraph_wyrd.types.telling import migration_raised


class Stored(NamedTuple):
    """A row of wyrd_checkpoints, with its thread."""

    thread: int
    tick: int
    strands: int
    buried: str | None
    thread_id: str
    ns: str
    id: str
    parent: str | None
    ts: str | None
    metadata: str
    exact: bytes | None
    strand: int
    seq: int
    length: int
    chain: int
    sum: int
    head: str | None  # the newest checkpoint that the thread should have

    @property
    def place(self) -> Place:
        return Place(self.strand, self.seq, self.length, self.chain)


class Write(NamedTuple):
    """A row of wyrd_writes."""

    task: str
    idx: int
    channel: str
    path: str
    shape: str
    data: bytes
    sum: int


class StrandDamaged(CheckpointDamaged):
    """Rows of a strand are not what was written. Says which, for who can mend it."""

    def __init__(self, message: str, number: int, places: set[Place], blocks: bool) -> None:
        super().__init__(message)
        self.number = number
        self.places = places
        self.blocks = blocks


# What is derived of a checkpoint has a few bits of its row's checksum for itself: wrong, it is read
# anew, and the row stays good.
_DERIVED = 0x7FFF
_DAMAGED = 0x5A5A_5A5A_5A5A_0000  # turned over in the checksum of what was damaged already


def row_sum(
    thread: int,
    ns: str,
    id: str,
    parent: str | None,
    ts: str | None,
    metadata: str,
    exact: bytes | None,
    place: Sequence[int],
) -> int:
    """The checksum of a checkpoint's row, but for what is derived."""
    return text_checksum(thread, ns, id, parent, ts, metadata, exact, *place) & ~_DERIVED


def with_derived(total: int, due: str | None, root: str | None, said: int) -> int:
    """A row's checksum with the bits of what is derived; `said`: its own rows in the ledger."""
    return total & ~_DERIVED | (text_checksum(due, root, said) & _DERIVED)


def same_derived(stored: int, due: str | None, root: str | None, said: int) -> bool:
    """Whether what is derived of a checkpoint is what was written."""
    return with_derived(stored, due, root, said) == stored


def same_row(total: int, stored: int) -> bool:
    """Whether two checksums are of the same row, whatever is derived of it."""
    return total & ~_DERIVED == stored & ~_DERIVED


def sum_again(stored: int, was: Sequence[Any], now: Sequence[Any]) -> int:
    """The checksum of a row that is written with other columns: what was damaged stays so, and is
    not put right by turning a bit back."""
    bits = stored & _DERIVED
    total = row_sum(*now) | bits
    return total if same_row(row_sum(*was), stored) else total ^ _DAMAGED


def write_sum(ns: str, checkpoint: str, task: str, idx: int, channel: str, path: str,
              shape: str, data: bytes) -> int:  # fmt: skip
    return text_checksum(ns, checkpoint, task, idx, channel, path, shape, data)


def checked(row: Sequence[Any]) -> Stored:
    """A checkpoint's row, after its checksum."""
    found = Stored(*row)
    try:
        total = row_sum(
            found.thread, found.ns, found.id, found.parent, found.ts, found.metadata, found.exact,
            found.place,
        )  # fmt: skip
        good = same_row(total, found.sum)
    except TypeError:  # a column is of another type than it was
        good = False
    if not good:
        raise CheckpointDamaged(
            f"checkpoint {found.id} of thread {given(found.thread_id)!r} fails its checksum"
        )
    return found


@dataclass(frozen=True, slots=True)
class LoadedStrand:
    """The rows of a strand, verified, and the elements that they bring, one behind the other."""

    rows: Sequence[ReadRow]
    elements: list[bytes]


def read_strands(
    codec: Codec, thread: int, wanted: dict[int, set[Place]], *, blocks: bool = True
) -> Plan[dict[int, LoadedStrand]]:
    """Every strand up to the newest place wanted of it, verified. One round trip for all."""
    if not wanted:
        return {}
    order = sorted(wanted)
    answers = yield [
        Ask("strand", (thread, number, max(place.seq for place in wanted[number])))
        for number in order
    ]
    loaded = {}
    for number, rows in zip(order, answers, strict=True):
        try:
            strands.verify(rows, wanted[number])
        except CheckpointDamaged as error:
            raise StrandDamaged(str(error), number, wanted[number], blocks) from error
        elements: list[bytes] = []
        for row in rows if blocks else ():
            if row[6]:
                elements += codec.open_block(row[6])
        loaded[number] = LoadedStrand(rows, elements)
    return loaded


# ---- frames


def read_frames(codec: Codec, thread: int, places: Iterable[Place]) -> Plan[dict[Place, Frame]]:
    """The frames at these places."""
    frames_at, _ = yield from frames_and_tips(codec, thread, places)
    return frames_at


def frames_and_tips(
    codec: Codec, thread: int, places: Iterable[Place]
) -> Plan[tuple[dict[Place, Frame], dict[Place, FrameTip]]]:
    """The frames at these places, and what it takes to put a patch behind each of them."""
    wanted: dict[int, set[Place]] = {}
    for place in places:
        wanted.setdefault(place.strand, set()).add(place)
    loaded = yield from read_strands(codec, thread, wanted, blocks=False)
    found: dict[Place, Frame] = {}
    ends: dict[Place, FrameTip] = {}
    for number, strand in loaded.items():
        at = {place.seq: place for place in wanted[number]}
        frame, size = EMPTY, 0
        for _, seq, _, _, _, _, data, _, chain in strand.rows:
            frame = frames.apply_patch(frame, data)
            size += len(data)
            if (here := at.get(seq)) is not None:
                if frame.length != here.length:
                    raise CheckpointDamaged(
                        f"frame {number}/{seq} has {frame.length} parts, not {here.length}"
                    )
                found[here] = frame
                whole = len(strand.rows[0][6])
                ends[here] = FrameTip(number, seq, chain, size, whole)
    return found, ends


# ---- values


def read_values(
    codec: Codec, thread: int, wanted: Sequence[Frame]
) -> Plan[tuple[dict[Place, Any], dict[int, LoadedStrand]]]:
    """The values that these frames name, by place. Elements that they share are loaded once."""
    shapes: dict[int, str] = {}
    for frame in wanted:
        for entry in frame.channels.values():
            if entry.place is not None:
                shapes[entry.place.strand] = entry.shape
    places = frames.places(wanted)
    loaded = yield from read_strands(codec, thread, places)
    values: dict[Place, Any] = {}
    with Held():
        for number, strand in loaded.items():
            values.update(values_at(codec, shapes[number], strand, places[number]))
    return values, loaded


def values_at(
    codec: Codec, shape: str, strand: LoadedStrand, places: set[Place]
) -> dict[Place, Any]:
    at = {place.seq: place for place in places}
    made: dict[int, Any] = {}
    if len(at) == 1:  # the bytes that are live, then one call
        elements = live_elements(shape, strand, set(at))
        made = {seq: codec.load(shape, live) for seq, live in elements.items()}
        lengths = {seq: len(live) for seq, live in elements.items()}
    elif kind(shape) == "l":  # many versions: each element is loaded once
        lists = strands.replay_list(strand.rows, codec.load_elements(strand.elements), set(at))
        lengths = {seq: len(live) for seq, live in lists.items()}
        made = {seq: codec.wrap(shape, live) for seq, live in lists.items()}
    elif kind(shape) == "d":
        dicts = strands.replay_dict(
            strand.rows, _keys(strand), codec.load_entries(strand.elements), set(at)
        )
        lengths = {seq: len(live) for seq, live in dicts.items()}
        made = {
            seq: codec.wrap(shape, dict(entry for entry in live.values() if entry is not None))
            for seq, live in dicts.items()
        }
    else:
        lengths = {row[1]: row[5] for row in strand.rows}
        for row, element in zip(strand.rows, strand.elements, strict=True):
            made[row[1]] = codec.load(shape, [element])
    for seq, place in at.items():
        if lengths[seq] != place.length:
            raise CheckpointDamaged(
                f"version {place.strand}/{seq} has {lengths[seq]} elements, not {place.length}"
            )
    return {place: made[seq] for seq, place in at.items()}


def live_elements(shape: str, strand: LoadedStrand, wanted: set[int]) -> dict[int, list[bytes]]:
    """The packed elements at each wanted version."""
    if kind(shape) == "d":
        found = strands.replay_dict(strand.rows, _keys(strand), strand.elements, wanted)
        return {seq: list(live.values()) for seq, live in found.items()}
    return strands.replay_list(strand.rows, strand.elements, wanted)


def _keys(strand: LoadedStrand) -> list[bytes]:
    """The packed key of each element; one that a row takes out is nothing but its key."""
    return [Codec.entry_key(element) for element in strand.elements]


def tip_of(codec: Codec, entry: Entry, strand: LoadedStrand, value: Any) -> Tip:
    """What a write behind this value has to know."""
    assert entry.place is not None
    elements = live_elements(entry.shape, strand, {entry.place.seq})[entry.place.seq]
    dead = sum(map(len, strand.elements)) - sum(map(len, elements))
    inner = value.value if entry.shape[0] == "D" else value
    if kind(entry.shape) == "d":
        entries = dict(zip(inner, elements, strict=True))
        return tips.dict_tip(entry.shape, entry.place, entries, dead)
    if kind(entry.shape) == "l":
        prints = [
            element[1:] if is_row(element) else codec.fingerprint_of_loaded(element, item)
            for element, item in zip(elements, inner, strict=True)
        ]
    else:
        prints = [element[1:] for element in elements]
    return tips.list_tip(entry.shape, entry.place, prints, elements, dead)


def held_values(codec: Codec, frame: Frame, tips: Mapping[str, Tip]) -> dict[Place, Any]:
    """The values of a frame whose packed elements are at hand, by place."""
    found: dict[Place, Any] = {}
    with Held():
        for name, entry in frame.channels.items():
            tip = tips.get(name)
            if tip is not None and tip.elements is not None and tip.place == entry.place:
                found[tip.place] = codec.load(entry.shape, tip.elements)
    return found


def value_of(codec: Codec, name: str, entry: Entry, values: dict[Place, Any], *place: str) -> Any:
    """A channel's value; `place`: thread, namespace and checkpoint, as far as they are known."""
    if entry.place is not None:
        return brought(codec, name, values[entry.place], *place)
    assert entry.inline is not None
    return brought(codec, name, codec.open_value(entry.shape, entry.inline), *place)


def brought(codec: Codec, name: str, value: Any, *place: str) -> Any:
    """What a channel holds, or what was written to it, after the migrations of the channel."""
    if name not in codec.classes.channels:
        return value
    delta = type(codec.bare(value)) is not type(value)
    try:
        made = codec.classes.value(name, codec.bare(value))
    except MigrationRaised as error:
        thread, ns, id = place or ("", "", "")
        migration_raised(codec.classes, thread, ns, id, name, error)
        made = unmarked(codec.bare(value))
    return codec.wrap("D", made) if delta else made


# ---- writes


def loaded_writes(
    codec: Codec, ns: str, checkpoint: str, rows: Iterable[Sequence[Any]]
) -> list[tuple[tuple[str, str, int], tuple[str, str, Any]]]:
    """(sort key, (task, channel, value)) of each write of a checkpoint, in order."""
    found = []
    checked = [checked_write(ns, checkpoint, row) for row in rows]
    for write in all_there(ns, checkpoint, checked):
        value = codec.open_value(write.shape, write.data)
        task = given(write.task)
        found.append(((given(write.path), task, write.idx), (task, given(write.channel), value)))
    return sorted(found, key=lambda each: each[0])


def checked_write(ns: str, checkpoint: str, row: Sequence[Any]) -> Write:
    """A write's row, after its checksum."""
    write = Write(*row)
    try:
        good = said_by(ns, checkpoint, write) is not None
    except TypeError:  # a column is of another type than it was
        good = False
    if not good:
        raise CheckpointDamaged(
            f"the write of task {write.task} to {given(write.channel)!r} at checkpoint "
            f"{checkpoint} fails its checksum"
        )
    return write


def said_by(ns: str, checkpoint: str, write: Write) -> marks.Said | None:
    """What a write says of those beside it; None: its checksum is wrong."""
    return marks.said(write_sum(ns, checkpoint, *write[:6]) ^ write.sum)


def all_there(ns: str, checkpoint: str, writes: list[Write]) -> list[Write]:
    """A checkpoint's checked writes, ordered by task: of none is a part missing.

    A task that lacks one would count as finished without having done all that it did; or it would
    take an answer for that to another question.
    """
    for task, held in by_task(writes).items():
        beside = refuse_half(ns, checkpoint, task, held)
        if lost := control_lost(ns, checkpoint, held, beside):
            names = ", ".join(marks.NAMES[idx] for idx in lost)
            raise CheckpointDamaged(f"{names} of task {task} at checkpoint {checkpoint} is missing")
    return writes


def by_task(writes: Iterable[Write]) -> dict[str, list[Write]]:
    found: dict[str, list[Write]] = {}
    for write in writes:
        found.setdefault(write.task, []).append(write)
    return found


def refuse_half(ns: str, checkpoint: str, task: str, held: Sequence[Write]) -> int:
    """Raise if an ordinary write of a task is missing; what the last says of its control writes."""
    numbers = [write.idx for write in held]
    last = held[numbers.index(max(numbers))]
    if last.idx < 0:
        return 0
    said = said_by(ns, checkpoint, last) or marks.NOTHING
    # Errors and interrupts have numbers of their own: those beside them may leave gaps.
    numbered = said.many or min(numbers) < 0 or said.beside
    missing = not numbered and last.idx != len(held) - 1
    if not said.is_last or missing or sum(idx >= 0 for idx in numbers) < said.many:
        raise CheckpointDamaged(f"a write of task {task} at checkpoint {checkpoint} is missing")
    return said.beside


def control_lost(ns: str, checkpoint: str, held: Sequence[Write], beside: int) -> list[int]:
    """The numbers of a task's control writes that others say are there, and are not.

    `beside` is what its last ordinary write says.
    """
    there = 0
    for write in held:
        if write.idx < 0:
            there |= marks.bit(write.idx)
            beside |= (said_by(ns, checkpoint, write) or marks.NOTHING).beside
    return [idx for idx in marks.NAMES if marks.bit(idx) & beside & ~there]


def opened(codec: Codec, write: Write) -> Any:
    """The value of a write."""
    return brought(codec, given(write.channel), codec.open_value(write.shape, write.data))


def open_writes(codec: Codec, writes: Sequence[Write]) -> list[Any]:
    """The values of many writes. Small lists, as a delta channel has, are loaded in one call."""
    blocks = [codec.open_block(write.data) for write in writes]
    lists = [block for write, block in zip(writes, blocks, strict=True) if write.shape == "l"]
    with Held():
        items = iter(codec.load_elements([element for block in lists for element in block]))
        values = [
            list(islice(items, len(block)))
            if write.shape == "l"
            else codec.load(write.shape, block)
            for write, block in zip(writes, blocks, strict=True)
        ]
    if not codec.classes.channels:
        return values
    return [
        brought(codec, given(write.channel), value)
        for write, value in zip(writes, values, strict=True)
    ]
