"""What changed in a channel, as an operation on its value before; and values from operations.

An operation is plain data:

- `["w", snapshot, tag, data]`: a whole value, as the serde gives it
- `["l", snapshot, parts]`: a whole list
- `["s", snapshot, [[keep, cut, parts], …]]`: edits of the list before, the rightmost first
- `["d", snapshot, count, body]`: a whole dict
- `["p", snapshot, [removed keys], count, body]`: keys taken out of the dict before, entries set
- `["u", user, operation]`: a user's value, which is stored in wyrd_user_data; the operation (or
  None) says what is left when it is erased (see `checkpoints.user_values`)

`snapshot` says that the value is a `_DeltaSnapshot` of LangGraph's DeltaChannel.

A saver remembers of each channel only fingerprints of what it stored last, so a put compares and
never reads back. Elements are compared by a run at a time; one that was changed in place has
another fingerprint, so nothing is assumed to be equal.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import xxhash

from langgraph_wyrd.codec.messages import alike, pack
from langgraph_wyrd.codec.values import (
    ROWS,
    SCALARS,
    Codec,
    NotElements,
    Part,
    array_header,
    bare,
    counted,
    wrapped,
)

Operation = list[Any]

REF = "u"  # the kind of an operation that stands for a user's value
RUN = 32  # elements that are compared in one go
_print = xxhash.xxh3_64_intdigest


class Whole(NamedTuple):
    """Fingerprint of a value that is stored whole; `marks` are those of a list's elements."""

    mark: int
    size: int
    snapshot: bool
    marks: array[int] | None = None


class ListOf(NamedTuple):
    """Fingerprints of a list: of each element, of whole runs, and of what is behind the last."""

    marks: array[int]
    runs: list[int]
    rest: int
    size: int
    snapshot: bool
    rows: bool  # whether all elements are messages that the serde gives back as their rows say


class DictOf(NamedTuple):
    """Fingerprints of a dict's entries, in their order."""

    marks: dict[str, int]
    size: int
    snapshot: bool


Fingerprint = Whole | ListOf | DictOf


def operation(
    codec: Codec, before: Fingerprint | None, value: Any, channel: str
) -> tuple[Operation | None, Fingerprint]:
    """What makes `value` of the value before, None if nothing does, and its fingerprint."""
    snapshot, inner, kind = _looked_at(codec, value)
    if kind != "w":
        if before is not None and before.snapshot != snapshot:
            before = None
        try:
            if kind == "l":
                known = before if type(before) is ListOf else None
                return _list_operation(codec, known, inner, channel, snapshot)
            old = before if type(before) is DictOf else None
            return _dict_operation(codec, old, inner, channel, snapshot)
        except NotElements:
            pass
    tag, data = codec.dump(inner, channel)
    mark, is_snapshot = _print(data, len(tag)), bare(value)[0]
    if type(before) is Whole and before.mark == mark and before.snapshot == is_snapshot:
        return None, before
    return ["w", snapshot, tag, data], Whole(mark, len(data), is_snapshot, _marks(codec, inner))


def whole(codec: Codec, value: Any, channel: str, known: Fingerprint | None = None) -> Operation:
    """What makes `value` of nothing; `known` is its fingerprint."""
    snapshot, inner, kind = _looked_at(codec, value)
    with suppress(NotElements):
        if kind == "l":
            rows = pack(inner) if inner and type(known) is ListOf and known.rows else None
            parts = codec.pack_list(inner, channel) if rows is None else [[ROWS, rows]]
            return ["l", snapshot, parts]
        if kind == "d":
            entries = codec.pack_entries(inner, channel)
            return ["d", snapshot, len(entries), b"".join(entries.values())]
    return ["w", snapshot, *codec.dump(inner, channel)]


def _looked_at(codec: Codec, value: Any) -> tuple[bool, Any, str]:
    """Whether a value is a DeltaChannel's snapshot, what is stored of it, and in which form."""
    snapshot, inner = bare(value) if codec.splits else (False, value)
    return snapshot, inner, codec.splittable(inner)


def _marks(codec: Codec, value: Any) -> array[int] | None:
    """The marks of a list that is stored whole: they tell which of its elements are new."""
    if type(value) is not list or not value or type(value[0]) in SCALARS:
        return None
    return array("Q", [_print(codec.quick([each])) for each in value])


# ---- lists


