"""A key ring: what it seals opens in its own place and nowhere else, its keys can be changed, and a
key that is not there is never taken for damage."""

from __future__ import annotations

import base64
import copy
import logging
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from langgraph_wyrd import KeyRing, WyrdSaver, errors
from langgraph_wyrd.cli import main as cli
from tests.conftest import Backend
from tests.damage import Rows, talk
from tests.damage import at as of
from tests.outside import raw, tables
from tests.planted import CONFIG, THREAD, found, plant
from tests.rows import put
from tests.tables import all_text

OLD, NEW = b"o" * 32, b"n" * 32


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
