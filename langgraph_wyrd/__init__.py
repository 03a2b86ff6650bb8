"""A LangGraph checkpointer that stores what a step changed, and knows what the agent was doing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langgraph_wyrd import errors, interrupted
from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.views.attach import attach

if TYPE_CHECKING:
    from langgraph_wyrd.agents.repairing import repair_node
    from langgraph_wyrd.extraction.extracting import extract
    from langgraph_wyrd.extraction.policy import Channels
    from langgraph_wyrd.extraction.registry import Extractors
    from langgraph_wyrd.hooks import Happening
    from langgraph_wyrd.repair import repair_messages
    from langgraph_wyrd.retention import Retention
    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.state.diff import StateDiff, apply, diff
    from langgraph_wyrd.state.inbox import InboxEntry
    from langgraph_wyrd.state.labels import AutoLabels, Label
    from langgraph_wyrd.state.listed import Page, ThreadInfo
    from langgraph_wyrd.state.merge import merge
    from langgraph_wyrd.state.model import ContextItem, Intention, OpenLoop, Todo, WorkingState
    from langgraph_wyrd.state.past import HistoryEntry
    from langgraph_wyrd.storage.keyring import KeyRing
    from langgraph_wyrd.thread import Thread
    from langgraph_wyrd.types.kept import Kept
    from langgraph_wyrd.types.migrations import Migration

    __version__: str

__all__ = [
    "AutoLabels",
    "Channels",
    "ContextItem",
    "Extractors",
    "Happening",
    "HistoryEntry",
    "InboxEntry",
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

# Where each is: it is imported when it is first asked for, so that `--version` is quick.
_HOMES = {
    "AutoLabels": "state.labels",
    "Channels": "extraction.policy",
    "ContextItem": "state.model",
    "Extractors": "extraction.registry",
    "Happening": "hooks",
    "HistoryEntry": "state.past",
    "InboxEntry": "state.inbox",
    "Intention": "state.model",
    "Kept": "types.kept",
    "KeyRing": "storage.keyring",
    "Label": "state.labels",
    "Migration": "types.migrations",
    "OpenLoop": "state.model",
    "Page": "state.listed",
    "Retention": "retention",
    "StateDiff": "state.diff",
    "Thread": "thread",
    "ThreadInfo": "state.listed",
    "Todo": "state.model",
    "WorkingState": "state.model",
    "WyrdSaver": "saver",
    "apply": "state.diff",
    "diff": "state.diff",
    "extract": "extraction.extracting",
    "merge": "state.merge",
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
