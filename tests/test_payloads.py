"""Payloads of working states: checked, recovered, read from other libraries, and kept exactly."""

from __future__ import annotations

import enum
import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_wyrd import errors
from langgraph_wyrd.checkpoints import snapshots
from langgraph_wyrd.codec.payload import packed, unpacked
from langgraph_wyrd.errors import InvalidInput, PayloadTooNew
from langgraph_wyrd.state import codec
from langgraph_wyrd.state.draft import (
    replay,
)
from langgraph_wyrd.state.events import Event, base
from langgraph_wyrd.state.model import (
    ContextItem,
    Due,
    Intention,
    OpenLoop,
    Source,
    Todo,
    WorkingState,
)
from tests.conftest import Backend
from tests.facts import moment
from tests.test_edit import CONFIG, agent, ask

Call = Callable[..., Any]

GOOD = WorkingState(
    thread_id="t",
    ts="2026-01-02T03:04:05+00:00",
    todos=(Todo("t-1", "ship"), Todo("t-2", "test", "completed")),
    context=(ContextItem("c-1", "goal", {"a": [1, None]}),),
    loops=(OpenLoop("l-1", "note", "who pays?", {"sum": 3}),),
    intentions=(Intention("i-1", "ship it"),),
)


def changed(path: str, value: Any) -> dict[str, Any]:
    """A good payload with something else at `todos.0.status`."""
    payload = json.loads(GOOD.to_json())
    held: Any = payload
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        held = held[step]
    held[last] = value
    return payload


def test_a_good_payload_has_nothing_to_say() -> None:
    """W43: as a dict, as JSON text, as bytes."""
    for payload in (GOOD.to_dict(), GOOD.to_json(), GOOD.to_json().encode(), GOOD):
        found = WorkingState.validate(payload)
        assert (found.valid, bool(found), found.errors, found.warnings) == (True, True, (), ())
        assert WorkingState.recover(payload) == (GOOD, ())


