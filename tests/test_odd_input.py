"""What the contract allows and nobody expects: odd names, odd ids, and values of every type."""

from __future__ import annotations

import base64
import collections
import datetime as dt
import operator
import pathlib
import random
import re
from collections.abc import Awaitable
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, Send, interrupt
from typing_extensions import TypedDict

from langgraph_wyrd import errors
from tests.conftest import Backend
from tests.odd_values import (
    CORPORA,
    ODD_NAMES,
    SERDES,
    Call,
    Colour,
    Frozen,
    JsonSerde,
    Level,
    Model,
    Open,
    Pair,
    Point,
    Rights,
    Row,
    Text,
    Untyped,
    _long_id,
    as_serde_gives,
    assert_same,
    assert_same_checkpoint,
    at,
    checkpoint,
    forms,
    nested,
    put,
    refusable,
    taken,
)

# ---- telling two values apart


# ---- checkpoints through the raw contract


# ---- names


async def test_thread_ids_of_any_characters(backend: Backend, call: Call) -> None:
    """Each id is a thread of its own, read back as it was given, whatever is in it."""
    saver = backend.open()
    for place, name in enumerate(ODD_NAMES):
        config = await put(call, saver, at(name), {"c": [place]})
        assert config["configurable"]["thread_id"] == name
        await call(saver, "put_writes", config, [("w", place)], f"task {place}")
    for place, name in enumerate(ODD_NAMES):
        found = await call(saver, "get_tuple", at(name))
        assert found.config["configurable"]["thread_id"] == name
        assert found.checkpoint["channel_values"] == {"c": [place]}
        assert found.pending_writes == [(f"task {place}", "w", place)]
        listed = await call(saver, "list", at(name))
        assert [t.config for t in listed] == [found.config]
    everything = [t.config["configurable"]["thread_id"] for t in await call(saver, "list", None)]
    assert sorted(everything) == sorted(ODD_NAMES)
    await call(saver, "delete_thread", "nul\0inside")
    left = [t.config["configurable"]["thread_id"] for t in await call(saver, "list", None)]
    assert sorted(left) == sorted(set(ODD_NAMES) - {"nul\0inside"})
    await call(saver, "copy_thread", _long_id(), _long_id()[::-1])
    copied = await call(saver, "get_tuple", at(_long_id()[::-1]))
    assert copied.checkpoint["channel_values"] == {"c": [len(ODD_NAMES) - 1]}
    assert copied.config["configurable"]["thread_id"] == _long_id()[::-1]


@pytest.mark.parametrize("number", [7, 0, -3, 2**70])
async def test_an_int_is_a_thread_id(backend: Backend, call: Call, number: int) -> None:
    """A thread id given as an int comes back as that int, and names the thread of its digits."""
    saver = backend.open()
    first = await put(call, saver, at(number), {"c": ["by int"]})
    assert_same(first["configurable"]["thread_id"], number)
    second = await put(call, saver, first, {"c": ["by int", "again"]})
    await call(saver, "put_writes", second, [("w", 1)], "task")
    for given_id in (number, str(number)):
        found = await call(saver, "get_tuple", at(given_id))
        assert found.checkpoint["channel_values"] == {"c": ["by int", "again"]}
        assert found.pending_writes == [("task", "w", 1)]
        assert_same(found.config["configurable"]["thread_id"], given_id)
        assert_same(found.parent_config["configurable"]["thread_id"], given_id)
        listed = await call(saver, "list", at(given_id))
        assert len(listed) == 2
        for item in listed:
            assert_same(item.config["configurable"]["thread_id"], given_id)
        one = await call(saver, "get_tuple", at(given_id, first["configurable"]["checkpoint_id"]))
        assert one.checkpoint["channel_values"] == {"c": ["by int"]}
    await put(call, saver, at(str(number)), {"c": ["by text"]})
    assert len(await call(saver, "list", at(number))) == 3
    await call(saver, "copy_thread", number, number + 1)
    assert len(await call(saver, "list", at(str(number + 1)))) == 3
    await call(saver, "prune", [number])
    assert len(await call(saver, "list", at(str(number)))) == 1
    await call(saver, "delete_thread", number)
    assert await call(saver, "get_tuple", at(str(number))) is None


