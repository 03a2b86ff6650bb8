"""single_writer=True: one run in a thread at a time, across processes, and none is locked out."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.errors import GraphRecursionError
from langgraph.types import Command

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.checkpoints.leases import Run, lease_key
from langgraph_wyrd.errors import ConcurrentRun
from langgraph_wyrd.storage.rows import insert
from langgraph_wyrd.storage.tables import LEASES, LeaseRow
from tests import held_runs
from tests.conftest import Backend
from tests.handmade import config
from tests.held_runs import ask, came_to, chain, fail, first, functional, last, slow, until
from tests.outside import Peer, at_rest, raw, write_lock
from tests.test_hooks import heard

pytestmark = pytest.mark.timeout(300, method="thread")

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def all_peers() -> Iterator[list[Peer]]:
    peers = [Peer() for _ in range(2)]
    yield peers
    for peer in peers:
        peer.stop()


@pytest.fixture
def peers(all_peers: list[Peer], durable: Backend) -> Iterator[list[Peer]]:
    """Two other processes with a saver on the database."""
    for peer in all_peers:
        peer(held_runs.open_saver, durable.url)
    yield all_peers
    for peer in all_peers:
        peer(held_runs.close_saver)


@pytest.fixture
def nothing_collected() -> Iterator[None]:
    """What is left of a run in circles stays."""
    gc.disable()
    yield
    gc.enable()


def held(url: str) -> list[str]:
    """The threads that are held."""
    with raw(url) as connection:
        found = connection.execute(
            "SELECT thread_id FROM wyrd_leases WHERE owner <> '' ORDER BY 1"
        ).fetchall()
    return [thread for (thread,) in found]


def forks(url: str) -> list[Any]:
    """The root checkpoints of one parent, where there are several."""
    with raw(url) as connection:
        return list(
            connection.execute(
                "SELECT thread, parent FROM wyrd_checkpoints WHERE ns = '' "
                "GROUP BY thread, parent HAVING count(*) > 1"
            ).fetchall()
        )


def began(folder: Path, peer: Peer | None = None) -> None:
    pid = os.getpid() if peer is None else peer.process.pid
    until((folder / f"began-{pid}").exists)


def settled(saver: WyrdSaver, *said: str) -> None:
    """Wait until what a run's nodes have said so far is stored: that is done in the background."""

    def stored() -> bool:
        found = saver.get_tuple(config("t"))
        values = found.checkpoint["channel_values"] if found else {}
        return bool(values.get("said") == [*said])

    until(stored)
    time.sleep(0.2)


# ---- two processes


def test_the_second_run_is_refused_until_the_first_ends(
    durable: Backend, peers: list[Peer], tmp_path: Path
) -> None:
    """The run that came first is not disturbed; the other is refused before a node of it ran."""
    one, two = peers
    one.start(held_runs.run_slowly, str(tmp_path))
    began(tmp_path, one)
    said, known, took = two(
        held_runs.run, "t", {"said": ["two"], "folder": str(tmp_path)}, "slow last"
    )
    assert known[:2] == ("t", one.process.pid)
    assert f"pid {one.process.pid}" in said
    assert "saver.thread('t').release()" in said
    assert took < 20
    assert not (tmp_path / f"began-{two.process.pid}").exists()
    until(lambda: two(held_runs.look) == ["in", "first"])  # it is stored in the background
    assert two(held_runs.run, "another", {"said": ["in"]}) == ["in", "first", "last"]
    (tmp_path / "go").touch()
    assert one.result() == ["in", "first", "slow", "last"]
    assert two(held_runs.run, "t", {"said": ["two"]}) == [
        "in", "first", "slow", "last", "two", "first", "last"
    ]  # fmt: skip
    assert forks(durable.url) == []
    assert held(durable.url) == []
    at_rest(durable.url)


