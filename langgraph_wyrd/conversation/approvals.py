"""What an interrupt lets people answer, and their answers in the form that its node expects.

Four forms are known: langchain's human in the loop for a turn's calls together and for each alone,
Agent Inbox's, and the questions of MCP servers. Any other interrupt takes any value that fits its
schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langgraph_wyrd.conversation.schema import choices, misfit
from langgraph_wyrd.errors import AnswerNotAllowed

Form = Literal["batched", "per_call", "agent_inbox", "elicitation", "plain"]
ALL = ("approve", "edit", "reject", "respond")
_CANONICAL = {"accept": "approve", "ignore": "reject", "response": "respond"}
_OF_INBOX = {"approve": "accept", "edit": "edit", "reject": "ignore", "respond": "response"}
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
    """What is asked for. `several`: Agent Inbox's form holds a list."""

    form: Form
    actions: tuple[Action, ...] = ()
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    several: bool = False

    @property
    def allowed(self) -> tuple[str, ...]:
        """What may be decided about all of its actions."""
        if not self.actions:
            return () if self.schema is None else choices(self.schema)
        first, *others = (action.allowed for action in self.actions)
        return tuple(each for each in first if all(each in other for other in others))


def request(value: Any, schema: Mapping[str, Any] | None = None) -> Request:
    """What an interrupt's value asks for."""
    if isinstance(value, Mapping):
        if value.get("type") == "tool_approval" and "name" in value:
            allowed = ALL if schema is None else choices(schema) or ALL
            return Request("per_call", (_action(value, allowed),), schema)
        if value.get("type") == "mcp_elicitation" and isinstance(value.get("requests"), Sequence):
            asked = [each for each in value["requests"] if isinstance(each, Mapping)]
            return Request("elicitation", tuple(map(_elicited, asked)), schema)
        if (found := _batched(value)) is not None:
            return found
    several = isinstance(value, list | tuple)
    asked = list(value) if several else [value]
    if asked and all(_is_inbox(each) for each in asked):
        return Request("agent_inbox", tuple(map(_of_inbox, asked)), schema, several)
    return Request("plain", (), schema)


def _action(call: Mapping[str, Any], allowed: Sequence[str]) -> Action:
    text = call.get("description")
    said = text if isinstance(text, str) and text else None
    return Action(str(call.get("name")), call.get("args"), tuple(allowed), said)


def _batched(value: Mapping[str, Any]) -> Request | None:
    calls, rules = value.get("action_requests"), value.get("review_configs")
    if not isinstance(calls, Sequence) or isinstance(calls, str) or not calls:
        return None
    if not all(isinstance(call, Mapping) and "name" in call for call in calls):
        return None
    allowed = {
        rule.get("action_name"): tuple(rule.get("allowed_decisions") or ALL)
        for rule in (rules if isinstance(rules, Sequence) else ())
        if isinstance(rule, Mapping)
    }
    return Request("batched", tuple(_action(c, allowed.get(c["name"], ALL)) for c in calls))


def _is_inbox(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("action_request"), Mapping)


def _of_inbox(value: Mapping[str, Any]) -> Action:
    call, config = value["action_request"], value.get("config")
    allowed = [_OF_INBOX[each] for each in ALL]
    if isinstance(config, Mapping):
        may = {"accept": "allow_accept", "edit": "allow_edit", "ignore": "allow_ignore"}
        may["response"] = "allow_respond"
        allowed = [each for each in allowed if config.get(may[each]) is True]
    named = {"name": call.get("action") or call.get("name"), "args": call.get("args")}
    return _action({**named, "description": value.get("description")}, allowed)


def _elicited(value: Mapping[str, Any]) -> Action:
    text = value.get("message")
    args = value.get("requested_schema") if value.get("mode") == "form" else value.get("url")
    key, said = str(value.get("key")), text if isinstance(text, str) else None
    return Action(key, args, _ELICITED, said)


# ---- answers


def answer(given: Any, asked: Request) -> Any:
    """The answer as the node expects it.

    Raises:
        AnswerNotAllowed: The interrupt does not take it; the message says what it takes.
    """
    if asked.form == "plain":
        if asked.schema is not None and (wrong := misfit(given, asked.schema)) is not None:
            raise AnswerNotAllowed(f"the answer does not fit what was asked for: {wrong}")
        return given
    if asked.form == "elicitation":
        return _elicitation(given, asked)
    if asked.form == "agent_inbox":
        decided = _each(given, asked, "responses", _for_inbox)
        return decided if asked.several else decided[0]
    decided = _each(given, asked, "decisions", _for_langchain)
    if asked.form == "batched":
        return {"decisions": decided}
    if asked.schema is not None and (wrong := misfit(decided[0], asked.schema)) is not None:
        raise AnswerNotAllowed(f"{asked.actions[0].name}: {wrong}")
    return decided[0]


