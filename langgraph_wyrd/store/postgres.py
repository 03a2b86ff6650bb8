"""Postgres through psycopg 3 and its pool, on the core's loop.

Transactions are written out (`BEGIN … COMMIT`) on autocommit connections, so that their statements
share a pipeline: a merged write is two round trips, whatever it holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from langgraph_wyrd.errors import (
    ConnectionLost,
    DatabaseBusy,
    MissingExtra,
    NoAnswer,
)
from langgraph_wyrd.store import others, thread_sums
from langgraph_wyrd.store.sql import TABLES, Sql
from langgraph_wyrd.store.statements import Ask, Plan, Stale, Tell, WriteSet, merged
from langgraph_wyrd.store.url import Address

try:
    import psycopg
    from psycopg import sql as quoting
    from psycopg.pq import TransactionStatus
    from psycopg.types.numeric import Int8BinaryDumper
    from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout
except ImportError as error:
    raise MissingExtra(
        "Postgres needs psycopg and its pool: pip install 'langgraph-wyrd[postgres]'"
    ) from error

from langgraph_wyrd.store.postgres_errors import check_options, lost, said, translated
from langgraph_wyrd.store.postgres_line import Line, Watch
from langgraph_wyrd.store.postgres_pipeline import pipeline
from langgraph_wyrd.store.postgres_setup import set_up

T = TypeVar("T")
Connection = psycopg.AsyncConnection[Any]

logger = logging.getLogger("langgraph_wyrd")

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_INSIST_ALIVE = "if_there alive or_fail"
_INSIST_ADVANCE = "if_there advance returned or_fail"
_POOL_OPTIONS = frozenset(
    ("min_size", "max_size", "max_idle", "max_lifetime", "reconnect_timeout", "num_workers",
     "max_waiting", "name")
)  # fmt: skip


class PostgresDriver:
    """See `store.running.Driver`."""

    writers = 2
    closes_to_fork = False  # libpq leaves a parent's connections alone

    def __init__(
        self,
        address: Address,
        *,
        schema: str | None,
        setup: str,
        timeout: float,
        connect: Callable[[], Any] | None,
        prepare: bool = True,
        adopting: bool = False,
        **options: Any,
    ) -> None:
        self._conninfo = address.target
        self._schema = schema
        self._setup = setup
        self._timeout = timeout
        self._adopting = adopting
        pool = {name: options.pop(name) for name in _POOL_OPTIONS & options.keys()}
        self._pool_options = {"min_size": 1, "max_size": 8, **pool}
        options.pop("row_factory", None)  # the official saver needs one: rows are tuples here
        check_options(self._conninfo, options)
        self._connect_options = {
            "autocommit": True,
            "prepare_threshold": 2 if prepare else None,
            **options,
        }
        self._line = Line(self._conninfo, self._connect_options, connect, timeout)
        self._sql = sql_for(schema)
        self._pool: AsyncConnectionPool[Connection] | None = None
        self._lent: dict[Connection, Watch] = {}
        self._replacing = asyncio.Lock()
        self._renewing: asyncio.Task[None] | None = None
        self._where = "the Postgres database"
        self._limit = f"lock_timeout = {max(1, int(timeout * 1000))}"  # 0: for ever

    @property
    def _prepares(self) -> bool:
        return self._connect_options["prepare_threshold"] is not None

    # ---- life

    async def open(self) -> None:
        """Look, set up, then open the pool: what is wrong is said at once, not after a time-out."""
        try:
            first = await self._line.reached()
        except psycopg.Error as error:
            raise ConnectionLost(f"no connection to Postgres: {said(error)}") from error
        try:
            inside = "" if self._schema is None else f"the schema {self._schema!r} of "
            self._where = f"{inside}the Postgres database {first.info.dbname!r}"
            with self._line.watch(first):
                made = await set_up(
                    first, self._sql, self._schema, self._setup, self._where, self._limit
                )
                if made and not self._adopting and await others.in_postgres(first):
                    others.tell(self._where)
        except psycopg.Error as error:
            raise translated(error, self._where, self._timeout) from error
        finally:
            await first.close()
        self._pool = await self._new_pool()

    async def _new_pool(self) -> AsyncConnectionPool[Connection]:
        line = self._line

        class Dialled(psycopg.AsyncConnection[Any]):
            @classmethod
            async def connect(cls, conninfo: str = "", **kwargs: Any) -> Any:
                return await line.dial(conninfo, **kwargs)

        pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            self._conninfo,
            connection_class=Dialled,
            kwargs=self._connect_options,
            configure=self._configure,
            open=False,
            **self._pool_options,
        )
        await pool.open()
        return pool

    async def close(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.close()

    async def _configure(self, connection: Connection) -> None:
        # One type for every int: prepared statements are told apart by their parameters' types.
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        if self._prepares:  # a session of our own
            # Where it is not, as behind a pooler, what others prepared must not pass for ours.
            connection._prepared._prepared_idx = secrets.randbits(62)
            with self._line.watch(connection):
                await connection.execute(f"SET {self._limit}")

    # ---- plans

    async def _begin(self, connection: Connection, how: str) -> None:
        await connection.execute(how)
        if not self._prepares:  # the session may be anybody's: say it each time
            await connection.execute(f"SET LOCAL {self._limit}")

    async def read(self, plan: Callable[[], Plan[T]]) -> T:
        return await self._sure(lambda connection: self._run(connection, _READ, plan))

    async def read_all(self, plans: list[Callable[[], Plan[Any]]]) -> list[Any]:
        return await self._sure(lambda connection: self._run_all(connection, plans))

    async def write(self, plan: Callable[[], Plan[T]]) -> T:
        return await self._sure(lambda connection: self._run(connection, _WRITE, plan))

    async def merge(self, sets: list[WriteSet]) -> set[int]:
        return await self._sure(lambda connection: self._merge(connection, sets))

    async def _run(self, connection: Connection, begin: str, plan: Callable[[], Plan[T]]) -> T:
        async with pipeline(connection):
            await self._begin(connection, begin)
            made = plan()
            try:
                step = next(made)
                while True:
                    step = made.send(await self._execute(connection, step))
            except StopIteration as end:
                result: T = end.value
            await connection.execute("COMMIT")
        return result

    async def _run_all(
        self, connection: Connection, plans: list[Callable[[], Plan[Any]]]
    ) -> list[Any]:
        """Side by side: what they ask at the same time goes to the server together."""
        found: list[Any] = [None] * len(plans)
        asked: list[tuple[int, Plan[Any], Ask | Tell | Sequence[Ask | Tell]]] = []

        def go_on(index: int, made: Plan[Any], answer: Any) -> None:
            try:
                asked.append((index, made, made.send(answer)))
            except StopIteration as end:
                found[index] = end.value
            except Exception as error:
                found[index] = error

        async with pipeline(connection):
            await self._begin(connection, _READ)
            for index, plan in enumerate(plans):
                go_on(index, plan(), None)
            while asked:
                round_, asked = asked, []
                steps = [[s] if isinstance(s, (Ask, Tell)) else list(s) for _, _, s in round_]
                answers = iter(await self._execute(connection, [s for some in steps for s in some]))
                for (index, made, step), some in zip(round_, steps, strict=True):
                    got = [next(answers) for _ in some]
                    go_on(index, made, got[0] if isinstance(step, (Ask, Tell)) else got)
            await connection.execute("COMMIT")
        return found

    async def _execute(
        self, connection: Connection, step: Ask | Tell | Sequence[Ask | Tell]
    ) -> Any:
        """Send everything, then wait for what has an answer."""
        if isinstance(step, (Ask, Tell)):
            return (await self._execute(connection, [step]))[0]
        self._lent[connection].moved = time.monotonic()
        sent = [(each, await self._send(connection, each)) for each in step]
        return [
            thread_sums.taken_off(each, await cursor.fetchall()) if isinstance(each, Ask) else None
            for each, cursor in sent
        ]

    async def _send(self, connection: Connection, statement: Ask | Tell) -> Any:
        cursor = connection.cursor(binary=True)
        text = self._sql[statement.name].encode()
        if isinstance(statement, Ask):
            await cursor.execute(text, statement.params)
            return cursor
        rows = thread_sums.put_on(statement)
        if len(rows) == 1:  # mostly: with less ado
            await cursor.execute(text, rows[0])
        else:
            await cursor.executemany(text, rows)
        return cursor

    async def _merge(self, connection: Connection, sets: list[WriteSet]) -> set[int]:
        """All in one round trip: where something is stale, the server itself refuses to go on."""
        # Leases first, then threads, in order, so that no two writers wait for each other.
        leases = sorted((lease, i) for i, each in enumerate(sets) for lease in each.leases)
        alive = sorted({one for each in sets for one in each.alive})
        moves = sorted(
            ((row, index) for index, each in enumerate(sets) for row in each.advance),
            key=lambda move: move[0][-2],
        )
        if not leases:
            try:
                async with pipeline(connection):
                    await self._begin(connection, _WRITE)
                    for one in alive:
                        await self._send(connection, Ask(_INSIST_ALIVE, one))
                    for row, _ in moves:
                        await self._send(connection, Ask(_INSIST_ADVANCE, row))
                    for statement in merged(sets):
                        await self._send(connection, statement)
                    await connection.execute("COMMIT")
                return set()
            except psycopg.errors.DivisionByZero:
                await connection.rollback()
        async with pipeline(connection) as pipe:  # which ones?
            await self._begin(connection, _WRITE)
            held = [
                await self._send(connection, Ask(name, (key, owner)))
                for (key, name, owner), _ in leases
            ]
            there = [await self._send(connection, Ask("alive", one)) for one in alive]
            moved = [await self._send(connection, Ask("advance", row)) for row, _ in moves]
            if leases:
                for statement in merged(sets):
                    await self._send(connection, statement)
            await pipe.sync()
            gone = {n for n, cursor in zip(alive, there, strict=True) if not cursor.rowcount}
            stale = {i for i, each in enumerate(sets) if gone & set(each.alive)}
            stale |= {i for (_, i), cursor in zip(leases, held, strict=True) if not cursor.rowcount}
            stale |= {i for (_, i), cursor in zip(moves, moved, strict=True) if not cursor.rowcount}
            done = bool(leases) and not stale
            await connection.execute("COMMIT" if done else "ROLLBACK")
        if not stale and not done:
            raise Stale
        return stale

    def wal_bytes(self) -> int | None:
        return None

    async def give_back(self) -> bool:
        return False  # autovacuum looks after it

    async def scrub(self, *, everything: bool) -> None:
        sql = self._sql["vacuum_all" if everything else "vacuum_users"].encode()
        await self._sure(lambda connection: connection.execute(sql))

    # ---- connections

    async def _sure(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run work in a connection; once more if the connection, or a race, was lost."""
        refused = False
        for last in (False, False, True):
            try:
                return await self._once(work)
            except psycopg.errors.UniqueViolation as error:
                raise Stale from error
            except (
                psycopg.errors.SerializationFailure,
                psycopg.errors.DeadlockDetected,
            ) as error:
                if last:
                    raise translated(error, self._where, self._timeout) from error
            except (
                psycopg.errors.InvalidSqlStatementName,
                psycopg.errors.DuplicatePreparedStatement,
            ) as error:
                if last:
                    raise translated(error, self._where, self._timeout) from error
                self._prepare_no_more(error)
            except psycopg.errors.ReadOnlySqlTransaction as error:
                if refused or last:
                    raise translated(error, self._where, self._timeout) from error
                refused = True  # by a default that may be reset by now: asked once more
            except psycopg.Error as error:
                if last or not lost(error):
                    raise translated(error, self._where, self._timeout) from error
                logger.info("connection to Postgres lost (%s): trying again", said(error))
        raise AssertionError

    def _prepare_no_more(self, error: psycopg.Error) -> None:
        """What was prepared is gone from its connection, or is another connection's by now."""
        if self._prepares:
            self._connect_options["prepare_threshold"] = None
            logger.warning(
                "%s forgets what is prepared (%s), as behind PgBouncer in transaction mode, or "
                "after DISCARD ALL: nothing is prepared from now on; prepare=False says so at once",
                self._where, said(error),
            )  # fmt: skip

    async def _once(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        pool, connection = await self._borrowed()
        connection.prepare_threshold = self._connect_options["prepare_threshold"]
        watch = self._lent[connection] = self._line.watch(connection)
        try:
            with watch:
                try:
                    return await work(connection)
                except BaseException:
                    if connection.info.transaction_status != TransactionStatus.IDLE:
                        with contextlib.suppress(psycopg.Error):
                            await connection.rollback()
                    raise
        except (psycopg.Error, NoAnswer) as error:
            # The others may be dead too, or keep a default that is reset by now. They are not
            # asked, which may take long: from here on there are new ones.
            if connection.closed or isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
                await self._replace(pool)
            raise
        finally:
            del self._lent[connection]
            if watch.lost or connection.info.transaction_status != TransactionStatus.IDLE:
                await connection.close()
            await pool.putconn(connection)

    async def _borrowed(self) -> tuple[AsyncConnectionPool[Connection], Connection]:
        """A connection and the pool it belongs to, waited for up to the timeout.

        After an outage every place in a pool may be waiting for its next attempt, for longer and
        longer. So where places are free and a connection can be made, the pool is made anew.
        """
        deadline = time.monotonic() + self._timeout
        while True:
            pool = self._pool
            assert pool is not None
            left = max(0.01, deadline - time.monotonic())
            try:
                return pool, await pool.getconn(timeout=min(1.0, left))
            except PoolClosed:
                if pool is self._pool:
                    raise
            except PoolTimeout as error:
                over = time.monotonic() >= deadline
                if len(self._lent) >= pool.max_size:
                    if over:
                        raise DatabaseBusy(
                            f"all {pool.max_size} connections were in use for longer than the "
                            f"timeout of {self._timeout:g} s: raise max_size or timeout"
                        ) from error
                    continue
                try:
                    await self._renew(pool)
                except psycopg.Error as failed:
                    if over:
                        raise NoAnswer(
                            f"no connection to Postgres for {self._timeout:g} s: {said(failed)}"
                        ) from failed
                    await asyncio.sleep(0.05)

    async def _renew(self, broken: AsyncConnectionPool[Connection]) -> None:
        """One attempt for all who wait: of many, the last would else wait for all the others'."""
        if self._pool is not broken:
            return
        if self._renewing is None:
            self._renewing = asyncio.ensure_future(self._renewed(broken))
        try:
            await self._renewing
        finally:
            self._renewing = None

    async def _renewed(self, broken: AsyncConnectionPool[Connection]) -> None:
        await (await self._line.reached()).close()
        await self._replace(broken)

    async def _replace(self, old: AsyncConnectionPool[Connection]) -> None:
        """Have another pool; what is lent of the old one is closed when it comes back."""
        async with self._replacing:
            if self._pool is old:
                self._pool = await self._new_pool()
        await old.close(timeout=0.1)  # its workers, unless they are dialling, end at once


def sql_for(schema: str | None) -> Sql:
    """The statements for a schema; without one, the names stand as they are."""
    prefix = f"{quoting.Identifier(schema).as_string(None)}." if schema is not None else ""

    def adapt(text: str) -> str:
        return TABLES.sub(lambda name: prefix + name[0], text.replace("?", "%s"))

    return Sql("postgres", adapt)
