"""The conversation of a thread: at its head, at any point of its past, and all of it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, _messages_delta_reducer
from langgraph.types import Command, Overwrite, interrupt

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from tests.conftest import Backend
from tests.deep import create_deep_agent
from tests.scripted_agents import Scripted, calls

Call = Callable[..., Any]
CONFIG: Any = {"configurable": {"thread_id": "t"}}


def human(text: str, id: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, id=id)]}


def chatty(saver: Any) -> Any:
    return create_agent(Scripted(rule=lambda m: AIMessage(f"answer {len(m)}")), checkpointer=saver)


def ids(messages: list[BaseMessage]) -> list[str | None]:
    return [message.id for message in messages]


async def test_messages_at_every_point(durable: Backend, call: Call) -> None:
    """The messages at the head, a checkpoint, an entry, a label and a time are the graph's own."""
    saver = durable.open()
    graph, thread = chatty(saver), saver.thread("t")
    await call(graph, "invoke", human("one", "h1"), CONFIG)
    await call(thread, "label", "first")
    between = datetime.now(timezone.utc)
    await call(graph, "invoke", human("two", "h2"), CONFIG)
    assert await call(thread, "messages") == graph.get_state(CONFIG).values["messages"]
    first = (await call(thread, "messages", "first"))[:]
    assert [m.text for m in first] == ["one", "answer 1"]
    assert await call(thread, "messages", between) == first
    assert await call(thread, "messages", between.isoformat()) == first
    for snapshot in graph.get_state_history(CONFIG):
        id = snapshot.config["configurable"]["checkpoint_id"]
        assert await call(thread, "messages", id) == snapshot.values.get("messages", [])
    for entry in thread.history():
        assert await call(thread, "messages", entry) == await call(
            thread, "messages", entry.checkpoint_id
        )
    assert [m.text for m in await call(thread, "messages", limit=1)] == ["answer 3"]


async def test_messages_as_plain_data(durable: Backend, call: Call) -> None:
    """A message is a dict of JSON data with the same keys for every role."""

    @tool
    def weigh(thing: str) -> str:
        """Weigh a thing."""
        if thing == "ghost":
            raise ValueError("it weighs nothing")
        return f"{thing}: 2 kg"

    def rule(messages: list[BaseMessage]) -> AIMessage:
        if messages[-1].type == "human":
            asked = calls(messages, ("weigh", {"thing": "cat"}))
            asked.usage_metadata = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
            return asked
        return AIMessage([{"type": "text", "text": "done"}])

    saver = durable.open()
    agent = create_agent(Scripted(rule=rule), [weigh], checkpointer=saver)
    await call(agent, "invoke", human("weigh the cat", "h1"), CONFIG)
    found = await call(saver.thread("t"), "messages", as_dicts=True)
    assert {tuple(each) for each in found} == {tuple(found[0])}
    asked, request, result, answer = found
    assert (asked["role"], asked["content"], asked["id"]) == ("user", "weigh the cat", "h1")
    assert request["role"] == "assistant"
    assert request["tool_calls"] == [
        {"id": "call 1.1.0", "name": "weigh", "args": {"thing": "cat"}}
    ]
    assert request["usage"]["total_tokens"] == 7
    assert (result["role"], result["name"], result["status"]) == ("tool", "weigh", "success")
    assert (result["tool_call_id"], result["content"]) == ("call 1.1.0", "cat: 2 kg")
    assert answer["content"] == [{"type": "text", "text": "done"}]
    assert all(each["in_state"] and not each["pending"] for each in found)


