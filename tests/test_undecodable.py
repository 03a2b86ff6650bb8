"""Rows with right checksums that hold no value: somebody made them. They are told, and healed."""

from __future__ import annotations

import contextlib
import operator
import random
import struct
import sys
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Annotated, Any

import ormsgpack
import pytest
import zstandard
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from test_odd_input import Ciphered
from typing_extensions import TypedDict

from langgraph_wyrd import Kept, WyrdSaver
from langgraph_wyrd.errors import CheckpointDamaged
from tests.conftest import Backend
from tests.damage import at
from tests.rows import put


class State(TypedDict, total=False):
    held: Any
    log: Annotated[list[Any], operator.add]


def graph(saver: Any, ran: list[str] | None = None) -> Any:
    def node(state: State) -> State:
        if ran is not None:
            ran.append("node")
        return {"log": ["one more"]}

    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    return builder.compile(checkpointer=saver)


class Made:
    """Bytes, and the shape that they claim to have."""

    def __init__(self, data: bytes, shape: str = "wmsgpack") -> None:
        self.data, self.shape = data, shape


class Vault(JsonPlusSerializer):
    """A user's own, which finds no more what a value stands for."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        if b"poison" in data[1]:
            raise KeyError("it is gone")
        return super().loads_typed(data)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors take no notes there")
async def test_a_list_names_what_a_serde_cannot_load(durable: Backend, call: Any) -> None:
    """Its own error, as it was, and whose value it met."""
    with durable.open(serde=JsonPlusSerializer()) as saver:
        for name in ("t0", "t1", "t2"):
            graph(saver).invoke({"held": "poison" if name == "t1" else "fine"}, at(name))
    saver = durable.open(serde=Vault())
    for arguments in (("list", None), ("get_tuple", at("t1"))):
        with pytest.raises(KeyError, match="it is gone") as caught:
            await call(saver, *arguments)
        assert ["of thread 't1'" in each for each in caught.value.__notes__] == [True]


@contextlib.contextmanager
def planting() -> Iterator[None]:
    """Whatever is `Made` is stored so, with all its checksums."""
    from langgraph_wyrd.store.values import Codec, Packed

    pack = Codec.pack

    def planted(self: Codec, value: Any, channel: str) -> Packed:
        if isinstance(value, Made):
            return Packed(value.shape, None, [b"\0" + value.data])
        return pack(self, value, channel)

    Codec.pack = planted  # type: ignore[method-assign]
    try:
        yield
    finally:
        Codec.pack = pack  # type: ignore[method-assign]


def snapshots(depth: int) -> bytes:
    made = b"\xc0"
    for _ in range(depth):
        made = ormsgpack.packb(ormsgpack.Ext(7, made))
    return made


PLANTED = {
    "a huge list": Made(b"\xdd\xff\xff\xff\xff"),
    "a huge dict": Made(b"\xdf\xff\xff\xff\xff"),
    "a huge text": Made(b"\xdb\xff\xff\xff\xff"),
    "deep lists": Made(b"\x91" * 100_000),
    "deep snapshots": Made(snapshots(3000)),
    "deep marks": Made(b"x", "D" * 5000 + "w"),
    "an unknown shape": Made(b"x", "q"),
    "no shape": Made(b"x", ""),
    "half a JSON": Made(b"[[", "wjson"),
    "a user's value that is none": Made(b"\xff", "u"),
    "large": Made(b"\xc1" + random.Random(7).randbytes(20_000)),
}


@pytest.mark.inside
@pytest.mark.parametrize("kind", list(PLANTED))
async def test_a_value_that_is_none(durable: Backend, kind: str, call: Any) -> None:
    """The checkpoint before it is taken, aloud; the thread goes on; `verify` finds it."""
    saver = durable.open()
    graph(saver).invoke({"held": 1, "log": ["x" * 100]}, at("t"))
    head = saver.get_tuple(at("t"))
    good = head.checkpoint["channel_values"]
    versions = {**head.checkpoint["channel_versions"], "held": "9" * 20}
    with planting():
        values = {**good, "held": PLANTED[kind]}
        bad = put(saver, "t", values, parent=head.config, versions=versions)
    saver.close()

    strict = durable.open(on_damage="raise")
    with pytest.raises(CheckpointDamaged):
        await call(strict, "get_tuple", at("t"))
    saver = durable.open()
    report = await call(saver, "verify", "t")
    assert any("stored value" in each.what for each in report.findings)
    found = await call(saver, "get_tuple", at("t"))
    assert found.checkpoint["channel_values"] == good
    with pytest.raises(CheckpointDamaged) as told:
        await call(saver, "get_tuple", bad)
    assert told.value.ancestor == head.checkpoint["id"]
    listed = [each.checkpoint["id"] for each in await call(saver, "list", at("t"))]
    assert listed[0] == head.checkpoint["id"]
    assert {each.kind for each in saver.thread("t").heals()} == {"ancestor", "left_out"}
    saver.verify("t", repair=True)
    assert graph(saver).invoke({"log": ["again"]}, at("t"))["log"][-1] == "one more"


@pytest.mark.inside
def test_a_write_that_is_none(durable: Backend) -> None:
    """Its task runs again, and the thread goes on."""
    saver = durable.open()
    builder = StateGraph(State).add_node("first", lambda state: {"log": [1]})
    ran: list[str] = []
    builder.add_node("node", lambda state: ran.append("node") or {"log": [2]})  # type: ignore[arg-type, return-value]
    builder.add_edge(START, "first").add_edge("first", "node")
    held = builder.compile(checkpointer=saver, interrupt_before=["node"])
    held.invoke({"log": []}, at("t"))
    config = saver.get_tuple(at("t")).config
    (task,) = held.get_state(at("t")).tasks
    with planting():
        saver.put_writes(config, [("log", Made(b"\xdd\xff\xff\xff\xff"))], task.id)
    saver.close()
    saver = durable.open()
    assert any("task" in each.place for each in saver.verify("t").findings)
    assert saver.get_tuple(at("t")).pending_writes == []
    (heal,) = saver.thread("t").heals()
    assert heal.kind == "left_out"
    assert builder.compile(checkpointer=saver).invoke(None, at("t"))["log"] == [1, 2]
    assert ran == ["node"]


METADATA = {
    "deep": ("[" * 100_000, None),
    "half": ("{", None),
    "empty": ("", None),
    "exact": ("{}", b"\x08wmsgpack\0\xc1"),
}


def _metadata_that_is_none(backend: Backend, kind: str, patched: pytest.MonkeyPatch) -> None:
    from langgraph_wyrd.store.values import Codec

    saver = backend.open()
    first = put(saver, "t", {"held": 1})
    with patched.context() as context:
        context.setattr(Codec, "metadata", lambda self, metadata: METADATA[kind])
        put(saver, "t", {"held": 2}, parent=first)
    saver.close()
    saver = backend.open()
    assert not saver.verify("t").ok
    assert saver.get_tuple(at("t")).checkpoint["channel_values"] == {"held": 1}
    assert len(list(saver.list(at("t")))) == 1


@pytest.mark.inside
@pytest.mark.parametrize("kind", list(METADATA))
def test_metadata_that_is_none(sqlite: Backend, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As well."""
    _metadata_that_is_none(sqlite, kind, monkeypatch)


