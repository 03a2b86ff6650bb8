"""What stands for a value that was not rebuilt: readable, and stored again as it was stored.

Whoever packs values for a store (`python_types`) puts the stored bytes in the place of it, wherever
it lies by then.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from types import FunctionType, ModuleType, NoneType
from typing import Any, NoReturn

import langchain_core.messages as lc
import ormsgpack
from pydantic import PrivateAttr

_OPTION = ormsgpack.OPT_NON_STR_KEYS
# How LangGraph's serializer packs a value: what it is rebuilt with.
ONE_ARGUMENT, ARGUMENTS, FIELDS, METHOD, PYDANTIC_V1, PYDANTIC_V2 = range(6)


@dataclass(frozen=True, slots=True)
class Stored:
    """A value as it is stored, and why it was not rebuilt."""

    code: int
    data: bytes
    module: str
    name: str
    payload: Any  # for reading
    why: str
    migration: bool = False  # whether one raised


class Kept:
    """A stored value whose class is gone, was blocked, or refused it. Nothing of it is lost.

    It is stored again as it was stored, and is whole again when its class is. The fields of an
    object are read as attributes or as entries (`kept.goal`, `kept["goal"]`); a message is a
    message, an enum's member behaves as its value. None of them can be changed.
    """

    __slots__ = ()

    @property
    def kept_type(self) -> str:
        """Its class, as `"module:Name"`."""
        held = stored_of(self)
        return f"{held.module}:{held.name}"

    @property
    def kept_why(self) -> str:
        """Why it was not rebuilt, and what would help."""
        return stored_of(self).why

    @property
    def kept_data(self) -> Any:
        """Its fields, or what else it was made of."""
        return stored_of(self).payload


def stored_of(kept: Any) -> Stored:
    """What a placeholder stands for."""
    held: Stored = kept._kept
    return held


_made = 0


def made() -> int:
    """How many placeholders this process has made so far."""
    return _made


def kept_of(stored: Stored) -> Any:
    """What stands for a value. What LangGraph's serializer does not make is given as its bytes."""
    global _made
    _made += 1
    code, payload = stored.code, stored.payload
    if code == ONE_ARGUMENT and type(payload) in _MEMBERS:
        member = _MEMBERS[type(payload)](payload)
        member._kept = stored
        return member
    if code == PYDANTIC_V2 and isinstance(payload, dict) and payload.keys() >= _OF_A_MESSAGE:
        made = _filled(_message_class(_MESSAGES.get(payload["type"], lc.BaseMessage)), payload)
        private = {"_kept": stored, "_shown": repr(made)}
        object.__setattr__(made, "__pydantic_private__", private)
        return made
    if not stored.name:
        return ormsgpack.Ext(code, stored.data)
    fields = code in (FIELDS, PYDANTIC_V1, PYDANTIC_V2) and isinstance(payload, dict)
    return (_Fields if fields else _Object)(stored)


def is_changed(kept: Any) -> bool:
    """Whether somebody changed in place what it shows: that would not be stored."""
    return getattr(kept, "_shown", None) not in (None, repr(kept))


def extension(kept: Any) -> ormsgpack.Ext:
    """The msgpack extension that a placeholder was loaded from.

    Raises:
        TypeError: It was changed in place, or is a whole value of its own.
    """
    held = stored_of(kept)
    if is_changed(kept) or isinstance(kept, KeptWhole):
        raise TypeError("it can't be packed")
    return ormsgpack.Ext(held.code, held.data)


# ---- objects


def _refuse(self: Any, name: str, value: Any) -> NoReturn:
    raise AttributeError(
        f"{self.kept_type} is kept as it is stored, and can't be changed: {self.kept_why}"
    )


class _Object(Kept):
    """Any value that is no message and no member of an enum."""

    __slots__ = ("_kept", "_shown")

    def __init__(self, stored: Stored) -> None:
        object.__setattr__(self, "_kept", stored)
        object.__setattr__(self, "_shown", repr(self))

    __setattr__ = _refuse

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kept):
            return bool(stored_of(self).payload == other)
        return _identity(self) == _identity(other)

    def __hash__(self) -> int:
        return hash(_identity(self))

    def __repr__(self) -> str:
        return f"Kept({self.kept_type}, {self.kept_data!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return kept_of, (stored_of(self),)

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class _Fields(_Object, Mapping[str, Any]):
    """An object with fields. A mapping, to pass where LangGraph's own fallback, a dict, does."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        return stored_of(self).payload[name]

    def __iter__(self) -> Iterator[str]:
        return iter(stored_of(self).payload)

    def __len__(self) -> int:
        return len(stored_of(self).payload)

    def __getattr__(self, name: str) -> Any:
        try:
            return stored_of(self).payload[name]
        except KeyError:
            raise AttributeError(f"{self.kept_type}, which is kept, has no {name!r}") from None

    __eq__ = _Object.__eq__
    __hash__ = _Object.__hash__

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value!r}" for name, value in self.items())
        return f"Kept({self.kept_type}{shown})"


def _identity(kept: Any) -> tuple[Any, ...]:
    held = stored_of(kept)
    return held.code, held.module, held.name, held.data


# ---- members of enums


class _Member(Kept):
    """It equals its value, and passes where that would."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(self.kept_data)

    def __repr__(self) -> str:
        return f"Kept({self.kept_type}, {self.kept_data!r})"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return kept_of, (stored_of(self),)


