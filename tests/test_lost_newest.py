"""The newest checkpoint of a namespace is lost, and another namespace has a newer one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from langgraph_wyrd import errors
from tests.conftest import Backend
from tests.damage import Rows, at

pytestmark = pytest.mark.inside

Call = Callable[..., Any]


class Out(TypedDict, total=False):
    out: Annotated[list[str], operator.add]


ran: list[str] = []


def charge(state: Out) -> Out:
    ran.append("charge")
    return {"out": ["charged"]}


def ask(state: Out) -> Out:
    return {"out": [f"sub: {interrupt('ok?')}"]}


def graph(saver: Any, *, inside: bool) -> Any:
    """Charges, and then asks, in a subgraph; `inside`: both are."""
    sub = StateGraph(Out)
    sub.add_node("ask", ask)
    outer = StateGraph(Out)
    (sub if inside else outer).add_node("charge", charge)
    (sub if inside else outer).add_edge(START, "charge")
    if inside:
        sub.add_edge("charge", "ask")
        outer.add_node("sub", sub.compile())
        outer.add_edge(START, "sub")
    else:
        sub.add_edge(START, "ask")
        outer.add_node("sub", sub.compile())
        outer.add_edge("charge", "sub")
    return outer.compile(checkpointer=saver)


def newest(saver: Any, *, of_root: bool) -> tuple[str, str]:
    """Where the newest checkpoint is, of the root or of a subgraph."""
    for found in saver.list({"configurable": {"thread_id": "t"}}):
        ns = found.config["configurable"]["checkpoint_ns"]
        if (ns == "") == of_root:
            return ns, found.checkpoint["id"]
    raise AssertionError


@pytest.mark.parametrize("of_root", [True, False])
async def test_it_is_told(durable: Backend, call: Call, of_root: bool) -> None:
    """An earlier one is taken, aloud, at each load of that namespace; verify tells as well; the run
    goes on, and from then on all is whole."""
    with durable.open() as saver:
        graph(saver, inside=not of_root).invoke({"out": ["in"]}, at("t"))
        ns, id = newest(saver, of_root=of_root)
        if not of_root:  # so that the root has a newer one
            saver.thread("t").add_todo("x")
            graph(saver, inside=True).update_state(at("t"), {"out": ["more"]}, as_node="__start__")
    Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE ns = ? AND id = ?", ns, id)
    here = {"configurable": {"thread_id": "t", "checkpoint_ns": ns}}
    with durable.open() as saver:
        found = await call(saver, "get_tuple", here)
        assert found.checkpoint["id"] < id
        kinds = [(heal.kind, heal.checkpoint_id) for heal in saver.thread("t").heals()]
        assert kinds == [("ancestor", found.checkpoint["id"])]
        assert not saver.verify().ok
    with durable.open(on_damage="raise") as saver, pytest.raises(errors.CheckpointDamaged):
        await call(saver, "get_tuple", here)
    with durable.open() as saver:
        saver.verify(repair=True)
        assert not [each for each in saver.verify(repair=True).findings if each.repaired]
        again = await call(saver, "get_tuple", here)
        assert again.checkpoint == found.checkpoint
    with durable.open(on_damage="raise") as saver:
        assert await call(saver, "get_tuple", here) is not None


@pytest.mark.parametrize("inside", [True, False])
def test_a_run_goes_on(durable: Backend, inside: bool) -> None:
    """With an answer or new input; what is written then stands on frames of its own."""
    with durable.open() as saver:
        graph(saver, inside=inside).invoke({"out": ["in"]}, at("t"))
        ns, id = newest(saver, of_root=not inside)
    Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE ns = ? AND id = ?", ns, id)
    with durable.open() as saver:
        agent = graph(saver, inside=inside)
        agent.invoke(Command(resume="yes"), at("t"))
        agent.invoke({"out": ["again"]}, at("t"))
        ended = agent.invoke(Command(resume="yes"), at("t"))
        assert ended["out"][-1] == "sub: yes"
        assert saver.thread("t").heals()
    with durable.open(on_damage="raise") as saver:
        assert graph(saver, inside=inside).get_state(at("t")).values == ended


def test_what_was_pruned_is_not_lost(durable: Backend) -> None:
    """Runs that are deleted, forks and rewinds leave no frame behind that nobody names."""
    with durable.open() as saver:
        agent = graph(saver, inside=False)
        for _ in range(3):
            agent.invoke({"out": ["in"]}, at("t"))
            agent.invoke(Command(resume="yes"), at("t"))
        ids = [found.checkpoint["id"] for found in saver.list(at("t"))]
        saver.thread("t").rewind(ids[5])
        saver.thread("t").fork("u", at=ids[3])
    with durable.open(on_damage="raise") as saver:
        assert saver.get_tuple(at("t"))
        assert saver.get_tuple(at("u"))
        saver.prune(["t"], strategy="keep_latest")
        assert saver.get_tuple(at("t"))
        assert saver.verify().ok


def test_a_clock_that_went_back(durable: Backend) -> None:
    """What was put behind the newest one, with an older id, is not lost."""
    with durable.open() as saver:
        agent = graph(saver, inside=False)
        agent.invoke({"out": ["in"]}, at("t"))
        found = saver.get_tuple(at("t"))
        id = found.checkpoint["id"]
        later = {**found.checkpoint, "id": id[:-12] + "0" * 12}
        saver.put(found.config, later, {"source": "loop", "step": 9, "parents": {}}, {})
    with durable.open(on_damage="raise") as saver:
        assert saver.get_tuple(at("t")).checkpoint["id"] == id


@pytest.mark.parametrize("of_root", [True, False])
async def test_all_of_a_namespace_are_lost(durable: Backend, call: Call, of_root: bool) -> None:
    """That it is empty is told; one that never had a checkpoint, or was pruned, is none."""
    with durable.open() as saver:
        graph(saver, inside=not of_root).invoke({"out": ["in"]}, at("t"))
        ns, _ = newest(saver, of_root=of_root)
    Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE ns = ?", ns)
    here = {"configurable": {"thread_id": "t", "checkpoint_ns": ns}}
    with durable.open() as saver:
        assert await call(saver, "get_tuple", here) is None
        assert [heal.kind for heal in saver.thread("t").heals()] == ["empty"]
        agent = graph(saver, inside=not of_root)
        assert agent.invoke({"out": ["again"]}, at("t"))["__interrupt__"]
        assert agent.invoke(Command(resume="yes"), at("t"))["out"][-1] == "sub: yes"
    with durable.open(on_damage="raise") as saver:
        nowhere = {"configurable": {"thread_id": "t", "checkpoint_ns": "nowhere"}}
        assert await call(saver, "get_tuple", nowhere) is None
        assert await call(saver, "get_tuple", at("nobody")) is None


async def test_an_empty_one_is_refused_where_healing_is_off(durable: Backend, call: Call) -> None:
    """As all damage is."""
    with durable.open() as saver:
        graph(saver, inside=True).invoke({"out": ["in"]}, at("t"))
    Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE ns = ''")
    with durable.open(on_damage="raise") as saver, pytest.raises(errors.CheckpointDamaged):
        await call(saver, "get_tuple", at("t"))


async def test_a_checkpoint_that_is_put_twice(durable: Backend, call: Call) -> None:
    """As after a commit whose answer was lost: nothing is damaged, for whoever looks."""
    with durable.open() as saver:
        agent = graph(saver, inside=False)
        agent.invoke({"out": ["in"]}, at("t"))
        agent.invoke(Command(resume="yes"), at("t"))
        first = saver.get_tuple(at("t"))
    for _ in range(2):
        with durable.open(on_damage="raise") as saver:
            found = await call(saver, "get_tuple", at("t"))
            assert found == first
            versions = found.checkpoint["channel_versions"]
            await call(
                saver, "put", found.parent_config, found.checkpoint, found.metadata, versions
            )
            assert await call(saver, "get_tuple", at("t")) == first
            assert not saver.verify().damages
    with durable.open(on_damage="raise") as saver:
        agent = graph(saver, inside=False)
        agent.invoke({"out": ["more"]}, at("t"))
        assert await call(saver, "get_tuple", at("t"))
        assert not saver.verify().damages
