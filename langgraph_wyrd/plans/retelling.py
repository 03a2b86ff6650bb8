"""What the tasks of a checkpoint say, read anew from their stored writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.extraction import tasks as signals
from langgraph_wyrd.extraction.due import (
    CONTROL,
    ERROR,
    ERROR_SOURCE,
    INTERRUPT,
    NULL_TASK,
    RESUME,
    is_call,
    node_of,
)
from langgraph_wyrd.extraction.view import TaskWrite
from langgraph_wyrd.plans import loading
from langgraph_wyrd.plans.states import Overlay
from langgraph_wyrd.plans.weaving import Weaver, event_rows, matter, over, task_view
from langgraph_wyrd.plans.woven import Woven
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.state.facts import PASSING, Opens
from langgraph_wyrd.state.model import OpenLoop, WorkingState
from langgraph_wyrd.state.overlay import is_edit, overlaid
from langgraph_wyrd.store.frames import Entry
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.refs import said
from langgraph_wyrd.store.statements import Plan, Tell
from langgraph_wyrd.store.values import Codec

Place = tuple[str, str]  # a task and its path


def retold(
    codec: Codec,
    weaver: Weaver,
    number: int,
    thread_id: str,
    at: Moment,
    woven: Woven,
    channels: Mapping[str, Entry],
    writes: Sequence[Sequence[Any]],
    told: Overlay,
    newest: bool,
) -> Plan[Woven]:
    """A checkpoint with what its tasks say; the ledger is set right where it says otherwise.

    What was told stays if it comes to the same: of a slot that was used again the ledger knows
    more than the writes do. So it does of a call and its caller, which report the same error or
    question: the first one stands. Mostly that is the call; else it is the one that was told.
    """
    edited = tuple(each for each in told if is_edit(each[0]))
    start, kept = replace(woven, overlay=edited), replace(woven, overlay=told)
    about = {event.item for _, events in edited for event in events}
    if any(event.op == "open" and event.item in about for _, events in told for event in events
           if event.source.get("rule") in PASSING):  # fmt: skip
        return kept  # told anew, it could have another id
    versions = {given(name): entry.version for name, entry in channels.items()}
    tasks = _by_task(codec, at, writes)

    orders = [dict(sorted(tasks.items(), key=lambda each: not is_call(given(each[0][1]))))]
    if any(is_call(given(path)) for _, path in tasks):
        first = {here.task for here, _ in told}
        orders.append(dict(sorted(tasks.items(), key=lambda each: each[0][0] not in first)))

    def heard(order: Mapping[Place, Sequence[TaskWrite]], again: bool, failed_last: bool) -> Woven:
        found = start
        for task, some in _attempts(start, at.ns, order, again, failed_last):
            if _matter(some):
                view = task_view(found, at.ns, versions, some)
                events = weaver.writes(view, found, task, thread_id)
                if events:
                    found = over(found, replace(at, task=task), events)
        return found

    answered = any(given(task) == NULL_TASK for task, _ in tasks)
    again = not answered or any(_may_have_run_on(start, at.ns, each) for each in tasks.items())
    ways = [(True, False)]
    if answered:
        ways = [(again, False), (not again, False), (again, True), (not again, True)]
    found = heard(orders[0], *ways[0])
    if _comes_to_the_same(kept, found, newest):
        return kept
    others = [(order, *way) for order in orders for way in ways][1:]
    if any(_comes_to_the_same(kept, heard(*each), newest) for each in others):
        return kept
    for here, _ in told:
        if not is_edit(here):
            yield Tell("drop_events", [(number, at.ns, at.checkpoint_id, here.task)])
    for here, events in found.overlay:
        if not is_edit(here):
            yield Tell("put_event", event_rows(codec, number, here, events))
    return found


def _by_task(
    codec: Codec, at: Moment, rows: Sequence[Sequence[Any]]
) -> dict[Place, list[TaskWrite]]:
    """The writes that can be read, by task and path: an update of a state takes a task's id."""
    found: dict[Place, list[TaskWrite]] = {}
    for each in rows:
        try:
            write = loading.checked_write(at.ns, at.checkpoint_id, each)
            value = said(loading.opened(codec, write))
        except CheckpointDamaged:
            continue
        found.setdefault((write.task, write.path), []).append(
            TaskWrite(given(write.task), given(write.path), given(write.channel), value)
        )
    return found


