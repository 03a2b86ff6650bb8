"""The notebooks run, in kernels of their own, and show what they are committed with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def kinds(cell: Any) -> list[str]:
    """What a cell gives: text, a picture, a table."""
    found = []
    for each in cell.get("outputs", []):
        assert each["output_type"] != "error", each
        html = "text/html" in each.get("data", {})
        found.append("html" if html else each["output_type"])
    return found


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom without an error; each cell gives what the committed one gave."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    committed = nbformat.read(notebook, as_version=4)
    run = nbformat.read(notebook, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(run, timeout=60, kernel_name="python3", resources=where).execute()
    for was, now in zip(committed.cells, run.cells, strict=True):
        assert kinds(now) == kinds(was), was["source"]


def test_what_is_committed() -> None:
    """Four, run in order, with outputs, and nothing of the machine they were run on."""
    assert [each.stem for each in NOTEBOOKS] == ["across", "agents", "inspect", "resume"]
    for notebook in NOTEBOOKS:
        held = nbformat.read(notebook, as_version=4)
        code = [cell for cell in held.cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
        assert any("html" in kinds(cell) for cell in code)
        text = notebook.read_text()
        assert "/tmp/" not in text
        assert "/work/" not in text
        assert str(Path.home()) not in text
        assert "<script" not in text
