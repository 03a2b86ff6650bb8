"""A diff said of another thread: which verbs of an edit come to the same."""

from __future__ import annotations

from typing import Any

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.diff import StateDiff
from langgraph_wyrd.state.editing import BY_HAND
from langgraph_wyrd.state.matching import Change
from langgraph_wyrd.state.merge import Conflict
from langgraph_wyrd.state.model import ContextItem, Intention, Item, OpenLoop, Todo, WorkingState

_TODO_VERBS = {
    "in_progress": "start_todo",
    "completed": "complete_todo",
    "cancelled": "cancel_todo",
    "pending": "reopen_todo",
}


def say(draft: Any, diff: StateDiff) -> tuple[Conflict, ...]:
    """Say what a diff says, with the verbs of a draft; what could not be said."""
    left: list[Conflict] = []
    for pillar, _, change in diff.all_changes():
        item = change.item
        try:
            if isinstance(item, Todo):
                said = _todo(draft, change)
            elif isinstance(item, ContextItem):
                said = _context(draft, change)
            elif isinstance(item, OpenLoop):
                said = _loop(draft, change)
            else:
                said = _intention(draft, item, change)
        except InvalidInput:
            said = False
        if not said:
            left.append(Conflict(pillar, item.id, None, change.old, None, change.new))
    return tuple(left)


def _todo(draft: Any, change: Change) -> bool:
    old, new = change.old, change.new
    assert old is None or isinstance(old, Todo)
    assert new is None or isinstance(new, Todo)
    here = _same(draft.state, old or new)
    assert here is None or isinstance(here, Todo)
    if new is None:
        if here is not None and here.open:
            draft.cancel_todo(here.id)
        return True
    if here is None:
        here = draft.add_todo(new.content, new.priority)
    if here.status != new.status:
        verb = _TODO_VERBS.get(new.status, "start_todo")
        getattr(draft, verb)(here.id)
    return bool(here.content == new.content)


def _context(draft: Any, change: Change) -> bool:
    new = change.new
    if not isinstance(new, ContextItem):
        key = change.item.key  # type: ignore[union-attr]
        if any(item.key == key for item in draft.state.context):
            draft.remove_context(key)
        return True
    draft.set_context(new.key, new.value, dict(new.metadata) or None)
    return True


def _loop(draft: Any, change: Change) -> bool:
    loop = change.item
    assert isinstance(loop, OpenLoop)
    here = _same(draft.state, change.old or loop)
    assert here is None or isinstance(here, OpenLoop)
    if change.new is None or loop.resolved:
        if here is not None and not here.resolved:
            draft.resolve_open_loop(here.id, loop.outcome)
        return here is not None or change.old is None
    if here is not None:
        return not here.resolved
    if loop.kind not in BY_HAND:  # only the graph can say what it waits for
        return False
    draft.add_open_loop(loop.description, dict(loop.context) or None, loop.kind)
    return True


def _intention(draft: Any, item: Item, change: Change) -> bool:
    assert isinstance(item, Intention)
    now = draft.state.intention
    if change.new is not None and item.open:
        if now is None or now.text != item.text:
            draft.set_intention(item.text)
        return True
    if now is not None and now.text == item.text and now.aim == "explicit":
        draft.set_intention(None)
    return True


def _same(state: WorkingState, item: Item | None) -> Item | None:
    """The item of a state that is meant: by its id, else by what it says, an open one first."""
    items = state.todos if isinstance(item, Todo) else state.loops
    for each in items:
        if item is not None and each.id == item.id:
            return each
    alike = [each for each in items if _words(each) == _words(item)]
    return next((each for each in alike if _is_open(each)), alike[0] if alike else None)


def _words(item: Item | None) -> Any:
    if isinstance(item, Todo):
        return item.content
    return (item.kind, item.description) if isinstance(item, OpenLoop) else None


def _is_open(item: Item) -> bool:
    return item.open if isinstance(item, Todo) else isinstance(item, OpenLoop) and not item.resolved
