"""A thread costs what it changes, and every version of it loads exactly as it was put."""

from __future__ import annotations

import copy
import itertools
import os
import random
import string
from collections.abc import Callable, Iterator
from typing import Any

import psycopg.errors
import psycopg.types.json
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from langgraph_wyrd import errors
from langgraph_wyrd.storage.tables import TABLES
from tests import damage
from tests.conftest import Backend
from tests.odd_values import (
    Ciphered,
    Point,
    Untyped,
    as_serde_gives,
    assert_same,
    assert_same_checkpoint,
    at,
    checkpoint,
)
from tests.outside import is_postgres, raw, tables

# WYRD_MORE=20 runs the property that many times longer, on examples of its own.
MORE = int(os.environ.get("WYRD_MORE", "1"))

# ---- how a value goes on to its next version


def element(dice: random.Random) -> Any:
    """Something that stands in a list or a dict; seldom the same twice, but sometimes."""
    number = dice.randrange(1_000_000) if dice.random() < 0.9 else dice.randrange(2)
    words = f"{number} " + "".join(dice.choices(string.ascii_letters, k=dice.choice([0, 5, 60])))
    return dice.choice(
        [
            lambda: HumanMessage(words, id=str(number)),
            lambda: AIMessage([{"type": "text", "text": words}], id=str(number)),
            lambda: ToolMessage(words, tool_call_id="c", artifact=Point(number)),
            lambda: RemoveMessage(str(number)),
            lambda: {"content": words, "status": "pending", "deep": [number, {"n": number}]},
            lambda: {"content": words},
            lambda: words,
            lambda: number,
            lambda: (number, [words]),
            lambda: [number, [words]],
            lambda: dice.choice([None, True, 1, 1.0, 0, False, -0.0, "1", b"1", [], {}, ""]),
        ]
    )()


def key(dice: random.Random) -> Any:
    return dice.choice(["a", "b", "c", f"/file{dice.randrange(30)}.md", "nul\0", "ü", ""])


def touch(value: Any, dice: random.Random) -> Any:
    """Change an element in place if it can be, else give another one."""
    if isinstance(value, HumanMessage | AIMessage) and dice.random() < 0.8:
        value.additional_kwargs.setdefault("touched", []).append(dice.randrange(9))
        return value
    if isinstance(value, dict) and dice.random() < 0.8:
        value[key(dice)] = element(dice)
        return value
    if isinstance(value, list) and dice.random() < 0.8:
        value.append(element(dice))
        return value
    return element(dice)


def positions(value: Any, dice: random.Random) -> list[int]:
    count = min(len(value), dice.choice([1, 1, 2, 3, 10]))
    return sorted(dice.sample(range(len(value)), count))


def appended(value: list[Any], dice: random.Random) -> Any:
    return value + [element(dice) for _ in range(dice.choice([1, 1, 2, 5]))]


def appended_in_place(value: list[Any], dice: random.Random) -> Any:
    value.extend(element(dice) for _ in range(dice.choice([1, 2])))
    return value


def grown_a_lot(value: list[Any], dice: random.Random) -> Any:
    return value + [element(dice) for _ in range(90)]


def inserted(value: list[Any], dice: random.Random) -> Any:
    made = list(value)
    for place in reversed(positions([*value, None], dice)):
        made[place:place] = [element(dice) for _ in range(dice.choice([1, 2]))]
    return made


def edited(value: list[Any], dice: random.Random) -> Any:
    made = list(value)
    for place in positions(value, dice):
        made[place] = touch(made[place], dice)
    return made


def removed(value: list[Any], dice: random.Random) -> Any:
    gone = set(positions(value, dice))
    return [item for place, item in enumerate(value) if place not in gone]


def everything_at_once(value: list[Any], dice: random.Random) -> Any:
    for change in (removed, edited, inserted, appended):
        value = change(value, dice)
    return value


LIST_CHANGES: list[Callable[[Any, random.Random], Any]] = [
    appended,
    appended,
    appended_in_place,
    grown_a_lot,
    inserted,
    edited,
    edited,
    removed,
    everything_at_once,
    lambda value, dice: [*value, RemoveMessage("1")],
    lambda value, dice: value[dice.randrange(len(value) + 1) :],
    lambda value, dice: value[: dice.randrange(len(value) + 1)],
    lambda value, dice: [HumanMessage("summary", id="s"), *value[-2:]],
    lambda value, dice: value[::-1],
    lambda value, dice: value + value[:3],
    lambda value, dice: sorted(value, key=repr),
    lambda value, dice: [],
    lambda value, dice: [element(dice) for _ in value],
]


def put_entry(value: dict[Any, Any], dice: random.Random) -> Any:
    return {**value, key(dice): element(dice)}


def touched_entry(value: dict[Any, Any], dice: random.Random) -> Any:
    for name in dice.sample(list(value), min(len(value), 2)):
        value[name] = touch(value[name], dice)
    return value


def dropped_entries(value: dict[Any, Any], dice: random.Random) -> Any:
    gone = dice.sample(list(value), min(len(value), dice.choice([1, 2])))
    return {name: item for name, item in value.items() if name not in gone}


DICT_CHANGES: list[Callable[[Any, random.Random], Any]] = [
    put_entry,
    put_entry,
    touched_entry,
    touched_entry,
    dropped_entries,
    lambda value, dice: put_entry(dropped_entries(value, dice), dice),
    lambda value, dice: {**value, **{key(dice): element(dice) for _ in range(30)}},
    lambda value, dice: dict(reversed(value.items())),
    lambda value, dice: {**value, dice.randrange(9): element(dice)},
    lambda value, dice: {name: item for name, item in value.items() if isinstance(name, str)},
    lambda value, dice: {},
]

KINDS: list[Callable[[random.Random], Any]] = [
    lambda dice: [],
    lambda dice: [element(dice) for _ in range(dice.choice([1, 3, 12]))],
    lambda dice: [HumanMessage(str(n), id=str(n)) for n in range(dice.choice([1, 70]))],
    lambda dice: [dice.randrange(3) for _ in range(dice.choice([1, 5, 80]))],
    lambda dice: [dice.choice([0.0, -0.0, 1, True, 1.5]) for _ in range(5)],
    lambda dice: [dice.choice(["a", "b", "long " * 30]) for _ in range(5)],
    lambda dice: {},
    lambda dice: {key(dice): element(dice) for _ in range(dice.choice([1, 4]))},
    lambda dice: {1: "int key", (1, 2): "tuple key", "1": "text key"},
    lambda dice: element(dice),
    lambda dice: None,
    lambda dice: tuple(element(dice) for _ in range(3)),
    lambda dice: {1, 2, dice.randrange(9)},
    lambda dice: b"bytes" * dice.choice([1, 500]),
    lambda dice: "text" * dice.choice([1, 500]),
    lambda dice: dice.random(),
    lambda dice: Point([dice.randrange(9)]),
]
ABSENT = object()


