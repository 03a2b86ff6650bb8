"""Python's own types that LangGraph's serializer changes or refuses: packed so that they come back.

The serializer packs a `Counter`, a `defaultdict` and an `OrderedDict` as plain dicts, forgets a
deque's `maxlen`, and refuses fractions, complex numbers, ranges, pure paths and ints of more than
64 bits. Here they get the form that it has for other objects: module, name and arguments. A plain
value is packed in the same single call and to the same bytes, at no cost: the packer itself calls
`default` for what is no plain type. docs/types.md lists what becomes of each type.
"""

from __future__ import annotations

import pathlib
import pickle
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import ormsgpack
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd.types.kept import (
    ARGUMENTS,
    FIELDS,
    ONE_ARGUMENT,
    PYDANTIC_V1,
    PYDANTIC_V2,
    Kept,
)
from langgraph_wyrd.types.migrations import Classes, Marked

MARKED = 100  # the extension of a channel's value that has a version: no serializer's number
_UNPACK = ormsgpack.OPT_NON_STR_KEYS

Dumps = Callable[[Any], tuple[str, bytes]]

# What a defaultdict may call: names, since a stored row must not say what is called.
_FACTORIES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple,
        Counter, OrderedDict, deque,
    )
}  # fmt: skip
_OF_FACTORY = {cls: name for name, cls in _FACTORIES.items()}

# How each is taken apart: the code of its form, and what is stored.
_PARTS: dict[type, tuple[int, Callable[[Any], Any]]] = {
    Counter: (ONE_ARGUMENT, lambda value: dict(dict.items(value))),
    OrderedDict: (ONE_ARGUMENT, lambda value: dict(value.items())),
    defaultdict: (
        ARGUMENTS,
        lambda value: (_factory_name(value.default_factory), dict(dict.items(value))),
    ),
    deque: (ARGUMENTS, lambda value: (list(value), value.maxlen)),
    Fraction: (ARGUMENTS, lambda value: (value.numerator, value.denominator)),
    complex: (ARGUMENTS, lambda value: (value.real, value.imag)),
    range: (ARGUMENTS, lambda value: (value.start, value.stop, value.step)),
    int: (ONE_ARGUMENT, str),
    pathlib.PurePosixPath: (ARGUMENTS, lambda value: value.parts),
    pathlib.PureWindowsPath: (ARGUMENTS, lambda value: value.parts),
}


def _factory_name(factory: Any) -> str | None:
    if factory is None:
        return None
    name = _OF_FACTORY.get(factory) if isinstance(factory, type) else None
    if name is None:  # the packer replaces whatever is raised here: see `advice`
        raise TypeError
    return name


def advice(said: str) -> str | None:
    """What to say of what was refused here, by the packer's own words."""
    if not said.endswith("defaultdict"):
        return None
    return (
        "a defaultdict of a function or a class of yours can't come back: store dict(value), or "
        f"let it make one of {', '.join(sorted(_FACTORIES))}"
    )


def _of_whole_numbers(cls: Any, payload: Any) -> Any:
    if not all(type(each) is int for each in payload):
        raise TypeError(f"{cls.__name__} takes whole numbers")
    return cls(*payload)


def _long_int(payload: Any) -> int:
    if type(payload) is not str:
        raise TypeError("an int of more than 64 bits is stored as text")
    return int(payload)


# How each is put together again, by the module and name that are stored.
_MADE: dict[tuple[str, str, int], Callable[[Any], Any]] = {
    ("collections", "Counter", ONE_ARGUMENT): lambda payload: Counter(dict(payload)),
    ("collections", "OrderedDict", ONE_ARGUMENT): lambda payload: OrderedDict(dict(payload)),
    ("collections", "defaultdict", ARGUMENTS): lambda payload: defaultdict(
        None if payload[0] is None else _FACTORIES[payload[0]], dict(payload[1])
    ),
    ("collections", "deque", ARGUMENTS): lambda payload: deque(list(payload[0]), payload[1]),
    ("fractions", "Fraction", ARGUMENTS): lambda payload: _of_whole_numbers(Fraction, payload),
    ("builtins", "complex", ARGUMENTS): lambda payload: complex(*map(float, payload)),
    ("builtins", "range", ARGUMENTS): lambda payload: _of_whole_numbers(range, payload),
    ("builtins", "int", ONE_ARGUMENT): _long_int,
    ("pathlib", "PurePosixPath", ARGUMENTS): lambda payload: pathlib.PurePosixPath(*payload),
    ("pathlib", "PureWindowsPath", ARGUMENTS): lambda payload: pathlib.PureWindowsPath(*payload),
}


def made_of(module: Any, name: Any, code: int) -> Callable[[Any], Any] | None:
    """What puts a stored value of that name together; None if it is none of these types."""
    made = _MADE.get((module, name, code))
    return made if made is None or code == ONE_ARGUMENT else _of_a_list(made)


