"""The working state on its way through a put: read out of a checkpoint, stored as events.

The state of a namespace at a checkpoint is what its put made of the state before (*lasting*), and
what the checkpoint's own tasks, and people, added since (*pending*): interrupts, errors, answers,
edits. The next checkpoint takes the pending part up, and says the rest itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.checkpoints.cache import Namespace, Thread, of_other_tasks
from langgraph_wyrd.codec.delta import Operation
from langgraph_wyrd.codec.payload import packed, unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.extraction.due import CONTROL as CONTROL
from langgraph_wyrd.extraction.due import JOIN, SENDS, due, remaining
from langgraph_wyrd.extraction.messages import has_results
from langgraph_wyrd.extraction.view import Fresh, TaskWrite, View, without_left
from langgraph_wyrd.lazy import lazy
from langgraph_wyrd.state.events import Event, Moment, base
from langgraph_wyrd.state.fold import fold
from langgraph_wyrd.state.model import Due, OpenLoop, WorkingState, plain_data
from langgraph_wyrd.state.namespaces import join
from langgraph_wyrd.state.pending import advance, is_edit, overlaid, rank, with_more
from langgraph_wyrd.state.status import with_status
from langgraph_wyrd.storage.names import given

if TYPE_CHECKING:
    from langgraph_wyrd.checkpoints.auto_labels import AutoLabels
    from langgraph_wyrd.extraction import extracting
    from langgraph_wyrd.extraction.policy import Channels
    from langgraph_wyrd.extraction.registry import Extractors, Failure
else:
    extracting = lazy("extraction.extracting")

Pending = tuple[tuple[Moment, tuple[Event, ...]], ...]

WAITS = ("interrupted", "error")
MOST_EARLY = 32  # checkpoints of a thread that are awaited


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads the working state out of checkpoints; one a database."""

    extractors: Extractors
    channels: Channels
    labels: AutoLabels | None = None

    def has_to_read(self, thread: Thread) -> bool:
        """Whether nobody read the thread's state, or only older extractors, or fewer."""
        return thread.unread or (
            thread.head is not None and not self.extractors.covered_by(thread.read_by)
        )


@plain_data
class NamespaceState:
    """The working state of a namespace at its newest checkpoint.

    `writes` are what its tasks wrote, with their values: the next checkpoint is read beside them.
    They are added as they come.
    """

    checkpoint: str
    lasting: WorkingState
    due: tuple[Due, ...] = ()
    root: str | None = None  # a subgraph's: the root checkpoint that its run belongs to
    pending: Pending = ()
    writes: list[TaskWrite] = field(default_factory=list, compare=False)
    _seen: list[WorkingState] = field(default_factory=list, init=False, repr=False, compare=False)

    def seen(self) -> WorkingState:
        """The state as it is now, with what its tasks said. It is worked out once."""
        if not self.pending:
            return self.lasting
        if not self._seen:
            self._seen.append(overlaid(self.lasting, self.pending))
        return self._seen[0]

    def declared(self) -> tuple[OpenLoop, ...]:
        """The loops among which those that somebody declared are: only edits add to them."""
        for at, _ in self.pending:
            if is_edit(at):
                return self.seen().loops
        return self.lasting.loops

    def ahead(self) -> tuple[Due, ...]:
        """What is due and has not finished yet; all of it where only the next step is missing."""
        return remaining(self.due, self.writes) or self.due

    def sends(self) -> Mapping[str, Sequence[Due]]:
        """The Sends that are due, where extractors look for them."""
        sent = [each for each in self.due if each.index is not None]
        return {SENDS: sent} if sent else {}

    def told(self, task: str) -> tuple[Event, ...]:
        """What a task said so far."""
        return next((events for at, events in self.pending if at.task == task), ())

    def also(self, at: Moment, events: tuple[Event, ...]) -> NamespaceState:
        """With what one of its tasks, or an edit, says now."""
        others = [each for each in self.pending if each[0].task != at.task]
        others.append((at, self.told(at.task) + events))
        others.sort(key=lambda each: rank(each[0].task))
        made = replace(self, pending=tuple(others))
        if self.pending and self._seen:
            now = with_more(self._seen[0], self.lasting, self.pending, at, events)
            if now is not None:
                made._seen.append(now)
        return made


@plain_data
class ThreadState:
    """A thread's working state: what its tables show, and writes that came before their
    checkpoint. `early` is shared by all copies."""

    shown: WorkingState
    early: dict[tuple[str, str], list[TaskWrite]] = field(default_factory=dict, compare=False)

    @property
    def weight(self) -> int:
        s = self.shown
        return 400 * (len(s.loops) + len(s.todos) + len(s.intentions) + len(s.context)) + 1000

    def expect(self, ns: str, checkpoint: str, writes: Sequence[TaskWrite]) -> None:
        """Keep what tasks of a checkpoint wrote that is not stored yet."""
        self.early.setdefault((ns, checkpoint), []).extend(writes)
        while len(self.early) > MOST_EARLY:
            self.early.pop(next(iter(self.early)))

    def expect_also(self, early: Mapping[tuple[str, str], Sequence[TaskWrite]]) -> None:
        """Keep those of another state of the thread as well, task by task."""
        for place, writes in early.items():
            if new := of_other_tasks(self.early.get(place, ()), writes):
                self.expect(*place, new)


