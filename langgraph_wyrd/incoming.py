"""What LangGraph hands over, in the form that plans take: ids as they are stored, names checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_checkpoint_metadata,
)

from langgraph_wyrd.configs import named, stored_place
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.owned import Apart
from langgraph_wyrd.plans import task_writes, write
from langgraph_wyrd.plans.weaving import Weaver, belongs_to, matter
from langgraph_wyrd.store.names import check_size, given, stored
from langgraph_wyrd.store.values import Codec

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.redaction import Redaction


def put(
    codec: Codec,
    weaver: Weaver | None,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    new_versions: ChannelVersions,
    redact: Redaction | None = None,
    apart: Apart | None = None,
) -> write.Put:
    thread_id, ns, parent = stored_place(config)
    check_size(ns, "checkpoint_ns")
    told = meta = dict(get_checkpoint_metadata(config, metadata))
    if redact is not None:
        meta = redact(meta)
    text, exact = codec.metadata(meta)
    step, source, run_id = meta.get("step"), meta.get("source"), meta.get("run_id")
    root, user = belongs_to(meta, ns)
    held: dict[str, Any] = dict(checkpoint)
    ts = held.pop("ts", None)
    id = check_size(stored(held.pop("id"), "checkpoint_id"), "checkpoint_id")
    values, owned = named(held.pop("channel_values", {})), None
    if apart is not None:
        values, owned = apart.put(values, told)
    return write.Put(
        codec=codec,
        thread_id=thread_id,
        ns=ns,
        id=id,
        parent=parent,
        ts=None if ts is None else stored(ts, "ts"),
        step=int(step) if isinstance(step, int) and abs(step) < 1 << 62 else None,
        source=stored(source, "source") if isinstance(source, str) else None,
        run_id=stored(run_id, "run_id") if isinstance(run_id, str) else None,
        meta=meta,
        metadata=text,
        exact=exact,
        root=root,
        values=values,
        versions=named(held.pop("channel_versions", {})),
        new_versions=named(new_versions),
        seen={
            stored(node, "a node"): named(versions)
            for node, versions in held.pop("versions_seen", {}).items()
        },
        rest=held,
        user=user,
        weaver=weaver,
        addressed=parent is not None and _addressed(config) == parent,
        owned=owned,
    )


def _addressed(config: RunnableConfig) -> str | None:
    """The checkpoint that a run was told to go on from: LangGraph keeps it in the metadata."""
    return (config.get("metadata") or {}).get("checkpoint_id")


def put_writes(
    codec: Codec,
    weaver: Weaver | None,
    config: RunnableConfig,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str,
    apart: Apart | None = None,
    memory: Memory | None = None,
) -> task_writes.PutWrites:
    thread_id, ns, checkpoint = stored_place(config)
    check_size(ns, "checkpoint_ns")
    if checkpoint is None:
        raise InvalidInput("config['configurable'] has no checkpoint_id: writes belong to one")
    held = [
        (WRITES_IDX_MAP.get(channel, idx), stored(channel, "a channel"), value)
        for idx, (channel, value) in enumerate(writes)
    ]
    owned = None
    if apart is not None:
        held, owned = apart.writes(held, config, thread_id)
    return task_writes.PutWrites(
        codec=codec,
        thread_id=thread_id,
        ns=ns,
        checkpoint=check_size(checkpoint, "checkpoint_id"),
        task=check_size(stored(task_id, "task_id"), "task_id"),
        path=stored(task_path, "the task path"),
        writes=held,
        weaver=weaver,
        says=weaver is not None and matter((given(channel), value) for _, channel, value in held),
        owned=owned,
        again=memory is not None and (thread_id, ns, checkpoint) in memory.damaged,
    )
