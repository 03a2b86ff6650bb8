"""Write sets that rest on what has changed meanwhile: none of a merged transaction is stored."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.store.statements import WriteSet
from tests.conftest import Backend
from tests.outside import raw
from tests.rows import put

pytestmark = pytest.mark.inside


def move(number: int, tick: int) -> WriteSet:
    """A thread one tick further, with a row by which it is seen whether this was stored."""
    nothing = (None,) * 7
    row = (number, 900, 0, 0, 0, 0, 1, b"x", 0, 0)
    advance = [(900, now(), "", None, *nothing, 0, number, tick)]
    return WriteSet(advance=advance, rows={"put_splice": [row]})


def add(number: int) -> WriteSet:
    row = (number, "", "c", "task", number, "channel", "", "w", b"x", 0)
    return WriteSet(alive=[(number, 0)], rows={"put_write": [row]})


def test_stale_sets_are_named_and_nothing_is_stored(durable: Backend) -> None:
    """Which ones are stale is told, by tick and by thread; without them the others are stored."""
    saver = durable.open()
    for thread in "abc":
        put(saver, thread, {"n": 1})
    saver.delete_thread("c")
    with raw(durable.url) as connection:
        found = connection.execute("SELECT thread_id, id, tick FROM wyrd_threads").fetchall()
    ticks = {thread: (number, tick) for thread, number, tick in found}
    (a, at_a), (b, at_b), (c, _) = (ticks[thread] for thread in "abc")

    def merge(*sets: WriteSet) -> Any:
        return saver._core.run(lambda core: core._drive(lambda driver: driver.merge(list(sets))))

    def stored() -> tuple[Any, ...]:
        with raw(durable.url) as connection:
            rows = connection.execute("SELECT id, tick FROM wyrd_threads ORDER BY id").fetchall()
            splices = connection.execute("SELECT count(*) FROM wyrd_splices WHERE strand = 900")
            writes = connection.execute("SELECT count(*) FROM wyrd_writes")
            return [tuple(row) for row in rows], splices.fetchone()[0], writes.fetchone()[0]

    before = stored()
    assert merge(move(a, at_a - 1), move(b, at_b), add(a)) == {0}
    assert stored() == before
    assert merge(add(b), add(c), move(a, at_a)) == {1}
    assert stored() == before
    assert merge(move(a, at_a + 1), add(c), move(b, at_b), add(a)) == {0, 1}
    assert stored() == before
    assert merge(move(a, at_a), move(b, at_b), add(a), add(b)) == set()
    ticks_now, splices, writes = stored()
    assert (splices, writes) == (2, 2)
    assert dict(ticks_now)[a] == at_a + 1
    assert dict(ticks_now)[b] == at_b + 1
    assert merge(move(a, at_a)) == {0}, "it has moved"
    assert saver.get_tuple({"configurable": {"thread_id": "a"}}) is not None
