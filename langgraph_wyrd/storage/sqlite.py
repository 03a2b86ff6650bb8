"""SQLite: opening a file, running scripts and merged writes on a connection, and its errors."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from langgraph_wyrd.errors import (
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseFull,
    DatabaseGone,
    ForeignDatabase,
    InvalidInput,
    NotADatabase,
    ReadOnlyDatabase,
    SchemaMissing,
    StoreError,
    WyrdError,
)
from langgraph_wyrd.storage import schema
from langgraph_wyrd.storage.scripts import Query, Row, Script, Stale, Step
from langgraph_wyrd.storage.tables import MIGRATIONS, made_again
from langgraph_wyrd.storage.url import Address
from langgraph_wyrd.storage.whereabouts import (
    BesideGone,
    Whereabouts,
    is_on_read_only_disk,
    lost_its_head,
    needs_immutable,
    size,
)

T = TypeVar("T")

logger = logging.getLogger("langgraph_wyrd")

_LEAST = 512  # bytes of a page, at least
APPLICATION_ID = 0x57595244  # "WYRD": in the file's header
_LEVELS = ("OFF", "NORMAL", "FULL", "EXTRA")
_CONNECT = {"autocommit", "cached_statements", "detect_types", "factory"}  # of sqlite3.connect


class _Abandoned(DatabaseGone):
    """Another thread closed this connection, because a file beside the database was gone."""


class SqliteDriver:
    """See `storage.engine.Driver`."""

    dialect = "sqlite"

    def __init__(
        self,
        address: Address,
        *,
        setup: str = "auto",
        timeout: float = 60.0,
        connect: Callable[[], Any] | None = None,
        synchronous: str = "FULL",
        readers: int = 4,
        adopting: bool = False,
        **options: Any,
    ) -> None:
        self._address = address
        self._setup = setup
        self._timeout = timeout
        self._connect = connect
        self._synchronous = str(synchronous).upper()
        if self._synchronous not in _LEVELS:
            raise InvalidInput(f"synchronous={synchronous!r}: use {', '.join(_LEVELS)}")
        if unknown := options.keys() - _CONNECT:
            raise InvalidInput(f"unknown options for SQLite: {', '.join(sorted(unknown))}")
        self._options = options
        self._adopting = adopting
        self._where = (
            "the SQLite database in memory"
            if address.in_memory
            else f"the SQLite database {address.target!r}"
        )
        self._lock = threading.Lock()
        self._ready = False
        self._as_it_is = False  # nothing can be made beside the file: it is read as it lies there
        self._open: set[SqliteConnection] = set()
        self.whereabouts = Whereabouts(self._where)
        self.keeps_open = address.in_memory
        self.readers = 0 if address.in_memory else max(1, readers)

    # ---- opening

    def connect(self, *, writes: bool) -> SqliteConnection:
        try:
            return self._connected(writes)
        except BesideGone:
            self.abandon()
            raise

    def _connected(self, writes: bool) -> SqliteConnection:
        with self._lock:
            raw = None
            try:
                raw = self._raw()
                if not self._ready:
                    self._prepare(raw)
                    self._ready = not self.keeps_open
                raw.execute(f"PRAGMA synchronous = {self._synchronous}")
                if writes and not self._reads_only:
                    raw.execute("PRAGMA secure_delete = ON")
            except BaseException as error:
                if raw is not None:
                    raw.close()
                if isinstance(error, (sqlite3.Error, UnicodeDecodeError)):
                    raise self.translated(error) from error
                raise
            made = SqliteConnection(self, raw)
            self._open.add(made)
        return made

    def abandon(self) -> None:
        """Close every connection: SQLite must not go on with a WAL that others do not see."""
        for each in list(self._open):
            each.close()

    def end(self, connection: SqliteConnection, raw: sqlite3.Connection) -> None:
        """Close a connection; with the last one, SQLite deletes what lies beside the file."""
        # One after the other: the last one moves the WAL into the file, and of two that close at
        # once neither is the last.
        with self._lock:
            raw.close()
            self._open.discard(connection)
            if not self._open:
                self.whereabouts.let_go()

    def forget(self) -> None:
        """Look at the file anew with the next connection."""
        self._ready = False
        self.whereabouts.forget()

    @property
    def _reads_only(self) -> bool:
        return self._address.mode == "ro" or self._as_it_is

    def _raw(self) -> sqlite3.Connection:
        # Before SQLite makes a file, or a WAL, where one is missing.
        self.whereabouts.look(beside=bool(self._open))
        options: dict[str, Any] = {
            "cached_statements": 256,
            **self._options,
            "isolation_level": None,
            "check_same_thread": False,
            "timeout": self._timeout,
        }
        if self._connect is not None:
            raw: sqlite3.Connection = self._connect()
            raw.isolation_level, raw.row_factory, raw.text_factory = None, None, str
            raw.execute(f"PRAGMA busy_timeout = {int(self._timeout * 1000)}")
            return raw
        if self._address.in_memory:
            made: sqlite3.Connection = sqlite3.connect(":memory:", **options)
            return made
        before = self.whereabouts.path
        path, mode = before or self._address.target, self._address.mode or "rwc"
        if os.path.exists(path) and not os.path.isfile(path):
            raise sqlite3.OperationalError("unable to open database file: it is no file")
        ends = size(path)
        if 0 < ends < _LEAST:
            raise sqlite3.DatabaseError(f"file is not a database: it ends after {ends} bytes")
        if lost_its_head(path):  # SQLite would throw the rest away, and begin anew
            raise sqlite3.DatabaseError("malformed: the file is empty, its WAL is not")
        if mode == "rwc" and (before or self._setup == "never"):
            mode = "rw"
        fixed = needs_immutable(path) and (mode == "ro" or is_on_read_only_disk(path))
        if fixed:
            mode = "ro&immutable=1"
            if not self._as_it_is:
                logger.warning(
                    "%s lies where nothing can be written: it is read as it is now. What another "
                    "process stores there meanwhile is not seen, and nothing can be stored here",
                    self._where,
                )
        self._as_it_is = fixed
        found: sqlite3.Connection = sqlite3.connect(
            f"file:{quote(path)}?mode={mode}", uri=True, **options
        )
        return found

    def _prepare(self, raw: sqlite3.Connection) -> None:
        tables = self._refuse_foreign(raw)
        path = raw.execute("PRAGMA database_list").fetchone()[2]
        wanted = self._pending(raw, tables)
        if wanted and (self._reads_only or self._setup == "never"):
            why = "it is opened read-only" if self._reads_only else schema.NEVER
            official = raw.execute("SELECT 1 FROM sqlite_master WHERE name = 'checkpoints'")
            raise schema.missing(self._where, why, official=official.fetchone() is not None)
        if not self._reads_only:
            self._write_ahead(raw)
            if wanted:
                self._migrate(raw)
        if path:
            self.whereabouts.noted(path)

    def _refuse_foreign(self, raw: sqlite3.Connection) -> dict[str, set[str]]:
        """Our tables that are there, with their columns."""
        theirs = raw.execute("PRAGMA application_id").fetchone()[0]
        if theirs not in (0, APPLICATION_ID):
            raise ForeignDatabase(
                f"{self._where} says that it belongs to another program (application_id "
                f"{theirs:#x}); nothing was touched. If it is langgraph-wyrd's, its header is "
                f"damaged: `PRAGMA application_id = {APPLICATION_ID}` sets it right"
            )
        names = raw.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name LIKE 'wyrd_%'"
        ).fetchall()
        tables = {
            name: {row[1] for row in raw.execute(f"PRAGMA table_info('{name}')")}
            for (name,) in names
            if name in schema.OURS or name == MIGRATIONS.name
        }
        schema.refuse_foreign(tables, self._where)
        if theirs == APPLICATION_ID and not tables:  # it is set together with the tables
            raise damaged(self._where, "it is langgraph-wyrd's, and its tables are not there")
        return tables

    def _pending(
        self, raw: sqlite3.Connection, tables: dict[str, set[str]]
    ) -> list[schema.Migration]:
        rows: list[Any] = []
        if MIGRATIONS.name in tables:
            rows = raw.execute("SELECT version, name, min_reader FROM wyrd_migrations").fetchall()
        return schema.pending(rows, self._where, there=len(tables) > 1)

    def _write_ahead(self, raw: sqlite3.Connection) -> None:
        """WAL mode. SQLite does not wait for a lock here, so this does."""
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
        raw.execute("BEGIN IMMEDIATE")
        try:
            wanted = self._pending(raw, self._refuse_foreign(raw))  # others may have been quicker
            if wanted:
                if not raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                    raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                for statement in schema.statements("sqlite"):
                    raw.execute(statement)
                moment = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
                for each in wanted:
                    raw.execute(schema.RECORD, (*each, moment))
                if not self._adopting and _holds_official(raw):
                    schema.note_official(self._where)
            raw.execute("COMMIT")
        except BaseException:
            if raw.in_transaction:
                raw.execute("ROLLBACK")
            raise

    # ---- errors

    def translated(self, error: Exception) -> WyrdError:
        return translated(error, self._where, self._address.target, self._timeout)

    def gone(self, error: BaseException, *, fresh: bool) -> bool:
        return isinstance(error, _Abandoned)


def _holds_official(raw: sqlite3.Connection) -> bool:
    """Whether LangGraph's own saver stored threads in the file."""
    columns = {row[1] for row in raw.execute("PRAGMA table_info(checkpoints)")}
    if not {"thread_id", "checkpoint_ns", "parent_checkpoint_id"} <= columns:
        return False
    return raw.execute("SELECT 1 FROM checkpoints LIMIT 1").fetchone() is not None


