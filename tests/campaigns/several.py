"""Two to five rows damaged at once, and what a saver makes of them.

    python -m tests.campaigns.several --n 400 --backend sqlite --first 1

The rows are drawn from the seed, mostly so that they are each other's copies: a splice and the
writes that hold the same, an event and its row in a pillar's table, neighbours in a strand, a
checkpoint and its parent. Of each value that is another one a heal must tell, of just that channel
or task; sync and async see the same; every thread goes on, and keeps what could be read; a repair
lowers nothing and has nothing to do the second time.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import logging
import math
import operator
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.errors import EmptyInputError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from langgraph_wyrd import WyrdSaver, errors
from tests.campaigns.faults import (
    KINDS,
    OUTCOMES,
    PUBLIC,
    TABLES,
    Fault,
    _keys,
    _spoilt,
    looked,
    not_done,
)  # fmt: skip
from tests.conftest import fresh_postgres, postgres_url
from tests.damage import Agent, at, extend, talk
from tests.outside import own_server, path_of, raw

THREADS = ("t", "u", "s")
HOLDING = ("wyrd_splices", "wyrd_checkpoints", "wyrd_writes", "wyrd_events")
Table = list[dict[str, Any]]
Row = tuple[str, dict[str, Any]]  # of which table
Key = tuple[str, str]  # namespace and checkpoint
NAMES = rb"(?:human|ai|tool-call|end)-\d+|model \d+|\w+ed \d|\w\d+\.\."  # of elements
RANDOM = re.compile(r"\b(?!1f)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[a-z]-[0-9a-f]{12}\b")
Counts = Counter[tuple[str, str]]  # pattern, what came of it


# ---- threads


class Outer(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    trace: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=3)]


def nested(saver: Any) -> Any:
    """A graph with a subgraph that remembers, and one that asks a person."""

    def says(text: str) -> Callable[[Outer], Outer]:
        return lambda state: {"log": [f"{text} {len(state['log'])}"], "trace": [text + "." * 60]}

    def ask(state: Outer) -> Outer:
        return {"log": [f"heard {interrupt('May I?')}"]}

    def chain(*nodes: tuple[str, Any]) -> Any:
        builder = StateGraph(Outer)
        for name, node in nodes:
            builder.add_node(name, node)
        names = [START, *(name for name, _ in nodes), END]
        for pair in itertools.pairwise(names):
            builder.add_edge(*pair)
        return builder

    memory = chain(("keep", says("kept"))).compile(checkpointer=True)
    child = chain(("look", says("looked")), ("ask", ask)).compile()
    outer = chain(
        ("begin", says("began")), ("memory", memory), ("child", child), ("end", says("end"))
    )
    return outer.compile(checkpointer=saver)


def build(url: str) -> None:
    """t has two turns behind it, u waits for a person, s does so in a subgraph."""
    with WyrdSaver.from_conn_string(url) as saver:
        talk(saver, "t", 1)
        saver.thread("t").set_context("budget", {"euros": 500})
        saver.thread("t").label("half-way", keys=["budget"])
        talk(saver, "t", 1)
        talk(saver, "u", 1, last="approve this")
        graph = nested(saver)
        graph.invoke({"log": ["hello"]}, at("s"))
        graph.invoke(Command(resume="yes"), at("s"))
        graph.invoke({"log": ["again"]}, at("s"))
        for thread in map(saver.thread, THREADS):
            thread.add_todo("write it down")
            thread.complete_todo(thread.add_todo("look it up").id)
            thread.label("now")


def graph_of(saver: Any, thread: str, agent: Agent | None = None) -> Any:
    return nested(saver) if thread == "s" else (agent or Agent()).build(saver)


# ---- what is struck


class Blows:
    """The rows that a seed strikes, in a pattern."""

    def __init__(self, url: str, seed: int) -> None:
        self.url, self.seed = url, seed
        self.dice = random.Random(f"several {seed}")
        self.pattern = self.dice.choice(PATTERNS)
        self.struck: list[tuple[str, str, dict[str, Any]]] = []  # kind, table, the row that was
        self.told: list[str] = []

    def strike(self) -> bool:
        """False if fewer than two rows were changed."""
        with raw(self.url) as connection:
            self._held = {table: _rows(connection, table) for table in TABLES}
            self._names = {row["id"]: row["thread_id"] for row in self._held["wyrd_threads"]}
            chosen: list[Row] = []
            for row in self.pattern(self):
                if row not in chosen:
                    chosen.append(row)
            self.dice.shuffle(chosen)
            same = self.dice.choice(KINDS) if self.dice.random() < 0.3 else None
            for table, row in chosen[:5]:
                self._blow(connection, table, row, same or self.dice.choice(KINDS))
        return len(self.struck) > 1

    def _blow(self, connection: Any, table: str, row: dict[str, Any], kind: str) -> None:
        keys = _keys(connection, table)
        others = [name for name in row if name not in keys]
        hand = Fault(self.url, 0)
        hand.table = table
        names, told = [*row], kind
        changes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        if kind == "swap":
            other = self.dice.choice(self._held[table])
            if other is row or not others:
                return
            changes = [(row, {n: other[n] for n in others}), (other, {n: row[n] for n in others})]
        elif kind != "delete":
            column = self.dice.choice([*row, *others, *others])
            value = _spoilt(row[column], kind, self.dice)
            if value == row[column]:
                return
            told, changes = f"{kind} {column}", [(row, {column: value})]
        try:
            if kind == "delete":
                query = f"DELETE FROM {table}"
                done = hand._run(connection, query, names, [*row.values()], keys)
            else:
                done = sum(hand._set(connection, names, [*old.values()], keys, new)
                           for old, new in changes)  # fmt: skip
        except Exception:  # the database itself would not have it
            return
        if done:
            self.struck.append((told, table, row))
            where = {name: row[name] for name in keys}
            self.told.append(f"{told} of {table} {where}")

    @property
    def silent(self) -> set[str]:
        """Tasks whose writes are all gone: nothing tells that there were any."""
        keys = ("thread", "ns", "checkpoint", "task")
        there = Counter(tuple(row[key] for key in keys) for row in self._held["wyrd_writes"])
        gone = Counter(
            tuple(row[key] for key in keys)
            for told, table, row in self.struck
            if table == "wyrd_writes" and (told == "delete" or told.split()[-1] in keys)
        )
        return {task[-1] for task, count in gone.items() if count == there[task]}

    # ---- patterns

    def some(self, rows: list[Row], most: int = 5) -> list[Row]:
        return self.dice.sample(rows, min(len(rows), self.dice.randint(2, most)))

    def of(self, *tables: str, **where: Any) -> list[Row]:
        return [(table, row) for table in tables or TABLES for row in self._held[table]
                if all(row.get(name) == value for name, value in where.items())]  # fmt: skip

    def one(self, *tables: str) -> Row:
        """A row, its table drawn before it."""
        found = [table for table in tables or TABLES if self._held[table]]
        table = self.dice.choice(found)
        return table, self.dice.choice(self._held[table])

    def anywhere(self) -> list[Row]:
        return [self.one() for _ in range(self.dice.randint(2, 5))]

    def same_table(self) -> list[Row]:
        table = self.dice.choice([*HOLDING, *HOLDING, *(t for t in TABLES if self._held[t])])
        return self.some(self.of(table))

    def same_thread(self) -> list[Row]:
        return self.some(self.of(*HOLDING, thread=self.dice.choice([*self._names])))

    def neighbours(self) -> list[Row]:
        """Rows of a strand that follow each other."""
        _, row = self.one("wyrd_splices")
        strand = self.of("wyrd_splices", thread=row["thread"], strand=row["strand"])
        strand.sort(key=lambda each: (each[1]["seq"], each[1]["part"]))
        first = self.dice.randrange(max(1, len(strand) - 1))
        return strand[first : first + self.dice.randint(2, 4)]

    def copies(self) -> list[Row]:
        """Everything that holds one element."""
        _, row = self.one("wyrd_splices", "wyrd_writes")
        ids = re.findall(
            rb"(?:human|ai|tool-call|end)-\d+|model \d+|\w+ed \d|\w\d+\.\.", row["data"]
        )
        if not ids:
            return self.neighbours()
        name = self.dice.choice(ids)
        rows = self.of("wyrd_splices", "wyrd_writes", thread=row["thread"])
        return [each for each in rows if name in bytes(each[1]["data"])]

    def no_copies(self) -> list[Row]:
        """A splice, and the writes of the checkpoint before: all that wrote them."""
        rows = self.copies()
        return rows + self.some(self.of("wyrd_splices", thread=rows[0][1]["thread"]), 3)

    def family(self) -> list[Row]:
        """A checkpoint, those before it, and what they said."""
        _, row = self.one("wyrd_checkpoints")
        found: list[Row] = []
        at: Any = row
        while at is not None and len(found) < self.dice.randint(2, 4):
            found.append(("wyrd_checkpoints", at))
            before = self.of("wyrd_checkpoints", thread=at["thread"], ns=at["ns"], id=at["parent"])
            at = before[0][1] if before else None
        return found + self.dice.choice([[], self.at_checkpoint(row)])

    def at_checkpoint(self, row: dict[str, Any] | None = None) -> list[Row]:
        """A checkpoint's row, frame, events and writes."""
        if row is None:
            _, row = self.one("wyrd_checkpoints")
        here = {"thread": row["thread"], "ns": row["ns"], "checkpoint": row["id"]}
        rows = self.of("wyrd_events", "wyrd_writes", **here)
        rows += self.of("wyrd_splices", thread=row["thread"], strand=row["strand"], seq=row["seq"])
        return [("wyrd_checkpoints", row), *self.some(rows, 4)]

    def head(self) -> list[Row]:
        """What the newest checkpoint stands on."""
        thread = self.dice.choice([*self._names])
        rows = [row for _, row in self.of("wyrd_checkpoints", thread=thread)]
        return self.at_checkpoint(max(rows, key=lambda row: row["id"]))

    def task(self) -> list[Row]:
        """What one task wrote, and what was said of it."""
        _, row = self.one("wyrd_writes")
        where = {name: row[name] for name in ("thread", "ns", "checkpoint", "task")}
        return self.of("wyrd_writes", "wyrd_events", **where)

    def item(self) -> list[Row]:
        """An item of a pillar, wherever it stands."""
        _, row = self.one(*PUBLIC)
        rows = self.of("wyrd_events", thread=row["thread"], item=row["id"])
        return [
            *rows,
            *self.of(*PUBLIC, thread=row["thread"], id=row["id"]),
            self.one("wyrd_events"),
        ]

    def ledger(self) -> list[Row]:
        """Rows of the ledger, and the checkpoints that they could be read out of."""
        rows = self.some(self.of("wyrd_events"), 3)
        for _, row in rows[:2]:
            where = {"thread": row["thread"], "ns": row["ns"], "id": row["checkpoint"]}
            rows += self.of("wyrd_checkpoints", **where)
        return rows

    def with_thread(self) -> list[Row]:
        """A thread's own row, and others."""
        _, row = self.one("wyrd_threads")
        rows = self.of(*HOLDING, *PUBLIC, thread=row["id"])
        return [("wyrd_threads", row), *self.some(rows, 3)]

    def label(self) -> list[Row]:
        _, row = self.one("wyrd_labels")
        where = {"thread": row["thread"], "id": row["checkpoint"]}
        return [
            ("wyrd_labels", row),
            *self.of("wyrd_checkpoints", **where),
            self.one("wyrd_events"),
        ]