async def test_a_missing_thread_id_is_named(backend: Backend, call: Call) -> None:
    """Whoever forgets the thread_id is told so, by every method, and nothing is stored."""
    saver = backend.open()
    made = checkpoint(saver, {"c": 1})
    nobodies: list[dict[str, Any]] = [{}, {"configurable": {"checkpoint_ns": ""}}, at(None)]
    nobodies.append({"configurable": {"thread_id": None, "checkpoint_ns": ""}})
    for nobody in nobodies:
        with pytest.raises(errors.InvalidInput, match="thread_id"):
            await call(saver, "put", nobody, made, {}, made["channel_versions"])
        with pytest.raises(errors.InvalidInput, match="thread_id"):
            await call(saver, "get_tuple", nobody)
        with pytest.raises(errors.InvalidInput, match="thread_id"):
            await call(saver, "list", nobody)
        with pytest.raises(errors.InvalidInput, match="thread_id"):
            await call(saver, "put_writes", nobody, [("c", 1)], "task")
    with pytest.raises(errors.InvalidInput, match="checkpoint_id"):
        await call(saver, "put_writes", at("t"), [("c", 1)], "task")
    assert await call(saver, "list", None) == []


async def test_lone_surrogates_in_ids_are_refused(backend: Backend, call: Call) -> None:
    """An id that UTF-8 can't carry is refused by name, before anything is written."""
    saver, half = backend.open(), "half \ud83e of a character"
    kept = await put(call, saver, at("t"), {"c": 1})
    made = checkpoint(saver, {"c": 2})
    key = kept["configurable"]["checkpoint_id"]
    for config in (at(half), at("t", ns=half), at("t", half)):
        with pytest.raises(errors.InvalidInput):
            await call(saver, "put", config, made, {}, made["channel_versions"])
        with pytest.raises(errors.InvalidInput):
            await call(saver, "get_tuple", config)
        with pytest.raises(errors.InvalidInput):
            await call(saver, "list", config)
    for config in (at(half, key), at("t", key, half), at("t", half)):
        with pytest.raises(errors.InvalidInput):
            await call(saver, "put_writes", config, [("c", 1)], "task")
    with pytest.raises(errors.InvalidInput):
        await call(saver, "put_writes", kept, [("c", 1)], half)
    with pytest.raises(errors.InvalidInput):
        await call(saver, "put_writes", kept, [("c", 1)], "task", half)
    with pytest.raises(errors.InvalidInput):
        await call(saver, "put", at("t"), {**made, "id": half}, {}, made["channel_versions"])
    with pytest.raises(errors.InvalidInput):
        await call(saver, "delete_thread", half)
    with pytest.raises(errors.InvalidInput):
        await call(saver, "copy_thread", "t", half)
    with pytest.raises(errors.InvalidInput):
        await call(saver, "prune", [half])
    assert [t.checkpoint["channel_values"] for t in await call(saver, "list", None)] == [{"c": 1}]
    assert (await call(saver, "get_tuple", at("t"))).pending_writes == []


async def test_lone_surrogates_in_names_are_refused(backend: Backend, call: Call) -> None:
    """A channel or a node whose name UTF-8 can't carry is refused, and nothing is written."""
    saver, half = backend.open(), "half \udc00"
    kept = await put(call, saver, at("t"), {"c": 1})
    refused = (errors.InvalidInput, errors.Unserialisable)
    with pytest.raises(refused):
        await put(call, saver, kept, {half: [1]})
    with pytest.raises(refused):
        await put(call, saver, kept, {"c": 2}, versions_seen={half: {"c": "1"}})
    with pytest.raises(refused):
        await put(call, saver, kept, {"c": 2}, versions_seen={"node": {half: "1"}})
    with pytest.raises(refused):
        await call(saver, "put_writes", kept, [("fine", 1), (half, 1)], "task")
    found = await call(saver, "list", at("t"))
    assert [t.checkpoint["channel_values"] for t in found] == [{"c": 1}]
    assert found[0].pending_writes == []


