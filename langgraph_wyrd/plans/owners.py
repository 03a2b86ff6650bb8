"""Whose a thread is, and writes that are stored only in one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from langgraph_wyrd.errors import WrongUser
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.threads import lock_or_add
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.roles import Hot
from langgraph_wyrd.store.statements import Ask, Plan, WriteSet

MINE, NEW, OTHERS = "mine", "new", "others"


class Standing(NamedTuple):
    """A thread, from a user's side. New: nobody's run has left a checkpoint of the root yet."""

    whose: str
    number: int | None = None


def standing(thread_id: str, user: str) -> Plan[Standing]:
    found = yield Ask("thread_owner", (thread_key(thread_id),))
    if not found:
        return Standing(NEW)
    number, owner, begun = found[0]
    if owner == user:
        return Standing(MINE, number)
    return Standing(OTHERS if begun or owner is not None else NEW, number)


@dataclass(slots=True)
class Mine:
    """A write of a user: what a thread is was looked up before, and is again where it changed."""

    write: Hot[Known]
    user: str
    found: Standing

    def __post_init__(self) -> None:
        if self.found.whose == OTHERS:
            raise self._refused()

    @property
    def thread_id(self) -> str:
        return self.write.thread_id

    def hot(self, known: Known, /) -> tuple[WriteSet, Known] | None:
        sure = self.found.whose == MINE and known.number == self.found.number
        return self.write.hot(known) if sure else None

    def cold(self, known: Known | None, /) -> Plan[Known]:
        yield from lock_or_add(self.thread_id, [])  # so that nobody else begins it meanwhile
        self.found = yield from standing(self.thread_id, self.user)
        if self.found.whose == OTHERS:
            raise self._refused()
        return (yield from self.write.cold(known))

    def stored(self, before: Known | None, after: Known, /) -> None:
        self.write.stored(before, after)

    def _refused(self) -> WrongUser:
        return WrongUser(
            f"thread {given(self.thread_id)!r} is not user {given(self.user)!r}'s: nothing of this "
            "run was stored there. Use another thread_id."
        )
