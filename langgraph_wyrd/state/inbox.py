"""What waits for a person: one entry for each question, whichever thread asks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

from langgraph_wyrd.state.viewed import viewed

Kind = Literal["approval", "interrupt", "question", "breakpoint"]


@viewed
@dataclass(frozen=True, slots=True)
class InboxEntry:
    """A question of a thread's, and what it takes to answer it."""

    thread_id: str
    kind: Kind
    question: str  # what is asked, in words
    allowed: tuple[str, ...] = ()  # decisions that are possible; empty: any answer
    since: str | None = None
    node: str | None = None
    ns: str = ""  # the subgraph that asks; "" is the thread itself
    agent: str | None = None  # the name that `create_agent` was given
    loop_id: str | None = None  # what `thread.answer(loop=…)` takes
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)  # to go on with
    value: Any = field(default=None, hash=False)  # what the graph passed to `interrupt`
    actions: tuple[dict[str, Any], ...] = field(default=(), hash=False)  # name, args, allowed
    form: str = "plain"  # batched, per_call, agent_inbox, elicitation: whose form `value` has
    schema: Mapping[str, Any] | None = field(default=None, hash=False)  # of the answer, if given
    interrupt_id: str | None = None
    user_id: str | None = None
    assigned_to: str | None = None
    expires_at: str | None = None  # answers after that are refused

    @property
    def expired(self) -> bool:
        """Whether it can no longer be answered."""
        return is_past(self.expires_at)

    def __str__(self) -> str:
        return f"{self.thread_id}  {self.kind}: {self.question}"


def is_past(at: str | None, now: datetime | None = None) -> bool:
    """Whether a time in ISO text has passed; without a zone it is UTC."""
    if at is None:
        return False
    try:
        when = datetime.fromisoformat(at.replace("Z", "+00:00"))
    except ValueError:
        return False
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return when <= (datetime.now(timezone.utc) if now is None else now)
