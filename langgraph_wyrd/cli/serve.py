"""Commands that serve threads to others: the web inspector, MCP."""

from __future__ import annotations

import os
import sys

from langgraph_wyrd import ui
from langgraph_wyrd.cli.command import FINE, Asked, argument, command, flag
from langgraph_wyrd.errors import InvalidInput

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
