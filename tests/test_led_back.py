"""Threads whose rows in wyrd_threads or wyrd_names are damaged are found all the same, aloud."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.types import Command

from langgraph_wyrd import Retention, errors
from langgraph_wyrd.healing import leading
from tests.conftest import Backend
from tests.damage import Agent, Rows, at, talk
from tests.outside import is_postgres, path_of

pytestmark = pytest.mark.inside

ELSE = b"x" * 32
LATE = "2026-01-01T00:00:00+00:00"
_built: list[bytes] = []  # an SQLite file is built once, and copied


@pytest.fixture
def made(durable: Backend) -> Backend:
    """Thread t (number 1) of two turns, u (number 2) that waits for a person, both ann's."""
    if durable.name == "sqlite" and _built:
        path_of(durable.url).write_bytes(_built[0])
        return durable
    saver = durable.open()
    talk(saver, "t", 2, user="ann")
    talk(saver, "u", 1, last="approve this", user="ann")
    saver.thread("t").label("here")
    saver.close()
    if durable.name == "sqlite":
        _built.append(path_of(durable.url).read_bytes())
    return durable


def lost(url: str) -> None:
    Rows(url, "wyrd_threads").run("DELETE FROM {} WHERE id = 1")


def buried(url: str) -> None:
    Rows(url, "wyrd_threads").run("UPDATE {} SET deleted_at = ? WHERE id = 1", LATE)


def of_another_key(url: str) -> None:
    Rows(url, "wyrd_threads").run("UPDATE {} SET key = ? WHERE id = 1", ELSE)


def of_another_number(url: str) -> None:
    row = Rows(url, "wyrd_threads").all("WHERE id = 1")[0]
    lost(url)
    names = ("thread_id", "key", "created", "updated", "head", "tick", "strands", "title")
    over = "OVERRIDING SYSTEM VALUE " if is_postgres(url) else ""
    Rows(url, "wyrd_threads").run(
        f"INSERT INTO {{}} (id, {', '.join(names)}) {over}VALUES (77{', ?' * len(names)})",
        *(row[name] for name in names),
    )


def swapped(url: str) -> None:
    """All but their numbers."""
    rows = Rows(url, "wyrd_threads")
    one, other = rows.all("ORDER BY id")
    names = ("thread_id", "key", "created", "updated", "head", "tick", "strands", "status", "title",
             "open_loops")  # fmt: skip
    sets = ", ".join(f"{name} = ?" for name in names)
    rows.run("UPDATE {} SET key = ? WHERE id = 1", ELSE)
    for row, number in ((one, 2), (other, 1)):
        rows.run(f"UPDATE {{}} SET {sets} WHERE id = ?", *(row[name] for name in names), number)


def of_another_id(url: str) -> None:
    Rows(url, "wyrd_threads").run("UPDATE {} SET thread_id = 'else' WHERE id = 1")


def nameless(url: str) -> None:
    Rows(url, "wyrd_names").run("DELETE FROM {} WHERE thread = 1")


def misnamed(url: str) -> None:
    """Its name is given to the other's number."""
    Rows(url, "wyrd_names").run("UPDATE {} SET thread = 2 WHERE thread = 1")


def names_swapped(url: str) -> None:
    rows = Rows(url, "wyrd_names")
    for one, other in ((1, 77), (2, 1), (77, 2)):
        rows.run("UPDATE {} SET thread = ? WHERE thread = ?", other, one)


def named_by_key_only(url: str) -> None:
    """Its row is the only one to know it, and calls it by an id that is not its key's."""
    nameless(url)
    Rows(url, "wyrd_threads").run("UPDATE {} SET thread_id = 'else' WHERE id = 1")


DAMAGES = (
    lost, buried, of_another_key, of_another_id, of_another_number, swapped, nameless, misnamed,
    names_swapped, named_by_key_only,
)  # fmt: skip
damages = pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)


def seen(saver: Any, thread: str) -> Any:
    """What loads of a thread, by each way that leads to it."""
    graph = Agent().build(saver)
    state = graph.get_state(at(thread))
    found = saver.thread(thread).working_state().to_dict()
    return (
        saver.get_tuple(at(thread)),
        [each for each in saver.list(at(thread)) if each],
        state.values,
        state.next,
        {name: found[name] for name in ("todos", "context", "intentions", "title")},
        list(saver.thread(thread).history()),
        saver.thread(thread).labels(),
    )


def whole(made: Backend) -> dict[str, Any]:
    saver = made.open()
    found = {thread: seen(saver, thread) for thread in ("t", "u")}
    saver.close()
    return found


