"""Keys of an encrypted store: rings, keys that are missing or other ones, and their rotation."""

from __future__ import annotations

import base64
import copy
import logging
import pickle
import random
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_wyrd import KeyRing, errors
from langgraph_wyrd.storage.rows import summed, unsound
from langgraph_wyrd.storage.tables import CHECKPOINTS, KEYS, TABLES, THREADS, WRITES, KeyRow
from tests.conftest import Backend
from tests.damage import Rows, at, talk
from tests.handmade import config, ids, put
from tests.marked_words import THREAD, found, plant
from tests.outside import ROOT, python
from tests.raw_rows import replace, store, stored
from tests.sealed import (
    ENCRYPTED,
    NEW,
    OLD,
    Own,
    aes,
    checkpoint_id,
    made_up,
    ring,
    run,
    sealer_of,
    whole,
)

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
    with pytest.raises(errors.InvalidInput, match=said) as caught:
        made()
    assert "secret" not in str(caught.value)


# ---- keys that are missing, or other ones


async def test_a_missing_key_is_no_damage(durable: Backend, call: Any) -> None:
    """Reading needs each key; the error names the key, the thread and the place. Nothing is healed
    or written in the place of what can't be opened, and with the key all is there."""
    with durable.open(**ring("old")) as saver:
        talk(saver, "t", 2)
        before = whole(saver, "t")
    with durable.open(**ring("old", "new")) as saver:
        talk(saver, "u", 1)
        assert whole(saver, "t") == before
    saver = durable.open(**ring("new"))
    assert await call(saver, "get_tuple", at("u")) is not None
    assert (await call(saver, "verify", "t")).ok  # it needs no keys
    for name, given in (("get_tuple", (at("t"),)), ("list", (at("t"),))):
        with pytest.raises(errors.KeyMissing, match="wyrd_checkpoints") as caught:
            await call(saver, name, *given)
        assert caught.value.key_id == "old"
        assert caught.value.place
    with pytest.raises(errors.KeyMissing, match="'old'"):
        await call(saver.thread("t"), "working_state")
    with pytest.raises(errors.KeyMissing, match="'old'"):
        talk(saver, "t", 1)
    await saver.aclose()
    assert Rows(durable.url, "wyrd_heals").all() == []
    with durable.open(**ring("old", "new")) as saver:
        assert whole(saver, "t") == before
        assert saver.verify().ok


@pytest.mark.parametrize(
    ("made", "given", "said"),
    [
        (ring("old"), {"keys": {"old": NEW}}, "another one"),
        (ring("old"), ring("new"), "encrypted with the key 'old'"),
        (ring("old"), aes(), "keys="),
        (aes(), ring("old"), "by a serde"),
        (aes(), aes(b"another key, 16b"), "another key"),
        ({"serde": Own()}, aes(), "another key"),
    ],
)
async def test_other_keys(durable: Backend, made: Any, given: Any, said: str, call: Any) -> None:
    """They are refused when the store opens, for reading and writing; nothing is written."""
    with durable.open(**made) as saver:
        put(saver, "t", {"a": 1}, id=checkpoint_id(1))
    rows = stored(durable.url, CHECKPOINTS), stored(durable.url, KEYS)
    saver = durable.open(**given)
    with pytest.raises(errors.KeyMissing, match=said):
        await call(saver, "get_tuple", at("t"))
    with pytest.raises(errors.KeyMissing, match=said):
        put(saver, "u", {"a": 1})
    with pytest.raises(errors.KeyMissing, match=said):
        saver.setup()
    with pytest.raises(errors.KeyMissing, match=said), durable.open(**given):
        pass
    with pytest.raises(errors.KeyMissing, match=said):
        async with durable.open(**given):
            pass
    assert (stored(durable.url, CHECKPOINTS), stored(durable.url, KEYS)) == rows


