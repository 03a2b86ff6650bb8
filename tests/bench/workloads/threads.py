"""Many threads at once: turns a second."""

from __future__ import annotations

import asyncio

from ..graphs import Script, chat
from ..run import Bench, clock, rotated, turn
from ..savers import Subject


async def run(bench: Bench) -> None:
    scale = bench.scale
    script = Script(1, "threads")

    async def one(subject: Subject, name: str, said: Script) -> None:
        config = {"configurable": {"thread_id": name}}
        for number in range(scale.thread_turns):
            await turn(subject.graph, said, number, config)

    async with bench.subjects(lambda saver: chat(saver, script)) as subjects:
        for subject in subjects:
            await one(subject, "warm", script.chat(scale.thread_turns, subject.key, "warm"))
        for around in range(scale.rounds):
            for subject in rotated(subjects, around):
                script.chats.clear()
                names = [f"{around}-{number}" for number in range(scale.threads)]
                said = [script.chat(scale.thread_turns, subject.key, name) for name in names]
                chats = zip(names, said, strict=True)
                took = await clock(asyncio.gather(*(one(subject, *each) for each in chats)))
                speed = scale.threads * scale.thread_turns / took * 1000
                bench.figures.add("threads", "turns a second", subject.key, speed)
