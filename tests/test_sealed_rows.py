"""Encryption: one layer over the declared tables, on every database."""

from __future__ import annotations

import contextlib
import logging
import random
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from langgraph_wyrd import KeyRing, errors
from langgraph_wyrd.storage.access import serde_sealer
from langgraph_wyrd.storage.ciphers import Locked, RingCipher
from langgraph_wyrd.storage.encryption import HIDDEN, UNREADABLE, Sealer
from langgraph_wyrd.storage.rows import summed, unsound
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    CONTEXT,
    INTENTIONS,
    KEYS,
    OPEN_LOOPS,
    SNAPSHOTS,
    TABLES,
    THREADS,
    TODOS,
    WRITES,
    KeyRow,
    Table,
)
from tests.conftest import Backend
from tests.damage import at, talk
from tests.handmade import checkpoint, ids, put
from tests.marked_words import CONFIG, build, stored_text
from tests.outside import ROOT, python, raw
from tests.raw_rows import replace, store, stored

pytestmark = pytest.mark.empty

OLD, NEW = b"o" * 32, b"n" * 32


class Own(JsonPlusSerializer):
    """A serde of the user's own that hides what it packs, as far as anybody can tell."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        tag, data = super().dumps_typed(obj)
        return f"{tag}+own", bytes((byte + 90) % 256 for byte in data)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        tag, held = data
        return super().loads_typed((tag[:-4], bytes((byte - 90) % 256 for byte in held)))


def ring(*names: str) -> dict[str, Any]:
    return {"keys": {name: {"old": OLD, "new": NEW}[name] for name in names}}


def aes(key: bytes = b"sixteen bytes ok") -> dict[str, Any]:
    return {"serde": EncryptedSerializer.from_pycryptodome_aes(key=key)}


WAYS = {"ring": ring("old"), "serde": aes(), "own": {"serde": Own()}}


@pytest.fixture(params=[*WAYS])
def sealing(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The three ways to encrypt, as options of a saver."""
    return WAYS[request.param]


@pytest.fixture
def base(durable: Backend) -> Backend:
    return durable


@pytest.fixture
def file(sqlite: Backend) -> Backend:
    return sqlite


def sealer_of(options: dict[str, Any]) -> Sealer:
    if "keys" in options:
        return Sealer(RingCipher(KeyRing(options["keys"])))
    return serde_sealer(options["serde"])


def whole(saver: Any, thread: str) -> list[Any]:
    """All that can be read of a thread."""
    return [
        (item.config, item.checkpoint, item.metadata, item.pending_writes, item.parent_config)
        for item in saver.list(at(thread))
    ]


# ---- rows of every declared table


def made_up(table: Table, seed: int, text: str = "Zq_cell") -> Any:
    """A row with something in every column."""
    chance = random.Random(seed)
    values: list[Any] = []
    for name, kind, _ in table.columns:
        if name in table.checks:
            values.append(table.checks[name][seed % len(table.checks[name])])
        elif name in table.encrypted:
            plain = f"{text} {name} {chance.random()}"
            values.append({"bytes": plain.encode(), "json": f'"{plain}"'}.get(kind, plain))
        elif kind in ("key", "int", "real", "bool"):
            values.append(chance.randrange(1 << 40) if kind != "bool" else True)
        elif kind == "bytes":
            values.append(b"x%d" % seed)
        elif kind == "time":
            values.append("2026-01-01T00:00:00+00:00")
        else:
            values.append(f"{name}-{chance.randrange(1 << 30)}")
    return table.row._make(values)


ENCRYPTED = [table for table in TABLES.values() if table.encrypted]


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


def test_rows_of_every_table_in_a_database(base: Backend, sealing: dict[str, Any]) -> None:
    """Nothing of them is found in the database, and they read back as they were stored."""
    sealer = sealer_of(sealing)
    base.open(**sealing).setup()
    rows = {table.name: made_up(table, 1) for table in ENCRYPTED}
    if base.name == "postgres":  # keys are bytes there
        rows = {name: keyed(TABLES[name], row) for name, row in rows.items()}
    for name, row in rows.items():
        store(base.url, TABLES[name], summed(TABLES[name], row, sealer))
    assert "Zq_" not in stored_text(base)
    for name, row in rows.items():
        (found,) = stored(base.url, TABLES[name])
        opened = sealer.open(TABLES[name], found)
        for column in TABLES[name].encrypted:
            assert getattr(opened, column) == getattr(row, column)


