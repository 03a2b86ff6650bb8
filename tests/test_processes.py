"""More than one process: forked after use, started at once, on one database, and never closed."""

from __future__ import annotations

import os
import sqlite3
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.campaigns import crowd
from tests.handmade import (
    append,
    config,
    head_tokens,
    next_step,
    same,
    skewed_id,
    tokens,
    tree,
)
from tests.outside import Peer, at_rest, is_postgres, raw, run, tables

pytestmark = pytest.mark.timeout(300, method="thread")


@pytest.fixture(scope="module")
def all_peers() -> Iterator[list[Peer]]:
    peers = [Peer() for _ in range(4)]
    yield peers
    for peer in peers:
        peer.stop()


@pytest.fixture
def peers(all_peers: list[Peer]) -> list[Peer]:
    """Two other processes."""
    return all_peers[:2]


def script(code: str, url: str, *, answer: int = 0) -> str:
    """Run a script that must end by itself; returns what it printed."""
    prelude = """
        import asyncio, gc, os, sys, threading, time
        from langgraph_wyrd import WyrdSaver
        from tests.handmade import aappend, append, config, head_tokens, next_step, tokens
        url = sys.argv[1]
    """
    if answer == 0:  # where one thread fails, others need not end
        prelude += """
        def fails(*error):
            sys.__excepthook__(*error)
            sys.stderr.flush()
            os._exit(1)
        sys.excepthook = fails
        """
    done = run("-c", textwrap.dedent(prelude) + textwrap.dedent(code), url)
    assert done.returncode == answer, done.stdout + done.stderr
    if answer == 0:  # that runs go on side by side is warned of, and is what some of these do
        said = [line for line in done.stderr.splitlines() if " forked: another" not in line]
        assert [line for line in said if "use of fork()" not in line] == []  # Python 3.12 and later
    return done.stdout


# ---- fork


def test_parent_and_children_go_on_after_fork(durable: Any) -> None:
    """gunicorn preload: used, then forked four times; all five go on, sync and async."""
    script(
        """
        saver = WyrdSaver.from_conn_string(url)
        append(saver, "shared", "before")
        asyncio.run(aappend(saver, "before", "x"))

        def work(name):
            assert head_tokens(saver, "before") == ["x"]
            for step in range(5):
                append(saver, name, f"{step}")
                asyncio.run(aappend(saver, f"{name}-async", f"{step}"))
                append(saver, "shared", f"{name}/{step}")
            assert len(list(saver.list(config(name)))) == 5

        children = []
        for number in range(4):
            pid = os.fork()
            if pid == 0:
                work(f"child-{number}")
                sys.exit(7)  # an ordinary end, with everything that runs at exit
            children.append(pid)
        work("parent")
        for pid in children:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        append(saver, "parent", "after")
        saver.close()
        """,
        durable.url,
    )
    saver = durable.open()
    names = ["parent", *(f"child-{number}" for number in range(4))]
    steps = [str(step) for step in range(5)]
    for name in names:
        assert head_tokens(saver, name) == ([*steps, "after"] if name == "parent" else steps)
        assert head_tokens(saver, f"{name}-async") == steps
    logs = tree(saver, "shared")
    same(
        [log[-1] for log in logs.values()], ["before", *(f"{n}/{s}" for n in names for s in steps)]
    )
    at_rest(durable.url)
    crowd.check_file(durable.url)


def test_a_child_outlives_its_parents_saver(durable: Any) -> None:
    """The parent closes, and others come and go, while a child works: its writes are kept.

    SQLite's locks belong to a process: an inherited connection makes a child believe that it holds
    one, and the last other process to close takes the WAL away from under it.
    """
    printed = script(
        """
        saver = WyrdSaver.from_conn_string(url)
        append(saver, "t", "parent")
        done, go = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            append(saver, "t", "child")
            os.write(done[1], b"x")
            os.read(go[0], 1)
            for step in range(3):
                append(saver, "t", f"late-{step}")
            saver.close()
            sys.exit(0)
        os.read(done[0], 1)
        saver.close()
        with WyrdSaver.from_conn_string(url) as other:
            append(other, "t", "other")
        os.write(go[1], b"x")
        assert os.waitpid(pid, 0)[1] == 0
        with WyrdSaver.from_conn_string(url) as other:
            print(*head_tokens(other, "t"))
        """,
        durable.url,
    )
    assert printed.split() == ["parent", "child", "other", "late-0", "late-1", "late-2"]
    crowd.check_file(durable.url)


