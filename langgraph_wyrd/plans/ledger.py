"""The ledger's rows carry a checksum: a wrong one is noticed, and a write goes on without it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.store.keys import is_sealed_text
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.statements import Ask, Plan, Row, Statement, Tell
from langgraph_wyrd.store.values import Codec, text_checksum

logger = logging.getLogger("langgraph_wyrd")

T = TypeVar("T")


def event_sum(
    ns: str, checkpoint: str, task: str, n: int, pillar: str, op: str, item: str, body: str,
    source: str,
) -> int:  # fmt: skip
    return text_checksum(ns, checkpoint, task, n, pillar, op, item, body, source)


def is_sound(ns: str, row: Row, codec: Codec | None = None) -> bool:
    """Whether a row of `events` is what was written; with a codec: and not plain, where all are
    sealed."""
    try:
        sound = bool(event_sum(ns, *row[:-1]) == row[-1])
    except TypeError:
        return False
    return sound and (codec is None or not codec.refuses_plain or is_sealed_text(row[-3]))


def checked(ns: str, rows: Sequence[Row]) -> Sequence[Row]:
    for row in rows:
        if not is_sound(ns, row):
            raise CheckpointDamaged(f"what checkpoint {row[0]} says in the ledger is damaged")
    return rows


def unchecked(step: Row) -> Row:
    """A row of `steps` of which nothing derived is to be checked. Its time may be of any type."""
    id, parent, ts, due, root, _ = step
    return (id, parent, None if isinstance(ts, bytes) else ts, due, root, None)


def through(
    plan: Plan[T],
    answered: Callable[[Ask, Any], Any],
    asked: Callable[[Statement], Statement | None] = lambda step: step,
) -> Plan[T]:
    """A plan whose answers are looked at on their way.

    `asked` may put another statement in the place of one, or None: then it is not made.
    """

    try:
        step = next(plan)
        while True:
            steps = [step] if isinstance(step, (Ask, Tell)) else step
            made = [asked(each) for each in steps]
            found = iter((yield kept) if (kept := [each for each in made if each]) else ())
            answers = []
            for each, put in zip(steps, made, strict=True):
                answer = next(found) if put else None
                answers.append(answered(each, answer) if isinstance(each, Ask) else answer)
            step = plan.send(answers[0] if isinstance(step, (Ask, Tell)) else answers)
    except StopIteration as end:
        result: T = end.value
        return result


def without_damage(plan: Plan[T], thread_id: str, codec: Codec | None = None) -> Plan[T]:
    """A plan that writes: what is damaged in the ledger says nothing to it, nor stops it."""

    def answered(ask: Ask, rows: Any) -> Any:
        if ask.name in ("own_row", "lost"):
            return []
        if ask.name == "steps":
            return [unchecked(row) for row in rows]
        if ask.name not in ("events", "events_of_steps"):
            return rows
        ns = ask.params[1]
        sound = [row for row in rows if is_sound(ns, row, codec)]
        if len(sound) < len(rows):
            logger.warning(
                "thread %r: %d damaged rows of the ledger were passed over; verify() tells more",
                given(thread_id), len(rows) - len(sound),
            )  # fmt: skip
        return sound

    return through(plan, answered)
