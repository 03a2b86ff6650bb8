"""The working state read again where a thread has snapshots, and where some of it is damaged."""

from __future__ import annotations

import logging
import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.state.model import Todo, WorkingState
from langgraph_wyrd.storage.tables import CHECKPOINTS, JOURNAL, SNAPSHOTS
from tests.conftest import Backend
from tests.damage import Rows, garbled
from tests.handmade import config, put
from tests.programs import states_of
from tests.raw_rows import replace, stored

STEPS = 24


def steps(saver: WyrdSaver, count: int = STEPS) -> list[str]:
    """A thread whose steps are large enough for snapshots; the ids of its checkpoints."""
    noise, said, ids, parent = random.Random(1), [], [], None
    for step in range(count):
        said.append(HumanMessage(f"step {step}?", id=f"m{step}"))
        todos = [{"content": f"todo {n}", "status": "pending"} for n in range(step + 1)]
        values = {"messages": [*said], "todos": todos, "report": noise.randbytes(3000)}
        parent = put(saver, "t", values, parent=parent)
        ids.append(parent["configurable"]["checkpoint_id"])
    return ids


def spoil(url: str, *ids: str) -> None:
    for row in stored(url, CHECKPOINTS):
        if row.id in ids:
            replace(url, CHECKPOINTS, row, row._replace(delta=garbled(bytes(row.delta))))


def todos_of(state: WorkingState) -> list[Todo]:
    return [todo for todo in state.todos if todo.open]


def test_a_snapshot_keeps_the_head_of_a_damaged_thread(
    durable: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    """Where older checkpoints can't be restored, the newer ones load as before: what their
    snapshots hold is nowhere else."""
    saver = durable.open()
    ids = steps(saver)
    before, state = saver.get_tuple(config("t")), saver.thread("t").working_state()
    assert stored(durable.url, SNAPSHOTS)
    spoil(durable.url, *ids[2:5])
    again = durable.open()
    again.reextract()
    assert durable.open().get_tuple(config("t")) == before
    assert durable.open().thread("t").working_state() == state
    assert f"at {ids[2]} can't be read again" in caplog.text


def test_what_can_be_restored_is_restored_first(
    durable: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    """One damaged row costs nothing: it is restored before the working state is read."""
    saver = durable.open(pillars=False)
    ids = steps(saver)
    spoil(durable.url, ids[0])
    again = durable.open()
    with caplog.at_level(logging.WARNING, "langgraph_wyrd"):
        again.reextract("t")
    assert "can't be read again" not in caplog.text
    assert len(todos_of(again.thread("t").working_state(at=ids[0]))) == 1


@pytest.mark.parametrize("way", ["all", "put"])
def test_snapshots_hold_what_was_read_again(durable: Backend, way: str) -> None:
    """Snapshots of a saver that read no working state hold the one that is read of them later:
    by `reextract`, or before the next put."""
    ids = steps(durable.open(pillars=False))
    saver = durable.open()
    if way == "all":
        saver.reextract()
    else:
        put(saver, "t", {"messages": [HumanMessage("more", id="more")]}, parent=ids[-1])
    assert all(row.state for row in stored(durable.url, SNAPSHOTS) if not row.channel)
    found = states_of(durable.open(), "t")
    assert [len(todos_of(found[id])) for id in ids] == [*range(1, STEPS + 1)]
    assert saver.verify().ok


@pytest.mark.parametrize("way", ["all", "put"])
def test_a_snapshot_is_read_where_nothing_before_it_can_be(durable: Backend, way: str) -> None:
    """A thread that no saver has read, and of which the oldest rows are lost: what the snapshots
    hold is read all the same."""
    ids = steps(durable.open(pillars=False))
    spoil(durable.url, *ids[1:4])
    saver = durable.open()
    if way == "all":
        saver.reextract()
    else:
        put(saver, "t", {"messages": [HumanMessage("more", id="more")]}, parent=ids[-1])
    assert len(todos_of(durable.open().thread("t").working_state(at=ids[-1]))) == STEPS


def deciding(saver: WyrdSaver) -> list[str]:
    """A thread whose agent decides something in each step; the ids of its checkpoints."""
    said: list[Any] = []
    ids, parent = [], None
    for step in range(8):
        args = {"decision": f"use {step}", "id": f"d{step}"}
        call = {"name": "note_decision", "args": args, "id": f"call-{step}"}
        said += [
            AIMessage("", id=f"a{step}", tool_calls=[call]),
            ToolMessage("Noted.", id=f"t{step}", tool_call_id=f"call-{step}"),
        ]
        parent = put(saver, "t", {"messages": [*said]}, parent=parent)
        ids.append(parent["configurable"]["checkpoint_id"])
    return ids


@pytest.mark.parametrize("count", [1, 2])
def test_what_was_decided_at_a_checkpoint_that_is_lost(durable: Backend, count: int) -> None:
    """Its journal rows stay: nothing else says what the agent decided there."""
    saver = durable.open()
    ids = deciding(saver)
    decided = [row.item for row in stored(durable.url, JOURNAL)]
    assert len(decided) == 8
    rows = Rows(durable.url, "wyrd_checkpoints")
    for id in ids[-count:]:
        rows.run("DELETE FROM {} WHERE id = ?", id)
    again = durable.open()
    again.reextract()
    assert sorted(row.item for row in stored(durable.url, JOURNAL)) == sorted(decided)
    state = durable.open().thread("t").working_state()
    assert len([loop for loop in state.loops if loop.kind == "decision"]) == 8


@pytest.mark.parametrize("way", ["prune", "branch"])
def test_what_is_declared_later_on_the_path_is_not_said_elsewhere(
    durable: Backend, way: str
) -> None:
    """Also where the path begins at a checkpoint whose state is looked up: one that a prune kept,
    or that lies far back."""
    saver, noise = durable.open(), random.Random(2)
    ids = steps(saver, 70 if way == "branch" else 3)
    at = ids[2]
    if way == "prune":
        saver.prune(["t"])
    for step in range(8):
        more = HumanMessage(f"more {step}", id=f"n{step}")
        values = {"messages": [more], "report": noise.randbytes(3000)}
        at = put(saver, "t", values, parent=at)["configurable"]["checkpoint_id"]
        if step == 0:
            saver.thread("t").edit(by="ann", auto_save=True).add_open_loop("waits for Tom")
    assert any(row.checkpoint > ids[-1] for row in stored(durable.url, SNAPSHOTS))
    before = saver.thread("t").working_state()
    saver.reextract("t")
    for each in (saver, durable.open()):
        (loop,) = [loop for loop in each.thread("t").working_state().loops if loop.kind == "note"]
        assert not loop.elsewhere
        assert each.thread("t").working_state() == before
