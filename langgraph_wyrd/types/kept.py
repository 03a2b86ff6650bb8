"""Placeholders for values that were not rebuilt: readable, and stored again as they were.

LangGraph's serializer knows a value by what it has (`model_dump`, `_asdict`, being an Enum …) and
writes the module and name of its class. So each placeholder has exactly what its value had, under
a class of that module and name: every serializer of LangGraph's packs it as the value it stands
for, wherever it lies by then. What is inside is packed from the stored bytes.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import lru_cache
from types import FunctionType, ModuleType, NoneType
from typing import Any, Literal, NoReturn

import langchain_core.messages as lc
import ormsgpack
from pydantic import BaseModel, PrivateAttr

Kind = Literal["gone", "blocked", "unsafe", "refused", "migration", "pickle"]

_OPTION = ormsgpack.OPT_NON_STR_KEYS
_LONGEST = 200  # characters of a value that an enum's member may have

# How LangGraph's serializer packs a value: what it is rebuilt with.
FORMS = range(6)
ONE_ARGUMENT, ARGUMENTS, FIELDS, METHOD, PYDANTIC_V1, PYDANTIC_V2 = FORMS
# What it puts behind module, name and payload.
_BEHIND = {METHOD: ["fromisoformat"], PYDANTIC_V2: ["model_validate_json"]}
# What it asks a value for, by how it then packs it; and which type it wants, not only a method.
_ASKED = {
    ONE_ARGUMENT: "get_secret_value",
    ARGUMENTS: "parts",
    FIELDS: "_asdict",
    METHOD: "isoformat",
    PYDANTIC_V1: "dict",
    PYDANTIC_V2: "model_dump",
}
_TAKEN_FOR: dict[int, type] = {ARGUMENTS: type(pathlib.Path()), METHOD: datetime}


@dataclass(frozen=True, slots=True)
class Stored:
    """A value as it is stored, and why it was not rebuilt."""

    code: int
    data: bytes
    module: str
    name: str
    payload: Any  # for reading
    kind: Kind
    why: str


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
    try:
        held = unpacked(stored.data)
        names = type(held[0]) is type(held[1]) is str
        shape = len(held) > 2 and held[3:] == _BEHIND.get(stored.code, [])
        if names and shape and ormsgpack.packb(held, option=_OPTION) == stored.data:
            return _form(stored)
    except Exception:  # its names can't be those of a class, say
        pass
    return ormsgpack.Ext(stored.code, stored.data)


def unpacked(data: bytes) -> Any:
    """What an extension holds, with those inside it as they are stored."""
    return ormsgpack.unpackb(data, ext_hook=ormsgpack.Ext, option=_OPTION)


def _form(stored: Stored) -> Any:
    code, payload = stored.code, stored.payload
    if code == ONE_ARGUMENT and type(payload) in _MEMBERS and len(str(payload)) <= _LONGEST:
        return _member(stored)
    if code == PYDANTIC_V2 and isinstance(payload, dict) and payload.keys() >= _OF_A_MESSAGE:
        base = _MESSAGES.get(payload["type"], lc.BaseMessage)
        made = _filled(_message_class(base, stored.module, stored.name), payload)
        private = {"_kept": stored, "_shown": repr(made)}
        object.__setattr__(made, "__pydantic_private__", private)
        return made
    fields = code in (FIELDS, PYDANTIC_V1, PYDANTIC_V2) and isinstance(payload, dict)
    return _class(_Fields if fields else _Object, code, stored.module, stored.name)(stored)


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


def _packed(self: Any) -> Any:
    """The payload for LangGraph's packing: to the last bit what is stored."""
    if is_changed(self):
        raise TypeError("it was changed in place")
    return unpacked(stored_of(self).data)[2]


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