@damages
def test_it_loads_as_before(made: Backend, damage: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Every load gives what was there, never another thread's; it is told, once; the tables show it
    again."""
    was = whole(made)
    damage(made.url)
    saver = made.open()
    heard: list[Any] = []
    saver.on("heal", heard.append)
    with caplog.at_level(logging.WARNING, "langgraph_wyrd"):
        assert seen(saver, "t") == was["t"]
    assert {each.thread_id for each in saver.threads()} == {"t", "u"}
    assert seen(saver, "u") == was["u"]
    (heal,) = saver.thread("t").heals()
    assert heal.kind == "exact"
    assert "wyrd_" in heal.what
    assert [each.thread_id for each in heard if each.thread_id == "t"] == ["t"]
    assert len([m for m in caplog.messages if m.startswith("damage in thread 't', healed")]) == 1
    assert [loop.id for loop in saver.thread("t").working_state().open_loops] == [heal.id]
    saver.thread("t").acknowledge()
    assert not saver.thread("t").working_state().open_loops
    (listed,) = [each for each in saver.threads() if each.thread_id == "t"]
    assert (listed.status, listed.title, listed.user_id) == ("done", "turn 0", "ann")
    assert len(list(saver.list(None))) == sum(len(held[1]) for held in was.values())
    assert not saver.verify().findings


@damages
@pytest.mark.parametrize("thread", ["t", "u"])
async def test_it_goes_on(made: Backend, damage: Any, thread: str) -> None:
    """New input, an answer, an edit and a label stand on what was there, with no load before; what
    had finished does not run again."""
    was = whole(made)
    damage(made.url)
    async with made.open() as saver:
        agent = Agent()
        graph = agent.build(saver)
        if thread == "u":
            ended = await graph.ainvoke(Command(resume="yes"), at("u"))
            assert "approved: yes" in ended["log"]
            assert agent.ran == ["ask", "answer"]
        else:
            saver.thread("t").add_todo("check it")
            assert await saver.thread("t").alabel("now")
            await graph.aupdate_state(at("t"), {"report": "x"})
            ended = await graph.ainvoke({"messages": [HumanMessage("on", id="on")]}, at("t"))
            assert len(ended["messages"]) == len(was["t"][2]["messages"]) + 4
        held = {found.checkpoint["id"] for found in saver.list(at(thread))}
        assert held > {found.checkpoint["id"] for found in was[thread][1]}
        other = "t" if thread == "u" else "u"
        assert saver.get_tuple(at(other)) == was[other][0]
        assert len({each.thread_id for each in saver.threads()}) == 2


@damages
def test_a_put_comes_first(made: Backend, damage: Any) -> None:
    """A checkpoint and a task's write that a run sends are stored where the thread is."""
    held = whole(made)["t"]
    damage(made.url)
    saver = made.open()
    newest = held[0].checkpoint
    saver.put_writes(held[0].config, [("report", "late")], "task")
    point = {**newest, "id": newest["id"][:-4] + "ffff"}
    saver.put(held[0].config, point, {"source": "loop", "step": 99, "parents": {}}, {})
    assert len(list(saver.list(at("t")))) == len(held[1]) + 1
    assert saver.get_tuple(at("t")).parent_config["configurable"]["checkpoint_id"] == newest["id"]


@damages
def test_a_list_of_all(made: Backend, damage: Any) -> None:
    """A list over all threads skips none and calls none by another's id."""
    was = whole(made)
    damage(made.url)
    saver = made.open()
    found = list(saver.list(None))
    for thread in ("t", "u"):
        mine = [each for each in found if each.config["configurable"]["thread_id"] == thread]
        assert [each.checkpoint for each in mine] == [each.checkpoint for each in was[thread][1]]


@damages
def test_healing_is_off(made: Backend, damage: Any) -> None:
    """on_damage="raise": the error names the thread and what to do; nothing is written."""
    damage(made.url)
    before = [Rows(made.url, table).all() for table in ("wyrd_threads", "wyrd_names")]
    saver = made.open(on_damage="raise")
    for call in (
        lambda: saver.get_tuple(at("t")),
        lambda: list(saver.list(at("t"))),
        lambda: saver.thread("t").history(),
        lambda: saver.thread("t").label("x"),
    ):
        with pytest.raises(errors.CheckpointDamaged, match=r"thread 't' .*verify\(repair=True\)"):
            call()
    assert [Rows(made.url, table).all() for table in ("wyrd_threads", "wyrd_names")] == before
    assert saver.verify(repair=True).ok
    assert saver.get_tuple(at("t")) is not None


@damages
def test_a_look_changes_nothing(made: Backend, damage: Any) -> None:
    """verify() tells, and leaves the rows to a repair, which has nothing to do the second time."""
    was = whole(made)
    damage(made.url)
    before = [Rows(made.url, table).all() for table in ("wyrd_threads", "wyrd_names")]
    saver = made.open()
    for report in (saver.verify(), saver.verify("t")):
        (found, *_) = [each for each in report.damages if each.thread_id == "t"]
        assert found.repairable
    assert [Rows(made.url, table).all() for table in ("wyrd_threads", "wyrd_names")] == before
    assert saver.verify(repair=True).ok
    assert not saver.verify(repair=True).findings
    assert {thread: seen(saver, thread) for thread in ("t", "u")} == was
    assert not saver.thread("t").heals(), "a repair is not told as a load's heal"


def test_who_may_only_read(sqlite: Backend) -> None:
    """A file that is only read can't be put right: that is said, with the thread."""
    saver = sqlite.open()
    talk(saver, "t", 1)
    saver.close()
    lost(sqlite.url)
    reader = type(saver).from_conn_string(f"{sqlite.url}?mode=ro")
    with (
        reader,
        pytest.raises(errors.CheckpointDamaged, match=r"thread 't' .*can only be read"),
    ):
        reader.get_tuple(at("t"))


async def test_many_at_once(made: Backend) -> None:
    """Calls that meet it at the same time all get the thread; it is told once."""
    was = whole(made)
    swapped(made.url)
    async with made.open() as saver, made.open() as other:
        found = await asyncio.gather(
            *(each.aget_tuple(at(thread)) for each in (saver, other) for thread in "tutu")
        )
        assert found == [was[thread][0] for thread in "tutututu"]
        assert len(await saver.thread("t").aheals()) == 1


def test_a_users_thread(durable: Backend) -> None:
    """It is its user's as before, and no other's; one that was nobody's is nobody's."""
    saver = durable.open()
    talk(saver, "t", 1)
    talk(saver, "u", 1, user="ann")
    saver.close()
    rows = Rows(durable.url, "wyrd_threads")
    rows.run("UPDATE {} SET user_id = 'bob'")
    swapped(durable.url)
    saver = durable.open()
    assert saver.for_user("ann").get_tuple(at("u", user="ann")) is not None
    assert saver.get_tuple(at("t")) is not None
    assert [row["user_id"] for row in rows.all("ORDER BY id")] == [None, "ann"]
    assert [each.thread_id for each in saver.threads(user_id="bob")] == []


def test_a_damaged_name_leads_nowhere(made: Backend) -> None:
    """The name of a deleted thread that says another's number does not open that thread."""
    saver = made.open()
    saver.delete_thread("t")
    misnamed(made.url)
    assert saver.get_tuple(at("t")) is None
    talk(saver, "t", 1)
    assert len(saver.get_tuple(at("t")).checkpoint["channel_values"]["messages"]) == 4
    assert saver.verify(repair=True).ok
    assert saver.get_tuple(at("u")).pending_writes


def test_both_rows_are_lost(made: Backend) -> None:
    """The public tables still call it by its name: a repair has it back."""
    was = whole(made)
    lost(made.url)
    nameless(made.url)
    saver = made.open()
    assert saver.get_tuple(at("t")) is None
    report = saver.verify()
    assert "'t'" in str(report)
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings
    assert seen(saver, "t") == was["t"]


def test_a_name_is_taken(made: Backend) -> None:
    """Both rows were lost, and somebody began the thread anew: its old rows stay, and are told."""
    lost(made.url)
    nameless(made.url)
    saver = made.open()
    talk(saver, "t", 1)
    new = saver.get_tuple(at("t"))
    report = saver.verify(repair=True)
    assert not report.ok
    assert "stays" in str(report)
    assert saver.get_tuple(at("t")) == new


def test_marked_as_deleted_and_nameless(made: Backend) -> None:
    """Its checkpoints are there, so nobody deleted it; one that is deleted stays so."""
    was = whole(made)
    buried(made.url)
    nameless(made.url)
    saver = made.open()
    assert not saver.verify().ok
    assert saver.verify(repair=True).ok
    assert not saver.verify().findings
    assert seen(saver, "t") == was["t"]
    saver.delete_thread("u")
    assert saver.verify().ok
    assert saver.get_tuple(at("u")) is None


def test_a_key_that_nothing_has(made: Backend) -> None:
    """Its row has another key and its name is lost: the tables still call it by its id."""
    was = whole(made)
    of_another_key(made.url)
    nameless(made.url)
    saver = made.open()
    assert not saver.verify().ok
    assert saver.verify(repair=True).ok
    assert seen(saver, "t") == was["t"]


def test_an_id_that_nothing_proves(made: Backend) -> None:
    """Neither key nor id fit, no name, and the tables are empty: told, and left as it is."""
    named_by_key_only(made.url)
    for table in ("wyrd_todos", "wyrd_context", "wyrd_open_loops", "wyrd_intentions"):
        Rows(made.url, table).run("DELETE FROM {} WHERE thread = 1")
    saver = made.open()
    with pytest.raises(errors.CheckpointDamaged, match="number 1"):
        saver.get_tuple(at("t"))
    assert not saver.verify(repair=True).ok
    assert saver.get_tuple(at("u")) is not None


def test_two_that_both_have_something(made: Backend) -> None:
    """A row that says it is the thread, with checkpoints and no name of its own, stays the one."""
    lost(made.url)
    Rows(made.url, "wyrd_names").run("DELETE FROM {} WHERE thread = 2")
    row = Rows(made.url, "wyrd_names").all("WHERE thread = 1")[0]
    Rows(made.url, "wyrd_threads").run(
        "UPDATE {} SET thread_id = 't', key = ? WHERE id = 2", bytes(row["key"])
    )
    saver = made.open()
    found = saver.get_tuple(at("t"))
    assert found.checkpoint["channel_values"]["messages"][0].content == "approve this"
    assert saver.thread("t").heals()
    assert not saver.verify().ok, "what has no row of its own is told"


def test_three_in_a_ring(durable: Backend) -> None:
    """Each stands in the next one's place: all come back, as they are asked for."""
    saver = durable.open()
    for thread in ("a", "b", "c"):
        talk(saver, thread, 1)
    was = {thread: saver.get_tuple(at(thread)) for thread in ("a", "b", "c")}
    saver.close()
    rows = Rows(durable.url, "wyrd_threads")
    held = rows.all("ORDER BY id")
    rows.run("UPDATE {} SET deleted_at = ?", LATE)
    for row, number in zip(held, (2, 3, 1), strict=True):
        rows.run(
            "UPDATE {} SET thread_id = ?, key = ? WHERE id = ?",
            row["thread_id"], bytes(row["key"]), number,
        )  # fmt: skip
    rows.run("UPDATE {} SET deleted_at = NULL")
    saver = durable.open()
    assert {thread: saver.get_tuple(at(thread)) for thread in ("a", "b", "c")} == was
    assert {each.thread_id for each in saver.threads()} == {"a", "b", "c"}


def test_its_ledger_is_damaged_as_well(made: Backend) -> None:
    """What is shown of it can't be made anew then: it is found all the same."""
    was = whole(made)["t"][0]
    lost(made.url)
    Rows(made.url, "wyrd_events").run("UPDATE {} SET body = ? WHERE thread = 1", "[]")
    Rows(made.url, "wyrd_checkpoints").run(
        "UPDATE {} SET metadata = ? WHERE thread = 1 AND step = 1", "[]"
    )
    saver = made.open()
    assert saver.get_tuple(at("t")) == was


def test_forgetting_takes_no_thread_that_is_there(made: Backend) -> None:
    """Of threads that were deleted long ago, one that still has checkpoints was not."""
    was = whole(made)["t"][0]
    buried(made.url)
    saver = made.open()
    assert saver.sweep(Retention(forget_after=timedelta(seconds=1)), dry_run=False).tombstones == 0
    assert saver.get_tuple(at("t")) == was


def test_what_is_deleted_and_forgotten(made: Backend) -> None:
    """A deleted thread is not led back; forgotten, it leaves no name; its id can be used again."""
    saver = made.open()
    saver.delete_thread("t")
    assert saver.get_tuple(at("t")) is None
    assert list(saver.list(at("t"))) == []
    Rows(made.url, "wyrd_threads").run(
        "UPDATE {} SET deleted_at = ? WHERE id = 1", "2020-01-01T00:00:00+00:00"
    )
    assert saver.sweep(Retention(forget_after=timedelta(days=1)), dry_run=False).tombstones == 1
    assert [row["thread"] for row in Rows(made.url, "wyrd_names").all()] == [2]
    talk(saver, "t", 1)
    assert saver.verify().ok


def test_a_damaged_name_of_a_thread_that_is_found(made: Backend) -> None:
    """Nothing differs for loads; verify finds it, and writes it anew."""
    was = whole(made)
    Rows(made.url, "wyrd_names").run("UPDATE {} SET sum = 1 WHERE thread = 1")
    saver = made.open()
    assert {thread: seen(saver, thread) for thread in ("t", "u")} == was
    (found,) = saver.verify().damages
    assert found.table == "wyrd_names"
    assert saver.verify(repair=True).ok
    assert not saver.verify("t").findings
    assert {thread: seen(saver, thread) for thread in ("t", "u")} == was


def test_a_sealed_store(durable: Backend) -> None:
    """With a key ring as well: what was healed is sealed like all else."""
    keys = {"k": bytes(range(32))}
    saver = durable.open(keys=keys)
    talk(saver, "t", 1)
    was = saver.get_tuple(at("t"))
    saver.close()
    lost(durable.url)
    saver = durable.open(keys=keys)
    assert saver.get_tuple(at("t")) == was
    assert saver.thread("t").heals()[0].what == leading.LOST
    assert saver.verify().ok
