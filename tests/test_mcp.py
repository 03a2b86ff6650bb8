"""The MCP server, asked by the official client over stdio."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from mcp import Client, StdioServerParameters
from typing_extensions import TypedDict

from langgraph_wyrd.agents.mcp import server
from tests.conftest import Backend
from tests.damage import at
from tests.outside import SERVING, environment, python

READS = ["brief", "diff", "inbox", "list_threads", "messages", "open_loops"]


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    todos: list[Any]
    sent: str


def graph(saver: Any) -> Any:
    def plan(state: State) -> State:
        todos = [{"content": "write the letter", "status": "in_progress"}]
        return {"todos": todos, "messages": [AIMessage("I have a draft.")]}

    def send(state: State) -> State:
        return {"sent": str(interrupt("Send it to Ann?"))}

    builder = StateGraph(State).add_node("plan", plan).add_node("send", send)
    return builder.add_edge(START, "plan").add_edge("plan", "send").compile(checkpointer=saver)


def waits(backend: Backend) -> None:
    with backend.open() as saver:
        graph(saver).invoke({"messages": [("user", "Please write to Ann")]}, at("t1"))


@asynccontextmanager
async def asked(backend: Backend, *options: str) -> AsyncIterator[Client]:
    """A client of the terminal's command, in a process of its own."""
    command, *args = python(
        "-m", "langgraph_wyrd", "mcp", "--url", backend.url, *options, imported=SERVING
    )
    async with Client(
        StdioServerParameters(command=command, args=args, env=environment())
    ) as client:
        yield client


async def given(client: Client, tool: str, **arguments: Any) -> Any:
    """What a tool gives."""
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found.content
    held = found.structured_content
    return held["result"] if held is not None and set(held) == {"result"} else held


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    found = await client.call_tool(tool, arguments)
    assert found.is_error
    return str(found.content[0].text)


async def test_looking(durable: Backend) -> None:
    """Each tool, on a thread that waits; none of them writes."""
    waits(durable)
    async with asked(durable) as client:
        tools = (await client.list_tools()).tools
        assert sorted(tool.name for tool in tools) == sorted([*READS, "answer"])
        reading = [tool.name for tool in tools if tool.annotations.read_only_hint]
        assert sorted(reading) == READS
        assert all(tool.description for tool in tools)
        (thread,) = (await given(client, "list_threads"))["threads"]
        assert (thread["thread_id"], thread["status"]) == ("t1", "interrupted")
        assert (await given(client, "list_threads", status="done"))["threads"] == []
        words = await given(client, "brief", thread_id="t1")
        assert "Send it to Ann?" in words
        assert "write the letter" in words
        assert len(await given(client, "brief", thread_id="t1", max_chars=300)) <= 300
        loops = (await given(client, "open_loops", kind="interrupt"))["loops"]
        assert [loop["description"] for loop in loops] == ["Send it to Ann?"]
        said = (await given(client, "messages", thread_id="t1"))["messages"]
        assert [each["content"] for each in said] == ["Please write to Ann", "I have a draft."]
        assert len((await given(client, "messages", thread_id="t1", limit=1))["messages"]) == 1
        (entry,) = (await given(client, "inbox"))["waiting"]
        assert (entry["thread_id"], entry["question"]) == ("t1", "Send it to Ann?")
        with durable.open() as saver:
            first = saver.thread("t1").history()[-1].checkpoint_id
        changes = await given(client, "diff", thread_id="t1", a=first)
        assert "+1 todo" in changes["summary"]
        assert any("write the letter" in line for line in changes["lines"])
        assert "'nobody' has no checkpoints" in await refused(client, "brief", thread_id="nobody")
        assert "limit=0" in await refused(client, "inbox", limit=0)
        assert "--write" in await refused(client, "answer", thread_id="t1", value=1, by="x")
        assert (await given(client, "inbox"))["waiting"] == [entry]


async def test_answering(durable: Backend) -> None:
    """With --write: the answer is stored, and the agent goes on with it; a second is refused."""
    waits(durable)
    async with asked(durable, "--write") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == sorted([*READS, "answer"])
        assert not tools["answer"].annotations.read_only_hint
        (entry,) = (await given(client, "inbox"))["waiting"]
        answer = {"thread_id": "t1", "value": "yes", "by": "ann", "loop_id": entry["loop_id"]}
        stored = await given(client, "answer", **answer)
        assert stored["thread_id"] == "t1"
        assert "yes" in stored["stored"].values()
        assert "ann" in await refused(client, "answer", **answer)
        assert (await given(client, "inbox"))["waiting"] == []
    with durable.open() as saver:
        assert graph(saver).invoke(None, at("t1"))["sent"] == "yes"


async def test_one_users_threads(durable: Backend) -> None:
    """With --user: another's threads are not there, to read or to answer."""
    with durable.open() as saver:
        for user in ("ann", "bob"):
            named = {"configurable": {"thread_id": f"of-{user}", "user_id": user}}
            graph(saver).invoke({"messages": [("user", f"I am {user}")]}, named)
    async with asked(durable, "--write", "--user", "ann") as client:
        for tool, held in (
            ("list_threads", "threads"),
            ("inbox", "waiting"),
            ("open_loops", "loops"),
        ):
            found = (await given(client, tool))[held]
            assert {each["thread_id"] for each in found} == {"of-ann"}
        assert "I am ann" in str(await given(client, "messages", thread_id="of-ann"))
        for tool in ("brief", "messages"):
            assert "has no checkpoints" in await refused(client, tool, thread_id="of-bob")
        said = await refused(client, "answer", thread_id="of-bob", value="yes", by="ann")
        assert "has no checkpoints" in said
        answer = {"thread_id": "of-ann", "value": "yes", "by": "ann"}
        assert "yes" in (await given(client, "answer", **answer))["stored"].values()


async def test_what_a_thread_holds_is_bounded(sqlite: Backend) -> None:
    """A huge message, and an odd value, are data of a size that an assistant can read."""
    saver = sqlite.open()

    def odd(state: State) -> State:
        return {"sent": str(interrupt({"question": "Which?", "bytes": b"\xff", "at": {1, 2}}))}

    builder = StateGraph(State).add_node("odd", odd).add_edge(START, "odd")
    builder.compile(checkpointer=saver).invoke({"messages": [("user", "x" * 50_000)]}, at("t"))
    async with Client(server(saver)) as client:
        (message,) = (await given(client, "messages", thread_id="t"))["messages"]
        assert len(message["content"]) < 5000
        assert "46,000 more characters" in message["content"]
        (entry,) = (await given(client, "inbox"))["waiting"]
        assert entry["question"] == "Which?"
        assert len(json.dumps(entry)) < 10_000


def test_nothing_but_the_protocol_on_standard_output(sqlite: Backend) -> None:
    """A database that is not there is an error on standard error, with the exit code 2."""
    command = python("-m", "langgraph_wyrd", "mcp", "--url", f"{sqlite.url}.none")
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 2)
    assert "no file" in done.stderr
    waits(sqlite)
    command[-1] = sqlite.url
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
