"""A damaged row never strands a thread nor passes for a good one: the ladder, rung by rung."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from langgraph_wyrd import errors
from langgraph_wyrd.healing.placeholders import MARK, TEXT
from tests.conftest import Backend
from tests.damage import (
    Agent,
    Rows,
    at,
    flipped,
    garbled,
    splices_of,
    spoil_splice,
    talk,
)
from tests.outside import path_of
from tests.rows import put

pytestmark = pytest.mark.inside


@pytest.fixture
def made(durable: Backend) -> Backend:
    """A thread of three turns, its saver closed."""
    saver = durable.open()
    talk(saver, "t")
    saver.close()
    return durable


def head(saver: Any) -> Any:
    return saver.get_tuple(at("t"))


def kinds(saver: Any) -> list[str]:
    return [heal.kind for heal in saver.thread("t").heals()]


def forget_writes(made: Backend, channel: str | None = None) -> None:
    """Take what tasks wrote away: nothing is stored twice any more."""
    if channel is None:
        Rows(made.url, "wyrd_writes").run("DELETE FROM {}")
    else:
        Rows(made.url, "wyrd_writes").run("DELETE FROM {} WHERE channel = ?", channel)


def row_of(made: Backend, text: bytes) -> dict[str, Any]:
    (row,) = splices_of(made.url, "t", text)
    return row


def whole(made: Backend) -> Any:
    saver = made.open()
    found = head(saver)
    saver.close()
    return found


# ---- exact


async def test_a_flipped_bit_is_put_right_without_a_copy(made: Backend, call: Any) -> None:
    """The checksum alone proves which bit it was; the damaged bytes stay as they are."""
    sound = whole(made)
    forget_writes(made)
    row = row_of(made, b"ai-5")
    spoil_splice(made.url, row, data=flipped(row["data"]))
    saver = made.open()
    assert (await call(saver, "get_tuple", at("t"))).checkpoint == sound.checkpoint
    assert kinds(saver) == ["exact"]
    assert not splices_of(made.url, "t", bytes(row["data"]))


def test_a_splice_is_copied_from_its_tasks_write(made: Backend) -> None:
    """Nothing is left of the row: its elements come from where the task wrote them."""
    sound = whole(made)
    row = row_of(made, b"ai-5")
    spoil_splice(made.url, row, data=garbled(row["data"]))
    saver = made.open()
    assert head(saver).checkpoint == sound.checkpoint
    assert kinds(saver) == ["exact"]


def test_a_splice_is_copied_from_another_strand(made: Backend) -> None:
    """A fork stored the list anew: each strand heals from the other one."""
    forget_writes(made)
    saver = made.open()
    graph = Agent().build(saver)
    old = list(saver.list(at("t")))[4]
    graph.invoke({"messages": [HumanMessage("forked", id="fork")]}, old.config)
    sound = head(saver)
    saver.close()
    rows = splices_of(made.url, "t", b"ai-5")
    assert len(rows) == 2, "in the old strand and in the fork's"
    spoil_splice(made.url, rows[1], data=garbled(rows[1]["data"]))
    saver = made.open()
    found = head(saver)
    assert [m.id for m in found.checkpoint["channel_values"]["messages"]] == [
        m.id for m in sound.checkpoint["channel_values"]["messages"]
    ]


@pytest.mark.parametrize("column", ["keep", "cut", "count", "sum", "chain"])
def test_a_wrong_column_of_a_splice_is_worked_out_anew(made: Backend, column: str) -> None:
    """Of shape, checksum and chain any one is proven by the others."""
    sound = whole(made)
    forget_writes(made)
    row = row_of(made, b"ai-5")
    spoil_splice(made.url, row, **{column: row[column] + 3})
    saver = made.open()
    assert head(saver).checkpoint == sound.checkpoint
    assert kinds(saver) == ["exact"]


def test_swapped_splices_are_put_back(made: Backend) -> None:
    """Rows that stand in each other's places are told by their checksums."""
    sound = whole(made)
    forget_writes(made)
    one, other = row_of(made, b"ai-5"), row_of(made, b"ai-9")
    names = ("keep", "cut", "count", "data", "sum", "chain")
    spoil_splice(made.url, one, **{name: other[name] for name in names})
    spoil_splice(made.url, other, **{name: one[name] for name in names})
    saver = made.open()
    assert head(saver).checkpoint == sound.checkpoint
    assert set(kinds(saver)) == {"exact"}


