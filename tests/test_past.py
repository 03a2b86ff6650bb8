"""The past of a thread: history, tree and diffs, against what the graph itself and a plain
reading of every checkpoint say."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from langgraph_wyrd import WyrdSaver, apply, diff, merge
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.state.diff import diff_values, is_users
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.results import HistoryEntry, Tree
from tests import handmade
from tests.conftest import Backend
from tests.programs import share
from tests.scripted_agents import APPROVE, CONFIG, REJECT, ask, decide, firm, office
from tests.story import NULL_TASK, Teller, without_loop

SEEDS = [range(start, start + 4) for start in (0, 4, 8)]


# ---- random graphs: every entry, by a plain reading


class Played:
    """A random program played on a saver, and what a reading of all its checkpoints gives."""

    def __init__(self, saver: WyrdSaver, seed: int, turns: int = 6) -> None:
        teller = Teller(seed, [saver], False)

        async def play() -> None:
            for teller.turn in range(turns):
                await teller.record("act", teller.act())

        without_loop(play())
        self.saver, self.rng = saver, random.Random(f"past {seed}")
        self.thread = saver.thread(teller.thread)
        root = {"configurable": {"thread_id": teller.thread, "checkpoint_ns": ""}}
        self.rows = list(saver.list(root))
        self.by_id = {row.checkpoint["id"]: row for row in self.rows}
        inside = [
            row
            for row in saver.list({"configurable": {"thread_id": teller.thread}})
            if row.config["configurable"]["checkpoint_ns"]
        ]
        self.had_subgraphs = {row.metadata.get("parents", {}).get("") for row in inside}
        self.due = {
            each.config["configurable"]["checkpoint_id"]: {task.name for task in each.tasks}
            for each in teller.graph.get_state_history(teller.config)
        }

    def parent(self, row: Any) -> Any:
        if row.parent_config is None:
            return None
        return self.by_id[row.parent_config["configurable"]["checkpoint_id"]]

    def values(self, row: Any) -> dict[str, Any]:
        if row is None:
            return {}
        held = row.checkpoint["channel_values"].items()
        return {
            name: value.value if isinstance(value, _DeltaSnapshot) else value
            for name, value in held
            if is_users(name)
        }

    def state(self, row: Any) -> WorkingState:
        return WorkingState() if row is None else self.thread.working_state(row.checkpoint["id"])

    def line(self, row: Any) -> list[Any]:
        """The path to a checkpoint, oldest first."""
        found = []
        while row is not None:
            found.append(row)
            row = self.parent(row)
        return found[::-1]


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_the_past_of_random_programs(durable: Backend, seeds: range) -> None:
    """History and diffs say what a plain reading of every checkpoint says."""
    saver = durable.open()
    for seed in share(seeds, durable):
        played = Played(saver, seed)
        history_is_right(played)
        diffs_are_right(played)


def own(state: WorkingState) -> WorkingState:
    """A state without what was left behind on other branches."""
    return replace(state, loops=tuple(loop for loop in state.loops if not loop.left))


def history_is_right(played: Played) -> None:
    """Each entry says of its checkpoint what LangGraph says, what reading the values says, and
    what a diff of the working states says; pages are the history, cut."""
    entries = played.thread.history(1000)
    assert [e.checkpoint_id for e in entries] == [r.checkpoint["id"] for r in played.rows]
    assert [e for e in entries if e.head] == entries[:1]
    for entry, row in zip(entries, played.rows, strict=True):
        parent = played.parent(row)
        meta = row.metadata
        assert (entry.ts, entry.step, entry.source, entry.run_id) == (
            row.checkpoint["ts"], meta.get("step"), meta.get("source"), meta.get("run_id"),
        )  # fmt: skip
        assert entry.parent_id == (parent and parent.checkpoint["id"])
        assert entry.children == tuple(
            sorted(e.checkpoint_id for e in entries if e.parent_id == entry.checkpoint_id)
        )
        compare_channels(played, entry, parent, row)
        compare_nodes(played, entry, parent)
        rows_of = replace(diff(own(played.state(parent)), own(played.state(row))), fields={})
        alone = played.had_subgraphs.isdisjoint((entry.checkpoint_id, entry.parent_id))
        if alone and not rows_of.empty:
            assert entry.summary.startswith(rows_of.summary()), entry
    paged: list[HistoryEntry] = []
    while page := played.thread.history(7, paged[-1] if paged else None):
        paged += page
    assert paged == entries
    tree = played.thread.tree()
    light = [replace(each, nodes=(), changed=(), summary="") for each in entries]
    assert [*tree.entries.values()] == light
    assert tree.newest == tuple(row.checkpoint["id"] for row in played.line(played.rows[0]))
    assert set(tree.roots) == {e.checkpoint_id for e in entries if e.parent_id is None}


def compare_channels(played: Played, entry: HistoryEntry, parent: Any, row: Any) -> None:
    """All channels are reported whose values differ; of delta channels, if they were written to.
    Besides them only what was written anew, as it was before."""
    old, new = played.values(parent), played.values(row)
    found = diff_values(old, new)
    paths = (*found.added, *found.removed, *found.changed, *found.messages)
    differ = {path.partition("[")[0] for path in paths}
    a, b = ({} if r is None else r.checkpoint["channel_versions"] for r in (parent, row))
    if "trace" not in old or "trace" not in new:
        differ -= {"trace"}
        if a.get("trace") != b.get("trace"):
            differ.add("trace")
    assert set(entry.changed) >= differ, entry
    for name in set(entry.changed) - differ:
        assert name in old, entry
        assert name in new, entry
        assert a[name] != b[name], entry


def compare_nodes(played: Played, entry: HistoryEntry, parent: Any) -> None:
    """What ran is what LangGraph was about to run at the parent."""
    if entry.source != "loop" or parent is None:
        return
    if any(task.endswith(NULL_TASK[8:]) for task, _, _ in parent.pending_writes):
        return  # a Command went elsewhere from there, or a run was saved at its end only
    if entry.step == parent.metadata.get("step", -9) + 1:
        ran = played.due[parent.checkpoint["id"]]
        assert not ran or set(entry.nodes) == ran - {"__start__"}, entry


def diffs_are_right(played: Played) -> None:
    """Between any two checkpoints: applied to one side a diff gives the other, inverted it leads
    back; of one checkpoint it is empty; its channels are those of the values."""
    thread, rng = played.thread, played.rng
    for _ in range(6):
        one, other = rng.choice(played.rows), rng.choice(played.rows)
        a, b = one.checkpoint["id"], other.checkpoint["id"]
        found = thread.diff(a, b)
        at_a, at_b = thread.working_state(a), thread.working_state(b)
        assert apply(at_a, found) == at_b
        assert apply(at_b, found.invert()) == at_a
        assert apply(at_a, diff(at_a, at_b)) == at_b
        assert thread.diff(a, a).empty
        assert merge(at_a, at_a, at_b) == (at_b, ())
        assert found.channels is not None
        values = [played.values(each) for each in (one, other)]
        versions = [each.checkpoint["channel_versions"].get("trace") for each in (one, other)]
        hidden = any(v and "trace" not in held for v, held in zip(versions, values, strict=True))
        if hidden:  # kept as deltas, and no snapshot there
            values = [{k: v for k, v in each.items() if k != "trace"} for each in values]
        unread = ("trace",) if hidden and versions[0] != versions[1] else ()
        assert found.channels == replace(diff_values(*values), unread=unread)
        light = thread.diff(a, b, channels=False)
        assert light.channels is None
        assert (light.changes, light.fields) == (found.changes, found.fields)


# ---- the parts


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=12))
def test_a_drawn_tree(parents: list[int]) -> None:
    """Whatever its shape, a tree is drawn with each checkpoint once, newest first, and every line
    leads from a checkpoint down to its parent."""
    rows = {f"c{n}": f"c{p}" if p < n else None for n, p in enumerate(parents)}
    entries = {id: HistoryEntry(id, rows[id]) for id in reversed(rows)}
    drawn = str(Tree("t", entries, (), next(iter(entries), None))).splitlines()
    seen = []
    wanted: dict[int, str | None] = {}  # what each column leads to, as one follows the picture
    for line in drawn:
        columns = dict(enumerate(line[::2]))
        (at,) = (n for n, mark in columns.items() if mark in "●├")
        if columns[at] == "├":
            for met in [n for n, mark in columns.items() if mark in "┴╯"]:
                assert wanted.pop(met) == wanted[at]
            continue
        id = line.split()[-1]
        seen.append(id)
        assert wanted.pop(at, id) == id not in wanted.values()
        assert {n for n, mark in columns.items() if mark == "│"} == wanted.keys()
        if rows[id] is not None:
            wanted[at] = rows[id]
    assert seen == list(entries)
    assert not wanted


Call = Callable[..., Any]
# Real agents, sync and async, on each database.


THREAD = CONFIG["configurable"]["thread_id"]


class Trip(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    todos: list[Any]
    city: str
    files: dict[str, Any]


def plan(state: Trip) -> Trip:
    steps = [{"content": "find a flight", "status": "in_progress"}, {"content": "book it"}]
    return {"todos": steps, "city": "Paris", "files": {"/notes.md": "look"}}


def book(state: Trip) -> Trip:
    answer = interrupt({"question": "Book the 9:40?"})
    files = {**state["files"], "/ticket.md": {"paid": True}}
    return {"messages": [("ai", f"You said {answer}: booked.")], "files": files}


def travel(saver: WyrdSaver) -> Any:
    builder = StateGraph(Trip)
    builder.add_node("plan", plan)
    builder.add_node("book", book)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "book")
    return builder.compile(checkpointer=saver)


async def travelled(call: Call, saver: WyrdSaver, thread: str = THREAD) -> Any:
    """A trip that was planned and booked."""
    graph = travel(saver)
    config = {"configurable": {"thread_id": thread}}
    await call(graph, "invoke", {"messages": [("human", "Fly me to Paris")]}, config)
    await call(graph, "invoke", Command(resume="yes"), config)
    return graph


def rows_of(entries: list[HistoryEntry]) -> list[tuple[Any, ...]]:
    return [(e.step, e.source, ", ".join(e.nodes), e.summary) for e in entries]


# ---- what a history says


async def test_an_agent_that_plans_and_asks(durable: Backend, call: Call) -> None:
    """Each step of an agent has its line: who ran, and what changed, also where the node was
    reached by a Send."""
    saver = durable.open()
    agent = office(saver)
    await call(agent, "invoke", ask("Tidy up the attic"), CONFIG)
    await call(agent, "invoke", decide(APPROVE, REJECT), CONFIG)
    found = rows_of(await call(saver.thread(THREAD), "history", 100))
    assert found[::-1][:11] == [
        (-1, "input", "", "new input"),
        (0, "loop", "", "+1 loop, +1 intention, +1 message"),
        (1, "loop", "SummarizationMiddleware.before_model", "no changes"),
        (2, "loop", "model", "+2 todos, +1 loop, +1 message"),
        (3, "loop", "HumanInTheLoopMiddleware.after_model", "no changes"),
        (4, "loop", "TodoListMiddleware.after_model", "1 loop resolved"),
        (5, "loop", "tools", "+1 message, +2 todos"),
        (6, "loop", "SummarizationMiddleware.before_model", "no changes"),
        (7, "loop", "model", "+2 loops, 2 loops came and went, +1 message"),
        (8, "loop", "HumanInTheLoopMiddleware.after_model",
         "+1 message, ~hitl_edited_tool_calls"),
        (9, "loop", "TodoListMiddleware.after_model", "2 loops resolved"),
    ]  # fmt: skip


async def test_a_trip_with_a_fork(durable: Backend, call: Call) -> None:
    """Interrupts, time travel and update_state are reported; forks, head and the tree are right."""
    saver = durable.open()
    graph = await travelled(call, saver)
    thread = saver.thread(THREAD)
    before = await call(thread, "history")
    assert rows_of(before) == [
        (2, "loop", "book", "1 loop resolved, ~1 context item, +1 message"),
        (1, "loop", "plan", "+2 todos, +2 context items, 1 loop came and went"),
        (0, "loop", "", "+1 loop, +1 intention, +1 message"),
        (-1, "input", "", "new input"),
    ]
    assert [e.changed for e in before] == [
        ("files", "messages"), ("city", "files", "todos"), ("messages",), (),
    ]  # fmt: skip
    past = {"configurable": {"thread_id": THREAD, "checkpoint_id": before[1].checkpoint_id}}
    past["configurable"]["checkpoint_ns"] = ""
    await call(graph, "update_state", past, {"city": "Rome", "todos": []})
    entries = await call(thread, "history")
    fork, *rest = entries
    assert rows_of([fork]) == [(2, "update", "", "~2 todos (2 cancelled), ~1 context item")]
    assert (fork.head, fork.parent_id, rest[0].head) == (True, before[1].checkpoint_id, False)
    assert [e.forks for e in entries] == [False, False, True, False, False]
    assert rest[1].children == (before[0].checkpoint_id, fork.checkpoint_id)
    assert str(fork).endswith("update ~2 todos (2 cancelled), ~1 context item")

    tree = await call(thread, "tree")
    assert list(tree.entries) == [e.checkpoint_id for e in entries]
    assert (tree.roots, tree.head) == ((before[3].checkpoint_id,), fork.checkpoint_id)
    assert tree.path(before[0].checkpoint_id) == tuple(e.checkpoint_id for e in before[::-1])
    assert tree.newest[:-1] == tree.path(before[1].checkpoint_id)
    assert bare(str(tree)).splitlines() == [
        "◉   # head T update", "│ ● # T loop", "├─╯", "●   # T loop", "●   # T loop",
        "●   # T input",
    ]  # fmt: skip
    cut = await call(thread, "tree", 3)
    assert (list(cut.entries), cut.complete) == (list(tree.entries)[:3], False)
    assert cut.roots == (before[1].checkpoint_id,)
    assert (tree.complete, str(cut).splitlines()[-1]) == (True, "…")


async def test_without_pillars(durable: Backend, call: Call) -> None:
    """A saver without pillars has a history too: who ran, and which channels changed."""
    saver = durable.open(pillars=False)
    await travelled(call, saver)
    thread = saver.thread(THREAD)
    entries = await call(thread, "history")
    assert rows_of(entries) == [
        (2, "loop", "book", "+1 files, +1 message"),
        (1, "loop", "plan", "+1 files, +2 todos, ~city"),
        (0, "loop", "", "+1 message"),
        (-1, "input", "", "new input"),
    ]
    found = await call(thread, "diff", entries[2])
    assert found.summary() == "+1 message, +3 values"


async def test_a_deep_agent(durable: Backend, call: Call) -> None:
    """Channels that are kept as deltas: history says where they were written to, and a diff does
    not pretend to know what they hold."""
    saver = durable.open()
    agent = firm(saver)
    await call(agent, "invoke", {"messages": [HumanMessage("bees?", id="h1")]}, CONFIG)
    thread = saver.thread(THREAD)
    await call(agent, "invoke", decide(APPROVE), CONFIG)
    entries = await call(thread, "history")
    assert rows_of(entries)[1:6] == [
        (6, "loop", "model", "1 loop resolved, ~1 intention (1 closed), ~messages"),
        (5, "loop", "tools", "~messages"),
        (4, "loop", "model", "2 loops came and went, ~messages"),
        (3, "loop", "tools", "+1 context item, ~messages"),
        (2, "loop", "model", "1 loop came and went, ~messages"),
    ]
    found = await call(thread, "diff", entries[-1])
    assert found.channels.unread == ("files", "messages")
    assert found.channels.summary() == "~2 deltas"
    assert "~ messages: written to; kept as deltas, no value" in found.lines()
    assert (await call(thread, "diff", entries[0], entries[1])).channels.empty


async def test_a_functional_graph(durable: Backend, call: Call) -> None:
    """What a functional graph saves and gives is reported; its other channels are not."""
    saver = durable.open()

    @task
    def double(x: int) -> int:
        return 2 * x

    @entrypoint(checkpointer=saver)
    def flow(x: int, previous: Any = None) -> Any:
        return entrypoint.final(value=double(x).result(), save={"n": x})

    flow.invoke(3, CONFIG)
    flow.invoke(4, CONFIG)
    thread = saver.thread(THREAD)
    entries = await call(thread, "history")
    assert [e.nodes for e in entries] == [("flow",), (), ("flow", "double"), ()]
    assert [e.changed for e in entries] == [("__end__", "__previous__"), ()] * 2
    found = (await call(thread, "diff", entries[2])).channels
    assert found.changed == {"__end__": (6, 8), '__previous__["n"]': (3, 4)}


# ---- what it costs


# ---- points


async def test_a_point_is_named_in_many_ways(durable: Backend, call: Call) -> None:
    """A checkpoint id, else a label, else a run id, else a time; an entry; None is the head."""
    saver = durable.open()
    graph = await travelled(call, saver)
    run = {**CONFIG, "run_id": "0b8b1c1e-6f0e-4a53-9c3c-5e9c8f6f2a10"}
    run = {
        "configurable": {"thread_id": THREAD, "run_id": "a run"},
        "metadata": {"run_id": "a run"},
    }
    await call(graph, "invoke", {"messages": [("human", "And back")]}, run)
    thread = saver.thread(THREAD)
    entries = await call(thread, "history")
    assert {e.run_id for e in entries} >= {"a run"}
    middle = entries[4]

    async def at(point: Any) -> str:
        found: str = (await call(thread, "working_state", point)).checkpoint_id
        return found

    newest = next(e.checkpoint_id for e in entries if e.run_id == "a run")
    assert await at("a run") == newest
    for name in ("good", "a run", entries[0].ts):
        await call(thread, "label", name, middle)
    entries = await call(thread, "history")
    middle = entries[4]
    assert await at(middle.checkpoint_id) == middle.checkpoint_id
    assert await at(middle) == middle.checkpoint_id
    assert await at("good") == middle.checkpoint_id
    assert await at("a run") == middle.checkpoint_id  # a label goes before a run
    assert await at(entries[0].ts) == middle.checkpoint_id  # and before a time
    assert await at(entries[2].ts) == entries[2].checkpoint_id
    assert await at(datetime.now(timezone.utc)) == await at(None) == entries[0].checkpoint_id
    assert await call(thread, "history", 50, "good") == entries[5:]
    assert (
        await call(thread, "history", 2, before=datetime.fromisoformat(entries[2].ts))
        == (entries[3:5])
    )
    found = await call(thread, "diff", "good", entries[0])
    assert found == await call(thread, "diff", middle, None)


async def test_a_point_that_is_not_there(durable: Backend, call: Call) -> None:
    """What can't be found is named, with what was tried; what is no point is refused."""
    saver = durable.open()
    await travelled(call, saver)
    thread = saver.thread(THREAD)
    with pytest.raises(ThreadNotFound, match="no checkpoint 'before-deploy': it is neither the id"):
        await call(thread, "diff", "before-deploy")
    with pytest.raises(ThreadNotFound, match="no checkpoint until 2001-01-01"):
        await call(thread, "history", 50, "2001-01-01")
    for name in ("history", "tree", "working_state", "diff"):
        args = {"diff": (None,)}.get(name, ())
        with pytest.raises(ThreadNotFound, match="thread 'nobody' has no checkpoints"):
            await call(saver.thread("nobody"), name, *args)
    for wrong in (3, object(), (thread,), (thread, None, None), b"x"):
        with pytest.raises(InvalidInput):
            await call(thread, "diff", wrong)
    for wrong in (0, 1001, True, "5"):
        with pytest.raises(InvalidInput):
            await call(thread, "history", wrong)
    with pytest.raises(InvalidInput):
        await call(thread, "tree", 0)


