"""Values of a wrong type in stored rows: an answer, or an error with a name, and runs go on."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langgraph_wyrd import Retention
from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.storage.tables import TABLES
from tests.campaigns.columns import looked, program, strike
from tests.conftest import Backend
from tests.damage import Rows, at, talk

Call = Callable[..., Any]
BYTES = b"\xff\x00"
SAMPLE = [
    ("wyrd_checkpoints", "parent", BYTES), ("wyrd_checkpoints", "ns", BYTES),
    ("wyrd_checkpoints", "ts", BYTES), ("wyrd_checkpoints", "stamp", BYTES),
    ("wyrd_checkpoints", "source", 7), ("wyrd_journal", "seq", BYTES),
    ("wyrd_labels", "checkpoint", BYTES), ("wyrd_search", "thread", BYTES),
    ("wyrd_threads", "updated", "a text"), ("wyrd_threads", "title", BYTES),
    ("wyrd_threads", "thread_id", BYTES), ("wyrd_threads", "ttl", "a text"),
    ("wyrd_threads", "status", BYTES), ("wyrd_todos", "content", BYTES),
]  # fmt: skip


def _beside(made: Backend, case: Any, tmp_path: Path, *values: Any) -> None:
    table, column, *_ = case
    dice = random.Random(column)
    with made.open() as saver:
        ids = program(saver)
    struck = (strike(made.url, TABLES[table], column, value, dice) for value in values)
    assert any(struck)
    with made.open() as saver:
        assert looked(saver, ids, tmp_path, dice) == []


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: ".".join(case[:2]))
def test_every_verb_beside_a_wrong_type(sqlite: Backend, tmp_path: Path, case: Any) -> None:
    """Each verb answers, or raises an error of ours: what the campaign has found."""
    _beside(sqlite, case, tmp_path, case[2])


@pytest.mark.parametrize("case", SAMPLE[1::4], ids=lambda case: ".".join(case[:2]))
def test_every_verb_beside_a_wrong_value(postgres: Backend, tmp_path: Path, case: Any) -> None:
    """The same on Postgres, which takes other values of the same type only."""
    _beside(postgres, case, tmp_path, "a text", 7, b"\0")


WORDS = {"sqlite": BYTES, "postgres": "a text"}


async def test_history_beside_damaged_parents(durable: Backend, call: Call) -> None:
    """Each checkpoint is listed, and said to be damaged where it is."""
    with durable.open() as saver:
        ids = program(saver)
    Rows(durable.url, "wyrd_checkpoints").run(
        "UPDATE {} SET parent = ?, ts = ? WHERE ns = ''", *[WORDS[durable.name]] * 2
    )
    Rows(durable.url, "wyrd_parity").run("DELETE FROM {}")
    saver = durable.open()
    found = await call(saver.thread("t"), "history")
    assert [entry.checkpoint_id for entry in found] == ids
    assert all("damaged" in str(entry) or "not there" in str(entry) for entry in found)
    assert {entry.ts for entry in found} == {None if durable.name == "sqlite" else "a text"}
    assert len((await call(saver.thread("t"), "tree")).entries) == len(ids)


@pytest.mark.parametrize("column", ["journal.body", "checkpoints.stamp", "checkpoints.events"])
async def test_a_thread_goes_on_where_a_row_is_lost(
    durable: Backend, column: str, call: Call
) -> None:
    """A declaration, or a checkpoint, that nothing restores keeps no run from going on, and nobody
    from looking; a heal says what is lost, and so does `verify`."""
    with durable.open() as saver:
        program(saver)
    table, name = column.split(".")
    value = 7 if name == "stamp" else b"\0"
    rows, one = Rows(durable.url, f"wyrd_{table}"), "seq = (SELECT max(seq) FROM {})"
    assert rows.run(f"UPDATE {{}} SET {name} = ? WHERE {one}", value)
    Rows(durable.url, "wyrd_parity").run("DELETE FROM {}")
    saver = durable.open()
    await call(saver, "resume", "t")
    talk(saver, "t", 1, last="go on")
    assert saver.get_tuple(at("t")).checkpoint["channel_values"]["report"] == "r" * 200
    assert await call(saver.thread("t"), "add_todo", "more")
    assert {heal.kind for heal in await call(saver.thread("t"), "heals")} & {"left_out", "ancestor"}
    assert (await call(saver, "verify", "t")).ok == (column == "checkpoints.events")


@pytest.mark.parametrize("column", ["buried", "version"])
def test_a_thread_whose_own_row_is_damaged(sqlite: Backend, tmp_path: Path, column: str) -> None:
    """With on_damage="raise" every verb that needs the row says so; else it is made again."""
    with sqlite.open() as saver:
        ids = program(saver)
    Rows(sqlite.url, "wyrd_threads").run(f"UPDATE {{}} SET {column} = ?", BYTES)
    strict = sqlite.open(on_damage="raise")
    assert looked(strict, ids, tmp_path, random.Random(column)) == []
    strict.close()


async def test_a_row_that_is_in_the_way_is_named(sqlite: Backend, call: Call) -> None:
    """With what it was that could not be done, as its cause."""
    with sqlite.open() as saver:
        program(saver)
    change = "UPDATE {} SET ns = ? WHERE id = (SELECT min(id) FROM {} WHERE ns = '')"
    assert Rows(sqlite.url, "wyrd_checkpoints").run(change, BYTES)
    Rows(sqlite.url, "wyrd_parity").run("DELETE FROM {}")
    for options in ({}, {"on_damage": "raise"}):
        with pytest.raises(CheckpointDamaged, match=r"thread '.' is damaged \(wyrd_checkpoints b'"):
            await call(sqlite.open(**options), "prune", ["u", "t"])


@pytest.mark.parametrize(("column", "value"), [("sum", "a text"), ("id", BYTES)])
async def test_a_load_that_is_to_raise(
    sqlite: Backend, call: Call, column: str, value: Any
) -> None:
    """With on_damage="raise" a load says which row it is, whatever stands in it."""
    with sqlite.open() as saver:
        program(saver)
    change = f"UPDATE {{}} SET {column} = ? WHERE ns = '' AND id = (SELECT max(id) FROM {{}})"
    assert Rows(sqlite.url, "wyrd_checkpoints").run(change, value)
    Rows(sqlite.url, "wyrd_parity").run("DELETE FROM {}")
    saver, raised = sqlite.open(on_damage="raise"), r"thread 't' is damaged \(wyrd_checkpoints "
    with pytest.raises(CheckpointDamaged, match=raised):
        await call(saver, "get_tuple", at("t"))
    with pytest.raises(CheckpointDamaged):
        await call(saver, "list", at("t"))


async def test_a_damaged_label_keeps_what_it_may_stand_at(durable: Backend, call: Call) -> None:
    """Nothing is deleted of a thread while nobody knows which checkpoint a label keeps."""
    with durable.open() as saver:
        ids = program(saver)
    assert Rows(durable.url, "wyrd_labels").run("UPDATE {} SET checkpoint = 'a text'")
    saver = durable.open()
    with pytest.raises(CheckpointDamaged, match="label 'here' is damaged"):
        await call(saver, "prune", ["t"])
    assert (await call(saver, "sweep", Retention(keep_last=1), dry_run=False)).left == ("u", "t")
    assert [entry.checkpoint_id for entry in saver.thread("t").history()] == ids
    assert await call(saver.thread("t"), "unlabel", "here")
    await call(saver, "prune", ["t"])
    assert len(await call(saver, "list", at("t"))) == 1
    assert (await call(saver, "sweep", Retention(keep_last=1, keep_labels=False))).left == ()
