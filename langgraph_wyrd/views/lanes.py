"""Which lane each checkpoint stands in: the newest at the top, forks side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


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


def drawn(row: Row, dot: str = "●") -> tuple[list[str], str]:
    """A row for a terminal: a line where forks join (or none), and what stands beside the text."""
    lines = []
    if row.joined:
        size = row.lanes
        cells = ["│ " if n in row.passing or n == row.lane else "  " for n in range(size)]
        last = row.joined[-1]
        cells[row.lane] = "├─"
        for n in range(row.lane + 1, last + 1):
            over = "┼─" if n in row.passing else "┴─" if n in row.joined else "──"
            cells[n] = over
        cells[last] = "╯ "
        lines.append("".join(cells).rstrip())
    cells = ["│" if n in row.passing else " " for n in range(row.lanes)]
    for n in row.joined:
        cells[n] = " "
    cells[row.lane] = dot
    return lines, " ".join(cells).rstrip()
