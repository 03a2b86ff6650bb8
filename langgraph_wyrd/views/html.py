"""HTML put together from parts: what is not `Markup` is escaped; the style; badges and items."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, TypeVar

from langgraph_wyrd.state.model import ContextItem, Intention, Item, OpenLoop, Source, Todo
from langgraph_wyrd.state.wording import KINDS, count
from langgraph_wyrd.state.wording import place as place_of
from langgraph_wyrd.views.text import ago, line, outline, plain, when

_SHORT = 240  # characters that are seen of a text without unfolding it
_LONG = 20_000  # … and of what is unfolded
_WORD = 20  # characters that a column can be wide
_TINY = 12  # … and that stay together
_BREAK = re.compile(r"[\s-]+")


class Markup(str):
    """A piece of HTML."""

    __slots__ = ()


Part = str | Iterable["Part"] | None


def html(*parts: Part) -> Markup:
    """The parts in a row; None is nothing."""
    return Markup("".join(map(_markup, parts)))


def tag(name: str, *parts: Part, **attributes: str | None) -> Markup:
    """An element. `class_` is the attribute `class`; one that is None is left out."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{said}>{html(*parts)}</{name}>")


def words(text: str) -> Markup:
    """Text that breaks between words, unless one of them is too long for that."""
    longest = max(map(len, _BREAK.split(text)))  # a hyphen is a place to break at, too
    shape = "w-nowrap" if len(text) <= _TINY else None if longest > _WORD else "w-words"
    return tag("span", text, class_=shape)


def under(name: str, value: Any) -> Markup:
    """A value to be unfolded under a name."""
    return tag("details", tag("summary", tag("small", name)), whole(value), class_="w-fold")


def folded(value: Any) -> Markup:
    """A text or a value: on a line if it is short, else to be unfolded."""
    if isinstance(value, str):
        text, flat, most = value, value.strip(), _SHORT
        if len(text) <= most and "\n" in flat:
            return tag("span", flat, class_="w-lines")
    else:
        text = outline(value)
        flat, most = outline(value, None)[: 8 * _SHORT], _SHORT // 2
    if len(text) <= 8 * _SHORT and len(flat) <= most:
        return words(flat)
    size = tag("small", f" {count(len(text), 'character')}")
    return tag(
        "details", tag("summary", line(flat, _SHORT // 2), size), whole(text), class_="w-fold"
    )


def table(headers: Iterable[str], rows: Iterable[Iterable[Part]]) -> Markup:
    """A table, which is scrolled where it is wider than the page.

    A header that starts with `#` is of a column of numbers, one with `=` of text that needs room.
    """
    names = list(headers)
    kinds = [{"#": "w-num", "=": "w-says"}.get(name[:1]) for name in names]
    head = tag(
        "tr", [tag("th", n.lstrip("#="), class_=k) for n, k in zip(names, kinds, strict=True)]
    )
    body = [
        tag("tr", [tag("td", cell, class_=k) for cell, k in zip(row, kinds, strict=True)])
        for row in rows
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", body)), class_="w-wide")


def whole(value: Any) -> Markup:
    """All of a text or a value, in a box of its own; of a very long one, most."""
    text = outline(value)
    rest = len(text) - _LONG
    more = f"\n… {count(rest, 'more character')}" if rest > 0 else ""
    return tag("pre", text[:_LONG] + more)


def _markup(part: Part) -> str:
    if part is None:
        return ""
    if isinstance(part, Markup):
        return part
    if isinstance(part, str):
        return escape(plain(part))
    return "".join(map(_markup, part))


# The class counts twice: Jupyter's own rules for tables and code in a cell weigh more than one.
CSS = Path(__file__).with_name("cell.css").read_text("utf-8").strip()
CSS = CSS.replace("\n", "").replace(".wyrd ", ".wyrd.wyrd ")


def framed(*parts: Part) -> Markup:
    """What a cell shows: the parts with all that they need to look right, and no script."""
    style = Markup(f"<style>{CSS}</style>")
    return tag("div", style, html(*parts), class_="wyrd")


def note_html(name: str, said: str) -> str:
    """A cell that shows only a message: that the thread is not there, for one."""
    title = tag("span", line(name, 120), class_="w-name")
    return framed(tag("div", title, tag("small", line(said, 400)), class_="w-head"))


T = TypeVar("T")

STATUS_COLOURS = {
    "interrupted": "amber",
    "error": "red",
    "due": "blue",
    "idle": "grey",
    "done": "green",
    "quiet": "green",
}
KIND_COLOURS = {
    "interrupt": "amber",
    "approval": "amber",
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


def details(item: Item) -> Part:
    """What an item says, without its sign."""
    mark, what, _ = _seen(item)
    return [mark, what] if isinstance(item, ContextItem) else what


def about(item: Item, at: str | None, *said: str | None) -> Markup:
    """The small print: when it was, and what else is known of an item."""
    guessed = "guessed from prose" if item.confidence == "heuristic" else None
    own = item.key if isinstance(item, ContextItem) else getattr(item, "tracker", None)
    source = item.source  # where it was seen, unless its name says so
    place = where(source if source.channel != own else replace(source, channel=None))
    parts: list[Part] = []
    for each in filter(None, (age(at), *said, place, guessed)):
        parts += [" · " if parts else None, each]
    return tag("small", *parts, title=f"{item.id} ({item.confidence})")


def age(ts: str | None) -> Markup | None:
    """How long ago something was, with the time itself as a tooltip."""
    if ts is None:
        return None
    return tag("span", ago(ts), title=f"{when(ts)} UTC", class_="w-nowrap")


def where(source: Source) -> str:
    """Where something was seen, as far as that helps a person: without messages' ids."""
    by = "" if source.author is None else f"by {source.author}"
    channel = None if source.message_id is not None or by else source.channel
    source = replace(source, message_id=None, channel=channel, author=None)
    return line(", ".join(filter(None, [by, place_of(source)])), 120)


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
    tracker = None if todo.tracker == "todos" else line(todo.tracker, 40)
    left = None if todo.listed else "left its list"
    small = about(todo, todo.closed_at or todo.changed_at, tracker, left)
    return mark, [text, weight, " ", small], gone or None


def _loop(loop: OpenLoop) -> Seen:
    text = tag("span", folded(loop.description), class_="w-text")
    over = None if not loop.resolved else loop.outcome or "over"
    small = about(loop, loop.closed_at or loop.opened_at, over and line(over, 80))
    colour = KIND_COLOURS.get(loop.kind, "grey")
    mark = "✓" if loop.resolved else tag("span", "●", class_=f"w-{colour}")
    inside: list[Part] = [kind(loop.kind), " ", text, " ", small]
    if loop.context and not loop.resolved:
        inside.append(tag("div", under("context", dict(loop.context))))
    return mark, inside, "w-over" if loop.resolved else None


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
