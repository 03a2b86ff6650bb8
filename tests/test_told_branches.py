"""The small branches of what is read out of a damaged ledger, exported, kept of users, and told."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from conftest import Backend

from langgraph_wyrd import Channels, errors
from langgraph_wyrd.healing import exported, states
from langgraph_wyrd.plans.ledger import event_sum
from langgraph_wyrd.store.sqlite import drive
from langgraph_wyrd.store.statements import Plan
from langgraph_wyrd.store.thread_sums import over
from tests.damage import Rows, at, flipped, garbled
from tests.outside import raw
from tests.rows import put, version
from tests.test_healing_branches import BAD, CODEC, IDS, checkpoints, lose, spoil

pytestmark = pytest.mark.inside

USERS = Channels(user={"mine"})
ANN = {"user_id": "ann"}


def heals(saver: Any) -> list[tuple[str, str]]:
    return [(heal.kind, heal.checkpoint_id) for heal in saver.thread("t").heals()]


def known(state: Any) -> dict[str, Any]:
    return {item.key: item.value for item in state.context}


def spoil_events(durable: Backend, *ns: int) -> None:
    """Nothing is left of what these checkpoints said."""
    for n in ns:
        assert Rows(durable.url, "wyrd_events").run(
            "UPDATE {} SET body = ? WHERE checkpoint = ?", '{"no": "thing"}', IDS[n]
        )


# ---- states


class Failing:
    """A plan that fails once with damage, of which there is none."""

    def __init__(self) -> None:
        self.failed = False

    def __call__(self) -> Plan[str]:
        yield from ()
        if not self.failed:
            self.failed = True
            raise errors.CheckpointDamaged("not explained")
        return "read"


def test_a_state_that_is_not_explained(durable: Backend) -> None:
    """Damage that is only met once is told as it was met; of no thread, it is raised."""
    checkpoints(durable, {1: None})
    saver = durable.open()

    def load(thread: str) -> Any:
        plan = Failing()
        return saver._core.run(
            lambda core: core.read(lambda: states.healed(saver._codec, saver._weaver, thread, plan))
        )

    _, (heal,) = load("t")
    assert (heal.kind, "not explained" in heal.what) == ("left_out", True)
    with pytest.raises(errors.CheckpointDamaged, match="not explained"):
        load("nobody")


async def test_a_history_of_a_lost_row(durable: Backend, call: Any) -> None:
    """What can't be had back is not in it, and that is told."""
    checkpoints(durable, {1: None, 2: 1, 3: 2})
    spoil(durable, 2, **BAD)
    saver = durable.open()
    found = await call(saver.thread("t"), "history")
    assert [each.checkpoint_id for each in found] == [IDS[3], IDS[1]]
    assert ("left_out", IDS[2]) in heals(saver)


async def test_a_row_of_a_state(durable: Backend, call: Any) -> None:
    """A wrong column of a checkpoint's row is put right for whatever is read of it."""
    checkpoints(durable, {1: None, 2: 1, 3: 2})
    with durable.open() as saver:
        thread = saver.thread("t")
        looks = {
            "history": (thread.history, ()),
            "working_state": (thread.working_state, (IDS[2],)),
            "diff": (thread.diff, (IDS[1], IDS[2])),
            "first_change": (thread.first_change, ("n", IDS[1], IDS[2])),
        }
        was = {name: look(*given) for name, (look, given) in looks.items()}
    (row,) = Rows(durable.url, "wyrd_checkpoints").all("WHERE id = ?", IDS[2])
    spoil(durable, 2, chain=row["chain"] ^ 2)
    for name, (_, given) in looks.items():
        saver = durable.open()
        now = await call(saver.thread("t"), name, *given)
        if name == "working_state":
            now, was[name] = known(now), known(was[name])
        assert now == was[name], name
    spoil(durable, 2, chain=row["chain"], parent=None)
    saver = durable.open()
    assert (
        await call(saver.thread("t"), "first_change", *looks["first_change"][1])
        == (was["first_change"])
    )


