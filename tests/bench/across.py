"""Questions across threads over a large store: milliseconds a page.

python -m tests.bench.across                          10,000 threads, 200,000 checkpoints
python -m tests.bench.across --threads 1000 --database sqlite

The rows are made directly, as realistic as the questions need: a page reads the public tables, the
threads and the heads of a page, never a value.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.storage.keys import new_key
from langgraph_wyrd.storage.tables import CHECKPOINTS, INTENTIONS, OPEN_LOOPS, THREADS, TODOS, Table

from . import machine, places

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
WORDS = (
    "deploy",
    "invoice",
    "summary",
    "customer",
    "refund",
    "report",
    "branch",
    "budget",
    "order",
)
TABLES = (THREADS, CHECKPOINTS, OPEN_LOOPS, TODOS, INTENTIONS)
Rows = dict[Table, list[tuple[Any, ...]]]


@dataclass
class Filling:
    """The rows of a store, thread by thread."""

    threads: int
    checkpoints: int  # a thread
    dialect: str
    seed: int = 1

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    def made(self) -> Iterator[Rows]:
        for number in range(1, self.threads + 1):
            yield self._thread(number)

    def _id(self, at: datetime) -> str:
        """As uuid6: it sorts by time."""
        ticks = int((at - datetime(1582, 10, 15, tzinfo=timezone.utc)).total_seconds() * 1e7)
        text = f"{ticks:015x}"
        return f"{text[:8]}-{text[8:12]}-6{text[12:]}-8{self.rng.getrandbits(12):03x}-" + (
            f"{self.rng.getrandbits(48):012x}"
        )

    def _said(self, words: int) -> str:
        return " ".join(self.rng.choices(WORDS, k=words))

    def _thread(self, number: int) -> Rows:
        rng, thread_id = self.rng, f"conversation-{number:06}"
        key = number if self.dialect == "sqlite" else new_key(self.dialect, thread_id)
        begun = START + timedelta(seconds=rng.random() * 8e6)
        times = [begun + timedelta(seconds=20 * step) for step in range(self.checkpoints)]
        ids = [self._id(at) for at in times]
        ts = [at.isoformat(timespec="microseconds") for at in times]
        metadata = json.dumps({"source": "loop", "step": 1, "parents": {}, "user_id": "u"})
        rows: Rows = {table: [] for table in TABLES}
        for step, id in enumerate(ids):
            parent = ids[step - 1] if step else None
            add(
                rows, CHECKPOINTS, thread=key, ns="", id=id, parent=parent, stamp=step,
                built_on=parent, built_stamp=step - 1 if step else None, seq=step + 1, ts=ts[step],
                step=step - 1, source="loop", sum=0, events_sum=0, metadata=metadata, delta=b"",
            )  # fmt: skip
        shared = {"thread": key, "thread_id": thread_id, "ns": "", "node": "agent"}

        def loop(kind: str, at: int, closed: bool, sure: str = "structural") -> None:
            over = min(at + 1, len(ids) - 1)
            end: dict[str, Any] = {}
            if closed:
                end = {"closed_at": ts[over], "closed_in": ids[over], "outcome": "answered"}
            add(
                rows, OPEN_LOOPS, **shared, **end, id=f"l-{rng.getrandbits(48):012x}", kind=kind,
                description=self._said(12), context=json.dumps({"args": {"path": self._said(3)}}),
                ref=f"call_{rng.getrandbits(64):x}", opened_at=ts[at], changed_at=ts[at],
                checkpoint=ids[at], rule="calls", confidence=sure, elsewhere=False,
            )  # fmt: skip

        last = len(ids) - 1
        for step in range(0, last, 2):
            loop(rng.choice(("request", "tool_call", "question")), step, True)
        state = rng.choices(("done", "interrupted", "error", "idle"), (60, 10, 5, 25))[0]
        is_open = {"interrupted": "interrupt", "error": "error", "idle": "request"}.get(state)
        if is_open is not None:
            loop(is_open, last, False)
        if rng.random() < 0.3:
            loop("promise", last // 2, False, "heuristic")
        todos = rng.choice((0, 0, 4, 7))
        for place in range(todos):
            status = rng.choice(("pending", "in_progress", "completed", "cancelled"))
            ended = ts[last] if status in ("completed", "cancelled") else None
            add(
                rows, TODOS, **shared, id=f"t-{rng.getrandbits(48):012x}", place=place, listed=True,
                content=self._said(6), status=status, priority="medium", tracker="todos",
                opened_at=ts[last // 2], changed_at=ts[last // 2], closed_at=ended,
                checkpoint=ids[last // 2], rule="todos", confidence="structural",
            )  # fmt: skip
        for nth in range(3):
            at = last * nth // 3
            end = {"closed_at": ts[at], "closed_in": ids[at], "outcome": "superseded"}
            add(
                rows, INTENTIONS, **shared, **(end if nth < 2 else {}), text=self._said(10),
                id=f"i-{rng.getrandbits(48):012x}", aim="request", opened_at=ts[at],
                checkpoint=ids[at], rule="aims", confidence="structural",
            )  # fmt: skip
        user = f"user-{rng.randrange(500) if rng.random() < 0.9 else 0}"
        add(
            rows, THREADS, key=key, thread_id=thread_id, version=last + 1, writer=0, head=ids[-1],
            created=ts[0], updated=ts[-1], status=state, reason=f"{state}: {self._said(12)}",
            due="[]", title=self._said(8), user_id=user, open_loops=int(is_open is not None),
            open_todos=todos,
        )  # fmt: skip
        return rows


def add(rows: Rows, table: Table, **given: Any) -> None:
    """A row of a table; what is not given is NULL."""
    rows[table].append(tuple(given.get(name) for name in table.names))


def fill(url: str, filling: Filling) -> None:
    """Put the rows into an empty database that has the tables."""
    rows: Rows = {table: [] for table in TABLES}
    for made in filling.made():
        for table, some in made.items():
            rows[table] += some
    if url.startswith("sqlite"):
        import sqlite3

        with sqlite3.connect(url.removeprefix("sqlite:///")) as db:
            for table in TABLES:
                marks, names = ", ".join("?" * len(table.names)), ", ".join(table.names)
                text = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"
                db.executemany(text, rows[table])
        db.close()
        return
    import psycopg

    with psycopg.connect(url) as server:
        for table in TABLES:
            names = ", ".join(table.names)
            with server.cursor().copy(f"COPY {table.name} ({names}) FROM STDIN".encode()) as copy:
                for row in rows[table]:
                    copy.write_row(row)


# ---- measured

QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "threads": ("threads", {}),
    "threads, interrupted": ("threads", {"status": "interrupted"}),
    "threads of a user": ("threads", {"user_id": "user-7"}),
    "threads that say": ("threads", {"text": "refund report"}),
    "open interrupts": ("open_loops", {"kind": "interrupt"}),
    "open interrupts of a user": ("open_loops", {"kind": "interrupt", "user_id": "user-7"}),
    "open loops of a busy user": ("open_loops", {"user_id": "user-0"}),
    "open interrupts of the busy": ("open_loops", {"kind": "interrupt", "user_id": "user-0"}),
    "open loops of a user": ("open_loops", {"user_id": "user-7"}),
    "all loops of a user": ("open_loops", {"user_id": "user-7", "status": "any"}),
    "open loops": ("open_loops", {}),
    "open loops of two kinds": ("open_loops", {"kind": ["error", "request"]}),
    "open loops of a thread": ("open_loops", {"thread_id": "conversation-000007"}),
    "open loops of a node": ("open_loops", {"node": "tools"}),
    "open loops that say": ("open_loops", {"text": "refund report"}),
    "open loops, nothing found": ("open_loops", {"text": "no such words"}),
    "closed loops": ("open_loops", {"status": "closed"}),
    "open todos": ("todos", {}),
    "todos of a user": ("todos", {"user_id": "user-7"}),
    "intentions": ("intentions", {}),
}


def measure(url: str, times: int) -> None:
    with WyrdSaver.from_conn_string(url) as saver:
        for name, (method, filters) in QUESTIONS.items():
            ask = getattr(saver, method)
            taken = []
            for _ in range(times):
                start = time.perf_counter()
                page = ask(**filters)
                taken.append((time.perf_counter() - start) * 1000)
            more = " +" if page.next else ""
            print(
                f"  {name:28} {statistics.median(taken):8.2f} ms  (first {taken[0]:.1f}, most "
                f"{max(taken[1:]):.1f})  {len(page)}{more}"
            )
        # The way from page to page, to its end.
        start, pages, after = time.perf_counter(), 0, None
        while True:
            page = saver.open_loops(kind="interrupt", after=after)
            pages, after = pages + 1, page.next
            if after is None:
                break
        each = (time.perf_counter() - start) * 1000 / pages
        print(f"  {'every page of interrupts':28} {each:8.2f} ms a page, {pages} pages")


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.bench.across", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--threads", type=int, default=10_000)
    parser.add_argument("--checkpoints", type=int, default=20, help="of a thread")
    parser.add_argument("--database", action="append", choices=["sqlite", "postgres"])
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--analyze", action="store_true", help="with fresh statistics")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    wanted = options.database or ["sqlite", "postgres"]
    with places.databases(options.folder, postgres="postgres" in wanted) as databases:
        print(machine.words(machine.describe(databases.folder)))
        for name in wanted:
            with databases.fresh(f"wyrd-{name}") as place:
                url = f"sqlite:///{place.url}" if name == "sqlite" else place.url
                with WyrdSaver.from_conn_string(url) as saver:
                    saver.setup()
                start = time.perf_counter()
                fill(url, Filling(options.threads, options.checkpoints, name))
                if options.analyze and name == "postgres":
                    import psycopg

                    with psycopg.connect(url, autocommit=True) as server:
                        server.execute("VACUUM ANALYZE")
                print(f"{name}: filled in {time.perf_counter() - start:.0f} s")
                measure(url, options.times)


if __name__ == "__main__":
    main()