PATTERNS = (
    Blows.anywhere, Blows.same_table, Blows.same_thread, Blows.same_thread, Blows.neighbours,
    Blows.neighbours, Blows.copies, Blows.copies, Blows.no_copies, Blows.family,
    Blows.at_checkpoint, Blows.head, Blows.head, Blows.task, Blows.item, Blows.ledger,
    Blows.with_thread, Blows.label,
)  # fmt: skip


def _rows(connection: Any, table: str) -> Table:
    found = connection.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in found.description]
    # In an order that does not rest on ids that are random; those of checkpoints are in time.
    rows = sorted(found.fetchall(), key=lambda row: RANDOM.sub("", str(row)))
    return [
        {name: bytes(cell) if isinstance(cell, memoryview) else cell
         for name, cell in zip(names, row, strict=True)}
        for row in rows
    ]  # fmt: skip


# ---- what is seen


class Way:
    """Sync or async."""

    def __init__(self, asynchronous: bool) -> None:
        self.asynchronous = asynchronous

    async def __call__(self, of: Any, name: str, *arguments: Any, **more: Any) -> Any:
        if self.asynchronous:
            return await getattr(of, f"a{name}")(*arguments, **more)
        return getattr(of, name)(*arguments, **more)

    async def all(self, of: Any, name: str, *arguments: Any) -> list[Any]:
        if self.asynchronous:
            return [each async for each in getattr(of, f"a{name}")(*arguments)]
        return list(getattr(of, name)(*arguments))


