"""The serializer's bytes -> objects: only of classes of data, and what can't be rebuilt is kept.

LangGraph's own hook gives a bare dict, a string or None for what it can't or may not rebuild, and
that is what is stored at the next step: the class, or all of it, is lost. Its allow-list
(`allowed_msgpack_modules`, LANGGRAPH_STRICT_MSGPACK) counts here as well.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import ormsgpack
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.event_hooks import emit_serde_event
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langgraph_wyrd.types.building import built
from langgraph_wyrd.types.exact import MARKED, made_of
from langgraph_wyrd.types.finding import Found, Gone, NoData, found
from langgraph_wyrd.types.kept import (
    ARGUMENTS,
    FIELDS,
    METHOD,
    ONE_ARGUMENT,
    PYDANTIC_V1,
    PYDANTIC_V2,
    KeptWhole,
    Kind,
    Stored,
    kept_of,
    made,
)
from langgraph_wyrd.types.migrations import MARK, Classes, Marked, MigrationRaised, bare
from langgraph_wyrd.types.nested import brought

S = TypeVar("S")
Key = tuple[str, str, int]  # module, name, and how it was packed
_OURS = frozenset((ONE_ARGUMENT, ARGUMENTS, FIELDS, METHOD, PYDANTIC_V1, PYDANTIC_V2))
_SNAPSHOT = 7
MARK_BYTES = MARK.encode()
_HOOK = "_unpack_ext_hook"
_WHOLE_OPTION = ormsgpack.OPT_NON_STR_KEYS


class Rebuilder:
    """Rebuilds values for one serializer."""

    def __init__(self, serde: JsonPlusSerializer, classes: Classes) -> None:
        self._classes = classes
        self._allowed: Any = getattr(serde, "_allowed_msgpack_modules", True)
        self._theirs: Callable[[int, bytes], Any] = serde._unpack_ext_hook
        self._safe: dict[Key, Any] = {}  # they never go away
        self._lately: dict[Key, Found] = {}  # where others were found

    def hook(self, code: int, data: bytes) -> Any:
        """What stands in one msgpack extension."""
        if code in _OURS:
            return self._object(code, data)
        if code == _SNAPSHOT:
            return _DeltaSnapshot(self._unpacked(data))
        if code == MARKED:
            return self._marked(data)
        theirs = self._theirs(code, data)
        # None is what it says of what it does not know: of a newer release, of numpy without numpy.
        return self._unknown(code, data) if theirs is None else theirs

    def _marked(self, data: bytes) -> Any:
        """A channel's value with its version; the bare value where nobody asks for it."""
        try:
            version, channel, value = self._unpacked(data)
        except (TypeError, ValueError):
            return self._unknown(MARKED, data)
        if type(version) is not int or channel not in self._classes.channels:
            return value
        return Marked(version, value, channel)

    @staticmethod
    def _unknown(code: int, data: bytes) -> Any:
        return kept_of(Stored(code, data, "", "", None, "unsafe", ""))

    def _unpacked(self, data: bytes) -> Any:
        return ormsgpack.unpackb(data, ext_hook=self.hook, option=_WHOLE_OPTION)

    def _object(self, code: int, data: bytes) -> Any:
        before = made()
        try:
            module, name, payload, *method = self._unpacked(data)
            if code == ONE_ARGUMENT and method and type(method[0]) is int:
                payload = Marked(method[0], payload)
            key = (module, name, code)
            known = made_of(*key)
        except (TypeError, ValueError):  # nothing that the serializer makes
            return self._unknown(code, data)
        try:
            if known is not None:
                return known(payload)
            cls = self._safe.get(key)
            if cls is None:
                cls, current = self._found(key, payload)
            else:
                current = payload
            current = bare(current) if MARK_BYTES not in data else without_marks(current)
            return built(code, cls, current, method, made() > before)
        except _NotAllowed as error:
            return self._kept(code, data, module, name, payload, "blocked", str(error))
        except Gone as error:
            why = (
                f"its class is gone: {error}. It is whole again when the class is; for one that "
                f'was renamed or moved give aliases={{"{module}:{name}": "its.module:NewName"}}'
            )
            return self._kept(code, data, module, name, payload, "gone", why)
        except NoData as error:
            why = f"{error}, and nothing else is called on load: the row may not be LangGraph's"
            return self._kept(code, data, module, name, payload, "unsafe", why)
        except MigrationRaised as error:
            return self._kept(code, data, module, name, payload, "migration", str(error))
        except Exception as error:
            why = (
                f"it can't be made of what is stored, here and now ({_words(error)}): it is whole "
                "again where it can (a path on its own system, a time zone with its tzdata)"
                if key in self._safe
                else f"its class does not take what is stored ({_words(error)}): register a "
                "migration for it, or let the class take it"
            )
            return self._kept(code, data, module, name, payload, "refused", why)

    def _found(self, key: Key, payload: Any) -> tuple[Any, Any]:
        """The class of a stored name, and the payload for it."""
        lately = self._lately.get(key)
        if lately is None or not lately.stands():
            lately = self._look(key)
            if lately is None:
                return self._safe[key], payload
            self._lately[key] = lately
        if self._classes.types:
            payload = brought(self._classes, lately.module, lately.cls, payload)
        return lately.cls, payload

    def _look(self, key: Key) -> Found | None:
        """The class of a stored name, and where it was found; None: it is one of the safe ones."""
        module, name, code = key
        if (module, name) in SAFE_MSGPACK_TYPES:
            if (module, name) == ("re", "compile"):
                self._safe[key] = re.compile
            else:
                self._safe[key] = found(module, name, code, trusted=True).cls
            return None
        target = self._classes.target(module, name)
        trusted = target is not None or self._allows(module, name)
        return found(*(target or (module, name)), code, trusted=trusted)

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

    def _kept(
        self, code: int, data: bytes, module: str, name: str, payload: Any, kind: Kind, why: str
    ) -> Any:
        return kept_of(Stored(code, data, str(module), str(name), payload, kind, why))


