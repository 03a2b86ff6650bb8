"""What a thread's working state says after real runs: what a careful person would say.

Every run goes through the saver's sync or async methods, on each database; what is looked at is
`saver.thread(id).working_state()`, compared with what the graph itself reports where it can.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import operator
import random
import re
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated, Any, TypedDict, get_args

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphRecursionError
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, Interrupt, Send, interrupt

from langgraph_wyrd import Channels, Extractors, WorkingState, WyrdSaver, extract
from langgraph_wyrd.errors import ThreadNotFound
from langgraph_wyrd.extraction.conversation import conversation
from langgraph_wyrd.extraction.view import Fresh, View
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.state.facts import Holds, Opens
from langgraph_wyrd.state.fold import fold
from langgraph_wyrd.state.model import Due, LoopKind
from tests.conftest import Backend
from tests.handmade import config, new_id, put
from tests.held_runs import until
from tests.outside import python, raw
from tests.scripted_agents import (
    APPROVE,
    CONFIG,
    EDIT,
    REJECT,
    RESPOND,
    Scripted,
    ask,
    calls,
    decide,
    firm,
    ledger,
    office,
    reviewer,
    search,
)
from tests.test_extract import THREAD, TWO, Form, ask_person, curious, loops, write_line

Call = Callable[..., Any]


async def now(call: Call, saver: WyrdSaver, at: Any = None) -> WorkingState:
    found: WorkingState = await call(saver.thread(THREAD), "working_state", at)
    return found


async def extracted(call: Call, saver: WyrdSaver, state: WorkingState) -> None:
    """`extract` says the same of the newest checkpoint alone, as of any saver's."""
    beside = extract(await call(saver, "get_tuple", CONFIG))
    assert (loops(beside), plan(beside), beside.due) == (loops(state), plan(state), state.due)
    assert (beside.status, beside.reason) == (state.status, state.reason)


def past(state: WorkingState, *kinds: str) -> list[tuple[str, str | None]]:
    return [(x.description, x.outcome) for x in state.closed_loops if x.kind in kinds]


def plan(state: WorkingState, *, listed: bool = True) -> list[tuple[str, str]]:
    return [(todo.content, todo.status) for todo in state.todos if todo.listed is listed]


def wants(state: WorkingState) -> str | None:
    return None if state.intention is None else state.intention.text


def knows(state: WorkingState) -> dict[str, Any]:
    return {item.key: item.value for item in state.context if item.source.ns == ""}


def nodes(state: WorkingState) -> list[str]:
    return sorted(each.node for each in state.due)


def same_as(state: WorkingState, other: WorkingState) -> None:
    """Two readings of one state, by whatever way, say the same."""
    assert json.loads(state.to_json()) == json.loads(other.to_json())


# ---- langchain agents


async def test_an_agent_that_plans_and_asks(durable: Backend, call: Call) -> None:
    """Plan, request and approval stand while it waits; then only the plan, with what was decided,
    through a summary and a run that saves at its end only."""
    saver = durable.open()
    agent = office(saver)
    await call(agent, "invoke", ask("Tidy up the attic"), CONFIG)
    state = await now(call, saver)
    assert (state.status, state.thread_id, state.title) == (
        "interrupted", THREAD, "Tidy up the attic",
    )  # fmt: skip
    assert state.reason == f"node HumanInTheLoopMiddleware.after_model asks: {TWO}"
    assert wants(state) == "Tidy up the attic"
    assert loops(state) == [
        ("interrupt", TWO),  # what waits for approval is one item, with its calls
        ("request", "Tidy up the attic"),
        ("tool_call", "search(query='a')"),
    ]
    (waiting,) = (await call(agent, "get_state", CONFIG)).interrupts
    (shown,) = [loop for loop in state.open_loops if loop.kind == "interrupt"]
    assert shown.ref == waiting.id
    assert plan(state) == [("look around", "in_progress"), ("do: Tidy up the attic", "pending")]
    await extracted(call, saver, state)

    await call(agent, "invoke", decide(APPROVE, REJECT), CONFIG)
    state = await now(call, saver)
    assert (state.status, state.reason, state.due) == ("idle", "2 todos are open: look around", ())
    assert loops(state) == []
    assert past(state, "interrupt") == [(TWO, "answered")]
    assert ("delete(path='/y')", "rejected") in past(state, "tool_call")
    assert ("delete(path='/x')", "a result was recorded") in past(state, "tool_call")
    first = {todo.content: todo.id for todo in state.todos}

    await call(agent, "invoke", ask("Summarise the cellar", "h2"), CONFIG)
    await call(agent, "invoke", decide(EDIT, RESPOND), CONFIG)
    state = await now(call, saver)
    held = (await call(agent, "get_state", CONFIG)).values["messages"]
    assert held[0].text.startswith("Here is a summary")  # the requests are gone from the history
    assert (state.title, wants(state)) == ("Tidy up the attic", "Summarise the cellar")
    assert [each.outcome for each in state.intentions] == ["superseded", None]
    assert loops(state) == []
    assert past(state, "interrupt") == [(TWO, "answered")] * 2
    assert plan(state) == [("look around", "in_progress"), ("do: Summarise the cellar", "pending")]
    assert plan(state, listed=False) == [("do: Tidy up the attic", "cancelled")]
    assert first["look around"] in {todo.id for todo in state.open_todos}

    await call(agent, "invoke", ask("Sweep the stairs", "h3"), CONFIG, durability="exit")
    state = await now(call, saver)
    assert (state.status, wants(state)) == ("interrupted", "Sweep the stairs")
    await call(agent, "invoke", decide(APPROVE, APPROVE), CONFIG, durability="exit")
    state = await now(call, saver)
    assert (state.status, loops(state)) == ("idle", [])
    assert len(past(state, "interrupt")) == 3


