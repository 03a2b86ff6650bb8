"""What a diff compares where something of it is damaged: all that can be read, and what can't is
named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import states, users
from langgraph_wyrd.healing.found import Found
from langgraph_wyrd.healing.mending import Mender
from langgraph_wyrd.plans import comparing, loading, owned
from langgraph_wyrd.plans.comparing import Side
from langgraph_wyrd.plans.loading import Stored
from langgraph_wyrd.plans.moments import Point
from langgraph_wyrd.plans.weaving import Weaver
from langgraph_wyrd.store.frames import Entry, Frame
from langgraph_wyrd.store.names import given, stored, thread_key
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.values import Codec

Name = str


def healed(
    points: Sequence[Point],
    codec: Codec,
    weaver: Weaver | None,
    thread_id: str,
    plan: Callable[[], Plan[list[Side]]],
) -> Plan[tuple[list[Side], tuple[Found, ...]]]:
    """The sides as `plan` gives them; else piece by piece."""
    try:
        return (yield from plan()), ()
    except CheckpointDamaged as error:
        first = error
    bare = partial(comparing.sides, codec, thread_id, points, False)
    found, heals = yield from states.healed(codec, weaver, thread_id, bare)
    if not found:
        raise first
    number = (yield Ask("find_thread", (thread_key(thread_id),)))[0][0]
    mender = Mender(codec, number, thread_id)
    rows: list[Stored] = []
    frames: list[Frame] = []
    for side in found:
        id = stored(side.state.checkpoint_id or "", "a checkpoint")
        raws = yield Ask("checkpoint", (thread_key(thread_id), "", id))
        row = (yield from mender.row(raws[0])) if raws else None
        frame = None if row is None else (yield from mender.frame("", row.id, row.place))
        if row is None or frame is None:
            raise CheckpointDamaged(
                f"checkpoint {given(id)} can't be read: diff(…, channels=False) compares what was "
                "being done there"
            ) from first
        rows.append(row)
        frames.append(frame)
    held = comparing.differing(frames)
    sides: list[Side] = []
    for side, row, frame, each in zip(found, rows, frames, held, strict=True):
        values, damaged = yield from _values(mender, row, each)
        sides.append(comparing.with_values(codec, side, row, frame, values, damaged))
    if not (heals or mender.found):
        raise first
    return sides, (*heals, *mender.found.values())


def _values(
    mender: Mender, row: Stored, held: dict[Name, Entry]
) -> Plan[tuple[dict[Name, Any], set[Name]]]:
    """The values that can be had, and the channels whose values are not what they were."""
    values: dict[Name, Any] = {}
    damaged: set[Name] = set()
    for name, entry in held.items():
        there: dict[Place, Any] = {}
        if entry.place is not None:
            made = yield from mender.value("", row.id, name, entry)
            if made is None or entry.place in mender.stood_in:
                damaged.add(name)
            if made is None:
                what = "a value can't be read, and is not compared"
                mender.note("left_out", "", row.id, what, f"strand {entry.place.strand}", name)
                continue
            there = {entry.place: made[0]}
        values[name] = loading.value_of(mender.codec, given(name), entry, there)
    refs = owned.among(values.values())
    if refs:
        whole, lost = yield from users.values(mender, "", row.id, refs)
        lost |= {ref[:5] for ref in refs if Place(*ref[1:5]) in mender.stood_in}
        damaged |= {name for name, each in values.items() if users.is_one_of(each, lost)}
        values = owned.in_place(values, whole)
    return values, damaged
