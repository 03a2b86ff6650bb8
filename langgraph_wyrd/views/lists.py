"""Pages of threads and of items, as tables: each column is declared once, for text and for HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.state.model import Intention, Item, OpenLoop, Todo
from langgraph_wyrd.state.results import (
    FeedEvent,
    Heal,
    HistoryEntry,
    InboxEntry,
    Label,
    ThreadInfo,
    Tree,
)
from langgraph_wyrd.state.wording import count, node_path, value_text
from langgraph_wyrd.views import html
from langgraph_wyrd.views.history import WIDE, timeline_html, timeline_text
from langgraph_wyrd.views.html import Part, age, folded, tag, words
from langgraph_wyrd.views.text import Column, Paint, ago, line, plain, table, unpainted, when

MOST = 200  # rows in a cell; a terminal gets all that were asked for

Text = Callable[[Any], str]
Html = Callable[[Any], Part]


@dataclass(frozen=True, slots=True)
class Field(Column):
    """A column, and how a page shows it (None: the words). `says`: a page gives it room."""

    html: Html | None = None
    says: bool = False
    in_pages: bool = True

    def part(self, item: Any) -> Part:
        """The cell of a page."""
        return words(line(self.text(item), 120)) if self.html is None else self.html(item)


def page_html(page: Sequence[Any], title: str | None = None, note: str | None = None) -> str:
    """A page in a cell."""
    name, fields = _kind(page)
    shown = page[:MOST]
    size = count(len(page), name) if page else "nothing"
    head: list[Part] = [tag("span", title, class_="w-name") if title else None]
    head.append(tag("span", size, class_=None if title else "w-name"))
    if note:
        head.append(tag("small", note))
    said: list[Part] = [tag("div", *head, class_="w-head")]
    if name == "checkpoint":
        said.append(timeline_html(shown))
    elif page:
        kept = [f for f in fields if f.in_pages and any(f.text(each) for each in shown)]
        names = [("#" if f.right else "=" if f.says else "") + f.name for f in kept]
        said.append(html.table(names, [[field.part(each) for field in kept] for each in shown]))
    more = [f"and {len(page) - MOST:,} more in this list"] if len(page) > MOST else []
    if getattr(page, "next", None) is not None:
        more.append("there are more: after=page.next gives the next page")
    return html.framed(said, [tag("p", each, class_="w-more") for each in more])


def page_text(page: Sequence[Any], most: int = 100, paint: Paint = unpainted) -> str:
    """A page as lines of text."""
    name, fields = _kind(page)
    lines = table(fields, page, most, paint) if page else ["nothing"]
    if name == "checkpoint":
        lines = timeline_text(page, most, paint)
    if getattr(page, "next", None) is not None:
        lines.append(paint("… and more", "dim"))
    return "\n".join(lines)


def tree_html(tree: Tree) -> str:
    """The newest part of a tree."""
    return page_html([*tree.entries.values()])


def tree_text(tree: Tree) -> str:
    """A tree as lines of text, with whole ids."""
    return page_text([*tree.entries.values()], WIDE) + ("" if tree.complete else "\n…")


def saver_html(saver: Any) -> str:
    """What a saver shows: its threads."""
    name = type(saver).__name__
    try:
        return page_html(saver.threads(), name, "newest activity first")
    except WyrdError as error:  # a cell must show something
        return html.note_html(name, str(error))


def saver_text(saver: Any) -> str:
    try:
        return page_text(saver.threads())
    except WyrdError as error:
        return plain(str(error))


def _kind(page: Sequence[Any]) -> tuple[str, Sequence[Field]]:
    for cls, kind in _KINDS.items():
        if page and all(isinstance(each, cls) for each in page):
            return kind
    return "item", (_says("says", repr),)


# ---- columns that several kinds have


def _dim(item: Any) -> str:
    return "dim"


def _time(name: str, at: Callable[[Any], str | None]) -> Field:
    return Field(name, lambda x: when(at(x))[:16], _dim, spare=True, html=lambda x: age(at(x)))


def _says(name: str, text: Text, html: Html | None = None) -> Field:
    """A column of text: it gets the most room, and is folded where it is long."""
    html = html or (lambda x: folded(text(x)))
    return Field(name, text, flexible=True, html=html, says=True)


def _long(name: str, text: Text, *, spare: bool = False) -> Field:
    return Field(name, text, flexible=True, spare=spare)


def _over(item: OpenLoop | Intention) -> str:
    return "" if item.open else item.outcome or "over"


_THREAD = Field(
    "thread", lambda x: x.thread_id or "", most=40, html=lambda x: folded(x.thread_id or "")
)
_KIND = Field(
    "kind", lambda x: x.kind, lambda x: html.KIND_COLOURS.get(x.kind),
    html=lambda x: html.kind(x.kind),
)  # fmt: skip
_OPENED = _time("opened", lambda x: x.opened_at)


# ---- what some columns say


def _title(info: ThreadInfo) -> Part:
    why = tag("div", tag("small", line(info.reason, 240))) if info.reason else None
    return [folded(info.title or ""), why]


def _loop(loop: OpenLoop) -> Part:
    asked = dict(loop.context) if loop.context and not loop.resolved else None
    return [folded(loop.description), tag("div", html.under("context", asked)) if asked else None]


def _question(each: InboxEntry) -> Part:
    is_more = each.value is not None and not isinstance(each.value, str)
    asked = tag("div", html.under("what was asked", each.value)) if is_more else None
    return [folded(each.question), asked]


def _late(each: InboxEntry) -> str:
    return " (expired)" if each.expired else ""


def _who(each: InboxEntry) -> str:
    whose = each.assigned_to and f"for {each.assigned_to}"
    names = (each.agent, node_path(each.ns), each.node, whose)
    return ", ".join(dict.fromkeys(filter(None, names)))


def _todo_status(todo: Todo) -> str:
    return f"{html.TODO_MARKS.get(todo.status, '·')} {todo.status.replace('_', ' ')}"


def _todo_mark(todo: Todo) -> Part:
    mark, colour = _todo_status(todo), html.TODO_COLOURS.get(todo.status, "grey")
    nowrap = " w-nowrap" if len(mark) <= 20 else ""
    return tag("span", line(mark, 60), class_=f"w-{colour}{nowrap}")


_BODY = ("description", "content", "text", "key", "status", "outcome", "error")


def _event(each: FeedEvent) -> str:
    return next((str(each.body[name]) for name in _BODY if each.body.get(name)), "")


def _code(text: str) -> Part:
    return tag("code", line(text, 60), class_="w-nowrap")


# ---- the kinds

_KINDS: dict[type[Any], tuple[str, Sequence[Field]]] = {
    ThreadInfo: ("thread", (
        _THREAD,
        Field("status", lambda x: x.status or "", lambda x: html.STATUS_COLOURS.get(x.status),
              html=lambda x: html.status(x.status)),
        Field("loops", lambda x: str(x.open_loops or ""), right=True),
        Field("todos", lambda x: str(x.open_todos or ""), right=True),
        _time("updated", lambda x: x.updated_at),
        _says("title", lambda x: x.title or "", _title),
        Field("why", lambda x: x.reason or "", flexible=True, spare=True, in_pages=False),
    )),
    InboxEntry: ("question", (
        Field("id", lambda x: x.loop_id or "", _dim, html=lambda x: _code(x.loop_id or "")),
        _THREAD,
        _KIND,
        Field("since", lambda x: ago(x.since) + _late(x), _dim, spare=True,
              html=lambda x: [age(x.since), tag("small", _late(x))]),
        _says("asks", lambda x: x.question, _question),
        _long("answers", lambda x: ", ".join(x.allowed), spare=True),
        _long("who", _who, spare=True),
    )),
    OpenLoop: ("loop", (
        _THREAD,
        _KIND,
        _OPENED,
        _says("says", lambda x: x.description, _loop),
        _long("where", lambda x: html.where(x.source), spare=True),
        _long("outcome", _over),
    )),
    Todo: ("todo", (
        _THREAD,
        Field("status", _todo_status, lambda x: html.TODO_COLOURS.get(x.status), html=_todo_mark),
        Field("priority", lambda x: "" if x.priority == "medium" else x.priority),
        _OPENED,
        _says("says", lambda x: x.content),
    )),
    Intention: ("intention", (
        _THREAD,
        Field("aim", lambda x: x.aim),
        _OPENED,
        _says("says", lambda x: x.text),
        _long("outcome", _over),
    )),
    Label: ("label", (
        Field("label", lambda x: x.name, lambda x: "green", html=lambda x: folded(x.name),
              says=True),
        Field("checkpoint", lambda x: x.checkpoint_id, lambda x: "amber",
              html=lambda x: _code(x.checkpoint_id)),
        _time("set", lambda x: x.created_at),
        _long("promoted",
              lambda x: (", ".join(x.keys) + " (by itself)" * x.automatic).strip()),
        _long("missing", lambda x: ", ".join(x.missing)),
    )),
    FeedEvent: ("event", (
        _THREAD,
        _time("at", lambda x: x.at),
        Field("what", lambda x: x.kind),
        Field("item", lambda x: x.item, _dim, spare=True, html=lambda x: _code(x.item)),
        _says("says", _event),
        _long("by", lambda x: x.author or "", spare=True),
    )),
    Heal: ("heal", (
        _THREAD,
        _time("at", lambda x: x.at),
        Field("kind", lambda x: x.kind),
        Field("checkpoint", lambda x: x.checkpoint_id, spare=True),
        _long("channel", lambda x: x.channel),
        _says("what", lambda x: x.what),
        Field("seen", lambda x: "✓" if x.acknowledged_at else "", spare=True),
    )),
    HistoryEntry: ("checkpoint", ()),  # drawn as a timeline
}  # fmt: skip


# ---- one by itself


def row_html(item: Any) -> str:
    """One row of a listing."""
    return page_html([item])


def row_text(item: Any) -> str:
    """One row of a listing in a line."""
    if isinstance(item, HistoryEntry):
        return timeline_text([item], WIDE)[0]
    _, fields = _kind([item])
    return line("  ".join(filter(None, (field.text(item) for field in fields))))


def item_html(item: Item) -> str:
    """One item."""
    return html.framed(tag("ul", html.entry(item)))


def item_text(item: Item) -> str:
    """One item in a line, with its id."""
    if isinstance(item, Todo):
        mark = html.TODO_MARKS.get(item.status, "·")
        said, about = f"{mark} {item.words}", item.status.replace("_", " ")
    elif isinstance(item, OpenLoop):
        said, about = f"{item.kind}: {item.words}", _over(item) or "open"
    elif isinstance(item, Intention):
        said, about = f"{item.aim}: {item.words}", _over(item) or "open"
    else:
        said = f"{item.key} = {value_text(item.value)}"
        about = "pinned" if item.pinned else "context"
    return line(f"{said}  ({about}, {item.id})")
