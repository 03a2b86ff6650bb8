"""Labels: set by hand and on boundaries, found by name, never pruned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from langgraph_wyrd import AutoLabels, WyrdSaver
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.state.results import Label
from tests.conftest import Backend
from tests.handmade import append
from tests.outside import raw
from tests.scripted_agents import Scripted, calls
from tests.test_rewind import CHANNELS, CONFIG, asking, conversing, ids

Call = Callable[..., Any]


class Facts(TypedDict, total=False):
    city: str
    price: int
    seats: list[str]


def knowing(saver: Any) -> Any:
    builder = StateGraph(Facts)
    builder.add_node("price", lambda s: {"price": 10 * len(s["city"])})
    builder.add_node("seats", lambda s: {"seats": ["12a"]})
    builder.add_edge(START, "price")
    builder.add_edge("price", "seats")
    return builder.compile(checkpointer=saver)


def id_of(config: Any) -> str:
    return str(config["configurable"]["checkpoint_id"])


def short(labels: list[Label]) -> list[tuple[str, str]]:
    return [(label.name, label.checkpoint_id) for label in labels]


async def test_a_label_keeps_what_was_known(saver: WyrdSaver, call: Call) -> None:
    """By default every context item is promoted, as it was there; the listing has no payload."""
    graph = knowing(saver)
    await call(graph, "invoke", {"city": "Paris"}, CONFIG)
    handle = saver.thread("t")
    made = await call(handle, "label", "booked")
    assert (made.keys, made.missing, made.automatic) == (("city", "price", "seats"), (), False)
    assert [item.value for item in made.context] == ["Paris", 50, ["12a"]]
    assert made.checkpoint_id == id_of(graph.get_state(CONFIG).config)
    await call(graph, "invoke", {"city": "Rome"}, CONFIG)
    found = await call(handle, "get_label", "booked")
    assert found == made
    assert found.get_context("city") == "Paris"
    (listed,) = await call(handle, "labels")
    assert (listed.keys, listed.context, listed.created_at) == (made.keys, (), made.created_at)
    assert await call(handle, "get_label", "unknown") is None


async def test_chosen_keys(saver: WyrdSaver, call: Call) -> None:
    """keys= promotes those, in that order; what is not there is skipped, and listed."""
    graph = knowing(saver)
    await call(graph, "invoke", {"city": "Paris"}, CONFIG)
    handle = saver.thread("t")
    some = await call(handle, "label", "some", None, ["price", "hotel", "city", "price"])
    assert (some.keys, some.missing) == (("price", "city"), ("hotel",))
    assert [item.value for item in some.context] == [50, "Paris"]
    none = await call(handle, "label", "none", keys=[])
    assert (none.keys, none.missing, none.context) == ((), (), ())
    assert await call(handle, "get_label", "none") == none
    assert await call(handle, "get_label", "some") == some
    for wrong in ("price", ["price", 3]):
        with pytest.raises(InvalidInput, match="list of context keys"):
            await call(handle, "label", "wrong", keys=wrong)


async def test_the_whole_values_of_a_label(durable: Backend, call: Call) -> None:
    """`values()` has what was promoted, whole, as it was there; what is cut is named in
    `cut`, what is not there in `missing`, a pillar in `elsewhere`. `config` goes on from there."""

    class Draft(TypedDict, total=False):
        draft: str
        parts: list[dict[str, Any]]

    def write(state: Draft) -> Draft:
        return {"draft": state["draft"] + "y" * 5000, "parts": [{"n": 1, "text": "a" * 3000}]}

    saver = durable.open()
    graph = StateGraph(Draft).add_node("write", write).add_edge(START, "write").compile(saver)
    whole = await call(graph, "invoke", {"draft": "x"}, CONFIG)
    thread = saver.thread("t")
    await call(thread, "set_context", "mine", {"n": [1, 2]})
    made = await call(thread, "label", "x", keys=["draft", "parts", "mine", "intentions", "hotel"])
    assert (made.keys, made.missing) == (("draft", "parts", "mine"), ("hotel",))
    assert (made.elsewhere, set(made.cut)) == (("intentions",), {"draft", "parts"})
    await call(graph, "invoke", {"draft": "other"}, CONFIG)
    await call(thread, "set_context", "mine", "later")
    for reader in (saver, durable.open()):
        found = await call(reader.thread("t"), "get_label", "x")
        assert await call(found, "values") == {**whole, "mine": {"n": [1, 2]}}
        (listed,) = await call(reader.thread("t"), "labels")
        assert await call(listed, "values") == await call(found, "values")
        assert graph.get_state(found.config).values == whole


async def test_the_newest_wins_by_checkpoint(saver: WyrdSaver, call: Call) -> None:
    """A name may stand at many checkpoints, set in any order: the newest checkpoint is meant."""
    places = [id_of(append(saver, "t", f"m{n}")) for n in range(4)]
    handle = saver.thread("t")
    for n in (2, 0, 1):
        await call(handle, "label", "here", places[n])
    await call(handle, "label", "other", places[1])
    assert short(await call(handle, "labels")) == [
        ("here", places[0]), ("here", places[1]), ("other", places[1]), ("here", places[2]),
    ]  # fmt: skip
    assert (await call(handle, "get_label", "here")).checkpoint_id == places[2]
    assert (await call(handle, "working_state", "here")).checkpoint_id == places[2]
    again = await call(handle, "label", "twice", "here")  # a label is a point
    assert again.checkpoint_id == places[2]
    assert await call(handle, "unlabel", "here") is True
    assert (await call(handle, "get_label", "here")).checkpoint_id == places[1]
    assert await call(handle, "unlabel", "here", places[0]) is True
    assert await call(handle, "unlabel", "here", places[3]) is False
    assert await call(handle, "unlabel", "here") is True
    assert await call(handle, "unlabel", "here") is False
    assert await call(handle, "get_label", "here") is None
    with pytest.raises(ThreadNotFound):
        await call(handle, "working_state", "here")


async def test_names(saver: WyrdSaver, call: Call) -> None:
    """Any text of up to 200 characters is a name; what is none is refused, and nothing is set."""
    append(saver, "t", "m0")
    handle = saver.thread("t")
    for name in ("x" * 200, "ünï 🙂", "a\0b\\", " two words "):
        assert (await call(handle, "label", name)).name == name
        assert (await call(handle, "get_label", name)).name == name
    assert len(await call(handle, "labels")) == 4
    for wrong in ("", "  ", "x" * 201, None, 7):
        for verb in ("label", "get_label", "unlabel"):
            with pytest.raises(InvalidInput, match="label"):
                await call(handle, verb, wrong)
    assert len(await call(handle, "labels")) == 4


async def test_what_is_not_there(saver: WyrdSaver, call: Call) -> None:
    """An unknown thread or point can't be labelled, and has no labels."""
    nobody = saver.thread("nobody")
    with pytest.raises(ThreadNotFound, match="thread 'nobody' has no checkpoints"):
        await call(nobody, "label", "x")
    assert await call(nobody, "labels") == []
    assert await call(nobody, "get_label", "x") is None
    assert await call(nobody, "unlabel", "x") is False
    append(saver, "t", "m0")
    with pytest.raises(ThreadNotFound, match="thread 't' has no checkpoint at elsewhere"):
        await call(saver.thread("t"), "label", "x", "elsewhere")


