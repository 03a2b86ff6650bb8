"""Random programs whose people rewind, or fork: the same story as on InMemorySaver.

There, a rewind is what LangGraph's own parts make of it: a copy of the old checkpoint, put beside
it as the newest, and the same for each subgraph that has a memory of its own. A fork is a thread
that has only what is on the path.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import Any

import pytest
from conftest import Backend
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_wyrd import WyrdSaver
from tests.story import Teller, first_difference, without_loop, without_parents
from tests.tables import check_tables, derived, differences


def reference_rewind(saver: InMemorySaver, thread_id: str, target: str) -> Any:
    """The rewind, in the words of a checkpointer's contract."""
    root = config(thread_id, "", target)
    everything = list(saver.list({"configurable": {"thread_id": thread_id}}))
    for ns in sorted({ns_of(each) for each in everything}):
        if ns and ":" not in ns:
            held = sorted((e for e in everything if ns_of(e) == ns), key=id_of)
            before = [each for each in held if id_of(each) < target]
            if before != held:
                put_copy(saver, thread_id, ns, before[-1] if before else None)
    return put_copy(saver, thread_id, "", saver.get_tuple(root))


def put_copy(saver: InMemorySaver, thread_id: str, ns: str, old: Any) -> Any:
    new = {"id": str(uuid6()), "ts": datetime.now(timezone.utc).isoformat()}
    if old is None:
        metadata: Any = {"source": "fork", "step": -2, "parents": {}}
        return saver.put(config(thread_id, ns), {**empty_checkpoint(), **new}, metadata, {})
    metadata = {**old.metadata, "source": "fork", "step": old.metadata["step"] + 1}
    parent = old.parent_config or config(thread_id, ns)
    return saver.put(parent, {**old.checkpoint, **new}, metadata, {})


def reference_fork(saver: InMemorySaver, source: str, made: str, target: str) -> None:
    """The fork, as a thread that never went on from there."""
    spaces = saver.storage[source]
    path = {target}
    while (parent := spaces[""][min(path)][2]) is not None:
        path.add(parent)
    whole = target == max(spaces[""])
    for ns, rows in spaces.items():
        ids = []
        for id, row in rows.items():
            root = saver.serde.loads_typed(row[1]).get("parents", {}).get("")
            ran = root in path and (whole or (root != target and id < target))
            if id in path if ns == "" else ran:
                ids.append(id)
        if ns and ":" not in ns:
            ids += [max([id for id in rows if whole or id < target], default="")]
        for id in ids:  # what their deltas are made of comes along
            ids += [rows[id][2]] if id in rows and rows[id][2] not in ids else []
        for id in {*ids} & rows.keys():
            saver.storage[made][ns][id] = rows[id]
            if (ns, id) != ("", target) or whole:
                saver.writes[made, ns, id] = dict(saver.writes[source, ns, id])
    for key, value in list(saver.blobs.items()):
        if key[0] == source:
            saver.blobs[(made, *key[1:])] = value


def config(thread_id: str, ns: str, id: str | None = None) -> Any:
    found = {"thread_id": thread_id, "checkpoint_ns": ns}
    return {"configurable": found if id is None else {**found, "checkpoint_id": id}}


def id_of(found: Any) -> str:
    return str(found.checkpoint["id"])


def ns_of(found: Any) -> str:
    return str(found.config["configurable"]["checkpoint_ns"])