def test_a_row_and_what_it_said(durable: Backend) -> None:
    """Both are damaged: what it said is read anew by the row that was put right."""
    checkpoints(durable, {1: None, 2: 1, 3: 2})
    with durable.open() as saver:
        was = known(saver.thread("t").working_state(IDS[2]))
        assert was == {"n": 2}
    (row,) = Rows(durable.url, "wyrd_checkpoints").all("WHERE id = ?", IDS[2])
    spoil(durable, 2, chain=row["chain"] ^ 2)
    spoil_events(durable, 2)
    with durable.open() as saver:
        assert known(saver.thread("t").working_state(IDS[2])) == was


def test_a_pruned_parent(durable: Backend) -> None:
    """Of which nothing is left, is not told to be lost."""
    checkpoints(durable, {2: 1, 3: 2})
    spoil_events(durable, 3)
    with durable.open() as saver:
        assert known(saver.thread("t").working_state())["n"] == 3
        assert IDS[1] not in {id for _, id in heals(saver)}


def test_a_lost_parent_of_another_clock(durable: Backend) -> None:
    """It sorts behind its child: what it said is still in the ledger, and the walk goes on."""
    checkpoints(durable, {1: None, 2: 1})
    with durable.open() as saver:
        saver.thread("t").set_context("note", "early")
        old, new = {"far": version()}, {"n": version()}
        far = {"far": "said there"}
        put(saver, "t", far, versions=old, id=IDS[5], parent=IDS[2])
        put(saver, "t", {"n": 4, **far}, versions=old | new, new=new, id=IDS[4], parent=IDS[5])
        was = known(saver.thread("t").working_state(IDS[4]))
        assert set(was) == {"n", "far", "note"}
    Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", IDS[5])
    with durable.open() as saver:
        assert known(saver.thread("t").working_state(IDS[4])) == was
        assert heals(saver) == [("left_out", IDS[5])]
    Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", IDS[2])
    with durable.open() as saver:  # what was before both is older than the child, too
        assert known(saver.thread("t").working_state(IDS[4])) == was
        assert heals(saver)[-1] == ("left_out", IDS[2])


def test_a_missing_event_is_told(durable: Backend) -> None:
    """A checkpoint counts what it said: it is read anew out of it."""
    checkpoints(durable, {1: None, 2: 1})
    with durable.open() as saver:
        was = saver.thread("t").working_state()
    Rows(durable.url, "wyrd_events").run("DELETE FROM {} WHERE checkpoint = ?", IDS[2])
    with durable.open() as saver:
        assert known(saver.thread("t").working_state()) == known(was)
        (heal,) = saver.thread("t").heals()
        assert (heal.kind, heal.checkpoint_id) == ("exact", IDS[2])
        assert "was not in the ledger" in heal.what


def test_a_planted_event(durable: Backend) -> None:
    """Its checksum is right, and the checkpoint counts what it said: it is not heard."""
    checkpoints(durable, {1: None, 2: 1})
    with durable.open() as saver:
        was = known(saver.thread("t").working_state())
    rows = Rows(durable.url, "wyrd_events")
    row = {**rows.all("WHERE checkpoint = ?", IDS[2])[0], "n": 9, "item": "c-planted"}
    row |= {"pillar": "context", "op": "open", "body": '{"key":"planted","value":1}'}
    row["source"] = '{"rule":"edit"}'
    names = ("ns", "checkpoint", "task", "n", "pillar", "op", "item", "body", "source")
    row["sum"] = event_sum(*(row[name] for name in names)) ^ over(row["thread"])
    rows.run(
        f"INSERT INTO {{}} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", *row.values()
    )
    with durable.open() as saver:
        assert known(saver.thread("t").working_state()) == was
        assert heals(saver) == [("exact", IDS[2])]


