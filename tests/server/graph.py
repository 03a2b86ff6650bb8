"""The graphs that the test server serves: ordinary, slow and interrupting steps, and a delta."""

import asyncio
import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    ask: str
    slow: float
    notes: Annotated[list[str], operator.add]


async def prepare(state: State) -> dict[str, Any]:
    return {"notes": ["prepared"]}


async def work(state: State) -> dict[str, Any]:
    await asyncio.sleep(state.get("slow") or 0)
    if question := state.get("ask"):
        return {"notes": [f"told {interrupt(question)}"], "ask": "", "slow": 0}
    return {"notes": ["worked"], "slow": 0}


builder = StateGraph(State).add_sequence([prepare, work])
agent = builder.add_edge(START, "prepare").compile()


def append(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*state, *(item for write in writes for item in write)]


class DeltaState(TypedDict, total=False):
    log: Annotated[list[str], DeltaChannel(append, snapshot_frequency=4)]


async def first(state: DeltaState) -> dict[str, Any]:
    return {"log": [f"first sees {len(state['log'])}"]}


async def second(state: DeltaState) -> dict[str, Any]:
    return {"log": [f"second sees {len(state['log'])}"]}


delta_builder = StateGraph(DeltaState).add_sequence([first, second])
delta = delta_builder.add_edge(START, "first").compile()
