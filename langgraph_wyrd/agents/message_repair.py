"""A history that no provider refuses: every tool call answered once, directly behind it.

Providers answer 400 to a history with a call that has no result, a result without its call, an id
used twice, results that stand elsewhere, or blank text. `repair_messages` changes what they would
refuse and nothing else; `sent_to` also adapts a history to the provider that it is sent to.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import blake2b
from itertools import zip_longest
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from langgraph_wyrd.extraction.messages import written
from langgraph_wyrd.state.wording import moment

STARTED = "__wyrd_started__"  # the channel of the note that a call is about to be run
UNKNOWN = "unknown"  # a tool without a name
EMPTY = "(empty message)"
LEFT_OUT = "(Earlier messages are left out.)"

# By what LangChain's models call their provider.
_PERSON_FIRST = ("anthropic", "amazon_bedrock")  # a history begins with a person
# Characters of a call's id and of a tool's name that they take at most.
_LONGEST = {
    "openai": (40, 64), "azure": (40, 64), "anthropic": (128, 128), "amazon_bedrock": (64, 64),
}  # fmt: skip
_ODD = re.compile(r"[^a-zA-Z0-9_-]")  # in a tool's name; converters see to ids

_CALLING = {
    "tool_use": "id", "tool_call": "id", "invalid_tool_call": "id", "function_call": "call_id",
}  # fmt: skip
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
# What a message in place of a result says: ours, and deepagents'.
_NO_RESULT = ("no result was recorded", "arguments were malformed or truncated")


def repair_messages(
    messages: Iterable[Any],
    *,
    pending_writes: Iterable[Sequence[Any]] = (),
    now: datetime | None = None,
    asked: Mapping[str, str] | None = None,
) -> list[BaseMessage]:
    """The history as OpenAI and Anthropic accept it. A history that is fine comes back as it is.

    A call without a result gets a `ToolMessage` with status `error` that says what is known; a
    result that had finished, but is only a pending write, is used. Results move directly behind
    their call; ids that are used twice get a number; results without a call, second results, and
    messages that say nothing are left out. Repairing twice is the same as repairing once.

    Args:
        messages: Messages, or what LangChain makes messages of.
        pending_writes: `(task id, channel, value)` each, as a checkpoint has them.
        now: When this is said, for what is said of a call without a result.
        asked: When calls were asked for, by their ids.
    """
    given = [m if isinstance(m, BaseMessage) else convert_to_messages([m])[0] for m in messages]
    return _Repair(given, pending_writes, now, asked or {}).done()


def sent_to(model: BaseChatModel, messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """The repaired history as this model's provider takes it, the same at every call."""
    provider = None
    with suppress(Exception):  # a model of somebody's own
        provider = model._get_ls_params().get("ls_provider")
    out = _Repair([*messages], (), None, {}, longest=_LONGEST.get(str(provider))).done()
    if provider in _PERSON_FIRST:
        first = next((n for n, m in enumerate(out) if not isinstance(m, SystemMessage)), None)
        if first is not None and isinstance(out[first], AIMessage):
            out.insert(first, HumanMessage(LEFT_OUT))
    return out


def unanswered(messages: Iterable[BaseMessage]) -> bool:
    """Whether a call has no result, or only words in place of one: a pending write may have it."""
    open_calls: set[str | None] = set()
    for message in messages:
        if isinstance(message, AIMessage):
            open_calls.update(call["id"] for call in message.tool_calls)
        elif isinstance(message, ToolMessage) and not has_no_result(message):
            open_calls.discard(message.tool_call_id)
    return bool(open_calls)


def has_no_result(message: BaseMessage) -> bool:
    """Whether a tool's message says only that there was no result."""
    if not isinstance(message, ToolMessage) or message.status != "error":
        return False
    text = message.text[:600]
    return any(sign in text for sign in _NO_RESULT)


def no_result(
    name: str, id: str, *, asked: str | None = None, started: str | None = None,
    now: datetime | None = None,
) -> ToolMessage:  # fmt: skip
    """The message in place of a result that nobody knows."""
    text = (
        f"`{name}` (call {id}) was asked for{f' at {asked}' if asked else ''}"
        f"{f', it was started at {started}' if started else ''}, and no result was recorded"
        f"{f' until {iso(now)}' if now else ''}. It may or may not have taken "
        "effect: verify before redoing it."
    )
    return ToolMessage(text, tool_call_id=id, name=name, status="error")


def iso(moment: datetime) -> str:
    """A time in UTC; one without a zone is local."""
    return f"{moment.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


# ---- the repair


@dataclass(slots=True)
class _Call:
    given: str  # the id as it was; "" for none
    id: str
    name: str
    malformed: str | None = None  # what is wrong with it, as far as anybody says
    result: ToolMessage | None = None
    place: int = -1  # where its result stood


