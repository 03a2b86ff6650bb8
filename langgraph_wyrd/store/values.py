"""Value <-> bytes: what the serde gives, cut into elements where that saves writing.

A stored value has a *shape*, and a *block* of bytes:

- `l`: a list, each element packed on its own. Packed elements one after the other, behind an array
  header, are exactly what the serde would have made of the whole list, so one call loads them all.
- `d`: a dict with text keys, each entry packed on its own.
- `w…`: anything else, as the serde's `dumps_typed` gives it, its type tag behind the `w`.
- `D` before any of these: the value of a `_DeltaSnapshot`.

A block is one byte of flags, then the payload, compressed and encrypted where that applies.
"""

from __future__ import annotations

import json
import math
import secrets
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import ormsgpack
import xxhash
import zstandard
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langgraph_wyrd.errors import CheckpointDamaged, Unserialisable
from langgraph_wyrd.store import inspect, messages

RUN = 64  # elements that are packed and compared in one go
_COMPRESS_FROM = 1024
_MASK = (1 << 63) - 1

_COMPRESSED, _SEALED, _SIZES, _ROWS, _MIXED = 1, 2, 4, 8, 16


class Element(NamedTuple):
    """One packed element: in row form (a message) or as the serde packs it."""

    row: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class Packed:
    """A value ready to be stored: its shape, and its elements (a whole value is one element)."""

    shape: str
    keys: tuple[str, ...] | None  # of a dict's entries
    elements: list[Element]


def checksum(data: bytes, *place: int) -> int:
    """63 bits over `data` and where it belongs; a changed, moved or swapped piece gives another."""
    seed = 0x9E3779B97F4A7C15
    for part in place:
        seed = ((seed ^ (part & 0xFFFFFFFFFFFFFFFF)) * 0xD6E8FEB86659FD93) & 0xFFFFFFFFFFFFFFFF
        seed ^= seed >> 32
    return xxhash.xxh3_64_intdigest(data, seed=seed) & _MASK


def text_checksum(*fields: object) -> int:
    """63 bits over the fields of a row, told apart by their lengths and their being None."""
    parts = []
    for field in fields:
        raw = field if isinstance(field, bytes) else b"" if field is None else str(field).encode()
        parts.append(b"%d:" % (-1 if field is None else len(raw)) + raw)
    return xxhash.xxh3_64_intdigest(b"".join(parts)) & _MASK


_SECRET = secrets.randbits(64)


def mark(data: bytes) -> int:
    """A fingerprint of an element, good within this process (the secret keeps it unguessable)."""
    return xxhash.xxh3_64_intdigest(data, seed=_SECRET)


_local = threading.local()


def _compress(data: bytes) -> bytes:
    if not hasattr(_local, "compressor"):
        _local.compressor = zstandard.ZstdCompressor(level=3)
    made: bytes = _local.compressor.compress(data)
    return made


def _decompress(data: bytes) -> bytes:
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    made: bytes = _local.decompressor.decompress(data)
    return made


def array_header(count: int) -> bytes:
    if count < 16:
        return bytes((0x90 | count,))
    return struct.pack(">BH", 0xDC, count) if count < 1 << 16 else struct.pack(">BI", 0xDD, count)


def _map_header(count: int) -> bytes:
    if count < 16:
        return bytes((0x80 | count,))
    return struct.pack(">BH", 0xDE, count) if count < 1 << 16 else struct.pack(">BI", 0xDF, count)


def _behind_header(packed: bytes, count: int) -> bytes:
    return packed[1 if count < 16 else 3 if count < 1 << 16 else 5 :]


def kind(shape: str) -> str:
    """`l`, `d` or `w`."""
    return shape[1] if shape[0] == "D" else shape[0]


class NotElements(Exception):
    """The serde does not make plain msgpack of this value: it is stored whole."""


