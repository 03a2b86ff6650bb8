"""A user's data: erased in all threads, and values that are kept beside the threads."""

from __future__ import annotations

import logging
from hashlib import blake2b
from typing import Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.plans import prune
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.refs import ABSENT
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.users import Salted
from langgraph_wyrd.store.values import Codec, text_checksum

logger = logging.getLogger("langgraph_wyrd")

TABLE = "wyrd_user_data"
Counts = dict[str, int]  # rows, by table


# ---- erasing


def threads_with(user: str) -> Plan[list[tuple[int, str]]]:
    """The threads that hold something of a user."""
    rows = yield Ask("threads_with", (user,))
    return [(number, id) for number, id in rows]


def threads_of(user: str) -> Plan[list[tuple[int, str]]]:
    """The threads that are a user's own."""
    rows = yield Ask("threads_of", (user,))
    return [(number, id) for number, id in rows]


def erase_in(number: int, thread_id: str, user: str) -> Plan[int]:
    """Empty a user's rows in one thread; how many. Whoever knows the thread must look again."""
    found = yield Ask("lock_to_bury", (thread_key(thread_id),))
    if not found or found[0][0] != number:
        return 0
    count: int = (yield Ask("count_user_data", (number, user)))[0][0]
    if count:
        yield [
            Tell("erase_in_thread", [(b"", number, user)]),
            Tell("moved", [(found[0][2], number)]),
        ]
    return count


def erase_outside(user: str) -> Plan[int]:
    """What is kept for a user beside the threads, and under threads that are gone."""
    count: int = (yield Ask("count_homeless", (user,)))[0][0]
    if count:
        yield Tell("erase_homeless", [(user,)])
    return count


class Deleted(NamedTuple):
    checkpoints: int
    rows: Counts


def delete(number: int, thread_id: str, user: str) -> Plan[Deleted]:
    """Delete a thread that is still the user's."""
    found = yield Ask("lock_to_bury", (thread_key(thread_id),))
    mine = yield Ask("is_users_thread", (number, user))
    if not found or found[0][0] != number or not mine:
        return Deleted(0, {})
    rows = yield Ask("rows_by_table", (number,) * 12)
    checkpoints = yield from prune.delete_thread(thread_id)
    counts = {f"wyrd_{table}": count for table, count in rows if count}
    return Deleted(checkpoints, {"wyrd_threads": 1, **counts})


# ---- values beside the threads


def set_value(codec: Codec, user: str, key: str, value: Any) -> Plan[None]:
    packed = codec.pack(value, given(key))
    elements = [b"\0" + packed.shape.encode(), *packed.elements]
    data = Salted(codec, user).block(elements)
    row = (_strand(user, key), len(elements), data, _sum(user, key, data), user, key)
    yield Tell("set_user_value", [row])


def get_value(codec: Codec, user: str, key: str) -> Plan[Any]:
    """A value; ABSENT if there is none."""
    rows = yield Ask("user_value", (_strand(user, key),))
    return _opened(codec, rows[0]) if rows else ABSENT


def keys(user: str) -> Plan[list[str]]:
    rows = yield Ask("user_keys", (user,))
    return [given(key) for key, strand in rows if strand == _strand(user, key)]


def items(codec: Codec, user: str, heals: bool) -> Plan[dict[str, Any]]:
    """All values; one that is damaged is left out aloud, if what is damaged is to be healed."""
    found = {}
    for row in (yield Ask("user_values", (user,))):
        key = given(row[5])
        try:
            found[key] = _opened(codec, row)
        except CheckpointDamaged:
            if not heals:
                raise
            logger.warning(
                "user %r: the value %r is damaged and was left out; verify() tells more",
                given(user), key,
            )  # fmt: skip
    return found


def drop_value(user: str, key: str) -> Plan[bool]:
    """Whether it was there."""
    strand = _strand(user, key)
    found = yield Ask("user_value", (strand,))
    if found:
        yield Tell("drop_user_value", [(strand,)])
    return bool(found)


def damaged() -> Plan[list[str]]:
    """The keys of the values that are not what was written."""
    rows = yield Ask("all_user_values")
    return [row[5] for row in rows if not _is_sound(row)]


def _opened(codec: Codec, row: Row) -> Any:
    _, _, data, _, user, key = row
    if not _is_sound(row):
        raise CheckpointDamaged(
            f"user {given(user)!r}: the value {given(key)!r} is not what was written"
        )
    shape, *elements = Salted(codec, user).open_block(data)
    return codec.load(shape[1:].decode(), elements)


def _is_sound(row: Row) -> bool:
    strand, _, data, total, user, key = row
    try:
        return bool(strand == _strand(user, key) and total == _sum(user, key, data))
    except (TypeError, AttributeError):  # a column is of another type than it was
        return False


def _sum(user: str, key: str, data: bytes) -> int:
    return text_checksum(user, key, data)


def _strand(user: str, key: str) -> int:
    place = f"{len(user)} {user}{key}"
    return -(int.from_bytes(blake2b(place.encode(), digest_size=8).digest(), "big") >> 2) - 1
