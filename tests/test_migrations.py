"""Older data of the user's own classes becomes newer as it is loaded."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Overwrite, interrupt
from typing_extensions import TypedDict

from langgraph_wyrd import Kept, Migration, WyrdSaver, errors
from langgraph_wyrd.errors import InvalidInput
from tests.conftest import Backend
from tests.damage import at, extend
from tests.handmade import put
from tests.odd_values import JsonSerde
from tests.user_classes import app

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


def broken(value: Any) -> Any:
    value["goal"] = "spoiled"
    value.setdefault("deep", [0])[0] = "spoiled"
    return value["nothing"]


def test_a_migration_that_raises(durable: Backend, caplog: pytest.LogCaptureFixture) -> None:
    """What is stored is kept, and handed to the graph so; it is said which migration, and where."""
    caplog.set_level(logging.WARNING, logger="langgraph_wyrd")
    with app(OLD, "plans") as old:
        given = {"held": old.made("Plan('ship')")}
        saver = durable.open()
        graph(saver).invoke(given, at("t"))
        id = saver.get_tuple(at("t")).config["configurable"]["checkpoint_id"]
        saver.close()
        migrations = [Migration("plans:Plan", 1, broken)]
        saver = durable.open(migrations=migrations)
        graph(saver, lambda state: dict(state)).invoke({}, at("t"))  # type: ignore[arg-type]
        found = values(saver)
        assert isinstance(found["held"], Kept)
        assert found["held"].goal == "ship"
        said = next(x.getMessage() for x in caplog.records if x.name == "langgraph_wyrd")
        for part in ("thread 't'", f"checkpoint {id}", "channel 'held'", "plans:Plan", "KeyError"):
            assert part in said
        strict = durable.open(migrations=migrations, on_damage="raise")
        with pytest.raises(errors.MigrationFailed, match=r"channel 'held'.*plans:Plan"):
            strict.get_tuple(at("t"))
        with pytest.raises(errors.MigrationFailed):
            list(strict.list(at("t")))
        assert values(durable.open())["held"] == given["held"]


@pytest.mark.parametrize(
    "migration",
    [
        "plans:Plan",
        Migration("plans:Plan", 0, to_2),
        Migration("plans:Plan", "1", to_2),  # type: ignore[arg-type]
        Migration("plans:", 1, to_2),
        Migration("", 1, to_2),
        Migration("held", 1, to_2),
        Migration("plans:Plan", 1, None),  # type: ignore[arg-type]
        Migration(3, 1, to_2),  # type: ignore[arg-type]
    ],
)
def test_migrations_that_make_no_sense(migration: Any) -> None:
    """They are refused when the saver is made."""
    with pytest.raises(errors.InvalidInput, match=r"migration|Migration|version"):
        WyrdSaver.from_conn_string("sqlite://", migrations=[migration])


def test_two_migrations_of_one_version() -> None:
    """Which of them was meant can't be known."""
    given = [Migration("plans:Plan", 1, to_2), Migration("plans:Plan", 1, to_3)]
    with pytest.raises(errors.InvalidInput, match="two migrations of plans:Plan from version 1"):
        WyrdSaver.from_conn_string("sqlite://", migrations=given)


# Wherever the data lies: in enums, in questions.


PIECE = """
import dataclasses, enum, typing

@dataclasses.dataclass
class Piece:
    goal: str

class Color(enum.Enum):
    RED = "red"
"""
# The same with another name for the field, and for the colour.
TITLED = PIECE.replace("goal: str", "title: str").replace('RED = "red"', 'CRIMSON = "crimson"')


def titled(fields: dict[str, Any]) -> dict[str, Any]:
    return {**{k: v for k, v in fields.items() if k != "goal"}, "title": fields["goal"]}


def migrations(name: str = "inside_app") -> list[Migration]:
    return [Migration(f"{name}:Piece", 1, once), Migration(f"{name}:Color", 1, recoloured)]


def once(fields: dict[str, Any]) -> dict[str, Any]:
    """These classes have no field for their version: a migration sees whether it is needed."""
    return titled(fields) if "goal" in fields else fields


def recoloured(value: str) -> str:
    return {"red": "crimson"}.get(value, value)


def values_of(saver: Any, thread: str = "t") -> dict[str, Any]:
    found: dict[str, Any] = saver.get_tuple(at(thread)).checkpoint["channel_values"]
    return found


