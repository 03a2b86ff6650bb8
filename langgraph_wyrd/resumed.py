"""A thread that was picked up again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.points import When
from langgraph_wyrd.state.model import WorkingState

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


@dataclass(frozen=True, slots=True)
class Resumed:
    """A thread to go on with: `graph.invoke(inputs, resumed.config)`.

    `brief` says in words where it stands, with ages counted up to now.
    """

    thread_id: str
    config: RunnableConfig
    state: WorkingState
    brief: str

    def __str__(self) -> str:
        from langgraph_wyrd.views.plain import plain

        return plain(self.brief)

    def _repr_html_(self) -> str:
        from langgraph_wyrd.views.state import state_html

        return state_html(self.state)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def resumed(state: WorkingState | None, at: When = None) -> Resumed | None:
    if state is None or state.thread_id is None:
        return None
    config: RunnableConfig = {"configurable": {"thread_id": state.thread_id}}
    if at is not None and state.checkpoint_id is not None:
        config["configurable"].update(checkpoint_ns="", checkpoint_id=state.checkpoint_id)
    brief = state.brief(now=datetime.now(timezone.utc))
    return Resumed(state.thread_id, config, state, brief)