def test_a_child_leaves_its_parents_connections_alone(postgres: Any) -> None:
    """A child that uses, collects and closes its copy does not end the parent's sessions."""
    printed = script(
        """
        from tests.outside import backend_pids
        saver = WyrdSaver.from_conn_string(url, min_size=2, max_size=4)
        append(saver, "t", "a")
        before = backend_pids(url)
        for use in (True, False):
            pid = os.fork()
            if pid == 0:
                if use:
                    append(saver, "t", "child")
                    saver.close()
                del saver
                gc.collect()
                sys.exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        assert before and before <= backend_pids(url)
        append(saver, "t", "b")
        print(*head_tokens(saver, "t"))
        saver.close()
        """,
        postgres.url,
    )
    assert printed.split() == ["a", "child", "b"]


def test_fork_while_calls_run(durable: Any) -> None:
    """Children forked in the middle of the parent's calls work; the parent's calls are unharmed."""
    script(
        """
        saver = WyrdSaver.from_conn_string(url)
        append(saver, "parent", "0")
        stop = threading.Event()
        count = 0

        def write():
            global count
            while not stop.is_set():
                count += 1
                append(saver, "parent", f"{count}")

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        for number in range(8):
            pid = os.fork()
            if pid == 0:
                append(saver, f"child-{number}", "a")
                asyncio.run(aappend(saver, f"child-{number}", "b"))
                assert head_tokens(saver, f"child-{number}") == ["a", "b"]
                saver.close()
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        stop.set()
        writer.join()
        assert head_tokens(saver, "parent") == [str(n) for n in range(count + 1)]
        assert all(head_tokens(saver, f"child-{n}") == ["a", "b"] for n in range(8))
        saver.close()
        """,
        durable.url,
    )
    at_rest(durable.url)
    crowd.check_file(durable.url)


def test_fork_while_a_saver_is_opened(durable: Any) -> None:
    """A child forked while other threads open the database, close it, or import what a first call
    needs: nothing that they held is locked in the child."""
    script(
        """
        sys.setswitchinterval(1e-5)
        for number in range(10):
            saver = WyrdSaver.from_conn_string(url)
            first = threading.Thread(target=append, args=(saver, f"{number}", "parent"))
            first.start()
            time.sleep(number * 0.001)
            pid = os.fork()
            if pid == 0:
                import faulthandler
                faulthandler.dump_traceback_later(30, exit=True)
                append(saver, f"child-{number}", "child")
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0, number
            first.join()
            threading.Thread(target=saver.close, daemon=True).start()
        with WyrdSaver.from_conn_string(url) as saver:
            for number in range(10):
                assert head_tokens(saver, f"{number}") == ["parent"]
                assert head_tokens(saver, f"child-{number}") == ["child"]
        """,
        durable.url,
    )


def test_first_calls_of_a_child_from_many_threads(durable: Any) -> None:
    """Threads of a forked child call a saver that its parent has used, all of them at once, also
    for threads that the parent was writing: no call waits for ever, and each is stored."""
    script(
        """
        saver = WyrdSaver.from_conn_string(url)
        sys.setswitchinterval(1e-5)
        stop = threading.Event()

        def write(name):
            count = 0
            while not stop.is_set():
                count += 1
                append(saver, name, str(count))
                time.sleep(0.002)

        def child(number):
            go, stored = threading.Barrier(6), []

            def first(name):
                go.wait()
                append(saver, name, "child")
                stored.append(name)

            names = [*"abc", *(f"child-{number}-{one}" for one in range(3))]
            threads = [threading.Thread(target=first, args=(n,), daemon=True) for n in names]
            [each.start() for each in threads]
            [each.join(30) for each in threads]
            os._exit(len(stored) != len(names))

        writers = [threading.Thread(target=write, args=(name,), daemon=True) for name in "abc"]
        [each.start() for each in writers]
        for number in range(6):
            pid = os.fork()
            if pid == 0:
                child(number)
            assert os.waitpid(pid, 0)[1] == 0, number
        stop.set()
        [each.join() for each in writers]
        assert all(head_tokens(saver, f"child-{n}-0") == ["child"] for n in range(6))
        saver.close()
        """,
        durable.url,
    )
    at_rest(durable.url)


def test_a_fork_inside_a_running_loop(durable: Any) -> None:
    """A worker forked from inside a coroutine drops the loop and runs its own."""
    script(
        """
        saver = WyrdSaver.from_conn_string(url)

        async def main():
            await aappend(saver, "t", "a")
            pending = asyncio.ensure_future(aappend(saver, "t", "b"))
            await asyncio.sleep(0)
            pid = os.fork()
            if pid == 0:
                append(saver, "child", "sync")
                os._exit(0)
            await pending
            assert os.waitpid(pid, 0)[1] == 0
            await aappend(saver, "t", "c")
            await saver.aclose()

        asyncio.run(main())
        """,
        durable.url,
    )
    saver = durable.open()
    assert head_tokens(saver, "t") == ["a", "b", "c"]
    assert head_tokens(saver, "child") == ["sync"]


