"""Delta channels: their value is not in the checkpoint but in the writes that led to it."""

from __future__ import annotations

import functools
import operator
import os
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph import START, StateGraph
from langgraph.pregel import _messages
from langgraph.types import Command, Overwrite, Send, interrupt

from langgraph_wyrd import WyrdSaver
from tests.conftest import Backend
from tests.handmade import config, new_id, put, version
from tests.points import Both, at, joined, point, put_point, say
from tests.story import Plain

Call = Callable[..., Any]


# ---- the history of a channel


def shown(history: Any) -> Any:
    """A snapshot equals a tuple of its value; its type distinguishes them."""
    return {
        name: (entry["writes"], *((type(entry["seed"]), entry["seed"]) if "seed" in entry else ()))
        for name, entry in history.items()
    }


async def expect_history(
    call: Call, saver: Any, reference: InMemorySaver, where: Any, channels: Sequence[str]
) -> Any:
    """Ours equals the base class' walk over our tuples, and InMemorySaver on the same data."""
    found = await call(saver, "get_delta_channel_history", config=where, channels=channels)
    walk = BaseCheckpointSaver.get_delta_channel_history(saver, config=where, channels=channels)
    theirs = reference.get_delta_channel_history(config=where, channels=channels)
    assert list(found) == list(channels)
    assert shown(found) == shown(walk)
    assert shown(found) == shown(theirs)
    return found


@dataclass
class Row:
    """One checkpoint of a random tree, and the writes that were saved under it."""

    id: str
    parent: str | None
    versions: dict[str, str]
    values: dict[str, Any] = field(default_factory=dict)
    new: dict[str, str] = field(default_factory=dict)
    writes: list[tuple[str, str, list[tuple[str, Any]]]] = field(default_factory=list)

    def put(self, thread: str, saver: Any) -> None:
        put(
            saver, thread, self.values, parent=self.parent, id=self.id, versions=self.versions,
            new=self.new,
        )  # fmt: skip

    def put_writes(self, thread: str, write: Any, saver: Any) -> None:
        task, path, values = write
        saver.put_writes(config(thread, self.id), values, task, path)


CHANNELS = ("log", "files", "plain", "rare")
PLAIN_SEEDS: tuple[Any, ...] = (None, 0, "", False, [], {}, ["old", "list"], {"old": 1}, 7.5, "old")


def random_tree(rng: random.Random, size: int) -> list[Row]:
    """Forks, ids in another order than the parents, missing parents, seeds of all kinds."""
    names = [new_id() for _ in range(size)]
    if rng.random() < 0.6:
        rng.shuffle(names)
    rows: list[Row] = []
    for name in names:
        above = rng.choice(rows[-3:]) if rows and rng.random() < 0.95 else None
        parent = above.id if above else rng.choice((None, None, new_id()))
        row = Row(name, parent, dict(above.versions) if above else {})
        for channel in CHANNELS:
            if rng.random() < (0.1 if channel == "rare" else 0.6):
                row.versions[channel] = row.new[channel] = version()
                kind = rng.random()
                if kind < 0.15:
                    row.values[channel] = _DeltaSnapshot([f"{channel} snapshot {name[:8]}"])
                elif kind < 0.25:
                    row.values[channel] = rng.choice(PLAIN_SEEDS)
        for task in range(rng.choice((0, 1, 1, 2, 4))):
            path = rng.choice(("", f"~__pregel_pull, n{rng.randrange(3)}", f"~~000{task}"))
            values = [
                (rng.choice(CHANNELS), rng.choice(([f"{name[:8]} {task}.{n}"], None, {"n": n})))
                for n in range(rng.randrange(4))
            ]
            row.writes.append((f"task-{rng.randrange(1000):03}", path, values))
        rows.append(row)
    return rows


def store(rows: list[Row], rng: random.Random, *savers: Any, thread: str = "t") -> None:
    """The same calls on every saver; writes may come before their checkpoint or long after it."""
    calls: list[tuple[float, Callable[[Any], Any]]] = []
    for n, row in enumerate(rows):
        calls.append((n, partial(row.put, thread)))
        for write in row.writes:
            calls.append((n + rng.uniform(-1, 3), partial(row.put_writes, thread, write)))
    for _, step in sorted(calls, key=lambda each: each[0]):
        for saver in savers:
            step(saver)


