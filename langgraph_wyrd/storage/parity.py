"""Parity: groups of rows with the XOR of their bytes, so that any one of them can be rebuilt.

A group is a row of wyrd_parity. It lists its members' tags (part of each one's checksum, and a hash
of the checkpoint that it belongs to) and holds the XOR of their packed bytes. So one member that is
damaged or missing is known by its tag, and comes out of the others to the byte; its own checksum
proves it. Keys are not needed: rows are taken as they are stored.

The thread that writes keeps the groups that it fills in memory and stores them in the transaction
of their rows. Nobody else adds to its groups, so concurrent writers lose nothing and never wait
for each other; each update compares the checksum of the row that it replaces, so a group that a
deletion took away is never brought back. Rows of similar size share a group: what a group takes
up is a small part of what it protects.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import ormsgpack

from langgraph_wyrd.storage.keys import random_bits
from langgraph_wyrd.storage.rows import delete, insert, select, summed, unsound
from langgraph_wyrd.storage.scripts import Command, Query, Script, Step
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    JOURNAL,
    PARITY,
    WRITES,
    Key,
    ParityRow,
    Table,
)

T = TypeVar("T")

MEMBERS = 64  # of a group
# Bytes up to which packed rows share a group. Larger rows have a group of their own, which holds
# the XOR of their pieces: bytes that were damaged in one place can be rebuilt, a whole row not.
SIZES = (4 << 10, 32 << 10, 256 << 10)
PIECE = 16 << 10
LAST = "\U0010ffff"  # no id sorts behind it
PROTECTED: tuple[Table, ...] = (CHECKPOINTS, WRITES, JOURNAL)  # numbered: append, never renumber

_SAID = PROTECTED.index(JOURNAL)
JOURNALED = (
    "SELECT 0, tags FROM wyrd_parity WHERE thread = ? AND closed = '' UNION ALL "
    "SELECT 0, tags FROM wyrd_parity WHERE thread = ? AND closed IS NULL AND last = ''"
)
_NUMBER = {insert(table): number for number, table in enumerate(PROTECTED)}
_SUMS = [table.names.index("sum") for table in PROTECTED]
_MEMORY = 16 << 20  # bytes of groups that a writer remembers
_LOW = 0xFFFFFFFF
_pack = ormsgpack.packb

INSERT = insert(PARITY)
_CHANGE = "UPDATE wyrd_parity SET first = ?, last = ?, sum = ?, tags = ?, data = ?"
_WHICH = "WHERE thread = ? AND n = ? AND sum = ?"
UPDATE = f"{_CHANGE} {_WHICH}"
CLOSE = f"{_CHANGE}, closed = ? {_WHICH}"


class Group(NamedTuple):
    """A group as it is stored, its XOR as a number."""

    n: int
    name: str | None
    first: str
    last: str
    tags: bytes
    length: int
    xor: int
    sum: int


def packed(number: int, row: Any) -> bytes:
    """A row of a protected table as bytes, but for its thread."""
    made: bytes = _pack((number, *row[1:]))
    return made


def unpacked(key: Key, data: bytes) -> tuple[Table, Any] | None:
    """The row of such bytes; None if they are none."""
    try:
        number, *values = ormsgpack.unpackb(data)
        table = PROTECTED[number]
        return table, table.row._make((key, *values))
    except Exception:  # whatever bytes that are no row lead to
        return None


def tag(number: int, row: Any) -> int:
    """What a group knows of a row: 32 bits of its checksum, then 32 of its checkpoint's hash."""
    place = 0 if number == _SAID else place_of(row[1], row[2])
    made: int = (row[_SUMS[number]] & _LOW) << 32 | place & ~1 | (number == 0)
    return made


def mark(number: int, row: Any) -> int:
    """The tag of a row that may be damaged: one of its own where its columns make none."""
    try:
        return tag(number, row)
    except (TypeError, ValueError):
        return crc32(repr(row).encode(errors="replace")) << 32 | (number == 0)


def place_of(ns: str, checkpoint: str) -> int:
    return crc32(f"{ns}\0{checkpoint}".encode())


