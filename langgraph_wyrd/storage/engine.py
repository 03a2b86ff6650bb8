"""The threads that own a database, and the way there and back.

One thread writes, others read. A
caller hands a job over and gets its result back: two crossings, whatever the job does. A writer
takes all that waits and stores it in one transaction; a write that fails is isolated, so that it
costs the others nothing. No job ever waits for a caller, so a sync call on a running loop can't
deadlock, and a caller that is cancelled leaves nothing half done.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from langgraph_wyrd.errors import ConnectionLost, NoAnswer, SaverClosed, WyrdError
from langgraph_wyrd.storage.parity import Groups, watched
from langgraph_wyrd.storage.scripts import Clash, Script, Stale, Step, again_on_clash

T = TypeVar("T")

logger = logging.getLogger("langgraph_wyrd")

_BACKGROUND = 5.0  # seconds that a close waits for what was started in the background
_TOGETHER = 256  # writes in one transaction
LINGER = 0.002  # seconds
_TIMES = 40  # tries, a tenth of a second apart, to have the connection that a reader gave up
_ROOM = 10.0  # seconds that a writer waits for a reader's connection
_FORK = 10.0  # seconds that a fork waits for jobs to end
_REFUSED = 5.0  # seconds in which a reader that got no connection does not ask for one again


class Connection(Protocol):
    """A connection of a driver; used by one thread only."""

    def read(self, script: Script[T]) -> T:
        """Run a script on one snapshot."""

    def write(self, script: Script[T]) -> T:
        """Run a script in a transaction of its own."""

    def merge(self, writes: Sequence[Sequence[Step]]) -> None:
        """Store writes in one transaction; Stale, or any other error, stores none."""

    def clean(self, tables: Sequence[str]) -> None:
        """Have the database forget the bytes of rows that were deleted."""

    def close(self) -> None: ...


class Driver(Protocol):
    """What opens connections to one database."""

    dialect: str
    readers: int  # threads that read at the same time; 0: the writer reads as well
    keeps_open: bool  # whether connections stay open while the process forks

    def connect(self, *, writes: bool) -> Connection: ...

    def gone(self, error: BaseException, *, fresh: bool) -> bool:
        """Whether a new connection may do what this one could not; `fresh`: it was new itself."""

    def forget(self) -> None:
        """Look at the database anew with the next connection."""


class Job:
    """Something to run on a connection, and how its caller hears of the end.

    `kind`: `store` is a write that is merged with others, `write` and `read` are scripts; `open` is
    one that a writer reads, `mend` one that writes and looks after parity itself.
    """

    __slots__ = ("done", "error", "key", "kind", "loop", "result", "waiting", "work")

    def __init__(self, kind: str, work: Any, key: Any, loop: Any) -> None:
        self.kind = kind
        self.work = work
        self.key = key
        self.loop = loop  # the event loop on which `done` is called; None: the worker calls it
        self.result: Any = None
        self.error: BaseException | None = None
        # Given the job: a closure over it would be a circle, which only a garbage collection frees.
        self.done: Callable[[Job], None] = _ignore
        self.waiting: Any = None

    def end(self, result: Any, error: BaseException | None) -> None:
        """Called by the worker."""
        self.result, self.error = result, error
        if self.loop is None:
            self.done(self)
        else:
            with suppress(RuntimeError):  # the caller's loop is closed
                self.loop.call_soon_threadsafe(self.done, self)


class _Worker(threading.Thread):
    """A thread with a connection, and the queue that it serves."""

    def __init__(
        self, engine: Engine, queue: SimpleQueue[list[Job] | None], *, writes: bool
    ) -> None:
        super().__init__(name="wyrd-writer" if writes else "wyrd-reader", daemon=True)
        self._engine = engine
        self._driver = engine.driver
        self._queue = queue
        self.writes = writes
        self._connection: Connection | None = None
        self._groups = Groups()
        self._silence: NoAnswer | None = None  # what the jobs at hand met
        self._refused_until = 0.0
        self.is_idle = True
        self._at_work = threading.Lock()  # held while this thread may be inside the database
        with _REGISTER:
            _WORKERS.add(self)

    def run(self) -> None:
        try:
            goes_on = True
            while goes_on and (jobs := self._queue.get()) is not None:
                with self._at_work:
                    goes_on = self._serve(jobs)
            with self._at_work:
                self._disconnect()
        finally:
            with _REGISTER:
                _WORKERS.discard(self)

    def _serve(self, jobs: list[Job]) -> bool:
        """Run what was taken from the queue; False if this thread ends with it."""
        queue = self._queue
        goes_on, self._silence, self.is_idle = True, None, False
        # Nobody else takes from a writer's queue; reads are shared out one by one.
        while self.writes and len(jobs) < _TOGETHER and not queue.empty():
            more = queue.get()
            if more is None:
                goes_on = False
                break
            jobs = jobs + more
        stores: list[Job] = []
        for job in jobs:
            if job.kind == "store":
                stores.append(job)
                continue
            if stores:
                self._store(stores)
                stores = []
            if job.kind == "rest":
                self._disconnect()
                job.done(job)
            elif self._silence is not None:
                job.end(None, _again(self._silence))
            elif not self._run(job):
                return False
        if stores:
            self._store(stores)
        return goes_on

    def hold(self, timeout: float) -> bool:
        """Have this thread do nothing more for now; whether it was between two jobs in time."""
        if self is threading.current_thread() or not self._at_work.acquire(timeout=timeout):
            return False
        if not self._driver.keeps_open:
            self._disconnect()
        return True

    def go_on(self) -> None:
        """End a `hold`."""
        self._at_work.release()

    def _connected(self) -> Connection:
        if self._connection is None:
            try:
                self._connection = self._driver.connect(writes=self.writes)
            except ConnectionLost as error:
                if not self.writes or not self._engine.make_room(error):
                    raise
                self._connection = self._in_its_place()
            if not self.writes and not self._queue.empty():
                self._engine.add_reader()
        return self._connection

    def _in_its_place(self) -> Connection:
        """A connection instead of one that was closed: a server needs a moment to notice that, and
        a reader may be quicker."""
        for _ in range(_TIMES):
            try:
                return self._driver.connect(writes=True)
            except ConnectionLost as error:
                self._engine.make_room(error)
            time.sleep(0.1)
        return self._driver.connect(writes=True)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _tried(self, work: Callable[[Connection], T]) -> T:
        """Run work; once more with a new connection if the one at hand was lost."""
        fresh = self._connection is None
        try:
            return again_on_clash(lambda: work(self._connected()))
        except BaseException as error:
            if not self._driver.gone(error, fresh=fresh):
                raise
            self._disconnect()
        return again_on_clash(lambda: work(self._connected()))

    def _fail_waiting(self, error: NoAnswer) -> None:
        """Whoever waits behind a call that met silence has waited for the server as long."""
        self._silence = error
        for _ in range(self._queue.qsize()):
            with suppress(Empty):
                jobs = self._queue.get_nowait()
                if jobs is None or jobs[0].kind == "rest":
                    self._queue.put(jobs)
                else:
                    for job in jobs:
                        job.end(None, _again(error))

    def _run(self, job: Job) -> bool:
        """Run a job; False if this thread gets no connection, and left it to others."""
        if time.monotonic() < self._refused_until:
            self._engine.send([job])
            return True
        try:
            result = self._tried(partial(self._script, job))
        except BaseException as error:
            if self._connection is None and not self.writes and _refused(error):
                if self._engine.leave(self):
                    self._queue.put([job])
                    return False
                if self._engine.is_writing():  # as where a server has one connection for all
                    self._refused_until = time.monotonic() + _REFUSED
                    self._engine.send([job])
                    return True
            if isinstance(error, NoAnswer):
                self._fail_waiting(error)
            self.is_idle = True
            job.end(None, error)
        else:
            self.is_idle = True  # before its caller goes on, who may have the next one
            job.end(result, None)
        return True

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    def _script(self, job: Job, connection: Connection) -> Any:
        if job.kind in ("read", "open"):
            return connection.read(job.work())
        if job.kind == "clean":
            return connection.clean(job.work)
        mends = job.kind == "mend"
        try:
            return connection.write(job.work() if mends else watched(job.work(), self._engine.mend))
        except Stale as error:  # another writer was quicker: what is there now is read again
            raise Clash("another writer stored such a row meanwhile") from error

    def _store(self, jobs: list[Job]) -> None:
        try:
            if self._silence is not None:
                raise _again(self._silence)
            self._merge(_without_checks(jobs))
        except BaseException as error:
            if isinstance(error, NoAnswer):
                self._fail_waiting(error)
                _settle([(job, _again(error)) for job in jobs])
                return
            if len(jobs) == 1:
                _settle([(jobs[0], error)])
                return
        else:
            _settle([(job, None) for job in jobs])
            return
        # One of them failed: each on its own, in their order.
        outcomes: list[tuple[Job, BaseException | None]] = []
        for job in jobs:
            try:
                self._merge([job.work])
            except BaseException as error:
                outcomes.append((job, error))
            else:
                outcomes.append((job, None))
        _settle(outcomes)

    def _merge(self, writes: list[Sequence[Step]]) -> None:
        """Store writes in one transaction, with the parity of their rows."""
        steps, groups = self._groups.planned(writes)
        try:
            self._tried(lambda c: c.merge([*writes, steps]))
        except BaseException:
            self._groups.drop(groups)
            raise
        self._groups.keep(groups)


def _without_checks(jobs: Sequence[Job]) -> list[Sequence[Step]]:
    """The steps of writes that are merged. Where one of them moves its thread's row on, which
    compares the version, the others of this thread need not look at the row themselves."""
    moved = {job.key for job in jobs if job.work[0].sql.startswith("UPDATE wyrd_threads")}
    return [
        job.work[1:] if job.key in moved and job.work[0].sql.startswith("SELECT") else job.work
        for job in jobs
    ]


def _refused(error: BaseException) -> bool:
    """Whether the server let no connection in."""
    return isinstance(error, ConnectionLost) and not isinstance(error, NoAnswer)


def _again(error: NoAnswer) -> NoAnswer:
    """The same error for another caller, who gets a traceback of his own."""
    return NoAnswer(*error.args)


def _settle(outcomes: Sequence[tuple[Job, BaseException | None]]) -> None:
    """Wake the callers; those of one event loop together."""
    loops: dict[Any, list[Job]] = {}
    for job, error in outcomes:
        job.error = error
        if job.loop is None:
            job.done(job)
        else:
            loops.setdefault(job.loop, []).append(job)
    for loop, jobs in loops.items():
        with suppress(RuntimeError):  # the callers' loop is closed
            loop.call_soon_threadsafe(_wake, jobs)


def _wake(jobs: list[Job]) -> None:
    for job in jobs:
        job.done(job)


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
        self.healer: Any = None  # the `recovery.load.Healer` of what runs here; None: damage raises
        self.replica: Engine | None = None  # where listings across threads are read instead
        self._closed = False
        self._reset()
        _MADE.add(self)

    def _reset(self) -> None:
        self._guard = threading.Lock()
        self._ready = False
        self._write_queue: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._read_queue: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._workers: list[_Worker] = []
        self._most = 1 + self.driver.readers
        self._lingering: WeakKeyDictionary[Any, _Lingering] = WeakKeyDictionary()
        self._background = 0  # generators of scripts that were started and have not ended
        self._no_background = threading.Event()
        self._no_background.set()

    # ---- handing over

    def job(self, kind: str, work: Any, key: Any = None) -> Job:
        """A job whose caller waits in `wait`."""
        if isinstance(threading.current_thread(), _Worker):
            raise WyrdError("a saver was called from within one of its own threads")
        job = Job(kind, work, key, None)
        job.waiting = threading.Lock()
        job.waiting.acquire()
        job.done = _release
        return job

    def ajob(self, kind: str, work: Any, key: Any = None) -> Job:
        """A job whose caller awaits it in `await_`."""
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

    @staticmethod
    async def await_(job: Job) -> Any:
        """Async version of `wait`. Cancelling the caller does not cancel the job."""
        await job.waiting
        if job.error is not None:
            raise job.error
        return job.result

    def run(self, script: Callable[[], Script[T]], *, writes: bool = False) -> T:
        """Run a script and wait for its result."""
        result: T = self.wait(self.post(self.job("write" if writes else "read", script)))
        return result

    async def arun(self, script: Callable[[], Script[T]], *, writes: bool = False) -> T:
        """Async version of `run`."""
        job = self.post(self.ajob("write" if writes else "read", script))
        result: T = await self.await_(job)
        return result

    def clean(self, tables: Sequence[str]) -> None:
        """Have the database forget the bytes of what was deleted from these tables."""
        self.wait(self.post(self.job("clean", tables)))

    async def aclean(self, tables: Sequence[str]) -> None:
        """Async version of `clean`."""
        await self.await_(self.post(self.ajob("clean", tables)))

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
            self._add(_Worker(self, self._write_queue, writes=True))
            self._ready = True
            _ENGINES.add(self)

    def _add(self, worker: _Worker) -> None:
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
                self._add(_Worker(self, self._read_queue, writes=False))

    def leave(self, reader: _Worker) -> bool:
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
        for worker in self._stop():
            worker.join(timeout)
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

    def _stop(self) -> list[_Worker]:
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

    # ---- while the process forks

    def _inherit(self) -> None:
        """Begin anew in a forked child, which has none of its parent's threads."""
        _INHERITED.append((self._workers, self._write_queue, self._read_queue))
        self._reset()


