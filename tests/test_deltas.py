"""Values that change from step to step: every version of them loads exactly as it was put."""

from __future__ import annotations

import copy
import itertools
import os
import random
import string
from collections.abc import Callable
from typing import Any

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

from langgraph_wyrd.codec.delta import Value, fresh_places, operation, whole
from langgraph_wyrd.codec.values import Codec, counted
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
from tests.outside import raw, tables
from tests.sealed import Own
from tests.stored_sizes import prose

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


def scattered(value: list[Any], dice: random.Random) -> Any:
    return [element(dice) if place % 3 == 1 else item for place, item in enumerate(value)]


def in_another_order(value: list[Any], dice: random.Random) -> Any:
    """The same messages, with their fields in another order: nothing changed."""
    for item in value:
        if isinstance(item, HumanMessage | AIMessage):
            object.__setattr__(item, "__dict__", dict(reversed(item.__dict__.items())))
    return value


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
    scattered,
    in_another_order,
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

# ---- operations

UNCHANGED: list[Any] = [
    *([HumanMessage(f"m{n}", id=str(n)) for n in range(count)] for count in (0, 1, 31, 32, 33, 64)),
    [{"n": n} for n in range(40)],
    [1, 2.5, None, True],
    [Point(1), "text"],
    {"a": [1], "b": HumanMessage("in a dict")},
    {},
    {1: "not text"},
    _DeltaSnapshot([HumanMessage("m", id="1")]),
    _DeltaSnapshot({"a": 1}),
    _DeltaSnapshot("text"),
]


@pytest.mark.parametrize("place", range(len(UNCHANGED)))
def test_what_did_not_change_is_no_operation(place: int) -> None:
    """An equal value is not stored again; as a DeltaChannel's snapshot it is another value."""
    codec, value = Codec(JsonPlusSerializer()), UNCHANGED[place]
    made, mark = operation(codec, None, value, "c")
    assert made is not None
    assert operation(codec, mark, copy.deepcopy(value), "c") == (None, mark)
    other = value.value if isinstance(value, _DeltaSnapshot) else _DeltaSnapshot(value)
    changed, _ = operation(codec, mark, other, "c")
    assert changed is not None
    held = Value(codec)
    held.apply(made)
    held.apply(changed)
    assert_same(held.get(), as_serde_gives(codec.serde, other))


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 100])
@pytest.mark.parametrize("more", [1, 2, 40])
def test_an_appended_list_is_one_edit(count: int, more: int) -> None:
    """Only what is behind the list that was there is packed, and its places are known."""
    codec = Codec(JsonPlusSerializer())
    before = [HumanMessage(f"m{n}", id=str(n)) for n in range(count)]
    after = [*before, *(HumanMessage(f"m{n}", id=f"more{n}") for n in range(more))]
    mark = operation(codec, None, before, "c")[1]
    made, mark_after = operation(codec, mark, after, "c")
    assert made is not None
    ((keep, cut, parts),) = made[2]
    assert (made[0], keep, cut, counted(parts)) == ("s", count, 0, more)
    assert fresh_places(made, mark, mark_after) == [*range(count, count + more)]
    assert mark_after == operation(codec, None, after, "c")[1]._replace(size=mark_after.size)
    assert mark == operation(codec, None, before, "c")[1]  # a write that fails goes on from it


def test_what_is_new_in_a_list_that_is_stored_whole() -> None:
    """A serde of the user's own has its values stored whole; which elements are new is known."""
    codec = Codec(Own())
    before = [HumanMessage(f"m{n}", id=str(n)) for n in range(3)]
    made, mark = operation(codec, None, before, "c")
    assert made is not None
    assert (made[0], fresh_places(made, None, mark)) == ("w", [0, 1, 2])
    for after, places in (
        ([*before, HumanMessage("more", id="3")], [3]),
        ([before[0], HumanMessage("other", id="1"), before[2]], [1]),
        (before[1:], []),
        ([1, 2], None),
        ("text", None),
    ):
        made, mark_after = operation(codec, mark, after, "c")
        assert made is not None
        assert fresh_places(made, mark, mark_after) == places