def test_a_killed_run_is_gone_on_with_at_once(durable: Backend, tmp_path: Path) -> None:
    """A holder that was killed does not keep its thread: another process resumes in seconds."""

    one, two = Peer(), Peer()
    try:
        for peer in (one, two):
            peer(held_runs.open_saver, durable.url)
        one.start(held_runs.run_slowly, str(tmp_path))
        began(tmp_path, one)
        settled(durable.open(), "in", "first")
        assert one.process.pid is not None
        os.kill(one.process.pid, signal.SIGKILL)
        (tmp_path / "go").touch()
        two(held_runs.patient)  # so that it is not its silence that tells
        found: Any = None
        while not isinstance(found, list):  # it takes a moment to die
            found = two(held_runs.run, "t", None, "first slow last")
        assert found == ["in", "first", "slow", "last"]
        two(held_runs.close_saver)
    finally:
        one.process.join()
        two.stop()


def test_a_question_is_answered_elsewhere_at_once(durable: Backend, peers: list[Peer]) -> None:
    """Stop at a question here, answer it there: no waiting, whatever is left of the run here."""
    one, two = peers
    for turn in range(3):
        one(held_runs.ask_and_stop, f"t{turn}")
        assert two(held_runs.resume, f"t{turn}") == ["in", "first", "yes", "last"]


def _lease_elsewhere(connection: Any, thread: str = "t") -> None:
    is_postgres = "psycopg" in type(connection).__module__
    key, now = lease_key("postgres" if is_postgres else "sqlite", thread), time.time()
    held = LeaseRow(key, thread, "theirs", "far", "far away", 7, "1", now, now, None, None)
    sql = insert(LEASES)
    connection.execute(sql.replace("?", "%s") if is_postgres else sql, held)


# ---- one process


async def test_two_tasks_and_two_threads(durable: Backend, call: Call, tmp_path: Path) -> None:
    """Within a process as well: the second of two tasks, or threads, is refused."""
    saver = durable.open(single_writer=True)
    graph = chain(first, slow, last, checkpointer=saver)
    running = asyncio.create_task(
        asyncio.to_thread(graph.invoke, {"said": ["in"], "folder": str(tmp_path)}, config("t"))
    )
    await asyncio.to_thread(began, tmp_path)
    with pytest.raises(ConcurrentRun, match="this process"):
        await call(graph, "invoke", {"said": ["two"]}, config("t"))
    await call(graph, "get_state", config("t"))
    (tmp_path / "go").touch()
    assert (await running)["said"] == ["in", "first", "slow", "last"]
    await call(graph, "invoke", {"said": ["two"]}, config("t"))
    assert forks(durable.url) == []


async def test_of_many_beginnings_one_succeeds(durable: Backend) -> None:
    """Eight runs begin a thread at the same moment: one of them has it, seven are refused."""
    savers = [durable.open(single_writer=True) for _ in range(2)]
    for each in savers:
        each.setup()
    gate = threading.Barrier(8, timeout=200)
    refused = threading.Semaphore(0)

    def pause(state: held_runs.State) -> held_runs.State:
        for _ in range(7):  # however slow the machine is, all of them begin while this goes on
            refused.acquire(timeout=200)
        return {"said": ["pause"]}

    def one(number: int) -> str:
        graph = chain(first, pause, checkpointer=savers[number % 2])
        gate.wait()
        try:
            given: Any = {"said": [str(number)]}
            if number % 4 < 2:
                graph.invoke(given, config("t"))
            else:
                asyncio.run(graph.ainvoke(given, config("t")))
        except ConcurrentRun:
            refused.release()
            return "refused"
        return "ran"

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = await asyncio.gather(
            *(asyncio.get_running_loop().run_in_executor(pool, one, n) for n in range(8))
        )
    assert sorted(found) == ["ran", *["refused"] * 7]
    assert len(list(savers[0].list(config("t")))) == 4
    until(lambda: held(durable.url) == [])


# ---- how runs end


