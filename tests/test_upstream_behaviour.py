"""What LangGraph and its own savers' tests rely on beyond the conformance kit.

Where LangGraph's savers agree, or only one of them answers, that answer is required here. Where
they differ, InMemorySaver is the reference.
"""

from __future__ import annotations

import logging
import operator
import random
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, get_checkpoint_metadata
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import InvalidInput
from tests.conftest import Backend
from tests.points import Both, Call, at, point, put_point, say

ERROR, RESUME = "__error__", "__resume__"


def plain(found: Any) -> Any:
    """A checkpoint tuple without the keys that a caller put into the config."""
    if found is None:
        return None
    keys = ("thread_id", "checkpoint_ns", "checkpoint_id")
    return (
        {k: found.config["configurable"].get(k) for k in keys},
        found.checkpoint,
        found.metadata,
        found.parent_config,
        found.pending_writes,
    )


def ids(found: Sequence[Any]) -> list[str]:
    return [t.config["configurable"]["checkpoint_id"] for t in found]


# ------------------------------------------------------------------ put and get_tuple


async def test_put_returns_where_it_put(saver: WyrdSaver, call: Call) -> None:
    """The config that `put` returns has the three keys, with the thread id as it was given."""
    for thread in ("t", 7):
        got = await put_point(call, saver, at(thread, ns="child", other="x"), point("1"))
        assert got == at(thread, "1", "child")
        assert (await call(saver, "get_tuple", got)).checkpoint["id"] == "1"


async def test_the_latest_is_the_greatest_id(saver: WyrdSaver, call: Call) -> None:
    """Without an id, or with an empty one, the checkpoint with the greatest id is meant."""
    for name in ("2", "3", "1"):
        await put_point(call, saver, at("t"), point(name))
    for config in (at("t"), at("t", ""), at("t", checkpoint_id=None)):
        got = await call(saver, "get_tuple", config)
        assert got.config == at("t", "3")
    assert (await call(saver, "get", at("t")))["id"] == "3"


async def test_what_is_not_there_is_none(saver: WyrdSaver, call: Call) -> None:
    """Unknown threads, namespaces and ids give None, and asking leaves no trace."""
    await put_point(call, saver, at("t"), point("1"))
    for config in (at("u"), at("t", ns="n"), at("t", "2"), at("t", "1", "n"), at("u", "1")):
        assert await call(saver, "get_tuple", config) is None
        assert await call(saver, "get", config) is None
        assert await call(saver, "list", config) == []
    assert len(await call(saver, "list", None)) == 1


async def test_namespace_may_be_left_out_when_reading(saver: WyrdSaver, call: Call) -> None:
    """`get_tuple` without a namespace means the root; `list` without one means all of them."""
    await put_point(call, saver, at("t"), point("1"))
    await put_point(call, saver, at("t", ns="n"), point("2"))
    anywhere = {"configurable": {"thread_id": "t"}}
    assert (await call(saver, "get_tuple", anywhere)).config == at("t", "1")
    assert ids(await call(saver, "list", anywhere)) == ["2", "1"]
    assert ids(await call(saver, "list", at("t"))) == ["1"]
    assert ids(await call(saver, "list", at("t", ns="n"))) == ["2"]


async def test_the_parent_is_the_configs_checkpoint(saver: WyrdSaver, call: Call) -> None:
    """A parent is kept whether or not it is stored; none, or an empty one, gives no parent."""
    for name, parent in (("1", None), ("2", ""), ("3", "1"), ("4", "never stored")):
        await put_point(call, saver, at("t", parent), point(name))
        got = await call(saver, "get_tuple", at("t", name))
        assert got.parent_config == (at("t", parent) if parent else None)


