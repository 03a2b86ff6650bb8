"""Where on a path a message came in: found in values, and in what tasks wrote.

A channel that is kept as deltas has its value in a few checkpoints only; between them, what came in
is seen in the writes of the checkpoint before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langgraph_wyrd.checkpoints import path as paths
from langgraph_wyrd.checkpoints import read
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.checkpoints.outline import delta_of, deltas
from langgraph_wyrd.checkpoints.restore import Restored, restore
from langgraph_wyrd.codec.delta import Operation
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.extraction import messages
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, WRITES, CheckpointRow, WriteRow

_ROW = (
    f"SELECT {', '.join(CHECKPOINTS.names)} FROM wyrd_checkpoints "
    "WHERE thread = ? AND ns = '' AND id = ?"
)
_WRITES = (
    f"SELECT {', '.join(WRITES.names)} FROM wyrd_writes "
    "WHERE thread = ? AND ns = '' AND checkpoint = ?"
)
_INPUT = "~__pregel_pull, __start__"  # the path of the task that hands a graph its input
_DEEPEST = 6  # a message lies in a list, in a state, in a Send, in a list of these


class Arrival(NamedTuple):
    """`before` is the newest checkpoint without the message; None: even the `first` has it."""

    before: str | None
    first: str


@dataclass(slots=True)
class _Step:
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
    steps = yield from _steps(dialect, codec, thread, line, message)
    seen = False
    before: str | None = None
    channels: set[str] = set()  # where it was seen
    for step in reversed(steps):
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
    if not seen:
        return None
    return Arrival(before, line[0])


@dataclass(slots=True)
class _Walk:
    """Values along a path, decoded only where they changed."""

    codec: Codec
    message: str
    restored: Restored = field(default_factory=Restored)
    held: set[str] = field(default_factory=set)

    def begin(self, restored: Restored) -> None:
        self.restored = restored
        self.held = {n for n, v in restored.channels.items() if holds(v.get(), self.message)}

    def change(self, name: str, operation: Operation) -> None:
        """Look at what an operation brought; at the whole value where it took something away."""
        value = self.restored.channels[name]
        kind = operation[0]
        found = False
        if kind == "s" and not any(cut for _, cut, _ in operation[2]):
            found = name in self.held or any(
                holds(self.codec.load_parts(parts), self.message) for _, _, parts in operation[2]
            )
        else:
            found = holds(value.get(), self.message)
        if found:
            self.held.add(name)
        else:
            self.held.discard(name)


def _steps(
    dialect: str, codec: Codec, thread: Thread, line: Sequence[str], message: str
) -> Script[list[_Step]]:
    walk = _Walk(codec, message)
    steps: list[_Step] = []
    last: str | None = None
    for id in line:
        (held,), writes = yield [
            Query(_ROW, (thread.key, id)), Query(_WRITES, (thread.key, id))
        ]  # fmt: skip
        row = CheckpointRow._make(held)
        if row.built_on == last:
            delta = delta_of(codec, row)
            walk.restored.apply(codec, delta, 0)
            for name, operation in delta.changes.items():
                walk.change(name, operation)
            walk.held -= set(delta.removed)
        else:
            found = yield from paths.find(dialect, thread.thread_id, "", id, writes=False)
            walk.begin(restore(codec, found))
        steps.append(_step(codec, walk, row, [WriteRow._make(each) for each in writes]))
        last = id
    return steps


def _step(codec: Codec, walk: _Walk, row: CheckpointRow, rows: Sequence[WriteRow]) -> _Step:
    restored = walk.restored
    written = set()
    paths_ = set()
    for write in read.merged(codec, rows):
        paths_.add(write.path)
        if holds(codec.load_written(write.form, write.data), walk.message):
            written.add(write.channel)
    hidden = [name for name in restored.versions if name not in restored.channels]
    counted = deltas(codec, row, restored.metadata) if hidden else ()
    return _Step(
        row.id, frozenset(walk.held), frozenset(written),
        row.source == "input" and _INPUT in paths_, frozenset(hidden).intersection(counted),
    )  # fmt: skip


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
