"""A change to a thread that is neither a put nor a task's writes: it has the thread to itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from langgraph_wyrd.plans.ledger import without_damage

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.running import Running
    from langgraph_wyrd.store.statements import Plan

T = TypeVar("T")


async def alone(core: Running[Memory], thread_id: str, plan: Callable[[], Plan[T]]) -> T:
    """Run a plan in its turn. What was known of the thread before no longer holds then."""
    async with core.turns.turn(thread_id):
        core.memory.drop(thread_id)
        try:
            return await core.write(lambda: without_damage(plan(), thread_id))
        finally:
            core.memory.drop(thread_id)
