"""LangGraph's configs and tuples: ids in stored form, pages of a listing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory

from langgraph_wyrd.checkpoints import read
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.storage.keys import found_by
from langgraph_wyrd.storage.names import given, stored

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_wyrd.saver import WyrdSaver

_CONFIG = "{'configurable': {'thread_id': …}}"
_PAGE = 32  # checkpoints that a listing holds at once


class Pages:
    """The pages of one `list` call."""

    def __init__(
        self, saver: WyrdSaver, config: RunnableConfig | None, filter: dict[str, Any] | None,
        before: RunnableConfig | None, limit: int | None,
    ) -> None:  # fmt: skip
        self._saver = saver
        self._given: Any = None  # the thread's id as the caller gave it
        self.thread_id: str | None = None  # … and as it is stored
        if not isinstance(filter, Mapping | None):
            raise InvalidInput(f"filter={filter!r:.80}: pass a dict of metadata")
        try:
            self._left = None if limit is None else index(limit)
        except TypeError:
            raise InvalidInput(f"limit={limit!r:.80}: pass a number, or None for all") from None
        self._filter = filter or {}
        self._after: read.Page | None = None
        self.done = self._left is not None and self._left <= 0
        self._where: list[tuple[str, tuple[Any, ...]]] = []
        saver._permit(config)
        if saver._user is not None:
            self._narrow("t.user_id", saver._user)
        if config is not None:
            self._given, dialect = place(config)[0], saver._dialect
            self.thread_id = stored(str(self._given), "thread_id")
            by = "t.key" if dialect == "postgres" else "t.thread_id"
            self._narrow(by, found_by(dialect, self.thread_id))
            ns = config["configurable"].get("checkpoint_ns")
            if ns is not None:
                self._narrow("c.ns", stored(ns, "checkpoint_ns"))
            if id := config["configurable"].get("checkpoint_id"):
                self._narrow("c.id", stored(str(id), "checkpoint_id"))
        if before is not None:
            held = before.get("configurable") if isinstance(before, Mapping) else None
            id = held.get("checkpoint_id") if isinstance(held, Mapping) else None
            if not isinstance(id, str):
                raise InvalidInput(
                    "before['configurable'] has no checkpoint_id: it says where to go on"
                )
            self._narrow("c.id", stored(id, "before"), "<")
        # Columns only narrow the search; every row is compared as a whole below.
        for name in ("source", "run_id"):
            if isinstance(text := self._filter.get(name), str):
                self._narrow(f"c.{name}", stored(text, f"filter[{name!r}]"))
        step = self._filter.get("step")
        if type(step) is int and abs(step) < 1 << 62:
            self._narrow("c.step", step)

    def _narrow(self, column: str, value: Any, how: str = "=") -> None:
        self._where.append((f"{column} {how} ?", (value,)))

    def script(self, lenient: Any = None) -> Any:
        size = _PAGE if self._left is None or self._filter else min(_PAGE, self._left)
        dialect, codec, wanted = self._saver._dialect, self._saver._codec, self._filter

        def matches(metadata: dict[str, Any]) -> bool:
            return all(metadata.get(name) == value for name, value in wanted.items())

        filtered = matches if wanted else None
        asked = (dialect, codec, self._where, self._after, size, filtered, lenient)
        found = yield from read.page(*asked)
        if not found[0] and self.thread_id is not None:  # both raise if its row is missing
            if lenient is None:
                yield from thread_row(dialect, self.thread_id)
            else:
                yield from lenient.get(self.thread_id, "", None)
        return found

    def take(self, page: Any) -> list[CheckpointTuple]:
        found, self._after = page
        if self._left is not None:
            found = found[: self._left]
            self._left -= len(found)
        self.done = self._after is None or self._left == 0
        user = self._saver._user
        return [tuple_of(each, self._given, None, user) for each in found]


def history(found: Any) -> dict[str, DeltaChannelHistory]:
    """LangGraph's form of what a delta channel is rebuilt from."""
    return {
        name: {"writes": writes, "seed": seed[0]} if seed else {"writes": writes}
        for name, (writes, seed) in found.items()
    }


def configurable(config: RunnableConfig) -> Mapping[str, Any]:
    """What a config names."""
    try:
        found: Mapping[str, Any] | None = config.get("configurable") or {}
    except AttributeError:
        found = None
    if type(found) is not dict and not isinstance(found, Mapping):
        raise InvalidInput(f"config is {config!r:.80}: pass {_CONFIG}")
    return found