async def test_messages_of_a_deep_agent(durable: Backend, call: Call) -> None:
    """Messages kept as deltas are rebuilt at every checkpoint, before and behind a snapshot."""
    saver = durable.open()
    rule = Scripted(rule=lambda m: AIMessage(f"answer {len(m)}", id=f"a{len(m)}"))
    agent = create_deep_agent(rule, checkpointer=saver)
    for n in range(27):  # a snapshot is stored after 50 updates
        await call(agent, "invoke", human(str(n), f"h{n}"), CONFIG)
    thread, absent = saver.thread("t"), 0
    history = list(agent.get_state_history(CONFIG))
    for snapshot in history[::12]:
        here = snapshot.config
        absent += "messages" not in saver.get_tuple(here).checkpoint["channel_values"]
        found = await call(thread, "messages", here["configurable"]["checkpoint_id"])
        assert found == snapshot.values["messages"]
    assert absent > 5
    transcript = await call(thread, "messages", all=True, as_dicts=True)
    assert [each["id"] for each in transcript] == ids(history[0].values["messages"])
    stored = {each.config["configurable"]["checkpoint_id"]: each for each in history}
    for each in transcript:
        where = stored[each["checkpoint_id"]]
        assert where.created_at == each["ts"]
        assert each["id"] in ids(where.values["messages"])
        parent = stored[where.parent_config["configurable"]["checkpoint_id"]]
        assert each["id"] not in ids(parent.values["messages"])


async def test_finished_tasks_count(durable: Backend, call: Call) -> None:
    """A tool's result that only a pending write holds is in the conversation at the head; the
    writes that an old checkpoint keeps are not counted again."""

    @tool
    def quick() -> str:
        """Answer."""
        return "here it is"

    @tool
    def slow() -> str:
        """Ask."""
        return f"they said {interrupt('may I?')}"

    def rule(messages: list[BaseMessage]) -> AIMessage:
        if messages[-1].type == "human":
            return calls(messages, ("quick", {}), ("slow", {}))
        return AIMessage("done")

    saver = durable.open()
    agent = create_agent(Scripted(rule=rule), [quick, slow], checkpointer=saver)
    await call(agent, "invoke", human("go", "h1"), CONFIG)
    thread = saver.thread("t")
    assert "here it is" not in str(saver.get_tuple(CONFIG).checkpoint["channel_values"])
    for all in (False, True):
        found = await call(thread, "messages", all=all, as_dicts=True)
        assert [(each["role"], each["pending"]) for each in found] == [
            ("user", False), ("assistant", False), ("tool", True),
        ]  # fmt: skip
        assert found[-1]["content"] == "here it is"
    asked = thread.history(limit=1)[0]
    assert len(await call(thread, "messages", asked)) == 3
    await call(agent, "invoke", Command(resume="yes"), CONFIG)
    assert len(await call(thread, "messages", asked)) == 2
    texts = [m.text for m in await call(thread, "messages", all=True)]
    assert texts == ["go", "let me see", "here it is", "they said yes", "done"]


async def test_the_transcript_outlives_summaries(durable: Backend, call: Call) -> None:
    """`all=True` has each message once, in order, and says which a summary has replaced."""
    said: list[str] = []

    def rule(messages: list[BaseMessage]) -> AIMessage:
        said.append(f"answer {len(said)}")
        return AIMessage(said[-1])

    saver = durable.open()
    summary = SummarizationMiddleware(
        Scripted(rule=lambda m: AIMessage("in short: numbers")),
        trigger=("messages", 6),
        keep=("messages", 2),
    )
    agent = create_agent(Scripted(rule=rule), middleware=[summary], checkpointer=saver)
    for n in range(9):
        await call(agent, "invoke", human(f"say {n}", f"h{n}"), CONFIG)
    thread = saver.thread("t")
    found = await call(thread, "messages", all=True, as_dicts=True)
    spoken = [each["content"] for each in found if "in short" not in each["content"]]
    assert spoken == [text for n in range(9) for text in (f"say {n}", f"answer {n}")]
    assert len(spoken) < len(found)
    state = ids(graph_messages := agent.get_state(CONFIG).values["messages"])
    assert len(state) < 9
    assert {each["id"] for each in found if each["in_state"]} == set(state)
    marked = await call(thread, "messages", all=True)
    gone = [m for m in marked if m.response_metadata.get("in_state") is False]
    assert ids(gone) == [each["id"] for each in found if not each["in_state"]]
    assert await call(thread, "messages") == graph_messages
    assert [each["ts"] for each in found] == sorted(each["ts"] for each in found)


async def test_a_transcript_follows_one_branch(durable: Backend, call: Call) -> None:
    """What was said on a branch that was left is not in the transcript of the head."""
    saver = durable.open()
    graph, thread = chatty(saver), saver.thread("t")
    await call(graph, "invoke", human("keep", "h1"), CONFIG)
    await call(graph, "invoke", human("drop", "h2"), CONFIG)
    before = thread.history()[-1]
    await call(thread, "rewind", "h2")
    await call(graph, "invoke", human("instead", "h3"), CONFIG)
    texts = [m.text for m in await call(thread, "messages", all=True)]
    assert texts == ["keep", "answer 1", "instead", "answer 3"]
    assert await call(thread, "messages", before, all=True) == []


