"""Writing back what can be restored to the byte, and grouping a thread's rows anew."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from langgraph_wyrd.checkpoints.read import NEWEST
from langgraph_wyrd.codec.payload import unpacked
from langgraph_wyrd.codec.values import Codec
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
from langgraph_wyrd.recovery.threads import Place, located, remade
from langgraph_wyrd.storage.parity import PROTECTED, place_of, regroup, tags_of
from langgraph_wyrd.storage.rows import delete, insert, select, summed, unsound
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    PARITY,
    SNAPSHOTS,
    TABLES,
    THREADS,
    WRITES,
    CheckpointRow,
    Key,
    Table,
    ThreadRow,
)

_AT = {"sqlite": "row = ?", "postgres": "ctid = ?::tid"}
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
            yield Command(
                f"UPDATE {fix.table.name} SET {sets} WHERE {_AT[dialect]}",
                [(*fix.new, stored.places[id(fix.old)])],
            )
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
                at = (stored.key, _clean(row.ns), _clean(row.checkpoint))
                yield Command(delete(SNAPSHOTS, "thread", "ns", "checkpoint"), [at])
                what = "its snapshot is damaged: it is made again"
                heals.append(Heal("exact", at[1], at[2], "", what))
    if thread:
        heals += yield from _thread_row(place, found)
        heals += yield from _flipped_back(stored.key)
    heals += yield from _groups(found)
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
    yield Command(f"DELETE FROM {table.name} WHERE {_AT[dialect]}", [(stored.places[id(row)],)])


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
