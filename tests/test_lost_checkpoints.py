"""A checkpoint in the middle is gone, and the ledger still tells of it: loads, runs, repairs and
reweaving all go on with what it said, and none of them makes new damage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from langgraph_wyrd import KeyRing
from langgraph_wyrd.cli import main as cli
from tests.conftest import Backend
from tests.damage import Rows, at, talk
from tests.rows import put
from tests.test_healing_branches import IDS, checkpoints

pytestmark = pytest.mark.inside

TABLES = ("wyrd_context", "wyrd_intentions", "wyrd_open_loops", "wyrd_todos")
RINGS = [None, KeyRing({"k": b"k" * 32})]


def ids_of(saver: Any, thread: str) -> list[str]:
    """Its checkpoints, the oldest first."""
    found = [each.config["configurable"]["checkpoint_id"] for each in saver.list(at(thread))]
    return found[::-1]


def lose(made: Backend, id: str) -> None:
    assert Rows(made.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", id) == 1


def said(saver: Any, thread: str) -> Any:
    """What a thread's state says, but for the loops that say that something is lost."""
    state = saver.thread(thread).working_state()
    loops = [loop for loop in state.loops if loop.kind != "error"]
    return [state.title, *map(timeless, (*state.context, *state.intentions, *state.todos, *loops))]


def timeless(item: Any) -> Any:
    """Of the time of a lost checkpoint only its id tells, which was made a moment before."""
    names = [name for name in ("opened_at", "changed_at", "closed_at") if hasattr(item, name)]
    return replace(item, **dict.fromkeys(names)), [getattr(item, name) is None for name in names]


def public(url: str) -> list[list[Any]]:
    """The four tables, but for times, and what is sealed anew each time."""
    names = ("id", "closed_in", "checkpoint", "node")
    found = []
    for table in TABLES:
        rows = Rows(url, table).all("ORDER BY id")
        found.append([tuple(row.get(name) for name in names) for row in rows])
    return found


def left(report: Any) -> list[str]:
    """What a repair would still do, or did."""
    return [str(each) for each in report.findings if each.repairable or each.repaired]


@pytest.mark.parametrize("keys", RINGS)
@pytest.mark.parametrize("which", [0, 1, 2, -3, -2])
async def test_nothing_is_left_to_repair(
    durable: Backend, call: Any, which: int, keys: KeyRing | None
) -> None:
    """Told as what stays, each time: its state and its tables are as they were, and so they are
    after a repair, after reweaving, and after the next turns."""
    saver = durable.open(keys=keys)
    talk(saver, "t", 2)
    was, shown = said(saver, "t"), public(durable.url)
    lose(durable, ids_of(saver, "t")[which])
    saver.close()
    with durable.open(keys=keys) as saver:
        await call(saver, "verify", repair=True)
        again = await call(saver, "verify", repair=True)
        assert not left(again), str(again)
        assert [each.remedy.startswith("stays") for each in again.damages] == [True]
        assert said(saver, "t") == was
        assert public(durable.url) == shown
    with durable.open(keys=keys) as saver:
        await call(saver, "reweave", "t")
        assert said(saver, "t") == was
        assert public(durable.url) == shown
        assert not left(saver.verify())
    with durable.open(keys=keys) as saver:
        talk(saver, "t", 1)
        assert not left(saver.verify())
        talk(saver, "t", 1)
        assert not left(saver.verify())


@pytest.mark.parametrize("which", [1, -2])
def test_turns_before_a_repair(durable: Backend, which: int) -> None:
    """Whoever writes goes on from the same state that loads have; nothing is told but the loss."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        lose(durable, ids_of(saver, "t")[which])
    with durable.open() as saver:
        talk(saver, "t", 1)
        report = saver.verify()
        assert not left(report), str(report)
        assert [each.table for each in report.damages] == ["wyrd_checkpoints"]


def test_times_are_as_they_were(durable: Backend) -> None:
    """The tables still have those of the lost checkpoint: they are not made anew for a moment's
    difference, and are for a greater one."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        lose(durable, ids_of(saver, "t")[2])
        rows = Rows(durable.url, "wyrd_context")
        held = rows.all("ORDER BY id")
        assert not left(saver.verify(repair=True))
        assert rows.all("ORDER BY id") == held
        text = "UPDATE {} SET opened_at = '2001-01-01T00:00:00+00:00' WHERE id = ?"
        rows.run(text, held[0]["id"])
        rows.run("UPDATE {} SET rule = 'nonsense' WHERE id = ?", held[1]["id"])
        assert len(left(saver.verify(repair=True))) == 2
        assert held[0]["id"] in {row["id"] for row in rows.all("WHERE opened_at > '2002-01-01'")}


