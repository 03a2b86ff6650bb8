"""Where inside a value something is that can't be stored. Runs only when something is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import ormsgpack

from langgraph_wyrd.codec.messages import PLAIN, is_utf8
from langgraph_wyrd.storage.names import has_surrogate
from langgraph_wyrd.types.kept import parts, walk


def is_plain(value: Any) -> bool:
    """Whether JSON gives back exactly this."""
    try:
        ormsgpack.packb(value, option=PLAIN)  # nothing but plain data, and bytes
        return bool(orjson.loads(orjson.dumps(value)) == value)  # no bytes, and finite numbers
    except (TypeError, ormsgpack.MsgpackEncodeError, RecursionError):
        return False


# How LangGraph's serializer begins what it makes of a numpy array.
_ARRAY = b"\x06\x94"


def spoilt(value: Any, data: bytes) -> tuple[str, str] | None:
    """The path to what the default serde packs, but does not give back, and what to say of it."""
    # It writes a lone surrogate as "?". These bytes mostly say something else, and a look is slow.
    may_be_cut, may_be_array = b"?" in data, _ARRAY in data
    if not (may_be_cut or may_be_array) or is_utf8(value):
        return None
    if may_be_cut and (at := surrogate_at(value)) is not None:
        return at, (
            "holds a lone surrogate (half of a character), which UTF-8 can't carry: replace or "
            "remove it before saving"
        )
    if may_be_array and (at := _array_at(value)) is not None:
        return at, (
            "is a numpy array of objects, or with a mask, of which LangGraph's serializer stores "
            "the bare memory only: put array.tolist(), or plain arrays, in its stead"
        )
    return None


def _array_at(value: Any) -> str | None:
    for path, each in walk(value):
        is_array = hasattr(each, "dtype") and hasattr(each, "__array__")
        if is_array and (getattr(each.dtype, "hasobject", False) or hasattr(each, "mask")):
            return path
    return None


def surrogate_at(value: Any) -> str | None:
    """The path to the first lone surrogate, or None."""
    for path, each in walk(value):
        if type(each) is str:
            found = has_surrogate(each)
        elif isinstance(each, (bytes, int, float, type(None))):
            continue
        else:  # a path, an exception: what it is written as
            is_text = isinstance(each, BaseException) or next(parts(each), None) is None
            found = is_text and has_surrogate(str(each))
        if found:
            return path
    return None


def refused_at(value: Any, dumps: Callable[[Any], object]) -> str:
    """The path to the innermost piece that the serde refuses ("" if that is the value itself)."""

    def refuses(item: Any) -> bool:
        try:
            dumps(item)
        except Exception:
            return True
        return False

    path = ""
    while True:
        for step, item in parts(value):
            if refuses(item):
                path, value = path + step, item
                break
        else:
            return path
        if len(path) > 2000:
            return path
