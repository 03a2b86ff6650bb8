"""Whether a value fits a JSON schema, as far as interrupts use one.

LangGraph checks an answer when the run goes on, too late for an answer that is stored before. What
this does not know (formats, patterns, …) it lets through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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
    for each in schema.get("allOf") or ():
        yield from _misfits(value, each, root, where, depth + 1)
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
