"""`ui`: the web inspector."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from langgraph_wyrd import ui
from langgraph_wyrd.cli.command import FINE, Asked, Command
from langgraph_wyrd.errors import InvalidInput

_TOKEN = "WYRD_UI_TOKEN"


def inspect(asked: Asked) -> int:
    """Runs until Ctrl-C."""
    args, screen = asked.args, asked.screen
    if args.no_token and os.environ.get(_TOKEN):
        raise InvalidInput(f"--no-token, and {_TOKEN} is set: use one of them")
    token = "" if args.no_token else os.environ.get(_TOKEN) or None

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
    chosen = True if args.read_only else False if args.write else None
    ui.serve(
        saver, host=args.host, port=args.port, token=token, read_only=chosen,
        hosts=args.allow_host or (), ready=ready,
    )  # fmt: skip
    return FINE


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="the interface to listen on")
    parser.add_argument("--port", type=int, default=8765, help="0 takes a free one (8765)")
    parser.add_argument("--open", action="store_true", help="open it in the browser")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--read-only", action="store_true", help="nothing can be changed")
    only.add_argument(
        "--write", action="store_true", help="allow changes on another interface than loopback"
    )
    parser.add_argument(
        "--no-token", action="store_true", help="anybody on this machine may look (loopback only)"
    )
    parser.add_argument(
        "--allow-host", metavar="NAME", action="append", help="another host name for the page"
    )
    parser.epilog = f"The token is a new one each time, or the environment's {_TOKEN}."


COMMANDS = (
    Command("ui", "the web inspector: threads and the inbox in a browser", inspect, _arguments),
)
