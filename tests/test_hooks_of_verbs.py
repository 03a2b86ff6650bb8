"""Hooks of what is done to a thread by hand, and of damage: told after it was stored."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.conftest import Backend
from tests.test_edit import CONFIG, agent, ask

Call = Callable[..., Any]


async def test_a_label_and_a_rewind(durable: Backend, call: Call) -> None:
    """A label tells its name, a rewind where it went; one that goes nowhere tells nothing."""
    saver = durable.open()
    graph = agent(saver)
    for words in ("one", "two"):
        await call(graph, "invoke", ask(words), CONFIG)
    thread, heard = saver.thread("t"), []
    for event in ("label", "fork"):
        saver.on(event, heard.append)
    history = await call(thread, "history")
    made = await call(thread, "label", "start", history[-1])
    await call(thread, "rewind", history[0].checkpoint_id)  # the head
    config = await call(thread, "rewind", "start")
    assert [(each.event, each.checkpoint_id) for each in heard] == [
        ("label", made.checkpoint_id), ("fork", config["configurable"]["checkpoint_id"]),
    ]  # fmt: skip
    assert heard[0].detail["name"] == "start"
    assert heard[1].detail == {"how": "rewind", "to": "start", "deliberate": True}


async def test_what_a_rewind_and_a_rollback_take_back(durable: Backend, call: Call) -> None:
    """Both tell of the fork, and of each loop that waits no more, as taken back."""
    saver = durable.open()
    await call(agent(saver), "invoke", ask("one"), CONFIG)
    thread, heard = saver.thread("t"), []
    (start, *_) = await call(thread, "history")
    for event in ("fork", "loop_closed"):
        saver.on(event, heard.append)

    def told() -> list[Any]:
        found = [
            (each.event, each.detail.get("how"))
            if each.loop is None
            else (each.event, each.loop.kind, each.detail["taken_back"], each.detail["by"])
            for each in heard
        ]
        heard.clear()
        return sorted(found, key=str)

    builder = StateGraph(MessagesState).add_node("asks", lambda state: interrupt("Which one?"))
    asks = builder.add_edge(START, "asks").compile(checkpointer=saver)
    await call(asks, "invoke", ask("two"), CONFIG)
    heard.clear()
    await call(thread, "rewind", start)
    wanted = ["interrupt", "request"]
    assert told() == [
        ("fork", "rewind"), *(("loop_closed", kind, True, "rewind") for kind in wanted),
    ]  # fmt: skip
    with contextlib.suppress(RuntimeError):
        async with thread.rollback():
            await call(asks, "invoke", ask("three"), CONFIG)
            heard.clear()
            raise RuntimeError
    assert told() == [
        ("fork", "rollback"), *(("loop_closed", kind, True, "rollback") for kind in wanted),
    ]  # fmt: skip
