"""Labels, records of heals and what is in quarantine have checksums of their own.

A checksum is None where the row is sealed, and there is no key to tell.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

from langgraph_wyrd.store.statements import Row, Tell
from langgraph_wyrd.store.values import text_checksum

_CONTEXT = 0x7FFF_FFFF  # the bits over what a label promoted, which listings don't read


def label_sum(
    name: str, checkpoint: str, created: Any, automatic: Any, keys: str, missing: str, context: str
) -> int:
    total = text_checksum(name, checkpoint, _moment(created), bool(automatic), keys, missing)
    return total & ~_CONTEXT | text_checksum(name, checkpoint, context) & _CONTEXT


def is_sound_label(row: Row) -> bool:
    """Whether a row of `get_label`, or (without its context) of `labels`, is what was written."""
    name, checkpoint, created, automatic, keys, missing, total, *context = row
    if total is None:
        return True
    bits = 0 if context else _CONTEXT
    try:
        found = label_sum(name, checkpoint, created, automatic, keys, missing, *(context or ("",)))
        return bool(found | bits == total | bits)
    except TypeError:
        return False


def heal_sum(
    id: str, kind: str, ns: str, checkpoint: str, channel: str, what: str, healed: Any
) -> int:
    return text_checksum(id, kind, ns, checkpoint, channel, what, _moment(healed))


def is_sound_heal(row: Row) -> bool:
    """Whether a row of `heals` is what was written; when it was seen does not count."""
    try:
        return row[8] is None or bool(heal_sum(*row[:7]) == row[8])
    except TypeError:
        return False


def moved_sum(origin: str, place: str, data: str, moved: Any) -> int:
    return text_checksum(origin, place, data, _moment(moved))


def moved_place(key: Iterable[Any]) -> str:
    """How wyrd_quarantine names the place of a row, by its key there."""
    return json.dumps(list(key), default=str)


def moved_row(number: int, origin: str, place: str, data: str, moved: str) -> Row:
    """A row of wyrd_quarantine."""
    return (number, origin, place, data, moved, moved_sum(origin, place, data, moved))


def away(
    number: int, table: str, key: Sequence[Any], row: Sequence[Any], drop: Tell, moved: str
) -> list[Tell]:
    """What moves a row to wyrd_quarantine."""
    place = moved_place(key)
    held = json.dumps([readable(each) for each in row], default=str)
    return [Tell("put_quarantine", [moved_row(number, table, place, held, moved)]), drop]


def write_away(number: int, ns: str, checkpoint: str, row: Sequence[Any], moved: str) -> list[Tell]:
    """The same of a task's write."""
    key = (number, ns, checkpoint, row[0], row[1])
    drop = Tell("drop_write", [key])
    return away(number, "wyrd_writes", key, (ns, checkpoint, *row), drop, moved)


def readable(held: Any) -> Any:
    """A column as JSON can hold it."""
    if isinstance(held, (bytes, memoryview)):
        return {"base64": base64.b64encode(bytes(held)).decode()}
    if isinstance(held, str):
        return held.encode(errors="replace").decode()
    return held


def is_sound_moved(row: Row) -> bool:
    """Whether a row of `in_quarantine` is what was written."""
    try:
        return row[4] is None or bool(moved_sum(*row[:4]) == row[4])
    except TypeError:
        return False


def _moment(at: Any) -> Any:
    """A time as text: one database gives a time, the other what it was given."""
    if isinstance(at, str):
        try:
            at = datetime.fromisoformat(at)
        except ValueError:
            return at
    if isinstance(at, datetime):
        return at.astimezone(timezone.utc).isoformat(timespec="microseconds")
    return at
