"""A thread's rows as they are stored, and damaged ones rebuilt from what is redundant.

Nothing here reads or writes: `recovered` takes rows and says what is sound, what can be restored to
the byte, and what is lost. A row counts as restored only if its own checksums prove it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from typing import Any

from langgraph_wyrd.storage.parity import (
    PIECE,
    PROTECTED,
    SIZES,
    bytes_of,
    fresh,
    joined,
    mark,
    number_of,
    packed,
    pieces_of,
    tag,
    tags_of,
    unpacked,
)
from langgraph_wyrd.storage.parity import stored as as_stored
from langgraph_wyrd.storage.rows import select, summed, unsound
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    PARITY,
    SNAPSHOTS,
    WRITES,
    CheckpointRow,
    Key,
    ParityRow,
    SnapshotRow,
    Table,
    ThreadRow,
    WriteRow,
)

FLIPPED = 16 << 10  # bytes of a row in which one flipped bit is searched
_MOST = 12  # damaged rows of a table that are compared with each other


@dataclass(slots=True)
class Stored:
    """What is stored of a thread. `row` is that of wyrd_threads, if there is one."""

    key: Key
    thread_id: str
    row: ThreadRow | None
    rows: dict[str, list[Any]]
    places: dict[int, Any]  # SQLite: of each row by its identity, its number in its table

    def place(self, dialect: str, table: Table, row: Any) -> tuple[str, tuple[Any, ...]]:
        """The condition that only this row meets, which may be damaged, and its parameters.

        On Postgres its key, which says where it lies however tables are spread; on SQLite its
        number, for there a key may be of a wrong type.
        """
        if dialect == "sqlite":
            return "row = ?", (self.places[id(row)],)
        held = tuple(getattr(row, name) for name in table.key)
        return " AND ".join(f"{name} = ?" for name in table.key), held


@dataclass(frozen=True, slots=True)
class Fix:
    """A row that was restored; `old` is what stands there now (None: nothing)."""

    table: Table
    old: Any
    new: Any


@dataclass(slots=True)
class Recovered:
    """A thread's rows after recovery."""

    stored: Stored
    sound: dict[str, list[Any]]
    fixes: list[Fix] = field(default_factory=list)
    broken: list[tuple[Table, Any]] = field(default_factory=list)  # rows that stay damaged
    # Damaged rows of a thread of which parity says that nothing is missing: they are not its own.
    strays: list[tuple[Table, Any]] = field(default_factory=list)
    tagged: dict[int, tuple[int, Any]] = field(default_factory=dict)  # sound rows by their tags
    # The tags of rows that a group names, and that are damaged or missing and can't be rebuilt.
    lost: frozenset[int] = frozenset()

    @property
    def absent(self) -> set[int]:
        """The tags of rows that can't be rebuilt, and are not there as damaged ones."""
        left = set(self.lost)
        for table, row in self.broken:
            if left and table in PROTECTED:
                left.discard(known(left, PROTECTED.index(table), row))
        return left

    @property
    def missing(self) -> int:
        """How many rows these are."""
        return len(self.absent)

    @property
    def checkpoints(self) -> list[CheckpointRow]:
        return self.sound[CHECKPOINTS.name]

    @property
    def writes(self) -> list[WriteRow]:
        return self.sound[WRITES.name]

    @property
    def snapshots(self) -> list[SnapshotRow]:
        return self.sound[SNAPSHOTS.name]


TABLES = (*PROTECTED, SNAPSHOTS, PARITY)


def read(dialect: str, key: Key, thread_id: str, row: ThreadRow | None) -> Script[Stored]:
    """The rows of a thread. Parity comes first: no row that it names can be younger than it."""
    order = (PARITY, *PROTECTED, SNAPSHOTS)
    columns = f"SELECT {'row' if dialect == 'sqlite' else '0'}, "
    found = yield [
        Query(select(table, "thread").replace("SELECT ", columns, 1), (key,)) for table in order
    ]
    rows: dict[str, list[Any]] = {}
    places: dict[int, Any] = {}
    for table, held in zip(order, found, strict=True):
        made = rows[table.name] = [table.row._make(each[1:]) for each in held]
        places.update((id(row), each[0]) for row, each in zip(made, held, strict=True))
    return Stored(key, thread_id, row, rows, places)


