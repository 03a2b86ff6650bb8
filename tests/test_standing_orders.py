"""Standing orders are in every model call, also after summarising."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware

from langgraph_wyrd.middleware import WyrdMiddleware
from tests.conftest import Backend
from tests.providers import Strict
from tests.scripted_agents import Turn, asks, config, person, plan, says, system_of

ORDER = "as long as this thread goes on.\n- tone: never promise a date"


def pin(thread: Any) -> None:
    thread.set_context("tone", "never promise a date", {"pinned": True})


async def test_at_every_model_call(durable: Backend, turn: Turn) -> None:
    """Behind the system prompt of each call, once, and in no message; until they are taken back."""
    saver = durable.open()
    pin(saver.thread("t"))
    model = Strict(rule=plan(asks(("c", "open_loop", {"description": "ring Ada"}))))
    agent = create_agent(
        model, [], system_prompt="Be brief.", middleware=[WyrdMiddleware()], checkpointer=saver
    )
    await turn(agent, person(), config("t"))
    await turn(agent, person("b"), config("t"))
    assert len(model.heard) == 3
    for heard in model.heard:
        assert system_of(heard).count("never promise a date") == 1
        assert heard[0].content[0] == {"type": "text", "text": "Be brief."}
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert "never promise" not in str(found.checkpoint["channel_values"]["messages"])
    saver.thread("t").remove_context("tone")
    await turn(agent, person("c"), config("t"))
    assert "never promise" not in system_of(model.heard[-1])


async def test_after_summarising(durable: Backend, turn: Turn) -> None:
    """What a summary of the messages leaves out is in the prompt all the same."""
    saver = durable.open()
    pin(saver.thread("t"))
    cut = SummarizationMiddleware(
        Strict(rule=says("a summary")), trigger=("messages", 4), keep=("messages", 2)
    )
    model = Strict(rule=says())
    agent = create_agent(model, [], middleware=[cut, WyrdMiddleware()], checkpointer=saver)
    for text in "abcd":
        found = await turn(agent, person(text), config("t"))
    assert "a summary" in found["messages"][0].text
    assert all("never promise a date" in system_of(heard) for heard in model.heard)
