"""`thread.rewind`: an older point is the head again, and the graph goes on from there."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from tests.conftest import Backend
from tests.deep import create_deep_agent
from tests.handmade import append, skewed_id
from tests.outside import at_rest, raw
from tests.programs import share
from tests.scripted_agents import Scripted, calls
from tests.story import Teller, first_difference, without_loop, without_parents
from tests.tables import check_tables, derived, differences
from tests.wire import Wire

Call = Callable[..., Any]
CONFIG: Any = {"configurable": {"thread_id": "t"}}
WAYS: dict[str, Any] = {
    "go on": lambda: None,
    "answer": lambda: Command(resume="yes"),
    "new input": lambda: {"log": ["new"]},
}


class Log(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def asking(saver: Any, ran: list[str]) -> Any:
    """a, then b, which asks, then c."""

    def node(name: str) -> Any:
        def run(state: Log) -> Any:
            ran.append(name)
            answer = f"={interrupt('go?')}" if name == "b" else ""
            return {"log": [f"{name}{answer} after {len(state['log'])}"]}

        return run

    builder = StateGraph(Log)
    builder.add_sequence([(name, node(name)) for name in "abc"])
    builder.add_edge(START, "a")
    return builder.compile(checkpointer=saver)


async def played(call: Call, graph: Any) -> list[Any]:
    """Two runs, both answered; every state, oldest first."""
    for turn in ("one", "two"):
        await call(graph, "invoke", {"log": [turn]}, CONFIG)
        await call(graph, "invoke", Command(resume=f"yes to {turn}"), CONFIG)
    return list(graph.get_state_history(CONFIG))[::-1]


@pytest.mark.parametrize("way", WAYS)
async def test_it_runs_as_from_that_checkpoint(saver: WyrdSaver, call: Call, way: str) -> None:
    """Each checkpoint rewound to, then run by the thread's id alone, gives what a run addressed to
    it gives on InMemorySaver: the same values, by the same nodes."""
    there: list[str] = []
    here: list[str] = []
    reference, graph = asking(InMemorySaver(), there), asking(saver, here)
    old, new = await played(call, reference), await played(call, graph)
    assert [s.values for s in old] == [s.values for s in new]
    compared = 0
    for before, ours in zip(old[:-1], new[:-1], strict=True):
        there.clear()
        here.clear()
        if way == "answer" and before.next != ("b",):
            continue
        addressed = before.config
        if way == "answer":  # addressed there, the answer of the first run would be given again
            await call(reference, "update_state", before.config, None, "__copy__")
            addressed = CONFIG
        expected = await call(reference, "invoke", WAYS[way](), addressed)
        id = ours.config["configurable"]["checkpoint_id"]
        config = await call(saver.thread("t"), "rewind", id)
        assert (await call(graph, "get_state", CONFIG)).config == config
        found = await call(graph, "invoke", WAYS[way](), CONFIG)
        random_run = [
            {k: v for k, v in each.items() if k != "__interrupt__"} for each in (expected, found)
        ]
        assert random_run[0] == random_run[1], id
        assert here == there, id
        compared += 1
    assert compared >= 2


async def test_the_head_looks_as_that_checkpoint_did(saver: WyrdSaver, call: Call) -> None:
    """Values, what is next, and the working state are those of the point; nothing is deleted."""
    graph = asking(saver, [])
    states = await played(call, graph)
    handle = saver.thread("t")
    for old in states[:-1]:
        id = old.config["configurable"]["checkpoint_id"]
        was = await call(handle, "working_state", id)
        await call(handle, "rewind", id)
        now = graph.get_state(CONFIG)
        assert (now.values, now.next) == (old.values, old.next)
        assert now.metadata["source"] == "fork"
        assert now.metadata["step"] == old.metadata["step"] + 1
        assert now.parent_config == old.parent_config
        state = await call(handle, "working_state")
        assert (state.context, state.intentions, state.todos) == (
            was.context, was.intentions, was.todos,
        )  # fmt: skip
        assert [d.node for d in state.due] == [*old.next]
    kept = {s.config["configurable"]["checkpoint_id"] for s in graph.get_state_history(CONFIG)}
    assert kept >= {s.config["configurable"]["checkpoint_id"] for s in states}


async def test_back_and_forth(saver: WyrdSaver, call: Call) -> None:
    """Rewinding twice, and on to the branch that was left, always gives that point's values."""
    graph = asking(saver, [])
    states = await played(call, graph)
    handle = saver.thread("t")
    end = states[-1]
    for old in (states[4], states[1], end, states[2], end):
        await call(handle, "rewind", old.config["configurable"]["checkpoint_id"])
        assert graph.get_state(CONFIG).values == old.values
    assert not graph.get_state(CONFIG).next
    await call(graph, "invoke", {"log": ["three"]}, CONFIG)
    assert graph.get_state(CONFIG).values["log"][:-2] == end.values["log"]


