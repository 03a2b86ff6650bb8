"""An opened database: its threads (`worker`), and the way there and back.

One thread writes, others read. A caller hands a job over and gets its result back: two crossings,
whatever the job does. No job ever waits for a caller, so a sync call on a running loop can't
deadlock, and a caller that is cancelled leaves nothing half done.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
from collections.abc import Callable, Generator, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from langgraph_wyrd.errors import ConnectionLost, NoAnswer, SaverClosed, WyrdError
from langgraph_wyrd.storage import worker
from langgraph_wyrd.storage.scripts import Script
from langgraph_wyrd.storage.worker import Driver, Job, Worker

T = TypeVar("T")

logger = logging.getLogger("langgraph_wyrd")

_BACKGROUND = 5.0  # seconds that a close waits for what was started in the background
LINGER = 0.002  # seconds
_ROOM = 10.0  # seconds that a writer waits for a reader's connection


class _Lingering:
    """Writes of one event loop that are handed over together.

    What is urgent goes with the loop's next turn, and takes along what waits; what is not goes
    after two milliseconds at the latest.
    """

    __slots__ = ("_engine", "_jobs", "_later", "_soon")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._jobs: list[Job] = []
        self._soon = False
        self._later: asyncio.TimerHandle | None = None

    def add(self, job: Job, *, urgent: bool) -> None:
        self._jobs.append(job)
        if urgent:
            if not self._soon:
                self._soon = True
                job.loop.call_soon(self.flush)
        elif self._later is None and not self._soon:
            self._later = job.loop.call_later(LINGER, self.flush)

    def flush(self) -> None:
        self._soon = False
        if self._later is not None:
            self._later.cancel()
            self._later = None
        jobs, self._jobs = self._jobs, []
        if jobs:
            self._engine.send(jobs)


class Engine:
    """One opened database. Made at once, opened on first use, shared by clones of a saver."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.mend: Callable[[Any], Script[Any]] | None = None  # restores a thread's damaged rows
        self.healer: Any = None  # the `recovery.healer.Healer` here; None: damage raises
        self.replica: Engine | None = None  # where listings across threads are read instead
        self._closed = False
        self._reset()
        _MADE.add(self)

    def _reset(self) -> None:
        self._guard = threading.Lock()
        self._ready = False
        self._write_queue: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._read_queue: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._workers: list[Worker] = []
        self._most = 1 + self.driver.readers
        self._lingering: WeakKeyDictionary[Any, _Lingering] = WeakKeyDictionary()
        self._background = 0  # generators of scripts that were started and have not ended
        self._no_background = threading.Event()
        self._no_background.set()

    # ---- handing over

    def job(self, kind: str, work: Any, key: Any = None) -> Job:
        """A job whose caller waits in `wait`."""
        if isinstance(threading.current_thread(), Worker):
            raise WyrdError("a saver was called from within one of its own threads")
        job = Job(kind, work, key, None)
        job.waiting = threading.Lock()
        job.waiting.acquire()
        job.done = _release
        return job

    def ajob(self, kind: str, work: Any, key: Any = None) -> Job:
        """A job whose caller awaits `job.waiting`; who is cancelled does not cancel the job."""
        loop = asyncio.get_running_loop()
        job = Job(kind, work, key, loop)
        job.waiting = loop.create_future()
        job.done = _resolve
        return job

    @staticmethod
    def wait(job: Job) -> Any:
        """The result of a posted job."""
        job.waiting.acquire()
        if job.error is not None:
            raise job.error
        return job.result

    def run(self, script: Callable[[], Script[T]], *, writes: bool = False) -> T:
        """Run a script and wait for its result."""
        result: T = self.wait(self.post(self.job("write" if writes else "read", script)))
        return result

    async def arun(self, script: Callable[[], Script[T]], *, writes: bool = False) -> T:
        """Async version of `run`."""
        result: T = await self.post(self.ajob("write" if writes else "read", script)).waiting
        return result

    def clean(self, tables: Sequence[str]) -> None:
        """Have the database forget the bytes of what was deleted from these tables."""
        self.wait(self.post(self.job("clean", tables)))

    async def aclean(self, tables: Sequence[str]) -> None:
        """Async version of `clean`."""
        await self.post(self.ajob("clean", tables)).waiting

    def start(self, jobs: Generator[tuple[Callable[[], Any], bool], Any, Any]) -> None:
        """Have scripts run in the background, one after the other; a failure is logged."""

        def go_on(last: Job | None) -> None:
            try:
                if last is None:
                    script, writes = next(jobs)
                elif last.error is not None:
                    script, writes = jobs.throw(last.error)
                else:
                    script, writes = jobs.send(last.result)
                job = Job("write" if writes else "read", script, None, None)
                job.done = go_on
                self.post(job)
                return
            except (StopIteration, SaverClosed):
                pass
            except Exception:
                logger.warning("a job in the background failed", exc_info=True)
            with self._guard:
                self._background -= 1
                if not self._background:
                    self._no_background.set()

        with self._guard:
            self._background += 1
            self._no_background.clear()
        go_on(None)

    def post(self, job: Job, *, urgent: bool = True) -> Job:
        """Hand a job to a thread, with what lingers on the caller's loop before it. A write that is
        not urgent waits a moment, so that the next takes it along."""
        if not self._ready:
            self._start()
        if job.kind == "read" and self.driver.readers:
            with self._guard:  # a thread that was told to stop takes nothing after that
                if is_open := self._ready:
                    self._read_queue.put([job])
            if not is_open:
                job.end(None, _closed())
            elif len(self._workers) < self._most and self._read_queue.qsize() > self._idle():
                self.add_reader()
        elif job.loop is None:
            self.send([job])
        else:
            lingering = self._lingering.get(job.loop)
            if lingering is None:
                lingering = self._lingering[job.loop] = _Lingering(self)
            lingering.add(job, urgent=urgent)
        return job

    def send(self, jobs: list[Job]) -> None:
        """Put jobs into the writer's queue."""
        with self._guard:  # as in `post`
            if is_open := self._ready:
                self._write_queue.put(jobs)
        for job in () if is_open else jobs:
            job.end(None, _closed())

    # ---- life

    def _start(self) -> None:
        """Start the threads; the first job of each opens its connection."""
        with self._guard:
            if self._closed:
                raise _closed()
            if self._ready:
                return
            self._add(Worker(self, self._write_queue, writes=True))
            self._ready = True
            _ENGINES.add(self)

    def _add(self, worker: Worker) -> None:
        self._workers.append(worker)
        worker.start()

    def _idle(self) -> int:
        """How many readers wait for work."""
        return sum([reader.is_idle for reader in self._workers[1:]])

    def add_reader(self) -> None:
        """Start one more reader, once those that there are have a connection."""
        with self._guard:
            readers = self._workers[1:]
            if (
                self._ready
                and len(self._workers) < self._most
                and all(each.is_connected for each in readers)
            ):
                self._add(Worker(self, self._read_queue, writes=False))

    def leave(self, reader: Worker) -> bool:
        """Go on with fewer readers where the server lets no more in; False if it is the last."""
        with self._guard:
            others = [each for each in self._workers[1:] if each != reader]
            if reader not in self._workers or not any(each.is_connected for each in others):
                return False
            self._workers.remove(reader)
            self._most = len(self._workers)
            return True

    def is_writing(self) -> bool:
        """Whether the writer has a connection, which can read as well."""
        with self._guard:
            return bool(self._workers) and self._workers[0].is_connected

    def make_room(self, error: ConnectionLost) -> bool:
        """Have a reader give up its connection, so that a writer gets one; False if none has."""
        with self._guard:
            readers = self._workers[1:]
            if isinstance(error, NoAnswer) or not any(each.is_connected for each in readers):
                return False
        rested = threading.Event()
        job = Job("rest", None, None, None)
        job.done = lambda _: rested.set()
        self._read_queue.put([job])
        return rested.wait(_ROOM)

    def reopened(self) -> bool:
        """Allow use again after a close; whether nothing is open."""
        if self._closed:
            self.driver.forget()
            self._closed = False
        if self.replica is not None:
            self.replica.reopened()
        return not self._ready

    def close(self, timeout: float | None = None) -> None:
        """Let what is under way finish, close every connection, end the threads."""
        self._no_background.wait(_BACKGROUND)
        for thread in self._stop():
            thread.join(timeout)
        if self.replica is not None:
            self.replica.close(timeout)

    async def aclose(self) -> None:
        """Async version of `close`."""
        loop = asyncio.get_running_loop()
        if not self._no_background.is_set():
            await loop.run_in_executor(None, self._no_background.wait, _BACKGROUND)
        workers = self._stop()
        if workers:
            await loop.run_in_executor(None, lambda: [*map(threading.Thread.join, workers)])
        if self.replica is not None:
            await self.replica.aclose()

    def _stop(self) -> list[Worker]:
        self._closed = True
        if self._ready:
            for lingering in list(self._lingering.values()):
                lingering.flush()
        with self._guard:
            workers, self._workers = self._workers, []
            self._write_queue.put(None)
            for _ in workers[1:]:
                self._read_queue.put(None)
            self._ready = False
            self._write_queue, self._read_queue = SimpleQueue(), SimpleQueue()
            self._most = 1 + self.driver.readers
        _ENGINES.discard(self)
        return workers

    def begin_anew(self) -> object:
        """In a forked child, which has none of its parent's threads; returns what they shared."""
        shared = (self._workers, self._write_queue, self._read_queue)
        self._reset()
        return shared


def _closed() -> SaverClosed:
    return SaverClosed("this saver is closed: make a new one, or enter it again with `with`")


def _release(job: Job) -> None:
    job.waiting.release()


def _resolve(job: Job) -> None:
    if job.waiting.done():  # its caller was cancelled
        return
    if job.error is None:
        job.waiting.set_result(job.result)
    else:
        job.waiting.set_exception(job.error)


_ENGINES: set[Engine] = set()
_MADE: WeakSet[Engine] = WeakSet()  # also those that have no threads


@atexit.register
def _close_forgotten() -> None:
    """A script that forgets to close still leaves its database tidy, and exits."""
    for engine in list(_ENGINES):
        engine.close(timeout=10)


def _after_fork_in_child() -> None:
    """At once: when the child's own threads come, all of them find the same queues."""
    worker.leave_behind(*[engine.begin_anew() for engine in list(_MADE)])
    _ENGINES.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=worker.hold_all,
        after_in_parent=worker.let_go,
        after_in_child=_after_fork_in_child,
    )