def next_value(value: Any, dice: random.Random, what: str, channel: str = "x") -> Any:
    """The value a channel takes after `value`."""
    if value is ABSENT and what == "changed" and channel != "x":
        value = {} if channel == "files" else [element(dice) for _ in range(dice.choice([1, 60]))]
    if isinstance(value, _DeltaSnapshot):
        inner = next_value(value.value, dice, "changed")
        return inner if what == "snapshot" else _DeltaSnapshot(inner)
    if what == "snapshot":
        return value if value is ABSENT else _DeltaSnapshot(value)
    if what == "absent":
        return ABSENT
    if what == "changed" and isinstance(value, list):
        return dice.choice(LIST_CHANGES)(value, dice)
    if what == "changed" and isinstance(value, dict):
        return dice.choice(DICT_CHANGES)(value, dice)
    if what == "same":
        return value
    return dice.choice(KINDS)(dice)


CHANNELS = ("messages", "files", "x", "nul\0")
edits = st.lists(
    st.tuples(
        st.sampled_from(CHANNELS),
        st.sampled_from(["changed"] * 25 + ["kind", "snapshot", "absent", "same"]),
        st.integers(0, 2**20),
    ),
    max_size=4,
)
which = st.integers(0, 2**16)  # the nth of what there is
sources = st.sampled_from(["live", "live", "loaded", "copied"])

# ---- the property


class Stored:
    """What was put, kept as bytes so that nobody can change it afterwards."""

    def __init__(self, serde: Any, made: Any, parent: str | None, metadata: Any) -> None:
        self.id: str = made["id"]
        self.parent = parent
        self.metadata = metadata
        self.checkpoint = copy.deepcopy({k: v for k, v in made.items() if k != "channel_values"})
        self.values = {k: serde.dumps_typed(v) for k, v in made["channel_values"].items()}
        self.writes: list[tuple[str, str, Any]] = []

    def check(self, serde: Any, found: Any, parents: set[str | None]) -> None:
        assert found is not None, f"{self.id} is lost"
        values = {channel: serde.loads_typed(value) for channel, value in self.values.items()}
        assert_same_checkpoint(found.checkpoint, {**self.checkpoint, "channel_values": values})
        assert_same(found.metadata, self.metadata, "metadata")
        assert found.config["configurable"]["checkpoint_id"] == self.id
        parent = found.parent_config and found.parent_config["configurable"]["checkpoint_id"]
        assert parent in parents
        writes = [(task, channel, serde.loads_typed(value)) for task, channel, value in self.writes]
        assert_same(found.pending_writes, writes, "writes")


