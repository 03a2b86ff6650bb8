"""What calls cost on a large store: filled in steps, measured at each.

python -m tests.bench.size --threads 10000 100000 --backend sqlite --folder FOLDER
python -m tests.bench.size --memory 1000 10000 50000        memory of a process with active threads
python -m tests.bench.size --long 100000                    one thread that goes on and on

A store is filled with copies of a chat of two turns (12 checkpoints), one in a hundred of which
waits for a person; their rows are made here, as a saver would store them, and go in by thousands.
`--folder` keeps it: a second call goes on with what is there. Figures are milliseconds of threads
drawn at random, by a saver that has seen none of them: the median, the quickest, and the median CPU
of this process and the server's.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, StateGraph, add_messages

from langgraph_wyrd import Retention, WyrdSaver
from langgraph_wyrd.storage.keys import thread_key
from langgraph_wyrd.storage.parity import PROTECTED, grouped
from langgraph_wyrd.storage.rows import insert, summed
from langgraph_wyrd.storage.tables import PARITY, TABLES, THREADS, Table
from tests import servers
from tests.damage import Agent, at, talk
from tests.handmade import config, next_step
from tests.outside import is_postgres, path_of

SHOWN = (100, 1000, 3000, 10_000, 20_000, 30_000, 50_000, 100_000)  # turns
BATCH = 1000  # threads in one step of the filling
TURNS = 2
BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)
ALL_LOSE = 100_000  # threads up to which a sweep is measured that finds something in each


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


def fill(url: str, threads: int) -> None:
    """Make threads until there are so many; what another call has made stays."""
    with open_saver(url) as saver:
        templates(saver)
        there = 0
        while there < threads and saver.get_tuple(config(name(there + BATCH - 1))) is not None:
            there += BATCH
    began, shown = time.perf_counter(), there
    with filling(url) as connection:
        held = [rows_of(connection, f"template-{n}") for n in range(2)]
        for first in range(there, threads, BATCH):
            made: dict[str, list[Any]] = {}
            for number in range(first, first + BATCH):
                for table, rows in copied(connection, held[number % 100 == 0], number).items():
                    made.setdefault(table.name, []).extend(rows)
            store_rows(connection, made)
            if first + BATCH - shown >= 20_000:
                shown = first + BATCH
                print(f"  {shown:,} threads, {time.perf_counter() - began:.0f} s", flush=True)


@contextlib.contextmanager
def filling(url: str) -> Iterator[Any]:
    """A connection that need not outlive a crash of the machine."""
    if is_postgres(url):
        import psycopg

        with psycopg.connect(url) as connection:
            yield connection
        return
    connection = sqlite3.connect(path_of(url))
    for setting in ("synchronous = OFF", "cache_size = -200000", "wal_autocheckpoint = 20000"):
        connection.execute(f"PRAGMA {setting}")
    yield connection
    connection.close()


def rows_of(connection: Any, template: str) -> dict[Table, list[Any]]:
    """All rows of a thread but its parity groups; JSON and times as text."""
    is_file = isinstance(connection, sqlite3.Connection)
    found = {}
    for table in TABLES.values():
        if table.placed_by is None or table is PARITY:
            continue
        columns = ", ".join(
            column.name
            if is_file or column.kind not in ("json", "time")
            else f"{column.name}::text"
            for column in table.columns
        )
        mark = "?" if is_file else "%s"
        rows = connection.execute(
            f"SELECT {columns} FROM {table.name} WHERE {table.placed_by} = "
            f"(SELECT key FROM wyrd_threads WHERE thread_id = {mark})",
            (template,),
        ).fetchall()
        found[table] = [table.row._make(row) for row in rows]
    return found


def copied(connection: Any, held: dict[Table, list[Any]], number: int) -> dict[Table, list[Any]]:
    """The rows of a copy, as a saver would store them. One thread changes each second, and ten
    belong to each user, but for those of which one waits in a hundred."""
    thread_id = name(number)
    on_file = isinstance(connection, sqlite3.Connection)
    key: Any = number + 1 << 20 if on_file else thread_key(thread_id)
    at = (BEGAN + timedelta(seconds=number)).isoformat()
    made: dict[Table, list[Any]] = {}
    protected = []
    for table, rows in held.items():
        if table is THREADS:
            mine = {"key": key, "thread_id": thread_id, "created": at, "updated": at}
            if number % 100:
                mine["user_id"] = f"user-{number // 10}"
        else:
            mine = {"thread": key}
            if "thread_id" in table.names:
                mine["thread_id"] = thread_id
        made[table] = [row._replace(**mine) for row in rows]
        if table.sums:
            made[table] = [summed(table, row) for row in made[table]]
        if table in PROTECTED:
            protected += [(PROTECTED.index(table), row) for row in made[table]]
    made[PARITY] = grouped(key, thread_id, protected)
    return made


def store_rows(connection: Any, made: dict[str, list[Any]]) -> None:
    """All rows of a batch, in one transaction."""
    for table in TABLES.values():
        rows = made.get(table.name)
        if not rows:
            continue
        if isinstance(connection, sqlite3.Connection):
            connection.executemany(insert(table), rows)
            continue
        rows.sort(key=lambda row: row[0])  # the thread's key: neighbours share pages of an index
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY {table.name} ({', '.join(table.names)}) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)
    connection.commit()


# ---- measuring


Figure = tuple[float, ...]  # the median, the quickest, the median CPU


def figures(times: int, call: Callable[[int], Any], server: int | None = None) -> Figure:
    took, cpu = [], []
    for number in range(times):
        used, began = used_by(server), time.perf_counter()
        call(number)
        took.append(1000 * (time.perf_counter() - began))
        cpu.append(1000 * (used_by(server) - used))
    return statistics.median(took), min(took), statistics.median(cpu)


def used_by(server: int | None) -> float:
    """Seconds of CPU of this process, and of all processes of a Postgres of this id."""
    total = time.process_time()
    if server is not None:
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        for pid in (str(server), *children):
            with contextlib.suppress(OSError):  # it has just ended
                total += int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    return total


def measured(url: str, pid: int | None, threads: int, times: int) -> dict[str, Figure]:
    """Each call, in milliseconds."""
    figure = partial(figures, server=pid)
    dice = random.Random(threads)
    found: dict[str, Figure] = {}
    drawn = [name(number) for number in dice.sample(range(threads), 2 * times)]
    with open_saver(url) as saver:
        saver.get_tuple(config("nobody"))
        found["get_tuple"] = figure(times, lambda n: saver.get_tuple(config(drawn[n])))
        heads = [saver.get_tuple(config(drawn[times + n])) for n in range(times)]
    with open_saver(url) as saver:
        saver.get_tuple(config("nobody"))
        steps = [next_step(saver, None, drawn[times + n], f"{n}") for n in range(times)]
        for head, step in zip(heads, steps, strict=True):
            assert head is not None
            step[0]["configurable"]["checkpoint_id"] = head.config["configurable"]["checkpoint_id"]
        found["put, thread not known"] = figure(times, lambda n: saver.put(*steps[n]))
        found["put, new thread"] = figure(
            times, lambda n: saver.put(*next_step(saver, None, f"new-{threads}-{n}", "a"))
        )
        page = {"limit": 50}
        found["threads()"] = figure(40, lambda n: saver.threads(**page))
        end = saver.threads(**page).next
        found["threads(after=)"] = figure(40, lambda n: saver.threads(after=end, **page))
        for what, user in (("1 % of all", "user-of-template-1"), ("ten", "user-7")):
            found[f"threads(user_id=) of {what}"] = figure(
                40, lambda n, user=user: saver.threads(user_id=user, **page)
            )
        found['threads(status="interrupted")'] = figure(
            20, lambda n: saver.threads(status="interrupted", **page)
        )
        found["inbox()"] = figure(20, lambda n: saver.inbox(**page))
        found["open_loops()"] = figure(40, lambda n: saver.open_loops(**page))
        found["todos()"] = figure(40, lambda n: saver.todos(**page))
        found["events(), newest"] = figure(40, lambda n: saver.events(since="now"))
        found["delete_thread"] = figure(40, lambda n: saver.delete_thread(f"new-{threads}-{n}"))
        for n in range(20):
            talk(saver, f"leaver-{n}", TURNS, user=f"leaver-{n}")
        found["erase a user of one thread"] = figure(
            20, lambda n: saver.erase_user(f"leaver-{n}", threads=True, vacuum=False)
        )
        for n in range(times):  # those that the next step's figures must not meet
            saver.delete_thread(f"new-{threads}-{n}")
        rules = {
            "sweep(thread_ttl=), nothing": Retention(thread_ttl=timedelta(days=3650)),
            "sweep(keep_last=50), nothing": Retention(keep_last=50),
        }
        if threads <= ALL_LOSE:
            rules["sweep(keep_last=5), all, dry"] = Retention(keep_last=5)
        for what, rule in rules.items():
            found[what] = figure(1, lambda n, rule=rule: saver.sweep(rule, dry_run=True))
    return found


@contextlib.contextmanager
def store(backend: str, folder: Path | None) -> Iterator[tuple[str, int | None]]:
    """The address of the store in this folder, or of a new one; the id of its server's process."""
    with contextlib.ExitStack() as stack:
        if backend == "sqlite":
            where = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            where.mkdir(parents=True, exist_ok=True)
            yield f"sqlite:///{where.resolve()}/size.db", None
            return
        if folder is None:
            server = stack.enter_context(servers.postgres(**SETTINGS))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            servers.give(folder)
            server = servers.Postgres(folder.resolve(), "size")
            if not server.data.exists():
                server.made()
            server.start(**SETTINGS)
            stack.callback(server.stop)
        yield server.url(), server.pid


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
    with store(asked.backend, asked.folder) as (url, pid):
        columns: dict[int, dict[str, Figure]] = {}
        for threads in asked.threads:
            fill(url, threads)
            analyse(url)
            columns[threads] = measured(url, pid, threads, asked.times)
            columns[threads]["bytes a thread"] = (size_of(url) / threads,)
            load = os.getloadavg()[0]
            print(f"{asked.backend}, {threads:,} threads, load {load:.1f}", flush=True)
            for what, each in columns[threads].items():
                print(f"  {what:32}" + "".join(f"{part:12.2f}" for part in each), flush=True)
    print(f"| {asked.backend}, medians | " + " | ".join(f"{each:,}" for each in columns) + " |")
    for what in next(iter(columns.values())):
        cells = [f"{each[what][0]:.2f}" if what in each else "" for each in columns.values()]
        print(f"| {what} | " + " | ".join(cells) + " |")


