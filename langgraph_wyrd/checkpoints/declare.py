"""Storing what a person or an agent declares: rows of the journal, and the tables that show them.

What is said is stored when `save` returns, whether the thread has a checkpoint yet or not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from langgraph_wyrd.checkpoints import (
    delta_channels,
    journal,
    path,
    points,
    projection,
    read,
    states,
    working,
)
from langgraph_wyrd.checkpoints.cache import Thread, beginning
from langgraph_wyrd.checkpoints.delete import locked, too_late
from langgraph_wyrd.checkpoints.listing import LIST_LOOPS
from langgraph_wyrd.checkpoints.lookup import is_there, thread_row
from langgraph_wyrd.checkpoints.working import NamespaceState
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import EditConflict
from langgraph_wyrd.extraction.messages import conversation, listed
from langgraph_wyrd.state.editing import Editing, task_of
from langgraph_wyrd.state.events import Event, Moment, same
from langgraph_wyrd.state.facts import Opens
from langgraph_wyrd.state.fold import fold
from langgraph_wyrd.state.merge import item_fields
from langgraph_wyrd.state.model import PILLARS, Item, OpenLoop, WorkingState
from langgraph_wyrd.state.model_report import READ, Findings, Report, weighed
from langgraph_wyrd.state.pending import moment_of
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.rows import fetch, insert, now
from langgraph_wyrd.storage.scripts import Command, Script
from langgraph_wyrd.storage.tables import JOURNAL, OPEN_LOOPS

_MOST_PAST = 1000  # loops of a message that are over
_OVER = (
    "AND (rule = 'model' OR message_id = ?) "
    "AND (closed_at IS NOT NULL OR closed_in IS NOT NULL) LIMIT ?"
)


class Where(NamedTuple):
    """Where something is said, as far as the run that says it knows."""

    root: str | None = None  # the root checkpoint that the run's step started from
    run_id: str | None = None
    node: str | None = None
    agent: str | None = None

    def told(self, event: Event, current: WorkingState) -> Event:
        """What is opened, with the node, agent and run that say it, and the message they are at."""
        if event.op != "open" or self.node is None:
            return event
        items: tuple[Item, ...] = (*current.loops, *current.intentions)
        seen = [
            (item.opened_at or "", place, item.source.message_id)
            for place, item in enumerate(items)
            if item.source.message_id is not None and not item.source.ns
        ]
        about = {
            "node": self.node, "agent": self.agent, "run_id": self.run_id,
            "message_id": max(seen)[2] if seen else None,
        }  # fmt: skip
        return replace(
            event, source={**{k: v for k, v in about.items() if v is not None}, **event.source}
        )


class Saved(NamedTuple):
    """A thread's state before something was said, and with it."""

    before: WorkingState
    after: WorkingState


Said = Iterable[tuple[str, Event]]  # by namespace
Say = Callable[[WorkingState], Said]


