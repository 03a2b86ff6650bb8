"""Postgres through psycopg 3: plain threads with synchronous connections.

Transactions are written out (`BEGIN … COMMIT`) on autocommit connections, so that their statements
share a pipeline: a merged write is one round trip, whatever it holds.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any, TypeVar

from langgraph_wyrd.errors import (
    BadUrl,
    ConnectionLost,
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseFull,
    InvalidInput,
    MissingExtra,
    NoAnswer,
    ReadOnlyDatabase,
    SchemaMissing,
    StatementTimeout,
    StoreError,
    WyrdError,
)
from langgraph_wyrd.storage import schema
from langgraph_wyrd.storage.scripts import Clash, Query, Row, Script, Stale, Step
from langgraph_wyrd.storage.tables import MIGRATIONS, made_again
from langgraph_wyrd.storage.url import Address

try:
    import psycopg
    from psycopg import sql as quoting
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import Conninfo
    from psycopg.rows import tuple_row
    from psycopg.types.numeric import Int8BinaryDumper
except ImportError as error:
    raise MissingExtra("Postgres needs psycopg: pip install 'langgraph-wyrd[postgres]'") from error

from langgraph_wyrd.storage import postgres_watch
from langgraph_wyrd.storage.postgres_pipeline import Pipeline, Rows

T = TypeVar("T")

logger = logging.getLogger("langgraph_wyrd")

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_XID = "SELECT pg_current_xact_id_if_assigned()::text, pg_postmaster_start_time()::text"
_STATUS = b"SELECT pg_xact_status(%s::text::xid8), pg_postmaster_start_time()::text"
_ASKED = 100  # times, while a transaction has not ended yet
_LOCK = 0x77797264  # "wyrd"
_TAKEOVER = 8.0  # seconds in which one of several hosts may take over from another
_POOL = ("min_size", "max_size", "max_idle", "max_lifetime", "reconnect_timeout", "num_workers",
         "max_waiting", "name")  # fmt: skip


_UNPREPARED = (psycopg.errors.InvalidSqlStatementName, psycopg.errors.DuplicatePreparedStatement)
_CLASHES = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)


class PostgresDriver:
    """See `storage.engine.Driver`."""

    dialect = "postgres"
    keeps_open = True  # a forked child leaves the connections of its parent alone

    def __init__(
        self,
        address: Address,
        *,
        schema: str | None = None,
        setup: str = "auto",
        timeout: float = 60.0,
        connect: Callable[[], Any] | None = None,
        prepare: bool = True,
        adopting: bool = False,
        **options: Any,
    ) -> None:
        self._conninfo = address.target
        self._adopting = adopting
        self._schema = schema
        self._setup = setup
        self._timeout = timeout
        self._connect = connect
        pool = {name: options.pop(name) for name in _POOL if name in options}
        self.readers = max(1, int(pool.get("max_size") or 8) - 1)
        options.pop("row_factory", None)
        check_options(self._conninfo, options)
        self._options = {"autocommit": True, **options}
        self.prepares = prepare
        self._where = "the Postgres database"
        self._limit = f"lock_timeout = {max(1, int(timeout * 1000))}"
        self._lock = threading.Lock()
        self._ready = False
        self._several = "," in str(conninfo_to_dict(self._conninfo).get("host", ""))
        self._down: float | None = None  # since when none of several hosts takes writes
        self._portable = False  # whether the server only speaks as Postgres does: see docs/scale.md
        # Whether all connections share one session, as PGlite's do: what two of them send in the
        # extended protocol is mixed up, except in a transaction that is open already.
        self._shared = False
        self.age = 0
        self._texts: dict[str, bytes] = {}
        self._guards: dict[str, bytes] = {}
        self._prefix = "" if schema is None else f"{quoting.Identifier(schema).as_string(None)}."

    def text(self, given: str) -> bytes:
        """A statement as this database takes it: `$1` for the first `?`, our tables' schema."""
        found = self._texts.get(given)
        if found is None:
            sql = given
            if self._portable and "pg_snapshot_xmin" in sql:
                raise StoreError(
                    f"{self._where} was set up with portable tables, whose transactions have no "
                    "order: there is no feed of events"
                )
            if sql.startswith("CREATE "):
                sql = schema.placed(sql, self._prefix)
            else:
                sql = sql.replace("wyrd_", f"{self._prefix}wyrd_")
            first, *others = sql.split("?")
            marked = [f"${number}{each}" for number, each in enumerate(others, 1)]
            found = self._texts[given] = "".join([first, *marked]).encode()
        return found

    def guard(self, sql: str) -> bytes:
        """A statement that fails unless it hits one row, so that the transaction ends there."""
        found = self._guards.get(sql)
        if found is None:
            inner = self.text(sql).decode()
            returned = inner if inner.lstrip().startswith("SELECT") else f"{inner} RETURNING 1"
            text = f"WITH hit AS ({returned}) SELECT 1 / count(*) FROM hit"
            found = self._guards[sql] = text.encode()
        return found

    # ---- opening

    def connect(self, *, writes: bool) -> PostgresConnection:
        raw = self._reached()
        second = partial(self._dial, postgres_watch.SECOND)
        watch = postgres_watch.Watch(raw, self._patience, second)
        try:
            raw.adapters.register_dumper(int, Int8BinaryDumper)
            if self.prepares:
                raw.execute(f"SET {self._limit}".encode(), prepare=False)
            with self._lock:
                if not self._ready:
                    self._set_up(raw)
                    self._ready = True
        except psycopg.Error as error:
            raw.close()
            self.refuse_silence(watch)
            raise self.translated(error) from error
        except BaseException:
            raw.close()
            raise
        return PostgresConnection(self, raw, watch, waits=writes)

    def _reached(self) -> psycopg.Connection[Any]:
        """A session; where several hosts are named, it waits for one of them to take over."""
        while True:
            try:
                raw = self._dial(self._patience)
            except psycopg.errors.ConnectionTimeout as error:
                raise NoAnswer(
                    f"no connection to Postgres: no answer for {self._patience:g} s"
                ) from error
            except psycopg.Error as error:
                what = f"no connection to Postgres: {said(error)}"
                if not self._several or not self._ready:
                    raise ConnectionLost(what) from error
                self._down = since = self._down or time.monotonic()
                if time.monotonic() - since > _TAKEOVER:
                    raise NoAnswer(f"{what} No other has taken over") from error
                time.sleep(0.1)
            else:
                self._down = None
                return raw

    @property
    def _patience(self) -> float:
        """How long an answer is waited for before anybody asks why."""
        return max(self._timeout, postgres_watch.PATIENCE)

    def _dial(self, patience: float) -> psycopg.Connection[Any]:
        conninfo = self._conninfo
        if self._connect is not None:
            made = self._connect()
            if not isinstance(made, str):
                if not isinstance(made, psycopg.Connection):
                    raise _not_a_connection(made)
                made.autocommit = True
                made.row_factory = tuple_row
                found: psycopg.Connection[Any] = made
                return found
            conninfo = made
        limit = max(2, math.ceil(patience))
        given = conninfo_to_dict(conninfo)
        kept = {
            "connect_timeout": limit, "keepalives_idle": max(1, limit // 2),
            "keepalives_interval": max(1, limit // 6), "keepalives_count": 3,
            "tcp_user_timeout": 2000 * limit,
        }  # fmt: skip
        if "service" in given:
            kept = {}
        left = {name: value for name, value in kept.items() if name not in given}
        return psycopg.connect(conninfo, **{**left, **self._options})

    def _set_up(self, raw: psycopg.Connection[Any]) -> None:
        inside = "" if self._schema is None else f"the schema {self._schema!r} of "
        self._where = f"{inside}the Postgres database {raw.info.dbname!r}"

        def run(sql: str, params: Any = None) -> psycopg.Cursor[Any]:
            return raw.execute(sql.encode(), params, prepare=False)

        with raw.transaction():
            run(f"SET LOCAL {self._limit}")
            ((version,),) = run("SELECT version()").fetchall()
            self._shared = "PGlite" in version
            wanted = self._pending(run)
        if not wanted:
            return
        ((reads, official),) = run(
            "SELECT current_setting('transaction_read_only'), "
            "to_regclass('checkpoints') IS NOT NULL"
        ).fetchall()
        if reads == "on":
            raise schema.missing(self._where, "it only allows reading", official=official)
        if self._setup == "never":
            raise schema.missing(self._where, schema.NEVER, official=official)
        until = time.monotonic() + self._timeout
        while not self._made(raw, run):
            if time.monotonic() > until:
                raise psycopg.errors.LockNotAvailable("another session sets the database up")
            time.sleep(0.05)
        if official and not self._adopting:
            with contextlib.suppress(psycopg.Error):  # reading them may be forbidden
                if run("SELECT 1 FROM checkpoints LIMIT 1").fetchone() is not None:
                    schema.note_official(self._where)

    def _made(self, raw: psycopg.Connection[Any], run: Callable[..., Any]) -> bool:
        """Make what is missing; False while another session is at it.

        Nobody waits for the lock in the server: behind pgpool, the session that has it may have to
        wait for one that waits. It is held to the end of the transaction, as poolers want it.
        """
        with raw.transaction():
            run(f"SET LOCAL {self._limit}")
            ((free,),) = run("SELECT pg_try_advisory_xact_lock(%s)", (_LOCK,)).fetchall()
            if not free:
                return False
            if self._schema is not None:
                run(f"CREATE SCHEMA IF NOT EXISTS {self._prefix[:-1]}")
            wanted = self._pending(run)  # others may have been quicker
            if wanted:
                for statement in schema.statements("postgres"):
                    run(schema.placed(statement, self._prefix))
                for each in wanted:
                    record = self.text(schema.RECORD)
                    psycopg.RawCursor(raw).execute(
                        record, (*each, datetime.now(timezone.utc).isoformat()), prepare=False
                    )
        return True

    def _pending(self, run: Callable[..., Any]) -> list[schema.Migration]:
        found = run(
            "SELECT c.relname, a.attname, pg_get_expr(d.adbin, d.adrelid) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 "
            "LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum "
            "WHERE n.nspname = coalesce(%s, current_schema()) "
            "AND c.relkind IN ('r', 'p', 'v', 'f') AND c.relname = ANY(%s)",
            (self._schema, [*schema.OURS, MIGRATIONS.name]),
        ).fetchall()
        tables: dict[str, set[str]] = {}
        for table, column, default in found:
            tables.setdefault(table, set()).add(column)
            if (table, column) == ("wyrd_journal", "committed"):
                self._portable = "xact_id" not in (default or "xact_id")
        schema.refuse_foreign(tables, self._where)
        rows: list[Any] = []
        if MIGRATIONS.name in tables:
            text = self.text("SELECT version, name, min_reader FROM wyrd_migrations").decode()
            rows = run(text).fetchall()
        return schema.pending(rows, self._where, there=len(tables) > 1)

    # ---- errors

    def translated(self, error: psycopg.Error) -> WyrdError:
        return translated(error, self._where, self._timeout)

    def gone(self, error: BaseException, *, fresh: bool) -> bool:
        cause = error.__cause__
        if not isinstance(cause, psycopg.Error):
            return False
        if isinstance(cause, _UNPREPARED):  # nothing is prepared from now on
            return True
        # After a fail-over, only a new session learns whether it may write. One that was just made
        # may be of the server that goes down: another host may take over.
        return (not fresh or self._several) and (
            lost(cause) or isinstance(cause, psycopg.errors.ReadOnlySqlTransaction)
        )

    def refuse_silence(self, watch: postgres_watch.Watch) -> None:
        """Raise if a connection was cut because nobody spoke; that is not tried a second time."""
        why, watch.lost = watch.lost, ""
        if why:
            self.age += 1  # those that were opened when this one was may be cut off as well
            kind = NoAnswer if why is postgres_watch.NOTHING else ConnectionLost
            raise kind(
                f"{self._where}: the server has not answered for {self._patience:g} s, and {why}"
            ) from None

    def has_committed(self, xid: str, started: str) -> bool:
        """Whether a transaction is stored whose COMMIT was sent and never answered.

        `started` says when its server was. Another one may have given its number to others.
        """
        with contextlib.suppress(psycopg.Error, ConnectionLost):
            raw = self._reached()
            try:
                for _ in range(_ASKED if xid else 0):
                    with raw.transaction():
                        row = raw.execute(_STATUS, (xid,), prepare=False).fetchone()
                    status, since = row or ("", "")
                    if status == "committed" and since != started:
                        break
                    if status != "in progress":
                        return bool(status == "committed")
                    time.sleep(0.05)
            except psycopg.errors.InvalidParameterValue:  # a number that is not given yet
                return False
            finally:
                raw.close()
        # From nothing: it is not tried again.
        raise ConnectionLost(
            f"{self._where}: the server went away while this was committed, and nobody can say "
            "whether it is stored: look before you do it again"
        ) from None

    def forget(self) -> None:
        """Look at the database anew with the next connection."""
        self._ready = False

    def stop_preparing(self, error: psycopg.Error) -> None:
        """Prepared statements do not survive here, as behind a pooler: go on without them."""
        if self.prepares:
            self.prepares = False
            logger.warning(
                "%s forgets prepared statements (%s), as behind PgBouncer in transaction mode: "
                "none are prepared from now on; prepare=False says so at once",
                self._where, said(error),
            )  # fmt: skip


class PostgresConnection:
    """See `storage.engine.Connection`."""

    def __init__(
        self,
        driver: PostgresDriver,
        raw: psycopg.Connection[Any],
        watch: postgres_watch.Watch,
        *,
        waits: bool,
    ) -> None:
        self._driver = driver
        self._waits = waits  # for the answer to a reading transaction's COMMIT, too
        self._raw = raw
        self._watch = watch
        self._age = driver.age
        # The number of the transaction that is about to be committed, since when its server is
        # there, and what its script returns.
        self._ending: tuple[Row, Any] | None = None
        self._pipeline = Pipeline(raw)

    def close(self) -> None:
        self._raw.close()

    def clean(self, tables: Sequence[str]) -> None:
        """Free the space of deleted rows for others; the server writes over it in its own time."""
        if self._driver._portable:  # such servers do it by themselves
            return
        text = self._driver.text(f"VACUUM {', '.join(tables)}")
        try:
            self._pipeline.settle()
            self._raw.execute(text, prepare=False)
        except psycopg.Error as error:
            self._driver.refuse_silence(self._watch)
            raise self._driver.translated(error) from error

    def read(self, script: Script[T]) -> T:
        return self._run(_READ, script)

    def write(self, script: Script[T]) -> T:
        self._ending = None
        try:
            return self._run(_WRITE, script)
        except WyrdError as error:
            ending, driver = self._ending, self._driver
            if ending is None or not driver.gone(error, fresh=False):
                raise
            if not driver.has_committed(*ending[0]):
                raise
            result: T = ending[1]
            return result

    def _run(self, begin: str, script: Script[T]) -> T:
        with self._transaction(begin):
            try:
                step = next(script)
                while True:
                    if isinstance(step, tuple):
                        step = script.send(self._execute([step])[0])
                    else:
                        step = script.send(self._execute(step))
            except StopIteration as end:
                result: T = end.value
            if begin is _WRITE:
                # Behind portable tables transactions have no numbers that could be asked about.
                rows = [("", "")] if self._driver._portable else self._execute([Query(_XID)])[0]
                if rows and rows[0][0] is not None:
                    self._ending = rows[0], result
        return result

    def _execute(self, statements: Sequence[Any]) -> list[Rows | None]:
        """Send everything, then collect what has an answer."""
        text, send = self._driver.text, self._pipeline.send
        found: list[Rows | None] = []
        for statement in statements:
            rows: Rows | None = None
            if type(statement) is Query:
                rows = []
                send(text(statement.sql), statement.params, rows)
            else:
                for row in statement.rows:
                    send(text(statement.sql), row)
            found.append(rows)
        self._pipeline.collect()
        return found

    def merge(self, writes: Sequence[Sequence[Step]]) -> None:
        """All in one round trip: where something is stale, the server itself refuses to go on."""
        text, guard, send = self._driver.text, self._driver.guard, self._pipeline.send
        with self._transaction(_WRITE):
            for steps in writes:
                for sql, params, must in steps:
                    send(guard(sql) if must else text(sql), params)

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Generator[None, None, None]:
        raw, driver, pipeline = self._raw, self._driver, self._pipeline
        if self._age != driver.age:
            raw.close()
        try:
            if driver._shared:
                raw.execute(begin.encode(), prepare=False)
            pipeline.open(prepares=driver.prepares)
            if not driver._shared:
                pipeline.send(begin.encode())
            if not driver.prepares:  # the session may be anybody's
                pipeline.send(f"SET LOCAL {driver._limit}".encode())
            yield
            pipeline.send(b"COMMIT")
            if begin is _READ and not (self._waits or driver._shared):
                pipeline.leave()
            else:
                pipeline.close()
        except BaseException as error:
            pipeline.abandon()
            if isinstance(error, (psycopg.errors.UniqueViolation, psycopg.errors.DivisionByZero)):
                raise Stale from error
            if isinstance(error, _CLASHES):
                raise Clash(said(error)) from error
            if isinstance(error, _UNPREPARED):
                driver.stop_preparing(error)
            if isinstance(error, psycopg.Error):
                driver.refuse_silence(self._watch)
                raise driver.translated(error) from error
            raise


def _not_a_connection(made: Any) -> InvalidInput:
    if inspect.iscoroutine(made):
        made.close()
    return InvalidInput(
        f"connect= made a {type(made).__name__}: it must return a psycopg.Connection, as "
        "psycopg.connect does, or a connection string"
    )


# ---- errors: what Postgres refused, translated here and nowhere else

_NOT_LIBPQ_S = {"cursor_factory", "context", "prepare_threshold", "autocommit"}


def check_options(conninfo: str, options: Mapping[str, Any]) -> None:
    """Refuse what can't be connected with, before anything is."""
    told = {name: value for name, value in options.items() if name not in _NOT_LIBPQ_S}
    if unknown := told.keys() - {each.keyword.decode() for each in Conninfo.get_defaults()}:
        raise InvalidInput(f"unknown options for Postgres: {', '.join(sorted(unknown))}")
    try:
        conninfo_to_dict(conninfo, **told)
    except psycopg.ProgrammingError as error:
        raise BadUrl(f"Postgres can't be reached by this address: {said(error)}") from error


# What a state of the server's means, by how its code begins: the first that fits.
_MEANINGS: tuple[tuple[str | tuple[str, ...], type[StoreError], str], ...] = (
    ("55P03", DatabaseBusy,
     "{where}: somebody else held a lock for longer than the timeout of {timeout:g} s ({said})"),
    ("57014", StatementTimeout,
     "{where}: it took longer than the server, or the role, allows ({said}). Nothing of it was "
     "stored: raise its statement_timeout, or ask for less at once"),
    (("XX001", "XX002"), DatabaseDamaged,
     "{where}: pages of it are damaged, and what they held can't be read ({said}). Other threads "
     "may be whole: verify() says more. An index can be made anew with REINDEX; else restore the "
     "database from a backup"),
    ("53100", DatabaseFull,
     "{where}: no room left for this write, which was not stored ({said}). Make room on the "
     "server's disk, and the same saver goes on"),
    ("53", DatabaseBusy, "{where}: no room left for this write, which was not stored ({said})"),
    ("25006", ReadOnlyDatabase, "{where} can only be read ({said})"),
    (("42P01", "3F000"), SchemaMissing,
     "{where} does not have langgraph-wyrd's tables ({said}). {remedy}"),
    ("42501", StoreError,
     "{where}: this role may not do that ({said}). Tables can be made by another role: see "
     'WyrdSaver.ddl(), and setup="never"'),
    ("25P03", ConnectionLost,
     "{where}: the server ends a transaction that waits for us too soon, twice ({said}): raise its "
     "idle_in_transaction_session_timeout"),
)  # fmt: skip


def translated(error: psycopg.Error, where: str, timeout: float) -> WyrdError:
    """The error of ours that says what the driver's means."""
    text, state = said(error), error.sqlstate or ""
    for code, kind, meaning in _MEANINGS:
        if state.startswith(code):
            about = {"remedy": made_again(text), "said": text, "timeout": timeout, "where": where}
            made = kind(meaning.format(**about).removesuffix(". "))
            if isinstance(made, DatabaseDamaged):
                made.of, made.said = "the database", text
                made.remedy = "restore the database from a backup; REINDEX does for an index"
            return made
    if lost(error):
        return ConnectionLost(f"{where}: the connection was lost, twice ({text})")
    return StoreError(f"{where}: {text}")


def lost(error: psycopg.Error) -> bool:
    """Whether the connection, or the server, went away."""
    state = error.sqlstate
    if state is None:
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return state.startswith("08") or state in ("57P01", "57P02", "57P03", "57P05", "25P03")


def said(error: BaseException) -> str:
    """The server's or the driver's words, on one line; without the statement."""
    words = [str(error)]
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        words = [error.diag.message_primary, error.diag.message_detail or ""]
    return " ".join(" ".join(words).split()) or type(error).__name__
