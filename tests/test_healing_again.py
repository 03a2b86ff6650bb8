"""A task that runs again, as its writes were damaged: what it stores then is what counts."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from langgraph_wyrd import Channels, KeyRing
from tests.conftest import Backend
from tests.damage import Rows, at, extend, garbled

pytestmark = pytest.mark.inside

ANN = at("t", user="ann")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "without pillars": {"pillars": False},
    "user": {"channels": Channels(user={"out"})},
    "sealed": {"keys": KeyRing({"2026": b"k" * 32}), "channels": Channels(user={"out"})},
}


class State(TypedDict, total=False):
    out: Annotated[list[str], operator.add]
    heard: Annotated[list[str], operator.add]


class Agent:
    """Three tasks in one step: one is done at once, two ask."""

    def __init__(self) -> None:
        self.ran = 0

    def work(self, state: State) -> State:
        self.ran += 1
        return {"out": [f"run {self.ran}"]}

    def one(self, state: State) -> State:
        return {"heard": [interrupt("one?")]}

    def two(self, state: State) -> State:
        return {"heard": [interrupt("two?")]}

    def build(self, saver: Any) -> Any:
        builder = StateGraph(State)
        for name in ("work", "one", "two"):
            builder.add_node(name, getattr(self, name)).add_edge(START, name)
        return builder.compile(checkpointer=saver)


def done(rows: Rows) -> dict[str, Any]:
    """The row of what was done at once."""
    return rows.all("WHERE channel = 'out' ORDER BY checkpoint DESC")[0]


@pytest.mark.parametrize("how", ["garbled", "sum", "deleted", "user's row"])
@pytest.mark.parametrize("options", OPTIONS)
async def test_what_a_task_stores_again_takes_the_place_of_what_is_damaged(
    durable: Backend, call: Any, how: str, options: str
) -> None:
    """It runs again once, in that process and the next; the value of that run is what is read."""
    if how == "user's row" and "channels" not in OPTIONS[options]:
        return
    agent = Agent()
    saver = durable.open(**OPTIONS[options])
    agent.build(saver).invoke({"out": []}, ANN)
    saver.close()
    rows = Rows(durable.url, "wyrd_writes")
    row = done(rows)
    where, keys = "checkpoint = ? AND task = ? AND idx = ?", (row["checkpoint"], row["task"], 0)
    if how == "deleted":
        rows.run(f"DELETE FROM {{}} WHERE {where}", *keys)
    elif how == "user's row":
        Rows(durable.url, "wyrd_user_data").run("UPDATE {} SET data = ?", b"nothing of it")
    elif how == "sum":
        rows.run(f"UPDATE {{}} SET sum = 12345 WHERE {where}", *keys)
    else:
        rows.run(f"UPDATE {{}} SET data = ? WHERE {where}", garbled(row["data"]), *keys)
    for answered in range(2):
        saver = durable.open(**OPTIONS[options])
        made = agent.build(saver)
        waits = [each.id for task in made.get_state(ANN).tasks for each in task.interrupts]
        answer = Command(resume={waits[0]: f"answer {answered}"})
        found = await call(made, "invoke", answer, ANN)
        if not answered:
            writes = (await call(saver, "get_tuple", ANN)).pending_writes
            assert [value for _, name, value in writes if name == "out"] == [["run 2"]]
            assert saver.verify().ok or how == "user's row"  # there were others
        saver.close()
    assert found["out"] == ["run 2"]
    assert agent.ran == 2


def put(saver: Any, parent: Any = None) -> Any:
    config = parent or {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    meta: Any = {"source": "loop", "step": 0, "parents": {}}
    return saver.put(config, empty_checkpoint(), meta, {})


FIRST = [("out", ["a1"]), ("more", ["b1"]), ("last", ["c1"])]
AGAIN = [("out", ["a2"]), ("more", ["b2"]), ("last", ["c2"])]


@pytest.mark.parametrize("how", ["garbled", "deleted"])
@pytest.mark.parametrize("again", [AGAIN, AGAIN[:1]])
def test_two_runs_of_a_task_are_never_mixed(durable: Backend, how: str, again: Any) -> None:
    """With the damaged write go the others of that run; what is whole is a retry's, and stays."""
    saver = durable.open()
    where = put(saver)
    saver.put_writes(where, FIRST, "task")
    saver.put_writes(where, FIRST, "other")
    saver.close()
    rows = Rows(durable.url, "wyrd_writes")
    if how == "deleted":
        rows.run("DELETE FROM {} WHERE task = 'task' AND idx = 1")
    else:
        rows.run("UPDATE {} SET sum = 7 WHERE task = 'task' AND idx = 1")
    saver = durable.open()
    assert {task for task, *_ in saver.get_tuple(where).pending_writes} == {"other"}
    for task in ("task", "other"):
        saver.put_writes(where, [("__interrupt__", "May I?")], task)
    assert {task for task, name, _ in saver.get_tuple(where).pending_writes if name == "out"} == {
        "other"
    }
    for sent in (again, FIRST[: len(again)]):  # the second time it is whole
        saver.put_writes(where, sent, "task")
        saver.put_writes(where, AGAIN, "other")
    saver.close()
    saver = durable.open()
    found = saver.get_tuple(where).pending_writes
    ordinary = [(task, name, value) for task, name, value in found if name != "__interrupt__"]
    assert [(name, value) for task, name, value in ordinary if task == "other"] == FIRST
    assert [(name, value) for task, name, value in ordinary if task == "task"] == again
    assert saver.verify().ok
    moved = Rows(durable.url, "wyrd_quarantine").all()
    assert len(moved) == (3 if how == "garbled" else 2)


