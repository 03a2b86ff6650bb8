"""`tree()` of a thread whose rows are damaged: it shows what was written, or says what is lost."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.plans import past
from tests.conftest import Backend
from tests.damage import Rows, talk

pytestmark = pytest.mark.inside


@pytest.fixture
def made(durable: Backend, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """A thread of two turns, which is read in pages of three checkpoints."""
    monkeypatch.setattr(past, "_PAGE", 3)
    with durable.open() as saver:
        talk(saver, "t", 2)
    return durable


def spoil(made: Backend, id: str, /, **columns: Any) -> None:
    sets = ", ".join(f"{name} = ?" for name in columns)
    rows = Rows(made.url, "wyrd_checkpoints")
    assert rows.run(f"UPDATE {{}} SET {sets} WHERE id = ?", *columns.values(), id) == 1


def kinds(saver: Any) -> list[str]:
    return [heal.kind for heal in saver.thread("t").heals()]


COLUMNS: dict[str, Any] = {
    "step": lambda was: 77,
    "source": lambda was: "else",
    "run_id": lambda was: "else",
    "parent": lambda was: "9" + was[1:],
    "ts": lambda was: was.replace("2", "3", 1),
    "id": lambda was: "9" + was[1:],  # one bit, and it sorts in front of all
}


@pytest.mark.parametrize("column", COLUMNS)
async def test_what_is_wrong_is_put_right(made: Backend, column: str, call: Any) -> None:
    """No column is shown that is not what was written; that it was wrong is told."""
    saver = made.open()
    was = saver.thread("t").tree()
    assert (len(was.entries), was.complete) == (12, True)
    id = was.newest[3]
    (row,) = Rows(made.url, "wyrd_checkpoints").all("WHERE id = ?", id)
    spoil(made, id, **{column: COLUMNS[column](row[column])})
    saver = made.open()
    assert await call(saver.thread("t"), "tree") == was
    assert "exact" in kinds(saver)
    with pytest.raises(CheckpointDamaged, match="'t'"):
        await call(made.open(on_damage="raise").thread("t"), "tree")


async def test_a_row_is_lost(made: Backend, call: Any) -> None:
    """It is left out and told; what followed is there, with a root of its own."""
    saver = made.open()
    was = saver.thread("t").tree()
    gone = was.newest[3]
    spoil(made, gone, metadata="{}", parent="nonsense")
    saver = made.open()
    found = await call(saver.thread("t"), "tree")
    assert {*found.entries} == {*was.entries} - {gone}
    assert found.roots == (was.newest[0], was.newest[4])
    assert (found.head, found.complete) == (was.head, True)
    assert "left_out" in kinds(saver)


@pytest.mark.parametrize(("limit", "complete"), [(1, False), (5, False), (11, False), (12, True)])
def test_so_many(made: Backend, limit: int, complete: bool) -> None:
    """At most as many as asked for, over pages, and whether there are more."""
    saver = made.open()
    was, found = saver.thread("t").tree(), saver.thread("t").tree(limit)
    assert [*found.entries] == [*was.entries][:limit]
    assert found.complete == complete
