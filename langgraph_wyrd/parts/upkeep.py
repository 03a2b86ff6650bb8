"""Looking after what is stored: derived rows made anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.alone import alone
from langgraph_wyrd.configs import thread
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.later import later
from langgraph_wyrd.store.names import given

if TYPE_CHECKING:
    from langgraph_wyrd.plans import reweave
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.plans.weaving import Weaver
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.values import Codec
else:
    reweave = later("plans.reweave")

Progress = Callable[[int, int], object]


class Upkeep:
    """The part of a saver that looks after its database."""

    if TYPE_CHECKING:
        _core: Core[Memory]
        _weaver: Weaver | None

        @property
        def _codec(self) -> Codec: ...

    def reweave(self, thread_id: str | None = None, *, progress: Progress | None = None) -> None:
        """Read the pillars anew out of what is stored: the ledger and the tables made from it.

        It fills in a database that was written with `pillars=False`, and brings one up to date
        whose extractors have changed. What persons declared stays, and so does what a prune kept.
        Each thread is a transaction of its own.

        Args:
            thread_id: One thread; None: all of them.
            progress: Called with how many checkpoints were read, of how many, after each thread.

        Raises:
            InvalidInput: This saver was opened with `pillars=False`.
            ThreadNotFound: No such thread.
        """
        weaver, done = self._reader(thread_id), 0
        found = self._core.run(partial(self._to_reweave, thread_id=thread_id))
        total = sum(count for _, count in found)
        for stored_id, count in found:
            plan = partial(reweave.reweave, self._codec, weaver, stored_id)
            self._core.run(partial(self._reweave, stored_id=stored_id, plan=plan))
            done += count
            if progress is not None:
                progress(done, total)

    async def areweave(
        self, thread_id: str | None = None, *, progress: Progress | None = None
    ) -> None:
        """Async version of `reweave`."""
        weaver, done = self._reader(thread_id), 0
        found = await self._core.arun(partial(self._to_reweave, thread_id=thread_id))
        total = sum(count for _, count in found)
        for stored_id, count in found:
            plan = partial(reweave.reweave, self._codec, weaver, stored_id)
            await self._core.arun(partial(self._reweave, stored_id=stored_id, plan=plan))
            done += count
            if progress is not None:
                progress(done, total)

    def _reader(self, thread_id: str | None) -> Weaver:
        if self._weaver is None:
            raise InvalidInput("this saver was opened with pillars=False: it reads no pillars")
        if thread_id is not None:
            thread(thread_id)
        return self._weaver

    async def _to_reweave(
        self, core: Running[Memory], *, thread_id: str | None
    ) -> list[tuple[str, int]]:
        wanted = None if thread_id is None else thread(thread_id)
        found = await core.read(partial(reweave.threads, wanted))
        if wanted is not None and not found:
            raise ThreadNotFound(f"thread {given(wanted)!r} has no checkpoints")
        return found

    async def _reweave(
        self, core: Running[Memory], *, stored_id: str, plan: Callable[[], Any]
    ) -> None:
        await alone(core, stored_id, plan)
