"""Whether LangGraph's own savers stored threads in a database: they have to be adopted first."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

logger = logging.getLogger("langgraph_wyrd")

_THEIRS = """SELECT to_regclass('checkpoints') IS NOT NULL
AND to_regclass('checkpoint_writes') IS NOT NULL"""


def tell(where: str) -> None:
    """Said once, as a database is set up: its threads would seem to be gone."""
    logger.warning(
        "%s also holds threads that LangGraph's own saver stored. They are not seen here until "
        "they are adopted: `langgraph-wyrd adopt`, or langgraph_wyrd.port.adopt(…)", where,
    )  # fmt: skip


def in_sqlite(raw: sqlite3.Connection) -> bool:
    columns = {row[1] for row in raw.execute("PRAGMA table_info(checkpoints)")}
    if not {"thread_id", "checkpoint_ns", "parent_checkpoint_id"} <= columns:
        return False
    return raw.execute("SELECT 1 FROM checkpoints LIMIT 1").fetchone() is not None


async def in_postgres(connection: psycopg.AsyncConnection[Any]) -> bool:
    try:
        async with connection.transaction():  # a savepoint: reading may be forbidden
            if await (await connection.execute(_THEIRS)).fetchone() != (True,):
                return False
            found = await connection.execute("SELECT 1 FROM checkpoints LIMIT 1")
            return await found.fetchone() is not None
    except Exception:  # it is only a hint
        return False