def keyed(table: Table, row: Any) -> Any:
    keys = [column.name for column in table.columns if column.kind == "key"]
    return row._replace(**dict.fromkeys(keys, b"sixteen bytes ok"))


# ---- nothing in the clear


_SAID = (
    "request answer argument result name key value deep element small todo send question resume "
    "error update metadata"
)
WORDS = _SAID.split()


def plant(saver: Any) -> list[Any]:
    """A thread with a word of its own in every value."""
    graph = build(saver)
    graph.invoke({"messages": [HumanMessage("Zq_request", id="h-1")]}, CONFIG)
    with pytest.raises(ValueError, match="Zq_error"):
        graph.invoke(Command(resume="Zq_resume"), CONFIG)
    graph.update_state(CONFIG, {"small": "Zq_update"}, as_node="each")
    return whole(saver, "planted")


def seen_in(base: Backend) -> set[str]:
    text = stored_text(base)
    assert len(text) > 1000, "nothing was searched"
    return {word for word in WORDS if f"Zq_{word}" in text}


def test_the_search_finds_what_is_plain(base: Backend) -> None:
    """In a plain store every planted word is found, so that not finding one proves something."""
    with base.open() as saver:
        plant(saver)
        assert seen_in(base) == set(WORDS)


def test_nothing_is_found(base: Backend, sealing: dict[str, Any]) -> None:
    """Not in the tables, the file or its log, while it is open or closed; and all is read back by
    another saver. Metadata are values too."""
    with base.open(**sealing) as saver:
        before = plant(saver)
        assert seen_in(base) == set()
    assert seen_in(base) == set()
    with base.open(**sealing) as saver:
        assert whole(saver, "planted") == before
        found = list(saver.list(CONFIG, filter={"note": "Zq_metadata"}))
        assert len(found) == len(whole(saver, "planted"))
        assert list(saver.list(CONFIG, filter={"note": "another"})) == []


def test_names_inside_of_rows(base: Backend, sealing: dict[str, Any]) -> None:
    """Names of channels and nodes stand in deltas, which are sealed whole. (The public tables have
    a column of their own for them, for the item's source: they are off here.)"""
    made = checkpoint({"Zq_channel": "x"}, id=of(1))
    made["versions_seen"] = {"Zq_node": {"Zq_channel": made["channel_versions"]["Zq_channel"]}}
    with base.open(pillars=False, **sealing) as saver:
        config = saver.put(at("t"), made, {"step": 1}, made["channel_versions"])
        saver.put_writes(config, [("Zq_channel", "y")], "task")
        assert saver.get_tuple(at("t")).pending_writes == [("task", "Zq_channel", "y")]
    assert "Zq_" not in stored_text(base)


def test_the_working_state_is_sealed(base: Backend, sealing: dict[str, Any]) -> None:
    """The public tables and the thread's own texts hold nothing readable, and open again; whoever
    has no keys is shown kinds, statuses and counts."""
    with base.open(**sealing) as saver:
        plant(saver)
    sealer = sealer_of(sealing)
    texts = []
    for table in (TODOS, OPEN_LOOPS, INTENTIONS, CONTEXT, THREADS):
        rows = stored(base.url, table)
        assert rows
        for row in rows:
            texts.append(str(sealer.open(table, row)))
            hidden = Sealer(Locked("keys=")).shown(table, row)
            assert "Zq_" not in str(hidden)
    for word in ("request", "todo", "question", "error", "value"):
        assert f"Zq_{word}" in str(texts)


def test_what_reads_a_thread(base: Backend, sealing: dict[str, Any]) -> None:
    """Working state, history, listings and diffs of an encrypted store are those of a plain one."""

    def told(saver: Any) -> list[Any]:
        thread = saver.thread("t")
        history = thread.history()
        state = thread.working_state()
        return [
            [(each.kind, each.description, each.context, each.outcome) for each in state.loops],
            [(each.key, each.value) for each in state.context],
            [each.text for each in state.intentions],
            [(each.step, each.source, each.nodes, each.changed) for each in history],
            # Nothing is counted in what a serde of the user's packs.
            [each.summary for each in history if saver._codec.splits],
            [each.title for each in saver.threads()],
            [(each.description, each.context) for each in saver.open_loops(status="any")],
            [each.text for each in saver.intentions(status="any")],
            str(thread.diff(history[-1].checkpoint_id, history[0].checkpoint_id)),
        ]

    with second_in_memory() as plain, base.open(**sealing) as saver:
        for each in (plain, saver):
            talk(each, "t", 2, last="please approve")
        first, second = told(plain), told(saver)
        if not saver._codec.splits:
            del first[4], second[4]
        assert first[:-1] == second[:-1]
        assert "May I?" in str(second)
        waiting = plain.threads()[0].open_loops
        with pytest.raises(errors.InvalidInput, match="text"):
            saver.open_loops(text="May")
    assert "May I?" not in stored_text(base)
    with base.open() as saver:  # without keys
        (row,) = saver.threads()
        assert (row.title, row.status, row.open_loops) == (HIDDEN, "interrupted", waiting)
        (loop,) = saver.open_loops(kind="interrupt")
        assert (loop.description, dict(loop.context), loop.kind) == (HIDDEN, {}, "interrupt")
        with pytest.raises(errors.KeyMissing):
            saver.thread("t").working_state()
        saver.delete_thread("t")  # what stores no value needs no key
        assert saver.threads() == []