def recovered(stored: Stored) -> Recovered:
    """What is sound of a thread's rows, and what can be restored."""
    sound: dict[str, list[Any]] = {}
    bad: dict[str, list[Any]] = {}
    for table in TABLES:
        for row in stored.rows[table.name]:
            (bad if unsound(table, row) else sound).setdefault(table.name, []).append(row)
    made = Recovered(stored, {table.name: sound.get(table.name, []) for table in TABLES})
    for number, table in enumerate(PROTECTED):
        made.tagged.update((tag(number, row), (number, row)) for row in made.sound[table.name])
    groups = [_Group(row) for row in made.sound[PARITY.name]]
    if not bad and not any(group.missing(made) for group in groups):
        return made
    while (
        _by_parity(made, bad, groups)
        or _by_pairs(made, bad)
        or _by_flips(made, bad, groups)
        or _by_members(made, bad, groups)
    ):
        pass
    made.broken = [(table, row) for table in TABLES for row in bad.get(table.name, ())]
    made.lost = frozenset(each for group in groups for each in group.missing(made))
    if groups and not made.lost and made.tagged.keys() <= {t for g in groups for t in g.tags}:
        made.strays = [each for each in made.broken if each[0] in PROTECTED]
        made.broken = [each for each in made.broken if each[0] not in PROTECTED]
    return made


def known(lost: Collection[int], number: int, row: Any) -> int:
    """By which tag a damaged row is known: one that fits its checksum, or else its place."""
    own = mark(number, row)
    for bits in (0xFFFFFFFF << 32, 0xFFFFFFFF):
        for each in lost:
            if each & bits == own & bits:
                return each
    return own


def is_write(tag: int) -> bool:
    """Whether a tag is that of a row of task writes."""
    return not tag & 1 and tag & 0xFFFFFFFF != 0


def _take(made: Recovered, bad: dict[str, list[Any]], table: Table, old: Any, new: Any) -> None:
    made.fixes.append(Fix(table, old, new))
    if old is not None:
        made.sound[table.name] = [each for each in made.sound[table.name] if each is not old]
    made.sound[table.name].append(new)
    if table in PROTECTED:
        number = PROTECTED.index(table)
        made.tagged[tag(number, new)] = (number, new)
    if old is not None:
        bad[table.name] = [each for each in bad.get(table.name, ()) if each is not old]


# ---- from the others of its group


class _Group:
    """A parity group."""

    def __init__(self, row: ParityRow) -> None:
        self.row = row
        self.tags = tags_of(row.tags)

    def missing(self, made: Recovered) -> list[int]:
        """The tags of members that are not there, or damaged."""
        return [each for each in self.tags if each not in made.tagged]

    def rebuilt(self, made: Recovered, lost: int) -> tuple[Table, Any] | None:
        """The one member that is missing, if its checksum proves it."""
        others = [number_of(packed(*made.tagged[each])) for each in self.tags if each != lost]
        whole = reduce(xor, others, int.from_bytes(self.row.data, "little"))
        try:
            data = bytes_of(whole)
        except (OverflowError, MemoryError):
            return None
        return None if data is None else _proven(unpacked(made.stored.key, data), lost)


def _by_members(made: Recovered, bad: dict[str, list[Any]], groups: list[_Group]) -> bool:
    """Make the XOR of a damaged group again, where all of its members are sound."""
    progress = False
    for row in list(bad.get(PARITY.name, ())):
        if not isinstance(row.tags, bytes):
            continue
        tags = tags_of(row.tags)
        if not tags or not made.tagged.keys() >= {*tags}:
            continue
        group = fresh()
        for number, member in (made.tagged[each] for each in tags):
            group = joined(group, number, member, packed(number, member))
        right = row._replace(data=as_stored(row.thread, group).data)
        if not unsound(PARITY, right):
            _take(made, bad, PARITY, row, right)
            groups.append(_Group(right))
            progress = True
    return progress


def _proven(found: tuple[Table, Any] | None, lost: int) -> tuple[Table, Any] | None:
    if found is None or unsound(*found):
        return None
    table, row = found
    return found if tag(PROTECTED.index(table), row) == lost else None


def _by_parity(made: Recovered, bad: dict[str, list[Any]], groups: Sequence[_Group]) -> bool:
    """Rebuild what single groups lack; whether any was."""
    progress = False
    for group in groups:
        lost = group.missing(made)
        for each in lost:
            found = _resummed(made, bad, each)
            if found is None and len(lost) == 1:
                found = _repieced(made, bad, group, each) or group.rebuilt(made, each)
            if found is not None:
                table, row = found
                old = _replaced(bad.get(table.name, ()), table, row)
                if old is None:  # one that was put there, with a checksum that fits
                    old = _replaced(made.sound[table.name], table, row)
                _take(made, bad, table, old, row)
                progress = True
    return progress


