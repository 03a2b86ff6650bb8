"""The handle on a thread of a saver for one user."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.handle.base import When
from langgraph_wyrd.handle.heads import Transform
from langgraph_wyrd.store.names import given
from langgraph_wyrd.thread import Thread

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.scoped import UserSaver
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.running import Running

T = TypeVar("T")


class OneUsers:
    """A core for one thread's handle: each job looks first whether the thread is the user's."""

    def __init__(
        self, core: Core[Memory], check: Callable[[Running[Memory]], Coroutine[Any, Any, None]]
    ) -> None:
        self._core = core
        self._check = check
        self.hooks = core.hooks

    def run(self, job: Callable[[Running[Memory]], Coroutine[Any, Any, T]]) -> T:
        return self._core.run(lambda core: self._checked(core, job))

    async def arun(self, job: Callable[[Running[Memory]], Coroutine[Any, Any, T]]) -> T:
        return await self._core.arun(lambda core: self._checked(core, job))

    async def _checked(
        self, core: Running[Memory], job: Callable[[Running[Memory]], Coroutine[Any, Any, T]]
    ) -> T:
        await self._check(core)
        return await job(core)


class UserThread(Thread):
    """The handle on a thread of a user, whose forks are looked at as the user's, too."""

    def __init__(self, mine: UserSaver, core: Core[Memory], saver: WyrdSaver, id: str) -> None:
        super().__init__(
            core, lambda: saver._codec, saver._weaver, id, heals_damage=saver._heals, saver=mine
        )
        self._mine = mine

    def rewind(self, to: When) -> RunnableConfig:
        return self._mine._theirs(super().rewind(to))

    async def arewind(self, to: When) -> RunnableConfig:
        return self._mine._theirs(await super().arewind(to))

    def fork(self, new_thread_id: str, at: When = None, transform: Transform | None = None) -> Any:
        self._core.run(partial(self._mine._may_copy, self.id, new_thread_id))
        return super().fork(new_thread_id, at, transform)

    async def afork(
        self, new_thread_id: str, at: When = None, transform: Transform | None = None
    ) -> Any:
        await self._core.arun(partial(self._mine._may_copy, self.id, new_thread_id))
        return await super().afork(new_thread_id, at, transform)

    def _other(self, target: str, there: bool, at: When) -> Any:
        self._found(there or None, at)
        return self._mine.thread(given(target))
