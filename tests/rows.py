"""Checkpoints made by hand, one call each, the same on every saver."""

from __future__ import annotations

import itertools
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.base.id import uuid6

from tests.steps import config

__all__ = ["checkpoint", "config", "ids", "new_id", "put", "version"]

_counter = itertools.count(1)


def new_id() -> str:
    """Later than every id before it."""
    return str(uuid6())


def version() -> str:
    """A channel version that no other has and that is later than every one before it."""
    return f"{next(_counter):032}.5"


def checkpoint(
    values: dict[str, Any] | None = None,
    *,
    id: str | None = None,
    versions: dict[str, Any] | None = None,
    **fields: Any,
) -> Any:
    """A checkpoint that holds `values`, each at a version of its own unless `versions` says so."""
    values = values or {}
    return {
        "v": 4,
        "id": id or new_id(),
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": values,
        "channel_versions": {name: version() for name in values} if versions is None else versions,
        "versions_seen": {},
        "updated_channels": None,
        **fields,
    }


def put(
    saver: Any,
    thread: str,
    values: dict[str, Any] | None = None,
    *,
    parent: Any = None,
    ns: str = "",
    id: str | None = None,
    versions: dict[str, Any] | None = None,
    new: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
) -> Any:
    """Store a checkpoint; `parent` is an id or the config of one. Returns what `put` returns."""
    if isinstance(parent, dict):
        parent = parent["configurable"]["checkpoint_id"]
    made = checkpoint(values, id=id, versions=versions)
    return saver.put(
        config(thread, parent, ns),
        made,
        {"source": "loop", "step": 0, "parents": {}, **(metadata or {})},
        made["channel_versions"] if new is None else new,
    )


def ids(rows: list[CheckpointTuple]) -> list[str]:
    return [row.config["configurable"]["checkpoint_id"] for row in rows]
