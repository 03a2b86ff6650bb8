"""The skill file: each of its commands runs, and prints the fields that it names."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.cli import main as cli
from langgraph_wyrd.cli.parser import COMMANDS
from tests.conftest import Backend
from tests.damage import at
from tests.outside import python

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "skills" / "langgraph-wyrd" / "SKILL.md").read_text("utf-8")
# What the text says that a command's data has.
FIELDS = {
    "threads": {"thread_id", "status", "reason", "title", "due", "open_loops", "updated_at"},
    "brief": {"brief"},
    "show": {"status", "reason", "due", "todos", "context", "loops", "intentions"},
    "loops": {"kind", "node", "checkpoint", "message_id", "tool_call_id", "author", "outcome"},
    "todos": {"content", "status"},
    "log": {"checkpoint_id", "parent_id", "nodes", "changed", "summary", "children", "head"},
    "labels": set(),
    "inbox": {"question", "thread_id", "since", "node", "allowed", "loop_id", "kind", "value"},
    "messages": {"role", "content", "id"},
    "resume": {"brief", "config"},
    "diff": {"summary", "changes", "channels"},
    "doctor": {"ok", "findings"},
    "size": {"tables"},
}


@pytest.fixture
def demo(tmp_path: Path, durable: Backend, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """A database with the thread of the demo's agent, named by WYRD_URL."""
    made, file = str(tmp_path / "demo.db"), str(tmp_path / "thread.json")
    assert cli.main(["demo", made]) == 0
    assert cli.main(["export", "invoice", file, "--payloads", "--url", made]) == 0
    monkeypatch.setenv("WYRD_URL", durable.url)
    assert cli.main(["import", file]) == 0
    with durable.open() as saver:
        asks(saver).invoke({}, at("waits"))
    return durable


class State(TypedDict, total=False):
    answer: str


def asks(saver: WyrdSaver) -> Any:
    builder = StateGraph(State).add_node("ask", lambda state: {"answer": interrupt("Send it?")})
    return builder.add_edge(START, "ask").compile(checkpointer=saver)


def lines() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


def first_of(line: str, folder: Path) -> str:
    """What a shell puts into FIRST, with the command in its path."""
    command = folder / "langgraph-wyrd"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(python())} -m langgraph_wyrd "$@"\n')
    command.chmod(0o755)
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    script = ["bash", "-c", f'{line}\necho "$FIRST"']
    return subprocess.run(
        script, capture_output=True, text=True, env=env, check=True
    ).stdout.strip()


def test_each_command_runs(
    demo: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it stands, on SQLite and Postgres: it prints JSON with the fields that are named."""
    first, seen = "", set()
    capsys.readouterr()
    for line in lines():
        if line.startswith("FIRST="):
            first = first_of(line, tmp_path)
            assert re.fullmatch(r"[0-9a-f-]{36}", first)
            continue
        command, otherwise, _ = line.partition(" || ")
        program, name, *rest = shlex.split(command.replace("$FIRST", first))
        assert program == "langgraph-wyrd"
        code = cli.main([name, *rest])
        told = capsys.readouterr()
        assert told.err == "", line
        data = json.loads(told.out)
        several = data if isinstance(data, list) else [data]
        for each in several:
            assert FIELDS[name] <= set(each), (line, set(each))
        if several:
            seen.add(name)
        assert code == (1 if several == [] or otherwise else 0), line
    assert seen == set(FIELDS) - {"labels"}


def test_an_answer_is_passed_on(demo: Backend, capsys: pytest.CaptureFixture[str]) -> None:
    """With the id that the inbox has; the program goes on with it."""
    capsys.readouterr()
    assert cli.main(["inbox", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    words = ["answer", entry["loop_id"], "yes", "--by", "ann", "--json"]
    assert cli.main(words) == 0
    assert json.loads(capsys.readouterr().out)["thread_id"] == "waits"
    assert cli.main(words) == 2  # it was answered already
    with demo.open() as saver:
        assert asks(saver).invoke(None, at("waits")) == {"answer": "yes"}


def test_what_it_says_of_changing_commands() -> None:
    """Every command of the terminal is named as one that reads or one that changes, or has
    nothing to do with looking into threads."""
    changing = re.search(r"only read\. (.*?) change the\s+database", TEXT, re.DOTALL)
    assert changing is not None
    named = {*re.findall(r"`([a-z-]+)`", changing.group(1)), *FIELDS}
    apart = {"export", "demo", "ddl", "completion", "mcp", "ui"}
    assert {each.name for each in COMMANDS} - named - apart == set()


def test_its_head() -> None:
    """A name, and a description that says when to use it."""
    head = re.match(r"---\nname: (.+)\ndescription: (.+)\n---\n", TEXT)
    assert head is not None
    assert head.group(1) == "langgraph-wyrd"
    assert 100 < len(head.group(2)) <= 1024
