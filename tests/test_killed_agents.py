"""Agents whose process is killed in the middle of parallel tool calls, and go on in another."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from conftest import Backend
from deepagents import create_deep_agent
from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware
from killed_agent import make, tools_of
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import ToolMessage
from outside import ROOT, environment
from providers import PROVIDERS, Strict, refused_by
from test_middleware import Turn, config, person, says, system_of, turn

from langgraph_wyrd.middleware import WyrdMiddleware

__all__ = ["turn"]  # a fixture


def killed(url: str, folder: Path, *threads: str) -> Callable[[str], list[str]]:
    """Run an agent in each of these threads, in a process that is killed when all of them are in
    the middle of two parallel calls. What has run in a thread, in order of names."""
    command = [sys.executable, str(ROOT / "tests" / "killed_agent.py"), url, str(folder), *threads]
    ended = subprocess.run(command, env=environment(), capture_output=True, timeout=60, check=False)
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


# ---- beside others

ORDERS = {
    "first": lambda ours, others: [ours, *others],
    "last": lambda ours, others: [*others, ours],
    "between": lambda ours, others: [others[0], ours, *others[1:]],
}


async def test_beside_other_middleware(durable: Backend, turn: Turn, tmp_path: Path) -> None:
    """deepagents' PatchToolCallsMiddleware and langchain's summarising, before or behind: the
    finished result of a killed step is used, the thread goes on and can be summarised."""
    ways = [(order, provider) for order in ORDERS for provider in PROVIDERS]
    killed(durable.url, tmp_path, *(f"{order}-{provider}" for order, provider in ways))
    for order, provider in ways:
        thread = f"{order}-{provider}"
        cut = SummarizationMiddleware(
            Strict(rule=says("a summary"), provider=provider),
            trigger=("messages", 8),
            keep=("messages", 4),
        )
        agent = make(
            Strict(rule=says(), provider=provider),
            durable.open(),
            tmp_path / thread,
            order=lambda ours: ORDERS[order](ours, [PatchToolCallsMiddleware(), cut]),  # noqa: B023
        )
        found = await turn(agent, person(), config(thread))
        results = {m.tool_call_id: m for m in found["messages"] if isinstance(m, ToolMessage)}
        assert results["q"].text == "quick is done", thread
        assert "no result was recorded" in results["s"].text
        for n in range(4):
            found = await turn(agent, person(f"{n}"), config(thread))
        assert "a summary" in found["messages"][0].text
        assert not refused_by(found["messages"])


async def test_in_a_deep_agent(durable: Backend, turn: Turn, tmp_path: Path) -> None:
    """create_deep_agent keeps its messages as deltas and patches calls itself: a killed step goes
    on with its finished result, in both ways, and the brief comes."""
    ran = killed(durable.url, tmp_path, "deep-itself", "deep-input")
    for thread, value in (("deep-itself", None), ("deep-input", person())):
        model = Strict(rule=says(), provider="anthropic")
        saver = durable.open()
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
