"""WyrdMiddleware next to what else an agent is made of: prompt caches, streams, forms of answers,
other middleware; and plain graphs without it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelFallbackMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_anthropic.chat_models import _format_messages
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send
from pydantic import BaseModel

from langgraph_wyrd import repair_node
from langgraph_wyrd.middleware import WyrdMiddleware
from tests.conftest import Backend
from tests.deep import create_deep_agent
from tests.providers import PROVIDERS, Refused, Strict, refused_by
from tests.scripted_agents import ORDERS, Turn, asks, config, person, plan, says, search, system_of
from tests.test_broken_threads import OTHERS
from tests.test_killed_agents import killed

STABLE: list[Any] = [
    {"type": "text", "text": "Be brief."},
    {"type": "text", "text": "A long manual.", "cache_control": {"type": "ephemeral"}},
]
NOTE = asks(("c1", "open_loop", {"description": "ask for the budget", "id": "budget"}))


def sent(heard: list[BaseMessage]) -> list[Any]:
    """The blocks of the system prompt as they go to Anthropic."""
    system, _ = _format_messages(heard, model=None)
    assert isinstance(system, list)
    return system


@pytest.mark.parametrize("order", ORDERS)
async def test_a_prompt_cache_is_not_spoiled(order: str, durable: Backend, turn: Turn) -> None:
    """With marks of the user's own, or of AnthropicPromptCachingMiddleware, before or behind: the
    stable blocks are the first ones, byte by byte the same with the brief and without, and no mark
    is added."""
    for n in range(2):
        model = Strict(rule=plan(NOTE) if not n else says(), provider="anthropic")
        agent = create_agent(
            model,
            [search],
            system_prompt=SystemMessage(STABLE),
            middleware=ORDERS[order](
                WyrdMiddleware(),
                [AnthropicPromptCachingMiddleware(unsupported_model_behavior="ignore")],
            ),
            checkpointer=durable.open(),
        )
        await turn(agent, person("plan it"), config("t"))
        await turn(agent, person("go on"), config("t"))
    with_it, without = map(sent, model.heard)
    assert json.dumps(without) == json.dumps(STABLE)
    assert json.dumps(with_it[:2]) == json.dumps(STABLE)
    (brief,) = with_it[2:]
    assert "ask for the budget" in brief["text"]
    assert "cache_control" not in brief


async def test_streamed(durable: Backend, turn: Turn) -> None:
    """A stream of messages has the agent's words and no brief; the brief comes all the same."""
    for n in range(2):
        model = Strict(rule=plan(NOTE, AIMessage("noted")) if not n else says("well"))
        agent = create_agent(
            model, [search], middleware=[WyrdMiddleware()], checkpointer=durable.open()
        )
        value = person("plan it")
        if turn.__name__ == "turn_sync":
            said = [m for m, _ in agent.stream(value, config("t"), stream_mode="messages")]
        else:
            said = [m async for m, _ in agent.astream(value, config("t"), stream_mode="messages")]
        texts = [message.text for message in said]
        assert texts[-1] == ("well" if n else "noted")
        assert not [text for text in texts if "Picked up again" in text]
    assert "ask for the budget" in system_of(model.heard[0])


class Answer(BaseModel):
    """The answer."""

    sum: int


async def test_answers_of_a_form(durable: Backend, turn: Turn) -> None:
    """`response_format` as a tool: its call answers the request, also with the same answer as
    before, and is no open loop; a thread that broke in it goes on."""
    saver = durable.open()

    def make(rule: Any, *ours: Any) -> Any:
        return create_agent(
            Strict(rule=rule, provider="anthropic"),
            [search],
            middleware=ours,
            response_format=ToolStrategy(Answer),
            checkpointer=saver,
        )

    for n in range(3):
        answer = asks((f"a{n}", "Answer", {"sum": 3}))
        agent = make(plan(answer), WyrdMiddleware())
        how = "exit" if n == 2 else "async"
        found = await turn(agent, person(f"add up {n}"), config("t"), durability=how)
        assert found["structured_response"] == Answer(sum=3)
        state = saver.thread("t").working_state()
        assert state.open_loops == ()
        assert state.closed_loops[-1].outcome in ("answered", "a result was recorded")
    saver.reextract("t")
    assert saver.thread("t").working_state().open_loops == ()
    lost = [HumanMessage("go"), asks(("b", "Answer", {"sum": 4}))]
    await make(says()).aupdate_state(config("t"), {"messages": lost}, as_node="model")
    saver.copy_thread("t", "u")
    with pytest.raises(Refused):
        await turn(make(says()), person(), config("u"))
    again = asks(("c", "Answer", {"sum": 5}))
    found = await turn(make(plan(again), WyrdMiddleware()), person(), config("t"))
    assert found["structured_response"] == Answer(sum=5)
    assert not refused_by(found["messages"])


