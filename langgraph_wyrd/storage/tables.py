"""Every table, declared once as data; what walks rows (DDL, insert, copy, verify …) reads this.

A row is a named tuple whose fields are the table's columns, in their order. `sums` names the
checksum columns and what each covers: the row as it is stored, with the table's name, so a row that
was changed, moved or exchanged never fits. Summed columns are text, bytes or integers, because
those read back exactly as they were written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_type_hints

Kind = Literal["key", "text", "int", "real", "bool", "bytes", "json", "time"]
Role = Literal["source", "derived", "service"]

Key = int | bytes  # a thread's key: a number on SQLite, 16 bytes on Postgres
Json = Annotated[str, "json"]
Time = Annotated[str, "time"]
_KINDS: dict[Any, Kind] = {
    str: "text", int: "int", float: "real", bool: "bool", bytes: "bytes", Key: "key",
    Json: "json", Time: "time",
}  # fmt: skip


class Column(NamedTuple):
    name: str
    kind: Kind
    required: bool


class Index(NamedTuple):
    name: str
    columns: str
    where: str = ""


@dataclass(frozen=True, eq=False)
class Table:
    """One table.

    `role`: `source` rows can't be made from others, and go along with copies and exports; `derived`
    ones can; `service` rows belong to the running of the store. `encrypted` columns hold nothing
    readable where values are encrypted.
    """

    name: str
    key: tuple[str, ...]
    row: Any  # a NamedTuple class
    role: Role
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    encrypted: tuple[str, ...] = ()
    checks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    indexes: tuple[Index, ...] = ()
    fed: tuple[str, ...] = ()  # holds events: what orders its rows within a transaction
    rowid: bool = False  # SQLite: payload tables keep their rows apart from the key's index

    def __post_init__(self) -> None:
        """A checksum covers all other columns, where `sums` does not say what it covers."""
        if "sum" in self.names and not self.sums:
            others = tuple(name for name in self.names if name != "sum")
            object.__setattr__(self, "sums", {"sum": others})

    @property
    def names(self) -> tuple[str, ...]:
        fields: tuple[str, ...] = self.row._fields
        return fields

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns, as the row's annotations declare them."""
        made = []
        for name, hint in get_type_hints(self.row, include_extras=True).items():
            required = type(None) not in get_args(hint)
            kind = next(k for each, k in _KINDS.items() if hint in (each, Union[each, None]))  # noqa: UP007
            made.append(Column(name, kind, required))
        return tuple(made)

    @property
    def placed_by(self) -> str | None:
        """The column by which a row lies where its thread does; None: it belongs to no thread."""
        return next((column.name for column in self.columns if column.kind == "key"), None)


CONFIDENCE = ("declared", "structural", "model", "heuristic")


UNREAD = ""  # in `read_by`: savers with pillars=False stored it


class ThreadRow(NamedTuple):
    key: Key
    thread_id: str
    version: int
    writer: int
    head: str | None  # LOST: there was one, and all checkpoints of the root are missing
    buried: str | None
    created: str
    updated: str
    status: str | None
    reason: str | None
    due: str | None
    title: str | None
    user_id: str | None
    open_loops: int
    open_todos: int
    deleted_at: str | None
    ttl: int | None = None  # seconds that it may be idle; None: as the retention says
    read_by: str | None = None  # see `extraction/registry.py`


LOST = ""

THREADS = Table(
    "wyrd_threads",
    ("key",),
    ThreadRow,
    role="service",
    encrypted=("reason", "title"),
    checks={"status": ("idle", "interrupted", "error", "due", "done", "quiet", "unread")},
    indexes=(
        Index("wyrd_threads_user", "user_id, minute, key", "user_id IS NOT NULL"),
        Index("wyrd_threads_ttl", "key", "ttl IS NOT NULL"),
        Index("wyrd_threads_read_by", "read_by"),
    ),
)


class CheckpointRow(NamedTuple):
    thread: Key
    ns: str
    id: str
    parent: str | None
    stamp: int
    built_on: str | None
    built_stamp: int | None
    seq: int
    ts: str | None
    step: int | None
    source: str | None
    run_id: str | None
    root: str | None
    due: str | None
    sum: int
    events_sum: int
    metadata: str
    events: bytes | None
    delta: bytes


