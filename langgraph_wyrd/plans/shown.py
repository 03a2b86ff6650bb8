"""The public tables: the rows of a working state's items, and what changed between two states."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

from langgraph_wyrd.state.model import (
    ContextItem,
    Due,
    Intention,
    OpenLoop,
    Source,
    Todo,
    WorkingState,
)
from langgraph_wyrd.store.statements import Row, Tell
from langgraph_wyrd.store.values import Codec

logger = logging.getLogger("langgraph_wyrd")

PILLARS = ("todo", "context", "loop", "intention")  # as the tables' statements are named

to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def cleared(number: int) -> list[Tell]:
    """A thread out of the four tables."""
    return [Tell(f"drop_all_{name}s", [(number,)]) for name in PILLARS]


def changed_rows(
    codec: Codec, number: int, thread_id: str, before: WorkingState, after: WorkingState, at: str
) -> dict[str, list[Row]]:
    """The rows to put and to drop, by statement, for the tables to show another state."""
    rows: dict[str, list[Row]] = {}
    make = Rows(codec, number, thread_id, at)
    if before.loops is not after.loops:
        _compare(rows, number, "loop", before.loops, after.loops, make.loop, _is_over)
    if before.intentions is not after.intentions:
        wanted = before.intentions, after.intentions
        _compare(rows, number, "intention", *wanted, make.intention, _is_over)
    if before.context is not after.context:
        held_by = before.context, after.context
        _compare(rows, number, "context", *held_by, make.context, lambda _: False)
    if before.todos is not after.todos:
        olds = list(enumerate(before.todos))
        news = list(enumerate(after.todos))
        held = {todo.id: (place, todo) for place, todo in olds}
        put = [(p, t) for p, t in news if held.pop(t.id, None) != (p, t)]
        if put:
            rows["put_todo"] = [make.todo(todo, place) for place, todo in put]
        gone = [todo for _, todo in held.values() if todo.open or todo.source.ns]
        if gone:
            rows["drop_todo"] = [(number, todo.id) for todo in gone]
    return rows


def _compare(
    rows: dict[str, list[Row]],
    number: int,
    name: str,
    before: Sequence[Any],
    after: Sequence[Any],
    make: Callable[[Any], Row],
    stays: Callable[[Any], bool],
) -> None:
    held = {item.id: item for item in before}
    put = []
    for item in after:
        known = held.pop(item.id, None)
        if known is not item and known != item:
            put.append(make(item))
    if put:
        rows[f"put_{name}"] = put
    # What is over stays in its table, though the state keeps only the last of it. What a subgraph
    # had open goes with its run.
    gone = [item for item in held.values() if item.source.ns or not stays(item)]
    if gone:
        rows[f"drop_{name}"] = [(number, item.id) for item in gone]


def _is_over(item: OpenLoop | Intention) -> bool:
    return item.resolved if isinstance(item, OpenLoop) else not item.open


class Rows:
    """Makes the rows of one thread's items, as of a checkpoint."""

    def __init__(self, codec: Codec, number: int, thread_id: str, at: str) -> None:
        self._number = number
        self._codec = codec
        self._thread_id = thread_id
        self._at = at

    def loop(self, loop: OpenLoop) -> Row:
        return (
            self._number, self._thread_id, loop.id, loop.kind, self._text(loop.description),
            self._json(loop.context), loop.ref, moment(loop.opened_at), moment(loop.changed_at),
            moment(loop.closed_at), loop.closed_in, self._text(loop.outcome),
            *self._where(loop.source), loop.confidence, self._at, self._json(loop.extra),
        )  # fmt: skip

    def intention(self, each: Intention) -> Row:
        return (
            self._number, self._thread_id, each.id, self._text(each.text), each.aim,
            moment(each.opened_at), moment(each.closed_at), each.closed_in,
            self._text(each.outcome), *self._where(each.source), each.confidence, self._at,
            self._json(each.extra),
        )  # fmt: skip

    def context(self, item: ContextItem) -> Row:
        value = to_json(item.value)
        return (
            self._number, self._thread_id, item.id, item.key, self._sealed(value),
            self._json(item.metadata), moment(item.opened_at), moment(item.changed_at),
            *self._where(item.source), item.confidence, self._at, self._json(item.extra),
        )  # fmt: skip

    def todo(self, todo: Todo, place: int) -> Row:
        return (
            self._number, self._thread_id, todo.id, place, todo.listed, self._text(todo.content),
            todo.status, todo.priority, todo.tracker, todo.ref, moment(todo.opened_at),
            moment(todo.changed_at), moment(todo.closed_at), *self._where(todo.source),
            todo.confidence, self._at, self._json(todo.extra),
        )  # fmt: skip

    @staticmethod
    def _where(source: Source) -> Row:
        return (
            source.checkpoint_id or "", source.ns, source.node, source.channel, source.message_id,
            source.task_id, source.tool_call_id, source.rule, source.author,
        )  # fmt: skip

    def _text(self, text: str | None) -> str | None:
        return None if text is None else self._codec.seal_text(text)

    def _json(self, held: Any) -> str | None:
        return self._sealed(to_json(dict(held))) if held else None

    def _sealed(self, text: str) -> str:
        sealed = self._codec.seal_text(text)
        return text if sealed is text else to_json(sealed)


@lru_cache(1024)
def due_json(due: tuple[Due, ...]) -> str:
    return to_json([each.node if each.index is None else [each.node, each.index] for each in due])


def due_of(held: str | list[Any] | None) -> tuple[Due, ...]:
    try:
        made = json.loads(held) if isinstance(held, str) else held or []
        return tuple(Due(each) if isinstance(each, str) else Due(*each) for each in made)
    except (ValueError, TypeError):
        logger.warning("what is due can't be read, and is not shown: verify() tells more")
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