@dataclass
class Seen:
    """All that loads of a thread; None: there is none such."""

    head: Key | None = None
    values: Any = None  # of the head, with delta channels
    next: Any = ()
    points: dict[Key, Any] = field(default_factory=dict)  # as listed
    snapshots: dict[str, Any] = field(default_factory=dict)
    state: Any = None
    history: Any = None
    labels: Any = None
    exported: Any = None
    changed: Any = None
    heals: list[Any] = field(default_factory=list)


async def seen(
    saver: Any, thread: str, way: Way, sound: Seen | None = None, *, whole: bool = True
) -> Seen:
    """Raises what any of the loads raises; not `whole`: the cheaper ones."""
    graph, handle = graph_of(saver, thread), saver.thread(thread)
    made = Seen()
    head = await way(saver, "get_tuple", at(thread))
    listed = await way.all(saver, "list", {"configurable": {"thread_id": thread}})
    for each in listed:
        made.points[_key(each)] = _point(each)
    if head is not None:
        made.head = _key(head)
        point = _point(head)
        assert made.points.get(made.head, point) == point, "get_tuple and list differ"
    now = await way(graph, "get_state", at(thread), subgraphs=True)
    made.values, made.next = now.values, now.next
    if whole:
        for each in await way.all(graph, "get_state_history", at(thread)):
            made.snapshots[each.config["configurable"]["checkpoint_id"]] = each.values
    try:
        state = (await way(handle, "working_state")).to_dict()
        made.state = _unhealed(state)
        made.history = list(await way(handle, "history"))
        labels = await way(handle, "labels")
        made.labels = [(each, await way(handle, "get_label", each.name)) for each in labels]
        made.heals = await way(handle, "heals")
        if not whole:
            return made
        with tempfile.TemporaryDirectory(prefix="wyrd-several-") as folder:
            path = Path(folder) / "out.json"
            await way(handle, "export", path, payloads=True)
            made.exported = _exported(path)
        if sound is not None and made.head is not None:
            first = min(id for ns, id in sound.points if not ns)
            if ("", first) in made.points:
                with contextlib.suppress(errors.CheckpointDamaged):
                    made.changed = (await way(handle, "diff", first, made.head[1])).summary()
    except errors.ThreadNotFound:
        assert head is None, "working_state finds no thread, and get_tuple does"
    with contextlib.suppress(errors.ThreadNotFound):
        made.heals = await way(handle, "heals")
    return made


