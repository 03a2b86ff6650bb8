"""Rows of an encrypted store: what they hide, where they open, and what somebody changed."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import pytest

from langgraph_wyrd import errors
from langgraph_wyrd.storage.encryption import HIDDEN, UNREADABLE, Locked, Sealer
from langgraph_wyrd.storage.rows import SEALED, summed, unsound
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    CONTEXT,
    INTENTIONS,
    KEYS,
    OPEN_LOOPS,
    TABLES,
    THREADS,
    TODOS,
    WRITES,
    Table,
)
from tests.conftest import Backend
from tests.damage import Rows, at, talk
from tests.handmade import checkpoint, config, put
from tests.marked_words import plant, stored_text
from tests.raw_rows import replace, store, stored
from tests.sealed import ENCRYPTED, checkpoint_id, made_up, ring, sealer_of, whole

# ---- rows of every declared table


@pytest.mark.parametrize("table", ENCRYPTED, ids=lambda table: table.name)
def test_a_row_opens_in_its_place_only(table: Table, sealing: dict[str, Any]) -> None:
    """As it was, column by column too; nothing of it is readable; nowhere else, not in another
    column, and not after any column that it is bound to was changed."""
    sealer = sealer_of(sealing)
    row, other = made_up(table, 1), made_up(table, 2)
    sealed = summed(table, row, sealer)
    assert "Zq_cell" not in str(sealed)
    assert unsound(table, sealed) == ()
    assert sealer.open(table, sealed)._replace(**sums(table, row)) == row
    for name in table.encrypted:
        assert sealer.opened(table, sealed, name) == getattr(row, name)
        covered = next((held for held in table.sums.values() if name in held), table.key)
        for bound in set(covered) - set(table.encrypted):
            moved = summed(table, sealed._replace(**{bound: getattr(other, bound)}))
            assert unsound(table, moved) == ()
            with pytest.raises(errors.CheckpointDamaged, match=r"changed|belong"):
                sealer.opened(table, moved, name)
        for foreign in set(table.encrypted) - {name}:
            held = getattr(sealed, foreign)
            if type(held) is type(getattr(sealed, name)):
                swapped = sealed._replace(**{name: held})
                with contextlib.suppress(errors.CheckpointDamaged):
                    assert sealer.opened(table, swapped, name) == getattr(row, name)
        with pytest.raises(errors.CheckpointDamaged, match="plain"):
            sealer.opened(table, row, name)
        empty = sealer.seal(table, row._replace(**{name: None}))
        assert getattr(empty, name) is None
        assert sealer.opened(table, empty, name) is None


def sums(table: Table, row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in table.sums}


@pytest.mark.parametrize("table", ENCRYPTED, ids=lambda table: table.name)
def test_flipped_bits_in_a_row(table: Table, sealing: dict[str, Any]) -> None:
    """No flipped bit opens as another value, or passes for a missing key; where a row has
    checksums, they find it without keys, and turning the bit back gives the row to the byte."""
    sealer = sealer_of(sealing)
    sealed = summed(table, made_up(table, 1), sealer)
    chance = random.Random(3)
    for name in table.encrypted:
        held = getattr(sealed, name)
        data = held if isinstance(held, bytes) else held.encode()
        for bit in chance.sample(range(len(data) * 8), min(len(data) * 8, 60)):
            changed: Any = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            changed = bytes(changed) if isinstance(held, bytes) else changed.decode("latin-1")
            wrong = sealed._replace(**{name: changed})
            if table.sums:
                assert unsound(table, wrong)
            if isinstance(held, bytes):
                with contextlib.suppress(errors.CheckpointDamaged):
                    assert sealer.opened(table, wrong, name) == getattr(made_up(table, 1), name)
                assert flipped_back(table, wrong, name) == sealed
            else:
                shown = getattr(sealer.shown(table, wrong), name)
                # The last digit of base64 has bits that say nothing.
                assert shown in (UNREADABLE, HIDDEN, None, getattr(made_up(table, 1), name))


def flipped_back(table: Table, row: Any, name: str) -> Any:
    """The row whose checksum fits, one bit of a column away: found without any key."""
    data = getattr(row, name)
    for bit in range(len(data) * 8):
        tried = bytearray(data)
        tried[bit // 8] ^= 1 << bit % 8
        made = row._replace(**{name: bytes(tried)})
        if not unsound(table, made):
            return made
    return None


def test_what_listings_show() -> None:
    """ "(sealed)" without the key, "(can't be read)" for a damaged or planted text."""
    sealer = sealer_of(ring("old"))
    row = made_up(OPEN_LOOPS, 1)
    sealed = sealer.seal(OPEN_LOOPS, row)
    assert sealer.shown(OPEN_LOOPS, sealed) == row
    for other in (sealer_of(ring("new")), Sealer(Locked("keys="))):
        shown = other.shown(OPEN_LOOPS, sealed)
        assert (shown.description, shown.context, shown.kind) == (HIDDEN, None, row.kind)
    planted = sealer.shown(OPEN_LOOPS, sealed._replace(description="send money to Eve"))
    assert (planted.description, planted.context) == (UNREADABLE, row.context)
    odd = sealer.shown(OPEN_LOOPS, sealed._replace(description=b"\xff", context=7))
    assert (odd.description, odd.context) == (UNREADABLE, None)


def test_one_value_of_a_row() -> None:
    """What an UPDATE of one column seals is what the row's own sealing opens, and back."""
    sealer = sealer_of(ring("old"))
    sealed = sealer.seal(THREADS, made_up(THREADS, 1))
    title = sealer.seal_value(THREADS, "title", (sealed.key,), "another")
    assert sealer.opened(THREADS, sealed._replace(title=title), "title") == "another"
    assert sealer.opened(THREADS, sealed, "title").startswith("Zq_cell")
    for empty in (None, ""):
        assert sealer.seal_value(THREADS, "title", (1,), empty) == empty
        assert sealer.opened(THREADS, sealed._replace(title=empty), "title") == empty
    with pytest.raises(errors.CheckpointDamaged):
        sealer.opened(THREADS, sealed._replace(key=sealed.key + 1, title=title), "title")
    with pytest.raises(ValueError, match="checksums"):
        sealer.seal_value(CHECKPOINTS, "delta", (1, "", "x"), b"")


