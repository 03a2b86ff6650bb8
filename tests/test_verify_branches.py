"""The small branches of looking and repairing: rows beside the checkpoints, what verify tells."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_wyrd import errors
from langgraph_wyrd.healing import beside
from langgraph_wyrd.plans import sums
from langgraph_wyrd.plans.labels import label_row
from langgraph_wyrd.store.sqlite import drive
from langgraph_wyrd.store.strands import splice
from langgraph_wyrd.store.thread_sums import over
from tests.conftest import Backend
from tests.damage import Rows, at, garbled, spoil_splice
from tests.rows import put
from tests.test_healing_branches import (
    BAD,
    CODEC,
    IDS,
    checkpoint_again,
    checkpoints,
    flipped,
    lose,
    spoil,
)
from tests.vanishing import app

pytestmark = pytest.mark.inside

NOW = "2026-11-18T12:00:00.000001+00:00"


def another(value: Any) -> Any:
    """With one bit changed; of a time, of its year."""
    return value.replace("2026", "2027") if value == NOW else flipped(value)


def nothing(step: Any) -> list[Any]:
    return []


def found(saver: Any, *words: str) -> list[str]:
    """What a look at thread t finds, and that it is all of that kind."""
    told = [str(each) for each in saver.verify("t").findings]
    assert all(any(word in each for each in told) for word in words), told
    return told


# ---- rows with checksums of their own


def a_label(**columns: Any) -> tuple[Any, ...]:
    """A row of `all_labels`."""
    held = {"name": "done", "checkpoint": IDS[1], "created": NOW, "automatic": False}
    made = label_row(1, **held, keys='["a"]', missing="[]", context="[1]")[1:]  # type: ignore[arg-type]
    row = dict(zip((*held, "keys", "missing", "context", "sum"), made, strict=True)) | columns
    return (*[row[n] for n in (*held, "keys", "missing", "sum", "context")],)


@pytest.mark.parametrize("column", ["name", "checkpoint", "created", "automatic", "keys", "sum"])
def test_columns_of_a_label(column: str) -> None:
    """Each is had back by the checksum."""
    right = a_label()
    at_ = ("name", "checkpoint", "created", "automatic", "keys", "missing", "sum").index(column)
    wrong = not right[at_] if column == "automatic" else another(right[at_])
    bad = a_label(**{column: wrong})
    assert sums.is_sound_label(right[:7]), "as a listing reads it"
    assert not sums.is_sound_label(bad)
    assert drive(beside.label(CODEC, "t", bad), nothing) == right


def test_a_label_of_a_lost_checkpoint() -> None:
    """No state tells what it promoted: it is not had back, and that is no error."""
    bad = a_label(context='["nothing of this"]')
    assert drive(beside.label(CODEC, "t", bad), nothing) is None


@pytest.mark.parametrize("column", range(7))
def test_columns_of_a_record(column: int) -> None:
    """Each is had back by the checksum."""
    held = ("h-1", "exact", "sub", IDS[1], "log", "what", NOW)
    right = (*held, None, sums.heal_sum(*held))
    bad = (*right[:column], another(right[column]), *right[column + 1 :])
    assert not sums.is_sound_heal(bad)
    assert beside.heal(bad) == right


def test_rows_beside_of_other_types() -> None:
    """Not what was written, and no error."""
    held = ("h-1", "exact", "", IDS[1], "", "what", NOW)
    for wrong in (object(), 1 << 70, "\udcff"):
        assert not sums.is_sound_label(a_label(name=wrong))
        assert not sums.is_sound_heal((wrong, *held[1:], None, sums.heal_sum(*held)))
        assert not sums.is_sound_moved((wrong, "[]", "[]", NOW, 5))


def test_rows_that_are_sealed_without_keys() -> None:
    """There is no checksum to tell: they are shown as they are."""
    assert sums.is_sound_label(a_label(sum=None))
    assert sums.is_sound_heal(("h-1", "exact", "", IDS[1], "", "(sealed)", NOW, None, None))
    assert sums.is_sound_moved(("wyrd_writes", "[]", "[]", NOW, None))


def test_times() -> None:
    """One database gives a time, the other the text: the checksum is the same."""
    moment = datetime.fromisoformat(NOW).astimezone(timezone.utc)
    held = ("h-1", "exact", "", IDS[1], "", "what")
    assert sums.heal_sum(*held, NOW) == sums.heal_sum(*held, moment)
    assert sums.heal_sum(*held, NOW.replace("T12", "T13").replace("+00", "+01")) == (
        sums.heal_sum(*held, moment)
    )
    assert sums.heal_sum(*held, "no time") != sums.heal_sum(*held, moment)


async def test_a_label_of_some_items(durable: Backend, call: Any) -> None:
    """Which of the items it promoted is in its keys; all of them, if those are lost as well."""
    with durable.open() as saver:
        put(saver, "t", {"a": 1, "b": 2}, id=IDS[1])
        thread = saver.thread("t")
        for key in ("one", "two", "three"):
            thread.set_context(key, key)
        thread.label("some", keys=["two", "three"])
        thread.label("all")
        sound = [thread.get_label(name) for name in ("some", "all")]
        assert [len(each.context) for each in sound] == [2, 5]
    rows = Rows(durable.url, "wyrd_labels")
    rows.run("UPDATE {} SET context = ?", '["nothing", "of this"]')
    keys = '["nor", "of", "this"]' if durable.name == "postgres" else "[no JSON"
    rows.run("UPDATE {} SET keys = ? WHERE name = 'all'", keys)
    saver = durable.open()
    assert damages(saver) == {("wyrd_labels", "can be put right")}
    for was in sound:
        assert await call(saver.thread("t"), "get_label", was.name) == was


def test_a_record_that_is_lost(durable: Backend) -> None:
    """What it was is kept where a person can look at it."""
    checkpoints(durable, {1: None, 2: 1})
    lose(durable, 2)
    saver = durable.open()
    assert saver.get_tuple(at("t"))
    Rows(durable.url, "wyrd_heals").run("UPDATE {} SET what = ?", "this was never said")
    assert "wyrd_heals" in {table for table, _ in damages(saver)}
    saver.verify("t", repair=True)
    kept = Rows(durable.url, "wyrd_quarantine").all("WHERE origin = 'wyrd_heals'")
    assert "this was never said" in json.loads(kept[0]["data"])


# ---- one thread looked through


def damages(saver: Any) -> set[tuple[str, str]]:
    """The table of each damage, and what can be done."""
    return {(each.table, each.remedy) for each in saver.verify("t").findings if each.damage}


def test_a_row_that_is_lost(durable: Backend) -> None:
    """It is moved away, the checkpoint before is the latest, and what only it named is told."""
    sound = checkpoints(durable, {1: None, 2: 1})
    with durable.open() as saver:
        put(saver, "t", {"only": "text " * 90}, id=IDS[3], parent=IDS[2])
    spoil(durable, 3, **BAD)
    with durable.open() as saver:
        assert ("wyrd_checkpoints", "a repair moves it to wyrd_quarantine") in damages(saver)
        found(saver, "that no readable checkpoint names")
        saver.verify("t", repair=True)
        assert saver.get_tuple(at("t")).checkpoint == sound[2].checkpoint
        (kept,) = Rows(durable.url, "wyrd_quarantine").all("WHERE origin = 'wyrd_checkpoints'")
        assert IDS[3] in kept["data"]


def test_a_head_that_is_missing(durable: Backend) -> None:
    """By the thread's row; the rows that it alone named are sound, and not taken for damage."""
    checkpoints(durable, {1: None, 2: 1, 3: 2})
    Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", IDS[3])
    with durable.open() as saver:
        found(saver, f"{IDS[3]}, the newest by the thread's row, is missing")
        assert not [each for each in damages(saver) if each[0] == "wyrd_splices"]