def test_a_write_beside_a_state(durable: Backend) -> None:
    """What the thread waits for is told anew by a task's write, which is put right first."""
    checkpoints(durable, {1: None})
    with durable.open() as saver:
        asked = [("__interrupt__", [{"value": "May I call Ann?", "id": "i1"}])]
        saver.put_writes(at("t", IDS[1]), asked, "task")
        saver.put_writes(at("t", IDS[1]), [("log", ["more"]), ("other", 1)], "two")
        was = [loop.description for loop in saver.thread("t").working_state().loops]
        assert was
    spoil_events(durable, 1)
    rows = Rows(durable.url, "wyrd_writes")
    (row,) = rows.all("WHERE channel = '__interrupt__'")
    rows.run("UPDATE {} SET data = ? WHERE task = ?", flipped(row["data"]), "task")
    rows.run("DELETE FROM {} WHERE task = 'two' AND idx = 0")
    with durable.open() as saver:
        found = saver.thread("t").working_state().loops
        assert [loop.description for loop in found if loop.source.rule != "healed"] == was
        assert {kind for kind, _ in heals(saver)} == {"exact", "left_out"}


def test_a_hollow_label_is_told(durable: Backend) -> None:
    """By what is left of it."""
    checkpoints(durable, {1: None})
    with durable.open() as saver:
        saver.thread("t").label("done")
    Rows(durable.url, "wyrd_labels").run(
        "UPDATE {} SET keys = ?, missing = ?, context = ?", '["a"]', '["b", "c"]', "[1, 2]"
    )
    with durable.open() as saver:
        saver.thread("t").get_label("done")
        (heal,) = saver.thread("t").heals()
        assert (heal.kind, heal.what) == (
            "left_out", "label 'done' stands, what it promoted is lost"
        )  # fmt: skip


@pytest.mark.parametrize("how", ["lost", "cut"])
def test_a_hollow_label_of_no_checkpoint(durable: Backend, how: str) -> None:
    """A repair leaves it: it is shown as long as it is damaged, and would not be if it were sound,
    as one of a pruned checkpoint."""
    checkpoints(durable, {1: None, 2: 1})
    with durable.open() as saver:
        saver.thread("t").label("done")
    labels = Rows(durable.url, "wyrd_labels")
    labels.run("UPDATE {} SET keys = ?, context = ?", '["a"]', "[1, 2]")
    if how == "lost":
        Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", IDS[2])
    else:
        labels.run("UPDATE {} SET checkpoint = ?", IDS[2][:9])
    with durable.open() as saver:
        was = saver.thread("t").labels()
        assert [label.name for label in was] == ["done"]
        assert not saver.verify(repair=True).ok
        report = saver.verify()
        assert not [each for each in report.damages if each.repairable]
        assert "stays: what it promoted is lost" in str(report)
    with durable.open() as saver:
        assert saver.thread("t").labels() == was


# ---- exports


def test_exported_checkpoints(durable: Backend) -> None:
    """In their places: one that is gone meanwhile, one that can't be read, and one that can."""
    checkpoints(durable, {1: None, 2: 1, 3: 2})
    lose(durable, 3)
    saver = durable.open()
    keys = [("", IDS[3]), ("", IDS[7]), ("", IDS[1])]
    made, found = saver._core.run(
        lambda core: core.read(lambda: exported.these(saver._codec, "t", keys))
    )
    assert [each is None for each in made] == [True, True, False]
    assert [(heal.kind, heal.checkpoint) for heal in found] == [("left_out", IDS[3])]

    def closed() -> Any:
        plan = exported.these(saver._codec, "t", keys)
        next(plan)
        plan.throw(errors.DatabaseBusy("locked"))

    with pytest.raises(errors.DatabaseBusy):
        closed()


# ---- what belongs to users


def anns(config: Any) -> Any:
    """The config of a run of hers."""
    return {"configurable": {**config["configurable"], **ANN}}


def spoil_mine(durable: Backend, text: bytes) -> None:
    rows = Rows(durable.url, "wyrd_user_data")
    (row,) = [each for each in rows.all() if text in each["data"]]
    data = garbled(row["data"])
    assert rows.run(
        "UPDATE {} SET data = ? WHERE strand = ? AND seq = ?", data, row["strand"], row["seq"]
    )


