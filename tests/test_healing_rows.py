"""Rows beside the checkpoints, rows of threads, and what histories, diffs and exports meet."""

from __future__ import annotations

import json
import logging
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_wyrd import errors
from langgraph_wyrd.healing.beside import LOST
from langgraph_wyrd.healing.mending import Mender
from langgraph_wyrd.healing.placeholders import TEXT, Gap, filled
from langgraph_wyrd.healing.strand import Lost
from langgraph_wyrd.store.sqlite import drive
from tests.conftest import Backend
from tests.damage import Agent, Rows, at, flipped, garbled, splices_of, spoil_splice, talk
from tests.outside import path_of

pytestmark = pytest.mark.inside

_built: list[bytes] = []  # an SQLite file is built once, and copied


@pytest.fixture
def made(durable: Backend) -> Backend:
    """A thread of two turns, labelled, and one that waits for a person."""
    if durable.name == "sqlite" and _built:
        path_of(durable.url).write_bytes(_built[0])
        return durable
    saver = durable.open()
    talk(saver, "t", 2)
    saver.thread("t").label("done")
    talk(saver, "u", 1, last="approve this")
    saver.close()
    if durable.name == "sqlite":
        _built.append(path_of(durable.url).read_bytes())
    return durable


ID = attrgetter("id")


def head(saver: Any, thread: str = "t") -> Any:
    return saver.get_tuple(at(thread))


def kinds(saver: Any, thread: str = "t") -> list[str]:
    return [heal.kind for heal in saver.thread(thread).heals()]


def sound(made: Backend, look: Any) -> Any:
    saver = made.open()
    found = look(saver)
    saver.close()
    return found


# ---- labels


@pytest.mark.parametrize("column", ["name", "checkpoint"])
def test_a_label_in_another_place(made: Backend, column: str) -> None:
    """A bit of the name, or of the checkpoint that it stands at, is another: it is had back, and
    found by its name."""

    def look(saver: Any) -> Any:
        thread = saver.thread("t")
        return thread.labels(), thread.get_label("done"), thread.history()[0].labels

    was = sound(made, look)
    rows = Rows(made.url, "wyrd_labels")
    held = rows.all()[0][column]
    rows.run(f"UPDATE {{}} SET {column} = ?", held[:-1] + chr(ord(held[-1]) ^ 1))
    saver = made.open()
    assert look(saver) == was
    assert kinds(saver) == ["exact"]
    if column == "checkpoint":
        assert saver.thread("t").working_state("done").checkpoint_id == was[0][0].checkpoint_id
    with made.open(on_damage="raise") as strict, pytest.raises(errors.CheckpointDamaged):
        strict.thread("t").labels()
    assert saver.verify(repair=True).ok
    assert look(saver) == was


def label(saver: Any) -> Any:
    return saver.thread("t").get_label("done")


@pytest.mark.parametrize("column", ["keys", "missing", "context", "sum"])
def test_a_label_is_put_right(made: Backend, column: str) -> None:
    """A byte of it is another: its checksum has it back, and it is told; so does a repair."""
    was = sound(made, label)
    rows = Rows(made.url, "wyrd_labels")
    (row,) = rows.all()
    held = row[column]
    if made.name == "postgres" and column != "sum":  # the text of a JSON column, byte for byte
        text = Rows(made.url, "wyrd_labels").run(
            f"UPDATE {{}} SET {column} = "
            f"(overlay({column}::text placing ' [' from 1 for 1))::json WHERE {column}::text = '[]'"
        )
        if not text:
            rows.run(f"UPDATE {{}} SET {column} = replace({column}::text, 'e', 'f')::json")
    else:
        wrong: Any = held ^ 2 if column == "sum" else held.replace("[", "{", 1)
        rows.run(f"UPDATE {{}} SET {column} = ?", wrong)
    saver = made.open()
    found = label(saver)
    if made.name == "sqlite":
        assert found == was
        assert kinds(saver) == ["exact"]
    else:
        assert found == was or kinds(saver) == ["left_out"]
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings


async def test_what_a_label_promoted_again(made: Backend, call: Any) -> None:
    """Nothing of its items is left: they are read anew out of the state at its checkpoint."""
    was = sound(made, label)
    assert was.context
    Rows(made.url, "wyrd_labels").run("UPDATE {} SET context = ?", '["nothing", "of this"]')
    saver = made.open()
    assert (await call(saver.thread("t"), "get_label", "done")) == was
    assert kinds(saver) == ["exact"]


async def test_a_hollow_label(made: Backend, call: Any) -> None:
    """It can't be had back: it stands where it stood, and promotes nothing; what it was is kept."""
    was = sound(made, label)
    values = ('["a"]', '["b", "c"]', "[1, 2, 3]")
    Rows(made.url, "wyrd_labels").run("UPDATE {} SET keys = ?, missing = ?, context = ?", *values)
    saver = made.open()
    found = await call(saver.thread("t"), "get_label", "done")
    assert (found.name, found.checkpoint_id) == (was.name, was.checkpoint_id)
    assert (found.keys, found.missing, found.context) == ((), (), ())
    assert [each.name for each in await call(saver.thread("t"), "labels")] == ["done"]
    assert kinds(saver) == ["left_out"]
    assert saver.thread("t").history()[0].labels == ("done",)
    with pytest.raises(errors.CheckpointDamaged, match="label 'done'"):
        label(made.open(on_damage="raise"))
    assert saver.verify(repair=True).ok
    (kept,) = Rows(made.url, "wyrd_quarantine").all()
    assert kept["origin"] == "wyrd_labels"
    assert "[1, 2, 3]" in json.loads(kept["data"])


# ---- records of heals, and what is in quarantine


def healed(made: Backend) -> None:
    (row,) = splices_of(made.url, "t", b"ai-1")
    spoil_splice(made.url, row, data=flipped(row["data"]))
    sound(made, head)
    spoil_splice(made.url, row, data=row["data"])


def test_a_record_of_a_heal(made: Backend) -> None:
    """A byte is put right; where nothing can be, the record says so and the thread loads."""
    healed(made)
    (was,) = sound(made, lambda saver: saver.thread("t").heals())
    rows = Rows(made.url, "wyrd_heals")
    rows.run("UPDATE {} SET kind = ?", "exbct")
    assert sound(made, lambda saver: saver.thread("t").heals()) == [was]
    rows.run("UPDATE {} SET what = ?", "this is not what was said at all")
    saver = made.open()
    (heal,) = saver.thread("t").heals()
    assert (heal.id, heal.kind, heal.what) == (was.id, "left_out", LOST)
    assert any(LOST in loop.description for loop in saver.thread("t").working_state().open_loops)
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings


def test_what_is_in_quarantine(made: Backend) -> None:
    """Nobody loads it; that it was changed is found, and put right or kept as it is."""
    (row,) = Rows(made.url, "wyrd_writes").all("WHERE channel = '__interrupt__'")
    spoilt = garbled(row["data"])
    Rows(made.url, "wyrd_writes").run("UPDATE {} SET data = ? WHERE task = ?", spoilt, row["task"])
    saver = made.open()
    assert saver.verify(repair=True).ok
    rows = Rows(made.url, "wyrd_quarantine")
    was = rows.all()
    rows.run("UPDATE {} SET data = ?", was[0]["data"].replace("base64", "base65"))
    report = saver.verify(repair=True)
    assert [each.table for each in report.damages] == ["wyrd_quarantine"]
    assert report.ok
    assert rows.all() == was
    rows.run("UPDATE {} SET data = ?", "nonsense")
    assert saver.verify(repair=True).ok
    assert json.loads(rows.all()[0]["data"]) == {"damaged": "nonsense"}
    assert not saver.verify().findings


# ---- rows of strands, of writes, of checkpoints


