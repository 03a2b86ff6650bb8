"""Two rows of a group at once: what a load gives instead, and what a repair gives up."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph

from langgraph_wyrd import Retention
from langgraph_wyrd.checkpoints import snapshots
from langgraph_wyrd.errors import CheckpointDamaged
from tests.conftest import Backend
from tests.damage import Rows, at, extend, flipped, talk
from tests.sealed import ring

Call = Callable[..., Any]


def lose(url: str, table: str, *ids: str, column: str | None = "delta") -> None:
    """Leave nothing of a column of some rows, or (None) delete them, and all parity."""
    rows, key = Rows(url, table), "id" if table == "wyrd_checkpoints" else "task"
    for id in ids:
        if column is None:
            assert rows.run(f"DELETE FROM {{}} WHERE {key} = ?", id)
        else:
            assert rows.run(f"UPDATE {{}} SET {column} = ? WHERE {key} = ?", b"\0", id)
    Rows(url, "wyrd_parity").run("DELETE FROM {}")


class Long(TypedDict, total=False):
    trace: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=1000)]
    n: Annotated[int, operator.add]
    text: str


def grown(saver: Any) -> list[str]:
    """Ten turns with a DeltaChannel, and with snapshots of ours; the ids, oldest first."""
    builder = StateGraph(Long).add_edge(START, "a")
    builder.add_node("a", lambda state: {"trace": [f"m{state['n']}"], "n": 1, "text": "x" * 900})
    graph: Any = builder.compile(saver)
    for _ in range(10):
        graph.invoke({"n": 0}, at("t"))
    return sorted(entry.checkpoint_id for entry in saver.thread("t").history())


@pytest.fixture
def snapped(durable: Backend, monkeypatch: pytest.MonkeyPatch) -> tuple[Backend, list[str], int]:
    """A thread, the ids of its checkpoints, and which of them has the newest snapshot."""
    monkeypatch.setattr(snapshots, "SLACK", 2500)
    with durable.open() as saver:
        ids = grown(saver)
    made = {row["checkpoint"] for row in Rows(durable.url, "wyrd_snapshots").all()}
    return durable, ids, ids.index(max(made))


async def test_what_is_older_than_a_snapshot_costs_nothing_newer(snapped: Any, call: Call) -> None:
    """Checkpoints before a snapshot may be lost: those behind it are read from it, also by a load
    that met damage."""
    backend, ids, at_snapshot = snapped
    saver = backend.open()
    head = saver.get_tuple(at("t"))
    saver.put_writes(head.config, [("text", "written")], "task")
    saver.close()
    lose(backend.url, "wyrd_checkpoints", *ids[:at_snapshot])
    lose(backend.url, "wyrd_writes", "task", column="payload")
    saver = backend.open()
    found = await call(saver, "get_tuple", at("t"))
    assert found.checkpoint == head.checkpoint
    heals = await call(saver.thread("t"), "heals")
    assert [heal.what for heal in heals] == ["what task task wrote is damaged"]


@pytest.mark.parametrize("by", ["verify", "get_tuple"])
async def test_a_damaged_snapshot_is_dropped(snapped: Any, by: str, call: Call) -> None:
    """By a repair, and by a load that meets it: nothing is lost, and it is recorded."""
    backend, ids, at_snapshot = snapped
    with backend.open() as saver:
        head = saver.get_tuple(at("t"))
    where, rows = "WHERE checkpoint = ?", Rows(backend.url, "wyrd_snapshots")
    assert rows.run(f"UPDATE {{}} SET data = ? {where}", b"\0", ids[at_snapshot])
    saver = backend.open()
    if by == "verify":
        found = (await call(saver, "verify", repair=True)).findings
        assert {(each.table, each.repaired) for each in found} == {("wyrd_snapshots", True)}
    assert await call(saver, "get_tuple", at("t")) == head
    assert not rows.all(where, ids[at_snapshot])
    heals = await call(saver.thread("t"), "heals")
    assert {(heal.kind, heal.checkpoint_id, heal.what) for heal in heals} == {
        ("exact", ids[at_snapshot], "its snapshot is damaged: it is made again")
    }


@pytest.mark.parametrize("how", ["damaged", "deleted"])
async def test_a_delta_channel_whose_ancestors_are_lost(snapped: Any, how: str, call: Call) -> None:
    """A damaged ancestor still leads to what was written before it. Where it was deleted the
    channel begins behind it. Both are recorded, as nobody knows what the row held."""
    backend, ids, at_snapshot = snapped
    gone = ids[at_snapshot - 2 : at_snapshot]
    lose(backend.url, "wyrd_checkpoints", *gone, column="delta" if how == "damaged" else None)
    saver = backend.open()
    assert (await call(saver, "get_tuple", at("t"))).checkpoint["id"] == ids[-1]
    for id in (None, ids[-1]):
        asked = {"config": at("t", id), "channels": ["trace"]}
        history = (await call(saver, "get_delta_channel_history", **asked))["trace"]
        written = [item for _, _, value in history["writes"] for item in value]
        every = [f"m{n}" for n in range(10)]
        assert written == (every if how == "damaged" else every[-len(written) :])
        assert 0 < len(written) < 10 or how == "damaged"
    heals = await call(saver.thread("t"), "heals")
    lost = {heal.checkpoint_id for heal in heals if "DeltaChannels" in heal.what}
    assert lost == ({*gone} if how == "damaged" else set())


async def test_delta_channels_beside_a_damaged_snapshot(
    durable: Backend, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    """A snapshot of which a row is missing is not read for a DeltaChannel either: its values are
    read from older checkpoints, and the snapshot is dropped."""
    monkeypatch.setattr(snapshots, "SLACK", 1500)
    monkeypatch.setattr(snapshots, "OWN_ROW", 300)
    with durable.open() as saver:
        talk(saver, "t", 5)
        ids = [entry.checkpoint_id for entry in saver.thread("t").history()]
        asked = [{"config": at("t", id), "channels": ["trace"]} for id in ids]
        histories = [saver.get_delta_channel_history(**each) for each in asked]
    assert Rows(durable.url, "wyrd_snapshots").run("DELETE FROM {} WHERE channel <> ''")
    saver = durable.open()
    assert [await call(saver, "get_delta_channel_history", **each) for each in asked] == histories
    assert not Rows(durable.url, "wyrd_snapshots").all()
    assert {heal.kind for heal in await call(saver.thread("t"), "heals")} == {"exact"}


@pytest.mark.parametrize("how", ["damaged", "deleted", "all before"])
async def test_all_messages_where_only_an_ancestor_is_lost(
    durable: Backend, monkeypatch: pytest.MonkeyPatch, caplog: Any, how: str, call: Call
) -> None:
    """Every message of all=True that any other checkpoint has is there, and a warning names the
    one that can't be read. With on_damage="raise" it raises."""
    monkeypatch.setattr(snapshots, "SLACK", 1500)
    with durable.open() as saver:
        talk(saver, "t", 6)
        every = saver.thread("t").messages(all=True)
        ids = sorted(entry.checkpoint_id for entry in saver.thread("t").history())
    made = {row["checkpoint"] for row in Rows(durable.url, "wyrd_snapshots").all()}
    last = ids.index(min(made))
    gone = ids[:last] if how == "all before" else ids[last - 4 : last - 2]
    lose(durable.url, "wyrd_checkpoints", *gone, column=None if how == "deleted" else "delta")
    saver = durable.open()
    assert await call(saver.thread("t"), "messages", all=True) == every
    said = next(each.getMessage() for each in caplog.records if "all=True" in each.getMessage())
    assert ("the beginning" in said) == (how == "all before")
    assert f"checkpoint {ids[last - 1]} can't be read" in said
    strict = durable.open(on_damage="raise")
    with pytest.raises(CheckpointDamaged):
        await call(strict.thread("t"), "messages", all=True)


