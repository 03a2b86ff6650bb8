"""A diff said of another thread: which verbs of an edit come to the same."""

from __future__ import annotations

from typing import Any

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.diff import StateDiff
from langgraph_wyrd.state.editing import BY_HAND
from langgraph_wyrd.state.matching import Change, is_open, text_of
from langgraph_wyrd.state.merge import Conflict
from langgraph_wyrd.state.model import ContextItem, Intention, Item, OpenLoop, Todo

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
        try:
            said = _VERBS[pillar](draft, change, change.item)
        except InvalidInput:
            said = False
        if not said:
            left.append(Conflict(pillar, change.item.id, None, change.old, None, change.new))
    return tuple(left)


def _todo(draft: Any, change: Change, todo: Todo) -> bool:
    here: Any = _same(draft.state.todos, change.old or todo)
    if change.new is None:
        if here is not None and here.open:
            draft.cancel_todo(here.id)
        return True
    if here is None:
        here = draft.add_todo(todo.content, todo.priority)
    if here.status != todo.status:
        getattr(draft, _TODO_VERBS.get(todo.status, "start_todo"))(here.id)
    return bool(here.content == todo.content)


def _context(draft: Any, change: Change, item: ContextItem) -> bool:
    if change.new is not None:
        draft.set_context(item.key, item.value, dict(item.metadata) or None)
    elif any(each.key == item.key for each in draft.state.context):
        draft.remove_context(item.key)
    return True


def _loop(draft: Any, change: Change, loop: OpenLoop) -> bool:
    here: Any = _same(draft.state.loops, change.old or loop)
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


def _intention(draft: Any, change: Change, wanted: Intention) -> bool:
    now = draft.state.intention
    is_this = now is not None and now.text == wanted.text
    if change.new is not None and wanted.open:
        if not is_this:
            draft.set_intention(wanted.text)
    elif is_this and now.aim == "explicit":
        draft.set_intention(None)
    return True


_VERBS: dict[str, Any] = {
    "todos": _todo, "context": _context, "loops": _loop, "intentions": _intention,
}  # fmt: skip


def _same(items: tuple[Item, ...], item: Item) -> Item | None:
    """The item that is meant: by its id, else by what it says, an open one first."""
    same = [each for each in items if each.id == item.id]
    same += [each for each in items if _says(each) == _says(item) and is_open(each)]
    same += [each for each in items if _says(each) == _says(item)]
    return same[0] if same else None


def _says(item: Item) -> tuple[str | None, str]:
    return item.kind if isinstance(item, OpenLoop) else None, text_of(item)