def _each(
    given: Any, asked: Request, name: str, decide: Callable[[Any, Action], dict[str, Any]]
) -> list[dict[str, Any]]:
    """A decision about each action. One word stands for all of them."""
    if isinstance(given, Mapping) and isinstance(given.get(name), list | tuple):
        given = given[name]
    if isinstance(given, str):
        given = [given] * len(asked.actions)
    elif not isinstance(given, list | tuple):
        given = [given]
    if len(given) != len(asked.actions):
        names = ", ".join(action.name for action in asked.actions)
        raise AnswerNotAllowed(
            f"{len(given)} decisions for {len(asked.actions)} actions: give a list with one for "
            f"each, in this order: {names}"
        )
    return [decide(each, action) for each, action in zip(given, asked.actions, strict=True)]


def _typed(given: Any, action: Action) -> tuple[str, dict[str, Any]]:
    """A decision's type, in langchain's words, and what goes with it."""
    held = {"type": given} if isinstance(given, str) else given
    kind = held.get("type") if isinstance(held, Mapping) else None
    if not isinstance(kind, str):
        raise AnswerNotAllowed(
            f"{action.name}: {given!r} is no decision. Use one of {_listed(action.allowed)}, or "
            f'{{"type": …}} with what belongs to it'
        )
    return _CANONICAL.get(kind, kind), dict(held)


def _refused(given: str, action: Action) -> AnswerNotAllowed:
    return AnswerNotAllowed(
        f"{action.name}: {given!r} is not allowed here. Allowed: {_listed(action.allowed)}"
    )


def _listed(allowed: Sequence[str]) -> str:
    return ", ".join(allowed) or "nothing"


def _message(held: Mapping[str, Any]) -> str | None:
    for name in ("message", "args"):
        if isinstance(text := held.get(name), str) and text:
            return text
    return None


def _edited(held: Mapping[str, Any], action: Action) -> tuple[str, Any]:
    """The name and the arguments of an edited action."""
    edited = held.get("edited_action", held.get("args"))
    if isinstance(edited, Mapping):
        name = edited.get("name", edited.get("action"))
        if isinstance(name, str) and isinstance(edited.get("args"), Mapping):
            return name, dict(edited["args"])
        if "edited_action" not in held:
            return action.name, dict(edited)
    raise AnswerNotAllowed(
        f'{action.name}: an edit needs the new arguments: {{"type": "edit", "edited_action": '
        f'{{"name": {action.name!r}, "args": {{…}}}}}}'
    )


def _for_langchain(given: Any, action: Action) -> dict[str, Any]:
    kind, held = _typed(given, action)
    text = _message(held)
    if kind == "respond" and kind not in action.allowed and "reject" in action.allowed:
        kind = "reject"  # Agent Inbox calls a reply to the agent a response
    if kind not in action.allowed:
        raise _refused(str(held["type"]), action)
    if kind == "edit":
        name, args = _edited(held, action)
        return {"type": "edit", "edited_action": {"name": name, "args": args}}
    if kind == "respond" and text is None:
        raise AnswerNotAllowed(
            f'{action.name}: a response needs its text: {{"type": "respond", "message": "…"}}'
        )
    return {"type": kind} if text is None or kind == "approve" else {"type": kind, "message": text}


def _for_inbox(given: Any, action: Action) -> dict[str, Any]:
    kind, held = _typed(given, action)
    text, said = _message(held), _OF_INBOX.get(kind, kind)
    if said == "ignore" and text is not None and "response" in action.allowed:
        said = "response"
    if said not in action.allowed:
        raise _refused(str(held["type"]), action)
    if said == "edit":
        name, args = _edited(held, action)
        return {"type": "edit", "args": {"action": name, "args": args}}
    if said == "response":
        if text is None:
            raise AnswerNotAllowed(
                f'{action.name}: a response needs its text: {{"type": "response", "args": "…"}}'
            )
        return {"type": "response", "args": text}
    return {"type": said, "args": None}


def _elicitation(given: Any, asked: Request) -> Any:
    if isinstance(given, str):
        responses: Any = {action.name: {"action": given} for action in asked.actions}
    elif isinstance(given, Mapping) and isinstance(given.get("responses"), Mapping):
        responses = given["responses"]
    elif len(asked.actions) == 1 and isinstance(given, Mapping):
        held = dict(given) if "action" in given else {"action": "accept", "content": dict(given)}
        responses = {asked.actions[0].name: held}
    else:
        responses = given
    keys = [action.name for action in asked.actions]
    if not isinstance(responses, Mapping) or set(responses) != set(keys):
        raise AnswerNotAllowed(
            f'give {{"responses": …}} with an answer for each of these keys: {", ".join(keys)}'
        )
    made: dict[str, Any] = {}
    for action in asked.actions:
        held = responses[action.name]
        kind = held.get("action") if isinstance(held, Mapping) else held
        if kind not in action.allowed:
            raise _refused(str(kind), action)
        made[action.name] = dict(held) if isinstance(held, Mapping) else {"action": kind}
        if kind == "accept" and isinstance(action.args, Mapping):
            content = made[action.name].get("content")
            if (wrong := misfit(content, action.args)) is not None:
                raise AnswerNotAllowed(f"{action.name}: its content does not fit: {wrong}")
    return {"responses": made}