@pytest.mark.parametrize("seed", range(2))
async def test_the_history_of_random_trees(backend: Backend, call: Call, seed: int) -> None:
    """At every checkpoint of a random tree the fast path finds what the plain walk finds."""
    rng = random.Random(seed)
    saver, reference = backend.open(), InMemorySaver()
    rows = random_tree(rng, 30)
    store(rows, rng, saver, reference)
    cold = backend.open() if backend.name != "memory" else saver
    for row in rows:
        await expect_history(call, saver, reference, config("t", row.id), CHANNELS)
        some = rng.sample(CHANNELS, 2)
        await expect_history(call, cold, reference, config("t", row.id), some)
    await expect_history(call, saver, reference, config("t"), CHANNELS)


async def test_a_long_chain(saver: Any, call: Call) -> None:
    """A walk over hundreds of checkpoints, in another namespace, comes back whole and in order."""
    reference = InMemorySaver()
    parent = None
    versions: dict[str, str] = {}
    for n in range(300):
        versions = {**versions, "log": version()}
        values = {"log": _DeltaSnapshot(["start"])} if n == 20 else {}
        name = new_id()
        for each in (saver, reference):
            made = put(each, "t", values, parent=parent, ns="sub:1", id=name, versions=versions,
                       new={"log": versions["log"]})  # fmt: skip
            each.put_writes(made, [("log", [n])], f"task-{n}", "~p")
        parent = name
    where = config("t", None, "sub:1")
    found = await expect_history(call, saver, reference, where, ["log", "other"])
    assert [value for _, _, [value] in found["log"]["writes"]] == list(range(20, 299))
    assert found["log"]["seed"] == _DeltaSnapshot(["start"])
    assert found["other"] == {"writes": []}


async def test_a_walk_follows_parents_not_ids(saver: Any, call: Call) -> None:
    """Of a fork only its own branch counts, also when the ids are in another order."""
    reference = InMemorySaver()
    first, left, right, leaf = (new_id() for _ in range(4))
    # The leaf's parent has the greatest id of all, and the root is later than the leaf.
    rows = [
        Row(right, None, {"log": version()}, writes=[("t0", "", [("log", ["root"])])]),
        Row(left, right, {"log": version()}, writes=[("t1", "", [("log", ["left"])])]),
        Row(leaf, right, {"log": version()}, writes=[("t2", "", [("log", ["right"])])]),
        Row(first, leaf, {"log": version()}),
    ]
    for row in rows:
        row.new = dict(row.versions)
    store(rows, random.Random(0), saver, reference)
    found = await expect_history(call, saver, reference, config("t", first), ["log"])
    assert [write[2] for write in found["log"]["writes"]] == [["root"], ["right"]]
    found = await expect_history(call, saver, reference, config("t", left), ["log"])
    assert [write[2] for write in found["log"]["writes"]] == [["root"]]


async def test_nothing_to_walk(saver: Any, call: Call) -> None:
    """The root, an unknown checkpoint, an unknown thread or namespace, and no channels at all."""
    reference = InMemorySaver()
    root = new_id()
    for each in (saver, reference):
        made = put(each, "t", {"log": _DeltaSnapshot(["own"])}, id=root)
        each.put_writes(made, [("log", ["pending"])], "task")
    for where in (
        config("t", root), config("t"), config("t", new_id()), config("no such thread"),
        config("t", root, "elsewhere"),
    ):  # fmt: skip
        found = await expect_history(call, saver, reference, where, ["log"])
        assert found == {"log": {"writes": []}}
    assert await call(saver, "get_delta_channel_history", config=config("t"), channels=[]) == {}


async def test_what_a_walk_stops_at(saver: Any, call: Call) -> None:
    """The nearest stored value is the seed, a snapshot or an older plain one, however falsy."""
    reference = InMemorySaver()
    for seed in (*PLAIN_SEEDS, _DeltaSnapshot(["snap"]), _DeltaSnapshot(None)):
        thread = f"seed {seed!r}"
        names = [new_id() for _ in range(4)]
        rows = [Row(n, p, {"log": version()}) for n, p in zip(names, [None, *names], strict=False)]
        rows[0].values = {"log": _DeltaSnapshot(["too old"])}
        rows[1].values = {"log": seed}
        for n, row in enumerate(rows):
            row.new = dict(row.versions)
            row.writes = [("task", "", [("log", [n]), ("other", "x"), ("log", [n, n])])]
        store(rows, random.Random(0), saver, reference, thread=thread)
        where = config(thread, names[3])
        found = await expect_history(call, saver, reference, where, ["log"])
        assert [write[2] for write in found["log"]["writes"]] == [[1], [1, 1], [2], [2, 2]]
        assert (type(found["log"]["seed"]), found["log"]["seed"]) == (type(seed), seed)


