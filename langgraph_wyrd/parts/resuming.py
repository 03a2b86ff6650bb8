"""Picking a thread up again: where it stood, and the config that goes on from there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.configs import thread
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.hooks import Happening, afire, fire
from langgraph_wyrd.later import later
from langgraph_wyrd.parts.across import Across, Some, When
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.store.names import stored

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.handle import base as points
    from langgraph_wyrd.handle.base import When as Point
    from langgraph_wyrd.plans import moments, query
    from langgraph_wyrd.plans.filters import Asked
    from langgraph_wyrd.store.statements import Plan
    from langgraph_wyrd.store.values import Codec
else:
    points, moments, query = later("handle.base", "plans.moments", "plans.query")

_FEW = 8


@dataclass(frozen=True, slots=True)
class Resumed:
    """A thread to go on with: `graph.invoke(inputs, resumed.config)`.

    `brief` says in words where it stands, with ages counted up to now.
    """

    thread_id: str
    config: RunnableConfig
    state: WorkingState
    brief: str

    def __str__(self) -> str:
        from langgraph_wyrd.views.plain import plain

        return plain(self.brief)

    def _repr_html_(self) -> str:
        from langgraph_wyrd.views.state import state_html

        return state_html(self.state)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


class Resuming(Across):
    """The part of a saver that picks threads up again."""

    def latest(
        self,
        *,
        status: Some = None,
        user_id: Some = None,
        since: When = None,
        until: When = None,
        text: str | None = None,
    ) -> Resumed | None:
        """The thread with the newest activity, ready to go on with; None if there is none.

        ```python
        found = saver.latest(user_id="ann", status="interrupted")
        if found is not None:
            print(found.brief)
            graph.invoke(Command(resume="yes"), found.config)
        ```

        Args:
            status: As for `threads`, like all that follow.
            user_id: Of these users.
            since: Where something was stored at this time or later.
            until: … at this time or before.
            text: With this in the title or the reason.

        Raises:
            InvalidInput: A filter can't be used.
        """
        asked = self._threads(status, user_id, since, until, text, _FEW, None)
        job = self._newest(asked)
        return _resumed(self._core.run(lambda core: core.read(job)))

    async def alatest(
        self,
        *,
        status: Some = None,
        user_id: Some = None,
        since: When = None,
        until: When = None,
        text: str | None = None,
    ) -> Resumed | None:
        """Async version of `latest`."""
        asked = self._threads(status, user_id, since, until, text, _FEW, None)
        job = self._newest(asked)
        return _resumed(await self._core.arun(lambda core: core.read(job)))

    def resume(
        self,
        thread_id: str | None = None,
        *,
        at: Point = None,
        status: Some = None,
        user_id: Some = None,
        since: When = None,
        until: When = None,
        text: str | None = None,
    ) -> Resumed:
        """A thread, ready to go on with: this one, or the `latest` of these filters.

        Args:
            thread_id: Which. None: the `latest` one that the filters let through.
            at: A point of its past, as `thread.working_state` takes it: state and brief are those
                of then, and the config goes on from there, as a branch.
            status: As for `latest`, like all that follow.
            user_id: Of these users.
            since: Where something was stored at this time or later.
            until: … at this time or before.
            text: With this in the title or the reason.

        Raises:
            ThreadNotFound: There is no such thread.
            InvalidInput: A filter can't be used; or a thread and filters at once.
        """
        asked = self._threads(status, user_id, since, until, text, _FEW, None)
        job = self._named(thread_id, asked, at)
        found = _found(self._core.run(lambda core: core.read(job)), at)
        fire(self._core, _happening(found))
        return found

    async def aresume(
        self,
        thread_id: str | None = None,
        *,
        at: Point = None,
        status: Some = None,
        user_id: Some = None,
        since: When = None,
        until: When = None,
        text: str | None = None,
    ) -> Resumed:
        """Async version of `resume`."""
        asked = self._threads(status, user_id, since, until, text, _FEW, None)
        job = self._named(thread_id, asked, at)
        found = _found(await self._core.arun(lambda core: core.read(job)), at)
        await afire(self._core, _happening(found))
        return found

    def _newest(self, asked: Asked) -> Callable[[], Plan[WorkingState | None]]:
        return partial(_newest, self._codec, asked)

    def _named(
        self, thread_id: str | None, asked: Asked, at: Point
    ) -> Callable[[], Plan[WorkingState | None]]:
        if thread_id is None:
            if at is not None:
                raise InvalidInput(f"resume(at={at!r}): say of which thread")
            return self._newest(asked)
        if asked != self._threads(None, None, None, None, None, _FEW, None):
            raise InvalidInput("resume() takes a thread_id or filters, not both")
        return partial(moments.state_at, self._codec, thread(thread_id), points.checked(at))


def _newest(codec: Codec, asked: Asked) -> Plan[WorkingState | None]:
    """The state of the newest thread that the filters let through."""
    for info in (yield from query.threads(codec, asked)):
        if info.head is not None:  # else it has subgraphs' checkpoints only
            return (yield from moments.state_at(codec, stored(info.thread_id, "thread_id"), None))
    return None


def _found(state: WorkingState | None, at: Point) -> Resumed:
    if (found := _resumed(state, at)) is None:
        raise ThreadNotFound("no thread fits: `threads()` lists what there is")
    return found


def _resumed(state: WorkingState | None, at: Point = None) -> Resumed | None:
    if state is None or state.thread_id is None:
        return None
    config: RunnableConfig = {"configurable": {"thread_id": state.thread_id}}
    if at is not None and state.checkpoint_id is not None:
        config["configurable"].update(checkpoint_ns="", checkpoint_id=state.checkpoint_id)
    brief = state.brief(now=datetime.now(timezone.utc))
    return Resumed(state.thread_id, config, state, brief)


def _happening(found: Resumed) -> Happening:
    state = found.state
    return Happening("resume", found.thread_id, state.checkpoint_id, state=state)
