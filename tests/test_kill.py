"""A small sample of `python -m tests.campaigns.kill`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns import kill

pytestmark = pytest.mark.timeout(150, method="thread")


def test_a_killed_process_loses_nothing_and_every_run_resumes(durable: Any, tmp_path: Path) -> None:
    """Five kills in a row on one database: acknowledged writes are kept, results are right."""
    seen = kill.campaign(durable.url, tmp_path / "journal", 5, random.Random(3))
    assert seen["kills"] == 5
    assert seen["checkpoints"] > 100
    assert seen["writes"] > 200
