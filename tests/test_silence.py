"""A Postgres server, or a way to it, that falls silent: noticed in time, and never mistaken for one
that is at work."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver, errors
from langgraph_wyrd.storage import postgres_watch
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
    monkeypatch.setattr(postgres_watch, "PATIENCE", 0.2)
    monkeypatch.setattr(postgres_watch, "SECOND", 0.2)
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
