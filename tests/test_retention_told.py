"""What a retention lets go is told to hooks; automatic labels don't keep everything."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from conftest import Backend
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_wyrd import AutoLabels, Retention
from langgraph_wyrd.errors import InvalidInput
from tests.damage import age
from tests.programs import counting, talk
from tests.rows import config

Call = Callable[..., Any]


async def test_sweeps_are_told(durable: Backend, call: Call) -> None:
    """As an explicit prune or deletion is: once a thread, with how many checkpoints went; a dry run
    tells nothing."""
    saver = durable.open()
    talk(saver, "a", run="r", words=["one", "two", "three"])
    talk(saver, "b", run="r", words=["one"])
    talk(saver, "old", run="r", words=["one", "two"])
    age(durable.url, "old", days=40)
    heard: list[Any] = []
    saver.on("discard", heard.append)
    rule = Retention(keep_last=1, thread_ttl=timedelta(days=30))
    told = await call(saver, "sweep", rule)
    assert not heard
    done = await call(saver, "sweep", rule, dry_run=False)
    assert done.checkpoints == told.checkpoints
    assert {each.thread_id for each in heard} == {"a", "old"}
    assert all(each.detail["how"] == "sweep" for each in heard)
    assert sum(each.detail["checkpoints"] for each in heard) == done.checkpoints
    assert not [*saver.list(config("old"))]


async def test_decisions_and_errors_stay_known(durable: Backend, call: Call) -> None:
    """A sweep keeps decisions, with rationale and outcome, and what failed, however long ago. With
    keep_decisions=False what is over goes with the checkpoints that tell of it."""
    saver = durable.open()
    fails = [False]

    def work(state: Any) -> Any:
        if fails[0]:
            raise RuntimeError("no disk")
        return {"messages": [AIMessage("done")]}

    builder = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work")
    graph, thread = builder.compile(checkpointer=saver), saver.thread("t")
    here: Any = config("t")
    await call(graph, "invoke", {"messages": ["begin"]}, here)
    over = await call(thread, "decide", "use Postgres", "many writers")
    await call(thread, "record_outcome", over.id, "it works")
    await call(thread, "decide", "ship it")
    fails[0] = True
    with pytest.raises(RuntimeError):
        await call(graph, "invoke", {"messages": ["fail"]}, here)
    fails[0] = False
    await call(graph, "invoke", None, here)
    for n in range(20):  # more than a state tells of what is over
        await call(graph, "invoke", {"messages": [f"please do {n}"]}, here)

    async def told(reader: Any) -> Any:
        found = await call(reader, "open_loops", kind=["decision", "error"], status="any")
        return sorted((each.description, each.outcome, each.context) for each in found)

    before = await told(saver)
    assert [each[0] for each in before] == ["RuntimeError: no disk", "ship it", "use Postgres"]
    for keep in (30, 5, 1):
        await call(saver, "sweep", Retention(keep_last=keep), dry_run=False)
        assert await told(saver) == before
    await call(saver, "verify", repair=True)
    await call(saver, "reextract", "t")
    assert await told(durable.open()) == before
    await call(graph, "invoke", {"messages": ["go on"]}, here)
    await call(saver, "sweep", Retention(keep_last=1, keep_decisions=False), dry_run=False)
    assert [each[0] for each in await told(durable.open())] == ["ship it"]
    assert (await call(saver, "verify")).ok


async def test_a_thread_has_a_time_of_its_own(durable: Backend, call: Call) -> None:
    """`set_ttl` counts for one thread, whatever the rule says of all; None takes it back."""
    saver = durable.open()
    for name in ("short", "long", "plain"):
        talk(saver, name, run="r", words=["one"])
    await call(saver.thread("short"), "set_ttl", timedelta(days=1))
    await call(saver.thread("long"), "set_ttl", timedelta(days=90))
    await call(saver.thread("plain"), "set_ttl", timedelta(days=1))
    await call(saver.thread("plain"), "set_ttl", None)
    for name in ("short", "long", "plain"):
        age(durable.url, name, days=5)
    other = durable.open()
    await call(other, "sweep", Retention(keep_last=50), dry_run=False)
    assert {each.thread_id for each in await call(saver, "threads")} == {"long", "plain"}
    await call(other, "sweep", Retention(thread_ttl=timedelta(days=3)), dry_run=False)
    assert [each.thread_id for each in await call(saver, "threads")] == ["long"]
    with pytest.raises(InvalidInput):
        await call(saver.thread("long"), "set_ttl", timedelta(0))


async def test_what_goes_as_threads_are_written_is_told(durable: Backend, call: Call) -> None:
    """By the next call of this saver, never on its own thread."""
    saver = durable.open(retention=Retention(keep_last=3))
    heard: list[Any] = []
    saver.on("discard", heard.append)
    graph = counting(saver)
    for _ in range(20):
        await call(graph, "invoke", {"log": ["in"]}, config("t"))
        if heard:
            break
    assert {(each.thread_id, each.detail["how"]) for each in heard} == {("t", "retention")}
    assert heard[0].detail["checkpoints"] > 0


@pytest.mark.parametrize("most", [500, 2])
def test_automatic_labels_do_not_keep_everything(
    durable: Backend, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """keep_labels=True keeps what somebody labelled; "all" keeps automatic labels too."""
    saver = durable.open(labels=AutoLabels(run_end=True, every=2))
    graph = counting(saver)
    for n in range(6):
        graph.invoke({"log": ["in"]}, config("t"))
        if n == 1:
            saver.thread("t").label("mine")
    handle = saver.thread("t")
    total, labelled = 18, {label.checkpoint_id for label in handle.labels()}
    assert len([*saver.list(config("t"))]) == total
    assert len(labelled) > 6
    assert saver.sweep(Retention(keep_last=1, keep_labels="all")).checkpoints == total - len(
        labelled | {handle.history()[0].checkpoint_id}
    )
    told = saver.sweep(Retention(keep_last=1, keep_labels="manual"))
    assert told == saver.sweep(Retention(keep_last=1))
    assert saver.sweep(Retention(keep_last=1), dry_run=False).checkpoints == total - 2
    assert [label.name for label in handle.labels() if not label.automatic] == ["mine"]
    age(durable.url, "t", days=40)
    assert saver.sweep(Retention(thread_ttl=timedelta(days=30))).threads == 0
    handle.unlabel("mine")
    assert handle.labels()
    assert saver.sweep(Retention(thread_ttl=timedelta(days=30))).threads == 1
    with pytest.raises(InvalidInput, match="keep_labels"):
        Retention(keep_labels="some")  # type: ignore[arg-type]


def test_a_long_idle_thread_goes_in_steps(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is left, and the report says what a dry run had said."""
    saver = durable.open()
    graph = counting(saver)
    for _ in range(10):
        graph.invoke({"log": ["in"]}, config("t"))
    age(durable.url, "t", days=40)
    rule = Retention(thread_ttl=timedelta(days=30))
    told = saver.sweep(rule)
    assert (told.threads, told.checkpoints) == (1, 30)
    done = saver.sweep(rule, dry_run=False)
    assert (done.threads, done.checkpoints, done.bytes) == (1, 30, told.bytes)
    found = saver.size_report()
    assert all(size.rows == 0 for name, size in found.tables.items() if name != "threads")
