"""Reading: one checkpoint, or a page of them.

What tasks wrote is stored a row a call; `merged` makes of it what LangGraph's savers would hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from langgraph_wyrd.checkpoints import path, user_values
from langgraph_wyrd.checkpoints.missing import (
    complete,
    expected,
    groups_between,
    refuse_missing,
    sums,
)
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.checkpoints.restore import (
    Restored,
    metadata_at,
    metadata_of,
    rest_of,
    restore,
)
from langgraph_wyrd.codec.collector import uncollected
from langgraph_wyrd.codec.delta import REF
from langgraph_wyrd.codec.payload import unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, WyrdError
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.parity import LAST
from langgraph_wyrd.storage.rows import unsound
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import WRITES, Key, WriteRow
from langgraph_wyrd.types.rebuild import log_kept

Pending = tuple[str, str, Any]  # task, channel, value

SPECIAL = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}


@dataclass(frozen=True, slots=True)
class Read:
    """A checkpoint as it was stored, ids as they were given."""

    thread_id: str
    ns: str
    id: str
    parent: str | None
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    writes: list[Pending]


def get(
    dialect: str,
    codec: Codec,
    thread_id: str,
    ns: str,
    id: str | None,
    absent: Callable[[str], None] | None = None,
    start: str = "",
) -> Script[Read | None]:
    """One checkpoint, or the latest of its namespace. `absent` hears of a thread without a row.

    `start`: no checkpoint of the namespace is older than this one.
    """
    found = yield from path.find(dialect, thread_id, ns, id)
    yield from expected(dialect, found, thread_id, ns, id, start)
    if not found.path:
        if found.thread is None and absent is not None:
            absent(thread_id)
        return None
    with uncollected():
        return read_of(codec, found)


def is_damage(error: BaseException) -> bool:
    """Whether an error may come from damaged rows: all others have names of their own.

    An OSError comes from outside: a key service, say, that can't be reached.
    """
    if isinstance(error, CheckpointDamaged):
        return True
    return isinstance(error, Exception) and not isinstance(error, WyrdError | OSError)


def read_of(
    codec: Codec,
    found: Found,
    again: Collection[str] = (),
    known: dict[str, Restored] | None = None,
) -> Read:
    """The checkpoint of the rows that hold it. `again`: tasks whose writes are damaged.

    `known`: others of its namespace that were restored. No object of one read is in another.
    """
    thread, row = found.thread, found.path[0]
    assert thread is not None
    place = given(thread.thread_id), given(row.ns), given(row.id)
    restored = restore(codec, found, known)
    checkpoint = rest_of(codec, restored.rest)
    checkpoint["id"] = given(row.id)
    if row.ts is not None:
        checkpoint["ts"] = given(row.ts)
    values = restored.values()
    writes = pending(codec, found.writes, found.users, again)
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = dict(restored.versions)
    checkpoint["versions_seen"] = {node: dict(held) for node, held in restored.seen.items()}
    metadata = metadata_of(codec, row, restored.metadata)
    if codec.has_kept():
        held = [(name, value) for _, name, value in writes]
        log_kept(codec.classes, *place, [*held, *values.items(), ("metadata", metadata)])
    parent = None if row.parent is None else given(row.parent)
    return Read(*place, parent, checkpoint, metadata, writes)


# ---- task writes


@dataclass(slots=True)
class Written:
    """One value that a task wrote, still packed."""

    path: str
    task: str
    idx: int
    channel: str
    form: str
    data: Any
    seq: int = 0
    at: int = 0  # its place in the call

    def load(self, codec: Codec, users: user_values.Rows) -> tuple[str, Any]:
        """Channel and value; no value where it belonged to a user who was erased."""
        if self.form == REF:
            held = users.held(codec, self.data[0], user_values.WRITES, self.seq)
            if held is not None:
                return self.channel, codec.load_written(*held[self.at])
            if len(self.data) == 1:
                return user_values.NO_WRITES, None
        return self.channel, codec.load_written(self.form, self.data)


def merged(codec: Codec, rows: Sequence[WriteRow], again: Collection[str] = ()) -> list[Written]:
    """The writes of a checkpoint's tasks, in LangGraph's order, as InMemorySaver keeps them.

    Of an ordinary write the first one stays, of a special one (an error, an interrupt, an answer)
    the last. Of the tasks that run `again` only the answers stay, as these were given once.
    """
    slots: dict[tuple[str, int], Written] = {}
    for row in sorted(rows, key=lambda row: row.seq):
        if unsound(WRITES, row):
            raise CheckpointDamaged(
                f"what task {given(row.task)} wrote at checkpoint {given(row.checkpoint)} fails "
                "its checksum"
            )
        for at, (channel, form, data) in enumerate(unpacked(codec.opened(WRITES, row, "payload"))):
            if row.task in again and channel != "__resume__":
                continue
            idx = SPECIAL.get(channel, at)
            key = (row.task, idx)
            if idx < 0 or key not in slots:
                slots[key] = Written(row.path, row.task, idx, channel, form, data, row.seq, at)
    return sorted(slots.values(), key=lambda w: (given(w.path), given(w.task), w.idx))


def in_call(codec: Codec, row: WriteRow) -> list[Written]:
    """The values of one call of a task, in its order."""
    if unsound(WRITES, row):
        raise CheckpointDamaged(f"what task {given(row.task)} wrote fails its checksum")
    return [
        Written(row.path, row.task, at, channel, form, data, row.seq, at)
        for at, (channel, form, data) in enumerate(unpacked(codec.opened(WRITES, row, "payload")))
    ]


def pending(
    codec: Codec, rows: Sequence[WriteRow], users: user_values.Rows, again: Collection[str] = ()
) -> list[Pending]:
    """The pending writes of a checkpoint."""
    if not rows:
        return []
    found = merged(codec, rows, again)
    return [(given(w.task), *w.load(codec, users)) for w in found]


# ---- a page of checkpoints


Matches = Callable[[dict[str, Any]], bool]


@dataclass(slots=True)
class Page:
    """Where a listing goes on: behind this checkpoint."""

    id: str
    ns: str
    thread: Any


def page(
    dialect: str,
    codec: Codec,
    where: Sequence[tuple[str, tuple[Any, ...]]],
    after: Page | None,
    size: int,
    matches: Matches | None,
    lenient: Lenient | None = None,
) -> Script[tuple[list[Read], Page | None]]:
    """The next checkpoints, newest first, and where to go on (None: that was the end).

    With `lenient`, what can't be read is left out.
    """
    conditions = [text for text, _ in where] + ["t.deleted_at IS NULL"]
    params = [value for _, held in where for value in held]
    if after is not None:
        conditions.append("(c.id, c.ns, c.thread) < (?, ?, ?)")
        params += [after.id, after.ns, after.thread]
    rows = yield Query(
        "SELECT c.thread, c.ns, c.id, t.thread_id FROM wyrd_checkpoints c "
        f"JOIN wyrd_threads t ON t.key = c.thread WHERE {' AND '.join(conditions)} "
        "ORDER BY c.id DESC, c.ns DESC, c.thread DESC LIMIT ?",
        (*params, size),
    )
    reads: list[Read] = []
    if lenient is None and rows:
        reads = yield from _read_all(dialect, codec, rows, matches, newest=after is None)
    elif lenient is not None:
        for _, ns, id, thread_id in rows:
            read = yield from lenient.one(thread_id, ns, id)
            if read is not None and (matches is None or matches(read.metadata)):
                reads.append(read)
    last = Page(rows[-1][2], rows[-1][1], rows[-1][0]) if len(rows) == size else None
    return reads, last


def _read_all(
    dialect: str, codec: Codec, rows: Sequence[Any], matches: Matches | None, *, newest: bool
) -> Script[list[Read]]:
    """The checkpoints of such rows that match. What they share is fetched and checked once.

    `newest`: there are no newer ones.
    """
    threads: dict[tuple[Key, str], list[str]] = {}
    places: dict[tuple[str, str], list[str]] = {}
    for key, ns, id, thread_id in rows:
        threads.setdefault((key, thread_id), []).append(id)
        places.setdefault((thread_id, ns), []).append(id)
    spans = [(key, min(ids), LAST if newest else max(ids)) for (key, _), ids in threads.items()]
    named = yield [groups_between(*span) for span in spans]
    answers = yield [
        *(sums(*span, groups) for span, groups in zip(spans, named, strict=True)),
        *(path.query(dialect, *place, ids) for place, ids in places.items()),
    ]
    groups_of: dict[str, Sequence[Any]] = {}
    for (_, thread_id), (_, low, high), groups in zip(threads, spans, named, strict=True):
        with naming(thread_id):
            refuse_missing(low, high, groups, answers.pop(0))
        groups_of[thread_id] = groups
    made: dict[tuple[str, str, str], Read] = {}
    for ((thread_id, ns), ids), held in zip(places.items(), answers, strict=True):
        stored, groups = path.parsed(held), groups_of[thread_id]
        known: dict[str, Restored] = {}
        for id in sorted(ids):  # others build on the older ones
            found = stored.of(id, [row[2] for row in groups if row[0] <= id <= row[1]])
            with naming(thread_id), uncollected():
                if matches is None or matches(metadata_at(codec, found.path[0])):
                    complete(found)
                    made[thread_id, ns, id] = read_of(codec, found, known=known)
    wanted = ((thread_id, ns, id) for _, ns, id, thread_id in rows)
    return [made[each] for each in wanted if each in made]


@contextmanager
def naming(thread_id: str) -> Iterator[None]:
    """Tell with an error which thread it is about."""
    try:
        yield
    except Exception as error:
        error.wyrd_thread = thread_id  # type: ignore[attr-defined]
        raise


class Lenient(Protocol):
    """Reads checkpoints of which rows are damaged; see `recovery.load`."""

    def one(self, thread_id: str, ns: str, id: str) -> Script[Read | None]: ...

    def find(
        self, thread_id: str, ns: str, id: str | None
    ) -> Script[tuple[Found, Collection[str]]]:
        """What is sound of a checkpoint, and the tasks whose writes are damaged."""