KEEPS: dict[str, Callable[[Any, Call], Any]] = {
    "keep_latest": lambda saver, call: call(saver, "prune", ["t"]),
    "delete": lambda saver, call: call(saver, "prune", ["t"], strategy="delete"),
    "sweep": lambda saver, call: call(saver, "sweep", Retention(keep_last=2), dry_run=False),
    "dry run": lambda saver, call: call(saver, "sweep", Retention(keep_last=2)),
    "repair": lambda saver, call: call(saver, "verify", repair=True),
}


@pytest.mark.parametrize("spoils", ["deleted", "damaged"])
@pytest.mark.parametrize("way", KEEPS)
async def test_deleting_beside_a_snapshot_of_which_a_row_is_lost(
    durable: Backend, monkeypatch: pytest.MonkeyPatch, way: str, spoils: str, call: Call
) -> None:
    """A prune and a sweep drop the snapshot, as a load and a repair do, and go on: nothing else is
    damaged. `verify` reports it."""
    monkeypatch.setattr(snapshots, "SLACK", 1500)
    monkeypatch.setattr(snapshots, "OWN_ROW", 300)
    sealed = ring("old") if spoils == "damaged" else {}
    with durable.open(**sealed) as saver:
        talk(saver, "t", 5)
        head, total = saver.get_tuple(at("t")), len([*saver.list(at("t"))])
    change = "DELETE FROM {}" if spoils == "deleted" else "UPDATE {} SET sum = 0"
    assert Rows(durable.url, "wyrd_snapshots").run(f"{change} WHERE channel <> ''")
    saver = durable.open(**sealed)
    report = await call(saver, "verify")
    assert {each.table for each in report.findings} == {"wyrd_snapshots"}
    found = await KEEPS[way](saver, call)
    assert getattr(found, "left", ()) == ()
    assert (await call(saver, "verify")).ok
    left = len(await call(saver, "list", at("t")))
    if way == "delete":
        assert left == 0
    else:
        assert await call(saver, "get_tuple", at("t")) == head._replace(
            parent_config=head.parent_config if left > 1 else None
        )
        assert (left == total) == (way in ("dry run", "repair"))


