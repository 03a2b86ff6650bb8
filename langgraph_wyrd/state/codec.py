"""Models as plain JSON data and back. Readers are tolerant: what they don't know they keep.

A payload carries the number of its schema. An older one is brought up to date step by step
(`register`), a newer one is refused. Fields that this release does not know, and known ones whose
value is of a wrong type, wait in an item's `extra` and are written back where they were.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from langgraph_wyrd.errors import InvalidInput, PayloadTooNew
from langgraph_wyrd.state.model import (
    ContextItem,
    Due,
    Intention,
    OpenLoop,
    Source,
    Todo,
    WorkingState,
)

SCHEMA = 1
OLDEST = 1  # what a payload without a number is taken for
M = TypeVar("M")
Step = Callable[[dict[str, Any]], dict[str, Any]]
Check = Callable[[Any], Any]

_STEPS: dict[int, Step] = {}
_ODD = object()
LISTS: dict[str, type[Any]] = {
    "todos": Todo,
    "context": ContextItem,
    "loops": OpenLoop,
    "intentions": Intention,
    "due": Due,
}
_PLACES = {cls: name for name, cls in LISTS.items()}


# ---- the public way


def to_dict(model: Any, *, compact: bool = False) -> dict[str, Any]:
    """A model as plain JSON data; `compact` leaves out what a field has by default."""
    return {"schema": SCHEMA, **write(model, compact)}


def to_json(model: Any, *, indent: int | None = None) -> str:
    text = json.dumps(to_dict(model), ensure_ascii=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair: no UTF-8 can hold it, JSON can
        return json.dumps(to_dict(model), indent=indent)
    return text


def from_dict(cls: type[M], payload: Mapping[str, Any]) -> M:
    """The model of such data.

    Raises:
        PayloadTooNew: It has a newer schema.
        InvalidInput: It is no mapping, or its schema is no number.
    """
    if not isinstance(payload, Mapping):
        raise InvalidInput(f"a {cls.__name__} is read from a mapping, not {type(payload).__name__}")
    return read(cls, migrated(cls, payload))


def from_json(cls: type[M], text: str | bytes) -> M:
    """The model of JSON text.

    Raises:
        PayloadTooNew: It has a newer schema.
        InvalidInput: It is no JSON, or no object.
    """
    return from_dict(cls, parsed(text, cls.__name__))


def parsed(text: str | bytes | bytearray, what: str) -> Any:
    """The data of JSON text, or InvalidInput."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise InvalidInput(f"JSON of a {what} is text or bytes, not {type(text).__name__}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this is no JSON of a {what}: {error}") from error


# How other libraries call the fields of a working state, and what they are called here.
_OTHER_NAMES: dict[type[Any], dict[str, str]] = {
    WorkingState: {"open_loops": "loops"},
    Todo: {"created_at": "opened_at", "completed_at": "closed_at"},
    ContextItem: {"created_at": "opened_at"},
    OpenLoop: {"created_at": "opened_at", "resolved_at": "closed_at"},
    Intention: {"intention": "text", "timestamp": "opened_at"},
}


