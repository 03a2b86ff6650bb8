"""The README's code runs as it stands, and prints what it says."""

import contextlib
import re
import sqlite3
from pathlib import Path

import pytest

from langgraph_wyrd.cli import main as cli
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
