"""A thread in a notebook: its state, its checkpoints, and a picture (SVG) of how it went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import NamedTuple

from langgraph_wyrd.state.model import OpenLoop, Todo, WorkingState
from langgraph_wyrd.state.results import Heal, HistoryEntry
from langgraph_wyrd.state.wording import moment
from langgraph_wyrd.views.history import timeline_html
from langgraph_wyrd.views.html import (
    Markup,
    age,
    badge,
    bounded,
    folded,
    framed,
    html,
    listed,
    part,
    tag,
    whole,
)
from langgraph_wyrd.views.messages import Message, messages_part
from langgraph_wyrd.views.state import head, pillars
from langgraph_wyrd.views.text import count, line, size

_WIDE, _HIGH = 760, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 60, 30, 26
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
) -> Plot:
    """Todos on the list, those done, and open loops, over time. Guesses don't count.

    `added`: when each checkpoint came, and the bytes that came with it.
    """
    steps = [each for each in todos if each.confidence != "heuristic"]
    waits = [each for each in loops if each.confidence != "heuristic"]
    done = [each for each in steps if each.status == "completed"]
    given_up = [each for each in steps if each.status == "cancelled"]
    over = [each for each in waits if each.resolved]
    listed = _counted([t.opened_at for t in steps], [t.closed_at for t in given_up])
    finished = _counted([t.closed_at or t.changed_at for t in done], [])
    open_ = _counted([w.opened_at for w in waits], [w.closed_at for w in over])
    held = _summed(added)
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
    weight = _Line("bytes", "var(--w-violet,#7a3ea8)", held)
    return Plot(_picture(lines, weight, text), text)


# ---- counting


def _counted(ups: Iterable[str | None], downs: Iterable[str | None]) -> list[Point]:
    """How many there are after each moment."""
    return _summed([*((at, 1) for at in ups), *((at, -1) for at in downs)])


def _summed(changes: Iterable[tuple[str | None, int]]) -> list[Point]:
    """What there is after each moment."""
    known = [(at.timestamp(), n) for ts, n in changes if (at := moment(ts)) is not None]
    total, points = 0, dict[float, int]()
    for time, change in sorted(known):
        total += change
        points[time] = total
    return list(points.items())


# ---- drawing

_SOFT = "var(--soft,#6a7078)"


class _Line(NamedTuple):
    """One of the lines of a plot."""

    said: str
    colour: str
    points: list[Point]
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
        for at, n in line.points:
            x, y = _LEFT + (end - _LEFT) * (at - first) / across, floor - (floor - _TOP) * n / top
            said += f"H{x:.1f}V{y:.1f}" if said else f"M{x:.1f} {floor}V{y:.1f}"
        return f"{said}H{end}"

    drawn = [_rule(floor, "0"), _rule(_TOP, f"{most:,}")]
    if heaviest:
        shade = f"fill:{held.colour};fill-opacity:.09;stroke:none"
        drawn.append(_path(f"{stairs(held, heaviest)}V{floor}Z", shade))
        drawn.append(_label(end + 6, _TOP + 4, size(heaviest), "start"))
    for place, each in enumerate([*lines[1:], held] if heaviest else lines):
        drawn.append(_path(stairs(each, heaviest if each is held else most), each.style))
        x = _LEFT + 100 * place
        drawn.append(_path(f"M{x} 8H{x + 18}", each.style))
        drawn.append(_label(x + 23, 12, each.said, "start"))
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


FEW = 10  # checkpoints that are seen at once
MOST = 60  # … and that are asked for


def thread_html(
    state: WorkingState,
    entries: Sequence[HistoryEntry] = (),
    plot: Plot | None = None,
    heals: Sequence[Heal] = (),
    sizes: Mapping[str, int] | None = None,
    messages: Sequence[Message] = (),
) -> str:
    """`entries`: the newest checkpoints, newest first; of more than `MOST` it says so.

    `sizes`: the bytes that came with each. `messages`: what was said, as dicts.
    """
    said = [*pillars(state)]
    if (talk := messages_part(messages)) is not None:
        said.append(talk)
    if heals:
        new = any(heal.acknowledged_at is None for heal in heals)
        newest = [*reversed(heals)]
        inside = bounded(newest, MOST, _heal, "heal")
        said.append(part("Healed", str(len(heals)), inside, open=new))
    brief = state.brief()
    if brief:
        size = count(len(brief), "character")
        said.append(part("Brief", f"the same for a prompt, {size}", whole(brief), open=False))
    if plot is not None:
        said.append(part("Over time", plot.text, picture(plot), open=False))
    if entries:
        more = len(entries) > MOST
        size = f"the newest {MOST}" if more else str(len(entries))
        rest = tag("p", "there are older ones: thread.history()", class_="w-more")
        healed = {heal.checkpoint_id for heal in heals}
        lines = [timeline_html(entries[:MOST], healed, sizes), rest if more else None]
        said.append(part("Checkpoints", size, lines, open=len(entries) <= FEW))
    return framed(*head(state), *said)


def _heal(heal: Heal) -> Markup:
    seen = "" if heal.acknowledged_at is None else "acknowledged"
    small = " · ".join(filter(None, [heal.channel, seen]))
    at = tag("small", age(heal.at), " · " if small else None, small)
    said = [badge(heal.kind, "red"), " ", folded(heal.what), " ", at]
    return listed("✓" if seen else "!", said, "w-over" if seen else None)


def note_html(name: str, said: str) -> str:
    """What a cell shows where there is nothing else to show: a thread that is not there, …"""
    title = tag("span", line(name, 120), class_="w-name")
    return framed(tag("div", title, tag("small", line(said, 400)), class_="w-head"))
