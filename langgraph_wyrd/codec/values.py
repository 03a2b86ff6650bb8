"""Value <-> bytes: what the serde gives, cut into parts where that saves writing.

A *part* is a run of list elements in one of two forms: messages as rows (see `messages`), or
anything else as one msgpack array, just as the serde packs it. A list is stored as its parts, a
dict with text keys as its packed entries, everything else whole, as `dumps_typed` gives it.
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
import ormsgpack
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langgraph_wyrd.codec import inspect, messages
from langgraph_wyrd.errors import CheckpointDamaged, Unserialisable
from langgraph_wyrd.storage.names import has_surrogate
from langgraph_wyrd.types import kept as kept_values
from langgraph_wyrd.types.kept import KeptWhole
from langgraph_wyrd.types.migrations import Classes, inside
from langgraph_wyrd.types.python_types import exact_dumps
from langgraph_wyrd.types.rebuild import guarded, refused

if TYPE_CHECKING:
    from langgraph_wyrd.storage.encryption import Sealer
    from langgraph_wyrd.storage.tables import Table

R = TypeVar("R")

ROWS, PACKED = 0, 1  # the forms of a part
Part = list[Any]  # [form, bytes of one msgpack array]

_MOST_SHAPES = 4096
_A_WHILE = 60.0  # seconds
SCALARS = frozenset((int, float, bool, type(None)))


class NotElements(Exception):
    """The serde does not make plain msgpack of this value: it is stored whole."""


class Codec:
    """Packs and loads values through one serde."""

    def __init__(
        self,
        serde: SerializerProtocol,
        classes: Classes | None = None,
        sealer: Sealer | None = None,
    ) -> None:
        self.serde = serde
        self.sealer = sealer  # of the rows that hold values; None: they are stored plain
        self.row_cost = 0  # see storage.encryption.Sealer
        self.classes = Classes() if classes is None else classes
        self._shapes: set[Any] = set()  # of messages whose row form the serde agreed with
        inner, self.splits = inside(serde)
        careful: Any = guarded(serde, self.classes)
        if inner is not serde:  # its cipher seals whole rows (see storage.encryption)
            careful = careful.serde
        self._kept, self._kept_lately = kept_values.made(), 0.0
        self._dumps = exact_dumps(inner, self.classes) if self.splits else inner.dumps_typed
        self._loads: Callable[[tuple[str, bytes]], Any] = careful.loads_typed

    # ---- rows

    def opened(self, table: Table, row: Any, column: str) -> Any:
        """A column of a stored row, decrypted."""
        return (
            getattr(row, column) if self.sealer is None else self.sealer.opened(table, row, column)
        )

    def open(self, table: Table, row: R) -> R:
        """A stored row with all its columns decrypted."""
        return row if self.sealer is None else self.sealer.open(table, row)

    # ---- whole values

    def dump(
        self, value: Any, channel: str, path: str = "", inside: Any = None
    ) -> tuple[str, bytes]:
        """The serde's bytes; a value that it refuses, or would spoil, is refused with its place.

        `inside` is what the caller knows of `value`, found at `path`.
        """
        if type(value) is KeptWhole:
            return value.typed
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
        if self.splits and (found := inspect.spoilt(shown, data)) is not None:
            path += found[0]
            raise Unserialisable(f"{channel}{path} {found[1]}", channel=channel, path=path)
        return tag, data

    def load(self, tag: str, data: bytes) -> Any:
        """The value of such bytes."""
        if tag == "null":
            return None
        if tag == "json" and self.splits:  # it may name what LangGraph then calls
            raise CheckpointDamaged("a stored value is JSON, and none is ever stored so")
        return self._loads((tag, data))

    # ---- lists

    def splittable(self, value: Any) -> str:
        """`l` for a list and `d` for a dict that are stored in pieces, `w` for a whole value."""
        if self.splits:
            if type(value) is list:
                if value and type(value[0]) in SCALARS and all(type(v) in SCALARS for v in value):
                    return "w"
                return "l"
            if type(value) is dict and all(type(key) is str for key in value):
                return "d"
        return "w"

    def pack_list(self, values: Sequence[Any], channel: str, start: int = 0) -> list[Part]:
        """The parts of list elements; `start` is the first one's place in its list."""
        if not values:
            return []
        rows = messages.pack(values)
        if rows is not None and all(map(self._exact, values)):
            return [[ROWS, rows]]
        parts: list[Part] = []
        at, count = 0, len(values)
        while at < count:
            end = at
            while end < count and self._is_row(values[end]):
                end += 1
            if end > at:
                parts.append([ROWS, messages.pack(values[at:end])])
                at = end
                continue
            while end < count and not self._is_row(values[end]):
                end += 1
            tag, data = self._dump_elements(list(values[at:end]), channel, start + at)
            if tag != "msgpack":
                raise NotElements
            parts.append([PACKED, data])
            at = end
        return parts

    def _dump_elements(self, values: list[Any], channel: str, start: int) -> tuple[str, bytes]:
        with suppress(Exception):
            tag, data = self._dumps(values)
            if inspect.spoilt(values, data) is None:
                return tag, data
        for offset, value in enumerate(values):  # which one is it?
            self.dump([value], channel, f"[{start + offset}]", value)
        return self.dump(values, channel)

    def _is_row(self, value: Any) -> bool:
        return (
            messages.is_message(value) and messages.pack([value]) is not None and self._exact(value)
        )

    def _exact(self, message: Any) -> bool:
        """Whether the row form of a message is what the serde would give back for it.

        The serde is asked once for each shape: class, fields, and the types of all they hold.
        """
        shape = messages.shape(message)
        if shape in self._shapes:
            return True
        if not messages.same(message, self._loads(self._dumps(message))):
            return False
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        self._shapes.add(shape)
        return True

    def pack_messages(self, value: Any, channel: str) -> tuple[str, bytes] | None:
        """A message (`r`), or a list of nothing else (`R`), as rows; None for all else."""
        if not self.splits:
            return None
        if messages.is_message(value):
            rows = messages.pack([value])
            return ("r", rows) if rows is not None and self._exact(value) else None
        if type(value) is list and value and messages.is_message(value[0]):
            rows = messages.pack(value)
            return ("R", rows) if rows is not None and all(map(self._exact, value)) else None
        return None

    def written(self, value: Any, channel: str) -> tuple[str, Any]:
        """The form and bytes of the value of a task's write."""
        if value is None:
            return "n", None
        return self.pack_messages(value, channel) or self.dump(value, channel)

    def load_written(self, form: str, data: Any) -> Any:
        """The value of a task's write."""
        if form == "n":
            return None
        if form == "u":  # a user's: what is left when that is erased
            return self.load_written(*data[1:]) if len(data) > 1 else None
        if form == "r":
            return messages.unpack([data])[0]
        if form == "R":
            return messages.unpack([data])
        return self.load(form, data)

    def load_parts(self, parts: Sequence[Part]) -> list[Any]:
        """The values of parts; neighbours of one form are loaded in one call."""
        values: list[Any] = []
        at = 0
        while at < len(parts):
            form, end = parts[at][0], at + 1
            while end < len(parts) and parts[end][0] == form:
                end += 1
            run = [part[1] for part in parts[at:end]]
            if form == ROWS:
                values += messages.unpack(run)
            else:
                values += self._loads(("msgpack", run[0] if len(run) == 1 else joined(run)))
            at = end
        return values

    def quick(self, values: Sequence[Any]) -> bytes:
        """Bytes that differ as soon as anything in these elements does; where the serde refuses
        them, so that they can't be stored either, others each time."""
        found = messages.alike(values)
        if found is not None:
            return found
        with suppress(Exception):
            return ormsgpack.packb(list(values), option=messages.PLAIN)
        with suppress(Exception):
            return b"".join(self._dumps(list(values))[1:])
        return os.urandom(16)

    def elements(self, values: Sequence[Any]) -> list[bytes]:
        """What each element is compared by."""
        if messages.only_plain(values):
            return [ormsgpack.packb([value], option=messages.PLAIN) for value in values]
        return [self._element(value) for value in values]

    def _element(self, value: Any) -> bytes:
        if messages.is_message(value) and (packed := messages.pack([value])) is not None:
            return packed
        return self.quick([value])

    def pack_each(self, values: Sequence[Any]) -> list[bytes] | None:
        """Each message as an array of one row; None if there is anything else."""
        made = []
        for value in values:
            packed = messages.pack([value])
            if packed is None or not self._exact(value):
                return None
            made.append(packed)
        return made

    # ---- dicts

    def pack_entries(self, value: dict[str, Any], channel: str) -> dict[str, bytes]:
        """Each entry of a dict as the serde packs it, without a header."""
        if messages.only_plain(value):  # then it packs the same, with less ado for each
            packb, plain = ormsgpack.packb, messages.PLAIN
            return {key: packb({key: item}, option=plain)[1:] for key, item in value.items()}
        packed = {}
        for key, item in value.items():
            tag, data = self.dump({key: item}, channel)
            if tag != "msgpack":
                raise NotElements
            packed[key] = data[1:]
        return packed

    def load_entries(self, body: bytes, count: int) -> dict[str, Any]:
        """The dict of that many packed entries."""
        found: dict[str, Any] = self._loads(("msgpack", map_header(count) + body))
        return found

    # ---- classes of the user's

    def renewed(self) -> int:
        """How many objects were loaded that are not as they are stored: they were migrated, or are
        messages of another langchain-core."""
        return self.classes.brought + messages.revalidated()

    def has_kept(self) -> bool:
        """Whether there may be values that were not rebuilt in what was loaded lately: other loads
        go on at the same time, and a page is loaded in one go, so it stays so for a while."""
        now = time.monotonic()
        if self._kept != kept_values.made():
            self._kept, self._kept_lately = kept_values.made(), now + _A_WHILE
        return now < self._kept_lately

    # ---- metadata

    def metadata(self, metadata: dict[str, Any]) -> tuple[str, list[Any] | None]:
        """Metadata as JSON, and as the serde packs it too where JSON would not give the same."""
        for value in metadata.values():
            small = value.__class__ is int and -(1 << 63) <= value < 1 << 64
            if not (small or value.__class__ in _FLAT or value == {}):
                break
        else:  # mostly: names, numbers and no parents
            text = to_json(metadata)
            if text.isascii() or not has_surrogate(text):
                return text, None
        if inspect.is_plain(metadata):
            return to_json(metadata), None
        shown = {k: v for k, v in metadata.items() if isinstance(k, str) and inspect.is_plain(v)}
        return to_json(shown), list(self.dump(metadata, "metadata"))


