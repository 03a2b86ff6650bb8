"""LangGraph's own savers as sides of a copy, and which side a saver takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.transfer.ours import Ours, between
from langgraph_wyrd.transfer.outline import Key, Outline, Spot
from langgraph_wyrd.transfer.passage import Passage, Report
from langgraph_wyrd.transfer.sides import Side

T = TypeVar("T")


class InMemory(Side):
    """LangGraph's InMemorySaver."""

    knows_paths = True
    saver: InMemorySaver

    async def threads(self) -> list[tuple[Any, int]]:
        held = self.saver.storage
        counts = [(id, sum(map(len, spaces.values()))) for id, spaces in list(held.items())]
        return [(id, count) for id, count in counts if count]

    async def outline(self, thread_id: Any) -> Outline:
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

    async def _spots(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[Spot]:
        held = self.saver.writes.get((thread_id, *key), {})
        return sorted(Spot(row[3], task, idx) for (task, idx), row in list(held.items()))


class Tables(Side):
    """An official saver on a database: its own tables tell what the contract does not."""

    knows_paths = True
    mark = "?"
    writes = "writes"

    async def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    async def threads(self) -> list[tuple[Any, int]]:
        return [
            (id, count)
            for id, count in await self.rows(
                "SELECT thread_id, count(*) FROM checkpoints GROUP BY thread_id ORDER BY thread_id"
            )
        ]

    async def outline(self, thread_id: Any) -> Outline:
        rows = await self.rows(
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints "
            f"WHERE thread_id = {self.mark}",
            (str(thread_id),),
        )
        counts = await self.rows(
            f"SELECT checkpoint_ns, checkpoint_id, count(*), min(idx) FROM {self.writes} "
            f"WHERE thread_id = {self.mark} GROUP BY checkpoint_ns, checkpoint_id",
            (str(thread_id),),
        )
        return Outline(
            {(ns, id): parent or None for ns, id, parent in rows},
            {(ns, id): (count, lowest) for ns, id, count, lowest in counts},
        )

    async def _spots(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[Spot]:
        rows = await self.rows(
            f"SELECT {await self._path()}, task_id, idx FROM {self.writes} "
            f"WHERE thread_id = {self.mark} AND checkpoint_ns = {self.mark} "
            f"AND checkpoint_id = {self.mark}",
            (str(thread_id), *key),
        )
        return sorted(Spot(*row) for row in rows)

    async def _path(self) -> str:
        return "task_path"


class Sqlite(Tables):
    """SqliteSaver."""

    sync_only = True
    saver: Any

    async def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        def read() -> list[tuple[Any, ...]]:
            with self.saver.cursor(transaction=False) as cursor:
                return list(cursor.execute(sql, params).fetchall())

        return await asyncio.to_thread(read) if self._asynchronous else read()

    async def _path(self) -> str:
        # A read-only database from before paths were stored has none.
        return "task_path" if getattr(self.saver, "_has_task_path", True) else "''"


class AsyncSqlite(Sqlite):
    """AsyncSqliteSaver. Its sync methods work from any thread but its loop's."""

    sync_only = False

    async def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return await _on_its_loop(self, lambda: self._read(sql, params))

    async def _read(self, sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        await self.saver.setup()
        async with self.saver.lock, self.saver.conn.execute(sql, params) as cursor:
            return list(await cursor.fetchall())


class Postgres(Tables):
    """PostgresSaver."""

    sync_only = True
    mark = "%s"
    writes = "checkpoint_writes"
    saver: Any

    async def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        def read() -> list[tuple[Any, ...]]:
            with self.saver._cursor() as cursor:
                cursor.execute(sql, params)
                return [tuple(row.values()) for row in cursor.fetchall()]

        return await asyncio.to_thread(read) if self._asynchronous else read()


class AsyncPostgres(Postgres):
    """AsyncPostgresSaver. Its sync methods work from any thread but its loop's."""

    sync_only = False

    async def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return await _on_its_loop(self, lambda: self._read(sql, params))

    async def _read(self, sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        async with self.saver._cursor() as cursor:
            await cursor.execute(sql, params)
            return [tuple(row.values()) for row in await cursor.fetchall()]


async def _on_its_loop(side: Side, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run work on the loop of an async saver, from there or from another thread."""
    loop: asyncio.AbstractEventLoop = side.saver.loop
    if side._asynchronous:
        if loop is asyncio.get_running_loop():
            return await work()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), loop))
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop or not loop.is_running():
        raise InvalidInput(
            f"{type(side.saver).__name__} is async: use `await acopy(…)` where its loop runs"
        )
    return asyncio.run_coroutine_threadsafe(work(), loop).result()


# The official savers may not be installed: they are known by name, their subclasses too.
_KINDS: dict[str, type[Side]] = {
    "langgraph.checkpoint.sqlite.SqliteSaver": Sqlite,
    "langgraph.checkpoint.sqlite.aio.AsyncSqliteSaver": AsyncSqlite,
    "langgraph.checkpoint.postgres.PostgresSaver": Postgres,
    "langgraph.checkpoint.postgres.aio.AsyncPostgresSaver": AsyncPostgres,
}


def side_of(saver: Any, asynchronous: bool) -> Side:
    """The side that a saver takes in a copy."""
    if hasattr(saver, "_engine") and saver._user is None:  # one user's shows no others
        return Ours(saver, asynchronous)
    if isinstance(saver, InMemorySaver):
        return InMemory(saver, asynchronous)
    for cls in type(saver).__mro__:
        kind = _KINDS.get(f"{cls.__module__}.{cls.__qualname__}")
        if kind is not None:
            return kind(saver, asynchronous)
    if not isinstance(saver, BaseCheckpointSaver):
        raise InvalidInput(f"{saver!r} is no LangGraph checkpointer")
    return Side(saver, asynchronous)


async def carried(source: Side, target: Side, id: Any, tell: Callable[[int], None]) -> Report:
    """Copy one thread."""
    if isinstance(source, Ours) and isinstance(target, Ours):
        report = await between(source, target, id)
        if report is not None:
            return report
    return await Passage(source, target, id, tell).copy()