# ---- a checkpoint


def of_put(
    reader: Reader,
    put: Any,
    space: Namespace,
    names: Iterable[str],
    fresh: Mapping[str, Sequence[int]],
    joins: Mapping[str, Any],
    early: list[TaskWrite],
    *,
    sealed: bool,
) -> tuple[NamespaceState, tuple[Event, ...]]:
    """The state at a checkpoint that is put behind `space`, and the events that lead there.

    `names` are the channels that changed, `fresh` says what is new in those that are lists.
    """
    before: NamespaceState | None = space.state
    at = Moment(put.id, put.ns, put.ts)
    thread_id = given(put.thread_id)
    if before is None:
        start = WorkingState(thread_id=thread_id)
    else:
        start = advance(before.lasting, before.pending, at)
    view = _view_of(reader, put, space, names, fresh, joins, start, sealed)
    facts, failures = reader.extractors(view, thread_id)
    state, events = fold(start, facts, at)
    if failures:
        events += tuple(map(_failed, failures))
    return NamespaceState(at.checkpoint_id, state, tuple(due(view)), put.root, (), early), events


def _view_of(
    reader: Reader,
    put: Any,
    space: Namespace,
    changed: Iterable[str],
    fresh: Mapping[str, Sequence[int]],
    joins: Mapping[str, Any],
    start: WorkingState,
    sealed: bool,
) -> View:
    values = put.values
    if joins:
        values = {**values, **{name: held for name, held in joins.items() if name in values}}
    gone = [
        name
        for name, known in space.channels.items()
        # A DeltaChannel goes on after a snapshot: its value is in what tasks write.
        if name not in values and name not in space.owners
        and not (known.snapshot and name in put.versions)
    ]  # fmt: skip
    news = {name: Fresh(values[name], places) for name, places in fresh.items()}
    names = frozenset(changed)
    if (remembered := extracting.messages_of(values)) is not None:  # a functional graph's
        values = {**values, "messages": remembered}
        news["messages"] = Fresh(remembered, range(len(remembered)))
        names |= {"messages"}
    before: NamespaceState | None = space.state
    writes, ran = ((), ()) if before is None else (before.writes, before.due)
    if ran and _of_several_steps(put):
        ran = ()
    previous, found = without_left(start)
    return View(
        put.id, put.ns, put.parent, put.ts, put.source, put.step, put.meta, values, put.versions,
        put.seen, names, frozenset(gone), news, writes, True, previous, reader.channels, ran,
        sealed, found,
    )  # fmt: skip


def _of_several_steps(put: Any) -> bool:
    """Whether more than one step led to this checkpoint: with durability="exit" only the last one
    is stored. All that a step changes gets one version; LangGraph of old draws the part behind the
    point anew for each channel."""
    found = {v.partition(".")[0] if type(v) is str else v for v in put.new_versions.values()}
    return len(found) > 1


def of_early(
    reader: Reader,
    state: NamespaceState,
    ns: str,
    versions: Mapping[str, Any],
    thread_id: str,
    meta: Mapping[str, Any],
) -> tuple[NamespaceState, list[tuple[Moment, tuple[Event, ...]]]]:
    """A checkpoint's state with what its tasks had said before it was stored."""
    by_task: dict[str, list[TaskWrite]] = {}
    for write in state.writes:
        by_task.setdefault(write.task, []).append(write)
    said = []
    for task, held in by_task.items():
        if matter([(write.channel, write.value) for write in held]):
            at = Moment(state.checkpoint, ns, state.lasting.ts, task)
            events = of_writes(reader, state, ns, versions, held, task, thread_id, meta)
            said.append((at, events))
            state = state.also(at, events)
    return state, said


def of_writes(
    reader: Reader,
    state: NamespaceState,
    ns: str,
    versions: Mapping[str, Any],
    writes: Sequence[TaskWrite],
    task: str,
    thread_id: str,
    meta: Mapping[str, Any],
) -> tuple[Event, ...]:
    """What a task's writes say at a checkpoint that is the newest of its namespace."""
    seen = state.seen()
    previous, found = without_left(seen)
    view = View(
        state.checkpoint, ns, ts=state.lasting.ts, metadata=meta, versions=versions,
        values=state.sends(), writes=writes, putting=False, previous=previous,
        channels=reader.channels, found=found,
    )  # fmt: skip
    facts, failures = reader.extractors(view, thread_id)
    _, events = fold(seen, facts, Moment(view.checkpoint_id, ns, view.ts, task))
    return events + tuple(map(_failed, failures))


