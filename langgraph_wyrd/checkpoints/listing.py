"""Listings across threads: pages of the public tables, and their rows as models.

What is open is found by an index, newest first, and all there is by another; filters only narrow
what an index gives, and a page is read until it is full.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from langgraph_wyrd import filters
from langgraph_wyrd.checkpoints import leases
from langgraph_wyrd.checkpoints.missing import LOST_REASON
from langgraph_wyrd.checkpoints.projection import due_of
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    OpenLoop,
    Source,
    Todo,
)
from langgraph_wyrd.state.results import Page, ThreadInfo
from langgraph_wyrd.storage.keys import thread_key
from langgraph_wyrd.storage.names import given, made_at, stored
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import (
    CONTEXT,
    INTENTIONS,
    LOST,
    OPEN_LOOPS,
    THREADS,
    TODOS,
    Key,
    Table,
    ThreadRow,
)

logger = logging.getLogger("langgraph_wyrd")

T = TypeVar("T")
Values = Sequence[str] | None
Condition = tuple[str, tuple[Any, ...]]  # SQL, and its parameters
DONE_TODOS = ("cancelled", "completed")  # any other status is open, also one that is not known

_MOST_READ = 1000  # rows in one go, where text has to be looked at here
_FEW_THREADS = 200  # so many are looked up one by one; a user with more is met along the index


_ASKS = {"interrupt", "question"}


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A table to list, and what its rows become."""

    name: str
    table: Table
    filters: type  # that it takes
    make: Callable[[Any], T]
    text: tuple[str, ...]  # the columns, and fields, that `text=` looks into
    open: str  # the condition for what is not over, which has an index
    order: tuple[str, ...] = ("checkpoint", "thread", "id")

    def shown(self, codec: Codec, row: Any) -> T:
        """What a row becomes; a text that can't be opened says so."""
        return self.make(row if codec.sealer is None else codec.sealer.shown(self.table, row))


def _stored_statuses(words: Values) -> Values:
    """Under which statuses the threads may be stored that have one of these."""
    if words is None:
        return None
    held = {"due" if each in leases.LEFT else each for each in words}
    return sorted(held | ({"due"} if "error" in held else set()))


class Asked(NamedTuple):
    """A listing with its filters, as they are stored: conditions that its rows meet."""

    listing: Listing[Any]
    limit: int
    after: str | None
    conditions: list[Condition]
    thread_ids: Values = None
    user_ids: Values = None
    text: str | None = None
    said: frozenset[Key] = frozenset()  # threads with a message that says the text
    nothing: bool = False  # one of the filters allows no value at all
    statuses: Values = None  # of threads, as leases tell them
    covered: Callable[[str | None], bool] | None = None  # whether a `read_by` says enough
    held: Values = None  # under which statuses such threads are stored


def asked(
    listing: Listing[Any], given: Mapping[str, Any], *, limit: int, after: str | None,
    encrypted: bool, method: str = "",
) -> Asked:  # fmt: skip
    """What is asked for, checked; raises InvalidInput for a filter that can't be used."""
    wanted = filters.checked(listing.filters, given, method or listing.name)
    text, status = wanted["text"], wanted.get("status")
    if text is not None and encrypted:
        raise InvalidInput(
            "text= can't be searched for: this store is sealed, its texts are encrypted. Use the "
            "other filters, and look at what they find"
        )
    nothing = () in wanted.values()
    conditions = [] if nothing else _standing(listing, status)
    if (kinds := wanted.get("kind")) and {*kinds} <= _ASKS:
        # In the words of their index, which is short where the table is long.
        conditions.append(("i.kind IN ('interrupt', 'question')", ()))
    if "confidence" in wanted and given.get("confidence") is None:
        conditions.append(("i.confidence <> 'heuristic'", ()))
    for name, each in filters.declared(listing.filters).items():
        if each.sql and (value := wanted[name]):
            conditions.append(_among(each.sql, (value,) if isinstance(value, str) else value))
    if wanted.get("branch", ("any",)) != ("any",):
        here = wanted["branch"] == ("head",)
        conditions.append(("NOT i.elsewhere" if here else "i.elsewhere", ()))
    if text is not None:
        like = " OR ".join(f"lower(i.{name}) LIKE ? ESCAPE '!'" for name in listing.text)
        params = (filters.like(text),) * len(listing.text)
        conditions.append((f"CASE WHEN {like} THEN TRUE ELSE FALSE END", params))
    words = status if listing is LIST_THREADS else None
    return Asked(
        listing, filters.count(limit), after, conditions, wanted.get("thread_id"),
        wanted["user_id"], text, nothing=nothing, statuses=words, held=_stored_statuses(words),
    )  # fmt: skip


