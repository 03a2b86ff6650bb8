"""A working state while events are applied to it, pillar by pillar.

`fold` and `replay` both change a state only through here, so they can't come out differently.
What no event touches is shared with the state before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from langgraph_wyrd.state import codec
from langgraph_wyrd.state.events import Event, Moment, Pillar, unpacked
from langgraph_wyrd.state.model import (
    FINISHED,
    LEFT,
    ONE,
    PILLARS,
    ContextItem,
    Intention,
    OpenLoop,
    Todo,
    WorkingState,
    shortened,
)

# What a state keeps of what is over. The events have the rest.
CLOSED_LOOPS = 16
LEFT_TODOS = 16
CLOSED_INTENTIONS = 8
TITLE = 80  # characters

T = TypeVar("T", Todo, ContextItem, OpenLoop, Intention)
Ends = TypeVar("Ends", OpenLoop, Intention)
Key = tuple[str, str | None, str]
_PLACING = frozenset(("listed", "place"))
_OVER: dict[str, Any] = {"closed_at": None, "closed_in": None, "outcome": None}


def loop_key(kind: str, ref: str | None, description: str) -> Key:
    """What makes two loops the same one: where there is no ref, the words."""
    return (kind, None, description) if ref is None else (kind, ref, "")


class Items(Generic[T]):
    """A pillar's items by id, in their order. What is not there can't be changed."""

    __slots__ = ("items",)

    def __init__(self, before: tuple[T, ...]) -> None:
        self.items: dict[str, T] = {item.id: item for item in before}

    def add(self, item: T) -> None:
        self.items.setdefault(item.id, item)  # the same event again is no news


class Loops(Items[OpenLoop]):
    """Loops as they were opened; and by their key which of them are open."""

    __slots__ = ("keys", "some_closed")

    def __init__(self, before: tuple[OpenLoop, ...]) -> None:
        self.items = {}
        self.keys: dict[Key, str] = {}
        self.some_closed = False
        for loop in before:
            self.items[loop.id] = loop
            if loop.closed_at is None and loop.closed_in is None:
                if loop.source.rule == LEFT and loop.elsewhere:
                    continue  # a call of the same name here is another one
                ref = loop.ref
                key = (loop.kind, None, loop.description) if ref is None else (loop.kind, ref, "")
                self.keys[key] = loop.id

    def closed(self, kind: str, ref: str) -> OpenLoop | None:
        """The last loop of this kind and ref that is closed."""
        for loop in reversed(self.items.values()):
            if loop.ref == ref and loop.kind == kind and loop.resolved:
                return loop
        return None

    def _enter(self, loop: OpenLoop) -> None:
        self.items[loop.id] = loop
        if not (loop.resolved or loop.left):
            self.keys[loop_key(loop.kind, loop.ref, loop.description)] = loop.id

    def add(self, loop: OpenLoop) -> None:
        if loop.id not in self.items:
            self._enter(loop)

    def change(self, event: Event, at: Moment) -> None:
        held = self.items.get(event.item)
        if held is None:
            return
        if event.body.get("open") is not True:
            self.items[held.id] = _changed(held, event.body, {"changed_at": at.ts})
        elif held.resolved:
            self._enter(replace(held, changed_at=at.ts, **_OVER))

    def close(self, event: Event, at: Moment) -> None:
        self.close_one(event.item, event.body.get("outcome"), at)

    def close_one(self, id: str, outcome: str | None, at: Moment) -> None:
        held = self.items.get(id)
        if held is None or held.closed_at is not None or held.closed_in is not None:
            return
        if held.source.rule != LEFT or not held.elsewhere:
            self.keys.pop(loop_key(held.kind, held.ref, held.description), None)
        # Written out, as it is made at every put: `replace` takes three times as long.
        self.items[id] = OpenLoop(
            id, held.kind, held.description, held.context, held.ref, held.opened_at, at.ts,
            at.ts, at.checkpoint_id, outcome, held.source, held.confidence, held.extra,
            held.thread_id,
        )  # fmt: skip
        self.some_closed = True

    def done(self, *, bounded: bool = True) -> tuple[OpenLoop, ...]:
        items = tuple(self.items.values())
        return _without_old(items, CLOSED_LOOPS) if bounded and self.some_closed else items


class Intentions(Items[Intention]):
    """The history of what was wanted."""

    __slots__ = ()

    def of_aim(self, aim: str) -> list[Intention]:
        """The open ones, oldest first."""
        return [
            each
            for each in self.items.values()
            if each.aim == aim and each.closed_at is None and each.closed_in is None
        ]

    def close(self, event: Event, at: Moment) -> None:
        held = self.items.get(event.item)
        if held is not None and held.open:
            self.items[held.id] = replace(
                held, closed_at=at.ts, closed_in=at.checkpoint_id,
                outcome=event.body.get("outcome"),
            )  # fmt: skip

    def change(self, event: Event, at: Moment) -> None:
        held = self.items.get(event.item)
        if held is not None:
            again = event.body.get("open") is True
            self.items[held.id] = (
                replace(held, **_OVER) if again else _changed(held, event.body, {})
            )

    def done(self, *, bounded: bool = True) -> tuple[Intention, ...]:
        items = tuple(self.items.values())
        return _without_old(items, CLOSED_INTENTIONS) if bounded else items


class Context(Items[ContextItem]):
    """Entries; and by their keys which they are."""

    __slots__ = ("keys",)

    def __init__(self, before: tuple[ContextItem, ...]) -> None:
        super().__init__(before)
        self.keys = {item.key: item.id for item in before}

    def get(self, key: str) -> ContextItem | None:
        return self.items.get(self.keys.get(key, ""))

    def add(self, item: ContextItem) -> None:
        if item.id not in self.items:
            self.items[item.id] = item
            self.keys[item.key] = item.id

    def change(self, event: Event, at: Moment) -> None:
        held = self.items.get(event.item)
        if held is not None:
            self.items[held.id] = _changed(held, event.body, {"changed_at": at.ts})

    def drop(self, event: Event, at: Moment) -> None:
        self.items.pop(event.item, None)

    def done(self) -> tuple[ContextItem, ...]:
        return tuple(self.items.values())


class Todos(Items[Todo]):
    """Each tracker's list, in its order; before them what left its list."""

    __slots__ = ("left", "lists")

    def __init__(self, before: tuple[Todo, ...]) -> None:
        self.items = {}
        self.left: dict[str, None] = {}
        self.lists: dict[str, list[str]] = {}
        for todo in before:
            self._enter(todo, None)

    def listed(self, tracker: str) -> list[Todo]:
        return [self.items[id] for id in self.lists.get(tracker, ())]

    def gone(self, tracker: str) -> list[Todo]:
        """What left this tracker's list, the latest first."""
        found = [todo for id in self.left if (todo := self.items[id]).tracker == tracker]
        return found[::-1]

    def _enter(self, todo: Todo, place: int | None) -> None:
        self.items[todo.id] = todo
        if not todo.listed:
            self.left[todo.id] = None
            return
        ids = self.lists.setdefault(todo.tracker, [])
        ids.insert(len(ids) if place is None else place, todo.id)

    def add(self, todo: Todo, place: int | None = None) -> None:
        if todo.id in self.items:
            return
        if not todo.open and todo.closed_at is None:
            todo = replace(todo, closed_at=todo.opened_at)
        self._enter(todo, place)

    def change(self, event: Event, at: Moment) -> None:
        held, body = self.items.get(event.item), event.body
        if held is None:
            if (ids := self.lists.get(body.get("tracker", ""))) is not None and "order" in body:
                rank = {id: n for n, id in enumerate(body["order"])}
                ids.sort(key=lambda id: rank.get(id, len(rank)))
            return
        more: dict[str, Any] = {}
        if not body.keys() <= _PLACING:
            more["changed_at"] = at.ts
        if (status := body.get("status")) is not None and held.open != (status not in FINISHED):
            more["closed_at"] = at.ts if held.open else None
        after = _changed(held, {k: v for k, v in body.items() if k != "place"}, more)
        if after.listed == held.listed and "place" not in body:
            self.items[held.id] = after
            return
        if held.listed:
            self.lists[held.tracker].remove(held.id)
        else:
            del self.left[held.id]
        self._enter(after, body.get("place"))

    close = change

    def trim(self) -> None:
        """Forget what left its list long ago, as the end of each step does."""
        for id in list(self.left)[:-LEFT_TODOS]:
            del self.left[id], self.items[id]

    def done(self, *, bounded: bool = True) -> tuple[Todo, ...]:
        if bounded:
            self.trim()
        ids = list(self.left)
        for listed in self.lists.values():
            ids += listed
        return tuple(self.items[id] for id in ids)


