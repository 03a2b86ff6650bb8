"""What an interrupt lets people answer, and their answers in the form that its node expects (pure:
`answers` stores them).

An interrupt of no known form takes any value that fits its JSON schema. LangGraph checks an answer
when the run goes on, too late for one that is stored before; keywords that this does not know
(formats, patterns, …) are not checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langgraph_wyrd.errors import AnswerNotAllowed
from langgraph_wyrd.extraction import interrupts
from langgraph_wyrd.extraction.interrupts import OF_INBOX, Action, Request

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}
_DEEPEST = 40


def misfit(value: Any, schema: Mapping[str, Any]) -> str | None:
    """What is wrong with a value, in words; None if it fits."""
    return next(_misfits(value, schema, schema, "it", 0), None)


def choices(schema: Mapping[str, Any], name: str = "type") -> tuple[str, ...]:
    """The texts that a field may be: of each branch of a union, or of an `enum`."""
    found: dict[str, None] = {}
    for branch in _branches(schema, schema):
        held = _resolved(_dict(branch.get("properties")).get(name), schema)
        options = [held["const"]] if "const" in held else held.get("enum") or []
        found.update((each, None) for each in options if isinstance(each, str))
    return tuple(found)


def _branches(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    schema = _resolved(schema, root)
    union = schema.get("oneOf") or schema.get("anyOf")
    if not isinstance(union, list):
        yield schema
        return
    for each in union:
        yield _resolved(each, root)


def _misfits(
    value: Any, schema: Any, root: Mapping[str, Any], where: str, depth: int
) -> Iterator[str]:
    schema = _resolved(schema, root)
    if depth > _DEEPEST:
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where} must be {schema['const']!r}, not {value!r}"
    if isinstance(options := schema.get("enum"), list) and value not in options:
        yield f"{where} must be one of {', '.join(map(repr, options))}, not {value!r}"
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(kinds, list) and not any(_is(value, kind) for kind in kinds):
        yield f"{where} must be of type {' or '.join(map(str, kinds))}, not {value!r}"
        return
    yield from _union(value, schema, root, where, depth)
    if isinstance(value, dict):
        fields = _dict(schema.get("properties"))
        for name in schema.get("required") or ():
            if name not in value:
                yield f"{where} has no {name!r}"
        for name, inner in fields.items():
            if name in value:
                yield from _misfits(value[name], inner, root, f"{where}[{name!r}]", depth + 1)
        if schema.get("additionalProperties") is False:
            for name in value.keys() - fields.keys():
                yield f"{where} has a field {name!r} that is not known"
    if isinstance(value, list | tuple) and isinstance(schema.get("items"), Mapping):
        for n, each in enumerate(value):
            yield from _misfits(each, schema["items"], root, f"{where}[{n}]", depth + 1)


def _union(
    value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], where: str, depth: int
) -> Iterator[str]:
    union = schema.get("oneOf") or schema.get("anyOf")
    if not isinstance(union, list):
        return
    field = _dict(schema.get("discriminator")).get("propertyName")
    if isinstance(field, str) and isinstance(value, dict):  # one error, of the branch it names
        named = [each for each in union if value.get(field) in _names(each, root, field)]
        if not named:
            names = ", ".join(name for each in union for name in _names(each, root, field))
            yield f"{where}[{field!r}] must be one of {names}, not {value.get(field)!r}"
            return
        union = named
    problems = [next(_misfits(value, each, root, where, depth + 1), None) for each in union]
    if None not in problems:
        yield str(problems[0])


def _resolved(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """A schema, where it is a reference to another part of the whole one."""
    for _ in range(_DEEPEST):
        ref = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(ref, str) or not ref.startswith("#/"):
            break
        schema = root
        for part in ref[2:].split("/"):
            schema = _dict(schema).get(part)
    return _dict(schema)


def _names(schema: Any, root: Mapping[str, Any], field: str) -> tuple[str, ...]:
    """What a branch of a union calls itself."""
    return choices({"$defs": root.get("$defs", {}), **_resolved(schema, root)}, field)


def _dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _is(value: Any, kind: Any) -> bool:
    known = _TYPES.get(str(kind))
    if known is None:
        return True
    if isinstance(value, bool):
        return bool(kind == "boolean")
    whole = kind == "integer" and isinstance(value, float) and value.is_integer()
    return whole or isinstance(value, known)


_CANONICAL = {inbox: ours for ours, inbox in OF_INBOX.items()}


def allowed(asked: Request, schema: Mapping[str, Any] | None) -> tuple[str, ...]:
    """What may be decided about all of an interrupt's actions."""
    if not asked.actions:
        return () if schema is None else choices(schema)
    first, *others = (action.allowed for action in asked.actions)
    return tuple(each for each in first if all(each in other for other in others))


def request(value: Any, schema: Mapping[str, Any] | None) -> Request:
    """What an interrupt's value asks for; the schema of a single call says what is allowed."""
    found = interrupts.request(value)
    if found.form == "per_call" and schema is not None and (names := choices(schema)):
        return replace(found, actions=(replace(found.actions[0], allowed=names),))
    return found


# ---- answers


def fitted(given: Any, asked: Request, schema: Mapping[str, Any] | None) -> Any:
    """The answer as the node expects it.

    Raises:
        AnswerNotAllowed: The interrupt does not take it; the message says what it takes.
    """
    if asked.form == "plain":
        if schema is not None and (wrong := misfit(given, schema)) is not None:
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
    if schema is not None and (wrong := misfit(decided[0], schema)) is not None:
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


def _decided(given: Any, action: Action) -> tuple[str, str | None, Any]:
    """What was decided about an action, in langchain's words; its text; the edited action."""
    kind, held = _typed(given, action)
    text = next((t for t in (held.get("message"), held.get("args")) if t and type(t) is str), None)
    # Agent Inbox calls a reply to the agent a response, langchain a rejection with a message.
    if kind == "respond" and "reject" in action.allowed and kind not in action.allowed:
        kind = "reject"
    elif kind == "reject" and text is not None and "response" in action.allowed:
        kind = "respond"
    if not {kind, OF_INBOX.get(kind, kind)} & {*action.allowed}:
        raise _refused(str(held["type"]), action)
    if kind == "respond" and text is None:
        raise AnswerNotAllowed(
            f'{action.name}: a response needs its text: {{"type": {held["type"]!r}, '
            '"message": "…"}'
        )
    return kind, text, _edited(held, action) if kind == "edit" else None


def _for_langchain(given: Any, action: Action) -> dict[str, Any]:
    kind, text, edited = _decided(given, action)
    if edited is not None:
        return {"type": "edit", "edited_action": {"name": edited[0], "args": edited[1]}}
    return {"type": kind} if text is None or kind == "approve" else {"type": kind, "message": text}


def _for_inbox(given: Any, action: Action) -> dict[str, Any]:
    kind, text, edited = _decided(given, action)
    if edited is not None:
        return {"type": "edit", "args": {"action": edited[0], "args": edited[1]}}
    return {"type": OF_INBOX[kind], "args": text if kind == "respond" else None}


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