class Kept(TypedDict):
    messages: Annotated[list[Any], DeltaChannel(_messages_delta_reducer, snapshot_frequency=3)]


async def test_deltas_that_are_edited(durable: Backend, call: Call) -> None:
    """Messages that are edited, removed and overwritten are as the graph has them, and the
    transcript has what was removed."""

    def node(state: Kept) -> dict[str, Any]:
        n = len(state["messages"])
        last = state["messages"][-1]
        if last.text == "edit":
            return {"messages": [AIMessage("edited", id="h0"), RemoveMessage(id="h1")]}
        if last.text == "over":
            return {"messages": Overwrite([AIMessage("anew", id="a")])}
        return {"messages": [("ai", f"answer {n}")]}

    saver = durable.open()
    builder = StateGraph(Kept)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=saver)
    thread = saver.thread("t")
    for n, text in enumerate(("a", "b", "c", "edit", "d", "over", "e")):
        await call(graph, "invoke", human(text, f"h{n}"), CONFIG)
    for each in graph.get_state_history(CONFIG):
        id = each.config["configurable"]["checkpoint_id"]
        assert await call(thread, "messages", id) == each.values["messages"]
    transcript = await call(thread, "messages", all=True, as_dicts=True)
    assert [each["content"] for each in transcript if each["in_state"]] == ["anew", "e", "answer 2"]
    said = [each["content"] for each in transcript if each["role"] == "user"]
    assert said == ["b", "c", "edit", "d", "over", "e"]
    assert (transcript[0]["content"], transcript[0]["id"]) == ("edited", "h0")


async def test_removing_everything_in_deltas(durable: Backend, call: Call) -> None:
    """deepagents' sign for "remove all" empties the conversation before it."""
    saver = durable.open()
    agent = create_deep_agent(Scripted(rule=lambda m: AIMessage("ok")), checkpointer=saver)
    await call(agent, "invoke", human("one", "h1"), CONFIG)
    cleared = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("two", id="h2")]
    await call(agent, "invoke", {"messages": cleared}, CONFIG)
    thread = saver.thread("t")
    assert await call(thread, "messages") == agent.get_state(CONFIG).values["messages"]
    assert [m.text for m in await call(thread, "messages")] == ["two", "ok"]
    texts = [m.text for m in await call(thread, "messages", all=True)]
    assert texts == ["one", "ok", "two", "ok"]


class Odd(TypedDict, total=False):
    chat: Annotated[list[Any], operator.add]
    count: int


async def test_other_channels_and_forms(durable: Backend, call: Call) -> None:
    """A channel of another name is found; dicts, pairs and messages without ids are read."""
    saver = durable.open()
    builder = StateGraph(Odd)
    builder.add_node(
        "node", lambda s: {"chat": [("ai", "same"), {"role": "assistant", "content": "same"}]}
    )
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=saver)
    thread = saver.thread("t")
    for _ in range(2):
        await call(graph, "invoke", {"chat": [{"role": "user", "content": "hi"}]}, CONFIG)
    for options in ({}, {"channel": "chat"}, {"all": True}):
        found = await call(thread, "messages", **options)
        assert [(m.type, m.text) for m in found] == [
            ("human", "hi"),
            ("ai", "same"),
            ("ai", "same"),
        ] * 2
    with pytest.raises(InvalidInput, match="it has chat"):
        await call(thread, "messages", channel="messages")
    with pytest.raises(ThreadNotFound):
        await call(thread, "messages", "no such point")
    with pytest.raises(ThreadNotFound):
        await call(saver.thread("nobody"), "messages")


