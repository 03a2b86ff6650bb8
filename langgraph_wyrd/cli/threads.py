"""Commands that show threads, states and history, and those that copy, fork, label and rewind."""

from __future__ import annotations

from typing import Any, get_args

from langgraph_wyrd.cli.command import (
    AT,
    FINE,
    NOTHING,
    THREAD,
    Asked,
    argument,
    choice,
    command,
    flag,
    limit,
)
from langgraph_wyrd.state.model import LoopKind, Status, TodoStatus
from langgraph_wyrd.state.results import record
from langgraph_wyrd.views.history import timeline_text
from langgraph_wyrd.views.state import diff_text, state_lines
from langgraph_wyrd.views.text import plain, shortest

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


_POINT = "a checkpoint id, a label or a time"


@command(
    "look", "diff", "what changed between two points of a thread",
    argument("thread", help="its id"), argument("a", metavar="A", help=_POINT),
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
    asked.show(text, [record(each) for each in entries])
    return FINE if entries else NOTHING


@command("look", "labels", "a thread's labels", THREAD)
def labels(asked: Asked) -> int:
    found = asked.thread.labels()
    if not found:
        asked.there(asked.thread_id)
    hidden = ("context", "_thread")
    return asked.screen.page(
        found, ({k: v for k, v in record(each).items() if k not in hidden} for each in found)
    )


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
    said = f"{asked.thread_id} stands again where it stood at {to}: {head}"
    return asked.done(said, thread_id=asked.thread_id, checkpoint_id=head)
