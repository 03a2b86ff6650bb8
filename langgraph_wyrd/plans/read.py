"""Reading: one checkpoint, a page of them, the history of delta channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_wyrd.plans import loading
from langgraph_wyrd.plans.known import Known, Space
from langgraph_wyrd.plans.loading import Stored
from langgraph_wyrd.store.frames import Entry, Frame
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.tips import Tip
from langgraph_wyrd.store.values import Codec, kind

Pending = tuple[str, str, Any]


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
    codec: Codec, thread_id: str, ns: str, id: str | None, held: Callable[[str], Space | None]
) -> Plan[tuple[Read | None, Known | None]]:
    """One checkpoint, or the latest; and what a put behind the latest would have to know.

    `held(ns)` is what is known already: nothing is learnt twice.
    """
    key = thread_key(thread_id)
    asked = Ask("latest", (key, ns)) if id is None else Ask("checkpoint", (key, ns, id))
    rows = yield asked
    if not rows:
        return None, None
    row = loading.checked(rows[0])
    found = yield from _frames_and_writes(codec, [row])
    frame, frame_tip, writes = found[0]
    values, loaded = yield from loading.read_values(codec, row.thread, [frame])
    read = _read(codec, row, frame, values, writes)
    space = held(ns)
    if id is not None or (space is not None and space.checkpoint == row.id):
        return read, None
    tips: dict[str, Tip] = {}
    for name, entry in frame.channels.items():
        if entry.place is not None and kind(entry.shape) != "w":
            strand = loaded[entry.place.strand]
            tips[name] = loading.tip_of(codec, entry, strand, values[entry.place])
    learnt = Space(row.id, frame, frame_tip, tips)
    return read, Known(row.thread, row.tick, row.strands, row.buried, {ns: learnt})


def page(
    codec: Codec,
    conditions: Sequence[tuple[str, Sequence[Any]]],
    after: tuple[str, int, str] | None,
    size: int,
    matches: Callable[[dict[str, Any]], bool],
) -> Plan[tuple[list[Read], tuple[str, int, str] | None]]:
    """The next checkpoints, newest first, and where to go on (None: that was the end)."""
    chosen = list(conditions)
    if after is not None:
        chosen.append(("after_row", after))
    names = " ".join(["page", *(name for name, _ in chosen), "newest_first"])
    params = [value for _, given_ in chosen for value in given_]
    rows = yield Ask(names, (*params, size))
    stored = [loading.checked(row) for row in rows]
    kept = [row for row in stored if matches(codec.open_metadata(row.metadata, row.exact))]
    by_thread: dict[int, list[Stored]] = {}
    for row in kept:
        by_thread.setdefault(row.thread, []).append(row)
    read: dict[Stored, Read] = {}
    for number, group in by_thread.items():
        found = yield from _frames_and_writes(codec, group)
        values, _ = yield from loading.read_values(codec, number, [frame for frame, _, _ in found])
        for row, (frame, _, writes) in zip(group, found, strict=True):
            read[row] = _read(codec, row, frame, values, writes)
    last = stored[-1] if len(stored) == size else None
    return [read[row] for row in kept], last and (last.id, last.thread, last.ns)


def _frames_and_writes(
    codec: Codec, rows: Sequence[Stored]
) -> Plan[list[tuple[Frame, Any, list[Pending]]]]:
    """Frame, frame tip and pending writes of checkpoints of one thread."""
    number = rows[0].thread
    found, ends = yield from loading.frames_and_tips(codec, number, [row.place for row in rows])
    answers = yield [Ask("writes", (number, row.ns, row.id)) for row in rows]
    made = []
    for row, answer in zip(rows, answers, strict=True):
        writes = [write for _, write in loading.loaded_writes(codec, row.ns, row.id, answer)]
        made.append((found[row.place], ends[row.place], writes))
    return made


def _read(
    codec: Codec, row: Stored, frame: Frame, values: dict[Place, Any], writes: list[Pending]
) -> Read:
    checkpoint: dict[str, Any] = {
        key: codec.open_value(shape, block) for key, (shape, block) in frame.rest.items()
    }
    entries = {given(name): entry for name, entry in frame.channels.items()}
    checkpoint["id"] = given(row.id)
    if row.ts is not None:
        checkpoint["ts"] = given(row.ts)
    checkpoint["channel_values"] = {
        name: loading.value_of(codec, entry, values)
        for name, entry in entries.items()
        if entry.has_value
    }
    checkpoint["channel_versions"] = {
        name: entry.version for name, entry in entries.items() if entry.version is not None
    }
    checkpoint["versions_seen"] = {
        given(node): {given(name): version for name, version in held.items()}
        for node, held in frame.seen.items()
    }
    return Read(
        given(row.thread_id),
        given(row.ns),
        given(row.id),
        None if row.parent is None else given(row.parent),
        checkpoint,
        codec.open_metadata(row.metadata, row.exact),
        writes,
    )


# ---- delta channels

_ANCESTORS = 128  # a page of them


def delta_history(
    codec: Codec, thread_id: str, ns: str, id: str | None, channels: Sequence[str]
) -> Plan[dict[str, tuple[list[Pending], list[Any]]]]:
    """(writes oldest first, [seed] or []) of each channel, along the parents of a checkpoint."""
    key = thread_key(thread_id)
    asked = Ask("latest", (key, ns)) if id is None else Ask("checkpoint", (key, ns, id))
    rows = yield asked
    writes: dict[str, list[Pending]] = {name: [] for name in channels}
    seeds: dict[str, list[Any]] = {name: [] for name in channels}
    if rows:
        row = loading.checked(rows[0])
        path = yield from lineage(codec, row.thread, ns, row.parent, {row.id}, set(channels))
        yield from _collect(codec, row.thread, ns, path, writes, seeds)
    return {name: (writes[name][::-1], seeds[name]) for name in channels}


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A checkpoint on the way up: which channels still need its writes, and which it seeds."""

    id: str
    wants: frozenset[str]
    seeds: Mapping[str, Entry]


