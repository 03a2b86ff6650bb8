"""A LangGraph checkpointer that stores what a step changed, and knows what the agent was doing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langgraph_wyrd import errors as errors
from langgraph_wyrd.errors import WyrdError as WyrdError

if TYPE_CHECKING:
    from langgraph_wyrd.agents.message_repair import repair_messages as repair_messages
    from langgraph_wyrd.agents.repair_node import repair_node as repair_node
    from langgraph_wyrd.checkpoints.auto_labels import AutoLabels as AutoLabels
    from langgraph_wyrd.checkpoints.retention import Retention as Retention
    from langgraph_wyrd.extraction.extracting import extract as extract
    from langgraph_wyrd.extraction.policy import Channels as Channels
    from langgraph_wyrd.extraction.registry import Extractors as Extractors
    from langgraph_wyrd.hooks import Happening as Happening
    from langgraph_wyrd.saver import WyrdSaver as WyrdSaver
    from langgraph_wyrd.state.diff import StateDiff as StateDiff
    from langgraph_wyrd.state.diff import apply as apply
    from langgraph_wyrd.state.diff import diff as diff
    from langgraph_wyrd.state.merge import merge as merge
    from langgraph_wyrd.state.model import ContextItem as ContextItem
    from langgraph_wyrd.state.model import Intention as Intention
    from langgraph_wyrd.state.model import OpenLoop as OpenLoop
    from langgraph_wyrd.state.model import Todo as Todo
    from langgraph_wyrd.state.model import WorkingState as WorkingState
    from langgraph_wyrd.state.results import HistoryEntry as HistoryEntry
    from langgraph_wyrd.state.results import InboxEntry as InboxEntry
    from langgraph_wyrd.state.results import Label as Label
    from langgraph_wyrd.state.results import Page as Page
    from langgraph_wyrd.state.results import ThreadInfo as ThreadInfo
    from langgraph_wyrd.storage.encryption import KeyRing as KeyRing
    from langgraph_wyrd.thread import Thread as Thread
    from langgraph_wyrd.types.kept import Kept as Kept
    from langgraph_wyrd.types.migrations import Migration as Migration

    __version__: str

# Where each is: it is imported when it is first asked for, so that `--version` is quick.
_HOMES = {
    "AutoLabels": "checkpoints.auto_labels",
    "Channels": "extraction.policy",
    "ContextItem": "state.model",
    "Extractors": "extraction.registry",
    "Happening": "hooks",
    "HistoryEntry": "state.results",
    "InboxEntry": "state.results",
    "Intention": "state.model",
    "Kept": "types.kept",
    "KeyRing": "storage.encryption",
    "Label": "state.results",
    "Migration": "types.migrations",
    "OpenLoop": "state.model",
    "Page": "state.results",
    "Retention": "checkpoints.retention",
    "StateDiff": "state.diff",
    "Thread": "thread",
    "ThreadInfo": "state.results",
    "Todo": "state.model",
    "WorkingState": "state.model",
    "WyrdSaver": "saver",
    "apply": "state.diff",
    "diff": "state.diff",
    "extract": "extraction.extracting",
    "merge": "state.merge",
    "repair_messages": "agents.message_repair",
    "repair_node": "agents.repair_node",
}

__all__ = [*_HOMES, "WyrdError", "errors"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name == "__version__":
        return import_module("importlib.metadata").version("langgraph-wyrd")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from langgraph_wyrd.codec.collector import uncollected

    with uncollected():  # a module is made of thousands of objects, and none is garbage
        found = globals()[name] = getattr(import_module(f"langgraph_wyrd.{home}"), name)
    return found


def __dir__() -> list[str]:
    """The public names."""
    return sorted([*__all__, "__version__"])
