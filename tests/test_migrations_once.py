"""A migration runs once on each value: the version it leads to is stored beside the value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from langgraph_wyrd import Kept, Migration, errors
from tests.conftest import Backend
from tests.damage import at, extend
from tests.test_odd_input import JsonSerde
from tests.vanishing import app

Call = Callable[..., Any]

OLD = """
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
NEW = OLD.replace("points: int", "score: int = 0")


def scored(fields: dict[str, Any]) -> dict[str, Any]:
    """The migration of the agent-checkpoint page."""
    return {"score": fields.get("points", 0) * 10}


def tenfold(value: Any) -> Any:
    return value * 10


class State(TypedDict, total=False):
    held: Any
    number: int
    settings: dict[str, Any]
    log: Annotated[list[Any], operator.add]
    trace: Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=2)]


def graph(saver: Any, node: Callable[[State], Any] = lambda state: {}) -> Any:
    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    return builder.compile(checkpointer=saver)


def values(saver: Any) -> dict[str, Any]:
    found: dict[str, Any] = saver.get_tuple(at("t")).checkpoint["channel_values"]
    return found


def again(state: State) -> Any:
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
    with app(OLD, "once_app") as old:
        held = old.made(f"{made} + [Level.ONE]")
        given = {"held": held, "log": held, "trace": held, "settings": {"k": held[0]}}
        await call(graph(durable.open(**STORES[store]())), "invoke", given, at("t"))
    migrations = [
        *(Migration(f"once_app:{name}", 1, scored) for name in TYPES),
        Migration("once_app:Level", 1, tenfold),
    ]
    with app(NEW, "once_app") as new:
        want = new.made(made.replace("4", "40").replace("points", "score") + " + [Level.TEN]")
        for _ in range(3):
            saver = durable.open(migrations=migrations, **STORES[store]())
            for _ in range(2):
                await call(graph(saver, again), "invoke", {}, at("t"))
                found = values(saver)
                assert found["held"] == want
                assert found["log"] == want
                assert found["settings"] == {"k": want[0]}
            assert graph(saver).get_state(at("t")).values["trace"] == want
            assert "'score': 40" in str(saver.thread("t").working_state().context)
        # So it is in a saver that knows of no migrations: no mark is left in what it gives.
        plain = durable.open(**STORES[store]())
        assert values(plain)["held"] == want
        # A node that makes a new one makes one of today.
        fresh = new.made("Player(7)")
        saver = durable.open(migrations=migrations, **STORES[store]())
        await call(graph(saver, lambda state: {"held": fresh}), "invoke", {}, at("t"))
        reader = durable.open(migrations=migrations, **STORES[store]())
        assert values(reader)["held"] == fresh


@pytest.mark.parametrize("store", STORES)
async def test_a_channel_without_a_version(durable: Backend, call: Call, store: str) -> None:
    """The same for what has no field for a version at all: numbers, dicts, elements of lists."""
    given = {"number": 4, "settings": {"points": 4}, "log": [4, 5], "trace": [4]}
    await call(graph(durable.open(**STORES[store]())), "invoke", given, at("t"))
    migrations = [
        Migration("number", 1, tenfold),
        Migration("settings", 1, scored),
        Migration("log", 1, tenfold),
        Migration("trace", 1, tenfold),
    ]
    want = {"number": 40, "settings": {"score": 40}, "log": [40, 50]}
    for turn in range(3):
        saver = durable.open(migrations=migrations, **STORES[store]())
        for _ in range(2):
            await call(graph(saver, again), "invoke", {}, at("t"))
            found = values(saver)
            assert {name: found[name] for name in want} == want
            assert graph(saver).get_state(at("t")).values["trace"] == [40] + [7] * turn
        await call(graph(saver), "invoke", {"trace": [7]}, at("t"))
    # A write that waits, and a new value of a node, are of today's version.
    config = saver.get_tuple(at("t")).config
    saver.put_writes(config, [("number", 3), ("log", [3])], "task")
    reader = durable.open(migrations=migrations, **STORES[store]())
    assert [value for _, _, value in reader.get_tuple(config).pending_writes] == [3, [3]]
    # A later migration goes on from there.
    later = [*migrations, Migration("number", 2, tenfold), Migration("log", 2, tenfold)]
    last = durable.open(migrations=later, **STORES[store]())
    assert (values(last)["number"], values(last)["log"]) == (400, [400, 500])
    # No mark is left for who knows of no migrations.
    found = values(durable.open(**STORES[store]()))
    assert {name: found[name] for name in want} == want


