"""Where on a path a message came in: found in values, and in what tasks wrote.

A channel that is kept as deltas has its value in a few checkpoints only; between them, what came in
is seen in the writes of the checkpoint before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langgraph_wyrd.extraction import messages
from langgraph_wyrd.plans import loading, owned
from langgraph_wyrd.store.frames import Frame
from langgraph_wyrd.store.names import stored
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.values import Codec

_PAGE = 32  # checkpoints whose values are held at once
_INPUT = "~__pregel_pull, __start__"  # the path of the task that hands a graph its input
_DEEPEST = 6  # a message lies in a list, in a state, in a Send, in a list of these


class Arrival(NamedTuple):
    """`before` is the newest checkpoint without the message; None: even the `first` has it."""

    before: str | None
    first: str


class _Step(NamedTuple):
    id: str
    parent: str | None
    strand: int
    seq: int
    length: int
    chain: int
    metadata: str
    exact: bytes | None

    @property
    def place(self) -> Place:
        return Place(self.strand, self.seq, self.length, self.chain)


def arrival(codec: Codec, number: int, head: str, message: str) -> Plan[Arrival | None]:
    """Where a message came into the head's path; None if it did not."""
    search = _Search(codec, number, message)
    page: dict[str, _Step] = {}
    walked: set[str] = set()
    current: str | None = head
    first = head
    while current is not None and current not in walked:
        rows = yield Ask("path_rows", (number, current, _PAGE))
        page = {row[0]: _Step(*row) for row in rows}
        steps = []
        while current in page and current not in walked:
            walked.add(current)
            steps.append(page[current])
            first, current = current, page[current].parent
        if not steps:  # a pruned parent is an end like any other
            break
        if (yield from search.over(steps)):
            break
    if not search.seen:
        return None
    return Arrival(search.before, first)


@dataclass(slots=True)
class _Search:
    """A walk from the head to older checkpoints, up to where it is certain."""

    codec: Codec
    number: int
    message: str
    seen: bool = False
    before: str | None = None  # the newest checkpoint behind what was seen
    channels: set[str] = field(default_factory=set)  # where it was seen
    deltas: set[str] = field(default_factory=set)
    found: dict[Place, bool] = field(default_factory=dict)

    def over(self, steps: list[_Step]) -> Plan[bool]:
        """Look at these, newest first; whether no older one has to be looked at."""
        frames = yield from loading.read_frames(self.codec, self.number, [s.place for s in steps])
        values, _ = yield from loading.read_values(self.codec, self.number, list(frames.values()))
        answers = yield [Ask("writes", (self.number, "", step.id)) for step in steps]
        for step, rows in zip(steps, answers, strict=True):
            frame = frames[step.place]
            metadata = self.codec.open_metadata(step.metadata, step.exact)
            counters = metadata.get("counters_since_delta_snapshot")
            if isinstance(counters, Mapping):
                self.deltas |= {stored(str(name), "a channel") for name in counters}
            self.deltas |= {n for n, e in frame.channels.items() if e.is_snapshot}
            writes = [loading.checked_write("", step.id, row) for row in rows]
            opened = dict(enumerate(loading.open_writes(self.codec, writes)))
            inline = {
                name: loading.value_of(self.codec, name, entry, {})
                for name, entry in frame.channels.items()
                if entry.inline is not None
            }
            whole, here = yield from owned.of_entries(self.codec, self.number, [opened, inline])
            written = {writes[at].channel for at in whole if holds(whole[at], self.message)}
            held = set(self._holding(frame, values, here))
            # What an input brings would be brought again, maybe without the id it was given then.
            paths = {write.path for write in writes}
            takes_input = metadata.get("source") == "input" and _INPUT in paths
            self.seen = self.seen or bool(held or written)
            if held or written:
                self.before = None if held or takes_input else step.id
            elif self.seen and self.before is None and not takes_input:
                self.before = step.id
            self.channels |= held | written
            if self.before is not None and self._is_certain(frame):
                return True
        return False

    def _holding(
        self, frame: Frame, values: Mapping[Place, Any], inline: Mapping[str, Any]
    ) -> Iterable[str]:
        for name, entry in frame.channels.items():
            if entry.place is not None:
                if entry.place not in self.found:
                    self.found[entry.place] = holds(values[entry.place], self.message)
                if self.found[entry.place]:
                    yield name
            elif name in inline and holds(inline[name], self.message):
                yield name

    def _is_certain(self, frame: Frame) -> bool:
        """Whether the deltas can't have brought the message earlier: their value is at hand."""
        return not any(
            name in frame.channels and not frame.channels[name].has_value
            for name in self.channels & self.deltas
        )


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
        read = messages.read(value)
        if read is not None and read.id == message:
            return True
    if "content" in inside and ("type" in inside or "role" in inside):
        return False  # another message: they are many, and none holds others
    return any(holds(each, message, depth + 1) for each in inside.values())
