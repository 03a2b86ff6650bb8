"""What was healed is said: in the log, in the thread's table of heals, in its working state."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import astuple, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.healing import beside
from langgraph_wyrd.healing.found import Found, Heal, told
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.plans.sums import heal_sum, is_sound_heal, readable
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.state.model import OpenLoop, Source, WorkingState
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell
from langgraph_wyrd.store.values import Codec

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.running import Running

logger = logging.getLogger("langgraph_wyrd")

RULE = "healed"
_DONE = {
    "exact": "had back to the last bit",
    "placeholder": "stood in for",
    "left_out": "left out",
    "ancestor": "an earlier checkpoint was taken",
    "empty": "nothing could be read",
}


async def tell(core: Running[Memory], codec: Codec, heals: Sequence[Found]) -> None:
    """Say what a load healed. Never fails the load: where nothing can be written, the log says."""
    core.memory.damaged.update((heal.thread_id, heal.ns, heal.checkpoint) for heal in heals)
    heals = [Found(*map(readable, astuple(heal))) for heal in heals]
    told(heals)
    known = core.memory.heals_told
    for thread_id in {heal.thread_id for heal in heals}:
        core.memory.drop(thread_id)  # the next write reads what it builds on, and leaves damage be
    new = [heal for heal in heals if (heal.thread, heal.id) not in known]
    if not new:
        return
    try:
        await core.write(lambda: recorded(codec, new))
    except WyrdError as error:
        logger.warning("what was healed could not be recorded: %s", error)
    known.update((heal.thread, heal.id) for heal in new)
    for heal in new:
        detail = {
            "id": heal.id,
            "kind": heal.kind,
            "channel": given(heal.channel),
            "what": heal.what,
        }
        core.happened.append(
            Happening(
                "heal", given(heal.thread_id), given(heal.checkpoint), given(heal.ns), detail=detail
            )
        )


def recorded(codec: Codec, heals: Sequence[Found]) -> Plan[None]:
    moment = now()
    yield Tell(
        "put_heal",
        [
            (
                heal.thread, heal.id, heal.ns, heal.checkpoint, heal.channel, heal.kind, what,
                moment,
                heal_sum(heal.id, heal.kind, heal.ns, heal.checkpoint, heal.channel, what, moment),
            )
            for heal in sorted(heals, key=lambda heal: (heal.thread, heal.id))
            for what in [codec.seal_text(heal.what)]
        ],
    )  # fmt: skip


# ---- looked at, and acknowledged


def of_thread(codec: Codec, thread_id: str) -> Plan[list[Heal] | None]:
    """The heals of a thread, oldest first; None if there is no such thread."""
    rows = yield Ask("find_thread", (thread_key(thread_id),))
    if not rows:
        return None
    return (yield from _heals(codec, rows[0][0], thread_id))


def acknowledged(thread_id: str, ids: Sequence[str] | None) -> Plan[int | None]:
    """Note that somebody has seen these heals, or all; how many are known of these."""
    rows = yield Ask("find_thread", (thread_key(thread_id),))
    if not rows:
        return None
    number, moment = rows[0][0], now()
    there = [row[0] for row in (yield Ask("heals", (number,)))]
    seen = there if ids is None else [id for id in ids if id in there]
    if seen:
        yield Tell("acknowledge_heal", [(moment, number, id) for id in sorted(seen)])
    return len(seen)


def _heals(codec: Codec, number: int, thread_id: str) -> Plan[list[Heal]]:
    rows = yield Ask("heals", (number,))
    held = [
        row if is_sound_heal(row) else beside.heal(row) or beside.hollow_heal(codec, row)
        for row in rows
    ]
    # Of a checkpoint in whose place an ancestor was taken that says enough, for its path as well.
    twice = {
        Found("left_out", number, thread_id, ns, checkpoint, "", "", f"row {checkpoint}").id
        for _, kind, ns, checkpoint, *_ in held
        if kind == "ancestor"
    }
    return [
        Heal(
            id, kind, given(thread_id), given(ns), given(checkpoint), given(channel),
            codec.show_text(what), _time(at), None if seen is None else _time(seen),
        )
        for id, kind, ns, checkpoint, channel, what, at, seen, _ in held
        if id not in twice
    ]  # fmt: skip


def _time(at: Any) -> str:
    return at.isoformat() if isinstance(at, datetime) else str(at)


def shown(codec: Codec, thread_id: str, state: WorkingState) -> Plan[WorkingState]:
    """A thread's state with what was healed and nobody has seen yet."""
    heals = yield from of_thread(codec, thread_id)
    loops = tuple(_loop(heal) for heal in heals or () if heal.acknowledged_at is None)
    if not loops:
        return state
    reason = "nothing due; damage that nobody has seen" if state.status == "done" else state.reason
    return replace(state, loops=state.loops + loops, reason=reason)


def _loop(heal: Heal) -> OpenLoop:
    return OpenLoop(
        id=heal.id,
        kind="error",
        description=f"Stored data was damaged ({_DONE[heal.kind]}): {heal.what}",
        context={"heal": heal.kind},
        opened_at=heal.at,
        source=Source(
            checkpoint_id=heal.checkpoint_id, ns=heal.ns, channel=heal.channel or None, rule=RULE
        ),
    )
