"""Writes back damaged rows that can be restored to the byte, and groups a thread's rows anew.

A damaged row of wyrd_threads is made again from the thread's other rows.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, NamedTuple

from langgraph_wyrd.checkpoints import search, states
from langgraph_wyrd.checkpoints.lookup import stored_row, thread_row
from langgraph_wyrd.checkpoints.missing import NEWEST
from langgraph_wyrd.checkpoints.read import is_damage
from langgraph_wyrd.checkpoints.restore import snapshot_of
from langgraph_wyrd.codec.payload import unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, KeyMissing
from langgraph_wyrd.recovery import damaged_rows
from langgraph_wyrd.recovery.damaged_rows import TABLES as RECOVERED
from langgraph_wyrd.recovery.damaged_rows import Fix, Recovered, is_write, recovered, tag_of_damaged
from langgraph_wyrd.recovery.flipped_bits import flipped_back
from langgraph_wyrd.recovery.healer import Heal, record
from langgraph_wyrd.storage import tables
from langgraph_wyrd.storage.keys import random_bits, thread_key
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.parity import PROTECTED, place_of, regroup, tags_of
from langgraph_wyrd.storage.rows import delete, fetch, insert, key_of, now, summed, unsound
from langgraph_wyrd.storage.scripts import Command, Query, Script

_ANY = "SELECT 1 FROM wyrd_checkpoints WHERE thread = ? LIMIT 1"


# ---- where a thread is


class Place(NamedTuple):
    """Where a thread's rows are. `row` is the one that a look-up finds, `wrong` another one that
    stands in its place."""

    key: tables.Key
    row: tables.ThreadRow | None
    wrong: tables.ThreadRow | None = None


def place_of_thread(dialect: str, thread_id: str) -> Script[Place | None]:
    """The key of a thread, also where its own row is missing or says something else."""
    row = yield from stored_row(dialect, thread_id)
    if dialect == "postgres":
        return Place(thread_key(thread_id), row)
    named = yield from fetch(tables.PARITY, name=thread_id)
    key = next((each.thread for each in named if not unsound(tables.PARITY, each)), None)
    if row is not None:
        groups = yield from fetch(tables.PARITY, thread=row.key)
        names = {each.name for each in groups if each.name and not unsound(tables.PARITY, each)}
        if names and thread_id not in names:
            return None  # it is another thread's, whose name is damaged
        right = key is None or key == row.key
        if right or (yield Query(_ANY, (row.key,))) or not (yield Query(_ANY, (key,))):
            return Place(row.key, row)
    elif key is None:
        for each in named:
            if not (yield from fetch(tables.THREADS, key=each.thread)):
                raise CheckpointDamaged(
                    f"the row of thread {given(thread_id)!r} is missing, and what names it is "
                    "damaged"
                )
    if key is None:
        return None
    held = yield from fetch(tables.THREADS, key=key)
    return Place(key, held[0] if held else None, row)


_LOCK = {
    "sqlite": "SELECT 1 FROM wyrd_threads WHERE key = ?",  # the transaction has the only lock
    "postgres": "SELECT 1 FROM wyrd_threads WHERE key = ? FOR UPDATE",
}


def locked(
    dialect: str, thread_id: str, codec: Codec | None = None, *, lock: bool = True
) -> Script[tuple[Place, Recovered] | None]:
    """A thread's rows after recovery, with its row locked.

    With a codec, snapshots of which a row is missing count as damaged too.
    """
    place = yield from place_of_thread(dialect, thread_id)
    if place is None:
        return None
    if lock:
        yield Query(_LOCK[dialect], (place.key,))
        place = yield from place_of_thread(dialect, thread_id)  # others may have moved it on
        if place is None:
            return None
    row = place.row or place.wrong
    stored = yield from damaged_rows.read(dialect, place.key, thread_id, row)
    if not any(stored.rows.values()) and (row is None or row.deleted_at is not None):
        return None  # it never was, or was deleted
    found = recovered(stored)
    if codec is not None:
        _give_up_snapshots(codec, found)
    return place, found


def _give_up_snapshots(codec: Codec, found: Recovered) -> None:
    """Count snapshots that can't be read, though each row of theirs is sound, among the damaged."""
    rows = {(row.ns, row.id, row.stamp): row for row in found.sound[tables.CHECKPOINTS]}
    parts: dict[Any, list[Any]] = {}
    for row in found.sound[tables.SNAPSHOTS]:
        parts.setdefault((row.ns, row.checkpoint, row.stamp), []).append(row)
    for place, snapshot in parts.items():
        try:
            if place in rows:
                snapshot_of(codec, rows[place], snapshot)
        except Exception as error:
            if not is_damage(error):
                continue
            found.broken += [(tables.SNAPSHOTS, row) for row in snapshot]
            left = [row for row in found.sound[tables.SNAPSHOTS] if row not in snapshot]
            found.sound[tables.SNAPSHOTS] = left


