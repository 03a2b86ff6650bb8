"""The pillars of a state while events are applied to them, each with what finds an item quickly."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from langgraph_wyrd.state import codec
from langgraph_wyrd.state.events import Event, Moment, unpacked
from langgraph_wyrd.state.model import FINISHED, LEFT, ContextItem, Intention, OpenLoop, Todo

# What a state keeps of what is over. The events have the rest.
CLOSED_LOOPS = 16
LEFT_TODOS = 16
CLOSED_INTENTIONS = 8

T = TypeVar("T", Todo, ContextItem, OpenLoop, Intention)
Ends = TypeVar("Ends", OpenLoop, Intention)
Key = tuple[str, str | None, str]
_PLACING = frozenset(("listed", "place"))


def loop_key(kind: str, ref: str | None, description: str) -> Key:
    """What makes two loops the same one: where there is no ref, the words."""
    return (kind, None, description) if ref is None else (kind, ref, "")


class Loops:
    """Loops as they were opened; where each is, by key of what is open, and by id."""

    __slots__ = ("_places", "items", "open", "some_closed")

    def __init__(self, before: tuple[OpenLoop, ...]) -> None:
        self.items = list(before)
        self.open: dict[Key, int] = {}
        self.some_closed = False
        self._places: dict[str, int] | None = None  # most steps don't ask for it
        for place, loop in enumerate(before):
            if loop.closed_at is None and loop.closed_in is None:
                if loop.source.rule == LEFT and loop.elsewhere:
                    continue  # a call of the same name here is another one
                ref = loop.ref
                key = (loop.kind, None, loop.description) if ref is None else (loop.kind, ref, "")
                self.open[key] = place

    @property
    def places(self) -> dict[str, int]:
        if self._places is None:
            self._places = {loop.id: place for place, loop in enumerate(self.items)}
        return self._places

    def closed(self, kind: str, ref: str) -> OpenLoop | None:
        """The last loop of this kind and ref that is closed."""
        for loop in reversed(self.items):
            if loop.ref == ref and loop.kind == kind and loop.resolved:
                return loop
        return None

    def __contains__(self, id: object) -> bool:
        if self._places is not None:
            return id in self._places
        for loop in self.items:  # noqa: SIM110 - asked at every put: `any` takes twice as long
            if loop.id == id:
                return True
        return False

    def _enter(self, place: int, loop: OpenLoop) -> None:
        if self._places is not None:
            self._places[loop.id] = place
        if not (loop.resolved or loop.left):
            self.open[loop_key(loop.kind, loop.ref, loop.description)] = place

    def add(self, loop: OpenLoop) -> None:
        if loop.id not in self:  # the same event again is no news
            self.items.append(loop)
            self._enter(len(self.items) - 1, loop)

    def is_closed(self, id: str) -> bool:
        place = self.places.get(id)
        return place is not None and self.items[place].resolved

    def change(self, event: Event, at: Moment) -> None:
        place = self.places.get(event.item)
        if place is None:
            return
        held = self.items[place]
        if event.body.get("open") is not True:
            self.items[place] = _changed(held, event.body, {"changed_at": at.ts})
        elif held.resolved:
            again = replace(held, changed_at=at.ts, closed_at=None, closed_in=None, outcome=None)
            self.items[place] = again
            self._enter(place, again)

    def close(self, item: str, outcome: str | None, at: Moment) -> None:
        place = self.places.get(item)
        if place is not None:
            self.close_at(place, outcome, at)

    def close_at(self, place: int, outcome: str | None, at: Moment) -> None:
        held = self.items[place]
        if held.resolved:
            return
        if not held.left:
            self.open.pop(loop_key(held.kind, held.ref, held.description), None)
        # Written out, as it is made at every put: `replace` takes three times as long.
        self.items[place] = closed = OpenLoop(
            held.id, held.kind, held.description, held.context, held.ref, held.opened_at, at.ts,
            at.ts, at.checkpoint_id, outcome, held.source, held.confidence, held.extra,
            held.thread_id,
        )  # fmt: skip
        self._enter(place, closed)
        self.some_closed = True

    def done(self) -> tuple[OpenLoop, ...]:
        if not self.some_closed:
            return tuple(self.items)
        return _without_old(self.items, CLOSED_LOOPS)


class Intentions:
    """The history of what was wanted."""

    __slots__ = ("items", "open", "places")

    def __init__(self, before: tuple[Intention, ...]) -> None:
        self.items = list(before)
        self.places: dict[str, int] = {}
        self.open: dict[str, list[int]] = {}  # by aim
        for place, each in enumerate(before):  # as `add` does
            self.places[each.id] = place
            if each.closed_at is None and each.closed_in is None:
                self.open.setdefault(each.aim, []).append(place)

    def add(self, intention: Intention) -> None:
        if intention.id not in self.places:
            place = len(self.items)
            self.places[intention.id] = place
            if intention.open:
                self.open.setdefault(intention.aim, []).append(place)
            self.items.append(intention)

    def of_aim(self, aim: str) -> list[Intention]:
        """The open ones, oldest first."""
        return [self.items[place] for place in self.open.get(aim, ())]

    def close(self, event: Event, at: Moment) -> None:
        place = self.places.get(event.item)
        if place is None or not (held := self.items[place]).open:
            return
        self.open[held.aim].remove(place)
        self.items[place] = Intention(  # written out, as a loop is
            held.id, held.text, held.aim, held.opened_at, at.ts, at.checkpoint_id,
            event.body.get("outcome"), held.source, held.confidence, held.extra, held.thread_id,
        )  # fmt: skip

    def change(self, event: Event, at: Moment) -> None:
        place = self.places.get(event.item)
        if place is None:
            return
        held = self.items[place]
        if event.body.get("open") is True:
            if not held.open:
                self.items[place] = replace(held, closed_at=None, closed_in=None, outcome=None)
                insort(self.open.setdefault(held.aim, []), place)
            return
        self.items[place] = _changed(held, event.body, {})

    def done(self) -> tuple[Intention, ...]:
        return _without_old(self.items, CLOSED_INTENTIONS)


class Context:
    """Entries by key. One that is dropped leaves a gap until the end."""

    __slots__ = ("items", "keys", "places")

    def __init__(self, before: tuple[ContextItem, ...]) -> None:
        self.items: list[ContextItem | None] = list(before)
        self.places = {item.id: place for place, item in enumerate(before)}
        self.keys = {item.key: place for place, item in enumerate(before)}

    def get(self, key: str) -> ContextItem | None:
        place = self.keys.get(key)
        return None if place is None else self.items[place]

    def add(self, item: ContextItem) -> None:
        if item.id not in self.places:
            self.places[item.id] = self.keys[item.key] = len(self.items)
            self.items.append(item)

    def change(self, event: Event, at: Moment) -> None:
        place = self.places.get(event.item)
        if place is not None and (held := self.items[place]) is not None:
            self.items[place] = _changed(held, event.body, {"changed_at": at.ts})

    def drop(self, event: Event) -> None:
        place = self.places.pop(event.item, None)
        if place is not None and (held := self.items[place]) is not None:
            self.items[place] = None
            self.keys.pop(held.key, None)

    def done(self) -> tuple[ContextItem, ...]:
        return tuple(item for item in self.items if item is not None)


class TodoLists:
    """Each tracker's list, in its order; before them what left its list."""

    __slots__ = ("items", "left", "lists")

    def __init__(self, before: tuple[Todo, ...]) -> None:
        self.items: dict[str, Todo] = {}
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

    def _take_out(self, todo: Todo) -> None:
        if todo.listed:
            self.lists[todo.tracker].remove(todo.id)
        else:
            del self.left[todo.id]

    def open(self, event: Event, at: Moment) -> None:
        if event.item in self.items:
            return
        body = dict(event.body)
        place = body.pop("place", None)
        todo = opened(Todo, event, at, body)
        if not todo.open and todo.closed_at is None:
            todo = replace(todo, closed_at=at.ts)
        self._enter(todo, place)

    def change(self, event: Event, at: Moment) -> None:
        held = self.items.get(event.item)
        if held is None:
            if "order" in event.body:
                self._reorder(event.body)
            return
        body = event.body
        more: dict[str, Any] = {}
        if not body.keys() <= _PLACING:
            more["changed_at"] = at.ts
        if (status := body.get("status")) is not None and held.open != (status not in FINISHED):
            more["closed_at"] = at.ts if held.open else None
        after = _changed(held, {k: v for k, v in body.items() if k != "place"}, more)
        if after.listed == held.listed and "place" not in body:
            self.items[held.id] = after
        else:
            self._take_out(held)
            self._enter(after, body.get("place"))

    def _reorder(self, body: Mapping[str, Any]) -> None:
        ids = self.lists.get(body.get("tracker", ""))
        if ids is not None:
            rank = {id: n for n, id in enumerate(body["order"])}
            ids.sort(key=lambda id: rank.get(id, len(rank)))

    def trim(self) -> None:
        """Forget what left its list long ago, as the end of each step does."""
        if len(self.left) > LEFT_TODOS:
            for id in list(self.left)[:-LEFT_TODOS]:
                del self.left[id], self.items[id]

    def done(self) -> tuple[Todo, ...]:
        self.trim()
        ids = list(self.left)
        for listed in self.lists.values():
            ids += listed
        return tuple(self.items[id] for id in ids)


def opened(cls: type[T], event: Event, at: Moment, body: Mapping[str, Any]) -> T:
    given = {"id": event.item, "opened_at": at.ts, "source": unpacked(event.source, at)}
    return codec.read(cls, body, given)


def _changed(item: T, body: Mapping[str, Any], more: Mapping[str, Any]) -> T:
    """The item with the fields of a change; entries of `extra` join those that are there."""
    fields, extra = codec.known(type(item), body)
    fields.update(more)
    if extra:
        fields["extra"] = {**item.extra, **extra}
    return replace(item, **fields)


def _without_old(items: list[Ends], most: int) -> tuple[Ends, ...]:
    """All that is open, and the `most` that closed last."""
    if len(items) <= most:
        return tuple(items)
    closed = [
        (item.closed_at or "", item.closed_in or "", place)
        for place, item in enumerate(items)
        if item.closed_at is not None or item.closed_in is not None
    ]
    if len(closed) <= most:
        return tuple(items)
    if len(closed) == most + 1:
        old = {min(closed)[2]}
    else:
        closed.sort()
        old = {place for _, _, place in closed[:-most]}
    return tuple([item for place, item in enumerate(items) if place not in old])
