"""Messages that stand for ones that can't be read any more.

Nothing but a message is ever made up, and each says what it is. Its class and ids are read off
what is left of it, else off its neighbours: who answers a tool call names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from langgraph_wyrd.healing.strand import Lost
from langgraph_wyrd.store.values import Codec, is_row

TEXT = "[This message could not be read: its stored bytes are damaged.]"
MARK = {"wyrd": "unreadable"}

Pieces = Sequence["bytes | Gap"]


@dataclass(frozen=True, slots=True)
class Gap:
    """The place of an element that is lost."""

    strand: int
    lost: Lost
    at: int

    @property
    def id(self) -> str:
        """Stable: the next load makes the same message."""
        return f"unreadable-{self.strand}-{self.lost.seq}-{self.lost.part}-{self.at}"


def filled(codec: Codec, pieces: Pieces) -> list[Any] | None:
    """The messages, with placeholders in the gaps; None if this is no list of messages."""
    held = iter(codec.load_elements([piece for piece in pieces if isinstance(piece, bytes)]))
    values: list[Any] = [next(held) if isinstance(piece, bytes) else piece for piece in pieces]
    intact = [value for value in values if not isinstance(value, Gap)]
    if not all(isinstance(value, BaseMessage) for value in intact):
        return None
    remains = {id(gap.lost): _remains(codec, gap.lost) for gap in _gaps(values)}
    if not intact and not any(remains.values()):
        return None
    taken = {value.id for value in intact}
    for index, value in enumerate(values):
        if isinstance(value, Gap):
            left = remains[id(value.lost)]
            made = _made(value, left[value.at] if left else None, values, index)
            if made.id in taken:
                made.id = value.id
            taken.add(made.id)
            values[index] = made
    return values


def _gaps(values: Sequence[Any]) -> list[Gap]:
    return [value for value in values if isinstance(value, Gap)]


def _remains(codec: Codec, lost: Lost) -> list[Any] | None:
    """The messages that a damaged block still shows. What they say is not to be trusted."""
    try:
        elements = codec.open_block(lost.data)
        if len(elements) != lost.count:
            return None
        found: list[Any] = []
        for element in elements:
            value: Any = None
            try:
                (value,) = codec.load_elements([element])
            except Exception:
                if not is_row(element):
                    return None
            found.append(value)
    except Exception:
        return None
    if not all(value is None or isinstance(value, BaseMessage) for value in found):
        return None
    return found


def _made(gap: Gap, left: Any, values: Sequence[Any], index: int) -> BaseMessage:
    unanswered = _unanswered(values[:index])
    orphans = _orphans(values, index)
    name = left.id if left is not None and isinstance(left.id, str) and left.id else gap.id
    if isinstance(left, ToolMessage) or (left is None and unanswered):
        answered = getattr(left, "tool_call_id", None)
        if answered not in unanswered and unanswered:
            answered = unanswered[0]
        return ToolMessage(TEXT, id=name, tool_call_id=answered or "", status="error",
                           response_metadata=dict(MARK))  # fmt: skip
    if isinstance(left, AIMessage) or (left is None and orphans):
        # A call that nobody answered is not made up: its arguments can't be trusted.
        return AIMessage(TEXT, id=name, tool_calls=orphans, response_metadata=dict(MARK))
    if isinstance(left, SystemMessage):
        return SystemMessage(TEXT, id=name, response_metadata=dict(MARK))
    if left is None:
        before = next((v for v in reversed(values[:index]) if isinstance(v, BaseMessage)), None)
        if isinstance(before, (HumanMessage, ToolMessage)):
            return AIMessage(TEXT, id=name, response_metadata=dict(MARK))
    return HumanMessage(TEXT, id=name, response_metadata=dict(MARK))


def _unanswered(before: Sequence[Any]) -> list[str]:
    """The calls of the last message that made some, less those that were answered behind it."""
    answered: set[str] = set()
    for value in reversed(before):
        if isinstance(value, ToolMessage):
            answered.add(value.tool_call_id)
        elif isinstance(value, AIMessage):
            return [str(c["id"]) for c in value.tool_calls if c["id"] not in answered]
        else:
            return []
    return []


def _orphans(values: Sequence[Any], index: int) -> list[ToolCall]:
    """The calls that the tool messages behind a gap answer, and that nothing made."""
    calls = []
    for value in values[index + 1 :]:
        if not isinstance(value, ToolMessage):
            break
        calls.append(ToolCall(name=value.name or "unknown", args={}, id=value.tool_call_id,
                              type="tool_call"))  # fmt: skip
    return calls
