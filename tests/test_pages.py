"""The pages on notebooks and the terminal: their code runs, their commands print what they say."""

from __future__ import annotations

import ast
import inspect
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from langgraph_wyrd.cli import parser
from tests.outside import python

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
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
    assert len(found) >= 6
    for block in found:
        code = compile(block, "notebook.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
        ran = eval(code, held)
        if inspect.isawaitable(ran):
            await ran
        last = ast.parse(block).body[-1]
        if isinstance(last, ast.Expr) and isinstance(last.value, ast.Name):
            assert held[last.value.id]._repr_html_().startswith('<div class="wyrd">')
    assert (tmp_path / "t1.svg").read_text().startswith("<svg")


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
        ["bash", "-c", "\n".join(script)], env=env, capture_output=True, text=True, timeout=240
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
