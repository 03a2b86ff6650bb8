"""Any event loop, any thread, any moment to give up: nothing hangs and nothing is half done."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import operator
import os
import random
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from langgraph_wyrd import errors
from tests.handmade import (
    aappend,
    append,
    config,
    head_tokens,
    next_step,
    same,
    tokens,
    tree,
)
from tests.outside import Peer, at_rest, raw, write_lock

# What hangs fails here; a thread that hangs can't be interrupted, so the whole run ends then.
pytestmark = pytest.mark.timeout(300, method="thread")


class Counted(TypedDict):
    turns: Annotated[list[dict[str, Any]], operator.add]


def looping_graph(saver: Any, turns: int = 4, *, looks: bool = False) -> Any:
    """A graph that goes round, fans out to two nodes each time, and may read its own saver."""

    def look() -> None:
        if looks:
            list(saver.list(None, limit=3))

    def go(state: Counted) -> dict[str, Any]:
        look()
        return {"turns": [{"by": "go", "at": len(state["turns"])}]}

    def side(state: Any) -> dict[str, Any]:
        look()
        return {"turns": [{"by": "side", "at": state["at"], "which": state["which"]}]}

    def onward(state: Counted) -> Any:
        at = len(state["turns"])
        if at >= turns * 3:
            return END
        return [Send("side", {"at": at, "which": which}) for which in (0, 1)]

    builder = StateGraph(Counted)
    builder.add_node("go", go)
    builder.add_node("side", side)
    builder.add_edge(START, "go")
    builder.add_conditional_edges("go", onward, ["side", END])
    builder.add_edge("side", "go")
    return builder.compile(checkpointer=saver)


def expected_turns(turns: int = 4) -> Any:
    return looping_graph(None, turns).invoke({"turns": []})


# ---- loops


def test_one_saver_serves_one_loop_after_the_other(backend: Any) -> None:
    """`asyncio.run` twice with one saver, sync calls in between: all see the same thread."""
    saver = backend.open()
    asyncio.run(aappend(saver, "t", "a"))
    append(saver, "t", "b")
    asyncio.run(aappend(saver, "t", "c"))

    assert tokens(asyncio.run(saver.aget_tuple(config("t")))) == ["a", "b", "c"]
    assert head_tokens(saver, "t") == ["a", "b", "c"]


def test_a_graph_runs_in_one_loop_after_the_other(backend: Any) -> None:
    """A compiled graph can be used in `asyncio.run` again and again."""
    graph = looping_graph(backend.open())
    for name in ("one", "two"):
        found = asyncio.run(graph.ainvoke({"turns": []}, config(name)))
        assert found == expected_turns()


def test_an_async_with_block_can_be_entered_in_two_loops(durable: Any) -> None:
    """Closed by the end of one loop's block, a saver opens again in another loop's."""
    saver = durable.open()

    async def use(token: str) -> None:
        async with saver:
            await aappend(saver, "t", token)

    asyncio.run(use("a"))
    asyncio.run(use("b"))
    with saver:
        assert head_tokens(saver, "t") == ["a", "b"]


def test_several_loops_at_once(backend: Any) -> None:
    """Four loops in four threads write and read through one saver at the same time."""
    saver = backend.open()

    async def work(name: str) -> None:
        async def one(part: str) -> None:
            for step in range(4):
                await aappend(saver, f"{name}-{part}", f"{step}")

        await asyncio.gather(one("x"), one("y"))
        assert [item async for item in saver.alist(config(f"{name}-x"))]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: asyncio.run(work(name)), ["a", "b", "c", "d"]))
    for name in ("a", "b", "c", "d"):
        assert head_tokens(saver, f"{name}-x") == ["0", "1", "2", "3"]
        assert head_tokens(saver, f"{name}-y") == ["0", "1", "2", "3"]


async def test_sync_calls_from_inside_a_running_loop(saver: Any) -> None:
    """A notebook cell may call the sync methods, and run a graph with `invoke`."""
    append(saver, "t", "a")
    await aappend(saver, "t", "b")
    append(saver, "t", "c")
    assert head_tokens(saver, "t") == ["a", "b", "c"]
    assert len(list(saver.list(config("t")))) == 3

    graph = looping_graph(saver)
    assert graph.invoke({"turns": []}, config("g")) == expected_turns()
    assert await graph.ainvoke({"turns": []}, config("h")) == expected_turns()
    assert graph.get_state(config("h")).values == (await graph.aget_state(config("h"))).values


async def test_a_sync_call_on_the_loop_of_an_unfinished_async_call(saver: Any) -> None:
    """A sync call does not wait for a transaction that would need the blocked loop to go on."""
    await aappend(saver, "t", "a")
    for round_ in range(20):
        started = asyncio.ensure_future(aappend(saver, f"other-{round_}", "x"))
        for _ in range(round_ % 5):
            await asyncio.sleep(0)
        append(saver, "t", f"{round_}")  # the loop stands still meanwhile
        await started
        assert head_tokens(saver, f"other-{round_}") == ["x"]
    assert head_tokens(saver, "t") == ["a", *map(str, range(20))]


async def test_a_sync_listing_inside_an_async_one(saver: Any) -> None:
    """Sync and async listings may be open inside one another on one loop."""
    for token in "abc":
        await aappend(saver, "t", token)
    pairs = 0
    async for _ in saver.alist(config("t")):
        for _ in saver.list(config("t")):
            pairs += 1
    assert pairs == 9


def test_a_saver_is_used_first_from_any_thread(backend: Any) -> None:
    """Eight threads that all make the very first call: the database is opened once, all succeed."""
    saver = backend.open()
    ready = threading.Barrier(8)

    def first(name: int) -> None:
        ready.wait()
        append(saver, f"t{name}", "a")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(first, range(8)))
    assert [head_tokens(saver, f"t{name}") for name in range(8)] == [["a"]] * 8


# ---- threads


def test_nodes_in_executor_threads_use_the_saver(saver: Any) -> None:
    """Nodes that LangGraph runs in its thread pool may read the saver that is saving them."""
    graph = looping_graph(saver, looks=True)
    assert graph.invoke({"turns": []}, config("sync")) == expected_turns()
    assert asyncio.run(graph.ainvoke({"turns": []}, config("async"))) == expected_turns()


def test_many_threads(saver: Any) -> None:
    """12 threads append to threads of their own and to one they share; nothing is lost."""

    def work(name: int) -> None:
        for step in range(5):
            append(saver, f"own-{name}", f"{step}")
            append(saver, "shared", f"{name}/{step}")

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(work, range(12)))

    for name in range(12):
        assert head_tokens(saver, f"own-{name}") == ["0", "1", "2", "3", "4"]
    logs = tree(saver, "shared")
    added = [log[-1] for log in logs.values()]
    same(added, [f"{name}/{step}" for name in range(12) for step in range(5)])


async def test_many_tasks(saver: Any) -> None:
    """60 tasks of one loop each run a graph on a thread of their own."""
    graph = looping_graph(saver, 2)
    results = await asyncio.gather(
        *(graph.ainvoke({"turns": []}, config(f"t{number}")) for number in range(60))
    )
    assert results == [expected_turns(2)] * 60
    assert [graph.get_state(config(f"t{number}")).values for number in range(60)] == results


def test_closing_while_calls_run(backend: Any) -> None:
    """A call that meets `close` is done whole or raises SaverClosed; nobody waits for ever."""
    saver = backend.open()
    append(saver, "t0", "first")
    stored: list[str] = []
    busy = threading.Event()

    def work(name: int) -> None:
        for step in range(1000):
            try:
                saver.put(*next_step(saver, None, f"t{name}-{step}", "a"))
            except errors.SaverClosed:
                return
            stored.append(f"t{name}-{step}")
            if len(stored) > 20:
                busy.set()
        raise AssertionError("never closed")

    with ThreadPoolExecutor(6) as pool:
        workers = [pool.submit(work, name) for name in range(6)]
        busy.wait(200)
        saver.close()
        for worker in workers:
            worker.result()
    with pytest.raises(errors.SaverClosed):
        saver.get_tuple(config("t0"))
    if backend.name != "memory":
        with backend.open() as again:
            assert all(head_tokens(again, name) == ["a"] for name in stored)


@pytest.mark.parametrize("kind", ["read", "store"])
def test_a_call_between_the_look_and_the_close(
    backend: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A job that found the saver open, and hands itself over when it was closed, is refused: the
    threads that would have served it have stopped."""
    saver = backend.open()
    append(saver, "t0", "first")
    engine = saver._engine
    saver.close()
    monkeypatch.setattr(engine, "_start", lambda: None)  # it looked before the close
    job = engine.post(engine.job(kind, [], "t0"))
    with pytest.raises(errors.SaverClosed):
        engine.wait(job)


