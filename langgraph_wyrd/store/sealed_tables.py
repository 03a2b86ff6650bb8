"""Whole rows of the tables that hold something sealed: for copies of threads, and for new keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_wyrd.store.keys import NotOpened, of_text
from langgraph_wyrd.store.sealed_rows import (
    LABEL_BITS,
    OPEN,
    SEAL,
    open_checkpoint,
    open_event,
    open_splice,
    open_write,
)
from langgraph_wyrd.store.sealed_texts import Keys, summed, texts
from langgraph_wyrd.store.sealed_users import open_user_row
from langgraph_wyrd.store.statements import Row, Tell

_LOWEST = -(1 << 31)


@dataclass(frozen=True, slots=True)
class Table:
    """A table, read a page of whole rows at a time: `start` is before the first one's key."""

    page: str
    put: str
    start: Row
    key_of: slice
    columns: tuple[int, ...]  # that are sealed
    open: Callable[[Keys, Row], Row]
    written: Callable[[Row], Row] = tuple  # as `put` takes it
    owner: int | None = None  # the column with the thread's own id
    shown: bool = True  # where nothing is said, nothing is sealed

    def key(self, row: Sequence[Any]) -> Row:
        return tuple(row[self.key_of])

    def held(self, row: Sequence[Any]) -> list[bytes]:
        """What is sealed in a row.

        Raises:
            NotOpened: Something in it is not sealed.
        """
        columns = [row[at] for at in self.columns]
        return [_bytes(held) for held in columns if not (self.shown and held in _NOTHING)]

    def told(self, keys: Keys, rows: Sequence[Row]) -> Tell:
        return Tell(self.put, [SEAL[self.put](keys, self.written(row)) for row in rows])

    def moved(self, row: Row, to: int, id: str | None) -> Row:
        """A row as it is in another thread."""
        made = [to, *row[1:]]
        if self.owner is not None:
            made[self.owner] = id
        return tuple(made)


_NOTHING = (None, "", b"", "[]", "{}", "null")


def _bytes(held: Any) -> bytes:
    if isinstance(held, str):
        if held.startswith('"'):
            try:
                held = json.loads(held)
            except ValueError:
                raise NotOpened("it was changed") from None
        return of_text(held)
    return held or b""


def _checkpoint(keys: Keys, row: Row) -> Row:
    thread, *columns, total, due, root = row
    *opened, due, root, total = open_checkpoint(keys, thread, (*columns, due, root, total))
    return (thread, *opened, total, due, root)


_heal = summed("heal", 0, (1,), 2, 3)[1]
_quarantine = summed("quarantine", 0, (1, 2), 3, 4, json_=True)[1]
_label = summed("label", 0, (1, 2), 7, 8, json_=True, bits=LABEL_BITS, bad="[]")[1]
_thread = texts("thread", 0, (), (1, 2), ())[1]


def _pillar(name: str, columns: tuple[int, ...]) -> Table:
    shown = OPEN[f"shown_{name}s"]
    return Table(
        f"whole_{name}s", f"put_{name}", ("",), slice(2, 3), columns,
        lambda keys, row: shown(keys, (), row), owner=1,
    )  # fmt: skip


TABLES = {
    "splices": Table(
        "whole_splices", "fix_splice", (-1, -1, -1), slice(1, 4), (7,),
        lambda keys, row: (row[0], *open_splice(keys, row[0], row[1:])), shown=False,
    ),
    "user_data": Table(
        "whole_user_data", "put_user_whole", (-(1 << 63), -1, -1), slice(1, 4), (7,),
        lambda keys, row: (row[0], *open_user_row(keys, row[0], row[1:])),
    ),
    "writes": Table(
        "whole_writes", "replace_write", ("", "", "", _LOWEST), slice(1, 5), (8,),
        lambda keys, row: (row[0], *open_write(keys, row[0], row[1:])), shown=False,
    ),
    "checkpoints": Table(
        "whole_checkpoints", "put_checkpoint", ("", ""), slice(1, 3), (9,), _checkpoint, shown=False
    ),
    "events": Table(
        "whole_events", "put_event", ("", "", "", _LOWEST), slice(1, 5), (8,),
        lambda keys, row: (row[0], *open_event(keys, row[0], row[1:])), shown=False,
    ),
    "todos": _pillar("todo", (5, -1)),
    "context": _pillar("context", (4, 5, -1)),
    "loops": _pillar("loop", (4, 5, 11, -1)),
    "intentions": _pillar("intention", (3, 8, -1)),
    "labels": Table(
        "whole_labels", "put_label", ("", ""), slice(1, 3), (7,),
        lambda keys, row: _label(keys, (), row),
    ),
    "heals": Table(
        "whole_heals", "fix_heal", ("",), slice(1, 2), (2,),
        lambda keys, row: _heal(keys, (), row), lambda row: (*row[2:], *row[:2]),
    ),
    "quarantine": Table(
        "whole_quarantine", "fix_quarantine", ("", ""), slice(1, 3), (3,),
        lambda keys, row: _quarantine(keys, (), row), lambda row: (*row[3:], *row[:3]),
    ),
    "threads": Table(
        "whole_threads", "show_thread", (-1,), slice(0, 1), (1, 2),
        lambda keys, row: _thread(keys, (), row),
        lambda row: (None, row[1], None, row[2], None, None, None, row[0]),
    ),
}  # fmt: skip

# Statements that copy rows as they are; those of `AFTER` are told first, as they copy other columns
# as well.
COPIED = {
    "copy_splices": "splices",
    "copy_writes": "writes",
    "copy_user_data": "user_data",
    "copy_events": "events",
    "copy_todos": "todos",
    "copy_contexts": "context",
    "copy_loops": "loops",
    "copy_intentions": "intentions",
    "copy_labels": "labels",
    "copy_heals": "heals",
    "copy_shown": "threads",
}
AFTER = ("copy_heals", "copy_shown")


def ends(name: str, row: Sequence[Any]) -> tuple[int, int, str | None]:
    """Where a copy comes from and goes to, and the id of the thread that it goes to."""
    if name == "copy_shown":
        return row[0], row[1], None
    return row[-1], row[0], row[1] if len(row) == 3 else None
