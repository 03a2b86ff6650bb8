"""What a model reads when it picks a thread up: a block of text behind the system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from langchain_core.messages import SystemMessage

from langgraph_wyrd.state.brief import entry
from langgraph_wyrd.state.model import ContextItem, WorkingState

_LEAD = (
    "## Picked up again\n"
    "This thread goes on after a pause. Below is where it stood, as its checkpoints recorded it: "
    "no message of the user, and older than the newest messages. What has no recorded result may "
    "have happened: verify before redoing it."
)
_ORDERS = "## Standing orders\nThey hold for as long as this thread goes on."
_CLOSING = "Ids in brackets are what `close_loop` takes."


def standing(state: WorkingState, max_chars: int, now: datetime, *, tools: bool) -> str:
    """Where a thread stood, within so many characters; empty where there is nothing to say."""
    if not (state.open_loops or state.open_todos or state.intentions or state.context):
        return ""
    lead = f"{_LEAD} {_CLOSING}" if tools else _LEAD
    room = max_chars - len(lead) - 2
    return f"{lead}\n\n{state.brief(max_chars=max(room, 0), now=now)}" if room > 0 else ""


def orders_text(orders: Sequence[ContextItem], max_chars: int) -> str:
    """The standing orders of a thread; empty where it has none."""
    return _fitted(_ORDERS, [entry(item) for item in orders], max_chars) if orders else ""


def begun_text(begun: Sequence[str], max_chars: int) -> str:
    """Tool calls whose checkpoint is not stored; empty where there are none."""
    lead = "## Begun, and not stored"
    return _fitted(lead, [f"- {each}" for each in begun], max_chars) if begun else ""


def _fitted(lead: str, lines: Sequence[str], most: int) -> str:
    text = "\n".join([lead, *lines])
    kept = len(lines)
    while len(text) > most and kept:
        kept -= 1
        text = "\n".join([lead, *lines[:kept], f"… and {len(lines) - kept} more."])
    return text[: max(most, 0)]


def with_block(system: SystemMessage | None, text: str) -> SystemMessage:
    """The system prompt with this behind it, as a block of its own: what stands before it is what
    it was, so that a provider's prompt cache still has it."""
    if system is None:
        return SystemMessage([{"type": "text", "text": text}])
    content = system.content
    before: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [*(b for b in before if b != {"type": "text", "text": ""})]
    return system.model_copy(update={"content": [*blocks, {"type": "text", "text": f"\n\n{text}"}]})
