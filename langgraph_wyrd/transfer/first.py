"""The first edition's saver as a side of a copy, and threads in its files."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph.checkpoint.base import CheckpointTuple

from langgraph_wyrd.alone import alone
from langgraph_wyrd.configs import config_of, thread, tuple_of
from langgraph_wyrd.plans import carry, prune, reweave
from langgraph_wyrd.plans.beside import Beside, beside, put_beside
from langgraph_wyrd.transfer.outline import Key, Outline, Spot
from langgraph_wyrd.transfer.passage import PAGE, Passage
from langgraph_wyrd.transfer.reading import Opened
from langgraph_wyrd.transfer.sides import Found, Side

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan

T = TypeVar("T")


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
        found = await self.ask(lambda: carry.outline(thread(thread_id)))
        return Outline(found.parents, found.writes)

    async def read(self, thread_id: Any, keys: Sequence[Key]) -> list[Found | None]:
        codec = self.saver._codec
        found = await self.ask(lambda: carry.these(codec, thread(thread_id), keys))
        return [
            None
            if each is None
            else (tuple_of(each.read, thread_id, None), [*map(Spot._make, each.spots)])
            for each in found
        ]

    def stored(self, metadata: Any) -> Any:
        redaction = self.saver._redaction
        return metadata if redaction is None else redaction(metadata)

    async def expect(self, thread_id: Any) -> None:
        await self.change(thread_id, lambda: carry.expect(thread(thread_id)))

    async def arrived(self, thread_id: Any, *, tangled: bool) -> None:
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
        found = self._opened.outline
        return Outline(found.parents, found.writes)

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
            found.append((made, [*map(Spot._make, spots)]))
        return found

    async def told(self, thread_id: Any, keys: Sequence[Key]) -> list[carry.Told]:
        return self._opened.told(keys)

    async def beside(self, thread_id: Any) -> Beside:
        return self._opened.beside

    async def times(self, thread_id: Any) -> carry.Times | None:
        return self._opened.times


class FirstPassage(Passage):
    """One thread on its way to a saver of the first edition."""

    async def _end(self, order: Sequence[Key]) -> None:
        source, target = self.source, self.target
        if not (isinstance(source, Teller) and isinstance(target, Ours)):
            await super()._end(order)
            if self._tangled and isinstance(target, Ours):
                await target.read_anew(self.id)
            return
        there = await source.times(self.id)
        if there is None:
            return  # deleted meanwhile
        changed, woven = 0, there.status is not None
        for start in range(0, len(order) if woven else 0, PAGE):
            said = await source.told(self.id, order[start : start + PAGE])
            changed += await target.retell(self.id, said)
        changed += await target.put_beside(self.id, await source.beside(self.id))
        if changed or self._sent.checkpoints:
            await target.settle(self.id, there, show=woven)