def test_a_task_that_lacks_a_users_value(durable: Backend) -> None:
    """It runs again; what it asked stays, and so does what other tasks wrote."""
    with durable.open(channels=USERS) as saver:
        head = anns(put(saver, "t", {"log": []}, id=IDS[1], metadata=ANN))
        saver.put_writes(head, [("mine", "secret"), ("log", ["one"])], "one")
        saver.put_writes(head, [("__interrupt__", "May I?")], "one")
        saver.put_writes(head, [("mine", "other"), ("log", ["two"])], "two")
    spoil_mine(durable, b"secret")
    with durable.open(channels=USERS) as saver:
        found = saver.get_tuple(at("t")).pending_writes
        assert sorted(found) == [
            ("one", "__interrupt__", "May I?"), ("two", "log", ["two"]), ("two", "mine", "other"),
        ]  # fmt: skip
        assert heals(saver) == [("left_out", IDS[1])]
        rows = Rows(durable.url, "wyrd_user_data")
        assert not [each for each in saver.verify("t").findings if "names" in each.what]
        rows.run("UPDATE {} SET strand = strand - 5")
        told = [each.damage for each in saver.verify("t").findings if "names" in each.what]
        assert told
        assert not any(told)


def test_a_users_value_in_deltas(durable: Backend) -> None:
    """It is there also where the history is healed."""
    with durable.open(channels=USERS) as saver:
        config = None
        for n in (1, 2, 3):
            config = put(saver, "t", {"n": n}, id=IDS[n], parent=config, metadata=ANN)
            saver.put_writes(anns(config), [("mine", [f"own {n}"])], f"task {n}")
        config = put(saver, "t", {"n": 4}, id=IDS[4], parent=config, metadata=ANN)
        sound = saver.get_delta_channel_history(config=config, channels=["mine"])
        assert len(sound["mine"]["writes"]) == 3
    lose(durable, 3)
    with durable.open(channels=USERS) as saver:
        assert saver.get_delta_channel_history(config=config, channels=["mine"]) == sound
        assert heals(saver)


# ---- told


def test_told_once(sqlite: Backend, caplog: Any) -> None:
    """A process tells each damage once; nothing is written of what is known."""
    checkpoints(sqlite, {1: None, 2: 1})
    lose(sqlite, 2)
    sqlite.url += "?mode=ro"
    saver = sqlite.open()
    with caplog.at_level(logging.WARNING, "langgraph_wyrd"):
        for _ in range(3):
            saver.get_tuple(at("t"))
    assert caplog.text.count("could not be recorded") == 1


def test_what_was_told_is_not_written_again(sqlite: Backend, caplog: Any) -> None:
    """A load that meets it again waits for nobody who writes."""
    checkpoints(sqlite, {1: None, 2: 1})
    lose(sqlite, 2)
    saver = sqlite.open(timeout=0.1)
    saver.get_tuple(at("t"))
    with raw(sqlite.url) as connection, caplog.at_level(logging.WARNING, "langgraph_wyrd"):
        connection.execute("BEGIN IMMEDIATE")
        saver.get_tuple(at("t"))
        connection.rollback()
    assert "could not be recorded" not in caplog.text
    assert len(heals(saver)) == 1


def test_one_of_two_is_acknowledged(durable: Backend) -> None:
    """The other stays open; of no thread nothing is."""
    checkpoints(durable, {1: None, 2: 1})
    with durable.open() as saver:
        saver.thread("t").label("done")
    lose(durable, 2)
    Rows(durable.url, "wyrd_labels").run("UPDATE {} SET automatic = NOT automatic")
    saver = durable.open()
    saver.get_tuple(at("t"))
    saver.thread("t").get_label("done")
    one, other = saver.thread("t").heals()
    saver.thread("t").acknowledge(one)
    seen = {heal.id: heal.acknowledged_at is not None for heal in saver.thread("t").heals()}
    assert seen == {one.id: True, other.id: False}
    with pytest.raises(errors.ThreadNotFound):
        saver.thread("nobody").acknowledge()


def test_a_plan_of_no_thread() -> None:
    """Nothing is there to be healed."""
    with pytest.raises(errors.CheckpointDamaged, match="not explained"):
        drive(states.healed(CODEC, None, "t", Failing()), lambda step: [])
