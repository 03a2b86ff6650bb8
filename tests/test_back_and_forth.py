"""Picking threads up again, at old points too; diffs against a state at hand, and said of another
thread."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound, WrongUser
from tests import handmade
from tests.conftest import Backend
from tests.test_past import travel

Call = Callable[..., Any]
AT: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    log: Annotated[list[str], operator.add]
    todos: list[Any]
    city: str


def graph_of(saver: Any) -> Any:
    def plan(state: State) -> State:
        steps = [{"content": "find a flight", "status": "in_progress"}]
        return {"todos": steps, "city": "Paris", "log": ["plan"]}

    def work(state: State) -> State:
        done = [{"content": "find a flight", "status": "completed"}]
        return {"todos": done, "messages": [AIMessage("found", id="a1")], "log": ["work"]}

    def idle(state: State) -> None:
        return None

    builder: Any = StateGraph(State)
    builder.add_node("plan", plan)
    builder.add_node("work", work)
    builder.add_node("idle", idle)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "work")
    builder.add_edge("work", "idle")
    return builder.compile(checkpointer=saver)


INPUT = {"messages": [HumanMessage("go", id="h1")]}


async def test_resuming_at_a_point(durable: Backend, call: Call) -> None:
    """`resume(at=…)` has the state of then, and a config that goes on from there, as a branch."""
    saver = durable.open()
    graph = graph_of(saver)
    await call(graph, "invoke", INPUT, AT)
    thread = saver.thread("t")
    planned = next(entry for entry in thread.history() if entry.nodes == ("plan",))
    thread.label("planned", at=planned)
    for at in (planned, planned.checkpoint_id, "planned"):
        found = await call(saver, "resume", "t", at=at)
        assert found.config == planned.config
        assert [todo.status for todo in found.state.todos] == ["in_progress"]
        assert "find a flight" in found.brief
    assert graph.get_state(found.config).next == ("work",)
    state = await call(graph, "invoke", None, found.config)
    assert state["log"] == ["plan", "work"]
    assert thread.tree().entries[planned.checkpoint_id].forks
    assert (await call(saver, "resume", "t")).config == AT
    with pytest.raises(ThreadNotFound):
        await call(saver, "resume", "t", at="never")
    with pytest.raises(InvalidInput, match="of which thread"):
        await call(saver, "resume", at="planned")


async def test_configs_of_points(durable: Backend, call: Call) -> None:
    """Entries of the history and the tree, and labels, name their checkpoint for the graph."""
    saver = durable.open()
    graph = graph_of(saver)
    await call(graph, "invoke", INPUT, AT)
    thread = saver.thread("t")
    entries = await call(thread, "history")
    for entry in entries:
        state = graph.get_state(entry.config)
        assert state.config["configurable"]["checkpoint_id"] == entry.checkpoint_id
        assert (await call(thread, "tree")).entries[entry.checkpoint_id].config == entry.config
    made = await call(thread, "label", "here", at=entries[2])
    (listed,) = await call(thread, "labels")
    found = await call(thread, "get_label", "here")
    assert made.config == listed.config == found.config == entries[2].config
    assert await call(thread, "get_label", "there") is None


async def test_a_users_configs(durable: Backend, call: Call) -> None:
    """A saver for one user resumes its own threads at a point, and no others."""
    saver = durable.open()
    config = {"configurable": {"thread_id": "t", "user_id": "ann"}}
    await call(graph_of(saver), "invoke", INPUT, config)
    mine, point = saver.for_user("ann"), saver.thread("t").history()[1]
    found = await call(mine, "resume", "t", at=point)
    assert found.config["configurable"] == {**point.config["configurable"], "user_id": "ann"}
    with pytest.raises((ThreadNotFound, WrongUser)):
        await call(saver.for_user("bob"), "resume", "t", at=point)


def test_a_thread_by_its_config(sqlite: Backend) -> None:
    """`thread` takes a config; None is refused with what to pass."""
    saver = sqlite.open()
    graph_of(saver).invoke(INPUT, AT)
    assert saver.thread(AT).id == "t"
    entry = saver.thread("t").history()[0]
    assert saver.thread(entry.config).working_state().thread_id == "t"
    for wrong in (None, {}, {"configurable": {}}, {"configurable": {"thread_id": None}}):
        with pytest.raises(InvalidInput, match="thread"):
            saver.thread(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="thread"):
            saver.for_user("ann").thread(wrong)  # type: ignore[arg-type]


async def test_a_diff_with_a_state_at_hand(durable: Backend, call: Call) -> None:
    """Either side of a diff may be a working state, a dict of channels or a graph's snapshot."""
    saver = durable.open()
    graph = graph_of(saver)
    await call(graph, "invoke", INPUT, AT)
    thread = saver.thread("t")
    planned = next(entry for entry in thread.history() if entry.nodes == ("plan",))
    then, now = graph.get_state(planned.config), graph.get_state(AT)
    plain = await call(thread, "diff", planned)
    for side in (then, dict(then.values)):
        found = await call(thread, "diff", side)
        assert found.channels == plain.channels
        assert [todo.content for todo in found.which("completed", "todos")] == ["find a flight"]
        back = await call(thread, "diff", thread, side)
        assert {name: pair[::-1] for name, pair in plain.channels.changed.items()} == dict(
            back.channels.changed
        )
    assert (await call(thread, "diff", now)).empty
    assert (await call(thread, "diff", then, now)).channels == plain.channels
    assert (await call(thread, "diff", now, channels=False)).channels is None
    state = await call(thread, "working_state", planned)
    found = await call(thread, "diff", state)
    assert found.channels is None
    assert found.changes == plain.changes
    assert (await call(thread, "diff", state, state)).empty
    with pytest.raises(InvalidInput):
        await call(thread, "diff", 7)