def also(dialect: str, asked: Asked, keys: set[Key]) -> Asked:
    """The same with threads that say the text in a message."""
    *others, (sql, params) = asked.conditions  # the last one is that of the text
    one_of = "= ANY(?)" if dialect == "postgres" else "IN (SELECT value FROM json_each(?))"
    numbers = [key for key in keys if type(key) is int]  # a damaged row has any other
    held = list(keys) if dialect == "postgres" else json.dumps(numbers)
    text = (f"({sql} OR i.key {one_of})", (*params, held))
    return asked._replace(conditions=[*others, text], said=frozenset(keys))


def _among(sql: str, values: Sequence[Any]) -> Condition:
    # Lists come in a few lengths only: a query text for each is prepared and kept.
    length = 1 << (len(values) - 1).bit_length()
    padded = (*values, *[values[-1]] * (length - len(values)))
    return sql.format(", ".join("?" * length)), padded


def _standing(listing: Listing[Any], status: Values) -> list[Condition]:
    """The conditions for what is open, or over, or (of todos) has some statuses."""
    done = DONE_TODOS if listing is LIST_TODOS else ("closed",)
    if listing is LIST_THREADS:
        return [(listing.open, ())]
    if status is None or "any" in status:
        return []
    if not any(each in done for each in status):
        named = [] if "open" in status else [_among(filters.ANY.format("status"), status)]
        return [(listing.open, ()), *named]
    if listing is not LIST_TODOS:
        return [(f"CASE WHEN {listing.open} THEN FALSE ELSE TRUE END", ())]
    sql, params = _among("i.status IN ({})", status)
    also = f" OR {listing.open}" if "open" in status else ""
    return [(f"CASE WHEN {sql}{also} THEN TRUE ELSE FALSE END", params)]


# ---- pages


def page(dialect: str, codec: Codec, wanted: Asked) -> Script[Page[Any]]:
    """The next items, and where to go on."""
    listing = wanted.listing
    after = None if wanted.after is None else _place(dialect, wanted.after, listing)
    if wanted.nothing:
        return Page()
    narrowed = yield from _of_threads(dialect, wanted)
    if narrowed is None:
        return Page()
    unread = yield from _unread(wanted)
    if wanted.held is not None:
        narrowed = [*narrowed, _of_status(wanted, unread)]

    def key(row: Any) -> tuple[Any, ...]:
        return tuple(getattr(row, name) for name in listing.order)

    found: list[tuple[Any, Any]] = []
    size = wanted.limit + 1  # one more tells whether there is a next page
    while True:
        rows = yield _query(wanted, narrowed, after, size)
        some = [*map(listing.table.row._make, rows)]
        items = [listing.shown(codec, row) for row in some]
        if listing is LIST_THREADS:
            items = yield from _as_left(dialect, items)
            if unread is not None:
                items = [_not_read(*each, wanted) for each in zip(items, some, strict=True)]
        found += [each for each in zip(some, items, strict=True) if _fits(wanted, *each)]
        if len(found) > wanted.limit or len(some) < size:
            break
        after, size = key(some[-1]), min(size * 2, _MOST_READ)
    shown = found[: wanted.limit]
    end = None
    if len(found) > wanted.limit:
        last = key(shown[-1][0])
        end = filters.cursor(listing.name, [p.hex() if isinstance(p, bytes) else p for p in last])
    if listing is LIST_TODOS:
        shown = _as_listed(shown)
    left = 0
    if unread is not None and listing is not LIST_THREADS:
        left = yield from _left_unread(wanted, unread)
    return Page((item for _, item in shown), end, left)


