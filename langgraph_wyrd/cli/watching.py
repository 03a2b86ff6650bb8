"""`watch`: what waits in all threads, as it changes."""

from __future__ import annotations

import shutil
import time
from argparse import ArgumentParser
from dataclasses import replace
from typing import get_args

from langgraph_wyrd.cli.command import FINE, Asked, Command, one_of
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.listed import Page
from langgraph_wyrd.state.model import LoopKind, OpenLoop
from langgraph_wyrd.state.records import record
from langgraph_wyrd.views.lists import page_text
from langgraph_wyrd.views.plain import count, fitted, line

_MOST = 1000
_HOME, _REST, _BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


def watch(asked: Asked) -> int:
    """On a terminal a table that is drawn over itself; elsewhere a line for each change."""
    args, looks, before = asked.args, 0, dict[str, OpenLoop]()
    if not args.every > 0:
        raise InvalidInput(f"--every {args.every}: use a number of seconds above 0")
    while True:
        page = asked.saver.open_loops(kind=args.kind, thread_id=args.thread, limit=_MOST)
        now = {f"{each.thread_id}\0{each.id}": each for each in page}
        if asked.screen.live and not asked.screen.json:
            _draw(asked, page)
        else:
            _tell(asked, before, now)
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


def _tell(asked: Asked, before: dict[str, OpenLoop], now: dict[str, OpenLoop]) -> None:
    screen = asked.screen
    for sign, colour, these, others in (("-", "green", before, now), ("+", "amber", now, before)):
        for key in [key for key in these if key not in others]:
            loop = these[key]
            if screen.json:
                change = "opened" if sign == "+" else "closed"
                screen.data({"change": change, **record(loop)}, indent=None)
            else:
                said = f"{sign} {loop.thread_id} {loop.kind}: {loop.description}"
                screen.say(screen.paint(line(said, 400), colour))
    screen.out.flush()


def _arguments(parser: ArgumentParser) -> None:
    one_of(parser, "--kind", get_args(LoopKind), action="append")
    parser.add_argument("--thread", action="append", help="only in this thread")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two looks (2)")
    parser.add_argument("--times", type=int, default=0, help="end after so many looks")


COMMANDS = (Command("watch", "the open loops of all threads, live", watch, _arguments),)
