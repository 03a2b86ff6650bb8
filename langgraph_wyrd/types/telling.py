"""What was kept as it is stored is said, with its place."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import lru_cache
from types import FunctionType, ModuleType, NoneType
from typing import Any

import ormsgpack
from pydantic import BaseModel

from langgraph_wyrd.errors import MigrationFailed
from langgraph_wyrd.types.exact import advice
from langgraph_wyrd.types.kept import Kept, KeptWhole, changed, stored_of
from langgraph_wyrd.types.migrations import Classes

logger = logging.getLogger("langgraph_wyrd")

_MOST_TOLD = 10_000
_MOST_LOOKED_AT = 1_000_000
# Classes, functions and modules are no data: they lead to the whole program.
_PLAIN = (str, int, float, bytes, NoneType, type, FunctionType, ModuleType, Enum)


def kept_in(value: Any) -> Iterator[Any]:
    """The placeholders anywhere in a value."""
    waiting, looked_at = [value], 0
    seen: dict[int, Any] = {}  # held, so that no other gets its id
    while waiting and looked_at < _MOST_LOOKED_AT:
        value = waiting.pop()
        looked_at += 1
        if isinstance(value, _PLAIN) and not isinstance(value, Kept):
            continue
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, Kept):
            yield value
            value = value.kept_data
        if isinstance(value, ormsgpack.Ext):
            yield value
            continue
        if isinstance(value, dict):
            waiting += value.keys()
            waiting += value.values()
        elif isinstance(value, list | tuple | set | frozenset | deque):
            waiting += value
        elif isinstance(value, BaseModel):
            waiting += value.__dict__.values()
            waiting += (value.__pydantic_extra__ or {}).values()
        else:
            waiting += getattr(value, "__dict__", {}).values()
            kind: Any = type(value)
            for name in _slots(kind):
                if hasattr(value, name):
                    waiting.append(getattr(value, name))


@lru_cache(maxsize=1024)
def _slots(cls: Any) -> tuple[str, ...]:
    """Those of its bases, too: each class names only what it adds."""
    found: list[str] = []
    for each in cls.__mro__:
        slots = vars(each).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else slots
    return tuple(found)


def refused(value: Any, error: Exception) -> str:
    """Why a value can't be stored: the serializer does not say what a placeholder told it."""
    held = [kept for kept in kept_in(value) if isinstance(kept, Kept)]
    whole = next((kept for kept in held if isinstance(kept, KeptWhole)), None)
    if whole is not None:
        return f"{whole!r} is a value of its own, and goes into no other ({whole.kept_why})"
    said = next(filter(None, map(changed, held)), None)
    return said or advice(str(error)) or str(error)


def tell(
    classes: Classes, thread_id: str, ns: str, checkpoint: str, held: Iterable[tuple[str, Any]]
) -> None:
    """Warn of what was kept in these channels, once for each type and channel of a thread.

    Raises:
        MigrationFailed: A migration raised, and nothing is to be healed.
    """
    for channel, value in held:
        for kept in kept_in(value):
            kind, what, why = _told(kept)
            place = (
                f"thread {thread_id!r}, checkpoint {checkpoint}"
                + (f" of namespace {ns!r}" if ns else "")
                + f", channel {channel!r}"
            )
            if kind == "migration" and not classes.heals:
                raise MigrationFailed(f"{place}: {why}")
            key = (thread_id, ns, channel, what, kind)
            if key in classes.told or len(classes.told) >= _MOST_TOLD:
                continue
            classes.told.add(key)
            logger.warning(
                "%s: a value of %s was not rebuilt, and is kept as it is stored: %s",
                place, _line(what, 200), _line(why, 1000),
            )  # fmt: skip


def _line(text: str, most: int) -> str:
    """One line of a bounded length: a row may name its class as it likes."""
    text = text if len(text) <= most else f"{text[:most]}…"
    return text if text.isprintable() else ascii(text)


def _told(kept: Any) -> tuple[str, str, str]:
    if isinstance(kept, Kept):
        return stored_of(kept).kind, kept.kept_type, stored_of(kept).why
    return "unknown", "an unknown kind", "no serializer of this LangGraph packs such bytes"


def migration_raised(
    classes: Classes, thread_id: str, ns: str, checkpoint: str, channel: str, error: Exception
) -> None:
    """Say that a channel's value stays as it is stored.

    Raises:
        MigrationFailed: Nothing is to be healed.
    """
    place = f"thread {thread_id!r}, checkpoint {checkpoint}, channel {channel!r}"
    if not classes.heals:
        raise MigrationFailed(f"{place}: {error}") from error.__cause__
    key = (thread_id, ns, channel, "", "migration")
    if key not in classes.told and len(classes.told) < _MOST_TOLD:
        classes.told.add(key)
        logger.warning("%s: the value stays as it is stored: %s", place, error)
