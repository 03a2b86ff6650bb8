"""What a step adds to the database: what it changed, and a few words of working state."""

from __future__ import annotations

import copy
import itertools
import os
import random
import statistics
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from tests.conftest import Backend
from tests.odd_values import (
    as_serde_gives,
    assert_same,
    at,
)
from tests.stored_sizes import is_not_parity, is_snapshots, prose, stored_bytes

# ---- values


class Growing:
    """One channel's next values, each put on top of the one before."""

    def __init__(self, durable: Backend, value: Any) -> None:
        # What pillars add is weighed below.
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


# ---- the working state


def grown(durable: Backend, thread: str, pillars: bool, values: list[dict[str, Any]]) -> list[int]:
    """How many bytes the database grows by with each of these successive states."""
    saver, config, version, sizes = durable.open(pillars=pillars), at(thread), None, []
    before = stored_bytes(durable)
    for value in values:
        version = saver.get_next_version(version, None)
        versions = dict.fromkeys(value, version)
        made = {**empty_checkpoint(), "channel_values": value, "channel_versions": versions}
        config = saver.put(config, made, {"source": "loop", "step": 1}, versions)
        after = stored_bytes(durable)
        sizes.append(after - before)
        before = after
    saver.close()
    return sizes


def test_a_long_conversation_costs_no_more_a_turn_than_a_short_one(durable: Backend) -> None:
    """The seventieth turn adds as much to the pillars as the tenth."""
    said: list[Any] = []
    states = []
    for turn in range(70):
        said = [*said, HumanMessage(f"Find {prose(60, turn)}", id=f"h{turn}")]
        states.append({"messages": said})
        said = [*said, AIMessage(prose(60, turn), id=f"a{turn}")]
        states.append({"messages": said})
    plain = grown(durable, "plain", False, states)
    read = grown(durable, "read", True, states)
    added = [a - b for a, b in zip(read, plain, strict=True)]
    turns = [added[n] + added[n + 1] for n in range(0, 140, 2)]
    assert statistics.median(turns[55:]) <= 1.1 * statistics.median(turns[10:30])
    assert sum(turns) <= 1.35 * 70 * statistics.median(turns), "with a base every 64"


def test_a_big_value_costs_the_pillars_a_line(durable: Backend) -> None:
    """Of a channel that is large and changes at each step, the ledger holds a few words a step."""
    states = [{"report": f"{n} " + prose(8000, n)} for n in range(20)]
    plain = grown(durable, "plain", False, states)
    read = grown(durable, "read", True, states)
    assert sum(read[5:]) - sum(plain[5:]) <= 15 * 1000
