"""Work that needs a process of its own: `python -m tests.bench.child JOB SAVER URL NUMBER`."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import resource
import sys
import time
import tracemalloc
from contextlib import aclosing
from pathlib import Path
from typing import Any

from .graphs import Script, chat
from .places import Place
from .run import THREAD, clock, turn
from .savers import CLASSES, Subject

ROOT = Path(__file__).resolve().parents[2]
PAGE = 50


async def in_new_process(job: str, place: Place, number: int) -> dict[str, float]:
    # An installed package has its bytecode, and the official savers are installed ones.
    env = {name: each for name, each in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.child", job, place.saver, place.url, str(number)),
        cwd=ROOT,
        env=env,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"{job} on {place.saver} ended with {process.returncode}")
    found: dict[str, float] = json.loads(out)
    return found


async def resume(place: Place, start: int) -> dict[str, float]:
    """Imports are done when the clock starts; what the saver imports on opening counts."""
    script = Script(start + 3, "resume")
    subject = Subject(place, lambda saver: chat(saver, script))
    begun = time.perf_counter()
    await subject.open()
    try:
        await subject.saver.aget_tuple(THREAD)
        ready = (time.perf_counter() - begun) * 1000
        later = [await turn(subject.graph, script, start + number) for number in range(3)]
    finally:
        await subject.close()
    return {
        "open and load the head, ms": ready,
        "first turn, ms": later[0],
        "third turn, ms": later[2],
    }


async def start(place: Place, begin: int) -> dict[str, float]:
    """LangGraph and the database's driver are loaded when the clock starts."""
    script = Script(begin + 1, "start")
    subject = Subject(place, lambda saver: chat(saver, script))
    begun = time.perf_counter()
    module, name = CLASSES[place.saver]
    getattr(importlib.import_module(module), name)
    imported = time.perf_counter()
    await subject.open()
    try:
        await turn(subject.graph, script, begin)
        done = time.perf_counter()
    finally:
        await subject.close()
    return {
        "import on top of langgraph, ms": (imported - begun) * 1000,
        "open and first turn, ms": (done - imported) * 1000,
        "import, open and first turn, ms": (done - begun) * 1000,
    }


async def listing(place: Place, count: int) -> dict[str, float]:
    """Peaks while a history is walked and nothing is kept of it."""
    subject = Subject(place, lambda saver: chat(saver, Script(1)))
    await subject.open()
    try:
        before = _peak_of_the_process()
        await _walk(subject.saver, count, limit=None)
        grown = _peak_of_the_process() - before
        tracemalloc.start()
        await _walk(subject.saver, 5, limit=5)  # imports and caches are nobody's page
        head = await _peak(clock(subject.saver.aget_tuple(THREAD)))
        page = await _peak(_walk(subject.saver, PAGE, limit=PAGE))
        whole = await _peak(_walk(subject.saver, count, limit=None))
    finally:
        await subject.close()
    return {"peak": whole, "rss": grown, "heads": whole / head, "pages": whole / page}


async def _walk(saver: Any, count: int, limit: int | None) -> None:
    async with aclosing(saver.alist(THREAD, limit=limit)) as found:
        async for _ in found:
            count -= 1
            if count <= 0:
                break


async def _peak(work: Any) -> int:
    tracemalloc.reset_peak()
    held = tracemalloc.get_traced_memory()[0]
    await work
    return tracemalloc.get_traced_memory()[1] - held


def _peak_of_the_process() -> int:
    """Linux's own figure where there is one: `ru_maxrss` starts from the parent's peak there."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(one for one in status.read_text().splitlines() if one.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


JOBS = {"resume": resume, "start": start, "listing": listing}

if __name__ == "__main__":
    job, saver, url, number = sys.argv[1:]
    print(json.dumps(asyncio.run(JOBS[job](Place(saver, url), int(number)))))
