"""Older data of the user's own classes and channels becomes newer as it is loaded."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from langgraph_wyrd import Channels, Kept, Migration, WyrdSaver, errors
from langgraph_wyrd.errors import InvalidInput
from tests.conftest import Backend
from tests.damage import at, extend
from tests.vanishing import app

OLD = """
import dataclasses
@dataclasses.dataclass
class Plan:
    goal: str
"""
NEW = """
import dataclasses
@dataclasses.dataclass
class Plan:
    title: str
    owner: str = "nobody"
    schema_version: int = 3
"""


class State(TypedDict, total=False):
    held: Any
    log: Annotated[list[Any], operator.add]
    settings: dict[str, Any]
    trace: Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=3)]


def graph(saver: Any, node: Callable[[State], State] = lambda state: {}) -> Any:
    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    return builder.compile(checkpointer=saver)


def values(saver: Any) -> dict[str, Any]:
    found: dict[str, Any] = saver.get_tuple(at("t")).checkpoint["channel_values"]
    return found


def to_2(fields: dict[str, Any]) -> dict[str, Any]:
    return {"title": fields["goal"]}


def to_3(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "owner": "ann"}


@pytest.mark.parametrize("call", ["sync", "async"])
async def test_a_type(durable: Backend, call: str) -> None:
    """One migration after the other, wherever the value lies; newer data is left alone."""
    with app(OLD, "plans") as old:
        plan = old.made("Plan('ship')")
        given = {"held": plan, "log": [plan, {"in": plan}], "trace": [plan]}
        graph(durable.open()).invoke(given, at("t"))
    seen: list[Any] = []

    def node(state: State) -> State:
        seen.append(dict(state))
        return {"log": [new.made("Plan('another', 'bob')"), state["held"]]}

    with app(NEW, "plans") as new:
        saver = durable.open(migrations=[Migration("plans:Plan", 1, to_2)])
        saver.register_migration(new.module.Plan, 2, to_3)
        want = new.made("Plan('ship', 'ann')")
        compiled = graph(saver, node)
        await (compiled.ainvoke({}, at("t")) if call == "async" else _sync(compiled))
        assert seen[0]["held"] == want
        assert seen[0]["log"] == [want, {"in": want}]
        assert seen[0]["trace"] == [want]
        assert values(saver)["log"][2:] == [new.made("Plan('another', 'bob')"), want]
        assert "ship" in str(saver.thread("t").working_state().context)
        # What was stored again is of today's version: it needs no migration any more.
        assert values(durable.open())["log"][2:] == [new.made("Plan('another', 'bob')"), want]


async def _sync(compiled: Any) -> Any:
    return compiled.invoke({}, at("t"))


def settings_2(value: dict[str, Any]) -> dict[str, Any]:
    return {"schema_version": 2, "colour": value["color"]}


@pytest.mark.parametrize("call", ["sync", "async"])
async def test_a_channel(durable: Backend, call: str) -> None:
    """Its value, what its tasks wrote, each element of its list, and a channel of deltas."""
    given = {"settings": {"color": "red"}, "log": [{"a": 1}, "x"], "trace": [{"a": 1}]}

    def waits(state: State) -> State:
        interrupt("well?")
        return {}

    graph(durable.open(), waits).invoke(given, at("t"))
    calls: list[Any] = []

    def element(value: Any) -> Any:
        calls.append(value)
        return {"schema_version": 2, "b": value["a"]} if isinstance(value, dict) else value

    saver = durable.open(
        migrations=[
            Migration("settings", 1, settings_2),
            Migration("log", 1, element),
            Migration("trace", 1, element),
        ]
    )
    seen: list[Any] = []

    def node(state: State) -> State:
        interrupt("well?")
        seen.append(dict(state))
        return {"log": [{"schema_version": 2, "b": 5}], "settings": state["settings"]}

    compiled = graph(saver, node)
    resume = Command(resume="yes")
    await compiled.ainvoke(resume, at("t")) if call == "async" else compiled.invoke(resume, at("t"))
    assert seen[0]["settings"] == {"schema_version": 2, "colour": "red"}
    assert seen[0]["log"] == [{"schema_version": 2, "b": 1}, "x"]
    assert seen[0]["trace"] == [{"schema_version": 2, "b": 1}]
    assert {"a": 1} in calls
    # Stored again it is new, and asked of the migration no more.
    now = durable.open()
    assert values(now)["settings"] == {"schema_version": 2, "colour": "red"}
    assert values(now)["log"] == [
        {"schema_version": 2, "b": 1},
        "x",
        {"schema_version": 2, "b": 5},
    ]
    # So do diffs see it, on both sides.
    first = saver.thread("t").history()[-1].checkpoint_id
    assert "color" not in str(saver.thread("t").diff(first).channels)


def test_what_a_task_wrote(durable: Backend) -> None:
    """A write that is still pending is brought up to date as well."""
    saver = durable.open()
    graph(saver).invoke({"log": []}, at("t"))
    config = saver.get_tuple(at("t")).config
    saver.put_writes(config, [("settings", {"color": "red"})], "task")
    now = durable.open(migrations=[Migration("settings", 1, settings_2)])
    writes = now.get_tuple(config).pending_writes
    assert writes == [("task", "settings", {"schema_version": 2, "colour": "red"})]


def broken(value: Any) -> Any:
    value["goal"] = "spoiled"
    value.setdefault("deep", [0])[0] = "spoiled"
    return value["nothing"]


@pytest.mark.parametrize("target", ["plans:Plan", "settings"])
def test_a_migration_that_raises(
    durable: Backend, target: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What is stored stays, and is what the graph gets; it is said which migration, and where."""
    caplog.set_level(logging.WARNING, logger="langgraph_wyrd")
    with app(OLD, "plans") as old:
        given = {"held": old.made("Plan('ship')"), "settings": {"goal": "ship", "deep": [1]}}
        saver = durable.open()
        graph(saver).invoke(given, at("t"))
        id = saver.get_tuple(at("t")).config["configurable"]["checkpoint_id"]
        saver.close()
        migrations = [Migration(target, 1, broken)]
        saver = durable.open(migrations=migrations)
        graph(saver, lambda state: dict(state)).invoke({}, at("t"))  # type: ignore[arg-type]
        found = values(saver)
        channel = "settings" if target == "settings" else "held"
        if target == "settings":
            assert found["settings"] == {"goal": "ship", "deep": [1]}
        else:
            assert isinstance(found["held"], Kept)
            assert found["held"].goal == "ship"
        said = next(x.getMessage() for x in caplog.records if x.name == "langgraph_wyrd")
        for part in ("thread 't'", f"checkpoint {id}", f"channel '{channel}'", target, "KeyError"):
            assert part in said
        strict = durable.open(migrations=migrations, on_damage="raise")
        with pytest.raises(errors.MigrationFailed, match=f"channel '{channel}'.*{target}"):
            strict.get_tuple(at("t"))
        with pytest.raises(errors.MigrationFailed):
            list(strict.list(at("t")))
        assert values(durable.open())["held"] == given["held"]
        assert values(durable.open())["settings"] == given["settings"]