async def test_calls_that_are_approved_one_by_one(durable: Backend, call: Call) -> None:
    """Of approvals that wait side by side each stands until it is given; a change of the state
    over the last one ends it, and says so."""
    saver = durable.open()
    agent = reviewer(saver)
    await call(agent, "invoke", ask("Tidy up the attic"), CONFIG)
    state = await now(call, saver)
    assert [kind for kind, _ in loops(state)] == ["interrupt", "interrupt", "request"]
    assert state.due == (Due("tools", 0), Due("tools", 2))
    second = next(x for x in state.open_loops if "/y" in x.description and x.kind == "interrupt")
    await call(agent, "invoke", Command(resume={second.ref: APPROVE}), CONFIG)
    state = await now(call, saver)
    assert loops(state) == [
        ("interrupt", 'approve delete {"path": "/x"}?'),
        ("request", "Tidy up the attic"),
    ]
    assert state.due == (Due("tools", 0),)
    assert past(state, "interrupt") == [('approve delete {"path": "/y"}?', "answered")]
    await extracted(call, saver, state)
    await call(agent, "update_state", CONFIG, ask("Leave it", "h2"))
    state = await now(call, saver)
    assert "interrupt" not in dict(loops(state))
    assert ('approve delete {"path": "/x"}?', "the run went on") in past(state, "interrupt")
    assert "request" not in dict(loops(state))  # "leave it" calls it off


async def test_parallel_tools_of_which_one_asks(durable: Backend, call: Call) -> None:
    """What the other tool answered counts at once, though it is only a pending write."""
    saver = durable.open()
    agent = curious(saver)
    await call(agent, "invoke", ask("Paint the shed"), CONFIG)
    state = await now(call, saver)
    assert loops(state) == [("interrupt", "red?"), ("request", "Paint the shed")]
    assert past(state, "tool_call") == [("write_line(text='a')", "a result was recorded")]
    assert (state.status, state.reason) == ("interrupted", "node tools asks: red?")
    assert state.due == (Due("tools", 0),)
    await extracted(call, saver, state)
    await call(agent, "invoke", Command(resume="yes"), CONFIG)
    state = await now(call, saver)
    assert (state.status, state.reason, loops(state)) == ("done", "nothing due, nothing open", [])
    assert past(state, "interrupt") == [("red?", "answered")]


async def test_new_input_over_a_waiting_question(durable: Backend, call: Call) -> None:
    """The question that was passed over is history; its tool call has no result, and stands."""
    saver = durable.open()
    agent = curious(saver)
    await call(agent, "invoke", ask("Paint the shed"), CONFIG)
    await call(agent, "invoke", ask("Paint the door", "h2"), CONFIG)
    state = await now(call, saver)
    assert wants(state) == "Paint the door"
    assert past(state, "interrupt") == [("red?", "the run went on")]
    assert [kind for kind, _ in loops(state)].count("interrupt") == 1
    # What the passed step had answered was dropped with it: "verify before redoing".
    dangling = [x.ref for x in state.open_loops if x.kind == "tool_call"]
    assert dangling == ["call 1.1.0", "call 1.1.1"]


async def test_a_crash_in_a_tool(durable: Backend, call: Call) -> None:
    """The thread is in error while the tool fails, and done after it held; the error is history."""
    saver = durable.open()
    ran: list[str] = []

    @tool
    def carry(what: str) -> str:
        """Carry something."""
        ran.append(what)
        if len(ran) < 3:
            raise RuntimeError(f"it broke {len(ran)}")
        return "held"

    def rule(messages: list[BaseMessage]) -> AIMessage:
        if messages[-1].type == "human":
            return calls(messages, ("carry", {"what": "vase"}))
        return AIMessage("mended")

    agent = create_agent(Scripted(rule=rule), [carry], checkpointer=saver)
    for value, broke in ((ask("Carry the vase"), 1), (None, 2)):
        with pytest.raises(RuntimeError):
            await call(agent, "invoke", value, CONFIG)
        state = await now(call, saver)
        assert loops(state) == [
            ("error", f"RuntimeError: it broke {broke}"),
            ("request", "Carry the vase"),
            ("tool_call", "carry(what='vase')"),
        ]
        reason = f"node tools failed: RuntimeError: it broke {broke}"
        assert (state.status, state.reason) == ("error", reason)
        assert state.due == (Due("tools", 0),)
        await extracted(call, saver, state)
    await call(agent, "invoke", None, CONFIG)
    state = await now(call, saver)
    assert (state.status, loops(state), state.due) == ("done", [], ())
    assert past(state, "error") == [("RuntimeError: it broke 2", "it ran again")]
    assert past(state, "tool_call") == [("carry(what='vase')", "a result was recorded")]


async def test_an_agent_stopped_by_the_recursion_limit(durable: Backend, call: Call) -> None:
    """What it was about to do is due, and nothing is called an error."""
    saver = durable.open()
    rule = lambda m: calls(m, ("search", {"query": "more"}))  # noqa: E731
    agent = create_agent(Scripted(rule=rule), [search], checkpointer=saver)
    with pytest.raises(GraphRecursionError):
        await call(agent, "invoke", ask("Search on"), {**CONFIG, "recursion_limit": 4})
    state = await now(call, saver)
    snapshot = await call(agent, "get_state", CONFIG)
    assert (state.status, nodes(state)) == ("due", sorted(snapshot.next))
    assert "error" not in dict(loops(state))
    assert wants(state) == "Search on"
    await extracted(call, saver, state)


