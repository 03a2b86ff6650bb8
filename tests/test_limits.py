"""A server's limits and a process's: errors that say so, nothing lost, and it goes on."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import resource
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from psycopg.conninfo import make_conninfo

from langgraph_wyrd import WyrdSaver, errors
from langgraph_wyrd.storage import postgres_watch
from langgraph_wyrd.storage.postgres_pipeline import Pipeline
from tests.damage import Agent, at
from tests.handmade import aappend, append, config, head_tokens, next_step, tokens, tree
from tests.outside import Peer, at_rest, raw, tables
from tests.pooler import pooled
from tests.relay import Relay, relayed

pytestmark = pytest.mark.timeout(300, method="thread")


async def test_a_statement_timeout(postgres: Any, call: Any) -> None:
    """What takes longer than the role may: StatementTimeout, which is no DatabaseBusy. Nothing is
    half done, and it passes."""
    with postgres.open() as saver:
        append(saver, "t", "a")
    saver = postgres.open(options="-c statement_timeout=300", min_size=1)
    head = saver.get_tuple(config("t"))
    with raw(postgres.url) as blocker:
        blocker.execute("BEGIN")
        for table in tables(blocker):
            blocker.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(errors.StatementTimeout, match="statement_timeout"):
            await call(saver, "put", *next_step(saver, head, "t", "lost"))
        with pytest.raises(errors.StatementTimeout):
            await call(saver, "put_writes", head.config, [("log", 1)], "task")
        with pytest.raises(errors.StatementTimeout):
            await call(saver, "get_tuple", config("t"))
        blocker.execute("ROLLBACK")
    assert head_tokens(saver, "t") == ["a"]
    await call(saver, "put", *next_step(saver, head, "t", "b"))
    assert head_tokens(saver, "t") == ["a", "b"]
    tree(saver, "t")
    at_rest(postgres.url)


def fill(path: Path) -> list[str]:
    """In a process that may make no file larger than a megabyte."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
    good: list[str] = []
    with WyrdSaver.from_conn_string(f"sqlite:///{path}") as saver:
        with pytest.raises(errors.DatabaseFull, match=r"wyrd\.db.*Make room"):  # noqa: PT012 - any of them
            for number in range(100):
                bulk = {"bulk": {"bytes": os.urandom(60_000), "number": number}}
                step = next_step(saver, saver.get_tuple(config("t")), "t", f"{number}", extra=bulk)
                saver.put(*step)
                good.append(f"{number}")
        assert good
        assert head_tokens(saver, "t") == good
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        append(saver, "t", "more")
        assert head_tokens(saver, "t") == [*good, "more"]
        assert saver.verify().ok
    return good


def test_a_file_as_large_as_it_may_be(tmp_path: Path) -> None:
    """DatabaseFull, the last good state is intact; with the limit raised, it goes on."""
    path = tmp_path / "wyrd.db"
    peer = Peer()
    try:
        good = peer(fill, path)
    finally:
        peer.stop()
    with WyrdSaver.from_conn_string(f"sqlite:///{path}") as saver:
        assert head_tokens(saver, "t") == [*good, "more"]


async def test_what_is_remembered_of_threads_is_bounded(sqlite: Any) -> None:
    """Threads that are active, deleted or gone take no more memory than the cache may have."""
    saver = sqlite.open()
    cache = saver._cache
    cache._most_bytes = 100_000
    for number in range(300):
        append(saver, f"t{number}", "a")
        if number % 2:
            saver.delete_thread(f"t{number}")
    await asyncio.gather(*(aappend(saver, f"t{number}", "b") for number in range(0, 300, 2)))
    assert len(cache._slots) <= 250
    assert cache._bytes == sum(each.weight for each in cache._slots.values()) <= 100_000


def test_what_threads_take_is_estimated_well(sqlite: Any) -> None:
    """After a turn of an agent the estimate of what is remembered is what Python says, about."""
    saver = sqlite.open()
    graph = Agent().build(saver)
    graph.invoke({"messages": [HumanMessage("go")]}, at("first"))  # and all that it imports
    tracemalloc.start()
    try:
        for number in range(100):
            graph.invoke({"messages": [HumanMessage("go")]}, at(f"t{number}"))
        estimate = saver._cache._bytes
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        saver._cache.clear()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.7 < estimate / (before - after) < 1.4


