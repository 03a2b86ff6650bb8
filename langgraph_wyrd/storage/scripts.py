"""What the storage runs: scripts, which are generators of statements, and writes that are merged.

A script yields a `Query`, a `Command` or a list of them, and receives rows, None, or a list of
these. It knows no driver: SQLite executes one statement after the other, Postgres sends a list in
one round trip. `?` stands for a parameter everywhere.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

from langgraph_wyrd.errors import DatabaseBusy

T = TypeVar("T")
Row = Sequence[Any]


class Query(NamedTuple):
    """A statement that answers with rows."""

    sql: str
    params: Row = ()


class Command(NamedTuple):
    """A statement that is executed once for each row of parameters."""

    sql: str
    rows: Sequence[Row] = ((),)


Statement = Query | Command
Script = Generator[Statement | Sequence[Statement], Any, T]


class Step(NamedTuple):
    """One statement of a merged write; with `must`, the write is stale unless it hits one row."""

    sql: str
    params: Row
    must: bool = False

    @property
    def only_looks(self) -> bool:
        """Whether it changes nothing, and is there for `must`."""
        return self.sql.startswith("SELECT")


def at_once(steps: Sequence[Step]) -> list[Command]:
    """Steps as a script runs them in the transaction in which it read what they rest on."""
    return [Command(step.sql, [step.params]) for step in steps if not step.only_looks]


class Stale(Exception):
    """What a write rests on has changed in the database: read again, and plan it anew."""


class Clash(Exception):
    """The server gave a transaction up for another one (40001, 40P01): run all of it again."""


def again_on_clash(work: Callable[[], T]) -> T:
    """Run a transaction, as often as the server gives it up for others."""
    for attempt in range(_CLASHES):
        try:
            return work()
        except Clash as clash:
            last = clash
            time.sleep(random.random() * _APART * attempt)
    raise DatabaseBusy(
        f"the server gave this up for others {_CLASHES} times, and nothing of it was stored: "
        f"try again ({last})"
    ) from last.__cause__


_CLASHES = 12
_APART = 0.01  # seconds