async def test_writes_come_in_the_order_of_a_run(saver: Any, call: Call) -> None:
    """Within a checkpoint: by task path, then task, then place; not by arrival."""
    reference = InMemorySaver()
    parent, child = new_id(), new_id()
    for each in (saver, reference):
        made = put(each, "t", id=parent)
        for task, path in (("b", "~2"), ("a", "~2"), ("z", ""), ("c", "~1"), ("d", "~10")):
            each.put_writes(
                made, [("log", f"{path}{task}0"), ("log", f"{path}{task}1")], task, path
            )
        put(each, "t", parent=parent, id=child)
    found = await expect_history(call, saver, reference, config("t", child), ["log"])
    assert [write[2] for write in found["log"]["writes"]] == [
        "z0", "z1", "~1c0", "~1c1", "~10d0", "~10d1", "~2a0", "~2a1", "~2b0", "~2b1",
    ]  # fmt: skip


# ---- where a walk begins and ends, and what it rebuilds


async def chain(
    call: Call,
    saver: Any,
    steps: Sequence[str],
    stored: dict[str, Any],
    thread: str = "t",
) -> list[Any]:
    """One checkpoint a step, `stored` saying which hold a value of `ch`, each with one write."""
    configs: list[Any] = []
    parent: Any = at(thread)
    for step in steps:
        values = {"ch": stored[step]} if step in stored else {}
        checkpoint = point(step, values, {"ch": step})
        new = {"ch": step} if step in stored else {}
        parent = await call(saver, "put", parent, checkpoint, {"step": len(configs)}, new)
        await call(saver, "put_writes", parent, [("ch", f"w{step}"), ("other", 0)], "task")
        configs.append(parent)
    return configs


async def history(call: Call, saver: Any, config: Any, *channels: str) -> Any:
    found = await call(saver, "get_delta_channel_history", config=config, channels=channels)
    # The unhurried way of the base class is the contract.
    base = BaseCheckpointSaver.get_delta_channel_history(saver, config=config, channels=channels)
    assert dict(found) == dict(base)
    return dict(found)


def words(found: Any) -> list[Any]:
    return [value for _task, _channel, value in found["writes"]]


async def test_history_from_the_nearest_value(saver: WyrdSaver, call: Call) -> None:
    """The seed is the nearest ancestor's value, a snapshot or a plain one; its own writes follow,
    the target's do not."""
    for wrap in (list, _DeltaSnapshot):
        thread = wrap.__name__
        stored: dict[str, Any] = {"1": wrap([1]), "3": wrap([1, 3])}
        configs = await chain(call, saver, "012345678", stored, thread=thread)
        expected = {
            "0": (None, []),
            "1": (None, ["w0"]),
            "2": (stored["1"], ["w1"]),
            "3": (stored["1"], ["w1", "w2"]),
            "4": (stored["3"], ["w3"]),
            "8": (stored["3"], ["w3", "w4", "w5", "w6", "w7"]),
        }
        for step, (seed, written) in expected.items():
            found = (await history(call, saver, configs[int(step)], "ch"))["ch"]
            assert words(found) == written
            assert found.get("seed") == seed
            assert ("seed" in found) == (seed is not None)
        latest = (await history(call, saver, at(thread), "ch"))["ch"]
        assert words(latest) == expected["8"][1]
        assert all(w[:2] == ("task", "ch") for w in latest["writes"])


