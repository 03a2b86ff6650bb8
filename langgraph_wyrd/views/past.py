"""A thread's checkpoints: as a timeline with its forks, and as a list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from langgraph_wyrd.views.columns import Column, Paint, unpainted
from langgraph_wyrd.views.lanes import Row, drawn, laid_out
from langgraph_wyrd.views.markup import Markup, Part, folded, tag, words
from langgraph_wyrd.views.parts import age, badge
from langgraph_wyrd.views.plain import count, fitted, line, padded, size, when, width
from langgraph_wyrd.views.style import framed

_MOST = 200  # checkpoints of a tree in a cell
_LANES = 12  # more run into one
_WIDE = 120  # columns that have room for whole ids and times
_SHORT = 18  # characters of an id that tell it from the others
_TINY = 13  # … where all of it is at hand as well


class Entry(Protocol):
    """What is known of a checkpoint without reading its values."""

    @property
    def checkpoint_id(self) -> str: ...
    @property
    def parent_id(self) -> str | None: ...
    @property
    def ts(self) -> str | None: ...
    @property
    def step(self) -> int | None: ...
    @property
    def source(self) -> str | None: ...
    @property
    def nodes(self) -> tuple[str, ...]: ...
    @property
    def summary(self) -> str: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def children(self) -> tuple[str, ...]: ...
    @property
    def head(self) -> bool: ...


class Tree(Protocol):
    """All checkpoints of a thread, by id, newest first."""

    @property
    def entries(self) -> Mapping[str, Entry]: ...


def tree_html(tree: Tree) -> str:
    """A tree in a cell: its newest part, and how much more there is."""
    entries = [*islice(tree.entries.values(), _MOST)]
    rest = len(tree.entries) - len(entries)
    more = f"and {count(rest, 'older one')}" if rest else ""
    size = tag("span", count(len(tree.entries), "checkpoint"), class_="w-name")
    head = tag("div", size, class_="w-head")
    return framed(head, timeline_html(entries), tag("p", more, class_="w-more") if more else None)


def tree_text(tree: Tree) -> str:
    return "\n".join(timeline_text([*tree.entries.values()]))


def is_entry(each: object) -> bool:
    return all(hasattr(each, name) for name in ("checkpoint_id", "parent_id", "summary", "labels"))


def timeline_html(
    entries: Sequence[Entry],
    healed: Collection[str] = frozenset(),
    sizes: Mapping[str, int] | None = None,
) -> Markup:
    """The checkpoints one below the other, the newest first, forks side by side.

    `healed`: the ids of those at which something damaged was met; `sizes`: the bytes that came
    with each.
    """
    rows = [*laid_out((each.checkpoint_id, each.parent_id) for each in entries)]
    lanes = min(max([row.lanes for row in rows] or [0]), _LANES)
    seen = [
        _line(each, row, each.checkpoint_id in healed, (sizes or {}).get(each.checkpoint_id))
        for each, row in zip(entries, rows, strict=True)
    ]
    return tag("div", seen, style=f"--lanes:{lanes}")


def timeline_text(
    entries: Sequence[Entry],
    most: int = 100,
    paint: Paint = unpainted,
    ids: Mapping[str, str] | None = None,
) -> list[str]:
    """The same as lines of text: like `git log --graph`. `ids`: how each checkpoint's is shown."""
    lines: list[str] = []
    rows = [*laid_out((each.checkpoint_id, each.parent_id) for each in entries)]
    wide = min(max([2 * row.lanes - 1 for row in rows] or [0]), 2 * _LANES, most // 3)
    for each, row in zip(entries, rows, strict=True):
        joins, graph = drawn(row, "◉" if each.head else "●")
        lines += [paint(fitted(join, most), "dim") for join in joins]
        short = each.checkpoint_id if most >= _WIDE else each.checkpoint_id[:_SHORT]
        id = line((ids or {}).get(each.checkpoint_id, short), 60)
        said: list[tuple[str, str | None]] = [(id, "amber")]
        said += [(f"[{line(name, 40)}]", "green") for name in each.labels]
        if each.head:
            said.append(("head", "blue"))
        at = when(each.ts) if most >= _WIDE else when(each.ts)[5:16]
        said += [(at, "dim"), (_who(each), "violet"), (_says(each), None)]
        lines.append(_within(padded(fitted(graph, wide), wide), said, most, paint))
    return lines


def _within(graph: str, said: Sequence[tuple[str, str | None]], most: int, paint: Paint) -> str:
    out, left = [graph], most - width(graph)
    for text, colour in said:
        cut = fitted(text, left - 1)
        if not cut:
            continue
        out.append(paint(cut, colour) if colour else cut)
        left -= 1 + width(cut)
    return " ".join(out)


def _who(entry: Entry) -> str:
    """What made the checkpoint: nodes, or where it came from."""
    names = ", ".join(entry.nodes[:4]) + (", …" if len(entry.nodes) > 4 else "")
    return line(names or entry.source or "", 60)


def _says(entry: Entry) -> str:
    return line(entry.summary or "", 300)


# ---- HTML


def _line(entry: Entry, row: Row, healed: bool, bytes: int | None) -> Markup:
    lane = min(row.lane, _LANES - 1)
    step = [
        tag("small", age(entry.ts)),
        tag("small", tag("code", _who(entry))),
        [badge(name, "green", "label") for name in entry.labels],
        badge("head", "blue") if entry.head else None,
        badge("healed", "red") if healed else None,
        badge(_ways(entry), "violet") if _ways(entry) else None,
        tag("span", folded(entry.summary or ""), class_="w-text"),
        None if bytes is None else tag("small", f"+{size(bytes)}", class_="w-nowrap"),
    ]
    graph = [_bar(n, "") for n in row.passing if n < _LANES]
    if row.above:
        graph.append(_bar(lane, " w-up"))
    if row.below:
        graph.append(_bar(lane, " w-down"))
    for n in row.joined:
        if n < _LANES:
            graph.append(_bar(n, " w-up"))
            graph.append(_span("w-bend", f"left:{_x(lane)}px;width:{(n - lane) * 14 + 2}px"))
    now = " w-now" if entry.head else ""
    graph.append(_span(f"w-dot{now}", f"left:{_x(lane) - 4}px"))
    return tag(
        "div",
        graph,
        tag("div", step, class_="w-step"),
        class_="w-line",
        title=f"{entry.checkpoint_id}{'' if entry.step is None else f', step {entry.step}'}",
    )


def _x(lane: int) -> int:
    return lane * 14 + 6


def _bar(lane: int, more: str) -> Markup:
    return _span(f"w-lane{more}", f"left:{_x(lane)}px")


def _span(class_: str, style: str) -> Markup:
    return tag("span", class_=class_, style=style)


# ---- as a list


def _text(each: Entry) -> Sequence[str]:
    mark = "◉" if each.head else "●"
    step = "" if each.step is None else str(each.step)
    names = ", ".join(each.labels) + (f" ({_ways(each)})" if _ways(each) else "")
    return (mark, each.checkpoint_id, step, when(each.ts), _who(each), names.strip(), _says(each))


def _html(each: Entry) -> Sequence[Part]:
    mark, id, step, _, who, *_ = _text(each)
    names: list[Part] = [badge(name, "green") for name in each.labels]
    names.append(badge(_ways(each), "violet") if _ways(each) else None)
    short = tag("code", line(id[:_TINY], 60), class_="w-nowrap", title=id)
    return (mark, short, step, age(each.ts), words(who), names, folded(each.summary or ""))


def _ways(each: Entry) -> str:
    return f"{len(each.children)} ways on" if len(each.children) > 1 else ""


def _colours(each: Any) -> Sequence[str | None]:
    return ("blue" if each.head else "dim", "amber", None, "dim", "violet", "green", None)


ENTRY: tuple[
    tuple[Column, ...],
    Callable[[Any], Sequence[str]],
    Callable[[Any], Sequence[Part]],
    Callable[[Any], Sequence[str | None]],
] = (
    (
        Column(""), Column("checkpoint"), Column("step", right=True), Column("time", spare=True),
        Column("nodes", flexible=True), Column("labels", flexible=True),
        Column("what changed", flexible=True, says=True),
    ),
    _text,
    _html,
    _colours,
)  # fmt: skip