# ---- diffs between threads, and across forks


async def test_other_threads(durable: Backend, call: Call) -> None:
    """A diff compares any two points: of two threads, of two databases; items are the same by
    what they say."""
    saver, elsewhere = durable.open(), WyrdSaver.from_conn_string("sqlite://", pillars=True)
    try:
        await travelled(call, saver)
        await travelled(call, saver, "other")
        await travelled(call, elsewhere, "far away")
        thread, other = saver.thread(THREAD), saver.thread("other")
        far = elsewhere.thread("far away")
        for one in (other, far):
            found = await call(thread, "diff", one)
            assert not any(found.all_changes())
            assert set(found.channels.messages) == {"messages"}  # their ids are others
            differ = (found.channels.added, found.channels.removed, found.channels.changed)
            assert not any(differ)
        start = (await call(other, "history"))[2]
        found = await call(thread, "diff", (other, start), thread)
        assert found.summary().startswith("+2 todos, +2 context items")
        assert found.changes == (await call(other, "diff", start, (thread, None))).changes
    finally:
        elsewhere.close()


async def test_on_another_fork(durable: Backend, call: Call) -> None:
    """A diff with a branch that was left says what it has otherwise."""
    saver = durable.open()
    graph = await travelled(call, saver)
    thread = saver.thread(THREAD)
    old = await call(thread, "history")
    past = {"configurable": {"thread_id": THREAD, "checkpoint_id": old[1].checkpoint_id}}
    past["configurable"]["checkpoint_ns"] = ""
    await call(graph, "update_state", past, {"city": "Rome"})
    found = await call(thread, "diff", old[0])
    assert found.channels.changed["city"] == ("Paris", "Rome")
    assert len(found.channels.messages["messages"].removed) == 1


