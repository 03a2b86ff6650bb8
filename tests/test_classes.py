"""A class that is gone, blocked, renamed or older is no loss: its data is kept, shown, and back."""

from __future__ import annotations

import copy
import logging
import operator
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pydantic
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from langgraph_wyrd import Kept, WyrdSaver, errors
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.port import copy as copy_threads
from tests.conftest import Backend
from tests.damage import at
from tests.odd_values import Ciphered
from tests.user_classes import EXAMPLES, NAME, SOURCE, App, app


class State(TypedDict, total=False):
    held: Any
    log: Annotated[list[Any], operator.add]
    by_name: dict[str, Any]
    messages: Annotated[list[AnyMessage], add_messages]


def grown(state: State) -> State:
    return {"log": ["one more"]}


def graph(saver: Any, node: Callable[[State], State] = grown) -> Any:
    return (
        StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=saver)
    )


async def run(call: str, compiled: Any, given: Any) -> Any:
    return (
        compiled.invoke(given, at("t"))
        if call == "sync"
        else await compiled.ainvoke(given, at("t"))
    )


def values(saver: Any) -> dict[str, Any]:
    found: dict[str, Any] = saver.get_tuple(at("t")).checkpoint["channel_values"]
    return found


def all_of(made: App) -> dict[str, Any]:
    return {kind: made.made(text) for kind, (text, _) in EXAMPLES.items()}


# ---- one value


SHAPES: dict[str, Callable[[Any], Any]] = {
    "alone": lambda value: value,
    "in a list": lambda value: [1, value],
    "in a dict": lambda value: {"k": value},
    "nested": lambda value: {"k": [(value, {"d": value})]},
}


@pytest.mark.parametrize("serde", ["default", "encrypted"])
@pytest.mark.parametrize("kind", list(EXAMPLES))
def test_a_value_outlives_its_class(kind: str, serde: str) -> None:
    """To the last bit what was stored, through copies and LangGraph's own serializer, and whole
    again with its class; LangGraph's load loses the class."""
    text, data = EXAMPLES[kind]
    theirs = JsonPlusSerializer()
    codec = Codec(theirs if serde == "default" else EncryptedSerializer(Ciphered()))
    for shape in SHAPES.values():
        with app() as made:
            value = shape(made.made(text))
            packed = codec.dump(value, "c")
            live = codec.load(*packed)
            typed = theirs.dumps_typed(value)
            with made.away():
                kept = codec.load(*packed)
                assert codec.dump(kept, "c") == packed
                for again in (kept, copy.deepcopy(kept), pickle.loads(pickle.dumps(kept))):
                    assert theirs.dumps_typed(again) == typed
                assert theirs.dumps_typed(theirs.loads_typed(typed)) != typed
            assert codec.load(*packed) == live
    with app() as made:
        packed = codec.dump(made.made(text), "c")
        with made.away():
            kept = codec.load(*packed)
    assert isinstance(kept, Kept)
    assert kept.kept_type == f"{NAME}:{text.partition('(')[0].split('.')[-1 if '(' in text else 0]}"
    assert f"no module {NAME}" in kept.kept_why
    if isinstance(data, dict):
        assert data.items() <= kept.kept_data.items()
        assert all(getattr(kept, name) == value for name, value in data.items())
    elif data is not None:
        assert kept.kept_data == data
        assert kept == data


def test_what_stands_for_an_object_reads_like_it() -> None:
    """Fields as attributes and as entries; it can't be changed, and says why."""
    codec = Codec(JsonPlusSerializer())
    with app() as made:
        packed = codec.dump([made.made("Step('dig', notes={'a': 1})"), made.made("Color.RED")], "c")
        with made.away():
            step, color = codec.load(*packed)
    assert (step.what, step["notes"], dict(step)["done"], len(step)) == ("dig", {"a": 1}, False, 3)
    assert step == {"what": "dig", "done": False, "notes": {"a": 1}}
    assert repr(step) == f"Kept({NAME}:Step, what='dig', done=False, notes={{'a': 1}})"
    with pytest.raises(AttributeError, match="can't be changed"):
        step.done = True
    with pytest.raises(AttributeError, match="has no 'undone'"):
        step.undone  # noqa: B018
    assert (color, str(color), f"{color}", len({color, "red"})) == ("red", "red", "red", 1)


class Free(TypedDict):
    plan: Any
    color: Any


