"""Forks: from old checkpoints of one chat, a few turns each in another direction."""

from __future__ import annotations

from ..graphs import Script, chat
from ..places import bytes_at_rest
from ..run import THREAD, Bench, rotated, turn
from .history import old_checkpoints

NEW = 10_000  # turns numbered so high that no message of a fork takes an id of the chat's


async def run(bench: Bench) -> None:
    scale = bench.scale
    script = Script(scale.fork_base, "base")
    async with bench.subjects(lambda saver: chat(saver, script)) as subjects:
        before = {}
        starts = {}
        for subject in subjects:
            for number in range(scale.fork_base):
                await turn(subject.graph, script, number)
            await subject.close()
            before[subject.key] = bytes_at_rest(subject.place, subject.saver)
            await subject.open()
            starts[subject.key] = await old_checkpoints(subject, scale.forks)
        for fork in range(scale.forks):
            other = Script(scale.fork_turns, "fork", fork)
            for subject in rotated(subjects, fork):
                graph = chat(subject.saver, other)
                first = await turn(graph, other, NEW, starts[subject.key][fork])
                bench.figures.add("forks", "first turn of a fork, ms", subject.key, first)
                for number in range(1, scale.fork_turns):
                    later = await turn(graph, other, NEW + number, THREAD)
                    bench.figures.add("forks", "later turns of a fork, ms", subject.key, later)
        for subject in subjects:
            await subject.close()
            grown = bytes_at_rest(subject.place, subject.saver) - before[subject.key]
            bench.figures.add("forks", "bytes a fork", subject.key, grown / scale.forks)
