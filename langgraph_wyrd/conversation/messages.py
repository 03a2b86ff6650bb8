"""The messages of a thread: at one checkpoint, or all that were ever said on the way to it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph.message import REMOVE_ALL_MESSAGES, _messages_delta_reducer
from langgraph.types import Overwrite

from langgraph_wyrd.configs import checkpoint_config, id_of, ns_of, parent_of
from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, ThreadNotFound
from langgraph_wyrd.extraction import messages as forms
from langgraph_wyrd.operations import Operation, ask
from langgraph_wyrd.operations import listed as all_of
from langgraph_wyrd.state.results import HistoryEntry

if TYPE_CHECKING:
    from langgraph_wyrd.thread.base import When

logger = logging.getLogger("langgraph_wyrd")

DEFAULT = "messages"
_PREVIOUS = "__previous__"  # what a functional graph saved
_START = "__start__"  # the input that no node has read yet
_PAGE = 200  # checkpoints that are held at once
_ROLES = {"human": "user", "ai": "assistant", "remove": "other", "function": "tool"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A message and where it stands. `ts` and `checkpoint_id` are known for a transcript only."""

    message: BaseMessage
    ts: str | None = None
    checkpoint_id: str | None = None
    in_state: bool = True
    pending: bool = False  # written by a finished task, not yet in a checkpoint

    def as_message(self) -> BaseMessage:
        """The message; one that has left the state says so in a copy's `response_metadata`."""
        if self.in_state:
            return self.message
        about = {**self.message.response_metadata, "in_state": False}
        return self.message.model_copy(update={"response_metadata": about})

    def as_dict(self) -> dict[str, Any]:
        """Plain data: the same keys for every message."""
        message = self.message
        role = message.role if isinstance(message, ChatMessage) else message.type
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        usage = message.usage_metadata if isinstance(message, AIMessage) else None
        result = message if isinstance(message, ToolMessage) else None
        return {
            "role": _ROLES.get(role, role),
            "content": message.content,
            "id": message.id,
            "name": message.name,
            "tool_calls": [
                {key: call.get(key) for key in ("id", "name", "args")} for call in calls
            ],
            "tool_call_id": None if result is None else result.tool_call_id,
            "status": None if result is None else result.status,
            "usage": None if usage is None else dict(usage),
            "ts": self.ts,
            "checkpoint_id": self.checkpoint_id,
            "in_state": self.in_state,
            "pending": self.pending,
        }


def read(
    saver: Any, thread: Any, at: When, *, all: bool, channel: str | None, ns: str,
    limit: int | None,
) -> Operation[list[Entry]]:  # fmt: skip
    """The messages at a point, or with `all` everything on the way to it; oldest first."""
    if limit is not None and (type(limit) is not int or limit < 1):
        raise InvalidInput(f"limit={limit!r}: use a number from 1 on, or None")
    found = yield from _checkpoint(saver, thread, at, ns)
    name = _chosen(found, channel, strict=at is None)
    if name is None:
        return []
    ends = yield from _is_head(saver, thread, found, at, name)
    if all:
        entries = yield from _transcript(saver, found, name, pending=ends)
    else:
        held = yield from _value(saver, found, name)
        entries = list(_with_pending(held, _pending(found, name) if ends else ()))
    return entries if limit is None else entries[-limit:]


# ---- which checkpoint, and which channel of it


def _checkpoint(saver: Any, thread: Any, at: When, ns: str) -> Operation[CheckpointTuple]:
    if isinstance(at, HistoryEntry):
        at = at.checkpoint_id
    if at is None or isinstance(at, str):
        found = yield ask(saver, "get_tuple", checkpoint_config(thread.id, ns, at))
        if found is not None:
            return found  # type: ignore[no-any-return]
    if ns:
        where = "" if at is None else f" no checkpoint {at} in"
        raise ThreadNotFound(f"thread {thread.id!r} has{where} no namespace {ns!r}")
    # No checkpoint's id: a label, a run, a time; or nothing, which raises.
    id = (yield ask(thread, "working_state", at)).checkpoint_id
    found = yield ask(saver, "get_tuple", checkpoint_config(thread.id, ns, id))
    if found is None:
        yield ask(thread, "tree", 1)  # says so, where they are lost
        raise ThreadNotFound(f"thread {thread.id!r} has no checkpoints")
    return found  # type: ignore[no-any-return]


