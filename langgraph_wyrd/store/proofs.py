"""Proofs of the keys that a store is encrypted with, by a key ring or by a serde, stand in it."""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any, TypeVar

from langgraph_wyrd.errors import CheckpointDamaged, KeyMissing, PlainStore, ReadOnlyDatabase
from langgraph_wyrd.store.blocks import is_sealed
from langgraph_wyrd.store.keys import SERDE, Found
from langgraph_wyrd.store.roles import Driver
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec

logger = logging.getLogger("langgraph_wyrd")

T = TypeVar("T")

TEXT = "langgraph-wyrd"  # which the key seals


def mark(id: str, proof: str) -> Plan[None]:
    yield Tell("add_key", [(id, proof, datetime.now(timezone.utc).isoformat())])


async def admit_serde(inner: Driver, codec: Codec, found: Found) -> None:
    """With another key everything would look damaged, and so would what is plain."""
    proof = found.known.get(SERDE)
    if proof is not None and opens(codec, proof):
        return
    if found.begun:  # its proof may be damaged; or the serde was given to a saver after it was made
        held = [bytes(row[0]) for row in await inner.read(_some_writes)]
        sealed = [block for block in held if is_sealed(block)]
        if held and not sealed:
            raise PlainStore(
                "the serde encrypts, and the threads of this store are not encrypted by it: copy "
                "them into a new store (`port.copy`)"
            )
        if (sealed or proof is not None) and not any(_opens_block(codec, each) for each in sealed):
            raise _other_key()
        if proof is not None:
            logger.warning("the store's proof of its key is damaged: verify() tells more")
    elif proof is not None:
        raise _other_key()
    with suppress(ReadOnlyDatabase):
        await inner.write(lambda: mark(SERDE, codec.seal_text(TEXT)))


def opens(codec: Codec, proof: Any) -> bool:
    """Whether a proof is of the serde's key."""
    try:
        return codec.open_text(proof) == TEXT
    except (CheckpointDamaged, TypeError, AttributeError):
        return False


def _opens_block(codec: Codec, block: bytes) -> bool:
    try:
        codec.open_block(block)
    except CheckpointDamaged:
        return False
    return True


def _some_writes() -> Plan[list[Row]]:
    found: list[Row] = yield Ask("some_writes")
    return found


def without_values(plan: Plan[T], sealing: Collection[str]) -> Plan[T]:
    """A plan that may write nothing of any value: threads can be deleted without the serde."""
    try:
        step = next(plan)
        while True:
            steps = [step] if isinstance(step, (Ask, Tell)) else step
            if any(isinstance(each, Tell) and each.name in sealing and each.rows for each in steps):
                raise no_serde()
            step = plan.send((yield step))
    except StopIteration as end:
        result: T = end.value
        return result


def no_serde() -> KeyMissing:
    return KeyMissing("the store is encrypted: open it with the serde that wrote it to write to it")


def _other_key() -> KeyMissing:
    return KeyMissing(
        "the store was encrypted with another key than this serde has, or its proof of the key was "
        "damaged"
    )