# ---- the thread's own row


def remade(found: Recovered, row: tables.ThreadRow | None) -> tables.ThreadRow | None:
    """The thread's row as its other rows say it is; None if there is nothing to go by."""
    rows = found.sound[tables.CHECKPOINTS]
    if row is None and not rows and not found.sound[tables.WRITES]:
        return None
    last = max((each.seq for each in (*rows, *found.sound[tables.JOURNAL])), default=0)
    roots = [each.id for each in rows if each.ns == ""]
    times = sorted(each.ts for each in rows if each.ts is not None) or [now()]
    blank = tables.ThreadRow(
        found.stored.key, found.stored.thread_id, last + 1, random_bits(62),
        max(roots, default=None), None, times[0], times[-1] if row is not None else now(),
        None, None, None, None, _user(found), 0, 0, None,
    )  # fmt: skip
    if row is None:
        return blank
    fitting: dict[str, Any] = {
        column.name: value
        for column, value in zip(tables.THREADS.columns, row, strict=True)
        if column.name not in ("key", "thread_id") and fits(tables.THREADS, column, value)
    }
    made = blank._replace(**fitting)
    if made.version < last:
        made = made._replace(version=blank.version)
    if roots and made.buried is not None and made.buried >= min(roots):
        made = made._replace(buried=None)
    if rows:
        made = made._replace(deleted_at=None)
    whole = not found.absent and all(table is not tables.CHECKPOINTS for table, _ in found.broken)
    if whole and roots:  # without any root the head is lost: see `_move_head`
        made = made._replace(head=blank.head)
    return made


_PYTHON: dict[str, tuple[type, ...]] = {
    "key": (int, bytes), "text": (str,), "int": (int,), "real": (float, int), "bytes": (bytes,),
}  # fmt: skip


def fits(table: tables.Table, column: tables.Column, value: Any) -> bool:
    """Whether a column may hold a value, as it is declared."""
    if value is None:
        return not column.required
    if column.kind in _PYTHON and not isinstance(value, _PYTHON[column.kind]):
        return False
    return column.name not in table.checks or value in table.checks[column.name]


def damaged(dialect: str, thread_ids: Collection[str]) -> Script[str]:
    """What is damaged or missing of threads, in words; empty: nothing."""
    for thread_id in thread_ids:
        opened = yield from locked(dialect, thread_id, lock=False)
        if opened is None:
            continue
        place, found = opened
        rows = [(fix.table, fix.old or fix.new) for fix in found.fixes] + found.broken
        for table in tables.TABLES.values():
            if table.sums and table not in RECOVERED and "thread" in table.names:
                held = yield from fetch(table, thread=place.key)
                rows += [(table, row) for row in held if unsound(table, row)]
        places = [(table.name, map(str, key_of(table, row)[1:])) for table, row in rows]
        said = [f"{name} {', '.join(parts)}" for name, parts in places]
        if found.absent:
            said.append(absent(found))
        if place.row is not None and (right := remade(found, place.row)) is not None:
            said += [f"{tables.THREADS.name} {name}" for name in differing(place.row, right)]
        if said:
            more = f" and {len(said) - 1} more" if len(said) > 1 else ""
            what = given(said[0]) + more
            return f"thread {given(thread_id)!r} is damaged ({what}): verify() tells more"
    return ""


def _user(found: Recovered) -> str | None:
    """Whose thread it is, as its checkpoints' metadata say."""
    for row in sorted(found.sound[tables.CHECKPOINTS], key=lambda each: each.id):
        try:
            user = json.loads(row.metadata).get("user_id")
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(user, str):
            return user
    return None


# ---- mending


def restore(dialect: str, thread_id: str, codec: Codec) -> Script[list[Heal]]:
    """Write back what can be restored of a thread; what that was."""
    opened = yield from locked(dialect, thread_id, codec)
    if opened is None:
        return []
    place, found = opened
    heals = yield from write_back(place, found)
    return (yield from _recorded(found, heals))


def restore_by_key(dialect: str, key: tables.Key) -> Script[None]:
    """The same within a script that changes rows of a thread; the thread's own row, which it may
    have changed already, is left as it is."""
    rows = yield Query("SELECT thread_id, deleted_at FROM wyrd_threads WHERE key = ?", (key,))
    if rows:
        stored = yield from damaged_rows.read(dialect, key, rows[0][0], None)
        if rows[0][1] is not None and not any(stored.rows.values()):
            return  # it was deleted, and is to have no parity
        found = recovered(stored)
        heals = yield from write_back(None, found)
        if found.absent:  # the groups that name them are replaced
            heals.append(Heal("left_out", "", "", "", absent(found)))
        yield from _recorded(found, heals)


