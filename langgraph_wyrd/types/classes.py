"""Finds the class of data that a stored module and name mean, and nothing else.

LangGraph imports whatever module a row names and calls whatever it finds in it. Here it must be a
class of a kind that the serializer packs (an enum, a dataclass, a pydantic model …), and a module
is only imported if its source defines a class of that name: no function is ever called, and no
script run, because a row says so. So names are looked up in what modules and classes hold, never
asked for: a module's `__getattr__` and a property are functions, too.
"""

from __future__ import annotations

import ast
import importlib
import ipaddress
import sys
import time as clock
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from importlib.machinery import ModuleSpec
from pathlib import PurePath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from langgraph.store.base import Item
from langgraph.types import Send
from typing_extensions import is_typeddict

from langgraph_wyrd.types.kept import ARGUMENTS, METHOD, ONE_ARGUMENT


class Gone(Exception):
    """There is no such class; the message says why."""


class NoData(Exception):
    """What the name stands for is no class of data."""


def found(module: str, name: str, code: int, *, trusted: bool = False) -> Any:
    """The class of data of that name.

    `trusted`: the user named it, so its module may be imported, and asked.

    Raises:
        Gone: There is none.
        NoData: It is something else, which is not to be called.
    """
    cls = _in(_imported(module, name, trusted), module, name, trusted)
    if not isinstance(cls, type):
        raise NoData(f"{module}:{name} is no class")
    if not _is_data(code, cls, trusted):
        raise NoData(f"{module}:{name} is no class of data")
    return cls


def stands(module: str, cls: Any) -> bool:
    """Whether a module still has this class, by its own name."""
    return cls is not None and _held_by(sys.modules.get(module)).get(cls.__name__) is cls


_NOTHING = object()
_DEEPEST = 4  # classes inside classes


def parts(name: str) -> list[str]:
    """`Outer.Box[a.B]` -> `Outer`, `Box[a.B]`."""
    plain, bracket, rest = name.partition("[")
    *outer, last = plain.split(".")
    return [*outer, last + bracket + rest]


def generic(name: str) -> str:
    """The name of the class that a generic one was made of; of others their own."""
    return name.partition("[")[0]


def _held_by(holder: Any) -> Any:
    try:
        return vars(holder)
    except TypeError:
        return {}


def _in(held: Any, module: str, name: str, trusted: bool) -> Any:
    """What a module calls so; a class inside one of its classes is stored by its own name only."""
    if (end := _at(held, parts(name), trusted)) is not _NOTHING:
        return end
    inside = {*_nested(module, name, held, _DEEPEST)}
    if len(inside) == 1:
        return inside.pop()
    if generic(name) == name:
        raise Gone(f"module {module} has no {name}")
    # A pydantic model as `Box[int]`: nothing holds it by its name unless it is written at the top
    # of a module, but whoever has it in an annotation has made it.
    cls, last = _in(held, module, generic(name), trusted), parts(name)[-1]
    below: list[type] = type.__subclasses__(cls) if isinstance(cls, type) else []
    made = {each for each in below if (each.__module__, each.__name__) == (cls.__module__, last)}
    if len(made) != 1:
        raise Gone(
            f"of {module}:{generic(name)} this process has made {'more than one' if made else 'no'}"
            f" {last}: write it at the top of its module, as in `Mine = {last}`"
        )
    return made.pop()


def _at(held: Any, way: Sequence[str], trusted: bool) -> Any:
    """Follow a dotted name through a module's classes. Attributes are looked up in the classes'
    dicts; only where the name is `trusted` a class is asked for them."""
    for depth, part in enumerate(way):
        inside = _held_by(held) if not depth or isinstance(held, type) else {}
        if part in inside:
            held = inside[part]
            continue
        try:
            held = getattr(held, part) if trusted else _NOTHING
        except Exception:
            return _NOTHING
    return held


def _nested(module: str, name: str, holder: Any, deepest: int) -> Iterator[type]:
    for value in [*_held_by(holder).values()] if deepest else ():
        if isinstance(value, type) and value.__module__ == module:
            if value.__name__ == name:
                yield value
            yield from _nested(module, name, value, deepest - 1)


