"""One conversation: what it was doing, at its head or at any point of its past."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.pillars.model import WorkingState
from langgraph_wyrd.plans import moments
from langgraph_wyrd.store.names import given

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.values import Codec

When = str | datetime | None


class Thread:
    """A thread of a saver. Making one reads nothing; get it from `saver.thread(id)`."""

    def __init__(self, core: Core[Memory], codec: Callable[[], Codec], stored_id: str) -> None:
        self._core = core
        self._codec = codec
        self._stored = stored_id

    @property
    def id(self) -> str:
        return given(self._stored)

    def __repr__(self) -> str:
        return f"Thread({self.id!r})"

    def working_state(self, at: When = None) -> WorkingState:
        """What the agent was doing.

        Args:
            at: A checkpoint id, or a time (`datetime`, or ISO text): the newest checkpoint until
                then. None: the head.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
        """
        return self._core.run(lambda core: self._state(core, at))

    async def aworking_state(self, at: When = None) -> WorkingState:
        """Async version of `working_state`."""
        return await self._core.arun(lambda core: self._state(core, at))

    async def _state(self, core: Running[Memory], at: When) -> WorkingState:
        if not isinstance(at, (str, datetime, type(None))):
            raise InvalidInput(f"at={at!r}: use a checkpoint id, a datetime, or None for the head")
        codec = self._codec()
        found = await core.read(lambda: moments.state_at(codec, self._stored, at))
        if found is None:
            what = "no checkpoints" if at is None else f"no checkpoint at {at}"
            raise ThreadNotFound(f"thread {self.id!r} has {what}")
        return found
