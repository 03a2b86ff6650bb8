"""The code of docs/heads.md runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "heads.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block of the page runs, one after the other, in one namespace."""
    monkeypatch.chdir(tmp_path)
    held: dict[str, Any] = {"__name__": "page"}
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(found) >= 6
    try:
        for block in found:
            exec(compile(block, PAGE.name, "exec", dont_inherit=True), held)
    finally:
        for name in ("saver", "watched"):
            if name in held:
                held[name].close()