# ---- what is damaged, gone or odd


async def test_after_a_prune(durable: Backend, call: Call) -> None:
    """What a prune took is not invented: the oldest one kept says that its parent is gone."""
    saver = durable.open()
    graph = await travelled(call, saver)
    await call(saver, "prune", [THREAD])
    (entry,) = await call(saver.thread(THREAD), "history")
    assert entry.summary == "what came before was pruned: what it changed is not known"
    await call(graph, "invoke", {"messages": [("human", "And back")]}, CONFIG)
    entries = await call(saver.thread(THREAD), "history")
    assert [e.parent_id for e in entries[:-1]] == [e.checkpoint_id for e in entries[1:]]
    assert entries[-2].summary == "new input"
    tree = await call(saver.thread(THREAD), "tree")
    assert tree.roots == (entry.checkpoint_id,)


async def test_a_copy_has_the_same_past(durable: Backend, call: Call) -> None:
    """A copied thread has the history of its original, and no difference to it."""
    saver = durable.open()
    await travelled(call, saver)
    await call(saver, "copy_thread", THREAD, "copy")
    one, copy = saver.thread(THREAD), saver.thread("copy")
    assert await call(copy, "history") == await call(one, "history")
    assert (await call(copy, "diff", one)).empty


async def test_odd_ids(durable: Backend, call: Call) -> None:
    """Ids that a database can't hold as they are, a child whose clock was behind its parent's, and
    a parent that never came: they are listed, linked and found as they were given."""
    saver = durable.open()
    first = handmade.put(saver, THREAD, {"n": 1}, id="b\\0\0", metadata={"run_id": "r", "step": 0})
    handmade.put(saver, THREAD, {"n": 2}, parent=first, id="a\\", metadata={"step": 1})
    handmade.put(
        saver, THREAD, {"n": 3, "__start__": 1}, parent="never", id="c", metadata={"step": 5}
    )
    thread = saver.thread(THREAD)
    c, b, a = await call(thread, "history")
    assert [(e.checkpoint_id, e.parent_id, e.children) for e in (a, b, c)] == [
        ("a\\", "b\\0\0", ()), ("b\\0\0", None, ("a\\",)), ("c", "never", ()),
    ]  # fmt: skip
    assert (a.summary, b.summary, b.run_id, c.head) == (
        "~1 context item", "+1 context item", "r", True,
    )  # fmt: skip
    assert c.summary == "its parent is not there: what it changed is not known"
    assert (await call(thread, "working_state", "b\\0\0")).get_context("n") == 1
    assert (await call(thread, "working_state", "r")).get_context("n") == 1
    assert await call(thread, "history", before="b\\0\0") == [a]
    assert set((await call(thread, "tree")).roots) == {"b\\0\0", "c"}