class SqliteConnection:
    """See `storage.engine.Connection`."""

    def __init__(self, driver: SqliteDriver, raw: sqlite3.Connection) -> None:
        self._driver = driver
        self._raw = raw
        self._used = threading.Lock()  # another thread closes it where the file was lost
        self._closed = False

    def close(self) -> None:
        with self._used:
            if self._closed:
                return
            self._closed = True
            if self._driver.whereabouts.lost:
                self._driver.whereabouts.save(self._raw)
            self._driver.end(self, self._raw)

    def clean(self, tables: Sequence[str]) -> None:
        """Write the file anew, and empty its WAL: pages that were freed keep what was in them."""
        driver = self._driver
        if driver.keeps_open:
            return
        try:
            busy = self._in_place(self._vacuumed)
        except sqlite3.Error as error:
            raise driver.translated(error) from error
        if busy:
            raise DatabaseBusy(
                f"{driver._where} was read by somebody for longer than the timeout of "
                f"{driver._timeout:g} s: what was erased is still in its WAL. Erase again."
            )

    def _vacuumed(self) -> bool:
        """Whether somebody still reads what was in the WAL."""
        self._driver.whereabouts.look()
        self._raw.execute("VACUUM")
        deadline = time.monotonic() + self._driver._timeout
        while self._raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > deadline:
                return True
            time.sleep(0.01)  # another one copies the WAL: SQLite does not wait for that
        return False

    def read(self, script: Script[T]) -> T:
        result: T = self._in_place(self._transacted, "BEGIN", self._run, script)
        return result

    def write(self, script: Script[T]) -> T:
        result: T = self._in_place(self._transacted, "BEGIN IMMEDIATE", self._run, script)
        return result

    def merge(self, writes: Sequence[Sequence[Step]]) -> None:
        self._in_place(self._transacted, "BEGIN IMMEDIATE", self._store, writes)

    def _run(self, script: Script[T]) -> T:
        try:
            step = next(script)
            while True:
                if isinstance(step, tuple):
                    step = script.send(self._execute(step))
                else:
                    step = script.send([self._execute(each) for each in step])
        except StopIteration as end:
            result: T = end.value
        return result

    def _execute(self, statement: Any) -> list[Row] | None:
        if type(statement) is Query:
            try:
                return self._raw.execute(statement.sql, statement.params).fetchall()
            except sqlite3.OperationalError as error:
                if "Could not decode to UTF-8" not in str(error):
                    raise
            return self._undecoded(statement)
        if len(statement.rows) == 1:
            self._raw.execute(statement.sql, statement.rows[0])
        else:
            self._raw.executemany(statement.sql, statement.rows)
        return None

    def _undecoded(self, statement: Query) -> list[Row]:
        """Rows of which a text is damaged and no UTF-8: their checksums tell."""
        self._raw.text_factory = lambda text: text.decode(errors="surrogateescape")
        try:
            return self._raw.execute(statement.sql, statement.params).fetchall()
        finally:
            self._raw.text_factory = str

    def _store(self, writes: Sequence[Sequence[Step]]) -> None:
        cursor = self._raw.cursor()
        try:
            for steps in writes:
                for sql, params, must in steps:
                    # The driver asks a named tuple for each of its fields by a call.
                    cursor.execute(sql, tuple(params))
                    if (
                        must
                        and cursor.rowcount != 1
                        and (cursor.rowcount >= 0 or cursor.fetchone() is None)
                    ):
                        raise Stale
        finally:
            # The traceback of an error holds it. Where another thread collects that, to free an
            # open cursor waits for this connection, which may wait for that thread's lock.
            cursor.close()

    # No context managers, as these two are on the way of every write.

    def _in_place(self, work: Callable[..., Any], *given: Any) -> Any:
        """What `work` does, while the files are where they were.

        Where the database is gone its connections stay open, so that no other file gets its number;
        its WAL is emptied into it, so that nobody takes that for the WAL of what lies there now.
        """
        whereabouts = self._driver.whereabouts
        try:
            with self._used:
                if self._closed:
                    raise _Abandoned(f"{self._driver._where} was gone a moment ago. Try again")
                try:
                    if whereabouts.lost:
                        whereabouts.look()
                    return work(*given)
                except DatabaseGone:
                    whereabouts.save(self._raw)
                    raise
        except BesideGone:
            self._driver.abandon()
            raise

    def _transacted(self, begin: str, work: Callable[[Any], T], given: Any) -> T:
        """What `work` does in a transaction, which is rolled back where it raises."""
        raw, whereabouts = self._raw, self._driver.whereabouts
        try:
            raw.execute(begin)
            result = work(given)
            whereabouts.look(beside=begin != "BEGIN")
            raw.execute("COMMIT")
        except BaseException as error:
            if raw.in_transaction:
                raw.execute("ROLLBACK")
            if isinstance(error, sqlite3.IntegrityError) and "UNIQUE" in str(error):
                raise Stale from error
            if isinstance(error, sqlite3.Error):
                whereabouts.look()  # it may be the reason
                raise self._driver.translated(error) from error
            raise
        return result


