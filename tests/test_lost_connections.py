"""Connections and servers that go away: each call has an answer, and the saver goes on."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver, errors
from tests.handmade import (
    aappend,
    append,
    config,
    head_tokens,
    next_step,
    same,
    tokens,
    tree,
)
from tests.outside import (
    at_rest,
    backend_pids,
    own_server,
    raw,
    tables,
    terminate_backends,
)
from tests.wire import Wire

pytestmark = pytest.mark.timeout(300, method="thread")


# ---- connections that go away


async def test_a_backend_terminated_between_calls(postgres: Any, call: Any) -> None:
    """Each call after its connection was cut works at once, whatever it does."""
    saver = postgres.open(min_size=1, max_size=2)
    append(saver, "t", "a")
    for number in range(2):
        assert terminate_backends(postgres.url)
        await call(saver, "put", *next_step(saver, None, f"t{number}", "a"))
        assert terminate_backends(postgres.url)
        found = await call(saver, "get_tuple", config(f"t{number}"))
        assert tokens(found) == ["a"]
        assert terminate_backends(postgres.url)
        assert len(await call(saver, "list", config(f"t{number}"))) == 1
        assert terminate_backends(postgres.url)
        await call(saver, "put_writes", found.config, [("log", number)], "task")
        assert terminate_backends(postgres.url)
        await call(saver, "copy_thread", f"t{number}", f"copy-{number}")
        assert terminate_backends(postgres.url)
        await call(saver, "delete_thread", f"t{number}")
    assert all(saver.get_tuple(config(f"t{number}")) is None for number in range(2))
    assert all(head_tokens(saver, f"copy-{number}") == ["a"] for number in range(2))
    at_rest(postgres.url)


async def test_a_stale_pool(postgres: Any) -> None:
    """Every idle connection killed: as many calls at once all work."""
    saver = postgres.open(max_size=4)
    await asyncio.gather(*(aappend(saver, f"t{n}", "a") for n in range(12)))
    for round_ in range(3):
        assert terminate_backends(postgres.url) >= 2  # one that writes, and those that read
        await asyncio.gather(*(aappend(saver, f"t{n}", f"b{round_}") for n in range(12)))
    expected = ["a", "b0", "b1", "b2"]
    assert [head_tokens(saver, f"t{n}") for n in range(12)] == [expected] * 12
    at_rest(postgres.url)


@pytest.mark.parametrize("name", ["put", "put_writes", "get_tuple", "delete_thread"])
async def test_a_backend_terminated_during_a_call(postgres: Any, name: str) -> None:
    """Cut while it waits inside the server, a call is made once more and succeeds, done once."""
    saver = postgres.open(min_size=1, max_size=2)
    append(saver, "t", "a")
    head = saver.get_tuple(config("t"))
    arguments: dict[str, tuple[Any, ...]] = {
        "put": next_step(saver, head, "t", "b"),
        "put_writes": (head.config, [("log", 1), ("log", 2)], "task"),
        "get_tuple": (config("t"),),
        "delete_thread": ("t",),
    }
    with raw(postgres.url) as blocker:
        blocker.execute("BEGIN")
        for table in tables(blocker):
            blocker.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        under_way = asyncio.ensure_future(getattr(saver, "a" + name)(*arguments[name]))
        waiting = await someone_waits(postgres.url)
        with raw(postgres.url) as killer:
            killer.execute("SELECT pg_terminate_backend(%s, 5000)", (waiting,))
        assert await someone_waits(postgres.url) != waiting
        assert not under_way.done()
        blocker.execute("ROLLBACK")
    await under_way
    found = saver.get_tuple(config("t"))
    assert tokens(found) == {"put": ["a", "b"], "delete_thread": []}.get(name, ["a"])
    if name == "put_writes":
        assert found.pending_writes == [("task", "log", 1), ("task", "log", 2)]
    await aappend(saver, "t", "z")
    tree(saver, "t")
    at_rest(postgres.url)


async def someone_waits(url: str) -> int:
    """The pid of a backend that waits for a lock."""
    query = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()"
    )
    with raw(url) as connection:
        deadline = time.monotonic() + 120
        while not (found := connection.execute(query).fetchone()):
            assert time.monotonic() < deadline, "nobody waits"
            await asyncio.sleep(0.01)
    return int(found[0])


async def test_backends_terminated_at_random(postgres: Any) -> None:
    """Under steady cutting a call works or raises ConnectionLost; whole or nothing, and no twin."""
    saver = postgres.open(min_size=2, max_size=4)
    append(saver, "warm", "a")
    stop = asyncio.Event()

    async def cut() -> None:
        for _ in range(15):
            await asyncio.to_thread(terminate_backends, postgres.url)
            await asyncio.sleep(0.02)
        stop.set()

    async def one(name: str) -> list[str]:
        kept: list[str] = []
        head = None
        while not kept or (not stop.is_set() and len(kept) < 25):
            token = f"{len(kept)}"
            step = next_step(saver, head, name, token)
            try:
                await saver.aput(*step)
                found = await saver.aget_tuple(config(name, step[1]["id"]))
                assert tokens(found) == [*kept, token]
            except errors.ConnectionLost:
                continue
            head, kept = found, [*kept, token]
        return kept

    _, *all_kept = await asyncio.gather(cut(), *(one(f"t{n}") for n in range(6)))
    for number, kept in enumerate(all_kept):
        assert kept
        logs = tree(saver, f"t{number}")
        assert kept in logs.values()
        await aappend(saver, f"t{number}", "end")
        tree(saver, f"t{number}")
    at_rest(postgres.url)


# ---- a commit whose answer is lost


async def test_a_put_whose_answer_was_lost(wire: Wire, postgres: Any, call: Any) -> None:
    """Committed but not confirmed, a put succeeds, is there once, and the next goes on from it."""
    with WyrdSaver.from_conn_string(wire.url, min_size=1, max_size=2) as saver:
        append(saver, "t", "a")
        for number in range(6):
            head = saver.get_tuple(config("t"))
            wire.armed = True
            await call(saver, "put", *next_step(saver, head, "t", f"lost-{number}"))
            assert wire.cuts == number + 1
            await call(
                saver, "put", *next_step(saver, saver.get_tuple(config("t")), "t", f"{number}")
            )
        wire.armed = True
        await call(
            saver, "put", *next_step(saver, None, "new", "first")
        )  # the thread's own row too
        assert wire.cuts == 7
        expected = [part for n in range(6) for part in (f"lost-{n}", f"{n}")]
        assert head_tokens(saver, "t") == ["a", *expected]
        assert len(tree(saver, "t")) == 13
        assert len(tree(saver, "new")) == 1
    assert head_tokens(postgres.open(), "t") == ["a", *expected]
    at_rest(postgres.url)


async def test_other_calls_whose_answer_was_lost(wire: Wire, postgres: Any, call: Any) -> None:
    """The same for writes, copies, prunes and deletions: done once, reported as done."""
    with WyrdSaver.from_conn_string(wire.url, min_size=1, max_size=2) as saver:
        for token in "abc":
            append(saver, "t", token)
        head = saver.get_tuple(config("t"))
        whole = tree(saver, "t")
        calls: list[tuple[str, tuple[Any, ...], Callable[[], Any], Any]] = [
            (
                "put_writes",
                (head.config, [("log", 1), ("log", 2)], "task"),
                lambda: saver.get_tuple(config("t")).pending_writes,
                [("task", "log", 1), ("task", "log", 2)],
            ),
            ("copy_thread", ("t", "copy"), lambda: list(tree(saver, "copy").values()),
             list(whole.values())),
            ("prune", (["t"],), lambda: len(list(saver.list(config("t")))), 1),
            ("delete_thread", ("t",), lambda: saver.get_tuple(config("t")), None),
        ]  # fmt: skip
        for number, (name, arguments, look, expected) in enumerate(calls):
            wire.armed = True
            await call(saver, name, *arguments)
            assert wire.cuts == number + 1, name
            assert look() == expected, name
    assert postgres.open().get_tuple(config("t")) is None
    at_rest(postgres.url)


async def test_many_puts_whose_answer_was_lost(wire: Wire, postgres: Any) -> None:
    """A merged commit whose answer was lost: all of its members are there once."""
    with WyrdSaver.from_conn_string(wire.url, min_size=1, max_size=4) as saver:
        await asyncio.gather(*(aappend(saver, f"t{n}", "a") for n in range(20)))
        for round_ in range(4):
            wire.armed = True
            await asyncio.gather(*(aappend(saver, f"t{n}", f"b{round_}") for n in range(20)))
        assert wire.cuts >= 2
        expected = ["a", "b0", "b1", "b2", "b3"]
        assert [head_tokens(saver, f"t{n}") for n in range(20)] == [expected] * 20
        assert all(len(tree(saver, f"t{n}")) == 5 for n in range(20))
    at_rest(postgres.url)


# ---- a server that restarts


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A server that these tests alone use, and stop."""
    with own_server() as made:
        yield made


