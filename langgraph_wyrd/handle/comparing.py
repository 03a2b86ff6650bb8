"""What differs between two points of a thread's past, and where something changed first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.handle.base import Handle, When, checked
from langgraph_wyrd.handle.reading import Heal, Reading
from langgraph_wyrd.healing import compared as side_by_side
from langgraph_wyrd.healing import states
from langgraph_wyrd.plans import comparing
from langgraph_wyrd.plans.comparing import Side, compared
from langgraph_wyrd.plans.moments import Point
from langgraph_wyrd.state.diff import StateDiff
from langgraph_wyrd.state.model import ContextItem, Intention, Item, OpenLoop, Todo
from langgraph_wyrd.state.past import HistoryEntry
from langgraph_wyrd.store.statements import Plan

Compared = When | Handle | tuple[Handle, When]
Sides = tuple[Reading, Callable[[], Plan[list[Side]]], Heal[list[Side]]]


class Comparing(Reading):
    """The part of a thread's handle that compares."""

    def diff(self, a: Compared, b: Compared = None, channels: bool = True) -> StateDiff:
        """What changed from `a` to `b`.

        ```python
        print(thread.diff("before-deploy").summary())   # +1 todos, 1 loop resolved, +2 messages
        thread.diff((other_thread, "before-deploy"), thread)
        ```

        Args:
            a: A point in the thread's past, another thread (its head), or a pair of a thread and a
                point.
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
        wanted = self._sides(a, b, channels)
        return compared(*(side for on, plan, heal in wanted for side in on._read(plan, heal)))

    async def adiff(self, a: Compared, b: Compared = None, channels: bool = True) -> StateDiff:
        """Async version of `diff`."""
        wanted = self._sides(a, b, channels)
        found = [side for on, plan, heal in wanted for side in await on._aread(plan, heal)]
        return compared(*found)

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

    def _sides(self, a: Compared, b: Compared, channels: bool) -> list[Sides]:
        """What is to be read, from where, and how if it is damaged: both at once if it is one
        thread."""
        one, other = self._point(a), self._point(b)
        groups = [(one[0], [one[1], other[1]])]
        if (one[0]._core, one[0]._stored) != (other[0]._core, other[0]._stored):
            groups = [(handle, [at]) for handle, at in (one, other)]
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
            at = given
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