# ---- errors: what SQLite refused, translated here and nowhere else

_CORRUPT = 11  # SQLite's own code
_ODD = (
    "malformed",
    "corrupt",
    "unsupported file format",
    "unknown database format",
    "can't decode byte",
)  # the last of Python: SQLite names a piece of the schema, no text
_PAGES = 1 << 17  # what SQLite writes in one go, and more
_BESIDE = (
    "This process may not make, or write, the two files (-wal and -shm) that SQLite keeps beside "
    "it: `?mode=ro` behind the path is for reading alone"
)
REMEDY = "Restore the file from a backup, or have sqlite3 `.recover` it into a new one"


def translated(error: Exception, where: str, path: str, timeout: float) -> WyrdError:
    """The error of ours that says what the driver's means."""
    text = str(error)
    if is_damage(error):
        return damaged(where, f"{text}{_cut(path)}")
    if "locked" in text or "busy" in text:
        return DatabaseBusy(
            f"{where} was locked by another process for longer than the timeout of "
            f"{timeout:g} s ({text})"
        )
    if "full" in text or ("disk I/O error" in text and _no_room(path)):
        return DatabaseFull(
            f"{where}: no room left ({text}); this write was not stored. Make room on the disk, "
            "and the same saver goes on"
        )
    if "readonly" in text or "read-only" in text:
        hint = "" if _may_write_beside(path) else f". {_BESIDE}"
        return ReadOnlyDatabase(f"{where} can only be read ({text}){hint}")
    if "not a database" in text:
        return NotADatabase(
            f"{where} can't be opened as an SQLite database ({text}): it is none, or its first "
            f"page is damaged. {REMEDY}"
        )
    if "unable to open" in text:
        why = _why_not(path)
        return NotADatabase(f"{where} can't be opened as an SQLite database ({text}){why}")
    if "no such table: wyrd_" in text:
        remedy = made_again(text) or REMEDY
        return SchemaMissing(f"{where} lost langgraph-wyrd's tables ({text}). {remedy}")
    if "disk I/O error" in text:
        return StoreError(
            f"{where}: the disk failed ({text}). Nothing of this call was stored: look at the disk"
        )
    return StoreError(f"{where}: {text}")


