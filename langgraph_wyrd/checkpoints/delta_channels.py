"""The values of LangGraph's DeltaChannels: in the writes of ancestors, back to a snapshot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_wyrd.checkpoints import path, user_values
from langgraph_wyrd.checkpoints.missing import all_written, expected
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.checkpoints.read import Lenient, Pending, merged
from langgraph_wyrd.checkpoints.restore import Restored, applied, checked
from langgraph_wyrd.codec.delta import Value
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import fetch
from langgraph_wyrd.storage.scripts import Script
from langgraph_wyrd.storage.tables import WRITES, CheckpointRow, WriteRow

_BETWEEN = "AND checkpoint BETWEEN ? AND ? ORDER BY checkpoint, seq"


@dataclass(slots=True)
class Line:
    """The ancestors that some channels are rebuilt from, nearest first, and where each begins."""

    key: Any = None
    ids: list[str] = field(default_factory=list)
    wants: list[frozenset[str]] = field(default_factory=list)  # channels that need each of them
    seeds: dict[str, Any] = field(default_factory=dict)


def lineage(
    dialect: str,
    codec: Codec,
    thread_id: str,
    ns: str,
    start: str | None,
    wanted: Iterable[str],
    lenient: Lenient | None = None,
) -> Script[Line]:
    """The ancestors up to where every wanted channel has a value."""
    line = Line()
    wants = frozenset(wanted)
    walked: set[str] = set()
    held: dict[str, tuple[str | None, dict[str, Value]]] = {}
    current = start
    while current is not None and wants and current not in walked:
        walked.add(current)
        if current not in held:
            found = yield from _found(dialect, thread_id, ns, current, lenient)
            if not found.path:
                break  # a pruned parent is an end like any other
            line.key = found.path[0].thread
            try:
                held = _values_along(codec, found, wants)
            except CheckpointDamaged:  # the path ends nowhere; writes are there up to its end
                if lenient is None:
                    raise
                held = {row.id: (row.parent, {}) for row in found.path}
        line.ids.append(current)
        line.wants.append(wants)
        current, there = held[current]
        for name, value in there.items():
            if name in wants:
                line.seeds[name] = value.get()
        wants -= there.keys()
    return line


def _found(
    dialect: str, thread_id: str, ns: str, id: str | None, lenient: Lenient | None
) -> Script[Found]:
    """The rows of a checkpoint but its writes. Raises CheckpointDamaged where some are missing."""
    if lenient is not None:
        return (yield from lenient.find(thread_id, ns, id))[0]
    found = yield from path.find(dialect, thread_id, ns, id, writes=False)
    yield from expected(dialect, found, thread_id, ns, id)
    return found


def _values_along(
    codec: Codec, found: path.Found, wanted: frozenset[str]
) -> dict[str, tuple[str | None, dict[str, Value]]]:
    """Of each checkpoint of a path: its parent, and the wanted channels that have a value there."""
    made: dict[str, tuple[str | None, dict[str, Value]]] = {}
    restored = Restored()

    def look(row: CheckpointRow) -> None:
        held = restored.channels
        made[row.id] = (row.parent, {name: held[name].copy() for name in wanted if name in held})

    applied(codec, found, restored, look=look)
    return made


def history(
    dialect: str,
    codec: Codec,
    thread_id: str,
    ns: str,
    id: str | None,
    channels: Sequence[str],
    lenient: Lenient | None = None,
) -> Script[dict[str, tuple[list[Pending], list[Any]]]]:
    """(writes oldest first, [seed] or []) of each channel, along the parents of a checkpoint."""
    found = yield from _found(dialect, thread_id, ns, id, lenient)
    target = found.target
    writes: dict[str, list[Pending]] = {name: [] for name in channels}
    if target is None or found.thread is None or found.thread.deleted_at is not None:
        return {name: ([], []) for name in channels}
    parent = checked(target).parent
    line = yield from lineage(dialect, codec, thread_id, ns, parent, channels, lenient)
    if line.ids:
        span = (target.thread, ns, min(line.ids), max(line.ids))
        key, ns, *ends = span
        by_checkpoint: dict[str, list[WriteRow]] = {}
        again: dict[str, Collection[str]] = {}
        if lenient is None:
            for write in (yield from fetch(WRITES, _BETWEEN, *ends, thread=key, ns=ns)):
                by_checkpoint.setdefault(write.checkpoint, []).append(write)
            yield from all_written(*span, by_checkpoint, line.ids)
            users = dict.fromkeys(line.ids, (yield from user_values.of_writes(*span)))
        else:
            users = {}
            for at in line.ids:
                found, again[at] = yield from lenient.find(thread_id, ns, at)
                by_checkpoint[at], users[at] = found.writes, found.users
        for at, wants in zip(line.ids, line.wants, strict=True):
            for each in reversed(merged(codec, by_checkpoint.get(at, ()), again.get(at, ()))):
                if each.channel in wants:
                    name, value = each.load(codec, users[at])
                    if name != user_values.NO_WRITES:
                        writes[name].append((given(each.task), name, value))
    return {
        name: (writes[name][::-1], [line.seeds[name]] if name in line.seeds else [])
        for name in channels
    }