async def test_trimming_takes_nothing_back(durable: Backend, call: Call) -> None:
    """A history that is emptied is no evidence: what was open stays open, what was asked stays."""
    saver = durable.open()
    agent = curious(saver)
    await call(agent, "invoke", ask("Paint the shed"), CONFIG)
    assert dict(loops(await now(call, saver)))["interrupt"] == "red?"
    gone = {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]}
    await call(agent, "update_state", CONFIG, gone)
    assert (await call(agent, "get_state", CONFIG)).values["messages"] == []
    state = await now(call, saver)
    assert (state.title, wants(state)) == ("Paint the shed", "Paint the shed")
    # The question went with the history; the call that had asked it has no result.
    assert {"request", "tool_call"} <= {x.kind for x in state.open_loops}


def test_a_list_that_is_read_anew() -> None:
    """A saver may read a whole list again: a call that was open closes with the result in it."""
    call = {"name": "search", "args": {"query": "x"}, "id": "c1"}
    asked = [HumanMessage("Look it up", id="h1"), AIMessage("", id="a1", tool_calls=[call])]
    before = extract({"messages": asked})
    assert [x.ref for x in before.open_loops if x.kind == "tool_call"] == ["c1"]
    told = [*asked, ToolMessage("found", tool_call_id="c1", id="t1")]
    fresh = {"messages": Fresh(told, range(len(told)))}
    view = View(
        "c2", values={"messages": told}, changed=frozenset(fresh), fresh=fresh, previous=before
    )
    after, _ = fold(before, conversation(view), Moment("c2"))
    assert past(after, "tool_call") == [("search(query='x')", "a result was recorded")]
    assert "tool_call" not in dict(loops(after))


ORDERS = [
    ("Paint the door", True), ("Feed the cat", True), ("Carry a ladder over", True),
    ("And the door", True), ("Leave it", False), ("Thanks, the door is fine", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "new"), ORDERS)
def test_an_order_is_an_intention(text: str, new: bool) -> None:
    """An order sets a new intention whatever its verb; thanks for what was done do not."""
    said = [HumanMessage("Paint my shed", id="h1"), AIMessage("It is done.", id="a1")]
    state = extract({"messages": [*said, HumanMessage(text, id="h2")]})
    assert wants(state) == text if new else wants(state) in (None, "Paint my shed")


# ---- deep agents, subgraphs


async def test_a_deep_agent_with_a_subagent(durable: Backend, call: Call) -> None:
    """Messages and files kept as deltas: the request, the delegated work and the subagent's
    question each stand once while it waits, and are history when it is done."""
    saver = durable.open()
    agent = firm(saver)
    await call(agent, "invoke", ask("Report on bees"), CONFIG)
    state = await now(call, saver)
    assert (state.status, state.title, wants(state)) == (
        "interrupted", "Report on bees", "Report on bees",
    )  # fmt: skip
    assert loops(state) == [
        ("interrupt", 'approve delete {"path": "/hive"}?'),
        ("request", "Report on bees"),
        ("tool_call", "search(query='bees')"),
    ]
    assert knows(state) == {"files": {"/notes.md": len("asked: Report on bees\n")}}
    inner = [x for x in state.intentions if x.aim == "task"]
    assert [x.text for x in inner] == ["Find out about bees"]
    await call(agent, "invoke", decide(APPROVE), CONFIG)
    state = await now(call, saver)
    assert (state.status, loops(state), state.due) == ("done", [], ())
    assert past(state, "interrupt") == [('approve delete {"path": "/hive"}?', "answered")]
    assert past(state, "task") == [("Find out about bees", "a result was recorded")]
    seen = extract(await call(agent, "get_state", CONFIG))
    assert (wants(seen), knows(seen)) == (wants(state), knows(state))


def form(saver: Any) -> Any:
    """Questions two subgraphs deep."""
    inner: Any = StateGraph(Form)
    inner.add_node("ask", lambda state: {"name": interrupt("your name?")})
    inner.add_node("colour", lambda state: {"colour": interrupt("your colour?")})
    inner.add_edge(START, "ask")
    inner.add_edge("ask", "colour")
    middle: Any = StateGraph(Form)
    middle.add_node("inner", inner.compile())
    middle.add_edge(START, "inner")
    outer: Any = StateGraph(Form)
    outer.add_node("form", middle.compile())
    outer.add_edge(START, "form")
    return outer.compile(checkpointer=saver)


async def test_a_question_in_a_nested_subgraph(durable: Backend, call: Call) -> None:
    """It is reported in three namespaces, and stands once; each answer closes one."""
    saver = durable.open()
    graph = form(saver)
    await call(graph, "invoke", {"name": ""}, CONFIG)
    for question, answer in (("your name?", "ann"), ("your colour?", "red")):
        state = await now(call, saver)
        assert loops(state) == [("interrupt", question)]
        assert state.status == "interrupted"
        (waiting,) = (await call(graph, "get_state", CONFIG)).interrupts
        assert state.open_loops[0].ref == waiting.id
        await call(graph, "invoke", Command(resume=answer), CONFIG)
    state = await now(call, saver)
    assert (state.status, loops(state)) == ("done", [])
    assert past(state, "interrupt") == [("your name?", "answered"), ("your colour?", "answered")]
    assert knows(state) == {"name": "ann", "colour": "red"}


