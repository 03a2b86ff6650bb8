"""What a saver and a thread return: pages, threads, history, labels, events, …; as rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from langgraph_wyrd.errors import InvalidInput, MissingExtra
from langgraph_wyrd.state.model import (
    PILLARS,
    ContextItem,
    Due,
    Source,
    Status,
    WorkingState,
    config_at,
    viewed,
)
from langgraph_wyrd.state.wording import moment, now_in_utc

if TYPE_CHECKING:
    import pandas


@viewed("lists", "row_html", "row_text")
@dataclass(frozen=True, slots=True)
class FeedEvent:
    """One change of a thread's working state.

    `kind` is the pillar and what was done, as "loop.open" or "todo.close". `body` has the item's
    fields as they were set, `source` where it was seen.
    """

    thread_id: str
    kind: str
    item: str = ""
    at: str | None = None
    checkpoint_id: str | None = None
    ns: str = ""
    body: Mapping[str, Any] = field(default_factory=dict, hash=False)
    source: Mapping[str, Any] = field(default_factory=dict, hash=False)
    author: str | None = None  # who declared it
    run_id: str | None = None
    task_id: str | None = None  # the task that said it, before the next checkpoint did
    declared: bool = False  # said by a person or an agent, not read out of a checkpoint


HealKind = Literal["exact", "left_out", "ancestor", "empty"]


@viewed("lists", "row_html", "row_text")
@dataclass(frozen=True, slots=True)
class Heal:
    """Something damaged that was met while a thread was loaded, and what was done about it.

    `kind` says how far it went: "exact" (restored to the byte, and proven), "left_out" (a
    task's writes, so that it runs again; an entry of a list), "ancestor" (an earlier checkpoint was
    taken), "empty" (nothing was readable).
    """

    id: str
    kind: HealKind
    thread_id: str
    ns: str
    checkpoint_id: str
    channel: str
    what: str
    at: str
    acknowledged_at: str | None = None


QuestionKind = Literal["approval", "interrupt", "question"]


@viewed("lists", "row_html", "row_text")
@dataclass(frozen=True, slots=True)
class InboxEntry:
    """A question of a thread's, and what it takes to answer it."""

    thread_id: str
    kind: QuestionKind
    question: str  # what is asked, in words
    allowed: tuple[str, ...] = ()  # decisions that are possible; empty: any answer
    since: str | None = None
    node: str | None = None
    ns: str = ""  # the subgraph that asks; "" is the thread itself
    agent: str | None = None  # the name that `create_agent` was given
    loop_id: str | None = None  # what `thread.answer(loop=…)` takes
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)  # to go on with
    value: Any = field(default=None, hash=False)  # what the graph passed to `interrupt`
    actions: tuple[dict[str, Any], ...] = field(default=(), hash=False)  # name, args, allowed
    form: str = "plain"  # batched, per_call, agent_inbox, elicitation: whose form `value` has
    schema: Mapping[str, Any] | None = field(default=None, hash=False)  # of the answer, if given
    interrupt_id: str | None = None
    user_id: str | None = None
    assigned_to: str | None = None
    expires_at: str | None = None  # answers after that are refused

    @property
    def expired(self) -> bool:
        """Whether it can no longer be answered."""
        return is_past(self.expires_at)


def is_past(at: str | None) -> bool:
    """Whether a time in ISO text has passed; without a zone it is UTC."""
    when = moment(at)
    return when is not None and when <= now_in_utc()


T = TypeVar("T")


@viewed("lists", "page_html", "page_text")
class Page(list[T]):
    """A list, and where it goes on: `after=page.next` gives the next page. None: that was all.

    `unread` is how many of the threads that were asked for were not read yet, 1000 at most: what
    is open in them is not listed. A look at such a thread reads it.
    """

    __slots__ = ("next", "unread")

    def __init__(self, items: Iterable[T] = (), next: str | None = None, unread: int = 0) -> None:
        super().__init__(items)
        self.next = next
        self.unread = unread

    def to_records(self) -> list[dict[str, Any]]:
        """A flat dict for each, with the columns that the public tables have."""
        return [record(each) for each in self]

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a DataFrame, with times as times. It has this page only.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return frame(self.to_records())


@viewed("lists", "row_html", "row_text")
@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A thread, in short. Status, counts and what is due are those of its head.

    Without pillars (`pillars=False`) there is no status, no title and nothing is counted.
    """

    thread_id: str
    status: Status | None = None
    reason: str | None = None
    title: str | None = None  # the first request, shortened
    due: tuple[Due, ...] = ()
    user_id: str | None = None
    created_at: str | None = None
    updated_at: str | None = None  # the last time that anything was stored
    head: str | None = None  # the newest checkpoint of its root
    open_loops: int = 0  # what is only guessed is not counted
    open_todos: int = 0
    ended_at: str | None = None  # when its last run ended; None while something is due
    ttl: timedelta | None = None  # its own, by `thread.set_ttl`


@viewed("lists", "row_html", "row_text")
@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A checkpoint, its place among the others, and what it changed.

    In a tree nothing is looked at that takes more than a checkpoint's own row: `nodes`, `changed`
    and `summary` are empty there.
    """

    checkpoint_id: str
    parent_id: str | None = None
    ts: str | None = None
    step: int | None = None
    source: str | None = None  # input, loop, update, fork
    run_id: str | None = None
    labels: tuple[str, ...] = ()
    children: tuple[str, ...] = ()  # more than one: a fork starts here
    head: bool = False  # the thread goes on from here
    nodes: tuple[str, ...] = ()  # those that ran for it
    changed: tuple[str, ...] = ()  # channels that hold something else than at its parent
    summary: str = ""  # `+1 todos, 1 loop resolved, +2 messages`
    thread_id: str | None = field(default=None, compare=False)

    @property
    def config(self) -> dict[str, Any]:
        """The config of this checkpoint: `graph.invoke(inputs, entry.config)` goes on from here."""
        return config_at(self.thread_id, self.checkpoint_id)

    @property
    def idle(self) -> bool:
        """Whether it changed nothing that a person would look at, and nothing hangs on it."""
        quiet = self.summary in ("no changes", "new input") and not self.changed
        return quiet and not self.labels and not self.forks and not self.head

    @property
    def forks(self) -> bool:
        """Whether the thread went on in more than one way from here."""
        return len(self.children) > 1


