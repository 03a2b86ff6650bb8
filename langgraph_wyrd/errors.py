"""Everything that langgraph-wyrd raises. One root; a class's docstring says when it is raised."""

from __future__ import annotations

from datetime import datetime
from typing import Any


class WyrdError(Exception):
    """The root of all errors of this library. Further details are attributes of the error."""

    def __init__(self, message: str = "", **about: Any) -> None:
        super().__init__(message)
        self.__dict__.update(about)


# ---- what the caller passed


class InvalidInput(WyrdError, ValueError):
    """An argument can't be used; the message names it and says what would do."""


class BadUrl(InvalidInput):
    """The database address is of no form that is understood."""


class MissingExtra(WyrdError, ImportError):
    """An optional part is not installed; the message says what to install."""


class Unserialisable(WyrdError, TypeError):
    """A value can't be stored. `channel` and `path` say which, inside what; nothing was written."""

    channel: str = ""
    path: str = ""


class InvalidTransition(InvalidInput):
    """An edit changes an item in a way it can't: a completed todo is completed again, for one."""


class UserMissing(InvalidInput):
    """A run without a user id writes what belongs to a user, or uses a saver that is one user's."""


class AnswerNotAllowed(InvalidInput):
    """An interrupt does not take such an answer; the message says what it takes. Nothing was
    stored."""


class QuestionExpired(InvalidInput):
    """An interrupt was to be answered until a time that has passed. Nothing was stored."""


class PayloadTooNew(InvalidInput):
    """Pillar data was written by a newer release, in a form this one can't read: upgrade."""


class FileDamaged(InvalidInput):
    """An exported file was cut off or changed; nothing was imported."""


class UnusableAnswer(WyrdError, ValueError):
    """A model that was asked about a thread gave no report; nothing was stored."""


class SaverClosed(WyrdError):
    """The saver was closed, and used again without being entered again."""


# ---- what the thread is like


class ThreadNotFound(WyrdError, LookupError):
    """There is no thread of this id, or no such point in it."""


class ThreadDeleted(WyrdError):
    """A late write names a checkpoint of a thread that was deleted meanwhile; it was not stored."""


class WrongUser(WyrdError):
    """A saver that is one user's was asked for what is another's, or goes across users."""


class ItemNotFound(WyrdError, LookupError):
    """The thread's working state has no such todo, loop or context entry."""


class EditConflict(WyrdError):
    """Somebody else changed what an edit changes. `base` is what the edit started from, `ours` and
    `theirs` what the two sides made of it, `conflicts` where they differ. Nothing was stored."""

    base: Any
    ours: Any
    theirs: Any
    conflicts: tuple[Any, ...]


class AlreadyAnswered(WyrdError):
    """Somebody answered the interrupt before; that answer stands, and this one was not stored.

    `by` and `at` say who and when, as far as that is known.
    """

    by: str | None = None
    at: str | None = None


class ConcurrentRun(WyrdError):
    """With `single_writer=True`: another run holds the thread. Nothing of this one was stored.

    `host`, `pid`, `since` and `seen` (its last sign of life) say which.
    """

    thread_id: str = ""
    host: str = ""
    pid: int = 0
    since: datetime | None = None
    seen: datetime | None = None


class CheckpointDamaged(WyrdError):
    """Stored bytes are not what was written: a checksum, a length or a chain is wrong.

    `ancestor` is the nearest checkpoint before the one that was asked for that can be read, where
    that was looked for.
    """

    ancestor: str | None = None


class KeyMissing(WyrdError):
    """What is stored is encrypted with a key that the saver was not given. Nothing was changed.

    `key_id` names the key, `place` the row. It is never raised for damage.
    """

    key_id: str = ""
    place: str = ""


class PlainStore(WyrdError):
    """`keys=` was given for a store whose threads are not encrypted. Nothing was changed."""


class MigrationFailed(WyrdError):
    """With `on_damage="raise"`: a registered migration raised; the message says which, and where.
    What is stored is as it was."""


class CopyDiffers(WyrdError):
    """What a copy read back from its target is not what it sent; the message says where."""


# ---- what the database says


class StoreError(WyrdError):
    """The database refused; what the driver said is the `__cause__`."""


class DatabaseBusy(StoreError):
    """Somebody else held a lock, or every connection, for longer than `timeout`."""


class StatementTimeout(StoreError):
    """The server, or the role, ended a statement that took longer than its `statement_timeout`."""


class DatabaseFull(StoreError):
    """There is no room left. Nothing of this write was stored; what was there is intact."""


class ReadOnlyDatabase(StoreError):
    """The database, or the role, only allows reading."""


class NotADatabase(StoreError):
    """The file is no SQLite database, or can't be opened as one."""


class DatabaseDamaged(StoreError):
    """Pages of the database are damaged: what they held can't be read. What stands elsewhere still
    can; `verify()` says more. Restore it from a backup (of an SQLite file, `.recover` may do; of
    Postgres, an index is made anew with REINDEX)."""

    of = "the file"  # whose pages they are
    said = ""  # by the database
    remedy = "restore the file from a backup, or `.recover` it"


class DatabaseGone(StoreError):
    """The file was deleted, moved or replaced while it was open; nothing of this call was stored.
    The saver goes on when that file is there again; another one needs another saver."""


class ForeignDatabase(StoreError):
    """The database, or tables of our names, belong to another program. Nothing was touched."""


class SchemaTooNew(StoreError):
    """The tables were made by a newer release that this one can't read: upgrade the library."""


class SchemaMissing(StoreError):
    """There are no tables, and `setup="never"` (or a read-only database) forbids making them."""


class ConnectionLost(StoreError):
    """The server could not be reached, or went away, and a second try met the same."""


class NoAnswer(ConnectionLost):
    """The server, or the way to it, has been silent for `timeout`: see docs/doctor.md."""


_HELD = [each for each in globals().values() if isinstance(each, type)]
__all__ = [each.__name__ for each in _HELD if issubclass(each, WyrdError)]