def _of_a_list(made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def checked(payload: Any) -> Any:
        if not isinstance(payload, list):
            raise TypeError("arguments that are no list")
        return made(payload)

    return checked


# ---- packing

_THEIRS: Any = getattr(jsonplus, "_msgpack_default", None)
_OPTION: Any = getattr(jsonplus, "_option", None)
# Only what packs just as the release that this was written for does is packed here.
_KNOWN = isinstance(_THEIRS, FunctionType) and {"_msgpack_enc", "ormsgpack"} <= set(
    _THEIRS.__code__.co_names
)
if _KNOWN and isinstance(_OPTION, int):
    _OPTION |= ormsgpack.OPT_PASSTHROUGH_SUBCLASS | ormsgpack.OPT_PASSTHROUGH_BIG_INT
else:
    _KNOWN = False


class _Packed(NamedTuple):
    """What stands for an object: the number of its form, and the bytes."""

    code: int
    data: bytes


_VERSIONED = (ONE_ARGUMENT, FIELDS, PYDANTIC_V1, PYDANTIC_V2)


class _Packer:
    """Packs values for one serializer, with the versions of what has migrations beside them."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        # LangGraph's function for other objects, with what is inside them packed here as well.
        ours = {"_msgpack_enc": self.packb, "ormsgpack": SimpleNamespace(Ext=_Packed)}
        self._others: Callable[[Any], Any] = FunctionType(
            _THEIRS.__code__, {**vars(jsonplus), **ours}
        )

    def packb(self, value: Any) -> bytes:
        return ormsgpack.packb(value, default=self._default, option=_OPTION)

    def _default(self, value: Any) -> Any:
        """What stands for a value that is of no plain type."""
        cls: Any = type(value)
        parts = _PARTS.get(cls)
        if parts is not None and not (cls is deque and value.maxlen is None):
            code, taken_apart = parts
            module = "pathlib" if issubclass(cls, pathlib.PurePath) else cls.__module__
            return ormsgpack.Ext(code, self.packb((module, cls.__name__, taken_apart(value))))
        if cls is Marked:
            return ormsgpack.Ext(MARKED, self.packb((value.version, value.channel, value.value)))
        if not isinstance(value, Enum):  # LangGraph packs a subclass as what it is a subclass of
            if isinstance(value, str):
                return str.__str__(value)
            if isinstance(value, int):
                return int.__int__(value)
            if isinstance(value, dict):
                return dict(dict.items(value))
            if isinstance(value, list):
                return list(list.__iter__(value))
        if isinstance(value, BaseMessage) and _lost_by_a_dump(fields := value.__dict__):
            held = (cls.__module__, cls.__name__, _as_it_was(fields, value.model_dump()))
            made = _Packed(PYDANTIC_V2, self.packb((*held, "model_validate_json")))
        else:
            made = self._others(value)
        if type(made) is not _Packed:
            return made
        if self._classes.types and made.code in _VERSIONED and not issubclass(cls, Kept):
            made = self._versioned(made, cls)
        return ormsgpack.Ext(made.code, made.data)

    def _versioned(self, made: _Packed, cls: Any) -> _Packed:
        """What an object is packed as, with the version of its class, if that has migrations."""
        held = ormsgpack.unpackb(made.data, ext_hook=ormsgpack.Ext, option=_UNPACK)
        if made.code != ONE_ARGUMENT:
            held[2] = self._classes.marked_fields((cls.__module__, cls.__name__), held[2])
        elif steps := self._classes.steps_of((cls.__module__, cls.__name__)):
            held = [*held[:3], max(steps) + 1]
        return _Packed(made.code, self.packb(held))


_DUMPED = (defaultdict, Fraction)  # what `model_dump` makes a dict, and text


def _lost_by_a_dump(value: Any) -> bool:
    """Whether something is inside that pydantic's `model_dump` gives as another type."""
    cls = type(value)
    if cls in _DUMPED:
        return True
    if isinstance(value, dict):
        return any(map(_lost_by_a_dump, value.values()))
    return isinstance(value, list | tuple | deque) and any(map(_lost_by_a_dump, value))


def _as_it_was(value: Any, dumped: Any) -> Any:
    """What a dump gave, with that in its place."""
    cls = type(value)
    if cls in _DUMPED or (cls in _PARTS and _lost_by_a_dump(value)):
        return value
    if cls is dict and type(dumped) is dict:
        return {k: _as_it_was(value[k], v) if k in value else v for k, v in dumped.items()}
    if cls in (list, tuple) and isinstance(dumped, (list, tuple)) and len(value) == len(dumped):
        return [_as_it_was(*each) for each in zip(value, dumped, strict=True)]
    return dumped


def exact_dumps(serde: JsonPlusSerializer, classes: Classes | None = None) -> Dumps:
    """The serializer's `dumps_typed`, with these types packed so that they come back.

    It is the serializer's own where that is not LangGraph's as it is known here.
    """
    theirs: Dumps = serde.dumps_typed
    if not _KNOWN or getattr(theirs, "__func__", None) is not JsonPlusSerializer.dumps_typed:
        return theirs
    packb = _Packer(Classes() if classes is None else classes).packb

    def dumps_typed(value: Any) -> tuple[str, bytes]:
        if value is None or isinstance(value, bytes | bytearray):
            return theirs(value)
        try:
            return "msgpack", packb(value)
        except ormsgpack.MsgpackEncodeError:
            if serde.pickle_fallback:
                return "pickle", pickle.dumps(value)
            raise

    return dumps_typed
