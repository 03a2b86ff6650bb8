"""Who may write to a thread: freeing one whose run will not come back."""

from __future__ import annotations

from functools import partial

from langgraph_wyrd.handle.base import Handle
from langgraph_wyrd.plans import leases


class Holding(Handle):
    """The part of a thread's handle that frees it."""

    def release(self) -> bool:
        """Free the thread for another run, whoever holds it (see `single_writer=True`).

        A run that is alive after all claims the thread again with its next write, and ends with
        `ConcurrentRun` if another has begun meanwhile.

        Returns:
            Whether anybody held it.
        """
        return self._core.run(lambda core: core.write(partial(leases.release, self._stored)))

    async def arelease(self) -> bool:
        """Async version of `release`."""
        return await self._core.arun(lambda core: core.write(partial(leases.release, self._stored)))
