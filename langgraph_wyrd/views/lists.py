"""Pages of threads and of items, as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_wyrd.state.inbox import InboxEntry
from langgraph_wyrd.state.labels import Label
from langgraph_wyrd.state.listed import ThreadInfo
from langgraph_wyrd.state.model import Intention, Item, OpenLoop, Todo
from langgraph_wyrd.state.pairing import text_of
from langgraph_wyrd.state.words import listing, node_path, nodes, value_text
from langgraph_wyrd.views.columns import Column, Paint, table, unpainted
from langgraph_wyrd.views.markup import Part, folded, tag, under, words
from langgraph_wyrd.views.markup import table as html_table
from langgraph_wyrd.views.parts import (
    KIND_COLOURS,
    STATUS_COLOURS,
    TODO_COLOURS,
    TODO_MARKS,
    age,
    entry,
    kind,
    status,
    where,
)
from langgraph_wyrd.views.past import ENTRY, is_entry
from langgraph_wyrd.views.plain import ago, count, line, when
from langgraph_wyrd.views.style import framed

MOST = 200  # rows in a cell; a terminal gets all that were asked for


@dataclass(frozen=True, slots=True)
class Kind:
    """How such things are listed: a row of text with colours, and one of HTML, maybe shorter."""

    name: str
    columns: tuple[Column, ...]
    text: Callable[[Any], Sequence[str]]
    html: Callable[[Any], Sequence[Part]]
    colours: Callable[[Any], Sequence[str | None]]


def page_html(page: Sequence[Any], title: str | None = None, note: str | None = None) -> str:
    """A page in a cell."""
    return framed(*page_parts(page, title, note))


def page_parts(
    page: Sequence[Any], title: str | None = None, note: str | None = None
) -> list[Part]:
    of = _kind(page)
    size = count(len(page), of.name if of is not None else "item") if page else "nothing"
    head: list[Part] = [tag("span", title, class_="w-name") if title else None]
    head.append(tag("span", size, class_=None if title else "w-name"))
    if note:
        head.append(tag("small", note))
    said: list[Part] = [tag("div", *head, class_="w-head")]
    if page and of is not None:
        rows, texts = ([show(each) for each in page[:MOST]] for show in (of.html, of.text))
        kept = [n for n in range(len(rows[0])) if any(row[n] for row in texts)]
        signs = ["#" if c.right else "=" if c.says else "" for c in of.columns]
        names = [sign + column.name for sign, column in zip(signs, of.columns, strict=True)]
        said.append(html_table([names[n] for n in kept], [[row[n] for n in kept] for row in rows]))
    elif page:
        said.append(tag("ul", [tag("li", folded(repr(each))) for each in page[:MOST]]))
    more = [f"and {len(page) - MOST:,} more in this list"] if len(page) > MOST else []
    if getattr(page, "next", None) is not None:
        more.append("there are more: after=page.next gives the next page")
    return [*said, *(tag("p", each, class_="w-more") for each in more)]


def page_text(page: Sequence[Any], most: int = 100, paint: Paint = unpainted) -> str:
    """A page as lines of text."""
    of = _kind(page)
    if of is None:
        return list.__repr__(list(page)) if page else "nothing"
    rows, colours = [of.text(each) for each in page], [of.colours(each) for each in page]
    lines = table(of.columns, rows, most, paint, colours)
    if getattr(page, "next", None) is not None:
        lines.append(paint("… and more", "dim"))
    return "\n".join(lines)


def _kind(page: Sequence[Any]) -> Kind | None:
    for cls, of in _KINDS.items():
        if page and all(isinstance(each, cls) for each in page):
            return of
    return _ENTRIES if page and all(map(is_entry, page)) else None


# ---- threads


def _due(info: ThreadInfo) -> str:
    return listing(nodes(info.due), 3)


def _thread_text(info: ThreadInfo) -> Sequence[str]:
    says = info.title or ""
    loops, todos = (str(n or "") for n in (info.open_loops, info.open_todos))
    return (info.thread_id, info.status or "", loops, todos, when(info.updated_at)[:16], says,
            info.reason or "")  # fmt: skip


def _thread_html(info: ThreadInfo) -> Sequence[Part]:
    id, _, loops, todos, _, says, reason = _thread_text(info)
    about: list[Part] = [folded(says)]
    if reason:
        about.append(tag("div", tag("small", line(reason, 240))))
    return (folded(id), status(info.status), loops, todos, age(info.updated_at), about)


_THREADS = (
    Column("thread", most=40),
    Column("status"),
    Column("loops", right=True),
    Column("todos", right=True),
    Column("updated", spare=True),
    Column("title", flexible=True, says=True),
    Column("why", flexible=True, spare=True),
)


# ---- items


def _loop_text(loop: OpenLoop) -> Sequence[str]:
    over = (loop.outcome or "over") if loop.resolved else ""
    return (loop.thread_id or "", loop.kind, when(loop.opened_at)[:16], loop.description,
            where(loop.source), over)  # fmt: skip


def _loop_html(loop: OpenLoop) -> Sequence[Part]:
    thread, _, _, _, seen, over = _loop_text(loop)
    says: list[Part] = [folded(loop.description)]
    if loop.context and not loop.resolved:
        says.append(tag("div", under("context", dict(loop.context))))
    small = tag("small", words(seen))
    return (
        folded(thread), kind(loop.kind), age(loop.opened_at), says, small, words(line(over, 120)),
    )  # fmt: skip


def _todo_text(todo: Todo) -> Sequence[str]:
    mark = f"{TODO_MARKS.get(todo.status, '·')} {todo.status.replace('_', ' ')}"
    weight = "" if todo.priority == "medium" else todo.priority
    return (todo.thread_id or "", mark, weight, when(todo.opened_at)[:16], todo.content)


def _todo_html(todo: Todo) -> Sequence[Part]:
    thread, mark, weight, _, says = _todo_text(todo)
    colour = TODO_COLOURS.get(todo.status, "grey")
    nowrap = " w-nowrap" if len(mark) <= 20 else ""
    marked = tag("span", line(mark, 60), class_=f"w-{colour}{nowrap}")
    return (folded(thread), marked, line(weight, 40), age(todo.opened_at), folded(says))


def _intention_text(each: Intention) -> Sequence[str]:
    over = "" if each.open else each.outcome or "over"
    return (each.thread_id or "", each.aim, when(each.opened_at)[:16], each.text, over)


def _intention_html(each: Intention) -> Sequence[Part]:
    thread, aim, _, says, over = _intention_text(each)
    return (
        folded(thread),
        line(aim, 40),
        age(each.opened_at),
        folded(says),
        words(line(over, 120)),
    )


def _waiting_text(each: InboxEntry) -> Sequence[str]:
    who = [
        each.agent,
        node_path(each.ns),
        each.node,
        each.assigned_to and f"for {each.assigned_to}",
    ]
    late = " (expired)" if each.expired else ""
    return (each.loop_id or "", each.thread_id, each.kind, ago(each.since) + late, each.question,
            ", ".join(each.allowed), ", ".join(dict.fromkeys(filter(None, who))))  # fmt: skip


def _waiting_html(each: InboxEntry) -> Sequence[Part]:
    id, thread, _, _, _, allowed, who = _waiting_text(each)
    says: list[Part] = [folded(each.question)]
    if each.value is not None and not isinstance(each.value, str):
        says.append(tag("div", under("what was asked", each.value)))
    late = tag("small", " (expired)") if each.expired else None
    since: list[Part] = [age(each.since), late]
    short = tag("code", id, class_="w-nowrap")
    return (short, folded(thread), kind(each.kind), since, says, words(allowed),
            tag("small", words(who)))  # fmt: skip


def _label_text(each: Label) -> Sequence[str]:
    keys = ", ".join(each.keys) + (" (by itself)" if each.automatic else "")
    return (each.name, each.checkpoint_id, when(each.created_at)[:16], keys.strip(),
            ", ".join(each.missing))  # fmt: skip


def _label_html(each: Label) -> Sequence[Part]:
    name, id, _, keys, missing = _label_text(each)
    return (folded(name), tag("code", line(id, 60), class_="w-nowrap"), age(each.created_at),
            words(line(keys, 200)), words(line(missing, 200)))  # fmt: skip


def _none(count: int, **at: Callable[[Any], str | None]) -> Callable[[Any], Sequence[str | None]]:
    """Colours for a row: `c1=…` says that of the second cell."""
    return lambda each: [at[f"c{n}"](each) if f"c{n}" in at else None for n in range(count)]


_ITEM = (Column("thread", most=40),)
_SAYS = (Column("opened", spare=True), Column("says", flexible=True, says=True))
_KINDS: dict[type[Any], Kind] = {
    ThreadInfo: Kind(
        "thread", _THREADS, _thread_text, _thread_html,
        _none(7, c1=lambda i: STATUS_COLOURS.get(i.status), c4=lambda i: "dim"),
    ),
    InboxEntry: Kind(
        "question",
        (Column("id"), *_ITEM, Column("kind"), Column("since", spare=True),
         Column("asks", flexible=True, says=True), Column("answers", flexible=True, spare=True),
         Column("who", flexible=True, spare=True)),
        _waiting_text, _waiting_html,
        _none(7, c0=lambda i: "dim", c2=lambda i: KIND_COLOURS.get(i.kind), c3=lambda i: "dim",
              c6=lambda i: "dim"),
    ),
    OpenLoop: Kind(
        "loop",
        (*_ITEM, Column("kind"), *_SAYS, Column("where", flexible=True, spare=True),
         Column("outcome", flexible=True)),
        _loop_text, _loop_html,
        _none(6, c1=lambda i: KIND_COLOURS.get(i.kind), c2=lambda i: "dim", c4=lambda i: "dim"),
    ),
    Todo: Kind(
        "todo", (*_ITEM, Column("status"), Column("priority"), *_SAYS), _todo_text, _todo_html,
        _none(5, c1=lambda i: TODO_COLOURS.get(i.status), c3=lambda i: "dim"),
    ),
    Label: Kind(
        "label",
        (Column("label", says=True), Column("checkpoint"), Column("set", spare=True),
         Column("promoted", flexible=True), Column("missing", flexible=True)),
        _label_text, _label_html, _none(5, c0=lambda i: "green", c1=lambda i: "amber",
                                        c2=lambda i: "dim"),
    ),
    Intention: Kind(
        "intention",
        (*_ITEM, Column("aim"), *_SAYS, Column("outcome", flexible=True)),
        _intention_text, _intention_html, _none(5, c2=lambda i: "dim"),
    ),
}  # fmt: skip
_ENTRIES = Kind("checkpoint", *ENTRY)


def entry_html(entry: InboxEntry) -> str:
    """One question by itself."""
    return page_html([entry])


def item_text(item: Item) -> str:
    """One item in a line, with its id."""
    if isinstance(item, Todo):
        mark = f"{TODO_MARKS.get(item.status, '·')} "
        about = item.status.replace("_", " ")
    elif isinstance(item, OpenLoop):
        mark, about = f"{item.kind}: ", (item.outcome or "over") if item.resolved else "open"
    elif isinstance(item, Intention):
        mark, about = f"{item.aim}: ", "open" if item.open else item.outcome or "over"
    else:
        mark, about = f"{item.key} = ", "pinned" if item.pinned else "context"
        return line(f"{mark}{value_text(item.value)}  ({about}, {item.id})")
    return line(f"{mark}{text_of(item)}  ({about}, {item.id})")


def label_text(label: Label) -> str:
    """A label in a line."""
    return line(f"{label.name} at {label.checkpoint_id}, set {when(label.created_at)}")


def label_html(label: Label) -> str:
    """A label by itself."""
    return page_html([label])


def item_html(item: Item) -> str:
    """One item by itself."""
    return framed(tag("ul", entry(item)))
