"""An agent that pays once, whose process is killed around that. Run by `campaigns.tools`."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.middleware import WyrdMiddleware
from tests.providers import Strict

LONGEST = 0.03  # seconds until the kill
CALL = {"id": "c", "name": "pay", "args": {}, "type": "tool_call"}


def die_in(seconds: float) -> None:
    def die() -> None:
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=die, daemon=True).start()


def agent_of(saver: WyrdSaver, journal: Path, kill: tuple[str, float, float] | None) -> Any:
    """An agent that asks to pay once; `kill`: where the clock starts, how long it and the tool
    take."""

    @tool
    def pay() -> str:
        """Pay the bill."""
        if kill is not None and kill[0] == "tool":
            die_in(kill[1])
        with journal.open("a") as file:
            file.write("paid\n")
        if kill is not None:
            time.sleep(kill[2])
        return "paid"

    def answer(messages: list[Any]) -> AIMessage:
        if any(isinstance(each, ToolMessage) for each in messages):
            return AIMessage("done")
        if kill is not None and kill[0] == "model":
            die_in(kill[1])
        return AIMessage("", tool_calls=[CALL])

    return create_agent(
        Strict(rule=answer), [pay], middleware=[WyrdMiddleware()], checkpointer=saver
    )


def killed(url: str, journal: Path, thread: str, kill: tuple[str, float, float], way: str) -> None:
    """What the child does until it is killed."""
    saver = WyrdSaver.from_conn_string(url)
    agent = agent_of(saver, journal, kill)
    given, config = {"messages": [HumanMessage("pay")]}, {"configurable": {"thread_id": thread}}
    if way == "sync":
        agent.invoke(given, config)
    else:
        asyncio.run(agent.ainvoke(given, config))
    time.sleep(2 * LONGEST)


def gone_on(url: str, journal: Path, thread: str, told: Any) -> None:
    """What another process finds, and what comes of going on."""
    config: Any = {"configurable": {"thread_id": thread}}
    with WyrdSaver.from_conn_string(url) as saver:
        paid = journal.exists()
        found = saver.get_tuple(config)
        traced = found is not None and _traced(saver, found, thread)
        agent = agent_of(saver, journal, None)
        if found is None:
            end = agent.invoke({"messages": [HumanMessage("pay")]}, config)
        else:
            end = agent.invoke(None, config)
        results = [each.text for each in end["messages"] if isinstance(each, ToolMessage)]
        times = len(journal.read_text().split()) if journal.exists() else 0
        told.put((paid, traced, times, results))


def _traced(saver: WyrdSaver, found: Any, thread: str) -> bool:
    """Whether the thread reports the call: by its result, or as open."""
    values = [*found.checkpoint["channel_values"].get("messages", ())]
    values += [each for _, _, held in found.pending_writes for each in _messages(held)]
    if any(isinstance(each, ToolMessage) for each in values):
        return True
    loops = saver.open_loops(thread_id=thread, kind="tool_call")
    return any(loop.ref == CALL["id"] for loop in loops)


def _messages(held: Any) -> list[Any]:
    held = held.get("messages", held) if isinstance(held, dict) else held
    return held if isinstance(held, list) else [held]
