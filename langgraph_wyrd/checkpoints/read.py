"""Reading: one checkpoint, a page of them, the history of delta channels.

What tasks wrote is stored a row a call; `merged` makes of it what LangGraph's savers would hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from langgraph_wyrd.checkpoints import path, user_values
from langgraph_wyrd.checkpoints.path import Found
from langgraph_wyrd.checkpoints.restore import (
    Restored,
    applied,
    checked,
    metadata_at,
    metadata_of,
    rest_of,
    restore,
)
from langgraph_wyrd.codec.collector import uncollected
from langgraph_wyrd.codec.delta import REF, Value
from langgraph_wyrd.codec.payload import unpacked
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import CheckpointDamaged, WyrdError
from langgraph_wyrd.storage.keys import found_by
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.parity import JOURNALED, LAST, place_of, tags_of
from langgraph_wyrd.storage.rows import fetch, unsound
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.storage.tables import WRITES, CheckpointRow, Key, WriteRow
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


# ---- what should be there

_NAMED = {
    "sqlite": "SELECT thread FROM wyrd_parity WHERE name = ?",
    "postgres": "SELECT 1 WHERE EXISTS (SELECT 1 FROM wyrd_parity WHERE thread = ?) "
    "OR EXISTS (SELECT 1 FROM wyrd_checkpoints WHERE thread = ?)",
}
_GROUPS = " UNION ALL ".join(
    f"SELECT first, last, tags FROM wyrd_parity WHERE thread = ? AND first <= ? AND {when}"
    for when in ("last >= ? AND closed IS NULL", "closed >= ?")
)
_SUMS = " UNION ALL ".join(
    f"SELECT ns, id, sum FROM wyrd_checkpoints WHERE thread = ? AND {where} AND id >= ? AND id <= ?"
    for where in ("ns = ''", "ns <> ''")  # the key, and an index of all subgraphs
)


def expected(
    dialect: str, found: Found, thread_id: str, ns: str, id: str | None, start: str = ""
) -> Script[None]:
    """Raise CheckpointDamaged where rows are missing that should have been found.

    `start`: no checkpoint of the namespace is older than this one.
    """
    thread = found.thread
    if thread is None:
        yield from not_stored(dialect, thread_id)
        return
    buried = thread.buried
    if (
        thread.thread_id != thread_id
        or type(thread.version) is not int
        or (thread.deleted_at is not None and found.path)
        or (buried is not None and found.path and not buried < found.path[-1].id)
    ):
        raise CheckpointDamaged(f"the row of thread {given(thread_id)!r} is damaged")
    if found.path:
        complete(found)
    if id is None and ns == "":
        head = thread.head or None
        if head != (found.path[0].id if found.path else None):
            raise CheckpointDamaged(
                f"checkpoint {given(str(head))} is not the newest that is there"
            )
    elif id is None:
        yield from present(thread.key, found.path[0].id if found.path else start, LAST)
    elif not found.path:
        yield from present(thread.key, id, id)


def not_stored(dialect: str, thread_id: str) -> Script[None]:
    """Raise CheckpointDamaged where a thread's row is missing, and others of its rows are not."""
    text = _NAMED[dialect]
    if (yield Query(text, (found_by(dialect, thread_id),) * text.count("?"))):
        raise CheckpointDamaged(f"the row of thread {given(thread_id)!r} is missing")


LOST_SAID = "its checkpoints are missing from the database"
LOST_REASON = f"{LOST_SAID}: the graph would start empty"

NEWEST = "SELECT max(id) FROM wyrd_checkpoints WHERE thread = ? AND ns = ''"


_SAID = f"{JOURNALED} UNION ALL SELECT sum, NULL FROM wyrd_journal WHERE thread = ?"


def headed(key: Key, head: str | None) -> Script[None]:
    """Raise CheckpointDamaged where a thread's head is not the newest that is there, or a row of
    its journal is missing."""
    ((newest,),), said = yield [Query(NEWEST, (key,)), Query(_SAID, (key,) * 3)]
    if newest is None and head:
        raise CheckpointDamaged(f"{LOST_SAID}: {given(str(head))} was the newest")
    if newest != (head or None):
        raise CheckpointDamaged(f"checkpoint {given(str(head))} is not the newest that is there")
    _refuse_unsaid(said)


