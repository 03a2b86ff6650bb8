"""Bringing exported threads back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.configs import thread
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.transfer.driving import finish

if TYPE_CHECKING:
    from langgraph_wyrd.store.values import Codec


class Importing:
    """The part of a saver that reads what `thread.export` wrote."""

    if TYPE_CHECKING:

        @property
        def _codec(self) -> Codec: ...

    def import_thread(self, path: str | os.PathLike[str], thread_id: str | None = None) -> str:
        """Bring back a thread that was exported with `payloads=True`; its id.

        The file is checked first, then read piece by piece. What arrives is read back and compared
        with it. If that fails, nothing of the thread stays; if the process is killed, the import
        can be started again.

        Args:
            path: The file.
            thread_id: Another id for the thread; None: the one that it had.

        Raises:
            FileDamaged: The file was cut off or changed.
            PayloadTooNew: A newer release wrote it.
            InvalidInput: It holds no payloads, or another thread has that id here.
        """
        return finish(self._import(path, thread_id, False))

    async def aimport_thread(
        self, path: str | os.PathLike[str], thread_id: str | None = None
    ) -> str:
        """Async version of `import_thread`."""
        return await self._import(path, thread_id, True)

    async def _import(self, path: Any, thread_id: str | None, asynchronous: bool) -> str:
        # Few processes bring threads in: they alone pay for what it takes.
        from langgraph_wyrd.transfer.first import FirstPassage, Ours, Written
        from langgraph_wyrd.transfer.reading import opened

        with opened(path, self._codec) as source:
            id = source.thread_id if thread_id is None else thread_id
            thread(id)
            ours = Ours(self, asynchronous)
            there = await ours.outline(id)
            try:
                report = await FirstPassage(Written(source), ours, id, _nobody).copy()
            except BaseException:
                if not (there.parents or there.writes):
                    await ours.take_back(id)
                raise
        if report.left:
            raise InvalidInput(
                f"thread {id!r} is here already, and is not the one in the file: import it under "
                "another thread_id"
            )
        return id


def _nobody(done: int) -> None:
    """Nobody is told."""
