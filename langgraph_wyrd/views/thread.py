"""A thread in a notebook: its state, what was said, what was healed, and its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.results import Heal, HistoryEntry
from langgraph_wyrd.views.history import timeline_html
from langgraph_wyrd.views.html import (
    Markup,
    age,
    badge,
    bounded,
    folded,
    framed,
    listed,
    note_html,
    part,
    tag,
    whole,
)
from langgraph_wyrd.views.messages import Message, messages_part, tools_part
from langgraph_wyrd.views.state import head, pillars, state_text
from langgraph_wyrd.views.text import count, plain

FEW = 10  # checkpoints that are seen at once
MOST = 60  # … and that are asked for


def cell_html(thread: Any) -> str:
    """What a thread's handle shows."""
    try:
        state, entries = thread.working_state(), thread.history(limit=MOST + 1)
        return thread_html(state, entries, thread.heals(), thread.messages(as_dicts=True))
    except WyrdError as error:  # a cell must show something
        return note_html(thread.id, str(error))


def cell_text(thread: Any) -> str:
    try:
        return state_text(thread.working_state())
    except WyrdError as error:
        return plain(str(error))


def thread_html(
    state: WorkingState,
    entries: Sequence[HistoryEntry] = (),
    heals: Sequence[Heal] = (),
    messages: Sequence[Message] = (),
) -> str:
    """`entries`: the newest checkpoints, newest first; of more than `MOST` it says so.

    `messages`: what was said, as dicts.
    """
    said = [*pillars(state)]
    said += [found for found in (tools_part(messages), messages_part(messages)) if found]
    if heals:
        new = any(heal.acknowledged_at is None for heal in heals)
        newest = [*reversed(heals)]
        inside = bounded(newest, MOST, _heal, "heal")
        said.append(part("Healed", str(len(heals)), inside, open=new))
    brief = state.brief()
    if brief:
        size = count(len(brief), "character")
        said.append(part("Brief", f"the same for a prompt, {size}", whole(brief), open=False))
    if entries:
        more = len(entries) > MOST
        size = f"the newest {MOST}" if more else str(len(entries))
        rest = tag("p", "there are older ones: thread.history()", class_="w-more")
        healed = {heal.checkpoint_id for heal in heals}
        lines = [timeline_html(entries[:MOST], healed), rest if more else None]
        said.append(part("Checkpoints", size, lines, open=len(entries) <= FEW))
    return framed(*head(state), *said)


def _heal(heal: Heal) -> Markup:
    seen = "" if heal.acknowledged_at is None else "acknowledged"
    small = " · ".join(filter(None, [heal.channel, seen]))
    at = tag("small", age(heal.at), " · " if small else None, small)
    said = [badge(heal.kind, "red"), " ", folded(heal.what), " ", at]
    return listed("✓" if seen else "!", said, "w-over" if seen else None)
