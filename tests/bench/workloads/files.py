"""A deep agent with a folder of files: each turn edits one of them.

Twice: as a graph whose files are a plain dict with a reducer, which a saver is given whole at
every step, and as deepagents builds it now, where a saver is given what each task wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graphs import Script, deep_agent
from ..places import bytes_at_rest
from ..run import Bench, rotated, turn


async def plain(bench: Bench) -> None:
    scale = bench.scale
    script = Script(scale.file_turns, "files")

    def build(saver: Any) -> Any:
        return deep_agent(saver, script, files=scale.files, size=scale.file_size)

    await _measure(bench, "files", build, script, {})


async def deepagents(bench: Bench) -> None:
    from ..agents import deepagents_agent, folder

    scale = bench.scale
    script = Script(scale.file_turns, "deepagents")

    def build(saver: Any) -> Any:
        return deepagents_agent(saver, script, scale.files)

    brought = {"files": folder(scale.files, scale.file_size)}
    await _measure(bench, "deepagents", build, script, brought)


async def _measure(
    bench: Bench, name: str, build: Callable[[Any], Any], script: Script, first: dict[str, Any]
) -> None:
    scale = bench.scale
    async with bench.subjects(build) as subjects:
        took: dict[str, list[float]] = {subject.key: [] for subject in subjects}
        for start in range(0, scale.file_turns, scale.block):
            block = range(start, min(start + scale.block, scale.file_turns))
            for subject in rotated(subjects, start // scale.block):
                for number in block:
                    more = first if number == 0 else {}
                    took[subject.key].append(await turn(subject.graph, script, number, more=more))
        for subject in subjects:
            await subject.close()
            add = bench.figures.add
            last = took[subject.key][-scale.tail :]
            add(name, f"time a turn after {scale.file_turns} turns, ms", subject.key, *last)
            size = bytes_at_rest(subject.place, subject.saver)
            add(name, "bytes at rest", subject.key, size)
