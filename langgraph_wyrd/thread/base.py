"""What the parts of a thread's handle share: its id, its saver, points of its past."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.checkpoints.points import LabelAt, Point
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput
from langgraph_wyrd.operations import Call, Operation, Read, Write
from langgraph_wyrd.state.labels import Label
from langgraph_wyrd.state.results import HistoryEntry
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.scripts import Script

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.codec.values import Codec
    from langgraph_wyrd.saver import WyrdSaver


T = TypeVar("T")

# A point; an entry of the history or the tree, a label, or the config of a checkpoint, too.
When = str | datetime | HistoryEntry | Label | Mapping[str, Any] | None


def checked(at: When) -> Point:
    """A point as a caller may give it, text in stored form."""
    if isinstance(at, HistoryEntry):
        at = at.checkpoint_id
    elif isinstance(at, Label):
        return LabelAt(stored(at.name, "a label"), stored(at.checkpoint_id, "a checkpoint"))
    elif isinstance(at, Mapping):
        held = at.get("configurable") or {}
        if held.get("checkpoint_ns") or "thread_id" not in held:
            raise InvalidInput(f"{at!r} is no point: use the config of a checkpoint of the root")
        at = held.get("checkpoint_id")
    if isinstance(at, str):
        return stored(at, "a point")
    if at is None or isinstance(at, datetime):
        return at
    raise InvalidInput(
        f"{at!r} is no point: use a checkpoint id, a label, a run id, a time (a datetime, or ISO "
        "text), a checkpoint's config, an entry of the history, or None for the head"
    )


class ThreadBase:
    """A thread of a saver."""

    def __init__(self, saver: WyrdSaver, stored_id: str) -> None:
        self._saver = saver
        self._stored = stored_id

    @property
    def id(self) -> str:
        return given(self._stored)

    def __repr__(self) -> str:
        return f"Thread({self.id!r})"

    @property
    def _codec(self) -> Codec:
        codec: Codec = self._saver._codec
        return codec

    def _reading(self, script: Callable[[], Script[Any]]) -> Read:
        return Read(self._saver._engine, script, (self._stored,))

    def _writing(self, script: Callable[[], Script[Any]]) -> Write:
        """A write that changes the thread; what the cache knows of it is read again."""
        forget = partial(self._saver._cache.drop, self._stored)
        return Write(self._saver._engine, script, forget, (self._stored,))

    def _intact(self, error: CheckpointDamaged) -> Operation[str]:
        """The checkpoint that a run would go on from, where the head can't be read.

        Loading it records what was lost. Where nothing can be read, `error` is raised.
        """
        saver = self._saver
        config: RunnableConfig = {"configurable": {"thread_id": self.id, "checkpoint_ns": ""}}
        found = yield Call(partial(saver.get_tuple, config), partial(saver.aget_tuple, config))
        if found is None:
            raise error
        return stored(found.checkpoint["id"], "checkpoint_id")

    def _read(self, script: Callable[..., Script[T]], *args: Any) -> Operation[T]:
        """What a script reads; what is damaged is said with the thread that it is of."""
        saver = self._saver
        work: Callable[[], Script[Any]] = partial(script, saver._dialect, self._codec, *args)
        try:
            found: T = yield from saver._read_of(self._stored, work)
        except CheckpointDamaged as error:
            if repr(self.id) not in str(error):
                error.args = (f"thread {self.id!r}: {error}",)
            raise
        return found
