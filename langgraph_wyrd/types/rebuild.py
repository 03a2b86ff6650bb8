"""Makes objects of the serializer's bytes: only of classes of data; the rest is kept as stored.

LangGraph's own hook gives a bare dict, a string or None for what it can't or may not rebuild, and
stores that at the next step: the class, or all of it, is lost. Its allow-list
(`allowed_msgpack_modules`, LANGGRAPH_STRICT_MSGPACK) counts here as well.

LangGraph calls the class with the fields; where a pydantic model refuses them, it makes one without
validation, in which every model inside is a bare dict. So a model with aliases, a strict one, or a
dataclass with an `InitVar` does not come back. Here an object is made in the way that gives just
these fields again.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import logging
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

import ormsgpack
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.event_hooks import emit_serde_event
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Send
from pydantic import BaseModel

from langgraph_wyrd.errors import MigrationFailed
from langgraph_wyrd.types import kept
from langgraph_wyrd.types.classes import Gone, NoData, found, stands
from langgraph_wyrd.types.kept import Kept, KeptWhole, Stored
from langgraph_wyrd.types.migrations import Classes, MigrationRaised, bare
from langgraph_wyrd.types.python_types import MADE_OF, advice

logger = logging.getLogger("langgraph_wyrd")

S = TypeVar("S")
Key = tuple[str, str, int]  # module, name, and how it was packed

_COLLECTIONS = (set, frozenset, deque, list, tuple, dict)
_SNAPSHOT = 7


def _built(code: int, cls: Any, payload: Any, method: list[Any]) -> Any:
    """The object. Fallbacks that are not named above are LangGraph's."""
    if code == kept.ONE_ARGUMENT:
        return _of_one(cls, payload)
    if code == kept.ARGUMENTS:
        if not isinstance(payload, list | tuple):
            raise NoData("arguments that are no list")
        if len(payload) == 3 and isinstance(cls, type):
            if issubclass(cls, Send):
                return cls(payload[0], payload[1], timeout=payload[2])
            if issubclass(cls, timedelta):  # pandas' takes them by name only
                return cls(days=payload[0], seconds=payload[1], microseconds=payload[2])
        return cls(*payload)
    if code == kept.METHOD:
        if method != ["fromisoformat"]:
            raise NoData(f"{cls.__name__}.{method[0] if method else ''} is no way to read a date")
        return cls.fromisoformat(payload)
    if code == kept.FIELDS:
        return _of_fields(cls, payload)
    try:
        return _model(cls, payload)
    except Exception:
        return (cls.construct if code == kept.PYDANTIC_V1 else cls.model_construct)(**payload)


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


def _of_fields(cls: Any, payload: dict[str, Any]) -> Any:
    """An object of these fields. A dataclass whose constructor asks for more (an `InitVar`), or
    does not take all of them, is made without calling it, as `copy` and `pickle` make one."""
    names, asks_for_more, is_its_own = _constructor(cls)
    all_there = payload.keys() == names
    if not (asks_for_more and all_there):
        try:
            return cls(**payload)
        except TypeError:
            if not (is_its_own and all_there):
                raise
    made = object.__new__(cls)
    for name, value in payload.items():
        object.__setattr__(made, name, value)
    return made


@lru_cache(maxsize=1024)
def _constructor(cls: Any) -> tuple[frozenset[str], bool, bool]:
    """A dataclass's fields; whether it has an InitVar: called again, it would make other fields of
    those that are; and whether its constructor is its own, or leaves fields out."""
    if not dataclasses.is_dataclass(cls):
        return frozenset(), False, False
    fields = dataclasses.fields(cls)
    initvar = getattr(dataclasses, "_FIELD_INITVAR", object())
    kinds = [getattr(each, "_field_type", None) for each in cls.__dataclass_fields__.values()]
    parameters: Any = getattr(cls, "__dataclass_params__", None)
    own = not getattr(parameters, "init", True) or not all(field.init for field in fields)
    return frozenset(field.name for field in fields), initvar in kinds, own


# ---- pydantic models


def _model(cls: Any, payload: Any) -> Any:
    if not isinstance(payload, dict) and getattr(cls, "__pydantic_root_model__", False):
        return cls(payload)
    # What is computed of the fields is stored with them, and is none.
    computed = getattr(cls, "model_computed_fields", None) or {}
    own = {name: value for name, value in payload.items() if name not in computed}
    aliased, refused = _has_aliases(cls), None
    if not aliased:
        try:
            return cls(**own)
        except Exception as error:
            refused = error
    others: list[tuple[int, Any]] = []
    for options in _LENIENT if hasattr(cls, "model_validate") else ():
        with suppress(Exception):
            made = cls.model_validate(own, **options)
            held = made.model_dump()
            if _same(held, payload):
                return made
            others.append((sum(_same(held.get(k), v) for k, v in payload.items()), made))
    if refused is not None:
        raise refused
    # What it is dumped as is never the same: the one that comes next to it.
    return max(others, key=lambda other: other[0])[1] if others else cls(**own)


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
    if isinstance(made, dict) and isinstance(stored, dict):
        return made.keys() == stored.keys() and all(_same(made[k], stored[k]) for k in made)
    if isinstance(made, list | tuple):
        same = isinstance(stored, list | tuple) and len(made) == len(stored)
        return same and all(map(_same, made, stored))
    return made is stored or (type(made) is type(stored) and bool(made == stored))