class Threads(RuleBasedStateMachine):
    """One thread under every operation, through savers that take turns on it."""

    savers: list[Any]
    open_another: Callable[[], Any] | None
    numbers = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.serde = self.savers[0].serde
        self.thread = f"thread {next(self.numbers)}"
        self.stored: dict[str, dict[str, Stored]] = {"": {}, "sub:1": {}}
        self.live: dict[tuple[str, str], tuple[Any, Any]] = {}  # values and versions to go on from
        self.runs: list[str] = []
        self.pruned = False
        self.parents: dict[str, str | None] = {}

    def where(self, ns: str, checkpoint_id: str | None = None) -> Any:
        return at(self.thread, checkpoint_id, ns)

    def compare(self, found: Any, want: Stored) -> None:
        """All of it; once ancestors were deleted, an older one may stand for the parent."""
        parents = {want.parent}
        while self.pruned and None not in parents:
            parents |= {self.parents[each] for each in parents if each is not None}
        want.check(self.serde, found, parents)

    def check(self, saver: Any, ns: str, checkpoint_id: str) -> Any:
        found = saver.get_tuple(self.where(ns, checkpoint_id))
        self.compare(found, self.stored[ns][checkpoint_id])
        return found

    def check_latest(self, saver: Any, ns: str) -> Any:
        found = saver.get_tuple(self.where(ns))
        if not self.stored[ns]:
            assert found is None
        else:
            self.compare(found, self.stored[ns][max(self.stored[ns])])
        return found

    def check_all(self, saver: Any) -> None:
        for ns, held in self.stored.items():
            found = list(saver.list(self.where(ns)))
            ids = [item.config["configurable"]["checkpoint_id"] for item in found]
            assert ids == sorted(held, reverse=True)
            for item in found:
                self.compare(item, held[item.checkpoint["id"]])

    @initialize(saver=which, changes=edits)
    def first(self, saver: int, changes: Any) -> None:
        self.put(saver, None, "", "live", changes, 1, "named")

    @rule(
        saver=which,
        parent=st.none() | st.just(-1) | st.just(-1) | st.just(-1) | which,
        ns=st.sampled_from(["", "", "", "sub:1"]),
        source=sources,
        changes=edits,
        run=st.integers(1, 4),
        named=st.sampled_from(["named", "named", "named", "empty", "all"]),
    )
    def put(
        self, saver: int, parent: Any, ns: str, source: str, changes: Any, run: int, named: str
    ) -> None:
        """A checkpoint after any other one: the newest, an older one (a fork), a pruned one."""
        chosen = self.savers[saver % len(self.savers)]
        known = sorted(each for space, each in self.live if space == ns)
        before = None if parent is None or not known else known[parent % len(known)]
        values: dict[str, Any] = {}
        versions: dict[str, Any] = {}
        if before is not None:
            values, versions = self.live[ns, before]
            if source == "loaded" and before in self.stored[ns]:
                values = self.check(chosen, ns, before).checkpoint["channel_values"]
            elif source == "copied":
                values = copy.deepcopy(values)
            if source == "live" and before != known[-1]:
                values = copy.deepcopy(values)  # in a program a fork starts from what was loaded
        values, versions = dict(values), dict(versions)
        newest = max(versions.values(), default=None)
        new = {}
        for channel, what, seed in changes:
            value = next_value(values.get(channel, ABSENT), random.Random(seed), what, channel)
            if value is ABSENT:
                values.pop(channel, None)
            else:
                values[channel] = value
            versions[channel] = new[channel] = chosen.get_next_version(newest, None)
        made = {
            **empty_checkpoint(),
            "channel_values": dict(values),
            "channel_versions": dict(versions),
            "versions_seen": {f"node{run}": dict(new), "__input__": {}},
            "updated_channels": sorted(new),
        }
        metadata = {"step": len(known), "run_id": f"{self.thread} run {run}"}
        self.runs.append(metadata["run_id"])
        # What a checkpoint names is stored, whatever the third argument says.
        passed = {"named": new, "empty": {}, "all": dict(versions)}[named]
        if named == "empty" and any(channel not in values for channel in new):
            passed = new
        config = self.where(ns, before)
        want = Stored(self.serde, made, before, metadata)
        answer = chosen.put(config, made, metadata, passed)
        assert answer == self.where(ns, made["id"])
        self.stored[ns][made["id"]] = want
        self.live[ns, made["id"]] = values, versions
        self.parents[made["id"]] = before

    @rule(steps=st.lists(st.tuples(which, sources, edits), min_size=1, max_size=6))
    def go_on(self, steps: list[Any]) -> None:
        """Some steps one after the other, as a graph takes them, the savers taking turns."""
        for number, (saver, source, changes) in enumerate(steps):
            self.put(saver, -1, "", source, changes, number % 4, "named")

    @rule(saver=which, parent=which, changes=edits, steps=st.lists(edits, max_size=3))
    def branch_off(self, saver: int, parent: int, changes: Any, steps: Any) -> None:
        """A fork from any checkpoint that ever was, and what comes after it."""
        self.put(saver, parent, "", "loaded", changes, 4, "named")
        for each in steps:
            self.put(saver, -1, "", "live", each, 4, "named")

    @precondition(lambda self: self.stored[""])
    @rule(saver=which, chosen=which)
    def put_again(self, saver: int, chosen: int) -> None:
        """The same checkpoint once more, as after an answer that got lost."""
        want = sorted(self.stored[""].values(), key=lambda each: each.id)[
            chosen % len(self.stored[""])
        ]
        values = {channel: self.serde.loads_typed(value) for channel, value in want.values.items()}
        made = {**copy.deepcopy(want.checkpoint), "channel_values": values}
        config = self.where("", want.parent)
        put = self.savers[saver % len(self.savers)].put
        put(config, made, want.metadata, dict(made["channel_versions"]))

    @precondition(lambda self: self.stored[""])
    @rule(saver=which, seed=which)
    def put_newest_again_otherwise(self, saver: int, seed: int) -> None:
        """The newest checkpoint once more with another content: the last put counts."""
        newest = max(self.stored[""])
        values, versions = self.live["", newest]
        dice, chosen = random.Random(seed), self.savers[saver % len(self.savers)]
        values, versions = copy.deepcopy(values), dict(versions)
        values["x"] = next_value(values.get("x", ABSENT), dice, "changed")
        new = {"x": chosen.get_next_version(max(versions.values(), default=None), None)}
        old = self.stored[""][newest]
        made = {
            **copy.deepcopy(old.checkpoint),
            "channel_values": values,
            "channel_versions": {**versions, **new},
        }
        want = Stored(self.serde, made, old.parent, {**old.metadata, "again": seed})
        want.writes = old.writes
        chosen.put(self.where("", old.parent), made, want.metadata, new)
        self.stored[""][newest] = want
        self.live["", newest] = values, made["channel_versions"]

    @precondition(lambda self: self.stored[""])
    @rule(saver=which, chosen=st.just(-1) | which, values=st.lists(which, max_size=3))
    def write(self, saver: int, chosen: int, values: list[int]) -> None:
        """Pending writes, the first of a task and slot counting."""
        known = sorted(self.stored[""])
        want = self.stored[""][known[chosen % len(known)]]
        task = f"{len(want.writes):03}"
        writes = [(f"c{n}", dice) for n, dice in enumerate(values)]
        made = [(name, element(random.Random(seed))) for name, seed in writes]
        put_writes = self.savers[saver % len(self.savers)].put_writes
        put_writes(self.where("", want.id), made, task)
        put_writes(self.where("", want.id), [(name, "late") for name, _ in made], task)
        want.writes += [(task, name, self.serde.dumps_typed(value)) for name, value in made]

    @precondition(lambda self: self.stored[""])
    @rule(saver=which, chosen=which)
    def read(self, saver: int, chosen: int) -> None:
        """Any checkpoint by its id, and the newest without one."""
        reader, known = self.savers[saver % len(self.savers)], sorted(self.stored[""])
        self.check(reader, "", known[chosen % len(known)])
        found = self.check_latest(reader, "")
        for value in found.checkpoint["channel_values"].values():
            spoil(value)  # what a caller does to what it was given must reach nobody else

    @rule(saver=which)
    def read_all(self, saver: int) -> None:
        self.check_all(self.savers[saver % len(self.savers)])

    @rule(saver=which)
    def prune(self, saver: int) -> None:
        """Only the newest of each namespace stays, and stays whole."""
        self.savers[saver % len(self.savers)].prune([self.thread])
        for ns, held in self.stored.items():
            self.stored[ns] = {each: held[each] for each in sorted(held)[-1:]}
        self.pruned = True
        self.check_all(self.savers[0])

    @precondition(lambda self: self.runs)
    @rule(saver=which, chosen=st.lists(which, min_size=1, max_size=2))
    def delete_runs(self, saver: int, chosen: list[int]) -> None:
        """What a run stored goes; what other runs stored on top of it stays whole."""
        gone = {self.runs[each % len(self.runs)] for each in chosen}
        self.savers[saver % len(self.savers)].delete_for_runs(sorted(gone))
        for ns, held in self.stored.items():
            self.stored[ns] = {k: v for k, v in held.items() if v.metadata["run_id"] not in gone}
        self.pruned = True
        self.check_all(self.savers[-1])

    @rule(saver=which)
    def copy(self, saver: int) -> None:
        """A copy holds the same, and going on or deleting it leaves the original alone."""
        chosen, thread = self.savers[saver % len(self.savers)], self.thread
        chosen.copy_thread(thread, f"{thread} copy")
        self.thread = f"{thread} copy"
        try:
            self.check_all(self.savers[0])
            found = chosen.get_tuple(self.where(""))
            if found is not None:
                made = {**found.checkpoint, "id": empty_checkpoint()["id"]}
                made["channel_values"] = {"messages": ["only in the copy"]}
                version = chosen.get_next_version("9", None)
                made["channel_versions"] = {"messages": version}
                chosen.put(found.config, made, {}, {"messages": version})
            chosen.delete_thread(self.thread)
            assert list(chosen.list({"configurable": {"thread_id": self.thread}})) == []
        finally:
            self.thread = thread

    @rule(saver=which, really=st.sampled_from([False, False, False, True]))
    def delete_all(self, saver: int, really: bool) -> None:
        """Afterwards the id is free for a thread that knows nothing of the old one."""
        if not really:
            return
        self.savers[saver % len(self.savers)].delete_thread(self.thread)
        self.stored = {ns: {} for ns in self.stored}
        self.live.clear()
        self.runs.clear()
        self.pruned = False
        for saver_ in self.savers:
            self.check_all(saver_)

    def teardown(self) -> None:
        for saver in self.savers:
            self.check_all(saver)
        if self.open_another is not None:
            cold = self.open_another()
            self.check_all(cold)
            for ns, held in self.stored.items():
                for checkpoint_id in held:
                    self.check(cold, ns, checkpoint_id)
            cold.close()


