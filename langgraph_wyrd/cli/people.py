"""Commands for who works with agents: what was said, what waits, and the answers."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any, get_args

from langgraph_wyrd.cli.command import (
    FINE,
    NOTHING,
    Asked,
    Command,
    at_point,
    limited,
    one_thread,
)
from langgraph_wyrd.cli.tidying import days
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.inbox import InboxEntry, Kind
from langgraph_wyrd.views.messages import messages_text
from langgraph_wyrd.views.plain import line, plain


def messages(asked: Asked) -> int:
    args, screen = asked.args, asked.screen
    found = asked.thread.messages(
        asked.point(args.at), all=args.all, as_dicts=True, channel=args.channel, ns=args.ns,
        limit=args.limit,
    )  # fmt: skip
    if screen.json:
        screen.data(found)
        return FINE if found else NOTHING
    lines = None if args.full else 12
    for each in messages_text(found, screen.width, screen.paint, lines=lines):
        screen.say(each)
    if not found:
        screen.note("nothing was said")
    return FINE if found else NOTHING


def inbox(asked: Asked) -> int:
    args = asked.args
    older = None if args.older_than is None else timedelta(days=args.older_than)
    page = asked.all_of(
        asked.saver.inbox, kind=args.kind, user=args.user, thread_id=args.thread, node=args.node,
        agent=args.agent, assigned_to=args.assigned_to, older_than=older,
    )  # fmt: skip
    return asked.screen.page(page, page.to_records())


def answer(asked: Asked) -> int:
    args = asked.args
    entry = _question(asked, args.id)
    value = _value(args.value)
    if args.message is not None:
        value = {"type": args.value, "message": args.message}
    stored = asked.saver.thread(entry.thread_id).answer(
        value, loop=entry, by=args.by, replace=args.replace
    )
    said = f"answered {entry.thread_id}: {entry.question}"
    return asked.done(said, thread_id=entry.thread_id, loop_id=entry.loop_id, stored=stored)


def resolve(asked: Asked) -> int:
    args = asked.args
    loop = asked.one_of(asked.saver.open_loops, args.id, "open loop", confidence="any")
    asked.saver.thread(str(loop.thread_id)).resolve_open_loop(loop.id, args.outcome, by=args.by)
    return asked.done(f"closed: {loop.description}", thread_id=loop.thread_id, loop_id=loop.id)


def complete(asked: Asked) -> int:
    args = asked.args
    todo = asked.one_of(asked.saver.todos, args.id, "open todo", confidence="any")
    asked.saver.thread(str(todo.thread_id)).complete_todo(todo.id, by=args.by)
    return asked.done(f"done: {todo.content}", thread_id=todo.thread_id, todo_id=todo.id)


def resume(asked: Asked) -> int:
    args, screen = asked.args, asked.screen
    found = asked.saver.resume(asked.thread_id, at=asked.point(args.at))
    if screen.json:
        screen.data({"thread_id": found.thread_id, "config": found.config, "brief": found.brief})
        return FINE
    screen.say(plain(found.brief))
    screen.say("")
    screen.say(f"graph.invoke(None, {line(json.dumps(found.config))})")
    return FINE


# ---- which question, which answer


def _question(asked: Asked, given: str) -> InboxEntry:
    """The entry of the inbox that is meant: by its id, or by the thread that waits for it."""
    found = asked.all_of_them(asked.saver.inbox)
    here = [each for each in found if each.thread_id == given]
    if not here:
        entry: InboxEntry = asked.only(found, given, "question", lambda each: each.loop_id or "")
        return entry
    if len(here) > 1:
        ids = ", ".join(f"{each.loop_id} ({line(each.question, 60)})" for each in here)
        raise InvalidInput(f"thread {given!r} waits for {len(here)} answers: say which: {ids}")
    return here[0]


def _value(text: str) -> Any:
    """JSON where it is a list, a dict, a number, true or text in quotes; else the words."""
    try:
        return json.loads(text)
    except ValueError:
        return text


# ---- arguments


def _messages(parser: ArgumentParser) -> None:
    one_thread(parser)
    at_point(parser)
    parser.add_argument("--all", action="store_true", help="also what was summarised or trimmed")
    parser.add_argument("--full", action="store_true", help="every line of long messages")
    parser.add_argument("--channel", help="the channel that holds them (messages)")
    parser.add_argument("--ns", default="", help="of the subgraph with this namespace")
    parser.add_argument("-n", "--limit", type=int, metavar="N", help="the newest so many")


def _inbox(parser: ArgumentParser) -> None:
    kinds = get_args(Kind)
    parser.add_argument(
        "--kind", action="append", choices=kinds, metavar="KIND", help=f"{', '.join(kinds)}"
    )
    parser.add_argument("--thread", action="append", help="in this thread")
    parser.add_argument("--user", action="append", help="in the threads of this user")
    parser.add_argument("--node", action="append", help="asked by this node")
    parser.add_argument("--agent", help="asked by the agent of this name")
    parser.add_argument("--assigned-to", metavar="WHO", help="assigned to this person")
    parser.add_argument("--older-than", type=days, metavar="DAYS", help="waiting for longer")
    limited(parser)


def _answer(parser: ArgumentParser) -> None:
    parser.add_argument("id", help="a question's id, or its start; or a thread's id")
    parser.add_argument("value", help="a decision (approve, reject, …), words, or JSON")
    parser.add_argument("--message", metavar="TEXT", help="goes with a decision: why, or what else")
    parser.add_argument(
        "--replace", action="store_true", help="an answer that no run has taken up yet"
    )
    _by(parser)


def _resolve(parser: ArgumentParser) -> None:
    parser.add_argument("id", help="an open loop's id, or its start")
    parser.add_argument("outcome", nargs="?", help="how it ended")
    _by(parser)


def _complete(parser: ArgumentParser) -> None:
    parser.add_argument("id", help="a todo's id, or its start")
    _by(parser)


def _resume(parser: ArgumentParser) -> None:
    one_thread(parser)
    at_point(parser)


def _by(parser: ArgumentParser) -> None:
    parser.add_argument("--by", default="person", metavar="NAME", help="who says so")


LOOKING = (
    Command("messages", "what was said in a thread", messages, _messages),
    Command("inbox", "what waits for a person, in all threads", inbox, _inbox),
    Command("resume", "where a thread stands, and the config to go on with", resume, _resume),
)
ANSWERING = (
    Command("answer", "answer a question of the inbox", answer, _answer),
    Command("resolve", "close an open loop", resolve, _resolve),
    Command("complete", "a todo is done", complete, _complete),
)
COMMANDS = (*LOOKING, *ANSWERING)
