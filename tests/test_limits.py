"""A server's limits and a process's: errors that say so, nothing lost, and it goes on."""

from __future__ import annotations

import asyncio
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver, errors
from tests.outside import Peer, at_rest, raw, refusing, tables
from tests.steps import aappend, append, config, head_tokens, next_step, tree

pytestmark = pytest.mark.timeout(120, method="thread")


async def test_a_statement_timeout(postgres: Any, call: Any) -> None:
    """What takes longer than the role may: StatementTimeout, which is no DatabaseBusy. Nothing is
    half done, and it passes."""
    with postgres.open() as saver:
        append(saver, "t", "a")
    saver = postgres.open(options="-c statement_timeout=300", min_size=1)
    head = saver.get_tuple(config("t"))
    with raw(postgres.url) as blocker:
        blocker.execute("BEGIN")
        for table in tables(blocker):
            blocker.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(errors.StatementTimeout, match="statement_timeout"):
            await call(saver, "put", *next_step(saver, head, "t", "lost"))
        with pytest.raises(errors.StatementTimeout):
            await call(saver, "put_writes", head.config, [("log", 1)], "task")
        with pytest.raises(errors.StatementTimeout):
            await call(saver, "get_tuple", config("t"))
        blocker.execute("ROLLBACK")
    assert head_tokens(saver, "t") == ["a"]
    await call(saver, "put", *next_step(saver, head, "t", "b"))
    assert head_tokens(saver, "t") == ["a", "b"]
    tree(saver, "t")
    at_rest(postgres.url)


def test_damaged_pages_of_a_server(postgres: Any) -> None:
    """What Postgres says of a page whose checksum fails becomes DatabaseDamaged."""
    saver = postgres.open()
    append(saver, "t", "a")
    with refusing(postgres.url, "wyrd_checkpoints", "data_corrupted"):
        with pytest.raises(errors.DatabaseDamaged, match="REINDEX"):
            append(saver, "t", "b")
        assert head_tokens(saver, "t") == ["a"]
    append(saver, "t", "b")
    assert head_tokens(saver, "t") == ["a", "b"]


def fill(path: Path) -> list[str]:
    """In a process that may make no file larger than a megabyte."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
    good: list[str] = []
    with WyrdSaver.from_conn_string(f"sqlite:///{path}") as saver:
        with pytest.raises(errors.DatabaseFull, match=r"wyrd\.db.*Make room"):  # noqa: PT012 - any of them
            for number in range(100):
                bulk = {"bulk": {"bytes": os.urandom(60_000), "number": number}}
                step = next_step(saver, saver.get_tuple(config("t")), "t", f"{number}", extra=bulk)
                saver.put(*step)
                good.append(f"{number}")
        assert good
        assert head_tokens(saver, "t") == good
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        append(saver, "t", "more")
        assert head_tokens(saver, "t") == [*good, "more"]
        assert saver.verify().ok
    return good


def test_a_file_as_large_as_it_may_be(tmp_path: Path) -> None:
    """DatabaseFull, the last good state is intact; with the limit raised, it goes on."""
    path = tmp_path / "wyrd.db"
    peer = Peer()
    try:
        good = peer(fill, path)
    finally:
        peer.stop()
    with WyrdSaver.from_conn_string(f"sqlite:///{path}") as saver:
        assert head_tokens(saver, "t") == [*good, "more"]


async def test_what_is_remembered_of_threads_is_bounded(sqlite: Any) -> None:
    """Threads that are active, deleted or gone take no more memory than the cache may have."""
    saver = sqlite.open()
    cache = saver._cache
    cache._most_bytes = 100_000
    for number in range(300):
        append(saver, f"t{number}", "a")
        if number % 2:
            saver.delete_thread(f"t{number}")
    await asyncio.gather(*(aappend(saver, f"t{number}", "b") for number in range(0, 300, 2)))
    assert len(cache._slots) <= 250
    assert cache._bytes == sum(each.weight for each in cache._slots.values()) <= 100_000