# ---- what stays, and what goes


def test_a_label_outlives_a_prune(backend: Backend) -> None:
    """keep_latest keeps what has a label, values and working state, and takes the rest."""
    saver = backend.open()
    graph = knowing(saver)
    handle = saver.thread("t")
    for city in ("Paris", "Rome", "Oslo"):
        graph.invoke({"city": city}, CONFIG)
        if city == "Rome":
            label = handle.label("rome")
    saver.prune(["t"])
    found = {id_of(each.config): each for each in saver.list(CONFIG)}
    assert len(found) == 2
    values = found[label.checkpoint_id].checkpoint["channel_values"]
    assert (values["city"], values["price"]) == ("Rome", 40)
    assert handle.working_state("rome").get_context("city") == "Rome"
    assert handle.get_label("rome") == label
    assert handle.unlabel("rome")
    saver.prune(["t"])
    assert len(list(saver.list(CONFIG))) == 1


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_labelled_point_keeps_its_deltas(backend: Backend, channel: str) -> None:
    """What its delta channels are rebuilt from stays with it."""
    saver = backend.open()
    graph = conversing(saver, CHANNELS[channel])
    handle = saver.thread("t")
    for n in range(6):
        graph.invoke({"messages": [HumanMessage(f"do {n}", id=f"h{n}")]}, CONFIG)
        if n == 2:
            handle.label("third")
    was = handle.working_state("third")
    saver.prune(["t"])
    assert handle.working_state("third").intention == was.intention
    handle.rewind("third")
    assert ids(graph) == ["h0", "a0", "h1", "a1", "h2", "a2"]
    assert handle.working_state().intention == was.intention


