"""Values that belong to a user, on their way to `wyrd_user_data`.

A channel's values are strands there as elsewhere, each of one user alone; their numbers are below
zero. A strand only grows: a value that is not the one before with more behind it starts another,
so no row ever holds what no kept version has. Every block begins with a salt, so that a checksum
that outlives a value tells nothing of it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from langgraph_wyrd.errors import InvalidInput, UserMissing
from langgraph_wyrd.store.frames import Entry
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.refs import ABSENT, REF, Ref
from langgraph_wyrd.store.strands import Row
from langgraph_wyrd.store.tips import Tip, Writer
from langgraph_wyrd.store.values import Codec, kind

SALT = 16  # bytes
_SECRET = secrets.token_bytes(16)
_ANY = 62  # bits of the number of a write's strand, which nothing goes on from
_OWNER = 31  # bits of a strand's number that say whose it is, to this process alone


@dataclass(frozen=True, slots=True)
class Owned:
    """What of a write belongs to a user: values by channel, or by their place in a task's writes.

    `user` is in stored form; None: the run has none, and nothing of this can be stored.
    """

    user: str | None
    values: Mapping[Any, Any]


class Salted(Codec):
    """A codec whose blocks begin with a salt, which also tells whose they are."""

    def __init__(self, codec: Codec, user: str = "") -> None:
        self.__dict__.update(codec.__dict__)
        self._user = user

    def block(self, elements: Sequence[bytes]) -> bytes:
        salt = secrets.token_bytes(SALT // 2)
        return salt + _owner(salt, self._user) + super().block(elements)

    def block_again(self, elements: Sequence[bytes], damaged: bytes) -> bytes:
        return damaged[:SALT] + super().block(elements)

    def open_block(self, block: bytes) -> list[bytes]:
        return super().open_block(block[SALT:])


def is_of(data: bytes, user: str) -> bool:
    """Whether a row's bytes were written for a user."""
    return _owner(data[: SALT // 2], user) == data[SALT // 2 : SALT]


def _owner(salt: bytes, user: str) -> bytes:
    return blake2b(user.encode(), key=salt, digest_size=SALT // 2).digest()


class UserWriter:
    """Collects the rows of one write. `thread_id` is for what it says when there is no user."""

    def __init__(self, codec: Codec, user: str | None, thread_id: str) -> None:
        self._codec = codec
        self._user = user
        self._thread_id = thread_id
        self._next: int | None = None
        self._writer = Writer(Salted(codec, user or ""), self._strand, inline=-1)
        self.rows: list[tuple[Any, ...]] = []  # of wyrd_user_data, without their thread

    def store(
        self, tip: Tip | None, version: Any, value: Any, channel: str, rest: Any
    ) -> tuple[Entry, Tip | None]:
        """The entry that stands for a user's value in a frame, and the tip of its strand."""
        self._named(channel)
        held = tip if tip is not None and self._is_mine(tip.place.strand) else None
        writer = self._writer
        entry, after = writer.store(held, version, value, channel)
        if held is not None and not _only_grows(held, writer.rows):
            writer.rows.clear()
            entry, after = writer.store(None, version, value, channel)
        return Entry(version, REF, self._ref(entry, channel, rest)), after

    def write(self, value: Any, channel: str, rest: Any) -> tuple[str, bytes]:
        """(shape, block) of what stands for a user's value among a task's writes."""
        self._named(channel)
        self._next = -secrets.randbits(_ANY) - 1
        entry, _ = self._writer.store(None, None, value, channel)
        return REF, self._ref(entry, channel, rest)

    def _named(self, channel: str) -> str:
        if self._user is None:
            raise no_user(channel, self._thread_id)
        return self._user

    def _strand(self) -> int:
        """A number that only this process can tell the user by; of a write, any that is free."""
        if self._next is not None:
            return self._next
        return -((self._tag() << _OWNER) | secrets.randbits(_OWNER)) - 1

    def _tag(self) -> int:
        found = blake2b((self._user or "").encode(), key=_SECRET, digest_size=4).digest()
        return int.from_bytes(found, "big") >> 1

    def _is_mine(self, strand: int) -> bool:
        return strand < 0 and (-strand - 1) >> _OWNER == self._tag()

    def _ref(self, entry: Entry, channel: str, rest: Any) -> bytes:
        user = self._named(channel)
        assert entry.place is not None
        self.rows += [(*row, user, channel) for row in self._writer.rows]
        self._writer.rows.clear()
        ref = Ref(entry.shape, *entry.place)
        if rest is ABSENT:
            return self._codec.block([b"\0" + ref.packed()])
        left = self._codec.pack(rest, channel)
        return self._codec.block([b"\0" + ref.packed(left.shape, left.elements)])


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


def _only_grows(tip: Tip, rows: Sequence[Row]) -> bool:
    """Whether these rows, if there are any, put elements behind those of a list, and no more."""
    if not rows:
        return True
    (row, *more) = rows
    return not more and kind(tip.shape) == "l" and not row.cut and row.keep == tip.place.length
