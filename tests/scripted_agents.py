"""Agents on scripted models: what tests ask them, and what they are made of."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.types import Command, PregelTask, StateSnapshot, interrupt
from pydantic import BaseModel

CONFIG: Any = {"configurable": {"thread_id": "a thread"}, "recursion_limit": 60}


Rule = Callable[[list[BaseMessage]], AIMessage]


class Scripted(BaseChatModel):
    """A chat model that answers by a rule."""

    rule: Rule

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.rule(messages))])


def calls(messages: list[BaseMessage], *wanted: tuple[str, dict[str, Any]]) -> AIMessage:
    """An answer that calls tools. The ids of the calls follow from where in the talk they are."""
    turn = sum(isinstance(m, HumanMessage) for m in messages)
    made = [
        {"name": name, "args": args, "id": f"call {turn}.{len(messages)}.{n}", "type": "tool_call"}
        for n, (name, args) in enumerate(wanted)
    ]
    return AIMessage("let me see", tool_calls=made)


def plain(value: Any) -> str:
    """Text to compare: messages by all their fields, random ids numbered as they appear."""

    def other(thing: Any) -> Any:
        if isinstance(thing, BaseModel):
            return {"type": type(thing).__name__, **thing.model_dump()}
        return repr(thing)

    def walk(thing: Any) -> Any:
        if isinstance(thing, dict):
            return {str(k): walk(v) for k, v in thing.items() if k not in ("created_at", "ts")}
        if isinstance(thing, PregelTask):
            # A message without an id gets one while its write is being saved: before, or after.
            no_ids = re.sub(
                r'"id": [^,]*', '"id": ...', json.dumps(walk(thing.result), default=repr)
            )
            return walk({**thing._asdict(), "result": no_ids})
        if isinstance(thing, StateSnapshot):
            return walk(thing._asdict())
        if isinstance(thing, list | tuple):
            return [walk(v) for v in thing]
        if isinstance(thing, BaseModel):
            return walk(other(thing))
        if hasattr(thing, "__dataclass_fields__") or hasattr(thing, "__slots__"):
            names = getattr(thing, "__dataclass_fields__", None) or thing.__slots__
            return {type(thing).__name__: {n: walk(getattr(thing, n)) for n in names}}
        return thing

    text = json.dumps(walk(value), indent=1, sort_keys=True, default=repr)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)?", "<time>", text)
    seen: dict[str, str] = {}
    random = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b"
    return re.sub(random, lambda m: seen.setdefault(m[0], f"<id {len(seen)}>"), text)


@tool
def search(query: str = "") -> str:
    """Look something up."""
    return f"found {query}"


@tool
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


def assistant(messages: list[BaseMessage]) -> AIMessage:
    """Plans, searches and deletes for every request, then reports."""
    last = messages[-1]
    if isinstance(last, HumanMessage):
        todos = [
            {"content": "look around", "status": "in_progress"},
            {"content": f"do: {last.text[:30]}", "status": "pending"},
        ]
        return calls(messages, ("write_todos", {"todos": todos}))
    assert isinstance(last, ToolMessage)
    if last.name == "write_todos":
        wanted = [
            ("search", {"query": "a"}),
            ("delete", {"path": "/x"}),
            ("delete", {"path": "/y"}),
        ]
        return calls(messages, *wanted)
    return AIMessage(f"done after {len(messages)} messages")


def summary(messages: list[BaseMessage]) -> AIMessage:
    return AIMessage(f"a summary of {len(messages[0].text.split('<messages>')[-1].split('call_'))}")


def office(saver: Any) -> Any:
    return create_agent(
        Scripted(rule=assistant),
        [search, delete],
        system_prompt="Be brief.",
        middleware=[
            TodoListMiddleware(),
            SummarizationMiddleware(
                Scripted(rule=summary), trigger=("messages", 9), keep=("messages", 4)
            ),
            HumanInTheLoopMiddleware({"delete": True}),
        ],
        checkpointer=saver,
    )


def decide(*decisions: Any) -> Command[Any]:
    return Command(resume={"decisions": list(decisions)})


APPROVE = {"type": "approve"}


REJECT = {"type": "reject", "message": "not that one"}


RESPOND = {"type": "respond", "message": "I did it myself"}


EDIT = {"type": "edit", "edited_action": {"name": "delete", "args": {"path": "/z"}}}


def reviewer(saver: Any) -> Any:
    return create_agent(
        Scripted(rule=lambda m: assistant(m) if m[-1].type == "tool" else two_deletions(m)),
        [search, delete],
        middleware=[HumanInTheLoopMiddleware({"delete": True}, interrupt_mode="per_call")],
        checkpointer=saver,
    )


def two_deletions(messages: list[BaseMessage]) -> AIMessage:
    wanted = [("delete", {"path": "/x"}), ("search", {"query": "b"}), ("delete", {"path": "/y"})]
    return calls(messages, *wanted)


def researcher(messages: list[BaseMessage]) -> AIMessage:
    if messages[-1].type == "human":
        return calls(messages, ("search", {"query": "bees"}), ("delete", {"path": "/hive"}))
    return AIMessage(f"the hive: {messages[-1].text}")


def chief(messages: list[BaseMessage]) -> AIMessage:
    last = messages[-1]
    if isinstance(last, HumanMessage):
        note = {"file_path": "/notes.md", "content": f"asked: {last.text}\n"}
        return calls(messages, ("write_file", note))
    if last.name == "write_file":
        work = {"description": "Find out about bees", "subagent_type": "researcher"}
        return calls(messages, ("task", work))
    return AIMessage(f"report: {last.text}")


def firm(saver: Any) -> Any:
    from tests.deep import create_deep_agent

    return create_deep_agent(
        Scripted(rule=chief),
        system_prompt="You lead.",
        subagents=[
            {
                "name": "researcher",
                "description": "Finds things out.",
                "system_prompt": "You search.",
                "model": Scripted(rule=researcher),
                "tools": [search, delete],
                "interrupt_on": {"delete": True},
            }
        ],
        checkpointer=saver,
    )


def ledger(saver: Any) -> Any:
    """Tasks side by side, a question between them, and what the last run left behind."""

    @task
    def double(n: int) -> int:
        return 2 * n

    @task
    def describe(n: int, answer: Any) -> dict[str, Any]:
        return {"n": n, "answer": answer}

    @entrypoint(checkpointer=saver)
    def book(asked: list[int], *, previous: dict[str, Any] | None = None) -> Any:
        doubled = [future.result() for future in [double(n) for n in asked]]
        answer = interrupt({"sum": sum(doubled), "had": previous})
        entries = [describe(n, answer) for n in doubled]
        runs = (previous or {}).get("runs", 0) + 1
        found = [entry.result() for entry in entries]
        return entrypoint.final(value=found, save={"runs": runs, "last": answer, "of": doubled})

    return book


Turn = Callable[..., Awaitable[Any]]


def config(thread: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": thread, **more}}


def says(text: str = "done") -> Callable[[list[BaseMessage]], AIMessage]:
    return lambda messages: AIMessage(text)


def plan(*answers: AIMessage) -> Callable[[list[BaseMessage]], AIMessage]:
    """One answer after the other, then "done"."""
    left = list(answers)
    return lambda messages: left.pop(0) if left else AIMessage("done")


def asks(*calls: tuple[str, str, dict[str, Any]], text: str = "") -> AIMessage:
    made = [{"id": id, "name": n, "args": a, "type": "tool_call"} for id, n, a in calls]
    return AIMessage(text, tool_calls=made)


def person(text: str = "and now?") -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def system_of(heard: list[BaseMessage]) -> str:
    return heard[0].text if heard[0].type == "system" else ""


ORDERS = {
    "first": lambda ours, others: [ours, *others],
    "last": lambda ours, others: [*others, ours],
    "between": lambda ours, others: [others[0], ours, *others[1:]],
}


async def turn_sync(agent: Any, value: Any, config: Any, **more: Any) -> Any:
    return await asyncio.to_thread(agent.invoke, value, config, **more)


async def turn_async(agent: Any, value: Any, config: Any, **more: Any) -> Any:
    return await agent.ainvoke(value, config, **more)


TURNS = (turn_sync, turn_async)


def ask(text: str, id: str = "h1") -> Any:
    return {"messages": [HumanMessage(text, id=id)]}
