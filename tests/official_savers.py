"""The official savers next to ours: opened on a database, with threads to copy."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from tests.conftest import fresh_postgres
from tests.handmade import config
from tests.scripted_agents import APPROVE, CONFIG, REJECT, decide, plain

OFFICIAL = ("sqlite", "postgres")


@contextlib.asynccontextmanager
async def official(url: str) -> AsyncIterator[Any]:
    """The official async saver on a database."""
    if url.startswith("sqlite"):
        async with AsyncSqliteSaver.from_conn_string(url.removeprefix("sqlite:///")) as saver:
            yield saver
        return
    async with AsyncPostgresSaver.from_conn_string(url) as saver:
        await saver.setup()
        yield saver


@contextlib.contextmanager
def official_sync(url: str) -> Iterator[Any]:
    """The official sync saver on a database."""
    if url.startswith("sqlite"):
        with SqliteSaver.from_conn_string(url.removeprefix("sqlite:///")) as saver:
            yield saver
        return
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        yield saver


@contextlib.contextmanager
def another(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of one more empty database."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'another.db'}"
        return
    with fresh_postgres(request.getfixturevalue("postgres_server")) as url:
        yield url


async def outcome(graph: Any, *turns: Any) -> Any:
    """What an agent says to the rest of a talk, and everything that it looks back on then."""
    said: list[Any] = []
    for turn in turns:
        said.append(await graph.ainvoke(turn, CONFIG))
    said.append(await graph.aget_state(CONFIG, subgraphs=True))
    said += [state async for state in graph.aget_state_history(CONFIG)]
    return plain(said)


REST = (decide(APPROVE), {"messages": [HumanMessage("and wasps?", id="h2")]}, decide(REJECT))


def asking() -> Any:
    """A graph that asks one question a run, and counts."""

    class State(TypedDict, total=False):
        total: Annotated[int, operator.add]

    def ask(state: State) -> State:
        interrupt("go on?")
        return {"total": 1}

    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder


def filled(theirs: Any, threads: int) -> None:
    """Many threads, each with a question open."""
    graph = asking().compile(checkpointer=theirs)
    for n in range(threads):
        graph.invoke({"total": n}, config(f"t{n}"))


def gone_on(saver: Any, thread: str) -> Any:
    graph = asking().compile(checkpointer=saver)
    return graph.invoke(Command(resume="yes"), config(thread))
