"""Listings across threads: pages of the public tables, and their rows as models.

What is open is found by an index, newest first, and what is over by another, whatever else is asked
for: conditions only narrow what an index gives, and a page is read until it is full.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Generic, TypeVar

from langgraph_wyrd.plans import filters
from langgraph_wyrd.plans.filters import Asked, Condition
from langgraph_wyrd.plans.shown import due_of
from langgraph_wyrd.state.listed import Page, ThreadInfo
from langgraph_wyrd.state.model import Intention, OpenLoop, Source, Todo
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Row
from langgraph_wyrd.store.values import Codec

T = TypeVar("T")
Key = tuple[Any, ...]

_MOST_READ = 1000  # rows in one go, where text has to be looked at here
_FEW_THREADS = 200  # so many are looked up one by one; a user with more is met along the index
OPEN_TODOS = ("in_progress", "pending")


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A table to list: the query, how its rows are told apart, and what they become."""

    name: str
    begin: str
    end: str
    after: str
    types: tuple[type, ...]  # of the columns that order it, which come first in a row
    key: Callable[[Row], Key]
    make: Callable[[Codec, Row], T]
    texts: Callable[[T], Sequence[str | None]]


def threads(codec: Codec, asked: Asked) -> Plan[Page[ThreadInfo]]:
    """Threads, those with the newest activity first."""
    if asked.finds_nothing:
        return Page()
    conditions = [
        *filters.among("threads_status", asked.status),
        *filters.among("threads_user", asked.user_id),
        *filters.between("threads", asked),
    ]
    if asked.text is not None:
        conditions.append(("threads_say", (filters.like(asked.text),) * 2))
    return (yield from _page(codec, THREADS, [conditions], asked))


def loops(codec: Codec, asked: Asked) -> Plan[Page[OpenLoop]]:
    """Loops, the newest first. Open ones of a kind are looked up kind by kind, by its own index."""
    common = yield from _common("loop", asked)
    if common is None:
        return Page()
    branches: list[list[Condition]] = []
    for start in _stands(asked):
        if asked.kind is None or start[0] != "still_open":
            branches.append([start, *_narrowed("item_kinds", asked.kind), *common])
        else:
            branches += [[start, ("item_kind", (kind,)), *common] for kind in asked.kind]
    return (yield from _page(codec, LOOPS, branches, asked))


def todos(codec: Codec, asked: Asked) -> Plan[Page[Todo]]:
    """Todos, the newest first; on a page, those of one list stand in its order."""
    common = yield from _common("todo", asked)
    if common is None:
        return Page()
    if asked.status is None:
        branches = [[("todo_open", ()), *common], [("todo_over", ()), *common]]
        return (yield from _page(codec, TODOS, branches, asked))
    being = tuple(each for each in OPEN_TODOS if each in asked.status)
    over = tuple(each for each in asked.status if each not in OPEN_TODOS)
    branches = []
    if being:
        which = None if len(being) == len(OPEN_TODOS) else being
        branches.append([("todo_open", ()), *_narrowed("item_status", which), *common])
    if over:
        branches.append([("todo_over", ()), *_narrowed("item_status", over), *common])
    return (yield from _page(codec, TODOS, branches, asked))


def intentions(codec: Codec, asked: Asked) -> Plan[Page[Intention]]:
    """Intentions, the newest first."""
    common = yield from _common("intention", asked)
    if common is None:
        return Page()
    aims = _narrowed("item_aim", asked.aim)
    branches = [[start, *aims, *common] for start in _stands(asked)]
    return (yield from _page(codec, INTENTIONS, branches, asked))


def _stands(asked: Asked) -> list[Condition]:
    """Where to look: each has its index."""
    (status,) = asked.status or ("any",)
    chosen = {"open": ("still_open",), "closed": ("now_over",)}
    return [(name, ()) for name in chosen.get(status, ("still_open", "now_over"))]


def _narrowed(name: str, wanted: Sequence[str | int] | None) -> list[Condition]:
    return filters.among(name, wanted, "end_case")


