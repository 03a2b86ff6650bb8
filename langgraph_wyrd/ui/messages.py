"""The messages of a thread as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_wyrd.saver import WyrdSaver

_ROLES = {"human": "user", "ai": "assistant", "function": "tool"}


async def of_thread(
    saver: WyrdSaver, thread_id: str, at: str | None, whole: bool
) -> list[dict[str, Any]]:
    """The messages at a point, or with `whole` everything that was said on the way to it."""
    handle: Any = saver.thread(thread_id)
    if hasattr(handle, "amessages"):
        found: list[dict[str, Any]] = await handle.amessages(at=at, all=whole, as_dicts=True)
        return found
    # Until `thread.amessages` is there.
    id = (await handle.aworking_state(at)).checkpoint_id
    here = {"thread_id": thread_id, "checkpoint_ns": "", "checkpoint_id": id}
    held = await saver.aget_tuple({"configurable": here})
    messages = [] if held is None else held.checkpoint["channel_values"].get("messages") or []
    return [_as_dict(each) for each in messages]


def _as_dict(message: Any) -> dict[str, Any]:
    calls = getattr(message, "tool_calls", None) or []
    role = getattr(message, "type", "other")
    return {
        "role": _ROLES.get(role, role),
        "content": getattr(message, "content", str(message)),
        "id": getattr(message, "id", None),
        "name": getattr(message, "name", None),
        "tool_calls": [{key: call.get(key) for key in ("id", "name", "args")} for call in calls],
        "tool_call_id": getattr(message, "tool_call_id", None),
        "status": getattr(message, "status", None),
        "usage": getattr(message, "usage_metadata", None),
        "ts": None,
        "checkpoint_id": None,
        "in_state": True,
        "pending": False,
    }