class Plan(pydantic.BaseModel):
    goal: str


class Strict(pydantic.BaseModel):
    plan: Plan
    color: str


def test_a_state_that_is_a_pydantic_model_takes_what_is_kept(saver: WyrdSaver) -> None:
    """A class that moved into the state's annotations is made of the kept data, as LangGraph's
    own fallback would be."""
    with app() as made:
        held = {"plan": made.made("Plan(goal='ship')"), "color": made.made("Color.RED")}
        first = StateGraph(Free).add_node("n", lambda s: {}).add_edge(START, "n")
        first.compile(checkpointer=saver).invoke(held, at("p"))

    seen: list[Any] = []

    def look(state: Strict) -> dict[str, Any]:
        seen.append((state.plan, state.color))
        return {"plan": state.plan}

    again = StateGraph(Strict).add_node("n", look).add_edge(START, "n")
    again.compile(checkpointer=saver).invoke({}, at("p"))
    assert seen == [(Plan(goal="ship"), "red")]


# ---- threads


@pytest.mark.parametrize("call", ["sync", "async"])
async def test_a_thread_goes_on_without_the_classes(durable: Backend, call: str) -> None:
    """It loads, runs, shows what it holds; what was handed back is the same when they return."""
    with app() as made:
        every = all_of(made)
        given = {"held": made.made("Step('dig')"), "log": list(every.values()), "by_name": every}
        saver = durable.open()
        await run(call, graph(saver), {**given, "messages": [made.made(EXAMPLES["message"][0])]})
        saver.close()

        def handing_back(state: State) -> State:
            assert isinstance(state["held"], Kept)
            return {
                "log": [state["log"][3]],
                "by_name": {**state["by_name"], "again": state["held"]},
                "messages": [AIMessage(f"to {state['messages'][0].content}", id="m2")],
            }

        with made.away():
            saver = durable.open()
            found = await run(call, graph(saver, handing_back), {"messages": []})
            assert found["held"].what == "dig"
            assert [m.content for m in found["messages"]] == ["hello", "to hello"]
            thread = saver.thread("t")
            assert "dig" in str(thread.working_state().context)
            first = thread.history()[-1].checkpoint_id
            shown = str(thread.diff(first).channels)
            assert f"Kept({NAME}:Step, what='dig'" in shown
            steps = [step async for step in saver.alist(at("t"))]
            assert len(steps) == len(list(saver.list(at("t")))) == len(thread.history())
            assert thread.heals() == []  # nothing is damaged
            assert saver.verify("t").ok
            saver.close()
        saver = durable.open()
        now = values(saver)
        assert now["held"] == given["held"]
        assert now["log"] == [*every.values(), "one more", every["frozen dataclass"]]
        assert now["by_name"] == {**every, "again": given["held"]}
        assert type(now["messages"][0]) is made.module.Loud
        assert now["messages"][0].volume == 11


def test_an_edited_copy_of_a_message_of_a_class_that_is_gone(saver: WyrdSaver) -> None:
    """It is a message of the class that comes next, with all its fields."""
    with app() as made:
        graph(saver).invoke({"messages": [made.made("Loud('hello', id='m', volume=9)")]}, at("t"))

        def edit(state: State) -> State:
            (message,) = state["messages"]
            return {"messages": [message.model_copy(update={"content": "edited"})]}

        with made.away():
            graph(saver, edit).invoke({}, at("t"))
        (message,) = values(saver)["messages"]
        assert type(message) is HumanMessage
        assert (message.content, message.id, message.volume) == ("edited", "m", 9)


def test_what_is_kept_is_not_changed_in_place(saver: WyrdSaver) -> None:
    """It would be stored as it was: so it is refused, and said what would do."""
    with app() as made:
        given = {"held": made.made("Step('dig', notes={'a': [1, {2}]})"), "log": []}
        loud = made.made("Loud('hello', id='m', additional_kwargs={'deep': {'er': [1]}})")
        graph(saver).invoke({**given, "messages": [loud]}, at("t"))

        def change(state: State) -> State:
            state["held"]["notes"]["a"].append(2)
            return {"held": state["held"]}

        def edit(state: State) -> State:
            (message,) = state["messages"]
            message.additional_kwargs["deep"]["er"].append(2)
            return {"messages": [message]}

        with made.away():
            for wrong in (change, edit):
                with pytest.raises(errors.Unserialisable, match="changed in place"):
                    graph(saver, wrong).invoke({}, at("t"))
            with pytest.raises(AttributeError, match="can't be changed"):
                values(saver)["messages"][0].content = "other"
            graph(saver, lambda state: {"held": dict(state["held"])}).invoke({}, at("t"))
        assert values(saver)["messages"] == [loud]
        assert values(saver)["held"] == {"what": "dig", "done": False, "notes": {"a": [1, {2}]}}


