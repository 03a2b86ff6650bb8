"""Rows of the declared tables, read and written from outside."""

from __future__ import annotations

from typing import Any

from langgraph_wyrd.storage.rows import insert, select
from langgraph_wyrd.storage.tables import Table
from tests.outside import is_postgres, raw


def stored(url: str, table: Table) -> list[Any]:
    """All rows of a table, as they are stored."""
    with raw(url) as connection:
        found = connection.execute(select(table)).fetchall()
    return [table.row._make(row) for row in found]


def store(url: str, table: Table, *rows: Any) -> None:
    """Put rows into a table."""
    with raw(url) as connection:
        text = insert(table).replace("?", "%s") if is_postgres(url) else insert(table)
        for row in rows:
            connection.execute(text, row)


def replace(url: str, table: Table, old: Any, new: Any) -> None:
    """Put a row in the place of another."""
    mark = "%s" if is_postgres(url) else "?"
    with raw(url) as connection:
        match = " AND ".join(f"{name} = {mark}" for name in table.key)
        key = [getattr(old, name) for name in table.key]
        count = connection.execute(f"DELETE FROM {table.name} WHERE {match}", key).rowcount
        assert count == 1
    store(url, table, new)
