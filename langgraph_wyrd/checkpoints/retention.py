"""Retention: the rules for what is kept of threads, and deleting the rest, a thread at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta, timezone
from operator import add
from typing import Any, Literal

from langgraph_wyrd.checkpoints import delete, path
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.checkpoints.delete import Light, Place, checkpoints_of
from langgraph_wyrd.checkpoints.points import known
from langgraph_wyrd.checkpoints.restore import metadata_at
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.wording import count
from langgraph_wyrd.storage.names import given, made_at
from langgraph_wyrd.storage.rows import delete as delete_rows
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, TABLES, WRITES, Table
from langgraph_wyrd.views.text import size

_LATE = timedelta(hours=1)  # a checkpoint that has not come by then does not come

_STRAYS = (
    "SELECT DISTINCT w.ns, w.checkpoint FROM wyrd_writes w WHERE w.thread = ? AND NOT EXISTS "
    "(SELECT 1 FROM wyrd_checkpoints c WHERE c.thread = w.thread AND c.ns = w.ns "
    "AND c.id = w.checkpoint)"
)
# The range stands in it twice: Postgres does not carry it over from one table to the other, and
# would read all checkpoints for each range.
_WITH_STRAYS = (
    "SELECT DISTINCT w.thread FROM wyrd_writes w WHERE w.thread BETWEEN ? AND ? AND NOT EXISTS "
    "(SELECT 1 FROM wyrd_checkpoints c WHERE c.thread BETWEEN ? AND ? AND c.thread = w.thread "
    "AND c.ns = w.ns AND c.id = w.checkpoint)"
)
_SPACES = "SELECT thread FROM wyrd_checkpoints WHERE thread BETWEEN ? AND ? GROUP BY thread, ns"
_IDLE = (
    "SELECT thread_id FROM wyrd_threads WHERE deleted_at IS NULL AND ttl IS NULL AND updated < ? "
    "AND minute <= substr(?, 1, 16) ORDER BY minute, updated LIMIT ?"
)
_OWN = (
    "SELECT thread_id, updated, ttl FROM wyrd_threads WHERE ttl IS NOT NULL "
    "AND deleted_at IS NULL ORDER BY key"
)
_OLD_TOMBSTONES = "SELECT key FROM wyrd_threads WHERE deleted_at < ? LIMIT ?"
_ALIVE = "SELECT count(*) FROM wyrd_threads WHERE deleted_at IS NULL"
_PAGE = "SELECT key, thread_id FROM wyrd_threads WHERE deleted_at IS NULL{} ORDER BY key LIMIT ?"


# ---- the rules


@dataclass(frozen=True)
class Retention:
    """Which checkpoints and threads are kept.

    ```python
    Retention(keep_last=50, max_age=timedelta(days=30), thread_ttl=timedelta(days=365))
    ```

    A checkpoint goes if any rule says so. The newest of a thread always stays, so a thread can
    always go on; and so does what a kept one's delta channels are rebuilt from. Decisions with
    their rationale and outcome, and what failed, stay listed until their thread goes.

    Attributes:
        keep_last: So many of a thread's newest checkpoints stay.
        max_age: Checkpoints older than that go.
        thread_ttl: Threads that nobody wrote to for that long go altogether. One that has a time of
            its own (`thread.set_ttl`) goes by that, whatever stands here.
        keep_labels: Labelled checkpoints stay, and so do threads that have some. "manual", or True:
            those that a person or a program labelled; "all": those that `AutoLabels` labelled, too.
        forget_after: So long is known which threads were deleted, so that what their runs still
            send is refused. None: for ever.
    """

    keep_last: int | None = None
    max_age: timedelta | None = None
    thread_ttl: timedelta | None = None
    keep_labels: bool | Literal["manual", "all"] = True
    forget_after: timedelta | None = timedelta(days=30)

    def __post_init__(self) -> None:
        if self.keep_last is not None and (type(self.keep_last) is not int or self.keep_last < 1):
            raise InvalidInput(f"keep_last={self.keep_last!r}: use a whole number, 1 or more")
        if self.keep_labels not in (True, False, "manual", "all"):
            raise InvalidInput(
                f'keep_labels={self.keep_labels!r}: use "manual" (or True), "all", or False'
            )
        for name in ("max_age", "thread_ttl", "forget_after"):
            age = getattr(self, name)
            if age is not None and not (isinstance(age, timedelta) and age > timedelta()):
                raise InvalidInput(f"{name}={age!r}: use a timedelta above zero")

    @property
    def by_checkpoint(self) -> bool:
        """Whether it looks at checkpoints, not only at whole threads."""
        return self.keep_last is not None or self.max_age is not None


Starts = Mapping[str, Place]  # of a subgraph's call: the checkpoint that it started from


def doomed(
    rule: Retention, rows: Sequence[Light], labels: set[Place], now: datetime, starts: Starts
) -> set[Place]:
    """The checkpoints of a thread that a rule lets go.

    A subgraph that lives on has checkpoints that count by themselves. What a subgraph's call left
    goes with the checkpoint that the call started from.
    """
    gone: set[Place] = set()
    for ns, held in _spaces(rows).items():
        if not is_call(ns):
            _, *others = sorted(held, key=lambda row: row.id, reverse=True)
            for place, row in enumerate(others, 1):
                many = rule.keep_last is not None and place >= rule.keep_last
                old = rule.max_age is not None and is_before(row.ts, now - rule.max_age)
                if (many or old) and row.place not in labels:
                    gone.add(row.place)
    return gone | of_calls(rows, gone, starts)


def of_calls(rows: Sequence[Light], keys: set[Place], starts: Starts) -> set[Place]:
    """What the calls left that started from these checkpoints, and the calls within them."""
    found: set[Place] = set()
    spaces = _spaces(rows)
    for ns in sorted(filter(is_call, spaces)):  # outer ones first
        start = starts.get(ns)
        if start in keys or start in found:
            found |= {row.place for row in spaces[ns]}
    return found


def is_call(ns: str) -> bool:
    """Whether a namespace is of one call of a subgraph, whose task's id stands behind a colon, or
    within one."""
    return ":" in ns


def _spaces(rows: Iterable[Light]) -> dict[str, list[Light]]:
    spaces: dict[str, list[Light]] = {}
    for row in rows:
        spaces.setdefault(row.ns, []).append(row)
    return spaces


def is_before(ts: str | None, moment: datetime) -> bool:
    """Whether a checkpoint's time is known and earlier."""
    try:
        return ts is not None and datetime.fromisoformat(ts) < moment
    except (ValueError, TypeError):
        return False