def _failed(failure: Failure) -> Event:
    return Event("thread", "failed", failure.extractor, {"error": failure.error})


def matter(writes: Iterable[tuple[str, Any]]) -> bool:
    """Whether a task's writes say anything before the next checkpoint does."""
    for channel, value in writes:  # at every call: `any` takes twice as long
        if channel in CONTROL or (value is not None and has_results(value)):
            return True
    return False


def joins(codec: Codec, held: dict[str, Any], changes: Mapping[str, Operation]) -> dict[str, Any]:
    """The values of joins as they are stored: a put holds the graph's own set, in which tasks that
    have run since are as well."""
    for name, change in changes.items():
        if name.startswith(JOIN):
            held = {each: value for each, value in held.items() if each != name}
            if change[0] == "w":
                held[name] = codec.load(*change[2:])
    return held


# ---- a thread


def visible(thread: Thread) -> WorkingState:
    """The thread's state: its root's, with the subgraphs that run."""
    space = thread.spaces.get("")
    root = None if space is None else space.state
    if root is None:
        return WorkingState(thread_id=thread.thread_id)
    children = [
        replace(child.state.seen(), due=child.state.ahead())
        for ns, child in sorted(thread.spaces.items())
        if ns and child.state is not None and child.state.root == root.checkpoint
    ]
    if not children:
        return with_status(root.seen(), due=root.ahead())
    state = join(replace(root.seen(), due=root.ahead()), children)
    here = [child.checkpoint_id for child in children if child.checkpoint_id is not None]
    return with_status(state, due=state.due, children=here)


def is_shown(thread: Thread, ns: str, id: str, root: str | None) -> bool:
    """Whether a checkpoint, once it is stored, is part of what the thread's tables show."""
    if ns == "":
        return thread.head is None or id >= thread.head
    return root is not None and root == thread.head


# ---- events as they are stored


# Keys that come again and again, as numbers: append, never renumber.
_KEYS = (
    "kind", "description", "confidence", "ref", "context", "outcome", "text", "aim", "content",
    "status", "priority", "tracker", "place", "listed", "value", "metadata", "key", "order",
    "rule", "message_id", "tool_call_id", "task_id", "node", "channel", "author", "agent",
    "run_id", "checkpoint_id", "ns", "name", "args",
)  # fmt: skip


class _Numbers(dict[str, Any]):
    """The numbers of keys; of one that has none, the key itself."""

    def __missing__(self, key: str) -> str:
        return key


_number = _Numbers((name, number) for number, name in enumerate(_KEYS))
_PILLARS = ("todo", "context", "loop", "intention", "thread")
_OPS = ("open", "change", "close", "drop", "base", "failed", "fork")


def _row(event: Event) -> list[Any]:
    """An event as a short list."""
    row = [
        _PILLARS.index(event.pillar) * 16 + _OPS.index(event.op),
        event.item,
        {_number[name]: value for name, value in event.body.items()},
        {_number[name]: value for name, value in event.source.items()},
    ]
    while not row[-1]:
        row.pop()
    return row


def _event(row: Sequence[Any]) -> Event:
    missing: list[Any] = ["", {}, {}]
    code, item, body, source = [*row, *missing[len(row) - 1 :]]
    return Event(
        _PILLARS[code // 16],  # type: ignore[arg-type]
        _OPS[code % 16],  # type: ignore[arg-type]
        item,
        {_KEYS[n] if type(n) is int else n: value for n, value in body.items()},
        {_KEYS[n] if type(n) is int else n: value for n, value in source.items()},
    )


def pack_events(
    own: Sequence[Event], tasks: Sequence[tuple[Moment, Sequence[Event]]] = ()
) -> bytes | None:
    """The events of a checkpoint, and of its early tasks; None where there are none."""
    if not own and not tasks:
        return None
    held: list[Any] = [[_row(event) for event in own]]
    if tasks:
        held.append([[at.task, at.ts, [_row(e) for e in events]] for at, events in tasks])
    return packed(held)


def pack_events_of(events: Sequence[Event]) -> bytes | None:
    """The events of a task's writes; None where there are none."""
    return packed([_row(event) for event in events]) if events else None


def unpack_events(
    data: bytes | None, at: Moment
) -> tuple[tuple[Event, ...], list[tuple[Moment, tuple[Event, ...]]]]:
    """The events of a checkpoint, and of its early tasks."""
    if data is None:
        return (), []
    own, *rest = unpacked(data)
    tasks = [
        (
            Moment(at.checkpoint_id, at.ns, ts, task),
            tuple(_event(held) for held in events),
        )
        for task, ts, events in (rest[0] if rest else ())
    ]
    return tuple(_event(held) for held in own), tasks


def events_of(data: bytes | None) -> tuple[Event, ...]:
    """The events of a task's writes."""
    return () if data is None else tuple(_event(held) for held in unpacked(data))


def base_of(state: WorkingState) -> Event:
    """The whole state as an event, for a row that builds on no other."""
    return base(state)