async def test_the_head_itself_is_no_rewind(saver: WyrdSaver, call: Call) -> None:
    """Going to where the thread stands writes nothing, and what waits there still waits."""
    graph = asking(saver, [])
    await call(graph, "invoke", {"log": ["one"]}, CONFIG)
    before = graph.get_state(CONFIG)
    id = before.config["configurable"]["checkpoint_id"]
    assert await call(saver.thread("t"), "rewind", id) == before.config
    assert graph.get_state(CONFIG) == before
    assert saver.thread("t").working_state().status == "interrupted"


async def test_update_state_after_a_rewind(saver: WyrdSaver, call: Call) -> None:
    """An update goes on top of the point, as it does on LangGraph's own copy of it."""
    values = []
    for each in (InMemorySaver(), saver):
        graph = asking(each, [])
        old = (await played(call, graph))[1]
        if isinstance(each, WyrdSaver):
            await call(each.thread("t"), "rewind", old.config["configurable"]["checkpoint_id"])
        else:
            await call(graph, "update_state", old.config, None, "__copy__")
        await call(graph, "update_state", CONFIG, {"log": ["edited"]}, "a")
        values.append((await call(graph, "invoke", Command(resume="yes"), CONFIG))["log"])
    assert values[0] == values[1] == ["one", "edited", "b=yes after 2", "c after 3"]


async def test_points(saver: WyrdSaver, call: Call) -> None:
    """A label and a time are points, too; what is none is said to be none, and changes nothing."""
    graph = asking(saver, [])
    states = await played(call, graph)
    handle = saver.thread("t")
    third = states[3]
    await call(handle, "label", "third", third.config["configurable"]["checkpoint_id"])
    for point in ("third", third.created_at, datetime.fromisoformat(third.created_at)):
        await call(handle, "rewind", point)
        assert graph.get_state(CONFIG).values == third.values
        await call(handle, "rewind", states[-1].config["configurable"]["checkpoint_id"])
    count = len(list(saver.list(CONFIG)))
    for missing in ("nowhere", "", datetime(1999, 1, 1, tzinfo=timezone.utc)):
        with pytest.raises(ThreadNotFound, match="thread 't' has no checkpoint, label or time"):
            await call(handle, "rewind", missing)
    with pytest.raises(ThreadNotFound):
        await call(saver.thread("nobody"), "rewind", "third")
    with pytest.raises(InvalidInput, match="say where to"):
        await call(handle, "rewind", None)
    with pytest.raises(InvalidInput):
        await call(handle, "rewind", 7)
    assert len(list(saver.list(CONFIG))) == count
    with pytest.raises(ThreadNotFound):
        saver.thread("nobody").working_state()


def test_a_head_from_a_clock_that_is_ahead(backend: Backend) -> None:
    """The new head sorts after the old one, though that one's id is from next year."""
    saver = backend.open()
    first = append(saver, "t", "m0")
    append(saver, "t", "m1", checkpoint_id=skewed_id(365 * 86400))
    config = saver.thread("t").rewind(first["configurable"]["checkpoint_id"])
    assert saver.get_tuple(CONFIG).config == config
    again = saver.thread("t").rewind(skewed_head := saver.get_tuple(CONFIG).checkpoint["id"])
    assert again["configurable"]["checkpoint_id"] == skewed_head


def test_after_a_prune(backend: Backend) -> None:
    """A labelled point can be gone back to when what led there was pruned, and again after that."""
    saver = backend.open()
    config = [append(saver, "t", f"m{n}") for n in range(5)]
    handle = saver.thread("t")
    handle.label("two", config[2]["configurable"]["checkpoint_id"])
    saver.prune(["t"])
    handle.rewind("two")
    assert [m.id for m in saver.get_tuple(CONFIG).checkpoint["channel_values"]["log"]] == [
        "m0", "m1", "m2",
    ]  # fmt: skip
    append(saver, "t", "m3 again")
    saver.prune(["t"])
    found = [m.id for m in saver.get_tuple(CONFIG).checkpoint["channel_values"]["log"]]
    assert found == ["m0", "m1", "m2", "m3 again"]