async def test_history_of_several_channels(saver: WyrdSaver, call: Call) -> None:
    """Each channel stops at its own seed; a channel without any has its writes from the root."""
    parent: Any = at("t")
    for step in "0123456":
        values = {}
        if step == "1":
            values["a"] = _DeltaSnapshot("seed of a")
        if step == "4":
            values["b"] = "plain text"
        parent = await put_point(call, saver, parent, point(step, values))
        await call(saver, "put_writes", parent, [("a", step), ("b", step), ("c", step)], "task")
    found = await history(call, saver, parent, "a", "b", "c", "d")
    assert list(found) == ["a", "b", "c", "d"]
    assert {k: "".join(words(v)) for k, v in found.items()} == {
        "a": "12345",
        "b": "45",
        "c": "012345",
        "d": "",
    }
    assert {k: v["seed"] for k, v in found.items() if "seed" in v} == {
        "a": _DeltaSnapshot("seed of a"),
        "b": "plain text",
    }


async def test_a_version_without_a_value_is_no_seed(saver: WyrdSaver, call: Call) -> None:
    """A channel's version may go up while nothing is stored; the walk goes past that."""
    await chain(call, saver, "0", {"0": [10]})
    emptied = point("1", {}, {"ch": "1"})
    await call(saver, "put", at("t", "0"), emptied, {}, {"ch": "1"})
    await call(saver, "put_writes", at("t", "1"), [("ch", "w1")], "task")
    await call(saver, "put", at("t", "1"), point("2", {}, {"ch": "1"}), {}, {})
    found = (await history(call, saver, at("t", "2"), "ch"))["ch"]
    assert found["seed"] == [10]
    assert words(found) == ["w0", "w1"]


@pytest.mark.timeout(60)
async def test_a_circle_of_parents_ends(saver: WyrdSaver, call: Call) -> None:
    """Putting a checkpoint again under its own child makes a circle; a history of it returns."""
    first = await call(saver, "put", at("t"), point("a", {}, {"ch": "1"}), {}, {})
    second = await call(saver, "put", first, point("b", {}, {"ch": "1"}), {}, {})
    await call(saver, "put_writes", first, [("ch", "wa")], "task")
    await call(saver, "put", second, point("a", {}, {"ch": "1"}), {}, {})
    found = await call(saver, "get_delta_channel_history", config=second, channels=["ch"])
    assert "seed" not in found["ch"]
    assert "wa" in words(found["ch"])


async def test_history_stops_at_a_missing_parent(saver: WyrdSaver, call: Call) -> None:
    """A parent that is not there ends the walk with what there is."""
    await chain(call, saver, "5", {})
    config = await call(saver, "put", at("t", "5"), point("6", {}, {"ch": "6"}), {}, {})
    await call(saver, "put", at("t", "missing"), point("5", {}, {"ch": "5"}), {}, {})
    assert words((await history(call, saver, config, "ch"))["ch"]) == ["w5"]


def ask(state: Both) -> dict[str, Any]:
    return say(f"ask: {interrupt('?')}")


def fan_out(saver: Any) -> Any:
    """Parallel nodes, Sends and a question: the order of writes matters."""
    builder = StateGraph(Both)
    for name in "gcaebdf":
        builder.add_node(name, lambda _, name=name: say(name))
        builder.add_edge(START, name)
    builder.add_node("ask", ask)
    builder.add_node("worker", lambda number: say(f"worker {number}"))
    builder.add_node("after", lambda _: say("after"))
    sends = [Send("worker", n) for n in range(12)]
    builder.add_conditional_edges(START, lambda _: sends, ["worker"])
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "after")
    return builder.compile(checkpointer=saver)


async def test_deltas_replay_as_they_were_applied(saver: WyrdSaver, call: Call) -> None:
    """Rebuilt from its writes, a list is in the order in which the run itself had it, at every
    step, over questions, several runs and an update by hand, whatever the durability."""
    graph = fan_out(saver)
    for durability in ("sync", "async", "exit"):
        config = {"configurable": {"thread_id": durability}}
        for n in range(2):
            await call(graph, "invoke", say(f"in {n}"), config, durability=durability)
            answer = Command(resume=n, update=say("told"))
            await call(graph, "invoke", answer, config, durability=durability)
            await call(graph, "update_state", config, say(f"by hand {n}"))
        states = [state.values async for state in graph.aget_state_history(config)]
        for values in (*states, (await call(graph, "get_state", config)).values):
            assert values.get("log", []) == values.get("whole", [])
        assert len(states[0]["log"]) == 2 * (1 + 7 + 12 + 3 + 1)
        if durability != "exit":
            assert len(states) > 6


