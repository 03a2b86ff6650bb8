"""Commands that look: threads, states, lists, differences, history."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any, get_args

from langgraph_wyrd.cli.command import (
    FINE,
    NOTHING,
    Asked,
    Command,
    at_point,
    limited,
    one_of,
    one_thread,
)
from langgraph_wyrd.state.model import LoopKind, Status, TodoStatus
from langgraph_wyrd.state.records import record
from langgraph_wyrd.views.changes import diff_text
from langgraph_wyrd.views.lines import state_lines
from langgraph_wyrd.views.past import timeline_text
from langgraph_wyrd.views.plain import plain, shortest


def threads(asked: Asked) -> int:
    args = asked.args
    page = asked.all_of(asked.saver.threads, status=args.status, user_id=args.user, text=args.text)
    return asked.screen.page(page, page.to_records())


def show(asked: Asked) -> int:
    state, screen = asked.thread.working_state(at=asked.point(asked.args.at)), asked.screen
    if screen.json:
        screen.data(state.to_dict())
        return FINE
    for each in state_lines(state, screen.width, screen.paint):
        screen.say(each)
    return FINE


def brief(asked: Asked) -> int:
    args, screen = asked.args, asked.screen
    state = asked.thread.working_state(at=asked.point(args.at))
    text = state.brief(max_chars=args.max_chars, guesses=args.guesses)
    if screen.json:
        screen.data({"thread_id": state.thread_id, "brief": text})
    else:
        screen.say(plain(text))
    return FINE


def loops(asked: Asked) -> int:
    args = asked.args
    kept = {"kind": args.kind, "status": args.status, **_common(asked)}
    page = asked.all_of(asked.saver.open_loops, **kept)
    return asked.screen.page(page, page.to_records())


def todos(asked: Asked) -> int:
    page = asked.all_of(asked.saver.todos, status=asked.args.status, **_common(asked))
    return asked.screen.page(page, page.to_records())


def diff(asked: Asked) -> int:
    args, screen = asked.args, asked.screen
    found = asked.thread.diff(asked.point(args.a), asked.point(args.b))
    if screen.json:
        screen.data(found.to_dict())
    else:
        screen.say(diff_text(found, screen.width, screen.paint))
    return NOTHING if found.empty else FINE


def log(asked: Asked) -> int:
    screen = asked.screen
    thread: Any = asked.thread
    entries = thread.history(limit=asked.args.limit, changed_only=not asked.args.all)
    if screen.json:
        screen.data([record(each) for each in entries])
    else:
        ids = shortest(thread.tree().entries)
        for each in timeline_text(entries, screen.width, screen.paint, ids):
            screen.say(each)
    return FINE if entries else NOTHING


def labels(asked: Asked) -> int:
    screen = asked.screen
    thread: Any = asked.thread
    found = thread.labels()
    if not found:
        asked.there(asked.thread_id)
    if screen.json:
        screen.data([{k: v for k, v in record(each).items() if k != "context"} for each in found])
    else:
        for each in found:
            screen.say(f"{screen.paint(each.checkpoint_id, 'amber')}  {plain(each.name)}")
        if not found:
            screen.note("nothing found")
    return FINE if found else NOTHING


# ---- arguments


def _common(asked: Asked) -> dict[str, Any]:
    args = asked.args
    return {"thread_id": args.thread, "user_id": args.user, "text": args.text}


def _threads(parser: ArgumentParser) -> None:
    one_of(parser, "--status", get_args(Status), action="append")
    _filters(parser)


def _loops(parser: ArgumentParser) -> None:
    one_of(parser, "--kind", get_args(LoopKind), action="append")
    one_of(parser, "--status", ("open", "closed", "any"), default="open")
    parser.add_argument("--thread", action="append", help="in this thread")
    _filters(parser)


def _todos(parser: ArgumentParser) -> None:
    one_of(parser, "--status", ("open", *get_args(TodoStatus), "any"), default="open")
    parser.add_argument("--thread", action="append", help="in this thread")
    _filters(parser)


def _filters(parser: ArgumentParser) -> None:
    parser.add_argument("--user", action="append", help="in the threads of this user")
    parser.add_argument("--text", help="with this in its text")
    limited(parser)


def _state(parser: ArgumentParser) -> None:
    one_thread(parser)
    at_point(parser)


def _brief(parser: ArgumentParser) -> None:
    _state(parser)
    parser.add_argument("--max-chars", type=int, metavar="N", help="never longer than this")
    parser.add_argument("--guesses", action="store_true", help="also what prose promises")


def _diff(parser: ArgumentParser) -> None:
    parser.add_argument("thread", help="its id")
    parser.add_argument("a", metavar="A", help="a checkpoint id, a label or a time")
    parser.add_argument("b", metavar="B", nargs="?", help="the same; without one, the head")


def _log(parser: ArgumentParser) -> None:
    one_thread(parser)
    parser.add_argument("--all", action="store_true", help="also those that changed nothing")
    limited(parser, 30)


COMMANDS = (
    Command("threads", "the threads, newest activity first", threads, _threads),
    Command("show", "what a thread was doing", show, _state),
    Command("brief", "the same in words, for a prompt", brief, _brief),
    Command("loops", "what waits, in all threads", loops, _loops),
    Command("todos", "the steps of all threads' plans", todos, _todos),
    Command("diff", "what changed between two points of a thread", diff, _diff),
    Command("log", "a thread's checkpoints, with its forks", log, _log, "thread:Thread.history"),
    Command("labels", "a thread's labels", labels, one_thread, "thread:Thread.labels"),
)
