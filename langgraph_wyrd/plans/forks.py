"""A second line in a thread: a root checkpoint beside the head, not behind it.

Nothing is lost by one. A person may want it (time travel, an update of an older state); or two runs
went on from the same checkpoint at once. The ledger has it as an event of the new checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from langgraph_wyrd.state.events import Event
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.statements import Ask, Plan

DELIBERATE = ("fork", "update")  # how LangGraph marks what somebody asked for


@dataclass(frozen=True, slots=True)
class Fork:
    """What a checkpoint forks from, and what it leaves behind."""

    parent: str | None
    left: str  # the head until then
    source: str | None
    deliberate: bool  # time travel or an update; else another writer was at work

    def detail(self) -> dict[str, Any]:
        return {
            "parent": None if self.parent is None else given(self.parent),
            "left": given(self.left),
            "source": self.source,
            "deliberate": self.deliberate,
        }

    def event(self) -> Event:
        return Event("thread", "fork", "", self.detail())


@dataclass(frozen=True, slots=True)
class Change:
    """What a cold write found, and what it did, for whoever is told of it after the commit."""

    before: WorkingState | None = None  # what the thread's tables showed
    fork: Fork | None = None


class Placed(Protocol):
    """A root checkpoint that is being put."""

    @property
    def id(self) -> str: ...
    @property
    def parent(self) -> str | None: ...
    @property
    def source(self) -> str | None: ...
    @property
    def addressed(self) -> bool: ...


def fork_of(number: int, put: Placed) -> Plan[Fork | None]:
    """The fork that a put makes, if its parent was gone on from before."""
    found, sibling = yield [
        Ask("other_head", (number, put.id)),
        Ask("sibling", (number, put.parent or "", put.id, put.parent or "")),
    ]
    left = found[0][0]
    if left is None or left == put.parent or not sibling:
        return None
    return Fork(put.parent, left, put.source, put.addressed or put.source in DELIBERATE)


def fork_then(number: int, id: str, parent: str | None, source: str | None) -> Plan[Fork | None]:
    """The fork that a stored checkpoint was, as far as the checkpoints that are left tell.

    Of those that go on from one checkpoint all tell of a fork but the one that was stored first,
    which need not have the least id. Where several don't tell, the least of these was the first.
    """
    first = yield from _untold(number, parent or "", id)
    if first is None:
        return None
    left = (yield Ask("earlier_head", (number, id)))[0][0]
    return Fork(parent, left, source, source in DELIBERATE)


def _untold(number: int, parent: str, id: str) -> Plan[str | None]:
    """The first one beside a checkpoint, and before it, that does not tell of a fork itself."""
    beside = parent
    while True:
        found = yield Ask("next_sibling", (number, beside, id, parent))
        if not found:
            return None
        beside = found[0][0]
        said = yield Ask("events", (number, "", beside, beside))
        if not any(task == "" and op == "fork" for _, task, _, _, op, *_ in said):
            return str(beside)


def is_fork(event: Event) -> bool:
    return event.op == "fork"