def _fits(wanted: Asked, row: Any, item: Any) -> bool:
    """Whether an item has a status and says a text that are asked for."""
    if wanted.statuses is not None and item.status not in wanted.statuses:
        return False
    if wanted.text is None or (wanted.said and row.key in wanted.said):
        return True
    texts = [getattr(item, name) for name in wanted.listing.text]
    return any(text is not None and filters.says(text, wanted.text) for text in texts)


# ---- what was not read yet

_READ_BY = """
WITH RECURSIVE each(label) AS (
  SELECT min(read_by) FROM wyrd_threads WHERE read_by IS NOT NULL
  UNION ALL
  SELECT (SELECT min(read_by) FROM wyrd_threads WHERE read_by > label) FROM each
  WHERE label IS NOT NULL
) SELECT label FROM each WHERE label IS NOT NULL"""
_MOST_UNREAD = 1000
_NOT_READ = "not read yet: what is open is not known"


def _unread(wanted: Asked) -> Script[Condition | None]:
    """The condition for threads of which the saver's extractors did not read all that they would;
    None where there are none. There are few labels, and an index finds each."""
    if wanted.covered is None:
        return None
    rows = yield Query(_READ_BY)
    labels = [label for (label,) in rows if not wanted.covered(label)]
    conditions = []
    if labels:
        conditions.append(_among("i.read_by IN ({})", labels))
    if not wanted.covered(None):
        conditions.append(("i.read_by IS NULL", ()))
    if not conditions:
        return None
    sql = " OR ".join(sql for sql, _ in conditions)
    return f"(i.head IS NOT NULL AND ({sql}))", tuple(v for _, held in conditions for v in held)


def _of_status(wanted: Asked, unread: Condition | None) -> Condition:
    """The condition for threads of these statuses; "unread" is none that is stored."""
    held = [each for each in wanted.held or () if each != "unread"]
    sql, params = _among("i.status IN ({})", held) if held else ("1 = 0", ())
    if unread is None:
        return sql, params
    if "unread" in (wanted.held or ()):
        return f"({sql} OR {unread[0]})", (*params, *unread[1])
    return f"({sql} AND NOT {unread[0]})", (*params, *unread[1])


def _not_read(item: ThreadInfo, row: ThreadRow, wanted: Asked) -> ThreadInfo:
    assert wanted.covered is not None
    if item.head is None or wanted.covered(row.read_by):
        return item
    return replace(item, status="unread", reason=_NOT_READ)


def _left_unread(wanted: Asked, unread: Condition) -> Script[int]:
    """How many of the threads that are asked for were not read yet."""
    conditions = [unread, ("i.deleted_at IS NULL", ())]
    if wanted.thread_ids is not None:
        conditions.append(_among("i.thread_id IN ({})", wanted.thread_ids))
    if wanted.user_ids is not None:
        conditions.append(_among("i.user_id IN ({})", wanted.user_ids))
    where = " AND ".join(sql for sql, _ in conditions)
    rows = yield Query(
        f"SELECT count(*) FROM (SELECT 1 FROM wyrd_threads i WHERE {where} LIMIT ?) AS left_over",
        (*[value for _, held in conditions for value in held], _MOST_UNREAD),
    )
    return int(rows[0][0])


def _as_left(dialect: str, infos: Sequence[ThreadInfo]) -> Script[list[ThreadInfo]]:
    """Threads on which something is due, with what their leases say."""
    waiting = {stored(each.thread_id, "thread_id") for each in infos if each.status == "due"}
    found = yield from leases.left(dialect, sorted(waiting))
    made = []
    for each in infos:
        left = found.get(stored(each.thread_id, "thread_id"))
        changes = leases.changes(left, each.head, each.reason) if each.status == "due" else {}
        if left is not None and changes:
            changes["ended_at"] = left.ended_at
        made.append(replace(each, **changes))
    return made


