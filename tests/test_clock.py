"""A clock that jumps backwards between two runs, as after a restart of a machine that was ahead."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import id as ids
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import Backend
from tests.damage import Agent, at
from tests.handmade import checkpoint, config, put


@contextmanager
def clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> Iterator[None]:
    """As in a process of its own on a machine whose clock is off by so much."""
    now, precise = time.time, time.time_ns
    with monkeypatch.context() as patch:
        patch.setattr(ids, "_last_v6_timestamp", None)
        patch.setattr(time, "time", lambda: now() + seconds)
        patch.setattr(time, "time_ns", lambda: precise() + int(seconds * 1e9))
        yield


async def two_runs(saver: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a second run answers whose clock is an hour behind, and what is seen of it later."""
    graph = Agent().build(saver)
    seen = []
    for turn, seconds in enumerate((0, -3600)):
        with clock(monkeypatch, seconds):
            said = HumanMessage("go", id=f"h{turn}")
            seen.append((await graph.ainvoke({"messages": [said]}, at("t")))["messages"])
    seen.append((await graph.aget_state(at("t"))).values["messages"])
    past = [each async for each in graph.aget_state_history(at("t"))]
    seen.append([(each.metadata["step"], each.values.get("messages")) for each in past])
    return seen


@pytest.mark.parametrize("single_writer", [False, True])
async def test_a_clock_that_jumps_back(
    durable: Backend, single_writer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is not disturbed; what is seen of it is as with InMemorySaver; nothing is damaged,
    and the ledger says what the checkpoints do."""
    saver = durable.open(single_writer=single_writer)
    found = await two_runs(saver, monkeypatch)
    assert found == await two_runs(InMemorySaver(), monkeypatch)
    report = saver.verify()
    assert report.ok, str(report)
    assert ["two clocks differed" in each.what for each in report.findings] == [True]
    before = saver.thread("t").working_state()
    saver.reextract("t")
    assert saver.thread("t").working_state() == before


@pytest.mark.parametrize("other", [False, True], ids=["the same saver", "another saver"])
async def test_a_deleted_thread_begun_anew_by_a_clock_behind(
    durable: Backend, other: bool, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its ids sort before those that were deleted: the run is as on a new thread all the same, and
    nothing of it is taken for late, or for damaged."""
    saver = durable.open()
    graph = Agent().build(saver)
    said = {"messages": [HumanMessage("go", id="h")]}
    wanted = (await call(graph, "invoke", said, at("t")))["messages"]
    await call(saver, "delete_thread", "t")
    if other:
        saver = durable.open()
        graph = Agent().build(saver)
    with clock(monkeypatch, -3600):
        assert (await call(graph, "invoke", said, at("t")))["messages"] == wanted
        assert not saver.thread("t").heals()
        report = saver.verify("t")
        assert not report.findings, str(report)
    assert (await call(graph, "invoke", None, at("t")))["messages"] == wanted


def test_a_run_that_began_before_the_deletion(durable: Backend) -> None:
    """A run draws its first id, another one stores checkpoints and the thread is deleted, then the
    first run's beginning arrives: it is a new thread, without damage, as with InMemorySaver."""
    saver = durable.open()
    early = checkpoint({"log": ["early"]})
    put(saver, "t", {"log": ["late"]})
    saver.delete_thread("t")
    metadata: Any = {"source": "input", "step": -1, "parents": {}}
    head = saver.put(config("t"), early, metadata, early["channel_versions"])
    saver.put_writes(head, [("log", "a")], "task")
    put(saver, "t", {"log": ["early", "a"]}, parent=head)
    for each in (saver, durable.open()):
        assert [tuple_.checkpoint["channel_values"] for tuple_ in each.list(config("t"))] == [
            {"log": ["early", "a"]},
            {"log": ["early"]},
        ]
    report = saver.verify("t")
    assert not report.findings, str(report)
