"""All rows of a thread that is carried away; damaged ones are restored where that is proven."""

from __future__ import annotations

from langgraph_wyrd.checkpoints.copy import COPIED, Carried, copy_thread
from langgraph_wyrd.checkpoints.delete import lock
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.recovery import rows as stored_rows
from langgraph_wyrd.recovery.mend import located, remade
from langgraph_wyrd.recovery.rows import flipped_back, recovered
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.parity import PROTECTED
from langgraph_wyrd.storage.rows import fetch, unsound
from langgraph_wyrd.storage.scripts import Query, Script

_PAGE = 200  # threads that are looked up together


def threads(after: str = "") -> Script[list[tuple[str, int]]]:
    """A page of threads, and how many checkpoints each has; those behind an id."""
    rows = yield Query(
        "SELECT t.thread_id, (SELECT count(*) FROM wyrd_checkpoints c WHERE c.thread = t.key) "
        "FROM wyrd_threads t WHERE t.deleted_at IS NULL AND t.thread_id > ? "
        "ORDER BY t.thread_id LIMIT ?",
        (after, _PAGE),
    )
    return [(name, count) for name, count in rows]


def stored(dialect: str, thread_id: str) -> Script[Carried | None]:
    """A thread's rows as they are stored; None if there is no such thread.

    Raises:
        CheckpointDamaged: A row is damaged or missing, and can't be restored.
    """
    place = yield from located(dialect, thread_id)
    if place is None:
        return None
    found = recovered((
        yield from stored_rows.read(dialect, place.key, thread_id, place.row or place.wrong)
    ))  # fmt: skip
    row = remade(found, place.row or place.wrong)
    if row is None or row.deleted_at is not None:
        return None
    broken = [table.name for table, _ in found.broken if table in COPIED]
    if broken or found.missing:
        what = f"{len(broken)} rows ({', '.join(sorted({*broken}))})" if broken else "rows"
        raise CheckpointDamaged(
            f"thread {given(thread_id)!r}: {what} are damaged or missing: verify() tells more"
        )
    rows = {}
    for table in COPIED:
        if table in PROTECTED:
            rows[table.name] = found.sound[table]
            continue
        held = yield from fetch(table, thread=row.key)
        rows[table.name] = [
            (flipped_back(table, each) or each) if unsound(table, each) else each for each in held
        ]
    return Carried(row, rows)


def copied(dialect: str, codec: Codec, source: str, target: str) -> Script[None]:
    """Copy all of a thread to an id that has no checkpoints yet."""
    yield from lock(dialect, source)
    found = None if source == target else (yield from stored(dialect, source))
    if found is not None or source == target:
        yield from copy_thread(dialect, codec, source, target, found)
