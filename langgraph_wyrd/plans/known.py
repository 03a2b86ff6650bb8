"""What this process knows of threads: enough to write the next checkpoint without reading.

Changed only after a commit, on the core's loop. A thread's `tick` says whether what is known still
holds: the database compares it inside the write's own transaction.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langgraph_wyrd.plans.forks import Change
from langgraph_wyrd.plans.woven import Weave
from langgraph_wyrd.store.frames import EMPTY, Frame
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.tips import Tip


@dataclass(frozen=True, slots=True)
class FrameTip:
    """The newest frame of a frame strand. `whole` is what a full frame costs, about."""

    strand: int
    seq: int
    chain: int
    bytes: int
    whole: int


@dataclass(frozen=True, slots=True)
class Space:
    """A namespace: its checkpoint that was stored last, and what is known of it."""

    checkpoint: str | None
    frame: Frame
    frame_tip: FrameTip | None
    tips: dict[str, Tip]

    def stands_at(self, checkpoint: str, place: Place) -> bool:
        """Whether its frame is the one that a checkpoint's row names (chains are never alike)."""
        tip = self.frame_tip
        return (
            self.checkpoint == checkpoint
            and tip is not None
            and (tip.strand, tip.seq, self.frame.length, tip.chain) == place
        )

    @property
    def weight(self) -> int:
        entries = len(self.frame.channels) + len(self.frame.seen)
        return 500 + 300 * entries + sum(tip.weight for tip in self.tips.values())


NOTHING = Space(None, EMPTY, None, {})


@dataclass(frozen=True, slots=True)
class Known:
    """A thread."""

    number: int
    tick: int
    strands: int
    buried: str | None  # the newest checkpoint of deleted threads of this id
    spaces: dict[str, Space]
    weave: Weave | None = None  # its pillars
    change: Change | None = None  # what a cold write did; never remembered

    @classmethod
    def locked(cls, row: Sequence[Any]) -> Known:
        """A thread from its row, nothing known of its namespaces yet."""
        number, tick, strands, buried = row
        return cls(number, tick, strands, buried, {})

    def too_old(self, id: str | None) -> bool:
        """Whether a checkpoint that is not there was deleted with an earlier thread of this id."""
        return id is not None and self.buried is not None and id <= self.buried

    @property
    def weight(self) -> int:
        woven = 0 if self.weave is None else self.weave.weight
        return 300 + woven + sum(space.weight for space in self.spaces.values())


class Memory:
    """Known threads, the least recently used forgotten first. Bounded by bytes, as estimated."""

    def __init__(self, most_bytes: int = 64 << 20, most_spaces: int = 64) -> None:
        self._threads: OrderedDict[str, tuple[Known, int]] = OrderedDict()
        self.heals_told: set[tuple[int, str]] = set()  # damages that are recorded already
        self.damaged: set[tuple[str, str, str]] = set()  # where: thread, namespace, checkpoint
        self._bytes = 0
        self._most_bytes = most_bytes
        self._most_spaces = most_spaces

    def get(self, thread_id: str) -> Known | None:
        found = self._threads.get(thread_id)
        if found is None:
            return None
        self._threads.move_to_end(thread_id)
        return found[0]

    def put(self, thread_id: str, known: Known) -> None:
        self.drop(thread_id)
        if len(known.spaces) > self._most_spaces:  # each subgraph call has a namespace
            kept = dict(list(known.spaces.items())[-self._most_spaces :])
            known = replace(known, spaces=kept)
        weight = known.weight
        self._threads[thread_id] = (known, weight)
        self._bytes += weight
        while self._bytes > self._most_bytes and len(self._threads) > 1:
            _, (_, freed) = self._threads.popitem(last=False)
            self._bytes -= freed

    def learn(self, thread_id: str, read: Known) -> None:
        """Take over what a read, or a cold write, found, unless something newer is known."""
        if read.change is not None:
            read = replace(read, change=None)
        held = self.get(thread_id)
        if held is None or held.number != read.number or held.tick < read.tick:
            self.put(thread_id, read)
        elif held.tick == read.tick:
            fresh = {ns: space for ns, space in read.spaces.items() if ns not in held.spaces}
            if fresh or (held.weave is None and read.weave is not None):
                spaces = {**held.spaces, **fresh}
                weave = read.weave if held.weave is None else held.weave
                self.put(thread_id, replace(held, spaces=spaces, weave=weave))

    def drop(self, thread_id: str) -> None:
        found = self._threads.pop(thread_id, None)
        if found is not None:
            self._bytes -= found[1]

    def clear(self) -> None:
        self._threads.clear()
        self._bytes = 0