def test_tables_that_are_damaged_too(durable: Backend) -> None:
    """They are made anew, with what the lost checkpoint said among it."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        was, shown = said(saver, "t"), public(durable.url)
        lose(durable, ids_of(saver, "t")[4])
    for table in TABLES:
        Rows(durable.url, table).run("DELETE FROM {}")
    with durable.open() as saver:
        saver.verify(repair=True)
        assert not left(saver.verify(repair=True))
        assert (said(saver, "t"), public(durable.url)) == (was, shown)


def test_the_ledger_behind_it_is_compared(durable: Backend) -> None:
    """What the checkpoints after the next one say is told anew all the same."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        was = said(saver, "t")
        ids = ids_of(saver, "t")
        lose(durable, ids[2])
    assert Rows(durable.url, "wyrd_events").run(
        "DELETE FROM {} WHERE task = '' AND checkpoint > ?", ids[3]
    )
    with durable.open() as saver:
        assert said(saver, "t") == was, "on a load"
        report = saver.verify(repair=True)
        assert left(report)
        assert not left(saver.verify(repair=True))
        assert said(saver, "t") == was


def test_the_first_one_is_lost(durable: Backend) -> None:
    """Nothing older is there, and what it said is heard all the same."""
    saver = durable.open()
    versions = {"first": "1", "n": "2"}
    put(saver, "t", {"first": "here"}, id=IDS[1], versions={"first": "1"})
    both = {"first": "here", "n": 2}
    put(saver, "t", both, id=IDS[2], parent=IDS[1], versions=versions, new={"n": "2"})
    saver.thread("t").set_context("note", "kept")
    was = said(saver, "t")
    saver.close()
    lose(durable, IDS[1])
    with durable.open() as saver:
        assert said(saver, "t") == was
        report = saver.verify(repair=True)  # whose times are years from when the ids were made
        assert {each.table for each in report.damages} == {"wyrd_checkpoints", "wyrd_context"}
        assert len([each for each in report.damages if each.table == "wyrd_checkpoints"]) == 1
        assert not left(saver.verify(repair=True))
        assert {each.key for each in saver.thread("t").working_state().context} == {
            "first", "n", "note",
        }  # fmt: skip
        assert said(saver, "t") == was


def test_what_was_never_told(durable: Backend) -> None:
    """Without pillars nothing is in the ledger: a lost checkpoint shows in its tasks' writes only,
    and the next one is told from the one before."""
    with durable.open(pillars=False) as saver:
        talk(saver, "t", 2)
        ids = ids_of(saver, "t")
        saver.copy_thread("t", "whole")
        rows = Rows(durable.url, "wyrd_checkpoints")
        assert rows.run("DELETE FROM {} WHERE id = ? AND thread = 1", ids[2]) == 1
    with durable.open() as saver:
        saver.reweave("t")
        saver.reweave("whole")
        assert known(saver, "t") == known(saver, "whole")
        assert not left(saver.verify())


def known(saver: Any, thread: str) -> Any:
    """What a thread is about, wherever it was said."""
    state = saver.thread(thread).working_state()
    loops = sorted(each.description for each in state.open_loops if each.kind != "error")
    return {each.key: each.value for each in state.context}, loops, len(state.intentions)


def test_two_clocks_and_a_lost_checkpoint(durable: Backend) -> None:
    """The next one sorts before the lost one: what is older than both came before."""
    checkpoints(durable, {1: None, 2: 1, 4: 2, 3: 4})
    with durable.open() as saver:
        lose(durable, IDS[4])
        before = said(saver, "t")
        saver.verify(repair=True)
        assert not left(saver.verify())
        assert said(saver, "t") == before


def test_the_doctor_says_that_it_stays(
    durable: Backend, capsys: pytest.CaptureFixture[str]
) -> None:
    """It does not ask to be run again."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        lose(durable, ids_of(saver, "t")[3])
    for _ in range(2):
        assert cli.main(("doctor", durable.url, "--repair", "--yes")) == 1
        out = capsys.readouterr().out
        assert "run it again" not in out
        assert "1 damage stays" in out
