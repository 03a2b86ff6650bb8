"""Runs that go on in one thread at once: nothing that is derived is wrong, whatever the order."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Interrupt, interrupt

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.extraction.due import NULL_TASK, RESUME
from langgraph_wyrd.storage import worker
from tests import handmade
from tests.conftest import Backend
from tests.handmade import config, new_id, put
from tests.outside import write_lock
from tests.programs import each_on_one, seeds, states_of
from tests.tables import derived

AT: Any = {"configurable": {"thread_id": "t"}}


class Late(BaseCheckpointSaver[str]):
    """What one run stores is stored later, when it is told to: as by a worker that is slow."""

    def __init__(self, saver: WyrdSaver) -> None:
        super().__init__()
        self.saver = saver
        self.waiting: list[Callable[[], Any]] = []

    def get_next_version(self, current: Any, channel: None = None) -> Any:
        return self.saver.get_next_version(current, channel)

    def get_tuple(self, config: Any) -> Any:
        return self.saver.get_tuple(config)

    def list(self, *args: Any, **more: Any) -> Any:
        return self.saver.list(*args, **more)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.waiting.append(lambda: self.saver.put(config, checkpoint, metadata, new_versions))
        where = config["configurable"]
        return {"configurable": {**where, "checkpoint_id": checkpoint["id"]}}

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.waiting.append(lambda: self.saver.put_writes(config, writes, task_id, task_path))

    def catch_up(self, most: int | None = None) -> None:
        for _ in range(len(self.waiting) if most is None else min(most, len(self.waiting))):
            self.waiting.pop(0)()


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    todos: list[dict[str, str]]
    files: dict[str, str]
    note: str


def model(state: State) -> State:
    turn = len(state["messages"])
    call = {"name": "look", "args": {"at": turn}, "id": f"call-{turn}"}
    said = AIMessage(f"Looking, {turn} so far. " + "Well. " * 20, tool_calls=[call])
    return {"messages": [said], "note": f"at {turn}"}


def tools(state: State) -> State:
    (call,) = state["messages"][-1].tool_calls
    return {"messages": [ToolMessage("seen", tool_call_id=call["id"])]}


def plan(state: State) -> State:
    turn = len(state["messages"])
    some = [{"content": f"step {n}", "status": "pending"} for n in range(turn, turn + 3)]
    return {"todos": some, "files": {**state.get("files", {}), f"/{turn}": "line. " * 30}}


def ask(state: State) -> State:
    if "approve" in next(m for m in state["messages"][::-1] if m.type == "human").content:
        interrupt("May I?")
    return {"messages": [AIMessage("Done, and all of it. " * 8)]}


def graph_of(saver: Any) -> Any:
    builder = StateGraph(State)
    for node in (model, tools, plan, ask):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    builder.add_edge("model", "plan")
    builder.add_edge(["tools", "plan"], "ask")
    return builder.compile(checkpointer=saver)


def said(saver: WyrdSaver, url: str) -> Any:
    """All that is read out of a thread: the tables, the listing, the state at each checkpoint."""
    return derived(saver, url), states_of(saver, "t")


def check(saver: WyrdSaver, url: str, where: str) -> None:
    """Nothing is found, nothing is repaired, and what is read anew is what was said."""
    report = saver.verify(pages=False)
    assert not report.findings, f"{where}: {report}"
    before = said(saver, url)
    repaired = saver.verify(repair=True, pages=False)
    assert not repaired.findings, f"{where}: {repaired}"
    assert said(saver, url) == before, where
    saver.reextract("t")
    assert said(saver, url) == before, where


def listening(savers: list[WyrdSaver]) -> set[str]:
    """The checkpoints of which a hook hears that they fork, from now on."""
    told: set[str] = set()
    for saver in savers:
        saver.on("fork", lambda happening: told.add(happening.checkpoint_id))
    return told


def each_fork_is_told(saver: WyrdSaver, told: set[str]) -> int:
    """All but one of those that go on from a checkpoint tell that they fork; how many do."""
    parents: dict[str, str | None] = {}
    for row in saver.list(config("t")):
        parent = row.parent_config
        parents[row.checkpoint["id"]] = parent and parent["configurable"]["checkpoint_id"]
    siblings = Counter(parents.values())
    telling = Counter(parents[id] for id in told)
    for parent, count in siblings.items():
        assert telling[parent] == count - 1, parent
    return sum(telling.values())


def at_once(chance: random.Random, savers: list[WyrdSaver], turns: int) -> None:
    """Runs side by side; each stores late, as it comes, and goes on from what it finds then."""
    for turn in range(turns):
        runs = []
        for saver in chance.sample(savers, 2):
            late = Late(saver)
            graph = graph_of(late)
            text = f"{'Please approve' if chance.random() < 0.2 else 'Tell me about'} number {turn}"
            given: Any = {"messages": [HumanMessage(text + " of all that there are")]}
            if graph.get_state(AT).interrupts and chance.random() < 0.7:
                given = Command(resume="yes")
            where = AT
            if turn > 3 and chance.random() < 0.2:  # time travel, also of a long thread
                where = chance.choice(list(saver.list(AT, limit=30))).config
            durability = chance.choice(["sync", "async"])
            runs.append((late, graph.stream(given, where, durability=durability)))
        while runs:
            late, steps = run = chance.choice(runs)
            if next(steps, None) is None:
                late.catch_up()
                runs.remove(run)
            elif chance.random() < 0.5:
                late.catch_up(chance.randrange(8))


@pytest.mark.parametrize(("durable", "seed"), each_on_one(seeds(0, 2)), indirect=["durable"])
def test_runs_at_once(durable: Backend, seed: int) -> None:
    """Two runs at a time, of two or three processes: no damage is found, and none is made."""
    chance = random.Random(seed)
    savers = [durable.open() for _ in range(2 + seed % 2)]
    reader, told = durable.open(), listening(savers)
    for part in range(2):
        at_once(chance, savers, 5)
        check(reader, durable.url, f"seed {seed} part {part}")
        assert each_fork_is_told(reader, told)


@pytest.mark.parametrize(("durable", "seed"), each_on_one(seeds(100, 3)), indirect=["durable"])
def test_siblings_in_any_order(durable: Backend, seed: int) -> None:
    """Lines that part anywhere, each stored in its order: reported by each that came later."""
    chance = random.Random(seed)
    savers = [durable.open(), durable.open()]
    told = listening(savers)
    ids = sorted(new_id() for _ in range(40))
    parents: dict[str, str | None] = {}
    for at, id in enumerate(ids):
        parents[id] = None if at == 0 else ids[max(0, at - chance.randint(1, 4))]
    values = {id: {"x": id, "log": [f"line {n}. " * 5 for n in range(at)]}
              for at, id in enumerate(ids)}  # fmt: skip
    stored: list[str] = []
    while len(stored) < len(ids):
        ready = [id for id in ids if id not in stored and parents[id] in (None, *stored)]
        id = chance.choice(ready[:6])
        parent = None if parents[id] is None else config("t", checkpoint_id=parents[id])
        put(chance.choice(savers), "t", values[id], parent=parent, id=id)
        stored.append(id)
    reader = durable.open()
    check(reader, durable.url, f"seed {seed}")
    assert each_fork_is_told(reader, told) > 5


async def test_an_answer_is_for_what_was_asked_before_it(durable: Backend) -> None:
    """Somebody else changes the thread meanwhile, so the answer is planned twice: the task asks
    again before it is stored, and still waits for an answer to that."""
    saver, other = durable.open(), durable.open()
    for number in range(12):
        name, task = f"t{number}", new_id()
        at = await asyncio.to_thread(put, saver, name, {"x": 1})
        await saver.aput_writes(at, [("__interrupt__", [Interrupt("first?", id="1")])], task, "ask")
        await other.thread(name).adecide("somebody looks")
        answer = asyncio.ensure_future(saver.aput_writes(at, [(RESUME, "yes")], NULL_TASK))
        await asyncio.sleep(0)  # it is on its way
        await saver.aput_writes(at, [("__interrupt__", [Interrupt("second?", id="2")])], task)
        await answer
        state = await durable.open().thread(name).aworking_state()
        asked = {each.description: each for each in state.loops if each.kind == "interrupt"}
        assert asked["first?"].outcome == "answered", number
        assert not asked["second?"].resolved, number
        assert state.status == "interrupted", number


# Two savers (as two processes have them) that write one run in turns, call by call.


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


class Log(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(extend, snapshot_frequency=50)]


def node(name: str, asks: bool = False) -> Any:
    def run(state: Log) -> Log:
        turn = len(state["messages"])
        if asks:
            interrupt(f"{name}?")
        call = {"name": name, "args": {}, "id": f"call-{name}-{turn}"}
        return {"messages": [AIMessage(name, id=f"{name}-{turn}", tool_calls=[call])]}

    return run


def fan(saver: Any, **asks: bool) -> Any:
    """Three nodes at once, then one."""
    builder = StateGraph(Log)
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
    switching = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)  # more orders in which they may store
    try:
        for name in ("t1", "t2", "t3", "t4"):
            at: Any = config(name)
            for turn in range(2):
                graph.invoke({"messages": [HumanMessage(f"go {turn}", id=f"h{turn}")]}, at)
                thread = next(iter(reader.threads()))
                assert thread.thread_id == name
                assert thread.status == "interrupted"
                assert [each.node for each in thread.due] == [asking]
                assert thread.due == reader.thread(name).working_state().due
                graph.invoke(Command(resume="yes"), at)
                assert {each.due for each in reader.threads()} == {()}
            assert reader.verify(pages=False).ok
    finally:
        sys.setswitchinterval(switching)


def test_a_task_that_wrote_nothing(durable: Backend) -> None:
    """Another saver stores what a task of the same checkpoint asks, though the cache can't know
    all of them: it is listed, and hooks hear of it."""
    first, second = durable.open(), durable.open()
    at = put(first, "t", {"topic": "one"})
    put(second, "t", {"topic": "two"}, parent=at)
    at = put(second, "t", {"topic": "three"}, parent=second.get_tuple(config("t")).config)
    first.put_writes(at, [], "task-1")
    told: list[Any] = []
    second.on("loop_opened", told.append)
    second.put_writes(at, [("__interrupt__", [Interrupt("which one?", id="1")])], "task-2")
    second.put_writes(at, [("topic", "four")], "task-3")
    reader = durable.open()
    assert [each.thread_id for each in reader.threads(status="interrupted")] == ["t"]
    assert says(reader) == [("interrupt", "1")]
    assert len(told) == 1
    assert [task for task, *_ in reader.get_tuple(at).pending_writes] == ["task-2", "task-3"]
    assert reader.verify(pages=False).ok


def test_an_error_of_another_saver_is_collected(sqlite: Backend) -> None:
    """Garbage of one saver is collected in a thread that writes, while that saver waits for its
    turn: neither waits for the other."""
    first, second = sqlite.open(), sqlite.open()
    gc.disable()
    try:
        for name in ("a", "b", "c"):
            assert second.get_tuple(config(name)) is None
            put(first, name, {"x": 1})
            put(second, name, {"x": 2})  # it finds that the first one was quicker
        with write_lock(sqlite.url):
            waiting = threading.Thread(target=put, args=(second, "other", {"x": 1}))
            waiting.start()
            time.sleep(0.3)  # by then it waits; if not, this shows nothing, and does not fail
            gc.collect()
        waiting.join()
    finally:
        gc.enable()
    assert second.get_tuple(config("other")) is not None


def test_a_subgraph_asks_before_its_root_is_stored(durable: Backend) -> None:
    """The question is listed, though the saver that stored it has seen neither checkpoint."""
    first, second = durable.open(), durable.open()
    child = "sub:0d1ff2ca-9ca5-0f3c-6d1f-1b0b0b0b0b0b"
    before = handmade.put(first, "t", {"topic": "one"})
    root, inner = handmade.new_id(), handmade.new_id()
    at = handmade.put(
        first, "t", {"topic": "one"}, ns=child, id=inner, metadata={"parents": {"": root}}
    )
    asked = Interrupt("which one?", id="8e0b6f0ad2fc6c7ff8cdb0ea0e0f6c8e")
    second.put_writes(at, [("__interrupt__", [asked])], "task-1")
    handmade.put(first, "t", {"topic": "one"}, parent=before, id=root)
    reader = durable.open()
    asks = says(reader)
    assert [kind for kind, _ in asks] == ["interrupt"]
    reader.reextract("t")
    assert says(reader) == asks
    assert reader.verify(pages=False).ok


@pytest.mark.parametrize("gone", [False, True])
def test_a_thread_that_another_saver_begins_after_the_look(durable: Backend, gone: bool) -> None:
    """A saver that found no thread stores its first checkpoint next to what was stored since, or
    after the thread was deleted again."""
    first, second = durable.open(), durable.open()
    assert first.get_tuple(config("t")) is None
    put(second, "t", {"topic": "two"})
    if gone:
        second.delete_thread("t")
    at = put(first, "t", {"topic": "one"})
    first.put_writes(at, [("topic", "three")], "task-1")
    for saver in (first, second, durable.open()):
        found = saver.get_tuple(config("t"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"topic": "one"}
        assert found.pending_writes == [("task-1", "topic", "three")]
        assert len([*saver.list(config("t"))]) == (1 if gone else 2)
    assert durable.open().verify(pages=False).ok


def test_a_new_thread_is_looked_for_once(durable: Backend, monkeypatch: Any) -> None:
    """The run's own load says that there is no thread: its first writes need not look again."""
    saver = durable.open()
    saver.setup()
    reads: list[str] = []
    script = worker.Worker._script
    monkeypatch.setattr(
        worker.Worker,
        "_script",
        lambda self, job, connection: (reads.append(job.kind), script(self, job, connection))[1],
    )
    builder = StateGraph(State)
    builder.add_node("one", lambda state: {"note": "one"})
    builder.add_edge(START, "one")
    builder.compile(checkpointer=saver).invoke({"note": "none"}, AT)
    assert reads == ["read"]
