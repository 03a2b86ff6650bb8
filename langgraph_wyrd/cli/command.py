"""What a command is, and what it gets."""

from __future__ import annotations

import os
import re
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.cli.screen import Screen
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.state.listed import Page
from langgraph_wyrd.storage.keyring import ENV, KeyRing
from langgraph_wyrd.storage.url import parse
from langgraph_wyrd.views.plain import count, line

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from langgraph_wyrd.thread import Thread

T = TypeVar("T")
FINE, NOTHING, WRONG = 0, 1, 2  # exit codes: as grep and diff have them
_PAGE = 1000
_MOMENT = 0.3  # seconds that are enough to close a database which nothing holds
_START = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{3,34}")  # of a checkpoint's id
_SHOWN = 4  # ids that are named where one is ambiguous
_KEY = "LANGGRAPH_AES_KEY"  # LangGraph's own name for it


class Asked:
    """One call of a command: its arguments, the database, the terminal."""

    def __init__(self, arguments: Namespace, screen: Screen) -> None:
        self.args = arguments
        self.screen = screen
        self.left = False
        self._named = False

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
        if not self.makes and address.dialect == "sqlite" and not os.path.exists(address.target):
            raise InvalidInput(f"there is no file {line(address.target)!r} (from {given!r})")
        return str(given)

    @cached_property
    def saver(self) -> WyrdSaver:
        """Opened on first use. Only a command that brings something along makes tables."""
        keys = self._keys()
        return WyrdSaver.from_conn_string(
            self.url if self.makes else _as_allowed(self.url),
            schema=self.args.schema,
            setup="auto" if self.makes else "never",
            keys=keys,
            serde=serde_of_environment() if keys is None else None,
        )

    def _keys(self) -> KeyRing | None:
        if self.args.key_file:
            return KeyRing.from_file(self.args.key_file)
        return KeyRing.from_env() if os.environ.get(ENV) else None

    @property
    def makes(self) -> bool:
        return bool(getattr(self.args, "makes", False))

    def done(self, said: str, **data: Any) -> int:
        """What a command that changes something says in the end."""
        if self.screen.json:
            self.screen.data(data)
        else:
            self.screen.say(line(said))
        return FINE

    def close(self) -> None:
        if "saver" in self.__dict__:
            self.saver.close()

    def leave(self) -> None:
        """Close, without waiting for what waits itself, as for a lock, or a server."""
        self.left = True
        closing = threading.Thread(target=self.close, name="wyrd-closing", daemon=True)
        closing.start()
        closing.join(_MOMENT)

    @property
    def thread_id(self) -> str:
        """The thread that was named, else the one with the newest activity."""
        if self.args.thread is None:
            newest = self.saver.threads(limit=1)
            if not newest:
                raise ThreadNotFound("there are no threads yet")
            self.args.thread = newest[0].thread_id
        elif not self._named:
            self.args.thread = self._whole(self.args.thread)
        self._named = True
        return str(self.args.thread)

    def _whole(self, given: str) -> str:
        """A thread's id, of its start if there is none of exactly this id."""
        try:
            return self.there(given)
        except ThreadNotFound:
            ids = [each.thread_id for each in self.all_of_them(self.saver.threads)]
            found = [id for id in ids if given and id.startswith(given)]
            if len(found) > 1:
                raise _ambiguous(given, "thread", found, str) from None
            if not found:
                raise
            return found[0]

    def there(self, thread_id: str) -> str:
        """A thread's id; raises ThreadNotFound if it has no checkpoints."""
        self.saver.thread(thread_id).history(limit=1)
        return thread_id

    @property
    def thread(self) -> Thread:
        return self.saver.thread(self.thread_id)

    def point(self, given: str | None) -> str | None:
        """A point in the thread's past. The start of a checkpoint's id will do, as `log` has it."""
        if given is None or not _START.fullmatch(given) or self.thread.get_label(given):
            return given
        entries = self.thread.tree().entries.values()
        found = [each for each in entries if each.checkpoint_id.startswith(given.lower())]
        if len(found) > 1:
            raise _ambiguous(given, "checkpoint", found, lambda each: str(each))
        return found[0].checkpoint_id if found else given

    def only(self, items: Sequence[T], given: str, what: str, id_of: Callable[[T], str]) -> T:
        """The item that an id, or the start of one, means."""
        found = [each for each in items if id_of(each) == given]
        found = found or [each for each in items if id_of(each).startswith(given)]
        if not found:
            raise ThreadNotFound(f"there is no {what} {given!r}")
        if len(found) > 1:
            raise _ambiguous(given, what, found, lambda each: f"{id_of(each)} in {_thread(each)}")
        return found[0]

    def one_of(self, listing: Callable[..., Page[T]], given: str, what: str, **filters: Any) -> T:
        """The item of all threads that an id, or the start of one, means."""
        return self.only(self.all_of_them(listing, **filters), given, what, lambda each: each.id)  # type: ignore[attr-defined]

    def all_of_them(self, listing: Callable[..., Page[T]], **filters: Any) -> Page[T]:
        """Everything that a listing has."""
        found, after = Page[T](), None
        while True:
            page = listing(limit=_PAGE, after=after, **filters)
            found.extend(page)
            after = page.next
            if after is None:
                return found

    def all_of(self, listing: Callable[..., Page[T]], **filters: Any) -> Page[T]:
        """As many as `--limit` says, over several pages if need be."""
        limit, found, after = self.args.limit, Page[T](), None
        if limit < 1:
            raise InvalidInput(f"--limit {limit}: use a number from 1 on")
        while len(found) < limit:
            page = listing(limit=min(_PAGE, limit - len(found)), after=after, **filters)
            found.extend(page)
            found.next = after = page.next
            if after is None:
                break
        return found

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