def _common(name: str, asked: Asked) -> Plan[list[Condition] | None]:
    """The conditions that all pillars know; None if nothing can be found."""
    if asked.finds_nothing:
        return None
    conditions: list[Condition] = []
    numbers: set[int] | None = None
    if asked.thread_id is not None:
        asks = [Ask("find_thread", (thread_key(id),)) for id in asked.thread_id]
        numbers = {rows[0][0] for rows in (yield asks) if rows}
    if asked.user_id is not None:
        ((names, params),) = filters.among("user_threads", asked.user_id, "user_threads_end")
        rows = yield Ask(names, (*params, _FEW_THREADS + 1))
        if len(rows) <= _FEW_THREADS:
            own = {row[0] for row in rows}
            numbers = own if numbers is None else numbers & own
        else:
            conditions += filters.among("item_user", asked.user_id)
    if numbers is not None:
        if not numbers:
            return None
        conditions += filters.among("item_thread", sorted(numbers))
    if asked.sure:
        conditions.append(("item_sure", ()))
    conditions += _narrowed("item_confidence", asked.confidence)
    conditions += _narrowed("item_node", asked.node)
    conditions += filters.between("item", asked)
    if asked.text is not None:
        conditions.append((f"{name}_says", (filters.like(asked.text),)))
    return conditions


def _page(
    codec: Codec, listing: Listing[T], branches: Sequence[Sequence[Condition]], asked: Asked
) -> Plan[Page[T]]:
    """The next items of several queries together, in the order that they share."""
    after = None
    if asked.after is not None:
        after = filters.place(asked.after, listing.name, listing.types)
    found: list[tuple[Row, T]] = []
    size = asked.limit + 1  # one more tells whether there is a next page
    while True:
        rows: list[Row] = []
        for answer in (yield [_ask(listing, branch, after, size) for branch in branches]):
            rows += answer
        rows.sort(key=listing.key, reverse=True)
        for row in rows[:size]:
            item = listing.make(codec, row)
            if asked.text is None or any(
                text is not None and filters.says(text, asked.text) for text in listing.texts(item)
            ):
                found.append((row, item))
        if len(found) > asked.limit or len(rows) < size:
            break
        after, size = listing.key(rows[size - 1]), min(size * 2, _MOST_READ)
    shown = found[: asked.limit]
    more = len(found) > asked.limit
    end = filters.cursor(listing.name, listing.key(shown[-1][0])) if more else None
    if listing is TODOS:
        shown = _as_listed(shown)
    return Page((item for _, item in shown), end)


def _ask(listing: Listing[T], branch: Sequence[Condition], after: Key | None, size: int) -> Ask:
    chosen = [*branch, *([] if after is None else [(listing.after, after)])]
    names = " ".join([listing.begin, *(name for name, _ in chosen), listing.end])
    return Ask(names, (*(value for _, held in chosen for value in held), size))


def _as_listed(found: Sequence[tuple[Row, T]]) -> list[tuple[Row, T]]:
    """Todos that were opened together, in the order of their list."""
    groups: dict[Key, list[tuple[Row, T]]] = {}
    for each in found:
        groups.setdefault(each[0][:2], []).append(each)
    return [each for group in groups.values() for each in sorted(group, key=lambda e: e[0][4])]


# ---- rows to models


def _loop(codec: Codec, row: Row) -> OpenLoop:
    (
        checkpoint, _, id, thread_id, kind, description, context, ref, opened, changed, closed,
        closed_in, outcome, *where, confidence, extra,
    ) = row  # fmt: skip
    return OpenLoop(
        id=id,
        kind=kind,
        description=codec.show_text(description),
        context=_mapping(codec, context),
        ref=ref,
        opened_at=_time(opened),
        changed_at=_time(changed),
        closed_at=_time(closed),
        closed_in=closed_in,
        outcome=_text(codec, outcome),
        source=_source(checkpoint, where),
        confidence=confidence,
        extra=_mapping(codec, extra),
        thread_id=given(thread_id),
    )


