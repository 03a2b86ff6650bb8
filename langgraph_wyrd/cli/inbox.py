"""Commands for who works with agents: what was said, what waits, and the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from langgraph_wyrd.cli.command import (
    AT,
    FINE,
    NOTHING,
    THREAD,
    Asked,
    argument,
    command,
    days,
    flag,
    limit,
)
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import OpenLoop, Todo
from langgraph_wyrd.state.results import Page, QuestionKind
from langgraph_wyrd.views.messages import messages_text
from langgraph_wyrd.views.text import line, plain

if TYPE_CHECKING:
    from langgraph_wyrd.thread import Thread

T = TypeVar("T", OpenLoop, Todo)
_KINDS = get_args(QuestionKind)
_BY = argument("--by", default="person", metavar="NAME", help="who says so")


@command(
    "look", "messages", "what was said in a thread", THREAD, AT,
    flag("--all", "also what was summarised or trimmed"),
    flag("--full", "every line of long messages"),
    argument("--channel", help="the channel that holds them (messages)"),
    argument("--ns", default="", help="of the subgraph with this namespace"),
    argument("-n", "--limit", type=int, metavar="N", help="the newest so many"),
)  # fmt: skip
def messages(asked: Asked) -> int:
    args, screen = asked.args, asked.screen
    found = asked.thread.messages(
        asked.at, all=args.all, as_dicts=True, channel=args.channel, ns=args.ns, limit=args.limit
    )
    if not found and not screen.json:
        screen.note("nothing was said")
        return NOTHING
    lines = messages_text(found, screen.width, screen.paint, lines=None if args.full else 12)
    asked.show("\n".join(lines), found)
    return FINE if found else NOTHING


@command(
    "look", "inbox", "what waits for a person, in all threads",
    argument("--kind", action="append", choices=_KINDS, metavar="KIND", help=", ".join(_KINDS)),
    argument("--thread", action="append", help="in this thread"),
    argument("--user", action="append", help="in the threads of this user"),
    argument("--node", action="append", help="asked by this node"),
    argument("--agent", help="asked by the agent of this name"),
    argument("--assigned-to", metavar="WHO", help="assigned to this person"),
    argument("--older-than", type=days, metavar="DAYS", help="waiting for longer"),
    limit(),
)  # fmt: skip
def inbox(asked: Asked) -> int:
    args = asked.args
    older = None if args.older_than is None else timedelta(days=args.older_than)
    return asked.show_page(
        asked.saver.inbox, kind=args.kind, user=args.user, thread_id=args.thread, node=args.node,
        agent=args.agent, assigned_to=args.assigned_to, older_than=older,
    )  # fmt: skip


@command("look", "resume", "where a thread stands, and the config to go on with", THREAD, AT)
def resume(asked: Asked) -> int:
    found = asked.saver.resume(asked.thread_id, at=asked.at)
    go_on = f"graph.invoke(None, {line(json.dumps(found.config))})"
    data = {"thread_id": found.thread_id, "config": found.config, "brief": found.brief}
    return asked.show(f"{plain(found.brief)}\n\n{go_on}", data)


@command(
    "answer and close", "answer", "answer a question of the inbox",
    argument("id", help="a question's id, or its start; or a thread's id"),
    argument("value", help="a decision (approve, reject, …), words, or JSON"),
    argument("--message", metavar="TEXT", help="goes with a decision: why, or what else"),
    flag("--replace", "an answer that no run has taken up yet"), _BY,
)  # fmt: skip
def answer(asked: Asked) -> int:
    args = asked.args
    thread_id, loop_id, question = _question(asked, args.id)
    value = _value(args.value)
    if args.message is not None:
        value = {"type": args.value, "message": args.message}
    stored = asked.saver.thread(thread_id).answer(
        value, loop=loop_id, by=args.by, replace=args.replace
    )
    said = f"answered {thread_id}: {question}"
    return asked.done(said, thread_id=thread_id, loop_id=loop_id, stored=stored)


def _question(asked: Asked, given: str) -> tuple[str, str, str]:
    """Thread, loop and words of the question that is meant, by its id or by its thread."""
    found = asked.all_of(asked.saver.inbox)
    here = [each for each in found if each.thread_id == given]
    if not here and not any((each.loop_id or "").startswith(given) for each in found):
        # What was answered a moment ago waits no more, and may still be answered otherwise.
        for loop in asked.saver.open_loops(kind="interrupt", status="closed", limit=1000):
            if loop.thread_id == given or loop.id.startswith(given):
                return str(loop.thread_id), loop.id, loop.description
    if not here:
        here = [asked.only(found, given, "question")]
    if len(here) > 1:
        ids = ", ".join(f"{each.loop_id} ({line(each.question, 60)})" for each in here)
        raise InvalidInput(f"thread {given!r} waits for {len(here)} answers: say which: {ids}")
    return here[0].thread_id, str(here[0].loop_id), here[0].question


def _value(text: str) -> Any:
    """JSON where it is a list, a dict, a number, true or text in quotes; else the words."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@command(
    "answer and close", "resolve", "close an open loop",
    argument("id", help="an open loop's id, or its start"),
    argument("outcome", nargs="?", help="how it ended"), _BY,
)  # fmt: skip
def resolve(asked: Asked) -> int:
    loop, thread = _open(asked, asked.saver.open_loops, "open loop")
    thread.resolve_open_loop(loop.id, asked.args.outcome, by=asked.args.by)
    return asked.done(f"closed: {loop.description}", thread_id=thread.id, loop_id=loop.id)


@command(
    "answer and close", "complete", "a todo is done",
    argument("id", help="a todo's id, or its start"), _BY,
)  # fmt: skip
def complete(asked: Asked) -> int:
    todo, thread = _open(asked, asked.saver.todos, "open todo")
    thread.complete_todo(todo.id, by=asked.args.by)
    return asked.done(f"done: {todo.content}", thread_id=thread.id, todo_id=todo.id)


def _open(asked: Asked, listing: Callable[..., Page[T]], what: str) -> tuple[T, Thread]:
    """The open item that an id, or its start, means; and its thread."""
    item = asked.only(asked.all_of(listing, confidence="any"), asked.args.id, what)
    return item, asked.saver.thread(str(item.thread_id))
