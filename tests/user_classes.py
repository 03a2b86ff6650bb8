"""A module of a user's classes, one of each kind, that can go away and come back."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

NAME = "vanishing_app"

SOURCE = """
import collections, dataclasses, datetime, enum, pathlib, typing
import pydantic, pydantic.v1
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Send


class Plan(pydantic.BaseModel):
    goal: str
    tags: set[str] = set()


class Older(pydantic.v1.BaseModel):
    goal: str


@dataclasses.dataclass
class Step:
    what: str
    done: bool = False
    notes: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Spot:
    x: int


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class Weight(float, enum.Enum):
    HALF = 0.5


class Corner(enum.Enum):
    TOP = (0, 1)


Point = collections.namedtuple("Point", "x y")


class Pair(typing.NamedTuple):
    left: str
    right: "str | None" = None


class Labels(set):
    pass


class Day(datetime.date):
    pass


class Moment(datetime.datetime):
    pass


class Folder(type(pathlib.Path())):
    pass


class Errand(Send):
    pass


class Loud(HumanMessage):
    volume: int = 1


class Outer:
    class Inner(pydantic.BaseModel):
        n: int
"""

# One value of each kind, and what it is made of.
EXAMPLES: dict[str, tuple[str, Any]] = {
    "pydantic v2": ("Plan(goal='ship', tags={'a', 'b', 'c', 'd'})", {"goal": "ship"}),
    "pydantic v1": ("Older(goal='ship')", {"goal": "ship"}),
    "dataclass": ("Step('dig', True, {'deep': Step('in')})", {"what": "dig", "done": True}),
    "frozen dataclass": ("Spot(3)", {"x": 3}),
    "enum": ("Color.RED", "red"),
    "int enum": ("Level.LOW", 1),
    "float enum": ("Weight.HALF", 0.5),
    "enum of tuples": ("Corner.TOP", [0, 1]),
    "namedtuple": ("Point(1, 2)", {"x": 1, "y": 2}),
    "NamedTuple": ("Pair('l')", {"left": "l", "right": None}),
    "one argument": ("Labels({'a', 'b', 'c', 'd'})", None),
    "arguments": ("Day(2026, 11, 18)", [2026, 11, 18]),
    "path": ("Folder('a/b')", ["a", "b"]),
    "send": ("Errand('node', {'a': 1})", ["node", {"a": 1}]),
    "method": ("Moment(2026, 11, 18, 20)", "2026-11-18T20:00:00"),
    "message": ("Loud('hello', id='m1', volume=11)", {"content": "hello", "volume": 11}),
    "nested class": ("Outer.Inner(n=1)", {"n": 1}),
}


class App:
    """The module, loaded; `made(text)` is a value by its expression."""

    def __init__(self, source: str = SOURCE, name: str = NAME) -> None:
        self.module = ModuleType(name)
        self.name = name
        sys.modules[name] = self.module
        exec(source, self.module.__dict__)

    def made(self, expression: str) -> Any:
        return eval(expression, self.module.__dict__)

    @contextlib.contextmanager
    def away(self, *names: str) -> Iterator[None]:
        """Without the module, or without some of its classes."""
        held = {name: vars(self.module).pop(name) for name in names}
        if not names:
            del sys.modules[self.name]
        try:
            yield
        finally:
            vars(self.module).update(held)
            sys.modules[self.name] = self.module


@contextlib.contextmanager
def app(source: str = SOURCE, name: str = NAME) -> Iterator[App]:
    made = App(source, name)
    try:
        yield made
    finally:
        sys.modules.pop(name, None)