def test_a_labelled_point_keeps_what_subgraphs_remembered(saver: WyrdSaver) -> None:
    """After a prune a rewind to a label finds the memory of a subgraph as it was then."""
    from tests.test_rewind import Log, Sub

    inner = StateGraph(Sub)
    inner.add_node("note", lambda s: {"memory": ["x"]})
    inner.add_node("tell", lambda s: {"log": [f"call {len(s['memory'])}"]})
    inner.add_edge(START, "note")
    inner.add_edge("note", "tell")
    compiled = inner.compile(checkpointer=True)
    outer = StateGraph(Log)
    outer.add_node("call", lambda s: {"log": compiled.invoke({"log": []})["log"][-1:]})
    outer.add_edge(START, "call")
    graph = outer.compile(checkpointer=saver)
    for n in range(4):
        graph.invoke({"log": [f"in {n}"]}, CONFIG)
        if n == 1:
            saver.thread("t").label("two calls")
    saver.prune(["t"])
    saver.thread("t").rewind("two calls")
    assert graph.invoke({"log": ["again"]}, CONFIG)["log"][-1] == "call 3"


def test_what_takes_labels_along(durable: Backend) -> None:
    """A run's deletion takes its labels, a thread's deletion all of them; a copy has them all."""
    saver = durable.open()
    graph = knowing(saver)
    handle = saver.thread("t")
    for run in ("one", "two"):
        graph.invoke({"city": run}, {**CONFIG, "metadata": {"run_id": run}})
        handle.label(run)
    saver.copy_thread("t", "copy")
    assert short(saver.thread("copy").labels()) == short(handle.labels())
    assert saver.thread("copy").get_label("one") == handle.get_label("one")
    saver.delete_for_runs(["one"])
    (record,) = handle.labels().to_records()
    assert record["name"] == "two"
    assert not [name for name in record if name.startswith("_")]  # its handle is no column
    assert handle.get_label("one") is None
    saver.delete_thread("t")
    assert handle.labels() == []
    with raw(durable.url) as connection:
        left = connection.execute("SELECT count(*) FROM wyrd_labels").fetchall()
    assert [tuple(row) for row in left] == [(1,)]  # the copy's, which lost that run, too


# ---- on boundaries


def labelled(saver: WyrdSaver, name: str) -> list[str]:
    found = saver.thread("t").labels()
    assert all(label.automatic and label.keys == () for label in found)
    return [label.checkpoint_id for label in found if label.name == name]


async def test_off_by_default(saver: WyrdSaver, call: Call) -> None:
    """Nothing is labelled unless asked for."""
    await call(asking(saver, []), "invoke", {"log": ["one"]}, CONFIG)
    await call(asking(saver, []), "invoke", Command(resume="yes"), CONFIG)
    assert await call(saver.thread("t"), "labels") == []


async def test_interrupts_and_ends(backend: Backend, call: Call) -> None:
    """The checkpoint that waits for an answer is labelled, and the one where a run ended."""
    saver = backend.open(labels=AutoLabels(interrupt=True, run_end=True))
    graph = asking(saver, [])
    waits, ends = [], []
    for turn in ("one", "two"):
        await call(graph, "invoke", {"log": [turn]}, CONFIG)
        waits.append(id_of(graph.get_state(CONFIG).config))
        await call(graph, "invoke", Command(resume="yes"), CONFIG)
        ends.append(id_of(graph.get_state(CONFIG).config))
    assert labelled(saver, "interrupt") == waits
    assert labelled(saver, "run-end") == ends
    assert len(saver.thread("t").labels()) == 4
    await call(graph, "update_state", CONFIG, {"log": ["edit"]}, "c")
    assert labelled(saver, "run-end") == ends  # an edit is no run
    saver.thread("t").rewind("interrupt")
    assert graph.get_state(CONFIG).next == ("b",)


def test_an_interrupt_in_a_subgraph(backend: Backend) -> None:
    """It is the root's checkpoint that waits, and is labelled."""
    saver = backend.open(labels=AutoLabels(interrupt=True, run_end=True))
    outer: Any = StateGraph(dict)
    from tests.test_rewind import Log

    outer = StateGraph(Log)
    outer.add_node("sub", asking(None, []))
    outer.add_edge(START, "sub")
    graph = outer.compile(checkpointer=saver)
    graph.invoke({"log": ["one"]}, CONFIG)
    assert labelled(saver, "interrupt") == [id_of(graph.get_state(CONFIG).config)]
    assert labelled(saver, "run-end") == []
    graph.invoke(Command(resume="yes"), CONFIG)
    assert labelled(saver, "run-end") == [id_of(graph.get_state(CONFIG).config)]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_ends_whatever_the_durability(saver: WyrdSaver, backend: Backend, durability: Any) -> None:
    """A run's end is found when only its last checkpoint is stored, too."""
    saver = backend.open(labels=AutoLabels(run_end=True, interrupt=True))
    graph = asking(saver, [])
    graph.invoke({"log": ["one"]}, CONFIG, durability=durability)
    assert len(labelled(saver, "interrupt")) == 1
    graph.invoke(Command(resume="yes"), CONFIG, durability=durability)
    assert labelled(saver, "run-end") == [id_of(graph.get_state(CONFIG).config)]


