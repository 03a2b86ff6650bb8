"""What the tasks of a leaf say: seen while it is the leaf, over when a child comes.

Lasting events come from puts. Those of a task's writes lie over them, in whatever order they
arrived: what a task opened is put there first, so that another one's answer finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langgraph_wyrd.pillars.draft import Draft
from langgraph_wyrd.pillars.events import Event, Moment
from langgraph_wyrd.pillars.facts import PASSING
from langgraph_wyrd.pillars.model import WorkingState

Overlay = Sequence[tuple[Moment, Sequence[Event]]]

ANSWERED = "answered"
WENT_ON = "the run went on"


def overlaid(lasting: WorkingState, overlay: Overlay) -> WorkingState:
    """The leaf's state as seen now; also what the fold of the next task's writes starts from."""
    if not overlay:
        return lasting
    draft = Draft(lasting)
    for moment, events in overlay:
        for event in events:
            if event.op == "open" and event.pillar == "loop":
                draft.apply(event, moment)
    for moment, events in overlay:
        for event in events:
            draft.apply(event, moment)  # a loop that is there already is not opened again
    return draft.finish()


def advance(lasting: WorkingState, overlay: Overlay, at: Moment) -> WorkingState:
    """The state that the fold of a child, at this moment, starts from.

    Interrupts and errors of the parent's tasks become closed loops, whose outcome says whether
    an answer was seen. What else its tasks said, the child says itself.
    """
    passed: dict[str, str] = {}  # loops that are over now, and how
    for loop in lasting.loops:
        if loop.closed_at is None and loop.source.rule in PASSING:
            passed[loop.id] = WENT_ON
    if not overlay and not passed:
        return lasting
    draft = Draft(lasting)
    for moment, events in overlay:
        for event in events:
            if (event.pillar, event.op) != ("loop", "open"):
                continue
            if event.source.get("rule") in PASSING:
                draft.apply(event, moment)
                passed[event.item] = WENT_ON
    for moment, events in overlay:
        for event in events:
            if event.pillar == "loop" and event.item in passed:
                if event.op == "change":
                    draft.apply(event, moment)
                elif event.op == "close":
                    passed[event.item] = event.body.get("outcome") or ANSWERED
    for item, outcome in passed.items():
        draft.close_loop(item, outcome, at)
    return draft.finish()


def along(
    start: WorkingState, path: Iterable[tuple[Moment, Sequence[Event], Overlay]]
) -> WorkingState:
    """The lasting state at the end of a path: each step's own events, and what its tasks said.

    The same as `advance` and `replay` step by step, but a state is only put together where one is
    needed: a path is long, and mostly nothing passes on it.
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
        before, overlay = at, said
    return draft.finish(before)
