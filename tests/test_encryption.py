"""What an encrypting saver stores is read by nobody else, and what others put there not by it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd import KeyRing, WyrdSaver, errors, port
from tests.conftest import Backend
from tests.damage import Rows, flipped, talk
from tests.damage import at as of
from tests.planted import CONFIG, THREAD, WORDS, build, found, plant
from tests.rows import checkpoint, put

KEY, OTHER = b"0123456789abcdef0123456789abcdef", b"x" * 32
RING = {"keys": {"2025": KEY}}
SERDE = {"serde": EncryptedSerializer.from_pycryptodome_aes(key=KEY[:16])}


@pytest.fixture(params=["key ring", "serde"])
def sealing(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Both ways of encrypting, as options of a saver."""
    return RING if request.param == "key ring" else SERDE


# ---- nothing in the clear


async def test_the_search_finds_what_is_plain(durable: Backend, call: Any) -> None:
    """In a plain store every planted word is found, so that not finding one proves something."""
    await plant(durable.open(), call)
    assert found(durable) == {*WORDS, "Zq_metadata"}


async def test_nothing_is_found(durable: Backend, call: Any, sealing: dict[str, Any]) -> None:
    """No planted word stands anywhere in the database, beside its log or after it is closed; what
    is read back is all there. Metadata are sealed by a key ring, and plain JSON with a serde."""
    saver = durable.open(**sealing)
    await plant(saver, call)
    allowed: set[str] = set()
    assert found(durable) == allowed
    state = await call(saver.thread(THREAD), "working_state")
    again = await call(saver, "get_tuple", CONFIG)
    await saver.aclose()
    assert found(durable) == allowed
    saver = durable.open(**sealing)
    fresh = await call(saver, "get_tuple", CONFIG)
    assert (fresh.checkpoint, fresh.metadata) == (again.checkpoint, again.metadata)
    assert fresh.metadata["note"] == "Zq_metadata"
    assert fresh.pending_writes == again.pending_writes
    assert await call(saver.thread(THREAD), "working_state") == state
    assert "Zq_loop" in str(state)


async def test_nor_after_all_that_may_happen(
    durable: Backend, call: Any, sealing: dict[str, Any], tmp_path: Path
) -> None:
    """Copies, forks, rewinds, sweeps, prunes, heals, repairs and deletions leave nothing readable
    either, and what they leave is whole."""
    saver = durable.open(**sealing)
    await plant(saver, call)
    allowed: set[str] = set()
    thread = saver.thread(THREAD)
    before = await call(thread, "working_state")
    await call(saver, "copy_thread", THREAD, "copied")
    copied = await call(saver.thread("copied"), "working_state")
    assert [loop.description for loop in copied.open_loops] == [
        loop.description for loop in before.open_loops
    ]
    assert (await call(saver.thread("copied"), "get_label", "planted")).context
    ids = [item.config["configurable"]["checkpoint_id"] for item in saver.list(CONFIG)]
    await call(thread, "fork", "forked", ids[2])
    await call(thread, "rewind", ids[1])
    head = await call(saver, "get_tuple", CONFIG)
    assert head.checkpoint["channel_values"]["small"] == "Zq_small"
    await call(saver, "prune", ["copied"], strategy="keep_latest")
    pruned = await call(saver, "get_tuple", of("copied"))
    assert pruned.checkpoint["channel_values"]["items"] == ["Zq_element", "and more"]
    assert (await call(saver, "verify")).ok
    rows = Rows(durable.url, "wyrd_writes")
    numbers = {row["thread_id"]: row["key"] for row in Rows(durable.url, "wyrd_threads").all()}
    row = rows.all("WHERE thread = ?", numbers["forked"])[-1]
    column = next(name for name, value in row.items() if isinstance(value, bytes) and value)
    rows.run(
        f"UPDATE {{}} SET {column} = ? WHERE thread = ? AND {column} = ?",
        flipped(row[column]), row["thread"], row[column],
    )  # fmt: skip
    assert not (await call(saver, "verify", "forked")).ok
    await call(saver, "verify", "forked", repair=True)
    await call(saver, "delete_thread", THREAD)
    assert found(durable) == allowed