def test_rows_of_every_table_in_a_database(durable: Backend, sealing: dict[str, Any]) -> None:
    """Nothing of them is found in the database, and they read back as they were stored."""
    sealer = sealer_of(sealing)
    durable.open(**sealing).setup()
    rows = {table.name: made_up(table, 1) for table in ENCRYPTED}
    if durable.name == "postgres":  # keys are bytes there
        rows = {name: keyed(TABLES[name], row) for name, row in rows.items()}
    for name, row in rows.items():
        store(durable.url, TABLES[name], summed(TABLES[name], row, sealer))
    assert "Zq_" not in stored_text(durable)
    for name, row in rows.items():
        (found,) = stored(durable.url, TABLES[name])
        opened = sealer.open(TABLES[name], found)
        for column in TABLES[name].encrypted:
            assert getattr(opened, column) == getattr(row, column)


def keyed(table: Table, row: Any) -> Any:
    keys = [column.name for column in table.columns if column.kind == "key"]
    return row._replace(**dict.fromkeys(keys, b"sixteen bytes ok"))


def test_names_inside_of_rows(durable: Backend, sealing: dict[str, Any]) -> None:
    """Names of channels and nodes stand in deltas, which are sealed whole. (The public tables have
    a column of their own for them, for the item's source: they are off here.)"""
    made = checkpoint({"Zq_channel": "x"}, id=checkpoint_id(1))
    made["versions_seen"] = {"Zq_node": {"Zq_channel": made["channel_versions"]["Zq_channel"]}}
    with durable.open(pillars=False, **sealing) as saver:
        config = saver.put(at("t"), made, {"step": 1}, made["channel_versions"])
        saver.put_writes(config, [("Zq_channel", "y")], "task")
        assert saver.get_tuple(at("t")).pending_writes == [("task", "Zq_channel", "y")]
    assert "Zq_" not in stored_text(durable)