def _list_operation(
    codec: Codec, before: ListOf | None, values: list[Any], channel: str, snapshot: bool
) -> tuple[Operation | None, Fingerprint]:
    if before is None:
        parts = codec.pack_list(values, channel)
        size, rows = _size(parts), _are_rows(parts)
        return ["l", snapshot, parts], list_fingerprint(codec, values, size, snapshot, rows)
    old, quick = before.marks, codec.quick
    count, known = len(values), len(old)
    same, tail = 0, None
    for mark in before.runs:
        if _print(quick(values[same : same + RUN])) != mark:
            break
        same += RUN
    if same == len(before.runs) * RUN:
        tail = alike(values[same:known])  # what is behind the runs, if it is messages
        if _print(tail if tail is not None else quick(values[same:known])) == before.rest:
            same = known
    if same == known == count:
        return None, before
    if same == known and (new := codec.pack_each(values[known:])) is not None:
        # Nothing but the end is new, and it is messages: packed once, for both.
        marks = old + array("Q", map(_print, new))
        data = array_header(len(new)) + b"".join([each[1:] for each in new])
        runs, more = before.runs, None
        if tail is not None and count < (len(runs) + 1) * RUN:
            more = alike(values[known:])
        if tail is not None and more is not None:
            rest = _print(tail + more)
        else:
            runs, rest = _runs(codec, values, runs)
        size = before.size + len(data)
        change = ["s", snapshot, [[known, 0, [[ROWS, data]]]]]
        return change, ListOf(marks, runs, rest, size, snapshot, before.rows)
    marks = old[:same]
    marks.extend(map(_print, codec.elements(values[same:])))
    edits = edits_between(old, marks)
    if not edits:
        return None, before
    size, rows, made = before.size, before.rows, []
    for edit in edits:
        parts = codec.pack_list(values[edit.start : edit.stop], channel, edit.start)
        made.append([edit.keep, edit.cut, parts])
        size += _size(parts)
        rows = rows and _are_rows(parts)
        if edit.cut:
            size -= before.size * edit.cut // known
    runs, rest = _runs(codec, values, before.runs[: edits[-1].keep // RUN])
    return ["s", snapshot, made], ListOf(marks, runs, rest, size, snapshot, rows)


def list_fingerprint(
    codec: Codec, values: Sequence[Any], size: int, snapshot: bool, rows: bool
) -> ListOf:
    """The fingerprint of a whole list."""
    marks = array("Q", map(_print, codec.elements(values)))
    return ListOf(marks, *_runs(codec, values, []), size, snapshot, rows)


def _runs(codec: Codec, values: Sequence[Any], known: list[int]) -> tuple[list[int], int]:
    """Fingerprints of a list's runs, of which the first are known, and of what is behind them."""
    runs = known.copy()
    for start in range(len(known) * RUN, len(values) - RUN + 1, RUN):
        runs.append(_print(codec.quick(values[start : start + RUN])))
    return runs, _print(codec.quick(values[len(runs) * RUN :]))


def _size(parts: Sequence[Part]) -> int:
    return sum([len(part[1]) for part in parts])


def _are_rows(parts: Sequence[Part]) -> bool:
    return all(part[0] == ROWS for part in parts)


class Edit(NamedTuple):
    """Cut `cut` elements behind the first `keep`, and put new[start:stop] there."""

    keep: int
    cut: int
    start: int
    stop: int


_MOST_EDITS = 32
_MOST_COMPARED = 2_000_000  # pairs of elements that are worth a search for what was kept


def edits_between(old: Sequence[int], new: Sequence[int]) -> list[Edit]:
    """The edits that make `new` of `old` (marks of elements), the rightmost first."""
    if old == new:
        return []
    first = _common(old, new)
    if first == len(old):
        return [Edit(first, 0, first, len(new))]
    tail = _common(old[::-1], new[::-1], min(len(old), len(new)) - first)
    a, b = old[first : len(old) - tail], new[first : len(new) - tail]
    found: list[Edit] = []
    if len(a) == len(b):
        found = _in_place(a, b, first)
        if sum(edit.cut for edit in found) * 2 > len(a):
            found = []  # most positions differ: perhaps everything moved by a few
    if not found and 0 < len(a) * len(b) <= _MOST_COMPARED:
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            if tag != "equal":
                found.append(Edit(first + i1, i2 - i1, first + j1, first + j2))
    if not found or len(found) > _MOST_EDITS:
        return [Edit(first, len(a), first, first + len(b))]
    return found[::-1]


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


# ---- dicts


def _dict_operation(
    codec: Codec, before: DictOf | None, value: dict[str, Any], channel: str, snapshot: bool
) -> tuple[Operation | None, Fingerprint]:
    entries = codec.pack_entries(value, channel)
    marks = {key: _print(entry) for key, entry in entries.items()}
    size = sum(map(len, entries.values()))
    after = DictOf(marks, size, snapshot)
    if before is not None:
        old = before.marks
        removed = [key for key in old if key not in marks]
        put = [key for key, mark in marks.items() if old.get(key) != mark]
        added = [key for key in put if key not in old]
        kept = [key for key in old if key in marks]
        if kept + added == list(marks):
            if not removed and not put:
                return None, before
            body = b"".join([entries[key] for key in put])
            if len(body) * 2 <= size:
                return ["p", snapshot, removed, len(put), body], after
    return ["d", snapshot, len(entries), b"".join(entries.values())], after


def fresh_places(
    operation: Operation, before: Fingerprint | None, after: Fingerprint
) -> list[int] | None:
    """Where in the list that an operation gives its new elements stand; None: it is no list."""
    kind, snapshot, held, *_ = operation
    if snapshot:
        return None
    if kind == "l":
        return list(range(counted(held)))
    if kind != "s":
        if type(after) is not Whole or after.marks is None:
            return None
        old = before.marks if type(before) is Whole or type(before) is ListOf else None
        edits = edits_between(old or array("Q"), after.marks)
        return [at for edit in reversed(edits) for at in range(edit.start, edit.stop)]
    places: list[int] = []
    shift = 0
    for keep, cut, parts in reversed(held):
        count = counted(parts)
        places += range(keep + shift, keep + shift + count)
        shift += count - cut
    return places


# ---- values from operations


class Value:
    """The value of a channel, as the operations that make it, oldest first.

    They are carried out when the value is asked for, each time anew: two that were asked for share
    no object, and of a channel that is removed again nothing is ever decoded.
    """

    __slots__ = ("_codec", "_operations")

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._operations: list[Operation] = []

    def apply(self, operation: Operation) -> None:
        """Go one operation further."""
        if operation[0] in "sp":
            self._operations.append(operation)
        else:
            self._operations = [operation]

    def get(self) -> Any:
        """The value as it is now."""
        first, *more = self._operations
        kind = first[0]
        if kind == "w":
            value = self._codec.load(first[2], first[3])
        elif kind == "l":
            value = self._list(first, more)
        else:
            value = self._dict(first, more)
        return wrapped(self._operations[-1][1], value)

    def _list(self, first: Operation, more: Sequence[Operation]) -> list[Any]:
        """Elements stay packed until some are cut out: mostly none are, and all parts are then
        loaded in one call."""
        load, parts = self._codec.load_parts, list(first[2])
        values, length = None, counted(parts)
        for operation in more:
            for keep, cut, new in operation[2]:
                if values is None and keep == length and not cut:
                    parts += new
                    length += counted(new)
                    continue
                if values is None:
                    values = load(parts)
                if keep + cut > len(values):
                    raise ValueError("an edit does not fit the list that it changes")
                values[keep : keep + cut] = load(new)
        return load(parts) if values is None else values

    def _dict(self, first: Operation, more: Sequence[Operation]) -> dict[str, Any]:
        load = self._codec.load_entries
        value = load(first[3], first[2])
        for _, _, removed, count, body in more:
            for key in removed:
                del value[key]
            value.update(load(body, count))
        return value

    def copy(self) -> Value:
        """The value as it is now, whatever is applied to this one later."""
        made = Value(self._codec)
        made._operations = self._operations.copy()
        return made

    def fingerprint(self, channel: str) -> Fingerprint:
        """The fingerprint that the saver has which stored the value."""
        first, *more = self._operations
        if first[0] == "w":
            _, snapshot, tag, data = first
            # Of what another serde packed nothing is known: load it, as it may be a list.
            value = None if self._codec.splits else self.get()
            marks, snapshot = _marks(self._codec, value), snapshot or bare(value)[0]
            return Whole(_print(data, len(tag)), len(data), snapshot, marks)
        value = self.get()
        if first[0] == "d":
            return operation(self._codec, None, value, channel)[1]
        snapshot, held = bare(value)
        parts = [*first[2], *[part for op in more for edit in op[2] for part in edit[2]]]
        size, rows = _size(parts), _are_rows(parts)
        if any(cut for op in more for _, cut, _ in op[2]):
            size = 64 * len(held)
        return list_fingerprint(self._codec, held, size, snapshot, rows)
