"""A LangGraph server whose langgraph.json names a bare saver, used through its SDK.

Needs `langgraph-cli[inmem]`, in this environment or in that of the Python which
WYRD_TEST_SERVER_PYTHON names.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client

from langgraph_wyrd import WyrdSaver
from tests.conftest import DURABLE, fresh_postgres

HERE = Path(__file__).parent
PYTHON = os.environ.get("WYRD_TEST_SERVER_PYTHON", sys.executable)

pytestmark = [
    pytest.mark.skipif(
        sys.executable == PYTHON
        and importlib.util.find_spec("langgraph_api") is None
        and not (os.environ.get("CI") and sys.version_info >= (3, 11)),
        reason="langgraph-cli[inmem] is not installed (Python 3.11 or newer)",
    ),
    pytest.mark.xdist_group("server"),
]


class Server:
    """`langgraph dev` on a free port of this machine, as a process of its own."""

    def __init__(self, folder: Path, database: str, **environment: str) -> None:
        self.database = database
        project = folder / "project"  # a copy: the server keeps files of its own next to it
        if not project.exists():
            shutil.copytree(HERE / "server", project, ignore=shutil.ignore_patterns("__pycache__"))
        self.logfile = folder / f"{uuid.uuid4()}.log"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        inherited = {k: os.environ[k] for k in ("PATH", "HOME", "TMPDIR") if k in os.environ}
        command = [PYTHON, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
        with self.logfile.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--port", str(port), "--n-jobs-per-worker", "20"],
                cwd=project,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={
                    **inherited,
                    "PYTHONPATH": str(HERE.parent),
                    "LANGSMITH_TRACING": "false",
                    "LANGGRAPH_NO_VERSION_CHECK": "true",
                    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
                    "LOG_JSON": "true",
                    "WYRD_SERVER_DATABASE": database,
                    **environment,
                },
            )

    def __enter__(self) -> Server:
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/ok"):
                return self
            time.sleep(0.05)
        self.process.kill()
        self.process.wait()
        raise AssertionError(f"the server did not come up:\n{self.logfile.read_text()}")

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> int:
        """Ask it to end, as a service manager does; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def log(self) -> list[dict[str, Any]]:
        lines = self.logfile.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def complaints(self) -> list[dict[str, Any]]:
        """Everything logged above "info"."""
        return [r for r in self.log() if r.get("level") not in ("debug", "info")]


