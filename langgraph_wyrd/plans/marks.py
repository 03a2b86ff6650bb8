"""What the checksum of a task's write says of those beside it, so that a missing one is noticed.

A task hands over what it wrote in one call. The last ordinary write says that it is, and how many
there are; it and the control writes (an error, a question, the answers before it) say which control
writes came with them. One that came stays: others take its place, but nothing takes it away.
"""

from __future__ import annotations

from typing import NamedTuple

# The numbers that LangGraph gives to control writes, whichever place in a call they have.
ERROR, SCHEDULED, INTERRUPT, RESUME = -1, -2, -3, -4
NAMES = {
    ERROR: "__error__",
    SCHEDULED: "__scheduled__",
    INTERRUPT: "__interrupt__",
    RESUME: "__resume__",
}

_BITS = 0x7FFF_FFFF_FFFF_FFFF
_LAST, _STEP = 0x2B7E151628AED2A6, 0x1E3779B97F4A7C15
_BACK = pow(_STEP, -1, 1 << 63)  # marks lie far apart: a few flipped bits make none of another
_COUNTS, _MOST_COUNTED = 2048, 1024
_CONTROLS = 16


class Said(NamedTuple):
    """What a checksum says; `many` 0: more than can be said, or nothing of it."""

    is_last: bool = False
    many: int = 0
    beside: int = 0


NOTHING = Said()


def bit(idx: int) -> int:
    """A control write among others; 0 of an ordinary one."""
    return 1 << (-idx - 1) if idx in NAMES else 0


def mark(count: int = 0, beside: int = 0) -> int:
    """What is put over the checksum of the last of so many ordinary writes of a call; or, without
    a count, of a control write that came `beside` others."""
    number = count if count <= _MOST_COUNTED else 0
    return _LAST ^ ((number + beside * _COUNTS) * _STEP & _BITS)


def said(mark: int) -> Said | None:
    """What is over a checksum; None: nothing that was ever put there."""
    if mark == 0:
        return NOTHING
    if not 0 < mark <= _BITS:
        return None
    beside, count = divmod((mark ^ _LAST) * _BACK & _BITS, _COUNTS)
    return Said(True, count, beside) if beside < _CONTROLS and count <= _MOST_COUNTED else None
