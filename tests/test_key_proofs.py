"""What a store says of its keys may be damaged like anything else: the threads are there."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_wyrd import errors
from tests.conftest import Backend
from tests.damage import Rows, talk
from tests.damage import at as of

pytestmark = pytest.mark.inside

OLD, NEW = b"o" * 32, b"n" * 32
SPOIL = {
    "gone": "DELETE FROM {}",
    "another id": "UPDATE {} SET id = replace(replace(id, 'l', 'm'), 'd', 'e')",
    "no id": "UPDATE {} SET id = '(s'",
    "cut": "UPDATE {} SET proof = substr(proof, 1, 30)",
    "other bits": "UPDATE {} SET proof = substr(proof, 1, 40) || 'AAAA' || substr(proof, 45)",
    "nothing": "UPDATE {} SET proof = ''",
    "plain": "UPDATE {} SET proof = 'langgraph-wyrd'",
}


def ring(*ids: str) -> dict[str, Any]:
    return {"keys": {id: {"old": OLD, "new": NEW}[id] for id in ids}}


def aes(key: bytes = b"sixteen bytes ok") -> dict[str, Any]:
    return {"serde": EncryptedSerializer.from_pycryptodome_aes(key=key)}


def values(saver: Any) -> Any:
    got = saver.get_tuple(of("t"))
    assert got is not None
    return got.checkpoint, got.metadata, got.pending_writes


@pytest.mark.parametrize("how", list(SPOIL))
@pytest.mark.parametrize("given", [ring("old"), aes()], ids=["ring", "serde"])
def test_a_damaged_proof_strands_nothing(
    durable: Backend, given: dict[str, Any], how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What is stored tells that the key is right; a repair writes the proof anew."""
    with durable.open(**given) as saver:
        talk(saver, "t", 2)
        whole = values(saver)
    proofs = Rows(durable.url, "wyrd_keys")
    assert proofs.run(SPOIL[how]) == 1
    with caplog.at_level(logging.WARNING), durable.open(**given) as saver:
        assert values(saver) == whole
        talk(saver, "t", 1)
        assert saver.thread("t").heals() == []
        found = saver.verify(repair=True)
        assert [each.table for each in found.damages] == ["wyrd_keys"] * (how != "gone")
        assert saver.verify().findings == ()
    with durable.open(**given) as saver:
        assert len(proofs.all()) == 1
        assert saver.verify().ok
        values(saver)


@pytest.mark.parametrize("given", [ring("old"), aes()], ids=["ring", "serde"])
def test_without_a_proof_another_key_is_still_told(durable: Backend, given: Any) -> None:
    """By what is stored; and so is that there is none."""
    with durable.open(**given) as saver:
        talk(saver, "t", 1)
    Rows(durable.url, "wyrd_keys").run("DELETE FROM {}")
    before = Rows(durable.url, "wyrd_checkpoints").all()
    other = {"keys": {"old": NEW}} if "keys" in given else aes(b"another key, 16b")
    with durable.open(**other) as saver, pytest.raises(errors.KeyMissing):
        saver.get_tuple(of("t"))
    if "keys" in given:
        with durable.open() as saver, pytest.raises(errors.KeyMissing, match="keys="):
            saver.get_tuple(of("t"))
    assert Rows(durable.url, "wyrd_checkpoints").all() == before


def test_an_old_proof_that_is_lost(durable: Backend) -> None:
    """The newest key's is enough; with the old key alone the store is another's."""
    with durable.open(**ring("old")) as saver:
        talk(saver, "t", 1)
    with durable.open(**ring("old", "new")) as saver:
        talk(saver, "t", 1)
    for id in ("old", "new"):
        Rows(durable.url, "wyrd_keys").run("UPDATE {} SET proof = 'x' WHERE id = ?", id)
        with durable.open(**ring("old", "new")) as saver:
            found = saver.verify(repair=True).damages
            assert [each.place for each in found] == [f"the key {id!r}"]
            assert saver.verify().ok
            values(saver)
    assert [row["id"] for row in Rows(durable.url, "wyrd_keys").all()] == ["new"]


def test_one_damaged_write_is_no_other_key(durable: Backend) -> None:
    """A serde that finds no proof looks into several."""
    with durable.open(**aes()) as saver:
        talk(saver, "t", 2)
        whole = values(saver)
    Rows(durable.url, "wyrd_keys").run("DELETE FROM {}")
    (*_, last) = sorted(Rows(durable.url, "wyrd_writes").all(), key=lambda row: row["checkpoint"])
    Rows(durable.url, "wyrd_writes").run(
        "UPDATE {} SET data = ? WHERE checkpoint = ? AND task = ? AND idx = ?",
        bytes(last["data"])[:-4], last["checkpoint"], last["task"], last["idx"],
    )  # fmt: skip
    with durable.open(**aes()) as saver:
        assert values(saver)[0] == whole[0]
