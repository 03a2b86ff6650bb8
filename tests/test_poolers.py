"""Poolers: set-up, agents, listings and the feed; a sample of `tests.campaigns.poolers`."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from langgraph_wyrd import WyrdSaver, errors
from langgraph_wyrd.storage.postgres import _LOCK
from tests import servers
from tests.campaigns import poolers
from tests.handmade import append, head_tokens
from tests.outside import raw
from tests.pooler import pooled

pytestmark = pytest.mark.timeout(300, method="thread")


@pytest.mark.empty
@pytest.mark.parametrize("sessions", [1, 3])
def test_all_behind_few_sessions(postgres: Any, sessions: int) -> None:
    """Two savers set an empty database up and run agents at once, with fewer sessions than
    connections: none is kept after a transaction, and a loss of statements is logged once."""
    with pooled(postgres.url, sessions) as (_, url), poolers.listening() as said:
        poolers.set_up_at_once(url, 2)
        poolers.run_threads(url, 2, threads=4)
    assert len(said) <= 4, said  # four savers


def test_a_server_with_one_connection(postgres: Any) -> None:
    """A server that lets one connection in, as PGlite does, serves reads and writes by it."""
    with postgres.open() as saver:
        saver.setup()
    with raw(postgres.url) as admin:
        admin.execute("CREATE ROLE one LOGIN CONNECTION LIMIT 1")
        admin.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO one")
        admin.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO one")
    try:
        with WyrdSaver.from_conn_string(make_conninfo(postgres.url, user="one")) as saver:
            for token in "abc":
                append(saver, "t", token)
                assert head_tokens(saver, "t")[-1] == token
            assert [each.thread_id for each in saver.threads()] == ["t"]
            assert saver.verify().ok
    finally:
        with raw(postgres.url) as admin:
            admin.execute("DROP OWNED BY one")
            admin.execute("DROP ROLE one")


@pytest.mark.empty
def test_setting_up_waits_for_no_lock_in_the_server(postgres: Any) -> None:
    """A saver asks now and then whether another is done with setting up, so that a pooler never has
    a statement that waits for another; after the timeout it says that the database is busy."""
    with raw(postgres.url) as admin:
        admin.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        saver = postgres.open(timeout=1)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(saver.setup)
            while not asked.done():
                waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                assert admin.execute(waits).fetchone() == (0,)
            with pytest.raises(errors.DatabaseBusy, match="sets the database up"):
                asked.result()
            admin.execute("SELECT pg_advisory_unlock_all()")
            saver.setup()
            append(saver, "t", "a")


@pytest.mark.parametrize("pooler", ["pgbouncer", "pglite"])
def test_a_real_pooler(pooler: str) -> None:
    """PgBouncer, where it is installed; PGlite, where WYRD_TEST_PGLITE names the folder into which
    npm has put its socket server. (pgpool only in the campaign: see docs/scale.md.)"""
    if pooler == "pglite":
        if not (folder := os.environ.get("WYRD_TEST_PGLITE")):
            pytest.skip("WYRD_TEST_PGLITE is not set")
        with servers.pglite(Path(folder), 20) as url:
            poolers.set_up_at_once(url, 2)
            poolers.run_threads(url, 2, threads=4)
        return
    if shutil.which(pooler, path=servers.PATH) is None:
        pytest.skip(f"{pooler} is not installed")
    with servers.postgres() as server, getattr(servers, pooler)(server) as url:
        poolers.set_up_at_once(url, 2)
        poolers.run_threads(url, 2, threads=4)
