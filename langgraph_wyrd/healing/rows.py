"""Rows that carry a checksum of their own, put right where it can be proved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import flips
from langgraph_wyrd.healing.copies import Copies
from langgraph_wyrd.plans import loading
from langgraph_wyrd.plans.loading import Stored, Write
from langgraph_wyrd.store.values import Codec

Fits = Callable[[list[Any]], bool]


def checkpoint(raw: Sequence[Any], others: Iterable[Sequence[Any]]) -> Stored | None:
    """A checkpoint's row; `others` are those of its thread. None: it can't be had back."""
    fields = Stored._fields
    others = list(others)
    for row in _tries(list(raw), [fields.index(name) for name in _OF_CHECKPOINT]):
        if fits(row):
            return Stored(*row)
    at = fields.index("parent")
    for parent in (None, *(other[_ID] for other in others)):
        row = list(raw)
        row[at] = parent
        if fits(row):
            return Stored(*row)
    texts = ("metadata", "exact", "ts", "parent", "id", "ns")
    found = in_its_place(raw, others)
    if found is not None:
        return found
    found = flips.unless_vain(raw, lambda: _flipped(list(raw), texts, fields, fits))
    return None if found is None else Stored(*found)


def in_its_place(raw: Sequence[Any], others: Iterable[Sequence[Any]]) -> Stored | None:
    """The row that stands in another's place, if one of these does."""
    for other in others:
        row = [*raw[: _ID + 1], *other[_ID + 1 : -1], raw[-1]]
        if other[_ID] != raw[_ID] and fits(row):
            return Stored(*row)
    return None


_ID = Stored._fields.index("id")
_OF_CHECKPOINT = ("sum", "chain", "length", "seq", "strand")


def fits(row: Sequence[Any]) -> bool:
    """Whether a checkpoint's row is what was written."""
    try:
        loading.checked(row)
    except CheckpointDamaged:
        return False
    return True


def write(
    codec: Codec, ns: str, checkpoint: str, raw: Sequence[Any], copies: Copies | None
) -> Write | None:
    """A task's write; None: it can't be had back."""

    def fitting(row: list[Any]) -> bool:
        try:
            loading.checked_write(ns, checkpoint, row)
        except CheckpointDamaged:
            return False
        return True

    fields = Write._fields
    for row in _tries(list(raw), [fields.index("idx")]):
        if fitting(row):
            return Write(*row)
    texts = ("data", "channel", "path", "shape", "task")
    found = flips.unless_vain(
        (ns, checkpoint, *raw), lambda: _flipped(list(raw), texts, fields, fitting)
    )
    if found is not None:
        return Write(*found)
    for alien in () if copies is None else copies.alien_writes:
        row = [*raw[:2], *alien[2:]]
        if fitting(row):
            return Write(*row)
    at = fields.index("data")
    for elements in () if copies is None else copies.all_runs(raw[at]):
        row = list(raw)
        row[at] = codec.block(elements)
        if fitting(row):
            return Write(*row)
    return None


def _tries(row: list[Any], places: Sequence[int]) -> Iterator[list[Any]]:
    """The row with each of some numbers a bit different."""
    for at in places:
        held = row[at]
        if type(held) is int:
            for number in flips.numbers(held):
                row[at] = number
                yield row
            row[at] = held


def _flipped(row: list[Any], names: Sequence[str], fields: Sequence[str], fits: Fits) -> Any:
    """The row with a byte of one of its texts put right."""
    for name in names:
        at = fields.index(name)
        held = row[at]
        found: Any = None

        def fit(tried: Any, at: int = at) -> bool:
            row[at] = bytes(tried) if isinstance(tried, bytearray) else tried
            return fits(row)

        if isinstance(held, str):
            found = flips.text_put_right(held, fit)
        elif isinstance(held, bytes):
            found = flips.put_right(held, fit)
        row[at] = held if found is None else found
        if found is not None:
            return row
    return None


def flipped_back(
    row: Sequence[Any], texts: Sequence[int], total: int, fits: Callable[[Any], bool]
) -> tuple[Any, ...] | None:
    """The row with a bit of its checksum, or a byte of one of its texts, put right."""
    for number in flips.numbers(row[total]) if isinstance(row[total], int) else ():
        if fits(tried := (*row[:total], number, *row[total + 1 :])):
            return tried
    for at in texts:
        if isinstance(row[at], str):

            def fit(text: str, at: int = at) -> bool:
                return fits((*row[:at], text, *row[at + 1 :]))

            found = flips.text_put_right(row[at], fit)
            if found is not None:
                return (*row[:at], found, *row[at + 1 :])
    return None


def put_back(
    bad: Sequence[tuple[Any, ...]], keys: int, fits: Callable[[tuple[Any, ...]], bool]
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Of rows that stand in each other's places, by their keys, what stood there."""
    found = {}
    for row in bad:
        for other in bad:
            tried = (*row[:keys], *other[keys:])
            if other is not row and fits(tried):
                found[row[:keys]] = tried
                break
    return found


def checkpoint_of(raw: Sequence[Any]) -> tuple[str, str, str | None]:
    """Namespace, id and parent of a row that may be damaged."""
    at = {name: raw[index] for index, name in enumerate(Stored._fields)}
    parent = at["parent"]
    return str(at["ns"]), str(at["id"]), parent if isinstance(parent, str) else None