def test_a_forked_memory_saver_does_not_hang() -> None:
    """Memory can't be shared: a child works on its own, and the parent keeps what it has."""
    script(
        """
        saver = WyrdSaver.from_conn_string(url)
        append(saver, "t", "a")
        pid = os.fork()
        if pid == 0:
            append(saver, "child", "a")
            assert head_tokens(saver, "child") == ["a"]
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert saver.get_tuple(config("child")) is None
        append(saver, "t", "b")
        assert head_tokens(saver, "t") == ["a", "b"]
        saver.close()
        """,
        "sqlite://",
    )


@pytest.mark.parametrize(
    ("durable", "method"),
    [("sqlite", "fork"), ("postgres", "fork"), ("sqlite", "spawn")],
    indirect=["durable"],
)
def test_multiprocessing(durable: Any, method: str, tmp_path: Any) -> None:
    """Pools of every start method work next to a parent that has used, and goes on using, it. (A
    spawned process has nothing of its parent's, so one database is enough for that.)"""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import multiprocessing, sys
            from langgraph_wyrd import WyrdSaver
            from tests.handmade import append, head_tokens
            saver = WyrdSaver.from_conn_string(sys.argv[1])

            def work(name):
                for step in range(3):
                    append(saver, name, f"{step}")
                return head_tokens(saver, name)

            if __name__ == "__main__":
                append(saver, "parent", "a")
                names = [f"w{n}" for n in range(6)]
                with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
                    found = pool.map(work, names)
                    pool.close()
                    pool.join()
                assert found == [["0", "1", "2"]] * 6, found
                append(saver, "parent", "b")
                assert head_tokens(saver, "parent") == ["a", "b"]
                assert all(head_tokens(saver, name) == ["0", "1", "2"] for name in names)
            """
        )
    )
    done = run(str(program), durable.url, method, fresh=method == "spawn")
    assert done.returncode == 0, done.stdout + done.stderr
    at_rest(durable.url)


# ---- nobody closes


ENDINGS = {
    "sync": """
        saver = WyrdSaver.from_conn_string(url)
        append(saver, "t", "a")
    """,
    "async": """
        saver = WyrdSaver.from_conn_string(url)
        asyncio.run(aappend(saver, "t", "a"))
    """,
    "async inside the coroutine": """
        async def main():
            saver = WyrdSaver.from_conn_string(url)
            await aappend(saver, "t", "a")
        asyncio.run(main())
    """,
    "two savers, one of them never used": """
        saver = WyrdSaver.from_conn_string(url)
        other = WyrdSaver.from_conn_string(url)
        append(saver, "t", "a")
    """,
    "entered, never left": """
        saver = WyrdSaver.from_conn_string(url).__enter__()
        append(saver, "t", "a")
    """,
    "a listing left half-way": """
        saver = WyrdSaver.from_conn_string(url)
        append(saver, "t", "a")
        append(saver, "u", "a")
        listing = saver.list(None)
        next(listing)
    """,
    "a reference that goes round": """
        class Holder: pass
        holder = Holder()
        holder.saver, holder.me = WyrdSaver.from_conn_string(url), holder
        append(holder.saver, "t", "a")
        del holder
    """,
    "a call under way": """
        saver = WyrdSaver.from_conn_string(url)
        append(saver, "t", "a")
        async def main():
            asyncio.ensure_future(aappend(saver, "t", "b"))
            await asyncio.sleep(0)
        asyncio.run(main())
    """,
    "a daemon thread that goes on writing": """
        saver = WyrdSaver.from_conn_string(url)
        append(saver, "t", "a")
        def write():
            try:
                for n in range(100_000):
                    append(saver, f"other-{n}", "x")
            except Exception:
                pass
        threading.Thread(target=write, daemon=True).start()
    """,
    "used again at exit": """
        import atexit
        saver = WyrdSaver.from_conn_string(url)
        append(saver, "t", "a")
        def late():
            try:
                saver.get_tuple(config("t"))
            except Exception:
                pass
        atexit.register(late)
    """,
}


@pytest.mark.parametrize("ending", list(ENDINGS))
def test_a_forgotten_close_does_not_keep_the_process(durable: Any, ending: str) -> None:
    """A script that never closes ends by itself, with code 0, in silence, and loses nothing."""
    script(ENDINGS[ending], durable.url)
    assert head_tokens(durable.open(), "t")[0] == "a"
    at_rest(durable.url)


@pytest.mark.parametrize("ending", ["async inside the coroutine", "a listing left half-way"])
def test_a_forgotten_memory_saver_does_not_keep_the_process(ending: str) -> None:
    """The same in memory."""
    script(ENDINGS[ending], "sqlite://")


@pytest.mark.parametrize(("end", "code"), [("sys.exit(3)", 3), ("raise RuntimeError", 1)])
def test_a_script_keeps_its_own_exit_code(sqlite: Any, end: str, code: int) -> None:
    """`sys.exit(3)` and an uncaught error end the process as they would without a saver."""
    use = "saver = WyrdSaver.from_conn_string(url)\nappend(saver, 't', 'a')\n"
    script(use + end, sqlite.url, answer=code)


def test_work_that_outlives_the_main_thread_is_saved(durable: Any) -> None:
    """Python waits for executors and plain threads after the last line; so does the saver."""
    script(
        """
        import time
        from concurrent.futures import ThreadPoolExecutor
        saver = WyrdSaver.from_conn_string(url)
        append(saver, "t", "a")
        def later(name):
            time.sleep(0.3)
            for step in range(3):
                append(saver, name, f"{step}")
        ThreadPoolExecutor(2).submit(later, "executor")
        threading.Thread(target=later, args=("thread",)).start()
        """,
        durable.url,
    )
    saver = durable.open()
    assert head_tokens(saver, "executor") == ["0", "1", "2"]
    assert head_tokens(saver, "thread") == ["0", "1", "2"]


# ---- setup


def test_setup_by_many_at_once(sqlite: Any, all_peers: list[Peer], tmp_path: Any) -> None:
    """4 processes with 8 tasks each, all first on a fresh file: every one succeeds."""
    for round_ in range(4):
        begin_together(f"sqlite:///{tmp_path / f'round-{round_}.db'}", all_peers, {})


def test_setup_by_many_at_once_on_postgres(postgres: Any, all_peers: list[Peer]) -> None:
    """The same on a fresh Postgres database."""
    begin_together(postgres.url, all_peers, {})


@pytest.mark.empty
def test_setup_by_many_at_once_in_a_schema(postgres: Any, all_peers: list[Peer]) -> None:
    """The same with `schema=` that does not exist yet; odd names are quoted, others untouched."""
    for schema in ("one", "Two words", 'a"quote'):
        begin_together(postgres.url, all_peers, {"schema": schema})
    with raw(postgres.url) as connection:
        schemas = {name.rpartition(".")[0] for name in tables(connection)}
    assert schemas == {"one", '"Two words"', '"a""quote"'}


def begin_together(url: str, peers: list[Peer], options: dict[str, Any]) -> None:
    for number, peer in enumerate(peers):
        peer.start(crowd.start_together, url, f"p{number}", 8, options)
    assert [peer.result() for peer in peers] == [8] * len(peers)
    with crowd.WyrdSaver.from_conn_string(url, **options) as saver:
        for number in range(len(peers)):
            assert [head_tokens(saver, f"p{number}-{task}") for task in range(8)] == [["a"]] * 8
    at_rest(url)
    crowd.check_file(url)


def test_setup_may_be_called_again(durable: Any) -> None:
    """`setup` on tables that are there changes nothing, by whichever saver it is called."""
    saver = durable.open()
    saver.setup()
    append(saver, "t", "a")
    with raw(durable.url) as connection:
        before = connection.execute(f"SELECT * FROM {migrations(durable.url)}").fetchall()
    saver.setup()
    durable.open().setup()
    with raw(durable.url) as connection:
        assert connection.execute(f"SELECT * FROM {migrations(durable.url)}").fetchall() == before
    assert head_tokens(saver, "t") == ["a"]


def migrations(url: str) -> str:
    return "public.wyrd_migrations" if is_postgres(url) else "wyrd_migrations"


# ---- one database, many writers


def test_processes_tasks_and_threads_lose_nothing(durable: Any, peers: list[Peer]) -> None:
    """Two processes, each with 8 tasks and 4 threads: several hundred writes, all found again."""
    assert crowd.crowd(durable.url, peers, tasks=8, threads=4, each=10) == 480


def test_processes_append_to_one_thread_in_turns(durable: Any, peers: list[Peer]) -> None:
    """Each reads what the other just wrote: what it remembers of the thread never shows."""
    for peer in peers:
        peer(crowd.open_saver, durable.url)
    expected: list[str] = []
    for turn in range(12):
        expected = [*expected, f"{turn}-a", f"{turn}-b"]
        assert peers[turn % 2](crowd.add, "t", f"{turn}-a", f"{turn}-b") == expected
    assert peers[0](crowd.head, "t") == expected
    for peer in peers:
        peer(crowd.close_saver)
    assert len(tree(durable.open(), "t")) == 24


def test_processes_append_to_one_thread_at_once(durable: Any, peers: list[Peer]) -> None:
    """Every checkpoint is its parent's plus its own: no hole, no duplicate, no stale cache."""
    assert crowd.shared_thread(durable.url, peers, 25) == 50