async def test_names_of_any_characters(backend: Backend, call: Call) -> None:
    """Channels, nodes, tasks, paths, versions and namespaces keep their names to the letter."""
    saver = backend.open()
    short = ODD_NAMES[:-1]  # only thread ids, channels and nodes may be of any length
    for ns in ("", *short):
        values = {name: [f"{ns}-{name}"] for name in ODD_NAMES}
        seen = {name: {name: saver.get_next_version(None, None)} for name in ODD_NAMES}
        made = checkpoint(saver, values, versions_seen=seen, updated_channels=sorted(values))
        config = at("t", ns=ns)
        stored = await call(saver, "put", config, made, {"step": 1}, made["channel_versions"])
        for name in short[-6:]:
            writes = [(name, name), (name + "\0", [name])]
            await call(saver, "put_writes", stored, writes, name, f"path {name}")
        await call(saver, "put_writes", stored, [(name, 1) for name in ODD_NAMES], "\0 task", "~")
        found = await call(saver, "get_tuple", config)
        assert_same_checkpoint(found.checkpoint, made)
        assert_same(found.config, stored, "config")
        want = [
            write
            for name in sorted(short[-6:], key=lambda name: (f"path {name}", name))
            for write in [(name, name, name), (name, name + "\0", [name])]
        ] + [("\0 task", name, 1) for name in ODD_NAMES]
        assert found.pending_writes == want
    spaces = [t.config["configurable"]["checkpoint_ns"] for t in await call(saver, "list", {
        "configurable": {"thread_id": "t"}})]  # fmt: skip
    assert sorted(spaces) == sorted(["", *short])


async def test_names_too_long_for_an_index(backend: Backend, call: Call) -> None:
    """A namespace, checkpoint or task id of 10,000 characters is kept, or refused by name."""
    saver, long = backend.open(), _long_id()
    made = checkpoint(saver, {"c": 1})
    kept = await call(saver, "put", at("t"), made, {}, made["channel_versions"])
    for config, id_ in ((at("long ns", ns=long), made["id"]), (at("long id"), long)):
        try:
            stored = await call(saver, "put", config, {**made, "id": id_}, {}, {})
        except errors.InvalidInput:
            assert await call(saver, "list", {"configurable": config["configurable"]}) == []
        else:
            found = await call(saver, "get_tuple", stored)
            assert_same_checkpoint(found.checkpoint, {**made, "id": id_})
            assert found.config == stored
    for names in ((long, ""), ("task", long)):
        try:
            await call(saver, "put_writes", kept, [("c", 1)], *names)
        except errors.InvalidInput:
            continue
        found = await call(saver, "get_tuple", kept)
        assert (names[0], "c", 1) in found.pending_writes


async def test_versions_keep_their_type(backend: Backend, call: Call) -> None:
    """Versions are text, ints or floats, and come back as what they were."""
    saver = backend.open()
    versions = {"i": 3, "f": 2.5, "big": 2**53 + 1, "s": "00003.5", "n": "3", "g": 1e16, "z": "\0"}
    made = {
        **empty_checkpoint(),
        "channel_values": {name: [name] for name in versions},
        "channel_versions": versions,
        "versions_seen": {"a": dict(versions), "b": {"i": 2, "s": ""}},
    }
    config = await call(saver, "put", at("t"), made, {}, versions)
    other = {"i": 3.0, "f": 2.5, "s": "3.5", "n": 3}
    then = {
        **empty_checkpoint(),
        "channel_values": {name: [name] for name in other},
        "channel_versions": other,
        "versions_seen": {"a": dict(other), "b": {"i": 2.0, "s": ""}},
    }
    await call(saver, "put", config, then, {}, other)
    newest, first = await call(saver, "list", at("t"))
    assert_same_checkpoint(first.checkpoint, made)
    assert_same_checkpoint(newest.checkpoint, then)


@pytest.mark.parametrize("name", ["nul\0in", "it's", 'a "node"', "back\\", "🧵", "%s{}", "", " "])
async def test_graphs_with_odd_names(backend: Backend, name: str) -> None:
    """A compiled graph runs, pauses and goes on with such names for its nodes and channels."""

    def pause(state: Any) -> Any:
        return {name + "!": [interrupt(name)]}

    state = TypedDict("state", {name + "!": Annotated[list, operator.add]})  # type: ignore[misc]
    inner = StateGraph(state).add_node(name + "\0", pause).add_edge(START, name + "\0").compile()
    builder = StateGraph(state).add_node(name, inner).add_edge(START, name)
    graph = builder.compile(checkpointer=backend.open())
    config = {"configurable": {"thread_id": name or "empty"}}
    graph.invoke({name + "!": ["in"]}, config)
    paused = await graph.aget_state(config, subgraphs=True)
    assert paused.next == (name,)
    assert [i.value for i in paused.interrupts] == [name]
    assert paused.tasks[0].state.next == (name + "\0",)
    done = await graph.ainvoke(Command(resume="out"), config)
    assert done == {name + "!": ["in", "in", "out"]}
    assert graph.get_state(config).values == done


