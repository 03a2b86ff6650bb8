"""Damaged, deleted and undecodable rows: what loads is exact, or it is reported."""

from __future__ import annotations

import logging
import operator
import random
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from langgraph_wyrd import Kept, WyrdSaver
from langgraph_wyrd.checkpoints import snapshots
from langgraph_wyrd.errors import CheckpointDamaged, ThreadNotFound
from langgraph_wyrd.recovery.flipped_bits import flipped_back
from langgraph_wyrd.storage import parity
from langgraph_wyrd.storage.rows import insert, select, summed
from langgraph_wyrd.storage.scripts import Step
from langgraph_wyrd.storage.tables import (
    CHECKPOINTS,
    HEALS,
    THREADS,
    WRITES,
    HealRow,
    WriteRow,
)
from tests.campaigns.faults import SILENT, TWO, postgres_databases, sqlite_databases
from tests.conftest import Backend
from tests.damage import Agent, Rows, at, garbled, talk
from tests.handmade import append, put
from tests.odd_values import Ciphered
from tests.outside import raw
from tests.raw_rows import store, stored

SAMPLE = range(20_000, 20_024)


def test_a_fair_sample_of_faults_on_sqlite() -> None:
    """After one damaged or deleted row everything that loads is exact, or the damage is said."""
    with sqlite_databases() as (campaign, fresh):
        for seed in SAMPLE:
            with fresh() as url:
                campaign.look(url, seed)
    assert not [place for place in campaign.counts if place[1] == SILENT], campaign.wrong
    assert campaign.heads["exact"] >= 0.95 * campaign.heads.total()


def test_a_fair_sample_of_faults_on_postgres(postgres_server: str) -> None:
    """The same on Postgres."""
    with postgres_databases(server=postgres_server) as (campaign, fresh):
        for seed in SAMPLE[::4]:
            with fresh() as url:
                campaign.look(url, seed)
    assert not [place for place in campaign.counts if place[1] == SILENT], campaign.wrong
    assert campaign.heads["exact"] >= 0.95 * campaign.heads.total()


def test_several_rows_at_once_are_never_wrong_silently() -> None:
    """Three rows damaged at once may cost something, but that is said."""
    with sqlite_databases(3) as (campaign, fresh):
        for seed in SAMPLE[::4]:
            with fresh() as url:
                campaign.look(url, seed)
    assert not [place for place in campaign.counts if place[1] == SILENT], campaign.wrong


def test_values_that_two_rows_exchanged_are_never_taken_for_right(postgres_server: str) -> None:
    """Where two rows have exchanged the values of two columns, a load notices it. It can't always
    restore them."""
    for databases, seeds in (
        (sqlite_databases(), SAMPLE),
        (postgres_databases(server=postgres_server), SAMPLE[::4]),
    ):
        with databases as (campaign, fresh):
            campaign.kinds = (TWO,)
            for seed in seeds:
                with fresh() as url:
                    campaign.look(url, seed)
        assert campaign.counts, "nothing was exchanged"
        assert not [place for place in campaign.counts if place[1] == SILENT], campaign.wrong


# ---- single cases


class File:
    """A database file with one thread, and its rows in plain SQL."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "wyrd.db"
        self.url = f"sqlite:///{self.path}"

    def open(self, **options: Any) -> WyrdSaver:
        return WyrdSaver.from_conn_string(self.url, synchronous="OFF", **options)

    def run(self, sql: str, *params: Any) -> list[Any]:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=60)
        try:
            return connection.execute(sql, params).fetchall()
        finally:
            connection.close()


@pytest.fixture
def file(tmp_path: Path) -> File:
    made = File(tmp_path)
    with made.open() as saver:
        talk(saver, "t", 3)
    return made


def test_the_newest_checkpoint_that_is_deleted_comes_back(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    """A deleted head is noticed, rebuilt to the byte, written back, logged and recorded once."""
    with file.open() as saver:
        before = saver.get_tuple(at("t"))
    sound = file.run(f"{select(CHECKPOINTS)} ORDER BY id DESC LIMIT 1")
    file.run("DELETE FROM wyrd_checkpoints WHERE id = (SELECT max(id) FROM wyrd_checkpoints)")
    with file.open() as saver:
        assert saver.get_tuple(at("t")) == before
        assert saver.get_tuple(at("t")) == before
    assert before is not None
    said = [r.getMessage() for r in caplog.records if r.name == "langgraph_wyrd"]
    assert len(said) == 1
    assert "'t'" in said[0]
    assert before.checkpoint["id"] in said[0]
    assert file.run(f"{select(CHECKPOINTS)} ORDER BY id DESC LIMIT 1") == sound
    assert [row[0] for row in file.run("SELECT kind FROM wyrd_heals")] == ["exact"]


def test_a_thread_whose_row_is_deleted_is_found_again(file: File) -> None:
    """Parity knows the thread's name: neither a load nor a run begins the thread anew."""
    with file.open() as saver:
        before = saver.get_tuple(at("t"))
    file.run("DELETE FROM wyrd_threads")
    with file.open() as saver:
        assert saver.get_tuple(at("t")) == before
    file.run("DELETE FROM wyrd_threads")
    with file.open() as saver:
        said = [HumanMessage("once more", id="human-9")]
        found = Agent().build(saver).invoke({"messages": said}, at("t"))
    assert len(found["messages"]) > len(before.checkpoint["channel_values"]["messages"])  # type: ignore[union-attr]


@pytest.mark.parametrize("column", ["data", "first", "tags"])
def test_a_thread_whose_row_is_deleted_and_its_group_damaged(file: File, column: str) -> None:
    """It is refused, and not begun anew: what names it can't be believed."""
    file.run("DELETE FROM wyrd_threads")
    file.run(f"UPDATE wyrd_parity SET {column} = x'0102030405060708'")
    with file.open() as saver:
        with pytest.raises(CheckpointDamaged):
            saver.get_tuple(at("t"))
        with pytest.raises(CheckpointDamaged):  # not as if there were none
            list(saver.list(at("t")))


