"""The public tables: the rows of a working state's items, and what changed between two states."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.codec.values import to_json
from langgraph_wyrd.state.model import (
    ContextItem,
    Due,
    Intention,
    OpenLoop,
    Source,
    Todo,
    WorkingState,
)
from langgraph_wyrd.storage.names import stored
from langgraph_wyrd.storage.rows import delete, upsert
from langgraph_wyrd.storage.scripts import Step
from langgraph_wyrd.storage.tables import (
    CONTEXT,
    INTENTIONS,
    OPEN_LOOPS,
    THREADS,
    TODOS,
    ContextRow,
    IntentionRow,
    Key,
    LoopRow,
    Table,
    TodoRow,
)

if TYPE_CHECKING:
    from langgraph_wyrd.storage.encryption import Sealer

logger = logging.getLogger("langgraph_wyrd")

PUBLIC = (TODOS, CONTEXT, OPEN_LOOPS, INTENTIONS)


def changes(
    key: Key,
    thread_id: str,
    before: WorkingState,
    after: WorkingState,
    at: str,
    sealer: Sealer | None = None,
    again: Container[str] = (),
) -> list[Step]:
    """What makes the tables that show one state show another. Items of these ids `again` go even
    if they are over: others stand for them now."""
    steps: list[Step] = []
    make = Rows(key, thread_id, at, sealer)
    if before.loops is not after.loops:
        opened = before.loops, after.loops
        _compare(steps, key, OPEN_LOOPS, *opened, make, make.loop, is_over, again)
    if before.intentions is not after.intentions:
        wanted = before.intentions, after.intentions
        _compare(steps, key, INTENTIONS, *wanted, make, make.intention, is_over, again)
    if before.context is not after.context:
        held = before.context, after.context
        _compare(steps, key, CONTEXT, *held, make, make.context, lambda _: False, again)
    if before.todos is not after.todos:
        places = {todo.id: (n, todo) for n, todo in enumerate(before.todos)}
        for place, todo in enumerate(after.todos):
            if places.pop(todo.id, None) != (place, todo):
                steps.append(Step(upsert(TODOS), make.todo(todo, place)))
        for place, todo in places.values():
            if todo.open or todo.source.ns or todo.id in again:
                steps.append(Step(delete(TODOS, "thread", "id"), (key, todo.id)))
            elif todo.listed:  # it left its list, beside more than the state keeps of these
                steps.append(Step(upsert(TODOS), make.todo(replace(todo, listed=False), place)))
    return steps


def _compare(
    steps: list[Step],
    key: Key,
    table: Table,
    before: Sequence[Any],
    after: Sequence[Any],
    make: Rows,
    row: Callable[[Any], Any],
    stays: Callable[[Any], bool],
    again: Container[str],
) -> None:
    same = 0  # mostly only the last ones are others
    for held_now, item in zip(before, after, strict=False):
        if held_now is not item:
            break
        same += 1
    held = {item.id: item for item in before[same:]}
    for item in after[same:]:
        known = held.pop(item.id, None)
        if known is not item and known != item:
            if known is not None and make.sealer is None and _only_ended(known, item):
                steps.append(make.ended(item))
            else:
                steps.append(Step(upsert(table), row(item)))
    # What is over stays in its table, though the state keeps only the last of it. What a subgraph
    # had open goes with its run.
    for item in held.values():
        if item.source.ns or not stays(item) or item.id in again:
            steps.append(Step(delete(table, "thread", "id"), (key, item.id)))


_ENDED_LOOP = (
    "UPDATE wyrd_open_loops SET changed_at = ?, closed_at = ?, closed_in = ?, outcome = ?, "
    "changed_in = ? WHERE thread = ? AND id = ?"
)
_ENDED_INTENTION = (
    "UPDATE wyrd_intentions SET closed_at = ?, closed_in = ?, outcome = ?, changed_in = ? "
    "WHERE thread = ? AND id = ?"
)
_SAYS = attrgetter(
    "opened_at", "ref", "confidence", "extra", "description", "context", "kind", "thread_id"
)
_WANTS = attrgetter("opened_at", "confidence", "extra", "text", "aim", "thread_id")


def _only_ended(before: Any, after: Any) -> bool:
    """Whether nothing of an item is another than before but how it ended."""
    if before.source is not after.source or type(after) not in (OpenLoop, Intention):
        return False
    same = _SAYS if type(after) is OpenLoop else _WANTS
    return bool(same(before) == same(after))


def is_over(item: OpenLoop | Intention) -> bool:
    return item.resolved if isinstance(item, OpenLoop) else not item.open


class Rows:
    """Makes the rows of one thread's items, as of a checkpoint."""

    def __init__(self, key: Key, thread_id: str, at: str, sealer: Sealer | None = None) -> None:
        self._key = key
        self._thread_id = thread_id
        self._at = at
        self.sealer = sealer

    def ended(self, item: OpenLoop | Intention) -> Step:
        """What says how a loop or an intention ended, and leaves the rest of its row as it is."""
        at, ended = moment(item.closed_at), (_stored(item.closed_in), item.outcome, self._at)
        if isinstance(item, Intention):
            return Step(_ENDED_INTENTION, (at, *ended, self._key, item.id))
        return Step(_ENDED_LOOP, (moment(item.changed_at), at, *ended, self._key, item.id))

    def loop(self, loop: OpenLoop) -> Any:
        return self._sealed(
            OPEN_LOOPS,
            LoopRow(
                self._key, self._thread_id, loop.id, loop.kind, loop.description,
                _json(loop.context), loop.ref, moment(loop.opened_at), moment(loop.changed_at),
                moment(loop.closed_at), _stored(loop.closed_in), loop.outcome, *_where(loop.source),
                loop.confidence, loop.elsewhere, self._at, _json(loop.extra),
            ),
        )  # fmt: skip

    def intention(self, each: Intention) -> Any:
        return self._sealed(
            INTENTIONS,
            IntentionRow(
                self._key, self._thread_id, each.id, each.text, each.aim, moment(each.opened_at),
                moment(each.closed_at), _stored(each.closed_in), each.outcome, *_where(each.source),
                each.confidence, self._at, _json(each.extra),
            ),
        )  # fmt: skip

    def context(self, item: ContextItem) -> Any:
        return self._sealed(
            CONTEXT,
            ContextRow(
                self._key, self._thread_id, item.id, item.key, _text(item.value),
                _json(item.metadata), moment(item.opened_at), moment(item.changed_at),
                *_where(item.source), item.confidence, self._at, _json(item.extra),
            ),
        )  # fmt: skip

    def todo(self, todo: Todo, place: int) -> Any:
        return self._sealed(
            TODOS,
            TodoRow(
                self._key, self._thread_id, todo.id, place, todo.listed, todo.content, todo.status,
                todo.priority, todo.tracker, todo.ref, moment(todo.opened_at),
                moment(todo.changed_at), moment(todo.closed_at), *_where(todo.source),
                todo.confidence, self._at, _json(todo.extra),
            ),
        )  # fmt: skip

    def _sealed(self, table: Table, row: Any) -> Any:
        return row if self.sealer is None else self.sealer.seal(table, row)


