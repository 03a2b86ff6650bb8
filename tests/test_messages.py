"""Messages have a fast path of their own: it must be indistinguishable from the serde."""

from __future__ import annotations

import copy
import datetime as dt
import operator
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import langchain_core.messages as lc
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from pydantic import BaseModel, Field, PrivateAttr, field_validator, model_serializer
from typing_extensions import TypedDict

from langgraph_wyrd import Kept
from tests.conftest import Backend
from tests.odd_values import (
    Ciphered,
    Colour,
    Frozen,
    Model,
    Pair,
    Point,
    assert_same,
    at,
    checkpoint,
)

pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")

# ---- classes of users


class Tagged(HumanMessage):
    """A subclass with a field, a private attribute and a validator that changes its input."""

    tag: str = "none"
    _seen: int = PrivateAttr(default=0)

    @field_validator("tag")
    @classmethod
    def lower(cls, tag: str) -> str:
        return tag.lower()


class Annotated_(AIMessage):
    """A subclass that serialises itself in a way of its own."""

    said: list[Any] = Field(default_factory=list)

    @model_serializer(mode="wrap")
    def serialized(self, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return {**handler(self), "said": ["told", *self.said]}


class SystemMessageOfOurs(SystemMessage):
    pass


class Aliased(lc.SystemMessage):
    """A subclass that carries the name of the class it comes from."""


Aliased.__name__ = Aliased.__qualname__ = "SystemMessage"


def local_class() -> type[HumanMessage]:
    class Local(HumanMessage):
        place: int = 0

    return Local


Local = local_class()  # its module has no such name: the serde gives a dict for it

EVERY_CLASS = [
    HumanMessage,
    HumanMessageChunk,
    AIMessage,
    AIMessageChunk,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    ChatMessage,
    ChatMessageChunk,
    RemoveMessage,
]
OF_USERS = [Tagged, Annotated_, SystemMessageOfOurs, Aliased, Local]


def test_every_message_class_is_tried() -> None:
    """A class that a release of langchain-core adds is added here, or this fails."""
    known = {kind for kind in vars(lc).values() if isinstance(kind, type)}
    abstract = {lc.BaseMessage, lc.BaseMessageChunk}
    assert {kind for kind in known if issubclass(kind, BaseMessage)} - abstract == set(EVERY_CLASS)


# ---- any message

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=True) | text
)
things = (
    scalars
    | st.binary(max_size=5)
    | st.dates()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.sampled_from(
        [Colour.RED, Point(1, (2,)), Frozen([1]), Pair(1, (2,)), Model(number=1, anything=(1,))]
    )
    | st.builds(lambda: np.arange(3.0))
    | st.builds(lambda: HumanMessage("inside", id="i"))
    | st.builds(lambda: {1, 2, "x"})
)


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=2).map(tuple)
            | st.dictionaries(text | st.integers(-5, 5), inner, max_size=3)
        ),
        max_leaves=6,
    )


anything = nested(things)
fields = st.dictionaries(text, anything, max_size=3)
ids = st.none() | text | st.just("m-1")

blocks = st.one_of(
    text,
    st.fixed_dictionaries({"type": st.just("text"), "text": text}, optional={"index": scalars}),
    st.just(
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAA", "detail": "low"}}
    ),
    st.just({"type": "image", "base64": "AAA", "mime_type": "image/png", "extras": {"k": (1,)}}),
    st.builds(lambda v: {"type": "reasoning", "reasoning": "…", "extras": v}, fields),
    st.builds(lambda v: {"type": "tool_use", "id": "c", "name": "t", "input": v}, fields),
    st.builds(lambda v: {"type": "tool_call", "id": "c", "name": "t", "args": v}, fields),
    st.just({"type": "text", "text": "x", "annotations": [{"type": "citation", "url": "u"}]}),
    st.builds(lambda v: {"type": "non_standard", "value": v}, anything),
    st.dictionaries(text | st.integers(0, 9), anything, max_size=2),
)
contents = text | st.lists(blocks, max_size=3)


