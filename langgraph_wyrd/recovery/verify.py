"""Checks a database, table by table as they are declared, repairs it, and reports what it found.

Checksums cover rows as they are stored, so checking needs no keys. Only whether the public tables
agree with the events can't be told without them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from langgraph_wyrd.checkpoints import listing, lookup, projection, search, states, working
from langgraph_wyrd.checkpoints.missing import LOST_SAID
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import (
    CheckpointDamaged,
    DatabaseDamaged,
    KeyMissing,
    ThreadNotFound,
)
from langgraph_wyrd.recovery.damaged_rows import TABLES as RECOVERED
from langgraph_wyrd.recovery.damaged_rows import Recovered, is_write
from langgraph_wyrd.recovery.flipped_bits import flipped_back
from langgraph_wyrd.recovery.mend import Place, differing, fits, locked, remade, salvaged, ungrouped
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.wording import count
from langgraph_wyrd.storage import schema, tables
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import delete, fetch, key_of, unsound, upsert, with_texts
from langgraph_wyrd.storage.scripts import Command, Query, Script

RIGHT = "can be restored to the byte"
ANEW = "a repair makes it again from what it is derived of"
DROPPED = "a repair drops it; it is made again"
AGAIN = "a repair removes the task's writes: it runs again"
AGAIN_MISSING = "a repair gives them up: their tasks run again"
EVENTS = "a repair gives up what it said"
EARLIER = "stays: loads take an earlier checkpoint"
STAYS = "stays: what it held is lost"
AWAY = "a repair removes it: it is stored elsewhere, or none of this thread's"
UNNAMED = "stays: nothing says whose they were"
NONE = "nothing to do"
STALE = "stale: older extractors read it, or none"
LOOKED_AT = "who looks at the thread reads it again"
_NOT_A_REPAIRS = ("stays", "restore")  # how the remedies begin that a repair has no part in

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it was written; with `damage` False, something worth knowing.

    `remedy` says what a repair can do, or did: `repaired`.
    """

    table: str
    thread_id: str | None
    place: str
    what: str
    remedy: str
    damage: bool = True
    repaired: bool = False

    @property
    def repairable(self) -> bool:
        """Whether a repair would do something about it."""
        return self.damage and not self.repaired and not self.remedy.startswith(_NOT_A_REPAIRS)

    def __str__(self) -> str:
        where = "" if self.thread_id is None else f" thread {self.thread_id!r},"
        end = "repaired" if self.repaired else self.remedy
        return f"{self.table},{where} {self.place}: {self.what} ({end})"


@dataclass(frozen=True, slots=True)
class Report:
    """All findings. `ok`: there is no damage, or none any more."""

    threads: int
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        return not any(each.damage and not each.repaired for each in self.findings)

    @property
    def damages(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.damage)

    def __str__(self) -> str:
        left = [each for each in self.damages if not each.repaired]
        done = [each for each in self.damages if each.repaired]
        notes = [each for each in self.findings if not each.damage]
        head = f"{count(self.threads, 'thread')} verified: "
        head += "no damage" if not left else count(len(left), "damage")
        if done:
            head += f", {len(done)} repaired"
        return "\n".join([head, *(f"- {each}" for each in (*left, *done, *notes))])


Flow = Generator[Any, Any, Any]

_THERE = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{}'",
    # The name stands in the text, where the saver's schema is put before it.
    "postgres": "SELECT 1 WHERE to_regclass($name${}$name$) IS NOT NULL",
}


def verifying(
    do: Callable[[str, Callable[[], Script[Any]]], Any],
    dialect: str,
    codec: Codec,
    thread_id: str | None,
    *,
    repair: bool,
    progress: Progress | None,
    pages: bool,
    forget: Callable[[str], None],
    reader: working.Reader | None = None,
) -> Flow:
    """Look at one thread, or at all of a database; yields what `do` makes of each script to run.

    `forget` drops a repaired thread from the cache. With a `reader`, threads are noted of which
    older extractors read the working state, or none.
    """

    def settled(thread: str | None, look: Callable[[], Any], mend: Callable[[], Any]) -> Flow:
        """What is found, and, after a repair, what is left."""
        try:
            seen: list[Finding] = yield do("read", look)
            broken = any(each.table in ("the file", "the database") for each in seen)
            if not repair or broken or not any(each.repairable for each in seen):
                return seen
            yield do("mend", mend)
            left: list[Finding] = yield do("read", look)
        except DatabaseDamaged as error:
            return [Finding(error.of, thread, "pages", error.said, error.remedy)]
        gone = [each for each in seen if each.damage and each not in left]
        return [*(replace(each, repaired=True) for each in gone), *left]

    database = partial(_database, dialect, pages), partial(_repaired_database, dialect)
    found: list[Finding] = []
    of_threads: list[Finding] = []
    if thread_id is None:
        found = yield from settled(None, *database)
    names = yield do("read", partial(_threads, thread_id))
    if thread_id is not None and not names:
        raise ThreadNotFound(f"there is no thread {given(thread_id)!r}")
    for done, name in enumerate(names, 1):
        of_threads += yield from settled(
            given(name),
            partial(_thread, dialect, codec, name, reader),
            partial(_repaired, dialect, codec, name),
        )
        if repair:
            forget(name)
        if progress is not None:
            progress(done, len(names))
    if thread_id is not None:
        return Report(len(names), tuple(of_threads))
    if repair and of_threads:  # what they lacked is stored elsewhere by now
        left = yield from settled(None, *database)
        again = [replace(each, repaired=False) for each in left]
        gone = [each for each in found if each.repaired or each not in again]
        found = [*(replace(each, repaired=True) for each in gone), *left]
    return Report(len(names), (*found, *of_threads))


