"""Hooks: called with what happened, after it was stored, where the caller is; and forks."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import copy
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.hooks import EVENTS, Happening, Hooks, afire, fire
from tests.conftest import Backend
from tests.handmade import config, put
from tests.test_across import agents
from tests.test_edit import CONFIG, agent
from tests.test_edit import ask as question

Call = Callable[..., Any]


def ask(text: str) -> Any:
    return {"messages": [("user", text)]}


def heard(saver: WyrdSaver, *events: str) -> list[Happening]:
    """A list that grows with what is reported."""
    reported: list[Happening] = []
    for event in events or EVENTS:
        saver.on(event, reported.append)
    return reported


def named(reported: list[Happening], event: str) -> list[Happening]:
    return [each for each in reported if each.event == event]


# ---- what is reported


async def test_a_save_is_reported_with_its_state(backend: Backend, call: Call) -> None:
    """Every root checkpoint is reported once, in order, with the state that it is stored with."""
    saver = backend.open()
    reported = heard(saver, "save")
    await call(agents(saver), "invoke", ask("plan the release"), config("t"))
    stored = [each.checkpoint["id"] for each in saver.list(config("t"))][::-1]
    assert [each.checkpoint_id for each in reported] == stored
    assert [each.detail["source"] for each in reported] == [
        "input",
        *["loop"] * (len(reported) - 1),
    ]
    for each in reported:
        assert (each.event, each.thread_id, each.ns) == ("save", "t", "")
    last = reported[-1].state
    assert last == saver.thread("t").working_state()
    assert last is not None
    assert [todo.status for todo in last.todos] == ["completed", "in_progress", "pending"]


async def test_a_state_is_that_of_its_moment(backend: Backend, call: Call) -> None:
    """A hook that asks the store for the checkpoint gets the state that it is called with."""
    saver = backend.open()
    found: list[Any] = []

    async def check(happening: Happening) -> None:
        at = await saver.thread(happening.thread_id).aworking_state(at=happening.checkpoint_id)
        found.append((happening.state, at))

    saver.on("save", check)
    await call(agents(saver), "invoke", ask("which way"), config("t"))
    assert len(found) >= 2
    assert all(reported is not None and reported.todos == at.todos for reported, at in found)
    assert [reported.open_loops for reported, _ in found] == [at.open_loops for _, at in found]


async def test_loops_are_reported_once_each(backend: Backend, call: Call) -> None:
    """A question that a run stops at is opened once and closed once, with what became of it."""
    saver = backend.open()
    reported = heard(saver, "loop_opened", "loop_closed")
    graph = agents(saver)
    await call(graph, "invoke", ask("approve the refund"), config("t"))
    opened = [each for each in reported if each.event == "loop_opened"]
    assert sorted(each.loop.kind for each in opened if each.loop) == ["interrupt", "request"]
    assert not named(reported, "loop_closed")
    question = next(each for each in opened if each.loop and each.loop.kind == "interrupt")
    assert question.loop in saver.thread("t").working_state().open_loops
    assert question.checkpoint_id == saver.get_tuple(config("t")).checkpoint["id"]

    del reported[:]
    await call(graph, "invoke", Command(resume="granted"), config("t"))
    closed = named(reported, "loop_closed")
    assert sorted(each.loop.kind for each in closed if each.loop) == ["interrupt", "request"]
    assert all(each.loop and each.loop.resolved for each in closed)
    assert {each.loop.id for each in closed if each.loop} == {
        each.loop.id for each in opened if each.loop
    }
    assert not named(reported, "loop_opened")


async def test_reported_loops_are_the_ones_that_are_stored(backend: Backend, call: Call) -> None:
    """What is reported as open, and not as closed, is what is open; many threads at once."""
    saver = backend.open()
    reported = heard(saver, "loop_opened", "loop_closed")
    graph = agents(saver)
    words = ["approve", "fail at", "which", "call", "greet"]
    threads = [f"{word.split()[0]}-{n}" for word in words for n in range(3)]

    async def one(thread: str) -> None:
        word = next(w for w in words if thread.startswith(w.split()[0]))
        try:
            await call(graph, "invoke", ask(f"{word} {thread}"), config(thread))
        except ValueError:
            assert thread.startswith("fail")

    await asyncio.gather(*map(one, threads))
    is_open: dict[str, set[str]] = {thread: set() for thread in threads}
    for each in reported:
        assert each.loop is not None
        ids = is_open[each.thread_id]
        if each.event == "loop_opened":
            assert each.loop.id not in ids, "reported twice"
            ids.add(each.loop.id)
        else:
            ids.remove(each.loop.id)
    for thread in threads:
        found = saver.thread(thread).working_state().loops
        assert is_open[thread] == {loop.id for loop in found if not loop.resolved}


async def test_another_process_changes_are_not_reported_as_ours(
    durable: Backend, call: Call
) -> None:
    """A hook hears what its own saver stored, not of a loop that another one closed."""
    one, two = durable.open(), durable.open()
    reported = heard(one, "loop_opened", "loop_closed")
    await call(agents(one), "invoke", ask("approve it"), config("t"))
    del reported[:]
    await call(agents(two), "invoke", Command(resume="yes"), config("t"))
    await call(agents(one), "invoke", ask("greet"), config("t"))
    kinds = [(each.event, each.loop.kind) for each in reported if each.loop]
    assert kinds == [("loop_opened", "request"), ("loop_closed", "request")]


async def test_discards_say_what_went(backend: Backend, call: Call) -> None:
    """Deleting a thread, runs, or all but the latest is reported, thread by thread."""
    saver = backend.open()
    reported = heard(saver, "discard")
    for thread in ("a", "b", "c"):
        first = put(saver, thread, {"x": 1}, metadata={"run_id": f"r-{thread}"})
        put(saver, thread, {"x": 2}, parent=first, metadata={"run_id": "later"})
    await call(saver, "prune", ["a", "nobody"])
    await call(saver, "delete_for_runs", ["r-b"])
    await call(saver, "delete_thread", "c")
    await call(saver, "delete_thread", "c")  # nothing is left to discard
    await call(saver, "prune", ["a"], strategy="delete")
    assert [(each.thread_id, dict(each.detail)) for each in reported] == [
        ("a", {"how": "prune", "checkpoints": 1, "strategy": "keep_latest"}),
        ("b", {"how": "delete_for_runs", "checkpoints": 1, "run_ids": ("r-b",)}),
        ("c", {"how": "delete_thread", "checkpoints": 2}),
        ("a", {"how": "prune", "checkpoints": 1}),
    ]


async def test_without_pillars(backend: Backend, call: Call) -> None:
    """With pillars=False saves, discards and forks are reported; there is no state and no loop."""
    saver = backend.open(pillars=False)
    reported = heard(saver)
    graph = agents(saver)
    await call(graph, "invoke", ask("approve it"), config("t"))
    old = list(saver.list(config("t")))[-1].config
    await call(graph, "invoke", ask("greet"), old)
    saver.delete_thread("t")
    assert {each.event for each in reported} == {"save", "fork", "discard", "run_end"}
    assert all(each.state is None for each in reported)
    (fork,) = named(reported, "fork")
    assert fork.detail["deliberate"]


# ---- where and how they are called


async def test_a_hook_runs_where_its_caller_is(backend: Backend) -> None:
    """Sync and async hooks, of sync and async calls: in the caller's thread, on its own loop."""
    saver = backend.open()
    here, loop = threading.current_thread(), asyncio.get_running_loop()
    found: list[Any] = []
    saver.on("save", lambda _: found.append(threading.current_thread()))

    @saver.on("save")
    async def reported(happening: Happening) -> None:
        await asyncio.sleep(0)
        found.append(asyncio.get_running_loop())

    await saver.aput(*_first("a"))
    assert found == [here, loop]
    del found[:]
    saver.put(*_first("b"))  # a loop runs in this thread: the async hook gets one elsewhere
    assert found[0] is here
    assert found[1] is not loop
    del found[:]
    await asyncio.to_thread(saver.put, *_first("c"))
    assert found[0] is not here
    assert len(found) == 2