def test_a_newest_row_that_stays(durable: Backend) -> None:
    """A label needs it: it is told as what stays, and not as missing too, so a repair is done."""
    checkpoints(durable, {1: None, 2: 1})
    with durable.open() as saver:
        saver.thread("t").label("here")
    spoil(durable, 2, **BAD)
    with durable.open() as saver:
        saver.verify("t", repair=True)
        left = saver.verify("t")
        assert not [each for each in left.findings if each.repairable], str(left)
        assert [each.place for each in left.damages if each.table == "wyrd_checkpoints"] == [IDS[2]]


def test_a_row_behind_the_last(durable: Backend) -> None:
    """Damaged, and nobody's: a repair moves it away, so that nothing is built on it."""
    checkpoints(durable, {1: None, 2: 1})
    (row,) = Rows(durable.url, "wyrd_checkpoints").all("WHERE id = ?", IDS[2])
    rows = Rows(durable.url, "wyrd_splices")
    (frame,) = rows.all("WHERE strand = ? AND seq = ?", row["strand"], row["seq"])
    spoil_splice(durable.url, frame, seq=frame["seq"] + 5, data=garbled(frame["data"]))
    rows.run(
        f"INSERT INTO {{}} ({', '.join(frame)}) VALUES ({', '.join('?' * len(frame))})",
        *frame.values(),
    )
    with durable.open() as saver:
        assert damages(saver) == {("wyrd_splices", "a repair moves it to wyrd_quarantine")}
        assert saver.verify("t", repair=True).ok
        assert not damages(saver)


