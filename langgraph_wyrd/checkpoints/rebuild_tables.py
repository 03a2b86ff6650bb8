"""Making the public tables of a thread again, from its events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langgraph_wyrd.checkpoints import path, projection, states, working
from langgraph_wyrd.checkpoints.cache import Namespace, Thread
from langgraph_wyrd.checkpoints.put import Turn
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.state.draft import CLOSED_INTENTIONS, CLOSED_LOOPS, LEFT_TODOS
from langgraph_wyrd.state.model import Todo, WorkingState
from langgraph_wyrd.storage.names import stored
from langgraph_wyrd.storage.rows import delete, upsert
from langgraph_wyrd.storage.scripts import Command, Query, Script, Step
from langgraph_wyrd.storage.tables import INTENTIONS, OPEN_LOOPS, TODOS

SHOW = (
    "UPDATE wyrd_threads SET status = ?, reason = ?, due = ?, title = ?, "
    "open_loops = ?, open_todos = ? WHERE key = ?"
)
USED = "UPDATE wyrd_threads SET updated = ? WHERE key = ?"


def again(dialect: str, codec: Codec, thread: Thread) -> Script[None]:
    """Show the state of the thread's head, whatever the tables hold."""
    yield from states.load_thread(dialect, codec, thread)
    yield [Command(delete(table, "thread"), [(thread.key,)]) for table in projection.PUBLIC]
    state = working.visible(thread)
    steps = yield from over(dialect, codec, thread, thread.head, state)
    steps += projection.changes(
        thread.key, thread.thread_id, WorkingState(), state, thread.head or "", codec.sealer
    )
    if steps:
        yield [Command(step.sql, [step.params]) for step in steps]
    yield Command(SHOW, [(*projection.columns(state, thread.key, codec.sealer), thread.key)])


# ---- what is over


@dataclass(slots=True)
class _Past:
    """The items of all states on a path, as each was seen last."""

    items: dict[str, tuple[str, int, Any]] = field(default_factory=dict)

    def look(self, state: WorkingState) -> None:
        at = state.checkpoint_id or ""
        held: list[tuple[int, Any]] = [
            *enumerate(state.todos), *enumerate(state.loops), *enumerate(state.intentions),
        ]  # fmt: skip
        self.items.update((item.id, (at, place, item)) for place, item in held)


def over(
    dialect: str, codec: Codec, thread: Thread, id: str | None, state: WorkingState
) -> Script[list[Step]]:
    """The rows of what is over for so long that the state at a root checkpoint lacks it."""
    ended = (
        sum(loop.resolved for loop in state.loops) >= CLOSED_LOOPS
        or sum(not each.open for each in state.intentions) >= CLOSED_INTENTIONS
        or sum(not todo.listed for todo in state.todos) >= LEFT_TODOS
    )
    if not ended or id is None:
        return []
    past = _Past()
    found = yield from path.find(dialect, thread.thread_id, "", id, writes=False, snapshots=False)
    if not found.path or found.path[-1].built_on is not None:
        return []
    try:
        yield from states.load_namespace(dialect, codec, thread, "", id, found, look=past.look)
    except CheckpointDamaged:
        return []
    every: tuple[Any, ...] = (*state.todos, *state.loops, *state.intentions)
    kept = {item.id for item in every}
    steps = []
    for at, place, item in past.items.values():
        if item.id in kept or item.source.ns:
            continue
        make = projection.Rows(thread.key, thread.thread_id, stored(at, "an id"), codec.sealer)
        if isinstance(item, Todo):
            if not item.open:
                steps.append(Step(upsert(TODOS), make.todo(item, place)))
        elif projection.is_over(item):
            table, row = (
                (OPEN_LOOPS, make.loop) if hasattr(item, "kind") else (INTENTIONS, make.intention)
            )
            steps.append(Step(upsert(table), row(item)))
    return steps


# ---- another branch


def turn(
    dialect: str, codec: Codec, thread: Thread, parent: str | None, space: Namespace | None
) -> Script[Turn]:
    """What the tables hold, and which checkpoints only the branch of the head has."""
    key, head = thread.key, thread.head
    held = yield [Query(projection.listing(table), (key,)) for table in projection.PUBLIC]
    left = yield from path.line(key, head)
    kept = [] if parent is None else (yield from path.line(key, parent))
    ended: list[Step] = []
    if space is not None and space.state is not None and parent not in left:
        ended = yield from over(dialect, codec, thread, parent, space.state.seen())
    return Turn(held, frozenset(left).difference(kept), ended)
