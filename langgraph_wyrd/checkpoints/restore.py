"""Values of a checkpoint from the rows of its path."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

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


@dataclass(slots=True)
class Restored:
    """A checkpoint's channels and versions, while deltas are applied to them, oldest first."""

    channels: dict[str, Value] = field(default_factory=dict)
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
        for name in delta.removed:
            channels.pop(name, None)
            owners.pop(name, None)
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
        self.rows += 1
        self.grown += size + codec.row_cost

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


def checked(row: CheckpointRow) -> CheckpointRow:
    """The row, if it is as it was stored."""
    if unsound(CHECKPOINTS, row):
        raise damaged(row, "its row fails its checksum")
    return row


def damaged(row: CheckpointRow, why: str) -> CheckpointDamaged:
    return CheckpointDamaged(f"checkpoint {given(row.id)} can't be read: {why}")


def restore(codec: Codec, found: Found) -> Restored:
    """The checkpoint that a path leads back from."""
    path = found.path
    last = path[-1]
    restored = Restored()
    snapshots = [
        each for each in found.snapshots if (each.ns, each.checkpoint) == (last.ns, last.id)
    ]
    rows: Sequence[CheckpointRow] = path
    if last.built_on is not None:
        if not snapshots:
            raise damaged(
                path[0], f"checkpoint {given(last.built_on)}, which it builds on, is missing"
            )
        start_from_snapshot(codec, restored, last, snapshots, found.users)
        rows = path[:-1]
    before = None if rows is path else last
    for row in reversed(rows):
        checked(row)
        if before is not None and row.built_stamp != before.stamp:
            raise damaged(row, f"checkpoint {given(before.id)} is not the one that it builds on")
        delta = unpack_delta(codec.opened(CHECKPOINTS, row, "delta"))
        restored.apply(codec, delta, len(row.delta), found.users, row.stamp)
        before = row
    if rows is not path and not rows:  # the snapshot is of the checkpoint itself
        restored.metadata = unpack_delta(codec.opened(CHECKPOINTS, checked(last), "delta")).metadata
    return restored


def start_from_snapshot(
    codec: Codec, restored: Restored, row: CheckpointRow, snapshots: Sequence[SnapshotRow],
    users: Rows | None,
) -> None:  # fmt: skip
    """Take over the whole channels that a snapshot holds."""
    apart: set[str] = set()
    for each in sorted(snapshots, key=attrgetter("channel")):  # first the one that names them all
        if unsound(SNAPSHOTS, each) or each.stamp != row.stamp:
            raise damaged(row, "its snapshot fails its checksum")
        data = unpacked(codec.opened(SNAPSHOTS, each, "data"))
        if each.channel == "":
            channels, versions, seen, rest = data
            restored.versions, restored.seen, restored.rest = versions, seen, rest
            operations = channels
            for name, operation in operations.items():
                if operation is None:
                    apart.add(name)
                    restored.channels[name] = Value(codec)  # in its place among the others
                    continue
                if operation[0] == REF:
                    restored.apply_users(codec, name, operation, users, SNAPSHOT, row.stamp)
                    continue
                restored.channels.setdefault(name, Value(codec)).apply(operation)
        else:
            restored.channels.setdefault(given(each.channel), Value(codec)).apply(data)
    if apart != {given(each.channel) for each in snapshots} - {""}:
        raise damaged(row, "a row of its snapshot is missing")
    restored.grown = restored.rows = 0


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


def rest_of(codec: Codec, rest: bytes) -> dict[str, Any]:
    """The checkpoint's other fields (`v`, `updated_channels`, …)."""
    found: dict[str, Any] = ormsgpack.unpackb(rest) if rest else {}
    if "\0" in found:
        loaded: dict[str, Any] = codec.load(*found["\0"])
        return loaded
    return found
