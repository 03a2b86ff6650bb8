"""Random programs behave on WyrdSaver as they do on InMemorySaver.

`python -m tests.campaigns.differential --n 2000` plays many more of them.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import Backend
from tests.graphs import KINDS
from tests.programs import share
from tests.story import first_difference, move_to_copy, prune, tell, without_loop

BATCHES = [range(start, start + 10) for start in (0, 10)]


def one_story(seed: int, *savers: Any, asynchronous: bool, **options: Any) -> Any:
    """An asynchronous program gets a loop of its own; a sync one is nowhere near a loop."""
    telling = tell(seed, *savers, asynchronous=asynchronous, cross=True, **options)
    return asyncio.run(telling) if asynchronous else without_loop(telling)


@functools.cache
def expected_story(seed: int, *, asynchronous: bool, history: bool = True) -> Any:
    """The story on InMemorySaver; every backend is compared with the same one."""
    return one_story(seed, InMemorySaver(), asynchronous=asynchronous, history=history)


def expect_same(seed: int, *savers: Any, asynchronous: bool, **options: Any) -> None:
    found = one_story(seed, *savers, asynchronous=asynchronous, **options)
    history = options.get("history", True)
    expected = expected_story(seed, asynchronous=asynchronous, history=history)
    parted = first_difference(expected, found)
    if parted is not None and left_to_chance(seed, found, asynchronous, history):
        return
    assert parted is None, f"seed {seed}, expected first, then found, {parted}"


def left_to_chance(seed: int, found: Any, asynchronous: bool, history: bool) -> bool:
    """Whether InMemorySaver tells the story that was found, too, when threads switch often.

    Of parallel tasks of a subgraph that ask again, langgraph 1.2.22 now and then loses a question.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        plays = (
            one_story(seed, InMemorySaver(), asynchronous=asynchronous, history=history)
            for _ in range(100)
        )
        return any(first_difference(play, found) is None for play in plays)
    finally:
        sys.setswitchinterval(interval)


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    """Which methods of the graph are called, on nodes of that kind."""
    return request.param


@pytest.mark.parametrize("seeds", BATCHES, ids=str)
def test_random_programs(backend: Backend, asynchronous: bool, seeds: Iterable[int]) -> None:
    """Random programs tell the story that they tell on InMemorySaver."""
    saver = backend.open()
    for seed in share(seeds, backend):
        expect_same(seed, saver, asynchronous=asynchronous)


def test_two_savers_take_turns(durable: Backend, asynchronous: bool) -> None:
    """Two savers on one database, each going on where the other left off, make no difference."""
    savers = [durable.open(), durable.open()]
    for seed in share(range(100, 106), durable):
        expect_same(seed, *savers, asynchronous=asynchronous)


def test_a_thread_copied_after_every_turn(backend: Backend, asynchronous: bool) -> None:
    """A copy is the thread itself: state, history, interrupts and forks go on from it."""
    saver = backend.open()
    for seed in share(range(200, 206), backend):
        expect_same(seed, saver, asynchronous=asynchronous, between=move_to_copy)


def test_a_thread_pruned_after_every_turn(backend: Backend, asynchronous: bool) -> None:
    """keep_latest takes nothing that the present of a thread, or its future, rests on."""
    saver = backend.open()
    for seed in share(range(300, 308), backend):
        expect_same(seed, saver, asynchronous=asynchronous, history=False, between=prune)


# ---- the instrument itself


def test_the_sample_meets_every_feature() -> None:
    """What the sample is meant to cover happens in it, so that a quiet generator is noticed."""
    seen: set[str] = set()
    for seed in (seed for batch in BATCHES for seed in batch):
        story = expected_story(seed, asynchronous=seed % 2 == 1)
        seen.add(KINDS[seed % len(KINDS)])
        for label, shown in story:
            seen.update(word for word in WORDS if word in f"{label} {shown}")
    assert seen >= {*WORDS, *KINDS}


WORDS = (
    "start", "resume", "jump", "go on", "edit", "bulk as", "fork again", "fork edit",
    "fork input", "fork copy from", "fork copy with values", "after deletion", "streamed",
    "interrupt_after", "durability=sync", "durability=async", "durability=exit",
    "'error': 'NodeFailed'",
    "'error': 'GraphRecursionError'", "'source': 'fork'", "'source': 'update'", "__error__",
    "__interrupt__", "__resume__", "__pregel_tasks", "'snapshot':", "'send':", "join:",
    "counters_since_delta_snapshot", "checkpoint_map", "history of",
)  # fmt: skip


def drop_parent(row: Any) -> Any:
    return row._replace(parent_config=None)


def turn_writes(row: Any) -> Any:
    return row._replace(pending_writes=row.pending_writes[::-1])


def lose_write(row: Any) -> Any:
    return row._replace(pending_writes=row.pending_writes[:-1])


def lose_step(row: Any) -> Any:
    return row._replace(metadata={k: v for k, v in row.metadata.items() if k != "step"})


def age_version(row: Any) -> Any:
    versions = dict.fromkeys(row.checkpoint["channel_versions"], "0")
    return row._replace(checkpoint={**row.checkpoint, "channel_versions": versions})


def list_tuples(row: Any) -> Any:
    """Tuples that come back as lists, as JSON would have it."""
    values = {
        k: list(v) if isinstance(v, tuple) else v
        for k, v in row.checkpoint["channel_values"].items()
    }
    return row._replace(checkpoint={**row.checkpoint, "channel_values": values})


class Spoilt(InMemorySaver):
    """A saver with one fault in what it gives back."""

    def __init__(self, spoil: Callable[[Any], Any]) -> None:
        super().__init__()
        self.spoil = spoil

    def get_tuple(self, config: Any) -> Any:
        row = super().get_tuple(config)
        return row and self.spoil(row)

    def list(self, config: Any, **query: Any) -> Any:
        return map(self.spoil, super().list(config, **query))


@pytest.mark.parametrize(
    "spoil", [drop_parent, turn_writes, lose_write, lose_step, age_version, list_tuples]
)
def test_a_fault_is_noticed(spoil: Callable[[Any], Any]) -> None:
    """A saver with one small fault tells another story, so that a deaf comparison is noticed."""
    for seed in range(40):
        expected = expected_story(seed, asynchronous=False)
        if first_difference(expected, one_story(seed, Spoilt(spoil), asynchronous=False)):
            return
    raise AssertionError("the fault made no difference")
