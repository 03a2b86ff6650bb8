"""The web inspector over a large store: milliseconds a request, and until the page shows it.
CPU is that of server and client together: it counts where the machine is busy with other things.

python -m tests.bench.inspector                                    10,000 threads, 3,000 messages
python -m tests.bench.inspector --threads 1000 --database sqlite
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

import httpx
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import CheckpointMetadata, empty_checkpoint
from langgraph.types import Interrupt

from langgraph_wyrd import WyrdSaver, ui
from tests.chromium import BINARY, Chromium
from tests.inspected import many, served

from . import machine, places

ASKED = {
    "threads": "threads",
    "threads, interrupted": "threads?status=interrupted",
    "threads of a user": "threads?user_id=user-7",
    "threads that say": "threads?text=order%20777",
    "inbox": "inbox?limit=50",
    "long thread": "threads/long",
    "long thread, last 100 messages": "threads/long/messages?limit=100&cut=4000",
    "long thread, every message": "threads/long/messages",
    "long thread, history": "threads/long/history",
}


async def fill(saver: WyrdSaver, threads: int) -> None:
    """Threads of a checkpoint each, of 500 users; one of twenty asks a person."""

    async def one(number: int) -> None:
        message = HumanMessage(f"Where is order {number}?", id=f"m{number}")
        checkpoint = {**empty_checkpoint(), "channel_values": {"messages": [message]}}
        checkpoint["channel_versions"] = {"messages": "1"}
        user = f"user-{number % 500}"
        config: Any = {"configurable": {
            "thread_id": f"order-{number:05}", "checkpoint_ns": "", "user_id": user,
        }}  # fmt: skip
        metadata: CheckpointMetadata = {"source": "loop", "step": 1, "parents": {}}
        versions = {"messages": "1"}
        stored = await saver.aput(config, checkpoint, metadata, versions)  # type: ignore[arg-type]
        if number % 20 == 0:
            asks = Interrupt(value=f"Refund order {number}?", id=f"{number:032x}")
            await saver.aput_writes(stored, [("__interrupt__", [asks])], f"task-{number}")

    for start in range(0, threads, 500):
        await asyncio.gather(*map(one, range(start, min(start + 500, threads))))


def measure(saver: WyrdSaver, folder: Path, times: int) -> None:
    with served(ui.app(saver)) as url, httpx.Client(base_url=f"{url}api/", timeout=60) as http:
        page = http.get("threads").json()
        asked = {**ASKED, "threads, the next page": f"threads?after={page['next']}"}
        for name, path in asked.items():
            taken, used = [], time.process_time()
            for _ in range(times):
                start = time.perf_counter()
                answer = http.get(path)
                taken.append((time.perf_counter() - start) * 1000)
                assert answer.status_code == 200, answer.text
            size, cpu = len(answer.content) / 1000, (time.process_time() - used) / times * 1000
            print(
                f"  {name:32} {statistics.median(taken):7.1f} ms  (first {taken[0]:.1f}, most "
                f"{max(taken[1:]):.1f})  {cpu:.1f} ms CPU  {size:,.0f} kB"
            )
        if BINARY is None:
            print("  no Chromium: the page was not measured")
            return
        with Chromium(folder) as browser:
            shown = {
                "page of threads": ("#/threads", "document.querySelector('.thread-row')"),
                "page of the long thread": (
                    "#/thread/long",
                    "document.querySelector('.message') && document.querySelector('.moment')",
                ),
            }
            for name, (view, seen) in shown.items():
                taken = []
                for _ in range(max(3, times // 5)):
                    tab = browser.tab()
                    start = time.perf_counter()
                    tab.go(url + view)
                    tab.wait(seen)
                    taken.append((time.perf_counter() - start) * 1000)
                    tab.close()
                print(
                    f"  {name:32} {statistics.median(taken):7.0f} ms  until it is shown in a new "
                    f"tab (most {max(taken):.0f})"
                )


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.bench.inspector", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--threads", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=3000, help="of the long thread")
    parser.add_argument("--database", action="append", choices=["sqlite", "postgres"])
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    wanted = options.database or ["sqlite", "postgres"]
    with places.databases(options.folder, postgres="postgres" in wanted) as databases:
        print(machine.words(machine.describe(databases.folder)))
        for name in wanted:
            with databases.fresh(f"wyrd-{name}") as place:
                url = f"sqlite:///{place.url}" if name == "sqlite" else place.url
                with WyrdSaver.from_conn_string(url) as saver:
                    start = time.perf_counter()
                    asyncio.run(fill(saver, options.threads))
                    many(saver, options.messages)
                    print(f"{name}: filled in {time.perf_counter() - start:.0f} s")
                with WyrdSaver.from_conn_string(url) as saver:
                    measure(saver, Path(databases.folder) / f"chromium-{name}", options.times)


if __name__ == "__main__":
    main()