def test_without_pillars(backend: Backend) -> None:
    """A saver that reads no pillars rewinds as well; read later, they say what the copy says."""
    saver = backend.open(pillars=False)
    graph = conversing(saver)
    for n in range(3):
        graph.invoke({"messages": [HumanMessage(f"do {n}", id=f"h{n}")]}, CONFIG)
    saver.thread("t").rewind("h1")
    other = saver if backend.name == "memory" else backend.open()
    if backend.name != "memory":
        other.reextract()
        state = other.thread("t").working_state()
        assert state.intentions[-1].text == "do 0"
    assert [m.id for m in graph.get_state(CONFIG).values["messages"]] == ["h0", "a0"]


def test_what_is_sealed_stays_sealed(durable: Backend) -> None:
    """On an encrypting saver neither the copy nor its base holds plain text."""
    pytest.importorskip("Crypto")
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    saver = durable.open(serde=serde)
    graph = conversing(saver)
    for n in range(2):
        graph.invoke({"messages": [HumanMessage(f"secret {n}", id=f"h{n}")]}, CONFIG)
    handle = saver.thread("t")
    handle.label("here")
    handle.rewind("h1")
    assert handle.working_state().intentions[-1].text == "secret 0"
    with raw(durable.url) as connection:
        for table in ("labels", "checkpoints", "snapshots", "journal"):
            for row in connection.execute(f"SELECT * FROM wyrd_{table}").fetchall():
                assert "secret" not in str(row)


# ---- messages


class Talk(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]


def conversing(saver: Any, channel: Any = None) -> Any:
    """Answers each message of a person."""

    def answer(state: Any) -> Any:
        turn = sum(isinstance(m, HumanMessage) for m in state["messages"]) - 1
        return {"messages": [AIMessage(f"did {turn}", id=f"a{turn}")]}

    builder: Any = StateGraph(
        Talk if channel is None else TypedDict("Deltas", {"messages": Annotated[list, channel]})
    )
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


def appended(old: list[Any], writes: list[Any]) -> list[Any]:
    found = list(old)
    for write in writes:
        found = add_messages(found, write)
    return found


CHANNELS = {
    "whole": None,
    "deltas": DeltaChannel(appended),
    "deltas with snapshots": DeltaChannel(appended, snapshot_frequency=2),
}


def ids(graph: Any) -> list[str]:
    return [m.id for m in graph.get_state(CONFIG).values.get("messages", [])]


@pytest.mark.parametrize("channel", CHANNELS)
async def test_to_a_message(saver: WyrdSaver, call: Call, channel: str) -> None:
    """That message and all that follows are gone from the head, wherever messages are kept."""
    graph = conversing(saver, CHANNELS[channel])

    async def turn(n: int) -> None:
        said = {"messages": [HumanMessage(f"do {n}", id=f"h{n}")]}
        await call(graph, "invoke", said, CONFIG)

    for n in range(5):
        await turn(n)
    handle = saver.thread("t")
    await call(handle, "rewind", "h3")
    assert ids(graph) == ["h0", "a0", "h1", "a1", "h2", "a2"]
    assert graph.get_state(CONFIG).next == ()
    await turn(3)
    await turn(4)
    assert ids(graph)[-4:] == ["h3", "a3", "h4", "a4"]
    await call(handle, "rewind", "a1")  # the step that brought it is due again
    assert (ids(graph), graph.get_state(CONFIG).next) == (["h0", "a0", "h1"], ("answer",))
    await call(graph, "invoke", None, CONFIG)
    assert ids(graph) == ["h0", "a0", "h1", "a1"]
    for gone in ("h3", "a4", "nothing"):
        with pytest.raises(ThreadNotFound, match="no message of that id"):
            await call(handle, "rewind", gone)
    await call(handle, "rewind", "h0")
    assert (ids(graph), graph.get_state(CONFIG).next) == ([], ())
    assert handle.working_state().title is None
    await turn(0)
    assert ids(graph) == ["h0", "a0"]
    assert handle.working_state().title == "do 0"


def test_a_message_that_was_edited_or_removed(saver: WyrdSaver) -> None:
    """An edited message goes back to before it first came; a removed one is not on the head."""
    graph = conversing(saver)
    for n in range(3):
        graph.invoke({"messages": [HumanMessage(f"do {n}", id=f"h{n}")]}, CONFIG)
    graph.update_state(CONFIG, {"messages": [HumanMessage("do 1, please", id="h1")]})
    handle = saver.thread("t")
    handle.rewind("h1")
    assert ids(graph) == ["h0", "a0"]
    graph.invoke({"messages": [HumanMessage("do 1", id="h1")]}, CONFIG)
    graph.update_state(CONFIG, {"messages": [RemoveMessage(id="a0")]})
    assert ids(graph) == ["h0", "h1", "a1"]
    handle.rewind("a0")  # before it came, as what followed it came after
    assert ids(graph) == ["h0"]


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("said", [HumanMessage, lambda text: {"role": "user", "content": text}])
def test_a_message_whose_id_was_given_to_it(saver: WyrdSaver, channel: str, said: Any) -> None:
    """A message that came without an id is found by the one that it got, and its input is gone."""
    graph = conversing(saver, CHANNELS[channel])
    for n in range(3):
        graph.invoke({"messages": [said(f"do {n}")]}, CONFIG)
    held = graph.get_state(CONFIG).values["messages"]
    saver.thread("t").rewind(held[2].id)
    assert ids(graph) == [held[0].id, "a0"]
    assert graph.get_state(CONFIG).next == ()
    saver.thread("t").rewind(held[0].id)
    assert (ids(graph), graph.get_state(CONFIG).next) == ([], ())


