"""The interrupts that a thread waits at, read from its newest checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.conversation.calls import Calls
from langgraph_wyrd.extraction.due import CONTROL, INTERRUPT, JOIN, NULL_TASK, RESUME, SENDS
from langgraph_wyrd.extraction.plain import as_text
from langgraph_wyrd.extraction.tasks import own_ids

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

ANSWER = "__wyrd_answer__"  # an answer that was stored: who gave it, when, and what it is
ASSIGN = "__wyrd_assign__"  # whose question it is, until when
_BRANCH = "branch:to:"
GRACE = timedelta(seconds=10)  # in which an answer is stored whole
_PAGE = 8  # checkpoints that are looked at together
_PLACEHOLDER = "placeholder-id"


@dataclass(frozen=True, slots=True)
class Pending:
    """An interrupt of a task that has not finished.

    `key` is its id (older ones have none: then the task's). `answers` are those that its task has,
    and `place` is this one's among them, None if that can't be told.
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

    @property
    def left(self) -> dict[str, Mapping[str, Any]]:
        """Answers whose tasks do not have them: whoever stored them was killed at it."""
        found = {}
        for key, asked in self.pending.items():
            given = self.answered(asked)
            if given is None or asked.taken or not _is_old(given):
                continue
            if asked.own:
                is_stored = len(asked.answers) > int(given["before"])
            else:
                writes = self.head.pending_writes or ()
                is_stored = any(each[:2] == (NULL_TASK, RESUME) for each in writes)
            if not is_stored:
                found[key] = given
        return found

    @property
    def waits(self) -> dict[str, Pending]:
        """Those that no run would get past."""
        return {**self.open, **{key: self.pending[key] for key in self.left}}

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


def _is_old(note: Mapping[str, Any]) -> bool:
    return datetime.now(timezone.utc) - datetime.fromisoformat(note["at"]) > GRACE


def words(asked: Pending) -> str:
    """What a question is recognised by, where its id was used before."""
    return as_text(asked.value, 500)


async def waiting(
    calls: Calls, saver: Any, thread_id: str, nodes: Iterable[str] = ()
) -> Waiting | None:
    """What a thread waits at; None if there is no such thread.

    Args:
        calls: How methods are called.
        saver: Whose thread it is.
        thread_id: Which.
        nodes: Names of nodes that are known to ask.
    """
    root: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    head = await calls(saver, "get_tuple", root)
    if head is None:
        return None
    found = Waiting(head, _pending(head, nodes), tuple(_notes(head)))
    if found.pending:
        async for inner in _subgraphs(calls, saver, thread_id, head):
            for key, asked in _pending(inner, nodes).items():
                if key in found.pending and _depth(asked.at) > _depth(found.pending[key].at):
                    found.pending[key] = asked
    return found


def _depth(config: RunnableConfig) -> int:
    ns = config["configurable"].get("checkpoint_ns") or ""
    return ns.count("|") + 1 if ns else 0


async def _subgraphs(calls: Calls, saver: Any, thread_id: str, head: CheckpointTuple) -> Any:
    """The newest checkpoint of each subgraph that ran since the head was stored."""
    seen: set[str] = set()
    last, before = _id(head), None
    while True:
        page = await calls.listed(
            saver, {"configurable": {"thread_id": thread_id}}, before=before, limit=_PAGE
        )
        for each in page:
            if _id(each) <= last:
                return
            ns = each.config["configurable"].get("checkpoint_ns") or ""
            if ns and ns not in seen:
                seen.add(ns)
                yield each
        if len(page) < _PAGE:
            return
        before = page[-1].config


def _id(found: CheckpointTuple) -> str:
    return str(found.config["configurable"]["checkpoint_id"])


# ---- one checkpoint


def _pending(found: CheckpointTuple, nodes: Iterable[str]) -> dict[str, Pending]:
    """The interrupts of unfinished tasks. Of a call and its caller, who report the same one, the
    call counts: it is the last one in LangGraph's order."""
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
    ns = found.config["configurable"].get("checkpoint_ns") or ""
    names = {*nodes, *_nodes(found)}
    made: dict[str, Pending] = {}
    for task, interrupts in asked.items():
        if task in finished or task == NULL_TASK:
            continue
        given = _list(answers.get(task))
        for each in interrupts:
            id = _field(each, "id") or _field(each, "interrupt_id")
            known = isinstance(id, str) and bool(id) and id != _PLACEHOLDER
            key = id if known else task
            place = _place(ns, names, task, key, len(given)) if known else len(given)
            schema = _field(each, "response_schema")
            made[key] = Pending(
                key,
                _field(each, "value", each),
                schema if isinstance(schema, Mapping) else None,
                task,
                tuple(given),
                found,
                place,
                key not in made,
            )
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


def _field(interrupt: Any, name: str, otherwise: Any = None) -> Any:
    """A field of an interrupt; older ones were stored as dicts."""
    if isinstance(interrupt, Mapping) and "value" in interrupt:
        return interrupt.get(name, otherwise)
    return getattr(interrupt, name, otherwise)


def _list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
