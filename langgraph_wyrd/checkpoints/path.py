"""The rows of a checkpoint: its thread's, its path back to a snapshot or whole row, its writes.

One statement brings all of them. Its columns are as many as the widest row needs; `kind` says
which row it is. A path follows `built_on`, whatever ids and clocks say, and ends where a snapshot
holds the checkpoint, or where a row holds all its channels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
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


def _places() -> list[tuple[Any, list[int]]]:
    """Of each kind: its class, and where in a selected row each of its fields stands."""
    made = []
    for table, kind in zip(_TABLES, _KINDS, strict=False):
        at = {table.placed_by: 1}
        for type_, names in enumerate(kind):
            at.update((name, 2 + sum(_MOST[:type_]) + n) for n, name in enumerate(names))
        made.append((table.row, [at[name] for name in table.names]))
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
    dialect: str, latest: bool, writes: bool, snapshots: bool, head: bool = False
) -> tuple[str, str]:
    """The whole statement, and its parameters in their order: `t`hread, `n`amespace, `c`heckpoint.

    With `head` the latest of the root is wanted, whose id the thread's row names.
    """
    postgres = dialect == "postgres"
    by = "key" if postgres else "thread_id"
    row, crow = ("", "") if postgres else (", row", ", c.row")
    # Where rows are spread by thread, only a parameter tells a planner where they lie.
    key, pkey = ("?t", "?t") if postgres else ("t.key", "p.thread")
    chosen = f"(SELECT max(id) FROM wyrd_checkpoints WHERE thread = {key} AND ns = ?n)"
    if not latest:
        chosen = "?c"
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
  JOIN wyrd_checkpoints c ON c.thread = {key} AND c.ns = ?n AND c.id = {chosen}
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
            f"AND w.checkpoint = {chosen}"
        )
    text += f"""
UNION ALL SELECT {_selected("u", _USER, dialect)} FROM t JOIN wyrd_user_data u
  ON u.thread = {key} AND u.n IN ({stamps})"""
    if snapshots:
        text += f"""
UNION ALL SELECT {_selected("s", _SNAPSHOT, dialect)} FROM path p JOIN wyrd_snapshots s
  ON s.thread = {pkey} AND s.ns = p.ns AND s.checkpoint = p.id AND s.stamp = p.stamp"""
    if writes:
        at = "t.head" if head else chosen
        text += f"""
UNION ALL SELECT {_selected("w", _WRITE, dialect)} FROM t JOIN wyrd_writes w
  ON w.thread = {key} AND w.ns = ?n AND w.checkpoint = {chosen}
UNION ALL SELECT {_selected("g", _GROUP, dialect)} FROM t JOIN wyrd_parity g
  ON g.thread = {key} AND g.closed = 0 AND g.first <= {at} AND g.last >= {at}
UNION ALL SELECT {_selected("g", _GROUP, dialect)} FROM t JOIN wyrd_parity g
  ON g.thread = {key} AND g.closed = 1 AND g.first <= {at} AND g.last >= {at}"""
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


def parsed(rows: Sequence[Row], ns: str, id: str | None) -> Found:
    """The rows of such a statement, the path in its order."""
    found, left = Found(), {}
    for row in rows:
        kind = row[0]
        if kind == _GROUP:
            found.groups.append(row[_TAGS])
            continue
        cls, places = _PLACES[kind]
        made = cls._make([row[at] for at in places])
        if kind == _CHECKPOINT:
            left[made.ns, made.id] = made
        elif kind == _WRITE:
            found.writes.append(made)
        elif kind == _SNAPSHOT:
            found.snapshots.append(made)
        elif kind == _USER:
            found.users.add(made)
        else:
            found.thread = made
    if left:
        # The start is the row that was asked for: the newest, where no id was given.
        start = id if id is not None else max(key[1] for key in left if key[0] == ns)
        at = left.pop((ns, start), None)
        while at is not None:
            found.path.append(at)
            at = None if at.built_on is None else left.pop((at.ns, at.built_on), None)
    return found


def find(
    dialect: str, thread_id: str, ns: str, id: str | None, *,
    writes: bool = True, snapshots: bool = True,
) -> Script[Found]:  # fmt: skip
    """What is stored of a checkpoint, or (`id` None) of the latest in its namespace."""
    text, order = _statement(dialect, id is None, writes, snapshots, head=id is None and not ns)
    given = {"t": found_by(dialect, thread_id), "n": ns, "c": id}
    rows = yield Query(text, tuple(given[each] for each in order))
    found = parsed(rows, ns, id)
    found.grouped = writes
    return found


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