@dataclass(frozen=True)
class Command:
    """`needs`: what must be there for it, as `module:name.name`; else it is not offered. `nobody`:
    its exit code if there is no such thread."""

    name: str
    help: str
    run: Callable[[Asked], int]
    arguments: Callable[[ArgumentParser], None] = lambda parser: None
    needs: str = ""
    nobody: int = NOTHING

    @property
    def there(self) -> bool:
        if not self.needs:
            return True
        module, _, names = self.needs.partition(":")
        try:
            found: Any = import_module(f"langgraph_wyrd.{module}")
        except ModuleNotFoundError:
            return False
        for name in names.split("."):
            found = getattr(found, name, None)
        return found is not None


def _ambiguous(given: str, what: str, found: Sequence[T], said: Callable[[T], str]) -> InvalidInput:
    names = "; ".join(line(said(each), 80) for each in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return InvalidInput(
        f"{given!r} is ambiguous: {count(len(found), what)} begin so: {names}{more}"
    )


def _thread(item: Any) -> str:
    return str(getattr(item, "thread_id", None))


def _as_allowed(url: str) -> str:
    """A file that this process may not write to, or beside, is opened for reading."""
    address = parse(url)
    if address.dialect != "sqlite" or address.mode not in (None, "rwc") or "?" in address.target:
        return url
    path = os.path.abspath(address.target)
    beside = os.path.exists(f"{path}-wal") or os.access(os.path.dirname(path), os.W_OK)
    if os.access(path, os.W_OK) and beside:
        return url
    return f"sqlite:///{path}?mode=ro"


def one_thread(parser: ArgumentParser) -> None:
    parser.add_argument("thread", nargs="?", help="its id; without one, the newest thread")


def at_point(parser: ArgumentParser) -> None:
    parser.add_argument("--at", metavar="POINT", help="a checkpoint id, a label or a time")


def one_of(parser: ArgumentParser, name: str, values: Sequence[str], **how: Any) -> None:
    """An option with known values, which shells complete."""
    known = tuple(dict.fromkeys(values))
    shown = ", ".join(known)
    parser.add_argument(name, choices=known, metavar=name.lstrip("-").upper(), help=shown, **how)


def limited(parser: ArgumentParser, most: int = 50) -> None:
    parser.add_argument("-n", "--limit", type=int, default=most, help=f"at most so many ({most})")


def confirmed(parser: ArgumentParser) -> None:
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def serde_of_environment() -> SerializerProtocol | None:
    """A store that LangGraph's AES key encrypts is read with that key."""
    if not os.environ.get(_KEY):
        return None
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

    return EncryptedSerializer.from_pycryptodome_aes()
