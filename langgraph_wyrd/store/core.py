"""The thread and event loop that own a database.

Callers post jobs: sync callers wait for the answer, async callers of any loop await it. No
transaction ever waits for a caller's loop, so a sync call made on a running loop can't deadlock
with one, and a caller that is cancelled, or whose loop is closed, leaves nothing half done: the
job runs to its end here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from langgraph_wyrd.errors import SaverClosed, WyrdError
from langgraph_wyrd.hooks import Happening, Hooks, afire, fire
from langgraph_wyrd.store.roles import Driver, Guide, Hot
from langgraph_wyrd.store.running import M, Running

T = TypeVar("T")

logger = logging.getLogger("langgraph_wyrd")


class Core(Generic[M]):
    """One opened database. Made at once, opened on first use, shared by clones of a saver."""

    def __init__(self, driver: Callable[[], Driver], memory: Callable[[], M]) -> None:
        self._driver = driver
        self._memory = memory
        self._guard = threading.Lock()
        self._running: Running[M] | None = None
        self._closed = False
        self._pid = os.getpid()
        self.hooks = Hooks()
        self.guide: Guide | None = None

    @property
    def running(self) -> Running[M] | None:
        """What runs now, if the database was opened."""
        return self._running

    @property
    def memory(self) -> M | None:
        """What is known of the database, if it was opened."""
        running = self._running
        return None if running is None else running.memory

    # ---- posting

    def run(self, job: Callable[[Running[M]], Coroutine[Any, Any, T]]) -> T:
        """Run a job and wait for it."""
        running = self._ensure()
        self._refuse_own_thread(running)
        answer: Future[T] = Future()
        running.post(_begun(job), lambda task: _answer(answer, task))
        try:
            return answer.result()
        finally:
            if running.happened:
                fire(self, *_taken(running.happened))

    async def arun(self, job: Callable[[Running[M]], Coroutine[Any, Any, T]]) -> T:
        """Run a job and await it. Cancelling the caller does not cancel the job."""
        running = self._ensure()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def settle(task: asyncio.Task[T]) -> None:
            _error_of(task)  # seen, even if nobody waits any more
            running.tell(loop, lambda: _answer(answer, task))

        running.post(_begun(job), settle)
        try:
            return await answer
        finally:
            if running.happened:
                await afire(self, *_taken(running.happened))

    def store(self, write: Hot[Any], *, alone: bool = False) -> None:
        """Store a write and wait until it is on disk."""
        running = self._ensure()
        self._refuse_own_thread(running)
        answer: Future[None] = Future()
        running.post_store(write, alone, lambda error: _tell(answer, error))
        answer.result()

    async def astore(self, write: Hot[Any], *, alone: bool = False) -> None:
        """Store a write and await it. Cancelling the caller does not cancel the write."""
        running = self._ensure()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[None] = loop.create_future()
        running.post_store(
            write, alone, lambda error: running.tell(loop, lambda: _tell(answer, error))
        )
        await answer

    def start(self, job: Callable[[Running[M]], Coroutine[Any, Any, object]]) -> None:
        """Have a job run in the background; what goes wrong is logged."""

        def settle(task: asyncio.Task[object]) -> None:
            if (error := _error_of(task)) is not None:
                logger.warning("a job in the background failed", exc_info=error)

        self._ensure().post(job, settle)

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
        running.post(Running.shut, lambda task: running.tell(loop, done.set))
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
                self._running = Running(self._driver(), self._memory(), self.guide)
            return self._running

    @staticmethod
    def _refuse_own_thread(running: Running[M]) -> None:
        if threading.current_thread() is running.thread:
            raise WyrdError("a sync call was made from within the saver's own thread: await it")

    def _notice_fork(self) -> None:
        """A forked child has neither the thread nor, safely, the connections: it opens its own."""
        if self._pid != os.getpid():
            self._guard = threading.Lock()
            self._running = None  # kept by `running`, never finalised
            self._pid = os.getpid()


def _taken(happened: deque[Happening]) -> Iterator[Happening]:
    """What jobs met that hooks are to hear of: whoever asked last, tells."""
    while happened:
        with suppress(IndexError):  # somebody else took it
            yield happened.popleft()


def _begun(
    job: Callable[[Running[M]], Coroutine[Any, Any, T]],
) -> Callable[[Running[M]], Coroutine[Any, Any, T]]:
    """A job that fails before its first step fails in its task: whoever asked must be told."""

    def begin(running: Running[M]) -> Coroutine[Any, Any, T]:
        try:
            return job(running)
        except BaseException as error:
            return _failed(error)

    return begin


async def _failed(error: BaseException) -> Any:
    raise error


def _answer(answer: Future[T] | asyncio.Future[T], task: asyncio.Task[T]) -> None:
    """Tell who waits how the job ended, unless they went away."""
    if (error := _error_of(task)) is not None:
        _tell(answer, error)
    elif not answer.cancelled():
        answer.set_result(task.result())


def _tell(answer: Future[Any] | asyncio.Future[Any], error: BaseException | None) -> None:
    if answer.cancelled():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(None)


def _error_of(task: asyncio.Task[Any]) -> BaseException | None:
    if task.cancelled():
        return SaverClosed("the saver was closed while this call was under way")
    return task.exception()
