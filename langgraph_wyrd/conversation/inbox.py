"""What waits for a person, in one thread and in all of them; `answers` stores what they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from langgraph_wyrd import filters
from langgraph_wyrd.configs import checkpoint_config, id_of, ns_of
from langgraph_wyrd.conversation.approvals import allowed, request
from langgraph_wyrd.errors import (
    InvalidInput,
)
from langgraph_wyrd.extraction.due import CONTROL, INTERRUPT, JOIN, NULL_TASK, RESUME, SENDS
from langgraph_wyrd.extraction.interrupts import parts_of
from langgraph_wyrd.extraction.plain import as_text
from langgraph_wyrd.extraction.tasks import own_ids
from langgraph_wyrd.operations import Operation, ask, listed
from langgraph_wyrd.state.model import OpenLoop
from langgraph_wyrd.state.results import InboxEntry, Page

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple


ANSWER = "__wyrd_answer__"  # an answer that was stored: who gave it, when, and what it is
ASSIGN = "__wyrd_assign__"  # whose question it is, until when
_BRANCH = "branch:to:"
_PAGE = 8  # checkpoints that are looked at together


@dataclass(frozen=True, slots=True)
class Pending:
    """An interrupt of a task that has not finished.

    `key` is its id (older ones have none: then the task's). `answers` are those that its task has,
    and `place` is this one's among them, None if that can't be known.
    """

    key: str
    value: Any
    schema: Mapping[str, Any] | None
    task: str
    answers: tuple[Any, ...]
    of: CheckpointTuple  # the checkpoint whose task it is
    place: int | None = None  # None also if a subgraph asked that this task ran
    alone: bool = True  # whether no other task of that checkpoint reports it

    @property
    def taken(self) -> bool:
        """Whether its task has the answer."""
        return self.place is not None and self.place < len(self.answers)

    @property
    def own(self) -> bool:
        """Whether the task itself asked. A call that is not known by name reports what its caller
        reports, too."""
        return self.place is not None or not self.alone

    @property
    def at(self) -> RunnableConfig:
        return self.of.config


@dataclass(frozen=True, slots=True)
class Waiting:
    """A thread's interrupts at its head, and what people noted about them there."""

    head: CheckpointTuple
    pending: dict[str, Pending] = field(default_factory=dict)
    notes: tuple[tuple[str, Mapping[str, Any]], ...] = ()  # (channel, what was noted), in order

    def answered(self, asked: Pending) -> Mapping[str, Any] | None:
        """The stored answer to this question, if there is one."""
        given = None
        for channel, note in self.notes:
            if channel == ANSWER and note.get("key") == asked.key:
                given = note
        return given if given is not None and given.get("question") == words(asked) else None

    def assigned(self, key: str) -> Mapping[str, Any]:
        """What was said last about whose it is, and until when."""
        said: dict[str, Any] = {}
        for channel, note in self.notes:
            if channel == ASSIGN and note.get("key") == key:
                said.update({name: value for name, value in note.items() if value is not None})
        return said

    @property
    def open(self) -> dict[str, Pending]:
        """Those that nobody has answered."""
        return {
            key: each
            for key, each in self.pending.items()
            if not each.taken and self.answered(each) is None
        }


def words(asked: Pending) -> str:
    """The text of a question, which tells it from another one with the same id."""
    return as_text(asked.value, 500)


def waiting(
    saver: Any, thread_id: str, loops: Iterable[OpenLoop] = ()
) -> Operation[Waiting | None]:
    """What a thread waits at; None if there is no such thread. `loops`: its listed questions."""
    asking = [loop for loop in loops if loop.kind == "interrupt" and loop.thread_id == thread_id]
    nodes = {loop.source.node for loop in asking if loop.source.node}
    head = yield ask(saver, "get_tuple", checkpoint_config(thread_id, ""))
    if head is None:
        return None
    found = Waiting(head, _pending(head, nodes), tuple(_notes(head)))
    if found.pending:
        for inner in (yield from _subgraphs(saver, thread_id, head)):
            for key, asked in _pending(inner, nodes).items():
                if key in found.pending and _depth(asked.of) > _depth(found.pending[key].of):
                    found.pending[key] = asked
    elif head.metadata.get("source") == "fork":
        found.pending.update((yield from _put_back(saver, head, asking, nodes)))
    return found


def _put_back(
    saver: Any, head: CheckpointTuple, asking: list[OpenLoop], nodes: Iterable[str]
) -> Operation[dict[str, Pending]]:
    """The questions that a rollback left listed: the next interrupt gets the answer."""
    answered = any(
        task == NULL_TASK and channel == RESUME for task, channel, _ in head.pending_writes or ()
    )
    made: dict[str, Pending] = {}
    for loop in asking:
        at = loop.source.checkpoint_id
        if loop.elsewhere or loop.ref is None or at is None or at == id_of(head):
            continue
        if loop.resolved and loop.closed_in != id_of(head):
            continue
        here = {**head.config["configurable"], "checkpoint_id": at, "checkpoint_ns": loop.source.ns}
        there = yield ask(saver, "get_tuple", {"configurable": here})
        asked = None if there is None else _pending(there, nodes, over=True).get(loop.ref)
        if asked is not None and (not answered or any(_notes(head))):
            made[loop.ref] = replace(
                asked, task=NULL_TASK, answers=(), of=head, place=None, alone=True
            )
    return made


def _depth(found: CheckpointTuple) -> int:
    ns = ns_of(found)
    return ns.count("|") + 1 if ns else 0


def _subgraphs(
    saver: Any, thread_id: str, head: CheckpointTuple
) -> Operation[list[CheckpointTuple]]:
    """The newest checkpoint of each subgraph that ran since the head was stored."""
    found: dict[str, CheckpointTuple] = {}
    before = None
    everything = {"configurable": {"thread_id": thread_id}}
    while True:
        page = yield listed(saver, everything, before=before, limit=_PAGE)
        for each in page:
            if id_of(each) <= id_of(head):
                return [*found.values()]
            if ns := ns_of(each):
                found.setdefault(ns, each)
        if len(page) < _PAGE:
            return [*found.values()]
        before = page[-1].config


# ---- one checkpoint


def _pending(
    found: CheckpointTuple, nodes: Iterable[str], *, over: bool = False
) -> dict[str, Pending]:
    """The interrupts of unfinished tasks; `over`: of finished ones as well.

    Of a call and its caller, who report the same one, the call counts: it is the last one in
    LangGraph's order.
    """
    finished: set[str] = set()
    asked: dict[str, list[Any]] = {}
    answers: dict[str, Any] = {}
    for task, channel, value in found.pending_writes or ():
        if channel == INTERRUPT:
            asked[task] = list(value) if isinstance(value, list | tuple) else [value]
        elif channel == RESUME:
            answers[task] = value
        elif channel not in CONTROL:
            finished.add(task)
    ns = ns_of(found)
    names = {*nodes, *_nodes(found)}
    made: dict[str, Pending] = {}
    for task, interrupts in asked.items():
        if task == NULL_TASK or (task in finished and not over):
            continue
        given = _list(answers.get(task))
        for each in interrupts:
            id, value, schema = parts_of(each)
            key, alone = id or task, (id or task) not in made
            place = _place(ns, names, task, key, len(given)) if id else len(given)
            made[key] = Pending(key, value, schema, task, tuple(given), found, place, alone)
    return made


def _place(ns: str, names: Iterable[str], task: str, key: str, count: int) -> int | None:
    """Which of a task's questions has this id; None if it is none of its own."""
    for name in names:
        ids = own_ids(ns, name, task, count + 1)
        if key in ids:
            return ids.index(key)
    return None


def _nodes(found: CheckpointTuple) -> Iterator[str]:
    """Every node that a checkpoint names."""
    values = found.checkpoint["channel_values"]
    yield from found.checkpoint["versions_seen"]
    for channel in found.checkpoint["channel_versions"]:
        if channel.startswith(_BRANCH):
            yield channel.removeprefix(_BRANCH)
        elif channel.startswith(JOIN):
            yield channel.rpartition(":")[2]
    sends = values.get(SENDS)
    for send in sends if isinstance(sends, Sequence) else ():
        node = getattr(send, "node", None)
        if isinstance(node, str):
            yield node


def _notes(found: CheckpointTuple) -> Iterator[tuple[str, Mapping[str, Any]]]:
    notes = [
        (channel, value)
        for _, channel, value in found.pending_writes or ()
        if channel in (ANSWER, ASSIGN) and isinstance(value, Mapping)
    ]
    yield from sorted(notes, key=lambda note: str(note[1].get("at")))


def _list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


_LOOPS = {"approval": "interrupt", "interrupt": "interrupt", "question": "question"}


def inbox(
    saver: Any, limit: int, after: str | None, given: filters.InboxFilters
) -> Operation[Page[InboxEntry]]:
    """One page of it, newest first."""
    wanted = filters.checked(filters.InboxFilters, given, "inbox")
    kinds = {*(_LOOPS if wanted["kind"] is None else wanted["kind"])}
    if not kinds:
        raise InvalidInput(f"kind=[]: use one or several of {', '.join(_LOOPS)}")
    user = given.get("user")
    asked: dict[str, Any] = {
        "kind": sorted({_LOOPS[each] for each in kinds}),
        "user_id": given.get("user_id") if user is None else user,
        "thread_id": given.get("thread_id"), "node": given.get("node"),
        "until": wanted["older_than"],
    }  # fmt: skip
    agent, assigned_to, limit = wanted["agent"], wanted["assigned_to"], filters.count(limit)
    found: Page[InboxEntry] = Page()
    known: dict[str, Waiting | None] = {}
    while True:
        page = yield ask(saver, "open_loops", limit=limit - len(found), after=after, **asked)
        for loop in page:
            id = loop.thread_id
            if id not in known:
                known[id] = yield from waiting(saver, id, page)
            entry = _entry(loop, known[id])
            if entry is None or entry.kind not in kinds:
                continue
            if agent not in (None, entry.agent) or assigned_to not in (None, entry.assigned_to):
                continue
            found.append(entry)
        found.next = after = page.next
        if after is None or len(found) >= limit:
            return found


def _entry(loop: OpenLoop, found: Waiting | None) -> InboxEntry | None:
    """A question, if it still waits: None for one that was answered a moment ago."""
    if found is None or loop.thread_id is None:
        return None
    source, head = loop.source, found.head
    common: dict[str, Any] = {
        "thread_id": loop.thread_id, "question": loop.description, "since": loop.opened_at,
        "node": source.node, "loop_id": loop.id, "config": _config(head.config),
        "user_id": head.metadata.get("user_id"),
    }  # fmt: skip
    if loop.kind != "interrupt":
        return InboxEntry(kind="question", ns=source.ns, agent=_agent(head), **common)
    asked = None if loop.ref is None else found.open.get(loop.ref)
    if asked is None:
        return None
    wanted, said = request(asked.value, asked.schema), found.assigned(asked.key)
    return InboxEntry(
        kind="approval" if wanted.form in ("batched", "per_call", "agent_inbox") else "interrupt",
        allowed=allowed(wanted, asked.schema),
        ns=ns_of(asked.of),
        agent=_agent(asked.of) or _agent(head),
        value=asked.value,
        actions=tuple(map(asdict, wanted.actions)),
        form=wanted.form,
        schema=asked.schema,
        interrupt_id=asked.key,
        assigned_to=said.get("to"),
        expires_at=expiry(found, asked),
        **common,
    )


def _agent(found: Any) -> str | None:
    name = found.metadata.get("lc_agent_name")
    return name if isinstance(name, str) else None


def _config(config: Any) -> dict[str, Any]:
    """Goes on at the head: with a checkpoint's id LangGraph would ask again."""
    here = config["configurable"]
    kept = {name: here[name] for name in ("thread_id", "user_id") if name in here}
    return {"configurable": kept}


def expiry(found: Waiting, asked: Pending) -> str | None:
    """Until when a question can be answered: as it was assigned, or as the graph said itself."""
    until = found.assigned(asked.key).get("expires_at")
    if until is None and isinstance(asked.value, Mapping):
        until = asked.value.get("expires_at")
    try:
        return filters.moment(until, "expires_at")
    except InvalidInput:  # what the graph says is no time
        return None