# ---- a loop that dies


def abandon(call: Callable[[], Coroutine[Any, Any, Any]], spins: int) -> None:
    """Start a call on a loop of its own and close the loop in the middle of it."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # "destroyed but pending" is what is wanted here

    async def begin() -> None:
        begun.append(loop.create_task(call()))
        for _ in range(spins):
            await asyncio.sleep(0)

    begun: list[Any] = []
    loop.run_until_complete(begin())
    loop.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_closed_in_the_middle_of_a_call(backend: Any) -> None:
    """The call is done whole or not at all, and the next one works from any loop and thread."""
    saver = backend.open()
    append(saver, "t", "start")
    for spins in range(12):
        before = head_tokens(saver, "t")
        abandon(lambda spins=spins: aappend(saver, "t", f"lost-{spins}"), spins)
        abandon(lambda: saver.aget_tuple(config("t")), spins)
        append(saver, "t", f"kept-{spins}")
        asyncio.run(aappend(saver, "t", f"more-{spins}"))
        found = head_tokens(saver, "t")
        assert found[-2:] == [f"kept-{spins}", f"more-{spins}"]
        assert found[: len(before)] == before
    tree(saver, "t")
    at_rest(backend.url)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_closed_while_its_call_waits_for_a_lock(durable: Any) -> None:
    """A write whose caller is gone does not keep the next writer out once the lock is free."""
    saver = durable.open()
    append(saver, "t", "a")
    with write_lock(durable.url):
        abandon(lambda: aappend(saver, "t", "lost"), 200)
        assert head_tokens(saver, "t") == ["a"]
    append(saver, "t", "b")
    assert head_tokens(saver, "t")[-1] == "b"
    tree(saver, "t")
    at_rest(durable.url)


# ---- cancelled calls


async def give_up(call: Coroutine[Any, Any, Any], dice: random.Random) -> None:
    """Cancel a call at a point that the dice choose: after some turns of the loop, or later.

    A run that is cancelled while it ends leaves its last saves to the loop, with any saver: who
    goes on at once would go on next to them.
    """
    task = asyncio.ensure_future(call)
    for _ in range(dice.randrange(12)):
        await asyncio.sleep(0)
    if dice.random() < 0.6:
        await asyncio.sleep(dice.uniform(0, 0.012))
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        await asyncio.wait(left, timeout=200)


async def test_a_cancelled_put_leaves_all_of_it_or_nothing(backend: Any) -> None:
    """Cancelled at 40 points: the checkpoint is whole or absent, and the next call works."""
    saver = backend.open()
    dice = random.Random(7)
    await aappend(saver, "t", "start")
    for number in range(40):
        head = await saver.aget_tuple(config("t"))
        step = next_step(saver, head, "t", f"lost-{number}")
        await give_up(saver.aput(*step), dice)
        name = step[1]["id"]
        found = await saver.aget_tuple(config("t", name))
        if found is not None:
            assert tokens(found) == [*tokens(head), f"lost-{number}"]
        # The next call is made from the old head: a put that failed half-way leaves a hole here.
        await saver.aput(*next_step(saver, head, "t", f"kept-{number}"))
        assert tokens(await saver.aget_tuple(config("t"))) == [*tokens(head), f"kept-{number}"]
    same(
        [name for name in head_tokens(saver, "t") if name.startswith("kept")],
        [f"kept-{number}" for number in range(40)],
    )
    tree(saver, "t")
    at_rest(backend.url)


async def test_a_cancelled_put_ends_while_it_waits_for_a_lock(durable: Any) -> None:
    """Cancelling does not wait for the lock that the put waits for; nothing is kept locked."""
    saver = durable.open()
    await aappend(saver, "t", "a")
    with write_lock(durable.url):
        task = asyncio.ensure_future(aappend(saver, "t", "lost"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task  # the lock is still held here
        assert tokens(await saver.aget_tuple(config("t"))) == ["a"]
    await aappend(saver, "t", "b")
    assert head_tokens(saver, "t")[-1] == "b"
    tree(saver, "t")
    at_rest(durable.url)


async def test_cancelled_writes_are_whole(backend: Any) -> None:
    """A cancelled `aput_writes` of five values leaves five of them or none."""
    saver = backend.open()
    dice = random.Random(8)
    await aappend(saver, "t", "a")
    head = await saver.aget_tuple(config("t"))
    for number in range(40):
        values = [("log", {"from": number, "n": n, "text": "x" * 200}) for n in range(5)]
        await give_up(saver.aput_writes(head.config, values, f"task-{number}"), dice)
        await saver.aput_writes(head.config, [("log", "after")], f"next-{number}")
    found = await saver.aget_tuple(config("t"))
    by_task: dict[str, list[Any]] = {}
    for task, channel, value in found.pending_writes:
        by_task.setdefault(task, []).append((channel, value))
    assert all(by_task[f"next-{number}"] == [("log", "after")] for number in range(40))
    for number in range(40):
        expected = [("log", {"from": number, "n": n, "text": "x" * 200}) for n in range(5)]
        assert by_task.get(f"task-{number}", expected) == expected
    at_rest(backend.url)


async def test_cancelled_reads_hold_nothing(backend: Any) -> None:
    """After cancelled reads and listings every connection is free, and the next calls work."""
    saver = backend.open()
    dice = random.Random(9)
    for number in range(10):
        await aappend(saver, "t", f"{number}")

    async def walk() -> None:
        async for _ in saver.alist(config("t")):
            await asyncio.sleep(0)

    for number in range(60):
        call = saver.aget_tuple(config("t")) if number % 2 else walk()
        await give_up(call, dice)
        if number % 10 == 0:
            await aappend(saver, "t", f"more-{number}")
    assert len([item async for item in saver.alist(config("t"))]) == 16
    assert len(head_tokens(saver, "t")) == 16
    at_rest(backend.url)


async def test_cancelled_graph_runs_resume(backend: Any) -> None:
    """A run that is cancelled anywhere resumes, and ends as one that was never disturbed."""
    saver = backend.open()
    dice = random.Random(10)
    graph = looping_graph(saver)
    for number in range(10):
        where = config(f"t{number}")
        for undisturbed in (False, False, False, True):
            # A cancelled task may have an error next to its result, and `next` is empty then:
            # only going on tells whether a run is over.
            fresh = (await graph.aget_state(where)).created_at is None
            run = graph.ainvoke({"turns": []} if fresh else None, where)
            if undisturbed:
                await run
            else:
                await give_up(run, dice)
        assert (await graph.aget_state(where)).values == expected_turns()
    at_rest(backend.url)


def test_a_signal_interrupts_a_waiting_sync_call(durable: Any) -> None:
    """Ctrl-C gets through to a sync call that waits for a lock, and the next call works."""
    saver = durable.open()
    append(saver, "t", "a")
    step = next_step(saver, saver.get_tuple(config("t")), "t", "lost")

    class Pressed(Exception):
        pass

    def press(*_: Any) -> None:
        raise Pressed

    old = signal.signal(signal.SIGUSR1, press)
    try:
        with write_lock(durable.url):
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.start()
            with pytest.raises(Pressed):
                saver.put(*step)
            timer.join()
    finally:
        signal.signal(signal.SIGUSR1, old)
    append(saver, "t", "b")
    assert head_tokens(saver, "t")[-1] == "b"
    tree(saver, "t")
    at_rest(durable.url)


# ---- threads


def reading() -> int:
    return sum(thread.name == "wyrd-reader" for thread in threading.enumerate())


async def test_as_many_readers_as_are_needed(durable: Any) -> None:
    """Loads one after the other share a thread, and so a connection; those at once have several."""
    with durable.open(**({"readers": 3} if durable.name == "sqlite" else {})) as saver:
        append(saver, "t", "a")
        before = reading()
        for _ in range(20):
            saver.get_tuple(config("t"))
            await saver.aget_tuple(config("t"))
        assert reading() <= before + 1
        for _ in range(20):
            await asyncio.gather(*(saver.aget_tuple(config("t")) for _ in range(20)))
        assert reading() > before + 1


# ---- listings


@contextlib.contextmanager
def narrow(backend: Any) -> Iterator[Any]:
    """A saver with one connection to spare, where holding it would stop everything else."""
    options = {"postgres": {"min_size": 1, "max_size": 1}, "sqlite": {"readers": 1}}
    with backend.open(**options.get(backend.name, {})) as saver:
        yield saver


def test_an_abandoned_listing_holds_nothing(backend: Any) -> None:
    """A `list` that is left half-way keeps no connection and no lock, even before it is closed."""
    with narrow(backend) as saver:
        for token in "abcdef":
            append(saver, "t", token)
        left = [saver.list(config("t")) for _ in range(8)]
        assert [next(listing).metadata["token"] for listing in left] == ["f"] * 8
        at_rest(backend.url)
        append(saver, "t", "g")
        assert len(head_tokens(saver, "t")) == 7
        assert [item.metadata["token"] for item in left[0]] == list("edcba")


async def test_an_abandoned_alist_holds_nothing(backend: Any) -> None:
    """The same for `alist`, for `break` as for an iterator that is only forgotten."""
    with narrow(backend) as saver:
        for token in "abcdef":
            await aappend(saver, "t", token)
        left: list[AsyncIterator[Any]] = [saver.alist(config("t")) for _ in range(8)]
        assert [(await anext(listing)).metadata["token"] for listing in left] == ["f"] * 8
        async for _ in saver.alist(config("t")):
            break
        at_rest(backend.url)
        await aappend(saver, "t", "g")
        assert len(head_tokens(saver, "t")) == 7
        assert [item.metadata["token"] async for item in left[0]] == list("edcba")
        del left
        gc.collect()
        assert tokens(await saver.aget_tuple(config("t")))[-1] == "g"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_alist_that_outlives_its_loop_holds_nothing(backend: Any) -> None:
    """Its loop closed, a half-read listing neither holds a connection nor stops the next call."""
    with narrow(backend) as saver:
        for token in "abc":
            append(saver, "t", token)
        loop = asyncio.new_event_loop()
        left = [saver.alist(config("t"))]

        async def begin() -> Any:
            return await anext(left[0])

        assert loop.run_until_complete(begin()).metadata["token"] == "c"
        loop.close()
        at_rest(backend.url)
        append(saver, "t", "d")
        left.clear()
        gc.collect()
        assert head_tokens(saver, "t") == list("abcd")


def test_writing_while_listing(backend: Any) -> None:
    """`for x in saver.list(): saver.put(…)` ends, and lists what there was when it began."""
    with narrow(backend) as saver:
        for token in "abcdef":
            append(saver, "t", token)
        seen = []
        for number, item in enumerate(saver.list(config("t"))):
            seen.append(item.metadata["token"])
            saver.put(*next_step(saver, item, "t", f"child-{number}"))
        assert seen == list("fedcba")
        logs = tree(saver, "t")
        assert len(logs) == 12


async def test_writing_while_alisting(backend: Any) -> None:
    """The same on a loop, with reads in between, and across threads."""
    with narrow(backend) as saver:
        for name in "xyz":
            for token in "abc":
                await aappend(saver, name, token)
        seen = 0
        async for item in saver.alist(None):
            seen += 1
            name = item.config["configurable"]["thread_id"]
            await saver.aput(*next_step(saver, item, name, f"child-{seen}"))
            assert await saver.aget_tuple(config(name))
        assert seen == 9
        assert [len(tree(saver, name)) for name in "xyz"] == [6, 6, 6]


def test_deleting_while_listing(saver: Any) -> None:
    """A thread may be deleted from inside the listing that found it."""
    for name in "xyz":
        for token in "ab":
            append(saver, name, token)
    found = set()
    for item in saver.list(None):
        name = item.config["configurable"]["thread_id"]
        found.add(name)
        saver.delete_thread(name)
    assert found == set("xyz")
    assert list(saver.list(None)) == []


# ---- SQLite: a reader never waits for a writer


def hold_write_lock(url: str) -> None:
    """In another process: take the write lock, change something, keep it."""
    manager = raw(url)
    connection = manager.__enter__()
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TABLE held (x)")
    HELD.append((manager, connection))


def release_write_lock() -> bool:
    manager, connection = HELD.pop()
    held = connection.in_transaction
    connection.execute("ROLLBACK")
    manager.__exit__(None, None, None)
    return held


HELD: list[Any] = []


async def test_reads_go_on_while_another_process_writes(sqlite: Any) -> None:
    """Reads of every kind, and opening, return while the lock is held; a put waits for it."""
    saver = sqlite.open()
    for token in "abc":
        append(saver, "t", token)
    other = Peer()
    try:
        other(hold_write_lock, sqlite.url)
        waiting = asyncio.ensure_future(aappend(saver, "t", "d"))
        await asyncio.sleep(0.1)

        assert head_tokens(saver, "t") == list("abc")
        assert tokens(await saver.aget_tuple(config("t"))) == list("abc")
        assert len(list(saver.list(config("t")))) == 3
        assert len([item async for item in saver.alist(None)]) == 3
        graph = looping_graph(saver)
        assert graph.get_state(config("nobody")).values == {}
        with sqlite.open() as newcomer:
            assert head_tokens(newcomer, "t") == list("abc")

        assert not waiting.done()
        assert other(release_write_lock), "the lock was gone before the reads were over"
        await waiting
        assert head_tokens(saver, "t") == list("abcd")
    finally:
        other.stop()


async def test_reads_go_on_while_this_saver_writes(sqlite: Any) -> None:
    """What this saver's own put waits for, its reads do not."""
    saver = sqlite.open()
    append(saver, "t", "a")
    with write_lock(sqlite.url):
        writes = [asyncio.ensure_future(aappend(saver, f"w{n}", "x")) for n in range(10)]
        await asyncio.sleep(0.05)
        for _ in range(20):
            assert tokens(await saver.aget_tuple(config("t"))) == ["a"]
            assert head_tokens(saver, "t") == ["a"]
        assert not any(write.done() for write in writes)
    await asyncio.gather(*writes)
    assert all(head_tokens(saver, f"w{n}") == ["x"] for n in range(10))


