"""The repair of a thread's history as a node, with what the saver knows of its tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langgraph_wyrd.agents.message_repair import repair_messages, unanswered
from langgraph_wyrd.agents.place import Place, before_input, place_of, state_at
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.operations import Operation, asynchronous, operation
from langgraph_wyrd.saver import WyrdSaver


def repair_node(
    messages_key: str = "messages", *, saver: WyrdSaver | None = None
) -> RunnableLambda[Any, Any]:
    """A node, or pre-model hook, that repairs the history of a graph: see `repair_messages`.

    ```python
    builder.add_node("repair", repair_node())
    builder.add_edge(START, "repair")
    ```

    Results that were only pending writes when new input came are taken from the graph's
    `WyrdSaver` (or from `saver`); with another checkpointer the history alone is repaired.

    Args:
        messages_key: The channel of the messages. Its reducer is `add_messages`, or one that knows
            `RemoveMessage` as that does.
        saver: The saver to ask, where the graph runs with another checkpointer around it.
    """

    @operation
    def repair(state: Any, config: RunnableConfig) -> Operation[dict[str, Any]]:
        held = state if isinstance(state, dict) else vars(state)
        messages = held.get(messages_key) or []
        runtime = (config.get("configurable") or {}).get("__pregel_runtime")
        try:
            place = place_of(saver, config, getattr(runtime, "execution_info", None))
        except InvalidInput:  # another checkpointer, or none
            repaired = repair_messages(messages, now=now())
        else:
            repaired = yield from repaired_at(place, messages)
        return replacing(messages, repaired, messages_key)

    return RunnableLambda(repair, asynchronous(repair), name="repair")


def repaired_at(place: Place, messages: Sequence[Any]) -> Operation[list[BaseMessage]]:
    """The history, with results that the step before the input left as pending writes."""
    before = None
    known: dict[str, Any] = {}
    if unanswered(messages):
        before = yield from before_input(place, place.ns, place.checkpoint_id)
    if before is not None:
        state = yield from state_at(place, None if place.ns else before.checkpoint["id"])
        asked = {
            loop.ref: loop.opened_at
            for loop in state.loops
            if loop.kind in ("tool_call", "task") and loop.ref and loop.opened_at
        }
        known = {"pending_writes": before.pending_writes or (), "asked": asked}
    return repair_messages(messages, now=now(), **known)


def replacing(
    messages: Sequence[Any], repaired: Sequence[BaseMessage], key: str = "messages"
) -> dict[str, Any]:
    """The update that puts the repaired history in the other one's place; nothing if it is that."""
    if not differ(messages, repaired):
        return {}
    return {key: [RemoveMessage(id=REMOVE_ALL_MESSAGES), *repaired]}


def differ(before: Iterable[Any], after: Iterable[Any]) -> bool:
    """Whether two lists are not of the same objects."""
    return [*map(id, before)] != [*map(id, after)]


def now() -> datetime:
    return datetime.now(timezone.utc)
