"""The small branches of what a key ring seals: users' values, labels and records without keys, rows
that somebody planted, and what a serde's store knows of its key."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from conftest import Backend
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_wyrd import Channels, KeyRing, errors
from langgraph_wyrd.store.keys import HIDDEN, NotOpened, NotSealed
from langgraph_wyrd.store.sealed_rows import OPEN, SEAL
from langgraph_wyrd.store.sealed_tables import TABLES
from langgraph_wyrd.store.vault import Ring
from tests.damage import Rows, at, flipped
from tests.rows import put
from tests.test_healing_branches import IDS, lose

pytestmark = pytest.mark.inside

OLD, NEW = b"o" * 32, b"n" * 32
RING: dict[str, Any] = {"keys": {"old": OLD}}
BOTH: dict[str, Any] = {"keys": {"old": OLD, "new": NEW}}
USERS = Channels(user={"mine"})
KEYS = Ring(KeyRing({"old": OLD}))
MARK = "planted-marker"


def her(config: Any) -> Any:
    return {"configurable": {**config["configurable"], "user_id": "ann"}}


def hers(saver: Any) -> Any:
    """A thread of ann's: a value that grew, what a task wrote, and what is kept beside threads."""
    told = {"user_id": "ann"}
    first = put(saver, "t", {"mine": [MARK]}, id=IDS[1], metadata=told)
    last = put(saver, "t", {"mine": [MARK, "more"]}, id=IDS[2], parent=first, metadata=told)
    saver.put_writes(her(last), [("mine", [f"{MARK} written"])], "task")
    saver.user("ann").set("likes", {"tea": MARK})
    return last


def there(saver: Any) -> Any:
    found = saver.get_tuple(at("t"))
    return (
        found.checkpoint["channel_values"], found.pending_writes, saver.user("ann").items(),
        saver.get_tuple(at("t", IDS[1])).checkpoint["channel_values"],
    )  # fmt: skip


# ---- values of users


async def test_values_of_users(durable: Backend, call: Any) -> None:
    """Sealed where they stand, whole when they are read; rotated, copied and erased."""
    saver = durable.open(channels=USERS, **RING)
    hers(saver)
    was = there(saver)
    assert was[0] == {"mine": [MARK, "more"]}
    assert was[2] == {"likes": {"tea": MARK}}
    rows = Rows(durable.url, "wyrd_user_data")
    assert len(rows.all()) == 4
    assert MARK.encode() not in b"".join(bytes(row["data"]) for row in rows.all())
    saver.close()
    saver = durable.open(channels=USERS, **BOTH)
    assert there(saver) == was
    assert (await call(saver, "rotate_keys")).left == 0
    assert saver.verify().ok
    saver.close()
    with durable.open(channels=USERS, keys={"new": NEW}) as saver:
        assert there(saver) == was
        saver.copy_thread("t", "copied")
        assert saver.get_tuple(at("copied")).checkpoint["channel_values"] == was[0]
        saver.erase_user("ann")
        assert saver.get_tuple(at("t")).checkpoint["channel_values"] == {}
        assert saver.verify().ok
        assert saver.user("ann").items() == {}
        assert saver.rotate_keys().left == 0


@pytest.mark.parametrize("what", ["data", "user", "planted", "chain"])
def test_a_changed_value_of_a_user(durable: Backend, what: str) -> None:
    """It opens for its own user only, and where it stood: else it is left out. A wrong column is
    put right."""
    with durable.open(channels=USERS, **RING) as saver:
        hers(saver)
        was = there(saver)
    rows = Rows(durable.url, "wyrd_user_data")
    row = next(each for each in rows.all("WHERE thread <> 0 ORDER BY seq DESC"))
    changes: dict[str, dict[str, Any]] = {
        "data": {"data": flipped(bytes(row["data"]))},
        "user": {"user_id": "bob"},
        "planted": {"data": b"\0planted"},
        "chain": {"chain": row["chain"] ^ 4},
    }
    sets = ", ".join(f"{name} = ?" for name in changes[what])
    rows.run(
        f"UPDATE {{}} SET {sets} WHERE strand = ? AND seq = ?",
        *changes[what].values(), row["strand"], row["seq"],
    )  # fmt: skip
    with durable.open(channels=USERS, **RING) as saver:
        assert not saver.verify("t").ok
        found = there(saver)
        if what == "chain":
            assert found == was
            saver.verify("t", repair=True)
            assert saver.verify("t").ok
        else:
            assert found[0] == {}
            assert {heal.kind for heal in saver.thread("t").heals()} == {"left_out"}


