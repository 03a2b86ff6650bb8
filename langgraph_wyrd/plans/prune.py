"""Deleting: whole threads, runs, everything but the latest. What is deleted is gone.

Checkpoints share strands, so after some of them went, `settle` looks at what is left: a strand
that nobody names is dropped, one that goes on beyond what is named is cut, and one that holds
elements of no kept version is written anew without them.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from langgraph_wyrd.plans import loading
from langgraph_wyrd.plans.keeping import bases, show_again
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.read import lineage
from langgraph_wyrd.plans.shown import cleared
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.plans.write import FRAME_SLACK
from langgraph_wyrd.store import frames
from langgraph_wyrd.store.blocks import PLAIN
from langgraph_wyrd.store.frames import EMPTY, Frame
from langgraph_wyrd.store.names import given, stored, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell
from langgraph_wyrd.store.strands import Place, Row, edits, replay_list, splice
from langgraph_wyrd.store.values import Codec, kind

logger = logging.getLogger("langgraph_wyrd")

Key = tuple[str, str]  # namespace, checkpoint id


class Light(NamedTuple):
    """A checkpoint without what it says."""

    ns: str
    id: str
    parent: str | None
    run_id: str | None
    strand: int
    seq: int
    length: int
    chain: int

    @property
    def key(self) -> Key:
        return (self.ns, self.id)

    @property
    def place(self) -> Place:
        return Place(self.strand, self.seq, self.length, self.chain)


def delete_thread(thread_id: str) -> Plan[int]:
    """Everything of a thread; its number stays, so that late writes are known to be late.

    Gives how many checkpoints are deleted, as the others here do.
    """
    found = yield Ask("lock_to_bury", (thread_key(thread_id),))
    count = 0
    if found:
        number, moment = found[0][0], now()
        count = (yield Ask("count_checkpoints", (thread_key(thread_id),)))[0][0]
        yield [
            Tell("bury_thread", [(moment, moment, number)]),
            Tell("drop_all_checkpoints", [(number,)]),
            Tell("drop_all_splices", [(number,)]),
            Tell("drop_all_writes", [(number,)]),
            Tell("drop_all_events", [(number,)]),
            Tell("drop_all_labels", [(number,)]),
            Tell("drop_lease", [(thread_key(thread_id),)]),
            Tell("drop_all_heals", [(number,)]),
            Tell("drop_all_quarantine", [(number,)]),
            *cleared(number),
        ]
    return count


def threads_of_runs(run_ids: Sequence[str]) -> Plan[list[str]]:
    """The threads in which these runs left checkpoints."""
    answers = yield [Ask("runs", (run_id,)) for run_id in run_ids]
    return sorted({thread_id for rows in answers for (thread_id,) in rows})


def delete_runs(codec: Codec, thread_id: str, run_ids: Sequence[str]) -> Plan[int]:
    """The checkpoints of these runs in one thread, and their writes."""
    thread, all_of_it = yield from locked(thread_id)
    if thread is None:
        return 0
    wanted = set(run_ids)
    gone = {light.key for light in all_of_it if light.run_id in wanted}
    if gone:
        needed = yield from needed_by_deltas(codec, thread.number, all_of_it, gone)
        if needed:
            logger.warning(
                "thread %r: %d checkpoints of the runs to be deleted are kept, because delta "
                "channels of later checkpoints are rebuilt from them",
                given(thread_id),
                len(needed),
            )
        gone -= needed
        yield from drop(codec, thread, thread_id, all_of_it, gone)
    return len(gone)


def keep_latest(codec: Codec, thread_id: str) -> Plan[int]:
    """Only the latest checkpoint of each namespace, and what its delta channels are rebuilt from.

    The namespace of a subgraph's call (a task id behind a colon) goes with the checkpoint that the
    call started from: one of the root, or of a subgraph that lives on. What has a label stays, with
    what its subgraphs remembered by then.
    """
    thread, all_of_it = yield from locked(thread_id)
    if thread is None:
        return 0
    heads = {light.ns: light for light in all_of_it}  # ordered by id: the last one stands
    wanted = [*heads.values(), *(yield from labelled(thread.number, all_of_it))]
    rows = yield [Ask("checkpoint_row", (thread.number, each.ns, each.id)) for each in wanted]
    kept: set[Key] = set()
    metadata: dict[Key, dict[str, Any]] = {}
    for each, answer in zip(wanted, rows, strict=True):
        found = metadata[each.key] = codec.open_metadata(*answer[0][7:9])
        kept |= {each.key, *(yield from _rebuilt_from(codec, thread.number, each, found))}
    there = {light.key for light in all_of_it}
    for ns in sorted(heads):  # outer ones first
        started = start_of(ns, metadata[heads[ns].key])
        if started in there and started not in kept:
            kept = {key for key in kept if key[0] != ns}
    gone = there - kept
    yield from drop(codec, thread, thread_id, all_of_it, gone)
    return len(gone)


def start_of(ns: str, metadata: dict[str, Any]) -> Key | None:
    """The checkpoint that a subgraph's call started from; None: it is no call, or does not say."""
    outer = ns.rpartition("|")[0]
    parents = metadata.get("parents")
    if ":" not in ns or not isinstance(parents, dict):
        return None
    space = outer if given(outer) in parents else ""
    id = parents.get(given(space))
    return (space, stored(id, "a parent")) if isinstance(id, str) else None


