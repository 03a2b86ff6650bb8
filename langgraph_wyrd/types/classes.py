"""From a stored module and name to the class of data that they name, and to nothing else.

LangGraph imports whatever module a row names and calls whatever it finds in it. Here it must be a
class of a kind that the serializer packs (an enum, a dataclass, a pydantic model …), and a module
is only imported if its source defines a class of that name: no function is ever called, and no
script run, because a row says so. So names are looked up in what modules and classes hold, never
asked for: a module's `__getattr__` and a property are functions, too.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
import time as clock
from collections import deque
from collections.abc import Sequence
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from importlib.machinery import ModuleSpec
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from pathlib import PurePath
from typing import Any, NamedTuple
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


class Found(NamedTuple):
    """A class, and where it was found."""

    cls: Any
    module: str
    way: list[str]  # from the module
    end: Any  # what is there: the class itself, or the generic one that it was made of

    def stands(self) -> bool:
        """Whether it is still there: modules are loaded anew, and classes defined again."""
        return at(sys.modules.get(self.module), self.way) is self.end


def found(module: str, name: str, code: int, *, trusted: bool = False) -> Found:
    """The class of data of that name.

    `trusted`: the user named it, so its module may be imported, and asked.

    Raises:
        Gone: There is none.
        NoData: It is something else, which is not to be called.
    """
    made = _in(_imported(module, name, trusted), module, name, trusted)
    if not isinstance(made.cls, type):
        raise NoData(f"{module}:{name} is no class")
    if not _is_data(code, made.cls, trusted):
        raise NoData(f"{module}:{name} is no class of data")
    return made


_NOTHING = object()
_DEEPEST = 4  # classes inside classes


def at(held: Any, way: Sequence[str]) -> Any:
    """What is at the end of a way through a module's classes, or something that nothing is."""
    for depth, part in enumerate(way):
        if depth and not isinstance(held, type):
            return _NOTHING
        held = _held_by(held).get(part, _NOTHING)
    return held


def _held_by(holder: Any) -> Any:
    try:
        return vars(holder)
    except TypeError:
        return {}


def parts(name: str) -> list[str]:
    """`Outer.Box[a.B]` -> `Outer`, `Box[a.B]`."""
    plain, bracket, rest = name.partition("[")
    *outer, last = plain.split(".")
    return [*outer, last + bracket + rest]


def generic(name: str) -> str:
    """The name of the class that a generic one was made of; of others their own."""
    return name.partition("[")[0]


def _in(held: Any, module: str, name: str, trusted: bool) -> Found:
    """What a module calls so; a class inside one of its classes is stored by its own name only."""
    way = parts(name)
    if (end := at(held, way)) is not _NOTHING:
        return Found(end, module, way, end)
    if trusted and (end := _asked(held, way)) is not _NOTHING:
        return Found(end, module, way, end)
    inside = _nested(module, name, held, [])
    if len(inside) == 1:
        end, way = inside.popitem()
        return Found(end, module, way, end)
    if generic(name) != name:
        return _made_of(_in(held, module, generic(name), trusted), name)
    raise Gone(f"module {module} has no {name}")


def _asked(held: Any, way: Sequence[str]) -> Any:
    try:
        for part in way:
            held = getattr(held, part)
    except Exception:
        return _NOTHING
    return held


def _made_of(origin: Found, name: str) -> Found:
    """A pydantic model as `Box[int]`: nothing holds it by its name unless it is written at the top
    of a module, but whoever has it in an annotation has made it."""
    last, cls = parts(name)[-1], origin.cls
    below: list[type] = type.__subclasses__(cls) if isinstance(cls, type) else []
    made = {each for each in below if (each.__module__, each.__name__) == (cls.__module__, last)}
    if len(made) != 1:
        which = "no" if not made else "more than one"
        raise Gone(
            f"of {origin.module}:{generic(name)} this process has made {which} {last}: write it at "
            f"the top of its module, as in `Mine = {last}`"
        )
    return origin._replace(cls=made.pop())