ENDINGS: dict[str, Callable[[WyrdSaver], Any]] = {
    "done": lambda saver: chain(first, last, checkpointer=saver),
    "asked": lambda saver: chain(first, ask, last, checkpointer=saver),
    "asked in parallel": lambda saver: chain([ask, first], last, checkpointer=saver),
    "asked below": lambda saver: chain(chain(first, ask), last, checkpointer=saver),
    "failed": lambda saver: chain(first, fail, checkpointer=saver),
    "entrypoint": lambda saver: functional(saver, False),
    "entrypoint asked": lambda saver: functional(saver, True),
    "breakpoint": lambda s: chain(first, last, checkpointer=s, interrupt_before=["last"]),
    "breakpoint after": lambda s: chain(first, last, checkpointer=s, interrupt_after=["first"]),
    "limit": lambda saver: chain(first, slow, last, checkpointer=saver),
}


PLAIN = ("done", "asked", "asked in parallel", "failed")


@pytest.mark.parametrize(
    ("ending", "pillars"), [*((each, True) for each in ENDINGS), *((p, False) for p in PLAIN)]
)
@pytest.mark.usefixtures("nothing_collected")
async def test_a_run_that_ended_lets_go(
    durable: Backend, call: Call, ending: str, pillars: bool
) -> None:
    """However it ends, the thread is free when the call returns."""
    saver = durable.open(single_writer=True, pillars=pillars)
    graph = ENDINGS[ending](saver)
    given: Any = 1 if ending.startswith("entrypoint") else {"said": ["in"]}
    at: Any = {**config("t"), "recursion_limit": 1 if ending == "limit" else 25}
    durabilities = ("async", "sync", "exit") if ending in ("done", "asked") else ("async",)
    for number, durability in enumerate(durabilities):
        if number:
            saver.delete_thread("t")
        try:
            await call(graph, "invoke", given, at, durability=durability)
        except ValueError:
            assert ending == "failed"
        except GraphRecursionError:
            assert ending == "limit"
        assert held(durable.url) == []
    if ending.endswith("asked"):  # and again, after it asked twice
        await call(graph, "invoke", Command(resume="yes"), config("t"))
        assert held(durable.url) == []


async def test_a_cancelled_run_lets_go(durable: Backend) -> None:
    """A task that is cancelled in the middle of a node frees the thread at once."""
    saver = durable.open(single_writer=True)

    async def wait(state: held_runs.State) -> held_runs.State:
        started.set()
        await asyncio.sleep(600)
        return {}

    started = asyncio.Event()
    graph = chain(first, wait, last, checkpointer=saver)
    running = asyncio.create_task(graph.ainvoke({"said": ["in"]}, config("t")))
    await came_to(running, started.is_set)
    assert held(durable.url) == ["t"]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    del running
    await asyncio.to_thread(until, lambda: held(durable.url) == [])


