"""A head that nothing brings back: verbs go on from its nearest intact ancestor, and say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import Backend

from langgraph_wyrd.errors import CheckpointDamaged
from tests.damage import Rows, at, garbled, talk

Call = Callable[..., Any]


def ruined(url: str, *ids: str) -> None:
    """Nothing is left of these checkpoints, nor of what could bring them back."""
    rows = Rows(url, "wyrd_checkpoints")
    for id in ids:
        (row,) = rows.all("WHERE id = ?", id)
        rows.run("UPDATE wyrd_checkpoints SET delta = ? WHERE id = ?", garbled(row["delta"]), id)
    rows.run("DELETE FROM wyrd_parity")
    rows.run("DELETE FROM wyrd_snapshots")


async def test_verbs_take_the_nearest_ancestor(durable: Backend, call: Call) -> None:
    """`fork`, `label` and `diff` of the head do what `get_tuple` does; a point that is named and
    can't be restored is refused by its id."""
    with durable.open() as saver:
        talk(saver, "t", 3)
        head, before, *_ = [entry.checkpoint_id for entry in saver.thread("t").history()]
    ruined(durable.url, head)
    saver = durable.open()
    thread = saver.thread("t")
    found = await call(saver, "get_tuple", at("t"))
    assert found.checkpoint["id"] == before
    for name, how in (("plain", None), ("made", lambda state: state)):
        fork = await call(thread, "fork", name, transform=how)
        there = await call(saver, "get_tuple", at(name))
        assert there.checkpoint["channel_values"] == found.checkpoint["channel_values"]
        assert [heal.kind for heal in await call(fork, "heals")] == ["ancestor"]
    assert (await call(thread, "label", "here")).checkpoint_id == before
    assert (await call(thread, "diff", before)).empty
    assert (await call(thread, "diff", None, before)).empty
    for verb, *wanted in (("fork", "other", head), ("label", "there", head), ("diff", head)):
        with pytest.raises(CheckpointDamaged, match=head):
            await call(thread, verb, *wanted)


async def test_a_copy_restores_what_is_missing_first(durable: Backend, call: Call) -> None:
    """A fork and a copy of a thread of which a row is missing are whole: the row is brought back
    first. Where nothing brings it back, a fork goes around it, and `verify` tells of the copy."""
    with durable.open() as saver:
        talk(saver, "t", 4)
        ids = [entry.checkpoint_id for entry in saver.thread("t").history()]
        wanted = saver.get_tuple(at("t")).checkpoint["channel_values"]
    rows = Rows(durable.url, "wyrd_checkpoints")
    saver = durable.open()
    for n, make in enumerate(("fork", "copy_thread")):
        rows.run("DELETE FROM wyrd_checkpoints WHERE id = ?", ids[3])
        on, arguments = (saver.thread("t"), ()) if make == "fork" else (saver, ("t",))
        await call(on, make, *arguments, f"new-{n}")
        found = await call(saver, "get_tuple", at(f"new-{n}"))
        assert found.checkpoint["channel_values"] == wanted
        assert (await call(saver, "verify", f"new-{n}")).ok
        await call(saver, "verify", repair=True)
        await call(saver, "delete_thread", f"new-{n}")
    rows.run("DELETE FROM wyrd_checkpoints WHERE id = ?", ids[3])
    rows.run("DELETE FROM wyrd_parity")
    saver = durable.open()
    await call(saver, "copy_thread", "t", "copy")
    assert not (await call(saver, "verify", "copy")).ok
    fork = await call(saver.thread("t"), "fork", "fork")
    there = {entry.checkpoint_id for entry in await call(fork, "history")}
    assert there == set(ids[4:])


async def test_the_brief_of_resume_tells_damage(durable: Backend, call: Call) -> None:
    """The brief begins with what was lost, and says where the graph itself would start empty."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        ids = [entry.checkpoint_id for entry in saver.thread("t").history()]
    ruined(durable.url, ids[0])
    saver = durable.open()
    for verb in ("resume", "latest"):
        found = await call(saver, verb, *(["t"] if verb == "resume" else []))
        assert f"\nDamage: checkpoint {ids[0]}: an earlier checkpoint was taken" in found.brief
    ruined(durable.url, *ids[1:])
    brief = (await call(saver, "resume", "t")).brief
    assert "nothing of the graph's state can be read: it would start empty" in brief