def test_what_a_migration_made_may_be_refused(durable: Backend) -> None:
    """Then it is kept as it is stored, not as it was migrated, and is stored so again."""
    with app(PIECE, "inside_app") as old:
        given = {"held": old.made("Piece('ship')"), "color": old.made("Color.RED")}
        first = put(durable.open(), "t", given)
        half = [
            Migration("inside_app:Piece", 1, lambda fields: {"name": fields["goal"]}),
            Migration("inside_app:Color", 1, lambda value: "pale"),
        ]
        saver = durable.open(migrations=half)
        found = values_of(saver)
        assert isinstance(found["held"], Kept)
        assert found["held"].goal == "ship"
        assert found["color"] == "red"
        put(saver, "t", {**found, "other": 1}, parent=first)
        assert values_of(durable.open()) == {**given, "other": 1}


class Pieces(TypedDict, total=False):
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


@pytest.mark.parametrize("said", ["1", None, 1.0, [1]])
def test_a_version_that_is_no_number(durable: Backend, said: Any) -> None:
    """Counts as none: the data is of version 1."""
    with app(VERSIONED, "versioned_app") as made:
        plan = made.made("Plan('ship')")
        plan.schema_version = said
        put(durable.open(), "t", {"held": plan})
        newer = Migration("versioned_app:Plan", 1, lambda held: {**held, "goal": "shipped"})
        found = values_of(durable.open(migrations=[newer]))["held"]
        assert found == made.made("Plan('shipped', 2)")


def test_questions_and_answers(durable: Backend) -> None:
    """What a task asked, and what it was answered, are of classes that were migrated since."""
    seen: list[Any] = []
    with app(PIECE, "inside_app") as made:

        def ask(state: Pieces) -> Pieces:
            seen.append(interrupt(made.made("Piece('which')" if len(seen) < 1 else "0")))
            seen.append(interrupt("and then?"))
            return {"held": seen[-2:]}

        builder = StateGraph(Pieces).add_node("ask", ask).add_edge(START, "ask")
        graph = builder.compile(checkpointer=durable.open())
        graph.invoke({"log": []}, at("t"))
    with app(TITLED, "inside_app") as made:
        graph = builder.compile(checkpointer=durable.open(migrations=migrations()))
        (asked,) = graph.get_state(at("t")).tasks[0].interrupts
        assert asked.value == made.made("Piece('which')")
    with app(PIECE, "inside_app") as made:
        graph = builder.compile(checkpointer=durable.open())
        graph.invoke(Command(resume=made.made("Piece('this')")), at("t"))
    with app(TITLED, "inside_app") as made:
        graph = builder.compile(checkpointer=durable.open(migrations=migrations()))
        found = graph.invoke(Command(resume="that"), at("t"))
        assert found["held"] == [made.made("Piece('this')"), "that"]


def test_what_is_langgraphs_own_is_not_migrated(durable: Backend) -> None:
    """A migration that would never be called is refused."""
    with pytest.raises(InvalidInput, match="LangGraph's own"):
        durable.open(migrations=[Migration(HumanMessage, 1, titled)])


Call = Callable[..., Any]

# Once for each value: the version that a migration leads to is stored next to the value.


PLAYER = """
import dataclasses, enum
from pydantic import BaseModel
@dataclasses.dataclass
class Player:
    points: int
class Team(BaseModel):
    points: int
class Level(enum.Enum):
    ONE = 1
    TEN = 10
    HUNDRED = 100
"""
SCORED = PLAYER.replace("points: int", "score: int = 0")


def scored(fields: dict[str, Any]) -> dict[str, Any]:
    """The migration of the agent-checkpoint page."""
    return {"score": fields.get("points", 0) * 10}


def tenfold(value: Any) -> Any:
    return value * 10


class Players(TypedDict, total=False):
    held: Any
    number: int
    settings: dict[str, Any]
    log: Annotated[list[Any], operator.add]
    trace: Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=2)]


def players_graph(saver: Any, node: Callable[[Players], Any] = lambda state: {}) -> Any:
    builder = StateGraph(Players).add_node("node", node).add_edge(START, "node")
    return builder.compile(checkpointer=saver)


def again(state: Players) -> Any:
    """Writes every channel anew, with what it holds."""
    return {
        name: Overwrite(list(value)) if name == "log" else value
        for name, value in state.items()
        if name != "trace"
    }


TYPES = ("Player", "Team")
STORES: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": dict,
    "encrypted": lambda: {
        "serde": EncryptedSerializer.from_pycryptodome_aes(JsonPlusSerializer(), key=b"k" * 16)
    },
}


