"""Views of checkpoints, as a saver makes them and by hand."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from langgraph_wyrd.extraction.extracting import views
from langgraph_wyrd.extraction.policy import Channels
from langgraph_wyrd.extraction.view import Fresh, TaskWrite, View
from langgraph_wyrd.state.model import (
    WorkingState,
)

CONFIG: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 30}
NULL = "00000000-0000-0000-0000-000000000000"


def checkpoint_view(found: Any, **more: Any) -> View:
    put, _, _ = views(found, (), WorkingState(), Channels())
    return dataclasses.replace(put, **more)


def stored_writes(saver: InMemorySaver, found: Any) -> list[TaskWrite]:
    """A checkpoint's pending writes with their paths, as a saver has them."""
    where = found.config["configurable"]
    rows = saver.writes[where["thread_id"], where["checkpoint_ns"], found.checkpoint["id"]]
    return [
        TaskWrite(task, path, channel, saver.serde.loads_typed(value))
        for (task, _), (_, channel, value, path) in rows.items()
    ]


def leaf(saver: InMemorySaver, ns: str = "") -> tuple[View, View]:
    """The newest checkpoint of a namespace, and what its tasks wrote."""
    found = saver.get_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": ns}})
    put = checkpoint_view(found)
    writes = stored_writes(saver, found)
    return put, dataclasses.replace(put, putting=False, writes=writes, changed=frozenset())


def changed(values: Mapping[str, Any], *names: str, **more: Any) -> View:
    """A put that gives these channels another value."""
    more.setdefault("versions", dict.fromkeys(values, 1))
    return View("c", values=values, changed=frozenset(names or values), **more)


def wrote(*writes: tuple[str, str, str, Any], **more: Any) -> View:
    return View("c", writes=[TaskWrite(*each) for each in writes], putting=False, **more)


def said(*messages: Any, **more: Any) -> View:
    """A put with new messages."""
    held = list(messages)
    fresh = {"messages": Fresh(held, range(len(held)))}
    return changed({"messages": held}, fresh=fresh, **more)


def calls(run: Callable[[], object]) -> int:
    """How many functions are called: what it costs, whatever the machine is busy with."""
    count = 0

    def seen(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event.endswith("call")

    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


@dataclasses.dataclass
class Ask:
    question: str
    weight: int = 1
