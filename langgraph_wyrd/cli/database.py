"""Commands for the database: check, repair, prune, sweep, sizes, keys, files, adoption, tables."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from langgraph_wyrd.checkpoints.retention import Retention
from langgraph_wyrd.cli.command import (
    FINE,
    NOTHING,
    WRONG,
    YES,
    Asked,
    argument,
    command,
    days,
    flag,
    limit,
    serde_of_environment,
)
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.state.results import record
from langgraph_wyrd.state.wording import count
from langgraph_wyrd.storage.url import parse
from langgraph_wyrd.views.text import line, plain

_CARE = "look after the database"


@command(
    _CARE, "prune", "delete what threads no longer need",
    argument("threads", nargs="+", metavar="thread"), flag("--delete", "the whole thread"), YES,
)  # fmt: skip
def prune(asked: Asked) -> int:
    args = asked.args
    ids = [*map(asked.there, args.threads)]
    what = "everything of" if args.delete else "all but the newest checkpoint of"
    if not asked.sure(f"Delete {what} {count(len(ids), 'thread')}?"):
        return NOTHING
    progress = asked.screen.progress("prune")
    for n, thread_id in enumerate(ids, 1):
        asked.saver.prune([thread_id], strategy="delete" if args.delete else "keep_latest")
        if progress is not None:
            progress(n, len(ids))
    return asked.done(f"pruned {count(len(ids), 'thread')}", threads=ids)


@command(
    _CARE, "sweep", "delete what is old, in all threads",
    argument("--keep-last", type=int, metavar="N", help="checkpoints of each thread"),
    argument("--max-age", type=days, metavar="DAYS", help="of a checkpoint"),
    argument("--thread-ttl", type=days, metavar="DAYS", help="of an idle thread"),
    flag("--dry-run", "only say what would go"), YES,
)  # fmt: skip
def sweep(asked: Asked) -> int:
    args, saver = asked.args, asked.saver
    ages = {"max_age": args.max_age, "thread_ttl": args.thread_ttl}
    given: dict[str, Any] = {k: timedelta(days=n) for k, n in ages.items() if n is not None}
    if args.keep_last is not None:
        given["keep_last"] = args.keep_last
    if not given:
        raise InvalidInput("sweep what? Give --keep-last, --max-age or --thread-ttl")
    rule, progress = Retention(**given), asked.screen.progress("sweep")
    report = saver.sweep(rule, dry_run=True, progress=progress)
    if not args.dry_run and (report.checkpoints or report.orphans or report.tombstones):
        if not asked.sure(f"{report}. Delete them?"):
            return NOTHING
        report = saver.sweep(rule, dry_run=False, progress=progress)
    return asked.done(str(report), **record(report))


@command(
    _CARE, "erase-user", "erase all that belongs to a user",
    argument("user", help="the user's id"),
    flag("--threads", "their threads go as well"),
    flag("--redact", "also titles, loops, todos, events"),
    flag("--no-vacuum", "only rows go, traces stay"), YES,
)  # fmt: skip
def erase_user(asked: Asked) -> int:
    args, saver = asked.args, asked.saver
    what = f"Erase all that belongs to user {args.user}"
    if args.threads:
        theirs = asked.all_of(saver.threads, user_id=args.user)
        what += f", and delete {count(len(theirs), 'thread')} of theirs"
    if not asked.sure(f"{what}?"):
        return NOTHING
    how = {"threads": args.threads, "redact": args.redact, "vacuum": not args.no_vacuum}
    rows = saver.erase_user(args.user, **how)
    said = f"nothing that belongs to user {args.user} was there"
    if gone := [f"{n:,} of {table}" for table, n in rows.items() if n]:
        said = f"erased rows of user {args.user}: {', '.join(gone)}; {rows}"
    asked.done(said, user_id=args.user, rows=rows)
    return FINE if gone else NOTHING


@command(_CARE, "size", "where the bytes are", limit(20))
def size(asked: Asked) -> int:
    report = asked.saver.size_report(limit=asked.args.limit)
    return asked.show(plain(str(report)), asdict(report))


@command(_CARE, "rotate-keys", "seal everything under the newest key")
def rotate_keys(asked: Asked) -> int:
    report = asked.saver.rotate_keys(progress=asked.screen.progress("rotate-keys"))
    return asked.done(str(report), **asdict(report))


@command(
    _CARE, "re-extract", "read the working state again out of the checkpoints",
    argument("thread", nargs="?", help="one thread; without one, all of them"),
)  # fmt: skip
def re_extract(asked: Asked) -> int:
    read, bar = 0, asked.screen.progress("re-extract")

    def progress(done: int, total: int) -> None:
        nonlocal read
        read = done
        if bar is not None:
            bar(done, total)

    asked.saver.reextract(asked.args.thread, progress=progress)
    return asked.done(f"read {count(read, 'checkpoint')} again", checkpoints=read)


# ---- damage

_WORDS = """\
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