# ---- for one serializer


class _Rebuilder:
    """Rebuilds values for one serializer."""

    def __init__(self, serde: JsonPlusSerializer, classes: Classes) -> None:
        self._classes = classes
        self._allowed: Any = getattr(serde, "_allowed_msgpack_modules", True)
        self._theirs: Callable[[int, bytes], Any] = serde._unpack_ext_hook
        self._safe: dict[Key, Any] = {}  # they never go away
        self._lately: dict[Key, tuple[str, Any]] = {}  # others, with the modules that have them

    def hook(self, code: int, data: bytes) -> Any:
        """What stands in one msgpack extension."""
        if code in kept.FORMS:
            return self._object(code, data)
        if code == _SNAPSHOT:
            return _DeltaSnapshot(self._unpacked(data))
        theirs = self._theirs(code, data)
        # None is what it says of what it does not know: of a newer release, of numpy without numpy.
        return _unknown(code, data) if theirs is None else theirs

    def _unpacked(self, data: bytes) -> Any:
        return ormsgpack.unpackb(data, ext_hook=self.hook, option=ormsgpack.OPT_NON_STR_KEYS)

    def _object(self, code: int, data: bytes) -> Any:
        try:
            module, name, payload, *method = self._unpacked(data)
            key = (module, name, code)
            known = MADE_OF.get(key)
        except (TypeError, ValueError):  # nothing that the serializer makes
            return _unknown(code, data)
        try:
            if known is not None:
                return known(payload)
            cls, current = self._safe.get(key), payload
            if cls is None:
                cls, current = self._found(key, payload, method)
            return _built(code, cls, bare(current), method)
        except Exception as error:
            kind, why = self._why(error, key)
            return kept.kept_of(Stored(code, data, str(module), str(name), payload, kind, why))

    def _found(self, key: Key, payload: Any, rest: list[Any]) -> tuple[Any, Any]:
        """The class of a stored name, and the payload for it."""
        module, name, code = key
        if (module, name) in SAFE_MSGPACK_TYPES:
            is_pattern = (module, name) == ("re", "compile")
            cls = re.compile if is_pattern else found(module, name, code, trusted=True)
            self._safe[key] = cls
            return cls, payload
        module, cls = self._lately.get(key, ("", None))
        if not stands(module, cls):  # modules are loaded anew, and classes defined again
            target = self._classes.target(*key[:2])
            trusted = target is not None or self._allows(*key[:2])
            module, name = target or key[:2]
            cls = found(module, name, code, trusted=trusted)
            self._lately[key] = module, cls
        if self._classes.types:
            marked = code == kept.ONE_ARGUMENT and rest and type(rest[0]) is int
            version = rest[0] if marked else None
            payload = self._classes.fields((module, cls.__name__), payload, version)
        return cls, payload

    def _allows(self, module: str, name: str) -> bool:
        """Whether the user named the type; not so, all are allowed.

        Raises:
            _NotAllowed: They are not.
        """
        if self._allowed is not True and self._allowed and (module, name) in self._allowed:
            return True
        if self._allowed is True:
            emit_serde_event(
                {"kind": "msgpack_unregistered_allowed", "module": module, "name": name}
            )
            _warn_as_langgraph_does(module, name)
            return False
        emit_serde_event({"kind": "msgpack_blocked", "module": module, "name": name})
        raise _NotAllowed(
            "its class is not allowed under strict msgpack. Allow it with "
            f"serde=JsonPlusSerializer(allowed_msgpack_modules=[({module!r}, {name!r})]). A "
            "compiled graph allows the classes that its state's annotations name, for itself"
        )

    def _why(self, error: Exception, key: Key) -> tuple[kept.Kind, str]:
        """Why a value was not rebuilt, and what would help."""
        module, name, _ = key
        if isinstance(error, _NotAllowed):
            return "blocked", str(error)
        if isinstance(error, MigrationRaised):
            return "migration", str(error)
        if isinstance(error, NoData):
            what = "nothing else is called on load: the row may not be LangGraph's"
            return "unsafe", f"{error}, and {what}"
        if isinstance(error, Gone):
            return "gone", (
                f"its class is gone: {error}. It is whole again when the class is; for one that "
                f'was renamed or moved give aliases={{"{module}:{name}": "its.module:NewName"}}'
            )
        said = type(error).__name__
        if isinstance(error, TypeError | AttributeError):  # these name fields, and no values
            said = f"{said}: {error}"[:200]
        if key in self._safe:
            return "refused", (
                f"it can't be made of what is stored, here and now ({said}): it is whole "
                "again where it can (a path on its own system, a time zone with its tzdata)"
            )
        return "refused", (
            f"its class does not take what is stored ({said}): register a migration for "
            "it, or let the class take it"
        )


