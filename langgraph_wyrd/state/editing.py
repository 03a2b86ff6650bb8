"""What a person or an agent says outright: the verbs of an edit, and what they come to.

An edit is a series of verbs on a state. It keeps them, so that they can be said again to a state
that moved on meanwhile: what the other side did too is then passed over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from langgraph_wyrd.errors import InvalidInput, InvalidTransition, ItemNotFound
from langgraph_wyrd.state.codec import as_json, not_json
from langgraph_wyrd.state.draft import Draft
from langgraph_wyrd.state.events import DEEPEST, Event, Moment, Op, Pillar, packed, plain, same
from langgraph_wyrd.state.fold import MOST_CONTEXT, OVERRULED
from langgraph_wyrd.state.merge import Conflict, matched, merge
from langgraph_wyrd.state.model import (
    FINISHED,
    PILLARS,
    ContextItem,
    Intention,
    Item,
    LoopKind,
    OpenLoop,
    Source,
    Todo,
    WorkingState,
)
from langgraph_wyrd.state.pending import EDIT

if TYPE_CHECKING:
    from langgraph_wyrd.state.diff import Change, StateDiff

TRACKER = "edit"  # the list of the todos that were added by hand: no agent rewrites it
MOST_TEXT = 4000  # characters; more than an extractor takes, as nobody else has these words
MOST_VALUE = 100_000  # characters of a context value, as JSON

# Loops that somebody may open by hand. What the graph itself waits for, only the graph can say.
BY_HAND = ("note", "decision", "question", "request", "task", "promise")

Notes = Mapping[str, Any] | str | None  # what goes with a loop or a context entry

T = TypeVar("T", Todo, OpenLoop)
Priority = Literal["low", "medium", "high", "critical"]
_PRIORITIES = get_args(Priority)
_GROUPS = {name[0]: name for name in PILLARS}


def task_of(ts: str, token: str) -> str:
    """The name under which an edit stands among the events; it says when."""
    return f"{EDIT}{ts}:{token}"


@dataclass(slots=True)
class Editing:
    """A state, and what is said about it. `events` lead from `base` to `state`, by namespace."""

    base: WorkingState
    author: str
    ts: str
    token: str
    again: bool = False  # said again to another state: what is so already is passed over
    verbs: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)  # name, arguments
    events: list[tuple[str, Event]] = field(default_factory=list)
    keyed: set[str] = field(default_factory=set)  # items whose id a caller's key gives
    _draft: Draft | None = None

    @property
    def state(self) -> WorkingState:
        """As it is with all that was said."""
        return self.base if self._draft is None else self._draft.finish()

    def say(self, name: str, *args: Any) -> Any:
        """Say one of the verbs below; one that can't be said changes nothing."""
        before = len(self.events)
        made = getattr(self, name)(*args)
        self.verbs.append((name, args))
        at = Moment(self.base.checkpoint_id or "", "", self.ts, task_of(self.ts, self.token))
        for _, event in self.events[before:]:
            if self._draft is None:
                self._draft = Draft(self.base)
            self._draft.apply(event, at)
        if made is None:
            return None
        return next(item for item in getattr(self.state, _GROUPS[made[0]]) if item.id == made)

    def said_again(self, base: WorkingState, ts: str | None = None) -> Editing:
        """The same, said to another state."""
        found = Editing(base, self.author, ts or self.ts, self.token, again=True)
        for name, args in self.verbs:
            found.say(name, *args)
        found.again = self.again
        return found

    def conflicts(self, now: WorkingState) -> tuple[Conflict, ...]:
        """Where this contradicts what has become of the state meanwhile."""
        ours = self.state
        found = merge(self.base, ours, now).conflicts
        old, mine, theirs = (_explicit(each) for each in (self.base, ours, now))
        before = None if old is None else old.id
        if mine is None or theirs is None or before in (mine.id, theirs.id):
            return found
        if mine.text != theirs.text:
            texts = (None if old is None else old.text, mine.text, theirs.text)
            found += (Conflict("intentions", theirs.id, "text", *texts),)
        return found

    # ---- todos

    def add_todo(self, content: str, priority: str, key: str | None = None) -> str:
        if priority not in _PRIORITIES:
            raise InvalidInput(f"priority {priority!r}: use one of {', '.join(_PRIORITIES)}")
        body = {"content": _words(content, "a todo"), "tracker": TRACKER, "confidence": "declared"}
        if priority != "medium":
            body["priority"] = priority
        return self._opens("t", "todo", body, key)

    def complete_todo(self, id: str) -> str:
        return self._turn_todo(id, "completed", "completed", lambda todo: todo.open)

    def cancel_todo(self, id: str) -> str:
        return self._turn_todo(id, "cancelled", "cancelled", lambda todo: todo.open)

    def start_todo(self, id: str) -> str:
        return self._turn_todo(id, "started", "in_progress", lambda todo: todo.status == "pending")

    def reopen_todo(self, id: str) -> str:
        return self._turn_todo(id, "reopened", "pending", lambda todo: self.again or not todo.open)

    def _turn_todo(self, id: str, verb: str, status: str, may: Callable[[Todo], bool]) -> str:
        """Give a todo a status, if it may have it: said again, it may have it already."""
        todo = self._one(Todo, self.state.todos, id, "todo")
        if not may(todo) and not (self.again and todo.status == status):
            raise self._illegal(verb, todo, todo.status)
        if todo.status == status:
            return todo.id
        op: Op = "close" if status in FINISHED else "change"
        body: dict[str, Any] = {"status": status}
        if todo.tracker == TRACKER:
            if (listed := status in ("pending", "in_progress")) != todo.listed:
                body["listed"] = listed
        else:  # its tracker will go on saying what it said, until it says something new
            body["extra"] = {OVERRULED: todo.extra.get(OVERRULED) or todo.status}
        self._record("todo", op, todo.id, body, todo.source.ns)
        return todo.id

    # ---- context

    def set_context(self, key: str, value: Any, metadata: Notes) -> str:
        _words(key, "a context key")
        _exact(key, "a context key")
        value = _exact(value, f"context {key!r}")
        if len(json.dumps(value, ensure_ascii=False)) > MOST_VALUE:
            raise InvalidInput(
                f"context {key!r} has more than {MOST_VALUE:,} characters as JSON: keep it in a "
                "channel or a file, and its name here"
            )
        metadata = _notes(metadata, f"the metadata of context {key!r}")
        value = plain(value)
        held = next((item for item in self.state.context if item.key == key), None)
        if held is None:
            if len(self.state.context) >= MOST_CONTEXT:
                raise InvalidInput(f"there are {MOST_CONTEXT} context entries: remove one first")
            body = {"key": key, "value": value, "confidence": "declared"}
            if metadata:
                body["metadata"] = plain(metadata)
            return self._opens("c", "context", body)
        body = {} if same(value, held.value) else {"value": value}
        if metadata is not None and not same(plain(metadata), dict(held.metadata)):
            body["metadata"] = plain(metadata)
        if body:
            body["confidence"] = "declared"
            self._record("context", "change", held.id, body, held.source.ns)
        return held.id

    def remove_context(self, key: str) -> None:
        held = next((item for item in self.state.context if item.key == key), None)
        if held is not None:
            self._record("context", "drop", held.id, {}, held.source.ns)
        elif not self.again:
            raise ItemNotFound(f"there is no context {key!r} in {self._where}")

    # ---- loops

    def add_open_loop(
        self, description: str, context: Notes, kind: LoopKind, key: str | None = None
    ) -> str:
        if kind not in BY_HAND:
            of = "no kind of loop" if kind not in get_args(LoopKind) else "the graph's own to say"
            raise InvalidInput(f"kind {kind!r} is {of}: use one of {', '.join(BY_HAND)}")
        body: dict[str, Any] = {
            "kind": kind, "description": _words(description, "a loop"), "confidence": "declared",
        }  # fmt: skip
        if notes := _notes(context, "the loop's context"):
            body["context"] = plain(notes)
        return self._opens("l", "loop", body, key)

    def resolve_open_loop(self, id: str, outcome: str | None) -> str:
        loop = self._one(OpenLoop, self.state.loops, id, "loop")
        if loop.resolved:
            if self.again:
                return loop.id
            raise self._illegal("resolved", loop, f"resolved: {loop.outcome or 'no outcome said'}")
        body = {} if outcome is None else {"outcome": _words(outcome, "an outcome")}
        self._record("loop", "close", loop.id, body, loop.source.ns)
        return loop.id

    def decide(
        self, decision: str, rationale: str | None, action: str | None, key: str | None = None,
        metadata: Notes = None,
    ) -> str:  # fmt: skip
        parts = (("rationale", rationale), ("action", action))
        context: dict[str, Any] = {k: _words(text, k) for k, text in parts if text is not None}
        if notes := _notes(metadata, "the decision's metadata"):
            context["metadata"] = notes
        return self.add_open_loop(decision, context, "decision", key)

    def record_outcome(self, id: str, outcome: str) -> str:
        loop = self._one(OpenLoop, self.state.loops, id, "loop")
        if loop.kind != "decision":
            raise InvalidTransition(
                f"{loop.id} in {self._where} is a {loop.kind}, not a decision: "
                "resolve_open_loop closes it"
            )
        return self.resolve_open_loop(id, outcome)

    # ---- intentions

    def set_intention(self, text: str | None) -> str | None:
        wanted = None if text is None else _words(text, "an intention")
        held = [i for i in self.state.intentions if i.aim == "explicit" and i.open]
        if wanted is not None and held and held[-1].text == wanted:
            return held[-1].id
        outcome = "taken back" if wanted is None else "superseded"
        for each in held:
            self._record("intention", "close", each.id, {"outcome": outcome}, each.source.ns)
        if wanted is None:
            return None
        body = {"text": wanted, "aim": "explicit", "confidence": "declared"}
        return self._opens("i", "intention", body)

    # ---- what the verbs share

    @property
    def _where(self) -> str:
        return f"thread {self.base.thread_id!r}"

    def _opens(
        self, letter: str, pillar: Pillar, body: dict[str, Any], key: str | None = None
    ) -> str:
        seed = f"{self.token}\0{len(self.verbs)}"
        if key is not None:
            seed = f"key\0{_words(key, 'a key')}"
        id = f"{letter}-{blake2b(seed.encode(), digest_size=6).hexdigest()}"
        if key is not None:
            held: tuple[Item, ...] = getattr(self.state, _GROUPS[letter])
            if any(item.id == id for item in held):
                return id
            self.keyed.add(id)
        self._record(pillar, "open", id, body, "")
        return id

    def _record(self, pillar: Pillar, op: Op, item: str, body: dict[str, Any], ns: str) -> None:
        source = Source(rule=TRACKER, author=self.author)
        here = Moment(self.base.checkpoint_id or "")
        self.events.append((ns, Event(pillar, op, item, body, packed(source, here))))

    def _one(self, cls: type[T], items: tuple[T, ...], id: str, what: str) -> T:
        wanted = id.id if isinstance(id, cls) else id
        for item in items:
            if item.id == wanted:
                return item
        said = f"there is no {what} {wanted!r} in {self._where}"
        state: WorkingState = self.state
        words = {each.id: each.content for each in state.open_todos}
        if what == "loop":
            words = {each.id: each.description for each in state.open_loops}
        for known, text in words.items():
            if text == wanted:
                raise ItemNotFound(f"{said}: pass its id, {known!r}")
        ids = ", ".join(list(words)[:10]) or "none"
        raise ItemNotFound(f"{said}: the open ones are {ids}")

    def _illegal(self, verb: str, item: Todo | OpenLoop, status: str) -> InvalidTransition:
        return InvalidTransition(f"{item.id} in {self._where} can't be {verb}: it is {status}")


