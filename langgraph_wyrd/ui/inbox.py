"""What waits for a person, in all threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.state.records import record

if TYPE_CHECKING:
    from langgraph_wyrd.saver import WyrdSaver

_FIELDS = (
    "thread_id", "loop_id", "kind", "question", "value", "allowed", "config", "node", "ns",
    "agent", "since",
)  # fmt: skip
WAITING = ("interrupt", "question")


async def entries(saver: WyrdSaver, asked: Mapping[str, Any]) -> dict[str, Any]:
    """A page of the inbox."""
    inbox: Any = getattr(saver, "ainbox", None)
    if inbox is not None:
        page = await inbox(**asked)
        made = [{name: getattr(each, name, None) for name in _FIELDS} for each in page]
        return {"entries": made, "next": getattr(page, "next", None)}
    # Until `saver.ainbox` is there.
    kinds = asked.get("kind") or WAITING
    page = await saver.aopen_loops(**{**asked, "kind": kinds})
    return {"entries": [_of_loop(record(each)) for each in page], "next": page.next}


def _of_loop(loop: dict[str, Any]) -> dict[str, Any]:
    return {
        "thread_id": loop["thread_id"],
        "loop_id": loop["id"],
        "kind": loop["kind"],
        "question": loop["description"],
        "value": loop["context"],
        "allowed": [],
        "config": {},
        "node": loop["node"],
        "ns": loop["ns"],
        "agent": None,
        "since": loop["opened_at"],
    }
