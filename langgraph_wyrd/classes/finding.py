"""From a stored module and name to the class of data that they name, and to nothing else.

LangGraph imports whatever module a row names and calls whatever it finds in it. Here it must be a
class of a kind that the serializer packs (an enum, a dataclass, a pydantic model …), and a module
is only imported if its source defines a class of that name: no function is ever called, and no
script run, because a row says so.
"""

from __future__ import annotations

import importlib
import re
import sys
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
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from langgraph.store.base import Item
from langgraph.types import Send
from typing_extensions import is_typeddict

from langgraph_wyrd.classes.kept import ARGUMENTS, METHOD, ONE_ARGUMENT


class Gone(Exception):
    """There is no such class; the message says why."""


class NoData(Exception):
    """What the name stands for is no class of data."""


def found(module: str, name: str, code: int, *, trusted: bool = False) -> tuple[Any, list[str]]:
    """The class of data of that name, and the way to it from its module.

    `trusted`: the user named it, so its module may be imported.

    Raises:
        Gone: There is none.
        NoData: It is something else, which is not to be called.
    """
    held, way = _in(_imported(module, name, trusted), name)
    if not isinstance(held, type):
        raise NoData(f"{module}:{name} is no class")
    if not _is_data(code, held):
        raise NoData(f"{module}:{name} is no class of data")
    return held, way


_NOTHING = object()
_DEEPEST = 4  # classes inside classes


def at(held: Any, way: Sequence[str]) -> Any:
    """What is at the end of a way, or something that nothing is."""
    try:
        for part in way:
            held = getattr(held, part)
    except Exception:
        return _NOTHING
    return held


def _in(module: Any, name: str) -> tuple[Any, list[str]]:
    """What a module calls so; a class inside one of its classes is stored by its own name only."""
    way = name.split(".")
    if (held := at(module, way)) is not _NOTHING:
        return held, way
    inside = _nested(module.__name__, name, module, [])
    if len(inside) == 1:
        return inside.popitem()
    raise Gone(f"module {module.__name__} has no {name}")


def _nested(module: str, name: str, holder: Any, way: list[str]) -> dict[Any, list[str]]:
    inside: dict[Any, list[str]] = {}
    for key, value in list(vars(holder).items()):
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


def _is_data(code: int, cls: type) -> bool:
    """Whether the serializer could have made this of an object of the class, or of what it was.

    Records are taken for one another: a dataclass becomes a pydantic model sooner or later.
    """
    if code == ONE_ARGUMENT:
        return issubclass(cls, _ONE) or cls in _PLAIN or hasattr(cls, "get_secret_value")
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


def _imported(module: str, name: str, trusted: bool) -> Any:
    held = sys.modules.get(module)
    if held is not None:
        return held
    if not (trusted or _defines(module, name)):
        raise Gone(f"no module {module} that defines {name} was found")
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise Gone(f"module {module} can't be imported ({type(error).__name__})") from error


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
    return source is None or _class_of(name).search(source) is not None


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


def _class_of(name: str) -> re.Pattern[str]:
    escaped = re.escape(name)
    return re.compile(rf"\bclass\s+{escaped}\b|[\"']{escaped}[\"']")
