"""A thread's past and present: what it was doing, and how it came there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.handle.base import Handle, When, checked
from langgraph_wyrd.pillars.model import WorkingState
from langgraph_wyrd.pillars.past import HistoryEntry, Tree
from langgraph_wyrd.plans import filters, moments, past
from langgraph_wyrd.store.statements import Plan

T = TypeVar("T")
_MOST = 1_000_000  # checkpoints of a tree


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
        return self._read(partial(moments.state_at, self._codec, self._stored, checked(at)))

    async def aworking_state(self, at: When = None) -> WorkingState:
        """Async version of `working_state`."""
        return await self._aread(partial(moments.state_at, self._codec, self._stored, checked(at)))

    def history(self, limit: int = 50, before: When = None) -> list[HistoryEntry]:
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

        Raises:
            ThreadNotFound: No such thread, or no such point in it.
        """
        return self._read(self._history(limit, before))

    async def ahistory(self, limit: int = 50, before: When = None) -> list[HistoryEntry]:
        """Async version of `history`."""
        return await self._aread(self._history(limit, before))

    def tree(self, limit: int = 10_000) -> Tree:
        """How all checkpoints hang together; `print` shows it.

        Args:
            limit: At most so many, the newest ones.

        Raises:
            ThreadNotFound: No such thread.
        """
        return self._read(self._tree(limit))

    async def atree(self, limit: int = 10_000) -> Tree:
        """Async version of `tree`."""
        return await self._aread(self._tree(limit))

    def _history(self, limit: int, before: When) -> Callable[[], Plan[list[HistoryEntry]]]:
        most = filters.count(limit)
        return partial(past.history, self._codec, self._stored, most, checked(before))

    def _tree(self, limit: int) -> Callable[[], Plan[Tree]]:
        if type(limit) is not int or not 0 < limit <= _MOST:
            raise InvalidInput(f"limit={limit!r}: use a number from 1 to {_MOST}")
        return partial(past.tree, self._stored, limit)

    def _read(self, plan: Callable[[], Plan[T]]) -> T:
        return self._core.run(lambda core: core.read(plan))

    async def _aread(self, plan: Callable[[], Plan[T]]) -> T:
        return await self._core.arun(lambda core: core.read(plan))