def without_marks(value: Any) -> Any:
    """Stored fields without the versions of the objects inside them."""
    if type(value) is dict:
        return {name: without_marks(each) for name, each in bare(value).items()}
    return [without_marks(each) for each in value] if type(value) is list else bare(value)


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


class _NotAllowed(Exception):
    """The type is none of those that may be rebuilt."""


def _words(error: Exception) -> str:
    """What an error says, where that names fields and no values."""
    name = type(error).__name__
    return f"{name}: {error}"[:200] if isinstance(error, TypeError | AttributeError) else name


def _keeping_pickles(serde: JsonPlusSerializer) -> Callable[[tuple[str, bytes]], Any]:
    """How it loads, and keeps a pickle that may not be loaded, or can't be."""
    loads = serde.loads_typed

    def loads_typed(data: tuple[str, bytes]) -> Any:
        if data[0] != "pickle":
            return loads(data)
        if not serde.pickle_fallback:
            return KeptWhole.pickled(data[1])
        try:
            return loads(data)
        except Exception as error:  # a class in it is gone
            return KeptWhole.pickled(data[1], error)

    return loads_typed


def guarded(serde: S, classes: Classes) -> S:
    """The serializer, loading through a Rebuilder; itself if its way to load is the user's own."""
    if isinstance(serde, JsonPlusSerializer):
        if getattr(serde, "_custom_unpack_ext_hook", False) or not hasattr(serde, _HOOK):
            return serde
        careful = copy.copy(serde)
        careful._unpack_ext_hook = Rebuilder(serde, classes).hook
        if type(serde).loads_typed is JsonPlusSerializer.loads_typed:
            vars(careful)["loads_typed"] = _keeping_pickles(careful)
        return careful
    if isinstance(serde, EncryptedSerializer):
        outer = copy.copy(serde)
        outer.serde = guarded(serde.serde, classes)
        return outer
    return serde
