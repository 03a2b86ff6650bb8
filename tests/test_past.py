"""A thread's past after real runs: history, tree, diffs and first changes, against what the graph
itself and a plain reading of every checkpoint say."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from conftest import Backend
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langgraph_wyrd import WyrdSaver, apply, diff, merge
from langgraph_wyrd.state.matching import PILLARS, Change
from langgraph_wyrd.state.model import Item, WorkingState
from langgraph_wyrd.state.results import HistoryEntry, Tree
from langgraph_wyrd.state.value_diff import diff_values, is_same_at, is_users, keys_of
from tests.story import NULL_TASK, Teller, without_loop

SEEDS = [range(start, start + 4) for start in (0, 4, 8)]


# ---- random graphs: every entry, by a plain reading


class Played:
    """A random program played on a saver, and what a reading of all its checkpoints gives."""

    def __init__(self, saver: WyrdSaver, seed: int, turns: int = 6) -> None:
        teller = Teller(seed, [saver], False)

        async def play() -> None:
            for teller.turn in range(turns):
                await teller.record("act", teller.act())

        without_loop(play())
        self.saver, self.rng = saver, random.Random(f"past {seed}")
        self.thread = saver.thread(teller.thread)
        root = {"configurable": {"thread_id": teller.thread, "checkpoint_ns": ""}}
        self.rows = list(saver.list(root))
        self.by_id = {row.checkpoint["id"]: row for row in self.rows}
        inside = [
            row
            for row in saver.list({"configurable": {"thread_id": teller.thread}})
            if row.config["configurable"]["checkpoint_ns"]
        ]
        self.had_subgraphs = {row.metadata.get("parents", {}).get("") for row in inside}
        self.due = {
            each.config["configurable"]["checkpoint_id"]: {task.name for task in each.tasks}
            for each in teller.graph.get_state_history(teller.config)
        }

    def parent(self, row: Any) -> Any:
        if row.parent_config is None:
            return None
        return self.by_id[row.parent_config["configurable"]["checkpoint_id"]]

    def values(self, row: Any) -> dict[str, Any]:
        if row is None:
            return {}
        held = row.checkpoint["channel_values"].items()
        return {
            name: value.value if isinstance(value, _DeltaSnapshot) else value
            for name, value in held
            if is_users(name)
        }

    def state(self, row: Any) -> WorkingState:
        return WorkingState() if row is None else self.thread.working_state(row.checkpoint["id"])

    def line(self, row: Any) -> list[Any]:
        """The path to a checkpoint, oldest first."""
        found = []
        while row is not None:
            found.append(row)
            row = self.parent(row)
        return found[::-1]


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_the_past_of_random_programs(durable: Backend, seeds: range) -> None:
    """History, diffs and first changes say what a plain reading of every checkpoint says."""
    saver = durable.open()
    for seed in seeds:
        played = Played(saver, seed)
        history_is_right(played)
        diffs_are_right(played)
        first_changes_are_right(played)


def own(state: WorkingState) -> WorkingState:
    """A state without what was left behind on other branches."""
    return replace(state, loops=tuple(loop for loop in state.loops if not loop.left))


def history_is_right(played: Played) -> None:
    """Each entry says of its checkpoint what LangGraph says, what reading the values says, and
    what a diff of the working states says; pages are the history, cut."""
    entries = played.thread.history(1000)
    assert [e.checkpoint_id for e in entries] == [r.checkpoint["id"] for r in played.rows]
    assert [e for e in entries if e.head] == entries[:1]
    for entry, row in zip(entries, played.rows, strict=True):
        parent = played.parent(row)
        meta = row.metadata
        assert (entry.ts, entry.step, entry.source, entry.run_id) == (
            row.checkpoint["ts"], meta.get("step"), meta.get("source"), meta.get("run_id"),
        )  # fmt: skip
        assert entry.parent_id == (parent and parent.checkpoint["id"])
        assert entry.children == tuple(
            sorted(e.checkpoint_id for e in entries if e.parent_id == entry.checkpoint_id)
        )
        compare_channels(played, entry, parent, row)
        compare_nodes(played, entry, parent)
        told = replace(diff(own(played.state(parent)), own(played.state(row))), fields={})
        alone = played.had_subgraphs.isdisjoint((entry.checkpoint_id, entry.parent_id))
        if alone and not told.empty:
            assert entry.summary.startswith(told.summary()), entry
    paged: list[HistoryEntry] = []
    while page := played.thread.history(7, paged[-1] if paged else None):
        paged += page
    assert paged == entries
    tree = played.thread.tree()
    light = [replace(each, nodes=(), changed=(), summary="") for each in entries]
    assert [*tree.entries.values()] == light
    assert tree.newest == tuple(row.checkpoint["id"] for row in played.line(played.rows[0]))
    assert set(tree.roots) == {e.checkpoint_id for e in entries if e.parent_id is None}


def compare_channels(played: Played, entry: HistoryEntry, parent: Any, row: Any) -> None:
    """All channels are told of whose values differ; of delta channels, if they were written to.
    Besides them only what was written anew, as it was before."""
    old, new = played.values(parent), played.values(row)
    found = diff_values(old, new)
    paths = (*found.added, *found.removed, *found.changed, *found.messages)
    differ = {path.partition("[")[0] for path in paths}
    a, b = ({} if r is None else r.checkpoint["channel_versions"] for r in (parent, row))
    if "trace" not in old or "trace" not in new:
        differ -= {"trace"}
        if a.get("trace") != b.get("trace"):
            differ.add("trace")
    assert set(entry.changed) >= differ, entry
    for name in set(entry.changed) - differ:
        assert name in old, entry
        assert name in new, entry
        assert a[name] != b[name], entry


def compare_nodes(played: Played, entry: HistoryEntry, parent: Any) -> None:
    """What ran is what LangGraph was about to run at the parent."""
    if entry.source != "loop" or parent is None:
        return
    if any(task.endswith(NULL_TASK[8:]) for task, _, _ in parent.pending_writes):
        return  # a Command went elsewhere from there, or a run was saved at its end only
    if entry.step == parent.metadata.get("step", -9) + 1:
        ran = played.due[parent.checkpoint["id"]]
        assert not ran or set(entry.nodes) == ran - {"__start__"}, entry


def diffs_are_right(played: Played) -> None:
    """Between any two checkpoints: applied to one side a diff gives the other, inverted it leads
    back; of one checkpoint it is empty; its channels are those of the values."""
    thread, rng = played.thread, played.rng
    for _ in range(6):
        one, other = rng.choice(played.rows), rng.choice(played.rows)
        a, b = one.checkpoint["id"], other.checkpoint["id"]
        found = thread.diff(a, b)
        at_a, at_b = thread.working_state(a), thread.working_state(b)
        assert apply(at_a, found) == at_b
        assert apply(at_b, found.invert()) == at_a
        assert apply(at_a, diff(at_a, at_b)) == at_b
        assert thread.diff(a, a).empty
        assert merge(at_a, at_a, at_b) == (at_b, ())
        assert found.channels is not None
        values = [played.values(each) for each in (one, other)]
        versions = [each.checkpoint["channel_versions"].get("trace") for each in (one, other)]
        hidden = any(v and "trace" not in held for v, held in zip(versions, values, strict=True))
        if hidden:  # kept as deltas, and no snapshot there
            values = [{k: v for k, v in each.items() if k != "trace"} for each in values]
        unread = ("trace",) if hidden and versions[0] != versions[1] else ()
        assert found.channels == replace(diff_values(*values), unread=unread)
        light = thread.diff(a, b, channels=False)
        assert light.channels is None
        assert (light.changes, light.fields) == (found.changes, found.fields)


def first_changes_are_right(played: Played) -> None:
    """Of a channel, a path into a value and an item: the first checkpoint that a plain reading of
    the whole line finds."""
    rng = played.rng
    line = played.line(rng.choice([played.rows[0], rng.choice(played.rows)]))
    start = rng.choice([0, 0, rng.randrange(len(line))])
    a = None if start == 0 else line[start - 1].checkpoint["id"]
    b = line[-1].checkpoint["id"]
    rows = [line[start - 1] if start else None, *line[start:]]
    values = [played.values(row) for row in rows]
    ids = [row and row.checkpoint["id"] for row in rows]

    def first(differs: Callable[[int], bool], rows: list[Any] = rows) -> str | None:
        found = (n for n in range(1, len(rows)) if differs(n))
        return next((rows[n].checkpoint["id"] for n in found), None)

    def asked(what: Any, a: Any = a, b: str = b) -> str | None:
        entry = played.thread.first_change(what, a, b)
        return entry and entry.checkpoint_id

    def differ(old: Any, new: Any) -> bool:
        return not diff_values({"it": old}, {"it": new}).empty

    changed = {e.checkpoint_id: e.changed for e in played.thread.history(1000)}
    for name in sorted({name for each in values for name in each}):
        assert asked(name) == first(lambda n, name=name: name in changed[ids[n]]), name
    keys = sorted({key for each in values for key in each.get("facts", {})})
    for key in keys[:6]:
        got = [each.get("facts", {}).get(key, NOTHING) for each in values]
        wanted = first(lambda n, got=got: differ(got[n - 1], got[n]))
        assert asked(f'facts["{key}"]') == wanted, key
    states = [own(played.state(row)) for row in rows]
    items = {i.id: i for state in states for name in PILLARS for i in getattr(state, name)}
    if not played.had_subgraphs.isdisjoint(row and row.checkpoint["id"] for row in rows):
        items = {}  # the states have what a subgraph says of an item while it runs
    for id, item in items.items():
        got = [held(state, id) for state in states]
        wanted = first(
            lambda n, got=got: (
                got[n] is not got[n - 1] and Change(got[n - 1], got[n]).verb is not None
            )
        )
        assert asked(rng.choice([id, item])) == wanted, item


# ---- the parts


keys = st.one_of(st.text(), st.integers(), st.booleans(), st.none(), st.tuples(st.text()))
trees = st.recursive(
    st.integers(0, 2), lambda inner: st.dictionaries(keys, inner, max_size=3), max_leaves=8
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(("a", "b c", "d.e")), trees), st.data())
def test_a_path_leads_where_the_diff_says(values: dict[str, Any], data: Any) -> None:
    """Each path that a diff prints leads to what it says differs, and to nothing else."""
    other = data.draw(st.dictionaries(st.sampled_from(("a", "b c", "d.e")), trees))
    found = diff_values(values, other)
    for path in (*found.added, *found.removed, *found.changed):
        channel, path_keys = keys_of(path)
        sides = (each.get(channel, NOTHING) for each in (values, other))
        assert not is_same_at(path_keys, *sides), path
    for path, value in found.added.items():
        channel, path_keys = keys_of(path)
        at: Any = other[channel]
        for key in path_keys:
            at = next(held for name, held in at.items() if (name, type(name)) == (key, type(key)))
        assert at == value


@pytest.mark.parametrize("odd", ["a[", "a]", "[0]", "", 'a["x"', "a[b]", "a[1](2)", "a[f()]", "é["])
def test_what_is_no_path_is_a_channel(odd: str) -> None:
    """Anything that a diff would not print is taken as a channel's name, and nothing is run."""
    assert keys_of(odd) in ((odd, ()), ("", (0,)))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=12))
