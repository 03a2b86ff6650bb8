"""A pooler in transaction mode, as PgBouncer is: sessions are lent for a transaction each."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections.abc import Iterator

from psycopg.conninfo import conninfo_to_dict

_SSL, _GSS = 80877103, 80877104  # what a client asks first
_ENDS = (b"S", b"Q")  # messages that ReadyForQuery answers


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    (size,) = struct.unpack(">I", head[1:])
    return head[:1], head + await reader.readexactly(size - 4)


class Session:
    """A connection to the server, lent to a client for a transaction."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.hello = b""

    @classmethod
    async def begun(cls, host: str, port: int, startup: bytes) -> Session:
        if host.startswith("/"):
            made = cls(*await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}"))
        else:
            made = cls(*await asyncio.open_connection(host, port))
        made.writer.write(startup)
        kind = b""
        while kind != b"Z":
            kind, message = await _message(made.reader)
            made.hello += message
        return made


class Pooler:
    """`lent`: how often a session was."""

    def __init__(self, host: str, port: int, sessions: int) -> None:
        self._server, self._many = (host, port), sessions
        self._free: asyncio.Queue[Session] | None = None
        self.lent = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            free = await self._greet(reader, writer)
            coming = asyncio.ensure_future(_message(reader))
            while (await coming)[0] != b"X":
                session = await free.get()
                self.lent += 1
                try:
                    coming = await self._transaction(session, reader, writer, coming)
                except BaseException:
                    session.writer.close()
                    raise
                free.put_nowait(session)
        except (EOFError, ConnectionError):
            pass  # it went away
        finally:
            writer.close()

    async def _greet(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> asyncio.Queue[Session]:
        while True:
            head = await reader.readexactly(4)
            body = await reader.readexactly(struct.unpack(">I", head)[0] - 4)
            if struct.unpack(">I", body[:4])[0] not in (_SSL, _GSS):
                break
            writer.write(b"N")
        if self._free is None:
            self._free = asyncio.Queue()
            for _ in range(self._many):
                self._free.put_nowait(await Session.begun(*self._server, head + body))
        session = await self._free.get()
        writer.write(session.hello)
        self._free.put_nowait(session)
        return self._free

    @staticmethod
    async def _transaction(
        session: Session,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        coming: asyncio.Future[tuple[bytes, bytes]],
    ) -> asyncio.Future[tuple[bytes, bytes]]:
        """Both ways, until the session is idle and all is answered; what the client says next."""
        owed, open_, idle = 0, False, False
        going = asyncio.ensure_future(_message(session.reader))
        while True:
            left = coming.done() and coming.result()[0] == b"X"  # never passed on to the session
            if left and idle and not owed:
                going.cancel()
                return coming
            await asyncio.wait(
                [going] if left else [coming, going], return_when=asyncio.FIRST_COMPLETED
            )
            if going.done():
                kind, message = going.result()
                writer.write(message)
                going = asyncio.ensure_future(_message(session.reader))
                owed -= kind == b"Z"
                idle = kind == b"Z" and message[5:6] == b"I"
                if idle and not owed and not open_ and not coming.done():
                    going.cancel()
                    return coming
            if coming.done() and coming.result()[0] != b"X":
                kind, message = coming.result()
                owed += kind in _ENDS
                open_ = kind not in _ENDS  # a Flush too: the session is lent until a Sync comes
                session.writer.write(message)
                coming = asyncio.ensure_future(_message(reader))

    def close(self) -> None:
        while self._free is not None and not self._free.empty():
            self._free.get_nowait().writer.close()


@contextlib.contextmanager
def pooled(url: str, sessions: int = 2) -> Iterator[tuple[Pooler, str]]:
    """A pooler before a server, and its own address."""
    there = conninfo_to_dict(url)
    pooler = Pooler(str(there["host"]), int(there.get("port") or 5432), sessions)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(_listening(pooler))
    port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        given = "sslmode=disable&gssencmode=disable"
        yield pooler, f"postgresql://{there['user']}@127.0.0.1:{port}/{there['dbname']}?{given}"
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.01))
        pooler.close()
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()


async def _listening(pooler: Pooler) -> asyncio.Server:
    return await asyncio.start_server(pooler.serve, "127.0.0.1", 0)