async def test_a_diff_said_of_another_thread(durable: Backend, call: Call) -> None:
    """What changed in one thread is said of another: its todos, context, loops and aim."""
    saver = durable.open()
    for name in ("trial", "real"):
        await call(graph_of(saver), "invoke", INPUT, {"configurable": {"thread_id": name}})
    trial, real = saver.thread("trial"), saver.thread("real")
    for thread in (trial, real):
        thread.add_todo("pack", "high")
        thread.add_open_loop("who feeds the cat?", kind="question")
        thread.set_context("seat", "4A")
        thread.set_context("old", 1)
    before = trial.working_state()
    with trial.edit() as draft:
        (pack,) = (todo for todo in draft.state.todos if todo.content == "pack")
        draft.complete_todo(pack.id)
        draft.add_todo("lock the door")
        (cat,) = (loop for loop in draft.state.loops if "cat" in loop.description)
        draft.resolve_open_loop(cat.id, "Ada does")
        draft.add_open_loop("water the plants", {"room": 2})
        draft.set_context("seat", "9C")
        draft.remove_context("old")
        draft.set_intention("fly on Friday")
    done = trial.diff(before, trial)
    with pytest.raises(InvalidInput, match="is no StateDiff"):
        await call(real, "apply", real.working_state())
    found = await call(real, "apply", done, by="ann")
    assert found.conflicts == ()
    state = await call(real, "working_state")
    todos = {todo.content: (todo.status, todo.priority) for todo in state.todos}
    assert todos["pack"] == ("completed", "high")
    assert todos["lock the door"] == ("pending", "medium")
    assert (state.get_context("seat"), state.get_context("old")) == ("9C", None)
    loops = {loop.description: loop for loop in state.loops}
    assert loops["who feeds the cat?"].outcome == "Ada does"
    assert dict(loops["water the plants"].context) == {"room": 2}
    assert loops["water the plants"].source.author == "ann"
    assert state.intention is not None
    assert state.intention.text == "fly on Friday"
    again = await call(real, "apply", done)
    assert again.conflicts == ()
    assert (await call(real, "diff", state)).empty


async def test_what_a_diff_cannot_say(durable: Backend, call: Call) -> None:
    """What only the graph can say is left, and named."""
    saver = durable.open()
    await call(graph_of(saver), "invoke", INPUT, AT)
    await call(graph_of(saver), "invoke", INPUT, {"configurable": {"thread_id": "other"}})
    thread = saver.thread("t")
    start = thread.history()[-1]
    found = await call(saver.thread("other"), "apply", thread.diff(start))
    assert found.state.todos
    assert {conflict.pillar for conflict in found.conflicts} <= {"loops", "todos"}


async def test_history_without_idle_steps(durable: Backend, call: Call) -> None:
    """`changed_only` leaves out what changed nothing, and still fills the page."""
    saver = durable.open()
    graph = graph_of(saver)
    for n in range(6):
        await call(graph, "invoke", {"messages": [HumanMessage("go", id=f"h{n}")]}, AT)
    thread = saver.thread("t")
    whole = await call(thread, "history", limit=1000)
    changed = await call(thread, "history", limit=1000, changed_only=True)
    idle = [entry for entry in whole if entry not in changed]
    assert idle
    assert {entry.summary for entry in idle} <= {"no changes", "new input"}
    assert changed[0] == whole[0]
    assert changed[0].head
    assert not [e for e in changed[1:] if e.summary in ("no changes", "new input")]
    thread.label("kept", at=idle[0])
    kept = await call(thread, "history", limit=1000, changed_only=True)
    assert idle[0].checkpoint_id in {entry.checkpoint_id for entry in kept}
    pages, before = [], None
    while True:
        page = await call(thread, "history", limit=3, before=before, changed_only=True)
        if not page:
            break
        assert len(page) == 3 or page[-1].checkpoint_id == kept[-1].checkpoint_id
        pages += page
        before = page[-1]
    assert pages == kept


