"""A thread resumed cold, by a process that has never seen it."""

from __future__ import annotations

from ..child import in_new_process
from ..run import Bench, rotated


async def run(bench: Bench) -> None:
    turns = bench.scale.turns[1]
    subjects = [one for one in await bench.chats(turns) if one.key != "memory"]
    for subject in subjects:
        await subject.close()
    for number in range(bench.scale.resumes):
        for subject in rotated(subjects, number):
            found = await in_new_process("resume", subject.place, turns + number * 3)
            for measure, value in found.items():
                bench.figures.add("resume", measure, subject.key, value)
    for subject in subjects:
        await subject.open()
