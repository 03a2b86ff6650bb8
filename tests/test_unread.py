"""What a saver with pillars=False stored is read on first use, and never said to be idle."""

from __future__ import annotations

from typing import Any

from conftest import Backend
from langgraph.types import Command

from tests.lone import ask, chain, first
from tests.steps import config


async def test_read_on_first_use(durable: Backend, call: Any) -> None:
    """Whoever looks at such a thread, or goes on with it, reads all of it first."""
    off, on = durable.open(pillars=False), durable.open()
    for turn, given in enumerate([{"said": ["in"]}, Command(resume="yes"), {"said": ["more"]}]):
        await call(chain(first, ask, checkpointer=off), "invoke", given, config("t"))
        assert [info.status for info in on.threads()] == [None]
        assert on.verify().ok
        state = await call(on.thread("t"), "working_state")
        assert state.status == ("idle", "interrupted")[turn != 1] or state.status == "done"
        assert len(state.loops) == (1, 1, 2)[turn]
        assert [info.status for info in on.threads()] == [state.status]
    await call(chain(first, ask, checkpointer=off), "invoke", Command(resume="yes"), config("t"))
    await call(chain(first, ask, checkpointer=on), "invoke", {"said": ["last"]}, config("t"))
    assert len((await call(on.thread("t"), "working_state")).loops) == 3
    assert on.verify().ok