# ---- the threads


def _threads(thread_id: str | None) -> Script[list[str]]:
    """The threads to look at, also those whose own row is missing."""
    if thread_id is None:
        rows = yield Query("SELECT thread_id, key FROM wyrd_threads")
        sound = yield from fetch(tables.PARITY, "WHERE name IS NOT NULL")
    else:
        rows = yield Query(
            "SELECT thread_id, key FROM wyrd_threads WHERE thread_id = ?", (thread_id,)
        )
        sound = yield from fetch(tables.PARITY, name=thread_id)
    names = {
        each.thread: each.name
        for each in sound
        if isinstance(each.name, str) and not unsound(tables.PARITY, each)
    }
    own = {row[0] for row in rows if isinstance(row[0], str) and row[1] not in names}
    return sorted(own | set(names.values()))


def _thread(
    dialect: str, codec: Codec, name: str, reader: working.Reader | None
) -> Script[list[Finding]]:
    """What is wrong with one thread."""
    opened = yield from locked(dialect, name, codec, lock=False)
    if opened is None:
        return []
    place, found = opened
    made: list[Finding] = []

    def note(table: str, where: str, what: str, remedy: str, *, damage: bool = True) -> None:
        made.append(Finding(table, given(name), where, what, remedy, damage))

    for fix in found.fixes:
        what = "it is missing" if fix.old is None else "it fails its checksum"
        note(fix.table.name, _where(fix.table, fix.new), what, RIGHT)
    for table, row in found.broken:
        what = (
            "it fails its checksum"
            if unsound(table, row)
            else "another row of its snapshot is missing"
        )
        note(table.name, _where(table, row), what, _remedy(table, row))
    for table, row in found.strays:
        note(table.name, _where(table, row), "it fails its checksum, and nothing is missing", AWAY)
    absent = found.absent
    writes = [*filter(is_write, absent)]
    for number, one, remedy in (
        (len(writes), "row of task writes", AGAIN_MISSING),
        (len(absent) - len(writes), "row", STAYS),
    ):
        if number:
            many = one if number == 1 else one.replace("row", "rows", 1)
            what = f"{number:,} {many} that its parity names can't be found"
            note(tables.PARITY.name, "groups", what, remedy)
    if not found.lost and (loose := ungrouped(found)):
        note(tables.PARITY.name, "groups", f"{count(loose, 'row')} without parity", ANEW)
    for what in _thread_row(place, found):
        note(tables.THREADS.name, "its row", what, ANEW)
    if place.row is not None and _lost(place.row, found):
        note(tables.CHECKPOINTS.name, "all", f"{LOST_SAID}, though the thread had some", STAYS)
    for where, what in _paths(found):
        note(tables.CHECKPOINTS.name, where, what, EARLIER)
    missing = yield from _missing(dialect)
    for table in tables.TABLES.values():
        if table in RECOVERED or "thread" not in table.names or table.name in missing:
            continue
        for each in (yield from fetch(table, thread=place.key)):
            if wrong := _unlike(table, each):
                remedy = RIGHT if flipped_back(table, each) else _remedy(table, each)
                note(table.name, _where(table, each), wrong, remedy)
    if place.row is not None and place.row.deleted_at is None:
        if not made and not missing:
            for where, what in (yield from _shown(dialect, codec, name, place.row)):
                note(where, "rows", what, ANEW)
        thread = lookup.thread_of(dialect, name, place.row)
        if reader is not None and reader.has_to_read(thread):
            note(tables.THREADS.name, "its working state", STALE, LOOKED_AT, damage=False)
    for each in found.sound[tables.CHECKPOINTS]:
        if each.parent is not None and each.parent >= each.id:
            what = f"it sorts before its parent {given(each.parent)}: two clocks differed"
            note(tables.CHECKPOINTS.name, given(each.id), what, NONE, damage=False)
    return made


