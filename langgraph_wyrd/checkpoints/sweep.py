"""Retention: which checkpoints and threads go, and letting them go, a thread at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from langgraph_wyrd.checkpoints import delete, path
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.checkpoints.delete import Light, Place, checkpoints_of
from langgraph_wyrd.checkpoints.restore import metadata_at
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.retention import (
    Aged,
    Retention,
    Size,
    SizeReport,
    SweepReport,
    doomed,
    is_call,
    of_calls,
)
from langgraph_wyrd.storage.names import given, made_at
from langgraph_wyrd.storage.rows import delete as delete_rows
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, JOURNAL, TABLES, WRITES, Table

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


def gone(
    dialect: str, codec: Codec, thread: Thread, rule: Retention, every: Sequence[Light]
) -> Script[set[Place]]:
    """The checkpoints of a thread that a rule does not keep."""
    if not rule.by_checkpoint:
        return set()
    aged = [Aged(each.ns, each.id, each.ts) for each in every]
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
    going = doomed(rule, aged, labels, datetime.now(timezone.utc), starts)
    kept = yield from delete.Deletion(dialect, codec, thread, every).needed(going)
    if kept:  # they stay whole, with their subgraphs' calls
        kept |= of_calls(aged, kept, starts)
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
    if going and not rule.keep_decisions:
        rows = yield Query(_ENDED, (thread.key,))
        stays = {light.id for light in every if light.place not in going}
        ended = [(thread.key, item) for item, closed_in in rows if closed_in not in stays]
        if ended:
            yield Command(delete_rows(JOURNAL, "thread", "item"), ended)
    deletion = delete.Deletion(dialect, codec, thread, every)
    yield from deletion.drop(going, history=rule.keep_decisions)
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


_ENDED = (
    "SELECT id, closed_in FROM wyrd_open_loops WHERE thread = ? AND kind = 'decision' "
    "AND closed_in IS NOT NULL"
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
    """Whether a thread was idle for longer than its own time."""
    if isinstance(updated, str):
        updated = datetime.fromisoformat(updated)
    return (datetime.now(timezone.utc) - updated).total_seconds() > ttl


def set_ttl(dialect: str, thread_id: str, seconds: int | None) -> Script[bool]:
    """How long a thread may be idle; False: there is no such thread."""
    thread = yield from delete.lock(dialect, thread_id)
    if thread is None:
        return False
    yield Command("UPDATE wyrd_threads SET ttl = ? WHERE key = ?", [(seconds, thread.key)])
    return True


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
        for key, count, held in (
            yield Query(
                f"SELECT thread, count(*), sum({_bytes(table)}) FROM {table.name} GROUP BY thread"
            )
        ):
            size = by_thread.setdefault(key, {})[short] = Size(count, int(held or 0))
            tables[short] = tables.get(short, Size()) + size
        tables.setdefault(short, Size())
    tables["threads"] = Size(len(names), sum(map(len, names.values())))

    def weight(key: Any) -> int:
        return sum(size.bytes for size in by_thread[key].values())

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