def test_a_changed_value_beside_the_threads(durable: Backend) -> None:
    """It is found, and never read as another."""
    with durable.open(channels=USERS, **RING) as saver:
        hers(saver)
    rows = Rows(durable.url, "wyrd_user_data")
    (row,) = rows.all("WHERE thread = 0")
    rows.run("UPDATE {} SET data = ? WHERE thread = 0", flipped(bytes(row["data"])))
    with durable.open(channels=USERS, **RING) as saver:
        assert not saver.verify().ok
        with pytest.raises(errors.CheckpointDamaged):
            saver.user("ann").get("likes")


# ---- without keys


async def test_labels_and_records_without_keys(durable: Backend, call: Any) -> None:
    """They are listed, what was sealed of them is shown as such, and nothing is told as damage."""
    with durable.open(**RING) as saver:
        checkpoints_in(saver)
        saver.thread("t").set_context("note", "call Ann")
        saver.thread("t").add_open_loop("ask Ann", context={"who": "Ann"})
        saver.thread("t").label("done")
    lose(durable, 3)
    with durable.open(**RING) as saver:
        saver.get_tuple(at("t"))
    saver = durable.open()
    thread = saver.thread("t")
    assert [each.name for each in await call(thread, "labels")] == ["done"]
    assert [heal.what for heal in await call(thread, "heals")] == [HIDDEN]
    label = await call(thread, "get_label", "done")
    assert label.context == ()
    with pytest.raises(errors.KeyMissing):
        thread.set_context("note", "another")
    with pytest.raises(errors.KeyMissing):
        thread.add_todo("call Ben")
    (loop,) = saver.open_loops()
    assert (loop.description, dict(loop.context)) == (HIDDEN, {})
    with durable.open(**RING) as saver:
        assert saver.thread("t").get_label("done").context


def checkpoints_in(saver: Any) -> None:
    config = None
    for n in (1, 2, 3):
        config = put(saver, "t", {"n": n}, id=IDS[n], parent=config)


# ---- planted, and not of the types that they had


def test_planted_rows_of_other_types(sqlite: Backend, caplog: Any) -> None:
    """What is no sealed text at all is damage, and no error: in the ledger, in labels, in records
    and in lists."""
    with sqlite.open(**RING) as saver:
        checkpoints_in(saver)
        saver.thread("t").add_open_loop("ask Ann", context={"who": "Ann"})
        saver.thread("t").label("done")
        was = saver.thread("t").working_state()
    for table, column in (
        ("wyrd_events", "body"), ("wyrd_labels", "context"), ("wyrd_open_loops", "context"),
        ("wyrd_open_loops", "description"),
    ):  # fmt: skip
        assert Rows(sqlite.url, table).run(f"UPDATE {{}} SET {column} = ?", b"\xff planted")
    with sqlite.open(**RING) as saver, caplog.at_level(logging.WARNING):
        (loop,) = saver.open_loops()
        assert (loop.description, dict(loop.context)) == ("(can't be read)", {})
        assert saver.thread("t").get_label("done").context == ()
        found = saver.thread("t").working_state()
        assert {item.key: item.value for item in found.context} == {
            item.key: item.value for item in was.context
        }
        assert "planted" not in str(found)
        assert saver.verify("t", repair=True).ok
        assert not [each for each in saver.verify("t").findings if each.damage]


