"""A thread with a word of its own planted wherever a value can be, and a search for them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

from tests.conftest import Backend
from tests.outside import is_postgres
from tests.tables import all_text

THREAD = "planted"
CONFIG: Any = {"configurable": {"thread_id": THREAD}, "metadata": {"note": "Zq_metadata"}}
# With a sign that base64 does not have: sealed text never makes one of them.
_SAID = (
    "request answer argument result name key value deep element small todo send question resume "
    "error context loop intention decision because outcome plan update"
)
WORDS = tuple(f"Zq_{word}" for word in _SAID.split())


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    todos: list[dict[str, Any]]
    nested: dict[str, Any]
    items: Annotated[list[str], operator.add]
    small: str
    part: str


def model(state: State) -> State:
    call = {"name": "look", "args": {"at": "Zq_argument"}, "id": "call-1"}
    return {
        "messages": [AIMessage("Zq_answer", id="ai-1", name="Zq_name", tool_calls=[call])],
        "todos": [{"content": "Zq_todo", "status": "pending"}],
        "nested": {"Zq_key": {"at": ["Zq_value", {"Zq_deep": 1}]}},
        "small": "Zq_small",
    }


def tools(state: State) -> State:
    return {
        "messages": [ToolMessage("Zq_result", id="tool-1", tool_call_id="call-1")],
        "items": ["Zq_element", "and more"],
    }


def ask(state: State) -> State:
    raise ValueError(f"Zq_error after {interrupt({'what': 'Zq_question'})}")


def each(state: State) -> State:
    return {"items": [state["part"]]}


def build(saver: Any) -> Any:
    builder = StateGraph(State)
    for node in (model, tools, ask, each):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    builder.add_conditional_edges("tools", lambda _: ["ask", Send("each", {"part": "Zq_send"})])
    builder.add_edge("each", END)
    return builder.compile(checkpointer=saver)


async def plant(saver: Any, call: Callable[..., Any]) -> None:
    """The thread, with all that people do to one."""
    graph = build(saver)
    await call(graph, "invoke", {"messages": [HumanMessage("Zq_request", id="h-1")]}, CONFIG)
    thread = saver.thread(THREAD)
    await call(thread, "set_context", "about", {"deep": "Zq_context"})
    await call(thread, "add_open_loop", "Zq_loop", context={"more": "Zq_context"})
    await call(thread, "add_todo", "Zq_plan")
    await call(thread, "set_intention", "Zq_intention")
    await call(thread, "label", "planted")
    made = await call(thread, "decide", "Zq_decision", "Zq_because")
    await call(thread, "record_outcome", made.id, "Zq_outcome")
    with pytest.raises(ValueError, match="Zq_error"):
        await call(graph, "invoke", Command(resume="Zq_resume"), CONFIG)
    await call(graph, "update_state", CONFIG, {"small": "Zq_update"}, as_node="each")


def stored_text(backend: Backend) -> str:
    """All that a database holds, bytes as the characters that they are."""
    found = []
    if not is_postgres(backend.url):
        path = Path(backend.url.removeprefix("sqlite:///"))
        for each in path.parent.glob(f"{path.name}*"):
            found.append(each.read_bytes().decode("latin-1"))
    return "\n".join([*found, all_text(backend.url)])


def found(backend: Backend) -> set[str]:
    """The planted words that somebody who reads the database would find."""
    text = stored_text(backend)
    assert "wyrd" in text or len(text) > 1000, "nothing was searched"
    return {word for word in (*WORDS, "Zq_metadata") if word in text}
