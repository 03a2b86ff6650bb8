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
from langgraph_wyrd.checkpoints.outline import deltas
from langgraph_wyrd.checkpoints.restore import Restored, delta_of, restore
from langgraph_wyrd.codec.delta import Operation
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.extraction import messages
from langgraph_wyrd.storage.rows import fetch
from langgraph_wyrd.storage.scripts import Script
from langgraph_wyrd.storage.tables import CHECKPOINTS, WRITES

_INPUT = "~__pregel_pull, __start__"  # the path of the task that hands a graph its input
_DEEPEST = 6  # a message lies in a list, in a state, in a Send, in a list of these


class Arrival(NamedTuple):
    """`before` is the newest checkpoint without the message; None: even the `first` has it."""

    before: str | None
    first: str


def arrival(
    dialect: str, codec: Codec, thread: Thread, line: Sequence[str], message: str
) -> Script[Arrival | None]:
    """Where a message came into a path (`line`, oldest first); None if it did not."""
    walk = _Walk(dialect, codec, thread, message)
    for id in line:
        yield from walk.step(id)
    seen = False
    before: str | None = None
    channels: set[str] = set()  # where it was seen
    for step in reversed(walk.steps):
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


class _Step(NamedTuple):
    """A checkpoint of the path, and where the message is in it."""

    id: str
    held: frozenset[str]  # channels whose values have it
    written: frozenset[str]  # channels that its tasks wrote it to
    takes_input: bool
    deltas: frozenset[str]  # channels that are kept as deltas, and have no value here


@dataclass(slots=True)
class _Walk:
    """Values along a path, decoded only where they changed."""

    dialect: str
    codec: Codec
    thread: Thread
    message: str
    restored: Restored = field(default_factory=Restored)
    held: set[str] = field(default_factory=set)
    steps: list[_Step] = field(default_factory=list)

    def step(self, id: str) -> Script[None]:
        """Go on to the next checkpoint."""
        codec, key = self.codec, self.thread.key
        (row,) = yield from fetch(CHECKPOINTS, thread=key, ns="", id=id)
        if row.built_on == (self.steps[-1].id if self.steps else None):
            delta = delta_of(codec, row)
            self.restored.apply(codec, delta, 0)
            for name, operation in delta.changes.items():
                self._change(name, operation)
            self.held -= set(delta.removed)
        else:
            found = yield from paths.find(self.dialect, self.thread.thread_id, "", id, writes=False)
            self.restored = restore(codec, found)
            values = self.restored.channels
            self.held = {name for name, value in values.items() if self._in(value.get())}
        rows = yield from fetch(WRITES, thread=key, ns="", checkpoint=id)
        writes = read.merged(codec, rows)
        wrote = {w.channel for w in writes if self._in(codec.load_written(w.form, w.data))}
        takes_input = row.source == "input" and any(write.path == _INPUT for write in writes)
        restored = self.restored
        hidden = frozenset(n for n in restored.versions if n not in restored.channels)
        counted = deltas(codec, row, restored.metadata) if hidden else ()
        self.steps.append(
            _Step(id, frozenset(self.held), frozenset(wrote), takes_input,
                  hidden.intersection(counted))
        )  # fmt: skip

    def _change(self, name: str, operation: Operation) -> None:
        """Look at what an operation brought; at the whole value where it took something away."""
        if operation[0] == "s" and not any(cut for _, cut, _ in operation[2]):
            news = (self.codec.load_parts(parts) for _, _, parts in operation[2])
            found = name in self.held or any(map(self._in, news))
        else:
            found = self._in(self.restored.channels[name].get())
        (self.held.add if found else self.held.discard)(name)

    def _in(self, value: Any) -> bool:
        return holds(value, self.message)


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