def test_what_others_go_on_from_is_not_moved(durable: Backend) -> None:
    """A late write to a checkpoint that has a child takes the place of what is damaged alone."""
    saver = durable.open()
    where = put(saver)
    saver.put_writes(where, FIRST, "task")
    put(saver, where)
    saver.close()
    Rows(durable.url, "wyrd_writes").run("UPDATE {} SET sum = 7 WHERE idx = 1")
    saver = durable.open()
    assert saver.get_tuple(where).pending_writes == []
    saver.put_writes(where, AGAIN, "task")
    found = saver.get_tuple(where).pending_writes
    assert [value for *_, value in found] == [["a1"], ["b2"], ["c1"]]


# ---- users' values


def by_users(durable: Backend) -> tuple[Any, Any, Rows]:
    saver = durable.open(channels=Channels(user={"out"}))
    where = put(saver)
    where["configurable"]["user_id"] = "ann"
    return saver, where, Rows(durable.url, "wyrd_user_data")


def test_a_retry_of_a_users_write_stores_nothing(durable: Backend) -> None:
    """Nor does what was erased come back by one."""
    saver, where, rows = by_users(durable)
    saver.put_writes(where, [("out", ["a1"])], "task")
    held = rows.all()
    saver.put_writes(where, [("out", ["a2"])], "task")
    assert rows.all() == held
    assert saver.get_tuple(where).pending_writes == [("task", "out", ["a1"])]
    saver.erase_user("ann")
    held = rows.all()
    saver.put_writes(where, [("out", ["a1"])], "task")
    assert rows.all() == held


def test_what_was_asked_of_a_user_is_replaced(durable: Backend) -> None:
    """A question takes the place of the one before, with what belongs to the user."""
    saver, where, rows = by_users(durable)
    for text in ("one", "two"):
        saver.put_writes(where, [("__interrupt__", [{"out": text}])], "task")
        found = saver.get_tuple(where).pending_writes
        assert found == [("task", "__interrupt__", [{"out": text}])]
    assert len(rows.all()) == 2


# ---- what later checkpoints are rebuilt from


class Log(TypedDict, total=False):
    log: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=1000)]
    n: int


def logged(state: Log) -> Log:
    n = state.get("n", 0)
    return {"log": [f"a{n}"], "n": n + 1}


@pytest.mark.parametrize("channel", ["log", "n"])
async def test_a_repair_leaves_what_delta_channels_are_rebuilt_from(
    durable: Backend, call: Any, channel: str
) -> None:
    """Of a task whose step is over only the damaged write goes; loads tell before and after."""
    saver = durable.open()
    made = StateGraph(Log).add_node("logged", logged).add_edge(START, "logged")
    for turn in range(3):
        made.compile(checkpointer=saver).invoke({"log": [f"in{turn}"]}, at("t"))
    saver.close()
    rows = Rows(durable.url, "wyrd_writes")
    (task,) = {row["task"] for row in rows.all("WHERE channel = 'n' ORDER BY checkpoint")[:1]}
    count = rows.run("UPDATE {} SET sum = 12345 WHERE task = ? AND channel = ?", task, channel)
    assert count == 1
    seen = []
    for _ in range(2):
        saver = durable.open()
        found = await call(made.compile(checkpointer=saver), "get_state", at("t"))
        seen.append(found.values["log"])
        heals = saver.thread("t").heals()
        assert {heal.kind for heal in heals} == {"left_out"}
        saver.thread("t").acknowledge()
        saver.verify(repair=True)
        again = saver.verify(repair=True)
        assert not any(each.repaired or each.repairable for each in again.findings), str(again)
        saver.close()
    lost = ["a0"] if channel == "log" else []
    whole = [each for turn in range(3) for each in (f"in{turn}", f"a{turn}")]
    assert seen[0] == seen[1] == [each for each in whole if each not in lost]


def test_the_only_write_of_a_task_stays_to_tell(durable: Backend) -> None:
    """Were it moved away, nothing would say that what later checkpoints are rebuilt from lacks it;
    where nothing goes on from it, the task runs again, and it goes."""
    saver = durable.open()
    where = put(saver)
    saver.put_writes(where, [("out", ["a1"])], "task")
    head = put(saver, where)
    saver.put_writes(head, [("out", ["a1"])], "task")
    saver.close()
    rows = Rows(durable.url, "wyrd_writes")
    assert rows.run("UPDATE {} SET sum = 7") == 2
    saver = durable.open()
    report = saver.verify(repair=True)
    assert [each.repaired for each in report.findings] == [False, True]
    (left,) = rows.all()
    assert left["checkpoint"] == where["configurable"]["checkpoint_id"]
    assert saver.get_tuple(where).pending_writes == []
    assert [heal.kind for heal in saver.thread("t").heals()] == ["left_out"]


def test_what_stands_behind_a_lost_one_may_be_rebuilt(durable: Backend) -> None:
    """No checkpoint that is there names it as its parent: the task's other writes stay all the
    same."""
    saver = durable.open()
    where = put(saver)
    saver.put_writes(where, FIRST, "task")
    lost = put(saver, where)
    saver.put_writes(lost, [("out", ["x"])], "next")
    put(saver, lost)
    saver.close()
    id = lost["configurable"]["checkpoint_id"]
    assert Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", id) == 1
    rows = Rows(durable.url, "wyrd_writes")
    assert rows.run("UPDATE {} SET sum = 7 WHERE idx = 1") == 1
    durable.open().verify(repair=True)
    left = rows.all("WHERE task = 'task' ORDER BY idx")
    assert [row["idx"] for row in left] == [0, 2]