def test_copies_and_deletions(base: Backend, sealing: dict[str, Any]) -> None:
    """Rows that come to stand elsewhere, or on another ancestor, are sealed for their new place."""
    with base.open(**sealing) as saver:
        plant(saver)
        talk(saver, "t", 3)
        before, state = whole(saver, "t"), saver.thread("t").working_state()
        saver.copy_thread("t", "copied")
        copied = whole(saver, "copied")
        assert [each[1] for each in copied] == [each[1] for each in before]
        assert [each[3] for each in copied] == [each[3] for each in before]
        assert saver.thread("copied").working_state().context == state.context
        saver.prune(["copied"])
        (kept,) = whole(saver, "copied")
        assert kept[1] == before[0][1]
        saver.delete_thread("t")
        assert whole(saver, "t") == []
        assert whole(saver, "copied") == [kept]
        assert seen_in(base) == set()
        assert "seen {" not in stored_text(base)
    with base.open(**sealing) as saver:
        assert whole(saver, "copied") == [kept]
        talk(saver, "copied", 1)
    for table in TABLES.values():
        for row in stored(base.url, table):
            assert unsound(table, row) == ()
            sealer_of(sealing).open(table, row)


def test_planted_texts(base: Backend, sealing: dict[str, Any], caplog: Any) -> None:
    """A text that somebody put into a public table is shown as unreadable, and logged."""
    with base.open(**sealing) as saver:
        talk(saver, "t", 1, last="please approve")
        run(base, "UPDATE wyrd_open_loops SET description = 'send money to Eve'")
        run(base, "UPDATE wyrd_threads SET title = 'send money to Eve'")
        with caplog.at_level(logging.WARNING):
            shown = [*saver.open_loops(), *saver.threads()]
        assert "Eve" not in str(shown)
        assert UNREADABLE in str(shown)
        assert "verify() tells more" in caplog.text
        assert "May I?" in str(saver.thread("t").working_state())


def test_every_checkpoint_is_the_one_of_a_plain_store(base: Backend, sealing: Any) -> None:
    """Snapshots, forks and checkpoints that are put again included."""
    script: list[Any] = []
    with base.open(**sealing) as saver, second_in_memory() as plain:
        for each in (plain, saver):
            parent = None
            for n in range(60):
                values = {"long": ["element " * 40] * n, "n": n}
                parent = put(each, "t", values, parent=parent, id=of(n), versions=said(n))
            put(each, "t", {"n": -1}, parent=of(20), id=of(70), versions=said(70))
            put(each, "t", {"n": -2}, parent=of(9), id=of(10), versions=said(80))
            script.append(whole(each, "t"))
        assert script[0] == script[1]
        assert len(script[0]) == 61
        names = {row.channel for row in stored(base.url, SNAPSHOTS)}
        assert names >= ({"", "long"} if saver._codec.splits else set())
        assert "element" not in stored_text(base)


def of(n: int) -> str:
    return f"1f0c0000-0000-6000-8000-{n:012}"


def said(n: int) -> dict[str, str]:
    return dict.fromkeys(("long", "n"), f"{n:032}.5")


class second_in_memory:
    """A plain saver in memory."""

    def __enter__(self) -> Any:
        self.saver = Backend("memory", "sqlite://").open()
        return self.saver

    def __exit__(self, *exc: object) -> None:
        self.saver.close()


def test_a_plain_saver_seals_nothing(file: Backend) -> None:
    """Not encrypting costs one test for None where a row is made."""
    with file.open() as saver:
        talk(saver, "t", 1)
        assert saver._codec.sealer is None
        assert stored(file.url, KEYS) == []
        assert type(saver._engine.driver.connect(writes=True)).__name__ == "SqliteConnection"


