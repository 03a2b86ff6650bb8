"""The page for those who come from another library: its blocks run, and the code of each row."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from langgraph_wyrd import WyrdSaver

PAGE = Path(__file__).parent.parent / "docs" / "coming-from.md"
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
    text = PAGE.read_text("utf-8")
    module = ModuleType("coming_from")
    monkeypatch.setitem(sys.modules, "coming_from", module)
    held = vars(module)
    try:
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(compile(block, PAGE.name, "exec", dont_inherit=True), held)
        ran = 0
        for theirs, ours in rows(text):
            if (row := code(ours)) is None:
                assert ours.startswith("none, on purpose"), theirs
                continue
            try:
                exec(compile(row, f"{PAGE.name}: {theirs}", "exec", dont_inherit=True), held)
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
    parts = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.M)[1:]
    counts = {part.partition("\n")[0]: len(list(rows(part))) for part in parts}
    assert counts == LIBRARIES