def calls(args: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    call = {"name": text, "args": args, "id": st.none() | text}
    kind = {"type": st.just("tool_call")}
    return st.lists(st.fixed_dictionaries(call, optional=kind), max_size=3)


tool_calls = calls(fields)
invalid_calls = st.lists(
    st.fixed_dictionaries(
        {k: st.none() | text for k in ("name", "args", "id", "error")},
        optional={"type": st.just("invalid_tool_call")},
    ),
    max_size=2,
)
call_chunks = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.none() | text,
            "args": st.none() | st.sampled_from(['{"a": 1}', '{"a": [1', "", "null"]),
            "id": st.none() | text,
            "index": st.none() | st.integers(0, 3),
        },
    ),
    max_size=2,
)
counts = st.integers(0, 2**40)
usage = st.none() | st.fixed_dictionaries(
    {"input_tokens": counts, "output_tokens": counts, "total_tokens": counts},
    optional={
        "input_token_details": st.fixed_dictionaries({"cache_read": counts}),
        "output_token_details": st.fixed_dictionaries(
            {}, optional={"reasoning": counts, "audio": counts}
        ),
    },
)
openai_calls = st.lists(
    st.builds(
        lambda name, arguments: {
            "id": "call_1",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        },
        text,
        st.sampled_from(['{"a": 1}', "{broken", "", "[]", '{"a": {"b": [1.0, null]}}']),
    ),
    max_size=2,
)
kwargs = st.one_of(
    fields,
    st.builds(lambda calls, more: {**more, "tool_calls": calls}, openai_calls, fields),
    st.just({"function_call": {"name": "f", "arguments": "{}"}, "refusal": None}),
)
artifacts = anything | st.builds(lambda v: Point(v, {"k": v}), anything)
extra_names = st.sampled_from(["example", "extra_field", "tool_calls_", "ünicode", "with space"])

common = {
    "additional_kwargs": kwargs,
    "response_metadata": fields
    | st.just({"finish_reason": "stop", "logprobs": None, "token_usage": {"a": 1}})
    | st.just({"output_version": "v1", "model_provider": "openai"}),
    "name": st.none() | text,
    "id": ids,
}
json_args = st.dictionaries(text, nested(scalars), max_size=2)  # a chunk makes JSON of them
own: dict[type, tuple[dict[str, Any], dict[str, Any]]] = {  # class -> needed fields, others
    AIMessage: (
        {},
        {"tool_calls": tool_calls, "invalid_tool_calls": invalid_calls, "usage_metadata": usage},
    ),
    AIMessageChunk: (
        {},
        {
            "tool_calls": calls(json_args),
            "tool_call_chunks": call_chunks,
            "chunk_position": st.sampled_from([None, "last"]),
        },
    ),
    ToolMessage: (
        {"tool_call_id": text | st.integers(0, 9) | st.uuids()},
        {"artifact": artifacts, "status": st.sampled_from(["success", "error"])},
    ),
    FunctionMessage: ({"name": text}, {}),
    ChatMessage: ({"role": text}, {}),
    Tagged: ({}, {"tag": text}),
    Annotated_: ({}, {"said": st.lists(anything, max_size=2)}),
    Local: ({}, {"place": st.integers(0, 9)}),
}

# What a program may do to a message after it was made, well-behaved or not.
changes = st.one_of(
    st.tuples(st.just("content"), contents | st.none() | st.integers(-(2**63), 2**64 - 1)),
    st.tuples(st.just("tool_calls"), tool_calls | st.just([{"name": "t", "args": "text"}])),
    st.tuples(st.just("invalid_tool_calls"), invalid_calls),
    st.tuples(st.just("usage_metadata"), usage | st.just({"input_tokens": 1, "cost": 0.5})),
    st.tuples(st.just("id"), ids | st.integers(-(2**63), 2**64 - 1)),
    st.tuples(st.just("name"), st.none() | text),
    st.tuples(st.just("additional_kwargs"), kwargs | st.none()),
    st.tuples(st.just("response_metadata"), fields),
    st.tuples(st.just("artifact"), artifacts),
    st.tuples(st.just("status"), st.sampled_from(["success", "error", "unheard of"])),
    st.tuples(st.just("type"), st.sampled_from(["human", "ai", "other"])),
    st.tuples(st.just("tag"), text),
    st.tuples(extra_names, anything),
)


