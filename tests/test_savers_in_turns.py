"""Two savers (as two processes have them) that write one run in turns, call by call."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest
from conftest import Backend
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, interrupt

from langgraph_wyrd import WyrdSaver
from tests import rows

AT: Any = {"configurable": {"thread_id": "t"}}


class InTurns(BaseCheckpointSaver[str]):
    """Every call goes to the next saver."""

    def __init__(self, *savers: WyrdSaver) -> None:
        super().__init__()
        self.savers = [*savers]

    def _next(self) -> WyrdSaver:
        self.savers.append(self.savers.pop(0))
        return self.savers[-1]

    def get_next_version(self, current: Any, channel: None = None) -> Any:
        return self.savers[0].get_next_version(current, channel)

    def get_tuple(self, *args: Any) -> Any:
        return self._next().get_tuple(*args)

    def list(self, *args: Any, **more: Any) -> Any:
        return self._next().list(*args, **more)

    def put(self, *args: Any) -> Any:
        return self._next().put(*args)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._next().put_writes(config, writes, task_id, task_path)

    def get_delta_channel_history(self, *args: Any, **more: Any) -> Any:
        return self._next().get_delta_channel_history(*args, **more)


def extend(state: list[AnyMessage], writes: Any) -> list[AnyMessage]:
    return [*state, *(item for write in writes for item in write)]


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(extend, snapshot_frequency=50)]


def node(name: str, asks: bool = False) -> Any:
    def run(state: State) -> State:
        turn = len(state["messages"])
        if asks:
            interrupt(f"{name}?")
        call = {"name": name, "args": {}, "id": f"call-{name}-{turn}"}
        return {"messages": [AIMessage(name, id=f"{name}-{turn}", tool_calls=[call])]}

    return run


def fan(saver: Any, **asks: bool) -> Any:
    """Three nodes at once, then one."""
    builder = StateGraph(State)
    for name in ("a", "b", "c"):
        builder.add_node(name, node(name, asks.get(name, False)))
        builder.add_edge(START, name)
        builder.add_edge(name, "last")
    return builder.add_node("last", node("last")).compile(checkpointer=saver)


def says(saver: WyrdSaver) -> list[tuple[str, str | None]]:
    return [(loop.kind, loop.ref) for loop in saver.thread("t").working_state().loops]


@pytest.mark.parametrize("savers", [2, 3])
def test_what_tasks_of_another_saver_wrote(durable: Backend, savers: int) -> None:
    """The next checkpoint tells it too: no message of a delta channel is missed by the pillars."""
    graph = fan(InTurns(*(durable.open() for _ in range(savers))))
    for turn in range(3):
        graph.invoke({"messages": [HumanMessage(f"go {turn}", id=f"h{turn}")]}, AT)
    reader = durable.open()
    calls = reader.open_loops(kind="tool_call", limit=100)
    assert len(calls) == 3 * 4
    assert reader.verify(pages=False).ok
    before = says(reader)
    reader.reextract("t")
    assert says(reader) == before


@pytest.mark.parametrize("asking", ["a", "b", "c"])
def test_what_is_due_while_it_waits(durable: Backend, asking: str) -> None:
    """Only what waits, whoever stored the ends of the others; in lists and in the state."""
    graph = fan(InTurns(durable.open(), durable.open()), **{asking: True})
    reader = durable.open()
    for turn in range(2):
        graph.invoke({"messages": [HumanMessage(f"go {turn}", id=f"h{turn}")]}, AT)
        (thread,) = reader.threads()
        assert thread.status == "interrupted"
        assert [each.node for each in thread.due] == [asking]
        assert thread.due == reader.thread("t").working_state().due
        assert reader.verify(pages=False).ok
        graph.invoke(Command(resume="yes"), AT)
        assert [each.due for each in reader.threads()] == [()]
    assert reader.verify(pages=False).ok


def test_a_subgraph_asks_before_its_root_is_stored(durable: Backend) -> None:
    """The question is listed, though the saver that stored it has seen neither checkpoint."""
    first, second = durable.open(), durable.open()
    child = "sub:0d1ff2ca-9ca5-0f3c-6d1f-1b0b0b0b0b0b"
    before = rows.put(first, "t", {"topic": "one"})
    root, inner = rows.new_id(), rows.new_id()
    at = rows.put(
        first, "t", {"topic": "one"}, ns=child, id=inner, metadata={"parents": {"": root}}
    )
    asked = Interrupt("which one?", id="8e0b6f0ad2fc6c7ff8cdb0ea0e0f6c8e")
    second.put_writes(at, [("__interrupt__", [asked])], "task-1")
    rows.put(first, "t", {"topic": "one"}, parent=before, id=root)
    reader = durable.open()
    asks = says(reader)
    assert [kind for kind, _ in asks] == ["interrupt"]
    reader.reextract("t")
    assert says(reader) == asks
    assert reader.verify(pages=False).ok
