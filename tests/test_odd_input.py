"""What the contract allows and nobody expects: odd names, odd ids, and values of every type."""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import json
import operator
import pathlib
import pickle
import random
import re
import struct
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pydantic
import pytest
from conftest import Backend
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, Overwrite, Send, interrupt
from pydantic import BaseModel, PrivateAttr
from typing_extensions import TypedDict

from langgraph_wyrd import errors
from langgraph_wyrd.types.migrations import Classes
from langgraph_wyrd.types.python_types import exact_dumps
from langgraph_wyrd.types.rebuild import guarded

Call = Callable[..., Any]

# ---- telling two values apart


def differences(got: Any, want: Any, at: str = "") -> Iterator[str]:
    """Every way in which `got` is not exactly `want`: types, order, bits, hidden attributes."""
    if type(got) is not type(want):
        kinds = type(got).__name__, type(want).__name__
        yield f"{at}: {kinds[0]} {got!r:.80} instead of {kinds[1]} {want!r:.80}"
    elif isinstance(want, float):
        if struct.pack(">d", got) != struct.pack(">d", want):
            yield f"{at}: {got!r} instead of {want!r}"
    elif isinstance(want, dict):
        if len(got) != len(want):
            yield f"{at}: keys {list(got)!r:.200} instead of {list(want)!r:.200}"
        for (got_key, got_item), (key, item) in zip(got.items(), want.items(), strict=False):
            yield from differences(got_key, key, f"{at} key {key!r:.40}")
            yield from differences(got_item, item, f"{at}[{key!r:.40}]")
    elif isinstance(want, list | tuple | collections.deque):
        if len(got) != len(want) or getattr(got, "maxlen", 0) != getattr(want, "maxlen", 0):
            yield f"{at}: {got!r:.200} instead of {want!r:.200}"
        for place, (got_item, item) in enumerate(zip(got, want, strict=False)):
            yield from differences(got_item, item, f"{at}[{place}]")
    elif isinstance(want, set | frozenset):
        if len(got) != len(want):
            yield f"{at}: {got!r:.200} instead of {want!r:.200}"
        for got_item, item in zip(sorted(got, key=repr), sorted(want, key=repr), strict=False):
            yield from differences(got_item, item, f"{at}{{}}")
    elif isinstance(want, np.ndarray):
        for what in ("dtype", "shape", "strides"):
            if getattr(got, what) != getattr(want, what):
                yield f"{at}.{what}: {getattr(got, what)} instead of {getattr(want, what)}"
        if got.flags.writeable != want.flags.writeable or got.tobytes() != want.tobytes():
            yield f"{at}: array {got!r:.200} instead of {want!r:.200}"
    elif isinstance(want, BaseModel):
        # Order of fields inside an object is not part of its value; everything else is.
        yield from differences(_by_name(vars(got)), _by_name(vars(want)), at)
        for hidden in ("__pydantic_fields_set__", "__pydantic_private__"):
            yield from differences(getattr(got, hidden), getattr(want, hidden), f"{at}.{hidden}")
        extras = [_by_name(model.__pydantic_extra__ or {}) for model in (got, want)]
        yield from differences(*extras, f"{at}.__pydantic_extra__")
        if (got.__pydantic_extra__ is None) != (want.__pydantic_extra__ is None):
            yield f"{at}: __pydantic_extra__ is None on one side"
    elif isinstance(want, dt.datetime | dt.time):
        if (repr(got), got.tzinfo) != (repr(want), want.tzinfo) or got.fold != want.fold:
            yield f"{at}: {got!r} instead of {want!r}"
    elif isinstance(want, BaseException):
        yield from differences(got.args, want.args, f"{at}.args")
        yield from differences(vars(got), vars(want), at)
    elif isinstance(want, decimal.Decimal):
        if got.as_tuple() != want.as_tuple():
            yield f"{at}: {got!r} instead of {want!r}"
    elif attributes := _attributes(want):
        yield from differences(_attributes(got), attributes, at)
    elif got != want or repr(got) != repr(want):
        yield f"{at}: {got!r:.200} instead of {want!r:.200}"


def _by_name(fields: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(fields.items()))


def _attributes(value: Any) -> dict[str, Any]:
    """What an object of a class of somebody's own holds, whether in a dict or in slots."""
    if isinstance(value, enum.Enum | pathlib.PurePath | re.Pattern | ZoneInfo | fractions.Fraction):
        return {}
    names = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
    held = {name: getattr(value, name) for name in names if hasattr(value, name)}
    held.pop("__weakref__", None)
    return held | getattr(value, "__dict__", {})


