"""Graphs whose runs can be held up from outside, and what other processes are told to do."""

from __future__ import annotations

import asyncio
import gc
import operator
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.checkpoints import leases
from langgraph_wyrd.errors import ConcurrentRun
from tests.handmade import config


class State(TypedDict, total=False):
    said: Annotated[list[str], operator.add]
    folder: str


def first(state: State) -> State:
    return {"said": ["first"]}


def slow(state: State) -> State:
    """Says that it began, and waits to be let go."""
    folder = Path(state["folder"])
    (folder / f"began-{os.getpid()}").touch()
    until(lambda: (folder / "go").exists())
    return {"said": ["slow"]}


def ask(state: State) -> State:
    return {"said": [interrupt("well?")]}


def fail(state: State) -> State:
    raise ValueError("no disk")


def last(state: State) -> State:
    return {"said": ["last"]}


def until(there: Any, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


async def came_to(running: asyncio.Task[Any], there: Callable[[], bool]) -> None:
    """Wait until a run has come so far; raises what it failed with before that."""
    while not there():
        if running.done():
            await running
            raise AssertionError("the run is over")
        await asyncio.sleep(0.01)


def chain(*nodes: Any, **options: Any) -> Any:
    """A graph of nodes one behind the other; a list of nodes runs side by side."""
    builder = StateGraph(State)
    before: list[Any] = [START]
    for node in nodes:
        now = node if isinstance(node, list) else [node]
        names = []
        for each in now:
            name = getattr(each, "__name__", "inner")
            builder.add_node(name, each)
            names.append(name)
            for one in before:
                builder.add_edge(one, name)
        before = names
    return builder.compile(**options)


def functional(saver: Any, asking: bool) -> Any:
    @task
    def one(number: int) -> int:
        return number + 1

    @entrypoint(checkpointer=saver)
    def flow(number: int) -> Any:
        found = one(number).result()
        return interrupt("well?") if asking else found

    return flow


# ---- in another process

held: dict[str, Any] = {}


def open_saver(url: str, **options: Any) -> int:
    held["saver"] = WyrdSaver.from_conn_string(url, single_writer=True, **options)
    return os.getpid()


def patient() -> None:
    """A run that gives no sign of life is not taken for a dead one any more."""
    leases.EXPIRES = 10_000.0


def close_saver() -> None:
    held.pop("saver").close()


def run_slowly(folder: str, thread: str = "t") -> list[str]:
    graph = chain(first, slow, last, checkpointer=held["saver"])
    found: State = graph.invoke({"said": ["in"], "folder": folder}, config(thread))
    return found["said"]


def run(thread: str = "t", given: Any = None, nodes: str = "first last") -> Any:
    """What a run says; or of a refusal, what it knows, and how long it took."""
    makers = {"first": first, "last": last, "ask": ask, "slow": slow}
    graph = chain(*(makers[name] for name in nodes.split()), checkpointer=held["saver"])
    began = time.monotonic()
    try:
        return graph.invoke(given, config(thread))["said"]
    except ConcurrentRun as error:
        known = (error.thread_id, error.pid, error.host, error.since, error.seen)
        return str(error), known, time.monotonic() - began


def resume(thread: str = "t", nodes: str = "first ask last") -> Any:
    return run(thread, Command(resume="yes"), nodes)


def look(thread: str = "t") -> Any:
    graph = chain(first, slow, last, checkpointer=held["saver"])
    return graph.get_state(config(thread)).values["said"]


def ask_and_stop(thread: str = "t") -> None:
    """Stops at a question; what is left of the run is not collected."""
    gc.disable()
    chain(first, ask, last, checkpointer=held["saver"]).invoke({"said": ["in"]}, config(thread))
