"""Python's own types come back as what they were, or are refused: never as another type."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import FunctionType
from typing import Any

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel, ConfigDict, Field

from langgraph_wyrd import errors
from langgraph_wyrd.types import python_types
from langgraph_wyrd.types.migrations import Classes
from langgraph_wyrd.types.rebuild import guarded
from tests.conftest import Backend
from tests.odd_values import CORPORA, assert_same, at, checkpoint, put

Call = Callable[..., Any]


@dataclasses.dataclass
class Tally:
    counts: Any
    ratio: Fraction = Fraction(1, 2)


class Text(str):
    pass


class Number(int):
    pass


class Rows(list[int]):
    pass


class Fields(dict[str, int]):
    pass


ordered = OrderedDict[Any, Any](b=1, a=2)
ordered.move_to_end("b")

EXACT: dict[str, Any] = {
    "Counter": Counter("aab"),
    "Counter of numbers": Counter({1: 2, (1, 2): 3, None: -1}),
    "defaultdict": defaultdict(list, b=[1], a=[2]),
    "defaultdict of nothing": defaultdict(None, a=1),
    "defaultdict of Counters": defaultdict(Counter, a=Counter("b")),
    "OrderedDict": ordered,
    "deque": deque([1, "x"], maxlen=5),
    "Fraction": Fraction(-1, 3),
    "big Fraction": Fraction(1 << 80, 3),
    "complex": 1 - 2.5j,
    "complex infinity": complex("inf"),
    "range": range(10, -3, -2),
    "long range": range(1 << 70),
    "PurePosixPath": PurePosixPath("/a/../b c"),
    "PureWindowsPath": PureWindowsPath("C:/a/b"),
    "relative": PurePosixPath("."),
    "65 bits": 1 << 64,
    "-65 bits": -(1 << 63) - 1,
    "huge": 10**400,
    "in a list": [Counter("a"), {"b": OrderedDict(c=1 << 70)}],
    "in a dict": {"a": [Fraction(1, 3)], "b": {1: 2j}},
    "in a set": {Fraction(1, 2), 1 << 70},
    "in a dataclass": Tally(Counter("ab")),
    "one in the other": Counter({"a": Fraction(1, 2), "b": 1 << 70}),  # type: ignore[dict-item]
    "a subclass too": [defaultdict(int, a=1)],
}


@pytest.mark.parametrize("name", EXACT)
async def test_it_comes_back_as_what_it_was(durable: Backend, call: Call, name: str) -> None:
    """As a channel's value, as a task's write, and after a further step on a loaded value."""
    value = EXACT[name]
    saver = durable.open()
    config = await put(call, saver, at("t"), {"x": value, "list": [value]})
    await call(saver, "put_writes", config, [("y", value)], "task")
    for reader in (saver, durable.open()):
        found = await call(reader, "get_tuple", config)
        values = found.checkpoint["channel_values"]
        assert_same(values["x"], value)
        assert_same(values["list"], [value])
        assert_same(found.pending_writes[0][2], value)
    await put(call, reader, config, {**values, "list": [*values["list"], 1]})
    again = (await call(durable.open(), "get_tuple", at("t"))).checkpoint["channel_values"]
    assert_same(again["x"], value)
    assert_same(again["list"], [value, 1])


# Of a Fraction and a defaultdict in a message LangChain's own dump makes text and a dict.
DUMPED = {"in a set", "in a dataclass", "in a dict", "one in the other", "a subclass too"}
IN_MESSAGES = {
    name: value
    for name, value in EXACT.items()
    if name not in DUMPED and not isinstance(value, Fraction | defaultdict)
}


@pytest.mark.parametrize("name", IN_MESSAGES)
async def test_inside_messages(durable: Backend, call: Call, name: str) -> None:
    """In a message's keyword arguments, a call's arguments and an artifact, alone and in a list."""
    value = IN_MESSAGES[name]
    called = {"type": "tool_call", "id": "c", "name": "add", "args": {"deep": [value]}}
    said = AIMessage("", additional_kwargs={"odd": value}, tool_calls=[called], id="a")
    done = ToolMessage("done", tool_call_id="c", artifact=value, id="b")
    saver = durable.open()
    config = await put(call, saver, at("t"), {"messages": [said, done], "one": done})
    for reader in (saver, durable.open()):
        values = (await call(reader, "get_tuple", config)).checkpoint["channel_values"]
        one, two = values["messages"]
        assert (type(one), type(two)) == (AIMessage, ToolMessage)
        assert_same(one.additional_kwargs["odd"], value)
        assert_same(one.tool_calls[0]["args"], {"deep": [value]})
        assert_same(two.artifact, value)
        assert_same(values["one"].artifact, value)
        assert (one.id, two.tool_call_id) == ("a", "c")


async def test_encrypted_and_strict(
    durable: Backend, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They need no allow-list, and are packed the same under a cipher."""
    monkeypatch.setattr(jsonplus, "LANGGRAPH_STRICT_MSGPACK", True, raising=False)
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    serde = EncryptedSerializer.from_pycryptodome_aes(strict, key=b"k" * 16)
    values = {name: value for name, value in EXACT.items() if name != "in a dataclass"}
    saver = durable.open(serde=serde)
    await put(call, saver, at("t"), values)
    found = (await call(durable.open(serde=serde), "get_tuple", at("t"))).checkpoint
    assert_same(found["channel_values"], values)


