"""Commands for who works with agents: states, history, messages; what waits; branches; serving."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from langgraph_wyrd import ui
from langgraph_wyrd.cli.command import (
    AT,
    FINE,
    NOTHING,
    POINT,
    THREAD,
    Asked,
    argument,
    choice,
    command,
    days,
    flag,
    limit,
)
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import LoopKind, OpenLoop, Status, Todo, TodoStatus
from langgraph_wyrd.state.results import Page, QuestionKind
from langgraph_wyrd.views.history import timeline_text
from langgraph_wyrd.views.messages import messages_text
from langgraph_wyrd.views.state import diff_text, state_lines
from langgraph_wyrd.views.text import line, plain, shortest

if TYPE_CHECKING:
    from langgraph_wyrd.thread import Thread


_IN_THREAD = argument("--thread", action="append", help="in this thread")
_OF_USER = argument("--user", action="append", help="in the threads of this user")
_TEXT = argument("--text", help="with this in its text")
_KIND = choice("--kind", get_args(LoopKind), action="append")


@command(
    "look", "threads", "the threads, newest activity first",
    choice("--status", get_args(Status), action="append"), _OF_USER,
    argument("--text", help="with these words in a message, or this text in its title or reason"),
    limit(),
)  # fmt: skip
def threads(asked: Asked) -> int:
    args = asked.args
    return asked.show_page(
        asked.saver.threads, status=args.status, user_id=args.user, text=args.text
    )


@command("look", "show", "what a thread was doing", THREAD, AT)
def show(asked: Asked) -> int:
    state, screen = asked.thread.working_state(at=asked.at), asked.screen
    text = "\n".join(state_lines(state, screen.width, screen.paint))
    return asked.show(text, state.to_dict())


@command(
    "look", "brief", "the same in words, for a prompt", THREAD, AT,
    argument("--max-chars", type=int, metavar="N", help="never longer than this"),
    flag("--guesses", "also what is only guessed: offers"),
)  # fmt: skip
def brief(asked: Asked) -> int:
    state = asked.thread.working_state(at=asked.at)
    text = state.brief(max_chars=asked.args.max_chars, guesses=asked.args.guesses)
    return asked.show(plain(text), {"thread_id": state.thread_id, "brief": text})


@command(
    "look", "loops", "what waits, in all threads", _KIND,
    choice("--status", ("open", "closed", "any"), default="open"),
    _IN_THREAD, _OF_USER, _TEXT, limit(),
)  # fmt: skip
def loops(asked: Asked) -> int:
    return asked.show_page(asked.saver.open_loops, kind=asked.args.kind, **_filters(asked))


@command(
    "look", "todos", "the steps of all threads' plans",
    choice("--status", ("open", *get_args(TodoStatus), "any"), default="open"),
    _IN_THREAD, _OF_USER, _TEXT, limit(),
)  # fmt: skip
def todos(asked: Asked) -> int:
    return asked.show_page(asked.saver.todos, **_filters(asked))


def _filters(asked: Asked) -> dict[str, Any]:
    args = asked.args
    return {
        "status": args.status, "thread_id": args.thread, "user_id": args.user, "text": args.text
    }  # fmt: skip


@command(
    "look", "diff", "what changed between two points of a thread",
    argument("thread", help="its id"), argument("a", metavar="A", help=POINT),
    argument("b", metavar="B", nargs="?", help="the same; without one, the head"),
)  # fmt: skip
def diff(asked: Asked) -> int:
    args, screen = asked.args, asked.screen
    found = asked.thread.diff(asked.point(args.a), asked.point(args.b))
    asked.show(diff_text(found, screen.width, screen.paint), found.to_dict())
    return NOTHING if found.empty else FINE


@command(
    "look", "log", "a thread's checkpoints, with its forks", THREAD,
    flag("--all", "also those that changed nothing"), limit(30),
)  # fmt: skip
def log(asked: Asked) -> int:
    screen, thread = asked.screen, asked.thread
    entries = thread.history(limit=asked.args.limit, changed_only=not asked.args.all)
    ids = shortest(thread.tree().entries)
    text = "\n".join(timeline_text(entries, screen.width, screen.paint, ids))
    asked.show(text, entries.to_records())
    return FINE if entries else NOTHING


@command("look", "labels", "a thread's labels", THREAD)
def labels(asked: Asked) -> int:
    found = asked.thread.labels()
    if not found:
        asked.there(asked.thread_id)
    return asked.screen.page(found)


# ---- branching

_WITH_ID = argument("thread", help="the thread's id")
_TARGET = argument("target", help="an id that has no checkpoints yet")


@command("go back, branch, copy", "copy", "copy a thread, with its whole past", _WITH_ID, _TARGET)
def copy(asked: Asked) -> int:
    args = asked.args
    asked.saver.copy_thread(asked.there(args.thread), args.target)
    return asked.done(f"copied {args.thread} to {args.target}", thread_id=args.target)


@command(
    "go back, branch, copy", "fork", "a new thread from a point of another", _WITH_ID, _TARGET, AT
)
def fork(asked: Asked) -> int:
    target = asked.args.target
    asked.thread.fork(target, at=asked.at)
    return asked.done(f"{target} goes on from {asked.thread_id}", thread_id=target)


@command("go back, branch, copy", "label", "name a checkpoint", _WITH_ID, argument("name"), AT)
def label(asked: Asked) -> int:
    made = asked.thread.label(asked.args.name, at=asked.at)
    said = f"{made.checkpoint_id} is {made.name} now"
    return asked.done(said, name=made.name, checkpoint_id=made.checkpoint_id)


@command(
    "go back, branch, copy", "rewind", "go on from an older point", _WITH_ID,
    argument("to", help="a checkpoint id, a label, a time, or a message's id"),
)  # fmt: skip
def rewind(asked: Asked) -> int:
    to = asked.args.to
    head = asked.thread.rewind(asked.point(to))["configurable"]["checkpoint_id"]
    said = f"{asked.thread_id} goes on from {to}: {head}"
    return asked.done(said, thread_id=asked.thread_id, checkpoint_id=head)


# ---- what waits, and the answers


T = TypeVar("T", OpenLoop, Todo)
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
    choice("--kind", get_args(QuestionKind), action="append"), _IN_THREAD, _OF_USER,
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


# ---- serving threads to others


_TOKEN = "WYRD_UI_TOKEN"


@command(
    "serve", "ui", "the web inspector: threads and the inbox in a browser",
    argument("--host", default="127.0.0.1", help="the interface to listen on"),
    argument("--port", type=int, default=8765, help="0 takes a free one (8765)"),
    flag("--open", "open it in the browser"),
    flag("--read-only", "nothing can be changed"),
    flag("--write", "allow changes on another interface than loopback"),
    flag("--no-token", "anybody on this machine may look (loopback only)"),
    argument("--allow-host", metavar="NAME", action="append", help="another name of the host"),
    epilog=f"The token is a new one each time, or the environment's {_TOKEN}.",
)  # fmt: skip
def inspect(asked: Asked) -> int:
    """Runs until Ctrl-C."""
    args, screen = asked.args, asked.screen
    if args.no_token and os.environ.get(_TOKEN):
        raise InvalidInput(f"--no-token, and {_TOKEN} is set: use one of them")
    if args.read_only and args.write:
        raise InvalidInput("--read-only and --write: use one of them")

    def ready(address: str) -> None:
        if screen.json:
            screen.data({"url": address}, indent=None)
        else:
            screen.say(f"{address}\nCtrl-C ends")
        sys.stdout.flush()
        if args.open:
            import webbrowser

            webbrowser.open(address)

    saver = asked.saver
    saver.setup()  # what is wrong with the database is said now, not in the page
    ui.serve(
        saver,
        host=args.host,
        port=args.port,
        token="" if args.no_token else os.environ.get(_TOKEN) or None,
        read_only=True if args.read_only else False if args.write else None,
        hosts=args.allow_host or (),
        ready=ready,
    )
    return FINE


@command(
    "serve", "mcp", "serve threads to an assistant, over MCP on stdio",
    flag("--write", "let the tool `answer` store answers"),
    argument("--user", metavar="USER", help="only the threads of this user"),
)  # fmt: skip
def mcp(asked: Asked) -> int:
    from langgraph_wyrd.agents.mcp import server

    args = asked.args
    saver = asked.saver if args.user is None else asked.saver.for_user(args.user)
    # Standard output belongs to the protocol from here on.
    server(saver, write=args.write).run("stdio")
    return FINE
