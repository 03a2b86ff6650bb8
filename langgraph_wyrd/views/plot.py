"""How a thread went: todos, open loops and bytes over time, as a picture (SVG)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import NamedTuple

from langgraph_wyrd.state.model import OpenLoop, Todo
from langgraph_wyrd.views.markup import Markup, html, tag
from langgraph_wyrd.views.plain import count, size
from langgraph_wyrd.views.style import framed

_WIDE, _HIGH = 760, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 60, 30, 26
_POINTS = 400  # of a line
_MANY = 100  # points, from which on a line is thin

Point = tuple[float, int]


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture: shown in a cell, or written to a file as `svg`."""

    svg: str = field(repr=False)
    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return framed(picture(self))


def picture(made: Plot) -> Markup:
    """The picture in a page, which scrolls it where it would be too small to read."""
    return tag("div", Markup(made.svg), class_="w-wide")


def plot(
    todos: Iterable[Todo],
    loops: Iterable[OpenLoop],
    added: Iterable[tuple[str | None, int]] = (),
    before: int = 0,
) -> Plot:
    """Todos on the list, those done, and open loops, over time. Guesses don't count.

    `added`: the bytes that came with each checkpoint, and when; `before`: with all older ones.
    """
    steps = [each for each in todos if each.confidence != "heuristic"]
    waits = [each for each in loops if each.confidence != "heuristic"]
    done = [each for each in steps if each.status == "completed"]
    given_up = [each for each in steps if each.status == "cancelled"]
    over = [each for each in waits if each.resolved]
    listed = _counted([t.opened_at for t in steps], [t.closed_at for t in given_up])
    finished = _counted([t.closed_at or t.changed_at for t in done], [])
    open_ = _counted([w.opened_at for w in waits], [w.closed_at for w in over])
    held = _summed([(at, n) for ts, n in added if (at := _at(ts)) is not None], before)
    said = [f"{len(done)} of {count(len(steps), 'todo')} done"] if steps else []
    said += [f"{count(len(waits), 'loop')} opened", f"{len(over)} closed"]
    if held:
        said.append(size(held[-1][1]))
    text = ", ".join(said)
    lines = [
        _Line("todos", _SOFT, listed, dashes="2 3"),
        _Line("todos done", "var(--w-green,#2a8a46)", finished),
        _Line("loops open", "var(--w-amber,#b07a10)", open_),
    ]
    weight = _Line("bytes", "var(--w-violet,#7a3ea8)", held, before)
    return Plot(_picture(lines, weight, text), text)


# ---- counting


def _at(text: str | None) -> float | None:
    try:
        moment = None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    if moment is None:
        return None
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    return zoned.timestamp()


def _counted(ups: Iterable[str | None], downs: Iterable[str | None]) -> list[Point]:
    """How many there are after each moment."""
    changes = [(at, 1) for each in ups if (at := _at(each)) is not None]
    changes += [(at, -1) for each in downs if (at := _at(each)) is not None]
    return _summed(changes)


def _summed(changes: Iterable[Point], total: int = 0) -> list[Point]:
    """What there is after each moment."""
    points = dict[float, int]()
    for at, change in sorted(changes):
        total += change
        points[at] = total
    return list(points.items())


# ---- drawing

_SOFT = "var(--soft,#6a7078)"


class _Line(NamedTuple):
    """`before`: what there was at the first point, nobody knows since when."""

    said: str
    colour: str
    points: list[Point]
    before: int = 0
    dashes: str = "none"

    @property
    def style(self) -> str:
        wide = 2 if len(self.points) < _MANY else 1
        drawn = f"stroke:{self.colour};stroke-width:{wide};stroke-dasharray:{self.dashes}"
        return f"fill:none;{drawn}"


def _picture(counts: Sequence[_Line], held: _Line, text: str) -> Markup:
    lines = [line for line in (held, *counts) if line.points]
    if not lines:
        return _svg([_label(_WIDE / 2, _HIGH / 2, "nothing happened yet", "middle")], text)
    first = min(line.points[0][0] for line in lines)
    last = max(line.points[-1][0] for line in lines)
    most = max([1, *(n for line in counts for _, n in line.points)])
    heaviest = max([1, *(n for _, n in held.points)]) if held.points else 0
    floor, end = _HIGH - _BOTTOM, _WIDE - _RIGHT

    def stairs(line: _Line, top: int) -> str:
        """From the bottom up, level until the next moment, and on to the end."""
        across, said = (last - first) or 1.0, ""
        for at, n in _thinned(line.points):
            x, y = _LEFT + (end - _LEFT) * (at - first) / across, floor - (floor - _TOP) * n / top
            begin = f"M{_LEFT} {floor}L{x:.1f} " if line.before else f"M{x:.1f} {floor}V"
            said += f"H{x:.1f}V{y:.1f}" if said else f"{begin}{y:.1f}"
        return f"{said}H{end}"

    drawn = [_rule(floor, "0"), _rule(_TOP, f"{most:,}")]
    if heaviest:
        shade = f"fill:{held.colour};fill-opacity:.09;stroke:none"
        drawn.append(_path(f"{stairs(held, heaviest)}V{floor}Z", shade))
        drawn.append(_label(end + 6, _TOP + 4, size(heaviest), "start"))
    for place, line in enumerate([*lines[1:], held] if heaviest else lines):
        drawn.append(_path(stairs(line, heaviest if line is held else most), line.style))
        x = _LEFT + 100 * place
        drawn.append(_path(f"M{x} 8H{x + 18}", line.style))
        drawn.append(_label(x + 23, 12, line.said, "start"))
    drawn.append(_label(_LEFT, _HIGH - 6, _clock(first), "start"))
    drawn.append(_label(end, _HIGH - 6, _clock(last), "end"))
    return _svg(drawn, text)


def _path(d: str, style: str) -> Markup:
    return tag("path", d=d, style=style)


def _svg(inside: Sequence[Markup], text: str) -> Markup:
    return tag(
        "svg",
        tag("title", text),
        inside,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        viewBox=f"0 0 {_WIDE} {_HIGH}",
    )


def _rule(y: float, said: str) -> Markup:
    style = "stroke:var(--rule,#d0d4d9);stroke-width:1"
    drawn = tag("path", d=f"M{_LEFT} {y:.1f}H{_WIDE - _RIGHT}", style=style)
    return html(drawn, _label(_LEFT - 6, y + 4, said, "end"))


def _label(x: float, y: float, said: str, anchor: str) -> Markup:
    style = f"font:11px system-ui,sans-serif;fill:{_SOFT}"
    return tag("text", said, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, style=style)


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at, timezone.utc):%Y-%m-%d %H:%M:%S}"


def _thinned(points: Sequence[Point]) -> list[Point]:
    """So many points at most: of each stretch the lowest and the highest, and the last of all."""
    every = -(-2 * len(points) // _POINTS)
    if every <= 2:
        return [*points]
    found: list[Point] = []
    for start in range(0, len(points), every):
        some = points[start : start + every]
        found += sorted({min(some, key=_count), max(some, key=_count)})
    return found if found[-1] == points[-1] else [*found, points[-1]]


def _count(point: Point) -> int:
    return point[1]
