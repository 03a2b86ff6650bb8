"""How a thread went: todos and open loops over time, as a picture (SVG)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

from langgraph_wyrd.pillars.model import OpenLoop, Todo
from langgraph_wyrd.show.markup import Markup, html, tag
from langgraph_wyrd.show.plain import count
from langgraph_wyrd.show.style import framed

_WIDE, _HIGH = 760, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 12, 30, 26
_POINTS = 400  # of a line

Point = tuple[float, int]


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture: shown in a cell, or written to a file as `svg`."""

    svg: str = field(repr=False)
    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return framed(Markup(self.svg))


def plot(todos: Iterable[Todo], loops: Iterable[OpenLoop]) -> Plot:
    """Todos on the list, those done, and open loops, over time. Guesses don't count."""
    steps = [each for each in todos if each.confidence != "heuristic"]
    waits = [each for each in loops if each.confidence != "heuristic"]
    done = [each for each in steps if each.status == "completed"]
    given_up = [each for each in steps if each.status == "cancelled"]
    over = [each for each in waits if each.resolved]
    lines = {
        "todos": _counted([t.opened_at for t in steps], [t.closed_at for t in given_up]),
        "done": _counted([t.closed_at or t.changed_at for t in done], []),
        "loops": _counted([w.opened_at for w in waits], [w.closed_at for w in over]),
    }
    text = (
        f"{len(done)} of {count(len(steps), 'todo')} done, "
        f"{count(len(waits), 'loop')} opened, {len(over)} closed"
    )
    return Plot(_picture(lines, text), text)


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
    total, points = 0, dict[float, int]()
    for at, change in sorted(changes):
        total += change
        points[at] = total
    return list(points.items())


# ---- drawing

_SOFT = "var(--soft,#6a7078)"
_LINES = {  # colour, dashes, what it says
    "todos": (_SOFT, "2 3", "todos"),
    "done": ("var(--w-green,#2a8a46)", "none", "todos done"),
    "loops": ("var(--w-amber,#b07a10)", "none", "loops open"),
}


def _picture(lines: Mapping[str, list[Point]], text: str) -> Markup:
    moments = [at for points in lines.values() for at, _ in points]
    if not moments:
        return _svg([_label(_WIDE / 2, _HIGH / 2, "nothing happened yet", "middle")], text)
    first, last = min(moments), max(moments)
    top = max(1, *(n for points in lines.values() for _, n in points))
    long, floor = _WIDE - _LEFT - _RIGHT, _HIGH - _BOTTOM
    drawn = [_rule(floor, "0"), _rule(_TOP, f"{top:,}")]
    for place, (name, (colour, dashes, said)) in enumerate(_LINES.items()):
        here = [
            (
                _LEFT + long * ((at - first) / (last - first) if last > first else 0),
                floor - (floor - _TOP) * n / top,
            )
            for at, n in _thinned(lines[name])
        ]
        style = f"fill:none;stroke:{colour};stroke-width:2;stroke-dasharray:{dashes}"
        if here:
            drawn.append(tag("path", d=_stairs(here, floor), style=style))
        x = _LEFT + 100 * place
        drawn.append(tag("path", d=f"M{x} 8H{x + 18}", style=style))
        drawn.append(_label(x + 23, 12, said, "start"))
    drawn.append(_label(_LEFT, _HIGH - 6, _clock(first), "start"))
    drawn.append(_label(_WIDE - _RIGHT, _HIGH - 6, _clock(last), "end"))
    return _svg(drawn, text)


def _stairs(points: Sequence[tuple[float, float]], floor: float) -> str:
    """From the bottom up, level until the next moment, and on to the end."""
    (x, y), *rest = points
    said = f"M{x:.1f} {floor:.1f}V{y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest)
    return f"{said}H{_WIDE - _RIGHT}"


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
    """So many points at most; the last one stays."""
    every = max(1, -(-len(points) // _POINTS))
    return [p for n, p in enumerate(points) if n % every == 0 or n == len(points) - 1]
