"""Where the time of one put, one put_writes and one get_tuple goes, thread by thread.

python -m tests.bench.profile --backend sqlite

First without a profiler: the time of a call, and the CPU time of every thread in it. What is left
is waiting: for the disk, for the server, for another thread. Then once more under cProfile, one
profiler a thread, as a saver may run a thread of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base.id import uuid6

from . import machine, places
from .graphs import Script, chat
from .prose import identifier, prose
from .run import THREAD, turn
from .savers import DATABASES, NAMES, Subject, opened

# CPU time tells the same story on a busy machine, but shows no wait for a disk or a server.
CLOCKS = {"wall": time.perf_counter, "cpu": time.thread_time}

Operation = Callable[[], Awaitable[Any]]
Stats = dict[Any, tuple[int, float, float]]  # calls, own seconds, seconds with callees


class Profilers:
    """A cProfile in every thread started from now on, and in this one."""

    def __init__(self, timer: Callable[[], float]) -> None:
        self._timer = timer
        self._made: list[tuple[str, cProfile.Profile]] = []

    def start(self) -> None:
        threading.setprofile(self._begin)
        self._begin()

    def stop(self) -> None:
        threading.setprofile(None)
        self._made[0][1].disable()

    def _begin(self, *_: Any) -> None:
        made = cProfile.Profile(self._timer)
        self._made.append((threading.current_thread().name, made))
        made.enable()  # takes the place of the hook that called us

    def snapshot(self) -> dict[str, Stats]:
        """By thread name: threads of one name, as a saver's readers are, are added up."""
        found: dict[str, Stats] = {}
        for name, profiler in list(self._made):
            profiler.snapshot_stats()  # `create_stats` would stop the profiler of this thread
            stats = found.setdefault(name, {})
            for function, (_, calls, own, total, _) in profiler.stats.items():
                calls_0, own_0, total_0 = stats.get(function, (0, 0.0, 0.0))
                stats[function] = (calls_0 + calls, own_0 + own, total_0 + total)
        return found

    def threads(self, name: str) -> int:
        return sum(other == name for other, _ in self._made)


class Operations:
    """The three calls, on a thread whose head holds the whole chat."""

    def __init__(self, saver: Any, times: int) -> None:
        self.saver = saver
        self.count = 0
        # Written beforehand: it would cost more than some of the calls.
        self.texts = [prose(300, "profile", number) for number in range(times)]

    async def load(self) -> None:
        self.head = await self.saver.aget_tuple(THREAD)

    async def get_tuple(self) -> None:
        await self.saver.aget_tuple(THREAD)

    async def put(self, watch: Callable[[bool], None] = lambda on: None) -> None:
        """The head's child, longer by one message. `watch` hears when the call begins and ends."""
        self.count += 1
        old = self.head.checkpoint
        said = [*old["channel_values"]["messages"], self._message()]
        version = self.saver.get_next_version(old["channel_versions"]["messages"], None)
        checkpoint = {
            **old,
            "id": str(uuid6(clock_seq=-2)),
            "channel_values": {**old["channel_values"], "messages": said},
            "channel_versions": {**old["channel_versions"], "messages": version},
        }
        metadata = {**self.head.metadata, "step": self.head.metadata["step"] + 1}
        watch(True)
        config = await self.saver.aput(
            self.head.config, checkpoint, metadata, {"messages": version}
        )
        watch(False)
        self.head = self.head._replace(config=config, checkpoint=checkpoint, metadata=metadata)

    async def put_writes(self) -> None:
        self.count += 1
        writes = [("messages", [self._message()]), ("branch:to:tools", None)]
        task = identifier("task", self.count)
        await self.saver.aput_writes(self.head.config, writes, task, "~__pregel_pull, model")

    def _message(self) -> AIMessage:
        text = self.texts[self.count % len(self.texts)]
        return AIMessage(text, id=identifier("profile", self.count))


async def split(do: Operation, times: int) -> None:
    """Wall time a call, and CPU time by thread."""
    took = []
    before = _cpu()
    for _ in range(times):
        start = time.perf_counter()
        await do()
        took.append((time.perf_counter() - start) * 1000)
    spent = {name: (cpu - before.get(name, 0.0)) * 1000 / times for name, cpu in _cpu().items()}
    mean = statistics.mean(took)
    print(f"  {statistics.median(took):.3f} ms a call (median), {mean:.3f} (mean)")
    for name, cpu in sorted(spent.items(), key=lambda item: -item[1]):
        if cpu >= 0.001:
            print(f"  {cpu:8.3f} ms CPU  {name}")
    print(f"  {mean - sum(spent.values()):8.3f} ms waiting (negative: threads ran side by side)")


