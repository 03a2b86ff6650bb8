"""What changed between two states."""

from __future__ import annotations

from langgraph_wyrd.state.diff import StateDiff
from langgraph_wyrd.state.model import Intention, OpenLoop
from langgraph_wyrd.state.pairing import Change, text_of
from langgraph_wyrd.views.columns import Paint, unpainted
from langgraph_wyrd.views.markup import Markup, Part, folded, html, tag, words
from langgraph_wyrd.views.parts import bounded, kind, listed, part
from langgraph_wyrd.views.parts import told as said_of
from langgraph_wyrd.views.plain import fitted, line
from langgraph_wyrd.views.style import framed

MOST = 100  # changes of a pillar
_TOLD = ("open", "outcome")  # the verb says it
_TITLES = {
    "todos": "Todos",
    "context": "Context",
    "loops": "Open loops",
    "intentions": "Intentions",
}
_SIGN_COLOURS = {"+": "green", "-": "red", "~": "blue"}


def diff_html(diff: StateDiff) -> str:
    told: dict[str, list[tuple[str, Change]]] = {}
    for pillar, verb, change in diff.told():
        told.setdefault(pillar, []).append((verb, change))
    said: list[Part] = [tag("p", words(diff.summary()), class_="w-aim")]
    for pillar, title in _TITLES.items():
        if changes := told.get(pillar):
            inside = bounded(changes, MOST, _change, "change")
            said.append(part(title, str(len(changes)), inside))
    if diff.channels is not None and not diff.channels.empty:
        lines = diff.channels.lines()
        said.append(part("Values", str(len(lines)), bounded(lines, MOST, _signed, "change")))
    return framed(*said)


def diff_text(diff: StateDiff, most: int = 0, paint: Paint = unpainted) -> str:
    lines = [diff.summary()]
    for each in diff.lines():
        said = line(each) if not most else fitted(line(each), most)
        lines.append(paint(said, _SIGN_COLOURS.get(said[:1], "dim")))
    return "\n".join([line(lines[0]), *lines[1:]])


def _change(told: tuple[str, Change]) -> Markup:
    verb, change = told
    item = change.item
    if change.old is None or change.new is None:
        return listed(_sign("+" if change.old is None else "-", verb), said_of(item))
    name = [kind(item.kind), " "] if isinstance(item, OpenLoop) else []
    text = tag("span", folded(text_of(item)), class_="w-text")
    outcome = item.outcome if isinstance(item, (OpenLoop, Intention)) else None
    small = tag("small", f" {verb}" + (f": {line(outcome, 120)}" if outcome else ""))
    fields = [pair for pair in change.fields.items() if pair[0] not in _TOLD]
    how = [tag("div", tag("small", _how(name, *pair))) for name, pair in fields]
    return listed(_sign("~", verb), [*name, text, small, *how])


def _how(name: str, old: object, new: object) -> Markup:
    return html(f"{name}: ", _value(old), " → ", _value(new))


def _value(value: object) -> Markup:
    return html("nothing") if value is None else folded(value)


def _sign(sign: str, verb: str) -> Markup:
    return tag("span", sign, class_=f"w-{_SIGN_COLOURS.get(sign, 'grey')}", title=verb or None)


def _signed(text: str) -> Markup:
    return listed(_sign(text[:1], ""), folded(text[1:].strip()))
