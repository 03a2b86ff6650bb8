"""A person learns what is damaged and what can be done; a repair does what is proven right."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from langgraph_wyrd import errors
from tests.conftest import Backend
from tests.damage import Agent, Rows, at, flipped, garbled, splices_of, spoil_splice, talk


@pytest.fixture
def made(durable: Backend) -> Backend:
    """Two threads; the second waits for a person, and was forked."""
    saver = durable.open()
    talk(saver, "t")
    talk(saver, "u", 2, last="approve this")
    old = list(saver.list(at("u")))[4]
    Agent().build(saver).invoke({"messages": [HumanMessage("forked", id="f")]}, old.config)
    saver.close()
    return durable


def test_a_sound_database_has_no_findings(made: Backend) -> None:
    """Nothing is reported that is as it was written."""
    saver = made.open()
    seen: list[tuple[int, int]] = []
    report = saver.verify(progress=lambda done, total: seen.append((done, total)))
    assert report.ok, str(report)
    assert not report.findings, str(report)
    assert (report.threads, seen) == (2, [(1, 2), (2, 2)])
    assert str(report) == "2 threads verified: no damage"


async def test_pruned_and_rewoven_threads_are_sound(made: Backend) -> None:
    """What went was meant to go."""
    saver = made.open()
    saver.prune(["t"])
    saver.copy_thread("u", "copy")
    saver.reweave("u")
    report = await saver.averify()
    assert report.ok, str(report)
    with pytest.raises(errors.ThreadNotFound):
        saver.verify("nobody")


def damage(made: Backend, how: str) -> None:
    """Something wrong in one place of thread t."""
    url = made.url
    where = "WHERE thread = 1 ORDER BY 1, 2, 3"
    checkpoint = Rows(url, "wyrd_checkpoints").all(where)[4]
    event = Rows(url, "wyrd_events").all(where)[2]
    write = Rows(url, "wyrd_writes").all(where)[3]
    (splice,) = splices_of(url, "t", b"ai-5")
    ids = "WHERE checkpoint = ? AND task = ?"
    if how == "splice":
        spoil_splice(url, splice, data=garbled(splice["data"]))
    elif how == "missing splice":
        Rows(url, "wyrd_splices").run(
            "DELETE FROM {} WHERE thread = 1 AND strand = ? AND seq = ?",
            splice["strand"], splice["seq"],
        )  # fmt: skip
    elif how == "parent":
        Rows(url, "wyrd_checkpoints").run(
            "UPDATE {} SET parent = ? WHERE id = ?", "1f", checkpoint["id"]
        )
    elif how == "step":
        Rows(url, "wyrd_checkpoints").run("UPDATE {} SET step = 77 WHERE id = ?", checkpoint["id"])
    elif how == "due":
        Rows(url, "wyrd_checkpoints").run(
            "UPDATE {} SET due = ? WHERE id = ?", '["nobody"]', checkpoint["id"]
        )
    elif how == "write":
        Rows(url, "wyrd_writes").run(
            f"UPDATE {{}} SET data = ? {ids} AND idx = ?",
            flipped(write["data"]), write["checkpoint"], write["task"], write["idx"],
        )  # fmt: skip
    elif how == "event":
        Rows(url, "wyrd_events").run(
            f"UPDATE {{}} SET body = ? {ids} AND n = ?",
            "{}", event["checkpoint"], event["task"], event["n"],
        )  # fmt: skip
    elif how == "missing event":
        Rows(url, "wyrd_events").run(f"DELETE FROM {{}} {ids}", event["checkpoint"], event["task"])
    elif how in ("wyrd_context", "wyrd_open_loops", "wyrd_intentions"):
        Rows(url, how).run("UPDATE {} SET rule = 'nonsense' WHERE thread = 1")
    elif how == "missing row":
        Rows(url, "wyrd_intentions").run("DELETE FROM {} WHERE thread = 1")
    elif how == "extra row":
        Rows(url, "wyrd_intentions").run("UPDATE {} SET id = 'i-else' WHERE thread = 1 "
                                         "AND id = (SELECT max(id) FROM {} WHERE thread = 1)"
                                         .replace("{}", "wyrd_intentions"))  # fmt: skip
    elif how == "title":
        Rows(url, "wyrd_threads").run("UPDATE {} SET title = 'x' WHERE id = 1")
    elif how == "head":
        Rows(url, "wyrd_threads").run("UPDATE {} SET head = '0' WHERE id = 1")
    else:
        assert how == "key"
        Rows(url, "wyrd_threads").run("UPDATE {} SET key = ? WHERE id = 1", b"x" * 32)


HOW = (
    "splice", "missing splice", "parent", "step", "due", "write", "event", "missing event",
    "wyrd_context", "wyrd_open_loops", "wyrd_intentions", "missing row", "extra row", "title",
    "head", "key",
)  # fmt: skip


@pytest.mark.inside
@pytest.mark.parametrize("how", HOW)
def test_what_is_damaged_is_found_and_repaired(made: Backend, how: str) -> None:
    """Found without being changed; put right; found no more; and all is as it was."""
    before = made.open()
    steps = [found.checkpoint for found in before.list(at("t"))]
    state = before.thread("t").working_state()
    before.close()
    damage(made, how)
    saver = made.open()
    report = saver.verify()
    assert not report.ok
    assert all(each.thread_id == "t" for each in report.findings), str(report)
    assert saver.verify().findings == report.findings, "looking changes nothing"
    repaired = saver.verify("t", repair=True)
    assert repaired.ok, str(repaired)
    assert all(each.repaired for each in repaired.damages)
    again = saver.verify(repair=True)
    assert not again.findings, str(again)
    assert [found.checkpoint for found in saver.list(at("t"))] == steps
    found = saver.thread("t").working_state()
    assert found == state
    assert not saver.thread("t").heals()


@pytest.mark.inside
def test_what_cant_be_had_back_is_moved_not_thrown_away(made: Backend) -> None:
    """A write that nobody else holds; the task runs again, the row is in wyrd_quarantine."""
    (row,) = Rows(made.url, "wyrd_writes").all("WHERE channel = '__interrupt__'")
    Rows(made.url, "wyrd_writes").run(
        "UPDATE {} SET data = ? WHERE task = ? AND idx = ?",
        garbled(row["data"]), row["task"], row["idx"],
    )  # fmt: skip
    saver = made.open()
    assert saver.verify("u", repair=True).ok
    assert saver.verify("u").ok
    (kept,) = Rows(made.url, "wyrd_quarantine").all()
    assert kept["origin"] == "wyrd_writes"
    assert "base64" in kept["data"]
    saver.delete_thread("u")
    assert not Rows(made.url, "wyrd_quarantine").all()


@pytest.mark.inside
def test_what_stays_damaged_is_told(made: Backend) -> None:
    """A splice that is nowhere else is left where it is: loads still stand in for it."""
    Rows(made.url, "wyrd_writes").run("DELETE FROM {} WHERE thread = 1")
    (row,) = splices_of(made.url, "t", b"end-7")
    spoil_splice(made.url, row, data=garbled(row["data"]))
    saver = made.open()
    before = saver.get_tuple(at("t"))
    report = saver.verify("t", repair=True)
    assert not report.ok
    assert "stays" in str(report)
    assert saver.get_tuple(at("t")) == before
    assert [each for each in report.damages if each.table == "wyrd_splices"]


@pytest.mark.inside
def test_rows_of_no_thread_are_told(made: Backend) -> None:
    """What says which thread it is is gone, and what belonged to it is still there."""
    for table, column in (("wyrd_threads", "id"), ("wyrd_names", "thread")):
        Rows(made.url, table).run(f"DELETE FROM {{}} WHERE {column} = 1")
    report = made.open().verify()
    assert not report.ok
    assert {each.table for each in report.findings} >= {"wyrd_checkpoints", "wyrd_splices"}
