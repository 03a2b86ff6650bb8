"""Making the public tables of a thread again, from its events."""

from __future__ import annotations

from langgraph_wyrd.checkpoints import projection, states, working
from langgraph_wyrd.checkpoints.cache import Thread
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.storage.rows import delete
from langgraph_wyrd.storage.scripts import Command, Script

SHOW = (
    "UPDATE wyrd_threads SET status = ?, reason = ?, due = ?, title = ?, "
    "open_loops = ?, open_todos = ? WHERE key = ?"
)
USED = "UPDATE wyrd_threads SET updated = ? WHERE key = ?"


def again(dialect: str, codec: Codec, thread: Thread) -> Script[None]:
    """Show the state of the thread's head, whatever the tables hold."""
    yield from states.load_thread(dialect, codec, thread)
    yield [Command(delete(table, "thread"), [(thread.key,)]) for table in projection.PUBLIC]
    state = working.visible(thread)
    steps = projection.changes(
        thread.key, thread.thread_id, WorkingState(), state, thread.head or "", codec.sealer
    )
    if steps:
        yield [Command(step.sql, [step.params]) for step in steps]
    yield Command(SHOW, [(*projection.columns(state, thread.key, codec.sealer), thread.key)])