def test_a_missing_splice_is_made_anew(made: Backend) -> None:
    """The lengths of the versions around it say what it added, its task's write holds it."""
    sound = whole(made)
    row = row_of(made, b"ai-5")
    Rows(made.url, "wyrd_splices").run(
        "DELETE FROM {} WHERE strand = ? AND seq = ?", row["strand"], row["seq"]
    )
    saver = made.open()
    assert head(saver).checkpoint == sound.checkpoint
    assert kinds(saver) == ["exact"]


@pytest.mark.parametrize("column", ["metadata", "parent", "seq", "length", "chain", "sum", "ts"])
def test_a_checkpoints_row_is_put_right(made: Backend, column: str) -> None:
    """A bit of any column, or a parent that is none: the row is had back."""
    sound = whole(made)
    rows = Rows(made.url, "wyrd_checkpoints")
    id = sound.config["configurable"]["checkpoint_id"]
    (row,) = rows.all("WHERE id = ?", id)
    wrong: Any = {"parent": None, "ts": str(row["ts"]).replace("2026", "2027")}.get(column)
    if column == "metadata":
        rows.run("UPDATE {} SET metadata = replace(CAST(metadata AS text), 'loop', 'loor')" +
                 ("::json" if made.name == "postgres" else "") + " WHERE id = ?", id)  # fmt: skip
    elif column in ("parent", "ts"):
        rows.run(f"UPDATE {{}} SET {column} = ? WHERE id = ?", wrong, id)
    else:
        bit = 1 << 20 if column == "sum" else 2  # its lowest bits are for what is derived
        rows.run(f"UPDATE {{}} SET {column} = ? WHERE id = ?", row[column] ^ bit, id)
    saver = made.open()
    assert head(saver) == sound
    assert kinds(saver) == ["exact"]


def test_a_frame_is_put_right(made: Backend) -> None:
    """What a checkpoint is made of has a flipped bit."""
    sound = whole(made)
    (row,) = Rows(made.url, "wyrd_checkpoints").all(
        "WHERE id = ?", sound.config["configurable"]["checkpoint_id"]
    )
    rows = Rows(made.url, "wyrd_splices")
    (frame,) = rows.all("WHERE strand = ? AND seq = ?", row["strand"], row["seq"])
    spoil_splice(made.url, frame, data=flipped(frame["data"]))
    saver = made.open()
    assert head(saver) == sound
    assert kinds(saver) == ["exact"]


# ---- placeholders


def lost_message(made: Backend, text: bytes, *, garble: bool = True) -> None:
    """A message that is stored nowhere whole."""
    forget_writes(made, "messages")
    row = row_of(made, text)
    data = garbled(row["data"]) if garble else row["data"].replace(b"done at", b"d0ne 4t")
    spoil_splice(made.url, row, data=data)


def test_a_lost_message_is_stood_in_for(made: Backend) -> None:
    """The other messages are kept; the lost one says so, in its place, by its class and id."""
    sound = whole(made).checkpoint["channel_values"]["messages"]
    lost_message(made, b"end-7", garble=False)
    saver = made.open()
    found = head(saver).checkpoint["channel_values"]["messages"]
    index = [m.id for m in sound].index("end-7")
    assert found[:index] + found[index + 1 :] == sound[:index] + sound[index + 1 :]
    assert isinstance(found[index], AIMessage)
    assert (found[index].id, found[index].content) == ("end-7", TEXT)
    assert found[index].response_metadata == MARK
    assert kinds(saver) == ["placeholder"]
    assert head(saver).checkpoint["channel_values"]["messages"] == found, "the same every time"