def _key(found: Any) -> Key:
    held = found.config["configurable"]
    return held["checkpoint_ns"], held["checkpoint_id"]


def _point(found: Any) -> dict[str, Any]:
    values = found.checkpoint["channel_values"]
    rest = {k: v for k, v in found.checkpoint.items() if k != "channel_values"}
    return {"values": values, "rest": (rest, found.metadata, found.parent_config),
            "writes": found.pending_writes}  # fmt: skip


def _unhealed(state: dict[str, Any]) -> dict[str, Any]:
    loops = [x for x in state["loops"] if (x.get("source") or {}).get("rule") != "healed"]
    return {k: v for k, v in state.items() if k not in ("loops", "reason", "status")} | {
        "loops": loops
    }


def _exported(path: Path) -> dict[str, Any]:
    held: dict[str, Any] = json.loads(path.read_text())
    return {name: held.get(name) for name in ("messages", "labels")}


# ---- what is promised


class Look:
    """One database, after its blows."""

    def __init__(self, saver: Any, blows: Blows, sound: dict[str, Seen]) -> None:
        self.saver, self.blows, self.sound = saver, blows, sound
        self.wrong: list[str] = []
        self.kinds: set[str] = set()
        self.report: Any = None

    async def all(self) -> str:
        try:
            self.report = looked(self.saver)
        except Exception as error:
            self.wrong.append(f"verify() raised {_said(error)}")
            return "?"
        before: dict[str, Seen] = {}
        for thread in THREADS:
            found = await self._loads(thread)
            if found is not None:
                before[thread] = found
        early = self.blows.seed % 2 == 0
        if early:
            await self._repaired(before)
        for thread in THREADS:
            try:
                await self._goes_on(thread)
            except Exception as error:
                self.wrong.append(f"{thread}: can't go on: {_said(error)}")
        if not early:
            await self._repaired({})
        worst = [kind for kind in reversed(OUTCOMES) if kind in self.kinds]
        if worst:
            return worst[0]
        if self.report.damages:
            return "found by verify"
        return "unknowable" if self.blows.silent else "no difference"

    async def _loads(self, thread: str) -> Seen | None:
        sound = self.sound[thread]
        made: list[Seen] = []
        first = self.blows.seed % 4 < 2
        for way in (Way(first), Way(not first)):
            try:
                whole = not made
                made.append(await seen(self.saver, thread, way, sound, whole=whole))
            except Exception as error:
                name = "async" if way.asynchronous else "sync"
                self.wrong.append(f"{thread}: a load ({name}) raised {_said(error)}")
        if len(made) < 2:
            return None
        other, one = made
        for name in ("head", "values", "next", "points", "state", "history", "labels"):
            if getattr(one, name) != getattr(other, name):
                self.wrong.append(f"{thread}: {name} is not the same sync and async")
        self.kinds |= {heal.kind for heal in other.heals}
        self.wrong += [
            f"{thread}: {each}" for each in untold(sound, other, self.report, self.blows.silent)
        ]
        differ = [key for key in sound.points if other.points.get(key) != sound.points[key]]
        for ns, id in {*differ, *self.blows.dice.sample([*sound.points], 2)}:
            try:
                found = self.saver.get_tuple(_at(thread, ns, id))
            except errors.CheckpointDamaged:
                continue
            if found is None and (ns, id) not in other.points:
                continue
            if found is None or _point(found) != other.points.get((ns, id)):
                self.wrong.append(f"{thread}: {id} asked for is not what is listed")
        return other

    async def _goes_on(self, thread: str) -> None:
        way, agent = Way(self.blows.seed % 3 == 0), Agent()
        graph = graph_of(self.saver, thread, agent)
        steps = [self._updated, self._resumed, self._invoked]
        self.blows.dice.shuffle(steps)
        for step in steps:
            await step(thread, graph, way)
        before = await self._at_head(thread, graph, way)
        key, new = (
            ("log", "and now") if thread == "s" else ("messages", HumanMessage("?", id="new"))
        )
        await way(graph, "invoke", {key: [new]}, at(thread))
        after = (await way(graph, "get_state", at(thread))).values
        assert after[key][: len(before.get(key, ())) + 1] == [*before.get(key, ()), new], "lost"
        hot = self.saver.get_tuple(at(thread))
        with WyrdSaver.from_conn_string(self.blows.url) as other:
            cold = other.get_tuple(at(thread))
            assert _key(cold) == _key(hot), "another head is read from the database"
            assert _point(cold) == _point(hot), "another value is read from the database"

    async def _updated(self, thread: str, graph: Any, way: Way) -> None:
        before = await self._at_head(thread, graph, way)
        node = "end" if thread == "s" else "answer"
        await way(graph, "update_state", at(thread), {"log": ["by hand"]}, as_node=node)
        after = (await way(graph, "get_state", at(thread))).values
        assert after["log"][-1] == "by hand"
        for name, value in before.items():
            found = after.get(name)
            if name == "log":
                value = [*value, "by hand"]
            assert found == value, f"update_state changed {name}"

    async def _at_head(self, thread: str, graph: Any, way: Way) -> dict[str, Any]:
        """The values of the newest checkpoint, without what its tasks wrote since."""
        found = self.saver.get_tuple(at(thread))
        if found is None:
            return {}
        values: dict[str, Any] = (await way(graph, "get_state", found.config)).values
        return values

    async def _resumed(self, thread: str, graph: Any, way: Way) -> None:
        found = self.saver.get_tuple(at(thread))
        if found is None:
            return
        try:
            await way(graph, "invoke", Command(resume="yes"), at(thread))
        except errors.ConcurrentRun:
            self.saver.thread(thread).release()
            await way(graph, "invoke", Command(resume="yes"), at(thread))

    async def _invoked(self, thread: str, graph: Any, way: Way) -> None:
        found = self.saver.get_tuple(at(thread))
        with contextlib.suppress(*(() if found else (EmptyInputError,))):
            await way(graph, "invoke", None, at(thread))

    async def _repaired(self, before: dict[str, Seen]) -> None:
        try:
            looked(self.saver, repair=True)
            again = looked(self.saver, repair=True)
        except Exception as error:
            self.wrong.append(f"a repair raised {_said(error)}")
            return
        if done := not_done(again):
            self.wrong.append(f"a second repair had something to do: {done}")
        for thread, was in before.items():
            try:
                now = await seen(self.saver, thread, Way(False), self.sound[thread], whole=False)
            except Exception as error:
                self.wrong.append(f"{thread}: after a repair, a load raised {_said(error)}")
                continue
            self.wrong += [f"{thread}: {each}" for each in lowered(self.sound[thread], was, now)]


