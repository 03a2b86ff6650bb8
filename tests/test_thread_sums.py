"""A row of a thread does not pass for one of its copy, though all else of it may be the same."""

from __future__ import annotations

import logging
import re
from typing import Any, TypedDict

import pytest
from conftest import Backend
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from langgraph_wyrd.store import thread_sums
from langgraph_wyrd.store.sql import Sql
from langgraph_wyrd.store.statements import Ask, Tell
from tests.damage import Rows, at

pytestmark = pytest.mark.inside

SEALING: list[Any] = [{}, {"keys": {"k": bytes(range(32))}}]


def answered(durable: Backend, sealing: Any) -> dict[str, str]:
    """A thread and its copy: both were asked the same, and answered otherwise."""

    class State(TypedDict, total=False):
        said: str

    def ask(state: State) -> State:
        interrupt("who is asked next?")
        return {"said": interrupt("may I?")}

    with durable.open(**sealing) as saver:
        graph = StateGraph(State).add_node(ask).add_edge(START, "ask").compile(checkpointer=saver)
        graph.invoke({"said": ""}, at("t"))
        graph.invoke(Command(resume="nobody"), at("t"))
        saver.thread("t").add_todo("call Ben")
        saver.thread("t").label("here")
        saver.copy_thread("t", "copy")
        for thread, answer in (("t", "yes"), ("copy", "no")):
            saver.thread(thread).add_todo(f"tell that it is {answer}")
            config = saver.get_tuple(at(thread)).config
            task = saver.get_tuple(at(thread)).pending_writes[0][0]
            saver.put_writes(config, [("said", answer)], task)
        assert saver.verify().ok
    return {row["thread_id"]: row["id"] for row in Rows(durable.url, "wyrd_threads").all()}


def told(saver: Any, thread: str) -> list[Any]:
    return [value for _, channel, value in saver.get_tuple(at(thread)).pending_writes
            if channel == "said"]  # fmt: skip


@pytest.mark.parametrize("sealing", SEALING, ids=["plain", "sealed"])
def test_an_answer_in_the_place_of_the_copys(
    durable: Backend, sealing: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Both wrote at the same checkpoint, as the same task: neither takes what the other did."""
    numbers = answered(durable, sealing)
    rows = Rows(durable.url, "wyrd_writes")
    held = {n: rows.all("WHERE thread = ? AND channel = 'said'", n) for n in numbers.values()}
    one, two = (held[numbers[name]][-1] for name in ("t", "copy"))
    assert (one["checkpoint"], one["task"], one["idx"]) == (
        two["checkpoint"], two["task"], two["idx"]
    )  # fmt: skip
    for mine, other in ((one, two), (two, one)):
        rows.run(
            "UPDATE {} SET data = ?, shape = ?, sum = ? WHERE thread = ? AND checkpoint = ?"
            " AND task = ? AND idx = ?",
            other["data"], other["shape"], other["sum"],
            *(mine[name] for name in ("thread", "checkpoint", "task", "idx")),
        )  # fmt: skip
    with durable.open(**sealing) as saver, caplog.at_level(logging.WARNING):
        assert told(saver, "t") == told(saver, "copy") == []
        assert [heal.kind for heal in saver.thread("t").heals()] == ["left_out"]
        assert {found.table for found in saver.verify().damages} == {"wyrd_writes"}
    assert "left out" in caplog.text


@pytest.mark.parametrize("table", ["splices", "writes", "events", "labels"])
def test_a_row_that_moved_to_the_copy(durable: Backend, table: str) -> None:
    """Only the number of its thread is another: it is damage there."""
    numbers = answered(durable, {})
    rows = Rows(durable.url, f"wyrd_{table}")
    (*_, row) = rows.all("WHERE thread = ?", numbers["t"])
    keys = {
        name: row[name]
        for name in ("ns", "checkpoint", "task", "idx", "n", "name", "strand", "seq", "part")
        if name in row
    }
    where = " AND ".join(f"{name} = ?" for name in keys)
    rows.run(f"DELETE FROM {{}} WHERE thread = ? AND {where}", numbers["copy"], *keys.values())
    rows.run(
        f"UPDATE {{}} SET thread = ? WHERE thread = ? AND {where}",
        numbers["copy"], numbers["t"], *keys.values(),
    )  # fmt: skip
    with durable.open() as saver:
        found = [each for each in saver.verify("copy").damages if each.table == f"wyrd_{table}"]
        assert found
        saver.verify(repair=True)
        assert not [each for each in saver.verify("copy").damages if each.table == f"wyrd_{table}"]


def test_every_statement_with_such_a_checksum_is_known() -> None:
    """Whichever reads or writes one: the checksum stands where it is said to."""
    for dialect in ("sqlite", "postgres"):
        found = {}
        for name, text in Sql(dialect)._texts.items():
            if name.startswith("copy_") or not re.search(
                r"wyrd_(splices|writes|events|labels)\b", text
            ):
                continue
            given = re.match(r"INSERT INTO wyrd_(?:splices|writes|events|labels) \((.*?)\)", text)
            flat, last = text, ""
            while flat != last:  # without what is read inside of brackets
                flat, last = re.sub(r"\([^()]*\)", "_", flat), flat
            columns = given or re.match(r"(?:WITH page AS _ )?SELECT (.*?) FROM", flat)
            names = (
                [part.strip().split(".")[-1] for part in columns[1].split(",")] if columns else []
            )
            if "sum" in names:
                found[name] = names.index("sum")
    assert found == thread_sums.SUMS


def test_what_is_no_checksum_stays() -> None:
    """One that nobody could tell, and one of another type."""
    row = (1, "n", "c", "now", 0, "[]", "[]", "{}", None)
    assert thread_sums.put_on(Tell("put_label", [row])) == [row]
    damaged = ("c", "t", 0, "todo", "open", "i", "{}", "{}", "no number")
    assert thread_sums.taken_off(Ask("events", (3, "", "", "")), [damaged]) == [damaged]
    assert thread_sums.put_on(Tell("drop_events", [(1,)])) == [(1,)]
    assert thread_sums.over(1) != thread_sums.over(2)
    assert thread_sums.over(7) ^ thread_sums.moved(7, 9) == thread_sums.over(9)
