"""`read_url=`: listings across threads are read from a replica, all else from the primary."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from psycopg.conninfo import make_conninfo

from langgraph_wyrd import WyrdSaver, errors
from tests.campaigns import failover
from tests.damage import Agent, at
from tests.handmade import append, config, head_tokens, next_step
from tests.outside import at_rest, raw

HELD = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'the replica' AND datname = "


@pytest.fixture
def frozen(postgres: Any) -> Iterator[Callable[[], str]]:
    """A copy of the database as it was when a test asked for it: a replica that is behind."""
    name = "wyrd_behind"
    with raw(postgres.url) as admin:
        source = admin.info.dbname
    with raw(make_conninfo(postgres.url, dbname="postgres")) as admin:

        def copied() -> str:
            admin.execute(f'CREATE DATABASE {name} TEMPLATE "{source}"')
            return make_conninfo(postgres.url, dbname=name)

        try:
            yield copied
        finally:
            admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


async def test_who_is_asked(postgres: Any, frozen: Any, asynchronous: bool) -> None:
    """Listings and the feed tell what the replica knows; loads, states and writes go to the
    primary, so that a run always reads what it wrote."""
    with postgres.open() as before:
        graph = Agent().build(before)
        graph.invoke({"messages": [HumanMessage("go")]}, at("old"))
    saver = postgres.open(read_url=frozen())

    async def call(name: str, *args: Any, **more: Any) -> Any:
        if asynchronous:
            return await getattr(saver, "a" + name)(*args, **more)
        return getattr(saver, name)(*args, **more)

    await call("put", *next_step(saver, None, "new", "a"))
    saver.thread("new").add_todo("call back")
    saver.thread("new").add_open_loop("why?")
    assert [each.thread_id for each in await call("threads")] == ["old"]
    assert [each for each in await call("todos") if each.thread_id == "new"] == []
    assert [each for each in await call("open_loops") if each.thread_id == "new"] == []
    assert {each.thread_id for each in await call("events", limit=1000)} == {"old"}
    assert head_tokens(saver, "new") == ["a"]
    assert [todo.content for todo in saver.thread("new").working_state().todos] == ["call back"]
    assert len(list(saver.list(config("new")))) == 1
    plain = postgres.open()
    assert {each.thread_id for each in plain.threads()} == {"old", "new"}


def test_an_inbox_from_a_replica(postgres: Any, frozen: Any) -> None:
    """Questions are found on the replica and looked at on the primary: what was answered there
    since is not asked again, also where the replica still says so."""

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("send it?"))]}

    builder = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask")
    with postgres.open() as before:
        graph = builder.compile(checkpointer=before)
        for name in ("answered", "waits"):
            graph.invoke({"messages": [HumanMessage("go")]}, at(name))
    saver = postgres.open(read_url=frozen())
    assert {each.thread_id for each in saver.inbox()} == {"answered", "waits"}
    builder.compile(checkpointer=saver).invoke(Command(resume="yes"), at("answered"))
    builder.compile(checkpointer=saver).invoke({"messages": [HumanMessage("go")]}, at("new"))
    assert {each.thread_id for each in saver.open_loops()} == {"answered", "waits"}
    assert {each.thread_id for each in saver.inbox()} == {"waits"}


@pytest.mark.timeout(300, method="thread")
def test_a_streaming_standby() -> None:
    """A real standby that is behind gives listings and events as of then, skips no event when it
    has caught up, and serves them while the primary is gone."""
    with failover.pair() as (primary, standby, _):
        url = primary.url()
        with WyrdSaver.from_conn_string(url, read_url=standby.url(), timeout=5) as saver:
            saver.setup()
            append(saver, "old", "a")
            _until(lambda: [each.thread_id for each in saver.threads()] == ["old"])
            seen = saver.events(limit=1000)
            standby.execute("SELECT pg_wal_replay_pause()")
            _until(lambda: standby.execute(_PAUSED) == [("paused",)])
            append(saver, "new", "b")
            saver.thread("new").add_todo("call back")
            assert head_tokens(saver, "new") == ["b"]
            assert [each.thread_id for each in saver.threads()] == ["old"]
            assert not list(saver.events(since=seen.next, limit=1000))
            standby.execute("SELECT pg_wal_replay_resume()")
            _until(lambda: {each.thread_id for each in saver.todos()} == {"new"})
            assert {each.thread_id for each in saver.events(since=seen.next)} == {"new"}
            primary.kill()
            assert {each.thread_id for each in saver.threads()} == {"old", "new"}
            with pytest.raises(errors.ConnectionLost):
                saver.get_tuple(config("new"))


_PAUSED = "SELECT pg_get_wal_replay_pause_state()"


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_its_connections(postgres: Any) -> None:
    """The replica is asked for listings only, by transactions that only read; a closed saver has
    no connection to it, and one that is entered again opens them."""
    marked = make_conninfo(postgres.url, application_name="the replica")
    saver = postgres.open(read_url=marked)
    append(saver, "t", "a")
    saver.get_tuple(config("t"))
    with raw(postgres.url) as admin:
        held = f"{HELD}current_database()"
        assert admin.execute(held).fetchone() == (0,)
        assert len(saver.threads()) == 1
        assert admin.execute(held).fetchone() == (1,)
        said = admin.execute(
            "SELECT query FROM pg_stat_activity WHERE application_name = 'the replica'"
        ).fetchall()
        assert not [text for (text,) in said if "INSERT" in text or "UPDATE" in text]
    saver.close()
    at_rest(postgres.url)
    with saver:
        assert len(saver.threads()) == 1


def test_a_replica_that_is_not_there(postgres: Any) -> None:
    """ConnectionLost for listings: the primary is not asked in its place. Runs go on."""
    gone = make_conninfo(postgres.url, host="127.0.0.1", port="1")
    saver = postgres.open(read_url=gone, timeout=2)
    append(saver, "t", "a")
    with pytest.raises(errors.ConnectionLost):
        saver.threads()
    append(saver, "t", "b")
    assert head_tokens(saver, "t") == ["a", "b"]


def test_a_replica_without_our_tables(postgres: Any) -> None:
    """SchemaMissing, and none are made there."""
    empty = make_conninfo(postgres.url, dbname="postgres")
    saver = postgres.open(read_url=empty)
    append(saver, "t", "a")
    with pytest.raises(errors.SchemaMissing):
        saver.threads()
    with psycopg.connect(empty) as admin:
        assert admin.execute("SELECT to_regclass('wyrd_threads')").fetchone() == (None,)


@pytest.mark.parametrize(
    ("url", "read_url"), [("sqlite://", "postgresql://x/y"), ("postgresql://x/y", "sqlite://")]
)
def test_only_postgres_has_replicas(url: str, read_url: str) -> None:
    """BadUrl, before anything is opened."""
    with pytest.raises(errors.BadUrl, match="read_url"):
        WyrdSaver.from_conn_string(url, read_url=read_url)