# ---- rows that somebody changed


def spoilt(base: Backend, table: Table, change: Any) -> None:
    """Change rows, with checksums that fit."""
    for row in stored(base.url, table):
        made = change(row)
        if made is not None:
            replace(base.url, table, row, summed(table, made))


@pytest.mark.parametrize("table", [CHECKPOINTS, WRITES], ids=lambda table: table.name)
def test_rows_of_another_thread(base: Backend, sealing: dict[str, Any], table: Table) -> None:
    """A row of one thread in the place of another's does not open, even with a right checksum."""
    with base.open(**sealing) as saver:
        for thread, word in (("mine", "harmless"), ("theirs", "stolen")):
            config = put(saver, thread, {"a": [word * 30]}, id=of(1))
            saver.put_writes(config, [("a", word)], "task")
    keys = {row.thread_id: row.key for row in stored(base.url, THREADS)}
    (theirs,) = [row for row in stored(base.url, table) if row.thread == keys["theirs"]]
    seq = {row.thread: row.seq for row in stored(base.url, table)}

    def moved(row: Any) -> Any:
        if row.thread != keys["mine"]:
            return None
        return theirs._replace(thread=keys["mine"], seq=seq[keys["mine"]])

    spoilt(base, table, moved)
    with base.open(**sealing, on_damage="raise") as saver:
        with pytest.raises(errors.CheckpointDamaged, match=r"changed|belong|missing|group"):
            saver.get_tuple(at("mine"))
        assert "stolen" in str(saver.get_tuple(at("theirs")))


def test_plain_rows_are_refused(base: Backend, sealing: dict[str, Any]) -> None:
    """A row that is plain in an encrypted store was put there by somebody else."""
    with base.open(**sealing) as saver:
        config = put(saver, "t", {"a": "own"}, id=of(1))
        saver.put_writes(config, [("a", "own")], "task")
    sealer = sealer_of(sealing)
    for table in (CHECKPOINTS, WRITES):
        (row,) = stored(base.url, table)
        replace(base.url, table, row, summed(table, sealer.open(table, row)))
        strict = base.open(**sealing, on_damage="raise")
        with strict as saver, pytest.raises(errors.CheckpointDamaged, match=r"plain|missing|group"):
            saver.get_tuple(at("t"))
        (planted,) = stored(base.url, table)
        replace(base.url, table, planted, row)
    with base.open(**sealing) as saver:
        assert saver.get_tuple(at("t")).pending_writes


def test_a_flipped_bit_in_any_row(base: Backend, sealing: dict[str, Any]) -> None:
    """Of each row and each sealed column in turn: it is found without keys, other threads read as
    they did, nothing is read that was not written, and no damage passes for a missing key."""
    with base.open(**sealing) as saver:
        talk(saver, "t", 2, last="please approve")
        talk(saver, "other", 1)
        right, other = {each[0]["configurable"]["checkpoint_id"]: each for each in whole(
            saver, "t")}, whole(saver, "other")  # fmt: skip
    (key,) = [row.key for row in stored(base.url, THREADS) if row.thread_id == "t"]
    chance = random.Random(5)
    raised = 0
    with base.open(**sealing, on_damage="raise") as saver:
        for table in (CHECKPOINTS, WRITES):
            rows = [row for row in stored(base.url, table) if row.thread == key]
            for row in chance.sample(rows, min(len(rows), 8)):
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
                    replace(base.url, table, row, wrong)
                    assert whole(saver, "other") == other
                    for id, item in right.items():
                        try:
                            (got,) = whole_of(saver, id)
                        except errors.CheckpointDamaged:
                            raised += 1
                        else:
                            assert got == item
                    replace(base.url, table, wrong, row)
        assert raised
        assert {each[0]["configurable"]["checkpoint_id"]: each for each in whole(
            saver, "t")} == right  # fmt: skip


def test_a_flipped_bit_costs_nothing(base: Backend, sealing: dict[str, Any]) -> None:
    """Of each sealed column of each row in turn: every checkpoint reads as it did, and the row is
    stored again to the byte."""
    with base.open(**sealing) as saver:
        talk(saver, "t", 2, last="please approve")
        right = {each[0]["configurable"]["checkpoint_id"]: each for each in whole(saver, "t")}
    chance = random.Random(7)
    tried = 0
    with base.open(**sealing) as saver:
        for table in (CHECKPOINTS, WRITES):
            rows = stored(base.url, table)
            for row in chance.sample(rows, min(len(rows), 6)):
                for name in table.encrypted:
                    held = getattr(row, name)
                    if held is None:
                        continue
                    data = bytearray(held.encode() if isinstance(held, str) else held)
                    data[chance.randrange(len(data))] ^= 1
                    changed = data.decode() if isinstance(held, str) else bytes(data)
                    replace(base.url, table, row, row._replace(**{name: changed}))
                    tried += 1
                    for id, item in right.items():
                        assert [*whole_of(saver, id)] == [item]
                    assert row in stored(base.url, table)
        assert tried > 15
        assert saver.verify().ok


