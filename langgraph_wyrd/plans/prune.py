"""Deleting: whole threads, runs, everything but the latest. What is deleted is gone.

Checkpoints share strands, so after some of them went, `settle` looks at what is left.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from langgraph_wyrd.plans import loading
from langgraph_wyrd.plans.keeping import bases, show_again
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.labels import there
from langgraph_wyrd.plans.read import lineage
from langgraph_wyrd.plans.settling import Key, Light, settle
from langgraph_wyrd.plans.shown import cleared
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.store.names import given, stored, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell
from langgraph_wyrd.store.values import Codec

logger = logging.getLogger("langgraph_wyrd")


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
            Tell("drop_all_user_data", [(number,)]),
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


def labelled(
    number: int, all_of_it: Sequence[Light], *, automatic: bool = True
) -> Plan[list[Light]]:
    """The checkpoints with a label, and the newest before each of the subgraphs that remember.

    `automatic`: with labels that were set on a boundary as well.
    """
    found: dict[Key, Light] = {}
    rows = yield from there(number)
    for label in sorted({row[1] for row in rows if automatic or not row[3]}):
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
