"""Answers as JSON that every client reads the same way, whatever an agent stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

_EXACT = 2**53  # integers beyond are text: JavaScript would round them


class Plain:
    """Makes plain JSON data of a value.

    With `cut`, text longer than that many characters, and lists and objects of more than `items`
    entries, are shortened and end with a note of what is missing; `was_cut` is then True. What is
    below `deepest` levels is given as text.
    """

    def __init__(self, cut: int | None = None, items: int = 500, deepest: int = 200) -> None:
        self._cut, self._items, self._deepest = cut, items, deepest
        self.was_cut = False

    def of(self, value: Any, depth: int = 0) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return int(value) if -_EXACT < value < _EXACT else str(value)
        if isinstance(value, float):
            return value if isfinite(value) else str(value)
        if depth > self._deepest:
            return self._text(f"… ({type(value).__name__}, nested too deeply to show)")
        if isinstance(value, Mapping):
            return self._object(value, depth)
        if isinstance(value, (list, tuple)):
            return self._list(value, depth)
        if isinstance(value, datetime):
            return value.isoformat()
        if isinstance(value, timedelta):
            return value.total_seconds()
        if is_dataclass(value) and not isinstance(value, type):
            return self.of({each.name: getattr(value, each.name) for each in fields(value)}, depth)
        if hasattr(value, "model_dump"):
            return self.of(value.model_dump(), depth)
        if isinstance(value, (bytes, bytearray)):
            return self._text(f"{len(value):,} bytes")
        return self._text(repr(value))

    def _text(self, text: str) -> str:
        text = str(text)
        if self._cut is None or len(text) <= self._cut:
            return text
        self.was_cut = True
        return f"{text[: self._cut]}… ({len(text) - self._cut:,} more characters)"

    def _list(self, values: Any, depth: int) -> list[Any]:
        if self._cut is None or len(values) <= self._items:
            return [self.of(each, depth + 1) for each in values]
        self.was_cut = True
        return [
            *(self.of(each, depth + 1) for each in values[: self._items]),
            f"… ({len(values) - self._items:,} more entries)",
        ]

    def _object(self, values: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in values.items():
            if self._cut is not None and len(found) == self._items:
                self.was_cut = True
                found["…"] = f"{len(values) - self._items:,} more entries"
                break
            found[self._text(key if isinstance(key, str) else str(key))] = self.of(value, depth + 1)
        return found


def encoded(value: Any) -> bytes:
    """A value as JSON. Escapes everything but ASCII: it may hold halves of surrogate pairs."""
    return json.dumps(Plain().of(value), separators=(",", ":"), allow_nan=False).encode()
