"""Several rows damaged at once, and threads with nothing damaged at all."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Command

from langgraph_wyrd.healing import flips
from tests.conftest import Backend
from tests.damage import Agent, Rows, at, garbled, talk
from tests.story import tell, without_loop


@pytest.fixture
def made(durable: Backend) -> Backend:
    """A thread of one turn, its saver closed."""
    saver = durable.open()
    talk(saver, "t", 1)
    saver.close()
    return durable


def heals(saver: Any) -> list[tuple[str, str]]:
    return [(heal.kind, heal.checkpoint_id) for heal in saver.thread("t").heals()]


# ---- what is whole


@pytest.mark.parametrize("seed", [8, 10])
def test_nothing_is_wrong_with_what_is_whole(durable: Backend, seed: int) -> None:
    """Tasks that end one by one, subgraphs, forks: after no turn does `verify` find any damage."""
    saver = durable.open()
    found: list[str] = []

    async def look(teller: Any) -> None:
        found.extend(map(str, saver.verify().damages))

    without_loop(tell(seed, saver, asynchronous=False, between=look))
    assert found == []


# ---- what delta channels are rebuilt from


@pytest.mark.parametrize("which", [0, -1])
async def test_a_write_of_a_delta_channel_that_is_gone_is_told(
    made: Backend, call: Any, which: int
) -> None:
    """Nothing else is loaded than the state: the value lacks what was written, and says so."""
    rows = Rows(made.url, "wyrd_writes")
    row = rows.all("WHERE channel = 'trace' ORDER BY checkpoint")[which]
    where = row["checkpoint"], row["task"], row["idx"]
    assert rows.run("DELETE FROM {} WHERE checkpoint = ? AND task = ? AND idx = ?", *where) == 1
    saver = made.open()
    found = await call(Agent().build(saver), "get_state", at("t"))
    assert len(found.values["trace"]) == 1
    assert heals(saver) == [("left_out", row["checkpoint"])]


async def test_a_write_that_may_be_of_a_delta_channel_is_told(made: Backend, call: Any) -> None:
    """Its channel is another one now, and its bytes are gone."""
    rows = Rows(made.url, "wyrd_writes")
    row = rows.all("WHERE channel = 'trace' ORDER BY checkpoint")[0]
    count = rows.run(
        "UPDATE {} SET channel = 'log', data = ? WHERE checkpoint = ? AND idx = ?",
        garbled(row["data"]), row["checkpoint"], row["idx"],
    )  # fmt: skip
    assert count == 1
    saver = made.open()
    found = await call(Agent().build(saver), "get_state", at("t"))
    assert len(found.values["trace"]) == 1
    assert heals(saver) == [("left_out", row["checkpoint"])]


async def test_a_write_of_no_checkpoint_stops_no_history(made: Backend, call: Any) -> None:
    """Its checkpoint's id was cut, and sorts between those that are there."""
    saver = made.open()
    sound = (await call(Agent().build(saver), "get_state", at("t"))).values["trace"]
    saver.close()
    rows = Rows(made.url, "wyrd_writes")
    row = rows.all("WHERE channel = 'trace' ORDER BY checkpoint")[0]
    copy = {**row, "checkpoint": row["checkpoint"] + "-", "sum": row["sum"] ^ 1 << 40}
    rows.run(f"INSERT INTO {{}} VALUES ({', '.join('?' * len(copy))})", *copy.values())
    saver = made.open()
    assert (await call(Agent().build(saver), "get_state", at("t"))).values["trace"] == sound


# ---- half a result is none


@pytest.mark.parametrize("idx", [1, 2])
async def test_a_write_of_a_resumed_task_that_is_gone_is_noticed(
    durable: Backend, call: Any, idx: int
) -> None:
    """What it was resumed with leaves a gap in its numbers: how many there are is known all the
    same."""
    saver = durable.open()
    talk(saver, "t", 1, last="approve this")
    Agent().build(saver).invoke(Command(resume="yes"), at("t"))
    saver.close()
    rows = Rows(durable.url, "wyrd_writes")
    (task,) = {row["task"] for row in rows.all("WHERE channel = '__interrupt__'")}
    there = [row["idx"] for row in rows.all("WHERE task = ?", task) if row["idx"] >= 0]
    assert sorted(there) == [1, 2]
    assert rows.run("DELETE FROM {} WHERE task = ? AND idx = ?", task, idx) == 1
    saver = durable.open()
    assert not saver.verify().ok
    (row,) = rows.all("WHERE task = ? AND channel = '__interrupt__'", task)
    found = await call(saver, "get_tuple", at("t", row["checkpoint"]))
    assert {name for at_, name, _ in found.pending_writes if at_ == task} == {
        "__interrupt__", "__resume__"
    }  # fmt: skip
    assert heals(saver) == [("left_out", row["checkpoint"])]


# ---- what nothing tells any more


async def test_what_is_due_of_a_lost_checkpoint_is_passed_over(made: Backend, call: Any) -> None:
    """What is derived of it is wrong, and with its frame gone it can't be read anew: it is told."""
    rows = Rows(made.url, "wyrd_checkpoints")
    row = rows.all("ORDER BY id")[2]
    saver = made.open()
    sound = saver.thread("t").working_state()
    saver.close()
    rows.run("UPDATE {} SET sum = ? WHERE id = ?", row["sum"] ^ 4, row["id"])
    splices = Rows(made.url, "wyrd_splices")
    splices.run("DELETE FROM {} WHERE strand = ? AND seq = ?", row["strand"], row["seq"])
    saver = made.open()
    state = await call(saver.thread("t"), "working_state")
    assert state.todos == sound.todos
    assert state.context == sound.context
    assert saver.thread("t").heals()


async def test_a_label_that_is_lost_is_the_same_at_each_look(made: Backend, call: Any) -> None:
    """Its time is what its row says, if that is a time at all: nothing is made up anew."""
    saver = made.open()
    saver.thread("t").label("here")
    saver.close()
    Rows(made.url, "wyrd_labels").run("UPDATE {} SET sum = 0, automatic = ?", True)
    saver = made.open()
    first = await call(saver.thread("t"), "labels")
    assert first == await call(saver.thread("t"), "labels")
    saver.verify(repair=True)
    assert first == await call(saver.thread("t"), "labels")


def test_a_search_in_vain_is_not_made_again() -> None:
    """What no changed byte explains is searched once; what one does, each time."""
    searched = []

    def search(found: bytes | None) -> bytes | None:
        searched.append(found)
        return found

    for _ in range(2):
        assert flips.unless_vain(("a test", 1), lambda: search(None)) is None
        assert flips.unless_vain(("a test", 2), lambda: search(b"it")) == b"it"
    assert searched == [None, b"it", b"it"]
