"""Declarations: stored when they return, wherever they are made, and not lost with a branch."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from langgraph_wyrd.errors import ThreadDeleted
from tests.conftest import Backend
from tests.damage import Rows

Call = Callable[..., Any]
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    n: int


def agent(saver: Any, *nodes: Callable[[State], Any]) -> Any:
    """Nodes one after the other."""
    builder = StateGraph(State)
    last = START
    for at, node in enumerate(nodes or (lambda state: {"messages": [AIMessage("done")]},)):
        builder.add_node(f"n{at}", node)
        builder.add_edge(last, f"n{at}")
        last = f"n{at}"
    return builder.compile(checkpointer=saver)


def ask(text: str) -> Any:
    return {"messages": [("user", text)]}


def waiting(state: Any) -> list[str]:
    return [loop.description for loop in state.open_loops if loop.kind in ("decision", "note")]


# ---- before the first checkpoint, and inside runs


async def test_before_the_first_checkpoint(durable: Backend, call: Call) -> None:
    """A thread that has no checkpoint yet takes declarations; its first run goes on from them."""
    saver = durable.open()
    thread = saver.thread("t")
    decision = await call(thread, "decide", "use Postgres", "many writers")
    await call(thread, "add_todo", "migrate", "high", by="ann")
    await call(thread, "set_context", "budget", 9)
    await call(thread, "set_intention", "ship it")
    for reader in (saver, durable.open()):
        state = await call(reader.thread("t"), "working_state")
        assert waiting(state) == ["use Postgres"]
        assert [todo.content for todo in state.todos] == ["migrate"]
        assert state.get_context("budget") == 9
        assert (await call(reader, "todos"))[0].thread_id == "t"
        assert [info.thread_id for info in await call(reader, "threads")] == ["t"]
    await call(agent(saver), "invoke", ask("go"), CONFIG)
    await call(agent(saver), "invoke", ask("on"), CONFIG)
    for reader in (saver, durable.open()):
        state = await call(reader.thread("t"), "working_state")
        assert "use Postgres" in waiting(state)
        assert [todo.content for todo in state.todos] == ["migrate"]
        assert state.get_context("budget") == 9
        assert state.intention.text == "ship it"
        (listed,) = await call(reader, "open_loops", kind="decision")
        assert (listed.id, listed.elsewhere) == (decision.id, False)
    await call(saver.thread("t"), "record_outcome", decision.id, "done")
    assert await call(saver, "open_loops", kind="decision") == []


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("way", ["sync", "async"])
async def test_inside_a_running_node(durable: Backend, way: str, durability: str) -> None:
    """A node decides before it acts: in the first node of a new thread, under any durability; it
    is durable when the call returns, and there at the end."""
    saver, reader = durable.open(), durable.open()
    seen: list[list[str]] = []

    def decides(state: State, config: RunnableConfig) -> Any:
        name = config["configurable"]["thread_id"]
        saver.thread(name).decide(f"act in {name}", key="act")
        saver.thread(name).add_todo(f"check {name}")
        seen.append(waiting(reader.thread(name).working_state()))
        return {"n": 1}

    async def adecides(state: State, config: RunnableConfig) -> Any:
        name = config["configurable"]["thread_id"]
        await saver.thread(name).adecide(f"act in {name}", key="act")
        await saver.thread(name).aadd_todo(f"check {name}")
        seen.append(waiting(await reader.thread(name).aworking_state()))
        return {"n": 1}

    for turn in range(2):
        for n in range(6):
            name = f"{durability}-{n}"
            graph = agent(
                saver,
                decides if way == "sync" else adecides,
                lambda state: {"messages": [AIMessage("ok")]},
            )
            config: Any = {"configurable": {"thread_id": name}}
            if way == "sync":
                await asyncio.to_thread(graph.invoke, ask("go"), config, durability=durability)
            else:
                await graph.ainvoke(ask("go"), config, durability=durability)
            for each in (saver, durable.open()):
                state = each.thread(name).working_state()
                assert waiting(state) == [f"act in {name}"]
                todos = [todo.content for todo in state.todos]
                assert todos == [f"check {name}"] * (turn + 1)
    assert len(seen) == 12
    assert all(len(each) == 1 for each in seen)


async def test_a_key_makes_a_retry_the_same(durable: Backend, call: Call) -> None:
    """Said again under its key, also by another saver, at the same time or after it is over, it
    is the same decision."""
    one, two = durable.open(), durable.open()
    made = await asyncio.gather(
        *(asyncio.to_thread(s.thread("t").decide, "buy", key="k") for s in (one, two, one, two))
    )
    assert len({each.id for each in made}) == 1
    await call(one.thread("t"), "record_outcome", made[0].id, "bought")
    for n in range(20):  # closed, and forgotten by the state
        loop = await call(one.thread("t"), "add_open_loop", f"note {n}")
        await call(one.thread("t"), "resolve_open_loop", loop.id)
    again = await call(two.thread("t"), "decide", "buy", key="k")
    assert again.id == made[0].id
    assert await call(two, "open_loops", kind="decision") == []
    todo = await call(one.thread("t"), "add_todo", "pay", key="k")
    assert (await call(two.thread("t"), "add_todo", "pay", key="k")).id == todo.id


async def test_a_deleted_thread_takes_none(durable: Backend, call: Call) -> None:
    """What a deleted thread's run still declares is refused."""
    saver = durable.open()
    await call(agent(saver), "invoke", ask("go"), CONFIG)
    saver.delete_thread("t")
    with pytest.raises(ThreadDeleted):
        await call(saver.thread("t"), "decide", "too late")
    assert await call(saver, "threads") == []