@pytest.mark.inside
def test_metadata_that_is_none_on_postgres(
    postgres: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own column takes nothing but JSON; the exact form beside it takes anything."""
    _metadata_that_is_none(postgres, "exact", monkeypatch)


def _block(sizes: list[int], body: bytes) -> bytes:
    head = ormsgpack.packb(sizes)
    return bytes((4,)) + struct.pack("<I", len(head)) + head + body


BLOCKS = {
    "a bomb": b"\x01" + zstandard.ZstdCompressor().compress(bytes(260 << 20)),
    "a claim": b"\x01\x28\xb5\x2f\xfd\xe0" + (1 << 60).to_bytes(8, "little") + b"\x01\0\0",
    "the same over and over": _block([1 << 20, -(1 << 20)] * 100_000, bytes(1 << 20)),
    "sizes that are none": _block(["a"], b"a"),  # type: ignore[list-item]
}


@pytest.mark.inside
@pytest.mark.parametrize("kind", list(BLOCKS))
def test_a_block_that_asks_for_too_much(kind: str) -> None:
    """It is refused before any memory is taken for it."""
    from langgraph_wyrd.store import blocks

    began = time.perf_counter()
    with pytest.raises(CheckpointDamaged):
        blocks.open_block(BLOCKS[kind], None)
    assert time.perf_counter() - began < 1


@pytest.mark.inside
def test_a_block_is_compressed_to_what_may_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger is stored as it is."""
    from langgraph_wyrd.store import blocks

    monkeypatch.setattr(blocks, "_COMPRESS_TO", 1 << 20)
    for size in (1 << 20, (1 << 20) + 2):
        element = b"\0" + bytes(size - 1)
        made = blocks.make_block([element], None)
        assert blocks.open_block(made, None) == [element]
    assert len(made) > size - 1


@pytest.mark.parametrize("serde", ["plain", "encrypted"])
def test_a_pickle_whose_class_is_gone(durable: Backend, serde: str, tmp_path: Any) -> None:
    """Who trusts pickles has it kept, too, and whole again when the class returns."""

    def opened() -> WyrdSaver:
        pickles = JsonPlusSerializer(pickle_fallback=True)
        plain = serde == "plain"
        return durable.open(serde=pickles if plain else EncryptedSerializer(Ciphered(), pickles))

    module = ModuleType("pickled_app")
    exec("class Odd:\n    def __init__(self, x): self.x = x\n", module.__dict__)
    sys.modules["pickled_app"] = module
    try:
        saver = opened()
        first = put(saver, "t", {"held": module.Odd(3)})
        saver.close()
        del sys.modules["pickled_app"]
        saver = opened()
        found = saver.get_tuple(at("t"))
        held = found.checkpoint["channel_values"]["held"]
        assert isinstance(held, Kept)
        assert "pickled_app" in held.kept_why
        assert saver.thread("t").heals() == []
        put(saver, "t", {"held": held, "other": 1}, parent=first)
        saver.thread("t").export(tmp_path / "t.json", payloads=True)
        saver.import_thread(tmp_path / "t.json", "u")
        saver.close()
    finally:
        sys.modules["pickled_app"] = module
    try:
        saver = opened()
        for thread in ("t", "u"):
            assert saver.get_tuple(at(thread)).checkpoint["channel_values"]["held"].x == 3
    finally:
        del sys.modules["pickled_app"]
