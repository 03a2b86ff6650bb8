"""The pages under docs/ run as they stand."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from langgraph_wyrd import WyrdSaver

DOCS = Path(__file__).parent.parent / "docs"
# These need more than a namespace: test_agents_page, test_pages and test_thread_past run them.
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
