"""Random programs behave on WyrdSaver as they do on InMemorySaver.

`python -m tests.campaigns.differential --n 2000` plays many more of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from conftest import Backend
from langgraph.checkpoint.memory import InMemorySaver

from tests.graphs import KINDS
from tests.story import first_difference, move_to_copy, prune, tell, without_loop

BATCHES = [range(start, start + 10) for start in (0, 10)]


def one_story(seed: int, *savers: Any, asynchronous: bool, **options: Any) -> Any:
    """For a caller without a loop: asynchronous programs get one of their own."""
    telling = tell(seed, *savers, asynchronous=asynchronous, cross=True, **options)
    return asyncio.run(telling) if asynchronous else without_loop(telling)


def expect_same(seed: int, told: Any, expected: Any) -> None:
    parted = first_difference(expected, told)
    assert parted is None, f"seed {seed}, expected first, then found, {parted}"


@pytest.mark.parametrize("seeds", BATCHES, ids=str)
def test_programs_without_a_loop(backend: Backend, seeds: Iterable[int]) -> None:
    """Random programs invoked synchronously tell the same story as on InMemorySaver."""
    saver = backend.open()
    for seed in seeds:
        expected = without_loop(tell(seed, InMemorySaver(), asynchronous=False))
        expect_same(seed, without_loop(tell(seed, saver, asynchronous=False)), expected)


@pytest.mark.parametrize("seeds", BATCHES, ids=str)
async def test_programs_in_a_loop(backend: Backend, seeds: Iterable[int]) -> None:
    """Random asynchronous programs, with a synchronous reader at times, tell the same story."""
    saver = backend.open()
    for seed in seeds:
        expected = await tell(seed, InMemorySaver(), asynchronous=True, cross=True)
        found = await tell(seed, saver, asynchronous=True, cross=True)
        expect_same(seed, found, expected)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_two_savers_take_turns(durable: Backend, asynchronous: bool) -> None:
    """Two savers on one database, each going on where the other left off, make no difference."""
    savers = [durable.open(), durable.open()]
    for seed in range(100, 106):
        expected = one_story(seed, InMemorySaver(), asynchronous=asynchronous)
        found = one_story(seed, *savers, asynchronous=asynchronous)
        expect_same(seed, found, expected)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_thread_copied_after_every_turn(backend: Backend, asynchronous: bool) -> None:
    """A copy is the thread itself: state, history, interrupts and forks go on from it."""
    saver = backend.open()
    for seed in range(200, 206):
        expected = one_story(seed, InMemorySaver(), asynchronous=asynchronous)
        found = one_story(seed, saver, asynchronous=asynchronous, between=move_to_copy)
        expect_same(seed, found, expected)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_thread_pruned_after_every_turn(backend: Backend, asynchronous: bool) -> None:
    """keep_latest takes nothing that the present of a thread, or its future, rests on."""
    saver = backend.open()
    for seed in range(300, 308):
        expected = one_story(seed, InMemorySaver(), asynchronous=asynchronous, history=False)
        found = one_story(seed, saver, asynchronous=asynchronous, history=False, between=prune)
        expect_same(seed, found, expected)


# ---- the instrument itself


def test_the_sample_meets_every_feature() -> None:
    """What the sample is meant to cover happens in it, so that a quiet generator is noticed."""
    seen: set[str] = set()
    for seed in (seed for batch in BATCHES for seed in batch):
        for asynchronous in (False, True):
            story = one_story(seed, InMemorySaver(), asynchronous=asynchronous)
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
        expected = one_story(seed, InMemorySaver(), asynchronous=False)
        if first_difference(expected, one_story(seed, Spoilt(spoil), asynchronous=False)):
            return
    raise AssertionError("the fault made no difference")
