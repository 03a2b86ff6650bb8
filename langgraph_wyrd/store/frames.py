"""The frame of a checkpoint: everything in it but the values that have strands of their own.

Successive frames of a namespace form a strand too. A patch holds what changed since the frame
before, so neither `channel_versions` nor `versions_seen` is written again at every step.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import ormsgpack

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.store.strands import Place

T = TypeVar("T")
Version = Any  # str, int or float, given back as it came; None: a value without a version


class Entry(NamedTuple):
    """A channel in a frame: its version and where its value is (inline, in a strand, nowhere)."""

    version: Version
    shape: str = ""
    inline: bytes | None = None
    place: Place | None = None

    @property
    def has_value(self) -> bool:
        return self.inline is not None or self.place is not None

    @property
    def is_snapshot(self) -> bool:
        """Whether it is a DeltaChannel's, whose value most checkpoints do not hold."""
        return self.shape[:1] == "D"

    @property
    def says_all(self) -> bool:
        """Whether what is written to it next is seen in its next value."""
        return self.has_value and not self.is_snapshot

    def same_value(self, other: Entry) -> bool:
        """Whether both hold the same value, whatever its version; without one, the same version."""
        if self.has_value and other.has_value:
            return self[1:] == other[1:]
        return not other.has_value and not self.has_value and self.version == other.version


@dataclass(frozen=True, slots=True)
class Frame:
    """`rest`: the checkpoint's other keys, each as (shape, block)."""

    channels: dict[str, Entry]
    seen: dict[str, dict[str, Version]]
    rest: dict[str, tuple[str, bytes]]

    @property
    def length(self) -> int:
        return len(self.channels) + len(self.seen) + len(self.rest)


EMPTY = Frame({}, {}, {})


def patch(old: Frame, new: Frame) -> bytes | None:
    """What makes `new` of `old`, or None where only the whole frame gives the right order."""
    no_channels, channels, ordered = _changes(old.channels, new.channels)
    no_seen, seen, seen_ordered = _changes(old.seen, new.seen)
    no_rest, rest, rest_ordered = _changes(old.rest, new.rest)
    if not (ordered and seen_ordered and rest_ordered):
        return None
    versions = _Versions()
    made: dict[str, Any] = {
        "c": {name: _pack_entry(entry, versions) for name, entry in channels.items()},
        "s": {node: _pack_seen(held, versions) for node, held in seen.items()},
        "r": {key: list(held) for key, held in rest.items()},
        "-": [no_channels, no_seen, no_rest],
    }
    packed = {key: value for key, value in made.items() if value}
    if not any(packed.get("-", ())):
        packed.pop("-", None)
    packed["v"] = versions.packed
    return ormsgpack.packb(packed)


def same(a: Any, b: Any) -> bool:
    """Equal, down to the types of versions (3 is not 3.0)."""
    if a is b:
        return True
    if a != b:
        return False
    if isinstance(a, Entry):
        return type(a.version) is type(b.version)
    if isinstance(a, dict):
        return [*map(type, a.values())] == [*map(type, b.values())] and list(a) == list(b)
    return True


def _changes(before: dict[str, T], after: dict[str, T]) -> tuple[list[str], dict[str, T], bool]:
    """What is gone, what is new or other, and whether a patch gives the order of `after`."""
    gone = [name for name in before if name not in after]
    changed = {n: e for n, e in after.items() if n not in before or not same(before[n], e)}
    kept = [name for name in before if name in after] if gone else list(before)
    return gone, changed, kept + [n for n in changed if n not in before] == list(after)