def lowered(sound: Seen, was: Seen, now: Seen) -> Iterator[str]:
    """What can be read no more after a repair, or is neither what was read nor what was written."""
    for key, point in was.points.items():
        after, wrote = now.points.get(key), sound.points.get(key)
        for part in ("values", "rest", "writes"):
            if after is None:
                yield f"a repair lost {key[1]}"
                break
            if after[part] not in (point[part], wrote and wrote[part]):
                yield f"a repair changed {part} of {key[1]}"
    if was.head is not None and (now.head is None or now.head[1] < was.head[1]):
        yield f"a repair took the head back from {was.head[1]}"
    for name in ("todos", "context", "loops", "intentions"):
        had, has, wrote = (_items(each.state, name) for each in (was, now, sound))
        lost = [id for id, item in had.items() if wrote.get(id) == item != has.get(id)]
        if was.head != sound.head:  # the state is that of the checkpoint that is taken instead
            lost = [id for id in lost if had[id]["source"].get("rule") == "edit"]
        again = " ".join(heal.what for heal in was.heals if heal.kind == "left_out")
        # A task that has to run again says again what it said.
        lost = [id for id in lost if (had[id]["source"].get("task_id") or "-") not in again]
        if lost:
            yield f"a repair lost what the state says in {name}: {lost}"
    if now.labels not in (was.labels, sound.labels):
        yield "a repair changed labels"