def spoil(value: Any) -> None:
    if isinstance(value, _DeltaSnapshot):
        spoil(value.value)
    elif isinstance(value, list):
        for item in value:
            spoil(item)
        value.append("spoilt")
    elif isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value["spoilt"] = True
    elif isinstance(value, HumanMessage | AIMessage):
        value.content = "spoilt"
        value.additional_kwargs["spoilt"] = True


def run_threads(savers: list[Any], open_another: Any, examples: int, steps: int = 40) -> None:
    held = {"savers": savers, "open_another": open_another and staticmethod(open_another)}
    machine = type("Threads", (Threads,), held)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples * MORE,
            stateful_step_count=steps,
            deadline=None,
            derandomize=MORE == 1,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_every_version_loads_as_it_was_put(durable: Backend) -> None:
    """Any values, forks, prunes, deletions and repeats, through one saver."""
    run_threads([durable.open()], durable.open, 4 if durable.name == "sqlite" else 2)


def test_every_version_through_two_savers_in_turns(durable: Backend) -> None:
    """The same with two savers at random on one thread, neither knowing what the other did."""
    savers = [durable.open(), durable.open()]
    run_threads(savers, durable.open, 4 if durable.name == "sqlite" else 2)


@pytest.mark.parametrize(
    ("backend", "kind"),
    [("sqlite", "encrypted"), ("postgres", "pickle fallback"), ("sqlite", "own")],
    indirect=["backend"],
)
def test_every_version_through_other_serdes(backend: Backend, kind: str) -> None:
    """The same with serdes that allow less to be known about a value."""
    serde: Any = {
        "encrypted": EncryptedSerializer(Ciphered()),
        "pickle fallback": JsonPlusSerializer(pickle_fallback=True),
        "own": Untyped(),
    }[kind]
    run_threads([backend.open(serde=serde)], None, 3)


# ---- cases worth naming


def alike() -> list[Any]:
    """Values that are easily taken for one another."""
    message = HumanMessage("x", id="1")
    return [
        None, 0, False, 0.0, -0.0, 1, True, 1.0, "1", b"1", "", b"", [], {}, (), [[]], [None], [0],
        [False], [0.0], [-0.0], [1, True, 1.0], [True, 1.0, 1], {"a": 1}, {"a": True}, {"a": 1.0},
        {"a": 1, "b": 2}, {"b": 2, "a": 1}, {1: "a"}, {"1": "a"}, {1.0: "a"}, {True: "a"},
        [{"a": 1, "b": 2}], [{"b": 2, "a": 1}], [["a", "b"]], [{"a": "b"}], [("a", "b")],
        bytearray(b"1"), [b"1"], [bytearray(b"1")], {1, 2}, frozenset({1, 2}), float("nan"),
        [float("nan")], [message], [HumanMessage("x", id="1", name=None)], message, (message,),
        [HumanMessage("x", id=None)], [AIMessage("x", id="1")], {"1": message}, [[message]],
        [HumanMessage("x", id="1", additional_kwargs={"k": 1})],
        [HumanMessage("x", id="1", additional_kwargs={"k": True})],
        [HumanMessage(["x"], id="1")], [message.model_dump()], [message, message],
        _DeltaSnapshot([]), _DeltaSnapshot({}), _DeltaSnapshot(None), _DeltaSnapshot([message]),
        _DeltaSnapshot(_DeltaSnapshot([message])), [_DeltaSnapshot([message])], ABSENT,
    ]  # fmt: skip


def put_versions(saver: Any, versions_of: dict[str, list[Any]]) -> None:
    """Put the nth value of every channel in the nth checkpoint, then check all of them."""
    turns = len(next(iter(versions_of.values())))
    config, versions, wanted = at("t"), dict.fromkeys(versions_of, None), []
    for turn in range(turns):
        values = {name: each[turn] for name, each in versions_of.items()}
        held = {name: value for name, value in values.items() if value is not ABSENT}
        versions = {name: saver.get_next_version(old, None) for name, old in versions.items()}
        made = {**empty_checkpoint(), "channel_values": held, "channel_versions": versions}
        config = saver.put(config, made, {"step": turn}, versions)
        wanted.append((config, {k: as_serde_gives(saver.serde, v) for k, v in held.items()}))
    for turn, (stored, want) in enumerate(wanted):
        got = saver.get_tuple(stored).checkpoint["channel_values"]
        assert set(got) == set(want)
        for name in want:
            assert_same(got[name], want[name], f"channel {name}, version {turn}")


@pytest.mark.parametrize(
    ("backend", "held"),
    [("postgres", "alone"), ("sqlite", "in a long list"), ("sqlite", "in a long dict")],
    indirect=["backend"],
)
def test_values_that_are_easily_confused(backend: Backend, held: str) -> None:
    """From any such value to any other and back: each version is what was put, not its like."""
    long = "long enough to have a strand of its own " * 5

    def inside(value: Any) -> Any:
        if value is ABSENT or held == "alone":
            return value
        return [long, value, {}] if held == "in a long list" else {"long": long, "k": value}

    values = list(map(inside, alike()))
    put_versions(
        backend.open(),
        {
            f"{a} {b}": [values[a], values[b], values[a]]
            for a, b in itertools.combinations(range(len(values)), 2)
        },
    )


@pytest.mark.parametrize(
    ("backend", "held"), [("sqlite", "list"), ("postgres", "dict")], indirect=["backend"]
)
def test_every_change_after_every_other(backend: Backend, held: str) -> None:
    """Each kind of edit of a list, or of a dict, on top of each kind."""
    changes = LIST_CHANGES if held == "list" else DICT_CHANGES
    versions = {}
    for first, second in itertools.product(range(len(changes)), repeat=2):
        dice = random.Random(first * 100 + second)
        value: Any = [element(dice) for _ in range(12)]
        if held == "dict":
            value = {f"/file{n}.md": item for n, item in enumerate(value)}
        several = [value]
        for change in (changes[first], changes[second], changes[second]):
            several.append(change(copy.deepcopy(several[-1]), dice))
        versions[f"{first} {second}"] = several
    put_versions(backend.open(), versions)