def _query(
    wanted: Asked, narrowed: Sequence[Condition], after: tuple[Any, ...] | None, size: int
) -> Query:
    listing = wanted.listing
    conditions = [*wanted.conditions, *narrowed] or [("1 = 1", ())]
    columns = [f"i.{name}" for name in listing.order]
    if after is not None:
        marks = ", ".join("?" * len(after))
        conditions.append((f"({', '.join(columns)}) < ({marks})", after))
        if listing is LIST_THREADS:
            conditions.append(("i.minute <= substr(?, 1, 16)", (after[0],)))
    elif listing is LIST_THREADS:  # SQLite 3.53 sorts the whole table, unless a range is asked for
        conditions.append(("i.minute > ''", ()))
    where = " AND ".join(sql for sql, _ in conditions)
    if listing is LIST_THREADS:
        columns.insert(0, "i.minute")  # an index has the newest first: see `storage.schema`
    order = ", ".join(f"{column} DESC" for column in columns)
    names = ", ".join(f"i.{name}" for name in listing.table.names)
    params = [value for _, values in conditions for value in values]
    return Query(
        f"SELECT {names} FROM {listing.table.name} i WHERE {where} ORDER BY {order} LIMIT ?",
        (*params, size),
    )


def _of_threads(dialect: str, wanted: Asked) -> Script[list[Condition] | None]:
    """The conditions for the threads that are asked for; None if there are no such threads."""
    if wanted.listing is LIST_THREADS:
        users = wanted.user_ids
        return [] if users is None else [_among("i.user_id IN ({})", users)]
    conditions = []
    keys: set[Key] | None = None
    if wanted.thread_ids is not None:
        if dialect == "postgres":
            keys = {thread_key(id) for id in wanted.thread_ids}
        else:
            sql, params = _among("thread_id IN ({})", wanted.thread_ids)
            rows = yield Query(f"SELECT key FROM wyrd_threads WHERE {sql}", params)
            keys = {row[0] for row in rows}
    if wanted.user_ids is not None:
        sql, params = _among("user_id IN ({})", wanted.user_ids)
        rows = yield Query(
            f"SELECT key FROM wyrd_threads WHERE {sql} LIMIT ?", (*params, _FEW_THREADS + 1)
        )
        if len(rows) <= _FEW_THREADS:
            own = {row[0] for row in rows}
            keys = own if keys is None else keys & own
        else:
            # Looked up for each row that the index gives: a join may be planned upside down.
            whose = "(SELECT user_id FROM wyrd_threads WHERE key = i.thread) IN ({})"
            conditions.append(_among(whose, wanted.user_ids))
    if keys is not None:
        if not keys:
            return None
        conditions.append(_among("i.thread IN ({})", sorted(keys)))
    return conditions


