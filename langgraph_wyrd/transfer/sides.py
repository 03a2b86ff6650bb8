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
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple

from langgraph_wyrd.alone import alone
from langgraph_wyrd.configs import config_of, thread, tuple_of
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.parts.upkeep import Upkeep
from langgraph_wyrd.plans import carry, prune, reweave
from langgraph_wyrd.plans.beside import Beside, beside, put_beside
from langgraph_wyrd.plans.carry import Key, Outline, Spot
from langgraph_wyrd.transfer.reading import Opened
from langgraph_wyrd.types.migrations import Classes
from langgraph_wyrd.types.rebuilding import guarded

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan

T = TypeVar("T")
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
            found = await self.call("get_tuple", config_of((thread_id, *key)))
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

    async def arrived(self, thread_id: Any) -> None:
        """All of a thread has arrived, from a saver that is not ours."""


class Teller(Side):
    """A side that has a ledger, too."""

    async def told(self, thread_id: Any, keys: Sequence[Key]) -> list[carry.Told]:
        raise NotImplementedError

    async def beside(self, thread_id: Any) -> Beside:
        raise NotImplementedError

    async def times(self, thread_id: Any) -> carry.Times | None:
        raise NotImplementedError


class Ours(Teller):
    """A WyrdSaver."""

    knows_paths = True
    saver: Any

    async def run(self, job: Callable[[Running[Memory]], Coroutine[Any, Any, T]]) -> T:
        core: Core[Memory] = self.saver._core
        return await core.arun(job) if self._asynchronous else core.run(job)

    async def ask(self, plan: Callable[[], Plan[T]]) -> T:
        return await self.run(lambda core: core.read(plan))

    async def change(self, thread_id: Any, plan: Callable[[], Plan[T]]) -> T:
        return await self.run(lambda core: alone(core, thread(thread_id), plan))

    async def threads(self) -> list[tuple[Any, int]]:
        return list(await self.ask(carry.counted))

    async def outline(self, thread_id: Any) -> Outline:
        return await self.ask(lambda: carry.outline(thread(thread_id)))

    async def read(self, thread_id: Any, keys: Sequence[Key]) -> list[Found | None]:
        codec = self.saver._codec
        found = await self.ask(lambda: carry.these(codec, thread(thread_id), keys))
        return [
            None if each is None else (tuple_of(each.read, thread_id, None), each.spots)
            for each in found
        ]

    def stored(self, metadata: Any) -> Any:
        redaction = self.saver._redaction
        return metadata if redaction is None else redaction(metadata)

    async def expect(self, thread_id: Any) -> None:
        await self.change(thread_id, lambda: carry.expect(thread(thread_id)))

    async def arrived(self, thread_id: Any) -> None:
        codec, id = self.saver._codec, thread(thread_id)
        await self.change(thread_id, lambda: carry.arrived(codec, id, None, show=False))

    async def read_anew(self, thread_id: Any) -> None:
        """Read the pillars of a thread out of what arrived, as of a whole."""
        codec, weaver, id = self.saver._codec, self.saver._weaver, thread(thread_id)
        if weaver is not None:
            await self.change(thread_id, lambda: reweave.reweave(codec, weaver, id))

    # ---- from one of ours to another

    async def told(self, thread_id: Any, keys: Sequence[Key]) -> list[carry.Told]:
        codec = self.saver._codec
        return await self.ask(lambda: carry.told(codec, thread(thread_id), keys))

    async def retell(self, thread_id: Any, said: Sequence[carry.Told]) -> int:
        codec, id = self.saver._codec, thread(thread_id)
        return await self.change(thread_id, lambda: carry.retell(codec, id, said))

    async def beside(self, thread_id: Any) -> Beside:
        codec = self.saver._codec
        return await self.ask(lambda: beside(codec, thread(thread_id)))

    async def put_beside(self, thread_id: Any, there: Beside) -> int:
        codec, id = self.saver._codec, thread(thread_id)
        return await self.change(thread_id, lambda: put_beside(codec, id, there))

    async def times(self, thread_id: Any) -> carry.Times | None:
        return await self.ask(lambda: carry.times(thread(thread_id)))

    async def take_back(self, thread_id: Any) -> None:
        """Nothing of a thread stays that did not arrive whole."""
        await self.change(thread_id, lambda: prune.delete_thread(thread(thread_id)))

    async def settle(self, thread_id: Any, there: carry.Times, *, show: bool) -> None:
        """The thread's times as they are at the other one; its tables anew, if its ledger is."""
        codec, id = self.saver._codec, thread(thread_id)
        await self.change(thread_id, lambda: carry.arrived(codec, id, there, show=show))


class Written(Teller):
    """A thread in a file."""

    knows_paths = True

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    async def outline(self, thread_id: Any) -> Outline:
        return self._opened.outline

    async def read(self, thread_id: Any, keys: Sequence[Key]) -> list[Found | None]:
        found: list[Found | None] = []
        for key, (parts, spots) in zip(keys, self._opened.these(keys), strict=True):
            parent, metadata = parts["parent"], parts["metadata"]
            if metadata.get("thread_id") == self._opened.thread_id:  # a server notes it
                metadata = {**metadata, "thread_id": thread_id}
            made = CheckpointTuple(
                config_of((thread_id, *key)),
                parts["checkpoint"],
                metadata,
                None if parent is None else config_of((thread_id, key[0], parent)),
                parts["writes"],
            )
            found.append((made, spots))
        return found

    async def told(self, thread_id: Any, keys: Sequence[Key]) -> list[carry.Told]:
        return self._opened.told(keys)

    async def beside(self, thread_id: Any) -> Beside:
        return self._opened.beside

    async def times(self, thread_id: Any) -> carry.Times | None:
        return self._opened.times


def _careful(saver: Any) -> Any:
    """A clone, as LangGraph makes them, that keeps what it can't rebuild: a copy would lose it."""
    serde = getattr(saver, "serde", None)
    careful = guarded(serde, Classes())
    if careful is serde or isinstance(saver, Upkeep):
        return saver
    clone = copy.copy(saver)
    clone.serde = careful
    return clone


# ---- tuples


def parent_of(found: CheckpointTuple) -> str | None:
    config = found.parent_config
    return config["configurable"].get("checkpoint_id") if config else None


def _key(found: CheckpointTuple) -> Key:
    place = found.config["configurable"]
    return place.get("checkpoint_ns", ""), place["checkpoint_id"]


def _whole(thread_id: Any) -> Any:
    """All of a thread, whatever the namespace."""
    return {"configurable": {"thread_id": thread_id}}
