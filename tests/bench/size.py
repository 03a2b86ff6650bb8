"""What calls cost on a large store: filled in steps, measured at each.

python -m tests.bench.size --threads 10000 100000 --backend sqlite --folder FOLDER
python -m tests.bench.size --memory 1000 10000 50000        memory of a process with active threads
python -m tests.bench.size --long 100000                    one thread that goes on and on

A store is filled with copies of a chat of two turns (11 checkpoints), one in a hundred of which
waits for a person. `--folder` keeps it: a second call goes on with what is there. Figures are
medians, in milliseconds, of threads drawn at random, by a saver that has seen none of them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, StateGraph, add_messages

from langgraph_wyrd import Retention, WyrdSaver
from tests import servers
from tests.damage import at, talk
from tests.handmade import config, next_step

SHOWN = (100, 1000, 3000, 10_000, 20_000, 30_000, 50_000, 100_000)  # turns
BATCH = 500  # threads in one step of the filling
TURNS = 2


def name(number: int) -> str:
    return f"thread-{number:08}"


def open_saver(url: str) -> WyrdSaver:
    return WyrdSaver.from_conn_string(url, **({"synchronous": "OFF"} if "sqlite" in url else {}))


# ---- filling


def templates(saver: WyrdSaver) -> None:
    """What is copied: a chat that ended, and one that waits."""
    for template, last in (("template-0", "go on"), ("template-1", "approve")):
        if saver.get_tuple(config(template)) is None:
            talk(saver, template, TURNS, last=last, user=f"user-of-{template}")
            saver.thread(template).add_todo("look again")


def fill_part(url: str, first: int, end: int) -> None:
    with open_saver(url) as saver:
        for number in range(first, end):
            if saver.get_tuple(config(name(number))) is None:
                saver.copy_thread(f"template-{int(number % 100 == 0)}", name(number))


def fill(url: str, threads: int, workers: int) -> None:
    """Make threads until there are so many; what another call has made stays."""
    with open_saver(url) as saver:
        templates(saver)
        there = 0
        while there < threads and saver.get_tuple(config(name(there + BATCH - 1))) is not None:
            there += BATCH
    began, shown = time.perf_counter(), there
    parts = [(first, min(first + BATCH, threads)) for first in range(there, threads, BATCH)]
    with ProcessPoolExecutor(workers) as pool:
        for begun in range(0, len(parts), workers):
            group = parts[begun : begun + workers]
            list(pool.map(fill_part, [url] * len(group), *zip(*group, strict=True)))
            if group[-1][1] - shown >= 20_000:
                shown = group[-1][1]
                print(f"  {shown:,} threads, {time.perf_counter() - began:.0f} s", flush=True)


# ---- measuring


def median_of(times: int, call: Callable[[int], Any]) -> float:
    took = []
    for number in range(times):
        began = time.perf_counter()
        call(number)
        took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took)


def measured(url: str, threads: int, times: int) -> dict[str, float]:
    """Milliseconds of each call; of a sweep, seconds for the whole store."""
    dice = random.Random(threads)
    found: dict[str, float] = {}
    drawn = [name(number) for number in dice.sample(range(threads), 2 * times)]
    with open_saver(url) as saver:
        saver.get_tuple(config("nobody"))
        found["get_tuple"] = median_of(times, lambda n: saver.get_tuple(config(drawn[n])))
        heads = [saver.get_tuple(config(drawn[times + n])) for n in range(times)]
    with open_saver(url) as saver:
        saver.get_tuple(config("nobody"))
        steps = [next_step(saver, None, drawn[times + n], f"{n}") for n in range(times)]
        for head, step in zip(heads, steps, strict=True):
            assert head is not None
            step[0]["configurable"]["checkpoint_id"] = head.config["configurable"]["checkpoint_id"]
        found["put, thread not known"] = median_of(times, lambda n: saver.put(*steps[n]))
        found["put, new thread"] = median_of(
            times, lambda n: saver.put(*next_step(saver, None, f"new-{threads}-{n}", "a"))
        )
        page = {"limit": 50}
        found["threads(user_id=)"] = median_of(
            times, lambda n: saver.threads(user_id="user-of-template-1", **page)
        )
        found["inbox()"] = median_of(20, lambda n: saver.inbox(**page))
        found["open_loops()"] = median_of(times, lambda n: saver.open_loops(**page))
        found["todos()"] = median_of(times, lambda n: saver.todos(**page))
        found["events(), newest"] = median_of(times, lambda n: saver.events(since="now"))
        found["threads()"] = median_of(20, lambda n: saver.threads(**page))
        found["delete_thread"] = median_of(20, lambda n: saver.delete_thread(f"new-{threads}-{n}"))
        for n in range(10):
            talk(saver, f"leaver-{n}", TURNS, user=f"leaver-{n}")
        found["erase a user of one thread"] = median_of(
            10, lambda n: saver.erase_user(f"leaver-{n}", threads=True, vacuum=False)
        )
        for n in range(times):  # those that the next step's figures must not meet
            saver.delete_thread(f"new-{threads}-{n}")
        for what, rule in (
            ("sweep(thread_ttl=), seconds", Retention(thread_ttl=timedelta(days=3650))),
            ("sweep(keep_last=), dry, seconds", Retention(keep_last=5)),
        ):
            began = time.perf_counter()
            saver.sweep(rule)
            found[what] = time.perf_counter() - began
    return found


@contextlib.contextmanager
def store(backend: str, folder: Path | None) -> Iterator[str]:
    """The address of the store in this folder; of a new one without."""
    with contextlib.ExitStack() as stack:
        if backend == "sqlite":
            where = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            where.mkdir(parents=True, exist_ok=True)
            yield f"sqlite:///{where.resolve()}/size.db"
            return
        if folder is None:
            yield stack.enter_context(servers.postgres(**SETTINGS)).url()
            return
        folder.mkdir(parents=True, exist_ok=True)
        servers.give(folder)
        server = servers.Postgres(folder.resolve(), "size")
        if not server.data.exists():
            server.made()
        server.start(**SETTINGS)
        stack.callback(server.stop)
        yield server.url()


SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "4GB", "synchronous_commit": "off"}


def size_of(url: str) -> int:
    if "sqlite" in url:
        path = Path("/" + url.partition("sqlite:////")[2])
        return sum(each.stat().st_size for each in path.parent.glob(path.name + "*"))
    import psycopg

    with psycopg.connect(url) as asked:
        row = asked.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(row[0]) if row else 0


def analyse(url: str) -> None:
    """As autovacuum does in its time; SQLite keeps no statistics here."""
    if "sqlite" not in url:
        import psycopg

        with psycopg.connect(url, autocommit=True) as asked:
            asked.execute("VACUUM ANALYZE")


def sizes(asked: argparse.Namespace) -> None:
    with store(asked.backend, asked.folder) as url:
        columns: dict[int, dict[str, float]] = {}
        for threads in asked.threads:
            fill(url, threads, asked.workers)
            analyse(url)
            columns[threads] = measured(url, threads, asked.times)
            columns[threads]["bytes a thread"] = size_of(url) / threads
            print(
                f"{asked.backend}, {threads:,} threads, load {os.getloadavg()[0]:.1f}", flush=True
            )
            for what, figure in columns[threads].items():
                print(f"  {what:30} {figure:12.2f}", flush=True)
    print(f"| {asked.backend} | " + " | ".join(f"{each:,}" for each in columns) + " |")
    for what in next(iter(columns.values())):
        print(f"| {what} | " + " | ".join(f"{each[what]:.2f}" for each in columns.values()) + " |")


# ---- memory, and one long thread


def resident() -> float:
    """MB of memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def memory(asked: argparse.Namespace) -> None:
    """Threads that are all active: each has its turn, one after the other, again and again."""
    with store(asked.backend, asked.folder) as url, open_saver(url) as saver:
        done = 0
        saver.get_tuple(config("nobody"))
        before = resident()
        for most in sorted(asked.memory):
            for number in range(done, most):
                talk(saver, name(number), 1)
            done = most
            for number in range(0, most, 7):  # and they go on, known or not
                talk(saver, name(number), 1)
            held = saver._cache
            print(
                f"{most:,} active threads: {resident() - before:.0f} MB more than at first; "
                f"{len(held._slots):,} remembered, {held._bytes / 1e6:.0f} MB by its estimate",
                flush=True,
            )