@lru_cache(maxsize=1024)
def _class(base: type, code: int, module: str, name: str) -> Any:
    """The class of a placeholder for values of this class."""
    held: dict[str, Any] = {"__module__": module, "__slots__": (), "__hash__": base.__hash__}
    held[_ASKED[code]] = property(_packed) if code == ARGUMENTS else _packed
    if taken_for := _TAKEN_FOR.get(code):
        shown = type(name, (taken_for,), {"__module__": module})
        held["__class__"] = property(lambda self: shown)
    return type(name, (base,), held)


# ---- members of enums


class _Member(Kept):
    """It equals its value, and passes where that would."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(stored_of(self).payload)

    def __format__(self, spec: str) -> str:
        return format(stored_of(self).payload, spec)

    def __repr__(self) -> str:
        return f"Kept({self.kept_type}, {self.kept_data!r})"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return kept_of, (stored_of(self),)


class _Text(_Member, str, Enum):
    pass


class _Whole(_Member, int, Enum):
    pass


class _Number(_Member, float, Enum):
    pass


_MEMBERS: dict[type, Any] = {str: _Text, int: _Whole, float: _Number}


def _member(stored: Stored) -> Any:
    kind: Any = type(stored.payload)
    member = _enum(kind, stored.payload, stored.module, stored.name).kept
    if getattr(member, "_kept", None) != stored:
        object.__setattr__(member, "_kept", stored)
    return member


@lru_cache(maxsize=1024)
def _enum(kind: type, value: Any, module: str, name: str) -> Any:
    return _MEMBERS[kind](name, {"kept": value}, module=module)


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


def _model_dump(self: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """As it is stored, where the serializer asks for all of it."""
    if args or kwargs or self._kept is None:
        return BaseModel.model_dump(self, *args, **kwargs)
    return _packed(self)  # type: ignore[no-any-return]


def _model_copy(self: Any, *, update: Any = None, deep: bool = False) -> Any:
    """An edited copy is a message of the class that comes next: it is not what is stored."""
    if not update:
        return kept_of(stored_of(self))
    return _filled(type(self).__mro__[2], {**stored_of(self).payload, **update})


@lru_cache(maxsize=256)
def _message_class(base: type[lc.BaseMessage], module: str, name: str) -> Any:
    held = {
        "__module__": module,
        "__qualname__": name,
        "__annotations__": {"_kept": Any, "_shown": Any},
        "_kept": PrivateAttr(None),
        "_shown": PrivateAttr(None),
        "__setattr__": _refuse,
        "__reduce__": lambda self: (kept_of, (stored_of(self),)),
        "model_dump": _model_dump,
        "model_copy": _model_copy,
    }
    meta: Any = type(base)
    return meta(name, (Kept, base), held)


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
    elif isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None)
        for place, item in enumerate(value):
            yield f".{names[place]}" if names else f"[{place}]", item
    elif isinstance(value, (set, frozenset)):
        for item in value:
            yield "{…}", item
    elif isinstance(value, re.Pattern):
        yield ".pattern", value.pattern
    elif isinstance(value, Enum):
        yield ".value", value.value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield f".{field.name}", getattr(value, field.name, None)
    elif callable(getattr(value, "get_secret_value", None)):
        yield ".get_secret_value()", value.get_secret_value()
    elif hasattr(value, "model_dump") or hasattr(value, "__dict__"):
        held = dict(getattr(value, "__dict__", {}))
        held.update(getattr(value, "__pydantic_extra__", None) or {})
        for name, item in held.items():
            yield f".{name}", item
    elif isinstance(value, deque):
        for place, item in enumerate(value):
            yield f"[{place}]", item
    is_read = isinstance(value, Kept) or dataclasses.is_dataclass(value)
    for name in () if is_read else _slots(value.__class__):
        if hasattr(value, name):
            yield f".{name}", getattr(value, name)


@lru_cache(maxsize=1024)
def _slots(cls: Any) -> tuple[str, ...]:
    """Those of its bases, too: each class names only what it adds."""
    found: list[str] = []
    for each in cls.__mro__:
        slots = vars(each).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else slots
    return tuple(name for name in found if not name.startswith("__"))
