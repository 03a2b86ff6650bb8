"""What an encrypting saver stores is read by nobody else, and what others put there not by it."""

from __future__ import annotations

import base64
import copy
import json
import logging
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd import KeyRing, WyrdSaver, errors, port
from langgraph_wyrd.cli import main as cli
from tests.conftest import Backend
from tests.damage import Rows, flipped, talk
from tests.damage import at as of
from tests.handmade import checkpoint, put
from tests.marked_words import CONFIG, THREAD, WORDS, build, found, plant
from tests.outside import raw, tables
from tests.tables import all_text

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


OLD, NEW = b"o" * 32, b"n" * 32


# Key rings.


def values(saver: Any, thread: str) -> Any:
    got = saver.get_tuple(of(thread))
    return None if got is None else (got.checkpoint, got.metadata, got.pending_writes)


# ---- the ring itself


def test_what_a_ring_is_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last key is the newest unless it is said otherwise; from a file or the environment too;
    nothing that is shown or copied has a key in it."""
    ring = KeyRing({"2025": OLD, "2026": NEW})
    assert (ring.newest, ring.ids) == ("2026", ("2025", "2026"))
    assert KeyRing({"2025": OLD, "2026": NEW}, newest="2025").newest == "2025"
    old, new = (base64.b64encode(key).decode() for key in (OLD, NEW))
    text = f"# ours\n2025 = {old}\n\n2026={new}"
    (tmp_path / "keys").write_text(text)
    monkeypatch.setenv("WYRD_KEYS", text.replace("\n", ",").replace("# ours,", ""))
    for same in (KeyRing.from_file(tmp_path / "keys"), KeyRing.from_env()):
        assert (same.newest, same.key("2025"), same.key("2026")) == ("2026", OLD, NEW)
    assert len(KeyRing.new_key()) == 32
    assert KeyRing.new_key() != KeyRing.new_key()
    assert repr(ring) == "KeyRing('2025', '2026', newest='2026')"
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="key ring"):
            copied(ring)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: KeyRing({}), "at least one"),
        (lambda: KeyRing({"a": b"short"}), "32 bytes"),
        (lambda: KeyRing({"a": "x" * 32}), "32 bytes"),  # type: ignore[dict-item]
        (lambda: KeyRing({"a:b": OLD}), "can't be a key's id"),
        (lambda: KeyRing({"": OLD}), "can't be a key's id"),
        (lambda: KeyRing({"a": OLD}, newest="b"), "not among"),
        (lambda: KeyRing.from_text("a=secret"), "'a' is not 32 bytes"),
        (lambda: KeyRing.from_file("/no/such/file"), "can't be read"),
        (lambda: KeyRing.from_env("NO_SUCH_KEYS"), "no NO_SUCH_KEYS"),
    ],
)
def test_what_is_no_ring_is_refused(made: Any, said: str) -> None:
    """With an error that says what would do, and repeats nothing that may be a key."""
    with pytest.raises(errors.InvalidInput, match=said) as told:
        made()
    assert "secret" not in str(told.value)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is imported when keys are given, and an error says what to install."""
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    WyrdSaver.from_conn_string(tmp_path / "a.db").close()
    with pytest.raises(errors.MissingExtra, match=r"langgraph-wyrd\[encryption\]"):
        WyrdSaver.from_conn_string(tmp_path / "a.db", keys={"a": OLD})


# ---- rows that somebody changed


# ---- a key that is not there


async def test_a_missing_key_is_no_damage(durable: Backend, call: Any) -> None:
    """Reading needs each key; the error names the key, the thread and the place. Nothing is healed
    or written in the place of what can't be opened, and with the key all is there."""
    with durable.open(keys={"old": OLD}) as saver:
        talk(saver, "t", 2)
        whole = values(saver, "t")
    with durable.open(keys={"old": OLD, "new": NEW}) as saver:
        talk(saver, "u", 1)
        assert values(saver, "t") == whole
    saver = durable.open(keys={"new": NEW})
    assert await call(saver, "get_tuple", of("u")) is not None
    assert (await call(saver, "verify", "t")).ok  # it needs no keys
    for name, given in (("get_tuple", (of("t"),)), ("list", (of("t"),))):
        with pytest.raises(errors.KeyMissing, match="thread 't', wyrd_checkpoints") as told:
            await call(saver, name, *given)
        assert (told.value.key_id, told.value.thread_id) == ("old", "t")
        assert told.value.place
    with pytest.raises(errors.KeyMissing, match="'old'"):
        await call(saver.thread("t"), "working_state")
    with pytest.raises(errors.KeyMissing, match="'old'"):
        talk(saver, "t", 1)
    await saver.aclose()
    assert Rows(durable.url, "wyrd_heals").all() == []
    with durable.open(keys={"old": OLD, "new": NEW}) as saver:
        assert values(saver, "t") == whole
        assert saver.verify().ok


