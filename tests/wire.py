"""A way to the server that loses the answer to a COMMIT."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
import time


class Wire:
    """Stands between a saver and its server; when armed, it swallows the next COMMIT's answer.

    The server has committed then, and the client can't know.
    """

    ANSWER = b"C" + struct.pack("!i", 11) + b"COMMIT\0"

    def __init__(self, url: str) -> None:
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        told = conninfo_to_dict(url)
        host, port = str(told.get("host") or "127.0.0.1"), str(told.get("port") or 5432)
        self._server = f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._armed = False
        self._heard = 0.0  # when the server, or the saver, said something
        self.cuts = 0
        self._pairs: list[socket.socket] = []
        self._said: list[tuple[socket.socket, threading.Lock]] = []
        here = {"host": "127.0.0.1", "port": self._listener.getsockname()[1]}
        self.url = make_conninfo(**{**told, **here, "sslmode": "disable", "gssencmode": "disable"})
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def armed(self) -> bool:
        return self._armed

    @armed.setter
    def armed(self, armed: bool) -> None:
        """What a read commits may still be on its way, as nobody waits for that answer."""
        deadline = time.monotonic() + 120
        while armed and not self._is_quiet():
            assert time.monotonic() < deadline, "it is never quiet"
            time.sleep(0.02)
        self._armed = armed

    def _is_quiet(self) -> bool:
        """Whether nothing was said for a while, and all that the server said has arrived."""
        if time.monotonic() - self._heard < 0.2:
            return False
        for server, carrying in list(self._said):
            with carrying:
                if server.fileno() >= 0 and select.select([server], [], [], 0)[0]:
                    return False
        return True

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if isinstance(self._server, str):
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
            else:
                server = socket.create_connection(self._server)
            self._pairs += [client, server]
            for one, other, watched in ((client, server, False), (server, client, True)):
                threading.Thread(
                    target=self._carry, args=(one, other, watched), daemon=True
                ).start()

    def _carry(self, one: socket.socket, other: socket.socket, watched: bool) -> None:
        carrying, goes_on = threading.Lock(), True
        if watched:
            self._said.append((one, carrying))
        with contextlib.suppress(OSError, ValueError):  # the second: it was closed
            while goes_on:
                select.select([one], [], [])
                with carrying:
                    goes_on = self._carried(one, other, watched)
        if watched:
            self._said.remove((one, carrying))
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _carried(self, one: socket.socket, other: socket.socket, watched: bool) -> bool:
        """Pass on what is there; False at the end, or where the answer was swallowed."""
        data = one.recv(65536)
        self._heard = time.monotonic()
        if watched and self._armed and self.ANSWER in data:
            self._armed = False
            self.cuts += 1
            return False
        other.sendall(data)
        return bool(data)

    def close(self) -> None:
        self._listener.close()
        for end in self._pairs:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