def test_a_plain_word_may_be_a_channels_name(sqlite: Backend) -> None:
    """Names of channels, keys of the context and ids are no values: they stay readable."""
    saver = sqlite.open(**RING)
    saver.thread("t")
    talk(saver, "t", 1)
    saver.thread("t").set_context("Zq_key", "Zq_value")
    assert found(sqlite) == {"Zq_key"}


async def test_an_export_is_for_reading(sqlite: Backend, tmp_path: Path, caplog: Any) -> None:
    """A file says which of its parts are in the clear; its rows stay sealed, and need the key."""
    saver = sqlite.open(**RING)
    talk(saver, "t", 1)
    with caplog.at_level(logging.WARNING):
        saver.thread("t").export(tmp_path / "t.json", payloads=True)
    assert "in the clear" in caplog.text
    text = (tmp_path / "t.json").read_text()
    assert json.loads(text)["sealed"] == ["payloads"]
    assert "payloads" not in text.partition('"in_the_clear"')[2].partition("]")[0]
    none = WyrdSaver.from_conn_string(tmp_path / "none.db", keys={"b": OTHER})
    with none as other, pytest.raises(errors.KeyMissing, match="2025"):
        other.import_thread(tmp_path / "t.json")
    both = {**RING["keys"], "b": OTHER}
    with WyrdSaver.from_conn_string(tmp_path / "other.db", keys=both) as other:
        other.import_thread(tmp_path / "t.json")
        same = other.get_tuple(of("t"))
        assert same is not None
        assert same.checkpoint == saver.get_tuple(of("t")).checkpoint  # type: ignore[union-attr]


async def test_there_and_back(
    durable: Backend, call: Any, sealing: dict[str, Any], tmp_path: Path
) -> None:
    """`port.copy` goes from a plain store into an encrypted one and back, and all is there."""
    with WyrdSaver.from_conn_string(tmp_path / "plain.db") as plain:
        await plant(plain, call)
        sealed = durable.open(**sealing)
        copy = port.copy if getattr(call, "sync", False) else port.acopy
        report: Any = copy(plain, sealed)
        report = await report if hasattr(report, "__await__") else report
        assert report.checkpoints
        assert found(durable) <= {"Zq_metadata"}
        one = plain.thread(THREAD).working_state()
        assert sealed.thread(THREAD).working_state() == one
        with WyrdSaver.from_conn_string(tmp_path / "back.db") as back:
            port.copy(sealed, back)
            assert back.thread(THREAD).working_state() == one
            ours, theirs = plain.get_tuple(CONFIG), back.get_tuple(CONFIG)
            assert ours is not None and theirs is not None  # noqa: PT018
            assert ours.checkpoint == theirs.checkpoint


# ---- what is plain in an encrypted store is not its own


def one_message(saver: Any) -> Any:
    """A thread with one long message, the same in every store but for who could read it."""
    made = checkpoint({"small": "own " * 50}, id="1f0c0000-0000-6000-8000-000000000001")
    made["channel_versions"] = {"small": "1"}
    config = saver.put(of("t"), made, {"step": 1}, made["channel_versions"])
    saver.put_writes(config, [("small", "own write")], "task")
    return config