def _attempts(
    woven: Woven,
    ns: str,
    tasks: Mapping[Place, Sequence[TaskWrite]],
    again: bool,
    failed_last: bool,
) -> list[tuple[str, Sequence[TaskWrite]]]:
    """What each task said, in the order in which it must have been: it asks, is answered, ends.

    A question that stands beside an answer may have been asked `again` after it, if a task ran
    that took the answer. One that stands beside an error was asked after it, if it was not
    answered; else the task may have `failed_last`, with the answer.
    """
    asked: list[tuple[str, Sequence[TaskWrite]]] = []
    answers: list[tuple[str, Sequence[TaskWrite]]] = []
    now_asked: list[tuple[str, Sequence[TaskWrite]]] = []
    ends: list[tuple[str, Sequence[TaskWrite]]] = []
    for (task, _), writes in tasks.items():
        control = [write for write in writes if write.channel in CONTROL]
        if given(task) == NULL_TASK:
            answers.append((task, writes))
        elif len(control) == len(writes):
            errors = [write for write in control if write.channel in (ERROR, ERROR_SOURCE)]
            others = [write for write in control if write.channel not in (ERROR, ERROR_SOURCE)]
            apart = errors and others and _asks(woven, ns, control)
            if apart and failed_last:
                asked.append((task, others))
                now_asked.append((task, errors))
                continue
            for part in (errors, others) if apart else (control,):
                (now_asked if again else asked).append((task, part))
        else:
            failed = [w for w in control if w.channel not in (INTERRUPT, RESUME)]
            waited = [w for w in control if w.channel == INTERRUPT]
            ended = [w for w in writes if w not in failed and w.channel != INTERRUPT]
            asked += [(task, some) for some in (failed, waited) if some]
            ends.append((task, ended))
    return [*asked, *answers, *now_asked, *ends]


def _may_have_run_on(woven: Woven, ns: str, each: tuple[Place, Sequence[TaskWrite]]) -> bool:
    """Whether a task may have taken an answer, which it then keeps; so does a subgraph of its."""
    (task, path), writes = each
    if given(task) == NULL_TASK:
        return False
    if any(write.channel == RESUME for write in writes):
        return True
    own = signals.own_ids(ns, node_of(given(path), woven.sends), given(task), 1)
    asked = [fact for fact in _opens(woven, ns, writes) if fact.kind == "interrupt"]
    return any(fact.ref not in own for fact in asked)


def _asks(woven: Woven, ns: str, writes: Sequence[TaskWrite]) -> bool:
    """Whether a question among a task's writes waits for an answer."""
    return any(fact.kind == "interrupt" for fact in _opens(woven, ns, writes))


def _opens(woven: Woven, ns: str, writes: Sequence[TaskWrite]) -> list[Opens]:
    found = signals.tasks(task_view(woven, ns, {}, writes))
    return [fact for fact in found if isinstance(fact, Opens)]


def _matter(writes: Sequence[TaskWrite]) -> bool:
    return matter((write.channel, write.value) for write in writes)


def _comes_to_the_same(told: Woven, found: Woven, newest: bool) -> bool:
    """Whether two tellings differ in nothing but questions and errors that are over.

    Those of a checkpoint that others came after are over in any case.
    """
    ours, theirs = (overlaid(each.state, each.overlay) for each in (told, found))
    if _lasting(ours) != _lasting(theirs):
        return False
    open_ours, open_theirs = _passing(ours, still=True), _passing(theirs, still=True)
    if newest and not (
        len(open_ours) == len(open_theirs) and all(each in open_ours for each in open_theirs)
    ):
        return False
    known = _passing(ours, still=False)
    return all(each in known for each in _passing(theirs, still=False))


def _lasting(state: WorkingState) -> tuple[Any, ...]:
    loops = [loop for loop in state.loops if loop.source.rule not in PASSING]
    return (
        loops, state.todos, state.context, state.intentions, state.title, dict(state.extra),
    )  # fmt: skip


def _passing(state: WorkingState, *, still: bool) -> list[Any]:
    """Questions and errors, without the number that they have.

    That is their order, which is another one where parallel subgraphs asked again.
    """
    return [
        _identity(loop)
        for loop in state.loops
        if loop.source.rule in PASSING and not (still and loop.resolved)
    ]


def _identity(loop: OpenLoop) -> Any:
    return loop.kind, loop.ref, loop.description, loop.context, loop.source
