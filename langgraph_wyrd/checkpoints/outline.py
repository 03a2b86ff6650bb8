"""What a checkpoint holds, without its values: which channels, and how many elements they have.

No channel value is decoded: deltas say what a step changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import ormsgpack

from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.checkpoints.restore import Restored, applied, metadata_of
from langgraph_wyrd.codec.delta import REF, Operation
from langgraph_wyrd.codec.payload import Delta
from langgraph_wyrd.codec.values import Codec, counted, map_header
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.state.diff import is_users
from langgraph_wyrd.storage.tables import CheckpointRow


class Shape(NamedTuple):
    """What is known of a channel's value without decoding it."""

    kind: str  # `l` for a list, `d` for a dict, `w` for a value that is stored whole
    length: int
    keys: frozenset[str] = frozenset()
    content: Any = None  # the stored bytes, where they are at hand as a whole

    @property
    def measured(self) -> int | None:
        return None if self.kind == "w" else self.length


@dataclass(slots=True)
class Outline(Restored):
    """The channels of a checkpoint by their shapes, and what its nodes had seen."""

    def apply(self, codec: Codec, delta: Delta, *_: Any) -> None:
        """Go one delta further."""
        for name, operation in delta.changes.items():
            self.channels[name] = reshaped(self.channels.get(name), operation)
        self.went_on(delta)

    def start(self, codec: Codec, operations: Mapping[str, Operation], *_: Any) -> None:
        self.channels = {name: reshaped(None, held) for name, held in operations.items()}

    def then(self, codec: Codec, delta: Delta) -> Outline:
        """The outline one delta further; this one stays as it is."""
        made = Outline(dict(self.channels), dict(self.versions), dict(self.seen))
        made.apply(codec, delta)
        return made


def outline(codec: Codec, found: Found) -> Outline:
    """The outline of the checkpoint that a path leads back from."""
    return applied(codec, found, Outline())


def reshaped(before: Shape | None, operation: Operation) -> Shape:
    """The shape of a value after an operation."""
    kind = operation[0]
    if kind == REF:  # only who reads it knows more
        return Shape("w", 0)
    if kind == "w":
        return Shape("w", 0, content=(operation[1], operation[2], operation[3]))
    if kind == "l":
        parts = operation[2]
        return Shape("l", counted(parts), content=[[*each] for each in parts])
    if kind == "d":
        keys = _keys(operation[3], operation[2])
        return Shape("d", len(keys), keys, (operation[1], operation[3]))
    if kind == "s":
        length = 0 if before is None else before.length
        length += sum(counted(parts) - cut for _, cut, parts in operation[2])
        return Shape("l", length)
    held = frozenset() if before is None else before.keys
    keys = (held - set(operation[2])) | _keys(operation[4], operation[3])
    return Shape("d", len(keys), keys)


def _keys(body: bytes, count: int) -> frozenset[str]:
    """The keys of packed entries: their values' classes are not asked for."""
    try:
        held = ormsgpack.unpackb(
            map_header(count) + body, ext_hook=lambda _, data: data,
            option=ormsgpack.OPT_NON_STR_KEYS,
        )  # fmt: skip
    except ValueError as error:
        raise CheckpointDamaged(f"a stored dict can't be read: {error}") from error
    return frozenset(held)


# ---- which channels changed

Changed = dict[str, tuple[Shape | None, Shape | None]]  # channels, with shapes before and after


def differences(codec: Codec, before: Outline, here: Outline, row: CheckpointRow) -> Changed:
    """The channels whose value is another one, with their shapes before and after."""
    found = {}
    counted_: Collection[str] | None = None
    names = (*before.channels, *before.versions, *here.channels, *here.versions)
    for name in dict.fromkeys(names):
        if not is_users(name):
            continue
        changed = differ(before, here, name)
        if changed is None:
            if counted_ is None:
                counted_ = deltas(codec, row, here.metadata)
            changed = name in counted_
        if changed:
            found[name] = (before.channels.get(name), here.channels.get(name))
    return dict(sorted(found.items()))


def differ(before: Outline, here: Outline, name: str) -> bool | None:
    """Whether a channel holds another value. None if it holds none and its version is another one:
    if it is kept as deltas it was written to."""
    old, new = before.channels.get(name), here.channels.get(name)
    if old is not None and new is not None:
        if old is new or (old.content is not None and old == new):
            return False
        known = old.content is not None and new.content is not None
        return known or before.versions.get(name) != here.versions.get(name)
    if before.versions.get(name) == here.versions.get(name) and name in here.versions:
        return False  # a snapshot of deltas is in one checkpoint only
    if name not in here.versions and new is None:
        return old is not None
    return True if old is not None or new is not None else None


def deltas(codec: Codec, row: CheckpointRow, exact: Any) -> Collection[str]:
    """The channels that are kept as deltas, as a checkpoint's metadata counts them."""
    try:
        counters = metadata_of(codec, row, exact).get("counters_since_delta_snapshot")
    except Exception:  # it only tells whether a channel changed that has no value anyway
        return ()
    return counters if isinstance(counters, Mapping) else ()


def grown(old: Shape | None, new: Shape | None) -> int | None:
    """By how many elements a list or a dict has grown; None if that can't be told."""
    if new is None or new.measured is None:
        return None
    if old is None:
        return new.length
    return None if old.measured is None else new.length - old.length
