"""A class of data and its stored fields -> the object.

LangGraph calls the class with the fields and, of a pydantic model that refuses them, makes one
without validation, in which every model inside it is a bare dict. So a model of aliases, a strict
one, or a dataclass with an `InitVar` does not come back under it. Here such an object is made of
its fields in the way that gives just these fields again.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections import deque
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from typing import Any

from langgraph.types import Send
from pydantic import BaseModel

from langgraph_wyrd.types.finding import NoData
from langgraph_wyrd.types.kept import (
    ARGUMENTS,
    FIELDS,
    METHOD,
    ONE_ARGUMENT,
    PYDANTIC_V1,
    Kept,
)

_FROM_TEXT = "fromisoformat"
_COLLECTIONS = (set, frozenset, deque, list, tuple, dict)


def built(code: int, cls: Any, payload: Any, method: list[Any], holds_kept: bool) -> Any:
    """The object. The fallbacks that are not told of above are LangGraph's."""
    if code == ONE_ARGUMENT:
        return _of_one(cls, payload)
    if code == ARGUMENTS:
        if not isinstance(payload, list | tuple):
            raise NoData("arguments that are no list")
        if len(payload) == 3 and isinstance(cls, type):
            if issubclass(cls, Send):
                return cls(payload[0], payload[1], timeout=payload[2])
            if issubclass(cls, timedelta):  # pandas' takes them by name only
                return cls(days=payload[0], seconds=payload[1], microseconds=payload[2])
        return cls(*payload)
    if code == METHOD:
        if method != [_FROM_TEXT]:
            raise NoData(f"{cls.__name__}.{method[0] if method else ''} is no way to read a date")
        return cls.fromisoformat(payload)
    if code == FIELDS:
        return _of_fields(cls, payload)
    try:
        return _model(cls, payload)
    except Exception:
        if holds_kept:  # a field whose class became plain data
            try:
                return cls(**plain(payload))
            except Exception:
                pass
        return (cls.construct if code == PYDANTIC_V1 else cls.model_construct)(**payload)


def _of_one(cls: Any, payload: Any) -> Any:
    if cls is bytes and type(payload) is not bytes:
        raise NoData("bytes of something else")  # of a number, as many as it says
    if issubclass(cls, _COLLECTIONS) and not isinstance(payload, list | tuple | dict):
        raise NoData("a collection of something else")  # of a network, every address in it
    if type(payload) is list and issubclass(cls, Enum):
        payload = _tuples(payload)  # msgpack has no tuples, and a list is no member's value
    try:
        return cls(payload)
    except TypeError:  # nor can a list be in a set
        return cls(_tuples(payload))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if type(value) is list else value


# ---- dataclasses


def _of_fields(cls: Any, payload: dict[str, Any]) -> Any:
    how = _constructor(cls)
    all_there = how is not None and payload.keys() == how.fields
    if how is not None and how.asks_for_more and all_there:
        return _restored(cls, payload)
    try:
        return cls(**payload)
    except TypeError:
        if how is not None and how.is_its_own and all_there:
            return _restored(cls, payload)
        raise


@dataclasses.dataclass(frozen=True, slots=True)
class _Constructor:
    """What a dataclass takes, beside its fields."""

    fields: frozenset[str]
    asks_for_more: bool  # an InitVar: called again, it would make other fields of those that are
    is_its_own: bool  # or leaves fields out


@lru_cache(maxsize=1024)
def _constructor(cls: Any) -> _Constructor | None:
    if not dataclasses.is_dataclass(cls):
        return None
    fields = dataclasses.fields(cls)
    names = frozenset(field.name for field in fields)
    initvar = getattr(dataclasses, "_FIELD_INITVAR", object())
    kinds = [getattr(each, "_field_type", None) for each in cls.__dataclass_fields__.values()]
    parameters: Any = getattr(cls, "__dataclass_params__", None)
    own = not getattr(parameters, "init", True) or not all(field.init for field in fields)
    return _Constructor(names, initvar in kinds, own)


def _restored(cls: Any, payload: dict[str, Any]) -> Any:
    """An object with these fields, without its constructor: as `copy` and `pickle` make one."""
    made = object.__new__(cls)
    for name, value in payload.items():
        object.__setattr__(made, name, value)
    return made


# ---- pydantic models


def _model(cls: Any, payload: Any) -> Any:
    if not isinstance(payload, dict) and getattr(cls, "__pydantic_root_model__", False):
        return cls(payload)
    # What is computed of the fields is stored with them, and is none.
    computed = getattr(cls, "model_computed_fields", None) or {}
    own = {name: value for name, value in payload.items() if name not in computed}
    aliased = _has_aliases(cls)
    if not aliased:
        try:
            return cls(**own)
        except Exception as error:
            first = error
    others: list[tuple[int, Any]] = []
    for options in _LENIENT if hasattr(cls, "model_validate") else ():
        try:
            made = cls.model_validate(own, **options)
            held = made.model_dump()
        except Exception:
            continue
        if _same(held, payload):
            return made
        others.append((sum(_same(held.get(name), each) for name, each in payload.items()), made))
    if not aliased:
        raise first
    if not others:
        return cls(**own)
    return max(others, key=lambda other: other[0])[1]  # what it is dumped as is never the same


@lru_cache(maxsize=1024)
def _has_aliases(cls: Any) -> bool:
    """Whether a field, in it or in a model inside it, has a name that its data is not stored by.

    Called with the stored data, such a model refuses it, or takes its default for it.
    """
    waiting = [getattr(cls, "__pydantic_core_schema__", None)]
    while waiting:
        schema = waiting.pop()
        if isinstance(schema, dict):
            if "validation_alias" in schema or "serialize_by_alias" in schema:
                return True
            waiting += schema.values()
        elif isinstance(schema, list | tuple):
            waiting += schema
    return False


_KNOWN = inspect.signature(BaseModel.model_validate).parameters
# As it is stored: by the fields' names, unless the model says otherwise, and without tuples.
_LENIENT: list[dict[str, Any]] = [
    {name: value for name, value in options.items() if name in _KNOWN}
    for options in (
        {"by_name": True, "by_alias": False, "strict": False},
        {"by_name": True, "by_alias": True, "strict": False},
        {"by_name": True, "by_alias": True, "strict": False, "extra": "ignore"},
    )
]


def _same(made: Any, stored: Any) -> bool:
    """Whether nothing of what was stored is lost or changed; a tuple is stored as a list."""
    if isinstance(stored, Kept):
        return True  # whatever the field made of it
    if isinstance(made, dict):
        return (
            isinstance(stored, dict)
            and made.keys() == stored.keys()
            and all(_same(each, stored[name]) for name, each in made.items())
        )
    if isinstance(made, list | tuple):
        same = isinstance(stored, list | tuple) and len(made) == len(stored)
        return same and all(map(_same, made, stored))
    return made is stored or (type(made) is type(stored) and bool(made == stored))


def plain(value: Any) -> Any:
    """A value with what placeholders hold in their stead."""
    if isinstance(value, Kept):
        return plain(value.kept_data)
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return value
