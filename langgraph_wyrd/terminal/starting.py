"""Commands for those who begin: the demo, the tables, another saver's database."""

from __future__ import annotations

from argparse import ArgumentParser
from importlib import import_module

from langgraph_wyrd.pillars.records import record
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.show.plain import plain
from langgraph_wyrd.terminal.command import FINE, NOTHING, Asked, Command


def ddl(asked: Asked) -> int:
    text = WyrdSaver.ddl(asked.args.dialect, schema=asked.args.schema)
    if asked.screen.json:
        asked.screen.data({"dialect": asked.args.dialect, "ddl": text})
    else:
        asked.screen.say(text)
    return FINE


def demo(asked: Asked) -> int:
    from langgraph_wyrd import demo as ours

    ours.run(asked.args.file, asked.screen.paint)
    return FINE


def adopt(asked: Asked) -> int:
    args, screen = asked.args, asked.screen
    port = import_module("langgraph_wyrd.port")
    bar = screen.progress("adopt")
    report = port.adopt(asked.url, args.into, threads=args.thread, progress=bar)
    if screen.json:
        screen.data(record(report))
    else:
        screen.say(plain(str(report)))
        for thread_id, why in report.left:
            screen.say(plain(f"left {thread_id}: {why}"))
    return NOTHING if report.left else FINE


def _ddl(parser: ArgumentParser) -> None:
    parser.add_argument("dialect", nargs="?", default="postgres", help="postgres or sqlite")


def _demo(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="a file that does not exist yet")


def _adopt(parser: ArgumentParser) -> None:
    parser.add_argument("--into", metavar="URL", help="another database; else beside their tables")
    parser.add_argument("--thread", action="append", help="only this thread")


COMMANDS = (
    Command("demo", "an agent is killed at work, and goes on", demo, _demo),
    Command("ddl", "the statements that make the tables", ddl, _ddl),
    Command("adopt", "take over the official savers' database", adopt, _adopt, "port:adopt"),
)
