"""Models as plain JSON data and back; checks and repairs of such data.

Readers are tolerant: what they don't know they keep. A payload carries the number of its schema. An
older one is brought up to date step by step, a newer one is refused. Fields that this release does
not know, and known ones whose value is of a wrong type, wait in an item's `extra` and are written
back where they were.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from hashlib import blake2b
from itertools import count
from math import isfinite
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, get_args

from langgraph_wyrd.errors import InvalidInput, PayloadTooNew
from langgraph_wyrd.state.model import (
    PILLARS,
    Aim,
    Confidence,
    ContextItem,
    Due,
    Intention,
    LoopKind,
    OpenLoop,
    Source,
    Status,
    Todo,
    TodoStatus,
    WorkingState,
)
from langgraph_wyrd.state.wording import moment

SCHEMA = 1
OLDEST = 1  # what a payload without a number is taken for
M = TypeVar("M")

# What makes a state's payload of one schema one of the next, by the older one's number.
_STEPS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
LISTS: dict[str, type[Any]] = {**PILLARS, "due": Due}
_MODELS = (Source, WorkingState, *LISTS.values())
_NEEDED_ONE = object()  # the default of a field that has none: no value equals it

# What a field's value is made of. All others are text: enumerations grow, and a value of a newer
# release is kept as it is.
_KINDS: dict[str, type[Any]] = {
    "bool": bool, "int | None": int, "Any": object, "Mapping[str, Any]": Mapping, "Source": Mapping,
}  # fmt: skip


def _default(of: Any) -> Any:
    if of.default_factory is not MISSING:
        return of.default_factory()
    return _NEEDED_ONE if of.default is MISSING else of.default


# By model: each field's kind, but for `extra` and lists; each field's default, but for `extra`.
_READ: dict[type[Any], dict[str, type[Any]]] = {
    cls: {
        each.name: _KINDS.get(str(each.type), str)
        for each in fields(cls)
        if each.name != "extra" and not (cls is WorkingState and each.name in LISTS)
    }
    for cls in _MODELS
}
_WRITE = {
    cls: {each.name: _default(each) for each in fields(cls) if each.name != "extra"}
    for cls in _MODELS
}
_VALUES = {cls: attrgetter(*held) for cls, held in _WRITE.items()}
_NEEDED: dict[type[Any], dict[str, Any]] = {
    cls: {name: "" for name, default in held.items() if default is _NEEDED_ONE}
    for cls, held in _WRITE.items()
}
_KNOWN = {cls: frozenset(("schema", "extra", *held)) for cls, held in _WRITE.items()}


# ---- writing


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


def write(model: Any, compact: bool = False) -> dict[str, Any]:
    """A model's fields, with the unknown ones that came with it."""
    cls = type(model)
    out: dict[str, Any] = {}
    for (name, default), value in zip(_WRITE[cls].items(), _VALUES[cls](model), strict=True):
        kind = type(value)
        if (compact or name == "thread_id") and (value is default or value == default):
            continue  # an item of a state has no thread id of its own
        if kind is str or value is None:
            out[name] = value
        elif kind is Source:
            out[name] = write(value, compact)
        elif kind is tuple:
            out[name] = [write(each, compact) for each in value]
        elif kind is dict or isinstance(value, Mapping):
            out[name] = dict(value)
        else:
            out[name] = value
    if model.extra:
        clash = {name: value for name, value in model.extra.items() if name in _KNOWN[cls]}
        out.update((name, value) for name, value in model.extra.items() if name not in clash)
        if clash:
            out["extra"] = clash
    return out


# ---- as rows: bare values, and the names of their fields once


NAMES = {cls.__name__: [each.name for each in fields(cls)] for cls in _MODELS}
_ROWS = {cls: attrgetter(*NAMES[cls.__name__]) for cls in _MODELS}


def row_of(model: Any) -> tuple[Any, ...]:
    """The values of a model's fields; other models among them stay what they are.

    Raises:
        TypeError: It is no model.
    """
    get = _ROWS.get(type(model))
    if get is None:
        raise TypeError(f"{type(model).__name__} is no plain data")
    row: tuple[Any, ...] = get(model)
    return row