async def test_without_keys(durable: Backend, sealing: Any, call: Any, caplog: Any) -> None:
    """Ids, statuses and counts can be looked at, and threads deleted; values can be neither read
    nor stored. The error says what to open the store with, and nothing counts as damaged."""
    with durable.open(**sealing) as saver:
        talk(saver, "t", 1, last="please approve")
        talk(saver, "u", 1)
        saver.thread("t").add_todo("call Ben", "high")
        before = whole(saver, "t")
        listed = [(row.thread_id, row.status, row.open_loops) for row in saver.threads()]
    saver = durable.open()
    with caplog.at_level(logging.WARNING):
        threads = await call(saver, "threads")
    assert "open it with" in caplog.text.lower()
    assert [(row.thread_id, row.status, row.open_loops) for row in threads] == listed
    assert {row.title for row in threads} == {"(sealed)"}
    (todo,) = await call(saver, "todos")
    assert (todo.content, todo.priority) == ("(sealed)", "high")
    (loop,) = await call(saver, "open_loops", kind="interrupt")
    assert (loop.description, dict(loop.context)) == ("(sealed)", {})
    with pytest.raises(errors.KeyMissing, match="keys=" if "keys" in sealing else "serde"):
        await call(saver, "get_tuple", at("t"))
    with pytest.raises(errors.KeyMissing):
        await call(saver.thread("t"), "working_state")
    with pytest.raises(errors.KeyMissing, match="write to it"):
        put(saver, "fresh", {"a": "plain"})
    config = at("t", before[0][0]["configurable"]["checkpoint_id"])
    with pytest.raises(errors.KeyMissing):
        await call(saver, "put_writes", config, [("a", "plain")], "task")
    with pytest.raises(errors.InvalidInput, match="keys="):
        await call(saver, "rotate_keys")
    assert (await call(saver, "size_report")).tables["checkpoints"].rows
    await call(saver, "delete_thread", "u")
    await saver.aclose()
    with durable.open(**sealing) as saver:
        assert [row.thread_id for row in saver.threads()] == ["t"]
        assert whole(saver, "t") == before
        assert saver.thread("t").heals() == []
        assert saver.verify().ok


@pytest.mark.parametrize("given", [ring("old"), aes()], ids=["ring", "serde"])
async def test_a_plain_store(durable: Backend, given: Any, call: Any) -> None:
    """Encryption that is switched on for a plain store is refused, and nothing of it is touched."""
    with durable.open() as saver:
        talk(saver, "t", 1)
        before = whole(saver, "t")
    saver = durable.open(**given)
    with pytest.raises(errors.PlainStore, match="new store"):
        await call(saver, "get_tuple", at("t"))
    with pytest.raises(errors.PlainStore):
        put(saver, "u", {"a": 1})
    if "keys" in given:
        with pytest.raises(errors.PlainStore):
            await call(saver, "rotate_keys")
    saver.close()
    with durable.open() as saver:
        assert whole(saver, "t") == before
    assert stored(durable.url, KEYS) == []


SPOIL = {
    "gone": "DELETE FROM wyrd_keys",
    "another id": "UPDATE wyrd_keys SET id = replace(replace(id, 'l', 'm'), 'd', 'e')",
    "no id": "UPDATE wyrd_keys SET id = '(s'",
    "cut": "UPDATE wyrd_keys SET proof = substr(proof, 1, 30)",
    "other bits": "UPDATE wyrd_keys SET proof = substr(proof, 1, 40) || 'AAAA' || "
    "substr(proof, 45)",
    "nothing": "UPDATE wyrd_keys SET proof = ''",
    "plain": "UPDATE wyrd_keys SET proof = 'langgraph-wyrd'",
}


