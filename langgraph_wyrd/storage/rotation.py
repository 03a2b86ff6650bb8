"""Encrypting what is stored anew, under the newest key: one loop over the declarations.

Each step is a short transaction that holds the thread's row, so others read and write meanwhile.
Rows under the newest key are passed over: a rotation that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from langgraph_wyrd.storage.access import SEALING, Access, proof
from langgraph_wyrd.storage.ciphers import NotOpened, NotSealed, RingCipher
from langgraph_wyrd.storage.encryption import Sealer
from langgraph_wyrd.storage.rows import delete, summed, unsound, upsert
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import KEYS, SEARCH, TABLES, KeyRow, Table

Progress = Callable[[int, int], object]
_ROWS = 50  # in one transaction: whoever writes to the thread waits for no more
_THREADS = 500  # that are looked up in one go
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


@dataclass(frozen=True, slots=True)
class _Done:
    """A page of rows. `after`: the key to go on behind; None: it was the last page."""

    rows: int
    left: int
    after: Sequence[Any] | None


def rotation(
    dialect: str,
    access: Access,
    sealer: Sealer,
    plain: bool,
    progress: Progress | None,
    mend: Callable[[Any], Script[Any]] | None = None,
) -> Generator[Callable[[], Script[Any]], Any, Rotation]:
    """Yields the scripts of a rotation, each to be run as a write; receives their results."""
    if plain:
        access.sealing_plain = True
        yield _begin_sealing
    total = yield _count
    done = rows = left = 0
    after: Any = None

    def sealed(table: Table, *owner: Any) -> Generator[Callable[[], Script[Any]], Any, None]:
        nonlocal rows, left
        end: Sequence[Any] | None = ()
        while end is not None:
            page = yield partial(_page, dialect, sealer, table, owner, end, plain)
            rows, left, end = rows + page.rows, left + page.left, page.after

    while keys := (yield partial(_threads, after)):
        for key in keys:
            if mend is not None:  # a damaged row would stay under the old key
                yield partial(mend, key)
            for table in _ENCRYPTED:
                if table.key[0] == table.placed_by:
                    yield from sealed(table, key)
            done += 1
            if progress is not None:
                progress(done, max(done, total))
        after = keys[-1]
    for table in _ENCRYPTED:
        if table.key[0] != table.placed_by:
            yield from sealed(table)
    if plain:
        yield partial(_end_sealing, sealer)
        access.sealing_plain = False
    return Rotation(done, rows, left)


def _begin_sealing() -> Script[None]:
    """From here on the store is neither plain nor encrypted: nobody else may use it."""
    yield Command(upsert(KEYS), [KeyRow(SEALING, "", "")])
    yield Command(delete(SEARCH))  # nothing is searched in an encrypted store


def _end_sealing(sealer: Sealer) -> Script[None]:
    assert isinstance(sealer.cipher, RingCipher)
    yield Command(upsert(KEYS), [proof(sealer.cipher, sealer.cipher.ring.newest)])
    yield Command(delete(KEYS, "id"), [(SEALING,)])


def _count() -> Script[int]:
    rows = yield Query("SELECT count(*) FROM wyrd_threads WHERE deleted_at IS NULL")
    count: int = rows[0][0]
    return count


def _threads(after: Any) -> Script[list[Any]]:
    behind = "" if after is None else " AND key > ?"
    rows = yield Query(
        f"SELECT key FROM wyrd_threads WHERE deleted_at IS NULL{behind} ORDER BY key "
        f"LIMIT {_THREADS}",
        () if after is None else (after,),
    )
    return [row[0] for row in rows]


def _page(
    dialect: str,
    sealer: Sealer,
    table: Table,
    owner: Sequence[Any],
    after: Sequence[Any],
    plain: bool,
) -> Script[_Done]:
    """Encrypt a page of rows anew: of one thread, or (no `owner`) of the whole table."""
    lock = " FOR UPDATE" if dialect == "postgres" else ""
    if owner and not (yield Query(f"SELECT 1 FROM wyrd_threads WHERE key = ?{lock}", owner)):
        return _Done(0, 0, None)  # deleted meanwhile
    found = yield Query(_select(table, bool(owner), bool(after)) + lock, (*owner, *after))
    made, left = [], 0
    for values in found:
        row = table.row._make(values)
        try:
            if unsound(table, row):
                left += 1
            elif (new := _renewed(sealer, table, row, plain)) is not None:
                made.append(new)
        except NotOpened:
            left += 1
    if made:
        yield Command(upsert(table), made)
    if len(found) < _ROWS:
        return _Done(len(made), left, None)
    last = table.row._make(found[-1])
    return _Done(len(made), left, [getattr(last, name) for name in table.key[len(owner) :]])


def _renewed(sealer: Sealer, table: Table, row: Any, plain: bool) -> Any:
    """The row under the newest key; None: it is already."""
    try:
        if sealer.is_newest(table, row):
            return None
    except NotSealed:
        if not plain:
            raise
    opened = {}
    for name in table.encrypted:
        try:
            opened[name] = sealer.opened(table, row, name)
        except NotSealed:
            if not plain:
                raise
            opened[name] = getattr(row, name)
    return summed(table, row._replace(**opened), sealer)


# ---- statements


@lru_cache
def _select(table: Table, of_owner: bool, behind: bool) -> str:
    columns = [
        f"CAST({column.name} AS TEXT)" if column.kind == "json" else column.name
        for column in table.columns
    ]
    order = table.key[1:] if of_owner else table.key
    where = [f"{table.key[0]} = ?"] if of_owner else []
    if behind:
        marks = ", ".join("?" * len(order))
        where.append(f"({', '.join(order)}) > ({marks})")
    text = f"SELECT {', '.join(columns)} FROM {table.name}"
    if where:
        text += f" WHERE {' AND '.join(where)}"
    if order:
        text += f" ORDER BY {', '.join(order)}"
    return f"{text} LIMIT {_ROWS}"
