"""What an export reads of a thread that is damaged: healed as any load is, and told of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph_wyrd.healing import reading
from langgraph_wyrd.healing.found import Found
from langgraph_wyrd.healing.mending import Mender
from langgraph_wyrd.healing.reading import is_foreign
from langgraph_wyrd.plans import carry
from langgraph_wyrd.plans.carry import Carried, Key, Spot
from langgraph_wyrd.plans.read import Pending
from langgraph_wyrd.store.names import stored, thread_key
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.values import Codec

Heals = tuple[Found, ...]


def these(
    codec: Codec, thread_id: str, keys: Sequence[Key]
) -> Plan[tuple[list[Carried | None], Heals]]:
    """These checkpoints; one that can't be read is left out, and said so."""
    try:
        return (yield from carry.these(codec, thread_id, keys)), ()
    except Exception as error:
        if is_foreign(error):
            raise
        first = error
    made: list[Carried | None] = []
    mender: Mender | None = None
    for ns, id in keys:
        place = stored(ns, "checkpoint_ns"), stored(id, "checkpoint_id")
        rows = yield Ask("checkpoint", (thread_key(thread_id), *place))
        if not rows:
            made.append(None)
            continue
        if mender is None:
            mender = Mender(codec, rows[0][0], thread_id)
        row = yield from mender.row(rows[0])
        one = None if row is None else (yield from mender.checkpoint(row))
        if row is None or one is None:
            what = "it can't be read, and is left out of an export"
            mender.note("left_out", *place, what, f"listed {place[1]}")
            made.append(None)
        else:
            placed = yield from mender.placed_writes(row.ns, row.id)
            made.append(Carried(one, _spots(placed, one.writes)))
    if mender is None or not mender.found:
        raise first
    return made, tuple(mender.found.values())


def _spots(
    placed: Sequence[tuple[tuple[str, str, int], Pending]], left: Sequence[Pending]
) -> list[Spot]:
    """Where the writes stand that are left; some may have been left out."""
    rest = list(left)
    return [
        Spot(*at)
        for at, (task, channel, _) in placed
        if rest and rest[0][:2] == (task, channel) and rest.pop(0)
    ]


def messages(codec: Codec, thread_id: str) -> Plan[tuple[list[Any] | None, Heals]]:
    """The conversation at the thread's head; see `carry.messages`."""
    head, _, heals = yield from reading.get(codec, thread_id, "", None, None)
    if head is None or not carry.says_messages_in_deltas(head):
        return (None if head is None else carry.messages_in(head)), heals
    found, more = yield from reading.delta_history(codec, thread_id, "", None, ["messages"])
    return carry.rebuilt(found), (*heals, *more)
