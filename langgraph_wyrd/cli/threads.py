"""Commands that show threads, states and history, and those that copy, fork, label and rewind."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
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
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import LoopKind, OpenLoop, Status, TodoStatus
from langgraph_wyrd.state.records import record
from langgraph_wyrd.state.results import Page
from langgraph_wyrd.views.history import timeline_text
from langgraph_wyrd.views.lists import page_text
from langgraph_wyrd.views.state import diff_text, state_lines
from langgraph_wyrd.views.text import count, fitted, line, plain, shortest

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
    flag("--guesses", "also what prose promises"),
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


# ---- watching

_MOST = 1000
_HOME, _REST, _BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


@command(
    "look", "watch", "the open loops of all threads, live", _KIND, _IN_THREAD,
    argument("--every", type=float, default=2.0, help="seconds between two looks (2)"),
    argument("--times", type=int, default=0, help="end after so many looks"),
)  # fmt: skip
def watch(asked: Asked) -> int:
    """On a terminal a table that is drawn over itself; elsewhere a line for each change."""
    args, looks, before = asked.args, 0, dict[tuple[str | None, str], OpenLoop]()
    if not args.every > 0:
        raise InvalidInput(f"--every {args.every}: use a number of seconds above 0")
    while True:
        page = asked.saver.open_loops(kind=args.kind, thread_id=args.thread, limit=_MOST)
        now = {(each.thread_id, each.id): each for each in page}
        if asked.screen.live and not asked.screen.json:
            _draw(asked, page)
        else:
            for key in before.keys() - now.keys():
                _print_change(asked, "-", before[key])
            for key in now.keys() - before.keys():
                _print_change(asked, "+", now[key])
            asked.screen.out.flush()
        before, looks = now, looks + 1
        if looks == args.times:
            return FINE
        time.sleep(args.every)


def _draw(asked: Asked, page: Page[OpenLoop]) -> None:
    columns, rows = shutil.get_terminal_size((asked.screen.width, 24))
    screen = replace(asked.screen, width=columns)
    head = f"{count(len(page), 'open loop')}, {time.strftime('%H:%M:%S')}, Ctrl-C ends"
    lines = [screen.paint(fitted(head, columns), "bold"), ""]
    if page:
        shown = Page(page[: max(1, rows - 5)])
        lines += page_text(shown, columns, screen.paint).splitlines()
        if len(page) > len(shown):
            lines.append(f"… and {len(page) - len(shown):,} more")
    drawn = "".join(f"{each}{_REST}\n" for each in lines)
    screen.out.write(f"{_HOME}{drawn}{_BELOW}")
    screen.out.flush()


def _print_change(asked: Asked, sign: str, loop: OpenLoop) -> None:
    screen = asked.screen
    if screen.json:
        change = "opened" if sign == "+" else "closed"
        screen.data({"change": change, **record(loop)}, indent=None)
    else:
        said = line(f"{sign} {loop.thread_id} {loop.kind}: {loop.description}", 400)
        screen.say(screen.paint(said, "amber" if sign == "+" else "green"))
