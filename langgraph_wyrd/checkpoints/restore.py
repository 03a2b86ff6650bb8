"""Values of a checkpoint from the rows of its path."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import ormsgpack

from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.checkpoints.user_values import CHECKPOINT, SNAPSHOT, Rows
from langgraph_wyrd.codec.delta import REF, Operation, Value
from langgraph_wyrd.codec.payload import Delta, unpack_delta, unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import unsound
from langgraph_wyrd.storage.tables import CHECKPOINTS, SNAPSHOTS, CheckpointRow, SnapshotRow

R = TypeVar("R", bound="Restored")


@dataclass(slots=True)
class Restored:
    """A checkpoint's channels and versions, while deltas are applied to them, oldest first."""

    channels: dict[str, Any] = field(default_factory=dict)  # a `Value` of each
    versions: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    rest: bytes = b""
    metadata: Any = None  # of the last delta: what JSON does not carry
    rows: int = 0
    grown: int = 0
    owners: dict[str, tuple[str, Any]] = field(default_factory=dict)  # user, what is left

    def apply(
        self, codec: Codec, delta: Delta, size: int, users: Rows | None = None, stamp: int = 0
    ) -> None:
        """Go one delta further; `users` are the rows that hold what belongs to users."""
        channels, owners = self.channels, self.owners
        for name, operation in delta.changes.items():
            if operation[0] == REF:
                self.apply_users(codec, name, operation, users, CHECKPOINT, stamp)
                continue
            if owners:
                owners.pop(name, None)
            value = channels.get(name)
            if value is None:
                value = channels[name] = Value(codec)
            value.apply(operation)
        self.went_on(delta)
        self.rows += 1
        self.grown += size + codec.row_cost

    def went_on(self, delta: Delta) -> None:
        """Take over what a delta says besides the values of channels."""
        for name in delta.removed:
            self.channels.pop(name, None)
            self.owners.pop(name, None)
        for name in delta.dropped:
            self.versions.pop(name, None)
        self.versions.update(delta.versions)
        for node in delta.unseen:
            self.seen.pop(node, None)
        for node, held in delta.seen.items():
            known = self.seen.get(node)
            self.seen[node] = held if known is None else {**known, **held}
        if delta.rest is not None:
            self.rest = delta.rest
        self.metadata = delta.metadata

    def start(
        self, codec: Codec, operations: Mapping[str, Operation], users: Rows | None, stamp: int
    ) -> None:
        """Begin with the whole channels of a snapshot."""
        for name, operation in operations.items():
            if operation[0] == REF:
                self.apply_users(codec, name, operation, users, SNAPSHOT, stamp)
            else:
                value = self.channels[name] = Value(codec)
                value.apply(operation)

    def apply_users(
        self, codec: Codec, name: str, operation: Operation, users: Rows | None, of: str, n: int
    ) -> None:
        """Apply an operation that belongs to a user; an erased one leaves its rest, or nothing."""
        _, user, rest = operation
        self.owners[name] = (user, rest)
        held = None if users is None else users.held(codec, user, of, n)
        made = rest if held is None else held[name]
        if made is None:
            self.channels.pop(name, None)
            return
        value = self.channels.get(name)
        if value is None:
            value = self.channels[name] = Value(codec)
        value.apply(made)

    def values(self) -> dict[str, Any]:
        """The value of each channel that has one."""
        return {name: value.get() for name, value in self.channels.items()}

    def copy(self) -> Restored:
        """The checkpoint as it is now, whatever is applied to this one later."""
        channels = {name: value.copy() for name, value in self.channels.items()}
        return replace(
            self, channels=channels, versions=dict(self.versions), seen=dict(self.seen),
            owners=dict(self.owners),
        )  # fmt: skip


def checked(row: CheckpointRow) -> CheckpointRow:
    """The row, if it is as it was stored."""
    if unsound(CHECKPOINTS, row):
        raise damaged(row, "its row fails its checksum")
    return row


def delta_of(codec: Codec, row: CheckpointRow) -> Delta:
    """The delta of a row, after its checksum."""
    return unpack_delta(codec.opened(CHECKPOINTS, checked(row), "delta"))


