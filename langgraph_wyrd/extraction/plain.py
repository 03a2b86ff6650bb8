"""Any value as bounded, plain JSON data: what a person needs to recognise it, never the whole."""

from __future__ import annotations

import heapq
import json
import math
from collections import deque
from collections.abc import Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langgraph_wyrd.extraction.patterns import late
from langgraph_wyrd.state.model import shortened
from langgraph_wyrd.types.kept import Kept

KEPT = "$kept"  # marks what stands for a value whose class is not here
MOST = 2000  # characters of JSON that a value may take
_DEEPEST = 8
_SLACK = 40  # what a last small value may take too much
_MARK = 20  # characters that saying what was left out of a list takes
_ADDRESS = late(r" at 0x[0-9a-fA-F]+")
_as_json = json.JSONEncoder(ensure_ascii=False).encode
_quoted = json.encoder.encode_basestring  # text as JSON has it
_AS_TEXT = (Decimal, UUID, PurePath, timedelta, complex)


def short(text: str, most: int) -> str:
    """The beginning of a text, in one line."""
    return shortened(text[: most * 4], most)


def bounded(value: Any, most: int = MOST) -> tuple[Any, dict[str, Any]]:
    """The value as JSON data of at most that many characters; what to say of it if it was cut.

    Tuples and sets become lists (sets sorted), keys strings, dates ISO text; objects become dicts
    with their type under `$type`. What can't be shown so is its bounded repr.
    """
    room = _Room(most)
    shown = room.show(value, 0)
    if not room.cut:
        return shown, {}
    about: dict[str, Any] = {"shortened": True, "type": type(value).__name__}
    if isinstance(value, str | bytes | Mapping | Set | list | tuple):
        about["size"] = len(value)
    return shown, about


def as_text(value: Any, most: int) -> str:
    """One line that shows a value: text as it is, anything else as bounded JSON."""
    if isinstance(value, str):
        return shortened(value[: 4 * most], most)
    room = 2 * most + 100  # the line is cut in the end: what is bounded here is the work
    return shortened(_as_json(bounded(value, room)[0]), most)


def in_line(value: Any, most: int) -> str:
    """One line that shows a value which is bounded JSON data already."""
    return shortened(_as_json(value)[: 4 * most], most)


def unwrapped(value: Any) -> Any:
    """What a delta channel's snapshot holds."""
    return value.value if type(value) is _DeltaSnapshot else value


