"""What a plan yields: named statements. The SQL behind the names is in `sql/`.

A plan is a generator. It yields one statement, or a list of them that may go to the database
together, and is sent what came back: the rows of an `Ask`, None for a `Tell`. It knows no driver,
no transaction and no loop; the store runs it inside one transaction, again from the start if need
be.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Row = tuple[Any, ...]


class Ask(NamedTuple):
    """A query. `name` is one name, or several whose texts are put one behind the other."""

    name: str
    params: Sequence[Any] = ()


class Tell(NamedTuple):
    """A statement run once a row of parameters."""

    name: str
    rows: Sequence[Sequence[Any]]


Statement = Ask | Tell
Plan = Generator[Statement | Sequence[Statement], Any, T]


class Stale(Exception):
    """What a write rested on has changed meanwhile: plan it again from what is stored now."""


class Astray(Exception):
    """A plan asked for a thread that is there, and that its row does not lead to."""

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self.key = key


@dataclass(slots=True)
class WriteSet:
    """The rows of a hot write, for merging with others. Nothing is read between them.

    `alive` are threads that must not be deleted, and which saver must have moved them last (0:
    any): whoever did knows what tasks wrote, and is to be told by a tick of what another one's
    wrote. `advance` moves a thread from the tick that the write rests on to the next one, and fails
    the write if the thread is elsewhere. `leases` (a thread's key, `holds_lease` or `leave_lease`,
    the owner) must be held still.
    """

    alive: list[tuple[int, int]] = field(default_factory=list)
    advance: list[tuple[Any, ...]] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    leases: list[tuple[bytes, str, str]] = field(default_factory=list)


# Merged transactions take the tables in this order, so that no two of them can deadlock.
_KEYS = {
    "put_splice": 4,
    "put_checkpoint": 3,
    "put_user_splice": 4,
    "put_user_write": 4,
    "put_write": 5,
    "replace_write": 5,
    "drop_events": 4,
    "put_event": 5,
    "drop_todo": 2,
    "put_todo": 3,
    "drop_context": 2,
    "put_context": 3,
    "drop_loop": 2,
    "put_loop": 3,
    "drop_intention": 2,
    "put_intention": 3,
    "set_label": 3,
}


def merged(sets: Sequence[WriteSet]) -> list[Tell]:
    """One statement a table, in order, its rows sorted by key (equals stay as they came)."""
    made = []
    for name, width in _KEYS.items():
        rows: list[Row] = [row for each in sets for row in each.rows.get(name, ())]
        if rows:
            rows.sort(key=_by(width))
            made.append(Tell(name, rows))
    return made


def _by(width: int) -> Callable[[Row], Row]:
    return lambda row: row[:width]
