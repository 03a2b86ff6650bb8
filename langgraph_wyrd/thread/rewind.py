"""Moving a thread's head: rewind, fork, rollback; freeing it for another run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from langgraph_wyrd.checkpoints import leases, rewind
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.rewind import Fresh, Moved, Rewinding
from langgraph_wyrd.configs import config_of
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, ThreadNotFound
from langgraph_wyrd.hooks import Happening, of_loops
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.operations import Fire, Operation, arun, asynchronous, operation, run
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.thread.base import ThreadBase, When, checked

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from typing_extensions import Self

    from langgraph_wyrd.transfer import rows as whole
else:
    whole = lazy("transfer.rows")

logger = logging.getLogger("langgraph_wyrd")
Transform = Callable[[WorkingState], WorkingState]


class RewindMethods(ThreadBase):
    """The part of a thread's handle that moves its head, or copies it."""

    @operation
    def rewind(self, to: When) -> Operation[RunnableConfig]:
        """Make an older point the head again: the graph goes on from there.

        Nothing is deleted: the new head is a copy of that checkpoint, with its working state, and
        what came after it stays in the history, as a branch. What its tasks had written or asked is
        not carried along: they start anew. See docs/heads.md.

        Args:
            to: A checkpoint id, a label, a time; or the id of a message on the head's path: then
                the step that brought it is taken back whole, and all that follows it.

        Returns:
            The config of the new head; the old one's, if the point is the head.

        Raises:
            ThreadNotFound: No such thread, or no such point or message in it.
        """
        if to is None:
            raise InvalidInput(
                "rewind(None): say where to: a checkpoint id, a label, a time or a message's id"
            )
        moved = yield from self._writes(partial(self._rewinding().rewind, checked(to)))
        if moved is None:
            raise ThreadNotFound(
                f"thread {self.id!r} has no checkpoint, label or time {to!s} to go back to, and no "
                "message of that id on the way to its head"
            )
        yield from self._moved(moved, "rewind", getattr(to, "checkpoint_id", to))
        return config_of((self.id, "", given(moved.id)), None, self._saver._user)

    arewind = asynchronous(rewind)

    @operation
    def fork(
        self, new_thread_id: str, at: When = None, transform: Transform | None = None
    ) -> Operation[Self]:
        """A new thread with this one's path up to a point, its labels and its working state.

        At the head, what its tasks wrote and asked comes along; at an older point they start anew,
        as after `rewind`. Where the head can't be restored, its nearest intact ancestor is forked.

        Args:
            new_thread_id: A thread that has no checkpoints yet.
            at: A checkpoint id, a label, or a time; None: the head.
            transform: Makes the working state that the new thread starts with. Channels, status and
                due nodes stay the checkpoint's. If it raises, nothing is stored.

        Raises:
            InvalidInput: The new thread has checkpoints already.
            CheckpointDamaged: The point can't be restored.
        """
        target, point = stored(str(new_thread_id), "thread_id"), checked(at)
        yield from self._saver._may_begin(target)
        try:
            there = yield from self._forked(target, point, transform)
        except CheckpointDamaged as error:
            point = (yield from self._intact(error)) if at is None else point
            there = yield from self._forked(target, point, transform, around=True)
        if not there:
            raise self._not_there(at)
        return type(self)(self._saver, target)

    def _forked(
        self, target: str, point: Any, transform: Transform | None, *, around: bool = False
    ) -> Operation[Any]:
        """Fork at a point; `around`: without damaged checkpoints that it does not need."""
        saver = self._saver
        rows = partial(whole.stored_rows, around_damage=around)
        work = rewind.Forking(saver._dialect, saver._codec, self._stored, target, rows)
        if transform is not None:
            there = yield from self._reads(self._bound(rewind.state_to_give, point))
            if there is None:
                return None
            point, state = there
            made = transform(state)
            if not isinstance(made, WorkingState):
                raise InvalidInput(f"transform gave {type(made).__name__}, and no WorkingState")
            work.given_state = rewind.declared(made)
        return (yield from self._writes(partial(work.fork, point), target))

    afork = asynchronous(fork)

    def rollback(self) -> Rollback:
        """`with` or `async with`: on an exception, the head is put back to where it was.

        The exception is raised again. What the block stored stays in the history, as a branch; a
        thread that did not exist gets an empty head. What it declared is taken back, but for
        decisions and notes, which are marked `elsewhere`. If putting it back fails too, that is
        logged and noted on the exception.
        """
        return Rollback(self)

    @operation
    def release(self) -> Operation[bool]:
        """Let others run this thread, whoever holds it (`single_writer=True`); whether anybody did.

        For when you are sure that a run is over. One that was alive after all claims the thread
        again with its next write, and is refused if another run has it by then.
        """
        script = partial(leases.release, self._saver._dialect, self._stored)
        return (yield from self._writes(script))

    arelease = asynchronous(release)

    def _standing(self) -> Operation[tuple[str | None, int]]:
        """The head, and the version of the thread."""
        found = yield from self._reads(partial(thread_row, self._saver._dialect, self._stored))
        return found.head, found.version

    def _put_back(self, was: str | None, until: int) -> Operation[None]:
        moved = yield from self._writes(partial(self._rewinding().put_back, was, until))
        if moved is not None:
            yield from self._moved(moved, "rollback", None if was is None else given(was))

    def _moved(self, moved: Moved, how: str, to: Any) -> Operation[None]:
        """Call the hooks for a head that was moved."""
        if not moved.moved:
            return
        detail = {"how": how, "to": to, "deliberate": True}
        what = [Happening("fork", self.id, given(moved.id), detail=detail)]
        if moved.before is not None and moved.after is not None:
            # What failed on the branch that is left stays listed, and waits no more.
            before, after = (
                replace(state, loops=tuple(loop for loop in state.loops if not loop.left))
                for state in (moved.before, moved.after)
            )
            what += of_loops(before, after, {"by": how, "taken_back": True})
        yield Fire(self._saver, tuple(what))

    def _rewinding(self) -> Rewinding:
        saver = self._saver
        return Rewinding(saver._dialect, saver._codec, self._stored, _FRESH)


class Rollback:
    """The context manager of `thread.rollback()`, sync or async."""

    def __init__(self, thread: RewindMethods) -> None:
        self._thread = thread
        self._was: tuple[str | None, int] = (None, 0)

    def __enter__(self) -> None:
        self._was = run(self._thread._standing())

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            try:
                run(self._thread._put_back(*self._was))
            except Exception as failed:
                self._say(error, failed)

    async def __aenter__(self) -> None:
        self._was = await arun(self._thread._standing())

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            try:
                await arun(self._thread._put_back(*self._was))
            except Exception as failed:
                self._say(error, failed)

    def _say(self, error: BaseException, failed: Exception) -> None:
        """Log why the head was not put back, and note it on the exception that is raised."""
        was = self._was[0]
        stands = "before the first one" if was is None else f"at {was}"
        said = (
            f"the head of thread {self._thread.id!r} could not be put back to where it stood, "
            f"{stands}: {failed}"
        )
        logger.error(said, exc_info=failed)
        if hasattr(error, "add_note"):  # Python 3.11
            error.add_note(said)


_OWN_PLACE = ("id", "ts", "channel_values", "channel_versions", "versions_seen")
_FRESH = Fresh(
    lambda: str(uuid6()), {k: v for k, v in empty_checkpoint().items() if k not in _OWN_PLACE}
)