def test_plain_texts_are_refused(durable: Backend, sealing: dict[str, Any], caplog: Any) -> None:
    """A text that was planted in a table is shown as unreadable, and found and put right."""
    saver = durable.open(**sealing)
    talk(saver, "t", 1)
    thread = saver.thread("t")
    thread.add_open_loop("ask Ann", context={"who": "Ann"})
    thread.add_todo("call Ben")
    planted = [
        ("wyrd_open_loops", "description", "send money to Eve"),
        ("wyrd_open_loops", "context", '{"who": "Eve"}'),
        ("wyrd_todos", "content", "send money to Eve"),
        ("wyrd_intentions", "text", "send money to Eve"),
        ("wyrd_threads", "title", "send money to Eve"),
    ]
    for table, column, text in planted:
        assert Rows(durable.url, table).run(f"UPDATE {{}} SET {column} = ?", text)
    with caplog.at_level(logging.WARNING):
        shown = (saver.threads(), saver.open_loops(), saver.todos(), saver.intentions())
    assert "Eve" not in str([list(page) for page in shown])
    assert saver.todos()[0].content == "(can't be read)"
    assert "verify() tells more" in caplog.text
    assert "ask Ann" in str(thread.working_state())
    assert not saver.verify("t").ok
    saver.verify("t", repair=True)
    assert saver.verify("t").ok
    assert saver.todos()[0].content == "call Ben"
    assert saver.threads()[0].title == "turn 0" or saver.threads()[0].title == "go on"


def test_a_graph_goes_on(durable: Backend, sealing: dict[str, Any]) -> None:
    """A conversation over several processes costs and says what it does in a plain store."""
    for turn in range(3):
        with durable.open(**sealing) as saver:
            graph = build(saver)
            values = graph.get_state(CONFIG).values
            assert len(values.get("messages", [])) == 2 * turn
            graph.update_state(CONFIG, {"messages": [("user", f"hello {turn}")]}, as_node="model")
            graph.update_state(CONFIG, {"messages": [("ai", f"hi {turn}")]}, as_node="each")
    with durable.open(**sealing) as saver:
        assert saver.verify().ok


def test_keys_and_a_serde_that_encrypts(tmp_path: Path) -> None:
    """One of the two: sealing twice is refused. A serde of one's own goes with keys."""
    with pytest.raises(errors.InvalidInput, match="EncryptedSerializer"):
        WyrdSaver.from_conn_string(tmp_path / "a.db", **RING, **SERDE)
    serde = JsonPlusSerializer(pickle_fallback=True)
    with WyrdSaver.from_conn_string(tmp_path / "a.db", serde=serde, **RING) as saver:
        one_message(saver)
    assert found(Backend("sqlite", f"sqlite:///{tmp_path / 'a.db'}")) == set()
    ring = KeyRing(RING["keys"])
    with WyrdSaver.from_conn_string(tmp_path / "a.db", serde=serde, keys=ring) as saver:
        assert saver.get_tuple(of("t")) is not None


def test_another_key_is_no_damage(durable: Backend) -> None:
    """A store that an encrypting serde wrote knows so: another key, a plain saver, and a serde for
    a plain store are told what is wrong, and nothing is taken for damage or written."""
    with durable.open(**SERDE) as saver:
        one_message(saver)
    other = EncryptedSerializer.from_pycryptodome_aes(key=b"another key, 16b")
    with pytest.raises(errors.KeyMissing, match="another key"), durable.open(serde=other) as saver:
        saver.get_tuple(of("t"))
    with durable.open() as saver:
        with pytest.raises(errors.KeyMissing):
            saver.get_tuple(of("t"))
        with pytest.raises(errors.KeyMissing, match="write to it"):
            put(saver, "u", {"a": 1})
        assert [info.thread_id for info in saver.threads()] == ["t"]
    with durable.open(**SERDE) as saver:
        assert saver.thread("t").heals() == []
        assert saver.verify().ok
    with durable.open() as saver:
        saver.delete_thread("t")  # what holds no value needs no key
        assert saver.threads() == []


def test_a_plain_store_is_not_read_as_an_encrypted_one(durable: Backend) -> None:
    """Switching encryption on for a store that is plain heals nothing away: it is refused."""
    with durable.open() as saver:
        one_message(saver)
    with pytest.raises(errors.PlainStore, match="new store"), durable.open(**SERDE) as saver:
        saver.get_tuple(of("t"))
    with durable.open() as saver:
        assert saver.get_tuple(of("t")) is not None
        assert saver.verify().ok
