"""What the working state adds to the CPU of a turn: the same saver with it and without it."""

from __future__ import annotations

from ..cpu import cost
from ..graphs import Script, chat, plain_chat
from ..run import Bench, rotated
from ..savers import OURS

CHATS = {"plain chat": plain_chat, "tool-calling chat": chat}


async def run(bench: Bench) -> None:
    scale = bench.scale
    script = Script(1, "state")
    parts = (
        (1, scale.state_turns, scale.state_rounds),
        (scale.state_threads, scale.state_thread_turns, scale.state_crowds),
    )
    for name, build in CHATS.items():
        async with bench.subjects(lambda saver, build=build: build(saver, script)) as subjects:
            ours = [subject for subject in subjects if subject.key in OURS]
            for subject in ours:
                await cost(subject.graph, script, 3, ["warm"], subject.key, "warm")
            for threads, turns, rounds in parts:
                for number in range(rounds):
                    for subject in rotated(ours, number):
                        names = [f"{threads}-{number}-{each}" for each in range(threads)]
                        words = name, subject.key, threads, number
                        found = await cost(subject.graph, script, turns, names, *words)
                        bench.figures.add("state", cpu_of(name, threads), subject.key, found.cpu)


def cpu_of(chat: str, threads: int) -> str:
    return f"CPU of a turn, {chat}, {threads} thread{'s' * (threads > 1)}, ms"