def test_a_parent_that_is_lost(durable: Backend) -> None:
    """What it said stays in the ledger: a repair reads nothing anew that it could not tell."""
    checkpoints(durable, {1: None})
    with durable.open() as saver:
        put(saver, "t", {"gone": "said here"}, id=IDS[2], parent=IDS[1])
        put(saver, "t", {"n": 3}, id=IDS[3], parent=IDS[2], new={"n": "9"})
        saver.thread("t").set_context("note", "kept")
        was = saver.thread("t").working_state().context
    Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", IDS[2])
    with durable.open() as saver:
        told = found(saver, f"its parent {IDS[2]} is lost")
        assert len(told) == 1, told
        saver.verify("t", repair=True)
        assert saver.thread("t").working_state().context == was
        assert len(found(saver, "is lost")) == 1


def test_two_clocks(durable: Backend) -> None:
    """A checkpoint that sorts before its parent is worth knowing, and no damage."""
    checkpoints(durable, {1: None, 2: 1, 4: 2, 3: 4})
    with durable.open() as saver:
        found(saver, "two clocks differed")
        assert not damages(saver)


def test_parents_in_a_circle(sqlite: Backend) -> None:
    """Somebody made one: it is found, and a history ends."""
    checkpoints(sqlite, {1: None, 2: 1, 3: 2})
    (row,) = Rows(sqlite.url, "wyrd_checkpoints").all("WHERE id = ?", IDS[1])
    spoil(sqlite, 1, parent=IDS[3])
    checkpoint_again(sqlite, row, parent=IDS[3])
    with sqlite.open() as saver:
        told = found(saver, "its parents go in a circle")
        assert sum("in a circle" in each for each in told) == 3
        assert saver.get_delta_channel_history(config=at("t"), channels=["x"])["x"]["writes"] == []
        assert len(list(saver.list(at("t")))) == 3