_FLAT = frozenset((str, bool, type(None)))


def bare(value: Any) -> tuple[bool, Any]:
    """Whether a channel's value is a snapshot of a DeltaChannel, and the value itself."""
    if type(value) is _DeltaSnapshot:
        return True, value.value
    return False, value


def wrapped(snapshot: bool, value: Any) -> Any:
    return _DeltaSnapshot(value) if snapshot else value


# ---- JSON, as the columns of tables hold it

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
# What it would otherwise take though `json` refuses it.
_STRICT = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)


def to_json(value: Any) -> str:
    """A value of texts, numbers, lists and dicts as compact JSON. Floats must be finite."""
    try:
        return orjson.dumps(value, option=_STRICT).decode()
    except TypeError:  # a number over 64 bits, a key that is no text, half a surrogate pair
        return _encode(value)


# ---- msgpack headers


def array_header(count: int) -> bytes:
    if count < 16:
        return bytes((0x90 | count,))
    return struct.pack(">BH", 0xDC, count) if count < 1 << 16 else struct.pack(">BI", 0xDD, count)


def map_header(count: int) -> bytes:
    if count < 16:
        return bytes((0x80 | count,))
    return struct.pack(">BH", 0xDE, count) if count < 1 << 16 else struct.pack(">BI", 0xDF, count)


def measured(array: bytes) -> tuple[int, int]:
    """How long the header of a packed array is, and how many elements it announces."""
    first = array[0]
    if first < 0xA0:
        return 1, first & 15
    if first == 0xDC:
        return 3, int.from_bytes(array[1:3], "big")
    return 5, int.from_bytes(array[1:5], "big")


def joined(arrays: Sequence[bytes]) -> bytes:
    """Packed arrays, one behind the other, as one."""
    total, bodies = 0, []
    for array in arrays:
        size, count = measured(array)
        total += count
        bodies.append(array[size:])
    return array_header(total) + b"".join(bodies)


def counted(parts: Sequence[Part]) -> int:
    return sum([measured(part[1])[1] for part in parts])