async def test_the_working_state_is_sealed(durable: Backend, sealing: Any, call: Any) -> None:
    """The public tables and the thread's own texts hold nothing readable, and open again; whoever
    has no keys is shown kinds, statuses and counts."""
    with durable.open(**sealing) as saver:
        await plant(saver, call)
    sealer = sealer_of(sealing)
    texts = []
    for table in (TODOS, OPEN_LOOPS, INTENTIONS, CONTEXT, THREADS):
        rows = stored(durable.url, table)
        assert rows
        for row in rows:
            texts.append(str(sealer.open(table, row)))
            hidden = Sealer(Locked("keys=")).shown(table, row)
            assert "Zq_" not in str(hidden)
    for word in ("request", "todo", "question", "error", "value"):
        assert f"Zq_{word}" in str(texts)


def test_a_plain_saver_seals_nothing(sqlite: Backend) -> None:
    """Not encrypting costs one test for None where a row is made."""
    with sqlite.open() as saver:
        talk(saver, "t", 1)
        assert saver._codec.sealer is None
        assert stored(sqlite.url, KEYS) == []
        assert type(saver._engine.driver.connect(writes=True)).__name__ == "SqliteConnection"


# ---- rows that somebody changed


def spoilt(durable: Backend, table: Table, change: Any) -> None:
    """Change rows, with checksums that fit."""
    for row in stored(durable.url, table):
        made = change(row)
        if made is not None:
            replace(durable.url, table, row, summed(table, made))


@pytest.mark.parametrize("table", [CHECKPOINTS, WRITES], ids=lambda table: table.name)
def test_rows_of_another_thread(durable: Backend, sealing: dict[str, Any], table: Table) -> None:
    """A row of one thread in the place of another's does not open, even with a right checksum."""
    with durable.open(**sealing) as saver:
        for thread, word in (("t", "harmless"), ("other", "stolen")):
            config = put(saver, thread, {"a": [word * 30]}, id=checkpoint_id(1))
            saver.put_writes(config, [("a", word)], "task")
    keys = {row.thread_id: row.key for row in stored(durable.url, THREADS)}
    (foreign,) = [row for row in stored(durable.url, table) if row.thread == keys["other"]]
    seq = {row.thread: row.seq for row in stored(durable.url, table)}

    def moved(row: Any) -> Any:
        if row.thread != keys["t"]:
            return None
        return foreign._replace(thread=keys["t"], seq=seq[keys["t"]])

    spoilt(durable, table, moved)
    with durable.open(**sealing, on_damage="raise") as saver:
        with pytest.raises(errors.CheckpointDamaged, match=r"changed|belong|missing|group"):
            saver.get_tuple(at("t"))
        assert "stolen" in str(saver.get_tuple(at("other")))


def test_plain_rows_are_refused(durable: Backend, sealing: dict[str, Any]) -> None:
    """A row that is plain in an encrypted store was put there by somebody else."""
    with durable.open(**sealing) as saver:
        config = put(saver, "t", {"a": "own"}, id=checkpoint_id(1))
        saver.put_writes(config, [("a", "own")], "task")
    sealer = sealer_of(sealing)
    for table in (CHECKPOINTS, WRITES):
        (row,) = stored(durable.url, table)
        replace(durable.url, table, row, summed(table, sealer.open(table, row)))
        strict = durable.open(**sealing, on_damage="raise")
        with strict as saver, pytest.raises(errors.CheckpointDamaged, match=r"plain|missing|group"):
            saver.get_tuple(at("t"))
        (planted,) = stored(durable.url, table)
        replace(durable.url, table, planted, row)
    with durable.open(**sealing) as saver:
        assert saver.get_tuple(at("t")).pending_writes


def test_a_flipped_bit_in_any_row(durable: Backend, sealing: dict[str, Any]) -> None:
    """Of each row and each sealed column in turn: it is found without keys, other threads read as
    they did, nothing is read that was not written, and no damage passes for a missing key."""
    with durable.open(**sealing) as saver:
        talk(saver, "t", 2, last="please approve")
        talk(saver, "other", 1)
        right, other = {each[0]["configurable"]["checkpoint_id"]: each for each in whole(
            saver, "t")}, whole(saver, "other")  # fmt: skip
    (key,) = [row.key for row in stored(durable.url, THREADS) if row.thread_id == "t"]
    chance = random.Random(5)
    raised = 0
    with durable.open(**sealing, on_damage="raise") as saver:
        for table in (CHECKPOINTS, WRITES):
            rows = [row for row in stored(durable.url, table) if row.thread == key]
            for row in chance.sample(rows, min(len(rows), 4)):
                for name in table.encrypted:
                    held = getattr(row, name)
                    if held is None:
                        continue
                    text = isinstance(held, str)
                    data = bytearray(held.encode() if text else held)
                    data[chance.randrange(len(data))] ^= 1 if text else 1 << chance.randrange(8)
                    changed = data.decode() if text else bytes(data)
                    wrong = row._replace(**{name: changed})
                    assert unsound(table, wrong)
                    replace(durable.url, table, row, wrong)
                    assert whole(saver, "other") == other
                    for id, item in right.items():
                        try:
                            (got,) = whole_of(saver, id)
                        except errors.CheckpointDamaged:
                            raised += 1
                        else:
                            assert got == item
                    replace(durable.url, table, wrong, row)
        assert raised
        assert {each[0]["configurable"]["checkpoint_id"]: each for each in whole(
            saver, "t")} == right  # fmt: skip


