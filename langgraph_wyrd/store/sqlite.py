"""SQLite through aiosqlite: one writer, a few readers, each on the thread that aiosqlite gives it.

A whole transaction runs as one call on its connection's thread. So it costs one hop, nothing of
another transaction can come in between, and it is over, committed or rolled back, before anybody
can be told or cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import aiosqlite

from langgraph_wyrd.errors import DatabaseBusy, ForeignDatabase, InvalidInput, WyrdError
from langgraph_wyrd.store import migrate, others, thread_sums
from langgraph_wyrd.store.sql import Sql
from langgraph_wyrd.store.sqlite_cells import by_bytes, with_damaged_text
from langgraph_wyrd.store.sqlite_errors import damaged, is_damage, translated
from langgraph_wyrd.store.statements import Ask, Plan, Row, Stale, Tell, WriteSet, merged
from langgraph_wyrd.store.url import Address
from langgraph_wyrd.store.whereabouts import Whereabouts, lost_its_head, needs_immutable

T = TypeVar("T")

APPLICATION_ID = 0x57595244  # "WYRD", set in files that we make


class Connection(aiosqlite.Connection):
    """An aiosqlite connection that runs whole functions on its thread."""

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector, 64)
        self._thread.daemon = True  # a forgotten close does not keep the process alive
        self._thread.name = "wyrd-sqlite"

    async def opened(self) -> None:
        """Open it. After a failure its thread has ended as well."""
        try:
            await self
        except BaseException:
            while self._thread.is_alive():
                await asyncio.sleep(0.001)
            raise

    async def call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        answer: list[T] = []  # handed over: aiosqlite's thread would hold it until its next call
        await self._execute(lambda: answer.append(work(self._conn)))  # type: ignore[no-untyped-call]
        return answer.pop()


class SqliteDriver:
    """See `store.running.Driver`."""

    writers = 1

    def __init__(
        self,
        address: Address,
        *,
        setup: str,
        timeout: float,
        connect: Callable[[], sqlite3.Connection] | None,
        synchronous: str = "FULL",
        readers: int = 4,
        adopting: bool = False,
        **options: Any,
    ) -> None:
        if synchronous not in ("OFF", "NORMAL", "FULL", "EXTRA"):
            raise InvalidInput(f"synchronous={synchronous!r}: use OFF, NORMAL, FULL or EXTRA")
        unknown = options.keys() - {"cached_statements", "factory"}
        if unknown:
            raise InvalidInput(f"unknown options for SQLite: {', '.join(sorted(unknown))}")
        self._address = address
        self._where = "the in-memory database" if address.in_memory else f"{address.target!r}"
        self._whereabouts = Whereabouts(self._where)
        self._read_only = address.mode == "ro"
        self._setup = setup
        self._timeout = timeout
        self._connect = connect
        self._synchronous = synchronous
        self._options = options
        self._adopting = adopting
        self._sql = Sql("sqlite")
        self._writer: Connection | None = None
        self._readers: asyncio.Queue[Connection | None] = asyncio.Queue()
        self._all: list[Connection] = []
        self._shared = False
        self.closes_to_fork = not address.in_memory
        self._many = max(1, readers)

    # ---- life

    async def open(self) -> None:
        connection = Connection(self._raw)
        try:
            await connection.opened()
            self._all.append(connection)
            await connection.call(self._prepare)
        except BaseException as error:
            if connection in self._all:
                self._all.remove(connection)
                await connection.close()
            if isinstance(error, (sqlite3.Error, UnicodeDecodeError)):
                raise self._translated(error) from error
            raise
        self._writer = connection
        self._readers = asyncio.Queue()
        for _ in range(self._many):
            self._readers.put_nowait(None)  # opened when it is first needed

    async def close(self) -> None:
        connections, self._all, self._writer = self._all, [], None
        for connection in connections:  # the writer last: it tidies the WAL away
            await connection.close()
        self._whereabouts.let_go()

    def _raw(self) -> sqlite3.Connection:
        self._whereabouts.look()  # before SQLite makes a file, or a WAL, where one is missing
        if self._connect is not None:
            raw = self._connect()
            raw.isolation_level, raw.row_factory, raw.text_factory = None, None, str
            raw.execute(f"PRAGMA busy_timeout = {int(self._timeout * 1000)}")
            return raw
        if self._address.in_memory:
            options = {**self._options, "isolation_level": None}
            made: sqlite3.Connection = sqlite3.connect(":memory:", **options)
            return made
        before = self._whereabouts.path
        path, mode = before or self._address.target, self._address.mode or "rwc"
        if os.path.exists(path) and not os.path.isfile(path):
            raise sqlite3.OperationalError("unable to open database file: it is no file")
        if lost_its_head(path):  # SQLite would throw the rest away, and begin anew
            raise sqlite3.DatabaseError("malformed: the file is empty, its WAL is not")
        if mode == "rwc" and (before or self._setup == "never"):
            mode = "rw"
        if mode == "ro" and needs_immutable(path):
            mode = "ro&immutable=1"
        options = {
            "cached_statements": 256,
            **self._options,
            "timeout": self._timeout,
            "isolation_level": None,
            "uri": True,
        }
        opened: sqlite3.Connection = sqlite3.connect(f"file:{quote(path)}?mode={mode}", **options)
        return opened

    # ---- setup

    def _prepare(self, raw: sqlite3.Connection) -> None:
        """Look before touching; then WAL, and whatever migrations are missing."""
        tables = self._refuse_foreign(raw)
        raw.execute(f"PRAGMA synchronous = {self._synchronous}")
        if not raw.execute("PRAGMA secure_delete").fetchone()[0]:
            raw.execute("PRAGMA secure_delete = FAST")  # what is deleted is gone from its page
        # Each connection to memory would have a database of its own: one serves all.
        path = raw.execute("PRAGMA database_list").fetchone()[2]
        self._shared = not path
        self.closes_to_fork = not self._shared
        wanted = self._pending(raw, tables)
        if wanted and (self._read_only or self._setup == "never"):
            why = "it is opened read-only" if self._read_only else migrate.NEVER
            theirs = raw.execute("SELECT 1 FROM sqlite_master WHERE name = 'checkpoints'")
            raise migrate.missing(self._where, why, theirs=theirs.fetchone() is not None)
        if not self._read_only:
            self._write_ahead(raw)
            if wanted:
                self._migrate(raw)
        if path:
            self._whereabouts.noted(path)

    def _refuse_foreign(self, raw: sqlite3.Connection) -> set[str]:
        """Those of our tables that are there."""
        theirs = raw.execute("PRAGMA application_id").fetchone()[0]
        if theirs not in (0, APPLICATION_ID):
            raise ForeignDatabase(
                f"{self._where} says that it belongs to another program (application_id "
                f"{theirs:#x}); nothing was touched. If it is langgraph-wyrd's, its header is "
                f"damaged: `PRAGMA application_id = {APPLICATION_ID}` puts it right"
            )
        names = raw.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name LIKE 'wyrd_%'"
        ).fetchall()
        tables = {
            name: {row[1] for row in raw.execute(f"PRAGMA table_info('{name}')")}
            for (name,) in names
            if name in migrate.OURS or name == migrate.LEDGER
        }
        migrate.refuse_foreign(tables, self._where)
        if theirs == APPLICATION_ID and not tables:  # it is set together with the tables
            raise damaged(self._where, "it is langgraph-wyrd's, and its tables are not there")
        return set(tables)

    def _pending(self, raw: sqlite3.Connection, tables: set[str]) -> list[migrate.Migration]:
        rows = []
        if migrate.LEDGER in tables:
            try:
                rows = raw.execute(self._sql["applied"]).fetchall()
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
        return migrate.pending(rows, tables - {migrate.LEDGER}, self._where)

    def _write_ahead(self, raw: sqlite3.Connection) -> None:
        """WAL mode. SQLite does not wait for a lock here, so we do."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                if not raw.execute("PRAGMA page_count").fetchone()[0]:
                    raw.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only a new file takes it
                raw.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _migrate(self, raw: sqlite3.Connection) -> None:
        while True:
            with self._transaction(raw, "BEGIN IMMEDIATE"):
                tables = self._refuse_foreign(raw)
                wanted = self._pending(raw, tables)  # others may have been quicker
                if not wanted:
                    return
                if not raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                    raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                for statement in self._sql.migration(wanted[0].version):
                    raw.execute(statement)
                moment = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
                raw.execute(self._sql["record_migration"], (*wanted[0], moment))
                if not self._adopting and others.in_sqlite(raw):
                    others.tell(self._where)

    # ---- plans

    async def read(self, plan: Callable[[], Plan[T]]) -> T:
        return await self._read(lambda raw: self._run(raw, "BEGIN", plan))

    async def read_all(self, plans: list[Callable[[], Plan[Any]]]) -> list[Any]:
        return await self._read(lambda raw: self._run_all(raw, plans))

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._shared:
            return await self._call(self._writer, work)
        reader = await self._readers.get()
        try:
            if reader is None:
                reader = await self._open_reader()
            return await self._call(reader, work)
        finally:
            self._readers.put_nowait(reader)

    async def write(self, plan: Callable[[], Plan[T]]) -> T:
        return await self._call(self._writer, lambda raw: self._run(raw, "BEGIN IMMEDIATE", plan))

    async def merge(self, sets: list[WriteSet]) -> set[int]:
        return await self._call(self._writer, lambda raw: self._merge(raw, sets))

    async def give_back(self) -> bool:
        return await self._call(self._writer, self._give_back)

    def _give_back(self, raw: sqlite3.Connection) -> bool:
        """Files that were not made for it (`auto_vacuum`) keep what is free, and use it again."""
        before = int(raw.execute("PRAGMA freelist_count").fetchone()[0])
        if before:
            raw.executescript("PRAGMA incremental_vacuum(500)")  # `execute` frees one page only
        left = int(raw.execute("PRAGMA freelist_count").fetchone()[0])
        return 0 < left < before

    def wal_bytes(self) -> int | None:
        if self._shared:
            return None
        try:
            return os.path.getsize(f"{self._address.target}-wal")
        except OSError:
            return 0

    async def scrub(self, *, everything: bool) -> None:
        if not self._shared:
            await self._call(self._writer, self._scrub)

    def _scrub(self, raw: sqlite3.Connection) -> None:
        """Deleted rows leave traces in pages that were split or freed: only a new file has none."""
        raw.execute("VACUUM")
        busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise DatabaseBusy(
                f"{self._where} was read by somebody for longer than the timeout of "
                f"{self._timeout:g} s: what was erased is still in its WAL. Erase again."
            )

    async def _open_reader(self) -> Connection:
        reader = Connection(self._raw)
        try:
            await reader.opened()
        except sqlite3.Error as error:
            self._whereabouts.look()
            raise self._translated(error) from error
        self._all.insert(0, reader)
        return reader

    async def _call(
        self, connection: Connection | None, work: Callable[[sqlite3.Connection], T]
    ) -> T:
        assert connection is not None
        try:
            return await connection.call(work)
        except sqlite3.Error as error:
            self._whereabouts.look()  # it may be the reason
            raise self._translated(error) from error
        finally:
            if self._whereabouts.lost and self._writer is not None:
                with contextlib.suppress(ValueError):  # it is closed by now
                    await self._writer.call(self._whereabouts.save)

    def _run(self, raw: sqlite3.Connection, begin: str, plan: Callable[[], Plan[T]]) -> T:
        def run() -> T:
            with self._transaction(raw, begin):
                return drive(plan(), lambda statement: self._execute(raw, statement))

        return with_damaged_text(raw, run)

    def _run_all(self, raw: sqlite3.Connection, plans: list[Callable[[], Plan[Any]]]) -> list[Any]:
        return with_damaged_text(raw, lambda: self._run_each(raw, plans))

    def _run_each(self, raw: sqlite3.Connection, plans: list[Callable[[], Plan[Any]]]) -> list[Any]:
        found: list[Any] = []
        with self._transaction(raw, "BEGIN"):
            for plan in plans:
                try:
                    found.append(drive(plan(), lambda statement: self._execute(raw, statement)))
                except sqlite3.Error:
                    raise
                except Exception as error:
                    found.append(error)
        return found

    def _merge(self, raw: sqlite3.Connection, sets: list[WriteSet]) -> set[int]:
        stale: set[int] = set()
        try:
            with self._transaction(raw, "BEGIN IMMEDIATE"):
                stale |= _lost(raw, self._sql, sets)
                for index, each in enumerate(sets):
                    alive, advance = self._sql["alive"], self._sql["advance"]
                    there = all(raw.execute(alive, one).fetchone() for one in each.alive)
                    if not there or any(
                        raw.execute(advance, row).rowcount != 1 for row in each.advance
                    ):
                        stale.add(index)
                if stale:
                    raise _GiveUp
                for statement in merged(sets):
                    self._execute(raw, statement)
        except _GiveUp:
            pass
        except sqlite3.IntegrityError as error:
            raise Stale from error
        return stale

    def _execute(self, raw: sqlite3.Connection, statement: Ask | Tell) -> Any:
        try:
            if isinstance(statement, Ask):
                return thread_sums.taken_off(statement, self._asked(raw, statement))
            self._told(raw, self._sql[statement.name], thread_sums.put_on(statement))
        except UnicodeDecodeError as error:  # a piece of the schema, named in SQLite's own error
            raise sqlite3.DatabaseError(f"malformed: {error}") from error
        return None

    def _asked(self, raw: sqlite3.Connection, statement: Ask) -> list[Row]:
        sql = self._sql[statement.name]
        try:
            return raw.execute(sql, statement.params).fetchall()
        except UnicodeEncodeError:
            return raw.execute(*by_bytes(sql, statement.params)).fetchall()

    def _told(self, raw: sqlite3.Connection, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        try:
            raw.executemany(sql, rows)
        except UnicodeEncodeError:
            done = [by_bytes(sql, row)[0] == sql for row in rows].index(False)
            for row in rows[done:]:
                raw.execute(*by_bytes(sql, row))

    @contextlib.contextmanager
    def _transaction(self, raw: sqlite3.Connection, begin: str) -> Generator[None]:
        raw.execute(begin)
        try:
            yield
            self._whereabouts.look(beside=begin != "BEGIN")
            raw.execute("COMMIT")
        except BaseException:
            if raw.in_transaction:
                raw.execute("ROLLBACK")
            raise

    # ---- errors

    def _translated(self, error: Exception) -> WyrdError:
        return translated(error, self._where, self._address.target, self._timeout)


def _lost(raw: sqlite3.Connection, sql: Sql, sets: Sequence[WriteSet]) -> set[int]:
    """The sets whose lease is not held any more."""
    lost: set[int] = set()
    for lease, index in sorted((one, i) for i, each in enumerate(sets) for one in each.leases):
        key, name, owner = lease
        cursor = raw.execute(sql[name], (key, owner))
        if cursor.rowcount < 1 and cursor.fetchone() is None:  # a SELECT has no count
            lost.add(index)
    return lost


class _GiveUp(Exception):
    """Roll this merged transaction back."""


def drive(plan: Plan[T], execute: Callable[[Ask | Tell], Any]) -> T:
    """Run a plan, statement by statement."""
    try:
        step = next(plan)
        while True:
            if isinstance(step, (Ask, Tell)):
                step = plan.send(execute(step))
            else:
                step = plan.send([execute(each) for each in step])
    except StopIteration as end:
        result: T = end.value
        return result
