"""What is due where branches meet: LangGraph hands out the set that it adds the arrivals to."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph

from langgraph_wyrd import Channels
from tests.conftest import Backend

JOIN = "join:a+b:z"
AT: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


@pytest.mark.parametrize("new", [False, True], ids=["old value", "new value"])
async def test_a_set_that_has_grown_since(durable: Backend, call: Any, new: bool) -> None:
    """A put that comes late does not see tasks that ran after its checkpoint."""
    saver = durable.open()
    arrived: set[str] = set()
    config = AT
    for step in range(3):
        point: Any = empty_checkpoint()
        point["channel_values"] = {JOIN: arrived, "branch:to:a": None, "branch:to:b": None}
        point["channel_versions"] = {JOIN: "1", "branch:to:a": str(step), "branch:to:b": str(step)}
        point["versions_seen"] = {"z": {JOIN: "0"}}
        if new:
            point["channel_versions"][JOIN] = str(step + 1)
        written = dict(point["channel_versions"]) if new or not step else {"branch:to:a": str(step)}
        if step and not new:
            arrived.update("ab")
        metadata = {"source": "loop", "step": step, "parents": {}}
        config = await call(saver, "put", config, point, metadata, written)
        due = [each.node for each in saver.thread("t").working_state().due]
        assert ("z" in due) == (
            JOIN in point["channel_values"] and {*arrived} == {"a", "b"} and new
        )
        if new:
            arrived.add("ab"[step % 2])
    assert saver.verify(pages=False).ok


def test_branches_meet(durable: Backend) -> None:
    """At every checkpoint of a graph that goes on while its checkpoints are stored, what is due is
    what LangGraph runs next."""
    saver = durable.open()
    builder = StateGraph(State)
    names = [f"a node with a long name, number {n}" for n in range(4)]
    for name in names:
        builder.add_node(name, lambda state, name=name: {"log": [name]})
        builder.add_edge(START, name)
    builder.add_node("z", lambda state: {"log": ["z"]})
    builder.add_edge(names, "z")
    graph = builder.compile(checkpointer=saver)
    for turn in range(6):
        graph.invoke({"log": [f"turn {turn}"]}, AT)
    thread = saver.thread("t")
    for entry in thread.history(limit=100):
        at: Any = {"configurable": {"thread_id": "t", "checkpoint_id": entry.checkpoint_id}}
        due = [each.node for each in thread.working_state(entry).due]
        assert due == [*graph.get_state(at).next], f"step {entry.step}"
    assert saver.verify(pages=False).ok


def test_a_join_that_is_a_users(durable: Backend) -> None:
    """Nothing is derived of it, and the thread goes on."""
    saver = durable.open(channels=Channels(user={JOIN}))
    config: Any = {"configurable": {**AT["configurable"], "user_id": "ann"}}
    for step in range(2):
        point: Any = empty_checkpoint()
        point["channel_values"] = {JOIN: {"a", "b"}}
        point["channel_versions"] = {JOIN: str(step)}
        metadata: Any = {"source": "loop", "step": step, "parents": {}}
        config = saver.put(config, point, metadata, point["channel_versions"])
        config["configurable"]["user_id"] = "ann"
    assert saver.thread("t").working_state().due == ()
    found = saver.get_tuple(AT)
    assert found is not None
    assert found.checkpoint["channel_values"] == {JOIN: {"a", "b"}}
