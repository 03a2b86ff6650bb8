"""How a run left a thread on which something is due: it goes on, it was killed, it ended early.

A lease tells (`single_writer=True`, or a `run_end` hook, leave one). Without one such a thread is
"due", and nothing is claimed. And what tools a run had begun at a checkpoint that was never stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from langgraph_wyrd.checkpoints.leases import NOW, Holder, lease_key
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.read import in_call
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.state.model import Status, shortened
from langgraph_wyrd.state.status import MOST
from langgraph_wyrd.storage.process import Process, me
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import WRITES, WriteRow

_LEFT = (
    "SELECT thread_id, owner, host, place, pid, born, since, seen, {now} - seen, ended, head "
    "FROM wyrd_leases WHERE thread IN ({marks})"
)
_NOTE = (
    "INSERT INTO wyrd_leases (thread, thread_id, owner, host, place, pid, born, since, seen, "
    "wanted, ended, head) VALUES (?, ?, '', ?, ?, ?, ?, {now}, {now}, 0, ?, ?) "
    "ON CONFLICT (thread) DO UPDATE SET owner = '', ended = excluded.ended, "
    "head = excluded.head, seen = excluded.seen "
    "WHERE wyrd_leases.owner IN ('', ?)"
)
_SAID: Mapping[str, tuple[Status, str]] = {
    "cancelled": ("cancelled", "cancelled"),
    "out_of_steps": ("out_of_steps", "out of steps (recursion_limit)"),
    "paused": ("paused", "waits at a breakpoint"),
    "error": ("error", "the run failed"),
}


LEFT: tuple[Status, ...] = ("running", "killed", "cancelled", "out_of_steps", "paused")


class Left(NamedTuple):
    """A thread's status and reason, as its lease has them."""

    status: Status
    said: str
    head: str | None  # the checkpoint that this holds for; None: for any
    ended_at: str | None = None


def noted(dialect: str, thread_id: str, how: str, owner: str = "") -> Script[None]:
    """Note how a run ended that left something due; `owner`: of its lease, which is given back."""
    thread = yield from thread_row(dialect, thread_id)
    if thread.head is not None and not thread.deleted:
        row = (lease_key(dialect, thread_id), thread_id, *me(), how, thread.head, owner)
        yield Command(_NOTE.format(now=NOW[dialect]), [row])


def left(dialect: str, thread_ids: Iterable[str]) -> Script[dict[str, Left]]:
    """What leases say of threads (ids in stored form) on which something is due."""
    keys = [lease_key(dialect, id) for id in thread_ids]
    if not keys:
        return {}
    # A few lengths only: a query text for each is prepared and kept.
    keys += [keys[-1]] * ((1 << (len(keys) - 1).bit_length()) - len(keys))
    marks = ", ".join("?" * len(keys))
    rows = yield Query(_LEFT.format(now=NOW[dialect], marks=marks), tuple(keys))
    return {row[0]: found for row in rows if (found := _left(*row[1:])) is not None}


def _left(
    owner: str, host: str, place: str, pid: int, born: str, since: float, seen: float, age: float,
    ended: str | None, head: str | None,
) -> Left | None:  # fmt: skip
    if ended is not None:
        found = _SAID.get(ended)
        at = datetime.fromtimestamp(seen, timezone.utc).isoformat()
        return None if found is None else Left(*found, head, at)
    process = Process(host, place, pid, born)
    who = f"process {pid} on {host}"
    if Holder(owner, process, since, seen, age).gone:
        return Left("killed", f"{who} is gone, last sign of life at {_time(seen)}", None)
    return Left("running", f"runs since {_time(since)}, in {who}", None)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def changes(found: Left | None, head: str | None, reason: str | None) -> dict[str, Any]:
    """What to put in the place of "due" and its reason."""
    if found is None or (found.head is not None and found.head != head):
        return {}
    said = f"{found.said}; {reason}" if reason else found.said
    return {"status": found.status, "reason": shortened(said, MOST)}


# ---- tool calls that were begun

_MOST_BEGUN = 20
_AHEAD = (
    f"SELECT {', '.join('w.' + name for name in WRITES.names)} FROM wyrd_writes w "
    "WHERE w.thread = ? AND w.task LIKE 'started/%' AND NOT EXISTS (SELECT 1 FROM "
    "wyrd_checkpoints c WHERE c.thread = w.thread AND c.ns = w.ns AND c.id = w.checkpoint) "
    f"ORDER BY w.seq DESC LIMIT {_MOST_BEGUN}"
)


def begun_ahead(dialect: str, codec: Codec, thread_id: str) -> Script[list[str]]:
    """Tool calls that were noted as begun at a checkpoint that is not stored, the newest first.

    `WyrdMiddleware` waits for a tool's checkpoint before it notes that the tool begins. Where a
    note has none all the same (its save failed, or its row is gone), nothing else tells of it.
    """
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
