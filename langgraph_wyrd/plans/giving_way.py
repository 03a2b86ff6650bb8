"""What is damaged of a task's writes gives way to what the task stores when it runs again.

Only where a load told of damage: a write that is stored is otherwise a retry, and stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.plans import loading, owned
from langgraph_wyrd.plans.loading import Write
from langgraph_wyrd.plans.sums import write_away
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.store.refs import Ref
from langgraph_wyrd.store.statements import Ask, Plan
from langgraph_wyrd.store.values import Codec


def make_room(codec: Codec, number: int, ns: str, checkpoint: str, task: str) -> Plan[None]:
    """Move what no load can use of a task's writes to wyrd_quarantine.

    Half a result is none: with a row that is damaged or missing go the others of its task, as the
    new ones must not be mixed with them. Not so if another checkpoint goes on from this one: what
    its delta channels are rebuilt from stays.
    """
    found = yield Ask("writes", (number, ns, checkpoint))
    mine = [row for row in found if row[0] == task and type(row[1]) is int]
    sound: list[Write] = []
    gone: list[Sequence[Any]] = []
    for row in mine:
        write = yield from _sound(codec, number, ns, checkpoint, row)
        if write is not None:
            sound.append(write)
        elif row[1] >= 0:
            gone.append(row)
    if sound and not gone:
        try:
            loading.refuse_half(ns, checkpoint, task, sound)
            return
        except CheckpointDamaged:  # one is missing
            pass
    if not (yield Ask("goes_on", (number, ns, checkpoint))):
        gone += [write for write in sound if write.idx >= 0]
    for row in gone:
        yield from write_away(number, ns, checkpoint, row, now())


def _sound(
    codec: Codec, number: int, ns: str, checkpoint: str, row: Sequence[Any]
) -> Plan[Write | None]:
    """A write that can be read, with what it stands for; None if it can't."""
    try:
        write = loading.checked_write(ns, checkpoint, row)
        value = codec.open_value(write.shape, write.data)
        if type(value) is Ref:
            yield from owned.values_of(codec, number, [value])
        return write
    except CheckpointDamaged:
        return None