def starts(codec: Codec, number: int, all_of_it: Sequence[Light]) -> Plan[dict[str, Key]]:
    """Where each subgraph's call started, as its newest checkpoint has it."""
    heads = {light.ns: light for light in all_of_it if ":" in light.ns}
    rows = yield [Ask("checkpoint_row", (number, h.ns, h.id)) for h in heads.values()]
    found = {row[0][0]: start_of(row[0][0], codec.open_metadata(*row[0][7:9])) for row in rows}
    return {ns: start for ns, start in found.items() if start is not None}


def labelled(number: int, all_of_it: Sequence[Light]) -> Plan[list[Light]]:
    """The checkpoints with a label, and the newest before each of the subgraphs that remember."""
    found: dict[Key, Light] = {}
    for label in sorted({row[1] for row in (yield Ask("labels", (number,)))}):
        for light in all_of_it:  # ordered by namespace and id: the last one stands
            if light.ns == "" and light.id == label:
                found[light.key] = light
        memories = {
            light.ns: light for light in all_of_it if remembers(light.ns) and light.id < label
        }
        found.update((light.key, light) for light in memories.values())
    return list(found.values())


def remembers(ns: str) -> bool:
    """Whether a subgraph goes on in its namespace from call to call: no task's id is in it."""
    return ns != "" and ":" not in ns


# ---- what is kept for delta channels


def _delta_channels(metadata: dict[str, Any]) -> set[str]:
    """The channels whose value is not in the checkpoint but in the writes before it."""
    counters = metadata.get("counters_since_delta_snapshot")
    return {stored(name, "a channel") for name in counters} if isinstance(counters, dict) else set()


def _rebuilt_from(
    codec: Codec, number: int, light: Light, metadata: dict[str, Any]
) -> Plan[set[Key]]:
    """The ancestors that a checkpoint's delta channels need."""
    wanted = _delta_channels(metadata)
    if not wanted:
        return set()
    held = yield from loading.read_frames(codec, number, [light.place])
    channels = held[light.place].channels
    wanted = {n for n in wanted if n in channels and not channels[n].has_value}
    path, _ = yield from lineage(number, light.ns, light.parent, {light.id}, wanted)
    return {(light.ns, id) for stretch in path for id in stretch.ids}


def needed_by_deltas(
    codec: Codec, number: int, all_of_it: Sequence[Light], gone: Collection[Key]
) -> Plan[set[Key]]:
    """Which of the checkpoints to be deleted those that stay are rebuilt from."""
    needed: set[Key] = set()
    for light in all_of_it:
        if light.key in gone or light.parent is None or (light.ns, light.parent) not in gone:
            continue
        rows = yield Ask("checkpoint_row", (number, light.ns, light.id))
        metadata = codec.open_metadata(*rows[0][7:9])
        path = yield from _rebuilt_from(codec, number, light, metadata)
        needed |= path & set(gone)
    return needed


# ---- dropping


def locked(thread_id: str) -> Plan[tuple[Known | None, list[Light]]]:
    """A thread that nobody else changes now, and all its checkpoints."""
    found = yield Ask("lock_to_bury", (thread_key(thread_id),))
    if not found:
        return None, []
    rows = yield Ask("checkpoint_ids", (found[0][0],))
    return Known.locked(found[0]), list(map(Light._make, rows))


