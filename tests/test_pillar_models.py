"""What the hot path writes out field by field keeps every field."""

from __future__ import annotations

from dataclasses import fields, replace

from langgraph_wyrd.state.draft import Loops
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.state.model import OpenLoop, Source


def test_closing_a_loop_changes_nothing_but_that() -> None:
    """A field that is added to OpenLoop is not lost when a loop closes."""
    filled = {
        field.name: (
            Source(node=field.name)
            if field.name == "source"
            else {field.name: 1}
            if field.name in ("context", "extra")
            else None
            if field.name in ("closed_at", "closed_in", "outcome")
            else field.name
        )
        for field in fields(OpenLoop)
    }
    loop = OpenLoop(**filled)  # type: ignore[arg-type]
    loops = Loops((loop,))
    loops.close_one(loop.id, "done", Moment("c9", ts="2026"))
    over = {"changed_at": "2026", "closed_at": "2026", "closed_in": "c9", "outcome": "done"}
    assert loops.done() == (replace(loop, **over),)  # type: ignore[arg-type]
