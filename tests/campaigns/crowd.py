"""Several processes, each with tasks and threads, on one database: no write lost, none refused.

python -m tests.campaigns.crowd --n 5000 --backend sqlite
"""

from __future__ import annotations

import argparse
import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from langgraph_wyrd import WyrdSaver
from tests.handmade import aappend, append, config, head_tokens, next_step, same, tree
from tests.outside import Peer, at_rest, fresh_databases, is_postgres, raw

SAVERS: dict[str, Any] = {}  # of a peer: kept open between the things it is told to do


# ---- what a peer is told to do


def open_saver(url: str, **options: Any) -> None:
    SAVERS["mine"] = WyrdSaver.from_conn_string(url, **options)


def close_saver() -> None:
    SAVERS.pop("mine").close()


def add(thread: str, *added: str) -> list[str]:
    """Append to the thread's head; returns what the head is then, as this process sees it."""
    for token in added:
        append(SAVERS["mine"], thread, token)
    return head_tokens(SAVERS["mine"], thread)


def add_many(thread: str, name: str, count: int) -> None:
    for step in range(count):
        append(SAVERS["mine"], thread, f"{name}/{step}")


def add_skewed(thread: str, token: str, checkpoint_id: str) -> list[str]:
    append(SAVERS["mine"], thread, token, checkpoint_id=checkpoint_id)
    return head_tokens(SAVERS["mine"], thread)


def head(thread: str) -> list[str]:
    return head_tokens(SAVERS["mine"], thread)


def start_together(url: str, name: str, tasks: int, options: dict[str, Any]) -> int:
    """The very first calls of a process: every task sets up, then writes and reads."""

    async def run() -> None:
        async def one(number: int) -> None:
            await saver.asetup()
            await aappend(saver, f"{name}-{number}", "a")
            assert await saver.aget_tuple(config(f"{name}-{number}"))

        await asyncio.gather(*(one(number) for number in range(tasks)))

    with WyrdSaver.from_conn_string(url, **options) as saver:
        asyncio.run(run())
    return tasks


def write_crowd(name: str, tasks: int, threads: int, each: int) -> int:
    """Tasks of a loop and threads of an executor, all at once, with writes of both kinds."""
    saver = SAVERS["mine"]

    async def in_a_task(number: int) -> None:
        for step in range(each):
            done = await aappend(saver, f"{name}-task-{number}", f"{step}")
            await saver.aput_writes(done, [("log", step)], f"task-{number}")

    def in_a_thread(number: int) -> None:
        for step in range(each):
            done = append(saver, f"{name}-thread-{number}", f"{step}")
            saver.put_writes(done, [("log", step)], f"thread-{number}")

    async def run() -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(max(threads, 1)) as pool:
            await asyncio.gather(
                *(in_a_task(number) for number in range(tasks)),
                *(loop.run_in_executor(pool, in_a_thread, number) for number in range(threads)),
            )

    asyncio.run(run())
    return (tasks + threads) * each * 2


# ---- what is asked afterwards


def check_crowd(saver: Any, name: str, tasks: int, threads: int, each: int) -> int:
    """Every checkpoint and every pending write of `write_crowd` is there."""
    found = 0
    kinds = [("task", number) for number in range(tasks)]
    for kind, number in [*kinds, *(("thread", number) for number in range(threads))]:
        thread = f"{name}-{kind}-{number}"
        assert head_tokens(saver, thread) == [str(step) for step in range(each)]
        for item in saver.list(config(thread)):
            step = item.metadata["step"]
            assert item.pending_writes == [(f"{kind}-{number}", "log", step)]
            found += 2
    return found


def crowd(url: str, peers: list[Peer], tasks: int, threads: int, each: int) -> int:
    """All peers write at once; returns how many writes were made and found again."""
    for peer in peers:
        peer(open_saver, url)
    for number, peer in enumerate(peers):
        peer.start(write_crowd, f"p{number}", tasks, threads, each)
    made = sum(peer.result(600) for peer in peers)
    for peer in peers:
        peer(close_saver)
    with WyrdSaver.from_conn_string(url) as saver:
        names = [f"p{number}" for number in range(len(peers))]
        found = sum(check_crowd(saver, name, tasks, threads, each) for name in names)
        at_rest(url)
    assert found == made
    check_file(url)
    return made


def shared_thread(url: str, peers: list[Peer], each: int) -> int:
    """All peers append to one thread at once; every branch of it is whole."""
    for peer in peers:
        peer(open_saver, url)
    for number, peer in enumerate(peers):
        peer.start(add_many, "shared", f"p{number}", each)
    for peer in peers:
        peer.result(600)
    with WyrdSaver.from_conn_string(url) as saver:
        logs = tree(saver, "shared")
        names = [f"p{number}" for number in range(len(peers))]
        same(
            [log[-1] for log in logs.values()],
            [f"{name}/{step}" for name in names for step in range(each)],
        )
        newest = logs[max(logs)]
        assert [peer(head, "shared") for peer in peers] == [newest] * len(peers)
        # Whatever a peer remembers of the fight, its next step goes on from what is there.
        for peer in peers:
            newest = [*newest, f"last-{len(newest)}"]
            assert peer(add, "shared", newest[-1]) == newest
        tree(saver, "shared")
        saver.put(*next_step(saver, saver.get_tuple(config("shared")), "shared", "end"))
        assert head_tokens(saver, "shared") == [*newest, "end"]
        report = saver.verify(pages=False)
        assert not report.findings, str(report)
    for peer in peers:
        peer(close_saver)
    check_file(url)
    return len(logs)


def check_file(url: str) -> None:
    if not is_postgres(url):
        with raw(url) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--n", type=int, default=5000, help="writes in all, about")
    parse.add_argument("--backend", choices=["sqlite", "postgres"], default="sqlite")
    parse.add_argument("--processes", type=int, default=2)
    parse.add_argument("--tasks", type=int, default=8)
    parse.add_argument("--threads", type=int, default=4)
    asked = parse.parse_args()
    each = max(1, asked.n // (asked.processes * (asked.tasks + asked.threads) * 2))
    peers = [Peer() for _ in range(asked.processes)]
    try:
        with fresh_databases(asked.backend) as fresh:
            began = time.perf_counter()
            with fresh() as url:
                made = crowd(url, peers, asked.tasks, asked.threads, each)
            took = time.perf_counter() - began
            print(f"{made} writes of {asked.processes} processes found again, {took:.1f} s")
            with fresh() as url:
                count = shared_thread(url, peers, max(10, asked.n // 100))
            print(f"{count} checkpoints in one thread of {asked.processes} processes, all whole")
    finally:
        for peer in peers:
            peer.stop()


if __name__ == "__main__":
    main()
