"""Where inside a value something is that can't be stored. Runs only when something is wrong."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from langgraph_wyrd.storage.names import has_surrogate


def is_plain(value: Any) -> bool:
    """Whether JSON gives back exactly this."""
    try:
        return _is_json(value)
    except RecursionError:
        return False


def _is_json(value: Any) -> bool:
    exact = type(value)
    if exact is str:
        return not has_surrogate(value)
    if exact is int:
        return bool(-(1 << 63) <= value < 1 << 64)
    if exact is float:
        return math.isfinite(value)
    if exact is list:
        return all(map(_is_json, value))
    if exact is dict:
        return all(type(k) is str and _is_json(k) and _is_json(v) for k, v in value.items())
    return exact is bool or value is None


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The pieces of a value, each with how a person would write the way to it."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                yield f"[key {key!r}]", key
            elif has_surrogate(key):
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
    elif hasattr(value, "__slots__"):
        for name in value.__slots__:
            if hasattr(value, name):
                yield f".{name}", getattr(value, name)
    elif isinstance(value, deque):
        for place, item in enumerate(value):
            yield f"[{place}]", item


# How LangGraph's serializer begins what it makes of a numpy array.
_ARRAY = b"\x06\x94"


def spoilt(value: Any, data: bytes) -> tuple[str, str] | None:
    """The path to what the default serde packs, but does not give back, and what to say of it."""
    # It writes a lone surrogate as "?", so only bytes with one need a look.
    if b"?" in data and (at := surrogate_at(value)) is not None:
        return at, (
            "holds a lone surrogate (half of a character), which UTF-8 can't carry: replace or "
            "remove it before saving"
        )
    if _ARRAY in data and (at := _array_at(value, set())) is not None:
        return at, (
            "is a numpy array of objects, or with a mask, of which LangGraph's serializer stores "
            "the bare memory only: put array.tolist(), or plain arrays, in its stead"
        )
    return None


def _array_at(value: Any, seen: set[int]) -> str | None:
    if isinstance(value, (str, bytes, int, float, type(None))) or id(value) in seen:
        return None
    seen.add(id(value))
    kind = getattr(value, "dtype", None)
    if kind is not None and hasattr(value, "__array__"):
        return "" if getattr(kind, "hasobject", False) or hasattr(value, "mask") else None
    for step, item in parts(value):
        if (inner := _array_at(item, seen)) is not None:
            return step + inner
    return None


def surrogate_at(value: Any) -> str | None:
    """The path to the first lone surrogate, or None."""
    try:
        return _surrogate(value, set())
    except RecursionError:  # deeper than can be followed; what it holds is the serde's affair
        return None


def refused_at(value: Any, dumps: Callable[[Any], object]) -> str:
    """The path to the innermost piece that the serde refuses ("" if that is the value itself)."""

    def refuses(item: Any) -> bool:
        try:
            dumps(item)
        except Exception:
            return True
        return False

    path = ""
    while True:
        for step, item in parts(value):
            if refuses(item):
                path, value = path + step, item
                break
        else:
            return path
        if len(path) > 2000:
            return path


def _surrogate(value: Any, seen: set[int]) -> str | None:
    if isinstance(value, str) and type(value) is str:
        return "" if has_surrogate(value) else None
    if isinstance(value, (bytes, int, float, type(None))) or id(value) in seen:
        return None
    seen.add(id(value))
    inside = False
    for step, item in parts(value):
        inside = True
        inner = _surrogate(item, seen)
        if inner is not None:
            return step + inner
    # A path, a pattern, an exception: what it is written as.
    if not inside or isinstance(value, BaseException):
        return "" if has_surrogate(str(value)) else None
    return None
