"""All rows of a thread, to copy or export it; damaged ones are restored where that is proven."""

from __future__ import annotations

import logging
from typing import Any

from langgraph_wyrd import errors
from langgraph_wyrd.checkpoints import copy
from langgraph_wyrd.checkpoints.copy import Carried
from langgraph_wyrd.checkpoints.delete import lock
from langgraph_wyrd.checkpoints.missing import LOST_SAID
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.recovery.flipped_bits import flipped_back
from langgraph_wyrd.recovery.mend import locked, remade
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.parity import PROTECTED
from langgraph_wyrd.storage.rows import fetch, unsound
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS

logger = logging.getLogger("langgraph_wyrd")

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


def stored_rows(
    dialect: str, thread_id: str, *, around_damage: bool | None = None
) -> Script[Carried | None]:
    """A thread's rows as they are stored; None if there is no such thread.

    `around_damage`: leave out damaged checkpoints, and what can't be restored without them. False:
    also refuse a thread of which a checkpoint is missing that others build on.

    Raises:
        CheckpointDamaged: A row is damaged or missing, and can't be restored.
    """
    opened = yield from locked(dialect, thread_id, lock=False)
    if opened is None:
        return None
    place, found = opened
    row = remade(found, place.row or place.wrong)
    if row is None or row.deleted_at is not None:
        return None
    broken = [table.name for table, _ in found.broken if table in copy.COPIED]
    every, whole = found.sound[CHECKPOINTS], _restorable(found.sound[CHECKPOINTS])
    if around_damage:
        found.sound[CHECKPOINTS] = whole
    elif broken or found.absent or (around_damage is False and len(whole) < len(every)):
        what = f"{len(broken)} rows ({', '.join(sorted({*broken}))})" if broken else "rows"
        raise errors.CheckpointDamaged(
            f"thread {given(thread_id)!r}: {what} are damaged or missing: verify() tells more"
        )
    if row.head is not None and not any(each.ns == "" for each in found.sound[CHECKPOINTS]):
        raise errors.CheckpointDamaged(
            f"thread {given(thread_id)!r}: {LOST_SAID}: verify() tells more"
        )
    rows = {}
    for table in copy.COPIED:
        if table in PROTECTED:
            rows[table.name] = found.sound[table]
            continue
        rows[table.name] = []
        for each in (yield from fetch(table, thread=row.key)):
            right = flipped_back(table, each) if unsound(table, each) else each
            if right is None:
                what = "thread %r: a damaged row of %s is left out: verify() tells more"
                logger.warning(what, given(thread_id), table.name)
            else:
                rows[table.name].append(right)
    return Carried(row, rows)


def _restorable(rows: list[Any]) -> list[Any]:
    """The checkpoints whose path is whole."""
    there = {(row.ns, row.id) for row in rows}
    after: dict[tuple[str, str], list[tuple[str, str]]] = {}
    broken = []
    for row in rows:
        if row.built_on is not None:
            after.setdefault((row.ns, row.built_on), []).append((row.ns, row.id))
            if (row.ns, row.built_on) not in there:
                broken.append((row.ns, row.id))
    while broken:
        at = broken.pop()
        there.discard(at)
        broken += after.pop(at, ())
    return [row for row in rows if (row.ns, row.id) in there]


def copied(dialect: str, codec: Codec, source: str, target: str) -> Script[None]:
    """Copy all of a thread to an id that has no checkpoints yet."""
    if source == target:
        raise errors.InvalidInput(f"thread {given(source)!r} can't be copied onto itself")
    yield from lock(dialect, source)
    if (found := (yield from stored_rows(dialect, source))) is not None:
        yield from copy.copy_thread(dialect, codec, target, found)
