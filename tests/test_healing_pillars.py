"""The ledger heals from the checkpoints, and stops no run."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_wyrd import errors
from tests.conftest import Backend
from tests.damage import Agent, Rows, at, talk

pytestmark = pytest.mark.inside


@pytest.fixture
def made(durable: Backend) -> Backend:
    """A thread that waits for a person."""
    saver = durable.open()
    talk(saver, "t", 2, last="approve this")
    saver.close()
    return durable


def state(made: Backend) -> Any:
    saver = made.open()
    found = saver.thread("t").working_state()
    saver.close()
    return found


def events(made: Backend) -> list[dict[str, Any]]:
    return Rows(made.url, "wyrd_events").all("ORDER BY checkpoint, task, n")


def spoil(made: Backend, row: dict[str, Any], **columns: Any) -> None:
    sets = ", ".join(f"{name} = ?" for name in columns)
    count = Rows(made.url, "wyrd_events").run(
        f"UPDATE {{}} SET {sets} WHERE checkpoint = ? AND task = ? AND n = ?",
        *columns.values(), row["checkpoint"], row["task"], row["n"],
    )  # fmt: skip
    assert count == 1


def kinds(saver: Any) -> set[str]:
    return {heal.kind for heal in saver.thread("t").heals()}


def without_heals(found: Any) -> Any:
    loops = tuple(loop for loop in found.loops if loop.source.rule != "healed")
    return found.to_dict() | {"loops": [loop.id for loop in loops]}


@pytest.mark.parametrize("column", ["body", "source", "op", "pillar", "item", "sum"])
def test_an_event_that_is_nonsense_is_read_anew(made: Backend, column: str) -> None:
    """Whatever of it is wrong: the checkpoint tells again what it said."""
    sound = state(made)
    for row in (events(made)[0], events(made)[-1]):
        value: Any = 12345 if column == "sum" else '{"nothing": "of this was written"}'
        spoil(made, row, **{column: value})
    saver = made.open()
    found = saver.thread("t").working_state()
    assert without_heals(found) == without_heals(sound)
    assert kinds(saver) == {"exact"}
    assert [loop.kind for loop in found.open_loops].count("error") == 2


async def test_async_reads_heal_too(made: Backend) -> None:
    """The same with the a-name."""
    sound = state(made)
    spoil(made, events(made)[0], body="{}")
    saver = made.open()
    assert without_heals(await saver.thread("t").aworking_state()) == without_heals(sound)


def test_a_flipped_bit_of_what_a_person_said_is_put_right(made: Backend) -> None:
    """No checkpoint knows it: the checksum alone has it back."""
    row = {**events(made)[-1], "n": 7}
    from langgraph_wyrd.plans.ledger import event_sum
    from langgraph_wyrd.store.thread_sums import over

    row |= {"task": "edit:1", "body": '{"kind":"note","description":"call Ann"}', "item": "l-1"}
    row |= {"pillar": "loop", "op": "open", "source": '{"rule":"edit"}'}
    names = ("ns", "checkpoint", "task", "n", "pillar", "op", "item", "body", "source")
    row["sum"] = event_sum(*(row[name] for name in names)) ^ over(row["thread"])
    columns = ", ".join(row)
    Rows(made.url, "wyrd_events").run(
        f"INSERT INTO {{}} ({columns}) VALUES ({', '.join('?' * len(row))})", *row.values()
    )
    assert "call Ann" in [loop.description for loop in state(made).loops]
    spoil(made, row, body=row["body"].replace("Ann", "Ano"))
    saver = made.open()
    assert "call Ann" in [loop.description for loop in saver.thread("t").working_state().loops]
    assert kinds(saver) == {"exact"}
    spoil(made, row, body=row["body"].replace("call Ann", "xxxx xxx"))
    saver = made.open()
    found = saver.thread("t").working_state()
    assert "xxxx xxx" not in [loop.description for loop in found.loops]
    assert kinds(saver) == {"exact", "left_out"}


def test_a_wrong_parent_does_not_cut_the_path(made: Backend) -> None:
    """Where the path would end, its row is looked at: what led there is found again."""
    sound = state(made)
    rows = Rows(made.url, "wyrd_checkpoints")
    ids = sorted(row["id"] for row in rows.all())
    for wrong in (None, ids[5][:-1] + "z"):
        rows.run("UPDATE {} SET parent = ? WHERE id = ?", wrong, ids[6])
        saver = made.open()
        assert without_heals(saver.thread("t").working_state()) == without_heals(sound)
        saver.close()


def test_a_damaged_ledger_stops_no_run(made: Backend) -> None:
    """A write that starts cold passes it over, and goes on."""
    for row in events(made):
        spoil(made, row, body='{"no": "thing"}')
    saver = made.open()
    graph = Agent().build(saver)
    graph.invoke({"messages": [HumanMessage("go on then", id="after")]}, at("t"))
    graph.update_state(at("t"), {"log": ["noted"]})
    saver.reweave("t")
    saver.close()
    strict = made.open(on_damage="raise")
    assert strict.thread("t").working_state().status in ("due", "done", "idle")


def test_on_damage_raise(made: Backend) -> None:
    """Whoever wants none of it is told."""
    spoil(made, events(made)[0], body="{}")
    with pytest.raises(errors.CheckpointDamaged, match=r"thread 't.*ledger"):
        made.open(on_damage="raise").thread("t").working_state()
