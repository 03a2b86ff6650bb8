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