BAD: dict[str, tuple[Any, str]] = {
    "no mapping": ([1], "payload: a list"),
    "nothing": (None, "payload: a NoneType"),
    "no JSON": ("{", "payload: this is no JSON"),
    "JSON of something else": ("3", "payload: a int"),
    "newer": (changed("schema", 99), "schema: .*upgrade"),
    "an odd schema": (changed("schema", "one"), "schema: .*whole number"),
    "a schema below the first": (changed("schema", -(10**18)), "schema: .*from 1 on"),
    "no list": (changed("todos", {"a": 1}), "todos: a dict"),
    "no item": (changed("todos.0", "ship"), r"todos\[0\]: a str"),
    "a number for a status": (changed("todos.0.status", 3), r"todos\[0\]\.status: a int"),
    "no content": (changed("todos.0", {"id": "t-9"}), r"todos\[0\]\.content: missing"),
    "no id": (changed("todos.0.id", ""), r"todos\[0\]\.id: missing"),
    "an id twice": (changed("todos.1.id", "t-1"), r"todos\[1\]\.id: 't-1' is another"),
    "a tuple": (changed("context.0.value", (1, 2)), r"context\[0\]\.value: a tuple"),
    "an object": (changed("context.0.value", {"a": [1j]}), r"value\['a'\]\[0\]: a complex"),
    "not a number": (changed("context.0.value", float("nan")), r"value: nan"),
    "a key that is no text": (changed("context.0.value", {1: 2}), r"value: the key 1"),
    "an odd source": (changed("todos.0.source", {"node": 3}), r"todos\[0\]\.source\.node: a int"),
    "odd extra": (changed("extra", 3), "extra: a int"),
    "due without a node": (changed("due", [{}]), r"due\[0\]\.node: missing"),
    "a field that is no text": ({1: 2}, "1: a field's name"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_an_error_with_its_path(what: str) -> None:
    """W43, W44: `validate` names it, and `recover` names the same and keeps the rest."""
    payload, words = BAD[what]
    found = WorkingState.validate(payload)
    assert not found.valid
    assert len(found.errors) == 1
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(found.errors[0])
    state, dropped = WorkingState.recover(payload)
    assert dropped == found.errors
    printed = str(WorkingState.recover(payload))
    assert printed.endswith(f"dropped: {dropped[0]}")
    assert len(printed) < 1000
    assert WorkingState.validate(state.to_dict()).valid
    if isinstance(payload, dict) and 1 not in payload and "context" not in found.errors[0]:
        assert state.get_context("goal") == {"a": [1, None]}
        assert [loop.description for loop in state.open_loops] == ["who pays?"]


WARNED: dict[str, tuple[Any, str]] = {
    "a status": (changed("todos.0.status", "blocked"), r"todos\[0\]\.status: .*counts as open"),
    "a kind": (changed("loops.0.kind", "whim"), r"loops\[0\]\.kind: 'whim'"),
    "a field": (changed("todos.0.colour", "red"), r"todos\[0\]\.colour: unknown"),
    "a time": (changed("todos.0.opened_at", "friday"), r"todos\[0\]\.opened_at: .*no ISO time"),
    "both names": (changed("open_loops", []), "open_loops: there is `loops`"),
    "no words": (changed("todos.0.content", ""), r"todos\[0\]\.content: empty"),
}


@pytest.mark.parametrize("what", WARNED)
def test_what_is_not_known_is_a_warning_and_kept(what: str) -> None:
    """It is valid, and survives the way through a state."""
    payload, words = WARNED[what]
    found = WorkingState.validate(payload)
    assert found.valid
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(found.warnings[0])
    assert WorkingState.from_dict(payload).to_dict() == payload
    assert WorkingState.recover(payload) == (WorkingState.from_dict(payload), ())


async def test_an_unknown_status_is_open(durable: Backend, call: Call) -> None:
    """A status of another tracker is listed as open by the state and by `saver.todos()`, and stored
    as it was."""
    saver = durable.open()
    await call(agent(saver, [("ship", "pending"), ("test", "completed")]), "invoke",
               ask("go"), CONFIG)  # fmt: skip

    def blocked(state: WorkingState) -> WorkingState:
        todos = tuple(replace(t, status="blocked") if t.open else t for t in state.todos)  # type: ignore[arg-type]
        return replace(state, todos=todos)

    await call(saver.thread("t"), "fork", "copy", transform=blocked)
    found = await call(saver, "todos", thread_id="copy")
    assert [(todo.content, todo.status, todo.open) for todo in found] == [("ship", "blocked", True)]
    state = await call(saver.thread("copy"), "working_state")
    assert [todo.status for todo in state.open_todos] == ["blocked"]


THEIRS = {
    "todos": [
        {"id": "1", "content": "call", "status": "pending", "created_at": "2026-01-01"},
        {"id": "2", "content": "pay", "status": "completed", "completed_at": "2026-01-02"},
    ],
    "context": [{"id": "3", "key": "budget", "value": 7, "metadata": "from mail"}],
    "open_loops": [
        {"id": "4", "description": "Call dad", "context": "He offered", "created_at": "2026-01-01"},
        {"id": "5", "description": "Buy", "resolved_at": "2026-01-03"},
    ],
    "intentions": [
        {"id": "6", "intention": "move house", "timestamp": "2026-01-01"},
        {"id": "7", "intention": "rest", "timestamp": "2026-01-02"},
    ],
}  # fmt: skip


def test_names_of_other_libraries_are_understood() -> None:
    """`open_loops` as well as `loops`, and WyrdState's fields."""
    for state in (
        WorkingState.from_dict(THEIRS),
        WorkingState.from_json(json.dumps(THEIRS)),
        WorkingState.recover(THEIRS).state,
    ):
        assert [(t.content, t.opened_at, t.closed_at) for t in state.todos] == [
            ("call", "2026-01-01", None),
            ("pay", None, "2026-01-02"),
        ]
        assert state.get_context("budget") == 7
        assert state.context[0].metadata == {"text": "from mail"}
        assert [(x.kind, x.context) for x in state.open_loops] == [("note", {"text": "He offered"})]
        assert [loop.description for loop in state.closed_loops] == ["Buy"]
        assert state.intention is not None
        assert state.intention.text == "rest"
        assert WorkingState.from_dict(state.to_dict()) == state
    assert WorkingState.validate(THEIRS) == WorkingState.validate(GOOD)
    loops = json.loads(GOOD.to_json())
    loops["open_loops"] = loops.pop("loops")
    assert WorkingState.from_dict(loops) == GOOD
    loops["open_loops"].append({"id": "9"})
    said = ("open_loops[1].description: missing",)
    assert WorkingState.recover(loops) == (GOOD, said)


@pytest.mark.parametrize("text", ["", "{", "[1", "\x00", b"\xff", "[" * 100_000, "3", "null"])
def test_text_that_is_no_payload(text: Any) -> None:
    """`from_json` refuses it, `recover` gives an empty state."""
    with pytest.raises(errors.InvalidInput, match=r"JSON|mapping"):
        WorkingState.from_json(text)
    state, dropped = WorkingState.recover(text)
    assert state == WorkingState()
    assert dropped


def test_from_json_of_no_text() -> None:
    """A dict belongs to `from_dict`."""
    with pytest.raises(errors.InvalidInput, match="text or bytes, not dict"):
        WorkingState.from_json({})  # type: ignore[arg-type]


class Spiteful(Mapping[str, Any]):
    """It raises when it is read."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")

    def __iter__(self) -> Any:
        raise RuntimeError("no")

    def __len__(self) -> int:
        return 1


def test_recover_never_raises_even_of_what_does() -> None:
    """An object that raises, one in itself, one as deep as Python goes."""
    around: list[Any] = []
    around.append(around)
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    for payload in (Spiteful(), {"todos": [Spiteful()]}, changed("context.0.value", around),
                    changed("context.0.value", deep), changed("extra", {"a": deep})):  # fmt: skip
        state, dropped = WorkingState.recover(payload)
        assert dropped
        assert WorkingState.validate(state.to_dict()).valid
        assert not WorkingState.validate(payload).valid


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(sorted({
    "id", "content", "status", "key", "value", "description", "kind", "text", "extra", "source",
    "opened_at", "created_at", "context", "metadata", "intention", "node", "x",
}))  # fmt: skip
ITEM = st.dictionaries(NAMES, JSON | st.just("t-1"), max_size=6) | JSON
PAYLOAD = st.dictionaries(
    st.sampled_from([*codec.LISTS, "open_loops", "schema", "thread_id", "status", "extra", "x"]),
    st.lists(ITEM, max_size=3) | JSON,
    max_size=6,
)


@settings(deadline=None)
@given(PAYLOAD | JSON)
def test_whatever_comes_what_is_recovered_is_valid(payload: Any) -> None:
    """W44: it never raises, and reports all that `validate` calls an error."""
    found = WorkingState.validate(payload)
    state, dropped = WorkingState.recover(payload)
    assert dropped == found.errors
    assert WorkingState.validate(state.to_dict()).valid
    assert WorkingState.from_json(state.to_json()) == state
    if found.valid:
        assert WorkingState.from_dict(payload) == state


@settings(deadline=None)
@given(st.lists(st.dictionaries(NAMES, JSON, max_size=4).map(lambda x: Todo("t", "c", extra=x))))
def test_round_trip(todos: list[Todo]) -> None:
    """W64: whatever an item has next to its fields, other libraries' names too."""
    state = WorkingState(todos=tuple(todos))
    # As text: NaN is itself.
    again = WorkingState.from_dict(state.to_dict())
    assert json.dumps(again.to_dict(), sort_keys=True) == json.dumps(
        state.to_dict(), sort_keys=True
    )


def test_migrate(monkeypatch: pytest.MonkeyPatch) -> None:
    """W60: step by step, to the schema that is asked for; back is refused."""
    monkeypatch.setattr(codec, "SCHEMA", 3)
    monkeypatch.setattr(codec, "_STEPS", {1: lambda p: {**p, "a": 1}, 2: lambda p: {**p, "b": 2}})
    assert WorkingState.migrate({"x": 0}) == {"schema": 3, "x": 0, "a": 1, "b": 2}
    assert WorkingState.migrate({"schema": 1}, 2) == {"schema": 2, "a": 1}
    assert WorkingState.migrate({"schema": 3}, 3) == {"schema": 3}
    with pytest.raises(errors.PayloadTooNew):
        WorkingState.migrate({"schema": 3}, 2)
    for target in (0, 4, "2"):
        with pytest.raises(errors.InvalidInput, match="target_version"):
            WorkingState.migrate({}, target)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidInput, match="mapping"):
        WorkingState.migrate([])  # type: ignore[arg-type]


# ---- what an edit takes


async def test_text_goes_with_a_loop_and_an_entry(durable: Backend, call: Call) -> None:
    """W17, W13: as WyrdState takes it; kept under `text`."""
    saver = durable.open()
    await call(agent(saver), "invoke", ask("go"), CONFIG)
    thread = saver.thread("t")
    loop = await call(thread, "add_open_loop", "Call dad", "He offered to help")
    assert loop.context == {"text": "He offered to help"}
    item = await call(thread, "set_context", "budget", 7, "from mail")
    assert item.metadata == {"text": "from mail"}
    state = await call(durable.open().thread("t"), "working_state")
    assert state.open_loops[-1].context == {"text": "He offered to help"}
    assert [i.metadata for i in state.context if i.key == "budget"] == [{"text": "from mail"}]
    assert (await call(thread, "add_open_loop", "no more to say", "  ")).context == {}


async def test_metadata_of_a_decision_and_ages(durable: Backend, call: Call) -> None:
    """A decision takes whatever else belongs to it; items say how old they are."""
    saver = durable.open()
    thread = saver.thread("t")
    made = await call(thread, "decide", "use Postgres", metadata={"cost": [1, 2]}, key="db")
    again = await call(thread, "decide", "use Postgres", metadata={"cost": 3}, key="db")
    assert (again.id, dict(made.context)) == (made.id, {"metadata": {"cost": [1, 2]}})
    await call(thread, "add_todo", "look")
    await call(thread, "set_context", "k", 1)
    await call(thread, "set_intention", "ship it")
    state = await call(durable.open().thread("t"), "working_state")
    assert [loop.context for loop in state.open_loops] == [{"metadata": {"cost": [1, 2]}}]
    for item in (*state.todos, *state.context, *state.open_loops, *state.intentions):
        assert timedelta() <= item.age < timedelta(minutes=5)
    with pytest.raises(errors.InvalidInput, match="metadata"):
        await call(thread, "decide", "no", metadata=[1])


class Colour(enum.IntEnum):
    RED = 1


class Word(enum.Enum):
    A = "a"


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ((1, 2), r"context 'k': a tuple .*pass a list"),
        ({"a": [(1,)]}, r"context 'k'\['a'\]\[0\]: a tuple"),
        (Word.A, "context 'k': a Word"),
        (Counter({1: 2}), "context 'k': the key 1 is no text"),
        ({1, 2}, "context 'k': a set"),
        ("a\0b", "NUL"),
        ("\ud800", "half a character"),
        ({"a\0": 1}, "NUL"),
        (nested(40), "deeper"),
    ],
    ids=repr,
)
def test_what_would_come_back_as_something_else_is_refused(
    sqlite: Backend, value: Any, path: str
) -> None:
    """With its path; nothing is changed on the way without a word."""
    saver = sqlite.open()
    agent(saver).invoke(ask("go"), CONFIG)
    thread = saver.thread("t")
    with pytest.raises(errors.InvalidInput, match=path):
        thread.set_context("k", value)
    with pytest.raises(errors.InvalidInput):
        thread.add_open_loop("x", {"k": value})
    with pytest.raises(errors.InvalidInput):
        thread.set_context("k", 1, {"k": value})


