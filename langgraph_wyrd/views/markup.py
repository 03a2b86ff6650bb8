"""HTML put together from parts. What is not `Markup` is text, and is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Any

from langgraph_wyrd.views.plain import count, line, outline, plain

_SHORT = 240  # characters that are seen of a text without unfolding it
_LONG = 20_000  # … and of what is unfolded
_WORD = 20  # characters that a column can be wide
_TINY = 12  # … and that stay together
_INDENT = re.compile(r"([{\[]?)\n *([}\]]?)")
_BREAK = re.compile(r"[\s-]+")
_VOID = frozenset(("br", "hr"))


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
    return Markup(f"<{name}{said}>" + ("" if name in _VOID else f"{html(*parts)}</{name}>"))


def words(text: str) -> Markup:
    """Text that breaks between words, unless one of them is too long for that."""
    return tag("span", text, class_="w-nowrap" if len(text) <= _TINY else _breaking(text))


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
        flat, most = _flat(text), _SHORT // 2
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
        "tr",
        [tag("th", n.lstrip("#="), class_=k) for n, k in zip(names, kinds, strict=True)],
    )
    body = [
        tag("tr", [tag("td", cell, class_=k) for cell, k in zip(row, kinds, strict=True)])
        for row in rows
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", body)), class_="w-wide")


def _flat(outlined: str) -> str:
    """The beginning of an outlined value on one line."""
    return _INDENT.sub(
        lambda at: f"{at[1]}{at[2]}" if at[1] or at[2] else " ", outlined[: 8 * _SHORT]
    )


def whole(value: Any) -> Markup:
    """All of a text or a value, in a box of its own; of a very long one, most."""
    text = value if isinstance(value, str) else outline(value)
    rest = len(text) - _LONG
    more = f"\n… {count(rest, 'more character')}" if rest > 0 else ""
    return tag("pre", text[:_LONG] + more)


def _breaking(text: str) -> str | None:
    """A hyphen is a place to break at, too: ids have them."""
    longest = max(map(len, _BREAK.split(text)))
    return None if longest > _WORD else "w-words"


def _markup(part: Part) -> str:
    if part is None:
        return ""
    if isinstance(part, Markup):
        return part
    if isinstance(part, str):
        return escape(plain(part))
    return "".join(map(_markup, part))
