"""What the tasks of a leaf say: seen while it is the leaf, over when a child comes.

Lasting events come from puts. Those of a task's writes lie over them, in whatever order they
arrived: what a task opened is put there first, so that another one's answer finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace

from langgraph_wyrd.state.draft import Draft
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.state.facts import PASSING
from langgraph_wyrd.state.model import WorkingState

Overlay = Sequence[tuple[Moment, Sequence[Event]]]

EDIT = "edit:"  # tasks of those who edit the state: no child says again what they said, so it lasts

ANSWERED = "answered"
WENT_ON = "the run went on"


def is_edit(at: Moment) -> bool:
    return at.task.startswith(EDIT)


def rank(task: str) -> tuple[bool, int, str]:
    """The order of an overlay: who edits has seen what the tasks said, and edits before it."""
    if not task.startswith(EDIT):
        return False, 0, task
    seq = task.rpartition(":")[2]
    return True, int(seq) if seq.isdecimal() else 0, task


def moment_of(checkpoint: str, ns: str, ts: str | None, task: str) -> Moment:
    """When a task spoke: with its checkpoint; an edit says itself when it was."""
    if task.startswith(EDIT):
        ts = task[len(EDIT) :].rpartition(":")[0] or ts
    return Moment(checkpoint, ns, ts, task)


def overlaid(lasting: WorkingState, overlay: Overlay, *, bounded: bool = False) -> WorkingState:
    """The leaf's state as seen now; also what the fold of the next task's writes starts from.

    It has all that is over since the leaf was put, unless it is `bounded`: what a task or an edit
    ended is not to vanish because of another one, in whatever order they came.
    """
    if not overlay:
        return lasting
    draft = Draft(lasting)
    _asked_again(draft, lasting, overlay)
    for moment, events in overlay:
        for event in events:
            if event.op == "open" and event.pillar == "loop":
                draft.apply(event, moment)
    for moment, events in overlay:
        for event in events:
            draft.apply(event, moment)  # a loop that is there already is not opened again
    return draft.finish(bounded=bounded)


def with_more(
    seen: WorkingState, lasting: WorkingState, overlay: Overlay, at: Moment, events: Sequence[Event]
) -> WorkingState | None:
    """What `overlaid` gives once a task says this as well, worked out from what it gave before.

    None where that takes more than to open and close loops that no other task speaks of. A step may
    have hundreds of tasks that ask, each of which is read as it comes.
    """
    items = {event.item for event in events}
    opened = {event.item for event in events if event.op == "open"}
    for event in events:
        if event.pillar != "loop" or event.op not in ("open", "close"):
            return None
        if event.op == "open" and event.body.get("kind") == "request":  # may be the title
            return None
    if is_edit(at) or len(items) < len(events) or (overlay and is_edit(overlay[-1][0])):
        return None
    asked, later = False, set[str]()  # opened by tasks that come behind this one
    for moment, said in overlay:
        behind = moment.task > at.task
        for event in said:
            opens = event.op == "open"
            if event.item in items and (event.item in opened or not opens):
                return None
            if opens and event.pillar == "loop":
                asked = asked or event.source.get("rule") in PASSING
                if behind:
                    later.add(event.item)
    asks = not asked and any(event.source.get("rule") in PASSING for event in events)
    if asks and any(not loop.resolved and loop.source.rule in PASSING for loop in lasting.loops):
        return None  # what was asked before is over now
    draft = Draft(seen)
    if not opened.isdisjoint(draft.loops.items):
        return None
    for event in events:
        draft.apply(event, at)
    made = draft.finish(bounded=False)
    if not (opened and later):
        return made
    old = {loop.id for loop in lasting.loops}
    loops = [loop for loop in made.loops if loop.id not in opened]
    ends = [n for n, loop in enumerate(loops) if loop.id in later and loop.id not in old]
    place = ends[0] if ends else len(loops)
    loops[place:place] = [loop for loop in made.loops if loop.id in opened]
    return replace(made, loops=tuple(loops))


def _asked_again(draft: Draft, lasting: WorkingState, overlay: Overlay) -> None:
    """What was asked before a rollback is over where a task of the new head asks, or fails."""
    passing = [loop for loop in lasting.loops if not loop.resolved and loop.source.rule in PASSING]
    if not passing:
        return
    for moment, events in overlay:
        opened = [each for each in events if each.op == "open" and each.pillar == "loop"]
        if not is_edit(moment) and any(each.source.get("rule") in PASSING for each in opened):
            for loop in passing:
                draft.close_loop(loop.id, WENT_ON, moment)
            return


def with_edits(lasting: WorkingState, overlay: Overlay) -> WorkingState:
    """The state with what was edited, without what the tasks say."""
    return overlaid(lasting, [each for each in overlay if is_edit(each[0])], bounded=True)


def said_again(overlay: Overlay) -> set[str]:
    """The items that tasks opened and `advance` leaves out: the child says the same itself, and
    gives it another id."""
    edited = {event.item for at, events in overlay if is_edit(at) for event in events}
    return {
        event.item
        for at, events in overlay
        if not is_edit(at)
        for event in events
        if event.op == "open" and event.item not in edited
        if event.pillar != "loop" or event.source.get("rule") not in PASSING
    }


def advance(lasting: WorkingState, overlay: Overlay, at: Moment) -> WorkingState:
    """The state that the fold of a child, at this moment, starts from.

    Interrupts and errors of the parent's tasks become closed loops, whose outcome says whether
    an answer was seen. What else its tasks said, the child says itself; but what was edited
    stays, with what the edit is about.
    """
    passed: dict[str, str] = {}  # loops that are over now, and how
    for loop in lasting.loops:
        if loop.closed_at is None and loop.closed_in is None and loop.source.rule in PASSING:
            passed[loop.id] = WENT_ON
    if not overlay and not passed:
        return lasting
    draft = Draft(lasting)
    edited = {event.item for at_, events in overlay if is_edit(at_) for event in events}
    for moment, events in overlay:
        for event in events:
            if event.op != "open" or is_edit(moment):
                continue
            if event.pillar == "loop" and event.source.get("rule") in PASSING:
                draft.apply(event, moment)
                passed[event.item] = WENT_ON
            elif event.item in edited:
                draft.apply(event, moment)
    for moment, events in overlay:
        for event in events:
            if event.pillar == "loop" and event.item in passed:
                if event.op == "change":
                    draft.apply(event, moment)
                elif event.op == "close" and not is_edit(moment):
                    passed[event.item] = event.body.get("outcome") or ANSWERED
    for moment, events in overlay:
        if is_edit(moment):
            for event in events:
                draft.apply(event, moment)
    for item, outcome in passed.items():
        draft.close_loop(item, outcome, at)
    return draft.finish()


def along(
    start: WorkingState,
    path: Iterable[tuple[Moment, Sequence[Event], Overlay]],
    look: Callable[[WorkingState, Container[str]], None] | None = None,
) -> WorkingState:
    """The lasting state at the end of a path: each step's own events, and what its tasks said.

    The same as `advance` and `replay` step by step, but a state is only put together where one is
    needed: a path is long, and mostly nothing passes on it. `look` is given all that are seen, and
    the ids of what is not seen any more once the path goes on.
    """
    draft = Draft(start)
    before: Moment | None = None
    overlay: Overlay = ()
    passing = True  # until it is known that the start has nothing that the first step ends
    for at, own, said in path:
        if overlay or passing:
            draft = Draft(advance(draft.finish(before), overlay, at))
        passing = False
        for event in own:
            draft.apply(event, at)
            passing = passing or event.op == "base" or event.source.get("rule") in PASSING
        draft.end_step()
        if look is not None:
            look(overlaid(draft.finish(at), said), said_again(said))
        before, overlay = at, said
    return draft.finish(before)
