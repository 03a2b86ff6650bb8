"""Objects come back as they were stored, also where LangGraph's load gives something else."""

from __future__ import annotations

import dataclasses
import sys
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import ormsgpack
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd import Kept, WyrdSaver
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import Unserialisable
from langgraph_wyrd.types.rebuild import kept_in
from tests.damage import at
from tests.handmade import put
from tests.user_classes import App, app

SOURCE = """
import dataclasses, datetime, enum, typing
import pydantic
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

T = typing.TypeVar("T")

class Inner(BaseModel):
    n: int = 0

class Named(BaseModel):
    n: int = Field(0, alias="theNumber")

class Aliased(BaseModel):
    goal: str = Field("none", alias="theGoal")
    inner: Named | None = None

class Around(BaseModel):
    inner: Named

class Choices(BaseModel):
    goal: str = Field(validation_alias=AliasChoices("g", "h"))
    inner: Inner = Inner()

class Crossed(BaseModel):
    a: int = Field(alias="b")
    b: int = Field(alias="c")

class ByAlias(BaseModel):
    model_config = ConfigDict(serialize_by_alias=True)
    goal: str = Field("none", alias="theGoal")

class Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)
    pair: tuple[int, str]
    inner: Inner

class Computed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int
    inner: Inner = Inner()

    @pydantic.computed_field
    def twice(self) -> int:
        return self.a * 2

class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int

    @pydantic.computed_field
    def twice(self) -> int:
        return self.a * 2

class Deep(BaseModel):
    inner: Computed

class Root(pydantic.RootModel[list[int]]):
    pass

class Box(BaseModel, typing.Generic[T]):
    item: T

@dataclasses.dataclass
class Scaled:
    a: int
    by: dataclasses.InitVar[int] = 2

    def __post_init__(self, by):
        self.a *= by

@dataclasses.dataclass
class Asked:
    a: int
    by: dataclasses.InitVar[int]

    def __post_init__(self, by):
        self.a *= by

@dataclasses.dataclass(frozen=True, slots=True)
class Derived:
    a: int
    b: int = dataclasses.field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "b", self.a + 1)

@dataclasses.dataclass(init=False)
class Own:
    a: int

    def __init__(self, given):
        self.a = given

@dataclasses.dataclass(slots=True)
class Base:
    held: typing.Any = None

@dataclasses.dataclass(slots=True)
class Below(Base):
    more: int = 1

class Color(enum.Enum):
    RED = "red"
"""

# What is stored, and whether LangGraph's own load gives it back.
VALUES = {
    "an alias": ("Aliased(theGoal='ship', inner=Named(theNumber=3))", False),
    "an alias inside": ("Around(inner=Named(theNumber=3))", False),
    "choices of aliases": ("Choices(h='ship', inner=Inner(n=2))", False),
    "an alias that is another's name": ("Crossed(b=1, c=2)", False),
    "stored by its alias": ("ByAlias(theGoal='ship')", True),
    "strict": ("Strict(pair=(1, 'a'), inner=Inner(n=2))", False),
    "a computed field": ("Computed(a=1, inner=Inner(n=2))", False),
    "a computed field of an open model": ("Open(a=1, other=3)", False),
    "a computed field inside": ("Deep(inner=Computed(a=1))", False),
    "a root model": ("Root([1, 2])", False),
    "an InitVar with a default": ("Scaled(2)", False),
    "an InitVar": ("Asked(2, 3)", False),
    "a field that is not given": ("Derived(1)", False),
    "a constructor of its own": ("Own(1)", False),
    "slots": ("Below(Base(Color.RED), 3)", True),
}


@pytest.mark.parametrize("kind", list(VALUES))
def test_an_object_comes_back(kind: str) -> None:
    """Equal to what was stored, alone and inside a list, and stored again as it was."""
    text, langgraph_too = VALUES[kind]
    theirs = JsonPlusSerializer()
    codec = Codec(theirs)
    with app(SOURCE) as made:
        value = made.made(text)
        for shape in (value, [value, {"k": value}]):
            packed = codec.dump(shape, "c")
            found = codec.load(*packed)
            assert found == shape
            assert codec.dump(found, "c") == packed
        assert (theirs.loads_typed(theirs.dumps_typed(value)) == value) is langgraph_too