def _closed() -> SaverClosed:
    return SaverClosed("this saver is closed: make a new one, or enter it again with `with`")


def _ignore(job: Job) -> None:
    pass


def _release(job: Job) -> None:
    job.waiting.release()


def _resolve(job: Job) -> None:
    if not job.waiting.done():
        job.waiting.set_result(None)


_ENGINES: set[Engine] = set()
_MADE: WeakSet[Engine] = WeakSet()  # also those that have no threads
_INHERITED: list[Any] = []  # a parent's threads and connections, never finalised in a child


@atexit.register
def _close_forgotten() -> None:
    """A script that forgets to close still leaves its database tidy, and exits."""
    for engine in list(_ENGINES):
        engine.close(timeout=10)


_WORKERS: set[_Worker] = set()  # every thread that has not ended
_REGISTER = threading.RLock()  # of changes of it; while the process forks nobody starts
_HELD: list[_Worker] = []


def _before_fork() -> None:
    """A lock inside SQLite or a server's client that a thread holds would stay locked in the child
    for ever. So no thread may be inside one of them. SQLite's connections are closed as well: the
    locks of its files belong to the process."""
    _REGISTER.acquire()
    limit = time.monotonic() + _FORK
    for worker in sorted(_WORKERS, key=lambda each: not each.writes):  # one may wait for a reader
        if worker.hold(max(0.0, limit - time.monotonic())):
            _HELD.append(worker)


def _after_fork_in_parent() -> None:
    while _HELD:
        _HELD.pop().go_on()
    _REGISTER.release()


def _after_fork_in_child() -> None:
    _INHERITED.extend(_WORKERS)
    _WORKERS.clear()
    _HELD.clear()
    # At once: when the child's own threads come, all of them find the same queues.
    for engine in list(_MADE):
        engine._inherit()
    _ENGINES.clear()
    _REGISTER.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
