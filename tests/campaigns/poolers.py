"""Real poolers before a real Postgres: the first set-up, the conformance kit, 20 threads at once.

    python -m tests.campaigns.poolers --npm FOLDER

Debian's pgbouncer and pgpool2 have to be installed. PGlite is left out without `--npm`, a folder
where `npm install @electric-sql/pglite @electric-sql/pglite-socket` was run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.types import Command
from psycopg.conninfo import make_conninfo

from langgraph_wyrd import WyrdSaver
from tests import servers
from tests.damage import Agent, at

TURNS = 3


class Warnings(logging.Handler):
    """What the savers log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextlib.contextmanager
def listening() -> Iterator[list[str]]:
    heard = Warnings()
    logger = logging.getLogger("langgraph_wyrd")
    logger.addHandler(heard)
    try:
        yield heard.said
    finally:
        logger.removeHandler(heard)


def set_up_at_once(url: str, savers: int) -> None:
    """Several savers find an empty database; each sets it up and stores a thread."""
    together = threading.Barrier(savers, timeout=30)

    def one(number: int) -> None:
        with WyrdSaver.from_conn_string(url) as saver:
            together.wait()
            saver.setup()
            Agent().build(saver).invoke({"messages": [HumanMessage("go")]}, at(f"first-{number}"))

    with ThreadPoolExecutor(savers) as pool:
        list(pool.map(one, range(savers)))


def conformance(url: str) -> int:
    """LangGraph's kit, whole; how many of its tests passed."""
    from langgraph.checkpoint.conformance import checkpointer_test, validate

    @checkpointer_test(name="wyrd")
    async def saver() -> Any:
        async with WyrdSaver.from_conn_string(url) as opened:
            yield opened

    report = asyncio.run(validate(saver))
    for name, result in report.results.items():
        assert result.passed, (name, result.failures)
    return sum(result.tests_passed for result in report.results.values())


def run_threads(url: str, savers: int, threads: int = 20) -> float:
    """Turns a second of agents at once, on a loop and in OS threads; each waits for a person."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(WyrdSaver.from_conn_string(url)) for _ in range(savers)]
        graphs = [Agent().build(saver) for saver in opened]

        async def on_a_loop(number: int) -> None:
            graph = graphs[number % savers]
            for turn in range(TURNS):
                text = "approve" if turn == TURNS - 1 else "go"
                said = {"messages": [HumanMessage(text, id=f"h{turn}")]}
                await graph.ainvoke(said, at(f"t{number}"))

        def in_a_thread(number: int) -> None:
            graph = graphs[number % savers]
            for turn in range(TURNS):
                text = "approve" if turn == TURNS - 1 else "go"
                graph.invoke({"messages": [HumanMessage(text, id=f"h{turn}")]}, at(f"t{number}"))

        async def all_of_a_loop() -> None:
            await asyncio.gather(*map(on_a_loop, range(0, threads, 2)))

        began = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            others = [pool.submit(in_a_thread, number) for number in range(1, threads, 2)]
            asyncio.run(all_of_a_loop())
            for other in others:
                other.result()
        took = time.perf_counter() - began
        for saver in opened:
            look(saver, threads)
        for number in range(threads):
            graphs[0].invoke(Command(resume="yes"), at(f"t{number}"))
            state = graphs[-1].get_state(at(f"t{number}"))
            assert len(state.values["messages"]) == 4 * TURNS, number
            assert not state.next, number
        assert not [each for each in opened[0].inbox() if each.thread_id.startswith("t")]
        assert opened[0].verify().ok
    return threads * TURNS / took


def look(saver: WyrdSaver, threads: int) -> None:
    """Listings and the feed know each thread, and the question that it asks."""
    wanted = {f"t{number}" for number in range(threads)}
    assert wanted <= {each.thread_id for each in saver.threads(limit=1000)}
    for listing in (saver.inbox(), saver.open_loops()):
        assert wanted <= {each.thread_id for each in listing}
    found: set[str] = set()
    since: Any = None
    while events := saver.events(since=since, limit=100):
        found |= {each.thread_id for each in events}
        since = events.next
    assert wanted <= found


def campaign(url: str, savers: int = 2) -> str:
    """All of it on one empty database; a line that says what was seen."""
    with listening() as said:
        set_up_at_once(url, savers)
        kit = conformance(url)  # its threads fork, which is logged
        said.clear()
        rate = run_threads(url, savers)
    assert len(said) <= savers, said  # once a saver at most
    assert all("prepare=False" in each for each in said), said
    logged = "the loss of prepared statements logged once a saver" if said else "nothing logged"
    return f"kit {kit} passed, 20 threads at {rate:.0f} turns a second, {logged}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--npm", type=Path, help="where npm has installed PGlite's socket server")
    parser.add_argument("--only", help="one of those that are printed")
    asked = parser.parse_args()
    with servers.postgres() as server:
        version = server.execute("SHOW server_version")[0][0]
        behind: dict[str, tuple[Callable[[], Any], int]] = {
            "no pooler": (lambda: contextlib.nullcontext(server.url()), 2),
            "pgbouncer, transactions, 4 sessions": (
                functools.partial(servers.pgbouncer, server, sessions=4), 2),
            "pgbouncer, transactions, 1 session": (
                functools.partial(servers.pgbouncer, server, sessions=1), 2),
            "pgbouncer, sessions": (
                functools.partial(servers.pgbouncer, server, mode="session", sessions=20), 2),
            "pgpool": (functools.partial(servers.pgpool, server), 2),
        }  # fmt: skip
        if asked.npm is not None:
            behind["PGlite, one connection"] = functools.partial(servers.pglite, asked.npm), 1
            behind["PGlite, 20 connections"] = functools.partial(servers.pglite, asked.npm, 20), 2
        for number, (name, (started, savers)) in enumerate(behind.items()):
            if asked.only not in (None, name):
                continue
            with started() as url:
                if not name.startswith("PGlite"):
                    server.execute(f"CREATE DATABASE pooled_{number}")
                    url = make_conninfo(url, dbname=f"pooled_{number}")
                    name = f"{name}, Postgres {version}"
                print(f"{name}: {campaign(url, savers)}", flush=True)


if __name__ == "__main__":
    main()
