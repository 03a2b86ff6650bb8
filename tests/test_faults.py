"""Clean after every error: it has a name, nothing is half done, and the next call works."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from langgraph_wyrd import Channels, WyrdSaver, errors
from tests.handmade import (
    aappend,
    append,
    config,
    head_tokens,
    message,
    next_step,
    tokens,
    tree,
)
from tests.outside import (
    at_rest,
    is_postgres,
    path_of,
    raw,
    refusing,
    tables,
    terminate_backends,
    write_lock,
)

pytestmark = pytest.mark.timeout(300, method="thread")

WRITTEN = ("wyrd_threads", "wyrd_checkpoints")


# ---- a write that fails in the middle


@pytest.mark.parametrize("table", WRITTEN)
async def test_a_put_that_fails_leaves_nothing(durable: Any, table: str, call: Any) -> None:
    """Refused at any table: nothing of it is stored, and the next put has no hole where it was."""
    saver = durable.open()
    for token in ("m0", "m1"):
        append(saver, "t", token)
    head = saver.get_tuple(config("t"))
    failing = next_step(saver, head, "t", "m2")
    with refusing(durable.url, table):
        with pytest.raises(errors.StoreError, match="refused by a test"):
            await call(saver, "put", *failing)
        at_rest(durable.url)
        assert head_tokens(saver, "t") == ["m0", "m1"]
        with pytest.raises(errors.StoreError):
            await call(saver, "put", *next_step(saver, None, "new", "a"))
        assert saver.get_tuple(config("new")) is None
    assert saver.get_tuple(config("t", failing[1]["id"])) is None

    # The runtime went on without waiting for the failed put: its next one names all messages.
    onward = next_step(saver, head, "t", "m3", extra={"more": [message("m2"), message("m3")]})
    await call(saver, "put", *onward)
    assert head_tokens(saver, "t") == ["m0", "m1", "m3"]
    values = saver.get_tuple(config("t")).checkpoint["channel_values"]
    assert values["more"] == [message("m2"), message("m3")]
    await call(saver, "put", *next_step(saver, None, "new", "a"))
    assert head_tokens(durable.open(), "new") == ["a"]
    assert head_tokens(durable.open(), "t") == ["m0", "m1", "m3"]
    tree(saver, "t")
    at_rest(durable.url)


def test_a_failed_put_leaves_no_hole_in_the_next(durable: Any) -> None:
    """The step after a failed one carries its value too: m0, m1, m2, m3 all come back."""
    saver = durable.open()
    for token in ("m0", "m1"):
        append(saver, "t", token)
    failing = next_step(saver, saver.get_tuple(config("t")), "t", "m2")
    with refusing(durable.url, "wyrd_checkpoints"), pytest.raises(errors.StoreError):
        saver.put(*failing)

    where, checkpoint, metadata, new = failing
    log = [*checkpoint["channel_values"]["log"], message("m3")]
    versions = {name: saver.get_next_version(new[name], None) for name in new}
    following = {
        **checkpoint,
        "id": next_step(saver, None, "t", "x")[1]["id"],
        "channel_values": {**checkpoint["channel_values"], "log": log},
        "channel_versions": versions,
    }
    saver.put(where, following, metadata, {"log": versions["log"]})
    for reader in (saver, durable.open()):
        found = reader.get_tuple(config("t")).checkpoint["channel_values"]
        assert [said.id for said in found["log"]] == ["m0", "m1", "m2", "m3"]
        assert found["last"] == "m2"  # not in new_versions, yet named and never stored


async def test_writes_that_fail_leave_nothing(durable: Any, call: Any) -> None:
    """A refused `put_writes` stores none of its values; the same call works afterwards."""
    saver = durable.open()
    head = saver.get_tuple(append(saver, "t", "a"))
    writes = [("log", message("w1")), ("log", message("w2"))]
    with refusing(durable.url, "wyrd_writes"):
        with pytest.raises(errors.StoreError, match="refused by a test"):
            await call(saver, "put_writes", head.config, writes, "task")
        assert saver.get_tuple(config("t")).pending_writes == []
        append(saver, "t", "b")  # what does not touch the table goes on
    await call(saver, "put_writes", head.config, writes, "task")
    found = saver.get_tuple(head.config).pending_writes
    assert found == [("task", channel, value) for channel, value in writes]
    at_rest(durable.url)


@pytest.mark.parametrize("verb", ["copy_thread", "prune", "delete_for_runs"])
async def test_a_longer_operation_that_fails_is_undone(durable: Any, verb: str, call: Any) -> None:
    """A copy, a prune or a deletion that is refused on its way changes nothing at all."""
    saver = durable.open()
    for number in range(4):
        step = next_step(saver, saver.get_tuple(config("t")), "t", f"{number}")
        step[2]["run_id"] = f"run-{number}"
        saver.put(*step)
    before = tree(saver, "t")
    arguments: dict[str, tuple[Any, ...]] = {
        "copy_thread": ("t", "copy"),
        "prune": (["t"],),
        "delete_for_runs": (["run-1"],),
    }
    with forbidding(durable.url, "wyrd_checkpoints"):
        with pytest.raises(errors.StoreError, match="refused by a test"):
            await call(saver, verb, *arguments[verb])
        assert tree(saver, "t") == before
        assert saver.get_tuple(config("copy")) is None
        at_rest(durable.url)
    await call(saver, verb, *arguments[verb])
    if verb == "copy_thread":
        assert head_tokens(saver, "copy") == head_tokens(saver, "t")
    assert len(list(saver.list(config("t")))) == {"copy_thread": 4, "prune": 1}.get(verb, 3)


@contextlib.contextmanager
def forbidding(url: str, table: str) -> Iterator[None]:
    """Rows of this table can be neither added nor deleted, until the block ends."""
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(raw(url))
        if is_postgres(url):
            connection.execute(
                "CREATE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE EXCEPTION 'refused by a test'; END $$"
            )
            connection.execute(
                f"CREATE TRIGGER forbid BEFORE INSERT OR DELETE ON {table}"
                " FOR EACH ROW EXECUTE FUNCTION forbid()"
            )
            undo = ["DROP FUNCTION forbid CASCADE"]
        else:
            body = "BEGIN SELECT RAISE(ABORT, 'refused by a test'); END"
            for event in ("INSERT", "DELETE"):
                connection.execute(f"CREATE TRIGGER no_{event} BEFORE {event} ON {table} {body}")
            undo = ["DROP TRIGGER no_INSERT", "DROP TRIGGER no_DELETE"]
        try:
            yield
        finally:
            for statement in undo:
                connection.execute(statement)


# ---- busy


async def test_busy_then_free(durable: Any, call: Any) -> None:
    """A lock held for longer than `timeout` raises DatabaseBusy; freed, the next call works."""
    saver = durable.open(timeout=0.3)
    append(saver, "t", "a")
    head = saver.get_tuple(config("t"))
    with write_lock(durable.url):
        for _ in range(2):
            with pytest.raises(errors.DatabaseBusy):
                await call(saver, "put", *next_step(saver, head, "t", "lost"))
        with pytest.raises(errors.DatabaseBusy):
            await call(saver, "put_writes", head.config, [("log", 1)], "task")
        with pytest.raises(errors.DatabaseBusy):
            await call(saver, "delete_thread", "t")
        assert head_tokens(saver, "t") == ["a"]
    await call(saver, "put", *next_step(saver, head, "t", "b"))
    assert head_tokens(saver, "t") == ["a", "b"]
    tree(saver, "t")
    at_rest(durable.url)


async def test_busy_for_many_at_once(durable: Any) -> None:
    """Writes that were merged while the lock was held all raise, and all work afterwards."""
    saver = durable.open(timeout=0.2)
    append(saver, "t", "a")
    with write_lock(durable.url):
        calls = [saver.aput(*next_step(saver, None, f"t{n}", "a")) for n in range(4)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(found) for found in results} == {errors.DatabaseBusy}
    assert all(saver.get_tuple(config(f"t{n}")) is None for n in range(4))
    await asyncio.gather(*(aappend(saver, f"t{n}", "b") for n in range(4)))
    assert all(head_tokens(saver, f"t{n}") == ["b"] for n in range(4))
    at_rest(durable.url)


def test_opening_while_busy(durable: Any) -> None:
    """A first use that meets a lock raises DatabaseBusy, and can be repeated once it is free."""
    with durable.open() as saver:
        append(saver, "t", "a")
    saver = durable.open(timeout=0.2)
    step = next_step(saver, None, "u", "a")
    with write_lock(durable.url), pytest.raises(errors.DatabaseBusy):
        saver.put(*step)
    saver.put(*step)
    assert head_tokens(saver, "u") == ["a"]


async def test_every_connection_in_use(postgres: Any) -> None:
    """Nobody waits longer than `timeout` for a place in the pool; then it works again."""
    saver = postgres.open(min_size=1, max_size=1, timeout=0.4)
    append(saver, "t", "a")
    with raw(postgres.url) as connection:
        connection.execute("BEGIN")
        for name in tables(connection):
            connection.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")
        reads = [saver.aget_tuple(config("t")) for _ in range(4)]
        results = await asyncio.gather(*reads, return_exceptions=True)
        connection.execute("ROLLBACK")
    assert {type(found) for found in results} == {errors.DatabaseBusy}
    assert tokens(await saver.aget_tuple(config("t"))) == ["a"]
    at_rest(postgres.url)


# ---- full


def test_a_full_file(tmp_path: Path, call: Any) -> None:
    """No page left: DatabaseFull, the last good state is intact; with room again, all works."""
    path = tmp_path / "small.db"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, check_same_thread=False)
        connection.execute("PRAGMA max_page_count = 150")
        return connection

    async def fill() -> None:
        good: list[str] = []
        much = {"bulk": [bulk(number) for number in range(5)]}  # more than any page that is left
        with WyrdSaver.from_conn_string(f"sqlite:///{path}", connect=connect) as saver:
            await call(saver, "put", *next_step(saver, None, "filler", "a", extra=bulk(0)))
            with pytest.raises(errors.DatabaseFull) as caught:  # noqa: PT012 - any of them
                for number in range(100):
                    head = saver.get_tuple(config("t"))
                    step = next_step(saver, head, "t", f"{number}", extra=bulk(number))
                    await call(saver, "put", *step)
                    good.append(f"{number}")
            assert isinstance(caught.value.__cause__, sqlite3.Error)
            for _ in range(3):
                with pytest.raises(errors.DatabaseFull):
                    await call(saver, "put", *next_step(saver, None, "new", "a", extra=much))
            assert good
            assert head_tokens(saver, "t") == good
            assert saver.get_tuple(config("new")) is None
            tree(saver, "t")
            at_rest(f"sqlite:///{path}")

            await call(saver, "delete_thread", "filler")
            await call(saver, "put", *next_step(saver, saver.get_tuple(config("t")), "t", "more"))
            assert head_tokens(saver, "t") == [*good, "more"]
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()

    asyncio.run(fill())


def bulk(number: int) -> dict[str, Any]:
    """60 kB that do not compress."""
    return {"bulk": {"bytes": os.urandom(60_000), "number": number}}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes, where one may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True)
    except OSError:
        pytest.skip("no mount here")
    if done.returncode:
        pytest.skip("not allowed to mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    """The disk itself is full: DatabaseFull, nothing lost; a file removed, and it goes on."""
    url = f"sqlite:///{small_disk / 'wyrd.db'}"
    filler = small_disk / "filler"
    filler.write_bytes(bytes(2_500_000))
    good: list[str] = []
    with WyrdSaver.from_conn_string(url) as saver:
        with pytest.raises(errors.DatabaseFull):  # noqa: PT012 - any of them
            for number in range(100):
                head = saver.get_tuple(config("t"))
                saver.put(*next_step(saver, head, "t", f"{number}", extra=bulk(number)))
                good.append(f"{number}")
        assert good
        assert head_tokens(saver, "t") == good
        with pytest.raises(errors.DatabaseFull):
            append(saver, "new", "a", extra=bulk(0))
        filler.unlink()
        append(saver, "t", "more")
        assert head_tokens(saver, "t") == [*good, "more"]
        at_rest(url)
    with WyrdSaver.from_conn_string(url) as saver:
        assert head_tokens(saver, "t") == [*good, "more"]
        tree(saver, "t")


REFUSED = {
    "disk_full": (errors.DatabaseFull, "Make room"),
    "data_corrupted": (errors.DatabaseDamaged, "REINDEX"),  # a page's checksum fails
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_a_server_says_of_its_disk(postgres: Any, why: str) -> None:
    """That it is full, or a page damaged, becomes an error of its own, and passes."""
    saver, (error, match) = postgres.open(), REFUSED[why]
    append(saver, "t", "a")
    with refusing(postgres.url, "wyrd_checkpoints", why):
        with pytest.raises(error, match=match):
            append(saver, "t", "b")
        assert head_tokens(saver, "t") == ["a"]
    append(saver, "t", "b")
    assert head_tokens(saver, "t") == ["a", "b"]
    at_rest(postgres.url)


# ---- read-only


async def test_a_read_only_file(sqlite: Any, call: Any) -> None:
    """`?mode=ro`: everything can be read, every write raises ReadOnlyDatabase, nothing changes."""
    with sqlite.open() as saver:
        append(saver, "t", "a")
        append(saver, "t", "b")
    before = path_of(sqlite.url).read_bytes()
    with WyrdSaver.from_conn_string(sqlite.url + "?mode=ro") as reader:
        reader.setup()
        assert tokens(await call(reader, "get_tuple", config("t"))) == ["a", "b"]
        assert len(await call(reader, "list", config("t"))) == 2
        await refuses_writes(reader, call)
        assert head_tokens(reader, "t") == ["a", "b"]
    assert path_of(sqlite.url).read_bytes() == before


async def test_a_read_only_saver_next_to_a_writing_one(sqlite: Any) -> None:
    """A reader on the same file sees what a writer has just stored."""
    saver = sqlite.open()
    append(saver, "t", "a")
    with WyrdSaver.from_conn_string(sqlite.url + "?mode=ro") as reader:
        for token in "bcd":
            append(saver, "t", token)
            assert head_tokens(reader, "t") == head_tokens(saver, "t")


async def refuses_writes(saver: Any, call: Any) -> None:
    head = saver.get_tuple(config("t"))
    for name, *arguments in (
        ("put", *next_step(saver, head, "t", "c")),
        ("put", *next_step(saver, None, "new", "c")),
        ("put_writes", head.config, [("log", 1)], "task"),
        ("delete_thread", "t"),
        ("copy_thread", "t", "copy"),
        ("prune", ["t"]),
    ):
        with pytest.raises(errors.ReadOnlyDatabase):
            await call(saver, name, *arguments)


def test_a_read_only_file_that_is_not_there(tmp_path: Path) -> None:
    """Reading what does not exist raises and makes no file."""
    path = tmp_path / "none.db"
    saver = WyrdSaver.from_conn_string(f"sqlite:///{path}?mode=ro")
    with pytest.raises(errors.StoreError):
        saver.get_tuple(config("t"))
    saver.close()
    with pytest.raises(errors.StoreError), saver:
        pass
    assert not path.exists()


async def test_a_disk_that_is_read_only(
    sqlite: Any, call: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where no WAL can be made, the file is read as it lies there, with a word in the log; writes
    raise ReadOnlyDatabase. (Simulated: no test can make such a disk.)"""
    with sqlite.open() as saver:
        append(saver, "t", "a")
    for name in ("needs_immutable", "is_on_read_only_disk"):
        monkeypatch.setattr(f"langgraph_wyrd.storage.sqlite.{name}", lambda path: True)
    before = snapshot(sqlite.url)
    for mode in ("", "?mode=ro"):
        caplog.clear()
        with WyrdSaver.from_conn_string(sqlite.url + mode) as reader:
            assert tokens(await call(reader, "get_tuple", config("t"))) == ["a"]
            assert [each.thread_id for each in await call(reader, "threads")] == ["t"]
            assert (await call(reader, "verify")).ok
            await refuses_writes(reader, call)
        assert caplog.text.count("lies where nothing can be written") == 1
    assert snapshot(sqlite.url) == before
    assert not path_of(sqlite.url).with_name("wyrd.db-wal").exists()


