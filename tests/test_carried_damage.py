"""What is damaged does not pass for good where it is copied, pruned or written down."""

from __future__ import annotations

import json
import logging
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from langgraph_wyrd import Channels, WyrdSaver, errors, port
from tests.conftest import Backend
from tests.damage import Rows, at

pytestmark = pytest.mark.inside


class Out(TypedDict, total=False):
    out: Annotated[list[str], operator.add]


def says(saver: Any, turns: int = 3) -> list[str]:
    """A thread whose runs name a tenant; its checkpoints, newest first."""
    builder = StateGraph(Out)
    builder.add_node("a", lambda state: {"out": ["a"]})
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=saver)
    for _ in range(turns):
        graph.invoke({"out": ["in"]}, {**at("t"), "metadata": {"tenant": "alice"}})
    return [each.checkpoint["id"] for each in saver.list(at("t"))]


def tampered(url: str, id: str) -> None:
    """More of a checkpoint's row than one byte is another."""
    rows = Rows(url, "wyrd_checkpoints")
    held = rows.all("WHERE id = ?", id)[0]["metadata"]
    if isinstance(held, dict):
        held = json.dumps(held)
    rows.run("UPDATE {} SET metadata = ? WHERE id = ?", held.replace("alice", "mallory"), id)


@pytest.mark.parametrize("how", ["copy", "keep_latest", "runs"])
def test_a_damaged_checkpoint_stays_one(durable: Backend, how: str) -> None:
    """Its row is written anew under another number, or with another parent: no load, and no repair,
    takes it for what was written."""
    with durable.open() as saver:
        ids = says(saver)
        run = saver.get_tuple(at("t", ids[-1])).metadata.get("run_id")
    tampered(durable.url, ids[0])
    thread = "u" if how == "copy" else "t"
    with durable.open() as saver:
        if how == "copy":
            saver.copy_thread("t", "u")
        elif how == "keep_latest":
            saver.prune(["t"], strategy="keep_latest")
        elif run is not None:
            saver.delete_for_runs([run])
        for _ in range(2):
            with pytest.raises(errors.CheckpointDamaged):
                saver.get_tuple(at(thread, ids[0]))
        saver.verify(thread, repair=True)
        for found in saver.list(at(thread)):
            assert found.metadata.get("tenant") == "alice"


def test_what_was_said_is_not_written_down_as_good(
    durable: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An export reads the ledger as every load does: what is damaged is left out, and told. A copy
    leaves the thread alone."""
    with durable.open() as saver:
        says(saver)
        saver.thread("t").add_todo("pay Ada 1000 euros")
    rows = Rows(durable.url, "wyrd_events")
    (row,) = [each for each in rows.all() if "pay Ada" in str(each["body"])]
    rows.run(
        "UPDATE {} SET body = ? WHERE task = ?", row["body"].replace("1000", "9977"), row["task"]
    )
    path = tmp_path / "t.json"
    with durable.open() as saver:
        saver.thread("t").export(path, payloads=True)
        assert "9977" not in path.read_text()
        assert [heal.kind for heal in saver.thread("t").heals()] == ["left_out"]
        with WyrdSaver.from_conn_string(":memory:") as other:
            with caplog.at_level(logging.WARNING, "langgraph_wyrd"):
                assert port.copy(saver, other).threads == 0
            assert "of thread 't' says in the ledger is damaged" in caplog.text
            assert not other.thread("t").working_state().todos
            saver.verify(repair=True)
            assert port.copy(saver, other).there
            assert not other.thread("t").working_state().todos


def test_a_users_value_that_is_lost(durable: Backend, tmp_path: Path) -> None:
    """An export leaves out what the task wrote, as loads do, and comes to its end."""

    def ask(state: Out) -> Out:
        return {"out": [interrupt("?")]}

    channels = Channels(user={"out"})
    builder = StateGraph(Out)
    for name, node in (("a", lambda state: {"out": ["of ann"]}), ("ask", ask)):
        builder.add_node(name, node)
        builder.add_edge(START, name)
    with durable.open(channels=channels) as saver:
        builder.compile(checkpointer=saver).invoke({"out": ["in"]}, at("t", user="ann"))
    strands = {row["strand"] for row in Rows(durable.url, "wyrd_user_data").all()}
    for strand in strands:
        Rows(durable.url, "wyrd_user_data").run("DELETE FROM {} WHERE strand = ?", strand)
    with durable.open(channels=channels) as saver:
        saver.thread("t").export(tmp_path / "t.json", payloads=True)
        assert saver.thread("t").heals()
        saver.import_thread(tmp_path / "t.json", "u")
        found = saver.get_tuple(at("u"))
        assert [write[1] for write in found.pending_writes] == ["__interrupt__"]
