"""Open todos of an earlier session, for a new thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from langgraph_wyrd.agents.standing import Asking, Place
from langgraph_wyrd.agents.telling import Carried
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.state.model import WorkingState

Earlier = str | Mapping[str, Any] | None
CarryFrom = Earlier | Callable[[RunnableConfig], Earlier]

_LOOKED_AT = 50  # threads, to find one with open todos


def open_before(
    given: CarryFrom, place: Place, config: RunnableConfig | None
) -> Asking[Carried | None]:
    """What the earlier thread left open; None if there is no such thread, or nothing open."""
    if callable(given):
        given = given(config or {})
    if given is None:
        return None
    if isinstance(given, str):
        earlier: str | None = given
    elif isinstance(given, Mapping):
        filters = {"limit": _LOOKED_AT, **given}
        page = yield place.saver, "threads", (), filters
        left = (info.thread_id for info in page if info.open_todos)
        earlier = next((id for id in left if id != place.thread_id), None)
    else:
        raise InvalidInput(
            f"carry_from gave {given!r}: use a thread id, filters of saver.threads, or None"
        )
    if earlier is None or earlier == place.thread_id:
        return None
    try:
        state: WorkingState = yield place.saver.thread(earlier), "working_state", (), {}
    except ThreadNotFound:  # this is the first session
        return None
    todos = tuple(todo for todo in state.open_todos if todo.confidence != "heuristic")
    return Carried(earlier, todos) if todos else None