async def test_a_crash_in_a_subgraph(durable: Backend, call: Call) -> None:
    """The error of an inner node is one error, of the node that raised it."""
    saver = durable.open()

    def boom(state: Form) -> Form:
        raise ValueError("no way")

    inner: Any = StateGraph(Form)
    inner.add_node("boom", boom)
    inner.add_edge(START, "boom")
    outer: Any = StateGraph(Form)
    outer.add_node("form", inner.compile())
    outer.add_edge(START, "form")
    graph = outer.compile(checkpointer=saver)
    with pytest.raises(ValueError, match="no way"):
        await call(graph, "invoke", {"name": "x"}, CONFIG)
    state = await now(call, saver)
    assert loops(state) == [("error", "ValueError: no way")]
    assert (state.status, state.open_loops[0].source.node) == ("error", "boom")


# ---- plain graphs


class Work(TypedDict, total=False):
    topic: str
    secret: str
    goal: str
    log: Annotated[list[str], operator.add]
    messages: Annotated[list[Any], add_messages]


def writer(saver: Any, **options: Any) -> Any:
    builder: Any = StateGraph(Work)
    builder.add_node("plan", lambda state: {"log": ["plan"], "topic": "bees"})
    builder.add_node("work", lambda state: {"log": ["work"], "secret": "honey"})
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "work")
    return builder.compile(checkpointer=saver, **options)


async def test_a_breakpoint_and_a_fork(durable: Backend, call: Call) -> None:
    """Before a breakpoint the node is due; an edit, a resume and a fork are followed; and each
    earlier checkpoint still says what it said."""
    saver = durable.open()
    graph = writer(saver, interrupt_before=["work"])
    await call(graph, "invoke", {"goal": "write about bees"}, CONFIG)
    paused = await now(call, saver)
    assert (paused.status, paused.reason, paused.due) == ("due", "next: work", (Due("work"),))
    assert (wants(paused), knows(paused)) == (
        "write about bees",
        {"log": ["plan"], "topic": "bees"},
    )
    await call(graph, "update_state", CONFIG, {"topic": "wasps"})
    edited = await now(call, saver)
    assert (edited.due, knows(edited)["topic"]) == ((Due("work"),), "wasps")
    await call(graph, "invoke", None, CONFIG)
    done = await now(call, saver)
    assert (done.status, done.due) == ("done", ())
    assert knows(done) == {"log": ["plan", "work"], "topic": "wasps", "secret": "honey"}

    assert knows(await now(call, saver, paused.checkpoint_id)) == knows(paused)
    start: Any = {"configurable": {**CONFIG["configurable"], "checkpoint_id": paused.checkpoint_id}}
    fork = await call(graph, "update_state", start, {"goal": "write about ants"})
    forked = await now(call, saver)
    assert (wants(forked), forked.due) == ("write about ants", (Due("work"),))
    assert knows(forked) == knows(paused)  # what came after the fork is not part of it
    await call(graph, "invoke", None, fork)
    assert knows(await now(call, saver)) == {
        "log": ["plan", "work"], "topic": "bees", "secret": "honey",
    }  # fmt: skip
    same_as(await now(call, saver, done.checkpoint_id), done)  # the other branch is untouched


async def test_the_state_at_a_time(durable: Backend, call: Call) -> None:
    """A time names the newest checkpoint until then; before the first there is none."""
    saver = durable.open()
    graph = writer(saver)
    start = datetime.now(timezone.utc)
    await call(graph, "invoke", {"goal": "one"}, CONFIG)
    first = await now(call, saver)
    between = datetime.now(timezone.utc)
    await asyncio.sleep(0.002)
    await call(graph, "invoke", {"goal": "two"}, CONFIG)
    assert wants(await now(call, saver)) == "two"
    for at in (between, between.isoformat(), first.ts, first.checkpoint_id):
        same_as(await now(call, saver, at), first)
    with pytest.raises(ThreadNotFound):
        await now(call, saver, start - timedelta(seconds=1))


async def test_one_fails_one_asks_one_is_done(durable: Backend, call: Call) -> None:
    """Of three nodes side by side each is distinguished, before and after the answer."""
    saver = durable.open()

    runs: list[int] = []

    def bad(state: Work) -> Work:
        runs.append(1)
        until(others_ended)
        raise KeyError("x")

    def others_ended() -> bool:  # and what they said is stored
        found = saver.get_tuple(CONFIG)
        written = [] if found is None else [channel for _, channel, _ in found.pending_writes]
        return written.count("log") == len(runs) and "__interrupt__" in written

    builder: Any = StateGraph(Work)
    builder.add_node("ok", lambda state: {"log": ["ok"]})
    builder.add_node("bad", bad)
    builder.add_node("asks", lambda state: {"log": [interrupt({"question": "go?"})]})
    for name in ("ok", "bad", "asks"):
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=saver)
    with pytest.raises(KeyError):
        await call(graph, "invoke", {"log": []}, CONFIG)
    state = await now(call, saver)
    assert loops(state) == [("error", "KeyError: x"), ("interrupt", "go?")]
    assert (state.status, nodes(state)) == ("interrupted", ["asks", "bad"])
    with pytest.raises(KeyError):
        await call(graph, "invoke", Command(resume="yes"), CONFIG)
    state = await now(call, saver)
    assert (loops(state), state.status) == ([("error", "KeyError: x")], "error")
    assert (past(state, "interrupt"), nodes(state)) == ([("go?", "answered")], ["bad"])


