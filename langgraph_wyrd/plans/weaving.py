"""Storing, for the pillars: what a put or a task's writes say, as events and as rows to show."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langgraph_wyrd.extraction.due import CONTROL, due
from langgraph_wyrd.extraction.extracting import messages_of
from langgraph_wyrd.extraction.messages import has_results
from langgraph_wyrd.extraction.policy import Channels
from langgraph_wyrd.extraction.registry import Extractors, Failure
from langgraph_wyrd.extraction.view import Fresh, TaskWrite, View
from langgraph_wyrd.plans.ledger import event_sum
from langgraph_wyrd.plans.shown import changed_rows, due_json, due_of, to_json
from langgraph_wyrd.plans.woven import BASE_EVERY, Notes, Weave, Woven
from langgraph_wyrd.state.events import Event, Moment, base
from langgraph_wyrd.state.fold import fold
from langgraph_wyrd.state.labels import AutoLabels
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.overlay import advance, rank
from langgraph_wyrd.state.status import with_status
from langgraph_wyrd.store.frames import Entry
from langgraph_wyrd.store.names import given, stored
from langgraph_wyrd.store.statements import Row
from langgraph_wyrd.store.values import Codec

Told = list[tuple[Moment, tuple[Event, ...]]]

UNSHOWN: Row = (None,) * 7  # what `advance` leaves as it is


@dataclass(frozen=True)
class Weaver:
    """What reads the pillars out of checkpoints; one a database."""

    extractors: Extractors
    channels: Channels
    labels: AutoLabels | None = None
    _me: int = field(default_factory=lambda: secrets.randbits(61), compare=False)

    @property
    def writer(self) -> int:
        """Who it is that moves a thread; a process that was forked is another."""
        return self._me + os.getpid()

    def put(
        self,
        view: View,
        before: Woven | None,
        root: str | None,
        thread_id: str,
        notes: Notes,
    ) -> tuple[Woven, tuple[Event, ...]]:
        """A checkpoint, and the events that it adds to the ledger; `notes` are of its own tasks."""
        at = Moment(view.checkpoint_id, view.ns, view.ts)
        state = WorkingState(thread_id=given(thread_id)) if before is None else before.state
        start = advance(state, () if before is None else before.overlay, at)
        view = view.after(start, self.channels)
        facts, failures = self.extractors(view, thread_id)
        state, events = fold(start, facts, at)
        events += tuple(map(_failed, failures))
        depth = 1 if before is None else before.depth + 1
        if depth >= BASE_EVERY:
            events += (base(state),)
            depth = 0
        woven = Woven(at.checkpoint_id, state, tuple(due(view)), root, depth, notes=notes)
        return woven, events

    def writes(self, view: View, woven: Woven, task: str, thread_id: str) -> tuple[Event, ...]:
        """What a task's writes say at a checkpoint that is the newest of its namespace."""
        seen = woven.seen()
        facts, failures = self.extractors(view.after(seen, self.channels), thread_id)
        _, events = fold(seen, facts, Moment(view.checkpoint_id, view.ns, view.ts, task))
        return events + tuple(map(_failed, failures))

    def told(
        self, woven: Woven, ns: str, versions: Mapping[str, Any], thread_id: str,
        writes: Sequence[TaskWrite],
    ) -> tuple[Woven, Told]:  # fmt: skip
        """A checkpoint with what its tasks had said before it was stored, and their events."""
        by_task: dict[str, list[TaskWrite]] = {}
        for write in writes:
            by_task.setdefault(write.task, []).append(write)
        told: Told = []
        for task, held in by_task.items():
            if not matter([(write.channel, write.value) for write in held]):
                continue
            at = Moment(woven.checkpoint, ns, woven.state.ts, task)
            view = task_view(woven, ns, versions, held)
            events = self.writes(view, woven, task, thread_id)
            told.append((at, events))
            woven = over(woven, at, events)
        return woven, told


def belongs_to(metadata: Mapping[str, Any], ns: str) -> tuple[str | None, str | None]:
    """Whose run a checkpoint's metadata says it is of: a subgraph's root checkpoint, the user."""
    parents, user = metadata.get("parents"), metadata.get("user_id")
    root = parents.get("") if ns and isinstance(parents, Mapping) else None
    return (
        stored(root, "a parent") if isinstance(root, str) else None,
        stored(user, "user_id") if isinstance(user, str) else None,
    )


