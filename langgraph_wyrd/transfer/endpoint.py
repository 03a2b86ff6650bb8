"""A saver as the source or the target of a copy; official savers' databases, opened for reading.

LangGraph's contract does not say which threads there are, nor the task path and the number of each
pending write, and a copy needs both. So each kind of saver is asked in its own way; of an unknown
kind only the contract is used. A copy is sync code; an async one runs it in a worker thread, which
calls the methods of an async saver on its loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import sqlite3
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import timezone
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd.checkpoints.path import find
from langgraph_wyrd.checkpoints.read import merged
from langgraph_wyrd.configs import checkpoint_config, parent_of
from langgraph_wyrd.errors import InvalidInput, MissingExtra
from langgraph_wyrd.state.wording import moment
from langgraph_wyrd.storage import url
from langgraph_wyrd.storage.keys import found_by
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.transfer import rows as whole
from langgraph_wyrd.types.migrations import Classes
from langgraph_wyrd.types.rebuild import guarded

T = TypeVar("T")
Key = tuple[str, str]  # namespace, checkpoint id: as they were given
Parents = dict[Key, str | None]

_TRIES = 5


class WritePlace(NamedTuple):
    """Where a write stands: what orders the writes of a checkpoint."""

    path: str
    task: str
    idx: int


Found = tuple[CheckpointTuple, list[WritePlace]]


class Endpoint:
    """A saver of an unknown kind, of which only LangGraph's contract is used."""

    knows_paths = False  # whether it can tell a write's task path

    def __init__(self, saver: Any, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.saver = saver
        self._read_by = _careful(saver)
        self._loop = loop  # where its async methods are called; None: its sync ones are

    def call(self, name: str, *args: Any) -> Any:
        """A method of LangGraph's contract."""
        saver = self._read_by if name == "get_tuple" else self.saver
        if self._loop is None:
            return getattr(saver, name)(*args)
        return self._wait(getattr(saver, f"a{name}")(*args))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that runs on the saver's loop."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _listed(self, config: Any) -> Iterator[CheckpointTuple]:
        if self._loop is None:
            yield from self._read_by.list(config)
            return
        listing = self._read_by.alist(config)

        async def following() -> CheckpointTuple | None:
            found: CheckpointTuple | None = await anext(listing, None)
            return found

        while (found := self._wait(following())) is not None:
            yield found

    def threads(self) -> list[tuple[Any, int]]:
        """The ids of its threads, and how many checkpoints each has."""
        found = (each.config["configurable"]["thread_id"] for each in self._listed(None))
        return list(Counter(found).items())

    def parents(self, thread_id: Any) -> Parents:
        """Which checkpoints a thread has, and their parents."""
        found = self._listed({"configurable": {"thread_id": thread_id}})
        places = ((each.config["configurable"], parent_of(each)) for each in found)
        return {(at.get("checkpoint_ns", ""), at["checkpoint_id"]): up for at, up in places}

    def read(self, thread_id: Any, keys: Sequence[Key]) -> list[Found | None]:
        """These checkpoints, with where each pending write stands."""
        return [self._one(thread_id, key) for key in keys]

    def _one(self, thread_id: Any, key: Key) -> Found | None:
        for _ in range(_TRIES):
            found = self.call("get_tuple", checkpoint_config(thread_id, *key))
            if found is None:
                return None
            writes = found.pending_writes or []
            places = self._write_places(thread_id, key, writes)
            if [place.task for place in places] == [task for task, _, _ in writes]:
                return found, places  # else a run wrote between the two looks
        raise InvalidInput(
            f"checkpoint {key[1]} of thread {thread_id!r} is being written to faster than it can "
            "be read: copy the thread when its run is over"
        )

    def _write_places(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[WritePlace]:
        """Unknown paths: where the order is not that of the tasks' ids, places stand for them."""
        counts: Counter[str] = Counter()
        places = []
        tasks = list(dict.fromkeys(task for task, _, _ in writes))
        in_order = tasks == sorted(tasks)
        for task, _, _ in writes:
            path = "" if in_order else f"~{tasks.index(task):06}"
            places.append(WritePlace(path, task, counts[task]))
            counts[task] += 1
        return places

    def stored(self, metadata: Any) -> Any:
        """Metadata as this saver stores them."""
        return metadata

    def expect(self, thread_id: Any) -> None:
        """A thread is about to arrive."""

    def arrived(self, thread_id: Any) -> None:
        """All of a thread has arrived, from a saver of another kind."""


def _careful(saver: Any) -> Any:
    """A clone of the saver that keeps values which it can't rebuild: a copy would lose them."""
    serde = getattr(saver, "serde", None)
    careful = guarded(serde, Classes())
    if careful is serde or hasattr(saver, "import_thread"):
        return saver
    clone = copy.copy(saver)
    clone.serde = careful
    return clone


# ---- ours


class Ours(Endpoint):
    """A WyrdSaver."""

    knows_paths = True

    def run(self, script: Callable[..., Script[T]], *args: Any, writes: bool = False) -> T:
        """Run a script on the saver's database."""
        found: T = self.saver._engine.run(partial(script, *args), writes=writes)
        return found

    def threads(self) -> list[tuple[Any, int]]:
        made: list[tuple[str, int]] = []
        while page := self.run(whole.threads, made[-1][0] if made else ""):
            made += page
        return [(given(name), count) for name, count in made if count]

    def parents(self, thread_id: Any) -> Parents:
        return {
            (given(ns), given(id)): parent and given(parent)
            for ns, id, parent, _ in self.run(_outline, self.saver._dialect, _stored(thread_id))
        }

    def _write_places(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[WritePlace]:
        if not writes:
            return []
        ids = (_stored(thread_id), *(stored(each, "an id") for each in key))
        found = self.run(find, self.saver._dialect, *ids)
        held = merged(self.saver._codec, found.writes)
        return [WritePlace(given(w.path), given(w.task), w.idx) for w in held]

    def stored(self, metadata: Any) -> Any:
        redaction = self.saver._redaction
        return metadata if redaction is None else redaction(metadata)

    def expect(self, thread_id: Any) -> None:
        """A person may bring back what was deleted: it is not refused."""
        name = _stored(thread_id)
        self.run(_changed, _REVIVED, name, writes=True)
        self.saver._cache.drop(name)

    def arrived(self, thread_id: Any) -> None:
        """The thread's times are those of its checkpoints, not of their arrival."""
        name = _stored(thread_id)
        rows = self.run(_outline, self.saver._dialect, name)
        moments = [moment(given(ts)) for *_, ts in rows if ts]
        times = sorted(at.astimezone(timezone.utc).isoformat() for at in moments if at)
        if times:
            self.run(_changed, _TIMED, times[0], times[-1], name, writes=True)
        if self.saver._reader is not None:  # the order in which tasks wrote matters to it
            self.call("reextract", thread_id)


def _stored(thread_id: Any) -> str:
    return stored(str(thread_id), "thread_id")


_REVIVED = (
    "UPDATE wyrd_threads SET buried = NULL, deleted_at = NULL, version = version + 1 "
    "WHERE thread_id = ? AND buried IS NOT NULL"
)
_TIMED = "UPDATE wyrd_threads SET created = ?, updated = ? WHERE thread_id = ?"
_OF = {"sqlite": "(SELECT key FROM wyrd_threads WHERE thread_id = ?)", "postgres": "?"}


def _outline(dialect: str, thread_id: str) -> Script[list[Any]]:
    sql = f"SELECT ns, id, parent, ts FROM wyrd_checkpoints WHERE thread = {_OF[dialect]}"
    return [*(yield Query(sql, (found_by(dialect, thread_id),)))]


def _changed(sql: str, *values: Any) -> Script[None]:
    yield Command(sql, [values])


# ---- LangGraph's own


class InMemory(Endpoint):
    """InMemorySaver."""

    knows_paths = True

    def _write_places(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[WritePlace]:
        held = self.saver.writes.get((thread_id, *key), {})
        return sorted(WritePlace(row[3], task, idx) for (task, idx), row in list(held.items()))


class Sqlite(Endpoint):
    """SqliteSaver and AsyncSqliteSaver: their tables tell what the contract does not."""

    knows_paths = True
    mark = "?"
    writes = "writes"

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Any]:
        """What a query of the saver's database finds."""
        sql = sql.replace("?", self.mark)
        return (
            self._rows(sql, params) if self._loop is None else self._wait(self._arows(sql, params))
        )

    def _rows(self, sql: str, params: Sequence[Any]) -> list[Any]:
        with self.saver.cursor(transaction=False) as cursor:
            return list(cursor.execute(sql, params).fetchall())

    async def _arows(self, sql: str, params: Sequence[Any]) -> list[Any]:
        await self.saver.setup()
        async with self.saver.lock, self.saver.conn.execute(sql, params) as cursor:
            return list(await cursor.fetchall())

    def threads(self) -> list[tuple[Any, int]]:
        return self.rows(
            "SELECT thread_id, count(*) FROM checkpoints GROUP BY thread_id ORDER BY thread_id"
        )

    def parents(self, thread_id: Any) -> Parents:
        rows = self.rows(
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints "
            "WHERE thread_id = ?",
            (str(thread_id),),
        )
        return {(ns, id): parent or None for ns, id, parent in rows}

    def _write_places(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[WritePlace]:
        has_paths = getattr(self.saver, "_has_task_path", True)  # old files have none
        rows = self.rows(
            f"SELECT {'task_path' if has_paths else repr('')}, task_id, idx FROM {self.writes} "
            "WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
            (str(thread_id), *key),
        )
        return sorted(WritePlace(*row) for row in rows)


class Postgres(Sqlite):
    """PostgresSaver and AsyncPostgresSaver."""

    mark = "%s"
    writes = "checkpoint_writes"

    def _rows(self, sql: str, params: Sequence[Any]) -> list[Any]:
        with self.saver._cursor() as cursor:
            return [tuple(row.values()) for row in cursor.execute(sql, params).fetchall()]

    async def _arows(self, sql: str, params: Sequence[Any]) -> list[Any]:
        async with self.saver._cursor() as cursor:
            await cursor.execute(sql, params)
            return [tuple(row.values()) for row in await cursor.fetchall()]


# The official savers may not be installed: they are known by name, their subclasses too.
_KINDS: dict[str, type[Endpoint]] = {
    "langgraph.checkpoint.memory.InMemorySaver": InMemory,
    "langgraph.checkpoint.sqlite.SqliteSaver": Sqlite,
    "langgraph.checkpoint.sqlite.aio.AsyncSqliteSaver": Sqlite,
    "langgraph.checkpoint.postgres.PostgresSaver": Postgres,
    "langgraph.checkpoint.postgres.aio.AsyncPostgresSaver": Postgres,
}


def endpoint_of(saver: Any, here: asyncio.AbstractEventLoop | None = None) -> Endpoint:
    """A saver as an endpoint of a copy. `here`: the loop of an async copy, where an unknown saver's
    async methods are called."""
    if hasattr(saver, "_engine") and saver._user is None:  # one user's shows no others
        return Ours(saver)
    for cls in type(saver).__mro__:
        kind = _KINDS.get(f"{cls.__module__}.{cls.__qualname__}")
        if kind is not None:
            loop = getattr(saver, "loop", None)  # of an async one, which another thread runs
            is_here = here is None and asyncio._get_running_loop() is loop
            if loop is not None and (is_here or not loop.is_running()):
                raise InvalidInput(
                    f"{type(saver).__name__} is async: use `await acopy(…)` where its loop runs"
                )
            return kind(saver, loop)
    if not isinstance(saver, BaseCheckpointSaver):
        raise InvalidInput(f"{saver!r} is no LangGraph checkpointer")
    return Endpoint(saver, here)


# ---- databases of the official savers


@contextlib.contextmanager
def official(conn_string: str, serde: SerializerProtocol | None) -> Iterator[Any]:
    """The official saver of a database, for reading only."""
    serde = guarded(JsonPlusSerializer() if serde is None else serde, Classes())
    address = url.parse(conn_string)
    if address.in_memory:
        raise InvalidInput("nothing can be adopted from a database in memory: name a file")
    is_file = address.dialect == "sqlite"
    try:
        with (_sqlite if is_file else _postgres)(address.target, serde) as saver:
            yield saver
    except ImportError as error:
        package, name = ("sqlite", "an SQLite") if is_file else ("postgres", "a Postgres")
        raise MissingExtra(
            f"adopting {name} database needs: pip install langgraph-checkpoint-{package}"
        ) from error


@contextlib.contextmanager
def _sqlite(path: str, serde: Any) -> Iterator[Any]:
    from langgraph.checkpoint.sqlite import SqliteSaver

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
def _postgres(conninfo: str, serde: Any) -> Iterator[Any]:
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg import Connection, OperationalError
    from psycopg.rows import dict_row

    how: Any = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    try:
        raw: Any = Connection.connect(conninfo, **how)
    except OperationalError as error:
        raise InvalidInput(f"Postgres can't be reached by this address: {error}") from error
    with raw:
        raw.execute("SET default_transaction_read_only = on")
        found = raw.execute(
            "SELECT to_regclass(name) AS there FROM unnest(ARRAY['checkpoints', "
            "'checkpoint_blobs', 'checkpoint_writes']) AS name"
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
