"""A working state, to be looked at."""

from __future__ import annotations

from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.words import by_weight, listing, nodes
from langgraph_wyrd.views.markup import Markup, Part, folded, tag
from langgraph_wyrd.views.parts import age, bounded, entry, part, status
from langgraph_wyrd.views.plain import count, line, plain
from langgraph_wyrd.views.style import framed

MOST = 60  # items of a pillar


def state_html(state: WorkingState) -> str:
    return framed(head(state), *pillars(state))


def state_text(state: WorkingState) -> str:
    return plain(state.brief(guesses=bool(state.guessed_loops)))


def head(state: WorkingState) -> list[Part]:
    """Whose state it is, where it stands, and what it is after."""
    name = "a working state" if state.thread_id is None else line(state.thread_id, 120)
    ns = tag("code", line(state.ns, 120)) if state.ns else None
    at: list[Part] = [age(state.ts), " ", tag("code", line(state.checkpoint_id or "", 60))]
    wanted = state.intention
    said: list[Part] = [
        tag(
            "div",
            tag("span", name, class_="w-name"),
            ns,
            status(state.status),
            tag("small", at),
            class_="w-head",
        )
    ]
    if wanted is not None:
        said.append(tag("p", tag("span", folded(wanted.text)), class_="w-aim"))
    elif state.title:
        said.append(tag("p", line(state.title, 240), class_="w-aim"))
    if state.reason:
        said.append(tag("p", tag("small", line(state.reason, 400))))
    if state.due and state.status != "due":
        said.append(tag("p", tag("small", f"next: {line(listing(nodes(state.due), 10), 400)}")))
    return said


def pillars(state: WorkingState) -> list[Markup]:
    """The four of them, those that hold something."""
    loops, over = by_weight(state.open_loops), [*reversed(state.closed_loops)]
    guesses, todos = state.guessed_loops, state.todos
    done = sum(todo.status == "completed" for todo in todos)
    stands = f"{done} of {count(len(todos), 'todo')} done" if todos else "none"
    found = [
        part(
            "Open loops",
            str(len(loops)) if loops else "nothing waits",
            bounded(loops, MOST, entry, "open loop") if loops else None,
        ),
        part("Todos", stands, bounded(todos, MOST, entry, "todo") if todos else None),
    ]
    if state.context:
        said = str(len(state.context))
        inside = bounded(state.context, MOST, entry, "context item")
        found.append(part("Context", said, inside, open=len(state.context) <= 6))
    if len(state.intentions) > 1:
        past = [*reversed(state.intentions)]
        inside = bounded(past, MOST, entry, "intention")
        found.append(part("Intentions", str(len(past)), inside, open=False))
    if over:
        inside = bounded(over, MOST, entry, "closed loop")
        found.append(part("Closed lately", str(len(over)), inside, open=False))
    if guesses:
        inside = bounded(guesses, MOST, entry, "guess", "more guesses")
        found.append(part("Guessed from prose", str(len(guesses)), inside, open=False))
    return found