def assert_same(got: Any, want: Any, what: str = "value") -> None:
    found = list(differences(got, want, what))
    assert not found, "\n".join(found[:10])


def assert_same_checkpoint(got: Any, want: Any) -> None:
    """All of a checkpoint; the order of its channels and nodes is nobody's business."""
    assert_same(_in_order(got), _in_order(want), "checkpoint")


def _in_order(made: Any) -> dict[str, Any]:
    inner = {key: _by_name(item) if isinstance(item, dict) else item for key, item in made.items()}
    inner["versions_seen"] = {k: _by_name(seen) for k, seen in inner["versions_seen"].items()}
    return _by_name(inner)


def as_serde_gives(serde: Any, value: Any) -> Any:
    """What a plain saver would hand back: the serde's word on this value, with what it can't
    rebuild kept, and Python's own types as they were."""
    ours = type(serde) is JsonPlusSerializer
    dumps = exact_dumps(serde) if ours else serde.dumps_typed
    return guarded(serde, Classes()).loads_typed(dumps(value))


# ---- checkpoints through the raw contract


def at(thread_id: Any, checkpoint_id: str | None = None, ns: str = "") -> dict[str, Any]:
    config = {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
    return {"configurable": {k: v for k, v in config.items() if v is not None}}


def checkpoint(saver: Any, values: dict[str, Any], **more: Any) -> Any:
    versions = {channel: saver.get_next_version(None, None) for channel in values}
    return {**empty_checkpoint(), "channel_values": values, "channel_versions": versions, **more}


async def put(call: Call, saver: Any, config: Any, values: dict[str, Any], **more: Any) -> Any:
    """A checkpoint with these values; its config."""
    metadata = more.pop("metadata", {"source": "loop", "step": 1})
    made = checkpoint(saver, values, **more)
    return await call(saver, "put", config, made, metadata, made["channel_versions"])


# ---- names


def _long_id() -> str:
    letters = random.Random(20)  # random, because what repeats compresses and hides index limits
    ranges = (range(32, 127), range(0x4E00, 0x9F00), range(0x1F300, 0x1F600))
    return "".join(chr(letters.choice(letters.choice(ranges))) for _ in range(10_000))


ODD_NAMES = [
    "it's",
    '"double"',
    "back\\slash\\",
    "`tick`",
    "x'; DROP TABLE wyrd_threads; --",
    "%s %(name)s ? :name $1 {} {0}",
    "100%_*[a]",
    "nul\0inside",
    "nul\0other",
    "\0",
    "tab\tand\nline\r\n",
    " space around ",
    "space around",
    "naïve",
    "nai\u0308ve",  # the same word to the eye, another string
    "\u0131 İ ß \u017f",
    "עברית ‏مرحبا‎",
    "🧵👩‍👩‍👧",
    "\ufeff\ufffe\uffff",
    "\U0010ffff",
    "Case",
    "case",
    "1e3",
    "null",
    "__start__",
    "branch:to:x",
    "a|b:c|d",
    _long_id(),
]


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


class Colour(enum.Enum):
    RED = "red"
    MIXED = (1, "two")


class Level(enum.IntEnum):
    HIGH = 3


class Word(str, enum.Enum):
    YES = "yes"


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Pair(NamedTuple):
    left: Any
    right: Any = None


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    inner: Any


class Model(BaseModel):
    number: int
    anything: Any = None
    when: dt.datetime | None = None
    _private: int = PrivateAttr(default=3)


class Open(BaseModel, extra="allow", arbitrary_types_allowed=True):
    secret: pydantic.SecretStr | None = None


class Text(str):
    pass


class Whole(int):
    pass


class Row(list):
    pass


def nested(depth: int, wrap: Callable[[Any], Any], core: Any = 1) -> Any:
    for _ in range(depth):
        core = wrap(core)
    return core


def numbers() -> dict[str, Any]:
    return {
        "1e16": 1e16,
        "floats": [1e16, 1e17, 1.5e300, 5e-324, -0.0, 0.0, 1.0, 0.1, 123456789012345680.0],
        "not finite": {"nan": float("nan"), "inf": [float("inf"), -float("inf")]},
        "nan": float("nan"),
        "inf": float("inf"),
        "-0.0": -0.0,
        "nan of its own": struct.unpack(">d", bytes.fromhex("7ff8000000000123"))[0],
        "64 bits": [2**64 - 1, -(2**63), 2**63, 2**53 + 1, 2**32, 255, 256, -1, -129],
        "2**64-1": 2**64 - 1,
        "alike": [1, True, 1.0, 0, False, -0.0, "1", b"1", None],
        "bool": True,
        "decimal": [decimal.Decimal("1.10"), decimal.Decimal("-0"), decimal.Decimal("NaN")],
        "long decimal": decimal.Decimal("3." + "14159" * 20),
        "whole": [Whole(3), Level.HIGH],
    }


def texts() -> dict[str, Any]:
    return {
        "empty": "",
        "nul": "nul\0 in the \0\0middle\0",
        "nul inside": {"k\0": ["\0", {"\0": "\0"}]},
        "nul in message": [
            HumanMessage("a\0b", id="\0", name="n\0", additional_kwargs={"\0": "\0"})
        ],
        "odd": ODD_NAMES,
        "question marks": ["?", "what?", {"?": "??"}],
        "text of one's own": [Text("mine"), HumanMessage(Text("mine")), Word.YES],
        "long": "word " * 5000,
        "bytes": b"\0\xff\x80",
        "bytearray": bytearray(b"\0\xff"),
        "bytes inside": [b"", b"\0" * 2000, bytearray(b"ab"), {"k": bytearray(b"cd")}, (b"e",)],
        "memoryview": memoryview(b"view"),
    }


def containers() -> dict[str, Any]:
    return {
        "none": None,
        "empty ones": [[], {}, (), set(), frozenset(), [[]], "", b"", None],
        "empty list": [],
        "empty dict": {},
        "empty tuple": (),
        "tuple": (1, (2, [3, (4,)])),
        "tuples": [(1, 2), [3, (4, 5)], {"k": (6,)}],
        "sets": [{1, "a", None}, frozenset({1, 2}), {frozenset({3}), frozenset()}, {(1, 2)}],
        "set": {"x", "y", "zebra", "apple"},
        "frozenset": frozenset({2**40, "a"}),
        "set of tuples": frozenset({(1, 2)}),
        "deque": collections.deque([1, (2,), "x"]),
        "named": [Pair(1, (2,)), Pair([Pair(1)])],
        "named alone": Pair(1, {"k": (1,)}),
        "subclasses": [Row([1])],
        "order": {"z": 1, "a": {"y": 1, "b": 2}, "m": [{"2": 1, "1": 2}]},
        "keys": {True: 1, 2: 3, None: 4, 1.5: 6, "x": b"x"},
        "same key twice": {1: "int", "1": "text"},
        "tuple keys": {(1, 2): 3, ("a", (b"b", None)): {(): 1}},
        "keys inside": [{(1, 2): {3: (4,)}}, {"k": {5: 6}}],
        "odd keys": {dt.date(2020, 1, 1): 1, uuid.UUID(int=5): 2, b"x": 3},
        "enum keys": {Colour.RED: 1, Level.HIGH: 2, Word.YES: 3},
        "nan key": {float("nan"): 1, float("inf"): 2},
        "deep list": nested(200, lambda v: [v]),
        "deep dict": nested(200, lambda v: {"k": v, "l": 0}),
        "deep tuple": nested(200, lambda v: (v, 1)),
        "deep message": [HumanMessage("x", additional_kwargs={"k": nested(190, lambda v: [v])})],
        "deep message dict": AIMessage("x", response_metadata=nested(190, lambda v: {"k": v})),
        "twice the same": [shared := {"k": [1]}, shared, [shared]],
    }


def times() -> dict[str, Any]:
    berlin, indian = ZoneInfo("Europe/Berlin"), dt.timezone(dt.timedelta(hours=5, minutes=30))
    return {
        "naive": dt.datetime(2020, 2, 29, 1, 2, 3, 4),
        "utc": dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc),
        "zoned": dt.datetime(2024, 7, 1, 12, tzinfo=berlin),
        "fold": dt.datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=1),
        "offset": [dt.datetime(1, 1, 1, tzinfo=indian), dt.datetime.max, dt.datetime.min],
        "date": [dt.date(2020, 2, 29), dt.date.min],
        "time": [
            dt.time(1, 2, 3, 4),
            dt.time(23, tzinfo=indian),
            dt.time(1, tzinfo=berlin, fold=1),
        ],
        "delta": [dt.timedelta(-1, 5, 7), dt.timedelta.max, dt.timedelta(0)],
        "zones": [berlin, indian, dt.timezone.utc, dt.timezone(dt.timedelta(hours=1), "CET")],
    }


