"""Threads with something of everything in them, and what may happen to their rows."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

from tests.outside import is_postgres, raw


def extend(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*state, *(item for write in writes for item in write)]


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    files: Annotated[dict[str, Any], operator.or_]
    log: Annotated[list[str], operator.add]
    report: str
    trace: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=3)]


class Agent:
    """A graph that calls a tool, asks a person at times, and counts what it did."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def build(self, saver: Any) -> Any:
        builder = StateGraph(State)
        for name in ("model", "tools", "ask", "answer"):
            builder.add_node(name, getattr(self, name))
        builder.add_edge(START, "model")
        builder.add_edge("model", "tools")
        builder.add_edge("tools", "ask")
        builder.add_edge("ask", "answer")
        builder.add_edge("answer", END)
        return builder.compile(checkpointer=saver)

    def model(self, state: State) -> State:
        self.ran.append("model")
        turn = len(state["messages"])
        call = {"name": "look", "args": {"at": turn}, "id": f"call-{turn}"}
        said = AIMessage(f"looking, {turn} so far", id=f"ai-{turn}", tool_calls=[call])
        return {"messages": [said], "log": [f"model {turn}"], "trace": [f"m{turn}" + "." * 60]}

    def tools(self, state: State) -> State:
        self.ran.append("tools")
        call = state["messages"][-1].tool_calls
        made = [
            ToolMessage(f"seen {each['args']}", id=f"tool-{each['id']}", tool_call_id=each["id"])
            for each in call
        ]
        name = f"/{len(state['messages'])}"
        return {
            "messages": made,
            "files": {name: {"content": "line of a file. " * 12}},
            "trace": ["t" + "." * 60],
        }

    def ask(self, state: State) -> State:
        self.ran.append("ask")
        human = [m for m in state["messages"] if isinstance(m, HumanMessage)]
        if human and "approve" in human[-1].content:
            return {"log": [f"approved: {interrupt('May I?')}"]}
        return {"log": ["nothing to ask"]}

    def answer(self, state: State) -> State:
        self.ran.append("answer")
        turn = len(state["messages"])
        return {"messages": [AIMessage(f"done at {turn}", id=f"end-{turn}")], "report": "r" * 200}


def at(thread: str, checkpoint_id: str | None = None, *, user: str | None = None) -> Any:
    found = {"thread_id": thread, "checkpoint_ns": ""}
    if user is not None:
        found["user_id"] = user
    if checkpoint_id is not None:
        found["checkpoint_id"] = checkpoint_id
    return {"configurable": found}


def talk(
    saver: Any, thread: str, turns: int = 3, *, last: str = "go on", user: str | None = None
) -> Agent:
    """A thread with some turns; the last one waits for a person if it says "approve"."""
    agent = Agent()
    graph = agent.build(saver)
    for turn in range(turns):
        text = last if turn == turns - 1 else f"turn {turn}"
        said = [HumanMessage(text, id=f"human-{turn}")]
        graph.invoke({"messages": said}, at(thread, user=user))
    return agent


class Rows:
    """The rows of one table, in raw SQL."""

    def __init__(self, url: str, table: str) -> None:
        self._url, self._table = url, table
        self._mark = "%s" if is_postgres(url) else "?"

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        with raw(self._url) as connection:
            yield connection

    def all(self, where: str = "", *params: Any) -> list[dict[str, Any]]:
        query = f"SELECT * FROM {self._table} {where}".replace("?", self._mark)
        with self._open() as connection:
            cursor = connection.execute(query, params)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def run(self, query: str, *params: Any) -> int:
        query = query.replace("{}", self._table).replace("?", self._mark)
        with self._open() as connection:
            return int(connection.execute(query, params).rowcount)


def garbled(data: bytes) -> bytes:
    """The same length, nothing left of it."""
    return bytes(0x55 ^ byte for byte in data)


def flipped(data: bytes, at: int | None = None) -> bytes:
    """One bit is another."""
    place = len(data) // 2 if at is None else at
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


# What a checkpoint is made of. The first is the table of which a load misses every row.
PIECES = ("wyrd_checkpoints", "wyrd_writes")


def age(url: str, thread_id: str, days: int) -> None:
    """As if a thread had been used last so many days ago."""
    then = (datetime.now(timezone.utc) - timedelta(days=days)).isoformat()
    with raw(url) as connection:
        for column in ("updated", "deleted_at"):
            connection.execute(
                f"UPDATE wyrd_threads SET {column} = '{then}' WHERE thread_id = '{thread_id}'"
                f" AND {column} IS NOT NULL"
            )


def spoil(url: str, thread_id: str) -> None:
    """Other bytes in every row of a thread from which a checkpoint is loaded."""
    rows, threads = Rows(url, PIECES[0]), Rows(url, "wyrd_threads")
    (thread,) = threads.all("WHERE thread_id = ?", thread_id)
    for row in rows.all("WHERE thread = ?", thread["key"]):
        for name, value in row.items():
            if isinstance(value, bytes | memoryview) and name != "thread":
                rows.run(
                    f"UPDATE {{}} SET {name} = ? WHERE thread = ? AND {name} = ?",
                    *(garbled(bytes(value)), row["thread"], bytes(value)),
                )
