"""The rows of a checkpoint: its thread's, its path back to a snapshot or whole row, its writes.

One statement brings all of them. Its columns are as many as the widest row needs; `kind` says
which row it is. A path follows `built_on`, whatever ids and clocks say, and ends where a snapshot
holds the checkpoint, or where a row holds all its channels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import cycle, repeat
from operator import itemgetter
from typing import Any

from langgraph_wyrd.checkpoints import user_values
from langgraph_wyrd.storage.keys import found_by
from langgraph_wyrd.storage.scripts import Query, Row, Script
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    SNAPSHOTS,
    THREADS,
    USER_DATA,
    WRITES,
    CheckpointRow,
    Key,
    SnapshotRow,
    Table,
    ThreadRow,
    WriteRow,
)

_TABLES: tuple[Table, ...] = (THREADS, CHECKPOINTS, SNAPSHOTS, WRITES, USER_DATA)
_TYPES = {"text": 0, "json": 0, "int": 1, "bytes": 2}


def _by_type(table: Table) -> list[list[str]]:
    """The names of a table's texts, integers and bytes."""
    found: list[list[str]] = [[], [], []]
    for column in table.columns:
        if column.kind != "key":
            found[_TYPES[column.kind]].append(column.name)
    return found


# Of each kind of row its columns, in the order in which they are selected. The last kind is what a
# parity group knows of its members.
_KINDS = [*map(_by_type, _TABLES), [[], [], ["tags"]]]
_MOST = [max(len(kind[type_]) for kind in _KINDS) for type_ in range(3)]
_THREAD, _CHECKPOINT, _SNAPSHOT, _WRITE, _USER, _GROUP = range(6)
_TAGS = 2 + _MOST[0] + _MOST[1]  # where these stand


def _places() -> list[tuple[Any, Any]]:
    """Of each kind: its class, and what takes its fields from a selected row."""
    made = []
    for table, kind in zip(_TABLES, _KINDS, strict=False):
        at = {table.placed_by: 1}
        for type_, names in enumerate(kind):
            at.update((name, 2 + sum(_MOST[:type_]) + n) for n, name in enumerate(names))
        made.append((table.row, itemgetter(*[at[name] for name in table.names])))
    return made


_PLACES = _places()


@dataclass(slots=True)
class Found:
    """What is stored of a checkpoint. `path` goes from it back, nearest first."""

    thread: ThreadRow | None = None
    path: list[CheckpointRow] = field(default_factory=list)
    snapshots: list[SnapshotRow] = field(default_factory=list)
    writes: list[WriteRow] = field(default_factory=list)
    users: user_values.Rows = field(default_factory=user_values.Rows)
    groups: list[bytes] = field(default_factory=list)  # tags of the parity groups of its time
    grouped: bool = False  # whether these were asked for

    @property
    def target(self) -> CheckpointRow | None:
        return self.path[0] if self.path else None


@dataclass(slots=True)
class Rows:
    """What is stored of one or more checkpoints of a namespace, every row once."""

    thread: ThreadRow | None = None
    checkpoints: dict[str, CheckpointRow] = field(default_factory=dict)
    snapshots: list[SnapshotRow] = field(default_factory=list)
    writes: dict[str, list[WriteRow]] = field(default_factory=dict)  # by checkpoint
    users: user_values.Rows = field(default_factory=user_values.Rows)
    groups: list[bytes] = field(default_factory=list)  # tags, where they were asked for

    def of(self, id: str | None, groups: list[bytes] | None = None) -> Found:
        """What is stored of a checkpoint; None: of the latest. `groups`: those of its time."""
        left, path = dict(self.checkpoints), []
        start = max(left, default="") if id is None else id
        at = left.pop(start, None)
        while at is not None:
            path.append(at)
            at = None if at.built_on is None else left.pop(at.built_on, None)
        writes = self.writes.get(start, [])
        grouped = groups is not None
        return Found(self.thread, path, self.snapshots, writes, self.users, groups or [], grouped)


def _selected(alias: str, kind: int, dialect: str) -> str:
    """The columns of one kind of row, with nulls of the right type where it has fewer."""
    types = ("TEXT", "BIGINT", "BYTEA") if dialect == "postgres" else ("TEXT", "INTEGER", "BLOB")
    columns = [str(kind), f"{alias}.{'key' if kind == _THREAD else 'thread'}"]
    for names, most, type_ in zip(_KINDS[kind], _MOST, types, strict=True):
        columns += [f"{alias}.{name}" for name in names]
        columns += [f"CAST(NULL AS {type_})"] * (most - len(names))
    return ", ".join(columns)


