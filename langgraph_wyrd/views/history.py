"""A thread's checkpoints as a timeline with its forks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from langgraph_wyrd.state.results import HistoryEntry
from langgraph_wyrd.views.html import Markup, age, badge, folded, tag
from langgraph_wyrd.views.text import Paint, along, fitted, line, padded, unpainted, when


@dataclass(frozen=True, slots=True)
class Row:
    """One checkpoint among the lanes.

    `passing`: the lanes that run by on its left and right. `joined`: those that end here, as they
    began at this checkpoint. `above`, `below`: whether its own lane goes on there.
    """

    lane: int
    passing: tuple[int, ...] = ()
    joined: tuple[int, ...] = ()
    above: bool = False
    below: bool = False

    @property
    def lanes(self) -> int:
        return max((self.lane, *self.passing, *self.joined)) + 1


def laid_out(entries: Iterable[tuple[str, str | None]]) -> Iterator[Row]:
    """The rows of (id, parent id) pairs, newest first: a parent stands below its children."""
    waiting: list[str | None] = []  # what each lane leads down to
    for id, parent in entries:
        into = [n for n, wanted in enumerate(waiting) if wanted == id]
        if into:
            lane = into[0]
        else:
            lane = next((n for n, wanted in enumerate(waiting) if wanted is None), len(waiting))
            waiting += [None] * (lane + 1 - len(waiting))
        for n in into[1:]:
            waiting[n] = None
        passing = tuple(n for n, wanted in enumerate(waiting) if wanted is not None and n != lane)
        waiting[lane] = parent
        yield Row(lane, passing, tuple(into[1:]), bool(into), parent is not None)
        while waiting and waiting[-1] is None:
            waiting.pop()


def drawn(row: Row, dot: str) -> tuple[list[str], str]:
    """A row for a terminal: a line where forks join (or none), and the graph before the text."""
    lines = []
    if row.joined:
        size = row.lanes
        cells = ["│ " if n in row.passing or n == row.lane else "  " for n in range(size)]
        last = row.joined[-1]
        cells[row.lane] = "├─"
        for n in range(row.lane + 1, last + 1):
            cells[n] = "┼─" if n in row.passing else "┴─" if n in row.joined else "──"
        cells[last] = "╯ "
        lines.append("".join(cells).rstrip())
    cells = ["│" if n in row.passing else " " for n in range(row.lanes)]
    cells[row.lane] = dot
    return lines, " ".join(cells).rstrip()


_LANES = 12  # more run into one
WIDE = 120  # columns that have room for whole ids and times
_SHORT = 18  # characters of an id that tell it from the others


def timeline_html(entries: Sequence[HistoryEntry], healed: Collection[str] = frozenset()) -> Markup:
    """The checkpoints one below the other, the newest first, forks side by side.

    `healed`: the ids of those at which something damaged was met.
    """
    rows = [*laid_out((each.checkpoint_id, each.parent_id) for each in entries)]
    lanes = min(max([row.lanes for row in rows] or [0]), _LANES)
    seen = [
        _line(each, row, each.checkpoint_id in healed)
        for each, row in zip(entries, rows, strict=True)
    ]
    return tag("div", seen, style=f"--lanes:{lanes}")


def timeline_text(
    entries: Sequence[HistoryEntry],
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
        short = each.checkpoint_id if most >= WIDE else each.checkpoint_id[:_SHORT]
        id = line((ids or {}).get(each.checkpoint_id, short), 60)
        said: list[tuple[str, str | None]] = [(padded(fitted(graph, wide), wide), None)]
        said.append((id, "amber"))
        said += [(f"[{line(name, 40)}]", "green") for name in each.labels]
        if each.head:
            said.append(("head", "blue"))
        at = when(each.ts) if most >= WIDE else when(each.ts)[5:16]
        said += [(at, "dim"), (made_by(each), "violet"), (line(each.summary, 300), None)]
        lines.append(along(said, most, paint, " "))
    return lines


def made_by(entry: HistoryEntry) -> str:
    """What made the checkpoint: nodes, or where it came from."""
    names = ", ".join(entry.nodes[:4]) + (", …" if len(entry.nodes) > 4 else "")
    return line(names or entry.source or "", 60)


def ways_on(entry: HistoryEntry) -> str:
    """Whether the thread went on from it in several ways."""
    return f"{len(entry.children)} ways on" if entry.forks else ""


# ---- HTML


def _line(entry: HistoryEntry, row: Row, healed: bool) -> Markup:
    lane = min(row.lane, _LANES - 1)
    step = [
        tag("small", age(entry.ts)),
        tag("small", tag("code", made_by(entry))),
        [badge(name, "green", "label") for name in entry.labels],
        badge("head", "blue") if entry.head else None,
        badge("healed", "red") if healed else None,
        badge(ways_on(entry), "violet") if entry.forks else None,
        tag("span", folded(entry.summary), class_="w-text"),
    ]
    graph = [_bar(n, "") for n in row.passing if n < _LANES]
    graph += [_bar(lane, " w-up")] if row.above else []
    graph += [_bar(lane, " w-down")] if row.below else []
    for n in [n for n in row.joined if n < _LANES]:
        bend = _span("w-bend", f"left:{_x(lane)}px;width:{(n - lane) * 14 + 2}px")
        graph += [_bar(n, " w-up"), bend]
    now = " w-now" if entry.head else ""
    graph.append(_span(f"w-dot{now}", f"left:{_x(lane) - 4}px"))
    title = f"{entry.checkpoint_id}{'' if entry.step is None else f', step {entry.step}'}"
    return tag("div", graph, tag("div", step, class_="w-step"), class_="w-line", title=title)


def _x(lane: int) -> int:
    return lane * 14 + 6


def _bar(lane: int, more: str) -> Markup:
    return _span(f"w-lane{more}", f"left:{_x(lane)}px")


def _span(class_: str, style: str) -> Markup:
    return tag("span", class_=class_, style=style)
