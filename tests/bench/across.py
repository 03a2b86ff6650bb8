"""Questions across threads over a large store: milliseconds a page, and the plans.

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
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from langgraph_wyrd.plans import query
from langgraph_wyrd.plans.filters import Asked, cursor
from langgraph_wyrd.store.sql import Sql
from langgraph_wyrd.store.values import Codec

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.storage.names import thread_key

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
TABLES = {
    "wyrd_threads": "id thread_id key created updated head tick status reason due title user_id "
    "open_loops open_todos",
    "wyrd_checkpoints": "thread ns id parent ts step source run_id metadata strand seq length "
    "chain sum",
    "wyrd_open_loops": "thread thread_id id kind description context ref opened_at changed_at "
    "closed_at closed_in outcome checkpoint ns node rule confidence changed_in",
    "wyrd_todos": "thread thread_id id place listed content status priority tracker opened_at "
    "changed_at closed_at checkpoint ns node rule confidence changed_in",
    "wyrd_intentions": "thread thread_id id text aim opened_at closed_at closed_in outcome "
    "checkpoint ns rule confidence changed_in",
}
Rows = dict[str, list[tuple[Any, ...]]]


@dataclass
class Filling:
    """The rows of a store, thread by thread."""

    threads: int
    checkpoints: int  # a thread
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
        begun = START + timedelta(seconds=rng.random() * 8e6)
        times = [begun + timedelta(seconds=20 * step) for step in range(self.checkpoints)]
        ids = [self._id(at) for at in times]
        ts = [at.isoformat(timespec="microseconds") for at in times]
        metadata = json.dumps({"source": "loop", "step": 1, "parents": {}, "user_id": "u"})
        rows: Rows = {name: [] for name in TABLES}
        for step, id in enumerate(ids):
            parent = ids[step - 1] if step else None
            rows["wyrd_checkpoints"].append(
                (
                    number,
                    "",
                    id,
                    parent,
                    ts[step],
                    step - 1,
                    "loop",
                    None,
                    metadata,
                    1,
                    step,
                    9,
                    7,
                    5,
                )
            )
        loops = rows["wyrd_open_loops"]

        def loop(kind: str, at: int, closed: bool, sure: str = "structural") -> None:
            over = min(at + 1, len(ids) - 1)
            loops.append(
                (number, thread_id, f"l-{rng.getrandbits(48):012x}", kind, self._said(12),
                 json.dumps({"args": {"path": self._said(3)}}), f"call_{rng.getrandbits(64):x}",
                 ts[at], ts[at], ts[over] if closed else None, ids[over] if closed else None,
                 "answered" if closed else None, ids[at], "", rng.choice(("agent", "tools")),
                 "calls", sure, ids[at])
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
            rows["wyrd_todos"].append(
                (number, thread_id, f"t-{rng.getrandbits(48):012x}", place, True, self._said(6),
                 status, "medium", "todos", ts[last // 2], ts[last // 2], ended, ids[last // 2],
                 "", "agent", "todos", "structural", ids[last])
            )  # fmt: skip
        for nth in range(3):
            at = last * nth // 3
            over = (ts[at], ids[at], "superseded") if nth < 2 else (None, None, None)
            rows["wyrd_intentions"].append(
                (number, thread_id, f"i-{rng.getrandbits(48):012x}", self._said(10), "request",
                 ts[at], *over, ids[at], "", "aims", "structural", ids[at])
            )  # fmt: skip
        user = f"user-{rng.randrange(500) if rng.random() < 0.9 else 0}"
        rows["wyrd_threads"].append(
            (number, thread_id, thread_key(thread_id), ts[0], ts[-1], ids[-1], last, state,
             f"{state}: {self._said(12)}", "[]", self._said(8), user,
             int(is_open is not None), todos)
        )  # fmt: skip
        return rows


def fill(url: str, filling: Filling) -> None:
    """Put the rows into an empty database that has the tables."""
    rows: Rows = {name: [] for name in TABLES}
    for made in filling.made():
        for name, some in made.items():
            rows[name] += some
    if url.startswith("sqlite"):
        import sqlite3

        with sqlite3.connect(url.removeprefix("sqlite:///")) as db:
            for name, columns in TABLES.items():
                marks = ", ".join("?" * len(columns.split()))
                names = ", ".join(columns.split())
                db.executemany(f"INSERT INTO {name} ({names}) VALUES ({marks})", rows[name])
        db.close()
        return
    import psycopg

    with psycopg.connect(url) as server:
        for name, columns in TABLES.items():
            names = ", ".join(columns.split())
            how = " OVERRIDING SYSTEM VALUE" if name == "wyrd_threads" else ""
            if how:
                marks = ", ".join(["%s"] * len(columns.split()))
                server.cursor().executemany(
                    f"INSERT INTO {name} ({names}){how} VALUES ({marks})".encode(), rows[name]
                )
                continue
            with server.cursor().copy(f"COPY {name} ({names}) FROM STDIN".encode()) as copy:
                for row in rows[name]:
                    copy.write_row(row)


def statement(url: str, plan: Any) -> tuple[str, tuple[Any, ...]]:
    """The first query that a plan asks, as this database gets it."""
    (ask, *_) = next(plan)
    if url.startswith("sqlite"):
        return Sql("sqlite")[ask.name], tuple(ask.params)
    from langgraph_wyrd.store.postgres import sql_for

    return sql_for(None)[ask.name], tuple(ask.params)


def explained(url: str, plan: Any, *, run: bool = True) -> list[str]:
    """How the database goes about the first query of a plan."""
    text, params = statement(url, plan)
    if url.startswith("sqlite"):
        import sqlite3

        db = sqlite3.connect(url.removeprefix("sqlite:///"))
        try:
            return [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {text}", params)]
        finally:
            db.close()
    import psycopg

    how = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON)" if run else "EXPLAIN (COSTS OFF)"
    with psycopg.connect(url) as server:
        return [row[0] for row in server.execute(f"{how} {text}".encode(), params).fetchall()]


# ---- measured


def codec() -> Codec:
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    return Codec(JsonPlusSerializer())


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
INTERRUPTS = Asked(limit=50, status=("open",), kind=("interrupt",), sure=True)
SHOWN = {
    "threads": (query.threads, Asked(limit=50)),
    "threads of a user": (query.threads, Asked(limit=50, user_id=("user-7",))),
    "open interrupts": (query.loops, INTERRUPTS),
    "open interrupts, a later page": (
        query.loops,
        replace(INTERRUPTS, after=cursor("open_loops", ("1f11", 5000, "l-0"))),
    ),
    "open loops": (query.loops, Asked(limit=50, status=("open",), sure=True)),
    "open todos": (query.todos, Asked(limit=50, status=query.OPEN_TODOS, sure=True)),
}  # fmt: skip


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
    for name, (plan, asked) in SHOWN.items():
        print(f"  -- {name}")
        for line in explained(url, plan(codec(), asked)):
            print(f"     {line}")


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
                fill(url, Filling(options.threads, options.checkpoints))
                if options.analyze and name == "postgres":
                    import psycopg

                    with psycopg.connect(url, autocommit=True) as server:
                        server.execute("VACUUM ANALYZE")
                print(f"{name}: filled in {time.perf_counter() - start:.0f} s")
                measure(url, options.times)


if __name__ == "__main__":
    main()
