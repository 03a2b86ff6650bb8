"""Checkpoints made by hand, the same on every saver: single ones, and a log that grows.

`put` stores one checkpoint with any values. `append` adds one message a step, and every checkpoint
says in its metadata which token it added, so that a hole, a duplicate or a value left over from
another branch shows without knowing what the other writers did.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.base.id import uuid6


def config(thread: str, checkpoint_id: str | None = None, ns: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": ns}
    if checkpoint_id is not None:
        found["checkpoint_id"] = checkpoint_id
    return {"configurable": found}


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


def skewed_id(seconds: float) -> str:
    """A checkpoint id as a machine makes it whose clock is off by that much."""
    now = uuid6()
    ticks = now.time + int(seconds * 10_000_000)
    low = now.int & ((1 << 64) - 1)
    return str(uuid.UUID(int=(ticks >> 12) << 80 | 6 << 76 | (ticks & 0xFFF) << 64 | low))


def message(token: str) -> HumanMessage:
    return HumanMessage(f"what {token} had to say", id=token)


def next_step(
    saver: Any,
    head: CheckpointTuple | None,
    thread: str,
    token: str,
    *,
    checkpoint_id: str | None = None,
    extra: dict[str, Any] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The arguments of `put` for the step that adds `token` to what `head` holds."""
    values = head.checkpoint["channel_values"] if head else {}
    versions = head.checkpoint["channel_versions"] if head else {}
    number = head.metadata["step"] + 1 if head else 0
    changed = {
        "log": [*values.get("log", []), message(token)],
        "seen": {**values.get("seen", {}), token: {"at": number}},
        "last": token,
        **(extra or {}),
    }
    new = {name: saver.get_next_version(versions.get(name), None) for name in changed}
    checkpoint = {
        "v": 4,
        "id": checkpoint_id or str(uuid6()),
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": changed,
        "channel_versions": {**versions, **new},
        "versions_seen": {},
        "updated_channels": sorted(changed),
    }
    metadata = {"source": "loop", "step": number, "parents": {}, "token": token}
    parent = head.config["configurable"]["checkpoint_id"] if head else None
    return config(thread, parent), checkpoint, metadata, new


def append(saver: Any, thread: str, token: str, **options: Any) -> Any:
    """Read the thread's head and put the step after it."""
    head = saver.get_tuple(config(thread))
    return saver.put(*next_step(saver, head, thread, token, **options))


async def aappend(saver: Any, thread: str, token: str, **options: Any) -> Any:
    head = await saver.aget_tuple(config(thread))
    return await saver.aput(*next_step(saver, head, thread, token, **options))


def tokens(found: CheckpointTuple | None) -> list[str]:
    """The log of a checkpoint; it must be whole."""
    if found is None:
        return []
    values = found.checkpoint["channel_values"]
    log = [said.id for said in values["log"]]
    assert values["log"] == [message(token) for token in log]
    assert list(values["seen"]) == log
    assert values["last"] == log[-1] == found.metadata["token"]
    return log


def head_tokens(saver: Any, thread: str) -> list[str]:
    return tokens(saver.get_tuple(config(thread)))


def tree(saver: Any, thread: str) -> dict[str, list[str]]:
    """Every checkpoint's log; each must be its parent's with its own token added."""
    found = {item.checkpoint["id"]: item for item in saver.list(config(thread))}
    logs = {name: tokens(item) for name, item in found.items()}
    for name, item in found.items():
        parent = item.parent_config and item.parent_config["configurable"]["checkpoint_id"]
        before = logs[parent] if parent else []
        assert logs[name] == [*before, item.metadata["token"]]
        again = saver.get_tuple(config(thread, name))
        assert tokens(again) == logs[name]
    return logs


def same(found: Iterable[str], expected: Iterable[str]) -> None:
    """The same tokens, whatever their order; says which are lost or twice."""
    found, expected = list(found), list(expected)
    assert len(found) == len(set(found)), "twice"
    assert set(found) == set(expected), {
        "lost": sorted(set(expected) - set(found))[:10],
        "invented": sorted(set(found) - set(expected))[:10],
    }
