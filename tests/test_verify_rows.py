"""Whatever the rows of a thread are like, a report tells of all threads, and a repair loses nothing
that a load had back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from langgraph_wyrd import KeyRing, errors
from langgraph_wyrd.healing import alike, verifying
from tests.conftest import Backend
from tests.damage import Rows, at, flipped, garbled, splices_of, spoil_splice, talk

pytestmark = pytest.mark.inside

RING = KeyRing({"k": b"k" * 32})
LAST = 1 << 30  # a number that no part has


# ---- one thread never takes the report of the others away


def breaking(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, error: Exception) -> None:
    """What is done for thread 1 in one place ends with an error."""
    right = getattr(module, name)

    def wrong(*of: Any, **more: Any) -> Any:
        if of[1] == 1 or getattr(of[2], "thread_id", "") == "t":
            raise error
        return right(*of, **more)

    monkeypatch.setattr(module, name, wrong)


def two(durable: Backend) -> Any:
    """A saver with threads t and u, each of which lacks its titles."""
    saver = durable.open()
    for thread in "tu":
        talk(saver, thread, 1)
    Rows(durable.url, "wyrd_threads").run("UPDATE {} SET title = 'x'")
    Rows(durable.url, "wyrd_checkpoints").run("UPDATE {} SET step = 77 WHERE step = 1")
    return saver


ERRORS = [TypeError("what is this"), errors.CheckpointDamaged("it is missing")]


@pytest.mark.ends_early
@pytest.mark.parametrize("error", ERRORS)
async def test_a_look_that_ends_early(
    durable: Backend, monkeypatch: pytest.MonkeyPatch, call: Any, error: Exception
) -> None:
    """It is a damage of its thread that says so, beside what was found until then; the other thread
    is looked at, and both are repaired as far as they were."""
    saver = two(durable)
    breaking(monkeypatch, alike, "unlike", error)
    report = await call(saver, "verify")
    assert report.threads == 2
    assert [each.table for each in report.damages if each.thread_id == "t"] == [
        "wyrd_checkpoints", "wyrd_threads",
    ]  # fmt: skip
    ended = [each for each in report.damages if each.place == "the look"]
    assert [(each.thread_id, each.repairable) for each in ended] == [("t", False)]
    assert str(error) in ended[0].what
    assert len([each for each in report.damages if each.thread_id == "u"]) == 2
    repaired = await call(saver, "verify", repair=True)
    assert [each for each in repaired.damages if not each.repaired] == ended
    monkeypatch.undo()
    assert {each.thread_id for each in saver.verify().damages} == {"t"}
    assert (await call(saver, "verify", repair=True)).ok


@pytest.mark.ends_early
async def test_a_repair_that_ends_early(
    durable: Backend, monkeypatch: pytest.MonkeyPatch, call: Any
) -> None:
    """What was found is told as it is, and the other thread is repaired."""
    saver = two(durable)
    breaking(monkeypatch, verifying, "repaired", TypeError("what is this"))
    report = await call(saver, "verify", repair=True)
    left = [each for each in report.damages if not each.repaired]
    assert {each.thread_id for each in left} == {"t"}
    assert "TypeError: what is this" in str(left[-1])
    assert len([each for each in report.damages if each.repaired]) == 2


@pytest.mark.ends_early
@pytest.mark.parametrize("error", [errors.DatabaseGone("gone"), errors.ConnectionLost("lost")])
async def test_errors_of_the_database_are_none_of_a_thread(
    durable: Backend, monkeypatch: pytest.MonkeyPatch, call: Any, error: Exception
) -> None:
    """A database that is not there is no damage of what it holds."""
    saver = two(durable)
    for module, name in ((alike, "unlike"), (verifying, "repaired")):
        with monkeypatch.context() as patch:
            breaking(patch, module, name, error)
            with pytest.raises(type(error)):
                await call(saver, "verify", repair=True)
    with monkeypatch.context() as patch:
        breaking(patch, alike, "unlike", MemoryError())
        with pytest.raises(MemoryError):
            await call(saver, "verify")


# ---- cells of another type


COLUMNS = ("strand", "seq", "part", "keep", "cut", "count", "data", "sum", "chain")


@pytest.mark.parametrize("column", COLUMNS)
def test_a_cell_of_another_type(sqlite: Backend, column: str) -> None:
    """SQLite takes any: it is damage like any other, and what loads have back a repair writes."""
    saver = sqlite.open()
    talk(saver, "t", 1)
    was = list(saver.list(at("t")))
    rows = Rows(sqlite.url, "wyrd_splices")
    splices = rows.all("ORDER BY strand, seq, part")
    lost = set()
    for held in ("text", "", b"\x00\xff", 3.75):
        for row in (splices[0], splices[-1]):
            spoil_splice(sqlite.url, row, **{column: held})
            before = sqlite.open()
            healed = [each.checkpoint for each in before.list(at("t"))]
            before.close()
            report = saver.verify()
            assert not [each for each in report.findings if each.place == "the look"], str(report)
            assert (column, held) == ("data", "") or not report.ok
            saver.verify(repair=True)
            again = saver.verify()
            assert not [each for each in again.damages if each.repairable], str(again)
            after = sqlite.open()
            assert [each.checkpoint for each in after.list(at("t"))] == healed
            after.close()
            if healed != [each.checkpoint for each in was]:
                lost.add(column)
            rows.run("DELETE FROM {} WHERE thread = 1")
            for each in splices:
                marks = ", ".join("?" * len(each))
                rows.run(f"INSERT INTO {{}} ({', '.join(each)}) VALUES ({marks})", *each.values())
    assert lost <= {"data"}, "all but the bytes themselves is had back"
    assert [each.checkpoint for each in saver.list(at("t"))] == [each.checkpoint for each in was]


@pytest.mark.parametrize("held", ["text", b"\x00\xff", 3.75])
@pytest.mark.parametrize("column", ["strand", "seq", "part"])
def test_a_key_of_another_type_and_more(sqlite: Backend, column: str, held: Any) -> None:
    """Its bytes are wrong as well: nothing says where it belongs, and a repair moves it away."""
    saver = sqlite.open()
    talk(saver, "t", 1)
    row = Rows(sqlite.url, "wyrd_splices").all("ORDER BY strand, seq, part")[-1]
    spoil_splice(sqlite.url, row, **{"data": garbled(row["data"]), column: held})
    found = [each for each in saver.verify().damages if "of other types" in each.what]
    assert [each.repairable for each in found] == [True]
    saver.verify(repair=True)
    again = saver.verify()
    assert not [each for each in again.damages if each.repairable or "types" in each.what]
    assert Rows(sqlite.url, "wyrd_quarantine").all()


@pytest.mark.parametrize("column", ["ns", "id", "ts", "seq", "parent"])
def test_loads_of_a_checkpoint_of_another_type(sqlite: Backend, column: str) -> None:
    """None of them ends with an error, and the thread goes on."""
    saver = sqlite.open()
    talk(saver, "t", 2)
    rows = Rows(sqlite.url, "wyrd_checkpoints")
    newest = rows.all("ORDER BY id DESC LIMIT 1")[0]["id"]
    rows.run(f"UPDATE {{}} SET {column} = ? WHERE id = ?", b"\x00\xff", newest)
    saver = sqlite.open()
    assert saver.get_tuple(at("t"))
    assert list(saver.list(at("t")))
    thread = saver.thread("t")
    assert thread.heals()
    assert thread.working_state()
    assert thread.history()
    assert thread.tree()
    talk(saver, "t", 1)
    assert saver.get_tuple(at("t")).checkpoint["id"] > newest


@pytest.mark.ends_early
@pytest.mark.parametrize("column", ["ns", "id", "ts"])
def test_a_checkpoint_of_another_type(sqlite: Backend, column: str) -> None:
    """Its row is moved away or stays, the look is made to its end, and the others are as before."""
    saver = sqlite.open()
    talk(saver, "t", 2)
    rows = Rows(sqlite.url, "wyrd_checkpoints")
    ids = [row["id"] for row in rows.all("ORDER BY id")]
    for id in (ids[1], ids[-1]):
        rows.run(f"UPDATE {{}} SET {column} = ? WHERE id = ?", b"\x00\xff", id)
        saver.verify(repair=True)
        report = saver.verify()
        assert not [each for each in report.damages if each.repairable], str(report)
        assert not [each for each in report.damages if each.place == "the look"], str(report)


# ---- a splice whose part is another


async def states(call: Any, saver: Any, ids: list[str]) -> list[Any]:
    """Every checkpoint as it is loaded by its id; None for one that can't be."""
    found = []
    for id in ids:
        try:
            found.append((await call(saver, "get_tuple", at("t", id))).checkpoint)
        except errors.CheckpointDamaged:
            found.append(None)
    return found