def _chosen(found: CheckpointTuple, channel: str | None, *, strict: bool) -> str | None:
    """The channel that holds the conversation; None if there is none yet."""
    versions, values = found.checkpoint["channel_versions"], found.checkpoint["channel_values"]
    wanted = DEFAULT if channel is None else channel
    if wanted in versions or wanted in values:
        return wanted
    if channel is None:
        names = sorted(name for name in values if not name.startswith("__"))
        return next((name for name in (*names, _PREVIOUS) if _talks(values.get(name))), None)
    if any(write[1] == wanted for write in found.pending_writes or ()):
        return wanted
    if strict:
        there = sorted(name for name in versions if not name.startswith("__") and ":" not in name)
        raise InvalidInput(
            f"thread {found.config['configurable']['thread_id']!r} has no channel {channel!r}: "
            f"it has {', '.join(there) or 'none'}"
        )
    return None


def _talks(value: Any) -> bool:
    held = _list_of(value)
    return bool(held) and any(forms.read(each) is not None for each in (held or ())[:4])


def _list_of(value: Any) -> list[Any] | None:
    """The list that a channel holds; functional graphs may save a dict that has it."""
    return forms.listed(value.get(DEFAULT) if isinstance(value, Mapping) else value)


def _is_head(
    saver: Any, thread: Any, found: CheckpointTuple, at: When, name: str
) -> Operation[bool]:
    """Whether what its tasks wrote is in no other checkpoint. Old ones keep their writes."""
    if at is None or not any(True for _ in _pending(found, name)):
        return True
    if ns := ns_of(found):
        (newest,) = yield all_of(saver, checkpoint_config(thread.id, ns), limit=1)
        return id_of(newest) == id_of(found)
    (entry,) = yield ask(thread, "history", 1)
    return bool(entry.checkpoint_id == id_of(found))


# ---- what the channel holds


def _value(saver: Any, found: CheckpointTuple, name: str) -> Operation[list[BaseMessage]]:
    """Its messages; of a DeltaChannel they are rebuilt from the writes since its last snapshot."""
    values = found.checkpoint["channel_values"]
    if name in values:
        return _messages(_list_of(values[name]) or ())
    if name not in found.checkpoint["channel_versions"]:
        return []
    history = yield ask(saver, "get_delta_channel_history", config=found.config, channels=[name])
    seed = forms.listed(history[name].get("seed")) or ()
    return applied(_messages(seed), (value for _, _, value in history[name]["writes"]))


def applied(held: Sequence[BaseMessage], writes: Iterable[Any]) -> list[BaseMessage]:
    """Messages after some writes to them: by id, removed, replaced or added."""
    now, batch = list(held), list[BaseMessage]()
    for write in writes:
        new = _messages(_elements(write))
        if _overwrites(write):
            now, batch, new = new, [], []
        for each in new:
            if isinstance(each, RemoveMessage) and each.id == REMOVE_ALL_MESSAGES:
                now, batch = [], []
            else:
                batch.append(each)
    made: list[BaseMessage] = _messages_delta_reducer(now, [batch]) if batch else now  # type: ignore[list-item, arg-type, assignment]
    return made


def _elements(write: Any) -> Sequence[Any]:
    if isinstance(write, Overwrite) and write.value is None:
        return ()
    found = forms.written(write)
    return [("human", each) if isinstance(each, str) else each for each in found]


def _overwrites(write: Any) -> bool:
    if isinstance(write, Overwrite):
        return True
    if not isinstance(write, dict):
        return False
    sign = "__overwrite__"
    return (len(write) == 1 and sign in write) or (write.get("type") == sign and "value" in write)


def _messages(values: Iterable[Any]) -> list[BaseMessage]:
    """Each as LangChain's class; what is no message becomes one that shows it."""
    return [_message(each) for each in values]


def _message(value: Any) -> BaseMessage:
    if isinstance(value, BaseMessageChunk):
        return message_chunk_to_message(value)
    if isinstance(value, BaseMessage):
        return value
    with suppress(Exception):  # what it holds is somebody else's
        return convert_to_messages([tuple(value) if isinstance(value, list) else value])[0]
    return ChatMessage(role="other", content=str(value))


# ---- what finished tasks wrote, and no checkpoint has yet


def _pending(found: CheckpointTuple, name: str) -> Iterator[Any]:
    """Writes to a channel that the next checkpoint will hold, in LangGraph's order."""
    values = found.checkpoint["channel_values"]
    given = values.get(_START)
    writes = [value for _, channel, value in found.pending_writes or () if channel == name]
    if not writes and isinstance(given, Mapping) and given.get(name) is not None:
        yield given[name]  # an input that was stored, and not read before the run ended
    yield from writes