# ---- values


# What a serde makes of a value is no question of the database: each serde runs on SQLite.
ELSEWHERE = (("memory", "default"), ("postgres", "default"), ("postgres", "encrypted"))


@pytest.mark.parametrize(
    ("backend", "serde_name"),
    [*(("sqlite", name) for name in SERDES), *ELSEWHERE],
    indirect=["backend"],
)
def test_values_come_back_as_the_serde_gives_them(backend: Backend, serde_name: str) -> None:
    """State, pending writes and metadata are exactly what the user's serde makes of them."""
    saver = backend.open(serde=SERDES[serde_name]())
    serde = saver.serde
    checked = 0
    for corpus in CORPORA:
        values, notes = {}, {}
        for name, value in corpus().items():
            note = {"inside": {"inside": value}, "list": [value]}
            held = {f"{name}: {k}": v for k, v in forms(value).items() if taken(serde, v)}
            if held and taken(serde, {"step": 1, "notes": {name: note}}):
                values |= held
                notes[name] = note
                checked += 1
        metadata = {"step": checked, "notes": notes}
        made = checkpoint(saver, values)
        config = saver.put(at(corpus.__name__), made, metadata, made["channel_versions"])
        saver.put_writes(config, list(values.items()), "task")
        found = saver.get_tuple(config)
        assert found is not None
        what = corpus.__name__
        want = {key: as_serde_gives(serde, value) for key, value in values.items()}
        assert_same(found.checkpoint["channel_values"], want, f"{what}: state")
        written = {channel: value for _, channel, value in found.pending_writes}
        assert_same(written, want, f"{what}: writes")
        assert_same(found.metadata, as_serde_gives(serde, metadata), f"{what}: metadata")
    # A serde that takes next to nothing is one of ours that is wrong.
    assert checked >= {"json": 20, "encrypted json": 20}.get(serde_name, 75)


def test_the_loaded_values_can_be_put_again(backend: Backend) -> None:
    """What was loaded and goes on in the next checkpoint is still the same after that."""
    saver = backend.open()
    serde = saver.serde
    values = {f"{corpus.__name__} {name}": value for corpus in CORPORA
              for name, value in corpus().items()}  # fmt: skip
    config = at("t")
    for _ in range(3):
        made = checkpoint(saver, values)
        config = saver.put(config, made, {"step": 0}, made["channel_versions"])
        found = saver.get_tuple(config)
        want = {key: as_serde_gives(serde, value) for key, value in values.items()}
        assert_same(found.checkpoint["channel_values"], want, "state")
        values = found.checkpoint["channel_values"]


def test_pickle_takes_the_whole_value(backend: Backend) -> None:
    """Where msgpack refuses one piece, that serde pickles the whole value: tuples stay tuples."""
    saver = backend.open(serde=JsonPlusSerializer(pickle_fallback=True))
    odd = ...
    first = {
        "list": [(1, 2), ValueError("kept"), Row([1]), odd],
        "dict": {"a": (1, 2), "b": Row([2]), "c": odd},
        "messages": [HumanMessage("x", additional_kwargs={"t": (1,)}), odd],
        "in message": [HumanMessage("x", additional_kwargs={"t": (1,), "big": odd}), (1,)],
    }
    second = {
        "list": [(1, 2), ValueError("kept"), Row([1]), 1],
        "dict": {"a": (1, 2), "b": Row([2]), "c": 1},
        "messages": [HumanMessage("x", additional_kwargs={"t": (1,)}), 1],
        "in message": [HumanMessage("x", additional_kwargs={"t": (1,)}), (1,)],
    }
    config = at("t")
    for values in (first, second, first, second):
        made = checkpoint(saver, values, id=empty_checkpoint()["id"])
        config = saver.put(config, made, {"v": values["list"]}, made["channel_versions"])
        saver.put_writes(config, list(values.items()), "task")
        found = saver.get_tuple(config)
        want = {k: as_serde_gives(saver.serde, v) for k, v in values.items()}
        assert_same(found.checkpoint["channel_values"], want, "state")