def test_a_drawn_tree(parents: list[int]) -> None:
    """Whatever its shape, a tree is drawn with each checkpoint once, newest first, and every line
    leads from a checkpoint down to its parent."""
    rows = {f"c{n}": f"c{p}" if p < n else None for n, p in enumerate(parents)}
    entries = {id: HistoryEntry(id, rows[id]) for id in reversed(rows)}
    drawn = str(Tree("t", entries, (), next(iter(entries), None))).splitlines()
    seen = []
    wanted: dict[int, str | None] = {}  # what each column leads to, as one follows the picture
    for line in drawn:
        columns = dict(enumerate(line[::2]))
        (at,) = (n for n, mark in columns.items() if mark in "●├")
        if columns[at] == "├":
            for met in [n for n, mark in columns.items() if mark in "┴╯"]:
                assert wanted.pop(met) == wanted[at]
            continue
        id = line.split()[-1]
        seen.append(id)
        assert wanted.pop(at, id) == id not in wanted.values()
        assert {n for n, mark in columns.items() if mark == "│"} == wanted.keys()
        if rows[id] is not None:
            wanted[at] = rows[id]
    assert seen == list(entries)
    assert not wanted


NOTHING = object()


def held(state: WorkingState, id: str) -> Item | None:
    return next((e for name in PILLARS for e in getattr(state, name) if e.id == id), None)
