"""Commands that serve threads to other programs."""

from __future__ import annotations

from argparse import ArgumentParser

from langgraph_wyrd.cli.command import FINE, Asked, Command


def mcp(asked: Asked) -> int:
    from langgraph_wyrd.agents.mcp import server

    args = asked.args
    saver = asked.saver if args.user is None else asked.saver.for_user(args.user)
    # Standard output belongs to the protocol from here on.
    server(saver, write=args.write).run("stdio")
    return FINE


def _mcp(parser: ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help="also offer the tool `answer`")
    parser.add_argument("--user", metavar="USER", help="only the threads of this user")


COMMANDS = (Command("mcp", "serve threads to an assistant, over MCP on stdio", mcp, _mcp),)
