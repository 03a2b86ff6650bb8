"""The pieces that a value is made of, whatever holds them."""

from __future__ import annotations

import dataclasses
import re
from collections import deque
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from types import FunctionType, ModuleType, NoneType
from typing import Any

from langgraph_wyrd.types.kept import Kept

MOST = 1_000_000  # pieces that are looked at
# Nothing is in these. Classes, functions and modules are no data: they lead to the whole program.
_WHOLE = (str, int, float, bytes, NoneType, type, FunctionType, ModuleType)


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    """A value and all its pieces, each once, with how a person would write the way to it."""
    waiting = [("", value)]
    seen: dict[int, Any] = {}  # held, so that no other gets its id
    while waiting and len(seen) < MOST:
        path, value = waiting.pop()
        whole = isinstance(value, _WHOLE)
        if whole or id(value) not in seen:
            yield path, value
        if not whole and id(value) not in seen:
            seen[id(value)] = value
            waiting += [(path + step, item) for step, item in parts(value)][::-1]


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The pieces of a value, each with how a person would write the way to it."""
    if isinstance(value, Kept):
        yield ".kept_data", value.kept_data
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str) or not key.isascii():
                yield f"[key {key!a}]", key
            yield f"[{ascii(key) if isinstance(key, str) else repr(key)}]", item
    elif isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None)
        for place, item in enumerate(value):
            yield f".{names[place]}" if names else f"[{place}]", item
    elif isinstance(value, (set, frozenset)):
        for item in value:
            yield "{…}", item
    elif isinstance(value, re.Pattern):
        yield ".pattern", value.pattern
    elif isinstance(value, Enum):
        yield ".value", value.value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield f".{field.name}", getattr(value, field.name, None)
    elif callable(getattr(value, "get_secret_value", None)):
        yield ".get_secret_value()", value.get_secret_value()
    elif hasattr(value, "model_dump") or hasattr(value, "__dict__"):
        held = dict(getattr(value, "__dict__", {}))
        held.update(getattr(value, "__pydantic_extra__", None) or {})
        for name, item in held.items():
            yield f".{name}", item
    elif isinstance(value, deque):
        for place, item in enumerate(value):
            yield f"[{place}]", item
    is_read = isinstance(value, Kept) or dataclasses.is_dataclass(value)
    for name in () if is_read else _slots(value.__class__):
        if hasattr(value, name):
            yield f".{name}", getattr(value, name)


@lru_cache(maxsize=1024)
def _slots(cls: Any) -> tuple[str, ...]:
    """Those of its bases, too: each class names only what it adds."""
    found: list[str] = []
    for each in cls.__mro__:
        slots = vars(each).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else slots
    return tuple(name for name in found if not name.startswith("__"))