def test_two_savers_in_one_process_share_a_thread(durable: Any) -> None:
    """Two savers on one database see each other's writes, forks and deletions at once."""
    one, two = durable.open(), durable.open()
    for turn in range(6):
        append((one, two)[turn % 2], "t", f"{turn}")
    assert head_tokens(one, "t") == head_tokens(two, "t") == [str(turn) for turn in range(6)]

    # Both know the same head and put their own step after it.
    seen = one.get_tuple(config("t"))
    left = next_step(one, seen, "t", "left")
    right = next_step(two, two.get_tuple(config("t")), "t", "right")
    two.put(*right)
    one.put(*left)
    append(one, "t", "on-1")
    append(two, "t", "on-2")
    logs = tree(one, "t")
    assert logs[left[1]["id"]][-1] == "left"
    assert logs[right[1]["id"]][-1] == "right"

    two.delete_thread("t")
    assert one.get_tuple(config("t")) is None
    append(one, "t", "new")
    append(two, "t", "newer")
    assert head_tokens(one, "t") == head_tokens(two, "t") == ["new", "newer"]


def test_clocks_that_differ(durable: Any, peers: list[Peer]) -> None:
    """Writers whose clocks are an hour off: the same answers as from InMemorySaver."""
    for peer in peers:
        peer(crowd.open_saver, durable.url)
    model = InMemorySaver()
    saver = durable.open()
    for turn, skew in enumerate([0, -3600, 0, 3600, -3600, 0, 3600, 1, -1, 0]):
        checkpoint_id = skewed_id(skew)
        found = peers[turn % 2](crowd.add_skewed, "t", f"{turn}", checkpoint_id)
        append(model, "t", f"{turn}", checkpoint_id=checkpoint_id)
        assert found == head_tokens(model, "t")
        assert head_tokens(saver, "t") == head_tokens(model, "t")
    for peer in peers:
        peer(crowd.close_saver)

    mine, theirs = tree(saver, "t"), tree(model, "t")
    assert mine == theirs
    assert list(mine) == list(theirs) == sorted(mine, reverse=True)
    for limit in (1, 3):
        before = config("t", sorted(mine)[5])
        found = [tokens(item) for item in saver.list(config("t"), before=before, limit=limit)]
        expected = [tokens(item) for item in model.list(config("t"), before=before, limit=limit)]
        assert found == expected


