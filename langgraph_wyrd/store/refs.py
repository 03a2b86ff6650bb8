"""What stands in a checkpoint, or among its writes, for a value that belongs to a user.

The value itself is in `wyrd_user_data`, and may be erased there; nothing here derives from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ormsgpack

REF = "u"  # the shape of one


class Absent:
    """No value: of a channel that was erased, and of what has no part that is nobody's."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()

Load = Callable[[str, Sequence[bytes]], Any]


class Ref(NamedTuple):
    """Where a user's value stands, and what is left in its place once that is erased."""

    shape: str
    strand: int
    seq: int
    length: int
    chain: int
    rest: Any = ABSENT

    def packed(self, rest_shape: str = "", rest: Sequence[bytes] = ()) -> bytes:
        """As it is stored; `rest` are the packed elements of what is left."""
        left = [rest_shape, list(rest)] if rest_shape else []
        return ormsgpack.packb([*self[:5], *left])

    @classmethod
    def opened(cls, packed: bytes, load: Load) -> Ref:
        held = ormsgpack.unpackb(packed)
        shape, strand, seq, length, chain, *left = held
        return cls(shape, strand, seq, length, chain, load(*left) if left else ABSENT)


def public(value: Any) -> Any:
    """The part of a loaded value that belongs to nobody; ABSENT if there is none."""
    return value.rest if type(value) is Ref else value


def said(value: Any) -> Any:
    """The same, with None for nothing: what a write says to the pillars."""
    rest = public(value)
    return None if rest is ABSENT else rest
