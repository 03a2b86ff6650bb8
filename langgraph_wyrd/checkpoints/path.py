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
from langgraph_wyrd.storage.scripts import Query, Row, Script
from langgraph_wyrd.storage.tables import (
    CheckpointRow,
    SnapshotRow,
    ThreadRow,
    UserRow,
    WriteRow,
)

_TEXTS, _INTS, _BYTES = 12, 6, 2

# Of each kind of row: its texts, integers and bytes, in the order in which they are selected.
_THREAD = (
    ("thread_id", "head", "buried", "created", "updated", "status", "reason", "due", "title",
     "user_id", "deleted_at", "read_by"),
    ("version", "writer", "open_loops", "open_todos", "ttl"),
    (),
)  # fmt: skip
_CHECKPOINT = (
    ("ns", "id", "parent", "built_on", "ts", "source", "run_id", "root", "due", "metadata"),
    ("stamp", "built_stamp", "seq", "step", "sum", "events_sum"),
    ("events", "delta"),
)
_SNAPSHOT = (("ns", "checkpoint", "channel"), ("stamp", "sum"), ("data", "state"))
_GROUP = ((), (), ("tags",))  # of a parity group: what it knows of its members
_WRITE = (("ns", "checkpoint", "task", "path"), ("seq", "version", "sum"), ("events", "payload"))
_USER = (("user_id", "name", "updated"), ("n", "sum"), ("data",))
_KINDS: tuple[tuple[Any, Any, str], ...] = (
    (ThreadRow, _THREAD, "key"),
    (CheckpointRow, _CHECKPOINT, "thread"),
    (SnapshotRow, _SNAPSHOT, "thread"),
    (WriteRow, _WRITE, "thread"),
    (UserRow, _USER, "thread"),
    (None, _GROUP, "thread"),
)


def _places() -> list[tuple[Any, list[int]]]:
    """Of each kind: its class, and where in a selected row each of its fields stands."""
    made = []
    for cls, (texts, ints, blobs), key in _KINDS[:5]:
        at = {key: 1}
        at.update((name, 2 + n) for n, name in enumerate(texts))
        at.update((name, 2 + _TEXTS + n) for n, name in enumerate(ints))
        at.update((name, 2 + _TEXTS + _INTS + n) for n, name in enumerate(blobs))
        made.append((cls, [at[name] for name in cls._fields]))
    return made


_PLACES = _places()


@dataclass(slots=True)
class Found:
    """What is stored of a checkpoint. `path` goes from it back, nearest first."""

    thread: ThreadRow | None = None
    path: list[CheckpointRow] = field(default_factory=list)
    snapshots: list[SnapshotRow] = field(default_factory=list)
    writes: list[WriteRow] = field(default_factory=list)
    rows: dict[tuple[str, str], CheckpointRow] = field(default_factory=dict)
    users: user_values.Rows = field(default_factory=user_values.Rows)
    groups: list[bytes] = field(default_factory=list)  # tags of the parity groups of its time
    grouped: bool = False  # whether these were asked for

    @property
    def target(self) -> CheckpointRow | None:
        return self.path[0] if self.path else None


def _selected(alias: str, kind: int, dialect: str) -> str:
    """The columns of one kind of row, with nulls of the right type where it has fewer."""
    _, (texts, ints, blobs), key = _KINDS[kind]
    names = ("TEXT", "BIGINT", "BYTEA") if dialect == "postgres" else ("TEXT", "INTEGER", "BLOB")
    columns = [str(kind), f"{alias}.{key}"]
    for held, most, type_ in zip((texts, ints, blobs), (_TEXTS, _INTS, _BYTES), names, strict=True):
        columns += [f"{alias}.{name}" for name in held]
        columns += [f"CAST(NULL AS {type_})"] * (most - len(held))
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
SELECT {_selected("t", 0, dialect)} FROM t
UNION ALL SELECT {_selected("c", 1, dialect)} FROM path p
  {_joined("p.id", postgres)}"""
    stamps = "SELECT stamp FROM path"
    if writes:
        stamps += (
            f" UNION ALL SELECT w.seq FROM t JOIN wyrd_writes w ON w.thread = {key} AND w.ns = ?n "
            f"AND w.checkpoint = {chosen}"
        )
    text += f"""
UNION ALL SELECT {_selected("u", 4, dialect)} FROM t JOIN wyrd_user_data u
  ON u.thread = {key} AND u.n IN ({stamps})"""
    if snapshots:
        text += f"""
UNION ALL SELECT {_selected("s", 2, dialect)} FROM path p JOIN wyrd_snapshots s
  ON s.thread = {pkey} AND s.ns = p.ns AND s.checkpoint = p.id AND s.stamp = p.stamp"""
    if writes:
        at = "t.head" if head else chosen
        text += f"""
UNION ALL SELECT {_selected("w", 3, dialect)} FROM t JOIN wyrd_writes w
  ON w.thread = {key} AND w.ns = ?n AND w.checkpoint = {chosen}
UNION ALL SELECT {_selected("g", 5, dialect)} FROM t JOIN wyrd_parity g
  ON g.thread = {key} AND g.closed = 0 AND g.first <= {at} AND g.last >= {at}
UNION ALL SELECT {_selected("g", 5, dialect)} FROM t JOIN wyrd_parity g
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


def query(
    dialect: str,
    thread: Any,
    ns: str,
    id: str | None,
    *,
    writes: bool = True,
    snapshots: bool = True,
) -> Query:
    """The statement for a checkpoint, or (`id` None) the latest of its namespace.

    `thread` is what the dialect finds a thread by: its key on Postgres, its id on SQLite.
    """
    head = id is None and not ns
    text, order = _statement(dialect, id is None, writes, snapshots, head)
    given = {"t": thread, "n": ns, "c": id}
    return Query(text, tuple(given[each] for each in order))


def parsed(rows: Sequence[Row], ns: str, id: str | None) -> Found:
    """The rows of such a statement, the path in its order."""
    found = Found()
    for row in rows:
        kind = row[0]
        if kind == 5:
            found.groups.append(row[2 + _TEXTS + _INTS])
            continue
        cls, places = _PLACES[kind]
        made = cls._make([row[at] for at in places])
        if kind == 1:
            found.rows[made.ns, made.id] = made
        elif kind == 3:
            found.writes.append(made)
        elif kind == 2:
            found.snapshots.append(made)
        elif kind == 4:
            found.users.add(made)
        else:
            found.thread = made
    if found.rows:
        # The start is the row that was asked for: the newest, where no id was given.
        start = id if id is not None else max(key[1] for key in found.rows if key[0] == ns)
        at = found.rows.get((ns, start))
        left = dict(found.rows)
        while at is not None:
            found.path.append(at)
            left.pop((at.ns, at.id), None)
            at = None if at.built_on is None else left.get((at.ns, at.built_on))
    return found


def find(
    dialect: str,
    thread: Any,
    ns: str,
    id: str | None,
    *,
    writes: bool = True,
    snapshots: bool = True,
) -> Script[Found]:
    """What is stored of a checkpoint, or of the latest in its namespace."""
    rows = yield query(dialect, thread, ns, id, writes=writes, snapshots=snapshots)
    found = parsed(rows, ns, id)
    found.grouped = writes
    return found
