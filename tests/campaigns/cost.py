"""What a turn costs a Postgres server: bytes at rest, write-ahead log, transactions, CPU.

python -m tests.campaigns.cost --threads 200 --turns 10 --placement hash:16

A turn is a question, a tool call, its result and the answer: five checkpoints, 2.3 kB of messages.
docs/scale.md reckons with these figures.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from langgraph_wyrd import WyrdSaver
from tests.bench.graphs import MESSAGES_A_TURN, Script, chat
from tests.bench.places import _fresh_postgres, _server

_TICKS = os.sysconf("SC_CLK_TCK")
_COUNTS = (
    "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn, "
    "pg_snapshot_xmax(pg_current_snapshot())::text::bigint, pg_database_size(current_database())"
)
_SIZES = """
    SELECT coalesce(i.inhparent, c.oid)::regclass::text, sum(pg_table_size(c.oid)),
           sum(pg_indexes_size(c.oid))
    FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE c.relkind = 'r' AND c.relname LIKE 'wyrd_%' GROUP BY 1 ORDER BY 2 DESC
"""


def cpu_of_sessions(admin: Any) -> float:
    """Seconds that the server's processes for clients have used."""
    spent = 0.0
    for (pid,) in admin.execute(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid()"
    ).fetchall():
        held = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        spent += (int(held[11]) + int(held[12])) / _TICKS
    return spent


async def talk(saver: Any, script: Script, threads: int, turns: int, at_once: int) -> float:
    """CPU of this process, in seconds."""
    graph = chat(saver, script)
    free = asyncio.Semaphore(at_once)

    async def one(name: str) -> None:
        async with free:
            for n in range(turns):
                said: Any = {"messages": [script.human(n * MESSAGES_A_TURN)]}
                await graph.ainvoke(said, {"configurable": {"thread_id": name}})

    start = time.process_time()
    await asyncio.gather(*(one(f"t{n}") for n in range(threads)))
    return time.process_time() - start


def counted(admin: Any) -> tuple[int, ...]:
    return tuple(map(int, admin.execute(_COUNTS).fetchone()))


def measured(url: str, script: Script, threads: int, turns: int, at_once: int) -> None:
    def say(what: str, number: float, more: str) -> None:
        print(f"{what + ' a turn':27}{number / (threads * turns):10,.2f}  {more}")

    with psycopg.connect(url, autocommit=True) as admin, WyrdSaver.from_conn_string(url) as saver:
        asyncio.run(talk(saver, script, at_once, 1, at_once))  # what a process does once is done
        saver.prune([f"t{n}" for n in range(at_once)], strategy="delete")
        admin.execute("VACUUM FULL")
        admin.execute("CHECKPOINT")
        before, busy = counted(admin), cpu_of_sessions(admin)
        cpu = asyncio.run(talk(saver, script, threads, turns, at_once))
        busy = cpu_of_sessions(admin) - busy
        wal, xids, size = (b - a for a, b in zip(before, counted(admin), strict=True))
        admin.execute("VACUUM FULL")
        packed = counted(admin)[2] - before[2]
        print(f"{threads} threads x {turns} turns, {at_once} at once")
        say("bytes at rest", size, f"(a thread: {size / threads:,.0f})")
        say("… after VACUUM FULL", packed, f"(a thread: {packed / threads:,.0f})")
        say("write-ahead log", wal, "bytes")
        say("transactions", xids, "that write")
        say("CPU of the server", busy * 1e3, "ms, of its sessions")
        say("CPU of the client", cpu * 1e3, "ms, the graph included")
        for name, rows, indexes in admin.execute(_SIZES).fetchall():
            if rows + indexes > packed / 50:
                say(f"  {name}", float(rows), f"+ {indexes / threads / turns:,.0f} of indexes")
        saver.prune([f"t{n}" for n in range(threads)])
        admin.execute("VACUUM FULL")
        pruned = counted(admin)[2] - before[2]
        print(f"bytes of a thread with only its newest checkpoint: {pruned / threads:,.0f}")


_MORE = (  # rows of threads that have nothing else, a thousand of which changed in a minute
    "INSERT INTO wyrd_threads (key, thread_id, version, writer, head, created, updated, open_loops,"
    " open_todos, status) SELECT sha256(n::text::bytea), 'x' || n, 1, 1, 'x', '2026', "
    "to_char(timestamp '2026-01-01' + n * interval '60 ms', 'YYYY-MM-DD\"T\"HH24:MI:SS.US+00:00'), "
    "0, 0, 'idle' FROM generate_series(%s::bigint, %s::bigint) n"
)


def listed(url: str, sizes: list[int]) -> None:
    """How long the first page of `threads()` takes."""
    with psycopg.connect(url, autocommit=True) as admin, WyrdSaver.from_conn_string(url) as saver:
        done = 0
        for size in sizes:
            admin.execute(_MORE, (done + 1, size))
            admin.execute("VACUUM ANALYZE wyrd_threads")
            took = []
            for _ in range(15):
                start = time.perf_counter()
                assert len(saver.threads()) == 50
                took.append((time.perf_counter() - start) * 1e3)
            done = size
            print(f"threads() over {size:,} threads: {min(took):.1f} to {max(took):.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.campaigns.cost", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=20)
    parser.add_argument("--placement", help="as of WyrdSaver.ddl; default: plain tables")
    parser.add_argument("--listed", type=int, nargs="+", help="only: threads() over so many")
    asked = parser.parse_args()
    script = Script(asked.turns * MESSAGES_A_TURN, "cost")
    with (
        tempfile.TemporaryDirectory(prefix="wyrd-cost-") as folder,
        _server(Path(folder)) as server,
        _fresh_postgres(server, "wyrd_cost") as url,
    ):
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(WyrdSaver.ddl("postgres", placement=asked.placement).encode())
        if asked.listed:
            listed(url, asked.listed)
            return
        measured(url, script, asked.threads, asked.turns, asked.at_once)


if __name__ == "__main__":
    main()