@dataclass(slots=True)
class Declaration:
    """One save."""

    dialect: str
    codec: Codec
    thread_id: str
    where: Where = field(default_factory=Where)
    author: str | None = None
    at: str = field(default_factory=now)

    # ---- scripts

    def begin(self) -> Script[WorkingState]:
        """The state that an edit starts from: an empty one, where nothing is stored yet."""
        thread = yield from thread_row(self.dialect, self.thread_id)
        if thread.deleted:
            raise too_late(self.thread_id)
        here = yield from self._standing(thread)
        return working.visible(here)

    def save(self, edit: Editing) -> Script[Saved]:
        """Store an edit. If the thread moved on since it began, it is said to the state of now.

        Raises:
            EditConflict: Somebody else changed the same things otherwise.
        """

        def say(current: WorkingState) -> Said:
            if not _alike(edit.base, current):
                _refuse_conflicts(self.thread_id, edit, current)
            again = edit.said_again(current, self.at)
            keyed.update(again.keyed)
            return again.events

        keyed: set[str] = set()
        return (yield from self.lay(say, keyed))

    def lay(self, say: Say, keyed: Collection[str] = ()) -> Script[Saved]:
        """Store what `say` has to say of the thread's state; of what has a key, nothing twice."""
        thread = yield from locked(self.dialect, self.thread_id)
        if thread is None:
            raise too_late(self.thread_id)
        here = yield from self._standing(thread)
        current = working.visible(here)
        said = [*say(current)]
        for id in keyed:
            if (yield from fetch(JOURNAL, thread=thread.key, item=id)):  # it is over, and long ago
                said = [each for each in said if each[1].item != id]
        if not said:
            return Saved(current, current)
        yield from self._store(thread, here, said)
        after = working.visible(here)
        shown = (current, after)
        if here.head != thread.head:  # said on another branch than the head's
            shown = yield from self._of_head(thread)
        steps = projection.changes(
            thread.key, self.thread_id, *shown, thread.head or "", self.codec.sealer
        )
        columns = projection.columns(shown[1], thread.key, self.codec.sealer)
        yield [
            *(Command(step.sql, [step.params]) for step in steps),
            Command(states.SHOW, [(*columns, thread.key)]),
            Command(states.USED, [(self.at, thread.key)]),
        ]
        return Saved(current, after)

    # ---- their parts

    def _standing(self, thread: Thread) -> Script[Thread]:
        """The thread as it is where the run stands that speaks; else at its head."""
        root, head = self.where.root, thread.head
        if root not in (None, head) and (yield from is_there(thread.key, "", root)):
            head = root
        here = replace(thread, spaces={}, head=head)
        yield from states.load_thread(self.dialect, self.codec, here, values=False)
        if "" not in here.spaces:
            state = NamespaceState("", WorkingState(thread_id=given(self.thread_id)))
            here.spaces[""] = replace(beginning(), state=state)
        return here

    def _store(
        self, thread: Thread, here: Thread, said: Sequence[tuple[str, Event]]
    ) -> Script[None]:
        """The journal's rows; `here` has what was said from then on."""
        current = working.visible(here)
        kinds = journal.declared(current)
        by_space: dict[str, list[Event]] = {}
        for ns, plain in said:
            event = self.where.told(plain, current)
            name = stored(ns, "a namespace")
            by_space.setdefault(name if name in here.spaces else "", []).append(event)
            if event.pillar == "loop" and event.op == "open":
                kinds[event.item] = str(event.body.get("kind"))
        rows = []
        for ns, events in by_space.items():
            space = here.spaces[ns]
            state: NamespaceState = space.state
            task = task_of(self.at, str(thread.version))
            at = moment_of(state.checkpoint, given(ns), None, task)
            here.spaces[ns] = replace(space, state=state.also(at, tuple(events)))
            rows += journal.rows_of(
                self.codec, thread.key, thread.version, ns, space.checkpoint, self.where.run_id,
                self.author, self.at, events, kinds,
            )  # fmt: skip
        yield Command(insert(JOURNAL), rows)

    def _of_head(self, thread: Thread) -> Script[tuple[WorkingState, WorkingState]]:
        """What the tables show of the head before, and now."""
        then, now = replace(thread, spaces={}), replace(thread, spaces={})
        load = partial(states.load_thread, self.dialect, self.codec, values=False)
        yield from load(then, until=thread.version - 1)
        yield from load(now)
        return working.visible(then), working.visible(now)


def _refuse_conflicts(thread_id: str, edit: Editing, current: WorkingState) -> None:
    conflicts = edit.conflicts(current)
    if conflicts:
        raise EditConflict(
            f"thread {given(thread_id)!r} was changed while it was edited: {conflicts[0]}"
            + (f" (and {len(conflicts) - 1} more)" if len(conflicts) > 1 else "")
            + ". Nothing was stored: look at the conflicts, and edit the state of now.",
            base=edit.base, ours=edit.state, theirs=current, conflicts=conflicts,
        )  # fmt: skip