async def test_a_message_that_was_edited(durable: Backend, call: Call) -> None:
    """A list of messages that did not grow says that it changed; the diff says how."""
    saver = durable.open()
    graph = await travelled(call, saver)
    thread = saver.thread(THREAD)
    last = (await call(graph, "get_state", CONFIG)).values["messages"][-1]
    edited = AIMessage("Booked, finally.", id=last.id)
    await call(graph, "update_state", CONFIG, {"messages": [edited]}, as_node="book")
    head, before, *_ = await call(thread, "history")
    assert (head.changed, head.summary) == (("messages",), "~messages")
    found = await call(thread, "diff", before)
    assert found.channels.messages["messages"].edited == ((last, edited),)
    assert found.channels.summary() == "~1 message"


# ---- the page


def bare(text: str) -> str:
    """A drawn tree without its ids and times."""
    text = re.sub(r"[0-9a-f]{8}-([0-9a-f-]{27}|…)", "#", text)
    return re.sub(r"[0-9-]{10} [0-9:]{8}", "T", text)


PAGE = Path(__file__).parent.parent / "docs" / "thread.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block of the page runs, one after the other, in one namespace; its history is
    the one that it shows."""
    monkeypatch.chdir(tmp_path)
    held: dict[str, Any] = {"__name__": "page"}
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 7
    shown = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    try:
        for number, block in enumerate(blocks):
            exec(compile(block, PAGE.name, "exec", dont_inherit=True), held)
            if number == 0:
                lines = [
                    f"{e.step} {e.source} {e.nodes} {e.summary}\n" for e in held["thread"].history()
                ]
                assert "".join(lines) == shown[0]
            elif "tree" in held and "found" not in held:
                assert bare(str(held["tree"])) == bare(shown[1]).rstrip("\n")
    finally:
        if "saver" in held:
            held["saver"].close()