@pytest.mark.parametrize("gone", [True, False])
def test_a_strand_up_to_where_it_can_be(durable: Backend, gone: bool) -> None:
    """A frame is lost: it stays so, as do its bytes if there are some, and what the frames before
    it name is looked at all the same."""
    with durable.open() as saver:
        first = put(saver, "t", {"a": "text " * 90}, id=IDS[1])
        second = put(saver, "t", {"b": "words " * 90}, id=IDS[2], parent=first)
        put(saver, "t", {"c": "more " * 90}, id=IDS[3], parent=second)
    rows = Rows(durable.url, "wyrd_splices").all("ORDER BY strand, seq")
    (row,) = [each for each in rows if b"text text" in each["data"]]
    spoil_splice(durable.url, row, data=garbled(row["data"]))
    if gone:
        lose(durable, 3)
    else:
        (at,) = Rows(durable.url, "wyrd_checkpoints").all("WHERE id = ?", IDS[3])
        (frame,) = [
            each for each in rows if (each["strand"], each["seq"]) == (at["strand"], at["seq"])
        ]
        spoil_splice(durable.url, frame, data=garbled(frame["data"]), count=9, chain=7)
    with durable.open() as saver:
        told = [each for each in saver.verify("t").findings if each.damage]
        places = {each.place for each in told if each.table == "wyrd_splices"}
        assert len(places) == 2
        assert {each.remedy.partition(":")[0] for each in told} == {"stays"}


def test_a_planted_frame_is_looked_at(sqlite: Backend) -> None:
    """Its checksums are right, and it is none: nothing is found behind it, and no error."""
    checkpoints(sqlite, {1: None})
    (row,) = Rows(sqlite.url, "wyrd_checkpoints").all()
    (frame,) = Rows(sqlite.url, "wyrd_splices").all("WHERE strand = ?", row["strand"])
    keys = [frame[name] for name in ("strand", "seq", "part", "keep", "cut", "count")]
    made = splice(*keys, b"\xc1 no frame", 0)
    spoil_splice(sqlite.url, frame, data=made.data, sum=made.sum ^ over(1), chain=made.chain)
    checkpoint_again(sqlite, row, chain=made.chain)
    with sqlite.open() as saver:
        assert saver.verify("t") is not None
        assert saver.get_tuple(at("t")) is None


def test_a_parent_that_left_nothing(durable: Backend) -> None:
    """Nothing tells that it was there: it may have been pruned, and is noted as that."""
    with durable.open() as saver:
        put(saver, "t", {"n": 1}, id=IDS[2], parent=at("t", IDS[1]))
        report = saver.verify("t")
        assert report.ok
        assert ["pruned, or lost" in each.what for each in report.findings] == [True]


def test_a_task_that_lacks_a_write(durable: Backend) -> None:
    """What is left of its result is moved away; what it asked stays."""
    checkpoints(durable, {1: None})
    with durable.open() as saver:
        saver.put_writes(at("t", IDS[1]), [("log", [1]), ("other", 2)], "task")
        saver.put_writes(at("t", IDS[1]), [("__interrupt__", "May I?")], "task")
    Rows(durable.url, "wyrd_writes").run("DELETE FROM {} WHERE idx = 1")
    with durable.open() as saver:
        assert ("wyrd_writes", "the task counts as unfinished, and runs again") in damages(saver)
        assert saver.verify("t", repair=True).ok
        assert saver.get_tuple(at("t")).pending_writes == [("task", "__interrupt__", "May I?")]


def test_writes_of_no_checkpoint(durable: Backend) -> None:
    """Worth knowing, unless their checkpoint is still to come."""
    checkpoints(durable, {1: None, 3: 1})
    with durable.open() as saver:
        for n in (2, 4):
            saver.put_writes(at("t", IDS[n]), [("log", [n])], "task")
        told = found(saver, f"{IDS[2]}: writes of a checkpoint that is not there")
        assert not any(IDS[4] in each for each in told)
        assert not damages(saver)


