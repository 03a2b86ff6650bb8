"""The line to a Postgres server: how it is dialled, and what is done when nobody speaks any more.

A server that hangs, or a network that drops packets, looks to a client just as one that is busy.
So whoever has waited for one answer for longer than the limit rings a second time. If nobody takes
that call, or if the server says that it waits for us, the line is cut, which ends the waiting. A
server that is at work is waited for however long it takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import inspect
import math
import os
import socket
import time
from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import tuple_row

from langgraph_wyrd.errors import NoAnswer

Connection = psycopg.AsyncConnection[Any]

_PATIENCE = 5.0  # seconds that an answer may take at least
_SECOND = 10.0  # seconds that the second call, and what it asks, may take each
_STEPS = 20
_NOBODY = (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH)
# A pooler makes the number of a session up: nobody has it then. The function reads no table that
# somebody might have locked.
_WAITS_FOR_US = "SELECT wait_event = 'ClientRead' FROM pg_stat_get_activity(%s)"


class _Said(Enum):
    NOTHING = "it answers no new connection either"
    WAITS = "it says that it waits for us: what one side sends does not reach the other"
    WORKS = ""


class Line:
    """Makes connections; by the user's callable, if there is one, which may give a conninfo."""

    def __init__(
        self,
        conninfo: str,
        options: dict[str, Any],
        connect: Callable[[], Any] | None,
        timeout: float,
    ) -> None:
        self._conninfo = conninfo
        self._options = options
        self._connect = connect
        self._timeout = timeout

    @property
    def limit(self) -> float:
        """How long an answer is waited for before anybody asks why."""
        return max(self._timeout, _PATIENCE)

    async def reached(self, limit: float | None = None) -> Connection:
        """A connection, within the limit: a server may take it, and never answer."""
        limit = limit or self.limit
        dialling = asyncio.ensure_future(self.dial(self._conninfo, **self._options))
        try:
            if not await _ends(dialling, limit):
                raise psycopg.errors.ConnectionTimeout(f"no answer for {limit:g} s")
        finally:
            dialling.cancel()
        return dialling.result()

    async def dial(self, conninfo: str, **kwargs: Any) -> Connection:
        if self._connect is not None:
            made = self._connect()
            if inspect.isawaitable(made):
                made = await made
            if not isinstance(made, str):
                await made.set_autocommit(True)
                made.prepare_threshold = self._options["prepare_threshold"]
                made.row_factory = tuple_row
                found: Connection = made
                return found
            conninfo = made
        given = conninfo_to_dict(conninfo)
        left = {name: each for name, each in self._tcp().items() if name not in given}
        if "service" in given or "PGSERVICE" in os.environ:
            left = {}  # they may stand in its file
        return await psycopg.AsyncConnection.connect(conninfo, **{**left, **kwargs})

    def _tcp(self) -> dict[str, int]:
        """Dead peers are noticed by the system itself, in time; sockets of files don't mind."""
        limit = max(2, math.ceil(self.limit))
        found = {
            "keepalives_idle": math.ceil(limit / 2),
            "keepalives_interval": math.ceil(limit / 6),
            "keepalives_count": 3,
            # Twice: a server that waits for a lock, and so reads nothing, may first say so.
            "tcp_user_timeout": 2000 * limit,
        }
        if "PGCONNECT_TIMEOUT" not in os.environ:
            found["connect_timeout"] = limit
        return found

    def watch(self, connection: Connection) -> Watch:
        return Watch(self, connection)


class Watch:
    """While it is entered, no answer is waited for in vain: NoAnswer, and the connection is
    of no more use. `moved`: when something was asked last."""

    __slots__ = ("_connection", "_line", "_second", "_suspect", "_task", "_timer", "lost", "moved")

    def __init__(self, line: Line, connection: Connection) -> None:
        self._line = line
        self._connection = connection
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._second: Connection | None = None
        self._suspect = False
        self.lost = ""
        self.moved = 0.0

    def __enter__(self) -> Watch:
        # One timer for all that a call asks: what is in time costs no more than that.
        self.moved = time.monotonic()
        self._again(self._line.limit)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._second is not None:
            hang_up(self._second)
        elif self._task is not None:
            self._task.cancel()
        if self.lost and isinstance(error, psycopg.Error):
            raise NoAnswer(
                f"the server has not answered for {self._line.limit:g} s, and {self.lost}"
            ) from error

    def _again(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        left = self.moved + self._line.limit - time.monotonic()
        if left > 0:
            self._again(left)
        else:
            self._task = asyncio.ensure_future(self._ask())

    async def _ask(self) -> None:
        moved = self.moved
        said = await self._say()
        self._task = None
        if moved != self.moved:
            said = _Said.WORKS
        # The last of a long answer may be on its way to us: that it waits for us counts only if
        # it says so again, a limit later.
        if said is _Said.NOTHING or (said is _Said.WAITS and self._suspect):
            self.lost = said.value
            hang_up(self._connection)
        else:
            self._suspect = said is _Said.WAITS
            self._again(self._line.limit)

    async def _say(self) -> _Said:
        """What the server says of the session, in another one."""
        pid = self._connection.info.backend_pid
        try:
            self._second = await self._line.reached(_SECOND)
        except psycopg.errors.ConnectionTimeout:
            return _Said.NOTHING
        except Exception as error:
            # Whatever it says, as that it has no connection left: it is there.
            nobody = any(os.strerror(code) in str(error) for code in _NOBODY)
            return _Said.NOTHING if nobody else _Said.WORKS
        asking = asyncio.ensure_future(self._second.execute(_WAITS_FOR_US, (pid,)))
        try:
            if not await _ends(asking, _SECOND):
                hang_up(self._second)
            rows = await (await asking).fetchall()
        except psycopg.Error:
            return _Said.NOTHING if self._second.closed else _Said.WORKS
        finally:
            second, self._second = self._second, None
            await second.close()
        return _Said.WAITS if rows and rows[0][0] else _Said.WORKS


async def _ends(task: asyncio.Future[Any], seconds: float) -> bool:
    """Whether it ends in that time. What this process spends on something else does not count for
    much: nobody could have taken an answer then."""
    for _ in range(_STEPS):
        if (await asyncio.wait([task], timeout=seconds / _STEPS))[0]:
            return True
    return False


def hang_up(connection: Connection) -> None:
    """Whoever waits for this connection has an error at once. To cancel him would not do: psycopg
    then asks the server to cancel, and waits for its answer."""
    if connection.closed:
        return
    line = socket.socket(fileno=connection.fileno())
    try:
        with contextlib.suppress(OSError):  # it is down already
            line.shutdown(socket.SHUT_RDWR)
    finally:
        line.detach()  # it is the connection's
