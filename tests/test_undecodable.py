"""Rows with right checksums that hold no value: somebody made them. They are told, and healed."""

from __future__ import annotations

import contextlib
import operator
import random
import struct
import sys
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


def _block(sizes: list[int], body: bytes) -> bytes:
    head = ormsgpack.packb(sizes)
    return bytes((4,)) + struct.pack("<I", len(head)) + head + body


BLOCKS = {
    "a bomb": b"\x01" + zstandard.ZstdCompressor().compress(bytes(260 << 20)),
    "a claim": b"\x01\x28\xb5\x2f\xfd\xe0" + (1 << 60).to_bytes(8, "little") + b"\x01\0\0",
    "the same over and over": _block([1 << 20, -(1 << 20)] * 100_000, bytes(1 << 20)),
    "sizes that are none": _block(["a"], b"a"),  # type: ignore[list-item]
}


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