def test_an_event_put_right(durable: Backend) -> None:
    """What a person said can't be read anew: its byte is put right in the ledger."""
    checkpoints(durable, {1: None})
    with durable.open() as saver:
        saver.thread("t").set_context("note", "call Ann")
        was = saver.thread("t").working_state()
    rows = Rows(durable.url, "wyrd_events")
    cast = "::json" if durable.name == "postgres" else ""
    text = f"replace(CAST(body AS text), 'Ann', 'Ano'){cast}"
    assert rows.run(f"UPDATE {{}} SET body = {text} WHERE substr(task, 1, 5) = 'edit:'")
    with durable.open() as saver:
        assert ("wyrd_events", "can be put right") in damages(saver)
        assert saver.verify("t", repair=True).ok
        assert saver.thread("t").working_state() == was
        assert not Rows(durable.url, "wyrd_quarantine").all()
    rows.run("UPDATE {} SET body = ? WHERE substr(task, 1, 5) = 'edit:'", '{"not": "said"}')
    with durable.open() as saver:
        assert saver.verify("t", repair=True).ok
        assert not saver.thread("t").heals()
        (kept,) = Rows(durable.url, "wyrd_quarantine").all()
        assert (kept["origin"], "edit:" in kept["place"]) == ("wyrd_events", True)


def test_kept_values_are_not_compared(durable: Backend) -> None:
    """What was read out of whole objects is not read out of kept ones: no damage, and nothing is
    read anew."""
    source = "from typing import NamedTuple\nclass Plan(NamedTuple):\n    goal: str\n"
    with app(source, "plans_looked_at") as there, durable.open() as saver:
        put(saver, "t", {"plan": there.made("Plan('ship it')")}, id=IDS[1])
        was = saver.thread("t").working_state()
    Rows(durable.url, "wyrd_threads").run("UPDATE {} SET title = 'x'")
    with durable.open() as saver:
        told = found(saver, "classes of values are not here")
        assert damages(saver) == {("wyrd_threads", "can be made anew from the ledger")}, told
        assert saver.verify("t", repair=True).ok
        assert saver.thread("t").working_state() == was


def test_a_user_who_is_known_from_elsewhere(durable: Backend) -> None:
    """No checkpoint says whose the thread is: what its row says is left alone."""
    checkpoints(durable, {1: None})
    Rows(durable.url, "wyrd_threads").run("UPDATE {} SET user_id = 'ann'")
    with durable.open() as saver:
        assert saver.verify("t").findings == ()


def test_a_repair_without_pillars(durable: Backend) -> None:
    """A saver that keeps none puts the tables right all the same, from the ledger."""
    with durable.open() as saver:
        put(saver, "t", {"messages": [HumanMessage("find the marker", id="h")]}, id=IDS[1])
        saver.thread("t").add_todo("call Ben")
    Rows(durable.url, "wyrd_todos").run("UPDATE {} SET content = 'nothing'")
    Rows(durable.url, "wyrd_threads").run("UPDATE {} SET title = 'x'")
    with durable.open(pillars=False) as saver:
        assert not saver.verify("t").ok
        assert saver.verify("t", repair=True).ok
        assert not saver.verify("t").findings
    assert Rows(durable.url, "wyrd_todos").all()[0]["content"] == "call Ben"


def test_a_thread_that_is_not_there(durable: Backend) -> None:
    """It can't be repaired."""
    with durable.open() as saver, pytest.raises(errors.ThreadNotFound):
        saver.verify("nobody", repair=True)


@pytest.mark.parametrize("keys", [None, {"k": bytes(range(32))}])
@pytest.mark.parametrize("column", ["seq", "part", "keep", "cut", "chain"])
def test_a_users_value_in_another_place(durable: Backend, column: str, keys: Any) -> None:
    """No load would look for it there, and a later one would stand beside it: verify finds it."""
    with durable.open(keys=keys) as saver:
        saver.user("ann").set("city", "Ghent")
        assert saver.verify().ok
    Rows(durable.url, "wyrd_user_data").run(f"UPDATE {{}} SET {column} = 1")
    with durable.open(keys=keys) as saver:
        (found,) = saver.verify().damages
        assert (found.table, "'city'" in found.what) == ("wyrd_user_data", True)