def _first(thread: str) -> Any:
    from tests.handmade import checkpoint

    made = checkpoint({"x": 1})
    return (
        config(thread), made, {"source": "loop", "step": 0, "parents": {}},
        made["channel_versions"],
    )  # fmt: skip


async def test_a_hook_may_use_the_saver(backend: Backend, call: Call) -> None:
    """From every kind of hook, sync and async calls of the saver itself end."""
    saver = backend.open()
    found: list[Any] = []

    def plain(happening: Happening) -> None:
        found.append(saver.get_tuple(config(happening.thread_id)))
        saver.put(*_first(f"{happening.thread_id}-plain"))

    async def other(happening: Happening) -> None:
        found.append(await saver.aget_tuple(config(happening.thread_id)))
        found.append(saver.get_tuple(config(happening.thread_id)))
        await saver.aput(*_first(f"{happening.thread_id}-other"))

    saver.on("save", plain)
    saver.on("save", other)
    await asyncio.wait_for(call(agents(saver), "invoke", ask("greet"), config("t")), 200)
    assert len(found) >= 3
    assert all(found)
    assert saver.get_tuple(config("t-plain")) is not None
    assert saver.get_tuple(config("t-other-plain")) is not None


async def test_they_have_run_when_the_graph_has(backend: Backend, call: Call) -> None:
    """A slow hook holds the run up to its end: what it did is there when invoke returns."""
    saver = backend.open()
    done: list[str | None] = []

    async def slow(happening: Happening) -> None:
        await asyncio.sleep(0.05)
        done.append(happening.checkpoint_id)

    saver.on("save", slow)
    await call(agents(saver), "invoke", ask("greet"), config("t"))
    assert sorted(map(str, done)) == sorted(x.checkpoint["id"] for x in saver.list(config("t")))


