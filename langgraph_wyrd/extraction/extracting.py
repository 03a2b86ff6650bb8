"""The working state of any state dict, or of any saver's checkpoint: pure, without a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Interrupt, StateSnapshot

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.due import ERROR, INTERRUPT, due, remaining
from langgraph_wyrd.extraction.messages import read
from langgraph_wyrd.extraction.paths import task_paths
from langgraph_wyrd.extraction.plain import unwrapped
from langgraph_wyrd.extraction.policy import DEFAULT, Channels
from langgraph_wyrd.extraction.registry import Extractor, Extractors, chosen
from langgraph_wyrd.extraction.tasks import tasks
from langgraph_wyrd.extraction.view import Fresh, TaskWrite, View
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.state.facts import PASSING, Fact, Opens, Settles
from langgraph_wyrd.state.fold import fold
from langgraph_wyrd.state.model import HOLDS_UP, Due, WorkingState
from langgraph_wyrd.state.pending import WENT_ON
from langgraph_wyrd.state.status import with_status


def extract(
    values: Mapping[str, Any] | CheckpointTuple | StateSnapshot,
    *,
    pending_writes: Iterable[Sequence[Any]] = (),
    previous: WorkingState | None = None,
    channels: Channels | None = None,
    extractors: Extractors | Iterable[Extractor] | None = None,
) -> WorkingState:
    """What an agent was doing, from its state alone.

    Args:
        values: A state as a dict of channels, a `CheckpointTuple` of any saver, or what a graph's
            `get_state` returned. Of a tuple the pending writes count, too.
        pending_writes: `(task id, channel, value)` each: what tasks wrote since.
        previous: What was known before. Its items keep their ids, and what the state no longer
            shows (history that was trimmed) stays known.
        channels: How channels are treated.
        extractors: Your own, besides the default ones; or an `Extractors`.

    Raises:
        InvalidInput: `values` is nothing that holds a state.

    A message or a file that a checkpoint does not hold (channels kept as deltas) is not seen.
    """
    before = WorkingState() if previous is None else previous
    put, pending, ahead = views(values, pending_writes, before, channels or DEFAULT)
    run = chosen(extractors)
    thread = _thread(values) or before.thread_id
    found, _ = run(put, thread)
    # A plain dict has no checkpoint: the number of the call distinguishes what closes in it.
    step = before.extra.get(STEP)
    step = step + 1 if isinstance(step, int) else 1
    id = put.checkpoint_id or f"@{step:08d}"
    at = Moment(id, put.ns, put.ts)
    state, _ = fold(before, [*_over(before, pending), *found], at)
    if pending.writes:
        pending = replace(pending, previous=state)
        passing, _ = run(pending, thread)
        state, _ = fold(state, passing, Moment(id, put.ns, put.ts, "pending"))
    ran = bool(put.versions or put.values)
    extra = {**state.extra, READ: _read(put)} if put.fresh else state.extra
    if not put.checkpoint_id:
        extra = {**extra, STEP: step}
    state = with_status(state, due=ahead, ran=ran)
    return replace(state, thread_id=thread, checkpoint_id=put.checkpoint_id, extra=extra)


STEP = "extracted"  # in a state's extra: how often `extract` was called on plain dicts
READ = "messages_read"  # in a state's extra: how far `extract` has read each list


def _read(put: View) -> dict[str, Any]:
    """How many messages each list has, and the last one's id."""
    return {
        name: [len(fresh.values), _id_of(fresh.values[-1]) if fresh.values else None]
        for name, fresh in put.fresh.items()
        if _talks(fresh.values)
    }


def _talks(values: Sequence[Any]) -> bool:
    return bool(values) and read(values[-1]) is not None


def _id_of(value: Any) -> str | None:
    held = value.__dict__ if isinstance(value, BaseMessage) else value
    id = held.get("id") if isinstance(held, dict) else None
    return id if isinstance(id, str) else None


def _over(before: WorkingState, pending: View) -> list[Fact]:
    """Interrupts and errors known before that the pending writes don't show any more."""
    still = {(fact.kind, fact.ref) for fact in tasks(pending) if type(fact) is Opens}
    return [
        Settles((loop.kind,), WENT_ON, pending.at(loop.source.rule or ""), loop.ref)
        for loop in before.loops
        if not loop.resolved
        and loop.source.rule in PASSING
        and loop.ref is not None
        and (loop.kind, loop.ref) not in still
    ]


def _thread(values: Any) -> str | None:
    config = getattr(values, "config", None)
    found = (config.get("configurable") or {}).get("thread_id") if config else None
    return None if found is None else str(found)


def views(
    values: Mapping[str, Any] | CheckpointTuple | StateSnapshot,
    pending_writes: Iterable[Sequence[Any]],
    previous: WorkingState,
    channels: Channels,
) -> tuple[View, View, tuple[Due, ...]]:
    """What is looked at: the checkpoint, its pending writes, and what is due after them."""
    if isinstance(values, CheckpointTuple):
        put, writes = _of_tuple(values, previous, channels)
        return _with_writes(put, [*writes, *pending_writes])
    if isinstance(values, StateSnapshot):
        return _of_snapshot(values, previous, channels)
    if not isinstance(values, Mapping):
        raise InvalidInput(
            f"a {type(values).__name__} is no state: pass a dict of channels, or a CheckpointTuple"
        )
    put = _view("", values, previous, channels)
    return _with_writes(put, list(pending_writes))


