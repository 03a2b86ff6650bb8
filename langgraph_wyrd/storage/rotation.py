"""Encrypting what is stored anew, under the newest key: one loop over the declarations.

Each step is a short transaction that holds the thread's row, so others read and write meanwhile.
Rows under the newest key are passed over: a rotation that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
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
_ROWS = 50  # in one transaction: whoever writes to the thread waits for no more
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

    def renewed(table: Table, *owner: Any) -> Steps:
        nonlocal rows, left
        end: Sequence[Any] | None = ()
        while end is not None:
            made, bad, end = yield partial(_page, dialect, sealer, table, owner, end)
            rows, left = rows + made, left + bad

    keys = yield _threads
    for done, key in enumerate(keys, 1):
        if mend is not None:  # a damaged row would stay under the old key
            yield partial(mend, key)
        for table in _ENCRYPTED:
            if table.key[0] == table.placed_by:
                yield from renewed(table, key)
        if progress is not None:
            progress(done, len(keys))
    for table in _ENCRYPTED:
        if table.key[0] != table.placed_by:
            yield from renewed(table)
    return Rotation(len(keys), rows, left)


def _threads() -> Script[list[Any]]:
    rows = yield Query("SELECT key FROM wyrd_threads WHERE deleted_at IS NULL ORDER BY key")
    return [row[0] for row in rows]


def _page(
    dialect: str, sealer: Sealer, table: Table, owner: Sequence[Any], after: Sequence[Any]
) -> Script[tuple[int, int, Sequence[Any] | None]]:
    """Encrypt a page of rows anew: of one thread, or (no `owner`) of the whole table.

    How many were, how many are damaged, and the key to go on behind (None: it was the last page).
    """
    lock = " FOR UPDATE" if dialect == "postgres" else ""
    if owner and not (yield Query(f"SELECT 1 FROM wyrd_threads WHERE key = ?{lock}", owner)):
        return 0, 0, None  # deleted meanwhile
    found = yield Query(_select(table, bool(owner), bool(after)) + lock, (*owner, *after))
    made, left = [], 0
    for row in map(table.row._make, found):
        try:
            if unsound(table, row):
                left += 1
            elif not sealer.is_newest(table, row):
                made.append(summed(table, sealer.open(table, row), sealer))
        except NotOpened:
            left += 1
    if made:
        yield Command(upsert(table), made)
    if len(found) < _ROWS:
        return len(made), left, None
    return len(made), left, [getattr(row, name) for name in table.key[len(owner) :]]


@lru_cache
def _select(table: Table, of_owner: bool, behind: bool) -> str:
    columns = [
        f"CAST({column.name} AS TEXT)" if column.kind == "json" else column.name
        for column in table.columns
    ]
    order = table.key[1:] if of_owner else table.key
    where = [f"{table.key[0]} = ?"] if of_owner else []
    if behind:
        where.append(f"({', '.join(order)}) > ({', '.join('?' * len(order))})")
    text = f"SELECT {', '.join(columns)} FROM {table.name}"
    if where:
        text += f" WHERE {' AND '.join(where)}"
    if order:
        text += f" ORDER BY {', '.join(order)}"
    return f"{text} LIMIT {_ROWS}"