def test_a_lost_call_is_named_by_its_result(made: Backend) -> None:
    """A tool's message without its call would be refused by every model: the call stands again."""
    lost_message(made, b"ai-5")
    found = head(made.open()).checkpoint["channel_values"]["messages"]
    stand_in, result = found[5], found[6]
    assert isinstance(stand_in, AIMessage)
    assert stand_in.content == TEXT
    assert [call["id"] for call in stand_in.tool_calls] == [result.tool_call_id] == ["call-5"]


def test_a_lost_result_is_named_by_its_call(made: Backend) -> None:
    """A call without its result would be refused by every model: the result says it is lost."""
    lost_message(made, b"tool-call-5")
    stand_in = head(made.open()).checkpoint["channel_values"]["messages"][6]
    assert isinstance(stand_in, ToolMessage)
    assert (stand_in.tool_call_id, stand_in.content) == ("call-5", TEXT)
    assert stand_in.status == "error"


def test_a_missing_message_is_stood_in_for(made: Backend) -> None:
    """Its row is gone, and nothing else holds it."""
    forget_writes(made, "messages")
    row = row_of(made, b"end-7")
    Rows(made.url, "wyrd_splices").run(
        "DELETE FROM {} WHERE strand = ? AND seq = ?", row["strand"], row["seq"]
    )
    saver = made.open()
    found = head(saver).checkpoint["channel_values"]["messages"]
    assert [m.content == TEXT for m in found].count(True) == 1
    assert (found[7].content, len(found)) == (TEXT, 12)
    assert kinds(saver) == ["placeholder"]


# ---- ancestors


async def test_the_nearest_intact_ancestor_stands_for_the_latest(made: Backend, call: Any) -> None:
    """Its own config names it, so that the thread goes on from there."""
    saver = made.open()
    steps = list(saver.list(at("t")))
    saver.close()
    (row,) = splices_of(made.url, "t", b"/10")
    spoil_splice(made.url, row, data=garbled(row["data"]))
    forget_writes(made)
    saver = made.open()
    found = await call(saver, "get_tuple", at("t"))
    without = [s for s in steps if "/10" not in s.checkpoint["channel_values"].get("files", {})]
    assert found.checkpoint == without[0].checkpoint
    assert kinds(saver) == ["ancestor"]
    damaged = steps[0].config["configurable"]["checkpoint_id"]
    with pytest.raises(errors.CheckpointDamaged, match=str(found.checkpoint["id"])) as caught:
        await call(saver, "get_tuple", at("t", damaged))
    assert caught.value.ancestor == found.checkpoint["id"]


