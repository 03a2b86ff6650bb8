"""What a model is asked about, of a thread that is damaged: read as an export is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.healing import exported, states
from langgraph_wyrd.healing.found import Found
from langgraph_wyrd.plans import edits
from langgraph_wyrd.plans.reports import ToRead
from langgraph_wyrd.plans.weaving import Weaver
from langgraph_wyrd.store.statements import Plan
from langgraph_wyrd.store.values import Codec


def healed(
    codec: Codec, weaver: Weaver | None, thread_id: str, plan: Callable[[], Plan[ToRead]]
) -> Plan[tuple[ToRead, tuple[Found, ...]]]:
    try:
        return (yield from plan()), ()
    except CheckpointDamaged:
        pass
    begin = partial(edits.begin, codec, thread_id)
    state, heals = yield from states.healed(codec, weaver, thread_id, begin)
    messages, more = yield from exported.messages(codec, thread_id)
    return ToRead(messages or [], state), (*heals, *more)