def whole_of(saver: Any, id: str) -> Iterator[Any]:
    item = saver.get_tuple(at("t", id))
    yield item.config, item.checkpoint, item.metadata, item.pending_writes, item.parent_config


def test_rows_are_verified_without_keys(base: Backend, sealing: dict[str, Any]) -> None:
    """Every checksum covers the row as it is stored; what is damaged is found, and restored to the
    byte, by a saver that can read none of it."""
    with base.open(**sealing) as saver:
        talk(saver, "t", 3)
        before = whole(saver, "t")
    checked = 0
    for table in TABLES.values():
        for row in stored(base.url, table):
            assert unsound(table, row) == ()
            checked += bool(table.sums)
    assert checked > 20
    row = stored(base.url, CHECKPOINTS)[3]
    wrong = row._replace(delta=row.delta[:-1] + bytes([row.delta[-1] ^ 8]))
    with base.open() as saver:
        assert saver.verify().ok
        replace(base.url, CHECKPOINTS, row, wrong)
        assert not saver.verify().ok
        saver.verify(repair=True)
        assert saver.verify().ok
    assert row in stored(base.url, CHECKPOINTS)
    with base.open(**sealing) as saver:
        assert whole(saver, "t") == before
        assert saver.verify().ok


# ---- keys that are not there


def test_a_missing_key_is_no_damage(base: Backend) -> None:
    """Reading needs each key; the error names key, thread and row; nothing is written meanwhile."""
    with base.open(**ring("old")) as saver:
        talk(saver, "t", 1)
        before = whole(saver, "t")
    with base.open(**ring("old", "new")) as saver:
        talk(saver, "u", 1)
        assert whole(saver, "t") == before
    with base.open(**ring("new")) as saver:
        assert whole(saver, "u")
        for reading in (lambda: saver.get_tuple(at("t")), lambda: list(saver.list(at("t")))):
            with pytest.raises(errors.KeyMissing, match="thread 't', wyrd_checkpoints") as told:
                reading()
            assert (told.value.key_id, told.value.thread_id) == ("old", "t")
        with pytest.raises(errors.KeyMissing, match="'old'"):
            talk(saver, "t", 1)
    with base.open(**ring("old", "new")) as saver:
        assert whole(saver, "t") == before


@pytest.mark.parametrize(
    ("made", "given", "said"),
    [
        (ring("old"), {"keys": {"old": NEW}}, "another one"),
        (ring("old"), ring("new"), "encrypted with the keys old"),
        (ring("old"), aes(), "keys="),
        (aes(), ring("old"), "by a serde"),
        (aes(), aes(b"another key, 16b"), "another key"),
        ({"serde": Own()}, aes(), "another key"),
    ],
)
async def test_other_keys(base: Backend, made: Any, given: Any, said: str, call: Any) -> None:
    """They are told when the store opens, for reading and writing; nothing is written."""
    with base.open(**made) as saver:
        put(saver, "t", {"a": 1}, id=of(1))
    rows = stored(base.url, CHECKPOINTS), stored(base.url, KEYS)
    saver = base.open(**given)
    with pytest.raises(errors.KeyMissing, match=said):
        await call(saver, "get_tuple", at("t"))
    with pytest.raises(errors.KeyMissing, match=said):
        put(saver, "u", {"a": 1})
    with pytest.raises(errors.KeyMissing, match=said):
        saver.setup()
    assert (stored(base.url, CHECKPOINTS), stored(base.url, KEYS)) == rows


async def test_without_keys(base: Backend, sealing: Any, call: Any, caplog: Any) -> None:
    """Values can be neither read nor stored; the error says what to open the store with."""
    with base.open(**sealing) as saver:
        talk(saver, "t", 1)
        before = whole(saver, "t")
    saver = base.open()
    what = "keys=" if "keys" in sealing else "serde"
    with caplog.at_level(logging.WARNING), pytest.raises(errors.KeyMissing, match=what):
        await call(saver, "get_tuple", at("t"))
    assert "open it with" in caplog.text
    with pytest.raises(errors.KeyMissing, match="write to it"):
        put(saver, "fresh", {"a": "plain"})
    config = at("t", before[0][0]["configurable"]["checkpoint_id"])
    with pytest.raises(errors.KeyMissing, match="write to it"):
        await call(saver, "put_writes", config, [("a", "plain")], "task")
    with pytest.raises(errors.InvalidInput, match="keys="):
        await call(saver, "rotate_keys")
    saver.close()
    with base.open(**sealing) as saver:
        assert whole(saver, "t") == before


