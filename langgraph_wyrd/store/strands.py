"""A channel's successive values as a strand: a list of splices, each stored as one row.

A splice says: keep the first `keep` elements, cut `cut`, put `count` new ones there. Version `seq`
of a strand is all its rows up to `seq`, applied in order (`part` numbers the splices of one
version, the one furthest to the right first, so that positions are those of the version before).
In a strand of dict entries a splice instead names `cut` keys to take out, then `count` entries to
put in.

Each row's `sum` is over its place, its shape and its bytes; its `chain` is over the chain before
it and its own sum. So a load can tell a changed, a missing, a swapped and an alien row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeVar

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.store.values import checksum

_MASK = (1 << 63) - 1
T = TypeVar("T")


class Row(NamedTuple):
    """One splice, as it is stored."""

    strand: int
    seq: int
    part: int
    keep: int
    cut: int
    added: int
    data: bytes
    sum: int
    chain: int


class Place(NamedTuple):
    """Where a version of a value stands: enough to load it and to know that it is whole."""

    strand: int
    seq: int
    length: int
    chain: int


class Edit(NamedTuple):
    """Cut `cut` elements behind the first `keep`, and put new[start:stop] there."""

    keep: int
    cut: int
    start: int
    stop: int


def splice(
    strand: int, seq: int, part: int, keep: int, cut: int, count: int, data: bytes, chain: int
) -> Row:
    """A row behind a chain (0 starts one)."""
    total = checksum(data, strand, seq, part, keep, cut, count)
    return Row(strand, seq, part, keep, cut, count, data, total, link(chain, total))


def link(chain: int, total: int) -> int:
    return ((chain ^ total) * 0x9E3779B97F4A7C15 + (chain >> 7)) & _MASK


# Rows that are read stay plain tuples: the garbage collector lets go of those at once, and a long
# list comes in many rows.
ReadRow = tuple[int, int, int, int, int, int, bytes, int, int]


def verify(rows: Sequence[ReadRow], places: Iterable[Place]) -> None:
    """Raise CheckpointDamaged unless these rows, the first of a strand, bear all the places."""
    try:
        _verify(rows, places)
    except (TypeError, OverflowError, MemoryError) as error:  # as text, many times over
        raise CheckpointDamaged("a splice has columns of other types than it had") from error


def _verify(rows: Sequence[ReadRow], places: Iterable[Place]) -> None:
    chain, ends = 0, {}
    for strand, seq, part, keep, cut, added, data, total, stored in rows:
        if checksum(data, strand, seq, part, keep, cut, added) != total:
            raise CheckpointDamaged(f"splice {strand}/{seq}/{part} fails its checksum")
        chain = link(chain, total)
        if chain != stored:
            raise CheckpointDamaged(
                f"splice {strand}/{seq}/{part} does not follow from the one before: a row is "
                "missing, or not where it was written"
            )
        ends[seq] = chain
    for place in places:
        if ends.get(place.seq) != place.chain:
            raise CheckpointDamaged(
                f"version {place.strand}/{place.seq} is not what was stored: its last splice is "
                "missing, or another one stands there"
            )


def replay_list(rows: Sequence[ReadRow], items: list[T], wanted: set[int]) -> dict[int, list[T]]:
    """The elements at each wanted seq; `items` are the new elements of all rows."""
    live: list[T] = []
    found: dict[int, list[T]] = {}
    start, last = 0, len(rows) - 1
    if len(wanted) == 1 and rows[last][1] in wanted and _only_grows(rows):
        return {rows[last][1]: items}
    for index, (_, seq, _, keep, cut, added, *_rest) in enumerate(rows):
        live[keep : keep + cut] = items[start : start + added]
        start += added
        if seq in wanted and (index == last or rows[index + 1][1] != seq):
            found[seq] = live.copy()
    return found


def _only_grows(rows: Sequence[ReadRow]) -> bool:
    length = 0
    for row in rows:
        if row[4] or row[3] != length:
            return False
        length += row[5]
    return True


def replay_dict(
    rows: Sequence[ReadRow], keys: list[bytes], items: list[T], wanted: set[int]
) -> dict[int, dict[bytes, T]]:
    """The entries at each wanted seq, by packed key.

    `keys` and `items` are of all rows; where a row takes a key out, its item stands for nothing.
    """
    live: dict[bytes, T] = {}
    found: dict[int, dict[bytes, T]] = {}
    start = 0
    for _, seq, _, _, cut, added, *_rest in rows:
        for key in keys[start : start + cut]:
            live.pop(key, None)
        put, stop = start + cut, start + cut + added
        live.update(zip(keys[put:stop], items[put:stop], strict=True))
        start = stop
        if seq in wanted:
            found[seq] = live.copy()
    return found


_MOST_EDITS = 32
_MOST_COMPARED = 2_000_000  # pairs of elements that are worth a search for what was kept


def edits(old: Sequence[int], new: Sequence[int]) -> list[Edit]:
    """The splices that make `new` of `old` (marks of elements), the rightmost first."""
    if old == new:
        return []
    first = _common(old, new)
    tail = _common(old[::-1], new[::-1], min(len(old), len(new)) - first)
    a, b = old[first : len(old) - tail], new[first : len(new) - tail]
    found: list[Edit] = []
    if len(a) == len(b):
        found = _in_place(a, b, first)
        if sum(edit.cut for edit in found) * 2 <= len(a):
            return found[::-1] if len(found) <= _MOST_EDITS else [_all_of(found)]
        found = []  # most positions differ: perhaps everything moved by a few
    if a and b and len(a) * len(b) <= _MOST_COMPARED:
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            if tag != "equal":
                found.append(Edit(first + i1, i2 - i1, first + j1, first + j2))
    if not found or len(found) > _MOST_EDITS:
        return [Edit(first, len(a), first, first + len(b))]
    return found[::-1]


def _all_of(found: Sequence[Edit]) -> Edit:
    """One edit over all of them (of equally long stretches, so positions agree)."""
    start, stop = found[0].keep, found[-1].keep + found[-1].cut
    return Edit(start, stop - start, start, stop)


def _common(a: Sequence[int], b: Sequence[int], most: int | None = None) -> int:
    count = min(len(a), len(b)) if most is None else most
    if a[:count] == b[:count]:
        return count
    low, high = 0, count  # a[:low] == b[:low]; halving compares slices in C
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _in_place(a: Sequence[int], b: Sequence[int], offset: int) -> list[Edit]:
    """Edits of equally long stretches, position by position."""
    found: list[Edit] = []
    for at, (x, y) in enumerate(zip(a, b, strict=True)):
        if x == y:
            continue
        place = offset + at
        if found and found[-1].keep + found[-1].cut == place:
            before = found.pop()
            found.append(Edit(before.keep, before.cut + 1, before.start, place + 1))
        else:
            found.append(Edit(place, 1, place, place + 1))
    return found