@pytest.mark.parametrize("store", STORES)
async def test_a_class_without_a_version(durable: Backend, call: Call, store: str) -> None:
    """40 stays 40, however often it is loaded and stored again: a dataclass, a pydantic model, a
    member of an enum; in a value, a list, deltas."""
    made = "[Player(4), Team(points=4)]"
    with app(PLAYER, "once_app") as old:
        held = old.made(f"{made} + [Level.ONE]")
        given = {"held": held, "log": held, "trace": held, "settings": {"k": held[0]}}
        await call(players_graph(durable.open(**STORES[store]())), "invoke", given, at("t"))
    migrations = [
        *(Migration(f"once_app:{name}", 1, scored) for name in TYPES),
        Migration("once_app:Level", 1, tenfold),
    ]
    with app(SCORED, "once_app") as new:
        want = new.made(made.replace("4", "40").replace("points", "score") + " + [Level.TEN]")
        for _ in range(3):
            saver = durable.open(migrations=migrations, **STORES[store]())
            for _ in range(2):
                await call(players_graph(saver, again), "invoke", {}, at("t"))
                found = values(saver)
                assert found["held"] == want
                assert found["log"] == want
                assert found["settings"] == {"k": want[0]}
            assert players_graph(saver).get_state(at("t")).values["trace"] == want
            assert "'score': 40" in str(saver.thread("t").working_state().context)
        # So it is in a saver that knows of no migrations: no mark is left in what it gives.
        plain = durable.open(**STORES[store]())
        assert values(plain)["held"] == want
        # A node that makes a new one makes one of today.
        fresh = new.made("Player(7)")
        saver = durable.open(migrations=migrations, **STORES[store]())
        await call(players_graph(saver, lambda state: {"held": fresh}), "invoke", {}, at("t"))
        reader = durable.open(migrations=migrations, **STORES[store]())
        assert values(reader)["held"] == fresh


def test_the_working_state_follows(durable: Backend) -> None:
    """Where no step writes to the channel that holds it, after `reextract`."""
    with app(PLAYER, "once_app") as old:
        players_graph(durable.open()).invoke({"held": old.made("Player(4)")}, at("t"))
    with app(SCORED, "once_app"):
        saver = durable.open(migrations=[Migration("once_app:Player", 1, scored)])
        players_graph(saver).invoke({"log": [1]}, at("t"))
        saver.reextract("t")
        assert "'score': 40" in str(saver.thread("t").working_state().get_context("held"))
        assert saver.verify().ok


def test_a_list_is_not_stored_again_at_each_start(durable: Backend) -> None:
    """What a new process appends is all that it stores."""
    migrations = [Migration("once_app:Player", 1, scored)]
    with app(PLAYER, "once_app") as old:
        given = old.made("[Player(n) for n in range(2000)]")
        players_graph(durable.open()).invoke({"log": given}, at("t"))
    with app(SCORED, "once_app") as new:
        players_graph(durable.open(migrations=migrations), again).invoke({}, at("t"))
        sizes = []
        for _ in range(3):
            with durable.open(migrations=migrations) as fresh:
                players_graph(fresh, lambda state: {"log": [0]}).invoke({}, at("t"))
                sizes.append(sum(table.bytes for table in fresh.size_report().tables.values()))
        assert sizes[0] > 2 * (sizes[2] - sizes[0]) > 0
        found = values(durable.open(migrations=migrations))["log"]
        assert found == [*new.made("[Player(10 * n) for n in range(2000)]"), 0, 0, 0]


def test_a_class_that_is_gone_keeps_its_version(durable: Backend) -> None:
    """It is whole again later, and not migrated a second time."""
    migrations = [Migration("once_app:Player", 1, scored), Migration("once_app:Level", 1, tenfold)]
    with app(PLAYER, "once_app") as old:
        players_graph(durable.open()).invoke({"log": old.made("[Player(4), Level.ONE]")}, at("t"))
    with app(SCORED, "once_app"):
        players_graph(durable.open(migrations=migrations), again).invoke({}, at("t"))
    with app("x = 1", "once_app"):
        saver = durable.open(migrations=migrations)
        assert isinstance(values(saver)["log"][0], Kept)
        players_graph(saver, again).invoke({}, at("t"))
    with app(SCORED, "once_app") as new:
        want = new.made("[Player(40), Level.TEN]")
        assert values(durable.open(migrations=migrations))["log"] == want


def test_a_serializer_that_stores_no_version(sqlite: Backend) -> None:
    """With a serializer of the user's own nothing can be stored next to a value: that is said."""
    migration = Migration("once_app:Player", 1, scored)
    with pytest.raises(errors.InvalidInput, match="JsonSerde is a serializer of your own"):
        sqlite.open(serde=JsonSerde(), migrations=[migration])
    saver = sqlite.open(serde=JsonSerde())
    with pytest.raises(errors.InvalidInput, match="can't be migrated: JsonSerde"):
        saver.register_migration(migration.target, 1, migration.migrate)