class Said(str):
    """Text of a class of its own."""


class Several(list[Any]):
    """A list of a class of its own."""


SUBCLASSES = [
    (OrderedDict(a=[1]), {"a": [1]}),
    (Counter("aab"), {"a": 2, "b": 1}),
    (defaultdict(list, {"a": [OrderedDict(b=1)]}), {"a": [{"b": 1}]}),
    (Several(["a"]), ["a"]),
    ({Said("k"): Said("v")}, {"k": "v"}),
    ({"n": Colour.RED}, {"n": 1}),
    ({"n": numpy.float64(0.5)}, {"n": 0.5}),
]


@pytest.mark.parametrize(("value", "wanted"), SUBCLASSES, ids=repr)
async def test_subclasses_are_stored_as_json_has_them(
    durable: Backend, call: Call, value: Any, wanted: Any
) -> None:
    """Of dict, list, str, int and float: in context, in notes, and in payloads."""
    saver = durable.open()
    await call(agent(saver), "invoke", ask("go"), CONFIG)
    thread = saver.thread("t")
    await call(thread, "set_context", "k", value, {"about": value})
    await call(thread, "add_open_loop", "x", {"about": value})
    for state in (thread.working_state(), durable.open().thread("t").working_state()):
        (item,) = [each for each in state.context if each.key == "k"]
        held = [item.value, dict(item.metadata)["about"], state.open_loops[-1].context["about"]]
        assert [repr(each) for each in held] == [repr(wanted)] * 3
    payload = {"context": [{"id": "c-1", "key": "k", "value": value, "later": value}]}
    assert WorkingState.validate(payload)
    (item,) = WorkingState.recover(payload).state.context
    assert repr((item.value, item.extra["later"])) == repr((wanted, wanted))


