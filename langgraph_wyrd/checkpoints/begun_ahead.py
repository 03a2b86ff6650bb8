"""Tool calls that were noted as begun at a checkpoint that was never stored.

`WyrdMiddleware` waits for a tool's checkpoint before it notes that the tool begins. Where a note
has none all the same (its save failed, or its row is gone), nothing else tells of the call.
"""

from __future__ import annotations

from collections.abc import Mapping

from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.read import in_call
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import WRITES, WriteRow

_MOST = 20
_AHEAD = (
    f"SELECT {', '.join('w.' + name for name in WRITES.names)} FROM wyrd_writes w "
    "WHERE w.thread = ? AND w.task LIKE 'started/%' AND NOT EXISTS (SELECT 1 FROM "
    "wyrd_checkpoints c WHERE c.thread = w.thread AND c.ns = w.ns AND c.id = w.checkpoint) "
    f"ORDER BY w.seq DESC LIMIT {_MOST}"
)


def begun_ahead(dialect: str, codec: Codec, thread_id: str) -> Script[list[str]]:
    """What is known of them, in words, the newest first."""
    thread = yield from thread_row(dialect, thread_id)
    said = []
    for row in map(WriteRow._make, (yield Query(_AHEAD, (thread.key,)))):
        try:
            notes = [codec.load_written(each.form, each.data) for each in in_call(codec, row)]
        except CheckpointDamaged:
            continue
        said += [
            f"{note['name']} (call {note.get('call')}) was begun at {note.get('at')}, and its "
            "checkpoint is not stored: verify before redoing"
            for note in notes
            if isinstance(note, Mapping) and "name" in note
        ]
    return said