def test_a_message_that_is_no_list_has_no_gap(durable: Backend) -> None:
    """What stood alone is not stood in for, even where its bytes still show what it was."""
    saver = durable.open()
    first = put(saver, "t", {"last": AIMessage("before", id="m0")})
    put(saver, "t", {"last": AIMessage("Some words. " * 6, id="m1")}, parent=first)
    saver.close()
    (row,) = splices_of(durable.url, "t", b"Some words")
    data = bytes(row["data"])
    spoil_splice(durable.url, row, data=data.replace(b"Some words", b"Same wards"))
    found = durable.open().get_tuple(at("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"last": AIMessage("before", id="m0")}


async def test_a_list_goes_on_past_what_cant_be_read(made: Backend, call: Any, caplog: Any) -> None:
    """What can't be read is reported, and all the others come, as they were."""
    saver = made.open()
    steps = list(saver.list(at("t")))
    saver.close()
    (row,) = splices_of(made.url, "t", b"/10")
    spoil_splice(made.url, row, data=garbled(row["data"]))
    forget_writes(made)
    saver = made.open()
    with caplog.at_level(logging.WARNING, "langgraph_wyrd"):
        found = await call(saver, "list", at("t"))
    sound = [s for s in steps if "/10" not in s.checkpoint["channel_values"].get("files", {})]
    assert [f.checkpoint for f in found] == [s.checkpoint for s in sound]
    gone = {s.checkpoint["id"] for s in steps} - {s.checkpoint["id"] for s in sound}
    assert {h.checkpoint_id for h in saver.thread("t").heals() if h.kind == "left_out"} == gone
    assert all(id in caplog.text for id in gone)


@pytest.mark.parametrize("load_first", [True, False])
def test_a_damaged_head_is_one_damage(made: Backend, load_first: bool) -> None:
    """One heal and one open loop, whoever met it first: a load or the working state."""
    table = Rows(made.url, "wyrd_checkpoints")
    newest = table.all("ORDER BY id DESC")[0]["id"]
    table.run("UPDATE {} SET metadata = '[]', ts = '1', length = 9 WHERE id = ?", newest)
    saver = made.open()
    thread = saver.thread("t")
    met = [lambda: saver.get_tuple(at("t")), thread.working_state]
    for each in met if load_first else reversed(met):
        each()
    assert [(each.kind, each.checkpoint_id) for each in thread.heals()] == [("ancestor", newest)]
    assert [each.source.rule for each in thread.working_state().open_loops].count("healed") == 1
    thread.acknowledge()
    assert [each.source.rule for each in thread.working_state().open_loops].count("healed") == 0


def test_a_missing_head_is_noticed(made: Backend) -> None:
    """The thread's row knows its newest checkpoint: an older one never passes for it silently."""
    saver = made.open()
    steps = list(saver.list(at("t"), limit=2))
    saver.close()
    newest = steps[0].checkpoint["id"]
    Rows(made.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", newest)
    saver = made.open()
    assert head(saver).checkpoint == steps[1].checkpoint
    (heal,) = saver.thread("t").heals()
    assert (heal.kind, heal.checkpoint_id) == ("ancestor", newest)


def test_nothing_readable_is_an_empty_thread(made: Backend) -> None:
    """It can be used again, and says what happened to it."""
    rows = Rows(made.url, "wyrd_checkpoints")
    for row in rows.all():
        rows.run("UPDATE {} SET chain = ? WHERE id = ?", row["chain"] // 3, row["id"])
        rows.run("UPDATE {} SET seq = ? WHERE id = ?", row["seq"] + 300, row["id"])
    saver = made.open()
    assert head(saver) is None
    assert kinds(saver) == ["empty"]
    graph = Agent().build(saver)
    assert graph.get_state(at("t")).values == {}
    graph.invoke({"messages": [HumanMessage("again")]}, at("t"))
    assert len(head(saver).checkpoint["channel_values"]["messages"]) == 4


# ---- what tasks wrote


@pytest.fixture
def waiting(durable: Backend) -> Backend:
    """A thread that waits for a person."""
    saver = durable.open()
    talk(saver, "t", 2, last="approve this")
    saver.close()
    return durable


def pending(made: Backend) -> list[dict[str, Any]]:
    newest = max(row["id"] for row in Rows(made.url, "wyrd_checkpoints").all())
    return Rows(made.url, "wyrd_writes").all("WHERE checkpoint = ? ORDER BY idx", newest)


def test_a_write_is_put_right(waiting: Backend) -> None:
    """What the thread waits for has a flipped bit."""
    sound = whole(waiting)
    (row,) = pending(waiting)
    Rows(waiting.url, "wyrd_writes").run(
        "UPDATE {} SET data = ? WHERE task = ?", flipped(row["data"]), row["task"]
    )
    saver = waiting.open()
    assert head(saver).pending_writes == sound.pending_writes
    assert kinds(saver) == ["exact"]


def test_a_lost_interrupt_is_asked_again(waiting: Backend) -> None:
    """The task runs again and asks again; nothing that was finished is done twice."""
    (row,) = pending(waiting)
    Rows(waiting.url, "wyrd_writes").run(
        "UPDATE {} SET data = ? WHERE task = ?", garbled(row["data"]), row["task"]
    )
    saver = waiting.open()
    agent = Agent()
    graph = agent.build(saver)
    assert head(saver).pending_writes == []
    assert kinds(saver) == ["left_out"]
    graph.invoke(None, at("t"))
    assert agent.ran == ["ask"]
    graph.invoke(Command(resume="yes"), at("t"))
    assert "approved: yes" in head(saver).checkpoint["channel_values"]["log"]


def finished(made: Backend) -> None:
    """The head's last task is done, and its checkpoint was not stored: as after a kill."""
    saver = made.open()
    id = head(saver).checkpoint["id"]
    saver.close()
    (row,) = Rows(made.url, "wyrd_checkpoints").all("WHERE id = ?", id)
    Rows(made.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", id)
    Rows(made.url, "wyrd_splices").run(
        "DELETE FROM {} WHERE thread = ? AND strand = ? AND seq = ?",
        row["thread"], row["strand"], row["seq"],
    )  # fmt: skip
    before = max(row["id"] for row in Rows(made.url, "wyrd_checkpoints").all())
    Rows(made.url, "wyrd_threads").run("UPDATE {} SET head = ?", before)


def test_what_is_finished_is_not_run_again(made: Backend) -> None:
    """Its writes are had back, and the run goes on behind them."""
    finished(made)
    (row,) = [row for row in pending(made) if row["channel"] == "report"]
    Rows(made.url, "wyrd_writes").run(
        "UPDATE {} SET data = ? WHERE task = ? AND idx = ?",
        flipped(row["data"]), row["task"], row["idx"],
    )  # fmt: skip
    saver, agent = made.open(), Agent()
    agent.build(saver).invoke(None, at("t"))
    assert agent.ran == []
    assert head(saver).checkpoint["channel_values"]["report"] == "r" * 200
    assert kinds(saver) == ["exact"]


@pytest.mark.parametrize("which", [0, -1])
def test_a_task_that_lacks_a_write_runs_again(made: Backend, which: int) -> None:
    """The first or the last of what it wrote is missing: half a result is none."""
    finished(made)
    row = pending(made)[which]
    Rows(made.url, "wyrd_writes").run(
        "DELETE FROM {} WHERE task = ? AND idx = ?", row["task"], row["idx"]
    )
    saver, agent = made.open(), Agent()
    agent.build(saver).invoke(None, at("t"))
    assert agent.ran == ["answer"]
    assert kinds(saver) == ["left_out"]
    assert "it runs again" in saver.thread("t").heals()[0].what
    assert head(saver).checkpoint["channel_values"]["report"] == "r" * 200


# ---- going on


def with_new_input(graph: Any) -> None:
    graph.invoke({"messages": [HumanMessage("after it", id="after")]}, at("t"))


def with_an_update(graph: Any) -> None:
    graph.update_state(at("t"), {"messages": [HumanMessage("after it", id="after")]})


@pytest.mark.parametrize("goes_on", [with_new_input, with_an_update])
@pytest.mark.parametrize("how", ["exact", "placeholder", "ancestor"])
def test_the_thread_goes_on(made: Backend, goes_on: Callable[..., None], how: str) -> None:
    """What is written after a heal stands on strands of its own: it loads whole from then on."""
    if how == "exact":
        row = row_of(made, b"ai-5")
        spoil_splice(made.url, row, data=garbled(row["data"]))
    elif how == "placeholder":
        lost_message(made, b"ai-5")
    else:
        (row,) = splices_of(made.url, "t", b"/10")
        spoil_splice(made.url, row, data=garbled(row["data"]))
        forget_writes(made)
    saver = made.open()
    graph = Agent().build(saver)
    before = head(saver).checkpoint["channel_values"]["messages"]
    goes_on(graph)
    found = head(saver).checkpoint["channel_values"]["messages"]
    assert found[: len(before)] == before
    assert found[len(before)].id == "after"
    saver.close()
    assert set(kinds(made.open())) == {how}
    if how != "ancestor" or goes_on is with_new_input:
        strict = made.open(on_damage="raise")
        again = head(strict).checkpoint["channel_values"]["messages"]
        assert again == found


def test_a_damaged_frame_is_not_built_on(made: Backend) -> None:
    """The next checkpoint has a frame of its own, whole."""
    sound = whole(made)
    (row,) = Rows(made.url, "wyrd_checkpoints").all(
        "WHERE id = ?", sound.config["configurable"]["checkpoint_id"]
    )
    (frame,) = Rows(made.url, "wyrd_splices").all(
        "WHERE strand = ? AND seq = ?", row["strand"], row["seq"]
    )
    spoil_splice(made.url, frame, data=flipped(frame["data"]))
    saver = made.open()
    with_new_input(Agent().build(saver))
    saver.close()
    strict = made.open(on_damage="raise")
    assert len(head(strict).checkpoint["channel_values"]["messages"]) == 16


# ---- aloud


def test_damage_is_said_aloud(made: Backend, caplog: Any) -> None:
    """In the log, in a table, once; as an open loop until somebody has seen it."""
    row = row_of(made, b"ai-5")
    spoil_splice(made.url, row, data=garbled(row["data"]))
    saver = made.open()
    with caplog.at_level(logging.WARNING, "langgraph_wyrd"):
        head(saver)
    (said,) = [r.getMessage() for r in caplog.records if "damage" in r.getMessage()]
    assert "'t'" in said
    assert "messages" in said
    head(saver)
    other = made.open()
    head(other)
    thread = other.thread("t")
    (heal,) = thread.heals()
    assert (heal.thread_id, heal.channel, heal.acknowledged_at) == ("t", "messages", None)
    (loop,) = [each for each in thread.working_state().open_loops if each.kind == "error"]
    assert (loop.id, loop.source.rule) == (heal.id, "healed")
    state = thread.working_state()
    assert state.status == "done", "it is no failure of the run"
    assert state.reason == "nothing due; damage that nobody has seen"
    thread.acknowledge(heal)
    assert thread.working_state().reason == "nothing due, nothing open"
    assert not [each for each in thread.working_state().open_loops if each.kind == "error"]
    assert thread.heals()[0].acknowledged_at is not None
    head(other)
    assert len(thread.heals()) == 1
    with pytest.raises(errors.InvalidInput, match="h-none"):
        thread.acknowledge("h-none")


async def test_heals_and_acknowledge_async(made: Backend) -> None:
    """The same with a-names; all at once."""
    row = row_of(made, b"ai-5")
    spoil_splice(made.url, row, data=garbled(row["data"]))
    saver = made.open()
    await saver.aget_tuple(at("t"))
    assert [heal.kind for heal in await saver.thread("t").aheals()] == ["exact"]
    await saver.thread("t").aacknowledge()
    assert (await saver.thread("t").aheals())[0].acknowledged_at is not None
    with pytest.raises(errors.ThreadNotFound):
        await saver.thread("nobody").aheals()


def test_heals_go_with_their_thread(made: Backend) -> None:
    """Copied with it, deleted with it."""
    row = row_of(made, b"ai-5")
    spoil_splice(made.url, row, data=garbled(row["data"]))
    saver = made.open()
    head(saver)
    saver.copy_thread("t", "copy")
    assert [heal.thread_id for heal in saver.thread("copy").heals()] == ["copy"]
    saver.delete_thread("t")
    assert {row["thread"] for row in Rows(made.url, "wyrd_heals").all()} == {
        row["id"] for row in Rows(made.url, "wyrd_threads").all("WHERE thread_id = 'copy'")
    }


def test_a_database_that_can_only_be_read_heals_too(sqlite: Backend, caplog: Any) -> None:
    """What can't be recorded is in the log; the load gives what it can."""
    saver = sqlite.open()
    talk(saver, "t")
    sound = head(saver)
    saver.close()
    (row,) = splices_of(sqlite.url, "t", b"ai-5")
    spoil_splice(sqlite.url, row, data=garbled(row["data"]))
    sqlite.url += "?mode=ro"
    saver = sqlite.open()
    assert head(saver).checkpoint == sound.checkpoint
    assert "could not be recorded" in caplog.text
    assert kinds(saver) == []


def test_on_damage_raise_heals_nothing(made: Backend) -> None:
    """Whoever wants none of it is told, and the thread is left alone."""
    row = row_of(made, b"ai-5")
    spoil_splice(made.url, row, data=flipped(row["data"]))
    saver = made.open(on_damage="raise")
    for load in (head, lambda saver: list(saver.list(at("t")))):
        with pytest.raises(errors.CheckpointDamaged):
            load(saver)
    assert kinds(saver) == []
    with pytest.raises(errors.InvalidInput, match="on_damage"):
        made.open(on_damage="ignore")


def test_text_that_is_no_utf8_is_damage(sqlite: Backend) -> None:
    """SQLite stores any bytes as text: that they can't be decoded is no failing database."""
    saver = sqlite.open()
    talk(saver, "t")
    sound = head(saver)
    saver.close()
    connection = sqlite3.connect(path_of(sqlite.url))
    text = connection.execute("SELECT max(metadata) FROM wyrd_checkpoints").fetchone()[0]
    connection.execute(
        "UPDATE wyrd_checkpoints SET metadata = CAST(? AS TEXT) WHERE metadata = ?",
        (flipped(text.encode(), 3)[:5] + b"\xff" + text.encode()[6:], text),
    )
    connection.commit()
    connection.close()
    saver = sqlite.open()
    assert {found.checkpoint["id"] for found in saver.list(at("t"))} | {
        heal.checkpoint_id for heal in saver.thread("t").heals()
    } >= {sound.checkpoint["id"]}
    assert head(saver) is not None
    with pytest.raises(errors.CheckpointDamaged):
        list(sqlite.open(on_damage="raise").list(at("t")))


def test_loading_never_changes_what_is_damaged(made: Backend) -> None:
    """Every table but that of the heals is as it was."""
    row = row_of(made, b"ai-5")
    spoil_splice(made.url, row, data=garbled(row["data"]))
    names = ("threads", "checkpoints", "splices", "writes", "events", "open_loops")
    before = {name: Rows(made.url, f"wyrd_{name}").all() for name in names}
    saver = made.open()
    head(saver)
    list(saver.list(at("t")))
    saver.thread("t").working_state()
    assert {name: Rows(made.url, f"wyrd_{name}").all() for name in names} == before


# ---- delta channels


def trace(saver: Any) -> Any:
    return Agent().build(saver).get_state(at("t")).values["trace"]


@pytest.mark.parametrize("what", ["seed", "write"])
def test_a_delta_channel_is_rebuilt(made: Backend, what: str) -> None:
    """From an earlier value and the writes since, each put right if need be."""
    saver = made.open()
    sound = trace(saver)
    saver.close()
    assert len(sound) == 6
    seeds = splices_of(made.url, "t", b"." * 60)
    assert seeds
    for row in seeds:
        spoil_splice(made.url, row, data=garbled(row["data"]))
    if what == "write":
        (row,) = Rows(made.url, "wyrd_writes").all(
            "WHERE channel = 'trace' ORDER BY checkpoint LIMIT 1"
        )
        Rows(made.url, "wyrd_writes").run(
            "UPDATE {} SET data = ? WHERE checkpoint = ? AND task = ? AND idx = ?",
            flipped(row["data"]), row["checkpoint"], row["task"], row["idx"],
        )  # fmt: skip
    saver = made.open()
    assert trace(saver) == sound
    assert set(kinds(saver)) == {"exact"}


@pytest.mark.parametrize("what", ["gone", "parent"])
async def test_a_delta_channels_path_is_found_again(made: Backend, what: str, call: Any) -> None:
    """Past a checkpoint that is gone, or that names another parent: nothing is left out."""
    saver = made.open()
    ids = sorted(found.checkpoint["id"] for found in saver.list(at("t")))
    sound = {
        id: saver.get_delta_channel_history(config=at("t", id), channels=["trace"])["trace"]
        for id in ids
    }
    saver.close()
    target = max(ids, key=lambda id: len(sound[id]["writes"]))
    before = ids[ids.index(target) - 1]
    rows = Rows(made.url, "wyrd_checkpoints")
    if what == "gone":
        rows.run("DELETE FROM {} WHERE id = ?", before)
    else:
        rows.run("UPDATE {} SET parent = ? WHERE id = ?", ids[0][:-1] + "z", before)
    saver = made.open()
    found = await call(
        saver, "get_delta_channel_history", config=at("t", target), channels=["trace"]
    )
    assert found["trace"] == sound[target]
    assert kinds(saver) == ["left_out" if what == "gone" else "exact"]
