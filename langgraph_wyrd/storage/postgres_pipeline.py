"""Statements of a connection through libpq's pipeline: sent together, answered together.

psycopg adapts parameters and rows, makes errors and waits. Its cursors are left out: in a pipeline
they flush, poll and read for every statement, which was four fifths of a transaction's CPU.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import capabilities
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, PipelineStatus, TransactionStatus
from psycopg.waiting import Ready, Wait

_MOST = 400  # statements that a session keeps prepared
_AUTO = (PyFormat.AUTO,) * 100
_BINARY = 1
_ROWS, _SYNC, _ERROR, _ABORTED = map(
    int,
    (ExecStatus.TUPLES_OK, ExecStatus.PIPELINE_SYNC, ExecStatus.FATAL_ERROR,
     ExecStatus.PIPELINE_ABORTED),
)  # fmt: skip
_FAILED = (_ERROR, _ABORTED)
_IGNORED: Any = object()  # what a statement answers that nobody asked for

Rows = list[tuple[Any, ...]]
_Prepared = tuple[bytes, tuple[int, ...]]  # a statement, and the types of its parameters


class Pipeline:
    """The statements that one connection was sent, and their answers in the same order."""

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self._raw = raw
        self._conn = raw.pgconn
        self._adapter = Transformer(raw)
        self._names: dict[_Prepared, bytes] = {}
        self._count = 0
        self._prepares = False
        # Behind a pooler, what others prepared must not pass for ours.
        self._prefix = f"wyrd_{secrets.token_hex(8)}_"
        # What each answer that is still to come is for: rows to fill, or a name that is prepared.
        self._awaited: deque[Any] = deque()

    def open(self, *, prepares: bool) -> None:
        """Begin a transaction's statements, which are prepared or not when they are first sent."""
        # PgBouncer takes a session back when it has answered a Sync, also where more was sent then.
        if self._awaited:
            self.settle()
        self._prepares = prepares
        self._conn.enter_pipeline_mode()

    def send(self, text: bytes, params: Sequence[Any] = (), rows: Rows | None = None) -> None:
        """Append a statement; what it answers goes into `rows`."""
        adapter, conn, awaited = self._adapter, self._conn, self._awaited
        values = adapter.dump_sequence(params, _AUTO if len(params) < 100 else _AUTO * len(params))
        types = adapter.types or ()
        if self._prepares:
            name = self._names.get((text, types))
            if name is None:
                name = self._prepare(text, types)
            conn.send_query_prepared(name, values, adapter.formats, _BINARY)
        else:
            conn.send_query_params(text, values, types, adapter.formats, _BINARY)
        awaited.append(_IGNORED if rows is None else rows)

    def _prepare(self, text: bytes, types: tuple[int, ...]) -> bytes:
        names, conn = self._names, self._conn
        if len(names) >= _MOST:
            oldest = names.pop(next(iter(names)))
            if capabilities.has_send_close_prepared():
                conn.send_close_prepared(oldest)
            else:
                conn.send_query_params(b"DEALLOCATE " + oldest, [])
            self._awaited.append(_IGNORED)
        self._count += 1
        name = f"{self._prefix}{self._count}".encode()
        conn.send_prepare(name, text, types)
        names[text, types] = name
        self._awaited.append((text, types))
        return name

    def collect(self) -> None:
        """Have the answers come to all that was sent; the transaction goes on."""
        self._conn.send_flush_request()
        self._raw.wait(self._answers())

    def close(self) -> None:
        """Have the answers come to all that was sent, which ends a transaction."""
        self._synchronise()
        self._conn.exit_pipeline_mode()

    def leave(self) -> None:
        """End a transaction that read, and wait for nothing: the next one takes its answer."""
        self._conn.pipeline_sync()
        self._awaited.append(_IGNORED)
        if self._conn.flush():
            self.settle()

    def settle(self) -> None:
        """Take the answers that are still to come."""
        self._raw.wait(self._answers())
        self._conn.exit_pipeline_mode()

    def _synchronise(self) -> None:
        self._conn.pipeline_sync()
        self._awaited.append(_IGNORED)
        self._raw.wait(self._answers())

    def abandon(self) -> None:
        """Roll back what was begun, so far as the connection is still good for that."""
        conn = self._conn
        with suppress(psycopg.Error):
            if conn.status != ConnStatus.BAD and conn.pipeline_status != PipelineStatus.OFF:
                with suppress(psycopg.Error):
                    self._synchronise()
                if conn.transaction_status != TransactionStatus.IDLE:
                    self._prepares = False
                    self.send(b"ROLLBACK")
                    self._synchronise()
                conn.exit_pipeline_mode()

    def _answers(self) -> Generator[Wait, Ready | int, None]:
        """Send what is not on its way yet, and take an answer for each that is awaited."""
        conn, awaited = self._conn, self._awaited
        failed: psycopg.Error | None = None
        while conn.flush():
            if (yield Wait.RW) & Ready.R:
                conn.consume_input()
        while awaited:
            while conn.is_busy():
                yield Wait.R
                conn.consume_input()
            result = conn.get_result()
            if result is None:
                raise failed or psycopg.OperationalError("the connection is lost")
            wanted, status = awaited.popleft(), result.status
            if status != _SYNC:
                # The None that ends a statement's answers: libpq has it ready, and to ask whether
                # it has would let go of the GIL once more.
                conn.get_result()
            if status in _FAILED:
                if status == _ERROR and failed is None:
                    failed = self._error(result)
                if type(wanted) is tuple:
                    self._names.pop(wanted, None)
            elif wanted is not _IGNORED and status == _ROWS:
                self._adapter.set_pgresult(result)
                wanted += self._adapter.load_rows(0, result.ntuples, tuple)
        if failed is not None:
            raise failed

    def _error(self, result: Any) -> psycopg.Error:
        error = error_from_result(result, encoding=self._adapter.encoding)
        if error.sqlstate is None:  # libpq's own words: the connection was lost
            return psycopg.OperationalError(str(error))
        return error