@viewed("lists", "tree_html", "tree_text")
@dataclass(frozen=True, slots=True)
class Tree:
    """All checkpoints of a thread's root, newest first in `entries`; printed as a graph.

    `complete` is False if there were more than asked for: then the oldest were left out, and
    `roots` are the oldest ones that are there.
    """

    thread_id: str
    entries: Mapping[str, HistoryEntry] = field(default_factory=dict)
    roots: tuple[str, ...] = ()  # those whose parent is not there
    head: str | None = None
    complete: bool = True

    def path(self, to: str | None = None) -> tuple[str, ...]:
        """The ids that lead to a checkpoint, oldest first; None: to the head."""
        found: dict[str, None] = {}
        at = self.head if to is None else to
        while at is not None and at in self.entries and at not in found:
            found[at] = None
            at = self.entries[at].parent_id
        return tuple(reversed(found))

    @property
    def newest(self) -> tuple[str, ...]:
        """The ids that lead to the head, oldest first."""
        return self.path()


# ---- labels: named checkpoints, which no prune takes

LONGEST_LABEL = 200  # characters of a name


@viewed("lists", "row_html", "row_text")
@dataclass(frozen=True, slots=True)
class Label:
    """A name for a checkpoint, and what was promoted of the context as it was there."""

    name: str
    checkpoint_id: str
    created_at: str  # when the label was set
    keys: tuple[str, ...] = ()  # what was promoted
    missing: tuple[str, ...] = ()  # what was asked for, and was not there
    context: tuple[ContextItem, ...] = ()  # the promoted items; a listing has none
    automatic: bool = False  # set on a boundary (see `AutoLabels`)
    elsewhere: tuple[str, ...] = ()  # asked for, and no value: a pillar, a channel kept as deltas
    thread_id: str | None = field(default=None, compare=False)
    _thread: Any = field(default=None, compare=False, repr=False)  # the handle that it came from

    @property
    def config(self) -> dict[str, Any]:
        """The config of its checkpoint: `graph.invoke(inputs, label.config)` goes on from there."""
        return config_at(self.thread_id, self.checkpoint_id)

    @property
    def cut(self) -> tuple[str, ...]:
        """Keys of which `context` has only the beginning; `values()` has them whole."""
        return tuple(item.key for item in self.context if item.metadata.get("shortened"))

    def get_context(self, key: str, default: Any = None) -> Any:
        """The promoted value under a key, as the context has it; see `cut`."""
        return next((item.value for item in self.context if item.key == key), default)

    def values(self) -> dict[str, Any]:
        """What was promoted, whole, by its keys: read when asked for, as it was at the label.

        Raises:
            ThreadNotFound: The label was taken off, or its thread deleted.
        """
        return self._handle().values_of_label(self)  # type: ignore[no-any-return]

    async def avalues(self) -> dict[str, Any]:
        """Async version of `values`."""
        return await self._handle().avalues_of_label(self)  # type: ignore[no-any-return]

    def _handle(self) -> Any:
        if self._thread is None:
            raise InvalidInput("this label came from no thread: get it from `thread.get_label`")
        return self._thread


def checked_name(name: object) -> str:
    """A label's name, if it can be one."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"a label's name is text that says something, not {name!r}")
    if len(name) > LONGEST_LABEL:
        raise InvalidInput(
            f"the label {name[:40]!r}… has {len(name)} characters; {LONGEST_LABEL} is the most"
        )
    return name


# ---- items as flat rows, for whatever works with rows: pandas, a CSV file, a table in a page

_TIMES = ("ts", "opened_at", "changed_at", "closed_at", "created_at", "updated_at")


def record(item: Any) -> dict[str, Any]:
    """An item's fields, and those of its source (`node`, `channel`, …)."""
    if not is_dataclass(item):
        return {"value": item}
    out: dict[str, Any] = {}
    for each in fields(item):
        value = getattr(item, each.name)
        if each.name.startswith("_"):  # the handle that a label came from
            continue
        if isinstance(value, Source):
            at = {f.name: getattr(value, f.name) for f in fields(Source) if f.name != "extra"}
            out |= {"checkpoint" if name == "checkpoint_id" else name: at[name] for name in at}
        else:
            out[each.name] = _plain(value)
    return {"thread_id": out.pop("thread_id"), **out} if "thread_id" in out else out


def of_state(state: WorkingState) -> list[dict[str, Any]]:
    """All items of a state; `pillar` says of which."""
    found = []
    for pillar in PILLARS:
        for item in getattr(state, pillar):
            found.append({"pillar": pillar, **record(item), "thread_id": state.thread_id})
    return found


def frame(records: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Rows as a DataFrame."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtra(
            "a DataFrame needs pandas: pip install 'langgraph-wyrd[notebook]' "
            "(to_records() gives the same rows without)"
        ) from error
    made: pandas.DataFrame = pandas.DataFrame(list(records))
    for name in made.columns.intersection(list(_TIMES)):
        made[name] = pandas.to_datetime(made[name], utc=True, format="ISO8601", errors="coerce")
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, Due):
        return value.node
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(each) for each in value]
    return value
