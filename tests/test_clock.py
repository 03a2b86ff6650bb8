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
