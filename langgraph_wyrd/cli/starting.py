"""Commands for those who begin: the demo, and the tables."""

from __future__ import annotations

from argparse import ArgumentParser

from langgraph_wyrd.cli.command import FINE, Asked, Command
from langgraph_wyrd.saver import WyrdSaver


def ddl(asked: Asked) -> int:
    text = WyrdSaver.ddl(asked.args.dialect, schema=asked.args.schema)
    if asked.screen.json:
        asked.screen.data({"dialect": asked.args.dialect, "ddl": text})
    else:
        asked.screen.say(text)
    return FINE


def demo(asked: Asked) -> int:
    from langgraph_wyrd import demo as ours

    made = ours.run(asked.args.file, asked.screen.paint, quiet=asked.screen.json)
    if asked.screen.json:
        asked.screen.data(made)
    return FINE


def _ddl(parser: ArgumentParser) -> None:
    dialects = ("postgres", "sqlite")
    parser.add_argument(
        "dialect", nargs="?", default="postgres", choices=dialects, help="postgres or sqlite"
    )


def _demo(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="a file that does not exist yet")


COMMANDS = (
    Command("demo", "an agent is killed at work, and goes on", demo, _demo),
    Command("ddl", "the statements that make the tables", ddl, _ddl),
)
