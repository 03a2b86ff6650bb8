"""What is to be redacted of metadata never reaches the database."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.port import copy
from tests.conftest import Backend
from tests.handmade import config, put
from tests.outside import is_postgres, path_of, raw, tables
from tests.programs import counting

MARKER = "planted-marker"


def anywhere(url: str) -> bool:
    """Whether the marker is in the files of an SQLite database, or in a table of Postgres."""
    if not is_postgres(url):
        path = path_of(url)
        held = b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))
        return MARKER.encode() in held
    with raw(url) as connection:
        return any(
            connection.execute(
                f"SELECT 1 FROM {table} AS t WHERE CAST(t AS text) LIKE '%{MARKER}%'"
                f" OR CAST(t AS text) LIKE '%{MARKER.encode().hex()}%' LIMIT 1"
            ).fetchone()
            for table in tables(connection)
        )


def with_secrets() -> Any:
    return {
        "configurable": {"thread_id": "t", "api_key": MARKER, "tenant": "acme"},
        "metadata": {"token": f"{MARKER} too", "user_id": "ann"},
    }


def test_the_search_finds_what_is_not_redacted(durable: Backend) -> None:
    """The instrument itself: without redact the marker is there."""
    saver = durable.open()
    counting(saver).invoke({"log": ["in"]}, with_secrets())
    assert anywhere(durable.url)


async def test_names_are_taken_out(durable: Backend, call: Callable[..., Any]) -> None:
    """The values under listed names are nowhere in the database, in sync and async code; the
    others are, and threads are found by them."""
    saver = durable.open(redact={"api_key", "token"})
    await call(counting(saver), "invoke", {"log": ["in"]}, with_secrets())
    assert not anywhere(durable.url)
    metadata = saver.get_tuple(config("t")).metadata
    assert (metadata["tenant"], metadata["user_id"]) == ("acme", "ann")
    assert not {"api_key", "token"} & metadata.keys()
    assert [each.user_id for each in saver.threads(user_id="ann")] == ["ann"]


def test_at_any_depth(durable: Backend) -> None:
    """A listed name is taken out of what metadata hold inside; what LangGraph needs stays."""
    saver = durable.open(redact=["api_key"])
    held = {"clients": [{"name": "a", "api_key": MARKER}], "source": "loop", "parents": {"": "p"}}
    head = put(saver, "t", {"x": 1}, metadata=held)
    found = saver.get_tuple(head).metadata
    assert found["clients"] == [{"name": "a"}]
    assert (found["source"], found["parents"]) == ("loop", {"": "p"})
    assert not anywhere(durable.url)


def test_a_callable_says_what_is_stored(durable: Backend) -> None:
    """It may mask and drop; what LangGraph needs is stored whatever it says, and its own changes
    do not reach the run."""

    def redact(metadata: dict[str, Any]) -> dict[str, Any]:
        metadata.pop("step", None)
        return {"api_key": "***", "tenant": metadata["tenant"]}

    saver = durable.open(redact=redact)
    counting(saver).invoke({"log": ["in"]}, with_secrets())
    assert not anywhere(durable.url)
    metadata = saver.get_tuple(config("t")).metadata
    assert metadata["api_key"] == "***"
    assert metadata["step"] == 1
    assert "user_id" not in metadata


def test_a_callable_that_fails(durable: Backend, caplog: pytest.LogCaptureFixture) -> None:
    """Then nothing that could be secret is stored, the run goes on, and the log says so."""

    def redact(metadata: dict[str, Any]) -> dict[str, Any]:
        raise KeyError("oops")

    saver = durable.open(redact=redact)
    with caplog.at_level(logging.ERROR):
        found = counting(saver).invoke({"log": ["in"]}, with_secrets())
    assert len(found["log"]) == 2
    assert "redact failed" in caplog.text
    assert not anywhere(durable.url)
    assert saver.get_tuple(config("t")).metadata["source"] == "loop"


@pytest.mark.parametrize("redact", ["api_key", {"step"}, ["parents", "x"]])
def test_what_can_not_be_redacted(redact: Any) -> None:
    """One string, and what LangGraph needs to go on."""
    with pytest.raises(InvalidInput, match="redact"):
        WyrdSaver.from_conn_string("sqlite://", redact=redact)


def test_copies_are_redacted_too(durable: Backend) -> None:
    """What comes from another saver is redacted as what is put; the copy counts as equal."""
    source = InMemorySaver()
    counting(source).invoke({"log": ["in"]}, with_secrets())
    saver = durable.open(redact={"api_key", "token"})
    assert copy(source, saver).checkpoints == 3
    assert not anywhere(durable.url)
    assert copy(source, saver).there == 3
