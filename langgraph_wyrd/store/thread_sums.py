"""Which thread a splice, a write, a word of the ledger or a label is of is in its checksum.

Everything else of such a row may be the same in a thread and in its copy: a row of one in the place
of the other would pass. Over the checksum lies what only one thread has; it is put there on the way
into the database, and taken off on the way out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph_wyrd.store.statements import Ask, Row, Tell

_BITS = 0x7FFF_FFFF_FFFF_FFFF
_STEP = 0x1B873593CC9E2D51  # odd: no two numbers of threads have the same

# Where the checksum is, in the rows that an Ask brings or a Tell takes. The thread is the first of
# an Ask's parameters, and of a Tell's row.
SUMS = {
    "put_splice": 8,
    "fix_splice": 8,
    "put_write": 9,
    "replace_write": 9,
    "fix_write": 9,
    "put_event": 10,
    "put_label": 8,
    "set_label": 8,
    "strand": 7,
    "lineage_frames": 7,
    "splices_of_thread": 7,
    "all_splices": 7,
    "whole_splices": 8,
    "writes": 6,
    "writes_between": 7,
    "writes_beside": 7,
    "writes_of_thread": 8,
    "writes_of_users": 8,
    "all_writes": 8,
    "whole_writes": 9,
    "events": 8,
    "events_of_steps": 8,
    "all_events": 9,
    "whole_events": 10,
    "get_label": 6,
    "labels": 6,
    "labels_whole": 6,
    "all_labels": 6,
    "whole_labels": 8,
}


def over(thread: int) -> int:
    """What lies over the checksums of a thread."""
    return thread * _STEP & _BITS


def moved(old: int, new: int) -> int:
    """What makes a checksum of one thread that of another."""
    return over(old) ^ over(new)


def put_on(statement: Tell) -> Sequence[Sequence[Any]]:
    """The rows as they are stored."""
    at = SUMS.get(statement.name)
    if at is None:
        return statement.rows
    return [_turned(row, at, over(row[0])) for row in statement.rows]


def taken_off(statement: Ask, rows: list[Row]) -> list[Row]:
    """The rows as they were before they were stored."""
    at = SUMS.get(statement.name.partition(" ")[0])
    if at is None or not rows:
        return rows
    mine, behind = over(statement.params[0]), at + 1
    try:  # a long thread has many
        return [(*row[:at], row[at] ^ mine, *row[behind:]) for row in rows]
    except TypeError:
        return [_turned(row, at, mine) for row in rows]


def _turned(row: Sequence[Any], at: int, mine: int) -> Row:
    total = row[at]
    # None: nobody could tell it. Of another type: it is damaged, and stays so.
    return (*row[:at], total ^ mine if isinstance(total, int) else total, *row[at + 1 :])