async def test_everything_in_a_checkpoint_comes_back(saver: WyrdSaver, call: Call) -> None:
    """Versions of any type, what was seen, unknown keys and falsy values read back the same."""
    values = {"none": None, "empty": [], "zero": 0, "false": False, "text": "", "dict": {}}
    versions = {"none": 1, "empty": 2.5, "zero": "v", "false": 0, "text": 10**15, "dict": "1"}
    checkpoint = {
        **point("1", values, versions),
        "v": 2,
        "versions_seen": {"__input__": {}, "node": {"none": 1, "empty": 2.5}},
        "updated_channels": ["none", "text"],
        "pending_sends": [],
        "from the future": {"kept": [1, 2]},
    }
    await put_point(call, saver, at("t"), checkpoint)
    got = (await call(saver, "get_tuple", at("t"))).checkpoint
    assert got == checkpoint
    assert [type(v) for v in got["channel_versions"].values()] == [int, float, str, int, int, str]


async def test_a_value_without_a_version_is_kept(saver: WyrdSaver, call: Call) -> None:
    """A value whose channel has no version is stored with its checkpoint, as the SQLite saver
    does, and is not taken for that of the next checkpoint."""
    await put_point(call, saver, at("t"), point("1", {"a": [1], "b": "x"}, {}))
    await put_point(call, saver, at("t", "1"), point("2", {}, {}))
    first = await call(saver, "get_tuple", at("t", "1"))
    assert first.checkpoint["channel_values"] == {"a": [1], "b": "x"}
    assert (await call(saver, "get_tuple", at("t"))).checkpoint["channel_values"] == {}


async def test_a_version_without_a_value_is_empty(saver: WyrdSaver, call: Call) -> None:
    """A new version of a channel that holds nothing takes the older value out of sight."""
    await put_point(call, saver, at("t"), point("1", {"a": [1], "b": 2}))
    after = point("2", {"b": 2}, {"a": "2", "b": "1"})
    await call(saver, "put", at("t", "1"), after, {}, {"a": "2"})
    assert (await call(saver, "get_tuple", at("t"))).checkpoint == after


# ------------------------------------------------------------------ metadata


async def test_metadata_takes_in_the_config(saver: WyrdSaver, call: Call) -> None:
    """The config's scalars join the metadata, never over it, without reserved names or NULs."""
    config = {
        **at("t", other=1, both="configurable", flag=True, ratio=0.5, __own="no", deep={"a": 1}),
        "metadata": {
            "run_id": "r",
            "both": "metadata",
            "step": 99,
            "langgraph_node": "no",
            "nothing": None,
            "nul": "a\x00b",
        },
    }
    metadata = {"source": "loop", "step": 1, "writes": {"n": [1]}, "parents": {}, "own": "\x00abc"}
    await put_point(call, saver, config, point("1"), metadata)
    got = (await call(saver, "get_tuple", at("t"))).metadata
    assert got == get_checkpoint_metadata(config, metadata)
    assert got == {
        "source": "loop",
        "step": 1,
        "writes": {"n": [1]},
        "parents": {},
        "own": "abc",
        "run_id": "r",
        "both": "metadata",
        "nul": "ab",
        "other": 1,
        "flag": True,
        "ratio": 0.5,
    }
    assert ids(await call(saver, "list", None, filter={"own": "abc", "run_id": "r"})) == ["1"]


# ------------------------------------------------------------------ list


async def family(call: Call, saver: Any) -> None:
    """Two threads and a namespace; ids ascend across them all."""
    for name, thread, ns in (
        ("1", "t", ""),
        ("2", "t", "n"),
        ("3", "u", ""),
        ("4", "t", ""),
        ("5", "t", "n"),
        ("6", "u", ""),
    ):
        await put_point(call, saver, at(thread, ns=ns), point(name, {"a": name}), {"n": int(name)})