class _Room:
    """Shows one value, and stops when the room for it is used up.

    What is shown is the same before the value is stored and after it was loaded: `verify` would
    take another for damage. So in a pydantic model, which is stored with everything inside it as
    bare dicts and lists, that is what is shown of it.
    """

    __slots__ = ("cut", "inside", "left")

    def __init__(self, most: int) -> None:
        self.left = most - _SLACK
        self.cut = False
        self.inside = 0  # how many models

    def show(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return self._text(value)
        if value is None or kind is bool:
            self.left -= 5
            return value
        if kind is int or kind is float:
            fits = math.isfinite(value) if kind is float else -(2**63) <= value < 2**63
            if not fits:
                return self._text(str(value) if kind is float else hex(value))
            self.left -= len(str(value)) + 2
            return value
        if depth > _DEEPEST:
            self.cut = True
            return f"… {kind.__name__}"
        try:
            return self._held(value, kind, depth)
        except Exception:  # a property, an iteration of somebody else's class
            return {"$type": kind.__name__, "repr": self._text(_shape(value))}

    def _held(self, value: Any, kind: type[Any], depth: int) -> Any:
        if kind is dict and not self.inside:
            return self._entries(value.items(), len(value), depth)
        if kind is _DeltaSnapshot:
            return self.show(value.value, depth)
        if isinstance(value, Mapping):
            if self.inside and value.keys() >= _OF_A_MESSAGE:
                return self._message(value["type"], value["content"], depth, None)
            tag = value.kept_type.partition(":")[2] if isinstance(value, Kept) else None
            shown = self._entries(value.items(), len(value), depth, tag)
            return {**shown, KEPT: True} if isinstance(value, Kept) else shown
        if isinstance(value, list | tuple | deque) and (
            self.inside or not hasattr(value, "_fields")
        ):
            return self._elements(value, len(value), depth)
        if isinstance(value, Set):
            return self._elements(_in_order(value), len(value), depth)
        return self._object(value, depth)

    def _text(self, text: str) -> str:
        if len(text) > self.left:
            self.cut = True
            text = text[: max(self.left - 1, 0)] + "…"
        if not text.isascii():
            # Half a surrogate pair can't be stored as text.
            text = text.encode("utf-8", "backslashreplace").decode("utf-8")
        taken = len(_quoted(text))
        while taken > max(self.left, 3):  # what needs escaping takes more room
            self.cut = True
            fits = len(text) * max(self.left, 3) // (taken + 1) - 1
            text = text[: max(fits, 0)] + "…"
            taken = len(_quoted(text))
        self.left -= taken + 2
        return text

    def _elements(self, values: Iterable[Any], size: int, depth: int) -> list[Any]:
        shown: list[Any] = []
        self.left -= _MARK
        for value in values:
            if self.left <= 0:
                break
            shown.append(self.show(value, depth + 1))
        if len(shown) < size:
            self.cut = True
            shown.append(f"… {size - len(shown)} more")
        else:
            self.left += _MARK - 4
        return shown

    def _entries(
        self, entries: Iterable[tuple[Any, Any]], size: int, depth: int, tag: str | None = None
    ) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        self.left -= _MARK
        if tag is not None:
            shown["$type"] = self._text(tag)
            self.left -= 11
        for n, (key, value) in enumerate(entries):
            if self.left <= 0:
                self.cut = True
                shown["…"] = f"{size - n} more"
                return shown
            name = key if type(key) is str else _key(key)
            if name in shown:  # 1 and "1" are two keys
                name = f"{name} ({type(key).__name__})"
            name = self._text(name)
            shown[name] = self.show(value, depth + 1)
        self.left += _MARK - 4
        return shown

    def _message(self, kind: Any, content: Any, depth: int, tag: str | None) -> dict[str, Any]:
        held = [("type", kind), ("content", content)]
        return self._entries(held, 2, depth, None if self.inside else tag)

    def _object(self, value: Any, depth: int) -> Any:
        kept = isinstance(value, Kept)
        name = value.kept_type.partition(":")[2] if kept else type(value).__name__
        held: list[tuple[str, Any]]
        if isinstance(value, str):
            return self._text(str.__str__(value.value if isinstance(value, Enum) else value))
        if isinstance(value, Enum):
            return self.show(value.value, depth + 1)
        if isinstance(value, Kept) and isinstance(value, (int, float)):
            return self.show(value.kept_data, depth + 1)
        if isinstance(value, date | time):
            return self._text(value.isoformat())
        if kept and not isinstance(value, BaseMessage):
            return {**self._entries([("kept", value.kept_data)], 1, depth, name), KEPT: True}
        if isinstance(value, _AS_TEXT):
            return self._text(str(value))
        if isinstance(value, bytes | bytearray | memoryview):
            size = len(value)
            start = bytes(value[:40]).decode("utf-8", "backslashreplace")
            return self._entries([("size", size), ("start", start)], 2, depth, "bytes")
        if isinstance(value, BaseException):
            return self._text(_shape(value))
        if isinstance(value, BaseMessage):
            return self._message(value.type, value.content, depth, name)
        if hasattr(value, "_fields") and isinstance(value, tuple):
            held = list(zip(getattr(value, "_fields", ()), value, strict=False))
            return self._entries(held, len(held), depth, name)
        if is_dataclass(value) and not isinstance(value, type):
            held = [(f.name, getattr(value, f.name, None)) for f in fields(value)]
            return self._entries(held, len(held), depth, None if self.inside else name)
        kind = type(value)
        # Of pydantic 2 first: to ask such a class for what 1 had is warned of.
        model = getattr(kind, "model_fields", None)
        model = getattr(kind, "__fields__", None) if model is None else model
        if model is not None:
            held = [each for each in vars(value).items() if not _left_out(model, each[0])]
            held += (getattr(value, "__pydantic_extra__", None) or {}).items()
            tag = None if self.inside else name
            self.inside += 1
            try:
                return self._entries(held, len(held), depth, tag)
            finally:
                self.inside -= 1
        if hasattr(value, "shape") and hasattr(value, "__len__"):  # an array, a table
            return self._entries([("shape", str(value.shape))], 1, depth, name)
        slots = getattr(type(value), "__slots__", ())
        if isinstance(slots, tuple) and slots:  # a Send, an Item of a store
            held = [(each, getattr(value, each, None)) for each in slots]
            return self._entries(held, len(held), depth, name)
        return self._entries([("repr", _shape(value))], 1, depth, name)


_OF_A_MESSAGE = {"content", "type", "id", "additional_kwargs", "response_metadata"}


def _left_out(model: Any, name: str) -> bool:
    """Whether a field is never stored."""
    field = model.get(name)
    return getattr(field, "exclude", None) is True


def _key(key: Any) -> str:
    """The text of a key, as the serializer makes it: an enum's member becomes its value."""
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, date | time):
        return key.isoformat()
    if isinstance(key, str | int | float | bool | UUID | None):
        return str(key)
    return repr(key)


def _shape(value: Any) -> str:
    """A bounded repr, the same in every process."""
    try:
        return _ADDRESS.sub("", repr(value))[:400]
    except Exception as error:
        return f"its repr raised {type(error).__name__}"


def _in_order(values: Set[Any]) -> list[Any]:
    """A set's elements in an order that doesn't hang on the process."""

    def order(each: Any) -> tuple[str, str]:
        return type(each).__name__, each if isinstance(each, str) else _shape(each)

    if all(type(each) is int for each in values):
        return heapq.nsmallest(400, values)
    return heapq.nsmallest(400, values, key=order)
