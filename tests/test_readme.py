"""The README's code runs as it stands, and prints what it says."""

import contextlib
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_wyrd.cli import main as cli
from tests.chromium import BINARY, Chromium
from tests.test_pages import steady

README = Path(__file__).parent.parent / "README.md"
ITEM = re.compile(r"\[[a-z]-[0-9a-f]{12}\]")


def blocks(language: str) -> list[str]:
    fenced = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return [text for name, text in fenced.findall(README.read_text("utf-8")) if name == language]


def test_its_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block runs, one after the other, in one namespace; then its SQL, on what they
    have left."""
    found = blocks("python")
    assert len(found) >= 3
    monkeypatch.chdir(tmp_path)
    held: dict[str, object] = {"__name__": "readme"}
    for block in found:
        exec(compile(block, "README.md", "exec"), held)
    held["saver"].close()  # type: ignore[attr-defined]
    (queries,) = blocks("sql")
    with contextlib.closing(sqlite3.connect("agents.db")) as database:
        interrupts, todos = (
            database.execute(each).fetchall() for each in queries.split(";") if each.strip()
        )
        described = re.findall(r"^\| `(wyrd_\w+)` \| .* \| (.*) \|$", README.read_text(), re.M)
        assert len(described) == 4
        for table, columns in described:
            names = ", ".join(re.findall(r"`(\w+)`", columns))
            database.execute(f"SELECT {names}, thread_id, id, opened_at, confidence FROM {table}")
    assert interrupts == []
    assert todos == [("t1", 1)]


def test_the_demo_says_what_it_says(capfd: pytest.CaptureFixture[str]) -> None:
    """The command of the README prints what stands there; ids and times are others each time."""
    (said,) = [block for block in blocks("") if "Another process" in block]
    assert cli.main(["demo"]) == 0
    out = capfd.readouterr().out
    assert ITEM.sub("[id]", steady(said)) in ITEM.sub("[id]", steady(out))


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    with Chromium(tmp_path / "chromium") as made:
        yield made


@pytest.mark.skipif(
    BINARY is None and not os.environ.get("CI"), reason="no Chromium: apt-get install chromium"
)
def test_from_killed_to_answered(tmp_path: Path, browser: Chromium) -> None:
    """The newcomer's path: the program is killed, its brief says where it stood, it goes on and
    asks, a person answers in the browser, and the next run goes on with the answer."""
    program = next(block for block in blocks("python") if "--die" in block)
    commands = next(block for block in blocks("sh") if "agent.py" in block).splitlines()
    (tmp_path / "agent.py").write_text(program, "utf-8")

    def command(line: str) -> list[str]:
        words = shlex.split(line.removeprefix(".venv/bin/"), comments=True)
        if words[0] == "langgraph-wyrd":
            words[0:1] = ["python", "-m", "langgraph_wyrd"]
        return [sys.executable, *words[1:]]

    def run(line: str) -> str:
        ended = subprocess.run(
            command(line), cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        return ended.stdout + ended.stderr

    _, die, brief, again, inspect, last = commands
    assert "the process is killed" in run(die)
    said = run(brief)
    assert "Send Ada the invoice for March" in said
    assert "next: mail" in said
    assert "euros: 1840" in said
    said = run(again)
    assert "adding up" not in said
    assert "waits for a person: Mail Ada the invoice over 1840 euros?" in said
    shown = [word for word in command(inspect) if word != "--open"]
    with subprocess.Popen(
        [*shown, "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as served:
        try:
            assert served.stdout is not None
            tab = browser.tab()
            tab.go(served.stdout.readline().strip())
            tab.says("Mail Ada the invoice over 1840 euros?")
            tab.click("li textarea")
            tab.type("yes")
            tab.key("Enter", control=True)
            tab.says("Nothing waits for you.")
            tab.close()
        finally:
            served.send_signal(signal.SIGINT)
    assert "You said 'yes': it is on its way." in run(last)
