"""The code of docs/agents.md runs as it stands, with a scripted model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_middleware import Strict, asks, plan, search
from test_model_extractor import Reader

from langgraph_wyrd import WyrdSaver

PAGE = Path(__file__).parent.parent / "docs" / "agents.md"


def test_its_python_blocks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every Python block, one after the other, in one namespace."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
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