def _as_listed(found: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Todos that were opened together, in the order of their list."""
    groups: dict[Any, list[tuple[Any, Any]]] = {}
    for row, item in found:
        groups.setdefault((row.checkpoint, row.thread), []).append((row, item))
    return [
        each for group in groups.values() for each in sorted(group, key=lambda each: each[0].place)
    ]


# ---- cursors


def _place(dialect: str, after: str, listing: Listing[Any]) -> tuple[Any, ...]:
    """The place that a cursor of this listing names."""
    kinds: dict[str, type] = {
        "thread": str if dialect == "postgres" else int, "updated": datetime,
    }  # fmt: skip
    kinds["key"] = kinds["thread"]
    found = filters.place(after, listing.name, [kinds.get(name, str) for name in listing.order])
    if dialect != "postgres":
        return found
    try:
        return tuple(
            bytes.fromhex(part) if kinds.get(name) is str else part
            for name, part in zip(listing.order, found, strict=True)
        )
    except ValueError:
        raise filters.no_cursor(after) from None


# ---- rows to models

_SOURCE = tuple(each.name for each in fields(Source) if each.name != "extra")


_MODELS: dict[Table, Any] = {
    TODOS: Todo, CONTEXT: ContextItem, OPEN_LOOPS: OpenLoop, INTENTIONS: Intention,
}  # fmt: skip


def _damaged(held: Any) -> None:
    """Say that a listing leaves a value out. Its row is derived: a repair makes it again."""
    logger.warning(
        "a row of a listing is damaged, its %r is left out: `verify(repair=True)` makes it again",
        held if len(repr(held)) < 100 else type(held).__name__,
    )


@lru_cache
def item_of(table: Table, damaged: Callable[[Any], None] = _damaged) -> Callable[[Any], Any]:
    """What makes an item of a row: columns have the names of its fields. `damaged` is called with
    a value that can't be read, which is left out."""
    model = _MODELS[table]
    mine = {each.name for each in fields(model)}
    kinds = {column.name: column.kind for column in table.columns}
    names = [n for n in table.names if n in mine and n not in ("thread_id", "extra")]
    sources = [name for name in _SOURCE if name in table.names]

    def made(row: Any) -> Any:
        held = row._asdict()
        where = {name: held[name] for name in sources}
        where["ns"] = given(held["ns"])
        extra = _json(held["extra"], damaged)
        return model(
            **{name: _value(kinds[name], name, held[name], damaged) for name in names},
            extra=extra if isinstance(extra, dict) else {},
            source=Source(given(held["checkpoint"]) or None, **where),
            thread_id=given(held["thread_id"]),
        )

    return made


def _value(kind: str, name: str, held: Any, damaged: Callable[[Any], None]) -> Any:
    if kind == "json":
        return _json(held, damaged) if held is not None or name == "value" else {}
    if kind == "time":
        return time_of(held, damaged)
    if kind == "bool":
        return bool(held)
    if kind == "text":
        held = _text(held, damaged)
    return given(held) if name == "closed_in" and held is not None else held


def _text(held: Any, damaged: Callable[[Any], None] = _damaged) -> str | None:
    if held is None or isinstance(held, str):
        return held
    from langgraph_wyrd.storage.encryption import UNREADABLE

    damaged(held)
    return UNREADABLE


def _json(held: Any, damaged: Callable[[Any], None]) -> Any:
    try:
        return json.loads(held) if isinstance(held, str | bytes) else held
    except ValueError:
        return damaged(held)


def time_of(held: str | datetime | None, damaged: Callable[[Any], None] = _damaged) -> str | None:
    """A time as LangGraph writes it: microseconds where there are any."""
    if isinstance(held, datetime):
        return held.astimezone(timezone.utc).isoformat()
    if held is None or isinstance(held, str):
        return None if held is None else held.replace(".000000+", "+")
    damaged(held)
    return None


def _thread(row: ThreadRow) -> ThreadInfo:
    ended = made_at(row.head) if row.head and row.status not in (None, "due") else None
    return ThreadInfo(
        thread_id=given(row.thread_id),
        status=_text(row.status),  # type: ignore[arg-type]
        reason=LOST_REASON if row.head == LOST else _text(row.reason) or None,
        title=_text(row.title),
        due=due_of(row.due),
        user_id=None if row.user_id is None else given(row.user_id),
        created_at=time_of(row.created),
        updated_at=time_of(row.updated),
        head=given(row.head) if row.head else None,
        open_loops=row.open_loops,
        open_todos=row.open_todos,
        ended_at=None if ended is None else ended.isoformat(),
        ttl=timedelta(seconds=row.ttl) if isinstance(row.ttl, int) else None,
    )


_STILL = "i.closed_at IS NULL AND i.closed_in IS NULL"
LIST_LOOPS: Listing[OpenLoop] = Listing(
    "open_loops", OPEN_LOOPS, filters.LoopFilters, item_of(OPEN_LOOPS), ("description",),
    _STILL,
)  # fmt: skip
LIST_TODOS: Listing[Todo] = Listing(
    "todos", TODOS, filters.TodoFilters, item_of(TODOS), ("content",),
    "i.status NOT IN ('completed', 'cancelled')",
)  # fmt: skip
LIST_INTENTIONS: Listing[Intention] = Listing(
    "intentions", INTENTIONS, filters.IntentionFilters, item_of(INTENTIONS), ("text",),
    _STILL,
)  # fmt: skip
LIST_THREADS: Listing[ThreadInfo] = Listing(
    "threads", THREADS, filters.ThreadFilters, _thread, ("title", "reason"),
    "i.deleted_at IS NULL AND (i.head IS NOT NULL OR i.status IS NOT NULL)",
    ("updated", "key"),
)  # fmt: skip
