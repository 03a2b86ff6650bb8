"""Messages that another langchain-core wrote: they load as the serde would load their fields."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import langchain_core.messages as lc
import ormsgpack
import pytest
from conftest import Backend
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import EXT_PYDANTIC_V2, JsonPlusSerializer
from pydantic import BaseModel, Field, create_model
from test_messages import scalars, text
from test_odd_input import as_serde_gives, assert_same, at, checkpoint

from tests.other_version import go_on
from tests.outside import raw, run

pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")

Fields = dict[str, Any]


def row(code: int, fields: Fields) -> bytes:
    """An element in row form with these fields in this order."""
    from langgraph_wyrd.store.blocks import ROW
    from langgraph_wyrd.store.messages import FIELDS

    numbers = bytes(FIELDS.index(name) for name in fields)
    return ROW + ormsgpack.packb([code, numbers, *fields.values()])


def serde_gives(name: str, fields: Fields) -> Any:
    """What the default serde loads for a class that was stored with these fields."""
    cls = getattr(lc, name, None)
    module = cls.__module__ if cls is not None else "langchain_core.messages.gone"
    inner = ormsgpack.packb((module, name, fields, "model_validate_json"))
    return JsonPlusSerializer().loads_typed(
        ("msgpack", ormsgpack.packb(ormsgpack.Ext(EXT_PYDANTIC_V2, inner)))
    )


def of_now(kind: type[Any]) -> Any:
    """A message of a class as it is installed."""
    fields = {"content": "now", "id": "now", "name": "n", "tool_call_id": "c", "role": "r"}
    if kind is lc.RemoveMessage:
        return kind(id="now")
    return kind(**{name: value for name, value in fields.items() if name in kind.model_fields})


# ---- any fields of any class

dicts = st.dictionaries(text, st.recursive(scalars, lambda inner: st.lists(inner, max_size=2)))
blocks = st.fixed_dictionaries({"type": st.just("text"), "text": text}) | text
calls = st.fixed_dictionaries(
    {"name": text, "args": dicts, "id": text | st.none()}, optional={"type": st.just("tool_call")}
)
openai = {"id": "c", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}}
invalid = st.fixed_dictionaries({"name": text, "args": text, "id": text, "error": text})
chunks = st.fixed_dictionaries(
    {"name": text, "args": st.sampled_from(["", "{", '{"a": 1}']), "id": text, "index": st.none()}
)
counts = st.integers(0, 1000)
usage = st.fixed_dictionaries(
    {"input_tokens": counts, "output_tokens": counts, "total_tokens": counts}
)
well: dict[str, st.SearchStrategy[Any]] = {  # what a class accepts
    "content": text | st.lists(blocks, max_size=2),
    "additional_kwargs": dicts | st.just({"tool_calls": [openai]}),
    "response_metadata": dicts,
    "name": st.none() | text,
    "id": st.none() | text,
    "tool_calls": st.lists(calls, max_size=2),
    "invalid_tool_calls": st.lists(invalid, max_size=2),
    "usage_metadata": st.none() | usage,
    "tool_call_id": text,
    "artifact": st.none() | dicts,
    "status": st.sampled_from(["success", "error"]),
    "role": text,
    "tool_call_chunks": st.lists(chunks, max_size=2),
    "chunk_position": st.sampled_from([None, "last"]),
    "example": st.booleans(),
}
ill = scalars | dicts | st.lists(scalars, max_size=2)  # what it may or may not


@st.composite
def stored(draw: Any, kind: type[Any]) -> Fields:
    """The fields of a class as another version may have had them: fewer, more, otherwise sorted."""
    from langgraph_wyrd.store.messages import FIELDS

    known = list(kind.model_fields)
    gone = draw(st.sets(st.sampled_from(known), max_size=3))
    others = st.sampled_from([name for name in FIELDS if name not in known])
    names = [name for name in known if name not in gone] + draw(
        st.lists(others, unique=True, max_size=3)
    )
    if draw(st.booleans()):
        names = draw(st.permutations(names))
    wrong = (
        draw(st.sets(st.sampled_from(names), max_size=1)) if draw(st.booleans()) and names else ()
    )
    own = {"type": st.just(kind.model_fields["type"].default)}
    return {name: draw(ill if name in wrong else {**well, **own}[name]) for name in names}


QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


# ---- through a saver, and on


def foreign(kind: type[Any]) -> list[Fields]:
    """Rows that a class of another version may have left, one of each kind."""
    full: Fields = {
        "content": "said",
        "additional_kwargs": {"k": [1]},
        "response_metadata": {"finish_reason": "stop"},
        "type": kind.model_fields["type"].default,
        "name": "n",
        "id": "1",
        "tool_calls": [{"name": "t", "args": {"a": 1}, "id": "c", "type": "tool_call"}],
        "invalid_tool_calls": [],
        "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        "tool_call_id": "c",
        "artifact": {"a": 1},
        "status": "error",
        "role": "judge",
        "tool_call_chunks": [],
        "chunk_position": None,
    }
    now = {name: full[name] for name in kind.model_fields}
    last = list(now)[-1]
    return [
        {name: value for name, value in now.items() if name != last},
        {name: value for name, value in now.items() if name not in ("name", "response_metadata")},
        {name: value for name, value in now.items() if name != "content"},
        {**now, "example": True},
        {**now, "example": True, "role": "x", "artifact": [1]},
        dict(reversed(now.items())),
        {**now, "example": True, "content": 5},  # refused: made without validation
        {"id": "only"},
    ]


def splices(backend: Backend) -> int:
    with raw(backend.url) as connection:
        return int(connection.execute("SELECT count(*) FROM wyrd_splices").fetchone()[0])


@pytest.fixture
def rows_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[bytes]], list[Any]]:
    """Messages that are stored as the given elements, as if a program of another version did it."""
    from langgraph_wyrd.store.values import Codec

    def placeholders(elements: Sequence[bytes]) -> list[Any]:
        by_id = {f"place {n}": element[1:] for n, element in enumerate(elements)}
        exact = Codec._exact_row
        monkeypatch.setattr(
            Codec,
            "_exact_row",
            lambda self, message: by_id.get(message.id) or exact(self, message),
        )
        return [lc.HumanMessage("", id=id) for id in by_id]

    return placeholders


def put_on(saver: Any, config: Any, values: list[Any]) -> Any:
    made = checkpoint(saver, {"messages": values})
    return saver.put(config, made, {"step": 1}, made["channel_versions"])


# ---- really another version


@pytest.mark.parametrize("version", ["older", "newer"])
def test_two_versions_take_turns(durable: Backend, version: str, tmp_path: Path) -> None:
    """Processes with different fields in their classes load what the serde would give them."""
    file = tmp_path / "as the serde has it"
    for theirs in (False, True, False, True, True, False, False):
        if theirs:
            done = run("-m", "tests.other_version", version, durable.url, str(file))
            assert done.returncode == 0, done.stderr
        else:
            go_on(durable.url, file)


def test_a_new_field_with_another_default_each_time(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a class made up on loading is stored with the next put, in a kept list as well."""

    def item(**fields: Any) -> type[BaseModel]:
        made = create_model("Item", __module__="shop", **fields)
        monkeypatch.setitem(sys.modules, "shop", SimpleNamespace(Item=made))
        return made

    old = item(n=(int, ...))
    put_on(durable.open(), at("t"), [*(old(n=n) for n in range(50)), "text"])
    item(n=(int, ...), id=(str, Field(default_factory=lambda: uuid.uuid4().hex)))
    saver = durable.open()
    found = saver.get_tuple(at("t"))
    loaded = found.checkpoint["channel_values"]["messages"]
    put_on(saver, found.config, loaded)
    want = as_serde_gives(saver.serde, loaded)
    for reader in (saver, durable.open()):
        again = reader.get_tuple(at("t")).checkpoint["channel_values"]["messages"]
        assert_same(again, want)
