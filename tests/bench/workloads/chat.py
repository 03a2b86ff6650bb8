"""A long chat, and how it grows: time a turn and bytes at rest over the length of the thread."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict

from ..graphs import Script
from ..places import bytes_at_rest
from ..run import Bench, rotated, turn
from ..savers import Subject


async def run(bench: Bench) -> None:
    scale = bench.scale
    longest = max(scale.turns)
    script = Script(longest, "chat")
    await bench.release(longest)
    subjects = await bench.empty_chats(longest, script)
    said = {subject.key: script.chat(longest, subject.key) for subject in subjects}
    took: dict[str, list[float]] = defaultdict(list)
    spent: dict[str, list[float]] = defaultdict(list)
    weighings = sorted({*range(scale.rest, longest + 1, scale.rest), *scale.turns})
    done = 0
    for weighing in weighings:
        while done < weighing:
            block = range(done, min(done + scale.block, weighing))
            for subject in rotated(subjects, done // scale.block):
                for number in block:
                    start = time.process_time()
                    took[subject.key].append(await turn(subject.graph, said[subject.key], number))
                    spent[subject.key].append((time.process_time() - start) * 1000)
            done = block.stop
        for subject in subjects:
            await _weigh(bench, subject, done, took[subject.key], spent[subject.key])
        bench.say(f"  {done} turns")


async def _weigh(
    bench: Bench, subject: Subject, done: int, took: list[float], spent: list[float]
) -> None:
    """Close, weigh what rests, open again: the turn that follows starts cold on every saver."""
    await subject.close()
    size = bytes_at_rest(subject.place, subject.saver)
    figures, scale = bench.figures, bench.scale
    figures.plot("bytes", subject.key, done, size)
    last = took[-scale.tail :]
    figures.plot("turn_ms", subject.key, done, statistics.median(last))
    if done in scale.turns:
        figures.add("chat", f"time a turn at {done} turns, ms", subject.key, *last)
        cpu = f"CPU of this process a turn at {done} turns, ms"  # steadier on a busy machine
        figures.add("chat", cpu, subject.key, *spent[-scale.tail :])
        figures.add("chat", f"bytes at rest after {done} turns", subject.key, size)
    await subject.open()
