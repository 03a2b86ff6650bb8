"""Savers of ours as the sides of a copy, and a thread's way from one of them to another."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any, TypeVar

from langgraph_wyrd.checkpoints import copy, path
from langgraph_wyrd.checkpoints.read import merged
from langgraph_wyrd.storage.keys import found_by
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.transfer import rows
from langgraph_wyrd.transfer.outline import Key, Outline, Spot
from langgraph_wyrd.transfer.passage import Report
from langgraph_wyrd.transfer.sides import Side

T = TypeVar("T")

logger = logging.getLogger("langgraph_wyrd")


class Ours(Side):
    """A WyrdSaver."""

    knows_paths = True
    saver: Any

    async def run(self, script: Callable[[], Script[T]], *, writes: bool = False) -> T:
        """Run a script on the saver's database."""
        engine: Any = self.saver._engine
        if self._asynchronous:
            found: T = await engine.arun(script, writes=writes)
        else:
            found = engine.run(script, writes=writes)
        return found

    async def threads(self) -> list[tuple[Any, int]]:
        made: list[tuple[str, int]] = []
        while page := await self.run(partial(rows.threads, made[-1][0] if made else "")):
            made += page
        return [(given(name), count) for name, count in made if count]

    async def outline(self, thread_id: Any) -> Outline:
        script = partial(_outline, self.saver._dialect, stored(str(thread_id), "thread_id"))
        return await self.run(script)

    async def _spots(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[Spot]:
        if not writes:
            return []
        place = (stored(str(thread_id), "thread_id"), *(stored(each, "an id") for each in key))
        return await self.run(partial(_spots, self.saver._dialect, self.saver._codec, *place))

    def stored(self, metadata: Any) -> Any:
        redaction = getattr(self.saver, "_redaction", None)
        return metadata if redaction is None else redaction(metadata)

    async def expect(self, thread_id: Any) -> None:
        name = stored(str(thread_id), "thread_id")
        await self.run(partial(_expect, name), writes=True)
        self.saver._cache.drop(name)

    async def arrived(self, thread_id: Any, *, tangled: bool) -> None:
        name = stored(str(thread_id), "thread_id")
        await self.run(partial(_timed, self.saver._dialect, name), writes=True)
        if tangled and self.saver._reader is not None and hasattr(self.saver, "reweave"):
            await self.call("reweave", thread_id)


async def between(source: Ours, target: Ours, id: Any) -> Report | None:
    """Copy a thread from one of ours to another, row by row; None: it has to be read and put.

    That is so where values are packed in another way, and where no working state was read yet.
    """
    if source.saver._codec.splits != target.saver._codec.splits or not target.saver._codec.splits:
        return None
    name = stored(str(id), "thread_id")
    found = await source.run(partial(rows.stored, source.saver._dialect, name))
    if found is None:
        return Report()
    if found.thread.status is None and target.saver._reader is not None:
        return None
    saver = target.saver
    carried = copy.opened(source.saver._codec, found)
    made = await target.run(
        partial(copy.arrive, saver._dialect, saver._codec, saver._engine.nonce, name, carried),
        writes=True,
    )
    saver._cache.drop(name)
    if made.why is not None:
        logger.warning("thread %r was not copied: %s", id, made.why)
        return Report(left=((str(id), made.why),))
    return Report(1, made.checkpoints, made.writes, made.there)


# ---- scripts

_KEY = {
    "sqlite": "(SELECT key FROM wyrd_threads WHERE thread_id = ?)",
    "postgres": "?",
}


def _outline(dialect: str, thread_id: str) -> Script[Outline]:
    by = (found_by(dialect, thread_id),)
    places, writes = yield [
        Query(f"SELECT ns, id, parent FROM wyrd_checkpoints WHERE thread = {_KEY[dialect]}", by),
        Query(
            "SELECT ns, checkpoint, count(*) FROM wyrd_writes "
            f"WHERE thread = {_KEY[dialect]} GROUP BY ns, checkpoint",
            by,
        ),
    ]
    return Outline(
        {(given(ns), given(id)): parent and given(parent) for ns, id, parent in places},
        # Calls, not writes, and any may hold what can be replaced: they are always compared.
        {(given(ns), given(id)): (count, -1) for ns, id, count in writes},
    )


def _spots(dialect: str, codec: Any, thread_id: str, ns: str, id: str) -> Script[list[Spot]]:
    found = yield from path.find(dialect, found_by(dialect, thread_id), ns, id)
    return [Spot(given(w.path), given(w.task), w.idx) for w in merged(codec, found.writes)]


def _expect(thread_id: str) -> Script[None]:
    """A person may bring back what was deleted: it is not refused."""
    yield Command(
        "UPDATE wyrd_threads SET buried = NULL, deleted_at = NULL, version = version + 1 "
        "WHERE thread_id = ? AND buried IS NOT NULL",
        [(thread_id,)],
    )


def _timed(dialect: str, thread_id: str) -> Script[None]:
    """The thread's times are those of its checkpoints, not of their arrival."""
    answer = yield Query(
        f"SELECT ts FROM wyrd_checkpoints WHERE thread = {_KEY[dialect]} AND ts IS NOT NULL",
        (found_by(dialect, thread_id),),
    )
    times = []
    for (ts,) in answer:
        try:
            times.append(datetime.fromisoformat(given(ts).replace("Z", "+00:00")))
        except ValueError:
            continue
    moments = [t.replace(tzinfo=t.tzinfo or timezone.utc).astimezone(timezone.utc) for t in times]
    if moments:
        yield Command(
            "UPDATE wyrd_threads SET created = ?, updated = ? WHERE thread_id = ?",
            [(min(moments).isoformat(), max(moments).isoformat(), thread_id)],
        )