class Sessions:
    """A saver's connections, so that what a pooler does may be done to them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[Pipeline] = []
        begun = Pipeline.__init__

        def noted(pipeline: Pipeline, raw: psycopg.Connection[Any]) -> None:
            begun(pipeline, raw)
            self.made.append(pipeline)

        monkeypatch.setattr(Pipeline, "__init__", noted)

    def query(self, sql: str) -> list[bytes]:
        """Say it to the server behind psycopg's back; the first column of what it answers."""
        found = []
        for each in self.made:
            if not each._raw.closed:
                each.settle()
                result = each._conn.exec_(sql.encode())
                found += [result.get_value(row, 0) or b"" for row in range(result.ntuples)]
        return found


@pytest.mark.parametrize("sql", ["DEALLOCATE ALL", "DISCARD ALL"])
async def test_what_was_prepared_is_gone(
    postgres: Any,
    sql: str,
    call: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each call works at once, done once; it is said once, with what would spare it."""
    sessions = Sessions(monkeypatch)
    saver = postgres.open(min_size=1, max_size=2, timeout=1)
    for token in "abcd":
        append(saver, "t", token)
    caplog.set_level(logging.WARNING, "langgraph_wyrd")
    for token in "efg":
        head = saver.get_tuple(config("t"))
        sessions.query(sql)
        await call(saver, "put", *next_step(saver, head, "t", token))
        sessions.query(sql)
        assert tokens(await call(saver, "get_tuple", config("t")))[-1] == token
    assert head_tokens(saver, "t") == [*"abcdefg"]
    tree(saver, "t")
    assert [each.message.count("prepare=False") for each in caplog.records] == [1]
    with raw(postgres.url) as blocker:  # the limit of waiting is not forgotten with the rest
        blocker.execute("BEGIN; LOCK TABLE wyrd_threads IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(errors.DatabaseBusy):
            await call(saver, "get_tuple", config("t"))
    at_rest(postgres.url)


async def test_an_agent_whose_sessions_are_others_each_time(
    postgres: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step runs once, and all is stored."""
    opened = Pipeline.open

    def forgetful(self: Pipeline, *, prepares: bool) -> None:
        self.settle()
        self._conn.exec_(b"DISCARD ALL")
        opened(self, prepares=prepares)

    monkeypatch.setattr(Pipeline, "open", forgetful)
    saver = postgres.open()
    agent = Agent()
    graph = agent.build(saver)
    for turn in range(2):
        await graph.ainvoke({"messages": [HumanMessage("go", id=f"h{turn}")]}, at("t"))
    assert agent.ran == ["model", "tools", "ask", "answer"] * 2
    assert len(graph.get_state(at("t")).values["messages"]) == 8
    assert saver.verify().ok


def test_no_name_is_prepared_twice(postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one connection prepared can't pass for another's, wherever a pooler sends it."""
    names = []
    for _ in range(2):
        sessions = Sessions(monkeypatch)
        saver = postgres.open(min_size=1, max_size=1)
        for token in "abcd":
            append(saver, "t" + token, token)
        names += sessions.query("SELECT name FROM pg_prepared_statements")
    assert len(names) > 4
    assert len(set(names)) == len(names)


def test_a_lock_behind_a_pooler(postgres: Any) -> None:
    """Where no session is ours, `timeout` still ends the waiting for a lock."""
    saver = postgres.open(prepare=False, timeout=0.3)
    head = saver.get_tuple(append(saver, "t", "a"))
    with raw(postgres.url) as blocker:
        blocker.execute("BEGIN; LOCK TABLE wyrd_threads IN ACCESS EXCLUSIVE MODE")
        for name, *arguments in (
            ("put", *next_step(saver, head, "t", "lost")),
            ("get_tuple", config("t")),
            ("delete_thread", "t"),
        ):
            with pytest.raises(errors.DatabaseBusy, match=r"lock.*0\.3 s"):
                getattr(saver, name)(*arguments)
    assert head_tokens(saver, "t") == ["a"]
    at_rest(postgres.url)


@pytest.mark.parametrize("prepare", [True, False])
def test_two_savers_behind_a_pooler(postgres: Any, prepare: bool) -> None:
    """In transaction mode, two sessions for all: every call works, and no statement is another's;
    whether or not `prepare=False` was said."""
    with pooled(postgres.url) as (pooler, url):
        savers = [WyrdSaver.from_conn_string(url, prepare=prepare) for _ in range(2)]

        async def work(number: int) -> None:
            for token in "abcdef":
                await aappend(savers[number % 2], f"t{number}", token)

        async def all_work() -> None:
            await asyncio.gather(*map(work, range(8)))

        asyncio.run(all_work())
        for number in range(8):
            assert head_tokens(savers[(number + 1) % 2], f"t{number}") == [*"abcdef"]
        assert savers[0].verify().ok
        for saver in savers:
            saver.close()
        assert pooler.lent > 40


@pytest.mark.parametrize("prepare", [True, False])
def test_opening_while_the_tables_are_locked(postgres: Any, prepare: bool) -> None:
    """DatabaseBusy in time, and the same saver opens once they are free."""
    saver = postgres.open(timeout=0.5, prepare=prepare)
    with raw(postgres.url) as blocker:
        blocker.execute("BEGIN")
        for name in tables(blocker):
            blocker.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        with pytest.raises(errors.DatabaseBusy, match=r"lock.*0\.5 s"):
            saver.get_tuple(config("t"))
        assert time.monotonic() - began < 10
    append(saver, "t", "a")
    at_rest(postgres.url)


def test_a_server_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the connection and says nothing: ConnectionLost after `timeout`."""
    monkeypatch.setattr(postgres_watch, "PATIENCE", 0.2)
    monkeypatch.setattr(postgres_watch, "SECOND", 0.2)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"postgresql://u@127.0.0.1:{deaf.getsockname()[1]}/d?sslmode=disable"
        began = time.monotonic()
        with (
            contextlib.closing(WyrdSaver.from_conn_string(url, timeout=0.3)) as saver,
            pytest.raises(errors.ConnectionLost, match=r"no answer for 0\.3 s"),
        ):
            saver.get_tuple(config("t"))
        assert time.monotonic() - began < 10


def test_a_transaction_may_not_wait_at_all(postgres: Any) -> None:
    """`idle_in_transaction_session_timeout` of a millisecond: an error, and nothing half done."""
    with postgres.open() as saver:
        head = saver.get_tuple(append(saver, "t", "a"))
    strict = postgres.open(options="-c idle_in_transaction_session_timeout=1ms")
    stored = ["a"]
    for token in "bcdef":
        try:
            strict.put(*next_step(strict, head, "t", token))
            stored = ["a", token]
        except errors.ConnectionLost:
            pass
    free = postgres.open()
    assert {*tree(free, "t").popitem()[1]} <= {*"abcdef"}
    assert head_tokens(free, "t") == stored
    assert free.verify().ok
    at_rest(postgres.url)


def connected(url: str) -> Any:
    """A connection; one that was closed needs a moment to be gone."""
    for _ in range(100):
        with contextlib.suppress(psycopg.OperationalError):
            return psycopg.connect(url)
        time.sleep(0.1)
    return psycopg.connect(url)


async def test_a_role_with_few_connections(postgres: Any) -> None:
    """Many calls share what there is; where there is none, the error says so, and it passes."""
    with postgres.open() as saver:
        saver.setup()
    with raw(postgres.url) as admin:
        admin.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 2")
        admin.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO few")
        admin.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO few")
    url = make_conninfo(postgres.url, user="few")

    async def left(most: int) -> None:
        """A closed connection's backend needs a moment to go."""
        query = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'few'"
        with raw(postgres.url) as admin:
            while admin.execute(query).fetchone()[0] > most:
                await asyncio.sleep(0.02)

    try:
        with WyrdSaver.from_conn_string(url, timeout=5) as saver:
            await asyncio.gather(*(aappend(saver, f"t{n}", "a") for n in range(30)))
        await left(0)
        given = WyrdSaver.from_conn_string(url, timeout=5)
        with connected(url), contextlib.closing(given) as saver:  # nothing is opened yet
            with connected(url), pytest.raises(errors.ConnectionLost, match="too many"):
                head_tokens(saver, "t1")
            await left(1)
            assert head_tokens(saver, "t1") == ["a"]
            append(saver, "t1", "b")
    finally:
        with raw(postgres.url) as admin:
            admin.execute("DROP OWNED BY few")
            admin.execute("DROP ROLE few")
    assert head_tokens(postgres.open(), "t1") == ["a", "b"]


def test_tables_that_were_dropped(postgres: Any) -> None:
    """SchemaMissing, without a statement of ours in it."""
    saver = postgres.open()
    head = saver.get_tuple(append(saver, "t", "a"))
    with raw(postgres.url) as admin:
        for name in tables(admin):
            admin.execute(f"DROP TABLE {name} CASCADE")
    with pytest.raises(errors.SchemaMissing) as caught:
        saver.put(*next_step(saver, head, "t", "b"))
    assert "LINE 1" not in str(caught.value)
    with pytest.raises(errors.SchemaMissing):
        saver.get_tuple(config("t"))


CALLS: dict[str, Callable[[WyrdSaver], Any]] = {
    "put": lambda saver: append(saver, "t", "b"),
    "get_tuple": lambda saver: saver.get_tuple(config("t")),
}


@pytest.fixture
def way(postgres: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Relay, WyrdSaver]]:
    """A saver with little patience, and its way to the server."""
    monkeypatch.setattr(postgres_watch, "PATIENCE", 0.2)
    monkeypatch.setattr(postgres_watch, "SECOND", 0.2)
    with relayed(postgres.url) as (relay, url):
        saver = WyrdSaver.from_conn_string(url, timeout=0.3, max_size=2)
        append(saver, "t", "a")
        yield relay, saver
        relay.silence(False)
        saver.close()
    at_rest(postgres.url)


@pytest.mark.parametrize("name", CALLS)  # a writer's connection, and a reader's
def test_a_server_that_falls_silent(way: tuple[Relay, WyrdSaver], name: str) -> None:
    """ConnectionLost after the limit, then on each call; it speaks again, and the saver goes on."""
    relay, saver = way
    relay.silence()
    for says in ("answers no new connection either", "no answer for 0.3 s"):
        began = time.monotonic()
        with pytest.raises(errors.ConnectionLost, match=says):
            CALLS[name](saver)
        assert time.monotonic() - began < 5
    relay.silence(False)
    append(saver, "t", "c")
    assert head_tokens(saver, "t")[0] == "a"
    tree(saver, "t")


def test_many_that_wait_wait_no_longer(way: tuple[Relay, WyrdSaver]) -> None:
    """More calls than there are connections: none waits for the others' limits."""
    relay, saver = way

    async def all_of_them() -> list[Any]:
        calls = [aappend(saver, f"t{n}", "a") for n in range(12)]
        calls += [saver.aget_tuple(config("t")) for _ in range(12)]
        return await asyncio.gather(*calls, return_exceptions=True)

    relay.silence()
    began = time.monotonic()
    found = asyncio.run(all_of_them())
    assert {type(each) for each in found} <= {errors.NoAnswer, errors.DatabaseBusy}
    assert time.monotonic() - began < 10
    relay.silence(False)
    assert head_tokens(saver, "t") == ["a"]


def test_a_session_that_is_not_heard(way: tuple[Relay, WyrdSaver]) -> None:
    """The server is well, and waits for us: that tells."""
    relay, saver = way
    relay.deafen()
    with pytest.raises(errors.ConnectionLost, match="waits for us"):
        append(saver, "t", "b")
    append(saver, "t", "c")
    assert head_tokens(saver, "t")[-1] == "c"


def test_a_server_at_work_is_waited_for(postgres: Any, way: tuple[Relay, WyrdSaver]) -> None:
    """However long it takes."""
    _, saver = way
    with raw(postgres.url) as admin:
        admin.execute(
            "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(1); RETURN NEW; END $$"
        )
        admin.execute(
            "CREATE TRIGGER slowly BEFORE INSERT ON wyrd_checkpoints "
            "FOR EACH ROW EXECUTE FUNCTION slowly()"
        )
        began = time.monotonic()
        append(saver, "t", "b")
        assert time.monotonic() - began > 1
        admin.execute("DROP FUNCTION slowly CASCADE")
    assert head_tokens(saver, "t") == [*"ab"]


def test_closing_in_silence(way: tuple[Relay, WyrdSaver]) -> None:
    """It ends, whoever is under way."""
    relay, saver = way
    relay.silence()
    failed: list[BaseException] = []

    def read() -> None:
        try:
            saver.get_tuple(config("t"))
        except BaseException as error:
            failed.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    began = time.monotonic()
    saver.close()
    reader.join()
    assert time.monotonic() - began < 10
    assert [type(each) for each in failed] in ([errors.NoAnswer], [errors.SaverClosed])
