"""Random programs played on savers, and what is compared of the threads that they leave.

`WYRD_MORE=20` plays that many times more of them.
"""

from __future__ import annotations

import asyncio
import operator
import os
import threading
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypedDict

from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.errors import ThreadNotFound
from langgraph_wyrd.state.facts import PASSING
from langgraph_wyrd.state.model import WorkingState
from tests.conftest import DURABLE, Backend, fresh_backend
from tests.handmade import config, put
from tests.story import Plain, Teller, without_loop

MORE = int(os.environ.get("WYRD_MORE", "1"))


def played(
    seed: int,
    savers: list[Any],
    *,
    asynchronous: bool,
    turns: int = 5,
    past: bool = True,
    between: Callable[[Teller, int], None] | None = None,
) -> Teller:
    """A random program, of which only what it leaves in the database matters."""

    async def play() -> Teller:
        teller = Teller(seed, savers, asynchronous, True, past)
        for teller.turn in range(turns):
            await teller.record("act", teller.act())
            if between is not None:
                between(teller, teller.turn)
        return teller

    return asyncio.run(play()) if asynchronous else without_loop(play())


def seeds(first: int, count: int, backend: Any = None) -> list[int]:
    """Seeds of programs. Given a backend: what it plays of them, for a database plays every other
    one and the next database those between; with WYRD_MORE each plays all."""
    return share(range(first, first + count * MORE), backend)


def share(found: Iterable[int], backend: Any) -> list[int]:
    """The part of these seeds that this backend plays: see `seeds`."""
    if backend is None or os.environ.get("WYRD_MORE"):
        return list(found)
    return [seed for seed in found if seed % 2 == (backend.name == "postgres")]


def each_on_one(found: Iterable[int]) -> list[tuple[str, int]]:
    """Parameters (durable, seed): each seed on one database, with WYRD_MORE on both."""
    more = bool(os.environ.get("WYRD_MORE"))
    return [(name, n) for n in found for i, name in enumerate(DURABLE) if more or n % 2 == i]


