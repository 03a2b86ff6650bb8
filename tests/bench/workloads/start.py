"""A new process: importing the saver on top of langgraph, opening a database, the first turn."""

from __future__ import annotations

from ..child import in_new_process
from ..graphs import Script, chat
from ..run import Bench, rotated, turn


async def run(bench: Bench) -> None:
    turns = bench.scale.short
    script = Script(turns, "start")
    async with bench.subjects(lambda saver: chat(saver, script)) as subjects:
        subjects = [subject for subject in subjects if subject.key != "memory"]
        for subject in subjects:
            for number in range(turns):
                await turn(subject.graph, script, number)
            await subject.close()
            await in_new_process("start", subject.place, turns)  # writes the bytecode
        for number in range(bench.scale.starts):
            for subject in rotated(subjects, number):
                found = await in_new_process("start", subject.place, turns + number + 1)
                for measure, value in found.items():
                    bench.figures.add("start", measure, subject.key, value)
        for subject in subjects:
            await subject.open()