# ---- a lock held elsewhere


HOLDER = """
import sys, time
from tests.outside import write_lock
with write_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(0.8)
    print("released", flush=True)
"""


def test_a_lock_held_for_seconds_is_waited_for(durable: Any) -> None:
    """A put and an aput that meet another process's lock succeed, after it is gone."""
    import asyncio
    import subprocess

    from tests.outside import ROOT, environment, python

    saver = durable.open()
    append(saver, "sync", "a")
    step = next_step(saver, saver.get_tuple(config("sync")), "sync", "b")
    holder = subprocess.Popen(
        python("-c", HOLDER, durable.url),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == "held\n"

        async def both() -> None:
            other = next_step(saver, None, "async", "a")
            await asyncio.gather(saver.aput(*other), asyncio.to_thread(saver.put, *step))

        asyncio.run(both())
        os.set_blocking(holder.stdout.fileno(), False)
        assert holder.stdout.readline() == "released\n"  # before the puts returned
    assert head_tokens(saver, "sync") == ["a", "b"]
    assert head_tokens(saver, "async") == ["a"]
    at_rest(durable.url)


def test_the_file_is_one_that_sqlite_itself_reads(sqlite: Any) -> None:
    """After several processes the file opens in plain sqlite3, in WAL mode, without repair."""
    script("append(WyrdSaver.from_conn_string(url), 't', 'a')", sqlite.url)
    with sqlite3.connect(sqlite.url.removeprefix("sqlite:///")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