def test_a_value_that_holds_itself_through_pickle(backend: Backend) -> None:
    """A serde that can store a list inside itself gets it back that way."""
    saver = backend.open(serde=Untyped())
    loop: list[Any] = ["core"]
    loop.append(loop)
    made = checkpoint(saver, {"c": loop, "s": "half \ud800"})
    saver.put(at("t"), made, {}, made["channel_versions"])
    found = saver.get_tuple(at("t")).checkpoint["channel_values"]
    assert found["c"][1] is found["c"]
    assert found["s"] == "half \ud800"  # this serde keeps it, so there is nothing to refuse


async def refusal(attempt: Awaitable[Any], what: object) -> errors.Unserialisable:
    """The error that this attempt must end in."""
    try:
        await attempt
    except errors.Unserialisable as error:
        return error
    raise AssertionError(f"was stored: {what!r:.300}")


async def assert_refused(
    call: Call, saver: Any, kept: Any, values: dict[str, Any], channel: str, *path: str
) -> None:
    """`values` is refused, with the place, as state and as writes; the thread is as it was."""
    before = await call(saver, "list", at("t"))
    state = put(call, saver, kept, {"first": ["fine"], **values, "last": ["fine"]})
    writes = call(saver, "put_writes", kept, [("a", 1), *values.items(), ("b", 2)], "task")
    for attempt in (state, writes):
        error = await refusal(attempt, values)
        assert error.channel == channel
        assert channel in str(error)
        for part in path:
            assert part in error.path, error.path
            assert part in str(error)
    after = await call(saver, "list", at("t"))
    assert len(after) == len(before)
    assert_same([t.pending_writes for t in after], [t.pending_writes for t in before])
    assert_same([t.checkpoint for t in after], [t.checkpoint for t in before])


@pytest.mark.parametrize("serde_of_test", ["default", "encrypted"])
async def test_refused_values_say_where(backend: Backend, call: Call, serde_of_test: str) -> None:
    """What the serde can't store raises with channel and path; nothing is left half written."""
    saver = backend.open(serde=SERDES[serde_of_test]())
    kept = await put(call, saver, at("t"), {"first": ["kept"], "odd": [{"outer": [0, 1]}]})
    for value in refusable().values():
        assert not taken(saver.serde, value)
        odd = [{"outer": [0, value]}]
        await assert_refused(call, saver, kept, {"odd": odd}, "odd", "[0]", "outer", "[1]")
        await assert_refused(call, saver, kept, {"odd": value}, "odd")
        metadata = {"step": 1, "note": {"outer": [value]}}
        error = await refusal(put(call, saver, kept, {"first": 1}, metadata=metadata), value)
        for part in ("metadata", "note", "outer"):
            assert part in str(error)
    mixed = [HumanMessage("x"), HumanMessage("y", additional_kwargs={"big": [...]})]
    places = ("[1]", "additional_kwargs", "big", "[0]")
    await assert_refused(call, saver, kept, {"messages": mixed}, "messages", *places)
    held = {"k": Point(Model(number=1, anything=(1, ...)))}
    await assert_refused(call, saver, kept, {"held": held}, "held", "k", "x", "anything", "[1]")
    # What follows a refusal is neither refused nor mixed up with it.
    good = [{"outer": [0, 1]}, {"outer": [0, 2]}]
    await put(call, saver, kept, {"odd": good, "first": ["kept", "more"]})
    await call(saver, "put_writes", kept, [("odd", good)], "task")
    found = await call(saver, "list", at("t"))
    assert [t.checkpoint["channel_values"]["first"] for t in found] == [["kept", "more"], ["kept"]]
    assert found[0].checkpoint["channel_values"]["odd"] == good
    assert found[1].pending_writes == [("task", "odd", good)]


async def test_a_refused_value_in_a_channel_of_an_odd_name(saver: Any, call: Call) -> None:
    """The channel that the error names is the whole name, whatever characters are in it."""
    kept = await put(call, saver, at("t"), {"c": 1})
    for name in ("list[0]", "a.b['c']", "key 'k'", "nul\0", "%s {}"):
        await assert_refused(call, saver, kept, {name: [1, [object()]]}, name, "[1]", "[0]")
        await assert_refused(call, saver, kept, {name: [1, ["\ud800"]]}, name, "[1]", "[0]")