def test_a_server_that_restarts_between_calls(server: Any) -> None:
    """After a restart the very next call of every kind works."""
    with WyrdSaver.from_conn_string(server.get_uri(), schema="between") as saver:
        append(saver, "t", "a")
        server.stop()
        server.ensure_postgres_running()
        append(saver, "t", "b")
        server.stop()
        server.ensure_postgres_running()
        assert head_tokens(saver, "t") == ["a", "b"]
    at_rest(server.get_uri())


def test_a_server_that_is_down_for_a_while(server: Any) -> None:
    """While it is down calls raise ConnectionLost; once it is back no call fails."""
    url = server.get_uri()
    with WyrdSaver.from_conn_string(url, schema="down", timeout=3) as saver:
        append(saver, "t", "a")
        server.stop()
        try:
            for _ in range(2):
                with pytest.raises(errors.ConnectionLost):
                    saver.put(*next_step(saver, None, "new", "a"))
            with pytest.raises(errors.ConnectionLost):
                saver.get_tuple(config("t"))
            # So many at once that every place in the pool waits for its next attempt.
            with ThreadPoolExecutor(16) as pool:
                reads = [pool.submit(saver.get_tuple, config("t")) for _ in range(16)]
            assert all(isinstance(read.exception(), errors.ConnectionLost) for read in reads)
            with (
                pytest.raises(errors.ConnectionLost),
                WyrdSaver.from_conn_string(url, schema="down") as newcomer,
            ):
                newcomer.get_tuple(config("t"))
        finally:
            server.ensure_postgres_running()
        for number in range(10):
            append(saver, "t", f"{number}")
        assert head_tokens(saver, "t") == ["a", *map(str, range(10))]
    at_rest(url)


