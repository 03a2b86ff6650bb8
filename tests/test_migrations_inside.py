"""Migrations reach data wherever it lies: in enums, in what overwrites a channel, in questions."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Overwrite, interrupt
from typing_extensions import TypedDict

from langgraph_wyrd import Kept, Migration
from langgraph_wyrd.errors import InvalidInput
from tests.conftest import Backend
from tests.damage import at, extend
from tests.rows import put
from tests.vanishing import app

OLD = """
import dataclasses, enum, typing

@dataclasses.dataclass
class Piece:
    goal: str

class Color(enum.Enum):
    RED = "red"
"""
# The same with another name for the field, and for the colour.
NEW = OLD.replace("goal: str", "title: str").replace('RED = "red"', 'CRIMSON = "crimson"')


def titled(fields: dict[str, Any]) -> dict[str, Any]:
    return {**{k: v for k, v in fields.items() if k != "goal"}, "title": fields["goal"]}


def migrations(name: str = "inside_app") -> list[Migration]:
    return [Migration(f"{name}:Piece", 1, once), Migration(f"{name}:Color", 1, recoloured)]


def once(fields: dict[str, Any]) -> dict[str, Any]:
    """These classes have no field for their version: a migration sees whether it is needed."""
    return titled(fields) if "goal" in fields else fields


def recoloured(value: str) -> str:
    return {"red": "crimson"}.get(value, value)


def values(saver: Any, thread: str = "t") -> dict[str, Any]:
    found: dict[str, Any] = saver.get_tuple(at(thread)).checkpoint["channel_values"]
    return found


def test_what_a_migration_made_may_be_refused(durable: Backend) -> None:
    """Then it is kept as it is stored, not as it was migrated, and is stored so again."""
    with app(OLD, "inside_app") as old:
        given = {"held": old.made("Piece('ship')"), "color": old.made("Color.RED")}
        first = put(durable.open(), "t", given)
        half = [
            Migration("inside_app:Piece", 1, lambda fields: {"name": fields["goal"]}),
            Migration("inside_app:Color", 1, lambda value: "pale"),
        ]
        saver = durable.open(migrations=half)
        found = values(saver)
        assert isinstance(found["held"], Kept)
        assert found["held"].goal == "ship"
        assert found["color"] == "red"
        put(saver, "t", {**found, "other": 1}, parent=first)
        assert values(durable.open()) == {**given, "other": 1}


@pytest.mark.parametrize("said", ["1", None, 1.0, "two", [1]])
def test_a_version_that_is_no_number(durable: Backend, said: Any) -> None:
    """Counts as none; of a type and of a channel."""
    settings = {"schema_version": said, "color": "red"}
    put(durable.open(), "t", {"settings": settings, "log": [settings, "x"]})

    def newer(value: Any) -> Any:
        return {**value, "colour": value["color"]} if isinstance(value, dict) else value

    saver = durable.open(migrations=[Migration("settings", 1, newer), Migration("log", 1, newer)])
    want = {"schema_version": 2, "color": "red", "colour": "red"}
    assert values(saver) == {"settings": want, "log": [want, "x"]}


class State(TypedDict, total=False):
    held: Any
    log: Annotated[list[Any], operator.add]
    settings: Annotated[dict[str, Any], operator.or_]
    trace: Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=3)]


VERSIONED = """
import dataclasses
@dataclasses.dataclass
class Plan:
    goal: str
    schema_version: int = 1
"""


def test_an_object_of_a_channel_says_its_version(durable: Backend) -> None:
    """As an attribute: a channel's migration is not run on it again."""
    calls: list[int] = []

    def newer(plan: Any) -> Any:
        calls.append(plan.schema_version)
        return type(plan)(plan.goal + "!", 2)

    with app(VERSIONED, "versioned_app") as made:
        put(durable.open(), "t", {"held": made.made("Plan('ship')")})
        saver = durable.open(migrations=[Migration("held", 1, newer)])
        first = saver.get_tuple(at("t"))
        assert first.checkpoint["channel_values"]["held"] == made.made("Plan('ship!', 2)")
        put(saver, "t", first.checkpoint["channel_values"], parent=first.config)
        assert values(saver)["held"] == made.made("Plan('ship!', 2)")
        assert set(calls) == {1}


def settings_2(value: dict[str, Any]) -> dict[str, Any]:
    return {"schema_version": 2, "colour": value["color"]}


@pytest.mark.parametrize("how", ["class", "dict"])
@pytest.mark.parametrize("call", ["sync", "async"])
async def test_what_overwrites_a_channel(durable: Backend, how: str, call: str) -> None:
    """What stands in an `Overwrite` is the channel's value, and migrated as it."""

    def over(value: Any) -> Any:
        return Overwrite(value) if how == "class" else {"__overwrite__": value}

    def first(state: State) -> Any:
        return {
            "settings": over({"color": "red"}),
            "log": over([{"color": "red"}]),
            "trace": over([{"color": "red"}]),
        }

    builder = StateGraph(State).add_node("first", first)
    builder.add_node("asks", lambda state: interrupt("?") and {}).add_edge(START, "asks")
    builder.add_edge(START, "first")
    builder.compile(checkpointer=durable.open()).invoke({"log": []}, at("t"))
    channels = ("settings", "log", "trace")
    newer = durable.open(migrations=[Migration(each, 1, settings_2) for each in channels])
    graph = builder.compile(checkpointer=newer)
    resume = Command(resume="yes")
    found = (
        await graph.ainvoke(resume, at("t")) if call == "async" else graph.invoke(resume, at("t"))
    )
    want = {"schema_version": 2, "colour": "red"}
    assert found["settings"] == want
    assert found["log"] == found["trace"] == [want]


def test_questions_and_answers(durable: Backend) -> None:
    """What a task asked, and what it was answered, are of classes that were migrated since."""
    seen: list[Any] = []
    with app(OLD, "inside_app") as made:

        def ask(state: State) -> State:
            seen.append(interrupt(made.made("Piece('which')" if len(seen) < 1 else "0")))
            seen.append(interrupt("and then?"))
            return {"held": seen[-2:]}

        builder = StateGraph(State).add_node("ask", ask).add_edge(START, "ask")
        graph = builder.compile(checkpointer=durable.open())
        graph.invoke({"log": []}, at("t"))
    with app(NEW, "inside_app") as made:
        graph = builder.compile(checkpointer=durable.open(migrations=migrations()))
        (asked,) = graph.get_state(at("t")).tasks[0].interrupts
        assert asked.value == made.made("Piece('which')")
    with app(OLD, "inside_app") as made:
        graph = builder.compile(checkpointer=durable.open())
        graph.invoke(Command(resume=made.made("Piece('this')")), at("t"))
    with app(NEW, "inside_app") as made:
        graph = builder.compile(checkpointer=durable.open(migrations=migrations()))
        found = graph.invoke(Command(resume="that"), at("t"))
        assert found["held"] == [made.made("Piece('this')"), "that"]


def test_what_is_langgraphs_own_is_not_migrated(durable: Backend) -> None:
    """A migration that would never be called is refused."""
    with pytest.raises(InvalidInput, match="LangGraph's own"):
        durable.open(migrations=[Migration(HumanMessage, 1, titled)])
