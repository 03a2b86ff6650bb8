"""What differs between two points of a thread's past, and where something changed first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from langgraph.types import StateSnapshot

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.extracting import extract
from langgraph_wyrd.handle.base import Handle, When, checked
from langgraph_wyrd.handle.editing import PERSON, Editable
from langgraph_wyrd.handle.reading import Heal, Reading
from langgraph_wyrd.healing import compared as side_by_side
from langgraph_wyrd.healing import states
from langgraph_wyrd.plans import comparing
from langgraph_wyrd.plans.comparing import Side, compared
from langgraph_wyrd.plans.moments import Point
from langgraph_wyrd.state import applying
from langgraph_wyrd.state.diff import StateDiff
from langgraph_wyrd.state.merge import Merged
from langgraph_wyrd.state.model import ContextItem, Intention, Item, OpenLoop, Todo, WorkingState
from langgraph_wyrd.state.past import HistoryEntry
from langgraph_wyrd.store.statements import Plan

# A point, a thread (its head), a thread and a point; or a state itself: a working state, a dict of
# channels, what a graph's `get_state` returned.
Compared = When | Handle | tuple[Handle, When] | WorkingState | Mapping[str, Any] | StateSnapshot
Sides = tuple[Reading, Callable[[], Plan[list[Side]]], Heal[list[Side]]]


class Comparing(Reading, Editable):
    """The part of a thread's handle that compares."""

    def diff(self, a: Compared, b: Compared = None, channels: bool = True) -> StateDiff:
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
            channels: Also compare the values of the channels. False reads none of them.

        A `DeltaChannel` has no value in most checkpoints. One without a value on either side can't
        be compared: where it was written to, `channels.unread` has its name.

        Of a value that is damaged all that can be read is compared: a message that can't be is one
        that says so. `channels.damaged` names such channels; what was healed is said as ever.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
            CheckpointDamaged: Nothing of a point can be read; or with `on_damage="raise"`, at any
                damage.
        """
        given = [self._as_side(each, channels) for each in (a, b)]
        wanted = self._sides(a, b, channels, given)
        found = [side for on, plan, heal in wanted for side in on._read(plan, heal)]
        return compared(*_in_order(given, found))

    async def adiff(self, a: Compared, b: Compared = None, channels: bool = True) -> StateDiff:
        """Async version of `diff`."""
        given = [self._as_side(each, channels) for each in (a, b)]
        wanted = self._sides(a, b, channels, given)
        found = [side for on, plan, heal in wanted for side in await on._aread(plan, heal)]
        return compared(*_in_order(given, found))

    def apply(self, diff: StateDiff, *, by: str = PERSON) -> Merged:
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
            ThreadNotFound: No such thread.
        """
        with self.edit(by) as draft:
            left = applying.say(draft, diff)
        return Merged(draft.state, left)

    async def aapply(self, diff: StateDiff, *, by: str = PERSON) -> Merged:
        """Async version of `apply`."""
        async with self.edit(by) as draft:
            left = applying.say(draft, diff)
        return Merged(draft.state, left)

    def first_change(self, what: str | Item, a: When = None, b: When = None) -> HistoryEntry | None:
        """The first checkpoint behind `a`, on the way to `b`, at which something changed.

        ```python
        thread.first_change("budget")                  # a channel
        thread.first_change('files["/notes.md"]')      # what is behind a path, as a diff prints it
        thread.first_change(state.todos[0])            # an item, or its id
        ```

        Where an item changed is found in the ledger, where a channel changed from its versions.
        Only for a path are values read, of those checkpoints whose channel changed.

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
        return self._read(self._first_change(what, a, b))

    async def afirst_change(
        self, what: str | Item, a: When = None, b: When = None
    ) -> HistoryEntry | None:
        """Async version of `first_change`."""
        return await self._aread(self._first_change(what, a, b))

    def _as_side(self, what: Compared, channels: bool) -> Side | None:
        """A state that needs not be read; None for a point."""
        if isinstance(what, WorkingState):
            return Side(what)
        if isinstance(what, Mapping):
            return Side(extract(what), what if channels else None)
        if isinstance(what, StateSnapshot):
            values = what.values if isinstance(what.values, Mapping) else {}
            return Side(extract(what), values if channels else None)
        return None

    def _sides(
        self, a: Compared, b: Compared, channels: bool, given: Sequence[Side | None]
    ) -> list[Sides]:
        """What is to be read, from where, and how if it is damaged: both at once if it is one
        thread."""
        wanted = [self._point(each) for each, known in zip((a, b), given, strict=True) if not known]
        if any(known is not None and known.values is None for known in given):
            channels = False
        groups: list[tuple[Reading, list[Point]]] = []
        for handle, at in wanted:
            if groups and (groups[0][0]._core, groups[0][0]._stored) == (
                handle._core,
                handle._stored,
            ):
                groups[0][1].append(at)
            else:
                groups.append((handle, [at]))
        return [
            (
                handle,
                partial(comparing.sides, handle._codec, handle._stored, points, channels),
                partial(side_by_side.healed, points) if channels else states.healed,
            )
            for handle, points in groups
        ]

    def _point(self, given: Compared) -> tuple[Reading, Point]:
        handle: Handle = self
        at: When
        if isinstance(given, tuple) and len(given) == 2:
            handle, at = given
        elif isinstance(given, Handle):
            handle, at = given, None
        else:
            at = given  # type: ignore[assignment]
        if not isinstance(handle, Reading):
            raise InvalidInput(f"{given!r}: use a point, a thread, or a pair of these")
        return handle, checked(at)

    def _first_change(
        self, what: str | Item, a: When, b: When
    ) -> Callable[[], Plan[HistoryEntry | None]]:
        if not isinstance(what, (str, Todo, ContextItem, OpenLoop, Intention)):
            raise InvalidInput(f"{what!r}: use an item, its id, a channel, or a path into one")
        if not isinstance(what, str) and what.thread_id not in (None, self.id):
            raise InvalidInput(f"item {what.id} is of thread {what.thread_id!r}, not {self.id!r}")
        return partial(
            comparing.first_change, self._codec, self._stored, what, checked(a), checked(b)
        )


def _in_order(given: Sequence[Side | None], read: Sequence[Side]) -> Iterator[Side]:
    """Both sides, those that were given in their places."""
    rest = iter(read)
    for each in given:
        yield next(rest) if each is None else each
