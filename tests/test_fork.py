"""`thread.fork`: a new thread with the path up to a point, and no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import InvalidInput, StoreError, ThreadNotFound
from langgraph_wyrd.state.model import ContextItem, Todo, WorkingState
from tests.conftest import Backend
from tests.handmade import append, head_tokens
from tests.outside import at_rest, refusing
from tests.tables import all_text
from tests.test_rewind import CHANNELS, CONFIG, asking, conversing, ids, played

Call = Callable[..., Any]
OTHER: Any = {"configurable": {"thread_id": "new"}}


def id_of(config: Any) -> str:
    return str(config["configurable"]["checkpoint_id"])


async def test_the_head_with_all_that_waits(saver: WyrdSaver, call: Call) -> None:
    """A fork of the head is the thread itself: what waits there waits, and is answered apart."""
    graph = asking(saver, [])
    await call(graph, "invoke", {"log": ["one"]}, CONFIG)
    made = await call(saver.thread("t"), "fork", "new")
    assert made.id == "new"
    old, new = graph.get_state(CONFIG), graph.get_state(OTHER)
    assert (new.values, new.next, new.interrupts) == (old.values, old.next, old.interrupts)
    assert made.working_state().status == "interrupted"
    found = await call(graph, "invoke", Command(resume="yes"), OTHER)
    assert found["log"] == ["one", "a after 1", "b=yes after 2", "c after 3"]
    assert graph.get_state(CONFIG) == old
    assert saver.thread("t").working_state().status == "interrupted"


@pytest.mark.parametrize("way", ["go on", "new input"])
async def test_an_older_point(saver: WyrdSaver, call: Call, way: str) -> None:
    """From each point the fork goes on as InMemorySaver does from there; what came after is not
    in it, and the thread that it is of does not change."""
    there: list[str] = []
    here: list[str] = []
    reference, graph = asking(InMemorySaver(), there), asking(saver, here)
    old, new = await played(call, reference), await played(call, graph)
    handle = saver.thread("t")
    before = [id_of(each.config) for each in saver.list(CONFIG)]
    for number, (theirs, ours) in enumerate(zip(old[:-1], new[:-1], strict=True)):
        made = await call(handle, "fork", f"new {number}", id_of(ours.config))
        config: Any = {"configurable": {"thread_id": f"new {number}"}}
        assert [s.values for s in graph.get_state_history(config)] == [
            s.values for s in new[number::-1]
        ]
        state = graph.get_state(config)
        assert (state.values, state.next, state.interrupts) == (ours.values, ours.next, ())
        assert [d.node for d in made.working_state().due] == [*ours.next]
        there.clear()
        here.clear()
        given = None if way == "go on" else {"log": ["new"]}
        expected = await call(reference, "invoke", given, theirs.config)
        found = await call(graph, "invoke", given, config)
        assert (found["log"], here) == (expected["log"], there)
    assert [id_of(each.config) for each in saver.list(CONFIG)] == before


async def test_labels_and_points(saver: WyrdSaver, call: Call) -> None:
    """Labels on the path come along, the others don't; a label is a point to fork at."""
    graph = asking(saver, [])
    states = await played(call, graph)
    handle = saver.thread("t")
    for n in (1, 3, 6):
        handle.label(f"label {n}", id_of(states[n].config), keys=[])
    made = await call(handle, "fork", "new", "label 3")
    assert [label.name for label in made.labels()] == ["label 1", "label 3"]
    assert graph.get_state(OTHER).values == states[3].values
    for missing in ("nowhere", "label 9"):
        with pytest.raises(ThreadNotFound, match="no checkpoint at"):
            await call(handle, "fork", "x", missing)
    with pytest.raises(ThreadNotFound, match="has no checkpoints"):
        await call(saver.thread("nobody"), "fork", "x")
    with pytest.raises(ThreadNotFound):
        await call(saver.thread("nobody"), "fork", "x", None, lambda state: state)
    assert list(saver.list({"configurable": {"thread_id": "x"}})) == []


async def test_an_id_that_is_taken(saver: WyrdSaver, call: Call) -> None:
    """As with copy_thread: refused, and neither thread changes."""
    for thread in ("t", "new"):
        append(saver, thread, thread)
    for arguments in (("new",), ("new", None, lambda state: state)):
        with pytest.raises(InvalidInput, match="has checkpoints already"):
            await call(saver.thread("t"), "fork", *arguments)
    with pytest.raises(InvalidInput, match="onto itself"):
        await call(saver.thread("t"), "fork", "t")
    assert (head_tokens(saver, "t"), head_tokens(saver, "new")) == (["t"], ["new"])


