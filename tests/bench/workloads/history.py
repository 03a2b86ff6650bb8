"""Reading a long chat: the head, pages of history, and old checkpoints."""

from __future__ import annotations

import time
from typing import Any

from ..run import THREAD, Bench, clock, rotated
from ..savers import Subject


async def run(bench: Bench) -> None:
    turns = bench.scale.turns[1]
    subjects = await bench.chats(turns)
    old = {subject.key: await old_checkpoints(subject, bench.scale.reads) for subject in subjects}
    for number in range(bench.scale.reads):
        for subject in rotated(subjects, number):
            saver, graph = subject.saver, subject.graph
            at = old[subject.key][number % len(old[subject.key])]
            cpu = time.process_time()
            await saver.aget_tuple(THREAD)
            cpu = (time.process_time() - cpu) * 1000
            took = {
                "get_tuple of the head, CPU ms": cpu,
                "get_tuple of the head, ms": await clock(saver.aget_tuple(THREAD)),
                "get_tuple of an old checkpoint, ms": await clock(saver.aget_tuple(at)),
                "alist(limit=10), ms": await clock(_drain(saver.alist(THREAD, limit=10))),
                "get_state_history(limit=10), ms": await clock(
                    _drain(graph.aget_state_history(THREAD, limit=10))
                ),
                "get_state of an old checkpoint, ms": await clock(graph.aget_state(at)),
            }
            for measure, value in took.items():
                bench.figures.add("history", measure, subject.key, value)


async def _drain(found: Any) -> int:
    count = 0
    async for _ in found:
        count += 1
    return count


async def old_checkpoints(subject: Subject, count: int) -> list[Any]:
    """Checkpoints spread over the thread, found without listing it whole."""
    found: list[Any] = []
    state = await subject.graph.aget_state(THREAD)
    steps = state.metadata["step"]
    wanted = {round(steps * (n + 0.5) / count) for n in range(count)}
    for step in sorted(wanted):
        async for item in subject.saver.alist(THREAD, filter={"step": step}, limit=1):
            found.append(item.config)
    return found