def test_a_functional_graph(saver: WyrdSaver) -> None:
    """An entrypoint is one step: its answer takes it back to where it is due, its input before."""

    @entrypoint(checkpointer=saver)
    def talk(said: list[Any], *, previous: Any = None) -> Any:
        n = len(previous or []) // 2
        return entrypoint.final(
            value=n, save=[*(previous or []), *said, AIMessage("ok", id=f"a{n}")]
        )

    for n in range(3):
        talk.invoke([HumanMessage("do", id=f"h{n}")], CONFIG)
    handle = saver.thread("t")
    handle.rewind("a2")
    assert talk.invoke(None, CONFIG) == 2
    handle.rewind("h1")
    assert talk.invoke([HumanMessage("do", id="h1")], CONFIG) == 1


def test_a_message_far_back(saver: WyrdSaver) -> None:
    """A message of a long conversation is found, through pages of checkpoints and forks."""
    graph = conversing(saver)
    for n in range(30):
        graph.invoke({"messages": [HumanMessage(f"do {n}", id=f"h{n}")]}, CONFIG)
        if n == 20:
            saver.thread("t").rewind("a19")
            graph.invoke(None, CONFIG)
            graph.invoke({"messages": [HumanMessage("do 20", id="h20")]}, CONFIG)
    saver.thread("t").rewind("h2")
    assert ids(graph) == ["h0", "a0", "h1", "a1"]


def test_a_message_that_the_head_is_about_to_take(saver: WyrdSaver) -> None:
    """What a finished task of a step that waits has written goes too: the step starts anew."""

    def says(state: Any) -> Any:
        return {"messages": [AIMessage("said", id="said")]}

    def waits(state: Any) -> Any:
        return {"messages": [AIMessage(interrupt("?"), id="waited")]}

    builder = StateGraph(Talk)
    builder.add_node("says", says)
    builder.add_node("waits", waits)
    builder.add_edge(START, "says")
    builder.add_edge(START, "waits")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("go", id="h0")]}, CONFIG)
    before = graph.get_state(CONFIG)
    assert saver.thread("t").rewind("said") != before.config
    now = graph.get_state(CONFIG)
    assert now.next == ("says", "waits")
    assert not now.interrupts
    assert saver.get_tuple(CONFIG).pending_writes == []


# ---- agents


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def rule(messages: list[Any]) -> AIMessage:
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(f"It is {last.content}")
    return calls(messages, ("weather", {"city": last.text}))


AGENTS: dict[str, Any] = {
    "langchain": lambda saver: create_agent(Scripted(rule=rule), [weather], checkpointer=saver),
    "deepagents": lambda saver: create_deep_agent(
        Scripted(rule=rule), [weather], checkpointer=saver
    ),
}


@pytest.mark.parametrize("kind", AGENTS)
async def test_agents(durable: Backend, call: Call, kind: str) -> None:
    """An agent with tools, rewound to each of its checkpoints, does what it does from there on
    InMemorySaver."""
    saver = durable.open()
    runs = []
    for each in (InMemorySaver(), saver):
        agent = AGENTS[kind](each)
        for city in ("Oslo", "Rome"):
            said = {"messages": [HumanMessage(city, id=f"ask {city}")]}
            await call(agent, "invoke", said, CONFIG)
        history = [state async for state in agent.aget_state_history(CONFIG)][::-1]
        found = []
        for old in history[1:-1:2]:
            if isinstance(each, WyrdSaver):
                await call(each.thread("t"), "rewind", old.config["configurable"]["checkpoint_id"])
                config = CONFIG
            else:
                config = old.config
            ended = await call(agent, "invoke", None, config)
            found.append([(m.type, m.text) for m in ended["messages"]] if ended else ended)
        runs.append(found)
    assert runs[0] == runs[1]
    assert len(runs[1]) >= 3
    agent = AGENTS[kind](durable.open())
    await call(durable.open().thread("t"), "rewind", "ask Rome")
    assert [m.text for m in agent.get_state(CONFIG).values["messages"]][-1] == "It is sunny in Oslo"