def _view(
    id: str, values: Mapping[str, Any], previous: WorkingState, channels: Channels, **more: Any
) -> View:
    held = {str(name): unwrapped(value) for name, value in values.items()}
    remembered = messages_of(held)
    if remembered is not None:
        held["messages"] = remembered
    return View(
        id,
        values=held,
        changed=frozenset(held),
        fresh={
            name: Fresh(value, range(_news(name, value, previous), len(value)))
            for name, value in held.items()
            if isinstance(value, list | tuple) and not name.startswith("__")
        },
        previous=previous,
        channels=channels,
        **more,
    )


def _news(name: str, values: Sequence[Any], previous: WorkingState) -> int:
    """Where what is new begins, in a list of messages: after the last one that is known of."""
    hidden = _hidden(previous)
    if hidden:  # what an interrupt held up is read again
        for place in range(len(values) - 1, -1, -1):
            if not hidden.isdisjoint(_calls_of(values[place])):
                return place
    held = previous.extra.get(READ)
    mark = held.get(name) if isinstance(held, Mapping) else None
    if isinstance(mark, Sequence) and len(mark) == 2 and isinstance(mark[0], int):
        count, last = mark
        if last is None:
            return count if 0 < count <= len(values) and _id_of(values[count - 1]) is None else 0
        for place in range(len(values) - 1, -1, -1):
            if _id_of(values[place]) == last:
                return place + 1
    known: set[Any] = {loop.ref for loop in previous.loops}
    for items in (previous.loops, previous.intentions, previous.todos):
        known.update(item.source.message_id for item in items)
    known.discard(None)
    if not known:
        return 0
    for place in range(len(values) - 1, -1, -1):
        value = values[place]
        held = value.__dict__ if isinstance(value, BaseMessage) else value
        if not isinstance(held, dict):
            return 0
        calls = held.get("tool_calls")
        ids = [call.get("id") for call in calls] if isinstance(calls, list) else []
        if any(isinstance(id, str) and id in known for id in (held.get("id"), *ids)):
            return place + 1
    return 0


def _hidden(previous: WorkingState) -> set[Any]:
    """The calls that an open interrupt held up, which are no items of their own meanwhile."""
    return {
        call
        for loop in previous.loops
        if loop.kind == "interrupt" and not loop.resolved
        for call in loop.context.get(HOLDS_UP) or ()
    }


def _calls_of(value: Any) -> list[Any]:
    message = read(value)
    return [] if message is None else [call.id for call in message.calls]


def messages_of(values: Mapping[str, Any]) -> list[BaseMessage] | None:
    """The conversation of a functional graph: what it saved for its next run, if that is one."""
    if "messages" in values:
        return None
    for name in ("__previous__", "__end__"):
        saved = values.get(name)
        if isinstance(saved, Mapping):
            saved = saved.get("messages")
        if isinstance(saved, list) and saved and isinstance(saved[0], BaseMessage):
            return saved
    return None


def _of_tuple(
    found: CheckpointTuple, previous: WorkingState, channels: Channels
) -> tuple[View, list[Any]]:
    checkpoint, metadata = found.checkpoint, found.metadata or {}
    versions = checkpoint.get("channel_versions") or {}
    where = found.config.get("configurable") or {}
    parent = (found.parent_config or {}).get("configurable") or {}
    put = _view(
        checkpoint["id"],
        checkpoint.get("channel_values") or {},
        previous,
        channels,
        ns=where.get("checkpoint_ns") or "",
        parent_id=parent.get("checkpoint_id"),
        ts=checkpoint.get("ts"),
        source=metadata.get("source"),
        step=metadata.get("step"),
        metadata=metadata,
        versions=versions,
        seen=checkpoint.get("versions_seen") or {},
    )
    return put, list(found.pending_writes or ())


def _with_writes(put: View, writes: list[Any]) -> tuple[View, View, tuple[Due, ...]]:
    """Pending writes have no paths: which node wrote them is worked out from the tasks' ids."""
    ahead = due(put)
    tasks = list(dict.fromkeys(str(write[0]) for write in writes))
    paths = task_paths(put.checkpoint_id, put.ns, put.step, ahead, put.versions, tasks)
    held = [TaskWrite(str(task), paths.get(task, ""), name, v) for task, name, v, *_ in writes]
    return put, _of_writes(put, held), remaining(ahead, held)


def _of_writes(put: View, writes: Sequence[TaskWrite]) -> View:
    return View(
        put.checkpoint_id, ns=put.ns, ts=put.ts, step=put.step, metadata=put.metadata,
        values=put.values, versions=put.versions, seen=put.seen, writes=writes, putting=False,
        previous=put.previous, channels=put.channels,
    )  # fmt: skip


def _of_snapshot(
    found: StateSnapshot, previous: WorkingState, channels: Channels
) -> tuple[View, View, tuple[Due, ...]]:
    where = (found.config or {}).get("configurable") or {}
    metadata = found.metadata or {}
    values = found.values if isinstance(found.values, Mapping) else {"__end__": found.values}
    put = _view(
        where.get("checkpoint_id") or "",
        values,
        previous,
        channels,
        ns=where.get("checkpoint_ns") or "",
        ts=found.created_at,
        source=metadata.get("source"),
        step=metadata.get("step"),
        metadata=metadata,
    )
    writes: list[TaskWrite] = []
    for task in found.tasks:
        path = f"~__pregel_pull, {task.name}"
        if task.error is not None:
            writes.append(TaskWrite(task.id, path, ERROR, task.error))
        if task.interrupts:
            asked: list[Interrupt] = list(task.interrupts)
            writes.append(TaskWrite(task.id, path, INTERRUPT, asked))
    return put, _of_writes(put, writes), tuple(map(Due, found.next))
