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

Redact = Iterable[str] | Callable[[dict[str, Any]], Mapping[str, Any]]

# What LangGraph, or we, go on from.
_NEEDED = ("source", "step", "parents", "run_id", "counters_since_delta_snapshot")


class Redaction:
    """Takes names out of metadata, at any depth; or asks a callable what is to be stored."""

    def __init__(self, redact: Redact) -> None:
        self._ask: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None
        self._names: frozenset[str] = frozenset()
        if callable(redact):
            self._ask = redact
            return
        if isinstance(redact, str):
            raise InvalidInput("redact is one string: pass a set of names")
        self._names = frozenset(redact)
        if needed := self._names.intersection(_NEEDED):
            raise InvalidInput(f"redact={sorted(needed)}: LangGraph needs these to go on")

    def __call__(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """The metadata to store."""
        if self._ask is None:
            return {
                name: value if name in _NEEDED else self._without(value)
                for name, value in metadata.items()
                if name not in self._names
            }
        needed = {name: metadata[name] for name in _NEEDED if name in metadata}
        try:
            return {**self._ask(dict(metadata)), **needed}
        except Exception:
            logger.exception("redact failed: only what LangGraph needs of the metadata is stored")
            return needed

    def _without(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {k: self._without(v) for k, v in value.items() if k not in self._names}
        if type(value) in (list, tuple):
            return type(value)(map(self._without, value))
        return value
