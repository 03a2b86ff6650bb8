"""A primary killed and its standby promoted, in the middle of 20 running threads.

    python -m tests.campaigns.failover --n 5

Two real servers with streaming replication; a commit is acknowledged when the standby has it too
(`synchronous_standby_names`). One URL names both, with `target_session_attrs=read-write`. Half of
the threads run on an event loop, half in OS threads, and each adds a todo after every run. The
primary is killed with SIGKILL, and a moment later the standby is promoted, as an orchestrator does.
No run may fail, no call may take 10 seconds, and every acknowledged write has to be there.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph_wyrd import WyrdSaver
from tests import servers
from tests.campaigns import kill

LIMIT = 10.0  # seconds


class Journal(kill.Journal):
    """What was acknowledged, and when."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.times: list[float] = []

    def tell(self, kind: str, **what: Any) -> None:
        super().tell(kind, **what)
        if kind != "did":
            self.times.append(time.monotonic())


class Slowest:
    """How long calls of a saver took at most."""

    def __init__(self, saver: Any) -> None:
        self.seconds = 0.0
        for name in ("put", "put_writes", "get_tuple"):
            setattr(saver, name, self._timed(getattr(saver, name)))
            setattr(saver, f"a{name}", self._atimed(getattr(saver, f"a{name}")))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **more: Any) -> Any:
            with self._clock():
                return call(*args, **more)

        return timed

    def _atimed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def timed(*args: Any, **more: Any) -> Any:
            with self._clock():
                return await call(*args, **more)

        return timed

    @contextmanager
    def _clock(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds = max(self.seconds, time.monotonic() - began)


class Work:
    """Threads that run until somebody ends them."""

    def __init__(self, url: str, path: Path, threads: int) -> None:
        self.saver = WyrdSaver.from_conn_string(url)
        self.saver.setup()
        self.slowest = Slowest(self.saver)
        self.journal = Journal(path)
        self._graph = kill.build(kill.told(self.saver, self.journal), self.journal)
        self._threads, self._over = threads, threading.Event()
        self.finished: list[str] = []
        self.todos: dict[str, int] = {}
        self.failed: list[BaseException] = []
        self._running = [threading.Thread(target=self._on_a_loop)]
        self._running += [
            threading.Thread(target=self._in_a_thread, args=(n,)) for n in range(1, threads, 2)
        ]
        for each in self._running:
            each.start()

    def _on_a_loop(self) -> None:
        async def one(number: int) -> None:
            while not self._over.is_set():
                thread = f"t{number}-{len(self.finished)}"
                await kill.adrive(self._graph, thread, "sync" if number % 4 else "async")
                await self.saver.thread(thread).aadd_todo("look again")
                self._ended(thread)

        async def every() -> None:
            await asyncio.gather(*map(one, range(0, self._threads, 2)))

        try:
            asyncio.run(every())
        except BaseException as error:
            self.failed.append(error)

    def _in_a_thread(self, number: int) -> None:
        try:
            while not self._over.is_set():
                thread = f"t{number}-{len(self.finished)}"
                kill.drive(self._graph, thread, "sync" if number % 4 == 1 else "async")
                self.saver.thread(thread).add_todo("look again")
                self._ended(thread)
        except BaseException as error:
            self.failed.append(error)

    def _ended(self, thread: str) -> None:
        self.journal.times.append(time.monotonic())
        self.finished.append(thread)

    def end(self) -> None:
        self._over.set()
        for each in self._running:
            each.join(200)
            assert not each.is_alive(), "a run hangs"


def check(url: str, work: Work, path: Path) -> Counter[str]:
    """Every acknowledged write is there, each run came to its result, each todo is there once."""
    seen = kill.check_kept(url, path)
    expected = kill.undisturbed()
    with WyrdSaver.from_conn_string(url) as saver:
        graph = kill.build(saver, None)
        for thread in work.finished:
            found = kill.plain(graph.get_state(kill.config(thread)).values)
            assert found == expected, (thread, kill.difference(found, expected))
            todos = saver.thread(thread).working_state().todos
            assert [todo.content for todo in todos] == ["look again"], (thread, todos)
        assert saver.verify().ok
    seen["runs finished"] = len(work.finished)
    return seen


@contextmanager
def pair() -> Iterator[tuple[servers.Postgres, servers.Postgres, str]]:
    """A primary, its synchronous standby, and the address that names both."""
    with servers.folder() as where:
        primary = servers.Postgres(where, "primary").made().start()
        standby = servers.Postgres(where, "standby")
        try:
            primary.run("pg_basebackup", "-D", standby.data, "-R", "-c", "fast", "-X", "stream",
                        "-d", primary.url())  # fmt: skip
            standby.start()
            primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            primary.execute("SELECT pg_reload_conf()")
            kept = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
            while primary.execute(kept) != [(1,)]:
                time.sleep(0.05)
            servers.lay_out(primary.url())
            hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
            yield (
                primary, standby,
                f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write",
            )  # fmt: skip
        finally:
            primary.kill()
            standby.stop()


def campaign(
    dice: random.Random, threads: int = 20, seconds: float = 3.0, limit: float = LIMIT
) -> Counter[str]:
    """One failover; counts of what was there afterwards, and the longest pause in milliseconds.

    No call may take longer than `limit`.
    """
    with pair() as (primary, standby, url), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        work = Work(url, path, threads)
        time.sleep(seconds * dice.uniform(0.3, 1))
        killed = time.monotonic()
        primary.kill()
        time.sleep(dice.uniform(0, 1))
        standby.run("pg_ctl", "promote", "-w", "-D", standby.data)
        promoted = time.monotonic()
        time.sleep(seconds)
        work.end()
        assert not work.failed, work.failed
        times = sorted(work.journal.times)
        assert times[-1] > promoted, "no run went on"
        pause = max(after - before for before, after in itertools.pairwise(times))
        assert work.slowest.seconds < limit, work.slowest.seconds
        work.saver.close()
        seen = check(standby.url(), work, path)
        print(
            f"killed, promoted after {promoted - killed:.2f} s; nothing acknowledged for "
            f"{pause:.2f} s, the slowest call took {work.slowest.seconds:.2f} s; {dict(seen)}",
            flush=True,
        )
        seen["longest pause, ms"] = round(1000 * pause)
        seen["slowest call, ms"] = round(1000 * work.slowest.seconds)
        return seen


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--n", type=int, default=5, help="failovers")
    parse.add_argument("--threads", type=int, default=20)
    parse.add_argument("--seed", type=int, default=1)
    asked = parse.parse_args()
    dice = random.Random(asked.seed)
    every = [campaign(dice, asked.threads) for _ in range(asked.n)]
    total = sum(every, Counter())
    for name in ("longest pause, ms", "slowest call, ms"):
        total[name] = max(each[name] for each in every)
    print(f"{asked.n} failovers, nothing acknowledged was lost: {dict(total)}")


if __name__ == "__main__":
    main()
