"""Larger stores: a call is no more work there, for no table is read from end to end."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from langgraph_wyrd import Retention, WyrdSaver
from tests.bench.size import analyse, fill, name
from tests.conftest import Backend, fresh_postgres
from tests.damage import at, talk
from tests.handmade import append, config
from tests.outside import backend_pids, is_postgres, raw

THREADS = 2000
PAGE = {"limit": 5}
CALLS: dict[str, Callable[[WyrdSaver], Any]] = {
    "get_tuple": lambda saver: saver.get_tuple(config(name(700))),
    "put": lambda saver: append(saver, name(701), "more"),
    "put, new thread": lambda saver: append(saver, "new", "more"),
    "a turn": lambda saver: talk(saver, name(702), 1),
    "list": lambda saver: list(saver.list(config(name(703)), limit=3)),
    "threads()": lambda saver: saver.threads(after=saver.threads(**PAGE).next, **PAGE),
    "threads(user_id=)": lambda saver: saver.threads(user_id="user-70", **PAGE),
    "threads(user_id=) of many": lambda saver: saver.threads(user_id="many", **PAGE),
    "threads(status=)": lambda saver: saver.threads(status="interrupted", **PAGE),
    "inbox()": lambda saver: saver.inbox(**PAGE),
    "open_loops()": lambda saver: saver.open_loops(**PAGE),
    "todos()": lambda saver: saver.todos(**PAGE),
    "intentions()": lambda saver: saver.intentions(**PAGE),
    "events()": lambda saver: saver.events(since=saver.events(since="now").next),
    "delete_thread": lambda saver: saver.delete_thread(name(704)),
    "erase_user": lambda saver: saver.erase_user("user-80", threads=True, vacuum=False),
    "sweep": lambda saver: saver.sweep(Retention(thread_ttl=timedelta(days=9999), keep_last=50)),
}


WALKS = {"sweep": "wyrd_threads"}  # to count them, and for those that were deleted long ago


def filled(url: str, threads: int) -> None:
    """Fill a store; all threads but the first 900 belong to one user."""
    fill(url, threads)
    with raw(url) as admin:
        admin.execute(
            f"UPDATE wyrd_threads SET user_id = 'many' WHERE thread_id >= '{name(900)}' "
            f"AND thread_id <= '{name(threads)}'"
        )


class Counting(sqlite3.Connection):
    """Counts the steps of SQLite's machine, in hundreds."""

    steps = 0

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.set_progress_handler(self.count, 100)

    @classmethod
    def count(cls) -> int:
        cls.steps += 1
        return 0


def steps(url: str, call: Callable[[WyrdSaver], Any]) -> int:
    """How many hundreds of steps SQLite takes for a call of a new saver."""
    Counting.steps = 0
    with WyrdSaver.from_conn_string(url, factory=Counting) as saver:
        call(saver)
    return Counting.steps


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The addresses of two stores, one with half as many threads as the other."""
    made = []
    for threads in (THREADS // 2, THREADS):
        made.append(f"sqlite:///{tmp_path_factory.mktemp('large')}/large.db")
        filled(made[-1], threads)
    return made


# A turn takes now more, now less: how many of its writes share a commit is a matter of chance.
STEADY = [each for each in CALLS if each not in (*WALKS, "a turn")]


@pytest.mark.parametrize("what", STEADY)
def test_a_call_is_as_much_work_in_a_larger_file(files: list[str], what: str) -> None:
    """With twice the threads a call takes as many steps of SQLite's machine, but for a few."""
    small, large = (steps(url, CALLS[what]) for url in files)
    assert large - small < THREADS // 200, (small, large)  # half of the threads, at 1 step each: 10


@pytest.fixture(scope="module")
def server(postgres_server: str) -> Iterator[str]:
    """The address of a store of Postgres that is filled, with statistics."""
    with fresh_postgres(postgres_server) as url:
        filled(url, THREADS)
        analyse(url)
        yield url


def reads(url: str, column: str = "seq_tup_read") -> dict[str, int]:
    """How many rows of each table were read from end to end (`idx_tup_read`: by an index)."""
    until = time.monotonic() + 120
    while backend_pids(url) and time.monotonic() < until:  # they tell it as they end
        time.sleep(0.02)
    view = "indexes" if column.startswith("idx") else "tables"
    table = "regexp_replace(relname, '_[0-9]+$', '')"  # of which this may be a partition
    query = f"SELECT {table}, sum({column}) FROM pg_stat_user_{view} GROUP BY 1"
    with raw(url) as admin:
        return {table: int(count) for table, count in admin.execute(query).fetchall()}