def _resummed(made: Recovered, bad: dict[str, list[Any]], lost: int) -> tuple[Table, Any] | None:
    """The row of which only a checksum is damaged."""
    for number, table in enumerate(PROTECTED):
        for row in bad.get(table.name, ()):
            try:
                right = summed(table, row)
                fits = tag(number, right) == lost
            except (TypeError, ValueError, AttributeError):
                continue
            if fits and all(getattr(right, n) == getattr(row, n) for n in table.sums if n != "sum"):
                return table, right
    return None


def _repieced(
    made: Recovered, bad: dict[str, list[Any]], group: _Group, lost: int
) -> tuple[Table, Any] | None:
    """A large row of which one piece is damaged: rebuild that piece from the XOR of all."""
    if len(group.tags) != 1 or len(group.row.data) != PIECE:
        return None
    for number, table in enumerate(PROTECTED):
        for row in bad.get(table.name, ()):
            try:
                data = packed(number, row)
            except (TypeError, ValueError):
                continue
            if len(data) <= SIZES[-1]:
                continue
            wrong = pieces_of(data) ^ int.from_bytes(group.row.data, "little")
            for start in range(0, len(data), PIECE):
                piece = data[start : start + PIECE]
                right = int.from_bytes(piece, "little") ^ wrong
                if right.bit_length() > 8 * len(piece):
                    continue
                tried = data[:start] + right.to_bytes(len(piece), "little") + data[start + PIECE :]
                found = _proven(unpacked(made.stored.key, tried), lost)
                if found is not None:
                    return found
    return None


def _replaced(rows: Sequence[Any], table: Table, new: Any) -> Any:
    """The damaged row that a restored one replaces: the one with its key, or else its checksum."""
    own = [getattr(new, name) for name in table.key]
    for row in rows:
        if [getattr(row, name) for name in table.key] == own:
            return row
    return next((row for row in rows if row.sum == new.sum), None)


# ---- two rows that got each other's columns


def _by_pairs(made: Recovered, bad: dict[str, list[Any]]) -> bool:
    for table in TABLES:
        rows = bad.get(table.name, [])[:_MOST]
        for at, one in enumerate(rows):
            for other in rows[at + 1 :]:
                for names in _exchanges(table):
                    a = one._replace(**{name: getattr(other, name) for name in names})
                    b = other._replace(**{name: getattr(one, name) for name in names})
                    if not unsound(table, a) and not unsound(table, b):
                        _take(made, bad, table, one, a)
                        _take(made, bad, table, other, b)
                        return True
    return False


def _exchanges(table: Table) -> Iterator[Sequence[str]]:
    """The columns that may have been exchanged between two rows."""
    yield [name for name in table.names if name not in table.key]
    for name in table.names:
        yield [name]


# ---- one flipped bit


def _by_flips(made: Recovered, bad: dict[str, list[Any]], groups: Sequence[_Group]) -> bool:
    progress = False
    for table in TABLES:
        for row in list(bad.get(table.name, ())):
            found = flipped_back(table, row)
            if found is None:
                continue
            _take(made, bad, table, row, found)
            progress = True
            if table is PARITY and isinstance(groups, list):
                groups.append(_Group(found))
    return progress


def flipped_back(table: Table, row: Any) -> Any | None:
    """The row with the one bit turned back that makes it fit, in whichever column that is."""
    wrong = unsound(table, row)
    covered = {name for sum in wrong for name in (*table.sums[sum], sum)}
    size = sum(len(held) for held in row if isinstance(held, (str, bytes)))
    if size > FLIPPED:
        return None
    for name in table.names:
        if name in covered and name != "thread":
            for tried in _flips(getattr(row, name)):
                made = row._replace(**{name: tried})
                if not unsound(table, made):
                    return made
    return None


def _flips(held: Any) -> Iterator[Any]:
    if type(held) is int:
        yield from (held ^ 1 << bit for bit in range(63))
        return
    if not isinstance(held, (str, bytes)):
        return
    text = isinstance(held, str)
    data = bytearray(held.encode(errors="surrogateescape") if isinstance(held, str) else held)
    for at in range(len(data)):
        for bit in range(8):
            data[at] ^= 1 << bit
            with suppress(UnicodeDecodeError):
                yield data.decode() if text else bytes(data)
            data[at] ^= 1 << bit
