"""What the pillars add to a thread is what they say, not its length."""

from __future__ import annotations

import statistics
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint

from tests.conftest import Backend
from tests.test_deltas import at, prose, stored_bytes


def grown(durable: Backend, thread: str, pillars: bool, values: list[dict[str, Any]]) -> list[int]:
    """How many bytes the database grows by with each of these successive states."""
    saver, config, version, sizes = durable.open(pillars=pillars), at(thread), None, []
    before = stored_bytes(durable)
    for value in values:
        version = saver.get_next_version(version, None)
        versions = dict.fromkeys(value, version)
        made = {**empty_checkpoint(), "channel_values": value, "channel_versions": versions}
        config = saver.put(config, made, {"source": "loop", "step": 1}, versions)
        after = stored_bytes(durable)
        sizes.append(after - before)
        before = after
    saver.close()
    return sizes


def test_a_long_conversation_costs_no_more_a_turn_than_a_short_one(durable: Backend) -> None:
    """The seventieth turn adds as much to the pillars as the tenth."""
    said: list[Any] = []
    states = []
    for turn in range(70):
        said = [*said, HumanMessage(f"Find {prose(60, turn)}", id=f"h{turn}")]
        states.append({"messages": said})
        said = [*said, AIMessage(prose(60, turn), id=f"a{turn}")]
        states.append({"messages": said})
    plain = grown(durable, "plain", False, states)
    read = grown(durable, "read", True, states)
    added = [a - b for a, b in zip(read, plain, strict=True)]
    turns = [added[n] + added[n + 1] for n in range(0, 140, 2)]
    assert statistics.median(turns[55:]) <= 1.1 * statistics.median(turns[10:30])
    assert sum(turns) <= 1.35 * 70 * statistics.median(turns), "with a base every 64"


def test_a_big_value_costs_the_pillars_a_line(durable: Backend) -> None:
    """Of a channel that is large and changes at each step, the ledger holds a few words a step."""
    states = [{"report": f"{n} " + prose(8000, n)} for n in range(20)]
    plain = grown(durable, "plain", False, states)
    read = grown(durable, "read", True, states)
    assert sum(read[5:]) - sum(plain[5:]) <= 15 * 1000
