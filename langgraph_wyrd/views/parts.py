"""What several views share: badges, and how an item stands in a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    Item,
    OpenLoop,
    Source,
    Todo,
)
from langgraph_wyrd.state.words import KINDS, place
from langgraph_wyrd.views.markup import Markup, Part, folded, html, tag, under
from langgraph_wyrd.views.plain import ago, count, line, when

T = TypeVar("T")

STATUS_COLOURS = {
    "interrupted": "amber",
    "error": "red",
    "due": "blue",
    "idle": "grey",
    "done": "green",
}
KIND_COLOURS = {
    "interrupt": "amber",
    "approval": "amber",
    "breakpoint": "grey",
    "error": "red",
    "tool_call": "violet",
    "malformed_call": "red",
    "truncated": "red",
    "question": "blue",
    "request": "blue",
}
TODO_MARKS = {"pending": "☐", "in_progress": "◐", "completed": "☑", "cancelled": "☒"}
TODO_COLOURS = {"in_progress": "blue", "completed": "green"}


def badge(text: str, colour: str | None, title: str | None = None) -> Markup:
    shape = "w-tag" if len(text) <= 20 else "w-tag w-long"
    return tag("span", line(text, 60), class_=f"{shape} w-{colour or 'grey'}", title=title)


def status(text: str | None) -> Markup | None:
    return None if text is None else badge(text, STATUS_COLOURS.get(text))


def kind(text: str) -> Markup:
    return badge(text, KIND_COLOURS.get(text), KINDS.get(text))


def part(title: str, said: str, *inside: Part, open: bool = True) -> Markup:
    """A section that can be folded."""
    summary = tag("summary", title, tag("small", said))
    return tag("details", summary, *inside, class_="w-part", open="" if open else None)


def bounded(
    items: Sequence[T], most: int, one: Callable[[T], Part], name: str, several: str | None = None
) -> Part:
    """A list of the first ones, and a line that says how many more there are."""
    rest = len(items) - most
    more = tag("p", f"and {count(rest, f'more {name}', several)}", class_="w-more")
    return [tag("ul", map(one, items[:most])), more if rest > 0 else None]


def entry(item: Item) -> Markup:
    """An item in a list."""
    return listed(*_seen(item))


def listed(mark: Part, what: Part, class_: str | None = None) -> Markup:
    """A line of a list: a sign, and what it stands for."""
    keyed = isinstance(mark, Markup) and mark.startswith("<div")
    sign = mark if keyed else tag("span", mark, class_="w-mark")
    return tag("li", sign, tag("div", what, class_="w-what"), class_=class_)


def told(item: Item) -> Part:
    """What an item says, without its sign."""
    mark, what, _ = _seen(item)
    return [mark, what] if isinstance(item, ContextItem) else what


def about(item: Item, at: str | None, *said: str | None) -> Markup:
    """The small print: when it was, and what else is known of an item."""
    guessed = "guessed from prose" if item.confidence == "heuristic" else None
    known = [age(at), *(each for each in (*said, _place(item), guessed) if each)]
    parts: list[Part] = []
    for each in known:
        if each is not None:
            parts += [" · " if parts else None, each]
    return tag("small", *parts, title=f"{item.id} ({item.confidence})")


def age(ts: str | None) -> Markup | None:
    """How long ago something was; the time itself is seen when one points at it."""
    if ts is None:
        return None
    return tag("span", ago(ts), title=f"{when(ts)} UTC", class_="w-nowrap")


def _place(item: Item) -> str:
    """Where it was seen, unless its name says so."""
    own = item.key if isinstance(item, ContextItem) else getattr(item, "tracker", None)
    source = item.source
    return where(source if source.channel != own else replace(source, channel=None))


def where(source: Source) -> str:
    """Where something was seen, as far as it tells a person something: no message's id does."""
    by = "" if source.author is None else f"by {source.author}"
    channel = None if source.message_id is not None or by else source.channel
    source = replace(source, message_id=None, channel=channel, author=None)
    return line(", ".join(filter(None, [by, place(source)])), 120)


Seen = tuple[Part, Part, str | None]  # a sign, what it stands for, a class


def _seen(item: Item) -> Seen:
    if isinstance(item, Todo):
        return _todo(item)
    if isinstance(item, OpenLoop):
        return _loop(item)
    return _intention(item) if isinstance(item, Intention) else _context(item)


def _todo(todo: Todo) -> Seen:
    colour = TODO_COLOURS.get(todo.status, "grey")
    mark = tag("span", TODO_MARKS.get(todo.status, "·"), class_=f"w-{colour}", title=todo.status)
    urgent = todo.priority in ("critical", "high")
    text = tag("span", folded(todo.content), class_="w-text")
    weight = html(" ", badge(todo.priority, "amber")) if urgent and todo.open else None
    gone = "" if todo.open else "w-over w-gone" if todo.status == "cancelled" else "w-over"
    small = about(todo, todo.closed_at or todo.changed_at, *_unusual(todo))
    return mark, [text, weight, " ", small], gone or None


def _unusual(todo: Todo) -> list[str]:
    said = [] if todo.tracker == "todos" else [line(todo.tracker, 40)]
    return said if todo.listed else [*said, "left its list"]


def _loop(loop: OpenLoop) -> Seen:
    text = tag("span", folded(loop.description), class_="w-text")
    over = None if not loop.resolved else loop.outcome or "over"
    small = about(loop, loop.closed_at or loop.opened_at, over and line(over, 80))
    mark = "✓" if loop.resolved else tag("span", "●", class_=f"w-{_colour(loop)}")
    inside: list[Part] = [kind(loop.kind), " ", text, " ", small]
    if loop.context and not loop.resolved:
        inside.append(tag("div", under("context", dict(loop.context))))
    return mark, inside, "w-over" if loop.resolved else None


def _colour(loop: OpenLoop) -> str:
    return KIND_COLOURS.get(loop.kind, "grey")


def _intention(intention: Intention) -> Seen:
    over = None if intention.open else intention.outcome or "over"
    small = about(intention, intention.opened_at, intention.aim, over and line(over, 80))
    mark = tag("span", "→", class_="w-blue") if intention.open else "·"
    text = tag("span", folded(intention.text), class_="w-text")
    return mark, [text, " ", small], None if intention.open else "w-over"


def _context(item: ContextItem) -> Seen:
    small = about(item, item.changed_at or item.opened_at, "pinned" if item.pinned else None)
    key = tag("div", tag("code", line(item.key, 120)), " ", class_="w-key")
    return key, [folded(item.value), " ", small], None
