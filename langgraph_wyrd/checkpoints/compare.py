"""Two points of the past compared, and where on the way to a point a message came in.

A channel that is kept as deltas has its value in a few checkpoints only; between them, what came in
is seen in the writes of the checkpoint before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from langgraph_wyrd.checkpoints import path as paths
from langgraph_wyrd.checkpoints import read, user_values, working
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.checkpoints.history import deltas, outline
from langgraph_wyrd.checkpoints.lookup import is_there
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.checkpoints.points import Point, found_at, known, thread_at
from langgraph_wyrd.checkpoints.restore import Restored, delta_of, restore
from langgraph_wyrd.codec.delta import Operation, Value
from langgraph_wyrd.codec.values import Codec, bare
from langgraph_wyrd.extraction import messages
from langgraph_wyrd.state.diff import (
    StateDiff,
    diff,
    diff_values,
    is_users,
)
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.storage.rows import fetch
from langgraph_wyrd.storage.scripts import Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, USER_DATA, WRITES

# ---- two points


class Side(NamedTuple):
    """What a diff compares: the state at a point and, where asked for, the channels' values."""

    state: WorkingState
    values: Mapping[str, Any] | None = None
    versions: Mapping[str, Any] = {}
    deltas: frozenset[str] = frozenset()  # channels that are kept as deltas, and have no value here


def is_stored(dialect: str, codec: Codec, thread_id: str, id: str) -> Script[bool]:
    """Whether a root checkpoint of a thread is stored."""
    thread = yield from known(dialect, thread_id)
    return (yield from is_there(thread.key, "", id))


def sides(
    dialect: str, codec: Codec, thread_id: str, points: Sequence[Point], channels: bool
) -> Script[list[Side]]:
    """What there is to compare at points of a thread. A value that is the same at all of them is
    not decoded."""
    thread = yield from known(dialect, thread_id)
    places = []
    for at in points:
        places.append((yield from found_at(thread, at)))
    made = []
    for place in places:
        then = yield from thread_at(dialect, codec, thread, place)
        made.append(Side(working.visible(then)))
    if not channels:
        return made
    found = []
    for place in places:
        found.append((yield from paths.find(dialect, thread_id, "", place.id, writes=False)))
    same: set[str] = set()
    if len(found) == 2:  # of the same version at both points, they can't differ
        a, b = (outline(codec, each) for each in found)
        same = {n for n in a.channels.keys() & b.channels.keys() & a.versions.keys()
                if a.versions[n] == b.versions.get(n)}  # fmt: skip
    return [_with_values(codec, *each, same) for each in zip(made, found, strict=True)]


def _with_values(codec: Codec, side: Side, found: Found, same: set[str]) -> Side:
    restored = restore(codec, found)
    values = {
        name: bare(value.get())[1]
        for name, value in restored.channels.items()
        if is_users(name) and name not in same
    }
    counted = deltas(codec, found.path[0], restored.metadata)
    hidden = frozenset(n for n in restored.versions if n not in restored.channels)
    return Side(side.state, values, restored.versions, hidden.intersection(counted))


def compared(a: Side, b: Side) -> StateDiff:
    """What changed from one side to the other."""
    found = diff(a.state, b.state)
    if a.values is None or b.values is None:
        return found
    hidden = sorted(a.deltas | b.deltas)
    one, other = (
        {name: value for name, value in each.items() if name not in hidden}
        for each in (a.values, b.values)
    )
    unread = tuple(name for name in hidden if a.versions.get(name) != b.versions.get(name))
    return replace(found, channels=replace(diff_values(one, other), unread=unread))


# ---- where a message came in

_INPUT = "~__pregel_pull, __start__"  # the path of the task that hands a graph its input
_DEEPEST = 6  # a message lies in a list, in a state, in a Send, in a list of these


class Arrival(NamedTuple):
    """`before` is the newest checkpoint without the message; None: even the `first` has it."""

    before: str | None
    first: str


