"""Encrypting what is stored anew, under the newest key: one loop over the declarations.

Each thread is a transaction, so others read and write meanwhile.
Rows under the newest key are passed over: a rotation that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from langgraph_wyrd.storage.ciphers import NotOpened
from langgraph_wyrd.storage.encryption import Sealer
from langgraph_wyrd.storage.rows import summed, unsound, upsert
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import TABLES, Table

Progress = Callable[[int, int], object]
Steps = Generator[Callable[[], Script[Any]], Any, Any]
_ENCRYPTED = [table for table in TABLES.values() if table.encrypted]


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a rotation did. `rows` of `threads` were encrypted anew; `left` were not, as they are
    damaged."""

    threads: int
    rows: int
    left: int = 0

    def __str__(self) -> str:
        left = f"; {self.left} damaged rows stay as they are" if self.left else ""
        return f"{self.rows} rows of {self.threads} threads sealed under the newest key{left}"


def rotation(
    dialect: str,
    sealer: Sealer,
    progress: Progress | None,
    mend: Callable[[Any], Script[Any]] | None,
) -> Steps:
    """Yields the scripts of a rotation, each to be run as a write; receives their results."""
    rows = left = 0
    threads, others = yield _keys
    for done, key in enumerate([*threads, *others], 1):
        made, damaged = yield partial(_renewed, dialect, sealer, key, mend)
        rows, left = rows + made, left + damaged
        if progress is not None and done <= len(threads):
            progress(done, len(threads))
    return Rotation(len(threads), rows, left)


def _keys() -> Script[tuple[list[Any], list[Any]]]:
    """The keys of all threads, and others under which there are values of users."""
    alive, users = yield [
        Query("SELECT key FROM wyrd_threads WHERE deleted_at IS NULL ORDER BY key"),
        Query("SELECT DISTINCT thread FROM wyrd_user_data"),
    ]
    threads = [row[0] for row in alive]
    return threads, sorted({row[0] for row in users}.difference(threads))


def _renewed(
    dialect: str, sealer: Sealer, key: Any, mend: Callable[[Any], Script[Any]] | None
) -> Script[tuple[int, int]]:
    """Encrypt the rows of a thread anew: how many were, and how many are damaged."""
    lock = " FOR UPDATE" if dialect == "postgres" else ""
    yield Query(f"SELECT 1 FROM wyrd_threads WHERE key = ?{lock}", (key,))
    if mend is not None:  # a damaged row would stay under the old key
        yield from mend(key)
    count = left = 0
    for table in _ENCRYPTED:
        made = []
        for row in map(table.row._make, (yield Query(f"{_select(table)}{lock}", (key,)))):
            try:
                if unsound(table, row):
                    left += 1
                elif not sealer.is_newest(table, row):
                    made.append(summed(table, sealer.open(table, row), sealer))
            except NotOpened:
                left += 1
        if made:
            yield Command(upsert(table), made)
        count += len(made)
    return count, left


@lru_cache
def _select(table: Table) -> str:
    columns = [
        f"CAST({column.name} AS TEXT)" if column.kind == "json" else column.name
        for column in table.columns
    ]
    return f"SELECT {', '.join(columns)} FROM {table.name} WHERE {table.placed_by} = ?"
