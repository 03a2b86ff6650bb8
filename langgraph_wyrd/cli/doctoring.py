"""Commands that look for damage, and repair it: what is wrong, and what to do about it."""

from __future__ import annotations

import logging
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from langgraph_wyrd.cli.command import FINE, NOTHING, WRONG, Asked, Command, confirmed
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.storage.url import parse
from langgraph_wyrd.views.plain import count, line

_END = """\
what a line begins with:
  repairable  --repair restores it, makes it again, or removes what no load can
              use: the line says which
  stays       nothing proves how it was: loads leave it out, or take an earlier
              checkpoint, and say so
  repaired    --repair dealt with it

A repair can be run again, and while agents are at work: each thread is a
transaction of its own. Make a copy of the database first all the same.

exit codes: 0 no damage (left), 1 damage, 2 an error, 130 interrupted"""
_PAGES = {
    "the file": "Pages of the file are damaged: stop what writes to it, and restore a backup. Or "
    "have `sqlite3 FILE .recover | sqlite3 NEW` save what it can, and run `doctor NEW --repair`",
    "the database": "Pages of the database are damaged: have `REINDEX DATABASE NAME` make its "
    "indexes anew, and run this again. If they are a table's, restore a backup",
}
_COLOURS = {"repairable": "amber", "stays": "red", "repaired": "green", "note": "dim"}


def verify(asked: Asked) -> int:
    """1 if there is damage that is not repaired."""
    saver: Any = asked.saver
    args, screen = asked.args, asked.screen
    if args.repair and not asked.sure("Write what is proven to have been there?"):
        return NOTHING
    with _report_alone():
        progress = screen.progress("repair" if args.repair else "verify")
        report = saver.verify(args.thread, repair=args.repair, progress=progress)
    if screen.json:
        found = [{**asdict(each), "repairable": each.repairable} for each in report.findings]
        space = None if report.space is None else asdict(report.space)
        screen.data({"ok": report.ok, "threads": report.threads, "findings": found, "space": space})
        return FINE if report.ok else NOTHING
    for said, colour in _lines(report.findings):
        screen.say(screen.paint(said, colour))
    room = "" if report.space is None else f" ({report.space})"
    screen.say(line(str(report).partition("\n")[0] + room))
    for said in _next(asked, report):
        screen.say(said)
    return FINE if report.ok else NOTHING


def doctor(asked: Asked) -> int:
    """The same, of the database that is named first."""
    if asked.args.database is not None:
        if asked.args.url is not None:
            raise InvalidInput("which database? It is given twice: as URL, and with --url")
        asked.args.url = asked.args.database
    return verify(asked)


@contextmanager
def _report_alone() -> Iterator[None]:
    """What a log would say stands in the report."""
    logger = logging.getLogger("langgraph_wyrd")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _lines(findings: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Each thread's findings below its name, alike ones on one line; and their colours."""
    threads: dict[str | None, dict[tuple[str, ...], list[Any]]] = {}
    for each in findings:
        alike = (_fate(each), each.table, _shape(each), each.remedy)
        threads.setdefault(each.thread_id, {}).setdefault(alike, []).append(each)
    for thread_id, held in threads.items():
        yield "the database" if thread_id is None else f"thread {line(thread_id)}", "bold"
        for (fate, table, shape, remedy), several in held.items():
            place, what = f"{table}, {several[0].place}", several[0].what
            if len(several) > 1:
                place, what = f"{place} and {count(len(several) - 1, 'other')}", shape
            then = f" ({remedy.removeprefix('stays: ')})" if fate in ("repairable", "stays") else ""
            yield f"  {fate:<10}  {line(f'{place}: {what}{then}')}", _COLOURS[fate]


def _fate(found: Any) -> str:
    if found.repaired:
        return "repaired"
    if not found.damage:
        return "note"
    return "repairable" if found.repairable else "stays"


def _shape(found: Any) -> str:
    """What is wrong, without numbers where only they differ."""
    head, _, rest = found.what.partition(" ")
    return f"rows {rest.partition(' ')[2]}" if head.replace(",", "").isdigit() else str(found.what)


def _next(asked: Asked, report: Any) -> Iterator[str]:
    """What a person can do now."""
    left = [each for each in report.damages if not each.repaired]
    able = [each for each in left if each.repairable]
    stay = len(left) - len(able)
    if damaged := [_PAGES[each.table] for each in left if each.table in _PAGES]:
        yield damaged[0]
        return
    if able and not asked.args.repair:
        yield f"{count(len(able), 'damage')} can be put right: {line(_repairing(asked))}"
    elif able:
        yield f"{count(len(able), 'damage')} could not be put right now: run it again"
    if stay:
        which = "stays: what it held" if stay == 1 else "stay: what they held"
        yield (
            f"{count(stay, 'damage')} {which} is lost; "
            "loads leave it out or take an earlier checkpoint, and the threads go on"
        )


def _repairing(asked: Asked) -> str:
    """The command that repairs. No server's address is repeated: it may hold a password."""
    words = ["langgraph-wyrd", "doctor"]
    if asked.args.url is not None:
        words.append(asked.url if parse(asked.url).dialect == "sqlite" else "URL")
    for name in ("thread", "schema", "key_file"):
        if getattr(asked.args, name) is not None:
            words += [f"--{name.replace('_', '-')}", getattr(asked.args, name)]
    return shlex.join([*words, "--repair"])


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--repair", action="store_true", help="put right what can be")
    confirmed(parser)
    parser.epilog = _END


def _verify(parser: ArgumentParser) -> None:
    parser.add_argument("thread", nargs="?", help="one thread; without one, all of them")
    _options(parser)


def _doctor(parser: ArgumentParser) -> None:
    parser.add_argument(
        "database", nargs="?", metavar="URL", help="the database; without it, --url or WYRD_URL"
    )
    parser.add_argument("--thread", help="one thread; without it, all of them")
    _options(parser)


COMMANDS = (
    Command(
        "verify",
        "look for damage, and repair it",
        verify,
        _verify,
        "saver:WyrdSaver.verify",
        nobody=WRONG,
    ),
    Command(
        "doctor",
        "look for damage in a database, and repair it",
        doctor,
        _doctor,
        "saver:WyrdSaver.verify",
        nobody=WRONG,
    ),
)