def _why_not(path: str) -> str:
    """Why a file can't be opened, as far as can be seen."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        return f": there is no folder {folder!r}, make it first"
    if not os.path.exists(path):
        may = os.access(folder, os.W_OK)
        return ": there is no such file" + ("" if may else f", and none may be made in {folder!r}")
    for each in (path, f"{path}-wal", f"{path}-shm"):
        if os.path.exists(each) and not os.access(each, os.R_OK):
            return f": this process may not read {each!r}"
    if size(f"{path}-wal") and not os.access(folder, os.W_OK):
        return (
            f": what {path + '-wal'!r} holds is not in the file yet, and nothing can be written in "
            f"{folder!r}. Copy both files to where something can, and open them there"
        )
    return "" if _may_write_beside(path) else f": {_BESIDE}"


def _may_write_beside(path: str) -> bool:
    sides = [f"{path}{end}" for end in ("-wal", "-shm") if os.path.exists(f"{path}{end}")]
    return all(
        os.access(each, os.W_OK) for each in sides or [os.path.dirname(os.path.abspath(path))]
    )


def _cut(path: str) -> str:
    """Says so where a file ends before its last page."""
    try:
        with open(path, "rb") as file:
            header = file.read(32)
    except OSError:
        return ""
    page, pages = (int.from_bytes(header[a:b], "big") for a, b in ((16, 18), (28, 32)))
    wanted = (65536 if page == 1 else page) * pages
    if len(header) < 32 or not size(path) < wanted or size(f"{path}-wal"):
        return ""
    return (
        f"; the file ends after {size(path)} of {wanted} bytes: it was cut, or never written whole"
    )


def is_damage(error: Exception) -> bool:
    """Whether pages of the file are not what SQLite wrote."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code == _CORRUPT or any(word in str(error) for word in _ODD)


def damaged(where: str, text: str) -> DatabaseDamaged:
    found = DatabaseDamaged(
        f"{where}: pages of the file are damaged, and what they held can't be read ({text}). "
        f"Other threads may be whole: verify() says more. {REMEDY}"
    )
    found.said = text
    return found


def _no_room(path: str) -> bool:
    """Whether the disk is full, or a file as large as this process may make one."""
    try:
        import resource
    except ImportError:  # Windows
        pass
    else:
        most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        if most != resource.RLIM_INFINITY and max(map(size, (path, f"{path}-wal"))) + _PAGES > most:
            return True
    try:
        found = os.statvfs(os.path.dirname(os.path.abspath(path)) or ".")
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < 1 << 20
