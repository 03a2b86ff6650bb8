"""Retention: which checkpoints and threads go, and what they weigh. `shed` lets them go."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from langgraph_wyrd.plans import loading, prune
from langgraph_wyrd.plans.settling import Key, Light
from langgraph_wyrd.retention import (
    Aged,
    Retention,
    Size,
    SizeReport,
    SweepReport,
    doomed,
    is_before,
    of_calls,
)
from langgraph_wyrd.store import frames
from langgraph_wyrd.store.names import given, made_at, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.values import Codec

_FRAMES = 256  # frames that are looked at together
_LATE = timedelta(hours=1)  # what has not come by then does not come
_SIZED = (
    "checkpoints", "splices", "writes", "events", "todos", "context", "open_loops", "intentions",
    "labels", "heals", "quarantine", "user_data",
)  # fmt: skip


def gone(
    codec: Codec,
    number: int,
    rule: Retention,
    all_of_it: Sequence[Light],
    within: Collection[Key] | None = None,
) -> Plan[set[Key]]:
    """The checkpoints of a thread that are not kept; `within`: only of these."""
    rows = list(map(Aged._make, (yield Ask("ages", (number,)))))
    labels = yield from _labelled(number, rule, all_of_it)
    starts = yield from prune.starts(codec, number, all_of_it)
    found = doomed(rule, rows, labels, datetime.now(timezone.utc), starts)
    if within is not None:
        found &= set(within)
    needed = yield from prune.needed_by_deltas(codec, number, all_of_it, found)
    if needed:  # they stay whole, with their subgraphs' calls
        needed |= of_calls(rows, needed, starts)
    return found - needed


def _labelled(number: int, rule: Retention, all_of_it: Sequence[Light]) -> Plan[set[Key]]:
    """What the labels keep."""
    if not rule.keep_labels:
        return set()
    automatic = rule.keep_labels == "all"
    kept = yield from prune.labelled(number, all_of_it, automatic=automatic)
    return {light.key for light in kept}


def named(codec: Codec, number: int, lights: Sequence[Light]) -> Plan[dict[int, int]]:
    """The strands that checkpoints name, and the newest version of each that they do."""
    found: dict[int, int] = {}

    def name(place: Place) -> None:
        found[place.strand] = max(place.seq, found.get(place.strand, -1))

    at = sorted({light.place for light in lights})
    for start in range(0, len(at), _FRAMES):
        held = yield from loading.read_frames(codec, number, at[start : start + _FRAMES])
        for each in (*held, *(p for some in frames.places(held.values()).values() for p in some)):
            name(each)
    return found


# ---- rows of checkpoints that are not there


def strays(number: int, all_of_it: Sequence[Light]) -> Plan[list[Key]]:
    """Checkpoints that are not there, but have rows, and won't come any more.

    Writes may be stored before their checkpoint; an hour later it does not come.
    """
    answers = yield [Ask("stray_writes", (number,)), Ask("stray_events", (number,))]
    found = {(ns, id) for rows in answers for ns, id in rows}
    newest = max((light.id for light in all_of_it), default=None)
    end = made_at(newest)
    if not found or end is None:
        return []
    return sorted(
        key for key in found if (moment := made_at(key[1])) is not None and moment < end - _LATE
    )


# ---- weighing


def weigh(codec: Codec, thread_id: str, rule: Retention) -> Plan[SweepReport]:
    """What would go of a thread."""
    found = yield Ask("thread_state", (thread_key(thread_id),))
    if not found:
        return SweepReport()
    number = found[0][0]
    rows = yield Ask("checkpoint_ids", (number,))
    all_of_it = list(map(Light._make, rows))
    over = yield from strays(number, all_of_it)
    going: set[Key] = set()
    if rule.by_checkpoint:
        going = yield from gone(codec, number, rule, all_of_it)
    if not going and not over:
        return SweepReport()
    keep = [light for light in all_of_it if light.key not in going]
    held = (yield from named(codec, number, keep)) if going else None
    weight = yield from _weighed(number, {*going, *over}, held)
    return replace(weight, checkpoints=len(going), orphans=len(over))


def _weighed(
    number: int, some: Collection[Key] | None, held: Collection[int] | None
) -> Plan[SweepReport]:
    """Rows and bytes of some checkpoints (None: all), and of strands that nothing else names."""
    writes, events, strands = yield [
        Ask("writes_weighed", (number,)),
        Ask("events_weighed", (number,)),
        Ask("strands_weighed", (number,)),
    ]
    writes = [row for row in writes if some is None or (row[0], row[1]) in some]
    events = [row for row in events if some is None or (row[0], row[1]) in some]
    if some is not None:
        strands = [row for row in strands if held is not None and row[0] not in held]
    return SweepReport(
        writes=sum(row[2] for row in writes),
        events=sum(row[2] for row in events),
        splices=sum(row[1] for row in strands),
        bytes=sum(int(row[-1] or 0) for rows in (writes, events, strands) for row in rows),
    )


# ---- whole threads


def alive() -> Plan[int]:
    """How many threads there are."""
    count: int = (yield Ask("threads_alive"))[0][0]
    return count


def page(after: int, size: int) -> Plan[list[tuple[int, str]]]:
    """The next threads, in the order in which they were made."""
    rows = yield Ask("threads_page", (after, size))
    return [(number, id) for number, id in rows]


def idle(rule: Retention, limit: int) -> Plan[list[str]]:
    """Threads that nobody wrote to for longer than the rule allows, the oldest first."""
    if rule.thread_ttl is None:
        return []
    rows = yield Ask("idle_threads", (_before(rule.thread_ttl), limit))
    return [row[0] for row in rows]


def expire(thread_id: str, rule: Retention, *, dry_run: bool = False) -> Plan[SweepReport]:
    """Delete a thread that is still idle. A late write of its runs is refused, as ever."""
    assert rule.thread_ttl is not None
    asked = "thread_state" if dry_run else "lock_to_bury"
    found = yield Ask(asked, (thread_key(thread_id),))
    if not found or not (yield Ask("still_idle", (found[0][0], _before(rule.thread_ttl)))):
        return SweepReport()
    number = found[0][0]
    rows = yield Ask("checkpoint_ids", (number,))
    if (yield from _labelled(number, rule, list(map(Light._make, rows)))):
        return SweepReport()
    weight = yield from _weighed(number, None, None)
    if not dry_run:
        yield from prune.delete_thread(thread_id)
    return replace(weight, threads=1, checkpoints=len(rows))


def _before(age: timedelta) -> str:
    return (datetime.now(timezone.utc) - age).isoformat()


def forget_tombstones(age: timedelta, limit: int, *, dry_run: bool = False) -> Plan[int]:
    """Forget threads that were deleted long ago; how many. From then on late writes of theirs are
    not known to be late."""
    rows = yield Ask("old_tombstones", (_before(age), limit))
    if rows and not dry_run:
        yield Tell("drop_tombstone", [(id,) for id, _ in rows])
        yield Tell("drop_name", [(key, id) for id, key in rows])
    return len(rows)


# ---- as threads are written


def due(thread_id: str, rule: Retention, slack: int) -> Plan[bool]:
    """Whether it is worth a look: more checkpoints than are kept, or too old ones."""
    found = yield Ask("thread_state", (thread_key(thread_id),))
    if not found:
        return False
    number = found[0][0]
    if rule.keep_last is not None and (yield Ask("one_too_many", (number, rule.keep_last + slack))):
        return True
    if rule.max_age is None:
        return False
    rows = yield Ask("oldest_root", (number,))
    return bool(rows) and is_before(rows[0][0], datetime.now(timezone.utc) - rule.max_age)


# ---- space


def sizes(limit: int) -> Plan[SizeReport]:
    """Rows and bytes by table, and of the largest threads."""
    ((on_disk, free),) = yield Ask("on_disk")
    names = {row[0]: (row[1], bool(row[2])) for row in (yield Ask("thread_names"))}
    tables: dict[str, Size] = {}
    by_thread: dict[int, dict[str, Size]] = {}
    for table in _SIZED:
        rows = yield Ask(f"size_{table}")
        tables[table] = sum((Size(count, int(held or 0)) for _, count, held in rows), Size())
        for number, count, held in rows:
            by_thread.setdefault(number, {})[table] = Size(count, int(held or 0))
    tables["threads"] = Size(len(names), sum(len(name) for name, _ in names.values()))

    def weight(number: int) -> int:
        return sum(size.bytes for size in by_thread[number].values())

    largest = sorted(by_thread, key=weight, reverse=True)[:limit]
    threads = {given(names[number][0]): by_thread[number] for number in largest if number in names}
    return SizeReport(int(on_disk), None if free is None else int(free), tables, threads)