@command(
    _CARE, "doctor", "look for damage in a database, and repair it",
    argument("database", nargs="?", metavar="URL",
             help="the database; without it, --url or WYRD_URL"),
    argument("--thread", help="one thread; without it, all of them"),
    flag("--repair", "repair what can be repaired"), YES,
    epilog=_WORDS, nobody=WRONG,
)  # fmt: skip
def doctor(asked: Asked) -> int:
    """1 if there is damage that is not repaired."""
    args, screen = asked.args, asked.screen
    if args.database is not None:
        if args.url is not None:
            raise InvalidInput("which database? It is given twice: as URL, and with --url")
        args.url = args.database
    if args.repair and not asked.sure("Write what is proven to have been there?"):
        return NOTHING
    saver: Any = asked.saver
    with _report_alone():
        progress = screen.progress("repair" if args.repair else "verify")
        report = saver.verify(args.thread, repair=args.repair, progress=progress)
    found = [{**asdict(each), "repairable": each.repairable} for each in report.findings]
    lines = [screen.paint(said, colour) for said, colour in _lines(report.findings)]
    lines += [line(str(report).partition("\n")[0]), *_next(asked, report)]
    data = {"ok": report.ok, "threads": report.threads, "findings": found}
    asked.show("\n".join(lines), data)
    return FINE if report.ok else NOTHING


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
        for (fate, name, shape, remedy), several in held.items():
            place, what = f"{name}, {several[0].place}", several[0].what
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
        yield f"{count(len(able), 'damage')} can be repaired: {line(_repairing(asked))}"
    elif able:
        yield f"{count(len(able), 'damage')} could not be repaired now: run it again"
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


# ---- carrying


@command(
    "carry", "export", "write a thread to a file", argument("thread"),
    argument("file", help="a JSON file; one that is there is replaced"),
    flag("--payloads", "with all that `import` needs"),
)  # fmt: skip
def export(asked: Asked) -> int:
    id, file = asked.thread_id, asked.args.file
    asked.thread.export(file, payloads=asked.args.payloads)
    return asked.done(f"wrote {id} to {file}", thread_id=id, file=file)


@command(
    "carry", "import", "bring a thread back from one",
    argument("file", help="what `export --payloads` wrote"),
    argument("--as", dest="thread", metavar="THREAD", help="under another id"),
    makes_tables=True,
)  # fmt: skip
def bring_back(asked: Asked) -> int:
    found = asked.saver.import_thread(asked.args.file, asked.args.thread)
    return asked.done(f"{found} is here", thread_id=found)


@command(
    "carry", "adopt", "take over the official savers' database",
    argument("--into", metavar="URL", help="another database; else the same one"),
    argument("--thread", action="append", help="only this thread"),
)  # fmt: skip
def adopt(asked: Asked) -> int:
    from langgraph_wyrd import port

    args = asked.args
    report = port.adopt(
        asked.url, args.into, serde=serde_of_environment(), threads=args.thread,
        progress=asked.screen.progress("adopt"),
    )  # fmt: skip
    lines = [str(report), *(f"left {thread_id}: {why}" for thread_id, why in report.left)]
    asked.show(plain("\n".join(lines)), record(report))
    return NOTHING if report.left else FINE


# ---- beginning


@command(
    "begin", "demo", "an agent is killed at work, and goes on",
    argument("file", nargs="?", help="a file that does not exist yet"),
)  # fmt: skip
def demo(asked: Asked) -> int:
    from langgraph_wyrd.cli import demo as ours

    made = ours.run(asked.args.file, asked.screen.paint, quiet=asked.screen.json)
    if asked.screen.json:
        asked.screen.data(made)
    return FINE


@command(
    "begin", "ddl", "the statements that make the tables",
    argument("dialect", nargs="?", default="postgres", choices=("postgres", "sqlite"),
             help="postgres or sqlite"),
    argument("--placement", metavar="P", help="hash:16, citus or portable: see docs/scale.md"),
)  # fmt: skip
def ddl(asked: Asked) -> int:
    args = asked.args
    text = WyrdSaver.ddl(args.dialect, schema=args.schema, placement=args.placement)
    return asked.show(text, {"dialect": args.dialect, "ddl": text})