@st.composite
def messages(draw: Any, kinds: Any = (*EVERY_CLASS, *OF_USERS)) -> BaseMessage:
    """A message of any class with any of its fields, made in any way and changed afterwards."""
    kind = draw(st.sampled_from(kinds))
    needed: dict[str, Any] = {} if kind is RemoveMessage else {"content": contents}
    others = dict(common)
    for parent in reversed(kind.__mro__):
        more_needed, more_others = own.get(parent, ({}, {}))
        needed |= more_needed
        others |= more_others
    if kind is RemoveMessage:
        needed["id"] = text
    others = {name: values for name, values in others.items() if name not in needed}
    given_ = draw(st.fixed_dictionaries(needed, optional=others))
    if draw(st.booleans()):
        given_ |= draw(st.dictionaries(extra_names, anything, max_size=2))
    how = draw(st.sampled_from(["made", "made", "made", "unchecked", "copied"]))
    message = kind.model_construct(**given_) if how == "unchecked" else kind(**given_)
    if how == "copied":
        message = message.model_copy(update={"id": draw(ids)}, deep=True)
    for name, value in draw(st.lists(changes, max_size=2)):
        setattr(message, name, value)
    return message


def serdes() -> dict[str, Any]:
    return {
        "default": JsonPlusSerializer(),
        "pickle fallback": JsonPlusSerializer(pickle_fallback=True),
        "strict": JsonPlusSerializer(allowed_msgpack_modules=None),
        "encrypted": EncryptedSerializer(Ciphered()),
    }


def as_serde_gives(serde: Any, value: Any) -> Any:
    """The serde's own word on this value."""
    return serde.loads_typed(serde.dumps_typed(value))


def reduced(value: Any) -> Any:
    """What the serde's own load gives: of what strict msgpack blocks, what it was made of."""
    if isinstance(value, Kept):
        return reduced(value.kept_data)
    if isinstance(value, BaseModel):
        made = value.model_copy()
        for held in (made.__dict__, made.__pydantic_extra__ or {}):
            held.update({name: reduced(each) for name, each in held.items()})
        return made
    if type(value) is dict:
        return {key: reduced(each) for key, each in value.items()}
    return type(value)(map(reduced, value)) if type(value) in (list, tuple, set) else value


def check(saver: Any, values: dict[str, Any]) -> Any:
    """State and pending writes are what the serde makes of these values; returns the state."""
    with warnings.catch_warnings():  # the serde warns of fields that were set to something odd
        warnings.simplefilter("ignore")
        want = {channel: as_serde_gives(saver.serde, value) for channel, value in values.items()}
        made = checkpoint(saver, values)
        config = saver.put(at("t"), made, {"step": 1}, made["channel_versions"])
        saver.put_writes(config, list(values.items()), "task")
    found = saver.get_tuple(config)
    held = found.checkpoint["channel_values"]
    assert_same(reduced(held), want, "state")
    assert_same(reduced({c: v for _, c, v in found.pending_writes}), want, "writes")
    for channel in want:
        behaves_the_same(reduced(held[channel]), want[channel])
    return held