def task_view(
    woven: Woven, ns: str, versions: Mapping[str, Any], writes: Sequence[TaskWrite]
) -> View:
    """What extractors see of a task's writes."""
    return View(
        woven.checkpoint, ns, ts=woven.state.ts, versions=versions, values=woven.sends,
        writes=writes, putting=False,
    )  # fmt: skip


def _failed(failure: Failure) -> Event:
    return Event("thread", "failed", failure.extractor, {"error": failure.error})


def matter(writes: Iterable[tuple[str, Any]]) -> bool:
    """Whether a task's writes say anything before the next checkpoint does."""
    return any(channel in CONTROL or has_results(value) for channel, value in writes)


def said_by(woven: Woven, task: str) -> tuple[Event, ...]:
    """What a task said so far."""
    return next((events for at, events in woven.overlay if at.task == task), ())


def over(woven: Woven, at: Moment, events: tuple[Event, ...]) -> Woven:
    """A namespace with what one of its tasks said now, after what it said before."""
    others = [each for each in woven.overlay if each[0].task != at.task]
    others.append((at, said_by(woven, at.task) + events))
    return replace(woven, overlay=tuple(sorted(others, key=lambda each: rank(each[0].task))))


def put_view(
    *,
    id: str,
    ns: str,
    parent: str | None,
    ts: str | None,
    source: str | None,
    step: int | None,
    metadata: Mapping[str, Any],
    values: Mapping[str, Any],
    versions: Mapping[str, Any],
    seen: Mapping[str, Mapping[str, Any]],
    before: Mapping[str, Entry],
    channels: Mapping[str, Entry],
    fresh: Mapping[str, Sequence[int]],
    notes: Sequence[TaskWrite],
    sealed: bool,
) -> View:
    """What extractors see of a checkpoint; `before` are its parent's channels."""
    changed = frozenset(
        given(name)
        for name, entry in channels.items()
        if (old := before.get(name)) is None or (entry is not old and not entry.same_value(old))
    )
    gone = frozenset(
        given(name)
        for name, entry in before.items()
        if entry.has_value
        and not ((now := channels.get(name)) is not None and (now.has_value or entry.is_snapshot))
    )
    news = {name: Fresh(values[name], places) for name, places in fresh.items()}
    if (remembered := messages_of(values)) is not None:  # a functional graph's
        values = {**values, "messages": remembered}
        news["messages"] = Fresh(remembered, range(len(remembered)))
        changed |= {"messages"}
    return View(
        id, ns, parent, ts, source, step, metadata, values, versions, seen, changed, gone, news,
        notes, sealed=sealed,
    )  # fmt: skip


def event_rows(
    codec: Codec, number: int, at: Moment, events: Sequence[Event], first: int = 0
) -> list[Row]:
    rows = []
    for n, event in enumerate(events, first):
        body = codec.seal_text(to_json(event.body))
        row = (
            at.ns, at.checkpoint_id, at.task, n, event.pillar, event.op, event.item, body,
            to_json(event.source),
        )  # fmt: skip
        rows.append((number, *row, event_sum(*row)))
    return rows


def show(
    codec: Codec, number: int, thread_id: str, weave: Weave, user: str | None
) -> tuple[Weave, dict[str, list[Row]], Row]:
    """The weave with its tables up to date, the rows for that, and the thread's columns.

    What a subgraph changed counts as changed at the root's checkpoint, as in tables made anew.
    """
    state = weave.visible()
    rows = changed_rows(codec, number, thread_id, weave.shown, state, weave.top or "")
    return replace(weave, shown=state), rows, columns(codec, state, user)


def shown_since(weave: Weave, due: str | None) -> WorkingState:
    """A thread's state with what its column says is due: tasks end without writing to the column,
    so for as long as others run, more may stand there than is due still."""
    state, column = weave.visible(), due_of(due)
    at_first = {each for woven in weave.spaces.values() for each in woven.due}
    lags = set(state.due) < set(column) <= at_first
    return with_status(state, due=column) if lags else state


def columns(codec: Codec, state: WorkingState, user: str | None) -> Row:
    """A thread's own columns, in the order of `advance`."""
    return (
        state.status,
        codec.seal_text((state.reason or "").replace("\0", "\N{REPLACEMENT CHARACTER}")),
        due_json(state.due),
        "" if state.title is None else codec.seal_text(state.title),
        user,
        len(state.open_loops),
        len(state.open_todos),
    )
