"""Picking threads up again: the newest one, one that fits, one by its id."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from langgraph.types import Command

from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from tests import handmade
from tests.conftest import Backend
from tests.test_past import travel

Call = Callable[..., Any]


async def started(call: Call, saver: Any, thread: str, user: str) -> Any:
    """A trip that waits for its person's answer."""
    graph = travel(saver)
    config = {"configurable": {"thread_id": thread}, "metadata": {"user_id": user}}
    await call(graph, "invoke", {"messages": [("human", f"Fly {user} to Paris")]}, config)
    return graph


async def test_the_newest_thread_goes_on(durable: Backend, call: Call) -> None:
    """What is found is where it stood: its state, its words, and the config that goes on."""
    saver = durable.open()
    assert await call(saver, "latest") is None
    await started(call, saver, "t1", "ann")
    graph = await started(call, saver, "t2", "bob")
    found = await call(saver, "latest")
    assert (found.thread_id, found.state.status) == ("t2", "interrupted")
    again = await call(saver, "resume")
    assert (again.thread_id, again.config, again.state) == ("t2", found.config, found.state)
    assert found.config == {"configurable": {"thread_id": "t2"}}
    assert "Book the 9:40?" in found.brief
    assert found.state == await call(saver.thread("t2"), "working_state")
    done = await call(graph, "invoke", Command(resume="yes"), found.config)
    assert done["messages"][-1].text == "You said yes: booked."
    assert (await call(saver, "latest")).state.open_loops == ()


async def test_one_that_fits(durable: Backend, call: Call) -> None:
    """The filters are those of `threads`; none that fits is None, or ThreadNotFound."""
    saver = durable.open()
    await started(call, saver, "t1", "ann")
    graph = await started(call, saver, "t2", "bob")
    await call(graph, "invoke", Command(resume="yes"), {"configurable": {"thread_id": "t2"}})
    ahead = datetime.now(timezone.utc) + timedelta(hours=1)
    for name in ("latest", "resume"):
        for asked, thread in (
            ({"user_id": "ann"}, "t1"),
            ({"status": "interrupted"}, "t1"),
            ({"text": "BOB"}, "t2"),
            ({"status": ["idle", "done", "interrupted"]}, "t2"),
            ({"until": ahead}, "t2"),
        ):
            assert (await call(saver, name, **asked)).thread_id == thread, asked
        with pytest.raises(InvalidInput):
            await call(saver, name, status="sleeping")
    assert await call(saver, "latest", since=ahead) is None
    with pytest.raises(ThreadNotFound, match="no thread fits"):
        await call(saver, "resume", user_id="nobody")


async def test_one_by_its_id(durable: Backend, call: Call) -> None:
    """A thread may be named; an unknown one is ThreadNotFound, and filters have no say then."""
    saver = durable.open()
    await started(call, saver, "t1", "ann")
    await started(call, saver, "t2", "bob")
    assert (await call(saver, "resume", "t1")).thread_id == "t1"
    with pytest.raises(ThreadNotFound, match="'t3'"):
        await call(saver, "resume", "t3")
    with pytest.raises(InvalidInput, match="not both"):
        await call(saver, "resume", "t1", status="interrupted")


async def test_a_thread_without_a_root(durable: Backend, call: Call) -> None:
    """A thread of which only a subgraph's checkpoints are there can't be gone on with: the next
    one is found."""
    saver = durable.open()
    handmade.put(saver, "t1", {"n": 1})
    handmade.put(saver, "odd\\\0", {"n": 1})
    handmade.put(saver, "half", {"n": 1}, ns="inner:1")
    found = await call(saver, "latest")
    assert (found.thread_id, found.config) == (
        "odd\\\0",
        {"configurable": {"thread_id": "odd\\\0"}},
    )
    saver.delete_thread("odd\\\0")
    assert (await call(saver, "resume")).thread_id == "t1"


async def test_without_pillars(durable: Backend, call: Call) -> None:
    """A saver without pillars finds its newest thread too."""
    saver = durable.open(pillars=False)
    await started(call, saver, "t1", "ann")
    assert (await call(saver, "latest")).config == {"configurable": {"thread_id": "t1"}}
