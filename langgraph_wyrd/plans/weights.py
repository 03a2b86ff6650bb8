"""What each checkpoint added to a thread, in bytes: the lengths of its rows, of which none is
opened but the frames, which say what rows are whose."""

from __future__ import annotations

from typing import NamedTuple

from langgraph_wyrd.plans import moments
from langgraph_wyrd.plans.past import frames_at
from langgraph_wyrd.store.frames import Frame
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.values import Codec

MOST = 5000  # checkpoints that are looked at


class Weight(NamedTuple):
    """A checkpoint, and the bytes that came with it: values, writes, what was read out of it."""

    checkpoint_id: str
    ns: str
    ts: str | None
    bytes: int


class Weights(NamedTuple):
    """The newest checkpoints of a thread, oldest first, and what all before them weigh."""

    before: int
    each: list[Weight]


def weights(codec: Codec, thread_id: str, limit: int = MOST) -> Plan[Weights]:
    """What is there now, by the checkpoint that brought it. A subgraph's count as well."""
    number = yield from moments.number_of(thread_id)
    rows, splices, writes, events = yield [
        Ask("checkpoints_weighed", (number, limit + 1)),
        Ask("splices_weighed", (number,)),
        Ask("writes_weighed", (number,)),
        Ask("events_weighed", (number,)),
    ]
    beside: dict[tuple[str, str], int] = {}
    for ns, id, _, held in (*writes, *events):
        beside[ns, id] = beside.get((ns, id), 0) + int(held or 0)
    strands: dict[int, list[tuple[int, int]]] = {}  # what is left of each, the oldest last
    for strand, seq, held in sorted(splices, reverse=True):
        strands.setdefault(strand, []).append((seq, int(held or 0)))

    def taken(strand: int, seq: int) -> int:
        """The rows of a strand up to a version that no older checkpoint has taken."""
        left, found = strands.get(strand, []), 0
        while left and left[-1][0] <= seq:
            found += left.pop()[1]
        return found

    total = sum(beside.values()) + sum(int(held or 0) for _, _, held in splices)
    places = [Place(*row[3:7]) for row in rows]
    frames = yield from frames_at(codec, number, set(places))
    # Of more than were asked for, the first of each namespace takes what older ones brought.
    all_there, begun = len(rows) <= limit, set[str]()
    before, found = 0, list[Weight]()
    for (ns, id, ts, *_, own), place in reversed([*zip(rows, places, strict=True)]):
        held = beside.get((ns, id), 0) + taken(place.strand, place.seq)
        held += sum(taken(*at[:2]) for at in _values(frames.get(place)))
        total -= held
        if all_there or ns in begun:
            found.append(Weight(given(id), given(ns), ts, held + int(own)))
        else:
            begun.add(ns)
            before += held + int(own)
    return Weights(0 if all_there else before + total, found)


def _values(frame: Frame | None) -> list[Place]:
    if frame is None:
        return []
    return [entry.place for entry in frame.channels.values() if entry.place is not None]
