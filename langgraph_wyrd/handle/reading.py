"""A thread's past and present: what it was doing, and how it came there."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput
from langgraph_wyrd.handle.base import Handle, When, checked
from langgraph_wyrd.healing import telling
from langgraph_wyrd.healing.states import healed
from langgraph_wyrd.plans import filters, moments, past
from langgraph_wyrd.plans.moments import Point
from langgraph_wyrd.state.listed import Page
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.past import HistoryEntry, Tree
from langgraph_wyrd.store.statements import Plan

if TYPE_CHECKING:
    from langgraph_wyrd.healing.found import Found
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.plans.weaving import Weaver
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.values import Codec

T = TypeVar("T")
# How a plan reads what is damaged: what it gives, and what was met.
Heal = Callable[
    ["Codec", "Weaver | None", str, Callable[[], Plan[T]]], Plan[tuple[T, "tuple[Found, ...]"]]
]
_MOST = 1_000_000  # checkpoints of a tree


class _Found:
    """A page of the history while it is read."""

    def __init__(self, thread_id: str, limit: int, changed_only: bool) -> None:
        self.page = Page[HistoryEntry]()
        self.last: str | None = None
        self.whole = False
        self._thread_id, self._limit, self._changed_only = thread_id, limit, changed_only

    def add(self, entries: list[HistoryEntry]) -> None:
        for entry in entries:
            if len(self.page) < self._limit and not (self._changed_only and entry.idle):
                self.page.append(replace(entry, thread_id=self._thread_id))
        self.last = entries[-1].checkpoint_id if entries else None
        is_end = len(entries) < self._limit
        self.whole = is_end or not self._changed_only or len(self.page) >= self._limit


def _of_thread(tree: Tree, thread_id: str) -> Tree:
    entries = {id: replace(each, thread_id=thread_id) for id, each in tree.entries.items()}
    return replace(tree, entries=entries)


class Reading(Handle):
    """The part of a thread's handle that reads.

    A point in its past is a checkpoint id, else a label, else a run id (the run's newest
    checkpoint), else a time (`datetime` or ISO text: the newest checkpoint until then), or an entry
    of `history`. None is the head. A point that is not there raises `ThreadNotFound`.
    """

    def working_state(self, at: When = None) -> WorkingState:
        """What the agent was doing.

        Args:
            at: A point in the thread's past. None: the head.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
        """
        return self._core.run(self._state(checked(at)))

    async def aworking_state(self, at: When = None) -> WorkingState:
        """Async version of `working_state`."""
        return await self._core.arun(self._state(checked(at)))

    def history(
        self, limit: int = 50, before: When = None, changed_only: bool = False
    ) -> Page[HistoryEntry]:
        """The checkpoints in short, newest first, forks included: what each changed, in a line.

        ```python
        for entry in thread.history(limit=10):
            print(entry.step, entry.nodes, entry.summary)
        ```

        No channel value is read. What subgraphs did is not in the line of the checkpoint at which
        they ran; `working_state(entry)` has it.

        Args:
            limit: At most so many, 1 to 1000.
            before: Only those that are older than this point: the next page is asked for with the
                last entry of this one.
            changed_only: Leave out those that changed nothing: an input that was only stored, a
                step that wrote what was there. Labelled ones, forks and the head stay.

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
        """
        found = _Found(self.id, limit, changed_only)
        while not found.whole:
            found.add(self._read(self._history(limit, found.last or before)))
        return found.page

    async def ahistory(
        self, limit: int = 50, before: When = None, changed_only: bool = False
    ) -> Page[HistoryEntry]:
        """Async version of `history`."""
        found = _Found(self.id, limit, changed_only)
        while not found.whole:
            found.add(await self._aread(self._history(limit, found.last or before)))
        return found.page

    def tree(self, limit: int = 10_000) -> Tree:
        """How all checkpoints hang together; `print` shows it.

        Args:
            limit: At most so many, the newest ones.

        Raises:
            ThreadNotFound: No such thread.
        """
        return _of_thread(self._read(self._tree(limit)), self.id)

    async def atree(self, limit: int = 10_000) -> Tree:
        """Async version of `tree`."""
        return _of_thread(await self._aread(self._tree(limit)), self.id)

    def _history(self, limit: int, before: When) -> Callable[[], Plan[list[HistoryEntry]]]:
        most = filters.count(limit)
        return partial(past.history, self._codec, self._stored, most, checked(before))

    def _tree(self, limit: int) -> Callable[[], Plan[Tree]]:
        if type(limit) is not int or not 0 < limit <= _MOST:
            raise InvalidInput(f"limit={limit!r}: use a number from 1 to {_MOST}")
        return partial(past.tree, self._codec, self._stored, limit)

    def _read(self, plan: Callable[[], Plan[T]], heal: Heal[T] = healed) -> T:
        return self._core.run(lambda core: self._healed(core, plan, heal))

    async def _aread(self, plan: Callable[[], Plan[T]], heal: Heal[T] = healed) -> T:
        return await self._core.arun(lambda core: self._healed(core, plan, heal))

    async def _healed(
        self, core: Running[Memory], plan: Callable[[], Plan[T]], heal: Heal[T] = healed
    ) -> T:
        """What a plan reads, as far as it can be had: damage of the ledger is told of."""
        codec = self._codec
        with self._named():
            if not self._heals_damage:
                return await core.read(plan)
            found, heals = await core.read(lambda: heal(codec, self._weaver, self._stored, plan))
        if heals:
            await telling.tell(core, codec, heals)
        return found

    @contextmanager
    def _named(self) -> Iterator[None]:
        """What is damaged is said with the thread that it is of."""
        try:
            yield
        except CheckpointDamaged as error:
            if repr(self.id) not in str(error):
                error.args = (f"thread {self.id!r}: {error}",)
            raise

    def _state(self, at: Point) -> Callable[[Running[Memory]], Coroutine[Any, Any, WorkingState]]:
        codec = self._codec

        def state() -> Plan[WorkingState]:
            return moments.state_at(codec, self._stored, at)

        def with_heals() -> Plan[tuple[WorkingState, tuple[Found, ...]]]:
            found, heals = yield from healed(codec, self._weaver, self._stored, state)
            if at is None and not heals:
                found = yield from telling.shown(codec, self._stored, found)
            return found, heals

        async def job(core: Running[Memory]) -> WorkingState:
            with self._named():
                if not self._heals_damage:
                    return await core.read(state)
                found, heals = await core.read(with_heals)
            if not heals:
                return found
            await telling.tell(core, codec, heals)
            return await core.read(lambda: telling.shown(codec, self._stored, found))

        return job
