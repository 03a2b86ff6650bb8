"""What waits for a person, in all threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.state.records import record

if TYPE_CHECKING:
    from langgraph_wyrd.saver import WyrdSaver

WAITING = ("interrupt", "question")
_FIELDS: dict[str, Any] = {
    "thread_id": None, "kind": None, "question": None, "allowed": [], "since": None, "node": None,
    "ns": "", "agent": None, "loop_id": None, "value": None, "actions": [], "form": "plain",
    "schema": None, "interrupt_id": None, "user_id": None, "assigned_to": None, "expires_at": None,
}  # fmt: skip


async def entries(saver: WyrdSaver, asked: Mapping[str, Any]) -> dict[str, Any]:
    """A page of the inbox."""
    inbox: Any = getattr(saver, "ainbox", None)
    if inbox is not None:
        page = await inbox(**asked)
        made = [{name: getattr(each, name) for name in _FIELDS} for each in page]
        return {"entries": made, "next": page.next}
    # Until `saver.ainbox` is there.
    named = {"user_id" if name == "user" else name: held for name, held in asked.items()}
    loops = await saver.aopen_loops(**{**named, "kind": asked.get("kind") or WAITING})
    return {"entries": [_of_loop(record(each)) for each in loops], "next": loops.next}


def _of_loop(loop: dict[str, Any]) -> dict[str, Any]:
    same = {name: loop[name] for name in ("thread_id", "kind", "node", "ns")}
    said = {"question": loop["description"], "value": loop["context"], "since": loop["opened_at"]}
    return {**_FIELDS, **same, **said, "loop_id": loop["id"], "interrupt_id": loop["ref"]}