WHERE = (1, 0, 0, 0, 0, 1)  # of a splice
SEALED = {
    "splice": ("put_splice", (7, *WHERE, b"data", 5, 6), "strand", (7, 1, 9), 1, 6),
    "write": ("put_write", (7, "", "c", "t", 0, "ch", "p", "l", b"data", 5), "all_writes",
              (7,), 1, 7),
    "event": ("put_event", (7, "", "c", "", 0, "loop", "open", "i", "body", "{}", 5), "all_events",
              (7,), 1, 7),
    "user": ("put_user_whole", (7, *WHERE, b"data", 5, 6, "ann", "mine"), "user_strand",
             (7,), 1, 6),
}  # fmt: skip


@pytest.mark.parametrize("kind", SEALED)
def test_what_does_not_open(kind: str) -> None:
    """A sealed row opens as it was; with anything else in its place its checksum is wrong, and
    says so to whoever checks it. What was changed keeps its own, which proves a copy."""
    put_, row, ask, params, skip, column = SEALED[kind]
    sealed = SEAL[put_](KEYS, row)[skip:]
    assert OPEN[ask](KEYS, params, sealed) == row[skip:]
    total = 8 if kind == "event" else column + 1
    total = 9 if kind == "event" else total
    planted = OPEN[ask](KEYS, params, row[skip:])  # plain, its checksum right
    assert planted[total] != row[total + skip]
    for wrong in (b"\0plain", "plain", b"", 5, None, 1.5):
        opened = OPEN[ask](KEYS, params, (*sealed[:column], wrong, *sealed[column + 1 :]))
        assert opened[total] != row[total + skip]
        assert opened[column] != row[column + skip]
    if kind in ("splice", "write"):
        changed = bytes([*sealed[column][:-1], sealed[column][-1] ^ 1])
        opened = OPEN[ask](KEYS, params, (*sealed[:column], changed, *sealed[column + 1 :]))
        assert opened[total] == row[total + skip]


def test_a_checkpoint_that_does_not_open() -> None:
    """Neither plain nor in another place."""
    row = (7, "", "c", None, "2026", 1, "loop", None, "{}", None, 1, 2, 3, 99, 1 << 20, None, None)

    def read(held: Any) -> tuple[Any, ...]:
        *columns, total, due, root = held[1:]
        return (*columns, due, root, total)

    sealed = read(SEAL["put_checkpoint"](KEYS, row))
    assert OPEN["checkpoint_row"](KEYS, (7,), sealed) == read(row)
    for planted in (read(row), ("", "another", *sealed[2:]), (*sealed[:8], b"\0", *sealed[9:])):
        assert OPEN["checkpoint_row"](KEYS, (7,), planted)[-1] != row[14]


def test_a_label_that_does_not_open() -> None:
    """A plain one, its checksum right."""
    row = (1, "done", "c", "2026", False, "[]", "[]", '["text"]', 1 << 40)
    _, *sealed, total = SEAL["put_label"](KEYS, row)
    assert OPEN["get_label"](KEYS, (1,), (*sealed[:6], total, sealed[6]))[6:] == (
        1 << 40,
        '["text"]',
    )
    planted = OPEN["get_label"](KEYS, (1,), (*row[1:7], row[8], row[7]))
    assert planted[6] != row[8]
    assert planted[7] == "[]"


def test_what_was_erased_is_not_sealed() -> None:
    """It is empty, and stays so wherever its row goes."""
    row = (7, *WHERE, b"", 5, 6, None, "mine")
    assert SEAL["put_user_whole"](KEYS, row) == row
    assert OPEN["user_strand"](KEYS, (7,), row[1:]) == row[1:]


@pytest.mark.parametrize("planted", ['"send money to Eve"', '["Eve"]', "no JSON of Eve"])
def test_planted_json(sqlite: Backend, planted: str, caplog: Any) -> None:
    """It is not shown; what is empty was never sealed, and is no cause for a warning."""
    with sqlite.open(**RING) as saver:
        checkpoints_in(saver)
        saver.thread("t").add_open_loop("ask Ann")
        with caplog.at_level(logging.WARNING):
            assert len(saver.open_loops()) == 1
        assert not caplog.records
        saver.thread("t").add_open_loop("ask Ben", context={"who": "Ben"})
        saver.copy_thread("t", "copied")
        assert {each.thread_id for each in saver.open_loops()} == {"t", "copied"}
    rows = Rows(sqlite.url, "wyrd_open_loops")
    rows.run("UPDATE {} SET context = ?", planted)
    with sqlite.open(**RING) as saver:
        assert "Eve" not in str([*saver.open_loops()])
        assert not saver.verify("t").ok


