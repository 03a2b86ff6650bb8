"""The picture of a run: time a turn, and bytes at rest, over the length of the thread.

A hand-made SVG: no plotting library, and its colours follow the reader's light or dark theme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

from .savers import NAMES

WIDTH, HEIGHT = 960, 416
TOP, BOTTOM = 58, 344
PANELS = ((58, 318), (540, 800))  # left and right edge of each; names stand to the right of lines

Points = Sequence[tuple[int, float]]

STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f }
.title { font-size: 14px; font-weight: 600 }
.quiet { fill: #57606a }
.grid { stroke: #d0d7de; stroke-width: 1 }
.line { fill: none; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round }
.memory { stroke: #6e7781; stroke-dasharray: 5 4 } text.memory { fill: #6e7781 }
.sqlite { stroke: #bc4c00 } text.sqlite { fill: #bc4c00 }
.postgres { stroke: #8250df } text.postgres { fill: #8250df }
.wyrd-sqlite { stroke: #0969da } text.wyrd-sqlite { fill: #0969da }
.wyrd-postgres { stroke: #1a7f37 } text.wyrd-postgres { fill: #1a7f37 }
text.name { stroke: none; font-weight: 600 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #3d444d }
.memory { stroke: #9198a1 } text.memory { fill: #9198a1 }
.sqlite { stroke: #f0883e } text.sqlite { fill: #f0883e }
.postgres { stroke: #bc8cff } text.postgres { fill: #bc8cff }
.wyrd-sqlite { stroke: #58a6ff } text.wyrd-sqlite { fill: #58a6ff }
.wyrd-postgres { stroke: #3fb950 } text.wyrd-postgres { fill: #3fb950 }
}
""".strip()


def svg(series: Mapping[str, Mapping[str, Points]], fsync_ms: float) -> str:
    series = {
        name: {key: line for key, line in lines.items() if not key.startswith("plain-")}
        for name, lines in series.items()
    }
    resting = {key: line for key, line in series["bytes"].items() if key != "memory"}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Time a turn and bytes at rest over the length of a chat, by saver">',
        f"<style>{STYLE}</style>",
        _panel(PANELS[0], "Time a turn (ms)", series["turn_ms"], log=False),
        _panel(PANELS[1], "Bytes at rest (log scale)", resting, log=True),
        f'<text class="quiet" x="{PANELS[0][0]}" y="{HEIGHT - 8}">One thread, five checkpoints and '
        f"four messages a turn, 0.6 kB each. One fsync costs {fsync_ms:.2f} ms here.</text>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _panel(edges: tuple[int, int], title: str, lines: Mapping[str, Points], *, log: bool) -> str:
    left, right = edges
    longest = max(x for line in lines.values() for x, _ in line)
    values = [y for line in lines.values() for _, y in line if y > 0]
    ticks = _decades(min(values), max(values)) if log else _steps(max(values))
    low, high = ticks[0], ticks[-1]
    scale: Callable[[float], float] = math.log10 if log else float

    def across(x: float) -> float:
        return left + (right - left) * x / longest

    def up(y: float) -> float:
        share = (scale(max(y, low)) - scale(low)) / (scale(high) - scale(low))
        return BOTTOM - (BOTTOM - TOP) * share

    parts = [f'<text class="title" x="{left}" y="{TOP - 28}">{escape(title)}</text>']
    for tick in ticks:
        y = up(tick)
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        label = _size(tick) if log else f"{tick:,g}"
        parts.append(_text(left - 8, y + 4, label, "quiet", "end"))
    for tick in _steps(longest):
        if tick <= longest:
            parts.append(_text(across(tick), BOTTOM + 18, f"{tick:,g}", "quiet", "middle"))
    parts.append(_text((left + right) / 2, BOTTOM + 34, "turns", "quiet", "middle"))
    ends = {}
    for key, line in lines.items():
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in line)
        parts.append(f'<polyline class="line {key}" points="{path}"/>')
        ends[key] = up(line[-1][1])
    for key, y in _apart(ends).items():
        parts.append(_text(right + 8, y + 4, NAMES[key], f"name {key}", "start"))
    return "\n".join(parts)


def _text(x: float, y: float, text: str, style: str, anchor: str) -> str:
    return (
        f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def _steps(high: float) -> list[float]:
    """Round numbers from 0 to a little above `high`, four to eight of them."""
    size = 10 ** math.floor(math.log10(high / 4))
    step = next(size * by for by in (1, 2, 2.5, 5, 10) if high / (size * by) <= 6)
    return [step * n for n in range(math.ceil(high / step) + 1)]


def _decades(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**n for n in range(first, max(last, first + 1) + 1)]


def _size(number: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:g} {unit}"
    return f"{number:g} B"


def _apart(ends: dict[str, float], room: float = 16) -> dict[str, float]:
    """Names at the ends of their lines, pushed apart where lines end close together."""
    placed: dict[str, float] = {}
    least = -math.inf
    for key in sorted(ends, key=ends.__getitem__):
        placed[key] = max(ends[key], least + room)
        least = placed[key]
    over = max(0.0, least - BOTTOM)
    for key in sorted(placed, key=placed.__getitem__, reverse=True):
        if not over:
            break
        placed[key] -= over
        below = [y for other, y in placed.items() if other != key and y < placed[key] + over]
        over = max(0.0, max(below) + room - placed[key]) if below else 0.0
    return placed
