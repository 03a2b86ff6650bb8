"""`verify` finds nothing in what random programs leave behind, forks and subgraphs included."""

from __future__ import annotations

import pytest
from conftest import Backend
from test_pillar_tables import played

from tests.damage import Rows, talk
from tests.story import Teller


@pytest.mark.parametrize("seed", [3004, 3005, 3019])
def test_a_sound_thread(durable: Backend, seed: int) -> None:
    """After every act; a row of the tables that was written once more is no damage."""
    saver = durable.open()

    def look(teller: Teller, turn: int) -> None:
        assert saver.verify(pages=False).ok, f"turn {turn}"

    played(seed, [saver], asynchronous=seed % 2 == 0, between=look)


@pytest.mark.parametrize("at", ["", "9", "the first"])
def test_what_a_turn_back_would_miss(durable: Backend, at: str) -> None:
    """A row that says an older checkpoint than changed it, or none that is there, is damage."""
    saver = durable.open()
    talk(saver, "t", 1)
    was = saver.thread("t").tree()
    rows = Rows(durable.url, "wyrd_open_loops")
    (row, *_) = sorted(rows.all(), key=lambda row: row["changed_in"])[::-1]
    wrong = was.newest[0] if at == "the first" else at
    assert rows.run("UPDATE {} SET changed_in = ? WHERE id = ?", wrong, row["id"]) == 1
    (finding,) = saver.verify().damages
    assert (finding.table, finding.place) == ("wyrd_open_loops", row["id"])
    saver.verify(repair=True)
    assert saver.verify().ok
    assert row in rows.all()
