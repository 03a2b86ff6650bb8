"""Chat models that refuse a history as OpenAI and Anthropic do, on what would really be sent.

The messages go through the converters of langchain-openai and langchain-anthropic; what these make
of them is held to the rules that the providers answer 400 for. The texts are theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain_anthropic.chat_models import _format_messages
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai.chat_models.base import _convert_message_to_dict
from pydantic import ConfigDict, Field

Provider = Literal["openai", "anthropic"]
PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic")

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = {
    "openai": re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    "anthropic": re.compile(r"[a-zA-Z0-9_-]{1,128}"),
}
_PARTS = {
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
    "system": {"text"},
}


class Refused(ValueError):
    """400, invalid_request_error."""


def check(provider: Provider, messages: Sequence[BaseMessage]) -> None:
    """Raise what the provider would answer to this history."""
    (_openai if provider == "openai" else _anthropic)(messages)


def refused_by(messages: Sequence[BaseMessage]) -> dict[Provider, str]:
    """What each provider that refuses says."""
    found: dict[Provider, str] = {}
    for provider in PROVIDERS:
        try:
            check(provider, messages)
        except Refused as error:
            found[provider] = str(error)
    return found


# ---- OpenAI


def _openai(messages: Sequence[BaseMessage]) -> None:
    sent = [_convert_message_to_dict(message) for message in messages]
    if not sent:
        raise Refused("Invalid 'messages': empty array. Expected an array with minimum length 1.")
    waiting: dict[str, int | None] = {}  # calls of a turn, and where answered
    for place, message in enumerate(sent):
        role, content = message["role"], message["content"]
        if role == "tool":
            _openai_result(message, place, waiting)
        else:
            _openai_answered(waiting)
            waiting = {}
        calls = message.get("tool_calls")
        if isinstance(content, list):
            if not content:
                raise Refused(f"Invalid 'messages[{place}].content': empty array.")
            for part in content:
                if isinstance(part, dict) and part["type"] not in _PARTS[role]:
                    raise Refused(f"Invalid value: '{part['type']}'. (messages[{place}])")
        elif content is None and not calls:
            raise Refused("Invalid value for 'content': expected a string, got null.")
        if calls is None:
            continue
        if not calls:
            raise Refused(f"Invalid 'messages[{place}].tool_calls': empty array.")
        for call in calls:
            name, id = call["function"]["name"], call["id"]
            if not isinstance(id, str) or not id:
                raise Refused(f"Invalid type for 'messages[{place}].tool_calls[].id'.")
            if (n := len(id)) > 40:
                raise Refused(
                    f"Invalid 'messages[{place}].tool_calls[].id': string too long. Expected a "
                    f"string with maximum length 40, but got a string with length {n} instead."
                )
            if not isinstance(name, str) or not _NAME["openai"].fullmatch(name):
                raise Refused(f"Invalid 'messages[{place}].tool_calls[].function.name'.")
            if not isinstance(call["function"]["arguments"], str):
                raise Refused(f"Invalid type for 'messages[{place}].tool_calls[].arguments'.")
            if id in waiting:
                raise Refused(f"Duplicate value for 'tool_call_id' of '{id}'.")
            waiting[id] = None
    _openai_answered(waiting)


def _openai_result(message: dict[str, Any], place: int, waiting: dict[str, int | None]) -> None:
    id = message["tool_call_id"]
    if id not in waiting:
        raise Refused(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'."
        )
    if waiting[id] is not None:
        raise Refused(
            f"Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in "
            f"messages[{waiting[id]}] and messages[{place}]."
        )
    waiting[id] = place


def _openai_answered(waiting: dict[str, int | None]) -> None:
    left = [id for id, place in waiting.items() if place is None]
    if left:
        raise Refused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(left)
        )


# ---- Anthropic


def _anthropic(messages: Sequence[BaseMessage]) -> None:
    system, sent = _format_messages(messages, model=None)
    for block in system if isinstance(system, list) else ():
        if block["type"] == "text" and not block["text"].strip():
            raise Refused("system: text content blocks must be non-empty")
    if not sent:
        raise Refused("messages: at least one message is required")
    if sent[0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')
    used: set[str] = set()
    asked: list[str] = []  # by the message before
    for place, message in enumerate(sent):
        role, content = message["role"], message["content"]
        final = role == "assistant" and place == len(sent) - 1
        if not content and not final:
            raise Refused(
                f"messages.{place}: all messages must have non-empty content except for the "
                "optional final assistant message"
            )
        if isinstance(content, str):
            content = [{"type": "text", "text": content}] if content else []
        _anthropic_text(content, final)
        _anthropic_results(content if role == "user" else [], asked, place)
        asked = []
        for n, block in enumerate(content):
            if block["type"] == "tool_use":
                id, name = block["id"], block["name"]
                if role != "assistant":
                    raise Refused(f"messages.{place}: `tool_use` blocks are for assistants")
                if not isinstance(id, str) or not _ID.fullmatch(id):
                    raise Refused(f"messages.{place}.content.{n}.tool_use.id: String should match")
                if not isinstance(name, str) or not _NAME["anthropic"].fullmatch(name):
                    raise Refused(f"messages.{place}.content.{n}.tool_use.name: String too short")
                if not isinstance(block["input"], dict):
                    raise Refused(f"messages.{place}.content.{n}.tool_use.input: not a dictionary")
                if id in used:
                    raise Refused(f"messages.{place}.content.{n}: `tool_use` ids must be unique")
                used.add(id)
                asked.append(id)
        if role == "assistant" and content and content[-1]["type"] == "thinking":
            raise Refused(f"messages.{place}: The final block cannot be `thinking`.")
    if asked:
        raise Refused(_unanswered(len(sent) - 1, asked))


def _anthropic_text(content: list[Any], final: bool) -> None:
    for block in content:
        if block["type"] == "text" and not block["text"]:
            raise Refused("messages: text content blocks must be non-empty")
        if block["type"] == "text" and not block["text"].strip():
            raise Refused("messages: text content blocks must contain non-whitespace text")
    if final and content and content[-1]["type"] == "text":
        text = content[-1]["text"]
        if text != text.rstrip():
            raise Refused("messages: final assistant content cannot end with trailing whitespace")


def _anthropic_results(content: list[Any], asked: list[str], place: int) -> None:
    found: list[str] = []
    for n, block in enumerate(content):
        if block["type"] != "tool_result":
            continue
        id = block["tool_use_id"]
        if id not in asked:
            raise Refused(
                f"messages.{place}.content.{n}: unexpected `tool_use_id` found in `tool_result` "
                f"blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` "
                "block in the previous message."
            )
        if id in found:
            raise Refused(
                f"messages.{place}.content.{n}: each tool_use must have a single result. Found "
                f"multiple `tool_result` blocks with id: {id}"
            )
        found.append(id)
    first = [
        block["tool_use_id"] for block in content[: len(asked)] if block["type"] == "tool_result"
    ]
    left = [id for id in asked if id not in first]
    if left:
        raise Refused(_unanswered(place - 1, left))


def _unanswered(place: int, ids: list[str]) -> str:
    return (
        f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` "
        "block in the next message."
    )


# ---- the model

Rule = Callable[[list[BaseMessage]], AIMessage]


class Strict(BaseChatModel):
    """Answers by a rule, if its provider takes the history. `heard` is what it was sent."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    rule: Rule
    provider: str = "openai"
    heard: list[list[BaseMessage]] = Field(default_factory=list)
    tools: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "strict"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {**super()._get_ls_params(stop, **kwargs), "ls_provider": self.provider}

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        self.tools[:] = [tool.name for tool in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        check(self.provider, messages)  # type: ignore[arg-type]
        self.heard.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.rule(messages))])
