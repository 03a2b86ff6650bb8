"""Changes to one thread take turns, in the order they came; other threads go on meanwhile."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Turns:
    """For one event loop, which alone may call it."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Callable[[], None]]] = {}

    def take(self, key: str, go: Callable[[], None]) -> None:
        """Call `go` when it is its turn, which may be now. Then somebody has to `leave`."""
        waiting = self._waiting.get(key)
        if waiting is None:
            self._waiting[key] = deque()
            go()
        else:
            waiting.append(go)

    def leave(self, key: str) -> None:
        """End a turn; the next one begins."""
        waiting = self._waiting[key]
        if waiting:
            waiting.popleft()()
        else:
            del self._waiting[key]

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        mine = asyncio.get_running_loop().create_future()
        self.take(key, lambda: mine.set_result(None))
        await mine
        try:
            yield
        finally:
            self.leave(key)
