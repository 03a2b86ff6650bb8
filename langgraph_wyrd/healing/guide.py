"""Loads and writes that ask in vain for a thread that is there: it is led back, aloud."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import CheckpointDamaged, ReadOnlyDatabase
from langgraph_wyrd.later import later
from langgraph_wyrd.plans import naming
from langgraph_wyrd.store.names import given

if TYPE_CHECKING:
    from langgraph_wyrd.healing import leading, telling
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan
    from langgraph_wyrd.store.values import Codec
else:
    leading, telling = later("healing.leading", "healing.telling")


class Guide:
    """Of one saver's core."""

    guarded = staticmethod(naming.guarded)

    def __init__(self, codec: Callable[[], Codec], *, heals: bool) -> None:
        self._codec = codec
        self._heals = heals

    async def lead_back(self, running: Running[Any], key: bytes) -> None:
        codec = self._codec()
        if not self._heals:
            raise await self._damaged(running, key, "")
        try:
            found = await running.write(lambda: leading.led_back(codec, key))
        except ReadOnlyDatabase as error:
            raise await self._damaged(running, key, f" ({error})") from error
        await telling.tell(running, codec, found)

    async def _damaged(self, running: Running[Any], key: bytes, why: str) -> CheckpointDamaged:
        name = await running.read(lambda: _called(key))
        return CheckpointDamaged(
            f"thread {given(name or '')!r} is there, and is not found by its id, as its row in "
            f"wyrd_threads or wyrd_names is damaged: verify(repair=True) puts it right{why}"
        )


def _called(key: bytes) -> Plan[str | None]:
    return (yield from leading.called(key, (yield from naming.claims(key))))