def test_what_is_sealed_in_a_row() -> None:
    """For a rotation: what is empty holds nothing, what is text or JSON is taken as it is stored,
    and what was changed or is plain is told apart."""
    text = KEYS.seal_text(1, ("x",), "text")
    loops, events = TABLES["loops"], TABLES["events"]
    row: list[Any] = [1, "t", "id", *[None] * 20]
    row[4] = text
    assert len(loops.held(row)) == 1
    for wrong, error in (("plain", NotSealed), ('"no JSON', NotOpened)):
        row[4] = wrong
        with pytest.raises(error):
            loops.held(row)
    assert events.held([1, "", "c", "", 0, "loop", "open", "i", text, "{}", 5])
    with pytest.raises(NotSealed):
        events.held([1, "", "c", "", 0, "loop", "open", "i", "{}", "{}", 5])


def test_a_rotation_without_a_key(durable: Backend) -> None:
    """It stops at the first row whose key is not there, and says where that is."""
    with durable.open(keys={"a": b"a" * 32}) as saver:
        checkpoints_in(saver)
    with durable.open(keys={"a": b"a" * 32, "b": OLD}) as saver:
        put(saver, "u", {"n": 1})
    with durable.open(keys={"b": OLD, "c": NEW}) as saver:
        with pytest.raises(errors.KeyMissing, match="thread 't', wyrd_") as told:
            saver.rotate_keys()
        assert told.value.key_id == "a"


def test_lists_without_a_key(durable: Backend) -> None:
    """With another thread's key missing, a list says of which thread, and where."""
    with durable.open(keys={"a": b"a" * 32}) as saver:
        checkpoints_in(saver)
        saver.thread("t").add_todo("call Ben")
    with durable.open(keys={"a": b"a" * 32, "b": OLD}) as saver:
        put(saver, "u", {"n": 1})
    with durable.open(keys={"b": OLD}) as saver:
        with pytest.raises(errors.KeyMissing, match="thread 't', wyrd_todos") as told:
            saver.todos()
        assert told.value.thread_id == "t"


# ---- a serde that encrypts


def serde(key: bytes) -> Any:
    return EncryptedSerializer.from_pycryptodome_aes(key=key)


@pytest.mark.parametrize("writes", [True, False])
def test_a_serde_that_is_given_later(durable: Backend, writes: bool) -> None:
    """There is no proof then: what tasks wrote tells whether it is the right one."""
    with durable.open(serde=serde(b"k" * 16)) as saver:
        config = put(saver, "t", {"a": "b" * 200}, id=IDS[1])
        if writes:
            saver.put_writes(config, [("a", "c")], "task")
    Rows(durable.url, "wyrd_keys").run("DELETE FROM {}")
    with durable.open(serde=serde(b"k" * 16)) as saver:
        assert saver.get_tuple(at("t")) is not None
    Rows(durable.url, "wyrd_keys").run("DELETE FROM {}")
    with durable.open(serde=serde(b"x" * 16), on_damage="raise") as saver:
        error = errors.KeyMissing if writes else errors.CheckpointDamaged
        with pytest.raises(error):
            saver.get_tuple(at("t"))


# ---- the door


def test_an_empty_label(durable: Backend) -> None:
    """What promoted nothing has nothing sealed."""
    with durable.open(**RING) as saver:
        checkpoints_in(saver)
        saver.thread("t").label("done", keys=[])
    with durable.open(**RING) as saver:
        assert saver.thread("t").get_label("done").context == ()
        assert saver.thread("t").heals() == []


