"""Sealing what is stored anew, under the newest key: a few pages of a thread at a time.

What stands under it already is passed over, so a rotation that was stopped goes on where it was.
"""

from __future__ import annotations

from dataclasses import dataclass

from langgraph_wyrd.store.names import thread_key
from langgraph_wyrd.store.sealed_tables import TABLES
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell

_TABLES = [*TABLES]
_PAGES = 5  # in one transaction: whoever writes to the thread waits for no more


@dataclass(frozen=True, slots=True)
class Step:
    """How far a thread is, and what was done on the way. `table` None: it is done."""

    table: int | None = 0
    after: Row | None = None
    rows: int = 0
    left: int = 0


def begun(plain: bool) -> Plan[int]:
    """How many threads there are; `plain`: from now on what is plain in them is refused."""
    if plain:
        yield Tell("begin_sealing", [])
    count: int = (yield Ask("threads_alive"))[0][0]
    return count


def on(thread_id: str, number: int, step: Step, plain: bool) -> Plan[Step]:
    """The next pages of a thread."""
    found = yield Ask("lock_to_bury", (thread_key(thread_id),))
    if not found or found[0][0] != number:  # deleted meanwhile
        return Step(None, None, step.rows, step.left)
    at, after, rows, left = step.table or 0, step.after, step.rows, step.left
    for _ in range(_PAGES):
        name = _TABLES[at]
        start = TABLES[name].start if after is None else after
        done = yield Ask("reseal", (name, number, start, plain))
        rows, left, after = rows + done.rows, left + done.left, done.after
        if after is None:
            at += 1
            if at == len(_TABLES):
                return Step(None, None, rows, left)
    return Step(at, after, rows, left)


def beside(step: Step, plain: bool) -> Plan[Step]:
    """The next pages of what is kept for users beside the threads."""
    yield Tell("lock_user_data", [()])
    after, rows, left = step.after, step.rows, step.left
    for _ in range(_PAGES):
        start = TABLES["user_data"].start if after is None else after
        done = yield Ask("reseal", ("user_data", 0, start, plain))
        rows, left, after = rows + done.rows, left + done.left, done.after
        if after is None:
            return Step(None, None, rows, left)
    return Step(0, after, rows, left)