async def test_list_bounds(saver: WyrdSaver, call: Call) -> None:
    """`before` is strict, needs not exist, and is refused without an id; zero means none."""
    await family(call, saver)
    listed = [
        (None, {"before": at("x", "4")}, ["3", "2", "1"]),
        (None, {"before": at("t", "3a")}, ["3", "2", "1"]),
        (None, {"before": {"configurable": {"checkpoint_id": "2"}}}, ["1"]),
        (at("t"), {"before": at("t", "4")}, ["1"]),
        (at("t", ns="n"), {"before": at("t", "4"), "limit": 1}, ["2"]),
        (None, {"limit": 0}, []),
        (None, {"limit": 100}, ["6", "5", "4", "3", "2", "1"]),
        (None, {"filter": {}, "limit": 1}, ["6"]),
        (None, {"filter": {"n": 2}, "limit": 1}, ["2"]),
        (None, {"filter": {"n": 2}, "before": at("t", "2")}, []),
    ]
    for config, asked, expected in listed:
        assert ids(await call(saver, "list", config, **asked)) == expected, (config, asked)
    # The official savers disagree here: one ignores it, the others then list nothing.
    with pytest.raises(InvalidInput, match="before"):
        await call(saver, "list", at("t"), before=at("t"))


# ------------------------------------------------------------------ writes


async def test_pending_writes_are_a_list_of_triples(saver: WyrdSaver, call: Call) -> None:
    """Without writes the list is empty, not None; each write is (task, channel, value)."""
    config = await put_point(call, saver, at("t"), point("1"))
    assert (await call(saver, "get_tuple", config)).pending_writes == []
    assert await call(saver, "put_writes", config, [], "task") is None
    assert await call(saver, "put_writes", config, [("a", None), ("a", [1])], "task", "p") is None
    got = (await call(saver, "get_tuple", config)).pending_writes
    assert got == [("task", "a", None), ("task", "a", [1])]
    assert all(type(w) is tuple for w in got)


async def test_writes_stay_where_they_were_put(saver: WyrdSaver, call: Call) -> None:
    """Writes belong to one checkpoint of one namespace of one thread."""
    for thread, ns in (("t", ""), ("t", "n"), ("u", "")):
        for name in ("1", "2"):
            await put_point(call, saver, at(thread, ns=ns), point(name))
    await call(saver, "put_writes", at("t", "1", "n"), [("a", 1)], "task")
    found = [t for t in await call(saver, "list", None) if t.pending_writes]
    assert [t.config for t in found] == [at("t", "1", "n")]


# ------------------------------------------------------------------ versions, serde, the object


def test_versions_ascend(saver: WyrdSaver) -> None:
    """Versions ascend as strings, from nothing, from integers and from any official saver's."""
    version = saver.get_next_version(None, None)
    assert version.startswith(f"{1:032}.")
    for n in range(2, 1200):
        following = saver.get_next_version(version, None)
        assert following > version
        assert following.startswith(f"{n:032}.")
        version = following
    official = InMemorySaver()
    assert saver.get_next_version(41, None).startswith(f"{42:032}.")
    for n in (None, 7, f"{9:032}.0.5"):
        theirs = official.get_next_version(n, None)
        ours = saver.get_next_version(theirs, None)
        assert theirs < ours < official.get_next_version(ours, None)
    assert len({saver.get_next_version(1, None) for _ in range(50)}) == 50


async def test_the_object(backend: Backend) -> None:
    """A saver is its own context manager, sync and async, and a plain LangGraph saver."""
    saver = backend.open()
    assert isinstance(saver, BaseCheckpointSaver)
    assert saver.config_specs == []
    with saver as entered:
        assert entered is saver
    async with saver as entered:
        assert entered is saver
    given = JsonPlusSerializer()
    assert backend.open(serde=given).serde is given


async def test_a_serde_assigned_later_is_used(durable: Backend, call: Call) -> None:
    """LangGraph's tests give a saver its serde by assignment, so each call uses the present one."""
    sealed = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    saver, secret = durable.open(), "nobody may read this"
    saver.serde = sealed
    config = await put_point(call, saver, at("t"), point("1", {"a": [secret]}))
    await call(saver, "put_writes", config, [("a", secret)], "task")
    for reader in (saver, durable.open(serde=sealed)):
        got = await call(reader, "get_tuple", at("t"))
        assert got.checkpoint["channel_values"] == {"a": [secret]}
        assert got.pending_writes == [("task", "a", secret)]
    if durable.name == "sqlite":
        for kept in Path(durable.url.removeprefix("sqlite:///")).parent.glob("wyrd.db*"):
            assert secret.encode() not in kept.read_bytes()