def _items(state: dict[str, Any] | None, name: str) -> dict[str, Any]:
    """Without their times, which a lost checkpoint takes with it."""
    return {
        each["id"]: {k: v for k, v in each.items() if not k.endswith("_at")}
        for each in (state or {}).get(name, ())
    }


def untold(sound: Seen, made: Seen, report: Any, silent: set[str]) -> Iterator[str]:
    """What differs, and nothing says so; `silent` are tasks of which no write is left."""
    said = {(each.table, each.thread_id) for each in report.damages}
    if any(table == "wyrd_threads" or thread is None for table, thread in said):
        return  # the thread itself may not be found
    new = [heal for heal in made.heals if heal not in sound.heals]
    lost = [heal for heal in new if heal.kind != "exact"]
    places = " ".join(f"{each.place} {each.what}" for each in report.findings)
    about = places + " ".join(f"{heal.checkpoint_id} {heal.what}" for heal in lost)
    for key in made.points.keys() - sound.points.keys():
        yield f"{key[1]} was never there"
    for key, wrote in sound.points.items():
        found = made.points.get(key)
        if found is None:
            # Of several that follow each other only the last is named by one that is left.
            last = [id for ns, id in sound.points if ns == key[0] and id > key[1]
                    and (ns, id) not in made.points]  # fmt: skip
            if not any(id in about for id in (key[1], *last)):
                yield f"{key[1]} is missing, and nothing was told"
            continue
        if found["rest"] != wrote["rest"]:
            yield f"{key[1]} says other than it said"
        for name in wrote["values"].keys() | found["values"].keys():
            if found["values"].get(name) == wrote["values"].get(name):
                continue
            told = {heal.kind for heal in new if heal.channel == name}
            if "placeholder" not in told and (name in found["values"] or "exact" not in told):
                # (A delta channel's snapshot may be left out: its writes give the value.)
                yield f"{name} at {key[1]} differs, and nothing was told"
        if found["writes"] != wrote["writes"]:
            extra = [each for each in found["writes"] if each not in wrote["writes"]]
            if extra:
                yield f"{key[1]} has writes that nobody made"
            tasks = {each[0] for each in wrote["writes"] if each not in found["writes"]}
            here = any(heal.kind == "left_out" and heal.checkpoint_id == key[1] for heal in lost)
            for task in tasks:
                if (
                    task not in about and task not in silent and not here
                ):  # its name may be what is damaged
                    yield f"writes of {task} at {key[1]} are missing, and nothing was told"
    gone = [id for ns, id in sound.points if not ns and ("", id) not in made.points]
    # Of one that is gone nothing may be left: what was written there is missing behind it.
    apart = {"trace"} if silent or any(id in places for id in gone) else set()
    if made.head != sound.head and not any(heal.kind in ("ancestor", "empty") for heal in lost):
        yield "the head is another one, and nothing was told"
    for id, values in sound.snapshots.items():
        got = made.snapshots.get(id)
        if got is not None and ("", id) in made.points:
            for name in (values.keys() | got.keys()) - apart:
                if got.get(name) != values.get(name) and not any(
                    h.channel in (name, "") for h in lost
                ):
                    yield f"{name} at {id}, in get_state_history, differs, and nothing was told"
    if made.head == sound.head:
        for name in (sound.values.keys() | made.values.keys()) - apart:
            same = made.values.get(name) == sound.values.get(name)
            if not same and not any(heal.channel in (name, "") for heal in lost):
                yield f"{name} of the head differs, and nothing was told"
    if not lost and not report.damages and not silent:
        for name in ("state", "history", "labels", "exported"):
            if getattr(made, name) != getattr(sound, name):
                yield f"{name} differs, and nothing was told"


