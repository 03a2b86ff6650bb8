"""One message of any form: LangChain's classes, OpenAI's dicts, what a task writes.

Whatever is not a message, or makes no sense as one, is None: nothing here raises.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite

from langgraph_wyrd.extraction.view import Fresh, TaskWrite, View

Role = Literal["human", "ai", "tool", "other"]

_MESSAGES = "messages"
_NO_LISTS = ("__", "branch:to:")  # how channels begin that hold no messages
_ROLES: dict[str, Role] = {
    "human": "human",
    "user": "human",
    "HumanMessageChunk": "human",
    "ai": "ai",
    "assistant": "ai",
    "model": "ai",
    "AIMessageChunk": "ai",
    "tool": "tool",
    "ToolMessageChunk": "tool",
    "system": "other",
    "developer": "other",
    "SystemMessageChunk": "other",
    "function": "other",
    "FunctionMessageChunk": "other",
    "remove": "other",
    "chat": "other",
}
_BODY = ("content", "tool_calls", "data", "kwargs", "parts")  # a message has one of these
_TEXTS = frozenset(("text", "input_text", "output_text"))
_LONGEST_ARGUMENTS = 4000  # characters of JSON that are worth reading
_OVERWRITE = "__overwrite__"
_UNKNOWN = "unknown"  # a tool without a name
_TRIED = 8  # new elements, to see whether a list holds messages
# Why an answer broke off, by what providers call it.
_BROKEN_OFF = {
    "length": "the length limit was reached",
    "max_tokens": "the length limit was reached",
    "max_output_tokens": "the length limit was reached",
    "model_length": "the length limit was reached",
    "model_context_window_exceeded": "the context window was full",
    "content_filter": "a content filter stopped it",
    "content_filtered": "a content filter stopped it",
    "guardrail_intervened": "a guardrail stopped it",
    "safety": "a safety filter stopped it",
    "prohibited_content": "a safety filter stopped it",
    "recitation": "a recitation filter stopped it",
    "refusal": "the model refused",
    "pause_turn": "the turn was paused",
}
_REASONS = ("finish_reason", "stop_reason", "stopReason")
_NOTHING: Mapping[str, Any] = {}


class Call(NamedTuple):
    """A tool call. `args` is text where it could not be read."""

    id: str | None
    name: str
    args: Any
    malformed: str | None = None  # why it can't be run


class Result(NamedTuple):
    """What came of a tool call."""

    call: str
    name: str | None
    failed: bool
    text: str


class Message(NamedTuple):
    """What the extractors look at. `text` holds what is said, no images and no reasoning."""

    role: Role
    id: str | None = None
    text: str = ""
    name: str | None = None
    calls: Sequence[Call] = ()
    results: Sequence[Result] = ()
    extra: Mapping[str, Any] = _NOTHING  # additional_kwargs
    about: Mapping[str, Any] = _NOTHING  # response_metadata
    blocks: Sequence[str] = ()  # kinds of content other than text


def read(value: Any) -> Message | None:
    """The message, or None if this is none."""
    try:
        if isinstance(value, BaseMessage):
            return _read(value.__dict__, value.__dict__.get("type"))
        if isinstance(value, dict):
            return _read_dict(value)
        if _is_pair(value):
            return _read({"content": value[1]}, value[0])
    except Exception:  # what it holds is somebody else's: it must not stop the rest
        return None
    return None


def _is_pair(value: Any) -> bool:
    """Whether this is a role and what was said. A stored tuple comes back as a list."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    return isinstance(value[0], str) and value[0] in _ROLES


def _read_dict(held: dict[Any, Any]) -> Message | None:
    role = held.get("role") or held.get("type")
    if role == "constructor" and isinstance(held.get("id"), list):
        inner, name = held.get("kwargs"), held["id"][-1]
        if not isinstance(inner, dict) or not isinstance(name, str):
            return None
        return _read(inner, inner.get("type") or name.removesuffix("Message").lower())
    if not isinstance(role, str) or role not in _ROLES or not any(key in held for key in _BODY):
        return None
    inner = held.get("data")
    return _read(inner if isinstance(inner, dict) and "content" not in held else held, role)


