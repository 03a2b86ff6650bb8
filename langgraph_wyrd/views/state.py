"""A working state, a diff and a whole thread: in a notebook and on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.state.diff import Change, StateDiff
from langgraph_wyrd.state.model import ContextItem, Intention, Item, OpenLoop, Todo, WorkingState
from langgraph_wyrd.state.results import Heal, HistoryEntry
from langgraph_wyrd.state.wording import by_weight, count, listing, nodes, value_text
from langgraph_wyrd.views import html
from langgraph_wyrd.views.history import timeline_html
from langgraph_wyrd.views.messages import Message, messages_part, tools_part, wrapped
from langgraph_wyrd.views.text import (
    GAP,
    Paint,
    along,
    fitted,
    line,
    padded,
    plain,
    unpainted,
    when,
    width,
)

MOST = 60  # items of a pillar, checkpoints that are asked for


def state_html(state: WorkingState) -> str:
    return html.framed(head(state), *pillars(state))


def state_text(state: WorkingState) -> str:
    return plain(state.brief(guesses=bool(state.guessed_loops)))


def resumed_html(resumed: Any) -> str:
    return state_html(resumed.state)


def resumed_text(resumed: Any) -> str:
    return plain(resumed.brief)


def head(state: WorkingState) -> list[html.Part]:
    """Whose state it is, where it stands, and what it is after."""
    tag = html.tag
    name = "a working state" if state.thread_id is None else line(state.thread_id, 120)
    ns = tag("code", line(state.ns, 120)) if state.ns else None
    at = tag("small", html.age(state.ts), " ", tag("code", line(state.checkpoint_id or "", 60)))
    title = [tag("span", name, class_="w-name"), ns, html.status(state.status), at]
    said: list[html.Part] = [tag("div", title, class_="w-head")]
    if state.intention is not None:
        said.append(tag("p", tag("span", html.folded(state.intention.text)), class_="w-aim"))
    elif state.title:
        said.append(tag("p", line(state.title, 240), class_="w-aim"))
    if state.reason:
        said.append(tag("p", tag("small", line(state.reason, 400))))
    if state.due and state.status != "due":
        said.append(tag("p", tag("small", f"next: {line(listing(nodes(state.due), 10), 400)}")))
    return said


def _sections(state: WorkingState) -> list[tuple[str, str, str, Sequence[Item]]]:
    """Of each part its title, how much is in it, what one item is called, and the items."""
    todos, past = state.todos, [*reversed(state.intentions)]
    done = sum(todo.status == "completed" for todo in todos)
    parts: list[tuple[str, str, Sequence[Item]]] = [
        ("Open loops", "open loop", by_weight(state.open_loops)),
        ("Todos", "todo", todos),
        ("Context", "context item", state.context),
        ("Intentions", "intention", past if len(past) > 1 else ()),
        ("Closed lately", "closed loop", [*reversed(state.closed_loops)]),
        ("Guessed from prose", "guess", state.guessed_loops),
    ]
    return [
        (title, f"{done} of {len(items)} done" if title == "Todos" else str(len(items)), one, items)
        for title, one, items in parts
        if items
    ]


def pillars(state: WorkingState) -> list[html.Markup]:
    """The four of them, those that hold something."""
    found = [] if state.open_loops else [html.part("Open loops", "nothing waits", None)]
    for title, size, one, items in _sections(state):
        inside = html.bounded(
            items, MOST, html.entry, one, "more guesses" if one == "guess" else None
        )
        shown = title in ("Open loops", "Todos") or (title == "Context" and len(items) <= 6)
        found.append(html.part(title, size, inside, open=shown))
    return found


MOST_CHANGES = 100  # changes of a pillar
_TOLD = ("open", "outcome")  # the verb says it
_TITLES = {
    "todos": "Todos",
    "context": "Context",
    "loops": "Open loops",
    "intentions": "Intentions",
}
_SIGN_COLOURS = {"+": "green", "-": "red", "~": "blue"}


def diff_html(diff: StateDiff) -> str:
    found: dict[str, list[tuple[str, Change]]] = {}
    for pillar, verb, change in diff.all_changes():
        found.setdefault(pillar, []).append((verb, change))
    said: list[html.Part] = [html.tag("p", html.words(diff.summary()), class_="w-aim")]
    for pillar, title in _TITLES.items():
        if changes := found.get(pillar):
            inside = html.bounded(changes, MOST_CHANGES, _change, "change")
            said.append(html.part(title, str(len(changes)), inside))
    if diff.channels is not None and not diff.channels.empty:
        lines = diff.channels.lines()
        signed = [(_sign(each[:1], ""), html.folded(each[1:].strip())) for each in lines]
        inside = html.bounded(signed, MOST_CHANGES, lambda each: html.listed(*each), "change")
        said.append(html.part("Values", str(len(lines)), inside))
    return html.framed(*said)


def diff_text(diff: StateDiff, most: int = 0, paint: Paint = unpainted) -> str:
    lines = [diff.summary()]
    for each in diff.lines():
        said = line(each) if not most else fitted(line(each), most)
        lines.append(paint(said, _SIGN_COLOURS.get(said[:1], "dim")))
    return "\n".join([line(lines[0]), *lines[1:]])


def _change(found: tuple[str, Change]) -> html.Markup:
    verb, change = found
    item = change.item
    if change.old is None or change.new is None:
        return html.listed(_sign("+" if change.old is None else "-", verb), html.details(item))
    name = [html.kind(item.kind), " "] if isinstance(item, OpenLoop) else []
    text = html.tag("span", html.folded(item.words), class_="w-text")
    outcome = item.outcome if isinstance(item, (OpenLoop, Intention)) else None
    small = html.tag("small", f" {verb}" + (f": {line(outcome, 120)}" if outcome else ""))
    fields = [pair for pair in change.fields.items() if pair[0] not in _TOLD]
    how = [html.tag("div", html.tag("small", _how(name, *pair))) for name, pair in fields]
    return html.listed(_sign("~", verb), [*name, text, small, *how])


def _how(name: str, *pair: object) -> html.Markup:
    old, new = ("nothing" if each is None else html.folded(each) for each in pair)
    return html.html(f"{name}: ", old, " → ", new)


def _sign(sign: str, verb: str) -> html.Markup:
    return html.tag("span", sign, class_=f"w-{_SIGN_COLOURS.get(sign, 'grey')}", title=verb or None)


_MOST = 40  # items of a pillar
_READ = 1000  # characters of a text that are looked at
_LINES = 3  # of an aim, or of a reason


def state_lines(state: WorkingState, most: int = 100, paint: Paint = unpainted) -> list[str]:
    """Where it stands, and the four pillars, one item a line."""
    name = line(state.thread_id or "a working state", 200)
    status = state.status, html.STATUS_COLOURS.get(state.status, "grey")
    said: list[tuple[str, str | None]] = [(name, "bold"), status]
    said += [(when(state.ts), "dim"), (line(state.checkpoint_id or "", 60), "dim")]
    lines = [along(said, most, paint)]
    wanted = state.intention
    lines += _wrapped(wanted.text if wanted else state.title or "", most)
    lines += [paint(each, "dim") for each in _wrapped(state.reason or "", most)]
    if state.due and state.status != "due":
        lines += [paint(fitted(line(f"next: {listing(nodes(state.due), 10)}"), most), "dim")]
    for title, size, _, items in _sections(state):
        lines += _part(title, size, [*map(_row, items)], most, paint)
    return lines


Row = tuple[tuple[str, str], str, str]  # a sign with its colour, what it says, small print


def _row(item: Item) -> Row:
    if isinstance(item, Todo):
        weight = "" if item.priority == "medium" or not item.open else item.priority
        sign = html.TODO_MARKS.get(item.status, "·"), html.TODO_COLOURS.get(item.status, "grey")
        return sign, item.words[:_READ], weight if item.listed else "left its list"
    if isinstance(item, ContextItem):
        return (line(item.key, 40), "violet"), value_text(item.value), ""
    small = html.where(item.source) if item.open else item.outcome or "over"
    if isinstance(item, Intention):
        return ("→" if item.open else "·", "blue"), item.words[:_READ], small
    sign = line(item.kind, 20), html.KIND_COLOURS.get(item.kind, "grey")
    return sign, item.words[:_READ], small


def _part(name: str, said: str, rows: Sequence[Row], most: int, paint: Paint) -> list[str]:
    """A heading, and the rows below it."""
    lines = ["", f"{paint(name, 'bold')} {paint(f'({said})', 'dim')}"]
    column = min(max(width(sign) for (sign, _), _, _ in rows), most // 3)
    for (sign, colour), says, small in rows[:_MOST]:
        start = "  " + paint(padded(fitted(sign, column), column), colour) + GAP
        room = most - 2 - column - len(GAP)
        about = fitted(line(small, 200), max(0, room // 3))
        text = fitted(line(says), room - (width(about) + len(GAP) if about else 0))
        lines.append(start + text + (GAP + paint(about, "dim") if about else ""))
    if len(rows) > _MOST:
        lines.append(paint(f"  … and {len(rows) - _MOST:,} more", "dim"))
    return lines


def _wrapped(text: str, most: int) -> list[str]:
    """A text on a few lines."""
    out = wrapped(line(text[:_READ]), most)
    if len(out) > _LINES:
        out = [*out[: _LINES - 1], fitted(" ".join(out[_LINES - 1 :]), most)]
    return [each for each in out if each]


# ---- a thread in a notebook


FEW = 10  # checkpoints that are seen at once


def cell_html(thread: Any) -> str:
    """What a thread's handle shows."""
    try:
        state, entries = thread.working_state(), thread.history(limit=MOST + 1)
        return thread_html(state, entries, thread.heals(), thread.messages(as_dicts=True))
    except WyrdError as error:  # a cell must show something
        return html.note_html(thread.id, str(error))


