"""Checkpoints with ids and versions that one can read, put by a method or by its async twin."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

from langgraph.channels.delta import DeltaChannel


def joined(state: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*state, *(item for write in writes for item in write)]


class Both(TypedDict, total=False):
    """The same list twice: kept whole, and as deltas."""

    log: Annotated[list[str], DeltaChannel(joined, snapshot_frequency=3)]
    whole: Annotated[list[str], operator.add]


def say(*words: str) -> dict[str, Any]:
    return {"log": list(words), "whole": list(words)}


Call = Callable[..., Any]


def at(thread: Any, checkpoint_id: str | None = None, ns: str = "", **more: Any) -> dict[str, Any]:
    found = {"thread_id": thread, "checkpoint_ns": ns, **more}
    if checkpoint_id is not None:
        found["checkpoint_id"] = checkpoint_id
    return {"configurable": found}


def point(
    id: str, values: dict[str, Any] | None = None, versions: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A checkpoint; each value's version is the checkpoint's id unless told otherwise."""
    values = values or {}
    return {
        "v": 4,
        "id": id,
        "ts": "2026-01-02T03:04:05+00:00",
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, id) if versions is None else versions,
        "versions_seen": {},
        "updated_channels": None,
    }


async def put_point(
    call: Call, saver: Any, config: Any, checkpoint: Any, metadata: Any = None
) -> Any:
    new = checkpoint["channel_versions"]
    return await call(saver, "put", config, checkpoint, metadata or {}, new)