# ---- kinds of data

_ONE: tuple[type, ...] = (
    Enum, set, frozenset, deque, UUID, Decimal, ZoneInfo,
    ipaddress.IPv4Address, ipaddress.IPv4Interface, ipaddress.IPv4Network,
    ipaddress.IPv6Address, ipaddress.IPv6Interface, ipaddress.IPv6Network,
)  # fmt: skip
_SEVERAL: tuple[type, ...] = (PurePath, date, timedelta, timezone, Send)
_RECORDS: tuple[type, ...] = (time, Item)
_PLAIN: tuple[type, ...] = (str, int, float, bytes, list, tuple)  # what users may alias to
_OF_A_RECORD = ("_asdict", "model_dump", "dict")


@lru_cache(maxsize=1024)
def _is_data(code: int, cls: type, trusted: bool) -> bool:
    """Whether the serializer could have made this of an object of the class, or of what it was.

    Records are taken for one another: a dataclass becomes a pydantic model sooner or later.
    """
    if code == ONE_ARGUMENT:
        plain = trusted and cls in _PLAIN
        return plain or issubclass(cls, _ONE) or hasattr(cls, "get_secret_value")
    if code == METHOD:
        return issubclass(cls, datetime)
    if code == ARGUMENTS:
        named = {*dir(cls), *getattr(cls, "__dataclass_fields__", ())}
        return issubclass(cls, _SEVERAL) or named >= {"node", "arg"}
    return (
        is_dataclass(cls)
        or issubclass(cls, _RECORDS)
        or cls is dict
        or is_typeddict(cls)
        or any(callable(getattr(cls, name, None)) for name in _OF_A_RECORD)
    )


# ---- modules


_A_WHILE = 2.0  # seconds that it is remembered what a module on the disk defines


def _imported(module: str, name: str, trusted: bool) -> Any:
    held = sys.modules.get(module)
    if held is not None:
        return held
    now = clock.monotonic() // _A_WHILE
    if not (trusted or _defines(module, generic(name), now)):
        raise Gone(f"no module {module} that defines {name} was found")
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise Gone(f"module {module} can't be imported ({type(error).__name__})") from error


@lru_cache(maxsize=1000)
def _defines(module: str, name: str, now: float) -> bool:
    """Whether a module that is not imported yet has a class of that name: looked up, not run."""
    parts = module.split(".")
    # Nobody's state is of a class of the standard library that nobody has imported.
    if parts[0] in sys.stdlib_module_names or "__main__" in parts:
        return False
    path: Any = None
    for count in range(1, len(parts) + 1):
        full = ".".join(parts[:count])
        held = sys.modules.get(full)
        spec = _spec(full, path) if held is None else None
        if held is None and spec is None:
            return False
        path = spec.submodule_search_locations if spec else getattr(held, "__path__", None)
        if path is None and count < len(parts):
            return False
    try:
        source = spec.loader.get_source(module)  # type: ignore[union-attr]
    except Exception:
        source = None
    return source is None or _has_class(source, name)  # what was compiled has no source


def _spec(full: str, path: Any) -> ModuleSpec | None:
    for finder in sys.meta_path:
        with suppress(Exception):
            if (spec := finder.find_spec(full, path)) is not None:
                return spec
    return None


# What makes a class of its name and what is in it.
_MAKERS = {
    "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "namedtuple", "NamedTuple", "TypedDict",
    "make_dataclass", "create_model",
}  # fmt: skip


def _has_class(source: str, name: str) -> bool:
    """Whether a class of that name is defined in a source, not only named in it."""
    if name not in source:  # much quicker than to parse it
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(_makes(node, name) for node in ast.walk(tree))


def _makes(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name == name
    if not isinstance(node, ast.Call) or not node.args:
        return False
    maker, first = node.func, node.args[0]
    called = getattr(maker, "attr", getattr(maker, "id", None))
    return called in _MAKERS and isinstance(first, ast.Constant) and first.value == name
