"""A LangGraph checkpointer that stores what a step changed, and knows what the agent was doing."""

from typing import TYPE_CHECKING, Any

from langgraph_wyrd import errors
from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.pillars.diff import apply, diff
from langgraph_wyrd.pillars.labels import AutoLabels
from langgraph_wyrd.pillars.merge import merge
from langgraph_wyrd.pillars.model import WorkingState
from langgraph_wyrd.repair import repair_messages
from langgraph_wyrd.retention import Retention
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.show.attach import attach
from langgraph_wyrd.signals.extracting import extract
from langgraph_wyrd.signals.policy import Channels
from langgraph_wyrd.signals.registry import Extractors

if TYPE_CHECKING:
    from langgraph_wyrd.agents.repairing import repair_node

__all__ = [
    "AutoLabels",
    "Channels",
    "Extractors",
    "Retention",
    "WorkingState",
    "WyrdError",
    "WyrdSaver",
    "apply",
    "diff",
    "errors",
    "extract",
    "merge",
    "repair_messages",
    "repair_node",
]

attach()
del attach


def __getattr__(name: str) -> Any:
    """What brings half of LangGraph along is imported when it is asked for."""
    if name == "repair_node":
        from langgraph_wyrd.agents.repairing import repair_node

        return repair_node
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