def test_a_number_of_any_length_costs_nothing_beside_it() -> None:
    """Python writes no number of 5,000 digits as text; a payload that holds one is read whole."""
    long, short = ({"id": f"c-{n}", "key": str(n), "value": 10**n} for n in (5000, 1))
    state = WorkingState.recover({"context": [long, short]}).state
    assert [each.value for each in state.context] == [10**5000, 10]


@pytest.mark.parametrize("notes", [["a"], 3, ("a", "b"), b"a"], ids=repr)
def test_notes_of_another_type_are_refused(sqlite: Backend, notes: Any) -> None:
    """A list for `context=` was accepted and lost."""
    saver = sqlite.open()
    agent(saver).invoke(ask("go"), CONFIG)
    with pytest.raises(errors.InvalidInput, match="pass text or a dict"):
        saver.thread("t").add_open_loop("x", notes)
    with pytest.raises(errors.InvalidInput, match="pass text or a dict"):
        saver.thread("t").set_context("k", 1, notes)


@pytest.mark.parametrize(
    "value", [1 << 70, -(1 << 70), 0.1, -0.0, nested(30), {"a": None, "b": [True, 1, 1.0]}]
)
async def test_what_json_holds_comes_back_exactly(durable: Backend, call: Call, value: Any) -> None:
    """To the type: ints over 64 bits, 1 and 1.0 and True."""
    saver = durable.open()
    await call(agent(saver), "invoke", ask("go"), CONFIG)
    await call(saver.thread("t"), "set_context", "k", value)
    found = await call(durable.open().thread("t"), "get_context", "k")
    assert repr(found) == repr(value)