# ---- memory, and one long thread


def resident() -> float:
    """MB of memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def memory(asked: argparse.Namespace) -> None:
    """Threads that are all active: each has its turn, one after the other, again and again."""
    with store(asked.backend, asked.folder) as (url, _), open_saver(url) as saver:
        done = 0
        saver.get_tuple(config("nobody"))
        before, graph = resident(), Agent().build(saver)
        said = {"messages": [HumanMessage("go on")]}
        for most in sorted(asked.memory):
            for number in range(done, most):
                graph.invoke(said, at(name(number)))
            done = most
            for number in range(0, most, 7):  # and they go on, known or not
                graph.invoke(said, at(name(number)))
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

    with store(asked.backend, asked.folder) as (url, pid), open_saver(url) as saver:
        builder = StateGraph(Window).add_node("answer", answer).add_edge(START, "answer")
        graph = builder.compile(checkpointer=saver)
        began, last, held = used_by(pid), 0, size_of(url)
        for turn in range(1, asked.long + 1):
            said = {
                "messages": [HumanMessage(f"question {turn}")],
                **({"turns": 0} if turn == 1 else {}),
            }
            graph.invoke(said, at("long"))
            if turn in SHOWN or turn == asked.long:
                now, size = used_by(pid), size_of(url)
                with open_saver(url) as cold:
                    got = figures(5, lambda _: cold.get_tuple(config("long")), pid)[2]
                    listed = figures(5, lambda _: list(cold.list(config("long"), limit=10)), pid)[2]
                each = turn - last
                print(
                    f"turns {last:,} to {turn:,}: {1000 * (now - began) / each:.2f} ms of CPU and "
                    f"{(size - held) / each:,.0f} bytes a turn; get_tuple {got:.2f} ms, "
                    f"list(limit=10) {listed:.2f} ms, {resident():.0f} MB of memory",
                    flush=True,
                )
                began, last, held = used_by(pid), turn, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--threads", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--backend", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--folder", type=Path, help="where the store is, and stays")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--memory", type=int, nargs="+")
    parser.add_argument("--long", type=int, metavar="TURNS")
    asked = parser.parse_args()
    (memory if asked.memory else long if asked.long else sizes)(asked)


if __name__ == "__main__":
    main()