# ---- branches


async def test_facts_belong_to_the_thread(durable: Backend, call: Call) -> None:
    """A decision and a note of a branch that was left are listed, marked, and can be closed;
    todos and context are not seen from the other branch."""
    saver = durable.open()
    graph = agent(saver)
    await call(graph, "invoke", ask("one"), CONFIG)
    thread = saver.thread("t")
    fork = (await call(thread, "history"))[0].config
    await call(graph, "invoke", ask("two"), CONFIG)
    decision = await call(thread, "decide", "use Postgres")
    done = await call(thread, "decide", "use Redis")
    await call(thread, "record_outcome", done.id, "no")
    await call(thread, "add_open_loop", "who pays?")
    await call(thread, "add_todo", "migrate")
    old = (await call(thread, "history"))[0]
    await call(graph, "invoke", ask("other"), fork)
    for reader in (saver, durable.open()):
        state = await call(reader.thread("t"), "working_state")
        assert waiting(state) == ["use Postgres", "who pays?"]
        assert all(loop.elsewhere for loop in state.open_loops if loop.kind != "request")
        assert state.todos == ()
        assert state.status == "done"
        found = await call(reader, "open_loops", kind=["decision", "note"])
        assert {each.description for each in found} == {"use Postgres", "who pays?"}
        assert all(each.elsewhere for each in found)
        assert await call(reader, "open_loops", kind="decision", branch="head") == []
        (one,) = await call(reader, "open_loops", kind="decision", branch="elsewhere")
        assert one.id == decision.id
        closed = await call(reader, "open_loops", kind="decision", status="closed")
        assert [each.description for each in closed] == ["use Redis"]
    # Back on its branch it is marked no more.
    config = await call(thread, "rewind", old)
    assert config is not None
    for reader in (saver, durable.open()):
        (one,) = await call(reader, "open_loops", kind="decision")
        assert not one.elsewhere
        assert [t.content for t in (await call(reader.thread("t"), "working_state")).todos] == [
            "migrate"
        ]
    # Closed on another branch, it is closed everywhere.
    await call(graph, "invoke", ask("third"), fork)
    await call(thread, "record_outcome", decision.id, "done")
    for reader in (saver, durable.open()):
        assert await call(reader, "open_loops", kind="decision") == []
        state = await call(reader.thread("t"), "working_state", old)
        assert "use Postgres" in waiting(state)  # as it was then
    await call(thread, "rewind", old)
    assert await call(saver, "open_loops", kind="decision") == []


async def test_decisions_of_an_agent_outlive_their_branch(durable: Backend, call: Call) -> None:
    """What an agent decides in a tool call, with rationale and outcome, is listed from every
    branch, also after it was read anew; an outcome that it notes later keeps the rationale."""
    saver = durable.open()
    said = [
        {"decision": "use Postgres", "rationale": "many writers", "id": "db"},
        {"decision": "use Postgres", "outcome": "it works", "id": "db"},
        {"decision": "ship it", "id": "ship"},
    ]

    def think(state: State) -> Any:
        turn = sum(message.type == "human" for message in state["messages"])
        if turn > len(said):
            return {"messages": [AIMessage("fine")]}
        called = {"id": f"c{turn}", "name": "note_decision", "args": said[turn - 1]}
        done = ToolMessage("noted", tool_call_id=f"c{turn}")
        return {"messages": [AIMessage("", tool_calls=[called]), done]}

    async def recorded(reader: Any) -> list[Any]:
        found = await call(reader, "open_loops", kind="decision", status="any")
        return sorted((e.description, e.context.get("rationale"), e.outcome) for e in found)

    graph, thread = agent(saver, think), saver.thread("t")
    await call(graph, "invoke", ask("one"), CONFIG)
    assert await recorded(saver) == [("use Postgres", "many writers", None)]
    (first,) = [e for e in await call(thread, "history") if e.parent_id is None]
    for text in ("two", "three"):
        await call(graph, "invoke", ask(text), CONFIG)
    wanted = [("ship it", None, None), ("use Postgres", "many writers", "it works")]
    assert await recorded(saver) == wanted
    for _ in range(3):
        said[0] = {"decision": "another", "id": "other"}
        await call(graph, "invoke", ask("instead"), first.config)
        assert await recorded(durable.open()) == [("another", None, None), *wanted]  # one id: one
    (row,) = await call(saver, "threads")
    assert row.open_loops == len((await call(thread, "working_state")).open_loops)
    before = await recorded(saver)
    await call(saver, "reextract", "t")
    assert await recorded(durable.open()) == before
    assert (await call(saver, "verify")).ok


