"""Where else a thread's elements stand: what its tasks wrote, and its other splices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

from langgraph_wyrd.plans import loading
from langgraph_wyrd.store.refs import REF
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.strands import ReadRow
from langgraph_wyrd.store.users import Salted
from langgraph_wyrd.store.values import Codec, checksum, kind

_MOST_ROWS = 20_000  # of each table that are looked through
_MOST_RUNS = 50_000  # that are tried for one splice
_MOST_BYTES = 64 << 20  # of them all: each is packed to be compared
_BESIDE = 256  # what a block may hold beside its elements


class Copies:
    """Elements by the lists that they stand in, and single ones by their message's id."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self.size = 0  # lists that were added: a search in as many finds nothing new
        self._lists: list[list[bytes]] = []
        self._whole: list[list[bytes]] = []  # what whole lists held once: new ones go on from them
        self._by_id: dict[str, list[bytes]] = {}
        self.aliens: list[ReadRow] = []  # rows that don't belong where they stand
        self.alien_writes: list[Sequence[Any]] = []  # and a write's columns of such

    def add(self, elements: list[bytes]) -> None:
        self._lists.append(elements)
        self.size += 1
        for element, id in zip(elements, _ids(self._codec, elements), strict=True):
            if id is not None and element not in (held := self._by_id.setdefault(id, [])):
                held.append(element)

    def add_splices(self, rows: Sequence[ReadRow]) -> None:
        """The rows of strands, each strand's in order."""
        for _, group in groupby(rows, key=lambda row: row[0]):
            live: list[bytes] | None = []
            for row in group:
                try:
                    good = checksum(row[6], *row[:6]) == row[7]
                    elements = self._codec.open_block(row[6]) if good and row[6] else []
                except Exception:
                    good, elements = False, []
                if not good:
                    self.aliens.append(row)
                    live = None
                    continue
                if elements:
                    self.add(elements)
                if live is not None and len(elements) == row[5]:
                    live = [*live]
                    live[row[3] : row[3] + row[4]] = elements
                    self._whole.append(live)

    def add_writes(self, rows: Sequence[Sequence[Any]]) -> None:
        """(ns, checkpoint, and a write's columns) each, in order."""
        for _, group in groupby(rows, key=lambda row: row[:2]):
            by_channel: dict[str, list[bytes]] = {}
            for ns, checkpoint, *columns in group:
                try:
                    write = loading.checked_write(ns, checkpoint, columns)
                except Exception:
                    self.alien_writes.append(columns)
                    continue
                try:
                    elements = self.elements(write.shape, write.data)
                except Exception:
                    continue
                self.add(elements)
                by_channel.setdefault(write.channel, []).extend(elements)
            for elements in by_channel.values():
                self._lists.append(elements)

    def elements(self, shape: str, data: bytes) -> list[bytes]:
        """What a write holds, as it stands in a list now if it came alone."""
        elements = self._codec.open_block(data)
        if kind(shape) == "w":
            return self._codec.pack_elements([self._codec.load(shape, elements)], "")
        return elements

    # ---- what may have stood in a splice

    def runs(self, count: int, damaged: bytes = b"") -> Iterator[Sequence[bytes]]:
        """Runs of so many elements, the likeliest first; none that is too small for its bytes."""
        yield from self._by_name(count, damaged)
        left = _MOST_BYTES
        for run in self._runs(count):
            size = sum(map(len, run))
            if size + _BESIDE >= len(damaged):
                yield run
                if (left := left - size) < 0:
                    return

    def _runs(self, count: int) -> Iterator[Sequence[bytes]]:
        left = _MOST_RUNS
        for held in self._lists:
            for start in range(len(held) - count + 1):
                if (left := left - 1) < 0:
                    return
                yield held[start : start + count]
        for held in self._whole:
            if len(held) > count or (left := left - 1) < 0:
                continue
            if len(held) == count:
                yield held
                continue
            for new in self._lists:
                if len(held) + len(new) == count:
                    yield held + new

    def all_runs(self, damaged: bytes) -> Iterator[Sequence[bytes]]:
        """Every list that may have been a write's value, the likeliest first."""
        with suppress(Exception):
            yield from self._by_name(len(self._codec.open_block(damaged)), damaged)
        for held in self._lists:
            yield held
            if len(held) > 1:
                for element in held:
                    yield [element]

    def _by_name(self, count: int, damaged: bytes) -> Iterator[Sequence[bytes]]:
        """What can still be read of a damaged block, each message as it stands elsewhere."""
        try:
            elements = self._codec.open_block(damaged)
        except Exception:
            return
        if len(elements) == count:
            ids = _ids(self._codec, elements)
            yield [
                next((e for e in self._by_id.get(id or "", ()) if e != element), element)
                for element, id in zip(elements, ids, strict=True)
            ]


def _ids(codec: Codec, elements: Sequence[bytes]) -> list[str | None]:
    found: list[str | None] = []
    for element in elements:
        try:
            id = getattr(codec.load_elements([element])[0], "id", None)
        except Exception:
            id = None
        found.append(id if isinstance(id, str) else None)
    return found


def of_thread(codec: Codec, number: int) -> Plan[Copies]:
    """All that a thread has."""
    writes, splices = yield [
        Ask("writes_of_thread", (number, _MOST_ROWS)),
        Ask("splices_of_thread", (number, _MOST_ROWS)),
    ]
    made = Copies(codec)
    made.add_writes(writes)
    made.add_splices(splices)
    return made


def of_users(codec: Codec, number: int) -> Plan[Copies]:
    """What a thread has of its users: what their runs' tasks wrote stands among it."""
    rows, writes = yield [
        Ask("all_user_data", (number,)),
        Ask("writes_of_users", (number, REF)),
    ]
    made = Copies(Salted(codec))
    made.add_splices([row[:9] for row in rows])
    for row in writes:
        with suppress(Exception):
            ref = codec.open_value(REF, row[7])
            (alone,) = [each[6] for each in rows if each[0] == ref.strand]
            made.add(made.elements(ref.shape, alone))
    return made