def test_an_interrupted_thread_is_resumed(saver: WyrdSaver) -> None:
    """What was asked, and what tasks wrote, may be of a class that is gone."""
    asked = 0

    def ask(state: State) -> State:
        nonlocal asked
        asked += 1
        answer = interrupt(made.made("Step('which?')") if asked == 1 else "which?")
        return {"held": answer}

    with app() as made:
        graph(saver, ask).invoke({"log": []}, at("t"))
        with made.away():
            (question,) = graph(saver, ask).get_state(at("t")).tasks[0].interrupts
            assert question.value.what == "which?"
            found = graph(saver, ask).invoke(Command(resume="this one"), at("t"))
        assert found["held"] == "this one"


def test_a_class_inside_one_that_is_there(saver: WyrdSaver) -> None:
    """Only the field is kept, the object around it is whole; both come back as they were."""
    with app() as made:
        value = made.made("Step('dig', notes={'spot': Spot(1), 'color': Color.RED})")
        graph(saver).invoke({"held": value, "log": [{Ellipsis.__class__.__name__: value}]}, at("t"))
        with made.away("Spot", "Color"):
            held = values(saver)["held"]
            assert type(held) is made.module.Step
            assert isinstance(held.notes["spot"], Kept)
            graph(saver, lambda s: {"held": s["held"], "log": [s["held"]]}).invoke({}, at("t"))
        assert values(saver)["held"] == values(saver)["log"][-1] == value


def test_what_msgpack_makes_of_tuples(saver: WyrdSaver) -> None:
    """Sets of tuples, and members whose value is one, come back: LangGraph's load gives lists."""
    with app() as made:
        held = [{(1, (2, 3))}, frozenset({(4,)}), made.made("Corner.TOP")]
        graph(saver).invoke({"held": held, "log": held}, at("t"))
        assert values(saver)["held"] == held
    assert JsonPlusSerializer().loads_typed(JsonPlusSerializer().dumps_typed({(1, 2)})) == [[1, 2]]


def test_sets_of_what_is_gone(saver: WyrdSaver) -> None:
    """What could be in a set still can."""
    with app() as made:
        held = {made.made("Spot(1)"), made.made("Spot(2)"), made.made("Color.RED")}
        graph(saver).invoke({"held": held, "log": [held]}, at("t"))
        with made.away():
            kept = values(saver)["held"]
            assert isinstance(kept, set)
            assert len(kept) == 3
            graph(saver, lambda s: {"held": s["held"] | {4}}).invoke({}, at("t"))
        assert values(saver)["held"] == held | {4}


def test_a_class_that_refuses_what_is_stored(
    saver: WyrdSaver, caplog: pytest.LogCaptureFixture
) -> None:
    """A field that a class lost is no damage either: kept, and said which field."""
    with app() as made:
        graph(saver).invoke({"held": made.made("Step('dig')"), "log": []}, at("t"))
    with app(SOURCE.replace("    what: str\n", "    title: str\n")):
        held = values(saver)["held"]
        assert isinstance(held, Kept)
        assert held.what == "dig"
    assert "does not take what is stored (TypeError" in caplog.text
    assert "'what'" in caplog.text


@pytest.mark.parametrize(
    ("gone", "field", "made", "now", "plain"),
    [
        ("class Color(", "held: Color", "Painted(held=Color.RED)",
         "held: typing.Literal['red', 'blue']", "red"),
        ("class Spot", "held: Spot", "Painted(held=Spot(3))", "held: dict[str, int]", {"x": 3}),
    ],
)  # fmt: skip
def test_a_field_whose_class_became_plain_data(
    saver: WyrdSaver, gone: str, field: str, made: str, now: str, plain: Any
) -> None:
    """A model that takes the data itself now is whole, as it is under LangGraph's own load."""
    model = "\nclass Painted(pydantic.BaseModel):\n    "
    with app(SOURCE + model + f"{field}\n") as app_:
        graph(saver).invoke({"held": app_.made(made), "log": []}, at("t"))
    newer = SOURCE.replace(gone, gone.replace("class ", "class No"))
    with app(newer + model + f"{now}\n") as app_:
        held = values(saver)["held"]
        assert type(held) is app_.module.Painted
        assert (type(held.held), held.held) == (type(plain), plain)


