"""CPU time of this process and wall time of whole chats, with a checkpointer and without one."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .graphs import MESSAGES_A_TURN, Script

# A saver may go on working after it has answered, for example to write a snapshot. That counts too.
BACKGROUND = 0.03


@dataclass(frozen=True)
class Cost:
    """Milliseconds a turn."""

    cpu: float
    wall: float


async def talk(
    graph: Any, script: Script, turns: int, thread: str | None, passed: Callable[[int], None]
) -> None:
    """A whole chat. Without a thread the caller carries the messages from turn to turn."""
    said: list[Any] = []
    for number in range(turns):
        human = script.human(number * MESSAGES_A_TURN)
        if thread is None:
            said = (await graph.ainvoke({"messages": [*said, human]}))["messages"]
        else:
            await graph.ainvoke({"messages": [human]}, {"configurable": {"thread_id": thread}})
        passed(number + 1)


async def cost(
    graph: Any, script: Script, turns: int, threads: Sequence[str | None], *words: object,
    first: int = 0,
) -> Cost:  # fmt: skip
    """CPU of all turns of these chats at once, and wall time of the `first` turns, or of all.

    `words` names what is said, which nothing that was measured before has read."""
    script.chats.clear()
    scripts = [script.chat(turns, *words, number) for number in range(len(threads))]
    gc.collect()
    first = first or turns
    ended = began = time.perf_counter()

    def passed(turn: int) -> None:
        nonlocal ended
        if turn == first:
            ended = time.perf_counter()

    cpu = time.process_time()
    chats = zip(scripts, threads, strict=True)
    await asyncio.gather(*(talk(graph, each, turns, name, passed) for each, name in chats))
    await asyncio.sleep(BACKGROUND)
    spent = time.process_time() - cpu
    count = len(threads)
    return Cost(spent / (turns * count) * 1000, (ended - began) / (first * count) * 1000)
