"""Rows with right checksums that hold no value: somebody made them. They are told, and healed."""

from __future__ import annotations

import operator
import sys
from types import ModuleType
from typing import Annotated, Any

import pytest
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


class Vault(JsonPlusSerializer):
    """A user's own, which finds no more what a value stands for."""

    away = False

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        value = super().loads_typed(data)
        if self.away and value == "poison":
            raise KeyError("it is gone")
        return value


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors take no notes there")
async def test_a_list_names_what_a_serde_cannot_load(durable: Backend, call: Any) -> None:
    """Its own error, as it was, and whose value it met."""
    with durable.open(serde=Vault()) as saver:
        for name in ("t0", "t1", "t2"):
            graph(saver).invoke({"held": "poison" if name == "t1" else "fine"}, at(name))
    vault = Vault()
    vault.away = True
    saver = durable.open(serde=vault)
    for arguments in (("list", None), ("get_tuple", at("t1"))):
        with pytest.raises(KeyError, match="it is gone") as caught:
            await call(saver, *arguments)
        assert ["of thread 't1'" in each for each in caught.value.__notes__] == [True]


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
