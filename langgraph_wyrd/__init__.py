"""A LangGraph checkpointer that stores what a step changed, and knows what the agent was doing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langgraph_wyrd import errors, interrupted
from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.pillars.model import WorkingState
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.show.attach import attach

if TYPE_CHECKING:
    from langgraph_wyrd.agents.repairing import repair_node
    from langgraph_wyrd.classes.kept import Kept
    from langgraph_wyrd.classes.migrations import Migration
    from langgraph_wyrd.hooks import Happening
    from langgraph_wyrd.pillars.diff import StateDiff, apply, diff
    from langgraph_wyrd.pillars.labels import AutoLabels, Label
    from langgraph_wyrd.pillars.listed import Page, ThreadInfo
    from langgraph_wyrd.pillars.merge import merge
    from langgraph_wyrd.pillars.model import ContextItem, Intention, OpenLoop, Todo
    from langgraph_wyrd.pillars.past import HistoryEntry
    from langgraph_wyrd.repair import repair_messages
    from langgraph_wyrd.retention import Retention
    from langgraph_wyrd.signals.extracting import extract
    from langgraph_wyrd.signals.policy import Channels
    from langgraph_wyrd.signals.registry import Extractors
    from langgraph_wyrd.store.keys import KeyRing
    from langgraph_wyrd.thread import Thread

    __version__: str

__all__ = [
    "AutoLabels",
    "Channels",
    "ContextItem",
    "Extractors",
    "Happening",
    "HistoryEntry",
    "Intention",
    "Kept",
    "KeyRing",
    "Label",
    "Migration",
    "OpenLoop",
    "Page",
    "Retention",
    "StateDiff",
    "Thread",
    "ThreadInfo",
    "Todo",
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
    "ContextItem": "pillars.model",
    "Extractors": "signals.registry",
    "Happening": "hooks",
    "HistoryEntry": "pillars.past",
    "Intention": "pillars.model",
    "Kept": "classes.kept",
    "KeyRing": "store.keys",
    "Label": "pillars.labels",
    "Migration": "classes.migrations",
    "OpenLoop": "pillars.model",
    "Page": "pillars.listed",
    "Retention": "retention",
    "StateDiff": "pillars.diff",
    "Thread": "thread",
    "ThreadInfo": "pillars.listed",
    "Todo": "pillars.model",
    "apply": "pillars.diff",
    "diff": "pillars.diff",
    "extract": "signals.extracting",
    "merge": "pillars.merge",
    "repair_messages": "repair",
    "repair_node": "agents.repairing",
}

attach()
del attach, interrupted


def __getattr__(name: str) -> Any:
    """What not every program needs is imported when it is asked for."""
    if name == "__version__":
        return import_module("importlib.metadata").version("langgraph-wyrd")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"langgraph_wyrd.{home}"), name)
    return found


def __dir__() -> list[str]:
    """What is meant to be used, for who looks what there is."""
    return sorted([*__all__, "__version__"])
