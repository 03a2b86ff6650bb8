"""Commands that look after the database: what is no longer needed, where the bytes are."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from datetime import timedelta
from importlib import import_module
from typing import Any

from langgraph_wyrd.cli.command import FINE, NOTHING, Asked, Command, confirmed, limited
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.records import record
from langgraph_wyrd.views.columns import Column, table
from langgraph_wyrd.views.plain import count, plain


def prune(asked: Asked) -> int:
    args = asked.args
    args.threads = [*map(asked.there, args.threads)]
    what = "everything of" if args.delete else "all but the newest checkpoint of"
    if not asked.sure(f"Delete {what} {count(len(args.threads), 'thread')}?"):
        return NOTHING
    tell = asked.screen.progress("prune")
    for n, thread_id in enumerate(args.threads, 1):
        asked.saver.prune([thread_id], strategy="delete" if args.delete else "keep_latest")
        if tell is not None:
            tell(n, len(args.threads))
    return asked.done(f"pruned {count(len(args.threads), 'thread')}", threads=args.threads)


def sweep(asked: Asked) -> int:
    saver: Any = asked.saver
    rule, bar = _rule(asked.args), asked.screen.progress("sweep")
    report = saver.sweep(rule, dry_run=True, progress=bar)
    if not asked.args.dry_run and (report.checkpoints or report.orphans or report.tombstones):
        if not asked.sure(f"{report}. Delete them?"):
            return NOTHING
        report = saver.sweep(rule, dry_run=False, progress=bar)
    return asked.done(str(report), **record(report))


def erase_user(asked: Asked) -> int:
    args, saver = asked.args, asked.saver
    what = f"Erase all that belongs to user {args.user}"
    if args.threads:
        theirs = asked.all_of(saver.threads, user_id=args.user)
        what += f", and delete {count(len(theirs), 'thread')} of theirs"
    if not asked.sure(f"{what}?"):
        return NOTHING
    rows = saver.erase_user(args.user, threads=args.threads, vacuum=not args.no_vacuum)
    told = [f"{n:,} of {table}" for table, n in rows.items() if n]
    said = f"erased rows of user {args.user}: {', '.join(told)}"
    if not told:
        said = f"nothing that belongs to user {args.user} was there"
    code = asked.done(said, user_id=args.user, rows=rows)
    return code if told else NOTHING


def size(asked: Asked) -> int:
    saver: Any = asked.saver
    report, screen = saver.size_report(limit=asked.args.limit), asked.screen
    if screen.json:
        screen.data(asdict(report))
        return FINE
    screen.say(screen.paint(f"{report.on_disk / 1e6:,.1f} MB on disk", "bold"))
    tables = [(name, each.rows, each.bytes) for name, each in report.tables.items()]
    threads = [
        (id, sum(s.rows for s in held.values()), sum(s.bytes for s in held.values()))
        for id, held in report.threads.items()
    ]
    for name, rows in (("table", tables), ("thread", threads)):
        columns = [Column(name, most=60), Column("rows", right=True), Column("kB", right=True)]
        cells = [(each, f"{n:,}", f"{held / 1e3:,.1f}") for each, n, held in rows]
        screen.say(plain("\n".join(["", *table(columns, cells, screen.width)])))
    return FINE


def reweave(asked: Asked) -> int:
    read = [0]
    bar = asked.screen.progress("reweave")

    def tell(done: int, total: int) -> None:
        read[0] = done
        if bar is not None:
            bar(done, total)

    asked.saver.reweave(asked.args.thread, progress=tell)
    return asked.done(f"read {count(read[0], 'checkpoint')} anew", checkpoints=read[0])


def rotate_keys(asked: Asked) -> int:
    bar = asked.screen.progress("rotate-keys")
    report = asked.saver.rotate_keys(progress=bar)
    return asked.done(str(report), **asdict(report))


def _rule(args: Namespace) -> Any:
    days = {"max_age": args.max_age, "thread_ttl": args.thread_ttl}
    given = {name: timedelta(days=n) for name, n in days.items() if n is not None}
    if args.keep_last is not None:
        given["keep_last"] = args.keep_last
    if not given:
        raise InvalidInput("sweep what? Give --keep-last, --max-age or --thread-ttl")
    return import_module("langgraph_wyrd.retention").Retention(**given)


def _prune(parser: ArgumentParser) -> None:
    parser.add_argument("threads", nargs="+", metavar="thread")
    parser.add_argument("--delete", action="store_true", help="the whole thread")
    confirmed(parser)


def days(text: str) -> float:
    """`90`, or `90d`."""
    return float(text.removesuffix("d"))


def _sweep(parser: ArgumentParser) -> None:
    parser.add_argument("--keep-last", type=int, metavar="N", help="checkpoints of each thread")
    parser.add_argument("--max-age", type=days, metavar="DAYS", help="of a checkpoint")
    parser.add_argument("--thread-ttl", type=days, metavar="DAYS", help="of an idle thread")
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    confirmed(parser)


def _erase_user(parser: ArgumentParser) -> None:
    parser.add_argument("user", help="the user's id")
    parser.add_argument("--threads", action="store_true", help="their threads go as well")
    parser.add_argument("--no-vacuum", action="store_true", help="only rows go, traces stay")
    parser.set_defaults(limit=sys.maxsize)
    confirmed(parser)


def _size(parser: ArgumentParser) -> None:
    limited(parser, 20)


def _reweave(parser: ArgumentParser) -> None:
    parser.add_argument("thread", nargs="?", help="one thread; without one, all of them")


COMMANDS = (
    Command("prune", "delete what threads no longer need", prune, _prune),
    Command("sweep", "delete what is old, in all threads", sweep, _sweep, "saver:WyrdSaver.sweep"),
    Command("erase-user", "erase all that belongs to a user", erase_user, _erase_user),
    Command("size", "where the bytes are", size, _size, "saver:WyrdSaver.size_report"),
    Command("rotate-keys", "seal everything under the newest key", rotate_keys),
    Command("reweave", "read the pillars anew out of the checkpoints", reweave, _reweave),
)