def _explicit(state: WorkingState) -> Intention | None:
    found = [i for i in state.intentions if i.aim == "explicit" and i.open]
    return found[-1] if found else None


def _words(text: Any, what: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"{what} is {text!r}: say it in words")
    if len(text) > MOST_TEXT:
        raise InvalidInput(f"{what} has {len(text):,} characters; {MOST_TEXT:,} is the most")
    return plain(text.strip())  # type: ignore[no-any-return]


def _notes(given: Any, what: str) -> dict[str, Any] | None:
    """What goes with a loop or a context entry. Text is kept as `{"text": …}`."""
    if given is None:
        return None
    if isinstance(given, str):
        given = {"text": given} if given.strip() else {}
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{what} is a {type(given).__name__}: pass text or a dict")
    notes: dict[str, Any] = _exact(dict(given), what)
    return notes


def _exact(value: Any, what: str) -> Any:
    """A value without subclasses; raises for what would not come back equal, like a tuple."""
    wrong = next(not_json(value, what, DEEPEST), None)
    if wrong is None and not same(plain(held := as_json(value)), held):
        wrong = f"{what} holds a NUL or half a character, which no database stores"
    if wrong is not None:
        raise InvalidInput(wrong)
    return held


# ---- a diff said of another thread: the verbs that come to the same

