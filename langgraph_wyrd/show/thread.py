"""A thread, to be looked at: its state, and how it came to it."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph_wyrd.pillars.model import WorkingState
from langgraph_wyrd.show.markup import Markup, tag
from langgraph_wyrd.show.parts import part
from langgraph_wyrd.show.past import Entry, timeline_html
from langgraph_wyrd.show.plain import line
from langgraph_wyrd.show.plot import Plot
from langgraph_wyrd.show.state import head, pillars
from langgraph_wyrd.show.style import framed

FEW = 10  # checkpoints that are seen at once
MOST = 60  # … and that are asked for


def thread_html(
    state: WorkingState, entries: Sequence[Entry] = (), plot: Plot | None = None
) -> str:
    """`entries`: the newest checkpoints, newest first; of more than `MOST` it says so."""
    said = [*pillars(state)]
    if plot is not None:
        said.append(part("Over time", plot.text, Markup(plot.svg), open=False))
    if entries:
        more = len(entries) > MOST
        size = f"the newest {MOST}" if more else str(len(entries))
        rest = tag("p", "there are older ones: thread.history()", class_="w-more")
        inside = [timeline_html(entries[:MOST]), rest if more else None]
        said.append(part("Checkpoints", size, inside, open=len(entries) <= FEW))
    return framed(*head(state), *said)


def note_html(name: str, said: str) -> str:
    """What a cell shows where there is nothing else to show: a thread that is not there, …"""
    title = tag("span", line(name, 120), class_="w-name")
    return framed(tag("div", title, tag("small", line(said, 400)), class_="w-head"))
