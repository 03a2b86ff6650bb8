"""What the workloads share: sizes, fresh savers, rotation, the clock."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from .figures import Figures
from .graphs import MESSAGES_A_TURN, Script, chat
from .places import Databases
from .savers import Subject

THREAD = {"configurable": {"thread_id": "bench"}}


@dataclass(frozen=True)
class Scale:
    """How much of everything. `quick()` is for seeing that the bench works, not for figures."""

    turns: tuple[int, int, int] = (50, 300, 1000)
    block: int = 5  # turns of one saver before the next has its go
    tail: int = 20  # turns whose median is "the time a turn at N"
    rest: int = 50  # every so many turns all savers are closed and weighed
    threads: int = 50
    thread_turns: int = 10
    rounds: int = 5
    files: int = 60
    file_size: int = 8000
    file_turns: int = 60
    reads: int = 20
    listed: int = 500  # checkpoints taken while memory is watched
    fork_base: int = 100
    forks: int = 20
    fork_turns: int = 3
    resumes: int = 5
    short: int = 10  # turns of a short chat
    short_threads: int = 20
    short_rounds: int = 11
    crowd_rounds: int = 4  # of many short chats at once
    first: int = 30  # turns of a new chat that a user waits for
    middle: int = 100
    middle_rounds: int = 3
    state_turns: int = 20
    state_rounds: int = 9
    state_threads: int = 50
    state_thread_turns: int = 4
    state_crowds: int = 5
    starts: int = 5

    @staticmethod
    def quick(turns: tuple[int, int, int] | None = None) -> Scale:
        return Scale(
            turns=turns or (10, 30, 60),
            tail=5,
            rest=10,
            threads=10,
            thread_turns=3,
            rounds=2,
            files=10,
            file_size=2000,
            file_turns=10,
            reads=5,
            listed=100,
            fork_base=20,
            forks=4,
            fork_turns=2,
            resumes=1,
            short=3,
            short_threads=4,
            short_rounds=2,
            crowd_rounds=1,
            first=5,
            middle=10,
            middle_rounds=1,
            state_turns=3,
            state_rounds=2,
            state_threads=5,
            state_thread_turns=2,
            state_crowds=1,
            starts=1,
        )


def rotated(subjects: Sequence[Any], by: int) -> list[Any]:
    """Another one goes first each time, so nobody always follows the same neighbour."""
    by %= len(subjects) or 1
    return [*subjects[by:], *subjects[:by]]


async def clock(work: Awaitable[Any]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    await work
    return (time.perf_counter() - start) * 1000


async def turn(
    graph: Any, script: Script, number: int, config: Any = THREAD, more: Mapping[str, Any] = {}
) -> float:
    asked = {"messages": [script.human(number * MESSAGES_A_TURN)], **more}
    return await clock(graph.ainvoke(asked, config))


@dataclass
class Bench:
    databases: Databases
    savers: list[str]
    scale: Scale
    figures: Figures
    say: Callable[[str], None] = print
    _chats: dict[int, tuple[list[Subject], AsyncExitStack]] = field(default_factory=dict)

    @asynccontextmanager
    async def subjects(
        self, builder: Callable[[Any], Any], savers: Sequence[str] | None = None
    ) -> AsyncIterator[list[Subject]]:
        """Every saver, or these, open, each on an empty database."""
        async with AsyncExitStack() as stack:
            made = []
            for key in savers or self.savers:
                place = stack.enter_context(self.databases.fresh(key))
                subject = Subject(place, builder)
                stack.callback(subject.forget)
                stack.push_async_callback(subject.close)
                await subject.open()
                made.append(subject)
            yield made

    async def empty_chats(self, turns: int, script: Script) -> list[Subject]:
        """Savers for a chat of so many turns, kept for later workloads until `release`."""
        stack = AsyncExitStack()
        made = await stack.enter_async_context(self.subjects(lambda saver: chat(saver, script)))
        self._chats[turns] = (made, stack)
        return made

    async def chats(self, turns: int) -> list[Subject]:
        """The same with the chat held: an earlier workload's, or built now and not measured."""
        if turns in self._chats:
            return self._chats[turns][0]
        script = Script(turns, "chat")
        subjects = await self.empty_chats(turns, script)
        self.say(f"  building {turns} turns on each saver")
        for subject in subjects:
            for number in range(turns):
                await turn(subject.graph, script, number)
        return subjects

    async def release(self, turns: int | None = None) -> None:
        for key in [turns] if turns is not None else list(self._chats):
            if kept := self._chats.pop(key, None):
                await kept[1].aclose()