# Of each pillar of events: the field of the state, the class of its items.
_PILLARS = {ONE[name]: (name, cls) for name, cls in PILLARS.items()}
_HOLDERS: dict[str, type[Any]] = {
    "loops": Loops, "todos": Todos, "context": Context, "intentions": Intentions
}  # fmt: skip


class Draft:
    """A state that events are being applied to. A pillar is taken apart when it is looked at, and
    put together anew only when an event touched it."""

    before: WorkingState
    title: str | None
    extra: Mapping[str, Any]
    touched: set[str]
    loops: Loops
    todos: Todos
    context: Context
    intentions: Intentions

    def __init__(self, before: WorkingState) -> None:
        self.before = before
        self.title = before.title
        self.extra = before.extra
        self.touched = set()

    def __getattr__(self, name: str) -> Any:
        """A pillar that was not looked at yet."""
        if name not in _HOLDERS:
            raise AttributeError(name)
        made = self.__dict__[name] = _HOLDERS[name](getattr(self.before, name))
        return made

    # ---- events

    def apply(self, event: Event, at: Moment) -> None:
        """Apply an event. One that names what is not there, or is of no known kind, does nothing:
        a newer release may have written it."""
        pillar, op = event.pillar, event.op
        if pillar == "thread":
            self._of_thread(event)
        elif pillar not in _PILLARS:
            return
        elif op == "open":
            body, place = event.body, None
            if pillar == "todo" and "place" in body:
                body = dict(body)
                place = body.pop("place")
            given = {"id": event.item, "opened_at": at.ts, "source": unpacked(event.source, at)}
            self.add(pillar, codec.read(_PILLARS[pillar][1], body, given), place)
        elif op in ("change", "close", "drop"):
            how = getattr(getattr(self, _PILLARS[pillar][0]), op, None)
            if how is not None:
                self.touched.add(pillar)
                how(event, at)

    def add(self, pillar: Pillar, item: Any, place: int | None = None) -> None:
        """Put in an item; the first request is the thread's title."""
        self.touched.add(pillar)
        if pillar == "todo":
            self.todos.add(item, place)
            return
        getattr(self, _PILLARS[pillar][0]).add(item)
        if self.title is None and item.confidence != "heuristic":
            kind = item.kind if pillar == "loop" else getattr(item, "aim", None)
            if kind == "request":
                self.title = shortened(item.words, TITLE) or None

    def close_loop(self, item: str, outcome: str | None, at: Moment) -> None:
        self.touched.add("loop")
        self.loops.close_one(item, outcome, at)

    def _of_thread(self, event: Event) -> None:
        if event.op == "base":
            state = codec.from_dict(WorkingState, event.body)
            begun = Draft(replace(state, thread_id=self.before.thread_id))
            self.__dict__ = begun.__dict__
        elif event.op == "change" and isinstance(more := event.body.get("extra"), Mapping):
            self.extra = {**self.extra, **more}

    # ---- the end

    def end_step(self) -> None:
        """As if the state was put together here: what it does not keep must not come back."""
        if "todo" in self.touched:
            self.todos.trim()

    def finish(self, at: Moment | None = None, *, bounded: bool = True) -> WorkingState:
        """The state at a moment (None: where it was). `bounded`: with the last of what is over."""
        before, touched = self.before, self.touched
        return WorkingState(
            thread_id=before.thread_id,
            checkpoint_id=before.checkpoint_id if at is None else at.checkpoint_id,
            ts=before.ts if at is None else at.ts,
            title=self.title,
            todos=self.todos.done(bounded=bounded) if "todo" in touched else before.todos,
            context=self.context.done() if "context" in touched else before.context,
            loops=self.loops.done(bounded=bounded) if "loop" in touched else before.loops,
            intentions=(
                self.intentions.done(bounded=bounded)
                if "intention" in touched
                else before.intentions
            ),
            due=before.due,
            status=before.status,
            reason=before.reason,
            extra=self.extra,
            ns=before.ns if at is None else at.ns,
        )


def replay(state: WorkingState, events: Iterable[Event], at: Moment) -> WorkingState:
    """The state that a fold at this moment gave, from the events it gave."""
    draft = Draft(state)
    for event in events:
        draft.apply(event, at)
    return draft.finish(at)


def _changed(item: T, body: Mapping[str, Any], more: Mapping[str, Any]) -> T:
    """The item with the fields of a change; entries of `extra` join those that are there."""
    fields, extra = codec.known(type(item), body)
    fields.update(more)
    if extra:
        fields["extra"] = {**item.extra, **extra}
    return replace(item, **fields)


def _without_old(items: tuple[Ends, ...], most: int) -> tuple[Ends, ...]:
    """All that is open, and the `most` that closed last."""
    if len(items) <= most:
        return items
    closed = [
        (item.closed_at or "", item.closed_in or "", place)
        for place, item in enumerate(items)
        if item.closed_at is not None or item.closed_in is not None
    ]
    if len(closed) <= most:
        return items
    closed.sort()
    old = {place for _, _, place in closed[:-most]}
    return tuple([item for place, item in enumerate(items) if place not in old])