async def test_a_server_that_restarts_under_load(server: Any) -> None:
    """Calls wait out a restart; what was acknowledged is there, and each chain is whole."""
    url = server.get_uri()
    with WyrdSaver.from_conn_string(url, schema="load", timeout=30) as saver:
        append(saver, "warm", "a")
        stop = asyncio.Event()

        async def one(name: str) -> list[str]:
            head, kept = None, []
            for number in range(10_000):
                step = next_step(saver, head, name, f"{number}")
                with contextlib.suppress(errors.ConnectionLost):
                    await saver.aput(*step)
                    head = await saver.aget_tuple(config(name, step[1]["id"]))
                    kept.append(step[1]["id"])
                if stop.is_set():
                    break
            return kept

        writers = [asyncio.ensure_future(one(f"t{n}")) for n in range(4)]
        await asyncio.sleep(0.3)
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.ensure_postgres_running)
        await aappend(saver, "after", "a")  # the server is back: this may not fail
        await asyncio.sleep(0.2)
        stop.set()
        for number, kept in enumerate(await asyncio.gather(*writers)):
            stored = {item.checkpoint["id"] for item in saver.list(config(f"t{number}"))}
            assert set(kept) <= stored
            same(kept, dict.fromkeys(kept))
            await aappend(saver, f"t{number}", "end")
    nobody_left(url)


def nobody_left(url: str) -> None:
    """Every connection is closed; a backend needs a moment to go."""
    deadline = time.monotonic() + 120
    while left := backend_pids(url):
        assert time.monotonic() < deadline, f"connections left open: {left}"
        time.sleep(0.05)