def moved(held: dict[str, Any]) -> dict[str, Any]:
    return {"score": held["points"] * 10, "of": held["of"]}


def test_a_list_is_not_stored_again_at_each_start(durable: Backend) -> None:
    """What a new process appends is all that it stores."""
    given = [{"points": n, "of": f"{n:030}"} for n in range(2000)]
    graph(durable.open()).invoke({"log": given}, at("t"))
    migrations = [Migration("log", 1, moved)]
    graph(durable.open(migrations=migrations), again).invoke({}, at("t"))
    sizes = []
    for _ in range(3):
        with durable.open(migrations=migrations) as fresh:
            graph(fresh, lambda state: {"log": [{"score": 1}]}).invoke({}, at("t"))
            sizes.append(sum(table.bytes for table in fresh.size_report().tables.values()))
    assert sizes[0] > 2 * (sizes[2] - sizes[0]) > 0
    found = values(durable.open(migrations=migrations))["log"]
    assert found == [*map(moved, given), *[{"score": 1}] * 3]


def test_a_class_that_is_gone_keeps_its_version(durable: Backend) -> None:
    """It is whole again later, and not migrated a second time."""
    migrations = [Migration("once_app:Player", 1, scored), Migration("once_app:Level", 1, tenfold)]
    with app(OLD, "once_app") as old:
        graph(durable.open()).invoke({"log": old.made("[Player(4), Level.ONE]")}, at("t"))
    with app(NEW, "once_app"):
        graph(durable.open(migrations=migrations), again).invoke({}, at("t"))
    with app("x = 1", "once_app"):
        saver = durable.open(migrations=migrations)
        assert isinstance(values(saver)["log"][0], Kept)
        graph(saver, again).invoke({}, at("t"))
    with app(NEW, "once_app") as new:
        want = new.made("[Player(40), Level.TEN]")
        assert values(durable.open(migrations=migrations))["log"] == want


async def test_one_that_raises_is_tried_again(durable: Backend, call: Call) -> None:
    """What it left as it was keeps its version, also when it is stored again; the rest goes on."""
    given = {"settings": {"points": 4}, "log": [{"points": 1}, {"points": 2}], "number": 4}
    await call(graph(durable.open()), "invoke", given, at("t"))

    def raising(value: Any) -> Any:
        raise KeyError("not today")

    first = [Migration(name, 1, tenfold if name == "number" else scored) for name in given]
    await call(graph(durable.open(migrations=first), again), "invoke", {}, at("t"))
    second = [*first, *(Migration(name, 2, raising) for name in given)]
    want = {"settings": {"score": 40}, "log": [{"score": 10}, {"score": 20}], "number": 40}
    for _ in range(2):
        saver = durable.open(migrations=second)
        await call(graph(saver, again), "invoke", {}, at("t"))
        found = values(saver)
        assert {name: found[name] for name in want} == want
    later = [*first, *(Migration(name, 2, lambda value: [value]) for name in given)]
    found = values(durable.open(migrations=later))
    assert found["number"] == [40]
    assert found["settings"] == [{"score": 40}]
    assert found["log"] == [[{"score": 10}], [{"score": 20}]]


def test_a_target_that_cannot_be_marked(sqlite: Backend) -> None:
    """With a serializer of the user's own nothing can be stored beside a value: that is said."""
    for migration in (Migration("number", 1, tenfold), Migration("once_app:Player", 1, scored)):
        with pytest.raises(errors.InvalidInput, match="JsonSerde is a serializer of your own"):
            sqlite.open(serde=JsonSerde(), migrations=[migration])
        saver = sqlite.open(serde=JsonSerde())
        with pytest.raises(errors.InvalidInput, match="can't be migrated: JsonSerde"):
            saver.register_migration(migration.target, 1, migration.migrate)