@pytest.mark.parametrize(
    "newer",
    [
        "class Step(pydantic.BaseModel):\n    what: str\n    done: bool\n    notes: dict",
        "class Step(typing.TypedDict):\n    what: str\n    done: bool\n    notes: dict",
        "Step = collections.namedtuple('Step', 'what done notes')",
    ],
)
def test_a_class_that_became_one_of_another_kind(saver: WyrdSaver, newer: str) -> None:
    """A dataclass becomes a model, a dict or a tuple sooner or later: it takes the same fields."""
    with app() as made:
        graph(saver).invoke({"held": made.made("Step('dig')"), "log": []}, at("t"))
    with app(SOURCE + newer) as made:
        assert values(saver)["held"] == made.made("Step(what='dig', done=False, notes={})")


def test_it_is_said_where_and_what(durable: Backend, caplog: pytest.LogCaptureFixture) -> None:
    """One warning for each type and channel of a thread, with what would help."""
    caplog.set_level(logging.WARNING, logger="langgraph_wyrd")
    with app() as made:
        saver = durable.open()
        graph(saver).invoke({"held": made.made("Step('dig')"), "log": [1]}, at("t"))
        id = saver.get_tuple(at("t")).config["configurable"]["checkpoint_id"]
        with made.away():
            for _ in range(3):
                values(saver)
    (said,) = [r.getMessage() for r in caplog.records if r.name == "langgraph_wyrd"]
    for part in ("thread 't'", f"checkpoint {id}", "channel 'held'", f"{NAME}:Step", "aliases="):
        assert part in said


# ---- renamed classes


@pytest.mark.parametrize("call", ["sync", "async"])
async def test_aliases(durable: Backend, call: str) -> None:
    """A class that was renamed, moved, or put inside another one is found under its new name."""
    with app() as made:
        held = [made.made(t) for t in ("Plan(goal='ship')", "Color.RED", "Outer.Inner(n=1)")]
        await run(call, graph(durable.open()), {"held": held[0], "log": held})
    newer = SOURCE.replace("class Color(", "class Colour(")
    newer = newer.replace("class Outer:", "class Around:\n  class Outer:").replace(
        "    class Inner", "      class Inner"
    )
    newer = newer.replace("        n: int", "          n: int")
    aliases = {
        f"{NAME}:Plan": "newer_app:Plan",
        f"{NAME}:Color": "newer_app:Colour",
        f"{NAME}:Outer.Inner": "newer_app:Around.Outer.Inner",
    }
    with app(newer, "newer_app") as made:
        for serde in (None, JsonPlusSerializer(allowed_msgpack_modules=None)):
            saver = durable.open(aliases=aliases, serde=serde)
            want = [made.made(t) for t in ("Plan(goal='ship')", "Colour.RED")]
            want.append(made.made("Around.Outer.Inner(n=1)"))
            found = await run(call, graph(saver), {})
            assert found["held"] == want[0]
            assert found["log"][:3] == want
            # Handed back, it is stored under its new name, and found again.
            await run(call, graph(saver, lambda s: {"by_name": dict(enumerate(s["log"][:3]))}), {})
            assert list(values(saver)["by_name"].values()) == want


def test_an_alias_may_name_plain_data(durable: Backend) -> None:
    """What was an object is a dict from now on, if the user says so."""
    with app() as made:
        graph(durable.open()).invoke({"held": made.made("Spot(3)"), "log": []}, at("t"))
    assert values(durable.open(aliases={f"{NAME}:Spot": "builtins:dict"}))["held"] == {"x": 3}


@pytest.mark.parametrize(
    "aliases",
    [
        {"app.Plan": "new:Plan"},
        {"app:Plan": "new.Plan"},
        {"app:": "new:Plan"},
        {"app:Pl an": "new:Plan"},
        {"app:Plan": None},
        {3: "new:Plan"},
        {"app:A.Plan": "new:A", "app:B.Plan": "new:B"},
        {"a:A": "b:B", "b:B": "c:C", "c:C": "a:A"},
        ["app:Plan"],
    ],
)
def test_aliases_that_make_no_sense(aliases: Any) -> None:
    """They are refused when the saver is made."""
    with pytest.raises(errors.InvalidInput, match="alias"):
        WyrdSaver.from_conn_string("sqlite://", aliases=aliases)


