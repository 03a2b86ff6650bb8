"""How a command is declared, and what it works with: its arguments, a database, a terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.state.results import InboxEntry, Page
from langgraph_wyrd.state.wording import count
from langgraph_wyrd.storage.encryption import ENV, KeyRing
from langgraph_wyrd.storage.url import parse
from langgraph_wyrd.views.lists import page_text
from langgraph_wyrd.views.text import fitted, json_text, line, plain

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from langgraph_wyrd.thread import Thread


T = TypeVar("T")
Run = Callable[["Asked"], int]
FINE, NOTHING, WRONG = 0, 1, 2  # exit codes: as grep and diff have them
_PAGE = 1000
_MOMENT = 0.3  # seconds that are enough to close a database which nothing holds
_START = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{3,34}")  # of a checkpoint's id
_SHOWN = 4  # ids that are named where one is ambiguous
_AES_KEY = "LANGGRAPH_AES_KEY"  # LangGraph's own name for it

Argument = tuple[tuple[str, ...], dict[str, Any]]  # as argparse's `add_argument` takes it


@dataclass(frozen=True)
class Command:
    """A command of the terminal.

    `nobody`: its exit code if there is no such thread. `makes_tables`: it may make them.
    """

    name: str
    help: str
    run: Run
    arguments: Sequence[Argument]
    epilog: str | None = None
    nobody: int = NOTHING
    makes_tables: bool = False


# By the groups in which help lists them, in this order.
GROUPS: dict[str, list[Command]] = {
    "look": [], "answer and close": [], "serve": [], "go back, branch, copy": [], "carry": [],
    "look after the database": [], "begin": [],
}  # fmt: skip


def command(
    group: str, name: str, help: str, *arguments: Argument, **more: Any
) -> Callable[[Run], Run]:
    """Make a function a command of the terminal."""

    def declare(run: Run) -> Run:
        GROUPS[group].append(Command(name, help, run, arguments, **more))
        return run

    return declare


def argument(*names: str, **how: Any) -> Argument:
    return names, how


def flag(name: str, help: str) -> Argument:
    return argument(name, action="store_true", help=help)


def choice(name: str, values: Sequence[str], **how: Any) -> Argument:
    """An option with known values, which shells complete."""
    known = tuple(dict.fromkeys(values))
    shown = ", ".join(known)
    return argument(name, choices=known, metavar=name.lstrip("-").upper(), help=shown, **how)


def limit(most: int = 50) -> Argument:
    return argument("-n", "--limit", type=int, default=most, help=f"at most so many ({most})")


def days(text: str) -> float:
    """`90`, or `90d`."""
    return float(text.removesuffix("d"))


THREAD = argument("thread", nargs="?", help="its id; without one, the newest thread")
POINT = "a checkpoint id, a label or a time"
AT = argument("--at", metavar="POINT", help=POINT)
YES = argument("-y", "--yes", action="store_true", help="do not ask")


class Asked:
    """One call of a command: its arguments, the database, the terminal."""

    def __init__(self, arguments: Namespace, screen: Screen) -> None:
        self.args = arguments
        self.screen = screen

    # ---- the database

    @cached_property
    def url(self) -> str:
        given = self.args.url or os.environ.get("WYRD_URL")
        if not given:
            raise InvalidInput(
                "which database? Give --url, or set WYRD_URL: sqlite:///agents.db, postgresql://…"
            )
        address = parse(given)
        if address.in_memory:
            raise InvalidInput(f"{given!r} is in memory: nobody else can look into it")
        makes, is_file = self.args.command.makes_tables, address.dialect == "sqlite"
        if is_file and not makes and not os.path.exists(address.target):
            raise InvalidInput(f"there is no file {line(address.target)!r} (from {given!r})")
        return str(given)

    @cached_property
    def saver(self) -> WyrdSaver:
        """Opened on first use."""
        keys, makes = None, self.args.command.makes_tables
        if self.args.key_file:
            keys = KeyRing.from_file(self.args.key_file)
        elif os.environ.get(ENV):
            keys = KeyRing.from_env()
        return WyrdSaver.from_conn_string(
            self.url if makes else _as_allowed(self.url),
            schema=self.args.schema,
            setup="auto" if makes else "never",
            keys=keys,
            serde=serde_of_environment() if keys is None else None,
        )

    def close(self) -> None:
        if "saver" in self.__dict__:
            self.saver.close()

    def leave(self) -> None:
        """Close the saver, but do not wait long: it may wait for a lock, or a server."""
        closing = threading.Thread(target=self.close, name="wyrd-closing", daemon=True)
        closing.start()
        closing.join(_MOMENT)

    # ---- threads, points and items

    @cached_property
    def thread_id(self) -> str:
        """The thread that was named, else the one with the newest activity."""
        given = self.args.thread
        if given is None:
            newest = self.saver.threads(limit=1)
            if not newest:
                raise ThreadNotFound("there are no threads yet")
            return newest[0].thread_id
        try:
            return self.there(given)
        except ThreadNotFound:  # it may be the start of an id
            ids = [each.thread_id for each in self.all_of(self.saver.threads)]
            found = [id for id in ids if given and id.startswith(given)]
            if not found:
                raise
            return _single(found, given, "thread", str)

    def there(self, thread_id: str) -> str:
        """A thread's id; raises ThreadNotFound if it has no checkpoints."""
        self.saver.thread(thread_id).history(limit=1)
        return thread_id

    @property
    def thread(self) -> Thread:
        return self.saver.thread(self.thread_id)

    @property
    def at(self) -> str | None:
        return self.point(self.args.at)

    def point(self, given: str | None) -> str | None:
        """A point in the thread's past. The start of a checkpoint's id will do, as `log` has it."""
        if given is None or not _START.fullmatch(given) or self.thread.get_label(given):
            return given
        ids = [id for id in self.thread.tree().entries if id.startswith(given.lower())]
        return _single(ids, given, "checkpoint", str) if ids else given

    def only(self, items: Sequence[T], given: str, what: str) -> T:
        """The item, or question, that an id, or the start of one, means."""

        def id_of(item: Any) -> str:
            return (item.loop_id or "") if isinstance(item, InboxEntry) else str(item.id)

        found = [each for each in items if id_of(each) == given]
        found = found or [each for each in items if id_of(each).startswith(given)]
        if not found:
            raise ThreadNotFound(f"there is no {what} {given!r}")
        return _single(found, given, what, lambda each: f"{id_of(each)} in {each.thread_id}")

    def all_of(
        self, listing: Callable[..., Page[T]], most: float = float("inf"), **filters: Any
    ) -> Page[T]:
        """So many items of a listing, over several pages if need be."""
        if most < 1:
            raise InvalidInput(f"--limit {most}: use a number from 1 on")
        found = Page[T]()
        while True:
            page = listing(limit=int(min(_PAGE, most - len(found))), after=found.next, **filters)
            found.extend(page)
            found.next = page.next
            if page.next is None or len(found) >= most:
                return found

    # ---- what is said

    def show_page(self, listing: Callable[..., Page[Any]], **filters: Any) -> int:
        """A listing, as long as `--limit` says; 1 if it is empty."""
        return self.screen.page(self.all_of(listing, self.args.limit, **filters))

    def show(self, text: str, data: Any) -> int:
        """The answer: words, or data for programs."""
        if self.screen.json:
            self.screen.data(data)
        else:
            self.screen.say(text)
        return FINE

    def done(self, said: str, **data: Any) -> int:
        """Report what a command has changed."""
        return self.show(line(said), data)

    def sure(self, question: str) -> bool:
        """Ask before something is deleted; where nobody can answer, `--yes` must be given."""
        if self.args.yes:
            return True
        if not os.isatty(0):
            raise InvalidInput(f"{question} Nobody is here to ask: give --yes")
        self.screen.err.write(f"{line(question)} [y/N] ")
        self.screen.err.flush()
        try:
            return input().strip().lower() in ("y", "yes")
        except EOFError:  # Ctrl-D
            self.screen.note("")
            return False