# ---- what they found


@dataclass(frozen=True)
class SweepReport:
    """What a sweep deleted, or would delete."""

    dry_run: bool = False
    threads: int = 0  # whole threads
    checkpoints: int = 0  # with those of whole threads
    writes: int = 0
    events: int = 0
    bytes: int = 0  # that their rows hold, at least
    orphans: int = 0  # checkpoints that are not there, but had rows
    tombstones: int = 0
    left: tuple[str, ...] = ()  # damaged threads, which were not touched

    def __add__(self, other: SweepReport) -> SweepReport:
        _, *sums = map(add, astuple(self), astuple(other))
        return SweepReport(self.dry_run, *sums)

    def __str__(self) -> str:
        verb = "would go" if self.dry_run else "are gone"
        text = (
            f"{count(self.checkpoints, 'checkpoint')} ({count(self.threads, 'whole thread')}) "
            f"{verb}, with {count(self.writes, 'write')}: {size(self.bytes)} or more"
        )
        left = count(len(self.left), "damaged thread")
        return f"{text}; {left} left alone" if self.left else text


@dataclass(frozen=True)
class Size:
    """Rows, and the bytes of what they hold."""

    rows: int = 0
    bytes: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.rows + other.rows, self.bytes + other.bytes)


@dataclass(frozen=True)
class SizeReport:
    """Where the bytes of a database are."""

    on_disk: int  # all of it; of SQLite the main file, other programs' tables with it
    free: int | None  # of that, unused (SQLite)
    tables: dict[str, Size]
    threads: dict[str, dict[str, Size]]  # by table; the largest threads first

    def __str__(self) -> str:
        lines = [f"{size(self.on_disk)} on disk"]
        lines += [
            f"{name}: {count(each.rows, 'row')}, {size(each.bytes)}"
            for name, each in self.tables.items()
            if each.rows
        ]
        for id, sizes in self.threads.items():
            whole = sum(sizes.values(), Size())
            lines.append(f"thread {id!r}: {count(whole.rows, 'row')}, {size(whole.bytes)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from langgraph_wyrd.views.html import framed, tag
        from langgraph_wyrd.views.html import table as html_table

        rows = [(name, f"{each.rows:,}", size(each.bytes)) for name, each in self.tables.items()]
        for id, sizes in self.threads.items():
            whole = sum(sizes.values(), Size())
            rows.append((f"thread {id}", f"{whole.rows:,}", size(whole.bytes)))
        head = tag("span", f"{size(self.on_disk)} on disk", class_="w-name")
        return framed(tag("div", head, class_="w-head"), html_table(("", "#rows", "#size"), rows))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


# ---- checkpoints


def gone(
    dialect: str, codec: Codec, thread: Thread, rule: Retention, every: Sequence[Light]
) -> Script[set[Place]]:
    """The checkpoints of a thread that a rule does not keep."""
    if not rule.by_checkpoint:
        return set()
    labels: set[Place] = set()
    if rule.keep_labels:
        automatic = rule.keep_labels == "all"
        labels = {
            each.place for each in (yield from delete.labelled(thread, every, automatic=automatic))
        }
    starts: dict[str, Place] = {}
    for head in {each.ns: each for each in every if is_call(each.ns)}.values():
        found = yield from path.find(dialect, thread.thread_id, head.ns, head.id, writes=False)
        started = delete.start_of(head.ns, metadata_at(codec, found.path[0]))
        if started is not None:
            starts[head.ns] = started
    going = doomed(rule, every, labels, datetime.now(timezone.utc), starts)
    kept = yield from delete.Deletion(dialect, codec, thread, every).needed(going)
    if kept:  # they stay whole, with their subgraphs' calls
        kept |= of_calls(every, kept, starts)
    return going - kept


def keep_latest(dialect: str, codec: Codec, thread_id: str) -> Script[int]:
    """Keep the latest checkpoint of each namespace, and what its delta channels are rebuilt from.

    The namespace of a subgraph's call (a task id behind a colon) goes with the checkpoint that the
    call started from: one of the root, or of a subgraph that lives on. What has a label stays, with
    what its subgraphs remembered by then.
    """
    thread = yield from delete.lock(dialect, thread_id)
    if thread is None:
        return 0
    every = yield from checkpoints_of(thread)
    rule = Retention(keep_last=1, keep_labels="all")
    going = yield from gone(dialect, codec, thread, rule, every)
    newest = {each.ns: each.id for each in every}  # ordered by id: the last one stands
    going |= {each.place for each in every if is_call(each.ns) and each.id != newest[each.ns]}
    deletion = delete.Deletion(dialect, codec, thread, every)
    going -= yield from deletion.needed(going)
    yield from deletion.drop(going)
    return len(going)


def strays(thread: Thread, every: Sequence[Light]) -> Script[list[Place]]:
    """Checkpoints that are not there, but have task writes, and will not come any more."""
    rows = yield Query(_STRAYS, (thread.key,))
    end = made_at(max((each.id for each in every), default=None))
    if end is None:
        return []
    made = {(ns, id): made_at(id) for ns, id in rows}
    return sorted(place for place, at in made.items() if at is not None and at < end - _LATE)


def swept(
    dialect: str, codec: Codec, thread_id: str, rule: Retention, *, dry_run: bool
) -> Script[SweepReport]:
    """Let go what a rule does not keep of a thread; or say what that would be."""
    look = delete.there if dry_run else delete.lock
    thread = yield from look(dialect, thread_id)
    if thread is None:
        return SweepReport()
    every = yield from checkpoints_of(thread)
    over = yield from strays(thread, every)
    going = yield from gone(dialect, codec, thread, rule, every)
    if not going and not over:
        return SweepReport()
    report = yield from _weighed(thread, going, over)
    if dry_run:
        return report
    if over:
        yield Command(
            delete_rows(WRITES, "thread", "ns", "checkpoint"),
            [(thread.key, *place) for place in over],
        )
    deletion = delete.Deletion(dialect, codec, thread, every)
    yield from deletion.drop(going, history=True)
    return report


def _weighed(
    thread: Thread, going: set[Place] | None, over: Sequence[Place] = ()
) -> Script[SweepReport]:
    """Rows and bytes of some checkpoints (None: of all)."""
    held, some = [], None if going is None else {*going, *over}
    for table, at, payload in (
        (CHECKPOINTS, "id", "delta"), (WRITES, "checkpoint", "payload"),
    ):  # fmt: skip
        rows = yield Query(
            f"SELECT ns, {at}, length({payload}) + coalesce(length(events), 0), "
            f"events IS NOT NULL FROM {table.name} WHERE thread = ?",
            (thread.key,),
        )
        held.append([row for row in rows if some is None or (row[0], row[1]) in some])
    checkpoints, writes = held
    return SweepReport(
        checkpoints=len(checkpoints),
        writes=len(writes),
        events=sum(bool(row[3]) for row in (*checkpoints, *writes)),
        bytes=sum(row[2] for row in (*checkpoints, *writes)),
        orphans=len(over),
    )


def _still_idle(thread: Thread, rule: Retention) -> Script[bool]:
    rows = yield Query("SELECT updated, ttl FROM wyrd_threads WHERE key = ?", (thread.key,))
    ((updated, ttl),) = rows
    if ttl is None and rule.thread_ttl is not None:
        ttl = rule.thread_ttl.total_seconds()
    return ttl is not None and _is_over(updated, ttl)


def before(age: timedelta) -> str:
    """The moment so long ago."""
    return (datetime.now(timezone.utc) - age).isoformat()


# ---- whole threads


def alive() -> Script[int]:
    """How many threads there are."""
    rows = yield Query(_ALIVE)
    return int(rows[0][0])


def page(after: Any, size: int) -> Script[list[tuple[Any, str]]]:
    """The next threads, by their keys."""
    behind, params = ("", ()) if after is None else (" AND key > ?", (after,))
    rows = yield Query(_PAGE.format(behind), (*params, size))
    return [(key, id) for key, id in rows]


def worth(rule: Retention, first: Any, last: Any) -> Script[set[Any]]:
    """The keys of threads, from the first to the last, of which checkpoints or stray writes may
    have to go. Of most nothing does, and they need not be read one by one."""
    limits: dict[str, Any] = {}
    if rule.keep_last is not None:
        limits["count(*) > ?"] = rule.keep_last
    if rule.max_age is not None:  # times may be of any zone: a day more holds them all
        until = datetime.now(timezone.utc) - rule.max_age + timedelta(days=1)
        limits["min(substr(ts, 1, 10)) <= ?"] = until.date().isoformat()
    queries = [Query(_WITH_STRAYS, (first, last, first, last))]
    if limits:
        sql = f"{_SPACES} HAVING {' OR '.join(limits)}"
        queries.append(Query(sql, (first, last, *limits.values())))
    answers = yield queries
    return {key for rows in answers for (key,) in rows}


def idle_threads(rule: Retention, limit: int) -> Script[list[str]]:
    """Threads that nobody wrote to for longer than the rule allows, the oldest first."""
    own = yield Query(_OWN)
    found = [id for id, updated, ttl in own if _is_over(updated, ttl)]
    if rule.thread_ttl is not None:
        moment = before(rule.thread_ttl)
        rows = yield Query(_IDLE, (moment, moment, limit))
        found += [row[0] for row in rows]
    return found[:limit]


def _is_over(updated: str | datetime, ttl: int) -> bool:
    """Whether a thread was idle for longer than its own time; not where a damaged row tells no
    time."""
    try:
        at = datetime.fromisoformat(updated) if isinstance(updated, str) else updated
        return (datetime.now(timezone.utc) - at).total_seconds() > ttl
    except (TypeError, ValueError):
        return False


def set_ttl(dialect: str, thread_id: str, seconds: int | None) -> Script[bool]:
    """How long a thread may be idle; False: there is no such thread."""
    thread = yield from delete.lock(dialect, thread_id)
    if thread is None:
        return False
    yield Command("UPDATE wyrd_threads SET ttl = ? WHERE key = ?", [(seconds, thread.key)])
    return True


def ttl(dialect: str, codec: Codec, thread_id: str) -> Script[timedelta | None]:
    """How long a thread may be idle, by its own `set_ttl`; None: it has none."""
    thread = yield from known(dialect, thread_id)
    ((seconds,),) = yield Query("SELECT ttl FROM wyrd_threads WHERE key = ?", (thread.key,))
    return timedelta(seconds=seconds) if isinstance(seconds, int) else None


def expire(
    dialect: str, thread_id: str, rule: Retention, *, dry_run: bool = False
) -> Script[SweepReport]:
    """Delete a thread that is still idle, unless a label keeps it."""
    thread = yield from delete.there(dialect, thread_id)
    if thread is None or not (yield from _still_idle(thread, rule)):
        return SweepReport()
    every = yield from checkpoints_of(thread)
    if rule.keep_labels:
        kept = yield from delete.labelled(thread, every, automatic=rule.keep_labels == "all")
        if kept:
            return SweepReport()
    report = yield from _weighed(thread, None)
    if not dry_run:
        yield from delete.delete_thread(dialect, thread_id)
    return replace(report, threads=1)


def forget_tombstones(age: timedelta, *, dry_run: bool = False) -> Script[int]:
    """Forget threads that were deleted long ago. Late writes of theirs are not refused then."""
    rows = yield Query(_OLD_TOMBSTONES, (before(age), 1 << 31))
    if rows and not dry_run:
        yield Command(
            "DELETE FROM wyrd_threads WHERE key = ? AND deleted_at IS NOT NULL",
            [(row[0],) for row in rows],
        )
    return len(rows)


# ---- space


def sizes(dialect: str, limit: int) -> Script[SizeReport]:
    """Rows and bytes by table, and of the largest threads."""
    on_disk, free = yield from _on_disk(dialect)
    names: dict[Any, str] = dict((yield Query("SELECT key, thread_id FROM wyrd_threads")))
    tables: dict[str, Size] = {}
    by_thread: dict[Any, dict[str, Size]] = {}
    for table in TABLES.values():
        if "thread" not in table.names:
            continue
        short = table.name.removeprefix("wyrd_")
        for key, rows, held in (
            yield Query(
                f"SELECT thread, count(*), sum({_bytes(table)}) FROM {table.name} GROUP BY thread"
            )
        ):
            held_by = by_thread.setdefault(key, {})[short] = Size(rows, int(held or 0))
            tables[short] = tables.get(short, Size()) + held_by
        tables.setdefault(short, Size())
    tables["threads"] = Size(len(names), sum(map(len, names.values())))

    def weight(key: Any) -> int:
        return sum(each.bytes for each in by_thread[key].values())

    largest = sorted(by_thread, key=weight, reverse=True)[:limit]
    threads = {given(names[key]): by_thread[key] for key in largest if key in names}
    return SizeReport(on_disk, free, tables, threads)


def _bytes(table: Table) -> str:
    """The bytes of a row, about: what its texts and payloads take."""
    held = [
        f"coalesce(length(CAST({column.name} AS TEXT)), 0)"
        if column.kind == "json"
        else f"coalesce(length({column.name}), 0)"
        for column in table.columns
        if column.kind in ("text", "bytes", "json")
    ]
    return " + ".join(held) or "0"


def give_back() -> Script[bool]:
    """Give some of an SQLite file's unused pages back to the file system; whether there are more.

    Files that were not made for it (`auto_vacuum`) keep what is free, and use it again.
    """
    before = (yield Query("PRAGMA freelist_count"))[0][0]
    if before:
        yield Query("PRAGMA incremental_vacuum(500)")
    left = (yield Query("PRAGMA freelist_count"))[0][0]
    return bool(0 < left < before)


def _on_disk(dialect: str) -> Script[tuple[int, int | None]]:
    if dialect == "sqlite":
        pages, free, size = yield [
            Query("PRAGMA page_count"), Query("PRAGMA freelist_count"), Query("PRAGMA page_size"),
        ]  # fmt: skip
        return pages[0][0] * size[0][0], free[0][0] * size[0][0]
    rows = yield Query("SELECT pg_database_size(current_database())")
    return int(rows[0][0]), None