def from_rows(names: Mapping[str, Sequence[str]], row: Sequence[Any]) -> WorkingState:
    """The state of such rows, of which these are the names: of another release they are others."""
    ours = names == NAMES

    def made(cls: type[Any], values: Sequence[Any]) -> Any:
        data = dict(zip(names[cls.__name__], values, strict=True))
        if "source" in data:
            data["source"] = made(Source, data["source"])
        if cls is WorkingState:
            for name, item in LISTS.items():
                data[name] = tuple([made(item, each) for each in data[name]])
        return cls(**data) if ours else data

    found = made(WorkingState, row)
    return found if ours else read(WorkingState, found)


# ---- reading


def from_dict(cls: type[M], payload: Mapping[str, Any]) -> M:
    """The model of such data.

    Raises:
        PayloadTooNew: It has a newer schema.
        InvalidInput: It is no mapping, or its schema is no number.
    """
    if not isinstance(payload, Mapping):
        raise InvalidInput(f"a {cls.__name__} is read from a mapping, not {type(payload).__name__}")
    return read(cls, migrated(cls, payload))


def parsed(text: str | bytes | bytearray) -> Any:
    """The data of JSON text, or InvalidInput."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise InvalidInput(f"JSON of a WorkingState is text or bytes, not {type(text).__name__}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this is no JSON of a WorkingState: {error}") from error


def read(cls: type[M], data: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> M:
    """The model of its fields; `given` holds where `data` says nothing."""
    found, extra = known(cls, data)
    whole = {**_NEEDED[cls], **(given or {}), **found}
    if extra:
        whole["extra"] = extra
    return cls(**whole)


def known(cls: type[Any], data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that this release knows, and what else there is."""
    kinds = _READ[cls]
    found: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in data.items():
        kind = kinds.get(name)
        if value is None and kind is not object and name in _KNOWN[cls]:
            continue  # null: as by default
        if kind is not None:
            if not _fits(value, kind):
                extra[name] = value
            elif kind is Mapping:
                found[name] = read(Source, value) if name == "source" else dict(value)
            else:
                found[name] = value
        elif name == "extra" and isinstance(value, Mapping):
            extra.update(value)
        elif cls is WorkingState and name in LISTS and isinstance(value, (list, tuple)):
            items = [each for each in value if isinstance(each, Mapping)]
            found[name] = tuple(read(LISTS[name], each) for each in items)
            if odd := [each for each in value if not isinstance(each, Mapping)]:
                extra[name] = odd
        else:
            extra[name] = value
    return found, extra


def _fits(value: Any, kind: type[Any]) -> bool:
    return type(value) is int if kind is int else isinstance(value, kind)


# How other libraries call the fields of a working state, and what they are called here.
_OTHER_NAMES: dict[type[Any], dict[str, str]] = {
    WorkingState: {"open_loops": "loops"},
    Todo: {"created_at": "opened_at", "completed_at": "closed_at"},
    ContextItem: {"created_at": "opened_at"},
    OpenLoop: {"created_at": "opened_at", "resolved_at": "closed_at"},
    Intention: {"intention": "text", "timestamp": "opened_at"},
}
_NOTES = {OpenLoop: "context", ContextItem: "metadata"}  # where they have text, and we a dict


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
    if cls in _NOTES and isinstance(text := out.get(_NOTES[cls]), str):
        out[_NOTES[cls]] = {"text": text} if text else {}
    if cls is WorkingState:
        for place, item in LISTS.items():
            if isinstance(held := out.get(place), (list, tuple)):
                out[place] = [renamed(item, x) if isinstance(x, Mapping) else x for x in held]
    return out


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
    if number > last:
        hint = f"which can't be made {last} again"
        if number > SCHEMA:
            hint = f"this release reads up to {SCHEMA}: upgrade langgraph-wyrd"
        raise PayloadTooNew(f"this {cls.__name__} has schema {number}, {hint}")
    # Steps are written for states: a single item travels in one.
    place = next((name for name, item in LISTS.items() if item is cls), None)
    whole: dict[str, Any] = data if place is None else {place: [data]}
    for version in range(number, last):
        if (step := _STEPS.get(version)) is not None:
            whole = step(whole)
    return whole if place is None else dict(whole[place][0])


