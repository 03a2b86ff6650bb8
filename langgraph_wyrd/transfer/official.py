"""LangGraph's official savers: as endpoints of a copy, and their databases opened for reading."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd.errors import InvalidInput, MissingExtra
from langgraph_wyrd.storage import url
from langgraph_wyrd.transfer.copy_job import CopyJob, Ours, Report, between
from langgraph_wyrd.transfer.endpoint import Endpoint, Key, Outline, WritePlace, on_loop
from langgraph_wyrd.types.migrations import Classes
from langgraph_wyrd.types.rebuild import guarded

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


# ---- endpoints


class InMemory(Endpoint):
    """LangGraph's InMemorySaver."""

    knows_paths = True
    saver: InMemorySaver

    def threads(self) -> list[tuple[Any, int]]:
        held = self.saver.storage
        counts = [(id, sum(map(len, spaces.values()))) for id, spaces in list(held.items())]
        return [(id, count) for id, count in counts if count]

    def outline(self, thread_id: Any) -> Outline:
        spaces = self.saver.storage.get(thread_id, {})
        parents = {
            (ns, id): row[2] or None
            for ns, held in list(spaces.items())
            for id, row in held.items()
        }
        asked = ((key, self.saver.writes.get((thread_id, *key))) for key in parents)
        return Outline(
            parents, {key: (len(held), min(idx for _, idx in held)) for key, held in asked if held}
        )

    def _write_places(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[WritePlace]:
        held = self.saver.writes.get((thread_id, *key), {})
        return sorted(WritePlace(row[3], task, idx) for (task, idx), row in list(held.items()))


class Tables(Endpoint):
    """An official saver on a database: its own tables tell what the contract does not."""

    knows_paths = True
    mark = "?"
    writes = "writes"
    path = "task_path"
    saver: Any

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def threads(self) -> list[tuple[Any, int]]:
        sql = "SELECT thread_id, count(*) FROM checkpoints GROUP BY thread_id ORDER BY thread_id"
        return [(id, count) for id, count in self.rows(sql)]

    def outline(self, thread_id: Any) -> Outline:
        rows = self.rows(
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints "
            f"WHERE thread_id = {self.mark}",
            (str(thread_id),),
        )
        counts = self.rows(
            f"SELECT checkpoint_ns, checkpoint_id, count(*), min(idx) FROM {self.writes} "
            f"WHERE thread_id = {self.mark} GROUP BY checkpoint_ns, checkpoint_id",
            (str(thread_id),),
        )
        return Outline(
            {(ns, id): parent or None for ns, id, parent in rows},
            {(ns, id): (count, lowest) for ns, id, count, lowest in counts},
        )

    def _write_places(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[WritePlace]:
        rows = self.rows(
            f"SELECT {self.path}, task_id, idx FROM {self.writes} "
            f"WHERE thread_id = {self.mark} AND checkpoint_ns = {self.mark} "
            f"AND checkpoint_id = {self.mark}",
            (str(thread_id), *key),
        )
        return sorted(WritePlace(*row) for row in rows)


class Sqlite(Tables):
    """SqliteSaver."""

    def __init__(self, saver: Any) -> None:
        super().__init__(saver)
        if not getattr(saver, "_has_task_path", True):  # from before paths were stored
            self.path = "''"

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.saver.cursor(transaction=False) as cursor:
            return list(cursor.execute(sql, params).fetchall())


class AsyncSqlite(Sqlite):
    """AsyncSqliteSaver. Its sync methods work from any thread but its loop's."""

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return on_loop(_free_loop(self.saver), self._read(sql, params))

    async def _read(self, sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        await self.saver.setup()
        async with self.saver.lock, self.saver.conn.execute(sql, params) as cursor:
            return list(await cursor.fetchall())


class Postgres(Tables):
    """PostgresSaver."""

    mark = "%s"
    writes = "checkpoint_writes"

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.saver._cursor() as cursor:
            cursor.execute(sql, params)
            return [tuple(row.values()) for row in cursor.fetchall()]


class AsyncPostgres(Postgres):
    """AsyncPostgresSaver. Its sync methods work from any thread but its loop's."""

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return on_loop(_free_loop(self.saver), self._read(sql, params))

    async def _read(self, sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        async with self.saver._cursor() as cursor:
            await cursor.execute(sql, params)
            return [tuple(row.values()) for row in await cursor.fetchall()]


def _free_loop(saver: Any) -> asyncio.AbstractEventLoop:
    """The loop of an async saver, which another thread runs."""
    loop: asyncio.AbstractEventLoop = saver.loop
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop or not loop.is_running():
        raise InvalidInput(
            f"{type(saver).__name__} is async: use `await acopy(…)` where its loop runs"
        )
    return loop


# The official savers may not be installed: they are known by name, their subclasses too.
_KINDS: dict[str, type[Tables]] = {
    "langgraph.checkpoint.sqlite.SqliteSaver": Sqlite,
    "langgraph.checkpoint.sqlite.aio.AsyncSqliteSaver": AsyncSqlite,
    "langgraph.checkpoint.postgres.PostgresSaver": Postgres,
    "langgraph.checkpoint.postgres.aio.AsyncPostgresSaver": AsyncPostgres,
}


def endpoint_of(saver: Any, loop: asyncio.AbstractEventLoop | None = None) -> Endpoint:
    """A saver as an endpoint of a copy. `loop`: where its async methods run; the copy calls them
    from another thread."""
    if hasattr(saver, "_engine") and saver._user is None:  # one user's shows no others
        return Ours(saver)
    if isinstance(saver, InMemorySaver):
        return InMemory(saver)
    for cls in type(saver).__mro__:
        kind = _KINDS.get(f"{cls.__module__}.{cls.__qualname__}")
        if kind is not None:
            return kind(saver)
    if not isinstance(saver, BaseCheckpointSaver):
        raise InvalidInput(f"{saver!r} is no LangGraph checkpointer")
    return Endpoint(saver, loop)


def copied(source: Endpoint, target: Endpoint, id: Any, tell: Callable[[int], None]) -> Report:
    """Copy one thread."""
    if isinstance(source, Ours) and isinstance(target, Ours):
        report = between(source, target, id)
        if report is not None:
            return report
    return CopyJob(source, target, id, tell).copy()