def _with_pending(held: Sequence[BaseMessage], writes: Iterable[Any]) -> Iterator[Entry]:
    writes = list(writes)
    if not writes:
        yield from map(Entry, held)
        return
    before = {id(each) for each in held}
    for each in applied(held, writes):
        yield Entry(each, pending=id(each) not in before)


# ---- the whole transcript


def _transcript(
    saver: Any, found: CheckpointTuple, name: str, *, pending: bool
) -> Operation[list[Entry]]:
    """Each message once, in the order in which they appeared, with where they did.

    The path is walked from its end to its beginning: the newest form of a message counts, and the
    oldest checkpoint that has it.
    """
    now = yield from _value(saver, found, name)
    state = list(_with_pending(now, _pending(found, name) if pending else ()))
    in_state = _keyed(each.message for each in state)
    forms_of = dict(in_state)
    first: dict[Any, tuple[int, int, str | None, str]] = {}

    def appeared(keys: Keyed, before: Keyed, age: int, where: CheckpointTuple) -> None:
        for key in keys.keys() - forms_of.keys():
            forms_of[key] = keys[key]
        if new := keys.keys() - before.keys():
            ts, id = where.checkpoint.get("ts"), id_of(where)
            first.update((key, (-age, n, ts, id)) for n, key in enumerate(keys) if key in new)

    age, child, held = 1, found, _keyed(now)
    here = found.config["configurable"]["thread_id"], ns_of(found)
    page: dict[str, CheckpointTuple] = {}
    seen, last = set[str](), found
    while (wanted := parent_of(child)) is not None and wanted not in seen:
        seen.add(wanted)
        if wanted not in page:
            older = yield all_of(saver, checkpoint_config(*here), before=last.config, limit=_PAGE)
            page = {id_of(each): each for each in older}
        if wanted not in page:  # ids need not be in order
            nearest = yield from _nearest(saver, *here, wanted)
            if nearest is None:
                break
            page = {wanted: nearest}
        parent, last = page[wanted], [*page.values()][-1]
        before, has_list = _listed(parent, name), _listed(child, name) is not None
        if not has_list:  # a DeltaChannel: what the parent's tasks wrote to it
            wrote = [value for _, channel, value in parent.pending_writes or () if channel == name]
            new = [each for write in wrote for each in _messages(_elements(write))]
            held = _keyed(each for each in new if not isinstance(each, RemoveMessage))
        if has_list and before is not None and _version(parent, name) == _version(child, name):
            was = held
        else:
            was = _keyed(_messages(before or ()))
            appeared(held, was, age, child)
        age, child, held = age + 1, parent, was
    appeared(held, {}, age, child)
    entries = []
    for key, message in forms_of.items():
        order = first.get(key)
        ts, id = (None, None) if order is None else order[2:]
        entries.append((order, Entry(message, ts, id, key in in_state, order is None)))
    entries.sort(key=lambda each: (each[0] is None, (each[0] or (0, 0))[:2]))
    return [entry for _, entry in entries]


def _nearest(saver: Any, thread_id: str, ns: str, id: str) -> Operation[CheckpointTuple | None]:
    """A checkpoint; if it can't be read, the nearest before it that can, with a warning."""
    try:
        found = yield ask(saver, "get_tuple", checkpoint_config(thread_id, ns, id))
    except CheckpointDamaged as error:
        if not saver._heals:
            raise
        before = error.ancestor
        logger.warning(
            "thread %r: checkpoint %s can't be read: the messages that were only in it, or in "
            "others between it and %s, are missing from all=True",
            thread_id, id, before or "the beginning",
        )  # fmt: skip
        if before is None:
            return None
        found = yield ask(saver, "get_tuple", checkpoint_config(thread_id, ns, before))
    return found  # type: ignore[no-any-return]


def _listed(found: CheckpointTuple, name: str) -> list[Any] | None:
    return _list_of(found.checkpoint["channel_values"].get(name))


def _version(found: CheckpointTuple, name: str) -> Any:
    return found.checkpoint["channel_versions"].get(name)


Keyed = dict[Any, BaseMessage]


def _keyed(messages: Iterable[BaseMessage]) -> Keyed:
    """Messages by their id; those without one by what they say, and how often it was said."""
    messages = list(messages)
    found: Keyed = {message.id: message for message in messages}
    if None not in found:
        return found
    found, counts = {}, Counter[Any]()
    for message in messages:
        if message.id is not None:
            found[message.id] = message
            continue
        about = (message.type, message.name, repr(message.content), repr(message.additional_kwargs))
        counts[about] += 1
        found[about, counts[about]] = message
    return found
