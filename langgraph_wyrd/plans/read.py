"""Reading: one checkpoint, a page of them, the history of delta channels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.plans import gone, loading, owned
from langgraph_wyrd.plans.gone import After, Awaited, Conditions, Listed
from langgraph_wyrd.plans.known import Known, Space
from langgraph_wyrd.plans.loading import Stored, Write
from langgraph_wyrd.plans.owned import Pending as Pending
from langgraph_wyrd.store import frames, strands
from langgraph_wyrd.store.frames import Entry, Frame
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.refs import Ref
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.strands import Place, ReadRow
from langgraph_wyrd.store.tips import Tip
from langgraph_wyrd.store.values import Codec, kind
from langgraph_wyrd.types.telling import tell


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
    codec: Codec, thread_id: str, ns: str, id: str | None, known: Known | None
) -> Plan[tuple[Read | None, Known | None]]:
    """One checkpoint, or the latest; and what a put behind the latest would have to know.

    Of what is `known` already nothing is learnt twice, and its frame is not read again.
    """
    key = thread_key(thread_id)
    asked = Ask("latest", (key, ns)) if id is None else Ask("checkpoint", (key, ns, id))
    rows = yield asked
    if not rows:
        yield from gone.never_any(key, ns) if id is None else gone.never_put(key, ns, id)
        return None, None
    row = loading.checked(rows[0])
    if id is None and row.head is not None and row.id < row.head:
        yield from _newest(row)
    space = None if known is None else known.spaces.get(ns)
    if space is not None and space.stands_at(row.id, row.place):
        answer = yield Ask("writes", (row.thread, ns, row.id))
        writes = [write for _, write in loading.loaded_writes(codec, ns, row.id, answer)]
        values = loading.held_values(codec, space.frame, space.tips)
        away = {
            name: entry
            for name, entry in space.frame.channels.items()
            if entry.place is not None and entry.place not in values
        }
        if away:
            loaded_away, _ = yield from loading.read_values(
                codec, row.thread, [Frame(away, {}, {})]
            )
            values.update(loaded_away)
        cached = read_of(codec, row, space.frame, values, writes)
        return (yield from resolved(codec, row.thread, [cached]))[0], None
    also = () if id is not None else (gone.asked_behind(row.thread, row.place),)
    found, more = yield from _frames_and_writes(codec, [row], also)
    if more and (yield from gone.is_behind(row.thread, ns, row.place, more[0])):
        raise CheckpointDamaged(f"a checkpoint behind {row.id}, the newest there is, is missing")
    frame, frame_tip, writes = found[0]
    values, loaded = yield from loading.read_values(codec, row.thread, [frame])
    (read,) = yield from resolved(codec, row.thread, [read_of(codec, row, frame, values, writes)])
    if id is not None:
        return read, None
    tips: dict[str, Tip] = {}
    for name, entry in frame.channels.items():
        if entry.place is not None and kind(entry.shape) != "w":
            strand = loaded[entry.place.strand]
            tips[name] = loading.tip_of(codec, entry, strand, values[entry.place])
    learnt = Space(row.id, frame, frame_tip, tips)
    return read, Known(row.thread, row.tick, row.strands, row.buried, {ns: learnt})


def _newest(row: Stored) -> Plan[None]:
    """Raise if the thread's newest checkpoint, by what its row says, is missing."""
    assert row.head is not None
    found = (yield Ask("newest_id", (row.thread,)))[0][0]
    if found < row.head:
        raise CheckpointDamaged(
            f"checkpoint {row.head}, the newest of thread {given(row.thread_id)!r}, is missing"
        )


