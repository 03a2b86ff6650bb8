"""An agent that is killed while one of two parallel tool calls runs. Run as a script, by tests."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.middleware import WyrdMiddleware


class Death:
    """Kills the process once all its threads are in the middle of their calls."""

    def __init__(self, saver: WyrdSaver, folder: Path, threads: list[str]) -> None:
        self.saver = saver
        self.folder = folder
        self.threads = threads

    def awaited(self) -> None:
        for _ in range(10_000):
            if all(self._half_done(each) for each in self.threads):
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.02)

    def _half_done(self, thread: str) -> bool:
        found = self.saver.get_tuple({"configurable": {"thread_id": thread}})
        writes = found.pending_writes or [] if found is not None else []
        journal = self.folder / thread
        begun = journal.exists() and "slow" in journal.read_text()
        return begun and any("quick is done" in str(value) for _, _, value in writes)


def tools_of(saver: WyrdSaver, journal: Path, death: Death | None = None) -> list[BaseTool]:
    """`quick` returns; `slow` waits for death, if there is to be one."""

    def tell(name: str) -> None:
        with journal.open("a") as file:
            file.write(f"{name}\n")

    @tool
    def quick() -> str:
        """Be quick."""
        tell("quick")
        return "quick is done"

    @tool
    def slow() -> str:
        """Be slow."""
        tell("slow")
        if death is not None:
            death.awaited()
        return "slow is done"

    return [quick, slow]


def make(
    model: Any,
    saver: WyrdSaver,
    journal: Path,
    *,
    death: Death | None = None,
    order: Callable[[Any], list[Any]] = lambda ours: [ours],
    **options: Any,
) -> Any:
    return create_agent(
        model,
        tools_of(saver, journal, death),
        system_prompt="Be brief.",
        middleware=order(WyrdMiddleware(**options)),
        checkpointer=saver,
    )


def main(url: str, folder: str, *threads: str) -> None:
    """Every other thread is run sync; those called `deep-…` are deep agents, those
    called `plain-…` have a ToolNode and no middleware."""
    from tests.providers import Strict

    calls: Any = [
        {"id": "q", "name": "quick", "args": {}, "type": "tool_call"},
        {"id": "s", "name": "slow", "args": {}, "type": "tool_call"},
    ]
    model = Strict(rule=lambda messages: AIMessage("both", tool_calls=calls))
    saver = WyrdSaver.from_conn_string(url)
    death = Death(saver, Path(folder), [*threads])

    def run(n: int, thread: str) -> None:
        journal = Path(folder) / thread
        try:
            play(n, thread, journal)
        except BaseException:  # the others would wait for this one
            traceback.print_exc()
            os._exit(1)

    def play(n: int, thread: str, journal: Path) -> None:
        if thread.startswith("deep-"):
            from deepagents import create_deep_agent

            agent: Any = create_deep_agent(
                model,
                tools=tools_of(saver, journal, death),
                middleware=[WyrdMiddleware()],
                checkpointer=saver,
            )
        elif thread.startswith("plain-"):
            from tests.test_middleware_with_others import plain_graph

            agent = plain_graph(model, saver, tools_of(saver, journal, death), repair=False)
        else:
            agent = make(model, saver, journal, death=death)
        value, config = {"messages": [("user", "go")]}, {"configurable": {"thread_id": thread}}
        if n % 2:
            agent.invoke(value, config)
        else:
            asyncio.run(agent.ainvoke(value, config))

    running = [threading.Thread(target=run, args=each) for each in enumerate(threads)]
    for each in running:
        each.start()
    for each in running:
        each.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