def _where(source: Source) -> Any:
    return (
        _stored(source.checkpoint_id or ""), _stored(source.ns), source.node, source.agent,
        source.channel, source.message_id, source.task_id, source.tool_call_id, source.run_id,
        source.rule, source.author,
    )  # fmt: skip


def _stored(id: str | None) -> str | None:
    return None if id is None else stored(id, "an id")


def _json(held: Any) -> str | None:
    return _text(dict(held)) if held else None


_EXPONENT = re.compile(r"\d[eE]\+?\d")
_NUMBERS = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?[eE]\+?\d+')


def _text(value: Any) -> str:
    """JSON without exponents in large numbers: Postgres would make integers of these (1e300)."""
    text = to_json(value)
    return _NUMBERS.sub(_digits, text) if _EXPONENT.search(text) else text


def _digits(match: re.Match[str]) -> str:
    number = match[0]
    return number if number.startswith('"') else f"{Decimal(number):.1f}"


def due_json(due: tuple[Due, ...]) -> str:
    """What is due, as it is stored: a node's name, or the name and the place of a Send."""
    return to_json([each.node if each.index is None else [each.node, each.index] for each in due])


def due_of(held: Any) -> tuple[Due, ...]:
    """What is due, from how it is stored; nothing, with a warning, where that is damaged."""
    try:
        made = json.loads(held) if isinstance(held, str) else held or []
        return tuple(Due(each) if isinstance(each, str) else Due(*each) for each in made)
    except (TypeError, ValueError):
        logger.warning("what is due in a thread is damaged: `verify(repair=True)` makes it again")
        return ()


