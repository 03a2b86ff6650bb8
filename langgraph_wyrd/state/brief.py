"""A working state in words: what a person, or a model, needs to pick the thread up.

One item a line, in an order that does not hang on how things were stored, so that two briefs
can be compared with `diff`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    OpenLoop,
    Todo,
    WorkingState,
    shortened,
)
from langgraph_wyrd.state.wording import (
    KINDS,
    ago,
    by_weight,
    listing,
    moment,
    nodes,
    now_in_utc,
    place,
    value_text,
)

WEEK = timedelta(days=7)
_TEXT = 200  # characters of an item's own words
_INTENTION = 400
_VALUE = 100
_ORDER = 1000
_PAST = 5  # of what is over
_STATUS = {"in_progress": "in progress"}
_PRIORITIES = ("critical", "high", "low")


@dataclass(slots=True)
class _Section:
    """Lines under a heading. `order` says which go first when there is no room."""

    title: str
    one: str
    several: str
    lines: list[str]
    order: Sequence[int] = ()
    count: str = ""
    dropped: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.order = self.order or range(len(self.lines) - 1, -1, -1)
        self.count = self.count or str(len(self.lines))


def brief(
    state: WorkingState,
    *,
    max_chars: int | None = None,
    stale_after: timedelta | None = WEEK,
    now: datetime | None = None,
    guesses: bool = False,
) -> str:
    """See `WorkingState.brief`."""
    if max_chars is not None and max_chars < 0:
        raise InvalidInput(f"max_chars is a number of characters, not {max_chars}")
    ages = _Ages(stale_after, (now or now_in_utc()).astimezone(timezone.utc))
    sections = _sections(state, ages, guesses)
    head = _head(state, ages, sections)
    text = _joined(head, sections)
    if max_chars is None or len(text) <= max_chars:
        return text
    return _fitted(state, head, sections, max_chars)


def resumed(text: str, damage: Sequence[str], begun: Sequence[str]) -> str:
    """A brief, with what resuming the thread found behind its first line: what is damaged of it,
    and which tool calls were begun ahead of the newest checkpoint."""
    found = [f"Damage: {'; '.join(damage)}"] if damage else []
    head, *rest = text.split("\n", 1)
    return "\n".join([head, *found, *(f"Begun: {each}" for each in begun), *rest])


# ---- ages


@dataclass(frozen=True, slots=True)
class _Ages:
    stale_after: timedelta | None
    now: datetime

    def age(self, opened: str | None, changed: str | None = None) -> list[str]:
        """How old something is, and whether it is stale; nothing if nobody knows."""
        at = moment(opened)
        if at is None:
            return []
        said = [ago(self.now - at)]
        still = self.now - (moment(changed) or at)
        if self.stale_after is not None and still > self.stale_after:
            said.append("STALE")
        return said


# ---- lines


def _behind(about: Iterable[str]) -> str:
    said = ", ".join(filter(None, about))
    return f" ({said})" if said else ""


def _item(item: Todo | OpenLoop | Intention, ages: _Ages | None) -> str:
    """An item on a line; in few words without `ages`."""
    text = shortened(item.words, _INTENTION if isinstance(item, Intention) else _TEXT)
    changed = None if isinstance(item, Intention) else item.changed_at
    where = place(item.source, messages=False)
    about: list[str]
    if isinstance(item, OpenLoop):
        kind = KINDS.get(item.kind, item.kind)
        text = f"{kind if ages else kind.partition(',')[0]}: {text}"
        about = ["on another branch"] if item.elsewhere else []
    elif isinstance(item, Todo):
        text = f"{_STATUS.get(item.status, item.status)}: {text}"
        about = [f"{item.priority} priority"] if item.priority in _PRIORITIES else []
        where = where if item.source.ns else ""
    else:
        about = [item.aim]
    if ages is not None:
        text += _behind([*about, *ages.age(item.opened_at, changed), where])
    return f"- [{item.id}] {text}"


def entry(item: ContextItem) -> str:
    """A context entry in a line."""
    most = _ORDER if item.pinned else _VALUE
    return f"- {shortened(item.key, _VALUE)}: {value_text(item.value, most)}"


def _past(state: WorkingState) -> list[str]:
    """What is over, the latest first."""
    over: list[tuple[str, str]] = []
    for todo in state.todos:
        if not todo.open and todo.confidence != "heuristic":
            said = f"- {todo.status}: {shortened(todo.content, _VALUE)}"
            over.append((todo.closed_at or "", said))
    for loop in state.closed_loops:
        if loop.confidence != "heuristic":
            said = f"{loop.outcome or 'over'}: {shortened(loop.description, _VALUE)}"
            over.append((loop.closed_at or "", f"- {said} ({loop.kind})"))
    over.reverse()
    over.sort(key=lambda each: each[0], reverse=True)
    return [line for _, line in over]


# ---- the parts


def _sections(state: WorkingState, ages: _Ages, guesses: bool) -> list[_Section]:
    """Most important first."""
    loops = [_item(loop, ages) for loop in by_weight(state.open_loops)]
    open_todos = [todo for todo in state.open_todos if todo.confidence != "heuristic"]
    todos = [_item(todo, ages) for todo in open_todos]
    doing = [n for n, todo in enumerate(open_todos) if todo.status == "in_progress"]
    waiting = [n for n, todo in enumerate(open_todos) if todo.status != "in_progress"]
    first = waiting[::-1] + doing[::-1]
    past = _past(state)
    known = [item for item in state.context if item.confidence != "heuristic"]
    orders = [entry(item) for item in known if item.pinned]
    context = [entry(item) for item in known if not item.pinned]
    latest = f"last {_PAST} of {len(past)}" if len(past) > _PAST else ""
    found = [
        _Section("Standing orders", "standing order", "standing orders", orders),
        _Section("Open loops", "open loop", "open loops", loops),
        _Section("Open todos", "todo", "todos", todos, first),
        _Section("Context", "context entry", "context entries", context),
        _Section("Lately over", "closed item", "closed items", past[:_PAST], count=latest),
    ]
    if guesses:
        found.append(_Section("Guessed from prose", "guess", "guesses", _guessed(state, ages)))
    return found


def _guessed(state: WorkingState, ages: _Ages) -> list[str]:
    lines = [_item(loop, ages) for loop in by_weight(state.guessed_loops)]
    lines += [_item(todo, ages) for todo in state.open_todos if todo.confidence == "heuristic"]
    guessed = (each for each in state.intentions if each.open and each.confidence == "heuristic")
    return [*lines, *(_item(each, ages) for each in guessed)]


def _head(state: WorkingState, ages: _Ages, sections: Sequence[_Section]) -> list[str]:
    thread = "" if state.thread_id is None else f" in thread {shortened(state.thread_id, _VALUE)}"
    at = moment(state.ts)
    when = "" if at is None else f", {at.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC"
    head = [f"Where things stand{thread}{when}"]
    wanted = state.intention
    text = "" if wanted is None else " ".join(wanted.text.split())
    if state.title is not None and not (wanted and text.startswith(state.title.removesuffix("…"))):
        head.append(f"Title: {state.title}")
    if wanted is not None:
        head.append(f"Intention: {_item(wanted, ages)[2:]}")
    elif (last := _last_wanted(state)) is not None:
        said = [last.outcome or "over", *ages.age(last.closed_at)[:1]]
        head.append(f"Intention: none now; last: {shortened(last.text, _TEXT)} ({', '.join(said)})")
    else:
        head.append("Intention: none known")
    head.append(f"Status: {state.status}" + (f", {state.reason}" if state.reason else ""))
    if state.due and state.status != "due":
        head.append(f"Due: {listing(nodes(state.due), 10)}")
    if state.status == "unread":
        head.append("What is open here was not read yet.")
    elif not any(section.lines for section in sections if section.one in ("open loop", "todo")):
        head.append("Nothing is open.")
    return head


def _last_wanted(state: WorkingState) -> Intention | None:
    """What was wanted last, where nothing is wanted any more."""
    for each in reversed(state.intentions):
        if not each.open and each.confidence != "heuristic" and each.source.ns == state.ns:
            return each
    return None


# ---- length


def _fitted(state: WorkingState, head: list[str], sections: list[_Section], most: int) -> str:
    """As much as there is room for, and a line that says what is missing.

    What holds the thread up stays longest: the first open loop, or else the first todo, in few
    words; then only the status is said with it.
    """
    _, loops, todos, *_ = sections
    holds = loops if loops.lines else todos
    for beginning in (head, [f"Status: {state.status}"]):
        for section in sections:
            section.dropped.clear()
        for section in reversed(sections):
            for n in section.order[: len(section.lines) - (section is holds)]:
                section.dropped.add(n)
                text = _joined(beginning, sections)
                if len(text) <= most:
                    return text
        loops.lines = [_item(loop, None) for loop in by_weight(state.open_loops)]
    if most < len(_left_out(sections)) + 40:  # no room for a part of it either
        holds.dropped.update(holds.order)
    said = _left_out(sections)
    room = most - len(said) - 1 if said else most
    rest = [line for n, line in enumerate(holds.lines) if n not in holds.dropped]
    start = _cut("\n".join([*beginning, *rest]), room)
    return f"{start}\n{said}" if start and said else start or _cut(said, most)


def _joined(head: list[str], sections: Iterable[_Section]) -> str:
    lines = list(head)
    for each in sections:
        if left := [line for n, line in enumerate(each.lines) if n not in each.dropped]:
            lines += ["", f"{each.title} ({each.count}):", *left]
    said = _left_out(sections)
    return "\n".join([*lines, "", said] if said else lines)


def _left_out(sections: Iterable[_Section]) -> str:
    gone = [(len(each.dropped), each) for each in sections if each.dropped]
    said = [f"{n} more {each.one if n == 1 else each.several}" for n, each in gone]
    return f"Left out: {', '.join(said)}" if said else ""


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: most - 1] + "…" if most > 0 else ""