def _nested(module: str, name: str, holder: Any, way: list[str]) -> dict[Any, list[str]]:
    inside: dict[Any, list[str]] = {}
    for key, value in list(_held_by(holder).items()):
        if isinstance(value, type) and value.__module__ == module and len(way) < _DEEPEST:
            here = [*way, key]
            if value.__name__ == name:
                inside[value] = here
            inside.update(_nested(module, name, value, here))
    return inside


# ---- kinds of data

_ONE: tuple[type, ...] = (
    Enum, set, frozenset, deque, UUID, Decimal, ZoneInfo, IPv4Address, IPv4Interface, IPv4Network,
    IPv6Address, IPv6Interface, IPv6Network,
)  # fmt: skip
_SEVERAL: tuple[type, ...] = (PurePath, date, timedelta, timezone, Send)
_RECORDS: tuple[type, ...] = (time, Item)
_PLAIN: tuple[type, ...] = (str, int, float, bytes, list, tuple)  # what users may alias to
_OF_A_RECORD = ("_asdict", "model_dump", "dict")


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


_FEW_SECONDS = 2.0
_MOST_ABSENT = 1000
_absent: dict[tuple[str, str], float] = {}  # what was looked for on the disk lately, and not found


def _imported(module: str, name: str, trusted: bool) -> Any:
    held = sys.modules.get(module)
    if held is not None:
        return held
    if not trusted and _is_absent(module, name):
        raise Gone(f"no module {module} that defines {name} was found")
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise Gone(f"module {module} can't be imported ({type(error).__name__})") from error


def _is_absent(module: str, name: str) -> bool:
    """Whether no module on the disk defines the class, as far as was looked up lately."""
    now = clock.monotonic()
    if now - _absent.get((module, name), -_FEW_SECONDS) < _FEW_SECONDS:
        return True
    if _defines(module, generic(name)):
        return False
    if len(_absent) >= _MOST_ABSENT:
        _absent.clear()
    _absent[module, name] = now
    return True


def _defines(module: str, name: str) -> bool:
    """Whether a module that is not imported yet has a class of that name: looked up, not run."""
    parts = module.split(".")
    # Nobody's state is of a class of the standard library that nobody has imported.
    if parts[0] in sys.stdlib_module_names or "__main__" in parts:
        return False
    path: Any = None
    spec: ModuleSpec | None = None
    for count in range(1, len(parts) + 1):
        full = ".".join(parts[:count])
        if (held := sys.modules.get(full)) is not None:
            path = getattr(held, "__path__", None)
        else:
            spec = _spec(full, path)
            if spec is None:
                return False
            path = spec.submodule_search_locations
        if count < len(parts) and path is None:
            return False
    source = _source(spec, module)
    return source is None or _has_class(source, name)


def _spec(full: str, path: Any) -> ModuleSpec | None:
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(full, path)
        except Exception:
            continue
        if spec is not None:
            return spec
    return None


def _source(spec: ModuleSpec | None, module: str) -> str | None:
    """None of what was compiled."""
    try:
        source: str | None = spec.loader.get_source(module)  # type: ignore[union-attr]
    except Exception:
        return None
    return source


# What makes a class of its name and what is in it.
_MAKERS = {
    "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "namedtuple", "NamedTuple", "TypedDict",
    "make_dataclass", "create_model",
}  # fmt: skip


def _has_class(source: str, name: str) -> bool:
    """Whether a class of that name is defined in a source, not only named in it."""
    spoken = rf"\bclass\s+{re.escape(name)}\b|[\"']{re.escape(name)}[\"']"
    if re.search(spoken, source) is None:  # much quicker than to parse it
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
    called = maker.attr if isinstance(maker, ast.Attribute) else getattr(maker, "id", None)
    return called in _MAKERS and isinstance(first, ast.Constant) and first.value == name