async def test_while_a_node_runs(durable: Backend, call: Call) -> None:
    """Another reader sees what is due and what was asked, not an idle thread."""
    saver = durable.open()
    began, go_on = threading.Event(), threading.Event()

    def slow(state: Work) -> Any:
        began.set()
        go_on.wait(200)
        return {"messages": [AIMessage("done")]}

    builder: Any = StateGraph(Work)
    builder.add_node("slow", slow)
    builder.add_edge(START, "slow")
    graph = builder.compile(checkpointer=saver)
    run = asyncio.create_task(asyncio.to_thread(graph.invoke, ask("Count the bees"), CONFIG))
    try:
        assert await asyncio.to_thread(began.wait, 200)
        deadline = time.monotonic() + 120  # its checkpoint is saved next to it
        state: WorkingState | None = None
        while (state is None or state.due != (Due("slow"),)) and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
            with_head = await call(saver, "get_tuple", CONFIG)
            state = None if with_head is None else await now(call, saver)
        assert state is not None
        assert (state.status, state.reason, state.due) == ("due", "next: slow", (Due("slow"),))
        assert loops(state) == [("request", "Count the bees")]
    finally:
        go_on.set()
        await run
    assert (await now(call, saver)).status == "done"


# ---- the functional API


async def test_the_functional_api(durable: Backend, call: Call) -> None:
    """Its question waits under its name; what it gave back and saved is context; new input over
    a waiting question ends it."""
    saver = durable.open()
    book = ledger(saver)
    await call(book, "invoke", [1, 2], CONFIG)
    state = await now(call, saver)
    assert loops(state) == [("interrupt", '{"sum": 6, "had": null}')]
    assert (state.status, nodes(state)) == ("interrupted", ["book"])
    await call(book, "invoke", Command(resume="fine"), CONFIG)
    state = await now(call, saver)
    assert (loops(state), state.status) == ([], "done")
    assert past(state, "interrupt") == [('{"sum": 6, "had": null}', "answered")]
    assert knows(state)["previous"]["last"] == "fine"
    for asked in ([3], [4]):
        await call(book, "invoke", asked, CONFIG)
    state = await now(call, saver)
    assert [x.context["value"]["sum"] for x in state.open_loops] == [8]
    assert [outcome for _, outcome in past(state, "interrupt")] == ["answered", "the run went on"]


async def test_a_crash_in_a_task(durable: Backend, call: Call) -> None:
    """A task that fails brings its entrypoint down with it: that is one error."""
    saver = durable.open()

    @task
    def bad(n: int) -> int:
        raise ValueError("no such page")

    @entrypoint(checkpointer=saver)
    def book(n: int) -> int:
        return bad(n).result()

    with pytest.raises(ValueError, match="no such page"):
        await call(book, "invoke", 1, CONFIG)
    state = await now(call, saver)
    assert loops(state) == [("error", "ValueError: no such page")]
    assert (state.status, state.reason) == ("error", "node book failed: ValueError: no such page")


# ---- elsewhere

_LOOK = """
import sys
from langgraph_wyrd import WyrdSaver
with WyrdSaver.from_conn_string(sys.argv[1]) as saver:
    print(saver.thread(sys.argv[2]).working_state().to_json())
"""


