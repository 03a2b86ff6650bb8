"""Tables of text that fit a width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langgraph_wyrd.views.plain import fitted, line, padded, width

GAP = "  "
_GOOD = 24  # columns that a long text should have
_LEAST = 8  # … and that it keeps
_READ = 500  # characters of a cell that are looked at

Paint = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Column:
    """`flexible`: its texts may be cut. `spare`: it goes where others need the room.

    `right`: numbers. `says`: what one reads; a page gives it room. `most`: it is never wider.
    """

    name: str
    flexible: bool = False
    spare: bool = False
    right: bool = False
    says: bool = False
    most: int = _READ


def unpainted(text: str, colour: str) -> str:
    return text


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    most: int,
    paint: Paint = unpainted,
    colours: Sequence[Sequence[str | None]] = (),
) -> list[str]:
    """Lines that are at most `most` columns wide. Columns that are empty are left out.

    Args:
        columns: What stands in each.
        rows: Text, a cell each.
        most: The width to fit into.
        paint: Makes a text that is already padded one in a colour.
        colours: Of each row, for each cell.
    """
    cells = [[line(cell, _READ) for cell in row] for row in rows]
    kept = [n for n in range(len(columns)) if any(row[n] for row in cells)]
    if not kept:
        return []
    wide = _widths(columns, cells, kept, most)
    kept = [*wide]
    names = [_cell(columns[n], columns[n].name, wide[n]) for n in kept]
    lines = [paint(GAP.join(names).rstrip(), "dim")]
    for at, row in enumerate(cells):
        tints = colours[at] if colours else ()
        said = []
        for place, n in enumerate(kept):
            text = _cell(columns[n], row[n], wide[n], last=place == len(kept) - 1)
            tint = tints[n] if tints else None
            said.append(paint(text, tint) if tint else text)
        lines.append(GAP.join(said).rstrip())
    return lines


def _widths(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], kept: Sequence[int], most: int
) -> dict[int, int]:
    """What each column gets.

    Long texts are cut; before little is left of them the spare columns go, the last one first.
    """
    room = most - len(GAP) * (len(kept) - 1)
    wide = {n: max([width(columns[n].name), *(width(row[n]) for row in cells)]) for n in kept}
    wide = {n: min(columns[n].most, size) for n, size in wide.items()}
    flexible = [n for n in kept if columns[n].flexible]
    _cap(wide, flexible, room, _GOOD)
    spare = [n for n in kept if columns[n].spare]
    if not spare:
        _cap(wide, flexible, room, _LEAST)
        _cap(wide, kept, room, _LEAST)
    if sum(wide.values()) <= room:
        return wide
    if len(kept) == 1:
        return {kept[0]: max(1, most)}
    gone = (spare or kept)[-1]
    return _widths(columns, cells, [n for n in kept if n != gone], most)


def _cap(wide: dict[int, int], group: Sequence[int], room: int, least: int) -> None:
    """Make the widest of a group narrower, until all fit or they are at their least."""
    cap = max((wide[n] for n in group), default=0)
    while cap > least and sum(wide.values()) > room:
        cap -= 1
        wide.update((n, cap) for n in group if wide[n] > cap)


def _cell(column: Column, text: str, size: int, last: bool = False) -> str:
    text = fitted(text, size)
    if column.right:
        return " " * (size - width(text)) + text
    return text if last else padded(text, size)