def test_an_export_keeps_them(durable: Backend, tmp_path: Path) -> None:
    """A thread's file brings them to another database."""
    saver = durable.open()
    made = checkpoint(saver, EXACT)
    saver.put(at("t"), made, {"source": "loop", "step": 1}, made["channel_versions"])
    saver.thread("t").export(tmp_path / "t.json", payloads=True)
    saver.import_thread(tmp_path / "t.json", thread_id="copy")
    found = saver.get_tuple(at("copy"))
    assert found is not None
    assert_same(found.checkpoint["channel_values"], EXACT)


def never() -> int:
    return 1


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (defaultdict(lambda: 1), "x"),
        ({"a": [defaultdict(never)]}, r"x\['a'\]\[0\]"),
        (defaultdict(Tally), "x"),
    ],
    ids=["lambda", "function", "class"],
)
async def test_what_cannot_come_back_is_refused(
    durable: Backend, call: Call, value: Any, path: str
) -> None:
    """A defaultdict that calls a function: by path, with what would do; nothing is stored."""
    saver = durable.open()
    with pytest.raises(errors.Unserialisable, match=rf"^{path} .*store dict\(value\)"):
        await put(call, saver, at("t"), {"x": value})
    assert await call(saver, "get_tuple", at("t")) is None


def test_one_inside_an_object_is_named_too(sqlite: Backend) -> None:
    """By its path."""
    saver = sqlite.open()
    made = checkpoint(saver, {"x": [Tally(defaultdict(never))]})
    with pytest.raises(errors.Unserialisable) as caught:
        saver.put(at("t"), made, {}, made["channel_versions"])
    assert (caught.value.channel, caught.value.path) == ("x", "[0].counts")


def loads(data: tuple[str, bytes]) -> Any:
    return guarded(JsonPlusSerializer(), Classes()).loads_typed(data)


dumps = python_types.exact_dumps(JsonPlusSerializer())


@settings(deadline=None)
@given(
    st.recursive(
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4),
            st.binary(max_size=4), st.fractions(), st.complex_numbers(allow_nan=False),
            st.decimals(allow_nan=False),
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.text(max_size=3) | st.integers(-9, 9), inner, max_size=3),
            st.dictionaries(st.text(max_size=3), inner, max_size=3).map(OrderedDict),
            st.dictionaries(st.text(max_size=3), inner, max_size=3).map(
                lambda held: defaultdict(int, held)
            ),
            st.dictionaries(st.text(max_size=3), st.integers()).map(Counter),
            st.lists(inner, max_size=3).map(lambda held: deque(held, maxlen=4)),
        ),
        max_leaves=10,
    )
)  # fmt: skip
def test_any_of_them_in_any_other(value: Any) -> None:
    """Whatever holds whatever."""
    assert_same(loads(dumps(value)), value)


