"""A store that an encrypting serde wrote knows so: a proof of the key stands among the keys."""

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

ID = "(serde)"  # among the ids of keys, none of which has parentheses
_PROOF = "langgraph-wyrd"


async def admit(inner: Driver, codec: Codec, proof: str | None, begun: bool) -> None:
    """With another key everything would look damaged, and so would what is plain."""
    if proof is not None:
        try:
            codec.open_text(proof)
        except CheckpointDamaged:
            raise _other_key() from None
        return
    if begun:  # a serde may have been given to a saver after it was made: then there is no proof
        await _look_into(inner, codec)
    row = (ID, codec.seal_text(_PROOF), datetime.now(timezone.utc).isoformat())
    with suppress(ReadOnlyDatabase):
        await inner.write(lambda: _told(Tell("add_key", [row])))


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


def _told(statement: Tell) -> Plan[None]:
    yield statement


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
