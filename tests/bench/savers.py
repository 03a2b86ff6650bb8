"""The savers that are compared, and how each is opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from .places import Place

NAMES = {
    "memory": "InMemorySaver",
    "sqlite": "AsyncSqliteSaver",
    "wyrd-sqlite": "WyrdSaver, SQLite",
    "plain-sqlite": "… working state off",
    "postgres": "AsyncPostgresSaver",
    "wyrd-postgres": "WyrdSaver, Postgres",
    "plain-postgres": "… working state off ",  # keys of a table's columns must differ
}
DATABASES = ("sqlite", "postgres")
OURS = tuple(key for key in NAMES if "-" in key)

_WYRD = ("langgraph_wyrd", "WyrdSaver")
CLASSES = {
    "sqlite": ("langgraph.checkpoint.sqlite.aio", "AsyncSqliteSaver"),
    "postgres": ("langgraph.checkpoint.postgres.aio", "AsyncPostgresSaver"),
    **dict.fromkeys(OURS, _WYRD),
}

_in_memory: dict[str, InMemorySaver] = {}


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """The saver as its own documentation opens it, with nothing tuned."""
    if place.saver == "memory":
        # Nothing rests on a disk: closing and opening again gives the same object.
        yield _in_memory.setdefault(place.url, InMemorySaver())
    elif place.saver == "sqlite":
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with AsyncSqliteSaver.from_conn_string(place.url) as saver:
            await saver.setup()
            yield saver
    elif place.saver == "postgres":
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        # One connection: a pool would change nothing, as this saver holds one lock over every call.
        async with AsyncPostgresSaver.from_conn_string(place.url) as saver:
            await saver.setup()
            yield saver
    else:
        from langgraph_wyrd import WyrdSaver

        pillars = not place.saver.startswith("plain-")
        async with WyrdSaver.from_conn_string(place.url, pillars=pillars) as saver:
            await saver.asetup()
            yield saver


class Subject:
    """A saver under test: open now, or closed for a while."""

    def __init__(self, place: Place, builder: Callable[[Any], Any]) -> None:
        self.place = place
        self.key = place.saver
        self._builder = builder
        self._stack = AsyncExitStack()
        self.saver: Any = None
        self.graph: Any = None

    async def open(self) -> None:
        self.saver = await self._stack.enter_async_context(opened(self.place))
        self.graph = self._builder(self.saver)

    async def close(self) -> None:
        await self._stack.aclose()

    def forget(self) -> None:
        _in_memory.pop(self.place.url, None)
        self.saver = self.graph = None