_TODO_VERBS = {
    "in_progress": "start_todo",
    "completed": "complete_todo",
    "cancelled": "cancel_todo",
    "pending": "reopen_todo",
}


def said_of_diff(draft: Any, diff: StateDiff) -> tuple[Conflict, ...]:
    """Say what a diff says, with the verbs of a draft; what could not be said."""
    left: list[Conflict] = []
    for pillar, _, change in diff.all_changes():
        try:
            said = _OF_PILLAR[pillar](draft, change, change.item)
        except InvalidInput:
            said = False
        if not said:
            left.append(Conflict(pillar, change.item.id, None, change.old, None, change.new))
    return tuple(left)


def _todo(draft: Any, change: Change, todo: Todo) -> bool:
    here: Any = _same(draft.state.todos, change.old or todo)
    if change.new is None:
        if here is not None and here.open:
            draft.cancel_todo(here.id)
        return True
    if here is None:
        here = draft.add_todo(todo.content, todo.priority)
    if here.status != todo.status:
        getattr(draft, _TODO_VERBS.get(todo.status, "start_todo"))(here.id)
    return bool(here.content == todo.content)


def _context(draft: Any, change: Change, item: ContextItem) -> bool:
    if change.new is not None:
        draft.set_context(item.key, item.value, dict(item.metadata) or None)
    elif any(each.key == item.key for each in draft.state.context):
        draft.remove_context(item.key)
    return True