def place(config: RunnableConfig) -> tuple[Any, str, str | None]:
    """Thread id as the caller gave it, namespace, checkpoint id."""
    found = configurable(config)
    if found.get("thread_id") is None:
        raise InvalidInput(f"config['configurable'] has no thread_id: pass {_CONFIG}")
    return found["thread_id"], found.get("checkpoint_ns") or "", found.get("checkpoint_id") or None


def stored_place(config: RunnableConfig) -> tuple[str, str, str | None]:
    """The same in the form in which ids are stored."""
    thread_id, ns, id = place(config)
    return (
        stored(str(thread_id), "thread_id"),
        stored(ns, "checkpoint_ns"),
        None if id is None else stored(str(id), "checkpoint_id"),
    )


def start_of_call(config: RunnableConfig, ns: str) -> str:
    """The checkpoint from which the call of a subgraph started that a namespace belongs to, as far
    as LangGraph says so: all that is stored of the call is newer. Else an empty text."""
    outer, colon, _ = ns.rpartition(":")
    if not colon:
        return ""
    above = (config.get("configurable") or {}).get("checkpoint_map")
    found = above.get(outer.rpartition("|")[0]) if isinstance(above, Mapping) else None
    return found if isinstance(found, str) and found.isascii() else ""


def named(thread_id: str | RunnableConfig) -> str:
    """A thread's id in stored form, of itself or of a config."""
    name = place(thread_id)[0] if isinstance(thread_id, Mapping) else thread_id
    if not isinstance(name, str | int | UUID):
        raise InvalidInput(f"{name!r} is no thread: pass a thread's id, or a config that has one")
    return stored(str(name), "thread_id")


def several(ids: Sequence[str], what: str) -> Sequence[str]:
    """The ids, if they are not one text by mistake."""
    if isinstance(ids, str):
        raise InvalidInput(f"{what} is one string: pass a list of ids")
    if not isinstance(ids, Iterable):
        raise InvalidInput(f"{what} is {ids!r:.80}: pass a list of ids")
    return ids


def pairs(writes: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """What a task wrote, as a list of pairs."""
    try:
        made = list(writes)
        for channel, _ in made:
            if not isinstance(channel, str):
                raise TypeError
    except (TypeError, ValueError):
        raise InvalidInput(
            f"put_writes() takes pairs of a channel's name and a value: not {writes!r:.80}"
        ) from None
    return made


def config_of(
    place: tuple[Any, str, str | None], id: str | None = None, user: str | None = None
) -> RunnableConfig:
    """The config of a checkpoint; with `user`, it says whose it is."""
    thread_id, ns, own = place
    held = {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": id or own}
    made: RunnableConfig = {"configurable": held}
    return made if user is None else of_user(made, user)


def of_user(config: RunnableConfig, user: str) -> RunnableConfig:
    """A config that says whose it is: who goes on from a snapshot's does not say it again."""
    return {**config, "configurable": {**config.get("configurable", {}), "user_id": given(user)}}


def tuple_of(
    found: read.Read, thread_id: Any, config: RunnableConfig | None, user: str | None = None
) -> CheckpointTuple:
    """A tuple; its configs carry the thread id as the caller gave it."""
    name = found.thread_id if thread_id is None else thread_id
    if config is None:
        config = config_of((name, found.ns, found.id), None, user)
    elif user is not None:
        config = of_user(config, user)
    return CheckpointTuple(
        config,
        found.checkpoint,  # type: ignore[arg-type]
        found.metadata,  # type: ignore[arg-type]
        None if found.parent is None else config_of((name, found.ns, found.parent), None, user),
        found.writes,
    )


def checkpoint_config(thread_id: Any, ns: str, id: str | None = None) -> Any:
    """The config of a checkpoint; without an id, of a namespace's newest."""
    named = {} if id is None else {"checkpoint_id": id}
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, **named}}


def id_of(found: CheckpointTuple) -> str:
    return str(found.config["configurable"]["checkpoint_id"])


def ns_of(found: CheckpointTuple) -> str:
    return found.config["configurable"].get("checkpoint_ns") or ""


def parent_of(found: CheckpointTuple) -> str | None:
    config = found.parent_config
    return config["configurable"].get("checkpoint_id") if config else None


def addressed(config: Any) -> str | None:
    """The checkpoint that a run was asked to continue from: LangGraph notes it in the metadata."""
    found: str | None = (config.get("metadata") or {}).get("checkpoint_id")
    return found
