"""What deletes or redacts something of a thread keeps the snapshots that alone hold its head, and
does not make damaged rows look whole."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.types import Interrupt

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.storage.tables import CHECKPOINTS
from tests.conftest import Backend
from tests.damage import Rows
from tests.handmade import config, put
from tests.outside import raw, tables
from tests.raw_rows import stored
from tests.test_reextract_damage import spoil

Call = Callable[..., Any]


def talk(saver: WyrdSaver) -> list[str]:
    """A thread with a side branch whose steps are large enough for snapshots; its ids."""
    noise, said, ids, parent = random.Random(1), [], [], None
    for step in range(30):
        said.append(HumanMessage(f"Please book table {step}.", id=f"m{step}"))
        values = {"messages": [*said], "report": noise.randbytes(3000)}
        metadata = {"run_id": f"run-{step // 5}", "user_id": "ann"}
        parent = put(saver, "t", values, parent=parent, metadata=metadata)
        ids.append(parent["configurable"]["checkpoint_id"])
        if step == 3:
            put(saver, "t", values, parent=parent, metadata={"run_id": "side", "user_id": "ann"})
    return ids


async def late(saver: WyrdSaver, ids: list[str], call: Call) -> None:
    asked = [("__interrupt__", (Interrupt(value="May I?", id="i"),))]
    await call(saver, "put_writes", config("t", ids[-3]), asked, "task-1")


async def runs(saver: WyrdSaver, ids: list[str], call: Call) -> None:
    await call(saver, "delete_for_runs", ["run-0"])


async def side(saver: WyrdSaver, ids: list[str], call: Call) -> None:
    await call(saver, "delete_for_runs", ["side"])


async def redacted(saver: WyrdSaver, ids: list[str], call: Call) -> None:
    await call(saver, "erase_user", "ann", redact=True, vacuum=False)


@pytest.mark.parametrize("do", [late, runs, side, redacted])
async def test_the_head_outlives_it(durable: Backend, call: Call, do: Any) -> None:
    """Where older rows are damaged beyond repair the head loads as before, and is not another."""
    saver = durable.open()
    ids = talk(saver)
    spoil(durable.url, *ids[10:13])
    before = saver.get_tuple(config("t"))
    loops = len(saver.thread("t").working_state().loops)
    await do(saver, ids, call)
    again = durable.open()
    found = again.get_tuple(config("t"))
    assert before is not None
    assert found is not None
    assert found.checkpoint == before.checkpoint
    assert len(again.thread("t").working_state().loops) == loops
    wrong = {each.table for each in again.verify().findings}
    assert wrong == {"wyrd_checkpoints"}
    with pytest.raises(CheckpointDamaged):
        again.get_tuple(config("t", ids[12]))


@pytest.mark.parametrize("count", [1, 3])
async def test_what_is_redacted_stays_known_as_damaged(
    durable: Backend, call: Call, count: int
) -> None:
    """One damaged row is restored first. Of more that can't be, no text is left, and `verify` and
    loads go on saying that they are damaged."""
    saver = durable.open()
    ids = talk(saver)
    spoil(durable.url, *ids[10 : 10 + count])
    await redacted(saver, ids, call)
    again = durable.open()
    assert len(again.verify().damages) == (0 if count == 1 else count)
    if count == 1:
        found = again.get_tuple(config("t", ids[10]))
        assert found is not None
        assert len(found.checkpoint["channel_values"]["messages"]) == 11
    assert not [
        row for row in stored(durable.url, CHECKPOINTS) if b"book table" in (row.events or b"")
    ]
    with raw(durable.url) as connection:
        for name in tables(connection):
            if not name.endswith(("wyrd_checkpoints", "wyrd_snapshots", "wyrd_parity")):
                found = connection.execute(f"SELECT * FROM {name}").fetchall()
                assert "book table" not in str(found), name


async def test_what_is_left_would_build_on_a_row_that_is_missing(
    durable: Backend, call: Call
) -> None:
    """A deletion that can't be done says which checkpoint is missing, and changes nothing."""
    saver = durable.open()
    ids = talk(saver)
    checkpoints = Rows(durable.url, "wyrd_checkpoints")
    for id in ids[2:5]:
        checkpoints.run("DELETE FROM {} WHERE id = ?", id)
    again = durable.open()
    before = again.get_tuple(config("t"))
    with pytest.raises(CheckpointDamaged, match=ids[4]):
        await call(again, "delete_for_runs", ["run-1"])
    assert again.get_tuple(config("t")) == before
