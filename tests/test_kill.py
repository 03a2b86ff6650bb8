"""Processes killed at any moment: samples of `tests.campaigns.kill` and `tests.campaigns.tools`."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base.id import uuid6

from langgraph_wyrd.middleware import WyrdMiddleware
from tests.campaigns import kill, tools
from tests.conftest import Backend
from tests.providers import Strict

pytestmark = pytest.mark.timeout(300, method="thread")


def test_a_killed_process_loses_nothing_and_every_run_resumes(durable: Any, tmp_path: Path) -> None:
    """Kills in a row on one database: acknowledged writes are kept, results are right."""
    seen = kill.campaign(durable.url, tmp_path / "journal", 3, random.Random(3))
    assert seen["kills"]  # three, unless the work was over before a busy machine got to it
    assert seen["checkpoints"] > 100
    assert seen["writes"] > 200


def test_a_killed_tool_is_paid_once_at_most_and_never_without_a_trace(
    durable: Backend, tmp_path: Path
) -> None:
    """Five processes killed 0 to 30 ms after the model asked, or the tool began; and five more,
    until one of them came as far as to pay."""
    durable.open().setup()
    seen: Counter[str] = Counter()
    dice, count = random.Random(5), 0
    while not seen["paid before the kill"]:
        seen += tools.campaign(durable.url, tmp_path, 5, dice, first=count)
        count += 5
    assert seen["kills"] + seen["over before"] == count


async def test_a_note_without_its_checkpoint_is_reported(
    durable: Backend, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A call that was noted as begun at a checkpoint that is not there is reported by the brief of
    `resume`, in the log, and to the model that goes on, once."""
    config: Any = {"configurable": {"thread_id": "t"}}
    asked: list[Any] = []

    def answer(messages: list[Any]) -> AIMessage:
        asked.append(messages)
        return AIMessage("fine")

    def agent_of(saver: Any) -> Any:
        return create_agent(
            Strict(rule=answer), [], middleware=[WyrdMiddleware()], checkpointer=saver
        )

    saver = durable.open()
    await call(agent_of(saver), "invoke", {"messages": [HumanMessage("hello")]}, config)
    note = {"call": "c1", "name": "pay", "at": "2026-11-19T09:00:00+00:00"}
    gone = {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": str(uuid6())}
    writes = [("__wyrd_started__", note)]
    await call(saver, "put_writes", {"configurable": gone}, writes, "started/task/c1")
    says = "pay (call c1) was begun at 2026-11-19T09:00:00+00:00, and its checkpoint is not stored"
    other = durable.open()
    assert says in (await call(other, "resume", "t")).brief
    assert says in (await call(other, "latest")).brief
    assert says in caplog.text
    graph = agent_of(other)
    for _ in range(2):
        await call(graph, "invoke", {"messages": [HumanMessage("go on")]}, config)
    told = [says in str(messages) for messages in asked]
    assert told == [False, True, False]
    assert (await call(saver, "get_tuple", config)).checkpoint["channel_values"]["messages"]