@pytest.mark.parametrize("given", [ring("old"), aes()], ids=["ring", "serde"])
async def test_a_plain_store(base: Backend, given: Any, call: Any) -> None:
    """Encryption that is switched on for a plain store is refused, and nothing of it is touched."""
    with base.open() as saver:
        talk(saver, "t", 1)
        before = whole(saver, "t")
    saver = base.open(**given)
    with pytest.raises(errors.PlainStore, match="new store"):
        await call(saver, "get_tuple", at("t"))
    with pytest.raises(errors.PlainStore):
        put(saver, "u", {"a": 1})
    if "keys" in given:
        with pytest.raises(errors.PlainStore):
            await call(saver, "rotate_keys")
    saver.close()
    with base.open() as saver:
        assert whole(saver, "t") == before
    assert stored(base.url, KEYS) == []


SPOIL = {
    "gone": "DELETE FROM wyrd_keys",
    "another id": "UPDATE wyrd_keys SET id = replace(replace(id, 'l', 'm'), 'd', 'e')",
    "no id": "UPDATE wyrd_keys SET id = '(s'",
    "cut": "UPDATE wyrd_keys SET proof = substr(proof, 1, 30)",
    "other bits": "UPDATE wyrd_keys SET proof = substr(proof, 1, 40) || 'AAAA' || "
    "substr(proof, 45)",
    "nothing": "UPDATE wyrd_keys SET proof = ''",
    "plain": "UPDATE wyrd_keys SET proof = 'langgraph-wyrd'",
}


def run(base: Backend, text: str) -> None:
    with raw(base.url) as connection:
        connection.execute(text)


@pytest.mark.parametrize("how", list(SPOIL))
@pytest.mark.parametrize("sealing", [ring("old"), aes()], ids=["ring", "serde"])
def test_a_damaged_proof_strands_nothing(base: Backend, sealing: Any, how: str) -> None:
    """Stored rows tell that the key is right, and that another one is not."""
    with base.open(**sealing) as saver:
        talk(saver, "t", 2)
        before = whole(saver, "t")
    run(base, SPOIL[how])
    other = {"keys": {"old": NEW}} if "keys" in sealing else aes(b"another key, 16b")
    with pytest.raises(errors.KeyMissing), base.open(**other) as saver:
        saver.get_tuple(at("t"))
    with base.open() as saver, pytest.raises(errors.KeyMissing, match="open"):
        saver.get_tuple(at("t"))
    with base.open(**sealing) as saver:
        assert whole(saver, "t") == before
        talk(saver, "t", 1)
    with base.open(**sealing) as saver:
        assert len(whole(saver, "t")) > len(before)


def test_one_damaged_row_is_no_other_key(base: Backend) -> None:
    """A serde that finds no proof looks into several rows."""
    with base.open(**aes()) as saver:
        talk(saver, "t", 2)
    run(base, "DELETE FROM wyrd_keys")
    for table in (CHECKPOINTS, WRITES):
        row = stored(base.url, table)[0]
        name = table.encrypted[-1]
        replace(base.url, table, row, row._replace(**{name: getattr(row, name)[:-4]}))
    with base.open(**aes()) as saver:
        put(saver, "u", {"a": 1})
        assert whole(saver, "u")


# ---- rotation