_MEMBERS: dict[type, Any] = {
    kind: type(kind.__name__, (_Member, kind), {}) for kind in (str, int, float)
}


# ---- messages: reducers, models and the pillars know how to deal with them

_MESSAGES: dict[str, type[lc.BaseMessage]] = {
    cls.model_fields["type"].default: cls
    for cls in (
        lc.HumanMessage, lc.AIMessage, lc.SystemMessage, lc.ToolMessage, lc.FunctionMessage,
        lc.ChatMessage, lc.HumanMessageChunk, lc.AIMessageChunk, lc.SystemMessageChunk,
        lc.ToolMessageChunk,
    )
}  # fmt: skip
_OF_A_MESSAGE = {"content", "type", "id", "additional_kwargs", "response_metadata"}


def _filled(cls: Any, payload: dict[str, Any]) -> Any:
    try:
        return cls(**payload)
    except Exception:
        return cls.model_construct(**payload)


def _model_copy(self: Any, *, update: Any = None, deep: bool = False) -> Any:
    """An edited copy is a message of the class that comes next: it is not what is stored."""
    if not update:
        return kept_of(stored_of(self))
    return _filled(type(self).__mro__[2], {**stored_of(self).payload, **update})


@lru_cache
def _message_class(base: type[lc.BaseMessage]) -> Any:
    held = {
        "__module__": __name__,
        "__annotations__": {"_kept": Any, "_shown": Any},
        "_kept": PrivateAttr(None),
        "_shown": PrivateAttr(None),
        "__setattr__": _refuse,
        "__reduce__": lambda self: (kept_of, (stored_of(self),)),
        "model_copy": _model_copy,
    }
    meta: Any = type(base)
    return meta(base.__name__, (Kept, base), held)


# ---- whole values of another form


class KeptWhole(_Object):
    """A value in a form that is not read, as a pickle: stored again under the same tag."""

    __slots__ = ()

    def __init__(self, stored: Stored) -> None:
        global _made
        _made += 1
        super().__init__(stored)

    def __repr__(self) -> str:
        return f"Kept({self.kept_type}, {len(stored_of(self).data)} bytes)"

    @property
    def kept_type(self) -> str:
        return stored_of(self).name

    @property
    def typed(self) -> tuple[str, bytes]:
        """What the serializer gave when it was stored."""
        held = stored_of(self)
        return held.name, held.data

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptWhole, (stored_of(self),)


# ---- the pieces that a value is made of, whatever holds them

MOST = 1_000_000  # pieces that are looked at
# Nothing is in these. Classes, functions and modules are no data: they lead to the whole program.
_WHOLE = (str, int, float, bytes, NoneType, type, FunctionType, ModuleType)


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    """A value and all its pieces, each once, with how a person would write the way to it."""
    waiting = [("", value)]
    seen: dict[int, Any] = {}  # held, so that no other gets its id
    while waiting and len(seen) < MOST:
        path, value = waiting.pop()
        whole = isinstance(value, _WHOLE)
        if whole or id(value) not in seen:
            yield path, value
        if not whole and id(value) not in seen:
            seen[id(value)] = value
            waiting += [(path + step, item) for step, item in parts(value)][::-1]


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The pieces of a value, each with how a person would write the way to it."""
    if isinstance(value, Kept):
        yield ".kept_data", value.kept_data
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str) or not key.isascii():
                yield f"[key {key!a}]", key
            yield f"[{ascii(key) if isinstance(key, str) else repr(key)}]", item
    elif isinstance(value, (list, tuple, deque)):
        for place, item in enumerate(value):
            yield f"[{place}]", item
    elif isinstance(value, (set, frozenset)):
        for item in value:
            yield "{…}", item
    elif isinstance(value, re.Pattern):
        yield ".pattern", value.pattern
    elif isinstance(value, Enum):
        yield ".value", value.value
    elif callable(getattr(value, "get_secret_value", None)):
        yield ".get_secret_value()", value.get_secret_value()
    else:
        held = {
            name: getattr(value, name) for name in _slots(value.__class__) if hasattr(value, name)
        }
        held.update(getattr(value, "__dict__", {}))
        held.update(getattr(value, "__pydantic_extra__", None) or {})
        for name, item in held.items():
            yield f".{name}", item


@lru_cache(maxsize=1024)
def _slots(cls: Any) -> tuple[str, ...]:
    """Those of its bases, too: each class names only what it adds."""
    found: list[str] = []
    for each in cls.__mro__:
        slots = vars(each).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else slots
    return tuple(name for name in found if not name.startswith("__"))
