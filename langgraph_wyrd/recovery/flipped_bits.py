"""One flipped bit of a row: found by trying each, and turned back if the checksum then fits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from langgraph_wyrd.storage.rows import unsound
from langgraph_wyrd.storage.tables import Table

_LARGEST = 16 << 10  # bytes of a row in which a flipped bit is looked for


def flipped_back(table: Table, row: Any) -> Any | None:
    """The row with the one bit turned back that makes it fit, in whichever column that is."""
    wrong = unsound(table, row)
    covered = {name for sum in wrong for name in (*table.sums[sum], sum)}
    size = sum(len(held) for held in row if isinstance(held, (str, bytes)))
    if size > _LARGEST:
        return None
    for name in table.names:
        if name in covered and name != "thread":
            for tried in _flips(getattr(row, name)):
                made = row._replace(**{name: tried})
                if not unsound(table, made):
                    return made
    return None


def _flips(held: Any) -> Iterator[Any]:
    if type(held) is int:
        yield from (held ^ 1 << bit for bit in range(63))
    elif isinstance(held, (str, bytes)):
        text = isinstance(held, str)
        data = bytearray(held.encode(errors="surrogateescape") if isinstance(held, str) else held)
        for at in range(len(data)):
            for bit in range(8):
                data[at] ^= 1 << bit
                with suppress(UnicodeDecodeError):
                    yield data.decode() if text else bytes(data)
                data[at] ^= 1 << bit