async def test_rotation(base: Backend, call: Any) -> None:
    """Everything comes under the newest key; then no other one is needed, and nothing else about
    the store has changed. Rows of tables that the graph did not fill go along."""
    sealer = sealer_of(ring("old"))
    with base.open(**ring("old")) as saver:
        before = plant(saver)
        talk(saver, "t", 2)
        turns = whole(saver, "t")
    key = next(row.key for row in stored(base.url, THREADS) if row.thread_id == "planted")
    extra = {}
    for table in ENCRYPTED:
        if table is not THREADS and not stored(base.url, table):
            row = made_up(table, 9)
            if "thread" in table.names:
                row = row._replace(thread=key)
            store(base.url, table, summed(table, row, sealer))
            extra[table] = row
    run(base, f"UPDATE wyrd_threads SET title = '{title(sealer, key)}' WHERE thread_id = 'planted'")
    saver = base.open(**ring("old", "new"))
    seen: list[tuple[int, int]] = []
    done = await call(saver, "rotate_keys", progress=lambda *far: seen.append(far))
    assert seen == [(1, 2), (2, 2)]
    assert (done.threads, done.left) == (2, 0)
    assert done.rows > 40
    assert str(done) == f"{done.rows} rows of 2 threads sealed under the newest key"
    again = await call(saver, "rotate_keys")
    assert (again.threads, again.rows) == (2, 0)
    saver.close()
    with base.open(**ring("new")) as saver:
        assert whole(saver, "planted") == before
        assert whole(saver, "t") == turns
        talk(saver, "t", 1)
    newest = sealer_of(ring("new"))
    for table in TABLES.values():
        for row in stored(base.url, table):
            assert unsound(table, row) == ()
            if table.encrypted:
                newest.open(table, row)
                assert newest.is_newest(table, row)
    for table, row in extra.items():
        found = stored(base.url, table)
        opened = [newest.open(table, each) for each in found]
        assert any(
            all(getattr(each, name) == getattr(row, name) for name in table.encrypted)
            for each in opened
        )
    assert seen_in(base) == set()


def title(sealer: Sealer, key: Any) -> str:
    made: str = sealer.seal_value(THREADS, "title", (key,), "Zq_value")
    return made


def test_rotation_beside_a_writer(base: Backend) -> None:
    """Another saver's thread grows while its rows are sealed anew, and a rotation that is stopped
    goes on where it was. Until it is done the old key is needed."""
    both = {"old": OLD, "new": NEW}
    with base.open(keys={"old": OLD}) as saver:
        for name in "abc":
            talk(saver, name, 2)
    writer, rotating = base.open(keys=KeyRing(both, newest="old")), base.open(keys=both)
    graph = talk(writer, "b", 1).build(writer)

    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        graph.invoke({"messages": [("user", f"while {done}")]}, at("b"))
        if done == 2:
            raise Stopped

    with pytest.raises(Stopped):
        rotating.rotate_keys(progress=stop)
    with base.open(keys={"new": NEW}) as saver:
        assert whole(saver, "a")
        with pytest.raises(errors.KeyMissing, match="'old'"):
            saver.get_tuple(at("c"))
    graph.invoke({"messages": [("user", "later")]}, at("b"))
    first = rotating.rotate_keys()
    assert 0 < first.rows < len(stored(base.url, CHECKPOINTS)) + len(stored(base.url, WRITES))
    writer.close()
    rotating.close()
    with base.open(keys={"new": NEW}) as saver:
        texts = [
            m.content for m in saver.get_tuple(at("b")).checkpoint["channel_values"]["messages"]
        ]
        told = [text for text in texts if text.startswith(("while", "later"))]
        assert told == ["while 1", "while 2", "later"]


ROTATE = """
import os, signal, sys
from langgraph_wyrd.saver import WyrdSaver

def killed(done, total):
    if done == 2:
        os.kill(os.getpid(), signal.SIGKILL)

keys = {"old": b"o" * 32, "new": b"n" * 32}
saver = WyrdSaver.from_conn_string(sys.argv[1], keys=keys)
saver.rotate_keys(progress=killed)
"""


def test_a_killed_rotation_goes_on(base: Backend) -> None:
    """All can be read with both keys, and a second run does what is left to do."""
    with base.open(**ring("old")) as saver:
        for name in "abc":
            talk(saver, name, 2)
        before = [whole(saver, name) for name in "abc"]
    done = subprocess.run(python("-c", ROTATE, base.url), cwd=ROOT, timeout=60)
    assert done.returncode == -signal.SIGKILL
    with base.open(**ring("old", "new")) as saver:
        assert [whole(saver, name) for name in "abc"] == before
        again = saver.rotate_keys()
        assert again.left == 0
        assert 0 < again.rows < len(stored(base.url, CHECKPOINTS))
    with base.open(**ring("new")) as saver:
        assert [whole(saver, name) for name in "abc"] == before