def _cpu() -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for thread in threading.enumerate():
        if thread.ident:
            clock = time.pthread_getcpuclockid(thread.ident)
            found[thread.name] += time.clock_gettime(clock)
    return found


async def detail(do: Operation, times: int, profilers: Profilers, top: int, clock: str) -> None:
    before = profilers.snapshot()
    begun = time.perf_counter()
    for _ in range(times):
        await do()
    wall = (time.perf_counter() - begun) * 1000 / times
    print(f"  {wall:.3f} ms a call with the profilers on")
    for name, stats in profilers.snapshot().items():
        rows = _since(before.get(name, {}), stats, times)
        waited = sum(own for own, _, _, function in rows if _waits(function))
        known = sum(own for own, *_ in rows)
        if known < 0.001:
            continue
        print(f"  thread {name}: {known - waited:.3f} ms in functions", end="")
        if clock == "wall":
            # A function is recorded when it returns, and a thread's outermost one never does: what
            # it calls without Python in between (SQLite, through partials) is the rest.
            rest = max(wall * profilers.threads(name) - known, 0)
            print(f", {waited:.3f} waiting, {rest:.3f} in its outermost loop and C code", end="")
        print()
        print("       own ms  with callees   calls")
        busy = [row for row in rows if not _waits(row[3])]
        for own, total, calls, function in sorted(busy, key=lambda row: -row[0])[:top]:
            print(f"    {own:9.3f} {total:13.3f} {calls:7.1f}  {_name(function)}")


def _since(before: Stats, after: Stats, times: int) -> list[tuple[float, float, float, Any]]:
    """Own ms, ms with callees and calls of each function, a call of the operation."""
    rows = []
    for function, (calls, own, total) in after.items():
        calls_0, own_0, total_0 = before.get(function, (0, 0.0, 0.0))
        ours = function[0].endswith("cProfile.py") or "_lsprof" in function[2]
        if calls > calls_0 and not ours:
            per = 1000 / times
            done = (calls - calls_0) / times
            rows.append(((own - own_0) * per, (total - total_0) * per, done, function))
    return rows


def _waits(function: tuple[str, int, str]) -> bool:
    file, _, name = function
    return (
        file == "~"
        and any(
            word in name
            for word in ("epoll", "select.", "kqueue", "'acquire'", "SimpleQueue", "sleep")
        )
        and "put" not in name
    )


def _name(function: tuple[str, int, str]) -> str:
    file, line, name = function
    if file == "~":
        return name
    return f"{'/'.join(Path(file).parts[-2:])}:{line} {name}"


async def build(place: places.Place, turns: int) -> None:
    script = Script(turns, "chat")
    subject = Subject(place, lambda saver: chat(saver, script))
    await subject.open()
    for number in range(turns):
        await turn(subject.graph, script, number)
    await subject.close()


async def measure(place: places.Place, options: argparse.Namespace, *, profiled: bool) -> None:
    # The saver is opened here, so that its threads start under the profiler.
    profilers = Profilers(CLOCKS[options.clock])
    if profiled:
        profilers.start()
    async with opened(place) as saver:
        operations = Operations(saver, options.times)
        await operations.load()
        for name in options.operation or ("put", "put_writes", "get_tuple"):
            do = getattr(operations, name)
            for _ in range(3):
                await do()
            print(f"\n{NAMES[place.saver]}, {name}{', under cProfile' if profiled else ''}")
            if profiled:
                await detail(do, options.times, profilers, options.top, options.clock)
            else:
                await split(do, options.times)
    if profiled:
        profilers.stop()


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.bench.profile", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--backend", choices=DATABASES, required=True)
    add("--official", action="store_true", help="profile LangGraph's own saver instead")
    add("--operation", action="append", choices=["put", "put_writes", "get_tuple"])
    add("--turns", type=int, default=300, help="length of the chat, four messages a turn")
    add("--times", type=int, default=50, help="calls of each operation")
    add("--top", type=int, default=15, help="functions shown for each thread")
    add("--clock", choices=list(CLOCKS), default="wall", help="what cProfile counts")
    add("--folder", type=Path, help="where the database is made")
    options = parser.parse_args()
    saver = options.backend if options.official else f"wyrd-{options.backend}"
    postgres = options.backend == "postgres"
    with places.databases(options.folder, postgres=postgres) as databases:
        print(f"One fsync costs {machine.fsync_cost(databases.folder):.3f} ms here.")
        with databases.fresh(saver) as place:
            # A loop each: the second one's executor starts its threads under the profiler too.
            asyncio.run(build(place, options.turns))
            asyncio.run(measure(place, options, profiled=False))
            if sys.version_info < (3, 12):
                asyncio.run(measure(place, options, profiled=True))
            else:
                print("\nOne cProfile a thread needs Python 3.10 or 3.11: no functions shown.")


if __name__ == "__main__":
    main()
