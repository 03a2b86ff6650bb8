"""An agent that is killed in the middle of a tool call, and goes on in another process.

`python -m langgraph_wyrd demo` runs it on an SQLite file; nothing else is needed. The model is
scripted, all else is real: the graph, the tools, the kill.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.state.diff import diff

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


Paint = Callable[[str, str], str]

_THREAD: RunnableConfig = {"configurable": {"thread_id": "invoice"}}
_KILLED = 9
_TASK = "Send Ada the invoice for March"
_STEPS = ("add up the hours", "mail the invoice to Ada")
_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("add_up_hours", {"month": "March"}),
    ("mail_invoice", {"to": "ada@example.org", "euros": 1840}),
]


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    todos: list[dict[str, str]]


def run(
    path: str | None = None, paint: Paint = lambda text, colour: text, quiet: bool = False
) -> dict[str, Any]:
    """Run the demo on a file that does not exist yet, or on a temporary one.

    Returns:
        The working state when the first process was killed, its brief, and what changed since.
    """

    def say(text: str, colour: str = "") -> None:
        if not quiet:
            print(paint(text, colour), flush=True)

    with tempfile.TemporaryDirectory() as folder:
        file = path or str(Path(folder) / "demo.db")
        for each in (file, f"{file}.outbox"):
            if os.path.exists(each):
                raise InvalidInput(f"{each} exists already: the demo wants a file of its own")
        if not os.access(os.path.dirname(os.path.abspath(file)), os.W_OK):
            raise InvalidInput(f"{file} can't be written: there is no such folder, or it is closed")
        say(f"An agent is asked: {_TASK}.", "bold")
        command = [sys.executable, "-m", "langgraph_wyrd.cli.demo", file]
        ended = subprocess.run(command, check=False, stdout=subprocess.DEVNULL if quiet else None)
        if ended.returncode not in (-_KILLED, _KILLED):
            raise InvalidInput(f"the demo's first process ended with {ended.returncode}")
        say("\nAnother process opens the same file. What was going on?", "bold")
        with WyrdSaver.from_conn_string(file) as saver:
            thread = saver.thread("invoice")
            before = thread.working_state()
            say(_indented(before.brief()), "amber")
            say("\nIt goes on from there:", "bold")
            done = _graph(saver, file, die=False, say=say).invoke(None, _THREAD)
            say(f"    agent: {done['messages'][-1].content}")
            say("\nWhat has changed:", "bold")
            changed = diff(before, thread.working_state())
            say(_indented("\n".join(changed.lines())), "green")
        if path is not None:
            say(f"\nLook around: langgraph-wyrd --url {path} show")
        return {"state": before.to_dict(), "brief": before.brief(), "changes": changed.to_dict()}


def first(file: str) -> None:
    """The process that is killed."""
    with WyrdSaver.from_conn_string(file) as saver:
        # "sync": a step begins once the one before it is stored.
        graph = _graph(saver, file, die=True, say=partial(print, flush=True))
        graph.invoke({"messages": [HumanMessage(_TASK, id="m1")]}, _THREAD, durability="sync")


def _graph(saver: WyrdSaver, file: str, *, die: bool, say: Callable[[str], None]) -> Any:
    outbox = Path(f"{file}.outbox")

    def add_up_hours(month: str) -> str:
        """Hours and money of a month."""
        say(f"    add_up_hours({month!r}): 23 hours, 1840 euros")
        return "23 hours, 1840 euros"

    def mail_invoice(to: str, euros: int) -> str:
        """Mail an invoice. It looks first whether that was done, as every such tool should."""
        if outbox.exists():
            say(f"    mail_invoice({to!r}, {euros}): it is in the outbox, not mailed again")
            return "mailed"
        outbox.write_text(f"{to}: {euros} euros")
        if die:
            say(f"    mail_invoice({to!r}, {euros}): mailed, and the process is killed")
            os.kill(os.getpid(), _KILLED)
        return "mailed"

    builder = StateGraph(State)
    builder.add_node("agent", _agent)
    builder.add_node("tools", ToolNode([add_up_hours, mail_invoice]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=saver)


def _agent(state: State) -> State:
    """What a model would say: it depends on how often it was asked."""
    turn = sum(isinstance(message, AIMessage) for message in state["messages"])
    if turn < len(_CALLS):
        name, args = _CALLS[turn]
        call = {"name": name, "args": args, "id": f"call_{turn + 1}", "type": "tool_call"}
        said = AIMessage("", tool_calls=[call])
    else:
        said = AIMessage("The invoice for March is with Ada: 1840 euros.")
    status = ["completed"] * turn + ["in_progress"] + ["pending"] * len(_STEPS)
    todos = [{"content": each, "status": status[n]} for n, each in enumerate(_STEPS)]
    return {"messages": [said], "todos": todos}


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


if __name__ == "__main__":
    first(sys.argv[1])