def page(
    codec: Codec,
    conditions: Conditions,
    after: After | None,
    size: int,
    matches: Callable[[dict[str, Any]], bool],
) -> Plan[tuple[list[Read], After | None]]:
    """The next checkpoints, newest first, and where to go on (None: that was the end)."""
    rows = yield ask_page(conditions, after, size)
    stored = [loading.checked(row) for row in rows]
    if is_from_top(conditions, after) and stored and stored[0].id < (stored[0].head or ""):
        yield from _newest(stored[0])
    then = yield from gone.accounted([*map(listed, stored)], conditions, after, size)
    kept = [row for row in stored if matches(codec.open_metadata(row.metadata, row.exact))]
    by_thread: dict[int, list[Stored]] = {}
    for row in kept:
        by_thread.setdefault(row.thread, []).append(row)
    read: dict[Stored, Read] = {}
    for number, group in by_thread.items():
        found, _ = yield from _frames_and_writes(codec, group)
        values, _ = yield from loading.read_values(codec, number, [frame for frame, _, _ in found])
        made = [
            read_of(codec, row, frame, values, writes)
            for row, (frame, _, writes) in zip(group, found, strict=True)
        ]
        whole = yield from resolved(codec, number, made)
        read.update(zip(group, whole, strict=True))
    return [read[row] for row in kept], then


def is_from_top(conditions: Conditions, after: After | None) -> bool:
    """Whether a list begins with the newest checkpoint of a thread, or of one of its namespaces."""
    names = {name for name, _ in conditions}
    return after is None and "of_thread" in names and names <= {"of_thread", "in_namespace"}


def listed(row: Stored) -> Listed:
    return Listed(Awaited(row.id, row.thread, row.ns, row.thread_id), row.parent)


def ask_page(conditions: Conditions, after: After | None, size: int) -> Ask:
    """The rows of a page."""
    chosen = list(conditions)
    if after is not None:
        chosen.append(("after_row", after[:3]))
    names = " ".join(["page", *(name for name, _ in chosen), "newest_first"])
    return Ask(names, (*(value for _, given_ in chosen for value in given_), size))


def _frames_and_writes(
    codec: Codec, rows: Sequence[Stored], also: Sequence[Ask] = ()
) -> Plan[tuple[list[tuple[Frame, Any, list[Pending]]], Sequence[Any]]]:
    """Frame, frame tip and pending writes of checkpoints of one thread; and what was asked also."""
    number = rows[0].thread
    found, ends = yield from loading.frames_and_tips(codec, number, [row.place for row in rows])
    answers = yield [*(Ask("writes", (number, row.ns, row.id)) for row in rows), *also]
    made = []
    for row, answer in zip(rows, answers, strict=False):
        writes = [write for _, write in loading.loaded_writes(codec, row.ns, row.id, answer)]
        made.append((found[row.place], ends[row.place], writes))
    return made, answers[len(rows) :]


def read_of(
    codec: Codec, row: Stored, frame: Frame, values: dict[Place, Any], writes: list[Pending]
) -> Read:
    checkpoint: dict[str, Any] = {
        key: codec.open_value(shape, block) for key, (shape, block) in frame.rest.items()
    }
    entries = {given(name): entry for name, entry in frame.channels.items()}
    checkpoint["id"] = given(row.id)
    if row.ts is not None:
        checkpoint["ts"] = given(row.ts)
    place = given(row.thread_id), given(row.ns), given(row.id)
    checkpoint["channel_values"] = {
        name: loading.value_of(codec, name, entry, values, *place)
        for name, entry in entries.items()
        if entry.has_value
    }
    if codec.classes.channels:
        writes = [(t, name, loading.brought(codec, name, v, *place)) for t, name, v in writes]
    metadata = codec.open_metadata(row.metadata, row.exact)
    checkpoint["channel_versions"] = {
        name: entry.version for name, entry in entries.items() if entry.version is not None
    }
    checkpoint["versions_seen"] = {
        given(node): {given(name): version for name, version in held.items()}
        for node, held in frame.seen.items()
    }
    parent = None if row.parent is None else given(row.parent)
    return told(codec, Read(*place, parent, checkpoint, metadata, writes))


def told(codec: Codec, read: Read) -> Read:
    """The same, after it was said what of it was not rebuilt."""
    if codec.has_kept():
        held = [(name, value) for _, name, value in read.writes]
        held += [*read.checkpoint["channel_values"].items(), ("metadata", read.metadata)]
        tell(codec.classes, read.thread_id, read.ns, read.id, held)
    return read