@pytest.mark.parametrize(
    "migration",
    [
        "plans:Plan",
        Migration("plans:Plan", 0, to_2),
        Migration("plans:Plan", "1", to_2),  # type: ignore[arg-type]
        Migration("plans:", 1, to_2),
        Migration("", 1, to_2),
        Migration("held", 1, None),  # type: ignore[arg-type]
        Migration(3, 1, to_2),  # type: ignore[arg-type]
    ],
)
def test_migrations_that_make_no_sense(migration: Any) -> None:
    """They are refused when the saver is made."""
    with pytest.raises(errors.InvalidInput, match=r"migration|Migration|version"):
        WyrdSaver.from_conn_string("sqlite://", migrations=[migration])


def test_two_migrations_of_one_version() -> None:
    """Which of them was meant can't be known."""
    given = [Migration("held", 1, to_2), Migration("held", 1, to_3)]
    with pytest.raises(errors.InvalidInput, match="two migrations of held from version 1"):
        WyrdSaver.from_conn_string("sqlite://", migrations=given)


def test_a_users_channel_is_migrated_by_class_only(sqlite: Backend) -> None:
    """Its values stand elsewhere, and go by another way: that is said, not passed over."""
    channels = Channels(user={"profile"})
    with pytest.raises(InvalidInput, match="belongs to a user"):
        sqlite.open(channels=channels, migrations=[Migration("profile", 1, dict)])
    with sqlite.open(channels=channels) as saver:
        with pytest.raises(InvalidInput, match="belongs to a user"):
            saver.register_migration("profile", 1, dict)
        saver.register_migration("tests.lone:State", 1, dict)
