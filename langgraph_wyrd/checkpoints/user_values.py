"""Values that belong to users: rows of wyrd_user_data, and the references that stand for them.

A checkpoint, a snapshot and a call of `put_writes` have one row for each user whose values they
hold; its `n` is the checkpoint's stamp or the call's `seq`. Where the value would stand there is
a reference: the user, and what is left in its place once the user's data is erased. Nothing of a
value is derived into any other table. A row that was erased has no data, and is not damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langgraph_wyrd.codec.delta import REF, Operation
from langgraph_wyrd.codec.payload import packed, unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, UserMissing
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import fetch, insert, summed, unsound
from langgraph_wyrd.storage.scripts import Command, Script
from langgraph_wyrd.storage.tables import USER_DATA, Key, UserRow

CHECKPOINT, SNAPSHOT, WRITES = "checkpoint", "snapshot", "writes"  # what a row belongs to

# What a task's write reads as whose value was erased: the task is done, and wrote nothing.
NO_WRITES = "__no_writes__"

PUT_USER = insert(USER_DATA)
Held = dict[str, dict[Any, Any]]  # packed values by user, then by channel or place in a call

_OF_WRITES = (
    "AND n IN (SELECT seq FROM wyrd_writes WHERE thread = ? AND ns = ? AND checkpoint >= ? "
    "AND checkpoint <= ?)"
)
# Rows of what is not stored any more.
_LOOSE = (
    "DELETE FROM wyrd_user_data WHERE thread = ? AND n NOT IN (SELECT {} FROM {} WHERE thread = ?) "
    "AND name = '{}'"
)
SETTLE_SNAPSHOTS = _LOOSE.format("stamp", "wyrd_snapshots", SNAPSHOT)
_SETTLE = [
    SETTLE_SNAPSHOTS,
    _LOOSE.format("stamp", "wyrd_checkpoints", CHECKPOINT),
    _LOOSE.format("seq", "wyrd_writes", WRITES),
]
_OF_ONE = "DELETE FROM wyrd_user_data WHERE thread = ? AND n = ? AND name = ?"


class Rows:
    """The rows of users that were read with a checkpoint."""

    __slots__ = ("_opened", "_rows", "on_damage")

    def __init__(self, rows: Iterable[UserRow] = ()) -> None:
        self._rows: dict[tuple[str, str, int], UserRow] = {}
        self._opened: dict[tuple[str, str, int], dict[Any, Any] | None] = {}
        # Called with what is wrong; the value is then left out. None: damage is raised.
        self.on_damage: Callable[[str], None] | None = None
        for row in rows:
            self.add(row)

    def add(self, row: UserRow) -> None:
        self._rows[row.user_id, row.name, row.n] = row

    def held(self, codec: Codec, user: str, name: str, n: int) -> dict[Any, Any] | None:
        """The packed values of one row; None where they were erased."""
        place = user, name, n
        if place not in self._opened:
            try:
                self._opened[place] = self._open(codec, place)
            except CheckpointDamaged as error:
                if self.on_damage is None:
                    raise
                self.on_damage(f"a value of a user's is left out: {error}")
                self._opened[place] = None
        return self._opened[place]

    def _open(self, codec: Codec, place: tuple[str, str, int]) -> dict[Any, Any] | None:
        row = self._rows.get(place)
        if row is None:
            raise CheckpointDamaged(f"a row of user {given(place[0])!r} is missing")
        if unsound(USER_DATA, row):
            raise CheckpointDamaged(f"a row of user {given(place[0])!r} fails its checksum")
        if row.data is None:
            return None
        return dict(unpacked(codec.opened(USER_DATA, row, "data")))


def ref(user: str, rest: Operation | None) -> Operation:
    """What stands in a delta for a user's value."""
    return [REF, user, rest]


def split(changes: dict[str, Operation], owners: Mapping[str, tuple[str, Any]], held: Held) -> None:
    """Move what belongs to users out of the operations of a whole row, into `held`."""
    for name in changes.keys() & owners.keys():
        user, rest = owners[name]
        held.setdefault(user, {})[name] = changes[name]
        changes[name] = ref(user, rest)


def rows_of(
    codec: Codec, key: Key, name: str, n: int, held: Mapping[str, Mapping[Any, Any]], at: str
) -> list[UserRow]:
    """The rows that hold users' values."""
    return [
        summed(
            USER_DATA,
            UserRow(user, key, name, n, at, 0, packed([*map(list, values.items())])),
            codec.sealer,
        )
        for user, values in held.items()
    ]


def replaced(codec: Codec, key: Key, stamp: int, held: Held, at: str) -> Script[None]:
    """Store a checkpoint's values of users in the place of those that it had."""
    yield Command(_OF_ONE, [(key, stamp, CHECKPOINT)])
    if held:
        yield Command(PUT_USER, rows_of(codec, key, CHECKPOINT, stamp, held, at))


def of_writes(key: Key, ns: str, low: str, high: str) -> Script[Rows]:
    """The rows of what tasks wrote at some checkpoints."""
    return Rows((yield from fetch(USER_DATA, _OF_WRITES, key, ns, low, high, thread=key)))


def settle(key: Key) -> Script[None]:
    """Delete the rows of checkpoints, snapshots and writes that are not stored any more."""
    yield [Command(sql, [(key, key)]) for sql in _SETTLE]


# ---- what is refused


def no_user(channel: str, thread_id: str) -> UserMissing:
    return UserMissing(
        f"channel {given(channel)!r} belongs to a user (Channels(user=…)), and this run of thread "
        f"{given(thread_id)!r} does not say whose it is; this write was not stored. Pass the "
        "user's id in the run's config: {'configurable': {'thread_id': …, 'user_id': …}}, or "
        "{'metadata': {'user_id': …}, …}"
    )


def is_empty(value: Any) -> bool:
    """Whether a value says nothing of anybody, as what a reducer begins with."""
    return value is None or (type(value) in (list, dict, set, tuple, str) and not value)


def refuse_unowned(value: Any, channel: str, thread_id: str) -> None:
    """Raise if a channel that held a user's value would go on as nobody's."""
    if not channel.startswith("__") and not is_empty(value):
        raise InvalidInput(
            f"channel {given(channel)!r} of thread {given(thread_id)!r} holds a user's values, and "
            "this saver was opened without Channels(user={…}) that names it: no erasure would find "
            "what it stores. Open all savers of a database with the same channels."
        )
