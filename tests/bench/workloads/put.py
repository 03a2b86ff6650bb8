"""How much Python one cached put passes through: calls, distinct functions, modules.

Counted in every thread from the call of `aput` to its answer. "Its own" are the functions of the
saver's package: langgraph_wyrd, or langgraph.checkpoint for the official savers.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base.id import uuid6

from ..graphs import Script, chat
from ..prose import identifier, prose
from ..run import THREAD, Bench, turn

OWN = ("/langgraph_wyrd/", "/langgraph/checkpoint/", "/langgraph/store/")
TIMES = 5


class Counting:
    """Counts calls of Python functions in all threads that start under it, while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.calls: Counter[tuple[str, str]] = Counter()

    def hook(self, frame: FrameType, event: str, _: Any) -> None:
        if self.on and event == "call" and _enters(frame):
            code = frame.f_code
            self.calls[code.co_filename.replace("\\", "/"), f"{code.co_firstlineno}"] += 1

    def __enter__(self) -> Counting:
        threading.setprofile(self.hook)
        sys.setprofile(self.hook)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def _enters(frame: FrameType) -> bool:
    """Whether a function begins here. A generator or coroutine that goes on is no call."""
    at = frame.f_lasti  # since Python 3.11 at an instruction RESUME, whose argument says why
    return at < 0 or frame.f_code.co_code[at + 1] & 3 == 0


class Operations:
    """Puts on a thread whose head holds the whole chat."""

    def __init__(self, saver: Any, times: int, words: str) -> None:
        self.saver = saver
        self.count = 0
        # Written beforehand: it would cost more than the call.
        self.texts = [prose(300, "profile", words, number) for number in range(times)]

    async def load(self) -> None:
        self.head = await self.saver.aget_tuple(THREAD)

    async def put(self, watch: Callable[[bool], object] = bool) -> None:
        """The head's child, longer by one message. `watch` hears when the call begins and ends."""
        self.count += 1
        old = self.head.checkpoint
        text = self.texts[self.count % len(self.texts)]
        message = AIMessage(text, id=identifier("profile", self.count))
        said = [*old["channel_values"]["messages"], message]
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


async def run(bench: Bench) -> None:
    turns = bench.scale.short
    script = Script(1, "put")
    for key in bench.savers:
        said = script.chat(turns, key)
        with Counting() as counting:
            async with bench.subjects(lambda saver: chat(saver, script), [key]) as (subject,):
                for number in range(turns):
                    await turn(subject.graph, said, number)
                operations = Operations(subject.saver, TIMES + 2, key)
                await operations.load()
                for _ in range(2):
                    await operations.put()
                for _ in range(TIMES):
                    counting.calls.clear()
                    await operations.put(lambda on: setattr(counting, "on", on))
                    _add(bench, key, counting.calls)
        if key.startswith("wyrd-"):
            bench.say(_by_module(key, counting.calls))


def _add(bench: Bench, key: str, calls: Counter[tuple[str, str]]) -> None:
    own = {at: count for at, count in calls.items() if any(part in at[0] for part in OWN)}
    for measure, value in {
        "calls of Python functions": sum(calls.values()),
        "calls of its own functions": sum(own.values()),
        "functions of its own": len(own),
        "modules of its own": len({file for file, _ in own}),
    }.items():
        bench.figures.add("put", measure, key, value)


def _by_module(key: str, calls: Counter[tuple[str, str]]) -> str:
    found: Counter[str] = Counter()
    for (file, _), count in calls.items():
        if "/langgraph_wyrd/" in file:
            found[str(Path(file.rpartition("/langgraph_wyrd/")[2]).with_suffix(""))] += count
    listed = ", ".join(f"{name} {count}" for name, count in found.most_common())
    return f"  {key}, calls by module: {listed}"
