"""What was found damaged in a thread, and that somebody has seen it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.handle.base import Handle
from langgraph_wyrd.healing import telling
from langgraph_wyrd.healing.found import Heal

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan


class Healed(Handle):
    """The part of a thread's handle that tells of damage."""

    def heals(self) -> list[Heal]:
        """What was found damaged while the thread was loaded, and what was done, oldest first.

        Raises:
            ThreadNotFound: No such thread.
        """
        return self._core.run(self._heals)

    async def aheals(self) -> list[Heal]:
        """Async version of `heals`."""
        return await self._core.arun(self._heals)

    def acknowledge(self, heal: Heal | str | None = None) -> None:
        """Say that a heal was seen (None: all of them): its open loop is closed.

        Raises:
            InvalidInput: The thread has no such heal.
            ThreadNotFound: No such thread.
        """
        plan = self._acknowledging(heal)
        self._found_heal(self._core.run(lambda core: core.write(plan)), heal)

    async def aacknowledge(self, heal: Heal | str | None = None) -> None:
        """Async version of `acknowledge`."""
        plan = self._acknowledging(heal)
        self._found_heal(await self._core.arun(lambda core: core.write(plan)), heal)

    async def _heals(self, core: Running[Memory]) -> list[Heal]:
        codec = self._codec
        found = await core.read(lambda: telling.of_thread(codec, self._stored))
        return self._found(found, None)

    def _acknowledging(self, heal: Heal | str | None) -> Callable[[], Plan[int | None]]:
        ids = None if heal is None else [heal.id if isinstance(heal, Heal) else heal]
        return partial(telling.acknowledged, self._stored, ids)

    def _found_heal(self, count: int | None, heal: Heal | str | None) -> None:
        if not self._found(count, None) and heal is not None:
            raise InvalidInput(f"thread {self.id!r} has no heal {heal!r}: see heals()")
