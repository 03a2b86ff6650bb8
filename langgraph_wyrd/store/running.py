"""What runs on a core's thread: its loop, the open database, what is known, the writes that wait.

A process that forks closes its SQLite connections first and opens them again afterwards, on both
sides: SQLite's locks belong to the process, and a child that went on with its parent's connections
would neither hold the locks nor know it.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar

from langgraph_wyrd.errors import SaverClosed
from langgraph_wyrd.store.statements import Plan, Stale, WriteSet

logger = logging.getLogger("langgraph_wyrd")

T = TypeVar("T")
K = TypeVar("K")


class Driver(Protocol):
    """A database, seen from the core's loop. `open` may be called again after it failed."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def read(self, plan: Callable[[], Plan[T]]) -> T:
        """Run a plan on one snapshot."""

    async def write(self, plan: Callable[[], Plan[T]]) -> T:
        """Run a plan in a transaction of its own."""

    async def merge(self, sets: list[WriteSet]) -> set[int]:
        """Store write sets in one transaction. If some are stale, store none and name those."""

    writers: int  # how many merged transactions it likes to run at once
    closes_to_fork: bool  # whether its connections must not be open while the process forks


class Hot(Protocol[K]):
    """A write that knows two ways: from what is known, or from what it reads itself."""

    @property
    def thread_id(self) -> str: ...
    def hot(self, known: K, /) -> tuple[WriteSet, K] | None: ...
    def cold(self, known: K | None, /) -> Plan[K]: ...


class Known(Protocol[K]):
    """Where what is known of threads is kept."""

    def get(self, thread_id: str, /) -> K | None: ...
    def put(self, thread_id: str, known: K, /) -> None: ...
    def learn(self, thread_id: str, known: K, /) -> None: ...
    def drop(self, thread_id: str, /) -> None: ...


M = TypeVar("M", bound=Known[Any])


