"""Storing a person's answer to an interrupt, and whose question it is.

LangGraph gives a task the answers that a RESUME write of its own holds. So an answer is such a
write: the next `invoke(None, config)` goes on. Together with it a note of who answered what is
stored at the thread's head, under a name that is made of the interrupt: where that name is there
already, nothing is stored. One transaction stores both.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph_wyrd import filters
from langgraph_wyrd.checkpoints import past_writes
from langgraph_wyrd.conversation.approvals import fitted, request
from langgraph_wyrd.conversation.inbox import (
    ANSWER,
    ASSIGN,
    Pending,
    Waiting,
    expiry,
    waiting,
    words,
)
from langgraph_wyrd.errors import (
    AlreadyAnswered,
    InvalidInput,
    ItemNotFound,
    QuestionExpired,
    ThreadNotFound,
    Unserialisable,
    WyrdError,
)
from langgraph_wyrd.extraction.due import NULL_TASK, RESUME
from langgraph_wyrd.hooks import of_loops
from langgraph_wyrd.operations import Fire, Operation, ask
from langgraph_wyrd.state.model import OpenLoop, shortened
from langgraph_wyrd.state.results import InboxEntry, is_past

if TYPE_CHECKING:
    from langgraph_wyrd.thread.handle import Asked

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