@lru_cache
def _statement(
    dialect: str, count: int, writes: bool, snapshots: bool, groups: bool, head: bool = False
) -> tuple[str, str]:
    """The whole statement, and its parameters in their order: `t`hread, `n`amespace, `c`heckpoints.

    `count`: how many checkpoints are named; 0: the latest is wanted. With `head` it is that of the
    root, whose id the thread's row names.
    """
    postgres = dialect == "postgres"
    by = "key" if postgres else "thread_id"
    row, crow = ("", "") if postgres else (", row", ", c.row")
    # Where rows are spread by thread, only a parameter tells a planner where they lie.
    key, pkey = ("?t", "?t") if postgres else ("t.key", "p.thread")
    chosen = f"= (SELECT max(id) FROM wyrd_checkpoints WHERE thread = {key} AND ns = ?n)"
    if count:
        chosen = f"IN ({', '.join(['?c'] * count)})"
    stops = (
        f" AND NOT EXISTS (SELECT 1 FROM wyrd_snapshots s WHERE s.thread = {pkey} AND s.ns = p.ns "
        "AND s.checkpoint = p.id AND s.channel = '' AND s.stamp = p.stamp)"
        if snapshots
        else ""
    )
    text = f"""
WITH RECURSIVE
t AS (SELECT * FROM wyrd_threads WHERE {by} = ?t),
path(thread, ns, id, built_on, stamp{row}) AS (
  SELECT c.thread, c.ns, c.id, c.built_on, c.stamp{crow} FROM t
  JOIN wyrd_checkpoints c ON c.thread = {key} AND c.ns = ?n AND c.id {chosen}
  UNION
  SELECT c.thread, c.ns, c.id, c.built_on, c.stamp{crow} FROM path p
  {_joined("p.built_on", postgres)}
  WHERE p.built_on IS NOT NULL{stops}
)
SELECT {_selected("t", _THREAD, dialect)} FROM t
UNION ALL SELECT {_selected("c", _CHECKPOINT, dialect)} FROM path p
  {_joined("p.id", postgres)}"""
    stamps = "SELECT stamp FROM path"
    if writes:
        stamps += (
            f" UNION ALL SELECT w.seq FROM t JOIN wyrd_writes w ON w.thread = {key} AND w.ns = ?n "
            f"AND w.checkpoint {chosen}"
        )
    text += f"""
UNION ALL SELECT {_selected("u", _USER, dialect)} FROM t JOIN wyrd_user_data u
  ON u.thread = {key} AND u.n IN ({stamps})"""
    if snapshots:
        text += f"""
UNION ALL SELECT {_selected("s", _SNAPSHOT, dialect)} FROM path p JOIN wyrd_snapshots s
  ON s.thread = {pkey} AND s.ns = p.ns AND s.checkpoint = p.id AND s.stamp = p.stamp"""
    if writes:
        text += f"""
UNION ALL SELECT {_selected("w", _WRITE, dialect)} FROM t JOIN wyrd_writes w
  ON w.thread = {key} AND w.ns = ?n AND w.checkpoint {chosen}"""
    if groups:
        at = "t.head" if head else "?c" if count else chosen.removeprefix("= ")
        for when in (f"g.last >= {at} AND g.closed IS NULL", f"g.closed >= {at}"):
            text += f"""
UNION ALL SELECT {_selected("g", _GROUP, dialect)} FROM t JOIN wyrd_parity g
  ON g.thread = {key} AND g.first <= {at} AND {when}"""
    return _MARK.sub("?", text), "".join(_MARK.findall(text))


_MARK = re.compile(r"\?([tnc])")


def _joined(id: str, postgres: bool) -> str:
    """The checkpoint of this id, beside a row of the path. On Postgres it is looked up for each
    row: a planner that knows the thread might read all of it instead."""
    if not postgres:
        if id == "p.id":
            return "JOIN wyrd_checkpoints c ON c.row = p.row"
        return f"JOIN wyrd_checkpoints c ON c.thread = p.thread AND c.ns = p.ns AND c.id = {id}"
    return (
        "CROSS JOIN LATERAL (SELECT * FROM wyrd_checkpoints c "
        f"WHERE c.thread = ?t AND c.ns = p.ns AND c.id = {id} LIMIT 1) c"
    )


def query(
    dialect: str, thread_id: str, ns: str, ids: Sequence[str], *,
    writes: bool = True, snapshots: bool = True, groups: bool = False,
) -> Query:  # fmt: skip
    """The statement for some checkpoints, or (without ids) for the latest of the namespace.

    `groups`: the parity groups that name the rows of one checkpoint.
    """
    head = not ids and not ns
    text, order = _statement(dialect, len(ids), writes, snapshots, groups, head)
    given: dict[str, Iterator[Any]] = {
        "t": repeat(found_by(dialect, thread_id)),
        "n": repeat(ns),
        "c": cycle(ids),
    }
    return Query(text, tuple(next(given[mark]) for mark in order))


def parsed(rows: Sequence[Row]) -> Rows:
    """The rows of such a statement."""
    found = Rows()
    for row in rows:
        kind = row[0]
        if kind == _GROUP:
            tags = row[_TAGS]
            found.groups.append(tags if type(tags) is bytes else b"")  # damaged: it names none
            continue
        cls, fields_of = _PLACES[kind]
        made = cls._make(fields_of(row))
        if kind == _CHECKPOINT:
            found.checkpoints[made.id] = made
        elif kind == _WRITE:
            found.writes.setdefault(made.checkpoint, []).append(made)
        elif kind == _SNAPSHOT:
            found.snapshots.append(made)
        elif kind == _USER:
            found.users.add(made)
        else:
            found.thread = made
    return found


def find(
    dialect: str, thread_id: str, ns: str, id: str | None, *,
    writes: bool = True, snapshots: bool = True,
) -> Script[Found]:  # fmt: skip
    """What is stored of a checkpoint, or (`id` None) of the latest in its namespace."""
    ids = () if id is None else (id,)
    asked = query(dialect, thread_id, ns, ids, writes=writes, snapshots=snapshots, groups=writes)
    found = parsed((yield asked))
    return found.of(id, found.groups if writes else None)


_LINE = """
WITH RECURSIVE line(id, parent, depth) AS (
  SELECT id, parent, 0 FROM wyrd_checkpoints WHERE thread = ? AND ns = '' AND id = ?
  UNION ALL
  SELECT c.id, c.parent, line.depth + 1 FROM line JOIN wyrd_checkpoints c
  ON c.thread = ? AND c.ns = '' AND c.id = line.parent WHERE line.depth < 1000000
) SELECT id FROM line ORDER BY depth DESC"""


def line(key: Key, id: str | None) -> Script[list[str]]:
    """A root checkpoint and its ancestors, by their ids, the oldest first."""
    return [row[0] for row in (yield Query(_LINE, (key, id, key)))]