def cell_text(thread: Any) -> str:
    try:
        return state_text(thread.working_state())
    except WyrdError as error:
        return plain(str(error))


def thread_html(
    state: WorkingState,
    entries: Sequence[HistoryEntry] = (),
    heals: Sequence[Heal] = (),
    messages: Sequence[Message] = (),
) -> str:
    """`entries`: the newest checkpoints, newest first; of more than `MOST` it says so.

    `messages`: what was said, as dicts.
    """
    said = [*pillars(state)]
    said += [found for found in (tools_part(messages), messages_part(messages)) if found]
    if heals:
        new = any(heal.acknowledged_at is None for heal in heals)
        newest = [*reversed(heals)]
        inside = html.bounded(newest, MOST, _heal, "heal")
        said.append(html.part("Healed", str(len(heals)), inside, open=new))
    brief = state.brief()
    if brief:
        size = count(len(brief), "character")
        said.append(
            html.part("Brief", f"the same for a prompt, {size}", html.whole(brief), open=False)
        )
    if entries:
        more = len(entries) > MOST
        size = f"the newest {MOST}" if more else str(len(entries))
        rest = html.tag("p", "there are older ones: thread.history()", class_="w-more")
        healed = {heal.checkpoint_id for heal in heals}
        lines = [timeline_html(entries[:MOST], healed), rest if more else None]
        said.append(html.part("Checkpoints", size, lines, open=len(entries) <= FEW))
    return html.framed(*head(state), *said)


def _heal(heal: Heal) -> html.Markup:
    seen = "" if heal.acknowledged_at is None else "acknowledged"
    small = " · ".join(filter(None, [heal.channel, seen]))
    at = html.tag("small", html.age(heal.at), " · " if small else None, small)
    said = [html.badge(heal.kind, "red"), " ", html.folded(heal.what), " ", at]
    return html.listed("✓" if seen else "!", said, "w-over" if seen else None)