class Watching(WyrdSaver):
    """Notes what was seen live at each root checkpoint; tells other databases what it is told.

    One call at a time, so that every database sees the same order of things.
    """

    watch: bool
    seen: dict[tuple[str, str], WorkingState]
    others: list[list[WyrdSaver]]
    lock: threading.RLock
    calls: list[int]

    def begin(self, others: Iterable[list[WyrdSaver]] = (), *, watch: bool = True) -> Watching:
        self.seen, self.others, self.lock, self.calls = {}, list(others), threading.RLock(), [0]
        self.watch = watch
        return self

    def told(self, name: str, *args: Any) -> Any:
        for savers in self.others:
            getattr(savers[self.calls[0] % len(savers)], name)(*args)
        return getattr(super(), name)(*args)

    def note(self, thread_id: str) -> None:
        """What is seen at the head now."""
        if self.watch:
            try:
                state = self.thread(thread_id).working_state()
            except ThreadNotFound:
                return
            assert state.checkpoint_id is not None
            self.seen[thread_id, state.checkpoint_id] = state

    def put(self, config: Any, *args: Any) -> Any:
        with self.lock:
            thread_id = config["configurable"]["thread_id"]
            self.note(thread_id)
            answer = self.told("put", config, *args)
            self.seen.pop((thread_id, args[1].get("parents", {}).get("")), None)
            self.note(thread_id)
            return answer

    async def aput(self, *args: Any) -> Any:
        return self.put(*args)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        with self.lock:
            self.told("put_writes", config, writes, task_id, task_path)
            where = config["configurable"]
            ns, root = where.get("checkpoint_ns") or "", where["checkpoint_id"]
            if ns:
                root = self.root_of(where["thread_id"], ns, root)
            # History that grows is seen from now on as it is now: it was not seen live so.
            self.seen.pop((where["thread_id"], root), None)
            self.note(where["thread_id"])

    def root_of(self, thread_id: str, ns: str, id: str) -> Any:
        config = {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": id}
        found = self.get_tuple({"configurable": config})
        return found and found.metadata.get("parents", {}).get("")

    async def aput_writes(
        self, config: Any, writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        self.put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        with self.lock:
            self.told("delete_thread", thread_id)
            self.seen = {key: state for key, state in self.seen.items() if key[0] != thread_id}

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)

    def copy_thread(self, source: str, target: str) -> None:
        with self.lock:
            self.told("copy_thread", source, target)

    async def acopy_thread(self, source: str, target: str) -> None:
        self.copy_thread(source, target)

    def prune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
        with self.lock:
            self.told("prune", thread_ids)

    async def aprune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
        self.prune(thread_ids)

    def delete_for_runs(self, run_ids: Any) -> None:
        with self.lock:
            self.told("delete_for_runs", run_ids)


def watching(backend: Backend, **options: Any) -> Any:
    saver = Watching.from_conn_string(backend.url, **options)
    backend.opened.append(saver)
    return saver


def other_database(name: str, request: Any, tmp_path: Any, which: str = "other") -> Any:
    """A second, empty database of the same kind."""
    if name == "postgres":
        return fresh_backend("postgres", request)
    return _OtherFile(f"sqlite:///{tmp_path / which}.db")


class _OtherFile:
    def __init__(self, url: str) -> None:
        self.made = Backend("sqlite", url)

    def __enter__(self) -> Backend:
        return self.made

    def __exit__(self, *exc: object) -> None:
        for saver in self.made.opened:
            saver.close()


def talk(saver: Any, thread: str, *, run: str, words: list[str]) -> Any:
    """A conversation by hand: one checkpoint a request."""
    head = None
    said: list[Any] = []
    for n, text in enumerate(words):
        said = [*said, HumanMessage(text, id=f"{run}{n}")]
        head = put(saver, thread, {"messages": said}, parent=head, metadata={"run_id": run})
    return head


def states_of(saver: Any, thread_id: str) -> dict[str, WorkingState]:
    """The working state at each of the root's checkpoints."""
    found = saver.list(config(thread_id))
    handle = saver.thread(thread_id)
    return {each.checkpoint["id"]: handle.working_state(at=each.checkpoint["id"]) for each in found}


def lasting(state: WorkingState) -> Any:
    """A state without the questions and errors that are over, and without what was left behind.

    Where a task asked twice only the last question is stored: the earlier can't be read again, and
    the number of the last one is another.
    """
    loops = [
        (loop.kind, loop.ref, loop.description, loop.source, loop.opened_at)
        if loop.source.rule in PASSING
        else loop
        for loop in state.loops
        if not (loop.resolved and loop.source.rule in PASSING) and not loop.left
    ]
    return (
        loops, state.todos, state.context, state.intentions, state.due, state.status, state.title,
    )  # fmt: skip


def comparable(state: WorkingState) -> Any:
    """A state without what is over, of which a base keeps less."""
    return (
        state.open_loops, state.guessed_loops, state.todos, state.context, state.intention,
        state.due, state.status, state.reason, state.title,
    )  # fmt: skip


def seen(saver: Any, thread_id: str) -> dict[tuple[str, str], Any]:
    """All of each checkpoint but its parent: values, metadata, writes, deltas, working state."""
    found = {}
    handle = saver.thread(thread_id)
    for row in saver.list({"configurable": {"thread_id": thread_id}}):
        place = row.config["configurable"]
        ns, id = place["checkpoint_ns"], place["checkpoint_id"]
        # LangGraph asks for the history of what the checkpoint itself does not hold.
        away = [name for name in ("trace",) if name not in row.checkpoint["channel_values"]]
        history = saver.get_delta_channel_history(config=row.config, channels=away)
        state = handle.working_state(at=id) if not ns else None
        still = state and (
            [loop for loop in state.loops if not loop.resolved], state.todos, state.context,
            state.intention, state.status, state.due,
        )  # fmt: skip
        found[ns, id] = Plain()((row.checkpoint, row.metadata, row.pending_writes)), history, still
    return found


class Counter(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def counting(saver: Any) -> Any:
    builder = StateGraph(Counter)
    builder.add_node("step", lambda state: {"log": [f"step {len(state['log'])}"]})
    builder.add_edge(START, "step")
    return builder.compile(checkpointer=saver)


def assert_nothing_over(saver: WyrdSaver) -> None:
    """What is stored is whole, and nothing is stored that no checkpoint needs."""
    report = saver.verify()
    assert report.ok, report