def _read(held: Mapping[str, Any], role: Any) -> Message | None:
    if role == "chat" or role == "ChatMessageChunk":
        role = held.get("role")
    known = _ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        return None if role is None else Message("other", _text(held.get("id")))
    content = held.get("content")
    said, blocks = (content, ()) if isinstance(content, str) else _said(content)
    id = _text(held.get("id"))
    if known == "ai":
        calls = _calls(held, content)
        extra, about = held.get("additional_kwargs"), held.get("response_metadata")
        return Message(
            "ai", id, said, _text(held.get("name")), calls, (), _dict(extra), _dict(about), blocks
        )
    if known == "tool":
        call = _text(held.get("tool_call_id"))
        name = _text(held.get("name"))
        failed = held.get("status") == "error"
        results = () if call is None else (Result(call, name, failed, said),)
        return Message("tool", id, said, name, (), results)
    if known == "human":
        found = _results(content) if blocks else ()
        role_now: Role = "tool" if found and not said.strip() else "human"
        extra = _dict(held.get("additional_kwargs"))
        return Message(
            role_now, id, said, _text(held.get("name")), (), found, extra, _NOTHING, blocks
        )
    return Message("other", id)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else _NOTHING


def _said(content: Any) -> tuple[str, Sequence[str]]:
    """The text of content in blocks, and the kinds of its other blocks."""
    if not isinstance(content, list):
        return "", ()
    parts, others = [], []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict):
            kind = block.get("type")
            text = block.get("text")
            if kind in _TEXTS and isinstance(text, str):
                parts.append(text)
            elif isinstance(kind, str):
                others.append(kind)
    return "\n".join(parts), others


def _calls(held: Mapping[str, Any], content: Any) -> list[Call] | tuple[()]:
    given, broken = held.get("tool_calls"), held.get("invalid_tool_calls")
    if not given and not broken:
        if isinstance(content, list) and "tool_calls" not in held:
            return _blocks_of_calls(content)
        return ()
    found = []
    bad: set[str] = set()
    for each in broken if isinstance(broken, list) else ():
        if isinstance(each, dict):
            call = _call(each, _text(each.get("error")) or "its arguments can't be read")
            if call.id is not None:
                bad.add(call.id)
            found.append(call)
    for each in given if isinstance(given, list) else ():
        if isinstance(each, dict):
            call = _call(each, None)
            if call.id is None and call.name == _UNKNOWN:
                continue
            if call.id is None or call.id not in bad:
                found.append(call)
    return found


def _call(given: Mapping[str, Any], malformed: str | None) -> Call:
    inner = given.get("function")
    if isinstance(inner, dict):  # OpenAI's form
        args: Any = inner.get("arguments")
        name = inner.get("name")
    else:
        args, name = given.get("args"), given.get("name")
    if isinstance(args, str) and malformed is None and len(args) <= _LONGEST_ARGUMENTS:
        with suppress(ValueError):
            args = json.loads(args)
    return Call(_text(given.get("id")), _text(name) or _UNKNOWN, args, malformed)


def _blocks_of_calls(content: list[Any]) -> list[Call]:
    """Calls as Anthropic's content has them. (LangChain's own messages have `tool_calls`.)"""
    return [
        Call(_text(block.get("id")), _text(block.get("name")) or _UNKNOWN, block.get("input"))
        for block in content
        if isinstance(block, dict) and block.get("type") == "tool_use"
    ]


def _results(content: Any) -> list[Result]:
    """Results as Anthropic's form has them: blocks of a user's message."""
    found = []
    for block in content:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            call = _text(block.get("tool_use_id"))
            if call is not None:
                inner = block.get("content")
                said = inner if isinstance(inner, str) else _said(inner)[0]
                found.append(Result(call, None, block.get("is_error") is True, said))
    return found


def broken_off(message: Message) -> str | None:
    """Why an answer is not whole, or None."""
    about = message.about
    if not about:
        return None
    for key in _REASONS:
        reason = about.get(key)
        if isinstance(reason, str):
            return _BROKEN_OFF.get(reason.lower())
    details = about.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return _BROKEN_OFF.get(reason.lower()) if isinstance(reason, str) else None


# ---- where they come from


def written(value: Any) -> Sequence[Any]:
    """The elements of one write to a list: a list or one of them, perhaps as an Overwrite."""
    if isinstance(value, Overwrite):
        value = value.value
    elif isinstance(value, dict):
        if len(value) == 1 and _OVERWRITE in value:
            value = value[_OVERWRITE]
        elif value.get("type") == _OVERWRITE and "value" in value:
            value = value["value"]
    if isinstance(value, list | tuple) and not _is_pair(value):
        return value
    return (value,)


def has_results(value: Any) -> bool:
    """Whether one write to a channel has a tool's result in it."""
    for each in written(value):
        if isinstance(each, ToolMessage):
            return True
        if type(each) is dict and (message := read(each)) is not None and message.role == "tool":
            return True
    return False