class Window(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    turns: int


def long(asked: argparse.Namespace) -> None:
    """Turns of one thread whose agent keeps its last 40 messages: time and bytes of a turn."""

    def answer(state: Window) -> dict[str, Any]:
        turn = state["turns"] + 1
        old = [RemoveMessage(id=str(each.id)) for each in state["messages"][:-38]]
        return {"messages": [*old, AIMessage(f"answer {turn} " + "word " * 30)], "turns": turn}

    with store(asked.backend, asked.folder) as url, open_saver(url) as saver:
        builder = StateGraph(Window).add_node("answer", answer).add_edge(START, "answer")
        graph = builder.compile(checkpointer=saver)
        began, last, held = time.perf_counter(), 0, size_of(url)
        for turn in range(1, asked.long + 1):
            said = {
                "messages": [HumanMessage(f"question {turn}")],
                **({"turns": 0} if turn == 1 else {}),
            }
            graph.invoke(said, at("long"))
            if turn in SHOWN or turn == asked.long:
                now, size = time.perf_counter(), size_of(url)
                with open_saver(url) as cold:
                    got = median_of(5, lambda _: cold.get_tuple(config("long")))
                    listed = median_of(5, lambda _: list(cold.list(config("long"), limit=10)))
                each = turn - last
                print(
                    f"turns {last:,} to {turn:,}: {1000 * (now - began) / each:.2f} ms and "
                    f"{(size - held) / each:,.0f} bytes a turn; get_tuple {got:.2f} ms, "
                    f"list(limit=10) {listed:.2f} ms, {resident():.0f} MB of memory",
                    flush=True,
                )
                began, last, held = time.perf_counter(), turn, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--threads", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--backend", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--folder", type=Path, help="where the store is, and stays")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1, help="processes that fill")
    parser.add_argument("--memory", type=int, nargs="+")
    parser.add_argument("--long", type=int, metavar="TURNS")
    asked = parser.parse_args()
    (memory if asked.memory else long if asked.long else sizes)(asked)


if __name__ == "__main__":
    main()