def behaves_the_same(got: Any, want: Any) -> None:
    """A loaded message does what the serde's does: dumps, text, copies, and later changes."""
    if isinstance(want, list | tuple):
        for pair in zip(got, want, strict=True):
            behaves_the_same(*pair)
    elif isinstance(want, dict):
        for key in want:
            behaves_the_same(got[key], want[key])
    elif isinstance(want, BaseMessage):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_same(got.model_dump(), want.model_dump(), "model_dump")
            for option in ("exclude_unset", "exclude_defaults"):
                dumps = [m.model_dump(**{option: True}) for m in (got, want)]
                assert_same(*dumps, f"model_dump({option})")
            assert repr(got) == repr(want)
            content = getattr(want, "content", None)
            # LangChain's own `text` fails on blocks that are neither text nor a dict.
            blocks = content if isinstance(content, list) else []
            if isinstance(content, str | list) and all(isinstance(b, str | dict) for b in blocks):
                assert got.text == want.text
            assert_same(got.model_copy(deep=True), want.model_copy(deep=True), "deep copy")
            assert_same(copy.copy(got), copy.copy(want), "copy")
        got.added_later = want.added_later = 1
        assert_same(got, want, "after a change")
        del got.added_later, want.added_later


QUICK = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)


# How a serde packs messages is no question of the database; each serde runs on SQLite.
ELSEWHERE = (("postgres", "default"), ("postgres", "encrypted"))


@pytest.mark.parametrize(
    ("backend", "serde"),
    [*(("sqlite", name) for name in serdes()), *ELSEWHERE],
    indirect=["backend"],
)
@QUICK
@given(several=st.lists(messages(), max_size=4))
def test_any_messages_are_what_the_serde_gives(
    backend: Backend, serde: str, several: list[BaseMessage]
) -> None:
    """A list of any messages, put, loaded and put again, is at each step the serde's answer."""
    if not backend.opened:
        backend.open(serde=serdes()[serde])
    saver = backend.opened[0]
    loaded = check(saver, {"messages": several})
    check(saver, loaded)


@pytest.mark.parametrize("backend", ["sqlite", "postgres"], indirect=True)
@QUICK
@given(first=messages(), second=messages(EVERY_CLASS))
def test_messages_inside_other_values(saver: Any, first: BaseMessage, second: BaseMessage) -> None:
    """Messages in dicts, tuples, nested lists, objects and alone come back just as exactly."""
    check(
        saver,
        {
            "alone": first,
            "dict": {"a": first, "b": {"c": [second]}},
            "tuple": (first, [second], "x"),
            "nested": [[first, [second]], {"k": (second,)}],
            "mixed": [first, "text", 1, None, (second,), second],
            "model": [Model(number=1, anything=[second])],
            "dataclass": Point(first, {"k": second}),
        },
    )


def test_a_chunk_that_was_changed_is_made_as_the_serde_makes_it(saver: Any) -> None:
    """Its calls come back with their keys in the serde's order, next to what the packer refuses."""
    chunk = AIMessageChunk("x")
    broken = {"args": "{", "id": None, "name": "pay", "type": "invalid_tool_call", "error": None}
    chunk.invalid_tool_calls = [broken]  # type: ignore[list-item]
    check(saver, {"held": {"at": dt.date(2026, 1, 1), "chunks": [chunk]}})


@pytest.mark.parametrize("kind", [*EVERY_CLASS, *OF_USERS])
def test_each_class_once(saver: Any, kind: type[BaseMessage]) -> None:
    """Each class, plain and with everything set, whatever hypothesis happened to try."""
    needed: dict[str, Any] = {"content": "text"}
    if kind is RemoveMessage:
        needed = {"id": "m-1"}
    for parent, fields_ in (
        (ToolMessage, {"tool_call_id": "c"}),
        (FunctionMessage, {"name": "f"}),
        (ChatMessage, {"role": "judge"}),
    ):
        if issubclass(kind, parent):
            needed |= fields_
    full = {
        "additional_kwargs": {"k": (1, 2**64 - 1), "t": Colour.RED, 5: b"x"},
        "response_metadata": {"m": [dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)]},
        "name": "n",
        "id": "m-1",
        "unknown_field": {"k": (1, Point(1))},
    }
    if issubclass(kind, AIMessage):
        full |= {
            "tool_calls": [{"name": "t", "args": {"a": (1,)}, "id": "c", "type": "tool_call"}],
            "invalid_tool_calls": [{"name": "t", "args": "{", "id": None, "error": "broken"}],
            "usage_metadata": {
                "input_tokens": 1,
                "output_tokens": 2,
                "total_tokens": 3,
                "input_token_details": {"cache_read": 1},
            },
        }
    if issubclass(kind, ToolMessage):
        full |= {"artifact": {"object": Point(np.arange(3)), "t": (1,)}, "status": "error"}
    plain, whole = kind(**needed), kind(**{**full, **needed})
    again = check(saver, {"messages": [plain, whole, plain], "alone": whole})
    check(saver, again)


