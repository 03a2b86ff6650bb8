"""The handle on one thread: what it was doing, now or at any point of its past."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph.types import StateSnapshot

from langgraph_wyrd import filters
from langgraph_wyrd.checkpoints import compare, history, points
from langgraph_wyrd.checkpoints.labels import Labelling
from langgraph_wyrd.checkpoints.points import Point
from langgraph_wyrd.checkpoints.writing import thread_row
from langgraph_wyrd.conversation.of_thread import Conversing
from langgraph_wyrd.declaring import Declaring
from langgraph_wyrd.edit import PERSON
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, ThreadNotFound, WyrdError
from langgraph_wyrd.extraction.extracting import extract
from langgraph_wyrd.healed import Healed
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.moving import Moving
from langgraph_wyrd.operations import (
    Fire,
    Operation,
    Read,
    Write,
    asynchronous,
    operation,
)
from langgraph_wyrd.points import When, checked
from langgraph_wyrd.showing import Showing
from langgraph_wyrd.state import applying
from langgraph_wyrd.state.diff import StateDiff
from langgraph_wyrd.state.labels import Label, checked_name
from langgraph_wyrd.state.listed import Page
from langgraph_wyrd.state.merge import Merged
from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    Item,
    OpenLoop,
    Todo,
    WorkingState,
)
from langgraph_wyrd.state.past import HistoryEntry, Tree
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.scripts import Script
from langgraph_wyrd.transfer.handles import Exporting

if TYPE_CHECKING:
    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.saver import WyrdSaver

T = TypeVar("T")
_MOST = 1_000_000  # checkpoints of a tree


def _name(name: str) -> str:
    return stored(checked_name(name), "a label")


class _Unread(WyrdError):
    """The working state was not read out of all checkpoints of a thread yet."""


def _if_read(dialect: str, thread_id: str, script: Callable[[], Script[T]]) -> Script[T]:
    if (yield from thread_row(dialect, thread_id)).unread:
        raise _Unread
    return (yield from script())


class Thread(Conversing, Moving, Exporting, Healed, Showing, Declaring):
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
    def history(
        self, limit: int = 50, before: When = None, changed_only: bool = False
    ) -> Operation[Page[HistoryEntry]]:
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
            changed_only: Leave out those that changed nothing: an input that was only stored, a
                step that wrote what was there. Labelled ones, forks and the head stay.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
        """
        most, point = filters.count(limit), checked(before)
        page = Page[HistoryEntry]()
        while True:
            found = yield from self._read(history.history, self._stored, most, point)
            for entry in found:
                if len(page) < most and not (changed_only and entry.idle):
                    page.append(replace(entry, thread_id=self.id))
            if len(found) < most or not changed_only or len(page) >= most:
                return page
            point = checked(found[-1])

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
        entries = {id: replace(each, thread_id=self.id) for id, each in found.entries.items()}
        return replace(found, entries=entries)

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
            a: A point in the thread's past, another thread (its head), a pair of a thread and a
                point; or a state itself: a `WorkingState` (whose channels are not compared), a
                dict of channels, or what a graph's `get_state` returned.
            b: The same. None: this thread's head.
            channels: Also compare the values of the channels. False decodes none of them.

        A `DeltaChannel` has no value in most checkpoints. One without a value on either side can't
        be compared: where it was written to, `channels.unread` has its name.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
            CheckpointDamaged: A point can't be read.
        """
        given_ = [_as_side(each, channels) for each in (a, b)]
        channels = channels and all(each is None or each.values is not None for each in given_)
        places = [
            self._point(each) for each, known in zip((a, b), given_, strict=True) if known is None
        ]
        groups: list[tuple[Thread, list[Point]]] = []
        for handle, at in places:
            if groups and groups[0][0]._same_as(handle):
                groups[0][1].append(at)
            else:
                groups.append((handle, [at]))
        read: list[compare.Side] = []
        for handle, points_ in groups:
            read += yield from handle._read(compare.sides, handle._stored, points_, channels)
        found = [known if known is not None else read.pop(0) for known in given_]
        return compare.compared(*found)

    adiff = asynchronous(diff)

    @operation
    def apply(self, diff: StateDiff, *, by: str = PERSON) -> Operation[Merged]:
        """Say of this thread what a diff says: the verbs of an edit that come to the same.

        ```python
        done = trial.diff("before")          # what changed in a thread where it was tried out
        thread.apply(done, by="ann")
        ```

        Todos, context, loops and intentions are found by their ids, else by what they say. What
        is so already is passed over. The channels' values are the graph's: they are not touched.

        Args:
            diff: What `diff` gave, or one that was read from JSON.
            by: Who says so.

        Returns:
            The state then, and in `conflicts` what could not be said here.

        Raises:
            EditConflict: Somebody else changed the same things at the same time.
        """
        draft = self.edit(by)
        draft._begin((yield from self._state_to_edit()))
        left = applying.say(draft, diff)
        editing = draft._loaded()
        state = editing.base
        if editing.verbs:
            state = yield from self._save(editing)
        return Merged(state, left)

    aapply = asynchronous(apply)

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
        return replace(made, thread_id=self.id)

    alabel = asynchronous(label)

    @operation
    def labels(self) -> Operation[Page[Label]]:
        """Every label, oldest checkpoint first, without what was promoted (`get_label` has it).

        Damaged ones that can't be restored are left out, with a warning.
        """
        try:
            found: list[Label] = yield self._reading(self._labels().all)
        except CheckpointDamaged:
            if not self._saver._heals:
                raise
            found = yield self._reading(partial(self._labels().all, lenient=True))
        return Page(replace(each, thread_id=self.id) for each in found)

    alabels = asynchronous(labels)

    @operation
    def get_label(self, name: str) -> Operation[Label | None]:
        """The label of that name at the newest checkpoint that has it; None if there is none."""
        found: Label | None = yield self._reading(partial(self._labels().newest, _name(name)))
        return None if found is None else replace(found, thread_id=self.id)

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
        codec: Codec = self._saver._codec
        return codec

    def _reading(self, script: Callable[[], Script[Any]]) -> Read:
        return Read(self._saver._engine, script, (self._stored,))

    def _same_as(self, other: Thread) -> bool:
        return self._saver._engine is other._saver._engine and self._stored == other._stored

    def _labels(self) -> Labelling:
        saver = self._saver
        return Labelling(saver._dialect, saver._codec, saver._engine.nonce, self._stored)

    def _writing(self, script: Callable[[], Script[Any]]) -> Write:
        """A write that changes the thread; what the cache knows of it is read again."""
        forget = partial(self._saver._cache.drop, self._stored)
        return Write(self._saver._engine, script, forget, (self._stored,))

    def _read(self, script: Callable[..., Script[T]], *args: Any) -> Operation[T]:
        """What a script reads; what is damaged is said with the thread that it is of."""
        saver = self._saver
        work: Callable[[], Script[Any]] = partial(script, saver._dialect, self._codec, *args)
        try:
            if saver._reader is None:
                found: T = yield self._reading(work)
            else:
                try:
                    found = yield self._reading(
                        partial(_if_read, saver._dialect, self._stored, work)
                    )
                except _Unread:  # savers that read no working state stored it
                    yield from saver._reextract(self._stored)
                    found = yield self._reading(work)
        except CheckpointDamaged as error:
            if repr(self.id) not in str(error):
                error.args = (f"thread {self.id!r}: {error}",)
            raise
        return found


def _as_side(what: Any, channels: bool) -> compare.Side | None:
    """A state that needs not be read; None for a point."""
    if isinstance(what, WorkingState):
        return compare.Side(what)
    if isinstance(what, Mapping):
        return compare.Side(extract(what), what if channels else None)
    if isinstance(what, StateSnapshot):
        values = what.values if isinstance(what.values, Mapping) else {}
        return compare.Side(extract(what), values if channels else None)
    return None


# A point, a thread (its head), a thread and a point; or a state itself: a working state, a dict of
# channels, what a graph's `get_state` returned.
Compared = When | Thread | tuple[Thread, When] | WorkingState | Mapping[str, Any] | StateSnapshot
