"""A thread's status, and why, in words: what its checkpoints show. What a run's lease adds to that
(running, killed, cancelled, paused) is in `checkpoints.leases`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langgraph_wyrd.state.facts import PASSING
from langgraph_wyrd.state.model import (
    HOLDS_UP,
    PERHAPS,
    Due,
    OpenLoop,
    Status,
    WorkingState,
    open_of,
    shortened,
)
from langgraph_wyrd.state.wording import by_weight, listing, nodes

MOST = 200  # characters of a reason
_WAITS = {
    "interrupt": "waits for a person",
    "error": "something failed",
    "tool_call": "a tool call has no recorded result",
    "malformed_call": "a tool call can't be read",
    "question": "waits for an answer",
    "request": "a request is not answered",
    "truncated": "an answer was cut off",
    "task": "delegated work has not reported back",
    "decision": "a decision's outcome is not recorded",
    "note": "noted",
}


def with_status(
    state: WorkingState,
    *,
    due: Sequence[Due],
    paused_before: Sequence[str] = (),
    ran: bool = True,
    read: bool = True,
    children: Sequence[str] = (),
) -> WorkingState:
    """The state with what is due, its status and the reason.

    `paused_before`: nodes that a breakpoint holds back. `ran`: False if nothing ever ran here.
    `read`: False if checkpoints were stored that no extractor has read: nothing is claimed then.
    `children`: the newest checkpoints of the subgraphs that run there.
    """
    loops = _waiting_once(state.loops, (state.checkpoint_id, *children))
    status, reason = _status(state, loops, due, paused_before, ran)
    if not read and status in ("idle", "done", "quiet", "due"):
        status, reason = "unread", "stored without being read: what is open is not known"
    # Written out, as it is made at every put: `replace` takes three times as long.
    return WorkingState(
        state.thread_id, state.checkpoint_id, state.ts, state.title, state.todos, state.context,
        loops, state.intentions, tuple(due), status, shortened(reason, MOST), state.extra,
        state.ns,
    )  # fmt: skip


def not_read(state: WorkingState) -> WorkingState:
    """A state that older extractors read, or fewer: nothing is claimed of what is open."""
    return replace(state, status="unread", reason="not read yet: what is open is not known")


def _waiting_once(loops: tuple[OpenLoop, ...], here: Sequence[str | None]) -> tuple[OpenLoop, ...]:
    """Without the calls that an interrupt holds up: one wait is one item. One that was answered and
    is of these checkpoints holds them up still, until the run takes the answer up."""
    held: set[str] = set()
    for loop in loops:
        if loop.kind == "interrupt" and (not loop.resolved or loop.source.checkpoint_id in here):
            calls = loop.context.get(HOLDS_UP)
            if isinstance(calls, list | tuple):
                held.update(calls)
    if not held:
        return loops
    return tuple([loop for loop in loops if not (loop.ref in held and _is_call(loop))])


def _is_call(loop: OpenLoop) -> bool:
    return loop.kind in ("tool_call", "task") and not loop.resolved


def _status(
    state: WorkingState, held: tuple[OpenLoop, ...], due: Sequence[Due],
    paused_before: Sequence[str], ran: bool,
) -> tuple[Status, str]:  # fmt: skip
    every = open_of(held)
    loops = by_weight([loop for loop in every if not (loop.extra and loop.elsewhere)])
    asking = [loop for loop in loops if loop.kind == "interrupt"] if loops else []
    if asking:
        return "interrupted", _who(asking, "asks", "waits for a person")
    failed = [loop for loop in loops if loop.kind == "error" and loop.source.rule in PASSING]
    if failed:
        return "error", _who(failed, "failed", "a task failed")
    if paused_before:
        return "due", f"paused before {listing(list(dict.fromkeys(paused_before)))}"
    if due:
        return "due", f"next: {listing(nodes(due))}"
    if loops:
        says = _WAITS.get(loops[0].kind, loops[0].kind)
        return "idle", f"{_more(loops)}{says}: {loops[0].description}"
    todos = [todo for todo in state.open_todos if todo.confidence != "heuristic"]
    if todos:
        count = "1 todo is open" if len(todos) == 1 else f"{len(todos)} todos are open"
        return "idle", f"{count}: {todos[0].content}"
    if every:
        return "done" if ran else "idle", "nothing due, open on other branches only"
    if not ran:
        return "idle", "nothing happened yet"
    if state.intentions and state.intentions[-1].outcome == PERHAPS:
        asked = state.intentions[-1].text
        return "quiet", f"nothing seems open, but perhaps not all of this was answered: {asked}"
    return "done", "nothing due, nothing open"


def _who(loops: Sequence[OpenLoop], does: str, otherwise: str) -> str:
    node = loops[0].source.node
    who = otherwise if node is None else f"node {node} {does}"
    return f"{_more(loops)}{who}: {loops[0].description}"


def _more(loops: Sequence[OpenLoop]) -> str:
    """Put first, because a long description is cut at its end."""
    return "" if len(loops) == 1 else f"{len(loops)} open, first: "
