"""Notices a Postgres server, or a way to it, that has fallen silent.

A server that hangs, or a network that drops packets, looks to a client just as one that is busy.
So whoever has waited for one answer for longer than the limit asks in a second session. If nobody
answers there, or if the server says twice that it waits for us, the connection is cut, which ends
the waiting. A server that is at work is waited for however long it takes.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import psycopg

T = TypeVar("T")
Connection = psycopg.Connection[Any]

PATIENCE = 5.0  # seconds that an answer may take at least
SECOND = 10.0  # seconds that the second session, and what it asks, may take each
NOTHING = "it answers no new connection either"
WAITS = "it says that it waits for us: what one side sends does not reach the other"
# A pooler makes the number of a session up: nobody has it then. The function reads no table that
# somebody might have locked.
_WAITS_FOR_US = b"SELECT wait_event = 'ClientRead' FROM pg_stat_get_activity(%s)"


class Watch:
    """Looks at how long one connection waits; `lost` says why it was cut.

    `second` opens the session that asks; without it, silence is enough.
    """

    def __init__(
        self, raw: Connection, limit: float, second: Callable[[], Connection] | None
    ) -> None:
        self._raw = raw
        self._limit = limit
        self._second = second
        self._wait = raw.wait
        self.lost = ""
        raw.wait = self._waited  # type: ignore[method-assign]

    def _waited(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        return self._wait(self._watched(gen), *args, **kwargs)

    def _watched(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """What psycopg does, which looks up from waiting every tenth of a second."""
        since, doubt = time.monotonic(), ""
        try:
            wants = next(gen)
            while True:
                ready = yield wants
                if ready:
                    since, doubt = time.monotonic(), ""
                elif doubt is NOTHING:  # and no answer came while that was asked
                    self._cut(doubt)
                elif time.monotonic() - since > self._limit:
                    said = self._said()
                    if said is WAITS and doubt is WAITS:
                        self._cut(said)
                    # The last of a long answer may be on its way: the server must say twice, a
                    # limit apart, that it waits for us.
                    since, doubt = time.monotonic(), said
                wants = gen.send(ready)
        except StopIteration as end:
            found: T = end.value
            return found

    def _said(self) -> str:
        """What the server says of the session, in another one; "": it is at work."""
        if self._second is None:
            return NOTHING
        try:
            second = self._second()
        except psycopg.errors.ConnectionTimeout:
            return NOTHING
        except psycopg.Error as error:
            # Whatever the server says, as that it has no connection left: it is there.
            return NOTHING if "refused" in str(error) or "unreachable" in str(error) else ""
        watch = Watch(second, SECOND, None)
        try:
            pid = self._raw.info.backend_pid
            with second.transaction():
                row = second.execute(_WAITS_FOR_US, (pid,), prepare=False).fetchone()
        except psycopg.Error:
            return watch.lost
        finally:
            second.close()
        return WAITS if row is not None and row[0] else ""

    def _cut(self, why: str) -> None:
        """End the waiting with an error. To cancel would wait for the server's answer again."""
        self.lost = why
        line = socket.socket(fileno=self._raw.fileno())
        try:
            with contextlib.suppress(OSError):  # it is down already
                line.shutdown(socket.SHUT_RDWR)
        finally:
            line.detach()  # it is the connection's