async def test_pickle_fallback_refuses_too(backend: Backend, call: Call) -> None:
    """What not even pickle takes is refused in the same way."""
    saver = backend.open(serde=JsonPlusSerializer(pickle_fallback=True))
    kept = await put(call, saver, at("t"), {"c": 1})
    for value in (lambda: 1, (x for x in ()), nested(3000, lambda v: [v])):
        await assert_refused(call, saver, kept, {"odd": [{"outer": [0, value]}]}, "odd")
    await put(call, saver, kept, {"c": [object, 2**70]})
    found = await call(saver, "get_tuple", at("t"))
    assert found.checkpoint["channel_values"] == {"c": [object, 2**70]}


async def test_a_serde_of_ones_own_refuses(backend: Backend, call: Call) -> None:
    """A custom serde's refusal is translated like any other."""
    saver = backend.open(serde=JsonSerde())
    kept = await put(call, saver, at("t"), {"c": 1})
    await assert_refused(call, saver, kept, {"odd": {"k": [1, b"bytes"]}}, "odd", "k", "[1]")
    with pytest.raises(errors.Unserialisable, match="metadata"):
        await put(call, saver, kept, {"c": 2}, metadata={"step": 1, "note": [b"bytes"]})


def surrogates() -> dict[str, tuple[Any, tuple[str, ...]]]:
    """Values with half a character in them, and what the path to it must name."""
    half = "a \ud83e b"
    edited = AIMessage("fine", id="m")
    edited.tool_calls = [{"name": "t", "args": {"deep": [half]}, "id": "c", "type": "tool_call"}]
    return {
        "alone": (half, ()),
        "low half": ("\udfff", ()),
        "both halves": ("\ud83e\uddf5", ()),
        "in list": (["x", half], ("[1]",)),
        "in scalars": ([1, 2, half], ("[2]",)),
        "in dict": ({"a": {"b": half}}, ("a", "b")),
        "in tuple": ((1, (half,)), ("[1]", "[0]")),
        "in set": ([{half}], ("[0]",)),
        "key": ({"a": {half: 1}}, ("a",)),
        "first key": ({half: 1}, ()),
        "key in tuple": ({"a": {(1, half): 1}}, ("a",)),
        "content": ([HumanMessage("x"), HumanMessage(half)], ("[1]", "content")),
        "block": ([HumanMessage([{"type": "text", "text": half}])], ("content", "[0]", "text")),
        "message id": ([HumanMessage("x", id=half)], ("[0]", "id")),
        "message name": ([HumanMessage("x", name=half)], ("[0]", "name")),
        "kwargs": ([AIMessage("x", additional_kwargs={"k": [half]})], ("additional_kwargs", "k")),
        "kwargs key": ([AIMessage("x", additional_kwargs={half: 1})], ("additional_kwargs",)),
        "response": ([AIMessage("x", response_metadata={"k": half})], ("response_metadata", "k")),
        "tool call": ([edited], ("tool_calls", "[0]", "args", "deep")),
        "artifact": ([ToolMessage("x", tool_call_id="1", artifact=Point([half]))], ("artifact",)),
        "tool call id": ([ToolMessage("x", tool_call_id=half)], ("tool_call_id",)),
        "extra field": ([HumanMessage("x", own=half)], ("own",)),
        "message": (HumanMessage(half), ("content",)),
        "message in dict": ({"k": [HumanMessage(half)]}, ("k", "[0]", "content")),
        "dataclass": ([Point(1, {"k": half})], ("[0]", "y", "k")),
        "slots": (Frozen(half), ("inner",)),
        "model": ({"m": Model(number=1, anything=[half])}, ("m", "anything", "[0]")),
        "extra of model": (Open(own=half), ("own",)),
        "secret": (Open(secret=half), ("secret",)),
        "named": (Pair(1, half), ()),
        "deque": (collections.deque([1, half]), ("[1]",)),
        "path": ([pathlib.Path("a") / half], ("[0]",)),
        "pattern": ([re.compile(half)], ("[0]",)),
        "send": ([Send("node", {"k": half})], ("[0]", "arg", "k")),
        "interrupt": ([Interrupt({"q": half}, id="i")], ("[0]", "value", "q")),
        "command": (Command(update={"k": half}), ("update", "k")),
        "snapshot": (_DeltaSnapshot([HumanMessage(half)]), ("[0]", "content")),
        "document": ([Document(half)], ("page_content",)),
        "text of one's own": ([Text(half)], ("[0]",)),
        "far back": (["?" * 100] * 500 + [half], ("[500]",)),
        "long text": ("?" * 100_000 + half, ()),
    }