async def test_transform(saver: WyrdSaver, call: Call) -> None:
    """It makes the working state that the copy starts with; channels stay, and so does the rest."""
    graph = asking(saver, [])
    await call(graph, "invoke", {"log": ["one"]}, CONFIG)
    handle = saver.thread("t")
    handle.add_todo("ring Ann")
    given: list[WorkingState] = []

    def transform(state: WorkingState) -> WorkingState:
        given.append(state)
        return replace(
            state,
            title="the fork",
            status="done",
            todos=(*state.todos, Todo("t-2", "ring Bob")),
            context=(ContextItem("c-1", "who", "Bob"),),
        )

    made = await call(handle, "fork", "new", None, transform)
    assert [todo.content for todo in given[0].todos] == ["ring Ann"]
    assert graph.get_state(OTHER).values == graph.get_state(CONFIG).values
    for _ in range(2):
        state = made.working_state()
        assert [todo.content for todo in state.todos] == ["ring Ann", "ring Bob"]
        assert (state.title, state.get_context("who"), state.status) == (
            "the fork", "Bob", "interrupted",
        )  # fmt: skip
        assert (saver.threads()[0].title, saver.threads()[0].open_todos) == ("the fork", 2)
        await call(saver, "reextract", "new")
    assert [todo.content for todo in handle.working_state().todos] == ["ring Ann"]
    await call(graph, "invoke", Command(resume="yes"), OTHER)
    assert [todo.content for todo in made.working_state().open_todos] == ["ring Ann", "ring Bob"]


async def test_a_transform_that_fails(saver: WyrdSaver, call: Call) -> None:
    """What it raises is raised, and nothing is stored; what is no state is refused."""
    append(saver, "t", "m0")

    def fails(state: WorkingState) -> WorkingState:
        raise LookupError("not here")

    with pytest.raises(LookupError, match="not here"):
        await call(saver.thread("t"), "fork", "new", None, fails)
    with pytest.raises(InvalidInput, match="no WorkingState"):
        await call(saver.thread("t"), "fork", "new", None, lambda state: None)
    assert saver.get_tuple(OTHER) is None
    assert [thread.thread_id for thread in saver.threads()] == ["t"]


@pytest.mark.parametrize("channel", CHANNELS)
def test_deltas(saver: WyrdSaver, channel: str) -> None:
    """Messages that are kept as deltas are whole in the fork, and it goes on."""
    graph = conversing(saver, CHANNELS[channel])

    def turn(n: int, config: Any) -> None:
        graph.invoke({"messages": [HumanMessage(f"do {n}", id=f"h{n}")]}, config)

    for n in range(5):
        turn(n, CONFIG)
        if n == 2:
            saver.thread("t").label("third")
    saver.thread("t").fork("new", at="third")
    held = [m.id for m in graph.get_state(OTHER).values["messages"]]
    assert held == ["h0", "a0", "h1", "a1", "h2", "a2"]
    turn(3, OTHER)
    assert [m.id for m in graph.get_state(OTHER).values["messages"]] == [*held, "h3", "a3"]
    assert len(ids(graph)) == 10


def test_what_came_after_is_not_stored_again(durable: Backend) -> None:
    """The rows of the fork hold nothing of what came after the point."""
    saver = durable.open()
    graph = conversing(saver)
    for text in ("fine", "late words"):
        graph.invoke({"messages": [HumanMessage(text, id=text)]}, CONFIG)
        if text == "fine":
            saver.thread("t").label("here")
    saver.thread("t").fork("new", at="here")
    assert "late words" in all_text(durable.url)
    saver.delete_thread("t")
    assert "late words" not in all_text(durable.url)
    assert [m.content for m in saver.get_tuple(OTHER).checkpoint["channel_values"]["messages"]][
        :1
    ] == ["fine"]


def test_branches_stay_behind(saver: WyrdSaver) -> None:
    """A fork of a thread with branches has the path to its head alone."""
    places = [id_of(append(saver, "t", f"m{n}")) for n in range(4)]
    saver.thread("t").rewind(places[1])
    append(saver, "t", "other")
    saver.thread("t").fork("new")
    assert head_tokens(saver, "new") == ["m0", "m1", "other"]
    assert len(list(saver.list(OTHER))) == 3
    assert len(list(saver.list(CONFIG))) == 6


async def test_a_fork_that_is_refused_leaves_nothing(durable: Backend, call: Call) -> None:
    """A database that fails on the way keeps none of it, and the fork works afterwards."""
    saver = durable.open()
    places = [id_of(append(saver, "t", f"m{n}")) for n in range(4)]
    with refusing(durable.url, "wyrd_checkpoints"), pytest.raises(StoreError):
        await call(saver.thread("t"), "fork", "new", places[1])
    assert saver.get_tuple(OTHER) is None
    await call(saver.thread("t"), "fork", "new", places[1])
    assert head_tokens(saver, "new") == ["m0", "m1"]
    at_rest(durable.url)


def test_what_a_person_declared_at_a_point(saver: WyrdSaver) -> None:
    """Edits on the path come along, at an older point too, where the tasks' own words do not."""
    graph = asking(saver, [])
    graph.invoke({"log": ["one"]}, CONFIG)
    at = id_of(graph.get_state(CONFIG).config)
    saver.thread("t").add_todo("ring Ann")
    graph.invoke(Command(resume="yes"), CONFIG)
    made = saver.thread("t").fork("new", at)
    state = made.working_state()
    assert [todo.content for todo in state.todos] == ["ring Ann"]
    assert (state.status, state.loops) == ("due", ())
    assert saver.threads()[0].open_todos == 1
