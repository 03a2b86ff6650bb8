"""Commands that serve threads to other programs."""

from __future__ import annotations

from argparse import ArgumentParser

from langgraph_wyrd.cli.command import FINE, Asked, Command


def mcp(asked: Asked) -> int:
    from langgraph_wyrd.agents.mcp import server

    # Standard output belongs to the protocol from here on.
    server(asked.saver, write=asked.args.write).run("stdio")
    return FINE


def _mcp(parser: ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help="also offer the tool `answer`")


COMMANDS = (Command("mcp", "serve threads to an assistant, over MCP on stdio", mcp, _mcp),)