def test_a_thread_whose_row_and_groups_are_deleted_is_found_by_its_checkpoints(
    postgres: Backend,
) -> None:
    """On Postgres a thread's key is made of its name: what is left leads back to its row."""
    with postgres.open() as saver:
        append(saver, "t", "a")
        before = append(saver, "t", "b")
    with raw(postgres.url) as connection:
        connection.execute("DELETE FROM wyrd_threads")
        connection.execute("DELETE FROM wyrd_parity")
    saver = postgres.open()
    found = saver.get_tuple(at("t"))
    assert found is not None
    assert found.config == before
    append(saver, "t", "c")
    assert len(list(saver.list(at("t")))) == 3


def test_a_checkpoint_whose_id_is_no_text_any_more_is_left_out(file: File) -> None:
    """A list leaves it out and records that, though its name is no UTF-8."""
    with file.open() as saver:
        count = len(list(saver.list(at("t"))))
    file.run("DELETE FROM wyrd_parity")
    file.run(
        "UPDATE wyrd_checkpoints SET id = CAST(x'30b632' AS TEXT) "
        "WHERE id = (SELECT max(id) FROM wyrd_checkpoints WHERE built_on IS NOT NULL "
        "AND id < (SELECT max(id) FROM wyrd_checkpoints))"
    )
    with file.open() as saver:
        assert len(list(saver.list(at("t")))) < count
        assert "0?2" in "".join(each.checkpoint_id for each in saver.thread("t").heals())


