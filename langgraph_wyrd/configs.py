"""LangGraph's configs and tuples, and ours: ids in stored form, pages of a listing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import CheckpointTuple

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.healing import reading as healing
from langgraph_wyrd.later import later
from langgraph_wyrd.plans import read
from langgraph_wyrd.plans.gone import After
from langgraph_wyrd.plans.known import Memory
from langgraph_wyrd.store.names import stored, thread_key
from langgraph_wyrd.store.running import Running
from langgraph_wyrd.store.values import Codec

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.healing import telling
else:
    telling = later("healing.telling")

_PAGE = 32  # checkpoints that a listing holds at once


def place(config: RunnableConfig) -> tuple[Any, str, str | None]:
    """Thread id as the caller gave it, namespace, checkpoint id."""
    found = config.get("configurable") or {}
    if found.get("thread_id") is None:
        raise InvalidInput(
            "config['configurable'] has no thread_id: pass {'configurable': {'thread_id': …}}"
        )
    return found["thread_id"], found.get("checkpoint_ns") or "", found.get("checkpoint_id") or None


def thread(thread_id: Any) -> str:
    """A thread's id as it is stored, of the id or of a config that names it."""
    if isinstance(thread_id, Mapping):
        thread_id = place(thread_id)[0]  # type: ignore[arg-type]
    if thread_id is None:
        raise InvalidInput("thread None: say which, by its id or a config that names it")
    return stored(str(thread_id), "thread_id")


def stored_place(config: RunnableConfig) -> tuple[str, str, str | None]:
    thread_id, ns, id = place(config)
    return (
        thread(thread_id),
        stored(ns, "checkpoint_ns"),
        None if id is None else stored(str(id), "checkpoint_id"),
    )


def config_of(place: tuple[Any, str, str | None], id: str | None = None) -> RunnableConfig:
    thread_id, ns, own = place
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": ns,
            "checkpoint_id": own if id is None else id,
        }
    }


def tuple_of(found: read.Read, thread_id: Any, config: RunnableConfig | None) -> CheckpointTuple:
    """A tuple; its configs carry the thread id as the caller gave it."""
    name = found.thread_id if thread_id is None else thread_id
    return CheckpointTuple(
        config or config_of((name, found.ns, found.id)),
        found.checkpoint,  # type: ignore[arg-type]
        found.metadata,  # type: ignore[arg-type]
        None if found.parent is None else config_of((name, found.ns, found.parent)),
        found.writes,
    )


def named(held: Mapping[str, Any]) -> dict[str, Any]:
    return {stored(name, "a channel"): value for name, value in held.items()}


def several(ids: Sequence[str], what: str) -> Sequence[str]:
    if isinstance(ids, str):
        raise InvalidInput(f"{what} is one string: pass a list of ids")
    return ids


class Pages:
    """The pages of one `list` call."""

    def __init__(
        self,
        codec: Callable[[], Codec],
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
        *,
        heals: bool = True,
        user: str | None = None,
    ) -> None:
        self._codec = codec
        self._page = healing.page if heals else healing.just_page
        self._thread_id: Any = None
        self._filter = filter or {}
        self._left = limit
        self._after: After | None = None
        self._conditions: list[tuple[str, tuple[Any, ...]]] = []
        self.done = limit is not None and limit <= 0
        if user is not None:
            self._conditions.append(("of_user", (user,)))
        if config is not None:
            self._thread_id = place(config)[0]
            self._conditions.append(("of_thread", (thread_key(thread(self._thread_id)),)))
            ns = config["configurable"].get("checkpoint_ns")
            if ns is not None:
                self._conditions.append(("in_namespace", (stored(ns, "checkpoint_ns"),)))
            if id := config["configurable"].get("checkpoint_id"):
                self._conditions.append(("with_id", (stored(id, "checkpoint_id"),)))
        if before is not None:
            id = before.get("configurable", {}).get("checkpoint_id")
            if not isinstance(id, str):
                raise InvalidInput(
                    "before['configurable'] has no checkpoint_id: it says where to go on"
                )
            self._conditions.append(("before_id", (stored(id, "before"),)))
        # Columns only narrow the search; every row is compared as a whole below.
        for name, about in (("from_source", "source"), ("of_run", "run_id")):
            if isinstance(text := self._filter.get(about), str):
                self._conditions.append((name, (stored(text, f"filter[{about!r}]"),)))
        step = self._filter.get("step")
        if type(step) is int and abs(step) < 1 << 62:
            self._conditions.append(("at_step", (step,)))

    def _matches(self, metadata: dict[str, Any]) -> bool:
        return all(metadata.get(name) == value for name, value in self._filter.items())

    async def next(self, core: Running[Memory]) -> list[CheckpointTuple]:
        size = _PAGE if self._left is None or self._filter else min(_PAGE, self._left)
        codec, after = self._codec(), self._after
        found, self._after, heals = await core.read(
            lambda: self._page(codec, self._conditions, after, size, self._matches)
        )
        if heals:
            await telling.tell(core, codec, heals)
        if self._left is not None:
            found = found[: self._left]
            self._left -= len(found)
        self.done = self._after is None or self._left == 0
        return [tuple_of(each, self._thread_id, None) for each in found]
