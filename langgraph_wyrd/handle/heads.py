"""Where a thread stands: put back, forked, kept from what fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from langgraph_wyrd.alone import alone
from langgraph_wyrd.configs import config_of, thread
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.handle.base import Handle, When, checked
from langgraph_wyrd.handle.rollback import Rollback
from langgraph_wyrd.hooks import Happening, afire, fire
from langgraph_wyrd.plans import forking, keeping
from langgraph_wyrd.plans.heads import Fresh, PutBack, Rewind
from langgraph_wyrd.plans.moments import Point, newest
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.store.names import given

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from typing_extensions import Self

    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.state.events import Event
    from langgraph_wyrd.store.running import Running

Transform = Callable[[WorkingState], WorkingState]


class Heads(Handle):
    """The part of a thread's handle that moves its head, or copies it."""

    def rewind(self, to: When) -> RunnableConfig:
        """Make an older point the head again: the graph goes on from there.

        Nothing is deleted: the new head is a copy of that checkpoint, and what came after it stays
        in the history, as a branch. Its working state is the head's again. What its tasks had
        written or asked is not carried along: they start anew. Subgraphs with a memory of their own
        (`checkpointer=True`) stand again where they stood then.

        Args:
            to: A checkpoint id, a label, a time; or the id of a message on the head's path: then
                the step that brought it is taken back whole, and all that follows it. Before the
                first checkpoint the head is an empty one.

        Returns:
            The config of the new head; the old one's, if the point is the head.

        Raises:
            ThreadNotFound: No such thread, or no such point or message in it.
        """
        work = self._to_rewind(to)
        config = self._at(self._core.run(lambda core: alone(core, self._stored, work.plan)), to)
        if work.made is not None:
            fire(self._core, self._moved(config, to))
        return config

    async def arewind(self, to: When) -> RunnableConfig:
        """Async version of `rewind`."""
        work = self._to_rewind(to)
        made = await self._core.arun(lambda core: alone(core, self._stored, work.plan))
        config = self._at(made, to)
        if work.made is not None:
            await afire(self._core, self._moved(config, to))
        return config

    def fork(self, new_thread_id: str, at: When = None, transform: Transform | None = None) -> Self:
        """A new thread with this one's path up to a point, its labels and its working state.

        Branches, and what came after the point, are not in it. At the head, what its tasks wrote
        and asked comes along; at an older point they start anew, as after `rewind`.

        Args:
            new_thread_id: A thread that has no checkpoints yet.
            at: A checkpoint id, a label, or a time; None: the head.
            transform: Makes the working state that the new thread starts with (no channel changes).
                Status and due nodes are the checkpoint's, whatever it says. If it raises, nothing
                is stored.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
            InvalidInput: The new thread has checkpoints already.
        """
        target, point = thread(new_thread_id), checked(at)
        if transform is None:
            there = self._core.run(lambda core: self._fork(core, target, point, None))
            return self._other(target, there, at)
        found = self._found(self._core.run(lambda core: self._given(core, point)), at)
        id, state = found
        event = keeping.declared(_state(transform(state)))
        there = self._core.run(lambda core: self._fork(core, target, id, event))
        return self._other(target, there, at)

    async def afork(
        self, new_thread_id: str, at: When = None, transform: Transform | None = None
    ) -> Self:
        """Async version of `fork`."""
        target, point = thread(new_thread_id), checked(at)
        if transform is None:
            there = await self._core.arun(lambda core: self._fork(core, target, point, None))
            return self._other(target, there, at)
        found = self._found(await self._core.arun(lambda core: self._given(core, point)), at)
        id, state = found
        event = keeping.declared(_state(transform(state)))
        there = await self._core.arun(lambda core: self._fork(core, target, id, event))
        return self._other(target, there, at)

    def rollback(self) -> Rollback:
        """`with` or `async with`: on an exception, the head is put back to where it was.

        ```python
        with saver.thread("t1").rollback():
            graph.invoke(inputs, config)
        ```

        The exception is raised again. What the block stored stays in the history, as a branch; a
        thread that did not exist gets an empty head. Nothing is written if nothing was raised, or
        if the head did not move. If putting it back fails too, that is logged and noted on the
        exception.
        """
        return Rollback(self.id, self._core, self._head, self._put_back)

    def _moved(self, config: RunnableConfig, to: When) -> Happening:
        detail = {"how": "rewind", "to": getattr(to, "checkpoint_id", to), "deliberate": True}
        return Happening("fork", self.id, config["configurable"]["checkpoint_id"], detail=detail)

    # ---- jobs

    def _to_rewind(self, to: When) -> Rewind:
        if to is None:
            raise InvalidInput(
                "rewind(None): say where to: a checkpoint id, a label, a time or a message's id"
            )
        return Rewind(self._codec, self._stored, FRESH, checked(to))

    def _at(self, id: str | None, to: When) -> RunnableConfig:
        if id is None:
            raise ThreadNotFound(
                f"thread {self.id!r} has no checkpoint, label or time {to!s} to go back to, and no "
                "message of that id on the way to its head"
            )
        return config_of((self.id, "", given(id)))

    async def _given(self, core: Running[Memory], at: Point) -> tuple[str, WorkingState] | None:
        codec = self._codec
        return await core.read(lambda: forking.state_to_give(codec, self._stored, at))

    async def _fork(
        self, core: Running[Memory], target: str, at: Point, event: Event | None
    ) -> bool:
        plan = forking.Fork(self._codec, self._stored, target, at, event).plan
        return await alone(core, target, plan)

    def _other(self, target: str, there: bool, at: When) -> Self:
        self._found(there or None, at)
        return type(self)(
            self._core, self._get_codec, self._weaver, target, heals_damage=self._heals_damage,
            saver=self._saver,
        )  # fmt: skip

    async def _head(self, core: Running[Memory]) -> str | None:
        return await core.read(lambda: newest(self._stored))

    async def _put_back(self, core: Running[Memory], was: str | None) -> str | None:
        plan = PutBack(self._codec, self._stored, FRESH, was).plan
        return await alone(core, self._stored, plan)


def _fresh_id() -> str:
    return str(uuid6())


_OWN_PLACE = ("id", "ts", "channel_values", "channel_versions", "versions_seen")
FRESH = Fresh(_fresh_id, {k: v for k, v in empty_checkpoint().items() if k not in _OWN_PLACE})


def _state(made: object) -> WorkingState:
    if not isinstance(made, WorkingState):
        raise InvalidInput(f"transform gave {type(made).__name__}, and no WorkingState")
    return made
