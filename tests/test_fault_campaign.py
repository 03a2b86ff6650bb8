"""A sample of the fault campaign, and the documentation's own code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.campaigns import faults

DOCS = Path(__file__).parent.parent / "docs" / "healing.md"


def test_sixty_faults_in_sqlite() -> None:
    """Nothing silently wrong, no load that raises, every thread goes on."""
    with faults.sqlite_copies() as fresh:
        counts, wrong = faults.campaign(fresh, 60, 5001)
    assert not wrong, "\n".join(wrong)
    assert sum(counts.values()) == 60
    assert {"exact", "found by verify"} <= {outcome for _, outcome in counts}


def test_sixty_faults_in_postgres(postgres_server: str) -> None:
    """The same on the other database."""
    with faults.postgres_copies(postgres_server) as fresh:
        counts, wrong = faults.campaign(fresh, 60, 7001)
    assert not wrong, "\n".join(wrong)
    assert sum(counts.values()) == 60


def test_the_pages_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block of docs/healing.md runs, one after the other, in one namespace."""
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert len(blocks) >= 3
    monkeypatch.chdir(tmp_path)
    held: dict[str, object] = {"__name__": "healing"}
    for block in blocks:
        exec(compile(block, "healing.md", "exec"), held)
