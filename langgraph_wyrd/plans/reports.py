"""Asking a model about a thread: what it is given to read, and what it reports, stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from langgraph_wyrd.errors import EditConflict
from langgraph_wyrd.plans import carry, edits, states
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.query import LOOPS
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.state.editing import task_of
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.state.facts import Opens
from langgraph_wyrd.state.fold import fold
from langgraph_wyrd.state.model import Item, OpenLoop, WorkingState
from langgraph_wyrd.state.reported import READ, Findings, Report, weighed
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.values import Codec

_MOST_PAST = 1000  # loops of a message that are over


@dataclass(frozen=True, slots=True)
class ToRead:
    """What a model is asked about: the conversation at a thread's head, and what is known of it."""

    messages: list[Any]
    state: WorkingState

    def before(self, author: str) -> str | None:
        """What this author read the last time."""
        read = self.state.extra.get(READ)
        found = read.get(author) if isinstance(read, dict) else None
        return found if isinstance(found, str) else None


def to_read(codec: Codec, thread_id: str) -> Plan[ToRead]:
    """The conversation at a thread's head, and its working state."""
    state = yield from edits.begin(codec, thread_id)
    messages = yield from carry.messages(codec, thread_id)
    return ToRead(messages or [], state)


def save(
    codec: Codec, thread_id: str, report: Report, token: str
) -> Plan[tuple[WorkingState, Findings]]:
    """Store what counts of a report; the thread's state without it, and what came of it.

    Raises:
        EditConflict: The thread went back to before what was read.
    """
    rows = yield Ask("lock_thread", (thread_key(thread_id),))
    if not rows:
        raise edits.nothing_there(thread_id)
    thread = Known.locked(rows[0])
    weave = yield from states.load_weave(codec, thread.number, thread_id)
    current = edits.seen(weave, thread_id)
    yield from _goes_on(thread.number, thread_id, current, report)
    past = yield from _past(codec, thread.number, report)
    found = weighed(report, current, past)
    ts = now()
    at = Moment(current.checkpoint_id or "", "", ts, task_of(ts, token))
    _, events = fold(current, found.facts, at)
    items: tuple[Item, ...] = (*current.loops, *current.intentions)
    spaces = {item.id: item.source.ns for item in items}
    said = [(spaces.get(event.item, ""), event) for event in events]
    said += _read(current, report)
    if not said:
        return current, found
    after = yield from edits.lay(codec, thread, thread_id, weave, said, at.task)
    return current, replace(found, state=after)


def _goes_on(number: int, thread_id: str, current: WorkingState, report: Report) -> Plan[None]:
    """Raise if what was read is not behind the head any more."""
    at, top = report.at or "", current.checkpoint_id or ""
    if at == top or (yield from states.parting(number, "", at, top)) == at:
        return
    raise EditConflict(
        f"thread {given(thread_id)!r} went back to another point while a model read it. Nothing "
        "was stored: ask again",
        base=None, ours=report, theirs=current, conflicts=(),
    )  # fmt: skip


def _past(codec: Codec, number: int, report: Report) -> Plan[list[OpenLoop]]:
    """Loops that are over, and that the report may be about: a state has only the last of them."""
    opens = [fact for fact in report.facts if isinstance(fact, Opens)]
    messages = {fact.source.message_id or "": None for fact in opens}
    answers = yield [
        Ask("list_loops now_over item_found_in items_newest", (number, id, _MOST_PAST))
        for id in messages
    ]
    rows = [row for answer in answers for row in answer]
    return [LOOPS.make(codec, row) for row in rows]


def _read(current: WorkingState, report: Report) -> list[tuple[str, Event]]:
    """A note of what was read, so that the same is not read again."""
    if report.read is None:
        return []
    held = current.extra.get(READ)
    held = held if isinstance(held, dict) else {}
    if held.get(report.author) == report.read:
        return []
    body = {"extra": {READ: {**held, report.author: report.read}}}
    source = {"rule": "model", "author": report.author}
    return [("", Event("thread", "change", "", body, source))]