async def test_a_wal_on_a_disk_that_is_read_only(
    sqlite: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a WAL holds is not left out silently: the error at entry says to copy both files.
    (Simulated: SQLite can make no -shm.)"""
    path = path_of(sqlite.url)
    saver = sqlite.open()
    append(saver, "t", "a")
    wal = path.with_name(f"{path.name}-wal").read_bytes()
    saver.close()
    assert wal
    path.with_name(f"{path.name}-wal").write_bytes(wal)
    path.with_name(f"{path.name}-shm").symlink_to(path.with_name("nowhere") / "shm")
    may = os.access
    monkeypatch.setattr(os, "access", lambda at, mode: mode != os.W_OK and may(at, mode))
    for mode in ("", "?mode=ro"):
        opened = partial(WyrdSaver.from_conn_string, sqlite.url + mode)
        with pytest.raises(errors.NotADatabase, match="Copy both files"), opened():
            pass
        await refused_at_entry(opened, errors.NotADatabase)


HALF_WRITTEN = {
    "a few bytes": (10, errors.NotADatabase, "it ends after 10 bytes"),
    "half of the header": (60, errors.NotADatabase, "it ends after 60 bytes"),
    "the first page": (4096, errors.DatabaseDamaged, "the file ends after 4096 of"),
    "a few pages": (20_000, errors.DatabaseDamaged, "the file ends after 20000 of"),
}


@pytest.mark.parametrize("kind", HALF_WRITTEN)
async def test_a_file_that_was_not_written_whole(sqlite: Any, kind: str) -> None:
    """The error at entry says where the file ends, and nothing of it is overwritten."""
    ends, error, says = HALF_WRITTEN[kind]
    with sqlite.open() as saver:
        append(saver, "t", "a")
    path = path_of(sqlite.url)
    path.write_bytes(path.read_bytes()[:ends])
    with pytest.raises(error, match=says), sqlite.open():
        raise AssertionError("entered")
    await refused_at_entry(sqlite.open, error)
    assert path.stat().st_size == ends


async def refused_at_entry(opened: Callable[[], Any], error: type[Exception]) -> None:
    """`with`, `async with` and both forms of `setup` meet the database there and then."""
    with pytest.raises(error), opened():
        raise AssertionError("entered")
    with pytest.raises(error):
        async with opened():
            raise AssertionError("entered")
    saver = opened()
    for _ in range(2):
        with pytest.raises(error):
            saver.setup()
        with pytest.raises(error):
            await saver.asetup()
    saver.close()


async def test_a_read_only_role(postgres: Any, call: Any) -> None:
    """Sessions that are read-only by default: reads work, writes raise ReadOnlyDatabase."""
    with postgres.open() as saver:
        append(saver, "t", "a")
    reader = postgres.open(options="-c default_transaction_read_only=on")
    assert tokens(await call(reader, "get_tuple", config("t"))) == ["a"]
    await refuses_writes(reader, call)
    assert head_tokens(reader, "t") == ["a"]
    at_rest(postgres.url)


@pytest.mark.parametrize("ends", [True, False])
def test_a_database_turned_read_only_and_back(postgres: Any, ends: bool) -> None:
    """A fail-over to a read-only server and back costs the writes in between, nothing more, also
    where nobody ends the sessions that it was told to."""
    saver = postgres.open()
    append(saver, "t", "a")
    default(postgres.url, "SET default_transaction_read_only = on")
    with pytest.raises(errors.ReadOnlyDatabase):
        append(saver, "t", "b")
    assert head_tokens(saver, "t") == ["a"]
    default(postgres.url, "RESET default_transaction_read_only", ends=ends)
    append(saver, "t", "b")
    assert head_tokens(saver, "t") == ["a", "b"]


def default(url: str, setting: str, *, ends: bool = True) -> None:
    """Change what new sessions of this database start with, and end the old ones."""
    with raw(url) as admin:
        admin.execute("SET default_transaction_read_only = off")
        admin.execute(f'ALTER DATABASE "{admin.info.dbname}" {setting}')
    if ends:
        terminate_backends(url)


# ---- not ours


@pytest.mark.parametrize("kind", ["random bytes", "text", "a directory", "no parent folder"])
async def test_what_is_no_database(tmp_path: Path, kind: str, call: Any) -> None:
    """NotADatabase, for reading as for writing; what is there stays as it was."""
    path = tmp_path / "odd.db"
    if kind == "random bytes":
        path.write_bytes(os.urandom(20_000))
    elif kind == "text":
        path.write_text("a letter to a friend\n" * 200)
    elif kind == "a directory":
        path.mkdir()
    else:
        path = tmp_path / "none" / "odd.db"
    before = path.read_bytes() if path.is_file() else None
    for mode in ("", "?mode=ro"):
        saver = WyrdSaver.from_conn_string(f"sqlite:///{path}{mode}")
        for _ in range(2):  # the same again, not something that the first try left behind
            with pytest.raises(errors.NotADatabase) as caught:
                await call(saver, "get_tuple", config("t"))
            assert path.name in str(caught.value)
            with pytest.raises(errors.NotADatabase):
                await call(saver, "put", *next_step(saver, None, "t", "a"))
        saver.close()
        address = f"sqlite:///{path}{mode}"
        await refused_at_entry(partial(WyrdSaver.from_conn_string, address), errors.NotADatabase)
    assert (path.read_bytes() if path.is_file() else None) == before
    assert [found.name for found in tmp_path.iterdir()] == ([path.name] if path.exists() else [])


def test_a_missing_folder_may_be_made_afterwards(tmp_path: Path) -> None:
    """An error on opening is not remembered: once the cause is mended, the same saver works."""
    path = tmp_path / "later" / "wyrd.db"
    saver = WyrdSaver.from_conn_string(f"sqlite:///{path}")
    with pytest.raises(errors.NotADatabase):
        append(saver, "t", "a")
    path.parent.mkdir()
    append(saver, "t", "a")
    assert head_tokens(saver, "t") == ["a"]
    saver.close()


def test_an_entry_that_failed_may_be_tried_again(tmp_path: Path) -> None:
    """`with` leaves closed what it can't open; once the cause is mended, the same saver opens."""
    path = tmp_path / "later" / "wyrd.db"
    saver = WyrdSaver.from_conn_string(f"sqlite:///{path}")
    with pytest.raises(errors.NotADatabase), saver:
        pass
    with pytest.raises(errors.SaverClosed):
        saver.get_tuple(config("t"))
    path.parent.mkdir()
    with saver:
        append(saver, "t", "a")
        assert head_tokens(saver, "t") == ["a"]


FOREIGN = {
    "another program's table": "CREATE TABLE wyrd_threads (name TEXT)",
    "a table with columns like ours": (
        "CREATE TABLE wyrd_checkpoints (thread bigint, ns text, id text, metadata text)"
    ),
    "a view": "CREATE VIEW wyrd_writes AS SELECT 1 AS data",
    "another ledger": "CREATE TABLE wyrd_migrations (name TEXT, applied TEXT)",
    "a ledger alone, of another make": "CREATE TABLE wyrd_migrations (version TEXT, done INTEGER)",
}


@pytest.mark.empty
@pytest.mark.parametrize("kind", list(FOREIGN))
async def test_foreign_tables_of_our_names(durable: Any, kind: str, call: Any) -> None:
    """They are refused before anything is touched, by every call, whatever `setup` says."""
    with outsider(durable.url) as connection:
        connection.execute(FOREIGN[kind])
        connection.execute("CREATE TABLE theirs (a integer)")
        connection.execute("INSERT INTO theirs VALUES (1)")
    before = snapshot(durable.url)
    for setup in ("auto", "never"):
        saver = durable.open(setup=setup)
        with pytest.raises(errors.ForeignDatabase):
            await call(saver, "get_tuple", config("t"))
        with pytest.raises(errors.ForeignDatabase):
            await call(saver, "put", *next_step(saver, None, "t", "a"))
        with pytest.raises(errors.ForeignDatabase):
            await call(saver, "setup")
        await refused_at_entry(partial(durable.open, setup=setup), errors.ForeignDatabase)
    assert snapshot(durable.url) == before


async def test_a_foreign_table_next_to_our_record(durable: Any, call: Any) -> None:
    """A table of another make in the place of one of ours is refused, though the record of our
    migrations is there; nothing is touched."""
    durable.open().setup()
    durable.opened.pop().close()
    with outsider(durable.url) as connection:
        connection.execute("DROP TABLE wyrd_journal")
        connection.execute("CREATE TABLE wyrd_journal (id integer, note text)")
        connection.execute("CREATE TABLE theirs (a integer)")
    before = snapshot(durable.url)
    saver = durable.open()
    with pytest.raises(errors.ForeignDatabase, match="wyrd_journal without the columns"):
        await call(saver, "put", *next_step(saver, None, "t", "a"))
    await refused_at_entry(durable.open, errors.ForeignDatabase)
    assert snapshot(durable.url) == before


def test_a_file_of_another_program(sqlite: Any) -> None:
    """An `application_id` that is not ours is refused, and the file keeps every byte."""
    with outsider(sqlite.url) as connection:
        connection.execute("PRAGMA application_id = 1196444487")
        connection.execute("CREATE TABLE features (geom BLOB)")
    before = snapshot(sqlite.url)
    for mode in ("", "?mode=ro"):
        saver = WyrdSaver.from_conn_string(sqlite.url + mode)
        with pytest.raises(errors.ForeignDatabase):
            saver.get_tuple(config("t"))
        with pytest.raises(errors.ForeignDatabase):
            append(saver, "t", "a")
        saver.close()
    assert snapshot(sqlite.url) == before


def test_tables_of_other_names_are_neighbours(durable: Any) -> None:
    """A database that holds other tables can be shared; they are left as they are."""
    with outsider(durable.url) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
        connection.execute("CREATE TABLE wyrdness (a TEXT)")
        connection.execute("INSERT INTO customers VALUES ('Ada')")
    saver = durable.open()
    append(saver, "t", "a")
    assert head_tokens(saver, "t") == ["a"]
    with outsider(durable.url) as connection:
        assert connection.execute("SELECT * FROM customers").fetchall() == [("Ada",)]


@pytest.mark.empty
def test_foreign_tables_in_another_schema(postgres: Any) -> None:
    """What lies in one schema does not stop a saver that was given another."""
    with outsider(postgres.url) as connection:
        connection.execute(FOREIGN["another program's table"])
    with pytest.raises(errors.ForeignDatabase):
        append(postgres.open(), "t", "a")
    saver = postgres.open(schema="ours")
    append(saver, "t", "a")
    assert head_tokens(saver, "t") == ["a"]


@contextlib.contextmanager
def outsider(url: str) -> Iterator[Any]:
    """A connection that leaves an SQLite file in the mode it had."""
    with raw(url) as connection:
        yield connection


def snapshot(url: str) -> Any:
    """Everything there is: an SQLite file's bytes, a Postgres database's relations and rows."""
    if not is_postgres(url):
        folder = path_of(url).parent
        return {found.name: found.read_bytes() for found in folder.iterdir()}
    with raw(url) as connection:
        relations = connection.execute(
            "SELECT c.oid, n.nspname, c.relname, c.relkind, c.relnatts FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname NOT LIKE 'pg_%' AND n.nspname <> 'information_schema' ORDER BY 1"
        ).fetchall()
        schemas = connection.execute("SELECT oid, nspname FROM pg_namespace").fetchall()
        return relations, schemas, connection.execute("SELECT * FROM theirs").fetchall()


async def test_a_schema_newer_than_the_library(durable: Any, call: Any) -> None:
    """SchemaTooNew where the newer schema says so; where it does not, old processes go on."""
    with durable.open() as saver:
        append(saver, "t", "a")
    insert = (
        "INSERT INTO wyrd_migrations (version, name, min_reader, applied_at)"
        " VALUES ({}, 'from the future', {}, '2030-01-01T00:00:00+00:00')"
    )
    with raw(durable.url) as connection:
        connection.execute(insert.format(900, 1))
    with durable.open() as saver:  # a rolling deploy: the newer schema is readable
        append(saver, "t", "b")
        assert head_tokens(saver, "t") == ["a", "b"]
    with raw(durable.url) as connection:
        connection.execute(insert.format(901, 901))
    for setup in ("auto", "never"):
        saver = durable.open(setup=setup)
        with pytest.raises(errors.SchemaTooNew, match="upgrade"):
            await call(saver, "get_tuple", config("t"))
        with pytest.raises(errors.SchemaTooNew):
            await call(saver, "put", *next_step(saver, None, "t", "c"))
        await refused_at_entry(partial(durable.open, setup=setup), errors.SchemaTooNew)
    at_rest(durable.url)


@pytest.mark.empty
async def test_setup_never_on_an_empty_database(durable: Any, call: Any) -> None:
    """SchemaMissing, and no table is made; set up by somebody else, the same saver works."""
    with outsider(durable.url) as connection:
        connection.execute("CREATE TABLE theirs (a integer)")
    before = snapshot(durable.url)
    saver = durable.open(setup="never")
    for _ in range(2):
        with pytest.raises(errors.SchemaMissing):
            await call(saver, "get_tuple", config("t"))
        with pytest.raises(errors.SchemaMissing):
            await call(saver, "put", *next_step(saver, None, "t", "a"))
    assert snapshot(durable.url) == before
    durable.open().setup()
    await call(saver, "put", *next_step(saver, None, "t", "a"))
    assert head_tokens(saver, "t") == ["a"]


def test_setup_never_makes_no_file(sqlite: Any) -> None:
    """`setup="never"` on a path where nothing is does not leave an empty file behind."""
    with pytest.raises(errors.StoreError):
        sqlite.open(setup="never").get_tuple(config("t"))
    assert not path_of(sqlite.url).exists()


# ---- addresses and extras


@pytest.mark.parametrize(
    "url",
    [
        "",
        "   ",
        "mysql://somewhere/db",
        "http://somewhere/",
        "mongodb+srv://somewhere/db",
        "sqlite://relative.db",
        "sqlite:///x.db?mode=never",
        "sqlite:///x.db?colour=blue",
    ],
)
def test_a_bad_url(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BadUrl at once, also a ValueError; it says which forms there are, and makes no file."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.BadUrl) as caught:
        WyrdSaver.from_conn_string(url)
    assert isinstance(caught.value, ValueError)
    assert "sqlite" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


WRONG: dict[str, list[Any]] = {
    "setup": ["maybe", None], "on_damage": ["shrug"], "timeout": [-1, "5", True, float("nan")],
    "readers": [0, "2"], "max_size": [0], "connect": ["me"], "serde": [3, "json", {"dumps": 1}],
    "extractors": [3, "todos", [3], str], "hooks": [3, "save", [print]], "redact": [3, "token"],
    "migrations": [3, "a:B", [3]], "aliases": [3], "retention": [3], "labels": [True],
    "channels": [["city"], Channels(context="city")], "synchronus": ["FULL"],
}  # fmt: skip


@pytest.mark.parametrize("url", ["sqlite:///x.db", "postgresql://localhost/db"])
def test_options_that_can_t_be_used(url: str, tmp_path: Path, monkeypatch: Any) -> None:
    """They are refused by name where the saver is made: a typing error weakens nothing silently."""
    monkeypatch.chdir(tmp_path)
    others = {"synchronous": ["FUL"], "schema": ["agents"]} if url.startswith("sqlite") else {}
    for name, values in {**WRONG, **others}.items():
        for value in values:
            says = rf"(?i){name}|extractor|Migration\(|one string"
            with pytest.raises(errors.InvalidInput, match=says):
                WyrdSaver.from_conn_string(url, **{name: value})
    assert list(tmp_path.iterdir()) == []


def test_every_error_is_public() -> None:
    """`from langgraph_wyrd.errors import *` brings all of them."""
    every = {name for name, each in vars(errors).items() if isinstance(each, type)}
    assert {name for name in every if issubclass(getattr(errors, name), Exception)} == {
        *errors.__all__
    }


@pytest.mark.parametrize("url", ["postgresql://host/db?nonsense=1", "host=somewhere nonsense=1"])
def test_a_bad_conninfo(url: str) -> None:
    """What libpq itself can't read is a BadUrl too, at the latest on first use."""
    with contextlib.ExitStack() as stack, pytest.raises(errors.BadUrl):
        stack.enter_context(WyrdSaver.from_conn_string(url)).get_tuple(config("t"))


def test_nobody_at_the_address(tmp_path: Path) -> None:
    """A server that is not there is ConnectionLost, not an endless wait; no password is shown."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for url in (
        f"postgresql://someone:hunter2@127.0.0.1:{port}/db",
        f"host={tmp_path} user=someone dbname=db password=hunter2",
    ):
        saver = WyrdSaver.from_conn_string(url, timeout=3)
        for _ in range(2):
            with pytest.raises(errors.ConnectionLost) as caught:
                saver.get_tuple(config("t"))
            assert "hunter2" not in str(caught.value)
        saver.close()


async def test_a_closed_saver(durable: Any, call: Any) -> None:
    """Every call after `close` raises SaverClosed; entered again, it works again."""
    saver = durable.open()
    append(saver, "t", "a")
    saver.close()
    saver.close()
    for name, *arguments in (
        ("get_tuple", config("t")),
        ("list", config("t")),
        ("put", *next_step(saver, None, "t", "b")),
        ("put_writes", config("t", "x"), [("log", 1)], "task"),
        ("delete_thread", "t"),
    ):
        with pytest.raises(errors.SaverClosed):
            await call(saver, name, *arguments)
    async with saver:
        assert head_tokens(saver, "t") == ["a"]
