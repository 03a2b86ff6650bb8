"""What listings across threads give: pages, and threads in short."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.state import records
from langgraph_wyrd.state.model import Due, Status
from langgraph_wyrd.state.viewed import viewed

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")


@viewed
class Page(list[T]):
    """A list, and where it goes on: `after=page.next` gives the next page. None: that was all."""

    __slots__ = ("next",)

    def __init__(self, items: Iterable[T] = (), next: str | None = None) -> None:
        super().__init__(items)
        self.next = next

    def to_records(self) -> list[dict[str, Any]]:
        """A flat dict for each, with the columns that the public tables have."""
        return [records.record(each) for each in self]

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a DataFrame, with times as times. It has this page only.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return records.frame(self.to_records())


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A thread, in short. Status, counts and what is due are those of its head.

    Without pillars (`pillars=False`) there is no status, no title and nothing is counted.
    """

    thread_id: str
    status: Status | None = None
    reason: str | None = None
    title: str | None = None  # the first request, shortened
    due: tuple[Due, ...] = ()
    user_id: str | None = None
    created_at: str | None = None
    updated_at: str | None = None  # the last time that anything was stored
    head: str | None = None  # the newest checkpoint of its root
    open_loops: int = 0  # what prose promises is not counted
    open_todos: int = 0
