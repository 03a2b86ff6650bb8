"""The graphs of the workloads: real compiled graphs, with scripted words in place of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from .prose import identifier, prose

MESSAGES_A_TURN = 4
# With ids, roles and usage this makes about 580 bytes a message as the default serde writes it.
CHARACTERS = 300


class Script:
    """What everybody says, written before the clock starts."""

    def __init__(self, turns: int, *seed: object) -> None:
        self.seed = seed
        self.chats: dict[str, Script] = {}  # by the id of the first message
        count = turns * MESSAGES_A_TURN
        self.texts = [prose(CHARACTERS, *seed, n) for n in range(count)]
        self.ids = [identifier(*seed, n) for n in range(count)]

    def chat(self, turns: int, *name: object) -> Script:
        """The script of one chat of a graph. Each has words of its own, as chats have: what was
        read once is remembered, and would cost nothing the next time."""
        made = Script(turns, *self.seed, *name)
        self.chats[made.id(0)] = made
        return made

    def of(self, said: Sequence[AnyMessage]) -> Script:
        """The script of the chat that begins with these messages."""
        return self.chats.get(said[0].id or "", self)

    def human(self, n: int) -> HumanMessage:
        return HumanMessage(self.text(n), id=self.id(n))

    def call(self, n: int, tool: str = "search") -> AIMessage:
        text = self.text(n)
        asked = {"name": tool, "args": {"query": text[:60]}, "id": f"call_{self.id(n)[:23]}"}
        return AIMessage(text, id=self.id(n), tool_calls=[asked], **_usage("tool_calls", n))

    def result(self, n: int, call: AIMessage) -> ToolMessage:
        asked = call.tool_calls[0]
        return ToolMessage(
            self.text(n), id=self.id(n), tool_call_id=asked["id"], name=asked["name"]
        )

    def answer(self, n: int) -> AIMessage:
        return AIMessage(self.text(n), id=self.id(n), **_usage("stop", n))

    def text(self, n: int) -> str:
        return self.texts[n % len(self.texts)]

    def id(self, n: int) -> str:
        # A fork goes on from somebody else's message number: ids must not run out.
        return self.ids[n] if n < len(self.ids) else identifier(self.ids[0], n)


def _usage(reason: str, n: int) -> dict[str, Any]:
    spent = {"input_tokens": 90 + n, "output_tokens": 85, "total_tokens": 175 + n}
    return {"response_metadata": {"finish_reason": reason}, "usage_metadata": spent}


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def chat(saver: Any, script: Script) -> Any:
    """A turn is a question, a tool call, its result and the answer: five checkpoints."""

    def model(state: Chat) -> dict[str, Any]:
        said = state["messages"]
        if isinstance(said[-1], HumanMessage):
            return {"messages": [script.of(said).call(len(said))]}
        return {"messages": [script.of(said).answer(len(said))]}

    def tools(state: Chat) -> dict[str, Any]:
        said = state["messages"]
        call = said[-1]
        assert isinstance(call, AIMessage)
        return {"messages": [script.of(said).result(len(said), call)]}

    def route(state: Chat) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    builder = StateGraph(Chat)
    builder.add_node("model", model)
    builder.add_node("tools", tools)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", route, ["tools", END])
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


def plain_chat(saver: Any, script: Script) -> Any:
    """A turn is a question and its answer: three checkpoints."""

    def model(state: Chat) -> dict[str, Any]:
        said = state["messages"]
        return {"messages": [script.of(said).answer(len(said))]}

    builder = StateGraph(Chat)
    builder.add_node("model", model)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile(checkpointer=saver)


def merge_files(old: dict[str, Any] | None, new: dict[str, Any] | None) -> dict[str, Any]:
    merged = {**(old or {}), **(new or {})}
    return {name: file for name, file in merged.items() if file is not None}


class Deep(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    files: Annotated[dict[str, Any], merge_files]
    todos: list[dict[str, str]]


def deep_agent(saver: Any, script: Script, *, files: int, size: int) -> Any:
    """An agent with a plan and a folder: each turn rewrites the todos and edits one file."""

    def folder(n: int, edited: int) -> dict[str, Any]:
        text = prose(size, "file", n) + (prose(200, "edit", edited) if edited else "")
        return {"content": text.splitlines(), "modified_at": f"2026-01-01T00:{edited % 60:02}:00"}

    texts = {f"/notes/{n:03}.md": folder(n, 0) for n in range(files)}
    edits = [folder(n % files, n + 1) for n in range(len(script.texts))]

    def plan(state: Deep) -> dict[str, Any]:
        said = state["messages"]
        done = len(said) // MESSAGES_A_TURN
        todos = [
            {"content": script.text(n)[:60], "status": "completed" if n < done else "pending"}
            for n in range(12)
        ]
        call = script.call(len(said), "edit_file")
        if state.get("files"):
            return {"messages": [call], "todos": todos}
        return {"messages": [call], "todos": todos, "files": texts}

    def edit(state: Deep) -> dict[str, Any]:
        said = state["messages"]
        turn = len(said) // MESSAGES_A_TURN
        call = said[-1]
        assert isinstance(call, AIMessage)
        name = f"/notes/{turn % files:03}.md"
        return {"messages": [script.result(len(said), call)], "files": {name: edits[turn]}}

    def answer(state: Deep) -> dict[str, Any]:
        said = state["messages"]
        return {"messages": [script.of(said).answer(len(said))]}

    builder = StateGraph(Deep)
    builder.add_node("plan", plan)
    builder.add_node("edit", edit)
    builder.add_node("answer", answer)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "edit")
    builder.add_edge("edit", "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)