def objects() -> dict[str, Any]:
    return {
        "uuid": [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)],
        "path": [pathlib.Path("/a/b c"), pathlib.Path("."), pathlib.Path("rel/ü")],
        "pattern": [re.compile("a.b", re.I | re.M), re.compile(b"\0")],
        "addresses": [
            ipaddress.ip_address("10.0.0.1"),
            ipaddress.ip_address("fe80::1%eth0"),
            ipaddress.ip_interface("10.0.0.1/24"),
            ipaddress.ip_interface("::1/64"),
            ipaddress.ip_network("10.0.0.0/8"),
            ipaddress.ip_network("2001:db8::/32"),
        ],
        "enums": [Colour.RED, Colour.MIXED, Level.HIGH, Word.YES, Rights.READ | Rights.WRITE],
        "enum": Colour.RED,
        "dataclass": Point((1, 2), {"k": Frozen(b"x")}),
        "dataclasses": [Point(float("nan")), Frozen(Frozen((1,))), {"k": Point(Colour.RED)}],
        "model": Model(number=1, anything=(1, Point(2)), when=dt.datetime(2020, 1, 1)),
        "models": [Model(number=2, anything=Model(number=3)), Open(extra=(1, 2), secret="s")],
        "unchecked model": Model.model_construct(number="not a number", anything={1: 2}),
        "document": [Document("text", metadata={"k": (1,)}, id="d")],
        "exception": ValueError("a", {"b": 1}),
        "exceptions": [KeyError("k"), {"e": OSError(2, "x", "file")}],
        "send": Send("node", {"k": (1, HumanMessage("hi"))}),
        "sends": [Send("a", Point(1)), Send("b", None, timeout=3.0), Send("\0", [])],
        "interrupts": [Interrupt((1, 2), id="i"), Interrupt({"q": "?"}, id="")],
        "interrupt": Interrupt(Model(number=1), id="i", response_schema={"type": "object"}),
        "command": Command(goto=[Send("x", 1)], update={"k": (1,)}, resume={"a": 1}),
        "overwrite": Overwrite([1, (2,)]),
        "snapshot": _DeltaSnapshot([HumanMessage("x", id="1"), (1,)]),
        "snapshots": [_DeltaSnapshot({"k": (1,)}), _DeltaSnapshot(None)],
        "dict snapshot": _DeltaSnapshot({"k": (1,), "l": _DeltaSnapshot(2)}),
        "scalar snapshot": _DeltaSnapshot(5),
        "messages": [
            SystemMessage("s"),
            HumanMessage([{"type": "text", "text": "x", "n": (1,)}], id="h", name="n"),
            AIMessage("", tool_calls=[{"name": "t", "args": {"a": (1, 1e16)}, "id": "c"}]),
            ToolMessage("r", tool_call_id="c", artifact=Point((1,)), status="error"),
            ToolMessage("r", tool_call_id="c", artifact=Model(number=1)),
            HumanMessage("x", own={"k": Colour.RED}),
        ],
        "message in tuple": (HumanMessage("x", id="1"), [AIMessage("y", id="2")]),
        "message in dict": {"a": HumanMessage("x"), "b": {"c": [AIMessage("y")]}},
        "type switching": [[1], {"k": 1}, (1,), 1, "1", HumanMessage("1"), None],
    }