class Before(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


class After(TypedDict, total=False):
    log: Annotated[list[str], DeltaChannel(joined)]


async def test_a_thread_moves_to_a_delta_channel(saver: WyrdSaver, call: Call) -> None:
    """A thread written with an ordinary reducer goes on with a DeltaChannel in its place."""

    def graph(state: Any) -> Any:
        builder = StateGraph(state).add_node("say", lambda s: {"log": [f"{len(s['log'])} before"]})
        return builder.add_edge(START, "say").compile(checkpointer=saver)

    config = {"configurable": {"thread_id": "t"}}
    for n in range(2):
        await call(graph(Before), "invoke", {"log": [f"old {n}"]}, config)
    old = [s.values["log"] async for s in graph(Before).aget_state_history(config) if s.next == ()]
    expected = ["old 0", "1 before", "old 1", "3 before"]
    moved = graph(After)
    assert (await call(moved, "get_state", config)).values["log"] == expected
    for n in range(2):
        await call(moved, "invoke", {"log": [f"new {n}"]}, config)
        expected += [f"new {n}", f"{len(expected) + 1} before"]
        assert (await call(moved, "get_state", config)).values["log"] == expected
    settled = [s.values["log"] async for s in moved.aget_state_history(config) if s.next == ()]
    assert settled[2:] == old


async def test_exit_durability_stores_as_in_memory(saver: WyrdSaver, call: Call) -> None:
    """With durability "exit" the same checkpoints are there as in memory, stub and counters too."""

    def remember(state: Any) -> Any:
        return {"log": [f"reply {len(state['log'])}"]}

    seen = []
    for each in (InMemorySaver(), saver):
        builder = StateGraph(After).add_node("say", remember).add_edge(START, "say")
        graph, config = builder.compile(checkpointer=each), {"configurable": {"thread_id": "t"}}
        for durability in ("exit", "exit", "sync", "exit"):
            await call(graph, "invoke", {"log": ["in"]}, config, durability=durability)
        seen.append(
            [
                (
                    t.metadata.get("step"),
                    t.metadata.get("source"),
                    [list(c) for c in t.metadata.get("counters_since_delta_snapshot", {}).values()],
                    sorted(t.checkpoint["channel_versions"]),
                    sorted(t.checkpoint["channel_values"]),
                    [w[1:] for w in t.pending_writes],
                )
                for t in await call(each, "list", config)
            ]
        )
    assert seen[1] == seen[0]
    assert seen[0][-1][0] == -2


async def test_delta_messages_keep_their_ids(saver: WyrdSaver, call: Call) -> None:
    """A message that came without an id has the same one at every read."""

    class Chat(TypedDict, total=False):
        messages: Annotated[list[Any], DeltaChannel(joined)]

    def reply(state: Any) -> Any:
        return {"messages": [AIMessage("hello")]}

    builder = StateGraph(Chat).add_node("reply", reply).add_edge(START, "reply")
    graph, config = builder.compile(checkpointer=saver), {"configurable": {"thread_id": "t"}}
    await call(graph, "invoke", {"messages": [HumanMessage("hi")]}, config)
    reads = [(await call(graph, "get_state", config)).values["messages"] for _ in range(3)]
    assert reads[0] == reads[1] == reads[2]
    assert [m.content for m in reads[0]] == ["hi", "hello"]
    if None in [m.id for m in reads[0]]:
        assert not hasattr(_messages, "ensure_message_ids")
        pytest.skip("this LangGraph gives messages in a DeltaChannel no ids")


# ---- what a walk costs, and what it rests on


@pytest.mark.parametrize("ids", ["rising", "falling", "mixed"])
async def test_branches_that_grow_in_turns(saver: Any, call: Call, ids: str) -> None:
    """Between the ids of one branch stand those of another, with large writes: none comes along."""
    rng = random.Random(ids)
    names = [new_id() for _ in range(120)]
    if ids == "falling":
        names.reverse()
    elif ids == "mixed":
        rng.shuffle(names)
    reference = InMemorySaver()
    rows: list[Row] = []
    for n, name in enumerate(names):
        above = rows[-3] if n > 3 else rows[0] if rows else None
        row = Row(name, above.id if above else None, {"log": version()})
        row.new = dict(row.versions)
        if n == 10:
            row.values = {"log": _DeltaSnapshot(["seed"])}
        row.writes = [("task", "", [("log", [f"{n} " + "x" * 300]), ("files", {"n": n})])]
        rows.append(row)
    store(rows, rng, saver, reference)
    for row in rows[-3:]:
        await expect_history(call, saver, reference, config("t", row.id), ["log", "files"])


# ---- graphs


def extend(state: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*state, *(item for write in writes for item in write)]


def merge(state: dict[str, Any], writes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    found = dict(state)
    for write in writes:
        found.update(write)
    return {name: value for name, value in found.items() if value is not None}


class Notes(TypedDict, total=False):
    log: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=3)]
    notes: Annotated[dict[str, Any], DeltaChannel(merge, snapshot_frequency=5)]
    rare: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=1)]
    count: Annotated[int, operator.add]