# ---- strict msgpack


@pytest.mark.parametrize("call", ["sync", "async"])
async def test_a_blocked_type(
    durable: Backend, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Strict msgpack: said which type, where, and how to allow it; nothing of it is lost."""
    caplog.set_level(logging.WARNING, logger="langgraph_wyrd")
    with app() as made:
        every = all_of(made)
        strict = durable.open(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        await run(call, graph(strict), {"held": made.made("Step('dig')"), "log": [*every.values()]})
        found = await run(call, graph(strict), {})
        assert all(isinstance(each, Kept) for each in found["log"][: len(every)])
        said = "\n".join(r.getMessage() for r in caplog.records if r.name == "langgraph_wyrd")
        for part in ("thread 't'", "channel 'held'", f"{NAME}:Step", f"[('{NAME}', 'Step')]"):
            assert part in said
        clone = strict.with_allowlist([(NAME, "Step")])
        assert values(clone)["held"] == made.made("Step('dig')")
        await run(call, graph(strict, lambda s: {"held": s["log"][2]}), {})
        now = values(durable.open())
        assert now["held"] == every["dataclass"]
        assert now["log"][: len(every)] == [*every.values()]


STRICT = """
import dataclasses, logging, sys
from typing import Any, TypedDict
from langgraph.graph import START, StateGraph
from langgraph_wyrd import Kept, WyrdSaver

logging.basicConfig(format="%(message)s", level=logging.WARNING)

@dataclasses.dataclass
class Named:
    x: int

@dataclasses.dataclass
class Unnamed:
    x: int

class State(TypedDict, total=False):
    named: Named
    free: Any

with WyrdSaver.from_conn_string(sys.argv[1]) as saver:
    builder = StateGraph(State).add_node("n", lambda state: {}).add_edge(START, "n")
    graph = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke({"named": Named(1), "free": Unnamed(2)}, config)
    graph.invoke({}, config)
    found = graph.get_state(config).values
    assert found["named"] == Named(1)
    assert isinstance(found["free"], Kept) and found["free"].x == 2
"""


def test_strict_mode_by_its_variable(tmp_path: Path) -> None:
    """LANGGRAPH_STRICT_MSGPACK: classes that the state names work as they do, others are kept."""
    done = subprocess.run(
        [sys.executable, "-c", STRICT, f"sqlite:///{tmp_path / 'strict.db'}"],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for part in ("thread 't'", "channel 'free'", "__main__:Unnamed", "[('__main__', 'Unnamed')]"):
        assert part in done.stderr


# ---- copies


def test_copies_keep_what_is_gone(durable: Backend) -> None:
    """From any saver to any other: there it is whole again with its classes."""
    with app() as made:
        every = all_of(made)
        source, target = InMemorySaver(), InMemorySaver()
        graph(source).invoke({"held": made.made("Step('dig')"), "log": [*every.values()]}, at("t"))
        ours = durable.open()
        with made.away():
            copy_threads(source, ours)
            copy_threads(ours, target)
        for saver in (ours, target):
            now = values(saver)
            assert now["held"] == made.made("Step('dig')")
            # LangGraph's own load reads these as something else even with their classes.
            kinds = every.keys() - {"method", "enum of tuples", "nested class"}
            log = dict(zip(every, now["log"], strict=False))
            assert [log[kind] for kind in kinds] == [every[kind] for kind in kinds]


def test_exports_keep_what_is_gone(durable: Backend, tmp_path: Path) -> None:
    """A file with payloads, written and read without the classes, brings them back."""
    with app() as made:
        every = all_of(made)
        saver = durable.open()
        graph(saver).invoke({"held": made.made("Step('dig')"), "log": [*every.values()]}, at("t"))
        with made.away():
            saver.thread("t").export(tmp_path / "t.json", payloads=True)
            saver.import_thread(tmp_path / "t.json", "u")
        found = saver.get_tuple(at("u")).checkpoint["channel_values"]
        assert found["log"][: len(every)] == [*every.values()]