@pytest.mark.parametrize("order", ORDERS)
async def test_edited_contexts(order: str, durable: Backend, turn: Turn) -> None:
    """ContextEditingMiddleware takes old results out of what is sent; a thread that lost one goes
    on, and what is stored is whole."""
    edits = ContextEditingMiddleware(
        edits=[ClearToolUsesEdit(trigger=1, keep=1, clear_tool_inputs=True)]
    )
    saver = durable.open()
    for provider in PROVIDERS:
        rule = plan(asks(("a", "search", {"query": "x"})), asks(("b", "search", {"query": "y"})))
        model = Strict(rule=rule, provider=provider)
        agent = create_agent(
            model,
            [search],
            middleware=ORDERS[order](WyrdMiddleware(), [edits]),
            checkpointer=saver,
        )
        lost = [HumanMessage("go"), asks(("z", "search", {}))]
        thread = config(provider)
        await agent.aupdate_state(thread, {"messages": lost}, as_node="__start__")
        found = await turn(agent, person(), thread)
        texts = [m.text for m in found["messages"] if m.type == "tool"]
        assert "no result was recorded" in texts[0]
        assert texts[1:] == ["found x", "found y"]
        assert "found x" not in str(model.heard[-1])


async def test_a_model_that_takes_anothers_place(durable: Backend, turn: Turn) -> None:
    """ModelFallbackMiddleware before it: the other provider gets the history in its own form."""

    def fails(messages: list[BaseMessage]) -> AIMessage:
        raise RuntimeError("overloaded")

    other = Strict(rule=says(), provider="anthropic")
    agent = create_agent(
        Strict(rule=fails),
        [search],
        middleware=[ModelFallbackMiddleware(other), WyrdMiddleware()],
        checkpointer=durable.open(),
    )
    history = OTHERS["its first call, once the rest was trimmed"]
    await agent.aupdate_state(config("t"), {"messages": history}, as_node="__start__")
    found = await turn(agent, person(), config("t"))
    assert found["messages"][-1].text == "done"
    assert len(other.heard) == 1


async def test_a_deep_agent_gets_the_brief(durable: Backend, turn: Turn) -> None:
    """create_deep_agent, with a subagent that has the middleware too: the brief comes to the one
    that is spoken to, behind its own long prompt, once."""
    for n in range(2):
        model = Strict(rule=plan(NOTE) if not n else says(), provider="anthropic")
        agent = create_deep_agent(
            model,
            system_prompt="You lead.",
            middleware=[WyrdMiddleware()],
            subagents=[
                {
                    "name": "helper",
                    "description": "helps",
                    "system_prompt": "help",
                    "tools": [search],
                    "middleware": [WyrdMiddleware()],
                }
            ],
            checkpointer=durable.open(),
        )
        await turn(agent, person("plan it"), config("t"))
        await turn(agent, person("go on"), config("t"))
    first, second = map(system_of, model.heard)
    assert first.startswith(second)
    assert "ask for the budget" in first[len(second) :]
    assert "Picked up again" not in second


# ---- plain graphs


def plain_graph(model: Strict, saver: Any, tools: list[Any], *, repair: bool) -> Any:
    """A model and a ToolNode, a task for each call, and no create_agent."""
    builder = StateGraph(MessagesState)
    builder.add_node("repair", repair_node() if repair else lambda state: None)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "repair")
    builder.add_edge("repair", "model")
    builder.add_conditional_edges(
        "model",
        lambda state: [Send("tools", [call]) for call in state["messages"][-1].tool_calls] or END,
        ["tools", END],
    )
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


async def test_a_plain_graph_that_was_killed(durable: Backend, turn: Turn, tmp_path: Any) -> None:
    """Killed in the middle of parallel calls, it goes on with new input in another process: with
    the node the finished result is used, the other call is reported, and nothing runs again;
    without it the model refuses."""
    ran = killed(durable.url, tmp_path, "plain-openai", "plain-anthropic")

    @tool
    def quick() -> str:
        """Be quick."""
        raise AssertionError("not again")

    for provider in PROVIDERS:
        thread = f"plain-{provider}"
        saver = durable.open()
        model = Strict(rule=says(), provider=provider)
        saver.copy_thread(thread, f"{thread} 2")
        with pytest.raises(Refused):
            await turn(
                plain_graph(model, saver, [quick], repair=False), person(), config(f"{thread} 2")
            )
        graph = plain_graph(model, saver, [quick], repair=True)
        found = await turn(graph, person(), config(thread))
        assert ran(thread) == ["quick", "slow"]
        results = {m.tool_call_id: m for m in found["messages"] if isinstance(m, ToolMessage)}
        assert (results["q"].text, results["q"].status) == ("quick is done", "success")
        assert results["s"].status == "error"
        assert "was asked for at 20" in results["s"].text
        assert not refused_by(found["messages"])
