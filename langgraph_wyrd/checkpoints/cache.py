"""What this process remembers of threads: enough to write the next checkpoint without reading.

Nothing is right because of it: each write compares, in its own transaction, the version and the
last writer of the thread's row with what it was planned on. A write that fails forgets its thread.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from langgraph_wyrd.codec.delta import DictOf, Fingerprint, ListOf
from langgraph_wyrd.storage.keys import random_bits
from langgraph_wyrd.storage.tables import Key


@dataclass(slots=True)
class Namespace:
    """The newest checkpoint of a namespace, as it was stored."""

    checkpoint: str | None
    stamp: int
    channels: dict[str, Fingerprint]
    versions: dict[str, Any]
    seen: dict[str, dict[str, Any]]
    rest: bytes
    rows: int = 0  # deltas since the last snapshot, or whole row
    grown: int = 0  # their bytes
    snapshot: str | None = None  # the checkpoint of the last snapshot
    state: Any = None  # its working state (see `working`)
    known: bool = True  # False: only the working state was read
    owners: dict[str, str] = field(default_factory=dict)  # channels that hold a user's values
    joins: dict[str, Any] = field(default_factory=dict)  # who arrived where branches meet

    @property
    def weight(self) -> int:
        """Bytes of memory, about."""
        total = 800 + 250 * (len(self.channels) + len(self.seen))
        for known in self.channels.values():
            if type(known) is ListOf:
                total += 10 * len(known.marks)
            elif type(known) is DictOf:
                total += 100 * len(known.marks)
        return total


def beginning() -> Namespace:
    """What the first checkpoint of a namespace builds on."""
    return Namespace(None, 0, {}, {}, {}, b"")


def new_writer() -> int:
    """A number that one planned write leaves in the thread's row, and the next one expects there.

    Another one each time: a write that rests on one that failed must not take a third, which went
    before it under the same version, for the one that it rests on.
    """
    return random_bits(62)


@dataclass(slots=True)
class Thread:
    """A thread's row as this process expects it, and its namespaces."""

    key: Key
    thread_id: str
    version: int  # of the row; 0: there is none yet
    writer: int  # who wrote it last
    head: str | None
    buried: str | None
    spaces: dict[str, Namespace] = field(default_factory=dict)
    state: Any = None  # the thread's working state, and what its tables show
    deleted: bool = False  # the row is the tombstone of a deleted thread
    user: str | None = None
    unread: bool = False  # its working state was not read out of all its checkpoints yet
    waits: bool = False  # its row says that a task asks or failed
    lost: bool = False  # its row says that all its checkpoints are missing
    read_by: str | None = None  # what read its working state (`extraction/registry.py`)

    @property
    def weight(self) -> int:
        """Bytes of memory, about."""
        state = 0 if self.state is None else self.state.weight
        held = 500 + state + sum(space.weight for space in self.spaces.values())
        return 7 * held // 5


_EMPTY = 400  # bytes of memory of a slot without a thread, about


class Slot:
    """A thread's place in the cache. Whoever plans a write of the thread holds its lock."""

    __slots__ = ("answering", "beginning", "lock", "thread", "unread", "weight")

    def __init__(self) -> None:
        self.answering = 0  # answers of people on their way to the database
        self.beginning = 0  # first checkpoints of the root on their way
        # What tasks wrote, by namespace and checkpoint, while the working state was not known: a
        # read that begins before these writes are stored does not find them.
        self.unread: dict[tuple[str, str], list[Any]] = {}
        self.lock = threading.Lock()
        self.thread: Thread | None = None
        self.weight = _EMPTY


class Cache:
    """Threads, the least recently used forgotten first; bounded by bytes, as estimated."""

    def __init__(self, most_bytes: int = 64 << 20, most_spaces: int = 1024) -> None:
        self._slots: OrderedDict[str, Slot] = OrderedDict()
        self._bytes = 0
        self._most_bytes = most_bytes
        self._most_spaces = most_spaces
        _MADE.add(self)

    def slot(self, thread_id: str) -> Slot:
        """The thread's slot, made where there is none."""
        found = self._slots.get(thread_id)
        if found is None:
            made = Slot()
            found = self._slots.setdefault(thread_id, made)
            if found is made:
                self._bytes += made.weight
                self._shed()
        return found

    def keep(self, thread_id: str, slot: Slot, thread: Thread) -> None:
        """Remember a thread, as it is once a write that was planned is stored."""
        # Each call of a subgraph has a namespace: those that run at once have to fit, as each write
        # of one that is forgotten reads them all.
        if len(thread.spaces) > self._most_spaces:
            for ns in list(thread.spaces)[: -self._most_spaces]:
                if ns:
                    del thread.spaces[ns]
        slot.thread = thread
        if self._slots.setdefault(thread_id, slot) is not slot:
            return  # it was forgotten meanwhile, and another slot has its place
        # A put adds little, but a first turn adds most of what there is.
        if slot.weight <= _EMPTY or thread.version % 4 == 3:
            weight = thread.weight
            self._bytes += weight - slot.weight
            slot.weight = weight
        try:  # noqa: SIM105 - at every put
            self._slots.move_to_end(thread_id)
        except KeyError:  # another keep has just forgotten it
            pass
        self._shed()

    def _shed(self) -> None:
        while self._bytes > self._most_bytes and len(self._slots) > 1:
            try:
                _, old = self._slots.popitem(last=False)
            except KeyError:
                break
            self._bytes -= old.weight
            old.thread, old.weight = None, 0

    def drop(self, thread_id: str) -> None:
        """Forget a thread."""
        found = self._slots.get(thread_id)
        if found is not None:
            if found.thread is not None:
                found.unread.update(_written(found.thread))
            self._bytes += _EMPTY - found.weight
            found.thread, found.weight = None, _EMPTY

    def clear(self) -> None:
        """Forget everything."""
        for each in list(self._slots.values()):
            each.weight = 0
        self._slots.clear()
        self._bytes = 0


_MADE: WeakSet[Cache] = WeakSet()


def _after_fork_in_child() -> None:
    """A slot's lock may be held by one of the parent's threads, which the child does not have."""
    for cache in list(_MADE):
        cache._slots, cache._bytes = OrderedDict(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _written(thread: Thread) -> dict[tuple[str, str], list[Any]]:
    """What tasks wrote at the checkpoints that a thread stands at: some may be on their way."""
    found = {
        (ns, space.checkpoint): list(space.state.writes)
        for ns, space in thread.spaces.items()
        if space.checkpoint is not None and space.state is not None and space.state.writes
    }
    if thread.state is not None:
        found.update((place, list(writes)) for place, writes in thread.state.early.items())
    return found


def of_other_tasks(held: Iterable[Any], writes: Iterable[Any]) -> list[Any]:
    """The writes of tasks of which nothing is held."""
    tasks = {write.task for write in held}
    return [write for write in writes if write.task not in tasks]


def take_unread(slot: Slot, thread: Thread, space: Namespace, own: tuple[str, str]) -> None:
    """Add what tasks wrote, and a read may have missed, to what a checkpoint is read with.

    `own`: the namespace and the id of that checkpoint.
    """
    unread, slot.unread = slot.unread, {}
    if thread.state is None:
        return
    early = thread.state.early
    for place, writes in unread.items():
        ns, checkpoint = place
        at = space if ns == own[0] else thread.spaces.get(ns)
        here = None if at is None else at.checkpoint
        if at is not None and at.state is not None and checkpoint == here:
            held = at.state.writes
        elif place == own or here is None or checkpoint > here:
            held = early.setdefault(place, [])
        else:
            continue
        held.extend(of_other_tasks(held, writes))
