"""Proofs of the keys that a store is encrypted with, by a key ring or by a serde, stand in it."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timezone
from typing import TypeVar

from langgraph_wyrd.errors import CheckpointDamaged, KeyMissing, PlainStore, ReadOnlyDatabase
from langgraph_wyrd.store.blocks import is_sealed
from langgraph_wyrd.store.running import Driver
from langgraph_wyrd.store.statements import Ask, Plan, Row, Tell
from langgraph_wyrd.store.values import Codec

T = TypeVar("T")

TEXT = "langgraph-wyrd"  # which the key seals


def mark(id: str, proof: str) -> Plan[None]:
    yield Tell("add_key", [(id, proof, datetime.now(timezone.utc).isoformat())])


async def admit_serde(inner: Driver, id: str, codec: Codec, proof: str | None, begun: bool) -> None:
    """With another key everything would look damaged, and so would what is plain."""
    if proof is not None:
        try:
            codec.open_text(proof)
        except CheckpointDamaged:
            raise _other_key() from None
        return
    if begun:  # a serde may have been given to a saver after it was made: then there is no proof
        await _look_into(inner, codec)
    with suppress(ReadOnlyDatabase):
        await inner.write(lambda: mark(id, codec.seal_text(TEXT)))


async def _look_into(inner: Driver, codec: Codec) -> None:
    held = [bytes(row[0]) for row in await inner.read(_some_writes)]
    if held and not any(map(is_sealed, held)):
        raise PlainStore(
            "the serde encrypts, and the threads of this store are not encrypted by it: copy them "
            "into a new store (`port.copy`)"
        )
    for block in filter(is_sealed, held):
        try:
            codec.open_block(block)
        except CheckpointDamaged:
            raise _other_key() from None


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