def test_what_is_damaged_stays_so(file: Backend) -> None:
    """A rotation neither hides damage nor makes a planted row pass for a sealed one."""
    with file.open(**ring("old")) as saver:
        talk(saver, "t", 2)
    one, other = stored(file.url, WRITES)[:2]
    damaged = one._replace(payload=one.payload[:-1] + bytes([one.payload[-1] ^ 4]))
    planted = summed(WRITES, other._replace(payload=b"\x90"))
    replace(file.url, WRITES, one, damaged)
    replace(file.url, WRITES, other, planted)
    with file.open(**ring("old", "new"), on_damage="raise") as saver:
        done = saver.rotate_keys()
        assert done.left == 2
        assert "2 damaged rows" in str(done)
    assert {damaged, planted} <= set(stored(file.url, WRITES))
    with file.open(**ring("new"), on_damage="raise") as saver:
        for row in (damaged, planted):
            with pytest.raises(errors.CheckpointDamaged):
                saver.get_tuple(at("t", row.checkpoint))


def test_a_plain_store_is_sealed_in_place(base: Backend) -> None:
    """On request; stopped, the store is neither a plain nor an encrypted one until it is done."""
    with base.open() as saver:
        before = plant(saver)
        talk(saver, "t", 2)

    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stopped

    with base.open(**ring("old")) as saver:
        pass_through = pytest.raises(Stopped)
        with pass_through:
            saver.rotate_keys(plain=True, progress=stop)
    with base.open() as saver, pytest.raises(errors.KeyMissing):
        put(saver, "u", {"a": 1})
    with base.open(**ring("old")) as saver:
        with pytest.raises(errors.PlainStore, match="run it again"):
            saver.get_tuple(at("t"))
        assert saver.rotate_keys(plain=True).left == 0
        assert whole(saver, "planted") == before
    with base.open(**ring("old")) as saver:
        assert whole(saver, "planted") == before
        assert saver.rotate_keys().rows == 0
    assert [row.id for row in stored(base.url, KEYS)] == ["old"]
    if base.name == "sqlite":
        run(base, "PRAGMA wal_checkpoint(TRUNCATE)")
        run(base, "VACUUM")
        run(base, "PRAGMA wal_checkpoint(TRUNCATE)")
    assert seen_in(base) == set()


# ---- options


def test_keys_and_a_serde_that_encrypts(file: Backend) -> None:
    """One of the two: sealing twice is refused. A serde of one's own goes with keys."""
    with pytest.raises(errors.InvalidInput, match="EncryptedSerializer"):
        file.open(**ring("old"), **aes())
    with file.open(serde=Own(), **ring("old")) as saver:
        put(saver, "t", {"a": "Zq_value"})
        assert whole(saver, "t")
    assert [row.id for row in stored(file.url, KEYS)] == ["old"]
    assert seen_in(file) == set()


def test_a_ring_may_be_read_only(file: Backend) -> None:
    """A new key can't be noted in a store that only allows reading, and need not be."""
    with file.open(**ring("old")) as saver:
        put(saver, "t", {"a": 1})
    reading = Backend("sqlite", f"{file.url}?mode=ro").open(**ring("old", "new"))
    with reading:
        assert whole(reading, "t")
    assert [row.id for row in stored(file.url, KEYS)] == ["old"]


def test_a_new_store_knows_its_key(base: Backend, sealing: Any) -> None:
    """From its first opening on: a plain saver is refused before anything is stored."""
    with base.open(**sealing) as saver:
        saver.setup()
    assert len(stored(base.url, KEYS)) == 1
    with base.open() as saver, pytest.raises(errors.KeyMissing, match="write to it"):
        put(saver, "t", {"a": 1})
    assert isinstance(stored(base.url, KEYS)[0], KeyRow)
    with base.open(**sealing) as saver:
        assert ids(list(saver.list(None))) == []


class Service:
    """A cipher whose key is kept by a service that may be out of reach."""

    down = False

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "service", bytes(byte ^ 90 for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        if self.down:
            raise ConnectionError("no key service")
        return bytes(byte ^ 90 for byte in ciphertext)


def test_a_key_service_that_is_down_is_no_damage(base: Backend) -> None:
    """Its error is raised as it is, nothing counts as lost, and later all is there."""
    service = Service()
    with base.open(serde=EncryptedSerializer(service)) as saver:
        talk(saver, "t", 2)
    with base.open(serde=EncryptedSerializer(service)) as saver:
        saver.setup()
        service.down = True
        for ask in (lambda: saver.get_tuple(at("t")), lambda: list(saver.list(at("t")))):
            with pytest.raises(ConnectionError, match="no key service"):
                ask()
        with pytest.raises(ConnectionError, match="no key service"):
            saver.thread("t").working_state()
        service.down = False
        assert saver.get_tuple(at("t")) is not None
        assert saver.thread("t").heals() == []
        assert saver.verify().ok