def test_who_changes_what_it_got_changes_nothing_stored(backend: Backend) -> None:
    """A value put, or given back, is nobody's later: not the store's, not another reader's."""
    saver = backend.open()
    value = [HumanMessage("x", id="1", additional_kwargs={"k": [1]}), {"deep": [1]}, [1]]
    writes = [("w", [HumanMessage("w", additional_kwargs={"k": [1]})]), ("v", {"deep": [1]})]
    metadata: dict[str, Any] = {"step": 1, "note": {"deep": [1]}}
    made = checkpoint(saver, {"c": value, "d": {"k": value[0]}, "small": [1]})
    want = as_serde_gives(saver.serde, [made["channel_values"], writes, metadata])
    config = saver.put(at("t"), made, metadata, made["channel_versions"])
    saver.put_writes(config, writes, "task")
    for given_ in (value, writes[0][1], writes[1][1], metadata, made["channel_values"]):
        spoil(given_)
    for _ in range(3):
        found = saver.get_tuple(config)
        listed = next(iter(saver.list(at("t"))))
        for each in (found, listed):
            got = [each.checkpoint["channel_values"], [[c, v] for _, c, v in each.pending_writes]]
            assert_same([*got, each.metadata], want, "read again")
            spoil(got)
            spoil(each.metadata)
            spoil(each.checkpoint["channel_versions"])
            spoil(each.checkpoint["versions_seen"])


def test_a_fork_beside_a_long_thread(durable: Backend) -> None:
    """Branches that grow in turns from one ancestor, each from its own tip, keep apart."""
    saver = durable.open()
    base = [HumanMessage(f"{n}", id=f"{n}") for n in range(40)]
    made = checkpoint(saver, {"c": base})
    root = saver.put(at("t"), made, {"step": 0}, made["channel_versions"])
    tips = dict.fromkeys(range(5), (root, base))
    wanted = {}
    for turn in range(6):
        for branch, (config, value) in tips.items():
            value = [*value, AIMessage(f"{branch} {turn}", id=f"{branch} {turn}")]
            if turn == 3:
                value = value[10:]
            made = checkpoint(saver, {"c": value})
            config = saver.put(config, made, {"step": turn}, made["channel_versions"])
            tips[branch], wanted[config["configurable"]["checkpoint_id"]] = (config, value), value
    for reader in (saver, durable.open()):
        for item in reader.list(at("t")):
            if item.checkpoint["id"] in wanted:
                want = as_serde_gives(reader.serde, wanted[item.checkpoint["id"]])
                assert_same(item.checkpoint["channel_values"]["c"], want)


# ---- what it costs


def is_snapshots(table: str) -> bool:
    return "wyrd_snapshots" in table


def is_not_parity(table: str) -> bool:
    return "wyrd_parity" not in table


def stored_bytes(durable: Backend, which: Callable[[str], bool] = lambda table: True) -> int:
    """All that our tables hold, row by row; free pages and indexes left out."""
    with raw(durable.url) as connection:
        total = 0
        for table in filter(which, tables(connection)):
            if is_postgres(durable.url):
                query = f"SELECT coalesce(sum(pg_column_size(t.*)), 0) FROM {table} t"
            else:
                columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
                sizes = "+".join(
                    f"coalesce(length(cast({column[1]} AS BLOB)), 0)" for column in columns
                )
                query = f"SELECT coalesce(sum({sizes}), 0) FROM {table}"
            total += int(connection.execute(query).fetchone()[0])
    return total


def prose(length: int, seed: int) -> str:
    """Text that does not compress below three quarters of its length."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length))


class Growing:
    """One channel's next values, each put on top of the one before."""

    def __init__(self, durable: Backend, value: Any) -> None:
        # What pillars add is weighed in test_pillar_cost.
        self.durable, self.saver, self.config = durable, durable.open(pillars=False), at("t")
        self.version: Any = None
        self.put(value)

    def put(self, value: Any) -> None:
        self.value, self.version = value, self.saver.get_next_version(self.version, None)
        versions = {"c": self.version}
        made = {**empty_checkpoint(), "channel_values": {"c": value}, "channel_versions": versions}
        self.config = self.saver.put(self.config, made, {"source": "loop", "step": 1}, versions)

    def cost(self, value: Any) -> int:
        """How many bytes of rows the next value takes, which must be stored right."""
        before = stored_bytes(self.durable, is_not_parity)
        self.put(value)
        found = self.saver.get_tuple(self.config).checkpoint["channel_values"]["c"]
        assert_same(found, as_serde_gives(self.saver.serde, value))
        return stored_bytes(self.durable, is_not_parity) - before


def test_an_appended_list_costs_what_was_appended(durable: Backend) -> None:
    """Bytes grow in a straight line with the messages, and hardly above them; the snapshots that
    are there hold no more than the messages twice."""
    growing, sizes, value = Growing(durable, []), [], []
    for turn in range(80):
        value = [*value, HumanMessage(prose(400, turn), id=str(turn))]
        growing.put(value)
        if turn in (19, 39, 59, 79):
            sizes.append(stored_bytes(durable, lambda table: not is_snapshots(table)))
    growing.cost(value)
    packed = sum(len(growing.saver.serde.dumps_typed(message)[1]) for message in value)
    assert sizes[-1] <= 2 * packed
    steps = [b - a for a, b in itertools.pairwise(sizes)]
    assert max(steps) <= 1.1 * min(steps), steps
    assert 0 < stored_bytes(durable, is_snapshots) <= 2 * packed


def test_the_file_grows_in_a_straight_line(sqlite: Backend) -> None:
    """So does the file itself, once it is closed."""
    value: list[Any] = []
    config, version, sizes = at("t"), None, []
    for part in range(4):
        saver = sqlite.open(pillars=False)
        for turn in range(100):
            value = [*value, HumanMessage(prose(400, part * 100 + turn), id=f"{part} {turn}")]
            version = saver.get_next_version(version, None)
            versions = {"c": version}
            made = {
                **empty_checkpoint(),
                "channel_values": {"c": value},
                "channel_versions": versions,
            }
            config = saver.put(config, made, {"step": turn}, versions)
        saver.close()
        path = sqlite.url.removeprefix("sqlite:///")
        assert not os.path.exists(path + "-wal"), "the log is folded in at close"
        sizes.append(os.path.getsize(path))
    # Snapshots come now and then, so steps differ; those of a curve would be as 3 to 7.
    steps = [b - a for a, b in itertools.pairwise(sizes)]
    assert max(steps) <= 2 * min(steps), steps
    assert sum(steps) <= 3 * 300 * 500, steps


LONG, SIZE = 400, 600