def test_a_key_that_is_another_one(durable: Backend) -> None:
    """A store knows its keys: other bytes under an id, or a ring without any of them, are refused
    before anything is read."""
    with durable.open(keys={"a": OLD}) as saver:
        talk(saver, "t", 1)
    with pytest.raises(errors.KeyMissing, match="another one"):
        durable.open(keys={"a": NEW}).get_tuple(of("t"))
    with pytest.raises(errors.KeyMissing, match="encrypted with the keys a"):
        durable.open(keys={"b": NEW}).get_tuple(of("t"))


async def test_without_keys(durable: Backend, call: Any, caplog: Any) -> None:
    """Ids, statuses and counts can be looked at, and threads deleted; values can be neither loaded
    nor stored, so that nothing plain comes beside them."""
    with durable.open(keys={"a": OLD}) as saver:
        talk(saver, "t", 1)
        talk(saver, "u", 1)
        saver.thread("t").add_todo("call Ben", "high")
        listed = [(row.thread_id, row.status, row.open_loops) for row in saver.threads()]
    saver = durable.open()
    with caplog.at_level(logging.WARNING):
        threads = await call(saver, "threads")
    assert "open it with keys=" in caplog.text.lower()
    assert [(row.thread_id, row.status, row.open_loops) for row in threads] == listed
    assert {row.title for row in threads} == {"(sealed)"}
    (todo,) = await call(saver, "todos")
    assert (todo.content, todo.priority) == ("(sealed)", "high")
    with pytest.raises(errors.KeyMissing, match="'a'"):
        await call(saver, "get_tuple", of("t"))
    with pytest.raises(errors.KeyMissing, match="keys="):
        put(saver, "fresh", {"a": "plain"})
    assert (await call(saver, "size_report")).tables["checkpoints"].rows
    await call(saver, "delete_thread", "u")
    await saver.aclose()
    with durable.open(keys={"a": OLD}) as saver:
        assert [row.thread_id for row in saver.threads()] == ["t"]
        assert saver.verify().ok


# ---- other keys


async def test_rotation(durable: Backend, call: Any) -> None:
    """Everything comes under the newest key while the thread goes on; then no other one is needed,
    and nothing else about the store has changed."""
    with durable.open(keys={"old": OLD}) as saver:
        await plant(saver, call)
        talk(saver, "t", 2)
        saver.thread("t").label("here")
    sealed = blobs(durable.url)
    with durable.open(keys={"old": OLD}) as saver:
        whole, state = values(saver, "t"), saver.thread(THREAD).working_state()
        planted = saver.get_tuple(CONFIG)
        label = saver.thread(THREAD).get_label("planted")
        listed = [list(saver.todos()), list(saver.open_loops()), list(saver.intentions())]
    saver = durable.open(keys={"old": OLD, "new": NEW})
    seen: list[tuple[int, int]] = []
    done = await call(saver, "rotate_keys", progress=lambda *how_far: seen.append(how_far))
    assert seen == [(1, 2), (2, 2)]
    assert (done.threads, done.left) == (2, 0)
    assert done.rows > 20
    again = await call(saver, "rotate_keys")
    assert (again.threads, again.rows) == (2, 0)
    assert str(done).endswith("sealed under the newest key")
    await saver.aclose()
    assert not blobs(durable.url) & sealed, "nothing is left under the old key"
    assert found(durable) == set()
    with durable.open(keys={"new": NEW}) as saver:
        assert values(saver, "t") == whole
        assert saver.get_tuple(CONFIG) == planted
        assert saver.thread(THREAD).working_state() == state
        assert saver.thread(THREAD).get_label("planted") == label
        assert [list(saver.todos()), list(saver.open_loops()), list(saver.intentions())] == listed
        assert saver.threads()[0].title == "turn 0"
        assert saver.verify().ok
        saver.reextract()
        assert saver.verify().ok


