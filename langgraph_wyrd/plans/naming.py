"""Which number a thread has is told twice: by its row in wyrd_threads, and by wyrd_names.

A thread is found where both agree. If they don't, one of them is damaged: to go on as if there were
no such thread would begin it anew beside what it has, to trust one of them might show another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from langgraph_wyrd.store.names import thread_key
from langgraph_wyrd.store.statements import Ask, Astray, Plan, Row, Tell
from langgraph_wyrd.store.values import text_checksum

T = TypeVar("T")

# Statements that find a thread by its key: the first of their parameters, but for pages.
_BY_KEY = frozenset(
    ("latest", "checkpoint", "find_thread", "thread_row", "lock_thread", "lock_to_bury",
     "thread_state", "thread_owner")
)  # fmt: skip


class Claim(NamedTuple):
    """Somebody's word about which number a thread has: `sum` is None where it is its row's."""

    number: int
    thread_id: str
    sum: int | None
    agreed: bool  # whether it is what the other one says as well
    used: bool  # whether the number has checkpoints

    def is_sound(self, key: bytes) -> bool:
        return is_sound_name((key, self.thread_id, self.sum), self.number)

    def holds(self, key: bytes) -> bool:
        """Whether it is a name that was written so, of a number that has something."""
        return bool(self.used) and self.is_sound(key)


def name_row(thread_id: str, number: int) -> Row:
    """A row of wyrd_names."""
    key = thread_key(thread_id)
    return (key, number, thread_id, name_sum(key, number))


def name_sum(key: bytes, number: int) -> int:
    return text_checksum(key, number)


def is_sound_name(row: Sequence[Any], number: int) -> bool:
    """Whether a row of `names_of_number` is what was written."""
    key, thread_id, total = row
    return bool(key_of(thread_id) == key and total == name_sum(key, number))


def key_of(thread_id: Any) -> bytes:
    """A thread's key; of what is no text, none."""
    try:
        return thread_key(thread_id)
    except (UnicodeEncodeError, AttributeError):
        return b""


def claims(key: bytes) -> Plan[list[Claim]]:
    return [Claim(*row) for row in (yield Ask("claims", (key, key)))]


def is_astray(key: bytes, found: Sequence[Claim]) -> bool:
    """Whether there is a thread that can't be found."""
    if any(claim.agreed for claim in found):
        return False
    return any(claim.sum is None or claim.holds(key) for claim in found)


def strays() -> Plan[list[bytes]]:
    """The keys of all threads that can't be found."""
    made = []
    for (key,) in (yield Ask("strays")):
        if is_astray(key, (yield from claims(key))):
            made.append(key)
    return made


def guarded(plan: Plan[T]) -> Plan[T]:
    """A plan that raises Astray where it asks for a thread that is there, and is not found."""
    try:
        step = next(plan)
        while True:
            answer = yield step
            if isinstance(step, Ask):
                yield from _look(step, answer)
            elif not isinstance(step, Tell):
                for each, rows in zip(step, answer, strict=True):
                    if isinstance(each, Ask):
                        yield from _look(each, rows)
            step = plan.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


def _look(ask: Ask, answer: Any) -> Plan[None]:
    if ask.name in _BY_KEY:
        key = None if answer else ask.params[0]
    elif not ask.name.startswith("page "):
        return
    elif " of_thread " in ask.name:
        key = None if answer else next(p for p in ask.params if isinstance(p, bytes))
    elif " after_row " in ask.name:
        return
    else:  # the first page of all threads
        for stray in (yield from strays()):
            raise Astray(stray)
        return
    if key is not None and is_astray(key, (yield from claims(key))):
        raise Astray(key)
