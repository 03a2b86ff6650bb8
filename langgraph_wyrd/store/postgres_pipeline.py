"""Statements that go to the server together."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import psycopg

Connection = psycopg.AsyncConnection[Any]


@contextlib.asynccontextmanager
async def pipeline(
    connection: psycopg.AsyncConnection[Any],
) -> AsyncGenerator[psycopg.AsyncPipeline]:
    """A pipeline that is in order again when it ends, so that psycopg need not complain."""
    failed: BaseException | None = None
    try:
        async with connection.pipeline() as pipe:
            try:
                yield pipe
            except BaseException as error:
                failed = error
                await pipe.sync()
    except psycopg.Error:
        if failed is None:
            raise
    if failed is not None:
        raise failed