def resolved(codec: Codec, number: int, reads: Sequence[Read]) -> Plan[list[Read]]:
    """Checkpoints of one thread with the values of users in them; what was erased is absent."""
    refs = [refs_of(read) for read in reads]
    if not any(refs):
        return list(reads)
    rows = yield from owned.rows_of(number, chain.from_iterable(refs))
    return [
        told(codec, filled(read, owned.opened(codec, rows, held))) if held else read
        for read, held in zip(reads, refs, strict=True)
    ]


def refs_of(read: Read) -> list[Ref]:
    """What stands in a checkpoint, and in its writes, for values of users."""
    writes = (write[2] for write in read.writes)
    return owned.among(chain(read.checkpoint["channel_values"].values(), writes))


def filled(read: Read, values: Mapping[owned.Key, Any]) -> Read:
    """A checkpoint with values in the places of what stands for them."""
    channels = owned.in_place(read.checkpoint["channel_values"], values)
    writes = owned.written(read.writes, values)
    return replace(read, checkpoint={**read.checkpoint, "channel_values": channels}, writes=writes)


# ---- delta channels

_FEWEST, _MOST = 64, 1024  # ancestors in a page; a second one is four times as long
_STATEMENTS = 128  # that go to the database together


def delta_history(
    codec: Codec, thread_id: str, ns: str, id: str | None, channels: Sequence[str]
) -> Plan[dict[str, tuple[list[Pending], list[Any]]]]:
    """(writes oldest first, [seed] or []) of each channel, along the parents of a checkpoint."""
    key = thread_key(thread_id)
    asked = Ask("latest", (key, ns)) if id is None else Ask("checkpoint", (key, ns, id))
    rows = yield asked
    if not rows and id is not None:
        yield from gone.never_put(key, ns, id)
    writes: dict[str, list[Pending]] = {name: [] for name in channels}
    seeds: dict[str, list[Any]] = {name: [] for name in channels}
    if rows:
        row = loading.checked(rows[0])
        steps = _steps(codec.open_metadata(row.metadata, row.exact), channels)
        path, held = yield from lineage(row.thread, ns, row.parent, {row.id}, channels, steps)
        yield from _collect(codec, row.thread, ns, path, writes)
        values, _ = yield from loading.read_values(codec, row.thread, [Frame(held, {}, {})])
        for name, entry in held.items():
            seeds[name].append(loading.value_of(codec, given(name), entry, values))
        yield from owned.fill_history(codec, row.thread, writes, seeds)
        if codec.has_kept():
            held_now = [(given(name), value) for name in channels for value in seeds[name]]
            held_now += [(name, value) for each in writes.values() for _, name, value in each]
            tell(codec.classes, given(thread_id), given(ns), given(row.id), held_now)
    return {name: (writes[name][::-1], seeds[name]) for name in channels}


def _steps(metadata: Mapping[str, Any], channels: Sequence[str]) -> int:
    """How far the walk will go. LangGraph counts the steps; a wrong count only costs time."""
    counters = metadata.get("counters_since_delta_snapshot")
    try:
        return int(max(counters[given(name)][1] for name in channels)) + 1  # type: ignore[index]
    except (LookupError, TypeError, ValueError):
        return _FEWEST


class Stretch(NamedTuple):
    """Ancestors that stand next to each other by their ids as well: one range has their writes."""

    wants: frozenset[str]  # the channels that still need them
    ids: list[str]  # nearest first


