"""The feed: what happened across threads, in commit order, nothing skipped or told twice.

Three tables hold events. On SQLite a row's number tells the order in which rows of a table were
committed; where rows at the end were deleted, their numbers come again, so a trigger notes up to
where the rows are that were there before. On Postgres the order is that of (transaction, version
of the thread), and only what is older than every running transaction is read. Between tables, what
was committed at the same time (SQLite: the same millisecond) is ordered by the threads' versions.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from langgraph_wyrd import filters
from langgraph_wyrd.checkpoints import states, working
from langgraph_wyrd.codec.payload import unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.state.results import FeedEvent, Page
from langgraph_wyrd.storage.keys import found_by
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import unsound
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, JOURNAL, WRITES, Table

_READ = 500  # rows of a table that are read in one go
_OPS = {
    "todo": ("open", "change", "close"),
    "context": ("open", "change", "drop"),
    "loop": ("open", "change", "close"),
    "intention": ("open", "change", "close"),
    "thread": ("change", "base", "failed", "fork"),
}
KINDS = (*_OPS, *(f"{pillar}.{op}" for pillar, ops in _OPS.items() for op in ops))

# On Postgres: what no transaction that is still running can come before.
_SETTLED = "committed < pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
NOW = "now"  # as a cursor: behind all that there is

Key = tuple[Any, ...]


class Source(NamedTuple):
    """A table that holds events."""

    table: Table
    version: str  # the column that holds the thread's version
    payload: str  # the column that holds events
    read: Callable[[Codec, str, Any], list[FeedEvent]]

    def order(self, dialect: str) -> tuple[str, ...]:
        """The columns that order its rows."""
        return ("committed", *self.table.fed) if dialect == "postgres" else ("row",)


class Cursor(NamedTuple):
    """Where a page ends: of each table, the last row, and how many events of it were told
    (None: all of them); on SQLite, which notes of deleted rows were seen."""

    places: dict[str, tuple[Key, int | None]]
    floors: int = 0

    def text(self) -> str:
        held = {
            name: [[part.hex() if isinstance(part, bytes) else part for part in key], told]
            for name, (key, told) in self.places.items()
        }
        return filters.cursor("events", [held, self.floors])


def cursor_of(dialect: str, text: str | None) -> Cursor:
    """The cursor of such text; None: before the first event."""
    if text is None:
        return Cursor({})
    try:
        held, floors = filters.held_by(text, "events")
        places = {}
        for table, (key, told) in held.items():
            if table not in SOURCES or type(told) not in (int, type(None)):
                raise ValueError
            places[table] = (_key(dialect, key), told)
        if type(floors) is not int:
            raise ValueError
    except (TypeError, ValueError, AttributeError, RecursionError):
        raise InvalidInput(f"since={text!r}: use the `next` of a page of events()") from None
    return Cursor(places, floors)


def _key(dialect: str, key: Sequence[Any]) -> Key:
    types = (int, int, str, str) if dialect == "postgres" else (int,)
    if tuple(map(type, key)) != types:
        raise ValueError
    return tuple(bytes.fromhex(part) if at == 2 else part for at, part in enumerate(key))


class Asked(NamedTuple):
    """What is asked for."""

    limit: int
    since: str | None = None
    kinds: frozenset[str] | None = None
    thread_ids: Sequence[str] | None = None  # in stored form
    authors: Sequence[str] | None = None
    user: str | None = None  # of this user's threads only

    def wants(self, event: FeedEvent) -> bool:
        if self.kinds is not None and not {event.kind, event.kind.split(".")[0]} & self.kinds:
            return False
        return self.authors is None or event.author in self.authors


def page(dialect: str, codec: Codec, asked: Asked) -> Script[Page[FeedEvent]]:
    """The next events, and where to go on from them: also if there are no more yet."""
    if asked.since == NOW:
        return Page((), (yield from _end(dialect)).text())
    cursor = cursor_of(dialect, asked.since)
    places, floors = dict(cursor.places), cursor.floors
    threads: dict[Any, str] = {}
    keys: list[Any] | None = None
    if dialect != "postgres":
        floors = yield from _lowered(places, floors)
    if asked.thread_ids is not None:
        keys = yield from _keys(dialect, asked.thread_ids)
    found: list[FeedEvent] = []
    while True:
        answers = yield [
            _query(dialect, source, places.get(name), keys, asked.user)
            for name, source in SOURCES.items()
        ]
        streams = [
            [_Row(name, dialect, row) for row in rows]
            for name, rows in zip(SOURCES, answers, strict=True)
        ]
        ends = [len(rows) == _READ for rows in answers]
        yield from _named(threads, (row.thread for rows in streams for row in rows))
        # Where a table has more rows, nothing behind its last one may be told yet.
        bound = min(
            (rows[-1].place for rows, more in zip(streams, ends, strict=True) if more),
            default=None,
        )
        for row in heapq.merge(*streams, key=lambda row: row.place):
            if bound is not None and row.place > bound:
                break
            events = row.events(codec, threads.get(row.thread, ""))
            known = places.get(row.source)
            skip = known[1] or 0 if known is not None and known[0] == row.key else 0
            for at, event in enumerate(events):
                if at < skip or not asked.wants(event):
                    continue
                if len(found) == asked.limit:
                    places[row.source] = (row.key, at)
                    return Page(found, Cursor(places, floors).text())
                found.append(event)
            places[row.source] = (row.key, None)
        if not any(ends):
            return Page(found, Cursor(places, floors).text())


def _end(dialect: str) -> Script[Cursor]:
    """The cursor behind the last event."""
    floors = 0
    if dialect != "postgres":
        ((floors,),) = yield Query("SELECT coalesce(max(id), 0) FROM wyrd_floors")
    answers = []
    for source in SOURCES.values():
        columns, settled = source.order(dialect), ""
        if dialect == "postgres":
            settled = f" WHERE {source.payload} IS NOT NULL AND {_SETTLED}"
        answers.append(
            (
                yield Query(
                    f"SELECT {', '.join(columns)} FROM {source.table.name}{settled} "
                    f"ORDER BY {' DESC, '.join(columns)} DESC LIMIT 1"
                )
            )
        )
    ends = zip(SOURCES, answers, strict=True)
    return Cursor({name: (tuple(rows[0]), None) for name, rows in ends if rows}, floors)


def _lowered(places: dict[str, tuple[Key, int | None]], floors: int) -> Script[int]:
    """Go back to where the rows are that were there before others were deleted at the end."""
    rows = yield Query("SELECT id, source, floor FROM wyrd_floors WHERE id > ?", (floors,))
    for id, source, floor in rows:
        floors = max(floors, id)
        known = places.get(source)
        if known is not None and known[0][0] > floor:
            places[source] = ((floor,), None)
    return floors


def _keys(dialect: str, thread_ids: Sequence[str]) -> Script[list[Any]]:
    if dialect == "postgres":
        return [found_by(dialect, id) for id in thread_ids]
    marks = ", ".join("?" * len(thread_ids))
    rows = yield Query(
        f"SELECT key FROM wyrd_threads WHERE thread_id IN ({marks})", tuple(thread_ids)
    )
    return [row[0] for row in rows]


def _named(threads: dict[Any, str], keys: Iterator[Any]) -> Script[None]:
    """Learn the ids of threads."""
    wanted = [*(set(keys) - threads.keys())]  # one that is damaged may be of any type
    for start in range(0, len(wanted), _READ):
        some = wanted[start : start + _READ]
        marks = ", ".join("?" * len(some))
        rows = yield Query(f"SELECT key, thread_id FROM wyrd_threads WHERE key IN ({marks})", some)
        threads.update((key, given(name)) for key, name in rows)


def _query(
    dialect: str, source: Source, place: tuple[Key, int | None] | None, keys: list[Any] | None,
    user: str | None,
) -> Query:  # fmt: skip
    columns = source.order(dialect)
    conditions = [f"{source.payload} IS NOT NULL"]
    params: list[Any] = []
    if dialect == "postgres":
        conditions.append(_SETTLED)
    if place is not None:
        key, told = place
        sign = ">" if told is None else ">="
        conditions.append(f"({', '.join(columns)}) {sign} ({', '.join('?' * len(key))})")
        params += key
    if keys is not None:
        conditions.append(f"thread IN ({', '.join('?' * len(keys)) or 'NULL'})")
        params += keys
    if user is not None:
        conditions.append("thread IN (SELECT key FROM wyrd_threads WHERE user_id = ?)")
        params.append(user)
    row = "0" if dialect == "postgres" else "row"
    return Query(
        f"SELECT committed, {row}, {', '.join(source.table.names)} FROM {source.table.name} "
        f"WHERE {' AND '.join(conditions)} ORDER BY {', '.join(columns)} LIMIT {_READ}",
        params,
    )


class _Row:
    """A row with events: its key in its table, and its place among the rows of all tables."""

    __slots__ = ("key", "place", "row", "source", "thread")

    def __init__(self, source: str, dialect: str, held: Sequence[Any]) -> None:
        about = SOURCES[source]
        committed, number, *own = held
        self.source = source
        self.row = about.table.row._make(own)
        self.thread = self.row.thread
        self.key: Key = (number,)
        order = [getattr(self.row, about.version) or 0, self.thread]
        if dialect == "postgres":
            self.key = (committed, *(getattr(self.row, name) for name in about.table.fed))
        else:  # where a damaged row may hold anything
            order = [each if type(each) is int else 0 for each in order]
        self.place = (committed, *order, source, self.key)

    def events(self, codec: Codec, thread_id: str) -> list[FeedEvent]:
        """Its events; a damaged row has none that can be told."""
        about = SOURCES[self.source]
        return [] if unsound(about.table, self.row) else about.read(codec, thread_id, self.row)


# ---- the tables


def _of_checkpoint(codec: Codec, thread_id: str, row: Any) -> list[FeedEvent]:
    at, own, tasks = states.events_at(codec, row)
    run_id = None if row.run_id is None else given(row.run_id)
    return [
        *(_event(thread_id, at, event, run_id=run_id) for event in own),
        *(_event(thread_id, at, event, run_id=run_id, task_id=moment.task)
          for moment, events in tasks for event in events),
    ]  # fmt: skip


def _of_writes(codec: Codec, thread_id: str, row: Any) -> list[FeedEvent]:
    ts = datetime.fromtimestamp(row.seq / 1e9, timezone.utc).isoformat()
    at = Moment(given(row.checkpoint), given(row.ns), ts)
    task = given(row.task)
    events = working.events_of(codec.opened(WRITES, row, "events"))
    return [_event(thread_id, at, event, task_id=task) for event in events]


def _of_journal(codec: Codec, thread_id: str, row: Any) -> list[FeedEvent]:
    body = unpacked(codec.opened(JOURNAL, row, "body"))
    if body.get("read"):  # its checkpoint's events say it as well
        return []
    where = "" if row.said_at is None else given(row.said_at)
    at = Moment(where, given(row.ns), row.at)
    return [
        _event(
            thread_id, at, Event.from_dict(event), declared=True,
            run_id=None if row.run_id is None else given(row.run_id),
        )
        for _, event in body["events"]
    ]  # fmt: skip


def _event(thread_id: str, at: Moment, event: Event, **more: Any) -> FeedEvent:
    return FeedEvent(
        thread_id, f"{event.pillar}.{event.op}", event.item, at.ts, at.checkpoint_id or None,
        at.ns, event.body, event.source, author=event.source.get("author"), **more,
    )  # fmt: skip


SOURCES = {
    "checkpoints": Source(CHECKPOINTS, "seq", "events", _of_checkpoint),
    "writes": Source(WRITES, "version", "events", _of_writes),
    "journal": Source(JOURNAL, "seq", "body", _of_journal),
}
