"""The schema: DDL from the declared tables, and setting a database up.

Any number of processes may set a database up at once. `min_reader` is the oldest schema that a
library must know to use this one, so that old processes go on during a rolling deploy.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from langgraph_wyrd.errors import ForeignDatabase, SchemaMissing, SchemaTooNew
from langgraph_wyrd.storage.tables import MIGRATIONS, TABLES, Column, Table

logger = logging.getLogger("langgraph_wyrd")

Dialect = Literal["sqlite", "postgres"]

_TYPES: dict[Dialect, dict[str, str]] = {
    "sqlite": {
        "key": "INTEGER", "text": "TEXT", "int": "INTEGER", "real": "REAL", "bool": "INTEGER",
        "bytes": "BLOB", "json": "TEXT", "time": "TEXT",
    },
    "postgres": {
        "key": "BYTEA", "text": 'TEXT COLLATE "C"', "int": "BIGINT", "real": "DOUBLE PRECISION",
        "bool": "BOOLEAN", "bytes": "BYTEA", "json": "JSONB", "time": "TIMESTAMPTZ",
    },
}  # fmt: skip
# Rows of these tables are updated in place all the time: room for that on their own page.
_FILL = {"wyrd_threads": 70}


class Migration(NamedTuple):
    version: int
    name: str
    min_reader: int


APPLIED = (Migration(1, "first tables", 1),)
KNOWN = APPLIED[-1].version
OURS = frozenset(TABLES) - {MIGRATIONS.name}
NEVER = 'none are made here (setup="never")'
RECORD = "INSERT INTO wyrd_migrations (version, name, min_reader, applied_at) VALUES (?, ?, ?, ?)"


def statements(dialect: Dialect) -> list[str]:
    """The statements that make every table and index."""
    made = []
    for table in TABLES.values():
        made.append(_create(table, dialect))
        for index in table.indexes:
            unique = "UNIQUE " if index.unique else ""
            where = f" WHERE {index.where}" if index.where else ""
            made.append(
                f"CREATE {unique}INDEX {index.name} ON {table.name} ({index.columns}){where}"
            )
        if table.fed:
            made += _feed(table, dialect)
    if dialect == "sqlite":
        made.append(_FLOORS)
        # On Postgres the key is made of the thread's id, so the primary keys say the same. The one
        # parity group of a thread that has its name leads back to it when its own row is gone.
        made.append("CREATE UNIQUE INDEX wyrd_threads_name ON wyrd_threads (thread_id)")
        made.append("CREATE INDEX wyrd_parity_name ON wyrd_parity (name) WHERE name IS NOT NULL")
    return made


# When a row was committed, in the order of the feed: filled in by the database. On Postgres the
# transaction, on SQLite milliseconds (there the rows' own numbers are the order).
_COMMITTED: dict[Dialect, str] = {
    "sqlite": "committed INTEGER NOT NULL DEFAULT "
    "(CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))",
    "postgres": "committed BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text::bigint)",
}
_FLOORS = (
    "CREATE TABLE wyrd_floors (\n  id INTEGER PRIMARY KEY,\n  source TEXT NOT NULL,\n"
    "  floor INTEGER NOT NULL\n)"
)


def _feed(table: Table, dialect: Dialect) -> list[str]:
    """What the feed needs of a table that holds events (see `checkpoints.feed`)."""
    source = table.name.removeprefix("wyrd_")
    if dialect == "postgres":
        where = " WHERE events IS NOT NULL" if "events" in table.names else ""
        columns = ", ".join(("committed", *table.fed))
        return [f"CREATE INDEX {table.name}_feed ON {table.name} ({columns}){where}"]
    last = f"coalesce((SELECT max(row) FROM {table.name}), 0)"
    return [
        f"CREATE TRIGGER {table.name}_floor AFTER DELETE ON {table.name} "
        f"WHEN old.row > {last} BEGIN INSERT INTO wyrd_floors (source, floor) "
        f"VALUES ('{source}', {last}); END"
    ]


def _create(table: Table, dialect: Dialect) -> str:
    sqlite = dialect == "sqlite"
    lines = [_column(column, table, dialect) for column in table.columns]
    if table.fed:
        lines.insert(0, _COMMITTED[dialect])
    if sqlite and table.rowid:
        lines.insert(0, "row INTEGER PRIMARY KEY")
        lines.append(f"UNIQUE ({', '.join(table.key)})")
    else:
        lines.append(f"PRIMARY KEY ({', '.join(table.key)})")
    tail = " WITHOUT ROWID" if sqlite and not table.rowid and len(table.key) > 1 else ""
    if not sqlite and table.name in _FILL:
        tail = f" WITH (fillfactor = {_FILL[table.name]})"
    body = ",\n  ".join(lines)
    return f"CREATE TABLE {table.name} (\n  {body}\n){tail}"


def _column(column: Column, table: Table, dialect: Dialect) -> str:
    text = f"{column.name} {_TYPES[dialect][column.kind]}"
    if column.name == "key" and table.name == "wyrd_threads" and dialect == "sqlite":
        return f"{text} NOT NULL"
    if column.required:
        text += " NOT NULL"
    if column.name in table.checks:
        allowed = ", ".join(f"'{value}'" for value in table.checks[column.name])
        text += f" CHECK ({column.name} IN ({allowed}))"
    return text


def placed(statement: str, prefix: str) -> str:
    """DDL inside a schema (`prefix` ends with a dot): names of indexes stand without it."""
    if not prefix:
        return statement
    head, _, tail = statement.partition(" ON ")
    if "INDEX" in head:
        return f"{head} ON {prefix}{tail}"
    return statement.replace("TABLE wyrd_", f"TABLE {prefix}wyrd_", 1)


def ddl(dialect: Dialect, schema: str | None = None) -> str:
    """Everything that sets up an empty database, for a role that may run it."""
    prefix = ""
    if schema is not None:
        quoted = schema.replace('"', '""')
        prefix = f'"{quoted}".'
    parts = [f"{placed(statement, prefix)};" for statement in statements(dialect)]
    for each in APPLIED:
        parts.append(
            f"INSERT INTO {prefix}wyrd_migrations (version, name, min_reader, applied_at) VALUES "
            f"({each.version}, '{each.name}', {each.min_reader}, CURRENT_TIMESTAMP);"
        )
    return "\n".join(parts) + "\n"


# ---- what is there already


def refuse_foreign(tables: Mapping[str, Collection[str]], where: str) -> None:
    """Raise where tables have our names and are not ours. `tables`: each one's columns."""
    recorded = tables.get(MIGRATIONS.name)
    if recorded is not None and not {"version", "min_reader"} <= set(recorded):
        raise ForeignDatabase(
            f"{where} has a table {MIGRATIONS.name} that is not langgraph-wyrd's; nothing was "
            "touched"
        )
    found = OURS & tables.keys()
    if recorded is None and found:
        raise ForeignDatabase(
            f"{where} has tables named {', '.join(sorted(found))} that langgraph-wyrd did not "
            "make; nothing was touched. Use another database or another schema."
        )


