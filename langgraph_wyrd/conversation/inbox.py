"""What waits for a person, in all threads, and the answers.

LangGraph gives a task the answers that a RESUME write of its own holds. So an answer is such a
write: the next `invoke(None, config)` goes on. Together with it a note of who answered what is
stored at the thread's head, under a name that is made of the interrupt: where that name is there
already, nothing is stored. One transaction stores both.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_wyrd import filters
from langgraph_wyrd.checkpoints import past_writes
from langgraph_wyrd.configs import checkpoint_config, id_of, ns_of
from langgraph_wyrd.conversation.approvals import allowed, request
from langgraph_wyrd.conversation.approvals import answer as fitted
from langgraph_wyrd.errors import (
    AlreadyAnswered,
    InvalidInput,
    ItemNotFound,
    QuestionExpired,
    ThreadNotFound,
    Unserialisable,
    WyrdError,
)
from langgraph_wyrd.extraction.due import CONTROL, INTERRUPT, JOIN, NULL_TASK, RESUME, SENDS
from langgraph_wyrd.extraction.interrupts import parts_of
from langgraph_wyrd.extraction.plain import as_text
from langgraph_wyrd.extraction.tasks import own_ids
from langgraph_wyrd.hooks import of_loops
from langgraph_wyrd.operations import Fire, Operation, ask, listed
from langgraph_wyrd.state.model import OpenLoop, shortened
from langgraph_wyrd.state.results import InboxEntry, Page, is_past

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

    from langgraph_wyrd.thread.handle import Asked


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


# ---- answers


_MOST = 1000


def answer(
    saver: Any, thread: Any, value: Any, loop: Asked, by: str | None, replace: bool
) -> Operation[dict[str, Any]]:
    """Store an answer; each interrupt's id with what was stored for it."""
    if by is not None and (not isinstance(by, str) or not by.strip()):
        raise InvalidInput(f"by={by!r}: name who answers")
    loops, found = yield from _read(saver, thread)
    is_map = isinstance(value, Mapping) and bool(value)  # as `Command(resume=…)` takes one
    if loop is None and is_map and all(key in found.open for key in value):
        given = dict(value)
    else:
        given = {_chosen(thread.id, loop, loops, found, replace): value}
    made: list[tuple[Pending, Any]] = []
    for key, each in given.items():  # all are checked before one is stored
        asked = found.pending[key]
        refuse_expired(found, asked)
        made.append((asked, fitted(each, request(asked.value, asked.schema), asked.schema)))
        if not asked.own and len(found.open) > 1:
            raise InvalidInput(
                f"interrupt {asked.key} of thread {thread.id!r} was asked in a subgraph that "
                "stores no checkpoints, and the thread waits for others as well: answer it with "
                "graph.invoke(Command(resume={id: answer}), config)"
            )
    for asked, each in made:
        yield from _store(saver, found, asked, each, by)
        yield from _close(thread, loops, asked, by)
    return {asked.key: each for asked, each in made}


def assign(
    saver: Any,
    thread: Any,
    loop: Asked,
    to: str | None,
    expires_at: datetime | str | None,
    by: str | None,
) -> Operation[None]:
    """Note whose question it is, and until when it can be answered."""
    if to is not None and (not isinstance(to, str) or not to):
        raise InvalidInput(f"to={to!r}: use the name of whose question it is")
    until = filters.moment(expires_at, "expires_at")
    loops, found = yield from _read(saver, thread)
    key = _chosen(thread.id, loop, loops, found, False)
    note = {"key": key, "to": to, "expires_at": until, "by": by, "at": _now()}
    task = f"assign:{key}:{secrets.token_hex(8)}"
    yield ask(saver, "put_writes", found.head.config, [(ASSIGN, note)], task)


def refuse_expired(found: Waiting, asked: Pending) -> None:
    until = expiry(found, asked)
    if is_past(until):
        raise QuestionExpired(f"interrupt {asked.key} could be answered until {until}")


def _read(saver: Any, thread: Any) -> Operation[tuple[list[OpenLoop], Waiting]]:
    loops = yield ask(saver, "open_loops", thread_id=thread.id, status="any", limit=_MOST)
    found = yield from waiting(saver, thread.id, loops)
    if found is None:
        yield ask(thread, "tree", 1)  # says so, where they are lost
        raise ThreadNotFound(f"thread {thread.id!r} has no checkpoints")
    return list(loops), found


# ---- which question