CHECKPOINTS = Table(
    "wyrd_checkpoints",
    ("thread", "ns", "id"),
    CheckpointRow,
    role="source",
    sums={
        "sum": (
            "thread", "ns", "id", "parent", "stamp", "built_on", "built_stamp", "ts", "step",
            "source", "run_id", "metadata", "delta",
        ),
        "events_sum": ("thread", "ns", "id", "stamp", "seq", "root", "due", "events"),
    },
    encrypted=("metadata", "events", "delta"),
    fed=("seq", "thread", "ns"),
    rowid=True,
    indexes=(
        Index("wyrd_checkpoints_root", "thread, root, ns, id", "root IS NOT NULL"),
        Index("wyrd_checkpoints_run", "run_id", "run_id IS NOT NULL"),
        # What lies between two ids, of whichever subgraph. The root's own are found by the key.
        Index("wyrd_checkpoints_inner", "thread, id", "ns <> ''"),
    ),
)  # fmt: skip


class WriteRow(NamedTuple):
    thread: Key
    ns: str
    checkpoint: str
    task: str
    seq: int
    path: str
    version: int | None
    sum: int
    events: bytes | None
    payload: bytes


WRITES = Table(
    "wyrd_writes",
    ("thread", "ns", "checkpoint", "task", "seq"),
    WriteRow,
    role="source",
    encrypted=("events", "payload"),
    fed=("version", "thread", "ns"),
    rowid=True,
)


SAID = (
    "todo", "context", "intention", "decision", "loop", "outcome", "resolved", "found", "thread",
)  # fmt: skip


class JournalRow(NamedTuple):
    thread: Key
    seq: int
    item: str
    kind: str
    ns: str
    said_at: str | None
    run_id: str | None
    author: str | None
    at: str
    sum: int
    body: bytes


JOURNAL = Table(
    "wyrd_journal",
    ("thread", "seq", "item"),
    JournalRow,
    role="source",
    encrypted=("body",),
    checks={"kind": SAID},
    fed=("seq", "thread", "item"),
    rowid=True,
)


class SnapshotRow(NamedTuple):
    thread: Key
    ns: str
    checkpoint: str
    channel: str
    stamp: int
    sum: int
    data: bytes
    state: bytes | None


SNAPSHOTS = Table(
    "wyrd_snapshots",
    ("thread", "ns", "checkpoint", "channel"),
    SnapshotRow,
    role="derived",
    encrypted=("data", "state"),
    rowid=True,
)


# ---- the public tables: the items of each thread's working state

_row: Any = NamedTuple  # mypy wants the fields of a named tuple spelled out
_SOURCE: dict[str, Any] = {
    "checkpoint": str, "ns": str, "node": str | None, "agent": str | None, "channel": str | None,
    "message_id": str | None, "task_id": str | None, "tool_call_id": str | None,
    "run_id": str | None, "rule": str | None, "author": str | None, "confidence": str,
}  # fmt: skip
_STILL = "closed_at IS NULL AND closed_in IS NULL"
_CLOSED = {"closed_at": Time | None, "closed_in": str | None, "outcome": str | None}


def _items(
    name: str,
    own: Mapping[str, Any],
    encrypted: Sequence[str],
    open: str = "",
    asks: str = "",
    more: Mapping[str, Any] | None = None,
    checks: Mapping[str, Sequence[str]] | None = None,
) -> Table:
    """A table of items: their `own` columns, and `more` behind those that say where each was read.

    Where it is listed there is an index of all items, one of those that are `open`, and one of
    those among them that wait for a person (`asks`).
    """
    columns = {
        "thread": Key, "thread_id": str, "id": str, **own, **_SOURCE, **(more or {}),
        "changed_in": str | None, "extra": Json | None,
    }  # fmt: skip
    order = "checkpoint, thread, id"
    indexes = [Index(f"{name}_all", order), Index(f"{name}_open", order, open)]
    if asks:
        indexes.append(Index(f"{name}_asks", order, f"{asks} AND {open}"))
    return Table(
        name,
        ("thread", "id"),
        _row("Row", [*columns.items()]),
        role="derived",
        encrypted=(*encrypted, "extra"),
        checks={"confidence": CONFIDENCE, **(checks or {})},
        indexes=tuple(indexes) if open else (),
    )


TODOS = _items(
    "wyrd_todos",
    {
        "place": int, "listed": bool, "content": str, "status": str, "priority": str,
        "tracker": str, "ref": str | None, "opened_at": Time | None, "changed_at": Time | None,
        "closed_at": Time | None,
    },
    encrypted=("content",),
    open="status NOT IN ('completed', 'cancelled')",
)  # fmt: skip

CONTEXT = _items(
    "wyrd_context",
    {
        "key": str, "value": Json | None, "metadata": Json | None, "opened_at": Time | None,
        "changed_at": Time | None,
    },
    encrypted=("value", "metadata"),
)  # fmt: skip