async def test_another_process_sees_the_same(durable: Backend, call: Call) -> None:
    """Closed here and opened there, sync after async: the same state, and the run goes on."""
    saver = durable.open()
    await call(curious(saver), "invoke", ask("Paint the shed"), CONFIG)
    state = await now(call, saver)
    await saver.aclose()
    made = await asyncio.to_thread(
        subprocess.run,
        python("-c", _LOOK, durable.url, THREAD),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    same_as(WorkingState.from_dict(json.loads(made.stdout)), state)
    again = durable.open()
    same_as(again.thread(THREAD).working_state(), state)
    curious(again).invoke(Command(resume="yes"), CONFIG)
    after = again.thread(THREAD).working_state()
    assert (after.status, past(after, "interrupt")) == ("done", [("red?", "answered")])


# ---- encryption

MARK = "Xylophone77"


class _Aimed(AgentState):  # type: ignore[type-arg]
    goal: str
    place: dict[str, Any]


async def test_nothing_is_stored_in_the_clear(durable: Backend, call: Call) -> None:
    """With an encrypting serde no text of the conversation, the plan, the context, an error or a
    question is found in any table; what is read back is whole."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    saver = durable.open(serde=serde)
    mark = MARK

    @tool
    def carry(what: str) -> str:
        """Carry something."""
        answer = interrupt({"question": f"carry the {mark}?"})
        raise RuntimeError(f"{mark} broke: {answer}")

    def rule(messages: list[BaseMessage]) -> AIMessage:
        if messages[-1].type == "human":
            todos = [{"content": f"lift the {mark}", "status": "in_progress", "note": mark}]
            wanted = (("carry", {"what": mark}), ("TodoWrite", {"todos": todos}))
            return calls(messages, *wanted)
        return AIMessage("mended")

    @tool("TodoWrite")
    def todo_write(todos: list[Any]) -> str:
        """Keep a list."""
        return f"kept {mark}"

    agent = create_agent(
        Scripted(rule=rule), [carry, todo_write], checkpointer=saver, state_schema=_Aimed
    )
    given = {**ask(f"Carry the {mark}"), "goal": f"save the {mark}", "place": {"at": mark}}
    await call(agent, "invoke", given, CONFIG)
    waiting = await now(call, saver)
    with pytest.raises(RuntimeError):
        await call(agent, "invoke", Command(resume=mark), CONFIG)
    state = await now(call, saver)
    assert (waiting.title, wants(state)) == (f"Carry the {mark}", f"save the {mark}")
    assert ("interrupt", f"carry the {mark}?") in loops(waiting)
    assert ("error", f"RuntimeError: {mark} broke: {mark}") in loops(state)
    assert plan(state) == [(f"lift the {mark}", "in_progress")]
    assert knows(state)["place"] == {"at": mark}
    await saver.aclose()
    assert stored_text(durable), "the search finds what is there"
    assert mark not in stored_text(durable)
    same_as(durable.open(serde=serde).thread(THREAD).working_state(), state)


def stored_text(backend: Backend) -> str:
    """All that a database holds, bytes as the characters that they are."""
    if backend.name == "sqlite":
        path = Path(backend.url.removeprefix("sqlite:///"))
        files = [each for each in path.parent.iterdir() if each.name.startswith(path.name)]
        return "".join(each.read_bytes().decode("latin-1") for each in files)
    import psycopg

    found = []
    with psycopg.connect(backend.url) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
        for (table,) in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"').fetchall():  # type: ignore[arg-type]
                for cell in row:
                    held = bytes(cell) if isinstance(cell, bytes | memoryview) else None
                    found.append(str(cell) if held is None else held.decode("latin-1"))
    return "\n".join(found)


async def test_the_search_would_find_it(durable: Backend, call: Call) -> None:
    """Without encryption the same search does find the text, so that it proves something."""
    saver = durable.open()
    await call(curious(saver), "invoke", ask(f"Paint the {MARK}"), CONFIG)
    await saver.aclose()
    assert MARK in stored_text(durable)


# ---- extractors and channels


def rows(backend: Backend, query: str) -> list[Any]:
    if backend.name == "sqlite":
        connection = sqlite3.connect(backend.url.removeprefix("sqlite:///"))
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()
    import psycopg

    with psycopg.connect(backend.url) as held:
        return held.execute(query).fetchall()  # type: ignore[arg-type]


def flags(view: Any) -> Iterator[Any]:
    """An extractor of a user's: what is in `topic` is to be checked."""
    if view.putting and "topic" in view.changed:
        source = view.at("flags", channel="topic")
        yield Opens("note", f"check {view.values['topic']}", source, ref="topic")
        yield Holds("checked", False, source)


async def test_an_extractor_of_the_user(durable: Backend, call: Call) -> None:
    """What it finds stands next to the rest, in the state and in the tables."""
    saver = durable.open(extractors=[flags])
    await call(writer(saver), "invoke", {"goal": "write"}, CONFIG)
    state = await now(call, saver)
    assert loops(state) == [("note", "check bees")]
    assert (state.status, knows(state)["checked"]) == ("idle", False)
    assert rows(durable, "SELECT kind, description, rule FROM wyrd_open_loops") == [
        ("note", "check bees", "flags")
    ]


async def test_extractors_that_are_off(durable: Backend, call: Call) -> None:
    """A default extractor that is switched off says nothing; the others go on."""
    saver = durable.open(extractors=Extractors(off=("context",)))
    await call(writer(saver), "invoke", {"goal": "write"}, CONFIG)
    state = await now(call, saver)
    assert (knows(state), wants(state)) == ({}, "write")


async def test_an_extractor_that_raises(
    durable: Backend, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    """The save is whole, the others are heard, and the log names it."""

    def broken(view: Any) -> Iterator[Any]:
        raise LookupError("where is it?")

    saver = durable.open(extractors=[broken])
    with caplog.at_level(logging.WARNING, "langgraph_wyrd"):
        await call(writer(saver), "invoke", {"goal": "write"}, CONFIG)
    assert any("'broken' failed" in record.getMessage() for record in caplog.records)
    assert knows(await now(call, saver))["topic"] == "bees"
    values = (await call(writer(saver), "get_state", CONFIG)).values
    assert values["log"] == ["plan", "work"]


async def test_an_extractor_that_hangs_holds_up_no_other_thread(
    durable: Backend, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    """While one thread's checkpoint is read for long, others run, are read and are listed; the
    extractor is switched off, and the log names it."""
    hangs, goes_on = threading.Event(), threading.Event()

    def stuck(view: View) -> Any:
        if view.values.get("goal") == "hang" and not goes_on.is_set():
            hangs.set()
            assert goes_on.wait(50)
            time.sleep(1.2)  # so that its own time is above any budget
        return ()

    saver = durable.open(extractors=[stuck])
    held = {"configurable": {"thread_id": "held"}}
    graph = writer(saver)
    run = threading.Thread(target=graph.invoke, args=({"goal": "hang"}, held))
    run.start()
    assert hangs.wait(50)
    for n in range(3):
        await call(graph, "invoke", {"goal": f"write {n}"}, CONFIG)
        assert knows(await now(call, saver))["topic"] == "bees"
        assert "a thread" in {each.thread_id for each in await call(saver, "threads")}
    assert run.is_alive()
    goes_on.set()
    run.join()
    assert "'stuck' took" in caplog.text
    assert graph.get_state(held).values["log"] == ["plan", "work"]


async def test_channels_are_chosen(durable: Backend, call: Call) -> None:
    """`context` names the channels that make it, `exclude` those that nothing is said of; both
    are stored as ever."""
    saver = durable.open(channels=Channels(context=("topic", "secret"), exclude=("secret", "goal")))
    await call(writer(saver), "invoke", {"goal": "write"}, CONFIG)
    state = await now(call, saver)
    assert (knows(state), wants(state)) == ({"topic": "bees"}, None)
    values = (await call(writer(saver), "get_state", CONFIG)).values
    assert (values["secret"], values["goal"]) == ("honey", "write")


async def test_without_pillars(durable: Backend, call: Call) -> None:
    """`pillars=False` is a plain saver: it resumes threads, and no pillar table has a row."""
    saver = durable.open(pillars=False)
    agent = curious(saver)
    await call(agent, "invoke", ask("Paint the shed"), CONFIG)
    await call(agent, "invoke", Command(resume="yes"), CONFIG)
    assert (await call(agent, "get_state", CONFIG)).values["messages"][-1].text == "thank you"
    for table in ("todos", "context", "open_loops", "intentions"):
        assert rows(durable, f"SELECT count(*) FROM wyrd_{table}") == [(0,)], table
    for table in ("checkpoints", "writes"):
        found = rows(durable, f"SELECT count(*) FROM wyrd_{table} WHERE events IS NOT NULL")
        assert found == [(0,)], table
    state = await now(call, saver)
    assert (loops(state), plan(state), knows(state), wants(state)) == ([], [], {}, None)


# ---- the page

PAGE = Path(__file__).parent.parent / "docs" / "pillars.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


async def test_the_page_s_queries_run(durable: Backend, call: Call) -> None:
    """Every query of the page finds something on the databases that it is for."""
    saver = durable.open()
    given = {**ask("Tidy up the attic"), "goal": "a tidy attic"}
    agent = create_agent(
        Scripted(rule=two_lists), [ask_person, write_line], state_schema=_Aimed, checkpointer=saver
    )
    await call(agent, "invoke", given, CONFIG)
    other = {"sqlite": "-- Postgres", "postgres": "-- SQLite"}[durable.name]
    found = [each for each in blocks("sql") if not each.startswith(other)]
    assert len(found) == len(blocks("sql")) - 1
    for query in found:
        assert rows(durable, query), query


def two_lists(messages: list[BaseMessage]) -> AIMessage:
    return calls(messages, ("ask_person", {"question": "red?"}))


@pytest.mark.parametrize("table", ["todos", "context", "open_loops", "intentions"])
def test_the_page_names_every_column(durable: Backend, table: str) -> None:
    """The columns of a table are those that the page has for it, none more and none less."""
    durable.open().setup()
    durable.opened[-1].close()
    if durable.name == "sqlite":
        query = f"SELECT name FROM pragma_table_info('wyrd_{table}')"
    else:
        query = (
            f"SELECT column_name FROM information_schema.columns WHERE table_name = 'wyrd_{table}'"
        )
    text = PAGE.read_text("utf-8")
    told: set[str] = set()
    for part in ("All four", f"\n`wyrd_{table}`"):
        listed = text[text.index(part) :].split("|---|---|\n")[1].split("\n\n")[0]
        for line in listed.splitlines():
            told |= set(re.findall(r"`(\w+)`", line.split("|")[1]))
    assert {name for (name,) in rows(durable, query)} == told


@pytest.mark.parametrize("kind", get_args(LoopKind))
def test_the_page_has_every_kind(kind: str) -> None:
    """Each kind of loop has its line."""
    assert f"\n| `{kind}` |" in PAGE.read_text("utf-8")


@pytest.mark.parametrize("others", [False, True], ids=["one saver", "another saver"])
def test_a_question_stored_long_before_its_checkpoint(durable: Backend, others: bool) -> None:
    """Saves go on in the background: a task may ask before two checkpoints are stored, its own and
    the one before. Its question is open once they are, whoever stores them."""
    saver = durable.open()
    first, middle, last = new_id(), new_id(), new_id()
    put(saver, "t", {"log": []}, id=first)
    saver.put_writes(config("t", first), [("__interrupt__", [Interrupt("Sure?", id="i")])], "a")
    saver = durable.open() if others else saver
    asks = [("__interrupt__", [Interrupt("Which one?", id="j")])]
    saver.put_writes(config("t", last), asks, "c", "~__pregel_pull, ask")
    saver = durable.open() if others else saver
    saver.put_writes(config("t", middle), [("log", 1)], "b", "~__pregel_pull, work")
    put(saver, "t", {"log": [0]}, id=middle, parent=first)
    put(saver, "t", {"log": [0, 1]}, id=last, parent=middle)
    for each in (saver, durable.open()):
        state = each.thread("t").working_state()
        assert [loop.description for loop in state.open_loops] == ["Which one?"]
        assert state.status == "interrupted"


class Vault(JsonPlusSerializer):
    """Cannot load one value."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        found = super().loads_typed(data)
        if found == "unloadable":
            raise RuntimeError("the vault can't be reached")
        return found


def test_a_stray_write_that_cannot_be_loaded(durable: Backend) -> None:
    """What a task wrote at a checkpoint that never came holds up no later run of the thread."""
    saver = durable.open(serde=Vault())
    first = put(saver, "t", {"log": []})
    saver.put_writes(config("t", new_id()), [("log", "unloadable")], "killed")
    saver = durable.open(serde=Vault())
    put(saver, "t", {"log": [1]}, parent=first)
    assert saver.thread("t").working_state().status == "done"


@pytest.mark.parametrize("durability", ["sync", "exit"])
async def test_the_node_where_several_steps_are_stored_as_one(
    durable: Backend, call: Call, durability: str
) -> None:
    """With durability="exit" nobody knows which of a run's nodes said something: none is named,
    not the one that was due before the run."""

    class State(TypedDict, total=False):
        messages: Annotated[list[Any], add_messages]

    def confirm(state: State) -> State:
        interrupt("Shall I?")
        return {}

    def act(state: State) -> State:
        return {"messages": [AIMessage("Which key fits?", id="a1")]}

    saver = durable.open()
    builder = StateGraph(State).add_node("confirm", confirm).add_node("act", act)
    builder.add_edge(START, "confirm").add_edge("confirm", "act")
    graph = builder.compile(checkpointer=saver)
    await call(graph, "invoke", ask("Open the shed"), CONFIG)
    await call(graph, "invoke", Command(resume="yes"), CONFIG, durability=durability)
    (asked,) = [each for each in (await now(call, saver)).open_loops if each.kind == "question"]
    assert asked.source.node == ("act" if durability == "sync" else None)


class Asked(TypedDict, total=False):
    n: int
    log: Annotated[list[Any], operator.add]


async def test_questions_side_by_side(durable: Backend, call: Call) -> None:
    """Of tasks that ask, ask again, fail, run again and are answered in any order, what is open is
    what the last run of each left open, and a saver that reads it afterwards says the same."""
    tried, fails = Counter[int](), set[str]()

    def work(state: Asked) -> Asked:
        n = state["n"]
        fails.discard(f"ValueError: {n} fails")
        answers = [interrupt(f"{n}: {which}?") for which in range(n % 3)]
        tried[n] += 1
        if n % 5 == 4 and tried[n] == 1:
            fails.add(f"ValueError: {n} fails")
            raise ValueError(f"{n} fails")
        return {"log": [(n, answers)]}

    def fan(state: Any) -> list[Send]:
        return [Send("work", {"n": n}) for n in range(12)]

    saver, chance = durable.open(), random.Random(7)
    builder = StateGraph(Asked).add_node("work", work).add_conditional_edges(START, fan, ["work"])
    graph = builder.compile(checkpointer=saver)
    given: Any = {"log": []}
    for _ in range(8):
        with contextlib.suppress(ValueError):
            await call(graph, "invoke", given, CONFIG)
        state = await now(call, saver)
        assert state == await call(durable.open().thread(THREAD), "working_state")
        assert {text for kind, text in loops(state) if kind == "error"} == fails
        held = await call(graph, "get_state", CONFIG)
        asked = [task for task in held.tasks if task.error is None]  # one failed once answered
        waiting = [each for task in asked for each in task.interrupts]
        assert {x.ref for x in state.open_loops if x.kind == "interrupt"} == {x.id for x in waiting}
        some = chance.sample(waiting, -(-len(waiting) // 2))
        given = Command(resume={each.id: "yes" for each in some}) if some else None
    assert (state.status, len(held.values["log"])) == ("done", 12)


async def test_many_answers_at_one_checkpoint(durable: Backend, call: Call) -> None:
    """However many questions of a step are answered before it ends, the public tables have each of
    them: a repair finds nothing to do."""

    def work(state: Asked) -> Asked:
        return {"log": [interrupt(state["n"])]}

    def fan(state: Any) -> list[Send]:
        return [Send("work", {"n": n}) for n in range(40)]

    saver = durable.open()
    builder = StateGraph(Asked).add_node("work", work).add_conditional_edges(START, fan, ["work"])
    graph = builder.compile(checkpointer=saver)
    given: Any = {"log": []}
    for answered in (0, 19, 38):
        await call(graph, "invoke", given, CONFIG)
        waiting = (await call(graph, "get_state", CONFIG)).interrupts
        state = await now(call, saver)
        assert (len(past(state, "interrupt")), len(loops(state))) == (answered, 40 - answered)
        assert (await call(saver, "verify")).ok
        some = waiting[::-1][:19]
        given = Command(resume={each.id: "yes" for each in some})
    await call(graph, "invoke", given, CONFIG)
    assert (await now(call, saver)).status == "done"
    with raw(durable.url) as database:
        held = database.execute("SELECT outcome FROM wyrd_open_loops").fetchall()
    assert len(held) == 40
    assert (await call(saver, "verify")).ok


async def test_a_plan_told_while_another_tool_asks(durable: Backend, call: Call) -> None:
    """What one of a step's tools plans is seen at once, and is the plan of the next checkpoint:
    the public table has each todo once."""

    @tool
    def ask_boss() -> str:
        """Asks."""
        return str(interrupt("May I?"))

    def rule(messages: list[BaseMessage]) -> AIMessage:
        sweep, mop = ({"content": name, "status": "completed"} for name in ("sweep", "mop"))
        if messages[-1].type == "human":
            return calls(messages, ("write_todos", {"todos": [sweep]}))
        if sum(each.type == "ai" for each in messages) == 1:
            return calls(messages, ("write_todos", {"todos": [sweep, mop]}), ("ask_boss", {}))
        return AIMessage("All is done.")

    saver = durable.open()
    middleware: Any = [TodoListMiddleware()]
    agent = create_agent(Scripted(rule=rule), [ask_boss], middleware=middleware, checkpointer=saver)
    await call(agent, "invoke", ask("Sweep and mop the stairs"), CONFIG)
    assert plan(await now(call, saver)) == [("sweep", "completed"), ("mop", "completed")]
    await call(agent, "invoke", Command(resume="yes"), CONFIG)
    ids = {todo.id for todo in (await now(call, saver)).todos}
    with raw(durable.url) as database:
        held = database.execute("SELECT id FROM wyrd_todos").fetchall()
    assert len(held) == 2
    assert {id for (id,) in held} == ids


async def test_a_long_plan_that_gives_way_to_another(durable: Backend, call: Call) -> None:
    """However many finished todos leave a list at once, the public table has none of them on it,
    and a repair leaves it so."""

    class Planned(TypedDict, total=False):
        todos: list[Any]

    saver = durable.open()
    builder = StateGraph(Planned).add_node("work", lambda state: None).add_edge(START, "work")
    graph = builder.compile(checkpointer=saver)
    done = [{"content": f"{n} is done", "status": "completed"} for n in range(30)]
    await call(graph, "invoke", {"todos": done}, CONFIG)
    await call(graph, "invoke", {"todos": [{"content": "something else"}]}, CONFIG)
    query = "SELECT content FROM wyrd_todos WHERE listed"
    with raw(durable.url) as database:
        assert database.execute(query).fetchall() == [("something else",)]
        assert database.execute("SELECT count(*) FROM wyrd_todos").fetchall() == [(31,)]
    assert (await call(saver, "verify")).ok