# ---- back from JSON


texts = st.text(max_size=8)
maybe = st.none() | texts
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(("id", "status", "source", "extra", "schema", "due", "later", "")) | texts
maps = st.dictionaries(names, json_values, max_size=3)


def models(cls: type[Any], **given: Any) -> st.SearchStrategy[Any]:
    kinds = {
        "str": texts,
        "str | None": maybe,
        "bool": st.booleans(),
        "int | None": st.none() | st.integers(),
        "Any": json_values,
        "Mapping[str, Any]": maps,
    }
    made = {
        name: given.get(name, kinds.get(str(each.type), texts))
        for name, each in cls.__dataclass_fields__.items()
    }
    return st.builds(cls, **made)


any_source = models(Source)
items = {
    "todos": models(Todo, source=any_source),
    "context": models(ContextItem, source=any_source),
    "loops": models(OpenLoop, source=any_source),
    "intentions": models(Intention, source=any_source),
    "due": models(Due),
}
any_state = models(
    WorkingState, **{name: st.lists(of, max_size=2).map(tuple) for name, of in items.items()}
)


@settings(max_examples=60, deadline=None)
@given(st.one_of(any_source, any_state, *items.values()), st.booleans())
def test_every_model_comes_back_from_json(model: Any, compact: bool) -> None:
    """Whatever a model holds, it is the same after JSON, in full or without its defaults."""
    payload = json.loads(json.dumps(codec.to_dict(model, compact=compact)))
    assert codec.from_dict(type(model), payload) == model


@settings(max_examples=60, deadline=None)
@given(any_state)
def test_every_state_comes_back_from_a_snapshot(state: WorkingState) -> None:
    """Whatever it holds, surrogates of text aside, which are never stored."""
    try:
        data = snapshots.state_of(state)
    except TypeError:
        return
    assert snapshots.state_in(data) == state


def test_a_snapshot_of_another_release() -> None:
    """A field that this release does not have is kept in `extra`, one that it lacks is as by
    default."""
    state = WorkingState(title="x", loops=(OpenLoop("l", "note", "d", outcome="late"),))
    names, row = unpacked(snapshots.state_of(state))
    names["OpenLoop"][names["OpenLoop"].index("outcome")] = "mood"
    (loop,) = snapshots.state_in(packed([names, row])).loops
    assert loop == replace(state.loops[0], outcome=None, extra={"mood": "late"})


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["todos", "due", "title", "extra", "x"]) | texts, json_values)
)
def test_any_data_can_be_read_and_nothing_of_it_is_lost(payload: dict[str, Any]) -> None:
    """Garbage makes a valid state, and is still there when that is written and read again."""
    payload.pop("schema", None)
    state = WorkingState.from_dict(payload)
    written = state.to_dict()
    assert WorkingState.from_dict(written) == state
    kept = json.dumps(written) + json.dumps(dict(state.extra))
    for name, value in payload.items():
        if name not in WorkingState.__dataclass_fields__:
            assert json.dumps(name) in kept
            assert state.extra[name] == value or "extra" in payload
    state.brief()