@contextlib.contextmanager
def server_on(name: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    with contextlib.ExitStack() as stack:
        if name == "sqlite":
            database = f"sqlite:///{folder / 'wyrd.db'}"
        else:
            server = request.getfixturevalue("postgres_server")
            database = stack.enter_context(fresh_postgres(server))
        yield stack.enter_context(Server(folder, database))


@pytest.fixture(scope="module", params=DURABLE)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One server a database for the tests of this file; each test has threads of its own."""
    with server_on(request.param, tmp_path_factory.mktemp("server"), request) as made:
        yield made


@dataclass
class Desk:
    """What a scenario works with."""

    client: Any  # the SDK's
    stored: WyrdSaver  # a saver of this process on the server's database


Scenario = Callable[[Desk], Coroutine[Any, Any, None]]
SCENARIOS: dict[str, Scenario] = {}


@pytest.fixture(scope="module")
def outcomes(server: Server) -> dict[str, BaseException | None]:
    """How each scenario ended. They run at the same time: the server looks for work twice a
    second, so one after the other they would mostly wait."""

    async def everything() -> list[BaseException | None]:
        async with (
            get_client(url=server.url, api_key=None) as client,
            WyrdSaver.from_conn_string(server.database) as stored,
        ):
            desk = Desk(client, stored)
            tasks = (scenario(desk) for scenario in SCENARIOS.values())
            return await asyncio.gather(*tasks, return_exceptions=True)

    return dict(zip(SCENARIOS, asyncio.run(everything()), strict=True))


def scenario(function: Scenario) -> Callable[[dict[str, BaseException | None]], None]:
    """A test that is told how its scenario ended."""
    name = function.__name__
    SCENARIOS[name] = function

    def test(outcomes: dict[str, BaseException | None]) -> None:
        if error := outcomes[name]:
            raise error

    test.__name__, test.__doc__ = name, function.__doc__
    return test


async def until(found: Callable[[], Any]) -> Any:
    """What `found` gives, once it gives something: the server works in the background."""
    deadline = time.monotonic() + 120
    while not (got := await found()):
        assert time.monotonic() < deadline, "it never came"
        await asyncio.sleep(0.05)
    return got


async def new_thread(client: Any, graph: str = "agent") -> str:
    return str((await client.threads.create(graph_id=graph))["thread_id"])


async def notes(client: Any, thread: str) -> list[str]:
    return list((await client.threads.get_state(thread))["values"].get("notes", []))


async def prune(client: Any, threads: list[str], strategy: str) -> None:
    """Through the route of our own, see server/app.py."""
    await client.http.post("/wyrd/prune", json={"thread_ids": threads, "strategy": strategy})


async def checkpoints(saver: WyrdSaver, thread: str) -> list[Any]:
    return [t async for t in saver.alist({"configurable": {"thread_id": thread}})]


def test_starts_without_reporting_a_missing_method(server: Server) -> None:
    """The server finds every method that it looks for on a bare saver, and warns of nothing."""
    log = server.log()
    assert any(r["event"] == "Using custom checkpointer: WyrdSaver" for r in log)
    assert [r for r in log if "missing" in r["event"] and "heckpointer" in r["event"]] == []
    with urllib.request.urlopen(f"{server.url}/wyrd/capabilities") as answer:
        capabilities = json.load(answer)
    capabilities.pop("has_aget_iter")  # the server's own, not in LangGraph's contract
    assert capabilities == {
        "has_adelete_thread": True,
        "has_adelete_for_runs": True,
        "has_acopy_thread": True,
        "has_aprune": True,
    }


@scenario
async def test_runs_and_remembers(desk: Desk) -> None:
    """Runs on one thread continue from each other, and their checkpoints are in our database."""
    client, stored = desk.client, desk.stored
    thread = await new_thread(client)
    for n in (1, 2):
        values = await client.runs.wait(thread, "agent", input={"notes": [f"run {n}"]})
    expected = ["run 1", "prepared", "worked", "run 2", "prepared", "worked"]
    assert values["notes"] == expected
    history = await client.threads.get_history(thread, limit=100)
    ours = await checkpoints(stored, thread)
    assert [s["checkpoint"]["checkpoint_id"] for s in history] == [
        t.config["configurable"]["checkpoint_id"] for t in ours
    ]
    assert ours[0].checkpoint["channel_values"]["notes"] == expected
    assert {t.metadata["graph_id"] for t in ours} == {"agent"}
    assert len({t.metadata["run_id"] for t in ours}) == 2


@scenario
async def test_history_filters_by_metadata_and_pages(desk: Desk) -> None:
    """The history endpoint's limit, before and metadata filter reach the saver."""
    client = desk.client
    thread = await new_thread(client)
    for n in (1, 2):
        await client.runs.wait(thread, "agent", input={"notes": [str(n)]})
    everything = await client.threads.get_history(thread, limit=100)
    assert [s["metadata"]["step"] for s in everything] == [6, 5, 4, 3, 2, 1, 0, -1]
    inputs = await client.threads.get_history(thread, limit=100, metadata={"source": "input"})
    assert [s["metadata"]["step"] for s in inputs] == [3, -1]
    # The SDK's own call sends `before` in a form on which this server fails, whatever the saver.
    query = {"limit": 2, "before": everything[1]["checkpoint_id"]}
    page = await client.http.get(f"/threads/{thread}/history", params=query)
    assert page == everything[2:4]


@scenario
async def test_interrupts_and_resumes(desk: Desk) -> None:
    """A question stops the run and shows in the state; the answer finishes it."""
    client = desk.client
    thread = await new_thread(client)
    await client.runs.wait(thread, "agent", input={"ask": "who?", "notes": []})
    assert (await client.threads.get(thread))["status"] == "interrupted"
    state = await client.threads.get_state(thread)
    assert state["next"] == ["work"]
    assert [i["value"] for task in state["tasks"] for i in task["interrupts"]] == ["who?"]
    values = await client.runs.wait(thread, "agent", command={"resume": "me"})
    assert values["notes"] == ["prepared", "told me"]
    assert (await client.threads.get(thread))["status"] == "idle"


@scenario
async def test_updates_the_state_and_forks(desk: Desk) -> None:
    """An update lands on the state, also on that of an old checkpoint, which it forks."""
    client = desk.client
    thread = await new_thread(client)
    await client.runs.wait(thread, "agent", input={"notes": ["a"]})
    await client.threads.update_state(thread, {"notes": ["b"]}, as_node="work")
    assert await notes(client, thread) == ["a", "prepared", "worked", "b"]
    history = await client.threads.get_history(thread, limit=100)
    old = next(s for s in history if s["next"] == ["work"])
    await client.threads.update_state(
        thread, {"notes": ["fork"]}, as_node="prepare", checkpoint=old["checkpoint"]
    )
    assert await notes(client, thread) == ["a", "prepared", "fork"]
    values = await client.runs.wait(thread, "agent", input=None)
    assert values["notes"] == ["a", "prepared", "fork", "worked"]


@scenario
async def test_copies_a_thread(desk: Desk) -> None:
    """A copy has the state, the history and the open question of its source, and its own life."""
    client, stored = desk.client, desk.stored
    source = await new_thread(client)
    await client.runs.wait(source, "agent", input={"ask": "who?", "notes": ["start"]})
    copy = str((await client.threads.copy(source))["thread_id"])
    mine, theirs = await checkpoints(stored, copy), await checkpoints(stored, source)
    assert [t.checkpoint for t in mine] == [t.checkpoint for t in theirs]
    assert [t.pending_writes for t in mine] == [t.pending_writes for t in theirs]
    assert {t.metadata["thread_id"] for t in mine} == {copy}
    values = await client.runs.wait(copy, "agent", command={"resume": "the copy"})
    assert values["notes"] == ["start", "prepared", "told the copy"]
    assert await notes(client, source) == ["start", "prepared"]
    values = await client.runs.wait(source, "agent", command={"resume": "the source"})
    assert values["notes"] == ["start", "prepared", "told the source"]


async def slow_run(client: Any, stored: WyrdSaver, thread: str) -> str:
    """A run that is in its second step, with checkpoints of its own in the database."""
    run = await client.runs.create(thread, "agent", input={"slow": 30, "notes": ["slow"]})

    async def begun() -> bool:
        got = await stored.aget_tuple({"configurable": {"thread_id": thread}})
        return bool(
            got
            and got.metadata.get("run_id") == run["run_id"]
            and got.checkpoint["channel_values"].get("notes", [""])[-1] == "prepared"
        )

    await until(begun)
    return str(run["run_id"])


@scenario
async def test_a_new_run_rolls_the_old_one_back(desk: Desk) -> None:
    """`multitask_strategy="rollback"` leaves nothing of the run that it replaced."""
    client, stored = desk.client, desk.stored
    thread = await new_thread(client)
    await client.runs.wait(thread, "agent", input={"notes": ["first"]})
    doomed = await slow_run(client, stored, thread)
    values = await client.runs.wait(
        thread, "agent", input={"notes": ["instead"]}, multitask_strategy="rollback"
    )
    assert values["notes"] == ["first", "prepared", "worked", "instead", "prepared", "worked"]
    assert doomed not in {t.metadata.get("run_id") for t in await checkpoints(stored, thread)}
    assert doomed not in [run["run_id"] for run in await client.runs.list(thread)]


@scenario
async def test_cancels_with_rollback(desk: Desk) -> None:
    """A run cancelled with `rollback` leaves the thread as it was before it."""
    client, stored = desk.client, desk.stored
    thread = await new_thread(client)
    await client.runs.wait(thread, "agent", input={"notes": ["first"]})
    before = [t.config for t in await checkpoints(stored, thread)]
    doomed = await slow_run(client, stored, thread)
    await client.runs.cancel(thread, doomed, action="rollback", wait=True)

    async def gone() -> bool:
        return [t.config for t in await checkpoints(stored, thread)] == before

    await until(gone)
    assert await notes(client, thread) == ["first", "prepared", "worked"]


@scenario
async def test_cancels_and_continues(desk: Desk) -> None:
    """A run cancelled with `interrupt` keeps what it had done, and the thread goes on from it."""
    client, stored = desk.client, desk.stored
    thread = await new_thread(client)
    stopped = await slow_run(client, stored, thread)
    await client.runs.cancel(thread, stopped, action="interrupt", wait=True)
    assert await notes(client, thread) == ["slow", "prepared"]
    values = await client.runs.wait(thread, "agent", input={"slow": 0})
    assert values["notes"] == ["slow", "prepared", "prepared", "worked"]


@scenario
async def test_deletes_a_run(desk: Desk) -> None:
    """Deleting the newest run takes its checkpoints along and brings back the state before it."""
    client, stored = desk.client, desk.stored
    thread = await new_thread(client)
    await client.runs.wait(thread, "agent", input={"notes": ["kept"]})
    await client.runs.wait(thread, "agent", input={"notes": ["deleted"]})
    run = (await client.runs.list(thread))[0]
    await client.runs.delete(thread, run["run_id"])
    assert await notes(client, thread) == ["kept", "prepared", "worked"]
    assert run["run_id"] not in {t.metadata["run_id"] for t in await checkpoints(stored, thread)}


@scenario
async def test_prunes_threads_away(desk: Desk) -> None:
    """The prune endpoint's `delete` removes the threads named, and no other."""
    client, stored = desk.client, desk.stored
    threads = [await new_thread(client) for _ in range(3)]
    for thread in threads:
        await client.runs.wait(thread, "agent", input={"notes": ["x"]})
    assert await client.threads.prune(threads[:2]) == {"pruned_count": 2}
    assert [len(await checkpoints(stored, t)) for t in threads] == [0, 0, 4]
    assert await notes(client, threads[2]) == ["x", "prepared", "worked"]


@scenario
async def test_prunes_history_through_the_servers_adapter(desk: Desk) -> None:
    """`keep_latest` and `delete_all`, as other runtimes of the server ask for them, work."""
    client, stored = desk.client, desk.stored
    kept, removed = [await new_thread(client) for _ in range(2)]
    for thread in (kept, removed):
        await client.runs.wait(thread, "agent", input={"notes": ["x"]})
    await prune(client, [kept], "keep_latest")
    assert len(await checkpoints(stored, kept)) == 1
    values = await client.runs.wait(kept, "agent", input={"notes": ["y"]})
    assert values["notes"] == ["x", "prepared", "worked", "y", "prepared", "worked"]
    await prune(client, [removed], "delete_all")
    assert await checkpoints(stored, removed) == []


@scenario
async def test_deletes_a_thread(desk: Desk) -> None:
    """Nothing of a deleted thread is left, and a thread of the same id starts empty."""
    client, stored = desk.client, desk.stored
    thread = await new_thread(client)
    await client.runs.wait(thread, "agent", input={"notes": ["old"]})
    await client.threads.delete(thread)
    assert await checkpoints(stored, thread) == []
    await client.threads.create(thread_id=thread, graph_id="agent")
    values = await client.runs.wait(thread, "agent", input={"notes": ["new"]})
    assert values["notes"] == ["new", "prepared", "worked"]


@scenario
async def test_every_durability(desk: Desk) -> None:
    """Runs of each durability end in the same state and can be continued."""
    client = desk.client
    for durability in ("sync", "async", "exit"):
        thread = await new_thread(client)
        for n in (1, 2):
            values = await client.runs.wait(
                thread, "agent", input={"notes": [str(n)]}, durability=durability
            )
        assert values["notes"] == ["1", "prepared", "worked", "2", "prepared", "worked"]
        assert await notes(client, thread) == values["notes"]


@scenario
async def test_delta_channels(desk: Desk) -> None:
    """A graph with a DeltaChannel runs, continues, is copied and pruned over several snapshots."""
    client = desk.client
    thread = await new_thread(client, "delta")
    expected: list[str] = []
    for n in range(4):
        values = await client.runs.wait(thread, "delta", input={"log": [f"run {n}"]})
        expected += [f"run {n}", f"first sees {3 * n + 1}", f"second sees {3 * n + 2}"]
        assert values["log"] == expected
    history = await client.threads.get_history(thread, limit=100)
    lengths = [
        len(s["values"].get("log", [])) for s in history if s["metadata"]["source"] == "loop"
    ]
    assert lengths == list(range(12, 0, -1))
    copy = str((await client.threads.copy(thread))["thread_id"])
    await prune(client, [thread], "keep_latest")
    for each in (thread, copy):
        assert (await client.threads.get_state(each))["values"]["log"] == expected
        values = await client.runs.wait(each, "delta", input={"log": ["on"]})
        assert values["log"] == [*expected, "on", "first sees 13", "second sees 14"]


def test_nothing_was_complained_of(server: Server) -> None:
    """After all this the server has logged no warning and no error."""
    unavoidable = ("Slow", "took longer")  # timings on a busy machine
    complaints = [r for r in server.complaints() if not r["event"].startswith(unavoidable)]
    assert complaints == []


@pytest.mark.parametrize("name", DURABLE)
async def test_threads_outlive_the_server(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Stopped politely or killed, the next server resumes each thread, on whatever loop."""
    with contextlib.ExitStack() as stack:
        database = f"sqlite:///{tmp_path / 'wyrd.db'}"
        if name == "postgres":
            running = request.getfixturevalue("postgres_server")
            database = stack.enter_context(fresh_postgres(running))
        thread = str(uuid.uuid4())
        expected: list[str] = []
        loops = ("false", "true", "true") if name == "sqlite" else ("true", "true")
        for life, loop_a_run in enumerate(loops):
            with Server(tmp_path, database, BG_JOB_ISOLATED_LOOPS=loop_a_run) as server:
                async with get_client(url=server.url, api_key=None) as client:
                    await client.threads.create(
                        thread_id=thread, graph_id="agent", if_exists="do_nothing"
                    )
                    if life:
                        assert await notes(client, thread) == expected
                        resume = {"resume": f"life {life}"}
                        values = await client.runs.wait(thread, "agent", command=resume)
                        expected += [f"told life {life}"]
                        assert values["notes"] == expected
                    await client.runs.wait(thread, "agent", input={"ask": "who?"})
                    expected += ["prepared"]
                assert server.complaints() == []
                if life == len(loops) - 2:
                    server.process.kill()
                else:
                    assert server.stop() in (0, -signal.SIGTERM)
