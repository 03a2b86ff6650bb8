"""A Postgres database before it is used: whose tables are there; those that are missing made."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import psycopg
from psycopg import sql as quoting

from langgraph_wyrd.store import migrate
from langgraph_wyrd.store.sql import Sql

_LOCK = 0x77797264  # "wyrd"


async def set_up(
    connection: psycopg.AsyncConnection[Any],
    sql: Sql,
    schema: str | None,
    setup: str,
    where: str,
    limit: str,
) -> bool:
    """Look before touching; then whatever migrations are missing, and whether any were. `limit`: of
    waiting for locks."""
    async with connection.transaction():
        await connection.execute(f"SET LOCAL {limit}".encode())
        wanted = await _pending(connection, sql, schema, where)
    if not wanted:
        return False
    cursor = await connection.execute(
        "SELECT current_setting('transaction_read_only'), to_regclass('checkpoints') IS NOT NULL"
    )
    ((reads, theirs),) = await cursor.fetchall()
    if reads == "on":
        raise migrate.missing(where, "it only allows reading", theirs=theirs)
    if setup == "never":
        raise migrate.missing(where, migrate.NEVER, theirs=theirs)
    while wanted:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL {limit}".encode())
            # Held to the end of the transaction, so it works behind a pooler too.
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if schema is not None:
                await connection.execute(
                    quoting.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(quoting.Identifier(schema))
                )
            wanted = await _pending(connection, sql, schema, where)  # others may have been quicker
            if not wanted:
                break
            for statement in sql.migration(wanted[0].version):
                await connection.execute(statement.encode())
            await connection.execute(
                sql["record_migration"].encode(), (*wanted[0], datetime.now(timezone.utc))
            )
    return True


async def _pending(
    connection: psycopg.AsyncConnection[Any], sql: Sql, schema: str | None, where: str
) -> list[migrate.Migration]:
    cursor = await connection.execute(
        "SELECT c.relname, a.attname FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 "
        "WHERE n.nspname = coalesce(%s, current_schema()) "
        "AND c.relkind IN ('r', 'p', 'v', 'f') AND c.relname = ANY(%s)",
        (schema, [*migrate.OURS, migrate.LEDGER]),
    )
    tables: dict[str, set[str]] = {}
    for table, column in await cursor.fetchall():
        tables.setdefault(table, set()).add(column)
    migrate.refuse_foreign(tables, where)
    rows: list[Any] = []
    if migrate.LEDGER in tables:
        rows = await (await connection.execute(sql["applied"].encode())).fetchall()
    return migrate.pending(rows, tables.keys() - {migrate.LEDGER}, where)
