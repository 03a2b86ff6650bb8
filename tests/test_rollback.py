"""`thread.rollback()`: after a failure the thread stands where it stood before."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import AlreadyAnswered, StoreError
from tests.conftest import Backend
from tests.handmade import append, head_tokens
from tests.held_runs import came_to
from tests.outside import at_rest, is_postgres, raw, refusing
from tests.test_rewind import CONFIG, Log, asking

Call = Callable[..., Any]


class Broken(Exception):
    pass


class Around:
    """The block, entered as sync or async code does."""

    def __init__(self, call: Call, manager: Any) -> None:
        self.call, self.manager = call, manager

    async def __aenter__(self) -> Any:
        return await self.run("enter__")

    async def __aexit__(self, *raised: Any) -> Any:
        return await self.run("exit__", *raised)

    async def run(self, name: str, *raised: Any) -> Any:
        class Prefixed:
            def __getattr__(inner, asked: str) -> Any:
                return getattr(self.manager, f"__{asked}")

        return await self.call(Prefixed(), name, *raised)


def failing(saver: Any, where: str = "c") -> Any:
    """a, b, c, of which one raises as long as it is told to."""

    def node(name: str) -> Any:
        def run(state: Log) -> Any:
            if name == where and "fail" in state["log"]:
                raise Broken(name)
            return {"log": [name]}

        return run

    builder = StateGraph(Log)
    builder.add_sequence([(name, node(name)) for name in "abc"])
    builder.add_edge(START, "a")
    return builder.compile(checkpointer=saver)


async def test_a_run_that_fails(saver: WyrdSaver, call: Call) -> None:
    """The head is put back, the exception raised again, and what was stored stays a branch."""
    graph = failing(saver)
    await call(graph, "invoke", {"log": ["one"]}, CONFIG)
    before, state = graph.get_state(CONFIG), saver.thread("t").working_state()
    count = len(list(saver.list(CONFIG)))
    with pytest.raises(Broken):
        async with Around(call, saver.thread("t").rollback()):
            await call(graph, "invoke", {"log": ["fail"]}, CONFIG)
    now = graph.get_state(CONFIG)
    assert (now.values, now.next, now.interrupts) == (before.values, (), ())
    shown = saver.thread("t").working_state()
    left = [loop for loop in shown.loops if loop.elsewhere]  # what failed stays listed
    assert [loop.kind for loop in left] == ["error"]
    here = tuple(loop for loop in shown.loops if not loop.elsewhere)
    assert (shown.status, here, shown.todos) == (state.status, state.loops, state.todos)
    assert len(list(saver.list(CONFIG))) > count + 1
    found = await call(graph, "invoke", {"log": ["two"]}, CONFIG)
    assert found["log"] == ["one", "a", "b", "c", "two", "a", "b", "c"]


async def test_nothing_raised_nothing_done(saver: WyrdSaver, call: Call) -> None:
    """A block that ends well, or that did not move the head, writes nothing."""
    graph = asking(saver, [])
    async with Around(call, saver.thread("t").rollback()):
        await call(graph, "invoke", {"log": ["one"]}, CONFIG)
    before = list(saver.list(CONFIG))
    assert graph.get_state(CONFIG).interrupts
    with pytest.raises(Broken):
        async with Around(call, saver.thread("t").rollback()):
            raise Broken
    with pytest.raises(Broken):
        async with Around(call, saver.thread("nobody").rollback()):
            raise Broken
    assert list(saver.list(CONFIG)) == before
    assert [thread.thread_id for thread in saver.threads()] == ["t"]


async def test_a_thread_that_was_not_there(saver: WyrdSaver, call: Call) -> None:
    """It gets an empty head: the graph starts as on a new thread, and the failed run stays to be
    looked at."""
    graph = failing(saver, "b")
    with pytest.raises(Broken):
        async with Around(call, saver.thread("t").rollback()):
            await call(graph, "invoke", {"log": ["fail"]}, CONFIG)
    now = graph.get_state(CONFIG)
    assert (now.values, now.next) == ({"log": []}, ())
    state = saver.thread("t").working_state()
    assert [(loop.kind, loop.elsewhere) for loop in state.loops] == [("error", True)]
    assert (state.title, state.context, state.due) == (None, (), ())
    assert len(list(saver.list(CONFIG))) == 3 + 1
    found = await call(graph, "invoke", {"log": ["one"]}, CONFIG)
    assert found["log"] == ["one", "a", "b", "c"]
    steps = [s.metadata["step"] for s in graph.get_state_history(CONFIG)][:5]
    assert steps == [3, 2, 1, 0, -1]


async def answered_and_broken(saver: WyrdSaver, graph: Any, call: Call) -> None:
    """A question is answered in a block that fails, and is rolled back."""
    async with Around(call, saver.thread("t").rollback()):
        await call(graph, "invoke", Command(resume="no"), CONFIG)
        raise Broken


async def test_a_point_that_waited(saver: WyrdSaver, call: Call) -> None:
    """Where the thread waited for an answer, the step that asked is due, and asks again."""
    ran: list[str] = []
    graph = asking(saver, ran)
    await call(graph, "invoke", {"log": ["one"]}, CONFIG)
    before = graph.get_state(CONFIG)

    with pytest.raises(Broken):
        await answered_and_broken(saver, graph, call)
    now = graph.get_state(CONFIG)
    assert (now.values, now.next) == (before.values, ("b",))
    asked = await call(graph, "invoke", None, CONFIG)
    assert asked["__interrupt__"][0].value == "go?"
    found = await call(graph, "invoke", Command(resume="yes"), CONFIG)
    assert found["log"] == ["one", "a after 1", "b=yes after 2", "c after 3"]


@pytest.mark.parametrize("form", ["answered", "answered by its loop", "from the inbox"])
async def test_a_question_that_was_put_back_is_answered(
    durable: Backend, call: Call, form: str
) -> None:
    """The question that a rollback kept listed waits in the inbox and is answered once, in any
    process; the next run is given the answer."""
    ran: list[str] = []
    saver = durable.open()
    graph = asking(saver, ran)
    await call(graph, "invoke", {"log": ["one"]}, CONFIG)

    with pytest.raises(Broken):
        await answered_and_broken(saver, graph, call)
    other = durable.open()
    thread = other.thread("t")
    (entry,) = await call(other, "inbox")
    assert (entry.question, entry.value) == ("go?", "go?")
    (loop,) = (await call(thread, "working_state")).open_loops
    asked = {"answered": None, "answered by its loop": loop, "from the inbox": entry}[form]
    assert list((await call(thread, "answer", "yes", asked, by="ann")).values()) == ["yes"]
    assert await call(other, "inbox") == []
    with pytest.raises(AlreadyAnswered, match="ann"):
        await call(thread, "answer", "no", asked)
    found = await call(asking(other, ran), "invoke", None, CONFIG)
    assert found["log"] == ["one", "a after 1", "b=yes after 2", "c after 3"]
    assert (await call(thread, "working_state")).status == "done"


async def test_the_runs_own_write_failed(durable: Backend, call: Call) -> None:
    """A database that refuses in the middle of a run, and works again: the head is put back."""
    saver = durable.open()
    graph = failing(saver)
    await call(graph, "invoke", {"log": ["one"]}, CONFIG)
    before = graph.get_state(CONFIG)

    async def runs() -> None:
        async with Around(call, saver.thread("t").rollback()):
            await call(graph, "invoke", {"log": ["two"]}, CONFIG)
            with refusing(durable.url, "wyrd_checkpoints"):
                await call(graph, "invoke", {"log": ["three"]}, CONFIG, durability="sync")

    with pytest.raises(StoreError, match="refused by a test"):
        await runs()
    now = graph.get_state(CONFIG)
    assert (now.values, now.next) == (before.values, ())
    assert now.config != before.config
    assert len((await call(graph, "invoke", {"log": ["two"]}, CONFIG))["log"]) == 8
    at_rest(durable.url)


async def test_putting_back_fails_too(
    durable: Backend, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    """The exception of the run is the one that is raised; the other is noted on it, and logged."""
    saver = durable.open()
    graph = failing(saver)
    await call(graph, "invoke", {"log": ["one"]}, CONFIG)
    values = graph.get_state(CONFIG).values

    async def run() -> None:
        async with Around(call, saver.thread("t").rollback()):
            with RefusingOff(durable):
                await call(graph, "invoke", {"log": ["fail"]}, CONFIG)

    with (
        refusing(durable.url, "wyrd_checkpoints"),
        caplog.at_level(logging.ERROR, "langgraph_wyrd"),
        pytest.raises(Broken) as raised,
    ):
        await run()
    assert raised.value.__cause__ is None
    (note,) = [n for n in raised.value.__notes__ if "could not be put back" in n]
    assert "thread 't'" in note
    assert "refused by a test" in note
    assert note in caplog.text
    assert graph.get_state(CONFIG).values != values
    at_rest(durable.url)


class RefusingOff:
    """For a while the database that refuses takes everything."""

    def __init__(self, durable: Backend) -> None:
        self.url = durable.url

    def __enter__(self) -> None:
        self.switch("DISABLE", "DROP")

    def __exit__(self, *raised: object) -> None:
        self.switch("ENABLE", "CREATE")

    def switch(self, postgres: str, sqlite: str) -> None:
        with raw(self.url) as connection:
            if is_postgres(self.url):
                connection.execute(f"ALTER TABLE wyrd_checkpoints {postgres} TRIGGER refuse")
                return
            body = "BEGIN SELECT RAISE(ABORT, 'refused by a test'); END"
            for name, when in (("refuse_new", "INSERT"), ("refuse_old", "UPDATE")):
                if sqlite == "DROP":
                    connection.execute(f"DROP TRIGGER {name}")
                else:
                    connection.execute(
                        f"CREATE TRIGGER {name} BEFORE {when} ON wyrd_checkpoints {body}"
                    )


async def test_a_run_that_is_cancelled(saver: WyrdSaver) -> None:
    """A cancelled run is a failed one; what it still stored is put back, too."""
    reached = asyncio.Event()

    async def waits(state: Log) -> Any:
        reached.set()
        await asyncio.sleep(600)

    builder = StateGraph(Log)
    builder.add_node("first", lambda s: {"log": ["first"]})
    builder.add_node("waits", waits)
    builder.add_edge(START, "first")
    builder.add_edge("first", "waits")
    graph = builder.compile(checkpointer=saver)
    await graph.aupdate_state(CONFIG, {"log": ["zero"]}, "waits")
    before = await graph.aget_state(CONFIG)

    async def run() -> None:
        async with saver.thread("t").rollback():
            await graph.ainvoke({"log": ["one"]}, CONFIG)

    task = asyncio.create_task(run())
    await came_to(task, reached.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    now = await graph.aget_state(CONFIG)
    assert (now.values, now.next) == (before.values, before.next)


def test_another_process_s_head(durable: Backend) -> None:
    """What another saver did meanwhile is put back as well: the head is where it was."""
    saver, other = durable.open(), durable.open()
    append(saver, "t", "m0")

    def run() -> None:
        with saver.thread("t").rollback():
            append(other, "t", "m1")
            raise Broken

    with pytest.raises(Broken):
        run()
    assert head_tokens(saver, "t") == head_tokens(other, "t") == ["m0"]
    append(other, "t", "m2")
    assert head_tokens(saver, "t") == ["m0", "m2"]


def test_a_point_that_was_pruned(saver: WyrdSaver) -> None:
    """Where the point itself was pruned inside the block, the exception says so in a note."""
    append(saver, "t", "m0")

    def run() -> None:
        with saver.thread("t").rollback():
            append(saver, "t", "m1")
            saver.prune(["t"])
            raise Broken

    with pytest.raises(Broken) as raised:
        run()
    assert "not there any more" in raised.value.__notes__[0]
    assert head_tokens(saver, "t") == ["m0", "m1"]
