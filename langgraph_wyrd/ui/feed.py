"""Which threads changed: what live pages listen to.

`changes` is the only place that knows how this is found out. Today it looks at the threads with
the newest activity; `saver.events(since=…)` takes its place when the storage has an event feed.
A deleted thread is not noticed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import SaverClosed, StoreError
from langgraph_wyrd.state.records import record
from langgraph_wyrd.ui.data import Plain

if TYPE_CHECKING:
    from langgraph_wyrd.saver import WyrdSaver

EVERY = 1.0  # seconds between two looks
_ALIVE = 15.0  # seconds between two signs of life
_NEWEST = 100  # threads that are looked at; a crowd beyond is seen with its next write

Seen = dict[str, str]  # a thread's id -> when it was last written to


async def changes(saver: WyrdSaver, seen: Seen) -> list[dict[str, Any]]:
    """The threads that changed since the look before, oldest change first. Updates `seen`."""
    page = await saver.athreads(limit=_NEWEST)
    now = {info.thread_id: info.updated_at or "" for info in page}
    found = [record(each) for each in page if seen.get(each.thread_id) != each.updated_at]
    seen.clear()
    seen.update(now)
    return found[::-1]


async def since(saver: WyrdSaver, moment: str) -> list[dict[str, Any]]:
    """The threads that changed after a time, oldest change first."""
    page = await saver.athreads(since=moment, limit=1000)
    return [record(each) for each in page if (each.updated_at or "") > moment][::-1]


async def stream(saver: WyrdSaver, start: str | None) -> AsyncGenerator[bytes, None]:
    """Server-sent events: `ready`, then a `thread` for each change; an event's id is its time."""
    seen: Seen = {}
    await changes(saver, seen)
    yield _event("ready", {}, None)
    for each in await since(saver, start) if start else ():
        yield _event("thread", each, each["updated_at"])
    silent = 0.0
    while True:
        await asyncio.sleep(EVERY)
        silent += EVERY
        try:
            found = await changes(saver, seen)
        except StoreError as error:  # the database may come back
            yield _event("trouble", {"message": str(error)}, None)
            continue
        except SaverClosed:
            return
        for each in found:
            silent = 0.0
            yield _event("thread", each, each["updated_at"])
        if silent >= _ALIVE:
            silent = 0.0
            yield b": alive\n\n"


def _event(name: str, data: dict[str, Any], id: str | None) -> bytes:
    text = json.dumps(Plain().of(data), separators=(",", ":"))
    head = f"id: {id}\n" if id else ""
    return f"event: {name}\n{head}data: {text}\n\n".encode("ascii", "replace")
