"""What a key ring seals of `wyrd_user_data`: as splices, bound to their user as well.

What was erased is empty, and stays so.
"""

from __future__ import annotations

from collections.abc import Sequence

from langgraph_wyrd.store.keys import NotOpened
from langgraph_wyrd.store.sealed_texts import NOTHING, Keys, Opening, Sealing, wrong
from langgraph_wyrd.store.statements import Row

VALUES = 0  # the thread of what is kept beside the threads


def seal_user_row(keys: Keys, row: Row) -> Row:
    """A whole row."""
    thread, *where, data, total, chain, user, name = row
    if not data:
        return row
    sealed, one, two = keys.seal(thread, ("user", *where, user), data)
    return (thread, *where, sealed, total ^ one, chain ^ _of_chain(thread, two), user, name)


def open_user_row(keys: Keys, thread: int, row: Sequence[object]) -> Row:
    """Of the columns from strand to name."""
    *where, data, total, chain, user, name = row
    if not data:
        return tuple(row)
    try:
        one, two = keys.masks(thread, data)  # type: ignore[arg-type]
        total, chain = total ^ one, chain ^ _of_chain(thread, two)  # type: ignore[operator]
        try:
            opened = keys.open(thread, ("user", *where, user), data)  # type: ignore[arg-type]
        except NotOpened:  # its own checksum says so, and its chain that it belongs there
            opened = NOTHING
        return (*where, opened, total, chain, user, name)
    except (NotOpened, TypeError):
        return (*where, NOTHING, wrong(total), chain, user, name)


def _of_chain(thread: int, mask: int) -> int:
    """What stands beside the threads has no chain: its mask would be all that stood there."""
    return 0 if thread == VALUES else mask


def _seal_fixed(keys: Keys, row: Row) -> Row:
    *values, thread, strand, seq, part = row
    made = seal_user_row(keys, (thread, strand, seq, part, *values))
    return (*made[4:], thread, strand, seq, part)


def _seal_value(keys: Keys, row: Row) -> Row:
    strand, count, data, total, user, name = row
    made = seal_user_row(keys, (VALUES, strand, 0, 0, 0, 0, count, data, total, 0, user, name))
    return (strand, count, made[7], made[8], user, name)


def _open_value(keys: Keys, params: Sequence[object], row: Row) -> Row:
    strand, count, data, total, user, name = row
    made = open_user_row(keys, VALUES, (strand, 0, 0, 0, 0, count, data, total, 0, user, name))
    return (strand, count, made[6], made[7], user, name)


SEAL_USERS: dict[str, Sealing] = {
    "put_user_splice": seal_user_row,
    "put_user_write": lambda keys, row: (*seal_user_row(keys, row[:12]), *row[12:]),
    "put_user_whole": seal_user_row,
    "fix_user_data": _seal_fixed,
    "set_user_value": _seal_value,
}

OPEN_USERS: dict[str, Opening] = {
    "user_strand": lambda keys, params, row: open_user_row(keys, params[0], row),
    "all_user_data": lambda keys, params, row: open_user_row(keys, params[0], row),
    "user_value": _open_value,
    "user_values": _open_value,
    "all_user_values": _open_value,
}

PLAIN_USERS = frozenset((
    "drop_user_strand", "cut_user_strand", "drop_all_user_data", "drop_user_value",
    "erase_in_thread", "erase_homeless", "lock_user_data",
))  # fmt: skip