def test_a_row_in_no_place(made: Backend) -> None:
    """Its number among its version's parts is wrong: it is put back; a copy of it is passed over,
    and moved away by a repair."""
    Rows(made.url, "wyrd_writes").run("DELETE FROM {} WHERE thread = 1")  # nothing has a copy
    was = sound(made, head)
    (row,) = splices_of(made.url, "t", b"ai-5")
    spoil_splice(made.url, row, part=row["part"] ^ 1 << 18)
    saver = made.open()
    assert head(saver).checkpoint == was.checkpoint
    assert set(kinds(saver)) == {"exact"}
    columns = ", ".join(row)
    Rows(made.url, "wyrd_splices").run(
        f"INSERT INTO {{}} ({columns}) VALUES ({', '.join('?' * len(row))})", *row.values()
    )
    other = made.open()
    assert head(other).checkpoint == was.checkpoint
    assert "passed over" in other.thread("t").heals()[-1].what
    assert other.verify(repair=True).ok
    assert not other.verify().findings
    assert head(made.open(on_damage="raise")).checkpoint == was.checkpoint


def test_several_missing_rows(made: Backend) -> None:
    """Two versions behind each other are gone: how long they were is in the frames."""
    was = sound(made, head).checkpoint["channel_values"]["messages"]
    rows = [splices_of(made.url, "t", text)[0] for text in (b"tool-call-1", b"end-3")]
    assert rows[1]["seq"] == rows[0]["seq"] + 1
    for row in rows:
        Rows(made.url, "wyrd_splices").run(
            "DELETE FROM {} WHERE thread = ? AND strand = ? AND seq = ?",
            row["thread"], row["strand"], row["seq"],
        )  # fmt: skip
    saver = made.open()
    found = head(saver).checkpoint["channel_values"]["messages"]
    assert [m.id for m in found if m.content != TEXT] == [was[0].id, was[1].id, *map(ID, was[4:])]
    assert [m.content == TEXT for m in found].count(True) == 2
    assert set(kinds(saver)) == {"placeholder"}


@pytest.mark.parametrize("column", ["sum", "chain", "count"])
def test_the_checksum_of_a_frame(made: Backend, column: str) -> None:
    """Its bytes are whole, and its chain or its checksum proves them."""
    was = sound(made, head)
    (row,) = Rows(made.url, "wyrd_checkpoints").all("WHERE id = ?", was.checkpoint["id"])
    (frame,) = Rows(made.url, "wyrd_splices").all(
        "WHERE thread = 1 AND strand = ? AND seq = ?", row["strand"], row["seq"]
    )
    spoil_splice(made.url, frame, **{column: frame[column] + 3})
    saver = made.open()
    assert head(saver) == was
    assert kinds(saver) == ["exact"]


def interrupted(url: str) -> dict[str, Any]:
    (row,) = Rows(url, "wyrd_writes").all("WHERE channel = '__interrupt__'")
    return row


def test_the_number_of_a_write(made: Backend) -> None:
    """One bit of it is another."""
    was = sound(made, lambda saver: head(saver, "u"))
    row = interrupted(made.url)
    Rows(made.url, "wyrd_writes").run(
        "UPDATE {} SET idx = ? WHERE task = ?", row["idx"] ^ 64, row["task"]
    )
    saver = made.open()
    assert head(saver, "u").pending_writes == was.pending_writes
    assert kinds(saver, "u") == ["exact"]


def before_the_head(made: Backend, channel: str) -> tuple[Any, dict[str, Any]]:
    """The checkpoint before the last one, and a write of its task."""
    saver = made.open()
    found = list(saver.list(at("t"), limit=2))[1]
    saver.close()
    (row,) = Rows(made.url, "wyrd_writes").all(
        "WHERE checkpoint = ? AND channel = ?", found.checkpoint["id"], channel
    )
    return found, row


