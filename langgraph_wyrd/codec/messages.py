"""LangChain's own message classes, packed from their fields and rebuilt without validating again.

A message in *row form* is `[class, fields, value, …]`: the class as a number, its field names as a
byte string of numbers, then one value a field. That is a fifth of the work the serde does for a
message (it dumps, nests and re-validates each one), so it must be indistinguishable from it:
`exact` packs a new message, asks the serde what it would give back, and allows the row form only
when both agree to the last byte. Subclasses, extra fields and values that are not plain data never
come here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

import langchain_core.messages as lc
import ormsgpack
from pydantic import BaseModel

from langgraph_wyrd.errors import SchemaTooNew
from langgraph_wyrd.types.kept import PYDANTIC_V2, Stored, kept_of

# Numbers are stored: append, never renumber.
CLASSES = (
    "HumanMessage", "AIMessage", "SystemMessage", "ToolMessage", "FunctionMessage", "ChatMessage",
    "RemoveMessage", "HumanMessageChunk", "AIMessageChunk", "SystemMessageChunk",
    "ToolMessageChunk", "FunctionMessageChunk", "ChatMessageChunk",
)  # fmt: skip
FIELDS = (
    "content", "additional_kwargs", "response_metadata", "type", "name", "id", "tool_calls",
    "invalid_tool_calls", "usage_metadata", "tool_call_id", "artifact", "status", "role",
    "tool_call_chunks", "chunk_position", "example",
)  # fmt: skip
_NUMBER = {name: number for number, name in enumerate(FIELDS)}

# Nothing but plain data passes: whatever else is inside makes the packer refuse, and the message
# then goes through the serde. Lone surrogates are refused here as well.
PLAIN = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)


_revalidated = 0


def revalidated() -> int:
    """How many messages of another langchain-core were loaded in this process."""
    return _revalidated


def _revalidate(row: list[Any]) -> Any:
    """A message of another langchain-core: its class decides, as it does under the serde."""
    global _revalidated
    _revalidated += 1
    code, fields, *values = row
    if max(fields, default=0) >= len(FIELDS) or code >= len(CLASSES):
        raise SchemaTooNew(
            "a message was stored with a class or field that this release does not know: upgrade "
            "langgraph-wyrd"
        )
    given = {FIELDS[number]: value for number, value in zip(fields, values, strict=True)}
    cls = getattr(lc, CLASSES[code], None)
    if cls is None:
        return _kept(CLASSES[code], given)
    try:
        return cls(**given)
    except Exception:
        return cls.model_construct(**given)


def _kept(name: str, given: dict[str, Any]) -> Any:
    """A message whose class langchain-core has no more, in the serde's own form."""
    short = name.removesuffix("Chunk").removesuffix("Message").lower()
    module = f"langchain_core.messages.{'modifier' if short == 'remove' else short}"
    data = ormsgpack.packb((module, name, given, "model_validate_json"))
    why = "its class is gone from langchain-core. It is whole again when the class is"
    return kept_of(Stored(PYDANTIC_V2, data, module, name, given, "gone", why))


class _Class:
    """One installed message class: how its rows look, and how one becomes a message."""

    __slots__ = ("code", "fields", "get", "make", "names", "size")

    def __init__(self, cls: type[Any], code: int) -> None:
        self.code = code
        self.names = tuple(cls.model_fields)
        self.fields = bytes(_NUMBER[name] for name in self.names)
        self.get = itemgetter(*self.names)
        self.size = len(self.names)
        self.make = _maker(cls, self.names, self.fields)


# What pydantic keeps of an object, set without looking any of it up again.
_SET = {
    f"set_{name.strip('_')}": BaseModel.__dict__[name].__set__
    for name in (
        "__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__",
    )
}  # fmt: skip


def _maker(cls: type[Any], names: Sequence[str], fields: bytes) -> Callable[[list[Any]], Any]:
    """A function that makes a message of a row.

    A long thread has thousands, so the function is written out for the class, as that of a named
    tuple is: a loop over the fields takes a quarter longer.
    """
    text = f"""
def make(row):
    if row[1] != {fields!r}:
        return revalidate(row)
    _, _, {", ".join(names)} = row
    message = new(cls)
    set_dict(message, {{{", ".join(f"{name!r}: {name}" for name in names)}}})
    set_pydantic_fields_set(message, names.copy())
    set_pydantic_extra(message, {{}})
    set_pydantic_private(message, None)
    return message
"""
    made: dict[str, Any] = {
        "cls": cls, "names": set(names), "new": object.__new__, "revalidate": _revalidate, **_SET,
    }  # fmt: skip
    exec(text, made)
    make: Callable[[list[Any]], Any] = made["make"]
    return make


