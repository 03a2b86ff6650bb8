"""Damage that hardly comes: cells of other types in the small tables, two things at once, bounds of
searches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from conftest import Backend
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd import errors
from langgraph_wyrd.healing import copies, flips
from langgraph_wyrd.healing.mending import Mender
from langgraph_wyrd.parts import verified
from langgraph_wyrd.plans import answers, loading, marks
from langgraph_wyrd.plans.loading import Write
from langgraph_wyrd.store import strands
from langgraph_wyrd.store.thread_sums import over
from langgraph_wyrd.store.values import Codec
from tests.damage import Rows, at, garbled, splices_of, spoil_splice, talk
from tests.rows import put
from tests.test_healing_branches import (
    GROWS,
    IDS,
    checkpoints,
    deltas,
    garble,
    people,
    rows_of,
    spoil,
    strand,
)

pytestmark = pytest.mark.inside

CODEC = Codec(JsonPlusSerializer())


def run(saver: Any, plan: Any) -> Any:
    return saver._core.run(lambda core: core.read(plan))


# ---- cells of other types


@pytest.mark.parametrize("held", [b"\x00\xff", 3.75, 7])
@pytest.mark.parametrize("table", ["wyrd_names", "wyrd_threads"])
def test_a_name_of_another_type(sqlite: Backend, table: str, held: Any) -> None:
    """It is nobody's: the thread is found by the other of its two rows."""
    saver = sqlite.open()
    talk(saver, "t", 1)
    was = saver.get_tuple(at("t"))
    Rows(sqlite.url, table).run("UPDATE {} SET thread_id = ?", held)
    saver = sqlite.open()
    assert not saver.verify().ok
    assert saver.get_tuple(at("t")) == was
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings
    assert [row["thread_id"] for row in Rows(sqlite.url, table).all()] == ["t"]


@pytest.mark.parametrize("column", ["name", "user_id"])
@pytest.mark.parametrize("held", [b"\x00\xff", 3.75])
def test_a_users_key_of_another_type(sqlite: Backend, column: str, held: Any) -> None:
    """It is left out, and told; the others are there."""
    with sqlite.open() as saver:
        saver.user("ann").set("city", "Ghent")
        saver.user("ann").set("tea", "green")
    Rows(sqlite.url, "wyrd_user_data").run(
        f"UPDATE {{}} SET {column} = ? WHERE name = 'city'", held
    )
    with sqlite.open() as saver:
        assert saver.user("ann").items() == {"tea": "green"}
        assert [each.table for each in saver.verify().damages] == ["wyrd_user_data"]


@pytest.mark.parametrize("held", [b"\x00\xff", 3.75, "no time"])
def test_a_time_of_another_type(sqlite: Backend, held: Any) -> None:
    """When a label was set is not known any more; its checkpoint is."""
    checkpoints(sqlite, {1: None, 2: 1})
    with sqlite.open() as saver:
        saver.thread("t").label("here", IDS[1])
    Rows(sqlite.url, "wyrd_labels").run(
        "UPDATE {} SET created_at = ?, context = '{', sum = 5", held
    )
    with sqlite.open() as saver:
        assert not saver.verify().ok
        (label,) = saver.thread("t").labels()
        assert (label.name, label.checkpoint_id) == ("here", IDS[1])
        assert [heal.kind for heal in saver.thread("t").heals()] == ["left_out"]


@pytest.mark.parametrize("column", ["body", "item", "source"])
def test_words_that_are_no_text(sqlite: Backend, column: str) -> None:
    """What was said there is read anew out of the checkpoint."""
    with sqlite.open() as saver:
        talk(saver, "t", 2)
        was = saver.thread("t").working_state()
    rows = Rows(sqlite.url, "wyrd_events")
    (first, *_) = rows.all("ORDER BY checkpoint, n")
    rows.run(
        f"UPDATE {{}} SET {column} = CAST(x'ff7b' AS TEXT) WHERE checkpoint = ? AND n = ?",
        first["checkpoint"], first["n"],
    )  # fmt: skip
    with sqlite.open() as saver:
        now = saver.thread("t").working_state()
        assert (now.todos, now.intentions) == (was.todos, was.intentions)
        assert [heal.kind for heal in saver.thread("t").heals()] == ["exact"]
        assert saver.verify(repair=True).ok


