"""A Postgres server, or a way to it, that falls silent: noticed in time, and never mistaken for one
that is at work."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from langgraph_wyrd import WyrdSaver, errors
from tests import edition
from tests.outside import at_rest, raw
from tests.relay import Relay, relayed
from tests.steps import aappend, append, config, head_tokens, tree

pytestmark = pytest.mark.timeout(60, method="thread")

CALLS: dict[str, Callable[[WyrdSaver], Any]] = {
    "put": lambda saver: append(saver, "t", "b"),
    "get_tuple": lambda saver: saver.get_tuple(config("t")),
    "delete_thread": lambda saver: saver.delete_thread("t"),
    "verify": lambda saver: saver.verify(),
}


@pytest.fixture
def way(postgres: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Relay, WyrdSaver]]:
    """A saver with little patience, and its way to the server."""
    edition.patience(monkeypatch, 0.2)
    with relayed(postgres.url) as (relay, url):
        saver = WyrdSaver.from_conn_string(url, timeout=0.3, max_size=2)
        append(saver, "t", "a")
        yield relay, saver
        relay.silence(False)
        saver.close()
    at_rest(postgres.url)


@pytest.mark.parametrize("name", CALLS)
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
            "$$ BEGIN PERFORM pg_sleep(2); RETURN NEW; END $$"
        )
        admin.execute(
            "CREATE TRIGGER slowly BEFORE INSERT ON wyrd_checkpoints "
            "FOR EACH ROW EXECUTE FUNCTION slowly()"
        )
        began = time.monotonic()
        append(saver, "t", "b")
        assert time.monotonic() - began > 2
        admin.execute("DROP FUNCTION slowly CASCADE")
    assert head_tokens(saver, "t") == [*"ab"]


@pytest.mark.inside
async def test_a_server_that_says_no(postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no connection left for a second call: so it is there."""
    from langgraph_wyrd.store import postgres_line as lines

    edition.patience(monkeypatch, 0.2)
    with raw(postgres.url) as admin:
        admin.execute("CREATE ROLE one LOGIN CONNECTION LIMIT 1")
        try:
            line = lines.Line(make_conninfo(postgres.url, user="one"), {}, None, 0.2)
            connection = await line.reached()
            with line.watch(connection):
                await connection.execute("SELECT pg_sleep(1.5)")
            await connection.close()
        finally:
            admin.execute("DROP ROLE one")


@pytest.mark.inside
async def test_a_process_that_is_busy(postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its loop stands still for longer than the second call may take: that is not the server's."""
    from langgraph_wyrd.store import postgres_line as lines

    edition.patience(monkeypatch, 0.2)
    line = lines.Line(postgres.url, {}, None, 0.2)
    connection = await line.reached()
    stop = False

    async def hog() -> None:
        while not stop:
            time.sleep(0.4)  # noqa: ASYNC251 - which is the point
            await asyncio.sleep(0)

    with line.watch(connection):
        hogging = asyncio.ensure_future(hog())
        await connection.execute("SELECT pg_sleep(3)")
        stop = True
    await hogging
    await connection.close()


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


@pytest.mark.inside
async def test_what_the_system_is_told(postgres: Any) -> None:
    """Dead peers are looked for in time; what a user says of that holds, wherever it stands."""
    from langgraph_wyrd.store import postgres_line as lines

    with relayed(postgres.url) as (_, url):

        async def told(conninfo: str, **options: Any) -> dict[str, str]:
            connect = options.pop("connect", None)
            line = lines.Line(conninfo, {"prepare_threshold": 2, **options}, connect, 12)
            connection = await line.reached()
            found = connection.info.get_parameters()
            await connection.close()
            return {name: found[name] for name in found if "keepalives" in name or "time" in name}

        ours = {
            "keepalives_idle": "6", "keepalives_interval": "2", "keepalives_count": "3",
            "tcp_user_timeout": "24000", "connect_timeout": "12",
        }  # fmt: skip
        assert await told(url) == ours
        assert await told(f"{url}&keepalives_idle=99") == {**ours, "keepalives_idle": "99"}
        assert await told(url, tcp_user_timeout=7) == {**ours, "tcp_user_timeout": "7"}
        changed = f"{url}&keepalives_count=9"
        assert await told(url, connect=lambda: changed) == {**ours, "keepalives_count": "9"}


@pytest.mark.inside
async def test_who_says_nothing_at_all(postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody at the address any more is silence as well."""
    from langgraph_wyrd.store import postgres_line as lines

    edition.patience(monkeypatch, 0.2)
    with relayed(postgres.url) as (relay, url):
        line = lines.Line(url, {"autocommit": True}, None, 0.2)
        connection = await line.reached()
        relay.deafen(away=True)
        with pytest.raises(errors.NoAnswer, match="no new connection"), line.watch(connection):
            await connection.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError):
            await connection.execute("SELECT 1")
        await connection.close()