def test_labels_without_a_thread(sqlite: Backend) -> None:
    """A thread that is not there has no labels."""
    saver: WyrdSaver = sqlite.open()
    assert saver.thread("nobody").labels() == []


# ---- picking threads up again: the newest one, one that fits, one by its id


async def started(call: Call, saver: Any, thread: str, user: str) -> Any:
    """A trip that waits for its person's answer."""
    graph = travel(saver)
    config = {"configurable": {"thread_id": thread}, "metadata": {"user_id": user}}
    await call(graph, "invoke", {"messages": [("human", f"Fly {user} to Paris")]}, config)
    return graph


async def test_the_newest_thread_goes_on(durable: Backend, call: Call) -> None:
    """What is found is where it stood: its state, its words, and the config that goes on."""
    saver = durable.open()
    assert await call(saver, "latest") is None
    await started(call, saver, "t1", "ann")
    graph = await started(call, saver, "t2", "bob")
    found = await call(saver, "latest")
    assert (found.thread_id, found.state.status) == ("t2", "interrupted")
    again = await call(saver, "resume")
    assert (again.thread_id, again.config, again.state) == ("t2", found.config, found.state)
    assert found.config == {"configurable": {"thread_id": "t2"}}
    assert "Book the 9:40?" in found.brief
    assert found.state == await call(saver.thread("t2"), "working_state")
    done = await call(graph, "invoke", Command(resume="yes"), found.config)
    assert done["messages"][-1].text == "You said yes: booked."
    assert (await call(saver, "latest")).state.open_loops == ()


async def test_resuming_one_that_fits(durable: Backend, call: Call) -> None:
    """The filters are those of `threads`; none that fits is None, or ThreadNotFound."""
    saver = durable.open()
    await started(call, saver, "t1", "ann")
    graph = await started(call, saver, "t2", "bob")
    await call(graph, "invoke", Command(resume="yes"), {"configurable": {"thread_id": "t2"}})
    ahead = datetime.now(timezone.utc) + timedelta(hours=1)
    for name in ("latest", "resume"):
        for asked, thread in (
            ({"user_id": "ann"}, "t1"),
            ({"status": "interrupted"}, "t1"),
            ({"text": "BOB"}, "t2"),
            ({"status": ["idle", "done", "interrupted"]}, "t2"),
            ({"until": ahead}, "t2"),
        ):
            assert (await call(saver, name, **asked)).thread_id == thread, asked
        with pytest.raises(InvalidInput):
            await call(saver, name, status="sleeping")
    assert await call(saver, "latest", since=ahead) is None
    with pytest.raises(ThreadNotFound, match="no thread fits"):
        await call(saver, "resume", user_id="nobody")


async def test_resuming_one_by_its_id(durable: Backend, call: Call) -> None:
    """A thread may be named; an unknown one is ThreadNotFound, and filters have no say then."""
    saver = durable.open()
    await started(call, saver, "t1", "ann")
    await started(call, saver, "t2", "bob")
    assert (await call(saver, "resume", "t1")).thread_id == "t1"
    with pytest.raises(ThreadNotFound, match="'t3'"):
        await call(saver, "resume", "t3")
    with pytest.raises(InvalidInput, match="not both"):
        await call(saver, "resume", "t1", status="interrupted")


async def test_a_thread_without_a_root(durable: Backend, call: Call) -> None:
    """A thread of which only a subgraph's checkpoints are there can't be gone on with: the next
    one is found."""
    saver = durable.open()
    handmade.put(saver, "t1", {"n": 1})
    handmade.put(saver, "odd\\\0", {"n": 1})
    handmade.put(saver, "half", {"n": 1}, ns="inner:1")
    found = await call(saver, "latest")
    assert (found.thread_id, found.config) == (
        "odd\\\0",
        {"configurable": {"thread_id": "odd\\\0"}},
    )
    saver.delete_thread("odd\\\0")
    assert (await call(saver, "resume")).thread_id == "t1"


async def test_resuming_without_pillars(durable: Backend, call: Call) -> None:
    """A saver without pillars finds its newest thread too."""
    saver = durable.open(pillars=False)
    await started(call, saver, "t1", "ann")
    assert (await call(saver, "latest")).config == {"configurable": {"thread_id": "t1"}}