OPEN_LOOPS = _items(
    "wyrd_open_loops",
    {
        "kind": str, "description": str, "context": Json | None, "ref": str | None,
        "opened_at": Time | None, "changed_at": Time | None, **_CLOSED,
    },
    encrypted=("description", "context", "outcome"),
    open=_STILL,
    asks="kind IN ('interrupt', 'question')",
    more={"elsewhere": bool},  # declared on a branch that the thread has left
)  # fmt: skip

INTENTIONS = _items(
    "wyrd_intentions",
    {"text": str, "aim": str, "opened_at": Time | None, **_CLOSED},
    encrypted=("text", "outcome"),
    open=_STILL,
    checks={"aim": ("explicit", "request", "task")},
)

TodoRow, ContextRow, LoopRow, IntentionRow = (
    table.row for table in (TODOS, CONTEXT, OPEN_LOOPS, INTENTIONS)
)


# ---- the rest


class SearchRow(NamedTuple):
    thread: Key
    id: str  # of the text; "": the row that says how far the thread was read
    seq: int  # the thread's version up to which it was
    sum: int
    text: str


SEARCH = Table(
    "wyrd_search",
    ("thread", "id"),
    SearchRow,
    role="derived",
    rowid=True,
    indexes=(Index("wyrd_search_read", "thread, seq", "id = ''"),),
)


class LabelRow(NamedTuple):
    thread: Key
    name: str
    checkpoint: str
    seq: int
    created_at: str
    automatic: int
    sum: int
    kept: bytes


LABELS = Table(
    "wyrd_labels", ("thread", "name", "checkpoint"), LabelRow, role="source", encrypted=("kept",)
)


class UserRow(NamedTuple):
    user_id: str
    thread: Key
    name: str
    n: int
    updated: str
    sum: int
    data: bytes | None


USER_DATA = Table(
    "wyrd_user_data",
    ("user_id", "thread", "name", "n"),
    UserRow,
    role="source",
    encrypted=("data",),
    rowid=True,
    indexes=(Index("wyrd_user_data_thread", "thread, n"),),
)


class ParityRow(NamedTuple):
    thread: Key
    n: int
    name: str | None
    first: str
    last: str
    closed: str | None  # once it has all its members: `last`
    sum: int
    tags: bytes
    data: bytes


PARITY = Table(
    "wyrd_parity",
    ("thread", "n"),
    ParityRow,
    role="service",
    rowid=True,
    # A long thread has hundreds of groups, of which a load asks for the few of its checkpoint. What
    # is still filled changes with every write: no index has a column that changes then, so that
    # Postgres puts the new version beside the old one (HOT).
    indexes=(
        Index("wyrd_parity_open", "thread", "closed IS NULL"),
        Index("wyrd_parity_closed", "thread, closed", "closed IS NOT NULL"),
    ),
)


class HealRow(NamedTuple):
    thread: Key
    id: str
    ns: str
    checkpoint: str
    channel: str
    kind: str
    healed_at: str
    acknowledged_at: str | None
    what: str


HEALS = Table("wyrd_heals", ("thread", "id"), HealRow, role="service")


class LeaseRow(NamedTuple):
    thread: Key
    thread_id: str
    owner: str
    host: str
    place: str
    pid: int
    born: str
    since: float
    seen: float
    ended: str | None  # how a run ended that left something due; then nobody holds it
    head: str | None  # … and where


LEASES = Table("wyrd_leases", ("thread",), LeaseRow, role="service")


class KeyRow(NamedTuple):
    id: str
    proof: str
    since: str


KEYS = Table("wyrd_keys", ("id",), KeyRow, role="service")


class MigrationRow(NamedTuple):
    version: int
    name: str
    min_reader: int
    applied_at: str


MIGRATIONS = Table("wyrd_migrations", ("version",), MigrationRow, role="service")

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        MIGRATIONS, THREADS, CHECKPOINTS, WRITES, JOURNAL, SNAPSHOTS, TODOS, CONTEXT, OPEN_LOOPS,
        INTENTIONS, SEARCH, LABELS, USER_DATA, PARITY, HEALS, LEASES, KEYS,
    )
}  # fmt: skip


def made_again(text: str) -> str:
    """What to do about a missing table that a driver's error names, if a repair makes it again."""
    if any(table.role == "derived" and table.name in text for table in TABLES.values()):
        return "verify(repair=True) makes it again (in a terminal: langgraph-wyrd doctor --repair)"
    return ""