class Running(Generic[M]):
    """A core's thread and loop, with everything mutable on it."""

    def __init__(self, driver: Driver, memory: M) -> None:
        self.memory = memory
        self._driver = driver
        self._busy = 0  # calls to the driver that are under way
        self._pauses = 0
        self._paused: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._opened: asyncio.Future[None] | None = None
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._waiting: list[tuple[WriteSet, asyncio.Future[bool]]] = []
        self._writers = 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._turn, name="wyrd-core", daemon=True)
        self.thread.start()
        _alive.add(self)

    def _turn(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()

    def post(
        self,
        job: Callable[[Running[M]], Coroutine[Any, Any, T]],
        settle: Callable[[asyncio.Task[T]], None],
    ) -> None:
        def start() -> None:
            task = self.loop.create_task(job(self))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(settle)

        try:
            self.loop.call_soon_threadsafe(start)
        except RuntimeError:
            raise SaverClosed("this saver was closed meanwhile") from None

    async def shut(self) -> None:
        me = asyncio.current_task()
        while others := [task for task in self._tasks if task is not me]:
            await asyncio.wait(others)
        if self._opened is not None:
            try:
                await self._driver.close()
            except Exception:
                logger.warning("closing a database failed", exc_info=True)

    def finish(self, timeout: float | None = None) -> None:
        """Shut and end, from another thread."""
        done = threading.Event()
        self.post(Running.shut, lambda task: done.set())
        if done.wait(timeout):
            self.end()

    def end(self) -> None:
        _alive.discard(self)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    # ---- opening, and standing still while the process forks

    async def ready(self) -> None:
        """Open the database if it is not open: once, whoever asks; after a failure, again."""
        while self._paused is not None or self._opened is None or not self._opened.done():
            if waiting := self._paused or self._opened:
                await asyncio.wait([waiting])
                continue
            self._opened = self.loop.create_future()
            try:
                await self._driver.open()
            except BaseException:
                opened, self._opened = self._opened, None
                opened.set_result(None)
                raise
            self._opened.set_result(None)

    async def _drive(self, work: Callable[[Driver], Awaitable[T]]) -> T:
        await self.ready()
        self._busy += 1
        try:
            return await work(self._driver)
        finally:
            self._busy -= 1

    def pause(self, timeout: float) -> bool:
        """Close the connections and hold every call back; False if there is no need, or no way."""
        if not self._driver.closes_to_fork:
            return False
        still = threading.Event()
        self.post(Running._stand_still, lambda task: still.set())
        if not still.wait(timeout):
            logger.warning("forking while SQLite is busy: the child should make its own saver")
        return True

    def resume(self) -> None:
        """Let the calls go on."""

        def go_on() -> None:
            self._pauses -= 1
            if not self._pauses and self._paused is not None:
                self._paused.set_result(None)
                self._paused = None

        self.loop.call_soon_threadsafe(go_on)

    async def _stand_still(self) -> None:
        self._pauses += 1
        if self._paused is None:
            self._paused = self.loop.create_future()
        # A fork is rare: looking now and then is simpler than an event at every call.
        while self._busy or (self._opened is not None and not self._opened.done()):
            await asyncio.sleep(0.001)
        if self._opened is not None:
            self._opened = None
            await self._driver.close()

    # ---- jobs

    async def read(self, plan: Callable[[], Plan[T]]) -> T:
        return await self._drive(lambda driver: driver.read(plan))

    async def write(self, plan: Callable[[], Plan[T]]) -> T:
        return await self._drive(lambda driver: driver.write(plan))

    async def store(self, write: Hot[Any]) -> None:
        """A hot write if what it needs is known and still holds, else a cold one."""
        known = self.memory.get(write.thread_id)
        planned = None if known is None else write.hot(known)
        if planned is not None:
            rows, after = planned
            try:
                stored = await self._merged(rows)
            except BaseException:
                self.memory.drop(write.thread_id)
                raise
            if stored:
                if after is not known:
                    self.memory.put(write.thread_id, after)
                return
            known = None
        # Whatever goes wrong now, what was known is doubtful (a commit's answer may be lost).
        self.memory.drop(write.thread_id)
        found = await self.write(lambda: write.cold(known))
        self.memory.learn(write.thread_id, found)

    async def store_alone(self, write: Hot[Any]) -> None:
        """As `store`, one at a time for a thread: each rests on what the one before it left."""
        async with self.lock(write.thread_id):
            await self.store(write)

    def lock(self, thread_id: str) -> asyncio.Lock:
        held = self._locks.get(thread_id)
        if held is None:
            held = self._locks[thread_id] = asyncio.Lock()
        return held

    # ---- merging

    async def _merged(self, rows: WriteSet) -> bool:
        """Store a write set together with whatever waits; False if it was stale."""
        answer: asyncio.Future[bool] = self.loop.create_future()
        self._waiting.append((rows, answer))
        if self._writers < self._driver.writers:
            self._writers += 1
            task = self.loop.create_task(self._write_on())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await answer

    async def _write_on(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._write_batch(batch)
        finally:
            self._writers -= 1

    async def _write_batch(self, batch: list[tuple[WriteSet, asyncio.Future[bool]]]) -> None:
        stale: set[int] | None
        try:
            sets = [rows for rows, _ in batch]
            stale = await self._drive(lambda driver: driver.merge(sets))
        except Stale:
            stale = set(range(len(batch))) if len(batch) == 1 else None
        except BaseException as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
                return
            stale = None
        if stale is None:  # one of them is bad: alone, it harms nobody else
            for each in batch:
                await self._write_batch([each])
            return
        rest = [each for index, each in enumerate(batch) if index not in stale]
        for index in stale:
            batch[index][1].set_result(False)
        if stale and rest:
            await self._write_batch(rest)
        elif not stale:
            for _, answer in batch:
                answer.set_result(True)


# ---- the process ends, or forks

_alive: set[Running[Any]] = set()
_inherited: list[Running[Any]] = []  # a parent's: finalising them in a child would disturb it
_paused: list[Running[Any]] = []


@atexit.register
def _close_forgotten() -> None:
    """A script that forgets to close still leaves its database tidy, and exits."""
    for running in list(_alive):
        running.finish(timeout=10)


def _before_fork() -> None:
    for running in list(_alive):
        if running.thread is not threading.current_thread() and running.pause(timeout=10):
            _paused.append(running)


def _after_fork_in_parent() -> None:
    while _paused:
        _paused.pop().resume()


def _after_fork_in_child() -> None:
    _inherited.extend(_alive)
    _alive.clear()
    _paused.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
