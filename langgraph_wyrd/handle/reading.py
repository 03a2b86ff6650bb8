"""A thread's past and present: what it was doing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph_wyrd.handle.base import Handle, When, checked
from langgraph_wyrd.healing import telling
from langgraph_wyrd.pillars.model import WorkingState

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.running import Running


class Reading(Handle):
    """The part of a thread's handle that reads."""

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
        codec, point = self._codec, checked(at)
        found = await core.read(lambda: telling.state_at(codec, self._stored, point))
        return self._found(found, at)