async def test_a_label_means_its_moment(durable: Backend, call: Call) -> None:
    """What is declared after a label is not part of it: state, diff, rewind and fork agree."""
    saver = durable.open()
    graph = agent(saver)
    await call(graph, "invoke", ask("one"), CONFIG)
    thread = saver.thread("t")
    await call(thread, "add_todo", "before")
    await call(thread, "set_context", "k", 1)
    label = await call(thread, "label", "x", keys=["k"])
    await call(thread, "add_todo", "after")
    await call(thread, "set_context", "k", 2)
    assert label.get_context("k") == 1

    def said(state: Any) -> tuple[list[str], Any]:
        return [todo.content for todo in state.todos], state.get_context("k")

    assert said(await call(thread, "working_state")) == (["before", "after"], 2)
    assert said(await call(thread, "working_state", "x")) == (["before"], 1)
    assert "+1 todo" in (await call(thread, "diff", "x")).summary()
    other = await call(thread, "fork", "copy", "x")
    assert said(await call(other, "working_state")) == (["before"], 1)
    await call(thread, "rewind", "x")
    for reader in (saver, durable.open()):
        assert said(await call(reader.thread("t"), "working_state")) == (["before"], 1)
    assert said(await call(thread, "working_state", "x")) == (["before"], 1)


async def test_a_rollback_takes_edits_back(durable: Backend, call: Call) -> None:
    """What a failed block declared goes with it; a question that waited stays listed."""
    saver = durable.open()

    def asks(state: State) -> Any:
        return {"messages": [AIMessage(interrupt("Book it?"))]}

    graph = agent(saver, asks)
    await call(graph, "invoke", ask("one"), CONFIG)
    thread = saver.thread("t")
    await call(thread, "add_todo", "stays")
    before = await call(thread, "working_state")
    with contextlib.suppress(RuntimeError):
        async with thread.rollback():
            await call(thread, "add_todo", "goes")
            await call(thread, "set_context", "k", 1)
            raise RuntimeError("no")
    for reader in (saver, durable.open()):
        state = await call(reader.thread("t"), "working_state")
        assert [todo.content for todo in state.todos] == ["stays"]
        assert state.get_context("k") is None
        assert (state.status, state.open_loops) == (before.status, before.open_loops)
        assert [each.content for each in await call(reader, "todos")] == ["stays"]
    await call(graph, "invoke", Command(resume="yes"), CONFIG)
    state = await call(durable.open().thread("t"), "working_state")
    assert ([todo.content for todo in state.todos], state.status) == (["stays"], "idle")


async def test_two_savers_declare_in_turns(durable: Backend, call: Call) -> None:
    """Declarations of several savers, between runs of both, all last."""
    one, two = durable.open(), durable.open()
    for n in range(4):
        saver = (one, two)[n % 2]
        await call(agent(saver), "invoke", ask(f"turn {n}"), CONFIG)
        await call((two, one)[n % 2].thread("t"), "add_todo", f"todo {n}")
    state = await call(durable.open().thread("t"), "working_state")
    assert [todo.content for todo in state.todos] == [f"todo {n}" for n in range(4)]
    assert [each.content for each in await call(one, "todos", status="any")] == [
        todo.content
        for todo in sorted(
            state.todos, key=lambda todo: todo.source.checkpoint_id or "", reverse=True
        )
    ]