class _NotAllowed(Exception):
    """The type is none of those that may be rebuilt."""


def _unknown(code: int, data: bytes) -> Any:
    return kept.kept_of(Stored(code, data, "", "", None, "unsafe", ""))


def _warn_as_langgraph_does(module: str, name: str) -> None:
    """Once a process, with the set that LangGraph itself remembers it in."""
    with suppress(AttributeError):
        jsonplus._warn_once(
            jsonplus._warned_unregistered_types,
            (module, name),
            "Deserializing unregistered type %s.%s from checkpoint. This will be blocked in a "
            "future version. Set LANGGRAPH_STRICT_MSGPACK=true to block now, or add to "
            "allowed_msgpack_modules to allow explicitly: [(%r, %r)]",
            module, name, module, name,
        )  # fmt: skip


def _keeping_pickles(serde: JsonPlusSerializer) -> Callable[[tuple[str, bytes]], Any]:
    """How it loads, and keeps a pickle that may not be loaded, or can't be."""
    loads = serde.loads_typed

    def loads_typed(data: tuple[str, bytes]) -> Any:
        if data[0] != "pickle":
            return loads(data)
        kind: kept.Kind = "pickle"
        why = (
            "it is a pickle, which runs whatever it says as it is loaded. If nobody else can write "
            "to the database, load it with serde=JsonPlusSerializer(pickle_fallback=True)"
        )
        if serde.pickle_fallback:
            try:
                return loads(data)
            except Exception as error:
                kind, said = "gone", f"{type(error).__name__}: {error}"[:300]
                why = f"it is a pickle that can't be loaded ({said}). It is whole again when it can"
        size = f"{len(data[1])} bytes"
        return KeptWhole(Stored(-1, data[1], "", "pickle", size, kind, why))

    return loads_typed


def guarded(serde: S, classes: Classes) -> S:
    """The serializer, loading with this care; itself if its way to load is the user's own."""
    if isinstance(serde, JsonPlusSerializer):
        hooked = getattr(serde, "_custom_unpack_ext_hook", False)
        if hooked or not hasattr(serde, "_unpack_ext_hook"):
            return serde
        careful = copy.copy(serde)
        careful._unpack_ext_hook = _Rebuilder(serde, classes).hook
        if type(serde).loads_typed is JsonPlusSerializer.loads_typed:
            vars(careful)["loads_typed"] = _keeping_pickles(careful)
        return careful
    if isinstance(serde, EncryptedSerializer):
        outer = copy.copy(serde)
        outer.serde = guarded(serde.serde, classes)
        return outer
    return serde


# ---- what is said of it

_MOST_LOGGED = 10_000


def kept_in(value: Any) -> Iterator[Any]:
    """The placeholders anywhere in a value."""
    return (each for _, each in kept.walk(value) if isinstance(each, Kept | ormsgpack.Ext))


def refused(value: Any, error: Exception) -> str:
    """Why a value can't be stored; the serializer's own error does not name the placeholder."""
    for each in kept_in(value):
        if isinstance(each, KeptWhole):
            return f"{each!r} is a value of its own, and goes into no other ({each.kept_why})"
        if kept.is_changed(each):
            return (
                f"{each.kept_type} is kept as it is stored, and was changed in place: put "
                f"something in its stead, as dict(kept) ({each.kept_why})"
            )
    return advice(str(error)) or str(error)


def log_kept(
    classes: Classes, thread_id: str, ns: str, checkpoint: str, held: Iterable[tuple[str, Any]]
) -> None:
    """Warn of what was kept in these channels, once for each type and channel of a thread.

    Raises:
        MigrationFailed: A migration raised, and nothing is to be healed.
    """
    for channel, value in held:
        for each in kept_in(value):
            kind, what = "unknown", "an unknown kind"
            why = "no serializer of this LangGraph packs such bytes"
            if isinstance(each, Kept):
                kind, what, why = kept.stored_of(each).kind, each.kept_type, each.kept_why
            of = f" of namespace {ns!r}" if ns else ""
            place = f"thread {thread_id!r}, checkpoint {checkpoint}{of}, channel {channel!r}"
            if kind == "migration" and not classes.heals:
                raise MigrationFailed(f"{place}: {why}")
            if _is_new(classes, thread_id, ns, channel, what, kind):
                logger.warning(
                    "%s: a value of %s was not rebuilt, and is kept as it is stored: %s",
                    place, _line(what, 200), _line(why, 1000),
                )  # fmt: skip


def _is_new(classes: Classes, *what: str) -> bool:
    """Whether this is to be logged: once, and not without end."""
    if what in classes.logged or len(classes.logged) >= _MOST_LOGGED:
        return False
    classes.logged.add(what)
    return True


def _line(text: str, most: int) -> str:
    """One line of a bounded length: a row may name its class as it likes."""
    text = text if len(text) <= most else f"{text[:most]}…"
    return text if text.isprintable() else ascii(text)