class _Step(NamedTuple):
    """A checkpoint of the path, and where the message is in it."""

    id: str
    held: frozenset[str]  # channels whose values have it
    written: frozenset[str]  # channels that its tasks wrote it to
    takes_input: bool
    deltas: frozenset[str]  # channels that are kept as deltas, and have no value here


def arrival(
    dialect: str, codec: Codec, thread: Thread, line: Sequence[str], message: str
) -> Script[Arrival | None]:
    """Where a message came into a path (`line`, oldest first); None if it did not."""
    seen = False
    before: str | None = None
    channels: set[str] = set()  # where it was seen
    for step in reversed((yield from _walk(dialect, codec, thread, line, message))):
        here = step.held | step.written
        seen = seen or bool(here)
        channels |= here
        if here:
            before = None if step.held or step.takes_input else step.id
        elif seen and before is None and not step.takes_input:
            before = step.id
        # Deltas may have brought it earlier, unless their value is at hand.
        if before is not None and not channels & step.deltas:
            break
    return Arrival(before, line[0]) if seen else None


def _walk(
    dialect: str, codec: Codec, thread: Thread, line: Sequence[str], message: str
) -> Script[list[_Step]]:
    """The checkpoints of a path; values are decoded only where they changed."""
    key = thread.key
    users = user_values.Rows((yield from fetch(USER_DATA, thread=key)))
    restored, held = Restored(), frozenset[str]()
    steps: list[_Step] = []
    for id in line:
        (row,) = yield from fetch(CHECKPOINTS, thread=key, ns="", id=id)
        if row.built_on == (steps[-1].id if steps else None):
            delta = delta_of(codec, row)
            restored.apply(codec, delta, 0, users, row.stamp)
            has = {
                name: _has(codec, change, restored.channels.get(name), name in held, message)
                for name, change in delta.changes.items()
            }
            held = held.difference(has, delta.removed).union(n for n in has if has[n])
        else:
            found = yield from paths.find(dialect, thread.thread_id, "", id, writes=False)
            restored = restore(codec, found)
            values = restored.channels.items()
            held = frozenset(name for name, value in values if holds(value.get(), message))
        writes = read.merged(codec, (yield from fetch(WRITES, thread=key, ns="", checkpoint=id)))
        wrote = [w.channel for w in writes if holds(w.load(codec, users)[1], message)]
        takes_input = row.source == "input" and any(write.path == _INPUT for write in writes)
        hidden = frozenset(n for n in restored.versions if n not in restored.channels)
        counted = deltas(codec, row, restored.metadata) if hidden else ()
        steps.append(_Step(id, held, frozenset(wrote), takes_input, hidden.intersection(counted)))
    return steps


def _has(codec: Codec, change: Operation, value: Value | None, had: bool, message: str) -> bool:
    """Whether a channel has the message after a change: in what that brought, or in the whole value
    where it took something away."""
    if change[0] == "s" and not any(cut for _, cut, _ in change[2]):
        return had or any(holds(codec.load_parts(parts), message) for _, _, parts in change[2])
    return value is not None and holds(value.get(), message)


def holds(value: Any, message: str, depth: int = 0) -> bool:
    """Whether a value has the message of that id somewhere in it."""
    if value is None or isinstance(value, (str, bytes, int, float)) or depth > _DEEPEST:
        return False
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(holds(each, message, depth + 1) for each in reversed([*value]))
    inside = value if isinstance(value, Mapping) else getattr(value, "__dict__", None)
    if inside is None:  # a class with slots: a Send, an Overwrite
        names = getattr(type(value), "__slots__", ())
        names = (names,) if isinstance(names, str) else names
        return any(holds(getattr(value, name, None), message, depth + 1) for name in names)
    if inside.get("id") == message and inside.get("type") != "remove":
        found = messages.read(value)
        if found is not None and found.id == message:
            return True
    if "content" in inside and ("type" in inside or "role" in inside):
        return False  # another message: they are many, and none holds others
    return any(holds(each, message, depth + 1) for each in inside.values())
