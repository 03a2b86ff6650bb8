"""A way to a server that falls silent and tells nobody, as a network does that drops packets."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Iterator

from psycopg.conninfo import conninfo_to_dict


class Relay:
    """`silent`: what is sent goes nowhere, and nobody is let in; `deaf`: the ways that are open now
    stay silent, new ones work."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._door = socket.create_server(("127.0.0.1", 0))
        self._ways: dict[socket.socket, socket.socket] = {}
        self._deaf: set[socket.socket] = set()
        self._wake, self._waker = socket.socketpair()
        self._silent = self._away = self._over = False
        self.port = self._door.getsockname()[1]
        self.thread = threading.Thread(target=self._run)

    def silence(self, silent: bool = True) -> None:
        self._silent = silent
        self._waker.send(b".")

    def deafen(self, *, away: bool = False) -> None:
        """`away`: nor is anybody at the door any more."""
        self._away = away
        self._deaf = set(self._ways)
        self._waker.send(b".")

    def end(self) -> None:
        self._over = True
        self._waker.send(b".")
        self.thread.join()
        for each in (*self._ways, self._door, self._wake, self._waker):
            each.close()

    def _run(self) -> None:
        while not self._over:
            if self._away:
                self._door.close()
            door = [] if self._away else [self._door]
            heard = [] if self._silent else [*door, *(self._ways.keys() - self._deaf)]
            for each in select.select([self._wake, *heard], [], [], 5)[0]:
                if each is self._wake:
                    self._wake.recv(64)
                    break  # whoever it woke may have silenced the others
                if each is self._door:
                    self._let_in()
                elif each in self._ways:
                    self._pass_on(each)

    def _let_in(self) -> None:
        caller, server = self._door.accept()[0], socket.socket(socket.AF_UNIX)
        server.connect(self._path)
        self._ways |= {caller: server, server: caller}

    def _pass_on(self, each: socket.socket) -> None:
        other = self._ways[each]
        with contextlib.suppress(OSError):
            if data := each.recv(1 << 16):
                other.sendall(data)
                return
        for one in (each, other):
            del self._ways[one]
            one.close()


@contextlib.contextmanager
def relayed(url: str) -> Iterator[tuple[Relay, str]]:
    """A way over TCP to a server that is reached by a socket file, and its address."""
    there = conninfo_to_dict(url)
    relay = Relay(f"{there['host']}/.s.PGSQL.{there.get('port', 5432)}")
    relay.thread.start()
    try:
        given = "sslmode=disable&gssencmode=disable"
        yield (
            relay,
            f"postgresql://{there['user']}@127.0.0.1:{relay.port}/{there['dbname']}?{given}",
        )
    finally:
        relay.end()
