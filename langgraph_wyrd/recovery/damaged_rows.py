"""Which of a thread's rows are damaged or missing, and which of them can be restored.

Nothing here reads or writes: `recovered` takes rows and says what is sound, what can be restored to
the byte, and what is lost. A row counts as restored only if its own checksums prove it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from typing import Any, NamedTuple

from langgraph_wyrd.recovery.flipped_bits import flipped_back
from langgraph_wyrd.storage import parity
from langgraph_wyrd.storage.parity import PIECE, PROTECTED, mark, packed, tag, unpacked
from langgraph_wyrd.storage.rows import delete, key_of, select, unsound
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import PARITY, SNAPSHOTS, Key, ParityRow, Table, ThreadRow

TABLES = (PARITY, *PROTECTED, SNAPSHOTS)

Bad = dict[Table, list[Any]]


@dataclass(slots=True)
class Stored:
    """What is stored of a thread. `row` is that of wyrd_threads, if there is one."""

    dialect: str
    key: Key
    thread_id: str
    row: ThreadRow | None
    rows: dict[Table, list[Any]] = field(default_factory=dict)
    places: dict[int, Any] = field(default_factory=dict)  # see `_place`

    def removed(self, table: Table, row: Any) -> Command:
        """The statement that removes just this row, which may be damaged."""
        where, at = self._place(table, row)
        return Command(f"{delete(table)} WHERE {where}", [at])

    def fixed(self, fix: Fix) -> Command:
        """The statement that puts a restored row in the place of a damaged one."""
        sets = ", ".join(f"{name} = ?" for name in fix.table.names)
        where, at = self._place(fix.table, fix.old)
        return Command(f"UPDATE {fix.table.name} SET {sets} WHERE {where}", [(*fix.new, *at)])

    def _place(self, table: Table, row: Any) -> tuple[str, tuple[Any, ...]]:
        """On Postgres a row's key, which says where it lies however tables are spread; on SQLite
        its number in its table, for there a key may be of a wrong type."""
        if self.dialect == "sqlite":
            return "row = ?", (self.places[id(row)],)
        return " AND ".join(f"{name} = ?" for name in table.key), key_of(table, row)


class Fix(NamedTuple):
    """A row that was restored; `old` is what stands there now (None: nothing)."""

    table: Table
    old: Any
    new: Any

    @property
    def in_place(self) -> bool:
        return self.old is not None and key_of(self.table, self.old) == key_of(self.table, self.new)


@dataclass(slots=True)
class Recovered:
    """A thread's rows after recovery."""

    stored: Stored
    sound: dict[Table, list[Any]]
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
            if table in PROTECTED:
                left.discard(tag_of_damaged(left, PROTECTED.index(table), row))
        return left

    def note_restored(self, bad: Bad, table: Table, old: Any, new: Any) -> None:
        """Note that a row was restored; `old` is the damaged one, None if it was missing."""
        self.fixes.append(Fix(table, old, new))
        for rows in (bad, self.sound) if old is not None else ():
            rows[table] = [each for each in rows[table] if each is not old]
        self.sound[table].append(new)
        if table in PROTECTED:
            number = PROTECTED.index(table)
            self.tagged[tag(number, new)] = (number, new)


def read(dialect: str, key: Key, thread_id: str, row: ThreadRow | None) -> Script[Stored]:
    """The rows of a thread. Parity comes first: no row that it names can be younger than it."""
    made = Stored(dialect, key, thread_id, row)
    columns = f"SELECT {'row' if dialect == 'sqlite' else '0'}, "
    found = yield [
        Query(select(table, "thread").replace("SELECT ", columns, 1), (key,)) for table in TABLES
    ]
    for table, held in zip(TABLES, found, strict=True):
        made.rows[table] = [table.row._make(each[1:]) for each in held]
        for each, (place, *_) in zip(made.rows[table], held, strict=True):
            made.places[id(each)] = place
    return made


