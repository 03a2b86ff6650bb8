"""Tools by which an agent says what it is doing.

They write nothing: their calls stand in the messages, where `extraction.declared` reads them.
Their answers tell the model the ids.
"""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolRuntime
from pydantic import Field

from langgraph_wyrd.agents.place import place_of, state_at
from langgraph_wyrd.extraction.declared import closable, opens
from langgraph_wyrd.extraction.owed import CLOSE_LOOP, NOTE_DECISION, OPEN_LOOP, SET_INTENTION
from langgraph_wyrd.operations import Operation, arun, ask, run
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.state.model import WorkingState, shortened

_SHOWN = 20  # ids that are named where one was not found

_NAME = "A short name for it, to settle it by later."
_NAMED = "The name you gave it, or the id in brackets from the brief."
_Id = Annotated[str | None, Field(max_length=100, description=_NAME)]


def loop_tools(saver: WyrdSaver | None) -> list[BaseTool]:
    """`open_loop`, `close_loop`, `set_intention` and `note_decision`."""

    def open_loop(
        description: Annotated[str, "What is unfinished, or waited for."],
        runtime: ToolRuntime,
        id: _Id = None,
    ) -> str:
        """Note what is unfinished or waited for: it outlives summaries and pauses."""
        return f"Noted as open: {id or runtime.tool_call_id}"

    def close_loop(
        id: Annotated[str, Field(max_length=100, description=_NAMED)],
        outcome: Annotated[str, "What came of it."],
        runtime: ToolRuntime,
    ) -> str | ToolMessage:
        """Note that an open loop is settled, and how."""
        return run(_closing(saver, id, runtime))

    async def aclose_loop(id: str, outcome: str, runtime: ToolRuntime) -> str | ToolMessage:
        return await arun(_closing(saver, id, runtime))

    def set_intention(
        intention: Annotated[str, "The goal, in one sentence; empty to take it back."],
    ) -> str:
        """Note what this work is after, when that becomes clear or changes."""
        return "Noted." if intention.strip() else "Taken back."

    def note_decision(
        decision: Annotated[str, "What was decided."],
        runtime: ToolRuntime,
        rationale: Annotated[str | None, "Why."] = None,
        outcome: Annotated[str | None, "What came of it, once that is known."] = None,
        id: _Id = None,
    ) -> str:
        """Note a decision and why. It stays open until its outcome is noted."""
        named = id or runtime.tool_call_id
        return f"Noted: {named}" if outcome else f"Noted, its outcome is open: {named}"

    made = StructuredTool.from_function
    return [
        made(open_loop, name=OPEN_LOOP),
        made(close_loop, aclose_loop, name=CLOSE_LOOP),
        made(set_intention, name=SET_INTENTION),
        made(note_decision, name=NOTE_DECISION),
    ]


def _closing(
    saver: WyrdSaver | None, id: str, runtime: ToolRuntime[Any, Any]
) -> Operation[str | ToolMessage]:
    """Whether there is such a loop: the model should know if it closed nothing."""
    said = f"Closed: {id}"
    if id in _opened(runtime.state):
        return said
    place = place_of(saver, runtime.config, runtime.execution_info)
    state = yield from state_at(place, None)
    if _knows(state, id):  # this very call may have closed it by now
        return said
    step = yield ask(place.saver, "get_tuple", place.config(place.root_id, ""))
    above = step.parent_config if step is not None else None
    if above is not None:
        before = yield from state_at(place, above["configurable"]["checkpoint_id"])
        if _knows(before, id):
            return said
    call = runtime.tool_call_id
    loops = [loop for loop in state.loops if closable(loop) and loop.ref != call]
    shown = "; ".join(f"{loop.id}: {shortened(loop.description, 60)}" for loop in loops[:_SHOWN])
    more = f" and {len(loops) - _SHOWN} more" if len(loops) > _SHOWN else ""
    text = f"No open loop has the id {id!r}. Open: {shown or 'none'}{more}."
    return ToolMessage(text, tool_call_id=call, name=CLOSE_LOOP, status="error")


def _knows(state: WorkingState, id: str) -> bool:
    return any(
        id in (loop.id, loop.ref, loop.source.tool_call_id) and (loop.resolved or closable(loop))
        for loop in state.loops
    )


def _opened(state: Any) -> set[str]:
    """What was opened in a run's messages, by name and by call: it may not be stored yet."""
    held = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", state)
    found: set[str] = set()
    for message in held if isinstance(held, list) else ():
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            made = opens(call["name"], call["id"], call["args"])
            if made is not None:
                found.update((made[1], call["id"] or made[1]))
    return found