class News(NamedTuple):
    """The new messages of one list, each read once for all that look at them."""

    channel: str
    fresh: Fresh
    read: Mapping[int, Message | None]  # by place

    def messages(self) -> Iterator[tuple[int, Message]]:
        for place, message in self.read.items():
            if message is not None:
                yield place, message


class Digest(NamedTuple):
    """The new messages of a view, and which extractors are to look at them.

    `news` are those of a checkpoint, `written` those of a task's writes.
    """

    news: Sequence[News] = ()
    written: Sequence[tuple[TaskWrite, Message]] = ()
    speaks: bool = False  # an agent's words
    calls: frozenset[str] | set[str] = frozenset()  # names of the tools that are called
    answers: bool = False  # a tool's result
    fails: bool = False  # one that is an error


_NO_MESSAGES = Digest()


def digest(view: View) -> Digest:
    """The new messages of a view, read once."""
    found: Digest | None = view.found.get("digest")
    if found is None:
        found = view.found["digest"] = _digest(view)
    return found


def _digest(view: View) -> Digest:
    news: list[News] = []
    told: list[tuple[TaskWrite, Message]] = []
    messages: list[Message] = []
    if not view.putting:
        told = _written(view)
        messages = [message for _, message in told]
    elif view.fresh or view.writes:
        for channel, fresh in _conversations(view):
            held = {place: read(fresh.values[place]) for place in fresh.places}
            news.append(News(channel, fresh, held))
            messages += [message for message in held.values() if message is not None]
    if not (messages or news):
        return _NO_MESSAGES
    speaks = answers = fails = False
    calls: set[str] = set()
    for message in messages:
        if message.role == "ai":
            speaks = speaks or bool(message.text)
            for call in message.calls:
                calls.add(call.name)
        for result in message.results:
            answers = True
            fails = fails or result.failed
    return Digest(news, told, speaks, calls, answers, fails)


def _written(view: View) -> list[tuple[TaskWrite, Message]]:
    """The messages that a task wrote, each with its write."""
    found = []
    for write in view.writes:
        if write.channel.startswith(_NO_LISTS) or view.channels.left_out(write.channel):
            continue
        for each in written(write.value):
            message = read(each)
            if message is not None:
                found.append((write, message))
    return found


def _conversations(view: View) -> Iterator[tuple[str, Fresh]]:
    """The channels that hold messages, with what is new in them.

    A DeltaChannel's value is not at hand: what is new in it is what the parent's tasks wrote.
    """
    for channel, fresh in view.fresh.items():
        if not fresh.places or view.channels.left_out(channel):
            continue
        values, places = fresh.values, fresh.places
        if isinstance(values[places[0]], BaseMessage) or any(
            _talks(values[place]) for place in places[:_TRIED]
        ):
            yield channel, fresh
    for channel in dict.fromkeys([write.channel for write in view.writes]):
        if channel in view.fresh or channel not in view.changed or channel.startswith(_NO_LISTS):
            continue
        if channel in view.values and type(view.values[channel]) is not _DeltaSnapshot:
            continue
        writes = [write for write in view.writes if write.channel == channel]
        writes.sort(key=lambda write: write.path)  # as the graph applies them
        new = [each for write in writes for each in written(write.value)]
        if channel == _MESSAGES:  # where LangChain takes bare text for a person's
            new = [("human", each) if isinstance(each, str) else each for each in new]
        if any(map(_talks, new)) and not view.channels.left_out(channel):
            yield channel, Fresh(new, range(len(new)), complete=False)


def _talks(value: Any) -> bool:
    if isinstance(value, BaseMessage):
        return True
    return isinstance(value, dict | tuple | list) and read(value) is not None


def listed(value: Any) -> list[Any] | None:
    """The list that a channel holds, also as a delta channel's snapshot; None for anything else."""
    if isinstance(value, _DeltaSnapshot):
        value = value.value
    return value if isinstance(value, list) else None


def conversation(seed: Sequence[Any], writes: Sequence[Any]) -> list[Any] | None:
    """The messages that LangGraph's own reducer makes of a delta channel's history; None if it
    can't."""
    with suppress(Exception):
        first = seed[0] if seed else []
        held: Any = first.value if isinstance(first, _DeltaSnapshot) else first
        for write in writes:
            held = write.value if isinstance(write, Overwrite) else add_messages(held, write)
        return list(held)
    return None