def migrate(payload: Any, target_version: int | None = None) -> dict[str, Any]:
    """See `WorkingState.migrate`."""
    target = SCHEMA if target_version is None else target_version
    if type(target) is not int or not OLDEST <= target <= SCHEMA:
        raise InvalidInput(f"target_version={target!r}: this release knows {OLDEST} to {SCHEMA}")
    if not isinstance(payload, Mapping):
        raise InvalidInput(f"a payload is a mapping, not {type(payload).__name__}")
    return {"schema": target, **migrated(WorkingState, payload, target)}


# ---- checking and repairing payloads, from wherever they come


@dataclass(frozen=True, slots=True)
class Validation:
    """What is wrong with a payload. True if nothing is; warnings don't count."""

    errors: tuple[str, ...] = ()  # each begins with the path: `todos[1].status: …`
    warnings: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.errors

    def __bool__(self) -> bool:
        return self.valid


class Recovered(NamedTuple):
    """A usable state, and what of its payload is not in it."""

    state: WorkingState
    dropped: tuple[str, ...]  # each begins with the path: `todos[1].status: …`

    def __str__(self) -> str:
        return "\n".join([str(self.state), *[f"dropped: {each}" for each in self.dropped]])


def validate(payload: Any) -> Validation:
    """See `WorkingState.validate`."""
    check = _Check(payload)
    return Validation(tuple(check.errors), tuple(check.warnings))


def recover(payload: Any) -> Recovered:
    """See `WorkingState.recover`."""
    check = _Check(payload)
    return Recovered(check.state, tuple(check.errors))


_DEEPEST = 64  # levels of nested data that are followed
_WORDS: dict[tuple[type[Any], str], tuple[str, ...]] = {
    (Todo, "status"): get_args(TodoStatus),
    (OpenLoop, "kind"): get_args(LoopKind),
    (Intention, "aim"): get_args(Aim),
    (WorkingState, "status"): get_args(Status),
    **{(cls, "confidence"): get_args(Confidence) for cls in PILLARS.values()},
}
_TIMES = ("ts", "opened_at", "changed_at", "closed_at")