def _recorded(found: Recovered, heals: list[Heal]) -> Script[list[Heal]]:
    if heals:
        yield record(found.stored.key, heals)
    return heals


def salvaged(dialect: str, thread_id: str, codec: Codec) -> Script[list[Heal]]:
    """Restore what can be; give up what can't, so that the thread can be written again.

    The writes of a task of which one is damaged go (it runs again), but for answers. Where they are
    missing that is said once. A checkpoint whose events are damaged loses them. Damaged rows of the
    journal go. What else is damaged or missing stays so. What is lost is known by its tag: it is
    found again.
    """
    opened = yield from locked(dialect, thread_id, codec)
    if opened is None:
        return []
    place, found = opened
    heals = yield from write_back(place, found)
    lost = set(found.lost)
    places = {place_of(row.ns, row.id) & ~1: row for row in found.sound[tables.CHECKPOINTS]}
    for each in filter(is_write, found.absent):
        lost.discard(each)
        at = places.get(each & 0xFFFFFFFF)
        ns, id = ("", "") if at is None else (at.ns, at.id)
        heals.append(Heal("left_out", ns, id, "", "what a task wrote is missing: it runs again"))
    says_less = any(each & 0xFFFFFFFF == 0 for each in found.absent)
    if says_less:
        heals.append(Heal("left_out", "", "", "", "what somebody declared is missing"))
    again: set[tuple[str, str, str]] = set()
    for table, row in found.broken:
        if table not in PROTECTED:
            continue
        own = tag_of_damaged(lost, PROTECTED.index(table), row)
        if table is tables.WRITES:
            lost.discard(own)
            yield found.stored.removed(table, row)
            again.add((row.ns, row.checkpoint, row.task))
            what = f"what task {row.task} wrote is damaged: it runs again"
            heals.append(Heal.of("left_out", row.ns, row.checkpoint, row.task, what))
        elif table is tables.CHECKPOINTS and "events_sum" in unsound(table, row):
            fixed, says_less = without_events(row), True
            yield found.stored.removed(table, row)
            yield Command(insert(table), [fixed])
            heals.append(Heal.of("left_out", row.ns, row.id, "events", "what it said is damaged"))
            if unsound(table, fixed):  # its values are damaged as well
                lost.add(own)
            else:
                lost.discard(own)
                found.sound[table].append(fixed)
        else:
            lost.add(own)
            if table is tables.JOURNAL:
                says_less = True
                yield found.stored.removed(table, row)
                what = f"what somebody declared is damaged: {row.item}"
                heals.append(Heal.of("left_out", "", "", "", what))
    moved = yield from _move_head(found)
    heals += moved
    for row in [*found.sound[tables.WRITES]]:
        if (row.ns, row.checkpoint, row.task) in again and not _answers(codec, row):
            found.sound[tables.WRITES].remove(row)
            yield Command(delete(tables.WRITES, *tables.WRITES.key), [key_of(tables.WRITES, row)])
    yield from group_anew(found, lost)
    if moved or says_less:
        thread = yield from thread_row(dialect, thread_id)
        try:
            yield from states.show_again(dialect, codec, thread)
        except Exception as error:  # what is left is damaged, or its key is missing: as it was
            if not isinstance(error, KeyMissing) and not is_damage(error):
                raise
    return (yield from _recorded(found, heals))


def _move_head(found: Recovered) -> Script[list[Heal]]:
    """Have the newest checkpoint that is there be the head, where the head is missing for good."""
    rows = yield Query("SELECT head FROM wyrd_threads WHERE key = ?", (found.stored.key,))
    ((newest,),) = yield Query(NEWEST, (found.stored.key,))
    if not rows or not (newest is None or isinstance(newest, str)):
        return []
    new = tables.LOST if newest is None and rows[0][0] is not None else newest
    if rows[0][0] == new:
        return []
    yield Command(
        "UPDATE wyrd_threads SET head = ?, version = version + 1 WHERE key = ?",
        [(new, found.stored.key)],
    )
    what = f"it is missing: {newest} is the head" if newest else "it is missing, and all others"
    return [Heal("ancestor" if newest else "empty", "", str(rows[0][0]), "", what)]


def _answers(codec: Codec, row: Any) -> bool:
    try:
        held = unpacked(codec.opened(tables.WRITES, row, "payload"))
        return any(write[0] == "__resume__" for write in held)
    except Exception:  # nobody knows: better asked twice than forgotten
        return True