class Sub(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    memory: Annotated[list[str], operator.add]


@pytest.mark.parametrize("remembers", [True, None])
def test_subgraphs(saver: WyrdSaver, remembers: bool | None) -> None:
    """A subgraph with a memory of its own stands again where it stood; one without starts anew."""
    inner = StateGraph(Sub)
    inner.add_node("note", lambda s: {"memory": [f"call {len(s.get('memory', []))}"]})
    inner.add_node("tell", lambda s: {"log": [" ".join(s["memory"])]})
    inner.add_edge(START, "note")
    inner.add_edge("note", "tell")
    outer = StateGraph(Log)
    compiled = inner.compile(checkpointer=remembers)
    outer.add_node("call", lambda s: {"log": compiled.invoke({"log": []})["log"][-1:]})
    outer.add_edge(START, "call")
    graph = outer.compile(checkpointer=saver)
    for n in range(4):
        graph.invoke({"log": [f"in {n}"]}, CONFIG)
    ends = [s for s in graph.get_state_history(CONFIG) if not s.next][::-1]
    handle = saver.thread("t")
    for n in (2, 0, 3, 1):
        handle.rewind(ends[n].config["configurable"]["checkpoint_id"])
        assert graph.get_state(CONFIG).values == ends[n].values
        calls_so_far = range(n + 2 if remembers else 1)
        again = graph.invoke({"log": ["again"]}, CONFIG)["log"][-1]
        assert again == " ".join(f"call {i}" for i in calls_so_far)
    first = list(graph.get_state_history(CONFIG))[-1]
    handle.rewind(first.config["configurable"]["checkpoint_id"])
    assert graph.invoke(None, CONFIG)["log"] == ["in 0", "call 0"]


def test_a_question_inside_a_subgraph(saver: WyrdSaver) -> None:
    """The step that asked begins anew, and asks again; the answer then goes where it belongs."""
    ran: list[str] = []
    compiled = asking(None, ran)
    outer = StateGraph(Log)
    outer.add_node("sub", compiled)
    outer.add_edge(START, "sub")
    graph = outer.compile(checkpointer=saver)
    graph.invoke({"log": ["one"]}, CONFIG)
    waits = graph.get_state(CONFIG).config["configurable"]["checkpoint_id"]
    done = graph.invoke(Command(resume="yes"), CONFIG)
    ran.clear()
    saver.thread("t").rewind(waits)
    state = saver.thread("t").working_state()
    assert (state.status, [d.node for d in state.due]) == ("due", ["sub"])
    assert graph.invoke(None, CONFIG)["__interrupt__"][0].value == "go?"
    assert ran == ["a", "b"]
    assert saver.thread("t").working_state().status == "interrupted"
    assert graph.invoke(Command(resume="yes"), CONFIG) == done


def test_what_a_person_declared_comes_along(saver: WyrdSaver) -> None:
    """What was declared at the point is in the state of its copy."""
    graph = asking(saver, [])
    graph.invoke({"log": ["one"]}, CONFIG)
    handle = saver.thread("t")
    (old, *_) = [s for s in graph.get_state_history(CONFIG) if s.next == ("b",)]
    id = old.config["configurable"]["checkpoint_id"]
    handle.add_todo("ring Ann")
    assert "ring Ann" in [todo.content for todo in handle.working_state(id).todos]
    graph.invoke(Command(resume="yes"), CONFIG)
    handle.rewind(id)
    assert [todo.content for todo in handle.working_state().todos] == ["ring Ann"]
    saver.reextract("t")
    assert [todo.content for todo in handle.working_state().todos] == ["ring Ann"]
    graph.invoke(Command(resume="yes"), CONFIG)
    assert [todo.content for todo in handle.working_state().todos] == ["ring Ann"]


@pytest.mark.parametrize("channel", CHANNELS)
def test_runs_that_store_their_end_alone(saver: WyrdSaver, channel: str) -> None:
    """With durability="exit" a message takes its run back, as that is one step then."""
    graph = conversing(saver, CHANNELS[channel])
    for n in range(4):
        said = {"messages": [HumanMessage(f"do {n}", id=f"h{n}")]}
        graph.invoke(said, CONFIG, durability="exit")
    handle = saver.thread("t")
    handle.rewind("a2")
    assert ids(graph) == ["h0", "a0", "h1", "a1"]
    again = {"messages": [HumanMessage("do 2", id="h2")]}
    assert [m.id for m in graph.invoke(again, CONFIG, durability="exit")["messages"]] == [
        "h0", "a0", "h1", "a1", "h2", "a2",
    ]  # fmt: skip
    handle.rewind("h0")
    assert ids(graph) == []


def test_while_another_saver_writes(durable: Backend) -> None:
    """One saver goes back again and again while another one writes: no checkpoint is lost or
    damaged, each has its parent's values, and the tables follow the head."""
    one, other = durable.open(), durable.open()
    first = append(one, "t", "m0")["configurable"]["checkpoint_id"]

    def write() -> None:
        for n in range(25):
            append(other, "t", f"w{n}")

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        back = [one.thread("t").rewind(first) for _ in range(12)]
        writing.result()
    found = {each.checkpoint["id"]: each for each in one.list(CONFIG)}
    logs = {id: [m.id for m in t.checkpoint["channel_values"]["log"]] for id, t in found.items()}
    added = [t for t in found.values() if t.metadata["source"] == "loop"]
    assert len(added) == 26
    for each in added:
        parent = each.parent_config and each.parent_config["configurable"]["checkpoint_id"]
        before = logs[parent] if parent else []
        assert logs[each.checkpoint["id"]] == [*before, each.metadata["token"]]
    for config in back:
        assert logs[config["configurable"]["checkpoint_id"]] == ["m0"]
    check_tables(one, durable.url, "next to a writer")


async def test_ids_of_any_kind(saver: WyrdSaver, call: Call) -> None:
    """Thread ids and checkpoint ids may be any text; a copy's id sorts behind whatever it is."""
    name = "odd\0\\id"
    where: Any = {"configurable": {"thread_id": name}}
    for id in ("a", "b\0", "zz"):
        append(saver, name, id, checkpoint_id=id)
    for point, log in (("a", ["a"]), ("b\0", ["a", "b\0"]), ("a", ["a"])):
        config = await call(saver.thread(name), "rewind", point)
        found = saver.get_tuple(where)
        assert found.config == config
        assert [m.id for m in found.checkpoint["channel_values"]["log"]] == log
        assert config["configurable"]["checkpoint_id"] > "zz"
    handle = saver.thread(name)
    assert (await call(handle, "working_state", "b\0")).due == ()
    assert (await call(handle, "label", "x\\", "b\0")).checkpoint_id == "b\0"
    made = await call(handle, "fork", name + "2", "x\\")
    found = saver.get_tuple({"configurable": {"thread_id": made.id}})
    assert [m.id for m in found.checkpoint["channel_values"]["log"]] == ["a", "b\0"]


def test_a_path_that_is_cut_off(saver: WyrdSaver) -> None:
    """A run that is deleted takes the copies of its checkpoints along, and the thread goes on."""
    graph = conversing(saver)
    for n in range(3):
        said = {"messages": [HumanMessage(f"do {n}", id=f"h{n}")]}
        graph.invoke(said, {**CONFIG, "metadata": {"run_id": f"run {n}"}})
    saver.thread("t").rewind("h2")
    assert ids(graph)[-1] == "a1"
    saver.delete_for_runs(["run 1"])
    assert ids(graph)[-1] == "a2"
    assert all(each.metadata.get("run_id") != "run 1" for each in saver.list(CONFIG))


async def test_a_commit_whose_answer_is_lost(wire: Wire, postgres: Backend, call: Call) -> None:
    """Committed but not confirmed, each verb is done once, and reported as done."""
    with WyrdSaver.from_conn_string(wire.url, min_size=1, max_size=2) as saver:
        places = [append(saver, "t", f"m{n}")["configurable"]["checkpoint_id"] for n in range(3)]
        handle = saver.thread("t")
        for place in places[:2]:
            handle.label("here", place)
        wire.armed = True
        assert await call(handle, "unlabel", "here") is True
        assert [label.checkpoint_id for label in handle.labels()] == places[:1]
        wire.armed = True
        assert (await call(handle, "label", "here", places[2])).checkpoint_id == places[2]
        wire.armed = True
        config = await call(handle, "rewind", places[0])
        assert saver.get_tuple(CONFIG).config == config
        assert len(list(saver.list(CONFIG))) == 4
        wire.armed = True
        await call(handle, "fork", "new", places[1])
        assert len(list(saver.list({"configurable": {"thread_id": "new"}}))) == 2
        assert wire.cuts == 4
    at_rest(postgres.url)


def test_a_message_that_its_channel_numbers(saver: WyrdSaver) -> None:
    """Where the reducer gives the ids, no input has them: it is found all the same."""

    def numbered(old: list[Any], new: list[Any]) -> list[Any]:
        fresh = [HumanMessage(m) if isinstance(m, str) else m for m in new]
        named = [m.model_copy(update={"id": f"m{len(old) + n}"}) for n, m in enumerate(fresh)]
        return [*old, *named]

    builder: Any = StateGraph(TypedDict("Numbered", {"messages": Annotated[list, numbered]}))
    builder.add_node("answer", lambda s: {"messages": [AIMessage("ok")]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)
    for n in range(3):
        graph.invoke({"messages": [f"do {n}"]}, CONFIG)
    assert ids(graph) == [f"m{n}" for n in range(6)]
    handle = saver.thread("t")
    handle.rewind("m4")
    assert (ids(graph), graph.get_state(CONFIG).next) == (["m0", "m1", "m2", "m3"], ())
    handle.rewind("m1")
    assert (ids(graph), graph.get_state(CONFIG).next) == (["m0"], ("answer",))
    handle.rewind("m0")
    assert (ids(graph), graph.get_state(CONFIG).next) == ([], ())


async def test_what_a_prune_took(saver: WyrdSaver, call: Call) -> None:
    """Where the state before a message was pruned, that is said, and the head stays."""
    graph = conversing(saver)
    for n in range(3):
        graph.invoke({"messages": [HumanMessage(f"do {n}", id=f"h{n}")]}, CONFIG)
    saver.prune(["t"])
    held = ids(graph)
    with pytest.raises(ThreadNotFound, match="before message 'h1' is not there any more"):
        await call(saver.thread("t"), "rewind", "h1")
    assert ids(graph) == held
    graph.invoke({"messages": [HumanMessage("do 3", id="h3")]}, CONFIG)
    await call(saver.thread("t"), "rewind", "h3")
    assert ids(graph) == held


# Random programs whose people rewind or fork. On InMemorySaver a rewind is a copy of the old
# checkpoint, put next to it as the newest, and the same for each subgraph that has a memory of its
# own; a fork is a thread that has only what is on the path.


def reference_rewind(saver: InMemorySaver, thread_id: str, target: str) -> Any:
    """The rewind, in the words of a checkpointer's contract."""
    root = config(thread_id, "", target)
    everything = list(saver.list({"configurable": {"thread_id": thread_id}}))
    for ns in sorted({ns_of(each) for each in everything}):
        if ns and ":" not in ns:
            held = sorted((e for e in everything if ns_of(e) == ns), key=id_of)
            before = [each for each in held if id_of(each) < target]
            if before != held:
                put_copy(saver, thread_id, ns, before[-1] if before else None)
    return put_copy(saver, thread_id, "", saver.get_tuple(root))


def put_copy(saver: InMemorySaver, thread_id: str, ns: str, old: Any) -> Any:
    new = {"id": str(uuid6()), "ts": datetime.now(timezone.utc).isoformat()}
    if old is None:
        metadata: Any = {"source": "fork", "step": -2, "parents": {}}
        return saver.put(config(thread_id, ns), {**empty_checkpoint(), **new}, metadata, {})
    metadata = {**old.metadata, "source": "fork", "step": old.metadata["step"] + 1}
    parent = old.parent_config or config(thread_id, ns)
    return saver.put(parent, {**old.checkpoint, **new}, metadata, {})


def reference_fork(saver: InMemorySaver, source: str, made: str, target: str) -> None:
    """The fork, as a thread that never went on from there."""
    spaces = saver.storage[source]
    path = {target}
    while (parent := spaces[""][min(path)][2]) is not None:
        path.add(parent)
    whole = target == max(spaces[""])
    for ns, rows in spaces.items():
        ids = []
        for id, row in rows.items():
            root = saver.serde.loads_typed(row[1]).get("parents", {}).get("")
            ran = root in path and (whole or (root != target and id < target))
            if id in path if ns == "" else ran:
                ids.append(id)
        if ns and ":" not in ns:
            ids += [max([id for id in rows if whole or id < target], default="")]
        for id in ids:  # what their deltas are made of comes along
            ids += [rows[id][2]] if id in rows and rows[id][2] not in ids else []
        for id in {*ids} & rows.keys():
            saver.storage[made][ns][id] = rows[id]
            if (ns, id) != ("", target) or whole:
                saver.writes[made, ns, id] = dict(saver.writes[source, ns, id])
    for key, value in list(saver.blobs.items()):
        if key[0] == source:
            saver.blobs[(made, *key[1:])] = value


def config(thread_id: str, ns: str, id: str | None = None) -> Any:
    found = {"thread_id": thread_id, "checkpoint_ns": ns}
    return {"configurable": found if id is None else {**found, "checkpoint_id": id}}


def id_of(found: Any) -> str:
    return str(found.checkpoint["id"])


def ns_of(found: Any) -> str:
    return str(found.config["configurable"]["checkpoint_ns"])


class Rewinding(Teller):
    """Somebody who goes back by rewinding, and often."""

    rewound = 0
    from_head = False  # whether the head itself is a point to go to, too

    async def act(self) -> None:
        history = await self.history()
        if len(history) > 1 and self.rng.random() < 0.4:
            await self.rewind(history)
        else:
            await super().act()

    async def fork(self) -> None:
        await self.rewind(await self.history())

    async def rewind(self, history: list[Any]) -> None:
        old = self.rng.choice(history)
        label = f"rewind to {history.index(old)} of {len(history)}"
        if self.from_head or old is not history[0]:
            self.rewound += 1
            await self.record(label, self.back(old.config["configurable"]["checkpoint_id"]))
            await self.look()
        way = self.rng.random()
        if way < 0.5:
            await self.run("go on", None)
        elif way < 0.8:
            await self.run("input", self.inputs())
        elif way < 0.9:
            await self.edit("edit", self.config, self.as_node(old))

    async def back(self, target: str) -> Any:
        saver: Any = self.saver
        if isinstance(saver, InMemorySaver):
            return reference_rewind(saver, self.thread, target)
        handle = saver.thread(self.thread)
        return await handle.arewind(target) if self.asynchronous else handle.rewind(target)


class Forking(Rewinding):
    """Somebody who goes back by forking, and goes on with the fork."""

    from_head = True

    async def look(self) -> None:
        """Parents may be gone."""
        found = await self.state()
        await self.record("state", self.call("get_state", found.config, subgraphs=False))
        self.story.append(("tasks", self.plain(without_parents(found))))

    async def look_everywhere(self) -> None:
        await self.record("history", self.history())

    async def back(self, target: str) -> Any:
        saver: Any = self.saver
        old, self.thread = self.thread, f"{self.thread}, {self.turn}"
        if isinstance(saver, InMemorySaver):
            reference_fork(saver, old, self.thread, target)
        elif self.asynchronous:
            await saver.thread(old).afork(self.thread, target)
        else:
            saver.thread(old).fork(self.thread, target)


def random_run(
    seed: int,
    *savers: Any,
    asynchronous: bool,
    kind: type[Rewinding] = Rewinding,
    between: Callable[[Teller], None] | None = None,
) -> Rewinding:
    async def tell() -> Rewinding:
        teller = kind(seed, savers, asynchronous)
        for teller.turn in range(6):
            await teller.record("act", teller.act())
            await teller.look()
            if between is not None:
                between(teller)
        await teller.look_everywhere()
        return teller

    return asyncio.run(tell()) if asynchronous else without_loop(tell())


def expect_same(seeds: Iterable[int], *savers: Any, **options: Any) -> int:
    count = 0
    for seed in seeds:
        expected = random_run(seed, InMemorySaver(), **options)
        found = random_run(seed, *savers, **options)
        parted = first_difference(expected.story, found.story)
        assert parted is None, f"seed {seed}, expected first, then found, {parted}"
        count += found.rewound
    return count


def test_random_rewinds(backend: Backend, asynchronous: bool) -> None:
    """Values, node executions, interrupts, subgraphs and the whole history are the reference's."""
    assert expect_same(share(range(6), backend), backend.open(), asynchronous=asynchronous) > 2


def test_random_forks(backend: Backend, asynchronous: bool) -> None:
    """A fork at any point goes on, and has the history, of a thread that never went further."""
    options: Any = {"asynchronous": asynchronous, "kind": Forking}
    assert expect_same(share(range(300, 306), backend), backend.open(), **options) > 2


def test_two_savers_rewind_in_turns(durable: Backend) -> None:
    """One saver goes on where another one rewound, whatever it knew before."""
    savers = [durable.open(), durable.open()]
    assert expect_same(share(range(100, 104), durable), *savers, asynchronous=False)


@pytest.mark.parametrize("kind", [Rewinding, Forking])
def test_the_tables_follow(durable: Backend, kind: type[Rewinding]) -> None:
    """The tables say what the head says after each turn, and a re-extraction changes nothing."""
    saver = durable.open()
    for seed in share(range(200, 204), durable):

        def look(teller: Teller, seed: int = seed) -> None:
            check_tables(saver, durable.url, f"seed {seed} turn {teller.turn}")

        random_run(seed, saver, asynchronous=False, kind=kind, between=look)
        settled(saver, durable.url, seed)


def settled(saver: WyrdSaver, url: str, seed: int) -> None:
    before = derived(saver, url)
    saver.reextract()
    parted = differences(derived(saver, url), before)
    assert not parted, f"seed {seed}: {len(parted)} rows differ, first {parted[0]}"
