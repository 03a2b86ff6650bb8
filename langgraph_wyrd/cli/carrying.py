"""Commands that carry threads: into files and back, and over from other savers."""

from __future__ import annotations

from argparse import ArgumentParser
from importlib import import_module
from typing import Any

from langgraph_wyrd.cli.command import (
    FINE,
    NOTHING,
    Asked,
    Command,
    confirmed,
    serde_of_environment,
)
from langgraph_wyrd.state.records import record
from langgraph_wyrd.views.plain import plain


def adopt(asked: Asked) -> int:
    args, screen = asked.args, asked.screen
    port = import_module("langgraph_wyrd.port")
    if args.drop_old and not asked.sure(
        "When all of it is adopted and compared, drop the official tables for good?"
    ):
        return NOTHING
    bar = screen.progress("adopt")
    report = port.adopt(
        asked.url, args.into, serde=serde_of_environment(), threads=args.thread, progress=bar,
        drop_old=args.drop_old,
    )  # fmt: skip
    if screen.json:
        screen.data(record(report))
    else:
        screen.say(plain(str(report)))
        for thread_id, why in report.left:
            screen.say(plain(f"left {thread_id}: {why}"))
    return NOTHING if report.left else FINE


def export(asked: Asked) -> int:
    args = asked.args
    thread: Any = asked.thread
    thread.export(args.file, payloads=args.payloads)
    return asked.done(f"wrote {args.thread} to {args.file}", thread_id=args.thread, file=args.file)


def bring_back(asked: Asked) -> int:
    saver: Any = asked.saver
    found = saver.import_thread(asked.args.file, asked.args.thread)
    return asked.done(f"{found} is here", thread_id=found)


def _adopt(parser: ArgumentParser) -> None:
    parser.add_argument("--into", metavar="URL", help="another database; else beside their tables")
    parser.add_argument("--thread", action="append", help="only this thread")
    parser.add_argument(
        "--drop-old", action="store_true",
        help="then drop the official tables, and give their space back",
    )  # fmt: skip
    confirmed(parser)


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("thread")
    parser.add_argument("file", help="a JSON file; one that is there is replaced")
    parser.add_argument("--payloads", action="store_true", help="with all that `import` needs")


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("file", help="what `export --payloads` wrote")
    parser.add_argument("--as", dest="thread", metavar="THREAD", help="under another id")
    parser.set_defaults(makes=True)


COMMANDS = (
    Command("export", "write a thread to a file", export, _export, "thread:Thread.export"),
    Command(
        "import", "bring a thread back from one", bring_back, _import,
        "saver:WyrdSaver.import_thread",
    ),
    Command("adopt", "take over the official savers' database", adopt, _adopt, "port:adopt"),
)  # fmt: skip
