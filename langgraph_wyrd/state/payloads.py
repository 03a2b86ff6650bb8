"""Checks and repairs of stored working states: what `validate`, `recover` and `migrate` do.

A payload is what `WorkingState.to_dict` gives, as a dict or as JSON text, from wherever it comes:
another release, a file that a person edited, another library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from math import isfinite
from typing import Any, NamedTuple, get_args

from langgraph_wyrd.errors import InvalidInput, PayloadTooNew
from langgraph_wyrd.state import codec
from langgraph_wyrd.state.model import (
    Aim,
    Confidence,
    ContextItem,
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

_DEEPEST = 64  # levels of nested data that are followed
_WORDS: dict[tuple[type[Any], str], tuple[str, ...]] = {
    (Todo, "status"): get_args(TodoStatus),
    (OpenLoop, "kind"): get_args(LoopKind),
    (Intention, "aim"): get_args(Aim),
    (WorkingState, "status"): get_args(Status),
}
_TIMES = ("ts", "opened_at", "changed_at", "closed_at")
_SAYS = {Todo: "content", ContextItem: "key", OpenLoop: "description", Intention: "text"}
_WORDS |= {(cls, "confidence"): get_args(Confidence) for cls in _SAYS}
_LETTERS = {Todo: "t", ContextItem: "c", OpenLoop: "l", Intention: "i"}


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
    """Check a payload. Errors are what `from_dict` would refuse, leave aside or misread."""
    look = _Look()
    try:
        look.state(payload)
    except Exception as error:  # an object that raises when it is read
        look.errors.append(f"payload: can't be read ({type(error).__name__})")
    return Validation(tuple(look.errors), tuple(look.warnings))


def recover(payload: Any) -> Recovered:
    """A valid state of whatever can be read of a payload. It never raises."""
    look = _Look()
    try:
        state = codec.read(WorkingState, look.state(payload))
    except Exception as error:
        look.errors.append(f"payload: can't be read ({type(error).__name__})")
        state = WorkingState()
    return Recovered(state, tuple(look.errors))


def migrate(payload: Any, target_version: int | None = None) -> dict[str, Any]:
    """The payload in the form of that schema; without a number in that of this release.

    Raises:
        PayloadTooNew: It has a newer schema than this release, or than `target_version`.
        InvalidInput: It is no mapping, or there is no such schema.
    """
    target = codec.SCHEMA if target_version is None else target_version
    if type(target) is not int or not codec.OLDEST <= target <= codec.SCHEMA:
        raise InvalidInput(
            f"target_version={target!r}: this release knows {codec.OLDEST} to {codec.SCHEMA}"
        )
    if not isinstance(payload, Mapping):
        raise InvalidInput(f"a payload is a mapping, not {type(payload).__name__}")
    given = payload.get("schema")
    if type(given) is int and given > target:
        raise PayloadTooNew(f"the payload has schema {given}, which can't be made {target} again")
    return {"schema": target, **codec.migrated(WorkingState, payload, target)}


class _Look:
    """One walk over a payload. It keeps what is right, and lists what is not."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.warnings: list[str] = []

    def state(self, payload: Any) -> dict[str, Any]:
        if isinstance(payload, (str, bytes, bytearray)):
            try:
                payload = codec.parsed(payload, "WorkingState")
            except InvalidInput as error:
                self.errors.append(f"payload: {error}")
                return {}
        if isinstance(payload, WorkingState):
            payload = codec.to_dict(payload)
        if not isinstance(payload, Mapping):
            self.errors.append(f"payload: a {type(payload).__name__}, not a mapping")
            return {}
        called = {"loops": "open_loops"} if "loops" not in payload else {}
        out = self._fields(WorkingState, self._current(payload), "")
        for name in [name for name in out if name in codec.LISTS]:
            out[name] = self._list(codec.LISTS[name], called.get(name, name), out[name])
        return out

    def _current(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """With our names, in the schema of this release as far as that is possible."""
        data = codec.renamed(WorkingState, payload)
        if "open_loops" in data:
            self.warnings.append("open_loops: there is `loops` as well, which counts")
        try:
            return codec.migrated(WorkingState, data)
        except Exception as error:  # also what a step raises that meets what it does not expect
            self.errors.append(f"schema: {error}")
        data.pop("schema", None)
        return data

    def _list(self, cls: type[Any], name: str, held: Any) -> list[dict[str, Any]]:
        if not isinstance(held, (list, tuple)):
            self.errors.append(f"{name}: a {type(held).__name__}, not a list")
            return []
        found: list[dict[str, Any]] = []
        seen: set[str] = set()
        for place, each in enumerate(held):
            path = f"{name}[{place}]"
            if not isinstance(each, Mapping):
                self.errors.append(f"{path}: a {type(each).__name__}, not a mapping")
                continue
            item = self._fields(cls, each, path + ".")
            if cls in _SAYS and not self._known(cls, item, path, seen):
                continue
            if cls not in _SAYS and "node" not in item:
                self.errors.append(f"{path}.node: missing")
                continue
            found.append(item)
        return found

    def _known(self, cls: type[Any], item: dict[str, Any], path: str, seen: set[str]) -> bool:
        """Whether an item says anything; without an id of its own it gets one."""
        says = _SAYS[cls]
        if says not in item:
            self.errors.append(f"{path}.{says}: missing")
            return False
        if not item[says]:
            self.warnings.append(f"{path}.{says}: empty")
        if cls is OpenLoop and "kind" not in item:
            self.errors.append(f"{path}.kind: missing")
            item["kind"] = "note"
        id = item.get("id")
        if not id:
            self.errors.append(f"{path}.id: missing")
        elif id in seen:
            self.errors.append(f"{path}.id: {id!r:.80} is another item's, too")
        if not id or id in seen:
            item["id"] = next(each for each in _ids(cls, item[says]) if each not in seen)
        seen.add(item["id"])
        return True

    def _fields(self, cls: type[Any], data: Mapping[str, Any], path: str) -> dict[str, Any]:
        """The fields whose values are what they have to be."""
        checks = codec.READ[cls]
        out: dict[str, Any] = {}
        for name, value in data.items():
            here = f"{path}{name}"
            if not isinstance(name, str):
                self.errors.append(f"{path}{name!r:.80}: a field's name is text")
            elif cls is WorkingState and name in codec.LISTS:
                out[name] = value
            elif name == "source" and isinstance(value, Mapping):
                out[name] = self._fields(Source, value, here + ".")
            elif value is None and name in checks and name != "value":
                continue  # null: as by default
            elif not self._is_json(value, here):
                pass
            elif name in checks and codec.is_odd(checks[name](value)):
                self.errors.append(f"{here}: a {type(value).__name__}, which does not fit")
            elif name == "extra" and not isinstance(value, Mapping):
                self.errors.append(f"{here}: a {type(value).__name__}, not a mapping")
            else:
                out[name] = value
                self._warn(cls, name, value, here)
        return out

    def _warn(self, cls: type[Any], name: str, value: Any, here: str) -> None:
        if name in ("extra", "schema"):
            return
        if name not in codec.READ[cls]:
            self.warnings.append(f"{here}: unknown, and kept in `extra`")
            return
        words = _WORDS.get((cls, name))
        if words is not None and value not in words:
            counts = ", which counts as open" if (cls, name) == (Todo, "status") else ""
            self.warnings.append(f"{here}: {value!r:.80} is none of {', '.join(words)}{counts}")
        if name in _TIMES and moment(str(value)) is None:
            self.warnings.append(f"{here}: {value!r:.80} is no ISO time")

    def _is_json(self, value: Any, path: str) -> bool:
        """Whether JSON holds it; if not, the path to what it does not hold is an error."""
        wrong = next(_not_json(value, path, 0), None)
        if wrong is not None:
            self.errors.append(wrong)
        return wrong is None


def _not_json(value: Any, path: str, depth: int) -> Iterator[str]:
    """What JSON can't hold in a value."""
    if depth > _DEEPEST:
        yield f"{path:.200}: nested too deep, or in itself"
    elif isinstance(value, Mapping):
        for key, held in value.items():
            if not isinstance(key, str):
                yield f"{path:.200}: the key {key!r:.80} is no text"
            yield from _not_json(held, f"{path}[{key!r}]", depth + 1)
    elif isinstance(value, list):
        for place, held in enumerate(value):
            yield from _not_json(held, f"{path}[{place}]", depth + 1)
    elif isinstance(value, float) and not isfinite(value):
        yield f"{path:.200}: {value!r} is no JSON"
    elif not isinstance(value, (bool, int, float, str, type(None))):
        yield f"{path:.200}: a {type(value).__name__} is no JSON"


def _ids(cls: type[Any], text: Any) -> Any:
    """Ids for an item that has none, the same ones each time."""
    for number in count():
        seed = f"{text}\0{number}".encode("utf-8", "backslashreplace")
        yield f"{_LETTERS[cls]}-{blake2b(seed, digest_size=6).hexdigest()}"