@lru_cache(1024)
def moment(text: str | None) -> str | None:
    """A time as both databases order it; one that is no time is left out."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=timezone.utc)
    return found.astimezone(timezone.utc).isoformat(timespec="microseconds")


def columns(state: WorkingState, key: Key, sealer: Sealer | None) -> tuple[Any, ...]:
    """A thread's own columns: status, reason, due, title, counts of open loops and todos."""
    reason: str | None = (state.reason or "").replace("\0", "\N{REPLACEMENT CHARACTER}")
    title = state.title
    if sealer is not None:
        reason = sealer.seal_value(THREADS, "reason", (key,), reason)
        if title is not None:
            title = sealer.seal_value(THREADS, "title", (key,), title)
    return (
        state.status,
        reason,
        due_json(state.due),
        title,
        len(state.open_loops),
        len(state.open_todos),
    )


# ---- when the head changes branch

_SEEN_AT = "SELECT id, checkpoint, changed_in, ns FROM {} WHERE thread = ?"


def listing(table: Table) -> str:
    """Where each item of a table was opened and changed last."""
    return _SEEN_AT.format(table.name)


def turned(
    key: Key,
    thread_id: str,
    held: Sequence[Sequence[Sequence[Any]]],
    left: frozenset[str],
    state: WorkingState,
    at: str,
    sealer: Sealer | None = None,
) -> list[Step]:
    """What makes the tables of a branch that is left show `state`, where another one starts.

    `held` are the rows of `listing`, of each table; `left` the checkpoints that only the branch
    that is left has. What was opened there goes; what was changed there is as `state` has it.
    """
    steps: list[Step] = []
    make = Rows(key, thread_id, at, sealer)
    items: dict[str, Any] = {}
    each: Any
    for place, todo in enumerate(state.todos):
        items[todo.id] = (TODOS, lambda todo=todo, place=place: make.todo(todo, place))
    for each in state.context:
        items[each.id] = (CONTEXT, lambda each=each: make.context(each))
    for each in state.loops:
        items[each.id] = (OPEN_LOOPS, lambda each=each: make.loop(each))
    for each in state.intentions:
        items[each.id] = (INTENTIONS, lambda each=each: make.intention(each))
    elsewhere = {loop.id for loop in state.loops if loop.elsewhere}
    there = set()
    for table, rows in zip(PUBLIC, held, strict=True):
        for id, checkpoint, changed_in, ns in rows:
            if id in items:
                there.add(id)
                if changed_in in left or checkpoint in left or id in elsewhere:
                    steps.append(Step(upsert(table), items[id][1]()))
            elif checkpoint in left or changed_in in left or ns:
                steps.append(Step(delete(table, "thread", "id"), (key, id)))
    for id, (table, made) in items.items():
        if id not in there:
            steps.append(Step(upsert(table), made()))
    return steps