@pytest.mark.parametrize("how", list(SPOIL))
@pytest.mark.parametrize("sealing", [ring("old"), aes()], ids=["ring", "serde"])
def test_a_damaged_proof_strands_nothing(sqlite: Backend, sealing: Any, how: str) -> None:
    """Stored rows tell that the key is right, and that another one is not."""
    with sqlite.open(**sealing) as saver:
        talk(saver, "t", 1)
        before = whole(saver, "t")
    run(sqlite.url, SPOIL[how])
    other = {"keys": {"old": NEW}} if "keys" in sealing else aes(b"another key, 16b")
    with pytest.raises(errors.KeyMissing), sqlite.open(**other) as saver:
        saver.get_tuple(at("t"))
    with sqlite.open() as saver, pytest.raises(errors.KeyMissing, match="open"):
        saver.get_tuple(at("t"))
    with sqlite.open(**sealing) as saver:
        assert whole(saver, "t") == before
        talk(saver, "t", 1)
    with sqlite.open(**sealing) as saver:
        assert len(whole(saver, "t")) > len(before)


def test_one_damaged_row_is_no_other_key(durable: Backend) -> None:
    """A serde that finds no proof looks into several rows."""
    with durable.open(**aes()) as saver:
        talk(saver, "t", 2)
    run(durable.url, "DELETE FROM wyrd_keys")
    for table in (CHECKPOINTS, WRITES):
        row = stored(durable.url, table)[0]
        name = table.encrypted[-1]
        replace(durable.url, table, row, row._replace(**{name: getattr(row, name)[:-4]}))
    with durable.open(**aes()) as saver:
        put(saver, "u", {"a": 1})
        assert whole(saver, "u")


def test_a_ring_may_be_read_only(sqlite: Backend) -> None:
    """A new key can't be noted in a store that only allows reading, and need not be."""
    with sqlite.open(**ring("old")) as saver:
        put(saver, "t", {"a": 1})
    reading = Backend("sqlite", f"{sqlite.url}?mode=ro").open(**ring("old", "new"))
    with reading:
        assert whole(reading, "t")
    assert [row.id for row in stored(sqlite.url, KEYS)] == ["old"]


def test_a_new_store_knows_its_key(durable: Backend, sealing: Any) -> None:
    """From its first opening on: a plain saver is refused before anything is stored."""
    with durable.open(**sealing) as saver:
        saver.setup()
    assert len(stored(durable.url, KEYS)) == 1
    with durable.open() as saver, pytest.raises(errors.KeyMissing, match="write to it"):
        put(saver, "t", {"a": 1})
    assert isinstance(stored(durable.url, KEYS)[0], KeyRow)
    with durable.open(**sealing) as saver:
        assert ids(list(saver.list(None))) == []