# ---- merged writes


class Stubborn:
    """Nothing that a serde knows."""

    def __reduce__(self) -> Any:
        raise TypeError("stays here")


async def test_one_unserialisable_value_harms_nobody_else(saver: Any) -> None:
    """Among 40 puts at once the bad one raises and names its channel; the good ones are stored."""

    async def one(number: int) -> Any:
        extra = {"odd": {"deep": [1, Stubborn()]}} if number == 17 else None
        return await saver.aput(*next_step(saver, None, f"t{number}", "a", extra=extra))

    results = await asyncio.gather(*(one(number) for number in range(40)), return_exceptions=True)
    bad = results[17]
    assert isinstance(bad, errors.Unserialisable)
    assert bad.channel == "odd"
    assert "deep" in bad.path
    assert not any(isinstance(found, BaseException) for found in results[:17] + results[18:])
    assert saver.get_tuple(config("t17")) is None
    for number in {*range(40)} - {17}:
        assert head_tokens(saver, f"t{number}") == ["a"]


async def test_one_unserialisable_write_harms_nobody_else(saver: Any) -> None:
    """The same for `put_writes`: the bad task's writes are refused whole."""
    await aappend(saver, "t", "a")
    head = saver.get_tuple(config("t"))

    async def one(number: int) -> Any:
        value = Stubborn() if number == 5 else {"from": number}
        writes = [("first", number), ("second", value)]
        return await saver.aput_writes(head.config, writes, f"task-{number:02}")

    results = await asyncio.gather(*(one(number) for number in range(20)), return_exceptions=True)
    assert isinstance(results[5], errors.Unserialisable)
    assert results[5].channel == "second"
    assert [found for found in results if found is not None] == [results[5]]
    stored = {task for task, _, _ in saver.get_tuple(config("t")).pending_writes}
    assert stored == {f"task-{number:02}" for number in range(20)} - {"task-05"}


