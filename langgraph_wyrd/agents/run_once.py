"""Tool calls that must not run twice.

LangGraph runs every task again that left no output. So before a tool runs, its checkpoint is stored
(with durability "async" LangGraph itself does not wait for that), and a note among its pending
writes, under a task id that no task has: after a kill, the next run finds the note and no result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from langchain_core.messages import ToolMessage

from langgraph_wyrd.agents.message_repair import STARTED, iso, no_result
from langgraph_wyrd.agents.place import Place
from langgraph_wyrd.configs import checkpoint_config
from langgraph_wyrd.operations import Operation, ask, pause


def begin_call(
    place: Place, name: str, id: str, *, is_new: bool, now: datetime
) -> Operation[ToolMessage | None]:
    """Note that a call begins; what to answer in its place, if it was begun before."""
    if not place.stored:
        return None
    where = place.config(place.checkpoint_id)
    if not is_new:
        found = yield ask(place.saver, "get_tuple", where)
        begun = None if found is None else _begun(found.pending_writes or (), place.task_id, id)
        if begun is not None and not (yield from _goes_on_by_itself(place)):
            return no_result(name, id, started=begun, now=now)
    else:
        yield from _until_stored(place)
    note = (STARTED, {"call": id, "name": name, "at": iso(now)})
    yield ask(place.saver, "put_writes", where, [note], f"started/{place.task_id}/{id}")
    return None


_PAUSES = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, *[0.03] * 300)  # seconds, ten in all


def _until_stored(place: Place) -> Operation[None]:
    """Wait for the checkpoint that the tool runs at; a save that fails ends the run by itself."""
    where = place.config(place.checkpoint_id)
    for seconds in _PAUSES:
        if (yield ask(place.saver, "has_checkpoint", where)):
            return
        yield pause(seconds)


def _begun(writes: Iterable[Sequence[Any]], task: str, id: str) -> str | None:
    """When the call was begun, if nothing is known of its end: no output, question or error."""
    begun: str | None = None
    for by, channel, value, *_ in writes:
        if by == task:
            return None
        if channel == STARTED and by == f"started/{task}/{id}":
            begun = str(value.get("at"))
    return begun


def _goes_on_by_itself(place: Place) -> Operation[bool]:
    """Whether the tool is a graph with checkpoints of its own, as deepagents' `task` is."""
    below = checkpoint_config(place.thread_id, place.task_ns)
    return (yield ask(place.saver, "get_tuple", below)) is not None