def long_list_edits() -> dict[str, tuple[Callable[[list[Any]], list[Any]], int]]:
    """Edits of a long list, and how many elements each may cost."""
    new = [HumanMessage(prose(SIZE, 10_000 + n), id=f"new {n}") for n in range(5)]

    def scattered(value: list[Any]) -> list[Any]:
        made = list(value)
        for place, message in zip((3, 90, 200, 201, 390), new, strict=True):
            made[place] = message
        return made

    def touched(value: list[Any]) -> list[Any]:
        value[LONG // 2].additional_kwargs["seen"] = True
        return value

    return {
        "unchanged": (lambda value: list(value), 0),
        "append": (lambda value: [*value, new[0]], 1),
        "edit the middle": (lambda value: [*value[:200], new[0], *value[201:]], 1),
        "touch in place": (touched, 1),
        "insert in front": (lambda value: [new[0], *value], 1),
        "insert in the middle": (lambda value: [*value[:200], new[0], new[1], *value[200:]], 2),
        "edit five places": (scattered, 5),
        "edit and append": (lambda value: [*value[:100], new[0], *value[101:], new[1]], 2),
        "remove one": (lambda value: value[:200] + value[201:], 0),
        "remove several": (lambda value: [m for n, m in enumerate(value) if n % 40], 0),
        "trim the head": (lambda value: value[100:], 0),
        "trim the tail": (lambda value: value[:-100], 0),
        "replace one, remove one": (lambda value: [*value[:9], new[0], *value[11:]], 1),
        "swap": (lambda value: [*value[:9], value[10], value[9], *value[11:]], 2),
        "clear": (lambda value: [], 0),
        "summary": (lambda value: [new[0], *value[-4:]], 5),
    }


def test_an_edit_of_a_long_list_costs_what_it_edits(durable: Backend) -> None:
    """One element changed among hundreds costs about one element, wherever it is."""
    value = [HumanMessage(prose(SIZE, n), id=str(n)) for n in range(LONG)]
    growing = Growing(durable, value)
    costs = {}
    for name, (edit, elements) in long_list_edits().items():
        growing.put(value)
        cost = growing.cost(edit(copy.deepcopy(value)))
        costs[name] = cost, elements * (SIZE + 200) + 1500
    assert not {name: cost for name, cost in costs.items() if cost[0] > cost[1]}


def test_a_file_among_many_costs_itself(durable: Backend) -> None:
    """A deep agent's files are a dict of big entries: only the entry that changed is stored."""
    size = 4000
    files = {f"/notes/{n}.md": {"content": [prose(size, n)], "at": n} for n in range(40)}
    growing = Growing(durable, files)
    changed = {**files, "/notes/7.md": {"content": [prose(size, 100)], "at": 1}}
    touched = copy.deepcopy(changed)
    touched["/notes/8.md"]["at"] = 5
    added = {**touched, "/new.md": {"content": [prose(size, 101)], "at": 2}}
    fewer = {name: entry for name, entry in added.items() if name != "/notes/9.md"}
    both = {**fewer, "/notes/1.md": {"content": ["short"]}, "/b.md": {"content": [prose(size, 9)]}}
    small = 700
    before = stored_bytes(durable, lambda table: "wyrd_parity" in table)
    assert growing.cost(dict(files)) <= small
    assert growing.cost(changed) <= size + small
    assert growing.cost(touched) <= size + small
    assert growing.cost(added) <= size + small
    assert growing.cost(fewer) <= small
    assert growing.cost(both) <= size + 2 * small
    # Parity holds as much as the largest of the rows, and one row of each size begins its group.
    parity = stored_bytes(durable, lambda table: "wyrd_parity" in table)
    assert parity - before <= 2 * size + small


def test_storage_grows_with_what_changed(durable: Backend) -> None:
    """A hundred and more random edits cost their own elements, compaction included."""
    dice = random.Random(3)
    value = [{"content": prose(300, n)} for n in range(100)]
    growing, inserted_bytes = Growing(durable, value), 0
    before = stored_bytes(durable)
    for turn in range(150):
        made = list(value)
        for _ in range(dice.choice([1, 1, 2, 3])):
            place = dice.randrange(len(made))
            what = dice.choice(["edit", "edit", "insert", "remove"])
            if what == "remove" and len(made) > 80:
                del made[place]
            else:
                new = {"content": prose(300, 1000 + turn * 10)}
                made[place : place + (what == "edit")] = [new]
                inserted_bytes += 330
        growing.put(made)
        value = made
    growing.cost(value)
    rows = 150 * 500  # of the checkpoints themselves
    assert stored_bytes(durable) - before <= 2.5 * inserted_bytes + rows


def nodes_graph(count: int, saver: Any) -> Any:
    builder = StateGraph(Counting)
    for number in range(count):
        builder.add_node(f"node_{number}", lambda state: {"turn": state["turn"] + 1})
        builder.add_edge(f"node_{number - 1}" if number else START, f"node_{number}")
    return builder.compile(checkpointer=saver)


class Counting(TypedDict):
    turn: int


def test_frames_do_not_grow_with_the_graph(durable: Backend) -> None:
    """A step of a graph of sixty nodes stores hardly more than a step of one of six."""
    costs = {}
    for count, turns in ((6, 22), (60, 3)):
        graph = nodes_graph(count, durable.open())
        config: Any = {"configurable": {"thread_id": f"{count} nodes"}, "recursion_limit": 100}
        graph.invoke({"turn": 0}, config)
        before, steps = stored_bytes(durable), len(list(graph.get_state_history(config)))
        for _ in range(turns):
            graph.invoke({"turn": 0}, config)
        steps = len(list(graph.get_state_history(config))) - steps
        assert steps >= 130
        costs[count] = (stored_bytes(durable) - before) / steps
    assert costs[60] <= 1.5 * costs[6], costs


def test_versions_seen_by_all_are_stored_once(durable: Backend) -> None:
    """Sixty nodes that each saw twenty channels: a step that moves one of each costs little."""
    saver = durable.open()
    names = [f"channel_{n}" for n in range(20)]
    versions = {name: saver.get_next_version(None, None) for name in names}
    seen = {f"node_{n}": dict(versions) for n in range(60)}
    config, naive, before = at("t"), 0, 0
    for turn in range(120):
        name = names[turn % 20]
        versions = {**versions, name: saver.get_next_version(versions[name], None)}
        seen = {**seen, f"node_{turn % 60}": dict(versions)}
        made = {
            **empty_checkpoint(),
            "channel_values": dict.fromkeys(names, turn),
            "channel_versions": versions,
            "versions_seen": seen,
        }
        naive += len(saver.serde.dumps_typed([versions, seen])[1])
        config = saver.put(config, made, {"step": turn}, {name: versions[name]})
        if turn == 0:
            before = stored_bytes(durable)
    found = durable.open().get_tuple(config)
    assert found.checkpoint["versions_seen"] == seen
    assert found.checkpoint["channel_versions"] == versions
    assert (stored_bytes(durable) - before) * 20 <= naive


@pytest.mark.parametrize("how", ["prune", "runs", "thread"])
def test_what_is_deleted_is_gone(durable: Backend, how: str) -> None:
    """No row holds an element any longer that only deleted checkpoints had."""
    saver = durable.open()
    secret, kept = prose(40, 1), [HumanMessage(prose(40, n), id=str(n)) for n in range(2, 9)]
    told = HumanMessage(f"my number is {secret}", id="secret", additional_kwargs={"k": secret})
    heard = AIMessage("I noted it.", id="heard")
    stages = [[*kept[:3], told], [*kept[:3], told, heard, *kept[3:]], kept]
    config: Any = at("t")
    for number, messages in enumerate(stages):
        files = {"a": {"c": messages[0].content}, **({"b": secret} if told in messages else {})}
        note = {"note": secret} if told in messages else {}
        made = checkpoint(saver, {"messages": messages, "files": files, "small": [*note.values()]})
        run = "last" if number == 2 else "first"
        metadata = {"step": number, "run_id": run, **note}
        config = saver.put(config, made, metadata, made["channel_versions"])
        if number < 2:
            saver.put_writes(config, [("messages", [told])], secret, secret)
    assert holds(durable, secret)
    want = as_serde_gives(saver.serde, made["channel_values"])
    if how == "prune":
        saver.prune(["t"])
    elif how == "runs":
        saver.delete_for_runs(["first"])
    else:
        saver.delete_thread("t")
    assert not holds(durable, secret)
    found = list(durable.open().list(at("t")))
    assert [item.checkpoint["channel_values"] for item in found] == (
        [] if how == "thread" else [want]
    )


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "plain, for proof"])
def test_encrypted_values_leave_no_plain_text(durable: Backend, sealed: bool) -> None:
    """With an encrypting serde no row shows a piece of a value, be it small, a key or a repeat.

    Ids stay in the clear, in the pillars as elsewhere.
    """
    secret = prose(40, 1)
    values = {
        "messages": [HumanMessage(secret, id="an id"), AIMessage("x", name=secret)],
        "files": {secret: "x", "b": {"c": [secret]}},
        "small": secret,
        "long": f"{secret} " * 100,
        "tuple": (secret,),
        "snapshot": _DeltaSnapshot([secret, "x" * 200]),
    }
    saver = durable.open(serde=EncryptedSerializer(Ciphered()) if sealed else None)
    config = at("t")
    for turn in range(3):
        made = checkpoint(saver, {**values, "turn": [turn, secret]})
        config = saver.put(config, made, {"step": turn}, made["channel_versions"])
        saver.put_writes(config, list(values.items()), f"task {turn}")
    assert bool(holds(durable, secret)) != sealed


