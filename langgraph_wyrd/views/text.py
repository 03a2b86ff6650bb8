"""Text for a terminal: text of others made safe to look at, and tables that fit a width.

A message may be written to mislead its reader: control characters and direction marks are shown,
not sent to the terminal.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from os.path import commonprefix
from typing import Any

from langgraph_wyrd.state import wording
from langgraph_wyrd.state.wording import moment
from langgraph_wyrd.views.json_data import Plain

# Control characters move a terminal's cursor, direction marks reorder what is read, and tags and
# zero-width characters hide text. Joiners (U+200C, U+200D) stay: words and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_JOINER, _AS_EMOJI = "\u200d", "\ufe0f"
_NO_COLUMNS = f"\u200c\ufe0e{_JOINER}{_AS_EMOJI}"
_LEVELS = 8  # of a nested value
_EACH = 100  # elements of one level
_MOST = 20_000  # characters of a value
_SHORTEST = 8  # characters of a shortened id
GAP = "  "

Paint = Callable[[str, str], str]


def plain(text: str) -> str:
    """The text with what can't be seen spelt out: `\\x1b`, `\\u202e`."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub(_spelt, text.replace("\r\n", "\n"))


def line(text: str, most: int = 0) -> str:
    """On one line; cut to `most` characters if it is given."""
    if most and len(text) > 8 * most:
        text = text[: 8 * most]
    one = " ".join(plain(text).split())
    return one if not most or len(one) <= most else one[: most - 1].rstrip() + "…"


def outline(value: Any, indent: int | None = 2) -> str:
    """A value to read: text as it is, anything else as JSON, bounded in depth and length."""
    if isinstance(value, str):
        return value
    data = Plain(_MOST, items=_EACH, deepest=_LEVELS).of(value)
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    return text if len(text) <= _MOST else f"{text[:_MOST]} …"


def json_text(data: Any, indent: int | None = None) -> str:
    """JSON that can be looked at as well: what can't be seen stands as an escape."""
    text = json.dumps(data, ensure_ascii=False, indent=indent, default=str)
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def size(n: int) -> str:
    """`812 B`, `1.2 kB`, `34 MB`."""
    said, unit = float(n), "B"
    for larger in ("kB", "MB", "GB"):
        if said < 999.5:
            break
        said, unit = said / 1000, larger
    return f"{said:.1f} {unit}" if unit != "B" and said < 9.95 else f"{said:,.0f} {unit}"


def when(ts: str | None) -> str:
    """A time to read: `2026-11-18 14:03:22`."""
    return "" if ts is None else line(ts[:19].replace("T", " "))


def shortest(ids: Iterable[str]) -> dict[str, str]:
    """The shortest unique start of each id, as git shows commits."""
    found: dict[str, str] = {}
    order = sorted(set(ids))
    for n, id in enumerate(order):
        near = (*order[max(n - 1, 0) : n], *order[n + 1 : n + 2])
        begins = [commonprefix([id, each]) for each in near]  # noqa: RUF071 - of texts, not paths
        common = max(map(len, begins), default=0)
        found[id] = id[: max(_SHORTEST, common + 1)].rstrip("-") if common + 1 < len(id) else id
    return found


def ago(ts: str | None, now: datetime | None = None) -> str:
    """How long ago that was; the text itself if it is no time."""
    then = moment(ts)
    return when(ts) if then is None else wording.ago((now or wording.now_in_utc()) - then)


# ---- how wide text is on a terminal


def width(text: str) -> int:
    """The columns that a line takes."""
    return len(text) if text.isascii() else sum(_columns(text))


def fitted(text: str, most: int) -> str:
    """A line cut to so many columns."""
    if width(text) <= most:
        return text
    taken, kept = 0, []
    for char, columns in zip(text, _columns(text), strict=True):
        taken += columns
        if taken > most - 1:
            break
        kept.append(char)
    return ("".join(kept).rstrip(f"{_JOINER} ") + "…") if most > 0 else ""


def padded(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


def along(said: Iterable[tuple[str, str | None]], most: int, paint: Paint, gap: str = GAP) -> str:
    """Pieces of a line, each in its colour, side by side as far as there is room."""
    out, left = [], most
    for text, colour in said:
        if cut := fitted(text, left):
            out.append(paint(cut, colour) if colour else cut)
            left -= width(cut) + len(gap)
    return gap.join(out)


def _columns(text: str) -> Iterator[int]:
    """Of each character, as terminals have it: an emoji that is put together of several is one."""
    base, before = 0, ""  # the columns of the last character that has some; the one before
    for char in text:
        if unicodedata.combining(char) or char in _NO_COLUMNS:
            columns = int(char == _AS_EMOJI and base == 1 and unicodedata.category(before) == "So")
            base += columns
        elif base == 2 and (before == _JOINER or "\U0001f3fb" <= char <= "\U0001f3ff"):
            columns = 0
        else:
            columns = base = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        before = char
        yield columns


def _spelt(found: re.Match[str]) -> str:
    code = ord(found[0])
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


_GOOD = 24  # columns that a long text should have
_LEAST = 8  # … and that it keeps
_READ = 500  # characters of a cell that are looked at


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: what it says of an item, and in which colour.

    `flexible`: its texts may be cut. `spare`: it goes where others need the room. `right`: numbers.
    `most`: it is never wider.
    """

    name: str
    text: Callable[[Any], str]
    colour: Callable[[Any], str | None] = lambda item: None
    flexible: bool = False
    spare: bool = False
    right: bool = False
    most: int = _READ


def unpainted(text: str, colour: str) -> str:
    return text


def table(
    columns: Sequence[Column], items: Sequence[Any], most: int, paint: Paint = unpainted
) -> list[str]:
    """Lines that are at most `most` columns wide. Columns that are empty are left out."""
    cells = [[line(each.text(item), _READ) for each in columns] for item in items]
    kept = [n for n in range(len(columns)) if any(row[n] for row in cells)]
    if not kept:
        return []
    wide = _widths(columns, cells, kept, most)
    names = [_cell(columns[n], columns[n].name, size) for n, size in wide.items()]
    lines = [paint(GAP.join(names).rstrip(), "dim")]
    last = [*wide][-1]
    for item, row in zip(items, cells, strict=True):
        said = []
        for n, size in wide.items():
            text, colour = _cell(columns[n], row[n], size, n == last), columns[n].colour(item)
            said.append(paint(text, colour) if colour else text)
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
