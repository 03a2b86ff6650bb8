"""Two points of the past compared, and where between two points something changed first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput
from langgraph_wyrd.plans import loading, moments, owned, past, states
from langgraph_wyrd.plans.loading import Stored
from langgraph_wyrd.plans.moments import Point
from langgraph_wyrd.plans.states import SILENT
from langgraph_wyrd.state.diff import StateDiff, diff
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.state.fold import replay
from langgraph_wyrd.state.model import Item, WorkingState
from langgraph_wyrd.state.overlay import advance, overlaid
from langgraph_wyrd.state.pairing import PILLARS, Change
from langgraph_wyrd.state.past import HistoryEntry
from langgraph_wyrd.state.values import (
    NOTHING,
    diff_values,
    is_same_at,
    is_users,
    keys_of,
)
from langgraph_wyrd.store.frames import EMPTY, Entry, Frame
from langgraph_wyrd.store.names import given, stored, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Row
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.values import Codec

_LINE = 512  # steps of a line that are read in one go
_FRAMES = 128  # frames that are held at once
_VALUES = 16  # values that are held at once


# ---- two points


class Side(NamedTuple):
    """What a diff compares: the state at a point and, where asked for, the channels' values."""

    state: WorkingState
    values: Mapping[str, Any] | None = None
    versions: Mapping[str, Any] = {}
    deltas: frozenset[str] = frozenset()  # channels that are kept as deltas, and have no value here
    damaged: frozenset[str] = frozenset()  # channels whose values are not all here


def sides(
    codec: Codec, thread_id: str, points: Sequence[Point], channels: bool
) -> Plan[list[Side]]:
    """What there is to compare at points of a thread. A value that is the same at all of them is
    not read; of others, what they share is loaded once, and known to be equal."""
    number = yield from moments.number_of(thread_id)
    ids = []
    for at in points:
        ids.append((yield from moments.found_at(number, thread_id, at)))
    found = []
    for id in ids:
        state = yield from moments.state_of(codec, number, thread_id, id)
        found.append(Side(state))
    if not channels:
        return found
    answers = yield [Ask("checkpoint", (thread_key(thread_id), "", id)) for id in ids]
    rows = [loading.checked(row) for (row,) in answers]
    frames = yield from loading.read_frames(codec, number, [row.place for row in rows])
    held = differing([frames[row.place] for row in rows])
    values, _ = yield from loading.read_values(codec, number, [Frame(h, {}, {}) for h in held])
    whole = yield from owned.of_entries(
        codec,
        number,
        [
            {n: loading.value_of(codec, given(n), e, values) for n, e in each.items()}
            for each in held
        ],
    )
    return [
        with_values(codec, side, row, frames[row.place], each)
        for side, row, each in zip(found, rows, whole, strict=True)
    ]


def differing(frames: Sequence[Frame]) -> list[dict[str, Entry]]:
    """The values that are not the same in all of these frames."""
    held = [
        {n: e for n, e in frame.channels.items() if e.has_value and is_users(n)} for frame in frames
    ]
    if len(held) < 2:
        return held
    same = {name for name, e in held[0].items() if all(e == each.get(name) for each in held)}
    return [{n: entry for n, entry in each.items() if n not in same} for each in held]


def with_values(
    codec: Codec,
    side: Side,
    row: Stored,
    frame: Frame,
    values: Mapping[str, Any],
    damaged: Iterable[str] = (),
) -> Side:
    """A side with loaded values."""
    hidden = frozenset(given(n) for n, e in frame.channels.items() if not e.has_value)
    return Side(
        side.state,
        {given(n): codec.bare(value) for n, value in values.items()},
        {given(n): e.version for n, e in frame.channels.items()},
        hidden.intersection(past.deltas(codec, row.metadata, row.exact)),
        frozenset(map(given, damaged)),
    )


def compared(a: Side, b: Side) -> StateDiff:
    """What changed from one side to the other."""
    found = diff(a.state, b.state)
    if a.values is None or b.values is None:
        return found
    lost = (a.damaged - a.values.keys()) | (b.damaged - b.values.keys())
    hidden = sorted((a.deltas | b.deltas) - lost)
    one, other = (
        {name: value for name, value in each.items() if name not in lost.union(hidden)}
        for each in (a.values, b.values)
    )
    unread = tuple(name for name in hidden if a.versions.get(name) != b.versions.get(name))
    damaged = tuple(sorted(a.damaged | b.damaged))
    return replace(found, channels=replace(diff_values(one, other), unread=unread, damaged=damaged))


# ---- the first change


def first_change(
    codec: Codec, thread_id: str, what: str | Item, a: Point, b: Point
) -> Plan[HistoryEntry | None]:
    """The first checkpoint after `a`, on the way to `b`, that changed something."""
    number = yield from moments.number_of(thread_id)
    end = yield from moments.found_at(number, thread_id, b)
    start = None if a is None else (yield from moments.found_at(number, thread_id, a))
    rows = yield from _line(number, start, end)
    if isinstance(what, str):
        channel, keys = yield from _channel(codec, number, what, end)
    else:
        channel, keys, what = None, (), what.id
    if channel is None:
        found = yield from _of_item(codec, number, thread_id, what, start, end, rows)
    else:
        found = yield from _of_channel(codec, number, channel, keys, start, rows)
    if found is None:
        return None
    return (yield from past.entry(codec, number, thread_id, found))


