"""The thread and event loop that own a database.

Callers post jobs: sync callers wait for the answer, async callers of any loop await it. No
transaction ever waits for a caller's loop, so a sync call made on a running loop can't deadlock
with one, and a caller that is cancelled, or whose loop is closed, leaves nothing half done: the
job runs to its end here.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

from langgraph_wyrd.errors import SaverClosed, WyrdError
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


class Core(Generic[M]):
    """One opened database. Made at once, opened on first use, shared by clones of a saver."""

    def __init__(self, driver: Callable[[], Driver], memory: Callable[[], M]) -> None:
        self._driver = driver
        self._memory = memory
        self._guard = threading.Lock()
        self._running: Running[M] | None = None
        self._closed = False
        self._pid = os.getpid()

    # ---- posting

    def run(self, job: Callable[[Running[M]], Coroutine[Any, Any, T]]) -> T:
        """Run a job and wait for it."""
        running = self._ensure()
        if threading.current_thread() is running.thread:
            raise WyrdError("a sync call was made from within the saver's own thread: await it")
        answer: Future[T] = Future()

        def settle(task: asyncio.Task[T]) -> None:
            if (error := _error_of(task)) is not None:
                answer.set_exception(error)
            else:
                answer.set_result(task.result())

        running.post(job, settle)
        return answer.result()

    async def arun(self, job: Callable[[Running[M]], Coroutine[Any, Any, T]]) -> T:
        """Run a job and await it. Cancelling the caller does not cancel the job."""
        running = self._ensure()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def hand_over(task: asyncio.Task[T]) -> None:
            if answer.cancelled():
                return
            if (error := _error_of(task)) is not None:
                answer.set_exception(error)
            else:
                answer.set_result(task.result())

        def settle(task: asyncio.Task[T]) -> None:
            _error_of(task)  # seen, even if nobody waits any more
            _quietly(loop, lambda: hand_over(task))

        running.post(job, settle)
        return await answer

    # ---- life

    def reopen(self) -> None:
        """Allow use again after a close."""
        self._closed = False

    def close(self) -> None:
        """Let what is under way finish, close every connection, end the thread."""
        running = self._retire()
        if running is not None:
            running.finish()

    async def aclose(self) -> None:
        running = self._retire()
        if running is None:
            return
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        running.post(Running.shut, lambda task: _quietly(loop, done.set))
        await done.wait()
        running.end()

    def _retire(self) -> Running[M] | None:
        self._notice_fork()
        with self._guard:
            running, self._running = self._running, None
            self._closed = True
        return running

    def _ensure(self) -> Running[M]:
        if self._running is not None and self._pid == os.getpid():
            return self._running
        self._notice_fork()
        with self._guard:
            if self._closed:
                raise SaverClosed(
                    "this saver is closed: make a new one, or enter it again with `with`"
                )
            if self._running is None:
                self._running = Running(self._driver(), self._memory())
            return self._running

    def _notice_fork(self) -> None:
        """A forked child has neither the thread nor, safely, the connections: it opens its own."""
        if self._pid != os.getpid():
            self._guard = threading.Lock()
            if self._running is not None:
                _inherited.append(self._running)
            self._running = None
            self._pid = os.getpid()


# Kept for ever: finalising a parent's connection in a child would disturb the parent.
_inherited: list[Any] = []
_alive: set[Running[Any]] = set()


@atexit.register
def _close_forgotten() -> None:
    """A script that forgets to close still leaves its database tidy, and exits."""
    for running in list(_alive):
        if running.pid == os.getpid():
            running.finish(timeout=10)


def _error_of(task: asyncio.Task[Any]) -> BaseException | None:
    if task.cancelled():
        return SaverClosed("the saver was closed while this call was under way")
    return task.exception()


def _quietly(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """Call back on a caller's loop, which may be closed by now."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(callback)


class Running(Generic[M]):
    """A core's thread and loop, with everything mutable on it."""

    def __init__(self, driver: Driver, memory: M) -> None:
        self.memory = memory
        self.pid = os.getpid()
        self._driver = driver
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

    async def ready(self) -> None:
        """Open the database if it is not open: once, whoever asks; after a failure, again."""
        while self._opened is None or not self._opened.done():
            if self._opened is not None:
                await asyncio.wait([self._opened])
                continue
            self._opened = self.loop.create_future()
            try:
                await self._driver.open()
            except BaseException:
                opened, self._opened = self._opened, None
                opened.set_result(None)
                raise
            self._opened.set_result(None)

    # ---- jobs

    async def read(self, plan: Callable[[], Plan[T]]) -> T:
        await self.ready()
        return await self._driver.read(plan)

    async def write(self, plan: Callable[[], Plan[T]]) -> T:
        await self.ready()
        return await self._driver.write(plan)

    async def store(self, write: Hot[Any]) -> None:
        """A hot write if what it needs is known and still holds, else a cold one."""
        await self.ready()
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
        found = await self._driver.write(lambda: write.cold(known))
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
            stale = await self._driver.merge([rows for rows, _ in batch])
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
