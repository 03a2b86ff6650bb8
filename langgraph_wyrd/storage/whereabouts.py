"""The files of an SQLite database, as they lie in their folder.

A file that is deleted, moved or replaced while it is open goes on for those who hold it: what they
store is taken, and gone when they close it. So it is looked at before each commit.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3

from langgraph_wyrd.errors import DatabaseGone

_Id = tuple[int, int]
_UNSEEN = (0, 0)  # we may not look
_BESIDE = ("-wal", "-shm")


class BesideGone(DatabaseGone):
    """A file beside it is gone: the next call opens the database anew."""


class Whereabouts:
    """Of one file, and of what SQLite keeps beside it.

    Another file in its place is never gone on with: a run would store there what rests on a past
    that the other one does not have. The first is held open, so that no other gets its number.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._file: _Id | None = None
        self._beside: dict[str, _Id] = {}
        self.path: str | None = None  # once it was opened
        self.lost = False
        self._taken = False  # another process may have begun a WAL of its own

    def noted(self, path: str) -> None:
        """It was opened, and this is the file."""
        self.path = os.path.abspath(path)
        self._file, self._beside = _id(self.path), {}
        self.lost = self._taken = False

    def look(self, *, beside: bool = True) -> None:
        """Raise if what was opened is not what lies there now."""
        if self._file is None or self.path is None:
            return
        found = _id(self.path)
        if found == _UNSEEN:
            return
        if found != self._file:
            what = "deleted, or moved" if found is None else "replaced by another file"
            raise self._gone(f"was {what}, while it was open", _PUT_BACK)
        for end in _BESIDE if beside else ():
            found, held = _id(f"{self.path}{end}"), self._beside.get(end)
            if held is None and found is not None:
                self._beside[end] = found
            elif held != found:
                self._taken = found is not None and size(f"{self.path}{end}") > 0
                what = f"lost the {end} file beside it while it was open"
                raise self._gone(what, _AGAIN, BesideGone)
        self.lost = False

    def let_go(self) -> None:
        """It is closed: what lies beside it is made anew with the next opening."""
        self._beside = {}

    def forget(self) -> None:
        """The saver was closed and is entered again: whatever lies there now is taken."""
        self._file, self._beside = None, {}
        self.lost = self._taken = False

    def save(self, raw: sqlite3.Connection) -> None:
        """What the WAL holds goes into the file that it belongs to, and not into another one that
        lies there now."""
        if self.lost and not self._taken:
            with contextlib.suppress(sqlite3.Error):
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _gone(self, what: str, then: str, kind: type[DatabaseGone] = DatabaseGone) -> DatabaseGone:
        self.lost = True
        return kind(f"{self._where} {what}. Nothing of this call was stored. {then}")


_AGAIN = "Try again: it is opened anew"
_PUT_BACK = (
    "This saver goes on when that file is there again. To use what lies there now, restart the "
    "program, or make a new saver; a -wal and -shm that are not its own must not lie beside it"
)


def _id(path: str) -> _Id | None:
    """What tells a file from all others; None if there is none."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return _UNSEEN
    return (found.st_dev, found.st_ino)


def size(path: str) -> int:
    """The bytes of a file; 0 where it is not seen."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def lost_its_head(path: str) -> bool:
    """Whether a database is empty whose WAL is not: its first page is written before any WAL."""
    # In this order: another process may be making both right now.
    return size(f"{path}-wal") > 0 and os.path.exists(path) and size(path) == 0


def needs_immutable(path: str) -> bool:
    """A WAL database without its side files, where none can be made, is only readable as fixed."""
    folder = os.path.dirname(os.path.abspath(path))
    return (
        os.path.exists(path)
        and not os.path.exists(f"{path}-wal")
        and not os.access(folder, os.W_OK)
    )


def is_on_read_only_disk(path: str) -> bool:
    """Whether nobody can write where a file lies."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):  # the first: Windows
        return False
