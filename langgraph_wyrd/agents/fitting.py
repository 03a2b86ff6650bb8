"""A sound history in the form that the provider of a model takes: another one may have begun it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_wyrd.repair import with_new_ids

LEFT_OUT = "(Earlier messages are left out.)"

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class Form:
    """What a provider refuses, beside what `repair_messages` sees to."""

    id: int  # characters of a call's id, at most
    name: int  # of a tool's name, of which no other than letters, digits, _ and -
    person_first: bool  # whether a history begins with a person


_OPENAI, _ANTHROPIC, _BEDROCK = Form(40, 64, False), Form(128, 128, True), Form(64, 64, True)
# By what LangChain's models call their provider. The ids' characters are the converters' business.
_FORMS = {
    "openai": _OPENAI,
    "azure": _OPENAI,
    "anthropic": _ANTHROPIC,
    "amazon_bedrock": _BEDROCK,
}


def form_of(model: BaseChatModel) -> Form | None:
    """What the model's provider takes; None if that is not known."""
    with suppress(Exception):  # a model of somebody's own
        return _FORMS.get(model._get_ls_params().get("ls_provider", ""))
    return None


def fitted(messages: Sequence[BaseMessage], form: Form | None) -> list[BaseMessage]:
    """The history in this form; what has it already comes back as it is."""
    if form is None:
        return [*messages]
    out = [_fitted(message, form) for message in messages]
    if form.person_first:
        first = next((n for n, m in enumerate(out) if not isinstance(m, SystemMessage)), None)
        if first is not None and isinstance(out[first], AIMessage):
            out.insert(first, HumanMessage(LEFT_OUT))
    return out


def _fitted(message: BaseMessage, form: Form) -> BaseMessage:
    if isinstance(message, ToolMessage):
        id = _id(message.tool_call_id, form)
        same = id == message.tool_call_id
        return message if same else message.model_copy(update={"tool_call_id": id})
    if not isinstance(message, AIMessage) or not _odd(message, form):
        return message
    renamed: dict[str, list[str]] = {}
    update: dict[str, Any] = {}
    for field in ("tool_calls", "invalid_tool_calls"):
        update[field] = [
            {**call, "id": _id(call["id"] or "", form), "name": _name(call["name"] or "", form)}
            for call in getattr(message, field)
        ]
        for call, new in zip(getattr(message, field), update[field], strict=True):
            if new["id"] != call["id"]:
                renamed.setdefault(call["id"], []).append(new["id"])
    if renamed and isinstance(message.content, list):
        update["content"] = with_new_ids(message.content, renamed)
    kept = {k: v for k, v in message.additional_kwargs.items() if k != "tool_calls"}
    return message.model_copy(update={**update, "additional_kwargs": kept})


def _odd(message: AIMessage, form: Form) -> bool:
    return any(
        _id(call["id"] or "", form) != (call["id"] or "")
        or _name(call["name"] or "", form) != (call["name"] or "")
        for call in (*message.tool_calls, *message.invalid_tool_calls)
    )


def _id(id: str, form: Form) -> str:
    """An id that is too long, by a hash: the same at every call, and for its result."""
    if len(id) <= form.id:
        return id
    return f"call_{blake2b(id.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


def _name(name: str, form: Form) -> str:
    return _ODD.sub("_", name)[: form.name]