class Service:
    """A cipher whose key is kept by a service that may be out of reach."""

    down = False

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "service", bytes(byte ^ 90 for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        if self.down:
            raise ConnectionError("no key service")
        return bytes(byte ^ 90 for byte in ciphertext)


def test_a_key_service_that_is_down_is_no_damage(durable: Backend) -> None:
    """Its error is raised as it is, nothing counts as lost, and later all is there."""
    service = Service()
    with durable.open(serde=EncryptedSerializer(service)) as saver:
        talk(saver, "t", 2)
    with durable.open(serde=EncryptedSerializer(service)) as saver:
        saver.setup()
        service.down = True
        for ask in (lambda: saver.get_tuple(at("t")), lambda: list(saver.list(at("t")))):
            with pytest.raises(ConnectionError, match="no key service"):
                ask()
        with pytest.raises(ConnectionError, match="no key service"):
            saver.thread("t").working_state()
        service.down = False
        assert saver.get_tuple(at("t")) is not None
        assert saver.thread("t").heals() == []
        assert saver.verify().ok


# ---- rotation


async def test_rotation(durable: Backend, call: Any) -> None:
    """Everything comes under the newest key; then no other one is needed, and nothing else about
    the store has changed. Rows of tables that the graph did not fill go along."""
    sealer = sealer_of(ring("old"))
    with durable.open(**ring("old")) as saver:
        await plant(saver, call)
        talk(saver, "t", 2)
        before = known(saver)
    key = next(row.key for row in stored(durable.url, THREADS) if row.thread_id == THREAD)
    extra = {}
    for table in ENCRYPTED:
        if table is not THREADS and not stored(durable.url, table):
            row = made_up(table, 9)
            if "thread" in table.names:
                row = row._replace(thread=key)
            store(durable.url, table, summed(table, row, sealer))
            extra[table] = row
    saver = durable.open(**ring("old", "new"))
    seen: list[tuple[int, int]] = []
    done = await call(saver, "rotate_keys", progress=lambda *far: seen.append(far))
    assert seen == [(1, 2), (2, 2)]
    assert (done.threads, done.left) == (2, 0)
    assert done.rows > 40
    assert str(done) == f"{done.rows} rows of 2 threads sealed under the newest key"
    again = await call(saver, "rotate_keys")
    assert (again.threads, again.rows) == (2, 0)
    await saver.aclose()
    with durable.open(**ring("new")) as saver:
        assert known(saver) == before
        talk(saver, "t", 1)
    newest = sealer_of(ring("new"))
    for table in TABLES.values():
        for row in stored(durable.url, table):
            assert unsound(table, row) == ()
            if table.encrypted:
                newest.open(table, row)
                assert newest.is_newest(table, row)
    for table, row in extra.items():
        opened = [newest.open(table, each) for each in stored(durable.url, table)]
        assert any(
            all(getattr(each, name) == getattr(row, name) for name in table.encrypted)
            for each in opened
        )
    assert found(durable) == set()


def known(saver: Any) -> list[Any]:
    """What can be read of the store in `test_rotation`."""
    thread = saver.thread(THREAD)
    return [
        *(whole(saver, name) for name in (THREAD, "t")),
        thread.working_state(), thread.get_label("planted"), saver.threads()[0].title,
        list(saver.todos()), list(saver.open_loops()), list(saver.intentions()),
    ]  # fmt: skip


def test_rotation_while_another_saver_writes(durable: Backend) -> None:
    """Another saver's thread grows while its rows are sealed anew, and a rotation that is stopped
    goes on where it was. Until it is done the old key is needed."""
    both = {"old": OLD, "new": NEW}
    with durable.open(keys={"old": OLD}) as saver:
        for name in "abc":
            talk(saver, name, 2)
    writer, rotating = durable.open(keys=KeyRing(both, newest="old")), durable.open(keys=both)
    graph = talk(writer, "b", 1).build(writer)

    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        graph.invoke({"messages": [("user", f"while {done}")]}, at("b"))
        if done == 2:
            raise Stopped

    with pytest.raises(Stopped):
        rotating.rotate_keys(progress=stop)
    with durable.open(keys={"new": NEW}) as saver:
        assert whole(saver, "a")
        with pytest.raises(errors.KeyMissing, match="'old'"):
            saver.get_tuple(at("c"))
    graph.invoke({"messages": [("user", "later")]}, at("b"))
    first = rotating.rotate_keys()
    assert 0 < first.rows < len(stored(durable.url, CHECKPOINTS)) + len(stored(durable.url, WRITES))
    writer.close()
    rotating.close()
    with durable.open(keys={"new": NEW}) as saver:
        texts = [
            m.content for m in saver.get_tuple(at("b")).checkpoint["channel_values"]["messages"]
        ]
        said = [text for text in texts if text.startswith(("while", "later"))]
        assert said == ["while 1", "while 2", "later"]
        assert saver.verify().ok


ROTATE = """
import os, signal, sys
from langgraph_wyrd.saver import WyrdSaver

def killed(done, total):
    if done == 2:
        os.kill(os.getpid(), signal.SIGKILL)

keys = {"old": b"o" * 32, "new": b"n" * 32}
saver = WyrdSaver.from_conn_string(sys.argv[1], keys=keys)
saver.rotate_keys(progress=killed)
"""


def test_a_killed_rotation_goes_on(durable: Backend) -> None:
    """All can be read with both keys, and a second run does what is left to do."""
    with durable.open(**ring("old")) as saver:
        for name in "abc":
            talk(saver, name, 2)
        before = [whole(saver, name) for name in "abc"]
    done = subprocess.run(python("-c", ROTATE, durable.url), cwd=ROOT, timeout=200)
    assert done.returncode == -signal.SIGKILL
    with durable.open(**ring("old", "new")) as saver:
        assert [whole(saver, name) for name in "abc"] == before
        again = saver.rotate_keys()
        assert again.left == 0
        assert 0 < again.rows < len(stored(durable.url, CHECKPOINTS))
    with durable.open(**ring("new")) as saver:
        assert [whole(saver, name) for name in "abc"] == before


def test_what_is_damaged_stays_so(sqlite: Backend) -> None:
    """A rotation neither hides damage nor makes a planted row pass for a sealed one."""
    with sqlite.open(**ring("old")) as saver:
        talk(saver, "t", 2)
    one, other = stored(sqlite.url, WRITES)[:2]
    damaged = one._replace(payload=one.payload[:-1] + bytes([one.payload[-1] ^ 4]))
    planted = summed(WRITES, other._replace(payload=b"\x90"))
    replace(sqlite.url, WRITES, one, damaged)
    replace(sqlite.url, WRITES, other, planted)
    with sqlite.open(**ring("old", "new"), on_damage="raise") as saver:
        done = saver.rotate_keys()
        assert done.left == 2
        assert "2 damaged rows" in str(done)
    assert {damaged, planted} <= set(stored(sqlite.url, WRITES))
    with sqlite.open(**ring("new"), on_damage="raise") as saver:
        for row in (damaged, planted):
            with pytest.raises(errors.CheckpointDamaged):
                saver.get_tuple(at("t", row.checkpoint))


def test_a_plain_store_has_no_keys_to_rotate(durable: Backend) -> None:
    """Without keys there are none to rotate; with them a plain store is refused and stays plain."""
    with durable.open() as saver:
        talk(saver, "t", 2)
        before = whole(saver, "t")
        with pytest.raises(errors.InvalidInput, match="keys="):
            saver.rotate_keys()
    saver = durable.open(**ring("old"))
    for _ in range(2):
        with pytest.raises(errors.PlainStore, match="port"):
            saver.rotate_keys()
    saver.close()
    with durable.open() as saver:
        assert whole(saver, "t") == before
        assert saver.verify().ok


def test_verify_with_a_key_that_is_not_in_the_ring_any_more(durable: Backend) -> None:
    """What an older key sealed can't be compared, and hides nothing of the rest."""
    old, new = KeyRing.new_key(), KeyRing.new_key()
    saver = durable.open(keys={"old": old})
    plan = [{"content": "buy milk", "status": "pending"}]
    head = put(saver, "t", {"log": random.randbytes(4000), "todos": plan})
    saver.close()
    saver = durable.open(keys={"old": old, "new": new})
    for _ in range(30):
        head = put(saver, "t", {"log": random.randbytes(4000), "todos": plan}, parent=head)
    saver.close()
    report = durable.open(keys={"new": new}).verify()
    assert report.threads == 1


def test_a_thread_deleted_while_keys_are_rotated(durable: Backend) -> None:
    """Nothing comes back of it, and nobody takes it for damaged."""
    old, new = {"old": b"o" * 32}, {"old": b"o" * 32, "new": b"n" * 32}
    saver = durable.open(keys=old)
    for thread in ("a", "b"):
        put(saver, thread, {"log": ["one"]})
    saver.close()
    saver = durable.open(keys=new)
    left = ["a", "b"]

    def delete(done: int, total: int) -> None:
        while left:
            saver.delete_thread(left.pop())

    saver.rotate_keys(progress=delete)
    saver = durable.open(keys=new, on_damage="raise")
    for thread in ("a", "b"):
        assert saver.get_tuple(config(thread)) is None
        saver.delete_thread(thread)
        saver.prune([thread])
    assert not saver.verify().findings
    assert all(size.rows == 0 for n, size in saver.size_report().tables.items() if n != "threads")
