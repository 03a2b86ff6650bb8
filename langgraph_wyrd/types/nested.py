"""Migrations of classes whose data lies inside a model's.

A pydantic model is stored with everything inside it as bare dicts: which class a dict was of, only
the annotations of the model's fields say.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from typing_extensions import is_typeddict

from langgraph_wyrd.types.migrations import Classes, Marks


def brought(classes: Classes | Marks, module: str, cls: Any, payload: Any) -> Any:
    """The stored data of an object, and of the models inside it, brought up to date."""
    made = classes.fields((module, cls.__name__), payload)
    return _inside(classes, cls, made)


def _inside(classes: Classes | Marks, cls: Any, payload: Any) -> Any:
    if not isinstance(payload, dict):
        return payload
    new = {}
    for name, hint in _hints(cls).items():
        if name in payload:
            value = _of(classes, hint, payload[name])
            if value is not payload[name]:
                new[name] = value
    return {**payload, **new} if new else payload


def _of(classes: Classes | Marks, hint: Any, value: Any) -> Any:
    """What stands in a field with that annotation; itself if nothing in it is older."""
    if not isinstance(value, dict | list):
        return value
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _of(classes, args[0], value)
    if origin is Union or origin is types.UnionType:
        meant = [each for each in args if _fits(each, value)]
        return _of(classes, meant[0], value) if len(meant) == 1 else value
    if isinstance(value, list):
        if origin is tuple and args and args[-1] is not Ellipsis:
            made = [_of(classes, *pair) for pair in zip(args, value, strict=False)]
            made += value[len(made) :]
        elif _is(origin, Collection) and args:
            made = [_of(classes, args[0], each) for each in value]
        else:
            return value
        return value if all(map(_is_same, made, value)) else made
    if _is(origin, Mapping) and len(args) == 2:
        entries = {key: _of(classes, args[1], each) for key, each in value.items()}
        return value if all(map(_is_same, entries.values(), value.values())) else entries
    cls = hint if isinstance(hint, type) else origin
    return brought(classes, cls.__module__, cls, value) if _is_record(cls) else value


def _is_same(one: Any, other: Any) -> bool:
    return one is other


def _is(origin: Any, kind: type) -> bool:
    return isinstance(origin, type) and issubclass(origin, kind)


def _is_record(cls: Any) -> bool:
    return isinstance(cls, type) and (
        hasattr(cls, "model_fields") or dataclasses.is_dataclass(cls) or is_typeddict(cls)
    )


def _fits(hint: Any, value: Any) -> bool:
    """Whether an alternative of a union may be the one: the discriminators of a record say so."""
    if get_origin(hint) is Annotated:
        return _fits(get_args(hint)[0], value)
    if isinstance(value, list):
        return get_origin(hint) is not None and _is(get_origin(hint), Collection)
    cls = hint if isinstance(hint, type) else get_origin(hint)
    if not _is_record(cls):
        return _is(get_origin(hint), Mapping)
    said = {name: get_args(each) for name, each in _hints(cls).items() if _is_literal(each)}
    return all(value[name] in choices for name, choices in said.items() if name in value)


def _is_literal(hint: Any) -> bool:
    return get_origin(hint) is Literal


@lru_cache(maxsize=1024)
def _hints(cls: Any) -> dict[str, Any]:
    """The annotations of a record's fields."""
    fields = getattr(cls, "model_fields", None)
    if isinstance(fields, dict):
        return {name: field.annotation for name, field in fields.items()}
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception:  # a name that is only there for a type checker
        return {}
