"""`repair_node` in plain graphs, and as the pre-model hook of langgraph's own agent."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from conftest import Backend
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.prebuilt import create_react_agent
from langgraph.types import Send
from outside import ROOT, environment
from providers import PROVIDERS, Refused, Strict
from test_middleware import Turn, asks, config, person, plan, says, search, turn

from langgraph_wyrd import repair_node

__all__ = ["turn"]  # a fixture


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@dataclass
class Held:
    talk: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)


def graph(model: Strict, saver: Any, *, repair: bool = True) -> Any:
    """A model that calls two tools at once, of which the second fails."""

    def think(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def run(call: Any) -> dict[str, Any]:
        if call["id"] == "b":
            raise RuntimeError("kaput")
        return {"messages": [ToolMessage("it worked", tool_call_id=call["id"])]}

    builder = StateGraph(State)
    builder.add_node("repair", repair_node() if repair else lambda state: None)
    builder.add_node("think", think)
    builder.add_node("run", run)
    builder.add_edge(START, "repair")
    builder.add_edge("repair", "think")
    builder.add_conditional_edges(
        "think",
        lambda state: [Send("run", call) for call in state["messages"][-1].tool_calls] or END,
        ["run", END],
    )
    builder.add_edge("run", "think")
    return builder.compile(checkpointer=saver)


BOTH = asks(("a", "search", {}), ("b", "search", {}))


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_failed_step_that_new_input_passes_over(
    durable: Backend, turn: Turn, provider: str
) -> None:
    """Its finished result is used, the failed call is reported; without the node the model
    refuses."""
    saver = durable.open()
    with pytest.raises(RuntimeError):
        await turn(graph(Strict(rule=plan(BOTH)), saver), person(), config("t"))
    model = Strict(rule=says(), provider=provider)
    saver.copy_thread("t", "u")
    with pytest.raises(Refused):
        await turn(graph(model, saver, repair=False), person(), config("u"))
    found = await turn(graph(model, durable.open()), person(), config("t"))
    assert [m.type for m in found["messages"]] == ["human", "ai", "tool", "tool", "human", "ai"]
    worked, lost = found["messages"][2:4]
    assert worked.text == "it worked"
    assert lost.status == "error"
    assert "was asked for at 20" in lost.text
    ids = [m.id for m in found["messages"]]
    again = await turn(graph(model, saver), person(), config("t"))
    assert [m.id for m in again["messages"]][:6] == ids


async def test_with_another_checkpointer(turn: Turn) -> None:
    """The history alone is repaired: of neither call a result is known."""
    saver = InMemorySaver()
    with pytest.raises(RuntimeError):
        await turn(graph(Strict(rule=plan(BOTH)), saver), person(), config("t"))
    found = await turn(graph(Strict(rule=says()), saver), person(), config("t"))
    assert [m.status for m in found["messages"] if m.type == "tool"] == ["error", "error"]


def test_a_channel_of_another_name() -> None:
    """The state may be an object, and its messages under another name; a sound history is left."""
    builder = StateGraph(Held)
    builder.add_node("repair", repair_node("talk"))
    builder.add_edge(START, "repair")
    made = builder.compile()
    broken: Any = [HumanMessage("go"), BOTH, HumanMessage("and now?")]
    found = made.invoke(Held(broken))["talk"]
    assert [m.type for m in found] == ["human", "ai", "tool", "tool", "human"]
    assert [m.id for m in made.invoke(Held(found))["talk"]] == [m.id for m in found]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_as_a_pre_model_hook(durable: Backend, turn: Turn) -> None:
    """langgraph's create_react_agent takes it as it is."""
    saver = durable.open()
    rule = plan(asks(("c", "search", {"query": "x"})))
    agent = create_react_agent(
        Strict(rule=rule), [search], pre_model_hook=repair_node(), checkpointer=saver
    )
    history = [HumanMessage("go"), AIMessage("", tool_calls=BOTH.tool_calls)]
    await agent.aupdate_state(config("t"), {"messages": history}, as_node="__start__")
    found = await turn(agent, person(), config("t"))
    assert [m.text for m in found["messages"]][-2:] == ["found x", "done"]
    assert [m.type for m in found["messages"]][:5] == ["human", "ai", "tool", "tool", "human"]


def test_langchain_is_imported_only_when_used() -> None:
    """The saver, the repair and its node do without langchain; the middleware says what to
    install where it is missing."""
    script = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'langchain' or name.startswith('langchain.'):\n"
        "            raise ImportError('no module named langchain')\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from langgraph_wyrd import WyrdSaver, repair_messages, repair_node\n"
        "from langgraph_wyrd.errors import MissingExtra\n"
        "try:\n"
        "    import langgraph_wyrd.middleware\n"
        "except MissingExtra as error:\n"
        "    print(error)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pip install 'langgraph-wyrd[agents]'" in ended.stdout
