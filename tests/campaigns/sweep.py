"""A large database swept while others write: how long it takes, what it holds, who waits.

python -m tests.campaigns.sweep --threads 100 --checkpoints 1000 --backend sqlite
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
from typing import Any

from langchain_core.messages import HumanMessage

from langgraph_wyrd import Retention, WyrdSaver
from tests.handmade import config, put
from tests.outside import fresh_databases


def build(saver: WyrdSaver, threads: int, checkpoints: int) -> None:
    """One chat, written, and copied."""
    said: list[Any] = []
    head = None
    for n in range(checkpoints):
        said = [*said[-40:], HumanMessage(f"message {n} " + "x" * 200, id=f"m{n}")]
        head = put(saver, "t0", {"messages": said, "n": n}, parent=head)
        saver.put_writes(head, [("n", n)], "task")
    for n in range(1, threads):
        saver.copy_thread("t0", f"t{n}")


class Writer(threading.Thread):
    """Puts, through a saver of its own, until it is told to end."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.over, self.took = url, threading.Event(), [0.0]

    def run(self) -> None:
        with WyrdSaver.from_conn_string(self.url) as saver:
            head = None
            while not self.over.is_set():
                begun = time.perf_counter()
                head = put(saver, "busy", {"x": begun}, parent=head)
                self.took.append(time.perf_counter() - begun)
                time.sleep(0.02)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=100)
    parser.add_argument("--checkpoints", type=int, default=1000)
    parser.add_argument("--keep", type=int, default=20)
    parser.add_argument("--backend", default="sqlite")
    asked = parser.parse_args()
    with (
        fresh_databases(asked.backend) as fresh,
        fresh() as url,
        WyrdSaver.from_conn_string(url) as saver,
    ):
        begun = time.perf_counter()
        build(saver, asked.threads, asked.checkpoints)
        total = asked.threads * asked.checkpoints
        print(f"{total} checkpoints built in {time.perf_counter() - begun:.1f} s")
        before, held = (
            saver.size_report(0).on_disk,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        )
        rule = Retention(keep_last=asked.keep)
        begun = time.perf_counter()
        print("dry run:", saver.sweep(rule), f"({time.perf_counter() - begun:.1f} s)")
        writer = Writer(url)
        writer.start()
        begun = time.perf_counter()
        print("sweep:", saver.sweep(rule, dry_run=False))
        took = time.perf_counter() - begun
        writer.over.set()
        writer.join()
        took_by_others = sorted(writer.took)
        after = saver.size_report(0).on_disk
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held
        print(
            f"{took:.1f} s ({total / took:.0f} checkpoints a second); {grown / 1024:.0f} MB more "
            f"memory at most; {before / 1e6:.1f} -> {after / 1e6:.1f} MB on disk"
        )
        print(
            f"{len(took_by_others)} puts of another saver meanwhile: median "
            f"{took_by_others[len(took_by_others) // 2] * 1e3:.0f} ms, longest "
            f"{took_by_others[-1] * 1e3:.0f} ms"
        )
        print("left:", len([*saver.list(config("t0"))]))


if __name__ == "__main__":
    main()
