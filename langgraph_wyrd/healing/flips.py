"""Storage mostly errs by a bit or a byte: a checksum of 63 bits proves which one it was.

A wrong guess fits by chance once in 10^13 searches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import TypeVar

_MOST_BITS = 16 << 10  # bytes in which every bit is tried
_MOST_BYTES = 1 << 10  # bytes of which each is tried with every value
_MOST_VAIN = 4096

T = TypeVar("T")

_vain: set[bytes] = set()  # of what is damaged beyond this: each load would search it again


def put_right(data: bytes, fits: Callable[[bytes], bool]) -> bytes | None:
    """The data with the one bit, or byte, put right that makes it fit; None if there is none."""
    if len(data) > _MOST_BITS:
        return None
    tried = bytearray(data)
    bits = [1 << bit for bit in range(8)]
    masks = bits if len(data) > _MOST_BYTES else [*bits, *(set(range(1, 256)) - set(bits))]
    for mask in masks:
        for at in range(len(tried)):
            tried[at] ^= mask
            if fits(made := bytes(tried)):
                return made
            tried[at] ^= mask
    return None


def text_put_right(text: str, fits: Callable[[str], bool]) -> str | None:
    """The same of text, as UTF-8."""

    def fit(data: bytes) -> bool:
        try:
            return fits(data.decode())
        except UnicodeDecodeError:
            return False

    found = put_right(text.encode(errors="surrogateescape"), fit)
    return None if found is None else found.decode()


def numbers(value: int) -> Iterator[int]:
    """A number with each of its bits flipped."""
    for bit in range(63):
        yield value ^ (1 << bit)


def unless_vain(damaged: object, search: Callable[[], T | None]) -> T | None:
    """What a search in something damaged finds; not made again if it found nothing before.

    `damaged` has to be all that the search looks at, as `repr` tells it.
    """
    mark = blake2b(repr(damaged).encode(errors="replace"), digest_size=16).digest()
    if mark in _vain:
        return None
    found = search()
    if found is None:
        if len(_vain) >= _MOST_VAIN:
            _vain.clear()
        _vain.add(mark)
    return found