# ---- a thread's rows


def test_a_name_with_a_flipped_bit(durable: Backend) -> None:
    """Its row in wyrd_names is lost, and no public table calls it by its name: the key proves what
    it was called."""
    with durable.open() as saver:
        put(saver, "the thread", {"n": 1}, id=IDS[1])
        was = saver.get_tuple(at("the thread"))
    for table in ("wyrd_names", "wyrd_context"):
        assert Rows(durable.url, table).run("DELETE FROM {}")
    Rows(durable.url, "wyrd_threads").run("UPDATE {} SET thread_id = 'thd thread'")
    with durable.open() as saver:
        assert saver.get_tuple(at("the thread")) == was
        assert [each.thread_id for each in saver.threads()] == ["the thread"]
        assert saver.verify().ok


def test_whose_a_thread_is_where_its_head_is_damaged(durable: Backend) -> None:
    """The checkpoint before it says so."""
    with durable.open() as saver:
        config = put(saver, "t", {"n": 1}, id=IDS[1], metadata={"user_id": "ann"})
        put(saver, "t", {"n": 2}, id=IDS[2], parent=config, metadata={"user_id": "ann"})
    spoil(durable, 2, metadata='{"user_id": "bob"}')
    Rows(durable.url, "wyrd_threads").run("DELETE FROM {}")
    with durable.open() as saver:
        assert saver.for_user("ann").get_tuple(at("t", user="ann")).checkpoint["id"] == IDS[1]
    assert [row["user_id"] for row in Rows(durable.url, "wyrd_threads").all()] == ["ann"]


