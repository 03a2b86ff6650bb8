"""Plays a random program on a checkpointer and writes down everything that can be seen of it.

Two checkpointers are equal when their stories are. Ids are random, so each is replaced by the order
of its first appearance; times are left out; of a version only the counter stays.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph import END
from langgraph.types import Command, Interrupt, Overwrite, Send, StateSnapshot, StateUpdate

from tests.graphs import KINDS, Graph, Planner, World, build

NULL_TASK = "00000000-0000-0000-0000-000000000000"
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
TIMES = {"created_at", "modified_at", "ts"}
VERSIONS = {"channel_versions", "versions_seen"}
CONFIG = {"thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map"}


@dataclass
class Plain:
    """Turns what LangGraph gives into lists, dicts and strings that two runs can share."""

    ids: dict[str, str] = field(default_factory=dict)

    def text(self, text: str) -> str:
        return ID.sub(self._ordinal, text)

    def _ordinal(self, match: re.Match[str]) -> str:
        if match[0] == NULL_TASK:
            return "<null>"
        return self.ids.setdefault(match[0], f"<{len(self.ids)}>")

    def __call__(self, value: Any, *, versions: bool = False) -> Any:
        if isinstance(value, str):
            return f"v{int(value.split('.')[0])}" if versions else self.text(value)
        if isinstance(value, dict):
            return self._dict(value, versions)
        if isinstance(value, BaseMessage):
            return {"message": type(value).__name__, **self(value.model_dump())}
        if isinstance(value, Interrupt):
            return {"interrupt": self(value.value), "id": self(value.id)}
        if isinstance(value, Send):
            return {"send": value.node, "arg": self(value.arg)}
        if isinstance(value, _DeltaSnapshot):
            return {"snapshot": self(value.value)}
        if isinstance(value, BaseException):
            return {"error": type(value).__name__, "text": self.text(str(value))}
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return {type(value).__name__: self(value._asdict())}
        if isinstance(value, (set, frozenset)):
            return [type(value).__name__, *sorted(str(self(v)) for v in value)]
        if isinstance(value, (list, tuple)):
            if value and all(isinstance(v, Interrupt) for v in value):
                return self._interrupts(value)
            return [type(value).__name__, *(self(v) for v in value)]
        return f"{type(value).__name__} {value!r}"

    def _interrupts(self, found: Sequence[Interrupt]) -> list[Any]:
        """Parallel tasks report theirs in any order; two with one question look alike."""
        told = sorted(found, key=lambda i: str(i.value))
        asked = Counter(str(i.value) for i in found)
        return [self(i) if asked[str(i.value)] == 1 else self(i.value) for i in told]

    def order(self, key: Any) -> tuple[str, list[str], str]:
        known = [self.ids.get(i, "") for i in ID.findall(str(key))]
        return ID.sub("", str(key)), known, str(key)

    def _dict(self, value: dict[Any, Any], versions: bool) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for key in sorted(value, key=self.order):
            name = self.text(key) if isinstance(key, str) else repr(key)
            if key in TIMES:
                told[name] = "<time>"
            elif key == "thread_id":
                told[name] = "<thread>"
            elif key == "configurable":
                told[name] = self({k: v for k, v in value[key].items() if k in CONFIG})
            else:
                told[name] = self(value[key], versions=versions or key in VERSIONS)
        return told


# --------------------------------------------------------------------------- telling


@dataclass
class Teller:
    """One seed played on one database. `story` is what was seen, action by action."""

    seed: int
    savers: Sequence[BaseCheckpointSaver[Any]]  # of one database; they take turns
    asynchronous: bool
    cross: bool = False  # now and then the other world's readers, from the same place
    past: bool = True  # whether the past is looked at and gone back to
    story: list[tuple[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = random.Random(self.seed)
        self.plan: Graph = Planner(rng, self.asynchronous).plan(KINDS[self.seed % len(KINDS)])
        self.kind = KINDS[self.seed % len(KINDS)]
        world = World()
        self.graphs = [
            build(self.plan, world, saver, asynchronous=self.asynchronous) for saver in self.savers
        ]
        self.rng = random.Random(f"script {self.seed}")
        self.plain = Plain()
        # Two faults of langgraph 1.2.22 leave a story to chance. durability="sync" fails where it
        # meets a subgraph with checkpointer=False; and a join is saved as it is by then, not as it
        # was, in the background and on exit: its channel changes the set that the saver was given.
        graphs = self.plan.graphs()
        self.durabilities = ["sync", "async", "async", "exit", None]
        if any(graph.joins for graph in graphs):
            self.durabilities = ["sync"]
        elif any(graph.checkpointer is False for graph in graphs):
            self.durabilities = ["async", "exit", None]
        self.thread = f"thread-{self.seed}-{'async' if self.asynchronous else 'sync'}"
        self.turn = 0

    @property
    def config(self) -> Any:
        return {"configurable": {"thread_id": self.thread}}

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        return self.savers[self.turn % len(self.savers)]

    @property
    def graph(self) -> Any:
        return self.graphs[self.turn % len(self.graphs)]

    # what can be called, in the world of this run

    async def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if not self.asynchronous:
            return getattr(self.graph, name)(*args, **kwargs)
        if self.cross and name == "get_state" and self.turn % 3 == 0:
            return getattr(self.graph, name)(*args, **kwargs)
        return await getattr(self.graph, "a" + name)(*args, **kwargs)

    async def items(self, owner: Any, name: str, *args: Any, **kwargs: Any) -> list[Any]:
        if not self.asynchronous:
            return list(getattr(owner, name)(*args, **kwargs))
        return [item async for item in getattr(owner, "a" + name)(*args, **kwargs)]

    async def ask_saver(self, name: str, *args: Any) -> None:
        if self.asynchronous:
            await getattr(self.saver, "a" + name)(*args)
        else:
            getattr(self.saver, name)(*args)

    async def history(self, config: Any = None) -> list[StateSnapshot]:
        return await self.items(self.graph, "get_state_history", config or self.config)

    # what a person does

    def inputs(self) -> dict[str, Any]:
        n = self.turn
        return {
            "log": [f"in{n}"],
            "facts": {"turn": n, "who": "ann"},
            "messages": [HumanMessage(f"please do {n}", id=f"h{n}")],
        }

    def update(self, *, alone: bool = True) -> dict[str, Any]:
        """Values to set. `alone`: no other update of the same step sets what only one may set."""
        values: dict[str, Any] = {"log": [f"edit{self.turn}"], "facts": {"edited": self.turn}}
        if self.rng.random() < 0.5:
            values["messages"] = [HumanMessage("edited", id=f"h{max(self.turn - 1, 0)}")]
        if self.rng.random() < 0.4:
            values["trace"] = Overwrite(["fresh"]) if alone and self.turn % 2 else ["edit"]
        if alone and self.rng.random() < 0.3:
            values["note"] = {"turn": self.turn}
        return values

    async def run(self, label: str, given: Any, config: Any = None) -> None:
        rng = self.rng
        durability = rng.choice(self.durabilities)
        limit = rng.choice((3, 6)) if self.kind != "subgraphs" and rng.random() < 0.15 else 60
        run_config = {
            **(config or self.config),
            "recursion_limit": limit,
            "metadata": {"turn": self.turn, "fine": True, "weight": 0.5, "who": "ann"},
        }
        options: dict[str, Any] = {"durability": durability}
        if rng.random() < 0.1:
            options[rng.choice(("interrupt_before", "interrupt_after"))] = [
                rng.choice(self.plan.nodes).name
            ]
        label = f"{label} durability={durability} limit={limit} {options}"
        if rng.random() < 0.2:
            await self.record(label + " streamed", self.stream(given, run_config, **options))
        else:
            await self.record(label, self.call("invoke", given, run_config, **options))

    async def stream(self, given: Any, config: Any, **options: Any) -> list[Any]:
        seen = await self.items(
            self.graph, "stream", given, config, stream_mode="values", **options
        )
        interrupts = [i for chunk in seen for i in chunk.get("__interrupt__", ())]
        return [*(c for c in seen if "__interrupt__" not in c), interrupts]

    async def record(self, label: str, doing: Awaitable[Any]) -> Any:
        result = error = None
        try:
            result = await doing
        except Exception as raised:
            error = raised
        self.story.append((label, self.plain(result if error is None else error)))
        return result

    async def act(self) -> None:
        """One thing that a person might do, given what the thread looks like."""
        rng = self.rng
        state: StateSnapshot = await self.call("get_state", self.config)
        if state.metadata is None:
            if rng.random() < 0.15:  # a thread that starts with an edit
                await self.edit(
                    "edit a fresh thread", self.config, rng.choice(self.plan.nodes).name
                )
            await self.run("start", self.inputs())
        elif self.past and rng.random() < 0.25:
            await self.fork()
        elif rng.random() < 0.15:
            await self.edit("edit", self.config, self.as_node(state))
        elif state.interrupts and rng.random() < 0.8:
            await self.resume(state)
        elif state.interrupts and rng.random() < 0.5:
            await self.edit_subgraph()
        elif state.next and rng.random() < 0.8:
            await self.run("go on", None)
        elif not state.next and rng.random() < 0.2:
            node = rng.choice(self.plan.nodes).name
            await self.run("jump", Command(goto=node, update=self.update(alone=False)))
        else:
            await self.run("input", self.inputs())

    def as_node(self, state: StateSnapshot) -> str | None:
        return self.rng.choice([None, *state.next, self.rng.choice(self.plan.nodes).name])

    async def resume(self, state: StateSnapshot) -> None:
        rng = self.rng
        answer: Any = rng.choice(("yes", {"approved": True}, 7, ["a", None]))
        questions = sorted({str(i.value) for i in state.interrupts})
        label: Any = answer
        # Without an id the answer goes to whichever task asks first.
        if len(state.interrupts) > 1 or len(state.next) > 1 or rng.random() < 0.3:
            label = questions if rng.random() < 0.6 else questions[:1]
            answer = {
                i.id: f"answer {questions.index(str(i.value))}"
                for i in state.interrupts
                if str(i.value) in label
            }
        extra: dict[str, Any] = {}
        if rng.random() < 0.2:
            # Updates that wait for the same step add up.
            extra["update"] = self.update(alone=False)
        await self.run(f"resume {label} {[*extra]}", Command(resume=answer, **extra))

    async def edit(self, label: str, config: Any, as_node: str | None) -> Any:
        rng = self.rng
        kind = rng.random()
        if kind < 0.1:
            doing = self.call("update_state", config, None, as_node=END)
            label += " end"
        elif kind < 0.2:
            doing = self.call("update_state", config, self.inputs(), as_node="__input__")
            label += " as input"
        elif kind < 0.35:
            node = rng.choice(self.plan.nodes).name
            steps = [
                [StateUpdate({"facts": {"bulk": 1}}, node)],
                [StateUpdate(self.update(), rng.choice(self.plan.nodes).name)],
            ]
            doing = self.call("bulk_update_state", config, steps)
            label += " bulk"
        else:
            doing = self.call("update_state", config, self.update(), as_node=as_node)
        return await self.record(f"{label} as {as_node}", doing)

    async def edit_subgraph(self) -> None:
        state: StateSnapshot = await self.call("get_state", self.config)
        inner = [t.state for t in state.tasks if t.state is not None]
        if not inner:
            return
        config: Any = self.rng.choice(inner)
        await self.record(
            "edit a subgraph", self.call("update_state", config, {"facts": {"inside": self.turn}})
        )
        await self.run("go on", None)

    async def fork(self) -> None:
        rng = self.rng
        history = await self.history()
        old = rng.choice(history)
        way = rng.choice(("again", "edit", "edit", "input", "copy", "copy with values"))
        label = f"fork {way} from {history.index(old)} of {len(history)}"
        if way == "again":
            await self.run(label, None, old.config)
        elif way == "edit":
            new = await self.edit(label, old.config, self.as_node(old))
            await self.run("go on with the fork", None, rng.choice((new, self.config)))
        elif way == "input":
            await self.run(label, self.inputs(), old.config)
        else:
            values: Any = None
            if way == "copy with values" and old.next:
                values = [(self.update(), rng.choice(old.next))]
            await self.record(
                label, self.call("update_state", old.config, values, as_node="__copy__")
            )
            await self.run("go on with the copy", None)

    # what can be seen

    async def look(self) -> None:
        await self.record("state", self.state())

    async def state(self) -> StateSnapshot:
        found: StateSnapshot = await self.call("get_state", self.config, subgraphs=True)
        return found if self.past else without_parents(found)

    async def look_everywhere(self) -> None:
        """The history, and what the saver itself lists, namespace by namespace."""
        if not self.past:
            return
        await self.record("history", self.history())
        found = await self.items(self.saver, "list", self.config)
        for namespace in self.namespaces(found):
            config = {"configurable": {"thread_id": self.thread, "checkpoint_ns": namespace}}
            name = ID.sub("…", namespace)
            await self.record(f"list {name!r}", self.items(self.saver, "list", config))
            if namespace and ":" not in namespace:
                await self.record(f"history of {name!r}", self.history(config))
        # Across namespaces a saver may group or not: only that all are there.
        self.story.append(("list all", sorted(self.plain(t.checkpoint["id"]) for t in found)))
        root = {"configurable": {"thread_id": self.thread, "checkpoint_ns": ""}}
        rows = [t for t in found if not t.config["configurable"]["checkpoint_ns"]]
        some = self.rng.choice(rows).config if rows else root
        for query in (
            {"limit": 2},
            {"before": some},
            {"before": some, "limit": 1},
            {"filter": {"source": "loop"}},
            {"filter": {"step": 1}},
            {"filter": {"turn": 1, "fine": True}},
            {"filter": {"source": "loop", "weight": 0.5}, "limit": 2},
        ):
            await self.record(f"list {[*query]}", self.listed(query, root))
        await self.record("list one", self.listed({}, some))

    async def listed(self, query: dict[str, Any], config: Any) -> list[str]:
        """Only which checkpoints, in order."""
        found = await self.items(self.saver, "list", config, **query)
        return [t.checkpoint["id"] for t in found]

    def namespaces(self, found: list[CheckpointTuple]) -> list[str]:
        """By name, then by the ids that were met before, by what they hold, by age."""
        content: dict[str, list[str]] = {}
        for row in sorted(found, key=lambda row: row.checkpoint["id"]):
            values = str(Plain()(row.checkpoint["channel_values"]))
            content.setdefault(row.config["configurable"]["checkpoint_ns"], []).append(values)
        return sorted(content, key=lambda ns: (*self.plain.order(ns)[:2], content[ns]))


Between = Callable[[Teller], Awaitable[None]]


async def move_to_copy(teller: Teller) -> None:
    """The thread is copied, deleted, and the story goes on with the copy."""
    old, new = teller.thread, f"{teller.thread}, copied"
    await teller.ask_saver("copy_thread", old, new)
    await teller.ask_saver("delete_thread", old)
    teller.thread = new


async def prune(teller: Teller) -> None:
    await teller.ask_saver("prune", [teller.thread])


async def tell(
    seed: int,
    *savers: BaseCheckpointSaver[Any],
    asynchronous: bool,
    turns: int = 6,
    cross: bool = False,
    history: bool = True,
    between: Between | None = None,
    thread: str | None = None,
) -> list[tuple[str, Any]]:
    """The story of a seed on a database; `between` happens after every turn, and does not show.

    Without `history` nobody looks or goes back, so that a pruned thread has a story of its own.
    """
    teller = Teller(seed, savers, asynchronous, cross, history)
    teller.thread = thread or teller.thread
    for teller.turn in range(turns):
        await teller.record("act", teller.act())
        await teller.look()
        if between is not None:
            await between(teller)
    await teller.look_everywhere()
    if seed % 4 == 0:  # the same thread again, after it was deleted
        await teller.ask_saver("delete_thread", teller.thread)
        await teller.look()
        await teller.run("after deletion", teller.inputs())
        await teller.look_everywhere()
    return teller.story


def without_parents(state: StateSnapshot) -> StateSnapshot:
    """A state, and those of its subgraphs, whose parents may have been pruned."""
    tasks = [
        task._replace(state=without_parents(task.state))
        if isinstance(task.state, StateSnapshot)
        else task
        for task in state.tasks
    ]
    return state._replace(parent_config=None, tasks=tuple(tasks))


def without_loop(doing: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine that never really waits, so that no event loop is near."""
    try:
        doing.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("it waited")


def first_difference(a: Any, b: Any, where: str = "") -> str | None:
    """Where two stories part, in words."""
    if type(a) is type(b) and isinstance(a, dict) and a.keys() == b.keys():
        return first(first_difference(a[k], b[k], f"{where}/{k}") for k in a)
    if type(a) is type(b) and isinstance(a, (list, tuple)) and len(a) == len(b):
        return first(
            first_difference(x, y, f"{where}/{name_of(x, i)}")
            for i, (x, y) in enumerate(zip(a, b, strict=True))
        )
    return None if a == b else f"at {where}:\n  {str(a)[:2000]}\n  {str(b)[:2000]}"


def name_of(item: Any, index: int) -> str:
    return f"[{item[0]}]" if isinstance(item, tuple) else str(index)


def first(found: Iterator[str | None]) -> str | None:
    return next((f for f in found if f is not None), None)
