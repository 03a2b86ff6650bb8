"""What an interrupt asks: in words, and as the actions that people decide on.

Four forms are known: langchain's human in the loop for a turn's calls together and for each alone,
Agent Inbox's, and the questions of MCP servers (langchain's `mcp_elicitation`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langgraph_wyrd.extraction.plain import as_text, bounded
from langgraph_wyrd.state.model import shortened

_QUESTION = 500  # characters of a description
_ACTION = 120
_ARGS = 600
_ACTIONS = 10  # of one interrupt, that are shown in full
_ASKED = ("question", "ask", "message", "prompt", "description", "query", "title", "text")
_MESSAGE = 300  # characters of an MCP server's questions
_REQUESTS = 8  # of one call, that are kept
_FIELDS = 6  # of a form, that the description names
_KEPT = ("key", "message", "mode", "url", "requested_schema")

Form = Literal["batched", "per_call", "agent_inbox", "elicitation", "plain"]
ALL = ("approve", "edit", "reject", "respond")
OF_INBOX = {"approve": "accept", "edit": "edit", "reject": "ignore", "respond": "response"}
_ALLOWS = {each: f"allow_{each.replace('response', 'respond')}" for each in OF_INBOX.values()}
_ELICITED = ("accept", "decline", "cancel")


@dataclass(frozen=True, slots=True)
class Action:
    """One action to decide on: a tool call, or a question of an MCP server."""

    name: str
    args: Any = None
    allowed: tuple[str, ...] = ALL
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. `several`: Agent Inbox's form holds a list. `call`: a tool call's id."""

    form: Form
    actions: tuple[Action, ...] = ()
    several: bool = False
    call: str | None = None


def parts_of(interrupt: Any) -> tuple[str | None, Any, Mapping[str, Any] | None]:
    """Id, value and the answer's schema of an interrupt. Older ones are dicts, or have no id."""

    def field(name: str, otherwise: Any = None) -> Any:
        if isinstance(interrupt, Mapping) and "value" in interrupt:
            return interrupt.get(name, otherwise)
        return getattr(interrupt, name, otherwise)

    id, schema = field("id") or field("interrupt_id"), field("response_schema")
    known = isinstance(id, str) and id and id != "placeholder-id"
    value = field("value", interrupt)
    return id if known else None, value, schema if isinstance(schema, Mapping) else None


def request(value: Any) -> Request:
    """What an interrupt's value asks for."""
    if isinstance(value, Mapping):
        if value.get("type") == "tool_approval" and "name" in value:
            call = value.get("tool_call_id")
            call = call if isinstance(call, str) else None
            return Request("per_call", (_action(value, ALL),), call=call)
        if questions := _elicited(value):
            return Request("elicitation", tuple(map(_question, questions)))
        calls, rules = _mappings(value.get("action_requests")), value.get("review_configs")
        if calls:
            allowed = {
                rule.get("action_name"): tuple(rule.get("allowed_decisions") or ALL)
                for rule in _mappings(rules)
            }
            made = (_action(each, allowed.get(each.get("name"), ALL)) for each in calls)
            return Request("batched", tuple(made))
    several = isinstance(value, list | tuple)
    asked = list(value) if several else [value]
    actions = [each.get("action_request") if isinstance(each, Mapping) else None for each in asked]
    if asked and all(isinstance(each, Mapping) for each in actions):
        return Request("agent_inbox", tuple(map(_of_inbox, asked)), several)
    return Request("plain")


def _mappings(values: Any) -> list[Mapping[str, Any]]:
    return [each for each in values if isinstance(each, Mapping)] if _is_list(values) else []


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _action(call: Mapping[str, Any], allowed: tuple[str, ...]) -> Action:
    text = call.get("description")
    said = text if isinstance(text, str) and text else None
    return Action(str(call.get("name") or "an action"), call.get("args"), allowed, said)


def _of_inbox(value: Mapping[str, Any]) -> Action:
    call, config = value["action_request"], value.get("config")
    allowed = [OF_INBOX[each] for each in ALL]
    if isinstance(config, Mapping):
        allowed = [each for each in allowed if config.get(_ALLOWS[each]) is True]
    named = {"name": call.get("action") or call.get("name"), "args": call.get("args")}
    return _action({**named, "description": value.get("description")}, tuple(allowed))


def _elicited(value: Any) -> list[Mapping[str, Any]]:
    """The questions of an MCP server; none for any other value."""
    is_one = isinstance(value, Mapping) and value.get("type") == "mcp_elicitation"
    return _mappings(value.get("requests")) if is_one else []


def _question(value: Mapping[str, Any]) -> Action:
    text = value.get("message")
    args = value.get("requested_schema") if value.get("mode") == "form" else value.get("url")
    return Action(str(value.get("key")), args, _ELICITED, text if isinstance(text, str) else None)


# ---- in words


def asked(value: Any) -> tuple[str, dict[str, Any], str | None]:
    """What an interrupt asks in words, what goes with it, and the tool call it is about."""
    if isinstance(value, str):
        context = {} if len(value) <= _QUESTION else {"value": bounded(value)[0]}
        return shortened(value, _QUESTION) or "waits for an answer", context, None
    if questions := _elicited(value):
        return (*_elicitation(str(value.get("tool_name") or "a tool"), questions), None)
    found = request(value)
    if found.actions:
        return (*_decision(found.actions), found.call)
    shown, about = bounded(value)
    context = {"value": shown} if not about else {"value": shown, "value_cut": about}
    if isinstance(shown, Mapping):
        for name in _ASKED:
            if isinstance(text := shown.get(name), str) and text.strip():
                return shortened(text, _QUESTION), context, None
    if value is None or shown in ({}, [], ""):
        return "waits for an answer", {}, None
    return as_text(shown, _QUESTION), context, None


def _decision(actions: Sequence[Action]) -> tuple[str, dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    words: list[str] = []
    for each in actions[:_ACTIONS]:
        shown: dict[str, Any] = {"name": each.name, "args": bounded(each.args, _ARGS)[0]}
        if each.description is not None:
            shown["description"] = shortened(each.description[:2000], _QUESTION)
        if each.allowed is not ALL:
            shown["allowed"] = [*map(str, each.allowed)]
        kept.append(shown)
        words.append(f"{each.name} {as_text(each.args, _ACTION)}" if each.args else each.name)
    context: dict[str, Any] = {"actions": kept}
    if len(actions) > _ACTIONS:
        words.append(f"and {len(actions) - _ACTIONS} more")
        context["actions_left_out"] = len(actions) - _ACTIONS
    return shortened(f"approve {'; '.join(words)}?", _QUESTION), context


def _elicitation(tool: str, questions: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
    words, kept = [], []
    for each in questions[:_REQUESTS]:
        text = shortened(str(each.get("message") or "an answer is needed")[:2000], _MESSAGE)
        schema, url = each.get("requested_schema"), each.get("url")
        fields = schema.get("properties") if isinstance(schema, Mapping) else None
        if isinstance(url, str) and url:
            text += f" (open {shortened(url, 200)})"
        elif isinstance(fields, Mapping) and fields:
            text += f" ({', '.join(str(name)[:60] for name in [*fields][:_FIELDS])})"
        words.append(text)
        kept.append({k: bounded(each[k])[0] for k in _KEPT if each.get(k) is not None})
    context: dict[str, Any] = {"tool": tool, "requests": kept}
    if len(questions) > _REQUESTS:
        words.append(f"and {len(questions) - _REQUESTS} more")
        context["requests_left_out"] = len(questions) - _REQUESTS
    return shortened(f"{tool} asks: {'; '.join(words)}", _MESSAGE), context
