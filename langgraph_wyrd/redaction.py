"""Metadata that never reach the database.

LangGraph copies what a run's config holds, `configurable` too, into each checkpoint's metadata,
which no serde encrypts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langgraph_wyrd.errors import InvalidInput

logger = logging.getLogger("langgraph_wyrd")

Redaction = Callable[[Mapping[str, Any]], dict[str, Any]]  # the metadata to store
Redact = Iterable[str] | Callable[[dict[str, Any]], Mapping[str, Any]]

# What LangGraph, or we, go on from.
_NEEDED = ("source", "step", "parents", "run_id", "counters_since_delta_snapshot")


def redaction(redact: Redact) -> Redaction:
    """What takes names out of metadata, at any depth; or asks a callable what is to be stored."""
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
    if isinstance(redact, str):
        raise InvalidInput("redact is one string: pass a set of names")
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
