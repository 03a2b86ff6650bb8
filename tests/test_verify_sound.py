"""`verify` finds nothing in what random programs leave behind, forks and subgraphs included."""

from __future__ import annotations

import operator
import threading
import time
from typing import Annotated, Any, TypedDict

import pytest
from conftest import Backend
from langgraph.graph import START, StateGraph

from tests.damage import Rows
from tests.programs import played
from tests.story import Teller


@pytest.mark.parametrize("seed", [3004, 3005, 3019])
def test_a_sound_thread(durable: Backend, seed: int) -> None:
    """After every act; a row of the tables that was written once more is no damage."""
    saver = durable.open()

    def look(teller: Teller, turn: int) -> None:
        assert saver.verify(pages=False).ok, f"turn {turn}"

    played(seed, [saver], asynchronous=seed % 2 == 0, between=look)


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def test_a_thread_that_runs(durable: Backend) -> None:
    """One task has ended and another has not: verify finds nothing wrong."""
    saver, other = durable.open(), durable.open()
    config: Any = {"configurable": {"thread_id": "t"}}
    looked, columns, reports = threading.Event(), [], []

    def due() -> list[str]:
        return [each.node for each in other.thread("t").working_state().due]

    def quick(state: State) -> State:
        deadline = time.monotonic() + 20
        while other.get_tuple(config) is None or due() != ["quick", "slow"]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return {"log": ["quick"]}

    def slow(state: State) -> State:
        assert looked.wait(20)
        return {"log": ["slow"]}

    def write(config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        put_writes(config, writes, task_id, task_path)
        if ("log", ["quick"]) in writes:
            (row,) = Rows(durable.url, "wyrd_threads").all("WHERE thread_id = 't'")
            columns.append(str(row["due"]))
            reports.append((due(), other.verify(pages=False)))
            looked.set()

    put_writes = saver.put_writes
    saver.put_writes = write  # type: ignore[method-assign]
    builder = StateGraph(State).add_node("quick", quick).add_node("slow", slow)
    graph = builder.add_edge(START, "quick").add_edge(START, "slow").compile(checkpointer=saver)
    graph.invoke({"log": []}, config)
    ((left, report),) = reports
    assert (left, report.damages) == (["slow"], ())
    assert "quick" in columns[0], "the column is as it was: nothing was to be seen of this"
    assert other.verify(pages=False).ok
