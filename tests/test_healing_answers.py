"""What a task asked, failed with and was answered: damaged or missing, no answer goes astray."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import WRITES_IDX_MAP, empty_checkpoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from langgraph_wyrd import Channels, KeyRing
from langgraph_wyrd.plans import marks
from tests.conftest import Backend
from tests.damage import Rows, at, garbled

pytestmark = pytest.mark.inside

QUESTIONS = ("__interrupt__", "__resume__")
NULL_TASK = "00000000-0000-0000-0000-000000000000"


class State(TypedDict, total=False):
    out: Annotated[list[str], operator.add]


def pay(state: State) -> State:
    name = interrupt("whom?")
    amount = interrupt("how much?")
    return {"out": [f"pay {amount} to {name}"]}


def graph(saver: Any, inside: bool = False) -> Any:
    """A task that asks twice, in a subgraph perhaps."""
    builder = StateGraph(State).add_node("pay", pay).add_edge(START, "pay")
    if inside:
        builder = StateGraph(State).add_node("sub", builder.compile()).add_edge(START, "sub")
    return builder.compile(checkpointer=saver)


def asked_twice(durable: Backend, inside: bool = False, **options: Any) -> Rows:
    """A thread that was answered once, and asks once more; its saver closed."""
    saver = durable.open(**options)
    made = graph(saver, inside)
    made.invoke({"out": []}, at("t"))
    made.invoke(Command(resume="Ada"), at("t"))
    saver.close()
    return Rows(durable.url, "wyrd_writes")


def spoil(rows: Rows, channel: str, how: str) -> dict[str, Any]:
    """A control write of the task that asks, deleted or garbled."""
    own = "(SELECT task FROM wyrd_writes WHERE channel = '__resume__' AND task <> ?)"
    (row,) = rows.all(f"WHERE channel = ? AND task IN {own}", channel, NULL_TASK)
    where = "checkpoint = ? AND task = ? AND idx = ?"
    keys = row["checkpoint"], row["task"], row["idx"]
    if how == "deleted":
        assert rows.run(f"DELETE FROM {{}} WHERE {where}", *keys) == 1
    else:
        assert rows.run(f"UPDATE {{}} SET data = ? WHERE {where}", garbled(row["data"]), *keys) == 1
    return row


def kinds(saver: Any) -> list[str]:
    return [heal.kind for heal in saver.thread("t").heals()]


def names(found: Any, task: str) -> list[str]:
    return sorted(name for own, name, _ in found.pending_writes if own == task)


# ---- one of them


@pytest.mark.parametrize("how", ["deleted", "garbled"])
@pytest.mark.parametrize("inside", [False, True])
async def test_lost_answers_are_read_beside_the_question(
    durable: Backend, call: Any, how: str, inside: bool
) -> None:
    """The next answer is that to the next question, in a subgraph too; it is told as exact."""
    spoil(asked_twice(durable, inside), "__resume__", how)
    saver = durable.open()
    found = await call(graph(saver, inside), "invoke", Command(resume="5 euros"), at("t"))
    assert found["out"] == ["pay 5 euros to Ada"]
    assert kinds(saver) == ["exact"]


@pytest.mark.parametrize("how", ["deleted", "garbled"])
def test_lost_answers_are_put_back_by_a_repair(durable: Backend, how: str) -> None:
    """The row is what it was, and nothing is left to tell."""
    rows = asked_twice(durable)
    row = spoil(rows, "__resume__", how)
    saver = durable.open()
    report = saver.verify(repair=True)
    assert report.ok, str(report)
    assert report.damages
    assert not saver.verify().findings
    (back,) = rows.all("WHERE task = ? AND channel = '__resume__'", row["task"])
    assert (back["shape"], bytes(back["data"])) == (row["shape"], bytes(row["data"]))
    assert graph(saver).invoke(Command(resume="5"), at("t"))["out"] == ["pay 5 to Ada"]
    assert kinds(saver) == []


@pytest.mark.parametrize("repaired", [False, True])
def test_lost_answers_of_a_sealed_store(durable: Backend, repaired: bool) -> None:
    """The copy beside the question is sealed with it, and so is what a repair puts back."""
    keys = KeyRing({"2026": b"k" * 32})
    rows = asked_twice(durable, keys=keys)
    spoil(rows, "__resume__", "deleted")
    saver = durable.open(keys=keys)
    if repaired:
        assert saver.verify(repair=True).ok
        assert not saver.verify().findings
        assert not any(b"Ada" in bytes(row["data"]) for row in rows.all())
    assert graph(saver).invoke(Command(resume="5"), at("t"))["out"] == ["pay 5 to Ada"]
    assert kinds(saver) == ([] if repaired else ["exact"])
    assert not saver.verify().damages


@pytest.mark.parametrize("how", ["deleted", "garbled"])
async def test_a_lost_question_beside_answers_is_told(
    durable: Backend, call: Any, how: str
) -> None:
    """The answers stay, so that the task asks the same question anew; a repair has nobody ask for
    the row that is lost."""
    rows = asked_twice(durable)
    row = spoil(rows, "__interrupt__", how)
    saver = durable.open()
    assert names(await call(saver, "get_tuple", at("t")), row["task"]) == ["__resume__"]
    assert kinds(saver) == ["left_out"]
    assert not saver.verify().ok
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings
    found = await call(graph(saver), "invoke", Command(resume="5"), at("t"))
    assert found["out"] == ["pay 5 to Ada"]


# ---- several, and what stands beside them


def put(saver: Any) -> Any:
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    meta: Any = {"source": "input", "step": -1, "parents": {}}
    return saver.put(config, empty_checkpoint(), meta, {})


async def test_a_question_without_its_answers_is_asked_from_the_first_on(
    durable: Backend, call: Any
) -> None:
    """No copy of the answers is left: the question is left out, so that none answers it alone; a
    repair moves it away."""
    saver = durable.open()
    where = put(saver)
    saver.put_writes(where, [("__interrupt__", [["how much?"]]), ("__resume__", ["Ada"])], "one")
    saver.put_writes(where, [("__interrupt__", [["else?"]])], "two")
    saver.close()
    rows = Rows(durable.url, "wyrd_writes")
    assert rows.run("DELETE FROM {} WHERE channel = '__resume__'") == 1
    saver = durable.open()
    found = await call(saver, "get_tuple", where)
    assert found.pending_writes == [("two", "__interrupt__", [["else?"]])]
    assert kinds(saver) == ["left_out"]
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings
    assert [row["task"] for row in rows.all()] == ["two"]
    (moved,) = Rows(durable.url, "wyrd_quarantine").all()
    assert moved["origin"] == "wyrd_writes"


async def test_answers_of_a_task_that_failed_with_the_last(durable: Backend, call: Any) -> None:
    """What stands beside the question is all but the last answer: that is asked again, aloud."""
    saver = durable.open()
    where = put(saver)
    saver.put_writes(where, [("__interrupt__", ("how much?",)), ("__resume__", ["Ada"])], "one")
    saver.put_writes(where, [("__resume__", ["Ada", "5"]), ("__error__", "broke")], "one")
    saver.close()
    rows = Rows(durable.url, "wyrd_writes")
    assert rows.run("DELETE FROM {} WHERE channel = '__resume__'") == 1
    saver = durable.open()
    found = await call(saver, "get_tuple", where)
    assert ("one", "__resume__", ["Ada"]) in found.pending_writes
    assert names(found, "one") == ["__error__", *QUESTIONS]
    assert kinds(saver) == ["left_out"]


async def test_what_a_finished_task_was_answered(durable: Backend, call: Any) -> None:
    """It is missing, and told; what the task did stands, and so does what it asked."""
    rows = asked_twice(durable)
    saver = durable.open()
    graph(saver).invoke(Command(resume="5"), at("t"))
    saver.close()
    row = spoil(rows, "__resume__", "deleted")
    saver = durable.open()
    found = await call(saver, "get_tuple", at("t", row["checkpoint"]))
    assert names(found, row["task"]) == ["__interrupt__", "out"]
    assert kinds(saver) == ["left_out"]
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings
    found = saver.get_tuple(at("t", row["checkpoint"]))
    assert names(found, row["task"]) == ["__interrupt__", "out"]


async def test_what_a_task_that_asked_once_was_answered(durable: Backend, call: Any) -> None:
    """It came with what the task did, which says so; a repair leaves that as it is."""
    saver = durable.open()
    where = put(saver)
    saver.put_writes(where, [("__resume__", ["Ada"]), ("out", ["paid"])], "one")
    saver.close()
    rows = Rows(durable.url, "wyrd_writes")
    assert rows.run("DELETE FROM {} WHERE channel = '__resume__'") == 1
    saver = durable.open()
    done = [("one", "out", ["paid"])]
    assert (await call(saver, "get_tuple", where)).pending_writes == done
    assert kinds(saver) == ["left_out"]
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings
    assert (await call(saver, "get_tuple", where)).pending_writes == done


async def test_answers_that_belong_to_a_user(durable: Backend, call: Any) -> None:
    """They are lost where users' values are: the question goes with them."""
    options = {"channels": Channels(user={"profile"})}
    saver = durable.open(**options)
    made = graph(saver)
    made.invoke({"out": []}, at("t", user="ann"))
    made.invoke(Command(resume={"profile": "Ada"}), at("t", user="ann"))
    saver.close()
    assert Rows(durable.url, "wyrd_user_data").run("DELETE FROM {}") > 0
    saver = durable.open(**options)
    found = await call(saver, "get_tuple", at("t", user="ann"))
    assert found.pending_writes == []
    assert "left_out" in kinds(saver)


# ---- what a checksum says


def test_the_numbers_of_control_writes_are_langgraphs() -> None:
    """What stands in a checksum is by these."""
    assert {name: idx for idx, name in marks.NAMES.items()} == WRITES_IDX_MAP


def test_what_is_put_over_a_checksum_is_read_again() -> None:
    """And no flipped bit makes another of it, or nothing."""
    for many in (0, 1, 2, 7, 1024, 5000):
        for beside in range(16):
            made = marks.mark(many, beside)
            assert marks.said(made) == marks.Said(True, many if many <= 1024 else 0, beside)
            assert not any(marks.said(made ^ 1 << place) for place in range(64))
    assert marks.said(0) == marks.NOTHING
    assert not any(marks.said(1 << place) for place in range(64))
    assert marks.said(-1) is None
