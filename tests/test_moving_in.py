"""What programs on LangGraph's own savers do works here, or an error says how."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from psycopg import Connection
from psycopg.rows import dict_row

import langgraph_wyrd
from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.cli import main as cli
from langgraph_wyrd.errors import InvalidInput, NotADatabase
from langgraph_wyrd.port import aadopt, adopt
from tests.conftest import Backend

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def chat(saver: Any) -> list[str]:
    """One more turn of a thread; all that was said."""
    builder = StateGraph(MessagesState).add_node("say", lambda _: {"messages": [("ai", "Hello.")]})
    graph = builder.add_edge(START, "say").compile(checkpointer=saver)
    return [each.text for each in graph.invoke({"messages": [("human", "Hi")]}, CONFIG)["messages"]]


async def test_setup_may_be_awaited(backend: Backend) -> None:
    """`await saver.setup()` stands in every program on an official async saver."""
    saver = backend.open()
    await saver.setup()
    saver.setup()
    await saver.asetup()
    assert chat(saver) == ["Hi", "Hello."]


@pytest.mark.parametrize("made_of", [sqlite3, "agents.db", None])
def test_a_saver_of_a_connection_is_refused(made_of: Any) -> None:
    """`SqliteSaver(connection)` and `PostgresSaver(pool)` are how the official ones are made."""
    connection = sqlite3.connect(":memory:") if made_of is sqlite3 else made_of
    with pytest.raises(InvalidInput, match="from_conn_string"):
        WyrdSaver(connection)
    if made_of is sqlite3:
        connection.close()


def test_the_options_of_the_official_postgres_saver(postgres: Backend) -> None:
    """Its connections need `autocommit` and `row_factory=dict_row`: here rows are tuples all the
    same. What is no option of a connection is refused at once, by its name."""
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    for _ in range(2):
        with postgres.open(**options) as saver:
            said = chat(saver)
    assert said == ["Hi", "Hello."] * 2
    with pytest.raises(InvalidInput, match="unknown options for Postgres: pipeline"):
        postgres.open(pipeline=True)


def test_connections_with_rows_of_their_own(durable: Backend) -> None:
    """`connect=` may give connections whose rows are no tuples."""

    def dict_rows() -> Any:
        return Connection.connect(durable.url, row_factory=dict_row)

    def named_rows() -> Any:
        path = durable.url.removeprefix("sqlite:///")
        made = sqlite3.connect(path, check_same_thread=False)
        made.row_factory, made.text_factory = sqlite3.Row, bytes
        return made

    connect = named_rows if durable.url.startswith("sqlite") else dict_rows
    for _ in range(2):
        with durable.open(connect=connect) as saver:
            said = chat(saver)
            assert saver.verify().ok
    assert said == ["Hi", "Hello."] * 2


def official(url: str) -> Any:
    if url.startswith("sqlite"):
        return SqliteSaver.from_conn_string(url.removeprefix("sqlite:///"))
    return PostgresSaver.from_conn_string(url)


@pytest.mark.empty
async def test_threads_that_are_not_adopted_are_reported(
    durable: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    """Their threads would seem to be gone. Once, as the tables are made; not while they are taken
    over, and not of a database without threads."""
    caplog.set_level(logging.WARNING)
    with official(durable.url) as old:
        old.setup()
        chat(old)
    with durable.open() as saver:
        assert list(saver.list(CONFIG)) == []
        (warning,) = [each.getMessage() for each in caplog.records]
        assert "langgraph-wyrd adopt" in warning
    caplog.clear()
    with durable.open() as saver:
        saver.setup()
    adopt(durable.url)
    with durable.open() as saver:
        assert chat(saver) == ["Hi", "Hello."] * 2
    assert not caplog.records


@pytest.mark.empty
@pytest.mark.parametrize("how", ["sync", "async", "no threads"])
async def test_nobody_is_warned_who_adopts(
    durable: Backend, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with official(durable.url) as old:
        old.setup()
        if how != "no threads":
            chat(old)
    if how == "sync":
        await asyncio.to_thread(adopt, durable.url)
    elif how == "async":
        await aadopt(durable.url)
    with durable.open() as saver:
        saver.setup()
    assert not caplog.records


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    """It is said what is missing: the folder, or the file that is only to be read."""
    for url, what in (
        (f"sqlite:///{tmp_path}/none/agents.db", "no folder .*none"),
        (f"sqlite:///{tmp_path}/agents.db?mode=ro", "no such file"),
    ):
        with pytest.raises(NotADatabase, match=what), WyrdSaver.from_conn_string(url):
            pass


def test_names_for_annotations_and_the_version() -> None:
    """What a saver gives is of classes of the root, and nothing else is shown there."""
    with WyrdSaver.from_conn_string("sqlite://") as saver:
        chat(saver)
        thread = saver.thread("t")
        assert isinstance(thread, langgraph_wyrd.Thread)
        assert isinstance(thread.history(), langgraph_wyrd.Page)
        assert isinstance(thread.history()[0], langgraph_wyrd.HistoryEntry)
        assert isinstance(saver.threads()[0], langgraph_wyrd.ThreadInfo)
        assert isinstance(thread.add_todo("go on"), langgraph_wyrd.Todo)
    assert langgraph_wyrd.__version__[0].isdigit()
    assert set(dir(langgraph_wyrd)) == {*langgraph_wyrd.__all__, "__version__"}


def test_the_terminal_for_newcomers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command it shows which there are; of a database that is not set up it says what
    to do, and nothing of options that nobody gave."""
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 2
    assert "adopt" in capsys.readouterr().err
    assert cli.main(["--version"]) == 0
    assert langgraph_wyrd.__version__ in capsys.readouterr().out
    path = str(tmp_path / "old.db")
    with SqliteSaver.from_conn_string(path) as old:
        chat(old)
    assert cli.main(["--url", path, "threads"]) == 2
    said = capsys.readouterr().err
    assert "langgraph-wyrd adopt" in said
    assert "setup=" not in said


def test_reports_count_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One is one, what is small is not 0.0 MB, and days may be written `1d`."""
    url = f"sqlite:///{tmp_path}/agents.db"
    with WyrdSaver.from_conn_string(url) as saver:
        chat(saver)
        report = saver.sweep(langgraph_wyrd.Retention(keep_last=1))
        assert str(report).startswith("2 checkpoints (0 whole threads) would go, with ")
        assert " B or more" in str(report)
        assert "threads: 1 row, " in str(saver.size_report())
    assert cli.main(["--url", url, "sweep", "--max-age", "1d", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("0 checkpoints")


class Plain(TypedDict):
    foo: str


def test_a_thread_without_anything_to_do(backend: Backend) -> None:
    """A first graph, without messages, todos or questions, is drawn and shown like any other."""
    saver = backend.open()
    builder = StateGraph(Plain).add_node("a", lambda _: {"foo": "a"}).add_edge(START, "a")
    builder.compile(checkpointer=saver).invoke({"foo": ""}, CONFIG)
    thread = saver.thread("t")
    assert "foo" in thread._repr_html_()
