"""What a model is told when it picks a thread up: a block of text behind the system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from langchain_core.messages import SystemMessage

from langgraph_wyrd.state.brief import ago
from langgraph_wyrd.state.model import Todo, WorkingState, shortened

_LEAD = (
    "## Picked up again\n"
    "This thread goes on after a pause. Below is where it stood, as its checkpoints recorded it: "
    "no message of the user, and older than the newest messages. What has no recorded result may "
    "have happened: verify before redoing it."
)
_CARRIED = "## Left open in an earlier session"
_CLOSING = "Ids in brackets are what `close_loop` takes."
_TEXT = 300


@dataclass(frozen=True, slots=True)
class Carried:
    """Todos that an earlier thread left open."""

    thread_id: str
    todos: tuple[Todo, ...]

    def channel(self) -> list[dict[str, Any]]:
        """As the `todos` channel has them, with where they come from and since when."""
        return [
            {
                "content": todo.content,
                "status": todo.status,
                "carried_from": todo.extra.get("carried_from") or self.thread_id,
                "since": since(todo),
            }
            for todo in self.todos
        ]


def since(todo: Todo) -> str | None:
    """When it was first opened, in whichever session that was."""
    first = todo.extra.get("since")
    return first if isinstance(first, str) else todo.opened_at


def standing(state: WorkingState, max_chars: int, now: datetime, *, tools: bool) -> str:
    """Where a thread stood, within so many characters; empty where there is nothing to say."""
    if not (state.open_loops or state.open_todos or state.intentions or state.context):
        return ""
    lead = f"{_LEAD} {_CLOSING}" if tools else _LEAD
    room = max_chars - len(lead) - 2
    return f"{lead}\n\n{state.brief(max_chars=max(room, 0), now=now)}" if room > 0 else ""


def carried(found: Carried, max_chars: int, now: datetime, *, listed: bool) -> str:
    """The todos of an earlier session with their age, and how many there was no room for."""
    where = "They are on the todo list now." if listed else "They are on no list of this thread."
    lead = (
        f"{_CARRIED}\n{len(found.todos)} open todos of thread {shortened(found.thread_id, 100)}. "
        f"{where}"
    )
    return _fitted(lead, [_line(todo, now) for todo in found.todos], max_chars)


def _line(todo: Todo, now: datetime) -> str:
    age = _age(since(todo), now)
    return f"- {todo.status}: {shortened(todo.content, _TEXT)}" + (f" ({age})" if age else "")


def _age(opened: str | None, now: datetime) -> str:
    try:
        at = datetime.fromisoformat((opened or "").replace("Z", "+00:00"))
    except ValueError:
        return ""
    if at.tzinfo is None:
        at = at.replace(tzinfo=timezone.utc)
    return ago(max(now - at, timedelta()))


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
