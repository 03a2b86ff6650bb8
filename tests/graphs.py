"""Random LangGraph programs: compiled graphs, and what a person does with them, from one seed.

Everything that happens is decided by the seed and by what the checkpointer gives back, so the same
seed on two checkpointers must tell the same story. Two things are kept out because LangGraph itself
leaves them to chance: a task that fails next to tasks that have not finished, and two tasks that
write one namespace at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import decimal
import operator
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage
from langgraph.channels import DeltaChannel, EphemeralValue
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

# --------------------------------------------------------------------------- state


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """One level of dict merge; None takes a key out."""
    return {k: v for k, v in {**(old or {}), **(new or {})}.items() if v is not None}


def latest(old: Any, new: Any) -> Any:
    return new


def extend(state: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*state, *(item for write in writes for item in write)]


def talk(old: list[Any], new: list[Any]) -> list[Any]:
    """add_messages, but parallel tasks may remove the same message."""
    known = {m.id for m in old}
    return add_messages(old, [m for m in new if m.id in known or not isinstance(m, RemoveMessage)])


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    total: Annotated[int, operator.add]
    facts: Annotated[dict[str, Any], merge]
    last: Annotated[Any, latest]
    messages: Annotated[list[AnyMessage], talk]
    trace: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=3)]
    note: Any
    flash: Annotated[Any, EphemeralValue(Any, guard=False)]
    item: Annotated[int, latest]


class Shared(TypedDict, total=False):
    """What goes into a subgraph and comes out: channels that take the same thing twice."""

    facts: Annotated[dict[str, Any], merge]
    messages: Annotated[list[AnyMessage], talk]
    item: Annotated[int, latest]


# --------------------------------------------------------------------------- plans


@dataclass(frozen=True)
class Node:
    name: str
    writes: tuple[str, ...] = ()
    value: Any = None
    out: str = "edge"  # edge, branch, some, send, loop, command, parent (Command to the parent)
    to: tuple[str, ...] = ()
    sends: bool = False  # a Command may reach its first target by Send
    fails: int = 0  # how many of its first runs raise
    asks: int = 0  # how many interrupts it waits for
    deferred: bool = False
    sub: Graph | None = None
    called: bool = False  # the subgraph is called by the node, instead of being the node


@dataclass(frozen=True)
class Graph:
    entry: tuple[str, ...]
    nodes: tuple[Node, ...]
    joins: tuple[tuple[tuple[str, ...], str], ...] = ()
    before: tuple[str, ...] = ()  # static interrupts
    after: tuple[str, ...] = ()
    nested: bool = False
    checkpointer: bool | None = None  # of a nested one

    def graphs(self) -> list[Graph]:
        """This one and every subgraph."""
        return [self, *(g for n in self.nodes if n.sub for g in n.sub.graphs())]


# What may raise must not have company (see the module's docstring), hence three kinds of graph:
# "errors" has failing nodes and no subgraph, "subgraphs" any subgraphs and no failing node, and
# "both" one deferred subgraph that fails inside: deferred nodes run when nothing else is due.
KINDS = ("errors", "subgraphs", "both")
CHANNELS = ("total", "facts", "last", "messages", "trace", "flash")
VALUES = (
    None, True, 0, -7, 2**60, 1.5, "", "word", "ünï 🙂", b"\x00\xff", [1, [2, None]],
    {"a": {"b": []}}, {3, 1, 2}, (1, "two"), "long " * 200, decimal.Decimal("1.10"),
    datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
)  # fmt: skip


@dataclass
class Planner:
    """Draws a plan: a chain of blocks; in each, nodes fan out and meet again in a gate."""

    rng: random.Random
    asynchronous: bool
    failing: bool = False  # one node at most: two that fail at once are reported in any order

    def plan(self, kind: str) -> Graph:
        plan = self.graph(kind)
        return saved(plan) if any(graph.joins for graph in plan.graphs()) else plan

    def graph(self, kind: str, prefix: str = "", depth: int = 0) -> Graph:
        rng = self.rng
        blocks = rng.choice((1, 2, 2, 3) if depth == 0 else (1, 1, 2))
        failing_sub = rng.randrange(blocks) if kind == "both" else -1
        nodes: list[Node] = []
        joins: list[tuple[tuple[str, ...], str]] = []
        entry: tuple[str, ...] = ()
        for b in range(blocks):
            names = [f"{prefix}{b}{c}" for c in "abcd"[: rng.randint(1, 4 if depth == 0 else 3)]]
            gate = f"{prefix}{b}z"
            if b == failing_sub:
                names = names[:1]
                block = [self.failing_sub(names[0], gate, depth)]
            else:
                block = self.block(names, gate, kind, depth)
            joins += self.join(block)
            starts = tuple(sorted(rng.sample(names[:2], rng.randint(1, len(names[:2])))))
            if nodes:
                nodes[-1] = replace(
                    nodes[-1], out=rng.choice(("edge", "edge", "some", "command")), to=starts
                )
            else:
                entry = starts
            nodes += [*block, self.gate(gate, block, kind)]
        nodes[-1] = replace(nodes[-1], to=(END,))
        paused = [rng.choice(nodes).name] if rng.random() < 0.3 else []
        before = rng.random() < 0.5
        return Graph(
            entry=entry,
            nodes=tuple(nodes),
            joins=tuple(joins),
            before=tuple(paused if before else ()),
            after=tuple(() if before else paused),
            nested=depth > 0,
        )

    def gate(self, name: str, block: list[Node], kind: str) -> Node:
        rng = self.rng
        deferred = rng.random() < (0.9 if kind == "errors" else 0.6)
        # A deferred gate that nobody sends to is alone when it runs.
        alone = deferred and not any(n.deferred or (name in n.to and n.sends) for n in block)
        return Node(
            name,
            self.writes(),
            rng.choice(VALUES),
            asks=self.asks(kind),
            fails=self.fails(kind, chance=0.7) * rng.choice((1, 2)) if alone else 0,
            deferred=deferred,
        )

    def block(self, names: list[str], gate: str, kind: str, depth: int) -> list[Node]:
        rng = self.rng
        subs = {
            name: self.sub("subgraphs", name, depth)
            for name in names
            if kind == "subgraphs" and rng.random() < (0.3, 0.15, 0.0)[depth]
        }
        # A subgraph that keeps its state has one namespace, however deep it stands, which two tasks
        # must not share.
        stateful = {
            name
            for name, sub in subs.items()
            if any(graph.checkpointer is True for graph in sub.graphs())
        }
        block = []
        for i, name in enumerate(names):
            later = [*names[i + 1 :], gate]
            out = rng.choice(("edge", "edge", "branch", "some", "send", "command", "loop"))
            to = tuple(sorted(rng.sample(later, min(len(later), rng.choice((1, 1, 2))))))
            if name in stateful or (out == "send" and to[0] in stateful):
                out = "edge"
            if out == "loop":
                to = (rng.choice(names[: i + 1]), rng.choice(later))
            block.append(
                Node(
                    name,
                    self.writes(),
                    rng.choice(VALUES),
                    out=out,
                    to=to,
                    sends=out == "send" or (out == "command" and to[0] not in stateful),
                    asks=self.asks(kind),
                    fails=self.fails(kind, chance=0.2) if self.asynchronous else 0,
                    deferred=rng.random() < (0.05 if kind == "errors" else 0.12)
                    and name not in subs,
                    sub=subs.get(name),
                    called=name in subs and (out == "command" or rng.random() < 0.5),
                )
            )
        return block

    def join(self, block: list[Node]) -> list[tuple[tuple[str, ...], str]]:
        """Now and then the first two nodes of a block wait for each other."""
        if len(block) < 3 or self.rng.random() < 0.7 or any(n.out == "loop" for n in block[:2]):
            return []
        block[0] = replace(block[0], out="edge", to=(), sends=False)
        block[1] = replace(block[1], out="edge", to=(), sends=False)
        return [((block[0].name, block[1].name), block[2].name)]

    def sub(self, kind: str, name: str, depth: int) -> Graph:
        plan = self.graph(kind, f"{name}_", depth + 1)
        checkpointer = self.rng.choice((None, None, True, False))
        if checkpointer is False:  # nothing in it could be resumed
            plan = replace(
                plan,
                nodes=tuple(replace(n, asks=0, sub=None, called=False) for n in plan.nodes),
                before=(),
                after=(),
            )
        return replace(plan, checkpointer=checkpointer)

    def failing_sub(self, name: str, gate: str, depth: int) -> Node:
        sub = self.sub("errors", name, depth)
        called = self.rng.random() < 0.3
        last = sub.nodes[-1]
        alone = not any(last.name in n.to and n.sends for n in sub.nodes)
        if alone and not called and sub.checkpointer is None and self.rng.random() < 0.5:
            last = replace(last, out="parent", to=(gate,), deferred=True)
            sub = replace(sub, nodes=(*sub.nodes[:-1], last))
        return Node(name, ("facts",), 1, to=(gate,), deferred=True, sub=sub, called=called)

    def asks(self, kind: str) -> int:
        if self.rng.random() < (0.9 if kind == "errors" else 0.7):
            return 0
        return self.rng.choice((1, 1, 2))

    def fails(self, kind: str, chance: float) -> int:
        if self.failing or kind != "errors" or self.rng.random() > chance:
            return 0
        self.failing = True
        return 1

    def writes(self) -> tuple[str, ...]:
        return tuple(sorted(self.rng.sample(CHANNELS, self.rng.randint(0, 3))))


def saved(plan: Graph) -> Graph:
    """The same with checkpoints in every subgraph (see `Teller` for why joins need that)."""
    return replace(
        plan,
        checkpointer=None if plan.checkpointer is False else plan.checkpointer,
        nodes=tuple(replace(n, sub=saved(n.sub)) if n.sub else n for n in plan.nodes),
    )


# --------------------------------------------------------------------------- building


class NodeFailed(ValueError):
    """What a failing node raises."""


@dataclass
class World:
    """What outlives a run without the checkpointer: how often each node was tried."""

    tried: Counter[str] = field(default_factory=Counter)
    inside: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def trying(self, name: str) -> Iterator[int]:
        with self.lock:
            self.tried[name] += 1
            self.inside += 1
            attempt = self.tried[name]
        try:
            yield attempt
        finally:
            with self.lock:
                self.inside -= 1

    def wait_alone(self) -> None:
        """A failing node is planned alone, but an update_state may give it company."""
        for _ in range(200):
            if self.inside <= 1:
                break
            time.sleep(0.005)
        time.sleep(0.005)


def build(plan: Graph, world: World, checkpointer: Any, *, asynchronous: bool) -> Any:
    """The compiled graph of a plan."""
    schemas = {"input_schema": Shared, "output_schema": Shared} if plan.nested else {}
    builder: Any = StateGraph(State, **schemas)
    for node in plan.nodes:
        run = action(node, world, asynchronous=asynchronous)
        builder.add_node(node.name, run, defer=node.deferred)
        if node.out == "edge":
            for target in node.to:
                builder.add_edge(node.name, target)
        elif node.out not in ("command", "parent"):
            route = router(node, asynchronous=asynchronous)
            builder.add_conditional_edges(node.name, route, [*dict.fromkeys(node.to)])
    for name in plan.entry:
        builder.add_edge(START, name)
    for sources, target in plan.joins:
        builder.add_edge(list(sources), target)
    return builder.compile(
        checkpointer=plan.checkpointer if plan.nested else checkpointer,
        interrupt_before=list(plan.before),
        interrupt_after=list(plan.after),
    )


def router(node: Node, *, asynchronous: bool) -> Any:
    def route(state: State) -> Any:
        seen = len(state.get("log") or ())
        if node.out == "branch":
            return node.to[seen % len(node.to)]
        if node.out == "some":
            return list(node.to[: 1 + seen % len(node.to)])
        if node.out == "send":
            return [
                Send(node.to[0], {"log": [f"sent{i}"], "item": i, "facts": {"from": node.name}})
                for i in range(seen % 3 + 1)
            ]
        again, on = node.to  # loop
        return again if (state.get("log") or []).count(node.name) % 3 else on

    async def in_the_loop(state: State) -> Any:  # a plain function would go to a thread
        return route(state)

    return in_the_loop if asynchronous else route


def action(node: Node, world: World, *, asynchronous: bool) -> Any:
    sub = build(node.sub, world, None, asynchronous=asynchronous) if node.sub else None
    if sub is not None and not node.called:
        return sub

    def sync_node(state: State) -> Any:
        with world.trying(node.name) as attempt:
            if attempt <= node.fails:
                world.wait_alone()
            update = body(node, state, attempt)
        if sub is not None:
            update = joined(update, sub.invoke(shared(state)))
        return answer(node, state, update)

    async def async_node(state: State) -> Any:
        with world.trying(node.name) as attempt:
            if attempt <= node.fails:
                for _ in range(50):  # whoever shares this step finishes first
                    await asyncio.sleep(0)
            update = body(node, state, attempt)
        if sub is not None:
            update = joined(update, await sub.ainvoke(shared(state)))
        return answer(node, state, update)

    return async_node if asynchronous else sync_node


def body(node: Node, state: Any, attempt: int) -> dict[str, Any]:
    if attempt <= node.fails:
        raise NodeFailed(f"{node.name} fails, time {attempt}")
    count = len(state.get("log") or ())
    about = {"node": node.name, "item": state.get("item"), "count": count}
    answers = [interrupt({**about, "question": q}) for q in range(node.asks)]
    update: dict[str, Any] = {"log": [node.name, *(f"{node.name}:{a}" for a in answers)]}
    if "total" in node.writes:
        update["total"] = count + (state.get("item") or 0)
    if "facts" in node.writes:
        update["facts"] = {node.name: {"value": node.value, "count": count}, f"f{count % 4}": None}
        update["facts"][f"f{count % 3}"] = count
    if "last" in node.writes:
        update["last"] = node.value
    if "trace" in node.writes:
        update["trace"] = [f"{node.name}@{count}"]
    if "flash" in node.writes:
        update["flash"] = count
    if "messages" in node.writes:
        update["messages"] = say(node, state, count)
    return update


def say(node: Node, state: Any, count: int) -> list[Any]:
    """Messages that are added, changed in place and removed."""
    messages = state.get("messages") or []
    if count % 5 == 3 and messages:
        return [RemoveMessage(id=messages[0].id)]
    if count % 5 == 4 and messages:
        changed = messages[len(messages) // 2]
        return [changed.model_copy(update={"content": f"{changed.content} (again {count})"})]
    mid = f"{node.name}-{count}"
    call = {"name": "look", "args": {"at": count}, "id": f"call-{mid}"}
    return [
        AIMessage(f"from {node.name}", id=mid, tool_calls=[call]),
        ToolMessage(f"found {count}", tool_call_id=f"call-{mid}", id=f"{mid}-t"),
    ]


def shared(state: Any) -> dict[str, Any]:
    return {k: state[k] for k in ("facts", "messages", "item") if k in state}


def joined(update: dict[str, Any], came_back: Any) -> dict[str, Any]:
    facts = merge(update.get("facts") or {}, (came_back or {}).get("facts") or {})
    return {**update, "facts": facts}


def answer(node: Node, state: Any, update: dict[str, Any]) -> Any:
    if node.out == "parent":
        return Command(graph=Command.PARENT, update={"facts": update.get("facts")}, goto=node.to)
    if node.out != "command":
        return update
    seen = len(state.get("log") or ())
    goto: list[Any] = list(node.to)
    if node.sends and seen % 3 == 2:
        goto[0] = Send(node.to[0], {"log": ["by command"], "item": seen})
    return Command(update=update, goto=goto)