class OnlyBytes:
    """A serde of the older protocol, which knows no types."""

    inner = JsonPlusSerializer()

    def dumps(self, value: Any) -> bytes:
        kind, data = self.inner.dumps_typed(value)
        return kind.encode() + b"|" + data

    def loads(self, data: bytes) -> Any:
        kind, _, rest = data.partition(b"|")
        return self.inner.loads_typed((kind.decode(), rest))


async def test_an_untyped_serde_is_enough(backend: Backend, call: Call) -> None:
    """A serde with only `dumps` and `loads` stores and reads everything."""
    saver = backend.open(serde=OnlyBytes())
    checkpoint = point("1", {"a": [HumanMessage("hi", id="m")], "b": None, "c": b"raw"})
    config = await put_point(call, saver, at("t"), checkpoint, {"step": 1})
    await call(saver, "put_writes", config, [("a", {"x": [1, b"2"]})], "task")
    got = await call(saver, "get_tuple", at("t"))
    assert got.checkpoint == checkpoint
    assert got.pending_writes == [("task", "a", {"x": [1, b"2"]})]


class Shape(BaseModel):
    sides: int


def test_an_unregistered_type_is_warned_of(
    saver: WyrdSaver, caplog: pytest.LogCaptureFixture
) -> None:
    """The default serde's warning about a type that it does not know is not swallowed."""
    from langgraph.checkpoint.serde import jsonplus

    jsonplus._warned_unregistered_types.clear()  # it warns once a process
    caplog.set_level(logging.WARNING, logger=jsonplus.__name__)
    config = saver.put(at("t"), point("1", {"a": Shape(sides=3)}), {}, {"a": "1"})
    got = saver.get_tuple(config)
    assert got is not None
    assert got.checkpoint["channel_values"] == {"a": Shape(sides=3)}
    assert "unregistered type" in caplog.text


# ------------------------------------------------------------------ deletion, copies, pruning


async def test_an_int_names_the_same_thread_everywhere(saver: WyrdSaver, call: Call) -> None:
    """What was put under an integer is read, listed, written to and deleted under it."""
    config = await put_point(call, saver, at(7), point("1"))
    await call(saver, "put_writes", config, [("a", 1)], "task")
    assert (await call(saver, "get_tuple", at(7))).pending_writes == [("task", "a", 1)]
    assert ids(await call(saver, "list", at(7))) == ["1"]
    await call(saver, "delete_thread", 7)
    assert await call(saver, "get_tuple", at(7)) is None
    assert await call(saver, "list", None) == []


async def test_a_deleted_thread_starts_afresh(saver: WyrdSaver, call: Call) -> None:
    """After a deletion the same thread, ids and versions hold only what was put since."""
    for generation in (["old", "old"], ["new"]):
        config = await put_point(call, saver, at("t"), point("1", {"log": generation}))
        if generation == ["old", "old"]:
            await call(saver, "put_writes", config, [("log", "old")], "task")
            await put_point(call, saver, at("t", ns="n"), point("1", {"log": generation}))
            await call(saver, "delete_thread", "t")
            await call(saver, "delete_thread", "never there")
    (only,) = await call(saver, "list", None)
    assert only.checkpoint["channel_values"] == {"log": ["new"]}
    assert only.pending_writes == []


async def test_a_copy_says_whose_it_is(saver: WyrdSaver, call: Call) -> None:
    """A LangGraph server puts the thread's id into the metadata; in a copy it is the copy's, as
    in the server's own copies, and all else is as it was."""
    metadata = {"thread_id": "t", "step": 1, "about": "t", "parents": {"": "0"}}
    config = await put_point(call, saver, at("t"), point("1", {"log": [1]}), metadata)
    await put_point(call, saver, at("t", "1"), point("2", {"log": [1, 2]}), {"thread_id": "third"})
    await call(saver, "put_writes", config, [("log", 1)], "task", "path")
    await call(saver, "copy_thread", "t", "copy")
    copied = await call(saver, "list", at("copy"))
    assert [t.metadata for t in copied] == [
        {"thread_id": "third"},
        {**metadata, "thread_id": "copy"},
    ]
    source = await call(saver, "list", at("t"))
    assert [t.checkpoint for t in copied] == [t.checkpoint for t in source]
    assert copied[0].parent_config == at("copy", "1")
    assert copied[1].pending_writes == [("task", "log", 1)]
    assert source[1].metadata == metadata


