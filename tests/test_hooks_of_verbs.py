"""Hooks of what is done to a thread by hand, and of damage: told after it was stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