def lineage(
    number: int,
    ns: str,
    start: str | None,
    walked: set[str],
    wanted: Collection[str],
    steps: int = _FEWEST,
) -> Plan[tuple[list[Stretch], dict[str, Entry]]]:
    """The ancestors, nearest first, up to where every wanted channel has a value; those values."""
    path: list[Stretch] = []
    found: dict[str, Entry] = {}
    wants = frozenset(wanted)
    page, size, before = _Page((), (), wants), max(1, min(steps, _MOST)), -2
    current = start
    while current is not None and wants and current not in walked:
        walked.add(current)
        if current not in page.steps:
            # Ids mostly follow the parents: a page by id has the next steps. Where they don't
            # (clocks differ), the parent heads a page of its own.
            here = (number, ns, current, size)
            rows, splices = yield [Ask("lineage", here), Ask("lineage_frames", (*here, number))]
            page, size, before = _Page(rows, splices, wants), min(max(size * 4, _FEWEST), _MOST), -2
            if current not in page.steps:
                # A pruned parent is an end like any other; with it goes what its tasks wrote.
                yield from gone.none_lost([(number, ns, current)])
                break
        at, (_, parent, ts, metadata, exact, *place, total) = page.steps[current]
        row = loading.row_sum(number, ns, current, parent, ts, metadata, exact, place)
        if not loading.same_row(row, total):
            raise CheckpointDamaged(f"checkpoint {current} fails its checksum")
        if at == before + 1 and path[-1].wants is wants:
            path[-1].ids.append(current)
        else:
            path.append(Stretch(wants, [current]))
        held = page.held(*place)
        if not wants.isdisjoint(held):
            found.update((name, entry) for name, entry in held.items() if name in wants)
            wants -= held.keys()
        current, before = parent, at
    return path, found


class _Page:
    """Checkpoints by falling ids, and what some channels hold in their frames.

    A strand of frames is looked at when the walk comes to it, and no further than it needs.
    """

    def __init__(
        self, rows: Iterable[Sequence[Any]], splices: Iterable[ReadRow], names: Collection[str]
    ) -> None:
        self.steps = {row[0]: (at, row) for at, row in enumerate(rows)}
        self._names = names
        self._splices: dict[int, list[ReadRow]] = {}
        for splice in splices:
            self._splices.setdefault(splice[0], []).append(splice)
        self._held: dict[tuple[int, int, int], Mapping[str, Entry]] = {}

    def held(self, strand: int, seq: int, length: int, chain: int) -> Mapping[str, Entry]:
        """The channels with a value in the frame at a place."""
        found = self._held.get((strand, seq, chain))
        if found is None:
            rows = [row for row in self._splices.get(strand, ()) if row[1] <= seq]
            rows.sort()
            strands.verify(rows, [Place(strand, seq, length, chain)])
            held = frames.held([row[6] for row in rows], self._names)
            for row, found in zip(rows, held, strict=True):
                self._held[strand, row[1], row[8]] = found
        return self._held[strand, seq, chain]


def _collect(
    codec: Codec, number: int, ns: str, path: Sequence[Stretch], writes: dict[str, list[Pending]]
) -> Plan[None]:
    """What the tasks of these checkpoints wrote to the channels that want it, newest first.

    What they wrote to others is looked at as well: none may be missing, nor be one of these that is
    damaged. It need not be loaded for that; of much, which may be large, only the number counts.
    """
    for start in range(0, len(path), _STATEMENTS):
        some = path[start : start + _STATEMENTS]
        answers = yield [
            Ask(
                " ".join((name, *["or_channel"] * (len(wants) - 1), "of_channels")),
                (number, ns, ids[-1], ids[0], *sorted(wants)),
            )
            for wants, ids in some
            for name in ("writes_between", "writes_beside")
        ]
        for (_, ids), wanted, others in zip(some, answers[::2], answers[1::2], strict=True):
            at: dict[str, list[Write]] = {id: [] for id in ids}
            beside: dict[str, list[Write]] = {id: [] for id in ids}
            for found, rows in ((at, wanted), (beside, others)):
                for checkpoint, *row in rows:
                    if checkpoint in found:
                        found[checkpoint].append(
                            Write(*(*row[:5], b"", row[6]))
                            if row[5] is None
                            else loading.checked_write(ns, checkpoint, row)
                        )
            for id, held in at.items():
                for task, mine in loading.by_task(held + beside[id]).items():
                    loading.refuse_half(ns, id, task, mine)
                held.sort(key=_order, reverse=True)
            ordered = [write for held in at.values() for write in held]
            values = loading.open_writes(codec, ordered)
            for write, value in zip(ordered, values, strict=True):
                writes[write.channel].append((given(write.task), given(write.channel), value))


def _order(write: Write) -> tuple[str, str, int]:
    """By what the writes of a checkpoint are ordered."""
    return given(write.path), given(write.task), write.idx
