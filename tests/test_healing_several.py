"""Several rows damaged at once, and threads with nothing damaged at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langgraph.types import Command

from langgraph_wyrd.healing import flips
from tests.campaigns import several
from tests.campaigns.several import nested
from tests.conftest import Backend
from tests.damage import Agent, Rows, at, garbled, splices_of, spoil_splice, talk
from tests.story import tell, without_loop

pytestmark = pytest.mark.inside


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


def test_nothing_is_wrong_with_what_is_whole(durable: Backend) -> None:
    """Tasks that end one by one, subgraphs, forks: after no turn does `verify` find any damage."""
    saver = durable.open()
    nested(saver).invoke({"log": ["hello"]}, at("s"))
    assert saver.verify().ok, "a subgraph waits"
    found: list[str] = []

    async def look(teller: Any) -> None:
        found.extend(map(str, saver.verify().damages))

    without_loop(tell(10, saver, asynchronous=False, between=look))
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


# ---- rows in each other's places


def swap(made: Backend, table: str, keys: tuple[str, ...], where: str, *params: Any) -> None:
    """Two rows change places: all but their keys."""
    rows = Rows(made.url, table)
    one, other = rows.all(where, *params)
    for row, by in ((one, other), (other, one)):
        held = {name: as_sent(made, value) for name, value in by.items() if name not in keys}
        sets = ", ".join(f"{name} = ?" for name in held)
        at_ = " AND ".join(f"{name} = ?" for name in keys)
        assert rows.run(f"UPDATE {{}} SET {sets} WHERE {at_}", *held.values(),
                        *(row[name] for name in keys)) == 1  # fmt: skip


def as_sent(made: Backend, value: Any) -> Any:
    if isinstance(value, (dict, list)):
        from psycopg.types.json import Json

        return Json(value)
    return value


async def test_swapped_checkpoints_are_put_back(made: Backend, call: Any) -> None:
    """The head and another: the head is what it was, and nothing is left out."""
    saver = made.open()
    sound = [each.checkpoint for each in saver.list(at("t"))]
    saver.close()
    ids = sound[0]["id"], sound[2]["id"]
    swap(made, "wyrd_checkpoints", ("thread", "ns", "id"), "WHERE id IN (?, ?)", *ids)
    saver = made.open()
    assert (await call(saver, "get_tuple", at("t"))).checkpoint == sound[0]
    assert [each.checkpoint for each in saver.list(at("t"))] == sound
    assert {kind for kind, _ in heals(saver)} == {"exact"}
    saver.verify(repair=True)
    assert saver.verify().ok


async def test_swapped_writes_are_put_back(durable: Backend, call: Any) -> None:
    """Of the head, where a task waits for a person: what finished and what waits."""
    saver = durable.open()
    talk(saver, "t", 1, last="approve this")
    Agent().build(saver).invoke(Command(resume="yes"), at("t"))
    sound = [each.pending_writes for each in saver.list(at("t"))]
    saver.close()
    rows = Rows(durable.url, "wyrd_writes")
    (row,) = rows.all("WHERE channel = '__interrupt__'")
    keys = "thread", "ns", "checkpoint", "task", "idx"
    swap(durable, "wyrd_writes", keys, "WHERE task = ? AND idx IN (1, ?)", row["task"], row["idx"])
    saver = durable.open()
    assert [each.pending_writes for each in saver.list(at("t"))] == sound
    assert {kind for kind, _ in heals(saver)} == {"exact"}
    saver.verify(repair=True)
    assert saver.verify().ok


async def test_swapped_words_of_a_person_are_put_back(made: Backend, call: Any) -> None:
    """What was said in the ledger, and nowhere else."""
    saver = made.open()
    thread = saver.thread("t")
    thread.complete_todo(thread.add_todo("look it up").id)
    sound = thread.working_state()
    saver.close()
    keys = "thread", "ns", "checkpoint", "task", "n"
    swap(made, "wyrd_events", keys, "WHERE substr(task, 1, 5) = 'edit:'")
    saver = made.open()
    state = await call(saver.thread("t"), "working_state")
    assert state.todos == sound.todos
    assert {kind for kind, _ in heals(saver)} == {"exact"}
    saver.verify(repair=True)
    assert saver.verify().ok


# ---- a repair lowers nothing


async def test_what_was_said_at_a_lost_checkpoint_outlasts_a_repair(
    made: Backend, call: Any
) -> None:
    """The head's row can't be had back: its label, and a person's to-do, can still be read."""
    saver = made.open()
    thread = saver.thread("t")
    thread.add_todo("look it up")
    thread.label("here")
    todos, labels = thread.working_state().todos, thread.labels()
    saver.close()
    rows = Rows(made.url, "wyrd_checkpoints")
    (row,) = rows.all("ORDER BY id DESC LIMIT 1")
    rows.run("UPDATE {} SET length = ?, seq = ? WHERE id = ?", 77, 77, row["id"])
    saver = made.open()
    for _ in range(2):
        report = await call(saver, "verify", repair=True)
        assert saver.get_tuple(at("t")).checkpoint["id"] == row["parent"]
        assert saver.thread("t").working_state().todos == todos
        assert saver.thread("t").labels() == labels
    assert not any(each.repaired for each in report.findings)