def test_messages_that_break_their_own_rules(saver: Any) -> None:
    """Fields of the wrong type, missing or left out are loaded as the serde would load them."""
    ai = AIMessage("x", additional_kwargs={"tool_calls": [{"id": "c", "function": {}}]})
    ai.tool_calls = [{"name": "t", "args": {}, "id": "1", "type": "tool_call", "extras": {"k": 1}}]
    wrong = AIMessage("x", id="1")
    wrong.content = None  # type: ignore[assignment]
    lists = HumanMessage("x")
    lists.content = ("a", {"type": "text", "text": "b"})  # type: ignore[assignment]
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}}
    openai = AIMessage("", additional_kwargs={"tool_calls": [call]})
    openai.tool_calls = []
    number = HumanMessage("x")
    number.id = 5  # type: ignore[assignment]
    usage_ = AIMessage("x")
    usage_.usage_metadata = {"input_tokens": "many"}  # type: ignore[typeddict-item]
    objects = HumanMessage("x", additional_kwargs={"m": Model(number=1), "d": Point(1)})
    kinds = ToolMessage("x", tool_call_id="1")
    kinds.type = "human"  # type: ignore[assignment]
    subclassed = HumanMessage("x", additional_kwargs={"n": Pair(1, Pair((2,)))})
    bare = AIMessage.model_construct()
    gone = HumanMessage("x", id="1", extra=1)
    del gone.__pydantic_extra__["extra"]
    gone.__pydantic_fields_set__.clear()
    unset = HumanMessage("x")
    unset.__pydantic_fields_set__.add("id")
    several = [
        ai,
        wrong,
        lists,
        openai,
        number,
        usage_,
        objects,
        kinds,
        subclassed,
        bare,
        gone,
        unset,
    ]
    check(saver, {"messages": several})
    for message in several:
        check(saver, {"messages": [message]})


def test_private_attributes_are_the_serdes_business(saver: Any) -> None:
    """A user's subclass goes the slow way: private attributes end as the serde leaves them."""
    message = Tagged("x", tag="LOUD")
    message._seen = 5
    loaded = check(saver, {"messages": [message]})
    assert loaded["messages"][0].tag == "loud"
    assert type(loaded["messages"][0]) is Tagged