def test_a_write_is_copied(made: Backend) -> None:
    """Nothing of its bytes is left: the channel that it went into has the elements."""
    found, row = before_the_head(made, "messages")
    Rows(made.url, "wyrd_writes").run(
        "UPDATE {} SET data = ? WHERE checkpoint = ? AND channel = 'messages'",
        garbled(row["data"]), row["checkpoint"],
    )  # fmt: skip
    saver = made.open()
    assert saver.get_tuple(found.config).pending_writes == found.pending_writes
    assert kinds(saver) == ["exact"]


@pytest.mark.parametrize("most", [1, 9])
def test_a_task_with_a_damaged_write_runs_again(made: Backend, most: int) -> None:
    """Nothing of what it wrote is handed out, not even what is whole; that is told, also where
    nothing of it is left."""
    found, row = before_the_head(made, "report")
    assert 1 < len(found.pending_writes) < 9
    raws = Rows(made.url, "wyrd_writes").all(
        "WHERE checkpoint = ? ORDER BY path, task, idx", row["checkpoint"]
    )
    for each in raws[:most]:
        each["data"] = garbled(each["data"])
    names = ("task", "idx", "channel", "path", "shape", "data", "sum")
    answers = {"writes": [tuple(each[name] for name in names) for each in raws]}
    mender = Mender(made.open()._codec, row["thread"], "t")
    plan = mender.writes("", row["checkpoint"])
    assert drive(plan, lambda step: answers.get(getattr(step, "name", ""), [])) == []
    assert [heal.kind for heal in mender.found.values()] == ["left_out"]


def test_only_messages_are_stood_in_for(made: Backend) -> None:
    """In a list of anything else nothing is made up."""
    codec = made.open()._codec
    gap = Gap(1, Lost(seq=0, part=0, keep=0, cut=0, count=1), 0)
    for items, stood in (([{"a": 1}], False), ([HumanMessage("hi", id="h")], True)):
        pieces = [*codec.pack_elements(items, ""), gap]
        assert (filled(codec, pieces) is not None) == stood


def test_a_damaged_id(made: Backend) -> None:
    """An old checkpoint whose id now sorts in front of all is never taken for the newest."""
    was = sound(made, head)
    rows = Rows(made.url, "wyrd_checkpoints")
    old = min(row["id"] for row in rows.all("WHERE thread = 1"))
    rows.run("UPDATE {} SET id = ? WHERE id = ?", "9" + old[1:], old)
    saver = made.open()
    assert head(saver).checkpoint == was.checkpoint


def test_an_error_that_is_no_damage_of_ours(made: Backend) -> None:
    """What has a name of its own is raised as it is, and nothing is looked for."""
    saver = made.open(timeout=0.3)
    head(saver)
    saver.close()
    with pytest.raises(errors.SaverClosed):
        head(saver)
    from langgraph_wyrd.healing import reading

    def busy() -> Any:
        plan = reading.get(saver._codec, "t", "", None, None)
        next(plan)
        plan.throw(errors.DatabaseBusy("locked"))

    with pytest.raises(errors.DatabaseBusy):
        busy()


# ---- the ledger


def state_of(saver: Any) -> Any:
    found = saver.thread("t").working_state()
    loops = [loop.id for loop in found.loops if loop.source.rule != "healed"]
    return found.to_dict() | {"loops": loops}


def test_a_checkpoint_lost_in_the_middle(made: Backend) -> None:
    """What it said is still in the ledger: the state is what it was, and the loss is told."""
    was = sound(made, state_of)
    rows = Rows(made.url, "wyrd_checkpoints")
    gone = sorted(row["id"] for row in rows.all("WHERE thread = 1"))[5]
    rows.run("DELETE FROM {} WHERE id = ?", gone)
    saver = made.open()
    now = state_of(saver)
    assert [(each["key"], each["value"]) for each in now["context"]] == [
        (each["key"], each["value"]) for each in was["context"]
    ]
    assert (now["loops"], now["title"], now["status"]) == (
        was["loops"], was["title"], was["status"]
    )  # fmt: skip
    assert gone in {heal.checkpoint_id for heal in saver.thread("t").heals()}


