"""Snapshots when what was said before them has changed: they go, or get the new state."""

from __future__ import annotations

import logging

from langgraph_wyrd.checkpoints import path, snapshots, states
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import delete, fetch, replace_row, summed, unsound
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, SNAPSHOTS, SnapshotRow

logger = logging.getLogger("langgraph_wyrd")

_HELD = "SELECT ns, checkpoint FROM wyrd_snapshots WHERE thread = ? AND channel = ''"


def dropped(
    dialect: str, codec: Codec, thread: Thread, behind: tuple[str, str] | None = None
) -> Script[None]:
    """Drop the snapshots of a thread, or of those in a namespace that are not of one checkpoint.

    Where older rows are damaged beyond repair, what a snapshot holds is nowhere else: it stays, and
    gets the working state that the events say.
    """
    for ns, id in (yield Query(_HELD, (thread.key,))):
        if behind is not None and (ns != behind[0] or id == behind[1]):
            continue
        found = yield from path.find(
            dialect, thread.thread_id, ns, id, writes=False, snapshots=False
        )
        if _is_whole(found):
            place = (thread.key, ns, id)
            yield Command(delete(SNAPSHOTS, "thread", "ns", "checkpoint"), [place])
            continue
        try:
            for held in (
                yield from fetch(SNAPSHOTS, thread=thread.key, ns=ns, checkpoint=id, channel="")
            ):
                yield from _stated(dialect, codec, thread, found, held)
        except CheckpointDamaged as error:
            logger.warning(
                "thread %r: the working state at %s is not that of now: %s",
                given(thread.thread_id), given(id), error,
            )  # fmt: skip


def _is_whole(found: path.Found) -> bool:
    """Whether a checkpoint can be restored without a snapshot."""
    rows = found.path
    return not rows or (
        rows[-1].built_on is None and not any("sum" in unsound(CHECKPOINTS, row) for row in rows)
    )


def _stated(
    dialect: str, codec: Codec, thread: Thread, found: path.Found, held: SnapshotRow
) -> Script[None]:
    """Put the working state that the events say into a snapshot."""
    if found.path[-1].built_on is not None:
        raise CheckpointDamaged("older rows are missing")
    if unsound(SNAPSHOTS, held) or held.state is None:
        return  # it is not read
    _, state = yield from states.load_namespace(
        dialect, codec, thread, held.ns, held.checkpoint, found
    )
    if state is not None:
        made = codec.open(SNAPSHOTS, held)._replace(state=snapshots.state_of(state.lasting))
        yield replace_row(SNAPSHOTS, summed(SNAPSHOTS, made, codec.sealer))