def edits() -> dict[str, Callable[[list[Any]], Any]]:
    """Every way to change a message that stays in its list, one of each kind."""
    return {
        "content": lambda m: setattr(m[2], "content", "other"),
        "content block": lambda m: m[3].content[0].update(text="other"),
        "deep in a block": lambda m: m[3].content[1]["extras"]["list"].append(1),
        "block added": lambda m: m[3].content.append({"type": "text", "text": "more"}),
        "kwargs": lambda m: m[2].additional_kwargs.update(new=1),
        "deep in kwargs": lambda m: m[2].additional_kwargs["deep"]["list"].append(2),
        "type of a number": lambda m: m[2].additional_kwargs.update(one=True),
        "int to float": lambda m: m[2].additional_kwargs.update(one=1.0),
        "sign of zero": lambda m: m[2].additional_kwargs.update(zero=-0.0),
        "order of keys": lambda m: m[2].additional_kwargs.update(
            one=m[2].additional_kwargs.pop("one")
        ),
        "key removed": lambda m: m[2].additional_kwargs.pop("one"),
        "response": lambda m: m[2].response_metadata.update(finish="stop"),
        "name": lambda m: setattr(m[2], "name", "new"),
        "name removed": lambda m: setattr(m[2], "name", None),
        "id": lambda m: setattr(m[2], "id", "new"),
        "tool call argument": lambda m: m[2].tool_calls[0]["args"]["deep"].append(3),
        "tool call id": lambda m: m[2].tool_calls[0].update(id="other"),
        "tool calls": lambda m: setattr(m[2], "tool_calls", []),
        "invalid call": lambda m: m[2].invalid_tool_calls[0].update(error="other"),
        "usage": lambda m: m[2].usage_metadata.update(output_tokens=9),
        "usage detail": lambda m: m[2].usage_metadata["input_token_details"].update(cache_read=9),
        "usage removed": lambda m: setattr(m[2], "usage_metadata", None),
        "status": lambda m: setattr(m[4], "status", "error"),
        "artifact object": lambda m: change_point(m[4].artifact["object"]),
        "artifact array": lambda m: m[4].artifact["array"].__setitem__(0, 7),
        "artifact": lambda m: setattr(m[4], "artifact", None),
        "tool call it answers": lambda m: setattr(m[4], "tool_call_id", "other"),
        "extra field": lambda m: setattr(m[2], "own_field", [1, 2]),
        "deep in extra field": lambda m: m[2].own_field.append(2),
        "new extra field": lambda m: setattr(m[2], "another", 1),
        "fields that were set": lambda m: setattr(m[2], "id", m[2].id),
        "role": lambda m: setattr(m[5], "role", "other"),
        "class": lambda m: m.__setitem__(2, AIMessageChunk(**m[2].model_dump(exclude={"type"}))),
        "users field": lambda m: setattr(m[6], "tag", "other"),
        "swapped": lambda m: m.__setitem__(slice(2, 4), m[3:1:-1]),
        "in a tuple": lambda m: setattr(m[7][0], "content", "other"),
        "not a message": lambda m: m[8]["k"].append(1),
    }


def change_point(point: Any) -> None:
    if isinstance(point, dict):  # as the serde gives it back
        point["x"] = 2
    else:
        point.x = 2


def conversation() -> list[Any]:
    return [
        SystemMessage("s", id="0"),
        HumanMessage("h", id="1"),
        AIMessage(
            "a",
            id="2",
            name="old",
            additional_kwargs={"one": 1, "zero": 0.0, "deep": {"list": [1]}},
            response_metadata={"m": 1},
            tool_calls=[{"name": "t", "args": {"deep": [1, 2]}, "id": "c"}],
            invalid_tool_calls=[{"name": "t", "args": "{", "id": "d", "error": "broken"}],
            usage_metadata={
                "input_tokens": 1,
                "output_tokens": 2,
                "total_tokens": 3,
                "input_token_details": {"cache_read": 1},
            },
            own_field=[1],
        ),
        HumanMessage(
            [{"type": "text", "text": "b"}, {"type": "x", "extras": {"list": []}}], id="3"
        ),
        ToolMessage(
            "r", tool_call_id="c", id="4", artifact={"object": Point(1), "array": np.arange(3)}
        ),
        ChatMessage("c", role="judge", id="5"),
        Tagged("u", tag="t", id="6"),
        (HumanMessage("in a tuple", id="7"),),
        {"k": []},
        AIMessage("last", id="9"),
    ]