async def test_a_run_that_is_given_up_while_it_begins(durable: Backend) -> None:
    """Cancelled while its claim still waited for the database: the claim does not stay."""
    saver = durable.open(single_writer=True)
    saver.setup()
    graph = chain(first, last, checkpointer=saver)
    with write_lock(durable.url):
        running = asyncio.create_task(graph.ainvoke({"said": ["in"]}, config("t")))
        await asyncio.sleep(0.5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        del running
    await asyncio.sleep(0.5)
    await asyncio.to_thread(until, lambda: held(durable.url) == [])
    assert saver._leases is not None
    assert not saver._leases._held()


def test_a_dropped_stream_lets_go(durable: Backend) -> None:
    """Who stops reading a stream has ended the run; as long as it is held, it goes on."""
    saver = durable.open(single_writer=True)
    graph = chain(first, last, checkpointer=saver)
    stream = graph.stream({"said": ["in"]}, config("t"))
    next(stream)
    with pytest.raises(ConcurrentRun):
        graph.invoke({"said": ["two"]}, config("t"))
    del stream
    assert graph.invoke({"said": ["two"]}, config("t"))["said"][-3:] == ["two", "first", "last"]


@pytest.mark.usefixtures("nothing_collected")
def test_what_is_left_in_circles_is_collected_when_asked_for(durable: Backend) -> None:
    """A run that ended in a way that no state tells does not shut out the next one here."""
    saver = durable.open(single_writer=True)
    stream = chain(first, last, checkpointer=saver).stream({"said": ["in"]}, config("t"))
    next(stream)
    circle: list[Any] = [stream]
    circle.append(circle)
    del stream, circle
    assert held(durable.url) == ["t"]
    graph = chain(first, last, checkpointer=saver)
    assert graph.invoke({"said": ["two"]}, config("t"))["said"][-1] == "last"


def test_closing_lets_go(durable: Backend) -> None:
    """A saver that is closed gives back what its runs held."""
    saver = durable.open(single_writer=True)
    stream = chain(first, last, checkpointer=saver).stream({"said": ["in"]}, config("t"))
    next(stream)
    assert held(durable.url) == ["t"]
    saver.close()
    assert held(durable.url) == []
    stream.close()


# ---- a holder that stood still


@pytest.mark.parametrize("pillars", [True, False])
def test_a_run_that_lost_its_thread_is_refused(
    durable: Backend, tmp_path: Path, pillars: bool
) -> None:
    """Another run took over meanwhile: nothing of the first one lands in what is the other's."""
    saver = durable.open(single_writer=True, pillars=pillars)
    graph = chain(first, slow, last, checkpointer=saver)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        given: Any = {"said": ["in"], "folder": str(tmp_path)}
        running = pool.submit(graph.invoke, given, config("t"))
        began(tmp_path)
        settled(saver, "in", "first")
        assert saver.thread("t").release()
        with raw(durable.url) as connection:
            _lease_elsewhere(connection)
        stored = len(list(saver.list(config("t"))))
        (tmp_path / "go").touch()
        with pytest.raises(ConcurrentRun, match="host far"):
            running.result(30)
    assert len(list(saver.list(config("t")))) == stored
    assert [write[1] for write in saver.get_tuple(config("t")).pending_writes or ()] == []
    with raw(durable.url) as connection:
        assert connection.execute("SELECT owner FROM wyrd_leases").fetchall() == [("theirs",)]


def test_a_late_write_of_a_run_in_doubt_looks_at_the_lease() -> None:
    """What a task wrote may be planned when the next checkpoint was refused already. It is only
    stored without a look where the run has let its thread go by itself."""

    class Token:
        pass

    control, token = Token(), Token()
    run = Run("sqlite", "t", control, token)
    for held, doubted, looks in ((True, False, 1), (False, True, 1), (False, False, 0)):
        run.held, run.doubted = held, doubted
        assert len(run.steps()) == looks


@pytest.mark.parametrize("how", ["expired", "released"])
async def test_a_run_that_nobody_replaced_goes_on(
    durable: Backend, call: Call, how: str, tmp_path: Path
) -> None:
    """It claims its thread again, and ends as if nothing had been."""
    saver = durable.open(single_writer=True)
    graph = chain(first, slow, last, checkpointer=saver)
    given: Any = {"said": ["in"], "folder": str(tmp_path)}
    running = asyncio.create_task(asyncio.to_thread(graph.invoke, given, config("t")))
    await asyncio.to_thread(began, tmp_path)
    await asyncio.to_thread(settled, saver, "in", "first")
    if how == "released":
        assert await call(saver.thread("t"), "release")
        assert not await call(saver.thread("t"), "release")
    else:
        with raw(durable.url) as connection:
            connection.execute("UPDATE wyrd_leases SET seen = seen - 3600")
    (tmp_path / "go").touch()
    assert (await running)["said"] == ["in", "first", "slow", "last"]
    assert held(durable.url) == []


# ---- what stays possible


async def test_updates_and_time_travel(durable: Backend, call: Call) -> None:
    """While nobody runs: an update, a replay, a new input at an old point. They lock nothing."""
    saver = durable.open(single_writer=True)
    reported = heard(saver, "fork")
    graph = chain(first, last, checkpointer=saver)
    await call(graph, "invoke", {"said": ["in"]}, config("t"))
    old = list(saver.list(config("t")))[-2].config
    await call(graph, "update_state", config("t"), {"said": ["more"]}, "first")
    assert held(durable.url) == []
    await call(graph, "invoke", None, old)
    await call(graph, "invoke", {"said": ["again"]}, old)
    await call(graph, "update_state", old, {"said": ["other"]}, "first")
    assert held(durable.url) == []
    assert all(each.detail["deliberate"] for each in reported)
    assert len(reported) == 3


async def test_an_update_while_a_run_goes_on(durable: Backend, call: Call, tmp_path: Path) -> None:
    """A person's update is never refused; what the run stores next to it is reported as a fork."""
    saver = durable.open(single_writer=True)
    reported = heard(saver, "fork")
    graph = chain(first, slow, last, checkpointer=saver)
    given: Any = {"said": ["in"], "folder": str(tmp_path)}
    running = asyncio.create_task(asyncio.to_thread(graph.invoke, given, config("t")))
    await asyncio.to_thread(began, tmp_path)
    await asyncio.to_thread(settled, saver, "in", "first")
    await call(graph, "update_state", config("t"), {"said": ["more"]}, "slow")
    (tmp_path / "go").touch()
    assert (await running)["said"] == ["in", "first", "slow", "last"]
    (fork,) = reported
    assert not fork.detail["deliberate"]


async def test_a_look_from_within_a_node_claims_nothing(durable: Backend, call: Call) -> None:
    """A node that looks at another thread's state does not hold that thread."""
    saver = durable.open(single_writer=True)
    plain = chain(first, checkpointer=saver)
    plain.invoke({"said": ["in"]}, config("other"))
    found = []

    def peek(state: held_runs.State) -> held_runs.State:
        found.append(plain.get_state(config("other")).values["said"])
        found.append(held(durable.url))
        return {}

    await call(chain(peek, checkpointer=saver), "invoke", {"said": ["in"]}, config("t"))
    assert found == [["in", "first"], ["t"]]


def test_deleting_frees_a_thread(durable: Backend, tmp_path: Path) -> None:
    """A deleted thread's id can be used again at once; the run that went on in it is refused."""
    from langgraph_wyrd.errors import ThreadDeleted

    saver = durable.open(single_writer=True)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        given: Any = {"said": ["in"], "folder": str(tmp_path)}
        graph = chain(first, slow, last, checkpointer=saver)
        running = pool.submit(graph.invoke, given, config("t"))
        began(tmp_path)
        settled(saver, "in", "first")
        saver.delete_thread("t")
        new = chain(first, last, checkpointer=saver).invoke({"said": ["new"]}, config("t"))
        (tmp_path / "go").touch()
        with pytest.raises(ThreadDeleted):
            running.result(30)
    assert new["said"] == ["new", "first", "last"]
    assert saver.get_tuple(config("t")).checkpoint["channel_values"]["said"] == new["said"]
    again = chain(first, last, checkpointer=saver).invoke({"said": ["again"]}, config("t"))
    assert again["said"] == [*new["said"], "again", "first", "last"]
    assert held(durable.url) == []


# ---- what it costs


def test_without_the_option_no_lease_is_taken(durable: Backend, tmp_path: Path) -> None:
    """Two runs go on side by side as ever."""
    saver = durable.open()
    graph = chain(first, slow, last, checkpointer=saver)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        given: Any = {"said": ["in"], "folder": str(tmp_path)}
        running = pool.submit(graph.invoke, given, config("t"))
        began(tmp_path)
        assert held(durable.url) == []
        chain(first, last, checkpointer=saver).invoke({"said": ["two"]}, config("t"))
        (tmp_path / "go").touch()
        running.result(30)


# ---- processes


def test_a_forked_child_is_another_run(durable: Backend) -> None:
    """A child that is forked in the middle of a run does not write into its parent's thread."""
    saver = durable.open(single_writer=True)
    stream = chain(first, last, checkpointer=saver).stream({"said": ["in"]}, config("t"))
    next(stream)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            chain(first, checkpointer=saver).invoke({"said": ["child"]}, config("t"))
        except ConcurrentRun as error:
            code = 7 if re.search(f"another process.*pid {os.getppid()}", str(error)) else 2
        finally:
            saver.close()
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    list(stream)
    assert held(durable.url) == []