def tags_of(data: bytes) -> tuple[int, ...]:
    """The tags of a group's members, in the order in which they were stored; none of a damaged
    group whose tags are no bytes."""
    if type(data) is not bytes:
        return ()
    return struct.unpack(f"<{len(data) // 8}Q", data[: len(data) // 8 * 8])


def number_of(data: bytes) -> int:
    """Bytes, with their length before them, as a number that can be XORed with any other."""
    return int.from_bytes(len(data).to_bytes(4, "little") + data, "little")


def bytes_of(number: int, most: int) -> bytes | None:
    """The bytes of such a number; None where the length before them does not fit."""
    held = number.to_bytes((number.bit_length() + 7) // 8, "little")
    size = int.from_bytes(held[:4], "little")
    return held[4:].ljust(size, b"\0") if len(held) - 4 <= size < most else None


def pieces_of(data: bytes) -> int:
    """The XOR of the pieces of a large row."""
    xor = 0
    for start in range(0, len(data), PIECE):
        xor ^= int.from_bytes(data[start : start + PIECE], "little")
    return xor


class Groups:
    """The groups that one writer fills."""

    def __init__(self) -> None:
        self._groups: OrderedDict[tuple[Key, int], Group] = OrderedDict()
        self._bytes = 0

    def planned(
        self, writes: Iterable[Sequence[Step]]
    ) -> tuple[list[Step], dict[tuple[Key, int], Group]]:
        """The steps that protect the rows of these writes, and the groups once they are stored."""
        made: dict[tuple[Key, int], Group] = {}
        steps: list[Step] = []
        named: dict[Key, str] = {}
        for write in writes:
            for sql, row, _ in write:
                number = _NUMBER.get(sql)
                if number is not None:
                    self._add(made, steps, number, row, named)
                elif sql.startswith("INSERT INTO wyrd_threads"):
                    named[row[0]] = row[1]
        for place, group in made.items():
            steps.append(self._step(place, group, made))
        return steps, made

    def _add(
        self,
        made: dict[tuple[Key, int], Group],
        steps: list[Step],
        number: int,
        row: Any,
        named: dict[Key, str],
    ) -> None:
        key, data = row[0], packed(number, row)
        size = kind_of(number, data)
        if size is None:
            group = joined(fresh(named.pop(key, None)), number, row, data)
            steps.append(Step(INSERT, summed(PARITY, stored(key, group))))
            return
        group_ = made.get((key, size))
        if group_ is None:
            group_ = self._groups.get((key, size))
            if group_ is None:
                group_ = fresh(named.pop(key, None))
        elif len(group_.tags) >= 8 * MEMBERS:  # more than one group's rows at once
            steps.append(self._step((key, size), group_, made))
            group_ = fresh()
        made[key, size] = joined(group_, number, row, data)

    def _step(self, place: tuple[Key, int], group: Group, made: dict[Any, Group]) -> Step:
        row = summed(PARITY, stored(place[0], group))
        made[place] = group._replace(sum=row.sum)
        if not group.sum:
            return Step(INSERT, row)
        changed = (row.first, row.last, row.sum, row.tags, row.data)
        which = (row.thread, row.n, group.sum)
        if row.closed is None:
            return Step(UPDATE, (*changed, *which), must=True)
        return Step(CLOSE, (*changed, row.closed, *which), must=True)

    def keep(self, made: dict[tuple[Key, int], Group]) -> None:
        """Remember groups: what was planned is stored."""
        groups = self._groups
        for place, group in made.items():
            old = groups.pop(place, None)
            if old is not None:
                self._bytes -= old.length + 600
            if len(group.tags) < 8 * MEMBERS:
                groups[place] = group
                self._bytes += group.length + 600
        while self._bytes > _MEMORY:
            self._bytes -= groups.popitem(last=False)[1].length + 600

    def drop(self, made: dict[tuple[Key, int], Group]) -> None:
        """Forget groups: what was planned is not stored, or nobody knows."""
        for place in made:
            old = self._groups.pop(place, None)
            if old is not None:
                self._bytes -= old.length + 600


def kind_of(number: int, data: bytes) -> int | None:
    """Which groups a row belongs to, by its size; None: it is too large to share one.

    Those of wyrd_journal are among themselves: no id stands in their groups, and so a read finds
    the few that there are (`JOURNALED`).
    """
    length = len(data)
    for at, most in enumerate(SIZES):
        if length <= most:
            return at if number != _SAID else at + len(SIZES)
    return None


def fresh(name: str | None = None) -> Group:
    return Group(random_bits(62), name, "", "", b"", 0, 0, 0)


def joined(group: Group, number: int, row: Any, data: bytes) -> Group:
    """The group with one more member."""
    n, name, first, last, tags, length, xor, sum = group
    if number != _SAID:
        checkpoint = row[2]
        if not first or checkpoint < first:
            first = checkpoint
        if checkpoint > last:
            last = checkpoint
    tags += tag(number, row).to_bytes(8, "little")
    xor ^= number_of(data) if len(data) <= SIZES[-1] else pieces_of(data)
    return Group(n, name, first, last, tags, max(length, len(data)), xor, sum)


def stored(key: Key, group: Group, *, ends: bool = False) -> ParityRow:
    """The row of a group, without its checksum. `ends`: nothing joins it from now on."""
    size = group.length + 4 if group.length <= SIZES[-1] else PIECE
    ends = ends or len(group.tags) >= 8 * MEMBERS or group.length > SIZES[-1]
    return ParityRow(
        key, group.n, group.name, group.first, group.last, group.last if ends else None, 0,
        group.tags, group.xor.to_bytes(size, "little"),
    )  # fmt: skip


def grouped(
    key: Key, name: str | None, rows: Iterable[tuple[int, Any]], lost: Iterable[int] = ()
) -> list[ParityRow]:
    """The groups of rows that are stored already. `lost`: tags of rows that can't be restored;
    they have a group that holds nothing else, so that nobody takes the thread for sound."""
    open_: dict[int, Group] = {}
    done: list[Group] = []
    for number, row in rows:
        data = packed(number, row)
        size = kind_of(number, data)
        if size is None:
            done.append(joined(fresh(), number, row, data))
            continue
        group = joined(open_[size] if size in open_ else fresh(), number, row, data)
        if len(group.tags) < 8 * MEMBERS:
            open_[size] = group
        else:
            done.append(group)
            open_.pop(size, None)
    done += open_.values()
    if lost:
        tags = b"".join(each.to_bytes(8, "little") for each in lost)
        done.append(fresh()._replace(last=LAST, tags=tags))
    if name is not None:
        done = [done[0]._replace(name=name), *done[1:]] if done else [fresh(name)]
    return [summed(PARITY, stored(key, group, ends=True)) for group in done]


def alone(table: Table, row: Any) -> ParityRow:
    """A group of one row, which so is stored twice."""
    number = PROTECTED.index(table)
    group = joined(fresh(), number, row, packed(number, row))
    return summed(PARITY, stored(row[0], group, ends=True))


def regroup(
    key: Key, name: str | None, rows: Iterable[tuple[int, Any]], lost: Iterable[int] = ()
) -> Script[None]:
    """Replace a thread's groups by new ones of these rows; damaged ones are `lost`."""
    yield Command(delete(PARITY, "thread"), [(key,)])
    sound, gone = [], dict.fromkeys(lost)
    for number, row in rows:
        if unsound(PROTECTED[number], row):
            gone[mark(number, row)] = None
        else:
            sound.append((number, row))
    made = grouped(key, name, sound, gone)
    if made:
        yield Command(INSERT, made)


# ---- scripts that write

_NAME = (
    "SELECT thread_id, (SELECT count(*) FROM wyrd_parity WHERE thread = ? AND name IS NOT NULL) "
    "FROM wyrd_threads WHERE key = ? AND deleted_at IS NULL"
)


@lru_cache
def _changes(sql: str) -> int | None:
    """Which parameter of a statement is the thread, if it changes or deletes protected rows."""
    if sql in _NUMBER:
        return None
    for table in PROTECTED:
        if sql.startswith(f"INSERT INTO {table.name} "):
            return 0
        if sql.startswith((f"UPDATE {table.name} ", f"DELETE FROM {table.name} ")):
            return sql[: sql.index("thread = ?")].count("?")
    return None


def watched(script: Script[T], mend: Callable[[Key], Script[Any]] | None) -> Script[T]:
    """Run a script that writes, and bring the parity of all that it touches up to date.

    A thread of which rows are changed or deleted is mended first, and grouped anew in the end: what
    was deleted must not come back out of a group, and what is damaged must not be given up.
    """
    added: dict[Key, list[tuple[int, Any]]] = {}
    changed: set[Key] = set()
    try:
        step = next(script)
        while True:
            for each in (step,) if isinstance(step, tuple) else step:
                if type(each) is not Command:
                    continue
                number = _NUMBER.get(each.sql)
                if number is not None:
                    for row in each.rows:
                        added.setdefault(row[0], []).append((number, row))
                elif (at := _changes(each.sql)) is not None:
                    for key in {row[at] for row in each.rows} - changed:
                        changed.add(key)
                        if mend is not None:
                            yield from mend(key)
            step = script.send((yield step))
    except StopIteration as end:
        result: T = end.value
    for key in changed | added.keys():
        names = yield Query(_NAME, (key, key))
        name, known = names[0] if names else (None, 1)
        if key in changed:
            found = yield [Query(select(table, "thread"), (key,)) for table in PROTECTED]
            rows = [
                (number, table.row._make(row))
                for number, (table, held) in enumerate(zip(PROTECTED, found, strict=True))
                for row in held
            ]
            yield from regroup(key, name, rows)
        else:
            made = grouped(key, None if known else name, added[key])
            yield Command(INSERT, made)
    return result