def test_an_alias_next_to_what_is_kept() -> None:
    """A class inside it that is not allowed takes nothing from the other fields."""
    source = (
        SOURCE
        + """
class Painted(BaseModel):
    goal: str = Field("none", alias="theGoal")
    color: Color = Color.RED
    free: typing.Any = None
    when: datetime.date | None = None

    @pydantic.field_serializer("when")
    def words(self, value):
        return f"on {value}"

    @pydantic.field_validator("when", mode="before")
    @classmethod
    def of_words(cls, value):
        return value and str(value).removeprefix("on ").removeprefix("on ")
"""
    )
    theirs = JsonPlusSerializer(allowed_msgpack_modules=[("vanishing_app", "Painted")])
    codec = Codec(theirs)
    with app(source) as made:
        text = "Painted(theGoal='ship', free=Color.RED, when=datetime.date(2026, 11, 18))"
        value = made.made(text)
        packed = codec.dump(value, "c")
        found = codec.load(*packed)
        assert (found.goal, found.color, found.when) == (value.goal, value.color, value.when)
        assert isinstance(found.free, Kept)
        assert codec.dump(found, "c") == packed
        assert theirs.loads_typed(theirs.dumps_typed(value)).goal == "none"


def test_a_generic_model(saver: WyrdSaver, caplog: pytest.LogCaptureFixture) -> None:
    """One that no module has by its name is found by the class that it was made of; where nobody
    has made it yet it is kept, and said what would do."""
    with app(SOURCE) as made:
        cls = made.made("Box[Inner]")  # pydantic itself would forget it with its last object
        put(saver, "t", {"held": made.made("(lambda: Box[Inner](item=Inner(n=3)))()")})
        vars(made.module).pop("Box[Inner]", None)
        held = saver.get_tuple(at("t")).checkpoint["channel_values"]["held"]
        assert type(held) is cls
        assert held == made.made("Box[Inner](item=Inner(n=3))")
        assert type(held.item) is made.module.Inner
        del cls, held
    with app(SOURCE) as anew:
        kept = saver.get_tuple(at("t")).checkpoint["channel_values"]["held"]
        assert isinstance(kept, Kept)
        assert kept["item"] == {"n": 3}
        assert "has made no Box[Inner]" in caplog.text
        annotated = anew.made("Box[Inner]")
        vars(anew.module).pop("Box[Inner]", None)
        assert type(saver.get_tuple(at("t")).checkpoint["channel_values"]["held"]) is annotated


def test_a_generic_model_that_moved(durable: Any) -> None:
    """An alias for the class holds for what is made of it; one for that alone is taken, too."""
    with app(SOURCE) as made:
        put(durable.open(), "t", {"held": made.made("Box[Inner](item=Inner(n=3))")})
    moved = SOURCE.replace("class Box", "class Case").replace("class Inner", "class Core")
    moved = moved.replace("inner: Inner", "inner: Core").replace("Inner()", "Core()")
    aliases = {
        "vanishing_app:Box[Inner]": "newer:Case[Core]",
        "vanishing_app:Box": "newer:Case",
    }
    with app(moved, "newer") as made:
        want = made.made("Case[Core](item=Core(n=3))")
        saver = durable.open(aliases=aliases)
        assert saver.get_tuple(at("t")).checkpoint["channel_values"]["held"] == want
    with app(SOURCE.replace("class Box", "class Case"), "newer") as made:
        want = made.made("Case[Inner](item=Inner(n=3))")
        saver = durable.open(aliases={"vanishing_app:Box": "newer:Case"})
        assert saver.get_tuple(at("t")).checkpoint["channel_values"]["held"] == want


def _packed(code: int, module: str, name: str, payload: Any) -> Any:
    return ormsgpack.Ext(code, ormsgpack.packb((module, name, payload)))


ELSEWHERE = {
    "a path of Windows": _packed(1, "pathlib", "WindowsPath", ["c:/", "x"]),
    "a time zone without its data": _packed(0, "zoneinfo", "ZoneInfo", "Nowhere/Land"),
    "a span that is too long": _packed(1, "datetime", "timedelta", [10**9, 0, 0]),
    "a field of a newer LangGraph": _packed(2, "langgraph.types", "Command", {"newer": 1}),
}