class Colour(enum.Enum):
    RED = 1


class Word(str, enum.Enum):
    YES = "yes"


PLAIN = [
    [Text("a"), Number(3), Rows([1]), Fields(a=1), {Text("k"): 1}],
    {"messages": [HumanMessage("hi", id="1"), AIMessage("x", id="2")], "n": [1.5, None, (1, 2)]},
    [Colour.RED, Word.YES, {1, 2}, frozenset({3}), deque([1]), Decimal("1.1"), Path("a")],
    ValueError("x"),
]


@pytest.mark.parametrize(
    "value", [*PLAIN, *(made() for made in CORPORA)], ids=lambda v: type(v).__name__
)
def test_anything_else_is_packed_as_the_serializer_packs_it(value: Any) -> None:
    """To the byte: what is stored already, and what is compared, stays the same."""
    parts = list(value.values()) if isinstance(value, dict) else [value]
    for part in parts:
        if isinstance(part, deque) and part.maxlen is not None:
            continue
        assert dumps(part) == JsonPlusSerializer().dumps_typed(part)


def test_rows_that_somebody_made() -> None:
    """A stored row names no function to call and no size to fill memory with."""

    def row(code: int, module: str, name: str, payload: Any) -> Any:
        packed = ormsgpack.packb((module, name, payload))
        return loads(("msgpack", ormsgpack.packb(ormsgpack.Ext(code, packed))))

    for code, module, name, payload in (
        (1, "collections", "defaultdict", ["eval", {}]),
        (1, "collections", "defaultdict", [["os", "system"], {}]),
        (0, "builtins", "int", 3.5),
        (1, "builtins", "range", ["a"]),
        (1, "fractions", "Fraction", ["1e999999999"]),
        (0, "collections", "Counter", 3),
        (1, "collections", "deque", [3, 1]),
        (1, "builtins", "complex", ["x"]),
        (0, "builtins", "eval", "1"),
        (1, "pathlib", "PurePosixPath", [3]),
    ):
        assert type(row(code, module, name, payload)).__name__ == name  # a placeholder
        assert "Kept" in repr(row(code, module, name, payload))


def test_an_unknown_serializer_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A LangGraph whose packing works otherwise: its own `dumps_typed` is used."""

    class Own(JsonPlusSerializer):
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return "own", b""

    assert python_types.exact_dumps(Own())(1) == ("own", b"")
    monkeypatch.setattr(python_types, "_KNOWN", False)
    assert loads(python_types.exact_dumps(JsonPlusSerializer())(Counter("a"))) == {"a": 1}


def test_langgraphs_own_function_is_known() -> None:
    """If this fails, LangGraph packs otherwise now: see `types/python_types.py`."""
    assert python_types._KNOWN
    assert isinstance(jsonplus._msgpack_default, FunctionType)


def test_pickles_where_they_are_allowed() -> None:
    """`pickle_fallback` still does what it did."""
    serde = JsonPlusSerializer(pickle_fallback=True)
    tag, _ = python_types.exact_dumps(serde)(slice(1))
    assert tag == "pickle"


class Aliased(BaseModel):
    model_config = ConfigDict(serialize_by_alias=True)

    name: str = Field(alias="nom", default="nobody")


class Holding(BaseModel):
    inner: Aliased
    several: list[Aliased] = []


def test_models_inside_models_that_have_aliases(durable: Backend) -> None:
    """Their values come back, not their defaults."""
    value = Holding(inner=Aliased(nom="x"), several=[Aliased(nom="y")])
    saver = durable.open()
    saver.put(at("t"), checkpoint(saver, {"held": value}), {"source": "loop"}, {})
    found = durable.open().get_tuple(at("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["held"] == value