def arrays() -> dict[str, Any]:
    grid = np.arange(24, dtype="<i4").reshape(4, 6)
    return {
        "c order": grid,
        "f order": np.asfortranarray(grid),
        "strided": [grid[::2, ::3], grid.T, grid[::-1], np.arange(20)[::3]],
        "types": [np.array([1.5, np.nan, -0.0], dtype=t) for t in ("f2", "f4", "f8", ">f8")],
        "more types": [
            np.array([True]),
            np.array([1 + 2j]),
            np.array(["ab", "ü"]),
            np.array([b"x"]),
        ],
        "shapes": [np.array(5), np.zeros((0, 3)), np.zeros((2, 0), order="F"), np.zeros((1, 1, 1))],
        "structured": np.array([(1, 2.5)], dtype=[("a", "<i4"), ("b", "<f8")]),
        "in a dataclass": Point(np.arange(3), {"k": np.ones(2)}),
        "in a message": [ToolMessage("x", tool_call_id="1", artifact={"a": np.arange(3)})],
        "numpy text": [np.str_("text"), {"k": np.str_("t")}],
        "embedding": [{"v": np.linspace(0, 1, 300), "text": "x"}],
    }


def refusable() -> dict[str, Any]:
    """What the default serde refuses (a serde of another kind may take some of it)."""
    loop: list[Any] = [1]
    loop.append(loop)
    return {
        "int key of 65 bits": {2**64: 1},
        "function": len,
        "lambda": lambda: 1,
        "class": Point,
        "object": object(),
        "generator": (x for x in ()),
        "ellipsis": ...,
        "frozenset key": {frozenset({1}): 2},
        "decimal key": {decimal.Decimal(1): 2},
        "numpy float": np.float64(1.5),
        "numpy int": np.int64(4),
        "numpy bool": np.bool_(True),
        "numpy time": np.datetime64("2020-01-01"),
        "time array": np.array(["2020-01-01"], dtype="M8[D]"),
        "inside itself": loop,
        "deep": nested(3000, lambda v: [v]),
        "deep dict": nested(3000, lambda v: {"k": v}),
    }


