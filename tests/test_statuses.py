"""How a run stands, or ended: distinguished where a lease or a `run_end` hook permits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypedDict

import pytest
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from tests import outside
from tests.conftest import Backend
from tests.held_runs import came_to

Call = Callable[..., Any]


class State(TypedDict, total=False):
    n: int


def at(thread: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": thread}, **more}


def compiled(saver: Any, last: Callable[[State], Any], **options: Any) -> Any:
    """A node that counts, and another one."""
    builder = StateGraph(State).add_node("first", lambda state: {"n": 1}).add_node("last", last)
    builder.add_edge(START, "first").add_edge("first", "last")
    return builder.compile(checkpointer=saver, **options)


def fails(state: State) -> Any:
    raise RuntimeError("no")


async def in_every_way(saver: Any, call: Call) -> dict[str, str]:
    """Threads whose runs ended in each way; the status that each is to have."""

    async def waits(state: State) -> Any:
        started.set()
        await asyncio.sleep(600)

    started = asyncio.Event()
    run = asyncio.create_task(compiled(saver, waits).ainvoke({"n": 0}, at("cancelled")))
    await came_to(run, started.is_set)
    run.cancel()
    with suppress(asyncio.CancelledError):
        await run
    circle = StateGraph(State).add_node("a", lambda state: {"n": 1}).add_edge(START, "a")
    endless = circle.add_edge("a", "a").compile(checkpointer=saver)
    with pytest.raises(GraphRecursionError):
        await call(endless, "invoke", {"n": 0}, at("out_of_steps", recursion_limit=3))
    stops = compiled(saver, lambda state: {}, interrupt_before=["last"])
    await call(stops, "invoke", {"n": 0}, at("paused"))
    asks = compiled(saver, lambda state: {"n": interrupt("How many?")})
    await call(asks, "invoke", {"n": 0}, at("interrupted"))
    with pytest.raises(RuntimeError):
        await call(compiled(saver, fails), "invoke", {"n": 0}, at("error"))
    await call(compiled(saver, lambda state: {}), "invoke", {"n": 0}, at("done"))
    names = ("cancelled", "out_of_steps", "paused", "interrupted", "error", "done")
    return {name: name for name in names}


@pytest.mark.parametrize("told_by", ["lease", "hook", "nobody"])
async def test_how_a_run_ended(durable: Backend, call: Call, told_by: str) -> None:
    """Cancelled, out of steps, waiting at a breakpoint, asking, failed and done have statuses of
    their own for any saver, with the time; a `run_end` hook hears of each. Without a lease or a
    hook, what did not end by itself is due."""
    heard: dict[str, Any] = {}
    saver = durable.open(single_writer=told_by == "lease")
    if told_by == "hook":
        saver.on("run_end", lambda what: heard.update({what.thread_id: what.detail["how"]}))
    wanted = await in_every_way(saver, call)
    assert heard == (wanted if told_by == "hook" else {})
    if told_by == "nobody":
        wanted.update(dict.fromkeys(("cancelled", "out_of_steps", "paused"), "due"))
    reader = durable.open()
    listed = {each.thread_id: each for each in await call(reader, "threads")}
    assert {name: each.status for name, each in listed.items()} == wanted
    for name, status in wanted.items():
        assert (await call(reader.thread(name), "working_state")).status == status
        assert name in {each.thread_id for each in await call(reader, "threads", status=status)}
        if told_by != "nobody":
            assert listed[name].ended_at is not None
    # A run that goes on is over in another way.
    await call(compiled(saver, lambda state: {}), "invoke", None, at("paused"))
    assert (await call(reader.thread("paused"), "working_state")).status == "done"


KILLED = """
import os, sys
from typing import TypedDict
from langgraph.graph import StateGraph
from langgraph_wyrd import WyrdSaver
saver = WyrdSaver.from_conn_string(sys.argv[1], single_writer=True)
builder = StateGraph(TypedDict("State", {"n": int}))
builder.add_node("first", lambda state: {"n": 1}).add_node("last", lambda state: os._exit(9))
builder.add_edge("__start__", "first").add_edge("first", "last")
at = {"configurable": {"thread_id": "t"}}
builder.compile(checkpointer=saver).invoke({"n": 0}, at, durability="sync")
"""


async def test_running_and_killed(durable: Backend, call: Call) -> None:
    """With a lease a thread at work is running, also for others; one whose process is gone was
    killed, and has no end."""
    saver, reader = durable.open(single_writer=True), durable.open()
    started, goes_on = threading.Event(), threading.Event()

    def works(state: State) -> Any:
        started.set()
        assert goes_on.wait(200)

    graph = compiled(saver, works)
    run = threading.Thread(
        target=graph.invoke, args=({"n": 0}, at("t")), kwargs={"durability": "sync"}
    )
    run.start()
    assert started.wait(200)
    (listed,) = await call(reader, "threads", status="running")
    assert (listed.status, listed.ended_at) == ("running", None)
    assert (await call(reader.thread("t"), "working_state")).status == "running"
    goes_on.set()
    run.join()
    (listed,) = await call(reader, "threads")
    assert listed.status == "done"
    assert listed.ended_at is not None
    await call(reader, "delete_thread", "t")
    assert outside.run("-c", KILLED, durable.url).returncode == 9
    (listed,) = await call(reader, "threads", status="killed")
    assert listed.ended_at is None
    state = await call(reader.thread("t"), "working_state")
    assert state.status == "killed"
    assert "is gone" in state.reason
    await call(compiled(saver, lambda state: {}), "invoke", None, at("t"))
    assert (await call(reader.thread("t"), "working_state")).status == "done"


async def test_a_new_process_resumes_a_thread(durable: Backend, call: Call) -> None:
    """The hook `resume` is called when a graph picks a thread up that another saver began, once,
    and not for a new thread or a look."""
    await call(
        compiled(durable.open(), fails, interrupt_before=["last"]), "invoke", {"n": 0}, at("t")
    )
    heard: list[Any] = []
    saver = durable.open(hooks={"resume": heard.append})
    graph = compiled(saver, lambda state: {})
    await call(saver, "get_tuple", at("t"))
    await call(graph, "invoke", {"n": 0}, at("new"))
    assert not heard
    for _ in range(2):
        await call(graph, "invoke", None, at("t"))
    (one,) = heard
    assert (one.thread_id, one.detail, one.state.status) == ("t", {"by": "run"}, "due")
