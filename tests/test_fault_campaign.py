"""A sample of the fault campaign."""

from __future__ import annotations

import pytest

from tests.campaigns import faults, mutants

pytestmark = [pytest.mark.inside, pytest.mark.timeout(900)]


def test_some_faults_in_sqlite() -> None:
    """Nothing silently wrong, no load that raises, every thread goes on."""
    with faults.sqlite_copies() as fresh:
        counts, wrong = faults.campaign(fresh, 12, 5001)
    assert not wrong, "\n".join(wrong)
    assert sum(counts.values()) == 12
    assert {"exact", "found by verify"} <= {outcome for _, _, outcome in counts}


def test_some_faults_in_postgres(postgres_server: str) -> None:
    """The same on the other database."""
    with faults.postgres_copies(postgres_server) as fresh:
        counts, wrong = faults.campaign(fresh, 12, 7001)
    assert not wrong, "\n".join(wrong)
    assert sum(counts.values()) == 12


def test_what_the_mutants_change_is_there() -> None:
    """The campaign that takes out every healing branch finds each of them."""
    there = {each.name: each.old in mutants.source(each).read_text() for each in mutants.MUTANTS}
    assert [name for name, found in there.items() if not found] == []