def holds(durable: Backend, needle: str) -> list[str]:
    """The tables in which some cell has this text in it."""
    found = []
    with raw(durable.url) as connection:
        for table in tables(connection):
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                if any(needle in _text(cell) for cell in row):
                    found.append(table)
    return found


def _text(cell: Any) -> str:
    if isinstance(cell, bytes | memoryview):
        return bytes(cell).decode("latin-1")
    return str(cell)


# ---- damage


class Damaged:
    """A thread with something of everything, and a way to spoil its rows and to see what loads."""

    def __init__(self, durable: Backend) -> None:
        self.durable = durable
        saver = durable.open()
        config: Any = at("t")
        messages = [HumanMessage(f"message {n} {prose(30, n)}", id=str(n)) for n in range(6)]
        files = {f"/{n}": {"content": prose(50, n)} for n in range(4)}
        for turn in range(4):
            made = checkpoint(
                saver,
                {
                    "messages": messages,
                    "files": files,
                    "long": prose(2000, turn),
                    "small": turn,
                    "numbers": [turn] * 3,
                    "snapshot": _DeltaSnapshot([turn, messages[0]]),
                },
                versions_seen={"node": {"messages": f"{turn}"}},
            )
            metadata = {"source": "loop", "step": turn, "exact": (turn,) if turn % 2 else turn}
            config = saver.put(config, made, metadata, made["channel_versions"])
            writes = [("messages", [messages[turn]]), ("odd", {"k": turn}), ("n", turn)]
            saver.put_writes(config, writes, f"task {turn}", f"path {turn}")
            messages = [
                *messages[:2],
                AIMessage(f"edit {turn}", id="e"),
                *messages[3:],
                messages[0],
            ]
            files = {**files, f"/{turn}": {"content": prose(60, 100 + turn)}}
        self.sound = {item.checkpoint["id"]: item for item in saver.list(at("t"))}
        saver.close()

    def load(self) -> list[str]:
        """The checkpoints that are refused as damaged; what does load must be as it was put."""
        saver, refused = self.durable.open(on_damage="raise"), []
        try:
            for checkpoint_id, sound in self.sound.items():
                try:
                    found = saver.get_tuple(at("t", checkpoint_id))
                except errors.CheckpointDamaged:
                    refused.append(checkpoint_id)
                    continue
                assert found is not None, "a damaged checkpoint is not a missing one"
                assert_same(list(found), list(sound), "loaded from a damaged database")
            try:
                listed = {item.checkpoint["id"]: item for item in saver.list(at("t"))}
            except errors.CheckpointDamaged:
                assert refused
            else:
                assert not refused
                assert_same(listed, self.sound, "listed from a damaged database")
        finally:
            saver.close()
            self.durable.opened.remove(saver)
        return refused


