"""What an agent was doing: todos, context, open loops, intentions. Frozen, plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from langgraph_wyrd.lazy import lazy

if TYPE_CHECKING:
    import pandas
    from typing_extensions import dataclass_transform

    from langgraph_wyrd.state import brief as briefs
    from langgraph_wyrd.state import codec, results, wording
else:  # Python 3.10 has it not, and a type checker alone reads it

    def dataclass_transform(**said):
        return lambda decorator: decorator

    briefs, codec = lazy("state.brief", "state.codec")
    results, wording = lazy("state.results", "state.wording")

Confidence = Literal["declared", "structural", "model", "heuristic"]
TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]
LoopKind = Literal[
    "interrupt",  # the graph waits for a person
    "error",  # something failed
    "tool_call",  # asked for, no result recorded: verify before redoing
    "question",  # the agent asked, nobody answered
    "request",  # a person asked, nobody answered
    "truncated",  # an answer was cut off
    "malformed_call",  # a tool call that can't be read
    "task",  # delegated work
    "promise",  # a model or a person noted that something was promised
    "decision",  # decided, and its outcome is not known yet
    "note",  # opened by a person or by the agent
]
HOLDS_UP = "calls"  # in an interrupt's context: the tool calls that wait for its answer
FINISHED = ("completed", "cancelled")  # of a todo's statuses; one that is not known counts as open
ELSEWHERE = "elsewhere"  # in a loop's `extra`: it was declared on another branch of its thread
LEFT = "left"  # the rule of what failed, or has no result, on a branch that was left
PERHAPS = "answered, perhaps not all of it"  # the outcome where that can't be known
Aim = Literal["explicit", "request", "task"]
Status = Literal[
    "idle", "interrupted", "error", "due", "done",
    "quiet",  # nothing seems open, but whether all that was asked is answered can't be known
    "unread",  # stored without being read: what is open is not known
    # Something is due, and a lease or a `run_end` hook says why nothing happens, or that it does:
    "running", "killed", "cancelled", "out_of_steps", "paused",
]  # fmt: skip


C = TypeVar("C", bound=type[Any])


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def plain_data(cls: C) -> C:
    """A frozen dataclass with slots, whose `__init__` takes a quarter of the time.

    The one of `dataclasses` sets each field through `object.__setattr__`, which looks it up by
    name (1.2 us for ten fields). Here the object is of a class that is not frozen for as long as
    its fields are set, which Python does without a call (0.2 us).
    """
    made = dataclass(frozen=True, slots=True)(cls)
    names: dict[str, Any] = {
        "_missing": MISSING, "_made": made, "_init": made.__init__,
        "_bare": type(cls.__name__, made.__bases__, {"__slots__": made.__slots__}),
        "_set_class": object.__dict__["__class__"].__set__,
    }  # fmt: skip
    arguments, body, sets = [], [], []
    for each in fields(made):
        name = each.name
        if each.default_factory is not MISSING:
            names[f"_default_{name}"] = each.default_factory
            arguments.append(f"{name}=_missing")
            body.append(f"if {name} is _missing: {name} = _default_{name}()")
        elif each.default is not MISSING:
            names[f"_default_{name}"] = each.default
            arguments.append(f"{name}=_default_{name}")
        else:
            arguments.append(name)
        sets.append(f"self.{name} = {name}")
    given = ", ".join(each.name for each in fields(made))
    body += [
        f"if self.__class__ is not _made: return _init(self, {given})",
        "_set_class(self, _bare)", *sets, "self.__class__ = _made",
    ]  # fmt: skip
    text = f"def __init__(self, {', '.join(arguments)}):\n " + "\n ".join(body)
    exec(text, names)  # as `dataclasses` itself makes it
    init = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = made.__init__.__annotations__
    made.__init__ = init
    return made  # type: ignore[return-value]


def viewed(module: str, html: str, text: str = "", *, prints: bool = True) -> Callable[[C], C]:
    """Have a model shown by functions of `views.module`, which is imported when somebody looks.

    `__repr__` stays, for debugging. `prints`: `print` shows the text, too, not only IPython.
    """

    def view(item: Any, function: str) -> Any:
        return getattr(import_module(f"langgraph_wyrd.views.{module}"), function)(item)

    def given(cls: C) -> C:
        cls._repr_html_ = lambda self: view(self, html)
        if text:
            if prints:
                setattr(cls, "__str__", lambda self: view(self, text))  # noqa: B010
            cls._repr_pretty_ = lambda self, out, cycle: out.text(view(self, text))
        return cls

    return given


@plain_data
class Source:
    """Where something was seen. What does not apply is None."""

    checkpoint_id: str | None = None
    ns: str = ""
    node: str | None = None
    channel: str | None = None
    message_id: str | None = None
    task_id: str | None = None
    tool_call_id: str | None = None
    rule: str | None = None
    author: str | None = None  # who declared it
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    agent: str | None = None  # LangChain's name of it (`lc_agent_name`)
    run_id: str | None = None


class _Shared:
    """What every item of a pillar has."""

    __slots__ = ()
    SAYS: ClassVar[str]  # the field that a person knows it by
    opened_at: str | None

    @property
    def words(self) -> str:
        """What a person knows it by: a todo's content, a loop's description, …"""
        return str(getattr(self, self.SAYS))

    @property
    def age(self) -> timedelta | None:
        """How long ago it was opened; None if nobody knows."""
        at = wording.moment(self.opened_at)
        return None if at is None else wording.now_in_utc() - at


@viewed("lists", "item_html", "item_text")
@plain_data
class Todo(_Shared):
    """A step of a plan. `tracker` names the list it stands in (`todos`, `tool:TodoWrite`, …)."""

    SAYS = "content"
    id: str
    content: str
    status: TodoStatus = "pending"
    priority: str = "medium"
    opened_at: str | None = None
    changed_at: str | None = None
    closed_at: str | None = None
    source: Source = Source()
    confidence: Confidence = "structural"
    tracker: str = "todos"
    ref: str | None = None  # the id that the tracker itself gave
    listed: bool = True  # False: it left its tracker's list, finished or given up
    extra: Mapping[str, Any] = field(default_factory=dict)
    thread_id: str | None = None  # where it was listed across threads; a state's items have none

    @property
    def open(self) -> bool:
        return self.status not in FINISHED


@viewed("lists", "item_html", "item_text")
@plain_data
class ContextItem(_Shared):
    """Something the agent knows or made, under a key. `value` is plain JSON data, bounded."""

    SAYS = "key"
    id: str
    key: str
    value: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    opened_at: str | None = None
    changed_at: str | None = None
    source: Source = Source()
    confidence: Confidence = "structural"
    extra: Mapping[str, Any] = field(default_factory=dict)
    thread_id: str | None = None  # where it was listed across threads; a state's items have none

    open = True  # as long as it is there

    @property
    def pinned(self) -> bool:
        """Whether it is a standing order: whoever picks the thread up reads it first, in full."""
        return self.metadata.get("pinned") is True


@viewed("lists", "item_html", "item_text")
@plain_data
class OpenLoop(_Shared):
    """Something that waits. `ref` is what it is known by elsewhere (a tool call's id, …)."""

    SAYS = "description"
    id: str
    kind: LoopKind
    description: str
    context: Mapping[str, Any] = field(default_factory=dict)
    ref: str | None = None
    opened_at: str | None = None
    changed_at: str | None = None
    closed_at: str | None = None
    closed_in: str | None = None  # checkpoint
    outcome: str | None = None  # how it closed
    source: Source = Source()
    confidence: Confidence = "structural"
    extra: Mapping[str, Any] = field(default_factory=dict)
    thread_id: str | None = None  # where it was listed across threads; a state's items have none

    @property
    def resolved(self) -> bool:
        return self.closed_at is not None or self.closed_in is not None

    @property
    def open(self) -> bool:
        return not self.resolved

    @property
    def elsewhere(self) -> bool:
        """Whether it was declared on a branch that the thread has left."""
        return self.extra.get(ELSEWHERE) is True

    @property
    def left(self) -> bool:
        """Whether it failed, or has no result, on a branch that the thread has left."""
        return self.source.rule == LEFT and self.elsewhere


@viewed("lists", "item_html", "item_text")
@plain_data
class Intention(_Shared):
    """What the agent is after. A later one of the same aim supersedes it."""

    SAYS = "text"
    id: str
    text: str
    aim: Aim = "request"
    opened_at: str | None = None
    closed_at: str | None = None
    closed_in: str | None = None
    outcome: str | None = None
    source: Source = Source()
    confidence: Confidence = "structural"
    extra: Mapping[str, Any] = field(default_factory=dict)
    thread_id: str | None = None  # where it was listed across threads; a state's items have none

    @property
    def open(self) -> bool:
        return self.closed_at is None and self.closed_in is None


Item = Todo | ContextItem | OpenLoop | Intention
PILLARS: dict[str, type[Item]] = {
    "todos": Todo, "context": ContextItem, "loops": OpenLoop, "intentions": Intention,
}  # fmt: skip
# One of them, as events call it.
ONE = {"todos": "todo", "context": "context", "loops": "loop", "intentions": "intention"}


@plain_data
class Due:
    """A node that is about to run, or a Send to one (`index` is its place among the Sends)."""

    node: str
    index: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@viewed("state", "state_html", "state_text")
@plain_data
class WorkingState:
    """What the agent was doing at a checkpoint.

    `todos` are the trackers' lists as they stand, and what was finished or given up lately;
    `open_loops` are open, `closed_loops` the last ones that closed, oldest first; `intentions` is
    the history, the last one of each aim still open.
    """

    thread_id: str | None = None
    checkpoint_id: str | None = None
    ts: str | None = None
    title: str | None = None  # the first request, shortened
    todos: tuple[Todo, ...] = ()
    context: tuple[ContextItem, ...] = ()
    loops: tuple[OpenLoop, ...] = ()  # open and lately closed, as they were opened
    intentions: tuple[Intention, ...] = ()
    due: tuple[Due, ...] = ()
    status: Status = "idle"
    reason: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    ns: str = ""  # the namespace whose state it is

    @property
    def open_loops(self) -> tuple[OpenLoop, ...]:
        """What is open, without what was only guessed from prose."""
        return open_of(self.loops)

    @property
    def guessed_loops(self) -> tuple[OpenLoop, ...]:
        """What is open, but only guessed: an offer that was not taken up."""
        return tuple(
            loop for loop in self.loops if not loop.resolved and loop.confidence == "heuristic"
        )

    @property
    def closed_loops(self) -> tuple[OpenLoop, ...]:
        return tuple(loop for loop in self.loops if loop.resolved)

    @property
    def open_todos(self) -> tuple[Todo, ...]:
        return tuple([todo for todo in self.todos if todo.status not in FINISHED])

    @property
    def intention(self) -> Intention | None:
        """What it is after now: an explicit aim, else the newest request, else the task.

        A subgraph's requests and tasks are its own: seen from the thread they don't count.
        """
        found: dict[tuple[str, bool], Intention] = {}
        for each in self.intentions:
            if each.open and each.confidence != "heuristic":
                found[each.aim, each.source.ns == self.ns] = each
        for place in (("explicit", True), ("explicit", False), ("request", True), ("task", True)):
            if place in found:
                return found[place]
        return None

    def get_context(self, key: str, default: Any = None) -> Any:
        """The value under a key."""
        return next((item.value for item in self.context if item.key == key), default)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data, with the number of its schema."""
        return codec.to_dict(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """The same as JSON text."""
        return codec.to_json(self, indent=indent)

    def to_records(self) -> list[dict[str, Any]]:
        """A flat dict for each item of the four pillars; `pillar` says of which."""
        return results.of_state(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a DataFrame, with times as times.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return results.frame(results.of_state(self))

    @staticmethod
    def from_dict(payload: Mapping[str, Any]) -> WorkingState:
        """The state of such data. What this release does not know is kept in `extra`.

        WyrdState's names (`open_loops`, `created_at`, `resolved_at`, …) are understood.

        Raises:
            PayloadTooNew: It was written by a release with a newer schema.
        """
        if isinstance(payload, Mapping):
            payload = codec.renamed(WorkingState, payload)
        return codec.from_dict(WorkingState, payload)

    @staticmethod
    def from_json(text: str | bytes) -> WorkingState:
        """The state of what `to_json` gave.

        Raises:
            PayloadTooNew: It was written by a release with a newer schema.
            InvalidInput: It is no JSON, or no JSON object.
        """
        return WorkingState.from_dict(codec.parsed(text))

    @staticmethod
    def validate(payload: Any) -> codec.Validation:
        """What is wrong with a payload (a dict or JSON text): `.valid`, `.errors`, `.warnings`.

        An error is what `from_dict` refuses or has to leave aside; a warning is what it keeps
        without knowing it. It never raises.
        """
        return codec.validate(payload)

    @staticmethod
    def recover(payload: Any) -> codec.Recovered:
        """The state of what can be read of a damaged payload, and what was dropped of it.

        It never raises: of what holds nothing it makes an empty state. The state it gives is
        valid, and `dropped` names each path that is not in it.
        """
        return codec.recover(payload)

    @staticmethod
    def migrate(payload: Mapping[str, Any], target_version: int | None = None) -> dict[str, Any]:
        """A payload of an older schema as one of `target_version`, or of this release.

        Raises:
            PayloadTooNew: It is newer than that.
            InvalidInput: It is no mapping, or there is no such schema.
        """
        return codec.migrate(payload, target_version)

    def brief(
        self,
        *,
        max_chars: int | None = None,
        stale_after: timedelta | None = timedelta(days=7),
        now: datetime | None = None,
        guesses: bool = False,
    ) -> str:
        """Where things stand, in words: for a prompt, or for a person who picks the thread up.

        Every open item is in it, with its id, age and source; where `max_chars` leaves no room
        for all, it says how many of what are missing.

        Args:
            max_chars: It is never longer than this.
            stale_after: What is open and did not change for longer is marked as stale.
            now: Ages are counted up to here (without a zone it is local); None: up to now.
            guesses: Also tell what was only guessed from prose, apart.
        """
        return briefs.brief(
            self, max_chars=max_chars, stale_after=stale_after, now=now, guesses=guesses
        )


def open_of(loops: tuple[OpenLoop, ...]) -> tuple[OpenLoop, ...]:
    """Those that are open and were not only guessed; nothing is called for each of them."""
    return tuple(
        [
            loop
            for loop in loops
            if loop.closed_at is None and loop.closed_in is None and loop.confidence != "heuristic"
        ]
    )


def config_at(thread_id: str | None, checkpoint_id: str) -> dict[str, Any]:
    """The config that names a checkpoint of a thread's root."""
    where = {"thread_id": thread_id, "checkpoint_ns": "", "checkpoint_id": checkpoint_id}
    return {"configurable": where}


def shortened(text: str, most: int) -> str:
    """One line of text, cut at a word where that is near."""
    return cut(" ".join(text.split()), most)


def cut(line: str, most: int) -> str:
    """A line of text, cut at a word where that is near."""
    if len(line) <= most:
        return line
    start = line[: most - 1]
    space = start.rfind(" ")
    return (start[:space] if space > most * 0.6 else start).rstrip() + "…"
