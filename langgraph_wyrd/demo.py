"""A graph that is killed in the middle of its work, and goes on in another process.

`python -m langgraph_wyrd demo` runs it on an SQLite file; nothing else is needed.
"""

from __future__ import annotations

import operator
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph_wyrd.saver import WyrdSaver

_THREAD: Any = {"configurable": {"thread_id": "report"}}
_KILLED = 9


class State(TypedDict):
    done: Annotated[list[str], operator.add]


def _graph(saver: WyrdSaver, die_in: str | None) -> Any:
    from langgraph.graph import START, StateGraph

    def work(name: str) -> Any:
        def node(state: State) -> dict[str, list[str]]:
            print(f"    {name} …", end="", flush=True)
            if name == die_in:
                print(" killed", flush=True)
                os.kill(os.getpid(), _KILLED)
            print(" done", flush=True)
            return {"done": [name]}

        return node

    builder = StateGraph(State)
    before = START
    for name in ("collect", "analyse", "write"):
        builder.add_node(name, work(name))
        builder.add_edge(before, name)
        before = name
    return builder.compile(checkpointer=saver)


def _first(path: str) -> None:
    """The process that is killed."""
    with WyrdSaver.from_conn_string(path) as saver:
        # "sync": a step begins once the one before it is stored, so nothing is done twice.
        _graph(saver, die_in="analyse").invoke({"done": []}, _THREAD, durability="sync")


def run(path: str | None = None) -> None:
    """Run the demo on a file that does not exist yet, or on a temporary one."""
    with tempfile.TemporaryDirectory() as folder:
        file = path or str(Path(folder) / "demo.db")
        if os.path.exists(file):
            raise SystemExit(f"{file} exists already: the demo wants a file of its own")
        print("a process works through collect, analyse, write, and is killed in the second:")
        command = [sys.executable, "-m", "langgraph_wyrd.demo", file]
        ended = subprocess.run(command, check=False)
        assert ended.returncode == -_KILLED, ended
        print("another one opens the same file:")
        with WyrdSaver.from_conn_string(file) as saver:
            graph = _graph(saver, die_in=None)
            state = graph.get_state(_THREAD)
            print(f"    finished: {state.values['done']}, next: {list(state.next)}")
            print("and goes on, without doing again what was done:")
            graph.invoke(None, _THREAD)
            print(f"    finished: {graph.get_state(_THREAD).values['done']}")


if __name__ == "__main__":
    _first(sys.argv[1])