def damaged(row: CheckpointRow, why: str) -> CheckpointDamaged:
    return CheckpointDamaged(f"checkpoint {given(row.id)} can't be read: {why}")


def restore(codec: Codec, found: Found, known: dict[str, Restored] | None = None) -> Restored:
    """The checkpoint that a path leads back from.

    `known` has others of the namespace that were restored, by their ids, and takes this one in:
    where the path meets one of them it goes on from there.
    """
    known = {} if known is None else known
    at = next((n for n, row in enumerate(found.path) if row.id in known), None)
    start = Restored() if at is None else known[found.path[at].id].copy()
    made = known[found.path[0].id] = applied(codec, found, start, at)
    return made


def applied(
    codec: Codec,
    found: Found,
    made: R,
    at: int | None = None,
    look: Callable[[CheckpointRow], object] = lambda _: None,
) -> R:
    """The same, put into `made`, which holds the checkpoint of the row `at` if that is given.

    `look` is called with each row once it was applied.
    """
    path = found.path
    last = path[-1]
    rows: Sequence[CheckpointRow] = path[:at]
    before = None if at is None else path[at]
    if before is None and last.built_on is not None:
        place = (last.ns, last.id)
        snapshots = [each for each in found.snapshots if (each.ns, each.checkpoint) == place]
        if not snapshots:
            raise damaged(
                path[0], f"checkpoint {given(last.built_on)}, which it builds on, is missing"
            )
        operations, made.versions, made.seen, made.rest = snapshot_of(codec, last, snapshots)
        made.start(codec, operations, found.users, last.stamp)
        rows, before = path[:-1], last
        look(checked(last))
    for row in reversed(rows):
        if before is not None and row.built_stamp != before.stamp:
            raise damaged(row, f"checkpoint {given(before.id)} is not the one that it builds on")
        made.apply(codec, delta_of(codec, row), len(row.delta), found.users, row.stamp)
        before = row
        look(row)
    if not rows:  # the snapshot is of the checkpoint itself
        made.metadata = delta_of(codec, last).metadata
    return made


def snapshot_of(
    codec: Codec, row: CheckpointRow, snapshots: Sequence[SnapshotRow]
) -> tuple[dict[str, Operation], dict[str, Any], dict[str, dict[str, Any]], bytes]:
    """What a snapshot holds: whole channels, as operations, then versions, seen, and the rest."""
    rows = {}
    for each in snapshots:
        if unsound(SNAPSHOTS, each) or each.stamp != row.stamp:
            raise damaged(row, "its snapshot fails its checksum")
        rows[given(each.channel)] = unpacked(codec.opened(SNAPSHOTS, each, "data"))
    channels, *others = rows.pop("", ({}, {}, {}, b""))
    if {name for name, operation in channels.items() if operation is None} != rows.keys():
        raise damaged(row, "a row of its snapshot is missing")
    return {name: rows.get(name, held) for name, held in channels.items()}, *others


def metadata_of(codec: Codec, row: CheckpointRow, exact: Any) -> dict[str, Any]:
    """A checkpoint's metadata."""
    if exact is not None:
        found: dict[str, Any] = codec.load(*exact)
        return found
    try:
        plain: dict[str, Any] = json.loads(codec.opened(CHECKPOINTS, row, "metadata"))
    except (ValueError, RecursionError) as error:
        raise damaged(row, f"its metadata is no JSON: {error}") from error
    return plain


def metadata_at(codec: Codec, row: CheckpointRow) -> dict[str, Any]:
    """The same where nothing else of the checkpoint is read."""
    return metadata_of(codec, row, delta_of(codec, row).metadata)


def rest_of(codec: Codec, rest: bytes) -> dict[str, Any]:
    """The checkpoint's other fields (`v`, `updated_channels`, …)."""
    found: dict[str, Any] = ormsgpack.unpackb(rest) if rest else {}
    if "\0" in found:
        loaded: dict[str, Any] = codec.load(*found["\0"])
        return loaded
    return found
