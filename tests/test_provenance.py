"""Whose an item is: its node, namespace, agent, run, message and author; and finding it by them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

from langgraph_wyrd.agents.tools import loop_tools
from tests.conftest import Backend
from tests.scripted_agents import Scripted

ASKED = {"messages": [HumanMessage("A hotel", id="h1")]}
RUNS = ("00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b")


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    goal: str
    city: str
    todos: list[Any]


def plan(state: State) -> Any:
    words = AIMessage("Which hotel do you prefer?", id="a1")
    return {"messages": [words], "goal": "Oslo", "city": "Oslo", "todos": ["book a hotel"]}


def approve(state: State) -> Any:
    return {"messages": [AIMessage(f"Booked: {interrupt('Book it?')}.", id="s1")]}


def office(saver: Any) -> Any:
    clerk: Any = StateGraph(State)
    clerk.add_node("approve", approve)
    clerk.add_edge(START, "approve")
    inner = clerk.compile().with_config({"metadata": {"lc_agent_name": "clerk"}})
    builder: Any = StateGraph(State)
    builder.add_node("plan", plan)
    builder.add_node("clerk", lambda state: inner.invoke(state))
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "clerk")
    return builder.compile(checkpointer=saver)


def config(thread: str, run: str = RUNS[0]) -> Any:
    metadata = {"run_id": run, "lc_agent_name": "planner"}
    return {"configurable": {"thread_id": thread}, "metadata": metadata}


def about(item: Any) -> tuple[Any, ...]:
    source = item.source
    return source.node, source.agent, source.run_id, source.message_id


async def test_provenance_of_every_item(durable: Backend, call: Any) -> None:
    """Node, agent, run and message stand at each item that was read from a checkpoint or a task."""
    saver = durable.open()
    await call(
        office(saver), "invoke", {"messages": [HumanMessage("A hotel", id="h1")]}, config("t")
    )
    for store in (saver, durable.open()):  # as it was kept, and as it is read again
        state = store.thread("t").working_state()
        root = [x for x in state.loops if not x.source.ns]
        assert {x.kind: about(x) for x in root} == {
            "request": (None, "planner", RUNS[0], "h1"),
            "question": ("plan", "planner", RUNS[0], "a1"),
        }
        (asked,) = [x for x in state.open_loops if x.kind == "interrupt"]
        assert about(asked)[:3] == ("approve", "clerk", RUNS[0])
        assert asked.source.ns.startswith("clerk:")
        (city,) = [x for x in state.context if x.key == "city" and not x.source.ns]
        assert about(city)[:3] == ("plan", "planner", RUNS[0])
        (todo,) = state.open_todos
        assert about(todo)[:3] == ("plan", "planner", RUNS[0])
        (aim,) = [x for x in state.intentions if x.aim == "explicit" and not x.source.ns]
        assert about(aim)[:3] == ("plan", "planner", RUNS[0])


async def test_provenance_survives_reextraction(durable: Backend, call: Any) -> None:
    saver = durable.open()
    await call(
        office(saver), "invoke", {"messages": [HumanMessage("A hotel", id="h1")]}, config("t")
    )
    before = [about(x) for x in saver.thread("t").working_state().loops]
    await call(saver, "reextract")
    assert [about(x) for x in saver.thread("t").working_state().loops] == before


@pytest.mark.parametrize("listing", ["open_loops", "todos", "intentions"])
async def test_filters_by_provenance(durable: Backend, call: Any, listing: str) -> None:
    """`ns=`, `agent=`, `author=`, `run_id=` and `closed_since=` find the items, and no others."""
    saver = durable.open()
    began = datetime.now(timezone.utc) - timedelta(seconds=1)
    for thread, run in zip(("one", "two"), RUNS, strict=True):
        await call(office(saver), "invoke", ASKED, config(thread, run))
    two = saver.thread("two")
    await call(two, "add_todo", "call the hotel", by="ann")
    await call(two, "add_open_loop", "is it paid?", by="ann")
    await call(two, "set_intention", "Oslo, but cheaper", by="ann")
    find: Any = getattr(saver, listing)

    def threads(**wanted: Any) -> set[str]:
        return {item.thread_id for item in find(**wanted)}

    assert threads(run_id=RUNS[0]) == {"one"}
    assert threads(run_id=[*RUNS]) == {"one", "two"}
    assert threads(run_id="none") == set()
    assert threads(author="ann") == {"two"}
    assert threads(author="bob") == set()
    assert threads(agent="planner") == {"one", "two"}
    assert threads(agent="nobody") == set()
    inner = {item.source.ns for item in find(status="any") if item.source.ns}
    if inner:
        assert {item.source.ns for item in find(status="any", ns=[*inner])} == inner
    assert {item.source.ns for item in find(ns="")} == {""}
    assert not find(status="any", closed_since=datetime.now(timezone.utc) + timedelta(hours=1))
    one = saver.thread("one")
    state = one.working_state()
    await call(one, "complete_todo", state.open_todos[0].id)
    (asked,) = [loop for loop in state.open_loops if loop.kind == "question"]
    await call(one, "resolve_open_loop", asked.id, "the Grand")
    await call(one, "set_intention", "Bergen")
    closed = find(status="any", closed_since=began)
    assert "one" in {item.thread_id for item in closed}
    assert all(item.closed_at is not None for item in closed)


async def test_decide_records_message_and_node(durable: Backend, call: Any) -> None:
    """`decide` in a node names the node, agent and run, and the message that was the newest; a
    decision noted by an agent's tool names the message of the call."""
    saver = durable.open()

    def choose(state: State) -> Any:
        saver.thread("t").decide("the Grand", "it is near", by="planner")
        return {"city": "Oslo"}

    builder: Any = StateGraph(State)
    builder.add_node("choose", choose)
    builder.add_edge(START, "choose")
    given = {"messages": [HumanMessage("Choose a hotel", id="h1")]}
    graph = builder.compile(checkpointer=saver)
    await call(graph, "invoke", given, config("t"), durability="sync")
    (decided,) = [x for x in saver.thread("t").working_state().loops if x.kind == "decision"]
    assert about(decided) == ("choose", "planner", RUNS[0], "h1")
    assert [x.id for x in saver.open_loops(kind="decision", node="choose")] == [decided.id]

    args = {"decision": "the Grand", "rationale": "near"}
    noted = {"name": "note_decision", "args": args, "id": "c1", "type": "tool_call"}
    said = [AIMessage("", id="a1", tool_calls=[noted]), AIMessage("Done.", id="a2")]
    model = Scripted(rule=lambda messages: said[messages[-1].type == "tool"])
    agent = create_agent(model, loop_tools(saver), checkpointer=saver, name="planner")
    await call(agent, "invoke", given, {"configurable": {"thread_id": "u"}})
    (decided,) = [x for x in saver.thread("u").working_state().loops if x.kind == "decision"]
    assert about(decided)[:2] == ("model", "planner")
    assert decided.source.message_id == "a1"
