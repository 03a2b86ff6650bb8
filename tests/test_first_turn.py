"""The first turn of a fork, or in a new process, reads what it needs once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver
from tests.bench.graphs import Script, chat
from tests.conftest import Backend

pytestmark = pytest.mark.inside

THREAD: Any = {"configurable": {"thread_id": "t"}}


async def talk(saver: WyrdSaver, turns: range, where: Any = THREAD) -> None:
    graph = chat(saver, Script(40, "first turn"))
    for number in turns:
        message = Script(40, "first turn").human(4 * number)
        await graph.ainvoke({"messages": [message]}, where)


async def test_a_new_process_reads_once(durable: Backend, asked: Counter[str]) -> None:
    """Of the first turn's writes one looks at the ledger; the others wait for it, and know."""
    saver = durable.open()
    await talk(saver, range(3))
    await saver.aclose()
    saver = durable.open()
    await saver.asetup()
    asked.clear()
    await talk(saver, range(3, 4))
    assert (asked["lock_thread"], asked["top"]) == (1, 1)
    assert asked["round trips"] <= 11
    asked.clear()
    await talk(saver, range(4, 5))
    assert (asked["lock_thread"], asked["top"], asked["steps"]) == (0, 0, 0)


async def test_a_fork_reads_once(durable: Backend, asked: Counter[str]) -> None:
    """The same for the first turn from an earlier checkpoint, on the path of the head or not."""
    saver = durable.open()
    await talk(saver, range(8))
    found = [each.config async for each in saver.alist(THREAD)]
    for number, where in enumerate((found[5], found[12], found[2]), 8):
        asked.clear()
        await talk(saver, range(number, number + 1), where)
        assert asked["lock_thread"] == 1
        assert asked["round trips"] <= 22
