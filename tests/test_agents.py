"""Real agents on scripted models: each turn through a new saver, the same as in memory.

A play is a list of turns. For every turn a new saver object is opened on the same database, the
agent is compiled with it, and the turn is taken; what it returns, and at the end the whole history,
must be what InMemorySaver gives. Only ids that are made at random, and times, are left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from tests.conftest import Backend
from tests.deep import create_deep_agent
from tests.scripted_agents import (
    APPROVE,
    CONFIG,
    EDIT,
    REJECT,
    RESPOND,
    Rule,
    Scripted,
    calls,
    decide,
    firm,
    ledger,
    office,
    plain,
    reviewer,
)

# ------------------------------------------------------------------ the stage


@dataclass
class Stage:
    """Takes turns with one agent after another, and writes down what they say."""

    make: Callable[[Any], Any]  # an agent, from a saver
    open_saver: Callable[[], Any]
    call: Callable[..., Awaitable[Any]]
    said: list[Any] = field(default_factory=list)

    async def turn(self, value: Any, config: Any = CONFIG, **options: Any) -> Any:
        """One run: what it returned, or raised, and the state after it."""
        graph = self.make(self.open_saver())
        try:
            found = await self.call(graph, "invoke", value, config, **options)
            if isinstance(found, dict):
                # Here questions are in the order in which parallel tasks came to ask them; the
                # state has them in the order of the tasks.
                found.pop("__interrupt__", None)
            self.said.append(found)
        except RuntimeError as error:
            self.said.append(repr(error))
        return await self.look()

    async def look(self) -> Any:
        """The state, as yet another saver has it."""
        graph = self.make(self.open_saver())
        state = await self.call(graph, "get_state", CONFIG, subgraphs=True)
        self.said.append(state)
        return state

    async def update(self, values: Any, config: Any = CONFIG, **options: Any) -> Any:
        graph = self.make(self.open_saver())
        return await self.call(graph, "update_state", config, values, **options)

    async def history(self) -> list[Any]:
        graph = self.make(self.open_saver())
        return [state async for state in graph.aget_state_history(CONFIG)]


Play = Callable[[Stage], Awaitable[None]]


async def perform(
    make: Callable[[Any], Any], play: Play, durable: Backend, call: Callable[..., Any]
) -> list[Any]:
    """Play it in memory and on the database; both must come out the same. What was said."""
    memory = InMemorySaver()
    expected = Stage(make, lambda: memory, call)
    await play(expected)

    def reopen() -> Any:
        for saver in durable.opened:
            saver.close()
        return durable.open()

    found = Stage(make, reopen, call)
    await play(found)
    assert len(found.said) == len(expected.said)
    for ours, theirs in zip(found.said, expected.said, strict=True):
        assert plain(ours) == plain(theirs)
    history = await found.history()
    assert plain(history) == plain(await expected.history())
    return [*found.said, history]


# ------------------------------------------------------------------ langchain agents


def tools_said(state: Any) -> list[str]:
    """What the tools of the newest round answered; those that were not let run answer first."""
    return sorted(m.text for m in state.values["messages"][-4:] if m.type == "tool")


async def office_hours(stage: Stage) -> None:
    state = await stage.turn({"messages": [HumanMessage("tidy up", id="h1")]})
    (waiting,) = state.interrupts
    assert [a["args"]["path"] for a in waiting.value["action_requests"]] == ["/x", "/y"]
    state = await stage.turn(decide(APPROVE, REJECT))
    assert state.values["messages"][-1].text.startswith("done after")
    assert [t["status"] for t in state.values["todos"]] == ["in_progress", "pending"]
    rejected, deleted, found = tools_said(state)
    assert "not that one" in rejected
    assert (deleted, found) == ("deleted /x", "found a")
    await stage.turn({"messages": [HumanMessage("once more", id="h2")]})
    state = await stage.turn(decide(EDIT, RESPOND))
    assert "I did it myself" in tools_said(state)
    assert any("deleted /z" in said for said in tools_said(state))
    await stage.turn({"messages": [HumanMessage("and again", id="h3")]}, durability="exit")
    state = await stage.turn(decide(APPROVE, APPROVE), durability="exit")
    assert tools_said(state) == ["deleted /x", "deleted /y", "found a"]
    assert state.values["messages"][0].text.startswith("Here is a summary")
    # Back to before the first question, and decided otherwise: a fork, from before the summary.
    asked = [s for s in await stage.history() if s.interrupts][-1]
    state = await stage.turn(None, asked.parent_config)
    assert len(state.interrupts) == 1
    state = await stage.turn(decide(REJECT, APPROVE))
    assert tools_said(state)[1:] == ["deleted /y", "found a"]
    assert state.values["messages"][0].text == "tidy up"


async def test_an_agent_with_todos_approval_and_summaries(
    durable: Backend, call: Callable[..., Any]
) -> None:
    """Planned, approved, rejected, edited, summarised and forked, an agent is as in memory."""
    await perform(office, office_hours, durable, call)


async def one_at_a_time(stage: Stage) -> None:
    state = await stage.turn({"messages": [HumanMessage("tidy up", id="h1")]})
    assert len(state.interrupts) == 2
    second = next(i for i in state.interrupts if i.value["args"]["path"] == "/y")
    state = await stage.turn(Command(resume={second.id: APPROVE}))
    (first,) = state.interrupts
    state = await stage.turn(Command(resume={first.id: REJECT}))
    assert state.next == ()
    tools = [m.text for m in state.values["messages"] if m.type == "tool"]
    assert tools[1:] == ["found b", "deleted /y"]
    assert "not that one" in tools[0]


async def test_parallel_calls_are_approved_one_by_one(
    durable: Backend, call: Callable[..., Any]
) -> None:
    """Of calls that wait side by side each is answered alone, and none runs twice."""
    await perform(reviewer, one_at_a_time, durable, call)


async def test_an_agent_goes_on_after_an_error(durable: Backend, call: Callable[..., Any]) -> None:
    """A tool that failed is recorded; the next saver runs only what is left to do."""
    ran: list[str] = []

    @tool
    def fragile(part: str) -> str:
        """Breaks every first time."""
        ran.append(part)
        if ran.count(part) == 1:
            raise RuntimeError(f"{part} broke")
        return f"{part} held"

    def rule(messages: list[BaseMessage]) -> AIMessage:
        if messages[-1].type == "human":
            return calls(messages, ("fragile", {"part": "vase"}))
        return AIMessage("mended")

    def workshop(saver: Any) -> Any:
        return create_agent(Scripted(rule=rule), [fragile], checkpointer=saver)

    async def mend(stage: Stage) -> None:
        ran.clear()
        state = await stage.turn({"messages": [HumanMessage("carry it", id="h1")]})
        assert state.next == ("tools",)
        assert "vase broke" in str(state.tasks[0].error)
        state = await stage.turn(None)
        assert [m.text for m in state.values["messages"][-2:]] == ["vase held", "mended"]
        assert ran == ["vase", "vase"]

    await perform(workshop, mend, durable, call)


# ------------------------------------------------------------------ deep agents


async def delegate(stage: Stage) -> None:
    state = await stage.turn({"messages": [HumanMessage("bees?", id="h1")]})
    assert len(state.interrupts) == 1
    state = await stage.turn(decide(APPROVE))
    assert state.values["messages"][-1].text == "report: the hive: deleted /hive"
    assert "/notes.md" in state.values["files"]
    await stage.turn({"messages": [HumanMessage("and wasps?", id="h2")]})
    state = await stage.turn(decide(REJECT), durability="exit")
    assert len(state.values["messages"]) == 12
    await stage.update({"messages": [HumanMessage("stop", id="h3")]}, as_node="model")
    await stage.look()


async def test_a_deep_agent_with_a_subagent(durable: Backend, call: Callable[..., Any]) -> None:
    """Messages and files kept as deltas, and a question asked inside a subagent, are as in
    memory."""
    await perform(firm, delegate, durable, call)


async def test_a_long_deep_agent_thread(durable: Backend, call: Callable[..., Any]) -> None:
    """Past a snapshot of its deltas a thread still has every message, at every step."""

    def brief(saver: Any) -> Any:
        rule: Rule = lambda m: AIMessage(f"answer {len(m)}")  # noqa: E731
        return create_deep_agent(Scripted(rule=rule), checkpointer=saver)

    async def chatter(stage: Stage) -> None:
        graph = stage.make(stage.open_saver())
        for n in range(26):
            await stage.call(
                graph, "invoke", {"messages": [HumanMessage(str(n), id=f"h{n}")]}, CONFIG
            )
        state = await stage.look()
        assert len(state.values["messages"]) == 52

    await perform(brief, chatter, durable, call)


# ------------------------------------------------------------------ the functional API


async def keep_books(stage: Stage) -> None:
    for n, asked in enumerate(([1, 2, 3], [4], [5, 6])):
        state = await stage.turn(asked)
        (question,) = state.interrupts
        assert question.value["sum"] == 2 * sum(asked)
        assert (question.value["had"] or {"runs": 0})["runs"] == n
        state = await stage.turn(Command(resume=f"answer {n}"))
        assert state.next == ()
    assert state.values == [{"n": n, "answer": "answer 2"} for n in (10, 12)]


async def test_the_functional_api(durable: Backend, call: Callable[..., Any]) -> None:
    """An entrypoint with tasks is interrupted, resumed without running its tasks again, and
    remembers what it saved."""
    await perform(ledger, keep_books, durable, call)
