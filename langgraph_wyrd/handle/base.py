"""What the parts of a thread's handle share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.plans.moments import Point
from langgraph_wyrd.state.past import HistoryEntry
from langgraph_wyrd.store.names import given, stored

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.plans.weaving import Weaver
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.values import Codec

T = TypeVar("T")
When = str | datetime | HistoryEntry | None  # a point; an entry of the history or the tree, too


class Handle:
    """One thread of a saver. Making one reads nothing."""

    def __init__(
        self,
        core: Core[Memory],
        codec: Callable[[], Codec],
        weaver: Weaver | None,
        stored_id: str,
        *,
        heals_damage: bool = True,
        saver: Any = None,
    ) -> None:
        self._core = core
        self._get_codec = codec
        self._weaver = weaver
        self._stored = stored_id
        self._heals_damage = heals_damage
        self._saver = saver  # whose thread it is: a WyrdSaver, or one user's

    @property
    def id(self) -> str:
        return given(self._stored)

    def __repr__(self) -> str:
        return f"Thread({self.id!r})"

    @property
    def _codec(self) -> Codec:
        return self._get_codec()

    def _found(self, found: T | None, at: When) -> T:
        """What was found at a point; raises ThreadNotFound for None."""
        if found is None:
            what = "no checkpoints" if at is None else f"no checkpoint at {at}"
            raise ThreadNotFound(f"thread {self.id!r} has {what}")
        return found


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