def _at(thread: str, ns: str, id: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": id}}


def _said(error: Exception) -> str:
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{type(error).__name__}: {error} [{' '.join(frames[-4:])}]"


# ---- all of them


def campaign(
    fresh: Callable[[], contextlib.AbstractContextManager[str]],
    n: int,
    first: int,
    *,
    aloud: bool = False,
    until: float = math.inf,
) -> tuple[Counts, list[str]]:
    """`fresh` gives addresses of new copies of the database."""
    counts: Counts = Counter()
    wrong: list[str] = []
    with fresh() as url, WyrdSaver.from_conn_string(url) as saver:
        first_look = {each: asyncio.run(seen(saver, each, Way(False))) for each in THREADS}
        sound = {
            each: asyncio.run(seen(saver, each, Way(True), first_look[each])) for each in THREADS
        }
        assert saver.verify().ok, str(saver.verify())
    seed = first
    while sum(counts.values()) < n and time.monotonic() < until:
        with fresh() as url:
            blows = Blows(url, seed)
            if blows.strike():
                with WyrdSaver.from_conn_string(url) as saver:
                    look = Look(saver, blows, sound)
                    outcome = asyncio.run(look.all())
                counts[blows.pattern.__name__, outcome] += 1
                if look.wrong:
                    lines = [f"  {each}" for each in (*look.wrong, "after", *blows.told)]
                    wrong.append("\n".join([f"seed {seed}, {blows.pattern.__name__}:", *lines]))
                    if aloud:
                        print(wrong[-1], flush=True)
        seed += 1
        if aloud and not seed % 50:
            print(f"seed {seed}: {sum(counts.values())} cases", flush=True)
    return counts, wrong


def tabled(counts: Counts) -> str:
    """What came of the blows, by pattern."""
    rows: dict[str, Counter[str]] = {}
    for (pattern, outcome), count in counts.items():
        for name in (pattern, "all"):
            rows.setdefault(name, Counter())[outcome] += count
    names = [each for each in OUTCOMES if rows["all"][each]]
    lines = [" | ".join([f"{'':14}", *names, "cases"])]
    for name, held in sorted(rows.items(), key=lambda row: (row[0] == "all", row[0])):
        cells = [f"{held[each] or '':>{len(each)}}" for each in names]
        lines.append(" | ".join([f"{name:14}", *cells, f"{sum(held.values()):>5}"]))
    return "\n".join(lines)


# ---- databases


@contextlib.contextmanager
def sqlite_copies() -> Iterator[Callable[[], contextlib.AbstractContextManager[str]]]:
    with tempfile.TemporaryDirectory(prefix="wyrd-several-") as folder:
        original, copy = (f"sqlite:///{folder}/{name}.db" for name in ("sound", "copy"))
        build(original)

        @contextlib.contextmanager
        def fresh() -> Iterator[str]:
            path_of(copy).write_bytes(path_of(original).read_bytes())
            try:
                yield copy
            finally:
                for each in Path(folder).glob("copy.db*"):
                    each.unlink()

        yield fresh


@contextlib.contextmanager
def postgres_copies(server: str) -> Iterator[Callable[[], contextlib.AbstractContextManager[str]]]:
    import psycopg

    with fresh_postgres(server) as original:
        build(original)
        template = psycopg.conninfo.conninfo_to_dict(original)["dbname"]

        @contextlib.contextmanager
        def fresh() -> Iterator[str]:
            name = "wyrd_several"
            with psycopg.connect(server, autocommit=True) as admin:
                admin.execute(f'CREATE DATABASE {name} TEMPLATE "{template}" STRATEGY file_copy')
                try:
                    yield postgres_url(server, name)
                finally:
                    admin.execute(f"DROP DATABASE {name} WITH (FORCE)")

        yield fresh


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--backend", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many")
    given = parser.parse_args()
    logging.getLogger("langgraph_wyrd").setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        if given.backend == "sqlite":
            fresh = stack.enter_context(sqlite_copies())
        else:
            server = stack.enter_context(own_server())
            fresh = stack.enter_context(postgres_copies(server.get_uri()))
        counts, wrong = campaign(fresh, given.n, given.first, aloud=True,
                                 until=time.monotonic() + 60 * given.minutes)  # fmt: skip
    print(tabled(counts))
    print(f"{sum(counts.values())} cases, {len(wrong)} of which went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
