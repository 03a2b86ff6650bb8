"""Agents whose process is killed in the middle of parallel tool calls, and go on in another."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from langgraph_wyrd.middleware import WyrdMiddleware
from tests.conftest import Backend
from tests.deep import PatchToolCallsMiddleware, create_deep_agent
from tests.held_runs import came_to
from tests.killed_agent import make, tools_of
from tests.outside import ROOT, SERVING, environment, python
from tests.providers import PROVIDERS, Strict, refused_by
from tests.scripted_agents import ORDERS, TURNS, Turn, asks, config, person, plan, says, system_of


def killed(url: str, folder: Path, *threads: str) -> Callable[[str], list[str]]:
    """Run an agent in each of these threads, in a process that is killed when all of them are in
    the middle of two parallel calls. What has run in a thread, in order of names."""
    program = str(ROOT / "tests" / "killed_agent.py")
    command = python(program, url, str(folder), *threads, imported=SERVING)
    ended = subprocess.run(
        command, env=environment(), capture_output=True, timeout=250, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()

    def ran(thread: str) -> list[str]:
        return sorted((folder / thread).read_text().split())

    for thread in threads:
        assert ran(thread) == ["quick", "slow"]
    return ran


async def test_a_kill_in_the_middle_of_parallel_calls(
    durable: Backend, turn: Turn, tmp_path: Path
) -> None:
    """The finished call's result is used, the unfinished one is reported, nothing runs twice:
    whether the run goes on by itself or with new input, for both providers."""
    ways = [(how, provider) for how in ("itself", "input") for provider in PROVIDERS]
    ran = killed(durable.url, tmp_path, *(f"{how}-{provider}" for how, provider in ways))
    for how, provider in ways:
        thread = f"{how}-{provider}"
        model = Strict(rule=says(), provider=provider)
        agent = make(model, durable.open(), tmp_path / thread)
        found = await turn(agent, None if how == "itself" else person(), config(thread))
        assert ran(thread) == ["quick", "slow"]
        results = {m.tool_call_id: m for m in found["messages"] if isinstance(m, ToolMessage)}
        assert results["q"].text == "quick is done"
        assert results["q"].status == "success"
        assert results["s"].status == "error"
        assert "it was started at 20" in results["s"].text
        assert "verify before redoing" in results["s"].text
        (heard,) = model.heard
        assert [m.type for m in heard[1:5]] == ["human", "ai", "tool", "tool"]
        lost = "tool call without a recorded result, verify before redoing:"
        assert f"{lost} slow()" in system_of(heard)
        assert f"{lost} quick()" not in system_of(heard)


async def test_once_can_be_left_to_langgraph(sqlite: Backend, tmp_path: Path) -> None:
    """`once=` a list of tools: others run again, as LangGraph has it."""
    ran = killed(sqlite.url, tmp_path, "t")
    agent = make(Strict(rule=says()), sqlite.open(), tmp_path / "t", once=["another"])
    found = await agent.ainvoke(None, config("t"))
    assert ran("t") == ["quick", "slow", "slow"]
    assert [m.status for m in found["messages"] if m.type == "tool"] == ["success", "success"]


async def test_with_other_middleware(sqlite: Backend, tmp_path: Path) -> None:
    """deepagents' PatchToolCallsMiddleware and langchain's summarising, before or behind: the
    finished result of a killed step is used, the thread goes on and can be summarised."""
    ways = [(order, provider) for order in ORDERS for provider in PROVIDERS]
    killed(sqlite.url, tmp_path, *(f"{order}-{provider}" for order, provider in ways))
    for n, (order, provider) in enumerate(ways):
        thread = f"{order}-{provider}"
        turn = TURNS[n % 2]
        cut = SummarizationMiddleware(
            Strict(rule=says("a summary"), provider=provider),
            trigger=("messages", 8),
            keep=("messages", 4),
        )
        agent = make(
            Strict(rule=says(), provider=provider),
            sqlite.open(),
            tmp_path / thread,
            order=lambda ours: ORDERS[order](ours, [PatchToolCallsMiddleware(), cut]),  # noqa: B023
        )
        found = await turn(agent, person(), config(thread))
        results = {m.tool_call_id: m for m in found["messages"] if isinstance(m, ToolMessage)}
        assert results["q"].text == "quick is done", thread
        assert "no result was recorded" in results["s"].text
        for text in "abcd":
            found = await turn(agent, person(text), config(thread))
        assert "a summary" in found["messages"][0].text
        assert not refused_by(found["messages"])


async def test_in_a_deep_agent(sqlite: Backend, tmp_path: Path) -> None:
    """create_deep_agent keeps its messages as deltas and patches calls itself: a killed step goes
    on with its finished result, in both ways, and the brief comes."""
    ways = [(how, n) for how in ("itself", "input") for n in range(2)]
    ran = killed(sqlite.url, tmp_path, *(f"deep-{how}-{n}" for how, n in ways))
    for how, n in ways:
        thread, value, turn = f"deep-{how}-{n}", None if how == "itself" else person(), TURNS[n]
        model = Strict(rule=says(), provider="anthropic")
        saver = sqlite.open()
        agent = create_deep_agent(
            model,
            tools=tools_of(saver, tmp_path / thread),
            middleware=[WyrdMiddleware()],
            checkpointer=saver,
        )
        found = await turn(agent, value, config(thread))
        assert ran(thread) == ["quick", "slow"]
        results = {m.tool_call_id: m for m in found["messages"] if isinstance(m, ToolMessage)}
        assert results["q"].text == "quick is done"
        assert "no result was recorded" in results["s"].text
        assert "verify before redoing: slow()" in system_of(model.heard[0])
        again = await turn(agent, person(), config(thread))
        assert [m.id for m in again["messages"]][: len(found["messages"])] == [
            m.id for m in found["messages"]
        ]


@pytest.mark.parametrize("inside", [True, False], ids=["inside too", "outside only"])
async def test_a_subagent_goes_on_by_itself(durable: Backend, inside: bool) -> None:
    """deepagents' `task` is no call in doubt: the subagent goes on from its own checkpoints. Its
    own calls are reported where it has the middleware, and run again where it has not."""
    begun: list[str] = []

    @tool
    async def quick() -> str:
        """Be quick."""
        begun.append("quick")
        return "quick is done"

    @tool
    async def slow() -> str:
        """Be slow, once."""
        begun.append("slow")
        if begun.count("slow") == 1:
            await asyncio.sleep(600)
        return "slow is done"

    helper = Strict(rule=plan(asks(("q", "quick", {})), asks(("s", "slow", {})), AIMessage("ok")))
    task = asks(("t", "task", {"description": "do it", "subagent_type": "helper"}))
    agent = create_deep_agent(
        Strict(rule=plan(task)),
        middleware=[WyrdMiddleware()],
        checkpointer=durable.open(),
        subagents=[
            {
                "name": "helper",
                "description": "helps",
                "system_prompt": "help",
                "tools": [quick, slow],
                "model": helper,
                "middleware": [WyrdMiddleware()] if inside else [],
            }
        ],
    )
    run = asyncio.create_task(agent.ainvoke(person(), config("t")))

    def so_far() -> bool:  # what came before is stored in the background
        rows = durable.opened[0].list({"configurable": {"thread_id": "t"}})
        said = [str(row.checkpoint["channel_values"]) for row in rows]
        return "slow" in begun and any("quick is done" in each for each in said)

    await came_to(run, so_far)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    found = await agent.ainvoke(None, config("t"))
    assert found["messages"][2].text == "ok"
    assert begun == (["quick", "slow"] if inside else ["quick", "slow", "slow"])
    last = helper.heard[-1][-1].text
    assert ("no result was recorded" in last) if inside else (last == "slow is done")