def _installed() -> dict[type[Any], _Class]:
    """The classes of this langchain-core whose fields are all known here."""
    found = {}
    for code, name in enumerate(CLASSES):
        cls = getattr(lc, name, None)
        known = cls is not None and set(cls.model_fields) <= set(_NUMBER)
        if cls is not None and known and not cls.__private_attributes__:
            found[cls] = _Class(cls, code)
    return found


_BY_TYPE = _installed()
_MAKERS = {spec.code: spec.make for spec in _BY_TYPE.values()}


def is_message(value: object) -> bool:
    return value.__class__ in _BY_TYPE


def rows(values: Iterable[Any]) -> list[list[Any]] | None:
    """The row form of messages, or None if one of them has none."""
    made = []
    for value in values:
        spec = _BY_TYPE.get(value.__class__)
        if spec is None:
            return None
        held = value.__dict__
        if len(held) != spec.size or value.__pydantic_extra__ or value.__pydantic_private__:
            return None
        try:
            made.append([spec.code, spec.fields, *spec.get(held)])
        except KeyError:
            return None
    return made


def pack(values: Sequence[Any]) -> bytes | None:
    """The packed rows of messages as one msgpack array, or None if one of them has no row form."""
    made = rows(values)
    if made is None:
        return None
    try:
        return ormsgpack.packb(made, option=PLAIN)
    except ormsgpack.MsgpackEncodeError:
        return None


def only_plain(value: Any) -> bool:
    """Whether a value is plain data and nothing else: no message, tuple or lone surrogate."""
    try:
        ormsgpack.packb(value, option=PLAIN)
    except (ormsgpack.MsgpackEncodeError, RecursionError):
        return False
    return True


def is_utf8(value: Any) -> bool:
    """Whether all text in a value of plain data and messages can be written as UTF-8; False also
    where there is anything else in it."""
    try:
        ormsgpack.packb(value, _fields, PLAIN)
    except (ormsgpack.MsgpackEncodeError, RecursionError):
        return False
    return True


def _fields(value: Any) -> dict[str, Any]:
    if value.__class__ not in _BY_TYPE or value.__pydantic_extra__:
        raise TypeError
    held: dict[str, Any] = value.__dict__
    return held


_CODE = {cls: spec.code for cls, spec in _BY_TYPE.items()}
_dict_of = attrgetter("__dict__")
_extra_of = attrgetter("__pydantic_extra__")


def alike(values: Sequence[Any]) -> bytes | None:
    """Bytes that are others as soon as anything in these messages is, or None as with `rows`.

    For comparing only, and made without a step of Python for each message: fields stand in the
    order in which the objects have them, and private attributes, which no serde keeps, are left
    out. Those of a list are those of its first half and those of its second.
    """
    codes = list(map(_CODE.get, map(type, values)))
    if None in codes or any(map(_extra_of, values)):
        return None
    flat = list(chain.from_iterable(zip(codes, map(_dict_of, values), strict=True)))
    try:
        packed = ormsgpack.packb(flat, option=PLAIN)
    except ormsgpack.MsgpackEncodeError:
        return None
    count = len(flat)
    return packed[1 if count < 16 else 3 if count < 1 << 16 else 5 :]  # behind the array's header


def unpack(arrays: Sequence[bytes]) -> list[Any]:
    """The messages of packed arrays of rows."""
    return [
        _MAKERS.get(row[0], _revalidate)(row)
        for array in arrays
        for row in ormsgpack.unpackb(array)
    ]


def shape(message: Any) -> Any:
    """What decides how the serde treats a message: its class, and the types of all it holds."""
    held = message.__dict__
    values = held.values()
    kinds = (message.__class__, held["type"], held.get("status"), *map(type, values))
    nested: Any = None
    for value in values:
        if value and (value.__class__ is dict or value.__class__ is list):
            nested = (nested, _shape(value))
    return kinds if nested is None else (kinds, nested)


def _shape(value: Any) -> Any:
    kind = type(value)
    held = value.values() if kind is dict else value
    kinds = tuple(map(type, held))
    if dict in kinds or list in kinds:
        kinds = tuple([_shape(each) if type(each) in (dict, list) else type(each) for each in held])
    return (kind, kinds) if kind is list else (kind, tuple(value), kinds)


def same(original: Any, restored: Any) -> bool:
    """Whether the row form of `original` would load as `restored`, which the serde gave back."""
    spec = _BY_TYPE[original.__class__]
    return (
        restored.__class__ is original.__class__
        and restored.__pydantic_fields_set__ == set(spec.names)
        and restored.__pydantic_extra__ == {}
        and restored.__pydantic_private__ is None
        and list(restored.__dict__) == list(spec.names)
        and pack([restored]) == pack([original])
    )