@pytest.mark.skipif(sys.platform == "win32", reason="there it is made")
@pytest.mark.parametrize("kind", list(ELSEWHERE))
def test_what_cannot_be_made_here(
    saver: WyrdSaver, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is kept as well, and said: LangGraph's load gives a text or a list, and stores that."""
    codec = Codec(JsonPlusSerializer())
    first = put(saver, "t", {"held": ELSEWHERE[kind]})
    found = saver.get_tuple(at("t")).checkpoint["channel_values"]
    assert isinstance(found["held"], Kept)
    assert codec.dump(found["held"], "c") == codec.dump(ELSEWHERE[kind], "c")
    assert "can't be made of what is stored, here and now" in caplog.text
    put(saver, "t", {"held": found["held"], "other": 1}, parent=first)
    assert isinstance(saver.get_tuple(at("t")).checkpoint["channel_values"]["held"], Kept)


ARRAYS = {
    "objects": lambda: np.array([{"a": 1}, None], dtype=object),
    "records of objects": lambda: np.array([(1, {})], dtype=[("a", "i4"), ("b", "O")]),
    "a mask": lambda: np.ma.array([1, 2], mask=[False, True]),
}


@pytest.mark.parametrize("kind", list(ARRAYS))
def test_an_array_that_would_not_come_back(saver: WyrdSaver, kind: str) -> None:
    """Of its objects LangGraph's serializer stores the addresses: refused, with its place."""
    theirs = JsonPlusSerializer()
    array = ARRAYS[kind]()
    back = theirs.loads_typed(theirs.dumps_typed(array))
    assert not isinstance(back, type(array)) or back.dtype != array.dtype
    with pytest.raises(Unserialisable, match=r"held\['deep'\]\[1\]\.held is a numpy array"):
        put(saver, "t", {"held": {"deep": [1, dataclasses_holding(array)]}})


def dataclasses_holding(value: Any) -> Any:
    return dataclasses.make_dataclass("Holds", ["held"])(value)


def test_other_arrays_come_back(saver: WyrdSaver) -> None:
    """Of every order and kind, also next to text that looks like one."""
    grid = np.arange(6.0).reshape(2, 3)
    held = [
        grid, np.asfortranarray(grid), grid[:, ::2], np.array(5), np.array(["a", "bc"]),
        np.zeros((0, 3)), np.array([True]), np.array([1j]), "\x06\x94", b"\x06\x94",
    ]  # fmt: skip
    put(saver, "t", {"held": held})
    found = saver.get_tuple(at("t")).checkpoint["channel_values"]["held"]
    for one, other in zip(held, found, strict=True):
        assert type(one) is type(other)
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None)
        assert np.array_equal(one, other)


def _places(made: App) -> dict[str, Any]:
    return {
        "a deque": lambda value: deque([value]),
        "the slot of a base class": lambda value: made.module.Below(value),
        "a dataclass": lambda value: dataclasses.make_dataclass("Local", ["x"])(value),
        "a tuple in a dict's value": lambda value: {"k": (1, [value])},
    }


def test_what_is_kept_is_found_wherever_it_lies() -> None:
    """So it is reported."""
    codec = Codec(JsonPlusSerializer())
    with app(SOURCE) as made:
        packed = codec.dump(made.module.Color.RED, "c")
        with made.away("Color"):
            kept = codec.load(*packed)
        for place, holding in _places(made).items():
            assert list(kept_in(holding(kept))) == [kept], place


def test_a_module_is_not_asked(saver: WyrdSaver, tmp_path: Path) -> None:
    """What a module's `__getattr__` or a property would do is done by no row."""
    asked: list[str] = []
    source = """
class Held:
    @property
    def harm(self):
        asked.append("harm")

class Meta(type):
    @property
    def harm(cls):
        asked.append("harm")

class Asked(metaclass=Meta):
    pass

held = Held()

def __getattr__(name):
    asked.append(name)
    raise AttributeError(name)
"""
    planted = {
        "a name": _packed(2, "asked_app", "anything", {}),
        "a property": _packed(2, "asked_app", "held.harm", {}),
        "a property of a class": _packed(2, "asked_app", "Asked.harm", {}),
    }
    with app(source, "asked_app") as made:
        made.module.asked = asked  # type: ignore[attr-defined]
        put(saver, "t", planted)
        found = saver.get_tuple(at("t")).checkpoint["channel_values"]
        assert all(isinstance(each, Kept) for each in found.values())
        assert [name for name in asked if not name.startswith("__")] == []


def test_bytes_are_not_made_by_a_number(saver: WyrdSaver) -> None:
    """`bytes(10**12)` takes a terabyte; nothing that is stored says so."""
    put(saver, "t", {"held": _packed(0, "builtins", "bytes", 10**12)})
    assert isinstance(saver.get_tuple(at("t")).checkpoint["channel_values"]["held"], Kept)


@pytest.mark.parametrize(
    "script",
    [
        "# a class Late that is only spoken of\nHARM",
        'if __name__ == "Late":\n    pass\nHARM',
        "'''\nclass Late:\n'''\nHARM",
        "print('Late')\nHARM",
    ],
)
def test_a_script_that_names_a_class_is_not_run(
    saver: WyrdSaver, tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must define it."""
    sprung = tmp_path / "sprung"
    harm = f"import os\nos.mkdir({str(sprung)!r})\n"
    (tmp_path / "wyrd_planted_script.py").write_text(script.replace("HARM", harm))
    (tmp_path / "wyrd_made_late.py").write_text(
        "import enum\nColor = enum.Enum('Color', {'RED': 'red'})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    put(
        saver,
        "t",
        {
            "held": _packed(2, "wyrd_planted_script", "Late", {}),
            "made": _packed(0, "wyrd_made_late", "Color", "red"),
        },
    )
    found = saver.get_tuple(at("t")).checkpoint["channel_values"]
    assert isinstance(found["held"], Kept)
    assert not sprung.exists()
    assert found["made"] is sys.modules.pop("wyrd_made_late").Color.RED