@pytest.mark.parametrize("held", ["list", "dict"])
def test_changes_in_place_are_stored(backend: Backend, held: str) -> None:
    """A message changed in the middle of a kept list is stored; what was stored before stays."""
    saver = backend.open()
    for name, edit in edits().items():
        kept = conversation()
        value: Any = kept if held == "list" else {"files": 1, "messages": kept, "n": kept[2]}
        config, wanted = at(name), []
        for change in (None, edit):
            if change is not None:
                change(kept)
            made = checkpoint(saver, {"c": value})
            config = saver.put(config, made, {"step": 1}, made["channel_versions"])
            wanted.append((config, as_serde_gives(saver.serde, value)))
        assert list(map(repr, wanted[0])) != list(map(repr, wanted[1])), name
        for stored, want in wanted:
            found = saver.get_tuple(stored).checkpoint["channel_values"]["c"]
            assert_same(found, want, name)


def test_what_was_loaded_can_be_changed_and_put(durable: Backend) -> None:
    """The same edits on what another saver stored, loaded with a cold cache."""
    first = durable.open()
    configs = {}
    for name in edits():
        made = checkpoint(first, {"c": conversation()})
        configs[name] = first.put(at(name), made, {"step": 1}, made["channel_versions"])
    first.close()
    second, wanted = durable.open(), {}
    for name, edit in edits().items():
        found = second.get_tuple(at(name))
        value = found.checkpoint["channel_values"]["c"]
        assert_same(value, as_serde_gives(second.serde, conversation()), name)
        if name == "artifact array":
            value[4].artifact["array"] = value[4].artifact["array"].copy()  # was read-only
        if name == "users field":
            assert type(value[6]) is Tagged
        if name == "in a tuple":
            value[7] = tuple(value[7])
        edit(value)
        made = checkpoint(second, {"c": value})
        config = second.put(found.config, made, {"step": 2}, made["channel_versions"])
        wanted[name] = config, as_serde_gives(second.serde, value)
    for saver in (second, durable.open()):
        for name, (config, want) in wanted.items():
            assert_same(saver.get_tuple(config).checkpoint["channel_values"]["c"], want, name)
            old = saver.get_tuple(configs[name]).checkpoint["channel_values"]["c"]
            assert_same(old, as_serde_gives(saver.serde, conversation()), name)


class State(TypedDict):
    messages: Annotated[list, operator.add]


def test_a_graph_that_changes_its_messages_in_place(backend: Backend) -> None:
    """A node that edits an old message and returns nothing of it still has it stored."""

    def correct(state: Any) -> Any:
        state["messages"][1].content += "!"
        state["messages"][1].additional_kwargs.setdefault("seen", []).append(len(state["messages"]))
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}

    builder = StateGraph(State).add_node("correct", correct).add_edge(START, "correct")
    graph = builder.compile(checkpointer=backend.open())
    config: Any = {"configurable": {"thread_id": "t"}}
    for turn in range(4):
        given_ = [HumanMessage(f"ask {turn}", id=f"h{turn}"), HumanMessage("and", id=f"a{turn}")]
        result = graph.invoke({"messages": given_}, config)
        want = as_serde_gives(graph.checkpointer.serde, result["messages"])
        assert_same(graph.get_state(config).values["messages"], want, "state")
    assert result["messages"][1].content == "and!!!!"
    assert result["messages"][1].additional_kwargs == {"seen": [2, 5, 8, 11]}


class Unloadable(BaseModel):
    """A class whose own validation refuses what it once allowed."""

    number: int

    @field_validator("number")
    @classmethod
    def positive(cls, number: int) -> int:
        if number < 0:
            raise ValueError("negative")
        return number


def test_a_message_with_an_object_that_can_no_longer_be_made(saver: Any) -> None:
    """What the serde falls back to inside a message, the fast path falls back to as well."""
    check(
        saver,
        {
            "messages": [
                ToolMessage(
                    "x", tool_call_id="1", artifact=[Unloadable.model_construct(number=-1)]
                ),
                HumanMessage("x", own=Unloadable.model_construct(number="no")),
                HumanMessage("x", additional_kwargs={"local": Local("y", place=3)}),
            ],
            "dataclasses": [HumanMessage("x", own={"deep": [Point(Frozen((1,)))]})],
        },
    )
