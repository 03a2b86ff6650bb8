"""What runs on a core's thread: its loop, the open database, what is known, the writes that wait.

A process that forks closes its SQLite connections first and opens them again afterwards, on both
sides: SQLite's locks belong to the process, and a child that went on with its parent's connections
would neither hold the locks nor know it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

from langgraph_wyrd.errors import DatabaseGone, NoAnswer, SaverClosed
from langgraph_wyrd.hooks import Happening
from langgraph_wyrd.store import alive
from langgraph_wyrd.store.roles import Driver, Guide, Hot, Known
from langgraph_wyrd.store.statements import Astray, Plan, Stale, WriteSet
from langgraph_wyrd.store.turns import Turns

logger = logging.getLogger("langgraph_wyrd")

T = TypeVar("T")
M = TypeVar("M", bound=Known[Any])
Settle = Callable[[BaseException | None], None]
Waiting = tuple[WriteSet, Callable[[bool | BaseException], None]]
Asked = tuple[Callable[[], Plan[Any]], "asyncio.Future[Any]"]

_READERS, _TOGETHER = 2, 8  # batches of short reads under way, and plans in one
_TRIES = 8  # threads that one plan may ask for in vain


class Running(Generic[M]):
    """A core's thread and loop, with everything mutable on it."""

    def __init__(self, driver: Driver, memory: M, guide: Guide | None = None) -> None:
        self.memory = memory
        self._guide = guide
        self._driver = driver
        self._busy = 0  # calls to the driver that are under way
        self._pauses = 0
        self._paused: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._posted: deque[Callable[[], None]] = deque()
        self._woken = False
        self._told: dict[asyncio.AbstractEventLoop, list[Callable[[], None]]] = {}
        self._opened: asyncio.Future[None] | None = None
        self.turns = Turns()
        self.happened: deque[Happening] = deque()  # for the hooks: told by whoever asked
        # Threads in which a write reads what it needs: others wait, and know it then.
        self.cold: dict[str, list[Callable[[], None]]] = {}
        self.farewells: list[Callable[[], Awaitable[None]]] = []  # what is done before it closes
        self._asked: deque[Asked] = deque()
        self._readers = 0
        self._waiting: list[Waiting] = []
        self._writers = 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._turn, name="wyrd-core", daemon=True)
        self.thread.start()
        alive.enter(self)

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
        """Have a job run here; `settle` is called here, with its ended task."""
        self._post(lambda: self._begin(job(self), settle))

    def post_store(self, write: Hot[Any], alone: bool, settle: Settle) -> None:
        """Have a write stored; `settle` is called here, with what went wrong, or None.

        `alone`: each such write of a thread rests on what the one before it left.
        """
        self._post(lambda: Store(self, write, alone, settle).begin())

    def _post(self, start: Callable[[], None]) -> None:
        self._posted.append(start)
        # One wake-up serves all that is posted until the loop looks: waking costs a system call,
        # and the thread that makes it gives up the interpreter to do so.
        if not self._woken:
            self._woken = True
            try:
                self.loop.call_soon_threadsafe(self._start_posted)
            except RuntimeError:
                raise SaverClosed("this saver was closed meanwhile") from None

    def _start_posted(self) -> None:
        self._woken = False  # first: whatever is posted from now on wakes the loop again
        while self._posted:
            self._posted.popleft()()

    def _begin(
        self, work: Coroutine[Any, Any, T], settle: Callable[[asyncio.Task[T]], None] | None = None
    ) -> None:
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if settle is not None:
            task.add_done_callback(settle)

    def tell(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        """Call back on a caller's loop, together with what else it is told in this moment."""
        waiting = self._told.get(loop)
        if waiting is None:
            waiting = self._told[loop] = []
            self.loop.call_soon(self._tell_all, loop)
        waiting.append(callback)

    def _tell_all(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting = self._told.pop(loop)

        def call() -> None:
            for callback in waiting:
                callback()

        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(call)

    async def shut(self) -> None:
        me = asyncio.current_task()
        await self._say_farewell()
        while others := [task for task in self._tasks if task is not me]:
            await asyncio.wait(others)
        await self._say_farewell()  # again, for what came of the others
        if self._opened is not None:
            try:
                await self._driver.close()
            except Exception:
                logger.warning("closing a database failed", exc_info=True)

    async def _say_farewell(self) -> None:
        for farewell in self.farewells:
            await farewell()

    def finish(self, timeout: float | None = None) -> None:
        """Shut and end, from another thread."""
        done = threading.Event()
        self.post(Running.shut, lambda task: done.set())
        if done.wait(timeout):
            self.end()

    def end(self) -> None:
        alive.leave(self)
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
        opened = self._opened
        try:
            return await work(self._driver)
        except DatabaseGone as error:
            if error.opens_anew and self._opened is opened:
                self._begin(self._open_anew())
            raise
        finally:
            self._busy -= 1

    async def _open_anew(self) -> None:
        await self._stand_still()
        self._go_on()

    def pause(self, timeout: float) -> bool:
        """Close the connections and hold every call back; False if there is no need."""
        if not self._driver.closes_to_fork:
            return False
        still = threading.Event()
        self.post(Running._stand_still, lambda task: still.set())
        if not still.wait(timeout):
            logger.warning("forking while SQLite is busy: the child should make its own saver")
        return True

    def resume(self) -> None:
        self.loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        self._pauses -= 1
        if not self._pauses and self._paused is not None:
            self._paused.set_result(None)
            self._paused = None

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
        return await self._guided(plan, lambda plan: self._drive(lambda driver: driver.read(plan)))

    async def _guided(
        self, plan: Callable[[], Plan[T]], run: Callable[[Callable[[], Plan[T]]], Awaitable[T]]
    ) -> T:
        """Run a plan; again, when a thread that it asked for in vain was led back."""
        guide = self._guide
        if guide is None:
            return await run(plan)
        for _ in range(_TRIES):
            try:
                return await run(lambda: guide.guarded(plan()))
            except Astray as lost:
                await guide.lead_back(self, lost.key)
        return await run(plan)

    async def read_soon(self, plan: Callable[[], Plan[T]]) -> T:
        """Run a short plan, together with whatever else waits to be read."""
        return await self._guided(plan, self._read_soon)

    async def _read_soon(self, plan: Callable[[], Plan[T]]) -> T:
        answer: asyncio.Future[T] = self.loop.create_future()
        self._asked.append((plan, answer))
        if self._readers < _READERS:
            self._readers += 1
            self._begin(self._read_on())
        return await answer

    async def _read_on(self) -> None:
        try:
            while self._asked:
                some = [self._asked.popleft() for _ in range(min(_TOGETHER, len(self._asked)))]
                await self._read_batch(some)
        finally:
            self._readers -= 1

    async def _read_batch(self, batch: list[Asked]) -> None:
        try:
            found = await self._drive(lambda driver: driver.read_all([plan for plan, _ in batch]))
        except BaseException as error:
            if len(batch) == 1 or isinstance(error, NoAnswer):  # that took long enough
                for _, answer in batch:
                    answer.set_exception(error)
                return
            for each in batch:  # one of them is bad: alone, it harms nobody else
                await self._read_batch([each])
            return
        for (_, answer), result in zip(batch, found, strict=True):
            if isinstance(result, BaseException):
                answer.set_exception(result)
            else:
                answer.set_result(result)

    async def write(self, plan: Callable[[], Plan[T]]) -> T:
        return await self._guided(plan, lambda plan: self._drive(lambda driver: driver.write(plan)))

    async def give_back(self) -> bool:
        return await self._drive(lambda driver: driver.give_back())

    def wal_bytes(self) -> int | None:
        return self._driver.wal_bytes()

    async def scrub(self, *, everything: bool) -> None:
        await self._drive(lambda driver: driver.scrub(everything=everything))

    # ---- merging

    def merge(self, rows: WriteSet, told: Callable[[bool | BaseException], None]) -> None:
        """Store a write set together with whatever waits; `told` whether it was (not if stale)."""
        self._waiting.append((rows, told))
        if self._writers < self._driver.writers:
            self._writers += 1
            self._begin(self._write_on())

    async def _write_on(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._write_batch(batch)
        finally:
            self._writers -= 1

    async def _write_batch(self, batch: list[Waiting]) -> None:
        stale: set[int] | None
        try:
            sets = [rows for rows, _ in batch]
            stale = await self._drive(lambda driver: driver.merge(sets))
        except Stale:
            stale = set(range(len(batch))) if len(batch) == 1 else None
        except BaseException as error:
            if len(batch) == 1 or isinstance(error, NoAnswer):  # that took long enough
                for _, told in batch:
                    told(error)
                return
            stale = None
        if stale is None:  # one of them is bad: alone, it harms nobody else
            for each in batch:
                await self._write_batch([each])
            return
        rest = [each for index, each in enumerate(batch) if index not in stale]
        for index in stale:
            batch[index][1](False)
        if stale and rest:
            await self._write_batch(rest)
        elif not stale:
            for _, told in batch:
                told(True)


class Store:
    """One write on its way: hot if what it needs is known and still holds, else cold.

    A hot write needs no task of its own: it is planned at once, and waits in a merged transaction.
    """

    __slots__ = ("_after", "_alone", "_known", "_running", "_settle", "_write")

    def __init__(self, running: Running[Any], write: Hot[Any], alone: bool, settle: Settle) -> None:
        self._running = running
        self._write = write
        self._alone = alone
        self._settle = settle
        self._known: Any = None
        self._after: Any = None

    def begin(self) -> None:
        if self._alone:
            self._running.turns.take(self._write.thread_id, self._plan)
        else:
            self._plan()

    def _plan(self) -> None:
        waiting = self._running.cold.get(self._write.thread_id)
        if waiting is not None:
            waiting.append(self._plan)
            return
        self._known = known = self._running.memory.get(self._write.thread_id)
        try:
            planned = None if known is None else self._write.hot(known)
        except BaseException as error:
            self._end(error)
            return
        if planned is None:
            self._go_cold()
        else:
            rows, self._after = planned
            self._running.merge(rows, self._told)

    def _told(self, stored: bool | BaseException) -> None:
        memory, thread_id = self._running.memory, self._write.thread_id
        if stored is True:
            if self._after is not self._known:
                memory.put(thread_id, self._after)
            self._end(None, self._known, self._after)
        elif stored is False:
            self._known = None
            self._go_cold()
        else:  # whatever went wrong, what was known is doubtful (a commit's answer may be lost)
            memory.drop(thread_id)
            self._end(stored)

    def _go_cold(self) -> None:
        cold = self._running.cold.get(self._write.thread_id)
        if cold is not None:  # another one was told, at the same time, that it knows too little
            cold.append(self._plan)
            return
        self._running.cold[self._write.thread_id] = []
        self._running.memory.drop(self._write.thread_id)
        self._running._begin(self._cold())

    async def _cold(self) -> None:
        failed: BaseException | None = None
        found: Any = None
        try:
            found = await self._running.write(lambda: self._write.cold(self._known))
            self._running.memory.learn(self._write.thread_id, found)
        except BaseException as error:
            failed = error
        waiting = self._running.cold.pop(self._write.thread_id)
        self._end(failed, None, found)
        for plan in waiting:
            plan()

    def _end(self, error: BaseException | None, before: Any = None, after: Any = None) -> None:
        if error is None:
            try:
                self._write.stored(before, after)
            except Exception:  # it is stored, whatever comes of telling so
                logger.exception("what was stored could not be told")
        if self._alone:
            self._running.turns.leave(self._write.thread_id)
        self._settle(error)