async def test_a_run_rolled_back_is_as_if_it_had_not_been(saver: WyrdSaver, call: Call) -> None:
    """Deleting the newest run brings back the state before it, deltas too; deleting an older one
    leaves the newest state what it is. The thread goes on from there."""

    def speak(state: Both) -> dict[str, Any]:
        return say(f"{len(state['log'])}/{len(state['whole'])}")

    builder = StateGraph(Both).add_node("speak", speak).add_edge(START, "speak")
    graph = builder.compile(checkpointer=saver)
    for durability in ("sync", "async", "exit"):
        config: dict[str, Any] = {"configurable": {"thread_id": durability}}

        async def run(name: str, config: Any = config, how: str = durability) -> list[str]:
            mine = {**config, "metadata": {"run_id": f"{name} {how}"}}
            await call(graph, "invoke", say(name), mine, durability=how)
            return await present(config)

        async def present(config: Any) -> list[str]:
            values = (await call(graph, "get_state", config)).values
            assert values["log"] == values["whole"]
            return list(values["log"])

        first = await run("one")
        await run("two")
        await call(saver, "delete_for_runs", [f"two {durability}"])
        assert await present(config) == first == ["one", "1/1"]
        await run("three")
        newest = await run("four")
        assert newest == ["one", "1/1", "three", "3/3", "four", "5/5"]
        await call(saver, "delete_for_runs", [f"three {durability}", "no such run"])
        assert await present(config) == newest
        assert await run("five") == [*newest, "five", "7/7"]


class Chat(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]


def nested(saver: Any, *, remembers: bool) -> Any:
    """A subgraph that asks, called from a node; `remembers` keeps its state between calls."""

    def question(state: Chat) -> Any:
        answer = interrupt(f"after {len(state['messages'])}?")
        return {"messages": [AIMessage(f"told {answer}")]}

    inner = StateGraph(Chat).add_sequence([("greet", lambda _: {"messages": ["hello"]}), question])
    called = inner.add_edge(START, "greet").compile(checkpointer=True if remembers else None)
    outer = StateGraph(Chat).add_node("inner", called).add_edge(START, "inner")
    return outer.compile(checkpointer=saver)


@pytest.mark.parametrize("remembers", [False, True], ids=["a call", "remembers"])
async def test_a_pruned_thread_goes_on(saver: WyrdSaver, call: Call, remembers: bool) -> None:
    """Pruned to its latest in the middle of a subgraph's question, a thread goes on as one that
    was never pruned, through further runs."""
    texts = []
    for each, pruned in ((InMemorySaver(), False), (saver, True)):
        graph, config = nested(each, remembers=remembers), {"configurable": {"thread_id": "t"}}
        for n in range(3):
            await call(graph, "invoke", {"messages": [HumanMessage(f"run {n}")]}, config)
            if pruned:
                await call(each, "prune", ["t"], strategy="keep_latest")
            got = await call(graph, "invoke", Command(resume=n), config)
            if pruned:
                await call(each, "prune", ["t"])
        texts.append([m.content for m in got["messages"]])
        assert (await call(graph, "get_state", config)).next == ()
    assert texts[1] == texts[0]
    assert len(await call(saver, "list", at("t"))) == 1