def without_events(row: tables.CheckpointRow) -> tables.CheckpointRow:
    """A row whose events are given up. The checksum of its values stays as it is."""
    seq = row.seq if type(row.seq) is int else 0
    made = row._replace(events=None, root=None, due=None, seq=seq)
    return made._replace(events_sum=summed(tables.CHECKPOINTS, made).events_sum)


def write_back(place: Place | None, found: Recovered) -> Script[list[Heal]]:
    """Store what recovery restored; with `place`, the thread's own row as well."""
    stored = found.stored
    heals = [_heal_of(fix) for fix in found.fixes]
    # A row whose key is right stays where it is. The others are taken away first, then put where
    # they belong: they may stand in each other's places.
    for fix in found.fixes:
        if fix.in_place:
            yield stored.fixed(fix)
        elif fix.old is not None:
            yield stored.removed(fix.table, fix.old)
    for fix in found.fixes:
        if not fix.in_place:
            yield Command(insert(fix.table), [fix.new])
    for table, row in found.strays:
        yield stored.removed(table, row)
        what = f"a damaged row of {table.name} was none of this thread's: it was removed"
        heals.append(Heal("left_out", "", "", "", what))
    rows = [row for table, row in found.broken if table is tables.SNAPSHOTS]
    snapshots = dict.fromkeys((row.ns, row.checkpoint) for row in rows)
    if snapshots:
        away = delete(tables.SNAPSHOTS, "thread", "ns", "checkpoint")
        yield Command(away, [(stored.key, *place) for place in snapshots])
        what = "its snapshot is damaged: it is made again"
        heals += [Heal.of("exact", *place, "", what) for place in snapshots]
    if place is not None:
        heals += yield from _thread_row(place, found)
        heals += yield from _restore_flipped(stored.key)
    heals += yield from _groups(found)
    if heals:
        yield search.forget(stored.key)
    return heals


def _restore_flipped(key: tables.Key) -> Script[list[Heal]]:
    """Turn back single bits of the thread's rows that are in no group: labels, users' values."""
    heals: list[Heal] = []
    for table in tables.TABLES.values():
        if table.sums and table not in RECOVERED and "thread" in table.names:
            for row in (yield from fetch(table, thread=key)):
                right = flipped_back(table, row)
                if right is not None:
                    yield Command(delete(table, *table.key), [key_of(table, row)])
                    yield Command(insert(table), [right])
                    heals.append(Heal("exact", "", "", "", f"a row of {table.name} was damaged"))
    return heals


def absent(found: Recovered) -> str:
    """How many rows are missing, in words."""
    count = len(found.absent)
    return "1 row is missing" if count == 1 else f"{count:,} rows are missing"


def _heal_of(fix: Fix) -> Heal:
    what = f"a row of {fix.table.name} was {'missing' if fix.old is None else 'damaged'}"
    if fix.table in (tables.CHECKPOINTS, tables.WRITES, tables.SNAPSHOTS):
        id = fix.new.id if fix.table is tables.CHECKPOINTS else fix.new.checkpoint
        return Heal("exact", fix.new.ns, id, "", what)
    return Heal("exact", "", "", "", what)


def _thread_row(place: Place, found: Recovered) -> Script[list[Heal]]:
    right = remade(found, place.row or place.wrong)
    if right is None or right == place.row:
        return []
    for row in (place.row, place.wrong):
        if row is not None:
            yield Command(delete(tables.THREADS, "key"), [(row.key,)])
    yield Command(insert(tables.THREADS), [right])
    what = "the thread's row was missing"
    if place.row is not None:
        what = f"the thread's row was damaged: {', '.join(differing(place.row, right))}"
    return [Heal("exact", "", "", "", what)]


def differing(old: tables.ThreadRow, new: tables.ThreadRow) -> list[str]:
    """The columns in which two rows differ."""
    return [name for name in tables.ThreadRow._fields if getattr(old, name) != getattr(new, name)]


# ---- groups


def _groups(found: Recovered) -> Script[list[Heal]]:
    """Group the thread's rows anew where a group is damaged, and nothing is lost."""
    groups = found.sound[tables.PARITY]
    bad = [row for table, row in found.broken if table is tables.PARITY]
    lost = found.lost or any(table in PROTECTED for table, _ in found.broken)
    if lost or (not bad and ungrouped(found) == 0 and any(row.name for row in groups)):
        return []
    yield from group_anew(found)
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
    held = {each for row in found.sound[tables.PARITY] for each in tags_of(row.tags)}
    return sum(1 for each in found.tagged if each not in held)


def group_anew(found: Recovered, lost: Collection[int] = ()) -> Script[None]:
    """Put all sound rows of a thread into new groups; `lost`: the tags of those that are not."""
    rows = [(number, row) for number, table in enumerate(PROTECTED) for row in found.sound[table]]
    yield from regroup(found.stored.key, found.stored.thread_id, rows, sorted(lost))
