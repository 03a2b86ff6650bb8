"""A saver as the source or the target of a copy.

LangGraph's contract does not say which threads there are, nor the task path and the number of each
pending write, and a copy needs both. So each kind of saver is asked in its own way (`official.py`);
of an unknown kind only the contract is used. A copy is sync code; an async one runs it in a worker
thread, which calls the async methods of an unknown kind on the caller's loop.
"""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple

from langgraph_wyrd.configs import checkpoint_config, parent_of
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.types.migrations import Classes
from langgraph_wyrd.types.rebuild import guarded

T = TypeVar("T")
Key = tuple[str, str]  # namespace, checkpoint id: as they were given


class WritePlace(NamedTuple):
    """Where a write stands: what orders the writes of a checkpoint."""

    path: str
    task: str
    idx: int


@dataclass(frozen=True, slots=True)
class Outline:
    """Which checkpoints a thread has, under which parents, and how many writes each.

    The lowest number of a write is below zero where there are control writes, which may be
    replaced; all others stay as they are.
    """

    parents: dict[Key, str | None]
    writes: dict[Key, tuple[int, int]]  # how many, the lowest number

    def fixed(self, key: Key) -> bool:
        """Whether the writes of a checkpoint may only grow in number."""
        return self.writes.get(key, (0, 0))[1] >= 0


def in_order(outline: Outline) -> list[Key]:
    """Parents before children, else by their ids."""
    parents = outline.parents
    order: dict[Key, None] = {}
    for first in sorted(parents, key=lambda key: (key[1], key[0])):
        path, key = [], first
        while key in parents and key not in order and key not in path:
            path.append(key)
            key = (key[0], parents[key] or "")
        order.update(dict.fromkeys(reversed(path)))
    return list(order)


Found = tuple[CheckpointTuple, list[WritePlace]]
_TRIES = 5


class Endpoint:
    """A saver of a kind that only its contract is known of."""

    knows_paths = False  # whether it can tell a write's task path

    def __init__(self, saver: Any, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.saver = saver
        self._read_by = _careful(saver)
        self._loop = loop  # where its async methods are called; None: its sync ones are

    def call(self, name: str, *args: Any) -> Any:
        """A method of LangGraph's contract."""
        saver = self._read_by if name == "get_tuple" else self.saver
        if self._loop is None:
            return getattr(saver, name)(*args)
        return on_loop(self._loop, getattr(saver, f"a{name}")(*args))

    def _listed(self, config: Any) -> Iterator[CheckpointTuple]:
        if self._loop is None:
            yield from self._read_by.list(config)
            return
        listing = self._read_by.alist(config)

        async def following() -> CheckpointTuple | None:
            found: CheckpointTuple | None = await anext(listing, None)
            return found

        while (found := on_loop(self._loop, following())) is not None:
            yield found

    def threads(self) -> list[tuple[Any, int]]:
        """The ids of its threads, and how many checkpoints each has."""
        found = (each.config["configurable"]["thread_id"] for each in self._listed(None))
        return list(Counter(found).items())

    def outline(self, thread_id: Any) -> Outline:
        """Which checkpoints a thread has."""
        made = Outline({}, {})
        for found in self._listed({"configurable": {"thread_id": thread_id}}):
            place = found.config["configurable"]
            key = place.get("checkpoint_ns", ""), place["checkpoint_id"]
            made.parents[key] = parent_of(found)
            if held := found.pending_writes:
                lowest = min(WRITES_IDX_MAP.get(name, 0) for _, name, _ in held)
                made.writes[key] = len(held), lowest
        return made

    def read(self, thread_id: Any, keys: Sequence[Key]) -> list[Found | None]:
        """These checkpoints, with where each pending write stands."""
        return [self._one(thread_id, key) for key in keys]

    def _one(self, thread_id: Any, key: Key) -> Found | None:
        for _ in range(_TRIES):
            found = self.call("get_tuple", checkpoint_config(thread_id, *key))
            if found is None:
                return None
            writes = found.pending_writes or []
            places = self._write_places(thread_id, key, writes)
            if [place.task for place in places] == [task for task, _, _ in writes]:
                return found, places  # else a run wrote between the two looks
        raise InvalidInput(
            f"checkpoint {key[1]} of thread {thread_id!r} is being written to faster than it can "
            "be read: copy the thread when its run is over"
        )

    def _write_places(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[WritePlace]:
        """Unknown paths: where the order is not that of the tasks' ids, places stand for them."""
        tasks = list(dict.fromkeys(task for task, _, _ in writes))
        paths = dict.fromkeys(tasks, "")
        if tasks != sorted(tasks):
            paths = {task: f"~{place:06}" for place, task in enumerate(tasks)}
        counts: dict[str, int] = {}
        places = []
        for task, _, _ in writes:
            counts[task] = counts.get(task, -1) + 1
            places.append(WritePlace(paths[task], task, counts[task]))
        return places

    def stored(self, metadata: Any) -> Any:
        """Metadata as this saver stores them."""
        return metadata

    def expect(self, thread_id: Any) -> None:
        """A thread is about to arrive."""

    def arrived(self, thread_id: Any) -> None:
        """All of a thread has arrived, from a saver of another kind."""


def on_loop(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """What work comes to that another thread's loop does."""
    return asyncio.run_coroutine_threadsafe(work, loop).result()


def _careful(saver: Any) -> Any:
    """A clone, as LangGraph makes them, that keeps what it can't rebuild: a copy would lose it."""
    serde = getattr(saver, "serde", None)
    careful = guarded(serde, Classes())
    if careful is serde or hasattr(saver, "import_thread"):
        return saver
    clone = copy.copy(saver)
    clone.serde = careful
    return clone