async def test_a_replay_finds_the_subgraphs_earlier_state(saver: WyrdSaver, call: Call) -> None:
    """Going back to before a subgraph ran, LangGraph lists that namespace below the checkpoint's
    id, takes one and stops; the replay then tells the same as in memory."""
    texts = []
    for each in (InMemorySaver(), saver):
        graph, config = nested(each, remembers=True), {"configurable": {"thread_id": "t"}}
        for n in range(2):
            await call(graph, "invoke", {"messages": [HumanMessage(f"run {n}")]}, config)
            await call(graph, "invoke", Command(resume=n), config)
        states = [s async for s in graph.aget_state_history(config)]
        back = [s for s in states if s.next == ("inner",)][-1]
        await call(graph, "invoke", None, back.config)
        got = await call(graph, "invoke", Command(resume="again"), config)
        texts.append([m.content for m in got["messages"]])
    assert texts[1] == texts[0]


# ------------------------------------------------------------------ next to the official saver


async def test_as_the_sqlite_saver_on_the_same_calls(saver: WyrdSaver, call: Call) -> None:
    """Sixty random puts and writes read the same from us as from the official SQLite saver."""
    dice = random.Random(5)
    with SqliteSaver.from_conn_string(":memory:") as official:
        known: list[Any] = [at(t, ns=ns) for t in "tu" for ns in ("", "n", "n:1|m:2")]
        for n in range(60):
            parent = dice.choice(known)
            values = {c: [dice.random()] for c in "abc" if dice.random() < 0.7}
            checkpoint = point(f"{n:03}", values)
            config = official.put(parent, checkpoint, {"n": n % 5}, checkpoint["channel_versions"])
            assert await put_point(call, saver, parent, checkpoint, {"n": n % 5}) == config
            known.append(config)
            target, task, path = dice.choice(known[6:]), dice.choice("xyz"), dice.choice(["", "p"])
            writes = [(dice.choice([RESUME, ERROR]) if n % 2 else "a", n)]
            official.put_writes(target, writes, task, path)
            await call(saver, "put_writes", target, writes, task, path)
        asked: list[tuple[Any, dict[str, Any]]] = [(None, {}), *((c, {}) for c in known)]
        asked += [(None, {"filter": {"n": n}, "limit": 3, "before": known[40]}) for n in range(5)]
        asked += [({"configurable": {"thread_id": t}}, {"limit": n}) for t in "tu" for n in (1, 9)]
        for config, options in asked:
            expected = [plain(t) for t in official.list(config, **options)]
            found = [plain(t) for t in await call(saver, "list", config, **options)]
            assert found == expected, (config, options)
            if config:
                expected = plain(official.get_tuple(config))
                assert plain(await call(saver, "get_tuple", config)) == expected


class Asked(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def asks_twice(saver: Any, *, one_node: bool) -> Any:
    graph = StateGraph(Asked)
    if one_node:
        graph.add_node("a", lambda _: {"log": [interrupt("first?"), interrupt("second?")]})
        return graph.add_edge(START, "a").compile(saver)
    graph.add_node("a", lambda _: {"log": [interrupt("first?")]})
    graph.add_node("b", lambda _: {"log": [interrupt("second?")]})
    return graph.add_edge(START, "a").add_edge("a", "b").compile(saver)


@pytest.mark.parametrize("one_node", [True, False])
@pytest.mark.parametrize("whose", ["the task's", "any task's"])
def test_an_answer_that_is_stored_and_another_that_is_given(
    saver: WyrdSaver, one_node: bool, whose: str
) -> None:
    """A run that is given an answer where one is stored takes them as with LangGraph's savers."""
    found = []
    for each in (InMemorySaver(), saver):
        graph, config = asks_twice(each, one_node=one_node), at("t")
        graph.invoke({"log": []}, config)
        state = graph.get_state(config)
        if whose == "the task's":
            each.put_writes(state.config, [(RESUME, ["yes"])], state.tasks[0].id)
        else:
            each.put_writes(state.config, [(RESUME, "yes")], str(uuid.UUID(int=0)))
        graph.invoke(Command(resume="no"), config)
        state = graph.get_state(config)
        found.append((state.values, state.next, [each.value for each in state.interrupts]))
    assert found[0] == found[1]
