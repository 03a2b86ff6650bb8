"""A LangGraph checkpointer that stores what a step changed, and knows what the agent was doing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langgraph_wyrd import errors
from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.pillars.model import WorkingState
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.show.attach import attach

if TYPE_CHECKING:
    from langgraph_wyrd.agents.repairing import repair_node
    from langgraph_wyrd.classes.kept import Kept
    from langgraph_wyrd.classes.migrations import Migration
    from langgraph_wyrd.pillars.diff import apply, diff
    from langgraph_wyrd.pillars.labels import AutoLabels
    from langgraph_wyrd.pillars.merge import merge
    from langgraph_wyrd.repair import repair_messages
    from langgraph_wyrd.retention import Retention
    from langgraph_wyrd.signals.extracting import extract
    from langgraph_wyrd.signals.policy import Channels
    from langgraph_wyrd.signals.registry import Extractors
    from langgraph_wyrd.store.keys import KeyRing

__all__ = [
    "AutoLabels",
    "Channels",
    "Extractors",
    "Kept",
    "KeyRing",
    "Migration",
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

# Where to find what not every program needs.
_HOMES = {
    "AutoLabels": "pillars.labels",
    "Channels": "signals.policy",
    "Extractors": "signals.registry",
    "Kept": "classes.kept",
    "KeyRing": "store.keys",
    "Migration": "classes.migrations",
    "Retention": "retention",
    "apply": "pillars.diff",
    "diff": "pillars.diff",
    "extract": "signals.extracting",
    "merge": "pillars.merge",
    "repair_messages": "repair",
    "repair_node": "agents.repairing",
}

attach()
del attach


def __getattr__(name: str) -> Any:
    """What not every program needs is imported when it is asked for."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"langgraph_wyrd.{home}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