def test_unknown_fields_survive_where_they_were() -> None:
    """Fields of a newer release are kept in `extra`, and written at the level they came from."""
    payload = {
        "schema": 1,
        "mood": "fine",
        "due": [{"node": "a", "why": "edge"}],
        "loops": [
            {
                "id": "l-1",
                "kind": "omen",
                "description": "d",
                "weight": 3,
                "source": {"rule": "r", "line": 7},
            }
        ],
    }
    state = WorkingState.from_dict(payload)
    assert state.extra == {"mood": "fine"}
    assert (state.loops[0].kind, state.loops[0].extra) == ("omen", {"weight": 3})
    again = state.to_dict()
    assert again["mood"] == "fine"
    assert again["due"][0]["why"] == "edge"
    assert again["loops"][0]["weight"] == 3
    assert again["loops"][0]["source"]["line"] == 7
    assert again["loops"][0]["kind"] == "omen"


def test_missing_and_odd_fields_are_defaulted() -> None:
    """What is not there is as by default; what is of the wrong type is kept aside."""
    todo = codec.from_dict(Todo, {"content": 5, "priority": None, "listed": "no"})
    assert (todo.id, todo.content, todo.priority, todo.listed) == ("", "", "medium", True)
    assert todo.extra == {"content": 5, "listed": "no"}
    assert codec.to_dict(todo)["extra"] == {"content": 5, "listed": "no"}
    state = WorkingState.from_dict({"todos": [None, {"id": "t-1"}, 3], "loops": "none"})
    assert [todo.id for todo in state.todos] == ["t-1"]
    assert state.extra == {"todos": [None, 3], "loops": "none"}


def test_newer_payloads_are_refused() -> None:
    """A newer schema, or data that is no payload, is refused in plain words."""
    with pytest.raises(PayloadTooNew, match="schema 99, this release reads up to 1"):
        WorkingState.from_dict({"schema": 99})
    with pytest.raises(InvalidInput, match="whole number"):
        WorkingState.from_dict({"schema": "1"})
    with pytest.raises(InvalidInput, match="read from a mapping, not list"):
        WorkingState.from_dict([])  # type: ignore[arg-type]


def test_older_payloads_are_brought_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step is run in turn, for a whole state and for a single item."""
    monkeypatch.setattr(codec, "SCHEMA", 3)

    def renamed(payload: dict[str, Any]) -> dict[str, Any]:
        todos = [{"id": t["key"], "content": t["text"]} for t in payload.get("todos", ())]
        return {**payload, "todos": todos}

    def louder(payload: dict[str, Any]) -> dict[str, Any]:
        todos = [{**t, "content": t["content"].upper()} for t in payload["todos"]]
        return {**payload, "todos": todos}

    monkeypatch.setattr(codec, "_STEPS", {1: renamed, 2: louder})

    old = {"key": "t-1", "text": "a"}
    for payload in ({"schema": 1, "todos": [old]}, {"todos": [old]}):
        assert WorkingState.from_dict(payload).todos == (Todo("t-1", "A"),)
    assert codec.from_dict(Todo, {"schema": 1, **old}) == Todo("t-1", "A")
    newer = {"schema": 2, "todos": [{"id": "t-1", "content": "a"}]}
    assert WorkingState.from_dict(newer).todos == (Todo("t-1", "A"),)
    assert WorkingState.from_dict({"schema": 3, "todos": [{"id": "t-1"}]}).todos[0].content == ""
    ((event),) = [base(WorkingState())]
    stored = Event("thread", "base", "", {**event.body, "schema": 1, "todos": [old]})
    assert replay(WorkingState(), [stored], moment(0)).todos == (Todo("t-1", "A"),)


def test_json_text_can_always_be_written() -> None:
    """Words stay readable, and half a surrogate pair does not stop them from being saved."""
    assert "für später" in WorkingState(title="für später").to_json()
    odd = WorkingState(title="für \ud800")
    assert WorkingState.from_dict(json.loads(odd.to_json().encode())) == odd
