"""What is kept of the pillars when checkpoints go."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from langgraph_wyrd.plans import states
from langgraph_wyrd.plans.shown import cleared
from langgraph_wyrd.plans.weaving import columns, event_rows
from langgraph_wyrd.plans.woven import Woven
from langgraph_wyrd.state.events import (
    DECLARED,
    PRUNED,
    REWOUND,
    Event,
    Moment,
    base,
    plain,
)
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.overlay import with_edits
from langgraph_wyrd.store.names import given, stored
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec


def bases(
    codec: Codec, number: int, thread_id: str, cut: Iterable[tuple[str, str]]
) -> Plan[list[Row]]:
    """Events that hold the states of checkpoints, read before what led there is dropped."""
    rows: list[Row] = []
    for ns, id in cut:
        woven = yield from states.load_woven(codec, number, thread_id, ns, id)
        if woven is None or _says_nothing(woven.state):
            continue
        own = yield Ask("own_events", (number, ns, id))
        first = 0 if not own else own[-1][0] if own[-1][1] == "base" else own[-1][0] + 1
        rows += event_rows(codec, number, Moment(id, ns), [pruned(woven.state)], first)
    return rows


def pruned(state: WorkingState) -> Event:
    """A state whose history is gone: what is over goes too, as its text may be of what went."""
    return replace(base(without_past(state)), source={"rule": PRUNED})


def without_past(state: WorkingState) -> WorkingState:
    """A state without what is over."""
    return replace(
        state,
        loops=tuple(loop for loop in state.loops if not loop.resolved),
        intentions=tuple(each for each in state.intentions if each.open),
        todos=tuple(todo for todo in state.todos if todo.open or todo.listed),
    )


def rewound(woven: Woven) -> Event:
    """The state of a checkpoint at its copy: edits are in it, what its tasks said is not."""
    source = {"rule": REWOUND, "checkpoint_id": given(woven.checkpoint)}
    return replace(base(edited(woven)), source=source)


def declared(state: WorkingState) -> Event:
    """A state that somebody gave, whatever was before. Status and due are the checkpoint's."""
    held = base(replace(state, due=(), status="idle", reason=None))
    return replace(held, body=plain(held.body), source={"rule": DECLARED})


def edited(woven: Woven) -> WorkingState:
    """A namespace's state with what persons declared there, without what its tasks said."""
    return with_edits(woven.state, woven.overlay)


def was_cut(number: int, id: str) -> Plan[bool]:
    """Whether what led to a checkpoint of the root was pruned, as far as the ledger knows."""
    rows = yield Ask("events", (number, "", id, id))
    return any(
        op == "base" and json.loads(source).get("rule") == PRUNED
        for _, _, _, _, op, _, _, source, _ in rows
    )


def is_rewound(events: Sequence[Event]) -> str | None:
    """The checkpoint that a copy was made of, as far as these events are all it says."""
    if len(events) == 1 and events[0].op == "base":
        source = events[0].source
        if source.get("rule") == REWOUND:
            return stored(str(source.get("checkpoint_id")), "a checkpoint id")
    return None


def _says_nothing(state: WorkingState) -> bool:
    items = state.todos or state.context or state.loops or state.intentions
    return not (items or state.title or state.extra)


def show_again(codec: Codec, number: int, thread_id: str, user: str | None = None) -> Plan[None]:
    """A thread's tables and columns, made anew from the ledger."""
    weave = yield from states.load_weave(codec, number, thread_id)
    if weave.top is None:
        yield [*cleared(number), Tell("clear_thread", [(number,)])]
        return
    yield from states.project(codec, number, thread_id, weave)
    yield Tell("show_thread", [(*columns(codec, weave.visible(), user), number)])