def test_a_list_of_todos_that_is_done(backend: Backend) -> None:
    """The checkpoint at which the last open todo was completed is labelled, once."""
    saver = backend.open(labels=AutoLabels(todos_completed=True))
    plan = ["survey", "dig"]

    def rule(messages: list[Any]) -> AIMessage:
        done = sum(isinstance(m, ToolMessage) for m in messages)
        if done > len(plan) + 1:
            return AIMessage("all done")
        todos = [
            {"content": text, "status": "completed" if n < done else "pending"}
            for n, text in enumerate(plan)
        ]
        return calls(messages, ("write_todos", {"todos": todos}))

    agent = create_agent(Scripted(rule=rule), middleware=[TodoListMiddleware()], checkpointer=saver)
    agent.invoke({"messages": [HumanMessage("Build a well")]}, CONFIG)
    (found,) = labelled(saver, "todos-completed")
    assert not saver.thread("t").working_state(found).open_todos
    history = list(agent.get_state_history(CONFIG))
    (old,) = [n for n, state in enumerate(history) if id_of(state.config) == found]
    left = [
        [todo["content"] for todo in state.values["todos"] if todo["status"] != "completed"]
        for state in history[old : old + 2]
    ]
    assert left == [[], ["dig"]]


def test_a_list_that_is_given_up_is_not_done(backend: Backend) -> None:
    """Todos that were dropped, or a list that was done from the start, complete nothing."""
    saver = backend.open(labels=AutoLabels(todos_completed=True))
    versions: Any = None
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    from langgraph.checkpoint.base import empty_checkpoint

    for todos in (
        [{"content": "a", "status": "completed"}],
        [{"content": "b", "status": "pending"}],
        [],
        [{"content": "c", "status": "in_progress"}],
        [{"content": "c", "status": "cancelled"}],
    ):
        versions = saver.get_next_version(versions, None)
        made = {
            **empty_checkpoint(), "channel_values": {"todos": todos},
            "channel_versions": {"todos": versions},
        }  # fmt: skip
        config = saver.put(config, made, {"source": "loop", "step": 1}, {"todos": versions})
    assert saver.thread("t").labels() == []


def test_every_so_many(durable: Backend) -> None:
    """A label at every Nth step of the thread, whichever process runs it; turns go on counting."""
    with durable.open() as saver:
        config = {"configurable": {"thread_id": "t"}}
        for number in range(5):
            with durable.open(labels=AutoLabels(every=4)) as other:
                knowing(other).invoke({"city": f"town {number}"}, config)
        found = {entry.checkpoint_id: entry.step for entry in saver.thread("t").history(limit=100)}
        wanted = [id for id, step in found.items() if step and step > 0 and step % 4 == 0]
        assert wanted
        assert sorted(labelled(saver, "every-4")) == sorted(wanted)


def test_what_can_not_be_watched(backend: Backend) -> None:
    """A policy that makes no sense is refused at once."""
    for wrong in (0, -1, 1.5, True, "4"):
        with pytest.raises(InvalidInput, match="whole number"):
            AutoLabels(every=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="pillars"):
        backend.open(labels=AutoLabels(interrupt=True), pillars=False)
    backend.open(labels=AutoLabels(), pillars=False).setup()


def test_a_damaged_label_is_not_copied(durable: Backend) -> None:
    """A copy leaves a label out that fails its checksum: it does not get a right one."""
    with durable.open() as saver:
        append(saver, "t", 2)
        saver.thread("t").label("kept")
        saver.thread("t").label("damaged")
        with raw(durable.url) as connection:
            connection.execute("UPDATE wyrd_labels SET created_at = '?' WHERE name = 'damaged'")
            connection.commit()
        saver.copy_thread("t", "u")
        assert [label.name for label in saver.thread("u").labels()] == ["kept"]
        assert saver.verify("u").ok
