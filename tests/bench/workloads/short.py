"""Short chats, the common case: what a turn costs above the same graph without a checkpointer."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

from ..cpu import Cost, cost
from ..graphs import Script, chat
from ..run import Bench, rotated
from ..savers import Subject

ALONE = "alone"


async def run(bench: Bench) -> None:
    scale = bench.scale
    script = Script(1, "short")
    graph = chat(None, script)
    parts = (
        # turns, threads, rounds, turns whose wall time is taken
        (scale.short, 1, scale.short_rounds, 0),
        (scale.short, scale.short_threads, scale.crowd_rounds, 0),
        (scale.middle, 1, scale.middle_rounds, scale.first),
    )
    async with bench.subjects(lambda saver: chat(saver, script)) as subjects:
        for subject in [None, *subjects]:
            await _chats(subject, graph, script, scale.short, 1, "warm")
        for turns, threads, rounds, first in parts:
            cpu: dict[str, list[float]] = defaultdict(list)
            for number in range(rounds):
                for subject in rotated([None, *subjects], number):
                    at = f"{turns}-{threads}-{number}"
                    found = await _chats(subject, graph, script, turns, threads, at, first)
                    key = subject.key if subject else ALONE
                    cpu[key].append(found.cpu)
                    if first and subject:
                        bench.figures.add("short", wall_of(first), key, found.wall)
            alone = statistics.median(cpu.pop(ALONE))
            words = cpu_of(threads, turns)
            bench.say(f"  {words}: the graph alone takes {alone:.2f} ms a turn")
            for key, spent in cpu.items():
                bench.figures.add("short", words, key, *(each - alone for each in spent))


def cpu_of(threads: int, turns: int) -> str:
    many = "s" * (threads > 1)
    return f"CPU of a turn above the graph alone, {threads} thread{many} x {turns} turns, ms"


def wall_of(turns: int) -> str:
    return f"time a turn over the first {turns} turns, ms"


async def _chats(
    subject: Subject | None,
    graph: Any,
    script: Script,
    turns: int,
    threads: int,
    at: str,
    first: int = 0,
) -> Cost:
    if subject is None:
        return await cost(graph, script, turns, [None] * threads, ALONE, at, first=first)
    names = [f"{at}-{number}" for number in range(threads)]
    found = await cost(subject.graph, script, turns, names, subject.key, at, first=first)
    if subject.key == "memory":
        # What it holds would be walked by every garbage collection from now on, everybody's.
        for name in names:
            subject.saver.delete_thread(name)
    return found