def test_a_flipped_bit_costs_nothing(durable: Backend, sealing: dict[str, Any]) -> None:
    """Of each sealed column of each row in turn: every checkpoint reads as it did, and the row is
    stored again to the byte."""
    with durable.open(**sealing) as saver:
        talk(saver, "t", 2, last="please approve")
        right = {each[0]["configurable"]["checkpoint_id"]: each for each in whole(saver, "t")}
    chance = random.Random(7)
    tried = 0
    with durable.open(**sealing) as saver:
        for table in (CHECKPOINTS, WRITES):
            rows = stored(durable.url, table)
            for row in chance.sample(rows, min(len(rows), 3)):
                for name in table.encrypted:
                    held = getattr(row, name)
                    if held is None:
                        continue
                    data = bytearray(held.encode() if isinstance(held, str) else held)
                    data[chance.randrange(len(data))] ^= 1
                    changed = data.decode() if isinstance(held, str) else bytes(data)
                    replace(durable.url, table, row, row._replace(**{name: changed}))
                    tried += 1
                    for id, item in right.items():
                        assert [*whole_of(saver, id)] == [item]
                    assert row in stored(durable.url, table)
        assert tried > 7
        assert saver.verify().ok


def whole_of(saver: Any, id: str) -> Iterator[Any]:
    item = saver.get_tuple(at("t", id))
    yield item.config, item.checkpoint, item.metadata, item.pending_writes, item.parent_config


def test_rows_are_verified_without_keys(durable: Backend, sealing: dict[str, Any]) -> None:
    """Every checksum covers the row as it is stored; what is damaged is found, and restored to the
    byte, by a saver that can read none of it."""
    with durable.open(**sealing) as saver:
        talk(saver, "t", 3)
        before = whole(saver, "t")
    checked = 0
    for table in TABLES.values():
        for row in stored(durable.url, table):
            assert unsound(table, row) == ()
            checked += bool(table.sums)
    assert checked > 20
    row = stored(durable.url, CHECKPOINTS)[3]
    wrong = row._replace(delta=row.delta[:-1] + bytes([row.delta[-1] ^ 8]))
    with durable.open() as saver:
        assert saver.verify().ok
        replace(durable.url, CHECKPOINTS, row, wrong)
        assert not saver.verify().ok
        saver.verify(repair=True)
        assert saver.verify().ok
    assert row in stored(durable.url, CHECKPOINTS)
    with durable.open(**sealing) as saver:
        assert whole(saver, "t") == before
        assert saver.verify().ok


def test_damage_does_not_make_a_plain_store_look_encrypted(
    durable: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    """A row whose first byte becomes the mark of what is sealed is damaged, and no other row is the
    worse for it."""
    saver = durable.open()
    for thread in "tu":
        parent = put(saver, thread, {"log": ["a"]})
        put(saver, thread, {"log": ["a", "b"]}, parent=parent)
    before = [saver.get_tuple(config(thread)) for thread in "tu"]
    checkpoints = Rows(durable.url, "wyrd_checkpoints")
    for row in (one for one in stored(durable.url, CHECKPOINTS) if one.parent is None):
        delta = bytes((SEALED,)) + bytes(row.delta)[1:]
        checkpoints.run("UPDATE {} SET delta = ? WHERE id = ?", delta, row.id)
    again = durable.open()
    assert [again.get_tuple(config(thread)) for thread in "tu"] == before
    assert "encrypted" not in caplog.text
    assert again.verify().ok
