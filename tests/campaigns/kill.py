"""Processes killed at random points of real runs: nothing acknowledged is missing, all resume.

    python -m tests.campaigns.kill --n 100 --backend sqlite

A child runs several threads of compiled graphs (a loop, a fan-out, a subgraph, an interrupt) on
one database, some on an event loop and some in OS threads. Into one journal file it writes what
its nodes do, and a line for every `put` and `put_writes` that has returned. It is killed with
SIGKILL, another child goes on, and so on, until one is left to finish. A line is one `write` to
the kernel, so it outlives its process, and the journal is a total order.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import Command, Send, interrupt

from langgraph_wyrd import WyrdSaver
from tests.outside import ROOT, at_rest, environment, fresh_databases, is_postgres, python, raw

THREADS = {  # id -> how it is run, and how much LangGraph waits for its saver
    "loop-sync": ("ainvoke", "sync"),
    "loop-async": ("ainvoke", "async"),
    "loop-more": ("ainvoke", "async"),
    "loop-exit": ("ainvoke", "exit"),
    "os-sync": ("invoke", "sync"),
    "os-async": ("invoke", "async"),
}
ROUNDS = 5


# ---- what is run


class Inner(TypedDict):
    topic: str
    notes: Annotated[list[str], lambda old, new: [*old, *new]]


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    found: Annotated[dict[str, int], lambda old, new: {**old, **new}]
    notes: list[str]
    round: int


class Journal:
    """Lines that outlive the process."""

    def __init__(self, path: str | Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def tell(self, kind: str, **what: Any) -> None:
        os.write(self._file, json.dumps({"kind": kind, **what}).encode() + b"\n")


def build(saver: Any, journal: Journal | None) -> Any:
    def did(config: RunnableConfig) -> None:
        if journal is not None:
            inside = config["configurable"]
            journal.tell("did", thread=inside["thread_id"], task=inside["__pregel_task_id"])

    def ask(state: State, config: RunnableConfig) -> dict[str, Any]:
        did(config)
        said = HumanMessage(f"round {state['round']}", id=f"h{state['round']}")
        return {"messages": [said], "round": state["round"] + 1}

    def search(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        did(config)
        return {"found": {f"{state['round']}-{state['part']}": state["part"] ** 2}}

    def collect(state: Inner, config: RunnableConfig) -> dict[str, Any]:
        did(config)
        return {"notes": [f"collected {state['topic']}"]}

    def reflect(state: Inner, config: RunnableConfig) -> dict[str, Any]:
        did(config)
        return {"notes": [f"reflected on {len(state['notes'])}"]}

    inner = StateGraph(Inner)
    inner.add_node("collect", collect)
    inner.add_node("reflect", reflect)
    inner.add_edge(START, "collect")
    inner.add_edge("collect", "reflect")
    study = inner.compile()

    def delve(state: State, config: RunnableConfig) -> dict[str, Any]:
        did(config)
        found = study.invoke({"topic": f"round {state['round']}", "notes": []}, config)
        return {"notes": [*state.get("notes", []), *found["notes"]]}

    def answer(state: State, config: RunnableConfig) -> dict[str, Any]:
        did(config)
        number = state["round"]
        approved = interrupt({"round": number}) if number == 3 else "fine"
        text = f"{len(state['found'])} found, {approved}: " + "words " * 40
        return {"messages": [AIMessage(text, id=f"a{number}")]}

    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_node("search", search)
    builder.add_node("delve", delve)
    builder.add_node("answer", answer)
    builder.add_edge(START, "ask")
    builder.add_conditional_edges(
        "ask",
        lambda s: [
            *(Send("search", {"round": s["round"], "part": part}) for part in range(3)),
            "delve",
        ],
        ["search", "delve"],
    )
    builder.add_edge("delve", "answer")
    builder.add_conditional_edges("answer", lambda s: END if s["round"] >= ROUNDS else "ask")
    return builder.compile(checkpointer=saver)


def config(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


def next_input(state: Any) -> Any:
    """What a driver that knows nothing but the saved state passes to go on."""
    if state.created_at is None:
        return {"messages": [], "found": {}, "round": 0}
    if state.interrupts:
        return Command(resume=f"approved in round {state.interrupts[0].value['round']}")
    return None


def over(state: Any) -> bool:
    # Not `next`: it is empty too where every task of a step is done and the step is not saved.
    return any(said.id == f"a{ROUNDS}" for said in state.values.get("messages", []))


async def adrive(graph: Any, thread: str, durability: str) -> None:
    while not over(state := await graph.aget_state(config(thread))):
        await graph.ainvoke(next_input(state), config(thread), durability=durability)


def drive(graph: Any, thread: str, durability: str) -> None:
    while not over(state := graph.get_state(config(thread))):
        graph.invoke(next_input(state), config(thread), durability=durability)


def plain(values: dict[str, Any]) -> Any:
    return {**values, "messages": [(said.type, said.id, said.text) for said in values["messages"]]}


def undisturbed() -> Any:
    graph = build(InMemorySaver(), None)
    drive(graph, "t", "sync")
    return plain(graph.get_state(config("t")).values)


# ---- the child


def told(saver: Any, journal: Journal) -> Any:
    """The saver, with a journal line for every write that has returned."""

    def put_line(done: Any, checkpoint: Any) -> Any:
        inside = done["configurable"]
        journal.tell(
            "put",
            thread=inside["thread_id"],
            ns=inside["checkpoint_ns"],
            id=inside["checkpoint_id"],
            versions=sorted(checkpoint["channel_versions"]),
        )
        return done

    def writes_line(given: Any, writes: Any, task_id: str) -> None:
        inside = given["configurable"]
        journal.tell(
            "writes",
            thread=inside["thread_id"],
            ns=inside.get("checkpoint_ns", ""),
            id=inside["checkpoint_id"],
            task=task_id,
            channels=[channel for channel, _ in writes],
        )

    put, put_writes, aput, aput_writes = saver.put, saver.put_writes, saver.aput, saver.aput_writes

    def told_put(config: Any, checkpoint: Any, metadata: Any, new: Any) -> Any:
        return put_line(put(config, checkpoint, metadata, new), checkpoint)

    async def told_aput(config: Any, checkpoint: Any, metadata: Any, new: Any) -> Any:
        return put_line(await aput(config, checkpoint, metadata, new), checkpoint)

    def told_writes(config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        put_writes(config, writes, task_id, task_path)
        writes_line(config, writes, task_id)

    async def told_awrites(config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        await aput_writes(config, writes, task_id, task_path)
        writes_line(config, writes, task_id)

    saver.put, saver.put_writes = told_put, told_writes
    saver.aput, saver.aput_writes = told_aput, told_awrites
    return saver


def child(url: str, path: str) -> None:
    """Run every thread to its end, from wherever it stands."""
    journal = Journal(path)
    saver = told(WyrdSaver.from_conn_string(url), journal)
    graph = build(saver, journal)

    def in_os_threads() -> None:
        mine = [name for name, (way, _) in THREADS.items() if way == "invoke"]
        with ThreadPoolExecutor(len(mine)) as pool:
            list(pool.map(lambda name: drive(graph, name, THREADS[name][1]), mine))

    async def on_a_loop() -> None:
        mine = [name for name, (way, _) in THREADS.items() if way == "ainvoke"]
        await asyncio.gather(*(adrive(graph, name, THREADS[name][1]) for name in mine))

    beside = threading.Thread(target=in_os_threads)
    beside.start()
    asyncio.run(on_a_loop())
    beside.join()
    saver.close()
    journal.tell("end")


# ---- the parent


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def acknowledged(path: Path) -> int:
    """How many writes the journal has; a short way to count while it grows."""
    return path.read_bytes().count(b'{"kind": "put"') if path.exists() else 0


def start(url: str, path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        python("-m", "tests.campaigns.kill", "--child", url, str(path)),
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.PIPE,
    )


def kill_once(url: str, path: Path, dice: random.Random) -> bool:
    """Start a child, kill it a random number of acknowledgements later; False if it was over."""
    wanted = acknowledged(path) + dice.randrange(0, 30)
    process = start(url, path)
    with process:
        while process.poll() is None and acknowledged(path) < wanted:
            time.sleep(0.001)
        time.sleep(dice.uniform(0, 0.02))
        process.terminate()  # with SIGKILL: see `python`
        _, err = process.communicate()
    # By SIGTERM: before there was a child to kill.
    assert process.returncode in (-signal.SIGKILL, -signal.SIGTERM, 0), err.decode()
    return process.returncode != 0


def finish(url: str, path: Path) -> None:
    process = start(url, path)
    _, err = process.communicate(timeout=250)
    assert process.returncode == 0, err.decode()
    assert not err, err.decode()


def check_kept(url: str, path: Path) -> Counter[str]:
    """The database opens, is sound, and holds every write that was acknowledged."""
    seen: Counter[str] = Counter()
    if not is_postgres(url) and acknowledged(path):
        with raw(url) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with WyrdSaver.from_conn_string(url) as saver:
        for line in lines(path):
            if line["kind"] not in ("put", "writes"):
                continue
            where = config(line["thread"])
            where["configurable"] |= {"checkpoint_ns": line["ns"], "checkpoint_id": line["id"]}
            found = saver.get_tuple(where)
            if line["kind"] == "put":
                assert found is not None, f"lost: {line}"
                assert sorted(found.checkpoint["channel_versions"]) == line["versions"]
                seen["checkpoints"] += 1
            elif found is not None:  # its checkpoint may not have been stored yet
                stored = {(task, channel) for task, channel, _ in found.pending_writes}
                assert {(line["task"], channel) for channel in line["channels"]} <= stored, line
                seen["writes"] += 1
    at_rest(url)
    return seen


def check_effects(path: Path) -> int:
    """No node ran again after its result was acknowledged."""
    finished: set[tuple[str, str]] = set()
    again = 0
    for line in lines(path):
        if line["kind"] == "writes" and not set(line["channels"]) <= WRITES_IDX_MAP.keys():
            finished.add((line["thread"], line["task"]))
        elif line["kind"] == "did":
            assert (line["thread"], line["task"]) not in finished, f"ran again: {line}"
            again += 1
    return again


def difference(found: Any, expected: Any) -> Any:
    return {
        name: (found[name], expected[name]) for name in expected if found[name] != expected[name]
    }


def check_results(url: str, expected: Any) -> None:
    with WyrdSaver.from_conn_string(url) as saver:
        graph = build(saver, None)
        for thread in THREADS:
            state = graph.get_state(config(thread))
            assert over(state), thread
            found = plain(state.values)
            assert found == expected, (thread, difference(found, expected))
            ids = [
                item.config["configurable"]["checkpoint_id"] for item in saver.list(config(thread))
            ]
            assert len(ids) == len(set(ids))


def campaign(url: str, path: Path, kills: int, dice: random.Random) -> Counter[str]:
    """Kill children on one database, checking after each, then let one finish."""
    seen: Counter[str] = Counter()
    for _ in range(kills):
        if not kill_once(url, path, dice):
            break  # it was over before
        seen["kills"] += 1
        seen["checks"] += check_kept(url, path).total()
    finish(url, path)
    seen.update(check_kept(url, path))
    seen["node runs"] = check_effects(path)
    check_results(url, undisturbed())
    seen["runs resumed"] = len(THREADS)
    return seen


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--n", type=int, default=100, help="kills in all")
    parse.add_argument("--backend", choices=["sqlite", "postgres"], default="sqlite")
    parse.add_argument("--seed", type=int, default=1)
    parse.add_argument("--chain", type=int, default=5, help="kills on one database, at most")
    parse.add_argument("--child", nargs=2, metavar=("URL", "JOURNAL"), help=argparse.SUPPRESS)
    asked = parse.parse_args()
    if asked.child:
        child(*asked.child)
        return
    total: Counter[str] = Counter()
    dice = random.Random(asked.seed)
    with fresh_databases(asked.backend) as fresh:
        while total["kills"] < asked.n:
            wanted = min(asked.chain, asked.n - total["kills"])
            with fresh() as url, tempfile.TemporaryDirectory() as folder:
                total += campaign(url, Path(folder) / "journal", wanted, dice)
            total["databases"] += 1
            print(dict(total), flush=True)
    print(f"{asked.backend}, SQLite {sqlite3.sqlite_version}: nothing lost in {dict(total)}")


if __name__ == "__main__":
    main()
