"""`langgraph-wyrd adopt` on databases that the official savers wrote."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.cli import main as cli
from tests.conftest import Backend
from tests.official_savers import (
    OFFICIAL,
    REST,
    another,
    filled,
    gone_on,
    official,
    official_sync,
    outcome,
)
from tests.outside import ROOT, environment, path_of, python, raw
from tests.scripted_agents import CONFIG, firm


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
            assert await outcome(firm(ours), *REST) == await outcome(firm(theirs), *REST)


@pytest.mark.parametrize("kind", OFFICIAL)
def test_killed_and_run_again(
    kind: str, sqlite: Backend, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Killed in the middle, the command is run again and ends as one that was not; each thread then
    goes on as under the official saver."""
    with another(kind, request, tmp_path) as url, official_sync(url) as theirs:
        filled(theirs, 60)
        command = ["--url", url, "adopt", "--into", sqlite.url]
        program = python("-m", "langgraph_wyrd", *command)
        child = subprocess.Popen(program, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL)
        held, over = 0, False
        while held < 5 and not over:
            time.sleep(0.02)
            over = child.poll() is not None  # before the look: then that sees all of it
            if path_of(sqlite.url).exists():
                try:
                    with raw(sqlite.url) as connection:
                        (held,) = connection.execute(
                            "SELECT count(*) FROM wyrd_checkpoints"
                        ).fetchone()
                except sqlite3.OperationalError:
                    continue  # its tables are not made yet
        child.terminate()  # with SIGKILL: see `python`
        child.wait()
        assert held >= 5
        assert cli.main(command) == 0
        ours = sqlite.open()
        assert len(ours.threads(limit=100)) == 60
        for thread in ("t0", "t30", "t59"):
            assert gone_on(ours, thread) == gone_on(theirs, thread)