def test_many_pages(sqlite: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows that are sealed anew, or copied."""
    monkeypatch.setattr("langgraph_wyrd.store.vault._PAGE", 2)
    with sqlite.open(**RING) as saver:
        checkpoints_in(saver)
    with sqlite.open(**BOTH) as saver:
        was = [each.checkpoint for each in saver.list(at("t"))]
        saver.copy_thread("t", "u")
        assert [each.checkpoint for each in saver.list(at("u"))] == was
        assert saver.rotate_keys().left == 0
    with sqlite.open(keys={"new": NEW}) as saver:
        assert [each.checkpoint for each in saver.list(at("t"))] == was


def test_a_rotation_of_damage(durable: Backend) -> None:
    """What was changed so that it names no key is left, and counted."""
    with durable.open(**RING) as saver:
        config = put(saver, "t", {"n": 1}, id=IDS[1])
        saver.put_writes(config, [("log", "text")], "task")
    rows = Rows(durable.url, "wyrd_writes")
    (row,) = rows.all()
    data = bytes(row["data"])
    rows.run("UPDATE {} SET data = ?", data[:3] + bytes([data[3] ^ 1]) + data[4:])
    with durable.open(**BOTH) as saver:
        assert saver.rotate_keys().left == 1


def test_a_new_key_is_marked(durable: Backend) -> None:
    """From the first time that it is given, so that another one of its name is refused."""
    with durable.open(**RING) as saver:
        checkpoints_in(saver)
    with durable.open(**BOTH) as saver:
        assert saver.get_tuple(at("t"))
    other = durable.open(keys={"old": OLD, "new": b"x" * 32})
    with pytest.raises(errors.KeyMissing, match="'new' is another one"):
        other.get_tuple(at("t"))


@pytest.mark.parametrize("how", ["ring", "serde"])
def test_what_can_only_be_read(sqlite: Backend, how: str) -> None:
    """A key is proven, and none is marked."""
    options = RING if how == "ring" else {"serde": serde(b"k" * 16)}
    with sqlite.open(**options) as saver:
        checkpoints_in(saver)
    Rows(sqlite.url, "wyrd_keys").run(
        "DELETE FROM {}" if how == "serde" else "DELETE FROM {} WHERE 0"
    )
    sqlite.url += "?mode=ro"
    options = BOTH if how == "ring" else options
    with sqlite.open(**options) as saver:
        assert saver.get_tuple(at("t")).checkpoint["channel_values"] == {"n": 3}


def test_a_plain_store_is_not_written_to(durable: Backend) -> None:
    """Nor by a write that needs no read."""
    with durable.open() as saver:
        checkpoints_in(saver)
    saver = durable.open(**RING)
    with pytest.raises(errors.PlainStore):
        saver.get_tuple(at("t"))
    with pytest.raises(errors.PlainStore):
        saver._core.run(lambda core: core._driver.merge([]))


def test_a_sealing_that_fails(durable: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves the store plain, and nothing beside it is written."""
    with durable.open() as saver:
        checkpoints_in(saver)
    saver = durable.open(**RING)

    def fails(*_: Any) -> Any:
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr("langgraph_wyrd.store.proofs.mark", fails)
        with pytest.raises(OSError, match="no room"):
            saver.rotate_keys(plain=True)
    with pytest.raises(errors.PlainStore):
        saver.get_tuple(at("t"))
    saver.rotate_keys(plain=True)
    assert saver.get_tuple(at("t")) is not None


def test_values_need_the_serde(durable: Backend) -> None:
    """Without it a thread may be deleted, and nothing of any value written."""
    with durable.open(serde=serde(b"k" * 16)) as saver:
        checkpoints_in(saver)
    with durable.open() as saver:
        for change in (
            lambda: put(saver, "t", {"n": 4}, id=IDS[4], parent=IDS[3]),
            lambda: put(saver, "new", {"n": 4}),
            lambda: saver.thread("t").label("done"),
        ):
            with pytest.raises(errors.KeyMissing):
                change()
        saver.delete_thread("t")
    with durable.open(serde=serde(b"k" * 16)) as saver:
        assert saver.threads() == []
