"""Writes of tasks merge as InMemorySaver merges them, whatever is sent twice, longer or mixed.

An ordinary write stays the first that was stored at its place in the list; of an error, a question,
an answer and a schedule the last one stays. `WYRD_MORE=10` plays that many times more sequences.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from tests.conftest import Backend
from tests.handmade import config, put

Write = tuple[str, Any]
Call = tuple[str, Any]

MORE = int(os.environ.get("WYRD_MORE", "1"))
NULL_TASK = "00000000-0000-0000-0000-000000000000"
ERROR, INTERRUPT, RESUME, SCHEDULED = WRITES_IDX_MAP
PATHS = {NULL_TASK: "", "t-1": "~__pregel_pull, a", "t-2": "~__pregel_pull, b", "t-3": "a"}
PLACES = (("", "1f01"), ("", "1f02"), ("sub:1", "1f01"))


class Sender:
    """Makes up calls of `put_writes`, as runs that fail, wait, go on and are repeated make them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"writes {seed}")
        self.sent: list[tuple[str, list[Write], tuple[str, str]]] = []
        self.value = 0

    def write(self) -> Write:
        self.value += 1
        kind = self.rng.random()
        if kind < 0.55:
            held = [self.value, f"v{self.value}", [self.value], {"n": self.value}, None]
            return self.rng.choice(["a", "b", "log", "__no_writes__"]), self.rng.choice(held)
        return self.rng.choice([ERROR, INTERRUPT, RESUME, RESUME, SCHEDULED]), f"s{self.value}"

    def call(self) -> tuple[str, list[Write], tuple[str, str]]:
        """A task, its writes, and the checkpoint that they go to."""
        made = self._again() if self.sent and self.rng.random() < 0.4 else self._new()
        self.sent.append(made)
        return made

    def _new(self) -> tuple[str, list[Write], tuple[str, str]]:
        writes = [self.write() for _ in range(self.rng.choice([0, 1, 1, 2, 3, 5]))]
        if self.rng.random() < 0.1:  # as an answer to two questions is sent
            self.value += 2
            writes += [(RESUME, self.value - 1), (RESUME, self.value), ("log", self.value)]
        if self.rng.random() < 0.1:  # as an error is sent that the graph handles
            self.value += 1
            writes += [(ERROR, self.value), ("__error_source_node__", "a")]
        return self.rng.choice(list(PATHS)), writes, self.rng.choice(PLACES)

    def _again(self) -> tuple[str, list[Write], tuple[str, str]]:
        """The same call, a longer one, a shorter one, or other values at the same places."""
        task, writes, place = self.rng.choice(self.sent)
        match self.rng.randrange(4):
            case 0:
                return task, writes, place
            case 1:
                return task, [*writes, *(self.write() for _ in range(2))], place
            case 2:
                return task, writes[: len(writes) // 2], place
            case _:
                self.value += 1
                return task, [(channel, f"other {self.value}") for channel, _ in writes], place


def sequence(seed: int) -> Iterator[Call]:
    """Calls in order: each checkpoint is put before, among or after its writes, at times twice."""
    sender, rng = Sender(seed), random.Random(f"order {seed}")
    count = rng.randint(3, 14)
    puts = {place: rng.randrange(count) for place in PLACES}
    for number in range(count):
        for place, when in puts.items():
            if when == number or (when < number and rng.random() < 0.03):
                yield "put", place
        yield "writes", sender.call()


def wanted(reference: InMemorySaver, thread: str, place: tuple[str, str]) -> Any:
    """What InMemorySaver holds, in the order in which runs read it: by path, task and slot."""
    ns, id = place
    if reference.get_tuple(config(thread, id, ns)) is None:
        return None
    held = reference.writes.get((thread, ns, id), {})
    ordered = sorted(held.items(), key=lambda item: (item[1][3], *item[0]))
    return [
        (task, channel, reference.serde.loads_typed(value))
        for _, (task, channel, value, _) in ordered
    ]


async def play(
    seed: int, savers: list[Any], reference: InMemorySaver, how: str, *, look_often: bool = True
) -> None:
    thread, rng, done = f"t-{seed}", random.Random(f"savers {seed}"), []

    async def forward(name: str, *args: Any) -> Any:
        saver = rng.choice(savers)
        return (
            await getattr(saver, f"a{name}")(*args)
            if how == "async"
            else getattr(saver, name)(*args)
        )

    async def compare() -> None:
        for place in PLACES:
            ns, id = place
            expected = wanted(reference, thread, place)
            for where in (id, None) if id == "1f02" or ns else (id,):
                found = await forward("get_tuple", config(thread, where, ns))
                if where is None and expected is None:
                    continue
                writes = None if found is None else found.pending_writes
                assert writes == expected, f"seed {seed}, at {place}, after {done}"

    for kind, what in sequence(seed):
        done.append((kind, what))
        if kind == "put":
            ns, id = what
            # A checkpoint that another one names as its parent, and that is not there, is lost.
            named = reference.get_tuple(config(thread, "1f01")) is not None
            parent = "1f01" if id == "1f02" and named else None
            for saver in (rng.choice(savers), reference):
                put(saver, thread, {"log": [id]}, parent=parent, ns=ns, id=id, versions={"log": id})
        else:
            task, writes, (ns, id) = what
            reference.put_writes(config(thread, id, ns), writes, task, PATHS[task])
            await forward("put_writes", config(thread, id, ns), writes, task, PATHS[task])
        if look_often:
            await compare()
    await compare()


def run(how: str, doing: Any) -> None:
    """Sync calls are made outside of any loop."""
    if how == "async":
        asyncio.run(doing)
        return
    with pytest.raises(StopIteration):
        doing.send(None)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_random_calls(backend: Backend, how: str) -> None:
    """After every call the writes of every checkpoint are those that InMemorySaver has."""
    saver = backend.open()
    for seed in range(24 * MORE):
        run(how, play(seed, [saver], InMemorySaver(), how))


@pytest.mark.parametrize("how", ["sync", "async"])
def test_two_savers_in_turns(durable: Backend, how: str) -> None:
    """Of several processes none knows what another has stored; together they say the same."""
    savers = [durable.open(), durable.open(), durable.open(pillars=False)]
    for seed in range(1000, 1000 + 10 * MORE):
        run(how, play(seed, savers, InMemorySaver(), how))


def test_nobody_looks_in_between(durable: Backend) -> None:
    """Nothing depends on what a reading has cached."""
    saver = durable.open()
    for seed in range(2000, 2000 + 10 * MORE):
        run("sync", play(seed, [saver], InMemorySaver(), "sync", look_often=False))


def test_sealed(durable: Backend) -> None:
    """The same where writes are encrypted."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"1" * 16)
    saver = durable.open(serde=serde)
    for seed in range(3000, 3000 + 8 * MORE):
        run("sync", play(seed, [saver], InMemorySaver(), "sync"))


KNOWN: list[tuple[str, list[tuple[str, list[Write]]]]] = [
    ("sent twice", [("t-1", [("a", 1)]), ("t-1", [("a", 2)])]),
    ("sent longer", [(NULL_TASK, [("a", 1)]), (NULL_TASK, [("a", 1), ("b", 2), ("log", 3)])]),
    ("an error is replaced", [("t-1", [(ERROR, "one")]), ("t-1", [(ERROR, "two")])]),
    ("answered again", [("t-1", [(INTERRUPT, "?")]), ("t-1", [(RESUME, "y"), (RESUME, "z")])]),
    ("two answers and a write", [(NULL_TASK, [(RESUME, 1), (RESUME, 2), ("a", 3)])]),
    (
        "an error between writes",
        [("t-1", [("a", 1), (ERROR, "e"), ("b", 2)]), ("t-1", [("a", 3), ("b", 4), ("log", 5)])],
    ),
    ("an empty call", [("t-1", []), ("t-1", [("a", 1)]), ("t-1", [])]),
]


@pytest.mark.parametrize("calls", [calls for _, calls in KNOWN], ids=[name for name, _ in KNOWN])
async def test_known_sequences(
    backend: Backend, call: Callable[..., Any], calls: list[tuple[str, list[Write]]]
) -> None:
    """The cases that the rule is made of, each alone."""
    saver, reference = backend.open(), InMemorySaver()
    place = ("", "1f01")
    for each in (saver, reference):
        put(each, "t", {"log": []}, id="1f01", versions={"log": "1"})
    for task, writes in calls:
        reference.put_writes(config("t", "1f01"), writes, task, PATHS[task])
        await call(saver, "put_writes", config("t", "1f01"), writes, task, PATHS[task])
        found = await call(saver, "get_tuple", config("t", "1f01"))
        assert found.pending_writes == wanted(reference, "t", place)
