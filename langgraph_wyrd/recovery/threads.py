"""The row of wyrd_threads, found and made again from a thread's other rows."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

from langgraph_wyrd.checkpoints.put import now
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.recovery import rows as stored_rows
from langgraph_wyrd.recovery.rows import Recovered, recovered
from langgraph_wyrd.storage.keys import found_by, thread_key
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import select, unsound
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    JOURNAL,
    PARITY,
    THREADS,
    Column,
    Key,
    ParityRow,
    Table,
    ThreadRow,
)

_ANY = "SELECT 1 FROM wyrd_checkpoints WHERE thread = ? LIMIT 1"


class Place(NamedTuple):
    """Where a thread's rows are. `row` is the one that a look-up finds, `wrong` another one that
    stands in its place."""

    key: Key
    row: ThreadRow | None
    wrong: ThreadRow | None = None


def located(dialect: str, thread_id: str) -> Script[Place | None]:
    """The key of a thread, also where its own row is missing or says something else."""
    by = "key" if dialect == "postgres" else "thread_id"
    rows = yield Query(select(THREADS, by), (found_by(dialect, thread_id),))
    row = ThreadRow._make(rows[0]) if rows else None
    if dialect == "postgres":
        return Place(thread_key(thread_id), row)
    named = [ParityRow._make(each) for each in (yield Query(select(PARITY, "name"), (thread_id,)))]
    key = next((each.thread for each in named if not unsound(PARITY, each)), None)
    if row is not None:
        names = yield from named_in(row.key)
        if names and thread_id not in names:
            return None  # it is another thread's, whose name is damaged
        right = key is None or key == row.key
        if right or (yield Query(_ANY, (row.key,))) or not (yield Query(_ANY, (key,))):
            return Place(row.key, row)
    if key is None and row is None:
        key = yield from _proven(dialect, thread_id, named)
    if key is None:
        return None
    rows = yield Query(select(THREADS, "key"), (key,))
    found = ThreadRow._make(rows[0]) if rows else None
    return Place(key, found, row)


def _proven(dialect: str, thread_id: str, named: Sequence[ParityRow]) -> Script[Key | None]:
    """The key of a thread that only a damaged group names, if its rows prove that."""
    for each in named:
        if (yield Query(select(THREADS, "key"), (each.thread,))):
            continue
        found = recovered((yield from stored_rows.read(dialect, each.thread, thread_id, None)))
        if any(group.name == thread_id for group in found.sound[PARITY.name]):
            key: Key = each.thread
            return key
        raise CheckpointDamaged(
            f"the row of thread {given(thread_id)!r} is missing, and what names it is damaged"
        )
    return None


def named_in(key: Key) -> Script[set[str]]:
    """The name of a thread as its parity has it, if that is sound."""
    rows = yield Query(f"{select(PARITY, 'thread')} AND name IS NOT NULL", (key,))
    made = [ParityRow._make(each) for each in rows]
    return {each.name for each in made if each.name is not None and not unsound(PARITY, each)}


def remade(found: Recovered, row: ThreadRow | None) -> ThreadRow | None:
    """The thread's row as its other rows say it is; None if there is nothing to go by."""
    rows, thread_id = found.checkpoints, found.stored.thread_id
    journal = found.sound[JOURNAL.name]
    if row is None and not rows and not found.writes:
        return None
    seqs = [each.seq for each in rows] + [each.seq for each in journal]
    roots = [each.id for each in rows if each.ns == ""]
    times = sorted(each.ts for each in rows if each.ts is not None)
    head = max(roots, default=None)
    if row is None:
        moment = now()
        return ThreadRow(
            found.stored.key, thread_id, max(seqs, default=0) + 1, secrets.randbits(62), head,
            None, times[0] if times else moment, moment, None, None, None, None, _user(found), 0,
            0, None,
        )  # fmt: skip
    made = row._replace(key=found.stored.key, thread_id=thread_id)
    if roots and not (
        row.buried is None or (isinstance(row.buried, str) and row.buried < min(roots))
    ):
        made = made._replace(buried=None)
    if rows and row.deleted_at is not None:
        made = made._replace(deleted_at=None)
    whole = not found.missing and all(table is not CHECKPOINTS for table, _ in found.broken)
    if whole and row.head != head:
        made = made._replace(head=head)
    if not _is_count(row.version) or row.version < max(seqs, default=0):
        made = made._replace(version=max(seqs, default=0) + 1)
    if not _is_count(row.writer):
        made = made._replace(writer=secrets.randbits(62))
    blank = ThreadRow(
        made.key, thread_id, made.version, made.writer, made.head, None,
        times[0] if times else now(), times[-1] if times else now(), None, None, None, None,
        _user(found), 0, 0, None,
    )  # fmt: skip
    for column, value, right in zip(THREADS.columns, made, blank, strict=True):
        if not fits(THREADS, column, value):
            made = made._replace(**{column.name: right})  # type: ignore[arg-type]
    return made


_PYTHON: dict[str, tuple[type, ...]] = {
    "key": (int, bytes), "text": (str,), "int": (int,), "real": (float, int), "bytes": (bytes,),
}  # fmt: skip


def fits(table: Table, column: Column, value: Any) -> bool:
    """Whether a column may hold a value, as it is declared."""
    if value is None:
        return not column.required
    if column.kind in _PYTHON and not isinstance(value, _PYTHON[column.kind]):
        return False
    return column.name not in table.checks or value in table.checks[column.name]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _user(found: Recovered) -> str | None:
    """Whose thread it is, as its checkpoints' metadata say."""
    for row in sorted(found.checkpoints, key=lambda each: each.id):
        try:
            user = json.loads(row.metadata).get("user_id")
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(user, str):
            return user
    return None