class Rewinding(Teller):
    """Somebody who goes back by rewinding, and often."""

    rewound = 0
    from_head = False  # whether the head itself is a point to go to, too

    async def act(self) -> None:
        history = await self.history()
        if len(history) > 1 and self.rng.random() < 0.4:
            await self.rewind(history)
        else:
            await super().act()

    async def fork(self) -> None:
        await self.rewind(await self.history())

    async def rewind(self, history: list[Any]) -> None:
        old = self.rng.choice(history)
        label = f"rewind to {history.index(old)} of {len(history)}"
        if self.from_head or old is not history[0]:
            self.rewound += 1
            await self.record(label, self.back(old.config["configurable"]["checkpoint_id"]))
            await self.look()
        way = self.rng.random()
        if way < 0.5:
            await self.run("go on", None)
        elif way < 0.8:
            await self.run("input", self.inputs())
        elif way < 0.9:
            await self.edit("edit", self.config, self.as_node(old))

    async def back(self, target: str) -> Any:
        saver: Any = self.saver
        if isinstance(saver, InMemorySaver):
            return reference_rewind(saver, self.thread, target)
        handle = saver.thread(self.thread)
        return await handle.arewind(target) if self.asynchronous else handle.rewind(target)


class Forking(Rewinding):
    """Somebody who goes back by forking, and goes on with the fork."""

    from_head = True

    async def look(self) -> None:
        """Parents may be gone."""
        found = await self.state()
        await self.record("state", self.call("get_state", found.config, subgraphs=False))
        self.story.append(("tasks", self.plain(without_parents(found))))

    async def look_everywhere(self) -> None:
        await self.record("history", self.history())

    async def back(self, target: str) -> Any:
        saver: Any = self.saver
        old, self.thread = self.thread, f"{self.thread}, {self.turn}"
        if isinstance(saver, InMemorySaver):
            reference_fork(saver, old, self.thread, target)
        elif self.asynchronous:
            await saver.thread(old).afork(self.thread, target)
        else:
            saver.thread(old).fork(self.thread, target)


def told(
    seed: int,
    *savers: Any,
    asynchronous: bool,
    kind: type[Rewinding] = Rewinding,
    between: Callable[[Teller], None] | None = None,
) -> Rewinding:
    async def tell() -> Rewinding:
        teller = kind(seed, savers, asynchronous)
        for teller.turn in range(6):
            await teller.record("act", teller.act())
            await teller.look()
            if between is not None:
                between(teller)
        await teller.look_everywhere()
        return teller

    return asyncio.run(tell()) if asynchronous else without_loop(tell())


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return request.param


def expect_same(seeds: Iterable[int], *savers: Any, **options: Any) -> int:
    count = 0
    for seed in seeds:
        expected = told(seed, InMemorySaver(), **options)
        found = told(seed, *savers, **options)
        parted = first_difference(expected.story, found.story)
        assert parted is None, f"seed {seed}, expected first, then found, {parted}"
        count += found.rewound
    return count


def test_random_rewinds(backend: Backend, asynchronous: bool) -> None:
    """Values, node executions, interrupts, subgraphs and the whole history are the reference's."""
    assert expect_same(range(8), backend.open(), asynchronous=asynchronous) > 10


def test_random_forks(backend: Backend, asynchronous: bool) -> None:
    """A fork at any point goes on, and has the history, of a thread that never went further."""
    options: Any = {"asynchronous": asynchronous, "kind": Forking}
    assert expect_same(range(300, 308), backend.open(), **options) > 10


def test_two_savers_rewind_in_turns(durable: Backend) -> None:
    """One saver goes on where another one rewound, whatever it knew before."""
    savers = [durable.open(), durable.open()]
    assert expect_same(range(100, 105), *savers, asynchronous=False)


@pytest.mark.parametrize("kind", [Rewinding, Forking])
def test_the_tables_follow(durable: Backend, kind: type[Rewinding]) -> None:
    """The tables say what the head says after each turn, and a re-extraction changes nothing."""
    saver = durable.open()
    for seed in range(200, 204):

        def look(teller: Teller, seed: int = seed) -> None:
            check_tables(saver, durable.url, f"seed {seed} turn {teller.turn}")

        told(seed, saver, asynchronous=False, kind=kind, between=look)
        settled(saver, durable.url, seed)


def settled(saver: WyrdSaver, url: str, seed: int) -> None:
    before = derived(saver, url)
    saver.reextract()
    parted = differences(derived(saver, url), before)
    assert not parted, f"seed {seed}: {len(parted)} rows differ, first {parted[0]}"