class Codec:
    """Packs and loads values through one serde."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self.serde = serde
        self._seal: Callable[[bytes], tuple[str, bytes]] | None = None
        self._unseal: Callable[[str, bytes], bytes] | None = None
        inner: Any = serde
        if type(serde) is EncryptedSerializer:
            inner = serde.serde
        self.splices = type(inner) is JsonPlusSerializer
        if self.splices and isinstance(serde, EncryptedSerializer):
            self._seal, self._unseal = serde.cipher.encrypt, serde.cipher.decrypt
        elif not self.splices:
            inner = serde  # nothing is known of it: whole values only, as it makes them
        self._dumps: Callable[[Any], tuple[str, bytes]] = inner.dumps_typed
        self._loads: Callable[[tuple[str, bytes]], Any] = inner.loads_typed

    # ---- packing

    def pack(self, value: Any, where: str) -> Packed:
        """The value, cut into elements if it is a list or a dict of the plain kind."""
        prefix = ""
        if type(value) is _DeltaSnapshot and self.splices:
            prefix, value = "D", value.value
        try:
            shape = self.shape_of(value)
            if shape == "l":
                return Packed(prefix + "l", None, self.pack_elements(value, where))
            if shape == "d":
                entries = [self.pack_entry(k, v, where) for k, v in value.items()]
                return Packed(prefix + "d", tuple(value), entries)
        except NotElements:
            pass
        return self.pack_whole(value, where, prefix)

    def shape_of_any(self, value: Any) -> str:
        if type(value) is _DeltaSnapshot and self.splices:
            return "D" + self.shape_of(value.value)
        return self.shape_of(value)

    def shape_of(self, value: Any) -> str:
        """Whether a value is spliced (`l`, `d`) or stored whole (`w`)."""
        if self.splices and type(value) is list:
            scalars = value and all(type(v) in _SCALARS for v in (value[0], value[-1]))
            if not (scalars and all(type(v) in _SCALARS for v in value)):
                return "l"
        if self.splices and type(value) is dict and all(type(key) is str for key in value):
            return "d"
        return "w"

    def pack_whole(self, value: Any, where: str, prefix: str = "") -> Packed:
        tag, data = self._dump(value, where)
        return Packed(f"{prefix}w{tag}", None, [Element(False, data)])

    def pack_elements(self, values: Sequence[Any], where: str, start: int = 0) -> list[Element]:
        """Each value packed for storing; `start` is the first one's place in its list."""
        made = []
        for offset, value in enumerate(values):
            if messages.is_message(value) and (packed := self._exact_row(value)) is not None:
                made.append(Element(True, packed))
            else:
                made.append(Element(False, self._msgpack([value], f"{where}[{start + offset}]")))
        return made

    def pack_entry(self, key: str, value: Any, where: str) -> Element:
        tag, data = self._dump({key: value}, where)
        if tag != "msgpack":
            raise NotElements
        return Element(False, data[1:])

    def pack_key(self, key: str) -> Element:
        return Element(False, ormsgpack.packb(key))

    def run_mark(self, values: Sequence[Any]) -> int | None:
        """The mark of elements packed together; None if they can't be (nothing is known then)."""
        packed = messages.pack(values)
        if packed is None:
            if any(map(messages.is_message, values)):
                try:
                    return mark(b"".join(self.fingerprint_bytes(value) for value in values))
                except (Unserialisable, NotElements):
                    return None
            try:
                tag, packed = self._dumps(list(values))
            except Exception:
                return None
            if tag != "msgpack":
                return None
        return mark(_behind_header(packed, len(values)))

    def fingerprint_bytes(self, value: Any, where: str = "") -> bytes:
        """What an element is compared by: its row form if it has one, however it is stored."""
        if messages.is_message(value) and (packed := messages.pack([value])) is not None:
            return packed[1:]
        try:
            tag, data = self._dumps([value])
        except Exception:
            tag, data = self._dump([value], where, inside=value)
        if tag != "msgpack":
            raise NotElements
        return data[1:]

    def _exact_row(self, message: Any) -> bytes | None:
        packed = messages.pack([message])
        if packed is None:
            return None
        restored = self._loads(self._dumps(message))
        return packed[1:] if messages.same(message, restored) else None

    def _msgpack(self, values: list[Any], where: str) -> bytes:
        tag, data = self._dump(values, where, inside=values[0])
        if tag != "msgpack":
            raise NotElements
        return data[1:]

    def _dump(self, value: Any, where: str, inside: Any = None) -> tuple[str, bytes]:
        """The serde's bytes; what it refuses, or would spoil, is refused with its place."""
        shown = value if inside is None else inside
        try:
            tag, data = self._dumps(value)
        except Exception as error:
            channel, path = _named(where, inspect.refused_at(shown, self._dumps))
            raise Unserialisable(
                f"{channel}{path} can't be stored: {error}", channel=channel, path=path
            ) from error
        # The default serde writes a lone surrogate as "?", so only bytes with one need a look.
        if self.splices and b"?" in data and (found := inspect.surrogate_at(shown)) is not None:
            channel, path = _named(where, found)
            raise Unserialisable(
                f"{channel}{path} holds a lone surrogate (half of a character), which UTF-8 can't "
                "carry: replace or remove it before saving",
                channel=channel,
                path=path,
            )
        return tag, data

    # ---- blocks

    def block(self, elements: Sequence[Element]) -> bytes:
        """Elements as one run of bytes."""
        flags = 0
        if len(elements) == 1:
            row, body = elements[0]
            flags |= _ROWS if row else 0
        else:
            forms = {element.row for element in elements}
            body = b"".join(element.data for element in elements)
            if len(forms) == 2:
                flags |= _MIXED
                sizes = [len(data) * 2 + row for row, data in elements]
            else:
                flags |= _ROWS if True in forms else 0
                sizes = [len(data) for _, data in elements]
            head = ormsgpack.packb(sizes)
            flags |= _SIZES
            body = struct.pack("<I", len(head)) + head + body
        if len(body) >= _COMPRESS_FROM:
            smaller = _compress(body)
            if len(smaller) < len(body) * 0.9:
                body = smaller
                flags |= _COMPRESSED
        if self._seal is not None:
            name, sealed = self._seal(body)
            label = name.encode()
            body = bytes((len(label),)) + label + sealed
            flags |= _SEALED
        return bytes((flags,)) + body

    def open_block(self, block: bytes) -> list[Element]:
        """The elements of a block. A block that can't be read is damage."""
        try:
            flags, body = block[0], block[1:]
            if flags & _SEALED:
                if self._unseal is None:
                    raise CheckpointDamaged(
                        "the stored values are encrypted, and this saver's serde has no key"
                    )
                name = body[1 : 1 + body[0]].decode()
                body = self._unseal(name, body[1 + body[0] :])
            if flags & _COMPRESSED:
                body = _decompress(body)
            if not flags & _SIZES:
                return [Element(bool(flags & _ROWS), body)]
            length = struct.unpack_from("<I", body)[0]
            sizes: list[int] = ormsgpack.unpackb(body[4 : 4 + length])
            at, row, made = 4 + length, bool(flags & _ROWS), []
            for size in sizes:
                if flags & _MIXED:
                    row, size = bool(size & 1), size >> 1
                made.append(Element(row, body[at : at + size]))
                at += size
            return made
        except CheckpointDamaged:
            raise
        except Exception as error:
            raise CheckpointDamaged(f"a stored block can't be read: {error}") from error

    # ---- loading

    def load(self, shape: str, elements: Sequence[Element]) -> Any:
        """The value of a shape from its elements."""
        if shape[0] == "D":
            return _DeltaSnapshot(self.load(shape[1:], elements))
        if shape == "l":
            return self.load_elements(elements)
        if shape == "d":
            body = b"".join(element.data for element in elements)
            return self._loads(("msgpack", _map_header(len(elements)) + body))
        return self._loads((shape[1:], elements[0].data))

    def load_elements(self, elements: Sequence[Element]) -> list[Any]:
        """The values of packed list elements, loaded in as few calls as their forms allow."""
        values: list[Any] = []
        start, count = 0, len(elements)
        while start < count:
            row = elements[start].row
            stop = start + 1
            while stop < count and elements[stop].row is row:
                stop += 1
            body = b"".join([element.data for element in elements[start:stop]])
            packed = array_header(stop - start) + body
            values += messages.unpack(packed) if row else self._loads(("msgpack", packed))
            start = stop
        return values

    @staticmethod
    def entry_key(element: Element) -> bytes:
        """The packed key in front of a packed entry."""
        data = element.data
        first = data[0]
        if first < 0xC0:  # a text of up to 31 bytes
            return data[: 1 + (first & 0x1F)]
        width = 1 << (first - 0xD9)  # 8, 16 or 32 bits of length
        return data[: 1 + width + int.from_bytes(data[1 : 1 + width], "big")]

    @staticmethod
    def wrap(shape: str, value: Any) -> Any:
        return _DeltaSnapshot(value) if shape[0] == "D" else value

    def load_entries(self, elements: Sequence[Element]) -> list[tuple[str, Any]]:
        """The (key, value) of packed dict entries, in one call."""
        body = b"".join([b"\x81" + element.data for element in elements])
        loaded = self._loads(("msgpack", array_header(len(elements)) + body))
        return [next(iter(entry.items())) for entry in loaded]

    # ---- values that stand alone: writes, inline values, metadata

    def seal_value(self, value: Any, where: str) -> tuple[str, bytes]:
        """(shape, block) of a value that is stored in one piece."""
        packed = self.pack(value, where)
        return packed.shape, self.block(packed.elements)

    def open_value(self, shape: str, block: bytes) -> Any:
        return self.load(shape, self.open_block(block))

    def metadata(self, metadata: dict[str, Any]) -> tuple[str, bytes | None]:
        """Metadata as JSON, and as the serde packs it too if JSON would not give the same back."""
        if _is_json(metadata):
            return json.dumps(metadata, ensure_ascii=False), None
        shape, block = self.seal_value(metadata, "metadata")
        shown = {k: v for k, v in metadata.items() if isinstance(k, str) and _is_json(v)}
        label = shape.encode()
        return json.dumps(shown, ensure_ascii=False), bytes((len(label),)) + label + block

    def open_metadata(self, text: str, exact: bytes | None) -> dict[str, Any]:
        if exact is None:
            found: dict[str, Any] = json.loads(text)
            return found
        size = exact[0]
        loaded: dict[str, Any] = self.open_value(exact[1 : 1 + size].decode(), exact[1 + size :])
        return loaded


def _named(where: str, path: str) -> tuple[str, str]:
    """Channel, and the whole way inside it."""
    channel, bracket, start = where.partition("[")
    return channel, bracket + start + path


_SCALARS = frozenset((int, float, bool, type(None)))


def _is_json(value: Any) -> bool:
    """Whether JSON gives back exactly this."""
    exact = type(value)
    if exact is str:
        return not inspect.has_surrogate(value)
    if exact is int:
        return bool(-(1 << 63) <= value < 1 << 64)
    if exact is float:
        return math.isfinite(value)
    if exact is list:
        return all(map(_is_json, value))
    if exact is dict:
        return all(type(k) is str and _is_json(k) and _is_json(v) for k, v in value.items())
    return exact is bool or value is None