async def test_a_label_that_a_load_has_back_is_had_back_by_a_repair(
    made: Backend, call: Any
) -> None:
    """What it promoted is in the state at its checkpoint, whose row has to be put right first."""
    saver = made.open()
    thread = saver.thread("t")
    thread.label("here")
    sound = thread.get_label("here")
    saver.close()
    Rows(made.url, "wyrd_labels").run("UPDATE {} SET context = '[]'")
    rows = Rows(made.url, "wyrd_checkpoints")
    rows.run("UPDATE {} SET parent = NULL WHERE id = ?", sound.checkpoint_id)
    saver = made.open()
    for _ in range(2):
        assert await call(saver.thread("t"), "get_label", "here") == sound
        await call(saver, "verify", repair=True)


async def test_a_repair_writes_over_no_only_copy(made: Backend, call: Any) -> None:
    """Splices of two strands stand in each other's places, and one of the strands has more damage:
    it can't be put right as a whole, but what is known of it is."""
    saver = made.open()
    listed = [each.checkpoint for each in saver.list(at("t"))]
    saver.close()
    forget = Rows(made.url, "wyrd_writes")
    forget.run("DELETE FROM {}")
    (said,) = splices_of(made.url, "t", b"looking")
    (other,) = splices_of(made.url, "t", b"line of")
    assert said["strand"] != other["strand"]
    keys = "thread", "strand", "seq", "part"
    where = "WHERE (strand = ? AND seq = ?) OR (strand = ? AND seq = ?)"
    each = said["strand"], said["seq"], other["strand"], other["seq"]
    swap(made, "wyrd_splices", keys, where, *each)
    (last,) = splices_of(made.url, "t", b"end-")
    assert last["strand"] == said["strand"]
    spoil_splice(made.url, last, data=garbled(last["data"]))
    saver = made.open()
    before = [each.checkpoint for each in saver.list(at("t"))]
    for _ in range(2):
        await call(saver, "verify", repair=True)
        assert [each.checkpoint for each in saver.list(at("t"))] == before
    assert [each for each in before if each in listed]
    assert splices_of(made.url, "t", b"looking") == [said]


async def test_a_checkpoint_that_others_stand_behind_stays(made: Backend, call: Any) -> None:
    """Its row can't be had back: the state behind it, which rests on it, is as before a repair."""
    rows = Rows(made.url, "wyrd_checkpoints")
    row = rows.all("ORDER BY id")[3]
    rows.run("UPDATE {} SET length = ?, seq = ? WHERE id = ?", 77, 77, row["id"])
    saver = made.open()
    before = await call(saver.thread("t"), "working_state")
    for _ in range(2):
        report = await call(saver, "verify", repair=True)
        assert saver.thread("t").working_state() == before
    assert not any(each.repaired for each in report.findings)


async def test_a_checkpoint_of_another_namespace_is_exported_whole(
    durable: Backend, call: Any, tmp_path: Any
) -> None:
    """Its namespace is put right, and its writes are found under that."""
    path = tmp_path / "out.json"
    saver = durable.open()
    nested(saver).invoke({"log": ["hello"]}, at("s"))
    saver.thread("s").export(path)
    sound = json.loads(path.read_text())["history"]
    saver.close()
    rows = Rows(durable.url, "wyrd_checkpoints")
    row = rows.all("WHERE substr(ns, 1, 6) = 'child:' ORDER BY id")[1]
    rows.run("UPDATE {} SET ns = ? WHERE id = ?", row["ns"][:-1] + "x", row["id"])
    saver = durable.open()
    await call(saver.thread("s"), "export", path)
    assert json.loads(path.read_text())["history"] == sound


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


# ---- a sample of the campaign


def test_some_rows_at_once_in_sqlite() -> None:
    """Nothing silently wrong, no load raises, every thread goes on, a repair lowers nothing."""
    with several.sqlite_copies() as fresh:
        counts, wrong = several.campaign(fresh, 2, 2141)
    assert not wrong, "\n".join(wrong)
    assert sum(counts.values()) == 2


def test_some_rows_at_once_in_postgres(postgres_server: str) -> None:
    """The same on the other database."""
    with several.postgres_copies(postgres_server) as fresh:
        counts, wrong = several.campaign(fresh, 1, 2036)
    assert not wrong, "\n".join(wrong)
    assert sum(counts.values()) == 1
