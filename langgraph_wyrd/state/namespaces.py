"""A thread's state from its namespaces: the root's, and those of the subgraphs that run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langgraph_wyrd.state.events import same
from langgraph_wyrd.state.model import HOLDS_UP, OpenLoop, WorkingState

_Known = tuple[str, str]  # kind and ref


def join(root: WorkingState, children: Sequence[WorkingState]) -> WorkingState:
    """What the whole thread was doing.

    What a subgraph and its caller both report is shown once. Status and reason stay the root's:
    give the result to `with_status`, with its own `due`.
    """
    if not children:
        return root
    children = sorted(children, key=lambda child: child.ns)
    todos, context = list(root.todos), list(root.context)
    intentions, due = list(root.intentions), list(root.due)
    # A subgraph that shares a channel with its caller starts with the caller's value.
    plans = {(todo.tracker, todo.content, todo.status) for todo in todos}
    held: dict[str, list[Any]] = {}
    for item in context:
        held.setdefault(item.key, []).append(item.value)
    for child in children:
        todos += [t for t in child.todos if (t.tracker, t.content, t.status) not in plans]
        for item in child.context:
            if not any(same(item.value, value) for value in held.get(item.key, ())):
                held.setdefault(item.key, []).append(item.value)
                context.append(item)
        intentions += child.intentions
        due += child.due
    return replace(
        root,
        todos=tuple(todos),
        context=tuple(context),
        loops=_loops(root, children),
        intentions=tuple(intentions),
        due=tuple(due),
    )


def _loops(root: WorkingState, children: Sequence[WorkingState]) -> tuple[OpenLoop, ...]:
    result = list(root.loops)
    places = _latest(result)
    for child in children:
        own = _latest(child.loops)
        for place, loop in enumerate(child.loops):
            if _repeats(result, loop, child.ns):
                continue
            if loop.ref is None:
                result.append(loop)
            elif own[loop.kind, loop.ref] == place:
                _meet(places, result, (loop.kind, loop.ref), loop)
    return tuple(result)


def _latest(loops: Sequence[OpenLoop]) -> dict[_Known, int]:
    """Where the last loop of each ref is: if any of them is open, it is that one."""
    return {
        (loop.kind, loop.ref): place for place, loop in enumerate(loops) if loop.ref is not None
    }


def _meet(places: dict[_Known, int], result: list[OpenLoop], key: _Known, loop: OpenLoop) -> None:
    """A loop of a child, and what is known of it so far."""
    place = places.get(key)
    if place is not None:
        held = result[place]
        # What was asked before that is over.
        later = (loop.closed_at or "") > (held.closed_at or "")
        if loop.resolved and (later or not held.resolved):
            result[place] = replace(
                held, changed_at=loop.changed_at, closed_at=loop.closed_at,
                closed_in=loop.closed_in, outcome=loop.outcome,
            )  # fmt: skip
        if loop.kind == "interrupt" and not loop.resolved and not held.resolved:
            result[place] = _asked_inside(held, loop)
        if loop.resolved or not held.resolved or not _after(loop, held):
            return
    places[key] = len(result)
    result.append(loop)


def _asked_inside(held: OpenLoop, loop: OpenLoop) -> OpenLoop:
    """An interrupt that a subgraph raised and its caller repeats: the subgraph's node asked."""
    calls = [
        call
        for each in (held, loop)
        if isinstance(found := each.context.get(HOLDS_UP), list | tuple)
        for call in found
    ]
    context = {**held.context, HOLDS_UP: list(dict.fromkeys(calls))} if calls else held.context
    return replace(held, source=loop.source, context=context)


def _after(loop: OpenLoop, held: OpenLoop) -> bool:
    """Whether a loop was opened after the other one was closed: it asks again."""
    if loop.opened_at is None or held.closed_at is None:
        return False
    return loop.opened_at > held.closed_at


def _repeats(result: list[OpenLoop], loop: OpenLoop, ns: str) -> bool:
    """Whether an error is known from a task that called this subgraph.

    The subgraph knows better which node it was, so its loop replaces the caller's.
    """
    if loop.kind != "error" or loop.source.rule != "task_error":
        return False
    for place, held in enumerate(result):
        if (
            held.kind == "error"
            and held.source.rule == "task_error"
            and held.resolved == loop.resolved
            and held.description == loop.description
            and _called(held, ns)
        ):
            if loop.source.node is not None:
                result[place] = loop
            return True
    return False


def _called(held: OpenLoop, ns: str) -> bool:
    """Whether a namespace is of the subgraph that this loop's task called, or deeper."""
    above = f"{held.source.ns}|" if held.source.ns else ""
    if not ns.startswith(above):
        return False
    node, _, task = ns[len(above) :].partition("|")[0].partition(":")
    if task and held.source.task_id is not None:
        return task == held.source.task_id
    return node == held.source.node
