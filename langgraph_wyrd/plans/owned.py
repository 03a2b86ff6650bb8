"""Values that belong to users, had back for who reads; and their rows, as checkpoints go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.plans import loading
from langgraph_wyrd.plans.loading import LoadedStrand
from langgraph_wyrd.store import strands
from langgraph_wyrd.store.frames import Frame
from langgraph_wyrd.store.refs import ABSENT, REF, Ref
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.users import Salted
from langgraph_wyrd.store.values import Codec

K = TypeVar("K")
Pending = tuple[str, str, Any]  # task, channel, value
Key = tuple[Any, ...]  # a Ref without what is left of it

# What a task's write reads as whose value was erased: the task is done, and wrote nothing.
NO_WRITES = "__no_writes__"


def among(values: Iterable[Any]) -> list[Ref]:
    """What stands among loaded values for those of users."""
    return [value for value in values if type(value) is Ref]


def in_place(held: Mapping[K, Any], values: Mapping[Key, Any]) -> dict[K, Any]:
    """The same with values, without those that are absent."""
    found = ((key, _value(value, values)) for key, value in held.items())
    return {key: value for key, value in found if value is not ABSENT}


def written(writes: Sequence[Pending], values: Mapping[Key, Any]) -> list[Pending]:
    """Writes with values in them."""
    found: list[Pending] = []
    for task, channel, held in writes:
        value = _value(held, values)
        found.append((task, NO_WRITES, None) if value is ABSENT else (task, channel, value))
    return found


def _value(held: Any, values: Mapping[Key, Any]) -> Any:
    return values[held[:5]] if type(held) is Ref else held


Rows = Mapping[int, Sequence[Row]]  # of strands


def values_of(codec: Codec, number: int, refs: Sequence[Ref]) -> Plan[dict[Key, Any]]:
    """The value that each stands for; what is left of it, or ABSENT, where that was erased."""
    return opened(codec, (yield from rows_of(number, refs)), refs)


def rows_of(number: int, refs: Iterable[Ref]) -> Plan[Rows]:
    """The rows that bear these values. One round trip for all."""
    newest: dict[int, int] = {}
    for ref in refs:
        newest[ref.strand] = max(newest.get(ref.strand, 0), ref.seq)
    order = sorted(newest)
    answers = yield [Ask("user_strand", (number, strand, newest[strand])) for strand in order]
    return dict(zip(order, answers, strict=True))


def opened(codec: Codec, rows: Rows, refs: Iterable[Ref]) -> dict[Key, Any]:
    """The values, made anew: whoever gets them may change them."""
    wanted: dict[int, dict[Key, Ref]] = {}
    for ref in refs:
        wanted.setdefault(ref.strand, {})[ref[:5]] = ref
    found: dict[Key, Any] = {}
    for strand, mine in wanted.items():
        upto = max(ref.seq for ref in mine.values())
        found.update(loaded(codec, [row for row in rows[strand] if row[1] <= upto], mine))
    return found


def is_erased(rows: Sequence[Row]) -> bool:
    """Whether the rows of a strand were erased: all at once, as they are of one user."""
    return any(row[9] is None and not row[6] for row in rows)


def loaded(codec: Codec, rows: Sequence[Row], wanted: Mapping[Key, Ref]) -> dict[Key, Any]:
    """The values of a strand. Rows that are neither as they were nor erased are damage."""
    if is_erased(rows):
        return {key: ref.rest for key, ref in wanted.items()}
    splices: list[Any] = [row[:9] for row in rows]
    places = {key: Place(*key[1:]) for key in wanted}
    strands.verify(splices, places.values())
    salted = Salted(codec)
    elements = [e for row in splices if row[6] for e in salted.open_block(row[6])]
    shape = next(iter(wanted.values())).shape
    found = loading.values_at(salted, shape, LoadedStrand(splices, elements), {*places.values()})
    return {key: found[place] for key, place in places.items()}


def of_entries(
    codec: Codec, number: int, held: Sequence[Mapping[Any, Any]]
) -> Plan[list[dict[Any, Any]]]:
    """Loaded values of several points, with those of users in them."""
    refs = among(value for each in held for value in each.values())
    values = (yield from values_of(codec, number, refs)) if refs else {}
    return [in_place(each, values) for each in held]


def fill_history(
    codec: Codec, number: int, writes: dict[str, list[Pending]], seeds: dict[str, list[Any]]
) -> Plan[None]:
    """Put values into what rebuilds delta channels; what was erased is not in it."""
    refs = among(value for found in seeds.values() for value in found)
    refs += among(write[2] for found in writes.values() for write in found)
    if not refs:
        return
    put_in(writes, seeds, (yield from values_of(codec, number, refs)))


def put_in(
    writes: dict[str, list[Pending]], seeds: dict[str, list[Any]], values: Mapping[Key, Any]
) -> None:
    for name in writes:
        there = in_place(dict(enumerate(seeds[name])), values)
        seeds[name] = list(there.values())
        writes[name] = [write for write in written(writes[name], values) if write[1] != NO_WRITES]


# ---- as checkpoints go


def settle(codec: Codec, number: int, kept: Iterable[Frame]) -> Plan[None]:
    """Drop the rows that neither what is kept of a thread names, nor what its tasks wrote."""
    newest = dict((yield Ask("user_strands", (number,))))
    if not newest:
        return
    named: dict[int, int] = {}
    blocks = {
        entry.inline for frame in kept for entry in frame.channels.values() if entry.shape == REF
    }
    blocks |= {row[7] for row in (yield Ask("writes_of_users", (number, REF)))}
    for block in blocks:
        try:
            ref = codec.open_value(REF, bytes(block or b""))
        except CheckpointDamaged:
            return  # what it names can't be told: nothing goes
        named[ref.strand] = max(named.get(ref.strand, 0), ref.seq)
    gone = [(number, strand) for strand in newest if strand not in named]
    cut = [(number, n, seq) for n, seq in named.items() if newest.get(n, 0) > seq]
    yield [Tell("drop_user_strand", gone), Tell("cut_user_strand", cut)]