def notes_graph(saver: Any) -> Any:
    """Two nodes side by side write the same delta channels, a third starts one of them over."""

    def left(state: Notes) -> Any:
        n = state.get("count", 0)
        return {"log": [f"left {n}"], "notes": {f"n{n}": n, f"n{n - 3}": None}, "count": 1}

    def right(state: Notes) -> Any:
        n = state.get("count", 0)
        update: dict[str, Any] = {"log": [f"right {n}", "more"], "count": 1}
        return {**update, "rare": [f"rare {n}"]} if n % 5 == 4 else update

    def last(state: Notes) -> Any:
        n = state["count"]
        return {"log": Overwrite(state["log"][-3:]) if n % 8 == 0 else [f"last {n}"]}

    builder: Any = StateGraph(Notes)
    for node in (left, right, last):
        builder.add_node(node.__name__, node)
    for name in ("left", "right"):
        builder.add_edge(START, name)
    builder.add_edge(["left", "right"], "last")
    return builder.compile(checkpointer=saver)


def notes_input(n: int) -> Any:
    return {"log": [f"turn {n}"], "notes": {"turn": n}}


class Scripted(BaseChatModel):
    """A model that writes a file, edits it and says so, over and over."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None,
                  **kwargs: Any) -> ChatResult:  # fmt: skip
        n = sum(isinstance(m, AIMessage) for m in messages)
        path = f"/note{n - n % 3}.md"
        call: dict[str, Any] = {"id": f"call{n}", "name": "write_file"}
        if n % 3 == 0:
            call["args"] = {"file_path": path, "content": f"line {n}\nmore"}
        else:
            call["name"] = "edit_file"
            call["args"] = {"file_path": path, "old_string": "more", "new_string": f"less {n}"}
        said = AIMessage(f"said {n}", tool_calls=[call] if n % 3 != 2 else [])
        return ChatResult(generations=[ChatGeneration(message=said)])


@functools.cache
def deep_agent() -> Any:
    from tests.deep import create_deep_agent

    return create_deep_agent(model=Scripted())


def deep_graph(saver: Any) -> Any:
    return deep_agent().copy({"checkpointer": saver})


def deep_input(n: int) -> Any:
    return {"messages": [HumanMessage(f"do {n}", id=f"h{n}")]}


@dataclass(frozen=True)
class Program:
    name: str
    graph: Callable[[Any], Any]
    given: Callable[[int], Any]

    def run(self, saver: Any, turns: range, durability: Any, *, thread: str | None = None) -> None:
        graph = self.graph(saver)
        for n in turns:
            graph.invoke(self.given(n), config(thread or durability), durability=durability)


PROGRAMS = [
    Program("notes", notes_graph, notes_input),
    Program("deep agent", deep_graph, deep_input),
]


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.name)
def program(request: pytest.FixtureRequest) -> Program:
    """A graph whose state lives in delta channels."""
    return request.param


Durabilities = tuple[str, ...]
DURABILITIES: Durabilities = ("async", "sync", "exit")  # each is the name of a thread, too


@pytest.fixture
def durabilities(request: pytest.FixtureRequest) -> Durabilities:
    """All of them on SQLite's files; one elsewhere: what is put does not depend on the place."""
    whole = "sqlite" in request.node.name or os.environ.get("WYRD_MORE")
    return DURABILITIES if whole else DURABILITIES[:1]


def state(program: Program, saver: Any, thread: str) -> Any:
    """What the graph says the state is; random message ids by order, times left out."""
    found = program.graph(saver).get_state(config(thread))
    return Plain()((found.values, found.next))


