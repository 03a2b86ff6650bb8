"""The schema: DDL from the declared tables, and setting a database up.

Any number of processes may set a database up at once. `min_reader` is the oldest schema that a
library must know to use this one, so that old processes go on during a rolling deploy.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from langgraph_wyrd.errors import ForeignDatabase, InvalidInput, SchemaMissing, SchemaTooNew
from langgraph_wyrd.storage.tables import MIGRATIONS, TABLES, THREADS, Column, Table

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
# Rows of these tables are updated in place all the time: room for that on their own page. An
# update of what lies beside the table (TOAST) would leave its bytes there until the next VACUUM.
_WITH = {
    "wyrd_threads": "fillfactor = 70",
    "wyrd_parity": "fillfactor = 60, toast_tuple_target = 8160",
}
# Threads are listed by their last change, newest first. An index of the time itself would have to
# be updated with each put; the minute seldom changes within a turn. (SQLite updates the index of a
# column that it generates whenever what it is made of is set, to the same or not: 8 us and 9 kB of
# WAL a put, where these triggers take 1 us.)
_MINUTE = "substr(updated, 1, 16)"
_MINUTES = [
    f"CREATE TRIGGER wyrd_threads_{when.split()[0].lower()} AFTER {when} ON wyrd_threads "
    "WHEN new.minute IS NOT substr(new.updated, 1, 16) BEGIN "
    f"UPDATE wyrd_threads SET minute = {_MINUTE} WHERE key = new.key; END"
    for when in ("INSERT", "UPDATE OF updated")
]


class Migration(NamedTuple):
    version: int
    name: str
    min_reader: int


APPLIED = (Migration(1, "first tables", 1),)
KNOWN = APPLIED[-1].version
OURS = frozenset(TABLES) - {MIGRATIONS.name}
NEVER = 'none are made here (setup="never")'
RECORD = "INSERT INTO wyrd_migrations (version, name, min_reader, applied_at) VALUES (?, ?, ?, ?)"


_HASH = re.compile(r"hash:([1-9][0-9]{0,3})")
_PLACEMENTS = '"hash:16" (or another number of partitions), "citus" or "portable"'


def partitions(dialect: Dialect, placement: str | None) -> int:
    """How many partitions a placement asks for; 0: none. Raises InvalidInput if there is no such
    placement."""
    if placement is None:
        return 0
    if dialect != "postgres":
        raise InvalidInput(f"placement={placement!r} is for Postgres: SQLite has none")
    found = _HASH.fullmatch(placement) if isinstance(placement, str) else None
    if found is not None and int(found[1]) >= 2:
        return int(found[1])
    if placement not in ("citus", "portable"):
        raise InvalidInput(f"placement={placement!r}: use {_PLACEMENTS}")
    return 0


def statements(dialect: Dialect, placement: str | None = None) -> list[str]:
    """The statements that make every table and index."""
    parts = partitions(dialect, placement)
    made = []
    for table in TABLES.values():
        made += _create(table, dialect, parts, portable=placement == "portable")
        for index in table.indexes:
            where = f" WHERE {index.where}" if index.where else ""
            made.append(f"CREATE INDEX {index.name} ON {table.name} ({index.columns}){where}")
        if table.fed:
            made += _feed(table, dialect)
    made.append("CREATE INDEX wyrd_threads_minute ON wyrd_threads (minute)")
    if dialect == "sqlite":
        made.append(_FLOORS)
        made += _MINUTES
        # On Postgres the key is made of the thread's id, so the primary keys say the same. The one
        # parity group of a thread that has its name leads back to it when its own row is gone.
        made.append("CREATE UNIQUE INDEX wyrd_threads_name ON wyrd_threads (thread_id)")
        made.append("CREATE INDEX wyrd_parity_name ON wyrd_parity (name) WHERE name IS NOT NULL")
    elif placement != "portable":
        words = "to_tsvector('simple', text)"  # SQLite's are made with the first search
        made.append(f"CREATE INDEX wyrd_search_words ON wyrd_search USING gin ({words})")
    return made + _distributed() if placement == "citus" else made


def _distributed() -> list[str]:
    """What has Citus spread tables over its nodes: all rows of a thread lie on one."""
    made, beside = [], "none"
    for table in sorted(TABLES.values(), key=lambda table: table is not THREADS):
        if table.placed_by is None:
            made.append(f"SELECT create_reference_table('{table.name}')")
        else:
            made.append(
                f"SELECT create_distributed_table('{table.name}', '{table.placed_by}', "
                f"colocate_with => '{beside}')"
            )
            beside = THREADS.name
    return made


# When a row was committed, in the order of the feed: filled in by the database. On Postgres the
# transaction, on SQLite milliseconds (there the rows' own numbers are the order).
_COMMITTED: dict[Dialect, str] = {
    "sqlite": "committed INTEGER NOT NULL DEFAULT "
    "(CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))",
    "postgres": "committed BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text::bigint)",
}
# For servers whose transactions have no numbers: microseconds, which order nothing for sure.
_PORTABLY = "committed BIGINT NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)"
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


def _create(table: Table, dialect: Dialect, parts: int, *, portable: bool) -> list[str]:
    sqlite = dialect == "sqlite"
    lines = [_column(column, table, dialect, portable=portable) for column in table.columns]
    if table.fed:
        lines.insert(0, _PORTABLY if portable else _COMMITTED[dialect])
    if table is THREADS:
        text = _column(Column("minute", "text", required=False), table, dialect, portable=portable)
        lines.append(text if sqlite else f"{text} GENERATED ALWAYS AS ({_MINUTE}) STORED")
    if sqlite and table.rowid:
        lines.insert(0, "row INTEGER PRIMARY KEY")
        lines.append(f"UNIQUE ({', '.join(table.key)})")
    else:
        lines.append(f"PRIMARY KEY ({', '.join(table.key)})")
    body = ",\n  ".join(lines)
    made = f"CREATE TABLE {table.name} (\n  {body}\n)"
    if sqlite:
        return [f"{made} WITHOUT ROWID" if not table.rowid and len(table.key) > 1 else made]
    options = _WITH.get(table.name)
    tail = "" if options is None or portable else f" WITH ({options})"
    if not parts or table.placed_by is None:
        return [made + tail]
    return [
        f"{made} PARTITION BY HASH ({table.placed_by})",
        *(
            f"CREATE TABLE {table.name}_{n} PARTITION OF {table.name} "
            f"FOR VALUES WITH (MODULUS {parts}, REMAINDER {n}){tail}"
            for n in range(parts)
        ),
    ]


def _column(column: Column, table: Table, dialect: Dialect, *, portable: bool) -> str:
    text = f"{column.name} {_TYPES[dialect][column.kind]}"
    if portable:  # the whole database has to sort by bytes
        text = text.removesuffix(' COLLATE "C"')
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
    literal = prefix.replace("'", "''")
    for before, put in (("TABLE ", prefix), ("PARTITION OF ", prefix), ("_table('", literal)):
        statement = statement.replace(f"{before}wyrd_", f"{before}{put}wyrd_", 1)
    return statement.replace(f"=> '{THREADS.name}'", f"=> '{literal}{THREADS.name}'")


def ddl(dialect: Dialect, schema: str | None = None, placement: str | None = None) -> str:
    """Everything that sets up an empty database, for a role that may run it."""
    prefix = ""
    if schema is not None:
        quoted = schema.replace('"', '""')
        prefix = f'"{quoted}".'
    parts = [f"{placed(statement, prefix)};" for statement in statements(dialect, placement)]
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
    found = sorted(OURS & tables.keys())
    if recorded is None:
        wrong = f"tables named {', '.join(found)} that langgraph-wyrd did not make" if found else ""
    elif not {"version", "min_reader"} <= set(recorded):
        wrong = f"a table {MIGRATIONS.name} that is not langgraph-wyrd's"
    else:
        lacks = {name: sorted({*TABLES[name].names} - {*tables[name]}) for name in found}
        wrong = "; ".join(
            f"a table {name} without the columns {', '.join(columns)}: langgraph-wyrd did not make "
            "it, or somebody changed it"
            for name, columns in lacks.items()
            if columns
        )
    if wrong:
        raise ForeignDatabase(
            f"{where} has {wrong}; nothing was touched. Use another database or another schema, "
            "or restore the table"
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