async def test_one_write_that_the_database_refuses_harms_nobody_else(durable: Any) -> None:
    """A merged transaction that fails is taken apart: only the refused member raises."""
    saver = durable.open()
    append(saver, "poison", "a")
    with refusing_thread(durable.url, "poison"):
        head = saver.get_tuple(config("poison"))
        calls = [saver.aput(*next_step(saver, None, f"t{n}", "a")) for n in range(30)]
        calls.insert(11, saver.aput(*next_step(saver, head, "poison", "b")))
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(results[11], errors.StoreError)
    assert not any(isinstance(found, BaseException) for found in results[:11] + results[12:])
    assert all(head_tokens(saver, f"t{n}") == ["a"] for n in range(30))
    assert head_tokens(saver, "poison") == ["a"]
    await aappend(saver, "poison", "c")
    assert head_tokens(saver, "poison") == ["a", "c"]
    at_rest(durable.url)


@contextlib.contextmanager
def refusing_thread(url: str, thread: str) -> Iterator[None]:
    """Only this thread's row can't be updated."""
    with raw(url) as connection:
        if url.startswith("sqlite"):
            connection.execute(
                "CREATE TRIGGER refuse BEFORE UPDATE ON wyrd_threads"
                f" WHEN NEW.thread_id = '{thread}'"
                " BEGIN SELECT RAISE(ABORT, 'refused by a test'); END"
            )
            undo = "DROP TRIGGER refuse"
        else:
            connection.execute(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE EXCEPTION 'refused by a test'; END $$"
            )
            connection.execute(
                "CREATE TRIGGER refuse BEFORE UPDATE ON wyrd_threads FOR EACH ROW"
                f" WHEN (NEW.thread_id = '{thread}') EXECUTE FUNCTION refuse()"
            )
            undo = "DROP FUNCTION refuse CASCADE"
    try:
        yield
    finally:
        with raw(url) as connection:
            connection.execute(undo)


