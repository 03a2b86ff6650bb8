"""Writes back damaged rows that can be restored to the byte, and groups a thread's rows anew.

A damaged row of wyrd_threads is made again from the thread's other rows.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from langgraph_wyrd.checkpoints import search
from langgraph_wyrd.checkpoints.put import now
from langgraph_wyrd.checkpoints.read import NEWEST
from langgraph_wyrd.codec.payload import unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.recovery import rows as stored_rows
from langgraph_wyrd.recovery.heals import Heal, record
from langgraph_wyrd.recovery.rows import TABLES as RECOVERED
from langgraph_wyrd.recovery.rows import (
    Fix,
    Recovered,
    Stored,
    flipped_back,
    is_write,
    known,
    recovered,
)
from langgraph_wyrd.storage.keys import found_by, random_bits, thread_key
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.parity import PROTECTED, place_of, regroup, tags_of
from langgraph_wyrd.storage.rows import delete, insert, select, summed, unsound
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    JOURNAL,
    PARITY,
    SNAPSHOTS,
    TABLES,
    THREADS,
    WRITES,
    CheckpointRow,
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
            found.stored.key, thread_id, max(seqs, default=0) + 1, random_bits(62), head,
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
        made = made._replace(writer=random_bits(62))
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


_LOCK = {
    "sqlite": "SELECT 1 FROM wyrd_threads WHERE key = ?",  # the transaction has the only lock
    "postgres": "SELECT 1 FROM wyrd_threads WHERE key = ? FOR UPDATE",
}


def mended(dialect: str, thread_id: str) -> Script[list[Heal]]:
    """Write back what can be restored of a thread; what that was."""
    opened = yield from locked(dialect, thread_id)
    if opened is None:
        return []
    place, found = opened
    heals = yield from applied(dialect, place, found)
    if heals:
        yield record(found.stored.key, heals)
    return heals


def salvaged(dialect: str, thread_id: str, codec: Codec) -> Script[list[Heal]]:
    """Restore what can be; give up what can't, so that the thread can be written again.

    The writes of a task of which one is damaged go (it runs again), but for answers. Where they are
    missing that is said once. A checkpoint whose events are damaged loses them. What else is
    damaged or missing stays so, and is known by its tag: it is found again.
    """
    opened = yield from locked(dialect, thread_id)
    if opened is None:
        return []
    place, found = opened
    heals = yield from applied(dialect, place, found)
    again: set[tuple[str, str, str]] = set()
    lost = set(found.lost)
    places = {place_of(row.ns, row.id) & ~1: row for row in found.checkpoints}
    for each in filter(is_write, found.absent):
        lost.discard(each)
        at = places.get(each & 0xFFFFFFFF)
        ns, id = ("", "") if at is None else (at.ns, at.id)
        heals.append(Heal("left_out", ns, id, "", "what a task wrote is missing: it runs again"))
    for table, row in found.broken:
        if table in PROTECTED:
            number = PROTECTED.index(table)
            own = known(lost, number, row)
            lost.discard(own)
            if table is not WRITES:
                lost.add(own)
        if table is WRITES:
            yield from _removed(dialect, found.stored, table, row)
            again.add((row.ns, row.checkpoint, row.task))
            what = f"what task {row.task} wrote is damaged: it runs again"
            heals.append(Heal("left_out", row.ns, row.checkpoint, row.task, what))
        elif table is CHECKPOINTS and "events_sum" in unsound(table, row):
            fixed = without_events(row)
            yield from _removed(dialect, found.stored, table, row)
            yield Command(insert(table), [fixed])
            what = "what it said is damaged"
            heals.append(Heal("left_out", row.ns, row.id, "events", what))
            if not unsound(table, fixed):
                found.sound[table.name].append(fixed)
                lost.discard(own)
    heals += yield from _headed(found)
    for row in list(found.writes):
        if (row.ns, row.checkpoint, row.task) in again and not _answers(codec, row):
            found.sound[WRITES.name].remove(row)
            yield Command(delete(WRITES, *WRITES.key), [[getattr(row, n) for n in WRITES.key]])
    yield from regrouped(found, lost)
    if heals:
        yield record(found.stored.key, heals)
    return heals


def _headed(found: Recovered) -> Script[list[Heal]]:
    """Have the newest checkpoint that is there be the head, where the head is missing for good."""
    rows = yield Query("SELECT head FROM wyrd_threads WHERE key = ?", (found.stored.key,))
    ((newest,),) = yield Query(NEWEST, (found.stored.key,))
    if not rows or rows[0][0] == newest or not (newest is None or isinstance(newest, str)):
        return []
    yield Command(
        "UPDATE wyrd_threads SET head = ?, version = version + 1 WHERE key = ?",
        [(newest, found.stored.key)],
    )
    what = f"it is missing: {newest or 'nothing'} is the head"
    return [Heal("ancestor" if newest else "empty", "", str(rows[0][0]), "", what)]


def _answers(codec: Codec, row: Any) -> bool:
    try:
        return any(
            write[0] == "__resume__" for write in unpacked(codec.opened(WRITES, row, "payload"))
        )
    except Exception:  # nobody knows: better asked twice than forgotten
        return True


def without_events(row: CheckpointRow) -> CheckpointRow:
    """A row whose events are given up. The checksum of its values stays as it is."""
    made = row._replace(events=None, root=None, due=None)
    made = made._replace(seq=made.seq if type(made.seq) is int else 0)
    return made._replace(events_sum=summed(CHECKPOINTS, made).events_sum)


def mended_by_key(dialect: str, key: Key) -> Script[None]:
    """The same before a script changes or deletes rows of a thread, whose own row it may have
    changed already."""
    rows = yield Query("SELECT thread_id FROM wyrd_threads WHERE key = ?", (key,))
    if rows:
        stored = yield from stored_rows.read(dialect, key, rows[0][0], None)
        found = recovered(stored)
        heals = yield from applied(dialect, Place(key, None), found, thread=False)
        if found.missing:  # the groups that name them are replaced
            heals.append(Heal("left_out", "", "", "", absent(found)))
        if heals:
            yield record(key, heals)


def locked(
    dialect: str, thread_id: str, *, lock: bool = True
) -> Script[tuple[Place, Recovered] | None]:
    """A thread's rows after recovery, with its row locked."""
    place = yield from located(dialect, thread_id)
    if place is None:
        return None
    if lock:
        yield Query(_LOCK[dialect], (place.key,))
    row = place.row or place.wrong
    stored = yield from stored_rows.read(dialect, place.key, thread_id, row)
    if not any(stored.rows.values()) and (row is None or row.deleted_at is not None):
        return None  # it never was, or was deleted
    return place, recovered(stored)


