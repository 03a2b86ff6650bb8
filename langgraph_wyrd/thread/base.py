"""What the parts of a thread's handle share: its id, its saver, points of its past."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.checkpoints.points import LabelAt, Point
from langgraph_wyrd.configs import checkpoint_config
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, ThreadNotFound
from langgraph_wyrd.operations import Bound, Operation, ask
from langgraph_wyrd.state.results import HistoryEntry, Label
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.scripts import Script

if TYPE_CHECKING:
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

    # ---- scripts on the thread's rows

    def _bound(self, script: Callable[..., Script[T]], *args: Any) -> Bound[T]:
        """A script that takes the dialect, the codec, the thread's id and then `args`."""
        saver = self._saver
        return partial(script, saver._dialect, saver._codec, self._stored, *args)

    def _reads(self, script: Bound[T]) -> Operation[T]:
        saver = self._saver
        return saver._read(saver._of_thread(self._stored, script), self._stored)

    def _writes(self, script: Bound[T], *others: str) -> Operation[T]:
        """Run a script that changes the thread, and `others`; the cache forgets them."""
        saver = self._saver
        return saver._write(saver._of_thread(self._stored, script), self._stored, *others)

    def _reads_state(self, script: Callable[..., Script[T]], *args: Any) -> Operation[T]:
        """What a bound script reads, once the working state was read out of all checkpoints.

        An error about damage names the thread.
        """
        try:
            return (yield from self._saver._read_of(self._stored, self._bound(script, *args)))
        except CheckpointDamaged as error:
            if repr(self.id) not in str(error):
                error.args = (f"thread {self.id!r}: {error}",)
            raise

    def _not_there(self, at: When = None) -> ThreadNotFound:
        what = "no checkpoints" if at is None else f"no checkpoint at {at}"
        return ThreadNotFound(f"thread {self.id!r} has {what}")

    def _intact(self, error: CheckpointDamaged) -> Operation[str]:
        """The checkpoint that a run would go on from, where the head can't be read.

        Loading it records what was lost. Where nothing can be read, `error` is raised.
        """
        found = yield ask(self._saver, "get_tuple", checkpoint_config(self.id, ""))
        if found is None:
            raise error
        return stored(found.checkpoint["id"], "checkpoint_id")