def renamed(cls: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """The same payload with our field names; a field that has both names keeps ours.

    `to_dict` writes every field, so what it wrote is never renamed.
    """
    names = _OTHER_NAMES.get(cls, {})
    out: dict[str, Any] = {}
    for name, value in data.items():
        ours = names.get(name, name)
        out[name if ours in data else ours] = value
    if cls is OpenLoop:
        out.setdefault("kind", "note")
        if isinstance(out.get("context"), str):
            out["context"] = {"text": out["context"]} if out["context"] else {}
    if cls is ContextItem and isinstance(out.get("metadata"), str):
        out["metadata"] = {"text": out["metadata"]} if out["metadata"] else {}
    if cls is WorkingState:
        for place, item in LISTS.items():
            if isinstance(held := out.get(place), (list, tuple)):
                out[place] = [renamed(item, x) if isinstance(x, Mapping) else x for x in held]
    return out


def register(version: int) -> Callable[[Step], Step]:
    """Register the step that makes a state's payload of schema `version` one of `version + 1`."""

    def add(step: Step) -> Step:
        _STEPS[version] = step
        return step

    return add


def migrated(
    cls: type[Any], payload: Mapping[str, Any], target: int | None = None
) -> dict[str, Any]:
    """The payload's fields in the form of that schema, without its number."""
    last = SCHEMA if target is None else target
    data = dict(payload)
    number = data.pop("schema", None)
    number = OLDEST if number is None else number
    if type(number) is not int or number < OLDEST:
        raise InvalidInput(
            f"the schema of a {cls.__name__} is a whole number from {OLDEST} on, not {number!r:.80}"
        )
    if number > SCHEMA:
        raise PayloadTooNew(
            f"this {cls.__name__} has schema {number}, this release reads up to {SCHEMA}: "
            "upgrade langgraph-wyrd"
        )
    if number >= last:
        return data
    place = _PLACES.get(cls)  # steps are written for states: a single item travels in one
    whole: dict[str, Any] = data if place is None else {place: [data]}
    for version in range(number, last):
        step = _STEPS.get(version)
        whole = whole if step is None else step(whole)
    if place is None:
        return whole
    (only,) = whole[place]
    return dict(only)


# ---- field by field


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else _ODD


def _flag(value: Any) -> Any:
    return value if isinstance(value, bool) else _ODD


def _number(value: Any) -> Any:
    return value if type(value) is int else _ODD


def _mapping(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else _ODD


def _source(value: Any) -> Any:
    return read(Source, value) if isinstance(value, Mapping) else _ODD


def _anything(value: Any) -> Any:
    return value


def is_odd(checked: Any) -> bool:
    """Whether a check found that a value does not fit its field."""
    return checked is _ODD


_CHECKS: dict[str, Check] = {
    "str": _text,
    "str | None": _text,
    "bool": _flag,
    "int | None": _number,
    "Any": _anything,
    "Mapping[str, Any]": _mapping,
    "Source": _source,
    # Enumerations grow: a value of a newer release is kept as it is.
    "TodoStatus": _text,
    "LoopKind": _text,
    "Aim": _text,
    "Confidence": _text,
    "Status": _text,
}


def _default(of: Any) -> Any:
    """What a field has by default; one that is needed has nothing that a value could equal."""
    if of.default_factory is not MISSING:
        return of.default_factory()
    return _ODD if of.default is MISSING else of.default


_MODELS = (Source, Due, Todo, ContextItem, OpenLoop, Intention, WorkingState)
READ: dict[type[Any], dict[str, Check]] = {
    cls: {
        each.name: _CHECKS[str(each.type)]
        for each in fields(cls)
        if each.name != "extra" and each.name not in (LISTS if cls is WorkingState else ())
    }
    for cls in _MODELS
}
_NEEDED: dict[type[Any], dict[str, Any]] = {
    cls: {each.name: "" for each in fields(cls) if _default(each) is _ODD} for cls in _MODELS
}
_WRITE: dict[type[Any], tuple[tuple[str, Any], ...]] = {
    cls: tuple((each.name, _default(each)) for each in fields(cls) if each.name != "extra")
    for cls in _MODELS
}
_KNOWN = {cls: frozenset(("schema", *(each.name for each in fields(cls)))) for cls in _MODELS}


def read(cls: type[M], data: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> M:
    """The model of its fields; `given` holds where `data` says nothing."""
    found, extra = known(cls, data)
    whole = dict(_NEEDED[cls])
    if given is not None:
        whole.update(given)
    whole.update(found)
    if extra:
        whole["extra"] = extra
    return cls(**whole)


def known(cls: type[Any], data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that this release knows, and what else there is."""
    checks = READ[cls]
    found: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in data.items():
        check = checks.get(name)
        if value is None and check is not _anything and name in _KNOWN[cls]:
            continue  # null: as by default
        if check is not None:
            fit = check(value)
            if fit is _ODD:
                extra[name] = value
            else:
                found[name] = fit
        elif name == "extra" and isinstance(value, Mapping):
            extra.update(value)
        elif cls is WorkingState and name in LISTS:
            found[name], odd = _items(LISTS[name], value)
            if odd is not None:
                extra[name] = odd
        else:
            extra[name] = value
    return found, extra


def _items(cls: type[M], value: Any) -> tuple[tuple[M, ...], Any]:
    """The items of a list, and what in it is none."""
    if not isinstance(value, (list, tuple)):
        return (), value
    odd = [each for each in value if not isinstance(each, Mapping)]
    return tuple(read(cls, each) for each in value if isinstance(each, Mapping)), odd or None


def write(model: Any, compact: bool = False) -> dict[str, Any]:
    """A model's fields; unknown ones, that came with it, beside them."""
    cls = type(model)
    out: dict[str, Any] = {}
    for name, default in _WRITE[cls]:
        value = getattr(model, name)
        if (compact or name == "thread_id") and value == default:
            continue  # an item of a state has no thread id of its own
        if type(value) is Source:
            value = write(value, compact)
        elif type(value) is tuple:
            value = [write(each, compact) for each in value]
        elif isinstance(value, Mapping):
            value = dict(value)
        out[name] = value
    if model.extra:
        known = _KNOWN[cls]
        clash = {name: value for name, value in model.extra.items() if name in known}
        out.update((name, value) for name, value in model.extra.items() if name not in clash)
        if clash:
            out["extra"] = clash
    return out
