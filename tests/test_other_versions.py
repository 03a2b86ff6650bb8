"""Messages that another langchain-core wrote: they load as the serde would load their fields."""

from __future__ import annotations

import sys
import textwrap
import uuid
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import langchain_core.messages as lc
import ormsgpack
import pytest
from conftest import Backend
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import EXT_PYDANTIC_V2, JsonPlusSerializer
from pydantic import BaseModel, Field, create_model
from test_messages import EVERY_CLASS, behaves_the_same, scalars, text
from test_odd_input import as_serde_gives, assert_same, at, checkpoint

from langgraph_wyrd import Kept
from langgraph_wyrd.errors import SchemaTooNew
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


@pytest.mark.inside
@pytest.mark.parametrize("kind", EVERY_CLASS)
@QUICK
@given(data=st.data())
def test_fields_of_another_version(kind: type[Any], data: st.DataObject) -> None:
    """Fields lacking, left over or in another order: the class decides, as under the serde."""
    from langgraph_wyrd.store import messages
    from langgraph_wyrd.store.blocks import ROW
    from langgraph_wyrd.store.messages import CLASSES
    from langgraph_wyrd.store.values import Codec

    code = CLASSES.index(kind.__name__)
    others = stored(kind).filter(lambda fields: list(fields) != list(kind.model_fields))
    several = data.draw(st.lists(others, min_size=1, max_size=4))
    own = messages.pack([of_now(kind)])  # of this version, among the others
    assert own is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        elements, want = [], []
        for fields in several:
            elements.append(row(code, fields))
            want.append(serde_gives(kind.__name__, fields))
            elements.append(ROW + own[1:])
            want.append(as_serde_gives(JsonPlusSerializer(), of_now(kind)))
        got = Codec(JsonPlusSerializer()).load_elements(elements)
        assert_same(got, want)
        behaves_the_same(got, want)


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


@pytest.mark.inside
@pytest.mark.parametrize("kind", EVERY_CLASS)
def test_a_thread_of_another_version_goes_on(
    durable: Backend, kind: type[Any], rows_of: Callable[[Sequence[bytes]], list[Any]]
) -> None:
    """State and writes load as the serde has it; put on they come back, and then cost nothing."""
    from langgraph_wyrd.store.messages import CLASSES

    name = kind.__name__
    several = foreign(kind)
    first = durable.open()
    held = rows_of([row(CLASSES.index(name), fields) for fields in several])
    head = put_on(first, at("t"), held)
    first.put_writes(head, [("messages", held), ("alone", held[:1])], "task")
    first.close()

    want = [serde_gives(name, fields) for fields in several]
    saver = durable.open()
    found = saver.get_tuple(at("t"))
    loaded = found.checkpoint["channel_values"]["messages"]
    assert_same(loaded, want)
    assert_same([value for _, _, value in found.pending_writes], [want, want[:1]])

    more = [*loaded, of_now(kind)]
    want = as_serde_gives(saver.serde, more)
    head = put_on(saver, found.config, more)
    assert_same(saver.get_tuple(head).checkpoint["channel_values"]["messages"], want)
    for _ in range(2):
        saver.close()
        saver = durable.open()
        found = saver.get_tuple(at("t"))
        loaded = found.checkpoint["channel_values"]["messages"]
        assert_same(loaded, want)
        before = splices(durable)
        put_on(saver, found.config, loaded)
        assert splices(durable) == before + 1  # its frame


@pytest.mark.inside
def test_a_class_that_is_not_there(
    saver: Any,
    rows_of: Callable[[Sequence[bytes]], list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A class that this langchain-core does not know any more is kept, and comes back with it."""
    from langgraph_wyrd.store import messages
    from langgraph_wyrd.store.messages import CLASSES

    fields = {"content": "said", "role": "judge", "id": "1"}
    element = row(CLASSES.index("ChatMessage"), fields)
    head = put_on(saver, at("t"), rows_of([element, element]))
    with monkeypatch.context() as patched:
        patched.setattr(messages, "lc", SimpleNamespace())
        patched.delitem(messages._AS_INSTALLED, CLASSES.index("ChatMessage"))
        loaded = saver.get_tuple(head).checkpoint["channel_values"]["messages"]
        assert all(isinstance(each, Kept) for each in loaded)
        assert [dict(each) for each in loaded] == [fields] * 2
        head = put_on(saver, head, [*loaded, lc.HumanMessage("now", id="now")])
    found = saver.get_tuple(head).checkpoint["channel_values"]["messages"]
    assert_same(found[:2], [serde_gives("ChatMessage", fields)] * 2)


@pytest.mark.inside
def test_a_class_that_is_not_known(
    saver: Any, rows_of: Callable[[Sequence[bytes]], list[Any]]
) -> None:
    """A class that a later release numbered has no name here: refused, never made a dict of."""
    from langgraph_wyrd.store.messages import CLASSES

    head = put_on(saver, at("t"), rows_of([row(len(CLASSES), {"content": "said"})]))
    with pytest.raises(SchemaTooNew, match="upgrade"):
        saver.get_tuple(head)


@pytest.mark.inside
def test_a_field_that_is_not_known(
    saver: Any, rows_of: Callable[[Sequence[bytes]], list[Any]]
) -> None:
    """A field that a later release numbered has no name here: refused, never left out."""
    from langgraph_wyrd.store.blocks import ROW
    from langgraph_wyrd.store.messages import FIELDS

    packed = ROW + ormsgpack.packb([0, bytes((0, len(FIELDS))), "said", "what?"])
    head = put_on(saver, at("t"), rows_of([packed]))
    with pytest.raises(SchemaTooNew, match="upgrade"):
        saver.get_tuple(head)


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


@pytest.mark.inside
def test_the_order_of_a_set_is_nothing_new(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process has its own order of texts in a set: that alone makes nobody store it again."""
    program = """
        import sys
        from langgraph_wyrd import WyrdSaver
        from tests.rows import config, put
        with WyrdSaver.from_conn_string(sys.argv[1]) as saver:
            found = saver.get_tuple(config("t"))
            old = found and found.checkpoint["channel_values"]["messages"]
            new = old or [{"set": set(map(str, range(50)))}] * 20
            put(saver, "t", {"messages": new}, parent=found and found.config)
    """
    sizes = []
    for seed in "12345":
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        done = run("-c", textwrap.dedent(program), durable.url)
        assert done.returncode == 0, done.stderr
        sizes.append(splices(durable))
    assert sizes == [2, 3, 4, 5, 6]
