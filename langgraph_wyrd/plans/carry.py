"""A thread on its way to another database, or from one: whole checkpoints, and the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.extraction.messages import conversation, listed
from langgraph_wyrd.plans import loading, moments
from langgraph_wyrd.plans.beside import iso
from langgraph_wyrd.plans.keeping import show_again
from langgraph_wyrd.plans.ledger import event_sum, is_sound
from langgraph_wyrd.plans.read import Pending, Read, delta_history, get, read_of, resolved
from langgraph_wyrd.plans.threads import added, now
from langgraph_wyrd.state.overlay import EDIT
from langgraph_wyrd.store.names import given, stored, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec

Key = tuple[str, str]  # namespace, checkpoint id: as they were given


class Spot(NamedTuple):
    """Where a write stands: what orders the writes of a checkpoint."""

    path: str
    task: str
    idx: int


@dataclass(frozen=True, slots=True)
class Carried:
    """A checkpoint as it was stored, and where each of its writes stands."""

    read: Read
    spots: list[Spot]


@dataclass(frozen=True, slots=True)
class Outline:
    """Which checkpoints a thread has, under which parents, and how many writes each.

    The lowest number of a write is below zero where there are control writes, which may be
    replaced; all others stay as they are.
    """

    parents: dict[Key, str | None]
    writes: dict[Key, tuple[int, int]]  # how many, the lowest number

    def fixed(self, key: Key) -> bool:
        """Whether the writes of a checkpoint may only grow in number."""
        return self.writes.get(key, (0, 0))[1] >= 0


def in_order(outline: Outline) -> list[Key]:
    """Parents before children, else by their ids."""
    parents = outline.parents
    order: dict[Key, None] = {}
    for first in sorted(parents, key=lambda key: (key[1], key[0])):
        path, key = [], first
        while key in parents and key not in order and key not in path:
            path.append(key)
            key = (key[0], parents[key] or "")
        order.update(dict.fromkeys(reversed(path)))
    return list(order)


def counted() -> Plan[list[tuple[str, int]]]:
    """The threads, and how many checkpoints each has."""
    rows = yield Ask("threads_counted")
    return [(given(id), count) for id, count in rows]


def outline(thread_id: str) -> Plan[Outline]:
    found = yield Ask("find_thread", (thread_key(thread_id),))
    if not found:
        return Outline({}, {})
    number = found[0][0]
    rows, writes = yield [Ask("parents_of", (number,)), Ask("writes_counted", (number,))]
    return Outline(
        {(given(ns), given(id)): parent and given(parent) for ns, id, parent in rows},
        {(given(ns), given(id)): (count, lowest) for ns, id, count, lowest in writes},
    )


def these(codec: Codec, thread_id: str, keys: Sequence[Key]) -> Plan[list[Carried | None]]:
    """These checkpoints; what they share is read once."""
    thread = thread_key(thread_id)
    asked = [(stored(ns, "checkpoint_ns"), stored(id, "checkpoint_id")) for ns, id in keys]
    answers = yield [Ask("checkpoint", (thread, *key)) for key in asked]
    rows = [loading.checked(answer[0]) if answer else None for answer in answers]
    there = [row for row in rows if row is not None]
    if not there:
        return [None] * len(rows)
    number = there[0].thread
    frames = yield from loading.read_frames(codec, number, [row.place for row in there])
    values, _ = yield from loading.read_values(codec, number, list(frames.values()))
    writes = yield [Ask("writes", (number, row.ns, row.id)) for row in there]
    made: dict[loading.Stored, Carried] = {}
    for row, answer in zip(there, writes, strict=True):
        held = loading.loaded_writes(codec, row.ns, row.id, answer)
        read = read_of(codec, row, frames[row.place], values, [write for _, write in held])
        (read,) = yield from resolved(codec, number, [read])
        made[row] = Carried(read, [Spot(*at) for at, _ in held])
    return [None if row is None else made[row] for row in rows]


def messages(codec: Codec, thread_id: str) -> Plan[list[Any] | None]:
    """The conversation at the thread's head; None if there is none, or it can't be rebuilt."""
    head, _ = yield from get(codec, thread_id, "", None, None)
    if head is None:
        return None
    if says_messages_in_deltas(head):
        return rebuilt((yield from delta_history(codec, thread_id, "", None, ["messages"])))
    return messages_in(head)


def says_messages_in_deltas(head: Read) -> bool:
    told = head.checkpoint
    return "messages" not in told["channel_values"] and "messages" in told["channel_versions"]


def messages_in(head: Read) -> list[Any] | None:
    return listed(head.checkpoint["channel_values"].get("messages"))


def rebuilt(history: dict[str, tuple[list[Pending], list[Any]]]) -> list[Any] | None:
    writes, seed = history["messages"]
    return conversation(seed, [value for _, _, value in writes])


# ---- the ledger, between two databases of ours


@dataclass(frozen=True, slots=True)
class Told:
    """What one checkpoint and its tasks say: rows of the ledger, unsealed; what derives of it."""

    key: Key
    events: list[Row]  # task, n, pillar, op, item, body, source


@dataclass(frozen=True, slots=True)
class Times:
    """When a thread was made and used last; whose it is; whether it was ever woven."""

    created: str
    updated: str
    status: str | None
    user: str | None


def told(codec: Codec, thread_id: str, keys: Iterable[Key]) -> Plan[list[Told]]:
    """The ledger of these checkpoints, to be told elsewhere."""
    found = yield Ask("find_thread", (thread_key(thread_id),))
    if not found:
        return []
    asked = [(stored(ns, "checkpoint_ns"), stored(id, "checkpoint_id")) for ns, id in keys]
    answers = yield [Ask("events", (found[0][0], ns, id, id)) for ns, id in asked]
    made = []
    for (ns, id), rows in zip(asked, answers, strict=True):
        if not all(is_sound(ns, row, codec) for row in rows):
            raise CheckpointDamaged(
                f"what checkpoint {id} of thread {given(thread_id)!r} says in the ledger is "
                "damaged: have verify(repair=True) look at the thread first"
            )
        made.append(Told((ns, id), [_unsealed(codec, row) for row in rows]))
    return made


def _unsealed(codec: Codec, row: Row) -> Row:
    _, task, n, pillar, op, item, body, source, _ = row
    return task, n, pillar, op, item, codec.open_text(body), source


def retell(codec: Codec, thread_id: str, said: Sequence[Told]) -> Plan[int]:
    """Let the ledger of these checkpoints say what it says elsewhere; how many said otherwise.

    What somebody edited here only stays.
    """
    found = yield Ask("lock_to_bury", (thread_key(thread_id),))
    if not found:
        return 0
    number, changed = found[0][0], 0
    answers = yield [
        Ask("events", (number, each.key[0], each.key[1], each.key[1])) for each in said
    ]
    for each, rows in zip(said, answers, strict=True):
        here = [_unsealed(codec, row) for row in rows]
        tasks = {task for task, *_ in each.events}
        ours = [row for row in here if row[0].startswith(EDIT) and row[0] not in tasks]
        wanted = [*each.events, *ours]
        if _meaning(here) == _meaning(wanted):
            continue
        changed += 1
        (row,) = yield Ask("checkpoint_row", (number, *each.key))
        own = sum(not task for task, *_ in each.events)
        due, root, total = row[-3:]
        total = loading.with_derived(total, due, root, own)
        yield Tell("set_derived", [(due, root, total, number, *each.key)])
        yield Tell("drop_checkpoint_events", [(number, *each.key)])
        yield Tell(
            "put_event",
            [
                (number, *row, event_sum(*row))
                for task, n, pillar, op, item, body, source in wanted
                for row in [(*each.key, task, n, pillar, op, item, codec.seal_text(body), source)]
            ],
        )
    return changed


def _meaning(rows: Iterable[Row]) -> list[Row]:
    """Rows of the ledger, however their JSON is written."""
    in_order = sorted(rows, key=lambda row: row[:2])
    return [(*row[:5], json.loads(row[5]), json.loads(row[6])) for row in in_order]


def times(thread_id: str) -> Plan[Times]:
    number = yield from moments.number_of(thread_id)
    created, updated, status, user = (yield Ask("thread_times", (number,)))[0]
    return Times(iso(created), iso(updated), status, user)


# ---- arriving


def expect(thread_id: str) -> Plan[None]:
    """Make room for a thread that a person brings back: what was deleted before is no matter."""
    if not (yield Ask("lock_thread", (thread_key(thread_id),))):
        yield from added(thread_id, None)


def arrived(codec: Codec, thread_id: str, there: Times | None, *, show: bool) -> Plan[None]:
    """Give a thread its own times; its tables anew, where the ledger was changed."""
    found = yield Ask("lock_to_bury", (thread_key(thread_id),))
    if not found:
        return
    number, _, strands, _ = found[0]
    if show:
        yield from show_again(codec, number, thread_id, None if there is None else there.user)
    yield Tell("touch", [(strands, now(), number)])
    if there is not None:
        yield Tell("set_times", [(there.created, there.updated, number)])
        return
    first, last = (yield Ask("first_and_last", (number,)))[0]
    if first is not None:
        yield Tell("set_times", [(first, last, number)])