def drop(
    codec: Codec,
    thread: Known,
    thread_id: str,
    all_of_it: Sequence[Light],
    gone: Collection[Key],
) -> Plan[None]:
    """Take checkpoints out of a thread, and what only they have."""
    if not gone:
        return
    number = thread.number
    cut = [
        each.key for each in all_of_it if each.key not in gone and (each.ns, each.parent) in gone
    ]
    held = yield from bases(codec, number, thread_id, cut)
    yield rows_of(number, gone)
    if held:
        yield Tell("put_event", held)
    kept = [light for light in all_of_it if light.key not in gone]
    strands = yield from settle(codec, thread, kept, adopted(all_of_it, gone))
    yield Tell("tidy", [(strands, number)])
    if (yield Ask("thread_status", (number,)))[0][0] is not None:  # None: the pillars were off
        yield from show_again(codec, number, thread_id)


def rows_of(number: int, gone: Iterable[Key]) -> list[Tell]:
    """Everything of these checkpoints but their values goes."""
    keys = sorted(gone)
    doomed = [(number, *key) for key in keys]
    return [
        Tell("drop_writes", doomed),
        Tell("drop_checkpoint", doomed),
        Tell("drop_checkpoint_events", doomed),
        Tell("drop_labels", [(number, id) for ns, id in keys if ns == ""]),
    ]


def adopted(all_of_it: Sequence[Light], gone: Collection[Key]) -> dict[Key, str | None]:
    """Other parents for those that stay: the nearest ancestors that stay as well."""
    parents = {light.key: light.parent for light in all_of_it}
    found: dict[Key, str | None] = {}
    for light in all_of_it:
        if light.key in gone:
            continue
        parent = light.parent
        while parent is not None and (light.ns, parent) in gone:
            parent = parents[(light.ns, parent)]
        if parent != light.parent:
            found[light.key] = parent
    return found


def settle(
    codec: Codec, thread: Known, kept: Sequence[Light], adopted: dict[Key, str | None]
) -> Plan[int]:
    """Make the strands hold what the kept checkpoints name, and no more. Gives the strand count."""
    number = thread.number
    held = yield from loading.read_frames(codec, number, {light.place for light in kept})
    values = frames.places(held.values())
    shapes = {
        entry.place.strand: entry.shape
        for frame in held.values()
        for entry in frame.channels.values()
        if entry.place is not None
    }
    of_frames: dict[int, set[Place]] = {}
    for light in kept:
        of_frames.setdefault(light.strand, set()).add(light.place)
    newest = dict((yield Ask("strands_of", (number,))))
    for strand, seq in sorted(newest.items()):
        named = values.get(strand) or of_frames.get(strand)
        if named is None:
            yield Tell("drop_strand", [(number, strand)])
        elif max(place.seq for place in named) < seq:
            yield Tell("cut_strand", [(number, strand, max(place.seq for place in named))])
    strands = thread.strands
    moved: dict[Place, Place] = {}
    for strand in sorted(values):
        if (yield from _holds_more(number, shapes[strand], strand, values[strand])):
            strands += 1
            rows, places = yield from _rewoven(
                codec, number, shapes[strand], strand, values[strand], strands
            )
            moved.update(places)
            yield [
                Tell("put_splice", [(number, *row) for row in rows]),
                Tell("drop_strand", [(number, strand)]),
            ]
    at: dict[Place, Place] = {}
    for strand in sorted(of_frames):
        places_here = sorted(of_frames[strand], key=lambda place: place.seq)
        whole = len({place.seq for place in places_here}) == places_here[-1].seq + 1
        if whole and not any(_names(held[place], moved) for place in places_here):
            continue
        rows, strands = _frame_rows([_moved(held[p], moved) for p in places_here], strands)
        yield [
            Tell("put_splice", [(number, *row) for row in rows]),
            Tell("drop_strand", [(number, strand)]),
        ]
        for place, row in zip(places_here, rows, strict=True):
            at[place] = Place(row.strand, row.seq, place.length, row.chain)
    changed = [light for light in kept if light.place in at or light.key in adopted]
    yield from rewrite(number, changed, at, adopted)
    return strands


def rewrite(
    number: int,
    changed: Sequence[Light],
    at: dict[Place, Place],
    adopted: dict[Key, str | None],
) -> Plan[None]:
    """The rows of checkpoints whose frame moved, or whose parent is another."""
    for light in changed:
        rows = yield Ask("checkpoint_row", (number, light.ns, light.id))
        ns, id, parent, ts, step, source, run_id, metadata, exact = rows[0][:9]
        due, root, stored_sum = rows[0][-3:]
        was = (number, ns, id, parent, ts, metadata, exact, rows[0][9:13])
        parent = adopted.get(light.key, parent)
        place = at.get(light.place, light.place)
        same = (number, ns, id, parent, ts, metadata, exact, place)
        total = loading.sum_again(stored_sum, was, same)
        row = (
            number, ns, id, parent, ts, step, source, run_id, metadata, exact, *place, total, due,
            root,
        )  # fmt: skip
        yield Tell("put_checkpoint", [row])