@functools.cache
def expected_state(program: Program, turns: int, durability: Any) -> Any:
    """The state after that many turns on InMemorySaver."""
    reference = InMemorySaver()
    program.run(reference, range(turns), durability)
    return state(program, reference, durability)


def test_a_run_and_its_history(saver: Any, program: Program, durabilities: Durabilities) -> None:
    """After every turn the state, and at the end the whole history, are InMemorySaver's."""
    reference = InMemorySaver()
    for durability in durabilities:
        for n in range(4):
            for each in (saver, reference):
                program.run(each, range(n, n + 1), durability)
            assert state(program, saver, durability) == state(program, reference, durability)
        where = config(durability)
        told = [
            Plain()([(s.values, s.next) for s in program.graph(each).get_state_history(where)])
            for each in (saver, reference)
        ]
        assert told[0] == told[1]


async def test_a_run_in_a_loop(saver: Any, program: Program, durabilities: Durabilities) -> None:
    """The same through the async methods."""
    graph = program.graph(saver)
    for durability in durabilities:
        where: Any = config(durability)
        for n in range(4):
            await graph.ainvoke(program.given(n), where, durability=durability)
        found = await graph.aget_state(where)
        assert Plain()((found.values, found.next)) == expected_state(program, 4, durability)


def test_going_on_in_another_saver(
    durable: Backend, program: Program, durabilities: Durabilities
) -> None:
    """A saver that was closed can be followed by another one at any turn."""
    for n in range(4):
        saver = durable.open()
        for durability in durabilities:
            program.run(saver, range(n, n + 1), durability)
        saver.close()
    last = durable.open()
    for durability in durabilities:
        assert state(program, last, durability) == expected_state(program, 4, durability)


