"""Databases of LangGraph's official savers, opened for reading only."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd.errors import InvalidInput, MissingExtra
from langgraph_wyrd.storage import url
from langgraph_wyrd.types.migrations import Classes
from langgraph_wyrd.types.rebuilding import guarded

Saver = BaseCheckpointSaver[Any]


@contextlib.contextmanager
def official(conn_string: str, serde: SerializerProtocol | None) -> Iterator[Saver]:
    """The official saver of a database, for reading only."""
    serde = guarded(JsonPlusSerializer() if serde is None else serde, Classes())
    address = url.parse(conn_string)
    if address.in_memory:
        raise InvalidInput("nothing can be adopted from a database in memory: name a file")
    opened = _sqlite if address.dialect == "sqlite" else _postgres
    with opened(address.target, serde) as saver:
        yield saver


@contextlib.contextmanager
def _sqlite(path: str, serde: SerializerProtocol | None) -> Iterator[Saver]:
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
    except ImportError as error:
        raise MissingExtra(
            "adopting an SQLite database needs: pip install langgraph-checkpoint-sqlite"
        ) from error
    try:
        raw = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, check_same_thread=False)
        with contextlib.closing(raw):
            columns = {row[1] for row in raw.execute("PRAGMA table_info(writes)")}
            there = {row[1] for row in raw.execute("PRAGMA table_info(checkpoints)")}
            if "task_id" not in columns or "parent_checkpoint_id" not in there:
                raise InvalidInput(f"{path!r} holds no checkpoints of SqliteSaver")
            saver = SqliteSaver(raw, serde=serde)
            # Its setup would write, and there is nothing to set up.
            saver.is_setup, saver._has_task_path = True, "task_path" in columns
            yield saver
    except sqlite3.Error as error:
        raise InvalidInput(f"{path!r} can't be read as an SQLite database: {error}") from error


@contextlib.contextmanager
def _postgres(conninfo: str, serde: SerializerProtocol | None) -> Iterator[Saver]:
    try:
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg import Connection, OperationalError
        from psycopg.rows import dict_row
    except ImportError as error:
        raise MissingExtra(
            "adopting a Postgres database needs: pip install langgraph-checkpoint-postgres"
        ) from error
    try:
        raw = Connection.connect(
            conninfo, autocommit=True, prepare_threshold=0, row_factory=dict_row
        )
    except OperationalError as error:
        raise InvalidInput(f"Postgres can't be reached by this address: {error}") from error
    with raw:
        raw.execute("SET default_transaction_read_only = on")
        names = ["checkpoints", "checkpoint_blobs", "checkpoint_writes"]
        found = raw.execute(
            "SELECT to_regclass(name) AS there FROM unnest(%s::text[]) AS name", (names,)
        )
        if not all(row["there"] for row in found):
            raise InvalidInput("the database holds no checkpoints of PostgresSaver")
        path = raw.execute(
            "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('checkpoint_writes') "
            "AND attname = 'task_path'"
        ).fetchone()
        if path is None:
            raise InvalidInput(
                "the tables are of an old PostgresSaver: let a current one bring them up to date "
                "with its setup(), then adopt them"
            )
        yield PostgresSaver(raw, serde=serde)


# ---- done with


def rows_there(saver: Any) -> list[int]:
    """How many rows the official tables hold."""
    if hasattr(saver, "cursor"):  # SQLite
        with saver.cursor(transaction=False) as cursor:
            return [cursor.execute(_COUNT.format(name)).fetchone()[0] for name in _SQLITE]
    with saver._cursor() as cursor:
        return [cursor.execute(_COUNT.format(name)).fetchone()["count"] for name in _POSTGRES]


def drop(conn_string: str, seen: list[int]) -> None:
    """Drop the official tables, if they hold what was seen, and give their space back.

    Raises:
        InvalidInput: Somebody wrote to them since, or still has them locked.
    """
    address = url.parse(conn_string)
    (_drop_sqlite if address.dialect == "sqlite" else _drop_postgres)(address.target, seen)


_SQLITE = ("checkpoints", "writes")
_POSTGRES = ("checkpoints", "checkpoint_writes", "checkpoint_blobs")
_COUNT = "SELECT count(*) AS count FROM {}"
_MEANWHILE = InvalidInput(
    "the old tables were written to while they were adopted: nothing was dropped. Stop what writes "
    "there, and adopt again"
)


def _drop_sqlite(path: str, seen: list[int]) -> None:
    try:
        uri = f"file:{quote(path)}?mode=rw"
        with contextlib.closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as raw:
            raw.execute("BEGIN IMMEDIATE")
            if [raw.execute(_COUNT.format(name)).fetchone()[0] for name in _SQLITE] != seen:
                raw.execute("ROLLBACK")
                raise _MEANWHILE
            for name in _SQLITE:
                raw.execute(f"DROP TABLE {name}")
            raw.execute("COMMIT")
            raw.execute("PRAGMA auto_vacuum = INCREMENTAL")  # sweeps give space back from now on
            raw.execute("VACUUM")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise InvalidInput(f"the old tables of {path!r} could not be dropped: {error}") from error


def _drop_postgres(conninfo: str, seen: list[int]) -> None:
    from psycopg import Connection, Error

    try:
        with Connection.connect(conninfo) as raw:
            raw.execute("SET LOCAL lock_timeout = '10s'")
            raw.execute(f"LOCK TABLE {', '.join(_POSTGRES)} IN ACCESS EXCLUSIVE MODE")
            found = [raw.execute(_COUNT.format(name)).fetchone() for name in _POSTGRES]
            if [row and row[0] for row in found] != seen:
                raise _MEANWHILE
            raw.execute(f"DROP TABLE {', '.join(_POSTGRES)}")
            raw.execute("DROP TABLE IF EXISTS checkpoint_migrations")
    except Error as error:
        raise InvalidInput(f"the old tables could not be dropped: {error}") from error