CORPORA = [numbers, texts, containers, times, objects, arrays]


class JsonSerde:
    """A serde of somebody's own: JSON, which changes tuples and keys, with a tag of its own."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return "my json/é", json.dumps(obj).encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        assert data[0] == "my json/é"
        return json.loads(data[1])


class Backwards(JsonPlusSerializer):
    """A subclass of the default serde with ideas of its own: lists come back the other way."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        value = super().loads_typed(data)
        return value[::-1] if isinstance(value, list) else value


class Ciphered:
    """The cipher of somebody's own: turns every bit around."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "turned", bytes(b ^ 0xFF for b in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "turned"
        return bytes(b ^ 0xFF for b in ciphertext)


class Untyped:
    """The old protocol: two methods, no tags."""

    dumps = staticmethod(pickle.dumps)
    loads = staticmethod(pickle.loads)


SERDES: dict[str, Callable[[], Any]] = {
    "default": JsonPlusSerializer,
    "pickle fallback": lambda: JsonPlusSerializer(pickle_fallback=True),
    "strict": lambda: JsonPlusSerializer(allowed_msgpack_modules=None),
    "own hook": lambda: JsonPlusSerializer(__unpack_ext_hook__=lambda code, data: (code, data)),
    "encrypted": lambda: EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16),
    "encrypted pickle fallback": lambda: EncryptedSerializer(
        Ciphered(), JsonPlusSerializer(pickle_fallback=True)
    ),
    "encrypted json": lambda: EncryptedSerializer(Ciphered(), JsonSerde()),
    "json": JsonSerde,
    "subclass": Backwards,
    "untyped": Untyped,
}


@pytest.fixture(params=list(SERDES))
def serde_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def forms(value: Any) -> dict[str, Any]:
    """A value as a channel holds it: alone, and inside others."""
    return {
        "alone": value,
        "in list": [value, "x", value],
        "in dict": {"k": value, "l": [value]},
        "in tuple": (value,),
    }


def taken(serde: Any, value: Any) -> bool:
    try:
        serde.loads_typed(serde.dumps_typed(value))
    except Exception:
        return False
    return True


def test_values_come_back_as_the_serde_gives_them(backend: Backend, serde_name: str) -> None:
    """State, pending writes and metadata are exactly what the user's serde makes of them."""
    saver = backend.open(serde=SERDES[serde_name]())
    serde = saver.serde
    checked = 0
    for corpus in CORPORA:
        config = at(corpus.__name__)
        for name, value in corpus().items():
            values = {k: v for k, v in forms(value).items() if taken(serde, v)}
            metadata = {"step": checked, "value": {"inside": value}, "list": [value]}
            if not values or not taken(serde, metadata):
                continue
            made = checkpoint(saver, values)
            config = saver.put(config, made, metadata, made["channel_versions"])
            saver.put_writes(config, list(values.items()), "task")
            found = saver.get_tuple(config)
            assert found is not None
            what = f"{corpus.__name__}: {name}"
            want = {key: as_serde_gives(serde, value) for key, value in values.items()}
            assert_same(found.checkpoint["channel_values"], want, f"{what}: state")
            written = {channel: value for _, channel, value in found.pending_writes}
            assert_same(written, want, f"{what}: writes")
            assert_same(found.metadata, as_serde_gives(serde, metadata), f"{what}: metadata")
            checked += 1
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


async def test_50_megabytes_in_one_message(backend: Backend) -> None:
    """A message of 50 MB of text that does not compress is stored and read back."""
    saver = backend.open()
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
    max_examples=40,
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