class _Repair:
    """One history: its messages, its calls, and the result of each."""

    def __init__(
        self, given: Sequence[BaseMessage], writes: Iterable[Sequence[Any]], now: datetime | None,
        asked: Mapping[str, str], longest: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        self.now, self.asked, self.longest = now, asked, longest
        self.results: dict[str, ToolMessage] = {}  # that are only pending writes
        self.started: dict[str, str] = {}
        for task, channel, value, *_ in writes:
            if channel == STARTED and isinstance(value, Mapping):
                self.started[str(value.get("call"))] = str(value.get("at"))
            for each in () if channel.startswith("__") else written(value):
                if isinstance(each, ToolMessage) and not has_no_result(each):
                    if each.id is None:  # it is known again by its id, once it is in place
                        each = each.model_copy(update={"id": f"{task}/{each.tool_call_id}"})
                    self.results.setdefault(each.tool_call_id, each)
        self.messages: list[BaseMessage] = []
        self.calls: dict[int, list[_Call]] = {}  # by the place of their message
        self.taken: set[str] = set()
        self.reserved = {*self.results, *(id for message in given for id in _ids(message))}
        for message in given:
            self._take(message)
        self._pair()

    def done(self) -> list[BaseMessage]:
        out: list[BaseMessage] = []
        for place, message in enumerate(self.messages):
            if isinstance(message, ToolMessage):
                continue
            out.append(message)
            last = len(self.messages)
            calls = self.calls.get(place, [])
            for call in sorted(calls, key=lambda call: last if call.place < 0 else call.place):
                result = call.result or self._said(call)
                content = _without_blanks(result.content)
                if content is not result.content or result.tool_call_id != call.id:
                    update = {"content": content, "tool_call_id": call.id}
                    result = result.model_copy(update=update)
                out.append(result)
        return out

    def _said(self, call: _Call) -> ToolMessage:
        """In place of a result that nobody knows."""
        if call.malformed is None:
            said = self.asked.get(call.given)
            at = moment(said)
            asked, started = said if at is None else iso(at), self.started.get(call.given)
            return no_result(call.name, call.id, asked=asked, started=started, now=self.now)
        text = (
            f"`{call.name}` (call {call.id}) was not run: its arguments were malformed or truncated"
            f"{call.malformed and f' ({call.malformed[:200]})'}. "
            "If it is still needed, call it again with valid arguments."
        )
        return ToolMessage(text, tool_call_id=call.id, name=call.name, status="error")

    # ---- each message for itself

    def _take(self, message: BaseMessage) -> None:
        if isinstance(message, AIMessage):
            message, calls = self._named(message)
            if calls:
                self.calls[len(self.messages)] = calls
            elif _says_nothing(message):
                return
        elif isinstance(message, HumanMessage):
            results, rest = _split(message)
            self.messages.extend(results)
            if rest is None:
                return
            message = rest
        elif isinstance(message, SystemMessage) and not _without_blanks(message.content):
            return
        self.messages.append(message)

    def _named(self, message: AIMessage) -> tuple[AIMessage, list[_Call]]:
        """The message with a name and an unused id for each call; and its calls."""
        valid: list[dict[str, Any]] = [{**call} for call in message.tool_calls]
        broken: list[dict[str, Any]] = [{**call} for call in message.invalid_tool_calls]
        content: Any = _without_blanks(message.content)
        changed = content is not message.content
        held = {call.get("id") for call in (*valid, *broken)}
        for block in content if isinstance(content, list) else ():
            call = _call_of(block)
            if call is not None and call["id"] not in held:
                (valid if call["type"] == "tool_call" else broken).append(call)
                changed = True
        if not valid and not broken:
            return (message.model_copy(update={"content": content}) if changed else message), []
        found: list[_Call] = []
        renamed: dict[str, list[str]] = {}
        for n, call in enumerate((*valid, *broken)):
            id = old = call.get("id") or ""
            name = call.get("name") or UNKNOWN
            if self.longest is not None:
                name = _ODD.sub("_", name)[: self.longest[1]]
            made_up = _hashed(f"{message.id or len(self.messages)}/{n}", 8)
            new = self._new_id(id or made_up, made_up=not old)
            malformed = None if n < len(valid) else str(call.get("error") or "")
            found.append(_Call(old, new, name, malformed))
            renamed.setdefault(old, []).append(new)
            fixed = {"id": new, "name": name}
            if n >= len(valid) and not isinstance(call.get("args"), str):
                fixed["args"] = ""
            changed = changed or any(call.get(key) != value for key, value in fixed.items())
            call.update(fixed)
        if isinstance(content, list):
            blocks = _with_new_ids(content, renamed)
            if any(one is not other for one, other in zip_longest(blocks, content)):
                content, changed = blocks, True
        if not changed:
            return message, found
        kwargs = {k: v for k, v in message.additional_kwargs.items() if k != "tool_calls"}
        update = {"content": content, "tool_calls": valid, "invalid_tool_calls": broken}
        return message.model_copy(update={**update, "additional_kwargs": kwargs}), found

    def _new_id(self, id: str, *, made_up: bool) -> str:
        """This id, or, where it was given before, one with a number."""
        stem, n = id, 2
        id = self._fitting(id)
        if id in self.taken or (made_up and id in self.reserved):
            while (id := self._fitting(f"{stem}_{n}")) in self.taken or id in self.reserved:
                n += 1
        self.taken.add(id)
        return id

    def _fitting(self, id: str) -> str:
        """The id, or a hash of one that is too long for the provider."""
        return id if self.longest is None or len(id) <= self.longest[0] else _hashed(id, 16)

    # ---- which result belongs to which call

    def _pair(self) -> None:
        latest: dict[str, list[_Call]] = {}  # by id: the calls of the last message that has it
        early: dict[str, list[tuple[int, ToolMessage]]] = {}
        every: dict[str, list[_Call]] = {}
        for place, message in enumerate(self.messages):
            calls = self.calls.get(place, ())
            for id in {call.given for call in calls}:
                latest[id] = [call for call in calls if call.given == id]
                every.setdefault(id, []).extend(latest[id])
            if isinstance(message, ToolMessage):
                id = message.tool_call_id
                if id not in latest:
                    early.setdefault(id, []).append((place, message))
                else:
                    _answer(latest[id], message, place)
        for id, results in early.items():
            for (place, message), call in zip(results, every.get(id, ()), strict=False):
                _answer([call], message, place)
        placed = {message.id for message in self.messages if isinstance(message, ToolMessage)}
        for id, result in self.results.items():
            if id in every and result.id not in placed:  # it is of the last call of that id
                _answer(latest[id], result, -1)


def _answer(calls: list[_Call], result: ToolMessage, place: int) -> None:
    """Give the result to the first of the calls that has none, or only words in its place."""
    for call in calls:
        if call.result is None or (has_no_result(call.result) and not has_no_result(result)):
            call.result, call.place = result, place
            return


# ---- parts of messages


def _ids(message: BaseMessage) -> list[str]:
    """The ids of calls that a message names."""
    if isinstance(message, ToolMessage):
        return [message.tool_call_id]
    if not isinstance(message, AIMessage):
        return []
    return [
        id for call in (*message.tool_calls, *message.invalid_tool_calls) if (id := call.get("id"))
    ]


def _hashed(text: str, size: int) -> str:
    return f"call_{blake2b(text.encode('utf-8', 'replace'), digest_size=size).hexdigest()}"


def _call_of(block: Any) -> dict[str, Any] | None:
    """The call that a content block is."""
    if not _is(block, "tool_use", "tool_call"):
        return None
    args: Any = block.get("input", block.get("args"))
    if not args and isinstance(partial := block.get("partial_json"), str):
        args = partial
    if isinstance(args, str) and args:
        try:
            args = json.loads(args)
        except ValueError:
            broken = {"type": "invalid_tool_call", "args": args, "error": "not valid JSON"}
            return {**broken, "id": block.get("id"), "name": block.get("name")}
    call = {"type": "tool_call", "id": block.get("id"), "name": block.get("name")}
    return {**call, "args": args if isinstance(args, dict) else {}}


def _with_new_ids(content: list[Any], renamed: Mapping[str, list[str]]) -> list[Any]:
    """The blocks with the ids that their calls have now: the nth of an id is its nth call."""
    seen: Counter[tuple[str, str]] = Counter()
    out = []
    for block in content:
        if _is(block, *_CALLING):
            key = _CALLING[block["type"]]
            old = block.get(key) or ""
            n, new = seen[block["type"], old], renamed.get(old, ())
            seen[block["type"], old] += 1
            if n < len(new) and new[n] != block.get(key):
                block = {**block, key: new[n]}
            elif n >= len(new) > 0:
                continue  # there are more blocks of this id than calls
        out.append(block)
    return out


def _split(message: HumanMessage) -> tuple[list[ToolMessage], HumanMessage | None]:
    """Results that stand in a person's turn, as Anthropic has them, and what else is in it."""
    rest: Any = _without_blanks(message.content)
    blocks = [b for b in rest if _is(b, "tool_result")] if isinstance(rest, list) else []
    results = [
        ToolMessage(
            block.get("content") or "",
            tool_call_id=block.get("tool_use_id") or "",
            status="error" if block.get("is_error") else "success",
        )
        for block in blocks
    ]
    if blocks:
        rest = [block for block in rest if not _is(block, "tool_result")]
        if not rest:
            return results, None
    same = rest is message.content and rest
    return results, message if same else message.model_copy(update={"content": rest or EMPTY})


def _is(block: Any, *kinds: str) -> bool:
    return isinstance(block, dict) and block.get("type") in kinds


def _without_blanks(content: Any) -> Any:
    """The content without text that is only white space; the same object where there is none."""
    if isinstance(content, str):
        return content if not content or content.strip() else ""
    kept = [block for block in content if not _is_blank(block)]
    if not kept:
        return ""
    return content if len(kept) == len(content) else kept


def _is_blank(block: Any) -> bool:
    if isinstance(block, str):
        return not block.strip()
    text = block.get("text") if _is(block, "text") else EMPTY
    return not isinstance(text, str) or not text.strip()


def _says_nothing(message: AIMessage) -> bool:
    """No words, no calls: an answer that broke off, perhaps while it was thought over."""
    if any(message.additional_kwargs.values()):
        return False
    content = message.content
    if isinstance(content, str):
        return not content
    return all(_is(block, *_THOUGHTS) for block in content)