@pytest.mark.parametrize("what", CALLS)
def test_no_call_reads_a_whole_table_of_postgres(server: str, what: str) -> None:
    """The server finds all rows that a call asks for by indexes."""
    before = reads(server)
    with WyrdSaver.from_conn_string(server) as saver:
        CALLS[what](saver)
    read = {table: count - before[table] for table, count in reads(server).items()}
    scanned = {table for table, count in read.items() if count > THREADS // 2}
    assert scanned <= {WALKS.get(what)}, read


def test_a_sweep_of_postgres_reads_each_checkpoint_twice(server: str) -> None:
    """Once to count those of each thread, once to look for task writes without one: not all
    checkpoints again for each page of threads."""
    before = reads(server, "idx_tup_read")["wyrd_checkpoints"]
    with WyrdSaver.from_conn_string(server) as saver:
        CALLS["sweep"](saver)
    read = reads(server, "idx_tup_read")["wyrd_checkpoints"] - before
    assert 20 * THREADS < read < 30 * THREADS  # 12 of each thread


# ---- long threads


class State(TypedDict, total=False):
    note: str
    asked: bool


def with_subgraph(saver: WyrdSaver, *, kept: bool = False) -> Any:
    """A graph whose turn calls a subgraph, which remembers its turns if it is `kept`."""

    def think(state: State) -> State:
        return {"note": interrupt("?") if state.get("asked") else "thought"}

    inner = StateGraph(State).add_node("think", think).add_edge(START, "think")
    builder = StateGraph(State).add_node("inner", inner.compile(checkpointer=kept or None))
    return builder.add_edge(START, "inner").compile(checkpointer=saver)


def work(url: str, call: Callable[[WyrdSaver], Any]) -> int:
    """What a call of a new saver takes: of SQLite, hundreds of steps; of Postgres, how many rows of
    checkpoints it reads, for it goes through small tables from end to end."""
    if not is_postgres(url):
        return steps(url, call)

    def read() -> int:
        return sum(reads(url, f"{how}_tup_read")["wyrd_checkpoints"] for how in ("seq", "idx"))

    before = read()
    with WyrdSaver.from_conn_string(url) as saver:
        call(saver)
    return read() - before


@pytest.mark.parametrize("kept", [False, True], ids=["call", "kept"])
def test_a_turn_is_as_much_work_on_a_longer_thread(durable: Backend, kept: bool) -> None:
    """Neither a turn that calls a subgraph nor a look at the newest checkpoints and the subgraph's
    state takes more after 170 turns than after 20."""

    def turns(count: int) -> Callable[[WyrdSaver], Any]:
        def run(saver: WyrdSaver) -> None:
            graph = with_subgraph(saver, kept=kept)
            for _ in range(count):
                graph.invoke({"note": "go"}, at("t"))

        return run

    def looks(saver: WyrdSaver) -> None:
        list(saver.list(at("t"), limit=5))
        with_subgraph(saver, kept=kept).get_state(at("t"), subgraphs=True)

    def measured() -> tuple[int, int]:
        analyse(durable.url)
        return work(durable.url, turns(30)), work(durable.url, looks)

    with durable.open() as saver:
        turns(20)(saver)
    early = measured()
    with durable.open() as saver:
        turns(120)(saver)
    late = measured()
    # Loads go back to a snapshot, and so take more or less: much less than the thread is longer.
    assert late[0] < 1.6 * early[0], (early, late)
    assert late[1] < 2.5 * early[1], (early, late)


def test_what_a_call_of_a_subgraph_lost_is_noticed(durable: Backend) -> None:
    """A subgraph that asked a question and lost all checkpoints of its call is reported as damage,
    not taken for one that has not begun."""
    with durable.open() as saver:
        for _ in range(30):
            with_subgraph(saver).invoke({"note": "go"}, at("t"))
        with_subgraph(saver).invoke({"note": "go", "asked": True}, at("t"))
    with raw(durable.url) as admin:
        newest = "SELECT ns, root FROM wyrd_checkpoints WHERE ns <> '' ORDER BY id DESC LIMIT 1"
        ns, start = admin.execute(newest).fetchone()
        mark = "%s" if is_postgres(durable.url) else "?"
        admin.execute(f"DELETE FROM wyrd_checkpoints WHERE ns = {mark}", (ns,))
    with durable.open() as saver:
        inside = {"thread_id": "t", "checkpoint_ns": ns, "checkpoint_map": {"": start}}
        assert saver.get_tuple({"configurable": inside}) is None
        assert saver.thread("t").heals()
