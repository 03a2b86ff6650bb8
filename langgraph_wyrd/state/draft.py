"""A working state while events are applied to it.

`fold` and `replay` both change a state only through here, so they can't come out differently.
What no event touches is shared with the state before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from langgraph_wyrd.state import codec
from langgraph_wyrd.state.events import Event, Moment
from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    OpenLoop,
    WorkingState,
    shortened,
)
from langgraph_wyrd.state.shelves import Context, Intentions, Loops, TodoLists, opened

TITLE = 80  # characters


class Draft:
    """A state that events are being applied to. A pillar is taken apart when it is looked at, and
    put together anew only when an event touched it."""

    __slots__ = (
        "_context",
        "_intentions",
        "_loops",
        "_todos",
        "before",
        "extra",
        "title",
        "touched",
    )

    def __init__(self, before: WorkingState) -> None:
        self._start(before)

    def _start(self, before: WorkingState) -> None:
        self.before = before
        self.title = before.title
        self.extra: Mapping[str, Any] = before.extra
        self.touched: set[str] = set()
        self._loops: Loops | None = None
        self._todos: TodoLists | None = None
        self._context: Context | None = None
        self._intentions: Intentions | None = None

    @property
    def loops(self) -> Loops:
        if self._loops is None:
            self._loops = Loops(self.before.loops)
        return self._loops

    @property
    def todos(self) -> TodoLists:
        if self._todos is None:
            self._todos = TodoLists(self.before.todos)
        return self._todos

    @property
    def context(self) -> Context:
        if self._context is None:
            self._context = Context(self.before.context)
        return self._context

    @property
    def intentions(self) -> Intentions:
        if self._intentions is None:
            self._intentions = Intentions(self.before.intentions)
        return self._intentions

    # ---- events

    def apply(self, event: Event, at: Moment) -> None:
        """Apply an event. One that names what is not there, or is of no known kind, does nothing:
        a newer release may have written it."""
        how = _APPLY.get((event.pillar, event.op))
        if how is not None:
            self.touched.add(event.pillar)
            how(self, event, at)

    def close_loop(self, item: str, outcome: str | None, at: Moment) -> None:
        self.touched.add("loop")
        self.loops.close(item, outcome, at)

    def _open_loop(self, event: Event, at: Moment) -> None:
        self.open_loop(opened(OpenLoop, event, at, event.body))

    def open_loop(self, loop: OpenLoop) -> None:
        self.touched.add("loop")
        self.loops.add(loop)
        if loop.kind == "request" and loop.confidence != "heuristic":
            self._entitle(loop.description)

    def _open_intention(self, event: Event, at: Moment) -> None:
        self.open_intention(opened(Intention, event, at, event.body))

    def open_intention(self, intention: Intention) -> None:
        self.touched.add("intention")
        self.intentions.add(intention)
        if intention.aim == "request" and intention.confidence != "heuristic":
            self._entitle(intention.text)

    def _entitle(self, text: str) -> None:
        if self.title is None:
            self.title = shortened(text, TITLE) or None

    def _change_thread(self, event: Event, at: Moment) -> None:
        more = event.body.get("extra")
        if isinstance(more, Mapping):
            self.extra = {**self.extra, **more}

    def _replace_all(self, event: Event, at: Moment) -> None:
        state = codec.from_dict(WorkingState, event.body)
        self._start(replace(state, thread_id=self.before.thread_id))

    # ---- the end

    def end_step(self) -> None:
        """As if the state was put together here: what it does not keep must not come back."""
        if self._todos is not None:
            self._todos.trim()

    def finish(self, at: Moment | None = None) -> WorkingState:
        """The state, within its bounds, at a moment (None: where it was)."""
        before, touched = self.before, self.touched
        return WorkingState(
            thread_id=before.thread_id,
            checkpoint_id=before.checkpoint_id if at is None else at.checkpoint_id,
            ts=before.ts if at is None else at.ts,
            title=self.title,
            todos=self.todos.done() if "todo" in touched else before.todos,
            context=self.context.done() if "context" in touched else before.context,
            loops=self.loops.done() if "loop" in touched else before.loops,
            intentions=self.intentions.done() if "intention" in touched else before.intentions,
            due=before.due,
            status=before.status,
            reason=before.reason,
            extra=self.extra,
            ns=before.ns if at is None else at.ns,
        )


Apply = Callable[[Draft, Event, Moment], None]
_APPLY: dict[tuple[str, str], Apply] = {
    ("loop", "open"): Draft._open_loop,
    ("loop", "change"): lambda draft, event, at: draft.loops.change(event, at),
    ("loop", "close"): lambda draft, event, at: draft.close_loop(
        event.item, event.body.get("outcome"), at
    ),
    ("todo", "open"): lambda draft, event, at: draft.todos.open(event, at),
    ("todo", "change"): lambda draft, event, at: draft.todos.change(event, at),
    ("todo", "close"): lambda draft, event, at: draft.todos.change(event, at),
    ("context", "open"): lambda draft, event, at: draft.context.add(
        opened(ContextItem, event, at, event.body)
    ),
    ("context", "change"): lambda draft, event, at: draft.context.change(event, at),
    ("context", "drop"): lambda draft, event, at: draft.context.drop(event),
    ("intention", "open"): Draft._open_intention,
    ("intention", "change"): lambda draft, event, at: draft.intentions.change(event, at),
    ("intention", "close"): lambda draft, event, at: draft.intentions.close(event, at),
    ("thread", "change"): Draft._change_thread,
    ("thread", "base"): Draft._replace_all,
}


def apply_all(before: WorkingState, events: Iterable[Event], at: Moment) -> WorkingState:
    draft = Draft(before)
    for event in events:
        draft.apply(event, at)
    return draft.finish(at)
