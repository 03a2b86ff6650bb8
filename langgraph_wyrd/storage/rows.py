"""Rows: their checksums, and the statements that every declared table has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import ormsgpack
import xxhash

from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import Table

if TYPE_CHECKING:
    from langgraph_wyrd.storage.encryption import Sealer

R = TypeVar("R")

SEALED = 0xC1  # begins every encrypted value: the one byte that msgpack never begins with
_MASK = (1 << 63) - 1
_pack = ormsgpack.packb
_digest = xxhash.xxh3_64_intdigest


@lru_cache
def _plans(table: Table) -> list[tuple[str, int, Any, int]]:
    """Of each checksum: its column, its seed, what it covers, and where it stands in a row."""
    seed, at = _digest(table.name.encode()), table.names.index
    return [
        (name, seed, itemgetter(*map(at, columns)), at(name))
        for name, columns in table.sums.items()
    ]


def summed(table: Table, row: R, sealer: Sealer | None = None) -> R:
    """The row as it is stored: sealed by `sealer`, and with its checksums over that."""
    if sealer is not None:
        row = sealer.seal(table, row)
    values = list(row)  # type: ignore[call-overload]
    for _, seed, get, at in _plans(table):
        values[at] = _digest(_pack(get(values)), seed) & _MASK
    return row._make(values)  # type: ignore[attr-defined,no-any-return]


def unsound(table: Table, row: Any) -> tuple[str, ...]:
    """The checksum columns of a row that do not fit it."""
    wrong = []
    for name, seed, get, at in _plans(table):
        try:
            if _digest(_pack(get(row)), seed) & _MASK != row[at]:
                wrong.append(name)
        except (TypeError, ValueError):  # a column of another type than it had
            wrong.append(name)
    return tuple(wrong)


def key_of(table: Table, row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in table.key)


def now() -> str:
    """This moment, as rows hold it."""
    return datetime.now(timezone.utc).isoformat()


# ---- statements


@lru_cache
def insert(table: Table) -> str:
    marks = ", ".join("?" * len(table.names))
    return f"INSERT INTO {table.name} ({', '.join(table.names)}) VALUES ({marks})"


@lru_cache
def upsert(table: Table) -> str:
    """Insert a row, or put it in the place of the one that has its key."""
    others = [name for name in table.names if name not in table.key]
    sets = ", ".join(f"{name} = excluded.{name}" for name in others)
    return f"{insert(table)} ON CONFLICT ({', '.join(table.key)}) DO UPDATE SET {sets}"


def replace_row(table: Table, row: Any) -> Command:
    """Store a row in the place of the one that has its key."""
    return Command(upsert(table), [row])


@lru_cache
def select(table: Table, *by: str, order: str = "") -> str:
    """All columns of the rows with these columns' values."""
    text = f"SELECT {', '.join(table.names)} FROM {table.name}{_where(by)}"
    return f"{text} ORDER BY {order}" if order else text


@lru_cache
def with_texts(table: Table) -> str:
    """All columns of the rows of one thread, JSON as text: Postgres would make objects of it."""
    columns = [
        f"CAST({column.name} AS TEXT)" if column.kind == "json" else column.name
        for column in table.columns
    ]
    return f"SELECT {', '.join(columns)} FROM {table.name} WHERE {table.placed_by} = ?"


@lru_cache
def delete(table: Table, *by: str) -> str:
    """Delete the rows with these columns' values."""
    return f"DELETE FROM {table.name}{_where(by)}"


def fetch(table: Table, *more: Any, **by: Any) -> Script[list[Any]]:
    """The rows with these columns' values, as the table's named tuples.

    `more`: the rest of the statement, and its parameters.
    """
    tail, *params = more or ("",)
    found = yield Query(f"{select(table, *by)} {tail}", (*by.values(), *params))
    return [*map(table.row._make, found)]


def _where(by: Sequence[str]) -> str:
    return " WHERE " + " AND ".join(f"{name} = ?" for name in by) if by else ""
