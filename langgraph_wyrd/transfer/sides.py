"""Savers as the two sides of a copy.

LangGraph's contract hides two things that a copy needs: which threads there are, and where each
pending write stands (its task's path and its number). So each kind of saver is asked in its own
way (`theirs`); of an unknown kind only the contract is used.

Each side is written once, as coroutines. A copy that runs sync drives them by hand (`driving`):
then nothing in them ever waits for a loop.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Sequence
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.transfer.outline import Key, Outline, Spot
from langgraph_wyrd.types.migrations import Classes
from langgraph_wyrd.types.rebuilding import guarded

Found = tuple[CheckpointTuple, list[Spot]]
_TRIES = 5


class Side:
    """A saver of a kind that only its contract is known of."""

    sync_only = False  # its async methods are there, but raise
    knows_paths = False  # whether it can tell a write's task path

    def __init__(self, saver: Any, asynchronous: bool) -> None:
        self.saver = saver
        self._read_by = _careful(saver)
        self._asynchronous = asynchronous

    async def call(self, name: str, *args: Any) -> Any:
        """A method of LangGraph's contract."""
        saver = self._read_by if name == "get_tuple" else self.saver
        if not self._asynchronous:
            return getattr(saver, name)(*args)
        if self.sync_only:
            return await asyncio.to_thread(getattr(saver, name), *args)
        return await getattr(saver, "a" + name)(*args)

    async def _listed(self, config: Any, look: Callable[[CheckpointTuple], None]) -> None:
        if not self._asynchronous:
            for each in self._read_by.list(config):
                look(each)
        else:
            async for each in self._read_by.alist(config):
                look(each)

    async def threads(self) -> list[tuple[Any, int]]:
        """The ids of its threads, and how many checkpoints each has."""
        counts: dict[Any, int] = {}

        def look(found: CheckpointTuple) -> None:
            id = found.config["configurable"]["thread_id"]
            counts[id] = counts.get(id, 0) + 1

        await self._listed(None, look)
        return list(counts.items())

    async def outline(self, thread_id: Any) -> Outline:
        """Which checkpoints a thread has."""
        made = Outline({}, {})

        def look(found: CheckpointTuple) -> None:
            key = _key(found)
            made.parents[key] = parent_of(found)
            if held := found.pending_writes:
                made.writes[key] = (
                    len(held),
                    min(WRITES_IDX_MAP.get(name, 0) for _, name, _ in held),
                )

        await self._listed(_whole(thread_id), look)
        return made

    async def read(self, thread_id: Any, keys: Sequence[Key]) -> list[Found | None]:
        """These checkpoints, with where each pending write stands."""
        return [await self._one(thread_id, key) for key in keys]

    async def _one(self, thread_id: Any, key: Key) -> Found | None:
        for _ in range(_TRIES):
            found = await self.call("get_tuple", config_of(thread_id, *key))
            if found is None:
                return None
            writes = found.pending_writes or []
            spots = await self._spots(thread_id, key, writes)
            if [spot.task for spot in spots] == [task for task, _, _ in writes]:
                return found, spots  # else a run wrote between the two looks
        raise InvalidInput(
            f"checkpoint {key[1]} of thread {thread_id!r} is being written to faster than it can "
            "be read: copy the thread when its run is over"
        )

    async def _spots(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[Spot]:
        """Unknown paths: where the order is not that of the tasks' ids, places stand for them."""
        tasks = list(dict.fromkeys(task for task, _, _ in writes))
        paths = dict.fromkeys(tasks, "")
        if tasks != sorted(tasks):
            paths = {task: f"~{place:06}" for place, task in enumerate(tasks)}
        counts: dict[str, int] = {}
        spots = []
        for task, _, _ in writes:
            counts[task] = counts.get(task, -1) + 1
            spots.append(Spot(paths[task], task, counts[task]))
        return spots

    def stored(self, metadata: Any) -> Any:
        """Metadata as this saver stores them."""
        return metadata

    async def expect(self, thread_id: Any) -> None:
        """A thread is about to arrive."""

    async def arrived(self, thread_id: Any, *, tangled: bool) -> None:
        """All of a thread has arrived, from a saver of another kind.

        `tangled`: its working state depends on the order in which tasks wrote.
        """


def _careful(saver: Any) -> Any:
    """A clone, as LangGraph makes them, that keeps what it can't rebuild: a copy would lose it."""
    serde = getattr(saver, "serde", None)
    careful = guarded(serde, Classes())
    if careful is serde or hasattr(saver, "import_thread"):
        return saver
    clone = copy.copy(saver)
    clone.serde = careful
    return clone


# ---- tuples


def config_of(thread_id: Any, ns: str, id: str | None) -> Any:
    place: dict[str, Any] = {"thread_id": thread_id, "checkpoint_ns": ns}
    if id is not None:
        place["checkpoint_id"] = id
    return {"configurable": place}


def parent_of(found: CheckpointTuple) -> str | None:
    config = found.parent_config
    return config["configurable"].get("checkpoint_id") if config else None


def _key(found: CheckpointTuple) -> Key:
    place = found.config["configurable"]
    return place.get("checkpoint_ns", ""), place["checkpoint_id"]


def _whole(thread_id: Any) -> Any:
    """All of a thread, whatever the namespace."""
    return {"configurable": {"thread_id": thread_id}}
