"""What a task wrote is part of the next checkpoint's working state, also where it is not stored yet
when that checkpoint is planned, and the saver has forgotten the thread meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.types import Interrupt

from tests.conftest import Backend
from tests.handmade import checkpoint, put, version
from tests.outside import write_lock

PATH = "~__pregel_pull, model"


@pytest.mark.parametrize("asked", [False, True], ids=["one call", "it had asked before"])
async def test_writes_that_wait_for_the_database(durable: Backend, asked: bool) -> None:
    """A task asks for approval and then writes messages to a delta channel. While they wait for the
    database another task's write is cancelled: the next checkpoint has read the messages."""
    saver = durable.open()
    at = put(saver, "t", {}, versions={"messages": version()})
    if asked:
        waits = [("__interrupt__", (Interrupt(value="May I?", id="i"),))]
        await saver.aput_writes(at, waits, "task-1", PATH)
    call = {"name": "write_file", "args": {"path": "a"}, "id": "call-1"}
    said = [("messages", [AIMessage("Writing.", id="a", tool_calls=[call])])]
    with write_lock(durable.url):
        writing = asyncio.create_task(saver.aput_writes(at, said, "task-1", PATH))
        await asyncio.sleep(0.05)
        other = asyncio.create_task(saver.aput_writes(at, [("log", 1)], "task-2"))
        await asyncio.sleep(0.05)
        other.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await other
        made = checkpoint({}, versions={"messages": version()})
        metadata: Any = {"source": "loop", "step": 1, "parents": {}}
        putting = asyncio.create_task(saver.aput(at, made, metadata, made["channel_versions"]))
        await asyncio.sleep(0.15)
        assert not writing.done()
    await writing
    await putting
    found = saver.thread("t").working_state(at=made["id"])
    assert [loop.ref for loop in found.open_loops if loop.kind == "tool_call"] == ["call-1"]
