"""Tool calls that must not run twice: `WyrdMiddleware(once=…)`.

LangGraph runs every task again that left no output. So before a tool runs, its checkpoint is stored
(with durability "async" LangGraph itself does not wait for that), and a note among its pending
writes, under a task id that no task has: after a kill, the next run finds the note and no result.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from langchain_core.messages import ToolMessage

from langgraph_wyrd.agents.message_repair import STARTED, iso, no_result
from langgraph_wyrd.agents.place import Place
from langgraph_wyrd.checkpoints import past_writes
from langgraph_wyrd.configs import checkpoint_config, stored_place
from langgraph_wyrd.operations import Operation, ask, pause

_PAUSES = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, *[0.03] * 300)  # seconds, ten in all


def begin_call(
    place: Place, name: str, id: str, *, is_new: bool, now: datetime
) -> Operation[ToolMessage | None]:
    """Note that a call begins; what to answer in its place, if it was begun before."""
    if not place.stored:
        return None
    saver, where = place.saver, place.config(place.checkpoint_id)
    noted_by = f"started/{place.task_id}/{id}"
    if is_new:
        # The checkpoint that the tool runs at; a save that fails ends the run by itself.
        at = stored_place(where)
        script = partial(past_writes.has_checkpoint, saver._dialect, *at, saver._user)
        for seconds in _PAUSES:
            if (yield from saver._read(script, at[0])):
                break
            yield pause(seconds)
    else:
        found = yield ask(saver, "get_tuple", where)
        writes = () if found is None else found.pending_writes or ()
        # Of a call that ended an output is known, a question or an error.
        ended = any(by == place.task_id for by, *_ in writes)
        begun = [value for by, channel, value in writes if (by, channel) == (noted_by, STARTED)]
        if begun and not ended:
            # Unless it is a graph with checkpoints of its own, as deepagents' `task` is.
            below = checkpoint_config(place.thread_id, place.task_ns)
            if (yield ask(saver, "get_tuple", below)) is None:
                return no_result(name, id, started=str(begun[-1].get("at")), now=now)
    note = (STARTED, {"call": id, "name": name, "at": iso(now)})
    yield ask(saver, "put_writes", where, [note], noted_by)
    return None
