"""Tools by which an agent says what it is doing.

They write nothing: their calls stand in the messages, where `signals.declared` reads them. Their
answers tell the model what ids things have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, Field

from langgraph_wyrd.agents.place import place_of, state_at
from langgraph_wyrd.extraction.declared import CLOSE, DECIDE, INTEND, OPEN, closable, opens
from langgraph_wyrd.operations import Operation, arun, ask, run
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.state.model import WorkingState, shortened

_SHOWN = 20  # ids that are named where one was not found

Id = Annotated[str, Field(max_length=100)]


class OpenLoop(BaseModel):
    description: str = Field(description="What is unfinished, or waited for.")
    id: Id | None = Field(None, description="A short name to close it by.")


class CloseLoop(BaseModel):
    id: Id = Field(description="The name you gave it, or the id in brackets from the brief.")
    outcome: str = Field(description="What came of it.")


class SetIntention(BaseModel):
    intention: str = Field(description="The goal, in one sentence; empty to take it back.")


class NoteDecision(BaseModel):
    decision: str = Field(description="What was decided.")
    rationale: str | None = Field(None, description="Why.")
    outcome: str | None = Field(None, description="What came of it, once that is known.")
    id: Id | None = Field(None, description="A short name, to note its outcome by later.")


def loop_tools(saver: WyrdSaver | None) -> list[BaseTool]:
    """`open_loop`, `close_loop`, `set_intention` and `note_decision`."""

    def open_loop(description: str, runtime: ToolRuntime, id: str | None = None) -> str:
        return f"Noted as open: {id or runtime.tool_call_id}"

    def close_loop(id: str, outcome: str, runtime: ToolRuntime) -> str | ToolMessage:
        return run(_closing(saver, id, runtime))

    async def aclose_loop(id: str, outcome: str, runtime: ToolRuntime) -> str | ToolMessage:
        return await arun(_closing(saver, id, runtime))

    def set_intention(intention: str) -> str:
        return "Noted." if intention.strip() else "Taken back."

    def note_decision(
        decision: str,
        runtime: ToolRuntime,
        rationale: str | None = None,
        outcome: str | None = None,
        id: str | None = None,
    ) -> str:
        named = id or runtime.tool_call_id
        return f"Noted: {named}" if outcome else f"Noted, its outcome is open: {named}"

    tools: tuple[tuple[str, Any, Any, Any, str], ...] = (
        (OPEN, OpenLoop, open_loop, None,
         "Note something that is unfinished or waited for, so that it is not forgotten when the "
         "conversation is summarised or picked up later."),
        (CLOSE, CloseLoop, close_loop, aclose_loop, "Note that an open loop is settled, and how."),
        (INTEND, SetIntention, set_intention, None,
         "Note what this work is after, when that becomes clear or changes."),
        (DECIDE, NoteDecision, note_decision, None,
         "Note a decision and why. It stays open until its outcome is noted."),
    )  # fmt: skip
    return [
        StructuredTool.from_function(
            run, arun, name, description, args_schema=schema, infer_schema=False
        )
        for name, schema, run, arun, description in tools
    ]


def _closing(
    saver: WyrdSaver | None, id: str, runtime: ToolRuntime[Any, Any]
) -> Operation[str | ToolMessage]:
    """Whether there is such a loop: the model should know if it closed nothing."""
    said = f"Closed: {id}"
    if id in _opened(_messages(runtime.state)):
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
    return ToolMessage(text, tool_call_id=call, name=CLOSE, status="error")


def _knows(state: WorkingState, id: str) -> bool:
    return any(
        id in (loop.id, loop.ref, loop.source.tool_call_id) and (loop.resolved or closable(loop))
        for loop in state.loops
    )


def _messages(state: Any) -> Iterable[Any]:
    held = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", state)
    return held if isinstance(held, list) else ()


def _opened(messages: Iterable[Any]) -> set[str]:
    """What was opened in these messages, by name and by call: it may not be stored yet."""
    found: set[str] = set()
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            made = opens(call["name"], call["id"], call["args"])
            if made is not None:
                found.update((made[1], call["id"] or made[1]))
    return found