def applied(
    dialect: str, place: Place, found: Recovered, *, thread: bool = True
) -> Script[list[Heal]]:
    """Store what recovery restored; with `thread`, the thread's row as well."""
    heals: list[Heal] = []
    moved: list[Fix] = []
    stored = found.stored
    # A row whose key is right stays where it is. The others are taken away first, then put where
    # they belong: they may stand in each other's places.
    for fix in found.fixes:
        heals.append(_said(fix))
        if fix.old is None:
            continue
        if all(getattr(fix.old, name) == getattr(fix.new, name) for name in fix.table.key):
            sets = ", ".join(f"{name} = ?" for name in fix.table.names)
            where, at = stored.place(dialect, fix.table, fix.old)
            yield Command(f"UPDATE {fix.table.name} SET {sets} WHERE {where}", [(*fix.new, *at)])
        else:
            yield from _removed(dialect, stored, fix.table, fix.old)
            moved.append(fix)
    for fix in [*moved, *(fix for fix in found.fixes if fix.old is None)]:
        yield Command(insert(fix.table), [fix.new])
    for table, row in found.strays:
        yield from _removed(dialect, stored, table, row)
        what = f"a damaged row of {table.name} was none of this thread's: it was removed"
        heals.append(Heal("left_out", "", "", "", what))
    for table, row in found.broken:
        if table is SNAPSHOTS:
            yield from _removed(dialect, stored, table, row)
            if isinstance(row.ns, str) and isinstance(row.checkpoint, str):
                ns, checkpoint = _clean(row.ns), _clean(row.checkpoint)
                away = delete(SNAPSHOTS, "thread", "ns", "checkpoint")
                yield Command(away, [(stored.key, ns, checkpoint)])
                what = "its snapshot is damaged: it is made again"
                heals.append(Heal("exact", ns, checkpoint, "", what))
    if thread:
        heals += yield from _thread_row(place, found)
        heals += yield from _flipped_back(stored.key)
    heals += yield from _groups(found)
    if heals:
        yield search.forget(stored.key)
    return heals


