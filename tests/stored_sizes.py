"""How many bytes the rows of a database have, and text that does not compress."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

from tests.conftest import Backend
from tests.outside import is_postgres, raw, tables


def is_snapshots(table: str) -> bool:
    return "wyrd_snapshots" in table


def is_not_parity(table: str) -> bool:
    return "wyrd_parity" not in table


def stored_bytes(durable: Backend, which: Callable[[str], bool] = lambda table: True) -> int:
    """All that our tables hold, row by row; free pages and indexes left out."""
    with raw(durable.url) as connection:
        total = 0
        for table in filter(which, tables(connection)):
            if is_postgres(durable.url):
                query = f"SELECT coalesce(sum(pg_column_size(t.*)), 0) FROM {table} t"
            else:
                columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
                sizes = "+".join(
                    f"coalesce(length(cast({column[1]} AS BLOB)), 0)" for column in columns
                )
                query = f"SELECT coalesce(sum({sizes}), 0) FROM {table}"
            total += int(connection.execute(query).fetchone()[0])
    return total


def prose(length: int, seed: int) -> str:
    """Text that does not compress below three quarters of its length."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length))