async def test_the_functional_api(durable: Backend, call: Call) -> None:
    """Messages that an entrypoint saved for its next run are its conversation."""
    saver = durable.open()

    @entrypoint(checkpointer=saver)
    def chat(text: str, *, previous: Any = None) -> Any:
        said = [*(previous or []), HumanMessage(text), AIMessage(f"no {text}")]
        return entrypoint.final(value=said[-1].text, save=said)

    for text in ("cat", "dog"):
        chat.invoke(text, CONFIG)
    found = await call(saver.thread("t"), "messages")
    assert [m.text for m in found] == ["cat", "no cat", "dog", "no dog"]

    @entrypoint(checkpointer=saver)
    def kept(text: str, *, previous: Any = None) -> Any:
        said = [*(previous or {"messages": []})["messages"], HumanMessage(text)]
        return entrypoint.final(value=len(said), save={"messages": said})

    for text in ("cat", "dog"):
        kept.invoke(text, {"configurable": {"thread_id": "in a dict"}})
    found = await call(saver.thread("in a dict"), "messages")
    assert [m.text for m in found] == ["cat", "dog"]


async def test_messages_of_a_subgraph(durable: Backend, call: Call) -> None:
    """A subgraph's own conversation is read by its namespace."""
    inner = StateGraph(MessagesState)
    inner.add_node("ask", lambda s: {"messages": [AIMessage(f"got {interrupt('what?')}")]})
    inner.add_edge(START, "ask")
    sub = inner.compile()

    def outer(state: MessagesState) -> dict[str, Any]:
        found = sub.invoke({"messages": [HumanMessage("inside", id="i")]})
        return {"messages": [AIMessage(found["messages"][-1].text)]}

    saver = durable.open()
    builder = StateGraph(MessagesState)
    builder.add_node("outer", outer)
    builder.add_edge(START, "outer")
    graph = builder.compile(checkpointer=saver)
    await call(graph, "invoke", human("outside", "o"), CONFIG)
    places = {each.config["configurable"]["checkpoint_ns"] for each in saver.list(CONFIG)}
    (inside,) = places - {""}
    thread = saver.thread("t")
    assert ids(await call(thread, "messages")) == ["o"]
    assert ids(await call(thread, "messages", ns=inside)) == ["i"]
    with pytest.raises(ThreadNotFound):
        await call(thread, "messages", ns="nowhere:1")


def test_a_result_that_failed(sqlite: Backend) -> None:
    """The status of a tool's result is shown."""
    saver = sqlite.open()
    builder = StateGraph(MessagesState)
    builder.add_node(
        "node",
        lambda s: {"messages": [ToolMessage("broke", tool_call_id="c", status="error", name="x")]},
    )
    builder.add_edge(START, "node")
    builder.compile(checkpointer=saver).invoke(human("go", "h"), CONFIG)
    (_, transcript) = saver.thread("t").messages(as_dicts=True)
    assert (transcript["status"], transcript["tool_call_id"]) == ("error", "c")


def test_a_saver_without_pillars(sqlite: Backend) -> None:
    """Messages need no pillars."""
    saver: WyrdSaver = sqlite.open(pillars=False)
    chatty(saver).invoke(human("one", "h1"), CONFIG)
    thread = saver.thread("t")
    assert [m.text for m in thread.messages(thread.history()[0])] == ["one", "answer 1"]
    assert len(thread.messages(all=True)) == 2


def test_what_a_plain_agent_did_is_in_its_cell(durable: Backend) -> None:
    """Of a `create_agent` thread: tools used, files read, the last error, as text."""

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        return "text"

    @tool
    def send(to: str) -> str:
        """Send it."""
        return "sent"

    with durable.open() as saver:
        steps: list[list[tuple[str, dict[str, Any]]]] = [
            [("read_file", {"path": "a<b>.txt"}), ("read_file", {"path": "notes.md"})],
            [("send", {"whom": "ann"})],  # an argument that it does not have
        ]

        def rule(messages: list[BaseMessage]) -> AIMessage:
            return calls(messages, *steps.pop(0)) if steps else AIMessage("Done.")

        model = Scripted(rule=rule)
        agent = create_agent(model, [read_file, send], checkpointer=saver)
        agent.invoke(
            {"messages": [("human", "Send the notes")]}, {"configurable": {"thread_id": "t"}}
        )
        html = saver.thread("t")._repr_html_()
    assert "tools used: read_file (2), send" in html
    assert "files read: a&lt;b&gt;.txt, notes.md" in html
    assert "last error: send: Error invoking tool" in html
