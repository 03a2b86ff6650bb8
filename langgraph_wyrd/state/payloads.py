"""Checks and repairs of stored working states: what `validate`, `recover` and `migrate` do.

A payload is what `WorkingState.to_dict` gives, as a dict or as JSON text, from wherever it comes:
another release, a file that a person edited, another library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from itertools import count
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

_DEEPEST = 64  # levels of nested data that are followed
_WORDS: dict[tuple[type[Any], str], tuple[str, ...]] = {
    (Todo, "status"): get_args(TodoStatus),
    (OpenLoop, "kind"): get_args(LoopKind),
    (Intention, "aim"): get_args(Aim),
    (WorkingState, "status"): get_args(Status),
    **{
        (cls, "confidence"): get_args(Confidence)
        for cls in (Todo, ContextItem, OpenLoop, Intention)
    },
}
_TIMES = ("ts", "opened_at", "changed_at", "closed_at")
_SAYS = {Todo: "content", ContextItem: "key", OpenLoop: "description", Intention: "text"}
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
        data = self._current(payload)
        called = {"loops": "open_loops"} if "loops" not in payload else {}
        out: dict[str, Any] = {}
        for name, value in self._fields(WorkingState, data, "").items():
            if name in codec.LISTS:
                out[name] = self._list(codec.LISTS[name], called.get(name, name), value)
            else:
                out[name] = value
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
            elif not self._is_json(value, here, 0, set()):
                pass
            elif name in checks and codec.is_odd(checks[name](value)):
                self.errors.append(f"{here}: a {type(value).__name__}, which does not fit")
            elif name == "extra":
                if isinstance(value, Mapping):
                    out[name] = value
                else:
                    self.errors.append(f"{here}: a {type(value).__name__}, not a mapping")
            else:
                out[name] = value
                self._warn(cls, name, value, here, known=name in checks)
        return out

    def _warn(self, cls: type[Any], name: str, value: Any, here: str, *, known: bool) -> None:
        if not known:
            if name != "schema":
                self.warnings.append(f"{here}: unknown, and kept in `extra`")
            return
        words = _WORDS.get((cls, name))
        if words is not None and value not in words:
            counts = ", which counts as open" if (cls, name) == (Todo, "status") else ""
            self.warnings.append(f"{here}: {value!r:.80} is none of {', '.join(words)}{counts}")
        if name in _TIMES and not _is_time(value):
            self.warnings.append(f"{here}: {value!r:.80} is no ISO time")

    def _is_json(self, value: Any, path: str, depth: int, around: set[int]) -> bool:
        """Whether JSON holds it; if not, the path to what it does not hold is an error."""
        wrong = None
        if isinstance(value, (Mapping, list)):
            if depth > _DEEPEST or id(value) in around:
                wrong = "nested too deep, or in itself"
            else:
                around.add(id(value))
                try:
                    return self._all_json(value, path, depth, around)
                finally:
                    around.discard(id(value))
        elif isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                wrong = f"{value!r} is no JSON"
        elif value is not None and not isinstance(value, (bool, int, str)):
            wrong = f"a {type(value).__name__} is no JSON"
        if wrong is not None:
            self.errors.append(f"{path:.200}: {wrong}")
        return wrong is None

    def _all_json(self, value: Any, path: str, depth: int, around: set[int]) -> bool:
        if isinstance(value, Mapping):
            for key, held in value.items():
                if not isinstance(key, str):
                    self.errors.append(f"{path:.200}: the key {key!r:.80} is no text")
                    return False
                if not self._is_json(held, f"{path}[{key!r}]", depth + 1, around):
                    return False
            return True
        for place, held in enumerate(value):
            if not self._is_json(held, f"{path}[{place}]", depth + 1, around):
                return False
        return True


def _ids(cls: type[Any], text: Any) -> Any:
    """Ids for an item that has none, the same ones each time."""
    for number in count():
        seed = f"{text}\0{number}".encode("utf-8", "backslashreplace")
        yield f"{_LETTERS[cls]}-{blake2b(seed, digest_size=6).hexdigest()}"


def _is_time(value: Any) -> bool:
    try:
        datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return False
    return True