def lineage(
    codec: Codec, number: int, ns: str, start: str | None, walked: set[str], wanted: set[str]
) -> Plan[list[Ancestor]]:
    """The ancestors, nearest first, up to where every wanted channel holds a value."""
    path: list[Ancestor] = []
    wanted = set(wanted)
    known: dict[str, tuple[str | None, Place]] = {}
    frames: dict[Place, Frame] = {}
    current = start
    while current is not None and wanted and current not in walked:
        walked.add(current)
        if current not in known:
            # Ids mostly follow the parents: a page by id has the next steps. Where they don't
            # (clocks differ), the parent heads a page of its own.
            rows = yield Ask("lineage", (number, ns, current, _ANCESTORS))
            known = {row[0]: (row[1], Place(*row[2:6])) for row in rows}
            if current not in known:
                break  # a pruned parent is an end like any other
            places = [place for _, place in known.values()]
            frames = yield from loading.read_frames(codec, number, places)
        parent, place = known.pop(current)
        frame = frames[place]
        held = {
            name: entry
            for name in wanted
            if (entry := frame.channels.get(name)) is not None and entry.has_value
        }
        path.append(Ancestor(current, frozenset(wanted), held))
        wanted -= held.keys()
        current = parent
    return path


def _collect(
    codec: Codec,
    number: int,
    ns: str,
    path: Sequence[Ancestor],
    writes: dict[str, list[Pending]],
    seeds: dict[str, list[Any]],
) -> Plan[None]:
    asked = [
        (ancestor, name, Ask("writes_to", (number, ns, ancestor.id, name)))
        for ancestor in path
        for name in sorted(ancestor.wants)
    ]
    for start in range(0, len(asked), _ANCESTORS):
        some = asked[start : start + _ANCESTORS]
        answers = yield [ask for _, _, ask in some]
        for (ancestor, name, _), answer in zip(some, answers, strict=True):
            found = loading.loaded_writes(codec, ns, ancestor.id, answer)
            writes[name].extend(write for _, write in reversed(found))
    entries = {name: entry for ancestor in path for name, entry in ancestor.seeds.items()}
    values, _ = yield from loading.read_values(codec, number, [Frame(entries, {}, {})])
    for name, entry in entries.items():
        seeds[name].append(loading.value_of(codec, entry, values))
