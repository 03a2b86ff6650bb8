"""`langgraph-wyrd adopt` on databases that the official savers wrote."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Backend
from langchain_core.messages import HumanMessage
from langgraph.types import Command
from test_agents import CONFIG, firm
from test_port import OFFICIAL, REST, another, asking, official, official_sync, told

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.cli import main as cli
from tests.outside import ROOT, environment, is_postgres, path_of, raw
from tests.rows import config, put


def filled(theirs: Any, threads: int) -> None:
    """Many threads, each with a question open."""
    graph = asking().compile(checkpointer=theirs)
    for n in range(threads):
        graph.invoke({"total": n}, config(f"t{n}"))


def gone_on(saver: Any, thread: str) -> Any:
    graph = asking().compile(checkpointer=saver)
    return graph.invoke(Command(resume="yes"), config(thread))


def there(url: str) -> set[str]:
    query = (
        "SELECT tablename FROM pg_tables WHERE tablename LIKE 'checkpoint%'"
        if is_postgres(url)
        else "SELECT name FROM sqlite_master WHERE name IN ('checkpoints', 'writes')"
    )
    with raw(url) as connection:
        return {row[0] for row in connection.execute(query).fetchall()}


async def test_a_deep_agent(
    durable: Backend, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Deltas, subgraphs, a question inside a subagent: adopted into another database by the command
    the agent goes on there as under the official saver."""
    target = f"sqlite:///{tmp_path / 'target.db'}"
    async with official(durable.url) as theirs:
        await firm(theirs).ainvoke({"messages": [HumanMessage("bees?", id="h1")]}, CONFIG)
        asked = ["--url", durable.url, "--json", "adopt", "--into", target]
        assert await asyncio.to_thread(cli.main, asked) == 0
        assert json.loads(capsys.readouterr().out)["threads"] == 1
        async with WyrdSaver.from_conn_string(target) as ours:
            assert await told(firm(ours), *REST) == await told(firm(theirs), *REST)


def test_the_old_tables_are_dropped(durable: Backend, capsys: pytest.CaptureFixture[str]) -> None:
    """Only when asked for twice, and only if all of it was adopted; the file shrinks, and the
    threads go on."""
    with official_sync(durable.url) as theirs:
        filled(theirs, 12)
        big = put(theirs, "big", {"x": "a thing " * 20_000})
    before = there(durable.url)
    assert cli.main(["--url", durable.url, "adopt", "--drop-old"]) == 2  # nobody is here to ask
    assert there(durable.url) == before
    assert cli.main(["--url", durable.url, "adopt"]) == 0
    assert there(durable.url) == before
    full = 0 if is_postgres(durable.url) else path_of(durable.url).stat().st_size
    assert cli.main(["--url", durable.url, "adopt", "--drop-old", "--yes"]) == 0
    assert "13 threads" in capsys.readouterr().out
    assert not there(durable.url)
    if full:
        assert path_of(durable.url).stat().st_size < full
        with sqlite3.connect(path_of(durable.url)) as connection:
            assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    ours = durable.open()
    assert gone_on(ours, "t3") == {"total": 4}
    assert ours.get_tuple(big) is not None
    assert ours.verify().ok


def test_they_are_kept_where_something_differs(durable: Backend) -> None:
    """A thread that went on under ours, or was written to since: nothing is dropped."""
    with official_sync(durable.url) as theirs:
        filled(theirs, 2)
    assert cli.main(["--url", durable.url, "adopt"]) == 0
    with WyrdSaver.from_conn_string(durable.url) as ours:
        gone_on(ours, "t1")
    before = there(durable.url)
    assert cli.main(["--url", durable.url, "adopt", "--drop-old", "--yes"]) == 2
    assert there(durable.url) == before


@pytest.mark.parametrize("kind", OFFICIAL)
def test_killed_and_run_again(
    kind: str, sqlite: Backend, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Killed in the middle, the command is run again and ends as one that was not; each thread then
    goes on as under the official saver."""
    with another(kind, request, tmp_path) as url, official_sync(url) as theirs:
        filled(theirs, 60)
        command = [sys.executable, "-m", "langgraph_wyrd", "--url", url, "adopt"]
        command += ["--into", sqlite.url]
        child = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL)
        held = 0
        while held < 5 and child.poll() is None:
            time.sleep(0.02)
            if path_of(sqlite.url).exists():
                try:
                    with raw(sqlite.url) as connection:
                        (held,) = connection.execute(
                            "SELECT count(*) FROM wyrd_checkpoints"
                        ).fetchone()
                except sqlite3.OperationalError:
                    continue  # its tables are not made yet
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert held >= 5
        assert cli.main([*command[3:]]) == 0
        ours = sqlite.open()
        assert len(ours.threads(limit=100)) == 60
        for thread in ("t0", "t30", "t59"):
            assert gone_on(ours, thread) == gone_on(theirs, thread)
