"""Elements <-> blocks: the bytes of one row.

An *element* is a byte that says its form, then its bytes: as the serde packs it, or a message in
row form. A *block* is a byte of flags, then one element's bytes or several behind their sizes,
compressed and encrypted where that applies. A block of one plain element is that element.
"""

from __future__ import annotations

import re
import struct
import threading
from collections.abc import Callable, Sequence

import ormsgpack
import zstandard

from langgraph_wyrd.errors import CheckpointDamaged, KeyMissing

_CIPHER = re.compile(r"[\w.+-]{1,40}")  # the name of one, as serdes give it

COMPRESS_FROM = 1024  # bytes
_COMPRESS_TO = 256 << 20  # no few bytes in a row may ask for more memory than this

_COMPRESSED, _SEALED, _SIZES, _ROWS, _MIXED = 1, 2, 4, 8, 16

ROW = bytes((_ROWS,))
PLAIN = b"\0"

Seal = Callable[[bytes], tuple[str, bytes]]
Unseal = Callable[[str, bytes], bytes]

_local = threading.local()


def make_block(elements: Sequence[bytes], seal: Seal | None) -> bytes:
    """Elements as one run of bytes."""
    flags = 0
    if len(elements) == 1:
        only = elements[0]
        if seal is None and len(only) < COMPRESS_FROM:
            return only
        flags, body = only[0], only[1:]
    else:
        flags, body = _together(elements)
    if COMPRESS_FROM <= len(body) <= _COMPRESS_TO:
        smaller = _compress(body)
        if len(smaller) < len(body) * 0.9:
            body = smaller
            flags |= _COMPRESSED
    if seal is not None:
        name, sealed = seal(body)
        label = name.encode()
        body = bytes((len(label),)) + label + sealed
        flags |= _SEALED
    return bytes((flags,)) + body


def _together(elements: Sequence[bytes]) -> tuple[int, bytes]:
    forms = {element[0] for element in elements}
    flags = _SIZES
    if len(forms) == 2:
        flags |= _MIXED
        sizes = [len(element) * 2 - 2 + (element[0] == _ROWS) for element in elements]
    else:
        flags |= _ROWS if _ROWS in forms else 0
        sizes = [len(element) - 1 for element in elements]
    head = ormsgpack.packb(sizes)
    body = b"".join([element[1:] for element in elements])
    return flags, struct.pack("<I", len(head)) + head + body


def is_sealed(block: bytes) -> bool:
    """Whether a block says that a serde encrypted it."""
    if not block or block[0] & ~(_ROWS | _COMPRESSED | _SEALED | _SIZES | _MIXED):
        return False
    name = block[2 : 2 + block[1]] if len(block) > 1 else b""
    return bool(block[0] & _SEALED and _CIPHER.fullmatch(name.decode(errors="replace")))


def open_block(block: bytes, unseal: Unseal | None) -> list[bytes]:
    """The elements of a block. A block that can't be read is damage, and so is a plain one where
    all are sealed: somebody else put it there."""
    try:
        flags = block[0]
        if unseal is not None and not flags & _SEALED:
            raise CheckpointDamaged("a stored block is plain, and the store is encrypted")
        if not flags & ~_ROWS:
            return [block]
        body = block[1:]
        if flags & _SEALED:
            name = body[1 : 1 + body[0]].decode()
            if unseal is None:
                if not _CIPHER.fullmatch(name):
                    raise CheckpointDamaged("a stored block is none")
                raise KeyMissing(
                    "the stored values are encrypted: open the store with the serde that wrote it"
                )
            body = unseal(name, body[1 + body[0] :])
        if flags & _COMPRESSED:
            body = _decompress(body)
        if not flags & _SIZES:
            return [bytes((flags & _ROWS,)) + body]
        length = struct.unpack_from("<I", body)[0]
        sizes: list[int] = ormsgpack.unpackb(body[4 : 4 + length])
        if sizes and min(sizes) < 0:  # the same bytes over and over again
            raise CheckpointDamaged("a stored block has a size below nothing")
        at, form, made = 4 + length, bytes((flags & _ROWS,)), []
        for size in sizes:
            if flags & _MIXED:
                form, size = (ROW if size & 1 else PLAIN), size >> 1
            made.append(form + body[at : at + size])
            at += size
        return made
    except (CheckpointDamaged, KeyMissing):
        raise
    except Exception as error:
        raise CheckpointDamaged(f"a stored block can't be read: {error}") from error


def _compress(data: bytes) -> bytes:
    if not hasattr(_local, "compressor"):  # one a thread: they can't be shared
        _local.compressor = zstandard.ZstdCompressor(level=3)
    made: bytes = _local.compressor.compress(data)
    return made


def _decompress(data: bytes) -> bytes:
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    if zstandard.frame_content_size(data) > _COMPRESS_TO:
        raise CheckpointDamaged("a stored block says that it is larger than any")
    made: bytes = _local.decompressor.decompress(data)
    return made