def _todo(codec: Codec, row: Row) -> Todo:
    (
        checkpoint, _, id, thread_id, _, listed, content, status, priority, tracker, ref, opened,
        changed, closed, *where, confidence, extra,
    ) = row  # fmt: skip
    return Todo(
        id=id,
        content=codec.show_text(content),
        status=status,
        priority=priority,
        opened_at=_time(opened),
        changed_at=_time(changed),
        closed_at=_time(closed),
        source=_source(checkpoint, where),
        confidence=confidence,
        tracker=tracker,
        ref=ref,
        listed=bool(listed),
        extra=_mapping(codec, extra),
        thread_id=given(thread_id),
    )


def _intention(codec: Codec, row: Row) -> Intention:
    (
        checkpoint, _, id, thread_id, text, aim, opened, closed, closed_in, outcome, *where,
        confidence, extra,
    ) = row  # fmt: skip
    return Intention(
        id=id,
        text=codec.show_text(text),
        aim=aim,
        opened_at=_time(opened),
        closed_at=_time(closed),
        closed_in=closed_in,
        outcome=_text(codec, outcome),
        source=_source(checkpoint, where),
        confidence=confidence,
        extra=_mapping(codec, extra),
        thread_id=given(thread_id),
    )


def _thread(codec: Codec, row: Row) -> ThreadInfo:
    updated, _, thread_id, status, reason, title, due, user, created, loops, todos, head = row
    return ThreadInfo(
        thread_id=given(thread_id),
        status=status,
        reason=_text(codec, reason),
        title=_text(codec, title),
        due=due_of(due),
        user_id=None if user is None else given(user),
        created_at=_time(created),
        updated_at=_time(updated),
        head=None if head is None else given(head),
        open_loops=loops,
        open_todos=todos,
    )


def _source(checkpoint: str, where: Sequence[Any]) -> Source:
    return Source(checkpoint or None, *where)


def _text(codec: Codec, held: str | None) -> str | None:
    return None if held is None else codec.show_text(held)


def _mapping(codec: Codec, held: str | None) -> dict[str, Any]:
    if held is None:
        return {}
    made = json.loads(held)
    if isinstance(made, str):  # sealed
        try:
            made = json.loads(codec.show_text(made))
        except ValueError:
            made = {}
    elif codec.refuses_plain:
        codec.show_text(held)  # warns
        made = {}
    found: dict[str, Any] = made
    return found


def _time(held: str | datetime | None) -> str | None:
    """A time as LangGraph writes it: microseconds where there are any."""
    if isinstance(held, datetime):
        return held.astimezone(timezone.utc).isoformat()
    return None if held is None else held.replace(".000000+", "+")


def _item_key(row: Row) -> Key:
    return row[:3]


def _thread_key(row: Row) -> Key:
    updated, number = row[:2]
    if isinstance(updated, datetime):
        updated = updated.astimezone(timezone.utc).isoformat()
    return updated, number


_ITEM: tuple[type, ...] = (str, int, str)
LOOPS: Listing[OpenLoop] = Listing(
    "open_loops", "list_loops", "items_newest", "item_after", _ITEM, _item_key, _loop,
    lambda loop: (loop.description,),
)  # fmt: skip
TODOS: Listing[Todo] = Listing(
    "todos", "list_todos", "items_newest", "item_after", _ITEM, _item_key, _todo,
    lambda todo: (todo.content,),
)  # fmt: skip
INTENTIONS: Listing[Intention] = Listing(
    "intentions", "list_intentions", "items_newest", "item_after", _ITEM, _item_key, _intention,
    lambda intention: (intention.text,),
)  # fmt: skip
THREADS: Listing[ThreadInfo] = Listing(
    "threads", "list_threads", "threads_newest", "threads_after", (datetime, int), _thread_key,
    _thread, lambda thread: (thread.title, thread.reason),
)  # fmt: skip
