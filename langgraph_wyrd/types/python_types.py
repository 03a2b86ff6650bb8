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
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd.types import kept
from langgraph_wyrd.types.kept import Kept
from langgraph_wyrd.types.migrations import Classes

_ONE, _SEVERAL = kept.ONE_ARGUMENT, kept.ARGUMENTS

Dumps = Callable[[Any], tuple[str, bytes]]

# What a defaultdict may call: names, since a stored row must not say what is called.
_FACTORIES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple,
        Counter, OrderedDict, deque,
    )
}  # fmt: skip


class _Form(NamedTuple):
    """How a type is stored: the code of its form, what is stored, and the value made of that."""

    code: int
    parts: Callable[[Any], Any]
    made: Callable[[Any], Any]


def _factory_name(factory: Any) -> str | None:
    if factory is None or factory in _FACTORIES.values():
        return None if factory is None else str(factory.__name__)
    raise TypeError  # the packer replaces whatever is raised here: see `advice`


def _list(payload: Any, kind: type = object) -> Any:
    """The payload, if it is a list of nothing but this kind: of a network, a deque would hold every
    address in it, and a Fraction reads text of any length."""
    if type(payload) is list and all(isinstance(each, kind) for each in payload):
        return payload
    raise TypeError(f"no list of {kind.__name__}")


_FORMS: dict[type, _Form] = {
    Counter: _Form(_ONE, lambda v: dict(dict.items(v)), lambda p: Counter(dict(p))),
    OrderedDict: _Form(_ONE, lambda v: dict(v.items()), lambda p: OrderedDict(dict(p))),
    defaultdict: _Form(
        _SEVERAL,
        lambda v: (_factory_name(v.default_factory), dict(dict.items(v))),
        lambda p: defaultdict(p[0] and _FACTORIES[p[0]], dict(p[1])),
    ),
    deque: _Form(_SEVERAL, lambda v: (list(v), v.maxlen), lambda p: deque(_list(p[0]), p[1])),
    Fraction: _Form(
        _SEVERAL, lambda v: (v.numerator, v.denominator), lambda p: Fraction(*_list(p, int))
    ),
    complex: _Form(_SEVERAL, lambda v: (v.real, v.imag), lambda p: complex(*map(float, p))),
    range: _Form(_SEVERAL, lambda v: (v.start, v.stop, v.step), lambda p: range(*_list(p, int))),
    int: _Form(_ONE, str, lambda p: int(*_list([p], str))),
    **{
        cls: _Form(_SEVERAL, lambda v: v.parts, lambda p, cls=cls: cls(*_list(p)))  # type: ignore[misc]
        for cls in (pathlib.PurePosixPath, pathlib.PureWindowsPath)
    },
}


def _module(cls: type) -> str:
    return cls.__module__.partition(".")[0]  # of paths "pathlib", whatever Python calls it inside


# What makes a stored value of one of these types: by module, name and form.
MADE_OF = {(_module(cls), cls.__name__, form.code): form.made for cls, form in _FORMS.items()}


def advice(said: str) -> str | None:
    """What to say of what was refused here, by the packer's own words."""
    if not said.endswith("defaultdict"):
        return None
    return (
        "a defaultdict of a function or a class of yours can't come back: store dict(value), or "
        f"let it make one of {', '.join(sorted(_FACTORIES))}"
    )


# ---- packing

_THEIRS: Any = getattr(jsonplus, "_msgpack_default", None)
_OPTION: Any = getattr(jsonplus, "_option", None)
# Only what packs just as the release that this was written for does is packed here.
_KNOWN = (
    isinstance(_THEIRS, FunctionType)
    and {"_msgpack_enc", "ormsgpack"} <= {*_THEIRS.__code__.co_names}
    and isinstance(_OPTION, int)
)
if _KNOWN:
    _OPTION |= ormsgpack.OPT_PASSTHROUGH_SUBCLASS | ormsgpack.OPT_PASSTHROUGH_BIG_INT

# LangGraph packs an object of a subclass as what it is a subclass of.
_PLAIN: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    dict: lambda value: dict(dict.items(value)),
    list: lambda value: list(list.__iter__(value)),
}


_VERSIONED = (_ONE, kept.FIELDS, kept.PYDANTIC_V1, kept.PYDANTIC_V2)


class _Packer:
    """Packs values for one serializer; of classes with migrations their version, too."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        # LangGraph's function for other objects, with what is inside them packed here as well.
        ours = {"_msgpack_enc": self.packb, "ormsgpack": SimpleNamespace(Ext=self._extension)}
        self._others: Callable[[Any], Any] = FunctionType(
            _THEIRS.__code__, {**vars(jsonplus), **ours}
        )

    def packb(self, value: Any) -> bytes:
        return ormsgpack.packb(value, default=self._default, option=_OPTION)

    def _default(self, value: Any) -> Any:
        """What stands for a value that is of no plain type."""
        cls: Any = type(value)
        form = _FORMS.get(cls)
        if form is not None and not (cls is deque and value.maxlen is None):
            held = _module(cls), cls.__name__, form.parts(value)
            return ormsgpack.Ext(form.code, self.packb(held))
        if isinstance(value, Kept):
            return kept.extension(value)
        if not isinstance(value, Enum):
            for plain, made in _PLAIN.items():
                if isinstance(value, plain):
                    return made(value)
        return self._others(value)

    def _extension(self, code: int, data: bytes) -> Any:
        """What LangGraph packs an object as, with the version of its class, if that has any."""
        if self._classes.types and code in _VERSIONED:
            held = kept.unpacked(data)
            name = held[0], held[1]
            if code != _ONE:
                held[2] = self._classes.marked_fields(name, held[2])
            elif steps := self._classes.steps_of(name):
                held = [*held[:3], max(steps) + 1]
            data = self.packb(held)
        return ormsgpack.Ext(code, data)


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
