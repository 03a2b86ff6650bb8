"""Many threads at once: turns a second."""

from __future__ import annotations

import asyncio

from ..graphs import Script, chat
from ..run import Bench, clock, rotated, turn
from ..savers import Subject


async def run(bench: Bench) -> None:
    scale = bench.scale
    script = Script(scale.thread_turns, "threads")

    async def one(subject: Subject, name: str) -> None:
        config = {"configurable": {"thread_id": name}}
        for number in range(scale.thread_turns):
            await turn(subject.graph, script, number, config)

    async with bench.subjects(lambda saver: chat(saver, script)) as subjects:
        for subject in subjects:
            await one(subject, "warm")
        for around in range(scale.rounds):
            for subject in rotated(subjects, around):
                names = [f"{around}-{number}" for number in range(scale.threads)]
                took = await clock(asyncio.gather(*(one(subject, name) for name in names)))
                speed = scale.threads * scale.thread_turns / took * 1000
                bench.figures.add("threads", "turns a second", subject.key, speed)