@pytest.mark.parametrize("keys", [None, RING])
@pytest.mark.parametrize("part", [-1, 1, 7, LAST])
async def test_a_splice_of_another_part(
    durable: Backend, call: Any, part: int, keys: KeyRing | None
) -> None:
    """A load has it back to the last bit, of frames and of values; so does a repair, which leaves
    nothing in its old place and finds nothing when it is run again. Sealed, only a copy tells what
    it was: what a load makes of it a repair never lowers."""
    saver = durable.open(keys=keys)
    talk(saver, "t", 1)
    ids = [each.config["configurable"]["checkpoint_id"] for each in saver.list(at("t"))]
    was = await states(call, saver, ids)
    saver.close()
    held = Rows(durable.url, "wyrd_splices").all("ORDER BY strand, seq, part")
    for row in (held[0], held[len(held) // 2], held[-1]):
        spoil_splice(durable.url, row, part=part)
        with durable.open(keys=keys) as saver:
            healed = await states(call, saver, ids)
            assert keys or healed == was
        with durable.open(keys=keys) as saver:
            report = await call(saver, "verify", repair=True)
            assert report.damages
            assert keys or report.ok, str(report)
            again = await call(saver, "verify")
            assert not [each for each in again.damages if each.repairable or keys is None]
            assert await states(call, saver, ids) == healed
            assert keys or not Rows(durable.url, "wyrd_quarantine").all()
    again = Rows(durable.url, "wyrd_splices").all("ORDER BY strand, seq, part")
    places = [[[row[name] for name in ("strand", "seq", "part")] for row in rows]
              for rows in (again, held)]  # fmt: skip
    assert keys or places[0] == places[1]


def test_a_row_in_the_way(durable: Backend) -> None:
    """One that belongs nowhere, where another one has to go, is moved away and not written over."""
    saver = durable.open()
    talk(saver, "t", 1)
    was = list(saver.list(at("t")))
    (row,) = splices_of(durable.url, "t", b"end-3")
    spoil_splice(durable.url, row, part=7)
    names = [name for name in row if name != "data"]
    junk = garbled(row["data"])
    Rows(durable.url, "wyrd_splices").run(
        f"INSERT INTO {{}} ({', '.join(names)}, data) VALUES ({', '.join('?' * len(row))})",
        *(row[name] for name in names), junk,
    )  # fmt: skip
    assert saver.verify(repair=True).ok
    (kept,) = Rows(durable.url, "wyrd_quarantine").all()
    assert kept["origin"] == "wyrd_splices"
    assert not saver.verify().damages
    assert list(saver.list(at("t"))) == was


# ---- what is sealed


def test_a_sealed_write_is_put_right(durable: Backend) -> None:
    """Of what stands in a splice as well; a repair writes it as loads have it, sealed again."""
    saver = durable.open(keys=RING)
    talk(saver, "t", 1)
    rows = Rows(durable.url, "wyrd_writes")
    row = rows.all("WHERE channel = 'messages' ORDER BY checkpoint, task")[1]
    where = (row["checkpoint"], row["task"], row["idx"])
    text = "UPDATE {} SET data = ? WHERE checkpoint = ? AND task = ? AND idx = ?"
    assert rows.run(text, flipped(row["data"], -1), *where) == 1
    report = saver.verify(repair=True)
    assert [each.remedy for each in report.damages] == ["can be put right"], str(report)
    assert report.ok, str(report)
    assert not saver.verify().findings
    (kept,) = rows.all("WHERE checkpoint = ? AND task = ? AND idx = ?", *where)
    assert b"looking" not in bytes(kept["data"])
    assert asyncio.run(saver.averify()).ok
