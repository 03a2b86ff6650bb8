"""A thread in a notebook: its state, what was said, what was healed, and its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

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
    part,
    tag,
    whole,
)
from langgraph_wyrd.views.messages import Message, messages_part
from langgraph_wyrd.views.state import head, pillars
from langgraph_wyrd.views.text import count, line

FEW = 10  # checkpoints that are seen at once
MOST = 60  # … and that are asked for


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
    if (talk := messages_part(messages)) is not None:
        said.append(talk)
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


def note_html(name: str, said: str) -> str:
    """What a cell shows where there is nothing else to show: a thread that is not there, …"""
    title = tag("span", line(name, 120), class_="w-name")
    return framed(tag("div", title, tag("small", line(said, 400)), class_="w-head"))
