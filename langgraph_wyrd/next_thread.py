"""The handle on one thread: what it was doing, now or at any point of its past."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from langgraph_wyrd import filters
from langgraph_wyrd.checkpoints import compare, heads, history, points
from langgraph_wyrd.checkpoints.heads import Fresh, Moved, Rewinding
from langgraph_wyrd.checkpoints.labels import Labelling
from langgraph_wyrd.checkpoints.points import Point
from langgraph_wyrd.checkpoints.writing import thread_row
from langgraph_wyrd.declaring import Declaring, of_loops
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, ThreadNotFound
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.operations import (
    Fire,
    Operation,
    Read,
    Write,
    arun,
    asynchronous,
    operation,
    run,
)
from langgraph_wyrd.state.diff import StateDiff
from langgraph_wyrd.state.labels import Label, checked_name
from langgraph_wyrd.state.listed import Page
from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    Item,
    OpenLoop,
    Todo,
    WorkingState,
)
from langgraph_wyrd.state.past import HistoryEntry, Tree
from langgraph_wyrd.storage.scripts import Script
from langgraph_wyrd.store.names import given, stored

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.next_saver import WyrdSaver

T = TypeVar("T")
When = str | datetime | HistoryEntry | None  # a point; an entry of the history or the tree, too

logger = logging.getLogger("langgraph_wyrd")
Transform = Callable[[WorkingState], WorkingState]
_MOST = 1_000_000  # checkpoints of a tree


def checked(at: When) -> Point:
    """A point as a caller may give it, text in stored form."""
    if isinstance(at, HistoryEntry):
        at = at.checkpoint_id
    if isinstance(at, str):
        return stored(at, "a point")
    if at is None or isinstance(at, datetime):
        return at
    raise InvalidInput(
        f"{at!r} is no point: use a checkpoint id, a label, a run id, a time (a datetime, or ISO "
        "text) or None for the head"
    )


def _name(name: str) -> str:
    return stored(checked_name(name), "a label")


class Thread(Declaring):
    """A thread of a saver. Making one reads nothing; get it from `saver.thread(id)`.

    A point in its past is a checkpoint id, else a label, else a run id (the run's newest
    checkpoint), else a time (`datetime` or ISO text: the newest checkpoint until then), or an entry
    of `history`. None is the head. A point that is not there raises `ThreadNotFound`.
    """

    def __init__(self, saver: WyrdSaver, stored_id: str) -> None:
        self._saver = saver
        self._stored = stored_id

    @property
    def id(self) -> str:
        return given(self._stored)

    def __repr__(self) -> str:
        return f"Thread({self.id!r})"

    # ---- reading

    @operation
    def working_state(self, at: When = None) -> Operation[WorkingState]:
        """What the agent was doing.

        Args:
            at: A point in the thread's past. None: the head.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
        """
        return (yield from self._read(points.state_at, self._stored, checked(at)))

    aworking_state = asynchronous(working_state)

    @operation
    def history(self, limit: int = 50, before: When = None) -> Operation[Page[HistoryEntry]]:
        """The checkpoints in short, newest first, forks included: what each changed, in a line.

        ```python
        for entry in thread.history(limit=10):
            print(entry.step, entry.nodes, entry.summary)
        ```

        No channel value is decoded. What subgraphs did is not in the line of the checkpoint at
        which they ran; `working_state(entry)` has it.

        Args:
            limit: At most so many, 1 to 1000.
            before: Only those that are older than this point: the next page is asked for with the
                last entry of this one.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
        """
        most, point = filters.count(limit), checked(before)
        return Page((yield from self._read(history.history, self._stored, most, point)))

    ahistory = asynchronous(history)

    @operation
    def tree(self, limit: int = 10_000) -> Operation[Tree]:
        """How all checkpoints hang together; `print` shows it.

        Args:
            limit: At most so many, the newest ones.

        Raises:
            ThreadNotFound: No such thread.
        """
        if type(limit) is not int or not 0 < limit <= _MOST:
            raise InvalidInput(f"limit={limit!r}: use a number from 1 to {_MOST}")
        dialect = self._saver._dialect
        found: Tree = yield self._reading(partial(history.tree, dialect, self._stored, limit))
        return found

    atree = asynchronous(tree)

    # ---- comparing

    @operation
    def diff(self, a: Compared, b: Compared = None, channels: bool = True) -> Operation[StateDiff]:
        """What changed from `a` to `b`.

        ```python
        print(thread.diff("before-deploy").summary())   # +1 todos, 1 loop resolved, +2 messages
        thread.diff((other_thread, "before-deploy"), thread)
        ```

        Args:
            a: A point in the thread's past, another thread (its head), or a pair of a thread and a
                point.
            b: The same. None: this thread's head.
            channels: Also compare the values of the channels. False decodes none of them.

        A `DeltaChannel` has no value in most checkpoints. One without a value on either side can't
        be compared: where it was written to, `channels.unread` has its name.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
            CheckpointDamaged: A point can't be read.
        """
        one, other = self._point(a), self._point(b)
        groups = [(one[0], [one[1], other[1]])]
        if (one[0]._saver._engine, one[0]._stored) != (other[0]._saver._engine, other[0]._stored):
            groups = [(handle, [at]) for handle, at in (one, other)]
        found: list[compare.Side] = []
        for handle, at in groups:
            found += yield from handle._read(compare.sides, handle._stored, at, channels)
        return compare.compared(*found)

    adiff = asynchronous(diff)

    @operation
    def first_change(
        self, what: str | Item, a: When = None, b: When = None
    ) -> Operation[HistoryEntry | None]:
        """The first checkpoint behind `a`, on the way to `b`, at which something changed.

        ```python
        thread.first_change("budget")                  # a channel
        thread.first_change('files["/notes.md"]')      # what is behind a path, as a diff prints it
        thread.first_change(state.todos[0])            # an item, or its id
        ```

        Where an item changed is found in the events, where a channel changed from the deltas. Only
        for a path are values decoded, of those checkpoints whose channel changed.

        Args:
            what: An item of a working state (known by its id), an item's id, a channel, or a path
                into a channel's value; `messages["id"]` is the message of this id. Of a
                `DeltaChannel`, only the channel.
            a: A point on the way to `b`. None: the beginning.
            b: A point. None: the head.

        Returns:
            The checkpoint's entry, as `history` has it; None if nothing changed.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
            InvalidInput: `a` is not on the way to `b`; a path into a `DeltaChannel`; or an item of
                another thread.
        """
        if not isinstance(what, (str, Todo, ContextItem, OpenLoop, Intention)):
            raise InvalidInput(f"{what!r}: use an item, its id, a channel, or a path into one")
        if not isinstance(what, str) and what.thread_id not in (None, self.id):
            raise InvalidInput(f"item {what.id} is of thread {what.thread_id!r}, not {self.id!r}")
        asked = (what, checked(a), checked(b))
        return (yield from self._read(compare.first_change, self._stored, *asked))

    afirst_change = asynchronous(first_change)

    # ---- labels

    @operation
    def label(
        self, name: str, at: When = None, keys: Sequence[str] | None = None
    ) -> Operation[Label]:
        """Name a checkpoint. No prune takes it, and its working state stays readable.

        A name may stand at several checkpoints: the newest one is meant by it. Set again at the
        same checkpoint, it takes the place of what was there. What is declared at the checkpoint
        later is not part of the label.

        Args:
            name: What it is called, anywhere a point may be given.
            at: A checkpoint id, another label, or a time; None: the head.
            keys: Which context items are promoted, that is kept with the label as they are there:
                None: all of them, []: none. Those that are not there are listed in `missing`.

        Raises:
            InvalidInput: The name is empty, or longer than 200 characters.
            ThreadNotFound: No such thread, or no such point in it.
        """
        wanted, point = _name(name), checked(at)
        if isinstance(keys, str) or any(not isinstance(key, str) for key in keys or ()):
            raise InvalidInput(f"keys={keys!r}: use a list of context keys, or None for all")
        for key in keys or ():
            stored(key, "a key")  # what no database can hold is refused here
        made: Label | None = yield self._writing(partial(self._labels().put, wanted, point, keys))
        if made is None:
            what = "no checkpoints" if at is None else f"no checkpoint at {at}"
            raise ThreadNotFound(f"thread {self.id!r} has {what}")
        detail = {"name": made.name, "keys": made.keys, "missing": made.missing}
        what_happened = Happening("label", self.id, made.checkpoint_id, detail=detail)
        yield Fire(self._saver, (what_happened,))
        return made

    alabel = asynchronous(label)

    @operation
    def labels(self) -> Operation[list[Label]]:
        """Every label, oldest checkpoint first, without what was promoted (`get_label` has it)."""
        found: list[Label] = yield self._reading(self._labels().all)
        return found

    alabels = asynchronous(labels)

    @operation
    def get_label(self, name: str) -> Operation[Label | None]:
        """The label of that name at the newest checkpoint that has it; None if there is none."""
        found: Label | None = yield self._reading(partial(self._labels().newest, _name(name)))
        return found

    aget_label = asynchronous(get_label)

    @operation
    def unlabel(self, name: str, at: When = None) -> Operation[bool]:
        """Take a label off a point; None: off the newest checkpoint that has it.

        Whether there was one. The checkpoint stays, until something prunes it.
        """
        script = partial(self._labels().remove, _name(name), checked(at))
        found: bool = yield self._writing(script)
        return found

    aunlabel = asynchronous(unlabel)

    # ---- where the thread stands

    @operation
    def rewind(self, to: When) -> Operation[RunnableConfig]:
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
        if to is None:
            raise InvalidInput(
                "rewind(None): say where to: a checkpoint id, a label, a time or a message's id"
            )
        moved: Moved | None = yield self._writing(partial(self._rewinding().rewind, checked(to)))
        if moved is None:
            raise ThreadNotFound(
                f"thread {self.id!r} has no checkpoint, label or time {to!s} to go back to, and no "
                "message of that id on the way to its head"
            )
        yield from self._moved(moved, "rewind", getattr(to, "checkpoint_id", to))
        return {
            "configurable": {
                "thread_id": self.id,
                "checkpoint_ns": "",
                "checkpoint_id": given(moved.id),
            }
        }

    arewind = asynchronous(rewind)

    @operation
    def fork(
        self, new_thread_id: str, at: When = None, transform: Transform | None = None
    ) -> Operation[Thread]:
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
        saver, target = self._saver, stored(str(new_thread_id), "thread_id")
        work = heads.Forking(
            saver._dialect, saver._codec, saver._engine.nonce, self._stored, target
        )
        point: Any = checked(at)
        there: Any = True
        if transform is not None:
            script = partial(heads.state_to_give, saver._dialect, saver._codec, self._stored, point)
            there = yield self._reading(script)
            if there is not None:
                point, state = there
                work.given_state = heads.declared(_state(transform(state)))
        if there is not None:
            there = yield Write(
                saver._engine, partial(work.fork, point), partial(saver._cache.drop, target)
            )
        saver._cache.drop(self._stored)  # copying locked it
        if not there:
            what = "no checkpoints" if at is None else f"no checkpoint at {at}"
            raise ThreadNotFound(f"thread {self.id!r} has {what}")
        return Thread(saver, target)

    afork = asynchronous(fork)

    def rollback(self) -> Rollback:
        """`with` or `async with`: on an exception, the head is put back to where it was.

        ```python
        with saver.thread("t1").rollback():
            graph.invoke(inputs, config)
        ```

        The exception is raised again. What the block stored stays in the history, as a branch; a
        thread that did not exist gets an empty head. What it declared is taken back, but for
        decisions and notes, which are marked `elsewhere`. Nothing is written if nothing was raised,
        or if nothing changed. If putting it back fails too, that is logged and noted on the
        exception.
        """
        return Rollback(self)

    def _standing(self) -> Operation[tuple[str | None, int]]:
        """The head, and the version of the thread."""
        found = yield self._reading(partial(thread_row, self._saver._dialect, self._stored))
        return found.head, found.version

    def _put_back(self, was: str | None, until: int) -> Operation[None]:
        work = self._rewinding()
        moved: Moved | None = yield self._writing(partial(work.put_back, was, until))
        if moved is not None:
            yield from self._moved(moved, "rollback", None if was is None else given(was))

    def _moved(self, moved: Moved, how: str, to: Any) -> Operation[None]:
        """Call the hooks for a head that was moved."""
        if not moved.moved:
            return
        id = given(moved.id)
        detail = {"how": how, "to": to, "deliberate": True}
        what = [Happening("fork", self.id, id, detail=detail)]
        if moved.before is not None and moved.after is not None:
            what += of_loops(moved.before, moved.after, {"by": how, "taken_back": True})
        yield Fire(self._saver, tuple(what))

    def _rewinding(self) -> Rewinding:
        saver = self._saver
        return Rewinding(saver._dialect, saver._codec, saver._engine.nonce, self._stored, _FRESH)

    def _point(self, given: Compared) -> tuple[Thread, Point]:
        handle: Any = self
        at: Any = given
        if isinstance(given, tuple) and len(given) == 2:
            handle, at = given
        elif isinstance(given, Thread):
            handle, at = given, None
        if not isinstance(handle, Thread):
            raise InvalidInput(f"{given!r}: use a point, a thread, or a pair of these")
        return handle, checked(at)

    # ---- what the methods share

    @property
    def _codec(self) -> Codec:
        return self._saver._codec

    def _reading(self, script: Callable[[], Script[Any]]) -> Read:
        return Read(self._saver._engine, script)

    def _labels(self) -> Labelling:
        saver = self._saver
        return Labelling(saver._dialect, saver._codec, saver._engine.nonce, self._stored)

    def _writing(self, script: Callable[[], Script[Any]]) -> Write:
        """A write that changes the thread; what the cache knows of it is read again."""
        return Write(self._saver._engine, script, partial(self._saver._cache.drop, self._stored))

    def _read(self, script: Callable[..., Script[T]], *args: Any) -> Operation[T]:
        """What a script reads; what is damaged is said with the thread that it is of."""
        try:
            found: T = yield self._reading(
                partial(script, self._saver._dialect, self._codec, *args)
            )
        except CheckpointDamaged as error:
            if repr(self.id) not in str(error):
                error.args = (f"thread {self.id!r}: {error}",)
            raise
        return found


class Rollback:
    """What `thread.rollback()` gives: for one block, sync or async."""

    def __init__(self, thread: Thread) -> None:
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
        """The block's own exception is the one to be raised; the other must not be lost."""
        was = self._was[0]
        stands = "before the first one" if was is None else f"at {was}"
        said = (
            f"the head of thread {self._thread.id!r} could not be put back to where it stood, "
            f"{stands}: {failed}"
        )
        logger.error(said, exc_info=failed)
        if hasattr(error, "add_note"):  # Python 3.11
            error.add_note(said)


def _state(made: object) -> WorkingState:
    if not isinstance(made, WorkingState):
        raise InvalidInput(f"transform gave {type(made).__name__}, and no WorkingState")
    return made


def _fresh_id() -> str:
    return str(uuid6())


_OWN_PLACE = ("id", "ts", "channel_values", "channel_versions", "versions_seen")
_FRESH = Fresh(_fresh_id, {k: v for k, v in empty_checkpoint().items() if k not in _OWN_PLACE})
Compared = When | Thread | tuple[Thread, When]