class _Check:
    """One walk over a payload: lists what is wrong, and makes a state of the rest.

    Errors are what `from_dict` would refuse, leave aside or misread.
    """

    def __init__(self, payload: Any) -> None:
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self.state = WorkingState()
        try:
            self.state = read(WorkingState, self._payload(payload))
        except Exception as error:  # an object that raises when it is read
            self.errors.append(f"payload: can't be read ({type(error).__name__})")

    def _payload(self, payload: Any) -> dict[str, Any]:
        if isinstance(payload, (str, bytes, bytearray)):
            try:
                payload = parsed(payload)
            except InvalidInput as error:
                self.errors.append(f"payload: {error}")
                return {}
        if isinstance(payload, WorkingState):
            payload = to_dict(payload)
        if not isinstance(payload, Mapping):
            self.errors.append(f"payload: a {type(payload).__name__}, not a mapping")
            return {}
        called = {"loops": "open_loops"} if "loops" not in payload else {}
        data = renamed(WorkingState, payload)
        if "open_loops" in data:
            self.warnings.append("open_loops: there is `loops` as well, which counts")
        try:
            data = migrated(WorkingState, data)
        except Exception as error:  # also what a step raises that meets what it does not expect
            self.errors.append(f"schema: {error}")
            data.pop("schema", None)
        out = self._fields(WorkingState, data, "")
        for name in [name for name in out if name in LISTS]:
            out[name] = [*self._items(LISTS[name], called.get(name, name), out[name])]
        return out

    def _items(self, cls: type[Any], name: str, held: Any) -> Iterator[dict[str, Any]]:
        """The items of a list that say anything; one without an id of its own gets one."""
        if not isinstance(held, (list, tuple)):
            self.errors.append(f"{name}: a {type(held).__name__}, not a list")
            return
        seen: set[str] = set()
        says = getattr(cls, "SAYS", "node")
        for place, each in enumerate(held):
            path = f"{name}[{place}]"
            if not isinstance(each, Mapping):
                self.errors.append(f"{path}: a {type(each).__name__}, not a mapping")
                continue
            item = self._fields(cls, each, path + ".")
            if says not in item:
                self.errors.append(f"{path}.{says}: missing")
                continue
            if says != "node":
                if not item[says]:
                    self.warnings.append(f"{path}.{says}: empty")
                if cls is OpenLoop and "kind" not in item:
                    self.errors.append(f"{path}.kind: missing")
                    item["kind"] = "note"
                id = item.get("id")
                if not id or id in seen:
                    wrong = f"{id!r:.80} is another item's, too" if id else "missing"
                    self.errors.append(f"{path}.id: {wrong}")
                    item["id"] = next(id for id in _ids(name, item[says]) if id not in seen)
                seen.add(item["id"])
            yield item

    def _fields(self, cls: type[Any], data: Mapping[str, Any], path: str) -> dict[str, Any]:
        """The fields whose values are what they have to be."""
        kinds = _READ[cls]
        out: dict[str, Any] = {}
        for name, value in data.items():
            here, kind = f"{path}{name}", kinds.get(name)
            if not isinstance(name, str):
                self.errors.append(f"{path}{name!r:.80}: a field's name is text")
            elif cls is WorkingState and name in LISTS:
                out[name] = value
            elif name == "source" and isinstance(value, Mapping):
                out[name] = self._fields(Source, value, here + ".")
            elif value is None and kind not in (None, object):
                continue  # null: as by default
            elif (wrong := next(not_json(value, here, _DEEPEST), None)) is not None:
                self.errors.append(wrong)
            elif not _fits(value := as_json(value), kind or object):
                self.errors.append(f"{here}: a {type(value).__name__}, which does not fit")
            elif name == "extra" and not isinstance(value, Mapping):
                self.errors.append(f"{here}: a {type(value).__name__}, not a mapping")
            else:
                out[name] = value
                self._warn(cls, name, value, here)
        return out

    def _warn(self, cls: type[Any], name: str, value: Any, here: str) -> None:
        if name not in _KNOWN[cls]:
            self.warnings.append(f"{here}: unknown, and kept in `extra`")
        words = _WORDS.get((cls, name))
        if words is not None and value not in words:
            counts = ", which counts as open" if (cls, name) == (Todo, "status") else ""
            self.warnings.append(f"{here}: {value!r:.80} is none of {', '.join(words)}{counts}")
        if name in _TIMES and name in _KNOWN[cls] and moment(str(value)) is None:
            self.warnings.append(f"{here}: {value!r:.80} is no ISO time")


def not_json(value: Any, path: str, deepest: int) -> Iterator[str]:
    """What JSON can't hold in a value, each with its path."""
    if deepest < 0:
        yield f"{path:.200}: nested deeper than JSON should be, or in itself: make it flatter"
    elif isinstance(value, dict):
        for key, held in value.items():
            if not isinstance(key, str):
                yield f"{path:.200}: the key {key!r:.80} is no text"
            yield from not_json(held, f"{path}[{key!r}]", deepest - 1)
    elif isinstance(value, list):
        for place, held in enumerate(value):
            yield from not_json(held, f"{path}[{place}]", deepest - 1)
    elif isinstance(value, float) and not isfinite(value):
        yield f"{path:.200}: {value!r} is no JSON"
    elif not isinstance(value, int | float | str | None):
        hint = ": pass a list" if isinstance(value, tuple) else ""
        yield f"{path:.200}: a {type(value).__name__} that JSON can't hold{hint}"


def as_json(value: Any) -> Any:
    """A value that JSON can hold, as it comes back from there: without subclasses."""
    if isinstance(value, dict):
        return {as_json(key): as_json(held) for key, held in value.items()}
    if isinstance(value, list):
        return [as_json(held) for held in value]
    for kind, plain in _PLAIN.items():  # not by way of text: Python refuses numbers of 5,000 digits
        if isinstance(value, kind) and type(value) not in (kind, bool):
            return plain(value)
    return value


_PLAIN: dict[type, Callable[[Any], Any]] = {
    str: str.__str__, int: int.__int__, float: float.__float__,
}  # fmt: skip


def _ids(name: str, text: Any) -> Iterator[str]:
    """Ids for an item that has none, the same ones each time."""
    letter = "l" if name == "open_loops" else name[0]
    for number in count():
        seed = f"{text}\0{number}".encode("utf-8", "backslashreplace")
        yield f"{letter}-{blake2b(seed, digest_size=6).hexdigest()}"
