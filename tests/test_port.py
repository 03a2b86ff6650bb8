"""Threads carried between savers go on as if nothing had happened."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Backend, fresh_postgres
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_wyrd.errors import ThreadNotFound
from langgraph_wyrd.port import acopy, copy
from tests.story import Teller, first_difference, tell, without_loop

OFFICIAL = ("sqlite", "postgres")


@contextlib.asynccontextmanager
async def official(url: str) -> AsyncIterator[Any]:
    """The official async saver on a database."""
    if url.startswith("sqlite"):
        async with AsyncSqliteSaver.from_conn_string(url.removeprefix("sqlite:///")) as saver:
            yield saver
        return
    async with AsyncPostgresSaver.from_conn_string(url) as saver:
        await saver.setup()
        yield saver


@contextlib.contextmanager
def official_sync(url: str) -> Iterator[Any]:
    """The official sync saver on a database."""
    if url.startswith("sqlite"):
        with SqliteSaver.from_conn_string(url.removeprefix("sqlite:///")) as saver:
            yield saver
        return
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        yield saver


@contextlib.contextmanager
def another(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of one more empty database."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'another.db'}"
        return
    with fresh_postgres(request.getfixturevalue("postgres_server")) as url:
        yield url


async def moved(teller: Teller) -> None:
    """After a turn the thread is copied to the saver that has the next one."""
    here, there = teller.saver, teller.savers[(teller.turn + 1) % len(teller.savers)]
    wanted = [teller.thread]
    try:
        if teller.asynchronous:
            report = await acopy(here, there, wanted)
        else:
            report = copy(here, there, wanted)
    except ThreadNotFound:  # a turn that was refused before anything was stored
        return
    assert not report.left


SEEDS = range(400, 409)


@pytest.mark.parametrize("kind", OFFICIAL)
async def test_random_programs_move_after_every_turn(
    kind: str, durable: Backend, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Each turn on the other saver, the official and ours, and the story is that of one saver."""
    ours = durable.open()
    with another(kind, request, tmp_path) as url:
        async with official(url) as theirs:
            for seed in SEEDS:
                expected = await tell(seed, InMemorySaver(), asynchronous=True)
                found = await tell(seed, theirs, ours, asynchronous=True, between=moved)
                parted = first_difference(expected, found)
                assert parted is None, f"seed {seed}, expected first, then found, {parted}"


@pytest.mark.parametrize("kind", OFFICIAL)
def test_random_programs_move_in_sync_code(
    kind: str, sqlite: Backend, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The same with sync savers, three of them: official, in memory, ours."""
    ours = sqlite.open()
    with another(kind, request, tmp_path) as url, official_sync(url) as theirs:
        for seed in SEEDS:
            expected = without_loop(tell(seed, InMemorySaver(), asynchronous=False))
            savers = (theirs, InMemorySaver(), ours)
            found = without_loop(tell(seed, *savers, asynchronous=False, between=moved))
            parted = first_difference(expected, found)
            assert parted is None, f"seed {seed}, expected first, then found, {parted}"