class Table:
    """The rows of a table as raw SQL sees them."""

    def __init__(self, connection: Any, name: str) -> None:
        self.connection, self.name = connection, name
        if is_sqlite := not hasattr(connection, "pgconn"):
            info = connection.execute(f"PRAGMA table_info({name})").fetchall()
            self.columns = [row[1] for row in info]
            self.keys = [row[1] for row in info if row[5]]
            if name in TABLES and TABLES[name].rowid:  # the rest of its key is a unique index
                self.keys += TABLES[name].key
        else:
            found = connection.execute(f"SELECT * FROM {name}").description
            self.columns = [column.name for column in found]
            psycopg.types.json.set_json_loads(bytes.decode, connection)  # JSON as text, to put back
            query = (
                "SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND"
                " attnum = ANY(indkey) WHERE indisprimary AND indrelid = %s::regclass"
            )
            self.keys = [row[0] for row in connection.execute(query, (name,)).fetchall()]
        self.mark = "?" if is_sqlite else "%s"
        assert self.keys, f"{name} has no primary key"

    def rows(self) -> list[dict[str, Any]]:
        order = ", ".join(self.keys)
        found = self.connection.execute(f"SELECT * FROM {self.name} ORDER BY {order}").fetchall()
        made = [dict(zip(self.columns, row, strict=True)) for row in found]
        return [
            {k: bytes(v) if isinstance(v, memoryview) else v for k, v in r.items()} for r in made
        ]

    def _where(self, row: dict[str, Any]) -> tuple[str, list[Any]]:
        return " AND ".join(f"{k} = {self.mark}" for k in self.keys), [row[k] for k in self.keys]

    def update(self, row: dict[str, Any], **values: Any) -> None:
        sets = ", ".join(f"{name} = {self.mark}" for name in values)
        where, keys = self._where(row)
        query = f"UPDATE {self.name} SET {sets} WHERE {where}"
        assert self.connection.execute(query, [*values.values(), *keys]).rowcount == 1

    def delete(self, row: dict[str, Any]) -> None:
        where, keys = self._where(row)
        self.connection.execute(f"DELETE FROM {self.name} WHERE {where}", keys)

    def insert(self, row: dict[str, Any]) -> None:
        marks = ", ".join([self.mark] * len(row))
        query = f"INSERT INTO {self.name} ({', '.join(row)}) VALUES ({marks})"
        self.connection.execute(query, list(row.values()))


def spoilt(cell: Any, dice: random.Random) -> Iterator[Any]:
    """The same cell with something wrong in it."""
    if isinstance(cell, bytes) and cell:
        for place in {0, len(cell) - 1, len(cell) // 2, dice.randrange(len(cell))}:
            yield cell[:place] + bytes([cell[place] ^ 1 << dice.randrange(8)]) + cell[place + 1 :]
        yield cell[:-1]
        yield cell + b"\0"
        yield b""
    elif isinstance(cell, str) and cell:
        place = dice.randrange(len(cell))
        other = "1" if cell[place] != "1" else "2"
        yield cell[:place] + other + cell[place + 1 :]
    elif isinstance(cell, int) and not isinstance(cell, bool):
        yield cell + 1 if cell < 2**31 - 1 else cell - 1


PIECES = damage.PIECES


def test_a_changed_byte_is_never_loaded(durable: Backend) -> None:
    """One byte changed in any stored piece: the load raises, or what was changed did not matter."""
    damaged, dice = Damaged(durable), random.Random(1)
    assert damaged.load() == []
    noticed: dict[str, set[str]] = {name: set() for name in PIECES}
    most = 3 if durable.name == "sqlite" or MORE > 1 else 1
    with raw(durable.url) as connection:
        for name in PIECES:
            table = Table(connection, name)
            rows = table.rows()
            for column in table.columns:
                if column in table.keys:
                    continue
                filled = [row for row in rows if row[column]]
                for row in dice.sample(filled, min(len(filled), most)):
                    for wrong in spoilt(row[column], dice):
                        try:
                            table.update(row, **{column: wrong})
                        except psycopg.errors.InvalidTextRepresentation:
                            continue  # no JSON: the database itself refuses it
                        refused = damaged.load()
                        if refused:
                            noticed[name].add(column)
                        assert refused or not isinstance(wrong, bytes), (
                            f"{name}.{column}: {wrong!r}"
                        )
                        table.update(row, **{column: row[column]})
    assert damaged.load() == []
    assert all(noticed.values()), noticed


def test_swapped_pieces_are_never_loaded(durable: Backend) -> None:
    """Two rows' bytes swapped, with their checksums or without: the load raises."""
    damaged, dice = Damaged(durable), random.Random(2)
    with raw(durable.url) as connection:
        for name in PIECES:
            table = Table(connection, name)
            rows, others = table.rows(), [c for c in table.columns if c not in table.keys]
            blobs = [c for c in others if any(isinstance(row[c], bytes) for row in rows)]
            for columns in (blobs, others):
                pairs = list(itertools.combinations(rows, 2))
                for one, two in dice.sample(pairs, min(len(pairs), 8)):
                    if [one[c] for c in columns] == [two[c] for c in columns]:
                        continue
                    table.update(one, **{c: two[c] for c in columns})
                    table.update(two, **{c: one[c] for c in columns})
                    what = (
                        f"{name} {[[row[k] for k in table.keys] for row in (one, two)]} {columns}"
                    )
                    assert damaged.load(), what
                    table.update(one, **{c: one[c] for c in columns})
                    table.update(two, **{c: two[c] for c in columns})
    assert damaged.load() == []


def test_missing_pieces_are_never_passed_over(durable: Backend) -> None:
    """A row of a strand that is gone, or stands there twice, is noticed, whichever it is."""
    damaged = Damaged(durable)
    with raw(durable.url) as connection:
        table = Table(connection, PIECES[0])
        step = 1 if durable.name == "sqlite" or MORE > 1 else 3
        for row in table.rows()[::step]:
            table.delete(row)
            assert damaged.load(), {k: row[k] for k in table.keys}
            table.insert(row)
        for name in tables(connection):
            short = name.rpartition(".")[2].strip('"')
            if short in (*PIECES, "wyrd_threads", "wyrd_migrations"):
                continue
            table = Table(connection, name)
            for row in table.rows():
                table.delete(row)
                damaged.load()
                table.insert(row)
    assert damaged.load() == []


def test_damage_in_one_thread_leaves_the_others_alone(durable: Backend) -> None:
    """Who reads another thread, or all but the damaged one, is not stopped by it."""
    saver = durable.open()
    for thread in ("sound", "damaged"):
        made = checkpoint(saver, {"messages": [HumanMessage(prose(50, 1), id=thread)]})
        saver.put(at(thread), made, {"step": 1}, made["channel_versions"])
    saver.close()
    with raw(durable.url) as connection:
        table = Table(connection, PIECES[0])
        held = (
            (row, column, value)
            for row in table.rows()
            for column, value in row.items()
            if column == "delta" and b"damaged" in value
        )
        row, column, value = next(held)
        table.update(row, **{column: value.replace(b"damaged", b"dbmaged")})
    reader = durable.open(on_damage="raise")
    with pytest.raises(errors.CheckpointDamaged):
        reader.get_tuple(at("damaged"))
    found = reader.get_tuple(at("sound"))
    assert found.checkpoint["channel_values"]["messages"][0].id == "sound"
    made = checkpoint(reader, {"messages": ["new"]})
    reader.put(at("damaged"), made, {"step": 2}, made["channel_versions"])
    found = reader.get_tuple(at("damaged"))
    assert found.checkpoint["channel_values"] == {"messages": ["new"]}