def _single(found: Sequence[T], given: str, what: str, said: Callable[[Any], str]) -> T:
    """The one thing that was found; raises if there are several."""
    if len(found) == 1:
        return found[0]
    names = "; ".join(line(said(each), 80) for each in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    raise InvalidInput(f"{given!r} is ambiguous: {count(len(found), what)} begin so: {names}{more}")


def _as_allowed(url: str) -> str:
    """The URL, for reading only where this process may not write the file or its WAL."""
    address = parse(url)
    if address.dialect != "sqlite" or address.mode not in (None, "rwc") or "?" in address.target:
        return url
    path = os.path.abspath(address.target)
    wal = os.path.exists(f"{path}-wal") or os.access(os.path.dirname(path), os.W_OK)
    return url if os.access(path, os.W_OK) and wal else f"sqlite:///{path}?mode=ro"


def serde_of_environment() -> SerializerProtocol | None:
    """A store that LangGraph's AES key encrypts is read with that key."""
    if not os.environ.get(_AES_KEY):
        return None
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

    return EncryptedSerializer.from_pycryptodome_aes()


# ---- the terminal: how wide it is, whether it shows colours, what is written to it


_WIDE = 100  # columns where nobody looks
_COLOURS = {
    "red": "31", "green": "32", "amber": "33", "blue": "34", "violet": "35",
    "grey": "2", "dim": "2", "bold": "1",
}  # fmt: skip
_EVERY = 0.1  # seconds between two pictures of a progress bar

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Screen:
    """Where a command writes to. `json`: plain data instead of words."""

    out: TextIO
    err: TextIO
    width: int
    colours: bool
    json: bool

    def paint(self, text: str, colour: str) -> str:
        code = _COLOURS.get(colour)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours and code and text else text

    def say(self, text: str) -> None:
        print(text, file=self.out)

    def note(self, text: str) -> None:
        """Write something that is not the answer, as a hint, to the error stream."""
        print(plain(text), file=self.err)

    def data(self, data: Any, indent: int | None = 2) -> None:
        """A line for each if `indent` is None."""
        text = json_text(data, indent)
        try:
            text.encode(self.out.encoding or "ascii")
        except UnicodeEncodeError:  # a terminal without Unicode
            text = json.dumps(data, indent=indent, default=str)
        self.say(text)

    def page(self, page: Page[Any]) -> int:
        """A list of things; 1 if there are none."""
        if self.json:
            self.data(page.to_records())
        elif page:
            self.say(page_text(page, self.width, self.paint))
        else:
            self.note("nothing found")
        return 0 if page else 1

    def progress(self, name: str) -> Progress | None:
        """A bar that is drawn over itself; None where nobody looks."""
        if not self.err.isatty():
            return None
        last = [0.0]

        def show(done: int, total: int) -> None:
            now = time.monotonic()
            if now - last[0] < _EVERY and done < total:
                return
            last[0] = now
            share = done / total if total else 1.0
            full = round(24 * share)
            bar = f"{name} {'█' * full}{'░' * (24 - full)} {done:,} of {total:,}"
            end = "\n" if done >= total else ""
            self.err.write("\r\x1b[K" + fitted(bar, self.width - 1) + end)
            self.err.flush()

        return show


def screen(*, as_json: bool = False, colours: bool | None = None) -> Screen:
    """The one that this process has. `NO_COLOR` is respected, `COLUMNS` and `FORCE_COLOR` too."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode
    if colours is None:
        forced = bool(os.environ.get("FORCE_COLOR"))
        dumb = os.environ.get("TERM") == "dumb"
        colours = (forced or (sys.stdout.isatty() and not dumb)) and not os.environ.get("NO_COLOR")
    columns = shutil.get_terminal_size((_WIDE, 24)).columns
    return Screen(sys.stdout, sys.stderr, max(columns, 20), colours, as_json)
