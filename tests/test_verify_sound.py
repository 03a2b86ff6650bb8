"""`verify` finds nothing in what random programs leave behind, forks and subgraphs included."""

from __future__ import annotations

import operator
import threading
import time
from typing import Annotated, Any, TypedDict

import pytest
from conftest import Backend
from langgraph.graph import START, StateGraph

from tests.damage import Rows, talk
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


@pytest.mark.inside
@pytest.mark.parametrize(
    "due", ['["nobody"]', '["answer", "nobody"]', "[]", '["answer", "answer"]', '"answer"']
)
def test_what_was_never_due(durable: Backend, due: str) -> None:
    """Only what was due when the checkpoint was stored may stand in the column."""
    saver = durable.open()
    talk(saver, "t", 1, last="approve this")
    rows = Rows(durable.url, "wyrd_threads")
    mark = "?::jsonb" if durable.name == "postgres" else "?"
    assert rows.run(f"UPDATE {{}} SET due = {mark}", due) == 1
    assert [each.place for each in saver.verify(pages=False).damages] == ["columns"]


@pytest.mark.inside
@pytest.mark.parametrize("at", ["", "9", "the first"])
def test_what_a_turn_back_would_miss(durable: Backend, at: str) -> None:
    """A row that says an older checkpoint than changed it, or none that is there, is damage."""
    saver = durable.open()
    talk(saver, "t", 1)
    was = saver.thread("t").tree()
    rows = Rows(durable.url, "wyrd_open_loops")
    (row, *_) = sorted(rows.all(), key=lambda row: row["changed_in"])[::-1]
    wrong = was.newest[0] if at == "the first" else at
    assert rows.run("UPDATE {} SET changed_in = ? WHERE id = ?", wrong, row["id"]) == 1
    (finding,) = saver.verify().damages
    assert (finding.table, finding.place) == ("wyrd_open_loops", row["id"])
    saver.verify(repair=True)
    assert saver.verify().ok
    assert row in rows.all()