def pending(rows: Sequence[Sequence[Any]], where: str, *, there: bool = False) -> list[Migration]:
    """The migrations to apply; raises SchemaTooNew where this library can't read the schema.

    `there`: the tables are, so that a damaged or missing record does not stand for none.
    """
    rows = [row for row in rows if type(row[0]) is int and type(row[2]) is int]
    if there and all(row[0] not in range(1, KNOWN + 1) and row[2] <= KNOWN for row in rows):
        return []
    applied = max((row[0] for row in rows), default=0)
    reader = max((row[2] for row in rows), default=0)
    if reader > KNOWN:
        raise SchemaTooNew(
            f"{where} was set up by a newer langgraph-wyrd (schema {applied}, readable from "
            f"{reader} on; this release knows {KNOWN}): upgrade langgraph-wyrd"
        )
    return [each for each in APPLIED if each.version > applied]


def missing(where: str, why: str, *, official: bool) -> SchemaMissing:
    """The error for a database without our tables; `official`: LangGraph's own saver is in it."""
    if official:
        return SchemaMissing(
            f"{where} has tables of LangGraph's own saver and none of langgraph-wyrd's: "
            "`langgraph-wyrd adopt` takes its threads over"
        )
    return SchemaMissing(
        f"{where} does not have langgraph-wyrd's tables yet, and {why}. If it is the right one, "
        "set it up once with a saver that may write (`saver.setup()`), or apply "
        "`WyrdSaver.ddl(...)` by hand"
    )


def note_official(where: str) -> None:
    """Logged once, as a database is set up: its threads would seem to be gone."""
    logger.warning(
        "%s also holds threads that LangGraph's own saver stored. They are not seen here until "
        "they are adopted: `langgraph-wyrd adopt`, or langgraph_wyrd.port.adopt(…)",
        where,
    )
