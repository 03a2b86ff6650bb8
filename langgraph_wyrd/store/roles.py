"""Who a core works with: what it is given, and what it asks of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from langgraph_wyrd.store.statements import Plan, WriteSet

T = TypeVar("T")
K = TypeVar("K")


class Driver(Protocol):
    """A database, seen from the core's loop. `open` may be called again after it failed."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def read(self, plan: Callable[[], Plan[T]]) -> T:
        """Run a plan on one snapshot."""

    async def read_all(self, plans: list[Callable[[], Plan[Any]]]) -> list[Any]:
        """Run plans on one snapshot; a plan's own error stands in its result's place."""

    async def write(self, plan: Callable[[], Plan[T]]) -> T:
        """Run a plan in a transaction of its own."""

    async def merge(self, sets: list[WriteSet]) -> set[int]:
        """Store write sets in one transaction. If some are stale, store none and name those."""

    async def give_back(self) -> bool:
        """Give a piece of the unused space back to the file system; whether there is more."""

    def wal_bytes(self) -> int | None:
        """How much is not yet moved into the database's file; None if there is none such."""

    async def scrub(self, *, everything: bool) -> None:
        """Forget the bytes of what was deleted: of users' values, or of everything."""

    writers: int  # how many merged transactions it likes to run at once
    closes_to_fork: bool  # whether its connections must not be open while the process forks


class Hot(Protocol[K]):
    """A write that knows two ways: from what is known, or from what it reads itself."""

    @property
    def thread_id(self) -> str: ...
    def hot(self, known: K, /) -> tuple[WriteSet, K] | None: ...
    def cold(self, known: K | None, /) -> Plan[K]: ...
    def stored(self, before: K | None, after: K, /) -> None:
        """Called here after the commit; `before` is None if it was stored cold."""


class Known(Protocol[K]):
    """Where what is known of threads is kept."""

    def get(self, thread_id: str, /) -> K | None: ...
    def put(self, thread_id: str, known: K, /) -> None: ...
    def learn(self, thread_id: str, known: K, /) -> None: ...
    def drop(self, thread_id: str, /) -> None: ...


class Guide(Protocol):
    """Sees to it that threads are found that are there."""

    def guarded(self, plan: Plan[T], /) -> Plan[T]:
        """A plan that raises Astray where it asks for a thread that is there, and not found."""

    async def lead_back(self, running: Any, key: bytes, /) -> None:
        """Have the thread of this key found from now on, or raise."""
