"""Live updates: the saver's event feed, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import SaverClosed, StoreError
from langgraph_wyrd.views.json_data import Plain

if TYPE_CHECKING:
    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.state.results import FeedEvent

# An event's id is the feed's cursor, so a page that reconnects receives what it missed.
EVERY = 1.0  # seconds between two looks
_ALIVE = 15.0  # seconds between two signs of life
_AT_ONCE = 500  # events that are read together
_SHOWN = ("kind", "item", "at", "checkpoint_id", "author")


async def live(saver: WyrdSaver, start: str | None) -> AsyncGenerator[bytes, None]:
    """Server-sent events: `ready`, then a `thread` for each thread that changed.

    `start`: the id of the last event that was seen. None: from now on.
    """
    page = await saver.aevents(since=start or "now", limit=_AT_ONCE)
    yield _sent("ready", {}, None if page else page.next)
    silent = 0.0
    while True:
        changes = _by_thread(page)
        for left, data in enumerate(changes, 1 - len(changes)):  # the cursor is behind all of them
            silent = 0.0
            yield _sent("thread", data, None if left else page.next)
        if silent >= _ALIVE:
            silent = 0.0
            yield b": alive\n\n"
        if not page:
            await asyncio.sleep(EVERY)
            silent += EVERY
        since = page.next
        while True:
            try:
                page = await saver.aevents(since=since, limit=_AT_ONCE)
                break
            except StoreError as error:  # the database may come back
                yield _sent("trouble", {"message": str(error)}, None)
                await asyncio.sleep(EVERY)
            except SaverClosed:
                return


def _by_thread(events: Iterable[FeedEvent]) -> list[dict[str, Any]]:
    """Each thread with what happened in it, that which changed first at the beginning."""
    found: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        shown = {name: getattr(event, name) for name in _SHOWN}
        found.setdefault(event.thread_id, []).append(shown)
    return [{"thread_id": name, "events": events} for name, events in found.items()]


def _sent(name: str, data: dict[str, Any], id: str | None) -> bytes:
    text = json.dumps(Plain().of(data), separators=(",", ":"))
    head = f"id: {id}\n" if id else ""
    return f"event: {name}\n{head}data: {text}\n\n".encode("ascii", "replace")