def apply_patch(old: Frame, packed: bytes) -> Frame:
    """The frame behind a patch."""
    try:
        made = ormsgpack.unpackb(packed)
        versions = [_version_out(version) for version in made["v"]]
        channels, seen, rest = dict(old.channels), dict(old.seen), dict(old.rest)
        everything: tuple[dict[str, Any], ...] = (channels, seen, rest)
        for kept, gone in zip(everything, made.get("-", ()), strict=False):
            for name in gone:
                kept.pop(name, None)
        for name, entry in made.get("c", {}).items():
            channels[name] = _entry_out(entry, versions)
        for node, held in made.get("s", {}).items():
            seen[node] = {name: versions[index] for name, index in held.items()}
        for key, (shape, block) in made.get("r", {}).items():
            rest[key] = (shape, block)
    except Exception as error:
        raise CheckpointDamaged(f"a checkpoint's frame can't be read: {error}") from error
    return Frame(channels, seen, rest)


def held(patches: Iterable[bytes], names: Collection[str]) -> list[dict[str, Entry]]:
    """Those of some channels that have a value behind each of the patches, the first of a strand.

    Most patches give none of them a value: they are not even unpacked.
    """
    marks = [name.encode() for name in names]
    values = [mark + size for mark in marks for size in _VALUE_BEHIND_NAME]
    found: list[dict[str, Entry]] = []
    now: dict[str, Entry] = {}
    for packed in patches:
        for mark in marks if now else values:
            if mark in packed:
                now = _held_behind(now, packed, names)
                break
        found.append(now)
    return found


# The headers of the arrays that `_pack_entry` makes of a channel with a value.
_VALUE_BEHIND_NAME = (b"\x93", b"\x96")


def _held_behind(
    before: dict[str, Entry], packed: bytes, names: Collection[str]
) -> dict[str, Entry]:
    try:
        made = ormsgpack.unpackb(packed)
        changed, gone = made.get("c", {}), made.get("-", [()])[0]
        after = {name: entry for name, entry in before.items() if name not in gone}
        for name in names:
            if (entry := changed.get(name)) is not None:
                after.pop(name, None)
                if len(entry) > 1:
                    after[name] = _entry_out(entry, [_version_out(each) for each in made["v"]])
    except Exception as error:
        raise CheckpointDamaged(f"a checkpoint's frame can't be read: {error}") from error
    return after


def places(frames: Iterable[Frame]) -> dict[int, set[Place]]:
    """Every place that these frames name, by strand."""
    found: dict[int, set[Place]] = {}
    for frame in frames:
        for entry in frame.channels.values():
            if entry.place is not None:
                found.setdefault(entry.place.strand, set()).add(entry.place)
    return found


class _Versions:
    """The versions of one patch, each packed once and then named by its number."""

    def __init__(self) -> None:
        self._number: dict[tuple[type, Version], int] = {}
        self.packed: list[Any] = []

    def number(self, version: Version) -> int:
        key = (type(version), version)
        found = self._number.get(key)
        if found is None:
            found = self._number[key] = len(self.packed)
            self.packed.append(_version_in(version))
        return found


# The usual version is a counter of 32 digits and 16 hexadecimal ones: 51 bytes that fit into 12.
_USUAL = re.compile(r"[0-9]{32}\.[0-9a-f]{16}", re.ASCII)


def _version_in(version: Version) -> Any:
    if isinstance(version, str) and _USUAL.fullmatch(version) and version < "0" * 14 + "1":
        return [int(version[:32]), int(version[33:], 16)]
    return version


def _version_out(packed: Any) -> Version:
    if isinstance(packed, list):
        return f"{packed[0]:032}.{packed[1]:016x}"
    return packed


def _pack_entry(entry: Entry, versions: _Versions) -> list[Any]:
    number = versions.number(entry.version)
    if entry.inline is not None:
        return [number, entry.shape, entry.inline]
    if entry.place is not None:
        return [number, entry.shape, *entry.place]
    return [number]


def _entry_out(packed: list[Any], versions: list[Version]) -> Entry:
    version = versions[packed[0]]
    if len(packed) == 3:
        return Entry(version, packed[1], packed[2])
    if len(packed) == 6:
        return Entry(version, packed[1], None, Place(*packed[2:]))
    return Entry(version)


def _pack_seen(held: dict[str, Version], versions: _Versions) -> dict[str, int]:
    return {name: versions.number(version) for name, version in held.items()}