def all_said(key: Key) -> Script[None]:
    """Raise CheckpointDamaged where a row of a thread's journal is missing that parity names."""
    _refuse_unsaid((yield Query(_SAID, (key,) * 3)))


def _refuse_unsaid(rows: Sequence[Any]) -> None:
    held = {sum & 0xFFFFFFFF for sum, tags in rows if tags is None and type(sum) is int}
    if any(each >> 32 not in held for _, tags in rows for each in tags_of(tags)):
        raise CheckpointDamaged("what somebody declared is missing: a row of the journal")


def present(key: Key, low: str, high: str) -> Script[None]:
    """Raise CheckpointDamaged where a checkpoint's row is missing, of those with such ids, or the
    group that names it."""
    groups = yield groups_between(key, low, high)
    _refuse_missing(low, high, groups, (yield _sums(key, low, high, groups)))


def groups_between(key: Key, low: str, high: str) -> Query:
    """The parity groups that may have a checkpoint with an id between these."""
    return Query(_GROUPS, (key, high, low) * 2)


def _sums(key: Key, low: str, high: str, groups: Sequence[Any]) -> Query:
    """The checkpoints that these groups may have."""
    first = min([low, *(row[0] for row in groups)])
    last = max([high, *(row[1] for row in groups)])
    return Query(_SUMS, (key, first, last) * 2)


def _refuse_missing(low: str, high: str, groups: Sequence[Any], sums: Sequence[Any]) -> None:
    """Raise CheckpointDamaged where a checkpoint that a group names is not there, or one that is
    there, with an id between these, is named by none."""
    held = {
        (sum & 0xFFFFFFFF) << 32 | place_of(str(ns), str(id)) | 1: id
        for ns, id, sum in sums
        if type(sum) is int
    }
    named = {tag for row in groups for tag in tags_of(row[2]) if tag & 1}
    if not named <= held.keys():
        raise CheckpointDamaged("the row of a checkpoint is missing")
    if any(tag not in named and low <= id <= high for tag, id in held.items()):
        raise CheckpointDamaged("a checkpoint is in no group of its thread's parity")


def complete(found: Found) -> None:
    """Raise CheckpointDamaged where a row of a task's writes is missing, or what names them."""
    if found.grouped:
        row = found.path[0]
        own = ((row.sum & 0xFFFFFFFF) << 32 | place_of(row.ns, row.id) | 1).to_bytes(8, "little")
        if not any(own in group for group in found.groups):
            raise CheckpointDamaged(f"checkpoint {given(row.id)} is in no group of its parity")
        _written_at(row.ns, row.id, found.writes, found.groups)


def all_written(
    key: Key, ns: str, low: str, high: str, rows: Mapping[str, list[WriteRow]], ids: Sequence[str]
) -> Script[None]:
    """The same for several checkpoints, of which these are the writes."""
    groups = [row[2] for row in (yield groups_between(key, low, high))]
    for id in ids:
        _written_at(ns, id, rows.get(id, ()), groups)


def _written_at(ns: str, id: str, rows: Sequence[WriteRow], groups: Sequence[bytes]) -> None:
    place = place_of(ns, id) & ~1
    held = {each.sum & 0xFFFFFFFF for each in rows if type(each.sum) is int}
    for group in groups:
        for tag in tags_of(group):
            if tag & 0xFFFFFFFF == place and tag >> 32 not in held:
                raise CheckpointDamaged(f"what a task wrote at checkpoint {given(id)} is missing")


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
        *(_sums(*span, groups) for span, groups in zip(spans, named, strict=True)),
        *(path.query(dialect, *place, ids) for place, ids in places.items()),
    ]
    groups_of: dict[str, Sequence[Any]] = {}
    for (_, thread_id), (_, low, high), groups in zip(threads, spans, named, strict=True):
        with naming(thread_id):
            _refuse_missing(low, high, groups, answers.pop(0))
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


# ---- LangGraph's DeltaChannels: their values are in the writes of ancestors, back to a snapshot

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


def delta_history(
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
