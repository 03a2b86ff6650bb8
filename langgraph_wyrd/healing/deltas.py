"""The history of delta channels, walked one checkpoint at a time past what is damaged.

A channel's value at a checkpoint is nothing but what was written until there. So where it can't be
read, an earlier one and the writes since then give the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import users
from langgraph_wyrd.healing.mending import Mender
from langgraph_wyrd.plans import loading
from langgraph_wyrd.plans.loading import Write
from langgraph_wyrd.plans.read import Pending
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan


@dataclass(slots=True)
class _Channel:
    writes: list[Pending] = field(default_factory=list)  # newest first
    seed: list[Any] = field(default_factory=list)
    done: bool = False
    poor: tuple[int, Any] | None = None  # a seed with placeholders, and how many writes follow it
    lost: list[str] = field(default_factory=list)  # checkpoints whose value can't be read


def history(
    mender: Mender, ns: str, id: str, parent: str | None, channels: Sequence[str]
) -> Plan[dict[str, tuple[list[Pending], list[Any]]]]:
    """(writes oldest first, [seed] or []) of each channel."""
    made = {name: _Channel() for name in channels}
    walked = {id}
    current = parent
    first: str | None = None  # where the thread began, if the walk came to it
    while current is not None and current not in walked and not all(c.done for c in made.values()):
        walked.add(current)
        rows = yield Ask("checkpoint", (thread_key(mender.thread_id), ns, current))
        if not rows and (ns, current) not in (yield from mender.lost()):
            break  # a pruned parent is an end like any other
        yield from _writes(mender, ns, current, made)
        row = None if not rows else (yield from mender.row(rows[0]))
        if row is None:
            what = "its row is lost: the history was followed by the order of ids"
            mender.note("left_out", ns, current, what, f"row {current}")
            there = {*(yield from mender.parents()), *(yield from mender.lost())}
            older = [each for at, each in there if at == ns and each < current]
            current = max(older, default=None)
            continue
        frame = yield from mender.frame(ns, current, row.place)
        if frame is not None:
            yield from _seeds(mender, ns, current, frame.channels, made)
        else:
            for channel in made.values():
                channel.lost += [] if channel.done else [current]
        first = current if row.parent is None else None
        current = row.parent
    for name, channel in made.items():
        if channel.lost:
            # Where the thread began without a value, what was written gives it.
            whole = channel.done or (first is not None and channel.lost[-1] != first)
            _told(mender, ns, name, channel, whole)
    writes = {name: channel.writes for name, channel in made.items()}
    seeds = {name: channel.seed for name, channel in made.items()}
    yield from users.healed_history(mender, ns, id, writes, seeds)
    return {name: (writes[name][::-1], seeds[name]) for name in made}


def _told(mender: Mender, ns: str, name: str, channel: _Channel, whole: bool) -> None:
    """What became of a channel some of whose values can't be read."""
    for id in channel.lost if whole else ():
        what = "a value was rebuilt from an earlier one and what was written since"
        mender.note("exact", ns, id, what, f"seed {id}", name)
    if not whole and channel.poor is not None:
        count, value = channel.poor
        channel.writes, channel.seed = channel.writes[:count], [value]
        what = "a value was lost in part, and nothing is left to rebuild it from"
        mender.note("placeholder", ns, channel.lost[0], what, f"seed {channel.lost[0]}", name)
    elif not whole:
        what = "a value is lost, and nothing is left to rebuild it from but what was written since"
        mender.note("left_out", ns, channel.lost[0], what, f"seed {channel.lost[0]}", name)


def _seeds(mender: Mender, ns: str, id: str, held: Any, made: dict[str, _Channel]) -> Plan[None]:
    """The values that a checkpoint has of the channels that still want one."""
    for name, channel in made.items():
        entry = held.get(name)
        if channel.done or entry is None or not entry.has_value:
            continue
        if entry.place is None:
            channel.seed, channel.done = [mender.codec.open_value(entry.shape, entry.inline)], True
            continue
        before = {heal for heal in mender.found.values() if heal.kind == "placeholder"}
        value = yield from mender.value(ns, id, name, entry)
        after = {heal for heal in mender.found.values() if heal.kind == "placeholder"}
        if value is not None and before == after:
            channel.seed, channel.done = [value[0]], True
            continue
        for heal in after - before:
            del mender.found[heal.id]
        if value is not None and channel.poor is None:
            channel.poor = (len(channel.writes), value[0])
        channel.lost.append(id)


def _writes(mender: Mender, ns: str, id: str, made: dict[str, _Channel]) -> Plan[None]:
    """What a checkpoint's tasks wrote to the channels that still want it."""
    found: list[Write] = []
    by_task: dict[str, list[Write]] = {}
    known: set[str] = set()
    for raw in (yield Ask("writes", (mender.number, ns, id))):
        write = yield from mender.write(ns, id, raw)
        if write is not None:
            by_task.setdefault(write.task, []).append(write)
            if write.channel in made and not made[write.channel].done:
                found.append(write)
        else:  # nor is it sure what it was written to
            what = f"a write of task {raw[0]} can't be read: it may be missing from the value"
            channel = raw[2] if raw[2] in made else ""
            known.add(raw[0])
            mender.note("left_out", ns, id, what, f"write {id} {raw[0]} {raw[1]}", channel)
    for task, held in by_task.items():
        if task in known:
            continue
        try:
            loading.refuse_half(ns, id, task, held)
        except CheckpointDamaged:
            what = f"a write of task {task} is gone: it may be missing from the value"
            mender.note("left_out", ns, id, what, f"gone {id} {task}")
    found.sort(key=lambda each: (given(each.path), given(each.task), each.idx), reverse=True)
    for write in found:
        value = loading.opened(mender.codec, write)
        made[write.channel].writes.append((given(write.task), given(write.channel), value))