def _holds_more(number: int, shape: str, strand: int, places: Collection[Place]) -> Plan[bool]:
    """Whether some element of a strand is in none of these versions."""
    wanted = {place.seq for place in places}
    rows = yield Ask("strand_shape", (number, strand, max(wanted)))
    cuts = [cut for _, _, _, cut, _ in rows]
    if kind(shape) == "l" and not any(cuts):
        return False  # a list that only grew: the last version has every element
    return len({row[0] for row in rows}) > len(wanted)


def _rewoven(
    codec: Codec, number: int, shape: str, strand: int, places: Collection[Place], fresh: int
) -> Plan[tuple[list[Row], dict[Place, Place]]]:
    """A strand with only these versions, under a new number."""
    loaded = yield from loading.read_strands(codec, number, {strand: set(places)})
    held = loaded[strand]
    order = sorted(places, key=lambda place: place.seq)
    wanted = {place.seq for place in places}
    if kind(shape) == "d":
        versions = loading.live_elements(shape, held, wanted)
        return _rewoven_dict(codec, [(p, versions[p.seq]) for p in order], fresh)
    pool = held.elements  # elements by number, so that equal ones are not confused
    by_seq = replay_list(held.rows, list(range(len(pool))), wanted)
    rows: list[Row] = []
    moved: dict[Place, Place] = {}
    before: list[int] = []
    chain = 0
    for seq, place in enumerate(order):
        now_there = by_seq[place.seq]
        made = edits(before, now_there) if seq else [(0, 0, 0, len(now_there))]
        for part, (keep, cut, start, stop) in enumerate(made):
            new = [pool[name] for name in now_there[start:stop]]
            data = codec.block(new) if new or not seq else b""
            rows.append(splice(fresh, seq, part, keep, cut, len(new), data, chain))
            chain = rows[-1].chain
        moved[place] = Place(fresh, rows[-1].seq, place.length, chain)
        before = now_there
    return rows, moved


def _rewoven_dict(
    codec: Codec, versions: Sequence[tuple[Place, list[bytes]]], fresh: int
) -> tuple[list[Row], dict[Place, Place]]:
    rows: list[Row] = []
    moved: dict[Place, Place] = {}
    before: dict[bytes, bytes] = {}
    chain = 0
    for seq, (place, elements) in enumerate(versions):
        entries = {codec.entry_key(element): element for element in elements}
        gone = [key for key in before if key not in entries]
        put = [key for key, element in entries.items() if before.get(key) != element]
        kept = [key for key in before if key in entries]
        if kept + [key for key in put if key not in before] != list(entries):
            gone, put = list(before), list(entries)
        new = [PLAIN + key for key in gone] + [entries[key] for key in put]
        rows.append(splice(fresh, seq, 0, 0, len(gone), len(put), codec.block(new), chain))
        chain = rows[-1].chain
        moved[place] = Place(fresh, seq, place.length, chain)
        before = entries
    return rows, moved


@dataclass(slots=True)
class _FrameStrand:
    strand: int
    seq: int
    chain: int
    bytes: int
    whole: int
    frame: Frame


def _frame_rows(held: Sequence[Frame], strands: int) -> tuple[list[Row], int]:
    """Patches for these frames, one behind the other, on new strands."""
    rows: list[Row] = []
    tip: _FrameStrand | None = None
    for frame in held:
        packed = None
        if tip is not None and tip.bytes <= 2 * tip.whole + FRAME_SLACK:
            packed = frames.patch(tip.frame, frame)
        if tip is None or packed is None:
            packed = frames.patch(EMPTY, frame)
            assert packed is not None
            strands += 1
            tip = _FrameStrand(strands, -1, 0, 0, len(packed), EMPTY)
        row = splice(tip.strand, tip.seq + 1, 0, 0, 0, 1, packed, tip.chain)
        tip.seq, tip.chain, tip.frame = row.seq, row.chain, frame
        tip.bytes += len(packed)
        rows.append(row)
    return rows, strands


def _names(frame: Frame, moved: dict[Place, Place]) -> bool:
    return any(entry.place in moved for entry in frame.channels.values())


def _moved(frame: Frame, moved: dict[Place, Place]) -> Frame:
    channels = {
        name: entry._replace(place=moved.get(entry.place, entry.place)) if entry.place else entry
        for name, entry in frame.channels.items()
    }
    return replace(frame, channels=channels)