async def test_a_checkpoint_without_any_before_it(durable: Backend, call: Call) -> None:
    """One that is asked for by its id and can't be read raises, whether or not there is another
    to go on from; one that never was is None."""
    with durable.open() as saver:
        talk(saver, "t", 1)
        ids = sorted(entry.checkpoint_id for entry in saver.thread("t").history())
    lose(durable.url, "wyrd_checkpoints", ids[0])
    saver = durable.open()
    with pytest.raises(CheckpointDamaged, match=ids[0]) as raised:
        await call(saver, "get_tuple", at("t", ids[0]))
    assert raised.value.ancestor is None
    never = f"{ids[0][:-1]}{'0' if ids[0][-1] != '0' else '1'}"
    assert await call(saver, "get_tuple", at("t", never)) is None


@pytest.mark.parametrize("by", ["verify", "get_tuple"])
async def test_a_flipped_bit_beside_a_row_that_is_missing(
    durable: Backend, by: str, call: Call
) -> None:
    """The bit is turned back first; then the group lacks one row only, and gives it back."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        ids = sorted(entry.checkpoint_id for entry in saver.thread("t").history())
        head = saver.get_tuple(at("t"))
    rows = Rows(durable.url, "wyrd_checkpoints")
    sound = rows.all("WHERE id = ?", ids[-1])[0]["delta"]
    rows.run("UPDATE {} SET delta = ? WHERE id = ?", flipped(bytes(sound)), ids[-1])
    rows.run("DELETE FROM {} WHERE id = ?", ids[-2])
    saver = durable.open()
    if by == "verify":
        assert (await call(saver, "verify", repair=True)).ok
    assert await call(saver, "get_tuple", at("t")) == head
    assert {heal.kind for heal in await call(saver.thread("t"), "heals")} == {"exact"}
    assert not (await call(saver, "verify")).findings


async def test_a_checkpoint_that_was_deleted(durable: Backend, call: Call) -> None:
    """Parity knows that it was there: it raises, and one that never was is None all the same."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        ids = sorted(entry.checkpoint_id for entry in saver.thread("t").history())
    for id in ids[3:5]:
        Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", id)
    saver = durable.open()
    for id in ids[3:5]:
        with pytest.raises(CheckpointDamaged, match=id) as raised:
            await call(saver, "get_tuple", at("t", id))
        assert raised.value.ancestor == ids[2]
    never = f"{ids[3][:-1]}{'0' if ids[3][-1] != '0' else '1'}"
    assert await call(saver, "get_tuple", at("t", never)) is None


@pytest.mark.parametrize("keys", [True, False])
async def test_a_repair_takes_all_that_a_task_wrote_but_its_answers(
    durable: Backend, call: Call, keys: bool
) -> None:
    """The task runs again as a whole. An answer that somebody gave it stays, and so does what
    nobody can tell from one, as the keys are missing."""
    saver = durable.open(**ring("old"))
    talk(saver, "t", 1)
    head = saver.get_tuple(at("t"))
    for task in ("plain", "answered"):
        saver.put_writes(head.config, [("report", task)], task)
        other = "__resume__" if task == "answered" else "log"
        saver.put_writes(head.config, [(other, ["more"])], task)
    saver.close()
    rows = Rows(durable.url, "wyrd_writes")
    for task in ("plain", "answered"):
        first = min(row["seq"] for row in rows.all("WHERE task = ?", task))
        rows.run("UPDATE {} SET payload = ? WHERE task = ? AND seq = ?", b"\0", task, first)
    Rows(durable.url, "wyrd_parity").run("DELETE FROM {}")
    saver = durable.open(**(ring("old") if keys else {}))
    report = await call(saver, "verify", "t", repair=True)
    assert {each.repaired for each in report.damages if each.table == "wyrd_writes"} == {True}
    left = {row["task"] for row in rows.all("WHERE task IN ('plain', 'answered')")}
    assert left == ({"answered"} if keys else {"plain", "answered"})
    saver = durable.open(**ring("old"))
    assert {heal.channel for heal in saver.thread("t").heals()} == {"plain", "answered"}


@pytest.mark.parametrize("column", ["payload", "sum"])
async def test_what_is_damaged_is_told_from_what_is_missing(
    durable: Backend, call: Call, column: str
) -> None:
    """Of two rows of one group, one damaged and one deleted, `verify` says which is which, be it
    by their checksums or by their checkpoints."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        ids = sorted(entry.checkpoint_id for entry in saver.thread("t").history())
        head = saver.get_tuple(at("t"))
        saver.put_writes(head.config, [("report", "r")], "task")
    Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", ids[1])
    value: Any = b"\0" if column == "payload" else 7
    rows = Rows(durable.url, "wyrd_writes")
    rows.run(f"UPDATE {{}} SET {column} = ? WHERE task = 'task'", value)
    found = (await call(durable.open(), "verify", "t")).findings
    assert {(each.table, each.what) for each in found} >= {
        ("wyrd_parity", "1 row that its parity names can't be found"),
        ("wyrd_writes", "it fails its checksum"),
    }