def test_a_checkpoint_of_which_only_a_person_spoke(made: Backend) -> None:
    """It wrote nothing and said nothing itself; what lies on it tells that it was there."""
    saver = made.open()
    saver.thread("t").set_context("budget", 5)
    talk(saver, "t", 1)
    was = state_of(saver)
    saver.close()
    (row, *_) = Rows(made.url, "wyrd_events").all("WHERE thread = 1 AND substr(task, 1, 5) = ?",
                                                  "edit:")  # fmt: skip
    Rows(made.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", row["checkpoint"])
    saver = made.open()
    now = state_of(saver)
    assert now.pop("reason") == "nothing due; damage that nobody has seen"
    assert now == {name: held for name, held in was.items() if name != "reason"}
    assert kinds(saver) == ["left_out"]


def test_what_is_due_is_read_anew(made: Backend) -> None:
    """A derived column is another: the checkpoint tells it again."""
    saver = made.open()
    was = saver.thread("u").working_state()
    saver.close()
    assert was.due
    rows = Rows(made.url, "wyrd_checkpoints")
    newest = max(row["id"] for row in rows.all("WHERE thread = 2"))
    rows.run("UPDATE {} SET due = ? WHERE id = ?", '["nobody"]', newest)
    saver = made.open()
    assert saver.thread("u").working_state().due == was.due
    assert kinds(saver, "u") == ["exact"]


# ---- histories, diffs, exports


async def test_a_history_is_healed(made: Backend, call: Any) -> None:
    """A frame's flipped bit is put right on the way, and told."""
    was = list(sound(made, lambda saver: saver.thread("t").history()))
    (row,) = Rows(made.url, "wyrd_checkpoints").all("WHERE id = ?", was[2].checkpoint_id)
    (frame,) = Rows(made.url, "wyrd_splices").all(
        "WHERE thread = 1 AND strand = ? AND seq = ?", row["strand"], row["seq"]
    )
    spoil_splice(made.url, frame, data=flipped(frame["data"]))
    saver = made.open()
    assert list(await call(saver.thread("t"), "history")) == was
    (heal,) = saver.thread("t").heals()
    assert (heal.kind, heal.channel) == ("exact", "")
    assert heal.checkpoint_id
    head(saver)
    assert len(saver.thread("t").heals()) == 1, "a load that meets the same tells nothing new"
    with pytest.raises(errors.CheckpointDamaged):
        made.open(on_damage="raise").thread("t").history()


@pytest.mark.parametrize("column", ["step", "source", "run_id"])
def test_columns_beside_the_metadata(made: Backend, column: str) -> None:
    """A history never shows what the metadata does not say."""
    was = list(sound(made, lambda saver: saver.thread("t").history()))
    wrong: Any = 77 if column == "step" else "else"
    Rows(made.url, "wyrd_checkpoints").run(
        f"UPDATE {{}} SET {column} = ? WHERE id = ?", wrong, was[1].checkpoint_id
    )
    saver = made.open()
    assert list(saver.thread("t").history()) == was
    assert kinds(saver) == ["exact"]


async def test_a_diff_is_healed(made: Backend, call: Any) -> None:
    """Values that are compared are had back as in any load."""
    ids = [e.checkpoint_id for e in sound(made, lambda saver: saver.thread("t").history())]
    was = sound(made, lambda saver: saver.thread("t").diff(ids[-1], ids[0]))
    (row,) = splices_of(made.url, "t", b"ai-5")
    spoil_splice(made.url, row, data=flipped(row["data"]))
    heard: list[Any] = []
    saver = made.open()
    saver.on("heal", heard.append)
    assert await call(saver.thread("t"), "diff", ids[-1], ids[0]) == was
    (heal,) = saver.thread("t").heals()
    assert (heal.kind, heal.channel) == ("exact", "messages")
    assert len(heard) == 1
    head(saver)
    assert len(saver.thread("t").heals()) == 1


def test_a_path_into_a_value_is_healed(made: Backend) -> None:
    """What is looked for inside of values is found in healed ones; told with whose they are."""
    first = sound(made, lambda saver: saver.thread("t").first_change('messages["ai-5"]'))
    (row,) = splices_of(made.url, "t", b"ai-5")
    spoil_splice(made.url, row, data=flipped(row["data"]))
    saver = made.open()
    assert saver.thread("t").first_change('messages["ai-5"]') == first
    (heal,) = saver.thread("t").heals()
    assert (heal.kind, heal.channel) == ("exact", "messages")
    assert heal.checkpoint_id in [each.checkpoint["id"] for each in saver.list(at("t"))]


async def test_an_export_is_healed(made: Backend, tmp_path: Path, call: Any) -> None:
    """Exact where it can be; what can't be read is stood in for, or left out; and told."""
    paths = [tmp_path / name for name in ("was", "exact", "poor")]
    await call(made.open().thread("t"), "export", paths[0], payloads=True)
    (row,) = splices_of(made.url, "t", b"ai-5")
    spoil_splice(made.url, row, data=flipped(row["data"]))
    saver = made.open()
    await call(saver.thread("t"), "export", paths[1], payloads=True)
    held = [json.loads(path.read_text()) for path in paths[:2]]
    assert held[0] == held[1]
    assert kinds(saver) == ["exact"]
    Rows(made.url, "wyrd_writes").run("DELETE FROM {}")
    spoil_splice(made.url, row, data=garbled(row["data"]))
    poor = made.open()
    await call(poor.thread("t"), "export", paths[2])
    assert len(json.loads(paths[2].read_text())["history"]) == len(held[0]["history"])
    assert "placeholder" in kinds(poor)
    with pytest.raises(errors.CheckpointDamaged):
        await call(made.open(on_damage="raise").thread("t"), "export", tmp_path / "none")


def test_what_is_known_to_be_damaged_is_not_built_on(made: Backend) -> None:
    """Met by a list, while the thread is known by heart: the next step stands on rows of its own,
    and loads whole from then on."""
    saver = made.open()
    graph = Agent().build(saver)
    graph.invoke({"messages": [HumanMessage("on", id="on")]}, at("t"))
    (row,) = splices_of(made.url, "t", b"ai-5")
    spoil_splice(made.url, row, data=garbled(row["data"]))
    assert list(saver.list(at("t")))
    assert set(kinds(saver)) == {"exact"}
    graph.invoke({"messages": [HumanMessage("and on", id="and-on")]}, at("t"))
    was = head(saver).checkpoint
    saver.close()
    assert head(made.open(on_damage="raise")).checkpoint == was


# ---- rows of threads


@pytest.mark.parametrize("named", ["wyrd_names", "tables"])
def test_a_thread_of_another_id(made: Backend, named: str) -> None:
    """Its key, and what wyrd_names or the public tables call it, say which id is the right one."""
    Rows(made.url, "wyrd_threads").run("UPDATE {} SET thread_id = 'else' WHERE id = 1")
    if named != "wyrd_names":
        Rows(made.url, "wyrd_names").run("UPDATE {} SET thread_id = 'more' WHERE thread = 1")
    if named != "tables":
        for table in ("wyrd_todos", "wyrd_context", "wyrd_open_loops", "wyrd_intentions"):
            Rows(made.url, table).run("DELETE FROM {} WHERE thread = 1")
    saver = made.open()
    assert head(saver) is not None
    report = saver.verify(repair=True)
    assert report.ok
    assert Rows(made.url, "wyrd_threads").all("WHERE thread_id = 't'")
    assert head(saver) is not None


def test_an_id_is_proven(made: Backend) -> None:
    """One flipped bit of an id: the key proves it without any table."""
    for table in ("wyrd_todos", "wyrd_context", "wyrd_open_loops", "wyrd_intentions"):
        Rows(made.url, table).run("DELETE FROM {} WHERE thread = 1")
    Rows(made.url, "wyrd_names").run("DELETE FROM {} WHERE thread = 1")
    Rows(made.url, "wyrd_threads").run("UPDATE {} SET thread_id = 'p' WHERE id = 1")  # 't' ^ 4
    saver = made.open()
    assert saver.verify(repair=True).ok
    assert Rows(made.url, "wyrd_threads").all("WHERE thread_id = 't'")


def test_the_count_of_strands(made: Backend) -> None:
    """It is too low: no number is given out twice."""
    Rows(made.url, "wyrd_threads").run("UPDATE {} SET strands = 0")
    saver = made.open()
    graph = Agent().build(saver)
    graph.update_state(at("t"), {"messages": [HumanMessage("x", id="ai-1")]})  # a strand anew
    graph.invoke({"messages": [HumanMessage("on", id="on")]}, at("t"))
    assert "on" in [m.id for m in head(saver).checkpoint["channel_values"]["messages"]]
    assert saver.verify().ok


def test_what_was_buried(made: Backend) -> None:
    """A wrong mark of what was deleted before a thread began does not stop its runs."""
    Rows(made.url, "wyrd_threads").run("UPDATE {} SET buried = ?", "9")
    saver = made.open()
    agent = Agent()
    agent.build(saver).invoke({"messages": [HumanMessage("on", id="on")]}, at("t"))
    assert agent.ran == ["model", "tools", "ask", "answer"]


@pytest.mark.parametrize("how", ["gone", "version", "name", "min_reader"])
def test_damaged_migrations(made: Backend, how: str) -> None:
    """The tables tell that they are there: everything goes on; a repair writes what it said."""
    rows = Rows(made.url, "wyrd_migrations")
    was = rows.all()
    if how == "gone":
        rows.run("DELETE FROM {}")
    else:
        wrong: Any = "else" if how == "name" else 1 << 20
        rows.run(f"UPDATE {{}} SET {how} = ?", wrong)
    saver = made.open()
    assert head(saver) is not None
    report = saver.verify()
    assert {each.table for each in report.damages} == {"wyrd_migrations"}
    assert saver.verify(repair=True).ok
    assert [each.get("version") for each in rows.all()] == [each["version"] for each in was]
    assert not made.open().verify().findings


# ---- looking, and repairing


def test_two_writes_in_each_others_places(made: Backend) -> None:
    """A repair puts each where it belongs; neither overwrites the other."""
    found, row = before_the_head(made, "messages")
    rows = Rows(made.url, "wyrd_writes")
    mine = rows.all("WHERE checkpoint = ? AND idx >= 0 ORDER BY idx", row["checkpoint"])
    one, other = mine[0], mine[1]
    names = ("channel", "path", "shape", "data", "sum")
    for here, there in ((one, other), (other, one)):
        rows.run(
            f"UPDATE {{}} SET {', '.join(f'{n} = ?' for n in names)} WHERE checkpoint = ? AND "
            "task = ? AND idx = ?",
            *(there[n] for n in names), here["checkpoint"], here["task"], here["idx"],
        )  # fmt: skip
    saver = made.open()
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings
    assert saver.get_tuple(found.config).pending_writes == found.pending_writes


def test_a_look_is_quiet(made: Backend, caplog: Any) -> None:
    """What verify() finds is in its report, not in the log."""
    Rows(made.url, "wyrd_writes").run("DELETE FROM {}")
    row = splices_of(made.url, "t", b"model 5")[0]
    spoil_splice(made.url, row, data=garbled(row["data"]))
    saver = made.open()
    with caplog.at_level(logging.INFO, "langgraph_wyrd"):
        assert not saver.verify().ok
    assert not caplog.records


def test_room(made: Backend) -> None:
    """A report says how much room the database takes, and how much of it is free."""
    space = made.open().verify().space
    assert space is not None
    assert space.total > 50_000
    assert " MB" in str(space)
    if made.name == "sqlite":
        assert space.free is not None
        assert space.wal is not None
        assert "WAL" in str(space)
    else:
        assert space.dead is not None
        assert "dead rows" in str(space)