def recovered(stored: Stored) -> Recovered:
    """What is sound of a thread's rows, and what can be restored."""
    sound: Bad = {table: [] for table in TABLES}
    bad: Bad = defaultdict(list)
    for table in TABLES:
        for row in stored.rows[table]:
            (bad if unsound(table, row) else sound)[table].append(row)
    made = Recovered(stored, sound)
    for number, table in enumerate(PROTECTED):
        made.tagged.update((tag(number, row), (number, row)) for row in sound[table])
    while _by_parity(made, bad) or _by_flips(made, bad):
        pass  # what was restored may be all that another group lacked
    groups = _groups(made)
    made.broken = [(table, row) for table in TABLES for row in bad.get(table, ())]
    made.lost = frozenset(each for group in groups for each in group.missing(made))
    if groups and not made.lost and made.tagged.keys() <= {t for g in groups for t in g.tags}:
        made.strays = [each for each in made.broken if each[0] in PROTECTED]
        made.broken = [each for each in made.broken if each[0] not in PROTECTED]
    return made


def tag_of_damaged(lost: Collection[int], number: int, row: Any) -> int:
    """The tag of a damaged row: a lost one that fits its checksum, or else its place."""
    own = mark(number, row)
    for bits in (0xFFFFFFFF << 32, 0xFFFFFFFF):
        for each in lost:
            if each & bits == own & bits:
                return each
    return own


def is_write(tag: int) -> bool:
    """Whether a tag is that of a row of task writes."""
    return not tag & 1 and tag & 0xFFFFFFFF != 0


# ---- from the others of its group


class _Group(NamedTuple):
    """A parity group."""

    row: ParityRow
    tags: tuple[int, ...]

    def missing(self, made: Recovered) -> list[int]:
        """The tags of members that are not there, or damaged."""
        return [each for each in self.tags if each not in made.tagged]

    def rebuilt(self, made: Recovered, lost: int) -> tuple[Table, Any] | None:
        """The one member that is missing, if its checksum proves it."""
        others = [parity.number_of(packed(*made.tagged[t])) for t in self.tags if t != lost]
        whole = reduce(xor, others, int.from_bytes(self.row.data, "little"))
        data = parity.bytes_of(whole, len(self.row.data))
        return None if data is None else _if_proven(unpacked(made.stored.key, data), lost)


def _groups(made: Recovered) -> list[_Group]:
    return [_Group(row, parity.tags_of(row.tags)) for row in made.sound[PARITY]]


def _if_proven(found: tuple[Table, Any] | None, lost: int) -> tuple[Table, Any] | None:
    if found is None or unsound(*found):
        return None
    table, row = found
    return found if tag(PROTECTED.index(table), row) == lost else None


def _by_parity(made: Recovered, bad: Bad) -> bool:
    """Rebuild what single groups lack; whether any was."""
    progress = False
    for group in _groups(made):
        lost = group.missing(made)
        if len(lost) != 1:
            continue
        found = _rebuilt_piece(made, bad, group, lost[0]) or group.rebuilt(made, lost[0])
        if found is not None:
            table, row = found
            old = _damaged_twin(bad[table], table, row)
            if old is None:  # one that was put there, with a checksum that fits
                old = _damaged_twin(made.sound[table], table, row)
            made.note_restored(bad, table, old, row)
            progress = True
    return progress


def _rebuilt_piece(made: Recovered, bad: Bad, group: _Group, lost: int) -> tuple[Table, Any] | None:
    """A large row of which one piece is damaged: rebuild that piece from the XOR of all."""
    if len(group.tags) != 1 or len(group.row.data) != PIECE:
        return None
    for number, table in enumerate(PROTECTED):
        for row in bad[table]:
            try:
                data = packed(number, row)
            except (TypeError, ValueError):
                continue
            wrong = parity.pieces_of(data) ^ int.from_bytes(group.row.data, "little")
            for start in range(0, len(data), PIECE):
                piece = data[start : start + PIECE]
                right = int.from_bytes(piece, "little") ^ wrong
                if right.bit_length() > 8 * len(piece):
                    continue
                tried = data[:start] + right.to_bytes(len(piece), "little") + data[start + PIECE :]
                found = _if_proven(unpacked(made.stored.key, tried), lost)
                if found is not None:
                    return found
    return None


def _damaged_twin(rows: Sequence[Any], table: Table, new: Any) -> Any:
    """The damaged row that a restored one replaces: the one with its key, or else its checksum."""
    own = key_of(table, new)
    same = [row for row in rows if key_of(table, row) == own]
    return next(iter(same or [row for row in rows if row.sum == new.sum]), None)


def _by_flips(made: Recovered, bad: Bad) -> bool:
    progress = False
    for table, rows in [*bad.items()]:
        for row in rows:
            found = flipped_back(table, row)
            if found is not None:
                made.note_restored(bad, table, row, found)
                progress = True
    return progress