def _loop(draft: Any, change: Change, loop: OpenLoop) -> bool:
    here: Any = _same(draft.state.loops, change.old or loop)
    if change.new is None or loop.resolved:
        if here is not None and not here.resolved:
            draft.resolve_open_loop(here.id, loop.outcome)
        return here is not None or change.old is None
    if here is not None:
        return not here.resolved
    draft.add_open_loop(loop.description, dict(loop.context) or None, loop.kind)
    return True


def _intention(draft: Any, change: Change, wanted: Intention) -> bool:
    now = draft.state.intention
    is_this = now is not None and now.text == wanted.text
    if change.new is not None and wanted.open:
        if not is_this:
            draft.set_intention(wanted.text)
    elif is_this and now.aim == "explicit":
        draft.set_intention(None)
    return True


_OF_PILLAR: dict[str, Any] = {
    "todos": _todo, "context": _context, "loops": _loop, "intentions": _intention,
}  # fmt: skip


def _same(items: tuple[Item, ...], item: Item) -> Item | None:
    """The item that is meant: by its id, else by what it says, an open one first."""
    found = next((each for each in items if each.id == item.id), None)
    if found is None:
        items = tuple(sorted(items, key=lambda each: not getattr(each, "open", True)))
        place = matched([item], items, False, added=True)
        found = items[place[0]] if place else None
    return found