def _flipped_back(key: Key) -> Script[list[Heal]]:
    """Turn back single bits of the thread's rows that are in no group: labels, users' values."""
    heals: list[Heal] = []
    for table in TABLES.values():
        if table.sums and table not in RECOVERED and "thread" in table.names:
            sets = ", ".join(f"{name} = ?" for name in table.names)
            keys = " AND ".join(f"{name} = ?" for name in table.key)
            for each in (yield Query(select(table, "thread"), (key,))):
                row = table.row._make(each)
                right = flipped_back(table, row) if unsound(table, row) else None
                if right is not None:
                    held = [*right, *(getattr(row, name) for name in table.key)]
                    yield Command(f"UPDATE {table.name} SET {sets} WHERE {keys}", [held])
                    heals.append(Heal("exact", "", "", "", f"a row of {table.name} was damaged"))
    return heals


def _clean(text: str) -> str:
    return text.encode(errors="replace").decode(errors="replace")


def absent(found: Recovered) -> str:
    """How many rows are missing, in words."""
    return "1 row is missing" if found.missing == 1 else f"{found.missing:,} rows are missing"


def _removed(dialect: str, stored: Stored, table: Table, row: Any) -> Script[None]:
    where, at = stored.place(dialect, table, row)
    yield Command(f"DELETE FROM {table.name} WHERE {where}", [at])


def _said(fix: Fix) -> Heal:
    row = fix.new
    missing = "missing" if fix.old is None else "damaged"
    what = f"a row of {fix.table.name} was {missing}"
    if fix.table is CHECKPOINTS:
        return Heal("exact", row.ns, row.id, "", what)
    if fix.table in (WRITES, SNAPSHOTS):
        return Heal("exact", row.ns, row.checkpoint, "", what)
    return Heal("exact", "", "", "", what)


def _thread_row(place: Place, found: Recovered) -> Script[list[Heal]]:
    right = remade(found, place.row or place.wrong)
    if right is None or right == place.row:
        return []
    for row in (place.row, place.wrong):
        if row is not None:
            yield Command(delete(THREADS, "key"), [(row.key,)])
    yield Command(insert(THREADS), [right])
    what = "the thread's row was missing" if place.row is None else _differing(place.row, right)
    return [Heal("exact", "", "", "", what)]


def _differing(old: ThreadRow, new: ThreadRow) -> str:
    names = [n for n in ThreadRow._fields if getattr(old, n) != getattr(new, n)]
    return f"the thread's row was damaged: {', '.join(names)}"


# ---- groups


def _groups(found: Recovered) -> Script[list[Heal]]:
    """Group the thread's rows anew where a group is damaged, and nothing is lost."""
    groups = found.sound[PARITY.name]
    bad = [row for table, row in found.broken if table is PARITY]
    lost = found.lost or any(table in PROTECTED for table, _ in found.broken)
    if lost or (not bad and ungrouped(found) == 0 and any(row.name for row in groups)):
        return []
    yield from regrouped(found)
    if not bad:
        return []
    what = "the parity of its rows was damaged"
    if all(
        isinstance(row.tags, bytes) and found.tagged.keys() >= {*tags_of(row.tags)} for row in bad
    ):
        return [Heal("exact", "", "", "", what)]
    return [Heal("left_out", "", "", "", f"{what}: rows that it named may be missing")]


def ungrouped(found: Recovered) -> int:
    """How many rows are in no group."""
    held = {each for row in found.sound[PARITY.name] for each in tags_of(row.tags)}
    return sum(1 for each in found.tagged if each not in held)


def regrouped(found: Recovered, lost: Collection[int] = ()) -> Script[None]:
    """Put all sound rows of a thread into new groups; `lost`: the tags of those that are not."""
    rows = [
        (number, row) for number, table in enumerate(PROTECTED) for row in found.sound[table.name]
    ]
    yield from regroup(found.stored.key, found.stored.thread_id, rows, sorted(lost))
