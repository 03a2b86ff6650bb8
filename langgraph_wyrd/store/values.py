"""Value <-> bytes: what the serde gives, cut into elements where that saves writing.

A stored value has a *shape*, and a *block* of bytes:

- `l`: a list, each element packed on its own. Packed elements one after the other, behind an array
  header, are exactly what the serde would have made of the whole list, so one call loads them all.
- `d`: a dict with text keys, each entry packed on its own.
- `w…`: anything else, as the serde's `dumps_typed` gives it, its type tag behind the `w`.
- `D` before any of these: the value of a `_DeltaSnapshot`.
- `u`: what stands for a value that belongs to a user (see `refs`).

How elements become bytes is in `blocks`.
"""

from __future__ import annotations

import json
import secrets
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import ormsgpack
import xxhash
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langgraph_wyrd.errors import CheckpointDamaged, Unserialisable
from langgraph_wyrd.store import inspect, messages
from langgraph_wyrd.store.blocks import PLAIN, ROW, Seal, Unseal, make_block, open_block
from langgraph_wyrd.store.decoding import decoding
from langgraph_wyrd.store.refs import REF, Ref
from langgraph_wyrd.store.texts import Texts
from langgraph_wyrd.types import kept
from langgraph_wyrd.types.exact import exact_dumps
from langgraph_wyrd.types.kept import KeptWhole
from langgraph_wyrd.types.migrations import Classes, Marked
from langgraph_wyrd.types.rebuilding import guarded
from langgraph_wyrd.types.telling import refused

_MOST_EXACT = 4096
_A_WHILE = 60.0  # seconds
RUN = 64  # elements that are packed and compared in one go
_MASK = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Packed:
    """A value ready to be stored: its shape, and its elements (a whole value is one element)."""

    shape: str
    keys: tuple[str, ...] | None  # of a dict's entries
    elements: list[bytes]


def checksum(data: bytes, strand: int, seq: int, part: int, keep: int, cut: int, added: int) -> int:
    """63 bits over a row's bytes, place and shape; a changed or moved one gives another."""
    seed = strand * 0x9E3779B97F4A7C15 + seq * 0xD6E8FEB86659FD93
    seed += keep * 0xE7037ED1A0B428DB + added * 0x589965CC75374CC3
    if part != 0 or cut != 0:  # also text, which SQLite takes for a number: that is an error
        seed += part * 0xA0761D6478BD642F + cut * 0x8EBC6AF09C88C6E3
    return xxhash.xxh3_64_intdigest(data, seed & 0xFFFFFFFFFFFFFFFF) & _MASK


def text_checksum(*fields: str | bytes | int | None) -> int:
    """63 bits over the fields of a row; packed, they are told apart by type and length."""
    return xxhash.xxh3_64_intdigest(ormsgpack.packb(fields)) & _MASK


_SECRET = secrets.randbits(64)


def mark(data: bytes) -> int:
    """A fingerprint of an element, good within this process (the secret keeps it unguessable)."""
    return xxhash.xxh3_64_intdigest(data, seed=_SECRET)


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


_form = itemgetter(0)
_ROWS_ONLY = {ROW[0]}


def is_row(element: bytes) -> bool:
    return element[0] == ROW[0]


class NotElements(Exception):
    """The serde does not make plain msgpack of this value: it is stored whole."""


