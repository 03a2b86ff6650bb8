"""What `WyrdSaver.from_conn_string` takes: checks of its options; what `redact` takes out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langgraph_wyrd.errors import InvalidInput

logger = logging.getLogger("langgraph_wyrd")


def _several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _count(value: Any) -> bool:
    return type(value) is int and value > 0


def _seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _serializer(value: Any) -> bool:
    whole = hasattr(value, "dumps_typed") and hasattr(value, "loads_typed")
    return whole or (hasattr(value, "dumps") and hasattr(value, "loads"))


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


# Of each option: whether a value is of its kind, and what to use instead.
_OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "setup": (("auto", "never").__contains__, '"auto" or "never"'),
    "on_damage": (("heal", "raise").__contains__, '"heal" or "raise"'),
    "timeout": (_seconds, "a number of seconds"),
    "readers": (_or_none(_count), "a whole number, 1 or more"),
    "max_size": (_or_none(_count), "a whole number, 1 or more"),
    "connect": (_or_none(callable), "a function that makes a connection"),
    "serde": (_or_none(_serializer), "a serializer, with dumps_typed and loads_typed"),
    "extractors": (_or_none(lambda v: _several(v) or hasattr(v, "names")),
                   "a list of functions of a View, or Extractors(…)"),
    "hooks": (_or_none(lambda v: isinstance(v, Mapping)), "a dict of functions by their events"),
    "migrations": (_several, "a list of Migration(…)"),
    "redact": (_or_none(lambda v: callable(v) or _several(v)),
               "a set of names, or a function of the metadata"),
}  # fmt: skip


def check_options(given: Mapping[str, Any]) -> None:
    """Raise InvalidInput for an option of the wrong kind; it says what to use instead."""
    for name, value in given.items():
        fits, wanted = _OPTIONS.get(name, (None, ""))
        if fits is not None and not fits(value):
            raise InvalidInput(f"{name}={value!r}: use {wanted}")


# ---- metadata that never reach the database

Redaction = Callable[[Mapping[str, Any]], dict[str, Any]]  # the metadata to store
Redact = Iterable[str] | Callable[[dict[str, Any]], Mapping[str, Any]]

# What LangGraph, or we, go on from.
_NEEDED = ("source", "step", "parents", "run_id", "counters_since_delta_snapshot")


def redaction(redact: Redact) -> Redaction:
    """What takes names out of metadata, at any depth; or asks a callable what is to be stored.

    LangGraph copies what a run's config holds, `configurable` too, into each checkpoint's metadata,
    which no serde encrypts.
    """
    if callable(redact):
        ask = redact

        def asked(metadata: Mapping[str, Any]) -> dict[str, Any]:
            needed = {name: metadata[name] for name in _NEEDED if name in metadata}
            try:
                return {**ask(dict(metadata)), **needed}
            except Exception:
                logger.exception(
                    "redact failed: only what LangGraph needs of the metadata is stored"
                )
                return needed

        return asked
    names = frozenset(redact)
    if needed := names.intersection(_NEEDED):
        raise InvalidInput(f"redact={sorted(needed)}: LangGraph needs these to go on")

    def without(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {k: without(v) for k, v in value.items() if k not in names}
        return type(value)(map(without, value)) if type(value) in (list, tuple) else value

    return lambda metadata: {
        name: value if name in _NEEDED else without(value)
        for name, value in metadata.items()
        if name not in names
    }