def _alike(one: WorkingState, other: WorkingState) -> bool:
    """Whether two states say the same, wherever their thread stands."""
    if one is other:
        return True
    for pillar in PILLARS:
        olds, news = getattr(one, pillar), getattr(other, pillar)
        if [item.id for item in olds] != [item.id for item in news]:
            return False
        if not all(same(item_fields(a), item_fields(b)) for a, b in zip(olds, news, strict=True)):
            return False
    return True


# ---- what a model reports


def to_read(dialect: str, codec: Codec, thread_id: str) -> Script[tuple[WorkingState, list[Any]]]:
    """What a model is asked about: the state at a thread's head, and its conversation."""
    state = yield from points.state_at(dialect, codec, thread_id, None)
    found = yield from read.get(dialect, codec, thread_id, "", None)
    if found is None:
        return state, []
    values, versions = found.checkpoint["channel_values"], found.checkpoint["channel_versions"]
    if "messages" not in values and "messages" in versions:
        held = yield from delta_channels.history(dialect, codec, thread_id, "", None, ["messages"])
        writes, seed = held["messages"]
        return state, conversation(seed, [value for _, _, value in writes]) or []
    return state, listed(values.get("messages")) or []


def report(declaration: Declaration, said: Report) -> Script[tuple[WorkingState, Findings]]:
    """Store what counts of a report; the thread's state without it, and what came of it.

    Raises:
        EditConflict: The thread went back to before what was read.
    """
    found: list[Findings] = []

    def say(current: WorkingState) -> Said:
        if said.at is not None and said.at not in line:
            raise EditConflict(
                f"thread {given(declaration.thread_id)!r} went back to another point while a "
                "model read it. Nothing was stored: ask again",
                base=None, ours=said, theirs=current, conflicts=(),
            )  # fmt: skip
        weighed_ = weighed(said, current, past)
        found.append(weighed_)
        at = Moment(
            current.checkpoint_id or "", "", declaration.at, task_of(declaration.at, "model")
        )
        _, events = fold(current, weighed_.facts, at)
        items: tuple[Item, ...] = (*current.loops, *current.intentions)
        spaces = {item.id: item.source.ns for item in items}
        return [(spaces.get(event.item, ""), event) for event in events] + _noted(current, said)

    dialect, codec = declaration.dialect, declaration.codec
    thread = yield from points.known(dialect, declaration.thread_id)
    line: set[str] = set()
    if thread.head is not None:
        line = {given(id) for id in (yield from path.line(thread.key, thread.head))}
    past = yield from _past(codec, thread, said)
    saved = yield from declaration.lay(say)
    made = found[-1] if found else Findings(saved.after)
    return saved.before, replace(made, state=saved.after)


def _past(codec: Codec, thread: Thread, said: Report) -> Script[list[OpenLoop]]:
    """Loops that are over, and that the report may be about: a state has only the last of them."""
    opens = [fact for fact in said.facts if isinstance(fact, Opens)]
    rows: dict[str, Any] = {}
    for id in {fact.source.message_id or "": None for fact in opens}:
        found = yield from fetch(OPEN_LOOPS, _OVER, id, _MOST_PAST, thread=thread.key)
        rows.update((row.id, row) for row in found)
    return [LIST_LOOPS.shown(codec, row) for row in rows.values()]


def _noted(current: WorkingState, said: Report) -> list[tuple[str, Event]]:
    """A note of what was read, so that the same is not read again."""
    if said.read is None:
        return []
    held = current.extra.get(READ)
    held = held if isinstance(held, dict) else {}
    if held.get(said.author) == said.read:
        return []
    body = {"extra": {READ: {**held, said.author: said.read}}}
    return [("", Event("thread", "change", "", body, {"rule": "model", "author": said.author}))]