async def test_what_happened_on_a_branch_that_was_left(durable: Backend, call: Call) -> None:
    """Time travel leaves what failed, and calls without a result, listed once, marked, counted and
    closable; what is over on its own branch is not; a call of the same name here is another one."""
    saver = durable.open()
    fails = [True]

    def think(state: State) -> Any:
        if "pay" not in state["messages"][-1].text:
            return {"messages": [AIMessage("fine")]}
        called = {"id": "c1", "name": "pay", "args": {"euros": 5}}
        return {"messages": [AIMessage("", tool_calls=[called])]}

    def act(state: State) -> Any:
        if not getattr(state["messages"][-1], "tool_calls", None):
            return {}
        if fails[0]:
            raise RuntimeError("no network")
        return {"messages": [ToolMessage("paid", tool_call_id="c1")]}

    graph, thread = agent(saver, think, act), saver.thread("t")

    async def recorded(branch: str) -> list[tuple[str, str, bool]]:
        """What both savers list, which is what the state says and the tables show."""
        found = []
        for reader in (saver, durable.open()):
            listed = await call(reader, "open_loops", kind=["tool_call", "error"], branch=branch)
            state = await call(reader.thread("t"), "working_state")
            assert {each.id for each in listed} <= {loop.id for loop in state.open_loops}
            (row,) = await call(reader, "threads")
            assert row.open_loops == len(state.open_loops)
            assert (await call(reader, "verify")).ok
            found.append(sorted((e.kind, e.description, e.elsewhere) for e in listed))
        assert found[0] == found[1]
        return found[0]

    async def pays() -> None:
        with contextlib.suppress(RuntimeError):
            await call(graph, "invoke", ask("pay Ada"), CONFIG)

    await call(graph, "invoke", ask("hello"), CONFIG)
    old = (await call(thread, "history"))[0].config
    await pays()
    failed = (await call(thread, "history"))[0]
    left = [("error", "RuntimeError: no network", True), ("tool_call", "pay(euros=5)", True)]
    here = [(kind, text, False) for kind, text, _ in left]
    assert await recorded("any") == await recorded("head") == here
    await call(graph, "invoke", ask("other"), old)
    assert (await recorded("any"), await recorded("head")) == (left, [])
    state = await call(thread, "working_state")
    assert (state.status, state.reason) == ("done", "nothing due, open on other branches only")
    assert "(on another branch, " in state.brief()
    await call(graph, "invoke", ask("more"), CONFIG)  # it goes on, and leaves nothing anew
    await call(graph, "invoke", ask("and back"), old)
    assert (await recorded("any"), await recorded("head")) == (left, [])
    await pays()  # the same call, made here as well
    assert (await recorded("elsewhere"), await recorded("head")) == (left, here)
    fails[0] = False
    await call(graph, "invoke", None, CONFIG)
    assert await recorded("any") == left
    # Back on its branch, it is tried again; what is over there is over everywhere.
    await call(thread, "rewind", failed)
    assert [each for each in await recorded("any") if not each[2]] == here[1:]
    await call(graph, "invoke", None, CONFIG)
    await call(graph, "invoke", ask("last"), old)
    ((kind, _, _),) = await recorded("any")
    assert kind == "error"  # the rewind made a new attempt: that one went well
    (loop,) = await call(saver, "open_loops", branch="elsewhere")
    await call(thread, "resolve_open_loop", loop.id, "looked at")
    assert await recorded("any") == []


# ---- a row of the journal that is lost


READS: dict[str, Callable[[Any, Call], Any]] = {
    "working_state": lambda saver, call: call(saver.thread("t"), "working_state"),
    "resume": lambda saver, call: call(saver, "resume", "t"),
    "latest": lambda saver, call: call(saver, "latest"),
    "history": lambda saver, call: call(saver.thread("t"), "history"),
    "diff": lambda saver, call: call(saver.thread("t"), "diff", "before"),
    "edit": lambda saver, call: call(saver.thread("t"), "add_todo", "more"),
    "run": lambda saver, call: call(agent(saver), "invoke", ask("go on"), CONFIG),
}


@pytest.mark.parametrize("left", ["parity", "nothing"])
@pytest.mark.parametrize("way", READS)
async def test_a_missing_row_is_noticed(durable: Backend, way: str, left: str, call: Call) -> None:
    """By whatever reads the working state. Parity brings the row back; where that lacks it too, the
    thread is read without, and a heal says that something is missing."""
    with durable.open() as saver:
        agent(saver).invoke(ask("hello"), CONFIG)
        saver.thread("t").label("before")
        with saver.thread("t").edit() as edit:  # its two rows are in one group
            edit.decide("use Postgres", "many writers")
            edit.add_open_loop("ask Ann")
    one = " WHERE kind = 'decision'" if left == "parity" else ""
    assert Rows(durable.url, "wyrd_journal").run(f"DELETE FROM {{}}{one}")
    saver = durable.open()
    await READS[way](saver, call)
    said = [loop.description for loop in saver.thread("t").working_state().loops]
    heals = {heal.kind for heal in await call(saver.thread("t"), "heals")}
    if left == "parity":
        assert heals == {"exact"}
        assert {"use Postgres", "ask Ann"} <= {*said}
        assert (await call(saver, "verify")).ok
    else:
        assert heals == {"left_out"}
        assert not {"use Postgres", "ask Ann"} & {*said}
        assert not (await call(saver, "verify")).ok