def _channel(
    codec: Codec, number: int, what: str, end: str
) -> Plan[tuple[str | None, tuple[Any, ...]]]:
    """The channel that is meant, and the keys of a path into it; None if it must be an item."""
    frame = yield from _frame(codec, number, end)
    if stored(what, "a channel") in frame.channels:
        return what, ()
    channel, keys = keys_of(what)
    return (channel, keys) if keys else (None, ())


def _frame(codec: Codec, number: int, id: str) -> Plan[Frame]:
    (row,) = yield Ask("ancestor", (number, "", id))
    place = Place(*row[2:6])
    held = yield from loading.read_frames(codec, number, [place])
    return held[place]


def _line(number: int, start: str | None, end: str) -> Plan[list[Row]]:
    """The checkpoints behind `start` that lead to `end`, oldest first."""
    rows: list[Row] = []
    page: dict[str, Row] = {}
    walked: set[str] = set()
    at: str | None = end
    while at is not None and at != start and at not in walked:
        walked.add(at)
        if at not in page:
            page = {row[0]: row for row in (yield Ask("lineage", (number, "", at, _LINE)))}
            if at not in page:
                break  # a pruned parent is an end like any other
        row = page[at]
        _, parent, ts, metadata, exact, *place, total = row
        found = loading.row_sum(number, "", at, parent, ts, metadata, exact, place)
        if not loading.same_row(found, total):
            raise CheckpointDamaged(f"checkpoint {at} fails its checksum")
        rows.append(row)
        at = parent
    if start is not None and at != start:
        raise InvalidInput(
            f"checkpoint {given(start)} is not on the way to {given(end)}: they are on different "
            "forks, or it is the newer one. `diff(a, b)` compares any two"
        )
    return rows[::-1]


def _of_item(
    codec: Codec,
    number: int,
    thread_id: str,
    item: str,
    start: str | None,
    end: str,
    rows: Sequence[Row],
) -> Plan[str | None]:
    """Where an item changed first, from the ledger of the line."""
    state, overlay = WorkingState(thread_id=given(thread_id)), SILENT.overlay
    if start is not None:
        woven = yield from states.load_woven(codec, number, thread_id, "", start)
        assert woven is not None
        state, overlay = woven.state, woven.overlay
    path, said = yield from states.path_behind(codec, number, "", end, start)
    before = _item(overlaid(state, overlay), item)
    for step in path:
        moment, here = Moment(step.id, "", step.ts), said.get(step.id, SILENT)
        state = replay(advance(state, overlay, moment), here.own, moment)
        overlay = here.overlay
        now = _item(overlaid(state, overlay), item)
        if _has_changed(before, now):
            return step.id
        before = now
    held = stored(item, "an item's id")
    roots = {row[0] for row in (yield Ask("said_of_item", (number, held)))}
    return next((row[0] for row in rows if row[0] in roots), None)


def _item(state: WorkingState, id: str) -> Item | None:
    return next((each for name in PILLARS for each in getattr(state, name) if each.id == id), None)


def _has_changed(before: Item | None, now: Item | None) -> bool:
    if before is now:
        return False
    return Change(before, now).verb is not None


def _of_channel(
    codec: Codec,
    number: int,
    channel: str,
    keys: tuple[Any, ...],
    start: str | None,
    rows: Sequence[Row],
) -> Plan[str | None]:
    """Where a channel changed first, or what is behind keys in it: only then are values read, of
    those checkpoints whose channel changed."""
    name = stored(channel, "a channel")
    frame = EMPTY if start is None else (yield from _frame(codec, number, start))
    last = frame.channels.get(name)
    (value,) = (yield from _values(codec, number, channel, [last])) if keys else (NOTHING,)
    for first in range(0, len(rows), _FRAMES):
        places: dict[str, Place]
        places = {row[0]: Place(*row[5:9]) for row in rows[first : first + _FRAMES]}
        frames = yield from loading.read_frames(codec, number, places.values())
        changed: list[tuple[str, Entry | None]] = []
        for id, place in places.items():
            entry = frames[place].channels.get(name)
            differs = past.differ(last, entry)
            if differs is None:
                differs = yield from _has_deltas(codec, number, channel, id)
            if differs:
                changed.append((id, entry))
                if not keys:
                    return id
            last = entry
        for at in range(0, len(changed), _VALUES):
            some = changed[at : at + _VALUES]
            values = yield from _values(codec, number, channel, [entry for _, entry in some])
            for (id, _), now in zip(some, values, strict=True):
                if now is NOTHING and (yield from _has_deltas(codec, number, channel, id)):
                    raise InvalidInput(
                        f"channel {channel!r} is kept as deltas, most checkpoints hold no value of "
                        f"it: first_change({channel!r}) tells where it was written to"
                    )
                if not is_same_at(keys, value, now):
                    return id
                value = now
    return None


def _values(
    codec: Codec, number: int, channel: str, entries: Sequence[Entry | None]
) -> Plan[list[Any]]:
    held = [entry for entry in entries if entry is not None and entry.has_value]
    values, _ = yield from loading.read_values(
        codec, number, [Frame({"": entry}, {}, {}) for entry in held]
    )
    there = {
        at: loading.value_of(codec, channel, entry, values)
        for at, entry in enumerate(entries)
        if entry is not None and entry.has_value
    }
    (whole,) = yield from owned.of_entries(codec, number, [there])
    return [codec.bare(whole[at]) if at in whole else NOTHING for at in range(len(entries))]


def _has_deltas(codec: Codec, number: int, channel: str, id: str) -> Plan[bool]:
    """Whether a channel without a value is one that is kept as deltas."""
    (row,) = yield Ask("checkpoint_row", (number, "", id))
    return channel in past.deltas(codec, row[7], row[8])
