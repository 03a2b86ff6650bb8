"""What should be stored and is not: parity groups and a thread's row name it.

Everything here raises CheckpointDamaged where a row is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.storage.keys import found_by
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.parity import JOURNALED, LAST, place_of, tags_of
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import Key, ThreadRow, WriteRow

_NAMED = {
    "sqlite": "SELECT thread FROM wyrd_parity WHERE name = ?",
    "postgres": "SELECT 1 WHERE EXISTS (SELECT 1 FROM wyrd_parity WHERE thread = ?) "
    "OR EXISTS (SELECT 1 FROM wyrd_checkpoints WHERE thread = ?)",
}
_GROUPS = " UNION ALL ".join(
    f"SELECT first, last, tags FROM wyrd_parity WHERE thread = ? AND first <= ? AND {when}"
    for when in ("last >= ? AND closed IS NULL", "closed >= ?")
)
_SUMS = " UNION ALL ".join(
    f"SELECT ns, id, sum FROM wyrd_checkpoints WHERE thread = ? AND {where} AND id >= ? AND id <= ?"
    for where in ("ns = ''", "ns <> ''")  # the key, and an index of all subgraphs
)


def expected(
    dialect: str, found: Found, thread_id: str, ns: str, id: str | None, start: str = ""
) -> Script[None]:
    """Raise CheckpointDamaged where rows are missing that should have been found.

    `start`: no checkpoint of the namespace is older than this one.
    """
    thread = found.thread
    if thread is None:
        yield from not_stored(dialect, thread_id)
        return
    typed(thread, thread_id)
    buried = thread.buried
    if (
        thread.thread_id != thread_id
        or (thread.deleted_at is not None and found.path)
        or (buried is not None and found.path and not buried < found.path[-1].id)
    ):
        raise CheckpointDamaged(f"the row of thread {given(thread_id)!r} is damaged")
    if found.path:
        complete(found)
    if id is None and ns == "":
        head = thread.head or None
        if head != (found.path[0].id if found.path else None):
            raise CheckpointDamaged(
                f"checkpoint {given(str(head))} is not the newest that is there"
            )
    elif id is None:
        yield from present(thread.key, found.path[0].id if found.path else start, LAST)
    elif not found.path:
        yield from present(thread.key, id, id)


def typed(thread: ThreadRow, thread_id: str) -> None:
    """Raise CheckpointDamaged where a thread's row can't be compared with anything."""
    if type(thread.version) is not int or not isinstance(thread.buried, str | None):
        raise CheckpointDamaged(f"the row of thread {given(thread_id)!r} is damaged")


def not_stored(dialect: str, thread_id: str) -> Script[None]:
    """Raise CheckpointDamaged where a thread's row is missing, and others of its rows are not."""
    text = _NAMED[dialect]
    if (yield Query(text, (found_by(dialect, thread_id),) * text.count("?"))):
        raise CheckpointDamaged(f"the row of thread {given(thread_id)!r} is missing")


LOST_SAID = "its checkpoints are missing from the database"
LOST_REASON = f"{LOST_SAID}: the graph would start empty"

NEWEST = "SELECT max(id) FROM wyrd_checkpoints WHERE thread = ? AND ns = ''"


_SAID = f"{JOURNALED} UNION ALL SELECT sum, NULL FROM wyrd_journal WHERE thread = ?"


def headed(key: Key, head: str | None) -> Script[None]:
    """Raise CheckpointDamaged where a thread's head is not the newest that is there, or a row of
    its journal is missing."""
    ((newest,),), said = yield [Query(NEWEST, (key,)), Query(_SAID, (key,) * 3)]
    if newest is None and head:
        raise CheckpointDamaged(f"{LOST_SAID}: {given(str(head))} was the newest")
    if newest != (head or None):
        raise CheckpointDamaged(f"checkpoint {given(str(head))} is not the newest that is there")
    _refuse_unsaid(said)


def all_said(key: Key) -> Script[None]:
    """Raise CheckpointDamaged where a row of a thread's journal is missing that parity names."""
    _refuse_unsaid((yield Query(_SAID, (key,) * 3)))


def _refuse_unsaid(rows: Sequence[Any]) -> None:
    held = {sum & 0xFFFFFFFF for sum, tags in rows if tags is None and type(sum) is int}
    if any(each >> 32 not in held for _, tags in rows for each in tags_of(tags)):
        raise CheckpointDamaged("what somebody declared is missing: a row of the journal")


def present(key: Key, low: str, high: str) -> Script[None]:
    """Raise CheckpointDamaged where a checkpoint's row is missing, of those with such ids, or the
    group that names it."""
    groups = yield groups_between(key, low, high)
    refuse_missing(low, high, groups, (yield sums(key, low, high, groups)))


def groups_between(key: Key, low: str, high: str) -> Query:
    """The parity groups that may have a checkpoint with an id between these."""
    return Query(_GROUPS, (key, high, low) * 2)


def sums(key: Key, low: str, high: str, groups: Sequence[Any]) -> Query:
    """The checkpoints that these groups may have."""
    first = min([low, *(row[0] for row in groups)])
    last = max([high, *(row[1] for row in groups)])
    return Query(_SUMS, (key, first, last) * 2)


def refuse_missing(low: str, high: str, groups: Sequence[Any], sums: Sequence[Any]) -> None:
    """Raise CheckpointDamaged where a checkpoint that a group names is not there, or one that is
    there, with an id between these, is named by none."""
    held = {
        (sum & 0xFFFFFFFF) << 32 | place_of(str(ns), str(id)) | 1: id
        for ns, id, sum in sums
        if type(sum) is int
    }
    named = {tag for row in groups for tag in tags_of(row[2]) if tag & 1}
    if not named <= held.keys():
        raise CheckpointDamaged("the row of a checkpoint is missing")
    if any(tag not in named and low <= id <= high for tag, id in held.items()):
        raise CheckpointDamaged("a checkpoint is in no group of its thread's parity")


def complete(found: Found) -> None:
    """Raise CheckpointDamaged where a row of a task's writes is missing, or what names them."""
    if found.grouped:
        row = found.path[0]
        own = ((row.sum & 0xFFFFFFFF) << 32 | place_of(row.ns, row.id) | 1).to_bytes(8, "little")
        if not any(own in group for group in found.groups):
            raise CheckpointDamaged(f"checkpoint {given(row.id)} is in no group of its parity")
        _written_at(row.ns, row.id, found.writes, found.groups)


def all_written(
    key: Key, ns: str, low: str, high: str, rows: Mapping[str, list[WriteRow]], ids: Sequence[str]
) -> Script[None]:
    """The same for several checkpoints, of which these are the writes."""
    groups = [row[2] for row in (yield groups_between(key, low, high))]
    for id in ids:
        _written_at(ns, id, rows.get(id, ()), groups)


def _written_at(ns: str, id: str, rows: Sequence[WriteRow], groups: Sequence[bytes]) -> None:
    place = place_of(ns, id) & ~1
    held = {each.sum & 0xFFFFFFFF for each in rows if type(each.sum) is int}
    for group in groups:
        for tag in tags_of(group):
            if tag & 0xFFFFFFFF == place and tag >> 32 not in held:
                raise CheckpointDamaged(f"what a task wrote at checkpoint {given(id)} is missing")