class Codec(Texts):
    """Packs and loads values through one serde."""

    def __init__(
        self, serde: SerializerProtocol, classes: Classes | None = None, *, vaulted: bool = False
    ) -> None:
        self.serde = serde
        self.vaulted = vaulted
        # Its own loader takes what is plain for plain: an encrypted store has nothing of that kind.
        self.refuses_plain = isinstance(serde, EncryptedSerializer)
        self.classes = Classes() if classes is None else classes
        self._careful = guarded(serde, self.classes)
        self._kept, self._kept_lately = kept.made(), 0.0
        self._seal: Seal | None = None
        self._unseal: Unseal | None = None
        self._exact: set[int] = set()  # marks of packed messages that the serde agrees with
        inner: Any = serde
        if type(serde) is EncryptedSerializer:
            inner = serde.serde
        # With a hook of the user's own, what loading gives is anybody's guess.
        hooked = getattr(inner, "_custom_unpack_ext_hook", False)
        self.splices = type(inner) is JsonPlusSerializer and not hooked
        self.seals = inner is not serde or not self.splices
        if self.splices and isinstance(serde, EncryptedSerializer):
            self._seal, self._unseal = serde.cipher.encrypt, serde.cipher.decrypt
        if not self.splices:
            inner = serde  # nothing is known of it: whole values only, as it makes them
        self._dumps = exact_dumps(inner, self.classes) if self.splices else inner.dumps_typed
        careful: Any = self._careful.serde if self._seal else self._careful  # type: ignore[attr-defined]
        self._loads: Callable[[tuple[str, bytes]], Any] = careful.loads_typed

    # ---- packing

    def pack(self, value: Any, channel: str) -> Packed:
        """The value, cut into elements if it is a list or a dict of the plain kind."""
        prefix = ""
        if type(value) is _DeltaSnapshot and self.splices:
            prefix, value = "D", value.value
        if self.classes.channels and self.shape_of(value) != "l":
            value = self.classes.marked(channel, value)
        try:
            shape = self.shape_of(value)
            if shape == "l":
                return Packed(prefix + "l", None, self.pack_elements(value, channel))
            if shape == "d":
                entries = [self.pack_entry(k, v, channel) for k, v in value.items()]
                return Packed(prefix + "d", tuple(value), entries)
        except NotElements:
            pass
        return self.pack_whole(value, channel, prefix)

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

    def pack_whole(self, value: Any, channel: str, prefix: str = "") -> Packed:
        if type(value) is KeptWhole:  # elements are sealed with their block
            tag, data = value.typed if self.splices else self.dump_typed(value)
        else:
            tag, data = self._dump(value, channel)
        return Packed(f"{prefix}w{tag}", None, [PLAIN + data])

    def pack_elements(self, values: Sequence[Any], channel: str, start: int = 0) -> list[bytes]:
        """Each value packed for storing; `start` is the first one's place in its list."""
        made = []
        if channel in self.classes.channels:
            values = [self.classes.marked(channel, value) for value in values]
        for offset, value in enumerate(values):
            if messages.is_message(value) and (packed := self._exact_row(value)) is not None:
                made.append(ROW + packed)
            else:
                made.append(PLAIN + self._msgpack(value, channel, f"[{start + offset}]"))
        return made

    def pack_entry(self, key: str, value: Any, channel: str) -> bytes:
        if channel in self.classes.channels:
            raise NotElements  # a version belongs to the whole
        tag, data = self._dump({key: value}, channel)
        if tag != "msgpack":
            raise NotElements
        return PLAIN + data[1:]

    def pack_key(self, key: str) -> bytes:
        return PLAIN + ormsgpack.packb(key)

    def run_mark(self, values: Sequence[Any]) -> int | None:
        """The mark of elements packed together; None if they can't be (nothing is known then)."""
        packed = self.run_bytes(values)
        return None if packed is None else mark(packed)

    @staticmethod
    def quick_mark(values: Sequence[Any]) -> int:
        """The mark of messages, made quickly, for them alone to be known by again; 0 for others."""
        packed = messages.alike(values)
        return 0 if packed is None else mark(packed)

    def run_bytes(self, values: Sequence[Any]) -> bytes | None:
        """What elements are compared by, one behind the other; None if they can't be packed."""
        packed = messages.pack(values)
        if packed is None:
            if any(map(messages.is_message, values)):
                try:
                    return b"".join(self.fingerprint_bytes(value) for value in values)
                except (Unserialisable, NotElements):
                    return None
            try:
                tag, packed = self._dumps(list(values))
            except Exception:
                return None
            if tag != "msgpack":
                return None
        return _behind_header(packed, len(values))

    def fingerprint_bytes(self, value: Any, channel: str = "", path: str = "") -> bytes:
        """What an element is compared by: its row form if it has one, however it is stored."""
        if messages.is_message(value) and (packed := messages.pack([value])) is not None:
            return packed[1:]
        try:
            tag, data = self._dumps([value])
        except Exception:
            return self._msgpack(value, channel, path)
        if tag != "msgpack":
            raise NotElements
        return data[1:]

    def fingerprint_of_loaded(self, element: bytes, value: Any) -> bytes:
        """What an element that was loaded as `value` is compared by.

        Where its class has changed since it was stored (a new field with a default, say), it would
        be stored as something else now: then it must not count as equal to the value, or the value
        that is put would never be stored. Other bytes in another order are a set's, and the same.
        """
        try:
            tag, data = self._dumps([value])
        except Exception:
            return element[1:]
        if type(value) is Marked and self.classes.is_latest(value):
            return self.fingerprint_bytes(value.value)
        stored, now = element[1:], data[1:]
        if tag != "msgpack" or (now != stored and sorted(now) != sorted(stored)):
            return stored
        return self.fingerprint_bytes(value) if messages.is_message(value) else now

    def _exact_row(self, message: Any) -> bytes | None:
        packed = messages.pack([message])
        if packed is None:
            return None
        # A message comes twice, in its task's write and in its channel: the serde is asked once.
        known = mark(packed)
        if known not in self._exact:
            if not messages.same(message, self._loads(self._dumps(message))):
                return None
            if len(self._exact) >= _MOST_EXACT:
                self._exact.clear()
            self._exact.add(known)
        return packed[1:]

    def _msgpack(self, value: Any, channel: str, path: str) -> bytes:
        """One element of a list, as it stands in the packed list."""
        tag, data = self._dump([value], channel, path, value)
        if tag != "msgpack":
            raise NotElements
        return data[1:]

    def _dump(
        self, value: Any, channel: str, path: str = "", inside: Any = None
    ) -> tuple[str, bytes]:
        """The serde's bytes; what it refuses, or would spoil, is refused with its place.

        `inside` is what the caller knows of `value`, found at `path`.
        """
        shown = value if inside is None else inside
        try:
            tag, data = self._dumps(value)
        except Exception as error:
            path += inspect.refused_at(shown, self._dumps)
            raise Unserialisable(
                f"{channel}{path} can't be stored: {refused(shown, error)}",
                channel=channel,
                path=path,
            ) from error
        if self.splices and (found := inspect.spoilt(shown, data)) is not None:
            path += found[0]
            raise Unserialisable(f"{channel}{path} {found[1]}", channel=channel, path=path)
        return tag, data

    def block(self, elements: Sequence[bytes]) -> bytes:
        return make_block(elements, self._seal)

    def block_again(self, elements: Sequence[bytes], damaged: bytes) -> bytes:
        """The block that these bytes were, if it held these elements."""
        return self.block(elements)

    def open_block(self, block: bytes) -> list[bytes]:
        return open_block(block, self._unseal)

    # ---- loading

    @decoding
    def load(self, shape: str, elements: Sequence[bytes]) -> Any:
        """The value of a shape from its elements."""
        if self.refuses_plain and not self.splices and not (shape[0] == "w" and "+" in shape):
            raise CheckpointDamaged("a stored value is plain, and the store is encrypted")
        if shape[0] == "D":
            return _DeltaSnapshot(self.load(shape[1:], elements))
        if shape == "l":
            return self.load_elements(elements)
        if shape == "d":
            body = b"".join([element[1:] for element in elements])
            return self._loads(("msgpack", _map_header(len(elements)) + body))
        if shape == "wjson" and self.splices:  # it may name what LangGraph then calls
            raise CheckpointDamaged("a stored value is JSON, and none is ever stored so")
        if shape == REF:
            return Ref.opened(elements[0][1:], self.load)
        return self._loads((shape[1:], elements[0][1:]))

    @decoding
    def load_elements(self, elements: Sequence[bytes]) -> list[Any]:
        """The values of packed list elements, loaded in as few calls as their forms allow."""
        if elements and set(map(_form, elements)) == _ROWS_ONLY:
            return messages.unpack(elements)
        values: list[Any] = []
        for row, run in groupby(elements, _form):
            if row == ROW[0]:
                values += messages.unpack(list(run))
            else:
                bodies = [element[1:] for element in run]
                packed = array_header(len(bodies)) + b"".join(bodies)
                values += self._loads(("msgpack", packed))
        return values

    @staticmethod
    def entry_key(element: bytes) -> bytes:
        """The packed key in front of a packed entry."""
        first = element[1]
        if first < 0xC0:  # a text of up to 31 bytes
            return element[1 : 2 + (first & 0x1F)]
        width = 1 << (first - 0xD9)  # 8, 16 or 32 bits of length
        return element[1 : 2 + width + int.from_bytes(element[2 : 2 + width], "big")]

    @staticmethod
    def wrap(shape: str, value: Any) -> Any:
        return _DeltaSnapshot(value) if shape[0] == "D" else value

    @staticmethod
    def bare(value: Any) -> Any:
        """The value of a channel, without the mark of one that is kept as deltas."""
        return value.value if type(value) is _DeltaSnapshot else value

    @decoding
    def load_entries(self, elements: Sequence[bytes]) -> list[tuple[str, Any] | None]:
        """The (key, value) of packed dict entries, in one call; None where there is only a key."""
        entries = [e for e in elements if len(self.entry_key(e)) < len(e) - 1]
        body = b"".join([b"\x81" + element[1:] for element in entries])
        loaded = iter(self._loads(("msgpack", array_header(len(entries)) + body)))
        return [
            next(iter(next(loaded).items())) if len(self.entry_key(e)) < len(e) - 1 else None
            for e in elements
        ]

    # ---- values as the serde gives them, for other files

    def dump_typed(self, value: Any) -> tuple[str, bytes]:
        if not self.splices and type(value) is not KeptWhole:
            return self.serde.dumps_typed(value)
        tag, data = value.typed if type(value) is KeptWhole else self._dumps(value)
        if isinstance(self.serde, EncryptedSerializer):
            cipher, data = self.serde.cipher.encrypt(data)
            tag = f"{tag}+{cipher}"
        return tag, data

    def load_typed(self, tag: str, data: bytes) -> Any:
        return self._careful.loads_typed((tag, data))

    def has_kept(self) -> bool:
        """Whether there may be values that were not rebuilt in what was loaded lately: other loads
        go on beside this one, and a page is loaded in one go, so it stays so for a while."""
        now = time.monotonic()
        if self._kept != kept.made():
            self._kept, self._kept_lately = kept.made(), now + _A_WHILE
        return now < self._kept_lately

    # ---- values that stand alone: writes, inline values, metadata

    def seal_value(self, value: Any, channel: str) -> tuple[str, bytes]:
        """(shape, block) of a value that is stored in one piece."""
        packed = self.pack(value, channel)
        return packed.shape, self.block(packed.elements)

    def open_value(self, shape: str, block: bytes) -> Any:
        return self.load(shape, self.open_block(block))

    def metadata(self, metadata: dict[str, Any]) -> tuple[str, bytes | None]:
        """Metadata as JSON, and as the serde packs it too if JSON would not give the same back."""
        if inspect.is_plain(metadata):
            return json.dumps(metadata, ensure_ascii=False), None
        shape, block = self.seal_value(metadata, "metadata")
        shown = {k: v for k, v in metadata.items() if isinstance(k, str) and inspect.is_plain(v)}
        label = shape.encode()
        return json.dumps(shown, ensure_ascii=False), bytes((len(label),)) + label + block

    def open_metadata(self, text: str, exact: bytes | None) -> dict[str, Any]:
        if exact is None:
            try:
                found: dict[str, Any] = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise CheckpointDamaged(f"stored metadata can't be read: {error}") from error
            return found
        size = exact[0]
        loaded: dict[str, Any] = self.open_value(exact[1 : 1 + size].decode(), exact[1 + size :])
        return loaded


_SCALARS = frozenset((int, float, bool, type(None)))
