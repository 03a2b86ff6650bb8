"""The pages under docs/ run as they stand."""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.cli import parser
from tests.chromium import Chromium
from tests.outside import SERVING, python
from tests.scripted_agents import asks, plan
from tests.test_middleware import Strict, search
from tests.test_model_extractor import Reader

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
# These need more than a namespace: tests below run them, and test_past.py.
ELSEWHERE = ("agents", "notebook", "thread")
PAGES = sorted(
    path
    for path in DOCS.glob("*.md")
    if "```python\n" in path.read_text("utf-8") and path.stem not in ELSEWHERE
)


def test_there_are_pages() -> None:
    """The next test runs over something."""
    assert PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_its_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block of a page runs, one after the other, in one namespace."""
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")  # where the serde finds a page's own classes again
    monkeypatch.setitem(sys.modules, "page", module)
    held = vars(module)
    try:
        for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            exec(compile(block, page.name, "exec", dont_inherit=True), held)
    finally:
        for value in held.values():
            if isinstance(value, WyrdSaver):
                value.close()


# Ids and times are others each time.
CHANGING = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-6[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?"), "<time>"),
)


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


async def test_the_cells_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block of the notebook page runs in a loop that runs already, as in a cell."""
    monkeypatch.chdir(tmp_path)
    held: dict[str, Any] = {"__name__": "page"}
    found = blocks("notebook.md", "python")
    assert len(found) >= 5
    for block in found:
        code = compile(block, "notebook.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
        ran = eval(code, held)
        if inspect.isawaitable(ran):
            await ran
        last = ast.parse(block).body[-1]
        if isinstance(last, ast.Expr) and isinstance(last.value, ast.Name):
            assert held[last.value.id]._repr_html_().startswith('<div class="wyrd">')


@pytest.mark.parametrize("page", ["terminal.md", "doctor.md"])
def test_the_commands_print_what_the_page_says(tmp_path: Path, page: str) -> None:
    """Each console block, in one shell of 80 columns."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "langgraph-wyrd"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(python())} -m langgraph_wyrd "$@"\n')
    command.chmod(0o755)
    env = {
        **{k: v for k, v in os.environ.items() if k not in ("WYRD_URL", "FORCE_COLOR")},
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "80",
    }
    found = blocks(page, "console")
    assert found
    script, wanted = ["cd " + str(tmp_path)], []
    for line in "".join(found).splitlines():
        if line.startswith("$ "):
            script += [f"echo {'x' * 20}", line[2:]]
            wanted.append("x" * 20)
        else:
            wanted.append(line)
    ended = subprocess.run(
        ["bash", "-c", "\n".join(script)], env=env, capture_output=True, text=True, timeout=280
    )
    assert steady(ended.stdout) == steady("\n".join(wanted) + "\n"), ended.stderr


def steady(text: str) -> str:
    for pattern, name in CHANGING:
        text = pattern.sub(name, text)
    return text


def test_the_page_names_every_command() -> None:
    """Each command has its line."""
    text = (DOCS / "terminal.md").read_text("utf-8")
    listed = text[text.index("| command | does |") : text.index("A point is a")]
    firsts = re.findall(r"^\| (`.*?) \| ", listed, re.MULTILINE)
    named = {each.split()[0] for first in firsts for each in re.findall(r"`([^`]*)`", first)}
    assert named == {each.name for each in parser.COMMANDS}


AGENTS = Path(__file__).parent.parent / "docs" / "agents.md"


def test_the_page_on_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every Python block, one after the other, in one namespace."""
    blocks = re.findall(r"```python\n(.*?)```", AGENTS.read_text(), re.DOTALL)
    assert len(blocks) >= 8
    monkeypatch.chdir(tmp_path)
    says = asks(("c1", "open_loop", {"description": "ask for the budget", "id": "budget"}))
    opened = {"kind": "note", "description": "a party is planned", "quote": "Plan the party"}
    held: dict[str, object] = {
        "__name__": "agents",
        "model": Strict(rule=plan(says)),
        "search": search,
        "reader": Reader(report={"open": [opened]}),
    }
    for block in blocks:
        exec(compile(block, "agents.md", "exec"), held)
    saver = held["saver"]
    assert isinstance(saver, WyrdSaver)
    saver.close()
    assert capsys.readouterr().out == "a party is planned - Plan the party\n"


COMING_FROM = Path(__file__).parent.parent / "docs" / "coming-from.md"
LIBRARIES = {"WyrdState": 33, "agent-checkpoint": 15, "A store of your own": 23}


def rows(text: str) -> Iterator[tuple[str, str]]:
    """The cells of each row of each table."""
    for line in text.splitlines():
        cells = re.split(r" \| ", line.strip("| "))
        if line.startswith("| ") and len(cells) == 2 and cells[1] != "here":
            yield cells[0], cells[1]


def code(cell: str) -> str | None:
    """What a cell begins with, if that is code."""
    found = re.match(r"`([^`]+)`", cell)
    return found.group(1) if found else None


def test_the_code_of_each_row_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the page, on the thread that its block makes."""
    monkeypatch.chdir(tmp_path)
    text = COMING_FROM.read_text("utf-8")
    module = ModuleType("coming_from")
    monkeypatch.setitem(sys.modules, "coming_from", module)
    held = vars(module)
    try:
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(compile(block, COMING_FROM.name, "exec", dont_inherit=True), held)
        ran = 0
        for theirs, ours in rows(text):
            if (row := code(ours)) is None:
                assert ours.startswith("none, on purpose"), theirs
                continue
            try:
                exec(compile(row, f"{COMING_FROM.name}: {theirs}", "exec", dont_inherit=True), held)
            except Exception as error:
                raise AssertionError(f"{theirs} -> {row}: {error!r}") from error
            ran += 1
        assert ran == sum(LIBRARIES.values()) - 1
    finally:
        for value in held.values():
            if isinstance(value, WyrdSaver):
                value.close()


def test_each_library_has_its_table() -> None:
    """None of them lost a row."""
    parts = re.split(r"^## ", COMING_FROM.read_text("utf-8"), flags=re.M)[1:]
    counts = {part.partition("\n")[0]: len(list(rows(part))) for part in parts}
    assert counts == LIBRARIES


README = Path(__file__).parent.parent / "README.md"


def readme(language: str) -> list[str]:
    fenced = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return [text for name, text in fenced.findall(README.read_text("utf-8")) if name == language]


def test_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block runs, one after the other, in one namespace; then its SQL, on what they
    have left."""
    found = readme("python")
    assert len(found) >= 3
    monkeypatch.chdir(tmp_path)
    held: dict[str, object] = {"__name__": "readme"}
    for block in found:
        exec(compile(block, "README.md", "exec", dont_inherit=True), held)
    held["saver"].close()  # type: ignore[attr-defined]
    (queries,) = readme("sql")
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


def test_from_killed_to_answered(tmp_path: Path, browser: Chromium) -> None:
    """The newcomer's path: the program is killed, its brief says where it stood, it goes on and
    asks, a person answers in the browser, and the next run goes on with the answer."""
    program = next(block for block in readme("python") if "--die" in block)
    commands = next(block for block in readme("sh") if "agent.py" in block).splitlines()
    (tmp_path / "agent.py").write_text(program, "utf-8")

    def command(line: str) -> list[str]:
        words = shlex.split(line.removeprefix(".venv/bin/"), comments=True)
        if words[0] == "langgraph-wyrd":
            words[0:1] = ["python", "-m", "langgraph_wyrd"]
        return python(*words[1:], imported=SERVING)

    def run(line: str) -> str:
        ended = subprocess.run(
            command(line), cwd=tmp_path, capture_output=True, text=True, timeout=280
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


def test_the_demo_goes_on_after_the_kill(tmp_path: Path) -> None:
    """The demo is killed in a tool call, reads that it was, resumes, and does nothing twice."""
    command = python("-m", "langgraph_wyrd", "demo", str(tmp_path / "demo.db"))
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout.count("add_up_hours('March'): ") == 1
    assert "tool call without a recorded result, verify before redoing: mail_in" in ended.stdout
    assert "it is in the outbox, not mailed again" in ended.stdout
    assert "~ todo mail the invoice to Ada: in_progress -> completed" in ended.stdout
    assert "~ status due -> done" in ended.stdout
    (shown,) = re.findall(r"```\n(Another process.*?)\n    …\n```", README.read_text("utf-8"), re.S)
    assert settled(shown) in settled(ended.stdout), "the README says so"


def settled(text: str) -> str:
    """Without ids and times, which are others each time."""
    return re.sub(r"[a-z]-[0-9a-f]{12}|\d{4}-\d\d-\d\d \d\d:\d\d", "…", text)