def test_two_names_for_one_number(durable: Backend) -> None:
    """Both rows are lost, and the public tables call it by two names: neither is sure."""
    with durable.open() as saver:
        talk(saver, "t", 1)
        for what in ("call Ann", "call Ben", "call Cem", "call Dan"):
            saver.thread("t").add_todo(what)
    for table in ("wyrd_threads", "wyrd_names", "wyrd_context", "wyrd_open_loops"):
        Rows(durable.url, table).run("DELETE FROM {}")
    Rows(durable.url, "wyrd_intentions").run("DELETE FROM {}")
    todos = Rows(durable.url, "wyrd_todos")
    ids = [row["id"] for row in todos.all()]
    for id in ids[: len(ids) // 2]:
        todos.run("UPDATE {} SET thread_id = 'u' WHERE id = ?", id)
    with durable.open() as saver:
        for report in (saver.verify(), saver.verify(repair=True)):
            assert not report.ok
            assert "nothing proves whose it was" in str(report)
        assert saver.get_tuple(at("t")) is saver.get_tuple(at("u")) is None


# ---- threads that go while they are looked at


@pytest.mark.parametrize("repair", [False, True])
async def test_deleted_while_it_is_looked_for(durable: Backend, call: Any, repair: bool) -> None:
    """It was listed, and is not there any more: nothing is wrong with it."""
    saver = durable.open()
    for thread in ("t", "u"):
        talk(saver, thread, 1)
    other = durable.open()
    seen: list[tuple[int, int]] = []

    def progress(done: int, of: int) -> None:
        seen.append((done, of))
        other.delete_thread("u")

    report = await call(saver, "verify", repair=repair, progress=progress)
    assert report.ok, str(report)
    assert seen == [(1, 2), (2, 2)]


def test_deleted_before_it_is_repaired(durable: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was wrong with it is gone with it."""
    saver, other = durable.open(), durable.open()
    talk(saver, "t", 1)
    Rows(durable.url, "wyrd_todos").run("DELETE FROM {}")
    (event, *_) = Rows(durable.url, "wyrd_events").all()
    Rows(durable.url, "wyrd_events").run(
        "UPDATE {} SET body = '{}' WHERE checkpoint = ? AND n = ?", event["checkpoint"], event["n"]
    )
    alone = verified.alone

    async def after_a_deletion(core: Any, thread_id: str, plan: Any) -> Any:
        monkeypatch.undo()
        await other.adelete_thread("t")
        return await alone(core, thread_id, plan)

    monkeypatch.setattr(verified, "alone", after_a_deletion)
    report = saver.verify(repair=True)
    assert report.findings
    assert all(each.repaired for each in report.findings if each.damage)
    assert not saver.verify().findings
    assert saver.get_tuple(at("t")) is None


# ---- answers


@pytest.mark.parametrize("copy", [b"\0", b"\0\xc1", b"\0" + ormsgpack.packb(["l"])])
def test_a_copy_of_answers_that_is_none(copy: bytes) -> None:
    """Somebody made it: there are no answers beside the question."""
    _, data = CODEC.seal_value({"q": "May I?"}, "__interrupt__")
    block = CODEC.block([*CODEC.open_block(data), copy])
    row = ("task", marks.INTERRUPT, "__interrupt__", "", "w", block)
    write = Write(*row, loading.write_sum("", "c", *row))
    assert answers.had_back(CODEC, "", "c", write) is None


# ---- values


def test_a_path_into_a_lost_value(durable: Backend) -> None:
    """Where something changed inside of it can't be told: that is said, and where it was."""
    with durable.open() as saver:
        first = put(saver, "t", {"files": {"a": "text " * 90}}, id=IDS[1])
        put(saver, "t", {"files": {"a": "words " * 90}}, id=IDS[2], parent=first)
    for row in splices_of(durable.url, "t", b"text text"):
        spoil_splice(durable.url, row, data=garbled(row["data"]), count=9)
    with durable.open() as saver, pytest.raises(errors.CheckpointDamaged, match="'t'"):
        saver.thread("t").first_change('files["a"]', IDS[1])


def test_whose_strand_it_is_where_a_frame_is_none(sqlite: Backend) -> None:
    """A frame that somebody made is no frame, and those behind it are none either."""
    checkpoints(sqlite, {1: None, 2: 1})
    (row,) = Rows(sqlite.url, "wyrd_checkpoints").all("WHERE id = ?", IDS[1])
    (frame,) = Rows(sqlite.url, "wyrd_splices").all(
        "WHERE strand = ? AND seq = ?", row["strand"], row["seq"]
    )
    keys = [frame[name] for name in ("strand", "seq", "part", "keep", "cut", "count")]
    made = strands.splice(*keys, b"\xc1 no frame", 0)
    spoil_splice(sqlite.url, frame, data=made.data, sum=made.sum ^ over(1), chain=made.chain)
    with sqlite.open() as saver:
        mender = Mender(saver._codec, 1, "t")
        assert run(saver, lambda: mender.owner(99)) == ("", "", "")
        assert run(saver, lambda: mender.owner(row["strand"])) == ("", IDS[1], "")


def test_an_export_of_messages_in_deltas(durable: Backend, tmp_path: Path) -> None:
    """They are rebuilt from what was written, where the value that they began with can't be."""
    with durable.open() as saver:
        deltas(saver, {2: people("x")})
        saver.thread("t").export(tmp_path / "was")
    for row in splices_of(durable.url, "t", b"x x x"):
        spoil_splice(durable.url, row, data=garbled(row["data"]))
    with durable.open() as saver:
        saver.thread("t").export(tmp_path / "now")
    assert json.loads((tmp_path / "now").read_text())["thread_id"] == "t"


# ---- bounds


def test_a_search_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """By how many runs it tries, and by how much these hold."""
    right, place = strand(GROWS)
    elsewhere = rows_of(GROWS[:2])
    bad = [garble(right[0]), *right[1:]]
    run_ = list(elsewhere.runs(1))
    assert len(run_) > 2
    for name in ("_MOST_RUNS", "_MOST_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(copies, name, 1)
            assert 0 < len(list(elsewhere.runs(1))) < len(run_)
    assert bad, place


def test_what_was_searched_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is not searched again, as long as there is room to know of it."""
    monkeypatch.setattr(flips, "_MOST_VAIN", 2)
    monkeypatch.setattr(flips, "_vain", set())
    searched: list[str] = []
    for what in ("a", "a", "b", "a", "c", "a", "a"):
        assert flips.unless_vain(what, lambda what=what: searched.append(what)) is None
    assert searched == ["a", "b", "c", "a"]