def test_many_edits_are_one() -> None:
    """Beyond 32 places the stretch between the first and the last is stored anew, in one piece."""
    codec = Codec(JsonPlusSerializer())
    before = [{"n": n} for n in range(200)]
    for places, edits in ((range(10, 190, 9), 20), (range(10, 190, 4), 1)):
        after = [{"n": -n} if n in places else held for n, held in enumerate(before)]
        made, _ = operation(codec, operation(codec, None, before, "c")[1], after, "c")
        assert made is not None
        assert len(made[2]) == edits
        assert min(keep for keep, _, _ in made[2]) == 10
        value = Value(codec)
        value.apply(whole(codec, before, "c"))
        value.apply(made)
        assert value.get() == after


@pytest.mark.parametrize("shift", [1, -1])
def test_a_list_that_moved_is_stored_as_its_ends(shift: int) -> None:
    """Where nearly every place holds something else, what stayed in its order is not stored."""
    codec = Codec(JsonPlusSerializer())
    before = [{"n": n} for n in range(60)]
    after = [*before[1:], {}] if shift > 0 else [{}, *before[:-1]]
    made, _ = operation(codec, operation(codec, None, before, "c")[1], after, "c")
    assert made is not None
    assert sum(counted(parts) for _, _, parts in made[2]) == 1
    assert sum(cut for _, cut, _ in made[2]) == 1


ENTRIES = {f"k{n}": {"n": n} for n in range(9)}
DICTS: dict[str, tuple[dict[str, Any], Any]] = {
    "one is added": ({**ENTRIES, "new": 1}, ("p", [], 1)),
    "one changes": ({**ENTRIES, "k3": 1}, ("p", [], 1)),
    "one is removed": ({k: v for k, v in ENTRIES.items() if k != "k3"}, ("p", ["k3"], 0)),
    "one moves to the end": (
        {**{k: v for k, v in ENTRIES.items() if k != "k3"}, "k3": ENTRIES["k3"]},
        ("d", 9),
    ),
    "all are removed": ({}, ("p", [*ENTRIES], 0)),
    "most change": ({k: v if k == "k3" else 1 for k, v in ENTRIES.items()}, ("d", 9)),
}


@pytest.mark.parametrize("what", DICTS)
def test_a_dict_stores_the_entries_that_changed(what: str) -> None:
    """In their order: where that is another one, or most changed, the dict is stored whole."""
    codec = Codec(JsonPlusSerializer())
    after, expected = DICTS[what]
    first, mark = operation(codec, None, ENTRIES, "c")
    made, _ = operation(codec, mark, after, "c")
    assert first is not None
    assert made is not None
    kind, _, *counts, _ = made
    assert (kind, *counts) == expected
    value = Value(codec)
    value.apply(first)
    value.apply(made)
    assert list(value.get().items()) == list(after.items())


def test_an_edit_that_does_not_fit_is_refused() -> None:
    """A wrong list is never made of it."""
    codec = Codec(JsonPlusSerializer())
    value = Value(codec)
    value.apply(whole(codec, [{"n": 1}], "c"))
    value.apply(["s", False, [[1, 1, []]]])
    with pytest.raises(ValueError, match="does not fit"):
        value.get()


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
            # What came after an older one may have changed its values in place, under versions that
            # do not say so: a fork starts from what was loaded, as in a program.
            fork = before != known[-1]
            if (source == "loaded" or fork) and before in self.stored[ns]:
                values = self.check(chosen, ns, before).checkpoint["channel_values"]
            elif source == "copied" or fork:
                values = copy.deepcopy(values)
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


def test_a_fork_next_to_a_long_thread(durable: Backend) -> None:
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


# ---- what is stored of it


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
