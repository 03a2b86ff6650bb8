"""The bytes of a checkpoint's delta, of a task's writes, of a snapshot: packed and compressed.

Channel versions are long texts that come again and again (`00000000000000000000000000000012.a3…`),
so a delta names each once, without its zeros, and refers to it by its place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import ormsgpack
import zstandard

from langgraph_wyrd.codec.delta import Operation
from langgraph_wyrd.errors import CheckpointDamaged

COMPRESS_FROM = 1024  # bytes
_LARGEST = 1 << 30  # no few bytes in a row may ask for more memory than this
_COMPRESSED = b"Z"
_WIDTH = 49  # of a version: 32 digits, a point, 16 more

_local = threading.local()

Versions = Mapping[str, Any]


class Delta(NamedTuple):
    """What a checkpoint changed against the one it is built on (or all it holds)."""

    changes: dict[str, Operation]
    removed: list[str]  # channels that hold no value any more
    versions: dict[str, Any]  # new or changed
    dropped: list[str]  # names without a version any more
    seen: dict[str, dict[str, Any]]  # new or changed, by node
    unseen: list[str]  # nodes that are gone
    rest: Any  # the checkpoint's other fields, where they changed
    metadata: Any  # metadata that JSON does not carry, as the serde packs it


def pack_delta(delta: Delta) -> bytes:
    """The bytes of a delta."""
    places: dict[Any, int] = {}

    def place(version: Any) -> int:
        key = version if type(version) is str else (type(version), version)
        found = places.get(key)
        if found is None:
            found = places[key] = len(places)
        return found

    versions = {name: place(version) for name, version in delta.versions.items()}
    seen = {
        node: {name: place(version) for name, version in held.items()}
        for node, held in delta.seen.items()
    }
    table = [_short(key if type(key) is str else key[1]) for key in places]
    return compressed(
        ormsgpack.packb(
            [delta.changes, delta.removed, table, versions, delta.dropped, seen, delta.unseen,
             delta.rest, delta.metadata]
        )
    )  # fmt: skip


def unpack_delta(data: bytes) -> Delta:
    """The delta of such bytes."""
    try:
        changes, removed, table, versions, dropped, seen, unseen, rest, metadata = unpacked(data)
        names = [h[0] if type(h) is list else h.rjust(_WIDTH, "0") for h in table]
        return Delta(
            changes,
            removed,
            {name: names[at] for name, at in versions.items()},
            dropped,
            {node: {name: names[at] for name, at in held.items()} for node, held in seen.items()},
            unseen,
            rest,
            metadata,
        )
    except CheckpointDamaged:
        raise
    except Exception as error:
        raise CheckpointDamaged(f"a stored delta can't be read: {error}") from error


def _short(version: Any) -> Any:
    """A version without its leading zeros; others as they are, in a list."""
    if type(version) is str and len(version) == _WIDTH and version[32] == ".":
        short = version.lstrip("0")
        if short and short[0] != "0":
            return short
    return [version]


# ---- compression


def compressed(data: bytes, least: int = COMPRESS_FROM) -> bytes:
    """The bytes, compressed where they are as many as `least`, and that saves something."""
    if least <= len(data) <= _LARGEST:
        if not hasattr(_local, "compressor"):  # one a thread: they can't be shared
            _local.compressor = zstandard.ZstdCompressor(level=3)
        smaller: bytes = _local.compressor.compress(data)
        if len(smaller) < len(data) * 0.9:
            return _COMPRESSED + smaller
    return data


def decompressed(data: bytes) -> bytes:
    if data[:1] != _COMPRESSED:
        return data
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    frame = memoryview(data)[1:]
    if zstandard.frame_content_size(frame) > _LARGEST:
        raise CheckpointDamaged("a stored row says that it is larger than any")
    made: bytes = _local.decompressor.decompress(frame)
    return made


_PACKING = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_BIG_INT
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
)
_LARGE = 1  # the extension that is a number over 64 bits


def _refused(value: Any) -> Any:
    raise TypeError(f"{type(value).__name__} is no plain data")


def _large(value: int) -> ormsgpack.Ext:
    return ormsgpack.Ext(_LARGE, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _number(kind: int, data: bytes) -> int:
    if kind != _LARGE:
        raise ValueError(f"there is no extension {kind}")
    return int.from_bytes(data, "big", signed=True)


def packed(
    value: Any, least: int = COMPRESS_FROM, row_of: Callable[[Any], Any] = _refused
) -> bytes:
    """Plain data as msgpack, compressed from `least` bytes on; `row_of` makes it of all else."""

    def other(value: Any) -> Any:
        return _large(value) if type(value) is int else row_of(value)

    return compressed(ormsgpack.packb(value, default=other, option=_PACKING), least)


def unpacked(data: bytes) -> Any:
    """The plain data of such bytes."""
    try:
        return ormsgpack.unpackb(
            decompressed(data), ext_hook=_number, option=ormsgpack.OPT_NON_STR_KEYS
        )
    except CheckpointDamaged:
        raise
    except Exception as error:
        raise CheckpointDamaged(f"a stored row can't be read: {error}") from error
