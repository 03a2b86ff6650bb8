"""A thread with a connection of its own, and the jobs that it runs.

A writer takes all that waits and stores it in one transaction; a write that fails is isolated, so
that it costs the others nothing. While the process forks, no thread is inside its connection.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from langgraph_wyrd.errors import ConnectionLost, NoAnswer
from langgraph_wyrd.storage.parity import Groups, watched
from langgraph_wyrd.storage.scripts import Clash, Script, Stale, Step, again_on_clash

if TYPE_CHECKING:
    from langgraph_wyrd.storage.engine import Engine

T = TypeVar("T")

_TOGETHER = 256  # writes in one transaction
_TIMES = 40  # tries, a tenth of a second apart, to have the connection that a reader gave up
_REFUSED = 5.0  # seconds in which a reader that got no connection does not ask for one again
_FORK = 10.0  # seconds that a fork waits for jobs to end


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
    one that a writer reads, `mend` one that writes and looks after parity itself. `clean` has the
    database forget deleted bytes, `rest` has a reader give up its connection.
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


class Worker(threading.Thread):
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
        job.work[1:] if job.key in moved and job.work[0].only_looks else job.work for job in jobs
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


def _ignore(job: Job) -> None:
    pass


# ---- while the process forks

_WORKERS: set[Worker] = set()  # every thread that has not ended
_REGISTER = threading.RLock()  # of changes of it; while the process forks nobody starts
_HELD: list[Worker] = []
_INHERITED: list[Any] = []  # a parent's threads and connections, never finalised in a child


def hold_all() -> None:
    """Before a fork. A lock inside SQLite or a server's client that a thread holds would stay
    locked in the child for ever, so no thread may be inside one of them. SQLite's connections are
    closed as well: the locks of its files belong to the process."""
    _REGISTER.acquire()
    limit = time.monotonic() + _FORK
    for worker in sorted(_WORKERS, key=lambda each: not each.writes):  # one may wait for a reader
        if worker.hold(max(0.0, limit - time.monotonic())):
            _HELD.append(worker)


def let_go() -> None:
    """After a fork, in the parent."""
    while _HELD:
        _HELD.pop().go_on()
    _REGISTER.release()


def leave_behind(*more: Any) -> None:
    """After a fork, in the child, which has none of its parent's threads."""
    _INHERITED.extend((*_WORKERS, *more))
    _WORKERS.clear()
    _HELD.clear()
    _REGISTER.release()
