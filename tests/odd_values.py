"""Values of every type, serdes of every kind, and what is the same value."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import json
import pathlib
import pickle
import random
import re
import struct
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pydantic
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Command, Interrupt, Overwrite, Send
from pydantic import BaseModel, PrivateAttr

from langgraph_wyrd.types.migrations import Classes
from langgraph_wyrd.types.python_types import exact_dumps
from langgraph_wyrd.types.rebuild import guarded

Call = Callable[..., Any]


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
