"""How a deleted thread refuses what its runs still send.

A deletion leaves the thread's row, with the greatest checkpoint id that it had (`buried`). What
builds on that one or an older one is refused; a new beginning under the same id is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph_wyrd.errors import ThreadDeleted
from langgraph_wyrd.storage.names import given

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.lookup import Loaded
    from langgraph_wyrd.checkpoints.put import Put


def refuse(wanted: Put, loaded: Loaded) -> None:
    """Raise ThreadDeleted for a checkpoint that builds on what was deleted."""
    buried = loaded.thread.buried
    if loaded.space is None and buried is not None and loaded.stamp is None:
        late = [id for id in (wanted.parent, wanted.root) if id is not None]
        if any(id <= buried for id in late):
            raise too_late(loaded.thread.thread_id)


def too_late(thread_id: str) -> ThreadDeleted:
    return ThreadDeleted(
        f"thread {given(thread_id)!r} was deleted while this run was going on: what it sent now "
        "was not stored. Start a new run to use the thread id again."
    )