async def test_on_windows_any_loop_will_do(postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """psycopg refuses to work on the loop that Windows has by default; the saver's connections are
    not that loop's. (The platform is simulated.)"""
    import psycopg
    from psycopg import connection_async

    class Windows:
        platform = "win32"

    monkeypatch.setattr(connection_async, "sys", Windows)
    loop = type(asyncio.get_running_loop())
    monkeypatch.setattr(asyncio, "ProactorEventLoop", loop, raising=False)
    with pytest.raises(psycopg.InterfaceError, match="Proactor"):
        await psycopg.AsyncConnection.connect(postgres.url)
    async with postgres.open() as saver:
        await aappend(saver, "t", "a")
        assert tokens(await saver.aget_tuple(config("t"))) == ["a"]
        assert [each.thread_id for each in await saver.athreads()] == ["t"]
        assert [found async for found in saver.alist(config("t"))]


async def test_nothing_blocks_the_callers_loop(durable: Any) -> None:
    """A saver is made, opened, used and closed in a coroutine where blocking calls raise, as under
    `langgraph dev`."""
    blockbuster = pytest.importorskip("blockbuster", reason="comes with langgraph-cli[inmem]")
    guard = blockbuster.BlockBuster()
    guard.activate()
    try:
        async with durable.open() as saver:
            await aappend(saver, "t", "a")
            assert tokens(await saver.aget_tuple(config("t"))) == ["a"]
            thread = saver.thread("t")
            await thread.adecide("go on")
            await thread.alabel("here")
            await thread.afork("other")
            assert (await thread.adiff("here", thread)).empty
            assert len(await saver.athreads()) == 2
            assert not await saver.ainbox()
            assert (await saver.averify()).ok
    finally:
        guard.deactivate()
