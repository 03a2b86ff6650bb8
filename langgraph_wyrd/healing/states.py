"""A working state whose ledger is damaged: read anew out of the checkpoints, on the way.

Nothing is written: the reweaving's own rows are kept in hand and shown to the plan that reads.
What a checkpoint can't tell, as it was declared by a person, is had back if one flipped bit is all
that is wrong with it, and else is left out, aloud.
"""

from __future__ import annotations

from typing import Any, TypeVar

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import flips, rows
from langgraph_wyrd.healing.found import Found, Kind
from langgraph_wyrd.pillars.model import WorkingState
from langgraph_wyrd.plans import moments, reweave
from langgraph_wyrd.plans.ledger import is_sound, through
from langgraph_wyrd.plans.weaving import Weaver
from langgraph_wyrd.store.names import thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Row, Statement
from langgraph_wyrd.store.values import Codec

T = TypeVar("T")
Group = tuple[str, str, str]  # namespace, checkpoint, task: what is said together

_TEXTS = (6, 7, 5, 3, 4, 1)  # of a row of `events`: body, source, item, pillar, op, task


def state_at(
    codec: Codec, weaver: Weaver | None, thread_id: str, at: Any
) -> Plan[tuple[WorkingState | None, tuple[Found, ...]]]:
    """A thread's working state at a point, and what was damaged of it."""
    try:
        return (yield from moments.state_at(codec, thread_id, at)), ()
    except CheckpointDamaged as error:
        first = error
    found = yield Ask("thread_row", (thread_key(thread_id),))
    if not found:
        raise first
    reading = _Reading(found[0][0], thread_id)
    yield from reading.put_parents_right()
    if weaver is not None:
        yield from reading.look_on(reweave.reweave(codec, weaver, thread_id))
    state = yield from reading.look_on(moments.state_at(codec, thread_id, at))
    heals = reading.heals()
    if not heals:
        raise first
    return state, heals


class _Reading:
    """What plans see of a thread: damaged rows put right or not at all, written ones at once."""

    def __init__(self, number: int, thread_id: str) -> None:
        self._number = number
        self._thread_id = thread_id
        self._parents: dict[tuple[str, str], str | None] = {}
        self._told: dict[Group, list[Row]] = {}
        self._bad: dict[tuple[str, str, str, int], Row | None] = {}
        self._rows: list[tuple[Kind, str, str]] = []

    def look_on(self, plan: Plan[T]) -> Plan[T]:
        return through(plan, self._answered, self._asked)

    def put_parents_right(self) -> Plan[None]:
        """The rows that say which way a path goes."""
        found = yield Ask("rows_of_thread", (self._number,))
        ids = [row[6] for row in found]
        for raw in found:
            if rows.fits(raw):
                continue
            ns, id, _ = rows.checkpoint_of(raw)
            right = rows.checkpoint(raw, ids)
            self._parents[ns, id] = None if right is None else right.parent
            kind: Kind = "left_out" if right is None else "exact"
            self._rows.append((kind, ns, id))

    def heals(self) -> tuple[Found, ...]:
        made = []
        for (ns, checkpoint, task, n), right in self._bad.items():
            again = right is not None or (ns, checkpoint, task) in self._told
            what = (
                "what it said was put right"
                if right is not None
                else "what it says was read anew out of it"
                if again
                else "something that was said there is lost"
            )
            kind: Kind = "exact" if again else "left_out"
            place = f"event {checkpoint} {task} {n}"
            made.append(Found(kind, self._number, self._thread_id, ns, checkpoint, "", what, place))
        for kind, ns, id in self._rows:
            what = "its row was put right" if kind == "exact" else "what led there can't be read"
            made.append(Found(kind, self._number, self._thread_id, ns, id, "", what, f"row {id}"))
        return tuple(made)

    # ---- on the way

    def _asked(self, step: Statement) -> Statement | None:
        if isinstance(step, Ask):
            # Only looked at: nothing is locked, and what is damaged is known by now.
            names = {"lock_to_bury": "thread_row", "lock_thread": "thread_row"}
            return step._replace(name=names.get(step.name, step.name))
        if step.name == "drop_events":
            for _, ns, checkpoint, task in step.rows:
                self._told[ns, checkpoint, task] = []
        if step.name == "put_event":
            for _, ns, *row in step.rows:
                self._told.setdefault((ns, row[0], row[1]), []).append(tuple(row))
        return None

    def _answered(self, ask: Ask, found: Any) -> Any:
        if ask.name == "own_row":
            return []
        if ask.name in ("steps", "ancestor") and self._parents:
            ns = ask.params[1]
            return [(row[0], self._parents.get((ns, row[0]), row[1]), *row[2:]) for row in found]
        if ask.name in ("checkpoint_rows", "checkpoint_row") and self._parents:
            return [
                (*row[:2], self._parents.get((row[0], row[1]), row[2]), *row[3:]) for row in found
            ]
        if ask.name != "events":
            return found
        _, ns, low, high = ask.params
        sound = [right for row in found if (right := self._right(ns, row)) is not None]
        said = [row for row in sound if (ns, row[0], row[1]) not in self._told]
        for (at, checkpoint, _), told in self._told.items():
            if at == ns and low <= checkpoint <= high:
                said += told
        return sorted(said, key=lambda row: row[:3])

    def _right(self, ns: str, row: Row) -> Row | None:
        if is_sound(ns, row):
            return row
        key = (ns, row[0], row[1], row[2])
        if key not in self._bad:
            self._bad[key] = _put_right(ns, row)
        return self._bad[key]


def _put_right(ns: str, row: Row) -> Row | None:
    """A row of the ledger in which one bit of a text, or of the checksum, is wrong."""
    for number in flips.numbers(row[-1]) if isinstance(row[-1], int) else ():
        if is_sound(ns, (*row[:-1], number)):
            return (*row[:-1], number)
    for at in _TEXTS:
        if isinstance(row[at], str):

            def fits(tried: str, at: int = at) -> bool:
                return is_sound(ns, (*row[:at], tried, *row[at + 1 :]))

            text = flips.text_put_right(row[at], fits)
            if text is not None:
                return (*row[:at], text, *row[at + 1 :])
    return None
