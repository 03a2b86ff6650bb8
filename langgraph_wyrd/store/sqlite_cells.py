"""Texts of a damaged SQLite file that are no UTF-8: read as their bytes, and written so."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from langgraph_wyrd.store.inspect import has_surrogate

T = TypeVar("T")


def with_damaged_text(raw: sqlite3.Connection, work: Callable[[], T]) -> T:
    """Run it; if a text is no UTF-8, again with what of it is. Its checksum then tells."""
    try:
        return work()
    except sqlite3.OperationalError as error:
        if "Could not decode to UTF-8" not in str(error):
            raise
    raw.text_factory = lambda text: text.decode(errors="surrogateescape")
    try:
        return work()
    finally:
        raw.text_factory = str


def by_bytes(sql: str, params: Sequence[Any]) -> tuple[str, list[Any]]:
    """A statement that takes texts that are no UTF-8 as they were read."""
    parts, held = sql.split("?"), list(params)
    for at, each in enumerate(held):
        if isinstance(each, str) and has_surrogate(each):
            held[at] = each.encode(errors="surrogateescape")
            parts[at] += "CAST("
            parts[at + 1] = f" AS TEXT){parts[at + 1]}"
    return "?".join(parts), held