def test_forks(saver: Any, program: Program, durabilities: Durabilities) -> None:
    """A fork from any checkpoint goes on from its state there, and the trunk stays as it was."""
    for durability in durabilities:
        told = []
        for each in (saver, InMemorySaver()):
            program.run(each, range(3), durability)
            graph = program.graph(each)
            trunk = list(graph.get_state_history(config(durability)))
            seen: list[Any] = []
            for old in trunk[:: max(1, len(trunk) // 4)]:
                graph.invoke(program.given(100), old.config, durability=durability)
                seen.append(graph.get_state(config(durability)).values)
            nows = [graph.get_state(old.config) for old in trunk]
            changed = [old.values for old, now in zip(trunk, nows, strict=True)
                       if now.values != old.values]  # fmt: skip
            seen += [(now.values, now.next) for now in nows]
            told.append(Plain()([*seen, changed]))
        assert told[0] == told[1]
        if changed:
            pytest.skip("this LangGraph changes the trunk itself, also in InMemorySaver")


def test_a_prune_behind_an_edit_that_counts_nothing(
    saver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edits of LangGraph 1.2.0 do not say that a DeltaChannel is rebuilt from what was before:
    a prune keeps that all the same."""

    class Told(TypedDict, total=False):
        log: Annotated[list[str], DeltaChannel(joined, snapshot_frequency=50)]

    put = saver.put

    def uncounted(config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if metadata["source"] == "update":
            metadata = {k: v for k, v in metadata.items() if not k.startswith("counters")}
        return put(config, checkpoint, metadata, new_versions)

    monkeypatch.setattr(saver, "put", uncounted)
    builder = StateGraph(Told).add_node("say", lambda state: {"log": ["said"]})
    graph: Any = builder.add_edge(START, "say").compile(checkpointer=saver)
    for turn in range(2):
        graph.invoke({"log": [f"turn {turn}"]}, config("t"))
    for word in ("one", "two"):
        graph.update_state(config("t"), {"log": [word]}, as_node="say")
    before = graph.get_state(config("t")).values
    assert before["log"][-2:] == ["one", "two"]
    assert len(before["log"]) == 6
    saver.prune(["t"])
    assert graph.get_state(config("t")).values == before
    assert graph.invoke({"log": ["on"]}, config("t"))["log"] == [*before["log"], "on", "said"]


def test_a_copied_thread_goes_on(saver: Any, program: Program, durabilities: Durabilities) -> None:
    """A copy has the state of its source, both go on alone, and each survives the other."""
    for durability in durabilities:
        copy = f"copy of {durability}"
        program.run(saver, range(3), durability)
        saver.copy_thread(durability, copy)
        assert state(program, saver, copy) == state(program, saver, durability)
        program.run(saver, range(3, 5), durability, thread=copy)
        assert state(program, saver, durability) == expected_state(program, 3, durability)
        program.run(saver, range(3, 4), durability)
        saver.delete_thread(durability)
        assert state(program, saver, copy) == expected_state(program, 5, durability)


def test_a_pruned_thread_goes_on(saver: Any, program: Program, durabilities: Durabilities) -> None:
    """keep_latest drops what it can, keeps the state, and the thread goes on as if nothing was."""
    for durability in durabilities:
        reference = InMemorySaver()
        for n in range(6):
            for each in (saver, reference):
                program.run(each, range(n, n + 1), durability)
            if n in (2, 3, 5):
                kept = state(program, saver, durability)
                saver.prune([durability])
                assert state(program, saver, durability) == kept
        assert state(program, saver, durability) == state(program, reference, durability)
        if program.name == "notes":  # a deep agent snapshots so rarely that all must be kept
            left, whole = (list(each.list(config(durability))) for each in (saver, reference))
            assert len(left) < len(whole) / 3


def test_pruning_a_forked_thread(saver: Any, durabilities: Durabilities) -> None:
    """Of a thread with branches keep_latest keeps the newest checkpoint whole, as it was."""
    program = PROGRAMS[0]
    for durability in durabilities:
        program.run(saver, range(4), durability)
        graph = program.graph(saver)
        old = list(graph.get_state_history(config(durability)))[-2]
        graph.invoke(notes_input(50), old.config, durability=durability)
        before = graph.get_state(config(durability))
        saver.prune([durability], strategy="keep_latest")
        after = graph.get_state(config(durability))
        assert (after.values, after.next) == (before.values, before.next)
        assert after.config == before.config


def test_deleting_a_run_keeps_the_others(
    saver: Any, program: Program, durabilities: Durabilities
) -> None:
    """A run that is deleted takes nothing from the state that later runs rest on."""
    graph = program.graph(saver)
    for durability in durabilities:
        runs = [str(uuid.uuid4()) for _ in range(4)]
        for n, run in enumerate(runs):
            told = {**config(durability), "metadata": {"run_id": run}}
            graph.invoke(program.given(n), told, durability=durability)
        before = state(program, saver, durability)
        saver.delete_for_runs(runs[1:3])
        assert state(program, saver, durability) == before
        assert runs[3] in {row.metadata.get("run_id") for row in saver.list(config(durability))}
        program.run(saver, range(4, 5), durability)
        assert state(program, saver, durability) == expected_state(program, 5, durability)


# ---- what the pillars show of it


class Facts(TypedDict, total=False):
    notes: Annotated[dict[str, Any], DeltaChannel(merge, snapshot_frequency=2)]
    n: int


def facts_graph(saver: Any) -> Any:
    builder: Any = StateGraph(Facts)
    builder.add_node("a", lambda state: {"n": state["n"] + 1, "notes": {f"k{state['n']}": 1}})
    builder.add_node("b", lambda state: {"n": state["n"]})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("cold", [False, True])
def test_a_dict_stays_in_the_context(durable: Backend, cold: bool) -> None:
    """At its snapshots, between them, and for a saver that has just been opened: what was written
    since is no loss of the value, and verify finds nothing."""
    saver = durable.open()
    for n in range(5):
        if cold:
            saver.close()
            saver = durable.open()
        graph = facts_graph(saver)
        graph.invoke({"n": n}, config("t"))
        held = {item.key: item.value for item in saver.thread("t").working_state().context}
        assert held["notes"] == graph.get_state(config("t")).values["notes"]
        report = saver.verify()
        assert not report.findings, str(report)
        saver.reextract("t")
        again = {item.key: item.value for item in saver.thread("t").working_state().context}
        assert again == held


@pytest.mark.parametrize("cold", [False, True])
def test_nothing_is_damaged_in_delta_channels(
    durable: Backend, program: Program, cold: bool, durabilities: Durabilities
) -> None:
    """Lists, dicts, messages and what starts them over: hot or cold, the same is said of them."""
    saver = durable.open()
    for n in range(4):
        if cold:
            saver.close()
            saver = durable.open()
        for durability in durabilities:
            program.run(saver, range(n, n + 1), durability)
        report = saver.verify()
        assert not report.damages, str(report)
