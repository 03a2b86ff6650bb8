"""A thread's past and present: what it was doing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph_wyrd.handle.base import Handle, When, checked
from langgraph_wyrd.healing import states as healed
from langgraph_wyrd.healing import telling
from langgraph_wyrd.pillars.model import WorkingState
from langgraph_wyrd.plans import moments

if TYPE_CHECKING:
    from langgraph_wyrd.healing.found import Found
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan
    from langgraph_wyrd.store.values import Codec


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
        found, heals = await core.read(lambda: self._plan(codec, point))
        if heals:
            await telling.tell(core, codec, heals)
            state = self._found(found, at)
            found = await core.read(lambda: telling.shown(codec, self._stored, state))
        return self._found(found, at)

    def _plan(self, codec: Codec, at: When) -> Plan[tuple[WorkingState | None, tuple[Found, ...]]]:
        if not self._heals_damage:
            return (yield from moments.state_at(codec, self._stored, at)), ()
        found, heals = yield from healed.state_at(codec, self._weaver, self._stored, at)
        if found is not None and at is None and not heals:
            found = yield from telling.shown(codec, self._stored, found)
        return found, heals
