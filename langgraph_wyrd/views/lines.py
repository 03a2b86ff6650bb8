"""A working state on a terminal: what `show` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langgraph_wyrd.state.model import Item, OpenLoop, Todo, WorkingState
from langgraph_wyrd.state.pairing import text_of
from langgraph_wyrd.state.words import by_weight, listing, nodes, value_text
from langgraph_wyrd.views.columns import GAP, Paint, unpainted
from langgraph_wyrd.views.parts import (
    KIND_COLOURS,
    STATUS_COLOURS,
    TODO_COLOURS,
    TODO_MARKS,
    where,
)
from langgraph_wyrd.views.plain import fitted, line, padded, when, width

_MOST = 40  # items of a pillar
_READ = 1000  # characters of a text that are looked at


def state_lines(state: WorkingState, most: int = 100, paint: Paint = unpainted) -> list[str]:
    """Where it stands, and the four pillars, one item a line."""
    name = line(state.thread_id or "a working state", 200)
    said = [(name, "bold"), (state.status, STATUS_COLOURS.get(state.status, "grey"))]
    said += [(when(state.ts), "dim"), (line(state.checkpoint_id or "", 60), "dim")]
    lines = [_along(said, most, paint)]
    wanted = state.intention
    lines += _wrapped(wanted.text if wanted else state.title or "", most)
    lines += [paint(each, "dim") for each in _wrapped(state.reason or "", most)]
    if state.due and state.status != "due":
        lines += [paint(fitted(line(f"next: {listing(nodes(state.due), 10)}"), most), "dim")]
    loops, todos = by_weight(state.open_loops), state.todos
    done = sum(todo.status == "completed" for todo in todos)
    lines += _part("Open loops", f"{len(loops)}", map(_loop, loops), most, paint)
    lines += _part("Todos", f"{done} of {len(todos)} done", map(_todo, todos), most, paint)
    context = [((line(c.key, 40), "violet"), value_text(c.value), "") for c in state.context]
    lines += _part("Context", f"{len(context)}", context, most, paint)
    over = [_loop(each) for each in reversed(state.closed_loops)]
    lines += _part("Closed lately", f"{len(over)}", over[:8], most, paint)
    guesses = [_loop(each) for each in state.guessed_loops]
    return lines + _part("Guessed from prose", f"{len(guesses)}", guesses, most, paint)


Row = tuple[tuple[str, str], str, str]  # a sign with its colour, what it says, small print


def _loop(loop: OpenLoop) -> Row:
    small = where(loop.source) if not loop.resolved else loop.outcome or "over"
    return (line(loop.kind, 20), KIND_COLOURS.get(loop.kind, "grey")), _says(loop), small


def _todo(todo: Todo) -> Row:
    weight = "" if todo.priority == "medium" or not todo.open else todo.priority
    mark = (TODO_MARKS.get(todo.status, "·"), TODO_COLOURS.get(todo.status, "grey"))
    return mark, _says(todo), weight if todo.listed else "left its list"


def _says(item: Item) -> str:
    return text_of(item)[:_READ]


def _part(name: str, said: str, rows: Iterable[Row], most: int, paint: Paint) -> list[str]:
    """A heading, and the rows below it; nothing if there are none."""
    found = list(rows)
    if not found:
        return []
    lines = ["", f"{paint(name, 'bold')} {paint(f'({said})', 'dim')}"]
    column = min(max(width(sign) for (sign, _), _, _ in found), most // 3)
    for (sign, colour), says, small in found[:_MOST]:
        start = "  " + paint(padded(fitted(sign, column), column), colour) + GAP
        room = most - 2 - column - len(GAP)
        about = fitted(line(small, 200), max(0, room // 3))
        text = fitted(line(says), room - (width(about) + len(GAP) if about else 0))
        lines.append(start + text + (GAP + paint(about, "dim") if about else ""))
    if len(found) > _MOST:
        lines.append(paint(f"  … and {len(found) - _MOST:,} more", "dim"))
    return lines


def _along(said: Sequence[tuple[str, str]], most: int, paint: Paint) -> str:
    out, left = [], most
    for text, colour in said:
        cut = fitted(text, left)
        if cut and left > 0:
            out.append(paint(cut, colour))
            left -= width(cut) + len(GAP)
    return GAP.join(out)


def _wrapped(text: str, most: int, lines: int = 3) -> list[str]:
    """A text on a few lines."""
    words, out = line(text[:_READ]).split(" "), [""]
    for word in words:
        longer = f"{out[-1]} {word}".strip()
        if width(longer) <= most:
            out[-1] = longer
        elif len(out) == lines:
            out[-1] = fitted(longer, most)
            break
        else:
            out.append(fitted(word, most))
    return [each for each in out if each]
