"""What a load had to heal: in the log, and once in wyrd_heals."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal, NamedTuple

from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.checkpoints.put import now
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import insert
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.storage.tables import HEALS, HealRow, Key

logger = logging.getLogger("langgraph_wyrd")

Kind = Literal["exact", "left_out", "ancestor", "empty"]
_RECORD = f"{insert(HEALS)} ON CONFLICT (thread, id) DO NOTHING"
_DONE = {
    "exact": "restored to the byte",
    "left_out": "left out",
    "ancestor": "an earlier checkpoint was taken",
    "empty": "nothing could be read",
}


class Heal(NamedTuple):
    """One thing that was damaged, and what was made of it."""

    kind: Kind
    ns: str
    checkpoint: str
    channel: str
    what: str


_UNSEEN = (
    "SELECT kind, channel, checkpoint FROM wyrd_heals WHERE thread = ? AND acknowledged_at IS NULL "
    "AND kind <> 'exact' ORDER BY healed_at, id"
)
_MOST_SAID = 3


def unseen(dialect: str, thread_id: str) -> Script[list[str]]:
    """What is missing of a thread since it was damaged, unless somebody said that it was seen."""
    thread = yield from thread_row(dialect, thread_id)
    found: dict[str, None] = {}
    for kind, channel, checkpoint in (yield Query(_UNSEEN, (thread.key,))):
        what = f" of {given(channel)}" if channel else ""
        found[f"checkpoint {given(checkpoint)}{what}: {_DONE.get(kind, kind)}"] = None
    more = len(found) - _MOST_SAID
    return [*found][:_MOST_SAID] + ([f"{more} more"] if more > 0 else [])


def record(key: Key, heals: Sequence[Heal]) -> Command:
    """The statement that records heals, each once."""
    moment = now()
    return Command(_RECORD, [
        HealRow(key, _id(each), each.ns, each.checkpoint, each.channel, each.kind, moment, None,
                each.what)
        for each in heals
    ])  # fmt: skip


def new(key: Key, heals: Sequence[Heal]) -> Script[list[Heal]]:
    """Record heals; those that were not recorded before."""
    known = {row[0] for row in (yield Query("SELECT id FROM wyrd_heals WHERE thread = ?", (key,)))}
    made = [each for each in heals if _id(each) not in known]
    if made:
        yield record(key, made)
    return made


def happenings(thread_id: str, heals: Sequence[Heal]) -> tuple[Happening, ...]:
    """The `heal` events with which hooks are called."""
    return tuple(
        Happening(
            "heal", given(thread_id), given(each.checkpoint) or None, given(each.ns),
            detail={"id": _id(each), "kind": each.kind, "channel": each.channel, "what": each.what},
        )
        for each in heals
    )  # fmt: skip


def _id(heal: Heal) -> str:
    return blake2b("\0".join(map(str, heal)).encode(errors="replace"), digest_size=12).hexdigest()


def log(thread_id: str, heals: Sequence[Heal]) -> None:
    for each in heals:
        where = f"checkpoint {given(each.checkpoint)}" if each.checkpoint else "its index row"
        logger.warning(
            "thread %r, %s: %s (%s)", given(thread_id), where, each.what, _DONE[each.kind]
        )