def test_a_put_on_a_damaged_parent_restores_it_first(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    """What a write builds on goes through the same door as what a read returns, and is reported."""
    healed: list[Any] = []
    with file.open() as saver:
        head = saver.get_tuple(at("t"))
    assert head is not None
    file.run("UPDATE wyrd_checkpoints SET delta = x'00' WHERE id = ?", head.checkpoint["id"])
    with file.open(hooks={"heal": healed.append}) as saver:
        checkpoint = {**head.checkpoint, "id": "1ffffff0-0000-6000-8000-000000000000"}
        made = saver.put(head.config, checkpoint, {"source": "loop", "step": 99, "parents": {}}, {})  # type: ignore[typeddict-item]
        assert [each.checkpoint_id for each in healed] == [head.checkpoint["id"]]
        assert "restored to the byte" in caplog.text
        found = saver.get_tuple(made)
    assert found is not None
    assert found.checkpoint["channel_values"] == head.checkpoint["channel_values"]
    rows = file.run(
        "SELECT length(delta) FROM wyrd_checkpoints WHERE id = ?", head.checkpoint["id"]
    )
    assert rows[0][0] > 1


def test_on_damage_raise_changes_nothing(file: File) -> None:
    """With on_damage="raise" damage raises CheckpointDamaged and stays as it is."""
    file.run("UPDATE wyrd_checkpoints SET delta = x'00'")
    with file.open(on_damage="raise") as saver, pytest.raises(CheckpointDamaged):
        saver.get_tuple(at("t"))
    assert file.run("SELECT DISTINCT length(delta) FROM wyrd_checkpoints") == [(1,)]


def ids_and_third(file: File) -> tuple[list[str], Any]:
    """The ids of a thread's checkpoints, newest first, and the third checkpoint."""
    ids = [row[0] for row in file.run("SELECT id FROM wyrd_checkpoints ORDER BY id DESC")]
    with file.open() as saver:
        return ids, saver.get_tuple(at("t", ids[2]))


def test_where_two_rows_of_a_group_are_lost_the_nearest_ancestor_is_taken(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    """Parity rebuilds one row of a group: of two, loads say what is lost and take what is whole."""
    ids, third = ids_and_third(file)
    for id in ids[:2]:
        file.run("UPDATE wyrd_checkpoints SET delta = zeroblob(100) WHERE id = ?", id)
    with file.open() as saver:
        found = saver.get_tuple(at("t"))
        assert found is not None
        assert third is not None
        assert found.checkpoint == third.checkpoint
        with pytest.raises(CheckpointDamaged) as raised:
            saver.get_tuple(at("t", ids[0]))
        assert raised.value.ancestor == ids[2]
        assert [each.checkpoint["id"] for each in saver.list(at("t"))] == ids[2:]
    assert any("an earlier checkpoint was taken" in r.getMessage() for r in caplog.records)
    assert ("ancestor",) in file.run("SELECT kind FROM wyrd_heals")


def test_what_two_checkpoints_of_a_group_said_is_left_out_and_recorded(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    """Damaged events cost what the checkpoint said, not its values, and the loss is recorded."""
    ids = [row[0] for row in file.run("SELECT id FROM wyrd_checkpoints ORDER BY id DESC")]
    with file.open() as saver:
        whole = saver.get_tuple(at("t"))
    for id in ids[:2]:
        file.run("UPDATE wyrd_checkpoints SET events = x'00' WHERE id = ?", id)
    with WyrdSaver.from_conn_string(f"{file.url}?mode=ro") as saver:
        assert saver.get_tuple(at("t")) == whole
    assert "what it said is damaged" in caplog.text  # a load that can't write says so as well
    with file.open() as saver:
        saver.thread("t").working_state()
        assert saver.get_tuple(at("t")) == whole
    lost = file.run(
        "SELECT checkpoint FROM wyrd_heals WHERE kind = 'left_out' AND channel = 'events'"
    )
    assert {id for (id,) in lost} == {*ids[:2]}


def test_a_task_whose_writes_are_lost_runs_again_and_answers_stay(file: File) -> None:
    """Where all task writes are damaged the tasks run again; the answer of a person stays."""
    with file.open() as saver:
        talk(saver, "u", 1, last="approve this")
        Agent().build(saver).invoke(Command(resume="yes"), at("u"))
    file.run("UPDATE wyrd_writes SET payload = zeroblob(20)")
    with file.open() as saver:
        found = [*saver.list(at("u"))]
        assert found
        written = {write[1] for each in found for write in each.pending_writes or ()}
        assert written == {"__resume__"}
        talk(saver, "u", 1)


def test_a_row_that_moved_to_another_thread_is_brought_back_and_removed_there(file: File) -> None:
    """Parity knows whose it is: both threads are as they were, and verify() finds nothing more."""
    with file.open() as saver:
        talk(saver, "u", 2)
        before = [saver.get_tuple(at(name)) for name in "tu"]
    theirs = "SELECT key FROM wyrd_threads WHERE thread_id = 'u'"
    file.run(
        "UPDATE wyrd_checkpoints SET thread = (SELECT key FROM wyrd_threads WHERE thread_id = 't') "
        f"WHERE id = (SELECT max(id) FROM wyrd_checkpoints WHERE thread = ({theirs}))"
    )
    rows = file.run("SELECT count(*) FROM wyrd_checkpoints")
    with file.open() as saver:
        saver.verify(repair=True)
        assert saver.verify().ok
        assert [saver.get_tuple(at(name)) for name in "tu"] == before
    assert file.run("SELECT count(*) FROM wyrd_checkpoints") == rows


def test_a_load_that_can_not_write_says_what_is_missing(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a file that is only read: the nearest checkpoint is given, and how much is missing."""
    ids, third = ids_and_third(file)
    for id in ids[:2]:
        file.run("DELETE FROM wyrd_checkpoints WHERE id = ?", id)
    with WyrdSaver.from_conn_string(f"{file.url}?mode=ro") as saver:
        found = saver.get_tuple(at("t"))
    assert found is not None
    assert third is not None
    assert found.checkpoint == third.checkpoint
    assert "2 rows are missing" in caplog.text


def test_a_snapshot_of_which_a_row_is_missing_is_dropped(
    file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load reads the deltas instead, and deletes the other rows of that snapshot."""
    monkeypatch.setattr(snapshots, "SLACK", 1500)
    monkeypatch.setattr(snapshots, "OWN_ROW", 900)
    with file.open() as saver:
        talk(saver, "t", 3)
        whole = saver.get_tuple(at("t"))
    made = "SELECT checkpoint FROM wyrd_snapshots WHERE channel = 'messages' ORDER BY 1 DESC"
    (newest,) = file.run(made)[0]
    where = "FROM wyrd_snapshots WHERE checkpoint = ?"
    file.run(f"DELETE {where} AND channel = 'messages'", newest)
    assert file.run(f"SELECT 1 {where}", newest)
    with file.open() as saver:
        assert saver.get_tuple(at("t")) == whole
    assert not file.run(f"SELECT 1 {where}", newest)
    assert ("exact", newest) in file.run("SELECT kind, checkpoint FROM wyrd_heals")


def test_everything_lost_is_an_empty_thread_that_goes_on(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    """Where nothing can be read the thread is empty, that is said, and it can be used again."""
    file.run("UPDATE wyrd_checkpoints SET delta = zeroblob(100)")
    with file.open() as saver:
        assert saver.get_tuple(at("t")) is None
        assert any("nothing could be read" in r.getMessage() for r in caplog.records)
        talk(saver, "t", 1)
        assert saver.get_tuple(at("t")) is not None


def test_verify_restores_rows_and_makes_derived_tables_again(file: File) -> None:
    """verify() finds what no load looks at, repairs it, and then finds nothing."""
    with file.open() as saver:
        assert saver.verify().ok
    file.run("DELETE FROM wyrd_writes WHERE row = (SELECT min(row) FROM wyrd_writes)")
    file.run(
        "UPDATE wyrd_checkpoints SET step = 99 WHERE id = (SELECT min(id) FROM wyrd_checkpoints)"
    )
    file.run("DROP TABLE wyrd_todos")
    with file.open() as saver:
        report = saver.verify()
        assert {"wyrd_todos"} <= {each.table for each in report.damages}
        assert not report.ok
        saver.verify(repair=True)
        again = saver.verify(repair=True)
        assert not any(each.repairable for each in again.findings)
    assert file.run("SELECT count(*) FROM wyrd_todos") == [(0,)]


def test_a_repair_keeps_checkpoints_that_it_cannot_restore(file: File) -> None:
    """Where only some damage can be repaired the rest stays in its rows, and verify finds it."""
    ids = [row[0] for row in file.run("SELECT id FROM wyrd_checkpoints ORDER BY id DESC")]
    for id in ids[:2]:
        file.run("UPDATE wyrd_checkpoints SET delta = substr(delta, 1, 5) WHERE id = ?", id)
    file.run(
        "UPDATE wyrd_writes SET payload = substr(payload, 1, 5) "
        "WHERE row = (SELECT min(row) FROM wyrd_writes)"
    )
    with file.open() as saver:
        report = saver.verify(repair=True)
        assert not report.ok
        for _ in range(2):
            left = [each for each in saver.verify(repair=True).damages if not each.repaired]
            assert {each.place for each in left if each.table == "wyrd_checkpoints"} == {
                f"root, {id}" for id in ids[:2]
            }
            assert not any(each.repairable for each in left)
        talk(saver, "t", 1)  # the thread goes on, and another verb changes rows
        saver.thread("t").label("here")
        saver.verify(repair=True)
        assert not saver.verify().ok
    left = [row[0] for row in file.run("SELECT id FROM wyrd_checkpoints")]
    assert set(ids) <= set(left)
    exact = file.run("SELECT what FROM wyrd_heals WHERE kind = 'exact'")
    assert not [what for (what,) in exact if "wyrd_checkpoints" in what]


@pytest.mark.parametrize("column", ["sum", "ns", "id", "delta"])
def test_a_repair_without_parity_keeps_damaged_checkpoints(file: File, column: str) -> None:
    """The same where no group is left to say what is missing, whatever column is damaged."""
    id = file.run("SELECT max(id) FROM wyrd_checkpoints")[0][0]
    file.run("DELETE FROM wyrd_parity WHERE name IS NULL")
    file.run("UPDATE wyrd_parity SET tags = x'', data = x'', sum = 1")
    file.run(f"UPDATE wyrd_checkpoints SET {column} = x'0102' WHERE id = ?", id)
    rows = file.run("SELECT count(*) FROM wyrd_checkpoints")
    with file.open() as saver:
        for _ in range(3):
            assert not saver.verify(repair=True).ok
        talk(saver, "t", 1)
        saver.verify(repair=True)
        assert not saver.verify().ok
    assert file.run("SELECT count(*) FROM wyrd_checkpoints")[0][0] > rows[0][0]


@pytest.mark.parametrize("tags", [7, "text"])
def test_tags_of_another_type(file: File, tags: Any) -> None:
    """A group whose tags are no bytes names no row: beside checkpoints that are damaged beyond
    repair, the others load as before. (Postgres stores nothing else in that column.)"""
    ids = [row[0] for row in file.run("SELECT id FROM wyrd_checkpoints ORDER BY id DESC")]
    asked = {"config": at("t", ids[4]), "channels": ["trace"]}
    with file.open() as saver:
        sound = {id: saver.get_tuple(at("t", id)) for id in ids}
        history = saver.get_delta_channel_history(**asked)
    file.run("UPDATE wyrd_parity SET tags = ?", tags)
    file.run("UPDATE wyrd_checkpoints SET delta = x'00' WHERE id IN (?, ?)", *ids[:2])
    with file.open() as saver:
        for id in ids[:2]:
            with pytest.raises(CheckpointDamaged):
                saver.get_tuple(at("t", id))
        assert all(saver.get_tuple(at("t", id)) == sound[id] for id in ids[2:])
        assert saver.get_delta_channel_history(**asked) == history


def test_events_beside_a_row_whose_thread_is_of_another_type(file: File) -> None:
    """The feed goes on: a row that belongs to no thread is none of its events."""
    with file.open() as saver:
        before = saver.events(limit=1000)
    id = file.run("SELECT max(id) FROM wyrd_checkpoints")[0][0]
    file.run("UPDATE wyrd_checkpoints SET thread = 'text' WHERE id = ?", id)
    with file.open() as saver:
        after = saver.events(limit=1000)
    assert 0 < len(after) <= len(before)
    assert all(event in before for event in after)


def test_a_repair_does_not_forget_rows_that_are_missing(file: File) -> None:
    """Deleted rows that can't be rebuilt are found again after a repair."""
    ids = [row[0] for row in file.run("SELECT id FROM wyrd_checkpoints ORDER BY id DESC")]
    file.run("DELETE FROM wyrd_checkpoints WHERE id IN (?, ?)", *ids[:2])
    with file.open() as saver:
        for _ in range(2):
            report = saver.verify(repair=True)
            assert [each.table for each in report.damages if not each.repaired] == ["wyrd_parity"]
        found = saver.get_tuple(at("t"))
        assert found is not None
        assert found.checkpoint["id"] == ids[2]
        talk(saver, "t", 1)
        assert not saver.verify(repair=True).ok
        saver.delete_thread("t")
        assert saver.verify(repair=True).ok


def test_missing_writes_that_can_not_be_rebuilt_are_reported(file: File) -> None:
    """A repair, or a verb that needs them, records which checkpoint's tasks run again; once."""
    with file.open() as saver:
        head = saver.get_tuple(at("t"))
        assert head is not None
        for task in ("one", "two"):
            saver.put_writes(head.config, [("report", task)], task)
    id = head.checkpoint["id"]
    file.run("DELETE FROM wyrd_writes WHERE task IN ('one', 'two')")
    with file.open() as saver:
        assert saver.get_tuple(at("t")) == head
        assert "2 rows of task writes" in str(saver.verify())
        saver.copy_thread("t", "u")
        assert saver.get_tuple(at("u")) is not None
        assert saver.verify().ok
        talk(saver, "t", 1)
    heals = file.run("SELECT checkpoint, what FROM wyrd_heals WHERE kind = 'left_out'")
    assert (id, "what a task wrote is missing: it runs again") in heals


@pytest.mark.parametrize("column", ["first", "last", "data", "tags"])
@pytest.mark.parametrize("table", ["wyrd_writes", "wyrd_checkpoints"])
def test_a_row_that_is_missing_with_its_group_is_never_missed_silently(
    file: File, table: str, column: str
) -> None:
    """Where the group that names a missing row is damaged, that is said, and not called exact."""
    file.run(f"DELETE FROM {table} WHERE row = (SELECT max(row) - 3 FROM {table})")
    file.run(f"UPDATE wyrd_parity SET {column} = x'0102030405060708'")
    heals: list[Any] = []
    with file.open(hooks={"heal": heals.append}) as saver:
        saver.get_tuple(at("t"))
        [*saver.list(at("t"))]
    assert [each.detail["kind"] for each in heals if "parity" in each.detail["what"]] == [
        "left_out"
    ]


def test_what_a_prune_forgets_of_missing_rows_is_recorded(file: File) -> None:
    """A verb that deletes rows groups the others anew; what was missing before is said."""
    file.run("DELETE FROM wyrd_writes WHERE row < (SELECT min(row) + 2 FROM wyrd_writes)")
    with file.open() as saver:
        saver.prune(["t"], strategy="keep_latest")
        assert saver.verify().ok
    assert ("left_out", "2 rows are missing") in file.run("SELECT kind, what FROM wyrd_heals")


def test_an_answer_is_stored_twice(file: File) -> None:
    """A person's answer comes back also where another row of its group is lost with it."""
    with file.open() as saver:
        talk(saver, "u", 1, last="approve this")
        head = saver.get_tuple(at("u"))
        assert head is not None
        saver.put_writes(head.config, [("__resume__", ["yes"])], "a task")
        saver.put_writes(head.config, [("report", "done")], "another task")
    id = head.checkpoint["id"]
    assert len(file.run("SELECT 1 FROM wyrd_writes WHERE checkpoint = ?", id)) >= 3
    file.run("DELETE FROM wyrd_writes WHERE checkpoint = ?", id)
    with file.open() as saver:
        found = saver.get_tuple(at("u"))
    assert found is not None
    assert ("a task", "__resume__", ["yes"]) in (found.pending_writes or [])


def test_two_savers_of_one_thread_lose_no_parity(file: File) -> None:
    """Each process fills groups of its own; after one prunes, the other begins a new group."""
    with file.open() as one, file.open() as other:
        for saver in (one, other, one, other):
            talk(saver, "t", 1)
        assert one.verify().ok
        one.prune(["t"], strategy="keep_latest")
        head = other.get_tuple(at("t"))
        assert head is not None
        other.put_writes(head.config, [("report", "late")], "a task")
        talk(other, "t", 1)
        assert one.verify().findings == ()
    ids = [row[0] for row in file.run("SELECT id FROM wyrd_checkpoints")]
    for id in ids:
        before = file.run(select(CHECKPOINTS, "id"), id)
        file.run("DELETE FROM wyrd_checkpoints WHERE id = ?", id)
        with file.open() as saver:
            saver.verify(repair=True)
        assert file.run(select(CHECKPOINTS, "id"), id) == before


class Closing(sqlite3.Connection):
    """A connection that takes its time to close; `most`: how many did so at once."""

    now, most = 0, 0

    def close(self) -> None:
        cls = type(self)
        cls.now += 1
        cls.most = max(cls.most, cls.now)
        time.sleep(0.02)
        super().close()
        cls.now -= 1


def test_connections_close_one_after_the_other(file: File) -> None:
    """The last one moves the WAL into the file: of two at once neither would be the last."""

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(file.path, factory=Closing, check_same_thread=False)

    for _ in range(5):
        with file.open(connect=connect) as saver, ThreadPoolExecutor(8) as pool:
            assert all(pool.map(lambda _, s=saver: s.get_tuple(at("t")), range(40)))
        assert not Path(f"{file.path}-wal").exists()
    assert Closing.most == 1


# ---- every verb


def first(saver: WyrdSaver) -> str:
    return [each.checkpoint["id"] for each in saver.list(at("t"))][-3]


def exported(saver: WyrdSaver, folder: Path) -> Any:
    saver.thread("t").export(folder / "t.json", payloads=True)
    return saver.import_thread(folder / "t.json", "imported")


VERBS: dict[str, Callable[[WyrdSaver, Path], Any]] = {
    "working_state": lambda saver, _: saver.thread("t").working_state(),
    "history": lambda saver, _: [each.checkpoint_id for each in saver.thread("t").history()],
    "tree": lambda saver, _: len(saver.thread("t").tree().entries),
    "messages": lambda saver, _: saver.thread("t").messages(),
    "diff": lambda saver, _: str(saver.thread("t").diff(first(saver))),
    "label": lambda saver, _: saver.thread("t").label("here").checkpoint_id,
    "labels": lambda saver, _: [each.name for each in saver.thread("t").labels()],
    "get_label": lambda saver, _: saver.thread("t").get_label("before").name,  # type: ignore[union-attr]
    "unlabel": lambda saver, _: saver.thread("t").unlabel("before"),
    "rewind": lambda saver, _: saver.thread("t").rewind("before")
    and saver.get_tuple(at("t")).checkpoint["channel_values"],  # type: ignore[union-attr]
    "fork": lambda saver, _: saver.thread("t").fork("other").messages(),
    "edit": lambda saver, _: saver.thread("t").decide("so be it").description,
    "export": exported,
    "resume": lambda saver, _: saver.resume("t").brief,
    "list": lambda saver, _: len([*saver.list(at("t"))]),
    "prune": lambda saver, _: saver.prune(["t"]) or len([*saver.list(at("t"))]),
    "copy_thread": lambda saver, _: saver.copy_thread("t", "u") or saver.get_tuple(at("u")),
    "delete_thread": lambda saver, _: saver.delete_thread("t") or saver.get_tuple(at("t")),
    "reextract": lambda saver, _: saver.reextract("t"),
}  # fmt: skip
FAULTS = {
    "head": "UPDATE wyrd_checkpoints SET delta = substr(delta, 1, 5) "
    "WHERE id = (SELECT max(id) FROM wyrd_checkpoints)",
    "root": "UPDATE wyrd_checkpoints SET metadata = substr(metadata, 1, 5), events = x'00' "
    "WHERE id = (SELECT min(id) FROM wyrd_checkpoints)",
    "no head": "DELETE FROM wyrd_checkpoints WHERE id = (SELECT max(id) FROM wyrd_checkpoints)",
    "write": "UPDATE wyrd_writes SET payload = x'00' "
    "WHERE row = (SELECT max(row) FROM wyrd_writes)",
    "thread": "DELETE FROM wyrd_threads",
    "label": "UPDATE wyrd_labels SET seq = seq + 1024",
}


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a thread that is labelled at its beginning; tests copy it."""
    folder = tmp_path_factory.mktemp("talked")
    with File(folder).open() as saver:
        talk(saver, "t", 3)
        saver.thread("t").label("before", first(saver))
    return folder


_ON_A_SOUND_THREAD: dict[str, Any] = {}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_heals_what_a_load_heals(
    talked: Path, tmp_path: Path, verb: str, fault: str
) -> None:
    """With one damaged or deleted row a verb does what it does on a sound thread."""
    sound, struck = tmp_path / "sound", tmp_path / "struck"
    if verb not in _ON_A_SOUND_THREAD:
        shutil.copytree(talked, sound)
        with File(sound).open() as saver:
            _ON_A_SOUND_THREAD[verb] = VERBS[verb](saver, sound)
    expected = _ON_A_SOUND_THREAD[verb]
    shutil.copytree(talked, struck)
    file = File(struck)
    file.run(FAULTS[fault])
    heals: list[Any] = []
    with file.open(hooks={"heal": heals.append}) as saver:
        assert VERBS[verb](saver, struck) == expected
        if verb != "delete_thread":
            assert saver.verify(repair=True)
            assert saver.verify().ok


async def test_async_verbs_heal_as_well(file: File) -> None:
    """The async versions heal, and call async hooks with each heal, once."""
    head = file.run("SELECT max(id) FROM wyrd_checkpoints")[0][0]
    file.run(FAULTS["head"])
    heals: list[Any] = []

    async def heard(happening: Any) -> None:
        heals.append(happening)

    async with file.open(hooks={"heal": heard}) as saver:
        assert (await saver.thread("t").alabel("here")).checkpoint_id == head
        assert await saver.thread("t").amessages()
    assert [(each.checkpoint_id, each.detail["kind"]) for each in heals] == [(head, "exact")]


def test_a_verb_of_a_thread_that_is_not_there_changes_nothing(file: File) -> None:
    """A thread that never was is not found, and what is damaged elsewhere stays."""
    file.run(FAULTS["head"])
    with file.open() as saver:
        with pytest.raises(ThreadNotFound):
            saver.thread("x").label("here")
        with pytest.raises(ThreadNotFound):
            saver.thread("x").working_state()
        assert [*saver.list(at("x"))] == []
    assert not file.run("SELECT 1 FROM wyrd_heals")


def test_who_asks_for_a_thread_that_never_was_stores_nothing(postgres: Backend) -> None:
    """On Postgres too, where a thread's key needs no look-up; nor of a thread that was deleted."""
    with postgres.open() as saver:
        talk(saver, "t", 1)
        saver.delete_thread("t")
        for _ in range(2):
            for name in ("t", "x"):
                with pytest.raises(ThreadNotFound):
                    saver.thread(name).working_state()
        assert saver.verify().ok
    assert Rows(postgres.url, "wyrd_parity").all() == []


def test_with_on_damage_raise_verbs_raise(file: File) -> None:
    """Nothing is healed or written by a verb of a saver that raises."""
    file.run(FAULTS["head"])
    with file.open(on_damage="raise") as saver, pytest.raises(CheckpointDamaged):
        saver.thread("t").messages()
    assert not file.run("SELECT 1 FROM wyrd_heals")


def test_a_damaged_label_is_left_out_and_never_followed(
    file: File, caplog: pytest.LogCaptureFixture
) -> None:
    """Where a label can't be restored the others are listed, and nothing goes where it points."""
    with file.open() as saver:
        for name in ("one", "two"):
            saver.thread("t").label(name, first(saver))
    file.run(
        "UPDATE wyrd_labels SET checkpoint = (SELECT max(id) FROM wyrd_checkpoints) "
        "WHERE name = 'one'"
    )
    with file.open() as saver:
        assert [each.name for each in saver.thread("t").labels()] == ["two"]
        with pytest.raises(CheckpointDamaged):
            saver.thread("t").rewind("one")
        with pytest.raises(CheckpointDamaged):
            saver.thread("t").get_label("one")
        assert not saver.verify(repair=True).ok
    assert any("is left out" in each.getMessage() for each in caplog.records)


# ---- the parts


def test_one_flipped_bit_is_found_in_any_column() -> None:
    """The one bit that makes a row fit is found, in texts, bytes, integers and checksums."""
    row = summed(WRITES, WriteRow(7, "", "c", "task", 12, "p", None, 0, None, b"some bytes"))
    dice = random.Random(1)
    for name, change in {
        "checkpoint": "b", "task": "uask", "seq": 12 ^ 1 << 40, "payload": b"sole bytes",
        "sum": row.sum ^ 1 << dice.randrange(62),
    }.items():  # fmt: skip
        damaged = row._replace(**{name: change})
        assert flipped_back(WRITES, damaged) == row, name


def test_groups_survive_a_failed_write() -> None:
    """A write that is not stored is in no group; the next one of its thread starts a new one."""
    groups = parity.Groups()
    rows = [
        summed(WRITES, WriteRow(7, "", "c", "task", n, "", None, 0, None, bytes([n]) * 50))
        for n in range(3)
    ]
    steps, made = groups.planned([[Step(insert(WRITES), rows[0])]])
    assert steps[0].sql == parity.INSERT
    groups.keep(made)
    steps, made = groups.planned([[Step(insert(WRITES), rows[1])]])
    assert steps[0].sql == parity.UPDATE
    assert steps[0].must
    groups.drop(made)
    steps, _ = groups.planned([[Step(insert(WRITES), rows[2])]])
    assert steps[0].sql == parity.INSERT


def test_a_large_row_is_restored_where_one_place_is_damaged(file: File) -> None:
    """Rows too large to share a group are protected piece by piece."""
    data = random.Random(3).randbytes(600_000)
    with file.open() as saver:
        head = saver.get_tuple(at("t"))
        assert head is not None
        saver.put_writes(head.config, [("report", data)], "a task")
    file.run(
        "UPDATE wyrd_writes SET payload = CAST(substr(payload, 1, 300000) || x'0102030405' || "
        "substr(payload, 300006) AS BLOB) WHERE length(payload) > 500000"
    )
    with file.open() as saver:
        found = saver.get_tuple(at("t"))
        assert found is not None
        assert found.pending_writes is not None
        assert ("a task", "report", data) in found.pending_writes


def test_a_large_row_of_which_two_places_are_damaged_is_not_restored(file: File) -> None:
    """Nothing is made up: its task runs again. Another row of which a column is no text any more
    stands in nobody's way."""
    with file.open() as saver:
        head = saver.get_tuple(at("t"))
        assert head is not None
        saver.put_writes(head.config, [("report", random.Random(3).randbytes(600_000))], "large")
        saver.put_writes(head.config, [("report", "small")], "small")
        saver.put_writes(head.config, [("report", "sound")], "sound")
    for at_byte in (100_000, 300_000):
        file.run(
            f"UPDATE wyrd_writes SET payload = CAST(substr(payload, 1, {at_byte}) || x'0102' || "
            f"substr(payload, {at_byte + 3}) AS BLOB) WHERE task = 'large'"
        )
    file.run("UPDATE wyrd_writes SET path = CAST(x'ff00fe' AS TEXT) WHERE task = 'small'")
    with file.open() as saver:
        found = saver.get_tuple(at("t"))
        assert found is not None
        assert found.checkpoint == head.checkpoint
        assert [(task, value) for task, _, value in found.pending_writes or ()] == [
            ("small", "small"), ("sound", "sound")
        ]  # fmt: skip
        (lost,) = saver.thread("t").heals()[-1:]
        assert (lost.kind, lost.channel) == ("left_out", "large")


def test_deleted_rows_are_in_no_group(file: File) -> None:
    """What is pruned can't be rebuilt out of parity, and is not taken for lost."""
    with file.open() as saver:
        saver.prune(["t"], strategy="keep_latest")
        assert saver.verify().ok
        head = saver.get_tuple(at("t"))
    assert file.run("SELECT count(*) FROM wyrd_checkpoints WHERE ns = ''") == [(1,)]
    assert head is not None
    assert logging.getLogger("langgraph_wyrd")


Call = Callable[..., Any]


# A head that nothing brings back: verbs go on from its nearest intact ancestor, and say so.


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
    first. Where nothing brings it back, a fork goes around it, and `verify` reports the copy."""
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


async def test_the_brief_of_resume_names_damage(durable: Backend, call: Call) -> None:
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


async def test_the_brief_counts_the_damage_that_it_does_not_name(
    durable: Backend, call: Call
) -> None:
    """Three losses are named, and how many more there are is said."""
    with durable.open() as saver:
        talk(saver, "t", 1)
    (thread,) = stored(durable.url, THREADS)
    blank = HealRow(thread.key, "", "", "", "", "left_out", "2026-01-01T00:00:00+00:00", None, "")
    made = [blank._replace(id=f"h{n}", checkpoint=f"cp{n}") for n in range(5)]
    store(durable.url, HEALS, *(summed(HEALS, each) for each in made[:3]))
    brief = (await call(durable.open(), "resume", "t")).brief
    assert "cp2" in brief
    assert "more" not in brief.partition("\nDamage: ")[2].partition("\n")[0]
    store(durable.url, HEALS, *(summed(HEALS, each) for each in made[3:]))
    brief = (await call(durable.open(), "resume", "t")).brief
    assert "cp2" in brief
    assert "cp3" not in brief
    assert "2 more" in brief


async def test_a_thread_that_lost_its_checkpoints_hides_no_other(
    durable: Backend, call: Call
) -> None:
    """`latest` and `resume` without an id give the newest thread of which there is something."""
    with durable.open() as saver:
        talk(saver, "whole", 1)
        talk(saver, "lost", 1)
    with raw(durable.url) as connection:
        connection.execute(
            "DELETE FROM wyrd_checkpoints WHERE thread = "
            "(SELECT key FROM wyrd_threads WHERE thread_id = 'lost')"
        )
        connection.execute("DELETE FROM wyrd_parity")
    saver = durable.open()
    for verb in ("latest", "resume"):
        assert (await call(saver, verb)).thread_id == "whole"


ALL_GONE = "its checkpoints are missing from the database"


@pytest.mark.parametrize("parity", ["parity", "no parity"])
async def test_a_thread_whose_checkpoints_are_all_deleted(
    durable: Backend, call: Call, tmp_path: Path, parity: str
) -> None:
    """What is still known is given, with the damage; everything else says that they are missing,
    never that there is no such thread. A new run goes on with what was declared since."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        id = saver.thread("t").history()[1].checkpoint_id
        saver.thread("t").label("before")
    with raw(durable.url) as connection:
        for table in ("checkpoints", "snapshots", *(["parity"] if parity != "parity" else [])):
            connection.execute(f"DELETE FROM wyrd_{table}")
    saver = durable.open()
    thread = saver.thread("t")
    for verb, args in (("resume", ["t"]), ("resume", []), ("latest", [])):
        found = await call(saver, verb, *args)
        assert found.thread_id == "t"
        assert "\nDamage: nothing of the graph's state can be read: it would start" in found.brief
        assert ALL_GONE in found.brief
        assert ALL_GONE in found.state.reason
    assert ALL_GONE in (await call(thread, "working_state")).brief()
    assert ALL_GONE in (await call(saver, "threads"))[0].reason
    todo = await call(thread, "add_todo", "ask for the backup")
    decision = await call(thread, "decide", "begin again")
    state = await call(thread, "working_state")
    assert [each.content for each in state.open_todos] == ["ask for the backup"]
    for on, verb, *args in (
        (thread, "label", "x"), (thread, "fork", "t2"), (thread, "diff", None),
        (thread, "diff", id), (thread, "diff", "before"), (thread, "history"),
        (thread, "tree"), (thread, "messages"),
        (thread, "rewind", id), (thread, "working_state", id),
        (saver, "reextract", "t"), (saver, "resume", {"configurable": {"thread_id": "t",
        "checkpoint_id": id}}),
    ):  # fmt: skip
        with pytest.raises(CheckpointDamaged, match=ALL_GONE):
            await call(on, verb, *args)
    for on, verb, *args in (
        (thread, "export", tmp_path / "t.json"), (saver, "copy_thread", "t", "t3"),
    ):  # fmt: skip
        with pytest.raises(CheckpointDamaged, match=r"missing.*verify\(\) tells"):
            await call(on, verb, *args)
    with pytest.raises(CheckpointDamaged, match=ALL_GONE):
        await call(thread, "fork", "t2", transform=lambda state: state)
    saver = durable.open()
    talk(saver, "t", 1)
    again = await call(saver.thread("t"), "working_state")
    assert todo.id in {each.id for each in again.open_todos}
    assert decision.id in {each.id for each in again.open_loops}
    assert len(await call(saver.thread("t"), "history")) > 1
    assert ALL_GONE not in (await call(saver, "threads"))[0].reason


@pytest.mark.parametrize("parity", ["parity", "no parity"])
async def test_verify_reports_checkpoints_that_are_all_deleted(
    durable: Backend, call: Call, parity: str
) -> None:
    """Before a repair and after it, whether the parity that names them is there or not. What was
    never run has lost nothing."""
    with durable.open() as saver:
        talk(saver, "t", 1)
        saver.thread("unborn").add_todo("begin")
    with raw(durable.url) as connection:
        for table in ("checkpoints", "snapshots", *(["parity"] if parity != "parity" else [])):
            connection.execute(
                f"DELETE FROM wyrd_{table} WHERE thread = "
                "(SELECT key FROM wyrd_threads WHERE thread_id = 't')"
            )
    saver = durable.open()
    for options in ({}, {"repair": True}, {"repair": True}, {}):
        report = await call(saver, "verify", **options)
        left = [each for each in report.damages if not each.repaired]
        assert {each.thread_id for each in left} == {"t"}, options
        assert not report.ok
        assert any(each.remedy.startswith("stays") for each in left)
    await call(saver, "delete_thread", "t")
    assert (await call(saver, "verify", repair=True)).ok
    assert (await call(saver, "verify")).ok


# Rows with right checksums that hold no value: somebody made them.


class State(TypedDict, total=False):
    held: Any
    log: Annotated[list[Any], operator.add]


def graph(saver: Any, ran: list[str] | None = None) -> Any:
    def node(state: State) -> State:
        if ran is not None:
            ran.append("node")
        return {"log": ["one more"]}

    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    return builder.compile(checkpointer=saver)


class Vault(JsonPlusSerializer):
    """A user's own, which finds no more what a value stands for."""

    away = False

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        value = super().loads_typed(data)
        if self.away and value == "poison":
            raise KeyError("it is gone")
        return value


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors take no notes there")
async def test_a_list_names_what_a_serde_cannot_load(durable: Backend, call: Any) -> None:
    """Its own error, as it was, and whose value it met."""
    with durable.open(serde=Vault()) as saver:
        for name in ("t0", "t1", "t2"):
            graph(saver).invoke({"held": "poison" if name == "t1" else "fine"}, at(name))
    vault = Vault()
    vault.away = True
    saver = durable.open(serde=vault)
    for arguments in (("list", None), ("get_tuple", at("t1"))):
        with pytest.raises(KeyError, match="it is gone") as caught:
            await call(saver, *arguments)
        assert ["of thread 't1'" in each for each in caught.value.__notes__] == [True]


@pytest.mark.parametrize("serde", ["plain", "encrypted"])
def test_a_pickle_whose_class_is_gone(durable: Backend, serde: str, tmp_path: Any) -> None:
    """Who trusts pickles has it kept, too, and whole again when the class returns."""

    def opened() -> WyrdSaver:
        pickles = JsonPlusSerializer(pickle_fallback=True)
        plain = serde == "plain"
        return durable.open(serde=pickles if plain else EncryptedSerializer(Ciphered(), pickles))

    module = ModuleType("pickled_app")
    exec("class Odd:\n    def __init__(self, x): self.x = x\n", module.__dict__)
    sys.modules["pickled_app"] = module
    try:
        saver = opened()
        first = put(saver, "t", {"held": module.Odd(3)})
        saver.close()
        del sys.modules["pickled_app"]
        saver = opened()
        found = saver.get_tuple(at("t"))
        held = found.checkpoint["channel_values"]["held"]
        assert isinstance(held, Kept)
        assert "pickled_app" in held.kept_why
        assert saver.thread("t").heals() == []
        put(saver, "t", {"held": held, "other": 1}, parent=first)
        saver.thread("t").export(tmp_path / "t.json", payloads=True)
        saver.import_thread(tmp_path / "t.json", "u")
        saver.close()
    finally:
        sys.modules["pickled_app"] = module
    try:
        saver = opened()
        for thread in ("t", "u"):
            assert saver.get_tuple(at(thread)).checkpoint["channel_values"]["held"].x == 3
    finally:
        del sys.modules["pickled_app"]


class Bulk(TypedDict, total=False):
    log: str
    n: Annotated[int, operator.add]


@pytest.mark.parametrize("verified", [True, False], ids=["verify", "a load of the older one"])
def test_an_older_snapshots_damage_leaves_the_newer_one(durable: Backend, verified: bool) -> None:
    """A snapshot that holds what no delta holds any more is not dropped for another's damage."""
    builder = StateGraph(Bulk).add_edge(START, "a")
    builder.add_node("a", lambda _: {"log": random.randbytes(4000).hex(), "n": 1})
    saver = durable.open()
    for _ in range(20):
        builder.compile(saver).invoke({"n": 0}, at("t"))
    saver.close()
    with raw(durable.url) as database:
        ids = [row[0] for row in database.execute("SELECT id FROM wyrd_checkpoints ORDER BY id")]
        held = {row[0] for row in database.execute("SELECT checkpoint FROM wyrd_snapshots")}
        older, mark = min(held), "%s" if durable.name == "postgres" else "?"
        lose = f"UPDATE wyrd_checkpoints SET delta = {mark} WHERE id = {mark}"
        for id in ids[4:10]:
            database.execute(lose, (b"\0", id))
        spoil = f"UPDATE wyrd_snapshots SET data = {mark} WHERE checkpoint = {mark}"
        database.execute(spoil, (b"\0", older))
    assert len(held) > 1
    saver = durable.open()
    if verified:
        saver.verify(repair=True)
    else:
        with pytest.raises(CheckpointDamaged):
            saver.get_tuple(at("t", older))
    assert builder.compile(durable.open()).get_state(at("t")).values["n"] == 20