@pytest.mark.parametrize("serde_of_test", ["default", "encrypted"])
async def test_lone_surrogates_in_values_are_refused(
    backend: Backend, call: Call, serde_of_test: str
) -> None:
    """Half a character anywhere is refused with its place: the serde would make it a "?"."""
    saver = backend.open(serde=SERDES[serde_of_test]())
    kept = await put(call, saver, at("t"), {"c": 1})
    for value, path in surrogates().values():
        await assert_refused(call, saver, kept, {"odd": value}, "odd", *path)
        metadata = {"step": 1, "note": {"v": value}}
        error = await refusal(put(call, saver, kept, {"c": 2}, metadata=metadata), value)
        for part in ("metadata", "note", *path):
            assert part in str(error)
    with pytest.raises(errors.Unserialisable, match="metadata"):
        await put(call, saver, kept, {"c": 2}, metadata={"step": 1, "note": "\ud800"})
    with pytest.raises((errors.Unserialisable, errors.InvalidInput)):
        await put(call, saver, {**kept, "metadata": {"user": "\ud800"}}, {"c": 2})
    assert len(await call(saver, "list", at("t"))) == 1
    await put(call, saver, kept, {"c": ["what?", "🧵"]})
    found = await call(saver, "get_tuple", at("t"))
    assert found.checkpoint["channel_values"] == {"c": ["what?", "🧵"]}


async def test_numbers_in_the_config_reach_metadata(backend: Backend, call: Call) -> None:
    """Scalars of a config's metadata are stored with the checkpoint, every number as it is."""
    saver = backend.open()
    given_ = {"big": 1e16, "minus": -0.0, "nan": float("nan"), "inf": float("inf"), "yes": True}
    given_ |= {"wide": 2**64 - 1, "text": "ü", "half": 0.1, "zero": 0}
    await put(call, saver, {**at("t"), "metadata": given_}, {"c": 1}, metadata={"step": 1})
    found = await call(saver, "get_tuple", at("t"))
    assert_same(found.metadata, {"step": 1, **given_}, "metadata")


async def test_50_megabytes_in_one_message(durable: Backend) -> None:
    """A message of 50 MB of text that does not compress is stored and read back."""
    saver = durable.open()
    text = base64.b64encode(random.Random(5).randbytes(37_500_000)).decode()
    assert len(text) == 50_000_000
    made = checkpoint(saver, {"messages": [HumanMessage("small"), HumanMessage(text, id="big")]})
    await saver.aput(at("t"), made, {"step": 1}, made["channel_versions"])
    found = await saver.aget_tuple(at("t"))
    small, big = found.checkpoint["channel_values"]["messages"]
    assert small == HumanMessage("small")
    assert big.id == "big"
    assert big.content == text


# ---- any value at all

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=True, width=64)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.binary(max_size=12)
    | st.decimals(allow_nan=True).filter(lambda d: not d.is_snan())
    | st.datetimes(timezones=st.none() | st.just(dt.timezone.utc) | st.timezones())
    | st.dates()
    | st.timedeltas()
    | st.uuids()
    | st.sampled_from([Colour.RED, Level.HIGH, Rights.WRITE, np.arange(3), Frozen((1,))])
)
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.integers(-5, 2**60)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.builds(Point, inner, inner)
        | st.builds(_DeltaSnapshot, inner)
        | st.builds(lambda v: HumanMessage("x", additional_kwargs={"v": v}), inner)
    ),
    max_leaves=12,
)


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.dictionaries(st.sampled_from("abcdef"), values, min_size=1, max_size=4))
def test_any_value_is_what_the_serde_gives(saver: Any, data: dict[str, Any]) -> None:
    """Whatever is put, as state, as a write and in metadata, is what the serde gives back."""
    serde = saver.serde
    made = checkpoint(saver, data)
    metadata = {"step": 1, "data": data}
    config = saver.put(at("t"), made, metadata, made["channel_versions"])
    saver.put_writes(config, list(data.items()), "task")
    found = saver.get_tuple(config)
    want = {key: as_serde_gives(serde, value) for key, value in data.items()}
    assert_same(found.checkpoint["channel_values"], want, "state")
    assert_same({c: v for _, c, v in found.pending_writes}, want, "writes")
    assert_same(found.metadata, as_serde_gives(serde, metadata), "metadata")