def _chosen(
    thread_id: str, loop: Asked, loops: list[OpenLoop], found: Waiting, replace: bool
) -> str:
    """The id of the interrupt that is meant; raises if that is not one that waits."""
    if loop is None:
        return _only(thread_id, found, loops, replace)
    if isinstance(loop, InboxEntry):
        if loop.thread_id != thread_id:
            raise InvalidInput(f"the entry is of thread {loop.thread_id!r}, not {thread_id!r}")
        entry, loop = loop, loop.loop_id
        if entry.interrupt_id in found.pending or loop is None:
            loop = entry.interrupt_id
    named = loop.id if isinstance(loop, OpenLoop) else str(loop)
    if named in found.pending:
        key: str | None = named
        known = next((each for each in loops if each.ref == named), None)
    else:
        known = next((each for each in loops if each.id == named), None)
        key = None if known is None else known.ref
    if key in found.pending:
        given = found.answered(found.pending[key])
        if key in found.open or (given is not None and replace):
            return key
        if given is not None:
            raise _refused(thread_id, given)
    if known is None and key is None:
        raise ItemNotFound(f"thread {thread_id!r} has no open loop and no interrupt {named!r}")
    if known is not None and known.kind != "interrupt":
        raise InvalidInput(
            f"loop {named} of thread {thread_id!r} is no interrupt but a {known.kind}: invoke the "
            "graph with a message, or close it with resolve_open_loop"
        )
    outcome = None if known is None else known.outcome
    raise AlreadyAnswered(
        f"interrupt {named} of thread {thread_id!r} is over: {outcome or 'the run went on'}"
    )


def _only(thread_id: str, found: Waiting, loops: list[OpenLoop], replace: bool) -> str:
    candidates = [*found.open]
    if replace:
        candidates += [key for key, each in found.pending.items() if found.answered(each)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        said = {
            each.ref: f"{each.id} ({shortened(each.description, 60)})" for each in loops if each.ref
        }
        listed = "; ".join(said.get(key, key) for key in candidates)
        raise InvalidInput(
            f"thread {thread_id!r} waits for {len(candidates)} answers: say which with loop=, or "
            f"give a dict of answers by interrupt id. They are {listed}"
        )
    for asked in found.pending.values():
        if (given := found.answered(asked)) is not None:
            raise _refused(thread_id, given)
    raise ItemNotFound(f"thread {thread_id!r} waits for no answer")


def _refused(thread_id: str, given: Mapping[str, Any]) -> AlreadyAnswered:
    by, at = given.get("by"), given.get("at")
    who = "" if by is None else f" by {by}"
    return AlreadyAnswered(
        f"thread {thread_id!r} was answered already{who} at {at}; that answer stands", by=by, at=at
    )


# ---- storing


def _store(
    saver: Any, found: Waiting, asked: Pending, value: Any, by: str | None
) -> Operation[None]:
    head = found.head.config
    before = [note for channel, note in found.notes if channel == ANSWER]
    number = sum(note.get("key") == asked.key for note in before)
    note = {
        "key": asked.key, "question": words(asked), "value": value, "by": by, "at": _now(),
        "before": _before(found, asked),
    }  # fmt: skip
    task = f"answer:{asked.key}:{number}"
    writes = (head, [(ANSWER, note)], task), _resuming(found, asked, value)
    calls = [saver._written(*each, "") for each in writes]
    script = partial(past_writes.answered, saver._writing, saver._codec, calls)
    try:
        stored = yield from saver._write(script, calls[0].thread_id)
    except Unserialisable as error:
        path = error.path.removeprefix("['value']")
        said = str(error).replace(f"{ANSWER}['value']", "the answer")
        raise Unserialisable(said, channel="answer", path=path) from error
    if stored is None:
        raise (yield from _outrun(saver, head, task))
    yield Fire(saver, tuple(of_loops(stored.before, stored.after, {"by": "answer"})))


def _outrun(saver: Any, head: Any, task: str) -> Operation[WyrdError]:
    """Why an answer was not stored: another one was, or the run went on."""
    thread_id = head["configurable"]["thread_id"]
    there = yield ask(saver, "get_tuple", head)
    if there is None:
        return ThreadNotFound(f"thread {thread_id!r} is gone: the answer was not stored")
    for name, channel, note in there.pending_writes or ():
        if (name, channel) == (task, ANSWER):
            return _refused(thread_id, note)
    return AlreadyAnswered(f"thread {thread_id!r} went on meanwhile: the answer was not stored")


def _resuming(found: Waiting, asked: Pending, value: Any) -> tuple[Any, list[Any], str]:
    """The write that LangGraph takes the answer from: where, what, by which task."""
    if asked.own:
        before = asked.answers[: _before(found, asked)]
        return asked.at, [(RESUME, [*before, value])], asked.task
    # Asked in a subgraph without checkpoints: the next interrupt gets it.
    return found.head.config, [(RESUME, value)], NULL_TASK


def _before(found: Waiting, asked: Pending) -> int:
    """How many answers its task had when it asked."""
    if asked.place is not None:
        return asked.place
    given = found.answered(asked)
    return len(asked.answers) if given is None else int(given["before"])


def _close(thread: Any, loops: list[OpenLoop], asked: Pending, by: str | None) -> Operation[None]:
    """Close the question's loop, where storing the answer did not do so."""
    loop = next((each for each in loops if each.ref == asked.key and not each.resolved), None)
    if loop is None:
        return
    outcome = "answered" if by is None else f"answered by {by}"
    try:
        yield ask(thread, "resolve_open_loop", loop.id, outcome, by=by or "person")
    except WyrdError:  # it is closed: the answer is what counts
        return


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()