def _where(table: tables.Table, row: Any) -> str:
    values = [getattr(row, name) for name in table.key if name != "thread"]
    return ", ".join(given(str(value)) if value != "" else "root" for value in values)


_REMEDIES = {
    tables.CHECKPOINTS: EARLIER, tables.WRITES: AGAIN, tables.SNAPSHOTS: DROPPED,
    tables.PARITY: ANEW,
}  # fmt: skip


def _remedy(table: tables.Table, row: Any) -> str:
    """What is done about a damaged row that can't be restored."""
    if unsound(table, row) == ("events_sum",):
        return EVENTS
    return _REMEDIES.get(table, ANEW if table.role == "derived" else STAYS)


def _thread_row(place: Place, found: Recovered) -> Iterator[str]:
    right = remade(found, place.row or place.wrong)
    if right is None:
        return
    if place.row is None:
        yield "it is missing"
        return
    for column in differing(place.row, right):
        yield f"its {column} is not what its checkpoints say"


def _lost(row: tables.ThreadRow, found: Recovered) -> bool:
    """Whether a thread had a head, and no finding says why all its checkpoints are gone."""
    left = any(each.ns == "" for each in found.sound[tables.CHECKPOINTS])
    reported = found.absent or any(table is tables.CHECKPOINTS for table, _ in found.broken)
    return row.head is not None and row.deleted_at is None and not left and not reported


def _unlike(table: tables.Table, row: Any) -> str:
    """What of a row is not as its table is declared."""
    if table.sums and unsound(table, row):
        return "it fails its checksum"
    for column, value in zip(table.columns, row, strict=True):
        if not fits(table, column, value):
            return f"its {column.name} can't be what was stored"
    return ""


def _paths(found: Recovered) -> Iterator[tuple[str, str]]:
    """Checkpoints whose path ends nowhere."""
    rows = {(row.ns, row.id): row for row in found.sound[tables.CHECKPOINTS]}
    lost = {(row.ns, row.id) for table, row in found.broken if table is tables.CHECKPOINTS}
    snapshots = found.sound[tables.SNAPSHOTS]
    whole = {(row.ns, row.checkpoint, row.stamp) for row in snapshots if row.channel == ""}
    for row in found.sound[tables.CHECKPOINTS]:
        if row.built_on is None or (row.ns, row.id, row.stamp) in whole:
            continue
        before = rows.get((row.ns, row.built_on))
        if before is None and (row.ns, row.built_on) not in lost:
            yield given(row.id), f"checkpoint {given(row.built_on)}, which it builds on, is missing"
        elif before is not None and before.stamp != row.built_stamp:
            yield given(row.id), f"checkpoint {given(before.id)} is not the one that it builds on"


# ---- the public tables


def _shown(dialect: str, codec: Codec, name: str, row: Any) -> Script[list[tuple[str, str]]]:
    """Where the public tables do not show what the events say."""
    if row.status is None:
        return []  # nothing was read of it yet
    thread = lookup.thread_of(dialect, name, row)
    try:
        yield from states.load_thread(dialect, codec, thread)
    except KeyMissing:
        return []
    state = working.visible(thread)
    steps = projection.changes(
        row.key, given(name), WorkingState(), state, thread.head or "", codec.sealer
    )
    over = yield from states.over(dialect, codec, thread, thread.head, state)
    steps += over
    loops = tables.OPEN_LOOPS
    old = {loops.row._make(each.params).id for each in over if each.sql == upsert(loops)}
    wrong = []
    for table in projection.PUBLIC:
        made = [table.row._make(step.params) for step in steps if step.sql == upsert(table)]
        held = [*map(table.row._make, (yield Query(with_texts(table), (row.key,))))]
        if table is tables.OPEN_LOOPS:  # what was declared and is over stays
            there = {each.id for each in made}
            facts = [each for each in held if each.rule == "edit" or each.kind == "decision"]
            ended = {each.id for each in facts if (each.closed_at or each.closed_in) is not None}
            held = [each for each in held if each.id in there or each.id not in ended]
        try:
            same = _items(codec, table, held, old) == _items(codec, table, made, old)
        except KeyMissing:  # they may be right
            continue
        except (CheckpointDamaged, TypeError, ValueError, RecursionError):
            same = False
        if not same:
            wrong.append((table.name, "rows differ from the events"))
    right = projection.columns(state, row.key, None)
    for column, value in zip(_SHOWN, right, strict=True):
        if codec.sealer is not None and column in tables.THREADS.encrypted:
            continue
        if column in ("reason", "due") and row.status == state.status == "due":
            continue  # while a step runs, the row still names the tasks of it that have ended
        if getattr(row, column) != value and (column != "title" or value is not None):
            wrong.append((tables.THREADS.name, f"its {column} differs from the events"))
    return wrong


_SHOWN = ("status", "reason", "due", "title", "open_loops", "open_todos")