def test_rotation_beside_a_writer(durable: Backend) -> None:
    """Another saver's thread grows while its rows are sealed anew, and a rotation that is stopped
    goes on where it was."""
    both = {"old": OLD, "new": NEW}
    with durable.open(keys={"old": OLD}) as saver:
        for name in "abc":
            talk(saver, name, 2)
    writer, rotating = durable.open(keys=KeyRing(both, newest="old")), durable.open(keys=both)
    agents = talk(writer, "b", 1)
    graph = agents.build(writer)

    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        graph.invoke({"messages": [("user", f"while {done}")]}, of("b"))
        if done == 2:
            raise Stopped

    with pytest.raises(Stopped):
        rotating.rotate_keys(progress=stop)
    graph.invoke({"messages": [("user", "later")]}, of("b"))
    first = rotating.rotate_keys()
    assert 0 < first.rows < all_rows(durable.url)
    writer.close()
    rotating.close()
    with durable.open(keys={"new": NEW}) as saver:
        said = [
            m.content for m in saver.get_tuple(of("b")).checkpoint["channel_values"]["messages"]
        ]  # type: ignore[union-attr]
        assert [text for text in said if text.startswith(("while", "later"))] == [
            "while 1", "while 2", "later",
        ]  # fmt: skip
        assert saver.verify().ok


def blobs(url: str) -> set[bytes]:
    """The long binary cells of all tables: packed or sealed, so that no two are equal by chance."""
    found = set()
    with raw(url) as connection:
        for table in tables(connection):
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                found |= {
                    bytes(c) for c in row if isinstance(c, bytes | memoryview) and len(c) > 40
                }
    return found


def all_rows(url: str) -> int:
    with raw(url) as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in tables(connection)
        ]
    return sum(counts)


def test_keys_for_a_plain_store(durable: Backend) -> None:
    """They are refused, and nothing is taken for damage; sealed on request, the store is an
    encrypted one, whose old plain rows are gone from its tables."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        saver.thread("t").add_open_loop("Zq_loop")
        whole, state = values(saver, "t"), saver.thread("t").working_state()
        with pytest.raises(errors.InvalidInput, match="keys="):
            saver.rotate_keys()
    saver = durable.open(keys={"a": OLD})
    for _ in range(2):
        with pytest.raises(errors.PlainStore, match="rotate_keys"):
            saver.get_tuple(of("t"))
        with pytest.raises(errors.PlainStore):
            put(saver, "u", {"a": 1})
        with pytest.raises(errors.PlainStore):
            saver.rotate_keys()
    assert saver.rotate_keys(plain=True).left == 0
    assert values(saver, "t") == whole
    assert saver.thread("t").working_state() == state
    assert saver.verify().ok
    saver.close()
    assert "Zq_loop" not in all_text(durable.url)
    with pytest.raises(errors.KeyMissing), durable.open() as saver:
        saver.get_tuple(of("t"))


# ---- from the terminal


def test_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Keys come from a file or the environment; without them lists say "(sealed)"."""
    file, key_file = str(tmp_path / "a.db"), str(tmp_path / "keys")
    with WyrdSaver.from_conn_string(file, keys={"old": OLD}) as saver:
        talk(saver, "t", 1, last="find the marker")
    Path(key_file).write_text(f"old={base64.b64encode(OLD).decode()}\n")
    assert cli.main(["threads", "-u", file, "--key-file", key_file]) == 0
    assert "find the marker" in capsys.readouterr().out
    monkeypatch.setenv("WYRD_KEYS", f"old={base64.b64encode(OLD).decode()}")
    assert cli.main(["show", "t", "-u", file]) == 0
    assert "find the marker" in capsys.readouterr().out
    both = f"old={base64.b64encode(OLD).decode()},new={base64.b64encode(NEW).decode()}"
    monkeypatch.setenv("WYRD_KEYS", both)
    assert cli.main(["rotate-keys", "-u", file]) == 0
    assert "sealed under the newest key" in capsys.readouterr().out
    monkeypatch.delenv("WYRD_KEYS")
    assert cli.main(["threads", "-u", file]) == 0
    assert "(sealed)" in capsys.readouterr().out
    assert cli.main(["show", "t", "-u", file]) == 2
    assert "'new'" in capsys.readouterr().err
    assert cli.main(["threads", "-u", file, "--key-file", str(tmp_path / "none")]) == 2
    assert "can't be read" in capsys.readouterr().err