async def test_a_hook_that_raises_changes_nothing(
    backend: Backend, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged with thread, event and name; the run and the other hooks go on."""
    saver = backend.open()

    def breaks(happening: Happening) -> None:
        raise RuntimeError("no such server")

    async def breaks_later(happening: Happening) -> None:
        await asyncio.sleep(0)
        raise RuntimeError("no such server either")

    saver.on("save", breaks)
    saver.on("save", breaks_later)
    reported = heard(saver, "save")
    with caplog.at_level(logging.ERROR, "langgraph_wyrd"):
        await call(agents(saver), "invoke", ask("greet"), config("t-9"))
    assert len(reported) == len(list(saver.list(config("t-9")))) >= 2
    for name in (".breaks ", ".breaks_later "):
        lines = [r.getMessage() for r in caplog.records if name in r.getMessage()]
        assert len(lines) == len(reported)
        assert all("'save'" in line and "'t-9'" in line for line in lines)


def test_what_failed_is_not_reported(durable: Backend) -> None:
    """A put that the database refuses raises, and no hook hears of it."""
    from tests.outside import refusing

    saver = durable.open()
    saver.put(*_first("a"))
    reported = heard(saver)
    with refusing(durable.url, "wyrd_checkpoints"), pytest.raises(Exception, match="refused"):
        saver.put(*_first("b"))
    assert reported == []


def test_a_hook_is_not_called_for_what_it_does(backend: Backend) -> None:
    """A hook that saves something does not set itself off, on and on."""
    saver = backend.open()
    calls: list[str] = []

    def again(happening: Happening) -> None:
        calls.append(happening.thread_id)
        saver.put(*_first(f"copy-of-{happening.thread_id}"))

    saver.on("save", again)
    reported = heard(saver, "save")
    saver.put(*_first("t"))
    assert calls == ["t"]
    assert [each.thread_id for each in reported] == ["copy-of-t", "t"]


# ---- registering


def test_a_hook_can_be_taken_away(backend: Backend) -> None:
    """What `on` returns removes that one registration, however often it is called."""
    saver = backend.open()
    reported: list[Happening] = []
    first, second = saver.on("save", reported.append), saver.on("save", reported.append)
    saver.put(*_first("a"))
    assert len(reported) == 2
    first()
    first()
    saver.put(*_first("b"))
    assert len(reported) == 3
    second()
    saver.put(*_first("c"))
    assert len(reported) == 3


def test_a_clone_shares_its_hooks() -> None:
    """LangGraph's shallow copies hear, and are heard, as the saver itself."""
    saver = WyrdSaver.from_conn_string("sqlite://")
    clone = copy.copy(saver)  # as with_allowlist does
    reported = heard(saver, "save"), heard(clone, "save")
    saver.put(*_first("a"))
    clone.put(*_first("b"))
    assert [[each.thread_id for each in some] for some in reported] == [["a", "b"], ["a", "b"]]
    saver.close()


def test_hooks_may_be_given_at_once() -> None:
    """from_conn_string takes a function or several for each event."""
    one: list[Happening] = []
    two: list[Happening] = []
    hooks: Any = {"save": one.append, "discard": [one.append, two.append]}
    with WyrdSaver.from_conn_string("sqlite://", hooks=hooks) as saver:
        saver.put(*_first("a"))
        saver.delete_thread("a")
    assert [each.event for each in one] == ["save", "discard"]
    assert [each.event for each in two] == ["discard"]


def test_what_can_not_be_a_hook_is_refused() -> None:
    """An unknown event names those there are; something that can't be called is no hook."""
    saver = WyrdSaver.from_conn_string("sqlite://")
    for use in (lambda: saver.on("saved", print), lambda: saver.on("saved")):
        with pytest.raises(InvalidInput, match=r"'saved'.*save, resume, run_end, discard"):
            use()
    with pytest.raises(InvalidInput, match="can't be called"):
        saver.on("save", 7)  # type: ignore[call-overload]
    with pytest.raises(InvalidInput, match="'saved'"):
        WyrdSaver.from_conn_string("sqlite://", hooks={"saved": print})
    with pytest.raises(InvalidInput, match="hook for 'save'"):
        WyrdSaver.from_conn_string("sqlite://", hooks={"save": [7]})  # type: ignore[list-item]


class _Core:
    """As little of a core as firing needs."""

    def __init__(self) -> None:
        self.hooks = Hooks()


async def test_others_fire_with_one_call() -> None:
    """`fire` and `afire` tell sync and async hooks, in the order in which they were added."""
    core, found = _Core(), []

    async def later(happening: Happening) -> None:
        await asyncio.sleep(0)
        found.append(f"later {happening.event}")

    core.hooks.add("heal", later)
    core.hooks.add("heal", lambda happening: found.append(happening.detail["what"]))
    await afire(core, Happening("heal", "t", detail={"what": 1}), Happening("label", "t"))
    fire(core, Happening("heal", "t", detail={"what": 2}))
    await asyncio.to_thread(fire, core, Happening("heal", "t", detail={"what": 3}))
    assert found == ["later heal", 1, "later heal", 2, "later heal", 3]


# ---- forks


async def test_time_travel_is_a_deliberate_fork(
    durable: Backend, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    """A replay, a new input at an old point and an update of one: reported, without a warning."""
    saver = durable.open()
    graph = agents(saver)
    await call(graph, "invoke", ask("greet"), config("t"))
    first, *_, head = [each.config for each in saver.list(config("t"))][::-1]
    reported = heard(saver, "fork")
    lefts = []
    with caplog.at_level(logging.WARNING, "langgraph_wyrd"):
        for how in ("replay", "input", "update"):
            lefts.append(saver.get_tuple(config("t")).checkpoint["id"])
            if how == "update":
                await call(graph, "update_state", first, ask("other"), "agent")
            else:
                await call(graph, "invoke", None if how == "replay" else ask("new"), first)
    parent = first["configurable"]["checkpoint_id"]
    assert [each.detail["left"] for each in reported] == lefts
    assert lefts[0] == head["configurable"]["checkpoint_id"]
    assert [each.detail["source"] for each in reported] == ["fork", "input", "update"]
    assert all(each.detail["deliberate"] and each.detail["parent"] == parent for each in reported)
    assert not caplog.records


def test_two_runs_at_once_are_seen(
    durable: Backend, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs that interleave lose nothing; the fork is reported and logged, once.

    Both have loaded the thread before either stores anything: one that loads later goes on from
    what the other stored.
    """
    saver = durable.open()
    agents(saver).invoke(ask("greet"), config("t"))
    before = len(list(saver.list(config("t"))))
    reported = heard(saver, "fork")
    together = threading.Barrier(2, timeout=200)
    graph = _meeting(saver, together)
    loaded, load = threading.Barrier(2, timeout=200), saver.get_tuple

    def both_load(wanted: Any) -> Any:
        found = load(wanted)
        loaded.wait()
        return found

    monkeypatch.setattr(saver, "get_tuple", both_load)
    with (
        caplog.at_level(logging.WARNING, "langgraph_wyrd"),
        concurrent.futures.ThreadPoolExecutor() as pool,
    ):
        for done in [pool.submit(graph.invoke, ask(t), config("t")) for t in ("one", "two")]:
            done.result(200)
    (fork,) = reported
    assert not fork.detail["deliberate"]
    # The first checkpoint that takes the head's place: an id may be older than what is stored.
    assert fork.detail["source"] in ("input", "loop")
    (warning,) = caplog.records
    assert "'t' forked" in warning.getMessage()
    assert fork.detail["left"] in warning.getMessage()
    rows = list(saver.list(config("t")))
    assert len(rows) == before + 2 * 4  # input, two nodes, the loop's first
    ends = {row.checkpoint["id"] for row in rows} - {
        row.parent_config["configurable"]["checkpoint_id"] for row in rows if row.parent_config
    }
    said = [
        [each.content for each in row.checkpoint["channel_values"]["messages"]]
        for row in rows
        if row.checkpoint["id"] in ends
    ]
    assert sorted(each[2] for each in said) == ["one", "two"]


def _meeting(saver: WyrdSaver, barrier: threading.Barrier) -> Any:
    from langgraph.graph import START, StateGraph

    from tests.test_across import State, agent

    def meet(state: State) -> State:
        barrier.wait()
        time.sleep(0.05)
        return {}

    builder = StateGraph(State)
    builder.add_node("first", meet)
    builder.add_node("agent", agent)
    builder.add_edge(START, "first")
    builder.add_edge("first", "agent")
    return builder.compile(checkpointer=saver)


def test_two_beginnings_are_a_fork(durable: Backend) -> None:
    """Two runs that both found the thread empty: the second beginning is reported."""
    saver = durable.open()
    reported = heard(saver, "fork")
    one = put(saver, "t", {"x": 1}, metadata={"source": "input"})
    put(saver, "t", {"x": 2}, metadata={"source": "input"})
    (fork,) = reported
    assert (fork.detail["parent"], fork.detail["deliberate"]) == (None, False)
    assert fork.detail["left"] == one["configurable"]["checkpoint_id"]


@pytest.mark.parametrize("pillars", [True, False])
def test_a_line_that_goes_on_is_no_fork(durable: Backend, pillars: bool) -> None:
    """Only the checkpoint that branches off is reported, not those after it, on either line."""
    saver = durable.open(pillars=pillars)
    reported = heard(saver, "fork")
    root = put(saver, "t", {"x": 0})
    left = put(saver, "t", {"x": 1}, parent=root)
    right = put(saver, "t", {"x": 2}, parent=root)
    for _ in range(3):
        left = put(saver, "t", {"x": 3}, parent=left)
        right = put(saver, "t", {"x": 4}, parent=right)
    assert len(reported) == 1


def test_a_fork_changes_no_state(durable: Backend) -> None:
    """That a thread forked is no change of its state: another process reads the same."""
    saver = durable.open()
    graph = agents(saver)
    graph.invoke(ask("plan the release"), config("t"))
    first = list(saver.list(config("t")))[-1].config
    graph.invoke(ask("replan"), first)
    live = saver.thread("t").working_state()
    assert durable.open().thread("t").working_state() == live


# ---- the page

PAGE = Path(__file__).parent.parent / "docs" / "hooks.md"


def test_the_page_names_every_event() -> None:
    """Each event has its line."""
    for event in EVENTS:
        assert f"\n| `{event}` |" in PAGE.read_text("utf-8")


# What is done to a thread by hand, and damage.


async def test_a_label_and_a_rewind(durable: Backend, call: Call) -> None:
    """A label tells its name, a rewind where it went; one that goes nowhere tells nothing."""
    saver = durable.open()
    graph = agent(saver)
    for words in ("one", "two"):
        await call(graph, "invoke", question(words), CONFIG)
    thread, heard = saver.thread("t"), []
    for event in ("label", "fork"):
        saver.on(event, heard.append)
    history = await call(thread, "history")
    made = await call(thread, "label", "start", history[-1])
    await call(thread, "rewind", history[0].checkpoint_id)  # the head
    config = await call(thread, "rewind", "start")
    assert [(each.event, each.checkpoint_id) for each in heard] == [
        ("label", made.checkpoint_id), ("fork", config["configurable"]["checkpoint_id"]),
    ]  # fmt: skip
    assert heard[0].detail["name"] == "start"
    assert heard[1].detail == {"how": "rewind", "to": "start", "deliberate": True}


async def test_what_a_rewind_and_a_rollback_take_back(durable: Backend, call: Call) -> None:
    """Both report the fork, and of each loop that waits no more, as taken back."""
    saver = durable.open()
    await call(agent(saver), "invoke", question("one"), CONFIG)
    thread, heard = saver.thread("t"), []
    (start, *_) = await call(thread, "history")
    for event in ("fork", "loop_closed"):
        saver.on(event, heard.append)

    def reported() -> list[Any]:
        found = [
            (each.event, each.detail.get("how"))
            if each.loop is None
            else (each.event, each.loop.kind, each.detail["taken_back"], each.detail["by"])
            for each in heard
        ]
        heard.clear()
        return sorted(found, key=str)

    builder = StateGraph(MessagesState).add_node("asks", lambda state: interrupt("Which one?"))
    asks = builder.add_edge(START, "asks").compile(checkpointer=saver)
    await call(asks, "invoke", question("two"), CONFIG)
    heard.clear()
    await call(thread, "rewind", start)
    wanted = ["interrupt", "request"]
    assert reported() == [
        ("fork", "rewind"), *(("loop_closed", kind, True, "rewind") for kind in wanted),
    ]  # fmt: skip
    with contextlib.suppress(RuntimeError):
        async with thread.rollback():
            await call(asks, "invoke", question("three"), CONFIG)
            heard.clear()
            raise RuntimeError
    assert reported() == [
        ("fork", "rollback"), *(("loop_closed", kind, True, "rollback") for kind in wanted),
    ]  # fmt: skip