def _items(
    codec: Codec, table: tables.Table, rows: Sequence[Any], old: Container[str]
) -> dict[str, Any]:
    """What the rows of a public table say: each item, and its place in a list. When a loop ended
    that no state has any more (`old`) is left out: a subgraph's checkpoint may have been first."""
    item = listing.item_of(table, _refused)
    found = {row.id: (item(codec.open(table, row)), getattr(row, "place", 0)) for row in rows}
    for id, (each, place) in found.items():
        if id in old:
            found[id] = replace(each, changed_at=None, closed_at=None, closed_in=None), place
    return found


def _refused(held: Any) -> None:
    raise ValueError(held)


# ---- repair


def _repaired(dialect: str, codec: Codec, name: str) -> Script[None]:
    """Repair what can be repaired, in one transaction."""
    yield from salvaged(dialect, name, codec)
    row = yield from lookup.stored_row(dialect, name)
    if row is not None and row.deleted_at is None:
        yield search.forget(row.key)
        thread = lookup.thread_of(dialect, name, row)
        with suppress(KeyMissing):
            yield from states.show_again(dialect, codec, thread)


# ---- the database


# What the check of the file finds that is wrong with rows, or with what is made again from rows.
_ROWS_OF_IT = ("CHECK constraint", "NULL value", "wyrd_words")


def _database(dialect: str, pages: bool) -> Script[list[Finding]]:
    """What is wrong that concerns no thread that is there."""
    found: list[Finding] = []
    if pages and dialect == "sqlite":
        for (said,) in (yield Query("PRAGMA integrity_check")):
            # Newer releases look into the index of words too, and one that another connection has
            # just emptied looks damaged to them. Each search fills it anew, where it has to.
            if said != "ok" and not any(each in said for each in _ROWS_OF_IT):
                remedy = DatabaseDamaged.remedy
                found.append(Finding(DatabaseDamaged.of, None, "pages", str(said), remedy))
    missing = yield from _missing(dialect)
    for name in missing:
        remedy = ANEW if _remakes(tables.TABLES[name]) else STAYS
        found.append(Finding(name, None, "the table", "it is missing", remedy))
    rows = yield Query("SELECT version, name, min_reader FROM wyrd_migrations ORDER BY version")
    if [tuple(row) for row in rows] != [tuple(each) for each in schema.APPLIED]:
        what = "they are not those of the migrations that were applied"
        found.append(Finding(tables.MIGRATIONS.name, None, "rows", what, RIGHT))
    for table, _, remedy in (yield from _homeless(missing)):
        what = "it is of a thread that is not there"
        found.append(Finding(table.name, None, "a row of no thread", what, remedy))
    return found


def _homeless(missing: Collection[str]) -> Script[list[tuple[tables.Table, Any, str]]]:
    """Rows of no thread, and what a repair does about each."""
    found: list[tuple[tables.Table, Any, str]] = []
    for table in tables.TABLES.values():
        if table.names[0] != "thread" or table.name in missing:
            continue
        for row in (
            yield from fetch(
                table,
                "WHERE thread NOT IN (SELECT key FROM wyrd_threads) AND thread NOT IN "
                "(SELECT thread FROM wyrd_parity WHERE name IS NOT NULL) LIMIT 1000",
            )
        ):
            remedy = UNNAMED
            if table.role != "source":
                remedy = AWAY
            elif unsound(table, row):  # perhaps its thread is damaged, and it was restored
                others = {name: getattr(row, name) for name in table.key if name != "thread"}
                same = yield from fetch(table, **others)
                if any(twin[1:] == row[1:] for twin in same if twin[0] != row[0]):
                    remedy = AWAY
            found.append((table, row, remedy))
    return found


def _missing(dialect: str) -> Script[list[str]]:
    there = yield [Query(_THERE[dialect].format(name)) for name in tables.TABLES]
    return [name for name, rows in zip(tables.TABLES, there, strict=True) if not rows]


def _remakes(table: tables.Table) -> bool:
    """Whether nothing is lost with a table that a repair makes again."""
    return table.role != "source" and table is not tables.THREADS


def _repaired_database(dialect: str) -> Script[None]:
    missing = yield from _missing(dialect)
    for statement in schema.statements(dialect):  # type: ignore[arg-type]
        if any(f" {name} " in f"{statement} " for name in missing if _remakes(tables.TABLES[name])):
            yield Command(statement)
    left = [name for name in missing if not _remakes(tables.TABLES[name])]
    for table, row, remedy in (yield from _homeless(left)):
        if remedy == AWAY:
            yield Command(delete(table, *table.key), [key_of(table, row)])
    yield Command("DELETE FROM wyrd_migrations")
    yield Command(
        schema.RECORD, [(*each, datetime.now().astimezone().isoformat()) for each in schema.APPLIED]
    )
