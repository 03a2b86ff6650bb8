"""Storing an edit: what somebody says of a thread, on top of its head."""

from __future__ import annotations

from collections.abc import Iterable

from langgraph_wyrd.errors import EditConflict, InvalidInput, ThreadNotFound
from langgraph_wyrd.plans import states
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.plans.weaving import event_rows, over, show
from langgraph_wyrd.plans.woven import Weave
from langgraph_wyrd.state.editing import Editing, task_of
from langgraph_wyrd.state.events import Event, same
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.overlay import moment_of
from langgraph_wyrd.state.pairing import PILLARS, told
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell, WriteSet, merged
from langgraph_wyrd.store.values import Codec


def begin(codec: Codec, thread_id: str) -> Plan[WorkingState]:
    """The state that an edit starts from."""
    rows = yield Ask("find_thread", (thread_key(thread_id),))
    if not rows:
        raise nothing_there(thread_id)
    weave = yield from states.load_weave(codec, rows[0][0], thread_id)
    return seen(weave, thread_id)


def save(codec: Codec, thread_id: str, edit: Editing) -> Plan[tuple[WorkingState, WorkingState]]:
    """Append what was said to the ledger; the thread's state without it, and with it.

    If the thread moved on since the edit began, it is said to the state of now.

    Raises:
        EditConflict: Somebody else changed the same things otherwise.
    """
    rows = yield Ask("lock_thread", (thread_key(thread_id),))
    if not rows:
        raise nothing_there(thread_id)
    thread = Known.locked(rows[0])
    weave = yield from states.load_weave(codec, thread.number, thread_id)
    current = seen(weave, thread_id)
    if not _alike(edit.base, current):
        conflicts = edit.conflicts(current)
        if conflicts:
            raise EditConflict(
                f"thread {given(thread_id)!r} was changed while it was edited: {conflicts[0]}"
                + (f" (and {len(conflicts) - 1} more)" if len(conflicts) > 1 else "")
                + ". Nothing was stored: look at the conflicts, and edit the state of now.",
                base=edit.base, ours=edit.state, theirs=current, conflicts=conflicts,
            )  # fmt: skip
    said = edit.said_again(current, now())
    if not said.events:
        return current, current
    task = task_of(said.ts, said.token)
    return current, (yield from lay(codec, thread, thread_id, weave, said.events, task))


def lay(
    codec: Codec,
    thread: Known,
    thread_id: str,
    weave: Weave,
    said: Iterable[tuple[str, Event]],
    task: str,
) -> Plan[WorkingState]:
    """Put what was said of a locked thread, by namespace, on top of its head; its state then."""
    assert weave.top is not None
    by_space = dict[str, list[Event]]()
    for ns, event in said:
        by_space.setdefault(ns if ns in weave.spaces else "", []).append(event)
    for ns, events in by_space.items():
        woven = weave.spaces[ns]
        at = moment_of(woven.checkpoint, ns, None, task)
        weave = weave.aside(ns, over(woven, at, tuple(events)))
        yield Tell("put_event", event_rows(codec, thread.number, at, events))
    weave, made, columns = show(codec, thread.number, thread_id, weave, None)
    yield merged([WriteSet(rows=made)])
    yield Tell("show_thread", [(*columns, thread.number)])
    yield Tell("touch", [(thread.strands, now(), thread.number)])
    return weave.shown


def seen(weave: Weave, thread_id: str) -> WorkingState:
    if weave.top is None:
        raise nothing_there(thread_id)
    return weave.visible()


def nothing_there(thread_id: str) -> ThreadNotFound:
    return ThreadNotFound(
        f"thread {given(thread_id)!r} has no checkpoint that an edit could lie on: run the graph, "
        "or update its state, first"
    )


def _alike(one: WorkingState, other: WorkingState) -> bool:
    """Whether two states say the same, wherever their thread stands."""
    if one is other:
        return True
    for pillar in PILLARS:
        olds, news = getattr(one, pillar), getattr(other, pillar)
        if [item.id for item in olds] != [item.id for item in news]:
            return False
        if not all(same(told(a), told(b)) for a, b in zip(olds, news, strict=True)):
            return False
    return True


def refuse_without_pillars(thread_id: str) -> InvalidInput:
    return InvalidInput(
        f"thread {given(thread_id)!r}: this saver was opened with pillars=False, so it has no "
        "working state to edit"
    )
